//! `scr glob-hosts`, `scr hostlist`

use crate::sandbox::Sandbox;

/// The output of a call with these words, without the newline.
fn out(words: &[&str]) -> String {
    let out = Sandbox::empty().run(words).out();
    out.strip_suffix('\n').unwrap().to_string()
}

/// The examples of the SCR developer guide.
#[test]
fn the_examples_of_the_developer_guide() {
    let sandbox = Sandbox::empty();
    for (words, expected) in [
        (&["--count", "atlas[3,5-7,9-11]"][..], "7\n"),
        (&["--nth", "3", "atlas[3,5-7,9-11]"], "atlas6\n"),
        (
            &["--minus", "atlas[3,5-7,9-11]:atlas[5,7,20]"],
            "atlas[3,6,9-11]\n",
        ),
        (
            &["--intersection", "atlas[3,5-7,9-11]:atlas[5,7,20]"],
            "atlas[5,7]\n",
        ),
    ] {
        assert_eq!(sandbox.run_as("scr_glob_hosts", words).out(), expected);
    }
}

#[test]
fn count_and_nth_work_with_each_source_of_hosts() {
    for (words, expected) in [
        (&["glob-hosts", "-c", "-m", "n[1-9]:n[2-4]"][..], "6"),
        (&["glob-hosts", "-n", "-1", "-i", "n[1-9]:n[2-4]"], "n4"),
        (&["glob-hosts", "-n-2", "--hosts", "n[08-11]"], "n10"),
        (&["glob-hosts", "-C", "n3,n1,n2"], "n[1-3]"),
        (&["glob-hosts", ""], ""),
        (&["glob-hosts", "--minus", "n1:n1"], ""),
        (&["glob-hosts", "--count", "--minus", ":"], "0"),
    ] {
        assert_eq!(out(words), expected, "{words:?}");
    }
    let sandbox = Sandbox::empty();
    for (words, says) in [
        (
            &["glob-hosts", "--nth", "8", "n[1-7]"][..],
            "no host 8 in a list of 7",
        ),
        (&["glob-hosts", "--nth", "0", "n1"], "no host 0"),
        (&["glob-hosts", "n[1-"], "lacks a ']'"),
        (&["glob-hosts", "--minus", "n1"], "two lists"),
        (&["glob-hosts", "n[1-999999999]"], "more than"),
    ] {
        let error = sandbox.run(words).failed();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn long_and_short_forms() {
    for (words, expected) in [
        (
            &["hostlist", "node1", "node2", "node3", "node5"][..],
            "node[1-3,5]",
        ),
        (&["hostlist", "rhea2.x.gov,rhea3.x.gov"], "rhea[2-3].x.gov"),
        (
            &["hostlist", "machine08", "machine09", "machine10"],
            "machine[08-10]",
        ),
        (&["hostlist", "login", "node1"], "login,node1"),
        (&["hostlist", "node1", "node1"], "node[1,1]"),
        (
            &["hostlist", "-e", "machine[08-10]"],
            "machine08,machine09,machine10",
        ),
        (&["hostlist", "-e", "-d", " ", "n[1-2]"], "n1 n2"),
        (&["hostlist", "-c", "n[1-2]", "m1"], "3"),
        (&["hostlist", "-n", "-1", "n[1-2]", "m1"], "m1"),
        (&["hostlist", "-s", "2", "n[1-9]"], "n[1-2]"),
        (&["hostlist", "--segment=-2", "-e", "n[1-9]"], "n8,n9"),
        (&["hostlist", "-m", "n[1-9]", "n2", "n[3-5]"], "n[1,6-9]"),
        (&["hostlist", "-i", "n[1-9]", "n[2-4]", "n[3-5]"], "n[3-4]"),
    ] {
        assert_eq!(out(words), expected, "{words:?}");
    }
    // The name with a suffix, as of a script.
    let sandbox = Sandbox::empty();
    assert_eq!(
        sandbox.run_as("scr_hostlist.py", &["-c", "n[1-3]"]).out(),
        "3\n"
    );
}
