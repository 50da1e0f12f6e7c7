//! The file of fields of a rank, as commands read it.
//!
//! An input begins with a byte. If it is not 0, the rest is the table of a file whose elements, ends and checksums
//! are right.

use super::{scratch, worlds};
use scr::fields::index::MOST;
use scr::fields::index::ids::{Encoder, Ids, Run};
use scr::fields::{Class, Given, Indices, Kind, List, Place, Slice, Spec, checkpoint};
use scr::format::{Dataset, Name};
use scr::prefix::paths::Prefix;
use scr::store::posix::Posix;
use scr_jobs::saved_fields::SavedFields;
use std::path::PathBuf;
use std::sync::OnceLock;

const NAME: &str = "ck";

/// Bytes of the header, and of the trailer.
const ENDS: usize = 64;

/// Lists fields of each sort.
fn list(list: &mut List<'_>) -> scr::Result<()> {
    let places = [
        ("own", Place::Own),
        ("same", Place::Same),
        (
            "part",
            Place::Part {
                whole: &[3, 4],
                at: &[0, 0],
            },
        ),
    ];
    for (name, place) in places {
        let spec = Spec {
            name,
            kind: Kind::new(Class::Real, 8),
            extents: &[3, 4],
            strides: None,
            place,
        };
        list.field(spec, Some(&mut Slice::new(&mut [1.5f64; 12])))?;
    }
    list.count("count", &mut 3)?;
    list.index(&Given {
        name: "index",
        indices: Indices::Eight(&[3, 4, 1, 2]),
        first: 1,
        whole: 4,
    })?;
    let known = list.known_index("index")?;
    let by_index = Spec {
        name: "indexed",
        kind: Kind::new(Class::Real, 8),
        extents: &[4, 3],
        strides: None,
        place: Place::Indexed { list: &known },
    };
    list.field(by_index, Some(&mut Slice::new(&mut [1.5f64; 12])))
}

/// A prefix directory with a checkpoint of one rank, and the file of that rank.
fn written() -> &'static (Prefix, PathBuf, Vec<u8>) {
    static WRITTEN: OnceLock<(Prefix, PathBuf, Vec<u8>)> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let base = scratch().join("fields");
        let mut run = worlds::session(&base, "1", "0")
            .expect("an empty directory")
            .expect("SCR is enabled");
        let flags = Ok((true, false));
        let name = Some(Name::from(NAME));
        checkpoint(&mut run, name, flags, &mut list).expect("written");
        let path = base.join("prefix/ck/rank_0.fields");
        let bytes = std::fs::read(&path).expect("flushed");
        (Prefix::new(&base.join("prefix")), path, bytes)
    })
}

/// Where the table of a file begins.
fn table_of(file: &[u8]) -> usize {
    let place = file.len() - ENDS + 16;
    let offset = file[place..place + 8].try_into().expect("eight bytes");
    u64::from_le_bytes(offset) as usize
}

pub fn seeds() -> Vec<Vec<u8>> {
    let (_, _, file) = written();
    let table = &file[table_of(file)..file.len() - ENDS];
    vec![[&[0], &file[..]].concat(), [&[1], table].concat()]
}

/// The file with another table.
fn with_table(file: &[u8], table: &[u8]) -> Vec<u8> {
    let begin = table_of(file);
    let mut trailer = file[file.len() - ENDS..].to_vec();
    let size = (begin + table.len() + ENDS) as u64;
    trailer[24..32].copy_from_slice(&(table.len() as u64).to_le_bytes());
    trailer[40..48].copy_from_slice(&size.to_le_bytes());
    // As many records as there are, if each has its length.
    let (mut rest, mut count) = (table, 0u32);
    while let Some(length) = rest.first_chunk::<4>() {
        let length = (u32::from_le_bytes(*length) as usize).clamp(1, rest.len());
        rest = &rest[length..];
        count += 1;
    }
    trailer[48..52].copy_from_slice(&count.to_le_bytes());
    trailer[52..56].copy_from_slice(&crc32fast::hash(table).to_le_bytes());
    let sum = crc32fast::hash(&trailer[..ENDS - 4]);
    trailer[ENDS - 4..].copy_from_slice(&sum.to_le_bytes());
    [&file[..begin], table, &trailer].concat()
}

/// Reads all fields of a file of these bytes. As it was written, there is no error.
pub fn read(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let (prefix, path, file) = written();
    let made = match kind {
        0 => rest.to_vec(),
        _ => with_table(file, rest),
    };
    std::fs::write(path, &made).expect("a file in memory");
    let read = read_all(prefix);
    assert!(made != *file || read.is_ok(), "{read:?}");
}

fn read_all(prefix: &Prefix) -> scr::Result<()> {
    let dataset = Dataset {
        id: 1,
        name: NAME.into(),
        ..Dataset::default()
    };
    let saved = SavedFields::open(&Posix, prefix, &dataset)?;
    let names: Vec<String> = saved.list()?.into_iter().map(|field| field.name).collect();
    for field in saved.find(&names)? {
        let mut bands = saved.read(&field, 0)?;
        // A few bytes may be a list of very many indices.
        let mut most = 0..100;
        while most.next().is_some() && bands.next_band()?.is_some() {}
    }
    Ok(())
}

/// Index lists of a whole of 1,000, and of the largest one.
pub fn lists() -> Vec<Vec<u8>> {
    let lists: [&[u64]; 5] = [
        &[],
        &[4, 5, 6, 2, 8],
        &[999, 0, 998],
        &[1, 3, 5, 7, 7, 7],
        &[MOST - 1, 0, 1 << 40],
    ];
    let encoded = lists.iter().map(|list| {
        let mut encoder = Encoder::default();
        for first in *list {
            encoder.add(Run {
                first: *first,
                count: 1,
            });
        }
        encoder.finish().bytes
    });
    encoded.collect()
}

/// Reads bytes as an index list. Its runs, written again, are the same list.
pub fn read_list(bytes: &[u8]) {
    for whole in [1000, MOST, u64::MAX] {
        let all = Ids {
            bytes: bytes.to_vec(),
            ..Ids::default()
        };
        let Ok(runs) = all.runs(whole).collect::<scr::Result<Vec<Run>>>() else {
            continue;
        };
        let count = runs
            .iter()
            .fold(0u64, |all, run| all.saturating_add(run.count));
        let ascends = runs.windows(2).all(|pair| pair[0].end() <= pair[1].first);
        let read = Ids::read(bytes.to_vec(), count, whole).expect("it has so many indices");
        assert_eq!(read.ascending, ascends);
        assert!(Ids::read(bytes.to_vec(), count.wrapping_add(1), whole).is_err());
        if count == u64::MAX {
            continue;
        }
        let mut encoder = Encoder::default();
        runs.iter().for_each(|run| encoder.add(*run));
        let again = encoder.finish();
        assert_eq!((again.count, again.ascending), (count, ascends));
        // Runs that follow each other become one.
        let joined = again.runs(whole).collect::<scr::Result<Vec<Run>>>();
        let mut right: Vec<Run> = Vec::new();
        for run in runs {
            match right.last_mut() {
                Some(last) if last.end() == run.first => last.count += run.count,
                _ => right.push(run),
            }
        }
        assert_eq!(joined, Ok(right));
    }
}
