//! A process of the program, which goes on in the next run if that repairs the one before.

use crate::program::{End, Program};
use scr::config::Config;
use scr::session::Member;
use scr::system::simulated::scheduler::{self, Key, ProcessId, Simulation, TaskId};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What a process keeps between two runs.
pub struct Process {
    pub member: Member,
    pub config: Config,
}

/// What a process whose run was broken waits for.
struct NextRun {
    key: Key,
    waits: Cell<bool>,
    program: RefCell<Option<Program>>,
}

impl NextRun {
    fn wait(&self) -> Program {
        self.waits.set(true);
        loop {
            if let Some(program) = self.program.take() {
                return program;
            }
            scheduler::wait(self.key, None);
        }
    }
}

/// A process, as the machine sees it.
#[derive(Clone)]
pub struct Handle {
    pub id: ProcessId,
    /// Its first task.
    pub main: TaskId,
    next: Rc<NextRun>,
}

impl Handle {
    /// Starts a process with its first run.
    pub fn start(simulation: &Simulation, id: ProcessId, program: Program) -> Handle {
        let key = scheduler::draw(|random| random.number());
        let next = Rc::new(NextRun {
            key,
            waits: Cell::new(false),
            program: RefCell::default(),
        });
        let name = format!("rank {}", program.rank);
        let waiting = next.clone();
        let body = move || {
            let mut program = program;
            let mut process = Process {
                member: Member::new(),
                config: Config::new(),
            };
            while program.run(&mut process) == End::Broken {
                program = waiting.wait();
            }
        };
        let main = simulation.start(id, &name, body);
        Handle { id, main, next }
    }

    /// The process waits for another run.
    pub fn waits(&self) -> bool {
        self.next.waits.get()
    }

    /// Begins that.
    pub fn go_on(&self, program: Program) {
        self.next.waits.set(false);
        *self.next.program.borrow_mut() = Some(program);
        scheduler::wake(self.next.key);
    }
}
