#!/usr/bin/env bash
# Usage: sums.sh PROGRAM LAUNCHER...
# The example in fixed form goes on where it stopped: from the prefix directory, from the cache alone, and
# from an older checkpoint where a file of the newest is damaged. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"' ERR

program=$1
shift

# run STEP LAUNCHER...: a run goes on after that step, and ends.
run() {
    "${@:2}" "$program" >log 2>&1 || { cat log && exit 1; }
    grep -q "^ going on after step$1" log || { cat log && exit 1; }
    grep -q "^ done until step100" log
}
for bypass in 1 0; do
    mkdir "bypass$bypass"
    cd "bypass$bypass"
    export SCR_PREFIX=$PWD SCR_CACHE_BYPASS=$bypass SCR_FLUSH=0 SCR_JOB_ID=sums$bypass
    run "  0" "$@"
    run 100 "$@"
    cd ..
done
[[ -e bypass1/ck.000100 && ! -e bypass0/ck.000100 ]]

cd bypass1
export SCR_PREFIX=$PWD SCR_CACHE_BYPASS=1 SCR_JOB_ID=sums
echo "not a record" >ck.000100/rank.000001
run " 90" "$@"
