//! Writes a checkpoint of fields.

use super::agreement::{check_cover, fingerprint_of_list, first_difference, signature};
use super::copies::{compare_copies, find_copies};
use super::entry::{Entry, Role};
use super::file::{Stored, fingerprint};
use super::list::{List, Mode};
use super::sources::file_of;
use super::write::Writer;
use crate::comm::{Term, VerdictExt, collective, is_same, same};
use crate::format::{Name, to_message};
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
/// or leave holes, the routine returns an error, or as for start and complete of a dataset. The error is the
/// same on all ranks, no phase stays open, and older checkpoints are as they were.
pub fn checkpoint(
    session: &mut Session,
    name: Option<Name>,
    flags: Result<(bool, bool)>,
    routine: &mut dyn FnMut(&mut List<'_>) -> Result<()>,
) -> Result<()> {
    session.check_call(Call::Checkpoint)?;
    if let Err(error) = session.start_output_over(name, flags, file_of) {
        // Ends the phase that has failed; an error of this call is the same one.
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
/// The errors of [`checkpoint`], [`Session::need_checkpoint`] and [`Session::should_exit`].
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
    let listed = list_state(session, routine);
    let common = Common::of(session, listed.as_ref().ok())?;
    let Listed { mut writer, lists } = listed?;
    if !common.all_listed {
        return Ok(());
    }
    if !common.same_values {
        let fields = writer.fields.iter().map(with_values);
        let signatures: Vec<String> = fields.map(|(entry, crc)| signature(entry, crc)).collect();
        return first_difference(session.comm(), Call::Checkpoint.name(), &signatures)?.result();
    }
    let indices = std::mem::take(&mut writer.indices);
    let shared = indices.iter().any(|list| list.shared);
    if !common.known_parts {
        session.fields_mut().forget_parts();
        let fields = std::mem::take(&mut writer.fields);
        let entries: Vec<&Entry> = parts_of(&fields).collect();
        let comm = session.comm();
        let mut read = |offset, buffer: &mut [u8]| writer.read_back(offset, buffer);
        let covered = check_cover(comm, &entries, &indices, &mut read)?.result();
        writer.fields = fields;
        let [wrong] = collective::combine(comm, [Term::any(covered.is_err())])?;
        if wrong.on_any() {
            return covered;
        }
        let copies = if shared {
            find_copies(comm, &indices)?
        } else {
            Vec::new()
        };
        session.fields_mut().know_parts(lists.parts, copies);
    }
    // All ranks have the same lists, so all take this branch or none does.
    if shared {
        let (comm, copies) = (session.comm(), session.fields().copies());
        let compared = compare_copies(comm, &mut writer, &indices, &copies)?.result();
        let [wrong] = collective::combine(comm, [Term::any(compared.is_err())])?;
        if wrong.on_any() {
            return compared;
        }
    }
    drop(indices);
    let comm = session.comm();
    let me = (comm.rank() as u64, comm.size() as u64);
    let written = writer.finish(me, lists.names, common.same_counts)?;
    let name = session.open_name().cloned().unwrap_or_default();
    session.library_wrote(&file_of(&name, me.0), written.crc, written.file);
    Ok(())
}

/// This rank's list; all its fields are in the rank's file.
struct Listed {
    writer: Writer,
    lists: Lists,
}

/// Calls the routine, and writes the fields that it lists. Local.
fn list_state(
    session: &mut Session,
    routine: &mut dyn FnMut(&mut List<'_>) -> Result<()>,
) -> Result<Listed> {
    let mut writer = begin(session)?;
    let mut list = List::new(session, Mode::Write(&mut writer));
    let returned = routine(&mut list);
    list.end_of_list(returned)
        .map_err(|finding| finding.error)?;
    let lists = Lists::of(&writer.fields)?;
    Ok(Listed { writer, lists })
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
    let mut file = session.files().rewrite(&path, FILE_MODE)?;
    session.use_kept(&mut *file);
    let mut writer = Writer::new(file, rank, ranks, session.signs());
    writer.use_threads(session.threads());
    Ok(writer)
}

fn parts_of(fields: &[Stored]) -> impl Iterator<Item = &Entry> {
    let entries = fields.iter().map(|field| &field.entry);
    entries.filter(|entry| entry.role == Role::Part)
}

/// Numbers made from this rank's list, for the comparison.
struct Lists {
    /// A number of the signatures, with checksums of values that are the same on all ranks.
    values: u64,
    /// A number of the signatures without values.
    names: u64,
    /// A number of the values of all counts.
    counts: u64,
    /// A number of this rank's boxes and index lists.
    parts: u64,
}

impl Lists {
    fn of(fields: &[Stored]) -> Result<Self> {
        let names = fingerprint_of_list(fields.iter().map(|field| (&field.entry, None)));
        let values = if fields.iter().any(|field| field.entry.role == Role::Same) {
            fingerprint_of_list(fields.iter().map(with_values))
        } else {
            names
        };
        let counts = fields
            .iter()
            .filter(|field| field.entry.role == Role::Count);
        let counts: Vec<u32> = counts.map(|field| field.section.crc).collect();
        Ok(Lists {
            values,
            names,
            counts: fingerprint(&to_message(&counts)?),
            parts: places_of(fields)?,
        })
    }
}

/// The facts on which the ranks agree. The same on all.
struct Common {
    /// True if all ranks have listed their state.
    all_listed: bool,
    /// The fields are the same, and so are the values that all ranks must have.
    same_values: bool,
    /// The values of all counts are the same.
    same_counts: bool,
    /// The parts were found to make up the wholes.
    known_parts: bool,
}

impl Common {
    /// `listed` is this rank's list, if it could make one. Collective; an allreduce.
    fn of(session: &Session, listed: Option<&Listed>) -> Result<Self> {
        let lists = listed.map(|listed| &listed.lists);
        let values = same(lists.map_or(0, |lists| lists.values));
        let counts = same(lists.map_or(0, |lists| lists.counts));
        let known = lists.is_some_and(|lists| session.fields().knows_parts(lists.parts));
        let terms = [
            values[0],
            values[1],
            counts[0],
            counts[1],
            Term::any(!known),
            Term::any(lists.is_none()),
        ];
        let terms = collective::combine(session.comm(), terms)?;
        let [least, most, least_counts, most_counts, unknown, failed] = terms;
        Ok(Common {
            all_listed: !failed.on_any(),
            same_values: is_same([least, most]),
            same_counts: is_same([least_counts, most_counts]),
            known_parts: !unknown.on_any(),
        })
    }
}

/// A field, with the checksum of values that are the same on all ranks.
fn with_values(field: &Stored) -> (&Entry, Option<u32>) {
    let same = field.entry.role == Role::Same;
    (&field.entry, same.then_some(field.section.crc))
}

/// A number of this rank's boxes and index lists.
fn places_of(fields: &[Stored]) -> Result<u64> {
    let boxes: Vec<_> = parts_of(fields)
        .map(|part| (&part.name, part.region(), &part.whole))
        .collect();
    let indices = fields
        .iter()
        .filter(|field| field.entry.role == Role::Index);
    let indices: Vec<_> = indices
        .map(|field| {
            let Stored { entry, section } = field;
            let place = (&entry.name, &entry.whole, entry.is_shared());
            (place, &section.blocks)
        })
        .collect();
    Ok(fingerprint(&to_message(&(boxes, indices))?))
}
