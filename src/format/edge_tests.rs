//! The form of records at the edges that their own examples leave out.

use super::file::{self, MAX_SIZE};
use super::filemap::filemap_name;
use super::flush_file::{self, CACHE, PFS};
use super::index::Index;
use super::nodes::Nodes;
use super::parity::{Group, ParityHeader};
use super::rank2file::{Branch, BranchChild, Leaf, Rank2File, packed_size};
use super::{Dataset, FileMeta, Name, RankFiles, Reddesc, Tree};
use super::{decode, encode, from_tree, to_message, to_tree};
use crate::Error;
use crate::format::Scheme;
use crate::store::Durability;
use crate::store::posix::Posix;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[test]
fn a_flag_or_a_number_makes_a_checkpoint() {
    for (flag_ckpt, ckpt, is) in [
        (false, None, false),
        (true, None, true),
        (false, Some(3), true),
        (true, Some(3), true),
    ] {
        let dataset = Dataset {
            flag_ckpt,
            ckpt,
            ..Dataset::default()
        };
        assert_eq!(dataset.is_checkpoint(), is);
    }
}

#[test]
fn a_dataset_needs_a_flush_until_the_prefix_directory_has_it() {
    let mut entry = flush_file::FlushEntry::cached(Dataset::default());
    assert!(entry.is_at(CACHE) && !entry.is_at(PFS) && entry.needs_flush());
    entry.locations.insert(PFS.into());
    assert!(entry.is_at(PFS) && !entry.needs_flush());
}

#[test]
fn the_name_of_a_cached_dataset_is_its_own_or_that_of_its_description() {
    let described = flush_file::FlushEntry::cached(checkpoint(3, "ck.3"));
    let named = |name: Option<&str>, entry: &flush_file::FlushEntry| flush_file::FlushEntry {
        name: name.map(Name::from),
        ..entry.clone()
    };
    let bare = flush_file::FlushEntry::default();
    assert_eq!(named(Some("a"), &described).own_name(), Some(&"a".into()));
    assert_eq!(named(None, &described).own_name(), Some(&"ck.3".into()));
    assert_eq!(named(Some("a"), &bare).own_name(), Some(&"a".into()));
    assert_eq!(bare.own_name(), None);
}

fn checkpoint(id: u64, name: &str) -> Dataset {
    Dataset {
        id,
        name: name.into(),
        flag_ckpt: true,
        ..Dataset::default()
    }
}

/// Complete checkpoints with the ids 1, 2, ... and these names.
fn index_of(names: &[&str]) -> Index {
    let mut index = Index::default();
    for (id, name) in (1..).zip(names) {
        index.set_complete(checkpoint(id, name), "t");
    }
    index
}

#[test]
fn a_new_dataset_takes_its_name_and_its_id_and_nothing_else() {
    let mut index = index_of(&["a", "b", "c"]);
    index.add(checkpoint(2, "c"));
    assert_eq!(index.id(&"a".into()), Some(1));
    assert_eq!(index.id(&"c".into()), Some(2));
    assert_eq!(index.id(&"b".into()), None);
    assert_eq!(index.left_over(&"b".into()), None);
    assert_eq!(index.datasets().keys().collect::<Vec<_>>(), [&1, &2]);
    // Nor is a name left that only the list of names has.
    let mut names = to_tree(&index).unwrap().remove("NAME").unwrap();
    assert!(names.remove("a").is_some() && names.remove("c").is_some());
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn an_id_without_a_description_has_the_name_that_leads_to_it() {
    let mut tree = to_tree(&index_of(&["a", "b", "c"])).unwrap();
    let mut datasets = tree.remove("DSET").unwrap();
    let mut entry = datasets.remove("2").unwrap();
    assert!(entry.remove("DSET").is_some());
    datasets.set("2", entry);
    tree.set("DSET", datasets);
    let index = Index::from_tree(&tree).unwrap();
    assert_eq!(index.get(2).unwrap().dataset, None);
    assert_eq!(index.name(2), Some(&"b".into()));
    assert_eq!(index.name(4), None);
}

#[test]
fn what_is_not_current_goes_without_the_mark() {
    // `old` leads to 2, whose own name is `b`.
    let mut tree = to_tree(&index_of(&["a", "b", "c"])).unwrap();
    let mut names = tree.remove("NAME").unwrap();
    let id = Tree::of_elements(vec![("DSET".into(), Tree::of_value("2"))]);
    names.set("old", id);
    tree.set("NAME", names);
    for (current, left) in [("c", "c"), ("b", "b"), ("old", "b")] {
        tree.set_value("CURRENT", current);
        let mut index = Index::from_tree(&tree).unwrap();
        assert_eq!(index.left_over(&"old".into()), Some(2));
        assert_eq!(index.remove(&"old".into()), Some(2));
        assert_eq!(index.current(), Some(&left.into()));
        assert_eq!(index.left_over(&"old".into()), None);
        assert!(index.get(2).is_some());
    }

    let mut index = index_of(&["a", "b", "c"]);
    index.remove_id(2);
    assert_eq!(
        (index.id(&"a".into()), index.id(&"c".into())),
        (Some(1), Some(3))
    );
    let mut names = to_tree(&index).unwrap().remove("NAME").unwrap();
    assert!(names.remove("b").is_none() && names.remove("c").is_some());
}

fn descriptor() -> Reddesc {
    Reddesc {
        scheme: Scheme::Xor.into(),
        group: "NODE".into(),
        set_id: 2,
        set_rank: 0,
        members: vec![2, 5],
        set_size: 8,
        set_failures: 1,
        interval: 1,
        store: "/dev/shm".into(),
    }
}

#[test]
fn a_descriptor_is_known_for_each_member_and_no_other() {
    let first = descriptor();
    let second = first.of_member(1).unwrap();
    assert_eq!(second.set_rank, 1);
    assert_eq!(second.of_member(0), Some(first.clone()));
    assert_eq!(first.of_member(2), None);
    assert_eq!(filemap_name(17), "filemap_17");
}

#[test]
fn the_nearest_left_neighbour_comes_first() {
    let list = |rank| RankFiles {
        rank,
        files: Vec::new(),
    };
    let header = ParityHeader {
        chunk: 1,
        crc: None,
        current: list(3),
        dataset: Dataset::default(),
        further: vec![list(1), list(0)],
        group: Group(vec![0, 1, 2, 3]),
        partner: list(2),
        ranks: 4,
        reddesc: descriptor(),
    };
    let ranks: Vec<usize> = header.partners().map(|list| list.rank).collect();
    assert_eq!(ranks, [2, 1, 0]);
}

#[test]
fn a_list_of_files_knows_its_size_and_its_files() {
    let meta = |name: &str, size| FileMeta {
        file: name.into(),
        orig: name.into(),
        size,
        crc: None,
        complete: true,
        mode: 0o100_640,
        uid: 1000,
        gid: 1000,
        atime: (1, 2),
        ctime: (3, 4),
        mtime: (5, 6),
    };
    let list = |files: Vec<FileMeta>| RankFiles { rank: 3, files };
    let two = list(vec![meta("a", 7), meta("b", 35)]);
    assert_eq!((two.size(), list(vec![]).size()), (Some(42), Some(0)));
    assert_eq!(list(vec![meta("a", u64::MAX), meta("b", 1)]).size(), None);
    assert_eq!(two.find(Path::new("b")), Some(&two.files[1]));
    assert_eq!(two.find(Path::new("c")), None);

    let mut tree = to_tree(&two).unwrap();
    assert_eq!(from_tree(&tree), Ok(two));
    tree.set_value("FILES", "3");
    let text = from_tree::<RankFiles>(&tree).unwrap_err().to_string();
    assert!(
        text.contains("FILES is 3, but 2 files are listed"),
        "{text}"
    );
}

#[test]
fn what_is_written_is_read_again_and_what_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file.scr");
    let text = file::read_tree(&Posix, &path).unwrap_err().to_string();
    assert!(text.contains("file.scr"), "{text}");

    let nodes = Nodes { nodes: 4 };
    file::write(&Posix, &path, &nodes, Durability::Atomic).unwrap();
    assert_eq!(file::read_tree(&Posix, &path), to_tree(&nodes));
    assert_eq!(file::read(&Posix, &path), Ok(nodes));
    let text = Index::read(&Posix, &path).unwrap_err().to_string();
    assert!(
        text.contains("file.scr: the index has no version"),
        "{text}"
    );
    let text = Rank2File::read(&Posix, &path).unwrap_err().to_string();
    assert!(text.contains("file.scr: there is no LEVEL"), "{text}");

    let mut index = Index::default();
    index.set_complete(
        Dataset {
            id: 3,
            name: "ck".into(),
            ..Dataset::default()
        },
        "t",
    );
    index.write(&Posix, &path).unwrap();
    assert_eq!(Index::read(&Posix, &path), Ok(index));

    let leaf = Leaf::new(4, BTreeMap::new());
    file::write(&Posix, &path, &leaf, Durability::Atomic).unwrap();
    assert_eq!(Rank2File::read(&Posix, &path), Ok(Rank2File::Leaf(leaf)));
    let branch = Branch {
        level: 1,
        ranks: 4,
        children: BTreeMap::from([(0, BranchChild::new(0, 0))]),
    };
    file::write(&Posix, &path, &branch, Durability::Atomic).unwrap();
    assert_eq!(
        Rank2File::read(&Posix, &path),
        Ok(Rank2File::Branch(branch))
    );
}

/// Offset and words of a refusal.
fn refused(bytes: &[u8]) -> (u64, String) {
    match decode(bytes) {
        Err(Error::Format { offset, what, .. }) => (offset, what),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_header_may_say_the_least_and_the_most_and_nothing_beyond() {
    let with_size = |size: u64, checked: u8| {
        let mut bytes = encode(&Tree::new());
        bytes[8..16].copy_from_slice(&size.to_be_bytes());
        bytes[19] = checked;
        bytes
    };
    assert_eq!(decode(&with_size(28, 1)), Ok((Tree::new(), 28)));
    assert_eq!(decode(&with_size(24, 0)), Ok((Tree::new(), 24)));
    for (size, checked, least) in [(27, 1, 28), (23, 0, 24)] {
        let what = format!("the header says {size} bytes, the least is {least}");
        assert_eq!(refused(&with_size(size, checked)), (8, what));
    }
    let (_, what) = refused(&with_size(MAX_SIZE, 1));
    assert!(what.ends_with("the file has 28"), "{what}");
    let (_, what) = refused(&with_size(MAX_SIZE + 1, 1));
    assert!(what.ends_with("more than 1073741824"), "{what}");
    // Other flags mean nothing.
    assert_eq!(decode(&with_size(24, 0b110)), Ok((Tree::new(), 24)));
}

#[test]
fn what_is_wrong_in_a_file_is_found_where_it_lies() {
    // After the tree, which is empty and ends at 24, there are 3 bytes.
    let mut bytes = encode(&Tree::new());
    bytes[8..16].copy_from_slice(&27u64.to_be_bytes());
    bytes[19] = 0;
    let what = "3 bytes are left over after the tree".to_string();
    assert_eq!(refused(&bytes), (24, what));
    // A name without an end, in a tree that begins at 20.
    let mut bytes = encode(&Tree::of_value("abc"));
    let end = bytes.len() as u64 - 4;
    bytes[8..16].copy_from_slice(&end.to_be_bytes());
    bytes[19] = 0;
    bytes[27..].fill(b'x');
    assert_eq!(refused(&bytes), (24, "a name has no end".to_string()));
}

#[test]
fn an_entry_is_as_large_as_its_message() {
    let child = BranchChild::new(1, 200);
    let size = to_message(&child).unwrap().len() as u64;
    assert_eq!(packed_size(&child), Ok(size));
}

/// A value for a reader that does not know what to expect.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Any {
    Text(String),
    Map(BTreeMap<String, Any>),
}

#[test]
fn one_element_without_a_tree_is_a_value_and_anything_else_a_map() {
    let text = |text: &str| Any::Text(text.to_string());
    let map = |elements: Vec<(&str, Any)>| {
        let elements = elements
            .into_iter()
            .map(|(key, any)| (key.to_string(), any));
        Any::Map(elements.collect())
    };
    let empty = || map(vec![]);
    let two = Tree::of_elements(vec![("a".into(), Tree::new()), ("b".into(), Tree::new())]);
    let below = Tree::of_elements(vec![("a".into(), Tree::of_value("7"))]);
    for (tree, expected) in [
        (Tree::new(), empty()),
        (Tree::of_value("x"), text("x")),
        (two, map(vec![("a", empty()), ("b", empty())])),
        (below, map(vec![("a", text("7"))])),
    ] {
        assert_eq!(from_tree(&tree), Ok(expected));
    }
}

#[test]
fn nothing_with_a_nul_and_no_key_but_one_value_is_written() {
    let said = |result: crate::Result<Tree>| result.unwrap_err().to_string();
    assert!(said(to_tree("a\0b")).contains("holds a NUL"));
    assert!(said(to_tree(&'\0')).contains("holds a NUL"));
    assert!(said(to_tree(&BTreeMap::from([("a\0b", 1)]))).contains("holds a NUL"));
    assert!(said(to_tree(&BTreeMap::from([(None::<u8>, 1)]))).contains("one value"));
    assert!(said(to_tree(&BTreeMap::from([((), 1)]))).contains("one value"));
    assert!(said(to_tree(&BTreeMap::from([((1, 2), 1)]))).contains("one value"));
    // An empty text is a value, and a key.
    let tree = to_tree(&BTreeMap::from([("", "")])).unwrap();
    assert_eq!(tree.value(""), Some(&Name::from("")));
}

#[test]
fn names_are_what_they_are_made_of() {
    let name = Name::from(Path::new("a/b"));
    assert_eq!(
        (name.as_bytes(), name.as_path()),
        (&b"a/b"[..], Path::new("a/b"))
    );
    assert_eq!(PathBuf::from(name.clone()), Path::new("a/b"));
    assert_eq!(Name::from("7".to_string()).number(), Some(7));
    assert_eq!(Name::from(&name), name);
    assert_eq!(Name::from(std::ffi::OsStr::new("x")).as_str(), Some("x"));
    assert!(Name::from("").is_empty() && !name.is_empty());
    assert_eq!(format!("{name:?} {name:>5}"), "\"a/b\"   a/b");
    assert_eq!(format!("{:?}", Tree::of_value("v")), "{\"v\": {}}");
    assert!(Tree::new().is_empty() && !Tree::of_value("v").is_empty());
}
