//! Scavenge after a job was killed: the copy commands run for each node, the build makes the
//! dataset, and a new job with empty caches restarts from it.

use crate::checkpoints::double_nodes;
use crate::site::{Site, content, nodes};
use scr::cache::layout::Layout;
use scr::format::filemap::Filemap;
use scr::format::index::Index;
use scr::format::summary::Summary;
use scr::format::{self, rank2file::RankEntry};
use scr::prefix::paths::Prefix;
use scr::prefix::{rank2file, records};
use scr::scavenge::copy::{CopyResult, CopySettings};
use scr::scavenge::{BuildSettings, Built, Redundancy, build, copy};
use scr::store::posix::Posix;
use scr::store::{Durability, Files};
use scr_jobs::datasets::cached::list_datasets;
use scr_jobs::datasets::listing;
use scr_testing::faulty::Faulty;
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(super) const TIME: &str = "2026-11-21T03:23:24";

pub(super) const HOW: BuildSettings = BuildSettings {
    node: "head",
    time: TIME,
    checksums: true,
    watch: &(),
};

pub(super) fn prefix(site: &Site) -> Prefix {
    Prefix::new(&site.prefix())
}

pub(super) fn caches(site: &Site, node: &str) -> Vec<Layout> {
    vec![Layout::new(&site.node(node), "user1", "1001")]
}

pub(super) fn copy_settings<'a>(
    files: &'a dyn Files,
    prefix: &'a Prefix,
    redundancy: Redundancy<'a>,
) -> CopySettings<'a> {
    CopySettings {
        files,
        prefix,
        node: "head",
        redundancy,
        only_redundancy: false,
        containers: None,
        checksums: true,
        buffer: 300,
        metadata: true,
        watch: &(),
    }
}

fn copied(site: &Site, node: &str, id: u64) -> CopyResult {
    let prefix = prefix(site);
    let settings = copy_settings(&Posix, &prefix, Redundancy::All);
    copy(&settings, &caches(site, node), id)
}

/// Dataset 1 from each of four nodes.
fn copy_all(site: &Site) {
    for node in nodes(4) {
        copied(site, node, 1);
    }
}

fn built(site: &Site, id: u64) -> scr::Result<Built> {
    build(&Posix, &prefix(site), id, HOW, &mut Vec::new())
}

/// Saves dataset `id` as `scr scavenge` does, in one process: copies the data of all nodes first, then the redundancy
/// files of sets that still miss a rank.
pub(super) fn save(
    settings: &CopySettings,
    nodes: &[(&str, Vec<Layout>)],
    id: u64,
) -> scr::Result<Built> {
    for redundancy in [Redundancy::None, Redundancy::Needed(&[])] {
        for (node, caches) in nodes {
            let settings = CopySettings {
                redundancy,
                node,
                ..*settings
            };
            copy(&settings, caches, id);
        }
    }
    let how = BuildSettings {
        node: settings.node,
        time: TIME,
        checksums: settings.checksums,
        watch: &(),
    };
    build(settings.files, settings.prefix, id, how, &mut Vec::new())
}

fn saved_on(files: &dyn Files, site: &Site, up: &[&str], id: u64) -> scr::Result<Built> {
    let prefix = prefix(site);
    let up: Vec<(&str, Vec<Layout>)> = up.iter().map(|node| (*node, caches(site, node))).collect();
    let settings = copy_settings(files, &prefix, Redundancy::All);
    save(&settings, &up, id)
}

fn saved(site: &Site, up: &[&str], id: u64) -> scr::Result<Built> {
    saved_on(&Posix, site, up, id)
}

pub(super) fn index(site: &Site) -> Index {
    Index::read(&Posix, &prefix(site).file("index.scr")).unwrap()
}

/// The rows of `scr index`: id, valid, current, name.
pub(super) fn listed(site: &Site) -> Vec<(u64, bool, bool, String)> {
    let rows = listing::rows(&index(site)).into_iter();
    rows.map(|row| (row.id, row.valid, row.current, row.name.to_string()))
        .collect()
}

/// All nodes are given back; a new job finds nothing in them.
fn empty_caches(site: &Site) {
    std::fs::remove_dir_all(site.node("x").parent().unwrap()).unwrap();
}

/// A new job on these nodes, which hold nothing any more, starts from the checkpoint `name`.
pub(super) fn restart_afresh(site: &Site, on: &[&str], name: &str) {
    empty_caches(site);
    site.expect_restart(on, Some(name));
}

/// The index has one dataset: complete, current, of this name.
pub(super) fn expect_saved(site: &Site, name: &str, told: &str) {
    assert_eq!(listed(site), [(1, true, true, name.to_string())], "{told}");
}

/// The files of `ck.1` are in the prefix directory as so many ranks have written them.
fn expect_files(site: &Site, ranks: usize, told: &str) {
    for rank in 0..ranks {
        let path = site.prefix().join(format!("ck.1/rank_{rank}.dat"));
        let bytes = std::fs::read(path).unwrap();
        assert!(bytes == content("ck.1", rank, 1000 + 7 * rank), "{told}");
    }
}

pub(super) fn names_in(dir: PathBuf) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A checkpoint in the caches only; then all processes are killed.
pub(super) fn killed(scheme: &str, names: &[&str], on: &[&str]) -> Site {
    let site = Site::new()
        .set("SCR_COPY_TYPE", scheme)
        .set("SCR_CACHE_SIZE", "3")
        .set("SCR_FLUSH", "0");
    site.run(on, |rank| {
        names.iter().for_each(|name| rank.checkpoint(name).unwrap());
    });
    site
}

pub(super) fn others<'a>(all: &[&'a str], lost: &[&str]) -> Vec<&'a str> {
    let mut up: Vec<&str> = all.iter().copied().filter(|n| !lost.contains(n)).collect();
    up.dedup();
    up
}

#[test]
fn all_nodes_up() {
    for scheme in ["SINGLE", "PARTNER", "XOR", "RS"] {
        let site = killed(scheme, &["ck.1", "ck.2"], &nodes(4));
        let done = saved(&site, &nodes(4), 2).unwrap();
        assert_eq!((done.ranks, done.rebuilt), (4, vec![]));
        assert_eq!(listed(&site), [(2, true, true, "ck.2".to_string())]);
        let flush = records::read_flush_file(&Posix, &prefix(&site)).unwrap();
        assert!(!flush.datasets[&2].needs_flush() && flush.datasets[&1].needs_flush());
        // As a flush leaves it.
        let names = names_in(prefix(&site).dataset(2));
        assert_eq!(names, ["rank2file", "rank2file.0.0", "summary.scr"]);
        restart_afresh(&site, &nodes(4), "ck.2");
    }
}

#[test]
fn with_nodes_down_their_files_are_rebuilt() {
    for (scheme, lost) in [
        ("PARTNER", &["n1"][..]),
        ("XOR", &["n0"]),
        ("XOR", &["n3"]),
        ("RS", &["n1", "n2"]),
    ] {
        let all = double_nodes(4);
        let site = killed(scheme, &["ck.1"], &all);
        let done = saved(&site, &others(&all, lost), 1).unwrap();
        assert_eq!(
            (done.ranks, done.rebuilt.len()),
            (8, 2 * lost.len()),
            "{scheme}"
        );
        expect_saved(&site, "ck.1", "");
        let names = names_in(prefix(&site).dataset(1));
        assert_eq!(names, ["rank2file", "rank2file.0.0", "summary.scr"]);
        restart_afresh(&site, &all, "ck.1");
    }
}

#[test]
fn more_than_the_scheme_stands_leaves_what_was_there() {
    let site = Site::new().set("SCR_CACHE_SIZE", "2").set("SCR_FLUSH", "2");
    site.run(&nodes(4), |rank| {
        for name in ["ck.1", "ck.2", "ck.3"] {
            rank.checkpoint(name).unwrap();
        }
    });
    let error = saved(&site, &["n0", "n3"], 3).unwrap_err().to_string();
    assert!(
        error.contains("dataset 3 (ck.3)") && error.contains("1, 2"),
        "{error}"
    );
    let rows = listed(&site);
    assert_eq!(rows[0], (3, false, false, "ck.3".to_string()));
    assert_eq!(rows[1], (2, true, true, "ck.2".to_string()));
    assert!(!prefix(&site).dataset(3).join("summary.scr").exists());
    // The other nodes are back: what was copied counts.
    let first = copied(&site, "n0", 3);
    assert_eq!((first.files, first.problems), (0, vec![]));
    saved(&site, &["n1"], 3).unwrap();
    assert_eq!(listed(&site)[0], (3, true, true, "ck.3".to_string()));
    restart_afresh(&site, &nodes(4), "ck.3");
}

#[test]
fn copies_are_idempotent_and_only_the_needed_redundancy_goes() {
    let all = double_nodes(4);
    let site = killed("XOR", &["ck.1"], &all);
    let place = prefix(&site);
    let count = |redundancy, node: &str| {
        let done = copy(
            &copy_settings(&Posix, &place, redundancy),
            &caches(&site, node),
            1,
        );
        assert_eq!(done.problems, []);
        assert_eq!(done.ranks.len(), 2);
        done.files
    };
    for node in ["n0", "n1", "n2"] {
        assert_eq!(count(Redundancy::None, node), 2);
        assert_eq!(count(Redundancy::None, node), 0);
    }
    // Both sets lack a member as long as n3 is missing.
    assert_eq!(count(Redundancy::Needed(&[]), "n0"), 2);
    assert_eq!(count(Redundancy::Needed(&[]), "n0"), 0);
    assert_eq!(count(Redundancy::None, "n3"), 2);
    assert_eq!(count(Redundancy::Needed(&[]), "n1"), 0);
    assert_eq!(count(Redundancy::All, "n1"), 2);
    assert!(built(&site, 1).unwrap().rebuilt.is_empty());
    assert!(built(&site, 1).unwrap().rebuilt.is_empty());
    expect_saved(&site, "ck.1", "");
    let nothing = copied(&site, "n7", 1);
    assert!(nothing.dataset.is_none() && nothing.problems.is_empty());
    assert!(
        built(&site, 9)
            .unwrap_err()
            .to_string()
            .contains("there is nothing of it")
    );
}

/// A flush that fails on rank 2; the others have copied their files.
fn half_flushed(scheme: &str, count: usize) -> Site {
    let site = Site::new()
        .set("SCR_COPY_TYPE", scheme)
        .set("SCR_FLUSH", "1");
    let in_the_way = site.prefix().join("ck.1/rank_2.dat");
    std::fs::create_dir_all(&in_the_way).unwrap();
    for flushed in site.run(&nodes(count), |rank| rank.checkpoint("ck.1")) {
        assert!(flushed.is_err(), "{flushed:?}");
    }
    std::fs::remove_dir(in_the_way).unwrap();
    assert_eq!(listed(&site), [(1, false, false, "ck.1".to_string())]);
    site
}

#[test]
fn a_flush_half_done_is_completed() {
    let site = half_flushed("XOR", 4);
    // CopyResult by the flush, and not again.
    assert_eq!(copied(&site, "n0", 1).files, 1, "only the redundancy file");
    saved(&site, &["n0", "n2", "n3"], 1).unwrap();
    expect_saved(&site, "ck.1", "");
    restart_afresh(&site, &nodes(4), "ck.1");
}

#[test]
fn files_that_a_flush_had_brought_make_up_for_lost_nodes() {
    // Three nodes are lost where two may be, but of two of them the flush had saved the files.
    let site = half_flushed("RS", 6);
    let done = saved(&site, &["n1", "n3", "n5"], 1).unwrap();
    assert_eq!(done.rebuilt, [2]);
    restart_afresh(&site, &nodes(6), "ck.1");
}

#[test]
fn a_full_prefix_directory_saves_nothing_half() {
    let site = killed("XOR", &["ck.1"], &nodes(3));
    let up = ["n0", "n1"];
    // Room for so much and no more, until there is enough.
    let mut enough = false;
    for room in (0..40).map(|n| n * 500) {
        let full = Faulty::new(Posix);
        full.faults().limit_space(Some(room));
        enough = saved_on(&full, &site, &up, 1).is_ok();
        let path = prefix(&site).file("index.scr");
        let complete = path.exists() && index(&site).get(1).is_some_and(|e| e.complete);
        assert!(complete || !enough, "{room} bytes");
        if complete {
            expect_files(&site, 3, &format!("{room} bytes"));
            break;
        }
    }
    assert!(enough);
    restart_afresh(&site, &nodes(3), "ck.1");
}

/// Without what differs from run to run.
fn summary(site: &Site, id: u64) -> Summary {
    let path = prefix(site).dataset(id).join("summary.scr");
    let mut summary: Summary = format::read(&Posix, &path).unwrap();
    summary.dataset.created = 0;
    summary
}

#[test]
fn a_built_dataset_is_like_a_flushed_one() {
    let all = double_nodes(2);
    let flushed = Site::new().set("SCR_FLUSH", "1");
    flushed.run(&all, |rank| rank.checkpoint("ck.1").unwrap());
    let built = killed("XOR", &["ck.1"], &all);
    saved(&built, &["n1"], 1).unwrap();
    let entries = |site: &Site| {
        let mut all: BTreeMap<u64, RankEntry> = BTreeMap::new();
        rank2file::for_each(&Posix, &prefix(site).dataset(1), |rank, entry| {
            all.insert(rank, entry.clone());
            Ok(())
        })
        .unwrap();
        all
    };
    assert_eq!(entries(&flushed), entries(&built));
    assert_eq!(summary(&flushed, 1), summary(&built, 1));
    for name in ["rank2file", "rank2file.0.0"] {
        let bytes = |site: &Site| std::fs::read(prefix(site).dataset(1).join(name)).unwrap();
        assert_eq!(bytes(&flushed), bytes(&built), "{name}");
    }
    let entry = |site: &Site| {
        let mut entry = index(site).get(1).unwrap().clone();
        entry.flushed = None;
        entry.dataset.as_mut().unwrap().created = 0;
        entry
    };
    assert_eq!(entry(&flushed), entry(&built));
}

#[test]
fn what_is_damaged_on_the_way_is_rebuilt() {
    let damage = |path: PathBuf| {
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[7] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    };
    // In a cache: the rank is left out.
    let site = killed("XOR", &["ck.1"], &nodes(4));
    damage(site.dataset("n2", 1).join("rank_2/ck.1/rank_2.dat"));
    let one = copied(&site, "n2", 1);
    assert!(one.ranks.is_empty() && one.problems.len() == 1, "{one:?}");
    assert!(one.problems[0].to_string().contains("rank_2.dat"));
    assert_eq!(saved(&site, &nodes(4), 1).unwrap().rebuilt, [2]);
    // In the prefix directory, after the copy.
    let site = killed("XOR", &["ck.1"], &nodes(4));
    copy_all(&site);
    damage(site.prefix().join("ck.1/rank_1.dat"));
    assert_eq!(built(&site, 1).unwrap().rebuilt, [1]);
    // Cut short, and another file in the place.
    let site = killed("RS", &["ck.1"], &nodes(4));
    copy_all(&site);
    std::fs::write(site.prefix().join("ck.1/rank_1.dat"), b"short").unwrap();
    let other = std::fs::read(site.prefix().join("ck.1/rank_3.dat")).unwrap();
    std::fs::write(site.prefix().join("ck.1/rank_0.dat"), other).unwrap();
    assert_eq!(built(&site, 1).unwrap().rebuilt, [0, 1]);
    restart_afresh(&site, &nodes(4), "ck.1");
}

#[test]
fn names_come_from_the_caches_where_the_flush_file_is_gone() {
    let site = killed("XOR", &["ck.1", "ck.2"], &nodes(3));
    std::fs::remove_file(prefix(&site).file("flush.scr")).unwrap();
    let (found, problems) = list_datasets(&Posix, &caches(&site, "n1")).unwrap();
    assert_eq!(problems, []);
    let found: Vec<(u64, String, usize, Vec<usize>)> = found
        .into_iter()
        .map(|h| {
            (
                h.dataset.id,
                h.dataset.name.to_string(),
                h.ranks,
                h.here.into_iter().collect(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (2, "ck.2".into(), 3, vec![1]),
            (1, "ck.1".into(), 3, vec![1])
        ]
    );
    saved(&site, &["n0", "n1"], 2).unwrap();
    assert_eq!(listed(&site), [(2, true, true, "ck.2".to_string())]);
    // An older one is saved too, and does not become current.
    saved(&site, &["n0", "n1"], 1).unwrap();
    assert_eq!(listed(&site)[1], (1, true, false, "ck.1".to_string()));
    assert!(!prefix(&site).file("flush.scr").exists());
}

#[test]
fn what_a_restart_has_rebuilt_is_saved() {
    let site = killed("XOR", &["ck.1"], &nodes(4));
    site.lose("n1");
    site.expect_restart(&nodes(4), Some("ck.1"));
    site.lose("n2");
    let flush = records::read_flush_file(&Posix, &prefix(&site)).unwrap();
    assert_eq!(flush.datasets[&1].name, Some("ck.1".into()));
    let done = saved(&site, &["n0", "n1", "n3"], 1).unwrap();
    assert_eq!(done.rebuilt, [2]);
    expect_saved(&site, "ck.1", "");
    restart_afresh(&site, &nodes(4), "ck.1");
}

#[test]
fn what_a_restart_has_fetched_is_saved() {
    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&nodes(4), |rank| rank.checkpoint("ck.1").unwrap());
    restart_afresh(&site, &nodes(4), "ck.1");
    let flush = records::read_flush_file(&Posix, &prefix(&site)).unwrap();
    assert_eq!(flush.datasets[&1].name, Some("ck.1".into()));
    // The caches have the only copy now.
    std::fs::remove_dir_all(site.prefix().join("ck.1")).unwrap();
    std::fs::remove_dir_all(prefix(&site).dataset(1)).unwrap();
    saved(&site, &["n0", "n1", "n2"], 1).unwrap();
    expect_saved(&site, "ck.1", "");
    restart_afresh(&site, &nodes(4), "ck.1");
}

#[test]
fn a_node_with_a_dataset_from_an_earlier_time_is_refused() {
    let site = killed("XOR", &["old"], &nodes(4));
    // n3 goes away; the job begins again on other nodes, and its first dataset has number 1 too.
    let kept = site.node("kept");
    std::fs::rename(site.node("n3"), &kept).unwrap();
    for node in ["n0", "n1", "n2"] {
        site.lose(node);
    }
    site.run(&nodes(4), |rank| rank.checkpoint("new").unwrap());
    std::fs::remove_dir_all(site.node("n3")).unwrap();
    std::fs::rename(&kept, site.node("n3")).unwrap();
    let stale = copied(&site, "n3", 1);
    assert!(
        stale.ranks.is_empty() && stale.problems.len() == 1,
        "{stale:?}"
    );
    assert!(
        stale.problems[0]
            .to_string()
            .contains("is older than the dataset")
    );
    let done = saved(&site, &nodes(4), 1).unwrap();
    assert_eq!(
        (done.dataset.name.to_string().as_str(), done.rebuilt),
        ("new", vec![3])
    );
    assert!(!site.prefix().join("old").exists());
    restart_afresh(&site, &nodes(4), "new");
}

#[test]
fn what_is_left_of_an_earlier_dataset_of_that_number_does_not_count() {
    // All of an old one was copied and never built; most of a new one is lost.
    let site = killed("RS", &["old"], &nodes(4));
    copy_all(&site);
    empty_caches(&site);
    std::fs::remove_file(prefix(&site).file("index.scr")).unwrap();
    // The id is used again, as the directory is not there when the run begins.
    let (records, aside) = (prefix(&site).dataset(1), site.outside());
    std::fs::rename(&records, &aside).unwrap();
    site.run(&nodes(4), |rank| rank.checkpoint("new").unwrap());
    std::fs::rename(&aside, &records).unwrap();
    let error = saved(&site, &["n2"], 1).unwrap_err().to_string();
    assert!(error.contains("dataset 1 (new)"), "{error}");
    assert_eq!(listed(&site), [(1, false, false, "new".to_string())]);
    let done = saved(&site, &["n1"], 1).unwrap();
    assert_eq!(done.rebuilt, [0, 3]);
    restart_afresh(&site, &nodes(4), "new");
}

#[test]
fn a_store_that_all_nodes_see_is_saved_without_those_that_are_down() {
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
    let first = CopySettings {
        node: "n1",
        ..copy_settings(&Posix, &place, Redundancy::None)
    };
    // In a first round everyone brings its own, in a second one whoever is left all.
    let own = copy(&first, &stores, 1);
    assert_eq!((own.ranks, own.problems), ([2, 3].into(), vec![]));
    let second = CopySettings {
        redundancy: Redundancy::Needed(&[]),
        ..first
    };
    let all = copy(&second, &stores, 1);
    assert_eq!((all.ranks.len(), all.files), (6, 4));
    assert!(built(&site, 1).unwrap().rebuilt.is_empty());
    std::fs::remove_dir_all(&store).unwrap();
    site.expect_restart(&double_nodes(3), Some("ck.1"));
}

#[test]
fn what_a_flush_has_synced_is_not_written_over_with_a_torn_file() {
    let site = Site::new()
        .set("SCR_COPY_TYPE", "SINGLE")
        .set("SCR_FLUSH", "1");
    site.run(&["node0"], |rank| rank.checkpoint("ck.1").unwrap());
    // After a power loss the cache has the first bytes only, and no checksum of the whole file.
    let layout = &caches(&site, "node0")[0];
    let torn = site
        .cache("node0")
        .join("scr.dataset.1/rank_0/ck.1/rank_0.dat");
    let torn = std::fs::OpenOptions::new().write(true).open(torn);
    torn.unwrap().set_len(100).unwrap();
    let record = site.dataset("node0", 1).join(".scr/filemap_0");
    let mut map: Filemap = format::read(&Posix, &record).unwrap();
    map.files.files[0].crc = None;
    format::write(&Posix, &record, &map, Durability::Atomic).unwrap();
    let prefix = prefix(&site);
    let settings = CopySettings {
        metadata: false,
        checksums: false,
        ..copy_settings(&Posix, &prefix, Redundancy::All)
    };
    let copied = copy(&settings, std::slice::from_ref(layout), 1);
    assert!(copied.problems.is_empty(), "{:?}", copied.problems);
    assert!(copied.ranks.contains(&0), "{copied:?}");
    expect_files(&site, 1, "after the copy");
    built(&site, 1).unwrap();
    expect_saved(&site, "ck.1", "after the build");
    // No restart could use it, so the cache is asked again.
    scr::prefix::index::update(&Posix, &prefix, |index| {
        index.mark_failed(1, TIME);
        Ok(())
    })
    .unwrap();
    let copied = copy(&settings, std::slice::from_ref(layout), 1);
    assert_eq!(copied.problems.len(), 1, "{:?}", copied.problems);
}

/// It is not needed any more.
#[test]
fn a_build_does_not_tell_of_lost_redundancy() {
    let site = killed("XOR", &["ck.1"], &nodes(4));
    for node in nodes(3) {
        copied(&site, node, 1);
    }
    let mut notes = Vec::new();
    let done = build(&Posix, &prefix(&site), 1, HOW, &mut notes).unwrap();
    assert_eq!(done.rebuilt, [3]);
    assert!(!notes.is_empty());
    assert!(notes.iter().all(|note| !note.contains(".xor")), "{notes:?}");
}

/// Its time is as it was.
#[test]
fn a_file_that_was_cut_short_since_it_was_copied_is_rebuilt() {
    let site = killed("XOR", &["ck.1"], &nodes(4));
    copy_all(&site);
    let path = site.prefix().join("ck.1/rank_2.dat");
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.set_len(5).unwrap();
    file.set_modified(modified).unwrap();
    assert_eq!(built(&site, 1).unwrap().rebuilt, [2]);
    restart_afresh(&site, &nodes(4), "ck.1");
}
