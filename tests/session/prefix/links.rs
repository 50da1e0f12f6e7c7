//! Symbolic links in place of directories below the prefix directory: SCR deletes, writes and
//! copies nothing through them. It follows them only in bypass, to check the files that the program
//! wrote.

use crate::site::{Site, content, nodes};
use scr::format::Name;
use scr::format::index::Index;
use scr::store::posix::Posix;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const NODES: [&str; 2] = ["n0", "n1"];

/// All below a directory, links as such, with the content of files. What a run deletes in the background meanwhile is left
/// out.
fn listing(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in unless_gone(std::fs::read_dir(dir)).into_iter().flatten() {
            let Some(entry) = unless_gone(entry) else {
                continue;
            };
            let path = entry.path();
            if unless_gone(entry.file_type()).is_some_and(|kind| kind.is_dir()) {
                todo.push(path)
            } else if let Some(bytes) = unless_gone(std::fs::read(&path)) {
                found.push((path, bytes))
            }
        }
    }
    found.sort();
    found
}

/// What was found of a file or directory that may have been deleted meanwhile.
fn unless_gone<T>(found: std::io::Result<T>) -> Option<T> {
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        found => Some(found.unwrap()),
    }
}

/// Checkpoints `ck.1` to `ck.<count>` in the prefix directory; those of `linked` were moved to
/// another place, and a link leads there. None is in a cache.
fn moved(count: usize, linked: &[usize]) -> Site {
    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&NODES, |rank| {
        for i in 1..=count {
            rank.checkpoint(&format!("ck.{i}")).unwrap();
        }
    });
    std::fs::create_dir(site.outside()).unwrap();
    for i in linked {
        let (dir, to) = (dir(&site, *i), site.outside().join(format!("ck.{i}")));
        std::fs::rename(&dir, &to).unwrap();
        symlink(&to, &dir).unwrap();
    }
    NODES.iter().for_each(|node| site.lose(node));
    site
}

fn dir(site: &Site, i: usize) -> PathBuf {
    site.prefix().join(format!("ck.{i}"))
}

fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}

/// The names that the index calls good.
fn good(site: &Site) -> Vec<String> {
    let index = Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap();
    let good = index.datasets().iter().filter(|(_, entry)| entry.is_good());
    good.map(|(id, _)| index.name(*id).unwrap().to_string())
        .collect()
}

#[test]
fn a_link_is_deleted_through_by_no_way_of_deleting() {
    for bypass in ["0", "1"] {
        let site = moved(2, &[1]).set("SCR_CACHE_BYPASS", bypass);
        let before = listing(&site.outside());
        let told = site.run(&NODES, |rank| rank.session.delete(&Name::from("ck.1")));
        for told in told {
            let told = told.expect_err("a link is in the way").to_string();
            for part in ["ck.1 is a symbolic link to", "scr index --drop ck.1"] {
                assert!(told.contains(part), "{told}");
            }
        }
        assert!(listing(&site.outside()) == before && is_link(&dir(&site, 1)));
        assert_eq!(good(&site), ["ck.1", "ck.2"]);

        let site = site.set("SCR_PREFIX_SIZE", "1");
        site.run(&NODES, |rank| {
            rank.session.have_restart().unwrap();
            rank.checkpoint("ck.3").unwrap();
        });
        assert!(listing(&site.outside()) == before && is_link(&dir(&site, 1)));
        assert_eq!(good(&site), ["ck.1", "ck.3"], "{:#?}", site.events.lines());
        assert!(!site.heard("ck.1 is a symbolic link").is_empty());

        let site = site.set("SCR_PREFIX_PURGE", "1");
        for told in site.start(&NODES, |started| started.map(drop)) {
            let told = told.expect_err("not all can be deleted").to_string();
            assert!(told.contains("ck.1 is a symbolic link to"), "{told}");
        }
        assert!(listing(&site.outside()) == before && is_link(&dir(&site, 1)));
    }
}

#[test]
fn a_flush_writes_through_no_link() {
    let site = moved(1, &[]);
    symlink(site.outside(), dir(&site, 2)).unwrap();
    symlink("nowhere", dir(&site, 3)).unwrap();
    for (i, target) in [(2, "outside"), (3, "nowhere")] {
        let told = site.run(&NODES, |rank| {
            rank.session.have_restart().unwrap();
            rank.checkpoint(&format!("ck.{i}"))
                .map_err(|e| e.to_string())
        });
        for told in told {
            let told = told.expect_err("a link is in the way");
            let link = format!("ck.{i} is a symbolic link to");
            assert!(told.contains(&link) && told.contains(target), "{told}");
            assert!(told.contains("it is still in the cache"), "{told}");
        }
    }
    assert_eq!(listing(&site.outside()), []);
    assert!(is_link(&dir(&site, 2)) && is_link(&dir(&site, 3)));
    assert!(!site.prefix().join("nowhere").exists());
}

#[test]
fn a_fetch_copies_nothing_through_a_link_and_holds_nothing_against_the_dataset() {
    let site = moved(1, &[1]);
    site.expect_none_now(&NODES, "ck.1 is a symbolic link to");
    for node in NODES {
        let files = listing(&site.cache(node));
        assert!(files.iter().all(|(path, _)| !path.ends_with("rank_0.dat")));
        assert!(files.iter().all(|(path, _)| !path.ends_with("rank_1.dat")));
    }
    assert_eq!(good(&site), ["ck.1"]);
    std::fs::remove_file(dir(&site, 1)).unwrap();
    std::fs::rename(site.outside().join("ck.1"), dir(&site, 1)).unwrap();
    site.expect_restart(&NODES, Some("ck.1"));
}

/// The cache loses nothing for what cannot come.
#[test]
fn a_link_costs_no_checkpoint_in_the_cache() {
    let site = moved(2, &[2])
        .set("SCR_CACHE_SIZE", "1")
        .set("SCR_FLUSH", "0");
    let site = site.set("SCR_CURRENT", "ck.1");
    site.expect_restart(&NODES, Some("ck.1"));
    // Each run has a directory of its own, into which it takes what it finds.
    let below = |site: &Site| {
        let dir = site.dataset("n0", 1);
        let files = listing(&dir).into_iter();
        let below = files.map(|(path, bytes)| (path.strip_prefix(&dir).unwrap().to_owned(), bytes));
        below.collect::<Vec<_>>()
    };
    let before = below(&site);
    let site = site.set("SCR_CURRENT", "ck.2");
    site.run(&NODES, |rank| {
        let _ = rank.session.have_restart();
    });
    assert!(below(&site) == before);
}

#[test]
fn in_bypass_the_program_may_use_links_and_scr_looks_there() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    std::fs::create_dir(site.outside()).unwrap();
    let away = site.prefix().join("away");
    symlink(site.outside(), &away).unwrap();
    let file = |rank: usize| format!("away/ck.1/rank_{rank}.dat");
    site.run(&NODES, |rank| {
        let name = Some(Name::from("ck.1"));
        rank.session.start_output(name, true, false).unwrap();
        let path = rank.session.route(Path::new(&file(rank.rank))).unwrap();
        std::fs::write(path, content("ck.1", rank.rank, 1000)).unwrap();
        rank.session.complete_output(true).unwrap();
    });
    site.run(&NODES, |rank| {
        let offered = rank.session.have_restart().unwrap();
        assert_eq!(offered, Some(Name::from("ck.1")));
        rank.session.start_restart().unwrap();
        let path = rank.session.route(Path::new(&file(rank.rank))).unwrap();
        assert!(std::fs::read(path).unwrap() == content("ck.1", rank.rank, 1000));
        rank.session.complete_restart(true).unwrap();
    });
    let heard = site.heard("away is a symbolic link; the program reads its files there");
    assert_eq!(heard.len(), 1, "{:#?}", site.events.lines());

    let before = listing(&site.outside());
    site.run(&NODES, |rank| {
        let told = rank.session.delete(&Name::from("ck.1")).unwrap_err();
        assert!(told.to_string().contains("away is a symbolic link to"));
    });
    assert!(listing(&site.outside()) == before && is_link(&away));
    // A cache would get copies.
    let site = site.set("SCR_CACHE_BYPASS", "0");
    site.expect_none_now(&NODES, "away is a symbolic link to");

    // What is behind the link is compared like anything else.
    let site = site.set("SCR_CACHE_BYPASS", "1");
    let damaged = site.outside().join("ck.1/rank_1.dat");
    std::fs::write(&damaged, content("ck.1", 1, 999)).unwrap();
    site.expect_restart(&NODES, None);
    assert!(!site.heard("999 bytes, 1000 were recorded").is_empty());
}

#[test]
fn metadata_behind_a_link_is_neither_read_nor_written() {
    let site = moved(1, &[]);
    let (meta, to) = (site.prefix().join(".scr"), site.outside().join("scr"));
    std::fs::rename(&meta, &to).unwrap();
    symlink(&to, &meta).unwrap();
    let before = listing(&to);
    for told in site.start(&NODES, |started| started.map(drop)) {
        let told = told.expect_err("a link is in the way").to_string();
        assert!(
            told.contains(".scr") && told.contains("symbolic link"),
            "{told}"
        );
    }
    assert!(listing(&to) == before);
}

/// What is above the prefix directory is the user's own business.
#[test]
fn the_prefix_directory_itself_may_be_reached_through_links() {
    let site = moved(1, &[]);
    symlink(site.prefix(), site.outside().join("link")).unwrap();
    let link = site.outside().join("link").to_string_lossy().into_owned();
    let site = site.set("SCR_PREFIX", &link);
    let base = site.outside().join("cache").to_string_lossy().into_owned();
    let site = site
        .set("SCR_CACHE_BASE", &base)
        .set("SCR_CNTL_BASE", &base);
    site.run(&NODES, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
        rank.checkpoint("ck.2").unwrap();
        rank.session.delete(&Name::from("ck.1")).unwrap();
    });
    assert_eq!(good(&site), ["ck.2"]);
    assert!(!dir(&site, 1).exists() && dir(&site, 2).join("rank_0.dat").exists());
}

/// Writing over a file must not change what has another name, too: a backup made by `cp -l`.
#[test]
fn files_with_other_names_are_replaced_and_not_written_over() {
    let site = moved(1, &[]);
    let (file, backup) = (
        dir(&site, 1).join("rank_0.dat"),
        site.outside().join("kept"),
    );
    std::fs::write(&file, "an earlier run").unwrap();
    std::fs::hard_link(&file, &backup).unwrap();
    site.run(&NODES, |rank| {
        let _ = rank.session.have_restart();
        rank.checkpoint("ck.1").unwrap();
    });
    assert_eq!(std::fs::read(&file).unwrap(), content("ck.1", 0, 1000));
    assert_eq!(std::fs::read(&backup).unwrap(), b"an earlier run");
}

/// A linked file of the cache can be read and evicted, and its other name keeps what it has. The
/// redundancy files of what is evicted are written over for what comes.
#[test]
fn hard_links_into_a_cache_keep_their_content() {
    let site = Site::new()
        .set("SCR_FLUSH", "0")
        .set("SCR_CACHE_SIZE", "1")
        .set("SCR_COPY_TYPE", "XOR");
    site.run(&nodes(4), |rank| rank.checkpoint("ck.1").unwrap());
    std::fs::create_dir(site.outside()).unwrap();
    let found = listing(&site.dataset("n1", 1));
    assert!(found.len() >= 3, "{found:?}");
    let kept: Vec<(PathBuf, &[u8])> = (0..)
        .zip(&found)
        .map(|(i, (path, bytes))| {
            let to = site.outside().join(format!("{i}"));
            std::fs::hard_link(path, &to).unwrap();
            (to, bytes.as_slice())
        })
        .collect();
    site.run(&nodes(4), |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
        rank.checkpoint("ck.2").unwrap();
        rank.checkpoint("ck.3").unwrap();
    });
    for (path, bytes) in kept {
        assert!(std::fs::read(&path).unwrap() == bytes, "{}", path.display());
    }
    site.lose("n1");
    site.expect_restart(&["n0", "spare", "n2", "n3"], Some("ck.3"));
}

/// In a directory that others may write to, anything may have been put in place of ours.
#[test]
fn a_cache_that_others_may_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let chmod = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for place in ["user1", "user1/scr.1001"] {
        for mode in [0o770, 0o707] {
            let site = Site::new();
            site.run(&NODES, |rank| rank.checkpoint("ck.1").unwrap());
            let dir = site.node("n1").join(place);
            chmod(&dir, mode);
            for told in site.start(&NODES, |started| started.map(drop)) {
                let told = told.expect_err("others may write there").to_string();
                for part in [place, "others may write to it", "chmod go-w", "n1"] {
                    assert!(told.contains(part), "{told}");
                }
            }
            chmod(&dir, 0o755);
            site.expect_restart(&NODES, Some("ck.1"));
        }
    }
    let site = Site::new();
    site.run(&NODES, |rank| rank.checkpoint("ck.1").unwrap());
    chmod(&site.node("n1"), 0o777);
    for told in site.start(&NODES, |started| started.map(drop)) {
        let told = told.expect_err("everybody may write there").to_string();
        for part in ["everybody may write to it", "no sticky bit", "n1"] {
            assert!(told.contains(part), "{told}");
        }
    }
    // The sticky bit does not bind the owner. Only root can give a directory away.
    chmod(&site.node("n1"), 0o1777);
    if std::os::unix::fs::chown(site.node("n1"), Some(12345), None).is_ok() {
        for told in site.start(&NODES, |started| started.map(drop)) {
            let told = told.expect_err("its owner may rename ours").to_string();
            for part in ["belongs to user 12345", "its owner can rename", "n1"] {
                assert!(told.contains(part), "{told}");
            }
        }
        std::os::unix::fs::chown(site.node("n1"), Some(0), None).unwrap();
    }
    // The group is trusted, and the sticky bit keeps everybody else off what is ours.
    for mode in [0o775, 0o1777] {
        chmod(&site.node("n1"), mode);
        site.expect_restart(&NODES, Some("ck.1"));
    }
}
