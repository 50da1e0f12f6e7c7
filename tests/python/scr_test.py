"""The calls that the tests of SCR v3.1.0's own module make, in its order, with the same answers but that of init. Five runs
of one job, and one with SCR switched off. Usage: scr_test.py RUN [mpi4py], from 0."""

import os
import sys

if sys.argv[2:] == ["mpi4py"]:
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.rank
    import scr
else:
    import scr

    rank = scr.rank()

run = int(sys.argv[1])
# The checkpoints that each run is offered. Rank 0 cannot read the one of step 6.
offered = {0: [], 1: [2], 2: [4], 3: [6, 5], 4: [7]}


def expect(value, expected):
    assert value == expected and type(value) is type(expected), f"{value!r}, not {expected!r}"


def file_of(step):
    return f"ckpt_{step}_{rank}.txt"


# A setting of an earlier run is not remembered.
expect(scr.config("SCR_DEBUG"), None)
expect(scr.config("SCR_DEBUG=1"), None)
expect(scr.config("SCR_DEBUG"), "1")
expect(scr.config("SCR_CHECKPOINT_INTERVAL=1"), None)

if run == 5:
    scr.config("SCR_ENABLE=0")
    # What v3.1.0's module raises would end the program.
    expect(scr.init(), False)
    sys.exit()

expect(scr.init(), True)

step = 1
for wanted in offered[run]:
    expect(scr.have_restart(), f"timestep_{wanted}")
    expect(scr.start_restart(), f"timestep_{wanted}")
    path = scr.route_file(file_of(wanted))
    try:
        scr.route_file("file_that_does_not_exist.txt")
    except RuntimeError:
        pass
    else:
        raise AssertionError("a path for a file that is not there")
    with open(path, encoding="ascii") as file:
        expect(file.readlines(), [f"time={wanted}\n", f"rank={rank}\n"])
    # As ints, which v3.1.0's programs pass.
    expect(scr.complete_restart(0 if rank == 0 and wanted == 6 else 1), wanted != 6)
    step = wanted + 1
if not offered[run]:
    expect(scr.have_restart(), None)

if run == 4:
    # v3.1.0 ends the job here. Here the call has no effect.
    expect(scr.complete_output(True), False)

for step in range(step, step + 2):
    expect(scr.need_checkpoint(), True)
    expect(scr.start_output(f"timestep_{step}", scr.FLAG_CHECKPOINT), None)
    with open(scr.route_file(file_of(step)), "w", encoding="ascii") as file:
        file.write(f"time={step}\nrank={rank}\n")
    expect(scr.complete_output(1), True)
    expect(scr.should_exit(), False)

if run == 3:
    expect(scr.drop("timestep_1"), None)
    expect(scr.delete("timestep_2"), None)
    expect(os.path.exists(file_of(1)), True)
    expect(os.path.exists(file_of(2)), False)
    # As v3.1.0 does it.
    expect(scr.drop("timestep_doesnotexist"), None)

expect(scr.finalize(), None)
print(f"run {run} ends as it should")
