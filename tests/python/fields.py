"""Checkpoints of fields with what Python has itself, without numpy: what is written is restored, and what is wrong is an
exception where it is wrong and scr.Error on the other processes. Run in an empty prefix directory."""

import array
import ctypes
import os
import signal
import sys
import threading
import time
import traceback
import warnings

warnings.simplefilter("error")

import scr  # noqa: E402

failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        line = sys._getframe(1).f_lineno
        print(f"rank {scr.rank()}, line {line}: not so: {what}", file=sys.stderr, flush=True)


def thrown_by(action, *arguments, **named):
    """The exception, or None."""
    try:
        action(*arguments, **named)
    except BaseException as error:
        return error
    return None


def is_last():
    return scr.rank() == scr.ranks() - 1


class Pair(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("Object", ctypes.c_double)]


def everything(rank, factor):
    """A state whose values are all 0, empty or false if the factor is 0."""
    pair = Pair(rank * factor, 0.5 * factor)
    return {
        "step": 3 * factor,
        "large": -(2**62) * factor,
        "time": 0.1 * factor,
        "on": bool(factor),
        "phase": (1 - 2j) * factor,
        "title": "heat – §" * factor,
        "bytes": b"\0\xff" * factor,
        "seed": scr.own(rank * factor),
        "log": scr.own("x" * rank * factor),
        "numbers": array.array("d", [rank * factor, factor]),
        "none": array.array("f"),
        "every second": memoryview(bytearray(9 if not factor else range(9)))[::2],
        "backwards": memoryview(array.array("h", [n * factor for n in range(5)]))[::-1],
        "table": scr.same(((ctypes.c_uint32 * 3) * 2)(*[(ctypes.c_uint32 * 3)(7 * factor)] * 2)),
        "part": scr.part(array.array("q", [(rank + 1) * factor] * 2), whole=2 * scr.ranks(), at=[2 * rank]),
        "nested": {"pair": pair, "deep/er": {"count": factor, "own": scr.own(array.array("b", [factor] * rank))}, "empty": {}},
    }


def flat(state, prefix=""):
    """The values of a state by their names; arrays as their bytes."""
    found = {}
    for name, value in state.items():
        value = value.value if isinstance(value, scr.Field) else value
        if isinstance(value, dict):
            found.update(flat(value, prefix + name + "/"))
        elif isinstance(value, (int, float, complex, str, bytes)):
            found[prefix + name] = type(value), value
        else:
            found[prefix + name] = memoryview(value).tobytes()
    return found


def dicts():
    check(scr.restore({"step": None}) is False, "without a checkpoint nothing is looked at")
    scr.checkpoint(everything(scr.rank(), 1), name="first", output=True)
    state = everything(scr.rank(), 0)
    arrays = [state[name] for name in ("numbers", "seed", "nested")]
    check(scr.restore(state) is True, "found")
    wanted, found = flat(everything(scr.rank(), 1)), flat(state)
    check(list(found) == list(wanted), found)
    for name, value in wanted.items():
        check(found[name] == value, (name, found[name], value))
    check(all(state[name] is old for name, old in zip(("numbers", "seed", "nested"), arrays)), "filled in place")
    state["numbers"].append(3.0)  # An array cannot grow while SCR holds its memory.


def wrong_values():
    good = {"numbers": array.array("i", [1, 2])}
    scr.checkpoint(good, name="good")
    wrong = {
        "a NoneType cannot be a field": {"numbers": None},
        "a list cannot be a field": {"numbers": [1, 2]},
        "must be a str, and is a int": {3: 1},
        "does not fit into 64 bits": {"numbers": 2**63},
        "is (1, 1), and the array has 1 dim": {"numbers": scr.part(array.array("i", [1, 2]), (1, 1), 0)},
        "or objects": {"numbers": (ctypes.py_object * 2)()},
        "are or have pointers": {"numbers": (ctypes.POINTER(ctypes.c_int) * 2)()},
        "the order of another machine": {"numbers": (ctypes.c_int.__ctype_be__ * 2)()},
        "8 dimensions": {"numbers": memoryview(bytearray(1)).cast("B", (1,) * 8)},
        "a NUL": {"num\0bers": 1},
        'can be "error" or "keep"': {"numbers": scr.own(1, missing="kep")},
    }
    for words, state in wrong.items():
        for action in (scr.checkpoint, scr.restore):
            error = thrown_by(action, state if is_last() else good)
            if is_last():
                check(isinstance(error, (TypeError, ValueError)) and words in str(error), (words, error))
            else:
                check(isinstance(error, scr.Error) and f"rank {scr.ranks() - 1}" in error.reason, (words, error))
        # A restart that failed for a reason of the program's gives the checkpoint up for this run.
        scr.current("good")
    error = thrown_by(scr.checkpoint, {"a": {"b": None}})
    check('field "a/b"' in str(error), error)
    readonly = {"numbers": memoryview(good["numbers"]).toreadonly()}
    scr.checkpoint(readonly, name="readonly")
    check("read-only" in str(thrown_by(scr.restore, readonly)), "what cannot be filled")
    check("give a dict" in str(thrown_by(scr.checkpoint, [1])), "no state")
    scr.current("readonly")
    back = {"numbers": array.array("i", [0, 0])}
    check(scr.restore(back) and back == good, "the checkpoints before are as they were")


def other_programs():
    """A state that is not that of the checkpoint changes nothing, and what may have changed is said."""
    scr.checkpoint({"step": 5, "old": 1, "field": array.array("f", [1.5, -2.5])}, name="other")
    same_but = {"step": 0, "old": 0, "field": array.array("f", [0, 0])}
    for change in ({"step": 0.0}, {"new": 1}, {"old": None}, {"field": array.array("d", [0, 0])}, {"field": bytearray(8)}):
        state = {name: value for name, value in {**same_but, **change}.items() if value is not None}
        before = flat(state)
        error = thrown_by(scr.restore, state)
        check(isinstance(error, scr.Error) and flat(state) == before, (change, error, state))
        check("(SCR-240)" in str(error), error)
        scr.current("other")
    state = {
        "step": 0,
        "old": 0,
        "field": scr.own(array.array("d", [0, 0]), convert=True),
        "new": scr.same("kept", missing="keep"),
    }
    scr.checkpoint({"not": "of this program"})
    check(scr.restore(state) and state["step"] == 5, "what may be so is restored, from an older checkpoint")
    check(list(state["field"].value) == [1.5, -2.5] and state["new"].value == "kept", state)


def exceptions():
    calls = []

    def fails_on_last(s, error):
        calls.append(s)
        s.same("step", 1)
        if is_last():
            raise error

    scr.checkpoint({"step": 1}, name="before")
    for error in (KeyError("missing"), KeyboardInterrupt(), SystemExit(3)):
        for action in (scr.checkpoint, scr.checkpoint_if_needed, scr.restore):
            thrown = thrown_by(action, lambda s: fails_on_last(s, error))
            if is_last():
                check(thrown is error, (action, thrown))
                check("fails_on_last" in str(traceback.format_tb(thrown.__traceback__)), "where it was raised")
            else:
                check(isinstance(thrown, scr.Error), (action, thrown))
        scr.current("before")
    check(isinstance(thrown_by(calls[0].count, "late", 1), scr.Error), "a State ends with its function")
    check(isinstance(thrown_by(scr.checkpoint, lambda s: scr.need_checkpoint()), scr.Error), "no other calls inside")
    check(scr.restore({"step": 0}), "a phase is not left open")


def older_counts():
    """A count that the newest checkpoint has not is an exception in the function, and an older checkpoint is tried."""
    counts = []
    scr.checkpoint(lambda s: s.count("number", 3))
    scr.checkpoint({"another": 1})
    check(scr.restore(lambda s: counts.append(s.count("number", 0))), "an older checkpoint")
    check(counts == [3, 3], counts)


class Struck(Exception):
    """Raised by the handler of a signal."""


def signals():
    """A signal that arrives while process 0 waits in C raises before the function begins, and is not lost."""

    def handler(*_):
        raise Struck

    def send():
        while sys._current_frames()[main_thread].f_code.co_name != "_with_routine":
            time.sleep(0.001)
        signal.pthread_kill(main_thread, signal.SIGUSR2)
        with open("sent", "w", encoding="ascii"):
            pass

    main_thread = threading.main_thread().ident
    signal.signal(signal.SIGUSR2, handler)
    hook = sys.unraisablehook
    sender = threading.Thread(target=send)
    if scr.rank() == 0:
        sender.start()
    while scr.rank() != 0 and not os.path.exists("sent"):
        time.sleep(0.001)
    thrown = thrown_by(scr.checkpoint, lambda s: s.gone("nothing"))
    check(isinstance(thrown, Struck if scr.rank() == 0 else scr.Error), repr(thrown))
    check(sys.unraisablehook is hook, "the hook is what it was")
    if scr.rank() == 0:
        sender.join()


class Program:
    """A program whose state is listed by a function."""

    def __init__(self):
        self.step, self.name, self.cells, self.calls = 0, "", [], []

    def list(self, s):
        self.calls.append((s.writing, s.reading, s.stored_ranks()))
        count = s.count("cells", len(self.cells))
        cells = [[0, array.array("d")] for _ in range(count)] if not s.writing else self.cells
        self.step = s.same("step", self.step)
        self.name = s.field("name", self.name)
        for number, cell in enumerate(cells):
            with s.list(f"cell {number}"):
                cell[0] = s.same("kind", cell[0])
                stored = s.stored("values")
                if stored is not None:
                    check(stored.dtype == "f8" and stored.whole is None, stored)
                    cell[1] = array.array("d", bytes(8 * stored.shape[0]))
                s.field("values", cell[1])
        file = s.file("text")
        if s.writing:
            with open(file, "w", encoding="ascii") as text:
                text.write(f"of {scr.rank()}")
        elif s.reading:
            self.cells = cells
            with open(file, encoding="ascii") as text:
                check(text.read() == f"of {scr.rank()}", "a file beside the fields")


def functions():
    program = Program()
    program.step, program.name = 7, "r" * scr.rank()
    program.cells = [[n, array.array("d", range(n + scr.rank()))] for n in range(4)]
    scr.checkpoint(program.list)
    check(program.calls == [(True, False, 0)], program.calls)
    other = Program()
    check(scr.restore(other.list), "found")
    check(other.calls == [(False, False, scr.ranks()), (False, True, scr.ranks())], other.calls)
    check((other.step, other.name, other.cells) == (program.step, program.name, program.cells), vars(other))

    def fewer(s):
        for name in ["name", *(f"cell {n}/{what}" for n in range(4) for what in ("kind", "values"))]:
            s.gone(name)
        s.gone("cells")
        check(s.count("more", 5, missing="keep") == 5, "a count that is not there")
        check(s.same("step", 0) == (7 if s.reading else 0), "a value changes in the last call only")
        check(s.stored("never") is None, "what is not there")

    check(scr.restore(fewer), "fields that are gone")

    def orders(s):
        s.order("F")
        s.field("plane", plane, whole=(3 * scr.ranks(), 2), at=(3 * scr.rank(), 0))
        stored = s.stored("plane")
        check(s.writing or stored[2:] == ((3, 2), (3 * scr.ranks(), 2), (3 * scr.rank(), 0)), stored)
        check(isinstance(thrown_by(s.order, "A"), ValueError), "no such order")

    plane = memoryview(bytearray(range(6))).cast("B", (3, 2))
    scr.checkpoint(orders)
    plane = memoryview(bytearray(6)).cast("B", (3, 2))
    check(scr.restore(orders) and plane.tobytes() == bytes(range(6)), "dimensions in the order of Fortran")
    turned = memoryview(bytearray(6)).cast("B", (2, 3))
    check(scr.restore({"plane": scr.part(turned, (2, 3 * scr.ranks()), (0, 3 * scr.rank()))}), "the same in that of C")
    check(turned.tolist() == [[0, 2, 4], [1, 3, 5]], turned.tolist())

    def unbalanced(s):
        try:
            with s.list("inner"):
                raise KeyError
        except KeyError:
            s.same("outside", 1)

    scr.checkpoint(unbalanced)
    check(scr.restore({"outside": 0}), "an exception ends a list in the list")


def by_index():
    """Elements by their numbers, without numpy: what can be numbers, and what is said of what cannot."""
    rank, ranks = scr.rank(), scr.ranks()
    numbers = [7 + ranks + rank, 7 + rank]

    def state(ids, values):
        return {"ids": scr.index(ids, 2 * ranks, first=7), "part": {"values": scr.by_index(values, "ids")}}

    apart = [memoryview(array.array(code, [numbers[0], 0, numbers[1], 0]))[::2] for code in "hiq"]
    sorts = [array.array(code, numbers) for code in "bBhHiIlLqQ"]
    sorts += [numbers, tuple(numbers), iter(numbers), dict.fromkeys(numbers), *apart, (ctypes.c_int * 2)(*numbers)]
    for ids in sorts:
        scr.checkpoint(state(ids, array.array("d", [1.5, rank])), name="indexed")
        read = array.array("d", [0, 0])
        check(scr.restore(state(numbers[::-1], read)) and list(read) == [rank, 1.5], (ids, read))
    every = array.array("d", bytes(16 * ranks))
    check(scr.restore(state(range(7, 7 + 2 * ranks), every)), "all elements on each process")
    check(list(every) == [*map(float, range(ranks)), *[1.5] * ranks], every)

    def failed(ids, words, whole=2 * ranks, values=None, index="ids", **place):
        def wrong(s):
            s.index("ids", ids if is_last() else numbers, whole if is_last() else 2 * ranks, 7)
            values_now = values if is_last() and values is not None else array.array("d", [0, 0])
            s.field("values", values_now, index=index if is_last() else "ids", **(place if is_last() else {}))

        error = thrown_by(scr.checkpoint, wrong)
        check(words in str(error) if is_last() else isinstance(error, scr.Error), (words, error))
        return error

    for ids, words in [
        (None, "index list \"ids\": 'NoneType' object is not iterable"),
        (["a", "b"], 'index list "ids": '),
        ([1.5, 2], 'index list "ids": '),
        (array.array("f", [1, 2]), "are integers, and these have the format 'f'"),
        ([2**63, 1], "does not fit into 64 bits"),
        (memoryview(bytearray(4)).cast("B", (2, 2)), "have one dimension, and these have 2"),
    ]:
        error = failed(ids, words)
        check(not is_last() or isinstance(error, (TypeError, ValueError)), error)
    failed([6, 7], "number 1 of this rank's list is the index 6")
    failed(numbers, "whole is", whole=2**63)
    failed(numbers, "cannot have -1 elements", whole=-1)
    failed(numbers, '"other": no index list or bag has this name', index="other")
    failed(numbers, "so no whole", whole=2 * ranks, at=0)
    failed(numbers, "has 3 places", values=array.array("d", [0, 0, 0]))
    failed(numbers, "a scalar has no elements by index", values=1.5)
    failed(numbers[:1] * 2, "lists the index")
    check(scr.restore(state(numbers, read)) and list(read) == [1.5, rank], "the checkpoint is as it was")


def damaged():
    for step in 1, 2:
        scr.checkpoint({"step": step, "data": bytearray([step] * 100)}, name=f"damaged.{step}")
    if is_last():
        with open(f"damaged.2/rank_{scr.rank()}.fields", "r+b") as file:
            content = file.read()
            file.seek(content.index(bytes([2] * 100)) + 50)
            file.write(b"\x03")
    state = {"step": 0, "data": bytearray(100)}
    check(scr.restore(state) and state == {"step": 1, "data": bytearray([1] * 100)}, state)


def if_needed():
    steps = []
    for step in range(4):
        stop_now = scr.checkpoint_if_needed(lambda s: steps.append(s.same("step", step)))
        check(stop_now is False, "no reason to stop")
    check(len(steps) == 2, steps)
    state = {"step": -1}
    check(scr.restore(state) and state["step"] == steps[-1], "it was written")
    if is_last():
        os.kill(os.getpid(), signal.SIGUSR1)
    check(scr.checkpoint_if_needed(state) is True, "a signal is a reason to stop")


def outputs():
    for name in "kept", "cached":
        scr.checkpoint({"step": 1}, name=name, output=name == "kept")
    check(os.path.exists("kept") and not os.path.exists("cached"), "an output is in the prefix directory")


def main():
    with scr.session({"SCR_CHECKPOINT_INTERVAL": 1}):
        dicts()
        wrong_values()
        other_programs()
        exceptions()
        older_counts()
        if scr.ranks() > 1:
            signals()
        functions()
        by_index()
        damaged()
    with scr.session({"SCR_CHECKPOINT_INTERVAL": 2, "SCR_HALT_SIGNALS": "USR1"}):
        if_needed()
    with scr.session({"SCR_CACHE_BYPASS": 0, "SCR_FLUSH": 0, "SCR_HALT_SIGNALS": None}):
        outputs()
    check("numpy" not in sys.modules, "numpy is not needed")
    check(isinstance(thrown_by(scr.checkpoint, {"step": 1}), scr.Error), "no session")


if __name__ == "__main__":
    main()
    # An exception makes mpiexec fail, if it is one of a single process, too.
    if failures:
        raise SystemExit(f"{failures} checks failed")
    if scr.rank() == 0:
        print("all checks passed")
