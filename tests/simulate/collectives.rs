//! The checks of all transports, on simulated ranks, with many orders of messages.

use crate::comm_checks;
use crate::world::World;
use scr::comm::Communicator;
use scr::system::simulated::scheduler::{Simulation, Step};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Runs `body` as each rank of a world until all have ended; their results, and the hash.
pub fn run<R: 'static>(
    seed: u64,
    size: usize,
    body: impl Fn(&dyn Communicator) -> R + 'static,
) -> (Vec<Option<R>>, u64) {
    let simulation = Simulation::new(seed);
    let world = World::new(size, None, Arc::default());
    let results: Vec<Option<R>> = (0..size).map(|_| None).collect();
    let (results, body) = (Rc::new(RefCell::new(results)), Rc::new(body));
    for rank in 0..size {
        let (comm, results, body) = (world.rank(rank), results.clone(), body.clone());
        simulation.start(rank as u32, &format!("rank {rank}"), move || {
            let result = body(&*comm);
            results.borrow_mut()[rank] = Some(result);
        });
    }
    loop {
        match simulation.step() {
            Step::Ran(_) => {}
            Step::Ended => break,
            Step::Stuck => panic!("seed {seed}: {:#?}", simulation.tasks()),
        }
    }
    assert_eq!(
        simulation.take_panics(),
        Vec::<String>::new(),
        "seed {seed}"
    );
    let hash = simulation.hash();
    drop(simulation);
    (results.take(), hash)
}

#[test]
fn simulated_ranks_pass_the_checks_in_many_orders() {
    for seed in 0..18 {
        let size = 1 + seed as usize % 9;
        let (results, _) = run(seed, size, |comm| comm_checks::all(comm));
        for result in results {
            assert_eq!(result, Some(Ok(())), "seed {seed}, {size} ranks");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_seed_others() {
    let hash = |seed| run(seed, 5, |comm| comm_checks::all(comm)).1;
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}
