//! Bytes and rows that are copied.

use super::fake::{Cuda, cuda, in_child, load_old, pattern};
use super::places::located;
use scr::device::{Devices, Rectangle, Remote};
use std::cell::RefCell;

/// Numbers from a seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most.max(1)
    }
}

#[test]
fn bytes_arrive_piece_by_piece_in_order() {
    let cuda = cuda();
    let bytes = pattern(100_000, 3);
    let memory = cuda.memory(&bytes);
    let mut devices = Devices::find();
    let found = located(&mut devices, memory + 10);
    let registered = cuda.host(1 << 17);
    for (offset, length, piece) in [
        (-10, 100_000, 1000),
        (0, 99_990, 1 << 20),
        (5, 7, 3),
        (0, 0, 10),
        (100, 4096, 1),
        (3, 9000, 4096),
    ] {
        let expected = &bytes[(offset + 10) as usize..][..length];
        // SAFETY: memory of the library, of this size.
        let pinned = unsafe { std::slice::from_raw_parts_mut(registered, length) };
        for to in [&mut vec![0; length][..], pinned] {
            let (first, mut seen) = (to.as_ptr().addr(), Vec::new());
            let mut arrived = |part: &[u8]| {
                assert_eq!(part.as_ptr().addr(), first + seen.len(), "where it lies");
                assert!(!part.is_empty() && part.len() <= piece);
                seen.extend_from_slice(part);
                Ok(())
            };
            found.copy_to(offset, to, piece, &mut arrived).unwrap();
            assert!(
                seen == expected && to == expected,
                "{offset} {length} {piece}"
            );
        }
        let mut seen = Vec::new();
        let mut arrived = |part: &[u8]| {
            assert!(!part.is_empty() && part.len() <= piece);
            seen.extend_from_slice(part);
            Ok(())
        };
        found
            .show(offset, length as u64, piece, &mut arrived)
            .unwrap();
        assert!(seen == expected, "{offset} {length} {piece}");
    }
    assert_eq!(cuda.pending(), 0);
}

#[test]
fn an_error_of_the_caller_ends_a_copy_and_nothing_is_under_way() {
    let cuda = cuda();
    cuda.set("late", 1);
    let memory = cuda.memory(&pattern(100_000, 4));
    let mut devices = Devices::find();
    let found = located(&mut devices, memory);
    let pinned = cuda.host(100_000);
    for n in [1, 2, 5] {
        let count = RefCell::new(0);
        let mut arrived = |_: &[u8]| {
            *count.borrow_mut() += 1;
            if *count.borrow() == n {
                Err(scr::Error::usage("SCR_Field", "stop"))
            } else {
                Ok(())
            }
        };
        // SAFETY: memory of the library, of this size.
        let to = unsafe { std::slice::from_raw_parts_mut(pinned, 100_000) };
        let error = found.copy_to(0, to, 1000, &mut arrived).unwrap_err();
        assert_eq!(error.to_string(), "SCR_Field: stop");
        assert_eq!(*count.borrow(), n);
        assert_eq!(cuda.pending(), 0);
        *count.borrow_mut() = 0;
        let mut arrived = |_: &[u8]| {
            *count.borrow_mut() += 1;
            if *count.borrow() == n {
                Err(scr::Error::usage("SCR_Field", "stop"))
            } else {
                Ok(())
            }
        };
        assert!(found.show(0, 100_000, 1000, &mut arrived).is_err());
        assert_eq!(cuda.pending(), 0);
    }
}

/// Random rectangles that do not overlap, in memory of this size. Rows of one may lie between those of another, and some are
/// planes at equal distances.
fn rectangles(random: &mut Random, size: usize) -> Vec<Rectangle> {
    let mut all = Vec::new();
    let mut at = 0;
    while at + 64 < size as u64 {
        let most = if random.below(4) == 0 { 3000 } else { 20 };
        let width = 1 + random.below(most);
        let gap = if random.below(3) == 0 {
            0
        } else {
            random.below(50)
        };
        let most = if random.below(3) == 0 { 1 } else { 60 };
        let rows = 1 + random.below(most);
        let all_bytes = (rows - 1) * (width + gap) + width;
        if at + all_bytes > size as u64 {
            break;
        }
        let (first, pitch) = if random.below(2) == 0 {
            (at, (width + gap) as i64)
        } else {
            (at + (rows - 1) * (width + gap), -((width + gap) as i64))
        };
        // Ghost rows behind a plane, and at times bytes.
        let odd = if random.below(3) == 0 { 1 } else { 0 };
        let distance = (rows + random.below(3)) * (width + gap) + odd;
        let most = if random.below(2) == 0 { 7 } else { 1 };
        let fit = 1 + (size as u64 - at - all_bytes) / distance;
        let planes = (1 + random.below(most)).min(fit);
        let plane = |plane: u64| Rectangle {
            offset: (first + plane * distance) as i64,
            width: width as usize,
            rows: rows as usize,
            pitch,
        };
        let mut planes: Vec<_> = (0..planes).map(plane).collect();
        at += all_bytes + (planes.len() as u64 - 1) * distance + random.below(100);
        if random.below(5) == 0 {
            planes.reverse();
        }
        all.push(planes);
    }
    for i in (1..all.len()).rev() {
        all.swap(i, random.below(i as u64 + 1) as usize);
    }
    all.concat()
}

/// The offsets of the rows, with their width, one after the other.
fn rows(all: &[Rectangle]) -> impl Iterator<Item = (i64, usize)> {
    all.iter()
        .flat_map(|one| (0..one.rows as i64).map(|row| (one.offset + row * one.pitch, one.width)))
}

/// Gathers and scatters rectangles of memory of which the first element is byte `first`.
fn try_rows(cuda: &Cuda, all: &[Rectangle], size: usize, first: usize, seed: u64) {
    let bytes = pattern(size, seed);
    let memory = cuda.memory(&bytes);
    let mut devices = Devices::find();
    let mut found = located(&mut devices, memory + first);
    let place = |offset: i64| (offset + first as i64) as usize;
    let expected: Vec<u8> = rows(all)
        .flat_map(|(offset, width)| bytes[place(offset)..][..width].to_vec())
        .collect();
    let new = pattern(expected.len(), seed + 1);
    let mut after = bytes.clone();
    let mut at = 0;
    for (offset, width) in rows(all) {
        after[place(offset)..][..width].copy_from_slice(&new[at..at + width]);
        at += width;
    }
    let mut pageable = vec![0; expected.len()];
    let length = expected.len().max(1);
    // SAFETY: memory of the library, of this size.
    let pinned = unsafe { std::slice::from_raw_parts_mut(cuda.host(length), expected.len()) };
    for to in [&mut pageable[..], pinned] {
        found.gather(all, to).unwrap();
        assert!(to == expected, "gather, seed {seed}");
        to.copy_from_slice(&new);
        found.scatter(all, to).unwrap();
        assert_eq!(cuda.pending(), 0);
        assert!(cuda.bytes(memory, size) == after, "scatter, seed {seed}");
        cuda.fill(memory, &bytes);
    }
    cuda.free(memory);
}

#[test]
fn rows_of_rectangles_go_out_and_come_back() {
    let cuda = cuda();
    cuda.fail("cuMemcpy3DAsync_v2", 0, 0);
    for seed in 1..40 {
        cuda.set("late", (seed % 2) as i64);
        // Where the driver takes no planes, or not all, rows are copied plane by plane.
        cuda.set("planes_refused", (seed / 2 % 4) as i64);
        let size = if seed % 10 == 0 { 3 << 20 } else { 30_000 };
        let mut random = Random(seed * 0x9E37_79B9);
        let first = random.below(size as u64 / 2) as usize;
        let mut all = rectangles(&mut random, size);
        for one in &mut all {
            one.offset -= first as i64;
        }
        try_rows(&cuda, &all, size, first, seed);
    }
    try_rows(&cuda, &[], 10, 0, 50);
    let copies = cuda.calls("cuMemcpy3DAsync_v2");
    assert!(copies > 100, "{copies}");
}

/// The rows of a box are in few copies, whatever memory they go to.
#[test]
fn planes_at_equal_distances_are_one_copy() {
    let cuda = cuda();
    let calls = |planes: &[Rectangle], bytes: usize| {
        let size = 4 << 20;
        let memory = cuda.memory(&pattern(size, 12));
        let mut found = located(&mut Devices::find(), memory);
        // SAFETY: memory of the library, of this size.
        let pinned = unsafe { std::slice::from_raw_parts_mut(cuda.host(bytes), bytes) };
        let mut both = Vec::new();
        for to in [&mut vec![0; bytes][..], pinned] {
            for name in ["cuMemcpy3DAsync_v2", "cuMemcpy2DAsync_v2"] {
                cuda.fail(name, 0, 0);
            }
            found.gather(planes, to).unwrap();
            found.scatter(planes, to).unwrap();
            both.push((
                cuda.calls("cuMemcpy3DAsync_v2"),
                cuda.calls("cuMemcpy2DAsync_v2"),
            ));
        }
        cuda.free(memory);
        assert_eq!(both[0], both[1]);
        both[0]
    };
    let planes = |count: i64, distance: i64, pitch: i64| -> Vec<Rectangle> {
        let plane = |number| Rectangle {
            offset: 1000 + number * distance,
            width: 64,
            rows: 10,
            pitch,
        };
        (0..count).map(plane).collect()
    };
    let bytes = 640 * 100;
    assert_eq!(calls(&planes(100, 1200, 80), bytes), (2, 0), "ghost cells");
    assert_eq!(calls(&planes(100, 800, 80), bytes), (2, 0), "ghost rows");
    // What a driver cannot describe.
    assert_eq!(calls(&planes(100, 1210, 80), bytes), (0, 200));
    let turned = planes(100, 1200, 80).into_iter().rev().collect::<Vec<_>>();
    assert_eq!(calls(&turned, bytes), (0, 200));
    // Two boxes, and a rectangle beside them.
    let mut two = planes(40, 1200, 80);
    two.extend(planes(20, 1600, 80).iter().map(|one| Rectangle {
        offset: one.offset + 100_000,
        ..*one
    }));
    two.push(Rectangle {
        offset: 3 << 20,
        width: 32,
        rows: 20,
        pitch: 100,
    });
    assert_eq!(calls(&two, 640 * 61), (4, 2));
    cuda.set("planes_refused", 1);
    assert_eq!(calls(&planes(100, 1200, 80), bytes), (2, 200));
}

#[test]
fn a_library_without_copies_of_planes_has_those_of_rows() {
    let name = "copies::a_library_without_copies_of_planes_has_those_of_rows";
    in_child(name, || {
        load_old();
        let cuda = cuda();
        for seed in 1..10 {
            let mut random = Random(seed * 0x9E37_79B9);
            let all = rectangles(&mut random, 30_000);
            try_rows(&cuda, &all, 30_000, 0, seed);
        }
        assert_eq!(cuda.calls("cuMemcpy3DAsync_v2"), 0);
        assert!(cuda.calls("cuMemcpy2DAsync_v2") > 100);
    });
}

#[test]
fn large_and_odd_rectangles_are_copied_in_parts() {
    let cuda = cuda();
    let one = |offset, width, rows, pitch| Rectangle {
        offset,
        width,
        rows,
        pitch,
    };
    let size = 20 << 20;
    // Rows longer than a buffer, more rows than fit in one, and both from the last to the first.
    try_rows(&cuda, &[one(3, (9 << 20) + 5, 2, 10 << 20)], size, 0, 60);
    try_rows(
        &cuda,
        &[one(10 << 20, (9 << 20) + 5, 2, -(10 << 20))],
        size,
        0,
        61,
    );
    try_rows(&cuda, &[one(0, 3000, 5000, 4000)], size, 0, 62);
    try_rows(&cuda, &[one(0, 3000, 5000, -4000)], size, 4999 * 4000, 63);
    try_rows(&cuda, &[one(0, 4096, 5000, 4096)], size, 0, 64);
    // More planes than fit in a buffer, and larger ones than it.
    let planes = |count: i64, rows: usize, distance: i64| -> Vec<Rectangle> {
        let plane = |number| one(number * distance, 3000, rows, 4000);
        (0..count).map(plane).collect()
    };
    try_rows(&cuda, &planes(50, 100, 404_000), size, 0, 68);
    try_rows(&cuda, &planes(2, 3000, 12_000_000), 24 << 20, 0, 69);
    // Each buffer is used twice, and no copy ends before it must.
    cuda.set("late", 1);
    try_rows(&cuda, &[one(0, 4000, 5000, 4100)], size, 0, 66);
    try_rows(&cuda, &[one(0, 4000, 5000, -4100)], size, 4999 * 4100, 67);
    let (long, short) = (
        one(0, 2 << 20, 5, 3 << 20),
        one(2 << 20, 1 << 19, 5, 3 << 20),
    );
    try_rows(&cuda, &[long, short], size, 0, 65);
}

#[test]
fn rows_that_overlap_are_read_one_by_one() {
    let cuda = cuda();
    let bytes = pattern(1000, 7);
    let memory = cuda.memory(&bytes);
    let found = located(&mut Devices::find(), memory);
    for pitch in [0, 3, -3] {
        let all = [Rectangle {
            offset: 500,
            width: 8,
            rows: 20,
            pitch,
        }];
        let mut to = vec![0; 160];
        found.gather(&all, &mut to).unwrap();
        let expected: Vec<u8> = rows(&all)
            .flat_map(|(at, width)| bytes[at as usize..][..width].to_vec())
            .collect();
        assert_eq!(to, expected);
    }
    // Planes of which each has rows of the one before.
    let all = [0, 100, 200].map(|offset| Rectangle {
        offset,
        width: 8,
        rows: 5,
        pitch: 50,
    });
    let mut to = vec![0; 120];
    found.gather(&all, &mut to).unwrap();
    let expected: Vec<u8> = rows(&all)
        .flat_map(|(at, width)| bytes[at as usize..][..width].to_vec())
        .collect();
    assert_eq!(to, expected);
}

#[test]
fn rows_outside_of_the_memory_are_not_touched() {
    let cuda = cuda();
    let bytes = pattern(1000, 8);
    let memory = cuda.memory(&bytes);
    let mut found = located(&mut Devices::find(), memory);
    let one = |offset, width, rows, pitch| Rectangle {
        offset,
        width,
        rows,
        pitch,
    };
    let wrong = [
        one(0, 10, 101, 10),
        one(-1, 10, 1, 0),
        one(500, 10, 60, -10),
        one(0, 10, usize::MAX, i64::MAX),
    ];
    for wrong in wrong {
        let good = one(0, 10, 1, 0);
        let size = 10_usize.saturating_add(10_usize.saturating_mul(wrong.rows.min(200)));
        assert!(found.gather(&[good, wrong], &mut vec![0; size]).is_err());
        assert!(found.scatter(&[good, wrong], &vec![0; size]).is_err());
    }
    let error = found
        .gather(&[one(0, 10, 2, 10)], &mut [0; 19])
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the rows have 20 bytes, and the host's memory 19"),
        "{error}"
    );
    assert_eq!(cuda.bytes(memory, 1000), bytes);
}

#[test]
fn many_rows_are_waited_for_once() {
    let cuda = cuda();
    let memory = cuda.memory(&pattern(100_000, 9));
    let found = located(&mut Devices::find(), memory);
    let all: Vec<Rectangle> = (0..1000)
        .map(|row| Rectangle {
            offset: row * 100,
            width: 8,
            rows: 1,
            pitch: 0,
        })
        .collect();
    found.gather(&all, &mut vec![0; 8000]).unwrap();
    cuda.fail("cuStreamSynchronize", 0, 0);
    found.gather(&all, &mut vec![0; 8000]).unwrap();
    assert_eq!(cuda.calls("cuStreamSynchronize"), 1);
    let row = [Rectangle {
        offset: 0,
        width: 8,
        rows: 1000,
        pitch: 100,
    }];
    cuda.fail("cuMemcpy2DAsync_v2", 0, 0);
    found.gather(&row, &mut vec![0; 8000]).unwrap();
    assert_eq!(cuda.calls("cuMemcpy2DAsync_v2"), 1);
}

#[test]
fn what_was_made_is_given_back() {
    let cuda = cuda();
    let memory = cuda.memory(&pattern(100_000, 10));
    let before = (cuda.streams(), cuda.pinned(), cuda.registered());
    let mut devices = Devices::find();
    let found = located(&mut devices, memory);
    let mut pages = vec![0_u8; 100_000];
    // SAFETY: the pages live until the pin was dropped.
    let pin = unsafe { found.pin(pages.as_mut_ptr(), pages.len()) }.unwrap();
    found.show(0, 100_000, 5000, &mut |_| Ok(())).unwrap();
    found.copy_to(0, &mut pages, 5000, &mut |_| Ok(())).unwrap();
    assert!(
        cuda.registered() == before.2 + 1 && cuda.pinned() > before.1 && cuda.streams() > before.0
    );
    drop((devices, found));
    assert_eq!((cuda.streams(), cuda.pinned()), (before.0, before.1));
    drop(pin);
    assert_eq!(cuda.registered(), before.2);
}

#[test]
fn pages_are_registered_as_far_as_the_driver_does() {
    let cuda = cuda();
    let memory = cuda.memory(&[1; 10]);
    let found = located(&mut Devices::find(), memory);
    let length = 600 << 20;
    // SAFETY: new memory, of which few pages are touched.
    let pages = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    let before = cuda.current();
    // SAFETY: the pages stay until all pins were dropped.
    let pin = || unsafe { found.pin(pages.cast(), length) };
    for (setting, value, pieces) in [
        ("register_piece", 0, Some(1)),
        ("register_piece", 256 << 20, Some(3)),
        ("register_piece", 1 << 20, None),
        ("register_refused", 1, None),
    ] {
        cuda.set(setting, value);
        let pin = pin();
        assert_eq!(pin.is_some(), pieces.is_some(), "{setting} {value}");
        assert_eq!(cuda.registered(), pieces.unwrap_or(0));
        // A second time it is fast already.
        assert_eq!(pin.is_some(), is_some(&found, pages.cast(), length));
        drop(pin);
        assert_eq!(cuda.registered(), 0);
        cuda.set(setting, 0);
    }
    // The third piece is refused: none stays.
    cuda.set("register_piece", 256 << 20);
    cuda.set("register_count", 2);
    assert!(pin().is_none());
    assert_eq!(cuda.registered(), 0);
    assert_eq!(cuda.current(), before);
    // SAFETY: mapped above.
    unsafe { libc::munmap(pages, length) };
}

fn is_some(found: &scr::device::Located, pages: *mut u8, length: usize) -> bool {
    // SAFETY: the pages stay until the pin was dropped.
    unsafe { found.pin(pages, length) }.is_some()
}

#[test]
fn pieces_go_through_memory_of_the_host_where_pinned_memory_is_refused() {
    let cuda = cuda();
    let bytes = pattern(50_000, 11);
    let memory = cuda.memory(&bytes);
    cuda.set("pinned_refused", 1);
    let mut found = located(&mut Devices::find(), memory);
    let mut seen = Vec::new();
    found
        .show(0, 50_000, 777, &mut |part| {
            seen.extend_from_slice(part);
            Ok(())
        })
        .unwrap();
    assert!(seen == bytes);
    let row = [Rectangle {
        offset: 49_990,
        width: 8,
        rows: 500,
        pitch: -100,
    }];
    let mut to = vec![0; 4000];
    found.gather(&row, &mut to).unwrap();
    found.scatter(&row, &to).unwrap();
    assert!(cuda.bytes(memory, 50_000) == bytes);
    assert_eq!(&to[8..16], &bytes[49_890..49_898]);
}
