#!/usr/bin/env python3
"""Heat in square plates with numpy: heat_numpy.py with checkpoints of fields, which any number of ranks restores.

The ranks share a number of plates, each of another conductivity. The program lists its state once, in a dict:
SCR makes the files, and reads them again. The result is the same bit for bit, with or without a failure, and
on any number of ranks.

Usage: mpiexec -n N python3 heat_fields.py [plates N] [size N] [steps N] [every N] [delay MS] [output FILE]
  plates  plates of all ranks together (12)
  size    interior points of a plate in each direction (256)
  steps   time steps (100)
  every   steps between checkpoints; 0 asks SCR when it is time (10)
  delay   milliseconds to wait in each step, to leave time for a failure (0)
  output  file for the final plates, none if empty (heat2d.out)

Run it below the prefix directory (SCR_PREFIX, else the current directory). It needs no mpi4py, as ranks
exchange nothing: the module scr starts MPI. A program that imports mpi4py does so first.
"""

import os
import sys
import time

import numpy
import scr

OPTIONS = {"plates": 12, "size": 256, "steps": 100, "every": 10, "delay": 0, "output": "heat2d.out"}


def read_arguments(words):
    options = dict(OPTIONS)
    for key, value in zip(words[::2], words[1::2] + [""]):
        if key not in options:
            sys.exit(f"heat2d: unknown argument {key}")
        try:
            options[key] = type(options[key])(value)
        except ValueError:
            sys.exit(f"heat2d: {key} must be a number, and is {value!r}")
    return options


def say(*words):
    if scr.rank() == 0:
        # In one piece: print() writes each word alone where Python does not buffer, and the launcher would
        # mix them with lines of SCR.
        sys.stdout.write(" ".join(("heat2d:", *map(str, words))) + "\n")
        sys.stdout.flush()


def new_plates(count, size):
    plates = numpy.zeros((count, size + 2, size + 2))
    plates[:, 0, :] = 1.0
    return plates


def write_checkpoint(state):
    name = f"heat2d.{state['step']}"
    try:
        scr.checkpoint(state, name)
        say("checkpoint", name)
    except scr.Error:
        # On all ranks, also if only one of them could not write. Older checkpoints stay as they are.
        say("checkpoint", name, "failed, going on without it")


def advance(plates, conductivity):
    """One explicit time step; the border of each plate stays as it is."""
    middle = plates[:, 1:-1, 1:-1]
    neighbours = plates[:, :-2, 1:-1] + plates[:, 2:, 1:-1] + plates[:, 1:-1, :-2] + plates[:, 1:-1, 2:]
    middle += conductivity * (neighbours - 4.0 * middle)


def finish(plates, first, output):
    if not output:
        return
    inside = numpy.ascontiguousarray(plates[:, 1:-1, 1:-1])
    file = os.open(output, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        os.pwrite(file, inside.tobytes(), first * inside[:1].nbytes)
    finally:
        os.close(file)


def main():
    options = read_arguments(sys.argv[1:])
    size, count, steps, every = (options[name] for name in ("size", "plates", "steps", "every"))
    try:
        with_scr = scr.init()
    except scr.Error:
        with_scr = False
    if not with_scr:
        say("SCR is off, going on without checkpoints")

    # The plates of this rank.
    first, end = (count * rank // scr.ranks() for rank in (scr.rank(), scr.rank() + 1))
    plates = new_plates(end - first, size)
    conductivity = (0.2 * (numpy.arange(first, end) + 1) / count).reshape(-1, 1, 1)

    # All of the state, to write and to read. The borders never change, so a checkpoint has none.
    state = {"step": 0, "plates": scr.part(plates[:, 1:-1, 1:-1], whole=(count, size, size), at=(first, 0, 0))}
    if with_scr and scr.restore(state):
        say("restarted from", f"heat2d.{state['step']}")
    else:
        say("no checkpoint, starting from step 0")
    stop = False
    while state["step"] < steps and not stop:
        state["step"] += 1
        advance(plates, conductivity)
        time.sleep(options["delay"] / 1000)
        if with_scr and (state["step"] % every == 0 if every > 0 else scr.need_checkpoint()):
            write_checkpoint(state)
            stop = scr.should_exit()
    if state["step"] == steps:
        finish(plates, first, options["output"])
        say("finished step", steps, "sum of the plates of rank 0", repr(float(plates.sum())))
    else:
        say("stopping early, as SCR asks")
    if with_scr:
        scr.finalize()


if __name__ == "__main__":
    main()
