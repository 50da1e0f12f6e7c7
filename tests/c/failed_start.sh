#!/usr/bin/env bash
# Usage: failed_start.sh PROGRAM LAUNCHER...
# A program that does not look at what SCR_Start_output returns writes over nothing, and hears of
# each start that failed once. While SCR is disabled it hears nothing. Run through
# tests/in_empty_directory.sh.
set -euo pipefail

program=$1
shift

# run ERRORS WAY: that many lines of errors.
run() {
    local status=0 count
    "${launcher[@]}" 2 "$program" "$2" >log 2>&1 || status=$?
    count=$(grep -Ec "^SCR v[0-9.]+ (ERROR|ABORT|WARNING)" log || true)
    [[ $status -eq 0 && $count -eq $1 ]] && return
    echo "FAILED: $2, exit status $status, $count errors instead of $1"
    cat log
    exit 1
}
launcher=("$@")

# Ten starts, a file that a restart lacks (on both ranks), and an output with valid=0.
for bypass in 1 0; do
    SCR_CACHE_BYPASS=$bypass SCR_FLUSH=1 run 12 refused
    rm -rf ./.scr good next "${SCR_CACHE_BASE:?}"/*
done

SCR_ENABLE=0 run 0 disabled
SCR_ENABLE=0 SCR_FLUSH=nonsense run 0 disabled
[[ $(cat off.1.1) == good ]]
rm -r off.*
echo "SCR_ENABLE=0" >.scrconf
run 0 disabled
[[ $(cat off.1.1) == good ]]
rm .scrconf

# One error of SCR_Init, and none of what follows from it.
mkdir good
SCR_FLUSH=nonsense run 1 not_started
[[ -z $(ls good) ]]
