//! A [`Config`] as bytes, for the way from rank 0 to the others.
//!
//! Numbers are 32 bits, little-endian; a text is its length and its bytes; a list is its
//! count and its entries. Sender and receiver are the same program, so there is no version.

use super::layer::{Item, Layer, Value};
use super::layers::Config;
use crate::job::Environment;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

impl Config {
    /// All settings as bytes, to be broadcast. Warnings are not part of them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.cwd.as_os_str().as_bytes());
        for layer in [&self.env, &self.user, &self.call, &self.system] {
            put_layer(&mut out, layer);
        }
        let undefined = match &self.undefined {
            Some(names) => names.clone(),
            None => self.undefined_variables(),
        };
        put_count(&mut out, undefined.len());
        for name in &undefined {
            put(&mut out, name.as_bytes());
        }
        out
    }

    /// Takes over the settings of rank 0. SCR_NODE_NAME, SCR_CACHE_BASE and SCR_CNTL_BASE are
    /// this process's own where its `environment` has them, and variables are replaced from
    /// it. Where it differs otherwise from rank 0's, there is a warning; of what all share,
    /// rank 0 alone warns. The result can be changed; [`Config::freeze`] it where that was so.
    pub fn from_bytes(bytes: &[u8], environment: Environment) -> Result<Self> {
        let mut input = Input {
            all: bytes.len(),
            rest: bytes,
        };
        let mut config = Config::new();
        config.loaded = true;
        config.cwd = OsString::from_vec(input.bytes()?.to_vec()).into();
        config.env = input.layer()?;
        config.user = input.layer()?;
        config.call = input.layer()?;
        config.system = input.layer()?;
        let undefined = (0..input.count()?).map(|_| input.text());
        config.undefined = Some(undefined.collect::<Result<_>>()?);
        if !input.rest.is_empty() {
            return Err(input.bad("bytes after the end of the settings"));
        }
        config.localise(environment)?;
        Ok(config)
    }

    /// As [`Config::from_bytes`], in place of what was known; what was told already is not
    /// told again.
    pub fn take_over(&mut self, bytes: &[u8], environment: Environment) -> Result<()> {
        let next = Config::from_bytes(bytes, environment)?;
        let said = std::mem::take(&mut self.said);
        *self = Config { said, ..next };
        Ok(())
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    // Files, calls and the environment are bounded far below 4 GiB.
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn put_values(out: &mut Vec<u8>, values: &BTreeMap<String, Value>) {
    put_count(out, values.len());
    for (name, value) in values {
        for text in [name, &value.text, &value.place] {
            put(out, text.as_bytes());
        }
    }
}

fn put_layer(out: &mut Vec<u8>, layer: &Layer) {
    put_values(out, &layer.plain);
    put_count(out, layer.items.len());
    for (parent, items) in &layer.items {
        put(out, parent.as_bytes());
        put_count(out, items.len());
        for item in items.values() {
            put(out, item.key.as_bytes());
            put(out, item.place.as_bytes());
            put_values(out, &item.children);
        }
    }
}

struct Input<'a> {
    all: usize,
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn bad(&self, what: &str) -> Error {
        Error::format((self.all - self.rest.len()) as u64, what)
    }

    fn count(&mut self) -> Result<usize> {
        let Some((number, rest)) = self.rest.split_first_chunk() else {
            return Err(self.bad("settings are cut short"));
        };
        self.rest = rest;
        Ok(u32::from_le_bytes(*number) as usize)
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.count()?;
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.bad("a text is longer than the settings"));
        };
        self.rest = rest;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<String> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.bad("a text is not UTF-8"))
    }

    // Counts are not trusted with memory: a wrong one runs into the end of the input.
    fn values(&mut self) -> Result<BTreeMap<String, Value>> {
        (0..self.count()?)
            .map(|_| {
                let name = self.text()?;
                Ok((
                    name,
                    Value {
                        text: self.text()?,
                        place: self.text()?,
                    },
                ))
            })
            .collect()
    }

    fn item(&mut self) -> Result<Item> {
        Ok(Item {
            key: self.text()?,
            place: self.text()?,
            children: self.values()?,
        })
    }

    fn layer(&mut self) -> Result<Layer> {
        let plain = self.values()?;
        let mut items = BTreeMap::new();
        for _ in 0..self.count()? {
            let parent = self.text()?;
            let mut list = BTreeMap::new();
            for _ in 0..self.count()? {
                let item = self.item()?;
                list.insert(item.key.clone(), item);
            }
            items.insert(parent, list);
        }
        Ok(Layer { plain, items })
    }
}
