//! What the members of a set tell each other of their losses, and what all conclude from it.

use crate::redundancy::Context;
use crate::redundancy::code::Code;
use crate::redundancy::encode::{from_bytes, to_bytes};
use crate::text::{list_of_ranks, ranks_in_words};

pub(super) const RECORD: u64 = 1;
pub(super) const DATA: u64 = 2;
pub(super) const PARITY: u64 = 4;
/// All that it has was compared with its checksums.
pub(super) const PROVEN: u64 = 8;
/// It has no record of use, but something that may be its files, and was not looked at yet.
pub(super) const LEFT: u64 = 16;

/// Numbers of a [`State`] in a message, before the sizes of the neighbours.
const NUMBERS: usize = 6;

/// What one member tells the others.
pub(super) struct State {
    /// What it has whole.
    pub has: u64,
    pub id: u64,
    pub created: u64,
    pub piece: u64,
    /// From its redundancy file.
    pub chunk: u64,
    /// Bytes of its files, and of those of its left neighbours as its redundancy file says.
    pub size: u64,
    pub lefts: Vec<u64>,
}

impl State {
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

    pub fn from_bytes(message: &[u8], neighbours: usize) -> State {
        let (mut numbers, _) = from_bytes(message, NUMBERS + neighbours);
        numbers.resize(NUMBERS + neighbours, 0);
        let lefts = numbers.split_off(NUMBERS);
        let number = |i: usize| numbers.get(i).copied().unwrap_or(0);
        State {
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

/// What all members know before anything is done.
pub(super) struct Verdict {
    pub all: Vec<State>,
    /// Bytes of each member's files.
    pub sizes: Vec<u64>,
    /// For a member without a record, who tells it.
    pub donors: Vec<Option<usize>>,
}

impl Verdict {
    pub fn any_lacks(&self, what: u64) -> bool {
        self.all.iter().any(|s| s.lacks(what))
    }

    /// Whether a rank would write over what is left of its own files before it is known what
    /// that is, and that what the others have is right. If too much of it is not, these files
    /// must still be there.
    pub fn must_verify_first(&self) -> bool {
        let present = || self.all.iter().filter(|s| !s.lacks(RECORD));
        let damaged = present().any(|s| s.lacks(DATA) || s.lacks(PARITY));
        let left = self.all.iter().any(|s| !s.lacks(LEFT));
        left || damaged && present().any(|s| s.lacks(PROVEN))
    }
}

/// The same answer on all members, from what they announced. An error says why not.
pub(super) fn judge(
    context: &Context,
    code: &Code,
    name: &str,
    mut all: Vec<State>,
) -> std::result::Result<Verdict, String> {
    let (members, keepers) = (code.members(), code.parities());
    let set = list_of_ranks(&context.set.members);
    let with_record = || all.iter().filter(|s| !s.lacks(RECORD));
    let same = |f: fn(&State) -> u64| {
        let mut values = with_record().map(f);
        let first = values.next();
        values.all(|v| Some(v) == first)
    };
    if !same(|s| s.id) || !same(|s| s.created) {
        return Err(format!(
            "the ranks {set} of a redundancy set hold files of different datasets"
        ));
    }
    if all
        .windows(2)
        .any(|w| matches!(w, [a, b] if a.piece != b.piece))
    {
        return Err(format!(
            "the ranks {set} of a redundancy set do not agree on the message size"
        ));
    }
    // A right neighbour that has its redundancy file knows the files of a rank.
    let donor = |member: usize| {
        (1..=keepers)
            .map(|steps| (steps, (member + steps) % members))
            .find(|(_, i)| all.get(*i).is_some_and(|s| !s.lacks(PARITY)))
    };
    let known = (0..members).map(|member| {
        let state = all.get(member)?;
        if !state.lacks(RECORD) {
            return Some((None, state.size));
        }
        let (steps, index) = donor(member)?;
        let size = all.get(index)?.lefts.get(steps - 1)?;
        Some((Some(index), *size))
    });
    let Some(known) = known.collect::<Option<Vec<_>>>() else {
        return Err(complaint(context, code, name, &all));
    };
    let (donors, sizes): (Vec<Option<usize>>, Vec<u64>) = known.into_iter().unzip();
    // A redundancy file that was made of files of other sizes does not count.
    let chunk = code.chunk(&sizes);
    for (member, state) in all.iter_mut().enumerate() {
        let left = |steps: usize| sizes.get((member + members - steps) % members);
        let fits = state.chunk == chunk
            && state
                .lefts
                .iter()
                .zip(1..)
                .all(|(size, steps)| left(steps) == Some(size));
        if !fits {
            state.has &= !PARITY;
        }
    }
    let flags = |what| all.iter().map(|s| s.lacks(what)).collect::<Vec<_>>();
    let informed = all.iter().zip(&donors).all(|(state, donor)| {
        let sound = |i: usize| all.get(i).is_some_and(|s| !s.lacks(PARITY));
        !state.lacks(RECORD) || donor.is_some_and(sound)
    });
    if !informed || !code.recoverable(&flags(DATA), &flags(PARITY)) {
        return Err(complaint(context, code, name, &all));
    }
    Ok(Verdict { all, sizes, donors })
}

/// Which losses are too many.
fn complaint(context: &Context, code: &Code, name: &str, all: &[State]) -> String {
    let ranks = |pick: &dyn Fn(&State) -> bool| -> Vec<usize> {
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
    format!("{what} are lost or damaged; {name} set {set} tolerates the loss of {tolerates}")
}
