//! All engines compared with the field at every length and alignment, and with fixed checksums, so
//! that they agree with each other and with parity of earlier releases.

use super::pages::{LINE, PAGE, Page, Pages};
use super::{Kernel, field};

/// Reproducible noise.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

/// The definition.
fn naive(coefficients: &[u8], sources: &[&[u8]], destinations: &mut [Vec<u8>], add: bool) {
    for (d, to) in destinations.iter_mut().enumerate() {
        for (at, byte) in to.iter_mut().enumerate() {
            let products = sources
                .iter()
                .zip(&coefficients[d * sources.len()..])
                .map(|(s, c)| field::mul(s[at], *c));
            let sum = products.fold(0, |sum, product| sum ^ product);
            *byte = if add { *byte ^ sum } else { sum };
        }
    }
}

/// Compares each kernel with the definition.
fn compare(coefficients: &[u8], sources: &[&[u8]], count: usize, shift: usize) {
    let length = sources.iter().map(|s| s.len()).min().unwrap_or(0);
    let old: Vec<Vec<u8>> = (0..count).map(|d| noise(d as u64 + 99, length)).collect();
    for add in [false, true] {
        let mut expected = old.clone();
        naive(coefficients, sources, &mut expected, add);
        for kernel in Kernel::all() {
            let what = format!(
                "{kernel:?}, {count} from {}, {length} bytes, shift {shift}",
                sources.len()
            );
            // The byte before and after must stay.
            let mut framed: Vec<Vec<u8>> = old
                .iter()
                .map(|bytes| [&vec![7; shift + 1][..], bytes, &[9]].concat())
                .collect();
            let mut slices: Vec<&mut [u8]> = framed
                .iter_mut()
                .map(|bytes| &mut bytes[shift + 1..shift + 1 + length])
                .collect();
            if add {
                for (s, source) in sources.iter().enumerate() {
                    let column: Vec<u8> = (0..count)
                        .map(|d| coefficients[d * sources.len() + s])
                        .collect();
                    kernel.update(&column, source, &mut slices);
                }
            } else {
                kernel.apply(coefficients, sources, &mut slices);
            }
            for (bytes, expected) in framed.iter().zip(&expected) {
                assert_eq!(bytes[shift + 1..shift + 1 + length], expected[..], "{what}");
                assert_eq!((bytes[shift], bytes[shift + 1 + length]), (7, 9), "{what}");
            }
        }
    }
}

#[test]
fn every_engine_multiplies_every_pair_of_elements() {
    let all: Vec<u8> = (0..=255).collect();
    for kernel in Kernel::all() {
        for factor in 0..=255u8 {
            let mut products = vec![0; 256];
            kernel.apply(&[factor], &[&all], &mut [&mut products]);
            for (element, product) in products.iter().enumerate() {
                let expected = field::mul(element as u8, factor);
                assert_eq!(*product, expected, "{kernel:?}: {element} * {factor}");
            }
        }
    }
}

#[test]
fn every_length_and_alignment() {
    let data: Vec<Vec<u8>> = (0..3).map(|s| noise(s + 1, 400)).collect();
    for shift in 0..17 {
        for length in (0..140).chain([191, 192, 193, 255, 256, 300]) {
            let sources: Vec<&[u8]> = data
                .iter()
                .enumerate()
                .map(|(s, bytes)| &bytes[shift + s..shift + s + length])
                .collect();
            compare(&[1, 1, 1], &sources, 1, shift);
            compare(&[29, 0, 142, 1, 3, 255], &sources, 2, shift);
        }
    }
}

/// The last byte of a source is the last of its allocation, so that memory checkers detect a read
/// beyond it.
#[test]
fn every_number_of_sources_and_destinations() {
    for count in 0..=11 {
        for from in 1..=12 {
            let data: Vec<Vec<u8>> = (0..from).map(|s| noise(s as u64 + 1, 2500)).collect();
            let sources: Vec<&[u8]> = data.iter().map(|bytes| &bytes[..]).collect();
            let coefficients = noise((count * 16 + from) as u64 + 5, count * from);
            compare(&coefficients, &sources, count, count % 5);
        }
    }
    for kernel in Kernel::all() {
        let mut rest = vec![5; 10];
        kernel.apply(&[], &[], &mut [&mut rest]);
        assert_eq!(rest, [0; 10]);
    }
}

/// The definition: each line by itself.
fn naive_fold(start: Pages, pages: &[Page]) -> Pages {
    let mut value = start.0;
    for page in pages {
        value = value.map(|byte| field::mul(2, byte));
        for line in page.chunks(LINE) {
            value
                .iter_mut()
                .zip(line)
                .for_each(|(sum, byte)| *sum ^= byte);
        }
    }
    Pages(value)
}

#[test]
fn every_engine_folds_pages_at_every_alignment() {
    let data = noise(5, 4 * PAGE + 64);
    let start = Pages(std::array::from_fn(|at| (at * 19 + 7) as u8));
    for shift in [0, 1, 16, 63] {
        for count in 0..=4 {
            let (pages, _) = data[shift..shift + count * PAGE].as_chunks::<PAGE>();
            for kernel in Kernel::all() {
                let mut found = start;
                kernel.fold(&mut found, pages);
                let expected = naive_fold(start, pages);
                assert_eq!(found, expected, "{kernel:?}, {count} pages, shift {shift}");
            }
        }
    }
}

/// These numbers must never change: caches hold parity of earlier releases.
#[test]
fn parity_has_fixed_checksums() {
    let data: Vec<Vec<u8>> = (0..8).map(|s| noise(s + 1, 10_007)).collect();
    let sources: Vec<&[u8]> = data.iter().map(|bytes| &bytes[..]).collect();
    let coefficients: Vec<u8> = (0..24).map(|i| (i * 37 + 2) as u8).collect();
    for kernel in Kernel::all() {
        let mut parity = vec![vec![0; 10_007]; 3];
        let mut slices: Vec<&mut [u8]> = parity.iter_mut().map(|p| &mut p[..]).collect();
        kernel.apply(&coefficients, &sources, &mut slices);
        let sums: Vec<u32> = parity.iter().map(|p| crc32fast::hash(p)).collect();
        assert_eq!(sums, [0x1eeb_5f67, 0xd166_fa6f, 0x4ce3_b2f7], "{kernel:?}");
    }
}

#[test]
fn the_shortest_slice_rules_and_missing_coefficients_are_zero() {
    for kernel in Kernel::all() {
        let mut dst = [1u8; 20];
        kernel.update(&[1], &[1; 11], &mut [&mut dst]);
        assert_eq!((&dst[..11], &dst[11..]), (&[0; 11][..], &[1; 9][..]));
        let mut dst = [1u8; 20];
        kernel.apply(&[], &[&[3; 20]], &mut [&mut dst[..5]]);
        assert_eq!((&dst[..5], &dst[5..]), (&[0; 5][..], &[1; 15][..]));
    }
}
