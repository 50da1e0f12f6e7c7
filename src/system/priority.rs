//! The priority of threads that must not disturb the program.

use rustix::thread::CpuSet;

/// Difference between the priorities of a background thread and of the program: the thread gets
/// about a tenth of a busy processor.
const NICE: i32 = 10;

/// The idle class of `ioprio_set(2)`.
const IDLE_CLASS: libc::c_int = 3 << 13;

/// Lowers the priorities of the calling thread for processor and disk, and keeps it on `cores`, unless
/// that is empty. Errors are ignored: the work is the same, only less polite.
pub fn lower_priority(cores: &[usize]) {
    nice(NICE);
    const IOPRIO_WHO_PROCESS: libc::c_int = 1;
    // SAFETY: takes three integers and no pointer; 0 stands for the calling thread.
    unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IDLE_CLASS) };
    let mut set = CpuSet::new();
    let known = cores.iter().filter(|core| **core < CpuSet::MAX_CPU);
    let count = known.map(|core| set.set(*core)).count();
    if count > 0 {
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}

/// Lowers the calling thread's priority for the processor, by as much as the system permits.
pub fn nice(by: i32) {
    // On Linux this changes the thread alone.
    let _ = rustix::process::nice(by);
}
