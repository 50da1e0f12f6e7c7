//! What a start says of the datasets of a run that was killed.

use crate::site::Site;
use scr::store::Files;
use scr::store::posix::Posix;
use scr_testing::faulty::Faulty;
use std::sync::Arc;

const NODES: [&str; 3] = ["n0", "n1", "n2"];

fn faulty(site: &mut Site) -> scr_testing::faulty::Faults {
    let files = Faulty::new(Posix);
    let faults = files.faults();
    site.files = Arc::new(files) as Arc<dyn Files>;
    faults
}

/// What is used from the cache is not said to be unused.
#[test]
fn a_dataset_that_was_being_flushed_is_unused_only_if_the_cache_has_lost_it() {
    for lost in [false, true] {
        let mut site = Site::in_memory()
            .set("SCR_FLUSH", "1")
            .set("SCR_FLUSH_ASYNC", "1")
            .set("SCR_FLUSH_ASYNC_BW", "0");
        let faults = faulty(&mut site);
        faults.hold("prefix/a", "never");
        site.run(&NODES, |rank| {
            rank.checkpoint("a").unwrap();
            rank.session.need_checkpoint().unwrap();
            faults.die_now();
        });
        site.files = Arc::new(Posix);
        if lost {
            NODES.iter().for_each(|node| site.lose(node));
        }
        site.expect_restart(&NODES, (!lost).then_some("a"));
        let heard = |text: &str| site.heard(text).len();
        let all = site.events.lines();
        assert_eq!(heard("it is not used"), usize::from(lost), "{all:?}");
        let has = "dataset 1 (a) is not complete in the prefix directory, since a run ended or failed \
                   during its flush; the cache has it";
        assert_eq!(heard(has), usize::from(!lost), "{all:?}");
    }
}

/// The checksums of one rank were not taken when its file is damaged.
#[test]
fn files_without_checksums_are_a_warning() {
    for damaged in [false, true] {
        let mut site = Site::in_memory()
            .set("SCR_COPY_TYPE", "SINGLE")
            .set("SCR_FLUSH", "0");
        let faults = faulty(&mut site);
        if damaged {
            faults.fail_reads(Some(("a/rank_2.dat".into(), libc::EIO)));
        }
        site.run(&NODES, |rank| {
            rank.checkpoint("a").unwrap();
            rank.session.finish_background().unwrap();
        });
        site.files = Arc::new(Posix);
        let names = site.run(&NODES, |rank| rank.session.have_restart().unwrap());
        assert!(
            names
                .iter()
                .all(|name| name.as_ref().is_some_and(|n| n.to_string() == "a"))
        );
        let told = site.heard("is not verified: the last run ended before the checksums of 1 rank");
        assert_eq!(
            told.len(),
            usize::from(damaged),
            "{:?}",
            site.events.lines()
        );
        assert!(told.iter().all(|line| line.contains("Warning")), "{told:?}");
        assert_eq!(
            site.heard("all files verified").len(),
            usize::from(!damaged)
        );
    }
}
