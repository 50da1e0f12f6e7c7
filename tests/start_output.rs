//! Starts of a dataset that do not come about: the same news on all ranks, and nothing is lost.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod job;

use job::{Site, nodes};

/// A run whose cache has a directory of that name beforehand.
fn beside(name: &str) -> Site {
    let site = Site::new().set("SCR_FLUSH", "1");
    site.run(&nodes(1), |rank| rank.finalize().unwrap());
    std::fs::create_dir_all(site.cache("n0").join(name)).unwrap();
    site
}

#[test]
fn names_with_numbers_that_no_dataset_has_are_passed_over() {
    for number in ["2147483648", "3000000000", "18446744073709551615"] {
        for kind in ["dataset", "quarantine", "trash"] {
            let site = beside(&format!("scr.{kind}.{number}"));
            site.run(&nodes(1), |rank| {
                rank.checkpoint("ck.1").unwrap();
                rank.finalize().unwrap();
            });
            site.lose("n0");
            site.expect_restart(&nodes(1), Some("ck.1"));
        }
    }
}

#[test]
fn after_the_highest_number_there_is_none() {
    let site = beside("scr.quarantine.2147483647");
    let error = site.run(&nodes(1), |rank| rank.checkpoint("ck.1").unwrap_err());
    assert!(error[0].to_string().contains("highest number"), "{error:?}");
}

#[test]
fn wrong_arguments_on_one_rank_are_an_error_on_all() {
    let site = Site::new().set("SCR_FLUSH", "0");
    let errors = site.run(&nodes(2), |rank| {
        let kind = match rank.rank {
            0 => Ok((true, false)),
            _ => Err(scr::Error::usage("a test", "no such flag")),
        };
        let started = rank.session.start_output_as(Some("ck.1".into()), kind);
        rank.checkpoint("ck.2").unwrap();
        started.unwrap_err().to_string()
    });
    assert!(
        errors.iter().all(|e| e.contains("no such flag")),
        "{errors:?}"
    );
    site.expect_restart(&nodes(2), Some("ck.2"));
}

/// ck.2 is kept aside. The dataset after the restart from ck.1 has a number of its own.
#[test]
fn what_was_kept_aside_keeps_its_number() {
    let site = Site::new()
        .set("SCR_FLUSH", "0")
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_COPY_TYPE", "SINGLE");
    site.run(&nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    for rank in 0..2 {
        let file = format!("rank_{rank}/ck.2/rank_{rank}.dat");
        std::fs::write(site.dataset(&format!("n{rank}"), 2).join(file), "bad").unwrap();
    }
    let aside = || site.entries("n0", "scr.quarantine.");
    site.run(&nodes(2), |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
        let name = format!("ck.of.{}", rank.rank);
        let started = rank
            .session
            .start_output(Some(name.as_str().into()), true, false);
        let error = started.unwrap_err().to_string();
        assert!(error.contains("differ between ranks"), "{error}");
        assert_eq!(aside(), ["scr.quarantine.2"]);
        rank.checkpoint("ck.3").unwrap();
        assert!(site.dataset("n0", 3).exists());
    });
}
