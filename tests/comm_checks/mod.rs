//! The checks that every transport must pass, at any number of ranks.
//!
//! Each rank calls [`all`]; a violation comes back as its description. Used by `tests/parts`
//! on threads and by `tests/transport` under mpiexec.

use scr::comm::collective::{agree, agree_with, bcast, exchange, exscan, gather, scatter};
use scr::comm::{Agreed, Agreement, Communicator, Term};
use scr::{Error, Result};

type Check = std::result::Result<(), String>;
type Checker = fn(&dyn Communicator) -> Check;

macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

/// Runs all checks on this rank. Collective.
pub fn all(comm: &dyn Communicator) -> Check {
    let checks: [(&str, Checker); 14] = [
        ("ring", ring),
        ("order", order),
        ("posted_order", posted_order),
        ("from_any_rank", from_any_rank),
        ("wrong_length", wrong_length),
        ("dropped_requests", dropped_requests),
        ("no_such_rank", no_such_rank),
        ("reductions", reductions),
        ("scans", scans),
        ("broadcasts", broadcasts),
        ("gathers_and_scatters", gathers_and_scatters),
        ("exchanges", exchanges),
        ("verdicts", verdicts),
        ("misuse", misuse),
    ];
    for (name, check) in checks {
        check(comm).map_err(|what| format!("{name}, rank {}: {what}", comm.rank()))?;
        comm.barrier()
            .map_err(|e| format!("barrier after {name}: {e}"))?;
    }
    Ok(())
}

fn text(error: Error) -> String {
    error.to_string()
}

/// Bytes that tell who made them for what.
fn pattern(seed: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (i.wrapping_mul(31) ^ seed.wrapping_mul(97)) as u8)
        .collect()
}

/// Each rank to its right neighbour and back, at lengths around every limit inside.
fn ring(comm: &dyn Communicator) -> Check {
    let (me, size) = (comm.rank(), comm.size());
    let (left, right) = ((me + size - 1) % size, (me + 1) % size);
    for length in [0, 1, 999, 1000, 1001, 2000, 65_537, 3_000_001] {
        let receive = comm.irecv(left, 1, vec![0xee; length]).map_err(text)?;
        let send = comm.isend(right, 1, pattern(me, length)).map_err(text)?;
        ensure!(
            receive.wait().map_err(text)? == pattern(left, length),
            "irecv of {length}"
        );
        ensure!(
            send.wait().map_err(text)? == pattern(me, length),
            "buffer of a send is kept"
        );

        let send = comm.isend(left, 2, pattern(me, length)).map_err(text)?;
        ensure!(
            comm.recv(right, 2).map_err(text)? == pattern(right, length),
            "recv {length}"
        );
        send.wait().map_err(text)?;
    }
    Ok(())
}

/// Messages of one pair and tag stay in order; tags are told apart.
fn order(comm: &dyn Communicator) -> Check {
    let (me, size) = (comm.rank(), comm.size());
    let (to, from) = ((me + 1) % size, (me + size - 1) % size);
    let mut sends = Vec::new();
    for i in 0..20_u8 {
        sends.push(
            comm.isend(to, 3 + u16::from(i % 2), vec![i; usize::from(i) + 1])
                .map_err(text)?,
        );
    }
    for i in (1..20_u8).step_by(2).chain((0..20).step_by(2)) {
        let message = comm.recv(from, 3 + u16::from(i % 2)).map_err(text)?;
        ensure!(
            message == vec![i; usize::from(i) + 1],
            "message {i} is {message:?}"
        );
    }
    sends
        .into_iter()
        .try_for_each(|send| send.wait().map(drop))
        .map_err(text)
}

/// Receives match in the order in which they were posted, whatever the order of waiting.
fn posted_order(comm: &dyn Communicator) -> Check {
    let (me, size) = (comm.rank(), comm.size());
    let (to, from) = ((me + 1) % size, (me + size - 1) % size);
    let first = comm.irecv(from, 5, vec![0]).map_err(text)?;
    let second = comm.irecv(from, 5, vec![0]).map_err(text)?;
    let sends = [comm.isend(to, 5, vec![1]), comm.isend(to, 5, vec![2])];
    ensure!(
        second.wait().map_err(text)? == [2],
        "second receive, waited for first"
    );
    ensure!(first.wait().map_err(text)? == [1], "first receive");
    sends
        .into_iter()
        .try_for_each(|send| send?.wait().map(drop))
        .map_err(text)
}

/// Rank 0 receives two messages of each other rank, whichever comes first; those of one rank stay in
/// order, and messages with another tag are for others.
fn from_any_rank(comm: &dyn Communicator) -> Check {
    let (me, size) = (comm.rank(), comm.size());
    if me > 0 {
        for (tag, length) in [(8, 5), (7, 1), (7, 70_000)] {
            let send = comm.isend(0, tag, pattern(me, length)).map_err(text)?;
            send.wait().map_err(text)?;
        }
        return Ok(());
    }
    for rank in 1..size {
        ensure!(
            comm.recv(rank, 8).map_err(text)? == pattern(rank, 5),
            "tag 8"
        );
    }
    let mut lengths = vec![Vec::new(); size];
    for _ in 1..2 * size - 1 {
        let (from, data) = comm.recv_any(7).map_err(text)?;
        ensure!(
            data == pattern(from, data.len()),
            "wrong data of rank {from}"
        );
        lengths[from].push(data.len());
    }
    ensure!(
        lengths[1..].iter().all(|all| *all == [1, 70_000]),
        "{lengths:?}"
    );
    Ok(())
}

fn wrong_length(comm: &dyn Communicator) -> Check {
    let (me, size) = (comm.rank(), comm.size());
    let (to, from) = ((me + 1) % size, (me + size - 1) % size);
    for (sent, expected) in [(10, 20), (20, 10)] {
        // MPICH 3.4 tells at once, if the message is there already.
        let receive = comm.irecv(from, 6, vec![0; expected]);
        let send = comm.isend(to, 6, vec![1; sent]).map_err(text)?;
        let result = receive.and_then(|receive| receive.wait());
        ensure!(
            matches!(result, Err(Error::Comm { .. })),
            "{sent} for {expected}: {result:?}"
        );
        send.wait().map_err(text)?;
    }
    Ok(())
}

/// A dropped receive takes no message; a dropped send may or may not arrive, and does no harm.
fn dropped_requests(comm: &dyn Communicator) -> Check {
    let (me, size) = (comm.rank(), comm.size());
    let (to, from) = ((me + 1) % size, (me + size - 1) % size);
    drop(comm.irecv(from, 7, vec![0; 100]).map_err(text)?);
    comm.barrier().map_err(text)?;
    let send = comm.isend(to, 7, pattern(me, 50)).map_err(text)?;
    ensure!(
        comm.recv(from, 7).map_err(text)? == pattern(from, 50),
        "after a dropped receive"
    );
    send.wait().map_err(text)?;
    drop(comm.isend(to, 8, pattern(me, 100_000)).map_err(text)?);
    ensure!(
        comm.recv(from, 8).map_err(text)? == pattern(from, 100_000),
        "of a dropped send"
    );
    Ok(())
}

fn no_such_rank(comm: &dyn Communicator) -> Check {
    let size = comm.size();
    ensure!(comm.isend(size, 1, vec![1]).is_err(), "isend");
    ensure!(comm.irecv(size, 1, vec![1]).is_err(), "irecv");
    ensure!(comm.recv(usize::MAX, 1).is_err(), "recv");
    let mut data = Vec::new();
    ensure!(bcast(comm, size, &mut data).is_err(), "bcast");
    Ok(())
}

fn reductions(comm: &dyn Communicator) -> Check {
    let (me, size) = (comm.rank() as i64, comm.size() as i64);
    let mut terms = [
        Term::Sum(me),
        Term::Max(-me),
        Term::Min(100 - me),
        Term::Max(me),
        Term::Sum(i64::MAX),
        Term::Min(i64::MIN + me),
    ];
    comm.allreduce(&mut terms).map_err(text)?;
    let expected = [
        Term::Sum(size * (size - 1) / 2),
        Term::Max(0),
        Term::Min(101 - size),
        Term::Max(size - 1),
        Term::Sum(i64::MAX.wrapping_mul(size)),
        Term::Min(i64::MIN),
    ];
    ensure!(terms == expected, "{terms:?} instead of {expected:?}");
    comm.allreduce(&mut []).map_err(text)
}

fn scans(comm: &dyn Communicator) -> Check {
    let me = comm.rank() as i64;
    let mut terms = [Term::Sum(me + 1), Term::Max(me % 3), Term::Min(-me)];
    exscan(comm, &mut terms).map_err(text)?;
    let expected = match me {
        0 => [Term::Sum(0), Term::Max(i64::MIN), Term::Min(i64::MAX)],
        _ => [
            Term::Sum(me * (me + 1) / 2),
            Term::Max((me - 1).min(2)),
            Term::Min(1 - me),
        ],
    };
    ensure!(terms == expected, "{terms:?} instead of {expected:?}");
    Ok(())
}

fn broadcasts(comm: &dyn Communicator) -> Check {
    for root in 0..comm.size() {
        for length in [0, 5, 100_000] {
            let mut data = if comm.rank() == root {
                pattern(root, length)
            } else {
                vec![9; 3]
            };
            bcast(comm, root, &mut data).map_err(text)?;
            ensure!(data == pattern(root, length), "{length} bytes from {root}");
        }
    }
    Ok(())
}

fn gathers_and_scatters(comm: &dyn Communicator) -> Check {
    let (me, size) = (comm.rank(), comm.size());
    for root in 0..size {
        let all: Vec<_> = (0..size)
            .map(|rank| pattern(rank + root, rank * 3))
            .collect();
        let mine = pattern(me + root, me * 3);
        let gathered = gather(comm, root, mine.clone()).map_err(text)?;
        ensure!(
            gathered == (me == root).then(|| all.clone()),
            "gather to {root}: {gathered:?}"
        );
        let part = scatter(comm, root, (me == root).then_some(all)).map_err(text)?;
        ensure!(part == mine, "scatter from {root}: {part:?}");
    }
    Ok(())
}

/// Everyone to everyone, nobody to nobody, everyone to one, and one message in all.
fn exchanges(comm: &dyn Communicator) -> Check {
    let (me, size) = (comm.rank(), comm.size());
    let message = |from: usize, to: usize, n: usize| pattern(from * 100 + to * 10 + n, n * 7);
    let patterns: [&dyn Fn(usize, usize) -> usize; 5] = [
        &|_, _| 2,
        &|_, _| 0,
        &|_, to| if to == 0 { 3 } else { 0 },
        &|from, to| usize::from(from == size - 1 && to == size / 2),
        &|from, to| (from * 7 + to * 3) % 4,
    ];
    for (index, count) in patterns.iter().enumerate() {
        let outgoing = (0..size).rev();
        let outgoing = outgoing
            .flat_map(|to| (0..count(me, to)).map(move |n| (to, message(me, to, n))))
            .collect();
        let expected: Vec<_> = (0..size)
            .flat_map(|from| (0..count(from, me)).map(move |n| (from, message(from, me, n))))
            .collect();
        let incoming = exchange(comm, outgoing).map_err(text)?;
        ensure!(incoming == expected, "pattern {index}: {incoming:?}");
    }
    Ok(())
}

fn verdicts(comm: &dyn Communicator) -> Check {
    let (me, size) = (comm.rank(), comm.size());
    let node = format!("node{me}");
    ensure!(agree(comm, &node, Ok(me)) == Ok(me), "all is well");

    // Every non-empty choice of failing ranks, up to three ranks; then each single one.
    let choices = 1_usize..(1 << size.min(3));
    for failing in choices.chain((3..size).map(|rank| 1 << rank)) {
        let fails = |rank: usize| failing >> rank & 1 == 1;
        let local: Result<()> = if fails(me) {
            Err(Error::dataset(7, "ckpt", format!("broken on {me}")))
        } else {
            Ok(())
        };
        let terms = [Term::Sum(1), Term::Max(me as i64)];
        let Agreement { verdict, terms } = agree_with(comm, &node, local, terms).map_err(text)?;
        let lowest = failing.trailing_zeros() as usize;
        let expected = Error::Remote {
            rank: lowest,
            node: format!("node{lowest}"),
            count: failing.count_ones() as usize,
            error: format!("dataset 7 (ckpt): broken on {lowest}"),
        };
        ensure!(verdict == Err(expected), "{failing:b} failing: {verdict:?}");
        let terms = terms.map(Agreed::get);
        ensure!(terms == [size as i64, size as i64 - 1], "{terms:?}");
        // A verdict handed to the next agreement stays what it is.
        let again = agree(comm, &node, verdict.clone());
        ensure!(again == verdict, "{failing:b} again: {again:?}");
    }
    Ok(())
}

/// One rank's wrong argument is its error, and nobody hangs.
fn misuse(comm: &dyn Communicator) -> Check {
    let (me, size) = (comm.rank(), comm.size());
    let wrong = exchange(comm, vec![(size, vec![1]), (0, vec![me as u8])]);
    ensure!(wrong.is_err(), "exchange with a rank that there is not");
    for data in [None, Some(vec![Vec::new(); size + 1])] {
        ensure!(
            scatter(comm, 0, data).is_err(),
            "scatter of the wrong number"
        );
    }
    let left_over = exchange(comm, vec![(me, vec![5])]).map_err(text)?;
    ensure!(
        left_over == [(me, vec![5])],
        "after the misuse: {left_over:?}"
    );
    Ok(())
}
