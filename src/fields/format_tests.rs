//! The bytes of a file of fields, as `docs/formats/fields.md` has them, and files that are damaged.

use super::entry::{Entry, KnownIndex, Link, Order, Place, Role, Spec, check};
use super::file::{Table, read_table};
use super::index::cover::OwnList;
use super::index::{Given, Indices};
use super::kind::{Class, Kind};
use super::memory::Slice;
use super::write::Writer;
use crate::store::Files;
use crate::store::posix::Posix;
use std::path::{Path, PathBuf};

const I32: Kind = Kind::new(Class::Integer, 4);

/// Writes a part of a whole as Fortran names it, and a count.
fn write(dir: &Path) -> PathBuf {
    let path = dir.join("rank_2.fields");
    let file = Posix.create(&path, 0o666).unwrap();
    let mut writer = Writer::new(file, 2, 5, Box::new(()));
    let place = Place::Part {
        whole: &[3, 8],
        at: &[0, 6],
    };
    let spec = Spec {
        name: "u",
        kind: I32,
        extents: &[3, 2],
        strides: None,
        place,
    };
    let (entry, strides) = check("u".to_string(), &spec, Order::Column, true).unwrap();
    let mut data = [1i32, 2, 3, 4, 5, 6];
    writer
        .put(entry, &strides, Some(&Slice::new(&mut data)))
        .unwrap();
    let count = Entry {
        name: "count".to_string(),
        kind: Kind::new(Class::Integer, 8),
        role: Role::Count,
        order: Order::Row,
        extents: Vec::new(),
        whole: Vec::new(),
        at: Vec::new(),
        link: Link::None,
    };
    writer
        .put(count, &[], Some(&Slice::new(&mut [-1i64])))
        .unwrap();
    let written = writer.finish((2, 5), 0x1122_3344_5566_7788, true).unwrap();
    let content = std::fs::read(&path).unwrap();
    assert_eq!(crc32fast::hash(&content), written.crc);
    path
}

fn write_by_index(dir: &Path) -> PathBuf {
    write_indexed(dir, false)
}

/// Writes an index list, of which several ranks may have an index if it is `shared`, and a field whose elements go by it.
fn write_indexed(dir: &Path, shared: bool) -> PathBuf {
    let path = dir.join("rank_2.fields");
    let file = Posix.create(&path, 0o666).unwrap();
    let mut writer = Writer::new(file, 2, 5, Box::new(()));
    let given = Given {
        name: "nodes",
        indices: Indices::Four(&[5, 6, 7, 3, 9]),
        first: 1,
        whole: 9,
    };
    let ids = given.encode().unwrap();
    let nodes = Entry {
        name: "nodes".to_string(),
        kind: Kind::new(Class::Bytes, 1),
        role: Role::Index,
        order: Order::Row,
        extents: vec![ids.bytes.len() as u64],
        whole: vec![9],
        at: Vec::new(),
        link: Link::List {
            count: ids.count,
            first: 1,
            shared,
        },
    };
    let list = OwnList {
        name: "nodes".to_string(),
        whole: 9,
        first: 1,
        shared,
        ids,
        written: None,
        set: None,
    };
    writer.put_index(nodes, list).unwrap();
    let known = KnownIndex {
        name: "nodes".to_string(),
        count: 5,
        whole: 9,
    };
    let spec = Spec {
        name: "t",
        kind: I32,
        extents: &[3, 5],
        strides: None,
        place: Place::Indexed { list: &known },
    };
    let (entry, strides) = check("t".to_string(), &spec, Order::Column, true).unwrap();
    let mut data: Vec<i32> = (1..=15).collect();
    let memory = Slice::new(&mut data);
    writer.put(entry, &strides, Some(&memory)).unwrap();
    writer.finish((2, 5), 0x1122_3344_5566_7788, true).unwrap();
    path
}

fn read(path: &Path) -> crate::Result<Table> {
    let file = Posix.open(path)?;
    read_table(&*file, path)
}

/// Numbers of four bytes, and of eight.
fn four(number: u32) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

fn eight(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

fn with_crc(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(60, 0);
    let crc = crc32fast::hash(&bytes);
    [bytes, four(crc)].concat()
}

#[test]
fn the_bytes_are_those_of_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let header = [b"SCRFIELD".to_vec(), four(1), four(64), eight(2), eight(5)].concat();
    let u: Vec<u8> = (1..=6u32).flat_map(four).collect();
    let count = vec![0xff; 8];
    let u_sum = crc32fast::hash(&u);
    let count_sum = crc32fast::hash(&count);
    let of_u = [
        four(96),
        vec![1, 1, 2, 0],
        four(0x0100_0004),
        four(1),
        eight(64),
        eight(262_144),
        four(u_sum),
        four(1),
        eight(2),
        eight(3),
        eight(8),
        eight(3),
        eight(6),
        eight(0),
        four(u_sum),
        b"u\0\0\0".to_vec(),
    ];
    let of_count = [
        four(56),
        vec![3, 0, 0, 0],
        four(0x0100_0008),
        four(5),
        eight(128),
        eight(262_144),
        four(count_sum),
        four(1),
        four(count_sum),
        b"count\0\0\0\0\0\0\0".to_vec(),
    ];
    let table = [of_u.concat(), of_count.concat()].concat();
    assert_eq!(table.len(), 152);
    let trailer = [
        b"SCRTABLE".to_vec(),
        four(1),
        four(64),
        eight(192),
        eight(152),
        eight(0x1122_3344_5566_7788),
        eight(192 + 152 + 64),
        four(2),
        four(crc32fast::hash(&table)),
        four(1),
    ];
    let mut expected = with_crc(header);
    expected.extend(u);
    expected.resize(128, 0);
    expected.extend(count);
    expected.resize(192, 0);
    expected.extend(table);
    expected.extend(with_crc(trailer.concat()));
    assert_eq!(std::fs::read(write(dir.path())).unwrap(), expected);
}

#[test]
fn the_bytes_of_a_field_by_index_are_those_of_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let header = [b"SCRFIELD".to_vec(), four(1), four(64), eight(2), eight(5)].concat();
    let nodes = vec![17u8, 1, 18, 20];
    let t: Vec<u8> = (1..=15u32).flat_map(four).collect();
    let (nodes_sum, t_sum) = (crc32fast::hash(&nodes), crc32fast::hash(&t));
    let of_nodes = [
        four(88),
        vec![4, 0, 1, 0],
        four(0x0700_0001),
        four(5),
        eight(64),
        eight(262_144),
        four(nodes_sum),
        four(1),
        eight(4),
        eight(9),
        eight(5),
        eight(1),
        four(nodes_sum),
        b"nodes\0\0\0\0\0\0\0".to_vec(),
    ];
    let of_t = [
        four(88),
        vec![5, 1, 2, 0],
        four(0x0100_0004),
        four(1),
        eight(128),
        // Three numbers of four bytes for each index.
        eight(262_144 / 12 * 12),
        four(t_sum),
        four(1),
        eight(5),
        eight(3),
        eight(9),
        eight(3),
        eight(0),
        four(t_sum),
        b"t\0\0\0".to_vec(),
    ];
    let table = [of_nodes.concat(), of_t.concat()].concat();
    let trailer = [
        b"SCRTABLE".to_vec(),
        four(1),
        four(64),
        eight(192),
        eight(176),
        eight(0x1122_3344_5566_7788),
        eight(192 + 176 + 64),
        four(2),
        four(crc32fast::hash(&table)),
        four(1),
    ];
    let mut expected = with_crc(header);
    expected.extend(nodes);
    expected.resize(128, 0);
    expected.extend(t);
    expected.resize(192, 0);
    expected.extend(table);
    expected.extend(with_crc(trailer.concat()));
    let path = write_by_index(dir.path());
    assert_eq!(std::fs::read(&path).unwrap(), expected);
    let table = read(&path).unwrap();
    let told: Vec<String> = table
        .fields
        .iter()
        .map(|field| field.entry.to_string())
        .collect();
    assert_eq!(
        told,
        [
            "\"nodes\" (5 indices of [9])",
            "\"t\" (int32[3, 5] of [3, 9] by index \"nodes\")"
        ]
    );
    assert!(!table.fields[0].entry.is_shared());
    let path = write_indexed(dir.path(), true);
    let content = std::fs::read(&path).unwrap();
    assert_eq!(content[192 + 4..192 + 8], [4, 0, 1, 1]);
    assert!(read(&path).unwrap().fields[0].entry.is_shared());
}

#[test]
fn a_table_is_read_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let table = read(&write(dir.path())).unwrap();
    assert_eq!((table.rank, table.ranks, table.same_counts), (2, 5, true));
    let names: Vec<String> = table
        .fields
        .iter()
        .map(|field| field.entry.to_string())
        .collect();
    assert_eq!(
        names,
        ["\"u\" (int32[3, 2] of [3, 8])", "\"count\" (int64)"]
    );
    assert_eq!(table.fields[0].entry.at, [6, 0]);
}

/// The files of both functions.
fn written(dir: &Path) -> [PathBuf; 2] {
    [write, write_by_index].map(|write| {
        let sub = tempfile::tempdir_in(dir).unwrap().keep();
        write(&sub)
    })
}

#[test]
fn no_cut_or_changed_file_is_taken_for_a_whole_one() {
    let dir = tempfile::tempdir().unwrap();
    for path in written(dir.path()) {
        let whole = std::fs::read(&path).unwrap();
        let good = read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains("rank_2.fields"), "{length}: {error}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            std::fs::write(&path, &bytes).unwrap();
            let is_data = (64..192).contains(&at);
            assert_eq!(read(&path).ok(), is_data.then(|| good.clone()), "byte {at}");
        }
    }
}

/// Sets bytes of the table from `at` on, and makes the checksums right.
fn with_bytes(whole: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let (table, trailer) = (192, whole.len() - 64);
    let mut bytes = whole.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new);
    let sum = crc32fast::hash(&bytes[table..trailer]);
    bytes[trailer + 52..trailer + 56].copy_from_slice(&sum.to_le_bytes());
    let sum = crc32fast::hash(&bytes[trailer..trailer + 60]);
    bytes[trailer + 60..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// A table with right checksums may still have impossible records.
#[test]
fn records_that_cannot_be_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for path in written(dir.path()) {
        let whole = std::fs::read(&path).unwrap();
        let (table, trailer) = (192, whole.len() - 64);
        for at in table..trailer {
            for value in [0u8, 1, 7, 0x7f, 0xff] {
                std::fs::write(&path, with_bytes(&whole, at, &[value])).unwrap();
                // Whatever is taken is inside of the file.
                for field in read(&path).iter().flat_map(|table| &table.fields) {
                    let end = field.section.offset + field.entry.bytes();
                    assert!(end <= table as u64, "byte {at} as {value}");
                }
            }
        }
    }
}

/// A field by index has as many places as its list has indices, of the same whole.
#[test]
fn a_field_that_does_not_fit_its_index_list_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_by_index(dir.path());
    let whole = std::fs::read(&path).unwrap();
    let (nodes, t) = (192, 192 + 88);
    let other = "another shape than its index list";
    let many = "more indices than a whole can have";
    for (at, number, told) in [
        // The list: its whole, and the number of its indices.
        (nodes + 48, 8, other),
        (nodes + 48, 4, many),
        (nodes + 48, u64::MAX, many),
        (nodes + 56, 4, other),
        (nodes + 56, 10, many),
        // The field: its places, the rest of its extents, its whole, and the number of its list.
        (t + 40, 4, other),
        (t + 48, 2, other),
        (t + 56, 10, other),
        (t + 64, 2, other),
        (t + 72, 1, other),
        (t + 72, 2, other),
        (t + 72, u64::MAX, other),
    ] {
        std::fs::write(&path, with_bytes(&whole, at, &eight(number))).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains(told), "{at} {number}: {error}");
    }
    // The list as a field of each rank's own, and the field as a list.
    for (at, role) in [(nodes + 4, 0u8), (t + 4, 4)] {
        std::fs::write(&path, with_bytes(&whole, at, &[role])).unwrap();
        assert!(read(&path).is_err(), "{at}");
    }
    // The first index may have any number.
    std::fs::write(&path, with_bytes(&whole, nodes + 64, &eight(u64::MAX))).unwrap();
    assert!(read(&path).is_ok());
}

/// The size is right, and the message does not name it.
#[test]
fn a_table_at_another_place_is_told_and_no_size() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path());
    let mut bytes = std::fs::read(&path).unwrap();
    let trailer = bytes.len() - 64;
    bytes[trailer + 16] ^= 8;
    let sum = crc32fast::hash(&bytes[trailer..trailer + 60]);
    bytes[trailer + 60..].copy_from_slice(&sum.to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("does not end at the trailer"), "{error}");
    assert!(!error.contains("should have"), "{error}");
}

/// Between two small fields, so that the file has pieces of all kinds.
#[test]
fn a_large_field_with_strides_is_packed_in_whole_blocks() {
    const COUNT: usize = (3 << 20) / 4 + 12_345;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rank_0.fields");
    let file = Posix.create(&path, 0o666).unwrap();
    let mut writer = Writer::new(file, 0, 1, Box::new(()));
    let mut data: Vec<i32> = (0..3 * COUNT as i32).collect();
    let mut put = |name: &str, extents: &[i64], first: usize| {
        let spec = Spec {
            name,
            kind: I32,
            extents,
            strides: Some(&[-12]),
            place: Place::Own,
        };
        let (entry, strides) = check(name.to_string(), &spec, Order::Row, true).unwrap();
        let memory = Slice::from(&mut data, first);
        writer.put(entry, &strides, Some(&memory)).unwrap();
    };
    put("before", &[3], 6);
    put("large", &[COUNT as i64], 3 * COUNT - 1);
    put("behind", &[2], 5);
    let written = writer.finish((0, 1), 0, true).unwrap();
    let content = std::fs::read(&path).unwrap();
    assert_eq!(crc32fast::hash(&content), written.crc);
    let firsts = [(6, 3), (3 * COUNT - 1, COUNT), (5, 2)];
    for (stored, (first, count)) in written.fields.iter().zip(firsts) {
        let section = &stored.section;
        let bytes = &content[section.offset as usize..][..4 * count];
        let numbers = (0..count).flat_map(|i| (first as i32 - 3 * i as i32).to_le_bytes());
        assert!(numbers.eq(bytes.iter().copied()), "{}", stored.entry.name);
        let blocks = bytes.chunks(section.block as usize).map(crc32fast::hash);
        assert!(blocks.eq(section.blocks.iter().copied()));
        assert_eq!(section.crc, crc32fast::hash(bytes));
    }
}
