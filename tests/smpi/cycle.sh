#!/usr/bin/env bash
# Usage: cycle.sh ARCHIVE
#
# The job of run.sh with 64 ranks on 16 nodes: each restart has the bytes that were written, the ranks of the lost
# node have them by XOR, and each call that sends messages takes simulated time.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/run.sh" "$1" 64 4 1000 >log 2>&1 || {
    status=$?
    cat log
    exit "$status"
}
fail() {
    cat log
    echo "FAILED: $*"
    exit 1
}
for run in intact lost; do
    grep -q "^$run restarted from cycle.2$" log || fail "the run \"$run\" did not restart from the newest checkpoint"
done
grep -q "files of 4 ranks rebuilt with XOR" log || fail "the files of the lost node were not rebuilt"
# SCR_Start_restart is local.
took=$(awk '/^(write|intact|lost) [A-Z]/ && $2 != "Start_restart" && $3 > 1e-6 && $3 < 1 { count++ } END { print count }' log)
[[ $took == 14 ]] || fail "$took calls took from 1 us to 1 s of simulated time; 14 should"
cat log
