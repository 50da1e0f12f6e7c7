//! The C interface: the only place with `extern "C"` functions and pointers from callers. `include/scr.h` is made of this file,
//! `fields.rs`, `list.rs`, `indexed.rs` and `remote.rs`: a doc comment here is the comment there. `SCR_Configf` is variadic,
//! which Rust cannot define: it is in `configf.c`. Each body is a closure given to [`guard`], where errors and panics become
//! return codes.

mod around;
mod calls;
mod console;
mod fields;
mod fortran;
mod guard;
mod handles;
mod indexed;
mod list;
mod memory;
mod process;
mod remote;
mod repeated;
mod routine;
mod sessions;
mod signals;
mod slot;
mod stops;
mod table;
mod text;

pub use fields::{SCR_List_fn, SCR_Option, SCR_State, SCR_Type};

use crate::format::Name;
use crate::prefix::paths::from_bytes;
use crate::session::Verdict;
use crate::session::state::Call;
use crate::{Error, version};
use guard::guard;
use process::Reply;
use std::ffi::{c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use table::on_current;

/// The call did what its description says.
pub const SCR_SUCCESS: c_int = 0;

/// Size of a buffer for a file or dataset name, bytes, with the terminating NUL.
pub const SCR_MAX_FILENAME: c_int = 1024;

/// Neither a checkpoint nor output: initial value for a set of flags.
pub const SCR_FLAG_NONE: c_int = 0;

/// The application can restart from the dataset.
pub const SCR_FLAG_CHECKPOINT: c_int = 1;

/// The dataset must be written to the prefix directory.
pub const SCR_FLAG_OUTPUT: c_int = 2;

/// For SCR_Complete_restart: this process could not read the checkpoint, which may be good. Not in SCR
/// v3.1.0.
pub const SCR_NOT_READ: c_int = 5456722;

/// The return code of failed calls. It is not in the header: SCR v3.1.0 has no name for it.
const FAILURE: c_int = 1;

/// The path of every file after a start that failed. It cannot be made or opened, since /dev/null is no
/// directory, not even if the program appends something to it.
const NO_PATH: &[u8] = b"/dev/null/SCR_Start_failed";

/// Starts the library. Collective over MPI_COMM_WORLD, after MPI_Init.
///
/// Reads the parameters, and rebuilds datasets which an earlier run left in cache.
/// Returns 1 if SCR is disabled (SCR_ENABLE=0) or cannot start, as when the program runs with
/// another MPI than the one that SCR was built with. The program can go on without SCR.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Init() -> c_int {
    guard(FAILURE, || Ok(code(on_current(|process| process.start())?)))
}

/// Stops the library, before MPI_Finalize. Collective.
///
/// Brings the newest checkpoint to the prefix directory unless SCR_FLUSH is 0, and records
/// that the job ended on its own, so that it is not started again.
///
/// If MPI_Finalize is called first, a warning says so, and neither is done. The checkpoint stays
/// in the cache: the next run of the job restarts from it, and scr_postrun saves it. All
/// collective calls after MPI_Finalize return 1.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Finalize() -> c_int {
    guard(FAILURE, || {
        stops::ends();
        Ok(done(on_current(|process| process.finalize())?))
    })
}

/// Sets ("NAME=value"), unsets ("NAME=") or queries ("NAME") a parameter. Collective, with
/// the same string on all processes. To set and unset is possible before SCR_Init only.
///
/// Parameters of several items are given with their children: "CKPT=0 TYPE=XOR SET_SIZE=8"
/// sets, "CKPT=0 TYPE" queries. A query returns a string which the caller must free(), or
/// NULL if the parameter is not set. Of a name that is no parameter it returns this process's
/// environment variable. "SCR_ENABLE" is always answered. Setting and unsetting return NULL.
///
/// If SCR is disabled, queries are answered by each process for itself, and nothing is set
/// after SCR_Init.
///
/// # Safety
/// `config` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Config(config: *const c_char) -> *const c_char {
    guard(ptr::null(), || {
        // SAFETY: the caller's promise.
        let Some(text) = (unsafe { text::string(config) }) else {
            return Ok(ptr::null());
        };
        match calls::config(&text)? {
            Some(value) => Ok(text::heap_copy(value.as_bytes())),
            None => Ok(ptr::null()),
        }
    })
}

/// Tells in `file` the path at which a process must access the file that it knows as `name`.
/// Local to the calling process; any number of times for a file.
///
/// `file` is a buffer of SCR_MAX_FILENAME bytes. Between start and complete of an output
/// phase the call makes the file part of the dataset, and its directory. In a restart phase
/// it fails if the file is not there, and still tells where it should be. In no phase, also
/// before SCR_Init and after SCR_Finalize, it copies `name`. After a start that failed it
/// returns 1, and tells a path that cannot be opened. If SCR is disabled it copies `name`,
/// makes its directory in an output phase, and returns 1. A path that does not fit is an
/// error. `name` and `file` may be the same buffer.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string, `file` is NULL or a buffer of SCR_MAX_FILENAME
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Route_file(name: *const c_char, file: *mut c_char) -> c_int {
    guard(FAILURE, || {
        // Copied, since both may be one buffer. SAFETY: the caller's promise.
        let name = unsafe { text::bytes(name) }.map(<[u8]>::to_vec);
        if !file.is_null() {
            // SAFETY: not NULL, so by the caller's promise a buffer.
            unsafe { *file = 0 };
        }
        let mut missing = None;
        let reply = calls::with(Call::RouteFile, |session| {
            let usage = |what| Error::usage("SCR_Route_file", what);
            let name = name.as_ref().ok_or_else(|| usage("the name is NULL"))?;
            if file.is_null() {
                return Err(usage("the buffer is NULL"));
            }
            let name = from_bytes(name);
            let path = session.route(name);
            if path.is_err() {
                missing = session.restart_path(name);
            }
            path.inspect(|path| stops::routes(name, path))
        });
        let (name, missing) = (name.unwrap_or_default(), missing.unwrap_or_default());
        let path = match &reply {
            Ok(Reply::Done(path)) => path.as_os_str().as_bytes(),
            Ok(Reply::Disabled(output)) => {
                if *output {
                    around::make_parent(from_bytes(&name));
                }
                &name
            }
            Ok(Reply::NoRun) => &name,
            Err(Error::NotStarted { .. }) => NO_PATH,
            Err(_) => missing.as_os_str().as_bytes(),
        };
        // SAFETY: the caller's promise, and the path is ours.
        let fits = unsafe { text::copy_out(path, file) };
        let told = match reply? {
            Reply::Done(_) => true,
            Reply::NoRun => !name.is_empty() && !file.is_null(),
            Reply::Disabled(_) => false,
        };
        if !fits {
            return Err(Error::usage(
                "SCR_Route_file",
                "the path does not fit into a buffer of SCR_MAX_FILENAME bytes",
            ));
        }
        Ok(code(told))
    })
}

/// Says whether this program can restart from a checkpoint that another number of processes wrote:
/// `allowed` is 1 if it can, 0 if not. Collective, with the same argument on all processes, after
/// SCR_Init and before SCR_Have_restart. Not in SCR v3.1.0.
///
/// Without this call there is no such restart, unless SCR_FETCH_BYPASS or SCR_GLOBAL_RESTART is 1.
/// SCR_Have_restart then offers the newest checkpoint, whatever its number of processes. If that
/// number is another one, the files come from the prefix directory, to which a checkpoint in the
/// cache is copied first. Every process can open every file: SCR_Route_file takes the names with which
/// the files were written, and SCR_Restart_ranks, SCR_Restart_file_count and SCR_Restart_file tell what
/// there is. New datasets may replace such checkpoints, as they may replace those of the same number of
/// processes.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Allow_other_ranks(allowed: c_int) -> c_int {
    guard(FAILURE, || {
        Ok(done(calls::with(Call::AllowOtherRanks, |session| {
            session.allow_other_ranks(allowed != 0)
        })?))
    })
}

/// Sets `flag` to 1 if there is a checkpoint to restart from, otherwise to 0. Collective.
///
/// `name` may be NULL, or is a buffer of SCR_MAX_FILENAME bytes which receives the name of
/// that checkpoint, when there is one.
///
/// # Safety
/// `flag` is NULL or points to an int, `name` is NULL or a buffer of SCR_MAX_FILENAME bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Have_restart(flag: *mut c_int, name: *mut c_char) -> c_int {
    guard(FAILURE, || {
        // SAFETY: the caller's promise.
        unsafe { text::set(flag, 0) };
        let reply = calls::with(Call::HaveRestart, |session| {
            if flag.is_null() {
                return Err(Error::usage("SCR_Have_restart", "the flag is NULL"));
            }
            session.have_restart()
        })?;
        if let Reply::Done(Some(found)) = &reply {
            // SAFETY: the caller's promise.
            unsafe {
                text::set(flag, 1);
                text::copy_out(found.as_bytes(), name);
            }
        }
        Ok(done(reply))
    })
}

/// Begins to read the checkpoint which SCR_Have_restart offered. Collective. What holds for
/// an SCR_Start_output that fails holds here as well.
///
/// `name` may be NULL, or is a buffer of SCR_MAX_FILENAME bytes which receives its name.
///
/// # Safety
/// `name` is NULL or a buffer of SCR_MAX_FILENAME bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Start_restart(name: *mut c_char) -> c_int {
    guard(FAILURE, || {
        let reply = calls::with(Call::StartRestart, |session| session.start_restart())?;
        if let Reply::Done(found) = &reply {
            // SAFETY: the caller's promise.
            unsafe { text::copy_out(found.as_bytes(), name) };
        }
        Ok(done(reply))
    })
}

/// Sets `ranks` to the number of processes that wrote the checkpoint which is being read. Local,
/// between SCR_Start_restart and SCR_Complete_restart. Not in SCR v3.1.0.
///
/// # Safety
/// `ranks` is NULL or points to an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Restart_ranks(ranks: *mut c_int) -> c_int {
    guard(FAILURE, || {
        let call = Call::RestartRanks;
        // SAFETY: the caller's promise.
        unsafe { text::set(ranks, 0) };
        let reply = calls::with(call, |session| {
            if ranks.is_null() {
                return Err(Error::usage(call.name(), "the pointer is NULL"));
            }
            session.restart_ranks()
        })?;
        if let Reply::Done(number) = reply {
            // SAFETY: the caller's promise.
            unsafe { text::set(ranks, c_int::try_from(number).unwrap_or(c_int::MAX)) };
        }
        Ok(done(reply))
    })
}

/// Sets `count` to the number of files that process `rank` of the run that wrote the checkpoint has
/// written: `rank` is at least 0 and less than what SCR_Restart_ranks tells. Local, between
/// SCR_Start_restart and SCR_Complete_restart. Not in SCR v3.1.0.
///
/// Any process may ask for any rank if the files are read in the prefix directory. That is so if
/// another number of processes wrote them. If they are in the cache, each process knows its own only.
/// A file that several processes wrote together is in the list of one of them.
///
/// # Safety
/// `count` is NULL or points to an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Restart_file_count(rank: c_int, count: *mut c_int) -> c_int {
    guard(FAILURE, || {
        let call = Call::RestartFileCount;
        // SAFETY: the caller's promise.
        unsafe { text::set(count, 0) };
        let reply = calls::with(call, |session| {
            if count.is_null() {
                return Err(Error::usage(call.name(), "the pointer is NULL"));
            }
            Ok(session.files_of(call, old_rank(call, rank)?)?.len())
        })?;
        if let Reply::Done(number) = reply {
            // SAFETY: the caller's promise.
            unsafe { text::set(count, c_int::try_from(number).unwrap_or(c_int::MAX)) };
        }
        Ok(done(reply))
    })
}

/// Tells in `name` the path, in the prefix directory, of a file that process `rank` of the run that
/// wrote the checkpoint has written. `index` is at least 0 and less than what SCR_Restart_file_count
/// tells for this rank. Local, between SCR_Start_restart and SCR_Complete_restart. Not in SCR v3.1.0.
///
/// `name` is a buffer of SCR_MAX_FILENAME bytes. SCR_Route_file tells the path at which to open the
/// file of that name. The lists are read when they are asked for; it is quickest to ask for the files
/// of one rank after the other, and to open each file after it was named.
///
/// # Safety
/// `name` is NULL or a buffer of SCR_MAX_FILENAME bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Restart_file(rank: c_int, index: c_int, name: *mut c_char) -> c_int {
    guard(FAILURE, || {
        let call = Call::RestartFile;
        if !name.is_null() {
            // SAFETY: not NULL, so by the caller's promise a buffer.
            unsafe { *name = 0 };
        }
        let reply = calls::with(call, |session| {
            if name.is_null() {
                return Err(Error::usage(call.name(), "the buffer is NULL"));
            }
            let files = session.files_of(call, old_rank(call, rank)?)?;
            let file = usize::try_from(index).ok().and_then(|at| files.get(at));
            let path = file.map(|file| file.as_os_str().as_bytes());
            match path {
                // SAFETY: the caller's promise.
                Some(path) if unsafe { text::copy_out(path, name) } => Ok(()),
                Some(path) => Err(Error::usage(
                    call.name(),
                    format!("a path has {} bytes and does not fit", path.len()),
                )),
                None => Err(Error::usage(
                    call.name(),
                    format!(
                        "rank {rank} has {} files, and none of index {index}",
                        files.len()
                    ),
                )),
            }
        })?;
        Ok(done(reply))
    })
}

/// Ends the restart: `valid` is 1 if this process read all its files, 0 if the checkpoint is bad.
/// Collective.
///
/// Returns SCR_SUCCESS only if all processes gave 1. Otherwise the checkpoint is given up, and
/// SCR_Have_restart tells whether there is an older one to try. What was read by then has changed the state of
/// the program, on some processes and not on others: initialise it again on all of them before the
/// next try, and before a start from the beginning.
///
/// `valid` is SCR_NOT_READ if this process could not read the checkpoint for a reason that says nothing
/// of it: no memory, an interrupt, an error that may pass. Then it is not given up. It is not offered
/// again in this run, and no older one is: SCR_Have_restart fails, and the next run restarts from it.
/// It is the same if `valid` is 0 after an error of the system, like EIO, in SCR_Route_file,
/// SCR_Restart_file_count or SCR_Restart_file.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Complete_restart(valid: c_int) -> c_int {
    guard(FAILURE, || {
        let call = Call::CompleteRestart;
        let read = match valid {
            0 => Verdict::Bad,
            SCR_NOT_READ => Verdict::NotRead,
            _ => Verdict::Read,
        };
        let valid = read == Verdict::Read;
        let reply = calls::complete(call, valid, |session| session.complete_restart(read))?;
        stops::restored(&reply);
        Ok(done(reply))
    })
}

/// Sets `flag` to 1 if the application should write a checkpoint now, otherwise to 0.
/// Collective, same answer everywhere.
///
/// # Safety
/// `flag` is NULL or points to an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Need_checkpoint(flag: *mut c_int) -> c_int {
    guard(FAILURE, || {
        // SAFETY: the caller's promise.
        unsafe { text::set(flag, 0) };
        let reply = calls::with(Call::NeedCheckpoint, |session| {
            if flag.is_null() {
                return Err(Error::usage("SCR_Need_checkpoint", "the flag is NULL"));
            }
            session.need_checkpoint()
        })?;
        if let Reply::Done(yes) = reply {
            // SAFETY: the caller's promise.
            unsafe { text::set(flag, yes.into()) };
        }
        Ok(done(reply))
    })
}

/// Begins a checkpoint: SCR_Start_output with no name and SCR_FLAG_CHECKPOINT. Collective;
/// ended by SCR_Complete_checkpoint. What holds for an SCR_Start_output that fails holds here
/// as well.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Start_checkpoint() -> c_int {
    guard(FAILURE, || {
        stops::begins(true);
        Ok(done(calls::with(Call::StartCheckpoint, |session| {
            session.start_checkpoint()
        })?))
    })
}

/// Ends a checkpoint, as SCR_Complete_output ends a dataset. Collective.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Complete_checkpoint(valid: c_int) -> c_int {
    guard(FAILURE, || {
        let (call, valid) = (Call::CompleteCheckpoint, valid != 0);
        let reply = calls::complete(call, valid, |session| session.complete_checkpoint(valid))?;
        stops::completed(&reply);
        Ok(done(reply))
    })
}

/// Begins a dataset, before any of its files is made. Collective, with the same arguments
/// on all processes.
///
/// `name` is shorter than SCR_MAX_FILENAME, or NULL for a name made from the dataset id.
/// `flags` are SCR_FLAG_CHECKPOINT and SCR_FLAG_OUTPUT, or-ed.
///
/// If it returns 1 no dataset is begun, and nothing of it must be written: SCR_Route_file
/// returns 1 and a path that cannot be opened, since the file's own path may hold an older
/// dataset. SCR_Complete_output returns 1 without a message, and may be left out; any other
/// call is as good as after it. Inside of another phase a start changes nothing. If SCR is
/// disabled it returns 1, with or without SCR_Complete_output, and SCR_Route_file copies.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Start_output(name: *const c_char, flags: c_int) -> c_int {
    guard(FAILURE, || {
        // SAFETY: the caller's promise.
        let name = unsafe { text::bytes(name) }.map(Name::from);
        let kind = flags_of(Call::StartOutput, flags);
        stops::begins(flags & SCR_FLAG_CHECKPOINT != 0);
        Ok(done(calls::with(Call::StartOutput, |session| {
            session.start_output_as(name, kind)
        })?))
    })
}

/// Ends a dataset whose files are all closed: `valid` is 1 if this process wrote its files,
/// or had none, and 0 if it could not. Collective.
///
/// A program should store in a checkpoint how many steps it has done, and go on with the next
/// one after a restart. If it stores the step that it is in, it repeats that step. After a
/// checkpoint of the last step, another run restarts from it and has nothing left to do.
///
/// Returns SCR_SUCCESS only if all processes gave 1 and the data are protected as
/// configured.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Complete_output(valid: c_int) -> c_int {
    guard(FAILURE, || {
        let (call, valid) = (Call::CompleteOutput, valid != 0);
        let reply = calls::complete(call, valid, |session| session.complete_output(valid))?;
        stops::completed(&reply);
        Ok(done(reply))
    })
}

/// Sets `flag` to 1 if the application should stop, otherwise to 0. Collective, same answer
/// everywhere; best asked after each checkpoint.
///
/// # Safety
/// `flag` is NULL or points to an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Should_exit(flag: *mut c_int) -> c_int {
    guard(FAILURE, || {
        let reply = calls::with(Call::ShouldExit, |session| {
            if flag.is_null() {
                return Err(Error::usage("SCR_Should_exit", "the flag is NULL"));
            }
            session.should_exit()
        });
        // If SCR is disabled, SCR v3.1.0 leaves the flag as it is, and so do we.
        if !matches!(reply, Ok(Reply::Disabled(_))) {
            let yes = matches!(reply, Ok(Reply::Done(true)));
            // SAFETY: the caller's promise.
            unsafe { text::set(flag, yes.into()) };
        }
        Ok(done(reply?))
    })
}

/// Makes the checkpoint `name` the one to restart from; newer ones leave the cache.
/// Collective.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Current(name: *const c_char) -> c_int {
    guard(FAILURE, || {
        // SAFETY: the caller's promise.
        let name = unsafe { text::bytes(name) }
            .map(Name::from)
            .unwrap_or_default();
        Ok(done(calls::with(Call::Current, |session| {
            session.current(&name)
        })?))
    })
}

/// Removes the dataset `name` from the index, and no file. Collective.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Drop(name: *const c_char) -> c_int {
    guard(FAILURE, || {
        // SAFETY: the caller's promise.
        let name = unsafe { text::bytes(name) }
            .map(Name::from)
            .unwrap_or_default();
        Ok(done(calls::with(Call::Drop, |session| {
            session.drop_dataset(&name)
        })?))
    })
}

/// Removes the dataset `name` with its files from cache and prefix directory. Collective.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SCR_Delete(name: *const c_char) -> c_int {
    guard(FAILURE, || {
        // SAFETY: the caller's promise.
        let name = unsafe { text::bytes(name) }
            .map(Name::from)
            .unwrap_or_default();
        Ok(done(calls::with(Call::Delete, |session| {
            session.delete(&name)
        })?))
    })
}

/// Returns SCR_VERSION of the library in use. Local, at any time, without MPI too; the
/// string must not be freed or changed.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Get_version() -> *mut c_char {
    version::INTERFACE_C.as_ptr().cast_mut()
}

/// Tells why the last call of this thread that failed has failed: the text of the error, with its code, such as SCR-110,
/// if it has one. Local, at any time. Not in SCR v3.1.0.
///
/// It is "" if none has failed, and after one that returned 1 as SCR is disabled. Never NULL, and one line. The
/// string must not be freed or changed, and is valid until the next call of this thread. Calls of other threads do not change it.
#[unsafe(no_mangle)]
pub extern "C" fn SCR_Reason() -> *const c_char {
    guard::reason()
}

/// A rank of the run that wrote a checkpoint, as a call from C gives it.
fn old_rank(call: Call, rank: c_int) -> crate::Result<u64> {
    let bad = |_| Error::usage(call.name(), format!("there is no rank {rank}"));
    u64::try_from(rank).map_err(bad)
}

/// The two flags of a dataset from a call from C: is it a checkpoint, and is it output?
fn flags_of(call: Call, flags: c_int) -> crate::Result<(bool, bool)> {
    let has = |flag: c_int| flags & flag != 0;
    if has(!(SCR_FLAG_CHECKPOINT | SCR_FLAG_OUTPUT)) {
        return Err(Error::usage(
            call.name(),
            format!("flags {flags} holds bits that are no flag of SCR"),
        ));
    }
    Ok((has(SCR_FLAG_CHECKPOINT), has(SCR_FLAG_OUTPUT)))
}

/// The code of a call without an error: it may fail as SCR is disabled.
fn code(success: bool) -> c_int {
    if success {
        return SCR_SUCCESS;
    }
    guard::without_reason();
    FAILURE
}

fn done<T>(reply: Reply<T>) -> c_int {
    code(matches!(reply, Reply::Done(_)))
}
