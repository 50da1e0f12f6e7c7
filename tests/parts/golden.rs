//! The files that SCR v3.1.0 wrote (`tests/fixtures`), and our own records compared with their
//! printed trees and bytes.

use scr::format::dataset::Dataset;
use scr::format::filemap::{Filemap, Reddesc};
use scr::format::files::{FileMeta, RankFiles};
use scr::format::flush_file::{self, FlushFile};
use scr::format::halt::Halt;
use scr::format::identity::Identity;
use scr::format::index::Index;
use scr::format::nodes::Nodes;
use scr::format::parity::{Group, ParityHeader};
use scr::format::print::{Style, print};
use scr::format::rank2file::{
    self, Attributes, Branch, BranchChild, FileEntry, Leaf, Rank2File, RankEntry, TreeFile,
};
use scr::format::summary::Summary;
use scr::format::transfer::{PartId, Transfer, TransferFile, TransferPart};
use scr::format::{Name, Tree, decode, encode, from_message, from_tree, to_message, to_tree};
use scr::prefix::containers::{Numbering, segments};
use scr_jobs::datasets::listing;
use scr_jobs::transfers::part_check;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    ["basic", "failed", "output"]
        .iter()
        .map(|name| root.join(name))
        .collect()
}

fn tree_of(path: &Path) -> Tree {
    let bytes = fs::read(path).unwrap();
    let (tree, end) = decode(&bytes).unwrap();
    assert_eq!(end, bytes.len() as u64, "{}", path.display());
    tree
}

/// The tree that a text dump shows. `KEY = value` and a line for each are the same tree.
fn parse(dump: &[&str]) -> Tree {
    fn below(lines: &mut std::iter::Peekable<std::slice::Iter<&str>>, indent: usize) -> Tree {
        let mut elements = Vec::new();
        while let Some(line) = lines.next_if(|l| l.len() - l.trim_start().len() >= indent) {
            match line.trim_start().split_once(" = ") {
                Some((key, value)) => elements.push((key.into(), Tree::of_value(value))),
                None => elements.push((line.trim_start().into(), below(lines, indent + 2))),
            }
        }
        Tree::of_elements(elements)
    }
    below(&mut dump.iter().peekable(), 2)
}

/// Blocks between ``` lines, each with the last non-empty line before it.
fn blocks(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    let mut title = "";
    while let Some(line) = lines.next() {
        if line == "```" {
            found.push((title, lines.by_ref().take_while(|&l| l != "```").collect()));
        } else if !line.is_empty() {
            title = line;
        }
    }
    found
}

#[test]
fn fixtures_print_as_expected() {
    let mut count = 0;
    for fixture in fixtures() {
        let text = fs::read_to_string(fixture.join("expected.md")).unwrap();
        for (title, dump) in blocks(&text) {
            let Some(name) = title.strip_prefix("### ") else {
                continue;
            };
            let tree = tree_of(&fixture.join(name));
            let sorted = print(&parse(&dump), Style::KeyVal);
            assert_eq!(
                print(&tree, Style::KeyVal),
                sorted,
                "{}/{name}",
                fixture.display()
            );
            // The dump says the same whatever the order: compare the lines as they stand too.
            let mut expected = dump.clone();
            expected.sort_unstable();
            let mut found: Vec<&str> = sorted.lines().collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{}/{name}", fixture.display());
            count += 1;
        }
    }
    assert!(count > 40, "only {count} dumps were found");
}

/// Reads `tree` as `T` and checks that writing it again loses nothing.
fn lossless<T: Serialize + DeserializeOwned + PartialEq + Debug>(tree: &Tree) -> T {
    let record: T = from_tree(tree).unwrap();
    assert_eq!(
        print(&to_tree(&record).unwrap(), Style::Tree),
        print(tree, Style::Tree)
    );
    assert_eq!(
        from_message::<T>(&to_message(&record).unwrap()).unwrap(),
        record
    );
    record
}

#[test]
fn fixtures_are_records() {
    let mut leaves = 0;
    for fixture in fixtures() {
        let scr = fixture.join(".scr");
        lossless::<Index>(&tree_of(&scr.join("index.scr")));
        lossless::<FlushFile>(&tree_of(&scr.join("flush.scr")));
        let halt: Halt = lossless(&tree_of(&scr.join("halt.scr")));
        assert_eq!(halt.exit_reason, Some("SCR_FINALIZE_CALLED".into()));
        assert_eq!(
            lossless::<Nodes>(&tree_of(&scr.join("nodes.scr"))),
            Nodes { nodes: 4 }
        );
        for entry in fs::read_dir(&scr).unwrap().map(|e| e.unwrap().path()) {
            if !entry.is_dir() {
                continue;
            }
            let summary: Summary = lossless(&tree_of(&entry.join("summary.scr")));
            assert_eq!(summary, Summary::of(summary.dataset.clone()));
            let top = tree_of(&entry.join(rank2file::BASE));
            let Ok(Rank2File::Branch(branch)) = Rank2File::from_tree(&top) else {
                panic!()
            };
            assert_eq!(lossless::<Branch>(&top), branch);
            let mut files = 0;
            for child in branch.children.values() {
                let TreeFile { name, level, .. } = child.file(branch.level).unwrap();
                assert_eq!(level, 0);
                let tree = tree_of(&entry.join(name));
                let Ok(Rank2File::Leaf(leaf)) = Rank2File::from_tree(&tree) else {
                    panic!()
                };
                assert_eq!(leaf.ranks, branch.ranks);
                for file in leaf.entries.values().flat_map(|e| e.files.keys()) {
                    assert!(file.below(&fixture).is_ok());
                    files += 1;
                }
                leaves += 1;
            }
            assert_eq!(Some(files), summary.dataset.files);
        }
    }
    assert!(leaves > 10);
}

fn index(name: &str) -> Index {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    Index::from_tree(&tree_of(&root.join(name).join(".scr/index.scr"))).unwrap()
}

#[test]
fn fixtures_list_as_expected() {
    let mut tables = 0;
    for fixture in fixtures() {
        let text = fs::read_to_string(fixture.join("expected.md")).unwrap();
        let index = Index::from_tree(&tree_of(&fixture.join(".scr/index.scr"))).unwrap();
        for (_, lines) in blocks(&text) {
            if lines
                .first()
                .is_some_and(|line| line.starts_with("DSET VALID"))
            {
                assert_eq!(
                    listing::table(&listing::rows(&index)),
                    lines.join("\n") + "\n"
                );
                tables += 1;
            }
        }
    }
    assert!(tables >= 2);
}

#[test]
fn fixtures_are_offered_in_the_documented_order() {
    let mut failed = index("failed");
    assert_eq!(
        failed.candidates(),
        [2, 1],
        "if the fetch of the current one fails"
    );
    failed.mark_failed(2, "2026-11-21T01:00:00");
    assert_eq!(failed.candidates(), [4, 1], "after the program rejected it");
    failed.mark_failed(4, "2026-11-21T01:00:01");
    assert_eq!(failed.candidates(), [1]);
    failed.mark_failed(1, "2026-11-21T01:00:02");
    assert_eq!(failed.candidates(), [] as [u64; 0]);
    assert_eq!(index("output").candidates(), [5, 3, 1]);
    assert_eq!((failed.max_dataset(), failed.max_checkpoint()), (6, 6));
    assert_eq!(
        (
            index("output").max_dataset(),
            index("output").max_checkpoint()
        ),
        (5, 3)
    );
}

fn dataset() -> Dataset {
    Dataset {
        id: 6,
        name: "ck.6".into(),
        flag_ckpt: true,
        created: 1312850690668536,
        user: "user1".into(),
        jobname: Some("simulation123".into()),
        jobid: "112573".into(),
        ckpt: Some(6),
        files: Some(4),
        size: Some(2097182),
        complete: Some(true),
        ..Dataset::default()
    }
}

const DATASET: &str = "  CKPT = 6
  COMPLETE = 1
  CREATED = 1312850690668536
  FILES = 4
  FLAG_CKPT = 1
  FLAG_OUTPUT = 0
  ID = 6
  JOBID = 112573
  JOBNAME = simulation123
  NAME = ck.6
  SIZE = 2097182
  USER = user1
";

fn rank_files(rank: usize) -> RankFiles {
    let file = |name: &str, crc| FileMeta {
        file: format!("ck.6/{name}_{rank}").into(),
        orig: format!("../ck.6/{name}_{rank}").into(),
        size: 524294,
        crc,
        complete: true,
        mode: 0o100644,
        uid: 1000,
        gid: 100,
        atime: (1, 2),
        ctime: (3, 4),
        mtime: (-5, 6),
    };
    // Not in the order of names: the order in which files are joined must be kept.
    RankFiles {
        rank,
        files: vec![file("b", Some(0x28eeb9e)), file("a", None)],
    }
}

fn rank_files_text(rank: usize) -> String {
    let file = |index: usize, name: &str, crc: &str| {
        format!(
            "    {index}
      ATIME_NSECS = 2
      ATIME_SECS = 1
      COMPLETE = 1
{crc}      CTIME_NSECS = 4
      CTIME_SECS = 3
      FILE = ck.6/{name}_{rank}
      GID = 100
      MODE = 33188
      MTIME_NSECS = 6
      MTIME_SECS = -5
      NAME = {name}_{rank}
      ORIG = ../ck.6/{name}_{rank}
      SIZE = 524294
      TYPE = FULL
      UID = 1000
"
        )
    };
    let files = file(0, "b", "      CRC = 0x028eeb9e\n") + &file(1, "a", "");
    format!("  FILE\n{files}  FILES = 2\n  RANK = {rank}\n")
}

fn reddesc() -> Reddesc {
    Reddesc {
        scheme: scr::format::Scheme::Xor.into(),
        group: "NODE".into(),
        set_id: 0,
        set_rank: 1,
        members: vec![3, 0, 12],
        set_size: 8,
        set_failures: 1,
        interval: 1,
        store: "/dev/shm".into(),
    }
}

const REDDESC: &str = "  GROUP = NODE
  INTERVAL = 1
  MEMBERS
    0 = 3
    1 = 0
    2 = 12
  SET_FAILURES = 1
  SET_ID = 0
  SET_RANK = 1
  SET_SIZE = 8
  STORE = /dev/shm
  TYPE = XOR
";

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// The record prints as `text`, its file has these bytes (by size and checksum), and it comes
/// back from both.
fn golden<T>(record: &T, text: &str, size: usize, crc: u32)
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let tree = to_tree(record).unwrap();
    assert_eq!(print(&tree, Style::KeyVal), text);
    let bytes = encode(&tree);
    let stored = u32::from_be_bytes(*bytes.last_chunk().unwrap());
    assert_eq!(
        (bytes.len(), format!("{stored:#x}")),
        (size, format!("{crc:#x}"))
    );
    assert_eq!(
        from_tree::<T>(&decode(&bytes).unwrap().0).as_ref(),
        Ok(record)
    );
    assert_eq!(
        from_message::<T>(&to_message(record).unwrap()).as_ref(),
        Ok(record)
    );
}

#[test]
fn dataset_is_golden() {
    golden(&dataset(), DATASET, 275, 0x8f3a3d5f);
}

#[test]
fn summary_is_golden() {
    let text = format!("  COMPLETE = 1\n  DSET\n{}  VERSION = 6\n", indent(DATASET));
    golden(&Summary::of(dataset()), &text, 321, 0x9d470891);
}

#[test]
fn index_is_golden() {
    let mut index = Index::default();
    index.set_complete(dataset(), "2026-11-21T00:42:07");
    index.mark_fetched(6, "2026-11-21T00:50:00");
    index.mark_fetched(6, "2026-11-21T00:51:00");
    index.mark_failed(6, "2026-11-21T00:52:00");
    assert!(index.set_current(&"ck.6".into()));
    let text = format!(
        "  CURRENT = ck.6
  DSET
    6
      COMPLETE = 1
      DSET
{}      FAILED = 2026-11-21T00:52:00
      FETCHED
        2026-11-21T00:50:00
        2026-11-21T00:51:00
      FLUSHED = 2026-11-21T00:42:07
  NAME
    ck.6
      DSET = 6
  VERSION = 2
",
        indent(&indent(&indent(DATASET)))
    );
    golden(&index, &text, 521, 0x35e5fe92);
}

#[test]
fn flush_file_is_golden() {
    let mut entry = flush_file::FlushEntry::cached(dataset());
    entry.locations.insert(flush_file::PFS.into());
    let text = format!(
        "  DATASET
    6
      CKPT = 1
      DSETDESC
{}      LOCATION
        CACHE
        PFS
      NAME = ck.6
",
        indent(&indent(&indent(DATASET)))
    );
    golden(
        &FlushFile {
            datasets: [(6, entry)].into(),
        },
        &text,
        370,
        0x36bcba22,
    );
}

#[test]
fn halt_and_nodes_are_golden() {
    let halt = Halt {
        exit_reason: Some("SCR_FINALIZE_CALLED".into()),
        checkpoints_left: Some(-1),
        exit_after: Some(1795221700),
        exit_before: Some(1795231700),
        halt_seconds: Some(300),
    };
    let text = "  CheckpointsLeft = -1
  ExitAfter = 1795221700
  ExitBefore = 1795231700
  ExitReason = SCR_FINALIZE_CALLED
  HaltSeconds = 300
";
    golden(&halt, text, 177, 0x16f9f23b);
    golden(&Halt::default(), "", 28, 0x02149a0e);
    golden(&Nodes { nodes: 1 }, "  NODES = 1\n", 44, 0x9b82be72);
    let identity = Identity {
        id: "5f0c3a9be27d4418".into(),
        inode: 1_234_567,
        path: "/p/run1".into(),
    };
    let text = "  ID = 5f0c3a9be27d4418\n  INODE = 1234567\n  PATH = /p/run1\n";
    golden(&identity, text, 99, 0x250317e8);
}

#[test]
fn transfer_file_is_golden() {
    let mut transfer = Transfer {
        files: [(
            "/c/rank_2/f".into(),
            TransferFile {
                destination: "/p/run1/f".into(),
                size: 7,
                written: 3,
            },
        )]
        .into(),
        bw: 52428800.0,
        command: Some("RUN".into()),
        state: Some("RUNNING".into()),
        ..Transfer::default()
    };
    let part = TransferPart {
        dataset: dataset(),
        prefix: "/p/run1".into(),
        base: "/dev/shm".into(),
        run: "6fd1be5a0a6f42c7".into(),
        level: Some(1),
        host: "node3".into(),
        rank: vec![2, 3],
        parts: 4,
        ranks: 8,
        metadata: true,
        buffer: 4096,
        cores: vec![5],
        state: Some("RUNNING".into()),
        ..TransferPart::default()
    };
    let at = PartId {
        dataset: 6,
        part: 1,
    };
    transfer.insert(at, part);
    let part = transfer.part(at).unwrap();
    assert_eq!(part_check::check(part, at), Ok(()));
    let dset = DATASET.lines().map(|line| format!("          {line}\n"));
    let dset: String = dset.collect();
    let text = format!(
        "  BW = 52428800.000000
  COMMAND = RUN
  DATASET
    6
      PART
        1
          BASE = /dev/shm
          BUFFER = 4096
          CHECKSUMS = 0
          CORES
            0 = 5
          DSETDESC
{dset}          HOST = node3
          LEVEL = 1
          METADATA = 1
          PARTS = 4
          PREFIX = /p/run1
          RANK
            0 = 2
            1 = 3
          RANKS = 8
          RUN = 6fd1be5a0a6f42c7
          STATE = RUNNING
  FILES
    /c/rank_2/f
      DESTINATION = /p/run1/f
      SIZE = 7
      WRITTEN = 3
  PERCENT = 0.000000
  STATE = RUNNING
"
    );
    golden(&transfer, &text, 781, 0xfdec576e);
    let odd = Transfer {
        bw: f64::NAN,
        percent: -1.0,
        ..Transfer::default()
    };
    let back: Transfer = from_tree(&to_tree(&odd).unwrap()).unwrap();
    assert_eq!((back.bw, back.percent), (0.0, 0.0));
}

#[test]
fn rank2file_is_golden() {
    let branch = Branch {
        level: 1,
        ranks: 4,
        children: [(0, BranchChild::new(0, 0))].into(),
    };
    let text = "  LEVEL = 1
  RANK
    0
      FILE = .0.0
      OFFSET = 0
  RANKS = 4
";
    golden(&branch, text, 110, 0x105dc85c);

    let file = FileEntry {
        size: Some(524294),
        crc: Some(0x28eeb9e),
        ..FileEntry::default()
    };
    let files = BTreeMap::from([(Name::from("ck.1/rank_0.dat"), file)]);
    let files = RankEntry { count: None, files };
    let bare = BTreeMap::from([(Name::from("größe"), FileEntry::default())]);
    let bare = RankEntry {
        count: Some(1),
        files: bare,
    };
    let entries = BTreeMap::from([(0, files), (1, bare), (2, RankEntry::default())]);
    let text = "  LEVEL = 0
  RANK
    0
      FILE
        ck.1/rank_0.dat
          CRC = 0x028eeb9e
          SIZE = 524294
    1
      FILE = größe
      FILES = 1
    2
  RANKS = 4
";
    golden(&Leaf::new(4, entries), text, 196, 0x37ca5d4c);
}

/// The example of the SCR developer guide, with containers of 300000 bytes.
#[test]
fn files_in_containers_are_golden() {
    let file = FileEntry {
        size: Some(524296),
        crc: Some(0x28eeb9e),
        attributes: Some(Attributes {
            mode: 0o600,
            mtime_secs: 1795221727,
            mtime_nsecs: 5,
        }),
        segments: Some(segments(524295, 524296, 300000, Numbering::ALL)),
    };
    let empty = FileEntry {
        size: Some(0),
        segments: Some(Vec::new()),
        ..FileEntry::default()
    };
    let files = [("rank_2.ckpt", file), ("empty", empty)];
    let files = files.map(|(name, file)| (Name::from(name), file)).into();
    let files = RankEntry { count: None, files };
    let text = "  LEVEL = 0
  RANK
    2
      FILE
        empty
          SEG
          SIZE = 0
        rank_2.ckpt
          ATTR
            MODE = 384
            MTIME_NSECS = 5
            MTIME_SECS = 1795221727
          CRC = 0x028eeb9e
          SEG
            0
              FILE = ctr.1.scr
              LENGTH = 75705
              OFFSET = 224295
            1
              FILE = ctr.2.scr
              LENGTH = 300000
              OFFSET = 0
            2
              FILE = ctr.3.scr
              LENGTH = 148591
              OFFSET = 0
          SIZE = 524296
  RANKS = 4
";
    let leaf = Leaf::new(4, [(2, files)].into());
    golden(&leaf, text, 470, 0xab90895f);
}

#[test]
fn cache_records_are_golden() {
    golden(&rank_files(3), &rank_files_text(3), 709, 0x3c143d86);
    golden(&reddesc(), REDDESC, 233, 0xd91214fd);
    let filemap = Filemap {
        rank: 3,
        ranks: 4,
        node: "node3".into(),
        prefix: None,
        prefix_id: None,
        bypass: false,
        contained: None,
        dataset: dataset(),
        reddesc: reddesc(),
        files: rank_files(3),
    };
    let text = format!(
        "  BYPASS = 0\n  CURRENT\n{}  DSET\n{}  NODE = node3\n  RANK = 3\n  RANKS = 4\n  REDDESC\n{}",
        indent(&rank_files_text(3)),
        indent(DATASET),
        indent(REDDESC)
    );
    golden(&filemap, &text, 1261, 0x894259f9);
}

#[test]
fn header_of_parity_is_golden_and_of_one_size() {
    let mut header = ParityHeader {
        dataset: dataset(),
        ranks: 4,
        group: Group(vec![3, 0, 12]),
        chunk: 174766,
        crc: Some(0x28eeb9e),
        reddesc: reddesc(),
        current: rank_files(0),
        partner: RankFiles {
            rank: 3,
            files: Vec::new(),
        },
        further: Vec::new(),
    };
    let text = format!(
        "  CHUNK = 174766\n  CRC = 0x028eeb9e\n  CURRENT\n{}  DSET\n{}  GROUP
    RANK
      0 = 3
      1 = 0
      2 = 12
    RANKS = 3
  PARTNER
    FILE
    FILES = 0
    RANK = 3
  RANKS = 4
  REDDESC\n{}",
        indent(&rank_files_text(0)),
        indent(DATASET),
        indent(REDDESC)
    );
    golden(&header, &text, 1378, 0x752193b4);
    let size = encode(&to_tree(&header).unwrap()).len();
    for crc in [0, 1, u32::MAX] {
        header.crc = Some(crc);
        assert_eq!(encode(&to_tree(&header).unwrap()).len(), size);
    }
    let left = header.reddesc.of_member(0).unwrap();
    assert_eq!((left.set_rank, left.members), (0, vec![3, 0, 12]));
    assert_eq!(header.reddesc.of_member(3), None);
}
