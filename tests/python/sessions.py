"""Sessions on communicators: one of all processes, one of every second process, and that of MPI_COMM_WORLD are open at
once, and each restarts from its own checkpoint. Run in an empty prefix directory; with the argument mpi4py, that starts
MPI and makes the communicators."""

import ctypes
import sys
import warnings

warnings.simplefilter("error")
if sys.argv[1:] == ["mpi4py"]:
    from mpi4py import MPI

import scr  # noqa: E402
from scr import _library, _mpi  # noqa: E402

failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        line = sys._getframe(1).f_lineno
        print(f"rank {scr.rank()}, line {line}: not so: {what}", file=sys.stderr, flush=True)


def thrown_by(action, *arguments):
    """The call of the scr.Error, or the text of another exception, or ""."""
    try:
        action(*arguments)
    except scr.Error as error:
        check("say why" not in str(error), error)
        return error.call
    except Exception as error:
        return str(error)
    return ""


def communicators():
    """All processes, and every second one."""
    if sys.argv[1:] == ["mpi4py"]:
        return MPI.COMM_WORLD, MPI.COMM_WORLD.Split(scr.rank() % 2)
    world = _mpi._world()
    half = type(world)()
    color, key = ctypes.c_int(scr.rank() % 2), ctypes.c_int(0)
    _library.function("MPI_Comm_split")(world, color, key, ctypes.byref(half))
    return in_fortran(world), in_fortran(half)


def in_fortran(comm):
    """The handle of a communicator in Fortran: with MPICH that of C, where it is a number."""
    if isinstance(comm, ctypes.c_int):
        return comm.value
    return _library.function("MPI_Comm_c2f")(comm)


def bad_input(comm):
    check(thrown_by(scr.Session, comm, "a/b") == "SCR_Session_create", "a name with a slash")
    check(thrown_by(scr.Session, 1 << 40, "a") == "SCR_Session_create", "no handle")
    check("py2f" in thrown_by(scr.Session, "comm", "a"), "no communicator")
    check("py2f" in thrown_by(scr.repair, "comm"), "no communicator to repair on")
    unused = scr.Session(comm, "unused")
    check(thrown_by(unused.have_restart) == "SCR_Have_restart", "before init")
    unused.repair(comm)
    check(unused.have_restart() is None, "a session that a repair has begun")
    unused.finalize()
    unused.free()
    check(thrown_by(unused.free) == "SCR_Session_free", "a second free")
    check(thrown_by(unused.should_exit) == "SCR_Should_exit", "after free")


def file_in(prefix, name):
    return f"{prefix}/{name}/rank.{scr.rank()}"


def write(ds, prefix):
    with open(ds.route(file_in(prefix, ds.name)), "w", encoding="ascii") as file:
        file.write(f"{prefix} {ds.name}")


def is_read(ck, prefix):
    with open(ck.route(file_in(prefix, ck.name)), encoding="ascii") as file:
        return file.read() == f"{prefix} {ck.name}"


def write_datasets(whole, half):
    """A phase of each session, one in the other."""
    state = {"step": 7, "grid": (ctypes.c_double * 3)(*[scr.rank()] * 3)}
    with scr.output("world") as of_world:
        with whole.output("ck.1") as ds:
            write(ds, "whole")
            half.checkpoint(state, "fields")
        check(ds.valid, "valid after the block")
        write(of_world, ".")

    def one_fails():
        with whole.output("thrown") as ds:
            write(ds, "whole")
            if scr.rank() == 0:
                raise ValueError("disk on fire")

    expected = "disk on fire" if scr.rank() == 0 else "SCR_Complete_output"
    check(thrown_by(one_fails) == expected, "an exception on one process")
    whole.start_output("ck.2", scr.FLAG_CHECKPOINT)
    with open(whole.route_file(file_in("whole", "ck.2")), "w", encoding="ascii") as file:
        file.write("whole ck.2")
    check(whole.complete_output(True), "complete_output")

    # No process has failed, so all go on; a dataset that is open does not count.
    whole.start_output("lost", scr.FLAG_CHECKPOINT)
    whole.repair(communicators()[0])
    check(whole.have_restart() == "ck.2", "the newest checkpoint after repair")

    check(half.checkpoint_if_needed(state) is False, "checkpoint_if_needed")
    check(whole.should_exit() is False, "should_exit")
    check(whole.need_checkpoint() in (False, True), "need_checkpoint")
    check(thrown_by(whole.current, "never") == "SCR_Current", "an unknown checkpoint")
    check(whole.drop("never") is None, "drop")


def restart(whole, half):
    """ck.2 of one session is given up while a checkpoint of another one is read."""
    for of_world in scr.restarts():
        check(of_world.name == "world", of_world.name)
        tried = []
        whole.allow_other_ranks()
        for ck in whole.restarts():
            tried.append(ck.name)
            if ck.name == "ck.1":
                with ck:
                    check(ck.ranks == scr.ranks() and len(ck.files(scr.rank())) == 1, "ranks and files")
                    check(is_read(ck, "whole"), "the file of the session")
        check(tried == ["ck.2", "ck.1"] and ck.valid, tried)
        with of_world:
            check(is_read(of_world, "."), "the file of MPI_COMM_WORLD")
    check(of_world.valid, "a restart around another one")
    state = {"step": 0, "grid": (ctypes.c_double * 3)()}
    check(half.restore(state), "restore")
    check(state["step"] == 7 and list(state["grid"]) == [scr.rank()] * 3, "what is restored")
    check(whole.delete("ck.1") is None, "delete")


def single_calls(whole):
    """A restart without a block."""
    check(whole.have_restart() == "ck.2", "the newest again")
    check(whole.start_restart() == "ck.2", "start_restart")
    check(whole.restart_ranks() == scr.ranks() and whole.restart_file_count(0) == 1, "its files")
    check(whole.restart_file(0, 0).endswith("rank.0"), "its file")
    check(whole.complete_restart(True), "complete_restart")


def off(comm):
    """While SCR is off nothing is raised, in no session."""
    with scr.Session(comm, "off", {"SCR_ENABLE": 0}) as session:
        check(session.have_restart() is None and not session.need_checkpoint(), "nothing is offered or needed")
        state = {"step": 7}
        check(not session.restore(state) and not session.checkpoint_if_needed(state), "nor restored")
        session.checkpoint(state, "off")
        with session.output("off") as ds:
            check(ds.route("off/file") == "off/file", "files are where the program names them")
        session.repair(comm)
        check(not session.should_exit(), "still off")


def main():
    all_ranks, half_ranks = communicators()
    half_name = f"half.{scr.rank() % 2}"
    bad_input(all_ranks)
    for work in write_datasets, restart:
        with scr.session(), scr.Session(half_ranks, half_name, {"SCR_FLUSH": 7}) as half:
            whole = scr.Session(all_ranks, "whole")
            check(half.config("SCR_FLUSH") == "7" and whole.config("SCR_FLUSH") != "7", "parameters")
            whole.init("SCR_FLUSH=3")
            check(whole.config("SCR_FLUSH") == "3" and whole.name == "whole", "parameters of init")
            if work is restart:
                whole.current("ck.2")
                single_calls(whole)
                whole.current("ck.2")
            work(whole, half)
            check(thrown_by(whole.free) == "SCR_Session_free", "it is open")
            whole.finalize()
            whole.free()
        check(thrown_by(half.should_exit) == "SCR_Should_exit", "the block has freed it")
    check(thrown_by(lambda: off(all_ranks)) == "", "switched off")


if __name__ == "__main__":
    main()
    if failures:
        raise SystemExit(f"{failures} checks failed")
    if scr.rank() == 0:
        print("all checks passed")
