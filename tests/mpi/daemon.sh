#!/usr/bin/env bash
# Usage: daemon.sh SCR BACKGROUND LAUNCHER...
# Transfer daemons, and kill -9 in mid-copy: of the program, of the daemons, of both. Then all nodes are
# lost, and the next run, which has only the prefix directory, finds the new checkpoint if somebody was
# left to copy it, and else the one before. Run through tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 program=$2
shift 2
launcher=("$@")
# shellcheck source=tests/mpi/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

top=$(cd .. && pwd)
go=$top/go
export SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_FLUSH=1 SCR_FLUSH_ASYNC=1 SCR_FLUSH_TYPE=DAEMON
daemons=()
trap 'kill -9 "${daemons[@]}" $(processes) 2>/dev/null || true' EXIT

# on NODE ARGUMENT...: scr transfer as a process of this node.
on() {
    local node=$1
    shift
    mkdir -p "$nodes/$node/cache" "$nodes/$node/cntl"
    SCR_NODE_NAME=$node SCR_CACHE_BASE=$nodes/$node/cache SCR_CNTL_BASE=$nodes/$node/cntl \
        exec "$scr" transfer "$@"
}

# start: a daemon for each node.
start() {
    local node
    for node in n0 n1; do
        rm -f "$top/daemon.$node"
        (on "$node") >"$top/daemon.$node" 2>&1 </dev/null &
        daemons+=($!)
        until grep -q " serves " "$top/daemon.$node"; do sleep 0.02; done
    done
}

# kill_daemons: and wait for it.
kill_daemons() {
    kill -9 "${daemons[@]}" 2>/dev/null || true
    wait "${daemons[@]}" 2>/dev/null || true
    daemons=()
}

# kill_all: kills what is left of a run.
kill_all() {
    local pids
    mapfile -t pids < <(processes)
    kill -9 "${pids[@]}" 2>/dev/null || true
    bury || true
}

# in_mid_copy BYTES: a run with ck.1 in the prefix directory, and ck.2 on its way there by so many bytes a
# second. The daemons are stopped there, so that what follows may take any time.
in_mid_copy() {
    rm -rf "$nodes" ./.scr ck.* "$go"
    start
    SCR_FLUSH_ASYNC_BW=0 begin "n0 n1" "$program" "$go"
    wait_for "^background: waits" || fail "the first run did not start"
    grep -q "no transfer daemon" log && fail "the daemons were not found"
    kill_all
    : >"$go"
    SCR_FLUSH_ASYNC_BW=$1 begin "n0 n1" "$program" "$go"
    wait_for "^background: computes" || fail "ck.2 was not completed"
    until [[ -e ck.2/rank_0 && -e ck.2/rank_1 ]]; do sleep 0.01; done
    kill -STOP "${daemons[@]}"
}

# half: ck.2 is not complete, and is not told to be.
half() {
    [[ ! -e .scr/scr.dataset.2/rank2file.0.0 ]] || fail "the flush did not take its time"
    "$scr" index --list >list
    grep -q '^ *1 YES .* \* ck\.1$' list || fail "ck.1 is harmed: $(cat list)"
    ! grep -q '^ *2 YES' list || fail "a half checkpoint is listed: $(cat list)"
}

whole() {
    until "$scr" index --list 2>&1 | grep -q '^ *2 YES .* \* ck\.2$'; do sleep 0.05; done
}

# verdict NAME WHAT: after the loss of all nodes, and WHAT before, a restart finds this checkpoint.
verdict() {
    rm -rf "$nodes"
    begin "n0 n1" "$program" "$go" restart
    bury || fail "the restart after $2 failed"
    grep -q "^background: restarted from $1$" log || fail "not restarted from $1 after $2"
}

# Each node has 300000 bytes to copy, in pieces of 64 KiB.
in_mid_copy 60000
half
kill_all
half
kill -CONT "${daemons[@]}"
whole
until grep -q "dataset 2, part 1 of 2 (ck.2): copied" "$top/daemon.n1"; do sleep 0.02; done
kill_daemons
verdict ck.2 "a kill of the program in mid-copy"
echo "the program was killed: the daemons went on"

in_mid_copy 60000
half
kill_daemons
whole
grep -q "the transfer daemon has ended before it had copied dataset 2" log || fail "nothing is told"
kill_all
verdict ck.2 "a kill of the daemons in mid-copy"
echo "the daemons were killed: the library went on"

in_mid_copy 100
half
kill_daemons
kill_all
half
verdict ck.1 "a kill of all in mid-copy"
echo "all was killed: the checkpoint before was offered"

# The transfer files of the killed daemons tell what is left to do. The program goes first: it would take
# over what the daemons leave.
in_mid_copy 100
kill_all
kill_daemons
half
(on n0 --finish) || fail "node n0 could not finish"
half_of_it=$("$scr" index --list)
! grep -q '^ *2 YES' <<<"$half_of_it" || fail "one part is not a checkpoint: $half_of_it"
(on n1 --finish) || fail "node n1 could not finish"
whole
verdict ck.2 "scr transfer --finish"

# The program leaves its flushes to scr poststage; its threads would take an hour.
rm -rf "$nodes" ./.scr ck.* "$go"
export SCR_FLUSH_TYPE=PTHREAD
SCR_FLUSH_ASYNC_BW=0 begin "n0 n1" "$program" "$go"
wait_for "^background: waits" || fail "the run did not start"
: >"$go"
wait_for "^background: computes" || fail "ck.2 was not completed"
kill_all
# Without its identity, the prefix directory would be another one than that of the cache.
find .scr -mindepth 1 -not -name 'identity*' -delete
rm -rf ck.*
SCR_FLUSH_ASYNC_BW=100 SCR_FLUSH_POSTSTAGE=1 begin "n0 n1" "$program" "$go" restart
bury || fail "the run that hands over failed"
grep -q "^background: restarted from ck.2$" log || fail "not restarted from the cache"
grep -q "scr poststage or scr postrun finishes the flush of" log || fail "nothing is handed over"
"$scr" index --list >list
! grep -q '^ *2 YES' list || fail "SCR_Finalize has waited"
(on n0 --finish) || fail "node n0 could not finish what the program has left"
(on n1 --finish) || fail "node n1 could not finish what the program has left"
whole
verdict ck.2 "a flush that was handed over"
echo "what the program left was finished"
