//! Tests of the index: names, ids, marks, and the order in which a restart tries checkpoints.

use super::dataset::Dataset;
use super::index::*;
use super::{Name, Tree, from_tree, to_tree};

fn checkpoint(id: u64, name: &str) -> Dataset {
    let (flag_ckpt, ckpt) = (true, Some(id));
    Dataset {
        id,
        name: name.into(),
        flag_ckpt,
        ckpt,
        ..Dataset::default()
    }
}

fn output(id: u64, name: &str) -> Dataset {
    let flag_output = true;
    Dataset {
        id,
        name: name.into(),
        flag_output,
        ..Dataset::default()
    }
}

/// Checkpoints a=1, b=2, d=4, e=5 (e is not complete), and output c=3.
fn index() -> Index {
    let mut index = Index::default();
    index.set_complete(checkpoint(1, "a"), "t1");
    index.set_complete(checkpoint(2, "b"), "t2");
    index.set_complete(output(3, "c"), "t3");
    index.set_complete(checkpoint(4, "d"), "t4");
    index.add(checkpoint(5, "e"));
    index
}

fn current(index: &Index) -> Option<String> {
    index.current().map(Name::to_string)
}

#[test]
fn a_restart_tries_good_checkpoints_newest_first() {
    assert_eq!(index().candidates(), [4, 2, 1]);
    assert_eq!(Index::default().candidates(), [] as [u64; 0]);
}

#[test]
fn what_is_current_goes_first_and_limits_the_rest() {
    let mut index = index();
    assert!(index.set_current(&"b".into()));
    assert_eq!(index.candidates(), [2, 1]);
    assert!(index.set_current(&"e".into()), "though it is not complete");
    assert_eq!(index.candidates(), [5, 4, 2, 1]);
    index.mark_failed(5, "t6");
    index.mark_failed(4, "t6");
    assert_eq!((index.candidates(), current(&index)), (vec![2, 1], None));
    assert!(index.set_current(&"d".into()), "though it failed");
    assert_eq!(index.candidates(), [4, 2, 1]);
}

#[test]
fn an_older_one_knows_of_newer_ones_also_where_none_is_current() {
    let mut index = index();
    let newer = |index: &Index| [1, 2, 4, 5].map(|id| index.has_newer_checkpoint(id));
    assert_eq!(
        newer(&index),
        [true, true, false, false],
        "e is not complete"
    );
    index.set_current(&"b".into());
    assert_eq!(
        newer(&index),
        [true, false, false, false],
        "the user has chosen b"
    );
    let after = |index: &Index| [1, 2, 4, 5].map(|id| index.has_checkpoint_after(id));
    assert_eq!(
        after(&index),
        [true, true, false, false],
        "whatever is current"
    );
    index.mark_failed(2, "t6");
    index.mark_failed(4, "t6");
    assert_eq!((newer(&index), after(&index)), ([false; 4], [false; 4]));
}

#[test]
fn only_a_known_checkpoint_becomes_current() {
    let mut index = index();
    assert!(index.set_current(&"a".into()));
    assert!(!index.set_current(&"c".into()));
    assert!(!index.set_current(&"unknown".into()));
    assert_eq!(current(&index).as_deref(), Some("a"));
}

#[test]
fn a_current_name_that_is_unknown_counts_as_none() {
    let mut tree = crate::format::to_tree(&index()).unwrap();
    for name in ["unknown", "c"] {
        tree.set_value("CURRENT", name);
        assert_eq!(Index::from_tree(&tree).unwrap().candidates(), [4, 2, 1]);
    }
}

#[test]
fn removal_moves_current_to_an_older_good_one() {
    let mut index = index();
    index.set_current(&"d".into());
    assert_eq!(index.remove(&"d".into()), Some(4));
    assert_eq!(
        current(&index).as_deref(),
        Some("b"),
        "not c, which is no checkpoint"
    );
    index.mark_failed(1, "t7");
    index.set_current(&"b".into());
    assert_eq!(index.remove(&"e".into()), Some(5));
    assert_eq!(current(&index).as_deref(), Some("b"));
    assert_eq!(index.remove(&"b".into()), Some(2));
    assert_eq!(current(&index), None);
    assert_eq!(index.remove(&"b".into()), None);
}

/// A command that deletes a dataset knows it by its id.
#[test]
fn no_id_is_used_again_after_its_dataset_was_taken_out() {
    let mut index = index();
    assert_eq!(index.remove(&"e".into()), Some(5));
    assert_eq!(index.max_dataset(), 5);
    index.remove_id(1);
    let mut index = Index::from_tree(&to_tree(&index).unwrap()).unwrap();
    assert_eq!(index.max_dataset(), 5);
    index.remove_id(4);
    assert_eq!(index.max_dataset(), 5);
    index.add(checkpoint(6, "f"));
    // If the dataset with the highest id is in the index, the file is as SCR v3.1.0 writes it.
    assert!(to_tree(&index).unwrap().get("LAST").is_none());
    index.set_complete(checkpoint(3, "f"), "t8");
    assert_eq!(index.max_dataset(), 6);
    let mut tree = to_tree(&Index::default()).unwrap();
    tree.set_value("LAST", "4000000000");
    assert_eq!(Index::from_tree(&tree).unwrap().max_dataset(), 0);
}

#[test]
fn drop_after_keeps_the_named_one() {
    let mut index = index();
    index.set_current(&"e".into());
    assert_eq!(index.drop_after(&"unknown".into()), None);
    assert_eq!(index.drop_after(&"b".into()), Some(vec![5, 4, 3]));
    assert_eq!(current(&index).as_deref(), Some("b"));
    assert_eq!(index.datasets().keys().collect::<Vec<_>>(), [&1, &2]);
    assert_eq!(index.drop_after(&"b".into()), Some(vec![]));
}

#[test]
fn a_name_belongs_to_the_dataset_that_took_it_last() {
    let mut index = index();
    index.add(checkpoint(6, "a"));
    assert_eq!((index.id(&"a".into()), index.get(1)), (Some(6), None));
    index.add(checkpoint(6, "f"));
    assert_eq!(
        (index.id(&"a".into()), index.name(6)),
        (None, Some(&"f".into()))
    );
    assert_eq!((index.max_dataset(), index.max_checkpoint()), (6, 6));
}

#[test]
fn a_second_flush_and_a_success_forget_failures() {
    let mut index = index();
    index.mark_fetched(4, "t8");
    index.mark_fetched(4, "t9");
    index.mark_fetched(4, "t9");
    index.mark_failed(4, "t9");
    let entry = index.get(4).unwrap();
    assert_eq!((entry.fetched.len(), entry.is_good()), (2, false));
    index.mark_good(4);
    assert!(index.get(4).unwrap().is_good());
    assert_eq!(current(&index).as_deref(), Some("d"));
    index.mark_failed(4, "t10");
    index.set_complete(checkpoint(4, "d"), "t11");
    let entry = index.get(4).unwrap();
    assert!(entry.is_good() && entry.fetched.is_empty());
    let before = index.clone();
    index.mark_fetched(99, "t");
    index.mark_failed(99, "t");
    index.mark_good(99);
    assert_eq!(index, before, "an id that is not there is not made");
}

#[test]
fn stray_ids_are_passed_over() {
    let mut tree = crate::format::to_tree(&index()).unwrap();
    for stray in ["-1", "x", "", "2147483648"] {
        let mut entry = Tree::new();
        entry.add_value("FAILED", "t1").add_value("FAILED", "t2");
        let mut datasets = tree.remove("DSET").unwrap();
        datasets.set(stray, entry);
        tree.set("DSET", datasets);
        let mut names = tree.remove("NAME").unwrap();
        names.set(
            format!("stray{stray}"),
            Tree::of_elements(vec![("DSET".into(), Tree::of_value(stray))]),
        );
        tree.set("NAME", names);
    }
    assert_eq!(Index::from_tree(&tree), Ok(index()));
}

#[test]
fn of_several_failures_the_last_is_kept() {
    let text = |n: u64| Name::from(format!("2026-11-21T00:5{n}:00"));
    let mut entry = Tree::new();
    entry
        .add_value("FAILED", text(1))
        .add_value("FAILED", text(2));
    let entry: IndexEntry = from_tree(&entry).unwrap();
    assert_eq!(entry.failed, Some(text(2)));
}

#[test]
fn another_version_is_refused() {
    let mut tree = Tree::new();
    tree.set_value("VERSION", "1").set_value("DSET", "whatever");
    let text = Index::from_tree(&tree).unwrap_err().to_string();
    assert!(
        text.contains("version 1") && text.contains("left alone"),
        "{text}"
    );
    tree.remove("VERSION");
    assert!(Index::from_tree(&tree).is_err());
    assert_eq!(Index::from_tree(&Tree::new()), Ok(Index::default()));
}
