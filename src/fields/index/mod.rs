//! Fields whose elements have a number in the whole, in any order: the nodes of an unstructured mesh, the rows of a
//! sparse matrix. An index list says which elements a rank has, and serves many fields.
//!
//! | file | what |
//! |---|---|
//! | `ids` | the bytes of an index list: runs and differences |
//! | `given`, `scan` | the indices that the program gives, and their checks |
//! | `listing` | lists that are read from wherever they are |
//! | `bits`, `positions` | where each index stands in the list of a rank |
//! | `set`, `set_runs`, `sorted`, `words` | indices that ascend, as they are sent and compared, and how lists in any order become such |
//! | `needed` | the elements that a rank needs in a restart |
//! | `places` | the places of elements in a file and in memory, and their copies |
//! | `told` | the order of elements that do not ascend in a file |
//! | `bags` | elements without a number, of which each rank gets a share |
//! | `split` | how the elements of a list are split among other ranks |
//! | `cells`, `matching` | who has an index, and who needs it: each rank looks after one range of the whole |
//! | `cover` | whether the lists of all ranks have each index once |

pub mod bags;
pub mod bits;
pub mod cells;
pub mod cover;
mod given;
pub mod ids;
pub mod listing;
pub mod matching;
pub mod needed;
pub mod places;
pub mod positions;
mod scan;
pub mod set;
pub mod set_runs;
pub mod sorted;
pub mod split;
pub mod told;
mod words;

pub use given::{Encoded, Given, InMemory, Indices};
pub use scan::Scanned;

/// The most elements of a whole.
pub const MOST: u64 = 1 << 60;

#[cfg(test)]
mod places_tests;
#[cfg(test)]
mod set_tests;
