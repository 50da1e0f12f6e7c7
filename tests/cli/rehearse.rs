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

/// Its result has a number that grows with each start, or a word that changes. The second start, which is killed at a time
/// drawn from the length of the first, has saved a step by then, and waits for the kill.
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
    while [ "$starts" = 2 ] && [ "$step" = 6 ]; do sleep 0.05; done
done
[ "$starts" != 1 ] || sleep 1
case $1 in
noisy) echo "u = 1000.00$starts" ;;
words) echo "run r$starts" ;;
forgets) echo "u = $starts" ;;
*) echo "u = 1000" ;;
esac >result
"#;

/// It stops as a program that is linked with SCR does, and lists its state, or has written a file.
const LISTS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
double u[100], work[40], half[60], once[30];
int step = 1, steps = 7;
static const char *form = "2 of scr-rs 0.1.0";
static void stop(int number, const char *said)
{
    char new[4096], record[4096], go[4096];
    const char *dir = getenv("SCR_REHEARSAL_STOPS");
    snprintf(new, sizeof new, "%s/new", dir);
    snprintf(record, sizeof record, "%s/stop", dir);
    snprintf(go, sizeof go, "%s/go", dir);
    FILE *file = fopen(new, "w");
    // Its machine is that of the command, which has told it.
    char command[4096], machine[256] = "";
    snprintf(command, sizeof command, "%s/command", dir);
    FILE *told = fopen(command, "r");
    if (!told || fscanf(told, "%*d\n%255[^\n]", machine) != 1) return;
    fclose(told);
    fprintf(file, "stops %s\nstop %d checkpoint\nprocess %d on %s\n%sdone\n", form, number, (int)getpid(), machine, said);
    fclose(file);
    rename(new, record);
    for (int gone = 0; gone < number; usleep(1000)) {
        if ((file = fopen(go, "r"))) {
            if (fscanf(file, "%d", &gone) != 1) gone = 0;
            fclose(file);
        }
    }
}
int main(int argc, char **argv)
{
    char said[4096] = "", path[2048];
    if (argc > 1 && !strcmp(argv[1], "newer")) form = "3 of scr-rs 9.9.9";
    for (int i = 0; i < 30; i++) once[i] = i * i, u[i] = i;
    if (argc > 1 && !strcmp(argv[1], "files")) {
        FILE *file = fopen("rank_0", "w");
        fwrite(u, 1, sizeof u, file);
        fclose(file);
        snprintf(said, sizeof said, "file %s/rank_0\nname ck.1/rank_0\n", getcwd(path, sizeof path));
    } else {
        snprintf(said, sizeof said, "field %lx 8 100 8\nname u\nfield %lx 4\nname step\nfield %lx 8 20 8\nname half\nremote heat\n",
            (unsigned long)u, (unsigned long)&step, (unsigned long)half);
    }
    for (step = 1; step < 3; step++) {
        work[3] += step, half[10] += step;
        if (argc > 2) half[50] += step, steps++;
        stop(step, said);
    }
    return 0;
}
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

    /// Compiles a program in place of the script; false where there is no compiler.
    fn compile(&self, options: &[&str]) -> bool {
        let (source, app) = (self.path().join("lists.c"), self.path().join("app"));
        std::fs::write(&source, LISTS).unwrap();
        let mut command = std::process::Command::new("gcc");
        let Ok(done) = command
            .args(options)
            .arg("-o")
            .args([&app, &source])
            .output()
        else {
            println!("SKIPPED: there is no gcc");
            return false;
        };
        assert!(done.status.success(), "{done:?}");
        true
    }

    fn list(&self, options: &[&str], words: &[&str]) -> Said {
        let _ = std::fs::remove_dir_all(self.path().join("scr-rehearsal"));
        let path = |name: &str| self.path().join(name).to_string_lossy().into_owned();
        let (launcher, app) = (path("launch"), path("app"));
        let first = [
            "rehearse",
            "--list",
            "-n",
            "1",
            "--nodes",
            "1",
            "--launcher",
            &launcher,
        ];
        let all = [&first, options, &["--", &app], words].concat();
        let mut command = program("scr", &all);
        command.current_dir(self.path()).env("COUNT", self.count());
        said(command.output().unwrap())
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

#[test]
fn stops_of_another_release_are_refused_at_once() {
    let site = Site::new();
    if !site.compile(&["-g", "-O0"]) {
        return;
    }
    // It would wait for ever.
    let said = site.list(&["--limit", "600"], &["newer"]);
    assert_eq!(said.code, 1, "{said:?}");
    let own = format!("this scr, which is of scr-rs {}", env!("CARGO_PKG_VERSION"));
    for words in ["linked with scr-rs 9.9.9", &own] {
        assert!(said.err.contains(words), "{said:?}");
    }
}

#[test]
fn the_variables_of_a_program_are_listed() {
    let site = Site::new();
    if !site.compile(&["-g", "-O0"]) {
        return;
    }
    let has = |said: &Said, lines: &[&str]| {
        assert_eq!(said.code, 0, "{said:?}");
        // The widths of columns do not matter.
        let rows = said
            .out
            .lines()
            .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "));
        let rows: Vec<String> = rows.collect();
        let places = lines.iter().map(|line| {
            let place = rows.iter().position(|row| row == line);
            place.unwrap_or_else(|| panic!("no {line} in {}", said.out))
        });
        // In this order.
        assert!(places.is_sorted(), "{}", said.out);
    };
    has(
        &site.list(&[], &["fields"]),
        &[
            "VARIABLE DECLARED TYPE SHAPE BYTES IN THE CHECKPOINT",
            "work lists.c:6 double 40 320 B not in the list, changes",
            "u lists.c:6 double 100 800 B in field \"u\"",
            "half lists.c:6 double 60 480 B 160 B of 480 B in field \"half\"",
            "once lists.c:6 double 30 240 B not in the list",
            "and 2 variables of one element, 8 B: 1 in the list, 1 not, without a change",
            "1.8 KiB in all, 964 B in the list, 1 variable changes and is not in the list",
        ],
    );
    has(
        &site.list(&[], &["fields", "more"]),
        &[
            "work lists.c:6 double 40 320 B not in the list, changes",
            "steps lists.c:7 int - 4 B not in the list, changes",
            "half lists.c:6 double 60 480 B 160 B of 480 B in field \"half\", the rest changes",
            "u lists.c:6 double 100 800 B in field \"u\"",
        ],
    );
    has(
        &site.list(&[], &["files"]),
        &[
            "half lists.c:6 double 60 480 B not known, changes",
            "work lists.c:6 double 40 320 B not known, changes",
            "u lists.c:6 double 100 800 B in file ck.1/rank_0",
        ],
    );

    let document = |word: &str| parsed(&site.list(&["--json"], &[word]).out);
    let (fields, files) = (document("fields"), document("files"));
    let first = &fields["variables"][0];
    assert_eq!(
        (first["name"].as_str(), first["changes"].as_bool()),
        (Some("work"), Some(true))
    );
    assert_eq!(first["state"], "not listed");
    assert_eq!(files["variables"][3]["state"], "in a file");
    assert_eq!(fields["on_devices"][0], "heat");
    as_documented("scr rehearse --list --json", &[fields, files]);
}

#[test]
fn why_no_variables_can_be_listed_is_said() {
    let site = Site::new();
    let refused = |said: Said, status: i32, why: &str| {
        assert_eq!(said.code, status, "{said:?}");
        assert!(said.err.contains(why), "{said:?}");
    };
    refused(
        site.list(&[], &[]),
        1,
        "has not called SCR_Init: it is not linked with SCR",
    );
    refused(
        site.list(&["--kill", "rank@2"], &[]),
        2,
        "cannot be used with",
    );
    if site.compile(&["-s"]) {
        refused(site.list(&[], &["fields"]), 1, "the program is stripped");
    }
    if site.compile(&[]) {
        let said = site.list(&[], &["fields"]);
        assert!(said.out.contains("no debug information"), "{said:?}");
        assert!(
            said.out.contains("320 B not in the list, changes"),
            "{said:?}"
        );
    }
}
