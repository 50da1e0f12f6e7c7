#!/usr/bin/env bash
# Usage: restart.sh prefix|cache PROGRAM LAUNCHER...
# A run in two parts ends as a run in one: with the checkpoint from the prefix directory, or
# from cache alone. Run through tests/in_empty_directory.sh.
set -euo pipefail

way=$1 program=$2
shift 2

mkdir whole parts
(cd whole && SCR_ENABLE=0 "$@" "$program" size 64 steps 30 output field >log 2>&1)

cd parts
export SCR_PREFIX=$PWD
if [[ $way == cache ]]; then
    export SCR_CACHE_BYPASS=0 SCR_FLUSH=0
fi
"$@" "$program" size 64 steps 15 output half >first.log
grep -q "no checkpoint" first.log
grep -q "checkpoint heat2d.10" first.log
if [[ $way == cache && -e heat2d.10 ]]; then
    echo "there is a checkpoint in the prefix directory, so this would not test the cache"
    exit 1
fi
"$@" "$program" size 64 steps 30 output field >second.log
cat second.log
grep -q "restarted from heat2d.10" second.log
cmp field ../whole/field
