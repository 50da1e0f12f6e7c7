//! Flow control: a limit for the ranks that work at the same time.

use crate::Result;
use crate::comm::collective::{decode_verdict, encode_verdict};
use crate::comm::{Communicator, Local, Tag};
use std::ops::Range;

/// A message to the leader of the team: this rank is done. After an error the message has the verdict.
const DONE: Tag = 0x10;
/// A message from the leader: this rank may begin. With the verdict of a rank that failed, it must not begin.
const TURN: Tag = 0x11;

/// The smallest number of ranks in a team, if the run has that many ranks.
const TEAM: usize = 256;
/// The smallest number of ranks of a team that work at a time, so that a slow rank does not hold up the others.
const SHARE: usize = 4;

/// Runs `body` on every rank, on at most `width` (at least 1) ranks at the same time. As soon as one
/// rank is done the next begins. `node` is the name of this rank's node in errors. Collective.
///
/// With a width for all ranks no message is sent, and all begin. Otherwise the ranks are in teams of
/// neighbours, and the first rank of a team lets the others begin. So no rank has a message from all
/// others, and those that work at a time are on many nodes.
///
/// After the first failure in a team no further rank of it begins. The ranks that have not begun get the
/// error of the failed rank as an [`Error::Remote`](crate::Error::Remote), which names that rank, and which
/// [`agree`](crate::comm::collective::agree) passes on as it is. Other teams go on until they are done.
pub fn in_turns<T>(
    comm: &dyn Communicator,
    node: &str,
    width: usize,
    body: impl FnOnce() -> Result<T>,
) -> Result<Local<T>> {
    let width = width.max(1);
    if width >= comm.size() {
        return Ok(body().into());
    }
    let rank = comm.rank();
    let Team { leader, end, width } = Team::of(rank, comm.size(), width);
    if width >= end - leader {
        return Ok(body().into());
    }
    if rank == leader {
        return lead(comm, width, leader + width + 1..end, body);
    }
    // The first ranks need not wait for a turn.
    if rank > leader + width {
        let verdict = comm.recv(leader, TURN)?;
        if !verdict.is_empty() {
            return Ok(Err(decode_verdict(&verdict)).into());
        }
    }
    let done = body();
    let verdict = match &done {
        Ok(_) => Vec::new(),
        // The message is never empty, since an empty message says that the rank has succeeded.
        Err(error) => encode_verdict(rank, node, 1, error.clone()).unwrap_or(vec![0]),
    };
    comm.isend(leader, DONE, verdict)?.wait()?;
    Ok(done.into())
}

/// Ranks that share some of the places.
#[derive(Debug, PartialEq, Eq)]
struct Team {
    /// The first rank of the team.
    leader: usize,
    /// The first rank of the next team.
    end: usize,
    /// The most ranks of the team that work at a time.
    width: usize,
}

impl Team {
    /// The team of `rank`, in a run of `size` ranks, of which `width` (at least 1) may work at a
    /// time.
    fn of(rank: usize, size: usize, width: usize) -> Self {
        let teams = (size / TEAM).min(width / SHARE).max(1);
        // Teams of `size / teams` ranks, the first ones of one more, and the same for places.
        let first = |total: usize, team: usize| team * (total / teams) + team.min(total % teams);
        let (ranks, more) = (size / teams, size % teams);
        let team = if rank < more * (ranks + 1) {
            rank / (ranks + 1)
        } else {
            (rank - more) / ranks
        };
        Team {
            leader: first(size, team),
            end: first(size, team + 1),
            width: first(width, team + 1) - first(width, team),
        }
    }
}

/// The leader: gives each free place to the next of the ranks that wait, and takes the last one itself.
fn lead<T>(
    comm: &dyn Communicator,
    width: usize,
    mut waiting: Range<usize>,
    body: impl FnOnce() -> Result<T>,
) -> Result<Local<T>> {
    let turn = |rank, verdict| comm.isend(rank, TURN, verdict)?.wait().map(drop);
    let (mut running, mut failure) = (width, None);
    while !waiting.is_empty() || running == width {
        let (_, verdict) = comm.recv_any(DONE)?;
        running -= 1;
        if !verdict.is_empty() {
            for rank in &mut waiting {
                turn(rank, verdict.clone())?;
            }
            failure = failure.or(Some(verdict));
        } else if let Some(rank) = waiting.next() {
            turn(rank, Vec::new())?;
            running += 1;
        }
    }
    let done = match failure {
        None => body(),
        Some(verdict) => Err(decode_verdict(&verdict)),
    };
    for _ in 0..running {
        comm.recv_any(DONE)?;
    }
    Ok(done.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::comm::collective::agree;
    use crate::counting::CountingComm;
    use crate::system::sync::{Condvar, Mutex};
    use crate::threads;
    use std::time::Duration;

    const SIZE: usize = 6;
    const WIDTHS: [usize; 6] = [0, 1, 2, 3, SIZE - 1, SIZE];

    /// Number of ranks that have begun, and number of those that are done.
    #[derive(Default)]
    struct Progress {
        counts: Mutex<(usize, usize)>,
        changed: Condvar,
    }

    impl Progress {
        fn change(&self, change: impl FnOnce(&mut (usize, usize))) -> (usize, usize) {
            let mut counts = self.counts.lock().unwrap();
            change(&mut counts);
            self.changed.notify_all();
            *counts
        }

        /// Waits until the counts are as wanted; a test that is not ends here.
        fn wait(&self, wanted: impl Fn((usize, usize)) -> bool) {
            let mut counts = self.counts.lock().unwrap();
            while !wanted(*counts) {
                let limit = Duration::from_secs(60);
                let (now, waited) = self.changed.wait_timeout(counts, limit).unwrap();
                assert!(!waited.timed_out(), "the other ranks do not go on");
                counts = now;
            }
        }
    }

    #[test]
    fn all_ranks_run_and_as_many_at_a_time_as_may() {
        for width in WIDTHS {
            let at_once = width.clamp(1, SIZE);
            let progress = Progress::default();
            let results = threads::run(SIZE, |comm| {
                let body = || {
                    let (begun, done) = progress.change(|c| c.0 += 1);
                    assert!(begun - done <= at_once, "{begun} begun, {done} done");
                    // The first ones wait for each other, so they do run at the same time.
                    progress.wait(|(begun, _)| begun >= at_once);
                    // Meanwhile a rank that does not wait for its turn is noticed.
                    std::thread::sleep(Duration::from_millis(5));
                    progress.change(|c| c.1 += 1);
                    Ok(comm.rank())
                };
                in_turns(&comm, "n", width, body).unwrap().result().unwrap()
            });
            assert_eq!(results, (0..SIZE).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_slow_rank_holds_up_no_other_one() {
        for width in [2, 3, SIZE - 1] {
            for slow in 0..SIZE {
                let progress = Progress::default();
                threads::run(SIZE, |comm| {
                    let body = || {
                        if comm.rank() == slow {
                            progress.wait(|(_, done)| done == SIZE - 1);
                        }
                        progress.change(|c| c.1 += 1);
                        Ok(())
                    };
                    in_turns(&comm, "n", width, body).unwrap().result().unwrap();
                });
            }
        }
    }

    #[test]
    fn no_rank_begins_after_a_failure_and_all_learn_which_rank_failed() {
        for (width, bad) in [(1, 1), (1, 3), (2, 1), (2, 2), (3, 2), (SIZE - 2, 4)] {
            let at_first = width.max(bad);
            let progress = Progress::default();
            let verdicts = threads::run(SIZE, |comm| {
                let body = || {
                    progress.change(|c| c.0 += 1);
                    match comm.rank() {
                        rank if rank == bad => return Err(Error::usage("copy", "disk full")),
                        // The others of the first ones go on until all that wait have been told.
                        _ if width > 1 => progress.wait(|(_, told)| told == SIZE - 1 - width),
                        _ => {}
                    }
                    Ok(())
                };
                let node = format!("n{}", comm.rank());
                let done = in_turns(&comm, &node, width, body).unwrap().result();
                if comm.rank() > at_first {
                    assert!(done.is_err());
                    progress.change(|c| c.1 += 1);
                }
                agree(&comm, "other", done).unwrap_err()
            });
            assert_eq!(progress.change(|_| ()).0, at_first, "ranks have begun");
            for verdict in verdicts {
                let text = verdict.to_string();
                let rank = format!("rank {bad} on node ");
                assert!(
                    text.starts_with(&rank) && text.contains("disk full"),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn teams_have_all_ranks_and_all_places_once() {
        for (size, width) in [
            (257, 256),
            (512, 256),
            (4096, 256),
            (4097, 255),
            (5000, 9),
            (70_001, 1),
            (1 << 20, 256),
        ] {
            let (mut rank, mut places, mut teams) = (0, 0, 0);
            while rank < size {
                let team = Team::of(rank, size, width);
                assert_eq!(team.leader, rank);
                assert_eq!(Team::of(team.end - 1, size, width), team);
                assert!(
                    team.width >= SHARE.min(width),
                    "{team:?} of {size}, {width}"
                );
                assert!(
                    team.end - rank >= TEAM.min(size),
                    "{team:?} of {size}, {width}"
                );
                (rank, places, teams) = (team.end, places + team.width, teams + 1);
            }
            assert_eq!((rank, places), (size, width));
            assert_eq!(teams, (size / TEAM).min(width / SHARE).max(1));
        }
    }

    #[test]
    fn several_teams_keep_to_the_width_and_a_failure_ends_its_team() {
        let (size, width) = (2 * TEAM + 3, 9);
        let bad = TEAM + 100;
        let progress = Progress::default();
        let results = threads::run(size, |comm| {
            let comm = CountingComm::new(comm);
            let body = || {
                let (begun, done) = progress.change(|c| c.0 += 1);
                assert!(begun - done <= width, "{begun} begun, {done} done");
                std::thread::yield_now();
                progress.change(|c| c.1 += 1);
                if comm.rank() == bad {
                    Err(Error::usage("copy", "disk full"))
                } else {
                    Ok(())
                }
            };
            let done = in_turns(&comm, "n", width, body).unwrap().result();
            (done.is_ok(), comm.tally().counts().messages)
        });
        let second = Team::of(bad, size, width);
        assert!((0..size).all(|rank| results[rank].0 || rank >= bad || rank == second.leader));
        assert!(results[..second.leader].iter().all(|(ok, _)| *ok));
        assert!(!results[bad].0 && !results[size - 1].0 && !results[second.leader].0);
        for (rank, (_, sent)) in results.iter().enumerate() {
            let team = Team::of(rank, size, width);
            let most = if rank == team.leader {
                team.end - rank
            } else {
                1
            };
            assert!(*sent <= most as u64, "rank {rank} sent {sent} messages");
        }
    }

    #[test]
    fn there_is_no_message_where_all_may_run() {
        for size in [1, 3] {
            let sent = threads::run(size, |comm| {
                let comm = CountingComm::new(comm);
                in_turns(&comm, "n", size, || Ok(()))
                    .unwrap()
                    .result()
                    .unwrap();
                comm.tally().counts().messages
            });
            assert_eq!(sent, vec![0; size]);
        }
    }
}
