//! What each rank does in a run, as its plan says; the oracle is told all of it.

use crate::acts::{Act, Output, Said};
use crate::content::{Key, content, files_of};
use crate::files::SimFiles;
use crate::job::PREFIX;
use crate::messages::Messages;
use crate::oracle::{Answer, Excuse, Oracle, Promise};
use crate::places::Places;
use crate::plan::Run;
use crate::process::Process;
use crate::world::World;
use scr::format::Name;
use scr::format::file::decode;
use scr::format::index::Index;
use scr::job::Environment;
use scr::session::{Session, Setup, Verdict};
use scr::store::Files;
use scr::system::simulated::scheduler;
use scr::system::time::sleep;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A rank of a run.
pub struct Program {
    /// It calls SCR_Should_exit after each dataset.
    pub asks_to_exit: bool,
    pub run: Run,
    pub number: usize,
    pub rank: usize,
    /// The run before was broken, and processes of it go on.
    pub repairs: bool,
    /// The ranks of the first session, and of the second one.
    pub worlds: Vec<Arc<World>>,
    pub places: Places,
    pub files: SimFiles,
    pub environment: Environment,
    pub events: Arc<Messages>,
    /// How many messages there were before this run.
    pub told: usize,
    pub oracle: Rc<RefCell<Oracle>>,
    pub story: Rc<RefCell<Vec<String>>>,
    /// Its datasets are made of fields.
    pub fields: bool,
}

/// How a run has ended for a process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Normal,
    /// Before its end, and the process ends with it.
    Early,
    /// Other processes have died, and this one can go on in another run.
    Broken,
}

/// Whether the program goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Go {
    On,
    /// It calls SCR_Finalize, and ends.
    ToEnd,
    /// It ends at once.
    Away,
}

impl Program {
    pub fn tell(&self, text: &str) {
        let now = scheduler::now().unwrap_or_default().as_secs_f64() - 1e6;
        let line = format!("{now:12.6} rank {}: {text}", self.rank);
        self.story.borrow_mut().push(line);
    }

    pub fn size(&self) -> usize {
        self.run.node_of.len()
    }

    /// The whole run: one session, or two.
    pub fn run(&self, process: &mut Process) -> End {
        let sessions = [Some(&self.run.acts), self.run.again.as_ref()];
        let sessions = sessions.into_iter().flatten().zip(&self.worlds).enumerate();
        for (number, (acts, world)) in sessions {
            match self.session(number, world, process, acts) {
                End::Normal => {}
                other => return other,
            }
        }
        End::Normal
    }

    /// True if a rank of this run has died, and the others go on.
    pub fn is_broken(&self) -> bool {
        self.worlds.iter().any(|world| world.has_failed())
    }

    fn setup(&self, world: &Arc<World>) -> Setup {
        Setup {
            comm: world.rank(self.rank),
            files: Arc::new(self.files.clone()),
            sink: self.events.clone(),
            environment: self.environment.clone(),
            // `scr clean` may have the lock for as long, where operations are slow.
            lock_timeout: Duration::from_secs(3),
        }
    }

    /// SCR_Init, or the repair.
    fn begin(
        &self,
        number: usize,
        world: &Arc<World>,
        process: &mut Process,
    ) -> scr::Result<Option<Session>> {
        self.oracle.borrow_mut().begins_session();
        let Process { member, config } = process;
        if self.repairs && number == 0 {
            let repaired = Session::repair(self.setup(world), member, config);
            self.answered("SCR_Session_repair", &as_flag(&repaired));
            if !matches!(repaired, Ok(None)) {
                return repaired;
            }
            // No process was part of a session.
        }
        let session = Session::init(self.setup(world), config);
        self.oracle.borrow_mut().begins_session();
        self.answered("SCR_Init", &as_flag(&session));
        session
    }

    fn session(
        &self,
        number: usize,
        world: &Arc<World>,
        process: &mut Process,
        acts: &[Act],
    ) -> End {
        let mut session = match self.begin(number, world, process) {
            Ok(Some(session)) => session,
            Ok(None) => return self.ends_early("SCR_Init", "SCR is disabled", None),
            Err(_) if self.is_broken() => return End::Broken,
            Err(error) => {
                let oracle = self.oracle.borrow();
                // A person deletes what is being purged.
                let meanwhile = self.run.purges_prefix() && oracle.people_delete();
                let other_reason = if oracle.locked {
                    Some(Excuse::Locked)
                } else {
                    meanwhile.then_some(Excuse::TakenOut)
                };
                drop(oracle);
                return self.ends_early("SCR_Init", &error.to_string(), other_reason);
            }
        };
        let go = if session.must_exit() {
            Go::ToEnd
        } else {
            self.acts(&mut session, number, acts)
        };
        if self.is_broken() {
            process.member = session.leave();
            return End::Broken;
        }
        if go == Go::Away || !(self.run.finalizes || go == Go::ToEnd) {
            return End::Early;
        }
        self.oracle.borrow_mut().is_finalizing();
        let done = session.finalize(&mut process.config);
        self.answered("SCR_Finalize", &done);
        match done {
            Ok(()) => self.oracle.borrow_mut().finalizes(number),
            Err(error) => return self.ends_early("SCR_Finalize", &error.to_string(), None),
        }
        End::Normal
    }

    fn ends_early(&self, call: &str, why: &str, other_reason: Option<Excuse>) -> End {
        self.reason(call, why, other_reason);
        End::Early
    }

    fn acts(&self, session: &mut Session, number: usize, acts: &[Act]) -> Go {
        if self.run.allows {
            let allowed = session.allow_other_ranks(true);
            self.answered("SCR_Allow_other_ranks", &allowed);
        }
        let said = if number == 0 { &self.run.said[..] } else { &[] };
        let mut go = self.restart(session, said, true);
        for (at, act) in acts.iter().enumerate() {
            if go != Go::On || self.is_broken() {
                return go;
            }
            let key = (self.number << 16 | number << 8 | at) as Key;
            go = self.act(session, key, act);
        }
        go
    }

    fn act(&self, session: &mut Session, key: Key, act: &Act) -> Go {
        match act {
            Act::Write(output) => match self.write(session, key, output) {
                Go::On if self.asks_to_exit => self.ask(session),
                go => go,
            },
            Act::Look => match self.look(session).0 {
                Answer::Failed(_) => Go::Away,
                _ => Go::On,
            },
            Act::Restart(said) => self.restart(session, said, false),
            Act::Current(name) => {
                self.oracle.borrow_mut().chooses(key, name);
                let done = session.current(&Name::from(name.as_str()));
                self.answered(&format!("SCR_Current({name})"), &done);
                let why = done.err().map(|error| error.to_string());
                if why.is_none() || !self.is_broken() {
                    self.oracle.borrow_mut().has_chosen(name, why.as_deref());
                }
                Go::On
            }
            Act::Drop(name) => {
                self.oracle.borrow_mut().drops(key, name);
                let done = session.drop_dataset(&Name::from(name.as_str()));
                let call = format!("SCR_Drop({name})");
                self.answered(&call, &done);
                self.must_work(&call, done.err());
                Go::On
            }
            Act::Delete(name) => {
                self.oracle.borrow_mut().deletes(key, name);
                let done = session.delete(&Name::from(name.as_str()));
                let call = format!("SCR_Delete({name})");
                self.answered(&call, &done);
                // A person deletes another one, whose files this one may have.
                let meanwhile = self.oracle.borrow().people_delete();
                match done {
                    Ok(()) => self.oracle.borrow_mut().has_deleted(name),
                    Err(error) => {
                        let meanwhile = meanwhile.then_some(Excuse::TakenOut);
                        self.reason(&call, &error.to_string(), meanwhile);
                    }
                }
                Go::On
            }
            Act::Ask => {
                let need = session.need_checkpoint();
                self.answered("SCR_Need_checkpoint", &need);
                self.ask(session)
            }
            Act::Compute(time) => {
                sleep(Duration::from_millis(*time));
                Go::On
            }
        }
    }

    /// SCR_Should_exit.
    fn ask(&self, session: &mut Session) -> Go {
        let due = self.oracle.borrow().halt_is_due();
        let exit = session.should_exit();
        self.answered("SCR_Should_exit", &exit);
        let exits = matches!(exit, Ok(true));
        // Rank 0 decides for all.
        if self.rank == 0 && (exit.is_ok() || !self.is_broken()) {
            self.oracle.borrow_mut().has_asked(due, exits);
        }
        if exits { Go::ToEnd } else { Go::On }
    }

    /// Tells the oracle what SCR has said to be flushed.
    pub fn hear(&self) {
        let flushed = self.events.take_flushed();
        self.oracle.borrow_mut().are_flushed(flushed);
    }

    /// All ranks must be told the same, unless some find out before others that a process has died.
    fn answered<T: std::fmt::Debug>(&self, call: &str, answer: &scr::Result<T>) {
        self.hear();
        let answer = match answer {
            Ok(value) => format!("{value:?}"),
            Err(error) => {
                self.tell(&format!("{call}: {error}"));
                if self.is_broken() {
                    return self.oracle.borrow_mut().is_apart(self.rank);
                }
                format!("the error: {error}")
            }
        };
        self.oracle.borrow_mut().answered(self.rank, call, &answer);
    }

    /// A call has failed: that needs a reason, such as an error of a file system.
    fn reason(&self, call: &str, why: &str, other_reason: Option<Excuse>) {
        let broken = self.is_broken().then_some(Excuse::Broken);
        let other_reason = other_reason.or(broken);
        let mut oracle = self.oracle.borrow_mut();
        oracle.call_failed(call, why, other_reason);
    }

    fn must_work(&self, call: &str, error: Option<scr::Error>) {
        if let Some(error) = error {
            self.reason(call, &error.to_string(), None);
        }
    }

    /// A message of this run has these words.
    pub fn is_told(&self, words: &str) -> bool {
        let lines = self.events.lines();
        lines
            .iter()
            .skip(self.told)
            .any(|line| line.contains(words))
    }

    /// SCR_Have_restart; with the number of the call.
    fn look(&self, session: &mut Session) -> (Answer, usize) {
        let answer = match session.have_restart() {
            Ok(Some(name)) => Answer::Offered(name.to_string()),
            Ok(None) => Answer::None,
            Err(error) => Answer::Failed(error.to_string()),
        };
        self.hear();
        self.tell(&format!("SCR_Have_restart: {answer:?}"));
        if matches!(answer, Answer::Failed(_)) && self.is_broken() {
            return (answer, usize::MAX);
        }
        let told = answer == Answer::None && self.is_told("starts from the beginning");
        let call = self.oracle.borrow_mut().offers(self.rank, &answer, told);
        (answer, call)
    }

    /// Restarts from what is offered, until the ranks agree that it is good.
    fn restart(&self, session: &mut Session, said: &[Said], at_beginning: bool) -> Go {
        if self.fields {
            return self.restore(session, at_beginning);
        }
        let mut said = said.iter();
        loop {
            let (answer, call) = self.look(session);
            match answer {
                Answer::Offered(name) => {
                    let says = said.next().copied().unwrap_or(Said::Good);
                    match self.read(session, call, &name, says) {
                        Ok(()) => return Go::On,
                        Err(_) if self.is_broken() => return Go::Away,
                        Err(Verdict::NotRead) => {
                            // Nothing older is offered, and this one only to the next run. A newer one may be, if
                            // somebody has chosen this one.
                            let (answer, _) = self.look(session);
                            if self.is_broken() {
                                return Go::Away;
                            }
                            let mut oracle = self.oracle.borrow_mut();
                            let failed = match &answer {
                                Answer::Failed(_) => true,
                                Answer::Offered(other) => oracle.is_newer(other, &name),
                                Answer::None => false,
                            };
                            let gone = oracle.is_taken_out(call);
                            let text = || format!("{answer:?} after SCR_NOT_READ of {name}");
                            oracle.check(Promise::NotGivenUp, failed || gone, text);
                            return Go::Away;
                        }
                        Err(_) => {}
                    }
                }
                Answer::None => {
                    if at_beginning {
                        self.oracle.borrow_mut().begins_anew(call);
                    }
                    return Go::On;
                }
                Answer::Failed(_) => return Go::Away,
            }
        }
    }

    /// Reads what was offered by call number `call`. The error says whether another one may be offered.
    fn read(
        &self,
        session: &mut Session,
        call: usize,
        name: &str,
        says: Said,
    ) -> Result<(), Verdict> {
        self.files.faults.restarts();
        let started = session.start_restart().map(|name| name.to_string());
        self.answered("SCR_Start_restart", &started);
        let mut verdict = says.by(self.rank, self.size());
        let taken_out = |program: &Self| {
            let taken_out = program.oracle.borrow().is_taken_out(call);
            taken_out.then_some(Excuse::TakenOut)
        };
        match self.read_files(session, call, name) {
            Err(_) if self.is_broken() => {
                // The ranks cannot agree, so that nobody rejects it.
                let _ = session.complete_restart(Verdict::Bad);
                return Err(Verdict::NotRead);
            }
            Err(Trouble::OfScr(error)) => {
                // As a program does that knows nothing of the reason.
                self.tell(&format!("cannot route in {name}: {error}"));
                self.reason("SCR_Route_file", &error.to_string(), taken_out(self));
                verdict = Verdict::Bad;
                self.oracle.borrow_mut().judges(call, Verdict::NotRead);
            }
            Err(Trouble::OfFile(error)) => {
                self.tell(&format!("cannot read {name}: {error}"));
                self.reason("reading", &error.to_string(), taken_out(self));
                verdict = Verdict::NotRead;
                self.oracle.borrow_mut().judges(call, verdict);
            }
            Ok(()) => self.oracle.borrow_mut().judges(call, verdict),
        }
        let done = session.complete_restart(verdict);
        self.answered("SCR_Complete_restart", &done);
        if done.is_err() && self.is_broken() {
            return Err(Verdict::NotRead);
        }
        let mut oracle = self.oracle.borrow_mut();
        oracle.restarted(call, done.is_ok());
        let nobody = says == Said::Good
            && verdict == Verdict::Read
            && !oracle.is_excused()
            && !oracle.is_taken_out(call);
        oracle.check(Promise::Reason, done.is_ok() || !nobody, || {
            format!("SCR_Complete_restart: {done:?}")
        });
        match done {
            Ok(()) => Ok(()),
            Err(_) if oracle.has_not_read() => Err(Verdict::NotRead),
            Err(_) => Err(Verdict::Bad),
        }
    }

    fn read_files(&self, session: &mut Session, call: usize, name: &str) -> Result<(), Trouble> {
        let writers = session.restart_ranks().map_err(Trouble::OfScr)? as usize;
        self.oracle.borrow_mut().written_by(call, writers);
        if writers == self.size() {
            for file in files_of(false, name, self.rank) {
                self.read_file(session, call, Path::new(&file), &file)?;
            }
            return Ok(());
        }
        for writer in (0..writers).filter(|writer| writer % self.size() == self.rank) {
            let listed = session.restart_files_of(writer as u64);
            let listed = listed.map_err(Trouble::OfScr)?.to_vec();
            let wanted = files_of(false, name, writer);
            let paths = wanted.iter().map(|file| Path::new(PREFIX).join(file));
            let (paths, listed): (Vec<PathBuf>, Vec<PathBuf>) = (sorted(paths), sorted(listed));
            self.oracle
                .borrow_mut()
                .check(Promise::Bytes, paths == listed, || {
                    format!("rank {writer} has {listed:?}, and not {paths:?}")
                });
            for file in wanted {
                let path = Path::new(PREFIX).join(&file);
                self.read_file(session, call, &path, &file)?;
            }
        }
        Ok(())
    }

    fn read_file(
        &self,
        session: &mut Session,
        call: usize,
        path: &Path,
        file: &str,
    ) -> Result<(), Trouble> {
        let path = session.route(path).map_err(Trouble::OfScr)?;
        let place = self.places.place_of(&path, Path::new(PREFIX));
        self.oracle.borrow_mut().reads_at(call, place);
        let bytes = self.files.read(&path, 1 << 20).map_err(Trouble::OfFile)?;
        let mut oracle = self.oracle.borrow_mut();
        oracle.has_read(call, self.rank, file, &bytes);
        Ok(())
    }

    fn write(&self, session: &mut Session, key: Key, output: &Output) -> Go {
        let name = &output.name;
        self.oracle.borrow_mut().begins(key, output);
        let flips = self.files.faults.flips();
        flips.begin(key);
        let is_bad = output.bad.is_some_and(|bad| bad % self.size() == self.rank);
        let (written, done) = if self.fields {
            let done = self.checkpoint(session, (key, output), is_bad);
            self.answered(&format!("SCR_Checkpoint({name})"), &done);
            (Ok(()), done)
        } else {
            let title = Some(Name::from(name.as_str()));
            let started = session.start_output(title, output.checkpoint, output.output);
            self.answered(&format!("SCR_Start_output({name})"), &started);
            self.look_at_index();
            if let Err(error) = started {
                // The phase has begun all the same, and must be ended.
                let _ = session.complete_output(false);
                let oracle = self.oracle.borrow();
                let other = oracle.is_name_of_other_ranks(name);
                let other = other.then_some(Excuse::RanksDiffer);
                drop(oracle);
                self.reason("SCR_Start_output", &error.to_string(), other);
                return Go::On;
            }
            let written = self.write_files(session, key, name);
            match &written {
                Ok(()) if !is_bad => self.oracle.borrow_mut().ends(key),
                Ok(()) => {}
                Err(_) => self.oracle.borrow_mut().is_unwritten(key),
            }
            let done = session.complete_output(written.is_ok() && !is_bad);
            self.answered(&format!("SCR_Complete_output({name})"), &done);
            (written, done)
        };
        let untold = flips.end();
        let mut oracle = self.oracle.borrow_mut();
        if done.is_ok() {
            oracle.check(Promise::Proven, !untold, || {
                format!("a flipped bit in the redundancy of {name} is not told")
            });
        }
        if output.bad.is_some() {
            oracle.completed_bad(name, done.is_ok());
        } else {
            oracle.completed(key, done.is_ok(), session.must_exit());
        }
        drop(oracle);
        if let Err(error) = written.and(done) {
            let why = error.to_string();
            let reason = self.oracle.borrow().not_completed(key, output, &why);
            self.reason("SCR_Complete_output", &why, reason);
        }
        self.look_at_index();
        if output.probes {
            let stale = session.start_restart();
            let text = || format!("{stale:?} can be read after the start of {name}");
            let mut oracle = self.oracle.borrow_mut();
            oracle.check(Promise::OfferEnds, stale.is_err(), text);
            if stale.is_ok() {
                return Go::Away;
            }
        }
        if session.must_exit() {
            Go::ToEnd
        } else {
            Go::On
        }
    }

    /// What a restart would be offered if all nodes were lost now. Rank 0 changes the index.
    fn look_at_index(&self) {
        let path = Path::new(PREFIX).join(".scr/index.scr");
        let here = (self.rank == 0)
            .then(|| self.files.look_at(&path))
            .flatten();
        let tree = here.and_then(|bytes| decode(&bytes).ok());
        if let Some(index) = tree.and_then(|(tree, _)| Index::from_tree(&tree).ok()) {
            self.oracle.borrow_mut().would_offer(&index);
        }
    }

    fn write_files(&self, session: &mut Session, key: Key, name: &str) -> scr::Result<()> {
        for name in files_of(false, name, self.rank) {
            let path = session.route(Path::new(&name))?;
            let place = self.places.place_of(&path, Path::new(PREFIX));
            self.oracle.borrow_mut().placed(key, place, id_in(&path));
            let file = self.files.create(&path, 0o644)?;
            let bytes = content(key, &name);
            for (piece, part) in bytes.chunks(700).enumerate() {
                file.write_at(700 * piece as u64, part)?;
            }
        }
        Ok(())
    }
}

/// Why a checkpoint could not be read.
enum Trouble {
    /// A call of SCR has failed.
    OfScr(scr::Error),
    /// The program itself could not read a file.
    OfFile(scr::Error),
}

/// What a start has answered.
fn as_flag(session: &scr::Result<Option<Session>>) -> scr::Result<bool> {
    session.as_ref().map(Option::is_some).map_err(Clone::clone)
}

fn sorted(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = paths.into_iter().collect();
    paths.sort();
    paths
}

/// The id of a dataset in whose directory a path is.
pub fn id_in(path: &Path) -> Option<u64> {
    let mut names = path.iter().filter_map(|name| name.to_str());
    names.find_map(|name| name.strip_prefix("scr.dataset.")?.parse().ok())
}
