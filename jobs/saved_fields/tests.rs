//! Datasets that no run would write.

use super::{FieldSummary, SavedFields};
use crate::tally::CountingFiles;
use scr_engine::comm::Communicator;
use scr_engine::fields::entry::{Entry, Link, Order, Role};
use scr_engine::fields::kind::{Class, Kind};
use scr_engine::fields::memory::Slice;
use scr_engine::fields::walk::row_major;
use scr_engine::fields::write::Writer;
use scr_engine::format::{Dataset, Name};
use scr_engine::prefix::paths::Prefix;
use scr_engine::prefix::rank2file;
use scr_engine::store::Files;
use scr_engine::store::posix::Posix;
use scr_testing::threads;
use std::path::Path;

/// A part of a whole of 4 x 4 bytes: where it is, and its extents.
type Part = ([u64; 2], [u64; 2]);

fn entry((at, extents): Part, name: &str, kind: Kind) -> Entry {
    Entry {
        name: name.to_string(),
        kind,
        role: Role::Part,
        order: Order::Column,
        extents: extents.to_vec(),
        whole: vec![4, 4],
        at: at.to_vec(),
        link: Link::None,
    }
}

/// Writes a dataset whose rank r has `entries[r]`, in a list of the number `list[r]`. Its elements are made of r.
fn write(dir: &Path, entries: &[Entry], list: &[u64]) -> scr_engine::Result<Dataset> {
    let prefix = Prefix::new(dir);
    let ranks = entries.len() as u64;
    let mut records = Vec::new();
    for (rank, (entry, list)) in (0..).zip(entries.iter().zip(list)) {
        let name = format!("ck/rank_{rank}.fields");
        let path = dir.join(&name);
        Posix.make_dirs(path.parent().unwrap())?;
        let mut writer = Writer::new(Posix.create(&path, 0o600)?, rank, ranks, Box::new(()));
        let mut data = vec![rank as u8; entry.bytes() as usize];
        let strides = row_major(&entry.extents, entry.kind.size());
        let memory = Slice::of_bytes(&mut data, 0);
        writer.put(entry.clone(), &strides, Some(&memory))?;
        writer.finish((rank, ranks), *list, true)?;
        let size = Posix.stat(&path)?.unwrap().size;
        records.push(rank2file::entry([(Name::from(&*name), size, None)]));
    }
    Posix.make_dirs(&prefix.dataset(7))?;
    rank2file::write_all(&Posix, &prefix.dataset(7), records)?;
    Ok(Dataset {
        id: 7,
        name: "ck".into(),
        ..Dataset::default()
    })
}

/// The result of reading the field `x` of the dataset that [`write`] writes.
fn read(entries: &[Entry], list: &[u64]) -> scr_engine::Result<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let dataset = write(dir.path(), entries, list)?;
    read_x(&Posix, dir.path(), &dataset)
}

fn read_x(files: &dyn Files, dir: &Path, dataset: &Dataset) -> scr_engine::Result<Vec<u8>> {
    let saved = SavedFields::open(files, &Prefix::new(dir), dataset)?;
    let fields = saved.find(&["x"])?;
    let mut bands = saved.read(&fields[0], 0)?;
    let mut all = Vec::new();
    while let Some(band) = bands.next_band()? {
        all.extend(band);
    }
    Ok(all)
}

const BYTE: Kind = Kind::new(Class::Unsigned, 1);

fn of_parts(parts: &[Part]) -> scr_engine::Result<Vec<u8>> {
    let entries: Vec<Entry> = parts.iter().map(|part| entry(*part, "x", BYTE)).collect();
    read(&entries, &vec![1; parts.len()])
}

#[test]
fn parts_make_up_the_whole_or_the_first_wrong_element_is_named() {
    let top = ([0, 0], [1, 4]);
    let left = ([1, 0], [3, 1]);
    let rest = ([1, 1], [3, 3]);
    let whole = [0, 0, 0, 0, 1, 2, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2];
    assert_eq!(of_parts(&[top, left, rest]).unwrap(), whole);
    let told = |parts: &[Part]| of_parts(parts).unwrap_err().to_string();
    // Indices are in the program's form: the first one is the fastest, and they begin with 1.
    let error = told(&[top, rest]);
    assert!(
        error.starts_with(
            "dataset 7 (ck): field \"x\": no rank has the element [1, 2] of the whole [4, 4]"
        ),
        "{error}"
    );
    let error = told(&[top, left, rest, ([2, 3], [1, 1])]);
    assert!(
        error.contains("ranks 2 and 3 both have the element [4, 3]"),
        "{error}"
    );
    // As many elements as the whole has.
    let error = told(&[top, left, ([1, 1], [3, 2]), ([0, 1], [3, 1])]);
    assert!(error.contains("both have the element [2, 1]"), "{error}");
}

/// Many ranks share a band of a whole that is cut in each dimension, and few of their blocks end where it does.
#[test]
fn each_block_is_read_once_however_the_whole_is_cut() {
    let real = Kind::new(Class::Real, 8);
    let (whole, part) = ([96u64, 128, 240], [48u64, 32, 60]);
    let corners = (0..2).flat_map(|x| (0..4).flat_map(move |y| (0..4).map(move |z| [x, y, z])));
    let entries: Vec<Entry> = corners
        .map(|corner| Entry {
            extents: part.to_vec(),
            whole: whole.to_vec(),
            at: (0..3).map(|dim| corner[dim] * part[dim]).collect(),
            ..entry(([0, 0], [0, 0]), "x", real)
        })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let dataset = write(dir.path(), &entries, &vec![1; entries.len()]).unwrap();
    let files = CountingFiles::new(Posix);
    let tally = files.tally();
    let all = read_x(&files, dir.path(), &dataset).unwrap();
    let bytes = all.len() as u64;
    assert_eq!(bytes, 8 * whole.iter().product::<u64>());
    let row = |x: u64, y: u64, z: u64| &all[(((x * 128 + y) * 240 + z) * 8) as usize..][..8 * 60];
    for (rank, entry) in entries.iter().enumerate() {
        for (x, y) in [(0, 0), (1, 0), (17, 31), (47, 31)] {
            let at = &entry.at;
            let found = row(at[0] + x, at[1] + y, at[2]);
            assert!(
                found.iter().all(|byte| *byte == rank as u8),
                "{rank} {x} {y}"
            );
        }
    }
    let (read, _) = tally.bytes();
    assert!(
        (bytes..bytes * 102 / 100).contains(&read),
        "{read} of {bytes}"
    );
}

#[test]
fn files_that_do_not_belong_together_are_told() {
    let (top, rest) = (([0, 0], [1, 4]), ([1, 0], [3, 4]));
    let right = [entry(top, "x", BYTE), entry(rest, "x", BYTE)];
    assert_eq!(read(&right, &[5, 5]).unwrap().len(), 16);
    let told = |entries: &[Entry], lists: &[u64]| {
        let error = read(entries, lists).unwrap_err().to_string();
        assert!(error.contains("ck/rank_1.fields"), "{error}");
        error
    };
    let error = told(&right, &[5, 6]);
    assert!(
        error.contains("has other fields than the file of rank 0"),
        "{error}"
    );
    let signed = Kind::new(Class::Integer, 1);
    let other_kind = [entry(top, "x", BYTE), entry(rest, "x", signed)];
    let error = told(&other_kind, &[5, 5]);
    assert!(
        error.contains("has the field \"x\" (int8[4, 3] of [4, 4])"),
        "{error}"
    );
    let other_name = [entry(top, "x", BYTE), entry(rest, "y", BYTE)];
    let error = read(&other_name, &[5, 5]).unwrap_err().to_string();
    assert!(error.contains("has no field \"x\""), "{error}");
}

/// Earlier versions wrote a file of boxes, too, which is a file of the dataset like any other.
#[test]
fn the_list_tells_what_all_ranks_have_and_reads_nothing_but_files_of_fields() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = Prefix::new(dir.path());
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir(at("ck")).unwrap();
    std::fs::write(at("ck/fields_0.boxes"), "damaged").unwrap();
    let records = threads::run(3, |comm| {
        let rank = comm.rank() as u64;
        let name = format!("ck/rank_{rank}.fields");
        let file = Posix.create(&at(&name), 0o600).unwrap();
        let mut writer = Writer::new(file, rank, 3, Box::new(()));
        let part = entry(([rank, 0], [1 + rank / 2, 4]), "x", BYTE);
        let own = Entry {
            role: Role::Own,
            extents: vec![rank],
            whole: Vec::new(),
            at: Vec::new(),
            ..entry(([0, 0], [0, 0]), "own", BYTE)
        };
        for entry in [part, own] {
            let mut data = vec![0; entry.bytes() as usize];
            let strides = row_major(&entry.extents, 1);
            let memory = Slice::of_bytes(&mut data, 0);
            writer.put(entry, &strides, Some(&memory)).unwrap();
        }
        writer.finish((rank, 3), 1, true).unwrap();
        let mut names = vec![name];
        names.extend((rank == 0).then(|| "ck/fields_0.boxes".to_string()));
        let file = |name: &String| {
            let size = at(name).metadata().unwrap().len();
            (Name::from(&**name), size, None)
        };
        rank2file::entry(names.iter().map(file))
    });
    Posix.make_dirs(&prefix.dataset(7)).unwrap();
    rank2file::write_all(&Posix, &prefix.dataset(7), records).unwrap();
    let dataset = Dataset {
        id: 7,
        name: "ck".into(),
        ..Dataset::default()
    };
    let list = || SavedFields::open(&Posix, &prefix, &dataset)?.list();
    let all = list().unwrap();
    let told = |place: usize| {
        let field: &FieldSummary = &all[place];
        (field.same_extents, field.ranks, field.bytes)
    };
    assert_eq!((told(0), told(1)), ((true, 3, 16), (false, 2, 3)));
    std::fs::write(at("ck/rank_2.fields"), "").unwrap();
    assert!(list().is_err());
}
