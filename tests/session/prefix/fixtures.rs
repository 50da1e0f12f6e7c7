//! Prefix directories that SCR v3.1.0 wrote (`tests/fixtures`), restarted through the API.

use crate::site::{Rank, Site};
use scr::format::Name;
use scr::format::index::{Index, IndexEntry};
use scr::prefix::{paths::Prefix, rank2file};
use scr::store::posix::Posix;
use std::collections::BTreeMap;
use std::path::Path;

const NODES: [&str; 4] = ["n0", "n1", "n2", "n3"];

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Size and CRC32 of every data file, from the table in `expected.md`.
type Table = BTreeMap<String, (usize, u32)>;

fn fixture(name: &str) -> (Site, Table) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let site = Site::new();
    copy(&dir.join(name), &site.prefix());
    let text = std::fs::read_to_string(dir.join(name).join("expected.md")).unwrap();
    let (_, text) = text.split_once("## Data files").unwrap();
    let (text, _) = text.split_once("## Files under").unwrap();
    let mut table = Table::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let path = cells[0].trim_start_matches("| `").trim_end_matches('`');
        let crc = cells[2].trim_end_matches(" |");
        let crc = u32::from_str_radix(crc, 16).unwrap();
        table.insert(path.to_string(), (cells[1].parse().unwrap(), crc));
    }
    assert!(table.len() > 20, "the table was not understood");
    (site, table)
}

fn index(site: &Site) -> Index {
    Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap()
}

fn entry(site: &Site, name: &str) -> (u64, IndexEntry) {
    let index = index(site);
    let id = index.id(&Name::from(name)).unwrap();
    (id, index.get(id).unwrap().clone())
}

/// Restarts, and rejects all checkpoints but the last of so many; what was offered.
fn offers(rank: &mut Rank, site: &Site, table: &Table, accept: usize) -> Vec<String> {
    let mut offered = Vec::new();
    while let Some(name) = rank.session.have_restart().unwrap() {
        let again = rank.session.have_restart().unwrap();
        assert_eq!(again.as_ref(), Some(&name), "the answer changed");
        assert_eq!(rank.session.start_restart().unwrap(), name);
        let id = index(site).id(&name).unwrap();
        let dir = Prefix::new(&site.prefix()).dataset(id);
        let mut files = 0;
        rank2file::for_each(&Posix, &dir, |owner, entry| {
            for file in entry.files.keys().filter(|_| owner == rank.rank as u64) {
                let path = rank.session.route(file.as_path()).unwrap();
                let bytes = std::fs::read(path).unwrap();
                let found = (bytes.len(), crc32fast::hash(&bytes));
                assert_eq!(found, table[file.as_str().unwrap()], "{file}");
                files += 1;
            }
            Ok(())
        })
        .unwrap();
        assert!(files > 0);
        offered.push(name.to_string());
        let valid = offered.len() == accept;
        assert_eq!(rank.session.complete_restart(valid).is_ok(), valid);
        if valid || offered.len() > 10 {
            break;
        }
    }
    offered
}

fn run(site: &Site, table: &Table, accept: usize) -> Vec<String> {
    let all = site.run(&NODES, |rank| offers(rank, site, table, accept));
    assert!(all.iter().all(|offered| *offered == all[0]), "{all:?}");
    all[0].clone()
}

#[test]
fn each_offers_its_checkpoints_in_the_documented_order() {
    for bypass in ["1", "0"] {
        for (name, order) in [
            ("basic", &["timestep.3", "timestep.2", "timestep.1"]),
            ("failed", &["dump_0002", "dump_0004", "dump_0001"]),
            ("output", &["перезапуск-3.0", "ckpt-2.0+β", "ckpt-1.0+α"]),
        ] {
            let (site, table) = fixture(name);
            let site = site.set("SCR_CACHE_BYPASS", bypass);
            assert_eq!(
                run(&site, &table, usize::MAX),
                *order,
                "{name}, bypass {bypass}"
            );
            assert_eq!(
                site.heard("unverified").len(),
                3,
                "once for each checkpoint"
            );
            assert_eq!(index(&site).current(), None);
            for name in order {
                let (_, entry) = entry(&site, name);
                assert!(
                    entry.failed.is_some() && !entry.fetched.is_empty(),
                    "{name}"
                );
            }
            let nothing = run(&site, &table, 1);
            assert_eq!(nothing, [""; 0], "all are rejected now");
            assert!(!site.heard("starts from the beginning").is_empty());
        }
    }
}

#[test]
fn a_restart_is_recorded_and_ids_go_on_from_the_highest() {
    for (name, offered, id, ckpt) in [
        ("basic", "timestep.3", 4, 4),
        ("failed", "dump_0002", 7, 7),
        ("output", "перезапуск-3.0", 6, 4),
    ] {
        let (site, table) = fixture(name);
        let before = entry(&site, offered).1.fetched.len();
        site.run(&NODES, |rank| {
            assert_eq!(offers(rank, &site, &table, 1), [offered]);
            rank.write("new", true, true).unwrap();
        });
        let (_, fetched) = entry(&site, offered);
        assert_eq!(fetched.fetched.len(), before + 1);
        assert_eq!(fetched.failed, None);
        let (new, entry) = entry(&site, "new");
        assert_eq!(
            (new, entry.dataset.unwrap().ckpt),
            (id, Some(ckpt)),
            "{name}"
        );
        assert_eq!(index(&site).current(), Some(&Name::from("new")));
    }
}

#[test]
fn after_rejections_ids_go_on_from_the_highest() {
    let (site, table) = fixture("basic");
    site.run(&NODES, |rank| {
        assert_eq!(offers(rank, &site, &table, 2).len(), 2);
        rank.write("new", true, true).unwrap();
    });
    let (id, entry) = entry(&site, "new");
    assert_eq!((id, entry.dataset.unwrap().ckpt), (4, Some(4)));
}

#[test]
fn without_a_restart_ids_go_on_from_the_index() {
    let (site, table) = fixture("output");
    site.run(&NODES, |rank| {
        offers(rank, &site, &table, usize::MAX);
        rank.write("new", true, true).unwrap();
    });
    let (id, entry) = entry(&site, "new");
    assert_eq!((id, entry.dataset.unwrap().ckpt), (6, Some(4)));
}

#[test]
fn a_failed_fetch_goes_on_downwards_and_a_rejection_from_the_top() {
    for bypass in ["1", "0"] {
        let (site, table) = fixture("failed");
        let site = site.set("SCR_CACHE_BYPASS", bypass);
        std::fs::remove_file(site.prefix().join("data/dump_0002/p1.bin")).unwrap();
        assert_eq!(run(&site, &table, 2), ["dump_0001", "dump_0004"]);
        let (_, two) = entry(&site, "dump_0002");
        assert!(two.failed.is_some());
        assert!(entry(&site, "dump_0001").1.failed.is_some());
        assert_eq!(index(&site).current(), Some(&Name::from("dump_0004")));
        let said = site.heard("cannot fetch dataset 2 (dump_0002)");
        assert_eq!(said.len(), 1);
        assert!(said[0].contains("data/dump_0002/p1.bin") && said[0].contains("missing"));
    }
}

#[test]
fn a_truncated_file_is_noticed_though_no_size_of_it_is_recorded() {
    let (site, table) = fixture("basic");
    let path = site.prefix().join("timestep.3/rank_1/state_1.dat");
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_len(2148).unwrap();
    assert_eq!(run(&site, &table, 1), ["timestep.2"]);
    let said = site.heard("cannot fetch dataset 3");
    assert!(
        said[0].contains("records 8 files with 20564 bytes"),
        "{said:?}"
    );
    assert!(said[0].contains("8 with 20563"), "{said:?}");
}

#[test]
fn another_number_of_ranks_is_said_and_fails_nothing() {
    for nodes in [&NODES[..3], &["n0", "n1", "n2", "n3", "n4"]] {
        let (site, _) = fixture("basic");
        for told in site.run(nodes, |rank| rank.session.have_restart()) {
            let error = told.unwrap_err().to_string();
            let said = "dataset 3 (timestep.3): was written by 4 ranks, this run has";
            assert!(error.contains(said), "{error}");
            assert!(
                error.contains("(so were 2 other checkpoints there)"),
                "{error}"
            );
        }
        let warned = site.events.lines();
        assert!(
            !warned.iter().any(|line| line.contains("ERROR")),
            "{warned:?}"
        );
        for name in ["timestep.1", "timestep.2", "timestep.3"] {
            assert_eq!(entry(&site, name).1.failed, None);
        }
        let (_, table) = fixture("basic");
        assert_eq!(run(&site, &table, 1), ["timestep.3"]);
    }
}
