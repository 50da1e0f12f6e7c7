//! The calls of the program's routine for index lists and bags.

use super::entry::{
    Entry, KnownIndex, Link, Listed, Order, Role, check_name, wrong_bag, wrong_list,
};
use super::file::fingerprint;
use super::finding::Found;
use super::index::cover::OwnList;
use super::index::ids::Ids;
use super::index::needed::{Kept, Needed};
use super::index::positions::Positions;
use super::index::{Encoded, Given, InMemory, Scanned};
use super::keyed::{Key, Keyed};
use super::kind::{Class, Kind};
use super::list::{List, Mode};
use super::stored_index::Stored;
use crate::Result;
use crate::system::size::scaled;

impl List<'_> {
    /// Lists the numbers in a whole of the elements that this rank has, for the fields that follow
    /// ([`Place::Indexed`](super::Place)). When the state is written, all ranks together list each element once, or with
    /// [`Options::shared`](super::Options) several of them list it, which have equal copies of it. When it is read, the
    /// indices are those that the program needs now, in any order; several ranks may list the same.
    ///
    /// # Errors
    /// As [`List::field`]; or an index is not in the whole.
    pub fn index(&mut self, given: &Given<'_>) -> Result<()> {
        self.unless_failed(|list| list.try_index(given))
    }

    /// Lists elements without a number, such as particles: `count` of them on this rank, for the fields that follow
    /// ([`Place::Indexed`](super::Place)). In a restart `count` becomes the number of elements that this rank gets,
    /// also before any field is read: on the same number of ranks those that it wrote, on another number an equal
    /// share, in the order of the ranks that wrote them.
    ///
    /// # Errors
    /// As [`List::field`]; or the number is negative.
    pub fn bag(&mut self, name: &str, count: &mut i64) -> Result<()> {
        self.unless_failed(|list| list.try_bag(name, count, None))
    }

    /// [`List::bag`] that is shared by a key on another number of ranks: `count` becomes the number of elements that the
    /// owner function gives this rank, in the order of the ranks that wrote them, or that it gets of a sorted bag. In the
    /// first call of the routine it is the number of an equal share; the routine is called once more then. The owner
    /// function is called in the first call of the routine, with the keys of elements in this rank's files.
    ///
    /// # Errors
    /// As [`List::bag`]; or the key is no field of the bag with one number for each element, or an owner is no rank.
    pub fn bag_by_key(&mut self, name: &str, count: &mut i64, key: Key<'_, '_>) -> Result<()> {
        self.unless_failed(|list| list.try_bag(name, count, Some(key)))
    }

    /// The index list, or the bag, of this name, which was listed before; in this list, or in one that it is in.
    ///
    /// # Errors
    /// No list and no bag has this name.
    pub fn known_index(&mut self, name: &str) -> Result<KnownIndex> {
        self.unless_failed(|list| {
            let depth = list.inside.len();
            let names = (0..=depth)
                .rev()
                .map(|depth| list.inside[..depth].concat() + name);
            let mut found = names.filter_map(|name| {
                let mut known = list.indices.iter();
                known.find(|index| index.name == name)
            });
            found.next().cloned().ok_or_else(|| {
                let what = "no index list or bag has this name; list it before its fields, with SCR_Index or SCR_Bag";
                wrong_list(name, what).into()
            })
        })
    }

    fn try_index(&mut self, given: &Given<'_>) -> Found<()> {
        let name = self.full(given.name);
        check_name(&name)?;
        self.refuse_place(&name)?;
        let options = self.begin_any(&name)?;
        if options.from.is_some() {
            let what = "the index list of an old rank cannot be read; list the indices that this rank needs";
            return Err(wrong_list(&name, what).into());
        }
        let given = Given {
            name: &name,
            ..*given
        };
        let (first, shared) = (given.first, options.shared);
        self.indices.push(KnownIndex {
            name: name.clone(),
            count: given.count() as u64,
            whole: u64::try_from(given.whole).unwrap_or(0),
        });
        match &mut self.mode {
            Mode::Write(writer) => {
                let mut list = OwnList {
                    name: name.clone(),
                    whole: u64::try_from(given.whole).unwrap_or(0),
                    first,
                    shared,
                    ids: Ids::default(),
                    written: None,
                    set: None,
                };
                // The places of copies are looked up in a list that is in memory.
                if given.count() >= scaled(MANY) && !shared {
                    let entry = |encoded: &Encoded| entry_of(&given, Some(encoded), shared);
                    return Ok(writer.encode_index(&given, entry, list)?);
                }
                list.ids = given.encode()?;
                let encoded = Encoded {
                    count: list.ids.count,
                    ascending: list.ids.ascending,
                    bytes: list.ids.bytes.len() as u64,
                };
                Ok(writer.put_index(entry_of(&given, Some(&encoded), shared), list)?)
            }
            Mode::Compare(comparison) => {
                let same_ranks = comparison.sources.ranks == self.session.comm().size() as u64;
                let sources = &mut comparison.sources;
                let mut stored = same_ranks.then(|| Stored::of(sources, &name)).flatten();
                let Scanned { ascending, print } = given.scan()?;
                let entry = entry_of(&given, None, shared);
                let same = match &mut stored {
                    Some(stored) => {
                        let encoded = given.encode_in_pieces(&mut |piece| Ok(stored.has(piece)))?;
                        encoded.is_some_and(|encoded| {
                            stored.was(&entry_of(&given, Some(&encoded), shared))
                        })
                    }
                    None => false,
                };
                let mut list = InMemory {
                    given: &given,
                    ascends: ascending,
                };
                let kept = match ascending {
                    _ if same => Kept::Stored,
                    true => Kept::Ascending(given.set()),
                    false => Kept::AnyOrder(Positions::of_list(&mut list)?),
                };
                comparison.indices.push(Needed {
                    name: name.clone(),
                    whole: given.whole as u64,
                    first,
                    print,
                    kept,
                });
                comparison.listed.push(Listed { entry, options });
                Ok(())
            }
            Mode::Read(reader) => {
                let Scanned { print, .. } = given.scan()?;
                let entry = entry_of(&given, None, shared);
                reader.skip_index(&Listed { entry, options }, print)
            }
        }
    }

    fn try_bag(&mut self, name: &str, count: &mut i64, key: Option<Key<'_, '_>>) -> Found<()> {
        let name = self.full(name);
        check_name(&name)?;
        self.refuse_place(&name)?;
        let options = self.begin_field(&name)?;
        if options.from.is_some() {
            let what = "a bag is read as a whole, whatever ranks wrote it; leave SCR_From_rank out";
            return Err(wrong_bag(&name, what).into());
        }
        let bag = match &self.mode {
            Mode::Write(_) => None,
            Mode::Compare(comparison) => comparison.sources.bags.get(&name).cloned(),
            Mode::Read(reader) => reader.sources.bags.get(&name).cloned(),
        };
        if let Some(bag) = &bag {
            *count = bag.own.count as i64;
        }
        if let (Some(_), Some(key)) = (&bag, key) {
            self.ask_for_owners(&name, key)?;
        }
        let Ok(number) = u64::try_from(*count) else {
            return Err(wrong_bag(&name, format!("a bag cannot have {count} elements")).into());
        };
        let entry = Entry {
            name: name.clone(),
            kind: Kind::new(Class::Bytes, 1),
            role: Role::Bag,
            order: Order::Row,
            extents: vec![0],
            whole: Vec::new(),
            at: Vec::new(),
            link: Link::Bag { count: number },
        };
        self.indices.push(KnownIndex {
            name: name.clone(),
            count: number,
            whole: 0,
        });
        let (whole, ids, home) = match &self.mode {
            Mode::Compare(comparison) => {
                let home = comparison.sources.home;
                bag.map_or_else(Default::default, |bag| {
                    let stored = bag.ids_of(home);
                    (bag.whole, bag.own, Some(stored))
                })
            }
            _ => bag.map_or_else(Default::default, |bag| (bag.whole, bag.own, None)),
        };
        match &mut self.mode {
            Mode::Write(writer) => Ok(writer.put(entry, &[1], None)?),
            Mode::Compare(comparison) => {
                comparison.listed.push(Listed { entry, options });
                let same_ranks = comparison.sources.ranks == self.session.comm().size() as u64;
                let kept = match home {
                    Some(stored) if same_ranks && stored == ids => Kept::Stored,
                    _ => Kept::of(&ids, whole)?,
                };
                comparison.indices.push(Needed {
                    name,
                    whole,
                    first: 0,
                    print: fingerprint(&ids.bytes),
                    kept,
                });
                Ok(())
            }
            Mode::Read(reader) => {
                reader.skip_index(&Listed { entry, options }, fingerprint(&ids.bytes))
            }
        }
    }

    /// Looks at the keys of a bag, if that was not done before. As many ranks get what they wrote.
    fn ask_for_owners(&mut self, name: &str, key: Key<'_, '_>) -> Found<()> {
        let field = self.full(key.field);
        check_name(&field)?;
        let size = self.session.comm().size();
        let Mode::Compare(comparison) = &mut self.mode else {
            return Ok(());
        };
        if let Some(keyed) = &mut comparison.keyed
            && comparison.sources.ranks != size as u64
        {
            let sources = &mut comparison.sources;
            keyed.push(Keyed::of(sources, name, &field, key.owner, size)?);
        }
        Ok(())
    }
}

/// Indices from which on a list is written while it is encoded.
const MANY: usize = 1 << 20;

/// The entry of a list. In a restart the list is not encoded, and has no bytes.
fn entry_of(given: &Given<'_>, encoded: Option<&Encoded>, shared: bool) -> Entry {
    Entry {
        name: given.name.to_string(),
        kind: Kind::new(Class::Bytes, 1),
        role: Role::Index,
        order: Order::Row,
        extents: vec![encoded.map_or(0, |encoded| encoded.bytes)],
        whole: vec![given.whole as u64],
        at: Vec::new(),
        link: Link::List {
            count: given.count() as u64,
            first: given.first,
            shared,
        },
    }
}
