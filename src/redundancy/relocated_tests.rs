//! Tests of rebuilds that move parts between nodes, on thread ranks and real files.

use super::testing::{Cluster, flip};
use super::{
    Context, HeldPart, LocalPart, RankRecord, RebuildOutcome, RedundancyScheme, Set, Verification,
    move_parts,
};
use crate::counting::CountingComm;
use crate::faulty::Faulty;
use crate::format::Scheme;
use crate::store::Files;
use crate::store::posix::Posix;
use crate::threads;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files below a directory: content, mode, and for application files the time.
type FileTree = BTreeMap<PathBuf, (Vec<u8>, u32, Option<(i64, u32)>)>;

fn tree(root: &Path) -> FileTree {
    let mut found = FileTree::new();
    let mut queue = vec![root.to_path_buf()];
    while let Some(dir) = queue.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                queue.push(path);
                continue;
            }
            let stat = Posix.stat(&path).unwrap().unwrap();
            let below = path.strip_prefix(root).unwrap().to_path_buf();
            let time = below.starts_with("data").then_some(stat.mtime);
            found.insert(below, (std::fs::read(&path).unwrap(), stat.mode, time));
        }
    }
    found
}

/// An encoded dataset on the nodes on which it was written.
struct Site {
    scheme: RedundancyScheme,
    cluster: Cluster,
    records: Vec<RankRecord>,
    /// Files of each node after encoding.
    before: Vec<FileTree>,
    /// Directories of the nodes that ranks have moved to.
    new: tempfile::TempDir,
}

/// Result of a rank, problems with the part that it holds, and bytes that it sent.
type RankResult = (
    Result<(RankRecord, RebuildOutcome)>,
    Option<LocalPart>,
    Vec<Error>,
    u64,
);

impl Site {
    fn new(kind: Scheme, failures: usize, members: usize) -> Self {
        let files = |rank: usize| match (rank + members) % 4 {
            0 => vec![],
            1 => vec![700, 0, 1],
            2 => vec![333],
            _ => vec![90, 1024],
        };
        Site::of(kind, failures, (0..members).map(files).collect(), 100)
    }

    fn of(kind: Scheme, failures: usize, files: Vec<Vec<usize>>, piece: usize) -> Self {
        let members = files.len();
        let cluster = Cluster::new(files, piece);
        let scheme = RedundancyScheme::new(kind, failures);
        let records = cluster.encode(&scheme);
        let mut site = Site {
            scheme,
            cluster,
            records,
            before: Vec::new(),
            new: tempfile::tempdir().unwrap(),
        };
        site.before = (0..members).map(|rank| tree(&site.old(rank))).collect();
        site
    }

    fn old(&self, rank: usize) -> PathBuf {
        self.cluster.data(rank).parent().unwrap().to_path_buf()
    }

    fn new_dir(&self, rank: usize) -> PathBuf {
        self.new.path().join(format!("r{rank}"))
    }

    /// The holders, if each rank runs where the rank `shift` further on was.
    fn shifted(&self, shift: usize, lost: &[usize]) -> Vec<usize> {
        let members = self.cluster.size();
        let holder = |member: usize| {
            if lost.contains(&member) {
                member
            } else {
                (member + members - shift) % members
            }
        };
        (0..members).map(holder).collect()
    }

    fn make_new_dirs(&self) {
        for rank in 0..self.cluster.size() {
            let _ = std::fs::remove_dir_all(self.new_dir(rank));
            for dir in ["data", "meta"] {
                std::fs::create_dir_all(self.new_dir(rank).join(dir)).unwrap();
            }
        }
    }

    /// The part of `rank`, on the node where it was written.
    fn held(&self, context: &Context, rank: usize) -> HeldPart {
        let (record, root) = (self.records[rank].clone(), self.old(rank));
        HeldPart::new(context, record, root.join("data"), root.join("meta")).unwrap()
    }

    /// Moves parts without a rebuild. `spoil` as in [`Site::bring`].
    fn send(
        &self,
        files: &dyn Files,
        holders: &[usize],
        piece: usize,
        spoil: impl Fn(usize) -> bool + Sync,
    ) -> Vec<(Result<Option<LocalPart>>, Vec<Error>)> {
        let size = self.cluster.size();
        self.make_new_dirs();
        threads::run(size, |comm| {
            let rank = comm.rank();
            let context = Context {
                comm: &*comm,
                files,
                set: &Set::new(rank, (0..size).collect::<Vec<_>>()).unwrap(),
                data_dir: &self.new_dir(rank).join("data"),
                common: false,
                meta_dir: &self.new_dir(rank).join("meta"),
                piece,
                tag: 5,
                holders,
                sync: true,
                watch: &(),
            };
            let held = (0..size).filter(|m| *m != rank && holders[*m] == rank);
            let held = held.map(|member| (member, self.held(&context, member)));
            let held = held.filter(|(member, _)| !spoil(*member));
            let mut held: Vec<HeldPart> = held.map(|(_, part)| part).collect();
            let part = move_parts(&context, &mut held, Ok(())).unwrap().result();
            let problems = |held: HeldPart| held.part.health.errors().chain(held.problems);
            (part, held.into_iter().flat_map(problems).collect())
        })
    }

    /// Rebuilds and moves all parts. `spoil` may damage a part after its holder examined it, and
    /// returns whether the holder has no record of it.
    fn bring(
        &self,
        files: &dyn Files,
        holders: &[usize],
        lost: &[usize],
        spoil: impl Fn(usize) -> bool + Sync,
    ) -> Vec<RankResult> {
        let size = self.cluster.size();
        self.make_new_dirs();
        threads::run(size, |comm| {
            let (rank, comm) = (comm.rank(), CountingComm::new(comm));
            let set = |index| Set::new(index, (0..size).collect::<Vec<_>>()).unwrap();
            let stays = holders[rank] == rank && !lost.contains(&rank);
            let root = if stays {
                self.old(rank)
            } else {
                self.new_dir(rank)
            };
            let context = Context {
                comm: &comm,
                files,
                set: &set(rank),
                data_dir: &root.join("data"),
                common: false,
                meta_dir: &root.join("meta"),
                piece: self.cluster.piece,
                tag: 5,
                holders,
                sync: true,
                watch: &(),
            };
            let mut mine = stays.then(|| {
                let record = self.records[rank].clone();
                LocalPart::new(&self.scheme, &context, record, Verification::SizesOnly)
            });
            let member = (0..size).find(|m| *m != rank && holders[*m] == rank);
            let member = member.unwrap_or(rank);
            let mut held_part = (member != rank).then(|| self.held(&context, member));
            if held_part.is_some() && spoil(member) {
                held_part = None;
            }
            let held = held_part.as_mut_slice();
            let result = self.scheme.rebuild(&context, &mut mine, held);
            let problems = held_part.map_or(Vec::new(), |held_part| {
                let health = [held_part.part.health.data, held_part.part.health.parity];
                let known = health.into_iter().filter_map(Result::err);
                known.chain(held_part.problems).collect()
            });
            (result, mine, problems, comm.tally().counts().bytes)
        })
    }

    /// All ranks have their files at their new node, and holders still have their copies.
    fn all_home(&self, holders: &[usize], lost: &[usize], story: &str) {
        for (rank, before) in self.before.iter().enumerate() {
            let stays = holders[rank] == rank && !lost.contains(&rank);
            let root = if stays {
                self.old(rank)
            } else {
                self.new_dir(rank)
            };
            assert!(tree(&root) == *before, "{story}: rank {rank}");
        }
    }

    /// Restores the files of a node.
    fn restore(&self, rank: usize) {
        for (below, (bytes, mode, time)) in &self.before[rank] {
            let path = self.old(rank).join(below);
            let _ = std::fs::remove_file(&path);
            std::fs::write(&path, bytes).unwrap();
            let mut stat = Posix.stat(&path).unwrap().unwrap();
            stat.mode = *mode;
            stat.mtime = time.unwrap_or(stat.mtime);
            Posix.restore(&path, &stat).unwrap();
        }
    }
}

fn worked(answers: &[RankResult], story: &str) {
    for (rank, (result, ..)) in answers.iter().enumerate() {
        assert!(result.is_ok(), "{story}: rank {rank}: {result:?}");
    }
}

fn schemes() -> Vec<(Scheme, usize, usize)> {
    let mut all = Vec::new();
    for members in 2..=5 {
        all.push((Scheme::Partner, 1, members));
        all.push((Scheme::Xor, 1, members));
        if members > 2 {
            all.push((Scheme::Partner, 2, members));
            all.push((Scheme::Rs, 2, members));
        }
    }
    all
}

#[test]
fn parts_are_moved_for_every_loss_and_every_placement() {
    for (kind, failures, members) in schemes() {
        let site = Site::new(kind, failures, members);
        let scheme = site.scheme.word();
        let sets = (0..1u32 << members).filter(|set| set.count_ones() as usize <= failures);
        for (set, shift) in sets.flat_map(|set| (1..members).map(move |shift| (set, shift))) {
            let lost: Vec<usize> = (0..members).filter(|m| set >> m & 1 == 1).collect();
            let holders = site.shifted(shift, &lost);
            let story = format!("{scheme} {failures} of {members}, {lost:?} lost, by {shift}");
            let answers = site.bring(&Posix, &holders, &lost, |_| false);
            worked(&answers, &story);
            site.all_home(&holders, &lost, &story);
            for (rank, (result, ..)) in answers.iter().enumerate() {
                let (record, outcome) = result.as_ref().unwrap();
                assert_eq!(record, &site.records[rank], "{story}");
                let restored = lost.contains(&rank);
                assert_eq!(*outcome == RebuildOutcome::Restored, restored, "{story}");
            }
        }
        for rank in 0..members {
            assert!(tree(&site.old(rank)) == site.before[rank]);
        }
    }
}

#[test]
fn a_holder_uses_its_blocks_without_a_message() {
    for (kind, members, blocks) in [
        // Data and redundancy of the other rank are sent; lost files are copies of these.
        (Scheme::Partner, 2, 2),
        // In each of the four columns, three blocks are moved. Two more blocks go to the places of two others.
        (Scheme::Xor, 4, 20),
    ] {
        let chunk = 10_000;
        let files = vec![vec![chunk * (members - 1)]; members];
        let site = Site::of(kind, 1, files, 1000);
        let answers = site.bring(&Posix, &site.shifted(1, &[0]), &[0], |_| false);
        let story = site.scheme.word();
        worked(&answers, story);
        site.all_home(&site.shifted(1, &[0]), &[0], story);
        let sent: u64 = answers.iter().map(|(.., bytes)| bytes).sum();
        let rest = sent.checked_sub(chunk as u64 * blocks);
        assert!(
            rest.is_some_and(|rest| rest < chunk as u64),
            "{story}: {sent} bytes"
        );
    }
}

#[test]
fn some_parts_stay_while_others_are_moved() {
    for (kind, failures) in [(Scheme::Partner, 1), (Scheme::Xor, 1), (Scheme::Rs, 2)] {
        let site = Site::new(kind, failures, 5);
        for (holders, lost) in [
            ([1, 0, 2, 3, 4], vec![]),
            ([1, 0, 2, 3, 4], vec![3]),
            ([0, 1, 4, 3, 4], vec![]),
            ([0, 2, 2, 3, 4], vec![2]),
        ] {
            let story = format!("{} {holders:?} {lost:?}", site.scheme.word());
            worked(&site.bring(&Posix, &holders, &lost, |_| false), &story);
            site.all_home(&holders, &lost, &story);
        }
    }
}

/// A flipped bit or a missing file, in held parts and in others.
#[test]
fn damage_found_during_a_move_is_rebuilt_or_reported() {
    for (kind, failures) in [(Scheme::Partner, 1), (Scheme::Xor, 1), (Scheme::Rs, 2)] {
        let site = Site::new(kind, failures, 4);
        for (holders, lost) in [
            (site.shifted(1, &[]), vec![]),
            (site.shifted(1, &[2]), vec![2]),
            (vec![1, 0, 2, 3], vec![]),
        ] {
            for victim in (0..4).filter(|rank| !lost.contains(rank)) {
                for (below, (bytes, ..)) in site.before[victim].clone() {
                    let path = site.old(victim).join(&below);
                    for how in ["flipped", "missing", "short", "gone later", "unknown"] {
                        if bytes.is_empty() {
                            continue;
                        }
                        let story = format!(
                            "{} {holders:?} {lost:?}: {how} {}",
                            site.scheme.word(),
                            path.display()
                        );
                        let last = bytes.len() - 1;
                        match how {
                            "gone later" | "unknown" => {}
                            "flipped" => flip(&path, last),
                            "missing" => std::fs::remove_file(&path).unwrap(),
                            _ => std::fs::write(&path, &bytes[..last]).unwrap(),
                        }
                        let later = |member: usize| {
                            if how == "gone later" && member == victim {
                                std::fs::remove_file(&path).unwrap();
                            }
                            how == "unknown" && member == victim
                        };
                        let answers = site.bring(&Posix, &holders, &lost, later);
                        let is_relocated = holders[victim] != victim;
                        let harmless = matches!(how, "gone later" | "unknown") && !is_relocated;
                        // PARTNER tolerates some losses of two members, depending on their
                        // positions.
                        let too_much = lost.len() + 1 > failures && !harmless;
                        let all = answers.iter().all(|(result, ..)| result.is_ok());
                        if all {
                            assert!(!too_much || kind == Scheme::Partner, "{story}");
                            site.all_home(&holders, &lost, &story);
                        } else {
                            assert!(too_much, "{story}: {:?}", answers);
                            assert!(answers.iter().all(|(r, ..)| r.is_err()), "{story}");
                            let touched = (0..4).filter(|rank| {
                                *rank != victim && tree(&site.old(*rank)) != site.before[*rank]
                            });
                            assert_eq!(touched.collect::<Vec<_>>(), [0; 0], "{story}");
                        }
                        let told = answers[victim].1.as_ref().is_none_or(|found| {
                            found.health.data.is_err() || found.health.parity.is_err()
                        });
                        assert!(told || harmless, "{story}: {:?}", answers[victim].1);
                        let problems = answers
                            .iter()
                            .any(|(_, _, problems, _)| !problems.is_empty());
                        // A flipped bit is found by the receiver, except in a header.
                        let holder_knows = is_relocated && how != "unknown";
                        assert!(problems == holder_knows || how == "flipped", "{story}");
                        site.restore(victim);
                    }
                }
            }
        }
    }
}

/// Each operation on the file system fails once, on whichever rank does it.
#[test]
fn a_failing_disk_during_a_move_blocks_no_rank_and_loses_nothing() {
    for kind in [Scheme::Xor, Scheme::Partner] {
        let site = Site::new(kind, 1, 4);
        let (holders, lost) = (site.shifted(1, &[2]), [2]);
        let faulty = Faulty::new(Posix);
        worked(&site.bring(&faulty, &holders, &lost, |_| false), "at first");
        let operations = faulty.faults().operations();
        assert!(operations > 20, "{operations}");
        for n in 1..=operations {
            let faulty = Faulty::new(Posix);
            faulty.faults().fail_at(n, libc::EIO);
            let answers = site.bring(&faulty, &holders, &lost, |_| false);
            let failed = answers.iter().any(|(result, ..)| result.is_err());
            assert!(
                failed || faulty.faults().optional_failed(),
                "operation {n} of {operations}, {} were done",
                faulty.faults().operations()
            );
            for rank in (0..4).filter(|rank| !lost.contains(rank)) {
                assert!(tree(&site.old(rank)) == site.before[rank], "operation {n}");
            }
        }
        worked(
            &site.bring(&Posix, &holders, &lost, |_| false),
            "in the end",
        );
        site.all_home(&holders, &lost, "in the end");
    }
}

/// The holders of the parts of four ranks: one rank each, in circles of several lengths, or one rank
/// several.
const PLACEMENTS: [[usize; 4]; 6] = [
    [3, 0, 1, 2],
    [1, 0, 3, 2],
    [2, 1, 2, 3],
    [0, 0, 0, 0],
    [3, 3, 3, 0],
    [1, 0, 0, 1],
];

#[test]
fn parts_are_moved_without_a_rebuild_whatever_the_placement_and_the_size_of_messages() {
    for (kind, failures) in [
        (Scheme::Single, 1),
        (Scheme::Partner, 2),
        (Scheme::Xor, 1),
        (Scheme::Rs, 2),
    ] {
        let site = Site::new(kind, failures, 4);
        for holders in PLACEMENTS {
            for piece in [1, 63, 1000, 1 << 20] {
                let story = format!("{} {holders:?} {piece}", site.scheme.word());
                let answers = site.send(&Posix, &holders, piece, |_| false);
                for (rank, (part, problems)) in answers.into_iter().enumerate() {
                    assert_eq!(problems, [], "{story}");
                    let part = part.unwrap();
                    assert_eq!(part.is_some(), holders[rank] != rank, "{story}");
                    let Some(part) = part else { continue };
                    assert_eq!(part.record, site.records[rank], "{story}");
                    assert_eq!((part.verified, part.health.errors().count()), (true, 0));
                    assert!(tree(&site.new_dir(rank)) == site.before[rank], "{story}");
                    assert!(tree(&site.old(rank)) == site.before[rank], "{story}");
                }
            }
        }
    }
}

/// A rank with three parts and one with a single part cut their blocks into the same pieces.
#[test]
fn many_pieces_of_parts_of_unequal_sizes_are_moved_side_by_side() {
    let files = [300_000, 70_000, 1_000_000, 1].map(|size| vec![size, 5]);
    let site = Site::of(Scheme::Rs, 2, files.to_vec(), 1 << 20);
    for holders in PLACEMENTS {
        let answers = site.send(&Posix, &holders, 1 << 20, |_| false);
        for (rank, (part, problems)) in answers.into_iter().enumerate() {
            assert_eq!(problems, [], "{holders:?}");
            if part.unwrap().is_some() {
                assert!(
                    tree(&site.new_dir(rank)) == site.before[rank],
                    "{holders:?}"
                );
            }
        }
    }
}

#[test]
fn damage_of_a_part_that_is_moved_without_a_rebuild_is_found_and_changes_no_other_part() {
    let site = Site::new(Scheme::Xor, 1, 4);
    for holders in PLACEMENTS {
        for victim in (0..4).filter(|rank| holders[*rank] != *rank) {
            for (below, (bytes, ..)) in site.before[victim].clone() {
                let path = site.old(victim).join(&below);
                for how in ["flipped", "missing", "short", "gone later", "unknown"] {
                    if bytes.is_empty() {
                        continue;
                    }
                    let story = format!("{holders:?}: {how} {}", path.display());
                    let last = bytes.len() - 1;
                    match how {
                        "gone later" | "unknown" => {}
                        "flipped" => flip(&path, last),
                        "missing" => std::fs::remove_file(&path).unwrap(),
                        _ => std::fs::write(&path, &bytes[..last]).unwrap(),
                    }
                    let later = |member: usize| {
                        if how == "gone later" && member == victim {
                            std::fs::remove_file(&path).unwrap();
                        }
                        how == "unknown" && member == victim
                    };
                    let answers = site.send(&Posix, &holders, 100, later);
                    let problems = answers.iter().any(|(_, problems)| !problems.is_empty());
                    assert_eq!(problems, !matches!(how, "unknown" | "flipped"), "{story}");
                    for (rank, (part, _)) in answers.into_iter().enumerate() {
                        let part = part.unwrap();
                        let whole = part.is_some_and(|part| part.health.errors().count() == 0);
                        let expected = rank != victim && holders[rank] != rank;
                        assert_eq!(whole, expected, "{story}: rank {rank}");
                        let same = tree(&site.new_dir(rank)) == site.before[rank];
                        assert_eq!(same, expected, "{story}: rank {rank}");
                    }
                    site.restore(victim);
                }
            }
        }
    }
}

#[test]
fn a_failing_disk_during_a_move_without_a_rebuild_blocks_no_rank_and_is_reported() {
    let site = Site::new(Scheme::Xor, 1, 4);
    for holders in PLACEMENTS {
        let faulty = Faulty::new(Posix);
        site.send(&faulty, &holders, 100, |_| false);
        for n in 1..=faulty.faults().operations() {
            let faulty = Faulty::new(Posix);
            faulty.faults().fail_at(n, libc::EIO);
            let answers = site.send(&faulty, &holders, 100, |_| false);
            let told = answers.iter().any(|(part, problems)| {
                let lost = |part: &LocalPart| part.health.clone().errors().count() > 0;
                let part = part.as_ref().map(|part| part.as_ref().is_some_and(lost));
                part.unwrap_or(true) || !problems.is_empty()
            });
            let told = told || faulty.faults().optional_failed();
            assert!(told, "{holders:?}: operation {n}");
            for rank in 0..4 {
                assert!(tree(&site.old(rank)) == site.before[rank], "operation {n}");
            }
        }
    }
}
