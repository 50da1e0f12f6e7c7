//! A directory that cannot be looked at or removed is reported, and never removed on a guess.

use super::*;
use scr_engine::format::transfer::RUN;
use scr_engine::store::posix::Posix;
use scr_testing::faulty::{Faults, Faulty};
use std::fs;
use std::sync::Arc;

/// A base directory with a job's directory, in which a cached dataset has a file of 5 bytes.
struct Base {
    dir: tempfile::TempDir,
    files: Faulty<Posix>,
    job: PathBuf,
}

impl Base {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let job = dir.path().join("user/scr.7");
        let data = job.join("scr.run.0000000000000001/scr.dataset.3/rank_0/ck");
        fs::create_dir_all(data.parent().unwrap()).unwrap();
        fs::write(&data, "12345").unwrap();
        let files = Faulty::new(Posix);
        Base { dir, files, job }
    }

    fn faults(&self) -> Faults {
        self.files.faults()
    }

    fn found(&self, job: Option<&str>) -> Vec<Result<JobDirectory>> {
        directories(&self.files, self.dir.path(), "user", job).unwrap()
    }

    fn directory(&self) -> JobDirectory {
        self.found(None).remove(0).unwrap()
    }

    fn data(&self) -> PathBuf {
        self.job
            .join("scr.run.0000000000000001/scr.dataset.3/rank_0/ck")
    }
}

fn clean_one(directory: JobDirectory) -> Cleaned {
    clean(&[directory], false, false).remove(0)
}

fn why(cleaned: &Cleaned) -> &str {
    match &cleaned.done {
        Done::Kept(why) => why,
        Done::Removed => "removed",
        Done::WouldRemove => "would remove",
    }
}

#[test]
fn all_of_a_job_that_ended_goes() {
    let base = Base::new();
    let tried = clean(&[base.directory()], true, false).remove(0);
    assert_eq!(why(&tried), "would remove");
    assert_eq!((tried.files, tried.bytes), (1, 5));
    assert!(base.data().exists());
    let cleaned = clean_one(base.directory());
    assert_eq!(why(&cleaned), "removed");
    assert_eq!((cleaned.files, cleaned.bytes), (1, 5));
    assert!(cleaned.problems.is_empty() && cleaned.foreign.is_empty());
    assert!(!base.dir.path().join("user").exists());
}

/// A daemon that was killed leaves its transfer file.
#[test]
fn a_transfer_file_without_open_parts_keeps_nothing() {
    let base = Base::new();
    let control = Control::new(&base.files, base.job.clone());
    control
        .update(|file| file.command = Some(RUN.into()))
        .unwrap();
    assert!(control.file().exists());
    assert_eq!(why(&clean_one(base.directory())), "removed");
}

#[test]
fn without_locks_nothing_is_removed() {
    let base = Base::new();
    let directory = base.directory();
    for (errno, told, problems) in [
        (libc::ENOLCK, "has no locks", 0),
        (libc::EIO, "it is not known whether a run", 1),
    ] {
        base.faults().fail_locks(Some(errno));
        let cleaned = clean(std::slice::from_ref(&directory), false, true).remove(0);
        assert!(why(&cleaned).contains(told), "{}", why(&cleaned));
        assert_eq!(cleaned.problems.len(), problems);
        assert!(base.data().exists());
    }
    // The one before has removed it.
    base.faults().fail_locks(Some(libc::ENOENT));
    assert!(clean(&[directory], false, true).is_empty());
}

#[test]
fn what_cannot_be_looked_at_is_kept_and_told() {
    let mut reads = 0;
    // In turn n, the n-th read and all later reads of its path fail. The loop ends once there is no n-th read.
    loop {
        reads += 1;
        let base = Base::new();
        let directory = base.directory();
        base.faults().fail_read_at(reads, libc::EIO, u64::MAX);
        let cleaned = clean_one(directory);
        let Some(path) = base.faults().failed_path() else {
            assert_eq!(why(&cleaned), "removed");
            break;
        };
        base.faults().fail_read_at(0, 0, 0);
        if base.job.exists() {
            let place = format!("read {reads}, of {}", path.display());
            let mut problems = cleaned.problems.iter();
            let told = problems.any(|error| error.errno() == Some(libc::EIO));
            assert!(told, "{place}");
            assert_ne!(why(&cleaned), "removed", "{place}");
            let again = clean_one(base.directory());
            assert!(again.problems.is_empty(), "{place}");
        }
        assert!(!base.job.exists(), "read {reads}");
    }
    assert!(reads > 8, "{reads}");
}

#[test]
fn what_cannot_be_removed_is_told() {
    let mut changes = 0;
    loop {
        changes += 1;
        let base = Base::new();
        base.faults().fail_at(changes, libc::EACCES);
        let cleaned = clean_one(base.directory());
        if base.faults().operations() < changes {
            assert_eq!(why(&cleaned), "removed");
            break;
        }
        if base.job.exists() {
            assert_eq!(why(&cleaned), "not all of it could be removed", "{changes}");
            assert_eq!(cleaned.problems[0].errno(), Some(libc::EACCES), "{changes}");
        }
        assert_eq!(base.data().exists(), cleaned.files == 0, "{changes}");
    }
    assert!(changes > 4, "{changes}");
}

#[test]
fn what_is_not_the_owners_is_kept() {
    let base = Base::new();
    fs::write(base.job.join("scr.run.0000000000000001/notes"), "mine").unwrap();
    fs::write(
        base.job
            .join("scr.run.0000000000000001/scr.dataset.3/notes"),
        "mine",
    )
    .unwrap();
    let cleaned = clean_one(base.directory());
    assert_eq!(why(&cleaned), "the rest of it was removed");
    assert_eq!(cleaned.foreign.len(), 2);
    assert!(!base.data().exists());
    assert!(base.job.join("scr.run.0000000000000001/notes").exists());

    let base = Base::new();
    let other = JobDirectory {
        owner: base.directory().owner + 1,
        path: base.job.clone(),
        job: "7".to_string(),
        files: Arc::new(Posix),
    };
    let cleaned = clean_one(other);
    assert_eq!(why(&cleaned), "it has nothing of SCR");
    assert_eq!(cleaned.foreign, [base.job.join("scr.run.0000000000000001")]);
    assert!(base.data().exists());
}

#[test]
fn directories_of_other_users_are_refused() {
    let base = Base::new();
    fs::write(base.dir.path().join("user/scr.8"), "no directory").unwrap();
    assert_eq!(base.found(None).len(), 1, "a file is not SCR's");
    let error = base.found(Some("8")).remove(0).err().unwrap().to_string();
    assert!(
        error.contains("scr.8") && error.contains("is no directory"),
        "{error}"
    );
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: only root can give files away");
        return;
    }
    std::os::unix::fs::chown(&base.job, Some(65534), None).unwrap();
    let error = base.found(None).remove(0).err().unwrap().to_string();
    assert!(
        error.contains("scr.7") && error.contains("belongs to user 65534"),
        "{error}"
    );
}
