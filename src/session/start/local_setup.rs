//! The facts that each rank finds out for itself in `SCR_Init`: its settings, its node, its
//! directories.

use super::consistency;
use crate::cache::layout::Layout;
use crate::config::describe::descriptors;
use crate::config::descriptors::{Descriptors, StoreDescriptor};
use crate::config::{Config, Settings};
use crate::job::{self, Environment};
use crate::session::start::run_info::RunInfo;
use crate::session::stores::require_base;
use crate::store::Files;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// Settings and directories of one rank.
pub(in crate::session) struct LocalSetup {
    /// The facts that rank 0 has sent.
    pub info: RunInfo,
    pub settings: Settings,
    pub node: String,
    pub descriptors: Descriptors,
    /// Indexed by the store.
    pub stores: Vec<Layout>,
    /// Settings that must be equal on all ranks, from [`consistency::pack`].
    pub common: Vec<u8>,
}

impl LocalSetup {
    /// Reads this rank's settings and makes its directories. Local.
    pub fn find(
        files: &dyn Files,
        environment: &Environment,
        config: &Config,
        info: RunInfo,
    ) -> Result<LocalSetup> {
        let settings = Settings::from(config)?;
        let node = job::node_name(environment, &|_| settings.node_name.clone())?.value;
        let descriptors = descriptors(config, &settings, &node)?;
        let (user, job) = (info.user.to_string(), info.job.to_string());
        let mut stores = Vec::with_capacity(descriptors.stores.len());
        for store in &descriptors.stores {
            let layout = Layout::new(&store.dir, &user, &job).of_run(info.run);
            if store.enabled {
                require_base(files, store, &node)?;
            }
            if store.enabled || store.index == descriptors.control {
                make_directory(files, store, &layout)?;
            }
            stores.push(layout);
        }
        require_distinct(&descriptors.stores)?;
        Ok(LocalSetup {
            info,
            common: consistency::pack(&settings, &descriptors)?,
            settings,
            node,
            descriptors,
            stores,
        })
    }
}

/// Makes this job's directory in a store. A full store is no error here: its datasets may be needed
/// for a restart. Local.
fn make_directory(files: &dyn Files, store: &StoreDescriptor, layout: &Layout) -> Result<()> {
    match files.make_private_dirs(layout.base(), layout.below()) {
        Err(error) if !error.is_full() => Err(Error::config(
            store.place.clone(),
            format!("{error}{}", remedy(&error)),
        )),
        _ => Ok(()),
    }
}

/// The remedy for the user, for errors whose text has none.
fn remedy(error: &Error) -> &'static str {
    match error.errno() {
        Some(libc::EEXIST) => "; it is no directory: remove it or name another",
        Some(libc::EROFS) => "; name a directory on a file system that can be written to",
        Some(libc::ENAMETOOLONG) => "; name a directory with a shorter path",
        _ => "",
    }
}

/// Fails if two stores are one directory, for example by a symbolic link: each would mistake the
/// datasets of the other for the remains of an earlier run. Local.
fn require_distinct(stores: &[StoreDescriptor]) -> Result<()> {
    let real = |dir: &Path| std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    let mut seen: Vec<(PathBuf, &StoreDescriptor)> = Vec::new();
    let enabled = || stores.iter().filter(|store| store.enabled);
    if enabled().count() < 2 {
        return Ok(());
    }
    for store in enabled() {
        let real = real(&store.dir);
        if let Some((_, other)) = seen.iter().find(|(dir, _)| *dir == real) {
            return Err(Error::config(
                store.place.clone(),
                format!(
                    "{} is the same directory as {} ({}), by way of a symbolic link; keep one \
                     store, and write its directory as {} in all places",
                    store.dir.display(),
                    other.dir.display(),
                    other.place,
                    real.display()
                ),
            ));
        }
        seen.push((real, store));
    }
    Ok(())
}
