//! `scr rehearse` of a script without MPI, which has a restart of its own.

use crate::json::{as_documented, parsed};
use crate::sandbox::{Said, program, said};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Starts one rank.
const LAUNCHER: &str = r#"#!/bin/sh
[ "$1" = -n ] && shift 2
PMI_RANK=0 PMI_SIZE=1 "$@"
"#;

/// Its result has a number that grows with each start, or a word that changes.
const PROGRAM: &str = r#"#!/bin/sh
echo start >>"$COUNT"
starts=$(wc -l <"$COUNT")
step=0
if [ -f own ] && [ "$1" != never ]; then
    read -r step <own
    echo "restart from step $step"
fi
while [ "$step" -lt 12 ]; do
    step=$((step + 1))
    sleep 0.05
    echo "$step" >own.new
    mv own.new own
done
case $1 in
noisy) echo "u = 1000.00$starts" ;;
words) echo "run r$starts" ;;
forgets) echo "u = $starts" ;;
*) echo "u = 1000" ;;
esac >result
"#;

struct Site(tempfile::TempDir);

impl Site {
    fn new() -> Self {
        let site = Site(tempfile::tempdir().unwrap());
        for (name, text) in [("launch", LAUNCHER), ("app", PROGRAM)] {
            let path = site.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        site
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn count(&self) -> PathBuf {
        self.path().join("count")
    }

    fn rehearse(&self, options: &[&str], words: &[&str]) -> Said {
        let _ = std::fs::remove_dir_all(self.path().join("scr-rehearsal"));
        let _ = std::fs::remove_file(self.count());
        let path = |name: &str| self.path().join(name).to_string_lossy().into_owned();
        let (launcher, app) = (path("launch"), path("app"));
        let first = [
            "rehearse",
            "--launcher",
            &launcher,
            "-n",
            "1",
            "--nodes",
            "1",
        ];
        let last = ["--compare", "result", "--", &app];
        let all = [&first, options, &last, words].concat();
        let mut command = program("scr", &all);
        command.current_dir(self.path()).env("COUNT", self.count());
        said(command.output().unwrap())
    }
}

const SAYS: [&str; 2] = ["--says", "restart from step"];

#[test]
fn verdicts_of_a_program_with_a_restart_of_its_own() {
    let site = Site::new();
    let verdict = |options: &[&str], mistake: &str| {
        let said = site.rehearse(options, &[mistake]);
        let lines: Vec<&str> = said.out.lines().collect();
        let verdict = lines
            .iter()
            .find(|line| line.starts_with("RECOVERED") || line.starts_with("NOT "));
        let verdict = verdict
            .unwrap_or_else(|| panic!("{}{}", said.out, said.err))
            .to_string();
        (verdict, said.out)
    };
    assert_eq!(verdict(&SAYS, "right").0, "RECOVERED");
    assert_eq!(verdict(&[], "right").0, "NOT PROVEN");
    let (said, report) = verdict(&SAYS, "never");
    assert_eq!(said, "NOT RECOVERED");
    assert!(
        report.contains("began from the beginning: it did not print"),
        "{report}"
    );

    // The undisturbed runs are the first start and the fourth.
    let (said, report) = verdict(&SAYS, "noisy");
    assert_eq!(said, "RECOVERED within a tolerance", "{report}");
    let spread =
        "result: two undisturbed runs differ by at most 3.000e-3 absolute, 3.000e-6 relative";
    assert!(report.contains(spread), "{report}");
    let with = |tolerance| verdict(&[&SAYS[..], &["--tolerance", tolerance]].concat(), "noisy").0;
    assert_eq!(with("1e-5"), "RECOVERED within a tolerance");
    assert_eq!(with("1e-7"), "NOT PROVEN");
    // Neither text nor numbers that have nothing in common are a tolerance.
    for mistake in ["words", "forgets"] {
        let (said, report) = verdict(&SAYS, mistake);
        assert_eq!(said, "NOT PROVEN", "{report}");
        assert!(
            report.contains("two undisturbed runs differ in result"),
            "{report}"
        );
    }
}

#[test]
fn a_quick_rehearsal_kills_once() {
    let site = Site::new();
    let said = site.rehearse(&["--quick", SAYS[0], SAYS[1]], &[]);
    assert!(said.out.contains("RECOVERED"), "{}", said.out);
    assert!(said.out.contains(" times the undisturbed run"), "{said:?}");
    let starts = std::fs::read_to_string(site.count()).unwrap();
    assert_eq!(starts.lines().count(), 3);
}

#[test]
fn the_json_is_as_documented() {
    let site = Site::new();
    let document = |options: &[&str], words: &[&str]| {
        let said = site.rehearse(&[&SAYS[..], &["--json"], options].concat(), words);
        parsed(&said.out)
    };
    let good = document(&[], &["noisy"]);
    assert_eq!(good["verdict"], "RECOVERED within a tolerance");
    assert_eq!(good["moments"][0]["verdict"], "recovered");
    assert_eq!(good["moments"][0]["next"], 2);
    let bad = document(&["--kill", "rank@0.3s"], &["never"]);
    assert_eq!(bad["recovered"], false);
    assert_eq!(bad["moments"][0]["verdict"], "not recovered");
    // The launcher refuses.
    std::fs::write(
        site.path().join("launch"),
        "#!/bin/sh\necho no room >&2\nexit 3\n",
    )
    .unwrap();
    let refused = document(&[], &[]);
    let what = refused["findings"][0]["what"].as_str().unwrap();
    assert!(
        what.contains("has not started the program: no room"),
        "{what}"
    );
    as_documented("scr rehearse --json", &[good, bad, refused]);
}
