//! Restarts on any number of ranks, as the program sees them: `SCR_Allow_other_ranks`, and the lists of
//! the files of a checkpoint by the ranks that wrote them.

use crate::comm::{Term, collective::combine};
use crate::prefix::file_lists::FileLists;
use crate::session::Session;
use crate::session::datasets::cached::title;
use crate::session::datasets::restart_files::RestartFiles;
use crate::session::datasets::search::Offer;
use crate::session::datasets::unavailable::Cause;
use crate::session::run::Run;
use crate::session::state::{Call, State};
use crate::store::retry;
use crate::{Error, Result};
use std::path::PathBuf;

/// The lists of the files of the checkpoint that is being read, as far as somebody has asked.
#[derive(Default)]
pub(in crate::session) struct RestartLists {
    /// The lists, if the checkpoint is read in the prefix directory.
    in_prefix: Option<FileLists>,
    /// If the checkpoint is in the cache: the paths of this rank's own files in the prefix directory.
    own: Option<Vec<PathBuf>>,
}

impl RestartLists {
    /// Another phase begins.
    pub fn forget(&mut self) {
        *self = RestartLists::default();
    }

    /// The list that was asked for last.
    pub fn last(&self) -> &[PathBuf] {
        match (&self.in_prefix, &self.own) {
            (Some(lists), _) => lists.last(),
            (None, own) => own.as_deref().unwrap_or_default(),
        }
    }

    /// Reads the list of the files of rank `rank`, which is then the [last](RestartLists::last) one. Local.
    pub fn read(&mut self, run: &Run, offered: &RestartFiles, call: Call, rank: u64) -> Result<()> {
        let ranks = offered.writers.count(run);
        if rank >= ranks {
            let what = format!("{ranks} ranks wrote {}", title(&offered.dataset));
            return Err(Error::usage(
                call.name(),
                format!("there is no rank {rank}: {what}"),
            ));
        }
        if offered.bypass {
            let lists = self.in_prefix(run, offered)?;
            return retry(|| lists.of_rank(&*run.files, &run.prefix, rank).map(drop));
        }
        if rank != run.rank() as u64 {
            let what = format!(
                "the files of rank {rank} of {} are in the cache, where only that rank reads them; with \
                 SCR_GLOBAL_RESTART=1 all ranks read all files in the prefix directory",
                title(&offered.dataset)
            );
            return Err(Error::usage(call.name(), what));
        }
        let files = offered.files.iter();
        let paths = || files.map(|file| run.prefix.root().join(file)).collect();
        self.own.get_or_insert_with(paths);
        Ok(())
    }

    pub fn in_prefix(&mut self, run: &Run, offered: &RestartFiles) -> Result<&mut FileLists> {
        match &mut self.in_prefix {
            Some(lists) => Ok(lists),
            none => {
                let (files, id) = (&*run.files, offered.dataset.id);
                let lists = retry(|| FileLists::open(files, &run.prefix, id))?;
                Ok(none.insert(lists))
            }
        }
    }
}

impl Session {
    /// Allows a restart from a checkpoint that another number of ranks wrote, or forbids it
    /// (`SCR_Allow_other_ranks`). Without this call `SCR_FETCH_BYPASS` and `SCR_GLOBAL_RESTART` allow it.
    /// `SCR_START_ANEW` forbids it in any case. Collective; one round.
    ///
    /// # Errors
    /// Ranks disagree, or a phase is open. After these errors nothing has changed.
    pub fn allow_other_ranks(&mut self, allowed: bool) -> Result<()> {
        let call = Call::AllowOtherRanks;
        self.state.allow(call)?;
        let number = i64::from(allowed);
        let run = &self.run;
        let [most, least] = combine(&*run.comm, [Term::Max(number), Term::Min(number)])?;
        if most != least {
            return Err(Error::usage(
                call.name(),
                "the argument differs between ranks; give the same on all",
            ));
        }
        self.other_ranks.allowed = allowed && !run.settings.start_anew;
        if self.other_ranks.allowed {
            self.search.offer.try_again(Cause::OfOtherRanks);
        } else {
            self.cached.forget_of_other_ranks();
            self.search.offer.withdraw_of_other_ranks();
        }
        Ok(())
    }

    /// Number of ranks that wrote the checkpoint that is being read (`SCR_Restart_ranks`). Local.
    ///
    /// # Errors
    /// No checkpoint is being read.
    pub fn restart_ranks(&mut self) -> Result<u64> {
        let offered = being_read(&mut self.state, &self.search.offer, Call::RestartRanks)?;
        Ok(offered.writers.count(&self.run))
    }

    /// Makes this restart read files in the prefix directory from now on, without a copy on the node. This is for a
    /// reader that reads only parts of files, and each part once. Local.
    pub fn read_in_place(&mut self) {
        self.reading.node_copies.leave_out();
    }

    /// The files that rank `rank` of the run that wrote the checkpoint has written
    /// (`SCR_Restart_file_count`, `SCR_Restart_file`): absolute paths in the prefix directory, which
    /// [`Session::route`] takes. Reads about a megabyte, and only if the list is not held already. Local.
    ///
    /// # Errors
    /// No checkpoint is being read, it has no such rank, the list cannot be read, or the checkpoint is
    /// in the cache and the files are those of another rank.
    pub fn restart_files_of(&mut self, rank: u64) -> Result<&[PathBuf]> {
        self.files_of(Call::RestartFile, rank)
    }

    /// [`Session::restart_files_of`] for the C call `call`.
    pub fn files_of(&mut self, call: Call, rank: u64) -> Result<&[PathBuf]> {
        let offered = being_read(&mut self.state, &self.search.offer, call)?;
        self.reading.files_of(&self.run, offered, call, rank)
    }

    /// All files of the checkpoint that is being read, each with the rank that wrote it: rank after
    /// rank, as [`Session::restart_files_of`] gives them. After an error the next rank follows. Local.
    ///
    /// # Errors
    /// No checkpoint is being read.
    pub fn restart_files(
        &mut self,
    ) -> Result<impl Iterator<Item = Result<(u64, PathBuf)>> + use<'_>> {
        let offered = being_read(&mut self.state, &self.search.offer, Call::RestartFile)?;
        let ranks = offered.writers.count(&self.run);
        Ok(
            (0..ranks).flat_map(|rank| match self.restart_files_of(rank) {
                Ok(files) => files.iter().map(|file| Ok((rank, file.clone()))).collect(),
                Err(error) => vec![Err(error)],
            }),
        )
    }
}

/// The checkpoint that is being read. Local.
fn being_read<'a>(state: &mut State, offer: &'a Offer, call: Call) -> Result<&'a RestartFiles> {
    if *state == State::FailedRestart {
        return Err(Error::NotStarted { call: call.name() });
    }
    state.allow(call)?;
    let offered = offer.files();
    offered.ok_or_else(|| Error::usage(call.name(), "no checkpoint is being read"))
}
