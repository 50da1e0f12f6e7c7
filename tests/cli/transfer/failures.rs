//! What a daemon cannot copy, and files that it must refuse.

use super::*;

/// A directory is in the way of a file: the daemon's reason comes to the library; the dataset stays in the
/// cache, and is flushed when the way is free.
#[test]
fn what_the_daemon_cannot_copy_is_told_and_flushed_later() {
    let site = by_daemon();
    let _daemon = Running::on(&site, "n0");
    let in_the_way = site.prefix().join("a/rank_1.dat");
    fs::create_dir_all(&in_the_way).unwrap();
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        // Waits for the end of the flush.
        rank.session.current(&Name::from("a")).unwrap();
        assert_eq!(saved(&site), [] as [&str; 0]);
        assert!(site.dataset("n0", 1).join("rank_1/a/rank_1.dat").exists());
        rank.session.should_exit().unwrap();
        if rank.rank == 1 {
            fs::remove_dir(&in_the_way).unwrap();
        }
        rank.session.should_exit().unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a"]);
    let told = events(&site);
    for part in [
        "could not be flushed",
        "the transfer daemon: cannot",
        "a/rank_1.dat",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// The prefix directory of the daemon is read-only, then full; that of the library is not.
#[test]
fn a_read_only_or_full_prefix_directory_is_told_and_flushed_later() {
    let own_mounts = |then: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c"]).arg(then).arg("sh");
        command
    };
    if !own_mounts("mount -t tmpfs none /mnt")
        .output()
        .is_ok_and(|o| o.status.success())
    {
        println!("SKIPPED: no name spaces for mounts here");
        return;
    }
    for (mount, reason) in [
        (
            "mount -o bind . . && mount -o remount,bind,ro . && cd .",
            "Read-only file system",
        ),
        ("mount -t tmpfs -o size=4k none a", "No space left"),
    ] {
        let site = by_daemon();
        fs::create_dir(site.prefix().join("a")).unwrap();
        let plain = command(&site, "n0", &["transfer"]);
        let script = format!("{mount} && cd \"$PWD\" && exec \"$1\" transfer");
        let mut confined = own_mounts(&script);
        confined
            .arg(env!("CARGO_BIN_EXE_scr"))
            .current_dir(site.prefix());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => confined.env(name, value),
                None => confined.env_remove(name),
            };
        }
        let _daemon = Running::of(confined);
        site.run(&["n0", "n0"], |rank| {
            rank.checkpoint("a").unwrap();
            // Waits for the end of the flush.
            rank.session.current(&Name::from("a")).unwrap();
            assert_eq!(saved(&site), [] as [&str; 0]);
            assert!(site.dataset("n0", 1).join("rank_1/a/rank_1.dat").exists());
            finalize(rank);
        });
        assert_eq!(saved(&site), ["a"], "{}", events(&site));
        let told = events(&site);
        assert!(
            told.contains("could not be flushed") && told.contains(reason),
            "{told}"
        );
        lose_all(&site);
        assert_eq!(
            site.run(&["n0", "n0"], Rank::restart),
            vec![Some("a".to_string()); 2]
        );
    }
}

#[test]
fn a_damaged_transfer_file_is_put_aside() {
    let site = by_daemon();
    let daemon = Running::on(&site, "n0");
    let path = control(&site, "n0").file();
    let whole = {
        let entry = TransferPart {
            result: Some(DONE.into()),
            ..TransferPart::default()
        };
        control(&site, "n0")
            .update(|file| {
                file.command = Some(RUN.into());
                file.insert(
                    PartId {
                        dataset: 9,
                        part: 0,
                    },
                    entry.clone(),
                )
            })
            .unwrap();
        // Then the daemon has nothing more to write: it would write over what comes now.
        until(|| file(&site, "n0").flag == Some(DONE.into()));
        fs::read(&path).unwrap()
    };
    let mut flipped = whole.clone();
    flipped[30] ^= 1;
    for (n, bytes) in [&b"nonsense"[..], &whole[..whole.len() / 2], &flipped]
        .iter()
        .enumerate()
    {
        // In one step, as a file comes.
        fs::write(path.with_extension("new"), bytes).unwrap();
        fs::rename(path.with_extension("new"), &path).unwrap();
        until(|| !path.exists());
        let put_aside = || {
            let told = daemon.told.lock().unwrap();
            told.iter()
                .filter(|line| line.contains("is put aside as"))
                .count()
                == n + 1
        };
        until(put_aside);
        let aside = site.job("n0").join("transfer.scrinfo.damaged");
        assert_eq!(fs::read(aside).unwrap(), *bytes);
    }
    fs::write(&path, "nonsense").unwrap();
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("a").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a"], "{}", events(&site));
    drop(daemon);

    // Without a daemon: --status tells, and a run goes on.
    fs::write(&path, "nonsense").unwrap();
    let error = transfer(&site, "n0", &["--status"]).failed();
    assert!(error.contains("transfer.scrinfo"), "{error}");
    site.run(&["n0", "n0"], |rank| {
        rank.checkpoint("b").unwrap();
        finalize(rank);
    });
    assert_eq!(saved(&site), ["a", "b"], "{}", events(&site));
}

/// The daemon copies only from caches of its job, to prefix directories, and numbers must fit.
#[test]
fn hostile_parts_are_refused() {
    let site = slow();
    // An entry as the library makes it.
    {
        let daemon = Running::on(&site, "n0");
        site.run(&["n0", "n0"], |rank| rank.checkpoint("a").unwrap());
        drop(daemon);
    }
    let control = control(&site, "n0");
    let (good_at, good) = {
        let file = control.read().unwrap().unwrap();
        let (at, part) = file.parts().next().unwrap();
        (at, part.clone())
    };
    assert_eq!(good_at.dataset, 1);
    let other = tempfile::tempdir().unwrap();
    let elsewhere = Name::from(other.path());
    type Change<'a> = &'a dyn Fn(&mut TransferPart);
    let cases: [(&str, Change); 11] = [
        ("PREFIX", &|part| part.prefix = "/tmp/../etc".into()),
        ("PREFIX", &|part| part.prefix = "relative".into()),
        ("BASE", &|part| part.base = "../..".into()),
        ("BASE", &|part| part.base = "/a/../b".into()),
        ("RUN", &|part| part.run = "../../../../x".into()),
        ("its description is of dataset 7", &|part| {
            part.dataset.id = 7
        }),
        ("do not fit", &|part| {
            (part.parts, part.ranks) = (u64::MAX, u64::MAX)
        }),
        ("do not fit", &|part| part.rank = vec![1, 0]),
        ("do not fit", &|part| part.rank = vec![u64::MAX]),
        // Nothing of the job is there, and no flush has its permit.
        ("cannot open", &|part| part.base = elsewhere.clone()),
        ("permit", &|part| part.prefix = elsewhere.clone()),
    ];
    for (reason, change) in cases {
        let mut part = good.clone();
        part.restart();
        change(&mut part);
        control
            .update(|file| {
                *file = Transfer {
                    command: Some(RUN.into()),
                    ..Transfer::default()
                };
                file.insert(good_at, part.clone());
            })
            .unwrap();
        let error = transfer(&site, "n0", &["--finish"]);
        assert_eq!(error.code, 1, "{reason}: {error:?}");
        assert!(error.err.contains(reason), "{reason}: {error:?}");
        assert!(
            error.err.contains("dataset 1, part 0"),
            "{reason}: {error:?}"
        );
    }
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
    assert_eq!(saved(&site), [] as [&str; 0]);
    // The cache was not harmed, and the good part can be copied.
    control
        .update(|file| {
            *file = Transfer {
                command: Some(RUN.into()),
                ..Transfer::default()
            };
            let mut part = good.clone();
            part.restart();
            file.insert(good_at, part);
        })
        .unwrap();
    transfer(&site, "n0", &["--finish"]).out();
    assert_eq!(saved(&site), ["a"]);
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: only root can give files away");
        return;
    }
    let site = by_daemon();
    drop(Running::on(&site, "n0"));
    control(&site, "n0")
        .update(|file| file.command = Some(RUN.into()))
        .unwrap();
    let refused = |path: &Path| {
        chown(path, Some(65534), None).unwrap();
        for args in [&[][..], &["--status"], &["--finish"]] {
            let error = transfer(&site, "n0", args);
            assert_eq!(error.code, 1, "{args:?} {error:?}");
            assert!(error.err.contains(&*path.to_string_lossy()), "{error:?}");
            assert!(error.err.contains("belongs to user 65534"), "{error:?}");
            assert!(error.err.contains("choose another"), "{error:?}");
        }
        chown(path, Some(0), None).unwrap();
    };
    refused(&control(&site, "n0").file());
    refused(&site.job("n0"));
}
