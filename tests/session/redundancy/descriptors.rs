//! Stores, groups and redundancy descriptors from end to end on thread ranks: several in one
//! run, and datasets that outlive the configuration they were written with.

use crate::checkpoints::double_nodes;
use crate::site::{Site, nodes, of_run};
use scr::store::posix::Posix;
use scr_testing::faulty::Faulty;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A site that is configured by lines.
fn site(lines: &str) -> Site {
    let site = Site::new()
        .set("SCR_COPY_TYPE", "FILE")
        .set("SCR_FLUSH", "0");
    site.configure(lines);
    site
}

/// A store of the model: datasets by checkpoint number, oldest first.
#[derive(Clone, Default)]
struct Model {
    stores: Vec<Vec<usize>>,
}

/// SINGLE, each fourth XOR, each eighth RS: how many nodes may be lost.
fn tolerates(ckpt: usize) -> usize {
    match (ckpt % 8, ckpt % 4) {
        (0, _) => 2,
        (_, 0) => 1,
        _ => 0,
    }
}

impl Model {
    /// The newest that survives the loss of so many nodes.
    fn survivor(&self, lost: usize) -> Option<usize> {
        let all = self.stores.iter().flatten().copied();
        all.filter(|ckpt| tolerates(*ckpt) >= lost).max()
    }

    /// What there would be to restart from, most losses first; then how new the rest is.
    fn worth(&self) -> (Option<usize>, Option<usize>, Option<usize>, usize) {
        let of = |lost| self.survivor(lost);
        (of(2), of(1), of(0), self.stores.iter().flatten().sum())
    }

    /// A checkpoint comes; so that its store holds no more than `count`, the one goes without
    /// which most is left.
    fn write(&mut self, ckpt: usize, store: usize, count: usize) {
        while self.stores[store].len() >= count {
            let without = |at: usize| {
                let mut left = self.clone();
                left.stores[store].remove(at);
                left
            };
            let choices = (0..self.stores[store].len()).map(without);
            *self = choices.max_by_key(Model::worth).unwrap();
        }
        self.stores[store].push(ckpt);
    }
}

/// Lines for three descriptors over two stores, which of the stores each uses, and how many
/// datasets each store keeps.
type Plan = (&'static str, [usize; 3], [usize; 2]);

const PLANS: [Plan; 3] = [
    (
        "STORE=$SCR_CACHE_BASE COUNT=2\nSTORE=$SCR_CACHE_BASE/ssd COUNT=3\n\
         CKPT=0 INTERVAL=1 TYPE=SINGLE\n\
         CKPT=1 INTERVAL=4 TYPE=XOR STORE=$SCR_CACHE_BASE/ssd\n\
         CKPT=2 INTERVAL=8 TYPE=RS SET_FAILURES=2 STORE=$SCR_CACHE_BASE/ssd",
        [0, 1, 1],
        [2, 3],
    ),
    (
        "STORE=$SCR_CACHE_BASE COUNT=1\nSTORE=$SCR_CACHE_BASE/ssd COUNT=1\n\
         CKPT=0 INTERVAL=1 TYPE=SINGLE\n\
         CKPT=1 INTERVAL=4 TYPE=XOR\n\
         CKPT=2 INTERVAL=8 TYPE=RS SET_FAILURES=2 STORE=$SCR_CACHE_BASE/ssd",
        [0, 0, 1],
        [1, 1],
    ),
    // All in one store: what is safe must stay though much comes after it.
    (
        "STORE=$SCR_CACHE_BASE COUNT=3\n\
         CKPT=0 INTERVAL=1 TYPE=SINGLE\n\
         CKPT=1 INTERVAL=4 TYPE=XOR\n\
         CKPT=2 INTERVAL=8 TYPE=RS SET_FAILURES=2",
        [0, 0, 0],
        [3, 3],
    ),
];

const CHECKPOINTS: usize = 20;

/// The datasets that a node has in its two stores.
fn found(site: &Site, node: &str) -> Vec<BTreeSet<usize>> {
    let bases = [site.node(node), site.node(node).join("ssd")];
    let list = |base: &Path| {
        let entries = std::fs::read_dir(of_run(&base.join("user1/scr.1001")));
        let names = entries.into_iter().flatten();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let id = |name: String| {
            name.strip_prefix("scr.dataset.")
                .map(|id| id.parse().unwrap())
        };
        names.filter_map(id).collect()
    };
    bases.iter().map(|base| list(base)).collect()
}

/// Writes checkpoints, and after each compares what all nodes have with the model's.
fn write_all((lines, uses, counts): Plan, last: usize) -> (Site, Model) {
    let site = site(lines);
    let models = site.run(&nodes(5), |rank| {
        let mut model = Model {
            stores: vec![Vec::new(); 2],
        };
        for ckpt in 1..=last {
            let store = uses[tolerates(ckpt)];
            model.write(ckpt, store, counts[store]);
            rank.checkpoint(&format!("ck.{ckpt}")).unwrap();
            let expected: Vec<BTreeSet<usize>> = model
                .stores
                .iter()
                .map(|ids| ids.iter().copied().collect())
                .collect();
            assert_eq!(
                found(&site, nodes(5)[rank.rank]),
                expected,
                "after checkpoint {ckpt}"
            );
        }
        model
    });
    (site, models.into_iter().next().unwrap())
}

#[test]
fn three_descriptors_keep_what_the_rules_say_and_lose_no_more() {
    for plan in PLANS {
        for last in [9, CHECKPOINTS] {
            for lost in 0..=3 {
                let (site, model) = write_all(plan, last);
                let mut now = nodes(5);
                for (node, spare) in [("n1", "s1"), ("n3", "s3"), ("n4", "s4")].iter().take(lost) {
                    site.lose(node);
                    let place = now.iter_mut().find(|n| *n == node).unwrap();
                    *place = spare;
                }
                let expected = model.survivor(lost).map(|ckpt| format!("ck.{ckpt}"));
                site.expect_restart(&now, expected.as_deref());
                // And the run goes on from there.
                site.run(&now, |rank| {
                    assert_eq!(rank.restart(), expected);
                    rank.checkpoint("on").unwrap();
                });
                site.expect_restart(&now, Some("on"));
            }
        }
    }
}

fn three(site: Site, failures: &str) -> Site {
    let site = site
        .set("SCR_SET_FAILURES", failures)
        .set("SCR_CACHE_SIZE", "3")
        .set("SCR_FLUSH", "0");
    site.run(&nodes(4), |rank| {
        (1..=2).for_each(|n| rank.checkpoint(&format!("ck.{n}")).unwrap());
    });
    site
}

#[test]
fn a_dataset_keeps_its_scheme_when_the_configuration_changes() {
    for (scheme, then, losses) in [
        ("XOR", "SINGLE", 1),
        ("RS", "SINGLE", 2),
        ("RS", "XOR", 2),
        ("PARTNER", "RS", 2),
        ("XOR", "PARTNER", 1),
    ] {
        let site = three(Site::new().set("SCR_COPY_TYPE", scheme), "2");
        let site = site.set("SCR_COPY_TYPE", then).set("SCR_SET_SIZE", "2");
        let mut now = nodes(4);
        for (at, spare) in [(1, "s1"), (2, "s2")].into_iter().take(losses) {
            site.lose(now[at]);
            now[at] = spare;
        }
        site.expect_restart(&now, Some("ck.2"));
        assert!(!site.heard(&format!("rebuilt with {scheme}")).is_empty());
        // Still so after the rebuild, and what is new is protected as is said now.
        site.lose("n3");
        now[3] = "s3";
        site.expect_restart(&now, Some("ck.2"));
        site.run(&now, |rank| {
            assert_eq!(rank.restart().as_deref(), Some("ck.2"));
            rank.checkpoint("ck.3").unwrap();
        });
        site.lose("n0");
        now[0] = "s0";
        let left = if then == "SINGLE" { "ck.2" } else { "ck.3" };
        site.expect_restart(&now, Some(left));
    }
}

#[test]
fn what_was_written_without_redundancy_does_not_get_it_by_a_new_configuration() {
    let site = three(Site::new().set("SCR_COPY_TYPE", "SINGLE"), "1");
    let site = site.set("SCR_COPY_TYPE", "XOR");
    site.expect_restart(&nodes(4), Some("ck.2"));
    site.lose("n1");
    site.expect_restart(&["n0", "s1", "n2", "n3"], None);
    let heard = site.heard("dataset 2 (ck.2) cannot be used: the files of rank 1 are lost");
    assert_eq!(heard.len(), 1, "{:?}", site.events.lines());
}

#[test]
fn a_store_that_is_not_configured_any_more_is_named_as_a_reason_and_kept() {
    let lines = "STORE=$SCR_CACHE_BASE/ssd COUNT=2\nCKPT=0 TYPE=XOR STORE=$SCR_CACHE_BASE/ssd";
    let site = site(lines);
    site.run(&nodes(3), |rank| rank.checkpoint("ck.1").unwrap());
    site.configure("CKPT=0 TYPE=XOR");
    site.expect_restart(&nodes(3), None);
    let heard = site.heard("dataset 1 (ck.1) cannot be used");
    assert_eq!(heard.len(), 1, "{:?}", site.events.lines());
    assert!(heard[0].contains("if its store is not configured or enabled any more"));
    // The other store gets the same id meanwhile.
    site.run(&nodes(3), |rank| rank.checkpoint("other").unwrap());
    site.configure(lines);
    site.run(&nodes(3), |rank| {
        assert_eq!(rank.restart().as_deref(), Some("other"), "the newer one");
    });
    site.configure(&lines.replace(
        "STORE=$SCR_CACHE_BASE/ssd COUNT=2",
        "STORE=$SCR_CACHE_BASE/ssd\nSTORE=$SCR_CACHE_BASE ENABLED=0",
    ));
    // Without the other it is still whole.
    site.expect_restart(&nodes(3), Some("ck.1"));
}

#[test]
fn a_dataset_is_in_one_store_though_another_has_one_of_its_id() {
    let site = site(
        "STORE=$SCR_CACHE_BASE COUNT=3\nSTORE=$SCR_CACHE_BASE/ssd COUNT=3\n\
         CKPT=0 INTERVAL=1 TYPE=SINGLE\nCKPT=1 INTERVAL=2 TYPE=XOR STORE=$SCR_CACHE_BASE/ssd",
    );
    site.run(&nodes(3), |rank| {
        (1..=3).for_each(|n| rank.checkpoint(&format!("ck.{n}")).unwrap());
    });
    site.lose("n1");
    let now = ["n0", "s1", "n2"];
    site.run(&now, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.2"));
        // The last of them has a number that goes to the other store.
        rank.write("other", false, false).unwrap();
        rank.checkpoint("again").unwrap();
        rank.checkpoint("last").unwrap();
    });
    let stores = found(&site, "n0");
    assert_eq!(stores[1], BTreeSet::from([2, 6]));
    assert!(stores[0].contains(&4), "{stores:?}");
    assert_eq!(stores[0].intersection(&stores[1]).count(), 0, "{stores:?}");
    site.lose("n2");
    site.expect_restart(&["n0", "s1", "s2"], Some("last"));
}

#[test]
fn each_descriptor_has_its_own_set_size() {
    let site = site("CKPT=0 TYPE=XOR SET_SIZE=4\nCKPT=1 INTERVAL=2 TYPE=XOR SET_SIZE=2");
    let site = site.set("SCR_SET_SIZE", "8").set("SCR_CACHE_SIZE", "2");
    site.run(&nodes(8), |rank| {
        (1..=2).for_each(|n| rank.checkpoint(&format!("ck.{n}")).unwrap());
    });
    let parity = |id: u64| {
        let meta = site.dataset("n0", id).join(".scr");
        let names = std::fs::read_dir(meta).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.ends_with(".xor"))
            .collect::<String>()
    };
    assert_eq!(
        (parity(1), parity(2)),
        ("1_of_4_in_0.xor".into(), "1_of_2_in_0.xor".into())
    );
}

#[test]
fn output_in_bypass_beside_cached_checkpoints_takes_no_place_of_theirs() {
    let site = site("CKPT=0 TYPE=SINGLE BYPASS=0\nCKPT=1 INTERVAL=1000 OUTPUT=1 BYPASS=1");
    let site = site.set("SCR_CACHE_SIZE", "1");
    site.run(&nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.write("out", false, true).unwrap();
        rank.write("out2", false, true).unwrap();
    });
    assert!(site.prefix().join("out2/rank_1.dat").exists());
    assert_eq!(found(&site, "n0")[0], BTreeSet::from([1]));
    site.expect_restart(&nodes(2), Some("ck.1"));
}

/// A store outside of the nodes.
fn shared(site: &Site, children: &str) -> String {
    let dir = site.outside();
    format!(
        "STORE={0} {children}\nCKPT=0 TYPE=XOR STORE={0}",
        dir.display()
    )
}

#[test]
fn a_global_store_outlives_all_nodes() {
    let site = site("");
    site.configure(&shared(&site, "VIEW=GLOBAL COUNT=2"));
    site.run(&double_nodes(3), |rank| {
        (1..=3).for_each(|n| rank.checkpoint(&format!("ck.{n}")).unwrap());
    });
    let cache = || of_run(&site.outside().join("user1/scr.1001"));
    let job = cache();
    assert!(!job.join("scr.dataset.1").exists());
    for (rank, node) in [0, 0, 1, 1, 2, 2].into_iter().enumerate() {
        let level = job.join(format!("scr.dataset.3/node.{node}"));
        let file = format!("scr.dataset.3/files/ck.3/rank_{rank}.dat");
        assert!(job.join(file).exists());
        assert!(level.join(format!(".scr/filemap_{rank}")).exists());
    }
    let heard = site.heard("share one instance of the store");
    assert_eq!(heard.len(), 1, "{:?}", site.events.lines());
    // All nodes are lost; the next ones are others, fewer, and in another order.
    ["n0", "n1", "n2"].iter().for_each(|node| site.lose(node));
    let now = ["b", "a", "a", "a", "b", "b"];
    site.expect_restart(&now, Some("ck.3"));
    assert!(site.heard("has lost").is_empty());
    site.run(&now, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.3"));
        rank.checkpoint("ck.4").unwrap();
    });
    let job = cache();
    for record in ["node.0/.scr/filemap_4", "node.1/.scr/filemap_3"] {
        assert!(job.join("scr.dataset.4").join(record).exists());
    }
    assert!(!job.join("scr.dataset.2").exists());
    // A store that is not shared any more, by its lines, is read all the same.
    site.configure(&shared(&site, "GROUP=WORLD"));
    site.expect_restart(&double_nodes(3), Some("ck.4"));
}

#[test]
fn damage_in_a_global_store_goes_back_to_the_one_before() {
    let site = site("");
    site.configure(&shared(&site, "VIEW=GLOBAL COUNT=3"));
    site.run(&nodes(3), |rank| {
        (1..=2).for_each(|n| rank.checkpoint(&format!("ck.{n}")).unwrap());
    });
    let cache = || of_run(&site.outside().join("user1/scr.1001"));
    let file = cache().join("scr.dataset.2/files/ck.2/rank_1.dat");
    std::fs::write(file, b"short").unwrap();
    site.expect_restart(&nodes(3), Some("ck.1"));
    let quarantine = cache().join("scr.quarantine.2");
    assert!(quarantine.join("files/ck.2/rank_1.dat").exists());
}

/// Two racks of two nodes, each with storage of its own.
fn racks(children: &str) -> Site {
    let mut site = site("");
    for (node, rack) in [
        ("n0", "r0"),
        ("n1", "r0"),
        ("n2", "r1"),
        ("n3", "r1"),
        ("s", "r1"),
    ] {
        let dir = site.outside().join(rack).display().to_string();
        site.of_node.push((node.into(), "RACKDIR".into(), dir));
    }
    site.configure(&format!(
        "GROUPS=n0 RACK=r0\nGROUPS=n1 RACK=r0\nGROUPS=n2 RACK=r1\nGROUPS=n3 RACK=r1\n\
         GROUPS=s RACK=r1\nSTORE=$RACKDIR GROUP=RACK {children}\nCKPT=0 TYPE=XOR STORE=$RACKDIR"
    ));
    site
}

#[test]
fn storage_of_a_rack_is_lost_with_the_rack_and_not_with_a_node() {
    for children in ["", "VIEW=GLOBAL"] {
        let site = racks(children);
        site.run(&nodes(4), |rank| rank.checkpoint("ck.1").unwrap());
        // Sets go across racks.
        let meta = if children.is_empty() {
            ".scr"
        } else {
            "node.1/.scr"
        };
        let of_rack = |rack| {
            let job = site.outside().join(rack).join("user1/scr.1001");
            of_run(&job).join("scr.dataset.1")
        };
        let r0 = of_rack("r0");
        assert!(r0.join(meta).join("1_of_2_in_1.xor").exists(), "{children}");
        // A node is lost; its rank runs in the other rack, and its files are sent there.
        site.lose("n1");
        site.expect_restart(&["n0", "s", "n2", "n3"], Some("ck.1"));
        assert!(site.heard("has lost").is_empty());
        let (r0, r1) = (of_rack("r0"), of_rack("r1"));
        let part = if children.is_empty() {
            "rank_1"
        } else {
            "files/ck.1/rank_1.dat"
        };
        assert!(
            r1.join(part).exists() && !r0.join(part).exists(),
            "{children}"
        );

        // A rack is lost with its storage.
        let site = racks(children);
        site.run(&nodes(4), |rank| rank.checkpoint("ck.1").unwrap());
        std::fs::remove_dir_all(site.outside().join("r0")).unwrap();
        site.expect_restart(&nodes(4), Some("ck.1"));
        assert!(!site.heard("has lost the files of ranks 0 and 1").is_empty());
    }
}

/// The error of `SCR_Init`, the same on all ranks.
fn refused(site: &Site, now: &[&str]) -> String {
    let told = site.start(now, |started| started.err().map(|e| e.to_string()));
    assert!(told.iter().all(|text| *text == told[0]), "{told:?}");
    told[0].clone().expect("SCR_Init fails")
}

#[test]
fn a_store_that_is_said_to_be_shared_and_is_not_stops_the_start() {
    let site = site("STORE=$SCR_CACHE_BASE/x GROUP=WORLD\nCKPT=0 STORE=$SCR_CACHE_BASE/x");
    let text = refused(&site, &nodes(3));
    for part in [
        ".scrconf:1: STORE=",
        "not the same directory for all of GROUP=WORLD",
        "node n1 does not see",
        "say GROUP=NODE",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Truly shared, it is accepted run after run.
    let site = Site::new().set("SCR_COPY_TYPE", "FILE");
    site.configure(&shared(&site, "GROUP=WORLD"));
    site.run(&nodes(3), |rank| rank.checkpoint("ck.1").unwrap());
    site.expect_restart(&["n2", "n0", "n1"], Some("ck.1"));
}

#[test]
fn an_error_of_a_shared_store_is_not_taken_for_another_directory() {
    let mut site = Site::new().set("SCR_COPY_TYPE", "FILE");
    site.configure(&shared(&site, "GROUP=WORLD"));
    let files = Faulty::new(Posix);
    files
        .faults()
        .fail_reads(Some((PathBuf::from(".scr.shared"), libc::EIO)));
    site.files = Arc::new(files);
    let text = refused(&site, &nodes(2));
    assert!(
        text.contains("rank 0") && text.contains("/.scr.shared: "),
        "{text}"
    );
    assert!(!text.contains("same directory"), "{text}");
}

#[test]
fn with_mkdir_0_the_directory_must_be_there() {
    let lines = "STORE=$SCR_CACHE_BASE/mount MKDIR=0\nCKPT=0 STORE=$SCR_CACHE_BASE/mount";
    let site = site(lines);
    let mount = |node: &str| site.node(node).join("mount");
    std::fs::create_dir_all(mount("n0")).unwrap();
    let text = refused(&site, &nodes(2));
    assert!(text.contains(".scrconf:1: STORE="), "{text}");
    assert!(
        text.contains("n1/mount is no directory on node n1"),
        "{text}"
    );
    assert!(
        text.contains("MKDIR=0") && text.contains("make it there"),
        "{text}"
    );
    assert!(!mount("n1").exists());
    std::fs::create_dir_all(mount("n1")).unwrap();
    site.run(&nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.session.need_checkpoint().unwrap();
        // It is unmounted in the middle of the run.
        if rank.rank == 1 {
            std::fs::rename(mount("n1"), site.outside()).unwrap();
        }
        rank.session.need_checkpoint().unwrap();
        let text = rank.checkpoint("ck.2").unwrap_err().to_string();
        assert!(
            text.contains("n1/mount is no directory on node n1"),
            "{text}"
        );
        assert!(!mount("n1").exists());
    });
    std::fs::rename(site.outside(), mount("n1")).unwrap();
    site.expect_restart(&nodes(2), Some("ck.1"));
}

#[test]
fn what_can_be_survived_is_said_at_the_start_and_after_doubling_up() {
    let site = site("CKPT=0 TYPE=XOR\nCKPT=1 INTERVAL=4 TYPE=RS SET_FAILURES=2");
    site.run(&nodes(2), |rank| rank.checkpoint("ck.1").unwrap());
    let heard = site.heard("you survive the loss of any 1 node, not of 2");
    assert_eq!(heard.len(), 1, "{:?}", site.events.lines());
    assert!(
        heard[0].contains(".scrconf:2: RS is to survive 2 losses"),
        "{heard:?}"
    );

    let site = Site::new().set("SCR_FLUSH", "0");
    site.run(&nodes(4), |rank| rank.checkpoint("ck.1").unwrap());
    site.expect_restart(&nodes(4), Some("ck.1"));
    assert!(site.heard("you survive").is_empty());
    site.lose("n3");
    let doubled = ["n0", "n1", "n2", "n0"];
    site.expect_restart(&doubled, Some("ck.1"));
    let heard = site.heard("you survive the loss of any 0 nodes, not of 1");
    assert_eq!(heard.len(), 1, "{:?}", site.events.lines());
    assert!(heard[0].contains("dataset 1 (ck.1)"), "{heard:?}");
    // As it says.
    site.lose("n0");
    site.expect_restart(&["s0", "n1", "n2", "s0"], None);
}
