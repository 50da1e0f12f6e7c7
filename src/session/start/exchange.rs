//! Each rank reports to rank 0, which answers with its redundancy sets and with whom it shares its
//! stores.

use super::consistency::{RootSettings, difference};
use crate::Result;
use crate::comm::{AtRoot, Communicator, collective};
use crate::config::Config;
use crate::config::descriptors::Descriptors;
use crate::format::{from_message, from_tree, to_message, unpack};
use crate::redundancy::Set;
use crate::redundancy::topology::{
    RankAssignment, RankReport, SetMembership, SetPlan, assign, domains_of_nodes, first_different,
};
use crate::session::datasets::survey::Survey;

/// Exchanges report and answer. Gives the answer and this rank's sets; the survey knows all
/// leaders and failure domains. `common` is what must be the same on all ranks. Collective.
///
/// # Errors
/// A rank has other settings than rank 0.
pub(in crate::session) fn exchange(
    comm: &dyn Communicator,
    node: &str,
    config: &Config,
    descriptors: &Descriptors,
    common: &[u8],
) -> Result<(RankAssignment, Vec<Set>, AtRoot<Survey>)> {
    let report = RankReport::new(node, descriptors, collective::fingerprint(common));
    let reports = collective::gather(comm, 0, to_message(&report)?)?;
    let mut survey = AtRoot::new(comm, Survey::default);
    let messages = survey.as_mut().map(|survey| {
        let reports = reports.unwrap_or_default();
        answers(&reports, descriptors, common, survey)
    });
    let message = messages.scatter(comm, node)?;
    let received = read_answer(&message, config, descriptors, common);
    let (assignment, sets) = collective::agree(comm, node, received)?;
    Ok((assignment, sets, survey))
}

/// This rank's assignment and sets. Local.
fn read_answer(
    message: &[u8],
    config: &Config,
    descriptors: &Descriptors,
    common: &[u8],
) -> Result<(RankAssignment, Vec<Set>)> {
    let (tree, used) = unpack(message)?;
    let assignment = from_tree::<RankAssignment>(&tree)?;
    if let Some(node) = &assignment.first_different {
        let packed = message.get(used..).unwrap_or_default();
        let root = RootSettings { node, packed };
        return Err(difference(common, &root, config, descriptors));
    }
    let sets = assignment.sets.iter().cloned().map(SetMembership::set);
    let sets = sets.collect::<Result<_>>()?;
    Ok((assignment, sets))
}

/// Rank 0: the answers to the reports of all ranks, which tell the survey where they are. If ranks have
/// other settings than rank 0, the first of them gets rank 0's, so that it can name the difference.
fn answers(
    reports: &[Vec<u8>],
    descriptors: &Descriptors,
    common: &[u8],
    survey: &mut Survey,
) -> Result<Vec<Vec<u8>>> {
    let read = reports.iter().map(|bytes| from_message(bytes));
    let reports = read.collect::<Result<Vec<RankReport>>>()?;
    if let Some(rank) = first_different(&reports) {
        let mut messages = vec![to_message(&RankAssignment::default())?; reports.len()];
        let reply = RankAssignment {
            first_different: reports.first().map(|root| root.node.clone()),
            ..RankAssignment::default()
        };
        if let Some(message) = messages.get_mut(rank) {
            *message = [&to_message(&reply)?, common].concat();
        }
        return Ok(messages);
    }
    let answers = assign(&reports, &SetPlan::all(descriptors))?;
    for store in 0..descriptors.stores.len() {
        let sharing = answers.iter().filter_map(|a| a.stores.get(store));
        survey
            .leaders
            .push(sharing.map(|sharing| sharing.leader).collect());
        survey.domains.push(domains_of_nodes(&reports, store));
    }
    answers.iter().map(to_message).collect()
}
