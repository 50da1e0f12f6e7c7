//! The elements that this rank needs in a restart.

use super::ids::Ids;
use super::listing::Listed;
use super::positions::Positions;
use super::set::Set;
use crate::Result;

/// An index list of the program in a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needed {
    /// Its name.
    pub name: String,
    /// Number of elements of the whole.
    pub whole: u64,
    /// The number that the program gives the first element.
    pub first: i64,
    /// A checksum of its indices.
    pub print: u64,
    /// The indices.
    pub kept: Kept,
}

/// The indices of a list, without its bytes: what a restart needs of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// The list is the one in this rank's file.
    Stored,
    /// It ascends.
    Ascending(Set),
    /// It is in any order.
    AnyOrder(Positions),
}

impl Kept {
    /// Of a list of which all bytes are in memory.
    ///
    /// # Errors
    /// The list is damaged.
    pub fn of(ids: &Ids, whole: u64) -> Result<Kept> {
        Ok(if ids.ascending {
            Kept::Ascending(Set::of(ids, whole)?)
        } else {
            Kept::AnyOrder(Positions::of_list(&mut Listed(ids, whole))?)
        })
    }
}
