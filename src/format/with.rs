//! Forms of values that SCR's files use and serde has no word for. For use as
//! `#[serde(with = "...")]` or `#[serde(deserialize_with = "...")]`.

use super::Name;
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// For `skip_serializing_if`: flags that are there only when true.
pub fn is_false(flag: &bool) -> bool {
    !flag
}

/// True for 0, which is left out of a file.
pub fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Several values of one key, in the order of [`Name`], each counted once:
/// `LOCATION: {CACHE: {}, PFS: {}}`.
pub mod set {
    use super::*;

    /// Writes any collection of names.
    pub fn serialize<'a, C, S: Serializer>(values: &'a C, s: S) -> Result<S::Ok, S::Error>
    where
        &'a C: IntoIterator<Item = &'a Name>,
    {
        s.collect_map(values.into_iter().map(|value| (value, ())))
    }

    /// Reads any collection of names.
    pub fn deserialize<'de, C, D: Deserializer<'de>>(d: D) -> Result<C, D::Error>
    where
        C: FromIterator<Name>,
    {
        let values = BTreeMap::<Name, IgnoredAny>::deserialize(d)?;
        Ok(values.into_keys().collect())
    }
}

/// Reads a time that should be one value. A file of SCR v3.1.0 may hold several, one per event: the
/// last counts. (Times are written so that they sort.)
pub fn latest<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Name>, D::Error> {
    let values = BTreeMap::<Name, IgnoredAny>::deserialize(d)?;
    Ok(values.into_keys().next_back())
}

/// A CRC32 as `0x` and eight hexadecimal digits, always as wide, so that the size of a
/// record does not depend on it. Fewer digits are read too.
pub mod crc {
    use super::*;

    /// The value as text.
    pub fn text(crc: u32) -> String {
        format!("{crc:#010x}")
    }

    /// Writes the value, if there is one.
    pub fn serialize<S: Serializer>(crc: &Option<u32>, s: S) -> Result<S::Ok, S::Error> {
        crc.map(text).serialize(s)
    }

    /// Reads a value.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u32>, D::Error> {
        let name = Name::deserialize(d)?;
        let digits = name.as_str().and_then(|text| text.strip_prefix("0x"));
        let crc = digits
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match crc {
            Some(crc) => Ok(Some(crc)),
            None => {
                let name = crate::format::print::escaped(&name);
                Err(D::Error::custom(format_args!("`{name}` is not a CRC32")))
            }
        }
    }
}

/// A number with six decimals, as SCR's transfer file has them. Anything but a finite positive number is read
/// as 0.
pub mod decimals {
    use super::*;

    /// Writes it.
    pub fn serialize<S: Serializer>(value: &f64, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{value:.6}"))
    }

    /// Reads it.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
        let number: Option<f64> = Name::deserialize(d)?.number();
        Ok(number.filter(|n| n.is_finite() && *n > 0.0).unwrap_or(0.0))
    }
}

/// The number in a name if it can be an id or a rank: 0 to 2^31 - 1, since both are C `int` in SCR
/// v3.1.0. So the number after the highest id in a file is always a valid id again.
pub fn id(name: &Name) -> Option<u64> {
    name.number::<i32>().and_then(|id| u64::try_from(id).ok())
}

/// Reads a map whose keys are ids or ranks. Keys that are not ids, such as the `-1` that SCR v3.1.0
/// leaves in an index, are passed over and so are gone when the file is written again.
pub fn ids<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    d: D,
) -> Result<BTreeMap<u64, T>, D::Error> {
    struct IdsVisitor<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for IdsVisitor<T> {
        type Value = BTreeMap<u64, T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("entries by id")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = BTreeMap::new();
            while let Some(key) = map.next_key::<Name>()? {
                match id(&key) {
                    Some(id) => drop(entries.insert(id, map.next_value()?)),
                    None => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            Ok(entries)
        }
    }
    d.deserialize_map(IdsVisitor(PhantomData))
}

#[cfg(test)]
mod tests {
    use crate::format::{Tree, from_tree, to_tree};
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Checked {
        #[serde(default, with = "super::crc")]
        crc: Option<u32>,
    }

    #[test]
    fn checksums_have_one_width_and_are_read_at_any() {
        for (text, crc) in [
            ("0x00000000", 0),
            ("0x0000abcd", 0xabcd),
            ("0xffffffff", u32::MAX),
        ] {
            let mut tree = Tree::new();
            tree.set_value("crc", text);
            assert_eq!(to_tree(&Checked { crc: Some(crc) }), Ok(tree.clone()));
            assert_eq!(from_tree(&tree), Ok(Checked { crc: Some(crc) }));
        }
        let read = |text: &str| from_tree::<Checked>(Tree::new().set_value("crc", text));
        assert_eq!(read("0xABCD"), Ok(Checked { crc: Some(0xabcd) }));
        assert_eq!(from_tree(&Tree::new()), Ok(Checked { crc: None }));
        for bad in ["", "0x", "12", "0x1ffffffff", "0x+1", "0x-1", "0xg"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
