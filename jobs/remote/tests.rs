//! Each way to reach nodes, by programs that stand for it. Those of a whole cluster run with
//! a real one.

use super::*;
use crate::manager::detect;
use scr_testing::programs::Programs;

const LIMIT: Duration = Duration::from_secs(60);

fn strings(hosts: &str) -> Vec<String> {
    hostlist::expand(hosts).unwrap()
}

fn nothing(_: &str) -> Option<String> {
    None
}

fn remote(environment: &Environment, launcher: Option<&str>) -> Result<Remote> {
    let launcher = launcher.map(|word| Launcher::named(word, environment).unwrap());
    Remote::choose(
        &*detect(environment),
        launcher.as_ref(),
        environment,
        &nothing,
    )
}

/// Says its arguments and a variable, with one line that is not ended, and fails on n2.
fn task() -> RemoteCommand {
    let script = r#"printf '%s|%s|' "$1" "$X"; echo oops >&2; [ "$NODE" != n2 ]"#;
    RemoteCommand {
        command: ["/bin/sh", "-c", script, "sh", "it's $HOME *"]
            .map(OsString::from)
            .to_vec(),
        set: vec![("X".to_string(), "a 'b".to_string())],
        ..RemoteCommand::default()
    }
}

fn check(answers: &[NodeResult]) {
    let nodes: Vec<&str> = answers.iter().map(|answer| answer.node.as_str()).collect();
    assert_eq!(nodes, ["n1", "n2", "n3"]);
    for answer in answers {
        let code = i32::from(answer.node == "n2");
        assert_eq!(answer.code, Some(code), "{answer:?}");
        assert_eq!(answer.out, "it's $HOME *|a 'b|\n", "{answer:?}");
        assert_eq!(answer.err.trim(), "oops", "{answer:?}");
    }
}

/// A way that asks nodes one by one.
#[test]
fn ssh() {
    let programs = Programs::new();
    programs.add(
        "ssh",
        r#"
        while [ $# -gt 2 ]; do shift; done
        NODE=$1; export NODE
        eval "$2""#,
    );
    let remote = remote(&programs.environment(), None).unwrap();
    assert_eq!(remote.name(), "ssh");
    check(&remote.run(&strings("n[1-3]"), &task(), LIMIT));
}

#[test]
fn mpirun() {
    let programs = Programs::new();
    programs.add(
        "mpiexec",
        r#"
        [ "$1" = --version ] && { echo HYDRA; exit; }
        [ "$1 $3 $4" = '-hosts -n 1' ] || exit 9
        NODE=$2; export NODE
        shift 4; exec /usr/bin/env "$@""#,
    );
    let environment = programs.environment().with("SCR_REMOTE", "launcher");
    let remote = remote(&environment, Some("mpiexec")).unwrap();
    check(&remote.run(&strings("n[1-3]"), &task(), LIMIT));
}

/// Ways that ask all nodes in one call.
#[test]
fn pdsh_and_clush() {
    for name in ["pdsh", "clush"] {
        let programs = Programs::new();
        programs.add(
            name,
            r#"
            while [ "$1" != -w ]; do shift; done
            [ "$2" = 'n[1-3]' ] || exit 9
            for NODE in n1 n2 n3; do
                export NODE
                { eval "$3" 2>&1 >&3 | /bin/sed "s/^/$NODE: /" >&2; } 3>&1 | /bin/sed "s/^/$NODE: /"
            done"#,
        );
        let remote = remote(&programs.environment(), None).unwrap();
        assert_eq!(remote.name(), name);
        check(&remote.run(&strings("n[1-3]"), &task(), LIMIT));
    }
}

/// Labels are numbers of tasks; the tasks tell their nodes. A node that is lost in the common
/// call is asked again alone.
#[test]
fn srun() {
    let programs = Programs::new();
    programs.add(
        "srun",
        r#"
        for word; do
            case $word in --nodelist=*) list=${word#*=} ;; sh) break ;; esac
            shift
        done
        echo "$list" >> "${0%/*}/calls"
        case $list in 'n[1-3]') list='n3 n1' ;; esac
        task=0
        for SLURMD_NODENAME in $list; do
            NODE=$SLURMD_NODENAME; export NODE SLURMD_NODENAME
            { "$@" 2>&1 >&3 | /bin/sed "s/^/$task: /" >&2; } 3>&1 | /bin/sed "s/^/$task: /"
            task=$((task + 1))
        done
        echo 'srun: error: n2: task 2: something went wrong' >&2
        exit 1"#,
    );
    let environment = programs.environment().with("SLURM_JOB_ID", "1");
    let remote = remote(&environment, None).unwrap();
    assert_eq!(remote.name(), "srun");
    check(&remote.run(&strings("n[1-3]"), &task(), LIMIT));
    let calls = std::fs::read_to_string(programs.dir().join("calls")).unwrap();
    assert_eq!(calls, "n[1-3]\nn2\n");
    // For a missing node the text of srun is used.
    programs.add("srun", "echo 'srun: error: n2 is down' >&2; exit 1");
    let answers = remote.run(&strings("n[1-2]"), &task(), LIMIT);
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(|answer| answer.code.is_none()));
    assert_eq!(answers[1].why(), "srun: error: n2 is down");
}

#[test]
fn flux() {
    let programs = Programs::new();
    programs.add(
        "flux",
        r#"
        [ "$1" = getattr ] && { echo 'n[0-3]'; exit; }
        [ "$*" = "${*#exec --noinput --label-io --rank 1,2,3 }" ] && exit 9
        shift 5
        for rank in 1 2 3; do
            NODE=n$rank; export NODE
            { "$@" 2>&1 >&3 | /bin/sed "s/^/$rank: /" >&2; } 3>&1 | /bin/sed "s/^/$rank: /"
        done"#,
    );
    let environment = programs.environment().with("FLUX_URI", "x");
    let remote = remote(&environment, None).unwrap();
    assert_eq!(remote.name(), "flux exec");
    check(&remote.run(&strings("n[1-3]"), &task(), LIMIT));
}

#[test]
fn here_a_command_is_just_run() {
    let environment = Programs::new().environment().with_host("n3.x.gov");
    let remote = remote(&environment, None).unwrap();
    let answers = remote.run(&strings("n3,n4"), &task(), LIMIT);
    assert_eq!(answers[0].out, "it's $HOME *|a 'b|");
    assert_eq!(answers[0].code, Some(0));
    assert_eq!(answers[1].code, None);
    assert!(
        answers[1].why().contains("none of srun, flux, pdsh"),
        "{answers:?}"
    );
    let missing = RemoteCommand {
        in_root: false,
        command: vec!["/nonexistent/x".into()],
        set: Vec::new(),
    };
    let answer = &remote.run(&strings("n3"), &missing, LIMIT)[0];
    assert!(
        !answer.good() && answer.why().contains("/nonexistent/x"),
        "{answer:?}"
    );
}

#[test]
fn one_machine_can_stand_for_several() {
    let environment = Programs::new().environment().with("SCR_REMOTE", "local");
    let remote = remote(&environment, None).unwrap();
    let script = "echo $SCR_NODE_NAME";
    let task = RemoteCommand {
        in_root: false,
        command: ["/bin/sh", "-c", script].map(OsString::from).to_vec(),
        set: Vec::new(),
    };
    let answers = remote.run(&strings("n[1-40]"), &task, LIMIT);
    assert_eq!(answers.len(), 40);
    for answer in answers {
        assert_eq!(answer.out.trim(), answer.node);
    }
}

#[test]
fn who_does_not_answer_in_time_is_told() {
    let programs = Programs::new();
    programs.add("ssh", "exec /bin/sleep 1000");
    let remote = remote(&programs.environment(), None).unwrap();
    let limit = Duration::from_millis(300);
    let answers = remote.run(&strings("n1"), &task(), limit);
    assert_eq!(answers[0].code, None);
    assert!(answers[0].why().contains("took too long"), "{answers:?}");
}

#[test]
fn a_way_that_is_not_to_be_had() {
    let environment = Programs::new().environment();
    for word in ["pdsh", "CLUSH", "ssh", "launcher", "telnet"] {
        let error = remote(&environment.clone().with("SCR_REMOTE", word), None).unwrap_err();
        assert!(error.to_string().contains("SCR_REMOTE"), "{error}");
    }
}
