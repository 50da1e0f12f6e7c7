//! PARTNER and RS on thread ranks and real files: layouts compared with simple oracles, every
//! subset of losses that is tolerated, and some that are not.

use super::kernel::field::{inverse, mul, power};
use super::testing::{Cluster, Snapshot, flip};
use super::{LocalPart, RankRecord, RebuildOutcome, RedundancyScheme, Verification};
use crate::counting::CountingComm;
use crate::faulty::Faulty;
use crate::format::Scheme;
use crate::format::parity::ParityHeader;
use crate::format::read_header;
use crate::store::Files;
use crate::store::posix::Posix;
use crate::threads;
use crate::{Error, Result};
use std::path::PathBuf;

fn scheme(kind: Scheme, failures: usize) -> RedundancyScheme {
    RedundancyScheme::new(kind, failures)
}

/// Members with no, one or several files of different sizes.
fn cluster(members: usize, piece: usize) -> Cluster {
    const SIZES: [usize; 6] = [0, 700, 1, 333, 90, 1024];
    let files = |rank: usize| (0..(rank * 5 + members) % 4).map(move |f| SIZES[(rank + f) % 6]);
    Cluster::new((0..members).map(|r| files(r).collect()).collect(), piece)
}

fn parity_path(cluster: &Cluster, scheme: &RedundancyScheme, rank: usize) -> PathBuf {
    let extension = scheme.scheme().lower();
    let name = format!("{}_of_{}_in_0.{extension}", rank + 1, cluster.size());
    cluster.meta(rank).join(name)
}

/// The redundancy that each rank should have, from the layout of SCR v3.1.0.
fn oracle(cluster: &Cluster, scheme: &RedundancyScheme) -> Vec<Vec<u8>> {
    let (n, k) = (cluster.size(), scheme.failures);
    let logical: Vec<Vec<u8>> = (0..n).map(|rank| cluster.logical(rank)).collect();
    if scheme.scheme() == Scheme::Partner {
        let lefts =
            |rank: usize| (1..=k).flat_map(move |i| (rank + n - i) % n..=(rank + n - i) % n);
        return (0..n)
            .map(|rank| lefts(rank).flat_map(|left| logical[left].clone()).collect())
            .collect();
    }
    let chunk = logical
        .iter()
        .map(Vec::len)
        .max()
        .unwrap()
        .div_ceil(n - k)
        .max(1);
    let matrix = reduced(n, k);
    let block = |member: usize, i: usize| -> Vec<u8> {
        let id = (member + i) % n;
        let mut sum = vec![0; chunk];
        for s in 0..n {
            let encodes = |id: usize| (0..k).any(|j| (s + j) % n == id);
            if encodes(id) {
                continue;
            }
            let piece = (0..id).filter(|id| !encodes(*id)).count();
            for (at, byte) in sum.iter_mut().enumerate() {
                let data = logical[s].get(piece * chunk + at).copied().unwrap_or(0);
                *byte ^= mul(matrix[n + i][s], data);
            }
        }
        sum
    };
    (0..n)
        .map(|member| (0..k).flat_map(|i| block(member, i)).collect())
        .collect()
}

/// A matrix of powers, transformed by column operations so that its first rows are the identity.
fn reduced(n: usize, k: usize) -> Vec<Vec<u8>> {
    let row = |r: usize| (0..n).map(|c| power(r as u8, c)).collect();
    let mut m: Vec<Vec<u8>> = (0..n + k).map(row).collect();
    for i in 0..n {
        let pivot = (i..n).find(|c| m[i][*c] != 0).unwrap();
        m.iter_mut().for_each(|row| row.swap(i, pivot));
        let scale = inverse(m[i][i]);
        m.iter_mut().for_each(|row| row[i] = mul(row[i], scale));
        for c in (0..n).filter(|c| *c != i) {
            let factor = m[i][c];
            m.iter_mut().for_each(|row| row[c] ^= mul(row[i], factor));
        }
    }
    m
}

#[test]
fn redundancy_is_that_of_the_definition() {
    assert_eq!(reduced(4, 2)[4..], [[27, 28, 18, 20], [28, 27, 20, 18]]);
    for (members, piece) in [(2, 64), (3, 1 << 20), (4, 100), (5, 7), (7, 64), (12, 50)] {
        for (kind, k) in [
            (Scheme::Partner, 1),
            (Scheme::Partner, 2),
            (Scheme::Partner, 3),
            (Scheme::Rs, 1),
            (Scheme::Rs, 2),
            (Scheme::Rs, 3),
            (Scheme::Rs, 4),
        ] {
            if k >= members {
                continue;
            }
            let (scheme, cluster) = (scheme(kind, k), cluster(members, piece));
            let records = cluster.encode(&scheme);
            let expected = oracle(&cluster, &scheme);
            for rank in 0..members {
                let path = parity_path(&cluster, &scheme, rank);
                let (header, start): (ParityHeader, u64) =
                    read_header(Posix.open(&path).unwrap().as_ref(), &path).unwrap();
                let bytes = std::fs::read(&path).unwrap();
                let what = format!("{} {k}, rank {rank} of {members}", scheme.word());
                assert!(bytes[start as usize..] == expected[rank], "{what}");
                assert_eq!(header.crc, Some(crc32fast::hash(&expected[rank])), "{what}");
                assert_eq!(header.current, records[rank].files, "{what}");
                let lefts: Vec<_> = (1..=k)
                    .map(|i| &records[(rank + members - i) % members].files)
                    .collect();
                assert_eq!(header.partners().collect::<Vec<_>>(), lefts, "{what}");
            }
            let checked = cluster.check(&scheme, &records);
            assert!(checked.iter().all(|h| h.data.is_ok() && h.parity.is_ok()));
        }
    }
}

/// The loss of a member.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Loss {
    Rank,
    Data,
    Parity,
}

/// An encoded set, to be damaged and rebuilt.
struct Bench {
    cluster: Cluster,
    scheme: RedundancyScheme,
    records: Vec<RankRecord>,
    before: Vec<Snapshot>,
}

impl Bench {
    fn new(cluster: Cluster, scheme: RedundancyScheme) -> Bench {
        let records = cluster.encode(&scheme);
        let before = (0..cluster.size()).map(|r| cluster.snapshot(r)).collect();
        Bench {
            cluster,
            scheme,
            records,
            before,
        }
    }

    fn snapshots(&self) -> Vec<Snapshot> {
        (0..self.cluster.size())
            .map(|r| self.cluster.snapshot(r))
            .collect()
    }

    fn damage(&self, losses: &[(usize, Loss)]) -> Vec<usize> {
        let mut amnesiac = Vec::new();
        for (rank, loss) in losses {
            match loss {
                Loss::Rank => {
                    self.cluster.lose(*rank);
                    amnesiac.push(*rank);
                }
                Loss::Data => {
                    for file in 0..self.records[*rank].files.files.len() {
                        std::fs::remove_file(self.cluster.file(*rank, file)).unwrap();
                    }
                }
                Loss::Parity => {
                    let path = parity_path(&self.cluster, &self.scheme, *rank);
                    std::fs::remove_file(path).unwrap();
                }
            }
        }
        amnesiac
    }

    fn survives(&self, losses: &[(usize, Loss)]) {
        let amnesiac = self.damage(losses);
        let what = format!(
            "{} {}: {losses:?}",
            self.scheme.word(),
            self.scheme.failures
        );
        let results = self.cluster.rebuild(&self.scheme, &self.records, &amnesiac);
        for (rank, result) in results.into_iter().enumerate() {
            let (record, outcome) = result.unwrap_or_else(|e| panic!("{what}: rank {rank}: {e}"));
            assert_eq!(record, self.records[rank], "{what}: rank {rank}");
            assert_ne!(outcome, RebuildOutcome::Intact, "{what}");
        }
        assert!(self.snapshots() == self.before, "{what}");
    }

    /// The rebuild fails and changes no file. Afterwards the lost files are put back.
    fn does_not_survive(&self, losses: &[(usize, Loss)]) {
        let amnesiac = self.damage(losses);
        let what = format!(
            "{} {}: {losses:?}",
            self.scheme.word(),
            self.scheme.failures
        );
        let left = self.snapshots();
        for result in self.cluster.rebuild(&self.scheme, &self.records, &amnesiac) {
            let error = result.expect_err(&what);
            // If everybody lost everything, not even the dataset id is known.
            assert!(
                matches!(error, Error::Dataset { id: 6 | 0, .. }),
                "{error:?}"
            );
            assert!(error.to_string().contains("lost or damaged"), "{error}");
        }
        assert!(self.snapshots() == left, "{what}");
        for (rank, files) in self.before.iter().enumerate() {
            for (path, (bytes, mode, mtime)) in files {
                if left[rank].contains_key(path) {
                    continue;
                }
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, bytes).unwrap();
                let stat = Posix.stat(path).unwrap().unwrap();
                let time = if *mtime == (0, 0) { stat.mtime } else { *mtime };
                let stat = crate::store::Stat {
                    mode: *mode,
                    mtime: time,
                    ..stat
                };
                Posix.restore(path, &stat).unwrap();
            }
        }
    }
}

/// Subsets of `0..n` with `size` elements.
fn subsets(n: usize, size: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1u32 << n)
        .filter(move |bits| bits.count_ones() as usize == size)
        .map(move |bits| (0..n).filter(|i| bits >> i & 1 == 1).collect())
}

/// Each member of the subset loses something, which varies with `salt`.
fn losses(subset: &[usize], salt: usize) -> Vec<(usize, Loss)> {
    const KINDS: [Loss; 3] = [Loss::Rank, Loss::Data, Loss::Parity];
    let pick = |(i, rank): (usize, &usize)| (*rank, KINDS[(salt / 3usize.pow(i as u32)) % 3]);
    subset.iter().enumerate().map(pick).collect()
}

/// Every subset of lost members up to the tolerance, with total losses and with mixed ones. Then
/// one more loss, which is too many.
fn every_subset(kind: Scheme, members: usize, k: usize) {
    every_nth_subset(kind, members, k, 1);
}

/// Every `step`-th of these subsets.
fn every_nth_subset(kind: Scheme, members: usize, k: usize, step: usize) {
    let bench = Bench::new(cluster(members, 96), scheme(kind, k));
    let mut salt = members;
    for size in 1..=k {
        for subset in subsets(members, size).step_by(step) {
            let whole: Vec<_> = subset.iter().map(|r| (*r, Loss::Rank)).collect();
            bench.survives(&whole);
            salt += 1;
            let mixed = losses(&subset, salt);
            // A rank without files loses nothing.
            if mixed
                .iter()
                .any(|(r, l)| *l != Loss::Data || !bench.records[*r].files.files.is_empty())
            {
                bench.survives(&mixed);
            }
        }
    }
    for (i, subset) in subsets(members, k + 1).step_by(step).enumerate() {
        let whole: Vec<_> = subset.iter().map(|r| (*r, Loss::Rank)).collect();
        let lost: Vec<bool> = (0..members).map(|r| subset.contains(&r)).collect();
        if !bench.scheme.recoverable(&lost) {
            if i % 7 == 0 {
                bench.does_not_survive(&whole);
            }
        } else {
            bench.survives(&whole);
        }
    }
}

#[test]
fn rs_tolerates_every_subset_in_sets_up_to_six() {
    for members in 3..=6 {
        for k in 1..members.min(5) {
            every_subset(Scheme::Rs, members, k);
        }
    }
}

#[test]
fn rs_tolerates_subsets_in_sets_up_to_twelve() {
    for (members, most) in [(7, 4), (8, 3), (9, 2), (10, 2), (11, 2), (12, 2)] {
        for k in 1..=most {
            every_nth_subset(Scheme::Rs, members, k, one_of(5));
        }
    }
}

#[test]
fn rs_tolerates_subsets_in_the_largest_sets() {
    for members in 8..=12 {
        for k in 3..=4 {
            every_nth_subset(Scheme::Rs, members, k, one_of(29));
        }
    }
}

/// All subsets of sets larger than six take minutes, so only a sample is tested unless `SCR_TEST_ALL` is set.
fn one_of(number: usize) -> usize {
    match std::env::var_os("SCR_TEST_ALL") {
        Some(_) => 1,
        None => number,
    }
}

#[test]
fn partner_tolerates_every_subset() {
    for members in 2..=7 {
        for k in 1..members.min(4) {
            every_subset(Scheme::Partner, members, k);
        }
    }
}

#[test]
fn lost_redundancy_of_all_members_is_rebuilt() {
    for (kind, k) in [(Scheme::Partner, 2), (Scheme::Rs, 2), (Scheme::Rs, 4)] {
        let bench = Bench::new(cluster(6, 64), scheme(kind, k));
        let all: Vec<_> = (0..6).map(|rank| (rank, Loss::Parity)).collect();
        bench.survives(&all);
    }
}

#[test]
fn a_small_set_tolerates_as_many_losses_as_it_can() {
    for kind in [Scheme::Partner, Scheme::Rs] {
        let bench = Bench::new(cluster(3, 64), scheme(kind, 4));
        assert_eq!(bench.scheme.losses(3), 2);
        bench.survives(&[(0, Loss::Rank), (2, Loss::Rank)]);
        let alone = Bench::new(cluster(1, 64), scheme(kind, 4));
        assert_eq!(alone.scheme.losses(1), 0);
    }
}

#[test]
fn redundancy_of_other_members_or_other_codes_does_not_count() {
    let bench = Bench::new(cluster(4, 64), scheme(Scheme::Rs, 2));
    let path = |rank| parity_path(&bench.cluster, &bench.scheme, rank);
    let own = std::fs::read(path(1)).unwrap();
    std::fs::write(path(1), std::fs::read(path(2)).unwrap()).unwrap();
    let checked = bench.cluster.check(&bench.scheme, &bench.records);
    let text = checked[1].parity.clone().unwrap_err().to_string();
    assert!(text.contains("its rank is 2, expected 1"), "{text}");
    std::fs::write(path(1), &own).unwrap();
    // A redundancy file of a code with more blocks.
    let more = scheme(Scheme::Rs, 3);
    let checked = bench.cluster.check(&more, &bench.records);
    let text = checked[0].parity.clone().unwrap_err().to_string();
    assert!(
        text.contains("its left neighbour is 3, 2, expected 3, 2, 1"),
        "{text}"
    );
}

/// The damage is not visible before: sizes are right. The damage is found while the survivor helps
/// to rebuild another member, or afterwards if the rebuild did not read it.
#[test]
fn damaged_content_of_a_survivor_counts_as_another_loss() {
    for kind in [Scheme::Rs, Scheme::Partner, Scheme::Xor] {
        for (survivor, of_data) in (0..5)
            .filter(|r| *r != 1)
            .flat_map(|r| [(r, true), (r, false)])
        {
            let bench = Bench::new(cluster(5, 100), scheme(kind, 2));
            let files = &bench.records[survivor].files.files;
            let full = files.iter().position(|f| f.size > 0);
            let victim = match (of_data, full) {
                (true, Some(full)) => bench.cluster.file(survivor, full),
                (true, None) => continue,
                (false, _) => parity_path(&bench.cluster, &bench.scheme, survivor),
            };
            let bits = std::fs::metadata(&victim).unwrap().len() as usize;
            flip(&victim, bits - 1);
            bench.cluster.lose(1);
            let what = format!("{} {survivor} {of_data}", bench.scheme.word());
            let results = bench.cluster.rebuild(&bench.scheme, &bench.records, &[1]);
            if kind == Scheme::Xor {
                let told = |e: Error| e.to_string().contains(&format!("ranks 1 and {survivor}"));
                let named = |r: &Result<_>| {
                    let text = r.as_ref().map_or_else(Error::to_string, |_| String::new());
                    text.contains(&victim.display().to_string())
                };
                assert!(named(&results[survivor]), "{what}: {results:?}");
                if of_data && survivor > 1 {
                    assert!(results.into_iter().all(|r| r.is_err_and(told)), "{what}");
                }
                continue;
            }
            for (rank, result) in results.into_iter().enumerate() {
                let (record, _) = result.unwrap_or_else(|e| panic!("{what}: rank {rank}: {e}"));
                assert_eq!(record, bench.records[rank], "{what}");
            }
            assert!(bench.snapshots() == bench.before, "{what}");
        }
    }
}

/// Damage of one rank is visible at once, damage of another only when it is read. This is too much
/// for XOR, and all files stay as they were.
#[test]
fn damaged_files_are_not_overwritten_if_the_rebuild_fails() {
    let bench = Bench::new(cluster(4, 100), scheme(Scheme::Xor, 1));
    let full = |rank: usize| {
        let mut files = bench.records[rank].files.files.iter();
        bench
            .cluster
            .file(rank, files.position(|f| f.size > 1).unwrap())
    };
    let cut = std::fs::OpenOptions::new()
        .write(true)
        .open(full(1))
        .unwrap();
    cut.set_len(1).unwrap();
    flip(&full(2), 0);
    let before = bench.snapshots();
    for result in bench.cluster.rebuild(&bench.scheme, &bench.records, &[]) {
        let text = result.unwrap_err().to_string();
        assert!(text.contains("ranks 1 and 2 are lost or damaged"), "{text}");
    }
    assert!(bench.snapshots() == before);
}

/// As many bytes as the module documents, the same on every member.
#[test]
fn an_encode_moves_each_byte_once_and_what_the_others_need() {
    for (kind, members, k) in [
        (Scheme::Rs, 4, 2),
        (Scheme::Rs, 7, 3),
        (Scheme::Partner, 4, 1),
        (Scheme::Partner, 5, 2),
    ] {
        let bytes = 30_000;
        let cluster = Cluster::new(vec![vec![bytes]; members], 1000);
        let counts = threads::run(members, |comm| {
            let comm = CountingComm::new(comm);
            let tally = comm.tally();
            cluster.with(&Posix, &comm, |context, rank| {
                scheme(kind, k)
                    .encode_right(context, &mut cluster.record(rank))
                    .unwrap();
            });
            tally.counts()
        });
        let data = if kind == Scheme::Partner {
            bytes * k
        } else {
            bytes.div_ceil(members - k) * (members - 1)
        };
        for count in counts {
            assert_eq!(count.rounds, 0, "members of other sets are not waited for");
            let rest = count.bytes as usize - data;
            assert!(
                rest < 48 * members + 700 * k,
                "{rest} bytes beside the data"
            );
        }
    }
}

/// Each operation on the file system fails once, on whichever rank does it.
#[test]
fn a_failing_disk_hangs_nobody() {
    for kind in [Scheme::Rs, Scheme::Partner] {
        let bench = Bench::new(cluster(4, 200), scheme(kind, 2));
        let attempt = |files: &dyn Files, encode: bool| -> Vec<Result<RankRecord>> {
            bench.cluster.run(files, |context, rank| {
                let mut record = bench.records[rank].clone();
                if encode {
                    return bench
                        .scheme
                        .encode_right(context, &mut record)
                        .map(|()| record);
                }
                let found =
                    || LocalPart::new(&bench.scheme, context, record, Verification::SizesOnly);
                let mut mine = (rank != 1).then(found);
                let rebuilt = bench.scheme.rebuild(context, &mut mine, &mut []);
                rebuilt.map(|(record, _)| record)
            })
        };
        for encode in [true, false] {
            let prepare = || {
                if !encode {
                    bench.cluster.lose(1)
                }
            };
            prepare();
            let faulty = Faulty::new(Posix);
            assert!(attempt(&faulty, encode).iter().all(Result::is_ok));
            let operations = faulty.faults().operations();
            assert!(operations > 10, "{operations}");
            for n in 1..=operations {
                prepare();
                let faulty = Faulty::new(Posix);
                faulty.faults().fail_at(n, libc::EIO);
                let results = attempt(&faulty, encode);
                let failed = results.iter().any(Result::is_err);
                if !failed && faulty.faults().optional_failed() {
                    // The files are there, without their attributes.
                    continue;
                }
                assert!(failed, "operation {n}");
                let again = bench.cluster.rebuild(&bench.scheme, &bench.records, &[]);
                assert!(again.iter().all(Result::is_ok), "operation {n}: {again:?}");
                assert!(bench.snapshots() == bench.before, "operation {n}");
            }
        }
    }
}
