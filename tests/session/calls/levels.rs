//! What `SCR_DEBUG` 0, 1 and 2 tell, and that one fault makes one message.

use crate::site::{Rank, Site};

const NODES: [&str; 4] = ["n0", "n1", "n2", "n3"];

/// The messages that `SCR_DEBUG=level` shows, of a run that writes three checkpoints.
fn shown(site: &Site, level: u8) -> Vec<String> {
    let mut lines = site.events.lines();
    let hidden = |line: &str| {
        let mut above = (level + 1)..=9;
        above.any(|above| line.contains(&format!("Debug({above})")))
    };
    lines.retain(|line| !hidden(line));
    lines
}

fn three_checkpoints(rank: &mut Rank) {
    assert_eq!(rank.session.have_restart().unwrap(), None);
    for name in ["ck.1", "ck.2", "ck.3"] {
        rank.session.need_checkpoint().unwrap();
        rank.checkpoint(name).unwrap();
    }
    rank.finalize().unwrap();
}

#[test]
fn each_level_tells_what_it_should_and_no_more() {
    for bypass in ["0", "1"] {
        let site = Site::new()
            .set("SCR_CACHE_BYPASS", bypass)
            .set("SCR_CACHE_SIZE", "2")
            .set("SCR_FLUSH", "2");
        site.run(&NODES, three_checkpoints);
        let quiet = shown(&site, 0);
        assert_eq!(quiet.len(), 1, "{quiet:?}");
        assert!(quiet[0].contains("starts from the beginning"), "{quiet:?}");

        let brief = shown(&site, 1);
        let how = match bypass {
            "0" => ", XOR",
            _ => ", in the prefix directory, without redundancy",
        };
        for id in 1..=3 {
            let written = format!("0: Debug(1): dataset {id} (ck.{id}): 4 files, 3.9 KiB in ");
            let lines: Vec<&String> = brief.iter().filter(|l| l.starts_with(&written)).collect();
            assert_eq!(lines.len(), 1, "{brief:?}");
            assert!(
                lines[0].ends_with(how) && lines[0].contains("/s"),
                "{lines:?}"
            );
        }
        let flushed: Vec<&String> = brief.iter().filter(|l| l.contains("was flushed")).collect();
        assert_eq!(
            flushed.len(),
            if bypass == "0" { 2 } else { 0 },
            "{brief:?}"
        );
        assert!(flushed.iter().all(|l| l.contains(": 4 files, 3.9 KiB in ")));
        let written = ("checkpoints", "3 datasets, 11.8 KiB in ");
        let copied = ("flushed", "2 datasets, 7.9 KiB in ");
        let mut expected = vec![TIMES[0], TIMES[1], TIMES[2], written, ("restarts", "0")];
        if bypass == "0" {
            expected.insert(4, copied);
        }
        expect_summary(&brief, &expected);
        let others = brief.len() - expected.len();
        assert_eq!(others, 1 + 3 + flushed.len(), "{brief:?}");

        let steps = shown(&site, 2);
        for step in [
            "job 1001 (SCR_JOB_ID)",
            "4 ranks on 4 nodes, prefix directory ",
            "(ck.2) is written to ",
            "is due",
        ] {
            assert!(steps.iter().any(|l| l.contains(step)), "{step}: {steps:?}");
        }
        assert!(
            steps.iter().all(|line| line.starts_with("0: ")),
            "{steps:?}"
        );

        site.run(&NODES, |rank| {
            assert_eq!(rank.restart().as_deref(), Some("ck.3"));
            rank.finalize().unwrap();
        });
        let mut expected = vec![TIMES[0], TIMES[1], TIMES[2], ("checkpoints", "0 datasets")];
        expected.extend([("fetched", "1 dataset, 3.9 KiB in "), ("restarts", "1")]);
        expect_summary(&site.events.lines(), &expected);
    }
}

/// The first lines of each summary.
const TIMES: [(&str, &str); 3] = [("run time", ""), ("computation", ""), ("in SCR", "")];

/// The lines end with a summary with these names and beginnings of texts.
#[track_caller]
fn expect_summary(lines: &[String], expected: &[(&str, &str)]) {
    let summary = &lines[lines.len().saturating_sub(expected.len())..];
    for (line, (name, text)) in summary.iter().zip(expected) {
        let start = format!("0: Debug(1): summary: {name:<13} {text}");
        assert!(line.starts_with(&start), "{start}: {summary:#?}");
    }
    let all = lines.iter().rev().take_while(|l| l.contains("summary: "));
    assert_eq!(all.count(), expected.len(), "{lines:#?}");
}

/// The number before a unit in a line of the summary.
fn number(lines: &[String], name: &str, unit: &str) -> f64 {
    let begin = format!("summary: {name:<13} ");
    let line = lines.iter().rev().find(|line| line.contains(&begin));
    let text = line.unwrap().split(&begin).nth(1).unwrap();
    let (before, _) = text.split_once(unit).unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

/// The summary needs no event log, and its times fit together.
#[test]
fn the_summary_has_what_the_run_did() {
    let site = Site::new()
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_FLUSH", "1")
        .set("SCR_FLUSH_ASYNC", "1")
        .set("SCR_COPY_TYPE", "XOR");
    site.run(&NODES, |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.write("plot", false, true).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        rank.finalize().unwrap();
    });
    let lines = site.events.lines();
    let [run, computation, scr] = TIMES;
    let behind = ("in background", "2 datasets, 7.9 KiB in ");
    let written = ("checkpoints", "1 dataset, 3.9 KiB in ");
    let output = ("other output", "1 dataset, 3.9 KiB in ");
    let none = ("restarts", "0");
    expect_summary(
        &lines,
        &[run, computation, scr, written, output, behind, none],
    );
    let of = |name| number(&lines, name, " s");
    assert!(of("computation") >= 0.02, "{lines:#?}");
    let parts = of("computation") + of("checkpoints");
    assert!(parts <= of("run time") + 0.002, "{lines:#?}");
    assert!(of("in background") > 0.0);
    let share = of("computation") / of("run time") * 100.0;
    let told = number(&lines, "computation", " %");
    // Times are rounded to a thousandth of a second.
    let rounded = 100.0 * 0.001 / of("run time") + 0.1;
    assert!((told - share).abs() <= rounded, "{told} {share}");

    // The next run finds the cache as it was left, but for one node.
    site.run(&NODES, |rank| rank.checkpoint("ck.3").unwrap());
    site.lose("n1");
    site.run(&["n0", "n4", "n2", "n3"], |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.3"));
        rank.finalize().unwrap();
    });
    let lines = site.events.lines();
    let recovered = ("recovered", "1 dataset, 3.9 KiB in ");
    let summary: Vec<&String> = lines.iter().rev().take(8).collect();
    assert!(
        summary
            .iter()
            .any(|l| l.contains(&format!("summary: {:<13} {}", recovered.0, recovered.1))),
        "{summary:#?}"
    );
    assert!(lines.last().unwrap().ends_with(" 1"), "{lines:#?}");
}

#[test]
fn checkpoints_that_cannot_be_fetched_make_one_message() {
    let site = Site::new().set("SCR_CACHE_BYPASS", "1");
    let names = ["ck.1", "ck.2", "ck.3", "ck.4", "ck.5", "ck.6", "ck.7"];
    site.run(&NODES, |rank| {
        names.iter().for_each(|name| rank.checkpoint(name).unwrap());
        rank.finalize().unwrap();
    });
    for name in &names[1..] {
        std::fs::remove_file(site.prefix().join(name).join("rank_2.dat")).unwrap();
    }
    let before = site.events.lines().len();
    site.expect_restart(&NODES, Some("ck.1"));
    let mut errors = shown(&site, 0);
    errors.retain(|line| line.contains(": Error: "));
    assert_eq!(errors.len(), 1, "{errors:?}");
    let line = &errors[0];
    let start = "0: Error: cannot fetch dataset 7 (ck.7): rank 2 on node n2: ";
    assert!(line.starts_with(start), "{line}");
    let more = "; 5 more checkpoints cannot be used: dataset 6 (ck.6), dataset 5 (ck.5), dataset 4 \
                (ck.4), dataset 3 (ck.3), ... (SCR_DEBUG=1 tells why)";
    assert!(line.ends_with(more), "{line}");
    let detail = site.events.lines().split_off(before);
    let detail = detail
        .iter()
        .filter(|l| l.contains("Debug(1): cannot fetch dataset"));
    assert_eq!(detail.count(), 5);
}
