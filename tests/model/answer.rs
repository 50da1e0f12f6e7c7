//! The answer to a call, as text in `cases.txt` and in messages.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Ok,
    Error,
    /// The job ends (`MPI_Abort`).
    Abort,
    /// `SCR_Have_restart`.
    Offer(Option<String>),
    /// `SCR_Start_restart`.
    Name(String),
    /// `SCR_Need_checkpoint`, `SCR_Should_exit`.
    Flag(bool),
    /// `SCR_Route_file` outside of all phases.
    AsGiven,
    /// `SCR_Route_file`: a place, and in a restart the start whose bytes are there.
    Path(Place, Option<u64>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Prefix,
    /// In the cache directory of that dataset.
    Cache(u64),
    Elsewhere,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Answer::Ok => write!(f, "ok"),
            Answer::Error => write!(f, "error"),
            Answer::Abort => write!(f, "abort"),
            Answer::Offer(None) => write!(f, "none"),
            Answer::Offer(Some(name)) | Answer::Name(name) => write!(f, "\"{name}\""),
            Answer::Flag(true) => write!(f, "yes"),
            Answer::Flag(false) => write!(f, "no"),
            Answer::AsGiven => write!(f, "the name as given"),
            Answer::Path(place, None) => write!(f, "{place}"),
            Answer::Path(place, Some(0)) => write!(f, "{place}, bytes that nobody wrote"),
            Answer::Path(place, Some(start)) => write!(f, "{place}, bytes of start {start}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Place::Prefix => write!(f, "in the prefix"),
            Place::Cache(id) => write!(f, "in cached dataset {id}"),
            Place::Elsewhere => write!(f, "elsewhere"),
        }
    }
}
