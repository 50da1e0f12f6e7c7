//! What one source of settings says, unexpanded.

use super::scan::Token;
use super::table;
use std::collections::BTreeMap;

/// A value as it was written, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The text, variables not replaced.
    pub text: String,
    /// "environment", "FILE:LINE", "SCR_Config" or "default".
    pub place: String,
}

/// One item of a multi-item parameter: `CKPT=0 TYPE=XOR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The value of the parent ("0"), variables not replaced.
    pub key: String,
    /// Where the item first appeared.
    pub place: String,
    /// The children.
    pub children: BTreeMap<String, Value>,
}

/// One source. Items keep the order in which they appeared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Layer {
    pub plain: BTreeMap<String, Value>,
    pub items: BTreeMap<String, Vec<Item>>,
}

impl Layer {
    pub fn set(&mut self, name: &str, text: &str, place: &str) {
        let value = Value {
            text: text.into(),
            place: place.into(),
        };
        self.plain.insert(name.into(), value);
    }

    /// Adds an item, or adds to the one with the same key; a child replaces its earlier
    /// value (v3.1.0 keeps both and uses the older).
    pub fn add(&mut self, parent: &str, key: &str, place: &str, children: &[(&str, &str)]) {
        let items = self.items.entry(parent.into()).or_default();
        if !items.iter().any(|i| i.key == key) {
            let children = BTreeMap::new();
            items.push(Item {
                key: key.into(),
                place: place.into(),
                children,
            });
        }
        for item in items.iter_mut().filter(|i| i.key == key) {
            let values = children.iter().map(|(child, text)| {
                let value = Value {
                    text: text.to_string(),
                    place: place.into(),
                };
                (child.to_string(), value)
            });
            item.children.extend(values);
        }
    }

    /// Takes over one line of a file. `Err` says why the line has no effect, or which rest
    /// of it has none.
    pub fn take(&mut self, tokens: &[Token], place: &str) -> Result<(), String> {
        let (first, children) = match tokens {
            [] => return Ok(()),
            [first, children @ ..] => (first, children),
        };
        let (name, value) = pair(first)?;
        let plain = match (table::parameter(name), table::multi(name)) {
            (Some(_), _) => true,
            (None, Some(_)) => false,
            (None, None) => children.is_empty(),
        };
        if plain {
            self.set(name, value, place);
            return match children.first() {
                None => Ok(()),
                Some(_) => Err(format!(
                    "what follows {name} is ignored; put each parameter on a line of its own"
                )),
            };
        }
        let children = children.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
        self.add(name, value, place, &children);
        Ok(())
    }

    /// All values, with the name that a message gives them.
    pub fn values(&self) -> impl Iterator<Item = (String, &Value)> {
        let plain = self.plain.iter().map(|(name, value)| (name.clone(), value));
        let items = self.items.iter().flat_map(|(parent, items)| {
            let children = items
                .iter()
                .flat_map(|i| i.children.iter().map(move |c| (i, c)));
            children.map(move |(i, (child, value))| (format!("{parent}={} {child}", i.key), value))
        });
        plain.chain(items)
    }
}

fn pair(token: &Token) -> Result<(&str, &str), String> {
    match token {
        Token::Pair(key, value) => Ok((key, value)),
        Token::Word(key) => Err(format!("{key} has no `=`; the line is ignored")),
        Token::Empty(key) => Err(format!("{key} has no value; the line is ignored")),
    }
}
