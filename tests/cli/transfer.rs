//! `scr transfer`, `scr poststage`, and the library beside them. Ranks are threads of the test; daemons
//! are processes, killed when the test ends.

use crate::sandbox::{Programs, Said, outside, said};
use crate::site::{Rank, Site};
use scr::config::Config;
use scr::daemon::Control;
use scr::format::Name;
use scr::format::transfer::{DONE, PartId, RUN, RUNNING, STOP, STOPPED, Transfer, TransferPart};
use scr::prefix::index;
use scr::prefix::paths::Prefix;
use scr::store::{Files, posix::Posix};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const NODES: [&str; 4] = ["n0", "n0", "n1", "n1"];

/// Every checkpoint is flushed by daemons, without a limit.
fn by_daemon() -> Site {
    Site::new()
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_FLUSH", "1")
        .set("SCR_FLUSH_ASYNC", "1")
        .set("SCR_FLUSH_TYPE", "DAEMON")
        .set("SCR_FLUSH_ASYNC_BW", "0")
        .set("SCR_DEBUG", "1")
}

/// The same with one byte a second: what has begun does not end.
fn slow() -> Site {
    by_daemon().set("SCR_FLUSH_ASYNC_BW", "1")
}

fn command(site: &Site, node: &str, args: &[&str]) -> Command {
    let mut command = outside("scr", args);
    let base = site.node(node);
    fs::create_dir_all(&base).unwrap();
    command
        .current_dir(site.prefix())
        .envs([
            ("SCR_NODE_NAME", node),
            ("SCR_USER_NAME", "user1"),
            ("SCR_JOB_ID", "1001"),
        ])
        .envs([("SCR_CACHE_BASE", &base), ("SCR_CNTL_BASE", &base)]);
    command
}

fn transfer(site: &Site, node: &str, args: &[&str]) -> Said {
    let output = command(site, node, &[&["transfer"], args].concat()).output();
    said(output.unwrap())
}

fn control(site: &Site, node: &str) -> Control {
    Control::new(&Posix, site.job(node))
}

fn file(site: &Site, node: &str) -> Transfer {
    control(site, node).read().unwrap().unwrap_or_default()
}

/// A daemon, which is killed when it is dropped.
struct Running {
    child: Child,
    told: Arc<Mutex<Vec<String>>>,
}

impl Running {
    /// Starts one and waits until it serves.
    fn on(site: &Site, node: &str) -> Self {
        Running::of(command(site, node, &["transfer"]))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let told = Arc::new(Mutex::new(Vec::new()));
        let lines = told.clone();
        std::thread::spawn(move || {
            out.lines()
                .map_while(Result::ok)
                .for_each(|line| lines.lock().unwrap().push(line));
        });
        let running = Running { child, told };
        running.says(" serves ");
        running
    }

    fn says(&self, part: &str) {
        until(|| {
            self.told
                .lock()
                .unwrap()
                .iter()
                .any(|line| line.contains(part))
        });
    }

    fn signal(&self, signal: i32) {
        // SAFETY: a plain system call on the id of a child that was not waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// Waits for its end; its exit code.
    fn ends(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for something that comes if the code is right.
fn until(mut done: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it did not come in a minute");
}

fn at_hand(site: &Site, node: &str) -> bool {
    file(site, node).state == Some(RUNNING.into())
}

/// The names of the good checkpoints in the index.
fn saved(site: &Site) -> Vec<String> {
    let index = index::read(&Posix, &Prefix::new(&site.prefix())).unwrap();
    let good = index.datasets().values().filter(|entry| entry.is_good());
    let names = good.filter_map(|entry| entry.dataset.as_ref());
    names.map(|dataset| dataset.name.to_string()).collect()
}

fn finalize(rank: &mut Rank) {
    rank.session.finalize(&mut Config::new()).unwrap();
}

fn lose_all(site: &Site) {
    let nodes = ["n0", "n1"].map(|node| site.node(node));
    let there = nodes.iter().filter(|node| node.exists());
    there.for_each(|node| fs::remove_dir_all(node).unwrap());
}

fn events(site: &Site) -> String {
    site.events.lines().join("\n")
}

#[test]
fn daemons_copy_what_is_flushed() {
    copied_by_daemons(&by_daemon());
}

#[test]
fn daemons_pack_what_is_flushed_into_containers() {
    let site = by_daemon()
        .set("SCR_USE_CONTAINERS", "1")
        .set("SCR_CONTAINER_SIZE", "1000");
    copied_by_daemons(&site);
    assert!(!site.prefix().join("c").exists());
    let dir = site.prefix().join(".scr/scr.dataset.3");
    for (container, size) in [("ctr.0.scr", 1000), ("ctr.4.scr", 42)] {
        assert_eq!(fs::metadata(dir.join(container)).unwrap().len(), size);
    }
}

fn copied_by_daemons(site: &Site) {
    let mut daemons = ["n0", "n1"].map(|node| Running::on(site, node));
    site.run(&NODES, |rank| {
        ["a", "b", "c"]
            .iter()
            .for_each(|name| rank.checkpoint(name).unwrap());
        finalize(rank);
    });
    assert_eq!(saved(site), ["a", "b", "c"], "{}", events(site));
    assert!(!events(site).contains("daemon"), "{}", events(site));
    daemons[0].says("dataset 3, part 0 of 2 (c): copied, 2 files, 2007 bytes");
    daemons[1].says("dataset 3, part 1 of 2 (c): copied, 2 files, 2035 bytes");
    // No permit and no part is left.
    let dir = site.prefix().join(".scr/scr.dataset.3");
    let names = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name());
    assert!(
        names
            .into_iter()
            .all(|name| !name.to_string_lossy().starts_with("transfer"))
    );
    for (node, daemon) in ["n0", "n1"].iter().zip(&mut daemons) {
        let stopped = transfer(site, node, &["--stop"]).out();
        assert!(stopped.ends_with(" has ended\n"), "{stopped}");
        assert_eq!(daemon.ends(), Some(0));
        assert!(!site.job(node).exists(), "nothing is left of the daemon");
    }
    fs::remove_dir_all(site.node("n0")).unwrap();
    fs::remove_dir_all(site.node("n1")).unwrap();
    assert_eq!(
        site.run(&NODES, Rank::restart),
        vec![Some("c".to_string()); 4]
    );
}

#[test]
fn without_a_daemon_threads_copy_and_that_is_told_once() {
    let site = by_daemon();
    site.run(&NODES, |rank| {
        ["a", "b"]
            .iter()
            .for_each(|name| rank.checkpoint(name).unwrap());
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a", "b"]);
    let lines = site.events.lines();
    let told: Vec<_> = lines
        .iter()
        .filter(|l| l.contains("no transfer daemon"))
        .collect();
    let warnings: Vec<_> = told.iter().filter(|l| l.contains("Warning")).collect();
    assert_eq!(warnings.len(), 1, "{lines:#?}");
    assert!(!site.job("n0").exists(), "no transfer file was needed");
}

#[test]
fn a_daemon_goes_on_when_the_program_has_died() {
    let site = slow();
    let mut daemons = ["n0", "n1"].map(|node| Running::on(&site, node));
    site.run(&NODES, |rank| rank.checkpoint("a").unwrap());
    until(|| at_hand(&site, "n0") && at_hand(&site, "n1"));
    let status = transfer(&site, "n0", &["--status"]).out();
    assert!(status.contains("daemon: process "), "{status}");
    assert!(status.contains("command: RUN, state: RUNNING, limits: 1 bytes per second"));
    assert!(
        status.contains("dataset 1, part 0 of 2 (a): being copied, "),
        "{status}"
    );
    assert_eq!(saved(&site), [] as [&str; 0]);
    for (node, daemon) in ["n0", "n1"].iter().zip(&mut daemons) {
        let said = transfer(&site, node, &["--finish"]).out();
        assert!(said.contains(" of 2 (a): copied, 2 files"), "{said}");
        assert_eq!(daemon.ends(), Some(0));
        assert!(!site.job(node).join("transfer.scrinfo").exists());
    }
    assert_eq!(saved(&site), ["a"]);
    lose_all(&site);
    assert_eq!(
        site.run(&NODES, Rank::restart),
        vec![Some("a".to_string()); 4]
    );
}

/// The keys of the SCR developer guide.
#[test]
fn the_transfer_file_tells_files_limits_and_state() {
    let site = slow().set("SCR_FLUSH_ASYNC_PERCENT", "50");
    let _daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| rank.checkpoint("a").unwrap());
    let done = |file: &Transfer| file.files.values().any(|file| file.written > 0);
    until(|| done(&file(&site, "n0")));
    let output = command(&site, "n0", &["print"])
        .arg(control(&site, "n0").file())
        .output();
    let text = said(output.unwrap()).out();
    for part in [
        "PERCENT = 50.000000",
        "BW = 1.000000",
        "COMMAND = RUN",
        "STATE = RUNNING",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let file = file(&site, "n0");
    let (from, first) = file.files.iter().next().unwrap();
    let data = site.dataset("n0", 1).join("rank_0/a/rank_0.dat");
    assert_eq!(from.as_path(), data);
    assert_eq!(
        first.destination.as_path(),
        site.prefix().join("a/rank_0.dat")
    );
    assert_eq!((first.size, first.written), (1000, 1000));
    assert_eq!((file.files.len(), file.flag), (2, None));
}

#[test]
fn when_the_daemon_dies_the_library_copies() {
    let site = by_daemon();
    let daemon = Running::on(&site, "n0");
    // It takes orders and does nothing.
    daemon.signal(libc::SIGSTOP);
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        if rank.rank == 0 {
            assert!(
                file(&site, "n0")
                    .part(PartId {
                        dataset: 1,
                        part: 0
                    })
                    .is_some()
            );
            daemon.signal(libc::SIGKILL);
        }
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a"]);
    let told = events(&site);
    assert!(told.contains("the transfer daemon has ended before it had copied dataset 1, part 0"));
    assert!(!told.contains("ERROR"), "{told}");
}

/// Daemons that show no progress for a second are left out.
fn impatient(site: Site) -> Site {
    site.set("SCR_FLUSH_DAEMON_TIMEOUT", "1")
}

/// A daemon that was left out writes nothing when it goes on, and ends.
fn goes_on_and_ends(mut daemon: Running) {
    daemon.signal(libc::SIGCONT);
    assert_eq!(daemon.ends(), Some(0));
    daemon.says("ends: its files were removed");
}

/// The cache has room for one dataset, so the second waits for the flush of the first.
#[test]
fn a_daemon_that_does_nothing_is_left_out() {
    let site = impatient(by_daemon()).set("SCR_CACHE_SIZE", "1");
    let daemon = Running::on(&site, "n0");
    daemon.signal(libc::SIGSTOP);
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        rank.checkpoint("b").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a", "b"]);
    let told = events(&site);
    let who = format!("the transfer daemon, process {} on ", daemon.child.id());
    assert!(told.contains(&who), "{told}");
    let why = "has shown no progress for 1 s (SCR_FLUSH_DAEMON_TIMEOUT); it is left out; a thread \
               copies dataset 1, part 0";
    assert!(told.contains(why), "{told}");
    assert!(!told.contains("ERROR"), "{told}");
    goes_on_and_ends(daemon);
    lose_all(&site);
    let names = site.run(&["n0", "n0"], Rank::restart);
    assert_eq!(names, vec![Some("b".to_string()); 2]);
}

/// The daemon is stopped in the middle of its work. What a thread has copied in its place is whole after the
/// daemon has gone on.
#[test]
fn a_daemon_that_was_stopped_in_mid_copy_harms_nothing_later() {
    let site = by_daemon().set("SCR_FLUSH_DAEMON_TIMEOUT", "10");
    let daemon = Running::on(&site, "n0");
    daemon.signal(libc::SIGSTOP);
    let part = PartId {
        dataset: 1,
        part: 0,
    };
    let left_out = || events(&site).contains("it is left out");
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        if rank.rank == 0 {
            // The limit is the daemon's alone.
            let slow = |file: &mut Transfer| file.bw = 1.0;
            control(&site, "n0").update(slow).unwrap();
            daemon.signal(libc::SIGCONT);
            let begun = || {
                file(&site, "n0")
                    .part(part)
                    .is_some_and(|p| p.written > Some(0))
            };
            until(|| begun() || left_out());
            daemon.signal(libc::SIGSTOP);
        }
        finalize(rank);
    });
    assert!(left_out(), "{}", events(&site));
    assert_eq!(saved(&site), ["a"]);
    goes_on_and_ends(daemon);
    lose_all(&site);
    let names = site.run(&["n0", "n0"], Rank::restart);
    assert_eq!(names, vec![Some("a".to_string()); 2], "{}", events(&site));
}

/// A daemon that waits for its bandwidth shows progress, so nobody loses patience.
#[test]
fn a_slow_daemon_shows_progress() {
    let site = slow();
    let _daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| rank.checkpoint("a").unwrap());
    until(|| at_hand(&site, "n0"));
    let written = |file: &Transfer| file.parts().filter_map(|(_, part)| part.written).max();
    until(|| written(&file(&site, "n0")) > Some(0));
    let first = file(&site, "n0");
    until(|| file(&site, "n0").pulse > first.pulse + 1);
    assert_eq!(written(&file(&site, "n0")), written(&first));
}

#[test]
fn deleting_does_not_wait_for_a_daemon_that_does_nothing() {
    let site = impatient(slow());
    let daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        if rank.rank == 0 {
            // On a busy machine a second may pass before.
            until(|| at_hand(&site, "n0") || events(&site).contains("it is left out"));
            daemon.signal(libc::SIGSTOP);
        }
        rank.session.delete(&Name::from("a")).unwrap();
        finalize(rank);
    });
    assert!(
        events(&site).contains("it is left out"),
        "{}",
        events(&site)
    );
    goes_on_and_ends(daemon);
    // A part of a file that the daemon had begun may still be there: it leaves alone what is not its own any more.
    assert_eq!(saved(&site), [] as [&str; 0]);
}

#[test]
fn a_run_starts_beside_a_daemon_of_an_earlier_run_that_does_nothing() {
    let site = slow();
    let daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| rank.checkpoint("a").unwrap());
    until(|| at_hand(&site, "n0"));
    daemon.signal(libc::SIGSTOP);
    let site = impatient(site).set("SCR_FLUSH_ASYNC_BW", "0");
    site.run(&["n0", "n0"], |rank| {
        assert_eq!(rank.restart(), Some("a".to_string()));
        rank.checkpoint("b").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a", "b"]);
    let told = events(&site);
    let why = "though it was told to stop; it is left out; end it (kill -9)";
    assert!(told.contains(why), "{told}");
    goes_on_and_ends(daemon);
    lose_all(&site);
    let names = site.run(&["n0", "n0"], Rank::restart);
    assert_eq!(names, vec![Some("b".to_string()); 2]);
}

/// Stopped while it changes its file: it holds the lock on it.
#[test]
fn a_daemon_that_keeps_the_lock_on_its_file_is_left_out() {
    let site = impatient(by_daemon());
    let _daemon = Running::on(&site, "n0");
    let lock = site.job("n0").join("transfer.lock");
    fs::write(&lock, "").unwrap();
    let held = Posix.try_lock(&lock).unwrap().unwrap();
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        finalize(rank);
    });
    drop(held);
    assert_eq!(saved(&site), ["a"]);
    assert!(
        events(&site).contains("it is left out"),
        "{}",
        events(&site)
    );
}

#[test]
fn finish_does_the_work_of_a_daemon_that_does_nothing() {
    let site = slow();
    let daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| rank.checkpoint("a").unwrap());
    until(|| at_hand(&site, "n0"));
    daemon.signal(libc::SIGSTOP);
    let finish = command(&site, "n0", &["transfer", "--finish"])
        .env("SCR_FLUSH_DAEMON_TIMEOUT", "1")
        .output();
    let said = said(finish.unwrap());
    assert!(said.err.contains("it is left out"), "{said:?}");
    assert!(said.out.contains("(a): copied, 2 files"), "{said:?}");
    assert_eq!((said.code, saved(&site)), (0, vec!["a".to_string()]));
    goes_on_and_ends(daemon);
    lose_all(&site);
    let names = site.run(&["n0", "n0"], Rank::restart);
    assert_eq!(names, vec![Some("a".to_string()); 2]);
}

#[test]
fn stop_signals_and_a_new_daemon() {
    let site = slow();
    let mut daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        // MPI_Finalize without SCR_Finalize.
        rank.session.abandon();
    });
    until(|| at_hand(&site, "n0"));
    let (at, control) = (
        PartId {
            dataset: 1,
            part: 0,
        },
        control(&site, "n0"),
    );
    let command = |word: &str| {
        control
            .update(|file| file.command = Some(word.into()))
            .unwrap()
    };
    let idle = || {
        let file = file(&site, "n0");
        let part = file.part(at).unwrap();
        file.state == Some(STOPPED.into()) && !part.is_running() && !part.has_ended()
    };
    command(STOP);
    until(idle);
    command(RUN);
    until(|| at_hand(&site, "n0"));
    daemon.signal(libc::SIGTERM);
    assert_eq!(daemon.ends(), Some(0));
    assert!(idle(), "the file is truthful");

    // A daemon that was killed leaves RUNNING; the next one takes its work up.
    let mut next = Running::on(&site, "n0");
    until(|| at_hand(&site, "n0"));
    next.signal(libc::SIGKILL);
    assert_eq!(next.ends(), None);
    assert!(at_hand(&site, "n0"));
    let mut last = Running::on(&site, "n0");
    until(|| at_hand(&site, "n0"));
    // EXIT leaves what is not done.
    transfer(&site, "n0", &["--stop"]).out();
    assert_eq!(last.ends(), Some(0));
    assert!(idle());
    // Without a daemon, --finish does it itself.
    let said = transfer(&site, "n0", &["--finish"]).out();
    assert!(
        said.contains("dataset 1, part 0 of 1 (a): copied"),
        "{said}"
    );
    assert_eq!(saved(&site), ["a"]);
    assert_eq!(
        transfer(&site, "n0", &["--finish"]).out(),
        "nothing is left to transfer here\n"
    );
    assert_eq!(
        transfer(&site, "n0", &["--stop"]).out(),
        "there is no transfer daemon here\n"
    );
}

#[test]
fn a_second_daemon_is_refused() {
    let site = by_daemon();
    let first = Running::on(&site, "n0");
    let error = transfer(&site, "n0", &[]).failed();
    let who = format!("process {} on ", first.child.id());
    assert!(error.contains(&who), "{error}");
    assert!(
        error.contains("is the transfer daemon here already"),
        "{error}"
    );
    assert!(error.contains("scr transfer --stop"), "{error}");
}

#[test]
fn the_next_run_stops_the_daemon_before_it_takes_the_cache_over() {
    let site = slow();
    let _daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| rank.checkpoint("a").unwrap());
    until(|| at_hand(&site, "n0"));
    let run_of = |site: &Site| {
        let file = file(site, "n0");
        file.parts().next().map(|(_, part)| part.run.clone())
    };
    let first = run_of(&site);
    let site = site.set("SCR_FLUSH_ASYNC_BW", "0");
    site.run(&["n0", "n0"], |rank| {
        if rank.rank == 0 {
            // This run flushes what the one before has not.
            assert_ne!(run_of(&site), first);
        }
        assert_eq!(rank.restart(), Some("a".to_string()));
        // The same daemon serves this run.
        rank.checkpoint("b").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a", "b"]);
    assert!(
        !events(&site).contains("no transfer daemon"),
        "{}",
        events(&site)
    );
}

#[test]
fn a_flush_is_cancelled_at_the_daemon() {
    let site = slow();
    let daemon = Running::on(&site, "n0");
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        if rank.rank == 0 {
            until(|| at_hand(&site, "n0"));
        }
        rank.session.delete(&Name::from("a")).unwrap();
        assert!(file(&site, "n0").is_empty());
        assert!(!at_hand(&site, "n0"));
    });
    drop(daemon);
    assert!(!site.prefix().join("a/rank_1.dat").exists());
    assert_eq!(saved(&site), [] as [&str; 0]);
}

/// A directory is in the way of a file: the daemon's reason comes to the library; the dataset stays in the
/// cache, and is flushed when the way is free.
#[test]
fn what_the_daemon_cannot_copy_is_told_and_flushed_later() {
    let site = by_daemon();
    let _daemon = Running::on(&site, "n0");
    let in_the_way = site.prefix().join("a/rank_1.dat");
    fs::create_dir_all(&in_the_way).unwrap();
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        // Waits for the end of the flush.
        rank.session.current(&Name::from("a")).unwrap();
        assert_eq!(saved(&site), [] as [&str; 0]);
        assert!(site.dataset("n0", 1).join("rank_1/a/rank_1.dat").exists());
        rank.session.should_exit().unwrap();
        if rank.rank == 1 {
            fs::remove_dir(&in_the_way).unwrap();
        }
        rank.session.should_exit().unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a"]);
    let told = events(&site);
    for part in [
        "could not be flushed",
        "the transfer daemon: cannot",
        "a/rank_1.dat",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// The prefix directory of the daemon is read-only, then full; that of the library is not.
#[test]
fn a_read_only_or_full_prefix_directory_is_told_and_flushed_later() {
    let own_mounts = |then: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c"]).arg(then).arg("sh");
        command
    };
    if !own_mounts("mount -t tmpfs none /mnt")
        .output()
        .is_ok_and(|o| o.status.success())
    {
        println!("SKIPPED: no name spaces for mounts here");
        return;
    }
    for (mount, reason) in [
        (
            "mount -o bind . . && mount -o remount,bind,ro . && cd .",
            "Read-only file system",
        ),
        ("mount -t tmpfs -o size=4k none a", "No space left"),
    ] {
        let site = by_daemon();
        fs::create_dir(site.prefix().join("a")).unwrap();
        let plain = command(&site, "n0", &["transfer"]);
        let script = format!("{mount} && cd \"$PWD\" && exec \"$1\" transfer");
        let mut confined = own_mounts(&script);
        confined
            .arg(env!("CARGO_BIN_EXE_scr"))
            .current_dir(site.prefix());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => confined.env(name, value),
                None => confined.env_remove(name),
            };
        }
        let _daemon = Running::of(confined);
        site.run(&["n0", "n0"], |rank| {
            rank.checkpoint("a").unwrap();
            // Waits for the end of the flush.
            rank.session.current(&Name::from("a")).unwrap();
            assert_eq!(saved(&site), [] as [&str; 0]);
            assert!(site.dataset("n0", 1).join("rank_1/a/rank_1.dat").exists());
            finalize(rank);
        });
        assert_eq!(saved(&site), ["a"], "{}", events(&site));
        let told = events(&site);
        assert!(
            told.contains("could not be flushed") && told.contains(reason),
            "{told}"
        );
        lose_all(&site);
        assert_eq!(
            site.run(&["n0", "n0"], Rank::restart),
            vec![Some("a".to_string()); 2]
        );
    }
}

#[test]
fn a_damaged_transfer_file_is_put_aside() {
    let site = by_daemon();
    let daemon = Running::on(&site, "n0");
    let path = control(&site, "n0").file();
    let whole = {
        let entry = TransferPart {
            result: Some(DONE.into()),
            ..TransferPart::default()
        };
        control(&site, "n0")
            .update(|file| {
                file.insert(
                    PartId {
                        dataset: 9,
                        part: 0,
                    },
                    entry.clone(),
                )
            })
            .unwrap();
        fs::read(&path).unwrap()
    };
    let mut flipped = whole.clone();
    flipped[30] ^= 1;
    for (n, bytes) in [&b"nonsense"[..], &whole[..whole.len() / 2], &flipped]
        .iter()
        .enumerate()
    {
        // In one step, as a file comes.
        fs::write(path.with_extension("new"), bytes).unwrap();
        fs::rename(path.with_extension("new"), &path).unwrap();
        until(|| !path.exists());
        let put_aside = || {
            let told = daemon.told.lock().unwrap();
            told.iter()
                .filter(|line| line.contains("is put aside as"))
                .count()
                == n + 1
        };
        until(put_aside);
        let aside = site.job("n0").join("transfer.scrinfo.damaged");
        assert_eq!(fs::read(aside).unwrap(), *bytes);
    }
    fs::write(&path, "nonsense").unwrap();
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a"], "{}", events(&site));
    drop(daemon);

    // Without a daemon: --status tells, and a run goes on.
    fs::write(&path, "nonsense").unwrap();
    let error = transfer(&site, "n0", &["--status"]).failed();
    assert!(error.contains("transfer.scrinfo"), "{error}");
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("b").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a", "b"], "{}", events(&site));
}

/// The daemon copies only from caches of its job, to prefix directories, and numbers must fit.
#[test]
fn hostile_parts_are_refused() {
    let site = slow();
    // An entry as the library makes it.
    {
        let daemon = Running::on(&site, "n0");
        site.run(&["n0", "n0"], |rank| rank.checkpoint("a").unwrap());
        drop(daemon);
    }
    let control = control(&site, "n0");
    let (good_at, good) = {
        let file = control.read().unwrap().unwrap();
        let (at, part) = file.parts().next().unwrap();
        (at, part.clone())
    };
    assert_eq!(good_at.dataset, 1);
    let other = tempfile::tempdir().unwrap();
    let elsewhere = Name::from(other.path());
    type Change<'a> = &'a dyn Fn(&mut TransferPart);
    let cases: [(&str, Change); 11] = [
        ("PREFIX", &|part| part.prefix = "/tmp/../etc".into()),
        ("PREFIX", &|part| part.prefix = "relative".into()),
        ("BASE", &|part| part.base = "../..".into()),
        ("BASE", &|part| part.base = "/a/../b".into()),
        ("RUN", &|part| part.run = "../../../../x".into()),
        ("its description is of dataset 7", &|part| {
            part.dataset.id = 7
        }),
        ("do not fit", &|part| {
            (part.parts, part.ranks) = (u64::MAX, u64::MAX)
        }),
        ("do not fit", &|part| part.rank = vec![1, 0]),
        ("do not fit", &|part| part.rank = vec![u64::MAX]),
        // Nothing of the job is there, and no flush has its permit.
        ("cannot open", &|part| part.base = elsewhere.clone()),
        ("permit", &|part| part.prefix = elsewhere.clone()),
    ];
    for (reason, change) in cases {
        let mut part = good.clone();
        part.restart();
        change(&mut part);
        control
            .update(|file| {
                *file = Transfer {
                    command: Some(RUN.into()),
                    ..Transfer::default()
                };
                file.insert(good_at, part.clone());
            })
            .unwrap();
        let error = transfer(&site, "n0", &["--finish"]);
        assert_eq!(error.code, 1, "{reason}: {error:?}");
        assert!(error.err.contains(reason), "{reason}: {error:?}");
        assert!(
            error.err.contains("dataset 1, part 0"),
            "{reason}: {error:?}"
        );
    }
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
    assert_eq!(saved(&site), [] as [&str; 0]);
    // The cache was not harmed, and the good part can be copied.
    control
        .update(|file| {
            *file = Transfer {
                command: Some(RUN.into()),
                ..Transfer::default()
            };
            let mut part = good.clone();
            part.restart();
            file.insert(good_at, part);
        })
        .unwrap();
    transfer(&site, "n0", &["--finish"]).out();
    assert_eq!(saved(&site), ["a"]);
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: only root can give files away");
        return;
    }
    let site = by_daemon();
    drop(Running::on(&site, "n0"));
    control(&site, "n0")
        .update(|file| file.command = Some(RUN.into()))
        .unwrap();
    let refused = |path: &Path| {
        chown(path, Some(65534), None).unwrap();
        for args in [&[][..], &["--status"], &["--finish"]] {
            let error = transfer(&site, "n0", args);
            assert_eq!(error.code, 1, "{args:?} {error:?}");
            assert!(error.err.contains(&*path.to_string_lossy()), "{error:?}");
            assert!(error.err.contains("belongs to user 65534"), "{error:?}");
            assert!(error.err.contains("choose another"), "{error:?}");
        }
        chown(path, Some(0), None).unwrap();
    };
    refused(&control(&site, "n0").file());
    refused(&site.job("n0"));
}

/// A stand-in for ssh to nodes that are directories of `site`.
fn ssh(site: &Site) -> Programs {
    let root = site.node("x");
    let root = root.parent().unwrap().display();
    Programs::new().add(
        "ssh",
        &format!(
            r#"
            while [ $# -gt 2 ]; do shift; done
            PATH=/usr/bin:/bin
            export SCR_NODE_NAME="$1" SCR_CACHE_BASE="{root}/$1" SCR_CNTL_BASE="{root}/$1"
            eval "$2""#
        ),
    )
}

/// A command on all nodes of the job.
fn on_nodes(site: &Site, set: &[(&str, &str)], args: &[&str]) -> Said {
    let programs = ssh(site);
    let mut command = outside("scr", args);
    command
        .current_dir(site.prefix())
        .env("PATH", programs.path());
    command.envs([
        ("SCR_NODELIST", "n[0-1]"),
        ("SCR_REMOTE", "ssh"),
        ("SCR_NODE_TESTS", "echo"),
        ("SCR_USER_NAME", "user1"),
        ("SCR_JOB_ID", "1001"),
        ("SCR_FLUSH_ASYNC", "1"),
        ("SCR_LOG_ENABLE", "0"),
    ]);
    said(command.envs(set.iter().copied()).output().unwrap())
}

const POSTSTAGE: (&str, &str) = ("SCR_FLUSH_POSTSTAGE", "1");

/// Threads copy one byte a second; the newest checkpoint is not even begun when the run ends.
fn left_behind(kind: &str) -> Site {
    let site = slow()
        .set("SCR_FLUSH_TYPE", kind)
        .set("SCR_FLUSH_POSTSTAGE", "1");
    let site = site.set("SCR_FLUSH", "2").set("SCR_CACHE_SIZE", "3");
    site.run(&NODES, |rank| {
        ["a", "b", "c"]
            .iter()
            .for_each(|name| rank.checkpoint(name).unwrap());
        finalize(rank);
    });
    assert_eq!(saved(&site), [] as [&str; 0]);
    assert!(events(&site).contains("scr poststage or scr postrun finishes the flush of"));
    site
}

#[test]
fn finalize_does_not_wait_and_poststage_finishes() {
    let site = left_behind("PTHREAD");
    let said = on_nodes(&site, &[POSTSTAGE], &["poststage"]).out();
    assert_eq!(
        said,
        "Dataset 2 (`b') is complete in the prefix directory\n\
         Dataset 3 (`c') is complete in the prefix directory\n"
    );
    assert_eq!(saved(&site), ["b", "c"]);
    let again = on_nodes(&site, &[POSTSTAGE], &["poststage"]).out();
    assert_eq!(again, "The last run has left no flush behind\n");
    lose_all(&site);
    assert_eq!(
        site.run(&NODES, Rank::restart),
        vec![Some("c".to_string()); 4]
    );
}

#[test]
fn postrun_finishes_flushes_before_it_saves_the_rest() {
    let site = left_behind("PTHREAD");
    let said = on_nodes(&site, &[POSTSTAGE], &["postrun"]).out();
    assert_eq!(
        said,
        "The last run called SCR_Finalize, and all is in the prefix directory\n"
    );
    assert_eq!(saved(&site), ["b", "c"]);
}

#[test]
fn poststage_waits_for_daemons() {
    let site = slow().set("SCR_FLUSH_POSTSTAGE", "1");
    let mut daemons = ["n0", "n1"].map(|node| Running::on(&site, node));
    site.run(&NODES, |rank| {
        rank.checkpoint("a").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), [] as [&str; 0]);
    let said = on_nodes(&site, &[POSTSTAGE], &["poststage"]).out();
    assert_eq!(
        said,
        "Dataset 1 (`a') is complete in the prefix directory\n"
    );
    assert_eq!(daemons.each_mut().map(Running::ends), [Some(0); 2]);
}

#[test]
fn poststage_tells_what_it_cannot_finish() {
    let site = left_behind("PTHREAD");
    // The parts of a node are lost.
    fs::remove_dir_all(site.node("n1")).unwrap();
    let said = on_nodes(&site, &[POSTSTAGE], &["poststage"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.err.contains("dataset 3 (`c') is not complete"),
        "{said:?}"
    );
    assert!(
        said.err.contains("scr postrun saves it from the caches"),
        "{said:?}"
    );
    // XOR rebuilds them.
    let said = on_nodes(&site, &[POSTSTAGE], &["postrun", "--down", "n1"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(saved(&site), ["c"]);
}

#[test]
fn prerun_starts_daemons_on_all_nodes_and_postrun_ends_them() {
    let site = by_daemon();
    let set = [("SCR_FLUSH_TYPE", "DAEMON")];
    let said = on_nodes(&site, &set, &["prerun", "--verbose"]).out();
    assert!(said.contains("2 transfer daemons serve n[0-1]\n"), "{said}");
    site.run(&NODES, |rank| {
        rank.checkpoint("a").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a"]);
    assert!(
        !events(&site).contains("no transfer daemon"),
        "{}",
        events(&site)
    );
    let log = fs::read_to_string(site.prefix().join(".scr/transfer.log")).unwrap();
    assert!(log.contains("dataset 1, part 1 of 2 (a): copied"), "{log}");
    on_nodes(&site, &set, &["postrun"]).out();
    for node in ["n0", "n1"] {
        assert!(control(&site, node).living().unwrap().is_none());
        assert!(!site.job(node).exists());
    }
}
