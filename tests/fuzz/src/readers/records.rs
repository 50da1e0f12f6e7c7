//! Key trees, and all records that are made of them.

use super::{fixtures, scratch};
use scr::daemon::Control;
use scr::format::Scheme;
use scr::format::dataset::Dataset;
use scr::format::filemap::{Filemap, Reddesc};
use scr::format::files::{FileMeta, RankFiles};
use scr::format::flush_file::FlushFile;
use scr::format::halt::Halt;
use scr::format::index::Index;
use scr::format::nodes::Nodes;
use scr::format::parity::{Group, ParityHeader};
use scr::format::print::{Style, print};
use scr::format::rank2file::{Branch, Leaf, Rank2File, TreeFile};
use scr::format::summary::Summary;
use scr::format::transfer::{PartId, Transfer, TransferPart};
use scr::format::{
    Tree, decode, encode, from_message, from_tree, read_header, to_message, to_tree, unpack,
};
use scr::store::Files;
use scr::store::posix::Posix;
use scr_jobs::datasets::listing;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Bytes before the tree of a file, and after it.
const BEFORE: usize = 20;
const AFTER: usize = 4;

/// Metadata files of the fixtures, and records of our own.
pub fn files() -> Vec<Vec<u8>> {
    let names = ["index.scr", "flush.scr", "halt.scr", "nodes.scr"];
    let inner = ["summary.scr", "rank2file", "rank2file.0.0"];
    let mut all = vec![xor_header(), filemap()];
    for fixture in ["basic", "failed", "output"] {
        let scr = fixtures().join(fixture).join(".scr");
        let inner = inner
            .iter()
            .map(|name| scr.join("scr.dataset.2").join(name));
        let paths = names.iter().map(|name| scr.join(name)).chain(inner);
        all.extend(paths.map(|path| std::fs::read(path).expect("a file of the fixtures")));
    }
    all
}

/// The tree in the bytes of a file.
pub fn without_seal(bytes: &[u8]) -> Option<&[u8]> {
    bytes.get(BEFORE..bytes.len().checked_sub(AFTER)?)
}

fn trees_in(files: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let trees = files.iter().filter_map(|bytes| without_seal(bytes));
    trees.map(<[u8]>::to_vec).collect()
}

/// The files without header and checksum.
pub fn trees() -> Vec<Vec<u8>> {
    trees_in(&files())
}

/// The file of these bytes as a tree: with the right size and checksum, so that all damage gets past them.
pub fn sealed(tree: &[u8]) -> Vec<u8> {
    let mut file = encode(&Tree::new())[..BEFORE].to_vec();
    file.extend(tree);
    file.extend([0; AFTER]);
    let size = (file.len() as u64).to_be_bytes();
    file[8..16].copy_from_slice(&size);
    let end = file.len() - AFTER;
    let sum = crc32fast::hash(&file[..end]).to_be_bytes();
    file[end..].copy_from_slice(&sum);
    file
}

/// A file as it is.
pub fn file(bytes: &[u8]) {
    let path = scratch().join("file");
    std::fs::write(&path, bytes).expect("a file in memory");
    let opened = Posix.open(&path).expect("it is there");
    let header = read_header::<ParityHeader>(&*opened, &path);
    let whole = decode(bytes);
    if let (Ok((_, end)), Ok((tree, same))) = (&header, &whole) {
        assert!(end == same && from_tree::<ParityHeader>(tree).is_ok());
    }
    // In the form in which we write it.
    if let Ok((tree, end)) = whole
        && bytes[..end as usize] == encode(&tree)
    {
        let end = end as usize;
        for length in [end - 1, end / 2, BEFORE] {
            assert!(decode(&bytes[..length]).is_err(), "cut to {length} bytes");
        }
        let tree = &bytes[BEFORE..end - AFTER];
        for length in [tree.len() - 1, tree.len() / 2, 0] {
            assert!(
                decode(&sealed(&tree[..length])).is_err(),
                "a tree cut to {length} bytes"
            );
        }
    }
    try_all(bytes);
}

/// The tree of a file.
pub fn tree(bytes: &[u8]) {
    try_all(&sealed(bytes));
}

pub fn transfers() -> Vec<Vec<u8>> {
    let mut file = Transfer {
        percent: 50.0,
        bw: 1e6,
        ..Transfer::default()
    };
    let empty = encode(&to_tree(&file).expect("a record"));
    let part = TransferPart {
        prefix: "/prefix".into(),
        base: "/dev/shm".into(),
        run: "6fd1be5a0a6f42c7".into(),
        host: "n1".into(),
        rank: vec![0, 1],
        parts: 1,
        ranks: 2,
        buffer: 1 << 20,
        ..TransferPart::default()
    };
    let id = PartId {
        dataset: 1,
        part: 0,
    };
    file.insert(id, part);
    let other = encode(&to_tree(&file).expect("a record"));
    trees_in(&[empty, other])
}

/// The transfer file of a node, as library and daemon read it.
pub fn transfer(bytes: &[u8]) {
    let control = Control::new(&Posix, scratch().to_path_buf());
    std::fs::write(control.file(), sealed(bytes)).expect("a file in memory");
    let read = control.read();
    if let Ok(Some(file)) = read {
        // Rates are written with six digits after the point.
        let written = encode(&to_tree(&file).expect("what was read can be written"));
        let (tree, _) = decode(&written).expect("what was written can be read");
        let again = from_tree::<Transfer>(&tree).expect("it is a transfer file");
        assert_eq!(encode(&to_tree(&again).expect("likewise")), written);
    }
}

fn reddesc() -> Reddesc {
    Reddesc {
        scheme: Scheme::Xor.into(),
        group: "NODE".into(),
        set_id: 0,
        set_rank: 1,
        members: vec![0, 1],
        set_size: 8,
        set_failures: 1,
        interval: 1,
        store: "/dev/shm".into(),
    }
}

fn rank_files() -> RankFiles {
    let file = FileMeta {
        file: "a/b".into(),
        orig: "b".into(),
        size: 10,
        crc: Some(1),
        complete: true,
        mode: 0o100600,
        uid: 0,
        gid: 0,
        atime: (1, 1),
        ctime: (1, 1),
        mtime: (1, 1),
    };
    RankFiles {
        rank: 0,
        files: vec![file.clone(), file],
    }
}

fn xor_header() -> Vec<u8> {
    let header = ParityHeader {
        dataset: Dataset {
            id: 1,
            ..Dataset::default()
        },
        ranks: 2,
        group: Group(vec![0, 1]),
        chunk: 20,
        crc: Some(7),
        reddesc: reddesc(),
        current: rank_files(),
        partner: rank_files(),
        further: vec![rank_files()],
    };
    encode(&to_tree(&header).expect("a record"))
}

fn filemap() -> Vec<u8> {
    let filemap = Filemap {
        rank: 0,
        ranks: 2,
        node: "n".into(),
        prefix: None,
        prefix_id: None,
        bypass: false,
        contained: None,
        dataset: Dataset {
            id: 1,
            ..Dataset::default()
        },
        reddesc: reddesc(),
        files: rank_files(),
    };
    encode(&to_tree(&filemap).expect("a record"))
}

/// What one reader makes of a tree can be written and read again.
fn record<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(tree: &Tree) -> usize {
    match from_tree::<T>(tree) {
        Ok(record) => {
            let message = to_message(&record).expect("what was read can be written");
            assert_eq!(from_message::<T>(&message), Ok(record));
            1
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            0
        }
    }
}

/// All readers and what is built on them; gives the number of records that could be read.
fn read_all(tree: &Tree) -> usize {
    if let Ok(index) = Index::from_tree(tree) {
        let rows = listing::rows(&index);
        assert_eq!(listing::table(&rows).lines().count(), rows.len() + 1);
        assert!(index.candidates().len() <= index.datasets().len());
        let (mut one, mut all) = (index.clone(), index);
        for row in rows {
            one.drop_after(&row.name);
            all.mark_failed(row.id, "t");
            all.remove(&row.name);
        }
    }
    if let Ok(Rank2File::Branch(branch)) = Rank2File::from_tree(tree) {
        for TreeFile { name, level, .. } in branch
            .children
            .values()
            .filter_map(|c| c.file(branch.level).ok())
        {
            assert!(!name.contains('/') && level < branch.level);
        }
    }
    if let Ok(list) = from_tree::<RankFiles>(tree) {
        list.size();
        for path in list
            .files
            .iter()
            .filter_map(|f| f.file.below(Path::new("/root")).ok())
        {
            assert!(path.starts_with("/root") && !path.to_string_lossy().contains(".."));
        }
    }
    print(tree, Style::Tree);
    assert!(!print(tree, Style::KeyVal).contains(|c: char| c.is_control() && c != '\n'));
    record::<Branch>(tree)
        + record::<Leaf>(tree)
        + record::<Summary>(tree)
        + record::<FlushFile>(tree)
        + record::<Index>(tree)
        + record::<Halt>(tree)
        + record::<Nodes>(tree)
        + record::<Dataset>(tree)
        + record::<RankFiles>(tree)
        + record::<Reddesc>(tree)
        + record::<Filemap>(tree)
        + record::<ParityHeader>(tree)
}

/// Elements of a tree and bytes of their names.
fn weight(tree: &Tree) -> (usize, usize) {
    tree.iter().fold((0, 0), |(elements, bytes), (name, sub)| {
        let (e, b) = weight(sub);
        (elements + e + 1, bytes + b + name.as_bytes().len())
    })
}

/// Decodes, checks that the tree is not larger than its bytes, and reads it as every record.
/// True if it was a tree.
fn try_all(bytes: &[u8]) -> bool {
    if let Ok((tree, used)) = unpack(bytes) {
        let (elements, names) = weight(&tree);
        assert!(elements * 5 + names + 4 <= used && used <= bytes.len());
        // Without header and checksum.
        let file = encode(&tree);
        let again = &file[20..file.len() - 4];
        assert!(again.len() <= used);
        assert_eq!(unpack(again), Ok((tree.clone(), again.len())));
    }
    match decode(bytes) {
        Ok((tree, end)) => {
            assert!(end <= bytes.len() as u64);
            assert_eq!(
                decode(&encode(&tree)).map(|(again, _)| again),
                Ok(tree.clone())
            );
            read_all(&tree);
            true
        }
        Err(error) => {
            assert!(matches!(error, scr::Error::Format { .. }), "{error}");
            false
        }
    }
}
