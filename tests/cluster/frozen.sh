#!/usr/bin/env bash
# Usage: frozen.sh BIN PROGRAM
# The file system of the prefix directory hangs while the program flushes to it, on a real Slurm. The hang is found though nobody
# can read there, the run is ended, and scr_run waits until the file system answers. Then the program goes on to the right result.
set -euo pipefail

bin=$1 program=$2
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
command -v bindfs >/dev/null || {
    echo "SKIPPED: there is no bindfs, which stands for a file system that hangs (package bindfs)"
    exit 77
}

mount=${SCR_TEST_CLUSTER:?}/shared/frozen
mkdir -p "$mount" real
bindfs -f "$PWD/real" "$mount" &
server=$!
unmount() {
    clean_up
    kill -CONT "$server" 2>/dev/null || true
    umount -l "$mount" 2>/dev/null || true
    # It would go on as long as a process of Slurm on some node has its directory there.
    kill -9 "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    rmdir "$mount" 2>/dev/null || true
}
trap unmount EXIT
until mountpoint -q "$mount"; do
    kill -0 "$server" 2>/dev/null || {
        echo "SKIPPED: bindfs cannot mount here"
        exit 77
    }
    sleep 0.1
done

export SCR_PREFIX=$mount SCR_RUNS=2 SCR_FLUSH=1 SCR_WATCH_TERM_SECONDS=5 SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
go_on 900000
mapfile -t application < <(example "$program" delay 10 output "$PWD/field")
begin "$bin/scr_run" --watch calls,cpu --after 8 --first 30 "${launch[@]}" --chdir="$mount" "${application[@]}"
# Calls are counted again five seconds after SCR_Init; a thousand steps take ten.
wait_for '^heat2d: checkpoint heat2d.1[0-9][0-9]0$' || fail "it ended before the file system hung"
kill -STOP "$server"
rm -f steps
wait_for '^scr_run: .*: the prefix directory .* does not answer; all waits' || fail "scr_run does not say that it waits"
grep -q '^scr_run: .*: no progress for [0-9]* s (limit 8 s): ' log || fail "the hang was not found"
grep -q '^scr_run: .*: 4 ranks on 4 nodes in ' log || fail "it does not tell what the ranks did"
grep -q 'does not answer, so the stacks are not written' log || fail "the stacks were written to a directory that hangs"
reached=$(completed)
go_on $((reached + 100))
kill -CONT "$server"
finish || fail "scr_run did not end well"
grep -q '^scr_run: .*: the prefix directory answers again, after ' log || fail "it does not tell that it goes on"
grep -q '^scr_run: .*: launch 2 of at most 2 on node\[1-5\]:' log || fail "a node was left out"
grep -q 'event=HANG' "real/.scr/log" || fail "the event log has no hang"
same_result "$program" $((reached + 100))
echo "ok: the hang was found, and the run went on from $(restarted)"
