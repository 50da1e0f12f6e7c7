//! Files with holes: parity, copies, what is rebuilt, containers and what is fetched keep them.

use crate::site::{Rank, Site, content, nodes};
use scr::store::posix::Posix;
use scr_testing::faulty::Faulty;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

/// Size of each rank's file, of which [`DATA`] bytes are no hole.
const SIZE: usize = 8 << 20;
const DATA: usize = 8 << 10;

/// The bytes of all files below a directory that take space.
fn space(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let of = |path: std::path::PathBuf| {
        if path.is_dir() {
            space(&path)
        } else {
            std::fs::metadata(&path).unwrap().blocks() * 512
        }
    };
    entries.map(of).sum()
}

fn file(rank: &Rank) -> String {
    format!("ck/rank_{}.dat", rank.rank)
}

fn expected(rank: usize) -> Vec<u8> {
    let mut bytes = vec![0; SIZE];
    bytes[SIZE / 3..SIZE / 3 + DATA].copy_from_slice(&content("ck", rank, DATA));
    bytes
}

fn write(rank: &mut Rank, dense: bool) {
    let file = file(rank);
    let session = &mut rank.session;
    session
        .start_output(Some("ck".into()), true, false)
        .unwrap();
    let path = session.route(Path::new(&file)).unwrap();
    if dense {
        std::fs::write(path, content("dense", rank.rank, SIZE)).unwrap();
    } else {
        let file = std::fs::File::create(path).unwrap();
        file.set_len(SIZE as u64).unwrap();
        let data = content("ck", rank.rank, DATA);
        file.write_all_at(&data, SIZE as u64 / 3).unwrap();
    }
    session.complete_output(true).unwrap();
    session.finish_background().unwrap();
}

fn read(rank: &mut Rank) {
    let file = file(rank);
    let session = &mut rank.session;
    assert!(session.have_restart().unwrap().is_some());
    session.start_restart().unwrap();
    let path = session.route(Path::new(&file)).unwrap();
    assert!(std::fs::read(path).unwrap() == expected(rank.rank));
    session.complete_restart(true).unwrap();
}

/// What a rank may take for its data, its redundancy and its records: by far less than one file.
const LITTLE: u64 = 1 << 20;

fn expect_little(site: &Site, nodes: &[&str], what: &str) {
    for node in nodes {
        let space = space(&site.cache(node));
        assert!(space < LITTLE, "{what}: {space} on {node}");
    }
}

#[test]
fn redundancy_and_what_is_rebuilt_or_fetched_keep_holes() {
    for (scheme, containers) in [("XOR", "0"), ("PARTNER", "1"), ("RS", "0")] {
        let mut site = Site::in_memory().set("SCR_COPY_TYPE", scheme);
        // What may be holes needs no room.
        let files = Faulty::new(Posix);
        files.faults().refuse("allocate", libc::ENOSPC, |_| true);
        site.files = Arc::new(files);
        let site = site
            .set("SCR_FLUSH", "1")
            .set("SCR_USE_CONTAINERS", containers);
        let site = site.set("SCR_CONTAINER_SIZE", "3m");
        site.run(&nodes(4), |rank| write(rank, false));
        expect_little(&site, &nodes(4), scheme);
        let prefix = space(&site.prefix());
        assert!(prefix < LITTLE, "{scheme}: {prefix}");
        site.lose("n1");
        let now = ["n0", "s1", "n2", "n3"];
        site.run(&now, read);
        expect_little(&site, &now, "rebuilt");
        now.iter().for_each(|node| site.lose(node));
        site.run(&nodes(4), read);
        expect_little(&site, &nodes(4), "fetched");
    }
}

/// The redundancy file of the older one is written over, and has no holes.
#[test]
fn redundancy_that_takes_the_place_of_another_has_zeros_where_that_has_data() {
    let site = Site::in_memory().set("SCR_FLUSH", "0");
    site.run(&nodes(3), |rank| {
        write(rank, true);
        write(rank, false);
    });
    site.lose("n1");
    site.run(&["n0", "s1", "n2"], read);
}
