//! What a list says of the memory of its fields, and what is waited for before.

use super::fake::{Cuda, cuda};
use crate::fields_on_ranks::save;
use crate::site::{Site, nodes};
use scr::device::Remote;
use scr::fields::{List, Options};

/// Lists something on one rank, with CUDA as the program has it. Returns the error of the checkpoint, or nothing.
fn listed(cuda: &Cuda, mut routine: impl FnMut(&mut List<'_>, &Cuda) + Send) -> String {
    struct Shared<'a>(&'a Cuda);
    // SAFETY: the library of the tests has a lock of its own.
    unsafe impl Sync for Shared<'_> {}
    impl Shared<'_> {
        fn cuda(&self) -> &Cuda {
            self.0
        }
    }
    let (site, shared) = (Site::at(tempfile::tempdir().unwrap()), &Shared(cuda));
    let routine = &std::sync::Mutex::new(&mut routine);
    let ended = site.run(&nodes(1), |rank| {
        let cuda = shared.cuda();
        cuda.make_current(cuda.contexts[0]);
        let saved = save(rank, "ck.1", |list| {
            routine.lock().unwrap()(list, cuda);
            Ok(())
        });
        saved.err().map_or(String::new(), |error| error.to_string())
    });
    ended.into_iter().collect()
}

fn options(on_device: bool, on_host: bool) -> Options {
    Options {
        on_device,
        on_host,
        ..Options::default()
    }
}

/// The processor must not see what a kernel still changes.
#[test]
fn managed_memory_that_the_processor_reads_is_waited_for() {
    let cuda = cuda();
    cuda.set("late", 1);
    let memory = cuda.managed(&[1; 1000]);
    let error = listed(&cuda, |list, cuda| {
        cuda.add_one(memory, 1000, 0);
        list.next(options(false, true));
        let reached = list.reach("x", memory, memory..memory + 1000).unwrap();
        assert!(reached.is_none() && cuda.pending() == 0);
        assert_eq!(cuda.bytes(memory, 1000), [2; 1000]);
        list.next(Options::default());
        // A count, and the like.
        cuda.add_one(memory, 1000, 0);
        list.check_host(memory, "SCR_Count", "count \"n\"").unwrap();
        assert_eq!(cuda.pending(), 0);
        assert_eq!(cuda.bytes(memory, 1000), [3; 1000]);
    });
    assert_eq!(error, "");
}

#[test]
fn a_stream_that_the_list_names_is_waited_for_and_no_other() {
    let cuda = cuda();
    cuda.set("late", 1);
    let (own, other) = (cuda.stream(1), cuda.stream(1));
    let (memory, its) = (cuda.memory(&[1; 100]), cuda.memory(&[1; 100]));
    let error = listed(&cuda, |list, cuda| {
        let copied = |list: &mut List<'_>| {
            let found = list.reach("x", memory, memory..memory + 100).unwrap();
            let mut to = [0; 100];
            let found = found.unwrap();
            found.copy_to(0, &mut to, 100, &mut |_| Ok(())).unwrap();
            to[99]
        };
        cuda.add_one(memory, 100, own);
        cuda.add_one(its, 100, other);
        list.set_stream(Some(own));
        assert_eq!((copied(list), cuda.pending()), (2, 1));
        list.set_stream(None);
        assert_eq!((copied(list), cuda.pending()), (2, 0));
    });
    assert_eq!(error, "");
}

#[test]
fn what_contradicts_itself_is_an_error_with_the_name() {
    let cuda = cuda();
    let memory = cuda.memory(&[1; 1000]);
    type Listed<'a> = &'a mut (dyn FnMut(&mut List<'_>, &Cuda) + Send);
    let mut copied = |list: &mut List<'_>| {
        list.set_copy(Box::new(|_, _| -> Box<dyn Remote> {
            panic!("there is no field")
        }));
    };
    let copied = &mut copied as &mut (dyn FnMut(&mut List<'_>) + Send);
    let copied = std::sync::Mutex::new(copied);
    let cases: [(&str, Listed<'_>); 5] = [
        ("exclude each other", &mut |list, _| {
            list.next(options(true, true));
            let _ = list.reach("x", memory, memory..memory + 1000);
        }),
        ("past its end", &mut |list, _| {
            let past = memory + 1000;
            let _ = list.reach("x", past, past..past + 1000);
        }),
        ("are for fields", &mut |list, _| {
            copied.lock().unwrap()(list);
            let _ = list.count("x", &mut 3);
        }),
        ("are for fields", &mut |list, _| {
            list.next(options(true, false));
            let _ = list.bag("x", &mut 3);
        }),
        ("the processor does not reach", &mut |list, _| {
            list.next(options(false, true));
            let _ = list.reach("x", memory, memory..memory + 1000);
        }),
    ];
    for (words, routine) in cases {
        let error = listed(&cuda, routine);
        assert!(
            error.contains(words) && error.contains("\"x\""),
            "{words}: {error}"
        );
    }
}
