//! Terms of different kinds in one reduction.

use super::raw::MPI_Datatype;
use crate::comm::Term;
use std::ffi::{c_int, c_void};

pub(super) type Pair = [i64; 2];

const SUM: i64 = 0;
const MAX: i64 = 1;
const MIN: i64 = 2;
/// The result for terms that cannot be combined, and for all terms that are combined with it.
const MISFIT: Pair = [-1, 0];

pub(super) fn encode(term: Term) -> Pair {
    match term {
        Term::Sum(value) => [SUM, value],
        Term::Max(value) => [MAX, value],
        Term::Min(value) => [MIN, value],
    }
}

pub(super) fn decode([kind, value]: Pair) -> Option<Term> {
    match kind {
        SUM => Some(Term::Sum(value)),
        MAX => Some(Term::Max(value)),
        MIN => Some(Term::Min(value)),
        _ => None,
    }
}

fn combine(left: Pair, right: Pair) -> Pair {
    match (decode(left), decode(right)) {
        (Some(left), Some(right)) => left.combine(right).map_or(MISFIT, encode),
        _ => MISFIT,
    }
}

/// The user-defined operation (MPI 3.1, section 5.9.5): `inout[i] = in[i] op inout[i]`.
///
/// SAFETY: called by MPI only, with two arrays of `*len` pairs.
pub(super) unsafe extern "C" fn combine_pairs(
    input: *mut c_void,
    inout: *mut c_void,
    len: *mut c_int,
    _datatype: *mut MPI_Datatype,
) {
    let (input, inout) = (input.cast::<Pair>(), inout.cast::<Pair>());
    // SAFETY: MPI passes a valid length, and arrays of that many pairs. MPI's own temporary
    // buffers need not be aligned for us.
    unsafe {
        for i in 0..usize::try_from(*len).unwrap_or(0) {
            let combined = combine(input.add(i).read_unaligned(), inout.add(i).read_unaligned());
            inout.add(i).write_unaligned(combined);
        }
    }
}
