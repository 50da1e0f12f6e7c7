//! Plans which blocks the members send to each other, and in which order.

use super::verdict::{DATA, MemberState, PARITY};
use crate::redundancy::Context;
use crate::redundancy::code::{Block, BlockPlace, Code};
use crate::redundancy::pipeline::{self, PieceTask, Route};
use crate::{Error, Result};

/// The lost blocks that are rebuilt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ToRebuild {
    Nothing,
    Data,
    DataAndRedundancy,
}

impl ToRebuild {
    fn includes(self, place: BlockPlace) -> bool {
        match (self, place) {
            (ToRebuild::Nothing, _) | (ToRebuild::Data, BlockPlace::Parity(_)) => false,
            (ToRebuild::Data | ToRebuild::DataAndRedundancy, _) => true,
        }
    }
}

/// The columns with work to do, in rising order, and their routes: columns with lost blocks
/// `to_rebuild`, and columns with blocks of the members `relocated_members`, which their holders send.
pub(super) fn plan_routes(
    code: &Code,
    all: &[MemberState],
    relocated_members: &[usize],
    to_rebuild: ToRebuild,
) -> Result<(Vec<usize>, Vec<Route>)> {
    let (mut columns, mut routes) = (Vec::new(), Vec::new());
    for column in 0..code.members() {
        let route = route(code, all, column, relocated_members, to_rebuild)?;
        if !(route.targets.is_empty() && route.relocated.is_empty()) {
            columns.push(column);
            routes.push(route);
        }
    }
    Ok((columns, routes))
}

fn is_lost(all: &[MemberState], block: &Block) -> bool {
    let what = match block.place {
        BlockPlace::Data(_) => DATA,
        BlockPlace::Parity(_) => PARITY,
    };
    all.get(block.member).is_none_or(|state| state.lacks(what))
}

/// The route of one column. The member has sources only if it has targets.
fn route(
    code: &Code,
    all: &[MemberState],
    column: usize,
    relocated_members: &[usize],
    to_rebuild: ToRebuild,
) -> Result<Route> {
    let blocks = code.column(column);
    let (mut targets, mut sources): (Vec<usize>, Vec<usize>) =
        (0..blocks.len()).partition(|b| blocks.get(*b).is_some_and(|b| is_lost(all, b)));
    let members = |list: &[usize]| -> Vec<usize> {
        let blocks = list.iter().filter_map(|b| blocks.get(*b));
        blocks.map(|block| block.member).collect()
    };
    let mut relocated = members(&sources);
    relocated.retain(|member| relocated_members.contains(member));
    targets.retain(|b| blocks.get(*b).is_some_and(|b| to_rebuild.includes(b.place)));
    let mut coefficients = Vec::new();
    if targets.is_empty() {
        sources.clear();
    } else {
        let turn = column % sources.len().max(1);
        sources.rotate_left(turn);
        sources.truncate(code.data());
        let solution = code.solve(column, &sources, &targets);
        coefficients = solution.ok_or_else(|| Error::format(0, "the code has no solution"))?;
    }
    Ok(Route {
        sources: members(&sources),
        targets: members(&targets),
        coefficients,
        relocated,
    })
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
    let lane = move |data: bool| {
        let each = columns.iter().zip(routes).enumerate();
        let each =
            each.filter(move |(_, (column, route))| rebuilds_data(code, **column, route) == data);
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

/// True if a column lost data.
fn rebuilds_data(code: &Code, column: usize, route: &Route) -> bool {
    let blocks = code.column(column);
    let mut lost = blocks.iter().filter(|b| route.targets.contains(&b.member));
    lost.any(|b| matches!(b.place, BlockPlace::Data(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::solo::Solo;
    use crate::redundancy::Set;
    use crate::redundancy::code::CodeKind;
    use crate::store::posix::Posix;
    use std::collections::BTreeMap;
    use std::path::Path;

    const MEMBERS: usize = 5;
    const SIZES: [u64; MEMBERS] = [70, 0, 33, 100, 8];

    fn codes() -> impl Iterator<Item = Code> {
        [CodeKind::Copies, CodeKind::Sum, CodeKind::Products]
            .into_iter()
            .filter_map(|kind| Code::new(kind, MEMBERS, 2))
    }

    /// Every way for each of the members to have these parts.
    fn all_states() -> impl Iterator<Item = Vec<MemberState>> {
        (0..4u64.pow(MEMBERS as u32)).map(|number| {
            let parts = [DATA | PARITY, DATA, PARITY, 0];
            let state = |member: usize| MemberState {
                has: parts[(number >> (2 * member) & 3) as usize],
                id: 0,
                created: 0,
                piece: 0,
                chunk: 0,
                size: 0,
                lefts: Vec::new(),
            };
            (0..MEMBERS).map(state).collect()
        })
    }

    fn is_recoverable(code: &Code, all: &[MemberState]) -> bool {
        let lost = |what| all.iter().map(|s| s.lacks(what)).collect::<Vec<_>>();
        code.recoverable(&lost(DATA), &lost(PARITY))
    }

    #[test]
    fn lost_blocks_are_rebuilt_from_present_ones() {
        for code in codes() {
            for all in all_states().filter(|all| is_recoverable(&code, all)) {
                for to_rebuild in [ToRebuild::Data, ToRebuild::DataAndRedundancy] {
                    let (columns, routes) = plan_routes(&code, &all, &[], to_rebuild).unwrap();
                    let planned: BTreeMap<usize, &Route> =
                        columns.iter().copied().zip(&routes).collect();
                    for column in 0..MEMBERS {
                        let (mut present, mut wanted) = (Vec::new(), Vec::new());
                        for block in code.column(column) {
                            let is_data = matches!(block.place, BlockPlace::Data(_));
                            if !all[block.member].lacks(if is_data { DATA } else { PARITY }) {
                                present.push(block.member);
                            } else if is_data || to_rebuild == ToRebuild::DataAndRedundancy {
                                wanted.push(block.member);
                            }
                        }
                        let Some(route) = planned.get(&column) else {
                            assert!(wanted.is_empty());
                            continue;
                        };
                        assert_eq!(route.targets, wanted);
                        assert_eq!(route.sources.len(), code.data());
                        assert!(route.sources.iter().all(|m| present.contains(m)));
                        let coefficients = route.sources.len() * route.targets.len();
                        assert_eq!(route.coefficients.len(), coefficients);
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_of_moved_members_are_sent_in_each_of_their_columns() {
        for code in codes() {
            let all = all_states().next().unwrap();
            let (columns, routes) = plan_routes(&code, &all, &[3], ToRebuild::Nothing).unwrap();
            let has_block = |column: &usize| code.column(*column).iter().any(|b| b.member == 3);
            assert!((0..MEMBERS).filter(has_block).eq(columns));
            for route in routes {
                assert!(route.sources.is_empty() && route.targets.is_empty());
                assert_eq!(route.relocated, [3]);
            }
        }
    }

    #[test]
    fn tasks_cover_each_block_once_front_to_back() {
        for code in codes() {
            for all in all_states().filter(|all| is_recoverable(&code, all)) {
                let everything = ToRebuild::DataAndRedundancy;
                let (columns, routes) = plan_routes(&code, &all, &[], everything).unwrap();
                let mut done = vec![0; columns.len()];
                for task in rebuild_tasks(&code, &columns, &routes, &SIZES, 16) {
                    assert_eq!(task.offset, done[task.route]);
                    assert!(routes[task.route].sources.contains(&task.worker));
                    done[task.route] += task.length as u64;
                }
                let lengths = columns.iter().map(|column| code.length(&SIZES, *column));
                assert!(lengths.eq(done));
            }
        }
    }

    #[test]
    fn those_compute_who_have_hold_or_keep_the_most_blocks() {
        let set = Set::new(0, vec![4, 5, 6]).unwrap();
        let workers = |holders: &[usize]| {
            let context = Context {
                comm: &Solo::new(),
                files: &Posix,
                set: &set,
                data_dir: Path::new(""),
                common: false,
                meta_dir: Path::new(""),
                piece: 1,
                tag: 0,
                holders,
                sync: false,
                watch: &(),
            };
            let route = Route {
                sources: vec![0, 1],
                targets: vec![2],
                coefficients: Vec::new(),
                relocated: Vec::new(),
            };
            super::workers(&context, &[route])
        };
        assert_eq!(workers(&[]), [[0, 1, 2]], "each has one block");
        // Rank 6 also holds the block of rank 4.
        assert_eq!(workers(&[6, 5, 4]), [[2]]);
    }
}
