//! The next dataset uses the space of an evicted dataset's redundancy files.

use crate::checkpoints::double_nodes;
use crate::site::Site;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

/// Names and inodes of what lies beside the records of a dataset on a node.
fn redundancy_files(site: &Site, node: &str, id: u64) -> BTreeMap<String, u64> {
    let entries = std::fs::read_dir(site.dataset(node, id).join(".scr")).unwrap();
    entries
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, entry.metadata().unwrap().ino())
        })
        .filter(|(name, _)| !name.starts_with("filemap_"))
        .collect()
}

#[test]
fn the_next_dataset_is_written_over_the_evicted_one() {
    for scheme in ["PARTNER", "XOR", "RS"] {
        let site = Site::new().set("SCR_COPY_TYPE", scheme);
        let nodes = double_nodes(4);
        site.run(&nodes, |rank| {
            rank.checkpoint("ck.1").unwrap();
            let old = redundancy_files(&site, nodes[rank.rank], 1);
            assert_eq!(old.len(), 2, "{old:?}");
            rank.checkpoint("ck.2").unwrap();
            assert_eq!(
                redundancy_files(&site, nodes[rank.rank], 2),
                old,
                "{scheme}"
            );
        });
        site.lose("n1");
        site.expect_restart(&nodes, Some("ck.2"));
    }
}

/// A process that was stopped while it rebuilt a redundancy file goes on in the next run.
#[test]
fn nothing_is_written_over_what_an_earlier_run_may_have_open() {
    let site = Site::new().set("SCR_COPY_TYPE", "XOR");
    let nodes = double_nodes(4);
    site.run(&nodes, |rank| rank.checkpoint("ck.1").unwrap());
    let dir = site.dataset("n0", 1).join(".scr");
    let files = redundancy_files(&site, "n0", 1).into_keys();
    let open = |name| {
        std::fs::File::options()
            .write(true)
            .open(dir.join(name))
            .unwrap()
    };
    let open: Vec<std::fs::File> = files.map(open).collect();
    site.run(&nodes, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
        rank.checkpoint("ck.2").unwrap();
    });
    open.iter().for_each(|file| file.set_len(0).unwrap());
    site.lose("n1");
    site.expect_restart(&nodes, Some("ck.2"));
}

#[test]
fn a_kill_between_start_and_complete_leaves_nothing_that_counts() {
    let site = Site::new().set("SCR_FLUSH", "1");
    let nodes = double_nodes(3);
    site.run(&nodes, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.session.start_output(None, true, false).unwrap();
        let moved = redundancy_files(&site, nodes[rank.rank], 2);
        assert!(
            moved.keys().all(|name| name.starts_with("next_")),
            "{moved:?}"
        );
    });
    site.expect_restart(&nodes, Some("ck.1"));
}

#[test]
fn another_scheme_leaves_none_of_the_old_files() {
    for (last, ends) in [(1, ".xor"), (2, ""), (3, ".rs"), (4, "")] {
        let site = Site::new().set("SCR_COPY_TYPE", "FILE");
        let lines = "CKPT=0 INTERVAL=1 TYPE=XOR\nCKPT=1 INTERVAL=2 TYPE=SINGLE\n\
                     CKPT=2 INTERVAL=3 TYPE=RS\n";
        std::fs::write(site.prefix().join(".scrconf"), lines).unwrap();
        let nodes = double_nodes(4);
        site.run(&nodes, |rank| {
            for id in 1..=last {
                rank.checkpoint(&format!("ck.{id}")).unwrap();
            }
        });
        let found = redundancy_files(&site, "n1", last);
        assert!(found.keys().all(|name| name.ends_with(ends)), "{found:?}");
        assert_eq!(
            found.len(),
            if ends.is_empty() { 0 } else { 2 },
            "{found:?}"
        );
    }
}
