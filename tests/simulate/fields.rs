//! A program whose datasets are made of fields: one list is written and read.

use crate::acts::Output;
use crate::content::{Key, content, fields_of, mesh_of, whole_of};
use crate::job::PREFIX;
use crate::oracle::{Answer, Excuse, Promise};
use crate::places::Place as Where;
use crate::program::{Go, Program, id_in};
use scr::fields::Key as ByKey;
use scr::fields::{
    Element, Given, Indices, List, Memory, Options, Owner, Pass, Place, RemoteMemory, Slice, Spec,
    checkpoint, restore,
};
use scr::format::Name;
use scr::session::{Session, Verdict};
use scr::store::Files;
use scr_testing::apart::{Apart, Copies};
use std::ops::Range;
use std::path::Path;

/// What is in the memory of a field that was never read. Nobody has drawn so many bytes of it.
const POISON: u8 = 0xa5;

/// What a rank has read of a checkpoint.
#[derive(Default)]
struct State {
    /// How many ranks wrote it.
    writers: usize,
    key: [i64; 1],
    /// Of each old rank that this one reads: its number, its own field, and its file.
    own: Vec<(usize, Vec<u8>, Vec<u8>)>,
    /// This rank's part of the field of all, and which it is.
    part: Vec<u8>,
    range: Range<usize>,
    whole: usize,
    /// Scattered elements of the same whole, and their numbers.
    ids: Vec<i64>,
    scattered: Vec<u8>,
    /// The bytes of the own fields of all ranks that belong to this rank, as a bag.
    bag: Vec<u8>,
    place: Option<Where>,
}

impl State {
    /// No byte of a field was changed.
    fn is_untouched(&self) -> bool {
        let fields = self.own.iter().map(|(_, own, _)| own);
        let mut bytes = fields
            .chain([&self.part, &self.scattered, &self.bag])
            .flatten();
        self.key == POISONED && bytes.all(|byte| *byte == POISON)
    }
}

/// The key that was never read.
const POISONED: [i64; 1] = [i64::from_ne_bytes([POISON; 8])];

/// A rank's part of a whole.
fn share(whole: usize, rank: usize, size: usize) -> Range<usize> {
    whole * rank / size..whole * (rank + 1) / size
}

/// Lists an array, which is on a device or not by its length: so of some ranks it is, and of others not.
fn list_array<T: Element>(
    list: &mut List<'_>,
    name: &str,
    data: &mut [T],
    place: Place<'_>,
) -> scr::Result<()> {
    let spec = Spec {
        name,
        kind: T::KIND,
        extents: &[data.len() as i64],
        strides: None,
        place,
    };
    let (length, on_device) = (size_of_val(data), !data.len().is_multiple_of(3));
    let mut memory = Slice::new(data);
    if !on_device {
        return list.field(spec, Some(&mut memory));
    }
    let bytes = memory.bytes(0, length)?.to_vec();
    let mut apart = RemoteMemory(Apart::new(bytes, 0, &Copies::default()));
    let listed = list.field(spec, Some(&mut apart));
    let bytes = apart.0.into_bytes();
    memory.bytes_mut(0, length)?.copy_from_slice(&bytes);
    listed
}

fn list_part(
    list: &mut List<'_>,
    data: &mut [u8],
    whole: usize,
    range: &Range<usize>,
) -> scr::Result<()> {
    let place = Place::Part {
        whole: &[whole as i64],
        at: &[range.start as i64],
    };
    list_array(list, "whole", data, place)
}

/// The numbers of a rank's scattered elements of a whole, the last one first. Some are those of the rank before, too.
fn scattered(whole: usize, rank: usize, size: usize) -> Vec<i64> {
    let is_own =
        |id: &usize| id / 3 % size == rank || id.is_multiple_of(5) && (id / 3 + 1) % size == rank;
    let own = (0..whole).rev().filter(is_own);
    own.map(|id| id as i64).collect()
}

fn scattered_of(whole: &[u8], ids: &[i64]) -> Vec<u8> {
    let of = |id: &i64| whole.get(*id as usize).copied();
    ids.iter().filter_map(of).collect()
}

fn list_by_index(list: &mut List<'_>, name: &str, index: &str, data: &mut [u8]) -> scr::Result<()> {
    let known = list.known_index(index)?;
    list_array(list, name, data, Place::Indexed { list: &known })
}

fn list_scattered(
    list: &mut List<'_>,
    data: &mut [u8],
    ids: &[i64],
    whole: usize,
) -> scr::Result<()> {
    list.next(Options {
        shared: true,
        ..Options::default()
    });
    list.index(&Given {
        name: "ids",
        indices: Indices::Eight(ids),
        first: 0,
        whole: whole as i64,
    })?;
    list_by_index(list, "scattered", "ids", data)
}

/// Lists the bag, whose elements go to the rank of their byte.
fn list_bag(list: &mut List<'_>, count: &mut i64, size: usize) -> scr::Result<()> {
    let mut owner = |keys: &[i64], ranks: &mut [i32]| {
        for (key, rank) in keys.iter().zip(ranks) {
            *rank = (key % size as i64) as i32;
        }
        Ok(())
    };
    let owner: Option<&mut Owner<'_>> = Some(&mut owner);
    let field = "of bag";
    list.bag_by_key("bag", count, ByKey { field, owner })
}

impl Program {
    /// Writes a dataset. `is_bad`: the routine of this rank fails.
    pub fn checkpoint(
        &self,
        session: &mut Session,
        (key, output): (Key, &Output),
        is_bad: bool,
    ) -> scr::Result<()> {
        let name = output.name.as_str();
        let whole = content(key, &whole_of(name));
        let range = share(whole.len(), self.place(), self.size());
        let mut routine = |list: &mut List<'_>| {
            let path = list.file("mesh")?;
            let place = self.places.place_of(&path, Path::new(PREFIX));
            self.oracle.borrow_mut().placed(key, place, id_in(&path));
            let file = self.files.create(&path, 0o644)?;
            file.write_at(0, &content(key, &mesh_of(name, self.rank)))?;
            list_array(list, "key", &mut [key as i64], Place::Same)?;
            let mut own = content(key, &fields_of(name, self.rank));
            list_array(list, "own", &mut own, Place::Own)?;
            let mut part = whole.get(range.clone()).unwrap_or_default().to_vec();
            list_part(list, &mut part, whole.len(), &range)?;
            let ids = scattered(whole.len(), self.place(), self.size());
            let mut part = scattered_of(&whole, &ids);
            list_scattered(list, &mut part, &ids, whole.len())?;
            list_bag(list, &mut (own.len() as i64), self.size())?;
            list_by_index(list, "of bag", "bag", &mut own)?;
            if is_bad {
                return Err(scr::Error::usage("the program", "this rank has no state"));
            }
            self.oracle.borrow_mut().ends(key);
            Ok(())
        };
        checkpoint(
            session,
            Some(Name::from(name)),
            Ok((output.checkpoint, output.output)),
            &mut routine,
        )
    }

    /// Which of the parts of a whole is that of this rank.
    fn place(&self) -> usize {
        (self.rank + self.run.turn) % self.size()
    }

    /// A checkpoint was listed, and not restored: then its fields are as they were.
    fn was_refused(&self, state: &State) {
        if state.writers == 0 {
            return;
        }
        let untouched = state.is_untouched();
        let mut oracle = self.oracle.borrow_mut();
        // What is not kept between the check and the use is read once more.
        let excused = !untouched && (oracle.has_failed() || self.is_broken());
        oracle.check(Promise::Memory, untouched || excused, || {
            let rank = self.rank;
            format!("memory of rank {rank} has changed by a checkpoint that was not restored")
        });
        if excused {
            oracle.excuse(Excuse::ReadTwice);
        }
    }

    /// The list of a checkpoint that is compared and read.
    fn list_stored(&self, list: &mut List<'_>, state: &mut State) -> scr::Result<()> {
        let (me, size) = (self.rank, self.size());
        let compares = list.pass() == Pass::Compare;
        let writers = list.stored_ranks().unwrap_or(0) as usize;
        if compares {
            let old = (0..writers).filter(|old| {
                if writers == size {
                    *old == me
                } else {
                    old % size == me
                }
            });
            self.was_refused(state);
            *state = State {
                writers,
                key: POISONED,
                own: old.map(|old| (old, Vec::new(), Vec::new())).collect(),
                ..State::default()
            };
        }
        list_array(list, "key", &mut state.key, Place::Same)?;
        for (old, own, mesh) in &mut state.own {
            let options = Options {
                from: (writers != size).then_some(*old as u64),
                ..Options::default()
            };
            list.next(options);
            if compares {
                let stored = list.stored("own")?;
                *own = vec![POISON; stored.map_or(0, |stored| stored.extents[0] as usize)];
            }
            list_array(list, "own", own, Place::Own)?;
            if list.pass() == Pass::Read {
                list.next(options);
                let path = list.file("mesh")?;
                state.place = self
                    .places
                    .place_of(&path, Path::new(PREFIX))
                    .or(state.place);
                *mesh = self.files.read(&path, 1 << 20)?;
            }
        }
        if compares {
            let stored = list.stored("whole")?;
            state.whole = stored.map_or(0, |stored| {
                stored.whole.first().copied().unwrap_or(0) as usize
            });
            state.range = share(state.whole, self.place(), size);
            state.part = vec![POISON; state.range.len()];
            state.ids = scattered(state.whole, self.place(), size);
            state.scattered = vec![POISON; state.ids.len()];
        }
        list_part(list, &mut state.part, state.whole, &state.range)?;
        list_scattered(list, &mut state.scattered, &state.ids, state.whole)?;
        let mut count = 0;
        list_bag(list, &mut count, size)?;
        if compares {
            state.bag = vec![POISON; count as usize];
        }
        list_by_index(list, "of bag", "bag", &mut state.bag)
    }

    /// SCR_Restore.
    pub fn restore(&self, session: &mut Session, at_beginning: bool) -> Go {
        self.files.faults.restarts();
        let mut state = State::default();
        let found = restore(session, &mut |list| self.list_stored(list, &mut state));
        let answer = match found {
            Ok(Some(name)) => Answer::Offered(name.to_string()),
            Ok(None) => Answer::None,
            Err(error) => Answer::Failed(error.to_string()),
        };
        self.hear();
        self.tell(&format!("SCR_Restore: {answer:?}"));
        if matches!(answer, Answer::Failed(_)) && self.is_broken() {
            return Go::Away;
        }
        if !matches!(answer, Answer::Offered(_)) {
            self.was_refused(&state);
        }
        let told = answer == Answer::None && self.is_told("starts from the beginning");
        let mut oracle = self.oracle.borrow_mut();
        let call = oracle.offers(self.rank, &answer, told);
        match answer {
            Answer::None => {
                if at_beginning {
                    oracle.begins_anew(call);
                }
                return Go::On;
            }
            Answer::Failed(_) => return Go::Away,
            Answer::Offered(name) => {
                oracle.written_by(call, state.writers);
                oracle.reads_at(call, state.place);
                let key = state.key[0] as Key;
                oracle.has_read_field(call, self.rank, "key", |other| other == key);
                for (old, own, mesh) in &state.own {
                    let field = fields_of(&name, *old);
                    oracle.has_read_field(call, self.rank, &field, |key| {
                        content(key, &field) == *own
                    });
                    oracle.has_read(call, self.rank, &mesh_of(&name, *old), mesh);
                }
                let field = whole_of(&name);
                oracle.has_read_field(call, self.rank, &field, |key| {
                    let whole = content(key, &field);
                    whole.len() == state.whole
                        && whole.get(state.range.clone()) == Some(&state.part)
                        && scattered_of(&whole, &state.ids) == state.scattered
                });
                let bag = |key| {
                    let own = (0..state.writers).map(|old| content(key, &fields_of(&name, old)));
                    let own: Vec<Vec<u8>> = own.collect();
                    if own.len() == self.size() {
                        return own.get(self.rank) == Some(&state.bag);
                    }
                    let mut all = own.concat();
                    all.retain(|byte| usize::from(*byte) % self.size() == self.rank);
                    all == state.bag
                };
                oracle.has_read_field(call, self.rank, "bag", bag);
            }
        }
        oracle.judges(call, Verdict::Read);
        oracle.restarted(call, true);
        Go::On
    }
}
