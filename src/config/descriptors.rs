//! Groups, stores and redundancy schemes of one process: pure, from [`Config`] and
//! [`Settings`] (SCR developer guide, "Group, store, and redundancy descriptors").

use super::layer::{Item, Value};
use super::layers::Config;
use super::settings::{FlushType, Settings, combine};
use super::table;
use super::value::Typed;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How a dataset is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Not at all: it outlives the process, not the node.
    Single,
    /// Copies on other nodes.
    Partner,
    /// One parity block for each set.
    Xor,
    /// Reed-Solomon: several parity blocks for each set.
    Rs,
}

impl Scheme {
    /// From SINGLE, PARTNER, XOR or RS in any case; `None` for any other word.
    pub fn from_word(word: &str) -> Option<Scheme> {
        let known = [Scheme::Single, Scheme::Partner, Scheme::Xor, Scheme::Rs];
        known
            .into_iter()
            .find(|scheme| scheme.word().eq_ignore_ascii_case(word.trim()))
    }

    /// The word that files and parameters use.
    pub fn word(self) -> &'static str {
        match self {
            Scheme::Single => "SINGLE",
            Scheme::Partner => "PARTNER",
            Scheme::Xor => "XOR",
            Scheme::Rs => "RS",
        }
    }

    /// Fails for a scheme that this release cannot apply. `place` is where it was chosen.
    pub fn available(self, place: &str) -> Result<()> {
        match self {
            Scheme::Single | Scheme::Xor => Ok(()),
            Scheme::Partner | Scheme::Rs => Err(Error::Config {
                place: place.to_string(),
                what: format!(
                    "scr-rs has no {} in this release; use XOR or SINGLE",
                    self.word()
                ),
            }),
        }
    }
}

/// Whether nodes share the directory of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The same path is another directory on each node.
    Private,
    /// One directory for all: each node works in a subdirectory `node.<n>`.
    Global,
}

/// A place where datasets are cached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreDescriptor {
    /// Position in [`Descriptors::stores`].
    pub index: usize,
    /// Absolute directory; may differ from process to process.
    pub dir: PathBuf,
    /// Processes that reach the same instance; a key of [`Descriptors::groups`].
    pub group: String,
    /// How many datasets are kept.
    pub count: u64,
    /// False: not to be used.
    pub enabled: bool,
    /// Whether SCR makes and removes directories in it.
    pub mkdir: bool,
    /// Whether nodes share it.
    pub view: View,
    /// How files are moved from it.
    pub flush: FlushType,
}

/// A redundancy scheme and the datasets it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemeDescriptor {
    /// Position in [`Descriptors::schemes`].
    pub index: usize,
    /// Where it was configured, for messages.
    pub place: String,
    /// False: not to be used.
    pub enabled: bool,
    /// For every n-th checkpoint; at least 1.
    pub interval: u64,
    /// For datasets marked as output.
    pub output: bool,
    /// Files are written straight to the prefix directory.
    pub bypass: bool,
    /// Position of its store in [`Descriptors::stores`].
    pub store: usize,
    /// Processes that fail together; a key of [`Descriptors::groups`].
    pub group: String,
    /// The scheme.
    pub scheme: Scheme,
    /// Smallest size of a set, ranks.
    pub set_size: u32,
    /// Ranks of a set that may be lost: 0 with SINGLE, 1 with XOR, as configured otherwise.
    pub set_failures: u32,
}

/// All descriptors of one process. Every process has as many stores and schemes, in the same
/// order, as long as SCR_CACHE_BASE and SCR_CNTL_BASE name configured stores on all or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptors {
    /// Name of each kind of group (upper case) and the group that this node belongs to.
    pub groups: BTreeMap<String, String>,
    /// Stores, configured ones first.
    pub stores: Vec<StoreDescriptor>,
    /// Position of the store for control directories.
    pub control: usize,
    /// Schemes by ascending number of their CKPT lines; at least one enabled with interval 1.
    pub schemes: Vec<SchemeDescriptor>,
    /// What the user should hear.
    pub warnings: Vec<String>,
}

/// The scheme for a dataset: with `output` the first enabled for output; else for checkpoint
/// `ckpt_id` the enabled one with the largest interval that divides it; else the first enabled
/// one with interval 1. `None` only if there is none of these, which [`descriptors`] refuses.
pub fn choose(
    schemes: &[SchemeDescriptor],
    ckpt_id: Option<u64>,
    output: bool,
) -> Option<&SchemeDescriptor> {
    let enabled = || schemes.iter().filter(|s| s.enabled);
    let for_output = || enabled().find(|s| output && s.output);
    let divides = |s: &&SchemeDescriptor| ckpt_id.is_some_and(|id| id.is_multiple_of(s.interval));
    // Of equal intervals the first wins; max_by_key would give the last.
    let for_checkpoint = || enabled().rev().filter(divides).max_by_key(|s| s.interval);
    let always = || enabled().find(|s| s.interval == 1);
    for_output().or_else(for_checkpoint).or_else(always)
}

/// Makes the descriptors of the process on node `host`. Errors name the line and are
/// collected into one. Local; processes on other nodes may get another answer.
pub fn descriptors(config: &Config, settings: &Settings, host: &str) -> Result<Descriptors> {
    let mut make = Make {
        config,
        settings,
        errors: Vec::new(),
        warnings: Vec::new(),
    };
    let groups = make.groups(host);
    let mut stores = make.stores();
    let control = store_at(&mut stores, settings, &settings.cntl_base, 0);
    let schemes = match Scheme::from_word(&settings.copy_type) {
        Some(scheme) => make.default_scheme(scheme, &stores),
        None => make.schemes(&stores),
    };
    make.check_groups(&groups, &stores, &schemes);
    if make.errors.is_empty() && !schemes.iter().any(|s| s.enabled && s.interval == 1) {
        make.fail(
            &config.origin("SCR_COPY_TYPE"),
            format!(
                "SCR_COPY_TYPE={} asks for CKPT lines, but none that is enabled has INTERVAL=1; \
                 add one, such as `CKPT=0 INTERVAL=1 TYPE=XOR`, or set SCR_COPY_TYPE=XOR",
                settings.copy_type
            ),
        );
    }
    match combine(make.errors) {
        None => Ok(Descriptors {
            groups,
            stores,
            control,
            schemes,
            warnings: make.warnings,
        }),
        Some(error) => Err(error),
    }
}

/// Finds the store of `dir`, or adds it with default properties.
fn store_at(
    stores: &mut Vec<StoreDescriptor>,
    settings: &Settings,
    dir: &PathBuf,
    count: u64,
) -> usize {
    if let Some(found) = stores.iter().find(|s| s.dir == *dir) {
        return found.index;
    }
    let index = stores.len();
    stores.push(StoreDescriptor {
        index,
        dir: dir.clone(),
        group: "NODE".into(),
        count,
        enabled: true,
        mkdir: true,
        view: View::Private,
        flush: settings.flush_type,
    });
    index
}

/// Work in progress: errors and warnings are collected, harmless values take the place of
/// what is wrong.
struct Make<'a> {
    config: &'a Config,
    settings: &'a Settings,
    errors: Vec<Error>,
    warnings: Vec<String>,
}

impl Make<'_> {
    fn fail(&mut self, place: &str, what: String) {
        self.errors.push(Error::Config {
            place: place.to_string(),
            what,
        });
    }

    fn key(&mut self, parent: &str, item: &Item) -> String {
        let value = Value {
            text: item.key.clone(),
            place: item.place.clone(),
        };
        self.expand(parent, &value)
    }

    fn expand(&mut self, name: &str, value: &Value) -> String {
        self.config.expand(name, value).unwrap_or_else(|error| {
            self.errors.push(error);
            String::new()
        })
    }

    fn groups(&mut self, host: &str) -> BTreeMap<String, String> {
        let mut groups = BTreeMap::new();
        for item in self.config.items("GROUPS") {
            if self.key("GROUPS", item) != host {
                continue;
            }
            for (name, value) in &item.children {
                let value = self.expand(&format!("GROUPS={host} {name}"), value);
                groups.insert(name.to_ascii_uppercase(), value);
            }
        }
        for (name, value) in [("NODE", host), ("WORLD", "WORLD")] {
            if groups.insert(name.into(), value.into()).is_some() {
                self.warnings.push(format!(
                    "GROUPS={host}: {name} is built in; its value is ignored"
                ));
            }
        }
        groups
    }

    fn stores(&mut self) -> Vec<StoreDescriptor> {
        let mut stores: Vec<StoreDescriptor> = Vec::new();
        for item in self.config.items("STORE") {
            let key = self.key("STORE", item);
            let dir = self.config.absolute(&key);
            if key.is_empty() {
                self.fail(
                    &item.place,
                    "STORE names no directory once variables are replaced".into(),
                );
            } else if stores.iter().any(|s| s.dir == dir) {
                self.fail(
                    &item.place,
                    format!("STORE={key} is configured twice; keep one line"),
                );
            } else {
                let mut read = Children {
                    make: self,
                    parent: "STORE",
                    item,
                };
                let store = StoreDescriptor {
                    index: stores.len(),
                    dir,
                    group: read
                        .word("GROUP")
                        .unwrap_or("NODE".into())
                        .to_ascii_uppercase(),
                    count: read
                        .number("COUNT")
                        .unwrap_or(read.make.settings.cache_size),
                    enabled: read.bool("ENABLED").unwrap_or(true),
                    mkdir: read.bool("MKDIR").unwrap_or(true),
                    view: match read.word("VIEW").as_deref() {
                        Some("GLOBAL") => View::Global,
                        _ => View::Private,
                    },
                    flush: read
                        .word("FLUSH")
                        .map_or(read.make.settings.flush_type, |w| FlushType::from_word(&w)),
                };
                stores.push(store);
            }
        }
        store_at(
            &mut stores,
            self.settings,
            &self.settings.cache_base,
            self.settings.cache_size,
        );
        stores
    }

    fn default_scheme(
        &mut self,
        scheme: Scheme,
        stores: &[StoreDescriptor],
    ) -> Vec<SchemeDescriptor> {
        if let Some(item) = self.config.items("CKPT").first() {
            self.warnings.push(format!(
                "{}: CKPT lines have no effect while SCR_COPY_TYPE is {}; set SCR_COPY_TYPE=FILE to use them",
                item.place,
                scheme.word()
            ));
        }
        let place = self.config.origin("SCR_COPY_TYPE");
        let item = Item {
            key: "0".into(),
            place,
            children: BTreeMap::new(),
        };
        self.scheme(0, &item, scheme, stores).into_iter().collect()
    }

    fn schemes(&mut self, stores: &[StoreDescriptor]) -> Vec<SchemeDescriptor> {
        let mut items: Vec<_> = self.config.items("CKPT").iter().collect();
        items.sort_by_cached_key(|item| (item.key.parse().unwrap_or(u64::MAX), item.key.clone()));
        let mut schemes = Vec::new();
        for item in items {
            schemes.extend(self.scheme(schemes.len(), item, Scheme::Xor, stores));
        }
        schemes
    }

    /// One descriptor; `None` after an error.
    fn scheme(
        &mut self,
        index: usize,
        item: &Item,
        default: Scheme,
        stores: &[StoreDescriptor],
    ) -> Option<SchemeDescriptor> {
        let settings = self.settings;
        let mut read = Children {
            make: self,
            parent: "CKPT",
            item,
        };
        let dir = read.path("STORE").unwrap_or(settings.cache_base.clone());
        let mut made = SchemeDescriptor {
            index,
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
            set_failures: read.number("SET_FAILURES").unwrap_or(settings.set_failures),
        };
        if !made.enabled {
            // Nothing of it is used, so nothing of it needs to fit.
            return Some(made);
        }
        match stores.iter().find(|s| s.dir == dir) {
            Some(store) if store.enabled => made.store = store.index,
            Some(_) => {
                let what = format!(
                    "CKPT={} uses STORE={}, which is not enabled",
                    item.key,
                    dir.display()
                );
                self.fail(&item.place, what);
                return None;
            }
            None => {
                let dir = dir.display();
                let what = format!(
                    "CKPT={} uses STORE={dir}, which is not configured; add a line `STORE={dir}`",
                    item.key
                );
                self.fail(&item.place, what);
                return None;
            }
        }
        self.check_sets(made, item)
    }

    /// What each scheme asks of its set size and failures.
    fn check_sets(&mut self, mut made: SchemeDescriptor, item: &Item) -> Option<SchemeDescriptor> {
        let (size, failures) = (made.set_size, made.set_failures);
        let name = format!("CKPT={} TYPE={}", item.key, made.scheme.word());
        if made.scheme != Scheme::Single && size < 2 {
            self.fail(
                &item.place,
                format!("{name} needs SET_SIZE of at least 2, not {size}"),
            );
            return None;
        }
        match made.scheme {
            Scheme::Single => made.set_failures = 0,
            Scheme::Xor => made.set_failures = 1,
            // As in v3.1.0; it also keeps PARTNER and RS from losing all of a set.
            Scheme::Partner | Scheme::Rs if !(1..=size).contains(&failures) => {
                self.warnings.push(format!(
                    "{}: {name} is not used: SET_FAILURES is {failures} but must be from 1 to SET_SIZE, {size}",
                    item.place
                ));
                made.enabled = false;
            }
            Scheme::Rs if failures == 1 => made.scheme = Scheme::Xor,
            Scheme::Rs if size.saturating_add(failures) > 256 => {
                self.fail(
                    &item.place,
                    format!("{name} has SET_SIZE {size} and SET_FAILURES {failures}, together more than 256"),
                );
                return None;
            }
            Scheme::Partner | Scheme::Rs => {}
        }
        Some(made)
    }

    fn check_groups(
        &mut self,
        groups: &BTreeMap<String, String>,
        stores: &[StoreDescriptor],
        schemes: &[SchemeDescriptor],
    ) {
        let of_stores = stores.iter().filter(|s| s.enabled);
        let of_stores = of_stores.map(|s| (format!("STORE={}", s.dir.display()), &s.group, None));
        let of_schemes = schemes.iter().filter(|s| s.enabled);
        let of_schemes = of_schemes.map(|s| ("CKPT".to_string(), &s.group, Some(&s.place)));
        for (user, group, place) in of_stores.chain(of_schemes) {
            if groups.contains_key(group) {
                continue;
            }
            let host = groups.get("NODE").map_or("", String::as_str);
            let known = groups
                .keys()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ");
            let place = place.cloned().unwrap_or_else(|| "configuration".into());
            self.fail(
                &place,
                format!(
                    "{user} uses GROUP={group}, which node {host} does not have (it has {known}); \
                     add `GROUPS={host} {group}=...`"
                ),
            );
        }
    }
}

/// Reads the children of one item.
struct Children<'m, 'a, 'i> {
    make: &'m mut Make<'a>,
    parent: &'static str,
    item: &'i Item,
}

impl Children<'_, '_, '_> {
    fn typed(&mut self, child: &str) -> Option<Typed> {
        let value = self.item.children.get(child)?;
        let name = format!("{}={} {child}", self.parent, self.item.key);
        let row = table::multi(self.parent)?
            .children
            .iter()
            .find(|c| c.name == child)?;
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
