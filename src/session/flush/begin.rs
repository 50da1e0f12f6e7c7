//! The beginning of a flush: the destination of each file, the announcement, and the choice of the
//! copying ranks.

use super::background::Starting;
use super::end::{Progress, note_flush};
use super::outcome::{EndedFlush, FlushResult};
use super::transfer::{PartShape, grant, permit_run};
use super::{Flush, Way};
use crate::comm::{AtRoot, Local, Term, collective};
use crate::events::Severity;
use crate::format::Dataset;
use crate::format::filemap::Filemap;
use crate::messages::ROUTED_TWICE;
use crate::prefix::access::PrefixAccess;
use crate::prefix::containers::{self, ContainerPlace, Containers};
use crate::prefix::finish::{self, Announced};
use crate::prefix::flush::{
    CacheFiles, RankFlush, complete_together, copy_together, make_directories, record_together,
};
use crate::prefix::flush_target::planned_entry;
use crate::prefix::names::owners;
use crate::prefix::part::may_split;
use crate::prefix::permit::{self, Permit};
use crate::prefix::rank2file::full_size;
use crate::session::datasets::cached::{OwnPart, title};
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::progress::CopyProgress;
use crate::session::run::{Run, time_now};
use crate::system::time::{Instant, sleep};
use crate::transfer::copy::TargetWatch;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// A dataset that is about to be flushed.
struct Flushable {
    dataset: Dataset,
    filemap: Filemap,
    /// Index of the store.
    store: usize,
    /// The level of the store at which this rank's files are.
    level: Option<usize>,
    /// This rank's directory in the cache.
    data: PathBuf,
}

/// The places to which the files go, as the ranks have agreed.
struct Plan {
    shape: PartShape,
    /// True if files of a rank are at the level of another node, where no leader copies them. The same on
    /// all ranks.
    elsewhere: bool,
}

impl Flush<'_> {
    /// Flushes a dataset in this way. Does nothing if the cache has no part of the dataset.
    /// Collective.
    pub(super) fn flush(&mut self, id: u64, mut way: Way) -> Result<()> {
        let begun = Instant::now();
        let run = self.run;
        let Some(mut flushable) = self.prepare(id)? else {
            return Ok(());
        };
        if self
            .cached
            .get(id)
            .is_some_and(|cached| cached.prefix.has_files())
        {
            return Ok(());
        }
        let planned = self.plan(&flushable, way);
        let elsewhere = planned.as_ref().is_ok_and(|plan| plan.elsewhere);
        if elsewhere && matches!(way, Way::Background(_)) {
            way = Way::Waited;
        }
        self.note_begun(way, &flushable.dataset);
        let announced = planned.and_then(|plan| {
            let announced = self.announce(way, &flushable, &plan)?;
            Ok((plan, announced))
        });
        let plan = match announced {
            Ok((plan, Announced::Begun)) => plan,
            Ok((_, Announced::Complete)) => {
                return self.conclude(EndedFlush {
                    way,
                    dataset: flushable.dataset,
                    begun,
                    blocked: begun.elapsed(),
                    filemap: None,
                    result: Ok(FlushResult::Found),
                });
            }
            Err(error) => return Err(self.failed(way, &flushable.dataset, error)),
        };
        let Way::Background(copiers) = way else {
            let result = self.copy_waited(way, &mut flushable, &plan);
            if way == Way::Waited && run.rank() == 0 {
                permit::end(&*run.files, &run.prefix, id, &permit_run(run));
            }
            return self.conclude(EndedFlush {
                way,
                dataset: flushable.dataset,
                begun,
                blocked: begun.elapsed(),
                filemap: Some(flushable.filemap),
                result,
            });
        };
        let (dataset, store) = (&flushable.dataset, &run.stores[flushable.store]);
        let starting = Starting {
            dataset,
            copiers,
            shape: plan.shape,
            begun,
        };
        let started = self.background.flushes.start(run, store, starting);
        self.cached.note_prefix(id, PrefixState::begin_flush);
        if let Err(error) = run.agree(started) {
            self.cancel_flushes(&[id])?;
            return Err(self.failed(way, dataset, error));
        }
        Ok(())
    }

    /// The data to flush of a dataset; `None` if the cache has no part of it. No other dataset of its
    /// name counts any more. Collective.
    fn prepare(&mut self, id: u64) -> Result<Option<Flushable>> {
        let run = self.run;
        let Some(cached) = self.cached.get(id) else {
            return Ok(None);
        };
        let name = cached.dataset.name.clone();
        let same_name = self.background.flushes.ids_of_name(&name, id);
        self.cancel_flushes(&same_name)?;
        self.cached.name_is_reused(run, id, &name);
        let Some(cached) = self.cached.get(id) else {
            return Ok(None);
        };
        let Some(OwnPart { filemap, level, .. }) = cached.own.clone() else {
            return Ok(None);
        };
        let store = cached.location.store();
        Ok(Some(Flushable {
            dataset: cached.dataset.clone(),
            filemap,
            store,
            level,
            data: run.stores[store].layout.at(level).data(id, run.rank()),
        }))
    }

    /// Finds out where the files go. Collective; all ranks return the same verdict.
    fn plan(&self, flushable: &Flushable, way: Way) -> Result<Plan> {
        let run = self.run;
        if way == Way::InPlace {
            return Ok(Plan {
                shape: PartShape {
                    split: false,
                    containers: None,
                },
                elsewhere: false,
            });
        }
        let store = &run.stores[flushable.store];
        let together = match way {
            Way::Background(_) => run.together_in(store),
            Way::InPlace | Way::Waited => &run.of_node,
        };
        let files = &flushable.filemap.files;
        let containers = if run.settings.use_containers {
            let bytes = files.size().unwrap_or(u64::MAX);
            Some(containers_of(run, together.leader, bytes)?)
        } else {
            None
        };
        let paths_are_free = self.check_paths(&flushable.filemap)?.result();
        // Only a part must know before it begins how large its entries may become.
        let largest = paths_are_free.and_then(|()| match way {
            Way::Background(_) => full_size(&planned_entry(files, containers)),
            Way::InPlace | Way::Waited => Ok(0),
        });
        let ranks = if together.leader == run.rank() {
            together.ranks(run.comm.size()).len() as i64
        } else {
            0
        };
        let terms = [
            Term::Max(largest.as_ref().map_or(0, |size| *size as i64)),
            Term::Max(ranks),
            // After a recovery a rank's files may lie at the level of another node.
            Term::Max((flushable.level != store.layout.level()).into()),
        ];
        let (_, terms) = run.agree_with(largest, terms)?.all_done()?;
        let [largest, ranks, elsewhere] = terms;
        Ok(Plan {
            shape: PartShape {
                split: may_split(ranks.count(), largest.count()),
                containers,
            },
            elsewhere: elsewhere.on_any(),
        })
    }

    /// Announces the dataset in the prefix directory. Also makes the directories of the files that the
    /// ranks copy while the program waits. Collective; all ranks return the same verdict.
    fn announce(&self, way: Way, flushable: &Flushable, plan: &Plan) -> Result<Announced> {
        let run = self.run;
        let made = match (way, plan.shape.containers) {
            (Way::Waited, None) => {
                let access = run.prefix_access(run.settings.flush_width);
                make_directories(&access, &flushable.filemap.files)?.result()
            }
            // No directories are made here. The part of a flush in the background makes its
            // directories itself. Files in place or in containers need none.
            (Way::InPlace | Way::Waited | Way::Background(_), _) => Ok(()),
        };
        let announced = made.and_then(|()| {
            collective::if_root(&*run.comm, || {
                // The daemon of a flush that has failed may still copy a part, and would then record it.
                if permit::revoke(&*run.files, &run.prefix, flushable.dataset.id)? {
                    sleep(permit::GRACE);
                }
                let announced = finish::announce(&*run.files, &run.prefix, &flushable.dataset)?;
                if announced == Announced::Begun && way != Way::InPlace {
                    grant(run, &flushable.dataset)?;
                }
                Ok(announced)
            })
        });
        let found = announced.as_ref().ok().and_then(AtRoot::get);
        let is_complete = found == Some(&Announced::Complete);
        let terms = [Term::Max(is_complete.into())];
        let (_, [is_complete]) = run.agree_with(announced, terms)?.all_done()?;
        Ok(if is_complete.on_any() {
            Announced::Complete
        } else {
            Announced::Begun
        })
    }

    /// All ranks copy their files, record them, and complete the dataset. Adds the checksums that were taken
    /// to the filemap. Collective; all ranks return the same verdict.
    fn copy_waited(&self, way: Way, flushable: &mut Flushable, plan: &Plan) -> Result<FlushResult> {
        let (run, dataset) = (self.run, &flushable.dataset);
        let progress = CopyProgress::new(run, format!("the flush of {}", title(dataset)));
        let access = PrefixAccess {
            watch: &progress,
            ..run.prefix_access(run.settings.flush_width)
        };
        let permit = permit::path(&run.prefix, dataset.id, &permit_run(run));
        let permit = Permit::new(&*run.files, permit);
        let targets: &dyn TargetWatch = match way {
            Way::InPlace => &(),
            Way::Waited | Way::Background(_) => &permit,
        };
        let from = CacheFiles {
            data: &flushable.data,
            targets,
        };
        let flush = match (way, plan.shape.containers) {
            (Way::InPlace, _) => RankFlush::InPlace,
            (_, None) => RankFlush::ToPaths(from),
            (_, Some(place)) => RankFlush::ToContainers(from, place),
        };
        let list = &mut flushable.filemap.files;
        let (entry, unkept) =
            copy_together(&access, dataset.id, list, flush, run.settings.crc_on_flush)?;
        run.tell_unkept(unkept);
        // The checksums of the dataset before are recorded in its rank2file beside the copy.
        self.background.checksums.wait_for_recording();
        let leaves = record_together(&access, dataset.id, &entry, targets)?;
        if complete_together(&access, dataset, &leaves, &time_now)? {
            Ok(FlushResult::Saved)
        } else {
            Ok(FlushResult::Dropped)
        }
    }

    fn note_begun(&self, way: Way, dataset: &Dataset) {
        let run = self.run;
        let text = match way {
            Way::InPlace | Way::Waited => format!("{} is flushed", title(dataset)),
            Way::Background(_) => {
                format!("the flush of {} starts in the background", title(dataset))
            }
        };
        run.tell_once(Severity::Debug(2), text);
        note_flush(
            run,
            dataset,
            match way {
                Way::InPlace | Way::Waited => Progress::Begun,
                Way::Background(_) => Progress::Started,
            },
        );
        let [start, ..] = way.events();
        run.log_dataset(start, dataset);
    }

    /// Fails if another rank, or a checkpoint of another number of ranks, has a file of the same path: one
    /// would overwrite the other. Collective.
    fn check_paths(&self, filemap: &Filemap) -> Result<Local<()>> {
        let mut files = filemap.files.files.iter();
        let free =
            files.try_for_each(|file| self.other_ranks.check_path(self.run, file.file.as_path()));
        let paths: Vec<&Path> = filemap
            .files
            .files
            .iter()
            .map(|f| f.file.as_path())
            .collect();
        let owners = owners(&*self.run.comm, &paths)?;
        let mut shared = paths.iter().zip(&owners);
        let shared = shared.find(|(_, owner)| **owner != self.run.rank());
        let free = match shared {
            None => free,
            Some((path, owner)) => Err(routed_twice(&filemap.dataset, *owner, path)),
        };
        Ok(free.into())
    }
}

/// The place of this rank's bytes in containers, if the bytes of the ranks with this `leader` are
/// together. Collective; all ranks return the same verdict.
fn containers_of(run: &Run, leader: usize, bytes: u64) -> Result<ContainerPlace> {
    let size = run.settings.container_size;
    let begin = containers::place(&*run.comm, &Containers { size, leader }, bytes)?;
    Ok(ContainerPlace { size, begin })
}

/// The error for a name that rank `owner` has also routed.
pub(in crate::session) fn routed_twice(dataset: &Dataset, owner: usize, name: &Path) -> Error {
    let what = format!(
        "rank {owner} has routed {} too, but in the cache each rank has a file of its own: a file that \
         ranks share needs SCR_CACHE_BYPASS=1, or a store with VIEW=GLOBAL; other files need a name for \
         each rank ({ROUTED_TWICE})",
        name.display()
    );
    Error::dataset(dataset.id, dataset.name.to_string(), what)
}
