//! Indexes in which SCR v3.1.0 left two names at one id: a program restarts from an older
//! checkpoint, and its next one takes the id, but not the name, of one that was there.

use crate::sandbox::Sandbox;
use scr::format::{Tree, encode, read_tree};
use scr::store::posix::Posix;

/// The fixture `basic`, whose dataset 2 is timestep.2, after `other` had that id before.
fn left(other: &str, current: &str) -> Sandbox {
    let sandbox = Sandbox::of("basic");
    let path = sandbox.path().join(".scr/index.scr");
    let mut tree = read_tree(&Posix, &path).unwrap();
    let mut names = tree.remove("NAME").unwrap();
    let mut id = Tree::new();
    id.set_value("DSET", "2");
    names.set(other, id);
    tree.set("NAME", names);
    let mut datasets = tree.remove("DSET").unwrap();
    datasets.remove("1");
    tree.set("DSET", datasets);
    tree.set_value("CURRENT", current);
    std::fs::write(path, encode(&tree)).unwrap();
    sandbox
}

/// Names that are listed before and after the dataset's own.
const OTHERS: [&str; 2] = ["timestep.1", "zz"];

fn row(sandbox: &Sandbox) -> String {
    let list = sandbox.run(&["index"]).out();
    list.lines()
        .find(|line| line.starts_with("   2 "))
        .unwrap()
        .to_string()
}

#[test]
fn a_dataset_is_listed_by_its_own_name_with_the_mark() {
    for other in OTHERS {
        // A mark at the name that is left over leads to the same dataset.
        for current in ["timestep.2", other] {
            let sandbox = left(other, current);
            let row = row(&sandbox);
            assert!(row.ends_with("  * timestep.2"), "{other}, {current}: {row}");
            std::fs::remove_file(sandbox.path().join(".scr/flush.scr")).unwrap();
            let next = sandbox.run(&["have-restart"]).out();
            assert_eq!(next, "timestep.2\n", "{other}, {current}");
        }
        let sandbox = left(other, "timestep.3");
        assert!(row(&sandbox).ends_with("    timestep.2"));
    }
}

#[test]
fn dropping_the_left_over_name_keeps_the_dataset() {
    for other in OTHERS {
        for current in ["timestep.2", other] {
            let sandbox = left(other, current);
            sandbox.run(&["index", "--drop", other]).out();
            let row = row(&sandbox);
            assert!(row.ends_with("  * timestep.2"), "{other}, {current}: {row}");
            let print = sandbox.run(&["print", ".scr/index.scr"]).out();
            assert!(!print.contains(other), "{print}");
            sandbox.run(&["index", "--drop", other]).failed();
        }
    }
}

#[test]
fn dropping_the_dataset_drops_all_its_names() {
    for other in OTHERS {
        let sandbox = left(other, other);
        sandbox.run(&["index", "--drop=timestep.2"]).out();
        let print = sandbox.run(&["print", ".scr/index.scr"]).out();
        assert!(
            !print.contains(other) && !print.contains("timestep.2"),
            "{print}"
        );
        let sandbox = left(other, "timestep.3");
        sandbox.run(&["index", "--drop-after=timestep.2"]).out();
        assert!(row(&sandbox).ends_with("  * timestep.2"));
    }
}

#[test]
fn a_left_over_name_names_no_dataset() {
    for other in OTHERS {
        for option in ["--delete", "--current", "--drop-after"] {
            let sandbox = left(other, "timestep.3");
            let index = sandbox.path().join(".scr/index.scr");
            let before = std::fs::read(&index).unwrap();
            let error = sandbox.run(&["index", option, other]).failed();
            assert!(
                error.contains("left over") && error.contains("`timestep.2' now"),
                "{error}"
            );
            assert_eq!(std::fs::read(&index).unwrap(), before);
            assert!(
                sandbox
                    .path()
                    .join("timestep.2/rank_0/state_0.dat")
                    .exists()
            );
        }
    }
}

#[test]
fn adding_a_dataset_of_that_name_keeps_the_other() {
    let sandbox = left("timestep.1", "timestep.2");
    sandbox.run(&["index", "--add=timestep.1"]).out();
    let list = sandbox.run(&["index"]).out();
    assert!(
        list.contains("   1 YES ") && list.contains("    timestep.1\n"),
        "{list}"
    );
    assert!(row(&sandbox).ends_with("  * timestep.2"), "{list}");
    assert!(
        sandbox
            .path()
            .join(".scr/scr.dataset.2/summary.scr")
            .exists()
    );
}

#[test]
fn writing_a_dataset_of_that_name_keeps_the_other() {
    use scr::format::Dataset;
    use scr::prefix::{index, paths::Prefix};
    for other in OTHERS {
        let sandbox = left(other, "timestep.2");
        let prefix = Prefix::new(&sandbox.path().canonicalize().unwrap());
        let dataset = Dataset {
            id: 7,
            name: other.into(),
            flag_ckpt: true,
            ..Dataset::default()
        };
        index::enter(&Posix, &prefix, &dataset).unwrap();
        assert!(prefix.dataset(2).join("summary.scr").exists(), "{other}");
        assert!(row(&sandbox).ends_with("  * timestep.2"), "{other}");
        let list = sandbox.run(&["index"]).out();
        assert!(list.contains(&format!("    {other}\n")), "{list}");
    }
}
