//! Moves cached files to the nodes where their ranks run now, unless the rebuild of their
//! redundancy set moves them (`redundancy/rebuild/relocated.rs`).
//!
//! Rank 0 plans rounds, in which each rank sends to at most one other rank and receives from at
//! most one. Within a round all ranks go through the files piece by piece. Receives are posted
//! several pieces ahead of any wait, so a circle of ranks cannot deadlock: the rank that is
//! furthest behind waits for a piece that was sent already.

use super::dataset;
use super::layout::Layout;
use super::plan::{PartToSend, RecoveryOrder};
use crate::comm::{Communicator, Local, Pending, Tag};
use crate::format::filemap::Filemap;
use crate::format::{Name, from_message, to_message};
use crate::store::{File, Files};
use crate::system::size::scaled;
use crate::{Error, Result, format, store};
use crc32fast::Hasher;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

const MANIFEST: Tag = 0x30;
const DATA: Tag = 0x31;

/// Messages in progress in each direction.
const WINDOW: usize = 4;

/// Largest piece, bytes. All pieces in progress should stay in the cache of one core between their
/// arrival and their write. This gains more than a thread for writing.
const PIECE: usize = 128 << 10;

/// A file that is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct FileToMove {
    /// Path below the dataset's directory.
    path: Name,
    /// Size, bytes.
    size: u64,
}

/// The files of a rank's part on the sending node. A missing file is left out; the receiver detects
/// this, and the file is rebuilt.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct Manifest {
    items: Vec<FileToMove>,
}

/// Receives this rank's files and sends what others need, as `order` says. `layout` is the store of
/// the dataset on this rank's node, at the level of this rank's part. Returns the checksums of the
/// files that were received. Read errors of sent files are added to `problems`. The sent copies are
/// kept until the dataset is known to be good (see [`discard_sent_parts`]).
///
/// Collective over all ranks.
pub fn move_parts(
    comm: &dyn Communicator,
    files: &dyn Files,
    layout: &Layout,
    order: &RecoveryOrder,
    piece: usize,
    problems: &mut Vec<Error>,
) -> Result<Local<BTreeMap<PathBuf, u32>>> {
    let id = order.dataset.id;
    let (mut result, mut arrived) = (Ok(()), BTreeMap::new());
    for round in 0..order.rounds {
        let to = order.sends.get(round).copied();
        let from = order
            .source
            .filter(|&from| from != comm.rank() && order.round == round)
            .filter(|_| order.holders.is_empty());
        // Without a readable record nothing is sent; the receiver has its part rebuilt.
        let outgoing = to.map(|to| {
            let manifest = manifest(files, layout, id, to);
            manifest.unwrap_or_else(|error| {
                problems.push(error);
                Manifest::default()
            })
        });
        let to = to.map(|to| to.rank);
        let announced = match (&outgoing, to) {
            (Some(manifest), Some(to)) => Some(comm.isend(to, MANIFEST, to_message(manifest)?)?),
            _ => None,
        };
        let incoming: Option<Manifest> = match from {
            Some(from) => Some(from_message(&comm.recv(from, MANIFEST)?)?),
            None => None,
        };
        if let Some(pending) = announced {
            pending.wait()?;
        }
        let prepared = incoming.as_ref().map_or(Ok(()), |manifest| {
            prepare_to_receive(files, layout, id, comm.rank(), manifest)
        });

        let root = layout.dataset(id);
        let reader = PartTransfer::new(files, &root, outgoing.unwrap_or_default(), piece);
        let writer = PartTransfer::new(files, &root, incoming.unwrap_or_default(), piece);
        let (sums, read_error) = exchange(comm, (to, reader), (from, writer), prepared)?;
        problems.extend(read_error);
        match sums {
            Ok(sums) => arrived.extend(sums),
            Err(error) => result = result.and(Err(error)),
        }
    }
    Ok(result.map(|()| arrived).into())
}

/// Paths and checksums of the files that were received in a round, and the first read error of the
/// sent ones.
type RoundResult = (Result<Vec<(PathBuf, u32)>>, Option<Error>);

/// One round: sends the files of `reader` and writes what arrives with `writer`, unless `prepared`
/// is an error. The outer error is a failure of communication.
fn exchange(
    comm: &dyn Communicator,
    (to, mut reader): (Option<usize>, PartTransfer),
    (from, mut writer): (Option<usize>, PartTransfer),
    prepared: Result<()>,
) -> Result<RoundResult> {
    let mut expected = writer.steps.clone();
    let mut written = prepared;
    let mut spare: Vec<Vec<u8>> = Vec::new();
    let (mut arriving, mut leaving) = (VecDeque::new(), VecDeque::new());
    loop {
        while arriving.len() < WINDOW
            && let (Some(from), Some(step)) = (from, expected.next())
        {
            let mut buffer = spare.pop().unwrap_or_default();
            buffer.resize(step.len, 0);
            arriving.push_back(comm.irecv(from, DATA, buffer)?);
        }
        if let (Some(to), Some(step)) = (to, reader.steps.next()) {
            if leaving.len() == WINDOW {
                reader.recycle(&mut leaving)?;
            }
            leaving.push_back(comm.isend(to, DATA, reader.read(&step))?);
        } else if arriving.is_empty() {
            break;
        }
        if let Some(pending) = arriving.pop_front() {
            let bytes = pending.wait()?;
            // After a failure the remaining messages must still be received.
            written = written.and_then(|()| writer.write(&bytes));
            spare.push(bytes);
        }
    }
    while !leaving.is_empty() {
        reader.recycle(&mut leaving)?;
    }
    Ok((written.map(|()| writer.sums().collect()), reader.read_error))
}

/// Moves the parts that were sent to other ranks to the trash, which [`dataset::empty_trash`]
/// deletes. Returns errors of files that could not be removed; such files do no harm. Local, on the
/// rank that sent the parts.
pub fn discard_sent_parts(
    files: &dyn Files,
    layout: &Layout,
    id: u64,
    sends: &[PartToSend],
) -> Vec<Error> {
    let mut errors = Vec::new();
    for sent in sends {
        let layout = &layout.at(sent.level);
        // If the record cannot be read, only the name of the redundancy file is unknown.
        let items = manifest(files, layout, id, *sent).unwrap_or_default().items;
        let (root, data) = (layout.dataset(id), layout.data(id, sent.rank));
        // The record goes first, so that a killed process never leaves a record without its files.
        let record = layout.filemap(id, sent.rank);
        errors.extend(files.remove_tree(&record).err());
        let own = (!layout.is_common()).then_some(data);
        let others = items.iter().filter_map(|item| item.path.below(&root).ok());
        let in_own = |path: &PathBuf| own.as_ref().is_some_and(|data| path.starts_with(data));
        let others = others.filter(|path| *path != record && !in_own(path));
        for path in own.clone().into_iter().chain(others) {
            errors.extend(dataset::move_to_trash(files, layout, id, &path).err());
        }
    }
    errors
}

/// The files of a rank's part. The record is last, so that it never arrives before the files it
/// describes.
fn manifest(files: &dyn Files, layout: &Layout, id: u64, sent: PartToSend) -> Result<Manifest> {
    let (layout, rank) = (&layout.at(sent.level), sent.rank);
    let record = layout.filemap(id, rank);
    let filemap: Filemap = format::read(files, &record)?;
    let root = layout.dataset(id);
    let data = layout.data(id, rank);
    let mut paths: Vec<PathBuf> = Vec::new();
    for file in &filemap.files.files {
        paths.push(file.file.below(&data)?);
    }
    paths.extend(dataset::redundancy_file(layout, &filemap));
    paths.push(record);
    let mut manifest = Manifest::default();
    for path in paths {
        let stat = files
            .stat(&path)?
            .filter(|stat| stat.kind == store::FileKind::File);
        let (Some(stat), Ok(below)) = (stat, path.strip_prefix(&root)) else {
            continue;
        };
        manifest.items.push(FileToMove {
            path: Name::from(below),
            size: stat.size,
        });
    }
    Ok(manifest)
}

/// Makes the directories of the files that will arrive, and the empty files, for which no piece is
/// sent.
fn prepare_to_receive(
    files: &dyn Files,
    layout: &Layout,
    id: u64,
    rank: usize,
    manifest: &Manifest,
) -> Result<()> {
    dataset::make_empty_directories(files, layout, id, rank)?;
    let root = layout.dataset(id);
    for item in &manifest.items {
        let path = item.path.below(&root)?;
        let parent = path
            .parent()
            .and_then(|dir| dir.strip_prefix(layout.base()).ok());
        if let Some(below) = parent {
            files.make_private_dirs(layout.base(), below)?;
        }
        if item.size == 0 {
            files.create(&path, 0o600)?;
        }
    }
    Ok(())
}

/// A piece of a file.
#[derive(Clone, Copy)]
struct Piece {
    item: usize,
    offset: u64,
    len: usize,
}

/// One side of a transfer, which goes through the files of a manifest piece by piece.
struct PartTransfer<'a> {
    files: &'a dyn Files,
    root: &'a Path,
    items: Vec<FileToMove>,
    steps: std::vec::IntoIter<Piece>,
    open: Option<(usize, Box<dyn File>)>,
    /// Checksum of the written bytes of each file.
    sums: Vec<Hasher>,
    /// The first read error.
    read_error: Option<Error>,
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
}

impl<'a> PartTransfer<'a> {
    fn new(files: &'a dyn Files, root: &'a Path, manifest: Manifest, piece: usize) -> Self {
        let piece = piece.clamp(1, scaled(PIECE)) as u64;
        let items = manifest.items;
        let steps: Vec<Piece> = items
            .iter()
            .enumerate()
            .flat_map(|(item, FileToMove { size, .. })| {
                (0..size.div_ceil(piece)).map(move |i| Piece {
                    item,
                    offset: i * piece,
                    len: (size - i * piece).min(piece) as usize,
                })
            })
            .collect();
        PartTransfer {
            files,
            root,
            sums: vec![Hasher::new(); items.len()],
            read_error: None,
            items,
            steps: steps.into_iter(),
            open: None,
            spare: Vec::new(),
        }
    }

    fn buffer(&mut self, step: &Piece) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(step.len, 0);
        buffer
    }

    /// Waits for the oldest message on its way.
    fn recycle(&mut self, leaving: &mut VecDeque<Box<dyn Pending>>) -> Result<()> {
        if let Some(pending) = leaving.pop_front() {
            self.spare.push(pending.wait()?);
        }
        Ok(())
    }

    /// The bytes of a piece. After the first read error all pieces are zeros: the receiver gets the
    /// messages that it expects but no valid record, so its part does not replace the holder's
    /// part, which may be whole.
    fn read(&mut self, step: &Piece) -> Vec<u8> {
        let mut buffer = self.buffer(step);
        if self.read_error.is_none() {
            let file = self.file(step.item, |files, path, _| files.open(path));
            let done = file.and_then(|file| file.read_at(step.offset, &mut buffer));
            self.read_error = done.err();
        }
        if self.read_error.is_some() {
            buffer.fill(0);
        }
        buffer
    }

    fn write(&mut self, data: &[u8]) -> Result<()> {
        let unplanned = || Error::format(0, "more data arrived than was announced");
        let step = self.steps.next().ok_or_else(unplanned)?;
        self.file(step.item, |files, path, size| {
            let file = files.create(path, 0o600)?;
            file.allocate(size)?;
            Ok(file)
        })
        .and_then(|file| file.write_at(step.offset, data))?;
        if let Some(sum) = self.sums.get_mut(step.item) {
            sum.update(data);
        }
        Ok(())
    }

    /// Paths and checksums of the files that were written. Checksums of incomplete files are wrong,
    /// but then the whole transfer has failed.
    fn sums(self) -> impl Iterator<Item = (PathBuf, u32)> {
        let root = self.root;
        let each = self.items.into_iter().zip(self.sums);
        each.filter_map(move |(item, sum)| Some((item.path.below(root).ok()?, sum.finalize())))
    }

    fn file(
        &mut self,
        item: usize,
        open: impl FnOnce(&dyn Files, &Path, u64) -> Result<Box<dyn File>>,
    ) -> Result<&dyn File> {
        let file = match self.open.take() {
            Some((at, file)) if at == item => file,
            _ => {
                let FileToMove { path, size } = &self.items[item];
                open(self.files, &path.below(self.root)?, *size)?
            }
        };
        Ok(&*self.open.insert((item, file)).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::dataset;
    use crate::comm::threads;
    use crate::format::Scheme;
    use crate::format::{Dataset, FileMeta, Filemap, RankFiles, Reddesc};
    use crate::store::posix::Posix;

    const ID: u64 = 5;
    const SIZES: [usize; 4] = [0, 1, 64, 1000];

    fn name(at: usize) -> String {
        format!("d{at}/f")
    }

    fn bytes(rank: usize, at: usize) -> Vec<u8> {
        (0..SIZES[at])
            .map(|i| (i * 7 + rank * 31 + at) as u8)
            .collect()
    }

    fn layout(root: &Path, node: usize) -> Layout {
        Layout::new(&root.join(format!("n{node}")), "user1", "1001")
    }

    fn reddesc(rank: usize) -> Reddesc {
        Reddesc {
            scheme: Scheme::Xor.into(),
            group: "NODE".into(),
            set_id: 0,
            set_rank: rank,
            members: vec![0, 1, 2],
            set_size: 8,
            set_failures: 1,
            interval: 1,
            store: "/dev/shm".into(),
        }
    }

    /// Writes the part of `rank` on its node.
    fn write(root: &Path, rank: usize) {
        let layout = layout(root, rank);
        dataset::make_empty_directories(&Posix, &layout, ID, rank).unwrap();
        let mut files = Vec::new();
        for at in 0..SIZES.len() {
            let path = layout.data(ID, rank).join(name(at));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, bytes(rank, at)).unwrap();
            let stat = Posix.stat(&path).unwrap().unwrap();
            let name = Name::from(name(at).as_str());
            files.push(FileMeta::new(name.clone(), name, &stat));
        }
        let parity = format!("{}_of_3_in_0.xor", rank + 1);
        std::fs::write(layout.meta(ID).join(parity), bytes(rank, 3)).unwrap();
        let filemap = Filemap {
            rank,
            ranks: 3,
            node: "n".into(),
            prefix: None,
            bypass: false,
            contained: None,
            dataset: Dataset {
                id: ID,
                ..Dataset::default()
            },
            reddesc: reddesc(rank),
            files: RankFiles { rank, files },
        };
        dataset::write_record(&Posix, &layout, &filemap).unwrap();
    }

    /// Rank r runs where rank r + 1 was, and gets its part from the node where it was itself.
    fn order(rank: usize) -> RecoveryOrder {
        RecoveryOrder {
            store: 0,
            dataset: Dataset {
                id: ID,
                ..Dataset::default()
            },
            reddesc: reddesc(rank),
            source: Some((rank + 2) % 3),
            level: None,
            round: 0,
            sends: vec![PartToSend {
                rank: (rank + 1) % 3,
                level: None,
            }],
            rounds: 1,
            holders: Vec::new(),
            holds: None,
        }
    }

    #[test]
    fn a_circle_of_ranks_gets_all_its_files_whatever_the_size_of_messages() {
        for piece in [1, 63, 64, 1000, 1 << 20] {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path();
            (0..3).for_each(|rank| write(root, rank));
            threads::run(3, |comm| {
                let rank = comm.rank();
                let here = layout(root, (rank + 1) % 3);
                let order = order(rank);
                // Each rank sends from the node it runs on, which has the part of its right
                // neighbour.
                move_parts(&*comm, &Posix, &here, &order, piece, &mut Vec::new())
                    .unwrap()
                    .result()
                    .unwrap();
                comm.barrier().unwrap();
                for at in 0..SIZES.len() {
                    let path = here.data(ID, rank).join(name(at));
                    assert!(std::fs::read(path).unwrap() == bytes(rank, at), "{at}");
                }
                let parity = format!("{}_of_3_in_0.xor", rank + 1);
                assert!(std::fs::read(here.meta(ID).join(parity)).unwrap() == bytes(rank, 3));
                let map: Filemap = format::read(&Posix, &here.filemap(ID, rank)).unwrap();
                assert_eq!(map.rank, rank);

                comm.barrier().unwrap();
                assert_eq!(discard_sent_parts(&Posix, &here, ID, &order.sends), []);
                let sent = order.sends[0].rank;
                assert_eq!(Posix.stat(&here.filemap(ID, sent)).unwrap(), None);
                assert_eq!(Posix.stat(&here.data(ID, sent)).unwrap(), None);
                assert!(Posix.stat(&here.filemap(ID, rank)).unwrap().is_some());
            });
        }
    }

    #[test]
    fn zeros_are_sent_after_a_read_error() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["before", "record"] {
            std::fs::write(dir.path().join(name), b"content").unwrap();
        }
        let items = ["before", "gone", "record"].map(|name| FileToMove {
            path: Name::from(name),
            size: 7,
        });
        let items = items.to_vec();
        let mut part = PartTransfer::new(&Posix, dir.path(), Manifest { items }, 64);
        let steps: Vec<Piece> = part.steps.clone().collect();
        let sent: Vec<Vec<u8>> = steps.iter().map(|step| part.read(step)).collect();
        assert_eq!(sent, [&b"content"[..], &[0; 7], &[0; 7]]);
        let read_error = part.read_error.unwrap().to_string();
        assert!(read_error.contains("gone"), "{read_error}");
    }

    #[test]
    fn damaged_or_missing_files_are_left_out_of_a_move() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        (0..3).for_each(|rank| write(root, rank));
        std::fs::write(layout(root, 0).filemap(ID, 0), b"no record").unwrap();
        std::fs::remove_file(layout(root, 1).data(ID, 1).join(name(2))).unwrap();
        threads::run(3, |comm| {
            let rank = comm.rank();
            let here = layout(root, (rank + 1) % 3);
            move_parts(&*comm, &Posix, &here, &order(rank), 64, &mut Vec::new())
                .unwrap()
                .result()
                .unwrap();
            let map: Result<Filemap> = format::read(&Posix, &here.filemap(ID, rank));
            assert_eq!(map.is_ok(), rank != 0);
            let third = here.data(ID, rank).join(name(2));
            assert_eq!(third.exists(), rank == 2);
            comm.barrier().unwrap();
            assert_eq!(
                discard_sent_parts(&Posix, &here, ID, &order(rank).sends),
                []
            );
            assert_eq!(Posix.stat(&here.data(ID, (rank + 1) % 3)).unwrap(), None);
        });
    }
}
