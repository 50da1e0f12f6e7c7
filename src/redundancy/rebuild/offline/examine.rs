//! Examines the files of a set, and finds the records of members that lost theirs.

use super::{DatasetLocation, ExaminedSet, Member, MemberContext, SetRecord};
use crate::comm::Communicator;
use crate::comm::solo::Solo;
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::format::read_header;
use crate::redundancy::logical::total_size;
use crate::redundancy::parity_file::ParityReader;
use crate::redundancy::single::check_data;
use crate::redundancy::{Context, PartHealth, RankRecord, Set, Verification, known_scheme};
use crate::{Error, Result};

/// Examines the files of a set, and reads each byte once. `known` gives the file list of a rank's
/// own completion record. Without a record, the list comes from the redundancy file of the rank or
/// of a right neighbour. Local.
///
/// # Errors
/// The scheme is unknown, or the set is invalid. Missing or damaged files are no error here; see
/// [`ExaminedSet::members`].
pub fn examine<'a>(
    location: DatasetLocation<'a>,
    record: SetRecord<'a>,
    known: &dyn Fn(usize) -> Option<RankFiles>,
) -> Result<ExaminedSet<'a>> {
    let (dataset, members) = (record.dataset, &record.reddesc.members);
    let unusable = |what: String| Error::dataset(dataset.id, dataset.name.to_string(), what);
    let scheme = known_scheme(dataset, record.reddesc)?;
    let code = scheme.code(members.len());
    let contexts = members.iter().enumerate().map(|(index, &rank)| {
        let set = Set::new(index, members.clone());
        let set = set.filter(|_| rank < record.ranks);
        let set = set.ok_or_else(|| unusable("its redundancy set is damaged".to_string()))?;
        Ok(MemberContext {
            comm: Solo::of_rank(rank, record.ranks),
            set,
            data_dir: location.data.directory(rank),
        })
    });
    let mut set = ExaminedSet {
        location,
        record,
        scheme,
        code: code.map_err(|error| unusable(error.to_string()))?,
        contexts: contexts.collect::<Result<_>>()?,
        members: Vec::new(),
    };
    let members = (0..set.contexts.len()).map(|index| set.examine_member(index, known));
    set.members = members.collect::<Result<_>>()?;
    Ok(set)
}

impl ExaminedSet<'_> {
    fn examine_member(
        &self,
        index: usize,
        known: &dyn Fn(usize) -> Option<RankFiles>,
    ) -> Result<Member> {
        let context = self.context(index)?;
        let rank = context.comm.rank();
        let own = known(rank).and_then(|list| self.record(index, list));
        let mut unread = None;
        let record = own.or_else(|| self.record_from_redundancy(index, &mut unread));
        let health = match &record {
            Some(record) => PartHealth {
                data: check_data(&context, record, Verification::Full),
                parity: self.check_redundancy(&context, record),
            },
            None => {
                let lost = || self.lost(format!("the record of rank {rank} is lost"));
                let lost = unread.unwrap_or_else(lost);
                PartHealth {
                    data: Err(lost.clone()),
                    parity: Err(lost),
                }
            }
        };
        Ok(Member {
            rank,
            record,
            health,
        })
    }

    fn check_redundancy(&self, context: &Context, record: &RankRecord) -> Result<()> {
        let Some(code) = &self.code else {
            return Ok(());
        };
        let path = self.redundancy_file(context);
        ParityReader::open(context, path, record, code.parities())?.verify()
    }

    /// A file list as a member's record, if its names and sizes are valid.
    fn record(&self, index: usize, list: RankFiles) -> Option<RankRecord> {
        let usable = total_size(list.files.iter().map(|f| f.size)).is_ok()
            && self.location.data.check_names(&list).is_ok();
        let reddesc = self.record.reddesc.of_member(index)?;
        usable.then(|| RankRecord {
            dataset: self.record.dataset.clone(),
            reddesc,
            files: list,
        })
    }

    /// The record of a member that lost its own, from the header of its redundancy file or of a
    /// right neighbour's. `unread` is why one of these cannot be read, if that may pass.
    fn record_from_redundancy(
        &self,
        index: usize,
        unread: &mut Option<Error>,
    ) -> Option<RankRecord> {
        let code = self.code.as_ref()?;
        let rank = self.contexts.get(index)?.comm.rank();
        (0..=code.parities()).find_map(|steps| {
            let neighbour = self.context((index + steps) % code.members()).ok()?;
            let path = self.redundancy_file(&neighbour);
            let header = self
                .location
                .files
                .open(&path)
                .and_then(|file| read_header::<ParityHeader>(file.as_ref(), &path));
            let header = match header {
                Ok((header, _)) => header,
                Err(error) => {
                    if error.is_transient() {
                        unread.get_or_insert(error);
                    }
                    return None;
                }
            };
            let fits = header.dataset == *self.record.dataset
                && header.ranks == self.record.ranks
                && header.group.0 == self.record.reddesc.members
                && header.current.rank == neighbour.comm.rank();
            let mut lists = std::iter::once(&header.current).chain(header.partners());
            let list = lists.find(|list| list.rank == rank).filter(|_| fits)?;
            self.record(index, list.clone())
        })
    }
}
