//! Types that tell whether a value belongs to one rank or is the same on all.
//!
//! A function in which the ranks talk can fail in two ways. The transport fails: then the ranks are out of
//! step, and the error must go up at once. Or this rank's part of the work fails: then the ranks must agree
//! before any of them acts on it. `Result<Local<T>>` tells the two apart. A value on which they have agreed
//! is an [`Agreed`] value, or the verdict of an [`Agreement`]. Nothing else makes one.

use super::collective;
use super::{Communicator, Term};
use crate::{Error, Result};

/// The result of one rank, on which the ranks have not agreed: another rank may have failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "another rank may have failed: the ranks must agree"]
pub struct Local<T>(Result<T>);

impl<T> Local<T> {
    /// The result of this rank alone, for its work before the ranks agree.
    pub fn result(self) -> Result<T> {
        self.0
    }

    /// Gives all ranks the same result; see [`collective::agree`]. Collective.
    pub fn agree(self, comm: &dyn Communicator, node: &str) -> Result<T> {
        collective::agree(comm, node, self.0)
    }
}

impl<T> From<Result<T>> for Local<T> {
    fn from(result: Result<T>) -> Self {
        Local(result)
    }
}

/// A value that is the same on all ranks, so that all take the same decision by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreed<T>(T);

impl<T> Agreed<T> {
    /// A value on which the ranks have agreed.
    pub(super) fn new(value: T) -> Self {
        Agreed(value)
    }

    /// The value.
    pub fn get(self) -> T {
        self.0
    }

    /// A value that follows from this one alone, so that it is also the same on all ranks.
    pub fn map<R>(self, follow: impl FnOnce(T) -> R) -> Agreed<R> {
        Agreed(follow(self.0))
    }
}

impl Agreed<i64> {
    /// For a term that is 1 on ranks where a condition holds, and 0 on others: true if the condition
    /// holds on any rank.
    pub fn on_any(self) -> bool {
        self.0 > 0
    }

    /// For a term that is never negative.
    pub fn count(self) -> u64 {
        self.0 as u64
    }
}

/// Two terms that tell whether a number is the same on all ranks. [`is_same`] takes the resulting
/// terms.
pub fn same(number: u64) -> [Term; 2] {
    let number = number.cast_signed();
    [Term::Min(number), Term::Max(number)]
}

/// True if the number of [`same`] is the same on all ranks.
pub fn is_same([least, most]: [Agreed<i64>; 2]) -> bool {
    least == most
}

/// The result on which the ranks have agreed. An error of the transport is not an agreement.
#[derive(Debug)]
#[must_use = "a rank may have failed"]
pub struct Agreement<T, const N: usize> {
    /// This rank's result if no rank has failed, else the error of the lowest rank that has.
    pub verdict: Result<T>,
    /// The terms of all ranks together, also of those that have failed.
    pub terms: [Agreed<i64>; N],
}

impl<T, const N: usize> Agreement<T, N> {
    /// For a caller that cannot go on if a rank has failed.
    pub fn all_done(self) -> Result<(T, [Agreed<i64>; N])> {
        Ok((self.verdict?, self.terms))
    }
}

/// Separates an error of the transport from a verdict.
pub trait VerdictExt: Sized {
    /// The verdict, on which all ranks have agreed. An error of the transport is the outer one, which `?` passes
    /// on.
    fn verdict(self) -> Result<Self>;
}

impl<T> VerdictExt for Result<T> {
    fn verdict(self) -> Result<Self> {
        match self {
            Err(error @ Error::Comm { .. }) => Err(error),
            verdict => Ok(verdict),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Local, VerdictExt};
    use crate::threads;
    use crate::{Error, Result};

    #[test]
    fn an_error_of_the_transport_is_no_verdict() {
        let failed: Result<()> = Err(Error::usage("call", "is wrong"));
        assert_eq!(failed.clone().verdict().unwrap(), failed);
        assert_eq!(Ok(1).verdict().unwrap(), Ok(1));
        let lost: Result<()> = Err(Error::comm("exchange", "a rank is gone"));
        assert!(lost.verdict().is_err());
    }

    #[test]
    fn what_one_rank_could_not_do_fails_on_all() {
        let verdicts = threads::run(3, |comm| {
            let local = match comm.rank() {
                1 => Err(Error::usage("call", "is wrong")),
                rank => Ok(rank),
            };
            Local::from(local).agree(&*comm, "n0").verdict()
        });
        for verdict in verdicts {
            assert!(verdict.unwrap().unwrap_err().to_string().contains("rank 1"));
        }
    }
}
