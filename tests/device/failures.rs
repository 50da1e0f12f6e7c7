//! Calls of the driver that fail, and threads side by side.

use super::copies::Random;
use super::fake::{Cuda, cuda, pattern};
use super::places::{copied, located};
use scr::device::{Devices, Rectangle, Remote};

/// The functions of the driver that a test needs itself.
const OWN: &[&str] = &[
    "cuInit",
    "cuDevicePrimaryCtxReset_v2",
    "cuCtxSetCurrent",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuLaunchKernel",
    "cuMemAllocAsync",
    "cuMemAllocManaged",
];

/// All that a checkpoint and a restart do with memory of several kinds. Errors are those of the first call that failed.
fn scenario(memories: &[usize], pinned: usize, pages: &mut [u8], bytes: &[u8]) -> scr::Result<()> {
    let mut devices = Devices::find();
    devices.locate(pinned)?;
    for address in memories {
        let scr::device::Place::Device(mut found) = devices.locate(*address)? else {
            return Err(scr::Error::usage("SCR_Field", "not a device"));
        };
        // SAFETY: the pages live until the pin was dropped.
        let pin = unsafe { found.pin(pages.as_mut_ptr(), pages.len()) };
        found.copy_to(0, pages, 3000, &mut |_| Ok(()))?;
        assert!(pages == bytes, "a copy that did not fail is right");
        drop(pin);
        let mut seen = Vec::new();
        found.show(0, bytes.len() as u64, 3000, &mut |part| {
            seen.extend_from_slice(part);
            Ok(())
        })?;
        assert!(seen == bytes, "a copy that did not fail is right");
        let rows = [
            Rectangle {
                offset: 0,
                width: 8,
                rows: 100,
                pitch: 64,
            },
            Rectangle {
                offset: 9000,
                width: 8,
                rows: 20,
                pitch: -64,
            },
        ];
        // Planes of a box.
        let planes = [1000, 1500, 2000, 2500].map(|offset| Rectangle {
            offset,
            width: 40,
            rows: 6,
            pitch: 50,
        });
        let rows = [&rows[..], &planes].concat();
        let mut to = vec![0; 1920];
        found.gather(&rows, &mut to)?;
        assert_eq!(&to[8..16], &bytes[64..72]);
        assert_eq!(&to[1200..1240], &bytes[1500..1540]);
        found.scatter(&rows, &to)?;
        found.scatter(
            &[Rectangle {
                offset: 0,
                width: 10_000,
                rows: 1,
                pitch: 0,
            }],
            bytes,
        )?;
    }
    Ok(())
}

#[test]
fn each_call_that_fails_is_an_error_and_the_next_checkpoint_is_right() {
    let cuda = cuda();
    let bytes = pattern(10_000, 20);
    let memories = [
        cuda.memory(&bytes),
        cuda.managed(&bytes),
        cuda.pooled(&bytes),
    ];
    let pinned = cuda.host(10).addr();
    let mut pages = vec![0; 10_000];
    let before = (
        cuda.current(),
        cuda.streams(),
        cuda.registered(),
        cuda.pinned(),
    );
    let mut run = |cuda: &Cuda| {
        let result = scenario(&memories, pinned, &mut pages, &bytes);
        assert_eq!(cuda.current(), before.0, "the current context");
        assert_eq!(cuda.pending(), 0, "copies under way");
        result
    };
    run(&cuda).unwrap();
    let (mut functions, mut failed) = (Vec::new(), 0);
    for name in cuda.called() {
        if name.starts_with("cu") && !OWN.contains(&name.as_str()) {
            cuda.fail(&name, 0, 0);
            functions.push(name);
        }
    }
    run(&cuda).unwrap();
    functions.retain(|name| cuda.calls(name) > 0);
    let counts: Vec<i32> = functions.iter().map(|name| cuda.calls(name)).collect();
    assert!(functions.len() >= 15, "{functions:?}");
    assert!(functions.iter().any(|name| name == "cuMemcpy3DAsync_v2"));
    for (name, count) in functions.iter().zip(counts) {
        for n in 1..=count {
            // A call that only says more, or gives back, may fail unseen.
            cuda.fail(name, n, 999);
            match run(&cuda) {
                Ok(()) => {}
                Err(error) => {
                    failed += 1;
                    let text = error.to_string();
                    assert!(
                        text.contains("CUDA") && text.contains("CUDA_ERROR_UNKNOWN")
                            || text.contains("not a device"),
                        "{name} {n}: {text}"
                    );
                }
            }
            cuda.fail(name, 0, 0);
            run(&cuda).unwrap_or_else(|error| panic!("after {name} {n}: {error}"));
        }
    }
    assert!(failed > 50, "{failed}");
}

#[test]
fn an_error_that_stays_fails_all_that_comes_later() {
    for (name, code, word) in [
        ("work", 214, "CUDA_ERROR_ECC_UNCORRECTABLE"),
        ("work", 700, "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("cuMemcpyDtoHAsync_v2", 719, "CUDA_ERROR_LAUNCH_FAILED"),
    ] {
        let cuda = cuda();
        let bytes = pattern(10_000, 21);
        let memory = cuda.memory(&bytes);
        let before = cuda.current();
        let mut devices = Devices::find();
        let found = located(&mut devices, memory);
        cuda.fail(name, 3, code);
        let mut to = vec![0; 10_000];
        let error = found
            .copy_to(0, &mut to, 1000, &mut |_| Ok(()))
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            format!("CUDA device 0: cannot copy to the host: {word}")
        );
        let error = located(&mut devices, memory)
            .copy_to(0, &mut to, 1000, &mut |_| Ok(()))
            .unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert_eq!(cuda.current(), before);
        cuda.fail(name, 0, 0);
        drop((found, devices));
    }
    // A new context works.
    let cuda = cuda();
    let memory = cuda.memory(&[4; 10]);
    assert_eq!(copied(&located(&mut Devices::find(), memory), 10), [4; 10]);
}

#[test]
fn work_of_the_program_that_failed_is_an_error() {
    let cuda = cuda();
    let memory = cuda.memory(&[4; 1000]);
    let found = located(&mut Devices::find(), memory);
    cuda.fail("work", 1, 700);
    cuda.add_one(memory, 1000, 0);
    let error = found
        .copy_to(0, &mut [0; 10], 10, &mut |_| Ok(()))
        .unwrap_err()
        .to_string();
    cuda.fail("work", 0, 0);
    assert_eq!(
        error,
        "CUDA device 0: cannot wait for the work of the program: CUDA_ERROR_ILLEGAL_ADDRESS"
    );
}

#[test]
fn threads_copy_side_by_side() {
    let cuda = cuda();
    let bytes = pattern(200_000, 30);
    let (mut memories, mut written) = (Vec::new(), Vec::new());
    for device in 0..2 {
        cuda.make_current(cuda.contexts[device]);
        // Half are only read: where a copy will arrive, other bytes are seen meanwhile.
        for memory in [cuda.memory(&bytes), cuda.pooled(&bytes)] {
            memories.push(memory);
            written.push(cuda.memory(&bytes));
        }
    }
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (memories, written, bytes) = (&memories, &written, &bytes);
            scope.spawn(move || {
                let mut random = Random(thread + 77);
                for _ in 0..60 {
                    let mut devices = Devices::find();
                    // Only one thread writes to each.
                    let mut own = located(&mut devices, written[thread as usize]);
                    let other = located(&mut devices, memories[random.below(4) as usize]);
                    let (from, length) =
                        (random.below(100_000), 1 + random.below(100_000) as usize);
                    let expected = &bytes[from as usize..][..length];
                    let mut to = vec![0; length];
                    // SAFETY: `to` lives until the pin was dropped.
                    let pin =
                        (random.below(2) == 0).then(|| unsafe { own.pin(to.as_mut_ptr(), length) });
                    let row = [Rectangle {
                        offset: from as i64,
                        width: length,
                        rows: 1,
                        pitch: 0,
                    }];
                    match random.below(4) {
                        0 => own
                            .copy_to(from as i64, &mut to, 7000, &mut |_| Ok(()))
                            .unwrap(),
                        1 => {
                            let mut seen = Vec::new();
                            other
                                .show(from as i64, length as u64, 9000, &mut |part| {
                                    seen.extend_from_slice(part);
                                    Ok(())
                                })
                                .unwrap();
                            to.copy_from_slice(&seen);
                        }
                        2 => own.gather(&row, &mut to).unwrap(),
                        _ => {
                            own.scatter(&row, expected).unwrap();
                            own.gather(&row, &mut to).unwrap();
                        }
                    }
                    assert!(to == expected);
                    drop(pin);
                }
            });
        }
    });
    assert_eq!((cuda.pending(), cuda.registered()), (0, 0));
}
