//! Counts and types of messages of any length.

use super::calls::{check, too_long};
use super::raw::{
    MPI_Aint, MPI_Datatype, MPI_Type_commit, MPI_Type_contiguous, MPI_Type_create_struct,
    MPI_Type_free, datatype_null, uint8,
};
use crate::Result;
use std::ffi::c_int;

/// Count and type of a buffer.
pub(super) struct MpiBuffer {
    pub count: c_int,
    pub datatype: MPI_Datatype,
    /// To be freed by us.
    ours: bool,
}

impl MpiBuffer {
    /// Exactly `length` bytes, as a count and a type: plain bytes up to `block` of them, else
    /// blocks of that size and a rest, since MPI counts with an `int`.
    pub(super) fn of(block: usize, length: usize) -> Result<MpiBuffer> {
        let byte = uint8();
        if length <= block {
            let count = c_int::try_from(length).map_err(|_| too_long(length))?;
            return Ok(MpiBuffer {
                count,
                datatype: byte,
                ours: false,
            });
        }
        let per_block = c_int::try_from(block).map_err(|_| too_long(length))?;
        let blocks = c_int::try_from(length / block).map_err(|_| too_long(length))?;
        let tail = c_int::try_from(length % block).map_err(|_| too_long(length))?;
        let tail_at = MPI_Aint::try_from(length - length % block);
        let tail_at = tail_at.map_err(|_| too_long(length))?;
        let mut whole = MpiBuffer {
            count: 1,
            datatype: datatype_null(),
            ours: true,
        };
        let mut one = MpiBuffer {
            count: 1,
            datatype: datatype_null(),
            ours: true,
        };
        // SAFETY: the arrays have the two elements announced; types are committed before
        // use, and freed by `MpiBuffer` once made, which MPI delays until no transfer needs them.
        unsafe {
            check(
                "MPI_Type_contiguous",
                MPI_Type_contiguous(per_block, byte, &mut one.datatype),
            )?;
            let made = MPI_Type_create_struct(
                2,
                [blocks, tail].as_ptr(),
                [0, tail_at].as_ptr(),
                [one.datatype, byte].as_ptr(),
                &mut whole.datatype,
            );
            check("MPI_Type_create_struct", made)?;
            check("MPI_Type_commit", MPI_Type_commit(&mut whole.datatype))?;
        }
        Ok(whole)
    }
}

impl Drop for MpiBuffer {
    fn drop(&mut self) {
        // SAFETY: a type that we made and that nobody else holds. MPI keeps it alive for
        // transfers under way.
        unsafe {
            if self.ours && self.datatype != datatype_null() {
                MPI_Type_free(&mut self.datatype);
            }
        }
    }
}
