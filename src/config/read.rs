//! Reads parameters by name as typed values, and collects the errors.

use super::layers::Config;
use super::table;
use super::value::Typed;
use crate::{Error, Result};
use std::path::PathBuf;

/// Combines several errors into one; `None` without errors.
pub fn combine(errors: Vec<Error>) -> Option<Error> {
    let mut errors = errors.into_iter();
    let first = errors.next()?;
    let rest: String = errors.map(|error| format!("; {error}")).collect();
    match first {
        Error::Config { place, what } => Some(Error::config(place, what + &rest)),
        other => Some(other),
    }
}

/// Reads parameters by name. Collects errors, and returns harmless values in their place.
pub struct Read<'a> {
    config: &'a Config,
    errors: Vec<Error>,
}

impl<'a> Read<'a> {
    pub fn of(config: &'a Config) -> Self {
        let errors = Vec::new();
        Read { config, errors }
    }

    /// Returns `read` if all values could be converted.
    pub fn end<T>(self, read: T) -> Result<T> {
        match combine(self.errors) {
            None => Ok(read),
            Some(error) => Err(error),
        }
    }

    /// True if somebody has set the parameter.
    pub fn is_set(&self, name: &str) -> bool {
        self.config.find(name).is_some()
    }

    fn typed(&mut self, name: &str) -> Option<Typed> {
        let Some(parameter) = table::parameter(name) else {
            self.wrong(name, "is missing in the table of parameters");
            return None;
        };
        self.config.typed(parameter).unwrap_or_else(|error| {
            self.errors.push(error);
            None
        })
    }

    fn wrong(&mut self, name: &str, what: &str) {
        let place = self.config.origin(name);
        self.errors
            .push(Error::config(place, format!("{name} {what}")));
    }

    pub fn bool(&mut self, name: &str) -> bool {
        matches!(self.typed(name), Some(Typed::Bool(true)))
    }

    pub fn optional_int<N: TryFrom<i64>>(&mut self, name: &str) -> Option<N> {
        match self.typed(name) {
            Some(Typed::Int(n)) => {
                let fits = N::try_from(n).ok();
                if fits.is_none() {
                    self.wrong(name, "is out of range");
                }
                fits
            }
            _ => None,
        }
    }

    pub fn int<N: TryFrom<i64> + Default>(&mut self, name: &str) -> N {
        self.optional_int(name).unwrap_or_default()
    }

    /// A count; `None` for the word that the parameter allows in its place.
    pub fn count_or_word(&mut self, name: &str) -> Option<u64> {
        match self.typed(name) {
            Some(Typed::Text(_)) => None,
            Some(Typed::Int(n)) => Some(u64::try_from(n).unwrap_or(0)),
            _ => Some(0),
        }
    }

    pub fn size<N: TryFrom<u64> + Default>(&mut self, name: &str) -> N {
        match self.typed(name) {
            Some(Typed::Bytes(n)) => N::try_from(n).unwrap_or_else(|_| {
                self.wrong(name, "is more than this machine can address");
                N::default()
            }),
            _ => N::default(),
        }
    }

    pub fn percent(&mut self, name: &str) -> f64 {
        match self.typed(name) {
            Some(Typed::Percent(p)) => p,
            _ => 0.0,
        }
    }

    pub fn text(&mut self, name: &str) -> Option<String> {
        match self.typed(name) {
            Some(Typed::Text(text)) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// A base directory that the site allows.
    pub fn base(&mut self, name: &str) -> PathBuf {
        let Some(text) = self.text(name) else {
            return PathBuf::new();
        };
        let dir = self.config.absolute(&text);
        let place = self.config.origin(name);
        if let Err(error) = self.config.check_base(name, &place, &dir) {
            self.errors.push(error);
        }
        dir
    }

    pub fn prefix(&mut self) -> PathBuf {
        self.config.prefix().unwrap_or_else(|error| {
            self.errors.push(error);
            PathBuf::new()
        })
    }
}
