//! Tests that need more than one module.

mod call;
mod descriptors;
mod layers;
mod random;
mod settings;
mod site;

use super::Config;
use crate::Result;
use crate::job::Environment;
use std::path::Path;

/// A configuration loaded in `/home/u` from environment, user file and system file.
fn load(env: &[(&str, &str)], user: &str, system: &str) -> Config {
    let mut config = Config::new();
    reload(&mut config, env, user, system).unwrap();
    config
}

fn reload(config: &mut Config, env: &[(&str, &str)], user: &str, system: &str) -> Result<()> {
    let env = [("SCR_SYSTEM_CONF", "/etc/test.conf")]
        .iter()
        .chain(env)
        .copied();
    let env: Environment = env.collect();
    config.load(env, Path::new("/home/u"), &|path| {
        Ok(match path.to_str().unwrap() {
            "/etc/test.conf" => Some(system.as_bytes().to_vec()),
            "/home/u/.scrconf" => Some(user.as_bytes().to_vec()),
            _ => None,
        })
    })
}
