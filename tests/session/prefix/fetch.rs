//! A fetch checks everything: it finds and names each damaged file, then the next older dataset is
//! offered. Nothing outside of the prefix directory changes.

use crate::site::{Site, content};
use scr::format::index::Index;
use scr::format::{Name, Tree, encode, read_tree};
use scr::store::posix::Posix;
use std::fs;
use std::path::{Path, PathBuf};

const NODES: [&str; 2] = ["n0", "n1"];

/// Two checkpoints in the prefix, none in the cache.
fn two(bypass: &str) -> Site {
    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    NODES.iter().for_each(|node| site.lose(node));
    site.set("SCR_CACHE_BYPASS", bypass)
}

fn index(site: &Site) -> Index {
    Index::read(&Posix, &site.prefix().join(".scr/index.scr")).unwrap()
}

fn failed(site: &Site, id: u64) -> bool {
    index(site).get(id).unwrap().failed.is_some()
}

/// Damages the newer checkpoint in each way, with and without bypass: the older one comes.
fn damaged(what: &str, named: &str, damage: impl Fn(&Path)) {
    for bypass in ["0", "1"] {
        let site = two(bypass);
        let beside = site.prefix().with_file_name("beside");
        fs::write(&beside, "not ours").unwrap();
        damage(&site.prefix());
        let names = site.run(&NODES, |rank| rank.restart());
        assert!(
            names.iter().all(|name| name.as_deref() == Some("ck.1")),
            "{what}, bypass {bypass}: {names:?}, {:?}",
            site.events.lines()
        );
        let said = site.heard("cannot fetch dataset 2 (ck.2)");
        assert_eq!(said.len(), 1, "{what}: {:?}", site.events.lines());
        assert!(said[0].contains(named), "{what}: {said:?}");
        assert!(failed(&site, 2) && !failed(&site, 1), "{what}");
        assert_eq!(index(&site).current(), Some(&Name::from("ck.1")));
        assert_eq!(fs::read(&beside).unwrap(), b"not ours", "{what}");
    }
}

fn data(prefix: &Path) -> PathBuf {
    prefix.join("ck.2/rank_1.dat")
}

#[test]
fn a_flipped_byte_is_found_and_named() {
    for at in [0, 500, 1006] {
        damaged("flipped", "ck.2/rank_1.dat: has CRC32 0x", |prefix| {
            let mut bytes = fs::read(data(prefix)).unwrap();
            bytes[at] ^= 0x10;
            fs::write(data(prefix), bytes).unwrap();
        });
    }
}

#[test]
fn a_file_that_is_no_whole_file_is_found_and_named() {
    damaged(
        "cut",
        "rank_1.dat: has 1006 bytes, 1007 were recorded",
        |prefix| {
            let bytes = fs::read(data(prefix)).unwrap();
            fs::write(data(prefix), &bytes[..1006]).unwrap();
        },
    );
    damaged(
        "longer",
        "rank_1.dat: has 1008 bytes, 1007 were recorded",
        |prefix| {
            let bytes = fs::read(data(prefix)).unwrap();
            fs::write(data(prefix), [&bytes[..], b"x"].concat()).unwrap();
        },
    );
    damaged("missing", "rank_1.dat: is missing", |prefix| {
        fs::remove_file(data(prefix)).unwrap();
    });
    let odd = "rank_1.dat: is not a regular file";
    damaged("directory", odd, |prefix| {
        fs::remove_file(data(prefix)).unwrap();
        fs::create_dir(data(prefix)).unwrap();
    });
    damaged("symbolic link", odd, |prefix| {
        let moved = prefix.join("moved");
        fs::rename(data(prefix), &moved).unwrap();
        std::os::unix::fs::symlink(moved, data(prefix)).unwrap();
    });
    damaged("FIFO", odd, |prefix| {
        fs::remove_file(data(prefix)).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(data(prefix))
            .status();
        assert!(made.unwrap().success());
    });
}

/// Changes the tree of a record of dataset 2.
fn edit(prefix: &Path, file: &str, change: impl Fn(&mut Tree)) {
    let path = prefix.join(".scr/scr.dataset.2").join(file);
    let mut tree = read_tree(&Posix, &path).unwrap();
    change(&mut tree);
    fs::write(path, encode(&tree)).unwrap();
}

/// A leaf whose only entries are files of rank 1 and, as it was, of rank 0.
fn leaf_with(files: &[&str]) -> Tree {
    let mut list = Tree::new();
    for file in files {
        list.set(*file, Tree::new());
    }
    let mut entry = Tree::new();
    entry.set("FILE", list);
    let mut ranks = Tree::new();
    let mut zero = Tree::new();
    let mut file = Tree::new();
    file.set("ck.2/rank_0.dat", Tree::new());
    zero.set("FILE", file);
    ranks.set("0", zero);
    ranks.set("1", entry);
    let mut leaf = Tree::new();
    leaf.set_value("LEVEL", "0").set_value("RANKS", "2");
    leaf.set("RANK", ranks);
    leaf
}

#[test]
fn paths_in_a_record_never_lead_out_of_the_prefix() {
    for path in [
        "../beside",
        "/etc/hostname",
        "ck.2/../../beside",
        ".scr/index.scr",
    ] {
        damaged(path, path, |prefix| {
            edit(prefix, "rank2file.0.0", |leaf| *leaf = leaf_with(&[path]))
        });
    }
    damaged("leaf outside", "rank2file", |prefix| {
        edit(prefix, "rank2file", |root| {
            let mut child = Tree::new();
            child
                .set_value("FILE", "/../../../beside")
                .set_value("OFFSET", "0");
            let mut ranks = Tree::new();
            ranks.set("0", child);
            root.set("RANK", ranks);
        });
    });
}

#[test]
fn a_hostile_map_is_refused() {
    damaged(
        "two ways to one leaf",
        "names rank2file.0.0, which another entry names too",
        |prefix| {
            edit(prefix, "rank2file", |root| {
                let mut ranks = Tree::new();
                for rank in ["0", "1"] {
                    let mut child = Tree::new();
                    child.set_value("FILE", ".0.0").set_value("OFFSET", "0");
                    ranks.set(rank, child);
                }
                root.set("RANK", ranks);
            });
        },
    );
    damaged("branch below itself", "rank2file", |prefix| {
        let root = prefix.join(".scr/scr.dataset.2/rank2file");
        fs::copy(&root, root.with_file_name("rank2file.0.0")).unwrap();
    });
    damaged("no entry for a rank", "rank 1 has no entry", |prefix| {
        edit(prefix, "rank2file.0.0", |leaf| {
            let mut ranks = leaf.get("RANK").unwrap().clone();
            ranks.remove("1");
            leaf.set("RANK", ranks);
        });
    });
    damaged("a file less", "records 2 files with 2007 bytes", |prefix| {
        edit(prefix, "rank2file.0.0", |leaf| *leaf = leaf_with(&[]));
    });
    damaged("another name", "describes dataset 2 (ck.9)", |prefix| {
        edit(prefix, "summary.scr", |summary| {
            let mut dataset = summary.get("DSET").unwrap().clone();
            dataset.set_value("NAME", "ck.9");
            summary.set("DSET", dataset);
        });
    });
    damaged(
        "not complete",
        "says that the dataset is not complete",
        |prefix| {
            edit(prefix, "summary.scr", |summary| {
                summary.set_value("COMPLETE", "0");
            });
        },
    );
}

#[test]
fn any_bytes_in_a_record_are_refused() {
    for file in ["summary.scr", "rank2file", "rank2file.0.0"] {
        damaged(file, file, |prefix| {
            fs::remove_file(prefix.join(".scr/scr.dataset.2").join(file)).unwrap();
        });
        damaged(file, file, |prefix| {
            let path = prefix.join(".scr/scr.dataset.2").join(file);
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        });
        damaged(file, file, |prefix| {
            let path = prefix.join(".scr/scr.dataset.2").join(file);
            fs::write(&path, content(file, 0, 4000)).unwrap();
        });
        damaged(file, file, |prefix| {
            let path = prefix.join(".scr/scr.dataset.2").join(file);
            // A size that nothing could hold, and a tree of more elements than bytes.
            let mut bytes = fs::read(&path).unwrap();
            bytes[20..24].copy_from_slice(&u32::MAX.to_be_bytes());
            let end = bytes.len() - 4;
            let crc = crc32fast::hash(&bytes[..end]).to_be_bytes();
            bytes[end..].copy_from_slice(&crc);
            fs::write(&path, bytes).unwrap();
        });
    }
}

#[test]
fn a_huge_number_of_ranks_is_another_number_of_ranks() {
    let site = two("0");
    edit(&site.prefix(), "rank2file", |root| {
        root.set_value("RANKS", "18446744073709551615");
    });
    for told in site.run(&NODES, |rank| rank.session.have_restart()) {
        let error = told.unwrap_err().to_string();
        assert!(
            error.contains("was written by 18446744073709551615 ranks"),
            "{error}"
        );
    }
    let site = site.set("SCR_START_ANEW", "1");
    site.expect_restart(&NODES, Some("ck.1"));
}

#[test]
fn an_index_that_cannot_be_read_stops_the_start_and_stays() {
    let bytes = |tree: &Tree| encode(tree);
    let mut newer = Tree::new();
    newer.set_value("VERSION", "3").set_value("CURRENT", "ck.2");
    let mut nothing = Tree::new();
    nothing.set_value("CURRENT", "ck.2");
    for (content, said) in [
        (bytes(&newer), "the index has version 3"),
        (bytes(&nothing), "the index has no version"),
        (content("index", 0, 1000), "index.scr"),
        (b"VERSION=2\n".to_vec(), "index.scr"),
    ] {
        for bypass in ["0", "1"] {
            let site = two(bypass);
            let path = site.prefix().join(".scr/index.scr");
            fs::write(&path, &content).unwrap();
            let told = site.start(&NODES, |started| started.err().map(|e| e.to_string()));
            for text in told {
                let text = text.expect("SCR_Init fails");
                assert!(text.contains(said) && text.contains("index.scr"), "{text}");
            }
            assert_eq!(fs::read(&path).unwrap(), content);
        }
    }
}

/// An index whose entry of dataset 2 bears another name than the records: the search for a
/// restart must end all the same.
#[test]
fn rejecting_all_that_is_offered_comes_to_an_end() {
    for bypass in ["0", "1"] {
        let site = two(bypass);
        let path = site.prefix().join(".scr/index.scr");
        let mut index = read_tree(&Posix, &path).unwrap();
        let mut names = index.get("NAME").unwrap().clone();
        let mut other = Tree::new();
        other.set_value("DSET", "1");
        names.set("ck.2", other);
        index.set("NAME", names);
        fs::write(&path, encode(&index)).unwrap();
        let counts = site.run(&NODES, |rank| {
            let mut offered = 0;
            while rank.session.have_restart().unwrap().is_some() && offered < 10 {
                offered += 1;
                rank.session.start_restart().unwrap();
                rank.session.complete_restart(rank.rank == 0).unwrap_err();
            }
            offered
        });
        assert!(
            counts
                .iter()
                .all(|count| *count == counts[0] && *count <= 3),
            "{counts:?}"
        );
    }
}

/// Or the newest would come after those that `scr index --add` enters again.
#[test]
fn without_the_index_no_id_is_used_again() {
    let site = two("1");
    fs::remove_file(site.prefix().join(".scr/index.scr")).unwrap();
    site.run(&NODES, |rank| rank.checkpoint("ck.3").unwrap());
    assert_eq!(index(&site).id(&Name::from("ck.3")), Some(3));
}
