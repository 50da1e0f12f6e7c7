//! Places in containers, writing and reading them, and hostile maps.

use super::*;
use crate::format::Name;
use crate::format::rank2file::{Attributes, BASE, FileEntry, RankEntry};
use crate::prefix::paths::Prefix;
use crate::store::posix::Posix;
use crate::store::{Durability, Files};
use crate::threads;
use crate::transfer::copy::{Content, Copier};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::Path;

fn segment(container: &str, offset: u64, length: u64) -> Segment {
    Segment {
        container: container.into(),
        length,
        offset,
    }
}

fn contained(segments: Vec<Segment>) -> FileEntry {
    FileEntry {
        segments: Some(segments),
        ..FileEntry::default()
    }
}

#[test]
fn a_file_is_cut_as_in_the_example_of_the_developer_guide() {
    let expected = [
        segment("ctr.1.scr", 224_295, 75_705),
        segment("ctr.2.scr", 0, 300_000),
        segment("ctr.3.scr", 0, 148_591),
    ];
    assert_eq!(
        segments(524_295, 524_296, 300_000, Numbering::ALL),
        expected
    );
    assert_eq!(
        segments(300_000, 1, 300_000, Numbering::ALL),
        [segment("ctr.1.scr", 0, 1)]
    );
    assert_eq!(
        segments(299_999, 1, 300_000, Numbering::ALL),
        [segment("ctr.0.scr", 299_999, 1)]
    );
    assert_eq!(segments(7, 0, 3, Numbering::ALL), []);
}

#[test]
fn segments_are_the_bytes_of_the_sequence_in_order() {
    for size in 1..9 {
        for (begin, length) in (0..20).flat_map(|b| (0..20).map(move |l| (b, l))) {
            let mut at = begin;
            for found in segments(begin, length, size, Numbering::ALL) {
                assert!(found.length > 0 && found.offset + found.length <= size);
                assert_eq!(found.container, file_name(at / size).as_str().into());
                assert_eq!(found.offset, at % size);
                at += found.length;
            }
            assert_eq!(at, begin + length);
        }
    }
}

/// The places of ranks with 1, 2, 4, ... bytes on nodes with these lowest ranks.
fn places(leaders: &[usize]) -> Vec<u64> {
    threads::run(leaders.len(), |comm| {
        let containers = Containers {
            size: 10,
            leader: leaders[comm.rank()],
        };
        place(&*comm, &containers, 1 << comm.rank()).unwrap()
    })
}

#[test]
fn ranks_of_a_node_are_together_whatever_their_numbers() {
    assert_eq!(places(&[0]), [0]);
    assert_eq!(places(&[0, 0, 2, 2]), [0, 1, 3, 7]);
    assert_eq!(places(&[0, 1, 0, 1, 0]), [0, 21, 1, 23, 5]);
    assert_eq!(places(&[0, 1, 2, 0, 2, 1, 2]), [0, 9, 43, 1, 47, 11, 63]);
}

#[test]
fn so_many_containers_are_refused() {
    let told = threads::run(2, |comm| {
        let containers = Containers { size: 2, leader: 0 };
        place(&*comm, &containers, 1_000_001)
            .unwrap_err()
            .to_string()
    });
    let expected = "SCR_CONTAINER_SIZE: 2000002 bytes would need 1000001 containers of 2 bytes, and at \
                    most 1000000 are allowed; set it to 3 or more";
    assert_eq!(told, [expected, expected]);
}

/// A directory with files of these contents, written into containers of `size` bytes.
fn written(contents: &[&[u8]], size: u64) -> (tempfile::TempDir, Vec<FileEntry>) {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(&Posix, dir.path(), size, 0);
    let mut copier = Copier::new(&Posix, 3);
    let from = dir.path().join("from");
    let entries = contents.iter().map(|content| {
        fs::write(&from, content).unwrap();
        let recorded = Content {
            size: content.len() as u64,
            crc: Some(crc32fast::hash(content)),
        };
        let (found, segments) = writer.append(&mut copier, &from, &recorded, true).unwrap();
        assert_eq!(found, recorded);
        FileEntry {
            size: Some(found.size),
            crc: found.crc,
            segments: Some(segments),
            attributes: None,
        }
    });
    let entries = entries.collect();
    writer.sync().unwrap();
    (dir, entries)
}

const CONTENTS: [&[u8]; 5] = [
    b"four",
    b"",
    b"a file larger than many containers",
    b"x",
    b"",
];

#[test]
fn what_was_written_is_read_whatever_the_size_of_containers() {
    for size in [1, 2, 5, 38, 39, 1000] {
        let (dir, entries) = written(&CONTENTS, size);
        let bytes: usize = CONTENTS.iter().map(|c| c.len()).sum();
        let listed = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(listed - 1, bytes.div_ceil(size as usize), "{size}");
        let mut reader = ContainerReader::new(&Posix, dir.path());
        let to = dir.path().join("to");
        for (content, entry) in CONTENTS.iter().zip(&entries) {
            let found = reader.extract((&"f".into(), entry), &to, true, &mut [0; 3]);
            assert_eq!(found.unwrap().size, content.len() as u64);
            assert_eq!(&fs::read(&to).unwrap(), content);
        }
    }
}

#[test]
fn a_file_that_changed_since_it_was_recorded_does_not_reach_its_neighbours() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("from");
    fs::write(&from, "longer than recorded").unwrap();
    let (mut writer, mut copier) = (
        Writer::new(&Posix, dir.path(), 100, 0),
        Copier::new(&Posix, 8),
    );
    let recorded = Content { size: 4, crc: None };
    let error = writer
        .append(&mut copier, &from, &recorded, true)
        .unwrap_err();
    assert!(error.to_string().contains("has 20 bytes, 4 were recorded"));
    assert!(!dir.path().join("ctr.0.scr").exists());
    fs::write(&from, "four").unwrap();
    let crc = Some(1);
    let changed = Content { crc, ..recorded };
    let error = writer.append(&mut copier, &from, &changed, false);
    assert!(error.unwrap_err().to_string().contains("CRC32"));
}

#[test]
fn only_the_user_can_read_a_container_and_attributes_come_back_without_set_id_bits() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, mut entries) = written(&[b"four"], 100);
    let mode = |name: &str| {
        let meta = fs::metadata(dir.path().join(name)).unwrap();
        (meta.permissions().mode() & 0o7777, meta.modified().unwrap())
    };
    assert_eq!(mode("ctr.0.scr").0, 0o600);
    entries[0].attributes = Some(Attributes {
        mode: 0o6750,
        mtime_secs: 1000,
        mtime_nsecs: 7,
    });
    let (mut reader, to) = (
        ContainerReader::new(&Posix, dir.path()),
        dir.path().join("to"),
    );
    let name = Name::from("f");
    reader
        .extract((&name, &entries[0]), &to, true, &mut [0; 8])
        .unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::new(1000, 7);
    assert_eq!(mode("to"), (0o750, time));
}

/// The reader's error about a rank with these files in the directory of [`written`].
fn refused(change: impl FnOnce(&std::path::Path, &mut Vec<FileEntry>)) -> String {
    let (dir, mut entries) = written(&CONTENTS, 10);
    change(dir.path(), &mut entries);
    let names = (0..).map(|n| Name::from(format!("f{n}")));
    let files: BTreeMap<Name, FileEntry> = names.zip(entries).collect();
    let entry = RankEntry { count: None, files };
    let mut reader = ContainerReader::new(&Posix, dir.path());
    let to = dir.path().join("to");
    let error = reader.check_all(&entry).and_then(|()| {
        entry.files.iter().try_for_each(|(name, file)| {
            reader.extract((name, file), &to, true, &mut [0; 3])?;
            fs::remove_file(&to).unwrap();
            Ok(())
        })
    });
    assert!(!to.exists(), "a file that is not as recorded stays");
    let text = error.unwrap_err().to_string();
    text.replace(&format!("{}/", dir.path().display()), "")
}

#[test]
fn damage_is_refused_with_container_offset_and_file() {
    let text = refused(|dir, _| {
        let file = fs::OpenOptions::new()
            .write(true)
            .open(dir.join("ctr.2.scr"));
        file.unwrap().set_len(9).unwrap();
    });
    let expected = "ctr.2.scr: is cut short: it has 9 bytes, and f2 should have 10 bytes from 0 on";
    assert_eq!(text, expected);

    let text = refused(|dir, _| fs::remove_file(dir.join("ctr.3.scr")).unwrap());
    assert_eq!(text, "ctr.3.scr: is missing; f2 is in it");

    let text = refused(|dir, _| {
        fs::remove_file(dir.join("ctr.1.scr")).unwrap();
        fs::create_dir(dir.join("ctr.1.scr")).unwrap();
    });
    assert!(text.contains("ctr.1.scr"), "{text}");

    let text = refused(|dir, _| {
        let path = dir.join("ctr.1.scr");
        let mut bytes = fs::read(&path).unwrap();
        bytes[3] ^= 1;
        fs::write(&path, bytes).unwrap();
    });
    let expected = "was recorded; it begins at offset 4 of this container (SCR-206)";
    assert!(
        text.starts_with("ctr.0.scr: f2 has CRC32 0x") && text.ends_with(expected),
        "{text}"
    );
}

#[test]
fn absurd_segments_are_refused_before_anything_is_written() {
    let with = |segments: Vec<Segment>| refused(|_, entries| entries[0] = contained(segments));
    let whole = |offset, length| vec![segment("ctr.0.scr", offset, length)];
    let cases = [
        (whole(u64::MAX, u64::MAX), "ctr.0.scr: is cut short"),
        (whole(0, u64::MAX), "ctr.0.scr: is cut short"),
        (whole(1 << 60, 1), "ctr.0.scr: is cut short"),
        (whole(11, 0), "ctr.0.scr: is cut short"),
        (
            vec![segment("../x", 0, 1)],
            "`../x` does not name a file below",
        ),
        (
            vec![segment("/etc/passwd", 0, 1)],
            "`/etc/passwd` does not name",
        ),
        (vec![segment("", 0, 1)], "does not name a file"),
        // Twice within the file, and together with another one, however it is spelled.
        (
            vec![segment("ctr.0.scr", 0, 2), segment("./ctr.0.scr", 1, 2)],
            "are of f0 and of f0",
        ),
        (
            whole(2, 4),
            "rank2file: says that bytes from 4 on in ctr.0.scr are of f0 and of f2",
        ),
        (
            vec![segment("ctr.0.scr", 0, u64::MAX); 2],
            "rank2file: gives the segments of f0",
        ),
    ];
    for (segments, why) in cases {
        let text = with(segments);
        assert!(text.contains(why), "{text}, not {why}");
    }
    let text = refused(|_, entries| entries[3].size = Some(u64::MAX));
    assert!(
        text.contains("than its 18446744073709551615 bytes"),
        "{text}"
    );
    assert!(text.starts_with(BASE), "{text}");
}

#[test]
fn a_link_in_place_of_a_container_is_not_followed() {
    let (dir, entries) = written(&[b"four"], 100);
    let path = dir.path().join("ctr.0.scr");
    fs::rename(&path, dir.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), &path).unwrap();
    let mut reader = ContainerReader::new(&Posix, dir.path());
    let error = reader.verify((&"f".into(), &entries[0]), true, &mut [0; 8]);
    assert!(error.unwrap_err().is_link());
}

#[test]
fn another_file_is_written_over_only_by_force_and_not_from_damage() {
    let (dir, entries) = written(&[b"four"], 100);
    let (to, name) = (dir.path().join("a/b/to"), Name::from("f"));
    let restore = |force: bool| {
        let mut reader = ContainerReader::new(&Posix, dir.path());
        reader.restore((&name, &entries[0]), &to, force, &mut [0; 8])
    };
    assert_eq!(restore(false), Ok(Restored::Written));
    assert_eq!(restore(false), Ok(Restored::Same));
    assert_eq!(restore(true), Ok(Restored::Same));
    for other in ["five.", "fuor"] {
        fs::write(&to, other).unwrap();
        let text = restore(false).unwrap_err().to_string();
        assert!(text.contains("another file is there"), "{text}");
        assert_eq!(fs::read_to_string(&to).unwrap(), other);
    }
    fs::write(dir.path().join("ctr.0.scr"), "fuor").unwrap();
    fs::write(&to, "other").unwrap();
    assert!(restore(true).is_err());
    assert_eq!(fs::read_to_string(&to).unwrap(), "other");
    fs::write(dir.path().join("ctr.0.scr"), "four").unwrap();
    assert_eq!(restore(true), Ok(Restored::Written));
    assert_eq!(fs::read_to_string(&to).unwrap(), "four");
    fs::remove_file(&to).unwrap();
    fs::create_dir(&to).unwrap();
    assert!(restore(true).is_err());
}

fn names(dir: &Path) -> Vec<String> {
    let listed = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = listed
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn containers_that_no_entry_names_are_removed_and_nothing_else() {
    let (dir, mut files) = written(&CONTENTS, 10);
    for other in ["ctr.x.scr", "ctr.99.scr", "ctr.100.scr"] {
        fs::write(dir.path().join(other), "").unwrap();
    }
    let named = |file: &FileEntry| {
        file.segments
            .iter()
            .flatten()
            .any(|s| s.container == "ctr.1.scr".into())
    };
    files.retain(named);
    let files = files.into_iter().enumerate();
    let entry = RankEntry {
        count: None,
        files: files
            .map(|(i, file)| (format!("f{i}").as_str().into(), file))
            .collect(),
    };
    let used: BTreeSet<String> = entry
        .files
        .values()
        .flat_map(|file| file.segments.iter().flatten())
        .map(|segment| segment.container.to_string())
        .collect();
    assert!(!used.is_empty());
    remove_unused(&Posix, dir.path(), [&entry]).unwrap();
    let rest = ["ctr.x.scr".to_string(), "from".to_string()];
    let expected: Vec<String> = used.into_iter().chain(rest.clone()).collect();
    assert_eq!(names(dir.path()), expected);
    remove_unused(&Posix, dir.path(), []).unwrap();
    assert_eq!(names(dir.path()), rest);
}

#[test]
fn what_two_writers_claim_is_different() {
    let dir = tempfile::tempdir().unwrap();
    let claimed = |bytes, lowest| claim(&Posix, dir.path(), (bytes, 10), (lowest, 4)).unwrap();
    let of = |first| Some(Numbering { first, step: 4 });
    // Two nodes, then the second one again.
    assert_eq!(claimed(25, 0), of(0));
    assert_eq!(claimed(20, 2), of(2));
    assert_eq!(claimed(1, 2), of(10));
    let expected = [
        "ctr.0.scr",
        "ctr.10.scr",
        "ctr.2.scr",
        "ctr.4.scr",
        "ctr.6.scr",
        "ctr.8.scr",
    ];
    assert_eq!(names(dir.path()), expected);
    // The highest number has no next one.
    fs::write(dir.path().join(file_name(u64::MAX)), "").unwrap();
    assert_eq!(claimed(1, 3), None);
    let many = claim(&Posix, dir.path(), (u64::MAX, 1), (0, 4)).unwrap_err();
    assert!(many.to_string().contains("SCR_CONTAINER_SIZE"), "{many}");
}

#[test]
fn every_second_container_is_filled() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("from");
    fs::write(&from, "0123456789abcdef").unwrap();
    let recorded = Content {
        size: 16,
        crc: None,
    };
    let numbering = Numbering { first: 3, step: 2 };
    let mut writer = Writer::new(&Posix, dir.path(), 6, 0).numbered(numbering);
    let (_, segments) = writer
        .append(&mut Copier::new(&Posix, 4), &from, &recorded, false)
        .unwrap();
    writer.sync().unwrap();
    let expected = [("ctr.3.scr", 6), ("ctr.5.scr", 6), ("ctr.7.scr", 4)];
    assert_eq!(
        segments,
        expected.map(|(name, length)| segment(name, 0, length))
    );
    let all = expected.map(|(name, _)| fs::read_to_string(dir.path().join(name)).unwrap());
    assert_eq!(all.concat(), "0123456789abcdef");
}

/// A prefix directory with file `a/x` of 16 bytes in containers of 6, and its entry.
fn prefix_with_contained() -> (tempfile::TempDir, Prefix, FileEntry) {
    let dir = tempfile::tempdir().unwrap();
    let prefix = Prefix::new(dir.path());
    let meta = prefix.dataset(1);
    fs::create_dir_all(&meta).unwrap();
    let from = dir.path().join("from");
    fs::write(&from, "0123456789abcdef").unwrap();
    let recorded = Content {
        size: 16,
        crc: None,
    };
    let mut writer = Writer::new(&Posix, &meta, 6, 0);
    let (_, segments) = writer
        .append(&mut Copier::new(&Posix, 4), &from, &recorded, false)
        .unwrap();
    writer.sync().unwrap();
    (dir, prefix, contained(segments))
}

/// A hole of a file is a hole in its containers, and is found there.
#[test]
fn holes_are_seen_through_containers() {
    const KIB: u64 = 1024;
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let prefix = Prefix::new(dir.path());
    let meta = prefix.dataset(1);
    fs::create_dir_all(&meta).unwrap();
    let from = dir.path().join("from");
    let file = Posix.create(&from, 0o600).unwrap();
    let size = 1024 * KIB;
    file.set_size(size).unwrap();
    // The first run goes on in the second container.
    for at in [256 * KIB, 960 * KIB] {
        let length = (128 * KIB).min(size - at);
        file.write_at(at, &vec![7; length as usize]).unwrap();
    }
    let recorded = Content { size, crc: None };
    let mut copier = Copier::new(&Posix, 1 << 20);
    let mut writer = Writer::new(&Posix, &meta, 320 * KIB, 0);
    let written = writer.append(&mut copier, &from, &recorded, false);
    let (_, segments) = written.unwrap();
    writer.sync().unwrap();
    let view = ContainedFiles::new(&Posix, &prefix, 1);
    let (path, entry) = (dir.path().join("a/x"), contained(segments));
    view.show(path.clone(), entry.clone(), stat_of(&entry));
    let file = view.open(&path).unwrap();
    let mut runs = Vec::new();
    while let Some(run) = file
        .data_from(runs.last().map_or(0, |run: &Range<u64>| run.end))
        .unwrap()
    {
        runs.push(run);
    }
    assert_eq!(runs[0], 256 * KIB..384 * KIB);
    assert_eq!(runs.last().unwrap().end, size);
    // A container has a byte at its end.
    let data: u64 = runs.iter().map(|run| run.end - run.start).sum();
    assert!(data < size / 2, "{runs:?}");
    assert_eq!(
        file.data_from(300 * KIB).unwrap(),
        Some(300 * KIB..384 * KIB)
    );
    assert_eq!(file.data_from(size).unwrap(), None);
}

#[test]
fn files_in_containers_are_seen_at_their_paths() {
    let (dir, prefix, entry) = prefix_with_contained();
    let path = dir.path().join("a/x");
    let stat = stat_of(&entry);
    let view = ContainedFiles::new(&Posix, &prefix, 1);
    assert_eq!(view.stat(&path).unwrap(), None);
    view.show(path.clone(), entry.clone(), stat);
    assert_eq!(view.stat(&path).unwrap(), Some(stat));
    let file = view.open(&path).unwrap();
    assert_eq!(file.size().unwrap(), 16);
    for (from, to) in (0..16).flat_map(|from| (from..=16).map(move |to| (from, to))) {
        let mut piece = vec![0; to - from];
        file.read_at(from as u64, &mut piece).unwrap();
        assert_eq!(piece, b"0123456789abcdef"[from..to]);
    }
    assert!(file.read_at(10, &mut [0; 7]).is_err());
    let changes = [
        file.write_at(0, b"x").err(),
        file.allocate(1).err(),
        file.set_size(0).err(),
        file.copy_from(&*file, 0..1).err(),
        file.restore(&stat).err(),
        file.descriptor().err(),
    ];
    for (n, refused) in changes.into_iter().enumerate() {
        let refused = refused.unwrap_or_else(|| panic!("change {n} is made"));
        assert!(refused.to_string().contains("cannot be changed there"));
    }
    // A file that is written there replaces it.
    view.make_dirs(&dir.path().join("a")).unwrap();
    view.create(&path, 0o600)
        .unwrap()
        .write_at(0, b"new")
        .unwrap();
    assert_eq!(view.read(&path, 10).unwrap(), b"new");
    assert_eq!(view.stat(&path).unwrap().unwrap().size, 3);
    view.show(path.clone(), entry, stat);
    view.replace(&path, b"other", Durability::Atomic).unwrap();
    assert_eq!(view.read(&path, 10).unwrap(), b"other");
    assert_eq!(view.stat(&path).unwrap().unwrap().size, 5);
}

#[test]
fn a_file_in_a_container_that_is_cut_short_is_missing() {
    let (dir, prefix, entry) = prefix_with_contained();
    let path = dir.path().join("a/x");
    let view = ContainedFiles::new(&Posix, &prefix, 1);
    view.show(path.clone(), entry.clone(), stat_of(&entry));
    let last = prefix.dataset(1).join("ctr.2.scr");
    fs::write(&last, "cde").unwrap();
    assert_eq!(view.stat(&path).unwrap(), None);
    let file = view.open(&path).unwrap();
    file.read_at(0, &mut [0; 15]).unwrap();
    let error = file.read_at(0, &mut [0; 16]).unwrap_err();
    assert!(error.to_string().contains("ctr.2.scr"), "{error}");
    fs::remove_file(&last).unwrap();
    assert_eq!(view.stat(&path).unwrap(), None);
    // A link that leads out of the dataset's directory is not followed.
    std::os::unix::fs::symlink("/etc/passwd", &last).unwrap();
    assert_eq!(view.stat(&path).unwrap(), None);
    assert!(view.open(&path).unwrap().read_at(12, &mut [0; 1]).is_err());
}
