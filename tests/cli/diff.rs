//! `scr diff`: which fields of two datasets differ, where, and by how much.

use crate::fields::{F64, I32, bytes, scr, site};
use crate::fields_on_ranks::{Random, cut, elements, list_part, save};
use crate::json::{as_documented, parsed};
use crate::sandbox::Said;
use crate::site::{Site, nodes};
use scr::fields::{Class, Kind, List, Order, Place, checkpoint};
use scr::format::Name;
use serde_json::json;

/// Writes a whole in random boxes on so many ranks. `change` gets the elements with their numbers.
fn write_whole(
    site: &Site,
    ranks: usize,
    name: &str,
    whole: &[i64],
    change: impl Fn(usize, f64) -> f64 + Sync,
) {
    let parts = cut(whole, ranks, &mut Random(ranks as u64));
    site.run(&nodes(ranks), |rank| {
        let part = &parts[rank.rank];
        let numbers = elements(whole, part, 0.0).into_iter();
        let mut data: Vec<f64> = numbers.map(|x| change(x as usize, x + 1.0)).collect();
        save(rank, name, |list| {
            list_part(list, "grid", whole, part, &mut data)
        })
        .unwrap();
    });
}

/// Writes what `routine` lists on one rank.
fn write_one(site: &Site, name: &str, routine: impl Fn(&mut List<'_>) -> scr::Result<()> + Sync) {
    site.run(&nodes(1), |rank| save(rank, name, &routine).unwrap());
}

fn doubles(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn differs(said: Said) -> String {
    assert_eq!((said.code, said.err.as_str()), (1, ""), "{}", said.out);
    said.out
}

#[test]
fn wholes_of_other_decompositions_are_compared() {
    let whole = [6, 5, 4];
    let site = site(true);
    write_whole(&site, 1, "a", &whole, |_, x| x);
    write_whole(&site, 7, "b", &whole, |_, x| x);
    // Number 47 is [2, 1, 3], and 119 is the last one.
    write_whole(&site, 4, "c", &whole, |number, x| match number {
        47 => x + 0.5,
        119 => x - 2.0,
        _ => x,
    });
    let same = "1 field compared: no difference\n";
    assert_eq!(scr(&site, &["diff", "a", "b"]).out(), same);
    assert_eq!(scr(&site, &["diff", "b", "1"]).out(), same);
    let expected = format!(
        "grid: 2 of 120 elements differ, first [2, 1, 3]: 48.0 and 48.5; at most 2.0 absolute, \
         {:.3e} relative, {} ULP\n1 field compared: 1 with a difference\n",
        2.0 / 120.0,
        // From 118 to 120: 2^-46 each.
        1u64 << 47
    );
    assert_eq!(differs(scr(&site, &["diff", "b", "c"])), expected);
    // A tolerance for one of them, and for both.
    let out = differs(scr(&site, &["diff", "b", "c", "--absolute", "1.5"]));
    assert!(
        out.contains("1 of 120 elements differs, first [5, 4, 3]: 120.0 and 118.0"),
        "{out}"
    );
    for allowed in [
        &["--absolute", "2"][..],
        &["--relative", "0.02"],
        &["--ulp", "140737488355328"],
        &["--absolute", "1", "--relative", "0.0167"],
    ] {
        let args = [&["diff", "b", "c"], allowed].concat();
        assert_eq!(scr(&site, &args).out(), same, "{allowed:?}");
    }
    let args = ["diff", "b", "c", "--ulp", "140737488355327"];
    differs(scr(&site, &args));
}

#[test]
fn a_whole_of_many_bands_is_compared() {
    let whole = [1200, 1000];
    let site = site(false);
    write_whole(&site, 3, "a", &whole, |_, x| x);
    write_whole(&site, 5, "b", &whole, |number, x| {
        x + f64::from(u8::from(number >= 1_100_000))
    });
    let out = differs(scr(&site, &["diff", "a", "b"]));
    assert!(
        out.starts_with("grid: 100000 of 1200000 elements differ, first [1100, 0]: 1100001.0 and 1100002.0; at most 1.0 "),
        "{out}"
    );
}

#[test]
fn the_bits_of_elements_are_compared_without_a_tolerance() {
    let site = site(false);
    let write = |name: &str, data: [f64; 4]| {
        write_one(&site, name, |list| {
            list.set_order(Order::Column);
            bytes(list, "x", F64, &[2, 2], Place::Own, &doubles(&data))
        });
    };
    let other_nan = f64::from_bits(f64::NAN.to_bits() ^ 1);
    write("a", [1.0, f64::NAN, 0.0, f64::INFINITY]);
    write("b", [1.0, f64::NAN, 0.0, f64::INFINITY]);
    write("zero", [1.0, f64::NAN, -0.0, f64::INFINITY]);
    write("nan", [1.0, other_nan, 0.0, f64::INFINITY]);
    write("number", [1.0, f64::NAN, 0.0, 1.0]);
    scr(&site, &["diff", "a", "b"]).out();
    let out = differs(scr(&site, &["diff", "a", "zero"]));
    // The first index is the fastest one, and indices begin with 1.
    let expected = "x: 1 of 4 elements differs, first [1, 2]: 0.0 and -0.0; at most 0.0 absolute, 0.000e0 relative, 0 ULP\n";
    assert!(out.starts_with(expected), "{out}");
    scr(&site, &["diff", "a", "zero", "--ulp", "0"]).out();
    for name in ["nan", "number"] {
        let args = ["diff", "a", name, "--absolute", "1e300", "--ulp", "1000"];
        let out = differs(scr(&site, &args));
        assert!(
            out.contains("; at most inf absolute, inf relative"),
            "{out}"
        );
    }
}

#[test]
fn other_types_and_fields_of_one_dataset_are_told() {
    let site = site(false);
    let text = Kind::new(Class::Character, 4);
    let one = [1, 0, 0, 0];
    write_one(&site, "a", |list| {
        bytes(list, "same", I32, &[], Place::Same, &one)?;
        bytes(list, "type", I32, &[2], Place::Own, &[0; 8])?;
        bytes(list, "shape", I32, &[2, 1], Place::Own, &[0; 8])?;
        bytes(list, "name", text, &[], Place::Same, b"ab\x1bc")?;
        bytes(list, "old", I32, &[], Place::Same, &one)
    });
    write_one(&site, "b", |list| {
        bytes(list, "new", I32, &[], Place::Same, &one)?;
        bytes(list, "name", text, &[], Place::Same, b"abcd")?;
        bytes(list, "shape", I32, &[1, 2], Place::Own, &[0; 8])?;
        bytes(list, "type", F64, &[2], Place::Own, &[0; 16])?;
        bytes(list, "same", I32, &[], Place::Same, &one)
    });
    let expected = "\
type: int32[2] in A, float64[2] in B
shape: int32[2, 1] in A, int32[1, 2] in B
name: 1 of 1 element differs, first: \"ab\\x1bc\" and \"abcd\"
old: only in A
new: only in B
6 fields compared: 5 with a difference
";
    assert_eq!(differs(scr(&site, &["diff", "a", "b"])), expected);
    let args = ["diff", "a", "b", "--field", "same", "--field", "old"];
    let expected = "old: only in A\n2 fields compared: 1 with a difference\n";
    assert_eq!(differs(scr(&site, &args)), expected);
    let args = ["diff", "a", "b", "--field", "same"];
    assert_eq!(scr(&site, &args).out(), "1 field compared: no difference\n");
}

#[test]
fn what_ranks_have_of_their_own_is_compared_rank_by_rank() {
    let write = |site: &Site, ranks: usize, name: &str, last: i32| {
        site.run(&nodes(ranks), |rank| {
            let me = rank.rank as i32;
            let data = [me, if me == 2 { last } else { me }];
            let data: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
            save(rank, name, |list| {
                bytes(list, "own", I32, &[2], Place::Own, &data)
            })
            .unwrap();
        });
    };
    let (site, other) = (site(false), crate::fields::site(true));
    write(&site, 3, "ck", 2);
    write(&other, 3, "ck", 9);
    write(&other, 4, "more", 2);
    let prefix = other.prefix();
    let diff = |name| {
        scr(
            &site,
            &[
                "diff",
                "ck",
                name,
                "--other-prefix",
                prefix.to_str().unwrap(),
            ],
        )
    };
    let out = differs(diff("ck"));
    let expected = "own: 1 of 6 elements differs, first [1] of rank 2: 2 and 9; at most 7.0 absolute, 7.778e-1 relative\n";
    assert!(out.starts_with(expected), "{out}");
    let expected = "own: an array of each of 3 ranks in A, an array of each of 4 ranks in B\n";
    assert!(differs(diff("more")).starts_with(expected));
}

#[test]
fn json_says_what_the_text_says() {
    let site = site(false);
    write_whole(&site, 2, "a", &[6, 5, 4], |_, x| x);
    write_whole(&site, 3, "b", &[6, 5, 4], |number, x| match number {
        47 => x + 0.5,
        119 => f64::NAN,
        _ => x,
    });
    let json = |args: &[&str]| {
        let said = scr(&site, &[args, &["--json"]].concat());
        assert_eq!(said.err, "");
        (said.code, parsed(&said.out))
    };
    let (code, same) = json(&["diff", "a", "a"]);
    assert_eq!((code, &same["fields"]), (0, &json!([])));
    let (code, document) = json(&["diff", "a", "b"]);
    let elements = json!({
        "differ": 2,
        "all": 120,
        "first": {"rank": null, "index": [2, 1, 3], "values": ["48.0", "48.5"]},
        "greatest": {"absolute": null, "relative": null, "ulp": 1u64 << 46},
    });
    let field = json!({"name": "grid", "only_in": null, "shapes": null, "elements": elements});
    assert_eq!((code, &document["fields"]), (1, &json!([field])));
    assert_eq!(document["compared"], 1);
    // What ranks have of their own, of a Fortran program; another shape; what one of them has only; a name that
    // is not UTF-8.
    let odd = Name::new(&b"odd\xff"[..]);
    for (name, last, more) in [(Name::from("c"), 1, "old"), (odd, 2, "new")] {
        site.run(&nodes(2), |rank| {
            let extents = [2, i64::from(last)];
            let data = vec![last as u8; 8 * last as usize];
            let own = [rank.rank as u8 + last as u8, 0, 0, 0];
            checkpoint(
                &mut rank.session,
                Some(name.clone()),
                Ok((true, false)),
                &mut |list| {
                    list.set_order(Order::Column);
                    bytes(list, "own", I32, &[1, 1], Place::Own, &own)?;
                    bytes(list, "shape", I32, &extents, Place::Own, &data)?;
                    bytes(list, more, I32, &[], Place::Same, &[0; 4])
                },
            )
            .unwrap();
        });
    }
    let odd = json(&["diff", "c", "4"]).1;
    assert_eq!(odd["b"]["name_hex"], "6f6464ff");
    assert_eq!(odd["fields"][0]["elements"]["first"]["rank"], 0);
    assert_eq!(
        odd["fields"][0]["elements"]["first"]["index"],
        json!([1, 1])
    );
    assert_eq!(
        odd["fields"][1]["shapes"],
        json!(["int32[2, 1] of rank 0", "int32[2, 2] of rank 0"])
    );
    assert_eq!(odd["fields"][2]["only_in"], "A");
    let back = json(&["diff", "4", "c"]).1;
    as_documented("scr diff A B --json", &[same, document, odd, back]);
    let said = scr(&site, &["diff", "a", "none", "--json"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{}", said.err);
}

#[test]
fn what_cannot_be_compared_has_another_exit_status() {
    let site = site(false);
    write_whole(&site, 2, "a", &[9], |_, x| x);
    write_whole(&site, 1, "b", &[9], |_, x| x);
    let refused = |args: &[&str], why: &str| {
        let said = scr(&site, &[&["diff"], args].concat());
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{}", said.err);
        assert!(said.err.contains(why), "{}", said.err);
    };
    refused(&["a", "none"], "none");
    refused(
        &["a", "b", "--field", "none"],
        "neither dataset has a field \"none\"",
    );
    refused(&["a", "b", "--absolute=-1"], "not negative");
    refused(&["a"], "Usage");
    let file = site.prefix().join("b/rank_0.fields");
    let mut damaged = std::fs::read(&file).unwrap();
    damaged[64] ^= 1;
    std::fs::write(&file, damaged).unwrap();
    refused(&["a", "b"], "field \"grid\" is damaged");
}
