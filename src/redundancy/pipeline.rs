//! Moves blocks through a set: from the members that have them to the member that computes, and
//! from there to the members that keep the results.
//!
//! All members go through the same list of tasks, each a piece of a column. A task passes three
//! stages, a window of tasks apart: its sources are read and sent; the worker computes; the results
//! are written. So many large messages are in progress at any time, receives are posted before most
//! sends, and disk, network and arithmetic overlap. A stage waits only for earlier steps of other
//! members. So the member that is furthest behind can always continue, and there is no deadlock.
//!
//! If another rank holds a member's part ([`Context::holders`]), one more stage comes first: the
//! holder sends the member's blocks to it. The member writes them, and uses them as if it had read
//! them. If the holder is the worker, it uses the blocks that it holds.
//!
//! Few bytes are sent: for d blocks that give k results, d + k - 1 are sent, since the worker has
//! one of them. Encoding sends 1 + (k - 1) / d bytes for each byte of data (PARTNER: k), the same
//! on every member.

use super::Context;
use super::kernel::Kernel;
use crate::Result;
use crate::comm::Pending;
use crate::system::size::scaled;
use std::collections::VecDeque;

/// Bytes in the buffers of one stage. There are about four stages.
const STAGE: usize = 1 << 20;

/// Smallest piece that saving memory leads to, bytes.
const SMALLEST: usize = 16 << 10;

/// Tasks in one stage, in sets of two as well, if `SCR_MPI_BUF_SIZE` allows it.
const LEAST_TASKS: usize = 4;

/// Most tasks in one stage, which limits the queues of small pieces.
const MOST_TASKS: usize = 64;

/// The work on one column. Members are indices in the set.
#[derive(Default)]
pub struct Route {
    /// Members whose blocks are the input.
    pub sources: Vec<usize>,
    /// Members that keep the results.
    pub targets: Vec<usize>,
    /// For each target, the coefficient of each source.
    pub coefficients: Vec<u8>,
    /// Members whose blocks their holders send to them, whether they are sources or not.
    pub relocated: Vec<usize>,
}

/// One piece of a column.
pub struct PieceTask {
    /// Index of the route of the piece.
    pub route: usize,
    /// The member that computes.
    pub worker: usize,
    /// Offset in the block, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: usize,
}

/// The blocks of a member. No function fails: the exchange goes on after an error.
pub trait MemberBlocks {
    /// Fills `buffer` from this member's block for that route.
    fn read(&mut self, route: usize, offset: u64, buffer: &mut [u8]);
    /// Takes the next bytes of this member's result; the bytes of one route come in order. Returns
    /// a used buffer, if there is one.
    fn write(&mut self, route: usize, bytes: Vec<u8>) -> Option<Vec<u8>>;
    /// Fills `buffer` from the block of a member whose part this rank holds.
    fn read_held(&mut self, _route: usize, _offset: u64, buffer: &mut [u8]) {
        buffer.fill(0);
    }
    /// Takes the next bytes of this member's block from its holder; the bytes of one route come in
    /// order.
    fn write_relocated(&mut self, _route: usize, _bytes: &[u8]) {}
}

/// Length of pieces, and number of tasks in a stage, from `SCR_MPI_BUF_SIZE` and the size of a set.
/// A stage has at least as many tasks as there are members, so that each member computes one of
/// them.
pub fn shape(piece: usize, members: usize) -> (usize, usize) {
    let members = members.max(1);
    let (stage, smallest) = (scaled(STAGE), scaled(SMALLEST));
    let piece = piece.clamp(1, (stage / members.max(LEAST_TASKS)).max(smallest));
    (piece, (stage / piece).min(MOST_TASKS).max(members))
}

/// Offsets and lengths of the pieces of a block.
pub fn pieces(length: u64, piece: usize) -> impl Iterator<Item = (u64, usize)> {
    let piece = piece.max(1);
    (0..length)
        .step_by(piece)
        .map(move |at| (at, (length - at).min(piece as u64) as usize))
}

/// The pieces of blocks of these lengths, side by side: the first piece of each block, then the
/// second of each, and so on. Gives the index of the block, offset and length.
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

/// A task that this member takes part in.
struct TaskInProgress {
    task: PieceTask,
    /// This member's block, which its holder sends.
    arriving: Option<Buffer>,
    /// The block of a source, if the worker holds the part of that source.
    held: Option<Vec<u8>>,
    /// The blocks of the sources, in order. Only the worker has them.
    inputs: Vec<Buffer>,
    /// The result. Only a target has it.
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

/// Carries out all tasks. Collective: all members of the set call it with the same routes, tasks
/// and window. Errors are failures of communication.
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
    let (mut relocating, mut gathering) = (VecDeque::new(), VecDeque::new());
    let mut spreading = VecDeque::new();
    for task in tasks {
        relocating.push_back(pipeline.relocate(task)?);
        if relocating.len() > ahead
            && let Some(current) = relocating.pop_front()
        {
            gathering.push_back(pipeline.send_sources(current)?);
        }
        if gathering.len() > window
            && let Some(current) = gathering.pop_front()
        {
            spreading.push_back(pipeline.compute(current)?);
        }
        if spreading.len() > window
            && let Some(current) = spreading.pop_front()
        {
            pipeline.store_result(current)?;
        }
    }
    for current in relocating {
        gathering.push_back(pipeline.send_sources(current)?);
    }
    for current in gathering {
        spreading.push_back(pipeline.compute(current)?);
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

    /// True if the worker holds the part of that source.
    fn worker_holds(&self, task: &PieceTask, source: usize) -> bool {
        let worker = self.context.member(task.worker);
        task.worker != source && self.context.holder(source) == worker
    }

    /// Stage before the first: holders send, and members post receives for their own blocks.
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

    /// First stage: sources are read and sent, and the worker posts receives for them.
    fn send_sources(&mut self, mut current: TaskInProgress) -> Result<TaskInProgress> {
        let (route, me) = (self.route(&current.task), self.context.set.index);
        let &PieceTask {
            worker,
            offset,
            length,
            ..
        } = &current.task;
        self.recycle(&mut current.sends)?;
        let mut arrived = current.arriving.take().map(Buffer::get).transpose()?;
        if let Some(bytes) = &arrived {
            self.ends.write_relocated(current.task.route, bytes);
        }
        for source in &route.sources {
            if self.worker_holds(&current.task, *source) {
                current
                    .inputs
                    .extend(current.held.take().map(Buffer::Ready));
            } else if *source == me {
                let buffer = arrived.take().unwrap_or_else(|| {
                    let mut buffer = self.buffer(length);
                    self.ends.read(current.task.route, offset, &mut buffer);
                    buffer
                });
                if worker == me {
                    current.inputs.push(Buffer::Ready(buffer));
                } else {
                    current.sends.push(self.send(worker, buffer)?);
                }
            } else if worker == me {
                current.inputs.push(self.receive(*source, length)?);
            }
        }
        self.spare.extend(arrived);
        Ok(current)
    }

    /// Second stage: the worker computes and sends, and the targets post receives for their
    /// results.
    fn compute(&mut self, mut current: TaskInProgress) -> Result<TaskInProgress> {
        let (route, me) = (self.route(&current.task), self.context.set.index);
        let length = current.task.length;
        self.recycle(&mut current.sends)?;
        if current.task.worker != me || route.targets.is_empty() {
            if route.targets.contains(&me) {
                current.result = Some(self.receive(current.task.worker, length)?);
            }
            return Ok(current);
        }
        let inputs = std::mem::take(&mut current.inputs).into_iter();
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
                current.result = Some(Buffer::Ready(result));
            } else {
                current.sends.push(self.send(*target, result)?);
            }
        }
        Ok(current)
    }

    /// Last stage: a target writes its result.
    fn store_result(&mut self, mut current: TaskInProgress) -> Result<()> {
        if let Some(result) = current.result.take() {
            let buffer = result.get()?;
            self.spare
                .extend(self.ends.write(current.task.route, buffer));
        }
        self.recycle(&mut current.sends)?;
        self.context.watch.moved(current.task.length as u64);
        Ok(())
    }

    fn recycle(&mut self, sends: &mut Vec<Box<dyn Pending>>) -> Result<()> {
        for send in sends.drain(..) {
            self.spare.push(send.wait()?);
        }
        Ok(())
    }
}
