//! What a person or a script does: each command is a process of the simulation, and calls what the file of
//! that name in `commands` calls.

use super::Site;
use crate::oracle::{Excuse, Promise};
use scr::format::filemap::Filemap;
use scr::format::flush_file::FlushFile;
use scr::format::index::Index;
use scr::format::{Dataset, Name};
use scr::prefix::flush_target::{Checksums, FlushTarget};
use scr::prefix::{finish, index, rank2file, records};
use scr::redundancy::offline::DatasetLocation;
use scr::scavenge::contain::shown;
use scr::scavenge::copy::{self, CopySettings, Redundancy};
use scr::scavenge::locations::PrefixLocation;
use scr::scavenge::rebuild::{Scope, choose};
use scr::scavenge::{BuildSettings, build, caches, dataset_records};
use scr::store::{Files, LockAttempt, wait_for_lock};
use scr::system::simulated::{Random, scheduler};
use scr::system::time::Instant;
use scr::transfer::copy::Copier;
use scr::{Error, Result};
use scr_jobs::clean::{self, Done};
use scr_jobs::datasets::by_name::{self, Deletion};
use scr_jobs::datasets::cached::list_datasets;
use scr_jobs::datasets::resume::resume;
use scr_jobs::datasets::{add, poststage};
use scr_jobs::relaunch::save::HeldOnNodes;
use scr_jobs::transfers::service::{Finished, Process};
use std::collections::BTreeMap;

/// A command of one process. Where a number stands for a dataset, it chooses one in the index.
#[derive(Debug, Clone)]
pub enum Command {
    /// `scr index`: the newest good checkpoint must survive from now on.
    List,
    Current(u64),
    Drop(u64),
    Delete(u64),
    Build(u64),
    /// `scr halt`.
    Halt,
    /// `scr halt --remove`.
    GoOn,
    Clean(usize),
    /// `scr transfer --finish`, `--stop`.
    Finish(usize),
    Stop(usize),
}

impl Command {
    pub fn draw(random: &mut Random, nodes: usize) -> Command {
        let which = random.below(3);
        let node = random.below(nodes as u64) as usize;
        match random.below(13) {
            0..3 => Command::List,
            3 => Command::Current(which),
            4 => Command::Drop(which),
            5 | 6 => Command::Delete(which),
            7 | 8 => Command::Build(which),
            9 => Command::Halt,
            10 => Command::Clean(node),
            11 => Command::Finish(node),
            _ => Command::Stop(node),
        }
    }

    /// The node on which it runs; those without one run where there is no cache.
    pub fn node(&self) -> Option<usize> {
        match self {
            Command::Clean(node) | Command::Finish(node) | Command::Stop(node) => Some(*node),
            _ => None,
        }
    }
}

/// The halt reason of `scr halt`.
const HALTED: &str = "JOB_HALTED";

impl Site {
    /// Carries out a command, and tells the oracle.
    pub fn carry_out(&self, command: &Command) {
        let done = match command {
            Command::List => self.list(),
            Command::Current(which) => self.current(*which),
            Command::Drop(which) => self.drop_one(*which),
            Command::Delete(which) => self.delete(*which),
            Command::Build(which) => self.build_any(*which),
            Command::Halt => self.halt(),
            Command::GoOn => self.go_on(),
            Command::Clean(_) => self.clean(),
            Command::Finish(_) => self.finish(),
            Command::Stop(_) => self.stop(),
        };
        match done {
            Ok(text) => self.tell(&format!("{command:?}: {text}")),
            Err(error) => {
                self.tell(&format!("{command:?}: {error}"));
                self.blame(&format!("{command:?}"), &error);
            }
        }
    }

    /// True if the prefix directory was used before; the commands refuse another one.
    fn is_used(&self) -> Result<bool> {
        Ok(self.files.stat(&self.prefix().meta())?.is_some())
    }

    /// What each `scr index` does first.
    fn finish_flushes(&self) -> Result<()> {
        let mut problems = Vec::new();
        let finished =
            finish::finish_ended(&self.files, &self.prefix(), &self.time(), &mut problems);
        for dataset in finished? {
            self.tell(&format!("completes {}", dataset.name));
        }
        problems
            .iter()
            .for_each(|problem| self.tell(&problem.to_string()));
        Ok(())
    }

    /// The name of a good dataset in the index: 0 for the newest.
    fn pick(&self, which: u64) -> Result<Option<Name>> {
        if !self.is_used()? {
            return Ok(None);
        }
        self.finish_flushes()?;
        let index = index::read(&self.files, &self.prefix())?;
        let good = index.datasets().iter().filter(|(_, entry)| entry.is_good());
        let mut names: Vec<Name> = good
            .filter_map(|(id, _)| index.name(*id).cloned())
            .collect();
        names.reverse();
        let at = which as usize % names.len().max(1);
        Ok(names.get(at).cloned())
    }

    fn list(&self) -> Result<String> {
        if !self.is_used()? {
            return Ok("there is none".to_string());
        }
        self.finish_flushes()?;
        let index = index::read(&self.files, &self.prefix())?;
        let good = index.datasets().iter().filter(|(_, entry)| entry.is_good());
        let known = good.filter_map(|(id, _)| Some((*id, index.name(*id)?.to_string())));
        let known: Vec<(u64, String)> = known.collect();
        for (id, name) in &known {
            self.oracle.borrow_mut().reported_as_saved(*id, name);
        }
        let names: Vec<String> = known.into_iter().map(|(_, name)| name).collect();
        Ok(names.join(" "))
    }

    fn current(&self, which: u64) -> Result<String> {
        let Some(name) = self.pick(which)? else {
            return Ok("there is none".to_string());
        };
        self.oracle.borrow_mut().made_current(&name.to_string());
        let made = by_name::make_current(&self.files, &self.prefix(), &name);
        // Newer ones may have come meanwhile.
        self.oracle.borrow_mut().made_current(&name.to_string());
        self.unless_gone(made.map(drop), &name)
    }

    fn drop_one(&self, which: u64) -> Result<String> {
        let Some(name) = self.pick(which)? else {
            return Ok("there is none".to_string());
        };
        self.oracle.borrow_mut().taken_out(&name.to_string());
        let dropped = by_name::drop_one(&self.files, &self.prefix(), &name);
        self.oracle.borrow_mut().taken_out(&name.to_string());
        self.unless_gone(dropped, &name)
    }

    fn delete(&self, which: u64) -> Result<String> {
        let Some(name) = self.pick(which)? else {
            return Ok("there is none".to_string());
        };
        self.oracle.borrow_mut().taken_out(&name.to_string());
        let (node, prefix) = (&self.environment.host, self.prefix());
        let deletion = Deletion::of(&self.files, &prefix, node, &name);
        let deleted = deletion.and_then(|deletion| deletion.carry_out());
        self.oracle.borrow_mut().taken_out(&name.to_string());
        if let Err(error) = &deleted
            && index::read(&self.files, &self.prefix())?
                .id(&name)
                .is_some()
        {
            // Others may be deleting what it must compare its files with.
            return Ok(format!("{name} stays: {error}"));
        }
        self.unless_gone(deleted.map(drop), &name)
    }

    /// A dataset that another process has taken out meanwhile cannot be changed, and that is no fault.
    fn unless_gone(&self, result: Result<()>, name: &Name) -> Result<String> {
        match result {
            Ok(()) => Ok(name.to_string()),
            Err(error) if error.to_string().contains("is not a checkpoint") => {
                Ok(error.to_string())
            }
            Err(error) => match index::read(&self.files, &self.prefix())?.id(name) {
                Some(_) => Err(error),
                None => Ok(format!("{name} is gone: {error}")),
            },
        }
    }

    /// `scr index --build` of a dataset in any state, which mostly has nothing to do or cannot do it.
    fn build_any(&self, which: u64) -> Result<String> {
        if !self.is_used()? {
            return Ok("there is none".to_string());
        }
        self.finish_flushes()?;
        let index = index::read(&self.files, &self.prefix())?;
        let ids: Vec<u64> = index.datasets().keys().rev().copied().collect();
        let at = which as usize % ids.len().max(1);
        let Some(id) = ids.get(at) else {
            return Ok("there is none".to_string());
        };
        Ok(match self.build(*id) {
            Ok(name) => {
                self.oracle.borrow_mut().wants_again(&name);
                format!("{name} is complete")
            }
            Err(error) => format!("not built: {error}"),
        })
    }

    /// `scr index --build`. Gives the dataset's name.
    pub fn build(&self, id: u64) -> Result<String> {
        let mut notes = Vec::new();
        let how = BuildSettings {
            node: &self.environment.host,
            time: &self.time()(),
            checksums: self.is_on("SCR_CRC_ON_FLUSH", true),
            watch: &(),
        };
        let built = build(&self.files, &self.prefix(), id, how, &mut notes);
        notes.iter().for_each(|note| self.tell(note));
        let name = built?.dataset.name.to_string();
        self.oracle.borrow_mut().reported_as_saved(id, &name);
        Ok(name)
    }

    /// The index is removed, and `scr index --add` is called for all datasets.
    pub fn make_index(&self) -> Result<()> {
        if !self.is_used()? {
            return Ok(());
        }
        self.files.remove_file(&self.prefix().file("index.scr"))?;
        self.oracle.borrow_mut().index_is_lost();
        self.add_all()
            .inspect_err(|_| self.oracle.borrow_mut().index_stays_lost())
    }

    fn add_all(&self) -> Result<()> {
        let all = add::datasets(&self.files, &self.prefix(), &mut |text| self.tell(&text))?;
        for found in all {
            add::check_number(&self.files, &self.prefix(), &found.dataset)?;
            let entered = add::enter(&self.files, &self.prefix(), &found, &|_| self.time()());
            if let Err(error) = &entered
                && error.to_string().contains("has taken its name")
            {
                self.tell(&format!("not added: {error}"));
                continue;
            }
            match entered? {
                Some(dataset) => {
                    let name = dataset.name.to_string();
                    let mut oracle = self.oracle.borrow_mut();
                    oracle.reported_as_saved(dataset.id, &name);
                }
                None => match self.build(found.id) {
                    Ok(name) => self.tell(&format!("{name} is built")),
                    Err(error) => self.tell(&format!("not added: {error}")),
                },
            }
        }
        Ok(())
    }

    /// `scr copy` of this node. True if all went well, or there is nothing of it here.
    pub fn copy(&self, id: u64, redundancy: Redundancy) -> Result<bool> {
        let containers = self.is_on("SCR_USE_CONTAINERS", false);
        let size = self.environment.get("SCR_CONTAINER_SIZE");
        let size = size.and_then(|size| size.parse().ok());
        let prefix = self.prefix();
        let settings = CopySettings {
            files: &self.files,
            prefix: &prefix,
            node: &self.environment.host,
            redundancy,
            only_redundancy: false,
            containers: size.filter(|_| containers),
            checksums: self.is_on("SCR_CRC_ON_FLUSH", true),
            buffer: 4096,
            metadata: self.is_on("SCR_COPY_METADATA", true),
            watch: &(),
        };
        let copied = copy::copy(&settings, &self.layouts(), id);
        for problem in &copied.problems {
            self.tell(&problem.to_string());
        }
        let count = copied.ranks.len();
        self.tell(&format!("copies {count} ranks of dataset {id}"));
        Ok(copied.problems.is_empty() && copied.dataset.is_some())
    }

    /// `scr rebuild` of what was copied to the prefix directory.
    pub fn rebuild(&self, id: u64) -> Result<()> {
        let prefix = self.prefix();
        let meta = prefix.dataset(id);
        let sources = dataset_records::read(&self.files, &meta, None)?;
        let maps = sources.iter().flat_map(|source| source.filemaps.values());
        let view = shown(&self.files, &prefix, id, maps);
        let location = DatasetLocation {
            files: &view,
            meta_dir: &meta,
            data: &PrefixLocation(&prefix),
        };
        let plan = choose(location, &sources, Scope::Everything, &())?;
        plan.notes().iter().for_each(|note| self.tell(note));
        plan.carry_out(&self.environment.host).map(drop)
    }

    /// `scr flush-file --resume` of this node, for each dataset whose flush has not ended.
    pub fn resume(&self) -> Result<String> {
        if !self.is_used()? {
            return Ok("there is none".to_string());
        }
        let record = match records::read_flush_file(&self.files, &self.prefix()) {
            // It is not synced, so that a power loss may tear it.
            Err(error) => return Ok(error.to_string()),
            Ok(record) => record,
        };
        let mut locks = Vec::new();
        for layout in self.layouts() {
            match wait_for_lock(&self.files, &layout.job(), Instant::now()) {
                Ok(LockAttempt::Acquired(lock)) => locks.push(lock),
                Ok(LockAttempt::HeldByOther) => return Ok("a run is alive".to_string()),
                Ok(LockAttempt::Unsupported) => {}
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        let open = record.datasets.values().filter(|entry| entry.needs_flush());
        for dataset in open.filter_map(|entry| entry.dataset.as_ref()) {
            match self.resume_one(dataset) {
                Ok(true) => {
                    let name = dataset.name.to_string();
                    self.tell(&format!("{name} is complete"));
                    let mut oracle = self.oracle.borrow_mut();
                    oracle.reported_as_saved(dataset.id, &name);
                }
                Ok(false) => self.tell(&format!("parts of {} are elsewhere", dataset.name)),
                Err(error) => self.tell(&format!("{} is not resumed: {error}", dataset.name)),
            }
        }
        Ok("was resumed".to_string())
    }

    /// True if the dataset is complete now.
    fn resume_one(&self, dataset: &Dataset) -> Result<bool> {
        let (mut parts, mut problems) = (Vec::new(), Vec::new());
        let node: Name = self.environment.host.as_str().into();
        for cache in self.layouts() {
            for (layout, here) in caches::records(&self.files, &cache, dataset.id, &mut problems)? {
                let own = |map: &Filemap| layout.level().is_none() || map.node == node;
                let own = here.filemaps.into_iter().filter(own);
                parts.extend(own.map(|map| {
                    let data = layout.data(dataset.id, map.rank);
                    (map, data)
                }));
            }
        }
        problems
            .iter()
            .for_each(|problem| self.tell(&problem.to_string()));
        let target = FlushTarget {
            files: &self.files,
            prefix: &self.prefix(),
            metadata: self.is_on("SCR_COPY_METADATA", true),
            checksums: Checksums::beside_a_run(self.is_on("SCR_CRC_ON_FLUSH", true)),
            make_dirs: true,
        };
        let mut copier = Copier::new(&self.files, 4096);
        let resumed = resume(&target, &mut copier, dataset, parts, &self.time())?;
        Ok(resumed.missing.is_empty())
    }

    /// `scr inspect` of this node: what its caches have.
    pub fn inspect(&self) -> Result<BTreeMap<u64, HeldOnNodes>> {
        let (datasets, problems) = list_datasets(&self.files, &self.layouts())?;
        problems
            .iter()
            .for_each(|problem| self.tell(&problem.to_string()));
        let mut held: BTreeMap<u64, HeldOnNodes> = BTreeMap::new();
        for found in datasets {
            let one = held.entry(found.dataset.id).or_default();
            one.item.checkpoint |= found.dataset.is_checkpoint();
            one.item.output |= found.dataset.flag_output;
            one.here += found.here.len() as u64;
            one.ranks = found.ranks as u64;
        }
        Ok(held)
    }

    /// What `scr postrun` learns from the prefix directory.
    pub fn look(&self) -> Result<(FlushFile, Option<Index>)> {
        self.finish_flushes()?;
        // If the flush file is damaged, what is in the caches of the nodes tells the same.
        let record = records::read_flush_file(&self.files, &self.prefix());
        let index = index::lookup(&self.files, &self.prefix());
        Ok((record.unwrap_or_default(), index.unwrap_or_default()))
    }

    /// What `scr poststage` does after the nodes have finished: the names of datasets that are complete.
    pub fn enter_complete(&self) -> Result<()> {
        if !self.is_used()? {
            return Ok(());
        }
        self.finish_flushes()?;
        poststage::note_complete(&self.files, &self.prefix())
    }

    fn halt(&self) -> Result<String> {
        self.files.make_dirs(&self.prefix().meta())?;
        records::update_halt(&self.files, &self.prefix(), |halt| {
            halt.exit_reason = Some(HALTED.into());
        })?;
        self.oracle.borrow_mut().halted(true);
        Ok("the program must stop".to_string())
    }

    fn go_on(&self) -> Result<String> {
        self.oracle.borrow_mut().halted(false);
        if self.is_used()? {
            let _lock = index::lock(&self.files, self.prefix().root())?;
            self.files.remove_file(&self.prefix().file("halt.scr"))?;
        }
        Ok("the program may go on".to_string())
    }

    /// `scr clean` of this node: what is shared with others is left out.
    pub fn clean(&self) -> Result<String> {
        let own = self.stores.iter().filter(|(_, shared)| !shared);
        let (user, job) = (self.variable("SCR_USER_NAME"), self.variable("SCR_JOB_ID"));
        let mut found = Vec::new();
        for (base, _) in own {
            let here = clean::directories(&self.files, base.as_ref(), user, Some(job))?;
            found.extend(here.into_iter().collect::<Result<Vec<_>>>()?);
        }
        let force = scheduler::draw(|random| random.once_in(2));
        let cleaned = clean::clean(&found, false, force);
        let mut texts = Vec::new();
        for one in cleaned {
            if one.files > 0 || !one.problems.is_empty() || matches!(one.done, Done::Removed) {
                self.oracle.borrow_mut().caches_lost(Excuse::Cleaned);
            }
            if let Some(problem) = one.problems.into_iter().next() {
                return Err(problem);
            }
            let none = one.foreign.is_empty();
            self.oracle.borrow_mut().check(Promise::Clean, none, || {
                format!("these are taken for files of others: {:?}", one.foreign)
            });
            texts.push(match one.done {
                Done::Removed => "removed".to_string(),
                Done::WouldRemove => "would remove".to_string(),
                Done::Kept(why) => why,
            });
        }
        Ok(texts.join(", "))
    }

    fn finish(&self) -> Result<String> {
        if self.finish_node()? {
            Ok("all was copied".to_string())
        } else {
            Ok("not all was copied".to_string())
        }
    }

    /// `scr transfer --finish` of this node. True if nothing is left.
    pub fn finish_node(&self) -> Result<bool> {
        let mut process = Process {
            say: &mut |_, text| self.tell(text),
            stop: &|| false,
        };
        match self.service().finish(&mut process) {
            Ok(Finished::NothingLeft | Finished::ByDaemon) => Ok(true),
            Ok(Finished::Here(file)) => {
                let failed = file.parts().filter(|(_, part)| !part.is_done());
                let failed: Vec<String> = failed
                    .map(|(at, part)| {
                        let why = part.error.as_ref().map(ToString::to_string);
                        format!("{} was not copied: {}", at.words(), why.unwrap_or_default())
                    })
                    .collect();
                failed.iter().for_each(|text| self.tell(text));
                Ok(failed.is_empty())
            }
            Ok(Finished::Interrupted(_)) => Ok(false),
            Err(error) if is_second_daemon(&error) => {
                self.tell(&error.to_string());
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn stop(&self) -> Result<String> {
        let who = self.service().stop()?;
        Ok(who.unwrap_or_else(|| "there is none".to_string()))
    }

    /// The transfer daemon of this node, until it ends.
    pub fn serve(&self) {
        let mut process = Process {
            say: &mut |_, text| self.tell(text),
            stop: &|| false,
        };
        let begins = || self.tell("serves");
        match self.service().serve(&mut process, &begins) {
            Ok(ended) => self.tell(&format!("ends: {ended:?}")),
            Err(error) => {
                self.tell(&format!("ends: {error}"));
                if !is_second_daemon(&error) {
                    self.blame("the transfer daemon", &error);
                }
            }
        }
    }

    /// Each dataset that the index calls complete must be there, with files of the recorded sizes.
    pub fn check_index(&self) -> Result<()> {
        if !self.is_used()? {
            return Ok(());
        }
        let index = index::read(&self.files, &self.prefix())?;
        for (id, _) in index.datasets().iter().filter(|(_, entry)| entry.is_good()) {
            let mut ranks = 0;
            let dir = self.prefix().dataset(*id);
            rank2file::for_each(&self.files, &dir, |_, entry| {
                ranks += 1;
                finish::check_files(&self.files, &self.prefix(), *id, entry)
            })?;
            let all = rank2file::ranks(&self.files, &dir)?;
            if ranks != all {
                let what = format!("lists {ranks} of {all} ranks");
                return Err(Error::corrupt(dir, what));
            }
        }
        Ok(())
    }
}

/// True for the error of a process that would be the second daemon.
fn is_second_daemon(error: &Error) -> bool {
    error
        .to_string()
        .contains("is the transfer daemon here already")
}
