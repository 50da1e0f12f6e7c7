use super::*;
use crate::faulty::Faulty;
use crate::store::posix::Posix;
use std::cell::Cell;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};

const PLAIN: CopyMode = CopyMode {
    crc: false,
    sync: false,
};
const SUMMED: CopyMode = CopyMode {
    crc: true,
    sync: true,
};

/// Bytes that do not repeat soon.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|i| ((i * i) >> 7) as u8).collect()
}

/// A directory with the file `a`.
fn with(content: &[u8]) -> (tempfile::TempDir, std::path::PathBuf, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("a"), dir.path().join("b"));
    fs::write(&from, content).unwrap();
    (dir, from, to)
}

#[test]
fn copies_are_equal_whatever_their_size_and_the_buffer() {
    for count in [0, 1, 4096, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7] {
        let content = bytes(count);
        let (_dir, from, to) = with(&content);
        for buffer in [0, 1 << 12, 1 << 30] {
            if buffer == 0 && count > 4096 {
                continue;
            }
            let mut copier = Copier::new(&Posix, buffer);
            let size = count as u64;
            for (mode, crc) in [(SUMMED, Some(crc32fast::hash(&content))), (PLAIN, None)] {
                let found = copier.copy(&from, &to, None, mode).unwrap();
                assert_eq!(found, Content { size, crc });
                assert!(fs::read(&to).unwrap() == content, "{count} {buffer}");
            }
            assert_eq!(
                copier.checksum(&from).unwrap().crc,
                Some(crc32fast::hash(&content))
            );
        }
    }
}

#[test]
fn a_sparse_file_stays_sparse_and_its_checksum_is_that_of_all_bytes() {
    const SIZE: u64 = 1 << 30;
    let (_dir, from, to) = with(b"");
    let file = fs::File::options().write(true).open(&from).unwrap();
    let data = bytes(1 << 19);
    for at in [3 << 20, SIZE / 2 + 12345] {
        file.write_all_at(&data, at).unwrap();
    }
    file.set_len(SIZE).unwrap();
    let mut whole = Hasher::new();
    let (mut all, mut block) = (fs::File::open(&from).unwrap(), vec![0; PIECE]);
    while let n @ 1.. = all.read(&mut block).unwrap() {
        whole.update(&block[..n]);
    }
    let crc = Some(whole.finalize());
    let read = Cell::new(0);
    let count = |bytes| {
        read.set(read.get() + bytes);
        Ok(())
    };
    let mut copier = Copier::new(&Posix, 1 << 20).watched(&count);
    for mode in [SUMMED, PLAIN] {
        let found = copier.copy(&from, &to, None, mode).unwrap();
        assert_eq!(found.size, SIZE);
        assert_eq!(found.crc, crc.filter(|_| mode.crc));
        let blocks = fs::metadata(&to).unwrap().blocks() * 512;
        assert!(blocks < 2 << 20, "{blocks} bytes are allocated");
        assert_eq!(copier.checksum(&to).unwrap().crc, crc);
    }
    assert!(read.get() < 6 << 20, "holes are not read: {}", read.get());
}

#[test]
fn what_differs_from_the_record_is_refused_and_removed() {
    let content = bytes(100_000);
    let (_dir, from, to) = with(&content);
    let right = Content {
        size: 100_000,
        crc: Some(crc32fast::hash(&content)),
    };
    let mut copier = Copier::new(&Posix, 1 << 12);
    // A recorded checksum is also compared if none was asked for.
    let copied = copier.copy(&from, &to, Some(&right), PLAIN);
    assert_eq!(copied, Ok(right));
    let bad = [
        (
            Content {
                size: 99_999,
                ..right
            },
            "has 100000 bytes, 99999 were recorded",
        ),
        (
            Content {
                crc: Some(1),
                ..right
            },
            "0x00000001 was recorded",
        ),
    ];
    for (recorded, words) in bad {
        let error = copier.copy(&from, &to, Some(&recorded), PLAIN).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(words) && text.contains(from.to_str().unwrap()),
            "{text}"
        );
        assert!(!to.exists());
    }
}

#[test]
fn a_copy_is_never_open_to_more_people_than_its_source() {
    let (_dir, from, to) = with(&bytes(100));
    fs::set_permissions(&from, fs::Permissions::from_mode(0o440)).unwrap();
    let stat = Posix.stat(&from).unwrap();
    let mode = || fs::metadata(&to).unwrap().mode() & 0o777;
    let look = |_| {
        assert_eq!(mode() & !0o640, 0, "{:o}", mode());
        // If this process is killed, the next copy can write over it.
        assert_eq!(mode() & 0o600, 0o600, "{:o}", mode());
        Ok(())
    };
    let mut copier = Copier::new(&Posix, 64).watched(&look);
    copier
        .copy_with(&from, &to, None, SUMMED, stat.as_ref())
        .unwrap();
    assert_eq!(mode(), 0o440);
}

/// Puts a file where the copy is to be, after the copier has looked.
struct Meanwhile(std::path::PathBuf);

impl TargetWatch for Meanwhile {
    fn begin(&self, _: &Path) -> Result<()> {
        fs::write(&self.0, bytes(5000)).unwrap();
        Ok(())
    }

    fn opened(&self) -> Result<()> {
        Ok(())
    }

    fn keeps_failed(&self) -> bool {
        false
    }

    fn record(&self, path: &Path, write: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
        write(path)
    }
}

#[test]
fn nothing_is_left_of_a_longer_file_that_came_meanwhile() {
    for mode in [SUMMED, PLAIN] {
        let (_dir, from, to) = with(&bytes(100));
        let watch = Meanwhile(to.clone());
        let mut copier = Copier::new(&Posix, 64).deciding(&watch);
        copier.copy(&from, &to, None, mode).unwrap();
        assert!(fs::read(&to).unwrap() == bytes(100));
    }
}

#[test]
fn a_file_that_changes_while_it_is_copied_is_named() {
    for (size, words) in [
        (8000, "end of file"),
        (30_000, "and 30000 when it was read"),
    ] {
        let (_dir, from, to) = with(&bytes(20_000));
        let change = |_| {
            let file = fs::File::options().write(true).open(&from).unwrap();
            file.set_len(size).unwrap();
            Ok(())
        };
        let mut copier = Copier::new(&Posix, 1 << 12).watched(&change);
        let text = copier
            .copy(&from, &to, None, SUMMED)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains(words) && text.contains(from.to_str().unwrap()),
            "{text}"
        );
        assert!(!to.exists());
    }
}

#[test]
fn a_full_disk_a_failed_read_and_the_watcher_end_a_copy() {
    let (_dir, from, to) = with(&bytes(3 * PIECE));
    let files = Faulty::new(Posix);
    let faults = files.faults();
    let mut copier = Copier::new(&files, 1 << 16);
    // No space at all is noticed before anything is written.
    faults.limit_space(Some(PIECE as u64));
    let before = faults.operations();
    let error = copier.copy(&from, &to, None, SUMMED).unwrap_err();
    assert_eq!(error.errno(), Some(libc::ENOSPC));
    assert_eq!(faults.operations() - before, 3, "create, allocate, remove");
    assert!(!to.exists());
    // Nor does it matter where in the copy the disk becomes full.
    faults.limit_space(None);
    for step in 1..=((3 * PIECE) >> 16) as u64 {
        faults.fail_at(faults.operations() + 1 + step, libc::ENOSPC);
        let error = copier.copy(&from, &to, None, SUMMED).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENOSPC));
        assert!(error.to_string().contains(to.to_str().unwrap()), "{error}");
        assert!(!to.exists());
    }
    for mode in [SUMMED, PLAIN] {
        faults.fail_reads(Some((from.clone(), libc::EIO)));
        let error = copier.copy(&from, &to, None, mode).unwrap_err();
        assert_eq!(error.errno(), Some(libc::EIO));
        assert!(
            error.to_string().contains(from.to_str().unwrap()),
            "{error}"
        );
        assert!(!to.exists());
    }
    faults.fail_reads(None);
    let stop = |_| Err(Error::usage("test", "stopped"));
    let mut copier = copier.watched(&stop);
    let error = copier.copy(&from, &to, None, SUMMED).unwrap_err();
    assert!(error.to_string().contains("stopped"), "{error}");
    assert!(!to.exists());
}

#[test]
fn zeros_are_added_as_if_they_were_read() {
    for (before, count) in [(0, 0), (0, 1), (5, 4096), (4096, 1_000_003)] {
        let mut content = bytes(before);
        let mut sum = Sum::default();
        sum.add(0, &content);
        content.resize(before + count, 0);
        assert_eq!(sum.finish(content.len() as u64), crc32fast::hash(&content));
    }
}

#[test]
fn a_checksum_is_taken_if_it_is_wanted_or_recorded() {
    let content = bytes(100);
    let (_dir, from, _) = with(&content);
    let (size, sum) = (100, crc32fast::hash(&content));
    let mut copier = Copier::new(&Posix, 64);
    let mut read = |crc, wanted| {
        let mut seen = Vec::new();
        let found = copier.read(&from, &Content { size, crc }, wanted, |piece| {
            seen.extend_from_slice(piece);
            Ok(())
        });
        assert!(seen == content);
        found
    };
    assert_eq!(read(None, false).unwrap().crc, None);
    assert_eq!(read(None, true).unwrap().crc, Some(sum));
    assert_eq!(read(Some(sum), false).unwrap().crc, Some(sum));
    assert!(read(Some(!sum), false).is_err());
}

/// A process was stopped while it copied, and goes on after another process has copied the file again.
#[test]
fn who_has_the_target_open_does_not_change_the_next_copy() {
    let (_dir, from, to) = with(b"content");
    let mut copier = Copier::new(&Posix, 1 << 12);
    copier.copy(&from, &to, None, SUMMED).unwrap();
    let earlier = fs::File::options().write(true).open(&to).unwrap();
    copier.copy(&from, &to, None, SUMMED).unwrap();
    earlier.set_len(0).unwrap();
    assert_eq!(fs::read(&to).unwrap(), b"content");
}

/// Another process saves the file while this one is stopped at its last look.
struct SavedMeanwhile<'a>(&'a Path);

impl TargetWatch for SavedMeanwhile<'_> {
    fn begin(&self, _: &Path) -> Result<()> {
        fs::write(self.0, "saved").unwrap();
        Ok(())
    }

    fn opened(&self) -> Result<()> {
        Err(Error::config("permit", "is gone"))
    }

    fn keeps_failed(&self) -> bool {
        true
    }

    fn record(&self, _: &Path, _: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn what_others_have_saved_since_the_last_look_stays() {
    let (_dir, from, to) = with(b"content");
    let watch = SavedMeanwhile(&to);
    let mut copier = Copier::new(&Posix, 1 << 12).deciding(&watch);
    assert!(copier.copy(&from, &to, None, SUMMED).is_err());
    assert_eq!(fs::read(&to).unwrap(), b"saved");
}
