//! A program whose fields are stored to files that stay mapped, as a process of its own. While it writes checkpoints, it
//! is killed, its files are shortened, opened and removed, and there is no memory or no room for more.
//!
//! What it said to be complete is restored, or something newer, byte for byte; and only SIGKILL ends it.

mod disturbed;
mod killed;
mod limited;
mod side_by_side;

use crate::fields::{array, load, part};
use crate::fields_on_ranks::{Devices, save};
use crate::helpers::is_mapped;
use crate::site::{Rank, Site};
use scr::fields::Place;
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Numbers of a rank: its files are large enough to be mapped.
const COUNT: usize = 180_000;

/// The variable with what [`program`] is to do: lines with the directory of its site, its nodes, its number of
/// checkpoints, and parameters.
const PROGRAM: &str = "SCR_TEST_PROGRAM";

/// What its lines begin with.
const TELLS: &str = "kept: ";

/// A number of a step and a place in the whole.
fn number(step: i64, place: usize) -> f64 {
    (step * 10_000_019 + place as i64) as f64
}

/// Writes `count` numbers of each rank, which are a part of a whole.
/// Of some checkpoints they are on a device, and are copied straight to the files.
fn write(rank: &mut Rank, step: i64, count: usize) -> scr::Result<()> {
    Devices::some(step as u64 / 2).use_now();
    let (me, size) = (rank.rank, rank.session.comm().size());
    let places = me * count..(me + 1) * count;
    let mut data: Vec<f64> = places.map(|place| number(step, place)).collect();
    save(rank, &format!("ck.{step}"), |list| {
        array(list, "step", &mut [step], Place::Same)?;
        part(list, "u", &mut data, size * count, me * count)
    })
}

/// Restores a checkpoint that any number of ranks has written, and compares all its bytes. Returns its step, or 0 without a
/// checkpoint.
fn read(rank: &mut Rank) -> scr::Result<i64> {
    Devices::some(COUNT as u64 + rank.rank as u64).use_now();
    let (me, size) = (rank.rank, rank.session.comm().size());
    let (mut step, mut data, mut begin) = ([0i64], Vec::new(), 0);
    let found = load(rank, |list| {
        array(list, "step", &mut step, Place::Same)?;
        let stored = list.stored("u")?;
        let whole = stored.map_or(0, |stored| stored.whole[0] as usize);
        begin = whole * me / size;
        data.resize(whole * (me + 1) / size - begin, 0.0);
        part(list, "u", &mut data, whole, begin)
    })?;
    let [step] = step;
    let Some(name) = found else { return Ok(0) };
    assert_eq!(name, format!("ck.{step}"));
    let right = |(place, found): (usize, &f64)| *found == number(step, begin + place);
    assert!(data.iter().enumerate().all(right), "{name} has wrong bytes");
    Ok(step)
}

/// A site whose files are mapped. Where files are not, it says so and returns `None`.
fn site(scheme: &str) -> Option<Site> {
    let site = Site::in_memory()
        .set("SCR_COPY_TYPE", scheme)
        .set("SCR_CACHE_SIZE", "2")
        .set("SCR_FLUSH", "0");
    is_mapped(&site).then_some(site)
}

/// The program, as a process.
struct Program {
    child: Child,
    asks: Option<ChildStdin>,
    tells: Lines<BufReader<ChildStdout>>,
}

impl Program {
    /// Starts it on `nodes`, in the place of this process if there is a `command` that starts it. It restores what is
    /// there, and then writes a checkpoint each time that it is told to.
    fn start(site: &Site, nodes: &[&str], before: Option<&str>) -> Program {
        let exe = std::env::current_exe().unwrap();
        let args = ["--exact", "kept::program", "--ignored", "--nocapture"];
        let mut command = match before {
            None => Command::new(&exe),
            Some(script) => {
                let mut command = Command::new("sh");
                command.args(["-c", &format!("{script}; exec \"$@\""), "sh"]);
                command.arg(&exe);
                command
            }
        };
        let vars = site.vars.iter();
        let vars = vars.map(|(name, value)| format!("{name}={value}"));
        let mut lines = vec![site.dir.path().display().to_string(), nodes.join(" ")];
        lines.extend(vars);
        let mut child = command
            .args(args)
            .env(PROGRAM, lines.join("\n"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let asks = child.stdin.take();
        let tells = BufReader::new(child.stdout.take().unwrap()).lines();
        Program { child, asks, tells }
    }

    /// Lets it write checkpoints of so many numbers, one after the other.
    fn go(&mut self, checkpoints: usize, count: usize) {
        let asks = self.asks.as_mut().unwrap();
        // It may have been killed.
        let _ = writeln!(asks, "{checkpoints} {count}");
    }

    /// What it tells next; `None` when it has ended.
    fn hear(&mut self) -> Option<String> {
        loop {
            let line = self.tells.next()?.ok()?;
            if let Some((_, told)) = line.split_once(TELLS) {
                return Some(told.to_string());
            }
        }
    }

    /// The step that it says to have restored.
    fn restored(&mut self) -> i64 {
        let told = self.hear().expect("it restores");
        told.strip_prefix("restored ")
            .expect(&told)
            .parse()
            .unwrap()
    }

    /// The step of the next checkpoint that is complete.
    fn completed(&mut self) -> i64 {
        let told = self.hear().expect("it writes");
        told.strip_prefix("complete ")
            .expect(&told)
            .parse()
            .unwrap()
    }

    /// Hears of so many that are complete, and gives the step of the last one.
    fn complete(&mut self, checkpoints: usize) -> i64 {
        let steps = (0..checkpoints).map(|_| self.completed());
        steps.last().unwrap_or(0)
    }

    /// Kills it, and gives what it has told meanwhile, and the signal that has ended it.
    fn kill(mut self) -> (Vec<String>, Option<i32>) {
        let _ = self.child.kill();
        self.end()
    }

    /// Waits until it ends.
    fn end(mut self) -> (Vec<String>, Option<i32>) {
        drop(self.asks.take());
        let told = std::iter::from_fn(|| self.hear()).collect();
        (told, self.child.wait().unwrap().signal())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "the program of the tests beside it"]
fn program() {
    let Ok(told) = std::env::var(PROGRAM) else {
        return;
    };
    let mut lines = told.lines();
    let mut site = Site::of_other(PathBuf::from(lines.next().unwrap()));
    let nodes: Vec<&str> = lines.next().unwrap().split(' ').collect();
    for (name, value) in lines.filter_map(|line| line.split_once('=')) {
        site = site.set(name, value);
    }
    let place = std::sync::Mutex::new((0, COUNT));
    let tell = |rank: &Rank, text: String| {
        if rank.rank == 0 {
            println!("{TELLS}{text}");
        }
    };
    site.run(&nodes, |rank| {
        let step = read(rank).unwrap();
        tell(rank, format!("restored {step}"));
        let mut next = step + 1;
        loop {
            if rank.rank == 0 {
                let mut order = String::new();
                std::io::stdin().read_line(&mut order).unwrap();
                let order = order.trim().split_once(' ').unwrap_or(("0", "0"));
                *place.lock().unwrap() = (order.0.parse().unwrap(), order.1.parse().unwrap());
            }
            rank.session.should_exit().unwrap();
            let (checkpoints, count) = *place.lock().unwrap();
            if checkpoints == 0 {
                return;
            }
            for _ in 0..checkpoints {
                match write(rank, next, count) {
                    Ok(()) => tell(rank, format!("complete {next}")),
                    Err(error) => tell(rank, format!("failed {next}: {error}")),
                }
                next += 1;
            }
            rank.session.should_exit().unwrap();
        }
    });
}
