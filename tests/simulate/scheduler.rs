//! What the scheduler promises to the code that runs under it.

use scr::system::simulated::scheduler::{self, Simulation, Step};
use scr::system::sync::{Condvar, Mutex, mpsc};
use scr::system::time::{Instant, sleep};
use scr::system::{process, thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

fn run_all(simulation: &Simulation) -> Step {
    loop {
        match simulation.step() {
            Step::Ran(_) => {}
            other => return other,
        }
    }
}

fn run(seed: u64, body: impl FnOnce() + 'static) -> Vec<String> {
    let simulation = Simulation::new(seed);
    simulation.start(1, "main", body);
    assert_eq!(
        run_all(&simulation),
        Step::Ended,
        "{:?}",
        simulation.tasks()
    );
    simulation.take_panics()
}

#[test]
fn an_hour_of_sleep_takes_no_time() {
    let begun = std::time::Instant::now();
    let panics = run(1, || {
        let begun = Instant::now();
        sleep(Duration::from_secs(3600));
        let slept = begun.elapsed();
        assert!(slept >= Duration::from_secs(3600) && slept < Duration::from_secs(3601));
    });
    assert_eq!(panics, Vec::<String>::new());
    assert!(begun.elapsed() < Duration::from_secs(600));
}

/// What a killed process does while its stacks are unwound takes no time for the others.
#[test]
fn the_dead_do_not_move_the_clock() {
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            sleep(Duration::from_secs(60));
        }
    }
    let simulation = Simulation::new(1);
    simulation.start(1, "main", || {
        let _waits = Waits;
        sleep(Duration::from_secs(1));
    });
    assert!(matches!(simulation.step(), Step::Ran(_)));
    let before = scheduler::now();
    simulation.kill(1);
    assert_eq!(scheduler::now(), before);
}

/// Hundreds of tasks that pause, sleep, wake each other and end one before the other, so that places move.
#[test]
fn no_task_of_hundreds_is_forgotten() {
    const TASKS: u64 = 300;
    let simulation = Simulation::new(1);
    let rounds = Arc::new(AtomicU64::new(0));
    for task in 0..TASKS {
        let rounds = rounds.clone();
        let body = move || {
            for round in 0..task % 17 + 3 {
                match scheduler::draw(|random| random.below(3)) {
                    0 => scheduler::pause(),
                    1 => sleep(Duration::from_micros(scheduler::draw(|random| {
                        random.below(500)
                    }))),
                    _ => {
                        scheduler::wake(1 + (task + round) % 7);
                        let until = scheduler::now().map(|now| now + Duration::from_secs(1));
                        scheduler::wait(1 + task % 7, until);
                    }
                }
                rounds.fetch_add(1, SeqCst);
            }
        };
        simulation.start(task as u32, "task", body);
    }
    assert_eq!(
        run_all(&simulation),
        Step::Ended,
        "{:?}",
        simulation.tasks()
    );
    let all: u64 = (0..TASKS).map(|task| task % 17 + 3).sum();
    assert_eq!(rounds.load(SeqCst), all);
    assert_eq!(simulation.take_panics(), Vec::<String>::new());
}

#[test]
fn a_lock_is_held_by_one_at_a_time_and_orders_differ_between_seeds() {
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = order.clone();
        let panics = run(seed, move || {
            let counted = Mutex::new(0);
            thread::scope(|scope| {
                for name in 0..4 {
                    let (counted, seen) = (&counted, &seen);
                    scope.spawn(move || {
                        let mut count = counted.lock().unwrap();
                        let before = *count;
                        scheduler::pause();
                        *count = before + 1;
                        seen.lock().unwrap().push(name);
                    });
                }
            });
            assert_eq!(counted.into_inner().unwrap(), 4);
        });
        assert_eq!(panics, Vec::<String>::new(), "seed {seed}");
        orders.insert(order.lock().unwrap().clone());
    }
    assert!(orders.len() > 10, "{orders:?}");
}

#[test]
fn channels_and_conditions_hand_over_everything() {
    for seed in 0..50 {
        let panics = run(seed, || {
            let (sender, receiver) = mpsc::sync_channel(2);
            let ready = Arc::new((Mutex::new(false), Condvar::new()));
            let other = ready.clone();
            let work = thread::Builder::new()
                .name("work".to_string())
                .spawn(move || {
                    let mut go = other.0.lock().unwrap();
                    while !*go {
                        go = other.1.wait(go).unwrap();
                    }
                    drop(go);
                    receiver.into_iter().sum::<u64>()
                });
            *ready.0.lock().unwrap() = true;
            ready.1.notify_all();
            for value in 1..=10 {
                sender.send(value).unwrap();
            }
            drop(sender);
            assert_eq!(work.unwrap().join().unwrap(), 55);
        });
        assert_eq!(panics, Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn a_wait_with_a_limit_ends_at_it() {
    let panics = run(3, || {
        let (sender, receiver) = mpsc::channel::<()>();
        let begun = Instant::now();
        let waited = receiver.recv_timeout(Duration::from_secs(5));
        assert_eq!(waited, Err(mpsc::RecvTimeoutError::Timeout));
        let never = (Mutex::new(()), Condvar::new());
        let guard = never.0.lock().unwrap();
        let (_, over) = never.1.wait_timeout(guard, Duration::from_secs(5)).unwrap();
        assert!(over.timed_out());
        assert!(begun.elapsed() >= Duration::from_secs(10));
        drop(sender);
    });
    assert_eq!(panics, Vec::<String>::new());
}

#[test]
fn tasks_that_wait_for_each_other_are_stuck() {
    let simulation = Simulation::new(4);
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let both = locks.clone();
    simulation.start(1, "one", move || {
        let _first = both.0.lock().unwrap();
        sleep(Duration::from_millis(1));
        let _second = both.1.lock().unwrap();
    });
    simulation.start(1, "other", move || {
        let _first = locks.1.lock().unwrap();
        sleep(Duration::from_millis(1));
        let _second = locks.0.lock().unwrap();
    });
    assert_eq!(run_all(&simulation), Step::Stuck);
    assert_eq!(simulation.tasks().len(), 2);
}

/// Counts when it is dropped, and whether its process was dead then.
struct Dropped(Arc<AtomicU64>);

impl Drop for Dropped {
    fn drop(&mut self) {
        assert!(scheduler::is_dead(), "dropped by a kill");
        self.0.fetch_add(1, SeqCst);
    }
}

fn forever() {
    scheduler::wait(0, None);
}

/// A process with threads in every kind of wait is killed after each number of steps; all that it has is
/// dropped, and the others go on.
#[test]
fn a_killed_process_leaves_nothing_behind() {
    for steps in 0..60 {
        let simulation = Simulation::new(steps);
        let dropped = Arc::new(AtomicU64::new(0));
        let made = Arc::new(AtomicU64::new(0));
        let (drops, makes) = (dropped.clone(), made.clone());
        let new = move || {
            makes.fetch_add(1, SeqCst);
            Dropped(drops.clone())
        };
        simulation.start(7, "victim", move || {
            assert_eq!(process::id(), 7);
            let _main = new();
            let lock = Mutex::new(());
            let (sender, receiver) = mpsc::sync_channel::<u64>(1);
            let receiver = Mutex::new(receiver);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let _here = new();
                    let _held = lock.lock().unwrap();
                    forever();
                });
                scope.spawn(|| {
                    let _here = new();
                    let _held = lock.lock().unwrap();
                    forever();
                });
                scope.spawn(|| {
                    let _here = new();
                    receiver.lock().unwrap().recv().unwrap();
                    forever();
                });
                let _here = new();
                sender.send(1).unwrap();
                forever();
            });
        });
        simulation.start(8, "bystander", || sleep(Duration::from_secs(1)));
        for _ in 0..steps {
            simulation.step();
        }
        simulation.kill(7);
        assert!(!simulation.is_alive(7));
        assert_eq!(
            dropped.load(SeqCst),
            made.load(SeqCst),
            "after {steps} steps"
        );
        assert_eq!(run_all(&simulation), Step::Ended);
        assert_eq!(simulation.take_panics(), Vec::<String>::new());
    }
}

#[test]
fn a_panic_is_told_with_the_name_of_its_task() {
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let panics = run(5, || {
        let failed = thread::spawn(|| panic!("on purpose")).join();
        assert!(failed.is_err());
        panic!("this one is not caught");
    });
    std::panic::set_hook(quiet);
    assert_eq!(panics, ["main: this one is not caught"]);
}

#[test]
fn a_stopped_process_does_nothing_until_it_is_resumed() {
    let simulation = Simulation::new(7);
    let count = Arc::new(AtomicU64::new(0));
    let counted = count.clone();
    simulation.start(1, "counts", move || {
        for _ in 0..10 {
            counted.fetch_add(1, SeqCst);
            sleep(Duration::from_secs(1));
        }
    });
    simulation.step();
    simulation.stop(1);
    assert_eq!(simulation.step(), Step::Stuck);
    simulation.start(2, "waits", || sleep(Duration::from_secs(60)));
    while matches!(simulation.step(), Step::Ran(2)) {}
    assert_eq!((count.load(SeqCst), simulation.is_alive(1)), (1, true));
    simulation.resume(1);
    assert_eq!(run_all(&simulation), Step::Ended);
    assert_eq!(count.load(SeqCst), 10);
}
