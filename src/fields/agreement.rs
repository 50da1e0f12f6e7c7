//! Checks that all ranks list the same fields, and that their parts make up the wholes.

use super::entry::{Entry, Link, Role, list, wrong};
use super::file::{fingerprint, fingerprint_with};
use super::finding::WrongPlace;
use super::index::cover::{OwnList, ReadBack, first_wrong_index};
use super::messages::{PartBox, Post};
use super::region::{Grid, Region, cell_of, first_overlap, owner};
use crate::comm::{Agreed, Communicator, Local, Term, collective};
use crate::format::{from_message, to_message};
use crate::{Error, Result};
use std::fmt::Write;

/// The properties of a field that must be equal on all ranks, in words. `crc`: of a field that is the same
/// on all ranks, the checksum of its values.
pub fn signature(entry: &Entry, crc: Option<u32>) -> String {
    let mut text = String::new();
    add_signature(&mut text, entry, crc);
    text
}

fn add_signature(text: &mut String, entry: &Entry, crc: Option<u32>) {
    let dims = entry.extents.len();
    let turned = |extents: &[u64]| list(&entry.order.turned(extents));
    // Writing to a string does not fail.
    let _ = write!(text, "\"{}\" ({}, ", entry.name, entry.kind);
    let _ = match entry.role {
        Role::Own => write!(text, "of {dims} dimensions, each rank's own"),
        Role::Part => write!(text, "a part of {}", turned(&entry.whole)),
        Role::Same => write!(text, "{}, the same on all ranks", turned(&entry.extents)),
        Role::Count => write!(text, "a count"),
        Role::Index => match entry.link {
            Link::List { first, shared, .. } => write!(
                text,
                "an index list of {} from {first} on{}",
                turned(&entry.whole),
                if shared { ", shared" } else { "" }
            ),
            _ => Ok(()),
        },
        Role::Bag => write!(text, "a bag"),
        Role::Indexed if entry.is_of_bag() => {
            write!(
                text,
                "elements of {}",
                turned(entry.whole.get(1..).unwrap_or_default())
            )
        }
        Role::Indexed => write!(text, "elements of {}", turned(&entry.whole)),
    };
    if let Link::By(list) = &entry.link {
        let _ = write!(text, " by index \"{list}\"");
    }
    if let Some(crc) = crc {
        let _ = write!(text, ", values with the checksum {crc:08x}");
    }
    text.push(')');
}

/// The number of a list that all ranks have.
pub fn fingerprint_of(signatures: &[String]) -> u64 {
    fingerprint(signatures.join("\n").as_bytes())
}

/// [`fingerprint_of`] the signatures of many fields, which are not kept.
pub fn fingerprint_of_list<'a>(fields: impl Iterator<Item = (&'a Entry, Option<u32>)>) -> u64 {
    let (mut number, mut text) = (fingerprint(&[]), String::new());
    for (entry, crc) in fields {
        add_signature(&mut text, entry, crc);
        number = fingerprint_with(number, text.as_bytes());
        // Between two of them.
        text.clear();
        text.push('\n');
    }
    number
}

/// The lists of the ranks differ: names the first place where this rank's list differs from that of
/// rank 0. An error on each rank whose list does, and `Ok` on the others. Collective; a broadcast.
pub fn first_difference(
    comm: &dyn Communicator,
    call: &'static str,
    ours: &[String],
) -> Result<Local<()>> {
    let mut message = match comm.rank() {
        0 => to_message(ours).unwrap_or_default(),
        _ => Vec::new(),
    };
    collective::bcast(comm, 0, &mut message)?;
    let compared = from_message(&message).and_then(|first: Vec<String>| {
        let count = ours.len().max(first.len());
        let Some(at) = (0..count).find(|at| ours.get(*at) != first.get(*at)) else {
            return Ok(());
        };
        let field = |list: &[String]| list.get(at).map_or("nothing more", String::as_str).to_string();
        let what = format!(
            "all ranks must list the same fields in the same order; as number {} this rank lists {}, and rank 0 lists {}",
            at + 1,
            field(ours),
            field(&first)
        );
        Err(Error::usage(call, what))
    });
    Ok(compared.into())
}

/// Checks that the parts of all ranks make up the whole of each field once, and that their index lists have each index
/// once. `parts` and `lists` are this rank's, and have the same names in the same order on all ranks. An error on one
/// rank names the field and the first place that is wrong; the other ranks get `Ok`.
///
/// Each whole is cut into about as many cells as there are ranks, and one rank looks at the boxes in a
/// cell. So no rank holds the boxes of all. Collective; an exchange and an allreduce, or two, and with index lists those of
/// `first_wrong_index`. `read` reads the file that is being written.
pub fn check_cover(
    comm: &dyn Communicator,
    parts: &[&Entry],
    lists: &[OwnList],
    read: &mut ReadBack<'_>,
) -> Result<Local<()>> {
    let boxes = boxes_of_cells(comm, parts)?;
    let mut first = first_wrong_place(comm, parts, &boxes);
    if !lists.is_empty() {
        let wrong = match first_wrong_index(comm, lists, read)? {
            Ok(wrong) => wrong,
            // Before all others.
            Err(error) => Some(WrongPlace {
                field: 0,
                place: 0,
                error,
            }),
        };
        first = first.or(wrong.map(|wrong| WrongPlace {
            field: parts.len() + wrong.field,
            ..wrong
        }));
    }
    let most = i64::MAX;
    let field = first.as_ref().map_or(most, |wrong| wrong.field as i64);
    let [first_field] = collective::combine(comm, [Term::Min(field)])?.map(Agreed::get);
    if first_field == most {
        return Ok(Ok(()).into());
    }
    let mine = first.filter(|_| field == first_field);
    let place = mine.as_ref().map_or(most, |wrong| wrong.place as i64);
    let [first_place] = collective::combine(comm, [Term::Min(place)])?.map(Agreed::get);
    let mine = mine.filter(|_| place == first_place);
    Ok(mine.map_or(Ok(()), |wrong| Err(wrong.error)).into())
}

/// The boxes that meet this rank's cell of each field, with the ranks that have them. Collective; an exchange.
fn boxes_of_cells(comm: &dyn Communicator, parts: &[&Entry]) -> Result<Vec<Vec<(usize, Region)>>> {
    let size = comm.size();
    let mut post: Post<Vec<PartBox>> = Post::default();
    for (field, part) in parts.iter().enumerate() {
        let region = part.region();
        for cell in Grid::new(&part.whole, size).cells_of(&region) {
            let region = region.clone();
            post.to(owner(field, cell, size))
                .push(PartBox { field, region });
        }
    }
    let mut boxes = vec![Vec::new(); parts.len()];
    for (from, received) in post.exchange(comm)? {
        for part in received {
            part.check(parts.iter().copied())?;
            boxes[part.field].push((from, part.region));
        }
    }
    Ok(boxes)
}

/// The first such element in the cells of this rank. Local.
fn first_wrong_place(
    comm: &dyn Communicator,
    parts: &[&Entry],
    boxes: &[Vec<(usize, Region)>],
) -> Option<WrongPlace> {
    let mut fields = parts.iter().zip(boxes).enumerate();
    fields.find_map(|(field, (part, boxes))| {
        let grid = Grid::new(&part.whole, comm.size());
        let cell = cell_of(field, comm.rank(), comm.size(), &grid)?;
        let (place, error) = wrong_place(part, &grid.cell(cell), boxes)?;
        Some(WrongPlace {
            field,
            place,
            error,
        })
    })
}

/// The first element of a cell that no rank has, or that two have: its number in the whole, and the error.
pub fn wrong_place(part: &Entry, cell: &Region, boxes: &[(usize, Region)]) -> Option<(u64, Error)> {
    if cell.is_empty() {
        return None;
    }
    let clipped: Vec<(usize, Region)> = boxes
        .iter()
        .filter_map(|(rank, region)| Some((*rank, region.meet(cell)?)))
        .collect();
    let regions: Vec<Region> = clipped.iter().map(|(_, region)| region.clone()).collect();
    let covered: u64 = regions
        .iter()
        .map(Region::volume)
        .fold(0, u64::saturating_add);
    let overlap = first_overlap(&regions);
    if overlap.is_none() && covered == cell.volume() {
        return None;
    }
    let number = |index: &[u64]| {
        let places = index.iter().zip(&part.whole);
        places.fold(0, |number: u64, (at, extent)| number * extent + at)
    };
    let (order, whole) = (part.order, list(&part.order.turned(&part.whole)));
    let first = order.first();
    let hole = cell.first_hole(&regions).map(|index| {
        let what = format!(
            "no rank has the element {} of the whole {whole} (indices begin with {first}); the parts of all ranks \
             must make up the whole",
            order.place(&index)
        );
        (number(&index), wrong(&part.name, what))
    });
    let twice = overlap.map(|(a, b, met)| {
        let rank = |at: usize| clipped.get(at).map_or(0, |(rank, _)| *rank);
        let (a, b) = (rank(a).min(rank(b)), rank(a).max(rank(b)));
        let what = format!(
            "ranks {a} and {b} both have the element {} of the whole {whole} (indices begin with {first}); each element \
             belongs to one rank, so leave ghost cells out",
            order.place(&met.at)
        );
        (number(&met.at), wrong(&part.name, what))
    });
    hole.into_iter()
        .chain(twice)
        .min_by_key(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::entry::{Link, Order};
    use crate::fields::kind::{Class, Kind};

    /// The number of a list is stored in each file.
    #[test]
    fn the_number_of_a_list_is_that_of_its_signatures_line_by_line() {
        let entry = |name: &str, role| Entry {
            name: name.to_string(),
            kind: Kind::new(Class::Real, 8),
            role,
            order: Order::Column,
            extents: vec![3, 2],
            whole: vec![5, 4],
            at: vec![0, 0],
            link: Link::None,
        };
        let fields = [
            (entry("a", Role::Own), None),
            (entry("b", Role::Part), None),
            (entry("c", Role::Same), Some(7)),
            (entry("d", Role::Count), None),
        ];
        let text = "\"a\" (float64, of 2 dimensions, each rank's own)\n\
                    \"b\" (float64, a part of [4, 5])\n\
                    \"c\" (float64, [2, 3], the same on all ranks, values with the checksum 00000007)\n\
                    \"d\" (float64, a count)";
        let signatures: Vec<String> = fields
            .iter()
            .map(|(entry, crc)| signature(entry, *crc))
            .collect();
        assert_eq!(signatures.join("\n"), text);
        for count in 0..=fields.len() {
            let some = fields[..count].iter().map(|(entry, crc)| (entry, *crc));
            assert_eq!(
                fingerprint_of_list(some),
                fingerprint_of(&signatures[..count])
            );
        }
    }
}
