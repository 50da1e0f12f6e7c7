#!/usr/bin/env bash
# Usage: explain.sh SCR C OPTIMISED CXX FORTRAN LAUNCHER...
# scr rehearse --explain names the variable that a restart lacks, and no other one, and scr rehearse --list shows which ones the
# checkpoints have; programs that a compiler is missing for are `-`.
# Run through tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 c=$2 optimised=$3 cxx=$4 fortran=$5
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
    [[ $1 != - ]] || return 0
    rehearse 1 "$1" "$2"
    grep -Eq 'proven: with this variable as undisturbed, (ck\.[0-9A-Z]*|the end of the run) is as undisturbed' log ||
        fail "$2: nothing is proven"
    grep -B1 'proven: with this' log | grep -q -- "^  $3" || fail "$2: another variable is named, not $3"
    echo "ok: $2"
}

# complete PROGRAM: no variable is named.
complete() {
    [[ $1 != - ]] || return 0
    rehearse 0 "$1" complete
    grep -q '^RECOVERED$' log || fail "complete: $1"
    ! grep -q '^explanation' log || fail "complete: something is explained"
    echo "ok: complete"
}

# lists PROGRAM OMISSION PATTERN...: --list has such lines.
lists() {
    [[ $1 != - ]] || return 0
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

lists "$fortran" du_old '^variables on 2 ranks after ck.A, and what changes until ck.B$' \
    '^time_scheme::du_old +explained.f90:[0-9]+ +real\(8\) +32x16 +8.0 KiB not in the list, changes$' \
    '^time_scheme::u +explained.f90:[0-9]+ +real\(8\) +32x16 +8.0 KiB in field "u", changes$' \
    '^/forcing/ amplitude +explained.f90:[0-9]+ +real\(8\) +4 +64 B not in the list$' \
    '^particles::first%next%x +explained.f90:[0-9]+ +real\(8\) +8 +128 B in field "cloud", changes$'
lists "$c" history '^history +explained.c:[0-9]+ +double +3x100 +4.7 KiB not in the list, changes$' \
    '^block +explained.c:[0-9]+ +double +100 +1.6 KiB in field "block", changes$'
lists "$c" local '^main::run.tilt +explained.c:[0-9]+ +double +- +16 B not in the list, changes$'
rm -rf stage
! "$scr" rehearse --list --launcher "$launcher" --dir stage --ranks 2 --nodes 2 -- "$c" sessions >log 2>&1 ||
    fail "--list: a program with two sessions was looked at"
grep -q 'the program has several sessions of SCR' log || fail "--list: sessions"
lists "$cxx" salt '^ocean::model.salt +explained.cpp:[0-9]+ +double +64 +1.0 KiB not known, changes$' \
    '^ocean::model.heat +explained.cpp:[0-9]+ +double +64 +1.0 KiB in file ck.4/rank_0 and 1 more, changes$'
names "$fortran" du_old 'time_scheme::du_old (explained.f90:[0-9]*), real(8), 32x16, .* on 2 ranks, not in the list'
names "$fortran" phase '/forcing/ phase (explained.f90:[0-9]*), real(8), is '
names "$fortran" cloud 'particles::first%next%x (explained.f90:[0-9]*), real(8), 8, '
names "$fortran" seed 'noise::seed (explained.f90:[0-9]*), integer(8), is 12345, '
names "$fortran" filter 'filters::active%factor (explained.f90:[0-9]*), real(8), is 1, '
names "$fortran" mean 'filters::mean (explained.f90:[0-9]*), real(8), is 0, '
complete "$fortran"
names "$c" history 'history (explained.c:[0-9]*), double, 3x100, '
names "$c" calls 'weight::calls (explained.c:[0-9]*), int, is '
names "$c" local 'main::run.tilt (explained.c:[0-9]*), double, is 1, '
names "$c" block 'block (explained.c:[0-9]*), double, 10[0-9], '
names "$c" nodes 'nodes\.next\.mass (explained.c:[0-9]*), double, '
names "$optimised" local 'main::run.tilt (explained.c:[0-9]*), double, is 1, '
complete "$c"
names "$cxx" salt 'ocean::model.salt (explained.cpp:[0-9]*), double, 64, .* not read from the checkpoint'
names "$cxx" lag 'ocean::model.mixing.lag (explained.cpp:[0-9]*), double, is 0, '
names "$cxx" table 'ocean::model.table\[\].second (explained.cpp:[0-9]*), double, '
complete "$cxx"
