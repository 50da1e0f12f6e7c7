//! Files that the program changes while it restarts from them, though a restart only reads: a library that opens
//! them for update, a counter in a header. SCR compares them with their records at the next start, so the
//! records follow the change if all ranks call the checkpoint valid.

use crate::comm::{Agreement, Term, VerdictExt};
use crate::events::Severity;
use crate::format::rank2file::RankEntry;
use crate::format::{Dataset, FileMeta, Name};
use crate::messages::CHANGED_IN_RESTART;
use crate::prefix::containers::{ContainerReader, Restored};
use crate::prefix::paths::seen_by_program;
use crate::prefix::{finish, index, rank2file};
use crate::redundancy::Encoded;
use crate::session::datasets::cached::{CachedDatasets, OwnPart, title};
use crate::session::datasets::location::{Location, Writers};
use crate::session::datasets::record::protect;
use crate::session::datasets::restart_files::RestartFiles;
use crate::session::run::Run;
use crate::store::{FileStamp, Files, Stat};
use crate::transfer::copy::{Content, Copier, PIECE};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files of the checkpoint that is being read, in their state before: this rank's own, and those that it
/// has routed.
#[derive(Default)]
pub(in crate::session) struct ReadFiles {
    stamps: BTreeMap<PathBuf, FileStamp>,
}

/// A file that has changed since the restart began.
struct Changed {
    path: PathBuf,
    /// The size of the file before the change, bytes.
    before: u64,
    now: Stat,
}

/// The findings of a rank about its own files.
#[derive(Default)]
struct Renewed {
    /// Files with another content.
    files: Vec<PathBuf>,
    /// Number of bytes by which they have grown.
    grown: u64,
    /// The files were extracted from containers, and now have the content that the containers have.
    contained: bool,
}

impl ReadFiles {
    /// A restart from `offered` begins. Local.
    pub fn begin(&mut self, files: &dyn Files, offered: &RestartFiles) {
        self.stamps.clear();
        for file in &offered.files {
            self.add(files, offered, &offered.root.join(file));
        }
    }

    /// The program has the path of a file. A copy that a node has made for its ranks is not a file of the
    /// checkpoint. Local.
    pub fn add(&mut self, files: &dyn Files, offered: &RestartFiles, path: &Path) {
        if path.starts_with(&offered.root)
            && !self.stamps.contains_key(path)
            && let Some(stat) = stat(files, path)
        {
            self.stamps.insert(path.to_path_buf(), stat.stamp());
        }
    }

    /// True if a file has changed. Local.
    pub fn any_changed(&self, files: &dyn Files) -> bool {
        self.changed(files).next().is_some()
    }

    fn changed(&self, files: &dyn Files) -> impl Iterator<Item = Changed> {
        self.stamps.iter().filter_map(move |(path, stamp)| {
            let now = stat(files, path).filter(|now| now.stamp() != *stamp)?;
            Some(Changed {
                path: path.clone(),
                before: stamp.size,
                now,
            })
        })
    }
}

/// The attributes of a file that the program reads. Local.
fn stat(files: &dyn Files, path: &Path) -> Option<Stat> {
    seen_by_program(files, path, |path| files.stat(path))
        .ok()
        .flatten()
}

impl Changed {
    /// Brings the content to stable storage, and takes its checksum. `before` is the recorded size. Local.
    ///
    /// # Errors
    /// The file is shorter than it was: a program that opens a file for update adds to it, and a program that
    /// writes another one in its place cuts it.
    fn content(&self, run: &Run, before: u64) -> Result<Content> {
        if self.now.size < before {
            let what = format!("had {before} bytes and has {} now", self.now.size);
            return Err(Error::corrupt(&self.path, what));
        }
        let files = &*run.files;
        seen_by_program(files, &self.path, |path| {
            files.open(path)?.sync()?;
            let mut copier = Copier::new(files, run.settings.file_buf_size.min(PIECE));
            copier.checksum(path)
        })
    }
}

impl Renewed {
    fn add(&mut self, changed: &Changed, before: u64) {
        self.files.push(changed.path.clone());
        self.grown += changed.now.size.saturating_sub(before);
    }

    /// Changes the files of a rank's record that have changed. Local.
    fn in_record(run: &Run, own: &mut OwnPart, changed: &BTreeMap<Name, Changed>) -> Result<Self> {
        let mut renewed = Renewed::default();
        for file in &mut own.filemap.files.files {
            let Some(changed) = changed.get(&file.file) else {
                continue;
            };
            let found = changed.content(run, file.size)?;
            if (file.size, file.crc) != (found.size, found.crc) {
                renewed.add(changed, file.size);
            }
            let (name, orig) = (file.file.clone(), file.orig.clone());
            *file = FileMeta::new(name, orig, &changed.now);
            file.crc = found.crc;
        }
        Ok(renewed)
    }

    /// Changes the files of a rank's entry in the rank2file that have changed. Files without a checksum get none, and
    /// files from containers are extracted again. `dir` has the containers. Local.
    fn in_entry(
        &mut self,
        run: &Run,
        dir: &Path,
        entry: &mut RankEntry,
        changed: &BTreeMap<Name, Changed>,
    ) -> Result<bool> {
        let mut any = false;
        for (name, file) in &mut entry.files {
            let Some(changed) = changed.get(name) else {
                continue;
            };
            if file.segments.is_some() {
                let (to, mut buffer) = (&changed.path, vec![0; PIECE]);
                let reader = ContainerReader::new(&*run.files, dir);
                let mut reader = reader.with_metadata(run.settings.copy_metadata);
                if reader.restore((name, file), to, true, &mut buffer)? != Restored::Same {
                    self.contained = true;
                    self.files.push(changed.path.clone());
                }
                continue;
            }
            // For files that SCR v3.1.0 wrote, no size is recorded.
            let before = file.size.unwrap_or(changed.before);
            let found = changed.content(run, before)?;
            if file.size == Some(found.size) && file.crc.is_some() && file.crc == found.crc {
                continue;
            }
            self.add(changed, before);
            file.size = file.size.and(Some(found.size));
            file.crc = file.crc.and(found.crc);
            any = true;
        }
        Ok(any)
    }
}

impl ReadFiles {
    /// Updates the records of a checkpoint after the program has changed its files, if all ranks have read it and
    /// call it valid. Collective.
    ///
    /// # Errors
    /// Only errors of the transport. If the records cannot be updated, a warning says so.
    pub fn keep_changed(
        &self,
        run: &Run,
        cached: &mut CachedDatasets,
        offered: &RestartFiles,
    ) -> Result<()> {
        // The changed files are searched a second time: a rank may have changed a file of another rank after that rank
        // had looked.
        let changed = self.changed(&*run.files);
        let mut changed: BTreeMap<Name, Changed> = changed
            .filter_map(|changed| {
                let name = Name::from(changed.path.strip_prefix(&offered.root).ok()?);
                Some((name, changed))
            })
            .collect();
        let Some(known) = cached.get(offered.dataset.id) else {
            return Ok(());
        };
        if let (Location::Bypass(_), Some(own)) = (known.location, &known.own) {
            // Another rank may have changed a file before this rank began to read.
            let own = own.filemap.files.files.iter();
            let since_offer = own.filter_map(|file| {
                let path = offered.root.join(file.file.as_path());
                let now = stat(&*run.files, &path)?;
                let same = (now.size, now.mtime) == (file.size, file.mtime);
                let before = file.size;
                (!same).then(|| (file.file.clone(), Changed { path, before, now }))
            });
            for (name, file) in since_offer {
                changed.entry(name).or_insert(file);
            }
        }
        let (location, own) = (known.location, known.own.clone());
        let mut renewal = Renewal {
            run,
            cached,
            changed,
        };
        let found = match (location, own) {
            (Location::Cache(store), Some(own)) => renewal.protect(store, own)?,
            _ if offered.writers == Writers::AsManyAsNow => renewal.record(&offered.dataset)?,
            _ => {
                let what =
                    "another number of ranks wrote it, and no rank of this run has its record";
                renewal.not_done(Error::usage("SCR_Complete_restart", what))
            }
        };
        tell_changed(run, &offered.dataset, found)
    }
}

/// Records follow changed files of a checkpoint.
struct Renewal<'a> {
    run: &'a Run,
    cached: &'a mut CachedDatasets,
    /// Keyed by their names.
    changed: BTreeMap<Name, Changed>,
}

impl Renewal<'_> {
    /// Makes checksums and redundancy of a cached dataset again. Collective.
    fn protect(&mut self, store: usize, mut own: OwnPart) -> Result<Found> {
        let run = self.run;
        let renewed = Renewed::in_record(run, &mut own, &self.changed);
        let grown = renewed.as_ref().map_or(0, |renewed| renewed.grown);
        let any = renewed
            .as_ref()
            .is_ok_and(|renewed| !renewed.files.is_empty());
        let terms = [Term::Sum(grown as i64), Term::Max(any.into())];
        let Agreement {
            verdict,
            terms: [grown, any],
        } = run.agree_with(renewed, terms)?;
        let renewed = match verdict {
            Ok(renewed) if any.on_any() => renewed,
            Ok(renewed) => return Ok(Found::of_rank(renewed)),
            Err(error) => return Ok(self.not_done(error)),
        };
        let filemap = &mut own.filemap;
        filemap.dataset.grow(grown.count());
        let layout = run.stores[store].layout.at(own.level);
        let done = protect(run, &*run.files, store, &layout, filemap).and_then(Encoded::right);
        let done = run.agree(done).verdict()?;
        if done.is_ok() {
            self.cached.set_filemap(filemap.clone());
            self.cached.grow(filemap.dataset.id, grown.count());
        }
        Ok(Found {
            done,
            ..Found::of_rank(renewed)
        })
    }

    /// Records sizes and checksums of a dataset in the prefix directory again. Collective.
    fn record(&mut self, dataset: &Dataset) -> Result<Found> {
        let run = self.run;
        let (comm, files) = (&*run.comm, &*run.files);
        let dir = run.prefix.dataset(dataset.id);
        let mut renewed = Renewed::default();
        let renew = |entry: &mut RankEntry| renewed.in_entry(run, &dir, entry, &self.changed);
        let done = rank2file::renew(comm, files, &dir, renew)?.result();
        let terms = [Term::Sum(renewed.grown as i64)];
        let Agreement {
            verdict: mut done,
            terms: [grown],
        } = run.agree_with(done, terms)?;
        if done.is_ok() && grown.count() > 0 {
            let mut dataset = dataset.clone();
            dataset.grow(grown.count());
            let sealed = run.on_root(|| {
                finish::seal(files, &run.prefix, &dataset)?;
                index::update(files, &run.prefix, |index| {
                    index.describe(&dataset);
                    Ok(())
                })
            });
            done = sealed.map(drop).verdict()?;
            self.cached.grow(dataset.id, grown.count());
        }
        match done {
            Ok(()) => Ok(Found::of_rank(renewed)),
            Err(error) => Ok(self.not_done(error)),
        }
    }

    /// All changed files, with any content, since the records cannot follow them.
    fn not_done(&self, error: Error) -> Found {
        let changed = self.changed.values();
        Found {
            files: changed.map(|changed| changed.path.clone()).collect(),
            contained: false,
            done: Err(error),
        }
    }
}

/// Reports that files were changed, names the first one, and says what that means for the next restart. Nothing if
/// they have the content that was recorded. Collective.
fn tell_changed(run: &Run, dataset: &Dataset, found: Found) -> Result<()> {
    let me = run.rank() as i64;
    let first = if found.files.is_empty() { i64::MAX } else { me };
    let terms = [
        Term::Min(first),
        Term::Sum(found.files.len() as i64),
        Term::Max(found.contained.into()),
    ];
    let [first, count, contained] = crate::comm::collective::combine(&*run.comm, terms)?;
    let Some(path) = found.files.first().filter(|_| first.get() == me) else {
        return Ok(());
    };
    let more = match count.count() {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let follows = match &found.done {
        Err(error) => format!(
            "the next start refuses it or rebuilds it as it was, since its records cannot follow: {error}"
        ),
        Ok(()) if contained.on_any() => {
            "they were extracted from its containers again, as they were".to_string()
        }
        Ok(()) => {
            "its records were made again, so that the next start takes it as it is now".to_string()
        }
    };
    let text = format!(
        "{}: {}{more} changed while the program restarted from it; {follows}; open the files of a checkpoint \
         read-only ({CHANGED_IN_RESTART})",
        title(dataset),
        path.display(),
    );
    run.tell(Severity::Warning, text);
    Ok(())
}

/// The findings about changed files of a rank, for a message.
struct Found {
    files: Vec<PathBuf>,
    contained: bool,
    /// The result of recording them again. The same on all ranks.
    done: Result<()>,
}

impl Found {
    fn of_rank(renewed: Renewed) -> Self {
        Found {
            files: renewed.files,
            contained: renewed.contained,
            done: Ok(()),
        }
    }
}
