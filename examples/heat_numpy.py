#!/usr/bin/env python3
"""Heat in square plates with numpy: an MPI program which survives a lost node through SCR.

Each rank has a plate of its own, of another conductivity. Every so often it writes its plate to a file as
a checkpoint; after a failure the program is simply started again, and goes on from the newest
checkpoint. The result is the same bit for bit, with or without a failure.

Usage: mpiexec -n N python3 heat_numpy.py [size N] [steps N] [every N] [delay MS] [output FILE]
  size    interior points in each direction (256)
  steps   time steps (100)
  every   steps between checkpoints; 0 asks SCR when it is time (10)
  delay   milliseconds to wait in each step, to leave time for a failure (0)
  output  file for the final plates of all ranks, none if empty (heat2d.out)

Run it below the prefix directory (SCR_PREFIX, else the current directory). It needs no mpi4py, as ranks
exchange nothing: the module scr starts MPI. A program that imports mpi4py does so first.
"""

import os
import sys
import time

import numpy
import scr

OPTIONS = {"size": 256, "steps": 100, "every": 10, "delay": 0, "output": "heat2d.out"}


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


def file_in(name):
    return f"{name}/rank.{scr.rank()}"


def new_plate(size):
    plate = numpy.zeros((size + 2, size + 2))
    plate[0, :] = 1.0
    return plate


def restart(size):
    """The step and the plate of the newest checkpoint that all ranks can read, or of the beginning."""
    for checkpoint in scr.restarts():
        # An error in this block is one of this checkpoint: the next older one is tried.
        with checkpoint:
            with open(checkpoint.route(file_in(checkpoint.name)), "rb") as file:
                saved = numpy.load(file)
                step, plate = int(saved["step"]), saved["plate"]
            if plate.shape != (size + 2, size + 2):
                raise ValueError(f"the plate is of shape {plate.shape}")
        if checkpoint.valid:
            say("restarted from", checkpoint.name)
            return step, plate
        say("cannot read", checkpoint.name + ", looking for an older checkpoint")
    say("no checkpoint, starting from step 0")
    return 0, new_plate(size)


def write_checkpoint(step, plate):
    name = f"heat2d.{step}"
    dataset = scr.output(name)
    try:
        with dataset:
            with open(dataset.route(file_in(name)), "wb") as file:
                numpy.savez(file, step=step, plate=plate)
        say("checkpoint", name)
    except (OSError, scr.Error):
        # All ranks come here, also if only one of them could not write. The dataset does not count, and
        # older ones stay as they are.
        how = "cannot be started" if dataset.valid is None else "failed"
        say("checkpoint", name, how + ", going on without it")


def advance(plate, conductivity):
    """One explicit time step; the border of the plate stays as it is."""
    middle = plate[1:-1, 1:-1]
    neighbours = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
    middle += conductivity * (neighbours - 4.0 * middle)


def finish(plate, output):
    if not output:
        return
    inside = numpy.ascontiguousarray(plate[1:-1, 1:-1])
    file = os.open(output, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        os.pwrite(file, inside.tobytes(), scr.rank() * inside.nbytes)
    finally:
        os.close(file)


def main():
    options = read_arguments(sys.argv[1:])
    conductivity = 0.2 * (scr.rank() + 1) / scr.ranks()
    try:
        with_scr = scr.init()
    except scr.Error:
        with_scr = False
    if not with_scr:
        say("SCR is off, going on without checkpoints")

    step, plate = restart(options["size"]) if with_scr else (0, new_plate(options["size"]))
    stop = False
    while step < options["steps"] and not stop:
        step += 1
        advance(plate, conductivity)
        time.sleep(options["delay"] / 1000)
        every = options["every"]
        if with_scr and (step % every == 0 if every > 0 else scr.need_checkpoint()):
            write_checkpoint(step, plate)
            stop = scr.should_exit()
    if step == options["steps"]:
        finish(plate, options["output"])
        say("finished step", step, "sum of the plate of rank 0", repr(float(plate.sum())))
    else:
        say("stopping early, as SCR asks")
    if with_scr:
        scr.finalize()


if __name__ == "__main__":
    main()
