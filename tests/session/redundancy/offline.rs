//! Rebuild without a job. Thread ranks encode datasets; the tests damage them in every way that the
//! scheme tolerates, and rebuild them byte for byte from the files alone.

use crate::sampled::sampled;
use scr::format::dataset::Dataset;
use scr::format::filemap::{Filemap, Reddesc};
use scr::format::files::{FileMeta, RankFiles};
use scr::format::{self, Name, Scheme};
use scr::redundancy::offline::{DatasetLocation, Losses};
use scr::redundancy::{Context, RankRecord, RedundancyScheme, Set};
use scr::scavenge::dataset_records;
use scr::scavenge::rebuild::{Scope, choose};
use scr::store::posix::Posix;
use scr::store::{Durability, Files, Stat};
use scr_jobs::datasets::cached::CacheLocation;
use scr_testing::faulty::Faulty;
use scr_testing::threads;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const NODE: &str = "n0";

/// A dataset of which all parts are in one directory, as a cache has them.
struct Site {
    dir: tempfile::TempDir,
    scheme: &'static str,
    sets: Vec<Vec<usize>>,
    dataset: Dataset,
}

type PathOf<'a> = &'a dyn Fn(&Site, usize) -> PathBuf;
type Change<'a> = &'a dyn Fn(&mut Filemap);
type Snapshot = BTreeMap<PathBuf, (Vec<u8>, u32, (i64, u32))>;

/// What a member loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    Data,
    Redundancy,
    Record,
    All,
}

const LOSSES: [Loss; 4] = [Loss::Data, Loss::Redundancy, Loss::Record, Loss::All];

/// In memory where that can be had: thousands of rebuilds sync their files.
fn temporary() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

fn extension(scheme: &str) -> String {
    scheme.to_lowercase()
}

impl Site {
    /// One set of that many members.
    fn new(scheme: &'static str, failures: usize, members: usize) -> Site {
        Site::of_sets(scheme, failures, vec![(0..members).collect()], 6, 1)
    }

    fn of_sets(
        scheme: &'static str,
        failures: usize,
        sets: Vec<Vec<usize>>,
        id: u64,
        created: u64,
    ) -> Site {
        let ranks = sets.iter().map(Vec::len).sum();
        let dataset = Dataset {
            id,
            name: format!("ck.{id}").as_str().into(),
            flag_ckpt: true,
            created,
            ckpt: Some(id),
            ..Dataset::default()
        };
        let site = Site {
            dir: temporary(),
            scheme,
            sets,
            dataset,
        };
        std::fs::create_dir_all(site.meta()).unwrap();
        threads::run(ranks, |comm| {
            let rank = comm.rank();
            let members = site.sets.iter().find(|set| set.contains(&rank)).unwrap();
            let index = members.iter().position(|m| *m == rank).unwrap();
            let set = Set::new(index, members.clone()).unwrap();
            let mut record = RankRecord {
                dataset: site.dataset.clone(),
                reddesc: Reddesc {
                    scheme: scheme.to_string().into(),
                    group: "NODE".into(),
                    set_id: set.id,
                    set_rank: index,
                    members: members.clone(),
                    set_size: 8,
                    set_failures: failures,
                    interval: 1,
                    store: "/dev/shm".into(),
                },
                files: site.write(rank),
            };
            let context = Context {
                comm: &*comm,
                files: &Posix,
                set: &set,
                data_dir: &site.data(rank),
                common: false,
                meta_dir: &site.meta(),
                piece: 300,
                tag: 3,
                holders: &[],
                sync: false,
                watch: &(),
            };
            let scheme = RedundancyScheme::new(Scheme::from_word(scheme).unwrap(), failures);
            let encoded = scheme.encode(&context, &mut record, &mut |_| Ok(()));
            encoded.unwrap().right().unwrap();
            let map = Filemap {
                rank,
                ranks,
                node: NODE.into(),
                prefix: None,
                prefix_id: None,
                bypass: false,
                contained: None,
                dataset: record.dataset,
                reddesc: record.reddesc,
                files: record.files,
            };
            format::write(&Posix, &site.filemap(rank), &map, Durability::Atomic).unwrap();
        });
        site
    }

    /// A rank's files: none, one or several, of different sizes, modes and times.
    fn write(&self, rank: usize) -> RankFiles {
        const SIZES: [usize; 6] = [0, 700, 1, 333, 90, 1024];
        std::fs::create_dir_all(self.data(rank)).unwrap();
        let files = (0..(rank * 5 + 3) % 4).map(|file| {
            let name = format!("d{}/f{file}", file % 2);
            let path = self.data(rank).join(&name);
            Posix
                .make_private_dirs(&self.data(rank), Path::new(&format!("d{}", file % 2)))
                .unwrap();
            let noise = |at: usize| {
                let x = (at + 7 * file + 1) as u64 * (rank as u64 + 3);
                let x = x * (10 * self.dataset.created + self.dataset.id);
                (x.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
            };
            let bytes: Vec<u8> = (0..SIZES[(rank + file) % 6]).map(noise).collect();
            std::fs::write(&path, bytes).unwrap();
            let old = Posix.stat(&path).unwrap().unwrap();
            let stat = Stat {
                mode: old.mode & !0o777 | if file == 1 { 0o440 } else { 0o640 },
                mtime: (1_700_000_000 + file as i64, 1000 * rank as u32),
                ..old
            };
            Posix.restore(&path, &stat).unwrap();
            FileMeta::new(Name::from(name.as_str()), Name::from(name.as_str()), &stat)
        });
        RankFiles {
            rank,
            files: files.collect(),
        }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("scr.dataset.6")
    }

    fn meta(&self) -> PathBuf {
        self.root().join(".scr")
    }

    fn data(&self, rank: usize) -> PathBuf {
        self.root().join(format!("rank_{rank}"))
    }

    fn filemap(&self, rank: usize) -> PathBuf {
        self.meta().join(format!("filemap_{rank}"))
    }

    fn redundancy(&self, rank: usize) -> PathBuf {
        let set = self.sets.iter().find(|set| set.contains(&rank)).unwrap();
        let place = set.iter().position(|m| *m == rank).unwrap() + 1;
        let (size, id) = (set.len(), set.iter().min().unwrap());
        let name = format!("{place}_of_{size}_in_{id}.{}", extension(self.scheme));
        self.meta().join(name)
    }

    fn lose(&self, rank: usize, loss: Loss) {
        if matches!(loss, Loss::Data | Loss::All) {
            Posix.remove_tree(&self.data(rank)).unwrap();
        }
        if matches!(loss, Loss::Redundancy | Loss::All) {
            std::fs::remove_file(self.redundancy(rank)).unwrap();
        }
        if matches!(loss, Loss::Record | Loss::All) {
            std::fs::remove_file(self.filemap(rank)).unwrap();
        }
    }

    /// All files; a redundancy file or record has no time of its own to keep, and the latter
    /// no mode.
    fn snapshot(&self) -> Snapshot {
        let mut found = Snapshot::new();
        let mut queue = vec![self.root()];
        while let Some(dir) = queue.pop() {
            for entry in std::fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    queue.push(path);
                    continue;
                }
                let stat = Posix.stat(&path).unwrap().unwrap();
                let (mode, time) = if path.starts_with(self.meta()) {
                    (0, (0, 0))
                } else {
                    (stat.mode, stat.mtime)
                };
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path, (bytes, mode, time));
            }
        }
        found
    }

    /// What a rebuild finds lost and damaged, once it is done.
    fn rebuild(&self) -> scr::Result<(Losses, Vec<String>)> {
        self.rebuild_on(&Posix)
    }

    fn rebuild_on(&self, files: &dyn Files) -> scr::Result<(Losses, Vec<String>)> {
        let (meta, data) = (self.meta(), CacheLocation(self.root()));
        let surveys = dataset_records::read(files, &meta, Some(self.dataset.id))?;
        let location = DatasetLocation {
            files,
            meta_dir: &meta,
            data: &data,
        };
        let plan = choose(location, &surveys, Scope::Everything, &())?;
        let said = plan.notes();
        let losses = plan.losses.clone();
        plan.carry_out(NODE)?;
        Ok((losses, said))
    }

    fn expect_back(&self, before: &Snapshot, story: &str) {
        let (_, said) = self.rebuild().unwrap_or_else(|e| panic!("{story}: {e}"));
        assert!(!said.is_empty(), "{story}: nothing was said");
        assert!(self.snapshot() == *before, "{story}: {said:?}");
    }
}

/// The subsets of `members` with that many members.
fn subsets(members: usize, count: usize) -> Vec<Vec<usize>> {
    (0..1u32 << members)
        .filter(|subset| subset.count_ones() as usize == count)
        .map(|subset| (0..members).filter(|m| subset >> m & 1 == 1).collect())
        .collect()
}

/// Loses each subset up to the tolerance, all of each member and then a mixture; one more
/// must fail, name them, and touch nothing.
fn sweep(scheme: &'static str, failures: usize, members: usize) {
    let site = Site::new(scheme, failures, members);
    let tolerance =
        RedundancyScheme::new(Scheme::from_word(scheme).unwrap(), failures).losses(members);
    let before = site.snapshot();
    assert_eq!(site.rebuild().unwrap(), (Losses::default(), Vec::new()));
    for count in 1..=tolerance {
        for (turn, lost) in subsets(members, count).into_iter().enumerate() {
            let story = format!("{scheme}+{failures} over {members} without {lost:?}");
            for rank in &lost {
                site.lose(*rank, Loss::All);
            }
            site.expect_back(&before, &story);
            if count < tolerance && members > 6 {
                continue;
            }
            let mixed = |rank: usize| LOSSES[(turn / count.max(1) + rank) % LOSSES.len()];
            for rank in &lost {
                site.lose(*rank, mixed(*rank));
            }
            site.rebuild().unwrap_or_else(|e| panic!("{story}: {e}"));
            assert!(site.snapshot() == before, "{story}, mixed");
        }
    }
    // Members side by side: PARTNER tolerates some losses of more that are not.
    let lost: Vec<usize> = (0..=tolerance).map(|i| (i + 1) % members).collect();
    for rank in &lost {
        site.lose(*rank, Loss::All);
    }
    let after = site.snapshot();
    let error = site.rebuild().unwrap_err().to_string();
    if lost.len() == members {
        assert!(error.contains("holds no record of a dataset"), "{error}");
        return;
    }
    assert!(error.contains("dataset 6 (ck.6)"), "{error}");
    assert!(
        lost.iter().all(|rank| error.contains(&rank.to_string())),
        "{error}"
    );
    assert!(site.snapshot() == after, "{error}");
}

#[test]
fn xor_stands_every_single_loss() {
    (2..=9).for_each(|members| sweep("XOR", 1, members));
}

#[test]
fn partner_stands_every_loss_up_to_its_copies() {
    for copies in 1..=3 {
        (copies + 1..=8).for_each(|members| sweep("PARTNER", copies, members));
    }
}

/// Sets of other sizes differ in the code alone. The unit tests of `redundancy` lose all subsets of those.
fn reed_solomon(parities: usize) {
    let members = [3.max(parities + 1), 8];
    members
        .into_iter()
        .for_each(|members| sweep("RS", parities, members));
}

#[test]
fn reed_solomon_stands_every_loss_of_one() {
    reed_solomon(1);
}

#[test]
fn reed_solomon_stands_every_loss_of_two() {
    reed_solomon(2);
}

#[test]
fn reed_solomon_stands_every_loss_of_three() {
    reed_solomon(3);
}

#[test]
fn reed_solomon_stands_every_loss_of_four() {
    reed_solomon(4);
}

#[test]
fn a_large_set_is_rebuilt_too() {
    let site = Site::new("RS", 2, 120);
    let before = site.snapshot();
    for rank in [3, 117] {
        site.lose(rank, Loss::All);
    }
    site.expect_back(&before, "RS+2 over 120");
}

#[test]
fn single_notices_what_it_cannot_mend() {
    let site = Site::new("SINGLE", 0, 3);
    assert_eq!(site.rebuild().unwrap(), (Losses::default(), Vec::new()));
    site.lose(1, Loss::Data);
    site.lose(2, Loss::Data);
    let error = site.rebuild().map(drop);
    // Rank 1 has no files.
    let files = std::fs::read_dir(site.root()).unwrap().count();
    assert!(error.is_err() && files == 2, "{error:?}");
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("SINGLE keeps no redundancy")
    );
}

#[test]
fn a_set_beyond_repair_leaves_the_others_as_they_are() {
    let sets = vec![vec![0, 2, 5], vec![1, 3, 4]];
    let site = Site::of_sets("XOR", 1, sets, 6, 1);
    let before = site.snapshot();
    for rank in [0, 3] {
        site.lose(rank, Loss::All);
    }
    site.expect_back(&before, "one of each set");
    for rank in [0, 3, 4] {
        site.lose(rank, Loss::All);
    }
    let after = site.snapshot();
    let error = site.rebuild().unwrap_err().to_string();
    assert!(
        error.contains("ranks 3 and 4") && error.contains("set 1, 3, 4"),
        "{error}"
    );
    assert!(site.snapshot() == after, "{error}");
}

#[test]
fn all_records_gone_are_known_from_the_redundancy_files() {
    for scheme in ["XOR", "PARTNER", "RS"] {
        let site = Site::new(scheme, 1, 5);
        let before = site.snapshot();
        (0..5).for_each(|rank| site.lose(rank, Loss::Record));
        let (losses, _) = site.rebuild().unwrap();
        assert_eq!(losses, Losses::default(), "nothing else is lost");
        assert!(site.snapshot() == before);
    }
}

/// Changes a file's bytes, and keeps its size, mode and times where these fit.
fn damage(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let stat = Posix.stat(path).unwrap().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
    Posix.restore(path, &stat).unwrap();
}

/// The largest file of a rank.
fn largest(site: &Site, rank: usize) -> PathBuf {
    let map: Filemap = format::read(&Posix, &site.filemap(rank)).unwrap();
    let file = map.files.files.into_iter().max_by_key(|f| f.size).unwrap();
    site.data(rank).join(file.file.as_path())
}

#[test]
fn what_is_damaged_swapped_or_foreign_is_named_and_never_used() {
    for (scheme, failures) in [("XOR", 1), ("PARTNER", 2), ("RS", 2)] {
        let site = Site::new(scheme, failures, 5);
        let other_dataset = Site::of_sets(scheme, failures, vec![(0..5).collect()], 7, 1);
        let other_run = Site::of_sets(scheme, failures, vec![(0..5).collect()], 6, 2);
        let before = site.snapshot();
        let kinds: [(&str, PathOf); 3] = [
            ("data", &largest),
            ("redundancy", &|site, rank| site.redundancy(rank)),
            ("record", &|site, rank| site.filemap(rank)),
        ];
        // Rank 3 has the largest files.
        let rank = 3;
        for (what, path_of) in kinds {
            let path = path_of(&site, rank);
            let size = std::fs::metadata(&path).unwrap().len() as usize;
            let story = |how: &str| format!("{scheme}, {what} of rank {rank}: {how}");
            let expect = |how: &str| {
                let (_, said) = site
                    .rebuild()
                    .unwrap_or_else(|e| panic!("{}: {e}", story(how)));
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                assert!(
                    said.iter().any(|line| line.contains(&name)),
                    "{}: {said:?}",
                    story(how)
                );
                assert!(site.snapshot() == before, "{}: {said:?}", story(how));
            };
            for at in [0, 1, size / 2, size - 1] {
                damage(&path, |bytes| bytes[at] ^= 0x20);
                expect(&format!("bit flipped in byte {at}"));
            }
            for length in [0, 1, size / 2, size - 1] {
                damage(&path, |bytes| bytes.truncate(length));
                expect(&format!("cut to {length} bytes"));
            }
            damage(&path, |bytes| bytes.push(0));
            if what != "record" {
                expect("longer by a byte");
            } else {
                // What follows the tree of a record is nobody's.
                site.rebuild().unwrap();
                damage(&path, |bytes| bytes.truncate(size));
            }
            damage(&path, |bytes| {
                *bytes = std::fs::read(path_of(&site, 2)).unwrap()
            });
            expect("that of another rank");
            for other in [&other_dataset, &other_run] {
                damage(&path, |bytes| {
                    *bytes = std::fs::read(path_of(other, rank)).unwrap()
                });
                expect("that of another dataset or run");
            }
        }
    }
}

#[test]
fn records_that_say_absurd_things_are_passed_over() {
    let site = Site::new("RS", 2, 5);
    let before = site.snapshot();
    let good: Filemap = format::read(&Posix, &site.filemap(3)).unwrap();
    let outside = site.dir.path().join("outside");
    let changes: [(&str, Change); 7] = [
        ("ranks", &|map| map.ranks = usize::MAX),
        ("few ranks", &|map| map.ranks = 3),
        ("members", &|map| map.reddesc.members = vec![3; 5]),
        ("place", &|map| map.reddesc.set_rank = 77),
        ("name", &|map| {
            map.files.files[0].file = "../../outside".into()
        }),
        ("absolute", &|map| {
            map.files.files[0].file = outside.as_path().into()
        }),
        ("size", &|map| map.files.files[0].size = u64::MAX / 2 + 2),
    ];
    for (story, change) in changes {
        let mut bad = good.clone();
        change(&mut bad);
        format::write(&Posix, &site.filemap(3), &bad, Durability::Atomic).unwrap();
        site.rebuild().unwrap_or_else(|e| panic!("{story}: {e}"));
        assert!(!outside.exists());
        let map: Filemap = format::read(&Posix, &site.filemap(3)).unwrap();
        assert_eq!(map, good, "{story}");
        assert!(site.snapshot() == before, "{story}");
    }
}

#[test]
fn a_rebuild_that_dies_anywhere_is_done_by_the_next() {
    let site = Site::new("RS", 2, 5);
    let before = site.snapshot();
    let lose = || {
        site.lose(3, Loss::All);
        site.lose(1, Loss::Redundancy);
    };
    lose();
    let counting = Faulty::new(Posix);
    site.rebuild_on(&counting).unwrap();
    let operations = counting.faults().operations();
    assert!(operations > 10);
    for at in sampled(1..=operations) {
        lose();
        let dying = Faulty::new(Posix);
        dying.faults().die_at(at);
        assert!(site.rebuild_on(&dying).is_err(), "operation {at}");
        site.rebuild()
            .unwrap_or_else(|e| panic!("operation {at}: {e}"));
        let after: Snapshot = site.snapshot();
        let lasting = after.into_iter().filter(|(path, _)| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // A killed process may leave its temporary file.
            !name.contains(".tmp.")
        });
        assert!(lasting.collect::<Snapshot>() == before, "operation {at}");
        for entry in std::fs::read_dir(site.meta()).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().contains(".tmp.") {
                std::fs::remove_file(path).unwrap();
            }
        }
    }
}
