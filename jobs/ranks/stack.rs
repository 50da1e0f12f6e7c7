//! The stacks of processes, as eu-stack or gdb tell them.

use super::groups::is_call;
use super::{Frame, RankProcess};
use scr_engine::job::Environment;
use scr_engine::job::program::{self, find};
use scr_engine::system::sync::Mutex;
use scr_engine::system::thread;
use scr_engine::system::time::Instant;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Processes that are looked at a time: the node is not idle, and the symbols of a program may take a gigabyte.
const AT_A_TIME: usize = 4;

/// Time that one stack may take.
const LONGEST: Duration = Duration::from_secs(20);

/// The most frames of a stack that are kept.
const DEEPEST: usize = 64;

/// Most threads of a process that are kept beside the first one.
const THREADS: usize = 4;

/// Functions of the kernel that wait for a server of FUSE or Lustre. A tracer makes them waits without interruption.
const UNTRACEABLE: [&str; 3] = ["request_wait_answer", "ptlrpc_set_wait", "cl_sync_io_wait"];

/// A program that prints the stack of another.
enum Tracer {
    EuStack(PathBuf),
    Gdb(PathBuf),
}

impl Tracer {
    /// The first that there is. eu-stack is the faster one.
    fn choose(environment: &Environment) -> Option<Self> {
        let eu_stack = find(environment, "eu-stack").map(Tracer::EuStack);
        eu_stack.or_else(|| find(environment, "gdb").map(Tracer::Gdb))
    }

    /// The stacks of the threads, the first thread first.
    fn read(&self, process: &RankProcess, limit: Duration) -> Result<Vec<Vec<Frame>>, String> {
        let pid = process.pid.to_string();
        let (path, arguments): (_, Vec<&str>) = match (self, &process.stuck_thread) {
            // With -1, eu-stack attaches to the first thread only.
            (Tracer::EuStack(path), Some(_)) => (path, vec!["-1", "-s", "-p", &pid]),
            (Tracer::Gdb(_), Some(why)) => return Err(format!("a thread of it: {why}")),
            (Tracer::EuStack(path), None) => (path, vec!["-s", "-p", &pid]),
            (Tracer::Gdb(path), None) => {
                let quiet = [
                    "-nx",
                    "-batch",
                    "-iex",
                    "set auto-load no",
                    "-iex",
                    "set debuginfod enabled off",
                ];
                let print = [
                    "-ex",
                    "thread apply all -ascending backtrace -frame-arguments none 64",
                    "-p",
                    &pid,
                ];
                (path, [&quiet[..], &print].concat())
            }
        };
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let done = program::run(path, &arguments, &[], limit).map_err(|error| error.to_string())?;
        // If a stack took too long, the threads that were printed until then are kept.
        let stacks = parse(&done.out);
        if !stacks.is_empty() {
            return Ok(stacks);
        }
        let refused = |text: &str| {
            let text = text.to_ascii_lowercase();
            text.contains("not permitted") || text.contains("ptrace")
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Err(if refused(&done.err) || refused(&done.out) {
            format!("{name} may not trace it (ptrace is not permitted here)")
        } else {
            format!("{name}: {}", done.why())
        })
    }
}

/// Reads the stacks of all processes, as far as they come in time.
pub(super) fn read_all(environment: &Environment, processes: &mut [RankProcess], limit: Duration) {
    let Some(tracer) = Tracer::choose(environment) else {
        for one in processes {
            one.no_stack = Some("neither eu-stack (elfutils) nor gdb is on PATH".to_string());
        }
        return;
    };
    let end = Instant::now() + limit;
    let workers = processes.len().min(AT_A_TIME);
    let next = Mutex::new(processes.iter_mut());
    let take = || next.lock().ok().and_then(|mut next| next.next());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(one) = take() {
                    let left = end.saturating_duration_since(Instant::now());
                    match read(&tracer, one, left) {
                        Ok(stacks) => (one.stack, one.other_threads) = of_threads(stacks),
                        Err(why) => one.no_stack = Some(why),
                    }
                }
            });
        }
    });
}

fn read(tracer: &Tracer, one: &RankProcess, left: Duration) -> Result<Vec<Vec<Frame>>, String> {
    let channel = one.channel.as_deref().unwrap_or_default();
    if let Some(why) = untraceable(one.state, channel) {
        return Err(why);
    }
    match one.state {
        'Z' | 'X' => Err("it has ended".to_string()),
        _ if left.is_zero() => Err("there was no time for it".to_string()),
        _ => tracer.read(one, left.min(LONGEST)),
    }
}

/// The reason why a thread in this state, which waits in this function of the kernel, cannot be traced: it could not be
/// stopped, and the tracer would wait as long as it does.
pub(super) fn untraceable(state: char, channel: &str) -> Option<String> {
    match state {
        'D' | 'I' => Some("it waits in the kernel, where it cannot be traced".to_string()),
        'S' if UNTRACEABLE.contains(&channel) => Some(format!(
            "it waits for a file system ({channel}), where it cannot be traced"
        )),
        _ => None,
    }
}

/// The stack of the first thread, and those of other threads that are in a call.
fn of_threads(stacks: Vec<Vec<Frame>>) -> (Vec<Frame>, Vec<Vec<Frame>>) {
    let mut stacks = stacks.into_iter();
    let first = stacks.next().unwrap_or_default();
    let in_call = |stack: &Vec<Frame>| stack.iter().any(|frame| is_call(&frame.function));
    (first, stacks.filter(in_call).take(THREADS).collect())
}

/// The stacks of the threads in the output of eu-stack or gdb.
fn parse(text: &str) -> Vec<Vec<Frame>> {
    let mut parts = vec![Vec::new()];
    for line in text.lines() {
        let of_gdb = line.starts_with("Thread ") && line.contains("(LWP ");
        if line.starts_with("TID ") || of_gdb {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(line);
        }
    }
    let stacks = parts.into_iter().map(frames_of);
    stacks.filter(|frames| !frames.is_empty()).collect()
}

/// The frames in the output for a thread: lines such as `#1  0x00007f34 in f (a=1) at f.c:7`, or
/// `#1  0x00007f34 f`, the second with the place in the next line.
fn frames_of(lines: Vec<&str>) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for line in lines {
        let Some(rest) = line.trim_start().strip_prefix('#') else {
            // `    /home/u/f.c:7` belongs to the frame before.
            let place = line.trim();
            if let Some(frame) = frames.last_mut()
                && line.starts_with("    ")
                && place.contains(':')
            {
                frame.place.get_or_insert_with(|| short_place(place));
            }
            continue;
        };
        let mut words = rest.split_whitespace().skip(1).peekable();
        if words.peek().is_some_and(|word| word.starts_with("0x")) {
            words.next();
            // eu-stack marks addresses behind a call with `- 1`.
            if words.next_if(|word| *word == "in").is_none()
                && words.next_if(|word| *word == "-").is_some()
            {
                words.next();
            }
        }
        let rest: Vec<&str> = words.collect();
        let rest = rest.join(" ");
        let (before, place) = match rest.rsplit_once(" at ") {
            Some((before, place)) => (before, Some(short_place(place))),
            None => (rest.as_str(), None),
        };
        let name = before.split(" (").next().unwrap_or_default();
        let name = name.split(" from ").next().unwrap_or_default();
        let function = readable(name);
        if function.starts_with("__libc_start") || function == "_start" || frames.len() == DEEPEST {
            break;
        }
        frames.push(Frame { function, place });
    }
    frames
}

/// `f.c:7`: the name of the file without its directory, and without a column.
fn short_place(place: &str) -> String {
    let name = place.rsplit('/').next().unwrap_or(place);
    name.splitn(3, ':').take(2).collect::<Vec<&str>>().join(":")
}

/// The name of a function as the source has it: compilers add the module, underscores and the numbers of copies.
fn readable(symbol: &str) -> String {
    let name = symbol.trim().split('@').next().unwrap_or_default();
    let name = name.strip_prefix("__GI_").unwrap_or(name);
    let copies = [".constprop", ".isra", ".part", ".cold", ".lto_priv"];
    let name = copies
        .iter()
        .fold(name, |name, copy| name.split(copy).next().unwrap_or(name));
    // gfortran: `sub.3` is a procedure in a program or in a procedure.
    let name = match name.rsplit_once('.') {
        Some((before, number))
            if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            before
        }
        _ => name,
    };
    if matches!(name, "MAIN__" | "_QQmain") {
        return "main program".to_string();
    }
    if let Some((module, procedure)) = name
        .strip_prefix("__")
        .and_then(|rest| rest.split_once("_MOD_"))
    {
        return format!("{module}::{procedure}");
    }
    // flang: `_QMmodulePprocedure`, `_QFprogramPprocedure`, `_QPprocedure`.
    if let Some(rest) = name.strip_prefix("_Q") {
        let procedure = rest.rsplit('P').next().unwrap_or(rest);
        let scope = rest.strip_suffix(procedure).unwrap_or_default();
        let scope = scope.trim_end_matches('P').trim_start_matches(['M', 'F']);
        return match scope {
            "" => procedure.to_string(),
            scope => format!("{scope}::{procedure}"),
        };
    }
    match name {
        "" | "??" => "?".to_string(),
        name => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Tracer, parse, read, readable};
    use crate::ranks::{Frame, RankProcess};
    use std::time::Duration;

    fn frame(function: &str, place: &str) -> Frame {
        Frame {
            function: function.to_string(),
            place: (!place.is_empty()).then(|| place.to_string()),
        }
    }

    #[test]
    fn stacks_of_gdb_and_of_eu_stack_are_read() {
        let gdb = "\
[Thread debugging using libthread_db enabled]
0x00007f31b9 in poll () from /lib/x86_64-linux-gnu/libc.so.6
[Switching to thread 1 (Thread 0x7f31 (LWP 12))]
#0  0x00007f31b9 in poll () from /lib/x86_64-linux-gnu/libc.so.6
#1  0x00007f31c0 in PMPI_Barrier (comm=...) from /lib/libmpi.so.12
#2  0x000056 in heat::exchange (...) at /home/u/src/heat.cpp:88
#3  main (argc=..., argv=...) at heat.cpp:30
";
        let expected = [
            frame("poll", ""),
            frame("PMPI_Barrier", ""),
            frame("heat::exchange", "heat.cpp:88"),
            frame("main", "heat.cpp:30"),
        ];
        assert_eq!(parse(gdb), [expected]);
        let eu_stack = "\
PID 12 - process
TID 12:
#0  0x00007f31b9 __poll
#1  0x00007f31c0 - 1 PMPI_Barrier@@Base
#2  0x0000561234 - 1 __heat_MOD_exchange
    /home/u/src/heat.f90:88:5
#3  0x0000561234 main
#4  0x00007fd389 __libc_start_call_main
";
        let found = parse(eu_stack).remove(0);
        let names: Vec<&str> = found.iter().map(|one| &*one.function).collect();
        assert_eq!(names.len(), 4);
        assert_eq!(found[2], frame("heat::exchange", "heat.f90:88"));
        assert!(parse("ptrace: Operation not permitted.\n").is_empty());
    }

    /// A program may leave its checkpoints to a thread of its own.
    #[test]
    fn a_thread_that_waits_in_a_call_is_kept() {
        let gdb = "\
[New LWP 13]
0x00007f31b9 in sin () from /lib/libm.so.6

Thread 1 (Thread 0x7f31 (LWP 12) \"heat\"):
#0  0x00007f31b9 in sin () from /lib/libm.so.6
#1  main (argc=..., argv=...) at heat.cpp:30

Thread 2 (Thread 0x7f32 (LWP 13) \"heat\"):
#0  0x00007f31b9 in poll () from /lib/libc.so.6
#1  0x00007f31b9 in start_thread () from /lib/libc.so.6

Thread 3 (Thread 0x7f33 (LWP 14) \"heat\"):
#0  0x00007f31b9 in poll () from /lib/libc.so.6
#1  0x00007f31c0 in SCR_Complete_output () from /lib/libscr.so
#2  write_behind (arg=...) at heat.cpp:9
";
        let eu_stack = "\
PID 12 - process
TID 12:
#0  0x00007f31b9 sin
#1  0x0000561234 main
TID 13:
#0  0x00007f31b9 poll
TID 14:
#0  0x00007f31b9 poll
#1  0x00007f31c0 - 1 SCR_Complete_output
#2  0x0000561234 - 1 write_behind
";
        for text in [gdb, eu_stack] {
            let (first, others) = super::of_threads(parse(text));
            let names = |stack: &[Frame]| -> Vec<String> {
                stack.iter().map(|one| one.function.clone()).collect()
            };
            assert_eq!(names(&first), ["sin", "main"]);
            let others: Vec<_> = others.iter().map(|one| names(one)).collect();
            assert_eq!(others, [["poll", "SCR_Complete_output", "write_behind"]]);
        }
    }

    /// A tracer would wait as long as the file system hangs.
    #[test]
    fn who_waits_for_a_hung_file_system_is_not_traced() {
        let tracer = Tracer::EuStack("/no/tracer".into());
        let why = |state, channel: &str| {
            let one = RankProcess {
                state,
                channel: Some(channel.to_string()),
                ..RankProcess::default()
            };
            read(&tracer, &one, Duration::from_secs(60)).unwrap_err()
        };
        assert!(why('S', "request_wait_answer").contains("file system (request_wait_answer)"));
        assert!(why('D', "io_schedule").contains("in the kernel"));
        assert!(why('S', "do_poll").contains("/no/tracer"));
        // gdb stops all threads, and would wait for this one.
        let one = RankProcess {
            state: 'S',
            stuck_thread: super::untraceable('D', "io_schedule"),
            ..RankProcess::default()
        };
        let gdb = Tracer::Gdb("/no/tracer".into());
        let why = read(&gdb, &one, Duration::from_secs(60)).unwrap_err();
        assert!(
            why.starts_with("a thread of it: it waits in the kernel"),
            "{why}"
        );
    }

    #[test]
    fn names_are_those_of_the_source() {
        for (symbol, name) in [
            ("__heat_MOD_step", "heat::step"),
            ("MAIN__", "main program"),
            ("exchange_borders.3", "exchange_borders"),
            ("_QMheatPstep", "heat::step"),
            ("_QFheat2dPadvance", "heat2d::advance"),
            ("_QPsolve", "solve"),
            ("_QQmain", "main program"),
            ("PMPI_Barrier@@Base", "PMPI_Barrier"),
            ("work.constprop.0.isra.2", "work"),
            ("??", "?"),
            ("ns::f(int)", "ns::f(int)"),
        ] {
            assert_eq!(readable(symbol), name);
        }
    }
}
