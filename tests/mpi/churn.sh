#!/usr/bin/env bash
# Usage: churn.sh KILLS CHURN LAUNCHER...
# kill -9 of one random rank at a random moment of a run that checkpoints all the time, KILLS
# times: each start finds the newest completed dataset or a newer one, whole. SCR_TEST_SEED
# repeats the choices of an earlier run, as far as the machine plays along. Run through
# tests/in_empty_directory.sh.
set -euo pipefail

kills=$1 program=$2
shift 2
launcher=("$@")
# shellcheck source=tests/mpi/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export SCR_CACHE_SIZE=2 SCR_CACHE_BYPASS=${SCR_TEST_BYPASS:-0} SCR_FLUSH=${SCR_TEST_FLUSH:-0}
seed=${SCR_TEST_SEED:-$(($(date +%s%N) % 32768))}
RANDOM=$seed
echo "SCR_TEST_SEED=$seed"
placement="n0 n1 n2 n3"
record=$PWD/../record
: >"$record"

moment() { # MOST, milliseconds
    local wait=$((RANDOM % $1))
    sleep "$((wait / 1000)).$(printf '%03d' $((wait % 1000)))"
}

started=$(date +%s)
for ((i = 1; i <= kills; i++)); do
    begin "$placement" "$program" "$record"
    if ((RANDOM % 4 == 0)); then
        # In the start already: in SCR_Init, the restart, the first dataset, or even earlier.
        until [[ $(processes | wc -l) -eq 4 ]]; do
            kill -0 "$run" 2>/dev/null || fail "kill $i: it did not start"
            sleep 0.01
        done
        moment 500
    else
        wait_for "^churn: restarted from" || fail "kill $i: it did not start"
        moment 300
    fi
    mapfile -t pids < <(processes)
    kill -9 "${pids[RANDOM % ${#pids[@]}]}" || fail "kill $i: it was over before"
    bury && fail "kill $i: the run ended well though it was killed"
    judge || fail "kill $i"
done
begin "$placement" "$program" "$record" count 1
bury || fail "the last start failed"
judge || fail "the last start"
echo "$kills kills in $(($(date +%s) - started)) s: $(judgement)"
