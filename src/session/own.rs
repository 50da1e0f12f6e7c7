//! What each rank finds out for itself in `SCR_Init`: its settings, its node, its directories.

use super::common;
use super::start::{Charter, require_base};
use crate::Result;
use crate::cache::layout::Layout;
use crate::config::descriptors::{Descriptors, descriptors};
use crate::config::{Config, Settings};
use crate::job::{self, Environment};
use crate::store::Files;

/// Of one rank.
pub(super) struct Own {
    /// From rank 0.
    pub charter: Charter,
    pub settings: Settings,
    pub node: String,
    pub descriptors: Descriptors,
    /// Of each store, by its index.
    pub stores: Vec<Layout>,
    /// What must be the same on all ranks, as [`common::pack`] made it.
    pub common: Vec<u8>,
}

impl Own {
    /// This rank's settings and directories, which are made. Local.
    pub fn find(
        files: &dyn Files,
        environment: &Environment,
        config: &Config,
        charter: Charter,
    ) -> Result<Own> {
        let settings = Settings::from(config)?;
        let node = job::node_name(environment, &|_| settings.node_name.clone())?.value;
        let descriptors = descriptors(config, &settings, &node)?;
        let (user, job) = (charter.user.to_string(), charter.job.to_string());
        let control = Layout::new(&settings.cntl_base, &user, &job);
        files.make_private_dirs(control.base(), control.below())?;
        let mut stores = Vec::with_capacity(descriptors.stores.len());
        for store in &descriptors.stores {
            let layout = Layout::new(&store.dir, &user, &job);
            if store.enabled {
                require_base(files, store, &node)?;
                files.make_private_dirs(layout.base(), layout.below())?;
            }
            stores.push(layout);
        }
        Ok(Own {
            charter,
            common: common::pack(&settings, &descriptors)?,
            settings,
            node,
            descriptors,
            stores,
        })
    }
}
