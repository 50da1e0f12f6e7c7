#!/usr/bin/env bash
# Usage: explain.sh SCR C OPTIMISED CXX CODES LAUNCHER...
# scr rehearse --list shows which variables the checkpoints have, and scr rehearse --explain names the one that a restart lacks where the
# program is compiled with -O2, has its state in main or a long list, or writes files. The other sorts are in explained.sh.
# A program that a compiler is missing for is `-`, or not in CODES. Run through tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 c=$2 optimised=$3 cxx=$4 codes=$5
shift 5
# Without the option for the number of ranks, which scr rehearse adds.
launcher="${*:1:$#-1}"
export SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_COPY_TYPE=XOR SCR_FLUSH=0

fail() {
    echo "FAILED: $*"
    [[ ! -f log ]] || cat log
    exit 1
}

# rehearse STATUS PROGRAM OMISSION
rehearse() {
    local status=0
    rm -rf stage
    "$scr" rehearse --explain --launcher "$launcher" --dir stage --ranks 2 --nodes 2 --compare result --kill rank@2 -- \
        "$2" "$3" >log 2>&1 || status=$?
    [[ $status == "$1" ]] || fail "$3: exit status $status, not $1"
}

# names PROGRAM OMISSION PATTERN: the one variable that is proven.
names() {
    [[ -x $1 ]] || return 0
    rehearse 1 "$1" "$2"
    grep -Eq 'proven: with this variable as undisturbed, (ck\.[0-9A-Z]*|the end of the run) is as undisturbed' log ||
        fail "$2: nothing is proven"
    grep -B1 'proven: with this' log | grep -q -- "^  $3" || fail "$2: another variable is named, not $3"
    echo "ok: $2"
}

# lists PROGRAM OMISSION PATTERN...: --list has such lines.
lists() {
    [[ -x $1 ]] || return 0
    local program=$1 omission=$2 pattern
    shift 2
    rm -rf stage
    "$scr" rehearse --list --launcher "$launcher" --dir stage --ranks 2 --nodes 2 -- "$program" "$omission" >log 2>&1 ||
        fail "--list: $omission: exit status $?"
    for pattern; do
        grep -Eq -- "$pattern" log || fail "--list: $omission: there is no line $pattern"
    done
    echo "ok: --list $omission"
}

# What Fortran and C have is in codes of tests/mpi/explained.
lists "$codes/sea" rate_before '^variables on 2 ranks after ck.A, and what changes until ck.B$' \
    '^flow::rate_before +sea.f90:[0-9]+ +real\(8\) +24x10 +3.8 KiB not in the list, changes$' \
    '^flow::eta +sea.f90:[0-9]+ +real\(8\) +26x10 +4.1 KiB 3.8 KiB of 4.1 KiB in field "eta", the rest changes$' \
    '^grid::depth +sea.f90:[0-9]+ +real\(8\) +24x10 +3.8 KiB not in the list$'
lists "$codes/boxes" salt '^/ocean/ salt +boxes.f:[0-9]+ +real\(8\) +12 +192 B not in the list, changes$' \
    '^/delay/ hist +boxes.f:[0-9]+ +real\(8\) +5 +80 B in field "hist", changes$'
lists "$codes/herd" trend '^world::trend +herd.f90:[0-9]+ +real\(8\) +20 +320 B not in the list, changes$' \
    '^world::pastures\(:\)%grass +herd.f90:[0-9]+ +real\(8\) +[0-9x]+ \(4 parts\) +1.2 KiB in 4 fields, such as "grass.1", changes$'
lists "$codes/queue" slots '^ring.slots +queue.c:[0-9]+ +double +4[01] +[0-9]+ B not in the list, changes$' \
    '^weights +queue.c:[0-9]+ +float +9 +72 B in field "weights", changes$'
lists "$c" local '^main::run.tilt +explained.c:[0-9]+ +double +- +16 B not in the list, changes$'
rm -rf stage
! "$scr" rehearse --list --launcher "$launcher" --dir stage --ranks 2 --nodes 2 -- "$c" sessions >log 2>&1 ||
    fail "--list: a program with two sessions was looked at"
grep -q 'the program has several sessions of SCR' log || fail "--list: sessions"
lists "$cxx" salt '^ocean::model.salt +explained.cpp:[0-9]+ +double +64 +1.0 KiB not known, changes$' \
    '^ocean::model.heat +explained.cpp:[0-9]+ +double +64 +1.0 KiB in file ck.4/rank_0 and 1 more, changes$'
names "$c" local 'main::run.tilt (explained.c:[0-9]*), double, is 1, '
names "$optimised" local 'main::run.tilt (explained.c:[0-9]*), double, is 1, '
names "$c" nodes 'nodes\.next\.mass (explained.c:[0-9]*), double, '
names "$cxx" salt 'ocean::model.salt (explained.cpp:[0-9]*), double, 64, .* not read from the checkpoint'
