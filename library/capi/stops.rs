//! The stops of a program that is rehearsed with `scr rehearse --explain` or `--list`, which looks at the program's memory
//! meanwhile: after a restart was complete, after each checkpoint, and at the end of the run. Without the command a call is one
//! test.
//!
//! The directory of a rank has the record of the stop ([`Stop`]). The rank waits until the command lets it go on, or has gone.

use super::process::Reply;
use crate::format::stop::{COMMAND, Field, Frame, GO, Moment, RECORD, REGISTERS, Stop, VARIABLE};
use crate::job::Machine;
use crate::version;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Time between two looks whether the program may go on.
const PAUSE: Duration = Duration::from_millis(2);

/// A stop has at most so many frames.
const MOST_FRAMES: usize = 64;

#[derive(Default)]
struct Stops {
    count: u64,
    /// The dataset that is being written is a checkpoint.
    checkpoint: bool,
    /// The fields that each session has listed last.
    listed: BTreeMap<c_int, Vec<Field>>,
    /// The names of those that are in memory which the processor does not read.
    remote: BTreeMap<c_int, Vec<String>>,
    /// The files of the dataset that was begun last: names in the program, and paths.
    files: Vec<(String, String)>,
}

static STOPS: Mutex<Stops> = Mutex::new(Stops {
    count: 0,
    checkpoint: false,
    listed: BTreeMap::new(),
    remote: BTreeMap::new(),
    files: Vec::new(),
});

/// The memory of a field.
pub(super) struct Listed<'a> {
    pub address: usize,
    /// Size of an element, bytes.
    pub size: u64,
    pub extents: &'a [i64],
    /// Distances of elements in bytes; `None` if they lie one after the other.
    pub strides: Option<&'a [i64]>,
}

impl Listed<'_> {
    /// A count.
    pub fn number(address: usize) -> Self {
        Listed {
            address,
            size: 8,
            extents: &[],
            strides: None,
        }
    }
}

fn stage() -> Option<&'static Path> {
    static STAGE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let stage = STAGE.get_or_init(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    stage.as_deref()
}

fn with<T>(work: impl FnOnce(&mut Stops) -> T) -> T {
    work(&mut STOPS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A dataset is begun.
pub(super) fn begins(checkpoint: bool) {
    if stage().is_some() {
        with(|stops| {
            stops.checkpoint = checkpoint;
            stops.files.clear();
        });
    }
}

/// The program is given the path of a file in a dataset.
pub(super) fn routes(name: &Path, path: &Path) {
    if stage().is_none() {
        return;
    }
    // Another path cannot be told in a line.
    if let Some(path) = path.to_str().filter(|path| !path.contains('\n')) {
        let name = name.to_string_lossy().into_owned();
        with(|stops| stops.files.push((name, path.to_string())));
    }
}

/// A checkpoint of files was read, if the call was a success.
pub(super) fn restored(reply: &Reply<()>) {
    if matches!(reply, Reply::Done(())) {
        stop(Moment::Restored);
    }
}

/// The run is about to end.
pub(super) fn ends() {
    stop(Moment::End);
}

/// A dataset of files is complete, if the call was a success.
pub(super) fn completed(reply: &Reply<()>) {
    if stage().is_some() && matches!(reply, Reply::Done(())) {
        let is_checkpoint = with(|stops| stops.checkpoint);
        stop(if is_checkpoint {
            Moment::Checkpoint
        } else {
            Moment::Output
        });
    }
}

/// The routine of the program begins to list its state.
pub(super) fn list_begins(session: c_int) {
    if stage().is_some() {
        with(|stops| {
            stops.listed.insert(session, Vec::new());
            stops.remote.insert(session, Vec::new());
            stops.files.clear();
        });
    }
}

/// A field is listed. `name` is asked for its name if a command looks.
pub(super) fn lists(session: c_int, field: &Listed<'_>, name: impl FnOnce() -> String) {
    if stage().is_none() || field.address == 0 {
        return;
    }
    let count = |extent: &i64| u64::try_from(*extent).unwrap_or(0);
    let dims = match field.strides {
        None => {
            let all = field.extents.iter().map(count);
            vec![(all.fold(1, u64::saturating_mul), field.size.cast_signed())]
        }
        Some(strides) => (field.extents.iter().map(count))
            .zip(strides.iter().copied())
            .collect(),
    };
    let field = Field {
        name: name(),
        address: field.address as u64,
        size: field.size,
        dims,
    };
    with(|stops| stops.listed.entry(session).or_default().push(field));
}

/// A field in memory that the processor does not read is listed, as that of a device.
pub(super) fn lists_remote(session: c_int, name: impl FnOnce() -> String) {
    if stage().is_some() {
        let name = name();
        with(|stops| stops.remote.entry(session).or_default().push(name));
    }
}

/// Waits until the command has looked.
pub(super) fn stop(moment: Moment) {
    let Some(dir) = stage() else {
        return;
    };
    let session = super::table::current();
    let (count, listed, remote, files) = with(|stops| {
        stops.count += 1;
        let listed = stops.listed.get(&session).cloned();
        let remote = stops.remote.get(&session).cloned().unwrap_or_default();
        let files = stops.files.clone();
        (stops.count, listed.unwrap_or_default(), remote, files)
    });
    // SAFETY: a system call without pointers. It fails where the kernel has no such rule, and need not be called there.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
    let frames = frames();
    let stop = Stop {
        number: count,
        moment,
        process: std::process::id(),
        machine: Machine::here().to_string(),
        fields: listed,
        remote,
        files,
        thread: thread_pointer() as u64,
        frames: frames.all,
    };
    let text = stop.encode(version::RELEASE);
    let (new, record) = (dir.join("new"), dir.join(RECORD));
    let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &record));
    // Without a record nobody looks.
    if written.is_ok() {
        wait(dir, count);
    }
    std::hint::black_box(&frames.registers);
}

/// Waits until the command lets stop `count` go on, or has gone.
fn wait(dir: &Path, count: u64) {
    let text = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap_or_default();
    let command = text(COMMAND);
    let (command, machine) = command.split_once('\n').unwrap_or_default();
    // Elsewhere this process cannot be looked at.
    let is_here =
        Machine::parse(machine).is_some_and(|other| Machine::here().has_the_processes_of(&other));
    let command = PathBuf::from(format!("/proc/{command}"));
    let may_go = || text(GO).parse::<u64>().is_ok_and(|go| go >= count);
    while is_here && !may_go() && command.exists() {
        std::thread::sleep(PAUSE);
    }
}

/// The address from which the variables of this thread are counted; 0 if that is not known.
fn thread_pointer() -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let pointer: usize;
        // SAFETY: the system's convention has the address of the thread's own data in its first word, which is only read.
        unsafe {
            std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags));
        };
        pointer
    }
    #[cfg(target_arch = "aarch64")]
    {
        let pointer: usize;
        // SAFETY: reads a register that each program may read.
        unsafe {
            std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags));
        };
        pointer
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    0
}

/// The frame pointer is one of [`REGISTERS`].
#[cfg(target_arch = "x86_64")]
const FRAME_POINTER: c_int = 6;
#[cfg(not(target_arch = "x86_64"))]
const FRAME_POINTER: c_int = 29;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
    fn _Unwind_GetCFA(frame: *mut c_void) -> usize;
    fn _Unwind_GetGR(frame: *mut c_void, register: c_int) -> usize;
}

/// The frames of this thread.
struct Frames {
    /// The innermost is the first.
    all: Vec<Frame>,
    /// The registers of each frame. They stay where they are while the command looks.
    registers: Vec<[usize; REGISTERS.len()]>,
}

#[inline(never)]
fn frames() -> Frames {
    extern "C" fn add(frame: *mut c_void, data: *mut c_void) -> c_int {
        // SAFETY: `data` are the frames below, which nothing else uses meanwhile, and the frame is that of the unwinder, which
        // has a value for a register that a called function must keep.
        let (frames, ip, cfa, pointer, registers) = unsafe {
            (
                &mut *data.cast::<Frames>(),
                _Unwind_GetIP(frame),
                _Unwind_GetCFA(frame),
                _Unwind_GetGR(frame, FRAME_POINTER),
                REGISTERS.map(|register| _Unwind_GetGR(frame, c_int::from(register))),
            )
        };
        frames.registers.push(registers);
        let place = frames
            .registers
            .last()
            .map_or(0, |last| last.as_ptr().addr());
        frames.all.push(Frame {
            instruction: ip as u64,
            cfa: cfa as u64,
            pointer: pointer as u64,
            registers: place as u64,
        });
        // Not zero ends the walk.
        c_int::from(frames.all.len() >= MOST_FRAMES)
    }
    let mut frames = Frames {
        all: Vec::new(),
        registers: Vec::with_capacity(MOST_FRAMES),
    };
    // SAFETY: the unwinder calls `add` with the frames, during this call only.
    unsafe { _Unwind_Backtrace(add, (&raw mut frames).cast()) };
    frames
}
