#!/usr/bin/env bash
# Usage: hang.sh BIN PROGRAM
# One process of a run hangs, and all others wait for it. The watchdog of scr_run ends
# the run, which is launched again on the same nodes; so does scr_watchdog in a script of its own.
set -euo pipefail

bin=$1 program=$2
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export SCR_RUNS=2 SCR_WATCHDOG=1 SCR_WATCHDOG_TIMEOUT=6 SCR_WATCHDOG_TIMEOUT_PFS=8
go_on 900000
mapfile -t application < <(example "$program" delay 10 output field)
begin "$bin/scr_srun" -N4 -n4 --mpi=pmi2 "${application[@]}"
wait_for '^heat2d: checkpoint heat2d.50$' || fail "it ended before it was stopped"
cluster exec node3 pkill -STOP -x "$program"
rm steps
wait_for '^scr_run: .*: launch 1 ended' || fail "the run was not ended"
grep -q '^scr_run: .*: no progress for 6 s' log || fail "it was not the watchdog"
grep -q '^scr_run: .*: 4 ranks on 4 nodes in ' log || fail "it does not tell what the ranks did"
grep -q '^scr_run: .*: \* 1 rank (2; node3): stopped by a signal' log || fail "it does not name the stopped rank"
reached=$(completed)
go_on $((reached + 100))
finish || fail "scr_run did not end well"
grep -q '^scr_run: .*: launch 2 of at most 2 on node\[1-5\]:' log || fail "a node was left out"
((reached <= $(restarted) + 10 && $(restarted) <= reached + 10)) ||
    fail "it went on from $(restarted), not $reached"
same_result "$program" $((reached + 100))

go_on 900000
# shellcheck disable=SC2016
begin bash -c '"${@:2}" & srun=$!
    until step=$("$1/scr_get_jobstep_id" $srun 2>/dev/null); do sleep 0.2; done
    "$1/scr_watchdog" --jobstep "$step"; echo "watchdog: $?"; wait $srun; echo "run: $?"' \
    bash "$bin" "${launch[@]}" "${application[@]}"
wait_for '^heat2d: restarted from' || fail "it did not restart"
cluster exec node1 pkill -STOP -x "$program"
wait_for '^run: [1-9]' || fail "scr_watchdog did not end the run"
grep '^no progress for [68] s: ending step' log || fail "scr_watchdog does not say what it does"
grep -q '^watchdog: 0$' log || fail "scr_watchdog failed"
finish || fail "the allocation did not end well"
