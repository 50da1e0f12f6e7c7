//! The event log in a MariaDB database: a server of the test's own, in a temporary directory.

#![cfg(all(feature = "cli", feature = "mysql"))]
#![allow(clippy::unwrap_used, clippy::expect_used)]
// Other test programs use more of the modules that they share.
#![allow(dead_code)]

#[path = "../site/checkpoints.rs"]
mod checkpoints;
#[path = "../cli/sandbox.rs"]
mod sandbox;
#[path = "../site/mod.rs"]
mod site;

use crate::sandbox::{Sandbox, log_event_of, program, said};
use crate::site::{Site, nodes};
use scr::config::Config;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PASSWORD: &str = "it's \"secret\"";

/// A server that ends with the value.
struct Server {
    dir: tempfile::TempDir,
    process: Child,
}

impl Server {
    /// A server with our tables in the database `scr`; `None` if MariaDB is not installed.
    fn start() -> Option<Server> {
        let installed = |name: &str| {
            let mut found = Command::new(name);
            found.arg("--version").stdout(Stdio::null());
            found.stderr(Stdio::null()).status().is_ok()
        };
        if let Some(missing) = ["mariadbd", "mariadb-install-db", "mariadb"]
            .into_iter()
            .find(|name| !installed(name))
        {
            println!("SKIPPED: {missing} is not installed (Debian: mariadb-server)");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let data = format!("--datadir={}", dir.path().join("data").display());
        let made = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--auth-root-authentication-method=normal"])
            .args([&data, "--skip-test-db"])
            .arg(format!("--tmpdir={}", dir.path().display()))
            .args(as_root())
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let process = launch(dir.path());
        let server = Server { dir, process };
        server.wait();
        let schema = program("scr", &["log", "--schema"]).output().unwrap();
        server.sql("CREATE DATABASE scr");
        server.sql(&format!(
            "USE scr; {}",
            String::from_utf8(schema.stdout).unwrap()
        ));
        let password = PASSWORD.replace('\'', "''");
        server.sql(&format!(
            "CREATE USER 'writer'@'localhost' IDENTIFIED BY '{password}'; \
             GRANT SELECT, INSERT ON scr.* TO 'writer'@'localhost'"
        ));
        Some(server)
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    /// Waits until the server answers.
    fn wait(&self) {
        let limit = Instant::now() + Duration::from_secs(120);
        while !self.client("SELECT 1").status.success() {
            assert!(Instant::now() < limit, "the server does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn client(&self, text: &str) -> std::process::Output {
        let socket = format!("--socket={}", self.socket().display());
        Command::new("mariadb")
            .args([
                "--no-defaults",
                "--batch",
                "--skip-column-names",
                "--user=root",
                &socket,
            ])
            .args(["--default-character-set=utf8mb4", "--execute", text])
            .output()
            .unwrap()
    }

    /// The answer to a statement.
    fn sql(&self, text: &str) -> String {
        let output = self.client(text);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn signal(&self, signal: i32) {
        // SAFETY: a process that this test has started and not waited for.
        assert_eq!(unsafe { libc::kill(self.process.id() as i32, signal) }, 0);
    }

    fn stop(&mut self) {
        self.signal(libc::SIGTERM);
        self.process.wait().unwrap();
    }

    fn start_again(&mut self) {
        self.process = launch(self.dir.path());
        self.wait();
    }

    /// The parameters that name it.
    fn set(&self) -> Vec<(&'static str, String)> {
        [
            ("SCR_LOG_ENABLE", "1"),
            ("SCR_LOG_SYSLOG_ENABLE", "0"),
            ("SCR_LOG_DB_ENABLE", "1"),
            ("SCR_LOG_DB_HOST", self.socket().to_str().unwrap()),
            ("SCR_LOG_DB_USER", "writer"),
            ("SCR_LOG_DB_PASS", PASSWORD),
            ("SCR_LOG_DB_NAME", "scr"),
        ]
        .map(|(name, value)| (name, value.to_string()))
        .into()
    }

    fn site(&self) -> Site {
        let set = self.set().into_iter();
        set.fold(Site::new(), |site, (name, value)| site.set(name, &value))
    }

    fn count(&self) -> usize {
        self.sql("SELECT COUNT(*) FROM scr.scrlog")
            .trim()
            .parse()
            .unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn as_root() -> Option<&'static str> {
    // SAFETY: it only returns a number.
    (unsafe { libc::geteuid() } == 0).then_some("--user=root")
}

fn launch(dir: &Path) -> Child {
    let path = |name: &str| dir.join(name).display().to_string();
    Command::new("mariadbd")
        .args(["--no-defaults", "--skip-networking", "--skip-log-bin"])
        .arg(format!("--datadir={}", path("data")))
        .arg(format!("--socket={}", path("socket")))
        .arg(format!("--tmpdir={}", dir.display()))
        .arg(format!("--pid-file={}", path("pid")))
        .arg(format!("--log-error={}", path("errors")))
        .args(as_root())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// All that `scr log` says of the log of a site.
fn shown(site: &Site, server: &Server, more: &[&str]) -> String {
    let args = [&["log"], more].concat();
    let mut command = program("scr", &args);
    command.envs(server.set()).env("SCR_PREFIX", site.prefix());
    said(command.output().unwrap()).out()
}

/// The records that `scr log --json` has printed.
fn records(text: &str) -> Vec<serde_json::Value> {
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    all["records"].as_array().unwrap().clone()
}

/// What messages told of the log.
fn told(site: &Site) -> Vec<String> {
    let lines = site.events.lines().into_iter();
    lines.filter(|line| line.contains("event log")).collect()
}

#[test]
fn the_database_has_the_rows_of_a_job_with_a_lost_node() {
    let Some(server) = Server::start() else {
        return;
    };
    let site = server.site();
    site.run(&nodes(4), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    std::fs::remove_dir_all(site.node("n2")).unwrap();
    site.run(&["n0", "n1", "n4", "n3"], |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.2"));
        rank.session.finalize(&mut Config::new()).unwrap();
    });
    assert_eq!(told(&site), [""; 0]);
    let rows = |more: &[&str]| records(&shown(&site, &server, more));
    let mut stored = rows(&["--json", "--database"]);
    let written = rows(&["--json"]);
    assert_eq!(stored.len(), server.count());
    for (row, line) in stored.iter_mut().zip(&written) {
        // The database also has the user, and all digits of numbers.
        let row = row.as_object_mut().unwrap();
        assert_eq!(
            row.insert("user".into(), serde_json::Value::Null).unwrap(),
            "user1"
        );
        for (key, value) in line.as_object().unwrap() {
            match (value.as_f64(), &row[key]) {
                (Some(number), stored) if key == "seconds" => {
                    assert!((stored.as_f64().unwrap() - number).abs() < 1e-5);
                }
                (Some(_), _) if key == "bytes_per_second" => {}
                (_, stored) => assert_eq!(stored, value, "{key}"),
            }
        }
    }
    assert_eq!(stored.len(), written.len());
    // Another prefix directory of the same database.
    let other = server.site();
    assert_eq!(shown(&other, &server, &["--database"]), "");
    let rates = server.sql("SELECT COUNT(*) FROM scr.scrlog WHERE kind = 'transfer' AND rate > 0");
    assert!(rates.trim().parse::<usize>().unwrap() > 0);
}

/// The server ends, and comes back while the run goes on: nothing is lost, and nothing is there twice.
#[test]
fn the_server_is_started_again_in_mid_run() {
    let Some(server) = Server::start() else {
        return;
    };
    let server = std::sync::Mutex::new(server);
    let site = server.lock().unwrap().site();
    site.run(&nodes(2), |rank| {
        rank.checkpoint("ck.1").unwrap();
        if rank.rank == 0 {
            server.lock().unwrap().stop();
        }
        rank.checkpoint("ck.2").unwrap();
        if rank.rank == 0 {
            let mut server = server.lock().unwrap();
            server.start_again();
            let lines = std::fs::read_to_string(site.prefix().join(".scr/log")).unwrap();
            let limit = Instant::now() + Duration::from_secs(120);
            while server.count() < lines.lines().count() {
                assert!(Instant::now() < limit, "the rows do not come");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        rank.session.finalize(&mut Config::new()).unwrap();
    });
    let server = server.into_inner().unwrap();
    let lost = told(&site)
        .into_iter()
        .filter(|line| line.contains("lacks"));
    assert_eq!(lost.collect::<Vec<_>>(), [""; 0]);
    let types = |text: String| -> Vec<String> {
        let rows = records(&text);
        rows.iter().map(|row| row["type"].to_string()).collect()
    };
    assert_eq!(
        types(shown(&site, &server, &["--json", "--database"])),
        types(shown(&site, &server, &["--json"]))
    );
}

/// The server hangs, or has ended, when the run ends. The run ends as without it, and says what is missing.
#[test]
fn a_server_that_hangs_or_has_ended_loses_rows_and_no_more() {
    for hangs in [true, false] {
        let Some(server) = Server::start() else {
            return;
        };
        let server = std::sync::Mutex::new(server);
        let site = server.lock().unwrap().site();
        site.run(&nodes(2), |rank| {
            rank.checkpoint("ck.1").unwrap();
            if rank.rank == 0 && hangs {
                server.lock().unwrap().signal(libc::SIGSTOP);
            } else if rank.rank == 0 {
                server.lock().unwrap().stop();
            }
            rank.checkpoint("ck.2").unwrap();
            rank.session.finalize(&mut Config::new()).unwrap();
        });
        let lines = std::fs::read_to_string(site.prefix().join(".scr/log")).unwrap();
        let all = lines.lines().count();
        let lost = site
            .events
            .lines()
            .into_iter()
            .find(|line| line.contains("lacks"));
        let lost = lost.unwrap_or_else(|| panic!("{:?}", site.events.lines()));
        assert!(
            lost.contains(&format!("of {all} events of this run")),
            "{lost}"
        );
        let lost: usize = lost
            .split_once("lacks ")
            .and_then(|(_, after)| after.split(' ').next()?.parse().ok())
            .unwrap();
        let mut server = server.into_inner().unwrap();
        if hangs {
            server.signal(libc::SIGCONT)
        } else {
            server.start_again()
        }
        // A row may have been written just before the server hung, without an answer.
        let there = server.count();
        assert!(
            (all - lost..=all - lost + 1).contains(&there),
            "{all} {lost} {there}"
        );
        assert!(lost > 0);
    }
}

#[test]
fn what_is_wrong_with_a_database_is_told_and_the_run_goes_on() {
    let Some(server) = Server::start() else {
        return;
    };
    server.sql(
        "CREATE DATABASE empty; GRANT SELECT, INSERT ON empty.* TO 'writer'@'localhost'; \
         CREATE DATABASE newer; GRANT SELECT, INSERT ON newer.* TO 'writer'@'localhost'; \
         CREATE TABLE newer.scrlog_version (version INT UNSIGNED); INSERT INTO newer.scrlog_version VALUES (2)",
    );
    for (name, value, why) in [
        ("SCR_LOG_DB_PASS", "wrong", "Access denied"),
        ("SCR_LOG_DB_USER", "nobody", "Access denied"),
        ("SCR_LOG_DB_NAME", "nowhere", "database nowhere"),
        ("SCR_LOG_DB_NAME", "empty", "scr log --schema"),
        (
            "SCR_LOG_DB_NAME",
            "newer",
            "version 2, and this SCR needs version 1",
        ),
        ("SCR_LOG_DB_HOST", "127.0.0.1:1", "refused"),
        (
            "SCR_LOG_DB_HOST",
            "/nonexistent/socket",
            "/nonexistent/socket",
        ),
    ] {
        let site = server.site().set(name, value);
        site.run(&nodes(2), |rank| {
            rank.checkpoint("ck.1").unwrap();
            rank.session.finalize(&mut Config::new()).unwrap();
        });
        let told = told(&site);
        assert!(
            told.iter().any(|line| line.contains(why)),
            "{why}: {told:?}"
        );
        assert!(
            told.last().unwrap().contains("lacks 15 of 15 events"),
            "{told:?}"
        );
        assert!(!site.events.lines().join("\n").contains(PASSWORD));
        let text = std::fs::read_to_string(site.prefix().join(".scr/log")).unwrap();
        assert_eq!(text.lines().count(), 15, "the text log has all: {text}");
    }
    assert_eq!(server.count(), 0);
}

#[test]
fn hostile_words_are_only_values() {
    let Some(server) = Server::start() else {
        return;
    };
    let sandbox = Sandbox::of("basic");
    let evil = "a'); DROP TABLE scrlog; -- \" ` \\ \\' \n \u{1b}[2J \u{202e} 'x' OR 1=1";
    let run = |args: &[&str]| {
        let mut command = program("scr", args);
        command.current_dir(sandbox.path()).envs(server.set());
        said(command.output().unwrap())
    };
    run(&log_event_of(evil)).out();
    run(&["log-transfer", "-T", "FETCH", "-X", evil, "-Y", evil]).out();
    let text = run(&["log", "--json", "--database"]).out();
    let rows = records(&text);
    assert_eq!(rows.len(), 2);
    for key in ["type", "note", "name", "user", "job_name", "job"] {
        assert_eq!(rows[0][key], evil, "{key}");
    }
    for key in ["from", "to"] {
        assert_eq!(rows[1][key], evil, "{key}");
    }
    // The database refuses one record, and the next one is entered.
    let long = "x".repeat(65);
    let error = run(&["log-event", "-T", &long]).failed();
    assert!(error.contains("type"), "{error}");
    run(&["log-event", "-T", "X"]).out();
    assert_eq!(server.count(), 3);
}
