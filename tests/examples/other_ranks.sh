#!/usr/bin/env bash
# Usage: other_ranks.sh NAME PROGRAM LAUNCHER...
# SCR_TEST_OPTIONS: arguments of the program besides. SCR_TEST_SAYS: what it must say on another number of ranks than one.
# The example by fields, whose checkpoints begin with NAME, goes on with fewer ranks and with more, from the prefix
# directory and from the cache of the run before, and the result is that of a run which nothing happened to. Run through
# tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"; cat ./*.log' ERR

name=$1 program=$2
shift 2
read -ra more <<<"${SCR_TEST_OPTIONS:-}"
mkdir whole
(cd whole && SCR_ENABLE=0 "$@" 4 "$program" size 37 steps 60 output field >log 2>&1)

for bypass in 1 0; do
    mkdir "bypass$bypass"
    cd "bypass$bypass"
    export SCR_PREFIX=$PWD SCR_CACHE_BYPASS=$bypass SCR_JOB_ID=ranks$bypass SCR_FLUSH=$((1 - bypass))
    "$@" 4 "$program" size 37 steps 15 output "" "${more[@]}" >from4.log 2>&1
    "$@" 3 "$program" size 37 steps 35 output "" "${more[@]}" >to3.log 2>&1
    "$@" 7 "$program" size 37 steps 45 output "" "${more[@]}" >to7.log 2>&1
    "$@" 1 "$program" size 37 steps 60 output field "${more[@]}" >to1.log 2>&1
    grep -q "no checkpoint" from4.log
    grep -q "restarted from $name.10" to3.log
    grep -q "restarted from $name.30" to7.log
    grep -q "restarted from $name.40" to1.log
    for log in to3 to7; do grep -q "${SCR_TEST_SAYS:-^}" $log.log; done
    cmp field ../whole/field
    cd ..
done
