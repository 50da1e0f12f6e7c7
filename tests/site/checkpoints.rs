//! Datasets of one file a rank, written and restarted from: shared by the test programs `session` and
//! `cli`.

use crate::site::{Rank, Site, content, nodes};
use scr::format::Name;
use std::path::{Path, PathBuf};

impl Site {
    /// A site where data go to the cache, not straight to the prefix.
    pub fn new() -> Self {
        Site::at(tempfile::tempdir().unwrap())
    }

    /// A dataset's directory on a node.
    pub fn dataset(&self, node: &str, id: u64) -> PathBuf {
        self.cache(node).join(format!("scr.dataset.{id}"))
    }

    /// A place outside of all caches, prefixes and nodes.
    pub fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    /// Restarts on `nodes`; all must be offered `expected` and read the right bytes.
    pub fn expect_restart(&self, nodes: &[&str], expected: Option<&str>) {
        let names = self.run(nodes, |rank| rank.restart());
        assert!(
            names.iter().all(|name| name.as_deref() == expected),
            "{names:?}, expected {expected:?}\n{}",
            self.events.lines().join("\n")
        );
    }
}

/// Two ranks a node on `count` nodes.
pub fn double_nodes(count: usize) -> Vec<&'static str> {
    nodes(count)
        .into_iter()
        .flat_map(|node| [node, node])
        .collect()
}

impl Rank {
    /// Writes a dataset of one file a rank, `<name>/rank_<r>.dat`.
    pub fn write(&mut self, name: &str, checkpoint: bool, output: bool) -> scr::Result<()> {
        self.session
            .start_output(Some(Name::from(name)), checkpoint, output)?;
        let path = self.session.route(Path::new(&self.file(name)))?;
        std::fs::write(path, content(name, self.rank, 1000 + 7 * self.rank)).unwrap();
        self.session.complete_output(true)
    }

    /// Writes a checkpoint.
    pub fn checkpoint(&mut self, name: &str) -> scr::Result<()> {
        self.write(name, true, false)
    }

    /// Restarts from what is offered and checks every byte; the name of the checkpoint.
    pub fn restart(&mut self) -> Option<String> {
        let name = self.session.have_restart().unwrap()?.to_string();
        assert_eq!(self.session.start_restart().unwrap().to_string(), name);
        let path = self.session.route(Path::new(&self.file(&name))).unwrap();
        let good = std::fs::read(path).unwrap() == content(&name, self.rank, 1000 + 7 * self.rank);
        assert!(good, "rank {} got wrong bytes of {name}", self.rank);
        self.session.complete_restart(true).unwrap();
        Some(name)
    }

    fn file(&self, name: &str) -> String {
        format!("{name}/rank_{}.dat", self.rank)
    }
}
