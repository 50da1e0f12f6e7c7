//! The records that ranks send each other about fields.

use super::entry::Entry;
use super::region::Region;
use crate::comm::{Communicator, collective};
use crate::format::{from_message, to_message};
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A record for each of some ranks.
pub struct Post<T>(BTreeMap<usize, T>);

impl<T> Default for Post<T> {
    fn default() -> Self {
        Post(BTreeMap::new())
    }
}

impl<T: Default + Serialize + DeserializeOwned> Post<T> {
    /// The record for a rank, to add to it.
    pub fn to(&mut self, rank: usize) -> &mut T {
        self.0.entry(rank).or_default()
    }

    /// Sends the records; returns the received ones, each with its sender. Collective; one
    /// exchange.
    pub fn exchange(self, comm: &dyn Communicator) -> Result<Vec<(usize, T)>> {
        let mut damage = None;
        let mut messages = Vec::with_capacity(self.0.len());
        for (to, record) in self.0 {
            match to_message(&record) {
                Ok(message) => messages.push((to, message)),
                Err(error) => damage = Some(error),
            }
        }
        let received = collective::exchange(comm, messages)?;
        let records = received
            .into_iter()
            .map(|(from, message)| Ok((from, from_message(&message)?)));
        let records: Result<Vec<(usize, T)>> = records.collect();
        damage
            .map_or(records, Err)
            .map_err(|error| wrong_message(&error.to_string()))
    }
}

/// The error of a message that this library does not send. The ranks are out of step after it.
pub fn wrong_message(what: &str) -> Error {
    Error::comm("fields", format!("a message cannot be used: {what}"))
}

/// A box of a field: the number of the field among the parts that all ranks list.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct PartBox {
    /// The number of the field.
    pub field: usize,
    /// The place of the box in the whole.
    pub region: Region,
}

impl PartBox {
    /// The field of this box, in whose whole it lies.
    ///
    /// # Errors
    /// The field does not exist, or the box is not in its whole.
    pub fn check<'a>(&self, parts: impl IntoIterator<Item = &'a Entry>) -> Result<&'a Entry> {
        let part = parts.into_iter().nth(self.field);
        let part = part.filter(|part| self.region.is_in(&Region::all(&part.whole)));
        part.ok_or_else(|| wrong_message("it has a box that is not in its field"))
    }
}

#[cfg(test)]
mod tests {
    use super::{PartBox, Post};
    use crate::comm::Communicator;
    use crate::fields::entry::{Entry, Link, Order, Role};
    use crate::fields::kind::{Class, Kind};
    use crate::fields::region::Region;
    use crate::threads;

    fn part(whole: &[u64]) -> Entry {
        Entry {
            name: "t".to_string(),
            kind: Kind::new(Class::Real, 8),
            role: Role::Part,
            order: Order::Row,
            extents: vec![1; whole.len()],
            whole: whole.to_vec(),
            at: vec![0; whole.len()],
            link: Link::None,
        }
    }

    #[test]
    fn a_box_of_a_message_is_used_only_if_it_is_in_its_field() {
        let parts = [part(&[4, 6]), part(&[])];
        let check = |field, at: &[u64], extents: &[u64]| {
            let (at, extents) = (at.to_vec(), extents.to_vec());
            let region = Region { at, extents };
            let checked = PartBox { field, region }.check(&parts);
            checked.map(|part| part.whole.len())
        };
        assert_eq!(check(0, &[0, 0], &[4, 6]), Ok(2));
        assert_eq!(check(0, &[3, 6], &[1, 0]), Ok(2));
        assert_eq!(check(1, &[], &[]), Ok(0));
        let wrong: [(usize, &[u64], &[u64]); 8] = [
            (0, &[0, 0], &[5, 6]),
            (0, &[1, 0], &[4, 6]),
            (0, &[u64::MAX, 0], &[2, 6]),
            (0, &[0], &[4]),
            (0, &[0, 0], &[4]),
            (0, &[0, 0, 0], &[4, 6, 1]),
            (1, &[0], &[1]),
            (2, &[], &[]),
        ];
        for (field, at, extents) in wrong {
            let error = check(field, at, extents).unwrap_err();
            assert!(error.to_string().contains("not in its field"), "{error}");
        }
    }

    #[test]
    fn each_rank_gets_the_records_that_are_for_it() {
        for size in [1, 2, 5] {
            threads::run(size, |comm| {
                let me = comm.rank();
                let mut post: Post<Vec<PartBox>> = Post::default();
                for to in (0..size).filter(|to| (to + me) % 2 == 0) {
                    let region = Region::all(&[me as u64, 2]);
                    post.to(to).push(PartBox { field: to, region });
                }
                let mut received = post.exchange(&*comm).unwrap();
                received.sort_by_key(|(from, _)| *from);
                let senders = (0..size).filter(|from| (from + me) % 2 == 0);
                assert!(senders.eq(received.iter().map(|(from, _)| *from)));
                for (from, boxes) in received {
                    let [found] = &boxes[..] else {
                        panic!("{boxes:?}")
                    };
                    assert_eq!(found.field, me);
                    assert_eq!(found.region, Region::all(&[from as u64, 2]));
                }
            });
        }
    }
}
