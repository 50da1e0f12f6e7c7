//! The transports without MPI, and the cost of the collectives.

use crate::comm_checks;
use scr::comm::Communicator;
use scr::comm::collective::{agree, bcast, exchange, gather, scatter};
use scr::comm::solo::Solo;
use scr::{Error, Result};
use scr_testing::counting::{CountingComm, Counts};
use scr_testing::threads;

#[test]
fn threads_pass_the_checks() {
    for size in [1, 2, 3, 5, 8] {
        for result in threads::run(size, |comm| comm_checks::all(&comm)) {
            assert_eq!(result, Ok(()), "{size} ranks");
        }
    }
}

#[test]
fn solo_passes_the_checks() {
    assert_eq!(comm_checks::all(&Solo::new()), Ok(()));
}

#[test]
fn counting_changes_nothing() {
    for result in threads::run(3, |comm| comm_checks::all(&CountingComm::new(comm))) {
        assert_eq!(result, Ok(()));
    }
}

fn cost(size: usize, body: impl Fn(&dyn Communicator) -> Result<()> + Sync) -> Vec<Counts> {
    threads::run(size, |comm| {
        let comm = CountingComm::new(comm);
        assert_eq!(body(&comm), Ok(()));
        comm.tally().take()
    })
}

#[test]
fn collectives_are_one_round_of_few_messages() {
    for size in [1_usize, 2, 3, 5, 8, 13, 16] {
        let depth = u64::from(size.next_power_of_two().trailing_zeros());
        let broadcast = cost(size, |comm| bcast(comm, 0, &mut vec![1; 8]));
        let gathered = cost(size, |comm| gather(comm, 0, vec![1; 8]).map(drop));
        let scattered = cost(size, |comm| {
            let data = (comm.rank() == 0).then(|| vec![vec![1; 8]; size]);
            scatter(comm, 0, data).map(drop)
        });
        for counts in [&broadcast, &gathered, &scattered] {
            assert!(counts.iter().all(|c| c.rounds == 1 && c.messages <= depth));
            let messages: u64 = counts.iter().map(|c| c.messages).sum();
            assert_eq!(messages, size as u64 - 1);
        }
        let exchanged = cost(size, |comm| exchange(comm, vec![(0, vec![1])]).map(drop));
        assert!(
            exchanged
                .iter()
                .all(|c| c.rounds == 1 && c.messages == depth)
        );
    }
}

#[test]
fn an_exchange_with_neighbours_does_not_grow_with_the_group() {
    let largest = |size| {
        let neighbours = |comm: &dyn Communicator| {
            let to = (comm.rank() + 1) % comm.size();
            exchange(comm, vec![(to, vec![0; 1000])]).map(drop)
        };
        cost(size, neighbours)
            .into_iter()
            .map(|counts| counts.bytes)
            .max()
    };
    assert_eq!(largest(16), largest(4));
}

#[test]
fn agreement_is_one_allreduce_when_all_is_well() {
    for counts in cost(5, |comm| agree(comm, "n", Ok(()))) {
        assert_eq!((counts.rounds, counts.messages), (1, 0));
        assert_eq!(counts.by_operation.get("allreduce"), Some(&1));
    }
    let failing = threads::run(5, |comm| {
        let comm = CountingComm::new(comm);
        let local = if comm.rank() == 3 {
            Err(Error::usage("f", "x"))
        } else {
            Ok(())
        };
        assert!(agree(&comm, "n", local).is_err());
        comm.tally().take().rounds
    });
    assert_eq!(failing, [2; 5]);
}
