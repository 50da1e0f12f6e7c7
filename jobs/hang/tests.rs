use super::*;

const SECOND: Duration = Duration::from_secs(1);
const LIMITS: Limits = Limits {
    after: After::Fixed(Duration::from_secs(100)),
    first: Duration::from_secs(300),
};

/// A watch with a clock of its own. All readings take no time, and come each ten seconds.
struct Clocked {
    watch: HangWatch,
    now: Duration,
}

impl Clocked {
    fn new(limits: Limits, words: &str) -> Self {
        Clocked {
            watch: HangWatch::new(limits, Source::list(words).unwrap()),
            now: Duration::ZERO,
        }
    }

    /// Reads all sources. `None` stands for a source that cannot be read.
    fn read(&mut self, readings: &[Option<Reading>]) -> Vec<String> {
        self.now += SECOND * 10;
        let at = (self.now, self.now);
        let mut lines = Vec::new();
        for (number, reading) in readings.iter().enumerate() {
            let reading = reading.clone().ok_or("no way to it".to_string());
            lines.extend(self.watch.observe(number, at, reading));
        }
        lines
    }

    /// Reads the same until the job hangs. Returns the seconds since now, or `None` if it does not within some hours.
    fn until_hang(&mut self, readings: &[Option<Reading>]) -> Option<u64> {
        let begun = self.now;
        for _ in 0..2000 {
            self.read(readings);
            if self.watch.hang().is_some() {
                return Some((self.now - begun).as_secs());
            }
        }
        None
    }
}

fn shows(text: &str) -> Option<Reading> {
    Some(Reading::Shows(text.to_string()))
}

fn ticks(of: &[(u64, bool)]) -> Option<Reading> {
    let times = of.iter().zip(1..).map(|((ticks, stuck), pid)| {
        let (ticks, stuck) = (*ticks, *stuck);
        (("n1".to_string(), pid), ProcessTime { ticks, stuck })
    });
    Some(Reading::Processes(times.collect()))
}

#[test]
fn words_of_sources_and_times() {
    let list = |text| Source::list(text).unwrap();
    let file = |path: &str| Source::File(path.into());
    assert_eq!(
        list("calls,file=a, file=b,cpu,calls"),
        [Source::Calls, file("a"), file("b"), Source::Cpu]
    );
    assert_eq!(
        list("cpu,command=cut -d, -f1 x,cpu"),
        [Source::Cpu, Source::Command("cut -d, -f1 x,cpu".into())]
    );
    for bad in [
        "", "calls,", "stacks", "file=", "file", "command=", "Calls", "cpu=1",
    ] {
        assert!(Source::list(bad).is_err(), "{bad}");
    }
    for (text, seconds) in [("90", 90), ("90s", 90), ("10m", 600), ("2h", 7200)] {
        assert_eq!(time(text), Ok(SECOND * seconds));
    }
    for bad in [
        "",
        "0",
        "0m",
        "-1",
        "m",
        "1d",
        "10 m",
        "99999999999999999999",
        "9999999h",
    ] {
        assert!(time(bad).is_err(), "{bad}");
    }
    assert!(time("0s").unwrap_err().contains("limit of 0"));
    assert_eq!(After::parse("auto"), Ok(After::Auto));
}

#[test]
fn before_the_first_progress_the_longer_limit_holds() {
    let mut job = Clocked::new(LIMITS, "file=x");
    assert_eq!(job.until_hang(&[shows("1 byte")]), Some(320));
    let hang = job.watch.hang().unwrap().to_string();
    assert_eq!(hang, "no progress for 310 s (limit 300 s): file x: 1 byte");
    job.read(&[shows("2 bytes")]);
    assert_eq!(job.watch.hang(), None);
    assert_eq!(job.until_hang(&[shows("2 bytes")]), Some(110));
}

/// `SCR_Init` has counted, and the program hangs at once.
#[test]
fn the_first_count_of_a_launch_is_a_sign_of_it() {
    let made = |text: &str| Some(Reading::Made(text.to_string()));
    let mut job = Clocked::new(LIMITS, "calls,file=x");
    // A sign that an earlier launch has left does not count.
    assert_eq!(job.until_hang(&[shows("0"), shows("1")]), Some(320));
    let mut job = Clocked::new(LIMITS, "calls,file=x");
    job.read(&[shows("0"), shows("1")]);
    job.read(&[made("0"), shows("1")]);
    assert_eq!(job.until_hang(&[made("0"), shows("1")]), Some(110));
}

#[test]
fn a_job_makes_progress_if_any_source_moves() {
    let mut job = Clocked::new(LIMITS, "calls,file=x");
    for step in 0..1000 {
        job.read(&[shows("1"), shows(&step.to_string())]);
        assert_eq!(job.watch.hang(), None);
    }
    assert_eq!(job.until_hang(&[shows("1"), shows("999")]), Some(110));
    let hang = job.watch.hang().unwrap().to_string();
    assert!(
        hang.ends_with(": calls of the library: 1; file x: 999"),
        "{hang}"
    );
}

#[test]
fn processor_time_hides_no_endless_loop() {
    let mut job = Clocked::new(LIMITS, "file=x,cpu");
    job.read(&[shows("1"), ticks(&[(0, false)])]);
    job.read(&[shows("2"), ticks(&[(9, false)])]);
    for used in 10..21 {
        assert_eq!(job.watch.hang(), None);
        job.read(&[shows("2"), ticks(&[(used, false)])]);
    }
    assert!(job.watch.hang().is_some());
    // If the file cannot be read, the same job is left alone.
    for used in 20..500 {
        job.read(&[None, ticks(&[(used, false)])]);
        assert_eq!(job.watch.hang(), None);
    }
}

#[test]
fn processor_time_alone_shows_a_stopped_rank_and_spares_one_that_sleeps() {
    let run = |stuck: bool| {
        let mut job = Clocked::new(LIMITS, "cpu");
        let at = |used| [ticks(&[(used, false), (5, stuck)])];
        (0..100).find(|used| {
            job.read(&at(*used));
            job.watch.hang().is_some()
        })
    };
    assert_eq!((run(true), run(false)), (Some(11), None));
    let mut job = Clocked::new(LIMITS, "cpu");
    job.read(&[ticks(&[(1, false), (5, false)])]);
    job.read(&[ticks(&[(2, false), (5, false)])]);
    let still = [ticks(&[(2, false), (5, false)])];
    assert_eq!(job.until_hang(&still), Some(110), "all are blocked");
}

#[test]
fn what_cannot_be_read_is_told_once_and_ends_nothing() {
    let mut job = Clocked::new(LIMITS, "calls,file=x");
    let lines = job.read(&[None, None]);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].starts_with("calls of the library cannot be watched"),
        "{lines:?}"
    );
    assert!(
        lines[1].ends_with("a hang would not be noticed"),
        "{lines:?}"
    );
    assert_eq!(job.until_hang(&[None, None]), None);
    assert!(job.read(&[None, None]).is_empty());
    // The file can be read again.
    assert_eq!(job.until_hang(&[None, shows("1")]), Some(310));
}

#[test]
fn a_busy_source_that_is_lost_leaves_more_time_to_the_others() {
    let mut job = Clocked::new(LIMITS, "calls,file=x");
    for call in 0..400 {
        // The file moves each 500 s only, and 10 s ago at the end.
        let file = (call + 2) / 50;
        job.read(&[shows(&call.to_string()), shows(&file.to_string())]);
    }
    let lost = job.until_hang(&[None, shows("8")]);
    assert_eq!(lost, Some(1000), "longer than twice 500 s");
}

#[test]
fn with_auto_the_limit_follows_the_longest_pause() {
    let limits = Limits {
        after: After::Auto,
        first: FIRST,
    };
    let mut job = Clocked::new(limits, "calls");
    assert_eq!(job.watch.limit(), FIRST);
    for (call, pause) in [1, 1, 30, 100, 140, 600].into_iter().enumerate() {
        for _ in 0..pause {
            job.read(&[shows(&call.to_string())]);
            assert_eq!(job.watch.hang(), None, "a pause of {pause}0 s");
        }
    }
    job.read(&[shows("6")]);
    assert_eq!(job.watch.limit(), SECOND * 30000);
}

#[test]
fn with_auto_quick_calls_at_the_begin_do_not_shorten_the_first_limit() {
    let limits = Limits {
        after: After::Auto,
        first: FIRST,
    };
    let mut job = Clocked::new(limits, "calls");
    for call in 0..5 {
        job.read(&[shows(&call.to_string())]);
    }
    // A first step of 28 minutes.
    for _ in 0..168 {
        job.read(&[shows("4")]);
        assert_eq!(job.watch.hang(), None);
    }
    job.read(&[shows("5")]);
    assert!(job.watch.limit() > SECOND * 8000);
}

#[test]
fn time_in_which_the_watch_was_stopped_does_not_count() {
    let mut job = Clocked::new(LIMITS, "file=x");
    job.read(&[shows("1")]);
    job.read(&[shows("2")]);
    job.now += SECOND * 100_000;
    job.read(&[shows("2")]);
    assert_eq!(job.watch.hang(), None);
    assert_eq!(job.until_hang(&[shows("2")]), Some(90));
}

#[test]
fn slow_answers_count_as_long_as_they_take() {
    let mut watch = HangWatch::new(LIMITS, Source::list("calls").unwrap());
    let mut seen = |second: u64, text: &str| {
        let at = (SECOND * second as u32, SECOND * (second as u32 + 25));
        watch.observe(0, at, Ok(Reading::Shows(text.to_string())));
        watch.hang().is_some()
    };
    assert!(!seen(0, "1") && !seen(35, "2") && !seen(70, "2") && !seen(105, "2"));
    assert!(seen(140, "2"));
}

#[test]
fn a_command_may_say_yes_or_no() {
    let mut job = Clocked::new(LIMITS, "command=x");
    for _ in 0..100 {
        job.read(&[Some(Reading::Moves)]);
        assert_eq!(job.watch.hang(), None);
    }
    assert_eq!(job.until_hang(&[Some(Reading::Still)]), Some(110));
}
