//! What the calls cost over MPI is what they cost on ranks that are threads, where it is counted for thousands of
//! ranks (`tests/scaling/counts.md`).

use scr::comm::mpi::Mpi;
use scr::comm::{Communicator, Term};
use scr::config::Config;
use scr::events::Memory;
use scr::job::Environment;
use scr::session::{Session, Setup};
use scr::store::posix::Posix;
use scr_testing::counting::{CommTally, CountingComm, Counts};
use scr_testing::threads;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const CALLS: [&str; 7] = [
    "SCR_Init, empty cache",
    "SCR_Start_output",
    "SCR_Complete_output",
    "SCR_Finalize",
    "SCR_Init, checkpoint in the cache",
    "SCR_Have_restart",
    "SCR_Complete_restart",
];

/// Ranks on each emulated node.
const ON_NODE: usize = 4;

/// A run of one rank.
struct Run {
    session: Session,
    config: Config,
    tally: CommTally,
}

impl Run {
    fn begin(comm: impl Communicator + 'static, directory: &Path) -> scr::Result<Run> {
        let rank = comm.rank();
        let comm = CountingComm::new(comm);
        let (tally, node) = (comm.tally(), format!("n{}", rank / ON_NODE));
        let text = |path: &Path| path.display().to_string();
        let base = text(&directory.join(&node));
        let environment = Environment::empty()
            .with_host(&node)
            .with_cwd(directory)
            .with("SCR_NODE_NAME", node)
            .with("SCR_PREFIX", text(directory))
            .with("SCR_CACHE_BASE", base.clone())
            .with("SCR_CNTL_BASE", base)
            .with("SCR_JOB_ID", "1")
            .with("SCR_COPY_TYPE", "XOR")
            .with("SCR_CACHE_BYPASS", "0")
            .with("SCR_FLUSH", "0");
        let setup = Setup {
            comm: Box::new(comm),
            files: Arc::new(Posix),
            sink: Arc::new(Memory::default()),
            environment,
            lock_timeout: Duration::from_secs(10),
        };
        let mut config = Config::new();
        let session = Session::init(setup, &mut config)?;
        let session = session.ok_or_else(|| scr::Error::usage("SCR_Init", "SCR is off"))?;
        Ok(Run {
            session,
            config,
            tally,
        })
    }
}

/// A run that writes a checkpoint: the counts of the first calls of [`CALLS`].
fn writes(comm: Box<dyn Communicator>, directory: &Path) -> scr::Result<Vec<Counts>> {
    let (rank, mut noted) = (comm.rank(), Vec::new());
    let mut run = Run::begin(comm, directory)?;
    noted.push(run.tally.take());
    run.session.start_output(Some("ck.1".into()), true, false)?;
    noted.push(run.tally.take());
    let file = run.session.route(Path::new(&format!("ck.1/{rank}")))?;
    let written = std::fs::write(file, [1; 100]);
    run.session.complete_output(written.is_ok())?;
    noted.push(run.tally.take());
    run.session.finalize(&mut run.config)?;
    noted.push(run.tally.take());
    Ok(noted)
}

/// A run that restarts from it: the counts of the others.
fn restarts(comm: Box<dyn Communicator>, directory: &Path) -> scr::Result<Vec<Counts>> {
    let mut run = Run::begin(comm, directory)?;
    let mut noted = vec![run.tally.take()];
    run.session.have_restart()?;
    noted.push(run.tally.take());
    run.session.start_restart()?;
    run.session.complete_restart(true)?;
    noted.push(run.tally.take());
    run.session.finalize(&mut run.config)?;
    Ok(noted)
}

/// What the calls of a run cost this rank.
type CountedRun = fn(Box<dyn Communicator>, &Path) -> scr::Result<Vec<Counts>>;

const RUNS: [CountedRun; 2] = [writes, restarts];

/// What one call costs on all ranks.
struct Cost {
    rounds: i64,
    /// Messages of all ranks, and bytes in them.
    messages: i64,
    bytes: i64,
}

impl Cost {
    fn terms(counts: &Counts) -> [Term; 3] {
        let [rounds, messages, bytes] =
            [counts.rounds, counts.messages, counts.bytes].map(|count| count as i64);
        [Term::Max(rounds), Term::Sum(messages), Term::Sum(bytes)]
    }

    fn of(terms: [Term; 3]) -> Self {
        let [rounds, messages, bytes] = terms.map(Term::value);
        Cost {
            rounds,
            messages,
            bytes,
        }
    }

    /// True if both are the same but for the lengths of paths and of numbers of processes.
    fn is_like(&self, other: &Cost) -> bool {
        let near = |a: i64, b: i64| a.abs_diff(b) <= a.unsigned_abs() / 8;
        (self.rounds, self.messages) == (other.rounds, other.messages)
            && near(self.bytes, other.bytes)
    }
}

/// The cost of each of [`CALLS`] over MPI. Collective.
fn over_mpi(directory: &Path) -> scr::Result<Vec<Cost>> {
    let all = Mpi::dup_world()?;
    let mut costs = Vec::new();
    for run in RUNS {
        for counts in run(Box::new(Mpi::dup_world()?), directory)? {
            let mut terms = Cost::terms(&counts);
            all.allreduce(&mut terms)?;
            costs.push(Cost::of(terms));
        }
    }
    Ok(costs)
}

/// What the calls cost on as many threads of this process.
fn on_threads(ranks: usize, directory: &Path) -> scr::Result<Vec<Cost>> {
    let mut costs = Vec::new();
    for run in RUNS {
        let all = threads::run(ranks, |comm| run(comm, directory));
        let all = all.into_iter().collect::<scr::Result<Vec<_>>>()?;
        let calls = all.first().map_or(0, Vec::len);
        for call in 0..calls {
            let mut terms = all.iter().map(|counts| Cost::terms(&counts[call]));
            let mut sum = terms.next().unwrap_or([Term::Sum(0); 3]);
            for rank in terms {
                sum = std::array::from_fn(|at| sum[at].combine(rank[at]).unwrap_or(sum[at]));
            }
            costs.push(Cost::of(sum));
        }
    }
    Ok(costs)
}

/// Compares both, and prints a line for each call. Writes to two directories in `directory`, from which it removes what
/// the last comparison has left. Collective.
pub fn compare(comm: &dyn Communicator, directory: &Path) -> Result<(), String> {
    let text = |error: scr::Error| error.to_string();
    let directory = std::path::absolute(directory).map_err(|error| error.to_string())?;
    let (mpi, threads) = (directory.join("over_mpi"), directory.join("on_threads"));
    if comm.rank() == 0 {
        for left in [&mpi, &threads].into_iter().filter(|dir| dir.exists()) {
            std::fs::remove_dir_all(left).map_err(|error| error.to_string())?;
        }
    }
    comm.barrier().map_err(text)?;
    std::fs::create_dir_all(&mpi).map_err(|error| error.to_string())?;
    let here = over_mpi(&mpi).map_err(text)?;
    if comm.rank() > 0 {
        return Ok(());
    }
    std::fs::create_dir_all(&threads).map_err(|error| error.to_string())?;
    let there = on_threads(comm.size(), &threads).map_err(text)?;
    let mut wrong = Vec::new();
    println!(
        "{} ranks, {ON_NODE} on a node: rounds, messages and bytes of all ranks over MPI; bytes on threads",
        comm.size()
    );
    for ((call, mpi), threads) in CALLS.iter().zip(&here).zip(&there) {
        let Cost {
            rounds,
            messages,
            bytes,
        } = mpi;
        println!("{call}: {rounds} {messages} {bytes}; {}", threads.bytes);
        if !mpi.is_like(threads) {
            let Cost {
                rounds,
                messages,
                bytes,
            } = threads;
            wrong.push(format!("{call}: on threads {rounds} {messages} {bytes}"));
        }
    }
    if wrong.is_empty() && here.len() == CALLS.len() {
        Ok(())
    } else {
        Err(wrong.join("; "))
    }
}
