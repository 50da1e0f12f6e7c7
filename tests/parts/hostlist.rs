//! Host lists: the examples of the SCR developer guide, and properties that all lists have.

use scr_jobs::hostlist::{MAX_HOSTS, compress, expand, intersect, minus, nth, segment, unique};

fn names(text: &str) -> Vec<String> {
    expand(text).unwrap()
}

fn strings(hosts: &[&str]) -> Vec<String> {
    hosts.iter().map(|host| (*host).to_string()).collect()
}

#[test]
fn brackets_are_written_out_in_order() {
    for (text, expected) in [
        ("", &[][..]),
        (" , ,", &[]),
        ("login", &["login"]),
        ("b,a,b", &["b", "a", "b"]),
        ("p[1-3,5]s", &["p1s", "p2s", "p3s", "p5s"]),
        ("n[08-10]", &["n08", "n09", "n10"]),
        ("n[008-9]", &["n008", "n009"]),
        ("n[99-101]", &["n99", "n100", "n101"]),
        ("rhea[2-3].x.gov", &["rhea2.x.gov", "rhea3.x.gov"]),
        ("r[1-2]n[1,3]", &["r1n1", "r1n3", "r2n1", "r2n3"]),
        ("a[1-2] b3\tc", &["a1", "a2", "b3", "c"]),
        ("n[ 1 , 2-3 ]", &["n1", "n2", "n3"]),
        ("[1-2]", &["1", "2"]),
        ("10.0.0.[1-2]", &["10.0.0.1", "10.0.0.2"]),
    ] {
        assert_eq!(names(text), strings(expected), "{text}");
    }
}

#[test]
fn the_short_form_keeps_every_digit() {
    for (hosts, expected) in [
        (&[][..], ""),
        (&["node1", "node2", "node3", "node5"], "node[1-3,5]"),
        (&["rhea2.x.gov", "rhea3.x.gov"], "rhea[2-3].x.gov"),
        (&["node5"], "node5"),
        (&["login"], "login"),
        (&["login", "login"], "login,login"),
        (&["node1", "node1"], "node[1,1]"),
        (&["n10", "n9", "n8"], "n[8-10]"),
        (&["n10", "n09", "n08"], "n[08-10]"),
        (&["n1", "n01", "n2"], "n[1,01,2]"),
        (&["n099", "n100"], "n[099-100]"),
        (&["n99", "n100"], "n[99-100]"),
        (&["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
        (&["b2", "a1", "b1", "c"], "b[1-2],a1,c"),
        (&["10.0.0.1", "10.0.0.2"], "10.0.0.[1-2]"),
        (&["x99999999999999999999"], "x99999999999999999999"),
    ] {
        assert_eq!(compress(hosts), expected);
    }
}

#[test]
fn sets_and_places() {
    let (one, other) = (names("atlas[3,5-7,9-11]"), names("atlas[5,7,20]"));
    assert_eq!(one.len(), 7);
    assert_eq!(nth(&one, 3).unwrap(), "atlas6");
    assert_eq!(nth(&one, -1).unwrap(), "atlas11");
    for none in [0, 8, -8, i64::MIN, i64::MAX] {
        assert_eq!(nth(&one, none), None, "{none}");
    }
    assert_eq!(compress(&minus(&one, &other)), "atlas[3,6,9-11]");
    assert_eq!(compress(&intersect(&one, &other)), "atlas[5,7]");
    assert_eq!(segment(&one, 2), strings(&["atlas3", "atlas5"]));
    assert_eq!(segment(&one, -2), strings(&["atlas10", "atlas11"]));
    assert_eq!(segment(&one, 0), strings(&[]));
    for all in [7, -7, i64::MIN, i64::MAX] {
        assert_eq!(segment(&one, all), one);
    }
    assert_eq!(unique(names("b,a,b,a")), strings(&["b", "a"]));
}

#[test]
fn what_is_no_list_is_refused() {
    let long = "x".repeat(256);
    for bad in [
        "n[1-3",
        "n1]",
        "n[]",
        "n[1-]",
        "n[-1]",
        "n[3-1]",
        "n[a-b]",
        "n[1-2-3]",
        "n[1/2]",
        "n[[1]]",
        "n[1,[2]]",
        "-x",
        "n[1-2],-oProxyCommand=x",
        "a;b",
        "$(x)",
        "n*",
        "n\u{1b}",
        "ñ1",
        "n[0-262144]",
        "n[1-1000]m[1-1000]",
        "n[1-200000],m[1-200000]",
        "n[0-999999999999999999]",
        "n[0-9999999999999999999]",
        &long,
    ] {
        let error = expand(bad).unwrap_err().to_string();
        assert!(error.starts_with("host list '"), "{error}");
        assert!(!error.contains('\u{1b}') && error.len() < 400, "{error}");
    }
    assert_eq!(names("n[1-262144]").len(), MAX_HOSTS);
}

/// A fixed sequence of numbers (splitmix64), so that a failure can be had again.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    /// Names that are close together, so that ranges, padding and repeats meet.
    fn hosts(&mut self) -> Vec<String> {
        let count = self.below(12);
        (0..count).map(|_| self.host()).collect()
    }

    fn host(&mut self) -> String {
        let prefix = ["n", "n0", "r1n", "a-b", "x", ""][self.below(6) as usize];
        let suffix = ["", "", "s", ".x1.gov"][self.below(4) as usize];
        let (number, width) = (self.below(13), self.below(4) as usize);
        match self.below(8) {
            0 => ["login", "10.0.0.1", "front.end"][self.below(3) as usize].to_string(),
            1 => format!("{prefix}{}{suffix}", 98 + number),
            _ => format!("{prefix}{number:0width$}{suffix}"),
        }
    }
}

fn sorted(mut hosts: Vec<String>) -> Vec<String> {
    hosts.sort();
    hosts
}

#[test]
fn properties() {
    let mut numbers = Numbers(7);
    for _ in 0..20_000 {
        let (one, other) = (numbers.hosts(), numbers.hosts());
        let short = compress(&one);
        // Nothing is lost or added, whatever the padding.
        assert_eq!(sorted(names(&short)), sorted(one.clone()), "{short}");
        // The short form is a fixed point, and does not depend on order within a group.
        assert_eq!(compress(&names(&short)), short);
        // Written out it is what it was.
        assert_eq!(names(&one.join(",")), one);

        let (left, both) = (minus(&one, &other), intersect(&one, &other));
        assert_eq!(left.len() + both.len(), one.len());
        assert!(left.iter().all(|host| !other.contains(host)));
        assert!(both.iter().all(|host| other.contains(host)));
        assert_eq!(
            sorted([left, both].concat()),
            sorted(one.clone()),
            "{one:?} {other:?}"
        );
        assert_eq!(minus(&one, &one), strings(&[]));
        assert_eq!(intersect(&one, &one), one);
        for place in 1..=one.len() as i64 {
            let from_end = place - 1 - one.len() as i64;
            assert_eq!(nth(&one, place), nth(&one, from_end));
        }
    }
}
