//! Which blocks are sent between which members, and in which order.

use super::verdict::{DATA, MemberState, PARITY};
use crate::redundancy::Context;
use crate::redundancy::code::{Block, BlockPlace, Code};
use crate::redundancy::pipeline::{self, PieceTask, Route};
use crate::{Error, Result};

/// Which lost blocks are rebuilt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ToRebuild {
    Nothing,
    Data,
    DataAndRedundancy,
}

/// The columns with work to do, in rising order, and their routes: columns with lost blocks
/// `to_rebuild`, and columns with blocks of the members `away`, which their holders send.
pub(super) fn plan_routes(
    code: &Code,
    all: &[MemberState],
    away: &[usize],
    to_rebuild: ToRebuild,
) -> Result<(Vec<usize>, Vec<Route>)> {
    let lost = |block: &Block| {
        let what = match block.place {
            BlockPlace::Data(_) => DATA,
            BlockPlace::Parity(_) => PARITY,
        };
        all.get(block.member).is_none_or(|state| state.lacks(what))
    };
    let is_to_rebuild = |block: &Block| match (to_rebuild, block.place) {
        (ToRebuild::Nothing, _) | (ToRebuild::Data, BlockPlace::Parity(_)) => false,
        (ToRebuild::Data | ToRebuild::DataAndRedundancy, _) => true,
    };
    let (mut columns, mut routes) = (Vec::new(), Vec::new());
    for column in 0..code.members() {
        let blocks = code.column(column);
        let (mut targets, mut sources): (Vec<usize>, Vec<usize>) =
            (0..blocks.len()).partition(|b| blocks.get(*b).is_some_and(lost));
        let members = |list: &[usize]| -> Vec<usize> {
            let block = list.iter().filter_map(|b| blocks.get(*b));
            block.map(|b| b.member).collect()
        };
        let mut relocated = members(&sources);
        relocated.retain(|member| away.contains(member));
        targets.retain(|b| blocks.get(*b).is_some_and(is_to_rebuild));
        let mut coefficients = Vec::new();
        if targets.is_empty() {
            sources.clear();
        } else {
            let turn = column % sources.len().max(1);
            sources.rotate_left(turn);
            sources.truncate(code.data());
            coefficients = code
                .solve(column, &sources, &targets)
                .ok_or_else(|| Error::format(0, "the code has no solution"))?;
        }
        if !(targets.is_empty() && relocated.is_empty()) {
            columns.push(column);
            routes.push(Route {
                sources: members(&sources),
                targets: members(&targets),
                coefficients,
                relocated,
            });
        }
    }
    Ok((columns, routes))
}

/// For each route, the members that need the fewest messages to compute it: those that have, hold
/// or keep the most of its blocks.
pub(super) fn workers(context: &Context, routes: &[Route]) -> Vec<Vec<usize>> {
    let set = context.set;
    let holders = (0..set.size()).map(|member| match context.holder(member) {
        rank if rank == context.member(member) => None,
        rank => set.members.iter().position(|m| *m == rank),
    });
    let holders: Vec<Option<usize>> = holders.collect();
    let best = |route: &Route| {
        let mut spared = vec![0; set.size()];
        let held = route
            .sources
            .iter()
            .filter_map(|s| holders.get(*s)?.as_ref());
        for member in route.sources.iter().chain(&route.targets).chain(held) {
            if let Some(spared) = spared.get_mut(*member) {
                *spared += 1;
            }
        }
        let most = spared.iter().copied().max().unwrap_or(0);
        let all = (0..).zip(spared);
        all.filter_map(|(member, spared)| (spared == most).then_some(member))
            .collect()
    };
    routes.iter().map(best).collect()
}

/// The tasks of a round in which parts are moved. They, too, are written front to back. Columns of
/// XOR and RS are done one after the other: each member has at most one block in a column, so all
/// members are busy. Columns of PARTNER are done side by side, since a member has data in only one
/// of them. The `workers` of a route take turns.
pub(super) fn relocation_tasks<'a>(
    code: &'a Code,
    columns: &'a [usize],
    workers: &'a [Vec<usize>],
    sizes: &'a [u64],
    piece: usize,
) -> impl Iterator<Item = PieceTask> + 'a {
    let beside = match code.chunk(sizes) {
        0 => columns.len(),
        _ => 1,
    };
    let groups = columns.chunks(beside.max(1)).enumerate();
    groups.flat_map(move |(group, columns)| {
        let lengths = columns.iter().map(|column| code.length(sizes, *column));
        let pieces = pipeline::side_by_side(lengths.collect(), piece);
        pieces.enumerate().map(move |(turn, (at, offset, length))| {
            let index = group * beside + at;
            let workers = workers.get(index).map_or(&[][..], |workers| workers);
            let worker = workers.get((turn + index) % workers.len().max(1));
            PieceTask {
                route: index,
                worker: worker.copied().unwrap_or(0),
                offset,
                length,
            }
        })
    })
}

/// The tasks of a round without moved parts: column after column, so that lost files are written
/// front to back. Columns that lost only redundancy are done in between. The workers change with
/// every piece.
pub(super) fn rebuild_tasks<'a>(
    code: &'a Code,
    columns: &'a [usize],
    routes: &'a [Route],
    sizes: &'a [u64],
    piece: usize,
) -> impl Iterator<Item = PieceTask> + 'a {
    let holds_data = move |(column, route): &(&usize, &Route)| {
        let blocks = code.column(**column);
        let mut lost = blocks.iter().filter(|b| route.targets.contains(&b.member));
        lost.any(|b| matches!(b.place, BlockPlace::Data(_)))
    };
    let lane = move |data: bool| {
        let each = columns.iter().zip(routes).enumerate();
        let each = each.filter(move |(_, both)| holds_data(both) == data);
        let total: u64 = each
            .clone()
            .map(|(_, (column, _))| code.length(sizes, *column))
            .sum();
        let tasks = each.flat_map(move |(index, (column, route))| {
            let pieces = pipeline::pieces(code.length(sizes, *column), piece);
            pieces.enumerate().map(move |(turn, (offset, length))| {
                let at = (turn + column) % route.sources.len().max(1);
                PieceTask {
                    route: index,
                    worker: route.sources.get(at).copied().unwrap_or(0),
                    offset,
                    length,
                }
            })
        });
        (tasks.peekable(), total.max(1) as f64, 0.0)
    };
    let (mut data, mut rest) = (lane(true), lane(false));
    std::iter::from_fn(move || {
        // All members do the same arithmetic, so they get the same order.
        let first = data.0.peek().is_some() && (data.2 <= rest.2 || rest.0.peek().is_none());
        let (tasks, total, done) = if first { &mut data } else { &mut rest };
        let task = tasks.next()?;
        *done += task.length as f64 / *total;
        Some(task)
    })
}
