//! The handle that the program's routine gets: it lists the state through it, to be written or to be read.

use super::apart::{check_bounds, of_field};
use super::entry::{
    Entry, KnownIndex, Link, Listed, Options, Order, Role, Spec, check, check_name, wrong,
};
use super::finding::{Finding, Found};
use super::index::needed::Needed;
use super::keyed::Keyed;
use super::kind::{Class, Kind};
use super::memory::{Memory, Slice};
use super::reader::FieldReader;
use super::sources::{Sources, beside};
use super::write::Writer;
use crate::device::{Devices, Remote};
use crate::format::Name;
use crate::session::{Session, Verdict, check_lengths};
use crate::{Error, Result};
use std::collections::HashSet;
use std::path::PathBuf;

/// The error if an old rank's part is asked for while the state is written.
const ONLY_READ: &str =
    "an old rank's part can only be read; SCR_Stored_ranks tells when the state is read";

/// The reason why the routine is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// The state is written.
    Write,
    /// The list is compared with a checkpoint. No memory of a field changes.
    Compare,
    /// The state is read.
    Read,
}

/// The work that is done for each listed field.
pub(super) enum Mode<'a> {
    Write(&'a mut Writer),
    Compare(&'a mut Comparison),
    Read(&'a mut FieldReader),
}

/// The fields that the program lists in a restart, before anything is read.
pub(super) struct Comparison {
    pub sources: Sources,
    pub listed: Vec<Listed>,
    /// The index lists of the program.
    pub indices: Vec<Needed>,
    /// What the keys of bags say; `None` if the ranks have looked at them before.
    pub keyed: Option<Vec<Keyed>>,
    /// Names of counts, and of fields that the program no longer has.
    pub others: HashSet<String>,
}

/// A field in a checkpoint. Dimensions are in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredField {
    /// The type of the elements.
    pub kind: Kind,
    /// Extents of this rank's array; if another number of ranks wrote a part of a whole, the extents
    /// of the whole.
    pub extents: Vec<i64>,
    /// Extents of the whole. Empty if the field has no whole.
    pub whole: Vec<i64>,
    /// Index of the first element in the whole; empty if the field has no whole. -1 in the slowest dimension if the
    /// elements go by an index list or a bag, as then they need not follow each other in the whole.
    pub at: Vec<i64>,
}

/// Makes, of a field's name and the address of its first element, the memory that a function of the program copies.
pub type ByProgram = Box<dyn FnOnce(&str, usize) -> Box<dyn Remote>>;

/// The state of a program as it lists it. All methods are local.
pub struct List<'a> {
    pub(super) session: &'a mut Session,
    pub(super) mode: Mode<'a>,
    /// The names of the lists that were begun and not ended.
    pub(super) inside: Vec<String>,
    order: Order,
    next: Options,
    names: HashSet<(String, Option<u64>)>,
    /// The index lists so far.
    pub(super) indices: Vec<KnownIndex>,
    failed: Option<Finding>,
    /// The drivers that tell where memory is.
    pub(super) devices: Devices,
    /// The program's own way to the memory of the next field.
    pub(super) copy: Option<ByProgram>,
}

impl<'a> List<'a> {
    pub(super) fn new(session: &'a mut Session, mode: Mode<'a>) -> Self {
        List {
            session,
            mode,
            inside: Vec::new(),
            order: Order::Row,
            next: Options::default(),
            names: HashSet::new(),
            indices: Vec::new(),
            failed: None,
            devices: Devices::find(),
            copy: None,
        }
    }

    /// Lists a field: writes it, compares it with the checkpoint, or reads it. `memory` may be `None` if the
    /// field has no elements.
    ///
    /// # Errors
    /// The arguments are wrong, or it could not be written or read. Every later call gives the same error,
    /// and the checkpoint, or the restart, fails on all ranks, whatever the routine returns.
    pub fn field(&mut self, spec: Spec<'_>, memory: Option<&mut dyn Memory>) -> Result<()> {
        self.unless_failed(|list| list.try_field(&spec, memory))
    }

    /// Lists a number on which the rest of the list depends, as the number of fields that follow, or an extent.
    /// In a restart, `value` becomes the stored value, also before any other field is read.
    ///
    /// # Errors
    /// As [`List::field`]; or another number of ranks wrote counts that were not the same on all.
    pub fn count(&mut self, name: &str, value: &mut i64) -> Result<()> {
        self.unless_failed(|list| list.try_count(name, value))
    }

    /// The stored type and extents of a field, so that the program can allocate it; `None` if the checkpoint has
    /// no such field, or if the state is written. With the [options](List::next) for the next field, which stay.
    ///
    /// # Errors
    /// The file of the rank that was asked for cannot be read.
    pub fn stored(&mut self, name: &str) -> Result<Option<StoredField>> {
        self.unless_failed(|list| list.try_stored(name))
    }

    /// Sets the options of the next field or count.
    pub fn next(&mut self, options: Options) {
        self.next = options;
    }

    /// The options of the next field or count.
    pub fn options(&self) -> Options {
        self.next
    }

    /// Sets in which order the dimensions of the following fields are named.
    pub fn set_order(&mut self, order: Order) {
        self.order = order;
    }

    /// Says that the program no longer has a field, so that a checkpoint with it is not refused.
    ///
    /// # Errors
    /// The text is not a valid name.
    pub fn gone(&mut self, name: &str) -> Result<()> {
        self.unless_failed(|list| {
            let name = list.full(name);
            check_name(&name)?;
            if let Mode::Compare(comparison) = &mut list.mode {
                comparison.others.insert(name);
            }
            Ok(())
        })
    }

    /// Begins a list in the list: the names of its fields have `name` and a slash before them.
    ///
    /// # Errors
    /// The text is not a valid name.
    pub fn begin(&mut self, name: &str) -> Result<()> {
        self.unless_failed(|list| {
            check_name(name)?;
            list.inside.push(format!("{name}/"));
            Ok(())
        })
    }

    /// Ends the list that was begun last.
    ///
    /// # Errors
    /// No list was begun.
    pub fn end(&mut self) -> Result<()> {
        self.unless_failed(|list| match list.inside.pop() {
            Some(_) => Ok(()),
            None => Err(Error::usage("SCR_End_list", "no list was begun").into()),
        })
    }

    /// The path of a file of this rank in the same dataset, which the program writes or reads itself, in the pass in
    /// which the state is written or read. Each rank has its own, `rank_<r>.<name>` beside its fields, so all may
    /// give the same name. With [`Options::from`] the path is that of an old rank.
    ///
    /// # Errors
    /// The name is empty, is `.`, `..` or `fields`, has a slash, or is too long; the checkpoint has no such file; or as
    /// [`Session::route`].
    pub fn file(&mut self, name: &str) -> Result<PathBuf> {
        self.unless_failed(|list| list.try_file(name))
    }

    /// The reason why the routine is called.
    pub fn pass(&self) -> Pass {
        match self.mode {
            Mode::Write(_) => Pass::Write,
            Mode::Compare(_) => Pass::Compare,
            Mode::Read(_) => Pass::Read,
        }
    }

    /// Number of ranks that wrote the checkpoint that is read; `None` if the state is written.
    pub fn stored_ranks(&self) -> Option<u64> {
        match &self.mode {
            Mode::Write(_) => None,
            Mode::Compare(comparison) => Some(comparison.sources.ranks),
            Mode::Read(reader) => Some(reader.sources.ranks),
        }
    }

    /// Keeps an error of the program's own, as if a call had failed.
    pub fn fail(&mut self, error: Error) {
        let verdict = Verdict::NotRead;
        self.failed.get_or_insert(Finding { verdict, error });
    }

    /// Ends the list, and returns the first failure.
    pub(super) fn end_of_list(mut self, returned: Result<()>) -> Found<()> {
        if let Err(error) = returned {
            self.fail(error);
        }
        if self.failed.is_none() && !self.inside.is_empty() {
            let name = self.inside.concat();
            let what = format!("the list \"{name}\" was begun and not ended; call SCR_End_list");
            self.fail(Error::usage("SCR_Begin_list", what));
        }
        self.failed.map_or(Ok(()), Err)
    }

    pub(super) fn unless_failed<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Found<T>,
    ) -> Result<T> {
        if let Some(failed) = &self.failed {
            return Err(failed.error.clone());
        }
        work(self).map_err(|finding| {
            let error = finding.error.clone();
            self.failed = Some(finding);
            error
        })
    }

    /// The name of a field or count with the names of the lists that it is in.
    pub fn full(&self, name: &str) -> String {
        self.inside.concat() + name
    }

    /// Takes the options of a field; its name must be new.
    pub(super) fn begin_field(&mut self, name: &str) -> Result<Options> {
        let options = self.begin_any(name)?;
        if options.shared {
            let what = "SCR_SHARED is an option of index lists, and of nothing else";
            return Err(wrong(name, what));
        }
        Ok(options)
    }

    /// [`List::begin_field`] of an index list, too.
    pub(super) fn begin_any(&mut self, name: &str) -> Result<Options> {
        let options = std::mem::take(&mut self.next);
        self.copy = None;
        if options.from.is_some() && matches!(self.mode, Mode::Write(_)) {
            return Err(wrong(name, ONLY_READ));
        }
        if !self.names.insert((name.to_string(), options.from)) {
            let what = "is listed twice; give each field a name of its own, or use SCR_Begin_list";
            return Err(wrong(name, what));
        }
        Ok(options)
    }

    fn try_field(&mut self, spec: &Spec<'_>, memory: Option<&mut dyn Memory>) -> Found<()> {
        let name = self.full(spec.name);
        let (entry, strides) = check(name, spec, self.order, memory.is_some())?;
        let options = self.begin_field(&entry.name)?;
        // In a restart also when the lists are compared, so that no memory has changed yet.
        check_bounds(&entry, &strides, memory.as_deref())?;
        let name = entry.name.clone();
        match &mut self.mode {
            Mode::Write(writer) => {
                let memory = memory.map(|memory| &*memory);
                let put = writer.put(entry, &strides, memory);
                Ok(put.map_err(|error| of_field(error, &name))?)
            }
            Mode::Compare(comparison) => {
                comparison.listed.push(Listed { entry, options });
                Ok(())
            }
            Mode::Read(reader) => {
                let listed = Listed { entry, options };
                let read = reader.read(self.session.comm(), &listed, &strides, memory);
                read.map_err(|finding| Finding {
                    error: of_field(finding.error, &name),
                    ..finding
                })
            }
        }
    }

    fn try_count(&mut self, name: &str, value: &mut i64) -> Found<()> {
        let name = self.full(name);
        check_name(&name)?;
        self.refuse_place(&name)?;
        let options = self.begin_field(&name)?;
        let sources = match &mut self.mode {
            Mode::Write(writer) => {
                let entry = Entry {
                    name,
                    kind: Kind::new(Class::Integer, 8),
                    role: Role::Count,
                    order: Order::Row,
                    extents: Vec::new(),
                    whole: Vec::new(),
                    at: Vec::new(),
                    link: Link::None,
                };
                let memory = Slice::new(std::slice::from_mut(value));
                return Ok(writer.put(entry, &[], Some(&memory))?);
            }
            Mode::Compare(comparison) => {
                comparison.others.insert(name.clone());
                &mut comparison.sources
            }
            Mode::Read(reader) => &mut reader.sources,
        };
        let (home, same_ranks) = (
            sources.home,
            sources.ranks == self.session.comm().size() as u64,
        );
        let source = sources.source(self.session, options.from.unwrap_or(home))?;
        let is_there = source.number(&name).is_some();
        if !is_there && options.keep_if_missing {
            return Ok(());
        }
        if is_there && !same_ranks && options.from.is_none() && !source.table.same_counts {
            let what = format!(
                "count \"{name}\": {} ranks wrote the checkpoint, and their counts differ; read them one by one, with \
                 SCR_From_rank",
                sources.ranks
            );
            return Err(Finding::unfit(what));
        }
        *value = sources.count(options.from.unwrap_or(home), &name)?;
        Ok(())
    }

    fn try_file(&mut self, name: &str) -> Found<PathBuf> {
        const CALL: &str = "SCR_State_file";
        if ["", ".", "..", "fields"].contains(&name) || name.contains(['/', '\0']) {
            let what = format!(
                "\"{name}\" cannot be the name of a file beside the fields; give one without a slash, and not \"fields\""
            );
            return Err(Error::usage(CALL, what).into());
        }
        // The number has as many digits as that of any rank, so that the name is too long on all
        // ranks or on none.
        let last = self.session.comm().size().saturating_sub(1) as u64;
        check_lengths(CALL, &beside(&Name::from("."), last, name))?;
        let from = std::mem::take(&mut self.next).from;
        let size = self.session.comm().size() as u64;
        let (dataset, rank) = match (&self.mode, from) {
            (Mode::Write(_), Some(_)) => return Err(wrong(name, ONLY_READ).into()),
            (Mode::Write(_), None) => (self.session.open_name().cloned(), None),
            (Mode::Compare(comparison), from) => (Some(comparison.sources.dataset.clone()), from),
            (Mode::Read(reader), from) => (Some(reader.sources.dataset.clone()), from),
        };
        if let Some(ranks) = self.stored_ranks().filter(|ranks| *ranks != size)
            && rank.is_none()
        {
            return Err(Finding::unfit(format!(
                "file \"{name}\" is each rank's own: {ranks} ranks wrote it, and this run has {size}; read those of the \
                 old ranks one by one, with SCR_From_rank"
            )));
        }
        let rank = rank.unwrap_or(self.session.comm().rank() as u64);
        let path = beside(&dataset.unwrap_or_default(), rank, name);
        let path = self.session.in_prefix(&path);
        Ok(self.session.route(&path)?)
    }

    fn try_stored(&mut self, name: &str) -> Found<Option<StoredField>> {
        let name = self.full(name);
        let (order, options) = (self.order, self.next);
        let sources = match &mut self.mode {
            Mode::Write(_) => return Ok(None),
            Mode::Compare(comparison) => &mut comparison.sources,
            Mode::Read(reader) => &mut reader.sources,
        };
        let (home, same_ranks) = (
            sources.home,
            sources.ranks == self.session.comm().size() as u64,
        );
        let source = sources.source(self.session, options.from.unwrap_or(home))?;
        let number = source.number(&name);
        let field = number
            .and_then(|number| source.table.fields.get(number))
            .cloned();
        let bags = &sources.bags;
        let turned = |numbers: &[u64]| {
            let numbers: Vec<i64> = numbers.iter().map(|n| *n as i64).collect();
            order.turned(&numbers)
        };
        Ok(field.map(|field| {
            let mut entry = field.entry;
            let all = entry.role.has_whole() && options.from.is_none() && !same_ranks;
            let by = match &entry.link {
                Link::By(list) => list.as_str(),
                _ => entry.name.as_str(),
            };
            // The whole of a bag is known now.
            if let Some(bag) = bags.get(by) {
                let rest = entry.whole.get(1..).unwrap_or_default();
                entry.whole = [&[bag.whole], rest].concat();
            }
            let (kind, own) = match entry.of_index() {
                Some((_, count)) => (Kind::new(Class::Integer, 8), vec![count]),
                None => (entry.kind, entry.extents.clone()),
            };
            StoredField {
                kind,
                extents: turned(if all { &entry.whole } else { &own }),
                whole: turned(&entry.whole),
                at: match entry.role {
                    // The elements have no one place in the whole.
                    Role::Index | Role::Indexed | Role::Bag => {
                        let places = (0..own.len()).map(|dim| if dim == 0 { -1 } else { 0 });
                        order.turned(&places.collect::<Vec<i64>>())
                    }
                    _ if all => vec![0; entry.at.len()],
                    _ => turned(&entry.at),
                },
            }
        }))
    }
}
