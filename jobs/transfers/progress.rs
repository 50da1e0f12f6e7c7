//! The messages between the copying thread of the daemon and its main loop.

use scr_engine::daemon::control::Control;
use scr_engine::format::transfer::TransferFile;
use scr_engine::format::{self, Name};
use scr_engine::prefix::part::RankSource;
use scr_engine::prefix::paths::Prefix;
use scr_engine::prefix::permit::Permit;
use scr_engine::store::Files;
use scr_engine::system::sync::{Mutex, MutexGuard};
use scr_engine::system::time::{Instant, sleep};
use scr_engine::transfer::copy::TargetWatch;
use scr_engine::transfer::pace::{Limits, Pace};
use scr_engine::transfer::worker::Cancel;
use scr_engine::{Error, Result};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// The most files that are listed with their progress. A transfer file that lists millions of
/// files would take as long to write as the files themselves.
const LISTED: usize = 10_000;

/// If the last look at the transfer file is older than this, the process was suspended. The orders
/// in the file may have changed since, so nothing is written before the next look.
const STALE: Duration = Duration::from_secs(1);

/// The state that the loop and the copying thread share.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<State>>);

struct State {
    limits: Limits,
    looked: Instant,
    progress: Progress,
    /// Counts the steps of the thread, pauses included, so that it shows when the thread hangs.
    beats: u64,
}

/// The progress of a part.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Progress {
    pub files: BTreeMap<Name, TransferFile>,
    pub count: u64,
    pub size: u64,
    pub written: u64,
}

impl Shared {
    /// `look`: when the loop began to look at the transfer file.
    pub fn new(limits: Limits, look: Instant) -> Self {
        Shared(Arc::new(Mutex::new(State {
            limits,
            looked: look,
            progress: Progress::default(),
            beats: 0,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a look of the loop at the transfer file, which has these limits. `look`: when the look
    /// began. If the process was stopped since then, the look may be outdated.
    pub fn looked(&self, limits: Limits, look: Instant) {
        let mut state = self.state();
        (state.limits, state.looked) = (limits, look);
    }

    /// Notes a look that found the transfer file unchanged. `look`: when the look began.
    pub fn touched(&self, look: Instant) {
        self.state().looked = look;
    }

    /// A count that changes while the thread works.
    pub fn beats(&self) -> u64 {
        self.state().beats
    }

    fn beat(&self) {
        let mut state = self.state();
        state.beats = state.beats.wrapping_add(1);
    }

    /// The progress of the part.
    pub fn progress(&self) -> Progress {
        self.state().progress.clone()
    }

    /// Bytes that were copied.
    pub fn written(&self) -> u64 {
        self.state().progress.written
    }
}

/// The copying thread's side: keeps to the limits, counts, and looks for the permit.
pub(super) struct Follower<'a> {
    pub shared: &'a Shared,
    pub files: &'a dyn Files,
    pub pace: Pace<'a>,
    pub cancel: &'a Cancel,
    pub permit: Permit<'a>,
    pub control: &'a Control,
    /// The file that is being copied.
    pub current: Cell<Option<Name>>,
}

impl Follower<'_> {
    /// Lists the files of the part.
    pub fn list(&self, prefix: &Prefix, sources: &[RankSource]) -> Result<()> {
        let mut progress = Progress::default();
        for source in sources {
            self.may_go_on()?;
            let filemap: format::Filemap = format::read(self.files, &source.record)?;
            for file in &filemap.files.files {
                progress.count += 1;
                progress.size = progress.size.saturating_add(file.size);
                if progress.files.len() < LISTED {
                    let from = Name::from(file.file.below(&source.data)?.as_path());
                    let entry = TransferFile {
                        destination: Name::from(prefix.absolute(&file.file)?.as_path()),
                        size: file.size,
                        written: 0,
                    };
                    progress.files.insert(from, entry);
                }
            }
        }
        self.shared.state().progress = progress;
        Ok(())
    }

    /// Counts a copied piece of a file, then waits as long as the limits demand.
    pub fn after_piece(&self, bytes: u64) -> Result<()> {
        {
            let mut state = self.shared.state();
            let progress = &mut state.progress;
            progress.written = progress.written.saturating_add(bytes);
            let current = self.current.take();
            if let Some(file) = current
                .as_ref()
                .and_then(|name| progress.files.get_mut(name))
            {
                file.written = file.size.min(file.written + bytes);
            }
            self.current.set(current);
        }
        let limits = || {
            self.shared.beat();
            self.shared.state().limits
        };
        self.pace.after_within(bytes, limits)?;
        self.may_go_on()
    }

    /// Counts the file at hand as wholly copied, holes included.
    pub fn end_file(&self) {
        let mut state = self.shared.state();
        let name = self.current.take();
        if let Some(file) = name.and_then(|name| state.progress.files.get_mut(&name)) {
            file.written = file.size;
        }
    }

    /// # Errors
    /// The flush was cancelled, or its permit was taken.
    pub fn may_go_on(&self) -> Result<()> {
        self.shared.beat();
        while self.shared.state().looked.elapsed() > STALE && !self.cancel.is_cancelled() {
            sleep(Duration::from_millis(10));
        }
        if self.cancel.is_cancelled() {
            let interrupted = std::io::ErrorKind::Interrupted.into();
            return Err(Error::io("go on with", "a cancelled transfer", interrupted));
        }
        self.permit.check()
    }
}

impl TargetWatch for Follower<'_> {
    fn begin(&self, from: &Path) -> Result<()> {
        self.end_file();
        self.current.set(Some(Name::from(from)));
        self.may_go_on()
    }

    fn opened(&self) -> Result<()> {
        self.may_go_on()
    }

    fn keeps_failed(&self) -> bool {
        self.permit.keeps_failed() || !self.control.is_claimed()
    }

    fn record(&self, path: &Path, write: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
        // The sync of the copied files may have taken long.
        self.may_go_on()?;
        self.permit.record(path, write)
    }
}
