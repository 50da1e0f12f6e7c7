//! Heat in a rod: an MPI program in Rust that survives a lost node through `scr::Session`.
//!
//! Each rank has a part of the rod. Every so often it writes its part to a file of its own as a
//! checkpoint. After a failure the program is started again, and goes on from the newest checkpoint.
//! The result is the same bit for bit.
//!
//! Usage: heat [steps N] [every N] [delay MS]
//!   steps   time steps (100)
//!   every   steps between checkpoints (10)
//!   delay   milliseconds to wait in each step, to leave time for a failure (0)

use mpi::Threading;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use scr::comm::mpi::Mpi;
use scr::{Config, Name, Session, Setup};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Cells of the rod in each rank.
const CELLS: usize = 1000;

struct Rod {
    step: u32,
    cells: Vec<f64>,
}

struct Options {
    steps: u32,
    every: u32,
    delay: Duration,
}

fn main() {
    // SCR works at any thread level.
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Single) else {
        panic!("MPI cannot be initialised");
    };
    let world = universe.world();
    if let Err(error) = run(&world) {
        eprintln!("heat: rank {}: {error}", world.rank());
        world.abort(2);
    }
}

fn run(world: &SimpleCommunicator) -> Result<()> {
    let options = options()?;
    let mut config = Config::new();
    let mut session = Session::init(Setup::of_process(Mpi::dup_world()?), &mut config)?;
    let mut rod = Rod {
        step: 0,
        cells: vec![0.0; CELLS],
    };
    match &mut session {
        Some(session) => restart(session, &mut rod, world)?,
        None => say(world, "SCR is off, going on without checkpoints"),
    }

    while rod.step < options.steps {
        rod.advance(world);
        std::thread::sleep(options.delay);
        if let Some(session) = &mut session
            && rod.step.is_multiple_of(options.every)
        {
            let name = format!("heat.{}", rod.step);
            match checkpoint(session, &name, &rod, world) {
                Ok(()) => say(world, &format!("checkpoint {name}")),
                Err(error) => say(world, &format!("going on without {name}: {error}")),
            }
            if session.should_exit()? {
                say(world, "stopping early, as SCR asks");
                break;
            }
        }
    }

    if rod.step == options.steps {
        let sum = rod.sum(world);
        say(world, &format!("finished step {}, sum {sum:e}", rod.step));
    }
    if let Some(session) = &mut session {
        session.finalize(&mut config)?;
    }
    Ok(()) // The session is dropped here, before MPI is finalised.
}

/// Reads the newest checkpoint that all ranks can read, if there is one. An error says that there may
/// be one: to start from the beginning could then cost it.
fn restart(session: &mut Session, rod: &mut Rod, world: &SimpleCommunicator) -> Result<()> {
    while let Some(name) = session.have_restart()? {
        session.start_restart()?;
        let found = read(session, &file_in(&name.to_string(), world));
        if session.complete_restart(found.is_ok()).is_ok() {
            *rod = found?;
            say(world, &format!("restarted from {name}"));
            return Ok(());
        }
        say(
            world,
            &format!("cannot read {name}, looking for an older one"),
        );
    }
    say(world, "no checkpoint, starting from step 0");
    Ok(())
}

fn checkpoint(
    session: &mut Session,
    name: &str,
    rod: &Rod,
    world: &SimpleCommunicator,
) -> scr::Result<()> {
    session.start_output(Some(Name::new(name)), true, false)?;
    // Each rank completes the checkpoint, also one that could not write.
    let written = write(session, &file_in(name, world), rod);
    session.complete_output(written.is_ok())
}

fn file_in(name: &str, world: &SimpleCommunicator) -> PathBuf {
    Path::new(name).join(format!("rank.{}", world.rank()))
}

/// The step, then the cells.
fn write(session: &mut Session, file: &Path, rod: &Rod) -> Result<()> {
    let mut bytes = rod.step.to_le_bytes().to_vec();
    bytes.extend(rod.cells.iter().flat_map(|cell| cell.to_le_bytes()));
    fs::write(session.route(file)?, bytes)?;
    Ok(())
}

fn read(session: &mut Session, file: &Path) -> Result<Rod> {
    let bytes = fs::read(session.route(file)?)?;
    let (step, cells) = bytes.split_first_chunk().ok_or("the file is empty")?;
    if cells.len() != 8 * CELLS {
        return Err("the file is of a rod of another size".into());
    }
    let cells = cells.as_chunks().0.iter();
    Ok(Rod {
        step: u32::from_le_bytes(*step),
        cells: cells.map(|&cell| f64::from_le_bytes(cell)).collect(),
    })
}

impl Rod {
    /// One time step. The left end of the rod is kept at 1, the right one at 0.
    fn advance(&mut self, world: &SimpleCommunicator) {
        let mine = [self.cells[0], self.cells[CELLS - 1]];
        let (rank, ranks) = (world.rank() as usize, world.size() as usize);
        let mut ends = vec![[0.0; 2]; ranks];
        world.all_gather_into(&mine, ends.as_flattened_mut());

        let left = if rank == 0 { 1.0 } else { ends[rank - 1][1] };
        let right = ends.get(rank + 1).map_or(0.0, |end| end[0]);
        let old = self.cells.clone();
        for (at, cell) in self.cells.iter_mut().enumerate() {
            let before = if at == 0 { left } else { old[at - 1] };
            let after = old.get(at + 1).copied().unwrap_or(right);
            *cell += 0.25 * (before + after - 2.0 * old[at]);
        }
        self.step += 1;
    }

    fn sum(&self, world: &SimpleCommunicator) -> f64 {
        let mine: f64 = self.cells.iter().sum();
        let mut all = vec![0.0; world.size() as usize];
        world.all_gather_into(&mine, &mut all[..]);
        all.iter().sum()
    }
}

fn say(world: &SimpleCommunicator, text: &str) {
    if world.rank() == 0 {
        println!("heat: {text}");
    }
}

fn options() -> Result<Options> {
    let mut options = Options {
        steps: 100,
        every: 10,
        delay: Duration::ZERO,
    };
    let mut arguments = env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        let number: u32 = value
            .parse()
            .map_err(|_| format!("{name} wants a number, not '{value}'"))?;
        match name.as_str() {
            "steps" => options.steps = number,
            "every" => options.every = number,
            "delay" => options.delay = Duration::from_millis(number.into()),
            _ => return Err(format!("unknown argument {name}").into()),
        }
    }
    Ok(options)
}
