//! What the calls cost in synchronising rounds, whatever the machine: gates for changes. The table
//! in `tests/scaling/rounds.md` is compared row by row.

use crate::site::{Site, nodes};
use scr::config::Config;
use scr::fields::{Element, List, Place, Slice, Spec, checkpoint, restore};
use scr::session::{Session, Setup};
use scr::store::posix::Posix;
use scr_testing::counting::{CommTally, CountingComm, Counts};
use scr_testing::faulty::Faulty;
use scr_testing::threads;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Rounds of `SCR_Init` on an empty cache, and of one checkpoint from start to complete;
/// the same on all 16 ranks, two on each of 8 nodes.
fn rounds(scheme: &str) -> (u64, u64, u64) {
    let site = Site::new()
        .set("SCR_COPY_TYPE", scheme)
        .set("SCR_CACHE_SIZE", "2");
    let counts = threads::run(16, |comm| {
        let comm = CountingComm::new(comm);
        let tally = comm.tally();
        let rank = scr::comm::Communicator::rank(&comm);
        let setup = Setup {
            comm: Box::new(comm),
            files: site.files.clone(),
            sink: site.events.clone(),
            environment: site.environment(nodes(8)[rank / 2]),
            lock_timeout: std::time::Duration::from_secs(10),
        };
        let mut session = Session::init(setup, &mut Config::new()).unwrap().unwrap();
        let init = tally.take();
        let mut start = 0;
        // The third has the first to delete, and names of a form that is known.
        for name in ["ck.1", "ck.2", "ck.3"] {
            tally.take();
            session
                .start_output(Some(name.into()), true, false)
                .unwrap();
            start = tally.take().rounds;
            let path = session.route(Path::new(&format!("{name}/{rank}"))).unwrap();
            std::fs::write(path, b"x").unwrap();
            session.complete_output(true).unwrap();
        }
        let complete = tally.take();
        if rank == 0 {
            println!("{scheme}: SCR_Init {:?}", init.by_operation);
            println!("{scheme}: SCR_Start_output {start} rounds");
            println!("{scheme}: SCR_Complete_output {:?}", complete.by_operation);
        }
        (init.rounds, start, complete.rounds)
    });
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    counts[0]
}

/// `SCR_Init`: rank 0's parameters (verdict and broadcast), each rank's directories and settings (verdict),
/// the topology (a meeting, an exchange, a scan, an allreduce, two exchanges), the cache and the records (a verdict each).
#[test]
fn a_start_takes_eleven_rounds() {
    assert_eq!(rounds("XOR").0, 11);
}

/// Start: one verdict. Complete: one on the files, one on the redundancy, whatever the
/// scheme; XOR adds messages within each set only.
#[test]
fn a_checkpoint_takes_three_rounds() {
    for scheme in ["SINGLE", "XOR"] {
        let (_, start, complete) = rounds(scheme);
        assert_eq!((start, complete), (1, 2), "{scheme}");
    }
}

/// What `SCR_Delete` costs: the name (verdict and broadcast); the files of each dataset in the
/// index (scatter, exchange, verdict); the index (verdict), the files (gather, verdict), what is
/// empty then (verdict).
#[test]
fn a_deletion_takes_nine_rounds_and_three_for_each_other_dataset() {
    let site = Site::new().set("SCR_FLUSH", "1");
    let counts = threads::run(4, |comm| {
        let comm = CountingComm::new(comm);
        let tally = comm.tally();
        let rank = scr::comm::Communicator::rank(&comm);
        let setup = Setup {
            comm: Box::new(comm),
            files: site.files.clone(),
            sink: site.events.clone(),
            environment: site.environment(nodes(4)[rank]),
            lock_timeout: std::time::Duration::from_secs(10),
        };
        let mut session = Session::init(setup, &mut Config::new()).unwrap().unwrap();
        for name in ["ck.1", "ck.2", "ck.3"] {
            session
                .start_output(Some(name.into()), true, false)
                .unwrap();
            let path = session.route(Path::new(&format!("{name}/{rank}"))).unwrap();
            std::fs::write(path, b"x").unwrap();
            session.complete_output(true).unwrap();
        }
        tally.take();
        ["ck.1", "ck.2", "ck.3"].map(|name| {
            session.delete(&name.into()).unwrap();
            tally.take().rounds
        })
    });
    assert!(counts.iter().all(|c| *c == [15, 12, 9]), "{counts:?}");
}

/// Rounds by operation, of calls by their row in the table.
type Rounds = BTreeMap<String, BTreeMap<&'static str, u64>>;

/// One rank that notes what its calls cost.
struct Rank {
    session: Session,
    tally: CommTally,
    rank: usize,
    noted: Vec<(&'static str, Counts)>,
}

impl Rank {
    /// Notes what all since the last note has cost.
    fn note(&mut self, row: &'static str) {
        self.noted.push((row, self.tally.take()));
    }

    /// What has been done since the last note is of no interest.
    fn pass(&mut self) {
        self.tally.take();
    }

    fn write(&mut self, name: &str, start: &'static str, complete: &'static str) {
        self.pass();
        let started = self.session.start_output(Some(name.into()), true, false);
        started.unwrap();
        self.note(start);
        let file = format!("{name}/{}", self.rank);
        let path = self.session.route(Path::new(&file)).unwrap();
        self.note(ROUTE);
        std::fs::write(path, vec![1; 1000]).unwrap();
        self.session.complete_output(true).unwrap();
        self.note(complete);
    }

    /// A checkpoint of fields: a part of a whole that begins at `at`, of a number of elements.
    fn checkpoint(&mut self, whole: i64, (at, count): (i64, i64), row: &'static str) {
        self.pass();
        let flags = Ok((true, false));
        let mut routine = |list: &mut List<'_>| list_part(list, whole, (at, count));
        checkpoint(&mut self.session, None, flags, &mut routine).unwrap();
        self.note(row);
    }

    fn restore(&mut self, whole: i64, part: (i64, i64), row: &'static str) {
        self.pass();
        let found = restore(&mut self.session, &mut |list| list_part(list, whole, part));
        assert!(found.unwrap().is_some());
        self.note(row);
    }

    fn restart(&mut self, have: &'static str, expected: Option<&str>) {
        self.pass();
        let name = self.session.have_restart().unwrap();
        assert_eq!(name.map(|name| name.to_string()).as_deref(), expected);
        self.note(have);
        if expected.is_some() {
            self.session.start_restart().unwrap();
            self.note(ROUTE);
            self.session.complete_restart(true).unwrap();
            self.note("`SCR_Complete_restart`");
        }
    }
}

fn list_part(list: &mut List<'_>, whole: i64, (at, count): (i64, i64)) -> scr::Result<()> {
    let mut data = vec![0.0f64; count as usize];
    let spec = Spec {
        name: "x",
        kind: f64::KIND,
        extents: &[count],
        strides: None,
        place: Place::Part {
            whole: &[whole],
            at: &[at],
        },
    };
    list.field(spec, Some(&mut Slice::new(&mut data)))
}

const ROUTE: &str = "`SCR_Start_restart`, `SCR_Route_file`";
const INIT: &str = "`SCR_Init`, empty cache";
const START: &str = "`SCR_Start_output`, cache";
const COMPLETE: &str = "`SCR_Complete_output`, cache";
const NEW_NAMES: &str = "`SCR_Complete_output`, cache, the first with names of this form";
const FLUSHED: &str = "`SCR_Complete_output`, cache and flush";

/// A run of four ranks on four nodes; `init` is the row of its `SCR_Init`. Adds what `body` notes.
fn counted(rounds: &mut Rounds, site: &Site, init: &'static str, body: impl Fn(&mut Rank) + Sync) {
    let ranks = threads::run(4, |comm| {
        let rank = comm.rank();
        let comm = CountingComm::new(comm);
        let tally = comm.tally();
        let own = site.by_rank.get(rank).cloned().flatten();
        let setup = Setup {
            comm: Box::new(comm),
            files: own.unwrap_or_else(|| site.files.clone()),
            sink: site.events.clone(),
            environment: site.environment(nodes(4)[rank]),
            lock_timeout: std::time::Duration::from_secs(10),
        };
        let session = Session::init(setup, &mut Config::new()).unwrap().unwrap();
        let noted = Vec::new();
        let mut rank = Rank {
            session,
            tally,
            rank,
            noted,
        };
        rank.note(init);
        body(&mut rank);
        rank.noted
    });
    for (at, (row, first)) in ranks[0].iter().enumerate() {
        for noted in &ranks {
            assert_eq!(noted[at].1.by_operation, first.by_operation, "{row}");
        }
        let operations = &first.by_operation;
        let before = rounds.insert(row.to_string(), operations.clone());
        assert!(
            before.is_none_or(|before| before == *operations),
            "{row}: {operations:?} too"
        );
    }
}

/// The calls that the table has, at least once each.
fn all_rounds() -> Rounds {
    let mut rounds = Rounds::new();
    let cache = Site::new().set("SCR_FLUSH", "0");
    counted(&mut rounds, &cache, INIT, |rank| {
        rank.restart("`SCR_Have_restart`, nothing anywhere", None);
        rank.write("ck.1", START, NEW_NAMES);
        rank.session.need_checkpoint().unwrap();
        rank.note("`SCR_Need_checkpoint`, `SCR_Should_exit`");
        rank.session.should_exit().unwrap();
        rank.note("`SCR_Need_checkpoint`, `SCR_Should_exit`");
        rank.write("ck.2", START, COMPLETE);
        rank.session.delete(&"ck.2".into()).unwrap();
        rank.note("`SCR_Delete`, not in the prefix directory");
        rank.write("ck.3", START, COMPLETE);
        rank.session.finalize(&mut Config::new()).unwrap();
        rank.note("`SCR_Finalize`, nothing to flush");
    });
    let again = "`SCR_Init`, checkpoint in the cache";
    counted(&mut rounds, &cache, again, |rank| {
        rank.restart("`SCR_Have_restart`, checkpoint in the cache", Some("ck.3"));
    });
    std::fs::remove_dir_all(cache.node("n3")).unwrap();
    let lost = "`SCR_Init`, checkpoint in the cache, and a node was lost";
    counted(&mut rounds, &cache, lost, |rank| {
        rank.restart("`SCR_Have_restart`, checkpoint in the cache", Some("ck.3"));
    });

    let flushed = Site::new().set("SCR_FLUSH", "1");
    counted(&mut rounds, &flushed, INIT, |rank| {
        rank.write("ck.1", START, "first");
        for name in ["ck.2", "ck.3", "ck.4"] {
            rank.write(name, START, FLUSHED);
        }
    });
    for node in nodes(4) {
        std::fs::remove_dir_all(flushed.node(node)).unwrap();
    }
    counted(&mut rounds, &flushed, "", |rank| {
        rank.restart("`SCR_Have_restart`, fetch into the cache", Some("ck.4"));
        rank.session.current(&"ck.3".into()).unwrap();
        rank.note("`SCR_Current`");
        rank.session.drop_dataset(&"ck.4".into()).unwrap();
        rank.note("`SCR_Drop`");
        rank.session.delete(&"ck.3".into()).unwrap();
        rank.note("`SCR_Delete`, with n other datasets in the index");
    });

    let bypass = Site::new().set("SCR_CACHE_BYPASS", "1");
    counted(&mut rounds, &bypass, "", |rank| {
        let start = "`SCR_Start_output`, bypass";
        rank.write("ck.1", start, "`SCR_Complete_output`, bypass");
        let again = "`SCR_Complete_output`, bypass, with the checksums of the dataset before";
        rank.write("ck.2", start, again);
        rank.session.finalize(&mut Config::new()).unwrap();
    });
    counted(&mut rounds, &bypass, "", |rank| {
        rank.restart("`SCR_Have_restart`, fetch in bypass", Some("ck.2"));
    });

    // Three ranks wrote it, and all four nodes are there.
    let where_from = ["the prefix directory", "the cache"];
    let rows =
        where_from.map(|place| format!("`SCR_Have_restart`, another number of ranks, {place}"));
    for (flush, row) in ["1", "0"].into_iter().zip(rows) {
        let other = Site::new().set("SCR_FLUSH", flush);
        other.run(&nodes(3), |rank| rank.checkpoint("ck.1").unwrap());
        if flush == "1" {
            nodes(3).iter().for_each(|node| other.lose(node));
        }
        let row: &'static str = row.leak();
        let init = if flush == "1" { INIT } else { "-" };
        counted(&mut rounds, &other, init, |rank| {
            rank.session.allow_other_ranks(true).unwrap();
            rank.note("`SCR_Allow_other_ranks`");
            rank.restart(row, Some("ck.1"));
        });
    }

    let fields = Site::new().set("SCR_FLUSH", "0");
    counted(&mut rounds, &fields, INIT, |rank| {
        let me = rank.rank as i64;
        rank.checkpoint(400, (100 * me, 100), "once");
        rank.checkpoint(400, (100 * me, 100), "`SCR_Checkpoint`, cache");
        let other = "`SCR_Checkpoint`, cache, the first with these parts of wholes";
        rank.checkpoint(404, (101 * me, 101), other);
        rank.restore(404, (101 * me, 101), "twice");
    });
    counted(&mut rounds, &fields, again, |rank| {
        let me = rank.rank as i64;
        rank.restore(
            404,
            (101 * me, 101),
            "`SCR_Restore`, checkpoint in the cache",
        );
    });
    counted(&mut rounds, &fields, again, |rank| {
        let me = rank.rank as i64;
        let other = (101 * (3 - me), 101);
        rank.restore(
            404,
            other,
            "`SCR_Restore`, checkpoint in the cache, other parts",
        );
    });

    let mut full = Site::new().set("SCR_FLUSH", "0").set("SCR_CACHE_SIZE", "1");
    let files = Faulty::new(Posix);
    let faults = files.faults();
    full.by_rank = vec![Some(Arc::new(files))];
    counted(&mut rounds, &full, INIT, |rank| {
        rank.write("ck.1", START, NEW_NAMES);
        rank.session.should_exit().unwrap();
        if rank.rank == 0 {
            faults.limit_space(Some(0));
        }
        rank.session.should_exit().unwrap();
        let start = "`SCR_Start_output`, evicted data must be deleted first";
        rank.write("ck.2", start, COMPLETE);
    });
    for not_in_table in ["", "-", "first", "once", "twice"] {
        rounds.remove(not_in_table);
    }
    rounds
}

/// A count of the table, such as `9`, `9 + 3n` or `1 + n`.
fn evaluated(text: &str, n: u64) -> u64 {
    let term = |term: &str| match term.trim().strip_suffix('n') {
        Some("") => n,
        Some(factor) => factor.parse::<u64>().unwrap() * n,
        None => term.trim().parse().unwrap(),
    };
    text.split('+').map(term).sum()
}

#[test]
fn every_row_of_the_table_is_what_the_calls_cost() {
    // How many datasets the index has beside the one that is deleted.
    let n = 2;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scaling/rounds.md");
    let text = std::fs::read_to_string(path).unwrap();
    let table = text
        .lines()
        .skip_while(|line| !line.starts_with("| call | rounds |"));
    let mut rounds = all_rounds();
    let mut wrong = Vec::new();
    for row in table.skip(2).take_while(|line| line.starts_with('|')) {
        let columns: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, call, total, operations, _] = columns[..] else {
            panic!("{row}");
        };
        let counted = rounds
            .remove(call)
            .unwrap_or_else(|| panic!("{call} is not counted"));
        let terms = operations.split(", ").filter(|term| !term.is_empty());
        let stated: BTreeMap<&str, u64> = terms
            .map(|term| {
                let (count, name) = term.rsplit_once(' ').unwrap_or(("1", term));
                let name = if name == "broadcast" { "bcast" } else { name };
                (name, evaluated(count, n))
            })
            .collect();
        let sum: u64 = counted.values().sum();
        if counted != stated || sum != evaluated(total, n) {
            wrong.push(format!(
                "{call}: {sum}, {counted:?}; the table has {total}, {operations}"
            ));
        }
    }
    wrong.extend(
        rounds
            .keys()
            .map(|call| format!("{call} is not in the table")),
    );
    assert!(
        wrong.is_empty(),
        "{}",
        wrong.join(
            "
"
        )
    );
}
