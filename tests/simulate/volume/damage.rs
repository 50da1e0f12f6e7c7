//! What happens to bytes at rest: a bit flips, a sector is gone, an entry of a directory is lost.

use super::stable::SERVER;
use super::{Ino, ROOT, SECTOR, Volume};
use scr::system::simulated::Random;
use std::path::{Path, PathBuf};

/// What is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// One bit of a file.
    Bit,
    /// One sector of a file reads as zeros.
    Sector,
    /// An entry of a directory, with all below it.
    Entry,
}

impl Volume {
    /// All paths, with what they name. A directory comes before what is in it.
    pub fn paths(&self) -> Vec<(PathBuf, Ino)> {
        let mut all = vec![(PathBuf::new(), ROOT)];
        let mut next = 0;
        while let Some((path, ino)) = all.get(next).cloned() {
            next += 1;
            if let Some(inode) = self.inodes.get(&ino) {
                let below = inode
                    .entries
                    .iter()
                    .map(|(name, ino)| (path.join(name), *ino));
                all.extend(below);
            }
        }
        all.remove(0);
        all
    }

    /// Damages one file or directory of those that `may` be, and returns its path; `None` if there is nothing.
    pub fn damage(
        &mut self,
        damage: Damage,
        may: impl Fn(&Path) -> bool,
        random: &mut Random,
    ) -> Option<PathBuf> {
        let mut all = self.paths();
        all.retain(|(path, _)| may(path));
        let filled = |ino: &Ino| self.inodes.get(ino).is_some_and(|i| !i.data.is_empty());
        let able = all
            .iter()
            .filter(|(_, ino)| damage == Damage::Entry || filled(ino));
        let able: Vec<&(PathBuf, Ino)> = able.collect();
        if able.is_empty() {
            return None;
        }
        let (path, ino) = (*random.one_of(&able)).clone();
        if damage == Damage::Entry {
            self.forget(ino);
            return Some(path);
        }
        let inode = self.inodes.get_mut(&ino)?;
        let at = random.below(inode.data.len() as u64) as usize;
        let bit = 1 << random.below(8);
        let mut changed = false;
        for data in [&mut inode.data, &mut inode.synced] {
            let start = at - at % SECTOR;
            let end = data.len().min(start + SECTOR);
            match damage {
                Damage::Bit => {
                    changed = true;
                    data.get_mut(at).into_iter().for_each(|byte| *byte ^= bit);
                }
                _ => {
                    let sector = data.get_mut(start..end).into_iter().flatten();
                    sector.for_each(|byte| changed |= std::mem::take(byte) != 0);
                }
            }
        }
        inode.changes.clear();
        changed.then_some(path)
    }

    /// Nothing names this any more, and nothing did.
    fn forget(&mut self, gone: Ino) {
        for inode in self.inodes.values_mut() {
            inode.entries.retain(|_, ino| *ino != gone);
            inode.stable.retain(|_, ino| *ino != gone);
        }
        self.pending
            .retain(|renaming| renaming.0.iter().all(|(.., ino)| *ino != Some(gone)));
        // What else has no name now may get back the one that is on stable storage.
        let mut below = vec![gone];
        while let Some(ino) = below.pop() {
            if let Some(inode) = self.inodes.get_mut(&ino) {
                inode.removed_by = Some(SERVER);
                below.extend(inode.entries.values());
            }
        }
        self.count_used();
    }
}

#[test]
fn a_lost_entry_does_not_take_what_another_name_has_on_stable_storage() {
    let (old, new, other) = (Path::new("old"), Path::new("new"), Path::new("other"));
    for seed in 0..8 {
        let random = &mut Random::new(seed);
        let mut volume = Volume::new(super::Profile::Weakest, 1 << 20);
        for path in [old, other] {
            volume.make(path, false, 0o644, (0, 0)).unwrap();
        }
        volume.sync_all();
        volume.make(new, false, 0o644, (0, 0)).unwrap();
        volume.rename(new, old, (0, 0)).unwrap();
        let hit = volume.damage(Damage::Entry, |path| path == other, random);
        assert_eq!(hit.as_deref(), Some(other));
        volume.lose_power(random);
        assert!(volume.find(old).is_ok() && volume.find(other).is_err());
    }
}
