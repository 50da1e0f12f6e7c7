//! The files of fields that a rank reads in a restart.

use super::entry::{Entry, Role};
use super::file::{Section, Stored, Table, fingerprint_with, read_table};
use super::finding::{Finding, Found};
use super::in_place::{Copied, copy_in_place, copy_to_remote};
use super::index::bags::Bags;
use super::memory::Memory;
use crate::format::Name;
use crate::session::Session;
use crate::store::{File, Files, Watch, retry};
use crate::system::limits::share_of_open_files;
use crate::system::size::scaled;
use crate::{Error, Result};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;

/// Number of chunks that a rank keeps between the check and the use. Data beyond these are read twice:
/// once to check them before the program's memory changes, and once into that memory.
const KEPT: usize = 32;

/// The name of the file of fields of a rank in a dataset, relative to the prefix directory.
pub fn file_of(dataset: &Name, rank: u64) -> PathBuf {
    beside(dataset, rank, "fields")
}

/// The name of a file of a rank beside its fields, relative to the prefix directory.
pub fn beside(dataset: &Name, rank: u64, name: &str) -> PathBuf {
    dataset.as_path().join(format!("rank_{rank}.{name}"))
}

/// Files that stay open between reads. A rank of a small run may read the files of thousands of old
/// ranks.
const MOST_OPEN: usize = 256;

/// The file of one rank.
pub struct Source {
    files: Arc<dyn Files>,
    path: PathBuf,
    /// `None` if it is opened for each read.
    file: Option<Box<dyn File>>,
    /// All bytes of the file were found right by the start of this process.
    verified: bool,
    /// The table of its fields.
    pub table: Table,
    /// The number of each field in the table, by its name.
    numbers: HashMap<String, usize>,
}

impl Source {
    /// Reads the table. The file stays open with `keep`.
    fn open(files: Arc<dyn Files>, path: PathBuf, keep: bool) -> Result<Self> {
        let (file, table) = retry(|| {
            let file = files.open(&path)?;
            let table = read_table(&*file, &path)?;
            Ok((file, table))
        })?;
        let named = table.fields.iter().enumerate();
        let numbers = named
            .map(|(number, field)| (field.entry.name.clone(), number))
            .collect();
        Ok(Source {
            files,
            path,
            file: keep.then_some(file),
            verified: false,
            table,
            numbers,
        })
    }

    /// The number of a field in the table.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// A number that the files of all ranks have in common: that of the list, and of the values that are the same on all
    /// ranks. So the files of two checkpoints are not taken for one, where their values, such as the step, differ.
    fn common(&self) -> u64 {
        let fields = self.table.fields.iter();
        let same = fields.filter(|field| field.entry.role == Role::Same);
        same.fold(self.table.list, |number, field| {
            fingerprint_with(number, &field.section.crc.to_le_bytes())
        })
    }

    /// An error in the content of the file, with its path.
    pub fn is_damaged(&self, error: Error) -> Error {
        error.in_file(&self.path)
    }

    /// Reads bytes of a section, whole blocks from the first one on, and checks them. Local.
    fn read(&self, field: &Stored, from: u64, buffer: &mut [u8]) -> Result<()> {
        match &self.file {
            Some(file) => read_blocks(&**file, &self.path, field, from, buffer),
            None => {
                let file = retry(|| self.files.open(&self.path))?;
                read_blocks(&*file, &self.path, field, from, buffer)
            }
        }
    }
}

/// Reads bytes of a field from its file, whole blocks from `from` on, and checks them. Local.
pub fn read_blocks(
    file: &dyn File,
    path: &Path,
    field: &Stored,
    from: u64,
    buffer: &mut [u8],
) -> Result<()> {
    let section = &field.section;
    retry(|| file.read_at(section.offset + from, buffer))?;
    check(section, from, buffer).map_err(|at| is_damaged(path, field, at))
}

/// The block at `at` of a field has a wrong checksum.
fn is_damaged(path: &Path, field: &Stored, at: u64) -> Error {
    let name = &field.entry.name;
    let what = format!(
        "field \"{name}\" is damaged: the bytes of the block at {} have a wrong checksum",
        field.section.offset + at
    );
    Error::corrupt(path, what)
}

/// Offset of the first block whose checksum is wrong.
fn check(section: &Section, from: u64, bytes: &[u8]) -> std::result::Result<(), u64> {
    let first = (from / section.block) as usize;
    for (number, block) in bytes.chunks(section.block as usize).enumerate() {
        if section.blocks.get(first + number) != Some(&crc32fast::hash(block)) {
            return Err(from + number as u64 * section.block);
        }
    }
    Ok(())
}

/// A piece of a field in a file: the rank that wrote it, the number of the field in the table, the number of the
/// piece.
pub type ChunkKey = (u64, usize, u64);

/// Bytes in a piece of a field.
pub fn chunk_of(section: &Section) -> u64 {
    (scaled(CHUNK) as u64 / section.block.max(1)).max(1) * section.block
}

/// Number of pieces of a field.
pub fn chunks_in(field: &Stored) -> u64 {
    match field.entry.bytes() {
        0 => 0,
        bytes => bytes.div_ceil(chunk_of(&field.section)),
    }
}

/// All files that this rank reads.
pub struct Sources {
    /// The checkpoint.
    pub dataset: Name,
    /// Number of ranks that wrote the checkpoint.
    pub ranks: u64,
    /// The rank whose file is used for the list of fields, and for the fields that are the same on
    /// all ranks.
    pub home: u64,
    /// The ranks whose files this rank reads for all: each file has one reader.
    pub held: std::ops::Range<u64>,
    /// The bags of the checkpoint.
    pub bags: Bags,
    open: BTreeMap<u64, Source>,
    kept: HashMap<ChunkKey, Vec<u8>>,
    room: u64,
    buffer: Vec<u8>,
    /// Is told how many bytes were read.
    watch: Box<dyn Watch>,
}

impl Sources {
    /// Rank `me` of `size` reads a checkpoint of `ranks` ranks.
    pub fn new(dataset: Name, ranks: u64, (me, size): (u64, u64), watch: Box<dyn Watch>) -> Self {
        let begin =
            |rank: u64| (u128::from(rank) * u128::from(ranks)).div_ceil(u128::from(size)) as u64;
        let held = begin(me)..begin(me + 1);
        let near = (u128::from(me) * u128::from(ranks) / u128::from(size)) as u64;
        // A rank that has files to read opens no other file.
        let home = if held.is_empty() { near } else { held.start };
        Sources {
            dataset,
            ranks,
            home,
            held,
            bags: Bags::default(),
            open: BTreeMap::new(),
            kept: HashMap::new(),
            room: (scaled(KEPT) * scaled(CHUNK)) as u64,
            buffer: Vec::new(),
            watch,
        }
    }

    /// Opens the files that this rank reads. Local.
    pub fn open_own(&mut self, session: &mut Session) -> Found<()> {
        self.source(session, self.home)?;
        for rank in self.held.clone() {
            self.source(session, rank)?;
        }
        let common = |rank| self.open.get(&rank).map(Source::common);
        let home = common(self.home);
        match self.held.clone().find(|rank| common(*rank) != home) {
            None => Ok(()),
            Some(rank) => {
                let path = self.open.get(&rank).map(|source| source.path.clone());
                let what = format!(
                    "has other fields, or other values that are the same on all ranks, than the file of rank {}",
                    self.home
                );
                Err(Error::corrupt(path.unwrap_or_default(), what).into())
            }
        }
    }

    /// The file of a rank, which is opened if it is not. Local.
    pub fn source(&mut self, session: &mut Session, rank: u64) -> Found<&Source> {
        if !self.open.contains_key(&rank) {
            let source = self.find(session, rank)?;
            self.open.insert(rank, source);
        }
        self.opened(rank)
            .ok_or_else(|| Finding::unfit("a file is not open"))
    }

    fn find(&self, session: &mut Session, rank: u64) -> Found<Source> {
        let name = file_of(&self.dataset, rank);
        let path = session.in_prefix(&name);
        let path = session.route(&path).map_err(|error| match error {
            Error::Usage { .. } if rank == self.home => Finding::unfit(format!(
                "{} has no file of fields of rank {rank}: {error}",
                self.dataset
            )),
            error => Finding::from(error),
        })?;
        let keep = self.open.len() < share_of_open_files(MOST_OPEN);
        let mut source = Source::open(session.files(), path, keep)?;
        source.verified = session.is_verified(&source.path);
        let table = &source.table;
        if (table.rank, table.ranks) != (rank, self.ranks) {
            let what = format!("is the file of rank {} of {}", table.rank, table.ranks);
            return Err(Error::corrupt(&source.path, what).into());
        }
        Ok(source)
    }

    /// A file that is open.
    pub fn opened(&self, rank: u64) -> Option<&Source> {
        self.open.get(&rank)
    }

    /// A field of a file that is open.
    pub fn field(&self, rank: u64, number: usize) -> Found<&Stored> {
        let field = self
            .opened(rank)
            .and_then(|source| source.table.fields.get(number));
        field.ok_or_else(|| Finding::unfit("a field is not in its file"))
    }

    /// The restart makes progress, though this rank may read nothing now. Local.
    pub fn goes_on(&self) {
        self.watch.moved(0);
    }

    /// Reads a piece and checks it; keeps it if there is room. Local.
    pub fn verify(&mut self, key: ChunkKey) -> Found<()> {
        if self.kept.contains_key(&key) {
            return Ok(());
        }
        let length = self.load(key)?;
        if length <= self.room {
            self.room -= length;
            let bytes = std::mem::take(&mut self.buffer);
            self.kept.insert(key, bytes);
        }
        Ok(())
    }

    /// The bytes of a piece. Local.
    pub fn chunk(&mut self, key: ChunkKey) -> Found<&[u8]> {
        if !self.kept.contains_key(&key) {
            self.load(key)?;
            return Ok(&self.buffer);
        }
        Ok(self.kept.get(&key).map_or(&[], Vec::as_slice))
    }

    /// Reads a piece into the buffer; gives its length.
    fn load(&mut self, (rank, number, chunk): ChunkKey) -> Found<u64> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let field = self.field(rank, number)?;
        let from = chunk * chunk_of(&field.section);
        let length = chunk_of(&field.section).min(field.entry.bytes() - from);
        buffer.resize(length as usize, 0);
        if let Some(source) = self.opened(rank) {
            source.read(field, from, &mut buffer)?;
            self.watch.moved(length);
        }
        self.buffer = buffer;
        Ok(length)
    }

    /// True if all bytes of the file of `rank` were found right by the start of this process, and it was not changed since.
    pub fn is_verified(&self, rank: u64) -> bool {
        self.opened(rank).is_some_and(|source| source.verified)
    }

    /// Copies a field of a [verified](Self::is_verified) file straight into memory in which the elements lie one after the
    /// other, and checks it again; false if it must be read piece by piece. Local.
    pub fn copy_into(
        &self,
        (rank, number): (u64, usize),
        memory: &mut dyn Memory,
        base: i64,
    ) -> Found<bool> {
        let field = self.field(rank, number)?;
        let bytes = field.entry.bytes() as usize;
        let source = self.opened(rank).filter(|source| source.verified);
        let Some((source, file)) = source.and_then(|source| Some((source, source.file.as_ref()?)))
        else {
            return Ok(false);
        };
        if bytes <= scaled(CHUNK) {
            return Ok(false);
        }
        let moved = |bytes| self.watch.moved(bytes);
        let copied = match memory.remote_mut() {
            Some(remote) => {
                let target = (remote, base, bytes as u64);
                copy_to_remote(&**file, &field.section, target, &moved)?
            }
            None => {
                let place = memory.bytes_mut(base, bytes)?;
                copy_in_place(&**file, &field.section, place, &moved)?
            }
        };
        match copied {
            Copied::Right => Ok(true),
            Copied::Wrong(at) => Err(is_damaged(&source.path, field, at).into()),
            Copied::Not => Ok(false),
        }
    }

    /// Reads a piece straight into memory in which the elements lie one after the other; false if the piece
    /// is kept, so that it need not be read, or if it must be copied there. Local.
    pub fn read_into(&self, key: ChunkKey, memory: &mut dyn Memory, base: i64) -> Found<bool> {
        if self.kept.contains_key(&key) || memory.remote().is_some() {
            return Ok(false);
        }
        let (rank, number, chunk) = key;
        let field = self.field(rank, number)?;
        let from = chunk * chunk_of(&field.section);
        let length = chunk_of(&field.section).min(field.entry.bytes() - from);
        let place = memory.bytes_mut(base + from as i64, length as usize)?;
        if let Some(source) = self.opened(rank) {
            source.read(field, from, place)?;
            self.watch.moved(length);
        }
        Ok(true)
    }

    /// The eight bytes of a count. Local.
    pub fn count(&mut self, rank: u64, name: &str) -> Found<i64> {
        let source = self.opened(rank);
        let Some(number) = source.and_then(|source| source.number(name)) else {
            return Err(Finding::unfit(format!(
                "count \"{name}\" is not in the checkpoint"
            )));
        };
        let bytes = self.chunk((rank, number, 0))?;
        let bytes = bytes
            .try_into()
            .map_err(|_| Finding::unfit(format!("\"{name}\" is no count")))?;
        Ok(i64::from_le_bytes(bytes))
    }

    /// The number that the file of rank `home` has in common with those of all ranks.
    pub fn common(&self) -> u64 {
        self.opened(self.home).map_or(0, Source::common)
    }

    /// The fields in the file of rank `home`.
    pub fn stored(&self) -> impl Iterator<Item = &Entry> {
        let source = self.opened(self.home).into_iter();
        source.flat_map(|source| source.table.fields.iter().map(|field| &field.entry))
    }
}
