#!/usr/bin/env python3
"""Kills processes of heat2d_repair or of the ring at random moments, and compares the result with that of a run without failures.

Each process is on an emulated node of its own: a directory with its cache. With `node` that is deleted, too. `again`
kills a second process a moment later, mostly during the repair.

Usage: strikes.py PROGRAM SEED COUNT [mpiexec arguments...]
"""

import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Seconds without a line of the program, which is then taken to hang. A program that only is slow, on a machine that others
# use, writes some.
LIMIT = 90.0
AT_END = 5.0
RANKS = 4
SIZE, STEPS, EVERY = 200, 400, 5


def processes(program):
    """Process id and node of each process of the program."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if os.readlink(f"/proc/{name}/exe") != program:
                continue
            with open(f"/proc/{name}/environ", "rb") as environ:
                variables = dict(
                    part.split(b"=", 1) for part in environ.read().split(b"\0") if b"=" in part
                )
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as stat:
                state = stat.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if state != "Z" and b"SCR_NODE_NAME" in variables:
            found.append((int(name), variables[b"SCR_NODE_NAME"].decode()))
    return found


def strike(program, node_dirs, dice, with_node, among=""):
    """Kills one process, on a node whose name begins with `among`. The node is lost, too, if `with_node`."""
    alive = [one for one in processes(program) if one[1].startswith(among)]
    if not alive:
        return None
    pid, node = dice.choice(sorted(alive))
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return None
    if with_node:
        shutil.rmtree(os.path.join(node_dirs, node), ignore_errors=True)
    return f"process {pid} on {node}"


def stacks(program):
    """Prints what the processes are in, if gdb is there. Gives whether one is in MPI_Comm_spawn or MPI_Init: those of
    Open MPI can wait for ever when a process fails meanwhile."""
    in_spawn = False
    if not shutil.which("gdb"):
        return in_spawn
    for pid, node in processes(program):
        try:
            told = subprocess.run(
                ["gdb", "-p", str(pid), "-batch", "-ex", "bt 25"], capture_output=True, timeout=30, check=False
            )
        except subprocess.TimeoutExpired:
            continue
        frames = [line for line in told.stdout.decode(errors="replace").splitlines() if line.startswith("#")]
        print(f"  process {pid} on {node}:")
        for frame in frames:
            print(f"    {frame[:110]}")
        in_spawn |= any("MPI_Comm_spawn" in frame or "MPI_Init" in frame for frame in frames)
    return in_spawn


class Run:
    """A run of the program, with its output."""

    def __init__(self, program, launch, site, spawn, delay, more, extra=()):
        nodes = os.path.join(site, "nodes")
        os.makedirs(nodes, exist_ok=True)
        prefix = os.path.join(site, "prefix")
        os.makedirs(prefix, exist_ok=True)
        wrapper = os.path.join(site, "node.sh")
        with open(wrapper, "w", encoding="ascii") as file:
            # A new process is on a new node: its number in its world says nothing.
            file.write(
                "#!/bin/sh\n"
                'if [ "$1" = first ]; then shift; n="n$OMPI_COMM_WORLD_RANK"; else n="m$$"; fi\n'
                f'export SCR_NODE_NAME="$n" SCR_CACHE_BASE="{nodes}/$n" SCR_CNTL_BASE="{nodes}/$n"\n'
                f'mkdir -p "{nodes}/$n"\n'
                f'exec "{program}" "$@"\n'
            )
        os.chmod(wrapper, 0o755)
        environment = dict(
            os.environ,
            SCR_PREFIX=prefix,
            SCR_JOB_ID="7",
            SCR_CACHE_BYPASS="0",
            SCR_CACHE_SIZE="2",
            **more,
        )
        arguments = [
            wrapper, "first", "spawn", str(int(spawn)), "command", wrapper, "size", str(SIZE),
            "steps", str(STEPS), "every", str(EVERY), "delay", str(delay),
            "output", os.path.join(site, "out"), *extra,
        ]
        self.nodes, self.lines, self.program = nodes, [], program
        self.name = "ring" if "ring" in os.path.basename(program) else "heat2d"
        self.started = time.monotonic()
        self.child = subprocess.Popen(
            launch + ["-n", str(RANKS)] + arguments,
            env=environment, cwd=prefix, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
            # What has been read and is kept for later would be unknown to select.
            bufsize=0,
        )
        self.output = os.path.join(site, "out")

    def read(self, until, limit=LIMIT):
        """Reads lines until one contains `until`. False at the end of the output; fails if no line comes for so long."""
        while True:
            if not select.select([self.child.stdout], [], [], limit)[0]:
                raise TimeoutError(f"no line for {limit:.0f} s, and no '{until}' before")
            line = self.child.stdout.readline()
            if not line:
                return False
            text = line.decode(errors="replace").rstrip()
            self.lines.append((time.monotonic() - self.started, text))
            if until and until in text:
                return True

    def is_right(self, reference):
        """True if the result is that of the run without failures."""
        try:
            with open(self.output, "rb") as out:
                return out.read() == reference
        except FileNotFoundError:
            return False

    def read_to_end(self, reference):
        """Reads all lines. With the right result the program has a moment to end: MPI_Finalize of Open MPI can wait
        for ever after a failure."""
        last = time.monotonic()
        while True:
            known = len(self.lines)
            try:
                self.read(None, AT_END)
                self.child.wait(timeout=AT_END)
                return
            except (TimeoutError, subprocess.TimeoutExpired):
                if self.is_right(reference):
                    return
                if len(self.lines) > known:
                    last = time.monotonic()
                if time.monotonic() >= last + LIMIT:
                    raise

    def print_lines(self):
        """Prints the output; of what always comes, only the last lines."""
        for at, text in [line for line in self.lines[:-8] if ": checkpoint" not in line[1]] + self.lines[-8:]:
            print(f"  {at:8.3f} {text}")

    def end(self):
        """Ends all processes."""
        for pid, _ in processes(self.program):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()


def one(program, launch, seed, reference):
    """One run with a strike. Gives what was done, and the seconds until the program went on."""
    dice = random.Random(seed)
    spawn = dice.random() < 0.5
    with_node = dice.random() < 0.5
    again = dice.random() < 0.35
    scheme = "XOR" if not again else "RS"
    more = {"SCR_COPY_TYPE": scheme, "SCR_FLUSH": str(dice.choice([0, 3, 10]))}
    if scheme == "RS":
        more["SCR_SET_FAILURES"] = "2"
    if dice.random() < 0.5:
        more["SCR_FLUSH_ASYNC"] = "1"
    site = tempfile.mkdtemp(prefix="scr-strike.", dir="/dev/shm")
    run = Run(program, launch, site, spawn, 5, more)
    kind = f"{'spawn' if spawn else 'shrink'}{' node' if with_node else ''}{' again' if again else ''}"
    try:
        # The first checkpoint must be complete.
        if not run.read(f"checkpoint {run.name}.10"):
            raise AssertionError("the program has ended")
        time.sleep(dice.random() * 1.2)
        who = strike(program, run.nodes, dice, with_node)
        struck = time.monotonic()
        if again:
            # Open MPI's MPI_Comm_spawn does not survive a failure, so the second one is after it.
            while spawn and len(processes(program)) < RANKS and time.monotonic() < struck + LIMIT:
                time.sleep(0.005)
            time.sleep(dice.random() * 0.8)
            who = f"{who}, {strike(program, run.nodes, dice, with_node)}"
        went_on = None
        if run.read("goes on from"):
            went_on = time.monotonic() - struck
        run.read_to_end(reference)
        code = run.child.poll()
        if not run.is_right(reference):
            raise AssertionError("the result is wrong")
        if went_on is None and not run.lines[-1][1].startswith(f"{run.name}: finished"):
            raise AssertionError("the program did not go on from a checkpoint")
        if any("no checkpoint" in text for _, text in run.lines[3:]):
            raise AssertionError("the program began again")
        return kind, who, went_on, code
    except (TimeoutError, AssertionError, OSError, subprocess.TimeoutExpired) as problem:
        print(f"seed {seed}: {kind}: {problem}; {more}")
        run.print_lines()
        if isinstance(problem, (TimeoutError, subprocess.TimeoutExpired)):
            if stacks(program):
                return kind, None, None, None
        return None
    finally:
        run.end()
        shutil.rmtree(site, ignore_errors=True)


def main():
    """All strikes."""
    program, seed, count = os.path.realpath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    launch = sys.argv[4:]
    site = tempfile.mkdtemp(prefix="scr-strike.", dir="/dev/shm")
    run = Run(program, launch, site, True, 0, {"SCR_COPY_TYPE": "XOR", "SCR_FLUSH": "0"})
    run.read(None)
    run.end()
    with open(run.output, "rb") as out:
        reference = out.read()
    shutil.rmtree(site, ignore_errors=True)
    failed, in_spawn, waits, times = 0, 0, 0, []
    for number in range(seed, seed + count):
        done = one(program, launch, number, reference)
        if done is None:
            failed += 1
            continue
        kind, who, went_on, code = done
        if who is None:
            in_spawn += 1
            print(f"seed {number}: {kind}: MPI waits in MPI_Comm_spawn", flush=True)
            continue
        times.extend([went_on] if went_on else [])
        after = f"{went_on:.2f} s" if went_on else "not needed"
        waits += code is None
        ended = "MPI waits in MPI_Finalize" if code is None else f"exit {code}"
        print(f"seed {number}: {kind}: {who}: went on after {after}, {ended}", flush=True)
    times.sort()
    middle = f"{times[len(times) // 2]:.2f} s, at most {times[-1]:.2f} s" if times else "none"
    print(f"{count} strikes, {failed} failed, {in_spawn} with MPI waiting in MPI_Comm_spawn, {waits} in MPI_Finalize; went on after (median) {middle}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
