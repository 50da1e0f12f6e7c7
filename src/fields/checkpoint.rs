//! Writes a checkpoint of fields.

use super::agreement::{check_cover, fingerprint_of_list, first_difference, signature};
use super::entry::{Entry, Role};
use super::file::{Stored, fingerprint};
use super::list::{List, Mode};
use super::sources::file_of;
use super::words::Words;
use super::write::Writer;
use crate::comm::{Term, VerdictExt, collective};
use crate::format::Name;
use crate::session::Session;
use crate::session::state::Call;
use crate::{Error, Result};

/// Mode of a new file, less the umask.
const FILE_MODE: u32 = 0o666;

/// Writes a dataset of the state that `routine` lists (`SCR_Checkpoint`). `name` and `flags` as for
/// [`Session::start_output_over`]. Collective, with the same arguments on all ranks.
///
/// # Errors
/// The dataset cannot be written: an argument of a field is wrong, the lists of the ranks differ, parts overlap
/// or leave holes, the routine returns an error, or as for start and complete of a dataset. It is the same on
/// all ranks, no phase stays open, and older checkpoints are as they were.
pub fn checkpoint(
    session: &mut Session,
    name: Option<Name>,
    flags: Result<(bool, bool)>,
    routine: &mut dyn FnMut(&mut List<'_>) -> Result<()>,
) -> Result<()> {
    session.check_call(Call::Checkpoint)?;
    if let Err(error) = session.start_output_over(name, flags, file_of) {
        // Ends the phase that has failed, which is no other error.
        let _ = session.complete_output(false);
        return Err(error);
    }
    let written = write(session, routine);
    let broken = written.clone().verdict().err();
    if let Err(error) = &written {
        session.set_why_invalid(Some(error.to_string()));
    }
    let completed = session.complete_output(written.is_ok());
    broken.map_or(completed, Err)
}

/// Writes a checkpoint if one is due, and tells whether the program should stop
/// (`SCR_Checkpoint_if_needed`). `ready` is an error if an argument of this rank cannot be used. Collective.
///
/// # Errors
/// Those of [`checkpoint`], and of the two questions.
pub fn checkpoint_if_needed(
    session: &mut Session,
    ready: Result<()>,
    routine: &mut dyn FnMut(&mut List<'_>) -> Result<()>,
) -> Result<(Result<()>, bool)> {
    session.check_call(Call::Checkpoint)?;
    let mut written = Ok(());
    if session.need_checkpoint()? {
        let flags = ready.map(|()| (true, false));
        written = checkpoint(session, None, flags, routine).verdict()?;
    }
    Ok((written, session.should_exit()?))
}

/// Writes this rank's file. An error of the transport, or one of this rank. Collective.
fn write(
    session: &mut Session,
    routine: &mut dyn FnMut(&mut List<'_>) -> Result<()>,
) -> Result<()> {
    let listed = begin(session).and_then(|mut writer| {
        let mut list = List::new(session, Mode::Write(&mut writer));
        let returned = routine(&mut list);
        list.end_of_list(returned)
            .map_err(|finding| finding.error)?;
        Ok(writer)
    });
    let fields: &[Stored] = listed.as_ref().map_or(&[], |writer| &writer.fields);
    let lists = Lists::of(fields);
    let parts = boxes_of(parts_of(fields));
    let mut terms = [
        Term::Max(lists.values as i64),
        Term::Min(lists.values as i64),
        Term::Max(lists.counts as i64),
        Term::Min(lists.counts as i64),
        Term::Max((!session.knows_parts(parts)).into()),
        Term::Max(listed.is_err().into()),
    ];
    let comm = session.comm();
    comm.allreduce(&mut terms)?;
    let [most, least, most_counts, least_counts, terms @ ..] = terms.map(Term::value);
    let [other_parts, failed] = terms.map(|term| term > 0);
    let writer = listed?;
    if failed {
        return Ok(());
    }
    if most != least {
        let fields = writer.fields.iter().map(with_values);
        let signatures: Vec<String> = fields.map(|(entry, crc)| signature(entry, crc)).collect();
        return first_difference(comm, Call::Checkpoint.name(), &signatures)?;
    }
    if other_parts {
        session.know_parts(None);
        let comm = session.comm();
        let entries: Vec<&Entry> = parts_of(&writer.fields).collect();
        let covered = check_cover(comm, &entries)?;
        let node = &session.speaker().node;
        if collective::agree(comm, node, covered.clone())
            .verdict()?
            .is_err()
        {
            return covered;
        }
        session.know_parts(Some(parts));
    }
    let comm = session.comm();
    let me = (comm.rank() as u64, comm.size() as u64);
    writer.finish(me, lists.names, most_counts == least_counts)?;
    Ok(())
}

/// Begins this rank's file. Local.
fn begin(session: &mut Session) -> Result<Writer> {
    if cfg!(target_endian = "big") {
        let what = "fields are written on little-endian machines only; write files instead";
        return Err(Error::usage(Call::Checkpoint.name(), what));
    }
    let (rank, ranks) = (session.comm().rank() as u64, session.comm().size() as u64);
    let name = session.open_name().cloned().unwrap_or_default();
    let path = session.in_prefix(&file_of(&name, rank));
    let path = session.route(&path)?;
    session.reuse_file(|dataset| file_of(dataset, rank), &path);
    let file = session.files().rewrite(&path, FILE_MODE)?;
    Ok(Writer::new(file, rank, ranks, session.signs()))
}

fn parts_of(fields: &[Stored]) -> impl Iterator<Item = &Entry> {
    let entries = fields.iter().map(|field| &field.entry);
    entries.filter(|entry| entry.role == Role::Part)
}

/// What the lists of all ranks must have in common.
struct Lists {
    /// A number of the signatures, with checksums of values that are the same on all ranks.
    values: u64,
    /// A number of the signatures without values.
    names: u64,
    /// A number of the values of all counts.
    counts: u64,
}

impl Lists {
    fn of(fields: &[Stored]) -> Self {
        let names = fingerprint_of_list(fields.iter().map(|field| (&field.entry, None)));
        let values = if fields.iter().any(|field| field.entry.role == Role::Same) {
            fingerprint_of_list(fields.iter().map(with_values))
        } else {
            names
        };
        let mut counts = Words::default();
        let listed = fields.iter();
        let listed = listed.filter(|field| field.entry.role == Role::Count);
        listed.for_each(|field| counts.put(field.section.crc.into()));
        Lists {
            values,
            names,
            counts: fingerprint(&counts.0),
        }
    }
}

/// A field, with the checksum of values that are the same on all ranks.
fn with_values(field: &Stored) -> (&Entry, Option<u32>) {
    let same = field.entry.role == Role::Same;
    (&field.entry, same.then_some(field.section.crc))
}

/// A number of this rank's boxes.
fn boxes_of<'a>(parts: impl Iterator<Item = &'a Entry>) -> u64 {
    let mut boxes = Words::default();
    for part in parts {
        boxes.0.extend(part.name.as_bytes());
        boxes.put_region(&part.region());
        part.whole.iter().for_each(|extent| boxes.put(*extent));
    }
    fingerprint(&boxes.0)
}
