#!/usr/bin/env bash
# Usage: batch.sh BIN PROGRAM SCRIPT
# The job script for Slurm that we hand out, submitted as users do. It runs on the first node of
# the job; another one loses power.
set -euo pipefail

bin=$1 program=$2 script=$3
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

shape=(size 512 every 100)
# What the script says of itself.
unset SCR_PREFIX SCR_CACHE_BYPASS SCR_FLUSH
printf '#!/bin/sh\nexec %s %s %s "$@" delay 5 output field\n' "$here/paced.sh" "$PWD/steps" \
    "$bin/$program" >heat2d
chmod +x heat2d
cp "$script" job.sh
export PATH=$bin:$PATH SLURM_MPI_TYPE=pmi2
go_on 900000
: >log
# For what the script launches; sbatch itself takes the variable of that name for its own.
SBATCH_EXPORT=ALL setsid sbatch --wait --output="$PWD/log" job.sh >submitted 2>&1 </dev/null &
run=$!
wait_for '^heat2d: checkpoint heat2d.300$' || fail "it ended before it was struck"
rm steps
cluster power-off node3
cluster report node3
wait_for '^scr_run: .*: launch 1 ended' || fail "the launch did not end"
reached=$(completed)
go_on $((reached + 100))
finish || fail "the job did not end well"
grep -q '^scr_run: .*: launch 2 of at most 3 on node\[1-2,4-5\]' log || fail "no launch 2"
grep -q "^heat2d: restarted from heat2d.$(restarted)$" log || fail "it did not restart"
same_result "$program" $((reached + 100))
