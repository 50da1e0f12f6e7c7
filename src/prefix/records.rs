//! The small records in `.scr` that rank 0 keeps during a run: flush file, halt file and nodes file.
//! These records are replaced atomically but not synced: an old record after a power loss does no harm.

use super::index::lock_prefix;
use super::paths::Prefix;
use crate::format::flush_file::FlushFile;
use crate::format::halt::Halt;
use crate::format::nodes::Nodes;
use crate::store::{Durability, Files};
use crate::{Result, format};
use serde::{Serialize, de::DeserializeOwned};
use std::path::Path;

/// Reads a record; without a file, an empty record.
fn read<T: DeserializeOwned + Default>(
    files: &dyn Files,
    prefix: &Prefix,
    name: &str,
) -> Result<T> {
    match format::read(files, &prefix.file(name)) {
        Err(error) if error.is_not_found() => Ok(T::default()),
        other => other,
    }
}

fn write<T: Serialize>(files: &dyn Files, prefix: &Prefix, name: &str, record: &T) -> Result<()> {
    put(files, &prefix.file(name), &format::encode_record(record)?)
}

/// Replaces a small file, unless it has these bytes already: on a full file system an unchanged file
/// needs no room.
pub fn put(files: &dyn Files, path: &Path, bytes: &[u8]) -> Result<()> {
    let there = files.read(path, bytes.len() as u64);
    if there.is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    files.replace(path, bytes, Durability::Atomic)
}

/// Changes the flush file. If it cannot be read, an empty one is used: it only says where datasets of
/// this run are.
pub fn update_flush_file(
    files: &dyn Files,
    prefix: &Prefix,
    change: impl FnOnce(&mut FlushFile),
) -> Result<()> {
    let mut record: FlushFile = read(files, prefix, "flush.scr").unwrap_or_default();
    change(&mut record);
    write(files, prefix, "flush.scr", &record)
}

/// Writes a new flush file.
pub fn write_flush_file(files: &dyn Files, prefix: &Prefix, record: &FlushFile) -> Result<()> {
    write(files, prefix, "flush.scr", record)
}

/// Reads the flush file.
pub fn read_flush_file(files: &dyn Files, prefix: &Prefix) -> Result<FlushFile> {
    read(files, prefix, "flush.scr")
        .map_err(|e| e.remedy("remove it: the caches of the nodes tell the same"))
}

/// Reads the halt conditions.
pub fn read_halt(files: &dyn Files, prefix: &Prefix) -> Result<Halt> {
    read(files, prefix, "halt.scr")
        .map_err(|e| e.remedy("`scr halt --remove` removes the damaged file with its conditions"))
}

/// Changes the halt conditions under a lock, because `scr_halt` may also change them.
pub fn update_halt(
    files: &dyn Files,
    prefix: &Prefix,
    change: impl FnOnce(&mut Halt),
) -> Result<()> {
    let _lock = lock_prefix(files, prefix)?;
    let mut halt = read_halt(files, prefix)?;
    let before = halt.clone();
    change(&mut halt);
    if halt == before {
        return Ok(());
    }
    write(files, prefix, "halt.scr", &halt)
}

/// Writes the number of nodes of this run.
pub fn write_nodes(files: &dyn Files, prefix: &Prefix, nodes: u64) -> Result<()> {
    write(files, prefix, "nodes.scr", &Nodes { nodes })
}
