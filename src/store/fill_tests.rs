//! Files of tmpfs that are filled where they lie, with pins that must not outlive the pages that they are of.

use super::file::PosixFile;
use super::mapping_tests::{SIZE, content, memory, opened, written_over};
use super::{File, Fill, Pin};
use crate::{Error, Result};
use rustix::fd::AsFd;
use rustix::fs::{FallocateFlags, fallocate, ftruncate};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Pins that are counted.
#[derive(Default)]
struct Pins {
    asked: AtomicUsize,
    held: AtomicUsize,
    /// Pages were gone before they were unpinned.
    late: AtomicUsize,
    refuse: AtomicBool,
    /// A name for those who pin.
    who: Option<&'static str>,
}

struct OnePin {
    pins: Arc<Pins>,
    address: usize,
    length: usize,
}

impl Drop for OnePin {
    fn drop(&mut self) {
        let mut pages = vec![0u8; self.length.div_ceil(4096)];
        // SAFETY: the call changes nothing but `pages`, which has a byte for each page.
        let there = unsafe {
            libc::mincore(
                self.address as *mut _,
                self.length,
                pages.as_mut_ptr().cast(),
            )
        };
        // A page beyond the end of the file is not in memory.
        if there != 0 || pages.contains(&0) {
            self.pins.late.fetch_add(1, Relaxed);
        }
        self.pins.held.fetch_sub(1, Relaxed);
    }
}

/// Fills with bytes.
struct Bytes<'a>(&'a [u8], Arc<Pins>);

impl Fill for Bytes<'_> {
    fn pins(&self) -> Option<&'static str> {
        self.1.who
    }

    unsafe fn pin(&self, address: *mut u8, length: usize) -> Option<Pin> {
        let pins = self.1.clone();
        pins.asked.fetch_add(1, Relaxed);
        if pins.refuse.load(Relaxed) {
            return None;
        }
        pins.held.fetch_add(1, Relaxed);
        let address = address.addr();
        Some(Box::new(OnePin {
            pins,
            address,
            length,
        }))
    }

    fn fill(&mut self, to: &mut [u8]) -> Result<()> {
        if self.0.is_empty() {
            to[..7].fill(9);
            return Err(Error::usage("SCR_Field", "the device is lost"));
        }
        to.copy_from_slice(self.0);
        Ok(())
    }
}

/// Those of a driver.
fn new_pins() -> Arc<Pins> {
    pins_of(Some("one"))
}

fn pins_of(who: Option<&'static str>) -> Arc<Pins> {
    Arc::new(Pins {
        who,
        ..Pins::default()
    })
}

impl Pins {
    fn fill(self: &Arc<Pins>, file: &PosixFile, place: usize, data: &[u8]) -> bool {
        let bytes = place as u64..(place + data.len()) as u64;
        file.fill_at(bytes, &mut Bytes(data, self.clone())).unwrap()
    }

    fn numbers(&self) -> (usize, usize, usize) {
        let [asked, held, late] = [&self.asked, &self.held, &self.late].map(|n| n.load(Relaxed));
        (asked, held, late)
    }
}

#[test]
fn bytes_are_filled_where_they_lie_and_the_time_of_change_is_new() {
    let Some(dir) = memory() else { return };
    let (file, path) = written_over(dir.path());
    let pins = new_pins();
    let mut expected = content(1, SIZE);
    let lengths = [64 << 10, (64 << 10) + 1, 100_000, 1 << 20];
    for (number, length) in lengths.into_iter().enumerate() {
        for place in [0, 1, 63, 4097, SIZE - length] {
            let data = content((number + place) as u8 ^ 0x5a, length);
            expected[place..place + length].copy_from_slice(&data);
            let time = || std::fs::metadata(&path).unwrap().modified().unwrap();
            let before = time();
            thread::sleep(Duration::from_millis(10));
            assert!(pins.fill(&file, place, &data));
            assert!(time() > before, "{length} at {place}");
            // What the library writes itself in between is known.
            file.write_at(place as u64, &data[..100]).unwrap();
        }
    }
    assert!(std::fs::read(&path).unwrap() == expected);
    assert_eq!(pins.numbers(), (1, 1, 0), "pinned once");
    drop(file);
    assert_eq!(pins.numbers(), (1, 0, 0), "before the pages go");
}

#[test]
fn nothing_is_filled_where_the_mapping_cannot_be_used() {
    let Some(dir) = memory() else { return };
    let (file, path) = written_over(dir.path());
    let pins = new_pins();
    let data = content(2, 256 << 10);
    assert!(!pins.fill(&file, 0, &data[..(64 << 10) - 1]));
    assert!(!pins.fill(&file, SIZE - data.len() + 1, &data));
    let reader = std::fs::File::open(&path).unwrap();
    assert!(!pins.fill(&file, 0, &data));
    drop(reader);
    assert!(pins.fill(&file, 0, &data));
    // Without the look at the size this test ends by SIGBUS.
    ftruncate(file.descriptor().unwrap(), 1 << 20).unwrap();
    assert!(!pins.fill(&file, 1 << 20, &data));
    let new = opened(&dir.path().join("new2"));
    new.write_at(0, &content(1, SIZE)).unwrap();
    assert!(!pins.fill(&new, 0, &data), "it is not mapped");
}

#[test]
fn an_error_of_who_fills_is_that_of_the_call_and_not_of_the_file() {
    let Some(dir) = memory() else { return };
    let (file, _path) = written_over(dir.path());
    let pins = new_pins();
    let error = file
        .fill_at(0..SIZE as u64, &mut Bytes(&[], pins.clone()))
        .unwrap_err();
    assert!(error.to_string().contains("the device is lost"));
    assert!(pins.fill(&file, 0, &content(3, SIZE)));
    assert_eq!(pins.numbers(), (1, 1, 0));
}

#[test]
fn a_refusal_to_pin_is_asked_for_once() {
    let Some(dir) = memory() else { return };
    let (file, _path) = written_over(dir.path());
    let pins = new_pins();
    pins.refuse.store(true, Relaxed);
    for seed in 0..3 {
        assert!(pins.fill(&file, 0, &content(seed, SIZE)));
    }
    let mut again = opened(&dir.path().join("new"));
    assert!(again.take_over(Box::new(file).keep().unwrap()).is_none());
    assert!(pins.fill(&again, 0, &content(4, SIZE)));
    assert_eq!(pins.numbers(), (1, 0, 0));
}

/// Who cannot pin must not make the copies of others slow, as long as the file is kept.
#[test]
fn a_refusal_is_that_of_one_driver() {
    let Some(dir) = memory() else { return };
    let (file, _path) = written_over(dir.path());
    let data = content(8, SIZE);
    let [function, first, second] = [None, Some("one"), Some("two")].map(pins_of);
    first.refuse.store(true, Relaxed);
    for _ in 0..2 {
        assert!(function.fill(&file, 0, &data));
        assert_eq!(function.numbers(), (0, 0, 0), "nobody is asked");
        assert!(first.fill(&file, 0, &data));
        assert_eq!(first.numbers(), (1, 0, 0));
        assert!(second.fill(&file, 0, &data));
        assert_eq!(second.numbers(), (1, 1, 0), "and its pins stay");
    }
    // Also where the refusal comes when others hold pins that do not reach far enough.
    file.write_at(0, &data[..100]).unwrap();
    file.set_size(SIZE as u64 - 1).unwrap();
    assert_eq!(second.numbers(), (1, 0, 0));
    assert!(first.fill(&file, 0, &data[..SIZE / 2]));
    assert!(second.fill(&file, 0, &data[..SIZE / 2]));
    assert_eq!((first.numbers().0, second.numbers()), (1, (2, 1, 0)));
}

#[test]
fn pinned_pages_are_unpinned_before_the_library_cuts_the_file() {
    let Some(dir) = memory() else { return };
    let (file, path) = written_over(dir.path());
    let pins = new_pins();
    let data = content(5, SIZE);
    assert!(pins.fill(&file, 0, &data));
    file.set_size(2 << 20).unwrap();
    assert_eq!(pins.numbers(), (1, 0, 0));
    assert!(pins.fill(&file, 0, &data[..2 << 20]));
    assert_eq!(pins.numbers(), (2, 1, 0), "what is left is pinned");
    // It grows, and the new pages are pinned, too.
    file.write_at(0, &data).unwrap();
    assert!(pins.fill(&file, 0, &data));
    assert_eq!(pins.numbers(), (3, 1, 0));
    assert!(std::fs::read(&path).unwrap() == data);
}

/// A device would copy to pages that the file no longer has, and the processor would find what was there before.
#[test]
fn pins_go_when_others_may_have_changed_the_pages_of_the_file() {
    let Some(dir) = memory() else { return };
    let (file, path) = written_over(dir.path());
    let data = content(6, SIZE);
    let small = |place: u64| file.write_at(place, &data[..5000]).unwrap();
    let others = || {
        std::fs::File::options()
            .write(true)
            .read(true)
            .open(&path)
            .unwrap()
    };
    let punch = || {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(others().as_fd(), flags, 8192, 4096).unwrap();
    };
    let harms: [(&str, &dyn Fn()); 6] = [
        ("cut, and written again by the library", &|| {
            others().set_len(0).unwrap();
            file.write_at(0, &data).unwrap();
        }),
        ("punched, and written again in small pieces", &|| {
            punch();
            small(8192 - 100);
        }),
        ("cut at its end, and written in small pieces", &|| {
            others().set_len(SIZE as u64 - 4096).unwrap();
            small(SIZE as u64 - 5000);
        }),
        ("punched, and written by others", &|| {
            thread::sleep(Duration::from_millis(20));
            let mut page = [0; 4096];
            std::os::unix::fs::FileExt::read_exact_at(&others(), &mut page, 8192).unwrap();
            punch();
            std::os::unix::fs::FileExt::write_all_at(&others(), &page, 8192).unwrap();
        }),
        ("written while others have it open", &|| {
            let _reader = others();
            small(0);
        }),
        ("stored to while others have it open", &|| {
            let _reader = others();
            file.write_at(0, &data).unwrap();
        }),
    ];
    for (name, harm) in harms {
        let pins = new_pins();
        let other = new_pins();
        file.set_size(SIZE as u64 - 1).unwrap();
        file.write_at(0, &data).unwrap();
        assert!(pins.fill(&file, 0, &data), "{name}");
        assert_eq!(pins.numbers().0, 1, "{name}");
        harm();
        assert!(other.fill(&file, 0, &data), "{name}");
        assert_eq!(pins.numbers().1, 0, "{name}");
        assert_eq!(other.numbers().0, 1, "{name}: pinned again");
        assert!(std::fs::read(&path).unwrap() == data);
        assert!(whole(&path));
    }
}

fn whole(path: &Path) -> bool {
    let stat = std::fs::metadata(path).unwrap();
    stat.blocks() * 512 >= stat.size()
}

#[test]
fn a_mapped_file_is_shown_through_its_mapping() {
    let Some(dir) = memory() else { return };
    let (file, path) = written_over(dir.path());
    let data = content(7, SIZE);
    file.write_at(0, &data).unwrap();
    let shown = |from: usize, to: usize| {
        let (mut seen, mut longest) = (Vec::new(), 0);
        let shown = file
            .show(from as u64..to as u64, 70_000, &mut |bytes| {
                longest = longest.max(bytes.len());
                seen.extend_from_slice(bytes);
            })
            .unwrap();
        (shown && longest <= 70_000).then_some(seen)
    };
    for (from, to) in [(0, SIZE), (1, SIZE), (4097, 300_000), (5, 5)] {
        assert!(shown(from, to).is_some_and(|seen| seen == data[from..to]));
    }
    assert!(shown(0, SIZE + 1).is_none());
    let reader = std::fs::File::open(&path).unwrap();
    assert!(shown(0, SIZE).is_none());
    drop(reader);
    ftruncate(file.descriptor().unwrap(), 1 << 20).unwrap();
    assert!(shown(0, SIZE).is_none());
}
