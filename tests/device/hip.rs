//! Memory of HIP, with the numbers of ROCm 5 and 6.

use super::fake::{Library, in_child, load, pattern};
use super::places::{copied, located};
use crate::call;
use scr::device::{Devices, Place, Rectangle, Remote};
use std::ffi::{CString, c_int, c_long};
use std::ptr;

/// HIP's library, and HSA's, loaded and not started.
fn hip(version: c_long) -> Library {
    let hip = load("libamdhip64.so.6");
    load("libhsa-runtime64.so.1");
    set(&hip, "rocm", version);
    hip
}

fn set(hip: &Library, name: &str, value: c_long) {
    let name = CString::new(name).unwrap();
    call!(hip, fake_set(name.as_ptr() => *const i8, value => c_long) -> ());
}

fn fail(hip: &Library, name: &str, n: c_int, code: c_int) {
    let name = CString::new(name).unwrap();
    call!(hip, fake_fail(name.as_ptr() => *const i8, n => c_int, code => c_int) -> ());
}

fn calls(hip: &Library, name: &str) -> c_int {
    let name = CString::new(name).unwrap();
    call!(hip, fake_calls(name.as_ptr() => *const i8) -> c_int)
}

fn current(hip: &Library) -> c_int {
    let mut device = -1;
    assert_eq!(
        call!(hip, hipGetDevice(&mut device => *mut c_int) -> c_int),
        0
    );
    device
}

fn fill(hip: &Library, address: usize, bytes: &[u8]) {
    let real = call!(hip, fake_bytes(address => usize) -> *mut u8);
    // SAFETY: allocated with this size.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), real, bytes.len()) };
}

fn memory(hip: &Library, bytes: &[u8]) -> usize {
    let mut address = 0_usize;
    assert_eq!(
        call!(hip, hipMalloc(&mut address => *mut usize, bytes.len() => usize) -> c_int),
        0
    );
    fill(hip, address, bytes);
    address
}

fn managed(hip: &Library, bytes: &[u8]) -> usize {
    let mut address = 0_usize;
    let code = call!(hip, hipMallocManaged(&mut address => *mut usize, bytes.len() => usize, 1 => u32) -> c_int);
    assert_eq!(code, 0);
    fill(hip, address, bytes);
    address
}

#[test]
fn hip_is_not_started() {
    in_child("hip::hip_is_not_started", || {
        let hip = hip(6);
        let own = [1_u8; 8];
        let place = Devices::find().locate(own.as_ptr().addr()).unwrap();
        assert!(matches!(place, Place::Host));
        assert_eq!(calls(&hip, "hipPointerGetAttributes"), 0);
        assert_eq!(calls(&hip, "hipGetDevice"), 0);
    });
}

#[test]
fn memory_with_the_numbers_of_rocm_5_is_found_and_copied() {
    let name = "hip::memory_with_the_numbers_of_rocm_5_is_found_and_copied";
    in_child(name, || try_version(5));
}

#[test]
fn memory_with_the_numbers_of_rocm_6_is_found_and_copied() {
    let name = "hip::memory_with_the_numbers_of_rocm_6_is_found_and_copied";
    in_child(name, || try_version(6));
}

fn try_version(version: c_long) {
    let hip = hip(version);
    set(&hip, "late", 1);
    let bytes = pattern(5000, 1);
    let mut devices = Devices::find();
    for device in 0..2 {
        assert_eq!(call!(hip, hipSetDevice(device => c_int) -> c_int), 0);
        let mut pinned = ptr::null_mut::<u8>();
        assert_eq!(
            call!(hip, hipHostMalloc(&mut pinned => *mut *mut u8, 100 => usize, 0 => u32) -> c_int),
            0
        );
        let (own, its) = (memory(&hip, &bytes), managed(&hip, &bytes));
        for other in 0..2 {
            assert_eq!(call!(hip, hipSetDevice(other => c_int) -> c_int), 0);
            for (address, reaches) in [(own, false), (its, true)] {
                let mut found = located(&mut devices, address + 8);
                assert_eq!(found.name(), format!("HIP device {device}"));
                assert_eq!(found.processor_reaches(), reaches);
                if !reaches {
                    assert_eq!(found.bounds(), Some(-8..4992));
                }
                assert_eq!(copied(&found, 4992), bytes[8..]);
                let rows = [
                    Rectangle {
                        offset: 100,
                        width: 8,
                        rows: 50,
                        pitch: 32,
                    },
                    Rectangle {
                        offset: 4000,
                        width: 4,
                        rows: 9,
                        pitch: -40,
                    },
                ];
                let planes = [1000, 1240, 1480].map(|offset| Rectangle {
                    offset,
                    width: 20,
                    rows: 6,
                    pitch: 30,
                });
                let rows = [&rows[..], &planes].concat();
                let mut to = vec![0; 796];
                found.gather(&rows, &mut to).unwrap();
                assert_eq!(
                    (&to[8..16], &to[404..408], &to[576..596]),
                    (&bytes[140..148], &bytes[3968..3972], &bytes[1278..1298])
                );
                found.scatter(&rows, &to).unwrap();
                assert_eq!(copied(&found, 4992), bytes[8..]);
                assert_eq!(current(&hip), other);
            }
            for host in [pinned.addr() + 1, bytes.as_ptr().addr()] {
                assert!(matches!(devices.locate(host).unwrap(), Place::Host));
            }
        }
        // The program's work, and a stream that it names.
        let mut stream = 0_usize;
        assert_eq!(call!(hip, hipSetDevice(device => c_int) -> c_int), 0);
        assert_eq!(
            call!(hip, hipStreamCreateWithFlags(&mut stream => *mut usize, 1 => u32) -> c_int),
            0
        );
        for name in [None, Some(stream)] {
            let value = if name.is_some() { 3 } else { 4 };
            call!(hip, fake_slow(stream => usize, 10_000 => c_long) -> c_int);
            assert_eq!(
                call!(hip, hipMemsetAsync(own => usize, value => c_int, 5000 => usize, stream => usize) -> c_int),
                0
            );
            devices.set_stream(name);
            assert_eq!(
                copied(&located(&mut devices, own), 5000),
                vec![value as u8; 5000]
            );
            devices.set_stream(None);
        }
    }
    // The program sees no error of ours, and its own ones stay.
    assert_eq!(call!(hip, hipGetLastError() -> c_int), 0);
    assert_eq!(call!(hip, hipSetDevice(9 => c_int) -> c_int), 101);
    assert!(matches!(
        devices.locate(bytes.as_ptr().addr()).unwrap(),
        Place::Host
    ));
    assert_ne!(call!(hip, hipGetLastError() -> c_int), 0);
    failures(&hip);
    let own = memory(&hip, &bytes);
    let past = devices
        .locate(own + 5000)
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(past.contains("hipErrorInvalidValue"), "{past}");
    set(&hip, "one_memory", 1);
    assert!(located(&mut devices, own).processor_reaches());
}

/// Each call that fails is an error, and the device is as before.
fn failures(hip: &Library) {
    let bytes = pattern(9000, 2);
    let own = memory(hip, &bytes);
    assert_eq!(call!(hip, hipSetDevice(0 => c_int) -> c_int), 0);
    call!(hip, hipGetLastError() -> c_int);
    let mut pages = vec![0; 9000];
    let mut run = || {
        let Place::Device(mut found) = Devices::find().locate(own)? else {
            return Err(scr::Error::usage("SCR_Field", "not a device"));
        };
        // SAFETY: the pages live until the pin was dropped.
        let pin = unsafe { found.pin(pages.as_mut_ptr(), pages.len()) };
        found.copy_to(0, &mut pages, 4000, &mut |_| Ok(()))?;
        assert!(pages == bytes);
        drop(pin);
        found.show(0, 9000, 4000, &mut |_| Ok(()))?;
        let rows = [Rectangle {
            offset: 0,
            width: 8,
            rows: 100,
            pitch: 64,
        }];
        let planes = [1000, 1240, 1480].map(|offset| Rectangle {
            offset,
            width: 20,
            rows: 6,
            pitch: 30,
        });
        let rows = [&rows[..], &planes].concat();
        let mut to = vec![0; 1160];
        found.gather(&rows, &mut to)?;
        found.scatter(&rows, &to)
    };
    run().unwrap();
    let names = [
        "hsa_amd_pointer_info",
        "hipPointerGetAttributes",
        "hipGetDevice",
        "hipSetDevice",
        "hipDeviceSynchronize",
        "hipStreamCreateWithFlags",
        "hipStreamDestroy",
        "hipStreamSynchronize",
        "hipMemcpyDtoHAsync",
        "hipMemcpyHtoDAsync",
        "hipMemcpy2DAsync",
        "hipMemcpy3DAsync",
        "hipHostMalloc",
        "hipHostFree",
        "hipHostRegister",
        "hipHostUnregister",
    ];
    let mut failed = 0;
    for name in names {
        fail(hip, name, 0, 0);
        run().unwrap();
        for n in 1..=calls(hip, name) {
            fail(hip, name, n, 801);
            if let Err(error) = run() {
                failed += 1;
                let text = error.to_string();
                assert!(
                    text.contains("hipErrorNotSupported")
                        || text.contains("HIP: cannot find memory"),
                    "{name} {n}: {text}"
                );
            }
            fail(hip, name, 0, 0);
            assert_eq!(current(hip), 0, "{name} {n}");
            assert_eq!(call!(hip, fake_pending() -> c_int), 0, "{name} {n}");
            assert_eq!(call!(hip, hipGetLastError() -> c_int), 0, "{name} {n}");
            run().unwrap_or_else(|error| panic!("after {name} {n}: {error}"));
        }
    }
    assert!(failed > 15, "{failed}");
}

/// Debian has HIP's library. Without a device it is loaded, and finds none.
#[test]
fn the_real_library_without_a_device_leaves_memory_to_the_host() {
    in_child(
        "hip::the_real_library_without_a_device_leaves_memory_to_the_host",
        || {
            // SAFETY: a string.
            let handle = unsafe { libc::dlopen(c"libamdhip64.so.5".as_ptr(), libc::RTLD_NOW) };
            if handle.is_null() {
                return println!("SKIPPED: there is no libamdhip64.so.5");
            }
            let own = [1_u8; 8];
            let mut devices = Devices::find();
            assert!(!devices.is_empty());
            assert!(matches!(
                devices.locate(own.as_ptr().addr()).unwrap(),
                Place::Host
            ));
            assert!(devices.locate(16).is_err());
            // Also once the program has tried to start it.
            // SAFETY: a string, and the signature of the function.
            let count = unsafe {
                let count = libc::dlsym(handle, c"hipGetDeviceCount".as_ptr());
                std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn(*mut c_int) -> c_int>(
                    count,
                )
            };
            let mut devices_there = 0;
            // SAFETY: a live local.
            let code = unsafe { count(&mut devices_there) };
            if code == 0 && devices_there > 0 {
                return println!("SKIPPED: a device is there");
            }
            assert!(matches!(
                Devices::find().locate(own.as_ptr().addr()).unwrap(),
                Place::Host
            ));
        },
    );
}
