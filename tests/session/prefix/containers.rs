//! Datasets in containers (`SCR_USE_CONTAINERS`): flushed, fetched, damaged, deleted.

use crate::checkpoints::double_nodes;
use crate::site::{Rank, Site, content, nodes};
use scr::format::Name;
use scr::format::index::Index;
use scr::format::rank2file::Segment;
use scr::prefix::{paths::Prefix, rank2file};
use scr::store::posix::Posix;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A site that flushes each checkpoint into containers of this size.
fn site(size: &str) -> Site {
    Site::in_memory()
        .set("SCR_FLUSH", "1")
        .set("SCR_COPY_TYPE", "SINGLE")
        .set("SCR_USE_CONTAINERS", "1")
        .set("SCR_CONTAINER_SIZE", size)
}

/// Sites with flushes in the foreground and in the background.
fn both(size: &str) -> [Site; 2] {
    let background = site(size)
        .set("SCR_FLUSH_ASYNC", "1")
        .set("SCR_FLUSH_ASYNC_BW", "0");
    [site(size), background]
}

/// The files of a rank: names and sizes.
type Files = fn(usize) -> Vec<(String, usize)>;

fn write(rank: &mut Rank, name: &str, files: Files) {
    rank.session
        .start_output(Some(Name::from(name)), true, false)
        .unwrap();
    for (file, size) in files(rank.rank) {
        let path = rank
            .session
            .route(Path::new(&format!("{name}/{file}")))
            .unwrap();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content(&file, rank.rank, size)).unwrap();
    }
    rank.session.complete_output(true).unwrap();
}

/// Restarts from what is offered, and compares every byte.
fn expect(site: &Site, nodes: &[&str], name: &str, files: Files) {
    site.run(nodes, |rank| {
        let offered = rank.session.have_restart().unwrap().map(|n| n.to_string());
        assert_eq!(offered.as_deref(), Some(name), "{:?}", site.events.lines());
        rank.session.start_restart().unwrap();
        for (file, size) in files(rank.rank) {
            let path = rank
                .session
                .route(Path::new(&format!("{name}/{file}")))
                .unwrap();
            assert!(std::fs::read(path).unwrap() == content(&file, rank.rank, size));
        }
        rank.session.complete_restart(true).unwrap();
    });
}

/// All files below a directory.
fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path))
        } else {
            found.push(path)
        }
    }
    found
}

fn is_container(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    name.starts_with("ctr.")
}

fn prefix(site: &Site) -> Prefix {
    Prefix::new(&site.prefix())
}

fn index(site: &Site) -> Index {
    Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap()
}

fn lose(site: &Site, nodes: &[&str]) {
    let mut nodes = nodes.to_vec();
    nodes.dedup();
    nodes.iter().for_each(|node| site.lose(node));
}

fn many(rank: usize, files: usize) -> Vec<(String, usize)> {
    (0..files)
        .map(|file| (format!("{}/r{rank}.{file}", file % 10), 4096))
        .collect()
}

/// 20,000 files of 4 KiB, over so many ranks, in containers of 16 MiB.
fn twenty_thousand(ranks: usize, files: Files) {
    let (site, nodes) = (site("16m"), nodes(ranks));
    site.run(&nodes, |rank| write(rank, "ck", files));
    lose(&site, &nodes);
    let all = files_below(&site.prefix());
    let (containers, other): (Vec<_>, Vec<_>) = all.into_iter().partition(|p| is_container(p));
    let bytes = 20_000 * 4096_usize;
    assert!(
        containers.len() <= bytes / (16 << 20) + 1 + 4,
        "{}",
        containers.len()
    );
    // Nothing else but metadata.
    assert!(
        other
            .iter()
            .all(|p| p.starts_with(site.prefix().join(".scr"))),
        "{other:?}"
    );
    assert!(other.len() < 20, "{other:?}");
    let length = |path: &PathBuf| std::fs::metadata(path).unwrap().len();
    assert_eq!(containers.iter().map(length).sum::<u64>(), bytes as u64);
    expect(&site, &nodes, "ck", files);
}

#[test]
fn twenty_thousand_files_of_one_rank_are_few() {
    twenty_thousand(1, |rank| many(rank, 20_000));
}

#[test]
fn twenty_thousand_files_of_four_ranks_are_few() {
    twenty_thousand(4, |rank| many(rank, 5_000));
}

#[test]
fn twenty_thousand_files_of_eight_ranks_are_few() {
    twenty_thousand(8, |rank| many(rank, 2_500));
}

/// Empty files, ranks without files, and a file larger than many containers.
fn uneven(rank: usize) -> Vec<(String, usize)> {
    match rank {
        2 => Vec::new(),
        3 => vec![("large".to_string(), 100_000)],
        _ => (0..5)
            .map(|file| (format!("r{rank}.{file}"), file * 1234 * (rank + 1)))
            .collect(),
    }
}

#[test]
fn files_spill_over_the_ends_of_containers() {
    for size in ["1000", "4096", "77777", "100g"] {
        for site in both(size) {
            let nodes = double_nodes(3);
            site.run(&nodes, |rank| {
                write(rank, "old", uneven);
                // The containers of an earlier dataset must not stay.
                write(rank, "ck", uneven);
                rank.finalize().unwrap();
            });
            assert!(!site.prefix().join("ck").exists());
            lose(&site, &nodes);
            expect(&site, &nodes, "ck", uneven);
        }
    }
}

/// The segments of all files by rank.
fn segments(site: &Site, id: u64) -> BTreeMap<u64, Vec<Segment>> {
    let mut found = BTreeMap::new();
    rank2file::for_each(&Posix, &prefix(site).dataset(id), |rank, entry| {
        let of_rank: &mut Vec<Segment> = found.entry(rank).or_default();
        let files = entry.files.values();
        of_rank.extend(files.flat_map(|file| file.segments.clone().unwrap()));
        Ok(())
    })
    .unwrap();
    found
}

#[test]
fn files_of_a_node_are_adjacent() {
    for site in both("100g") {
        // Ranks of a node are not neighbours.
        let nodes = ["n0", "n1", "n2", "n1", "n0", "n2"];
        site.run(&nodes, |rank| {
            write(rank, "ck", |rank| vec![(format!("r{rank}"), 1000)]);
            rank.finalize().unwrap();
        });
        let mut order: Vec<(u64, &str)> = segments(&site, 1)
            .into_iter()
            .map(|(rank, segments)| (segments[0].offset, nodes[rank as usize]))
            .collect();
        order.sort_unstable();
        let order: Vec<&str> = order.into_iter().map(|(_, node)| node).collect();
        assert_eq!(order, ["n0", "n0", "n1", "n1", "n2", "n2"]);
    }
}

#[test]
fn without_the_switch_there_is_no_trace_of_containers() {
    let site = site("100g").set("SCR_USE_CONTAINERS", "0");
    site.run(&["n0"], |rank| rank.checkpoint("ck").unwrap());
    assert!(!files_below(&site.prefix()).iter().any(|p| is_container(p)));
    let leaf = prefix(&site).dataset(1).join("rank2file.0.0");
    let text = format!("{:?}", scr::format::read_tree(&Posix, &leaf).unwrap());
    assert!(!text.contains("SEG") && !text.contains("ATTR"), "{text}");
}

/// Two checkpoints in containers, and nothing in the cache.
fn two(nodes: &[&str]) -> Site {
    let site = site("1500");
    site.run(nodes, |rank| {
        rank.checkpoint("old").unwrap();
        rank.checkpoint("new").unwrap();
    });
    lose(&site, nodes);
    site
}

/// What is done to a container, and a word of the message.
type Damage = (fn(&Path), &'static str);

#[test]
fn a_damaged_container_is_named_and_the_older_checkpoint_restarts() {
    let damages: [Damage; 3] = [
        (
            |path| std::fs::remove_file(path).unwrap(),
            "ctr.1.scr: is missing",
        ),
        (
            |path| {
                let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
                file.set_len(1499).unwrap();
            },
            "ctr.1.scr: is cut short",
        ),
        (
            |path| {
                let mut bytes = std::fs::read(path).unwrap();
                bytes[700] ^= 1;
                std::fs::write(path, bytes).unwrap();
            },
            "was recorded; it begins at offset",
        ),
    ];
    for (damage, why) in damages {
        let nodes = nodes(4);
        let site = two(&nodes);
        damage(&prefix(&site).dataset(2).join("ctr.1.scr"));
        site.expect_restart(&nodes, Some("old"));
        assert!(
            !site.heard(why).is_empty(),
            "{why}: {:?}",
            site.events.lines()
        );
        let index = index(&site);
        assert!(!index.get(2).unwrap().is_good() && index.get(1).unwrap().is_good());
    }
}

#[test]
fn a_restart_in_bypass_extracts_the_files_and_says_so() {
    for (bypass, ranks, files) in [
        ("SCR_CACHE_BYPASS", 3, "3 files"),
        ("SCR_FETCH_BYPASS", 1, "1 file"),
    ] {
        let nodes = nodes(ranks);
        let site = two(&nodes).set(bypass, "1");
        for note in [1, 1] {
            site.expect_restart(&nodes, Some("new"));
            // The second time the files are there already.
            let told = site.heard(&format!("extracted {files} from containers"));
            assert_eq!(told.len(), note, "{told:?}");
        }
        for rank in 0..ranks {
            let path = site.prefix().join(format!("new/rank_{rank}.dat"));
            assert_eq!(
                std::fs::read(path).unwrap(),
                content("new", rank, 1000 + 7 * rank)
            );
        }
        assert!(!site.prefix().join("old").exists());
    }
}

#[test]
fn another_number_of_ranks_extracts_the_files_of_all() {
    let site = two(&nodes(3)).set("SCR_FETCH_BYPASS", "1");
    let offered = site.run(&nodes(2), |rank| {
        let offered = rank.session.have_restart().unwrap();
        rank.finalize().unwrap();
        offered.map(|name| name.to_string())
    });
    assert_eq!(offered, [Some("new".to_string()), Some("new".to_string())]);
    let told = site.heard("extracted 3 files from containers");
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn a_restart_in_bypass_writes_over_no_other_file() {
    let nodes = nodes(3);
    let site = two(&nodes).set("SCR_CACHE_BYPASS", "1");
    let path = site.prefix().join("new/rank_1.dat");
    std::fs::create_dir(site.prefix().join("new")).unwrap();
    std::fs::write(&path, "mine").unwrap();
    site.expect_none_now(&nodes, "another file is there");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    assert!(index(&site).get(2).unwrap().is_good());
    std::fs::remove_file(path).unwrap();
    site.expect_restart(&nodes, Some("new"));
}

#[test]
fn in_bypass_the_switch_is_without_effect_and_a_note_says_so() {
    let site = site("1000").set("SCR_CACHE_BYPASS", "1");
    site.run(&nodes(2), |rank| rank.checkpoint("ck").unwrap());
    assert_eq!(site.heard("SCR_USE_CONTAINERS=1 has no effect").len(), 1);
    assert!(!files_below(&site.prefix()).iter().any(|p| is_container(p)));
    site.expect_restart(&nodes(2), Some("ck"));
}

#[test]
fn deletion_takes_the_containers_and_what_was_extracted_from_them() {
    let nodes = nodes(3);
    let site = two(&nodes);
    let fetched = site.set("SCR_FETCH_BYPASS", "1");
    fetched.expect_restart(&nodes, Some("new"));
    assert!(fetched.prefix().join("new/rank_0.dat").exists());
    fetched.run(&nodes, |rank| {
        for name in ["new", "old"] {
            rank.session.delete(&Name::from(name)).unwrap();
        }
    });
    assert!(!fetched.prefix().join("new").exists());
    for id in [1, 2] {
        assert!(!prefix(&fetched).dataset(id).exists());
    }
    assert!(index(&fetched).datasets().is_empty());
}

/// Nobody knows its name when the dataset is gone.
#[test]
fn deletion_takes_what_a_killed_extraction_has_left() {
    let nodes = nodes(2);
    let site = two(&nodes);
    let dir = site.prefix().join("old");
    std::fs::create_dir(&dir).unwrap();
    let name = format!(".scr.extract.{:08x}.10", crc32fast::hash(b"rank_0.dat"));
    std::fs::write(dir.join(name), "half").unwrap();
    site.run(&nodes, |rank| {
        rank.session.delete(&Name::from("old")).unwrap()
    });
    assert!(!dir.exists());
}

#[test]
fn plain_files_go_though_a_dataset_in_containers_has_the_same_names() {
    // Both datasets have these names: the first is plain, the second in containers.
    let nodes = nodes(2);
    let mut site = site("1500").set("SCR_USE_CONTAINERS", "0");
    let write = |rank: &mut Rank, name: &str| {
        rank.session
            .start_output(Some(name.into()), true, false)
            .unwrap();
        let file = format!("same/{}", rank.rank);
        let path = rank.session.route(Path::new(&file)).unwrap();
        std::fs::write(path, content(name, rank.rank, 500)).unwrap();
        rank.session.complete_output(true).unwrap();
    };
    site.run(&nodes, |rank| write(rank, "plain"));
    site = site.set("SCR_USE_CONTAINERS", "1");
    site.run(&nodes, |rank| write(rank, "contained"));
    assert_eq!(
        std::fs::read(site.prefix().join("same/1")).unwrap(),
        content("plain", 1, 500)
    );
    site.run(&nodes, |rank| rank.session.delete(&"plain".into()).unwrap());
    assert!(!site.prefix().join("same").exists());
    lose(&site, &nodes);
    site.run(&nodes, |rank| {
        assert_eq!(
            rank.session.have_restart().unwrap(),
            Some("contained".into())
        );
        rank.session.start_restart().unwrap();
        let path = rank
            .session
            .route(Path::new(&format!("same/{}", rank.rank)))
            .unwrap();
        assert_eq!(
            std::fs::read(path).unwrap(),
            content("contained", rank.rank, 500)
        );
        rank.session.complete_restart(true).unwrap();
    });
}

#[test]
fn a_dataset_in_containers_is_completed_without_its_index_entry() {
    let nodes = nodes(3);
    let site = two(&nodes);
    std::fs::remove_file(site.prefix().join(".scr/index.scr")).unwrap();
    let prefix = prefix(&site);
    let mut notes = Vec::new();
    let how = scr::scavenge::BuildSettings {
        node: "n0",
        time: "2026-01-01T00:00:00",
        checksums: true,
        watch: &(),
    };
    let built = scr::scavenge::build(&Posix, &prefix, 2, how, &mut notes);
    assert_eq!(built.unwrap().ranks, 3);
    site.expect_restart(&nodes, Some("new"));
    std::fs::remove_file(prefix.dataset(1).join("ctr.0.scr")).unwrap();
    let built = scr::scavenge::build(&Posix, &prefix, 1, how, &mut notes);
    let text = built.unwrap_err().to_string();
    assert!(text.contains("ctr.0.scr"), "{text}");
}

#[test]
fn a_full_prefix_file_system_leaves_the_dataset_in_the_cache_and_the_next_flush_succeeds() {
    use scr::store;
    use scr_testing::faulty::Faulty;
    let nodes = nodes(2);
    let files = Faulty::new(Posix);
    let faults = files.faults();
    let mut site = site("1500").set("SCR_CACHE_SIZE", "2");
    let files: std::sync::Arc<dyn store::Files> = std::sync::Arc::new(files);
    site.by_rank = vec![None, Some(files)];
    let large: Files = |rank| vec![(format!("f{rank}"), 20_000)];
    site.run(&nodes, |rank| {
        write(rank, "old", large);
        rank.session
            .start_output(Some("new".into()), true, false)
            .unwrap();
        let path = rank
            .session
            .route(Path::new(&format!("new/f{}", rank.rank)))
            .unwrap();
        std::fs::write(path, content(&format!("f{}", rank.rank), rank.rank, 20_000)).unwrap();
        if rank.rank == 1 {
            // There is room for the records, and not for the file.
            faults.limit_space(Some(10_000));
        }
        let error = rank.session.complete_output(true).unwrap_err().to_string();
        assert!(
            error.contains("ctr.") && error.contains("still in the cache"),
            "{error}"
        );
        faults.limit_space(None);
    });
    assert!(!index(&site).get(2).unwrap().complete);
    site.by_rank.clear();
    expect(&site, &nodes, "new", large);
    site.run(&nodes, |rank| write(rank, "newer", large));
    lose(&site, &nodes);
    expect(&site, &nodes, "newer", large);
}
