//! What only the tests of this program do with a site and its ranks.

use crate::site::{Rank, Site};
use scr::config::Config;

impl Site {
    /// A site in memory if this system has `/dev/shm`: fast, for tests with very many sites.
    pub fn in_memory() -> Self {
        let memory = tempfile::tempdir_in("/dev/shm");
        Site::at(memory.or_else(|_| tempfile::tempdir()).unwrap())
    }

    /// Removes the node with everything that is stored on it.
    pub fn lose(&self, name: &str) {
        std::fs::remove_dir_all(self.node(name)).unwrap();
    }

    /// Writes the user's configuration file.
    pub fn configure(&self, text: &str) {
        std::fs::write(self.prefix().join(".scrconf"), text).unwrap();
    }

    /// The names that begin with `prefix` in the directory of the last run on a node, sorted.
    pub fn entries(&self, node: &str, prefix: &str) -> Vec<String> {
        let listed = std::fs::read_dir(self.cache(node)).into_iter().flatten();
        let mut names: Vec<String> = listed
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with(prefix))
            .collect();
        names.sort();
        names
    }

    /// `SCR_Have_restart` must fail on all ranks, say that a checkpoint may be good, and give the
    /// reason `why` it cannot be used now.
    pub fn expect_none_now(&self, nodes: &[&str], why: &str) {
        for told in self.run(nodes, |rank| rank.session.have_restart()) {
            let error = told.expect_err("no checkpoint can be read").to_string();
            let said = error.contains(why) || !self.heard(why).is_empty();
            let clear = said && error.contains("start again when that is mended");
            assert!(clear, "{error}\n{}", self.events.lines().join("\n"));
        }
    }

    /// All events that contain `text`.
    pub fn heard(&self, text: &str) -> Vec<String> {
        self.events
            .lines()
            .into_iter()
            .filter(|line| line.contains(text))
            .collect()
    }
}

impl Rank {
    pub fn finalize(&mut self) -> scr::Result<()> {
        self.session.finalize(&mut Config::new())
    }
}
