//! Where memory is, and what is waited for.

use super::fake::{Cuda, cuda, in_child, loaded, pattern};
use crate::call;
use scr::device::{Devices, Located, Place, Remote};
use std::ffi::c_int;

pub fn located(devices: &mut Devices, address: usize) -> Located {
    match devices.locate(address).unwrap() {
        Place::Device(located) => located,
        Place::Host => panic!("memory of the host"),
    }
}

fn is_host(devices: &mut Devices, address: usize) -> bool {
    matches!(devices.locate(address).unwrap(), Place::Host)
}

pub fn copied(memory: &Located, size: usize) -> Vec<u8> {
    let mut to = vec![0; size];
    memory.copy_to(0, &mut to, 1000, &mut |_| Ok(())).unwrap();
    to
}

fn text(result: scr::Result<Place>) -> String {
    result.map(|_| ()).unwrap_err().to_string()
}

#[test]
fn without_a_library_all_memory_is_the_hosts() {
    in_child("places::without_a_library_all_memory_is_the_hosts", || {
        let mut devices = Devices::find();
        assert!(devices.is_empty());
        assert!(is_host(&mut devices, 0x10));
    });
}

#[test]
fn a_library_that_the_program_loads_later_is_found_and_not_started() {
    in_child(
        "places::a_library_that_the_program_loads_later_is_found_and_not_started",
        || {
            assert!(Devices::find().is_empty());
            let library = loaded();
            let mut devices = Devices::find();
            assert!(!devices.is_empty());
            let own = [0_u8; 10];
            assert!(is_host(&mut devices, own.as_ptr().addr()));
            let mut count = 0;
            let code = call!(library, cuDeviceGetCount(&mut count => *mut c_int) -> c_int);
            assert_eq!(code, 3, "it was started");
            drop(library);
            // And once the program has started it, its memory is seen.
            let cuda = cuda();
            let memory = cuda.memory(&[7; 100]);
            assert_eq!(copied(&located(&mut devices, memory), 100), [7; 100]);
        },
    );
}

#[test]
fn no_context_is_made() {
    in_child("places::no_context_is_made", || {
        let library = loaded();
        assert_eq!(call!(library, cuInit(0 => u32) -> c_int), 0);
        let own = [0_u8; 10];
        assert!(is_host(&mut Devices::find(), own.as_ptr().addr()));
        let (mut flags, mut active) = (0, 1);
        call!(library, cuDevicePrimaryCtxGetState(0 => c_int, &mut flags => *mut u32, &mut active => *mut c_int) -> c_int);
        assert_eq!(active, 0);
    });
}

#[test]
fn each_kind_of_memory_is_told() {
    let cuda = cuda();
    let mut devices = Devices::find();
    let bytes = pattern(5000, 1);
    for device in 0..2 {
        cuda.make_current(cuda.contexts[device]);
        let before = cuda.current();
        let (own, managed, pooled) = (
            cuda.memory(&bytes),
            cuda.managed(&bytes),
            cuda.pooled(&bytes),
        );
        for (address, reaches) in [(own, false), (managed, true), (pooled, false)] {
            // The current context may be another one, or none.
            for context in [cuda.contexts[1 - device], 0, cuda.contexts[device]] {
                cuda.make_current(context);
                let current = cuda.current();
                let memory = located(&mut devices, address);
                assert_eq!(memory.name(), format!("CUDA device {device}"));
                assert_eq!(memory.processor_reaches(), reaches);
                assert_eq!(memory.bounds(), Some(0..5000));
                assert_eq!(copied(&memory, 5000), bytes);
                let inner = located(&mut devices, address + 40);
                assert_eq!(inner.bounds(), Some(-40..4960));
                assert_eq!(cuda.current(), current);
            }
        }
        assert_eq!(cuda.current(), before);
        let pinned = cuda.host(100);
        assert!(is_host(&mut devices, pinned.addr() + 99));
    }
    let own = pattern(100, 2);
    assert!(is_host(&mut devices, own.as_ptr().addr()));
}

#[test]
fn memory_of_a_context_that_the_program_made_is_copied_in_it() {
    let cuda = cuda();
    let mut context = 0_usize;
    assert_eq!(
        call!(cuda.library, cuCtxCreate_v2(&mut context => *mut usize, 0 => u32, 1 => c_int) -> c_int),
        0
    );
    let memory = cuda.memory(&[9; 50]);
    cuda.make_current(0);
    let before = cuda.current();
    let mut devices = Devices::find();
    let found = located(&mut devices, memory);
    assert_eq!(copied(&found, 50), [9; 50]);
    assert_eq!(cuda.current(), before);
    // The context goes while we know it.
    assert_eq!(
        call!(cuda.library, cuCtxDestroy_v2(context => usize) -> c_int),
        0
    );
    let error = found
        .copy_to(0, &mut [0; 50], 50, &mut |_| Ok(()))
        .unwrap_err();
    assert!(
        error.to_string().contains("CUDA_ERROR_INVALID_CONTEXT"),
        "{error}"
    );
    let error = text(devices.locate(memory));
    assert!(error.contains("CUDA_ERROR_INVALID_VALUE"), "{error}");
    drop((found, devices));
    assert_eq!(cuda.current(), before);
}

#[test]
fn memory_that_is_gone_is_an_error() {
    let cuda = cuda();
    let mut devices = Devices::find();
    let memory = cuda.memory(&[1; 4096]);
    let past = text(devices.locate(memory + 4096));
    assert!(
        past.contains("past its end") && past.contains("CUDA_ERROR_INVALID_VALUE"),
        "{past}"
    );
    let found = located(&mut devices, memory + 1);
    let mut called = false;
    let error = found.copy_to(0, &mut [0; 4096], 100, &mut |_| {
        called = true;
        Ok(())
    });
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains(
            "CUDA device 0: cannot copy bytes 0 to 4096: its memory has bytes -1 to 4095"
        ),
        "{error}"
    );
    assert!(!called);
    cuda.free(memory);
    let freed = text(devices.locate(memory));
    assert!(freed.contains("it was freed"), "{freed}");
}

#[test]
fn pooled_memory_without_an_active_context_is_an_error() {
    let cuda = cuda();
    let mut devices = Devices::find();
    let memory = cuda.pooled(&[1; 10]);
    drop(cuda);
    // The pool went with the primary context, as the address does.
    assert!(devices.locate(memory).is_err());
}

/// A kernel of the program, which runs for a while, and then changes memory.
fn busy(cuda: &Cuda, memory: usize, stream: usize) {
    cuda.slow(stream, 20_000);
    cuda.add_one(memory, 1000, stream);
}

#[test]
fn work_of_the_program_is_waited_for() {
    let cuda = cuda();
    cuda.set("late", 1);
    for flags in [0, 1] {
        let stream = cuda.stream(flags);
        let memory = cuda.memory(&[1; 1000]);
        busy(&cuda, memory, stream);
        let mut devices = Devices::find();
        assert_eq!(copied(&located(&mut devices, memory), 1000), [2; 1000]);
        // Work that the routine begins between two fields counts, too.
        busy(&cuda, memory, stream);
        assert_eq!(copied(&located(&mut devices, memory), 1000), [3; 1000]);
        // What is restored comes after it.
        busy(&cuda, memory, stream);
        let row = scr::device::Rectangle {
            offset: 0,
            width: 1000,
            rows: 1,
            pitch: 0,
        };
        located(&mut devices, memory)
            .scatter(&[row], &[50; 1000])
            .unwrap();
        assert_eq!(cuda.pending(), 0);
        assert_eq!(cuda.bytes(memory, 1000), [50; 1000]);
    }
}

#[test]
fn pinned_memory_of_the_host_is_ready() {
    let cuda = cuda();
    cuda.set("late", 1);
    let (memory, pinned, stream) = (cuda.memory(&[5; 1000]), cuda.host(1000), cuda.stream(1));
    cuda.slow(stream, 10_000);
    cuda.copy_down(pinned, memory, 1000, stream);
    assert!(is_host(&mut Devices::find(), pinned.addr()));
    // SAFETY: memory of the library, which nobody writes to now.
    let bytes = unsafe { std::slice::from_raw_parts(pinned, 1000) };
    assert_eq!(bytes, [5; 1000]);
}

#[test]
fn ordinary_memory_that_a_device_reaches_is_ready() {
    let cuda = cuda();
    cuda.set("late", 1);
    let (own, memory) = (vec![1_u8; 1000], cuda.memory(&[1; 1000]));
    // A device that reaches only its own memory has nothing to do with it.
    cuda.add_one(memory, 1000, 0);
    assert!(is_host(&mut Devices::find(), own.as_ptr().addr()));
    assert_eq!(cuda.pending(), 1);
    cuda.set("pageable", 1);
    let mut devices = Devices::find();
    for value in [2, 3] {
        cuda.add_one(own.as_ptr().addr(), 1000, 0);
        assert!(is_host(&mut devices, own.as_ptr().addr()));
        assert_eq!(cuda.pending(), 0);
        // SAFETY: memory of the test, to which a kernel has written.
        assert_eq!(unsafe { own.as_ptr().read_volatile() }, value);
    }
}

#[test]
fn a_named_stream_is_waited_for_and_no_other() {
    let cuda = cuda();
    cuda.set("late", 1);
    let (own, other) = (cuda.stream(1), cuda.stream(1));
    let (memory, its) = (cuda.memory(&[1; 1000]), cuda.memory(&[1; 1000]));
    busy(&cuda, memory, own);
    cuda.add_one(its, 1000, other);
    // Nor does a stream of ours wait for the legacy default stream.
    cuda.add_one(its, 1000, 0);
    let mut devices = Devices::find();
    devices.set_stream(Some(own));
    assert_eq!(copied(&located(&mut devices, memory), 1000), [2; 1000]);
    assert_eq!(cuda.pending(), 2, "the other streams still have their work");
    // The stream is of device 0. Memory of device 1 waits for all of that device.
    cuda.make_current(cuda.contexts[1]);
    let far = cuda.memory(&[1; 1000]);
    busy(&cuda, far, 0);
    assert_eq!(copied(&located(&mut devices, far), 1000), [2; 1000]);
    devices.set_stream(None);
    assert_eq!(copied(&located(&mut devices, its), 1000), [3; 1000]);
    assert_eq!(cuda.pending(), 0);
}

#[test]
fn a_process_that_was_forked_has_no_device() {
    in_child("places::a_process_that_was_forked_has_no_device", || {
        let cuda = cuda();
        let memory = cuda.memory(&[1; 100]);
        let own = [3_u8; 10];
        let mut before = Devices::find();
        let found = located(&mut before, memory);
        // SAFETY: this process has no other thread that works.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let mut good = text(before.locate(memory)).contains("forked");
            good &= is_host(&mut before, own.as_ptr().addr());
            let error = found.copy_to(0, &mut [0; 100], 100, &mut |_| Ok(()));
            good &= error
                .unwrap_err()
                .to_string()
                .contains("CUDA device 0: cannot copy: CUDA cannot be used");
            let mut after = Devices::find();
            good &= text(after.locate(memory)).contains("forked");
            drop((found, before, after));
            // SAFETY: ends this process.
            unsafe { libc::_exit(if good { 0 } else { 1 }) };
        }
        let mut status = -1;
        // SAFETY: a live local.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
        assert_eq!(copied(&found, 100), [1; 100]);
    });
}
