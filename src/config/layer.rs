//! The settings of one source, before variables are replaced.

use super::scan::Token;
use super::table;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A value as it was written, and where it was set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub struct Value {
    /// The text, variables not replaced.
    pub text: String,
    /// "environment", "FILE:LINE", "SCR_Config" or "default".
    pub place: String,
}

/// One item of a multi-item parameter: `CKPT=0 TYPE=XOR`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub struct ConfigItem {
    /// The value of the parent ("0"), variables not replaced.
    pub key: String,
    /// The place where the item first appeared.
    pub place: String,
    /// The children.
    pub children: BTreeMap<String, Value>,
}

/// Items of one multi-item parameter by key.
pub type Items = BTreeMap<String, ConfigItem>;

/// The settings of one source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(super) struct Layer {
    pub plain: BTreeMap<String, Value>,
    pub items: BTreeMap<String, Items>,
}

impl Layer {
    pub fn set(&mut self, name: &str, text: &str, place: &str) {
        let value = Value {
            text: text.into(),
            place: place.into(),
        };
        self.plain.insert(name.into(), value);
    }

    /// Adds an item, or adds children to the item with the same key. A child replaces its earlier
    /// value; SCR v3.1.0 keeps both and uses the older.
    pub fn add(&mut self, parent: &str, key: &str, place: &str, children: &[(&str, &str)]) {
        let items = self.items.entry(parent.into()).or_default();
        let item = items.entry(key.into()).or_insert_with(|| ConfigItem {
            key: key.into(),
            place: place.into(),
            children: BTreeMap::new(),
        });
        for (child, text) in children {
            let value = Value {
                text: text.to_string(),
                place: place.into(),
            };
            item.children.insert(child.to_string(), value);
        }
    }

    /// Adds the settings of one line of a file. `Err` says why the line, or the rest of it, has no
    /// effect.
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

    /// All texts that may contain variables: name for messages, text, and where it was set.
    pub fn texts(&self) -> impl Iterator<Item = (String, &str, &str)> {
        let plain = self
            .plain
            .iter()
            .map(|(name, v)| (name.clone(), &*v.text, &*v.place));
        let items = || {
            let all = self.items.iter();
            all.flat_map(|(parent, items)| items.values().map(move |item| (parent, item)))
        };
        let keys = items().map(|(parent, i)| (parent.clone(), &*i.key, &*i.place));
        let children = items().flat_map(|(parent, i)| {
            let name = move |child: &str| format!("{parent}={} {child}", i.key);
            i.children
                .iter()
                .map(move |(child, v)| (name(child), &*v.text, &*v.place))
        });
        plain.chain(keys).chain(children)
    }
}

fn pair(token: &Token) -> Result<(&str, &str), String> {
    match token {
        Token::Pair(key, value) => Ok((key, value)),
        Token::Word(key) => Err(format!("{key} has no `=`; the line is ignored")),
        Token::Empty(key) => Err(format!("{key} has no value; the line is ignored")),
    }
}
