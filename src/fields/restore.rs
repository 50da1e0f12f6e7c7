//! Restores the state of a program from the newest checkpoint of fields that is whole and fits.

use super::agreement::{fingerprint_of, first_difference, signature};
use super::convert::is_lossless;
use super::entry::{Entry, Link, Listed, Role, wrong};
use super::finding::{Agreed, Finding, Found, Stop};
use super::index::needed::{Kept, Needed};
use super::keyed::{Keyed, settle};
use super::kind::Kind;
use super::list::{Comparison, List, Mode};
use super::reader::{FieldReader, Part, Want, Wanted};
use super::shares::agree_on_bags;
use super::sources::Sources;
use super::spread::Spread;
use super::spread_index::IndexSpread;
use crate::comm::{self, Communicator, Term, VerdictExt, collective, is_same, same};
use crate::events::Severity;
use crate::format::Name;
use crate::session::state::Call;
use crate::session::{Session, Verdict};
use crate::{Error, Result};
use std::collections::{HashMap, HashSet};

/// The routine of a program.
type Routine<'a> = dyn FnMut(&mut List<'_>) -> Result<()> + 'a;

/// Restores the state that `routine` lists (`SCR_Restore`): from the newest checkpoint that is whole and fits,
/// which any number of ranks may have written. Its name; `None` without a checkpoint. Collective.
///
/// The routine is called twice for each checkpoint that is tried: to compare, in which no field changes, and
/// when all ranks have found names, kinds, extents and checksums right, to read.
///
/// # Errors
/// No checkpoint fits the program, or one cannot be read for a reason other than its content: bad arguments,
/// lists that differ between ranks, an error of the system. Such a checkpoint is kept. The same on all ranks;
/// no phase stays open. After an error no dataset can be started, until a restart succeeds or finds no
/// checkpoint, unless `SCR_START_ANEW` is set.
pub fn restore(session: &mut Session, routine: &mut Routine<'_>) -> Result<Option<Name>> {
    session.check_call(Call::Restore)?;
    let restored = restore_newest(session, routine);
    // An error is noted, so that no new dataset replaces good checkpoints from which the program does not go on.
    session
        .fields_mut()
        .note_restore(restored.as_ref().err().map(Error::to_string));
    restored
}

/// Tries one checkpoint after the other. As [`restore`].
fn restore_newest(session: &mut Session, routine: &mut Routine<'_>) -> Result<Option<Name>> {
    session.allow_other_ranks(true)?;
    session.forget_unfit();
    let mut last: Option<Error> = None;
    // Checkpoints that do not fit. One line reports them after a restore, or the error that nothing was restored.
    let mut unfit: Vec<(Name, Error)> = Vec::new();
    let mut changed = false;
    loop {
        let offered = session.have_restart();
        let offered = match (offered, last.take()) {
            (Ok(Some(name)), last) => {
                tell(session, last);
                name
            }
            (Ok(None), Some(last)) if changed => return Err(half_changed(&last)),
            (Err(error), _) if changed => return Err(half_changed(&error)),
            (Ok(None), last) => {
                tell(session, last);
                return Ok(None);
            }
            (Err(error), _) => return Err(error),
        };
        let (verdict, why) = match try_restore(session, routine, &mut changed) {
            Ok(()) | Err(Stop::Elsewhere) => (Verdict::Read, None),
            Err(Stop::Found(finding)) => (finding.verdict, Some(finding.error.to_string())),
            Err(Stop::Broken(error)) => return Err(error),
        };
        session.set_why_invalid(why);
        match session.complete_restart(verdict).verdict()? {
            Ok(()) => {
                tell_unfit(session, unfit);
                return Ok(Some(offered));
            }
            Err(error) if session.fields().is_unfit(&offered) => unfit.push((offered, error)),
            Err(error) => last = Some(error),
        }
    }
}

/// The error of a checkpoint that failed while it was read, with none restored after it.
fn half_changed(why: &Error) -> Error {
    let what = format!("the program's memory is partly that of a checkpoint that failed: {why}");
    Error::usage(Call::Restore.name(), what)
}

/// Reports which newer checkpoints do not fit the program's list: the reason for the newest, and the names of the
/// others.
fn tell_unfit(session: &Session, unfit: Vec<(Name, Error)>) {
    const MOST: usize = 4;
    let mut unfit = unfit.into_iter();
    let Some((_, newest)) = unfit.next() else {
        return;
    };
    let others: Vec<String> = unfit.map(|(name, _)| name.to_string()).collect();
    let more = match others.len() {
        0 => String::new(),
        count => {
            let dots = if count > MOST { ", ..." } else { "" };
            let names = others.get(..count.min(MOST)).unwrap_or_default().join(", ");
            format!("; nor do {count} more fit that are newer than the restored one: {names}{dots}")
        }
    };
    session.tell_once(Severity::Error, format!("{newest}{more}"));
}

/// Tells why a checkpoint was not restored, before an older one is tried.
fn tell(session: &Session, why: Option<Error>) {
    if let Some(why) = why {
        session.tell_once(Severity::Error, why.to_string());
    }
}

/// Tries the checkpoint that is offered. Another rank may still have failed to read it. Collective.
fn try_restore(session: &mut Session, routine: &mut Routine<'_>, changed: &mut bool) -> Agreed<()> {
    let name = session.start_restart()?;
    session.read_in_place();
    let ranks = session.restart_ranks()?;
    let (me, size) = (session.comm().rank() as u64, session.comm().size() as u64);
    let mut sources = Sources::new(name, ranks, (me, size), session.signs());
    let opened = sources.open_own(session);
    sources.bags = agree_on_bags(session.comm(), opened.is_ok().then_some(&sources))?;
    // On all ranks or on none.
    let has_bags = !sources.bags.0.is_empty();
    let compared = opened.and_then(|()| compare_list(session, sources, Some(Vec::new()), routine));
    let compared = if has_bags {
        with_owners(session, compared, routine)?
    } else {
        compared
    };
    let compared = compared.and_then(|comparison| Plan::of(session, comparison));
    let plan = agree_on_list(session.comm(), compared)?;
    let mut reader = verify(session.comm(), plan)?;
    *changed = true;
    let mut list = List::new(session, Mode::Read(&mut reader));
    let returned = routine(&mut list);
    let read = list.end_of_list(returned);
    let finished = reader.finish(session.comm());
    if let Some(error) = reader.broken {
        return Err(Stop::Broken(error));
    }
    Ok(read.and(finished)?)
}

/// Calls the routine for the first time, and compares its list with the files. Local.
fn compare_list(
    session: &mut Session,
    sources: Sources,
    keyed: Option<Vec<Keyed>>,
    routine: &mut Routine<'_>,
) -> Found<Comparison> {
    let mut comparison = Comparison {
        sources,
        keyed,
        listed: Vec::new(),
        indices: Vec::new(),
        others: HashSet::new(),
    };
    let mut list = List::new(session, Mode::Compare(&mut comparison));
    let returned = routine(&mut list);
    list.end_of_list(returned)?;
    Ok(comparison)
}

/// If the program has given keys of bags, finds out which elements each rank gets, and calls the routine again, which
/// hears how many they are. Collective; an allreduce, and with keys those of [`settle`].
fn with_owners(
    session: &mut Session,
    compared: Found<Comparison>,
    routine: &mut Routine<'_>,
) -> Agreed<Found<Comparison>> {
    let keyed = compared
        .as_ref()
        .ok()
        .and_then(|compared| compared.keyed.as_ref());
    let names = keyed.into_iter().flatten();
    let names: Vec<String> = names
        .map(|keyed| format!("{}\n{}", keyed.bag, keyed.is_owned()))
        .collect();
    let number = same(fingerprint_of(&names));
    let terms = [
        number[0],
        number[1],
        Term::any(!names.is_empty()),
        Term::any(compared.is_err()),
    ];
    let [least, most, some, failed] = collective::combine(session.comm(), terms)?;
    let mut comparison = match compared {
        Ok(comparison) if some.on_any() && !failed.on_any() => comparison,
        // The ranks agree later on how it goes on.
        other => return Ok(other),
    };
    if !is_same([least, most]) {
        let what =
            "the ranks give other keys of bags, or some give an owner function and some do not";
        return Ok(Err(Error::usage("SCR_Bag_by_key", what).into()));
    }
    let keyed = comparison.keyed.take().unwrap_or_default();
    settle(session.comm(), &mut comparison.sources, keyed)?;
    Ok(compare_list(session, comparison.sources, None, routine))
}

/// The ranks agree that all list the same fields, and that all files have them. After that, `other_boxes` in the
/// plan is true if it is true on any rank. Collective.
fn agree_on_list(comm: &dyn Communicator, compared: Found<Plan>) -> Agreed<Plan> {
    let plan = compared.as_ref().ok();
    let listed = same(plan.map_or(0, |plan| fingerprint_of(&plan.signatures)));
    let stored = same(plan.map_or(0, |plan| plan.sources.common()));
    let terms = [
        listed[0],
        listed[1],
        stored[0],
        stored[1],
        Term::any(plan.is_some_and(|plan| plan.other_boxes)),
        Term::any(plan.is_some_and(|plan| !plan.unlisted.is_empty())),
        Term::any(plan.is_none()),
    ];
    let terms = collective::combine(comm, terms)?;
    let [
        least,
        most,
        least_stored,
        most_stored,
        other_boxes,
        unlisted,
        failed,
    ] = terms;
    let mut plan = compared?;
    plan.other_boxes = other_boxes.on_any();
    if failed.on_any() {
        return Err(Stop::Elsewhere);
    }
    if !is_same([least_stored, most_stored]) {
        let what = "the files of fields of the ranks have different fields, or other values of those that are the same on all";
        return Err(Error::format(0, what).into());
    }
    if !is_same([least, most]) {
        first_difference(comm, Call::Restore.name(), &plan.signatures)?.result()?;
        return Err(Stop::Elsewhere);
    }
    if unlisted.on_any() {
        refuse_unlisted(comm, &plan)?;
    }
    Ok(plan)
}

/// Checks all bytes that are needed. Collective.
fn verify(comm: &dyn Communicator, plan: Plan) -> Agreed<FieldReader> {
    let mut plan = plan;
    let mut planned = Ok(());
    let (mut spread, mut indices) = (None, None);
    if plan.other_boxes {
        match Spread::plan(comm, &plan.sources, &plan.parts)? {
            Ok(found) => spread = Some(found),
            Err(finding) => planned = Err(finding),
        }
        let indexed = std::mem::take(&mut plan.indexed);
        // All ranks list the same fields, so all take this branch or none does.
        if !indexed.is_empty() {
            let used = std::mem::take(&mut plan.used);
            match IndexSpread::plan(comm, &mut plan.sources, used, indexed)? {
                Ok(found) => indices = Some(found),
                Err(finding) => planned = planned.and(Err(finding)),
            }
        }
    }
    let mut reader = plan.reader();
    let mut verified = reader.verify_local().and(planned);
    if let Some(spread) = &spread {
        verified = verified.and_then(|()| spread.verify(&mut reader.sources));
    }
    if let Some(indices) = &indices {
        verified = verified.and_then(|()| indices.verify(&mut reader.sources));
    }
    (reader.spread, reader.indices) = (spread, indices);
    reader.rounds = agree_on_rounds(comm, &reader, verified)?;
    Ok(reader)
}

/// The number of rounds in which each part is sent: the largest number of any rank. Collective; an allreduce.
fn agree_on_rounds(
    comm: &dyn Communicator,
    reader: &FieldReader,
    verified: Found<()>,
) -> Agreed<Vec<u64>> {
    let rounds = |part: &Part| match (part, &reader.spread, &reader.indices) {
        (Part::Box(number), Some(spread), _) => spread.rounds(*number),
        (Part::Indexed(number), _, Some(indices)) => indices.rounds(*number),
        _ => 0,
    };
    let terms = reader
        .parts
        .iter()
        .map(|part| Term::Max(rounds(part) as i64));
    let terms: Vec<Term> = terms.chain([Term::any(verified.is_err())]).collect();
    let mut terms = collective::combine_all(comm, terms)?;
    let failed = terms.pop().is_some_and(comm::Agreed::on_any);
    verified?;
    if failed {
        return Err(Stop::Elsewhere);
    }
    Ok(terms.into_iter().map(comm::Agreed::count).collect())
}

/// Fails, on all ranks, if no rank lists one of the stored fields: a rank that reads no old rank's part need not
/// list the field. Collective.
fn refuse_unlisted(comm: &dyn Communicator, plan: &Plan) -> Agreed<()> {
    let is_unlisted = |number| Term::Min(plan.unlisted.contains(&number).into());
    let terms = (0..plan.sources.stored().count()).map(is_unlisted);
    let terms = collective::combine_all(comm, terms.collect())?;
    let mut fields = plan.sources.stored().zip(terms);
    match fields.find(|(_, everywhere)| everywhere.on_any()) {
        None => Ok(()),
        Some((entry, _)) => Err(Stop::from(Finding::unfit(format!(
            "the checkpoint has field {entry}, which the program does not list; if the program no longer has it, say \
             so with SCR_Gone"
        )))),
    }
}

/// The source of each listed field.
struct Plan {
    sources: Sources,
    wanted: Vec<Wanted>,
    /// The boxes in wholes, without parts of old ranks.
    parts: Vec<Entry>,
    /// The fields by index, with the numbers of their lists among the used ones.
    indexed: Vec<(Entry, usize)>,
    /// The index lists that these fields use.
    used: Vec<Needed>,
    /// A number of each index list.
    lists: HashMap<String, u64>,
    /// A part is in another box than this rank's file has, or goes by another index list; when the ranks have agreed, on any rank.
    other_boxes: bool,
    /// The signatures that must be equal on all ranks.
    signatures: Vec<String>,
    /// Numbers of the fields in the file that this rank does not list.
    unlisted: Vec<usize>,
}

impl Wanted {
    /// True for a part of a whole that both the program and the checkpoint have.
    fn is_part(&self) -> bool {
        let Listed { entry, options } = &self.listed;
        matches!(entry.role, Role::Part | Role::Indexed)
            && options.from.is_none()
            && self.want != Want::Nothing
    }
}

impl Plan {
    /// The reader, for use once all ranks have found everything right.
    fn reader(self) -> FieldReader {
        let mut wanted = self.wanted;
        let mut parts = Vec::new();
        if self.other_boxes {
            let (mut boxes, mut indexed) = (0, 0);
            let listed = wanted.iter_mut().filter(|wanted| wanted.is_part());
            for (part, wanted) in listed.enumerate() {
                wanted.want = Want::Spread { part };
                if wanted.listed.entry.role == Role::Part {
                    parts.push(Part::Box(boxes));
                    boxes += 1;
                } else {
                    parts.push(Part::Indexed(indexed));
                    indexed += 1;
                }
            }
        }
        FieldReader {
            sources: self.sources,
            wanted,
            spread: None,
            indices: None,
            rounds: vec![0; parts.len()],
            parts,
            lists: self.lists,
            next: 0,
            next_part: 0,
            broken: None,
        }
    }

    /// Compares the program's list with the stored fields. Local.
    fn of(session: &mut Session, comparison: Comparison) -> Found<Plan> {
        let Comparison {
            mut sources,
            listed,
            mut indices,
            others,
            keyed: _,
        } = comparison;
        let same_ranks = sources.ranks == session.comm().size() as u64;
        let mut other_boxes = false;
        let lists = indices.iter();
        let lists = lists.map(|list| (list.name.clone(), list.print));
        let lists = lists.collect();
        let same_lists = indices.iter().filter(|list| list.kept == Kept::Stored);
        let same_lists: HashSet<String> = same_lists.map(|list| list.name.clone()).collect();
        let mut wanted = Vec::with_capacity(listed.len());
        for listed in listed {
            let (want, kind) = compare(session, &mut sources, &listed, same_ranks)?;
            let one = Wanted { listed, want, kind };
            if let (true, Want::Local { rank, number }) = (one.is_part(), want) {
                other_boxes |= !same_ranks;
                let entry = &one.listed.entry;
                other_boxes |= match &entry.link {
                    Link::By(list) => !same_lists.contains(list),
                    _ => sources.field(rank, number)?.entry.region() != entry.region(),
                };
            }
            wanted.push(one);
        }
        let names: HashSet<&str> = wanted
            .iter()
            .map(|w| w.listed.entry.name.as_str())
            .collect();
        let stored = sources.stored().enumerate();
        let known =
            |entry: &Entry| names.contains(entry.name.as_str()) || others.contains(&entry.name);
        let unlisted = stored
            .filter(|(_, entry)| !matches!(entry.role, Role::Index | Role::Bag) && !known(entry))
            .map(|(number, _)| number)
            .collect();
        let common = wanted
            .iter()
            .filter(|wanted| wanted.listed.options.from.is_none());
        let signatures = common
            .map(|wanted| signature(&wanted.listed.entry, None))
            .collect();
        let entries = wanted.iter().filter(|wanted| wanted.is_part());
        let entries = entries.map(|wanted| wanted.listed.entry.clone());
        let (parts, by_index): (Vec<_>, Vec<_>) =
            entries.partition(|entry| entry.role == Role::Part);
        let (mut used, mut indexed): (Vec<Needed>, _) = (Vec::new(), Vec::new());
        for entry in by_index {
            let Link::By(name) = &entry.link else {
                continue;
            };
            let number = used.iter().position(|list| list.name == *name);
            let number = number.unwrap_or_else(|| {
                let listed = indices.iter().position(|list| list.name == *name);
                used.extend(listed.map(|listed| indices.swap_remove(listed)));
                used.len().saturating_sub(1)
            });
            indexed.push((entry, number));
        }
        Ok(Plan {
            sources,
            wanted,
            parts,
            indexed,
            used,
            lists,
            other_boxes,
            signatures,
            unlisted,
        })
    }
}

/// The source of a listed field, and its kind in the file. Local.
fn compare(
    session: &mut Session,
    sources: &mut Sources,
    listed: &Listed,
    same_ranks: bool,
) -> Found<(Want, Kind)> {
    let Listed { entry, options } = listed;
    let (ranks, size) = (sources.ranks, session.comm().size());
    let rank = options.from.unwrap_or(sources.home);
    if rank >= ranks {
        let what = format!("{ranks} ranks wrote the checkpoint; there is no rank {rank}");
        return Err(wrong(&entry.name, what).into());
    }
    if entry.role == Role::Indexed && options.from.is_some() {
        let what = "a field by index is read by its indices, whatever rank wrote them; leave SCR_From_rank out";
        return Err(wrong(&entry.name, what).into());
    }
    let source = sources.source(session, rank)?;
    let Some(number) = source.number(&entry.name) else {
        // Fields that go by a list that is not there are not there themselves.
        if options.keep_if_missing || matches!(entry.role, Role::Index | Role::Bag) {
            return Ok((Want::Nothing, entry.kind));
        }
        return Err(Finding::unfit(format!(
            "field {entry} is not in the checkpoint; if it may be missing, set SCR_KEEP_IF_MISSING for it"
        )));
    };
    let stored = &sources.field(rank, number)?.entry;
    let want = Want::Local { rank, number };
    if entry.role == Role::Own && options.from.is_none() && !same_ranks && stored.role == Role::Own
    {
        return Err(Finding::unfit(format!(
            "field {entry} is each rank's own: {ranks} ranks wrote it, and this run has {size}; give its place in a \
             whole, or read the parts of the old ranks one by one, with SCR_From_rank"
        )));
    }
    let lossless = options.convert && is_lossless(stored.kind, entry.kind);
    let difference = entry.difference(stored, lossless, options.from.is_some());
    match difference {
        None if matches!(entry.role, Role::Index | Role::Bag) => Ok((Want::Nothing, stored.kind)),
        None => Ok((want, stored.kind)),
        Some(mut what) => {
            if is_lossless(stored.kind, entry.kind) && stored.kind != entry.kind && !options.convert
            {
                what += "; SCR_CONVERT converts it, and nothing is lost";
            }
            Err(Finding::unfit(what))
        }
    }
}
