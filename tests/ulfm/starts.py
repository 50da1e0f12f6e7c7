#!/usr/bin/env python3
"""Kills a process of heat2d_repair or of the ring while it begins its session: in SCR_Session_create, or in
SCR_Session_init, also that of SCR_SESSION_WORLD. In some runs a second one is killed in the repair that follows. The
others must begin the session by a repair, and write checkpoints. Then one more is killed, and they must go on from
the newest one. The result is compared with that of a run without failures.

Usage: starts.py PROGRAM STRUCK SEED COUNT [mpiexec arguments...]

STRUCK is the library of struck.c.
"""

import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile

import strikes


def settings(struck, parts):
    """The variables of a run with these strikes."""
    return {"LD_PRELOAD": struck, "STRIKES": ";".join(parts), "SCR_COPY_TYPE": "XOR", "SCR_FLUSH": "0"}


class Site:
    """A directory for a run."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="scr-strike.", dir="/dev/shm")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def without_strikes(program, launch, struck, extra):
    """The result of a run, and how many microseconds each call takes."""
    with Site() as site:
        measured = settings(struck, ["n0 create -", "n0 init -"])
        run = strikes.Run(program, launch, site, True, 0, measured, extra)
        try:
            run.read(None)
        finally:
            run.end()
        lines = [text.split() for _, text in run.lines if text.startswith("struck:")]
        with open(run.output, "rb") as out:
            return out.read(), {words[1]: int(words[3]) for words in lines}


def plan(dice, times):
    """What is done in a run: its kind, whether it respawns, and the strikes."""
    call = dice.choice(sorted(times))
    spawn = dice.random() < 0.5
    again = dice.random() < 0.35
    first, second = dice.sample(range(strikes.RANKS), 2)
    moment = int(dice.random() * 1.1 * times[call])
    parts = [f"n{first} {call} {moment}"]
    if again:
        parts.append(f"n{second} again {int(dice.random() * 1.1 * times['init'])}")
    kind = f"{call} {'spawn' if spawn else 'shrink'}{' again' if again else ''}"
    return kind, spawn, parts


def check(run, dice, reference):
    """Follows a run that is struck at its start, and strikes it again."""
    if not run.read(f"checkpoint {run.name}.10"):
        raise AssertionError("the program has ended")
    if not any("no checkpoint" in text for _, text in run.lines):
        raise AssertionError("the program did not say that it begins")
    # With a process that was started later, Open MPI can end those that were started with it.
    if strikes.strike(run.program, run.nodes, dice, False, "n") is None:
        raise AssertionError("no process is left")
    if not run.read("goes on from"):
        raise AssertionError("the program did not go on from a checkpoint")
    run.read_to_end(reference)
    if not run.is_right(reference):
        raise AssertionError("the result is wrong")


def is_crash_of_mpi(run):
    """Whether a process has crashed that learned of a failure while it made a communicator: Open MPI 5.0 does that."""
    words = ["Segmentation fault", "ompi_comm_set_rank_failed", "ompi_comm_activate"]
    return all(any(word in text for _, text in run.lines) for word in words)


def one(program, launch, struck, seed, known, extra):
    """One run. Gives its kind, and what came of it: "right", "wrong" or "MPI"."""
    reference, times = known
    dice = random.Random(seed)
    kind, spawn, parts = plan(dice, times)
    with Site() as site:
        run = strikes.Run(program, launch, site, spawn, 5, settings(struck, parts), extra)
        try:
            check(run, dice, reference)
            print(f"seed {seed}: {kind}: {'; '.join(parts)}: right", flush=True)
            return kind, "right"
        except (TimeoutError, AssertionError, OSError, subprocess.TimeoutExpired) as problem:
            print(f"seed {seed}: {kind}: {'; '.join(parts)}: {problem}")
            run.print_lines()
            hangs = isinstance(problem, (TimeoutError, subprocess.TimeoutExpired))
            return kind, "MPI" if is_crash_of_mpi(run) or hangs and strikes.stacks(program) else "wrong"
        finally:
            run.end()


def main():
    """All runs."""
    program, struck = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
    seed, count, launch = int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]
    ways = [[]]
    if "ring" in os.path.basename(program):
        ways.append(["world", "1"])
    known = [without_strikes(program, launch, struck, extra) for extra in ways]
    results = collections.Counter()
    for number in range(seed, seed + count):
        way = number % len(ways)
        kind, result = one(program, launch, struck, number, known[way], ways[way])
        results[f"{'world ' if way else ''}{kind.split(' ', maxsplit=1)[0]}", result] += 1
    for (kind, result), number in sorted(results.items()):
        print(f"{kind}: {number} {result}")
    sys.exit(1 if any(result == "wrong" for _, result in results) else 0)


if __name__ == "__main__":
    main()
