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
