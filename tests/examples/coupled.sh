#!/usr/bin/env bash
# A coupled pair of models goes on from the same step, also if one of them has lost its newest checkpoint.
# Usage: coupled.sh OCEAN ATMOSPHERE SCR LAUNCH...
set -euo pipefail

ocean=$1
atmosphere=$2
scr=$3
shift 3
launch=("$@")

fail() {
    echo "$1" >&2
    cat -- *.log >&2
    exit 1
}

# run DIRECTORY STEPS LOG
run() {
    mkdir -p "$1"
    (cd "$1" && SCR_PREFIX=$PWD "${launch[@]}" 2 "$ocean" "$2" : "${launch[@]:1}" 2 "$atmosphere" "$2" >"../$3" 2>&1) ||
        fail "the run of $3 failed"
}

run once 40 once.log
run twice 23 first.log
# The ocean has no checkpoint of step 20 any more.
"$scr" index --prefix twice/ocean --delete step.20 >deleted.log 2>&1 || fail "the checkpoint cannot be deleted"
run twice 40 second.log
for model in ocean atmosphere; do
    grep -q "$model begins after step 15" second.log || fail "$model does not go on from step 15"
done
results() { grep "ends with" "$1" | sort; }
[[ $(results once.log) == "$(results second.log)" ]] || fail "the results differ"
