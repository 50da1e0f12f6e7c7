//! Makes the calls of a sequence on thread ranks, and compares the answer to each call with that of
//! the model.

use crate::answer::{Answer, Place};
use crate::calls::{Call, Config};
use crate::differences::Difference;
use crate::model::Model;
use crate::site::{Rank, Site, content, nodes};
use scr::format::Name;
use scr::format::index::Index;
use scr::session::state::State;
use scr::store::posix::Posix;
use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// What is compared after each call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub answer: Answer,
    pub state: State,
    /// On rank 0: the index as one line.
    pub index: Option<String>,
    /// On rank 0: the datasets in its cache directory.
    pub cached: Option<Vec<u64>>,
}

/// The model's answer to a call, and what the program needs to make the call.
pub struct Expected {
    pub seen: Seen,
    /// The call is the first of a process.
    starts_run: bool,
    /// Where the file of the open dataset belongs, and the start whose bytes it is to have.
    dir: String,
    serial: u64,
}

/// The first call with another answer.
#[derive(Debug, Clone)]
pub struct Found {
    pub at: usize,
    /// The call and what differed. Sequences with the same kind count as one difference.
    pub kind: String,
    pub text: String,
}

/// The model's answers.
pub fn expect(config: Config, calls: &[Call], differences: &[Difference]) -> Vec<Expected> {
    let mut model = Model::new(config, differences);
    let expect = |call| {
        let starts_run = model.starts_run(call);
        let before = model.open();
        let answer = model.step(call);
        let (dir, serial) = match call {
            Call::File | Call::Missing(_) => before,
            _ => model.open(),
        };
        Expected {
            seen: Seen {
                answer,
                state: model.state,
                index: Some(model.index.line()),
                cached: Some(model.cached_ids()),
            },
            starts_run,
            dir,
            serial,
        }
    };
    calls.iter().map(expect).collect()
}

/// Makes the calls and returns the first difference.
pub fn compare(config: Config, calls: &[Call], expected: &[Expected]) -> Option<Found> {
    let site = site(config);
    let mut begin = 0;
    while begin < calls.len() || begin == 0 {
        let later = expected.iter().skip(begin + 1);
        let length = 1 + later.take_while(|e| !e.starts_run).count();
        let run = begin..(begin + length).min(calls.len());
        let whole = || one_run(&site, config, calls, expected, run.clone());
        match catch_unwind(AssertUnwindSafe(whole)) {
            Ok(None) => {}
            Ok(found) => return found,
            Err(panic) => return Some(panicked(&run, calls, &*panic)),
        }
        begin = run.end.max(1);
    }
    None
}

/// A run that did not start, or a panic in the library.
fn panicked(run: &Range<usize>, calls: &[Call], panic: &(dyn Any + Send)) -> Found {
    let text = panic.downcast_ref::<String>().cloned();
    Found {
        at: run.end - 1,
        kind: "panic".to_string(),
        text: format!(
            "or one of its run, from {} on, panics: {text:?}",
            calls[run.start]
        ),
    }
}

fn site(config: Config) -> Site {
    let number = |flag: bool| if flag { "1" } else { "0" };
    // In memory if possible, because there are very many sites.
    let memory = tempfile::tempdir_in("/dev/shm");
    Site::at(memory.or_else(|_| tempfile::tempdir()).unwrap())
        .set("SCR_CACHE_BYPASS", number(config.bypass))
        .set("SCR_CACHE_SIZE", &config.size.to_string())
        // SCR v3.1.0 does not check the space, so it evicts nothing for lack of it.
        .set("SCR_CACHE_CHECK", "0")
        .set("SCR_FLUSH", &config.flush.to_string())
        .set("SCR_FETCH", number(config.fetch))
        .set("SCR_CHECKPOINT_INTERVAL", &config.interval.to_string())
}

/// The calls of one process each rank.
fn one_run(
    site: &Site,
    config: Config,
    calls: &[Call],
    expected: &[Expected],
    run: Range<usize>,
) -> Option<Found> {
    let nodes = nodes(config.ranks);
    if calls[run.clone()].first() == Some(&Call::Lose) {
        for node in &nodes {
            let _ = std::fs::remove_dir_all(site.node(node));
        }
    }
    let program = |rank: &mut Rank| -> Vec<Seen> {
        let calls = run.clone().map(|at| (&calls[at], &expected[at]));
        calls
            .map(|(call, expected)| one_call(site, rank, call, expected))
            .collect()
    };
    let seen = site.run(&nodes, program);
    run.clone().find_map(|at| {
        let of_ranks = seen.iter().map(|seen| &seen[at - run.start]);
        of_ranks.enumerate().find_map(|(rank, seen)| {
            difference(at, rank, &calls[at], seen, &expected[at].seen).map(|mut found| {
                let events = site.events.lines();
                let last = events.iter().rev().take(6).rev();
                last.for_each(|line| found.text.push_str(&format!("\n      {line}")));
                found
            })
        })
    })
}

fn one_call(site: &Site, rank: &mut Rank, call: &Call, expected: &Expected) -> Seen {
    let answer = answer(site, rank, call, expected);
    // Only rank 0 changes the index and its node's cache directory, so it can read them.
    let first = rank.rank == 0;
    Seen {
        answer,
        state: rank.session.state(),
        index: first.then(|| index_line(site)),
        cached: first.then(|| cached_ids(site)),
    }
}

fn told<T>(result: scr::Result<T>, answer: impl FnOnce(T) -> Answer) -> Answer {
    result.map_or(Answer::Error, answer)
}

fn answer(site: &Site, rank: &mut Rank, call: &Call, expected: &Expected) -> Answer {
    let ok = |()| Answer::Ok;
    let id = rank.rank;
    let session = &mut rank.session;
    match call {
        // The session is new, as for each SCR_Init of a process.
        Call::Init | Call::InitAgain | Call::Kill | Call::Lose if expected.starts_run => Answer::Ok,
        Call::Init | Call::InitAgain | Call::Kill | Call::Lose => told(
            session.state().after(scr::session::state::Call::Init),
            |_| Answer::Ok,
        ),
        Call::StartOutput {
            name,
            checkpoint,
            output,
        } => {
            let name = name.as_deref().map(Name::from);
            told(session.start_output(name, *checkpoint, *output), ok)
        }
        Call::StartRefused { name, on } => {
            let kind = if *on == id {
                Err(scr::Error::usage("SCR_Start_output", "wrong flags"))
            } else {
                Ok((true, false))
            };
            told(
                session.start_output_as(name.as_deref().map(Name::from), kind),
                ok,
            )
        }
        Call::StartCheckpoint => told(session.start_checkpoint(), ok),
        Call::File => file(site, rank, expected),
        Call::Missing(on) if *on == id => {
            let name = format!("{}/missing_{id}.dat", expected.dir);
            match session.route(Path::new(&name)) {
                Ok(path) if path == Path::new(&name) => Answer::AsGiven,
                Ok(path) => Answer::Path(place(site, &path), None),
                Err(_) => Answer::Error,
            }
        }
        Call::Missing(_) => expected.seen.answer.clone(),
        Call::CompleteOutput(valid) => told(session.complete_output(valid.on(id)), ok),
        Call::CompleteCheckpoint(valid) => told(session.complete_checkpoint(valid.on(id)), ok),
        Call::HaveRestart => told(session.have_restart(), |name| {
            Answer::Offer(name.map(|name| name.to_string()))
        }),
        Call::StartRestart => told(session.start_restart(), |name| {
            Answer::Name(name.to_string())
        }),
        Call::CompleteRestart(valid) => told(session.complete_restart(valid.on(id)), ok),
        Call::Current(name) => told(session.current(&name.as_str().into()), ok),
        Call::Drop(name) => told(session.drop_dataset(&name.as_str().into()), ok),
        Call::Delete(name) => told(session.delete(&name.as_str().into()), ok),
        Call::NeedCheckpoint => told(session.need_checkpoint(), Answer::Flag),
        Call::ShouldExit => told(session.should_exit(), Answer::Flag),
        Call::Finalize => told(session.finalize(&mut scr::config::Config::new()), ok),
    }
}

/// Routes this rank's file; writes it while a dataset is open, reads it in a restart.
fn file(site: &Site, rank: &mut Rank, expected: &Expected) -> Answer {
    let name = format!("{}/rank_{}.dat", expected.dir, rank.rank);
    let path = match rank.session.route(Path::new(&name)) {
        Ok(path) => path,
        Err(_) => return Answer::Error,
    };
    if path == Path::new(&name) {
        return Answer::AsGiven;
    }
    let place = place(site, &path);
    if place == Place::Elsewhere {
        return Answer::Path(place, None);
    }
    let bytes = |serial: u64| content(&format!("start {serial}"), rank.rank, size(serial));
    match rank.session.state() {
        State::Restart => {
            let found = std::fs::read(&path).unwrap_or_default();
            // There are fewer starts than that. 0: bytes of no start.
            let serial = (1..100).find(|serial| found == bytes(*serial));
            Answer::Path(place, Some(serial.unwrap_or(0)))
        }
        _ => {
            std::fs::write(&path, bytes(expected.serial)).expect("the directory is there");
            Answer::Path(place, None)
        }
    }
}

/// The size of a file of a start. Many starts have the same, so that a size alone does not tell them
/// apart.
fn size(serial: u64) -> usize {
    100 + 10 * (serial as usize % 3)
}

fn place(site: &Site, path: &Path) -> Place {
    let id = |path: &Path| {
        let mut parts = path
            .components()
            .filter_map(|part| part.as_os_str().to_str());
        parts.find_map(|part| part.strip_prefix("scr.dataset.")?.parse().ok())
    };
    if path.starts_with(site.prefix()) {
        return Place::Prefix;
    }
    id(path).map_or(Place::Elsewhere, Place::Cache)
}

fn index_line(site: &Site) -> String {
    let path: PathBuf = site.prefix().join(".scr/index.scr");
    let index = if path.exists() {
        Index::read(&Posix, &path).expect("the index can be read")
    } else {
        Index::default()
    };
    let entry = |(id, entry): (&u64, &scr::format::index::IndexEntry)| {
        let name = index
            .name(*id)
            .map_or("?".to_string(), |name| name.to_string());
        let word = |when: bool, word: &str| {
            if when {
                format!(" {word}")
            } else {
                String::new()
            }
        };
        format!(
            "{id} {name}{}{}{}",
            word(!entry.is_checkpoint(), "no checkpoint"),
            word(!entry.complete, "incomplete"),
            word(entry.failed.is_some(), "failed"),
        )
    };
    let mut parts: Vec<String> = index.datasets().iter().map(entry).collect();
    parts.extend(index.current().map(|name| format!("current {name}")));
    parts.join("; ")
}

fn cached_ids(site: &Site) -> Vec<u64> {
    let listed = std::fs::read_dir(site.cache("n0")).into_iter().flatten();
    let names = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut ids: Vec<u64> = names
        .filter_map(|name| name.strip_prefix("scr.dataset.")?.parse().ok())
        .collect();
    ids.sort();
    ids
}

fn difference(at: usize, rank: usize, call: &Call, seen: &Seen, expected: &Seen) -> Option<Found> {
    let found = |what: &str, text: String| {
        Some(Found {
            at,
            kind: format!("{}: {what}", call.kind()),
            text,
        })
    };
    if seen.answer != expected.answer {
        let text = format!(
            "gives {} on rank {rank}, not {}",
            seen.answer, expected.answer
        );
        return found("answer", text);
    }
    if seen.state != expected.state {
        let text = format!("leads to {:?}, not to {:?}", seen.state, expected.state);
        return found("state", text);
    }
    if let (Some(index), Some(its)) = (&seen.index, &expected.index)
        && index != its
    {
        return found("index", format!("leaves the index `{index}`, not `{its}`"));
    }
    if let (Some(cached), Some(its)) = (&seen.cached, &expected.cached)
        && cached != its
    {
        let text = format!("leaves datasets {cached:?} in the cache, not {its:?}");
        return found("cache", text);
    }
    None
}
