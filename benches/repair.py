#!/usr/bin/env python3
"""Times how long a program takes from the loss of a process to its next step: by another launch of scr run, by a repair
with a new process, and by a repair on the processes that are left. Each rank is on an emulated node of its own.

Usage: repair.py SCR PLAIN REPAIRS TIMES [mpiexec arguments...]

SCR is the command, PLAIN heat2d_c, and REPAIRS heat2d_repair_c. Prints the median of TIMES runs, in seconds, and
the ratio to another launch. The least that a launch can take is from its start to the first line of PLAIN, in
the same runs.
"""

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

RANKS = 4
KILLED_AFTER = "checkpoint heat2d.60"
NODE = """#!/bin/sh
if [ "$1" = first ]; then shift; n="n$OMPI_COMM_WORLD_RANK"; else n="m$$"; fi
export SCR_NODE_NAME="$n" SCR_CACHE_BASE="{nodes}/$n" SCR_CNTL_BASE="{nodes}/$n"
mkdir -p "{nodes}/$n"
exec "{program}" "$@"
"""


def newest_process(program):
    """The id of a process of the program."""
    name = os.path.basename(program)[:15]
    found = subprocess.run(["pgrep", "-x", name], capture_output=True, text=True, check=True)
    return int(found.stdout.split()[-1])


def seconds(scr, program, launch, more, word):
    """Kills a process of a run. Gives the seconds to the first line, and from the kill to the line with the word."""
    site = tempfile.mkdtemp(prefix="scr-repair.", dir="/dev/shm")
    wrapper = os.path.join(site, "node.sh")
    with open(wrapper, "w", encoding="ascii") as file:
        file.write(NODE.format(nodes=os.path.join(site, "nodes"), program=program))
    os.chmod(wrapper, 0o755)
    prefix = os.path.join(site, "prefix")
    os.makedirs(prefix)
    settings = {
        "SCR_PREFIX": prefix, "SCR_JOB_ID": "8", "SCR_CACHE_BYPASS": "0", "SCR_COPY_TYPE": "XOR", "SCR_FLUSH": "0",
        "SCR_CACHE_SIZE": "2", "SCR_RUNS": "3", "SCR_MIN_NODES": "1",
    }
    arguments = [a.replace("WRAPPER", wrapper) for a in more]
    arguments += ["size", "200", "steps", "400", "every", "20", "delay", "20", "output", os.path.join(site, "out")]
    command = [scr, "run"] + launch + ["-n", str(RANKS), wrapper, "first"] + arguments
    begun, first, killed, took = time.monotonic(), None, None, None
    with subprocess.Popen(
        command, env=dict(os.environ, **settings), cwd=prefix, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace",
    ) as run:
        for line in run.stdout:
            if first is None and line.startswith("heat2d"):
                first = time.monotonic() - begun
            if killed is None and KILLED_AFTER in line:
                os.kill(newest_process(program), signal.SIGKILL)
                killed = time.monotonic()
            if killed is not None and took is None and word in line:
                took = time.monotonic() - killed
    shutil.rmtree(site, ignore_errors=True)
    if took is None:
        raise SystemExit(f"{program} did not go on")
    return first, took


def main():
    """All three, alternating."""
    if len(sys.argv) < 5:
        raise SystemExit(__doc__)
    scr, plain, repairs = (os.path.realpath(name) for name in sys.argv[1:4])
    launch = sys.argv[5:] or ["mpiexec"]
    ulfm = launch + ["--with-ft", "ulfm"]
    ways = {
        "another launch": (plain, launch, [], "restarted from"),
        "new process": (repairs, ulfm, ["spawn", "1", "command", "WRAPPER"], "goes on from"),
        "fewer processes": (repairs, ulfm, ["spawn", "0"], "goes on from"),
    }
    took, starts = {way: [] for way in ways}, []
    for _ in range(int(sys.argv[4])):
        for way, how in ways.items():
            first, time_to_go_on = seconds(scr, *how)
            took[way].append(time_to_go_on)
            if how[0] == plain:
                starts.append(first)
    slowest = statistics.median(took["another launch"])
    print(f"{'start of a launch':18} {statistics.median(starts):6.2f} s")
    for way, all_times in took.items():
        middle = statistics.median(all_times)
        print(f"{way:18} {middle:6.2f} s  {slowest / middle:5.1f} times faster")


if __name__ == "__main__":
    main()
