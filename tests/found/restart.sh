#!/usr/bin/env bash
# Usage: restart.sh PROGRAM LAUNCHER... [-- PROGRAM LAUNCHER...]...
# One job goes on under one MPI after another, each time on another number of ranks: from the prefix directory, and from
# the cache of the run before. The result is that of a run of the first program without SCR. PROGRAM is
# examples/heat2d_fields.c, compiled for the MPI of LAUNCHER. Run through tests/in_empty_directory.sh.
set -euo pipefail

fail() {
    echo "FAILED: $1"
    [[ ! -f log ]] || cat log
    exit 1
}

# under NUMBER RANKS ARGUMENT...: runs the program of that number, from 0; its output is in log.
commands=()
under() {
    local of
    IFS=$'\t' read -ra of <<<"${commands[$1]}"
    timeout 300 "${of[@]:1}" "$2" "${of[0]}" size 37 "${@:3}" >log 2>&1
}

command=
for word in "$@" --; do
    if [[ $word == -- ]]; then
        commands+=("${command%$'\t'}")
        command=
    else
        command+=$word$'\t'
    fi
done
count=${#commands[@]}
steps=$((10 * count + 10))

# More or fewer than in the run before.
ranks=(4 3 5 2)

mkdir whole
cd whole
SCR_ENABLE=0 under 0 4 steps "$steps" output field || fail "the run without SCR"
cd ..

for bypass in 1 0; do
    mkdir "bypass$bypass"
    cd "bypass$bypass"
    export SCR_PREFIX=$PWD SCR_CACHE_BYPASS=$bypass SCR_JOB_ID=mpis$bypass SCR_FLUSH=$((1 - bypass))
    for ((run = 0; run < count; run++)); do
        here=${ranks[run % 4]} last=$((10 * run + 15))
        [[ $((run + 1)) -lt $count ]] || last=$steps
        title="${commands[run]//$'\t'/ } on $here ranks"
        under "$run" "$here" steps "$last" output field || fail "$title"
        words="no checkpoint"
        [[ $run -eq 0 ]] || words="restarted from heat2d.$((10 * run))"
        grep -q "$words" log || fail "$title: not in the output: $words"
    done
    cmp field ../whole/field || fail "another result"
    cd ..
done
echo "ok: $count runs, each under another MPI than the one before"
