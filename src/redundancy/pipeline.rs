//! Moves blocks through a set: from the members that have some to the member that computes,
//! and from there to those that keep the results.
//!
//! All members walk through one list of tasks, each a piece of a column. A task passes three
//! stages, a window of tasks apart: its sources are read and sent; they are computed with;
//! the results are written. So many large messages are under way at any time, receives are
//! posted ahead of most sends, and disk, network and arithmetic overlap. A stage waits only
//! for stages of earlier steps of others, so the member that is furthest behind never waits
//! in vain, and nothing can block for ever.
//!
//! Where a member's blocks lie on another member's node ([`Context::holders`]), a stage comes
//! before these: the holder sends them to the member, which keeps what arrives and works with
//! it, as if it had read it. If the holder is the one that computes, it does so with what it has.
//!
//! What moves is little: where d blocks make k, d + k - 1 of them travel, since the member
//! that computes has one of them. Encoding sends 1 + (k - 1) / d bytes for each byte of data
//! (PARTNER: k), the same on every member.

use super::Context;
use super::kernel::Kernel;
use crate::Result;
use crate::comm::Pending;
use std::collections::VecDeque;

/// Bytes in the buffers of one stage, of which there are about four.
const STAGE: usize = 1 << 20;

/// A piece is not made smaller than this to save memory.
const SMALLEST: usize = 16 << 10;

/// Tasks in one stage if the parameter allows, for sets of two as well.
const LEAST_TASKS: usize = 4;

/// Most tasks in one stage, so that small pieces do not make long queues.
const MOST_TASKS: usize = 64;

/// What is done with one column. Members are indices in the set.
pub struct Route {
    /// Who has the blocks to compute with.
    pub sources: Vec<usize>,
    /// Who gets the results.
    pub targets: Vec<usize>,
    /// For each target, the coefficient of each source.
    pub coefficients: Vec<u8>,
    /// Whose blocks come home from their holders, sources or not.
    pub relocated: Vec<usize>,
}

/// One piece of a column.
pub struct PieceTask {
    /// Index of its route.
    pub route: usize,
    /// Who computes.
    pub worker: usize,
    /// Place in the block, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: usize,
}

/// A member's own blocks. Neither function fails: the exchange goes on whatever happens.
pub trait MemberBlocks {
    /// Fills `buffer` from this member's block for that route.
    fn read(&mut self, route: usize, offset: u64, buffer: &mut [u8]);
    /// Takes the next bytes of this member's block; those of one route come in order. Gives a
    /// buffer for reuse, if there is one.
    fn write(&mut self, route: usize, bytes: Vec<u8>) -> Option<Vec<u8>>;
    /// Fills `buffer` from the block of the member whose part this one holds.
    fn read_held(&mut self, _route: usize, _offset: u64, buffer: &mut [u8]) {
        buffer.fill(0);
    }
    /// Takes the next bytes of this member's block, from its holder; in order for each route.
    fn write_relocated(&mut self, _route: usize, _bytes: &[u8]) {}
}

/// Length of pieces and tasks in a stage, from `SCR_MPI_BUF_SIZE` and the size of a set.
/// Each member works once in as many tasks as there are members, so at least as many are
/// under way.
pub fn shape(piece: usize, members: usize) -> (usize, usize) {
    let members = members.max(1);
    let piece = piece.clamp(1, (STAGE / members.max(LEAST_TASKS)).max(SMALLEST));
    (piece, (STAGE / piece).min(MOST_TASKS).max(members))
}

/// Offsets and lengths of the pieces of a block.
pub fn pieces(length: u64, piece: usize) -> impl Iterator<Item = (u64, usize)> {
    let piece = piece.max(1);
    (0..length)
        .step_by(piece)
        .map(move |at| (at, (length - at).min(piece as u64) as usize))
}

/// Offsets and lengths of the pieces of blocks of these lengths, side by side: of each block its
/// first piece, then of each the next. With each comes the place of its block in `lengths`.
pub fn side_by_side(lengths: Vec<u64>, piece: usize) -> impl Iterator<Item = (usize, u64, usize)> {
    let longest = lengths.iter().copied().max().unwrap_or(0);
    pieces(longest, piece).flat_map(move |(offset, most)| {
        let each = lengths.clone().into_iter().enumerate();
        each.filter_map(move |(block, length)| {
            let length = length.saturating_sub(offset).min(most as u64) as usize;
            (length > 0).then_some((block, offset, length))
        })
    })
}

/// A task of which this member has some part.
struct TaskInProgress {
    task: PieceTask,
    /// This member's block, on its way from its holder.
    arriving: Option<Buffer>,
    /// For a worker that is the holder of a source: that block.
    held: Option<Vec<u8>>,
    /// For the worker: the sources, in order; what it has is here already.
    inputs: Vec<Buffer>,
    /// This member's result: here, or on its way.
    result: Option<Buffer>,
    sends: Vec<Box<dyn Pending>>,
}

enum Buffer {
    Ready(Vec<u8>),
    Pending(Box<dyn Pending>),
}

impl Buffer {
    fn get(self) -> Result<Vec<u8>> {
        match self {
            Buffer::Ready(buffer) => Ok(buffer),
            Buffer::Pending(pending) => pending.wait(),
        }
    }
}

/// Carries out all tasks. All members of the set call it with the same routes, tasks and
/// window. An error is the transport's.
pub fn run(
    context: &Context,
    routes: &[Route],
    tasks: impl Iterator<Item = PieceTask>,
    window: usize,
    ends: &mut dyn MemberBlocks,
) -> Result<()> {
    let mut pipeline = Pipeline {
        context,
        routes,
        ends,
        kernel: Kernel::best(),
        spare: Vec::new(),
    };
    let relocates = routes.iter().any(|route| !route.relocated.is_empty());
    let ahead = if relocates { window } else { 0 };
    let (mut coming, mut gathering) = (VecDeque::new(), VecDeque::new());
    let mut spreading = VecDeque::new();
    for task in tasks {
        coming.push_back(pipeline.relocate(task)?);
        if coming.len() > ahead
            && let Some(flight) = coming.pop_front()
        {
            gathering.push_back(pipeline.send_sources(flight)?);
        }
        if gathering.len() > window
            && let Some(flight) = gathering.pop_front()
        {
            spreading.push_back(pipeline.compute(flight)?);
        }
        if spreading.len() > window
            && let Some(flight) = spreading.pop_front()
        {
            pipeline.store_result(flight)?;
        }
    }
    for flight in coming {
        gathering.push_back(pipeline.send_sources(flight)?);
    }
    for flight in gathering {
        spreading.push_back(pipeline.compute(flight)?);
    }
    spreading
        .into_iter()
        .try_for_each(|f| pipeline.store_result(f))
}

struct Pipeline<'a> {
    context: &'a Context<'a>,
    routes: &'a [Route],
    ends: &'a mut dyn MemberBlocks,
    kernel: Kernel,
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
}

impl<'a> Pipeline<'a> {
    fn buffer(&mut self, length: usize) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(length, 0);
        buffer
    }

    fn send(&self, member: usize, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        let context = self.context;
        context
            .comm
            .isend(context.member(member), context.tag, buffer)
    }

    fn receive(&mut self, member: usize, length: usize) -> Result<Buffer> {
        self.receive_from(self.context.member(member), length)
    }

    fn receive_from(&mut self, rank: usize, length: usize) -> Result<Buffer> {
        let buffer = self.buffer(length);
        let pending = self.context.comm.irecv(rank, self.context.tag, buffer)?;
        Ok(Buffer::Pending(pending))
    }

    fn route(&self, task: &PieceTask) -> &'a Route {
        const NONE: &Route = &Route {
            sources: Vec::new(),
            targets: Vec::new(),
            coefficients: Vec::new(),
            relocated: Vec::new(),
        };
        self.routes.get(task.route).unwrap_or(NONE)
    }

    /// Whether the one that computes is the holder of that source.
    fn worker_holds(&self, task: &PieceTask, source: usize) -> bool {
        let worker = self.context.member(task.worker);
        task.worker != source && self.context.holder(source) == worker
    }

    /// The stage before the first: holders send, and members ask for what is theirs.
    fn relocate(&mut self, task: PieceTask) -> Result<TaskInProgress> {
        let (route, context) = (self.route(&task), self.context);
        let (mut arriving, mut held, mut sends) = (None, None, Vec::new());
        for member in &route.relocated {
            let holder = context.holder(*member);
            if *member == context.set.index {
                arriving = Some(self.receive_from(holder, task.length)?);
            } else if holder == context.comm.rank() {
                let mut buffer = self.buffer(task.length);
                self.ends.read_held(task.route, task.offset, &mut buffer);
                if self.worker_holds(&task, *member) && route.sources.contains(member) {
                    let mut copy = self.spare.pop().unwrap_or_default();
                    copy.clone_from(&buffer);
                    held = Some(copy);
                }
                sends.push(self.send(*member, buffer)?);
            }
        }
        Ok(TaskInProgress {
            task,
            arriving,
            held,
            inputs: Vec::new(),
            result: None,
            sends,
        })
    }

    /// FirstError stage: what this member has is read and sent, what it will compute with is
    /// asked for.
    fn send_sources(&mut self, mut flight: TaskInProgress) -> Result<TaskInProgress> {
        let (route, me) = (self.route(&flight.task), self.context.set.index);
        let &PieceTask {
            worker,
            offset,
            length,
            ..
        } = &flight.task;
        self.recycle(&mut flight.sends)?;
        let mut arrived = flight.arriving.take().map(Buffer::get).transpose()?;
        if let Some(bytes) = &arrived {
            self.ends.write_relocated(flight.task.route, bytes);
        }
        for source in &route.sources {
            if self.worker_holds(&flight.task, *source) {
                flight.inputs.extend(flight.held.take().map(Buffer::Ready));
            } else if *source == me {
                let buffer = arrived.take().unwrap_or_else(|| {
                    let mut buffer = self.buffer(length);
                    self.ends.read(flight.task.route, offset, &mut buffer);
                    buffer
                });
                if worker == me {
                    flight.inputs.push(Buffer::Ready(buffer));
                } else {
                    flight.sends.push(self.send(worker, buffer)?);
                }
            } else if worker == me {
                flight.inputs.push(self.receive(*source, length)?);
            }
        }
        self.spare.extend(arrived);
        Ok(flight)
    }

    /// Second stage: the worker computes and sends, the targets ask for their results.
    fn compute(&mut self, mut flight: TaskInProgress) -> Result<TaskInProgress> {
        let (route, me) = (self.route(&flight.task), self.context.set.index);
        let length = flight.task.length;
        self.recycle(&mut flight.sends)?;
        if flight.task.worker != me || route.targets.is_empty() {
            if route.targets.contains(&me) {
                flight.result = Some(self.receive(flight.task.worker, length)?);
            }
            return Ok(flight);
        }
        let inputs = std::mem::take(&mut flight.inputs).into_iter();
        let inputs = inputs.map(Buffer::get).collect::<Result<Vec<_>>>()?;
        let results = if route.coefficients == [1] {
            inputs
        } else {
            let mut results: Vec<Vec<u8>> =
                route.targets.iter().map(|_| self.buffer(length)).collect();
            let sources: Vec<&[u8]> = inputs.iter().map(|buffer| &buffer[..]).collect();
            let mut targets: Vec<&mut [u8]> = results.iter_mut().map(|b| &mut b[..]).collect();
            self.kernel
                .apply(&route.coefficients, &sources, &mut targets);
            self.spare.extend(inputs);
            results
        };
        for (target, result) in route.targets.iter().zip(results) {
            if *target == me {
                flight.result = Some(Buffer::Ready(result));
            } else {
                flight.sends.push(self.send(*target, result)?);
            }
        }
        Ok(flight)
    }

    /// Last stage: a target keeps its result.
    fn store_result(&mut self, mut flight: TaskInProgress) -> Result<()> {
        if let Some(result) = flight.result.take() {
            let buffer = result.get()?;
            self.spare
                .extend(self.ends.write(flight.task.route, buffer));
        }
        self.recycle(&mut flight.sends)
    }

    fn recycle(&mut self, sends: &mut Vec<Box<dyn Pending>>) -> Result<()> {
        for send in sends.drain(..) {
            self.spare.push(send.wait()?);
        }
        Ok(())
    }
}
