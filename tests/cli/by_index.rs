//! Fields by index in `scr inspect --fields`, `scr extract --field` and `scr diff`: one whole, in the order of the
//! indices, whichever ranks and lists wrote it.

use crate::fields::{extracted, npy, scr, site};
use crate::fields_on_ranks::{Random, by_index, list_part, partition, save};
use crate::json::parsed;
use crate::site::{Site, nodes};
use scr::fields::{Given, Indices, Options, Order};
use serde_json::{Value, json};

/// The number of the first element of a whole, and how many elements it has.
type Whole = (i64, i64);

/// Elements of indices, each of `row` numbers; `change` gets an index, the place in the row, and the number.
fn elements(list: &[i64], row: i64, change: &impl Fn(i64, i64, f64) -> f64) -> Vec<f64> {
    let of = |index: &i64| {
        let index = *index;
        (0..row).map(move |place| change(index, place, index as f64 + place as f64 / 16.0))
    };
    list.iter().flat_map(of).collect()
}

fn same(_: i64, _: i64, number: f64) -> f64 {
    number
}

/// Writes the list `mesh/nodes`, a scalar, a block of 2 x 3 as C has it, and a pair as Fortran has it.
fn write(
    site: &Site,
    name: &str,
    (first, whole): Whole,
    lists: &[Vec<i64>],
    change: impl Fn(i64, i64, f64) -> f64 + Sync,
) {
    site.run(&nodes(lists.len()), |rank| {
        let own = &lists[rank.rank][..];
        let count = own.len() as i64;
        let data = |row| elements(own, row, &change);
        let (mut t, mut v, mut u) = (data(1), data(6), data(2));
        save(rank, name, |list| {
            list.begin("mesh")?;
            list.index(&Given {
                name: "nodes",
                indices: Indices::Eight(own),
                first,
                whole,
            })?;
            by_index(list, ("t", "nodes"), &[count], &mut t)?;
            list.end()?;
            by_index(list, ("v", "mesh/nodes"), &[count, 2, 3], &mut v)?;
            list.set_order(Order::Column);
            by_index(list, ("u", "mesh/nodes"), &[2, count], &mut u)
        })
        .unwrap();
    });
}

fn all((first, whole): Whole, row: i64) -> Vec<u8> {
    let all: Vec<i64> = (first..first + whole).collect();
    doubles(&elements(&all, row, &same))
}

fn doubles(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn unsorted() -> Vec<Vec<i64>> {
    vec![vec![5, 6, 7, 11], vec![], vec![9, 10, 8]]
}

/// What `scr inspect --fields --json` says of a dataset with an index list.
pub fn listed() -> Value {
    let site = site(false);
    write(&site, "ck", (5, 7), &unsorted(), same);
    parsed(&scr(&site, &["inspect", "--fields", "ck", "--json"]).out())
}

#[test]
fn lists_and_their_fields_are_listed() {
    let site = site(true);
    write(&site, "ck", (5, 7), &unsorted(), same);
    let out = scr(&site, &["inspect", "--fields", "ck"]).out();
    let expected = "\
Dataset 1 (`ck'): 4 fields of 3 ranks
TYPE    SHAPE  WHOSE INDEX      RANKS BYTES NAME
int64   7      index 5 to 11    2     6     mesh/nodes
float64 7      part  mesh/nodes 2     56    mesh/t
float64 7x2x3  part  mesh/nodes 2     336   v
float64 2x7    part  mesh/nodes 2     112   u
";
    let squeezed = |text: &str| {
        let lines = text.lines().map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.join(" ")
        });
        lines.collect::<Vec<_>>()
    };
    assert_eq!(squeezed(&out), squeezed(expected), "{out}");
    let document = listed();
    let fields = &document["dataset"]["fields"];
    let list = json!({"list": null, "first": 5, "whole": 7, "shared": false});
    assert_eq!(
        (&fields[0]["index"], &fields[0]["shape"]),
        (&list, &json!([7]))
    );
    assert_eq!(fields[0]["whose"], "index");
    let by = json!({"list": "mesh/nodes", "first": 5, "whole": 7, "shared": false});
    assert_eq!(
        (&fields[3]["index"], &fields[3]["shape"]),
        (&by, &json!([2, 7]))
    );
    write(&site, "none", (0, 0), &[vec![], vec![]], same);
    let out = scr(&site, &["inspect", "--fields", "none"]).out();
    assert!(out.contains("int64") && out.contains("none"), "{out}");
}

#[test]
fn a_field_is_extracted_in_the_order_of_the_indices() {
    let mut random = Random(11);
    for (containers, ranks, whole) in [
        (false, 1, (0, 9)),
        (true, 4, (1, 60)),
        (false, 5, (-3, 200)),
        (true, 7, (1, 31)),
        (false, 2, (1, 0)),
    ] {
        let site = site(containers);
        let lists = partition(whole, ranks, &mut random);
        write(&site, "ck", whole, &lists, same);
        let count = whole.1;
        let t = npy("<f8", false, &format!("({count},)"), &all(whole, 1));
        assert!(extracted(&site, "ck", "mesh/t", &[]) == t, "{whole:?}");
        let v = npy("<f8", false, &format!("({count}, 2, 3)"), &all(whole, 6));
        assert!(extracted(&site, "ck", "v", &[]) == v, "{whole:?}");
        let u = npy("<f8", true, &format!("(2, {count})"), &all(whole, 2));
        assert!(extracted(&site, "ck", "u", &[]) == u, "{whole:?}");
        // What one rank has, in its own order, and its indices.
        let rank = random.below(ranks as u64) as usize;
        let own = &lists[rank];
        let number = rank.to_string();
        let args = ["--rank", &number];
        let part = doubles(&elements(own, 2, &same));
        let part = npy("<f8", true, &format!("(2, {})", own.len()), &part);
        assert!(extracted(&site, "ck", "u", &args) == part, "{whole:?}");
        let indices: Vec<u8> = own.iter().flat_map(|index| index.to_le_bytes()).collect();
        let indices = npy("<i8", false, &format!("({},)", own.len()), &indices);
        let found = extracted(&site, "ck", "mesh/nodes", &args);
        assert!(found == indices, "{whole:?} {own:?}");
    }
}

#[test]
fn lists_are_of_one_rank_and_damage_is_told() {
    let site = site(false);
    write(&site, "ck", (5, 7), &unsorted(), same);
    let to = site.outside();
    let to = to.to_str().unwrap();
    let refused = |args: &[&str], why: &str| {
        let text = scr(
            &site,
            &[&["extract", "ck", "-o", to, "--field"], args].concat(),
        )
        .failed();
        assert!(text.contains(why), "{text}");
        assert!(!std::path::Path::new(to).exists());
    };
    refused(&["mesh/nodes"], "choose one with --rank");
    refused(&["mesh/nodes", "--rank", "3"], "there is no rank 3");
    refused(&["v", "--rank", "3"], "there is no rank 3");
    let file = site.prefix().join("ck/rank_2.fields");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[64] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    for field in [&["mesh/nodes", "--rank", "2"][..], &["u"], &["mesh/t"]] {
        refused(field, "field \"mesh/nodes\" is damaged");
    }
}

#[test]
fn wholes_of_other_lists_are_compared_by_index() {
    let mut random = Random(3);
    let whole = (5, 90);
    let site = site(false);
    let mut lists = |ranks| partition(whole, ranks, &mut random);
    write(&site, "a", whole, &lists(3), same);
    write(&site, "b", whole, &lists(7), same);
    write(
        &site,
        "c",
        whole,
        &lists(4),
        |index, place, number| match (index, place) {
            (41, 1) => number + 0.5,
            (94, _) => number - 2.0,
            _ => number,
        },
    );
    for names in [["a", "b"], ["b", "a"], ["c", "c"]] {
        let out = scr(&site, &["diff", names[0], names[1]]).out();
        assert_eq!(out, "4 fields compared: no difference\n");
    }
    let said = scr(&site, &["diff", "b", "c"]);
    assert_eq!((said.code, said.err.as_str()), (1, ""), "{}", said.out);
    let begins: Vec<&str> = said.out.lines().collect();
    for (line, begin) in begins.iter().zip([
        "mesh/t: 1 of 90 elements differs, first [94]: 94.0 and 92.0; at most 2.0 absolute",
        "v: 7 of 540 elements differ, first [41, 0, 1]: 41.0625 and 41.5625; at most 2.0 absolute",
        "u: 3 of 180 elements differ, first [2, 41]: 41.0625 and 41.5625; at most 2.0 absolute",
        "4 fields compared: 3 with a difference",
    ]) {
        assert!(line.starts_with(begin), "{line}");
    }
    let args = ["diff", "b", "c", "--json", "--field", "u"];
    let document = parsed(&scr(&site, &args).out);
    let first = &document["fields"][0]["elements"]["first"];
    assert_eq!(first["index"], json!([2, 41]));
    assert_eq!(first["rank"], Value::Null);
    // A program that begins with a negative number, and one with another whole.
    write(
        &site,
        "low",
        (-7, 90),
        &partition((-7, 90), 2, &mut random),
        same,
    );
    let out = scr(&site, &["diff", "low", "a", "--field", "mesh/t"]).out;
    assert!(out.contains("first [-7]: -7.0 and 5.0"), "{out}");
    write(
        &site,
        "large",
        (5, 91),
        &partition((5, 91), 2, &mut random),
        same,
    );
    let out = scr(&site, &["diff", "a", "large"]).out;
    let list = "mesh/nodes: an index list of 90 elements in A, an index list of 91 elements in B";
    for line in [list, "v: float64[90, 2, 3] in A, float64[91, 2, 3] in B"] {
        assert!(out.contains(line), "{out}");
    }
}

/// Several ranks have written an element, and its copies are equal.
#[test]
fn a_shared_element_is_extracted_once() {
    let mut random = Random(17);
    for containers in [false, true] {
        let site = site(containers);
        let whole = (5, 60);
        let alone = partition(whole, 3, &mut random);
        let mut lists = partition(whole, 4, &mut random);
        for list in &mut lists {
            for index in [64, 7, 30, 31, 32, 5] {
                if !list.contains(&index) {
                    list.insert(0, index);
                }
            }
        }
        let shared = |name: &str, add: f64| {
            let change = |index, _, number| number + if index == 31 { add } else { 0.0 };
            site.run(&nodes(lists.len()), |rank| {
                let own = &lists[rank.rank][..];
                let (mut t, mut u) = (elements(own, 1, &change), elements(own, 2, &change));
                save(rank, name, |list| {
                    list.next(Options {
                        shared: true,
                        ..Options::default()
                    });
                    list.index(&Given {
                        name: "mesh/nodes",
                        indices: Indices::Eight(own),
                        first: whole.0,
                        whole: whole.1,
                    })?;
                    let count = own.len() as i64;
                    by_index(list, ("mesh/t", "mesh/nodes"), &[count], &mut t)?;
                    list.set_order(Order::Column);
                    by_index(list, ("u", "mesh/nodes"), &[2, count], &mut u)
                })
                .unwrap();
            });
        };
        shared("ck", 0.0);
        shared("other", 2.0);
        write(&site, "alone", whole, &alone, same);
        let t = npy("<f8", false, "(60,)", &all(whole, 1));
        assert!(extracted(&site, "ck", "mesh/t", &[]) == t);
        let u = npy("<f8", true, "(2, 60)", &all(whole, 2));
        assert!(extracted(&site, "ck", "u", &[]) == u);
        let out = scr(&site, &["diff", "ck", "alone", "--field", "u"]).out();
        assert_eq!(out, "1 field compared: no difference\n");
        let out = scr(&site, &["diff", "ck", "other"]).out;
        for line in [
            "mesh/t: 1 of 60 elements",
            "u: 2 of 120 elements differ, first [1, 31]",
        ] {
            assert!(out.contains(line), "{out}");
        }
        let listed = scr(&site, &["inspect", "--fields", "ck"]).out();
        for part in ["float64 60", "index 5 to 64, shared"] {
            assert!(listed.contains(part), "{listed}");
        }
    }
}

/// The program changed from boxes to lists, and back.
#[test]
fn a_whole_of_boxes_is_compared_with_one_by_index() {
    let site = site(false);
    let lists = partition((0, 40), 3, &mut Random(8));
    let of = |site: &Site, name: &str, boxes: bool| {
        site.run(&nodes(3), |rank| {
            let me = rank.rank as i64;
            let own = &lists[rank.rank][..];
            let part = (vec![10 * me, 0], vec![if me == 2 { 20 } else { 10 }, 2]);
            let range: Vec<i64> = (part.0[0]..part.0[0] + part.1[0]).collect();
            save(rank, name, |list| {
                if boxes {
                    let mut data = elements(&range, 2, &same);
                    return list_part(list, "x", &[40, 2], &part, &mut data);
                }
                list.index(&Given {
                    name: "x list",
                    indices: Indices::Eight(own),
                    first: 0,
                    whole: 40,
                })?;
                let mut data = elements(own, 2, &same);
                by_index(list, ("x", "x list"), &[own.len() as i64, 2], &mut data)
            })
            .unwrap();
        });
    };
    of(&site, "boxes", true);
    of(&site, "lists", false);
    let out = scr(&site, &["diff", "boxes", "lists"]).out;
    let expected = "x list: only in B\n2 fields compared: 1 with a difference\n";
    assert_eq!(out, expected);
}

/// Elements without a number are one array, rank after rank.
#[test]
fn a_bag_is_extracted_in_the_order_of_the_ranks() {
    let site = site(false);
    let counts = [3i64, 0, 4];
    site.run(&nodes(3), |rank| {
        let mut count = counts[rank.rank];
        let first: i64 = counts[..rank.rank].iter().sum();
        let mut data: Vec<f64> = (2 * first..2 * (first + count)).map(|x| x as f64).collect();
        save(rank, "ck.1", |list| {
            list.bag("particles", &mut count)?;
            by_index(list, ("place", "particles"), &[count, 2], &mut data)
        })
        .unwrap();
    });
    let all: Vec<f64> = (0..14).map(f64::from).collect();
    let right = npy("<f8", false, "(7, 2)", &doubles(&all));
    assert!(extracted(&site, "ck.1", "place", &[]) == right);
    let right = npy("<f8", false, "(4, 2)", &doubles(&all[6..]));
    assert!(extracted(&site, "ck.1", "place", &["--rank", "2"]) == right);
    let listed = scr(&site, &["inspect", "--fields", "ck.1"]).out();
    assert!(listed.contains("float64 7x2   part  particles"), "{listed}");
    let words = listed.lines().map(|line| line.split_whitespace());
    let words: Vec<Vec<&str>> = words.map(Iterator::collect).collect();
    let bag = ["-", "7", "bag", "-", "2", "0", "particles"];
    assert!(words.contains(&bag.to_vec()), "{listed}");
    let document = parsed(&scr(&site, &["inspect", "--fields", "ck.1", "--json"]).out());
    let bag = &document["dataset"]["fields"][0];
    assert_eq!(
        (&bag["type"], &bag["whose"], &bag["ranks"], &bag["shape"]),
        (&Value::Null, &json!("bag"), &json!(2), &json!([7]))
    );
    let same = scr(&site, &["diff", "ck.1", "ck.1"]);
    assert_eq!(same.code, 0, "{}", same.err);
}

/// A bag has no order, but each of its elements has one place and one speed.
#[test]
fn a_bag_is_compared_without_order() {
    let site = site(false);
    let write = |name: &str, ranks: [&[(f64, f64)]; 3]| {
        site.run(&nodes(3), |rank| {
            let own = ranks[rank.rank];
            let mut count = own.len() as i64;
            let mut places: Vec<f64> = own.iter().flat_map(|(x, _)| [*x, -x]).collect();
            let mut speeds: Vec<f64> = own.iter().map(|(_, v)| *v).collect();
            save(rank, name, |list| {
                list.bag("particles", &mut count)?;
                by_index(list, ("place", "particles"), &[count, 2], &mut places)?;
                by_index(list, ("speed", "particles"), &[count], &mut speeds)
            })
            .unwrap();
        });
    };
    let (a, b, c) = ((1.0, 7.0), (2.0, 8.0), (3.0, 9.0));
    write("first", [&[a, b], &[], &[c, a]]);
    write("turned", [&[c], &[a, a, b], &[]]);
    write("mixed", [&[a, b], &[], &[(3.0, 7.0), (1.0, 9.0)]]);
    write("more", [&[a, b], &[], &[c, c]]);
    let same = scr(&site, &["diff", "first", "turned"]);
    assert_eq!(same.code, 0, "{}", same.out);
    for other in ["mixed", "more"] {
        let said = scr(&site, &["diff", "first", other]);
        assert_eq!(said.code, 1, "{other}: {}", said.out);
        assert!(said.out.contains("speed: "), "{other}: {}", said.out);
    }
    // Of one field alone, the values are the same.
    let alone = scr(&site, &["diff", "turned", "mixed", "--field", "speed"]);
    assert_eq!(alone.code, 0, "{}", alone.out);
}
