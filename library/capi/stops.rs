//! The stops of a program that is rehearsed with `scr rehearse --explain` or `--list`, which looks at the program's memory
//! meanwhile: after a restart was complete, after each checkpoint, and at the end of the run. Without the command a call is one
//! test.
//!
//! The directory of a rank, in [`VARIABLE`], has the record of the stop, in which it is said what the program lists, which files
//! it has written, and where its frames are. The rank waits until the command has written the number of the stop into `go`, or
//! has gone.

use super::process::Reply;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Set by the command for each rank: the directory of its stops.
const VARIABLE: &str = "SCR_REHEARSAL_STOPS";

/// Time between two looks whether the program may go on.
const PAUSE: Duration = Duration::from_millis(2);

/// A stop has at most so many frames.
const MOST_FRAMES: usize = 64;

/// The reason for a stop.
#[derive(Clone, Copy)]
pub(super) enum Moment {
    /// The program has read a checkpoint.
    Restored,
    /// A dataset is complete.
    Written { checkpoint: bool },
    /// `SCR_Finalize` begins.
    Ends,
}

#[derive(Default)]
struct Stops {
    count: u64,
    /// The dataset that is being written is a checkpoint.
    checkpoint: bool,
    /// The fields that each session has listed last, a line for each.
    listed: BTreeMap<c_int, String>,
    /// The files of the dataset that was begun last, two lines for each.
    files: String,
}

static STOPS: Mutex<Stops> = Mutex::new(Stops {
    count: 0,
    checkpoint: false,
    listed: BTreeMap::new(),
    files: String::new(),
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
        let name = in_a_line(&name.to_string_lossy());
        with(|stops| stops.files.push_str(&format!("file {path}\nname {name}\n")));
    }
}

fn in_a_line(name: &str) -> String {
    name.replace(char::is_control, " ")
}

/// A checkpoint of files was read, if the call was a success.
pub(super) fn restored(reply: &Reply<()>) {
    if matches!(reply, Reply::Done(())) {
        stop(Moment::Restored);
    }
}

/// The run is about to end.
pub(super) fn ends() {
    stop(Moment::Ends);
}

/// A dataset of files is complete, if the call was a success.
pub(super) fn completed(reply: &Reply<()>) {
    if stage().is_some() && matches!(reply, Reply::Done(())) {
        let checkpoint = with(|stops| stops.checkpoint);
        stop(Moment::Written { checkpoint });
    }
}

/// The routine of the program begins to list its state.
pub(super) fn list_begins(session: c_int) {
    if stage().is_some() {
        with(|stops| {
            stops.listed.insert(session, String::new());
            stops.files.clear();
        });
    }
}

/// A field is listed. `name` is asked for its name if a command looks.
pub(super) fn lists(session: c_int, field: &Listed<'_>, name: impl FnOnce() -> String) {
    if stage().is_none() || field.address == 0 {
        return;
    }
    let mut line = format!("field {:x} {}", field.address, field.size);
    let all: i64 = field
        .extents
        .iter()
        .fold(1, |all, extent| all.saturating_mul(*extent));
    // A line in a text: writing cannot fail.
    let _ = match field.strides {
        None => write!(line, " {all} {}", field.size),
        Some(strides) => (field.extents.iter().zip(strides))
            .try_for_each(|(extent, stride)| write!(line, " {extent} {stride}")),
    };
    let name = in_a_line(&name());
    with(|stops| {
        let listed = stops.listed.entry(session).or_default();
        listed.push_str(&format!("{line}\nname {name}\n"));
    });
}

/// Waits until the command has looked.
pub(super) fn stop(moment: Moment) {
    let Some(dir) = stage() else {
        return;
    };
    let session = super::table::current();
    let (count, listed, files) = with(|stops| {
        stops.count += 1;
        let listed = stops.listed.get(&session).cloned();
        (stops.count, listed.unwrap_or_default(), stops.files.clone())
    });
    // SAFETY: a system call without pointers. It fails where the kernel has no such rule, and need not be called there.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
    let kind = match moment {
        Moment::Restored => "restored",
        Moment::Written { checkpoint: true } => "checkpoint",
        Moment::Written { checkpoint: false } => "output",
        Moment::Ends => "end",
    };
    let frames = frames();
    let text = format!(
        "stop {count} {kind} {session}\nprocess {}\nthread {:x}\n{listed}{files}{}done\n",
        std::process::id(),
        thread_pointer(),
        frames.text
    );
    let (new, record) = (dir.join("new"), dir.join("stop"));
    let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &record));
    // Without a record nobody looks.
    if written.is_ok() {
        wait(dir, count);
    }
    std::hint::black_box(&frames.registers);
}

/// Waits until the command lets stop `count` go on, or has gone.
fn wait(dir: &Path, count: u64) {
    let number = |name: &str| -> Option<u64> {
        let text = std::fs::read_to_string(dir.join(name)).ok()?;
        text.trim().parse().ok()
    };
    while number("go").is_none_or(|go| go < count) {
        let command = number("command").map(|pid| PathBuf::from(format!("/proc/{pid}")));
        if !command.is_some_and(|command| command.exists()) {
            return;
        }
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

/// The registers that a called function must keep, by their numbers in DWARF, and which of them is the frame pointer.
#[cfg(target_arch = "x86_64")]
const KEPT: [c_int; 6] = [3, 6, 12, 13, 14, 15];
#[cfg(target_arch = "x86_64")]
const FRAME_POINTER: c_int = 6;
#[cfg(not(target_arch = "x86_64"))]
const KEPT: [c_int; 11] = [19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29];
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
    /// A line for each, the innermost first: the next instruction, what the unwinder says is the canonical address, which is that
    /// of the frame before, the frame pointer, and the address of the values of its registers.
    text: String,
    /// The registers of each frame. They stay where they are while the command looks.
    registers: Vec<[usize; KEPT.len()]>,
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
                KEPT.map(|register| _Unwind_GetGR(frame, register)),
            )
        };
        frames.registers.push(registers);
        let place = frames
            .registers
            .last()
            .map_or(0, |last| last.as_ptr().addr());
        // Not zero ends the walk.
        c_int::from(
            writeln!(frames.text, "frame {ip:x} {cfa:x} {pointer:x} {place:x}").is_err()
                || frames.registers.len() >= MOST_FRAMES,
        )
    }
    let mut frames = Frames {
        text: String::new(),
        registers: Vec::with_capacity(MOST_FRAMES),
    };
    // SAFETY: the unwinder calls `add` with the frames, during this call only.
    unsafe { _Unwind_Backtrace(add, (&raw mut frames).cast()) };
    frames
}
