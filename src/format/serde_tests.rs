//! `ser` and `de` together: all kinds of values, there and back.

use super::de::record;
use super::{Name, Tree, encode, encode_record, from_message, from_tree, to_message, to_tree};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    Plain,
    Other,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Marker;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Meters(f64);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct All {
    small: i8,
    large: u64,
    text: String,
    letter: char,
    flag: bool,
    length: Meters,
    name: Name,
    absent: Option<u32>,
    present: Option<Vec<u32>>,
    list: Vec<i32>,
    sparse: Vec<Option<u8>>,
    lists: Vec<Vec<String>>,
    pair: (i64, Name),
    map: BTreeMap<i16, Option<bool>>,
    deep: BTreeMap<Name, BTreeMap<char, ()>>,
    kinds: Vec<Kind>,
    by_kind: BTreeMap<String, Kind>,
    marker: Marker,
}

fn all() -> All {
    let leaf = BTreeMap::from([('x', ()), (' ', ())]);
    All {
        small: -128,
        large: u64::MAX,
        text: String::new(),
        letter: 'é',
        flag: true,
        length: Meters(-0.1),
        name: Name::new(&b"\xff/\x01"[..]),
        absent: None,
        present: Some(vec![]),
        list: (0..12).map(|n| 5 - n % 3).collect(),
        sparse: vec![None, Some(7), None],
        lists: vec![vec![], vec!["b".into(), "a".into(), "b".into()]],
        pair: (i64::MIN, "second".into()),
        map: [(-3, Some(true)), (2, None), (10, Some(false))].into(),
        deep: [("".into(), BTreeMap::new()), ("y".into(), leaf)].into(),
        kinds: vec![Kind::Other, Kind::Plain, Kind::Other],
        by_kind: [("k".into(), Kind::Plain)].into(),
        marker: Marker,
    }
}

#[test]
fn all_kinds_of_values_come_back() {
    assert_eq!(from_message::<All>(&to_message(&all()).unwrap()), Ok(all()));
    assert_eq!(
        from_message::<Option<u8>>(&to_message(&None::<u8>).unwrap()),
        Ok(None)
    );
    assert_eq!(from_message::<u64>(&to_message(&7u64).unwrap()), Ok(7));
    let pair = (vec![1u64, 1, 0], Kind::Plain);
    assert_eq!(
        from_message::<(Vec<u64>, Kind)>(&to_message(&pair).unwrap()),
        Ok(pair)
    );
}

#[test]
fn fields_in_any_order_are_written_in_the_order_of_their_names() {
    let tree = to_tree(&all()).unwrap();
    assert_eq!(encode_record(&all()), Ok(encode(&tree)));
    #[derive(Serialize)]
    struct Falling {
        b: u8,
        a: u8,
    }
    let falling = Falling { b: 2, a: 1 };
    let tree = to_tree(&falling).unwrap();
    assert_eq!(encode_record(&falling), Ok(encode(&tree)));
}

#[test]
fn what_has_no_form_is_refused() {
    assert!(to_tree("a\0b").is_err());
    assert!(to_tree(&BTreeMap::from([(vec![1, 2], 3)])).is_err());
    #[derive(Debug, Serialize, Deserialize)]
    enum Data {
        One(u8),
        Two(u8, u8),
        Fields { a: u8 },
    }
    for data in [Data::One(1), Data::Two(1, 2), Data::Fields { a: 1 }] {
        let text = to_tree(&data).unwrap_err().to_string();
        assert!(
            text.contains("has data, for which there is no form"),
            "{text}"
        );
    }
    let one = Tree::of_elements(vec![("One".into(), Tree::of_value("1"))]);
    assert!(fault::<Data>(&one).contains("unit variant"));
}

#[test]
fn a_message_has_nothing_after_it() {
    let mut message = to_message(&7u64).unwrap();
    message.push(0);
    assert!(from_message::<u64>(&message).is_err());
    assert!(from_message::<u64>(&[]).is_err());
}

#[test]
fn unknown_keys_are_passed_over_whatever_they_are() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct One {
        one: u8,
    }
    let mut tree = to_tree(&all()).unwrap();
    tree.set_value("one", "1")
        .set(Name::new(&b"\xff"[..]), Tree::of_value("x"));
    assert_eq!(from_tree(&tree), Ok(One { one: 1 }));
}

fn fault<T: DeserializeOwned + std::fmt::Debug>(tree: &Tree) -> String {
    record::<T>(tree).unwrap_err().to_string()
}

#[test]
fn errors_name_the_keys_that_lead_to_them() {
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only reading it matters")]
    struct Outer {
        map: BTreeMap<u8, Vec<Inner>>,
    }
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only reading it matters")]
    struct Inner {
        #[serde(rename = "CKPT")]
        ckpt: u8,
    }
    let tree = |key: &str, index: &str, ckpt: Tree| {
        let mut inner = Tree::new();
        inner.set("CKPT", ckpt);
        let list = Tree::of_elements(vec![(index.into(), inner)]);
        let map = Tree::of_elements(vec![(key.into(), list)]);
        Tree::of_elements(vec![("map".into(), map)])
    };
    let two = Tree::of_elements(vec![("1".into(), Tree::new()), ("2".into(), Tree::new())]);
    let texts = [
        (
            tree("3", "0", Tree::of_value("abc")),
            "map/3/0/CKPT: `abc` is not a number",
        ),
        (
            tree("3", "0", Tree::of_value("256")),
            "map/3/0/CKPT: `256` is not in range",
        ),
        (
            tree("3", "0", Tree::of_value("-1")),
            "map/3/0/CKPT: `-1` is not in range",
        ),
        (
            tree("3", "0", Tree::new()),
            "map/3/0/CKPT: there is no value",
        ),
        (
            tree("3", "0", two),
            "map/3/0/CKPT: there are 2 values in place of one",
        ),
        (
            tree("3", "1", Tree::of_value("1")),
            "map/3: `1` stands where index 0 is due",
        ),
        (
            tree("x", "0", Tree::of_value("1")),
            "map: `x` is not a number",
        ),
        (Tree::new(), "there is no map"),
    ];
    for (tree, text) in texts {
        assert_eq!(fault::<Outer>(&tree), text);
    }
    assert_eq!(
        fault::<bool>(&Tree::of_value("2")),
        "`2` is neither 0 nor 1"
    );
    assert_eq!(
        fault::<char>(&Tree::of_value("xy")),
        "`xy` is not one letter"
    );
    let bytes = Tree::of_value(Name::new(&b"\xff"[..]));
    assert_eq!(fault::<String>(&bytes), "`\\xff` is not UTF-8");
    assert!(fault::<Kind>(&Tree::of_value("Third")).contains("Third"));
}
