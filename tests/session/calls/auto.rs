//! `SCR_CHECKPOINT_INTERVAL=auto`: from the log of the prefix directory, and without one.

use crate::site::{Rank, Site};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const NODES: [&str; 2] = ["n0", "n1"];

/// So long without a failure that no test runs for the time that is best then.
const LONG: &str = "1e12";

/// One line of the log.
fn line(event: &str) -> String {
    format!("2026-11-21T00:42:08: host=n0, jobid=7, event={event}\n")
}

/// A run that has computed for so many seconds, and was killed.
fn killed(seconds: &str) -> String {
    let end = format!("COMPUTE_END, secs={seconds}");
    [line("START"), line("COMPUTE_START"), line(&end)].concat()
}

fn auto() -> Site {
    Site::new().set("SCR_CHECKPOINT_INTERVAL", "auto")
}

impl Site {
    fn log_file(&self) -> PathBuf {
        let meta = self.prefix().join(".scr");
        std::fs::create_dir_all(&meta).unwrap();
        meta.join("log")
    }

    fn with_log(self, text: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.log_file(), text).unwrap();
        self
    }

    /// What `SCR_Need_checkpoint` says before the first checkpoint, and three times after it. All ranks
    /// are told the same.
    fn asks(&self) -> [bool; 4] {
        let need = |rank: &mut Rank| rank.session.need_checkpoint().unwrap();
        let answers = self.run(&NODES, |rank| {
            let first = need(rank);
            rank.checkpoint("ck.1").unwrap();
            let answers = [first, need(rank), need(rank), need(rank)];
            rank.finalize().unwrap();
            answers
        });
        assert_eq!(answers[0], answers[1]);
        answers[0]
    }
}

#[test]
fn the_log_says_how_often_runs_fail() {
    let site = auto()
        .set("SCR_MEAN_TIME_TO_FAILURE", "1")
        .with_log(killed(LONG) + &killed(LONG));
    assert_eq!(site.asks(), [true, false, false, false]);
    let told = site.heard("a checkpoint every ");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("0: Note: a checkpoint every "));
    let why = "and a failure comes every 11574074.1 days (2 failures in the event log)";
    assert!(told[0].ends_with(why), "{told:?}");

    // Without a checkpoint there is nothing to tell.
    let site = auto().with_log(killed(LONG));
    site.run(&NODES, |rank| {
        assert!(rank.session.need_checkpoint().unwrap());
        assert!(rank.session.need_checkpoint().unwrap());
    });
    assert_eq!(site.heard("a checkpoint every "), Vec::<String>::new());
}

/// Runs that end by themselves are no failures, and the run that reads the log is none.
#[test]
fn a_log_without_failures_says_nothing() {
    let site = auto()
        .set("SCR_LOG_ENABLE", "1")
        .set("SCR_LOG_SYSLOG_ENABLE", "0")
        .set("SCR_MEAN_TIME_TO_FAILURE", "2000000000")
        .with_log(killed("5.0") + &line("END"));
    let assumed = "and a failure comes every 23148.1 days (SCR_MEAN_TIME_TO_FAILURE)";
    for runs in 1..=2 {
        assert!(site.asks()[0]);
        let told = site.heard("a checkpoint every ");
        assert_eq!(told.len(), runs, "{told:?}");
        assert!(told[runs - 1].ends_with(assumed), "{told:?}");
    }
    // A run that is killed counts in the next one.
    site.run(&NODES, |rank| rank.checkpoint("ck.9").unwrap());
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.10").unwrap();
        rank.session.need_checkpoint().unwrap();
    });
    assert!(site.heard("a checkpoint every ")[2].ends_with("(1 failure in the event log)"));
}

#[test]
fn without_a_log_the_site_says_it_or_a_day_is_taken() {
    let site = auto();
    assert!(site.asks()[0]);
    let told = site.heard("a failure comes every 24.0 h (SCR_MEAN_TIME_TO_FAILURE)");
    assert_eq!(told.len(), 1, "{:?}", site.events.lines());

    // Failures come so often that the time for one passes while this loop runs.
    let site = auto().set("SCR_MEAN_TIME_TO_FAILURE", "1");
    let asked = site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        let mut asked = 0u64;
        while !rank.session.need_checkpoint().unwrap() {
            asked += 1;
        }
        rank.checkpoint("ck.2").unwrap();
        asked
    });
    assert_eq!(asked[0], asked[1]);
}

#[test]
fn the_overhead_is_the_largest_share() {
    let site = auto()
        .set("SCR_MEAN_TIME_TO_FAILURE", "1")
        .set("SCR_CHECKPOINT_OVERHEAD", "0.0000001");
    assert_eq!(site.asks(), [true, false, false, false]);
    let told = site.heard("; SCR_CHECKPOINT_OVERHEAD=0.0000001 allows no more");
    assert_eq!(told.len(), 1, "{:?}", site.events.lines());
    let site = auto().set("SCR_CHECKPOINT_OVERHEAD", "100");
    assert!(site.asks()[0]);
    assert_eq!(site.heard("allows no more").len(), 0);
}

/// The flush, too, is what a checkpoint costs the program.
#[test]
fn the_cost_has_the_flush() {
    let seconds = |line: &str, before: &str, after: &str| -> f64 {
        let (_, rest) = line.split_once(before).unwrap();
        let (number, _) = rest.split_once(after).unwrap();
        number.parse().unwrap()
    };
    let site = auto().set("SCR_FLUSH", "1").set("SCR_CACHE_SIZE", "2");
    site.asks();
    let told = |text: &str| site.heard(text).remove(0);
    let written = seconds(&told("dataset 1 (ck.1): "), " KiB in ", " s");
    let flushed = seconds(&told("was flushed to"), " KiB in ", " s");
    let cost = seconds(&told("a checkpoint every "), "one costs ", " s");
    // All are rounded to a thousandth of a second, and a cost of more than a second to a tenth.
    let rounded = if cost < 1.0 { 0.002 } else { 0.051 };
    assert!(
        cost + rounded > written + flushed,
        "{:#?}",
        site.events.lines()
    );
}

#[test]
fn a_bad_log_is_told_and_stops_nothing() {
    let none = "(SCR_MEAN_TIME_TO_FAILURE)";
    let expect = |site: &Site, warnings: &[&str], source: &str| {
        assert!(site.asks()[0]);
        let told = site.heard("a checkpoint every ");
        assert!(told.len() == 1 && told[0].ends_with(source), "{told:?}");
        let heard = site.heard("Warning");
        assert_eq!(heard.len(), warnings.len(), "{heard:?}");
        for (line, part) in heard.iter().zip(warnings) {
            assert!(line.starts_with("0: ") && line.contains(part), "{heard:?}");
        }
    };
    let noise = b"noise\n\xff\xfe\n".to_vec();
    let site = auto().with_log([killed(LONG).into_bytes(), noise].concat());
    let lines = "log: 2 lines are no records of the event log";
    expect(&site, &[lines], "(1 failure in the event log)");

    let site = auto();
    std::fs::create_dir(site.log_file()).unwrap();
    let unknown = "so SCR_CHECKPOINT_INTERVAL=auto uses SCR_MEAN_TIME_TO_FAILURE: ";
    expect(&site, &[unknown], none);

    // No link is followed below the prefix directory.
    let site = auto();
    std::fs::write(site.outside(), killed(LONG)).unwrap();
    std::os::unix::fs::symlink(site.outside(), site.log_file()).unwrap();
    expect(&site, &[unknown], none);

    // A killed run without a time says nothing about how often runs fail.
    let site = auto().with_log(line("START"));
    expect(&site, &[], none);

    let site = auto().with_log(killed(LONG));
    std::fs::set_permissions(site.log_file(), PermissionsExt::from_mode(0o0)).unwrap();
    match std::fs::read(site.log_file()) {
        Ok(_) => println!("SKIPPED: this user may read every file"),
        Err(_) => expect(&site, &[unknown], none),
    }
}

/// Only the end of a log is read: this one would fill the memory of any machine.
#[test]
fn a_huge_log_delays_nothing() {
    let site = auto().with_log("");
    let file = std::fs::File::options().append(true).open(site.log_file());
    let mut file = file.unwrap();
    file.set_len(1 << 38).unwrap();
    let text = format!("\n{}{}", killed(LONG), killed(LONG));
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    assert_eq!(site.asks(), [true, false, false, false]);
    let told = site.heard("a checkpoint every ");
    assert!(
        told[0].ends_with("(2 failures in the event log)"),
        "{told:?}"
    );
}
