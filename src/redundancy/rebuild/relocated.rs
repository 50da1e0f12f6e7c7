//! Parts that lie on other nodes than their ranks: their holders tell what they have, and what
//! they could not read of it.

use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::format::{Dataset, Reddesc, from_message, to_message};
use crate::redundancy::code::Code;
use crate::redundancy::parity_file::{self, Input};
use crate::redundancy::{Context, Found, Health, HeldPart, Record};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// What a holder tells.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct Introduction {
    part: Option<Part>,
}

/// A part with a record.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Part {
    dataset: Dataset,
    reddesc: Reddesc,
    files: RankFiles,
    /// Whether all files are there, by name and size.
    data: bool,
    /// The header of the redundancy file, if that is there.
    parity: Option<ParityHeader>,
}

/// The holders introduce the parts they hold; `mine` becomes that of this rank if another has
/// it, and what is given is the header of its redundancy file. One round.
pub(super) fn introduce(
    context: &Context,
    code: &Code,
    scheme: &str,
    mine: &mut Option<Found>,
    lent: Option<&mut HeldPart>,
) -> Result<Option<ParityHeader>> {
    // What has no form as a message, or cannot be read as one, counts as lost: the others are
    // waiting.
    let to = held(context).map(|member| {
        let part = lent.map(|lent| part(context, code, scheme, lent));
        let message = to_message(&Introduction { part }).unwrap_or_default();
        (context.member(member), message)
    });
    let heard = context.deliver(to.into_iter(), holder(context).into_iter())?;
    let introduction = heard.first().and_then(|message| from_message(message).ok());
    let Some(Introduction { part: Some(part) }) = introduction else {
        return Ok(None);
    };
    let missing = |there: bool, what: &str| match there {
        true => Ok(()),
        false => Err(trouble(context, &part.dataset, what)),
    };
    *mine = Some(Found {
        health: Health {
            data: missing(part.data, "files are missing or damaged"),
            parity: missing(
                part.parity.is_some(),
                "its redundancy file is missing or damaged",
            ),
        },
        proven: false,
        record: Record {
            dataset: part.dataset,
            reddesc: part.reddesc,
            files: part.files,
        },
    });
    Ok(part.parity)
}

/// The holders tell whether they could read all they sent: data, redundancy. One round.
pub(super) fn conclude(
    context: &Context,
    (data, parity): (bool, bool),
    dataset: &Dataset,
) -> Result<(Result<()>, Result<()>)> {
    let message = vec![u8::from(data), u8::from(parity)];
    let to = held(context).map(|member| (context.member(member), message));
    let heard = context.deliver(to.into_iter(), holder(context).into_iter())?;
    let mut words = heard.iter().flatten().copied();
    let mut say = |what: &str| match words.next() {
        Some(0) => Err(trouble(context, dataset, what)),
        _ => Ok(()),
    };
    let data = say("its files could not be read");
    Ok((data, say("its redundancy file could not be read")))
}

/// Who has the part of this rank, if another has.
fn holder(context: &Context) -> Option<usize> {
    let holder = context.holder(context.set.index);
    (holder != context.comm.rank()).then_some(holder)
}

/// Whose part this rank has.
pub(super) fn held(context: &Context) -> Option<usize> {
    let mut away = context.away().into_iter();
    away.find(|member| context.holder(*member) == context.comm.rank())
}

fn part(context: &Context, code: &Code, scheme: &str, lent: &mut HeldPart) -> Part {
    let input = lent.found.health.parity.clone();
    let input = input.and_then(|()| open(context, code, scheme, lent));
    let Found { record, health, .. } = &mut lent.found;
    health.parity = input.as_ref().map(drop).map_err(Clone::clone);
    Part {
        dataset: record.dataset.clone(),
        reddesc: record.reddesc.clone(),
        files: record.files.clone(),
        data: health.data.is_ok(),
        parity: input.ok().map(|input| input.header),
    }
}

/// The redundancy file of a part that is lent.
pub(super) fn open(context: &Context, code: &Code, scheme: &str, lent: &HeldPart) -> Result<Input> {
    let path = parity_file::path(lent.meta_dir, lent.set, scheme);
    let theirs = lent.context(context);
    Input::open(&theirs, path, &lent.found.record, code.parities())
}

/// What is wrong on the node of the holder, who knows more of it.
fn trouble(context: &Context, dataset: &Dataset, what: &str) -> Error {
    let holder = context.holder(context.set.index);
    let what = format!("{what} on the node of rank {holder}");
    Error::dataset(dataset.id, dataset.name.to_string(), what)
}

impl<'a> HeldPart<'a> {
    /// The context of the member whose part it is, on this node.
    pub fn context(&'a self, context: &Context<'a>) -> Context<'a> {
        Context {
            set: self.set,
            data_dir: self.data_dir,
            meta_dir: self.meta_dir,
            ..*context
        }
    }
}
