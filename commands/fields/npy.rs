//! `scr extract --field`: one field as a file of numpy, `.npy`.

use crate::Outcome;
use crate::call::{Failure, Invocation};
use scr_engine::Error;
use scr_engine::fields::{Class, Kind, Order};
use scr_engine::format::Dataset;
use scr_engine::format::print::escaped;
use scr_engine::prefix::containers::{other_file, temporary_path};
use scr_engine::prefix::paths::Prefix;
use scr_engine::store::{File, FileKind, Files};
use scr_jobs::saved_fields::{Array, Bands, Owner, SavedField, SavedFields};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// The array begins at a multiple of this in the file.
const ALIGNMENT: usize = 64;

/// The field to extract, and the file to write.
pub(crate) struct Wanted<'a> {
    pub field: &'a str,
    pub rank: Option<usize>,
    pub to: &'a Path,
    pub force: bool,
}

/// Writes a field of a dataset to a file.
pub(crate) fn extract(
    call: &mut Invocation,
    files: &dyn Files,
    prefix: &Prefix,
    dataset: &Dataset,
    wanted: &Wanted<'_>,
) -> Outcome {
    let saved = SavedFields::open(files, prefix, dataset)?;
    let found = saved.find(&[wanted.field])?;
    let Some(field) = found.first() else {
        return Ok(ExitCode::FAILURE);
    };
    let bands = chosen(&saved, field, wanted.rank)?;
    check_free(files, wanted)?;
    let shape = super::shape(bands.array());
    let bytes = write(files, bands, wanted)?;
    let (id, name) = (dataset.id, escaped(&dataset.name));
    let to = wanted.to.display();
    writeln!(
        call.out,
        "Dataset {id} (`{name}'): field \"{}\" ({shape}) written to {to}, {bytes} bytes",
        field.name
    )?;
    Ok(ExitCode::SUCCESS)
}

/// The array that the command line asks for.
fn chosen<'a>(
    saved: &'a SavedFields<'_>,
    field: &SavedField,
    rank: Option<usize>,
) -> Result<Bands<'a>, Failure> {
    let ranks = saved.ranks();
    let Some(rank) = rank else {
        return if field.arrays() == 1 {
            Ok(saved.read(field, 0)?)
        } else {
            Err(Failure::said(format!(
                "field \"{}\" is each rank's own, of {ranks} ranks; choose one with --rank",
                field.name
            )))
        };
    };
    let of_rank = match field.owner {
        Owner::All if rank < ranks => Some(saved.read(field, 0)?),
        _ => saved.read_part(field, rank)?,
    };
    of_rank.ok_or_else(|| {
        Failure::said(format!(
            "there is no rank {rank}: {ranks} ranks wrote the dataset, 0 to {}",
            ranks.saturating_sub(1)
        ))
    })
}

/// Checks that the target may be written.
fn check_free(files: &dyn Files, wanted: &Wanted<'_>) -> Result<(), Error> {
    match files.stat(wanted.to)? {
        Some(there) if !wanted.force || there.kind != FileKind::File => Err(other_file(wanted.to)),
        _ => Ok(()),
    }
}

/// Writes the file under a temporary name, and renames it when it is whole.
fn write(files: &dyn Files, bands: Bands<'_>, wanted: &Wanted<'_>) -> Result<u64, Error> {
    let part = temporary_path(wanted.to);
    let placed = fill(&*files.create(&part, 0o666)?, bands).and_then(|bytes| {
        check_free(files, wanted)?;
        files.rename(&part, wanted.to)?;
        Ok(bytes)
    });
    if placed.is_err() {
        // The first error is reported.
        let _ = files.remove_file(&part);
    }
    placed
}

fn fill(file: &dyn File, mut bands: Bands<'_>) -> Result<u64, Error> {
    let kind = bands.array().kind;
    let head = header(bands.array());
    file.write_at(0, &head)?;
    let mut end = head.len() as u64;
    let mut truths = Vec::new();
    while let Some(band) = bands.next_band()? {
        let bytes = if kind.class() == Class::Logical {
            truths.clear();
            let elements = band.chunks_exact(kind.size() as usize);
            truths.extend(elements.map(|element| u8::from(element.iter().any(|byte| *byte != 0))));
            &truths
        } else {
            band
        };
        file.write_at(end, bytes)?;
        end += bytes.len() as u64;
    }
    file.sync()?;
    Ok(end)
}

/// The bytes before the elements: version 1.0 of the format, or 2.0 for a long text.
fn header(array: &Array) -> Vec<u8> {
    let order = match array.order {
        Order::Row => "False",
        Order::Column => "True",
    };
    let shape: String = array.shape().iter().map(|n| format!("{n}, ")).collect();
    // A tuple of one number has a comma.
    let shape = match array.extents.len() {
        1 => shape.trim_end(),
        _ => shape.trim_end_matches(", "),
    };
    let text = format!(
        "{{'descr': '{}', 'fortran_order': {order}, 'shape': ({shape}), }}",
        descr(array.kind)
    );
    let before = b"\x93NUMPY\x01\x00".len() + 2;
    let length = (before + text.len() + 1).next_multiple_of(ALIGNMENT);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    // Seven extents and the longest type are less than 300 letters.
    bytes.extend(((length - before) as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.resize(length - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// The type as numpy writes it. Types that numpy does not have are bytes: integers of 128 bits, and IEEE 754 with
/// half precision in complex numbers or with 128 bits, as `f16` is x87 on the machines where most people have numpy.
fn descr(kind: Kind) -> String {
    let size = kind.size();
    match (kind.class(), size) {
        (Class::Integer | Class::Logical | Class::Unsigned, 0) => format!("|V{size}"),
        (Class::Logical, _) => "|b1".to_string(),
        (Class::Integer, 1) => "|i1".to_string(),
        (Class::Unsigned, 1) => "|u1".to_string(),
        (Class::Integer, 2 | 4 | 8) => format!("<i{size}"),
        (Class::Unsigned, 2 | 4 | 8) => format!("<u{size}"),
        (Class::Real, 2 | 4 | 8) | (Class::Extended, 16) => format!("<f{size}"),
        (Class::Complex, 8 | 16) | (Class::ExtendedComplex, 32) => format!("<c{size}"),
        (Class::Character, _) => format!("|S{size}"),
        _ => format!("|V{size}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Array, descr, header};
    use scr_engine::fields::{Class, Kind, Order};

    #[test]
    fn types_are_those_of_numpy_or_bytes() {
        let of = |class, size| descr(Kind::new(class, size));
        let named = [
            (Class::Integer, 1, "|i1"),
            (Class::Integer, 8, "<i8"),
            (Class::Integer, 16, "|V16"),
            (Class::Unsigned, 1, "|u1"),
            (Class::Unsigned, 4, "<u4"),
            (Class::Real, 2, "<f2"),
            (Class::Real, 8, "<f8"),
            (Class::Real, 16, "|V16"),
            (Class::Complex, 4, "|V4"),
            (Class::Complex, 8, "<c8"),
            (Class::Complex, 16, "<c16"),
            (Class::Complex, 32, "|V32"),
            (Class::Logical, 1, "|b1"),
            (Class::Logical, 4, "|b1"),
            (Class::Character, 7, "|S7"),
            (Class::Bytes, 24, "|V24"),
            (Class::Extended, 12, "|V12"),
            (Class::Extended, 16, "<f16"),
            (Class::ExtendedComplex, 24, "|V24"),
            (Class::ExtendedComplex, 32, "<c32"),
        ];
        for (class, size, expected) in named {
            assert_eq!(of(class, size), expected, "{class:?} {size}");
        }
    }

    #[test]
    fn the_header_is_a_line_before_aligned_elements() {
        let of = |order, extents: &[u64]| {
            let array = Array {
                kind: Kind::new(Class::Real, 8),
                order,
                extents: extents.to_vec(),
                base: None,
            };
            header(&array)
        };
        for (order, extents, text) in [
            (Order::Row, &[][..], "False, 'shape': (), }"),
            (Order::Row, &[3], "False, 'shape': (3,), }"),
            (Order::Row, &[3, 4], "False, 'shape': (3, 4), }"),
            (Order::Column, &[4, 3], "True, 'shape': (3, 4), }"),
            (
                Order::Row,
                &[0; 7],
                "False, 'shape': (0, 0, 0, 0, 0, 0, 0), }",
            ),
        ] {
            let bytes = of(order, extents);
            assert_eq!(bytes.len() % 64, 0);
            assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
            let length = u16::from_le_bytes([bytes[8], bytes[9]]);
            assert_eq!(usize::from(length), bytes.len() - 10);
            let line = std::str::from_utf8(&bytes[10..]).unwrap();
            assert!(line.ends_with('\n'), "{line}");
            let expected = format!("{{'descr': '<f8', 'fortran_order': {text}");
            assert_eq!(line.trim_end(), expected);
        }
        // The longest one.
        assert!(of(Order::Row, &[u64::MAX; 7]).len() < 400);
    }
}
