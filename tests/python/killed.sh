#!/usr/bin/env bash
# Usage: killed.sh PROGRAM LAUNCHER... PYTHON
# The example in Python is killed while it runs, goes on from its newest checkpoint, and ends with the same
# result. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"; tail -n 20 ./*.log' ERR

program=$1
shift

SCR_ENABLE=0 "$@" "$program" size 64 steps 60 output whole >whole.log 2>&1

export SCR_PREFIX=$PWD SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_FLUSH=2
"$@" "$program" size 64 steps 60 delay 100 output field >first.log 2>&1 &
job=$!
until grep -q "checkpoint heat2d.20" first.log; do
    kill -0 "$job" # it has not ended before
    sleep 0.1
done
# One of the processes, which knows nothing of it.
for directory in /proc/[0-9]*; do
    if [[ $(readlink "$directory/cwd") == "$PWD" ]] && tr '\0' ' ' <"$directory/cmdline" |
        grep -q "^[^ ]*python[^ ]* $program"; then
        kill -9 "${directory#/proc/}"
        break
    fi
done 2>/dev/null
if wait "$job"; then
    echo "FAILED: nothing was killed"
    exit 1
fi
[[ ! -e field ]]

"$@" "$program" size 64 steps 60 output field >second.log 2>&1
grep -q "restarted from heat2d" second.log
grep "restarted" second.log
cmp whole field
