//! The managers against recorded environments, with programs that answer as theirs do.

use super::*;
use scr_testing::programs::Programs;

fn nothing(_: &str) -> Option<String> {
    None
}

fn strings(hosts: &[&str]) -> Vec<String> {
    hosts.iter().map(|host| (*host).to_string()).collect()
}

#[test]
fn slurm() {
    let programs = Programs::new();
    programs.add(
        "sinfo",
        r#"
        [ "$3" = "--nodes=n[1-5]" ] || exit 9
        printf 'n1 mixed\nn1 mixed\nn2 allocated*\nn3 down\nn4 draining\nn5 idle\n'"#,
    );
    programs.add(
        "squeue",
        r#"
        [ "$2" = "--jobs=77" ] || exit 9
        case $3 in
            *%N) echo 'n[1-4]' ;;
        esac"#,
    );
    let environment = programs
        .environment()
        .with("SLURM_JOB_ID", "77")
        .with("SLURM_JOB_NODELIST", "n[1-5]");
    let manager = detect(&environment);
    assert_eq!(manager.job_id().unwrap(), Some("77".into()));
    let all = manager.nodes().unwrap();
    assert_eq!(all, strings(&["n1", "n2", "n3", "n4", "n5"]));
    // n5 has left the allocation.
    assert_eq!(manager.down(&all).unwrap(), strings(&["n2", "n3", "n5"]));
    // Without the list in the environment the controller is asked.
    programs.add("squeue", "echo 'n[8-9]'");
    let bare = detect(&programs.environment().with("SLURM_JOBID", "77"));
    assert_eq!(bare.nodes().unwrap(), strings(&["n8", "n9"]));
    let nobody = detect(
        &Environment::empty()
            .with("SLURM_JOBID", "7")
            .with("PATH", "/none"),
    );
    let error = nobody.nodes().unwrap_err().to_string();
    assert!(
        error.contains("squeue") && error.contains("no such program"),
        "{error}"
    );
}

#[test]
fn flux() {
    let programs = Programs::new();
    programs.add(
        "flux",
        r#"
        case "$*" in
            'getattr jobid') echo f8gmxqMf1 ;;
            'getattr hostlist') echo 'c[1-3]' ;;
            'resource list'*'--states=down'*) echo c2 ;;
            *) exit 9 ;;
        esac"#,
    );
    let manager = detect(&programs.environment().with("FLUX_URI", "local:///x"));
    assert_eq!(manager.job_id().unwrap(), Some("f8gmxqMf1".into()));
    let all = manager.nodes().unwrap();
    assert_eq!(all, strings(&["c1", "c2", "c3"]));
    assert_eq!(manager.down(&all).unwrap(), strings(&["c2"]));
    programs.add("flux", "case $1 in resource) echo ;; esac");
    assert_eq!(manager.down(&all).unwrap(), strings(&[]));
}

#[test]
fn lsf() {
    let programs = Programs::new();
    programs.add(
        "bhosts",
        r#"
        [ "$*" = '-w a1 a2' ] || exit 9
        printf 'HOST_NAME STATUS JL/U\na1 ok -\na2 unavail -\n'"#,
    );
    let environment = programs.environment().with("LSB_JOBID", "77");
    // The launch node of a machine with jsrun is not a compute node.
    for (name, value) in [
        ("LSB_HOSTS", "batch3 a1 a1 a2 a2"),
        ("LSB_MCPU_HOSTS", "batch3 1 a1 42 a2 42"),
    ] {
        let manager = detect(&environment.clone().with(name, value));
        assert_eq!(manager.nodes().unwrap(), strings(&["a1", "a2"]), "{name}");
    }
    let manager = detect(&environment.clone().with("LSB_HOSTS", "a1 a2"));
    let all = manager.nodes().unwrap();
    assert_eq!(all, strings(&["a1", "a2"]));
    assert_eq!(manager.down(&all).unwrap(), strings(&["a2"]));

    let file = programs.dir().join("hosts");
    std::fs::write(&file, "b1\nb1\nb2\nb1\n").unwrap();
    let named = environment.with("LSB_DJOB_HOSTFILE", file.to_str().unwrap());
    assert_eq!(detect(&named).nodes().unwrap(), strings(&["b1", "b2"]));
    std::fs::remove_file(&file).unwrap();
    let error = detect(&named).nodes().unwrap_err().to_string();
    assert!(error.contains("hosts"), "{error}");
}

#[test]
fn pbs() {
    let programs = Programs::new();
    programs.add(
        "pbsnodes",
        "printf 'n1.x.gov down,offline\\nn2 offline lent\\nn9 down\\n'",
    );
    let file = programs.dir().join("nodes");
    std::fs::write(&file, "n1\nn1\nn2\nn3\n").unwrap();
    let environment = programs.environment().with("PBS_JOBID", "12.srv");
    let error = detect(&environment).nodes().unwrap_err().to_string();
    assert!(
        error.contains("PBS_NODEFILE") && error.contains("SCR_NODELIST"),
        "{error}"
    );
    let manager = detect(&environment.with("PBS_NODEFILE", file.to_str().unwrap()));
    assert_eq!(manager.job_id().unwrap(), Some("12.srv".into()));
    let all = manager.nodes().unwrap();
    assert_eq!(all, strings(&["n1", "n2", "n3"]));
    assert_eq!(manager.down(&all).unwrap(), strings(&["n1"]));
}

#[test]
fn without_a_manager() {
    let environment = Environment::empty().with_host("here");
    let manager = detect(&environment);
    assert_eq!(manager.job_id().unwrap(), None);
    assert_eq!(manager.nodes().unwrap(), strings(&["here"]));
    let set = environment.with("SCR_NODELIST", "a[1-2],a1");
    assert_eq!(
        nodes(&*manager, &set, &nothing).unwrap(),
        strings(&["a1", "a2"])
    );
    let error = nodes(&*manager, &set.with("SCR_NODELIST", "a[1"), &nothing).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("SCR_NODELIST: host list 'a[1'"),
        "{error}"
    );

    let pmix = detect(&Environment::empty().with("PMIX_NAMESPACE", "prterun-1"));
    assert_eq!(pmix.job_id().unwrap(), None);
    let error = pmix.nodes().unwrap_err().to_string();
    assert!(error.contains("SCR_NODELIST"), "{error}");
}

#[test]
fn hosts_with_and_without_domain() {
    assert!(same_host("n1", "n1") && same_host("n1", "n1.x") && same_host("n1.x", "n1"));
    assert!(!same_host("n1.x", "n1.y") && !same_host("n1", "n10") && !same_host("n1", "n2.x"));
}
