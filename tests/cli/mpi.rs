//! Whether launcher and program are of one MPI, as `scr run` and `scr doctor` say it.

use crate::sandbox::{Programs, Sandbox};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A program that is linked with this library: the least that its file may have.
fn program(sandbox: &Sandbox, name: &str, library: &str) {
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    let mut at = |place: usize, numbers: &[u64]| {
        file.resize(file.len().max(place + numbers.len() * 8), 0);
        for (i, number) in numbers.iter().enumerate() {
            file[place + i * 8..][..8].copy_from_slice(&number.to_le_bytes());
        }
    };
    // The header: its table of segments is at 64, with two rows of 56 bytes.
    at(32, &[64, 0, 56 << 48 | 64 << 32, 2]);
    // All is loaded at 0x1000; the dynamic section is at 256, the strings at 320.
    at(64, &[1, 0, 0x1000, 0, 512, 512, 0]);
    at(120, &[2, 256, 0x1100, 0, 48, 48, 0]);
    at(256, &[1, 1, 5, 0x1140, 10, 64]);
    file.resize(512, 0);
    file[321..][..library.len()].copy_from_slice(library.as_bytes());
    let path = sandbox.path().join(name);
    fs::write(&path, file).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// An mpirun that says this about itself, and does nothing else.
fn mpirun(version: &str) -> Programs {
    let script = format!("[ \"$1\" != --version ] || echo '{version}'\nexit 0");
    Programs::new().add("mpirun", &script)
}

const OPEN_MPI: &str = "mpirun (Open MPI) 5.0.11";
const MPICH: &str = "HYDRA build details:\n    Version:      4.3.2";
const QUICK: [(&str, &str); 4] = [
    ("SCR_NODE_TESTS", "none"),
    ("SCR_REMOTE", "LOCAL"),
    ("SCR_JOB_ID", "mpi"),
    ("USER", "someone"),
];

#[test]
fn scr_run_warns_of_a_launcher_of_another_mpi_than_the_program_s_and_launches() {
    for (version, library, message) in [
        (
            OPEN_MPI,
            "libmpi.so.12",
            "mpirun is a launcher of Open MPI 5.0.11, but ./app is linked with MPICH (libmpi.so.12): each process of that \
             program would be alone in its MPI_COMM_WORLD; launch it with the mpiexec of MPICH (SCR-101)",
        ),
        (
            MPICH,
            "libmpi_usempif08.so.40",
            "mpirun is a launcher of Hydra 4.3.2, but ./app is linked with Open MPI (libmpi_usempif08.so.40): each process \
             of that program would be alone in its MPI_COMM_WORLD; launch it with the mpiexec of Open MPI (SCR-101)",
        ),
        (OPEN_MPI, "libmpi.so.40", ""),
        (MPICH, "libmpichfort.so.12", ""),
        (OPEN_MPI, "libmpi_abi.so.1", ""),
        (MPICH, "libc.so.6", ""),
    ] {
        let (programs, sandbox) = (mpirun(version), Sandbox::empty());
        program(&sandbox, "app", library);
        program(&sandbox, "tool", "libc.so.6");
        for words in [
            &["run", "mpirun", "-n", "4", "./tool", "./app", "x"][..],
            &["run", "--run-cmd", "./app x", "mpirun", "-n", "4"],
        ] {
            let said = programs.run(&sandbox, &QUICK, words);
            assert_eq!(said.code, 0, "{}", said.err);
            let warned = said.err.matches("SCR-101").count();
            assert_eq!(warned, usize::from(!message.is_empty()), "{}", said.err);
            assert!(said.err.contains(message), "{}", said.err);
        }
    }
}

#[test]
fn scr_doctor_compares_a_program_with_the_launchers() {
    let (programs, sandbox) = (mpirun(OPEN_MPI), Sandbox::empty());
    program(&sandbox, "app", "libmpi.so.12");
    program(&sandbox, "same", "libmpi.so.40");
    program(&sandbox, "tool", "libc.so.6");
    let doctor = |program: &str| {
        let said = programs.run(&sandbox, &QUICK, &["doctor", "--program", program]);
        assert!(
            said.out.contains("mpirun of Open MPI 5.0.11 ("),
            "{}",
            said.out
        );
        said.out
    };
    let out = doctor("./app");
    assert!(out.contains("./app: MPICH (libmpi.so.12)\n"), "{out}");
    let (_, problems) = out.split_once("\nProblems\n").expect(&out);
    let message = "but ./app is linked with MPICH (libmpi.so.12): ";
    assert!(problems.contains(message), "{out}");
    assert!(problems.contains("load the module of that MPI"), "{out}");
    for (program, words) in [
        ("./same", "./same: Open MPI (libmpi.so.40)\n"),
        ("./tool", "./tool: its file names none that is known"),
        ("./none", "./none is no program"),
    ] {
        let out = doctor(program);
        assert!(out.contains(words) && !out.contains("SCR-101"), "{out}");
    }
}
