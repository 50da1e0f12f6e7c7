#!/usr/bin/env python3
"""Makes jobs hang on a real Slurm of five nodes, at random moments, and looks whether scr_run finds the hang in time,
names the ranks or the node, and brings the job to the same result as without a hang.

Usage: hangs.py BIN CLUSTER_DIRECTORY PRELOAD KINDS COUNT SEED

KINDS, by commas: stop (a process is stopped), loop (a rank computes for ever), deadlock (two ranks wait for each
other), node (all processes of a node are stopped, slurmd too), files (the file system of the prefix directory
hangs), slow (nothing hangs, but steps and checkpoints take long: there must be no alarm).
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LIMIT = 6
WITHIN = LIMIT + 10
NODES = [f"node{number}" for number in range(1, 6)]
RANKS = 4
HERE = os.path.dirname(os.path.abspath(__file__))


class Wrong(Exception):
    """Something is not as it should be."""


def need(good, what):
    if not good:
        raise Wrong(what)


class Cluster:
    def __init__(self, directory):
        self.directory = directory

    def call(self, *arguments, check=True):
        script = os.path.join(HERE, "cluster.sh")
        return subprocess.run(["bash", script, self.directory, *arguments], check=check, capture_output=True)

    def processes(self, node):
        """The processes in the name space of a node."""
        with open(os.path.join(self.directory, "run", node), encoding="ascii") as record:
            parent = record.read().strip()
        with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as children:
            first = children.read().split()[0]
        space = os.readlink(f"/proc/{first}/ns/pid")
        found = []
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and os.readlink(f"/proc/{name}/ns/pid") == space:
                    found.append(int(name))
            except OSError:
                continue
        return found

    def restore(self, node):
        self.call("power-off", node, check=False)
        self.call("power-on", node)

    def clean(self):
        for node in NODES:
            self.call("exec", node, "find", "/dev/shm", "-mindepth", "1", "-delete")
        self.call("wait-idle")


class Mount:
    """A file system that all nodes see, and that can hang."""

    def __init__(self, cluster, real):
        self.at = os.path.join(cluster.directory, "shared", "frozen")
        os.makedirs(self.at, exist_ok=True)
        self.server = subprocess.Popen(["bindfs", "-f", real, self.at])
        end = time.time() + 20
        while not os.path.ismount(self.at):
            need(time.time() < end and self.server.poll() is None, "bindfs does not mount")
            time.sleep(0.05)

    def end(self):
        self.server.send_signal(signal.SIGCONT)
        subprocess.run(["umount", "-l", self.at], check=False)
        self.server.wait()


class Job:
    """A job of the program under scr_run, in a directory of its own."""

    def __init__(self, binaries, cluster, preload, directory, kind, slow):
        self.directory = directory
        self.log = os.path.join(directory, "log")
        self.go_on(9_000_000)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SCR_")}
        environment |= {
            "SLURM_CONF": os.path.join(cluster.directory, "slurm.conf"),
            "SLURM_EXPORT_ENV": "ALL" + (f",LD_PRELOAD={preload}" if preload else ""),
            "UCX_TLS": "tcp,self",
            "SCR_CACHE_BYPASS": "0",
            "SCR_CACHE_SIZE": "2",
            "SCR_FLUSH": "5" if kind == "files" else "0",
            "SCR_RUNS": "2",
            "SCR_WATCH_TERM_SECONDS": "3",
            "SCR_PREFIX": directory,
        }
        self.mount = None
        if kind == "files":
            real = os.path.join(directory, "real")
            os.makedirs(real)
            self.mount = Mount(cluster, real)
            environment["SCR_PREFIX"] = self.mount.at
        command = ["setsid", "salloc", "-Q", "--no-kill", "-N5", f"{binaries}/scr_run", "--watch", "calls",
                   "--after", str(LIMIT), "--first", "40", "srun", f"-N{RANKS}", f"-n{RANKS}", "--mpi=pmi2"]
        command += [f"--chdir={environment['SCR_PREFIX']}", f"{binaries}/test_struck", directory, "10"]
        # The guide: the limit is several times the longest pause.
        command += [str(LIMIT / 2)] if slow else []
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env=environment, cwd=directory)

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def wait_for(self, pattern, seconds):
        """Gives the match in the log."""
        end = time.time() + seconds
        while True:
            over = self.process.poll() is not None
            found = re.search(pattern, self.text(), re.MULTILINE)
            if found:
                return found
            need(not over, f"the job ended before: {pattern}")
            need(time.time() < end, f"not within {seconds} s: {pattern}")
            time.sleep(0.05)

    def put(self, name, text):
        beside = os.path.join(self.directory, f"{name}.new")
        with open(beside, "w", encoding="ascii") as file:
            file.write(text)
        os.rename(beside, os.path.join(self.directory, name))

    def go_on(self, steps):
        self.put("steps", f"{steps}\n")

    def reached(self):
        return int(re.findall(r"^struck: step (\d+) ", self.text(), re.MULTILINE)[-1])

    def finish(self, seconds):
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Wrong(f"the job did not end within {seconds} s") from None
        need(status == 0, f"the job ended with {status}")

    def end(self):
        if self.process.poll() is None:
            subprocess.run(["scancel", "--quiet", f"--user={os.getuid()}"], check=False)
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
        if self.mount:
            self.mount.end()


def states_in(text):
    return dict(re.findall(r"^struck: step (\d+) state (\w+)$", text, re.MULTILINE))


def strike(cluster, job, kind, dice):
    """Gives what to look for in the log, and what was done."""
    victim = dice.randrange(RANKS)
    node = NODES[victim]
    if kind == "stop":
        cluster.call("exec", node, "pkill", "-STOP", "-x", "test_struck")
        return rf"\* 1 rank \({victim}; {node}\): stopped by a signal", f"rank {victim}"
    if kind == "loop":
        job.put("strike", f"loop {victim}\n")
        return rf"\* 1 rank \({victim}; {node}\): .*iterate_without_end", f"rank {victim}"
    if kind == "deadlock":
        job.put("strike", f"deadlock {victim}\n")
        other = (victim + 1) % RANKS
        pair = sorted([victim, other])
        numbers = rf"{pair[0]}(-|, ){pair[1]}"
        return rf"2 ranks \({numbers}; node\[{pair[0] + 1}[-,]{pair[1] + 1}\]\): .*wait_for_other", f"ranks {pair[0]} and {pair[1]}"
    if kind == "node":
        for process in cluster.processes(node):
            os.kill(process, signal.SIGSTOP)
        return rf"{node}\b.*(does not|do not|did not) answer", node
    job.mount.server.send_signal(signal.SIGSTOP)
    return r"the prefix directory .* does not answer", "file system"


def one(binaries, cluster, preload, kind, dice, states, directory):
    """A job with one strike. Gives what is worth telling."""
    job = Job(binaries, cluster, preload, directory, kind, kind == "slow")
    try:
        job.wait_for(r"^struck: step 10 ", 90)
        if kind == "slow":
            job.wait_for(r"^struck: step 80 ", 180)
            job.go_on(job.reached() + 1)
            job.finish(90)
            told = "no alarm"
        else:
            # Calls are counted again five seconds after SCR_Init.
            time.sleep(dice.uniform(5.5, 9.0))
            begun = time.time()
            names, what = strike(cluster, job, kind, dice)
            job.wait_for(r"^scr_run: .*: no progress for ", 60)
            took = time.time() - begun
            if os.path.exists(os.path.join(directory, "strike")):
                os.remove(os.path.join(directory, "strike"))
            if kind == "files":
                job.wait_for(r"^scr_run: .*: the prefix directory .* does not answer; all waits", 60)
                job.mount.server.send_signal(signal.SIGCONT)
            if kind == "node":
                # What a parallel file system does with a client that is silent, or an operator: its locks end. Rank 0
                # has that of the prefix directory.
                again = r"launch 2 of at most 2|a process of the launch before still holds the prefix directory"
                if "launch 2" not in job.wait_for(again, 90).group():
                    cluster.call("power-off", what)
            job.go_on(job.reached() + 100)
            job.finish(150)
            text = job.text()
            need(re.search(names, text), f"the hang of {what} is not told: {names}")
            need("launch 2 of at most 2" in text, "there was no other launch")
            need(not re.search(r"begins at step 0$", text.split("launch 2 of at most 2")[1], re.MULTILINE),
                 "it began at the beginning")
            if kind == "node":
                second = re.search(r"launch 2 of at most 2 on (\S+):", text).group(1)
                hosts = subprocess.run(["scontrol", "show", "hostnames", second], capture_output=True, check=True,
                                       text=True).stdout.split()
                need(what not in hosts, f"{what} is used again: {second}")
            need(took <= WITHIN, f"the hang was told after {took:.1f} s")
            told = f"{what}: told after {took:.1f} s"
        text = job.text()
        need(("no progress for" in text) == (kind != "slow"), "a false alarm")
        found = states_in(text)
        need(found, "there is no state")
        wrong = [step for step, state in found.items() if states.get(step) != state]
        need(not wrong, f"another state than without a hang at the steps {wrong}")
        need("struck: ended at step" in text, "it did not reach the end")
        return told
    finally:
        job.end()


def undisturbed(binaries):
    """The states of a run to which nothing happens, by step."""
    done = subprocess.run([f"{binaries}/test_struck", "expect", str(RANKS), "20000"], capture_output=True, check=True,
                          text=True)
    return states_in(done.stdout)


def main():
    binaries, directory, preload, kinds, count, seed = sys.argv[1:]
    kinds, count, dice = kinds.split(","), int(count), random.Random(int(seed))
    os.environ["SLURM_CONF"] = os.path.join(directory, "slurm.conf")
    cluster = Cluster(directory)
    work = tempfile.mkdtemp(prefix="hangs.")
    states = undisturbed(binaries)
    tally = {kind: [0, 0] for kind in kinds}
    for number in range(count):
        for kind in kinds:
            here = os.path.join(work, f"{kind}.{number}")
            os.makedirs(here)
            cluster.clean()
            try:
                told, good = one(binaries, cluster, preload, kind, dice, states, here), True
            except (Wrong, subprocess.CalledProcessError) as error:
                told, good = f"FAILED: {error}; see {here}/log", False
            tally[kind][0 if good else 1] += 1
            print(f"{kind} {number + 1}: {told}", flush=True)
            if good:
                shutil.rmtree(here, ignore_errors=True)
            if kind == "node" or not good:
                for node in NODES:
                    if kind == "node" and good and node not in told:
                        continue
                    cluster.restore(node)
    for kind, (good, bad) in tally.items():
        print(f"{kind}: {good} right, {bad} failed")
    sys.exit(any(bad for _, bad in tally.values()))


if __name__ == "__main__":
    main()
