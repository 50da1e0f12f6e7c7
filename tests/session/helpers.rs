//! What only the tests of this program do with a site and its ranks.

use crate::site::{Directory, Rank, Site, content};
use scr::config::Config;
use std::path::PathBuf;

impl Site {
    /// A site in memory if this system has `/dev/shm`: fast, for tests with very many sites.
    pub fn in_memory() -> Self {
        let memory = tempfile::tempdir_in("/dev/shm");
        Site::at(memory.or_else(|_| tempfile::tempdir()).unwrap())
    }

    /// The site of another process, which deletes it.
    pub fn of_other(path: PathBuf) -> Self {
        Site::below(Directory { path, own: None })
    }

    /// Runs `body` on ranks whose session may not start.
    pub fn start<R: Send>(
        &self,
        nodes: &[&str],
        body: impl Fn(scr::Result<Option<Rank>>) -> R + Sync,
    ) -> Vec<R> {
        self.start_as(nodes, &Config::new(), body)
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

    /// Restarts as a program does that can run on any number of ranks: reads what is offered, rejects it
    /// if it cannot, until it has read one checkpoint. Its name, `None` for a start from the beginning, or
    /// why the start fails. `ours`: the number of ranks.
    pub fn try_restart(&mut self, ours: usize) -> Result<Option<String>, String> {
        self.session.allow_other_ranks(true).unwrap();
        // A program that is offered the same for ever does not end.
        for _ in 0..9 {
            let offered = self.session.have_restart().map_err(|e| e.to_string())?;
            let Some(name) = offered.map(|name| name.to_string()) else {
                return Ok(None);
            };
            self.session.start_restart().unwrap();
            let read = self.read_by_lists(&name, ours as u64).unwrap_or(false);
            if self.session.complete_restart(read).is_ok() {
                return Ok(Some(name));
            }
        }
        Err("checkpoints are offered again and again".to_string())
    }

    /// Reads this rank's files, or all if another number of ranks wrote them. True if they are right.
    fn read_by_lists(&mut self, name: &str, ours: u64) -> scr::Result<bool> {
        let me = self.rank as u64;
        let writers = self.session.restart_ranks()?;
        for writer in 0..writers {
            if writers == ours && writer != me {
                continue;
            }
            for file in self.session.restart_files_of(writer)?.to_vec() {
                let path = self.session.route(&file)?;
                let writer = writer as usize;
                let right = content(name, writer, 1000 + 7 * writer);
                if std::fs::read(path).ok() != Some(right) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// True if files of fields in the caches of this site are mapped. Where they are not, it says so.
pub fn is_mapped(site: &Site) -> bool {
    let mapped = site.node("n0").starts_with("/dev/shm") && cfg!(target_arch = "x86_64");
    if !mapped {
        println!("SKIPPED: files are mapped on tmpfs and x86-64 only");
    }
    mapped
}
