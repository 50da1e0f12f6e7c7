//! Metadata files with any bytes, as after a full disk, a killed process or an attack. No reader
//! may panic, and none may use much more memory than its input has bytes.

use scr::format::dataset::Dataset;
use scr::format::filemap::{Filemap, Reddesc};
use scr::format::files::{FileMeta, RankFiles};
use scr::format::flush_file::FlushFile;
use scr::format::halt::Halt;
use scr::format::index::{self, Index};
use scr::format::nodes::Nodes;
use scr::format::parity::{Group, ParityHeader};
use scr::format::print::{Style, print};
use scr::format::rank2file::{Branch, Leaf, Rank2File, TreeFile};
use scr::format::summary::Summary;
use scr::format::{
    Name, Tree, decode, encode, from_message, from_tree, to_message, to_tree, unpack,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::path::Path;

/// A linear congruential generator: the same cases in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    fn byte(&mut self) -> u8 {
        // Often a byte that means something.
        match self.below(4) {
            0 => 0,
            1 => b'0' + self.below(10) as u8,
            2 => [1, 0xff, b'-', b'.', b'/', b'x'][self.below(6)],
            _ => self.below(256) as u8,
        }
    }
}

/// Metadata files of the fixtures, and records of our own.
fn seeds() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let names = ["index.scr", "flush.scr", "halt.scr", "nodes.scr"];
    let inner = ["summary.scr", "rank2file", "rank2file.0.0"];
    let mut seeds = vec![xor_header(), filemap()];
    for fixture in ["basic", "failed", "output"] {
        let scr = root.join(fixture).join(".scr");
        let inner = inner
            .iter()
            .map(|name| scr.join("scr.dataset.2").join(name));
        let paths = names.iter().map(|name| scr.join(name)).chain(inner);
        seeds.extend(paths.map(|path| fs::read(path).unwrap()));
    }
    seeds
}

fn reddesc() -> Reddesc {
    Reddesc {
        scheme: "XOR".into(),
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

fn files() -> RankFiles {
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
        current: files(),
        partner: files(),
        further: vec![files()],
    };
    encode(&to_tree(&header).unwrap())
}

fn filemap() -> Vec<u8> {
    let filemap = Filemap {
        rank: 0,
        ranks: 2,
        node: "n".into(),
        prefix: None,
        bypass: false,
        contained: None,
        dataset: Dataset {
            id: 1,
            ..Dataset::default()
        },
        reddesc: reddesc(),
        files: files(),
    };
    encode(&to_tree(&filemap).unwrap())
}

/// What one reader makes of a tree can be written and read again.
fn record<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(tree: &Tree) -> usize {
    match from_tree::<T>(tree) {
        Ok(record) => {
            assert_eq!(from_message::<T>(&to_message(&record).unwrap()), Ok(record));
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
        let rows = index.list();
        assert_eq!(index::table(&rows).lines().count(), rows.len() + 1);
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

/// Puts the right size and checksum on bytes, so that the damage gets past them.
fn seal(bytes: &mut [u8]) {
    let size = (bytes.len() as u64).to_be_bytes();
    if let Some(field) = bytes.get_mut(8..16) {
        field.copy_from_slice(&size);
    }
    if let Some((body, crc)) = bytes.split_last_chunk_mut::<4>() {
        *crc = crc32fast::hash(body).to_be_bytes();
    }
}

#[test]
fn seeds_are_readable() {
    for bytes in seeds() {
        assert!(try_all(&bytes));
        let (tree, _) = decode(&bytes).unwrap();
        assert!(read_all(&tree) > 0);
    }
}

#[test]
fn cut_files_are_refused() {
    for bytes in seeds() {
        for len in 1..bytes.len() {
            assert!(!try_all(&bytes[..len]), "{len} of {} bytes", bytes.len());
        }
    }
}

#[test]
fn cut_and_sealed_files_are_refused() {
    for bytes in seeds() {
        for len in 1..bytes.len() {
            let mut cut = bytes[..len].to_vec();
            seal(&mut cut);
            assert!(!try_all(&cut), "{len} of {} bytes", bytes.len());
        }
    }
}

#[test]
fn damaged_bytes_do_no_harm() {
    let mut random = Random(1);
    let seeds = seeds();
    let mut trees = 0;
    for _ in 0..6000 {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = random.byte(),
                1 => bytes.insert(at, random.byte()),
                _ => drop(bytes.remove(at)),
            }
        }
        if random.below(4) > 0 {
            seal(&mut bytes);
        }
        trees += usize::from(try_all(&bytes));
    }
    assert!(trees > 300, "only {trees} cases got past the decoder");
}

#[test]
fn random_bytes_do_no_harm() {
    let mut random = Random(2);
    for _ in 0..6000 {
        let len = random.below(200);
        let mut bytes: Vec<u8> = (0..len).map(|_| random.byte()).collect();
        if random.below(2) > 0 && len >= 28 {
            bytes[..8].copy_from_slice(&[0x95, 0x1f, 0xc3, 0xf5, 0, 1, 0, 1]);
            bytes[16..23].copy_from_slice(&[0, 0, 0, 1, 0, 0, 0]);
            seal(&mut bytes);
        }
        try_all(&bytes);
    }
}

/// Changes one thing somewhere in a tree.
fn twist(tree: &Tree, random: &mut Random) -> Tree {
    let words: [&[u8]; 11] = [
        b"",
        b"-1",
        b"0",
        b"2",
        b"99999999999999999999999",
        b"x",
        b"\xff",
        b"../..",
        b"/",
        b"1e3",
        b"0x1",
    ];
    let at = random.below(tree.len() + 1);
    let mut elements: Vec<(Name, Tree)> = tree
        .iter()
        .map(|(name, sub)| (name.clone(), sub.clone()))
        .collect();
    match elements.get_mut(at) {
        None => elements.push((words[random.below(words.len())].into(), Tree::new())),
        Some(element) => match random.below(8) {
            0 => element.0 = words[random.below(words.len())].into(),
            1 => element.1 = Tree::new(),
            2 => element.1 = tree.clone(),
            3 => drop(elements.remove(at)),
            _ => element.1 = twist(&element.1, random),
        },
    }
    Tree::of_elements(elements)
}

#[test]
fn twisted_records_do_no_harm() {
    let mut random = Random(3);
    let trees: Vec<Tree> = seeds()
        .iter()
        .map(|bytes| decode(bytes).unwrap().0)
        .collect();
    let (mut good, mut bad) = (0, 0);
    for _ in 0..4000 {
        let mut tree = trees[random.below(trees.len())].clone();
        for _ in 0..=random.below(2) {
            tree = twist(&tree, &mut random);
        }
        match read_all(&tree) {
            // Halt and flush file have no key that must be there.
            0..=2 => bad += 1,
            _ => good += 1,
        }
    }
    assert!(good > 100 && bad > 100, "{good} good, {bad} bad");
}
