//! Checkpoints and restarts of fields on a device, with ranks as threads: random programs of which some fields are on
//! devices, kept files that are registered, calls of the driver that fail.

use super::fake::{Cuda, cuda};
use crate::fields_on_ranks::{Part, Random, cut, elements, save};
use crate::site::{Rank, Site, nodes};
use scr::device::{Devices, Place as Found};
use scr::fields::{Class, Kind, List, Memory, Place, RemoteMemory, Slice, Spec, restore};

/// The library, for all ranks.
struct Shared<'a>(&'a Cuda);

// SAFETY: the library of the tests has a lock of its own.
unsafe impl Sync for Shared<'_> {}

/// A field of numbers that is part of a whole, with gaps and directions in memory.
struct Field {
    name: String,
    whole: Vec<i64>,
    part: Part,
    strides: Vec<i64>,
    /// Bytes of the memory, and the place of the first element.
    length: usize,
    first: usize,
    /// On a device: its address.
    address: Option<usize>,
    bytes: Vec<u8>,
}

const EMPTY: u8 = 0xee;

impl Field {
    /// In memory that has gaps between rows and numbers, at random.
    fn new(
        cuda: &Shared<'_>,
        name: &str,
        (whole, part): (&[i64], &Part),
        random: &mut Random,
    ) -> Field {
        let mut strides = vec![0; whole.len()];
        let (mut step, mut first) = (8, 0);
        for dim in (0..whole.len()).rev() {
            step *= 1 + random.below(2) as i64;
            strides[dim] = step;
            step *= part.1[dim].max(1);
            if random.below(3) == 0 {
                first += strides[dim] * (part.1[dim] - 1).max(0);
                strides[dim] = -strides[dim];
            }
        }
        let length = step as usize;
        let bytes = vec![EMPTY; length];
        let address = (random.below(3) > 0).then(|| match random.below(2) {
            0 => cuda.0.memory(&bytes),
            _ => cuda.0.pooled(&bytes),
        });
        Field {
            name: name.to_string(),
            whole: whole.to_vec(),
            part: part.clone(),
            strides,
            length,
            first: first as usize,
            address,
            bytes,
        }
    }

    fn places(&self) -> Vec<usize> {
        let count: i64 = self.part.1.iter().product();
        let place = |number: i64| {
            let (mut rest, mut at) = (number, self.first as i64);
            for dim in (0..self.whole.len()).rev() {
                at += rest % self.part.1[dim] * self.strides[dim];
                rest /= self.part.1[dim];
            }
            at as usize
        };
        (0..count).map(place).collect()
    }

    /// The bytes with these numbers in the elements, and nothing beside them.
    fn with(&self, add: f64) -> Vec<u8> {
        let mut bytes = vec![EMPTY; self.length];
        let numbers = elements(&self.whole, &self.part, add);
        for (place, number) in self.places().into_iter().zip(numbers) {
            bytes[place..place + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn fill(&mut self, cuda: &Shared<'_>, bytes: Vec<u8>) {
        match self.address {
            Some(address) => cuda.0.fill(address, &bytes),
            None => self.bytes = bytes,
        }
    }

    fn now(&self, cuda: &Shared<'_>) -> Vec<u8> {
        match self.address {
            Some(address) => cuda.0.bytes(address, self.length),
            None => self.bytes.clone(),
        }
    }

    fn list(&mut self, list: &mut List<'_>, devices: &mut Devices) -> scr::Result<()> {
        let (at, extents) = &self.part;
        let spec = Spec {
            name: &self.name,
            kind: Kind::new(Class::Real, 8),
            extents,
            strides: Some(&self.strides),
            place: Place::Part {
                whole: &self.whole,
                at,
            },
        };
        let Some(address) = self.address else {
            return list.field(
                spec,
                Some(&mut Slice::of_bytes(&mut self.bytes, self.first)),
            );
        };
        let Found::Device(found) = devices.locate(address + self.first)? else {
            panic!("{} is not on a device", self.name);
        };
        let mut memory = RemoteMemory(found);
        assert!(memory.bytes(0, 8).is_err(), "the processor cannot read it");
        list.field(spec, Some(&mut memory))
    }

    fn end(self, cuda: &Shared<'_>) {
        if let Some(address) = self.address {
            cuda.0.free(address);
        }
    }
}

type Wholes = Vec<(String, Vec<i64>)>;

/// The fields of a rank.
fn fields(
    cuda: &Shared<'_>,
    wholes: &Wholes,
    parts: &[Vec<Part>],
    (me, seed): (usize, u64),
) -> Vec<Field> {
    let mut random = Random(seed * 100 + me as u64);
    cuda.0.make_current(cuda.0.contexts[me % 2]);
    let all = wholes.iter().zip(parts);
    all.map(|((name, whole), parts)| Field::new(cuda, name, (whole, &parts[me]), &mut random))
        .collect()
}

fn list_all(fields: &mut [Field], list: &mut List<'_>) -> scr::Result<()> {
    let mut devices = Devices::find();
    let mut all = fields.iter_mut();
    all.try_for_each(|field| field.list(list, &mut devices))
}

fn write(rank: &mut Rank, cuda: &Shared<'_>, fields: &mut [Field], step: u64) -> scr::Result<()> {
    for field in fields.iter_mut() {
        let bytes = field.with(step as f64);
        field.fill(cuda, bytes);
    }
    save(rank, &format!("ck.{step}"), |list| list_all(fields, list))
}

/// Restores; the name, if all bytes are those of `step` and no others have changed.
fn read(
    rank: &mut Rank,
    cuda: &Shared<'_>,
    fields: &mut [Field],
    step: u64,
) -> scr::Result<String> {
    for field in fields.iter_mut() {
        let bytes = vec![EMPTY; field.length];
        field.fill(cuda, bytes);
    }
    let found = restore(&mut rank.session, &mut |list| list_all(fields, list))?;
    for field in fields.iter() {
        assert!(
            field.now(cuda) == field.with(step as f64),
            "{} of {step}",
            field.name
        );
    }
    Ok(found.map(|name| name.to_string()).unwrap_or_default())
}

fn parts_of(wholes: &Wholes, ranks: usize, random: &mut Random) -> Vec<Vec<Part>> {
    let cut_one = |(_, whole): &(String, Vec<i64>)| cut(whole, ranks, random);
    wholes.iter().map(cut_one).collect()
}

fn site() -> Site {
    let memory = tempfile::tempdir_in("/dev/shm");
    Site::at(memory.or_else(|_| tempfile::tempdir()).unwrap())
        .set("SCR_COPY_TYPE", "XOR")
        .set("SCR_CACHE_SIZE", "2")
}

/// Small fields and large ones, in any shape, written by any number of ranks and read by any other, with lost nodes.
#[test]
fn random_programs_with_fields_on_devices_restore_what_they_wrote() {
    let held = cuda();
    let cuda = &Shared(&held);
    for seed in 1..=25u64 {
        let mut random = Random(seed);
        let count = 1 + random.below(5);
        let wholes: Wholes = (0..count)
            .map(|number| {
                let dims = 1 + random.below(3) as usize;
                let most = [70_000, 300, 40][dims - 1];
                let whole = (0..dims).map(|_| 1 + random.below(most) as i64);
                (format!("f{number}"), whole.collect())
            })
            .collect();
        let flush = random.below(2);
        let site = site().set("SCR_FLUSH", &flush.to_string());
        let old = 2 + random.below(3) as usize;
        let written = parts_of(&wholes, old, &mut random);
        let last = 1 + random.below(5);
        site.run(&nodes(old), |rank| {
            let mut own = fields(cuda, &wholes, &written, (rank.rank, seed));
            for step in 1..=last {
                write(rank, cuda, &mut own, step).unwrap();
            }
            own.into_iter().for_each(|field| field.end(cuda));
        });
        std::fs::remove_dir_all(site.node("n1")).unwrap();
        let new = if flush == 1 {
            1 + random.below(5) as usize
        } else {
            old
        };
        let wanted = parts_of(&wholes, new, &mut random);
        site.run(&nodes(new), |rank| {
            let mut own = fields(cuda, &wholes, &wanted, (rank.rank, seed + 1000));
            let found = read(rank, cuda, &mut own, last).unwrap();
            assert_eq!(found, format!("ck.{last}"), "seed {seed}");
            own.into_iter().for_each(|field| field.end(cuda));
        });
        assert_eq!(held.registered(), 0, "no page stays registered");
    }
}

/// The library without a device ends the test if pages are unmapped before they are unregistered.
#[test]
fn kept_files_are_registered_once_and_not_beyond_their_end() {
    let held = cuda();
    let cuda = &Shared(&held);
    let site = site().set("SCR_FLUSH", "0");
    if !site.node("n0").starts_with("/dev/shm") || !cfg!(target_arch = "x86_64") {
        println!("SKIPPED: files are mapped on tmpfs and x86-64 only");
        return;
    }
    for (piece, refused) in [(0, 0), (1 << 20, 0), (0, 1)] {
        held.set("register_piece", piece);
        held.set("register_refused", refused);
        held_fail(cuda, "cuMemHostRegister_v2", 0);
        site.run(&nodes(2), |rank| {
            let length = |step: u64| [500_000, 600_000, 400_000][step as usize % 3];
            for step in 1..=9 {
                let whole = vec![2 * length(step)];
                let wholes = vec![("x".to_string(), whole)];
                let part = |rank: i64| (vec![rank * length(step)], vec![length(step)]);
                let parts = vec![vec![part(0), part(1)]];
                let mut own = fields(cuda, &wholes, &parts, (rank.rank, 3));
                write(rank, cuda, &mut own, 100 + step).unwrap();
                let name = read(rank, cuda, &mut own, 100 + step).unwrap();
                assert_eq!(name, format!("ck.{}", 100 + step));
                own.into_iter().for_each(|field| field.end(cuda));
            }
        });
        // A file that is cut has its pages unregistered, and is registered again.
        assert!(held.calls("cuMemHostRegister_v2") > 0);
        assert_eq!(held.registered(), 0);
        std::fs::remove_dir_all(site.dir.path().join("nodes")).unwrap();
    }
}

/// Whatever call of the driver fails: the checkpoint fails on all ranks, or is right; and the one before it stays.
#[test]
fn a_call_of_the_driver_that_fails_costs_no_older_checkpoint() {
    let held = cuda();
    let cuda = &Shared(&held);
    let site = site().set("SCR_FLUSH", "0");
    let wholes = vec![
        ("large".to_string(), vec![300_000]),
        ("flat".to_string(), vec![400, 300]),
    ];
    let mut random = Random(5);
    let parts = parts_of(&wholes, 2, &mut random);
    let calls = [
        "cuMemcpyDtoHAsync_v2",
        "cuMemcpy2DAsync_v2",
        "cuStreamSynchronize",
        "cuCtxPushCurrent_v2",
        "cuMemHostRegister_v2",
    ];
    let mut last = 0;
    let mut failed = 0;
    for (number, call) in calls.iter().enumerate() {
        for n in 1..=3 {
            let from = last;
            let ended = site.run(&nodes(2), |rank| {
                let mut own = fields(cuda, &wholes, &parts, (rank.rank, 7 + number as u64));
                let mut step = from;
                if from > 0 {
                    let found = read(rank, cuda, &mut own, from).unwrap();
                    assert_eq!(found, format!("ck.{from}"));
                }
                for _ in 0..4 {
                    step += 1;
                    write(rank, cuda, &mut own, step).unwrap();
                }
                rank.session.comm().barrier().unwrap();
                if rank.rank == 0 {
                    held_fail(cuda, call, n);
                }
                rank.session.comm().barrier().unwrap();
                let written = write(rank, cuda, &mut own, step + 1);
                rank.session.comm().barrier().unwrap();
                if rank.rank == 0 {
                    held_fail(cuda, call, 0);
                }
                rank.session.comm().barrier().unwrap();
                let failed = written.is_err();
                if let Err(error) = written {
                    let error = error.to_string();
                    assert!(
                        error.contains("field \"") && error.contains("CUDA_ERROR"),
                        "{error}"
                    );
                } else {
                    step += 1;
                }
                own.into_iter().for_each(|field| field.end(cuda));
                (step, failed)
            });
            assert_eq!(ended[0], ended[1], "{call}");
            last = ended[0].0;
            failed += u64::from(ended[0].1);
        }
    }
    assert!(failed >= 5, "{failed}");
    site.run(&nodes(2), |rank| {
        let mut own = fields(cuda, &wholes, &parts, (rank.rank, 99));
        assert_eq!(
            read(rank, cuda, &mut own, last).unwrap(),
            format!("ck.{last}")
        );
        own.into_iter().for_each(|field| field.end(cuda));
    });
}

/// The `n`-th call from now on fails; 0 for none.
fn held_fail(cuda: &Shared<'_>, call: &str, n: i32) {
    cuda.0.fail(call, n, 999);
}
