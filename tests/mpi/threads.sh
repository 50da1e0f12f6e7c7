#!/usr/bin/env bash
# Usage: threads.sh sessions|turns SEEDS LAUNCHES THREADS LAUNCHER...
# Random programs of sessions in threads, or of the calls without a session by two threads in turns (tests/mpi/threads.c):
# SEEDS of them, each launched LAUNCHES times. All launches but the last are killed at a random moment. SCR_TEST_SEED is the
# first seed (1), SCR_TEST_SEEDS another number of seeds, SCR_TEST_STEPS the calls of a thread (20). Run through
# tests/in_empty_directory.sh.
set -euo pipefail

mode=$1 seeds=${SCR_TEST_SEEDS:-$2} launches=$3 program=$4
shift 4
launcher=("$@")
# shellcheck source=tests/mpi/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Threads that wait in MPI leave the processors to others.
export OMPI_MCA_mpi_yield_when_idle=1
first=${SCR_TEST_SEED:-1} steps=${SCR_TEST_STEPS:-20}
top=$PWD killed=0 most=$((steps * 3))
[[ $mode == sessions ]] || most=$steps
RANDOM=$first
for ((seed = first; seed < first + seeds; seed++)); do
    place=$top/$seed
    mkdir -p "$place"/{prefix,cache,cntl,records}
    cd "$place/prefix"
    export SCR_PREFIX=$PWD SCR_CACHE_BASE=$place/cache SCR_CNTL_BASE=$place/cntl SCR_JOB_ID=test.$mode.$seed
    for ((launch = 1; launch <= launches; launch++)); do
        words=("$program" "$seed" "$launch" "$steps" "$mode" "$place/records")
        ((launch == launches)) || words+=(kill $((RANDOM % 2)) $((RANDOM % most + 1)) $((RANDOM % 8000)))
        begin "n0 n1" "${words[@]}"
        status=0
        bury || status=$?
        if grep -q "^SKIPPED" log; then
            grep -h "^SKIPPED" log
            exit 77
        fi
        told="seed $seed, launch $launch: ${words[*]:1}"
        ! grep -q "not so: " log || fail "$(grep "not so: " log); $told"
        if grep -q "^threads: all ended" log; then
            [[ $status -eq 0 ]] || fail "status $status; $told"
        else
            ((launch < launches)) || fail "it has not ended, status $status; $told"
            killed=$((killed + 1))
        fi
        mv log "log.$launch"
    done
    cd "$top"
    [[ -v SCR_TEST_KEEP ]] || rm -rf "$place"
done
echo "$seeds programs of $mode, $killed launches killed"
