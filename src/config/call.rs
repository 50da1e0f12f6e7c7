//! `SCR_Config`: query, set and unset.

use super::MAX_TEXT;
use super::layer::Value;
use super::layers::{Config, malformed};
use super::scan::{Grammar, Token, scan};
use super::table;
use super::value::ValueKind;
use crate::{Error, Result};

/// The place of settings from `SCR_Config`, for messages.
const PLACE: &str = "SCR_Config";

impl Config {
    /// `SCR_Config(text)`. Local; the caller checks that all ranks pass the same text.
    ///
    /// | text | effect | result |
    /// |---|---|---|
    /// | empty | none | `None` |
    /// | `NAME` | query of what is set, defaults not counted but for `SCR_ENABLE` | value or `None` |
    /// | a name that SCR does not know | query of this process's environment, then of the rest | value or `None` |
    /// | `CKPT` | query of a multi-item parameter | its only key; `None` without one; several are an error |
    /// | `CKPT=0 TYPE` | query of a child; keys are compared with variables replaced | value or `None` |
    /// | `NAME=VALUE` | set | `None` |
    /// | `CKPT=0 TYPE=XOR SET_SIZE=` | set and unset children | `None` |
    /// | `NAME=` | unset what an earlier call has set | `None` |
    ///
    /// Blanks may surround the first `=`; a value in double quotes may hold blanks (SCR user
    /// API guide). A value that does not fit its parameter, and a text of any other form, is
    /// an error and sets nothing. After [`Config::freeze`] only queries are allowed.
    pub fn call(&mut self, text: &str) -> Result<Option<String>> {
        if text.is_empty() {
            return Ok(None);
        }
        let tokens = tokens(text)?;
        match tokens.as_slice() {
            [Token::Word(name)] => self.query(name),
            [Token::Pair(parent, key), Token::Word(child)] => self.query_child(parent, key, child),
            [Token::Empty(name)] => self.unset(name),
            [Token::Pair(name, value)] if table::multi(name).is_none() => self.set(name, value),
            [Token::Pair(parent, key), children @ ..] => self.set_item(parent, key, children),
            _ => Err(usage(format!(
                "`{text}` is neither NAME, NAME=VALUE, NAME=, PARENT=KEY CHILD nor PARENT=KEY CHILD=VALUE ..."
            ))),
        }
    }

    /// `SCR_Config(text)` if it is a query. Any other text has no effect. Local.
    pub fn ask(&self, text: &str) -> Result<Option<String>> {
        match tokens(text).unwrap_or_default().as_slice() {
            [Token::Word(name)] => self.query(name),
            [Token::Pair(parent, key), Token::Word(child)] => self.query_child(parent, key, child),
            _ => Ok(None),
        }
    }

    fn query(&self, name: &str) -> Result<Option<String>> {
        let known = table::parameter(name).is_some() || table::multi(name).is_some();
        let variable = self.environment.get(name).filter(|text| !text.is_empty());
        if let Some(text) = variable.filter(|_| !known) {
            let value = Value {
                text: text.into(),
                place: "environment".into(),
            };
            return self.expand(name, &value).map(Some);
        }
        let mut items = self.items(name);
        match (items.next(), items.next()) {
            (None, _) => {
                // A program needs this parameter to know why SCR_Init failed.
                let default = table::parameter(name).filter(|_| name == "SCR_ENABLE");
                let found = self.get(name)?;
                Ok(found.or_else(|| default.map(|p| p.default.to_string())))
            }
            (Some(only), None) => {
                let key = Value {
                    text: only.key.clone(),
                    place: only.place.clone(),
                };
                self.expand(name, &key).map(Some)
            }
            (Some(first), Some(_)) => Err(usage(format!(
                "{name} has several items; ask for a child of one of them, as in `{name}={} CHILD`",
                first.key
            ))),
        }
    }

    fn query_child(&self, parent: &str, key: &str, child: &str) -> Result<Option<String>> {
        takes_children(parent)?;
        let expand = |text: &str, place: &str| {
            let value = Value {
                text: text.into(),
                place: place.into(),
            };
            self.expand(parent, &value)
        };
        let wanted = expand(key, PLACE)?;
        for item in self.items(parent) {
            if item.key == key || expand(&item.key, &item.place)? == wanted {
                let value = item.children.get(child);
                let name = format!("{parent}={key} {child}");
                return value.map(|value| self.expand(&name, value)).transpose();
            }
        }
        Ok(None)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<Option<String>> {
        self.writable()?;
        if let Some(parameter) = table::parameter(name) {
            check(name, value, &parameter.kind)?;
        }
        self.call.set(name, value, PLACE);
        self.touch(name);
        Ok(None)
    }

    fn unset(&mut self, name: &str) -> Result<Option<String>> {
        self.writable()?;
        self.call.plain.remove(name);
        self.call.items.remove(name);
        self.touch(name);
        Ok(None)
    }

    fn set_item(&mut self, parent: &str, key: &str, tokens: &[Token]) -> Result<Option<String>> {
        self.writable()?;
        takes_children(parent)?;
        let known = table::multi(parent).map_or(&[][..], |multi| multi.children);
        let (mut set, mut unset) = (Vec::new(), Vec::new());
        for token in tokens {
            match token {
                Token::Pair(child, value) => {
                    if let Some(known) = known.iter().find(|k| k.name == child) {
                        check(&format!("{parent}={key} {child}"), value, &known.kind)?;
                    }
                    set.push((child.as_str(), value.as_str()));
                }
                Token::Empty(child) => unset.push(child.as_str()),
                Token::Word(word) => {
                    return Err(usage(format!(
                        "{word} has no `=` among items that have one"
                    )));
                }
            }
        }
        // Unsetting children must not create the item.
        if !set.is_empty() || tokens.is_empty() {
            self.call.add(parent, key, PLACE, &set);
        }
        if let Some(item) = self
            .call
            .items
            .get_mut(parent)
            .and_then(|items| items.get_mut(key))
        {
            item.children
                .retain(|child, _| !unset.contains(&child.as_str()));
        }
        Ok(None)
    }

    fn writable(&self) -> Result<()> {
        if self.frozen {
            Err(Error::State {
                call: PLACE,
                state: "to set or unset a parameter after SCR_Init",
                remedy: "call it before SCR_Init",
            })
        } else {
            Ok(())
        }
    }

    fn touch(&mut self, name: &str) {
        if matches!(name, "SCR_PREFIX" | "SCR_CONF_FILE") {
            self.loaded = false;
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>> {
    if text.len() > MAX_TEXT {
        return Err(usage(format!("the text is longer than {MAX_TEXT} bytes")));
    }
    // Bytes from C that are not UTF-8 arrive as U+FFFD, and could name another directory.
    if text.contains(char::REPLACEMENT_CHARACTER) {
        return Err(usage(format!("`{text}` is not UTF-8 text")));
    }
    scan(text, Grammar::Call).map_err(|what| usage(format!("`{text}` {what}")))
}

fn takes_children(parent: &str) -> Result<()> {
    match table::parameter(parent) {
        None => Ok(()),
        Some(_) => Err(usage(format!(
            "{parent} has no children; call SCR_Config once for each parameter, \
             and put a value that holds blanks in double quotes"
        ))),
    }
}

/// Checks a value. A value with variables can only be checked when it is read.
fn check(name: &str, text: &str, kind: &ValueKind) -> Result<()> {
    if text.contains('$') || kind.parse(text).is_some() {
        return Ok(());
    }
    let value = Value {
        text: text.into(),
        place: PLACE.into(),
    };
    Err(malformed(name, &value, text, kind))
}

fn usage(what: String) -> Error {
    Error::usage(PLACE, what)
}
