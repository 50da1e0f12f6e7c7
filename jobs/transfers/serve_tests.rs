//! The loop of the daemon on a file system with faults. Its part cannot be copied, so it ends at once.

use super::*;
use scr_engine::format::transfer::STOP;
use scr_engine::store::posix::Posix;
use scr_testing::faulty::{Faults, Faulty};
use std::cell::Cell;
use std::fs;

const AT: PartId = PartId {
    dataset: 1,
    part: 0,
};

struct Node {
    _dir: tempfile::TempDir,
    files: Faulty<Posix>,
    faults: Faults,
    control: Control,
    unkept: Unkept,
}

impl Node {
    /// A node with a part that has no prefix directory.
    fn with_part() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let files = Faulty::new(Posix);
        let control = Control::new(&files, dir.path().to_path_buf());
        let mut part = TransferPart {
            host: host().into(),
            prefix: "relative".into(),
            ..TransferPart::default()
        };
        part.dataset.id = AT.dataset;
        control
            .update(|file| {
                file.command = Some(RUN.into());
                file.insert(AT, part);
            })
            .unwrap();
        let faults = files.faults();
        Node {
            _dir: dir,
            files,
            faults,
            control,
            unkept: Unkept::default(),
        }
    }

    fn daemon<'a>(
        &'a self,
        say: &'a mut dyn FnMut(&str),
        stop: &'a dyn Fn() -> bool,
    ) -> Daemon<'a> {
        Daemon {
            files: &self.files,
            control: &self.control,
            user: "user1",
            job: "1001",
            say,
            unkept: &self.unkept,
            stop,
            quiet: false,
        }
    }

    /// Serves until `stop`, which gets the number of the call, and returns the messages.
    fn serve(&self, stop: impl Fn(u32) -> bool) -> (Result<Ended>, Vec<String>) {
        let claim = self.control.claim().unwrap();
        let (calls, mut said) = (Cell::new(0), Vec::new());
        let ended = {
            let mut say = |text: &str| said.push(text.to_string());
            let stop = || {
                calls.set(calls.get() + 1);
                stop(calls.get())
            };
            self.daemon(&mut say, &stop).serve(&claim, false)
        };
        (ended, said)
    }

    fn part(&self) -> TransferPart {
        self.control
            .read()
            .unwrap()
            .unwrap()
            .part(AT)
            .unwrap()
            .clone()
    }
}

#[test]
fn a_full_control_directory_is_told_and_the_part_stays() {
    let node = Node::with_part();
    let (ended, said) = node.serve(|call| {
        node.faults.fill_up(true);
        call > 2
    });
    assert_eq!(ended, Ok(Ended::Signal));
    assert!(
        matches!(said.as_slice(), [full] if full.contains("No space left")),
        "{said:?}"
    );
    assert!(!node.part().has_ended());
}

#[test]
fn the_end_of_a_part_is_recorded_when_there_is_room_again() {
    let node = Node::with_part();
    let (ended, said) = node.serve(|call| {
        if call == 1 {
            // The lock and the file when the part begins; then the lock when it ends.
            node.faults
                .fail_at(node.faults.operations() + 3, libc::ENOSPC);
        }
        node.part().has_ended()
    });
    assert_eq!(ended, Ok(Ended::Signal));
    let [again, end] = said.as_slice() else {
        panic!("{said:?}");
    };
    assert!(
        again.contains("No space left") && again.ends_with("trying again"),
        "{again}"
    );
    assert!(
        end.contains("dataset 1, part 0") && end.contains("PREFIX"),
        "{end}"
    );
    assert!(!node.part().is_done());
}

#[test]
fn a_transfer_file_that_cannot_be_read_ends_the_daemon() {
    let node = Node::with_part();
    let (ended, said) = node.serve(|_| {
        let path = node.control.file();
        node.faults.fail_reads(Some((path, libc::EIO)));
        false
    });
    assert_eq!(ended.unwrap_err().errno(), Some(libc::EIO));
    assert_eq!(said, [] as [&str; 0]);
}

#[test]
fn damage_that_is_there_at_the_start_is_put_aside() {
    let node = Node::with_part();
    fs::write(node.control.file(), "none").unwrap();
    let (ended, said) = node.serve(|_| true);
    assert_eq!(ended, Ok(Ended::Signal));
    assert!(
        matches!(said.as_slice(), [aside] if aside.contains("put aside as")),
        "{said:?}"
    );
}

#[test]
fn what_an_earlier_daemon_had_at_hand_is_done_again_and_what_was_cancelled_is_not() {
    let node = Node::with_part();
    let part = |number| PartId { part: number, ..AT };
    let change = |file: &mut Transfer| {
        let mut one = file.part(AT).unwrap().clone();
        one.state = Some(RUNNING.into());
        file.insert(part(1), one.clone());
        one.cancel = true;
        file.insert(part(2), one.clone());
        (one.cancel, one.state, one.result) = (false, None, Some(FAILED.into()));
        file.insert(part(3), one);
        file.command = Some(EXIT.into());
    };
    node.control.update(change).unwrap();
    assert_eq!(node.serve(|_| true).0, Ok(Ended::Signal));
    let file = node.control.read().unwrap().unwrap();
    let left: Vec<_> = file.parts().map(|(at, _)| at.part).collect();
    assert_eq!(left, [0, 1, 3]);
    assert!(!file.part(part(1)).unwrap().is_running());
    assert!(file.part(part(3)).unwrap().has_ended());
    assert!(file.may_begin(), "the order to end was for the other one");
}

/// A part at hand whose copy goes on until it is cancelled.
fn at_hand(node: &Node) -> Work {
    let limits = limits(&Transfer::default());
    let mut worker = Worker::new("test");
    let copy = |cancel: &Cancel| {
        while !cancel.is_cancelled() {
            sleep(Duration::from_millis(1));
        }
        Err(Error::config("the copy", "was cancelled"))
    };
    Work {
        at: AT,
        part: node.part(),
        task: worker.submit(|| {}, copy).unwrap(),
        shared: Shared::new(limits, Instant::now()),
        recorded: (Instant::now(), Duration::ZERO),
        beats: 0,
        _worker: worker,
    }
}

#[test]
fn a_part_at_hand_goes_on_as_long_as_the_file_says_so() {
    let node = Node::with_part();
    let running = |change: &dyn Fn(&mut TransferPart)| {
        let mut file = node.control.read().unwrap().unwrap();
        let part = file.part_mut(AT).unwrap();
        part.state = Some(RUNNING.into());
        change(part);
        file
    };
    let goes_on = |file: &Transfer| {
        let mut work = Some(at_hand(&node));
        let mut say = |_: &str| {};
        let mut daemon = node.daemon(&mut say, &|| false);
        let ended = daemon.obey(file, &mut work, Instant::now());
        assert_eq!(ended, Ok(None));
        let goes_on = work.is_some();
        work.iter().for_each(let_go);
        goes_on
    };
    assert!(goes_on(&running(&|_| {})));
    assert!(!goes_on(&running(&|part| part.cancel = true)));
    assert!(!goes_on(&running(&|part| part.state = None)), "begun again");
    assert!(!goes_on(&running(&|part| part.run = "another".into())));
    assert!(!goes_on(&Transfer::default()), "removed");
    let mut stopped = running(&|_| {});
    stopped.command = Some(STOP.into());
    assert!(!goes_on(&stopped));
}
