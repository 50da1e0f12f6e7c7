//! Scavenge into containers: the copy of each node fills some of its own.

use super::scavenge::{
    HOW, caches, copy_settings, expect_saved, index, killed, listed, names_in, others, prefix,
    restart_afresh, save,
};
use crate::checkpoints::double_nodes;
use crate::site::{Site, nodes};
use scr::cache::layout::Layout;
use scr::format::rank2file::RankEntry;
use scr::prefix::rank2file;
use scr::scavenge::copy::{CopyResult, CopySettings};
use scr::scavenge::{Built, Redundancy, build, copy};
use scr::store::Files;
use scr::store::posix::Posix;
use std::collections::BTreeMap;

/// A checkpoint of a rank has 1000 bytes and some.
const SIZE: u64 = 700;

fn settings<'a>(files: &'a dyn Files, place: &'a scr::prefix::paths::Prefix) -> CopySettings<'a> {
    CopySettings {
        containers: Some(SIZE),
        ..copy_settings(files, place, Redundancy::All)
    }
}

fn copied(site: &Site, node: &str) -> CopyResult {
    copy(&settings(&Posix, &prefix(site)), &caches(site, node), 1)
}

fn built(site: &Site) -> scr::Result<Built> {
    build(&Posix, &prefix(site), 1, HOW, &mut Vec::new())
}

fn saved_on(files: &dyn Files, site: &Site, up: &[&str]) -> scr::Result<Built> {
    let place = prefix(site);
    let up: Vec<(&str, Vec<Layout>)> = up.iter().map(|node| (*node, caches(site, node))).collect();
    save(&settings(files, &place), &up, 1)
}

fn entries(site: &Site) -> BTreeMap<u64, RankEntry> {
    let mut all = BTreeMap::new();
    rank2file::for_each(&Posix, &prefix(site).dataset(1), |rank, entry| {
        all.insert(rank, entry.clone());
        Ok(())
    })
    .unwrap();
    all
}

/// The ranks with files in containers.
fn contained(site: &Site) -> Vec<u64> {
    let entries = entries(site).into_iter();
    let is_contained = |entry: &RankEntry| entry.files.values().all(|f| f.segments.is_some());
    entries
        .filter(|(_, entry)| is_contained(entry))
        .map(|(rank, _)| rank)
        .collect()
}

fn containers(site: &Site) -> Vec<String> {
    let mut names = names_in(prefix(site).dataset(1));
    names.retain(|name| name.starts_with("ctr."));
    names
}

/// The containers that the rank2file names.
fn named(site: &Site) -> Vec<String> {
    let entries = entries(site);
    let files = entries.values().flat_map(|entry| entry.files.values());
    let segments = files.flat_map(|file| file.segments.iter().flatten());
    let mut names: Vec<String> = segments.map(|s| s.container.to_string()).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn all_files_go_to_containers_of_their_nodes() {
    for scheme in ["SINGLE", "PARTNER", "XOR", "RS"] {
        let all = double_nodes(3);
        let site = killed(scheme, &["ck.1"], &all);
        let done = saved_on(&Posix, &site, &nodes(3)).unwrap();
        assert_eq!((done.ranks, done.rebuilt), (6, vec![]));
        assert!(!site.prefix().join("ck.1").exists());
        // A node has about 2000 bytes, so three containers; their numbers are its own.
        let names = containers(&site);
        assert_eq!(names.len(), 9, "{names:?}");
        assert_eq!(names, named(&site));
        for (rank, entry) in entries(&site) {
            let node = rank / 2 * 2;
            for segment in entry
                .files
                .values()
                .flat_map(|f| f.segments.iter().flatten())
            {
                let name = segment.container.to_string();
                let number: u64 = name.split('.').nth(1).unwrap().parse().unwrap();
                assert_eq!(number % 6, node, "{name} of rank {rank}");
            }
        }
        let mut rest = names_in(prefix(&site).dataset(1));
        rest.retain(|name| !names.contains(name));
        assert_eq!(rest, ["rank2file", "rank2file.0.0", "summary.scr"]);
        assert_eq!(listed(&site), [(1, true, true, "ck.1".to_string())]);
        restart_afresh(&site, &all, "ck.1");
    }
}

#[test]
fn lost_nodes_are_rebuilt_from_containers_as_plain_files() {
    for (scheme, lost) in [
        ("PARTNER", &["n1"][..]),
        ("XOR", &["n0"]),
        ("RS", &["n1", "n2"]),
    ] {
        let all = double_nodes(4);
        let site = killed(scheme, &["ck.1"], &all);
        let done = saved_on(&Posix, &site, &others(&all, lost)).unwrap();
        assert_eq!(done.rebuilt.len(), 2 * lost.len(), "{scheme}");
        let rest: Vec<u64> = (0..8)
            .filter(|rank| !done.rebuilt.contains(&(*rank as usize)))
            .collect();
        assert_eq!(contained(&site), rest, "{scheme}");
        assert_eq!(containers(&site), named(&site));
        expect_saved(&site, "ck.1", scheme);
        restart_afresh(&site, &all, "ck.1");
    }
}

#[test]
fn a_copy_can_be_repeated_and_nothing_is_copied_twice() {
    let all = double_nodes(3);
    let site = killed("XOR", &["ck.1"], &all);
    let first = copied(&site, "n1");
    assert_eq!((first.ranks.len(), first.problems), (2, vec![]));
    let before = containers(&site);
    let again = copied(&site, "n1");
    assert_eq!((again.ranks.len(), again.files), (2, 0));
    assert_eq!(containers(&site), before);
    // A copy without containers leaves them, too.
    let place = prefix(&site);
    let plain = copy_settings(&Posix, &place, Redundancy::All);
    let plain = copy(&plain, &caches(&site, "n1"), 1);
    assert_eq!((plain.ranks.len(), plain.files), (2, 0));
    // One that is damaged is made again, elsewhere.
    let name = prefix(&site).dataset(1).join(&before[0]);
    std::fs::write(&name, "short").unwrap();
    assert!(copied(&site, "n1").files > 0);
    for node in ["n0", "n2"] {
        copied(&site, node);
    }
    assert!(built(&site).unwrap().rebuilt.is_empty());
    assert!(!name.exists());
    assert_eq!(containers(&site), named(&site));
    restart_afresh(&site, &all, "ck.1");
}

#[test]
fn plain_and_contained_ranks_may_be_in_one_dataset() {
    let all = double_nodes(3);
    let site = killed("XOR", &["ck.1"], &all);
    let place = prefix(&site);
    copied(&site, "n0");
    copy(
        &copy_settings(&Posix, &place, Redundancy::All),
        &caches(&site, "n1"),
        1,
    );
    assert_eq!(built(&site).unwrap().rebuilt, [4, 5]);
    assert_eq!(contained(&site), [0, 1]);
    restart_afresh(&site, &all, "ck.1");
}

/// A remote shell may begin a command twice on a node.
#[test]
fn two_copies_at_once_on_one_node_do_no_harm() {
    for _ in 0..20 {
        let all = double_nodes(2);
        let site = killed("SINGLE", &["ck.1"], &all);
        std::thread::scope(|scope| {
            for node in ["n0", "n0", "n0", "n1", "n1"] {
                let site = &site;
                scope.spawn(move || copied(site, node));
            }
        });
        assert!(built(&site).unwrap().rebuilt.is_empty());
        assert_eq!(containers(&site), named(&site));
        restart_afresh(&site, &all, "ck.1");
    }
}

#[test]
fn containers_that_are_cut_short_or_lost_are_rebuilt() {
    for damage in [true, false] {
        let site = killed("XOR", &["ck.1"], &nodes(4));
        nodes(4).iter().for_each(|node| drop(copied(&site, node)));
        let name = prefix(&site).dataset(1).join("ctr.2.scr");
        if damage {
            std::fs::write(&name, "short").unwrap()
        } else {
            std::fs::remove_file(&name).unwrap()
        }
        assert_eq!(built(&site).unwrap().rebuilt, [2]);
        assert_eq!(contained(&site), [0, 1, 3]);
        restart_afresh(&site, &nodes(4), "ck.1");
    }
    // With SINGLE the dataset is lost, and nothing was changed.
    let site = killed("SINGLE", &["ck.1"], &nodes(2));
    nodes(2).iter().for_each(|node| drop(copied(&site, node)));
    std::fs::remove_file(prefix(&site).dataset(1).join("ctr.1.scr")).unwrap();
    let before = names_in(prefix(&site).dataset(1));
    let error = built(&site).unwrap_err().to_string();
    assert!(error.contains("ck.1"), "{error}");
    assert_eq!(names_in(prefix(&site).dataset(1)), before);
    assert!(!index(&site).get(1).unwrap().complete);
}

/// The records in the prefix directory are untrusted.
#[test]
fn records_that_lead_elsewhere_are_not_followed() {
    use scr::format::filemap::Filemap;
    let site = killed("XOR", &["ck.1"], &nodes(3));
    nodes(3).iter().for_each(|node| drop(copied(&site, node)));
    let path = prefix(&site).dataset(1).join("filemap_1");
    let good: Filemap = scr::format::read(&Posix, &path).unwrap();
    let change = |change: &dyn Fn(&mut RankEntry)| {
        let mut map = good.clone();
        change(map.contained.as_mut().unwrap());
        scr::format::write(&Posix, &path, &map, scr::store::Durability::Atomic).unwrap();
    };
    let segment = |to: &'static str, offset: u64| {
        move |entry: &mut RankEntry| {
            for file in entry.files.values_mut() {
                let segment = &mut file.segments.as_mut().unwrap()[0];
                (segment.container, segment.offset) = (to.into(), offset);
            }
        }
    };
    std::fs::write(site.prefix().join("elsewhere"), vec![0; 5000]).unwrap();
    for (to, offset) in [
        ("../../elsewhere", 0),
        ("/etc/passwd", 0),
        ("ctr.1.scr", u64::MAX),
        ("ctr.77.scr", 0),
        ("summary.scr", 0),
    ] {
        change(&segment(to, offset));
        assert_eq!(built(&site).unwrap().rebuilt, [1], "{to}");
        std::fs::remove_dir_all(site.prefix().join("ck.1")).unwrap();
        let flush = prefix(&site).file("flush.scr");
        let _ = std::fs::remove_file(flush);
        nodes(3).iter().for_each(|node| drop(copied(&site, node)));
    }
    // A file that the record does not list, or of another size.
    change(&|entry| {
        let file = entry.files.values().next().cloned().unwrap();
        entry.files.insert("../out".into(), file);
    });
    assert_eq!(built(&site).unwrap().rebuilt, [1]);
    restart_afresh(&site, &nodes(3), "ck.1");
}

#[test]
fn in_a_store_that_all_nodes_see_only_own_ranks_go_to_containers() {
    let site = Site::new()
        .set("SCR_COPY_TYPE", "FILE")
        .set("SCR_FLUSH", "0");
    let store = site.outside();
    std::fs::create_dir_all(&store).unwrap();
    let dir = store.display();
    site.configure(&format!(
        "GROUPS=n0 SITE=all\nGROUPS=n1 SITE=all\nGROUPS=n2 SITE=all\n\
         STORE={dir} GROUP=SITE VIEW=GLOBAL\nCKPT=0 STORE={dir} TYPE=SINGLE\n"
    ));
    site.run(&double_nodes(3), |rank| rank.checkpoint("ck.1").unwrap());
    let place = prefix(&site);
    let stores = [Layout::new(&store, "user1", "1001")];
    let on = |node, redundancy| {
        let settings = CopySettings {
            node,
            redundancy,
            ..settings(&Posix, &place)
        };
        copy(&settings, &stores, 1)
    };
    assert_eq!(on("n1", Redundancy::None).ranks, [2, 3].into());
    // Both that are left bring what is missing, at the same time or not.
    for node in ["n1", "n2"] {
        assert_eq!(on(node, Redundancy::Needed(&[])).problems, []);
    }
    assert!(built(&site).unwrap().rebuilt.is_empty());
    let contained = contained(&site);
    assert!(
        contained.starts_with(&[2, 3]) && !contained.contains(&0),
        "{contained:?}"
    );
    std::fs::remove_dir_all(&store).unwrap();
    site.expect_restart(&double_nodes(3), Some("ck.1"));
}

#[test]
fn without_checksums_only_sizes_are_recorded() {
    for containers in [None, Some(SIZE)] {
        let site = killed("XOR", &["ck.1"], &nodes(3)).set("SCR_CRC_ON_FLUSH", "0");
        let place = prefix(&site);
        let settings = CopySettings {
            containers,
            checksums: false,
            ..settings(&Posix, &place)
        };
        let up: Vec<_> = nodes(3)
            .into_iter()
            .map(|node| (node, caches(&site, node)))
            .collect();
        save(&settings, &up, 1).unwrap();
        let entries = entries(&site);
        let files = || entries.values().flat_map(|entry| entry.files.values());
        assert!(files().count() == 3 && files().all(|f| f.crc.is_none() && f.size.is_some()));
        restart_afresh(&site, &nodes(3), "ck.1");
    }
}

/// The cache may have been damaged since, so its checksums are compared also if none are to be recorded.
#[test]
fn a_byte_that_flips_in_the_cache_is_found() {
    for (checksums, containers) in [
        (true, None),
        (true, Some(SIZE)),
        (false, None),
        (false, Some(SIZE)),
    ] {
        let site = killed("SINGLE", &["ck.1"], &nodes(2));
        // As after a run that has lived long enough to take the checksums of SINGLE.
        site.run(&nodes(2), |rank| {
            assert!(rank.session.have_restart().unwrap().is_some())
        });
        let path = site.dataset("n1", 1).join("rank_1/ck.1/rank_1.dat");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[7] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let place = prefix(&site);
        let settings = CopySettings {
            containers,
            checksums,
            ..settings(&Posix, &place)
        };
        let done = copy(&settings, &caches(&site, "n1"), 1);
        assert_eq!(
            done.problems.len(),
            1,
            "{checksums} {containers:?} {done:?}"
        );
        assert!(done.ranks.is_empty());
    }
}

/// Checksums of SINGLE are taken in the background; a killed run may have none.
#[test]
fn checksums_that_are_missing_are_taken_on_the_way() {
    use scr::format::filemap::Filemap;
    for containers in [None, Some(SIZE)] {
        let site = killed("SINGLE", &["ck.1"], &nodes(2));
        let place = prefix(&site);
        for (rank, node) in nodes(2).into_iter().enumerate() {
            let path = site.dataset(node, 1).join(format!(".scr/filemap_{rank}"));
            let mut map: Filemap = scr::format::read(&Posix, &path).unwrap();
            map.files.files.iter_mut().for_each(|file| file.crc = None);
            scr::format::write(&Posix, &path, &map, scr::store::Durability::Atomic).unwrap();
            let settings = CopySettings {
                containers,
                ..settings(&Posix, &place)
            };
            assert_eq!(copy(&settings, &caches(&site, node), 1).files, 1);
            assert_eq!(copy(&settings, &caches(&site, node), 1).files, 0);
        }
        build(&Posix, &place, 1, HOW, &mut Vec::new()).unwrap();
        let entries = entries(&site);
        let files = entries.values().flat_map(|entry| entry.files.values());
        assert!(files.clone().count() == 2 && files.clone().all(|file| file.crc.is_some()));
        restart_afresh(&site, &nodes(2), "ck.1");
    }
}

#[test]
fn redundancy_of_nodes_that_are_down_goes_along() {
    let all = double_nodes(4);
    let site = killed("XOR", &["ck.1"], &all);
    let place = prefix(&site);
    let only = |down: &[String]| {
        let settings = CopySettings {
            only_redundancy: true,
            redundancy: Redundancy::Needed(down),
            ..settings(&Posix, &place)
        };
        let done = copy(&settings, &caches(&site, "n0"), 1);
        assert_eq!((done.ranks.len(), done.problems), (0, vec![]));
        done.files
    };
    for node in nodes(4) {
        let own = CopySettings {
            redundancy: Redundancy::None,
            ..settings(&Posix, &place)
        };
        assert_eq!(copy(&own, &caches(&site, node), 1).ranks.len(), 2);
    }
    // All have brought their ranks. So nothing is needed, unless a node that did so is down now.
    assert_eq!(only(&[]), 0);
    assert_eq!(only(&["n9".into()]), 0);
    assert_eq!(only(&["n3".into()]), 2);
}

#[test]
fn a_copy_tells_how_much_it_was() {
    let site = killed("SINGLE", &["ck.1"], &nodes(2));
    let done = copied(&site, "n1");
    assert_eq!((done.files, done.bytes), (1, 1007));
}
