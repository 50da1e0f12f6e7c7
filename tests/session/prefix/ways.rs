//! What is in the way of a later flush is told when the first dataset that it concerns is completed.

use crate::site::{Site, nodes};
use scr::store::posix::Posix;
use scr_testing::faulty::{Faults, Faulty};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

/// Only the tenth checkpoint is flushed, or the newest at the end.
fn site() -> Site {
    Site::in_memory()
        .set("SCR_FLUSH", "10")
        .set("SCR_COPY_TYPE", "SINGLE")
}

fn told(site: &Site) -> Vec<String> {
    site.heard("(SCR-322)")
}

/// Three checkpoints; the warnings after each of them.
fn three(site: &Site, mend: impl Fn() + Sync) -> Vec<usize> {
    let counts = site.run(&nodes(2), |rank| {
        let mut counts = Vec::new();
        for name in ["output/ck.1", "output/ck.2", "output/ck.3"] {
            rank.checkpoint(name).unwrap();
            rank.session.should_exit().unwrap();
            counts.push(told(site).len());
            rank.session.should_exit().unwrap();
        }
        if rank.rank == 0 {
            mend();
        }
        rank.session.should_exit().unwrap();
        rank.finalize().unwrap();
        counts
    });
    counts[0].clone()
}

fn disturbed(site: &mut Site) -> Faults {
    let files = Faulty::new(Posix);
    let faults = files.faults();
    site.files = Arc::new(files);
    faults
}

#[test]
fn a_link_and_a_file_in_place_of_a_directory_are_told_at_once() {
    for link in [true, false] {
        let site = site();
        let (place, scratch) = (
            site.prefix().join("output"),
            site.dir.path().join("scratch"),
        );
        std::fs::create_dir(&scratch).unwrap();
        if link {
            symlink(&scratch, &place).unwrap();
        } else {
            std::fs::write(&place, "a file").unwrap();
        }
        let counts = three(&site, || std::fs::remove_file(&place).unwrap());
        assert_eq!(counts, [1, 1, 1], "{:?}", site.events.lines());
        let told = told(&site).remove(0);
        let cause = if link {
            format!("is a symbolic link to {}", scratch.display())
        } else {
            "Not a directory".to_string()
        };
        let names = told.contains("output/ck.1") && told.contains(&*place.to_string_lossy());
        assert!(names && told.contains(&cause), "{told}");
        // It was mended while the run went on.
        assert!(place.join("ck.3/rank_1.dat").is_file());
    }
}

#[test]
fn a_directory_that_may_not_be_written_is_told_and_root_is_asked_as_root() {
    let mut site = site();
    let faults = disturbed(&mut site);
    faults.refuse("write to directory", libc::EACCES, |path| {
        path.ends_with("output")
    });
    std::fs::create_dir(site.prefix().join("output")).unwrap();
    assert_eq!(three(&site, || ()), [1, 1, 1], "{:?}", site.events.lines());
    assert!(told(&site)[0].contains("Permission denied"));
    // For the real file system: this user may write there.
    let site = self::site();
    std::fs::create_dir(site.prefix().join("output")).unwrap();
    assert_eq!(three(&site, || ()), [0, 0, 0], "{:?}", site.events.lines());
}

#[test]
fn what_has_the_name_of_a_file_is_told() {
    let site = site();
    std::fs::create_dir_all(site.prefix().join("output/ck.1/rank_1.dat")).unwrap();
    let counts = three(&site, || ());
    assert_eq!(counts, [1, 1, 1], "{:?}", site.events.lines());
    assert!(told(&site)[0].contains("rank_1.dat"));
}

#[test]
fn a_file_system_with_less_room_than_the_dataset_is_told() {
    let mut site = site();
    let faults = disturbed(&mut site);
    let done = site.run(&nodes(2), |rank| {
        rank.session.should_exit().unwrap();
        faults.limit_space(Some(50_000));
        let session = &mut rank.session;
        session
            .start_output(Some("ck".into()), true, false)
            .unwrap();
        let path = session
            .route(Path::new(&format!("ck/{}", rank.rank)))
            .unwrap();
        std::fs::write(path, vec![1; 100_000]).unwrap();
        session.complete_output(true)
    });
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    let told = told(&site);
    assert_eq!(told.len(), 1, "{:?}", site.events.lines());
    assert!(told[0].contains("195.3 KiB"), "{told:?}");
}

/// A flush in the same call tells it itself, and files in bypass are there already.
#[test]
fn nothing_is_told_twice() {
    for (name, value) in [("SCR_FLUSH", "1"), ("SCR_CACHE_BYPASS", "1")] {
        let site = site().set(name, value);
        let scratch = site.dir.path().join("scratch");
        std::fs::create_dir(&scratch).unwrap();
        symlink(&scratch, site.prefix().join("output")).unwrap();
        site.run(&nodes(2), |rank| rank.checkpoint("output/ck.1").is_ok());
        assert_eq!(told(&site).len(), 0, "{:?}", site.events.lines());
    }
}

/// The shell gives a program the path of its working directory with links, and the system without.
#[test]
fn a_file_may_be_named_through_a_link_above_the_prefix_directory() {
    let site = site();
    let link = site.dir.path().join("link");
    symlink(site.dir.path(), &link).unwrap();
    site.run(&nodes(1), |rank| {
        let session = &mut rank.session;
        session
            .start_output(Some("ck".into()), true, false)
            .unwrap();
        let path = session.route(&link.join("prefix/ck/f")).unwrap();
        assert!(path.ends_with("ck/f"), "{}", path.display());
        std::fs::write(path, "1").unwrap();
        let outside = session.route(&link.join("f")).unwrap_err().to_string();
        assert!(outside.contains("SCR-307"), "{outside}");
        session.complete_output(true).unwrap();
        rank.finalize().unwrap();
    });
    assert!(site.prefix().join("ck/f").is_file());
}
