"""The module as a program uses and misuses it: every call does its work or raises scr.Error. Run in an
empty prefix directory; with the argument mpi4py, that starts MPI."""

import errno
import os
import sys
import warnings

warnings.simplefilter("error")
if sys.argv[1:] == ["mpi4py"]:
    from mpi4py import MPI  # noqa: F401

import scr  # noqa: E402

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
        check(isinstance(error, RuntimeError) and error.code != 0, "an error with a code")
        check(str(error).startswith(error.call) and error.reason in str(error), "the text names the call and the reason")
        check("say why" not in error.reason, error)
        return error.call
    except Exception as error:
        return str(error)
    return ""


def file_of(name):
    return f"{name}/rank.{scr.rank()}"


def write(ds):
    with open(ds.route(file_of(ds.name)), "w", encoding="ascii") as file:
        file.write(f"{ds.name} of {scr.rank()}")


def read(ck):
    with open(ck.route(file_of(ck.name)), encoding="ascii") as file:
        return file.read()


def begin():
    check(scr.get_version() == "v3.1.0", "the version")
    check((scr.FLAG_NONE, scr.FLAG_CHECKPOINT, scr.FLAG_OUTPUT) == (0, 1, 2), "flags")
    check(all(hasattr(scr, name) for name in scr.__all__), "what __all__ names is there")
    check(thrown_by(scr.should_exit) == "SCR_Should_exit", "no session")
    try:
        scr.should_exit()
    except scr.Error as error:
        check("(SCR-110)" in str(error), error)
    check(scr.route_file("some/file") == "some/file", "no phase")
    check(scr.config("SCR_FLUSH=3") is None, "set")
    check(scr.config("SCR_FLUSH") == "3", "query")
    check(scr.config("SCR_FLUSH=") is None, "unset")
    check(scr.config("SCR_FLUSH") is None, "query of what is not set")
    check("NUL" in thrown_by(scr.config, "a\0b"), "a NUL")
    check("int" in thrown_by(scr.init, 3), "parameters of a wrong type")


def write_datasets(last):
    check(scr.have_restart() is None, "nothing to restart from")
    check(list(scr.restarts()) == [], "no attempts")
    check(scr.need_checkpoint() is True and scr.should_exit() is False, "questions")
    for name in "ck.1", "ck.2", "ck.3", "ck.3b":
        with scr.output(name) as ds:
            write(ds)
        check(ds.valid is True, "valid after the block")
        check(thrown_by(ds.route, "late") == "Output.route", "no path after the block")
        check(thrown_by(ds.__enter__) == "SCR_Start_output", "no second block")

    def one_fails():
        with scr.output("thrown") as ds:
            write(ds)
            if scr.rank() == last:
                raise ValueError("disk on fire")

    expected = "disk on fire" if scr.rank() == last else "SCR_Complete_output"
    check(thrown_by(one_fails) == expected, "an exception on one process")

    try:
        with scr.output(None) as ds:
            ds.route(f"not written by {scr.rank()}")
        check(False, "a file that is missing")
    except scr.Error as error:
        # The reason is that of the lowest rank, on all.
        check("None" not in str(error) and "not written by 0" in error.reason, error)

    scr.start_output("invalid", scr.FLAG_CHECKPOINT | scr.FLAG_OUTPUT)
    with open(scr.route_file(file_of("invalid")), "w", encoding="ascii"):
        pass
    check(scr.complete_output(scr.rank() != last) is False, "one process is not valid")

    check(thrown_by(scr.start_output, "x" * 1024, scr.FLAG_CHECKPOINT) == "SCR_Start_output", "long")
    check(thrown_by(scr.start_output, "x", 8) == "SCR_Start_output", "no such flag")
    check(thrown_by(scr.start_output, "x", 1 << 32) == "SCR_Start_output", "no int of C")
    with scr.output("ck.4", scr.FLAG_CHECKPOINT | scr.FLAG_OUTPUT) as ds:
        check(thrown_by(scr.start_output, "inner", 1) == "SCR_Start_output", "a second start")
        write(ds)
        # A name that is no text in UTF-8, as a path-like object.
        with open(scr.route_file(os.fsencode(f"ck.4/other.{scr.rank()}") + b"\xff"), "wb"):
            pass
    check(scr.complete_output(True) is False, "no dataset is open")


def restart(last):
    """ck.4 is given up by complete(False), ck.3b by saying nothing, ck.3 by an error of one process."""
    tried = []
    for ck in scr.restarts():
        tried.append(ck.name)
        check(ck.ranks == scr.ranks(), "ranks")
        files = sorted(ck.files(scr.rank()), reverse=True)
        check(os.path.basename(files[0]) == os.path.basename(file_of("x")), files)
        if ck.name == "ck.4":
            check(files[1].endswith("\udcff"), files)
            check(thrown_by(scr.restart_file, scr.rank(), 2) == "SCR_Restart_file", "no such file")
            check(thrown_by(scr.restart_file_count, scr.ranks()) == "SCR_Restart_file_count", "no rank")
            check(thrown_by(scr.restart_file_count, 1 << 32) == "SCR_Restart_file_count", "no int")
            check(thrown_by(ck.route, "not/there") == "SCR_Route_file", "no such file")
            check(ck.complete(False) is False, "given up")
            check(thrown_by(ck.complete) == "SCR_Complete_restart", "a second time")
        elif ck.name == "ck.3":
            with ck:
                if scr.rank() == last:
                    raise KeyError("bad file")
            check(isinstance(ck.error, KeyError) == (scr.rank() == last), "the error is kept")
            check(ck.valid is False, "not valid")
        elif ck.name == "ck.2":
            with ck:
                text = read(ck)
            check(ck.valid is True and text == f"ck.2 of {scr.rank()}", text)
            check(thrown_by(ck.route, "late") == "Restart.route", "no path after the end")
    check(tried == ["ck.4", "ck.3b", "ck.3", "ck.2"], tried)

    scr.current("ck.3")
    check(scr.have_restart() == "ck.3", "current")

    def wrong_program():
        for ck in scr.restarts():
            with ck:
                ck.no_such_name

    def may_pass():
        for ck in scr.restarts():
            with ck:
                raise OSError(errno.EIO, "Input/output error")

    check("no_such_name" in thrown_by(wrong_program), "an error of the program goes on")
    for attempt in (may_pass, may_pass):
        check(thrown_by(attempt) == "SCR_Have_restart", "no other checkpoint in this run")
        scr.current("ck.3")
        check(scr.have_restart() == "ck.3", "its checkpoint was not given up")

    check(scr.drop("ck.1") is None and scr.delete("ck.3b") is None, "drop and delete")
    check(os.path.exists(file_of("ck.1")) and not os.path.exists(file_of("ck.3b")), "files")
    check(thrown_by(scr.current, "never") == "SCR_Current", "an unknown checkpoint")


def off():
    """Whatever a program calls while SCR is off, nothing is raised: it runs as without SCR."""
    check(scr.init("SCR_ENABLE=0") is False, "init tells it")
    scr.allow_other_ranks()
    check(scr.have_restart() is None and list(scr.restarts()) == [], "nothing is offered")
    check(not scr.need_checkpoint() and not scr.should_exit(), "nothing is needed")
    with scr.output("off") as ds:
        check(ds.route("off/file") == "off/file", "files are where the program names them")
    check(scr.route_file("file") == "file", "outside of a dataset, too")
    scr.start_output("plain", scr.FLAG_CHECKPOINT)
    check(not scr.complete_output(True), "no dataset is protected")
    scr.current("off")
    scr.drop("off")
    scr.delete("off")
    state = {"step": 7}
    check(not scr.restore(state) and state == {"step": 7}, "nothing is restored")
    scr.checkpoint(state, "off")
    check(not scr.checkpoint_if_needed(state), "nothing is written")
    scr.finalize()
    with scr.session():
        check(scr.config("SCR_ENABLE") == "0", "a block")
    scr.config("SCR_ENABLE=")


def main():
    begin()
    last = scr.ranks() - 1
    with scr.session({"SCR_CHECKPOINT_INTERVAL": 1, "SCR_FLUSH": None, "SCR_DEBUG": False}):
        check(scr.config("SCR_CHECKPOINT_INTERVAL") == "1", "parameters from a dict")
        check(thrown_by(scr.init) == "SCR_Init", "a second time")
        scr.allow_other_ranks()
        write_datasets(last)
    check(thrown_by(scr.finalize) == "SCR_Finalize", "session() has finalized")

    with scr.session(["SCR_DEBUG=0"]):
        restart(last)

    def left():
        with scr.session():
            raise ValueError("one process")

    check(thrown_by(left) == "one process", "an exception leaves the session")
    check(thrown_by(scr.finalize) == "", "which was not finalized")

    check(thrown_by(off) == "", "switched off")


if __name__ == "__main__":
    main()
    # An exception makes mpiexec fail, if it is one of a single process, too.
    if failures:
        raise SystemExit(f"{failures} checks failed")
    if scr.rank() == 0:
        print("all checks passed")
