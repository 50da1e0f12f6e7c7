//! Makes the directories of a dataset in the prefix directory: each directory is made by one rank
//! of the job.

use super::names::{Names, exchange_names, rank_of};
use crate::comm::{Communicator, Local, Term, collective};
use crate::store::Files;
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Makes `dirs`, which are below the prefix directory `root` or that itself, and their missing parents. A
/// rank gives the directories of its own files. The hash of its name tells which rank makes a
/// directory, after all those above it were made.
///
/// Collective: an exchange, an allreduce, and one for each level of directories below the first.
pub fn make(
    comm: &dyn Communicator,
    files: &dyn Files,
    root: &Path,
    dirs: &BTreeSet<PathBuf>,
) -> Result<Local<()>> {
    let below = dirs.iter().filter_map(|dir| dir.strip_prefix(root).ok());
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
            match name.below(root) {
                Ok(dir) => {
                    let level = name.as_path().components().count();
                    levels.entry(level).or_default().insert(dir);
                }
                Err(error) => made = made.and(Err::<(), Error>(error)),
            }
        }
    }
    let deepest = levels.keys().next_back().copied().unwrap_or(0);
    let [deepest] = collective::combine(comm, [Term::Max(deepest as i64)])?;
    for level in 1..=deepest.count() as usize {
        if level > 1 {
            comm.barrier()?;
        }
        for dir in levels.get(&level).into_iter().flatten() {
            made = made.and_then(|()| files.make_dirs(dir));
        }
    }
    Ok(made.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::posix::Posix;
    use crate::tally::CountingFiles;
    use crate::threads;

    /// The inner results of ranks that each give some directories, and how many were made.
    fn made(
        size: usize,
        root: &Path,
        dirs: impl Fn(usize) -> Vec<String> + Sync,
    ) -> (Vec<Result<()>>, u64) {
        let files = CountingFiles::new(Posix);
        let results = threads::run(size, |comm| {
            let dirs = dirs(comm.rank()).iter().map(|dir| root.join(dir)).collect();
            make(&*comm, &files, root, &dirs).unwrap().result()
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
