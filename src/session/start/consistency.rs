//! Verifies that all ranks have the same settings. A variable in a configuration file may have
//! different values on different nodes. Ranks with different settings would wait for each other for
//! ever, or keep the parts of a dataset in different stores.

use crate::comm::{Communicator, Term, collective, same};
use crate::config::{Config, Descriptors, Settings};
use crate::format::{Name, Tree, from_tree, to_message, unpack};
use crate::text::excerpt;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Settings and descriptors of this rank as bytes. Settings that may differ between ranks are not
/// serialized. In the order in which a difference is searched: most later settings follow from earlier
/// ones.
pub fn pack(settings: &Settings, descriptors: &Descriptors) -> Result<Vec<u8>> {
    let Descriptors {
        groups: _, // Those of this node; their names are compared where they are used.
        stores,
        control,
        schemes,
        warnings: _,
    } = descriptors;
    to_message(&(settings, stores, control, schemes))
}

/// Two terms for [`is_same`](crate::comm::is_same), which compares the settings of all ranks by a fingerprint. `common`
/// is from [`pack`], and empty if this rank has no settings.
pub fn terms(common: &[u8]) -> [Term; 2] {
    same(collective::fingerprint(common))
}

/// The place of rank 0, at the beginning of its message with the settings.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct RootPlace {
    node: Name,
}

/// The error that names the difference, after [`terms`] has shown that settings differ. It is the error of the
/// lowest rank whose settings differ from those of rank 0. `common` is from [`pack`]. Collective: a broadcast,
/// an allreduce, a verdict.
pub fn report_difference(
    comm: &dyn Communicator,
    node: &str,
    common: &[u8],
    config: &Config,
    descriptors: &Descriptors,
) -> Result<()> {
    let place = RootPlace { node: node.into() };
    let mut message = [&to_message(&place)?, common].concat();
    collective::bcast(comm, 0, &mut message)?;
    let compared = unpack(&message).and_then(|(tree, used)| {
        let root = from_tree::<RootPlace>(&tree)?;
        let packed = message.get(used..).unwrap_or_default();
        if packed == common {
            return Ok(());
        }
        let root = RootSettings {
            node: &root.node,
            packed,
        };
        Err(difference(common, &root, config, descriptors))
    });
    let me = comm.rank() as i64;
    let first = compared.as_ref().map_or(me, |()| i64::MAX);
    let [first] = collective::combine(comm, [Term::Min(first)])?;
    let told = if first.get() == me { compared } else { Ok(()) };
    collective::agree(comm, node, told)
}

/// The settings of rank 0, as another rank gets them.
pub struct RootSettings<'a> {
    /// The node of rank 0.
    pub node: &'a Name,
    /// The settings in the form of [`pack`].
    pub packed: &'a [u8],
}

/// The error of a rank that has other settings than rank 0. It names the first
/// parameter that differs; one that is set somewhere comes before one with a default. `mine` is from
/// [`pack`]. Local.
pub fn difference(
    mine: &[u8],
    root: &RootSettings,
    config: &Config,
    descriptors: &Descriptors,
) -> Error {
    let (mine, theirs) = match (values(mine), values(root.packed)) {
        (Ok(mine), Ok(theirs)) => (mine, theirs),
        (Err(error), _) | (_, Err(error)) => return error,
    };
    let paths: BTreeSet<&Path> = mine.keys().chain(theirs.keys()).collect();
    let mut found = paths
        .into_iter()
        .filter(|path| mine.get(*path) != theirs.get(*path))
        .map(|path| {
            let mut named = named(path, config, descriptors);
            // Only settings may be absent: else one of the two has more stores or schemes.
            let both = mine.contains_key(path) && theirs.contains_key(path);
            named
                .name
                .take_if(|name| !both && !name.starts_with("SCR_"));
            (path, named)
        });
    let first = found.next();
    let is_set = |named: &Named| named.place != "default";
    let (path, named) = match first {
        Some((path, named)) if is_set(&named) => (path, named),
        // Some defaults follow from another parameter, as SCR_FETCH_BYPASS from SCR_GLOBAL_RESTART.
        Some(first) => found.find(|(_, named)| is_set(named)).unwrap_or(first),
        None => return Error::format(0, "rank 0 takes equal settings for different ones"),
    };
    let what = match named.name {
        Some(name) => format!(
            "{name} is {} here but {} on rank 0 on node {}: a variable in the configuration has \
             another value there. Let it be the same for all processes; only directories of the \
             cache, SCR_NODE_NAME and GROUPS may differ",
            shown(mine.get(path)),
            shown(theirs.get(path)),
            root.node,
        ),
        None => format!(
            "other STORE or CKPT descriptors than on rank 0 on node {}; make SCR_CACHE_BASE, \
             SCR_CNTL_BASE and the STORE of a CKPT line name the same configured stores on all \
             processes, or none on all",
            root.node
        ),
    };
    Error::config(named.place, what)
}

/// The names from the root of a tree to a value.
type Path = Vec<Name>;

/// All values in the result of [`pack`].
fn values(common: &[u8]) -> Result<BTreeMap<Path, String>> {
    let mut values = BTreeMap::new();
    collect(&unpack(common)?.0, &mut Vec::new(), &mut values);
    Ok(values)
}

fn collect(tree: &Tree, path: &mut Path, values: &mut BTreeMap<Path, String>) {
    if let Some(value) = tree
        .sole()
        .filter(|name| tree.get(*name).is_some_and(Tree::is_empty))
    {
        values.insert(path.clone(), value.to_string());
        return;
    }
    for (name, below) in tree.iter() {
        path.push(name.clone());
        collect(below, path, values);
        path.pop();
    }
}

/// The user's name of a value, and where it is set.
struct Named {
    /// `None` if the difference is not a value, but which store is meant.
    name: Option<String>,
    place: String,
}

/// The name for a path in the result of [`pack`].
fn named(path: &Path, config: &Config, descriptors: &Descriptors) -> Named {
    let words: Vec<&str> = path.iter().filter_map(Name::as_str).collect();
    let index = |text: &str| text.parse::<usize>().ok();
    let (name, place) = match words.as_slice() {
        ["0", field, ..] => {
            let name = format!("SCR_{field}");
            let place = config.origin(&name);
            (Some(name), Some(place))
        }
        ["1", at, child] => {
            let store = index(at).and_then(|at| descriptors.stores.get(at));
            let name = store.map(|s| format!("STORE={} {child}", s.dir.display()));
            (name, store.map(|s| s.place.clone()))
        }
        ["3", at, child] => {
            let scheme = index(at).and_then(|at| descriptors.schemes.get(at));
            let name = (*child != "STORE").then(|| format!("CKPT {child}"));
            (name, scheme.map(|s| s.place.clone()))
        }
        _ => (None, None),
    };
    Named {
        name,
        place: place.unwrap_or_else(|| "configuration".to_string()),
    }
}

/// A value in a message: shortened and escaped, so that it does not hide the rest.
fn shown(value: Option<&String>) -> String {
    value.map_or("not set".to_string(), |value| {
        format!("`{}`", excerpt(value, 60))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::collective::fingerprint;
    use crate::config::describe::descriptors;
    use crate::config::table;
    use crate::job::Environment;

    fn loaded(variables: &[(&str, &str)]) -> (Config, Settings, Descriptors) {
        let mut config = Config::new();
        let environment: Environment = variables.iter().copied().collect();
        let nothing = |_: &std::path::Path| Ok(None);
        let cwd = std::path::Path::new("/home/u");
        config.load(environment, cwd, &nothing).unwrap();
        let settings = Settings::from(&config).unwrap();
        let descriptors = descriptors(&config, &settings, "n0").unwrap();
        (config, settings, descriptors)
    }

    /// The error of a rank that has set `mine`, where rank 0 has set nothing.
    fn told(mine: &[(&str, &str)]) -> String {
        let (_, settings, theirs) = loaded(&[]);
        let theirs = pack(&settings, &theirs).unwrap();
        let (config, settings, descriptors) = loaded(mine);
        let mine = pack(&settings, &descriptors).unwrap();
        assert_ne!(fingerprint(&mine), fingerprint(&theirs));
        let root = RootSettings {
            node: &"n0".into(),
            packed: &theirs,
        };
        difference(&mine, &root, &config, &descriptors).to_string()
    }

    #[test]
    fn every_setting_is_called_as_its_parameter_is() {
        let all = [
            ("SCR_JOB_NAME", "a"),
            ("SCR_CLUSTER_NAME", "a"),
            ("SCR_CURRENT", "a"),
            ("SCR_HALT_SECONDS", "1"),
            ("SCR_END_TIME", "1"),
        ];
        let (_, settings, _) = loaded(&all);
        let tree = crate::format::to_tree(&settings).unwrap();
        assert!(tree.len() > 40);
        for (name, _) in tree.iter() {
            let name = format!("SCR_{name}");
            assert!(table::parameter(&name).is_some(), "{name}");
        }
    }

    #[test]
    fn the_setting_that_was_set_is_named_with_both_values() {
        for (set, named) in [
            (
                ("SCR_FETCH", "0"),
                "SCR_FETCH is `0` here but `1` on rank 0 on node n0",
            ),
            (
                ("SCR_GLOBAL_RESTART", "1"),
                "SCR_GLOBAL_RESTART is `1` here but `0`",
            ),
            (
                ("SCR_CRC_ON_FLUSH", "0"),
                "SCR_CRC_ON_FLUSH is `0` here but `1`",
            ),
            (
                ("SCR_CURRENT", "ck"),
                "SCR_CURRENT is `ck` here but not set",
            ),
            (
                ("SCR_PREFIX", "/p"),
                "SCR_PREFIX is `/p` here but `/home/u`",
            ),
            (("SCR_HALT_SIGNALS", "USR2"), "SCR_HALT_SIGNALS is `"),
            (
                ("SCR_COPY_TYPE", "RS"),
                "SCR_COPY_TYPE is `RS` here but `XOR`",
            ),
        ] {
            let text = told(&[set]);
            assert!(
                text.starts_with("environment: ") && text.contains(named),
                "{text}"
            );
        }
    }

    #[test]
    fn directories_of_the_cache_names_and_what_rank_0_decides_may_differ() {
        let pack = |variables: &[(&str, &str)]| {
            let (_, settings, descriptors) = loaded(variables);
            super::pack(&settings, &descriptors).unwrap()
        };
        let other = [
            ("SCR_CACHE_BASE", "/l/n1"),
            ("SCR_CNTL_BASE", "/l/n1"),
            ("SCR_NODE_NAME", "n1"),
            ("SCR_JOB_ID", "7"),
            ("SCR_DEBUG", "1"),
        ];
        assert_eq!(pack(&[]), pack(&other));
        let text = told(&[("SCR_CNTL_BASE", "/elsewhere")]);
        assert!(
            text.contains("other STORE or CKPT descriptors than on rank 0"),
            "{text}"
        );
    }

    #[test]
    fn any_bytes_from_rank_0_give_an_error() {
        let (config, settings, descriptors) = loaded(&[]);
        let mine = pack(&settings, &descriptors).unwrap();
        for (theirs, words) in [
            (&b"\0\0\0\x09x"[..], "9 elements cannot be in 1 bytes"),
            (&[], "the tree ends before a count of elements"),
            (&mine, "rank 0 takes equal settings for different ones"),
        ] {
            let root = RootSettings {
                node: &Name::from("n0"),
                packed: theirs,
            };
            let text = difference(&mine, &root, &config, &descriptors).to_string();
            assert!(text.contains(words), "{text}");
        }
    }
}
