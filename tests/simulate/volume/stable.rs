//! What is on stable storage: after a sync, after a loss of power, and after a node is gone with what it
//! had in memory.

use super::{Change, Ino, Inode, Outcome, Profile, ROOT, Renaming, SECTOR, Volume, What, taken};
use scr::system::simulated::Random;
use std::collections::BTreeSet;

/// Instead of a node: the change is in the memory of the file system's server.
pub(super) const SERVER: usize = usize::MAX;

impl Inode {
    /// Brings to stable storage what this node and the server have in memory.
    fn stabilise(&mut self, node: usize) {
        let of_others = |change: &Change| change.node != node && change.node != SERVER;
        if !self.changes.iter().any(of_others) {
            self.synced.clone_from(&self.data);
            self.changes.clear();
            return;
        }
        let changes = std::mem::take(&mut self.changes);
        let (later, now): (Vec<_>, Vec<_>) = changes.into_iter().partition(of_others);
        now.iter().for_each(|change| change.apply(&mut self.synced));
        self.changes = later;
    }

    /// What others have in memory goes to the server when a node uses the same bytes.
    pub(super) fn hand_over(&mut self, node: usize, used: impl Fn(&Change) -> bool) {
        let others = self.changes.iter_mut().filter(|change| change.node != node);
        others.filter(|c| used(c)).for_each(|c| c.node = SERVER);
    }

    /// The content after some changes were lost.
    fn apply_again(&mut self) {
        let mut data = self.synced.clone();
        self.changes
            .iter()
            .for_each(|change| change.apply(&mut data));
        self.data = data;
    }
}

/// Only a part of the last write is there.
fn tear(changes: &mut [Change], random: &mut Random) {
    if let Some(Change {
        what: What::Write(_, bytes),
        ..
    }) = changes.last_mut()
    {
        let sectors = bytes.len() / SECTOR;
        bytes.truncate(random.below(sectors as u64 + 2) as usize * SECTOR);
    }
}

impl Volume {
    /// Brings a file's bytes, as far as this node and the server have them, or a directory's entries to stable storage.
    pub fn sync(&mut self, ino: Ino) -> Outcome<()> {
        let (node, full) = (self.node, self.used > self.capacity);
        let nfs = self.profile == Profile::Nfs;
        let inode = self.inode_mut(ino)?;
        if nfs && full && inode.changes.iter().any(|change| change.node == node) {
            return Err(libc::ENOSPC);
        }
        inode.stabilise(node);
        if !inode.directory {
            return Ok(());
        }
        let touches =
            |renaming: &Renaming| renaming.0.iter().any(|(directory, ..)| *directory == ino);
        let last = self
            .pending
            .iter()
            .rposition(touches)
            .map_or(0, |at| at + 1);
        let (now, later): (Vec<_>, Vec<_>) = match self.profile {
            // One journal: what came before is there, too.
            Profile::Ordered => (self.pending[..last].to_vec(), self.pending[last..].to_vec()),
            _ => self.pending.drain(..).partition(touches),
        };
        self.pending = later;
        now.iter().for_each(|renaming| self.make_stable(renaming));
        Ok(())
    }

    /// Brings to stable storage what this node and the server have, and all entries of directories.
    pub fn sync_all(&mut self) {
        let node = self.node;
        self.inodes
            .values_mut()
            .for_each(|inode| inode.stabilise(node));
        for renaming in std::mem::take(&mut self.pending) {
            self.make_stable(&renaming);
        }
    }

    /// A sync has failed: the bytes that it should have written will not be written any more.
    pub fn lose_changes(&mut self, ino: Ino) {
        let node = self.node;
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode
                .changes
                .retain(|change| change.node != node && change.node != SERVER);
        }
    }

    /// This node closes a file that it has written.
    pub fn close(&mut self, ino: Ino) {
        if self.profile == Profile::Nfs && self.sync(ino).is_err() {
            self.lose_changes(ino);
        }
    }

    fn make_stable(&mut self, renaming: &Renaming) {
        for (directory, name, target) in &renaming.0 {
            let Some(directory) = self.inodes.get_mut(directory) else {
                continue;
            };
            match target {
                Some(target) => directory.stable.insert(name.clone(), *target),
                None => directory.stable.remove(name),
            };
        }
    }

    /// A node is gone: the server has only a part of what it had not synced.
    pub fn lose_node(&mut self, node: usize, random: &mut Random) {
        for inode in self.inodes.values_mut() {
            if !inode.changes.iter().any(|change| change.node == node) {
                continue;
            }
            inode
                .changes
                .retain(|change| change.node != node || random.once_in(2));
            if inode
                .changes
                .last()
                .is_some_and(|change| change.node == node)
            {
                tear(&mut inode.changes, random);
            }
            inode.hand_over(SERVER, |change| change.node == node);
            inode.apply_again();
        }
        self.count_used();
    }

    /// What is left after a power loss. Nobody has a file open any more.
    pub fn lose_power(&mut self, random: &mut Random) {
        self.forget_processes();
        if self.profile == Profile::Tmpfs {
            *self = Volume::new(Profile::Tmpfs, self.capacity);
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        match self.profile {
            Profile::Ordered => pending.truncate(random.below(pending.len() as u64 + 1) as usize),
            Profile::Nfs => {}
            _ => pending.retain(|_| random.once_in(2)),
        }
        if self.profile == Profile::Ordered {
            let moved = pending.iter().filter(|renaming| renaming.0.len() > 1);
            let targets: Vec<Ino> = moved.filter_map(|renaming| renaming.0[0].2).collect();
            for ino in targets {
                if let Some(inode) = self.inodes.get_mut(&ino) {
                    inode.synced.clone_from(&inode.data);
                    inode.changes.clear();
                }
            }
        }
        pending
            .iter()
            .for_each(|renaming| self.make_stable(renaming));
        for inode in self.inodes.values_mut() {
            match self.profile {
                Profile::Ordered => {
                    let kept = random.below(inode.changes.len() as u64 + 1);
                    inode.changes.truncate(kept as usize);
                }
                _ => {
                    inode.changes.retain(|_| random.once_in(2));
                    tear(&mut inode.changes, random);
                }
            }
            inode.apply_again();
            inode.synced.clone_from(&inode.data);
            inode.changes.clear();
            inode.entries.clone_from(&inode.stable);
        }
        self.drop_unnamed();
    }

    fn drop_unnamed(&mut self) {
        let (mut named, mut todo) = (BTreeSet::new(), vec![ROOT]);
        while let Some(ino) = todo.pop() {
            if let Some(inode) = self.inodes.get(&ino)
                && named.insert(ino)
            {
                todo.extend(inode.entries.values());
            }
        }
        self.inodes.retain(|ino, _| named.contains(ino));
        for inode in self.inodes.values_mut() {
            inode.entries.retain(|_, ino| named.contains(ino));
            inode.stable.retain(|_, ino| named.contains(ino));
            inode.removed_by = None;
        }
        self.count_used();
    }

    pub(super) fn count_used(&mut self) {
        let reachable = self
            .inodes
            .values()
            .filter(|inode| inode.removed_by.is_none());
        self.used = reachable.map(|inode| taken(inode.data.len() as u64)).sum();
        self.held.clear();
    }

    /// Forgets files that nothing names and nobody can reach after a run; keeps memory small.
    pub fn make_all_stable(&mut self) {
        if self.profile == Profile::Tmpfs {
            self.sync_all();
            self.drop_unnamed();
        }
    }
}
