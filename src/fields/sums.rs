//! The checksums of a field's bytes, as they go to a file.

use super::file::Section;
use crate::store::block_signals::BlockedSignals;
use crate::system::thread::{self, Builder, Scope, ScopedJoinHandle};
use crc32fast::Hasher;

/// Bytes for which a thread of its own takes less time than its start.
const WORTH: usize = 2 << 20;

/// Takes the checksums of a section.
pub(super) struct Sums {
    pub section: Section,
    /// Of all whole blocks.
    pub all: Hasher,
    /// Of the block that has begun, and how many bytes of it there were.
    open: Hasher,
    begun: u64,
    /// Threads that may take part.
    threads: usize,
}

/// What had been added at some time.
pub(super) struct Mark {
    all: Hasher,
    open: Hasher,
    begun: u64,
    blocks: usize,
}

impl Sums {
    pub(super) fn new(section: Section) -> Self {
        Sums {
            section,
            all: Hasher::new(),
            open: Hasher::new(),
            begun: 0,
            threads: 1,
        }
    }

    /// From now on so many threads may take part.
    pub(super) fn use_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// Adds the next bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let block = self.section.block.max(1);
        let missing = (block - self.begun).min(bytes.len() as u64);
        let (first, rest) = match self.begun {
            0 => (&[][..], bytes),
            _ => bytes.split_at(missing as usize),
        };
        self.begin(first);
        let whole = rest.len() - rest.len() % block as usize;
        let (whole, last) = rest.split_at(whole);
        for hasher in hashers(whole, block as usize, self.threads) {
            self.close(hasher);
        }
        self.begin(last);
    }

    /// [`Sums::add`] while `work` is done, if threads may take part.
    pub(super) fn add_beside<T>(&mut self, bytes: &[u8], work: impl FnOnce() -> T) -> T {
        if self.threads < 2 || self.begun > 0 || bytes.len() < WORTH {
            self.add(bytes);
            return work();
        }
        let (block, threads) = (self.section.block.max(1) as usize, self.threads - 1);
        let (whole, last) = bytes.split_at(bytes.len() - bytes.len() % block);
        let (hashers, done) = thread::scope(|scope| {
            let thread = start(scope, move || hashers(whole, block, threads));
            let done = work();
            let hashers = thread.and_then(|thread| thread.join().ok());
            (hashers.unwrap_or_else(|| hashers_here(whole, block)), done)
        });
        hashers.into_iter().for_each(|hasher| self.close(hasher));
        self.begin(last);
        done
    }

    /// Adds bytes of one block.
    fn begin(&mut self, bytes: &[u8]) {
        self.open.update(bytes);
        self.begun += bytes.len() as u64;
        if self.begun == self.section.block && self.begun > 0 {
            self.close_open();
        }
    }

    fn close_open(&mut self) {
        self.begun = 0;
        let hasher = std::mem::take(&mut self.open);
        self.close(hasher);
    }

    fn close(&mut self, hasher: Hasher) {
        self.all.combine(&hasher);
        self.section.blocks.push(hasher.finalize());
    }

    /// What was added so far.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            all: self.all.clone(),
            open: self.open.clone(),
            begun: self.begun,
            blocks: self.section.blocks.len(),
        }
    }

    /// Forgets what was added since.
    pub(super) fn back_to(&mut self, mark: Mark) {
        (self.all, self.open, self.begun) = (mark.all, mark.open, mark.begun);
        self.section.blocks.truncate(mark.blocks);
    }

    /// The field has ended: its last block may be shorter.
    pub(super) fn finish(&mut self) {
        if self.begun > 0 {
            self.close_open();
        }
        self.section.crc = self.all.clone().finalize();
    }
}

/// The checksums of blocks, by at most so many threads, of which this is one.
fn hashers(bytes: &[u8], block: usize, threads: usize) -> Vec<Hasher> {
    let threads = threads.min(bytes.len() / WORTH);
    if threads < 2 {
        return hashers_here(bytes, block);
    }
    let share = bytes.len().div_ceil(block).div_ceil(threads) * block;
    let mut shares = bytes.chunks(share);
    let first = shares.next().unwrap_or_default();
    thread::scope(|scope| {
        let started = shares.map(|share| (share, start(scope, move || hashers_here(share, block))));
        let started: Vec<_> = started.collect();
        let mut all = hashers_here(first, block);
        for (share, thread) in started {
            let hashers = thread.and_then(|thread| thread.join().ok());
            all.extend(hashers.unwrap_or_else(|| hashers_here(share, block)));
        }
        all
    })
}

/// The checksums of blocks, by this thread.
fn hashers_here(bytes: &[u8], block: usize) -> Vec<Hasher> {
    let one = |block: &[u8]| {
        let mut hasher = Hasher::new();
        hasher.update(block);
        hasher
    };
    bytes.chunks(block).map(one).collect()
}

/// Starts a thread. Without one, the caller does the work.
fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    let _blocked = BlockedSignals::new();
    let builder = Builder::new().name("scr-sum".to_string());
    builder.spawn_scoped(scope, work).ok()
}

#[cfg(test)]
mod tests {
    use super::{Sums, WORTH};
    use crate::fields::file::Section;

    fn sums(block: u64, threads: usize) -> Sums {
        let mut sums = Sums::new(Section {
            block,
            ..Section::default()
        });
        sums.use_threads(threads);
        sums
    }

    #[test]
    fn any_cut_of_the_bytes_gives_the_same_sums() {
        let bytes: Vec<u8> = (0..1000u32).map(|at| (at * 7 / 3) as u8).collect();
        for block in [1, 7, 100, 999, 1000, 2000] {
            let right: Vec<u32> = bytes.chunks(block).map(crc32fast::hash).collect();
            for piece in [1, 6, 7, 99, 100, 350, 1000] {
                let mut sums = sums(block as u64, 1);
                for (at, piece) in bytes.chunks(piece).enumerate() {
                    let mark = sums.mark();
                    if at % 3 == 1 {
                        sums.add(&bytes[..at]);
                        sums.back_to(mark);
                    }
                    sums.add(piece);
                }
                sums.finish();
                assert_eq!(sums.section.blocks, right, "{block} {piece}");
                assert_eq!(sums.section.crc, crc32fast::hash(&bytes));
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_sums() {
        let bytes: Vec<u8> = (0..4 * WORTH + 12_345)
            .map(|at| ((at * 31) >> 4) as u8)
            .collect();
        let block = 100_000;
        let right: Vec<u32> = bytes.chunks(block).map(crc32fast::hash).collect();
        for threads in [0, 1, 2, 3, 4, 9] {
            let mut sums = sums(block as u64, threads);
            sums.add(&bytes[..70_000]);
            sums.add(&bytes[70_000..100_000]);
            let rest = &bytes[100_000..];
            assert_eq!(sums.add_beside(rest, || rest.len()), rest.len());
            sums.finish();
            assert_eq!(sums.section.blocks, right, "{threads}");
            assert_eq!(sums.section.crc, crc32fast::hash(&bytes));
        }
    }
}
