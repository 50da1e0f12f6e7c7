//! Makes [`Descriptors`] from [`Config`] and [`Settings`], without input or output.

use super::MAX_DESCRIPTORS;
use super::descriptors::{Descriptors, SchemeDescriptor, StoreDescriptor, View};
use super::layer::{ConfigItem, Value};
use super::layers::Config;
use super::read::combine;
use super::settings::{FlushType, Settings};
use super::table;
use super::value::Typed;
use crate::format::scheme::{Failures, Redundancy, Scheme};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Makes the descriptors of a process on node `host`. Errors name the line, and are collected into
/// one. Local; processes on other nodes may get other descriptors.
pub fn descriptors(config: &Config, settings: &Settings, host: &str) -> Result<Descriptors> {
    let mut make = Make {
        config,
        settings,
        errors: Vec::new(),
        warnings: Vec::new(),
    };
    let groups = make.groups(host);
    let mut stores = make.stores();
    let control = make.add_store(&mut stores, "SCR_CNTL_BASE", &settings.cntl_base, 0);
    let schemes = match Scheme::from_word(&settings.copy_type) {
        Some(scheme) => make.default_scheme(scheme, &stores),
        None => make.schemes(&stores),
    };
    make.check_groups(&groups, &stores, &schemes);
    make.check_counts(&mut stores, &schemes);
    make.check_schemes(&schemes);
    let warnings = make.warnings;
    match combine(make.errors) {
        None => Ok(Descriptors {
            groups,
            stores,
            control,
            schemes,
            warnings,
        }),
        Some(error) => Err(error),
    }
}

/// The descriptors in the making. Errors and warnings are collected; wrong lines are left out.
struct Make<'a> {
    config: &'a Config,
    settings: &'a Settings,
    errors: Vec<Error>,
    warnings: Vec<String>,
}

impl<'a> Make<'a> {
    fn fail(&mut self, place: &str, what: String) {
        self.errors.push(Error::config(place, what));
    }

    fn expand(&mut self, name: &str, text: &str, place: &str) -> String {
        let value = Value {
            text: text.into(),
            place: place.into(),
        };
        self.config.expand(name, &value).unwrap_or_else(|error| {
            self.errors.push(error);
            String::new()
        })
    }

    /// The items of STORE or CKPT, at most [`MAX_DESCRIPTORS`].
    fn items(&mut self, parent: &str) -> Vec<&'a ConfigItem> {
        let items = self.config.items(parent);
        if items.len() > MAX_DESCRIPTORS {
            let what = format!("there are more than {MAX_DESCRIPTORS} {parent} lines");
            self.errors.push(Error::config("configuration", what));
        }
        items.take(MAX_DESCRIPTORS).collect()
    }

    fn groups(&mut self, host: &str) -> BTreeMap<String, String> {
        let mut groups = BTreeMap::new();
        for item in self.config.items("GROUPS") {
            if self.expand("GROUPS", &item.key, &item.place) != host {
                continue;
            }
            for (name, value) in &item.children {
                let value =
                    self.expand(&format!("GROUPS={host} {name}"), &value.text, &value.place);
                groups.insert(name.to_ascii_uppercase(), value);
            }
        }
        for (name, value) in [("NODE", host), ("WORLD", "WORLD")] {
            if groups.insert(name.into(), value.into()).is_some() {
                let what = format!("GROUPS={host}: {name} is built in; its value is ignored");
                self.warnings.push(what);
            }
        }
        groups
    }

    fn stores(&mut self) -> Vec<StoreDescriptor> {
        let mut stores: Vec<StoreDescriptor> = Vec::new();
        for item in self.items("STORE") {
            let place = &item.place;
            let key = self.expand("STORE", &item.key, place);
            let dir = self.config.absolute(&key);
            if key.is_empty() {
                let what = "STORE names no directory once its variables are replaced";
                self.fail(place, what.into());
            } else if stores.iter().any(|s| s.dir == dir) {
                self.fail(
                    place,
                    format!("STORE={key} is configured twice; keep one line"),
                );
            } else {
                let settings = self.settings;
                let mut read = ChildReader {
                    make: self,
                    parent: "STORE",
                    item,
                };
                let enabled = read.bool("ENABLED").unwrap_or(true);
                if enabled && let Err(error) = read.make.config.check_base("STORE", place, &dir) {
                    read.make.errors.push(error);
                }
                let view = match read.word("VIEW").as_deref() {
                    Some("GLOBAL") => View::Global,
                    _ => View::Private,
                };
                let group = read.word("GROUP").unwrap_or("NODE".into());
                let group = match (view, group.to_ascii_uppercase()) {
                    // A directory that all nodes share is not in any of them.
                    (View::Global, group) if group == "NODE" => "WORLD".into(),
                    (_, group) => group,
                };
                stores.push(StoreDescriptor {
                    index: stores.len(),
                    place: place.clone(),
                    dir,
                    group,
                    count: read.number("COUNT").unwrap_or(settings.cache_size),
                    enabled,
                    mkdir: read.bool("MKDIR").unwrap_or(true),
                    view,
                    flush: match read.word("FLUSH") {
                        Some(word) => FlushType::from_word(&word),
                        None => settings.flush_type,
                    },
                });
            }
        }
        let (base, count) = (&self.settings.cache_base, self.settings.cache_size);
        self.add_store(&mut stores, "SCR_CACHE_BASE", base, count);
        stores
    }

    /// Position of the store at `dir`, the value of parameter `name`. Adds the store if it is not
    /// configured.
    fn add_store(
        &self,
        stores: &mut Vec<StoreDescriptor>,
        name: &str,
        dir: &Path,
        count: u64,
    ) -> usize {
        if let Some(found) = stores.iter().find(|s| s.dir == dir) {
            return found.index;
        }
        let index = stores.len();
        stores.push(StoreDescriptor {
            index,
            place: self.config.origin(name),
            dir: dir.to_path_buf(),
            group: "NODE".into(),
            count,
            enabled: true,
            mkdir: true,
            view: View::Private,
            flush: self.settings.flush_type,
        });
        index
    }

    fn default_scheme(
        &mut self,
        scheme: Scheme,
        stores: &[StoreDescriptor],
    ) -> Vec<SchemeDescriptor> {
        let place = self.config.origin("SCR_COPY_TYPE");
        if let Some(item) = self.config.items("CKPT").next() {
            self.warnings.push(format!(
                "{}: CKPT lines have no effect while SCR_COPY_TYPE is {}; set SCR_COPY_TYPE=FILE to use them",
                item.place,
                scheme.word()
            ));
        }
        let item = ConfigItem {
            key: "0".into(),
            place,
            children: BTreeMap::new(),
        };
        self.scheme("SCR_COPY_TYPE", &item, scheme, stores)
            .into_iter()
            .collect()
    }

    fn schemes(&mut self, stores: &[StoreDescriptor]) -> Vec<SchemeDescriptor> {
        let mut items = self.items("CKPT");
        // Sorted by number; keys that are not numbers come last, in the order of the text.
        items.sort_by_key(|item| item.key.parse().unwrap_or(u64::MAX));
        let mut schemes = Vec::new();
        for item in items {
            let name = format!("CKPT={}", item.key);
            if let Some(made) = self.scheme(&name, item, Scheme::Xor, stores) {
                schemes.push(SchemeDescriptor {
                    index: schemes.len(),
                    ..made
                });
            }
        }
        schemes
    }

    /// Makes one descriptor; `name` is its name in messages. `None` after an error.
    fn scheme(
        &mut self,
        name: &str,
        item: &ConfigItem,
        default: Scheme,
        stores: &[StoreDescriptor],
    ) -> Option<SchemeDescriptor> {
        let settings = self.settings;
        let mut read = ChildReader {
            make: self,
            parent: "CKPT",
            item,
        };
        let dir = read.path("STORE").unwrap_or(settings.cache_base.clone());
        let mut made = SchemeDescriptor {
            index: 0,
            place: item.place.clone(),
            enabled: read.bool("ENABLED").unwrap_or(true),
            interval: read.number("INTERVAL").unwrap_or(1),
            output: read.bool("OUTPUT").unwrap_or(false),
            bypass: read.bool("BYPASS").unwrap_or(settings.cache_bypass),
            store: 0,
            group: read
                .word("GROUP")
                .unwrap_or(settings.group.clone())
                .to_ascii_uppercase(),
            scheme: read
                .word("TYPE")
                .and_then(|w| Scheme::from_word(&w))
                .unwrap_or(default),
            set_size: read.number("SET_SIZE").unwrap_or(settings.set_size),
            set_failures: 0,
        };
        let asked = read.make.config.origin("SCR_SET_FAILURES") != "default";
        let default = match made.scheme.redundancy().map(|r| r.failures) {
            Some(Failures::Asked { unset, .. }) => unset.filter(|_| !asked),
            Some(Failures::Fixed(_)) | None => None,
        };
        let default = default.unwrap_or(settings.set_failures);
        made.set_failures = read.number("SET_FAILURES").unwrap_or(default);
        if !made.enabled {
            // A disabled line is not used, so its values are not checked.
            return Some(made);
        }
        match enabled_store(stores, &dir) {
            Ok(store) => made.store = store,
            Err(why) => {
                self.fail(&item.place, format!("{name} uses STORE={why}"));
                return None;
            }
        }
        self.fit_sets(name, made)
    }

    /// Checks set size and failures against the scheme.
    fn fit_sets(&mut self, name: &str, mut made: SchemeDescriptor) -> Option<SchemeDescriptor> {
        let (size, failures) = (made.set_size, made.set_failures);
        let scheme = made.scheme.word();
        let Some(Redundancy { failures: may, .. }) = made.scheme.redundancy() else {
            made.set_failures = 0;
            return Some(made);
        };
        let least = match may {
            Failures::Fixed(count) => count.saturating_add(1),
            Failures::Asked { .. } => 2,
        };
        let mut wrong = None;
        match may {
            _ if size < least => {
                wrong = Some(format!("needs a set size of at least {least}, not {size}"));
            }
            Failures::Fixed(count) => made.set_failures = count,
            // As in v3.1.0.
            Failures::Asked { .. } if !(1..=size).contains(&failures) => {
                made.enabled = false;
                self.warnings.push(format!(
                    "{}: {name} is not used: {scheme} needs SET_FAILURES from 1 to the set size, \
                     {size}, not {failures}",
                    made.place
                ));
            }
            Failures::Asked {
                with_one: Some(other),
                ..
            } if failures == 1 => made.scheme = other,
            Failures::Asked {
                together: Some(most),
                ..
            } if size.saturating_add(failures) > most => {
                wrong = Some(format!(
                    "needs set size and failures of at most {most} together, not {size} and {failures}"
                ));
            }
            Failures::Asked { .. } => {}
        }
        match wrong {
            None => Some(made),
            Some(what) => {
                self.fail(&made.place, format!("{name}: {scheme} {what}"));
                None
            }
        }
    }

    /// Checks that every checkpoint has a scheme.
    fn check_schemes(&mut self, schemes: &[SchemeDescriptor]) {
        if !self.errors.is_empty() || schemes.iter().any(|s| s.enabled && s.interval == 1) {
            return;
        }
        // After an error no warnings are shown, so the error says why a line is not used.
        let reasons: String = self.warnings.iter().map(|w| format!("\n{w}")).collect();
        let word = &self.settings.copy_type;
        let what = match Scheme::from_word(word) {
            Some(_) => format!("SCR_COPY_TYPE={word} cannot be used as it is set up"),
            None => format!(
                "SCR_COPY_TYPE={word} is not {}, so it asks for CKPT \
                 lines, but none that is enabled has INTERVAL=1; set one of these words, or add a \
                 line such as `CKPT=0 INTERVAL=1 TYPE=XOR`",
                Scheme::list_words()
            ),
        };
        let place = self.config.origin("SCR_COPY_TYPE");
        self.fail(&place, what + &reasons);
    }

    fn check_groups(
        &mut self,
        groups: &BTreeMap<String, String>,
        stores: &[StoreDescriptor],
        schemes: &[SchemeDescriptor],
    ) {
        let of_stores = stores
            .iter()
            .filter(|s| s.enabled)
            .map(|s| (&s.place, &s.group));
        let of_schemes = schemes
            .iter()
            .filter(|s| s.enabled)
            .map(|s| (&s.place, &s.group));
        let host = groups.get("NODE").map_or("", String::as_str);
        let known = || {
            groups
                .keys()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        };
        for (place, group) in of_stores.chain(of_schemes) {
            if !groups.contains_key(group) {
                let what = format!(
                    "GROUP={group} is not known on node {host}, which has {}; \
                     add `GROUPS={host} {group}=...`",
                    known()
                );
                self.fail(place, what);
            }
        }
    }

    /// Checks that each store that is used may hold at least one dataset.
    fn check_counts(&mut self, stores: &mut [StoreDescriptor], schemes: &[SchemeDescriptor]) {
        let used = |s: &StoreDescriptor| schemes.iter().any(|d| d.enabled && d.store == s.index);
        for store in stores.iter_mut().filter(|s| s.count == 0 && used(s)) {
            store.count = 1;
            self.warnings.push(format!(
                "{}: STORE={} is to keep no dataset but is used by a scheme; it keeps 1",
                store.place,
                store.dir.display()
            ));
        }
    }
}

/// Reads the children of an item.
struct ChildReader<'m, 'a, 'i> {
    make: &'m mut Make<'a>,
    parent: &'static str,
    item: &'i ConfigItem,
}

impl ChildReader<'_, '_, '_> {
    fn typed(&mut self, child: &str) -> Option<Typed> {
        let value = self.item.children.get(child)?;
        let name = format!("{}={} {child}", self.parent, self.item.key);
        let row = table::multi(self.parent)?
            .children
            .iter()
            .find(|c| c.name == child)?;
        if self.make.config.is_child_of_site(self.parent, row.default) {
            return None;
        }
        match self.make.config.convert(&name, value, &row.kind) {
            Ok(typed) => Some(typed),
            Err(error) => {
                self.make.errors.push(error);
                None
            }
        }
    }

    fn bool(&mut self, child: &str) -> Option<bool> {
        match self.typed(child)? {
            Typed::Bool(value) => Some(value),
            _ => None,
        }
    }

    fn number<N: TryFrom<i64>>(&mut self, child: &str) -> Option<N> {
        match self.typed(child)? {
            Typed::Int(value) => N::try_from(value).ok(),
            _ => None,
        }
    }

    fn word(&mut self, child: &str) -> Option<String> {
        match self.typed(child)? {
            Typed::Text(value) => Some(value),
            _ => None,
        }
    }

    fn path(&mut self, child: &str) -> Option<PathBuf> {
        self.word(child)
            .map(|path| self.make.config.absolute(&path))
    }
}

/// The index of the store in this directory. The error is the reason why it cannot be used.
fn enabled_store(stores: &[StoreDescriptor], dir: &Path) -> std::result::Result<usize, String> {
    let at = dir.display();
    match stores.iter().find(|store| store.dir == dir) {
        Some(store) if store.enabled => Ok(store.index),
        Some(_) => Err(format!(
            "{at}, which is not enabled; set ENABLED=1 there, or ENABLED=0 here"
        )),
        None => {
            let known: Vec<String> = stores.iter().map(|s| s.dir.display().to_string()).collect();
            Err(format!(
                "{at}, which is not configured (there is {}); add a line `STORE={at}`",
                known.join(", ")
            ))
        }
    }
}
