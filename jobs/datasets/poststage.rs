//! The end of flushes that a run has left behind, once no daemon and no thread copies for it any more.

use scr_engine::Result;
use scr_engine::format::flush_file::{FLUSHING, FlushEntry, FlushFile};
use scr_engine::prefix::paths::Prefix;
use scr_engine::prefix::{finish, index, permit, records};
use scr_engine::store::Files;
use scr_engine::system::time::sleep;

/// The datasets that the flush file has as on their way to the prefix directory.
pub fn left_behind(record: &FlushFile) -> Vec<u64> {
    let open = |entry: &FlushEntry| entry.needs_flush() && entry.is_at(FLUSHING);
    let open = record.datasets.iter().filter(|(_, entry)| open(entry));
    open.map(|(id, _)| *id).collect()
}

/// Notes datasets as flushed that are complete now, and takes the permits of daemons that could not be
/// reached. Call [`finish::finish_ended`] first. Local: one process calls this.
///
/// # Errors
/// The index cannot be read, or a record not be written.
pub fn note_complete(files: &dyn Files, prefix: &Prefix) -> Result<()> {
    let record = records::read_flush_file(files, prefix).unwrap_or_default();
    let index = index::read(files, prefix)?;
    for (id, entry) in record
        .datasets
        .iter()
        .filter(|(_, entry)| entry.needs_flush())
    {
        let created = entry.dataset.as_ref().map(|dataset| dataset.created);
        let known = index.get(*id).filter(|known| known.complete);
        let known = known.and_then(|known| known.dataset.as_ref());
        if known.is_some() && known.map(|known| known.created) == created {
            finish::mark_flushed(files, prefix, *id)?;
        }
    }
    if permit::revoke_all(files, prefix)? {
        sleep(permit::GRACE);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use scr_engine::format::flush_file::CACHE;
    use scr_engine::store::posix::Posix;

    #[test]
    fn what_neither_the_index_nor_the_flush_file_describes_is_not_noted() {
        let dir = tempfile::tempdir().unwrap();
        let prefix = Prefix::new(dir.path());
        Posix.make_dirs(&prefix.meta()).unwrap();
        let mut record = FlushFile::default();
        let entry = record.datasets.entry(7).or_insert_with(FlushEntry::default);
        entry.locations.insert(CACHE.into());
        records::write_flush_file(&Posix, &prefix, &record).unwrap();
        note_complete(&Posix, &prefix).unwrap();
        assert_eq!(records::read_flush_file(&Posix, &prefix).unwrap(), record);
    }
}
