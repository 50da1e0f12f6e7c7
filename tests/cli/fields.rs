//! Fields of datasets: `scr inspect --fields`, `scr extract --field`.

use crate::fields_on_ranks::{Part, Random, cut, elements, list_part, save};
use crate::json::{as_documented, parsed};
use crate::sandbox::{Said, program, said};
use crate::site::{Site, nodes};
use scr::fields::{Class, Kind, List, Order, Place, Slice, Spec};
use std::path::Path;

/// A site whose checkpoints go to the prefix directory.
pub fn site(containers: bool) -> Site {
    Site::new()
        .set("SCR_FLUSH", "1")
        .set("SCR_COPY_TYPE", "SINGLE")
        .set("SCR_USE_CONTAINERS", if containers { "1" } else { "0" })
        .set("SCR_CONTAINER_SIZE", "1m")
}

pub fn scr(site: &Site, args: &[&str]) -> Said {
    let mut command = program("scr", args);
    said(command.current_dir(site.prefix()).output().unwrap())
}

/// Lists bytes as elements of any kind.
pub fn bytes(
    list: &mut List<'_>,
    name: &str,
    kind: Kind,
    extents: &[i64],
    place: Place<'_>,
    data: &[u8],
) -> scr::Result<()> {
    let spec = Spec {
        name,
        kind,
        extents,
        strides: None,
        place,
    };
    let mut data = data.to_vec();
    list.field(spec, Some(&mut Slice::of_bytes(&mut data, 0)))
}

pub const I32: Kind = Kind::new(Class::Integer, 4);
pub const F64: Kind = Kind::new(Class::Real, 8);

/// Writes a whole of these extents in random boxes, with other fields, on so many ranks.
fn write(site: &Site, ranks: usize, name: &str, whole: &[i64], seed: u64) {
    let parts = cut(whole, ranks, &mut Random(seed));
    site.run(&nodes(ranks), |rank| {
        let me = rank.rank;
        let mut grid = elements(whole, &parts[me], 0.5);
        let own: Vec<u8> = (0..=me as i32).flat_map(i32::to_le_bytes).collect();
        save(rank, name, |list| {
            list_part(list, "grid", whole, &parts[me], &mut grid)?;
            list.set_order(Order::Column);
            column(list, &parts[me], whole)?;
            list.set_order(Order::Row);
            bytes(list, "own", I32, &[me as i64 + 1], Place::Own, &own)?;
            list.count("cells", &mut 1)?;
            list.begin("cell 0")?;
            let text = Kind::new(Class::Character, 5);
            bytes(list, "name", text, &[2], Place::Same, b"watersteam")?;
            list.end()?;
            let truth = Kind::new(Class::Logical, 4);
            bytes(
                list,
                "on",
                truth,
                &[3],
                Place::Same,
                &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff],
            )
        })
        .unwrap();
    });
}

/// Lists the whole as a program names it whose first index is the fastest.
fn column(list: &mut List<'_>, (at, extents): &Part, whole: &[i64]) -> scr::Result<()> {
    let turned = |numbers: &[i64]| numbers.iter().rev().copied().collect::<Vec<i64>>();
    let data = elements(whole, &(at.clone(), extents.clone()), 0.25);
    let data: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
    let (at, whole) = (turned(at), turned(whole));
    let place = Place::Part {
        whole: &whole,
        at: &at,
    };
    bytes(list, "fort", F64, &turned(extents), place, &data)
}

/// A file of numpy as the format's description has it.
pub fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}")
        .into_bytes();
    text.resize((10 + text.len() + 1).next_multiple_of(64) - 11, b' ');
    text.push(b'\n');
    let length = (text.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], &text, data].concat()
}

/// The elements of a whole that are their numbers and a fraction.
fn numbers(whole: &[i64], add: f64) -> Vec<u8> {
    let all = elements(whole, &(vec![0; whole.len()], whole.to_vec()), add);
    all.iter().flat_map(|x| x.to_le_bytes()).collect()
}

pub fn extracted(site: &Site, dataset: &str, field: &str, more: &[&str]) -> Vec<u8> {
    let to = site.outside();
    let _ = std::fs::remove_file(&to);
    let args = ["extract", dataset, "--field", field, "-o"];
    let args = [&args[..], &[to.to_str().unwrap()], more].concat();
    let out = scr(site, &args).out();
    let data = std::fs::read(&to).unwrap();
    let told = format!("field \"{field}\"");
    assert!(out.contains(&told) && out.contains(&format!(", {} bytes", data.len())));
    data
}

#[test]
fn the_fields_of_a_dataset_are_listed() {
    let site = site(false);
    // One of the boxes is empty.
    write(&site, 3, "ck", &[9, 7], 5);
    let out = scr(&site, &["inspect", "--fields", "ck"]).out();
    let expected = "\
Dataset 1 (`ck'): 6 fields of 3 ranks
TYPE         SHAPE    WHOSE  RANKS  BYTES  NAME
float64      9x7      part       2    504  grid
float64      7x9      part       2    504  fort
int32        differs  own        3     24  own
int64        -        count      3      8  cells
character(5) 2        same       3     10  cell 0/name
logical32    3        same       3     12  on
";
    let squeezed = |text: &str| {
        let lines = text.lines().map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.join(" ")
        });
        lines.collect::<Vec<_>>()
    };
    assert_eq!(squeezed(&out), squeezed(expected), "{out}");
    let document = parsed(&scr(&site, &["inspect", "--fields", "1", "--json"]).out());
    let fields = &document["dataset"]["fields"];
    assert_eq!(fields[1]["shape"], serde_json::json!([7, 9]));
    assert_eq!(fields[1]["order"], "column");
    assert_eq!(fields[2]["shape"], serde_json::Value::Null);
    assert_eq!(fields[3]["whose"], "count");
    assert_eq!(fields[4]["bytes"], 10);
    // A name that is not UTF-8 has its bytes, too.
    let odd = scr::format::Name::new(&b"odd\xff"[..]);
    site.run(&nodes(1), |rank| {
        let flags = Ok((true, false));
        scr::fields::checkpoint(&mut rank.session, Some(odd.clone()), flags, &mut |list| {
            bytes(list, "x", I32, &[], Place::Same, &[7, 0, 0, 0])
        })
        .unwrap();
    });
    let other = parsed(&scr(&site, &["inspect", "--fields", "2", "--json"]).out());
    let by_index = crate::by_index::listed();
    as_documented(
        "scr inspect --fields DATASET --json",
        &[document, other, by_index],
    );
}

#[test]
fn a_whole_is_extracted_however_it_was_cut() {
    for (containers, ranks, whole) in [
        (false, 1, vec![5]),
        (true, 4, vec![9, 7]),
        (false, 7, vec![4, 6, 5]),
        (true, 8, vec![3, 2, 4, 1, 5]),
    ] {
        let site = site(containers);
        write(&site, ranks, "ck", &whole, ranks as u64);
        assert_eq!(site.prefix().join("ck").exists(), !containers);
        let shape = |numbers: Vec<String>| match &numbers[..] {
            [one] => format!("({one},)"),
            all => format!("({})", all.join(", ")),
        };
        let forward = shape(whole.iter().map(i64::to_string).collect());
        let backward = shape(whole.iter().rev().map(i64::to_string).collect());
        let expected = npy("<f8", false, &forward, &numbers(&whole, 0.5));
        assert!(extracted(&site, "ck", "grid", &[]) == expected, "{whole:?}");
        let expected = npy("<f8", true, &backward, &numbers(&whole, 0.25));
        assert!(extracted(&site, "1", "fort", &[]) == expected, "{whole:?}");
    }
}

#[test]
fn a_whole_of_many_bands_is_extracted() {
    // 18 MB in boxes of a ninth, which meet in the middle of blocks and of bands.
    let site = site(false);
    let whole = [3, 900, 850];
    let thirds = |rank: i64| {
        (vec![0, 300 * (rank / 3), 283 * (rank % 3)], {
            vec![3, 300, if rank % 3 == 2 { 284 } else { 283 }]
        })
    };
    site.run(&nodes(8), |rank| {
        let part = |rank| thirds(rank as i64);
        // The last rank has two of the nine.
        let (at, mut extents) = part(rank.rank);
        if rank.rank == 7 {
            extents[2] += 284;
        }
        let part = (at, extents);
        let mut grid = elements(&whole, &part, 0.5);
        save(rank, "ck", |list| {
            list_part(list, "grid", &whole, &part, &mut grid)
        })
        .unwrap();
    });
    let expected = npy("<f8", false, "(3, 900, 850)", &numbers(&whole, 0.5));
    assert!(extracted(&site, "ck", "grid", &[]) == expected);
}

#[test]
fn values_of_a_rank_and_of_all_are_extracted() {
    let site = site(true);
    write(&site, 3, "ck", &[9, 7], 5);
    let own = npy("<i4", false, "(3,)", &[0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(extracted(&site, "ck", "own", &["--rank", "2"]), own);
    let cells = npy("<i8", false, "()", &[1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(extracted(&site, "ck", "cells", &[]), cells);
    assert_eq!(extracted(&site, "ck", "cells", &["--rank", "1"]), cells);
    let name = npy("|S5", false, "(2,)", b"watersteam");
    assert_eq!(extracted(&site, "ck", "cell 0/name", &[]), name);
    let on = npy("|b1", false, "(3,)", &[1, 0, 1]);
    assert_eq!(extracted(&site, "ck", "on", &[]), on);
    let parts = cut(&[9, 7], 3, &mut Random(5));
    let part = elements(&[9, 7], &parts[1], 0.5);
    let part: Vec<u8> = part.iter().flat_map(|x| x.to_le_bytes()).collect();
    let shape = format!("({}, {})", parts[1].1[0], parts[1].1[1]);
    let part = npy("<f8", false, &shape, &part);
    assert_eq!(extracted(&site, "ck", "grid", &["--rank", "1"]), part);
}

#[test]
fn what_cannot_be_extracted_is_refused_and_no_file_is_touched() {
    let site = site(false);
    write(&site, 3, "ck", &[9, 7], 5);
    site.run(&nodes(1), |rank| {
        rank.checkpoint("plain").unwrap();
    });
    let to = site.outside();
    let to = to.to_str().unwrap();
    let refused = |args: &[&str], why: &str| {
        let text = scr(&site, &[&["extract"], args].concat()).failed();
        assert!(text.contains(why), "{text}");
    };
    refused(
        &["ck", "--field", "own", "-o", to],
        "choose one with --rank",
    );
    refused(
        &["ck", "--field", "own", "--rank", "3", "-o", to],
        "there is no rank 3: 3 ranks wrote the dataset, 0 to 2",
    );
    refused(
        &["ck", "--field", "none", "-o", to],
        "has no field \"none\"",
    );
    refused(&["nothing", "--field", "grid", "-o", to], "nothing");
    refused(&["plain", "--field", "grid", "-o", to], "has no fields");
    assert!(!Path::new(to).exists());
    std::fs::write(to, "mine").unwrap();
    refused(
        &["ck", "--field", "grid", "-o", to],
        "another file is there",
    );
    assert_eq!(std::fs::read_to_string(to).unwrap(), "mine");
    scr(
        &site,
        &["extract", "ck", "--field", "grid", "-o", to, "--force"],
    )
    .out();
    assert_eq!(
        std::fs::read(to).unwrap(),
        npy("<f8", false, "(9, 7)", &numbers(&[9, 7], 0.5))
    );
    let text = scr(&site, &["inspect", "--fields", "plain"]).failed();
    assert!(text.contains("has no fields"), "{text}");
    for args in [
        &["extract", "ck", "--field", "grid"][..],
        &["extract", "ck", "-o", to],
        &["extract", "ck", "--field", "grid", "-o", to, "--to", to],
        &["inspect", "--fields", "ck", "--id", "1"],
    ] {
        assert_eq!(scr(&site, args).code, 2, "{args:?}");
    }
}

#[test]
fn damage_is_named_and_leaves_no_file() {
    let site = site(false);
    write(&site, 2, "ck", &[9, 7], 5);
    let file = site.prefix().join("ck/rank_1.fields");
    let whole = std::fs::read(&file).unwrap();
    let to = site.outside();
    let extract = || {
        let args = [
            "extract",
            "ck",
            "--field",
            "grid",
            "-o",
            to.to_str().unwrap(),
        ];
        let text = scr(&site, &args).failed();
        let left = std::fs::read_dir(to.parent().unwrap()).unwrap();
        let left = left.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().contains("extract")
        });
        assert_eq!(left.count(), 0);
        assert!(!to.exists() && text.contains("rank_1.fields"), "{text}");
        text
    };
    let mut flipped = whole.clone();
    flipped[64] ^= 1;
    std::fs::write(&file, &flipped).unwrap();
    let text = extract();
    assert!(
        text.contains("field \"grid\" is damaged: the bytes of the block at 64"),
        "{text}"
    );
    std::fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    extract();
    // The file of the other rank: whole, and still not the right one.
    std::fs::copy(site.prefix().join("ck/rank_0.fields"), &file).unwrap();
    assert!(extract().contains("is the file of rank 0 of 2"));
    std::fs::remove_file(&file).unwrap();
    extract();
}
