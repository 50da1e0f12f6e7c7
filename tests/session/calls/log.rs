//! The event log of whole runs: each event once, in order, with what belongs to it.

use crate::checkpoints::double_nodes;
use crate::site::{Site, nodes};
use scr::config::Config;
use scr::events::Event;
use scr::log::{Record, read_text};

fn logged() -> Site {
    Site::new()
        .set("SCR_LOG_ENABLE", "1")
        .set("SCR_LOG_SYSLOG_ENABLE", "0")
}

impl Site {
    /// The records of the log, all of which must be readable.
    fn log(&self) -> Vec<Record> {
        let mut records = Vec::new();
        let not_read = read_text(&self.prefix().join(".scr/log"), |record| {
            records.push(record);
            Ok::<(), scr::Error>(())
        });
        assert_eq!(not_read.unwrap().count, 0);
        records
    }
}

/// Events with the ids of their datasets: `CHECKPOINT_START 1`.
fn words(records: &[Record]) -> Vec<String> {
    let word = |record: &Record| match record.dset {
        Some(id) => format!("{} {id}", record.event.name()),
        None => record.event.name().to_string(),
    };
    records.iter().map(word).collect()
}

#[track_caller]
fn expect(records: &[Record], expected: &[&str]) {
    assert_eq!(words(records), expected, "{records:#?}");
}

/// A job whose first run is killed and loses a node, and whose second one ends by itself.
#[test]
fn a_lost_node_and_a_restart() {
    let site = logged()
        .set("SCR_CACHE_SIZE", "1")
        .set("SCR_COPY_TYPE", "XOR");
    let before = double_nodes(4);
    site.run(&before, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    site.lose("n1");
    let after: Vec<&str> = before
        .iter()
        .map(|node| if *node == "n1" { "n4" } else { *node })
        .collect();
    site.run(&after, |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.2"));
        rank.finalize().unwrap();
    });
    let log = site.log();
    #[rustfmt::skip]
    expect(&log, &[
        "START", "COMPUTE_START",
        "COMPUTE_END", "CHECKPOINT_START 1", "WRITE 1", "ENCODE 1", "CHECKPOINT_END 1", "CHECKPOINT 1", "COMPUTE_START",
        "EVICT 1", "COMPUTE_END", "CHECKPOINT_START 2", "WRITE 2", "ENCODE 2", "CHECKPOINT_END 2", "CHECKPOINT 2", "COMPUTE_START",
        "START", "REBUILD_START 2", "REBUILD_SUCCESS 2", "RESTART_SUCCESS 2", "COMPUTE_START",
        "COMPUTE_END", "COMPUTE_START",
        "COMPUTE_END", "RESTART_START 2", "RESTART_END 2", "COMPUTE_START",
        "COMPUTE_END", "FLUSH_START 2", "FLUSH_SUCCESS 2", "FLUSH_SYNC 2", "HALT", "END",
    ]);
    let bytes: usize = (0..8).map(|rank| 1000 + 7 * rank).sum();
    for record in &log {
        assert_eq!((record.host.as_str(), record.job.as_str()), ("n0", "1001"));
        let has_seconds = matches!(
            record.event.name(),
            "WRITE" | "ENCODE" | "CHECKPOINT" | "RESTART_SUCCESS" | "FLUSH_SYNC" | "END"
        ) || record.event.name().ends_with("_END")
            || record.event == Event::RebuildSuccess
            || record.event == Event::FlushSuccess;
        assert_eq!(record.secs.is_some(), has_seconds, "{record}");
        if record.dset == Some(2) {
            assert_eq!(record.name.as_deref(), Some("ck.2"));
        }
        if let Some(moved) = record.bytes {
            assert_eq!((moved, record.files), (bytes as f64, Some(8)));
        }
    }
    assert!(log.iter().any(|record| record.millis > 0), "{log:#?}");
    let written = log.iter().find(|r| r.event == Event::Write).unwrap();
    assert!(written.to.as_deref().unwrap().ends_with("/scr.dataset.1"));
    let start = &log[0];
    assert_eq!((start.procs, start.nodes), (Some(8), Some(4)));
    let rebuilt = log.iter().find(|r| r.event == Event::RebuildSuccess);
    let note = rebuilt.unwrap().note.as_deref();
    assert_eq!(note, Some("files of 2 ranks rebuilt with XOR"));
    let flushed = log.iter().find(|r| r.event == Event::FlushSync).unwrap();
    let prefix = site.prefix().display().to_string();
    assert_eq!(flushed.to.as_deref(), Some(prefix.as_str()));
    assert!(flushed.from.as_deref().unwrap().ends_with("/scr.dataset.2"));
    assert_eq!(
        log[log.len() - 2].note.as_deref(),
        Some("SCR_FINALIZE_CALLED")
    );
}

/// The log begins a new file when it is large, and is read across its files.
#[test]
fn a_log_with_a_limit() {
    let site = logged().set("SCR_LOG_TXT_SIZE", "2000");
    site.run(&nodes(2), |rank| {
        for name in ["a", "b", "c", "d"] {
            rank.checkpoint(name).unwrap();
        }
        rank.finalize().unwrap();
    });
    assert!(site.prefix().join(".scr/log.1").exists());
    let log = words(&site.log());
    assert_eq!((&*log[0], &*log[log.len() - 1]), ("START", "END"));
    assert_eq!(
        log.iter().filter(|word| word.starts_with("WRITE")).count(),
        4
    );
}

#[test]
fn what_fails_says_why() {
    let site = logged().set("SCR_FLUSH", "1");
    site.run(&nodes(2), |rank| {
        rank.session
            .start_output(Some("bad".into()), true, false)
            .unwrap();
        rank.session.complete_output(false).unwrap_err();
        rank.session
            .start_output(Some("plain".into()), false, true)
            .unwrap();
        rank.session.complete_output(false).unwrap_err();
        // A file is in the way of the directory of the next dataset.
        if rank.rank == 0 {
            std::fs::write(site.prefix().join("ck.3"), "").unwrap();
        }
        rank.checkpoint("ck.3").unwrap_err();
        if rank.rank == 0 {
            std::fs::remove_file(site.prefix().join("ck.3")).unwrap();
        }
        rank.finalize().unwrap();
    });
    let log = site.log();
    #[rustfmt::skip]
    expect(&log, &[
        "START", "COMPUTE_START",
        "COMPUTE_END", "CHECKPOINT_START 1", "CHECKPOINT_FAIL 1", "COMPUTE_START",
        "OUTPUT_START 2", "OUTPUT_FAIL 2",
        "COMPUTE_END", "CHECKPOINT_START 3", "WRITE 3", "ENCODE 3", "CHECKPOINT_END 3", "CHECKPOINT 3",
        "FLUSH_START 3", "FLUSH_FAIL 3", "COMPUTE_START",
        "COMPUTE_END", "FLUSH_START 3", "FLUSH_SUCCESS 3", "FLUSH_SYNC 3", "HALT", "END",
    ]);
    let note = |event: Event| {
        let record = log.iter().find(|r| r.event == event);
        record.unwrap().note.clone().unwrap()
    };
    assert!(note(Event::CheckpointFail).contains("valid=0"));
    assert!(note(Event::OutputFail).contains("valid=0"));
    assert!(note(Event::FlushFail).contains("ck.3"));
}

#[test]
fn a_fetch_and_a_refused_one() {
    let site = logged().set("SCR_FLUSH", "1").set("SCR_CACHE_SIZE", "2");
    site.run(&nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
        rank.finalize().unwrap();
    });
    let file = site.prefix().join("ck.2/rank_1.dat");
    std::fs::write(file, "damaged").unwrap();
    let before = site.log().len();
    site.run(&nodes(2), |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
    });
    let log = site.log().split_off(before);
    #[rustfmt::skip]
    expect(&log, &[
        "START", "COMPUTE_START",
        "COMPUTE_END", "FETCH_START 2", "FETCH_FAIL 2", "FETCH_START 1", "FETCH_SUCCESS 1", "FETCH 1", "COMPUTE_START",
        "COMPUTE_END", "RESTART_START 1", "RESTART_END 1", "COMPUTE_START",
    ]);
    assert!(log[4].note.as_deref().unwrap().contains("rank_1.dat"));
}

#[test]
fn background_flushes_and_bypass() {
    let site = logged().set("SCR_FLUSH", "1").set("SCR_FLUSH_ASYNC", "1");
    site.run(&nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.finalize().unwrap();
    });
    let log = site.log();
    #[rustfmt::skip]
    expect(&log, &[
        "START", "COMPUTE_START",
        "COMPUTE_END", "CHECKPOINT_START 1", "WRITE 1", "ENCODE 1", "CHECKPOINT_END 1", "CHECKPOINT 1", "ASYNC_FLUSH_START 1", "COMPUTE_START",
        "COMPUTE_END", "ASYNC_FLUSH_SUCCESS 1", "FLUSH_ASYNC 1", "HALT", "END",
    ]);

    let site = logged().set("SCR_CACHE_BYPASS", "1");
    site.run(&nodes(2), |rank| {
        rank.write("out", false, true).unwrap();
        rank.finalize().unwrap();
    });
    let log = site.log();
    #[rustfmt::skip]
    expect(&log, &[
        "START", "COMPUTE_START",
        "OUTPUT_START 1", "WRITE 1", "FLUSH_START 1", "FLUSH_SUCCESS 1", "OUTPUT_END 1", "OUTPUT 1",
        "COMPUTE_END", "HALT", "END",
    ]);
}

#[test]
fn a_dataset_that_cannot_come_back_is_quarantined() {
    let site = logged().set("SCR_FLUSH", "0").set("SCR_COPY_TYPE", "XOR");
    let all = nodes(4);
    site.run(&all, |rank| rank.checkpoint("ck.1").unwrap());
    site.lose("n1");
    site.lose("n2");
    let before = site.log().len();
    site.run(&all, |rank| assert_eq!(rank.restart(), None));
    let log = site.log().split_off(before);
    let words = words(&log);
    assert_eq!(words[..2], ["START", "QUARANTINE 1"], "{words:?}");
}

#[test]
fn a_run_that_must_stop_says_so_once() {
    let site = logged();
    site.run(&nodes(2), |rank| {
        std::fs::create_dir_all(site.prefix().join(".scr")).unwrap();
        rank.session.set_signal(libc::SIGUSR1);
        for _ in 0..3 {
            rank.session.should_exit().unwrap();
        }
    });
    assert!(!words(&site.log()).contains(&"HALT".to_string()));
    let site = logged().set("SCR_HALT_SIGNALS", "USR1");
    site.run(&nodes(2), |rank| {
        rank.session.set_signal(libc::SIGUSR1);
        for _ in 0..3 {
            assert!(rank.session.should_exit().unwrap());
        }
    });
    let log = site.log();
    expect(&log, &["START", "COMPUTE_START", "HALT"]);
    assert!(log[2].note.as_deref().unwrap().contains("USR1"));
}

/// A log that cannot be written changes nothing in a run. It is told at once, and what is lost is told at
/// the end.
#[test]
fn a_log_that_cannot_be_written_is_told() {
    let site = logged();
    std::fs::create_dir_all(site.prefix().join(".scr/log")).unwrap();
    site.run(&nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.finalize().unwrap();
    });
    site.run(&nodes(2), |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.1"));
    });
    assert_eq!(site.heard("cannot be written").len(), 2);
    let lost = site.heard("events of this run");
    assert_eq!(lost.len(), 2, "{lost:?}");
    // START, 3 of COMPUTE_*, 5 of the checkpoint and its redundancy, 1 more COMPUTE, 3 of the flush, HALT, END.
    assert!(lost[0].contains("lacks 15 of 15 events"), "{lost:?}");
}

#[test]
fn without_a_switch_there_is_no_log() {
    for (name, value) in [("SCR_LOG_ENABLE", "0"), ("SCR_LOG_TXT_ENABLE", "0")] {
        let site = logged().set(name, value);
        site.run(&nodes(2), |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.session.finalize(&mut Config::new()).unwrap();
        });
        assert!(!site.prefix().join(".scr/log").exists(), "{name}={value}");
    }
}
