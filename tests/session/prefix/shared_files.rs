//! A file that several ranks write together: in bypass it works through the whole interface, elsewhere
//! it is refused with its name and the setting.

use crate::site::{Rank, Site, content, nodes};
use scr::format::Name;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

const PART: usize = 300;
const FILE: &str = "ck/shared";

/// A checkpoint with a file of the rank, and one in which each rank has a part.
fn write(rank: &mut Rank) -> scr::Result<()> {
    let name = Some(Name::from("ck"));
    rank.session.start_output(name, true, false)?;
    let own = format!("ck/own_{}", rank.rank);
    std::fs::write(rank.session.route(Path::new(&own))?, own.as_bytes()).unwrap();
    let path = rank.session.route(Path::new(FILE))?;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .unwrap();
    file.seek(SeekFrom::Start((rank.rank * PART) as u64))
        .unwrap();
    file.write_all(&content("ck", rank.rank, PART)).unwrap();
    rank.session.complete_output(true)
}

/// What all ranks have written.
fn whole(ranks: usize) -> Vec<u8> {
    (0..ranks)
        .flat_map(|rank| content("ck", rank, PART))
        .collect()
}

fn offered(rank: &mut Rank) {
    assert!(rank.session.have_restart().unwrap().is_some());
    rank.session.start_restart().unwrap();
}

#[test]
fn in_bypass_all_ranks_write_it_and_each_finds_it_after_a_restart() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    site.run(&nodes(4), |rank| write(rank).unwrap());
    for (ranks, allowed) in [(4, false), (3, true), (6, true)] {
        site.run(&nodes(ranks), |rank| {
            rank.session.allow_other_ranks(allowed).unwrap();
            offered(rank);
            let path = rank.session.route(Path::new(FILE)).unwrap();
            assert_eq!(std::fs::read(path).unwrap(), whole(4));
            let listed: Vec<_> = rank.session.restart_files().unwrap().collect();
            let shared = listed.into_iter().filter_map(scr::Result::ok);
            let of: Vec<u64> = shared
                .filter(|(_, p)| p.ends_with(FILE))
                .map(|(r, _)| r)
                .collect();
            assert_eq!(of, [0], "one rank has it in its list");
            rank.session.complete_restart(true).unwrap();
        });
    }
}

#[test]
fn fetched_into_a_cache_only_its_owner_finds_it_and_the_others_hear_of_the_setting() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    site.run(&nodes(4), |rank| write(rank).unwrap());
    let site = site.set("SCR_CACHE_BYPASS", "0");
    site.run(&nodes(4), |rank| {
        offered(rank);
        match rank.session.route(Path::new(FILE)) {
            Ok(path) => assert_eq!((std::fs::read(path).unwrap(), rank.rank), (whole(4), 0)),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("ck/shared is not a file of rank"), "{text}");
                assert!(text.contains("SCR_GLOBAL_RESTART=1"), "{text}");
            }
        }
        rank.session.complete_restart(true).unwrap();
    });
    // The setting that was named.
    let site = site.set("SCR_GLOBAL_RESTART", "1");
    site.run(&nodes(4), |rank| {
        offered(rank);
        let path = rank.session.route(Path::new(FILE)).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), whole(4));
        rank.session.complete_restart(true).unwrap();
    });
}

/// A site with a store outside of the nodes.
fn outside(flush: &str, group_and_view: &str) -> Site {
    let site = Site::new()
        .set("SCR_COPY_TYPE", "FILE")
        .set("SCR_FLUSH", flush);
    let store = site.outside().display().to_string();
    std::fs::create_dir(&store).unwrap();
    site.configure(&format!(
        "STORE={store} COUNT=2 {group_and_view}\nCKPT=0 INTERVAL=1 STORE={store} TYPE=SINGLE\n"
    ));
    site
}

/// Restarts with so many ranks; each reads the files of all.
fn read_by(site: &Site, ranks: usize, allowed: bool) {
    site.run(&nodes(ranks), |rank| {
        rank.session.allow_other_ranks(allowed).unwrap();
        offered(rank);
        let path = rank.session.route(Path::new(FILE)).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), whole(4));
        for writer in 0..4 {
            let own = format!("ck/own_{writer}");
            let path = rank.session.route(Path::new(&own)).unwrap();
            assert_eq!(std::fs::read(path).unwrap(), own.as_bytes());
        }
        rank.session.complete_restart(true).unwrap();
    });
}

/// Two ranks on each node, so that there are followers of a node, too.
const TWICE: [&str; 4] = ["n0", "n1", "n0", "n1"];

#[test]
fn in_a_store_that_all_nodes_share_it_works_from_the_cache_and_after_a_flush() {
    for flush in ["0", "1"] {
        for (ranks, allowed) in [(4, false), (3, true), (6, true)] {
            let site = outside(flush, "VIEW=GLOBAL");
            site.run(&TWICE, |rank| {
                write(rank).unwrap();
                rank.session.abandon();
            });
            read_by(&site, ranks, allowed);
            if flush == "1" {
                std::fs::remove_dir_all(site.outside()).unwrap();
                std::fs::create_dir(site.outside()).unwrap();
                // Fetched into the store, if the number of ranks is the same.
                read_by(&site, ranks, allowed);
                // And once more from there.
                read_by(&site, ranks, allowed);
            }
        }
    }
}

#[test]
fn in_a_store_that_all_nodes_share_damage_to_it_is_found() {
    let site = outside("0", "VIEW=GLOBAL");
    site.run(&TWICE, |rank| {
        write(rank).unwrap();
        rank.session.finish_background().unwrap();
        rank.session.abandon();
    });
    let found = find(&site.outside(), "shared");
    let mut bytes = std::fs::read(&found).unwrap();
    bytes[3 * PART] ^= 1;
    std::fs::write(&found, bytes).unwrap();
    site.run(&TWICE, |rank| {
        assert!(rank.session.have_restart().unwrap().is_none());
    });
    let told = site.events.lines().join("\n");
    assert!(told.contains("ck/shared: CRC32 is"), "{told}");
}

/// The file of this name below a directory.
fn find(dir: &Path, name: &str) -> std::path::PathBuf {
    let mut todo = vec![dir.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else if path.ends_with(name) {
                return path;
            }
        }
    }
    panic!("there is no {name} below {}", dir.display());
}

#[test]
fn a_store_that_keeps_the_files_of_each_rank_apart_refuses_it_at_once() {
    let site = outside("0", "GROUP=WORLD VIEW=PRIVATE");
    site.run(&nodes(3), |rank| {
        let text = write(rank).unwrap_err().to_string();
        for part in [FILE, "SCR_CACHE_BYPASS=1", "VIEW=GLOBAL"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(rank.session.have_restart().unwrap().is_none());
    });
}

/// Otherwise one checkpoint after the other would be written that can never be flushed.
#[test]
fn in_the_nodes_the_first_dataset_is_refused() {
    for flush in ["0", "1", "10"] {
        for scheme in ["SINGLE", "XOR"] {
            let site = Site::new()
                .set("SCR_FLUSH", flush)
                .set("SCR_CACHE_SIZE", "2")
                .set("SCR_COPY_TYPE", scheme);
            // Of the three nodes one has two ranks.
            site.run(&["n0", "n1", "n1", "n2"], |rank| {
                rank.checkpoint("own").unwrap();
                for _ in 0..2 {
                    let text = write(rank).unwrap_err().to_string();
                    for part in [
                        "dataset",
                        "rank 1 on node n1",
                        "rank 0 has routed ck/shared too",
                        "SCR_CACHE_BYPASS=1",
                        "VIEW=GLOBAL",
                        "a name for each rank",
                    ] {
                        assert!(text.contains(part), "{part}: {text}");
                    }
                }
            });
            site.expect_restart(&["n0", "n1", "n1", "n2"], Some("own"));
        }
    }
}

/// As with MPI-IO, where ranks cannot open a file together that is not one: the program passes `valid` false.
#[test]
fn a_program_that_could_not_open_it_hears_of_the_names() {
    let site = Site::new().set("SCR_FLUSH", "0");
    site.run(&nodes(3), |rank| {
        // (valid, written) of each rank.
        for (valid, written) in [([false; 3], [true; 3]), ([true; 3], [true, false, false])] {
            let name = Some(Name::from("ck"));
            rank.session.start_output(name, true, false).unwrap();
            let path = rank.session.route(Path::new(FILE)).unwrap();
            if written[rank.rank] {
                std::fs::write(path, "x").unwrap();
            }
            let ended = rank.session.complete_output(valid[rank.rank]);
            let text = ended.unwrap_err().to_string();
            let why = if valid[0] {
                "was routed but not written"
            } else {
                "valid=0"
            };
            for part in [why, "rank 0 has routed ck/shared too", "SCR_CACHE_BYPASS=1"] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
        // Without such names there is nothing to tell.
        rank.session
            .start_output(Some("ck".into()), true, false)
            .unwrap();
        let own = format!("ck/{}", rank.rank);
        rank.session.route(Path::new(&own)).unwrap();
        let text = rank.session.complete_output(false).unwrap_err().to_string();
        assert!(!text.contains("has routed"), "{text}");
    });
}
