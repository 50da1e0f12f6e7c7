//! Launchers, against stand-ins for srun, mpirun and the like.

use super::*;
use scr_testing::programs::Programs;
use std::process::{Command, Stdio};

fn words(text: &str) -> Vec<OsString> {
    text.split_whitespace().map(OsString::from).collect()
}

fn strings(hosts: &str) -> Vec<String> {
    hostlist::expand(hosts).unwrap()
}

/// Stand-ins for all launchers, and a program to launch.
fn programs() -> Programs {
    let programs = Programs::new();
    for name in ["srun", "flux", "jsrun", "lrun", "aprun", "app", "ssh"] {
        programs.add(name, "exit 0");
    }
    programs.add("mpirun", "echo 'mpirun (Open MPI) 4.1.4'");
    programs.add(
        "mpiexec.hydra",
        "printf 'HYDRA build details:\\n  Version: 4.0.2\\n'",
    );
    programs
}

/// The command line that leaves n2 and n3 of n[1-4] out of `line`.
fn line(programs: &Programs, line: &str) -> String {
    let environment = programs.environment();
    let mut all = words(line);
    let arguments = all.split_off(1);
    let launcher = Launcher::named(all[0].to_str().unwrap(), &environment).unwrap();
    let plain = launcher.command(&arguments, &strings("n[1-4]"), &[], &environment);
    assert_eq!(plain.unwrap(), words(line));
    let out = launcher.command(
        &arguments,
        &strings("n[1-4]"),
        &strings("n[2-3]"),
        &environment,
    );
    out.unwrap().join(OsStr::new(" ")).into_string().unwrap()
}

#[test]
fn each_launcher_leaves_nodes_out_in_its_way() {
    let programs = programs();
    for (user, expected) in [
        ("srun -N2 app -f x", "srun --exclude=n[2-3] -N2 app -f x"),
        (
            "flux run -N2 app",
            "flux run --requires=-host:n[2-3] -N2 app",
        ),
        (
            "flux mini run app",
            "flux mini run --requires=-host:n[2-3] app",
        ),
        ("jsrun -n2 app", "jsrun --exclude_hosts=n2,n3 -n2 app"),
        ("lrun -n2 app", "lrun --exclude_hosts=n2,n3 -n2 app"),
        ("aprun -n2 app", "aprun -L n1,n4 -n2 app"),
        ("mpirun -n 2 app", "mpirun --host n1:*,n4:* -n 2 app"),
        (
            "mpirun -H n1,n2 -n 2 --host=n3 app --host x",
            "mpirun --host n1:*,n4:* -n 2 app --host x",
        ),
        (
            "mpirun --hostfile f -n 2 app",
            "mpirun --host n1:*,n4:* --hostfile f -n 2 app",
        ),
        (
            "mpiexec.hydra -f hosts -launcher ssh -hosts n1,n2 -n 2 app -f x",
            "mpiexec.hydra -hosts n1,n4 -launcher ssh -n 2 app -f x",
        ),
    ] {
        assert_eq!(line(&programs, user), expected);
    }
}

#[test]
fn a_node_of_aprun_is_a_number() {
    let programs = programs();
    let environment = programs.environment();
    let all = strings("nid[00001-00003]");
    let up = [all[0].clone(), all[2].clone()];
    let line = line::without(LauncherKind::Aprun, &[], &up, &all[1..2], &environment).unwrap();
    assert_eq!(line, words("-L 1,3"));
}

#[test]
fn what_is_no_launcher_is_refused() {
    let programs = programs();
    programs.add("mpiexec", "echo some other MPI; exit 1");
    let environment = programs.environment();
    for (word, says) in [
        ("app", "use one of srun"),
        ("", "use one of srun"),
        ("mpiexec", "neither Open MPI nor Hydra"),
        ("/nonexistent/srun", "no such program"),
        ("/nonexistent/mpirun", "no such program"),
    ] {
        let error = Launcher::named(word, &environment).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let flux = Launcher::named("flux", &environment).unwrap();
    let submit = flux.command(
        &words("submit app"),
        &strings("n[1-2]"),
        &strings("n1"),
        &environment,
    );
    assert!(submit.unwrap_err().to_string().contains("flux run"));
    let srun = Launcher::named("srun", &environment).unwrap();
    let none = srun.command(&words("app"), &strings("n1"), &strings("n1"), &environment);
    assert!(none.unwrap_err().to_string().contains("all nodes"));
}

#[test]
fn the_step_of_an_srun_is_that_of_its_process() {
    let programs = programs();
    programs.add(
        "scontrol",
        r#"
        [ "$*" = '--oneliner show step 77' ] || exit 9
        echo 'StepId=77.0 UserId=0 State=RUNNING NodeList=n1 Name=a SrunHost:Pid=here:41'
        echo 'StepId=77.1 UserId=0 State=RUNNING NodeList=n1 Name=b SrunHost:Pid=here.x.gov:42'
        echo 'StepId=77.2 UserId=0 State=RUNNING NodeList=n1 Name=c SrunHost:Pid=there:43'"#,
    );
    programs.add("scancel", r#"
        case $1 in
            77.1) exit 0 ;;
            77.9) echo 'scancel: error: Kill job error on job id 77: Invalid job id specified' >&2 ;;
            *) echo no >&2 ;;
        esac
        exit 1"#);
    let environment = programs.environment().with("SLURM_JOB_ID", "77");
    let srun = Launcher::named("srun", &environment).unwrap();
    let step = |pid| srun.step(&environment, pid).unwrap();
    assert_eq!(step(41), Some("77.0".into()));
    assert_eq!(step(42), Some("77.1".into()));
    assert_eq!(step(43), None);
    assert_eq!(step(4), None);
    srun.kill(&environment, "77.1").unwrap();
    srun.kill(&environment, "77.9").unwrap();
    for bad in ["77.3", "77", "", "-1", "77.0 78.0", "--me"] {
        assert!(srun.kill(&environment, bad).is_err(), "{bad}");
    }
    assert!(srun.step(&programs.environment(), 41).is_err());
}

#[test]
fn the_step_of_flux_is_its_last_job() {
    let programs = programs();
    programs.add(
        "flux",
        r#"
        case "$*" in
            'job last') echo fABC ;;
            'job cancel fABC') exit 0 ;;
            *) exit 1 ;;
        esac"#,
    );
    let environment = programs.environment();
    let flux = Launcher::named("flux", &environment).unwrap();
    assert_eq!(flux.step(&environment, 5).unwrap(), Some("fABC".into()));
    flux.kill(&environment, "fABC").unwrap();
    assert!(flux.kill(&environment, "fXYZ").is_err());
}

#[test]
fn other_steps_are_process_groups() {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    let programs = programs();
    let environment = programs.environment();
    let mpirun = Launcher::named("mpirun", &environment).unwrap();
    let mut child = Command::new("sh")
        .args(["-c", "sleep 1000 & wait"])
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let step = mpirun.step(&environment, child.id()).unwrap().unwrap();
    mpirun.kill(&environment, &step).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    // It is no error to end a step that has already ended.
    mpirun.kill(&environment, &step).unwrap();
    for bad in ["0", "1", "x", "99999999999"] {
        assert!(mpirun.kill(&environment, bad).is_err(), "{bad}");
    }
}
