//! `scr config`: an installation with the package for pkg-config as `CMake` makes it.

use crate::sandbox::{Said, Sandbox, said};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An installation in a directory of this name, with libraries in `libdir`.
struct Installed {
    prefix: PathBuf,
    libdir: &'static str,
    _sandbox: Sandbox,
}

impl Installed {
    fn new(name: &str, libdir: &'static str) -> Self {
        let sandbox = Sandbox::empty();
        let prefix = sandbox.path().canonicalize().unwrap().join(name);
        let installed = Installed {
            prefix,
            libdir,
            _sandbox: sandbox,
        };
        fs::create_dir_all(installed.prefix.join("bin")).unwrap();
        let program = installed.prefix.join("bin/scr");
        fs::copy(env!("CARGO_BIN_EXE_scr"), program).unwrap();
        for file in [
            "include/scr.h",
            "share/scr/cmake/scr-config.cmake",
            "share/scr/fortran/scrf.F90",
        ] {
            installed.add(file, "");
        }
        let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("cmake/scr.pc.in");
        let up = vec![".."; libdir.split('/').count() + 1].join("/");
        let text = fs::read_to_string(template).unwrap();
        let text = text
            .replace("@SCR_PC_PREFIX@", &up)
            .replace("@CMAKE_INSTALL_LIBDIR@", libdir)
            .replace("@CMAKE_INSTALL_INCLUDEDIR@", "include")
            .replace("@SCR_PC_PUBLIC@", "")
            .replace("@SCR_PC_PRIVATE@", " -pthread -ldl -lm");
        installed.add(&format!("{libdir}/pkgconfig/scr.pc"), &text);
        installed.add(&format!("{libdir}/libscr.so"), "");
        installed.add(&format!("{libdir}/libscr.a"), "");
        installed
    }

    fn add(&self, file: &str, text: &str) {
        let path = self.prefix.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn says(&self, options: &[&str]) -> Said {
        let mut command = Command::new(self.prefix.join("bin/scr"));
        let command = command.arg("config").args(options).current_dir("/");
        said(command.output().unwrap())
    }
}

#[test]
fn an_installation_says_where_it_is() {
    for libdir in ["lib", "lib64", "lib/x86_64-linux-gnu"] {
        let installed = Installed::new("scr", libdir);
        assert_eq!(installed.libdir, libdir);
        let at = installed.prefix.display().to_string();
        let libs = format!("-L{at}/{libdir} -lscr -Wl,-rpath,{at}/{libdir}");
        let answers = [
            ("--prefix", at.clone()),
            ("--cmake", format!("{at}/share/scr/cmake")),
            ("--pkgconfig", format!("{at}/{libdir}/pkgconfig")),
            ("--fortran", format!("{at}/share/scr/fortran")),
            ("--includedir", format!("{at}/include")),
            ("--libdir", format!("{at}/{libdir}")),
            ("--cflags", format!("-I{at}/include")),
            ("--libs", libs),
        ];
        let all: Vec<String> = answers
            .iter()
            .map(|(option, answer)| format!("{option:<13} {answer}\n"))
            .collect();
        assert_eq!(installed.says(&[]).out(), all.concat());
        for (option, answer) in answers {
            assert_eq!(installed.says(&[option]).out(), format!("{answer}\n"));
        }
        assert_eq!(
            installed.says(&["--libs", "--static"]).out(),
            format!("{at}/{libdir}/libscr.a -pthread -ldl -lm\n")
        );
        assert_eq!(installed.says(&["--static"]).code, 2);
    }
}

#[test]
fn an_installation_may_be_moved_and_lie_behind_a_link() {
    let mut installed = Installed::new("first", "lib");
    let (moved, link) = (
        installed.prefix.with_file_name("moved here"),
        installed.prefix.with_file_name("scr"),
    );
    fs::rename(&installed.prefix, &moved).unwrap();
    std::os::unix::fs::symlink(moved.join("bin/scr"), &link).unwrap();
    let linked = Command::new(&link).args(["config", "--prefix"]).output();
    let at = moved.display().to_string();
    assert_eq!(said(linked.unwrap()).out(), format!("{at}\n"));
    // A directory as it is; options for a shell.
    installed.prefix = moved;
    assert_eq!(
        installed.says(&["--cflags", "--prefix"]).out(),
        format!("{at}\n-I{}/include\n", at.replace(' ', "\\ "))
    );
}

#[test]
fn what_is_missing_is_named() {
    let installed = Installed::new("scr", "lib");
    let at = installed.prefix.display().to_string();
    let fortran = installed.prefix.join("share/scr/fortran/scrf.F90");
    fs::remove_file(&fortran).unwrap();
    fs::remove_file(installed.prefix.join("lib/libscr.a")).unwrap();
    fs::remove_file(installed.prefix.join("lib/libscr.so")).unwrap();
    let error = installed.says(&["--fortran"]).failed();
    assert!(
        error.contains(&format!("{at} has no {}", fortran.display())),
        "{error}"
    );
    let error = installed.says(&["--libs", "--static"]).failed();
    assert!(
        error.contains(&format!("{at} has no {at}/lib/libscr.a")),
        "{error}"
    );
    // All else is told, and nothing is where no shared library is.
    let all = installed.says(&[]).out();
    assert_eq!(all.lines().count(), 7, "{all}");
    assert!(!all.contains("fortran") && !all.contains("rpath"), "{all}");
}

#[test]
fn a_command_that_is_not_installed_says_so() {
    let error = Sandbox::empty().run(&["config", "--prefix"]).failed();
    assert!(
        error.contains("is not part of an installation: there is no lib/pkgconfig/scr.pc"),
        "{error}"
    );
}
