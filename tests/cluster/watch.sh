#!/usr/bin/env bash
# Usage: watch.sh BIN PROGRAM
# scr_run --watch on a real Slurm: by the calls of the library, which are counted on each node, and by the age of a file. One
# process is stopped: the run is ended step by step, the rank is named, and the program goes on to the right result. A run that
# gets on is left alone.
set -euo pipefail

bin=$1 program=$2
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export SCR_RUNS=2 SCR_WATCH_TERM_SECONDS=10
go_on 900000
mapfile -t application < <(example "$program" delay 10 output field)

# hangs SOURCES RANK NODE: found by these sources.
hangs() {
    local reached
    go_on 900000
    begin "$bin/scr_run" --watch "$1" --after 8 --first 30 "${launch[@]}" "${application[@]}"
    wait_for '^heat2d: checkpoint heat2d.[0-9]*50$' || fail "it ended before it was stopped"
    cluster exec "$3" pkill -STOP -x "$program"
    rm -f steps
    wait_for '^scr_run: .*: launch 1 ended' || fail "$1: the run was not ended"
    grep -q '^scr_run: .*: 4 ranks on 4 nodes in ' log || fail "$1: it does not tell what the ranks did"
    grep -q "^scr_run: .*: \* 1 rank ($2; $3): stopped by a signal" log || fail "$1: it does not name the stopped rank"
    reached=$(completed)
    go_on $((reached + 100))
    finish || fail "$1: scr_run did not end well"
    grep -q '^scr_run: .*: launch 2 of at most 2 on node\[1-5\]:' log || fail "$1: a node was left out"
    same_result "$program" $((reached + 100))
    echo "ok: $1: the hang was found, rank $2 was named, and the run went on from $(restarted)"
}
hangs calls 2 node3
hangs "file=$PWD/log,cpu" 1 node2
