//! Bits that flip while redundancy is written: in messages, and in the redundancy files.

use super::testing::Cluster;
use super::{Encoded, RedundancyScheme, final_name, temporary_name};
use crate::Result;
use crate::faulty::Faulty;
use crate::flipping::{FlippingComm, Flips};
use crate::format::Scheme;
use crate::store::posix::Posix;
use crate::store::{Files, KeptFiles};
use crate::threads;
use std::path::Path;
use std::sync::Arc;

/// Schemes, and sizes of the files of each member.
fn cases() -> Vec<(RedundancyScheme, Vec<Vec<usize>>)> {
    let uneven = [vec![3000, 10], vec![2500], vec![0, 700, 1], vec![4000; 2]];
    let schemes = [
        (Scheme::Xor, 1, 2),
        (Scheme::Xor, 1, 3),
        (Scheme::Xor, 1, 4),
        (Scheme::Partner, 1, 2),
        (Scheme::Partner, 2, 4),
        (Scheme::Rs, 2, 4),
        (Scheme::Rs, 1, 3),
    ];
    let case = |(scheme, failures, members): (Scheme, usize, usize)| {
        let scheme = RedundancyScheme::new(scheme, failures);
        (scheme, uneven[..members].to_vec())
    };
    schemes.into_iter().map(case).collect()
}

/// True for the path of a redundancy file that is being written.
fn is_redundancy(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    name.starts_with("next_")
}

/// Encodes once on all members. True if all redundancy is said to be right.
fn encode(cluster: &Cluster, scheme: &RedundancyScheme, files: &dyn Files, flips: &Flips) -> bool {
    let encoded: Vec<Result<Encoded>> = threads::run(cluster.size(), |comm| {
        let comm = FlippingComm::new(comm, flips);
        cluster.with(files, &comm, |context, rank| {
            let mut record = cluster.record(rank);
            scheme.encode(context, &mut record, &mut |_| Ok(()))
        })
    });
    let right = |one: Result<Encoded>| match one.unwrap() {
        Encoded::Right => true,
        Encoded::Wrong(error) => {
            let text = error.to_string();
            assert!(
                text.contains("_of_") && text.contains("was changed"),
                "{text}"
            );
            false
        }
    };
    encoded
        .into_iter()
        .map(right)
        .fold(true, |all, one| all & one)
}

#[test]
fn a_bit_that_flips_in_any_message_is_noticed() {
    for (scheme, sizes) in cases() {
        let cluster = Cluster::new(sizes, 512);
        let flips = Flips::default();
        assert!(encode(&cluster, &scheme, &Posix, &flips), "no false alarm");
        let messages = flips.received();
        assert!(messages > 5, "{messages}");
        for n in 0..messages {
            flips.set(n, 1);
            let right = encode(&cluster, &scheme, &Posix, &flips);
            assert!(!right, "{} message {n} of {messages}", scheme.word());
            assert_eq!(flips.flipped(), 1);
        }
        flips.set(0, 0);
        assert!(
            encode(&cluster, &scheme, &Posix, &flips),
            "the next is right"
        );
    }
}

#[test]
fn a_bit_that_flips_in_a_redundancy_file_is_noticed() {
    for (scheme, sizes) in cases() {
        let cluster = Cluster::new(sizes, 512);
        let flips = Flips::default();
        let mut n = 0;
        let written = loop {
            let faulty = Faulty::new(Posix);
            let faults = faulty.faults();
            faults.flip_writes(is_redundancy, n, 1);
            let right = encode(&cluster, &scheme, &faulty, &flips);
            if faults.flipped() == 0 {
                break n;
            }
            assert!(!right, "{} write {n}", scheme.word());
            n += 1;
        };
        assert!(written > 5, "{written}");
    }
}

/// Gives the redundancy files of the last dataset the names that those of the next one get.
fn write_over(cluster: &Cluster) {
    for rank in 0..cluster.size() {
        for name in Posix.list(&cluster.meta(rank)).unwrap() {
            let path = cluster.meta(rank).join(&name);
            std::fs::rename(
                &path,
                path.with_file_name(temporary_name(final_name(&name))),
            )
            .unwrap();
        }
    }
}

#[test]
fn a_bit_that_flips_in_a_mapped_redundancy_file_is_noticed() {
    let shm = Path::new("/dev/shm");
    if !cfg!(target_arch = "x86_64") || !shm.exists() {
        println!("skipped: files are mapped on tmpfs and x86-64 only");
        return;
    }
    const LARGE: usize = 2_300_000;
    let cases = [(Scheme::Xor, 2), (Scheme::Partner, 2), (Scheme::Rs, 3)];
    for (scheme, members) in cases {
        let scheme = RedundancyScheme::new(scheme, 1);
        let sizes = vec![vec![LARGE, 1]; members];
        let cluster = Cluster::new_in(shm, sizes, 200_000);
        let faulty = Faulty::new(Posix);
        let (faults, flips, kept) = (faulty.faults(), Flips::default(), KeptFiles::default());
        let files = kept.used_by(Arc::new(faulty));
        let mapped = || {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let here = cluster
                .data(0)
                .parent()
                .unwrap()
                .parent()
                .unwrap()
                .to_owned();
            let here = here.display().to_string();
            maps.lines().filter(|line| line.contains(&here)).count()
        };
        for _ in 0..2 {
            assert!(encode(&cluster, &scheme, &*files, &flips), "no false alarm");
            write_over(&cluster);
        }
        assert_eq!(mapped(), cluster.size(), "{}", scheme.word());
        let mut n = 0;
        loop {
            faults.flip_writes(is_redundancy, n, 1);
            let before = faults.flipped();
            let right = encode(&cluster, &scheme, &*files, &flips);
            write_over(&cluster);
            if faults.flipped() == before {
                assert!(right, "the next is right");
                break;
            }
            assert!(!right, "{} write {n}", scheme.word());
            n += 1;
        }
        assert!(n > 10, "{n}");
        assert_eq!(mapped(), cluster.size(), "{}", scheme.word());
    }
}
