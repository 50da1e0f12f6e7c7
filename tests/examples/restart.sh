#!/usr/bin/env bash
# Usage: restart.sh prefix|cache PROGRAM LAUNCHER...
# A run in two parts ends as a run in one: with the checkpoint from the prefix directory, or
# from cache alone. So does one with SCR off, and one in which no checkpoint can be started, which
# leaves those before as they are. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"' ERR

way=$1 program=$2
shift 2

mkdir whole parts
(cd whole && SCR_ENABLE=0 "$@" "$program" size 64 steps 30 output field >log 2>&1)
grep -q "SCR is off" whole/log
# Lines of two streams may run together.
[[ $(grep -c "SCR v3.1.0: " whole/log) -eq 1 ]]
[[ $(grep -c "checkpoint heat2d" whole/log) -eq 0 ]]

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

# In a job of its own there is nothing to restart from, and no number left for a dataset.
export SCR_FETCH=0 SCR_JOB_ID=refused SCR_USER_NAME=reader
(umask 077 && mkdir -p "$SCR_CACHE_BASE/reader/scr.refused/scr.run.0000000000000001/scr.quarantine.2147483647")
for file in heat2d.*/rank*; do
    [[ $way == cache ]] || echo good >"$file"
done
"$@" "$program" size 64 steps 30 output field >third.log 2>&1
cat third.log
[[ $program == *_fields_fortran || $(grep -oE "checkpoint heat2d\.[0-9]+ (cannot be started|failed)" third.log | wc -l) -eq 3 ]]
[[ $(grep -o "SCR v3.1.0 ERROR" third.log | wc -l) -eq 3 ]]
cmp field ../whole/field
[[ $way == cache || $(cat heat2d.*/rank* | sort -u) == good ]]
