//! The replacement for the database, where SCR was built without it.

use super::{Destination, Origin, Record, Tell};
use crate::Error;
use crate::config::log::DatabaseSettings;
use crate::events::Severity;
use std::path::Path;

const WHY: &str = "this SCR was built without the database; build it with the CMake option SCR_ENABLE_MYSQL=ON, or \
                   with cargo's feature mysql";

/// Opens nothing, and tells the user why.
pub fn open(_: &DatabaseSettings, _: &Origin, tell: &Tell) -> Option<Box<dyn Destination>> {
    let text = format!("SCR_LOG_DB_ENABLE=1 has no effect: {WHY}");
    tell(Severity::Warning, text);
    None
}

/// Reads nothing.
///
/// # Errors
/// Always.
pub fn read_database<E: From<Error>>(
    _: &DatabaseSettings,
    _: &Path,
    _: impl FnMut(Record) -> Result<(), E>,
) -> Result<u64, E> {
    Err(Error::config("--database", WHY).into())
}
