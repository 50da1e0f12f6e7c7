//! The files of all boxes: one for each group of ranks. A reader finds there which rank has a part of a whole, and where
//! in the file of that rank, without opening each of them. `docs/formats/fields.md` has the bytes. A restart does not
//! need them.

use super::entry::{Entry, Order, Role};
use super::file::{ENDS, Reader, Stored, place_for, sealed, unsealed};
use super::kind::Kind;
use super::words::{Messages, Words, exchange};
use crate::comm::Communicator;
use crate::format::Name;
use crate::store::File;
use crate::system::size::scaled;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// Ranks in a group. The first of them writes its file.
const GROUP: usize = 256;

const MAGIC: &[u8; 8] = b"SCRBOXES";

/// The group of a rank, if it is the first of it.
pub fn group_led_by(rank: usize) -> Option<usize> {
    let group = scaled(GROUP);
    rank.is_multiple_of(group).then_some(rank / group)
}

/// The name of the file of a group in a dataset, relative to the prefix directory.
pub fn file_of_group(dataset: &Name, group: usize) -> PathBuf {
    dataset.as_path().join(format!("fields_{group}.boxes"))
}

/// The fields of a group of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boxes {
    /// The first rank of the group.
    pub first: u64,
    /// How many ranks are in the group.
    pub count: u64,
    /// How many ranks wrote the dataset.
    pub ranks: u64,
    /// The fields, in the order of the program; their extents and first indices are 0.
    pub list: Vec<Entry>,
    /// Extents and first indices of all fields, rank after rank.
    numbers: Vec<u64>,
}

impl Boxes {
    /// The fields of a rank of the group, each with the place in that rank's file where it begins.
    ///
    /// # Errors
    /// The rank is not in the group, or its numbers cannot be right.
    pub fn of_rank(&self, rank: u64) -> Result<Vec<(Entry, u64)>> {
        let each = numbers_in(&self.list);
        let at = rank.checked_sub(self.first).filter(|at| *at < self.count);
        let begin = at.map_or(usize::MAX, |at| at as usize * each);
        let numbers = self.numbers.get(begin..).unwrap_or_default();
        let mut numbers = numbers.iter().copied();
        let mut take = |count: usize| {
            (0..count)
                .map_while(|_| numbers.next())
                .collect::<Vec<u64>>()
        };
        let mut end = ENDS;
        let mut fields = Vec::new();
        for entry in &self.list {
            let wrong = || {
                let what = format!(
                    "field \"{}\" of rank {rank} has impossible extents",
                    entry.name
                );
                Error::format(0, what)
            };
            let (extents, at) = (take(entry.extents.len()), take(entry.at.len()));
            if (extents.len(), at.len()) != (entry.extents.len(), entry.at.len())
                || begin == usize::MAX
            {
                return Err(wrong());
            }
            let entry = Entry {
                extents,
                at,
                ..entry.clone()
            };
            let bytes = entry.sane_bytes().ok_or_else(wrong)?;
            let place = place_for(end, bytes);
            end = place.checked_add(bytes).ok_or_else(wrong)?;
            fields.push((entry, place));
        }
        Ok(fields)
    }
}

/// How many numbers each rank has.
fn numbers_in(list: &[Entry]) -> usize {
    list.iter()
        .map(|entry| entry.extents.len() + entry.at.len())
        .sum()
}

/// What differs between the ranks of a group: extents, and the first index in the whole.
fn numbers_of(fields: &[Stored]) -> Words {
    let mut words = Words::default();
    for Stored { entry, .. } in fields {
        entry.extents.iter().for_each(|extent| words.put(*extent));
        entry.at.iter().for_each(|at| words.put(*at));
    }
    words
}

/// The bytes of the file of a group, on the first rank of it. Collective; one round.
pub fn gather(comm: &dyn Communicator, fields: &[Stored]) -> Result<Option<Vec<u8>>> {
    gather_in(comm, scaled(GROUP), fields)
}

fn gather_in(comm: &dyn Communicator, group: usize, fields: &[Stored]) -> Result<Option<Vec<u8>>> {
    let (me, size) = (comm.rank(), comm.size());
    let first = me / group * group;
    let mut messages = Messages::new();
    messages.insert(first, numbers_of(fields));
    // In the order of the ranks.
    let received = exchange(comm, messages)?;
    if me != first {
        return Ok(None);
    }
    let mut body = Vec::new();
    fields
        .iter()
        .for_each(|field| encode(&mut body, &field.entry));
    received
        .into_iter()
        .for_each(|(_, numbers)| body.extend(numbers));
    let count = group.min(size - first);
    let header = sealed(
        MAGIC,
        &[
            &(first as u64).to_le_bytes(),
            &(count as u64).to_le_bytes(),
            &(size as u64).to_le_bytes(),
            &(body.len() as u64).to_le_bytes(),
            &(fields.len() as u32).to_le_bytes(),
            &crc32fast::hash(&body).to_le_bytes(),
        ],
    );
    Ok(Some([&header[..], &body].concat()))
}

/// What is the same of a field on all ranks.
fn encode(out: &mut Vec<u8>, entry: &Entry) {
    out.extend([
        entry.role as u8,
        entry.order as u8,
        entry.extents.len() as u8,
        0,
    ]);
    out.extend(entry.kind.code().to_le_bytes());
    out.extend((entry.name.len() as u64).to_le_bytes());
    entry
        .whole
        .iter()
        .for_each(|extent| out.extend(extent.to_le_bytes()));
    out.extend(entry.name.as_bytes());
    out.resize(out.len().next_multiple_of(8), 0);
}

/// Reads the file of a group.
///
/// # Errors
/// It cannot be read, or is no such file, or is cut or damaged.
pub fn read_boxes(file: &dyn File, path: &Path) -> Result<Boxes> {
    decode_file(file).map_err(|error| error.in_file(path))
}

fn decode_file(file: &dyn File) -> Result<Boxes> {
    let size = file.size()?;
    let cut = || Error::format(0, format!("is no file of boxes: it has {size} bytes"));
    let mut header = [0; ENDS as usize];
    let length = size.checked_sub(ENDS).ok_or_else(cut)?;
    file.read_at(0, &mut header)?;
    let mut reader = unsealed(&header, MAGIC, "header")?;
    let (first, count, ranks) = (reader.u64()?, reader.u64()?, reader.u64()?);
    let (stated, fields, crc) = (reader.u64()?, reader.u32()?, reader.u32()?);
    if stated != length {
        return Err(cut());
    }
    let mut body = vec![0; usize::try_from(length).map_err(|_| cut())?];
    file.read_at(ENDS, &mut body)?;
    if crc32fast::hash(&body) != crc {
        return Err(Error::format(ENDS, "the boxes have a wrong checksum"));
    }
    let mut reader = Reader { bytes: &body };
    let list: Vec<Entry> = (0..fields)
        .map(|_| decode(&mut reader))
        .collect::<Result<_>>()?;
    let numbers = reader.numbers(reader.bytes.len() / 8)?;
    if Some(numbers.len() as u64) != count.checked_mul(numbers_in(&list) as u64) {
        return Err(Error::format(
            0,
            format!("there are not the boxes of {count} ranks"),
        ));
    }
    Ok(Boxes {
        first,
        count,
        ranks,
        list,
        numbers,
    })
}

/// An entry without numbers of a rank: its extents are all 0.
fn decode(reader: &mut Reader<'_>) -> Result<Entry> {
    let bad = |what: &str| Error::format(0, format!("a field has {what}"));
    let [role, order, dims, _] = reader.array()?;
    let role = Role::of_code(role).ok_or_else(|| bad("an unknown role"))?;
    let order = Order::of_code(order).ok_or_else(|| bad("an unknown order"))?;
    let kind = Kind::of_code(reader.u32()?)?;
    let length = usize::try_from(reader.u64()?).map_err(|_| bad("too long a name"))?;
    let dims = usize::from(dims);
    let whole = reader.numbers(if role == Role::Part { dims } else { 0 })?;
    let name = std::str::from_utf8(reader.take(length)?);
    let name = name.map_err(|_| bad("a name that is no text"))?.to_string();
    reader.take(length.next_multiple_of(8) - length)?;
    Ok(Entry {
        name,
        kind,
        role,
        order,
        extents: vec![0; dims],
        at: vec![0; whole.len()],
        whole,
    })
}

#[cfg(test)]
mod tests {
    use super::{gather_in, read_boxes};
    use crate::comm::{Communicator, threads};
    use crate::fields::entry::{Entry, Order, Role};
    use crate::fields::file::read_table;
    use crate::fields::kind::{Class, Kind};
    use crate::fields::memory::Slice;
    use crate::fields::write::Writer;
    use crate::store::Files;
    use crate::store::posix::Posix;
    use std::path::Path;

    fn entry(name: &str, role: Role, extents: &[u64], at: u64) -> Entry {
        let whole = if role == Role::Part {
            vec![30, 100_000]
        } else {
            Vec::new()
        };
        Entry {
            name: name.to_string(),
            kind: Kind::new(Class::Real, 8),
            role,
            order: Order::Column,
            extents: extents.to_vec(),
            at: if role == Role::Part {
                vec![at, 0]
            } else {
                Vec::new()
            },
            whole,
        }
    }

    /// Writes the files of five ranks, and those of the groups of two.
    fn written(dir: &Path) {
        threads::run(5, |comm| {
            let me = comm.rank() as u64;
            let path = dir.join(format!("rank_{me}.fields"));
            let file = Posix.create(&path, 0o666).unwrap();
            let mut writer = Writer::new(file, me, 5);
            for entry in [
                entry("step", Role::Same, &[], 0),
                entry("a long name", Role::Part, &[me + 1, 10_000], 3 * me),
                entry("own", Role::Own, &[100 * me], 0),
                entry("last", Role::Part, &[1, 1], me),
            ] {
                let mut data = vec![me as f64; entry.count() as usize];
                let strides: Vec<i64> = crate::fields::walk::row_major(&entry.extents, 8);
                let memory = Slice::new(&mut data);
                writer.put(entry, &strides, Some(&memory)).unwrap();
            }
            let bytes = gather_in(&*comm, 2, &writer.fields).unwrap();
            writer.finish((me, 5), 1, true).unwrap();
            assert_eq!(bytes.is_some(), me.is_multiple_of(2));
            if let Some(bytes) = bytes {
                std::fs::write(dir.join(format!("fields_{}.boxes", me / 2)), bytes).unwrap();
            }
        });
    }

    #[test]
    fn the_files_of_the_groups_have_what_the_files_of_the_ranks_have() {
        let dir = tempfile::tempdir().unwrap();
        written(dir.path());
        let mut ranks = 0;
        for group in 0..3 {
            let path = dir.path().join(format!("fields_{group}.boxes"));
            let boxes = read_boxes(&*Posix.open(&path).unwrap(), &path).unwrap();
            assert_eq!((boxes.first, boxes.ranks), (2 * group, 5));
            for rank in boxes.first..boxes.first + boxes.count {
                let path = dir.path().join(format!("rank_{rank}.fields"));
                let table = read_table(&*Posix.open(&path).unwrap(), &path).unwrap();
                let stored = table.fields.into_iter();
                let stored: Vec<_> = stored.map(|f| (f.entry, f.section.offset)).collect();
                assert_eq!(boxes.of_rank(rank).unwrap(), stored);
                ranks += 1;
            }
            assert!(boxes.of_rank(boxes.first + boxes.count).is_err());
        }
        assert_eq!(ranks, 5);
    }

    #[test]
    fn damage_is_an_error_that_names_the_file() {
        let dir = tempfile::tempdir().unwrap();
        written(dir.path());
        let path = dir.path().join("fields_0.boxes");
        let good = std::fs::read(&path).unwrap();
        let mut cases: Vec<Vec<u8>> = (0..good.len()).map(|n| good[..n].to_vec()).collect();
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 0x10;
            cases.push(bytes);
        }
        for bytes in cases {
            std::fs::write(&path, bytes).unwrap();
            let error = read_boxes(&*Posix.open(&path).unwrap(), &path).unwrap_err();
            assert!(error.to_string().contains("fields_0.boxes"), "{error}");
        }
    }
}
