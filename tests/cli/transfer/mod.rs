//! `scr transfer`, `scr poststage`, and the library beside them. Ranks are threads of the test; daemons
//! are processes, killed when the test ends.

mod copies;
mod evict;
mod failures;
mod orders;
mod poststage;
mod refused;
mod sessions;
mod stuck;

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

/// By a daemon that copies one byte a second: what has begun does not end.
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
