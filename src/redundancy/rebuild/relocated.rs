//! Parts that other members hold. Their holders announce what they hold, and afterwards what they
//! could not read of it.

use crate::format::Scheme;
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::format::{Dataset, Reddesc, from_message, to_message};
use crate::redundancy::code::Code;
use crate::redundancy::parity_file::{self, ParityReader};
use crate::redundancy::{Context, HeldPart, LocalPart, PartHealth, Record};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Message of a holder to the member whose part it holds.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct HeldPartMessage {
    part: Option<HeldPartReport>,
}

/// A part with a record.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct HeldPartReport {
    dataset: Dataset,
    reddesc: Reddesc,
    files: RankFiles,
    /// True if all files exist with their sizes.
    data: bool,
    /// The header of the redundancy file, if it can be read.
    parity: Option<ParityHeader>,
}

/// Each holder announces the part that it holds to its rank, which puts it in `mine`. Returns the
/// header of this rank's redundancy file, if another rank holds that. One round of messages.
pub(super) fn exchange_held_parts(
    context: &Context,
    code: &Code,
    scheme: Scheme,
    mine: &mut Option<LocalPart>,
    held_part: Option<&mut HeldPart>,
) -> Result<Option<ParityHeader>> {
    // A part that cannot be serialized counts as lost. The message is sent all the same, since it
    // is waited for.
    let to = held_member(context).map(|member| {
        let part = held_part.map(|held_part| part(context, code, scheme, held_part));
        let message = to_message(&HeldPartMessage { part }).unwrap_or_default();
        (context.member(member), message)
    });
    let heard = context.send_and_receive(to.into_iter(), own_holder(context).into_iter())?;
    let message = heard.first().and_then(|message| from_message(message).ok());
    let Some(HeldPartMessage { part: Some(part) }) = message else {
        return Ok(None);
    };
    let missing = |there: bool, what: &str| match there {
        true => Ok(()),
        false => Err(remote_damage(context, &part.dataset, what)),
    };
    *mine = Some(LocalPart {
        health: PartHealth {
            data: missing(part.data, "files are missing or damaged"),
            parity: missing(
                part.parity.is_some(),
                "its redundancy file is missing or damaged",
            ),
        },
        verified: false,
        record: Record {
            dataset: part.dataset,
            reddesc: part.reddesc,
            files: part.files,
        },
    });
    Ok(part.parity)
}

/// Each holder says whether it could read all data and all redundancy that it sent. One round of
/// messages.
pub(super) fn exchange_read_results(
    context: &Context,
    (data, parity): (bool, bool),
    dataset: &Dataset,
) -> Result<(Result<()>, Result<()>)> {
    let message = vec![u8::from(data), u8::from(parity)];
    let to = held_member(context).map(|member| (context.member(member), message));
    let heard = context.send_and_receive(to.into_iter(), own_holder(context).into_iter())?;
    let mut words = heard.iter().flatten().copied();
    let mut say = |what: &str| match words.next() {
        Some(0) => Err(remote_damage(context, dataset, what)),
        _ => Ok(()),
    };
    let data = say("its files could not be read");
    Ok((data, say("its redundancy file could not be read")))
}

/// The rank that holds this rank's part, if it is another one.
fn own_holder(context: &Context) -> Option<usize> {
    let holder = context.holder(context.set.index);
    (holder != context.comm.rank()).then_some(holder)
}

/// The member whose part this rank holds.
pub(super) fn held_member(context: &Context) -> Option<usize> {
    let mut away = context.relocated_members().into_iter();
    away.find(|member| context.holder(*member) == context.comm.rank())
}

fn part(
    context: &Context,
    code: &Code,
    scheme: Scheme,
    held_part: &mut HeldPart,
) -> HeldPartReport {
    let input = held_part.part.health.parity.clone();
    let input = input.and_then(|()| open(context, code, scheme, held_part));
    let LocalPart { record, health, .. } = &mut held_part.part;
    health.parity = input.as_ref().map(drop).map_err(Clone::clone);
    HeldPartReport {
        dataset: record.dataset.clone(),
        reddesc: record.reddesc.clone(),
        files: record.files.clone(),
        data: health.data.is_ok(),
        parity: input.ok().map(|input| input.header),
    }
}

/// Opens the redundancy file of a held part.
pub(super) fn open(
    context: &Context,
    code: &Code,
    scheme: Scheme,
    held_part: &HeldPart,
) -> Result<ParityReader> {
    let path = parity_file::path(&held_part.meta_dir, &held_part.set, scheme);
    let theirs = held_part.context(context);
    ParityReader::open(&theirs, path, &held_part.part.record, code.parities())
}

/// Damage on the holder's node, which reports the details itself.
fn remote_damage(context: &Context, dataset: &Dataset, what: &str) -> Error {
    let holder = context.holder(context.set.index);
    let what = format!("{what} on the node of rank {holder}");
    Error::dataset(dataset.id, dataset.name.to_string(), what)
}
