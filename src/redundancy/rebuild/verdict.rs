//! The states that the members of a set announce, and the verdict that follows from them.

use crate::format::Scheme;
use crate::messages::TOO_MANY_LOSSES;
use crate::redundancy::code::Code;
use crate::redundancy::encode::{from_bytes, to_bytes};
use crate::redundancy::{Context, LocalPart, RebuildOutcome};
use crate::text::{list_of_ranks, ranks_in_words};

pub(super) const RECORD: u64 = 1;
pub(super) const DATA: u64 = 2;
pub(super) const PARITY: u64 = 4;
/// All content of the member was compared with its checksums.
pub(super) const VERIFIED: u64 = 8;
/// The member has no usable record, but has files that were not examined yet.
pub(super) const UNVERIFIED: u64 = 16;

/// Numbers of a [`MemberState`] in a message, before the sizes of the neighbours.
const NUMBERS: usize = 6;

/// The state that a member announces to the other members.
pub(super) struct MemberState {
    /// The parts that are whole, as flags.
    pub has: u64,
    pub id: u64,
    pub created: u64,
    pub piece: u64,
    /// Chunk size in its redundancy file.
    pub chunk: u64,
    /// Bytes of its files, and of its left neighbours' files according to its redundancy file.
    pub size: u64,
    pub lefts: Vec<u64>,
}

impl MemberState {
    /// The state of a member that has nothing.
    pub fn of_nothing(piece: usize, neighbours: usize) -> MemberState {
        MemberState {
            has: 0,
            id: 0,
            created: 0,
            piece: piece as u64,
            chunk: 0,
            size: 0,
            lefts: vec![0; neighbours],
        }
    }

    /// Enters a part with a usable record, whose files have `size` bytes.
    pub fn add_part(&mut self, part: &LocalPart, size: u64) {
        let dataset = &part.record.dataset;
        (self.id, self.created, self.size) = (dataset.id, dataset.created, size);
        self.has = RECORD;
        if part.health.data.is_ok() {
            self.has |= DATA;
        }
        if part.verified {
            self.has |= VERIFIED;
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut numbers = vec![
            self.has,
            self.id,
            self.created,
            self.piece,
            self.chunk,
            self.size,
        ];
        numbers.extend(&self.lefts);
        to_bytes(&numbers)
    }

    pub fn from_bytes(message: &[u8], neighbours: usize) -> MemberState {
        let (mut numbers, _) = from_bytes(message, NUMBERS + neighbours);
        numbers.resize(NUMBERS + neighbours, 0);
        let lefts = numbers.split_off(NUMBERS);
        let number = |i: usize| numbers.get(i).copied().unwrap_or(0);
        MemberState {
            has: number(0),
            id: number(1),
            created: number(2),
            piece: number(3),
            chunk: number(4),
            size: number(5).min(i64::MAX as u64 / 4),
            lefts: lefts
                .into_iter()
                .map(|n| n.min(i64::MAX as u64 / 4))
                .collect(),
        }
    }

    pub fn lacks(&self, what: u64) -> bool {
        self.has & what == 0
    }
}

/// The verdict, which is the same on all members.
pub(super) struct Verdict {
    pub all: Vec<MemberState>,
    /// Bytes of each member's files.
    pub sizes: Vec<u64>,
    /// For a member without a record: the member that sends it.
    pub record_sources: Vec<Option<usize>>,
}

impl Verdict {
    pub fn any_lacks(&self, what: u64) -> bool {
        self.all.iter().any(|s| s.lacks(what))
    }

    /// The work of a rebuild after this verdict on the rank of a member.
    pub fn outcome(&self, member: usize) -> RebuildOutcome {
        match self.all.get(member) {
            Some(me) if me.lacks(DATA) => RebuildOutcome::Restored,
            _ if self.any_lacks(DATA) => RebuildOutcome::Helped,
            _ if self.any_lacks(PARITY) => RebuildOutcome::Encoded,
            _ => RebuildOutcome::Intact,
        }
    }

    /// True if a rank would overwrite files of its own that may be right, or needs survivors that
    /// are not verified yet. If too many of these turn out to be damaged, the files must still be
    /// there.
    pub fn must_verify_first(&self) -> bool {
        let present = || self.all.iter().filter(|s| !s.lacks(RECORD));
        let damaged = present().any(|s| s.lacks(DATA) || s.lacks(PARITY));
        let left = self.all.iter().any(|s| !s.lacks(UNVERIFIED));
        left || damaged && present().any(|s| s.lacks(VERIFIED))
    }
}

/// Derives the verdict from the announced states. The error says why the set cannot be rebuilt.
pub(super) fn judge(
    context: &Context,
    code: &Code,
    scheme: Scheme,
    mut all: Vec<MemberState>,
) -> std::result::Result<Verdict, String> {
    check_agreement(context, &all)?;
    let known = (0..code.members()).map(|member| known_size(code, &all, member));
    let Some(known) = known.collect::<Option<Vec<_>>>() else {
        return Err(describe_losses(context, code, scheme, &all));
    };
    let (record_sources, sizes): (Vec<Option<usize>>, Vec<u64>) = known.into_iter().unzip();
    drop_unfit_redundancy(code, &sizes, &mut all);
    let flags = |what| all.iter().map(|s| s.lacks(what)).collect::<Vec<_>>();
    let informed = all
        .iter()
        .zip(&record_sources)
        .all(|(state, record_source)| {
            let sound = |i: usize| all.get(i).is_some_and(|s| !s.lacks(PARITY));
            !state.lacks(RECORD) || record_source.is_some_and(sound)
        });
    if !informed || !code.recoverable(&flags(DATA), &flags(PARITY)) {
        return Err(describe_losses(context, code, scheme, &all));
    }
    Ok(Verdict {
        all,
        sizes,
        record_sources,
    })
}

/// Checks that the members have the same dataset, and the same message size.
fn check_agreement(context: &Context, all: &[MemberState]) -> std::result::Result<(), String> {
    let set = || list_of_ranks(&context.set.members);
    let mut with_record = all.iter().filter(|s| !s.lacks(RECORD));
    let first = with_record.next().map(|s| (s.id, s.created));
    if with_record.any(|s| Some((s.id, s.created)) != first) {
        return Err(format!(
            "the ranks {} of a redundancy set hold files of different datasets",
            set()
        ));
    }
    let mut pieces = all.iter().map(|state| state.piece);
    let piece = pieces.next();
    if pieces.any(|other| Some(other) != piece) {
        return Err(format!(
            "the ranks {} of a redundancy set do not agree on the message size",
            set()
        ));
    }
    Ok(())
}

/// The number of bytes of a member's files, and the member that knows this number: `None` if the
/// member itself has a record, otherwise a right neighbour whose redundancy file has the number.
fn known_size(code: &Code, all: &[MemberState], member: usize) -> Option<(Option<usize>, u64)> {
    let state = all.get(member)?;
    if !state.lacks(RECORD) {
        return Some((None, state.size));
    }
    (1..=code.parities()).find_map(|steps| {
        let index = (member + steps) % code.members();
        let record_source = all.get(index).filter(|state| !state.lacks(PARITY))?;
        Some((Some(index), *record_source.lefts.get(steps - 1)?))
    })
}

/// Redundancy files for other file sizes do not count.
fn drop_unfit_redundancy(code: &Code, sizes: &[u64], all: &mut [MemberState]) {
    let (members, chunk) = (code.members(), code.chunk(sizes));
    for (member, state) in all.iter_mut().enumerate() {
        let left = |steps: usize| sizes.get((member + members - steps) % members);
        let mut lefts = state.lefts.iter().zip(1..);
        if state.chunk != chunk || !lefts.all(|(size, steps)| left(steps) == Some(size)) {
            state.has &= !PARITY;
        }
    }
}

/// Describes losses that are too many.
fn describe_losses(context: &Context, code: &Code, scheme: Scheme, all: &[MemberState]) -> String {
    let ranks = |pick: &dyn Fn(&MemberState) -> bool| -> Vec<usize> {
        let both = all.iter().zip(context.set.members.iter());
        both.filter(|(s, _)| pick(s)).map(|(_, r)| *r).collect()
    };
    let lost = ranks(&|s| s.lacks(DATA));
    let bare = ranks(&|s| !s.lacks(DATA) && s.lacks(PARITY));
    let mut what = format!("the files of {}", ranks_in_words(&lost));
    if !bare.is_empty() {
        what += &format!(" and the redundancy of {}", ranks_in_words(&bare));
    }
    let tolerates = match code.parities() {
        1 => "one".to_string(),
        n => format!("any {n}"),
    };
    let set = list_of_ranks(&context.set.members);
    format!(
        "{what} are lost or damaged; {scheme} set {set} tolerates the loss of {tolerates} ({TOO_MANY_LOSSES})"
    )
}
