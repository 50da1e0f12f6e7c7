//! Makes the directories of a dataset in the prefix directory: each one by one rank of the job.

use super::flush::PrefixAccess;
use super::names::{Names, exchange_names, rank_of};
use crate::comm::Term;
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Makes `dirs`, which are below the prefix directory or that itself, and their missing parents. A
/// rank gives the directories of its own files. The hash of its name tells which rank makes a
/// directory, after all those above it were made.
///
/// Collective: an exchange, an allreduce, and one for each level of directories below the first. The
/// outer error is the transport's; the inner result is local.
pub fn make(access: &PrefixAccess, dirs: &BTreeSet<PathBuf>) -> Result<Result<()>> {
    let &PrefixAccess {
        comm,
        files,
        prefix,
        ..
    } = access;
    let below = dirs
        .iter()
        .filter_map(|dir| dir.strip_prefix(prefix.root()).ok());
    let all: BTreeSet<&Path> = below
        .flat_map(Path::ancestors)
        .filter(|dir| !dir.as_os_str().is_empty())
        .collect();
    let mut asked: BTreeMap<usize, Names> = BTreeMap::new();
    for dir in all {
        let names = &mut asked.entry(rank_of(dir, comm.size())).or_default().names;
        names.push(dir.as_os_str().into());
    }
    let mut levels: BTreeMap<usize, BTreeSet<PathBuf>> = BTreeMap::new();
    let mut made = Ok(());
    for (_, Names { names }) in exchange_names(comm, &asked)? {
        for name in names {
            match name.below(prefix.root()) {
                Ok(dir) => {
                    let level = name.as_path().components().count();
                    levels.entry(level).or_default().insert(dir);
                }
                Err(error) => made = made.and(Err::<(), Error>(error)),
            }
        }
    }
    let deepest = levels.keys().next_back().copied().unwrap_or(0);
    let mut terms = [Term::Max(deepest as i64)];
    comm.allreduce(&mut terms)?;
    for level in 1..=terms[0].value() as usize {
        if level > 1 {
            comm.barrier()?;
        }
        for dir in levels.get(&level).into_iter().flatten() {
            made = made.and_then(|()| files.make_dirs(dir));
        }
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::threads;
    use crate::prefix::paths::Prefix;
    use crate::store::counting::CountingFiles;
    use crate::store::posix::Posix;

    /// The inner results of ranks that each give some directories, and how many were made.
    fn made(
        size: usize,
        root: &Path,
        dirs: impl Fn(usize) -> Vec<String> + Sync,
    ) -> (Vec<Result<()>>, u64) {
        let prefix = Prefix::new(root);
        let files = CountingFiles::new(Posix);
        let results = threads::run(size, |comm| {
            let access = PrefixAccess {
                comm: &*comm,
                files: &files,
                prefix: &prefix,
                node: "n0",
                first_of_node: comm.rank() == 0,
                width: 1,
                buffer: 1,
                metadata: false,
                watch: &(),
            };
            let dirs = dirs(comm.rank()).iter().map(|dir| root.join(dir)).collect();
            make(&access, &dirs).unwrap()
        });
        (results, files.tally().take()["make_dirs"])
    }

    #[test]
    fn each_directory_is_made_once_and_after_those_above_it() {
        let dir = tempfile::tempdir().unwrap();
        let (results, count) = made(7, dir.path(), |rank| {
            vec![
                "ck.1/all".to_string(),
                format!("ck.1/of/{}", rank % 3),
                String::new(),
            ]
        });
        assert_eq!(results, vec![Ok(()); 7]);
        // ck.1, all, of, and three in it.
        assert_eq!(count, 6);
        for name in ["ck.1/all", "ck.1/of/0", "ck.1/of/1", "ck.1/of/2"] {
            assert!(dir.path().join(name).is_dir(), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_made_is_an_error_on_the_rank_that_tried() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ck.1"), "a file").unwrap();
        let (results, _) = made(3, dir.path(), |rank| vec![format!("ck.1/{rank}")]);
        let errors: Vec<String> = results
            .into_iter()
            .filter_map(|result| Some(result.err()?.to_string()))
            .collect();
        assert!(!errors.is_empty());
        assert!(
            errors.iter().all(|text| text.contains("ck.1")),
            "{errors:?}"
        );
    }
}
