#!/usr/bin/env bash
# Usage: background.sh STRIDE BACKGROUND LAUNCHER...
# A flush in the background, and kill -9 of all processes: before the first byte is copied, when all is
# done, and at every STRIDE-th system call of the thread that copies. All nodes are lost then. The next
# run, which has only the prefix directory, finds the new checkpoint if its completion record was there,
# and else the one before. Run through tests/in_empty_directory.sh.
set -euo pipefail

stride=$1 program=$2
shift 2
launcher=("$@")
# shellcheck source=tests/mpi/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if ! strace -o /dev/null -e trace=none true 2>/dev/null; then
    echo "SKIPPED: strace is missing or may not trace here"
    exit 77
fi
calls=openat,mkdir,mkdirat,write,pwrite64,rename,renameat,renameat2,unlinkat,fsync,fdatasync,fallocate
calls+=,ftruncate,fchmod,fchmodat,utimensat,copy_file_range,syncfs,sync_file_range
top=$(cd .. && pwd)
go=$top/go
export SCR_CACHE_BYPASS=0 SCR_FLUSH=1 SCR_FLUSH_ASYNC=1 SCR_CACHE_SIZE=2

# prepare "NODE...": a run that has flushed ck.1 and waits.
prepare() {
    rm -rf "$nodes" ./.scr ck.* "$go"
    begin "$1" "$program" "$go"
    wait_for "^background: waits" || fail "the run did not start"
}

# kill_all: kills what is left of a run.
kill_all() {
    local pids
    mapfile -t pids < <(processes)
    kill -9 "${pids[@]}" 2>/dev/null || true
    bury || true
}

# verdict NAME WHAT: after the loss of all nodes, and WHAT before, a restart finds this checkpoint.
verdict() {
    rm -rf "$nodes"
    begin "n0 n1" "$program" "$go" restart
    bury || fail "the restart after $2 failed"
    grep -q "^background: restarted from $1$" log || fail "not restarted from $1 after $2"
}

# The copying thread of this process.
copier() { # PID
    local task
    for task in "/proc/$1/task"/*; do
        [[ $(cat "$task/comm" 2>/dev/null) != scr-flush ]] || basename "$task"
    done
}

# trace STRACE-OPTION...: until the flush of ck.2 has ended, or its process. The ranks are on one node, so
# there is one copier.
trace() {
    local pid thread=
    for pid in $(processes); do
        thread+=$(copier "$pid")
    done
    [[ $thread =~ ^[0-9]+$ ]] || fail "copying threads: $thread"
    strace -qq -s 200 -y -o "$top/trace" -p "$thread" "$@" &
    local tracer=$!
    until grep -q "^TracerPid:[[:space:]]*[1-9]" "/proc/$thread/status"; do sleep 0.01; done
    : >"$go"
    until gone "$thread" || grep -q 'rename.*index\.scr"' "$top/trace"; do sleep 0.01; done
    # Nothing else changes anything when the index is in its place.
    kill "$tracer" 2>/dev/null || true
    wait "$tracer" 2>/dev/null || true
}

# Two nodes, and all processes are killed in mid-copy: a hundred bytes a second take an hour.
export SCR_FLUSH_ASYNC_BW=0
prepare "n0 n1"
kill_all
: >"$go"
SCR_FLUSH_ASYNC_BW=100 begin "n0 n1" "$program" "$go"
wait_for "^background: restarted from ck.1" || fail "the second run did not start"
until [[ -e ck.2/rank_0 && -e ck.2/rank_1 ]]; do sleep 0.01; done
kill_all
[[ ! -e .scr/scr.dataset.2/rank2file.0.0 ]] || fail "the flush did not take its time"
verdict ck.1 "a kill in mid-copy"

# All processes are killed when all was copied, and no call was made since.
prepare "n0 n1"
: >"$go"
wait_for "^background: computes" || fail "ck.2 was not completed"
until [[ -e .scr/scr.dataset.2/rank2file ]]; do sleep 0.01; done
kill_all
verdict ck.2 "a kill when all was copied"

# The calls of the thread, in the order of the first run.
prepare "n0 n0"
trace -e "trace=$calls"
kill_all
verdict ck.2 "a run that was only traced"
awk 'match($0, /^[a-z0-9_]+\(/) {
    call = substr($0, 1, RLENGTH - 1)
    print call, ++count[call]
}' "$top/trace" >"$top/points"
[[ $(wc -l <"$top/points") -gt 10 ]] || fail "too few calls were seen"

old=0 new=0
while read -r call n; do
    prepare "n0 n0"
    trace -e "trace=$calls" -e "inject=$call:signal=SIGKILL:when=$n"
    kill_all
    if [[ -e .scr/scr.dataset.2/rank2file.0.0 ]]; then
        new=$((new + 1))
        verdict ck.2 "a kill at $call number $n, with the completion record"
    else
        old=$((old + 1))
        verdict ck.1 "a kill at $call number $n"
    fi
done < <(awk -v stride="$stride" 'NR % stride == 0 || /rename/' "$top/points")
((old > 0 && new > 0)) || fail "$old kills before the record, $new after it"
echo "$(wc -l <"$top/points") calls; $old kills before the completion record, $new after it"
