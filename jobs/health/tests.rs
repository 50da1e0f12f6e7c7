//! Node tests with a fake ssh and a fake resource manager.

use super::*;
use crate::manager::detect;
use scr_testing::programs::Programs;

fn strings(hosts: &str) -> Vec<String> {
    hostlist::expand(hosts).unwrap()
}

fn nothing(_: &str) -> Option<String> {
    None
}

/// ssh to `NODE COMMAND`: node 4 is dead, on node 5 a directory is full.
const SSH: &str = r#"
    while [ $# -gt 2 ]; do shift; done
    [ "$1" = n4 ] && { echo "ssh: connect to host n4: No route" >&2; exit 255; }
    NODE=$1; export NODE
    eval "$2""#;

const CHECK: &str = r#"
    case $NODE in
        n5) echo 'scr_check_node: FAIL: /dev/shm is full'; exit 1 ;;
        n6) echo dead >&2; exit 3 ;;
    esac
    echo 'scr_check_node: PASS'"#;

fn report(
    programs: &Programs,
    environment: &Environment,
    known: &str,
    tests: &[Test],
) -> HealthReport {
    let manager = detect(environment);
    let remote = Remote::choose(&*manager, None, environment, &nothing).unwrap();
    let check = programs.dir().join("check");
    let health = NodeTests {
        manager: &*manager,
        remote: &remote,
        environment,
        lookup: &nothing,
        tests,
        check_node: &[check.into_os_string()],
        site_patience: Duration::from_secs(10),
    };
    health.report(&strings("n[1-7]"), &strings(known)).unwrap()
}

fn found(report: &HealthReport) -> Vec<String> {
    let line = |down: &Down| format!("{}: {}", down.node, down.reason);
    report.down.iter().map(line).collect()
}

#[test]
fn the_first_test_that_fails_gives_the_reason() {
    let programs = Programs::new();
    programs.add("ssh", SSH);
    programs.add("check", CHECK);
    programs.add(
        "sinfo",
        "printf 'n1 down\\nn2 down\\nn3 down*\\nn4 idle\\n'",
    );
    programs.add("squeue", "echo 'n[1-7]'");
    programs.add("ping", "for node; do :; done; [ $node != n7 ]");
    let environment = programs
        .environment()
        .with("SLURM_JOB_ID", "1")
        .with("SLURM_JOB_NODELIST", "n[1-7]")
        .with("SCR_REMOTE", "ssh")
        .with("SCR_EXCLUDE_NODES", "n[1-2]");
    let all = [Test::Ping, Test::Echo, Test::DirCapacity];
    let all = report(&programs, &environment, "n1", &all);
    let expected = [
        "n1: Specified as down",
        "n2: User excluded via SCR_EXCLUDE_NODES",
        "n3: Reported down by resource manager",
        "n7: Failed to ping",
        "n4: Failed to echo UP: ssh: connect to host n4: No route",
        "n5: /dev/shm is full",
        "n6: Failed to check its directories: it ended with exit code 3: dead",
    ];
    assert_eq!(found(&all), expected);
    assert_eq!(all.notes, Vec::<String>::new());
    assert_eq!(
        found(&report(&programs, &environment, "n1", &[])),
        expected[..3]
    );
}

#[test]
fn a_test_that_works_nowhere_blames_nobody() {
    let programs = Programs::new();
    programs.add("ssh", "while [ $# -gt 2 ]; do shift; done; eval \"$2\"");
    let environment = programs.environment().with("SLURM_JOB_ID", "1");
    let all = [Test::Ping, Test::Echo, Test::DirCapacity];
    let none = report(&programs, &environment, "", &all);
    assert_eq!(none.down, Vec::new());
    let notes = none.notes.join("\n");
    assert!(
        notes.contains("resource manager") && notes.contains("sinfo"),
        "{notes}"
    );
    assert!(
        notes.contains("dir_capacity") && !notes.contains("ping"),
        "{notes}"
    );
    programs.add("ping", "exit 2");
    let none = report(&programs, &environment, "", &[Test::Ping]);
    assert_eq!(none.down, Vec::new());
    assert!(
        none.notes[1].contains("no node answers"),
        "{:?}",
        none.notes
    );
    // But that no node runs a command is the nodes' fault.
    programs.add("ssh", "exit 255");
    assert_eq!(
        report(&programs, &environment, "", &[Test::Echo])
            .down
            .len(),
        7
    );
}

#[test]
fn a_command_of_the_site_rules_a_node_out_with_its_last_line() {
    let programs = Programs::new();
    programs.add(
        "ssh",
        "while [ $# -gt 2 ]; do shift; done; export NODE=$1; eval \"$2\"",
    );
    programs.add(
        "gpu",
        "[ $NODE != n2 ] || { echo begin; echo; echo 'card 3 is lost'; exit 1; }",
    );
    programs.add("slow", "[ $NODE != n3 ] || /bin/sleep 1000");
    programs.add("bad", "echo 'no such option'; exit 2");
    let environment = programs.environment().with("SCR_REMOTE", "ssh");
    let path = |name: &str| programs.dir().join(name).display().to_string();
    let tests = ["gpu", "slow", "bad", "absent"].map(|name| Test::Site(path(name)));
    let found_all = report(&programs, &environment, "", &tests);
    let found = found(&found_all);
    assert_eq!(
        found[0],
        format!("n2: Failed {}: card 3 is lost", path("gpu"))
    );
    assert!(
        found[1].contains("n3: ") && found[1].contains("took too long"),
        "{found:?}"
    );
    assert_eq!(found.len(), 2);
    let notes = found_all.notes.join("\n");
    for left_out in ["bad", "absent"] {
        let note = format!("test {} is left out: it fails on all nodes", path(left_out));
        assert!(notes.contains(&note), "{notes}");
    }
}

#[test]
fn tests_are_chosen_by_name() {
    let chosen = |text: &str| {
        let environment = Environment::empty().with("SCR_NODE_TESTS", text);
        tests(&environment, &nothing, "ping,echo")
    };
    assert_eq!(chosen("").unwrap(), [Test::Ping, Test::Echo]);
    assert_eq!(
        chosen("dir_capacity, PING").unwrap(),
        [Test::DirCapacity, Test::Ping]
    );
    assert_eq!(chosen("none").unwrap(), []);
    let site = Test::Site("/site/Check_GPU".into());
    assert_eq!(chosen("/site/Check_GPU,echo").unwrap(), [site, Test::Echo]);
    assert!(chosen("site/check").is_err());
    let error = chosen("pnig").unwrap_err().to_string();
    assert!(error.starts_with("SCR_NODE_TESTS: 'pnig'"), "{error}");
}
