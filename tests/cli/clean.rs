//! `scr clean`

use crate::sandbox::{Said, outside, program, said};
use crate::scavenge::on;
use crate::site::{Site, of_run};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Some user who is not root.
const ANN: u32 = 12345;

/// A run of two ranks on one node that was killed after a checkpoint which it did not flush.
fn killed() -> Site {
    let site = Site::new().set("SCR_FLUSH", "0");
    site.run(&["n0", "n0"], |rank| rank.checkpoint("ck.1").unwrap());
    site
}

fn clean(site: &Site, args: &[&str]) -> Said {
    on(site, "n0", "scr", &[&["clean"], args].concat())
}

/// All paths below a directory, but temporary files: a live run writes records again when it has taken checksums.
fn tree(dir: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![dir.to_path_buf()]);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name().to_string_lossy().contains(".tmp.") {
                continue;
            }
            found.push(entry.path());
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_live_run_is_kept_and_a_dead_one_removed() {
    let site = Site::new().set("SCR_FLUSH", "0");
    site.run(&["n0"], |rank| {
        rank.checkpoint("ck.1").unwrap();
        let before = tree(&site.node("n0"));
        for args in [&[][..], &["--all"], &["--force"], &["--job", "1001"]] {
            let out = clean(&site, args).out();
            assert!(out.contains("a run of this job is alive"), "{out}");
        }
        assert_eq!(tree(&site.node("n0")), before);
    });
    let (before, prefix) = (tree(&site.node("n0")), tree(&site.prefix()));
    let would = clean(&site, &["--dry-run"]).out();
    assert!(would.starts_with("Would remove "), "{would}");
    assert_eq!(tree(&site.node("n0")), before);
    // Another job's, or another user's.
    assert_eq!(clean(&site, &["--job", "77"]).out(), "");
    assert_eq!(clean(&site, &["--all", "--user", "nobody1"]).out(), "");
    assert_eq!(tree(&site.node("n0")), before);

    let files = before.iter().filter(|path| path.is_file()).count();
    let removed = clean(&site, &[]).out();
    let job = site.job("n0");
    let begin = format!("Removed {}: {files} files, ", job.display());
    assert!(removed.starts_with(&begin), "{begin}: {removed}");
    assert_eq!(would.replace("Would remove", "Removed"), removed);
    assert_eq!(tree(&site.node("n0")), [] as [PathBuf; 0]);
    assert_eq!(tree(&site.prefix()), prefix);
    assert_eq!(clean(&site, &[]).out(), "");
}

#[test]
fn what_is_not_of_scr_and_what_links_point_to_stays() {
    let site = killed();
    let (job, away) = (site.job("n0"), site.outside());
    let run = of_run(&job);
    let dataset = run.join("scr.dataset.1");
    fs::create_dir(&away).unwrap();
    fs::create_dir(away.join("rank_0")).unwrap();
    fs::write(away.join("rank_0/data"), "precious").unwrap();
    let outside = tree(&away);
    let foreign = [
        job.join("notes.txt"),
        job.join("scr.run.1"),
        job.join("scr.run.00000000000000ff"),
        run.join("scr.dataset.x"),
        run.join("scr.dataset.9"),
        dataset.join("rank_7"),
        dataset.join("more"),
    ];
    fs::write(&foreign[0], "mine").unwrap();
    fs::create_dir(&foreign[1]).unwrap();
    symlink(&away, &foreign[2]).unwrap();
    fs::create_dir(&foreign[3]).unwrap();
    symlink(&away, &foreign[4]).unwrap();
    symlink(away.join("rank_0"), &foreign[5]).unwrap();
    fs::write(&foreign[6], "mine").unwrap();
    // In the program's own directory a link goes, and not what it points to.
    let link = dataset.join("rank_0/link");
    symlink(&away, &link).unwrap();
    // Links and files with names of jobs.
    symlink(&away, job.with_file_name("scr.88")).unwrap();
    fs::write(job.with_file_name("scr.89"), "").unwrap();
    fs::write(job.with_file_name("other"), "").unwrap();

    let out = clean(&site, &["--all"]).out();
    for path in &foreign {
        assert!(
            out.contains(&format!("Kept {}: not SCR's", path.display())),
            "{out}"
        );
        assert!(fs::symlink_metadata(path).is_ok(), "{}", path.display());
    }
    assert!(out.contains("the rest of it was removed"), "{out}");
    assert!(!dataset.join("rank_0").exists() && !dataset.join(".scr").exists());
    assert!(fs::symlink_metadata(&link).is_err());
    assert_eq!(tree(&away), outside);
    for name in ["scr.88", "scr.89"] {
        let id = name.strip_prefix("scr.").unwrap();
        let said = clean(&site, &["--job", id]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.err.contains("is no directory"), "{}", said.err);
        assert!(fs::symlink_metadata(job.with_file_name(name)).is_ok());
    }
    assert_eq!(tree(&away), outside);
    // Nothing is removed through a link in place of the user's directory either.
    let base = site.node("n0");
    fs::rename(base.join("user1"), base.join("real")).unwrap();
    symlink(base.join("real"), base.join("user1")).unwrap();
    let before = tree(&base);
    assert_eq!(clean(&site, &["--all"]).code, 1);
    assert_eq!(tree(&base), before);
}

#[test]
fn damaged_records_are_removed() {
    let site = killed();
    let job = site.job("n0");
    for name in [".scr.run", "transfer.scrinfo", "..scr.run.tmp.12.0"] {
        fs::write(job.join(name), "damaged").unwrap();
    }
    fs::write(of_run(&job).join("scr.dataset.1/.scr/filemap_0"), "x").unwrap();
    fs::create_dir_all(of_run(&job).join("scr.trash.5/anything")).unwrap();
    let out = clean(&site, &[]).out();
    assert!(out.starts_with("Removed "), "{out}");
    assert_eq!(tree(&site.node("n0")), [] as [PathBuf; 0]);
}

#[test]
fn transfers_that_poststage_has_to_finish_are_kept() {
    let site = Site::new()
        .set("SCR_FLUSH", "1")
        .set("SCR_FLUSH_ASYNC", "1")
        .set("SCR_FLUSH_TYPE", "DAEMON")
        .set("SCR_FLUSH_ASYNC_BW", "1")
        .set("SCR_FLUSH_POSTSTAGE", "1");
    site.run(&["n0"], |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.session
            .finalize(&mut scr::config::Config::new())
            .unwrap();
    });
    let before = tree(&site.node("n0"));
    let out = clean(&site, &[]).out();
    assert!(
        out.contains("scr poststage has to finish 1 transfer"),
        "{out}"
    );
    assert_eq!(tree(&site.node("n0")), before);
    assert!(clean(&site, &["--force"]).out().starts_with("Removed "));
    assert_eq!(tree(&site.node("n0")), [] as [PathBuf; 0]);
}

#[test]
fn a_living_transfer_daemon_keeps_its_job() {
    use std::io::{BufRead, BufReader};
    let site = killed();
    let base = site.node("n0");
    let mut daemon = outside("scr", &["transfer"]);
    daemon
        .current_dir(site.prefix())
        .envs([("SCR_CACHE_BASE", &base), ("SCR_CNTL_BASE", &base)])
        .envs(site.vars.iter().map(|(name, value)| (name, value)))
        .env("SCR_NODE_NAME", "n0")
        .stdout(Stdio::piped());
    let mut daemon = daemon.spawn().unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(daemon.stdout.take().unwrap());
    while !line.contains(" serves ") {
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "{line}");
    }
    let out = clean(&site, &[]);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert!(out.out().contains("its transfer daemon is alive"));
    assert!(of_run(&site.job("n0")).join("scr.dataset.1").exists());
    assert!(clean(&site, &[]).out().starts_with("Removed "));
}

/// Runs `scr clean ARGS` as another user, on the directories below `dir`.
fn as_ann(dir: &Path, args: &[&str]) -> Said {
    let program_copy = dir.join("scr");
    // A child of another test could inherit a file that we have open for writing.
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_scr"))
        .arg(&program_copy)
        .status();
    assert!(copied.unwrap().success());
    let mut command = Command::new(&program_copy);
    for (name, value) in program("scr", &[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let base = dir.join("base");
    command
        .arg("clean")
        .args(args)
        .envs([("SCR_CACHE_BASE", &base), ("SCR_CNTL_BASE", &base)])
        .envs([("SCR_USER_NAME", "ann"), ("SCR_JOB_ID", "5")])
        .current_dir(dir)
        .uid(ANN)
        .gid(ANN);
    said(command.output().unwrap())
}

#[test]
fn another_users_and_unreadable_directories_are_kept() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: only root can make files of other users");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    mode(dir.path(), 0o755).unwrap();
    let user = dir.path().join("base/ann");
    let dataset = user.join("scr.5/scr.run.0000000000000001/scr.dataset.1");
    for rank in ["rank_0", "rank_1"] {
        fs::create_dir_all(dataset.join(rank)).unwrap();
        fs::write(dataset.join(rank).join("data"), "12345").unwrap();
    }
    // The user's directory is root's.
    let before = tree(&user);
    let refused = as_ann(dir.path(), &["--all"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("belongs to user 0"), "{}", refused.err);
    assert_eq!(tree(&user), before);

    let all: Vec<PathBuf> = tree(&user).into_iter().chain([user.clone()]).collect();
    all.iter()
        .for_each(|path| chown(path, Some(ANN), Some(ANN)).unwrap());
    // Root does not remove what somebody else has put into a user's directory.
    let strange = user.join("scr.6");
    fs::create_dir(&strange).unwrap();
    chown(&strange, Some(ANN + 1), None).unwrap();
    let said = as_ann(dir.path(), &["--job", "6"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("belongs to user 12346"), "{}", said.err);
    let file = dataset.join("rank_0/strange");
    fs::write(&file, "").unwrap();

    mode(&dataset.join("rank_1"), 0o000).unwrap();
    let said = as_ann(dir.path(), &["--job", "5"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("rank_1"), "{}", said.err);
    assert!(
        said.out.contains("not all of it could be removed"),
        "{}",
        said.out
    );
    assert!(!dataset.join("rank_0").exists() && dataset.join("rank_1").exists());

    // Root can.
    let base = dir.path().join("base");
    let mut root = program("scr", &["clean", "--job", "5", "--user", "ann"]);
    root.current_dir(dir.path());
    let root = root.envs([("SCR_CACHE_BASE", &base), ("SCR_CNTL_BASE", &base)]);
    let out = said_of(root).out();
    assert!(out.contains(": 1 file, 5 B"), "{out}");
    assert!(!user.join("scr.5").exists() && strange.exists());
}

fn said_of(command: &mut Command) -> Said {
    said(command.output().unwrap())
}
