//! Decisions at limits that the tests of the modules do not cover.

use super::capacity::with_redundancy;
use super::checkpoint::{History, Rules, due};
use super::flush;

#[test]
fn a_set_that_can_lose_all_its_members_keeps_no_redundancy() {
    for copies in [false, true] {
        assert_eq!(with_redundancy(120, copies, 2, 2), 120);
        assert_eq!(with_redundancy(120, copies, 1, 3), 120);
        assert_eq!(with_redundancy(120, copies, 0, 0), 120);
    }
}

#[test]
fn the_share_of_checkpoints_depends_on_their_average_cost() {
    let rules = Rules {
        interval: 0,
        seconds: 0,
        overhead: 10.0,
        between_failures: None,
    };
    // Four checkpoints took 8 seconds, so one takes 2, which is 10 percent of 20.
    let at = |since_last| History {
        calls: 1,
        checkpoints: 4,
        cost: 8.0,
        since_last,
        ..History::default()
    };
    assert!(!due(&rules, &at(18.0), false));
    assert!(due(&rules, &at(18.1), false));
}

#[test]
fn nothing_is_flushed_at_an_interval_of_zero() {
    assert!(!flush::due(Some(0), false, 0));
    assert!(flush::due(Some(0), false, 3));
}
