//! Values that only rank 0 has.

use super::collective::{self, agree, decode_verdict, encode_verdict};
use super::{Communicator, RankList};
use crate::Result;
use crate::format::{from_message, to_message};
use serde::{Serialize, de::DeserializeOwned};

/// A value of rank 0. The other ranks have none, so that no decision of theirs can depend on it; they learn
/// of it by [`AtRoot::share`] and [`AtRoot::scatter`].
#[derive(Debug, Clone)]
pub struct AtRoot<T>(Option<T>);

impl<T> Default for AtRoot<T> {
    fn default() -> Self {
        AtRoot(None)
    }
}

impl<T> AtRoot<T> {
    /// The value that `make` returns on rank 0. Local.
    pub fn new(comm: &dyn Communicator, make: impl FnOnce() -> T) -> Self {
        AtRoot((comm.rank() == 0).then(make))
    }

    /// The value, on rank 0.
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// The value, on rank 0, which may change it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }

    /// The value itself, on rank 0.
    pub fn take(self) -> Option<T> {
        self.0
    }

    /// The result of `work` for the value on rank 0. Local.
    pub fn map<R>(self, work: impl FnOnce(T) -> R) -> AtRoot<R> {
        AtRoot(self.0.map(work))
    }

    /// A reference to the value.
    pub fn as_ref(&self) -> AtRoot<&T> {
        AtRoot(self.0.as_ref())
    }

    /// A reference by which rank 0 can change the value.
    pub fn as_mut(&mut self) -> AtRoot<&mut T> {
        AtRoot(self.0.as_mut())
    }
}

impl<T> AtRoot<Option<T>> {
    /// The value of rank 0 without the inner option.
    pub fn flatten(self) -> AtRoot<T> {
        AtRoot(self.0.flatten())
    }
}

impl<T> AtRoot<Result<T>> {
    /// The value of rank 0, or its error; the other ranks have no value and no error.
    pub fn transpose(self) -> Result<AtRoot<T>> {
        self.0.transpose().map(AtRoot)
    }
}

impl<T: Serialize + DeserializeOwned> AtRoot<Result<T>> {
    /// Gives the value, or the error, to all ranks. Collective; rounds as for [`agree`], and a broadcast.
    pub fn share(self, comm: &dyn Communicator, node: &str) -> Result<T> {
        let message = self.map(|made| to_message(&made?)).transpose();
        let mut message = agree(comm, node, message)?.take().unwrap_or_default();
        collective::bcast(comm, 0, &mut message)?;
        from_message(&message)
    }
}

impl AtRoot<Result<Vec<(RankList, Vec<u8>)>>> {
    /// Gives each rank its message; each rank gets one, and one message may be for several ranks. If rank 0 has no
    /// messages, all ranks return the same [`Error::Remote`](crate::Error::Remote). Collective; one round.
    pub fn scatter(self, comm: &dyn Communicator, node: &str) -> Result<Vec<u8>> {
        const MADE: u8 = 0;
        const FAILED: u8 = 1;
        let marked = |mut message: Vec<u8>, mark| {
            message.push(mark);
            message
        };
        let messages = self.0.map(|made| match made {
            Ok(all) => {
                let all = all.into_iter();
                all.map(|(ranks, one)| (ranks, marked(one, MADE))).collect()
            }
            Err(error) => {
                let verdict = encode_verdict(comm.rank(), node, 1, error).unwrap_or_default();
                vec![(RankList::all(comm.size()), marked(verdict, FAILED))]
            }
        });
        let mut message = collective::scatter_alike(comm, messages)?;
        match message.pop() {
            Some(MADE) => Ok(message),
            _ => Err(decode_verdict(&message)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AtRoot;
    use crate::comm::RankList;
    use crate::threads;
    use crate::{Error, Result};

    fn failure() -> Error {
        Error::usage("call", "is wrong")
    }

    #[test]
    fn only_rank_0_has_a_value_until_it_is_shared() {
        let found = threads::run(3, |comm| {
            let own = AtRoot::new(&*comm, || comm.rank() + 7);
            let shared = own.as_ref().map(|value| Ok(*value)).share(&*comm, "n0");
            (own.take(), shared.unwrap())
        });
        assert_eq!(found, [(Some(7), 7), (None, 7), (None, 7)]);
    }

    #[test]
    fn each_rank_gets_its_message_or_the_error_of_rank_0() {
        let message = |rank| (RankList::one(rank), vec![rank as u8]);
        let messages = |size| (0..size).map(message).collect();
        for fails in [false, true] {
            let received = threads::run(3, |comm| {
                let made = AtRoot::new(&*comm, || {
                    if fails {
                        Err(failure())
                    } else {
                        Ok(messages(comm.size()))
                    }
                });
                made.scatter(&*comm, "n0")
            });
            for (rank, received) in received.into_iter().enumerate() {
                if fails {
                    let text = received.unwrap_err().to_string();
                    assert!(
                        text.contains("rank 0") && text.contains("is wrong"),
                        "{text}"
                    );
                } else {
                    assert_eq!(received, Ok(vec![rank as u8]))
                }
            }
        }
        let shared = threads::run(2, |comm| {
            let failed: AtRoot<Result<u64>> = AtRoot::new(&*comm, || Err(failure()));
            failed.share(&*comm, "n0")
        });
        assert!(shared.into_iter().all(|shared| shared.is_err()));
    }
}
