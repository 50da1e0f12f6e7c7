//! SINGLE: no redundancy. The files are protected from a killed job, not from a lost node.

use super::logical::{Reader, exists, same_crc};
use super::{Context, Health, Outcome, Record, Scheme, Set};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// Bytes read at a time: small enough that the checksum finds them in the processor's cache.
pub(super) const BLOCK: usize = 256 << 10;

/// The scheme.
pub struct Single;

impl Scheme for Single {
    fn name(&self) -> &'static str {
        "SINGLE"
    }

    fn losses(&self, _: usize) -> usize {
        0
    }

    fn recoverable(&self, lost: &[bool]) -> bool {
        !lost.contains(&true)
    }

    fn redundancy_file(&self, _: &Path, _: &Set) -> Option<PathBuf> {
        None
    }

    /// Takes the checksums: the one read of the files, without which a restart could not
    /// tell good data from bad. Those that are known already must agree.
    fn encode(&self, context: &Context, record: &mut Record) -> Result<()> {
        let paths = context.paths(&record.files)?;
        let sums = checksums(context, paths.clone())?;
        let mut found = paths.iter().zip(sums).zip(&mut record.files.files);
        found.try_for_each(|(((path, _), crc), meta)| {
            same_crc(path, crc, meta.crc)?;
            meta.crc = Some(crc);
            Ok(())
        })
    }

    fn check(&self, context: &Context, record: &Record) -> Health {
        Health {
            data: check_data(context, record),
            parity: Ok(()),
        }
    }

    fn rebuild(&self, _: &Context, mine: Option<(Record, Health)>) -> Result<(Record, Outcome)> {
        let what = |why: &str| format!("{why}, and SINGLE keeps no redundancy");
        match mine {
            None => Err(Error::dataset(
                0,
                "",
                what("the record of this rank is lost"),
            )),
            Some((record, Health { data: Ok(()), .. })) => Ok((record, Outcome::Intact)),
            Some((record, Health { data: Err(why), .. })) => {
                let dataset = record.dataset;
                Err(Error::dataset(
                    dataset.id,
                    dataset.name.to_string(),
                    what(&why.to_string()),
                ))
            }
        }
    }
}

/// Reads all files of a rank and compares sizes, and checksums where there are any.
pub(super) fn check_data(context: &Context, record: &Record) -> Result<()> {
    let paths = context.paths(&record.files)?;
    let metas = &record.files.files;
    if metas.iter().all(|f| f.crc.is_none()) {
        return paths
            .iter()
            .try_for_each(|(path, size)| exists(context.files, path, *size));
    }
    let sums = checksums(context, paths.clone())?;
    let mut expected = paths.iter().zip(sums).zip(metas);
    expected.try_for_each(|(((path, _), crc), meta)| same_crc(path, crc, meta.crc))
}

/// Reads files of known sizes once; their checksums.
fn checksums(context: &Context, paths: Vec<(PathBuf, u64)>) -> Result<Vec<u32>> {
    let mut reader = Reader::new(context.files, paths, true)?;
    let mut buffer = vec![0; BLOCK];
    for offset in (0..reader.size()).step_by(BLOCK) {
        let length = (reader.size() - offset).min(BLOCK as u64) as usize;
        reader.read_at(offset, &mut buffer[..length])?;
    }
    reader.finish()
}
