//! XOR on thread ranks and real files: layout compared with a simple oracle, every single loss, too
//! many losses, failing disks, and numbers of messages.

use super::testing::{Cluster, Snapshot, flip};
use super::{LocalPart, RankRecord, RebuildOutcome, RedundancyScheme, Verification};
use crate::counting::CountingComm;
use crate::faulty::Faulty;
use crate::format::Scheme;
use crate::format::parity::ParityHeader;
use crate::format::{Name, encode, read_header, to_tree};
use crate::store::Files;
use crate::store::posix::Posix;
use crate::threads;
use crate::{Error, Result};

fn xor() -> RedundancyScheme {
    RedundancyScheme::new(Scheme::Xor, 1)
}

/// Clusters of every size, with 0 to 5 files per rank, from empty files to some pieces.
fn shapes() -> impl Iterator<Item = Cluster> {
    const SIZES: [usize; 8] = [0, 1, 3, 1000, 4097, 0, 777, 20_001];
    (2..=9).flat_map(|members| {
        [(0usize, 1usize << 20), (1, 64), (2, 1000), (3, 4096)]
            .into_iter()
            .map(move |(salt, piece)| {
                let files = |rank: usize| (rank * 5 + salt * 7 + members) % 6;
                let sizes = |rank: usize| {
                    (0..files(rank))
                        .map(|f| SIZES[(rank * 3 + f * 5 + salt) % SIZES.len()])
                        .collect()
                };
                // Small pieces go with small files, or there would be too many messages.
                let small = |list: Vec<usize>| -> Vec<usize> {
                    list.into_iter()
                        .map(|n| if piece == 64 { n % 2000 } else { n })
                        .collect()
                };
                Cluster::new((0..members).map(|rank| small(sizes(rank))).collect(), piece)
            })
    })
}

fn big() -> Cluster {
    let mib = 1 << 20;
    Cluster::new(
        vec![vec![2 * mib + 5, 1], vec![], vec![mib, 3 * mib + 1, 0]],
        300_000,
    )
}

fn snapshots(cluster: &Cluster) -> Vec<Snapshot> {
    (0..cluster.size())
        .map(|rank| cluster.snapshot(rank))
        .collect()
}

fn header(cluster: &Cluster, rank: usize) -> (ParityHeader, u64) {
    let path = cluster.xor_file(rank);
    read_header(Posix.open(&path).unwrap().as_ref(), &path).unwrap()
}

/// The definition, byte by byte.
fn naive_parity(cluster: &Cluster) -> Vec<Vec<u8>> {
    let members = cluster.size();
    let logical: Vec<Vec<u8>> = (0..members).map(|rank| cluster.logical(rank)).collect();
    let largest = logical.iter().map(Vec::len).max().unwrap();
    let chunk = largest.div_ceil(members - 1).max(1);
    let byte = |owner: usize, at: usize| {
        (0..members).filter(|s| *s != owner).fold(0, |sum, s| {
            let number = if owner < s { owner } else { owner - 1 };
            sum ^ logical[s].get(number * chunk + at).copied().unwrap_or(0)
        })
    };
    (0..members)
        .map(|owner| (0..chunk).map(|at| byte(owner, at)).collect())
        .collect()
}

#[test]
fn parity_is_that_of_the_definition() {
    for cluster in shapes().chain([big()]) {
        let records = cluster.encode(&xor());
        let expected = naive_parity(&cluster);
        for rank in 0..cluster.size() {
            let (header, start) = header(&cluster, rank);
            let bytes = std::fs::read(cluster.xor_file(rank)).unwrap();
            assert_eq!(bytes[start as usize..], expected[rank]);
            assert_eq!(header.chunk, expected[rank].len() as u64);
            assert_eq!(header.crc, Some(crc32fast::hash(&expected[rank])));
            assert_eq!(header.group.0, (0..cluster.size()).collect::<Vec<_>>());
            let left = (rank + cluster.size() - 1) % cluster.size();
            assert_eq!(header.current, records[rank].files);
            assert_eq!(header.partner, records[left].files);
            for (i, meta) in records[rank].files.files.iter().enumerate() {
                assert_eq!(meta.crc, Some(crc32fast::hash(&cluster.content(rank, i))));
            }
        }
        for health in cluster.check(&xor(), &records) {
            assert_eq!((health.data, health.parity), (Ok(()), Ok(())));
        }
    }
}

/// Damages something, rebuilds, and compares everything on disk with the state before.
fn recovers(
    cluster: &Cluster,
    records: &[RankRecord],
    before: &[Snapshot],
    amnesiac: &[usize],
    what: &str,
    outcome: impl Fn(usize) -> RebuildOutcome,
) {
    for (rank, result) in cluster
        .rebuild(&xor(), records, amnesiac)
        .into_iter()
        .enumerate()
    {
        let (record, found) = result.unwrap_or_else(|e| panic!("{what}: rank {rank}: {e}"));
        assert_eq!(found, outcome(rank), "{what}: rank {rank}");
        assert_eq!(record, records[rank], "{what}: rank {rank}");
    }
    assert!(
        snapshots(cluster) == before,
        "{what}: files differ, {} members",
        cluster.size()
    );
}

#[test]
fn every_single_loss_is_repaired() {
    for cluster in shapes().chain([big()]) {
        let records = cluster.encode(&xor());
        let before = snapshots(&cluster);
        recovers(&cluster, &records, &before, &[], "nothing lost", |_| {
            RebuildOutcome::Intact
        });
        for lost in 0..cluster.size() {
            let restored = |r: usize| {
                if r == lost {
                    RebuildOutcome::Restored
                } else {
                    RebuildOutcome::Helped
                }
            };
            cluster.lose(lost);
            recovers(&cluster, &records, &before, &[lost], "whole rank", restored);

            recovers_file(&cluster, &records, &before, lost);

            std::fs::remove_file(cluster.xor_file(lost)).unwrap();
            recovers(&cluster, &records, &before, &[], "XOR file", |_| {
                RebuildOutcome::Encoded
            });
        }
    }
}

/// Loses or truncates each data file of one rank in turn.
fn recovers_file(cluster: &Cluster, records: &[RankRecord], before: &[Snapshot], lost: usize) {
    let restored = |r: usize| {
        if r == lost {
            RebuildOutcome::Restored
        } else {
            RebuildOutcome::Helped
        }
    };
    for file in 0..records[lost].files.files.len() {
        let path = cluster.file(lost, file);
        std::fs::remove_file(&path).unwrap();
        if file % 2 == 0 {
            std::fs::write(&path, b"something else entirely, of another size").unwrap();
        }
        recovers(cluster, records, before, &[], "data file", restored);
    }
}

#[test]
fn one_flipped_bit_anywhere_is_found_and_repaired() {
    let cluster = Cluster::new(vec![vec![501], vec![0, 300, 40], vec![7, 1]], 128);
    let records = cluster.encode(&xor());
    let before = snapshots(&cluster);
    for rank in 0..cluster.size() {
        for (file, meta) in records[rank]
            .files
            .files
            .iter()
            .enumerate()
            .filter(|f| f.1.size > 0)
        {
            for at in [0, meta.size as usize / 2, meta.size as usize - 1] {
                flip(&cluster.file(rank, file), at);
                let found = cluster.check(&xor(), &records)[rank]
                    .data
                    .clone()
                    .unwrap_err();
                let text = found.to_string();
                assert!(
                    text.contains(&format!("r{rank}/data/d{}/f{file}", file % 2)),
                    "{text}"
                );
                assert!(
                    text.contains(&format!("0x{:08x}", meta.crc.unwrap())),
                    "{text}"
                );
                let restored = |r: usize| {
                    if r == rank {
                        RebuildOutcome::Restored
                    } else {
                        RebuildOutcome::Helped
                    }
                };
                recovers(&cluster, &records, &before, &[], "flipped data", restored);
            }
        }
        let length = std::fs::metadata(cluster.xor_file(rank)).unwrap().len() as usize;
        for at in (0..length).step_by(37).chain([length - 1]) {
            flip(&cluster.xor_file(rank), at);
            let found = cluster.check(&xor(), &records)[rank].parity.clone();
            assert!(found.unwrap_err().to_string().contains(".xor"), "byte {at}");
            recovers(&cluster, &records, &before, &[], "flipped parity", |_| {
                RebuildOutcome::Encoded
            });
        }
    }
}

#[test]
fn too_many_losses_fail_and_change_no_file() {
    for members in 2..=9 {
        let sizes = (0..members).map(|rank| vec![100 * rank, 77]).collect();
        let cluster = Cluster::new(sizes, 64);
        let records = cluster.encode(&xor());
        for a in 0..members {
            let b = (a + 1 + a % (members - 1)) % members;
            let kept: Vec<_> = (0..2)
                .map(|f| std::fs::read(cluster.file(b, f)).unwrap())
                .collect();
            std::fs::remove_file(cluster.file(a, 1)).unwrap();
            // Data of one rank and redundancy of another, then data of both.
            let parity = std::fs::read(cluster.xor_file(b)).unwrap();
            std::fs::remove_file(cluster.xor_file(b)).unwrap();
            fails(
                &cluster,
                &records,
                a,
                &format!("rank {a} and the redundancy of rank {b}"),
            );
            std::fs::write(cluster.xor_file(b), &parity).unwrap();
            std::fs::remove_file(cluster.file(b, 0)).unwrap();
            let (low, high) = (a.min(b), a.max(b));
            fails(&cluster, &records, a, &format!("ranks {low} and {high}"));
            // Put back for the next pair.
            std::fs::write(cluster.file(b, 0), &kept[0]).unwrap();
            std::fs::write(cluster.file(a, 1), cluster.content(a, 1)).unwrap();
        }
    }
}

fn fails(cluster: &Cluster, records: &[RankRecord], amnesiac: usize, words: &str) {
    let before = snapshots(cluster);
    for result in cluster.rebuild(&xor(), records, &[amnesiac]) {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Dataset { id: 6, .. }), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!(snapshots(cluster) == before);
}

#[test]
fn files_of_another_rank_dataset_or_time_do_not_count() {
    let cluster = Cluster::new(vec![vec![50], vec![50], vec![50]], 64);
    let records = cluster.encode(&xor());
    let before = snapshots(&cluster);
    let own = std::fs::read(cluster.xor_file(0)).unwrap();
    let (good, start) = header(&cluster, 0);
    let parity = own[start as usize..].to_vec();
    let forged = |change: &dyn Fn(&mut ParityHeader)| {
        let mut header = good.clone();
        change(&mut header);
        [encode(&to_tree(&header).unwrap()), parity.clone()].concat()
    };
    let bad = [
        (
            std::fs::read(cluster.xor_file(1)).unwrap(),
            "its rank is 1, expected 0",
        ),
        (
            forged(&|h| h.dataset.id = 5),
            "its dataset is 5, expected 6",
        ),
        (forged(&|h| h.dataset.created = 9), "creation time"),
        (
            forged(&|h| h.group.0 = vec![0, 2, 1]),
            "its set is 0, 2, 1, expected 0, 1, 2",
        ),
        (forged(&|h| h.chunk += 1), "its size"),
        (forged(&|h| h.chunk = u64::MAX), "its size"),
        (forged(&|h| h.ranks = 4), "number of ranks is 4"),
        (forged(&|h| h.current.files.clear()), "other files"),
        (forged(&|h| h.partner.rank = 1), "left neighbour"),
        (own[..own.len() - 1].to_vec(), "its size"),
        (own[..own.len() / 2].to_vec(), "bytes"),
        (Vec::new(), ".xor"),
    ];
    for (bytes, words) in bad {
        std::fs::remove_file(cluster.xor_file(0)).unwrap();
        std::fs::write(cluster.xor_file(0), bytes).unwrap();
        let found = cluster.check(&xor(), &records)[0]
            .parity
            .clone()
            .unwrap_err()
            .to_string();
        assert!(found.contains(words), "{words}: {found}");
        recovers(&cluster, &records, &before, &[], words, |_| {
            RebuildOutcome::Encoded
        });
    }
}

#[test]
fn hostile_names_in_a_neighbours_record_are_refused() {
    let cluster = Cluster::new(vec![vec![50], vec![50]], 64);
    let records = cluster.encode(&xor());
    // Rank 1 keeps the record of rank 0, and gets a false path for its file.
    let (mut header, start) = header(&cluster, 1);
    let parity = std::fs::read(cluster.xor_file(1)).unwrap()[start as usize..].to_vec();
    header.partner.files[0].file = Name::from("../outside");
    let forged = [encode(&to_tree(&header).unwrap()), parity].concat();
    std::fs::write(cluster.xor_file(1), forged).unwrap();
    let results = cluster.rebuild(&xor(), &records, &[0]);
    assert!(
        results[0]
            .clone()
            .unwrap_err()
            .to_string()
            .contains("../outside"),
        "{results:?}"
    );
    assert!(!cluster.data(0).join("../outside").exists());
}

#[test]
fn checksums_that_are_known_are_never_replaced() {
    let cluster = Cluster::new(vec![vec![50], vec![50], vec![9]], 64);
    let results = cluster.run(&Posix, |context, rank| {
        let mut record = cluster.record(rank);
        record.files.files[0].crc = (rank == 1).then_some(0x1234_5678);
        xor().encode_right(context, &mut record)
    });
    assert!(
        results[1]
            .clone()
            .unwrap_err()
            .to_string()
            .contains("0x12345678"),
        "{results:?}"
    );
    // The others get the cause, and have no valid redundancy file.
    for innocent in [0, 2] {
        let text = results[innocent].clone().unwrap_err().to_string();
        assert!(
            text.contains("rank 1") && innocent == 2 || text.contains("0x12345678"),
            "{text}"
        );
    }
    let records: Vec<_> = (0..3).map(|rank| cluster.record(rank)).collect();
    let checked = cluster.check(&xor(), &records);
    assert!(checked.iter().all(|health| health.parity.is_err()));
}

/// Each operation on the file system fails once, on whichever rank does it, or the disk is full.
#[test]
fn a_failing_disk_hangs_nobody_and_leaves_no_false_redundancy() {
    let cluster = Cluster::new(vec![vec![3000, 10], vec![2500], vec![0, 700, 1]], 512);
    let records = cluster.encode(&xor());
    let before = snapshots(&cluster);
    for job in ["encode", "rebuild"] {
        let attempt = |files: &dyn Files| {
            cluster.run(files, |context, rank| {
                let record = records[rank].clone();
                if job == "encode" {
                    return xor()
                        .encode_right(context, &mut record.clone())
                        .map(|()| record);
                }
                let found = || LocalPart::new(&xor(), context, record, Verification::SizesOnly);
                let mut mine = (rank != 1).then(found);
                xor()
                    .rebuild(context, &mut mine, &mut [])
                    .map(|(record, _)| record)
            })
        };
        let prepare = || match job {
            "encode" => {}
            _ => cluster.lose(1),
        };
        prepare();
        let faulty = Faulty::new(Posix);
        assert!(attempt(&faulty).iter().all(Result::is_ok));
        let operations = faulty.faults().operations();
        assert!(operations > 15, "{operations}");
        for n in 1..=operations {
            prepare();
            let faulty = Faulty::new(Posix);
            faulty.faults().fail_at(n, libc::EIO);
            let results = attempt(&faulty);
            let failed = results.iter().any(Result::is_err);
            if !failed && faulty.faults().optional_failed() {
                // The files are there, without their attributes.
                continue;
            }
            assert!(failed, "{job}: operation {n}");
            let cause = results
                .iter()
                .filter_map(|r| r.clone().err())
                .find(|e| e.errno().is_some());
            assert_eq!(
                cause.and_then(|e| e.errno()),
                Some(libc::EIO),
                "{job}: operation {n}"
            );
            // Files that pass a check afterwards must be right.
            let checked = cluster.check(&xor(), &records);
            for (rank, health) in checked.iter().enumerate().filter(|(_, h)| h.parity.is_ok()) {
                let path = cluster.xor_file(rank);
                assert_eq!(
                    cluster.snapshot(rank)[&path],
                    before[rank][&path],
                    "{health:?}"
                );
            }
            assert!(
                cluster
                    .rebuild(&xor(), &records, &[])
                    .iter()
                    .all(Result::is_ok)
            );
            assert!(snapshots(&cluster) == before, "{job}: operation {n}");
        }
        let full = Faulty::new(Posix);
        full.faults().limit_space(Some(100));
        // No old file is left that could be removed to make space.
        if job == "encode" {
            (0..3).for_each(|rank| std::fs::remove_file(cluster.xor_file(rank)).unwrap());
        } else {
            cluster.lose(1);
        }
        assert!(attempt(&full).iter().all(Result::is_err), "{job}");
        assert!(
            cluster
                .rebuild(&xor(), &records, &[])
                .iter()
                .all(Result::is_ok)
        );
    }
}

#[test]
fn a_missing_or_changed_file_fails_its_rank_and_hangs_nobody() {
    for members in 2..=5 {
        let cluster = Cluster::new(vec![vec![100_000, 50]; members], 4096);
        let record = cluster.record(0);
        for broken in ["missing", "longer"] {
            let path = cluster.file(0, 1);
            std::fs::remove_file(&path).unwrap();
            if broken == "longer" {
                std::fs::write(&path, [1; 60]).unwrap();
            }
            let results = cluster.run(&Posix, |context, rank| {
                let mut own = if rank == 0 {
                    record.clone()
                } else {
                    cluster.record(rank)
                };
                xor().encode_right(context, &mut own)
            });
            let text = results[0].clone().unwrap_err().to_string();
            assert!(text.contains("d1/f1"), "{text}");
            for result in &results[1..] {
                let text = result.clone().unwrap_err().to_string();
                assert!(text.contains("d1/f1"), "{text}");
            }
            std::fs::write(&path, cluster.content(0, 1)).unwrap();
        }
    }
}

/// Messages and bytes of one encode follow from the layout alone.
#[test]
fn an_encode_costs_the_messages_it_must() {
    let piece = 1000;
    for members in 2..=6 {
        let cluster = Cluster::new(vec![vec![30_000]; members], piece);
        let counts = threads::run(members, |comm| {
            let comm = CountingComm::new(comm);
            let tally = comm.tally();
            cluster.with(&Posix, &comm, |context, rank| {
                xor()
                    .encode_right(context, &mut cluster.record(rank))
                    .unwrap();
            });
            tally.counts()
        });
        let chunk = 30_000usize.div_ceil(members - 1);
        let data = chunk * (members - 1);
        let messages = chunk.div_ceil(piece) * (members - 1);
        for count in counts {
            assert_eq!(count.rounds, 0, "members of other sets are not waited for");
            // Each member sends two more messages to all others: sizes and success. Those to the
            // right neighbour include the list of files and their checksums.
            assert_eq!(count.messages as usize, messages + 2 * (members - 1));
            let rest = count.bytes as usize - data;
            assert!(
                rest < 32 * (members - 1) + 600,
                "{rest} bytes beside the data"
            );
        }
    }
}

#[test]
fn a_set_of_one_is_single() {
    let cluster = Cluster::new(vec![vec![5, 0]], 64);
    let records = cluster.encode(&xor());
    assert_eq!(std::fs::read_dir(cluster.meta(0)).unwrap().count(), 0);
    assert_eq!(cluster.check(&xor(), &records)[0].data, Ok(()));
    std::fs::remove_file(cluster.file(0, 1)).unwrap();
    let text = cluster.rebuild(&xor(), &records, &[])[0]
        .clone()
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("f1") && text.contains("no redundancy"),
        "{text}"
    );
}
