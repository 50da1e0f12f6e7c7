//! A cluster of thread ranks with real files, for tests of the schemes.

use super::parity_file::final_name;
use super::{
    Context, LocalPart, PartHealth, RankRecord, RebuildOutcome, RedundancyScheme, Set, Verification,
};
use crate::Result;
use crate::comm::Communicator;
use crate::format::Name;
use crate::format::Scheme;
use crate::format::dataset::Dataset;
use crate::format::filemap::Reddesc;
use crate::format::files::{FileMeta, RankFiles};
use crate::format::parity::{Group, ParityHeader};
use crate::store::posix::Posix;
use crate::store::{Files, Stat};
use crate::threads;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The header of the redundancy file of a member without files, in a set of two.
pub fn empty_header() -> ParityHeader {
    ParityHeader {
        chunk: 0,
        crc: Some(0),
        current: RankFiles::default(),
        dataset: Dataset::default(),
        further: Vec::new(),
        group: Group(vec![0, 1]),
        partner: RankFiles::default(),
        ranks: 2,
        reddesc: Reddesc {
            scheme: Scheme::Xor.into(),
            group: "NODE".into(),
            set_id: 0,
            set_rank: 0,
            members: vec![0, 1],
            set_size: 2,
            set_failures: 1,
            interval: 1,
            store: "/s".into(),
        },
    }
}

impl RedundancyScheme {
    /// Encodes. Redundancy that is not right is an error.
    pub fn encode_right(&self, context: &Context, record: &mut RankRecord) -> Result<()> {
        self.encode(context, record, &mut |_| Ok(()))?.right()
    }
}

/// One set of ranks, each with its own directories.
pub struct Cluster {
    dir: tempfile::TempDir,
    /// Sizes of the files of each rank.
    sizes: Vec<Vec<usize>>,
    pub piece: usize,
}

/// Paths below a rank's directory, with content, mode and modification time.
pub type Snapshot = BTreeMap<PathBuf, (Vec<u8>, u32, (i64, u32))>;

impl Cluster {
    /// Writes files of these sizes, in several directories, with modes and times.
    pub fn new(sizes: Vec<Vec<usize>>, piece: usize) -> Self {
        Cluster::new_in(&std::env::temp_dir(), sizes, piece)
    }

    /// Writes the files of [`new`](Self::new) below `dir`.
    pub fn new_in(dir: &Path, sizes: Vec<Vec<usize>>, piece: usize) -> Self {
        let cluster = Cluster {
            dir: tempfile::tempdir_in(dir).unwrap(),
            sizes,
            piece,
        };
        for rank in 0..cluster.size() {
            std::fs::create_dir_all(cluster.meta(rank)).unwrap();
            std::fs::create_dir_all(cluster.data(rank)).unwrap();
            for file in 0..cluster.sizes[rank].len() {
                let path = cluster.file(rank, file);
                Posix
                    .make_private_dirs(&cluster.data(rank), Path::new(&format!("d{}", file % 2)))
                    .unwrap();
                std::fs::write(&path, cluster.content(rank, file)).unwrap();
                let old = Posix.stat(&path).unwrap().unwrap();
                let mode = old.mode & !0o777 | if file == 1 { 0o440 } else { 0o640 };
                let time = (1_700_000_000 + file as i64, 123_000 * rank as u32);
                Posix
                    .restore(
                        &path,
                        &Stat {
                            mode,
                            mtime: time,
                            ..old
                        },
                    )
                    .unwrap();
            }
        }
        cluster
    }

    pub fn size(&self) -> usize {
        self.sizes.len()
    }

    pub fn data(&self, rank: usize) -> PathBuf {
        self.dir.path().join(format!("r{rank}/data"))
    }

    pub fn meta(&self, rank: usize) -> PathBuf {
        self.dir.path().join(format!("r{rank}/meta"))
    }

    fn name(file: usize) -> String {
        format!("d{}/f{file}", file % 2)
    }

    pub fn file(&self, rank: usize, file: usize) -> PathBuf {
        self.data(rank).join(Self::name(file))
    }

    pub fn xor_file(&self, rank: usize) -> PathBuf {
        self.meta(rank)
            .join(format!("{}_of_{}_in_0.xor", rank + 1, self.size()))
    }

    /// Content of a file: noise that differs between files.
    pub fn content(&self, rank: usize, file: usize) -> Vec<u8> {
        let mut state = (rank as u64 + 1) * 0x9e37_79b9 + file as u64 * 77 + 1;
        let mut next = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as u8
        };
        (0..self.sizes[rank][file]).map(|_| next()).collect()
    }

    /// A rank's files, joined.
    pub fn logical(&self, rank: usize) -> Vec<u8> {
        (0..self.sizes[rank].len())
            .flat_map(|file| self.content(rank, file))
            .collect()
    }

    /// A rank's record before checksums are known.
    pub fn record(&self, rank: usize) -> RankRecord {
        let meta = |file: usize| {
            let name = Name::from(Self::name(file).as_str());
            let stat = Posix.stat(&self.file(rank, file)).unwrap().unwrap();
            FileMeta::new(name.clone(), name, &stat)
        };
        let dataset = Dataset {
            id: 6,
            name: "scr.dataset.6".into(),
            created: 1_312_850_690_668_536,
            ..Dataset::default()
        };
        let reddesc = Reddesc {
            scheme: Scheme::Xor.into(),
            group: "NODE".into(),
            set_id: 0,
            set_rank: rank,
            members: (0..self.size()).collect(),
            set_size: 8,
            set_failures: 1,
            interval: 1,
            store: "/dev/shm".into(),
        };
        let files = (0..self.sizes[rank].len()).map(meta).collect();
        RankRecord {
            dataset,
            reddesc,
            files: RankFiles { rank, files },
        }
    }

    /// Runs `body` as each member of one set of all ranks.
    pub fn run<R: Send>(
        &self,
        files: &dyn Files,
        body: impl Fn(&Context, usize) -> R + Sync,
    ) -> Vec<R> {
        threads::run(self.size(), |comm| self.with(files, comm.as_ref(), &body))
    }

    /// Calls `body` with the context of one rank.
    pub fn with<R>(
        &self,
        files: &dyn Files,
        comm: &dyn Communicator,
        body: impl Fn(&Context, usize) -> R,
    ) -> R {
        let rank = comm.rank();
        let set = Set::new(rank, (0..self.size()).collect::<Vec<_>>()).unwrap();
        let context = Context {
            comm,
            files,
            set: &set,
            data_dir: &self.data(rank),
            common: false,
            meta_dir: &self.meta(rank),
            piece: self.piece,
            tag: 17,
            holders: &[],
            sync: true,
            watch: &(),
        };
        body(&context, rank)
    }

    /// Encodes on all ranks, which must succeed, and returns the records.
    pub fn encode(&self, scheme: &RedundancyScheme) -> Vec<RankRecord> {
        let records = self.run(&Posix, |context, rank| {
            let mut record = self.record(rank);
            record.reddesc.scheme = scheme.scheme().into();
            record.reddesc.set_failures = scheme.failures;
            scheme.encode_right(context, &mut record).map(|()| record)
        });
        records.into_iter().map(|r| r.unwrap()).collect()
    }

    pub fn check(&self, scheme: &RedundancyScheme, records: &[RankRecord]) -> Vec<PartHealth> {
        self.run(&Posix, |context, rank| {
            scheme.check(context, &records[rank], Verification::Full)
        })
    }

    /// Rebuilds on all ranks. The members in `amnesiac` have lost their record.
    pub fn rebuild(
        &self,
        scheme: &RedundancyScheme,
        records: &[RankRecord],
        amnesiac: &[usize],
    ) -> Vec<Result<(RankRecord, RebuildOutcome)>> {
        self.run(&Posix, |context, rank| {
            let mine = (!amnesiac.contains(&rank)).then(|| records[rank].clone());
            let found = |record| LocalPart::new(scheme, context, record, Verification::SizesOnly);
            scheme.rebuild(context, &mut mine.map(found), &mut [])
        })
    }

    /// Everything that a rank has on disk. Temporary redundancy files are left out: the next that is written takes
    /// their place.
    pub fn snapshot(&self, rank: usize) -> Snapshot {
        let mut found = Snapshot::new();
        let mut queue = vec![self.data(rank), self.meta(rank)];
        while let Some(dir) = queue.pop() {
            for entry in std::fs::read_dir(&dir).into_iter().flatten() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap();
                if path.is_dir() {
                    queue.push(path);
                } else if final_name(name) == name {
                    let stat = Posix.stat(&path).unwrap().unwrap();
                    // The time of redundancy files is not kept.
                    let time = if path.starts_with(self.data(rank)) {
                        stat.mtime
                    } else {
                        (0, 0)
                    };
                    found.insert(
                        path.clone(),
                        (std::fs::read(&path).unwrap(), stat.mode, time),
                    );
                }
            }
        }
        found
    }

    /// Removes everything of a rank; empty directories remain.
    pub fn lose(&self, rank: usize) {
        for dir in [self.data(rank), self.meta(rank)] {
            std::fs::remove_dir_all(&dir).unwrap();
            std::fs::create_dir_all(&dir).unwrap();
        }
    }
}

/// Flips one bit of a file, whatever its mode, and keeps its times.
pub fn flip(path: &Path, at: usize) {
    let stat = Posix.stat(path).unwrap().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
    Posix.restore(path, &stat).unwrap();
}
