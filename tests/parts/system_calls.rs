//! The system calls that each operation of the real file system makes, compared with a written list. No
//! other test sees a directory that is not synced, or a flag that is missing: both show only when power
//! is lost, or when somebody puts a link in the way.
//!
//! The list is `system_calls.txt`. In it `R` is the directory below which no link is followed. What only reads is left
//! out, but for `openat`, whose flags matter.

use scr::store::posix::{Beneath, Posix};
use scr::store::{Durability, Files};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tells this test that it is the one that is traced: the directory in which to work.
const TRACED: &str = "SCR_TRACED_DIRECTORY";

/// A file with this beginning is opened before each operation, so that the trace shows where it begins.
const MARK: &str = "/operation: ";

/// The calls of which one is missed.
const CALLS: &str = "open,openat,openat2,creat,write,pwrite64,writev,pwritev,fsync,fdatasync,sync,syncfs,\
     sync_file_range,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,\
     symlinkat,flock,ftruncate,truncate,fallocate,copy_file_range,chmod,fchmod,fchmodat,chown,fchown,\
     fchownat,utimensat,close";

/// An operation, on files beneath a directory that [`prepare`] has filled.
type Operation = (&'static str, fn(&dyn Files, &Path));

/// `d` with a file, an empty file, a file with two names, an empty directory, and a tree.
fn prepare(root: &Path) {
    fs::create_dir_all(root.join("d/tree/below")).unwrap();
    fs::create_dir(root.join("d/empty")).unwrap();
    for (name, content) in [
        ("d/file", "content"),
        ("d/nothing", ""),
        ("d/linked", "content"),
        ("d/tree/one", "1"),
        ("d/tree/below/two", "2"),
    ] {
        fs::write(root.join(name), content).unwrap();
    }
    fs::hard_link(root.join("d/linked"), root.join("other name")).unwrap();
}

/// Operations that are the same for all kinds of [`Files`].
const OPERATIONS: &[Operation] = &[
    ("create a new file", |files, root| {
        files.create(&root.join("d/new"), 0o640).unwrap();
    }),
    ("create over a file", |files, root| {
        files.create(&root.join("d/file"), 0o640).unwrap();
    }),
    ("create over an empty file", |files, root| {
        files.create(&root.join("d/nothing"), 0o640).unwrap();
    }),
    ("create over a file with two names", |files, root| {
        files.create(&root.join("d/linked"), 0o640).unwrap();
    }),
    ("rewrite a file", |files, root| {
        files.rewrite(&root.join("d/file"), 0o640).unwrap();
    }),
    ("rewrite a file with two names", |files, root| {
        files.rewrite(&root.join("d/linked"), 0o640).unwrap();
    }),
    ("write, set the size, sync", |files, root| {
        let file = files.create(&root.join("d/nothing"), 0o640).unwrap();
        file.write_at(5, b"abc").unwrap();
        file.set_size(7).unwrap();
        file.start_sync(0..7).unwrap();
        file.sync().unwrap();
    }),
    ("allocate", |files, root| {
        let file = files.create(&root.join("d/nothing"), 0o640).unwrap();
        file.allocate(10).unwrap();
        file.allocate(0).unwrap();
    }),
    ("restore the attributes of an open file", |files, root| {
        let stat = files.stat(&root.join("d/file")).unwrap().unwrap();
        let file = files.rewrite(&root.join("d/nothing"), 0o640).unwrap();
        let mode = stat.mode & !0o777 | 0o600;
        file.restore(&scr::store::Stat { mode, ..stat }).unwrap();
    }),
    ("restore the attributes of a path", |files, root| {
        let stat = files.stat(&root.join("d/file")).unwrap().unwrap();
        let mode = stat.mode & !0o777 | 0o600;
        let stat = scr::store::Stat { mode, ..stat };
        files.restore(&root.join("d/nothing"), &stat).unwrap();
    }),
    ("open a file", |files, root| {
        files.open(&root.join("d/file")).unwrap();
    }),
    ("read a file", |files, root| {
        files.read(&root.join("d/file"), 10).unwrap();
    }),
    ("replace, for readers", |files, root| {
        let path = root.join("d/file");
        files.replace(&path, b"new", Durability::Atomic).unwrap();
    }),
    ("replace, for a power loss", |files, root| {
        let path = root.join("d/file");
        files.replace(&path, b"new", Durability::Synced).unwrap();
    }),
    ("replace a directory, which fails", |files, root| {
        let path = root.join("d/empty");
        files
            .replace(&path, b"new", Durability::Synced)
            .unwrap_err();
    }),
    ("make directories", |files, root| {
        files.make_dirs(&root.join("d/a/b")).unwrap();
    }),
    ("make directories that are there", |files, root| {
        files.make_dirs(&root.join("d/tree/below")).unwrap();
    }),
    ("make private directories", |files, root| {
        let below = Path::new("user/job");
        files.make_private_dirs(&root.join("d"), below).unwrap();
    }),
    ("list a directory", |files, root| {
        files.list(&root.join("d")).unwrap();
    }),
    ("rename a file", |files, root| {
        let (from, to) = (root.join("d/file"), root.join("d/tree/one"));
        files.rename(&from, &to).unwrap();
    }),
    ("remove a file", |files, root| {
        files.remove_file(&root.join("d/file")).unwrap();
    }),
    ("remove an empty directory", |files, root| {
        assert!(files.remove_dir(&root.join("d/empty")).unwrap());
    }),
    ("remove a tree", |files, root| {
        files.remove_tree(&root.join("d/tree")).unwrap();
    }),
    ("sync a directory", |files, root| {
        files.sync_dir(&root.join("d/tree")).unwrap();
    }),
    ("sync a file system", |files, root| {
        files.sync_fs(&root.join("d")).unwrap();
    }),
    ("lock a directory", |files, root| {
        assert!(files.try_lock(&root.join("d")).unwrap().is_some());
    }),
    ("lock a file", |files, root| {
        assert!(files.try_lock(&root.join("d/file")).unwrap().is_some());
    }),
    ("hold a directory", |files, root| {
        let held = files.holding(&[&root.join("d")]);
        held.create(&root.join("d/one"), 0o640).unwrap();
        held.create(&root.join("d/two"), 0o640).unwrap();
    }),
    ("append", |files, root| {
        files.append(&root.join("d/file"), 0o640, b"more").unwrap();
    }),
];

/// Those of the above that are done also without a directory below which no link is followed.
const PLAIN: &[&str] = &[
    "create a new file",
    "replace, for a power loss",
    "make directories",
    "remove a tree",
    "sync a directory",
];

/// Does everything, each operation in a directory of its own.
fn operate(scratch: &Path) {
    let plain = OPERATIONS.iter().filter(|(name, _)| PLAIN.contains(name));
    let all = OPERATIONS.iter().map(|operation| (true, operation));
    for (number, (beneath, (name, run))) in all.chain(plain.map(|o| (false, o))).enumerate() {
        let root = scratch.join(format!("{number:02}"));
        prepare(&root);
        let files: Box<dyn Files> = if beneath {
            Box::new(Beneath::new(std::slice::from_ref(&root)))
        } else {
            Box::new(Posix)
        };
        let how = if beneath { "" } else { ", links followed" };
        let _ = fs::File::open(format!("{MARK}{name}{how}"));
        run(&*files, &root);
        let _ = fs::File::open(MARK);
    }
}

/// The trace of [`operate`], one call per line; `None` if there is none.
fn trace(scratch: &Path) -> Option<String> {
    let out = scratch.join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-qq", "-s", "0", "-e"]);
    command.arg(format!("trace={CALLS}")).arg("-o").arg(&out);
    command.arg(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "system_calls::operations_make_the_listed_system_calls",
    ]);
    command.args(["--test-threads", "1"]).env(TRACED, scratch);
    match command.output() {
        Ok(done) if done.status.success() => Some(fs::read_to_string(out).unwrap()),
        Ok(done) if out.is_file() && fs::metadata(&out).unwrap().len() > 0 => {
            panic!("{}", String::from_utf8_lossy(&done.stdout));
        }
        other => {
            println!("SKIPPED: there is no strace here, or it may not trace: {other:?}");
            None
        }
    }
}

/// A call as in the list: without numbers of files and processes, and paths from `R` on.
struct Call {
    /// The number of the file that it closes or opens.
    file: Option<u32>,
    text: String,
}

/// `3<path>` becomes `<path>`; returns the first number, too.
fn without_numbers(call: &str) -> (Option<u32>, String) {
    let (mut first, mut text) = (None, String::new());
    let mut digits = String::new();
    for c in call.chars() {
        match c {
            '0'..='9' => digits.push(c),
            '<' if !digits.is_empty() => {
                first = first.or(digits.parse().ok());
                digits.clear();
                text.push(c);
            }
            _ => {
                text.push_str(&digits);
                digits.clear();
                text.push(c);
            }
        }
    }
    text.push_str(&digits);
    (first, text)
}

/// The names of temporary files end with numbers that differ.
fn without_temporary_names(text: &str) -> String {
    let mut parts = text.split(".tmp.");
    let mut result = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        result.push_str(".tmp.N");
        result.push_str(rest);
    }
    result
}

/// Flags in one order, whatever version of strace told them, and without one that only some machines have.
fn with_sorted_flags(text: &str) -> String {
    let is_flag = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "_|".contains(c);
    let (mut result, mut rest) = (String::new(), text);
    while let Some(begin) = rest.find(is_flag) {
        let (before, flags) = rest.split_at(begin);
        let end = flags.find(|c| !is_flag(c)).unwrap_or(flags.len());
        let (flags, after) = flags.split_at(end);
        let mut all: Vec<&str> = flags.split('|').filter(|f| *f != "O_LARGEFILE").collect();
        all.sort();
        result.push_str(before);
        result.push_str(&all.join("|"));
        rest = after;
    }
    result + rest
}

fn call_of(line: &str, root: &Path) -> Call {
    let line = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim();
    let (call, result) = line.rsplit_once(" = ").unwrap_or((line, ""));
    let call = call.trim_end();
    let number = if call.starts_with("close(") {
        without_numbers(call).0
    } else {
        without_numbers(result).0
    };
    let failure = result.strip_prefix("-1 ");
    let failure = failure.and_then(|text| text.split_whitespace().next());
    let (_, mut text) = without_numbers(call);
    while let Some(from) = text.find("AT_FDCWD<") {
        let to = text[from..]
            .find('>')
            .map_or(text.len(), |to| from + to + 1);
        text.replace_range(from..to, "AT_FDCWD");
    }
    text = text
        .replace(&root.display().to_string(), "R")
        .replace("(deleted)", "");
    text = without_temporary_names(&text);
    if let Some(from) = text.find("/proc/self/fd/") {
        let to = text[from..].find('"').map_or(text.len(), |to| from + to);
        text.replace_range(from..to, "/proc/self/fd/N");
    }
    // As on machines that have only the newer calls.
    for (old, new) in [
        ("mkdir(", "mkdirat("),
        ("open(", "openat("),
        ("chmod(", "fchmodat("),
    ] {
        if let Some(rest) = text.strip_prefix(old) {
            text = format!("{new}AT_FDCWD, {rest}");
        }
    }
    text = with_sorted_flags(&text);
    if let Some(failure) = failure {
        text = format!("{text}: {failure}");
    }
    Call { file: number, text }
}

/// The list that follows from a trace.
fn listed(trace: &str, scratch: &Path) -> String {
    let mark = format!("\"{MARK}");
    let (mut list, mut number, mut inside) = (String::new(), 0, false);
    let mut writable = BTreeSet::new();
    for line in trace.lines() {
        if let Some((_, rest)) = line.split_once(&mark) {
            let name = rest.split('"').next().unwrap_or_default();
            inside = !name.is_empty();
            if inside {
                list.push_str(&format!("{name}\n"))
            } else {
                list.push('\n');
                number += 1;
            }
            writable.clear();
            continue;
        }
        if !inside {
            continue;
        }
        let root = scratch.join(format!("{number:02}"));
        let call = call_of(line, &root);
        let opens = call.text.starts_with("open");
        if opens && (call.text.contains("O_RDWR") || call.text.contains("O_WRONLY")) {
            writable.extend(call.file);
        }
        // Of directories it does not matter when they are closed.
        if !call.text.starts_with("close(") || call.file.is_some_and(|file| writable.remove(&file))
        {
            list.push_str(&format!("    {}\n", call.text));
        }
    }
    list
}

/// True on a file system where space is not reserved.
fn is_tmpfs(path: &Path) -> bool {
    let known = rustix::fs::statfs(path).map(|system| system.f_type as u64);
    known == Ok(0x0102_1994)
}

#[test]
fn operations_make_the_listed_system_calls() {
    if let Some(scratch) = std::env::var_os(TRACED) {
        return operate(Path::new(&scratch));
    }
    let directory = tempfile::tempdir().unwrap();
    let scratch: PathBuf = directory.path().canonicalize().unwrap();
    let Some(trace) = trace(&scratch) else {
        return;
    };
    if trace.contains("ENOSYS") {
        println!("SKIPPED: this system does not have all calls, so others are made");
        return;
    }
    let mut expected = include_str!("system_calls.txt").to_string();
    if is_tmpfs(&scratch) {
        let reserves = |line: &&str| !line.trim_start().starts_with("fallocate(");
        let kept: Vec<&str> = expected.lines().filter(reserves).collect();
        expected = kept.join("\n") + "\n\n";
    }
    let found = listed(&trace, &scratch);
    assert!(
        found.trim() == expected.trim(),
        "the system calls are not those of tests/parts/system_calls.txt. If they are right, write them there:\n{found}"
    );
}
