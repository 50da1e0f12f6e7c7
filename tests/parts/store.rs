//! The trait `Files` on a real file system, and with faults.

use scr::Error;
use scr::store::posix::Posix;
use scr::store::{Durability, FileKind, Files};
use scr_testing::faulty::Faulty;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn scratch() -> (TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().canonicalize().unwrap();
    (scratch, path)
}

fn names(path: &Path) -> Vec<String> {
    let names = Posix.list(path).unwrap();
    names
        .into_iter()
        .map(|name| name.into_string().unwrap())
        .collect()
}

fn error_of<T>(result: scr::Result<T>) -> String {
    result
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn what_is_written_can_be_read() {
    let (_scratch, dir) = scratch();
    let path = dir.join("f");
    let file = Posix.create(&path, 0o600).unwrap();
    file.write_at(4, b"wxyz").unwrap();
    file.write_at(0, b"abcd").unwrap();
    file.sync().unwrap();
    assert_eq!(file.size().unwrap(), 8);
    assert_eq!(mode(&path), 0o600);
    let file = Posix.open(&path).unwrap();
    let mut four = [0; 4];
    file.read_at(2, &mut four).unwrap();
    assert_eq!(&four, b"cdwx");
    assert!(error_of(file.read_at(6, &mut four)).contains("after 2 of the 4 bytes at offset 6"));
    assert_eq!(Posix.read(&path, 8).unwrap(), b"abcdwxyz");
    let error = Posix.read(&path, 7).unwrap_err();
    assert_eq!(error.errno(), Some(libc::EFBIG));
    assert!(error.to_string().contains("8 bytes"), "{error}");
    Posix.create(&path, 0o600).unwrap();
    assert_eq!(Posix.read(&path, 0).unwrap(), b"");
}

#[test]
fn nothing_succeeds_after_a_failed_write() {
    let (_scratch, dir) = scratch();
    fs::write(dir.join("f"), "abc").unwrap();
    let file = Posix.open(&dir.join("f")).unwrap();
    file.size().unwrap();
    let error = file.write_at(0, b"x").unwrap_err();
    assert_eq!(error.errno(), Some(libc::EBADF));
    assert_eq!(file.sync(), Err(error.clone()));
    assert_eq!(file.write_at(0, b""), Err(error.clone()));
    assert_eq!(file.read_at(0, &mut [0]), Err(error.clone()));
    assert_eq!(file.size(), Err(error));
}

#[test]
fn allocate_sets_the_size() {
    let (_scratch, dir) = scratch();
    let file = Posix.create(&dir.join("f"), 0o600).unwrap();
    for size in [10_000, 0, 77, 5] {
        file.allocate(size).unwrap();
        assert_eq!(file.size().unwrap(), size);
    }
}

#[test]
fn only_regular_files_are_opened() {
    let (_scratch, dir) = scratch();
    fifo(&dir.join("fifo"));
    fs::write(dir.join("file"), "content").unwrap();
    symlink("file", dir.join("link")).unwrap();
    symlink("nowhere", dir.join("dangling")).unwrap();
    fs::create_dir(dir.join("dir")).unwrap();
    for name in ["fifo", "link", "dangling", "dir"] {
        let path = dir.join(name);
        for result in [Posix.open(&path), Posix.create(&path, 0o666)] {
            let error = error_of(result);
            assert!(
                error.contains(&path.display().to_string()),
                "{name}: {error}"
            );
        }
        assert!(Posix.read(&path, 100).is_err(), "{name}");
    }
    assert_eq!(fs::read(dir.join("file")).unwrap(), b"content");
    assert!(!dir.join("nowhere").exists());
    assert!(
        Posix
            .open(&dir.join("missing"))
            .err()
            .unwrap()
            .is_not_found()
    );
}

#[test]
fn replace_leaves_the_new_content_and_nothing_else() {
    let (_scratch, dir) = scratch();
    let long = "n".repeat(255);
    for name in ["f", &long] {
        for durability in [Durability::Atomic, Durability::Synced] {
            let content = format!("{durability:?}");
            Posix
                .replace(&dir.join(name), content.as_bytes(), durability)
                .unwrap();
            assert_eq!(fs::read_to_string(dir.join(name)).unwrap(), content);
        }
    }
    fs::create_dir(dir.join("d")).unwrap();
    assert!(
        Posix
            .replace(&dir.join("d"), b"x", Durability::Synced)
            .is_err()
    );
    assert!(
        Posix
            .replace(&dir.join("d/.."), b"x", Durability::Synced)
            .is_err()
    );
    assert_eq!(names(&dir), ["d", "f", &long]);
    assert!(error_of(Posix.replace(&dir.join("no/f"), b"x", Durability::Atomic)).contains("no/"));
}

#[test]
fn a_reader_sees_the_old_content_or_the_new() {
    let (_scratch, dir) = scratch();
    let path = dir.join("f");
    Posix
        .replace(&path, &[0; 5000], Durability::Atomic)
        .unwrap();
    std::thread::scope(|scope| {
        for writer in 1..4_u8 {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..50 {
                    Posix
                        .replace(path, &[writer; 5000], Durability::Atomic)
                        .unwrap();
                }
            });
        }
        for _ in 0..100 {
            let seen = Posix.read(&path, 5000).unwrap();
            assert!(seen.len() == 5000 && seen.iter().all(|&byte| byte == seen[0]));
        }
    });
    assert_eq!(names(&dir), ["f"]);
}

#[test]
fn private_directories_are_ours_alone() {
    let (_scratch, dir) = scratch();
    let base = dir.join("base");
    let below = Path::new("user/scr.1");
    std::thread::scope(|scope| {
        let ranks: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| Posix.make_private_dirs(&base, below)))
            .collect();
        for rank in ranks {
            assert_eq!(rank.join().unwrap(), Ok(()));
        }
    });
    assert_eq!(
        (mode(&base.join("user")), mode(&base.join(below))),
        (0o700, 0o700)
    );

    let user = base.join("user");
    fs::set_permissions(&user, Permissions::from_mode(0o770)).unwrap();
    let error = error_of(Posix.make_private_dirs(&base, below));
    assert!(
        error.contains("base/user:") && error.contains("chmod go-w"),
        "{error}"
    );
    fs::set_permissions(&user, Permissions::from_mode(0o755)).unwrap();
    Posix.make_private_dirs(&base, below).unwrap();

    symlink(&user, base.join("link")).unwrap();
    fs::write(base.join("file"), "").unwrap();
    for name in ["link", "file"] {
        let error = error_of(Posix.make_private_dirs(&base, &Path::new(name).join("x")));
        assert!(error.contains("symbolic link or a file"), "{error}");
    }
    for below in ["../x", "/x", "user/../../x"] {
        assert!(
            Posix.make_private_dirs(&base, Path::new(below)).is_err(),
            "{below}"
        );
    }
    assert!(
        Posix
            .make_private_dirs(&base.join("file"), Path::new("x"))
            .is_err()
    );
    assert_eq!(names(&dir), ["base"]);
    assert_eq!(names(&user), ["scr.1"]);
}

/// In a container without root, the owner of the host's directories is not known there. This test starts
/// itself again in such a user name space.
#[test]
fn a_sticky_base_of_an_unknown_owner_is_accepted() {
    const BASE: &str = "TEST_BASE_OF_AN_UNKNOWN_OWNER";
    if let Some(base) = std::env::var_os(BASE).map(PathBuf::from) {
        let below = Path::new("user/scr.1");
        Posix
            .make_private_dirs(&base.join("sticky"), below)
            .unwrap();
        let error = error_of(Posix.make_private_dirs(&base.join("plain"), below));
        assert!(error.contains("it belongs to user 65534"), "{error}");
        println!("looked at {}", base.display());
        return;
    }
    let (_scratch, dir) = scratch();
    for (name, mode) in [("sticky", 0o1777), ("plain", 0o755)] {
        let base = dir.join(name);
        fs::create_dir(&base).unwrap();
        fs::set_permissions(&base, Permissions::from_mode(mode)).unwrap();
        if std::os::unix::fs::chown(&base, Some(12345), None).is_err() {
            eprintln!("SKIPPED: only root can give a directory away");
            return;
        }
    }
    let in_container = |program: &Path, words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user"]).arg(program);
        command.args(words).env(BASE, &dir).output()
    };
    if !in_container(Path::new("true"), &[]).is_ok_and(|done| done.status.success()) {
        eprintln!("SKIPPED: there are no user name spaces here");
        return;
    }
    let thread = std::thread::current();
    let words = ["--exact", thread.name().unwrap(), "--nocapture"];
    let done = in_container(&std::env::current_exe().unwrap(), &words).unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && told.contains("looked at"),
        "{done:?}"
    );
}

/// A base in which others could put their directories in place of ours.
#[test]
fn a_base_that_is_not_safe_is_refused() {
    let (_scratch, dir) = scratch();
    let (base, below) = (dir.join("base"), Path::new("user/scr.1"));
    fs::create_dir(&base).unwrap();
    let refused = |what: &str| {
        let made = error_of(Posix.make_private_dirs(&base, below));
        let checked = error_of(Posix.check_private_dirs(&base, below));
        for error in [made, checked] {
            for part in [what, "sticky bit", "choose another"] {
                assert!(error.contains(part), "{error}");
            }
            assert!(error.contains(&base.display().to_string()), "{error}");
        }
        assert_eq!(names(&base), [""; 0]);
    };
    let chmod = |mode| fs::set_permissions(&base, Permissions::from_mode(mode)).unwrap();
    chmod(0o777);
    refused("(mode 777), and it has no sticky bit, so");
    refused("have this one made sticky (chmod +t)");
    // Only root can give a directory away.
    if std::os::unix::fs::chown(&base, Some(12345), None).is_ok() {
        // The owner may rename what is in it, also where it is sticky.
        for mode in [0o755, 0o700, 0o775, 0o1777, 0o1755] {
            chmod(mode);
            refused("it belongs to user 12345, not to us (user 0) or root");
        }
        // This number is a user like others where all users are known.
        chmod(0o1777);
        std::os::unix::fs::chown(&base, Some(65534), None).unwrap();
        let map = fs::read_to_string("/proc/self/uid_map").unwrap();
        if map.split_whitespace().eq(["0", "0", "4294967295"]) {
            refused("it belongs to user 65534");
        }
        std::os::unix::fs::chown(&base, Some(0), None).unwrap();
    }
    for mode in [0o1777, 0o775, 0o755, 0o700] {
        chmod(mode);
        Posix.make_private_dirs(&base, below).unwrap();
    }
    // One that is made by us is good.
    Posix.make_private_dirs(&dir.join("a/b"), below).unwrap();
    assert_eq!(mode(&dir.join("a")) & 0o022, 0);
    assert_eq!(mode(&dir.join("a/b")) & 0o022, 0);
}

/// `beneath`: every operation, with a link above, in the middle and at the end of the path.
#[test]
fn beneath_a_root_no_operation_follows_a_link() {
    let (_scratch, dir) = scratch();
    let (root, out) = (dir.join("root"), dir.join("out"));
    fs::create_dir_all(root.join("real/sub")).unwrap();
    fs::create_dir_all(out.join("sub")).unwrap();
    for place in [&out, &root.join("real")] {
        fs::write(place.join("file"), "content").unwrap();
        fs::write(place.join("sub/file"), "content").unwrap();
    }
    symlink("../out", root.join("link")).unwrap();
    symlink("real", root.join("within")).unwrap();
    symlink("../../out/sub", root.join("real/deep")).unwrap();
    symlink(&root, dir.join("alias")).unwrap();
    let stat = Posix.stat(&out.join("file")).unwrap().unwrap();
    let before = fs::metadata(&out).unwrap().mtime_nsec();
    let aliases = [root.clone(), dir.join("alias")];
    for (root, held) in aliases.iter().flat_map(|one| [(one, false), (one, true)]) {
        let mut files = Posix.beneath(std::slice::from_ref(root));
        if held {
            files = files.holding(&[root]);
        }
        for (way, link) in [
            ("link", "link"),
            ("link/sub", "link"),
            ("within", "within"),
            ("real/deep", "real/deep"),
        ] {
            let (at, file, new) = (
                root.join(way),
                root.join(way).join("file"),
                root.join("new"),
            );
            let refused = |what: &str, error: String| {
                let named = format!("{} is a symbolic link to", root.join(link).display());
                assert!(error.contains(&named), "{what} {way}: {error}");
            };
            refused("open", error_of(files.open(&file)));
            refused("create", error_of(files.create(&file, 0o666)));
            refused("rewrite", error_of(files.rewrite(&file, 0o666)));
            refused("read", error_of(files.read(&file, 99)));
            refused("stat", error_of(files.stat(&file)));
            refused("remove", error_of(files.remove_file(&file)));
            refused("remove_dir", error_of(files.remove_dir(&at.join("sub"))));
            refused("remove_tree", error_of(files.remove_tree(&file)));
            refused("restore", error_of(files.restore(&file, &stat)));
            refused("space", error_of(files.space(&file)));
            refused("lock", error_of(files.try_lock(&file)));
            refused("list", error_of(files.list(&at)));
            refused("sync_dir", error_of(files.sync_dir(&at)));
            refused("rename from", error_of(files.rename(&file, &new)));
            refused("make_dirs", error_of(files.make_dirs(&at.join("x/y"))));
            refused("make_dirs", error_of(files.make_dirs(&at)));
            for durability in [Durability::Atomic, Durability::Synced] {
                refused("replace", error_of(files.replace(&file, b"x", durability)));
            }
            let private = files.make_private_dirs(&at.join("base"), Path::new("x"));
            refused("make_private_dirs", error_of(private));
            fs::write(&new, "").unwrap();
            refused("rename to", error_of(files.rename(&new, &file)));
        }
        // What is no link works, and a link itself can be removed.
        assert_eq!(
            files.read(&root.join("real/sub/file"), 99).unwrap(),
            b"content"
        );
        assert_eq!(
            files.stat(&root.join("link")).unwrap().unwrap().kind,
            FileKind::Other
        );
        files.make_dirs(&root.join("a/b/c")).unwrap();
        files
            .replace(&root.join("a/b/c/f"), b"x", Durability::Synced)
            .unwrap();
        files
            .rename(&root.join("a/b/c/f"), &root.join("a/g"))
            .unwrap();
        assert!(files.remove_dir(&root.join("a/b/c")).unwrap());
        files.remove_tree(&root.join("a")).unwrap();
        assert!(
            files
                .open(&root.join("none/x"))
                .err()
                .unwrap()
                .is_not_found()
        );
        assert_eq!(files.stat(&root.join("none/x")).unwrap(), None);
        files.remove_file(&root.join("none/x")).unwrap();
        assert!(!files.remove_dir(&root.join("none/x")).unwrap());
        files.remove_tree(&root.join("none/x")).unwrap();
        // Where the links lead can be asked for.
        assert_eq!(
            files.real_dir(&root.join("link/sub/x/y")).unwrap(),
            out.join("sub/x/y")
        );
        // Elsewhere all is as before, and a root beneath another counts for itself.
        assert_eq!(files.list(&dir.join("out")).unwrap().len(), 2);
        let nested = files.beneath(&[root.join("real")]);
        assert!(nested.open(&root.join("link/file")).is_err());
        assert!(nested.open(&root.join("within/file")).is_err());
    }
    assert_eq!(names(&out), ["file", "sub"]);
    assert_eq!(fs::metadata(&out).unwrap().mtime_nsec(), before);
    assert_eq!(fs::read(out.join("file")).unwrap(), b"content");
    files_are_replaced_where_they_have_other_names(&dir);
}

fn files_are_replaced_where_they_have_other_names(dir: &Path) {
    let (file, other) = (dir.join("f"), dir.join("other"));
    for files in [&*Posix.beneath(&[]), &*Posix.beneath(&[dir.to_path_buf()])] {
        for rewrite in [false, true] {
            fs::write(&file, "precious").unwrap();
            let _ = fs::remove_file(&other);
            fs::hard_link(&file, &other).unwrap();
            let opened = if rewrite {
                files.rewrite(&file, 0o600)
            } else {
                files.create(&file, 0o600)
            };
            opened.unwrap().write_at(0, b"new").unwrap();
            assert_eq!(fs::read(&other).unwrap(), b"precious");
            assert_eq!(fs::read(&file).unwrap(), b"new");
        }
    }
}

#[test]
fn a_directory_of_someone_else_is_refused() {
    let (_scratch, dir) = scratch();
    fs::create_dir(dir.join("x")).unwrap();
    // Only root can give a directory away; anyone else finds those of root.
    let given = std::os::unix::fs::chown(dir.join("x"), Some(12345), None);
    let (base, below, owner) = match given {
        Ok(()) => (dir.as_path(), "x", "12345"),
        Err(_) => (Path::new("/"), "usr", "0"),
    };
    let error = error_of(Posix.make_private_dirs(base, Path::new(below)));
    assert!(
        error.contains(&format!("belongs to user {owner}, not to us")),
        "{error}"
    );
    assert!(
        error.contains(&base.join(below).display().to_string()),
        "{error}"
    );
}

#[test]
fn a_tree_goes_whole_and_links_are_not_followed() {
    let (_scratch, dir) = scratch();
    let tree = dir.join("tree");
    let kept = dir.join("kept");
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("file"), "").unwrap();
    fs::create_dir_all(tree.join("a/b/c")).unwrap();
    fs::create_dir_all(tree.join("z")).unwrap();
    for place in ["", "a", "a/b", "z"] {
        symlink(&kept, tree.join(place).join("link")).unwrap();
        fs::write(tree.join(place).join("file"), "").unwrap();
        fifo(&tree.join(place).join("fifo"));
    }
    for (place, mode) in [("a/b/c", 0o000), ("a/b", 0o500), ("a", 0o400), ("z", 0o100)] {
        fs::set_permissions(tree.join(place), Permissions::from_mode(mode)).unwrap();
    }
    Posix.remove_tree(&tree).unwrap();
    assert_eq!(names(&dir), ["kept"]);
    assert_eq!(names(&kept), ["file"]);

    symlink(&kept, dir.join("link")).unwrap();
    Posix.remove_tree(&dir.join("link")).unwrap();
    Posix.remove_tree(&dir.join("link")).unwrap();
    Posix.remove_tree(&dir.join("no/such/tree")).unwrap();
    assert_eq!(names(&kept), ["file"]);
    Posix.remove_tree(&kept.join("file")).unwrap();
    assert_eq!(names(&kept).len(), 0);
    assert!(Posix.remove_tree(Path::new("/")).is_err());
}

#[test]
fn a_tree_may_be_deeper_than_any_path_or_stack() {
    let (_scratch, dir) = scratch();
    let depth = 5000;
    let name = "d".repeat(20);
    let script = format!(
        "import os\nfor i in range({depth}):\n os.mkdir('{name}')\n os.chdir('{name}')\nopen('f','w')"
    );
    let made = Command::new("python3")
        .arg("-c")
        .arg(script)
        .current_dir(&dir)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        // Without Python, as deep as a path can name.
        fs::create_dir_all(dir.join(format!("{name}/").repeat(150))).unwrap();
    }
    Posix.remove_tree(&dir.join(&name)).unwrap();
    assert_eq!(names(&dir).len(), 0);
}

#[test]
fn several_may_remove_one_tree() {
    let (_scratch, dir) = scratch();
    let tree = dir.join("tree");
    for i in 0..20 {
        fs::create_dir_all(tree.join(format!("{i}/x"))).unwrap();
        fs::write(tree.join(format!("{i}/x/f")), "").unwrap();
    }
    std::thread::scope(|scope| {
        let ranks: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| Posix.remove_tree(&tree)))
            .collect();
        for rank in ranks {
            assert_eq!(rank.join().unwrap(), Ok(()));
        }
    });
    assert!(!tree.exists());
}

#[test]
fn small_operations() {
    let (_scratch, dir) = scratch();
    Posix.make_dirs(&dir.join("a/b")).unwrap();
    Posix.make_dirs(&dir.join("a/b")).unwrap();
    fs::write(dir.join("a/f"), "12345").unwrap();
    assert!(Posix.make_dirs(&dir.join("a/f")).is_err());
    assert_eq!(Posix.remove_dir(&dir.join("a")), Ok(false));
    assert_eq!(Posix.remove_dir(&dir.join("a/b")), Ok(true));
    assert_eq!(Posix.remove_dir(&dir.join("a/b")), Ok(false));
    Posix.rename(&dir.join("a/f"), &dir.join("g")).unwrap();
    assert!(
        Posix
            .rename(&dir.join("a/f"), &dir.join("g"))
            .unwrap_err()
            .is_not_found()
    );
    let stat = Posix.stat(&dir.join("g")).unwrap().unwrap();
    assert_eq!((stat.kind, stat.size), (FileKind::File, 5));
    assert_eq!(Posix.stat(&dir.join("missing")), Ok(None));
    symlink("g", dir.join("link")).unwrap();
    assert_eq!(
        Posix.stat(&dir.join("link")).unwrap().unwrap().kind,
        FileKind::Other
    );
    Posix.remove_file(&dir.join("g")).unwrap();
    Posix.remove_file(&dir.join("g")).unwrap();
    Posix.sync_dir(&dir).unwrap();
    let space = Posix.space(&dir).unwrap();
    assert!(space.total > 0 && space.free <= space.total);
    assert_eq!(names(&dir), ["a", "link"]);
}

#[test]
fn attributes_come_back() {
    let (_scratch, dir) = scratch();
    let path = dir.join("f");
    fs::write(&path, "").unwrap();
    let mut wanted = Posix.stat(&path).unwrap().unwrap();
    wanted.mode = wanted.mode & !0o7777 | 0o4751;
    wanted.atime = (1_000_000_000, 123_456_000);
    wanted.mtime = (1_100_000_000, 654_321_000);
    Posix.restore(&path, &wanted).unwrap();
    let found = Posix.stat(&path).unwrap().unwrap();
    assert_eq!(
        (found.atime, found.mtime, found.mode),
        (wanted.atime, wanted.mtime, wanted.mode)
    );

    // Also through the open file, which has another mode and other times by then.
    fs::write(&path, "x").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let file = Posix.rewrite(&path, 0o666).unwrap();
    file.write_at(0, b"y").unwrap();
    file.restore(&wanted).unwrap();
    drop(file);
    let found = Posix.stat(&path).unwrap().unwrap();
    assert_eq!(
        (found.atime, found.mtime, found.mode),
        (wanted.atime, wanted.mtime, wanted.mode)
    );

    symlink(&path, dir.join("link")).unwrap();
    assert!(Posix.restore(&dir.join("link"), &wanted).is_err());
    // An owner that we cannot give is no error, but the set-id bit then is not given either.
    if wanted.uid != 0 {
        wanted.uid = 0;
        Posix.restore(&path, &wanted).unwrap();
        assert_eq!(mode(&path), 0o751);
    }
}

#[test]
fn a_held_directory_is_found_after_it_was_renamed_and_others_are_not() {
    let (_scratch, dir) = scratch();
    for name in ["held/sub", "other/sub"] {
        fs::create_dir_all(dir.join(name)).unwrap();
        fs::write(dir.join(name).join("f"), "before").unwrap();
    }
    let files = Posix.beneath(std::slice::from_ref(&dir));
    let holding = files.holding(&[&dir.join("held")]);
    for name in ["held", "other"] {
        let file = dir.join(name).join("sub/f");
        assert!(holding.stat(&file).unwrap().is_some());
        fs::rename(dir.join(name), dir.join(format!("{name}.away"))).unwrap();
        assert!(files.open(&file).err().unwrap().is_not_found());
        let new = dir.join(name).join("sub/new");
        let made = holding.create(&new, 0o666).map(drop);
        match name {
            "held" => {
                holding.open(&file).unwrap();
                made.unwrap();
                assert!(dir.join("held.away/sub/new").exists());
            }
            _ => {
                assert!(holding.open(&file).err().unwrap().is_not_found());
                assert!(made.unwrap_err().is_not_found());
            }
        }
    }
    // More directories than are held at once.
    for pass in 0..2 {
        for n in 0..20 {
            let below = dir.join(format!("held/{n}"));
            fs::create_dir_all(&below).unwrap();
            let file = holding
                .create(&below.join(pass.to_string()), 0o666)
                .unwrap();
            file.write_at(0, b"x").unwrap();
            assert_eq!(names(&below).len(), pass + 1, "{n}");
        }
    }
}

/// A run makes its directories while the one before removes those that it has emptied. That one removes them a
/// few times for each try at most. Otherwise it may win every time on a slow machine.
#[test]
fn directories_are_made_beside_one_who_removes_them() {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    const COUNT: u32 = 3000;
    const REMOVALS: u32 = 20;
    let (_scratch, dir) = scratch();
    let (base, below) = (dir.join("base"), Path::new("user/scr.1"));
    let tried = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut seen, mut removals) = (0, 0);
            while seen < COUNT {
                let now = tried.load(SeqCst);
                if now != seen {
                    (seen, removals) = (now, 0);
                }
                if removals < REMOVALS {
                    let _ = fs::remove_dir(base.join(below));
                    removals += u32::from(fs::remove_dir(base.join("user")).is_ok());
                }
                // Without a pause the kernel's lock of the directory may let the two act in turn.
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
        });
        let made: Vec<_> = (0..COUNT)
            .map(|_| {
                let made = Posix.make_private_dirs(&base, below);
                let made = made
                    .and_then(|()| Posix.make_dirs(&base.join("user/a/b")))
                    .and_then(|()| Posix.remove_tree(&base.join("user/a")));
                tried.fetch_add(1, SeqCst);
                made
            })
            .collect();
        for result in made {
            result.unwrap();
        }
    });
}

/// Who holds the lock removes the file, as the last run does with its directory. Another one then makes it
/// again, while a third has the removed one open and gets the lock on that.
#[test]
fn a_lock_is_on_what_the_path_names() {
    let (_scratch, dir) = scratch();
    let path = dir.join("f");
    let inside = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3000 {
                    fs::OpenOptions::new()
                        .create(true)
                        .append(true)
                        .open(&path)
                        .unwrap();
                    let Ok(Some(held)) = Posix.try_lock(&path) else {
                        continue;
                    };
                    let others = inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    assert_eq!(others, 0, "two have the lock");
                    std::thread::yield_now();
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    fs::remove_file(&path).unwrap();
                    drop(held);
                }
            });
        }
    });
}

#[test]
fn a_lock_excludes_until_dropped() {
    let (_scratch, dir) = scratch();
    fs::write(dir.join("f"), "").unwrap();
    for path in [dir.join("f"), dir.clone()] {
        let held = Posix.try_lock(&path).unwrap();
        assert!(held.is_some());
        assert!(Posix.try_lock(&path).unwrap().is_none());
        drop(held);
        assert!(Posix.try_lock(&path).unwrap().is_some());
    }
    assert!(
        Posix
            .try_lock(&dir.join("missing"))
            .err()
            .unwrap()
            .is_not_found()
    );
}

#[test]
fn a_chosen_operation_fails_and_the_next_works() {
    let (_scratch, dir) = scratch();
    let files = Faulty::new(Posix);
    files.faults().fail_at(2, libc::ENOSPC);
    let file = files.create(&dir.join("f"), 0o600).unwrap();
    let error = file.write_at(0, b"x").unwrap_err();
    assert_eq!(error.errno(), Some(libc::ENOSPC));
    assert_eq!(file.sync(), Err(error));
    files
        .replace(&dir.join("f"), b"y", Durability::Atomic)
        .unwrap();
    assert_eq!(files.read(&dir.join("f"), 1).unwrap(), b"y");
    assert_eq!(files.faults().operations(), 3);
}

/// What a program does, and with what.
type Step = (&'static str, fn(&dyn Files, &Path) -> scr::Result<()>);

#[test]
fn death_leaves_half_an_operation_and_stops_all_that_follow() {
    fn write(files: &dyn Files, dir: &Path) -> scr::Result<()> {
        files.create(&dir.join("new"), 0o600)?.write_at(0, b"1234")
    }
    let steps: [Step; 3] = [
        ("write", write),
        ("replace", |files, dir| {
            files.replace(&dir.join("f"), b"1234", Durability::Synced)
        }),
        ("tree", |files, dir| files.remove_tree(dir)),
    ];
    for (name, step) in steps {
        let (_scratch, dir) = scratch();
        fs::write(dir.join("f"), "old").unwrap();
        fs::write(dir.join("g"), "old").unwrap();
        let files = Faulty::new(Posix);
        files.faults().die_at(if name == "write" { 2 } else { 1 });
        assert!(error_of(step(&files, &dir)).contains("has died"), "{name}");
        assert!(files.faults().is_dead());
        assert!(
            files.stat(&dir).is_err() && files.make_dirs(&dir).is_err(),
            "{name}"
        );
        let old = |name: &str| fs::read_to_string(dir.join(name)).unwrap_or_default();
        match name {
            "write" => assert_eq!((names(&dir).len(), old("new").as_str()), (3, "12")),
            "replace" => {
                assert_eq!(names(&dir), [".f.tmp.0.0", "f", "g"]);
                assert_eq!(
                    (old("f").as_str(), old(".f.tmp.0.0").as_str()),
                    ("old", "12")
                );
            }
            _ => assert_eq!(names(&dir), ["g"]),
        }
    }
}

#[test]
fn a_disk_fills_up_and_empties() {
    let (_scratch, dir) = scratch();
    let files = Faulty::new(Posix);
    files.faults().limit_space(Some(10));
    let free = || files.space(&dir).unwrap().free;
    let file = files.create(&dir.join("f"), 0o600).unwrap();
    file.write_at(0, &[1; 6]).unwrap();
    file.write_at(2, &[2; 6]).unwrap();
    assert_eq!(free(), 2);
    let error = file.write_at(6, &[3; 6]).unwrap_err();
    assert_eq!(error.errno(), Some(libc::ENOSPC));
    assert!(error.to_string().contains("free space"), "{error}");
    assert_eq!(
        fs::read(dir.join("f")).unwrap(),
        [1, 1, 2, 2, 2, 2, 3, 3, 3, 3]
    );
    assert_eq!(file.sync(), Err(error));
    assert!(
        files
            .replace(&dir.join("g"), b"1", Durability::Atomic)
            .is_err()
    );
    files.remove_file(&dir.join("f")).unwrap();
    assert_eq!(free(), 10);
    files
        .replace(&dir.join("g"), b"1234", Durability::Atomic)
        .unwrap();
    files
        .replace(&dir.join("g"), b"12", Durability::Atomic)
        .unwrap();
    assert_eq!(free(), 8);
    let file = files.create(&dir.join("h"), 0o600).unwrap();
    file.allocate(8).unwrap();
    assert!(matches!(
        file.allocate(9),
        Err(Error::Io {
            errno: Some(libc::ENOSPC),
            ..
        })
    ));
    assert_eq!(free(), 0);
    files.rename(&dir.join("g"), &dir.join("h")).unwrap();
    assert_eq!(free(), 8);
    files.remove_tree(&dir).unwrap();
    assert_eq!(files.faults().operations(), 13);
}
