#!/usr/bin/env bash
# Usage: end.sh PROGRAM SCR LAUNCHER...
# A program that calls MPI_Finalize and not SCR_Finalize hears of it once, and its last checkpoint is in
# the cache for the next run and for scr_postrun. Calls after MPI_Finalize fail; the first one says
# why. Run through tests/in_empty_directory.sh.
set -euo pipefail

program=$1 command=$2
shift 2
launcher=("$@")
export SCR_CACHE_BYPASS=0 SCR_FLUSH=10 SCR_COPY_TYPE=SINGLE

fail() {
    echo "FAILED: $1"
    cat log
    exit 1
}

# run WORDS ARGUMENT...: exit status 0, and one warning or error, which has these words. That a cached dataset is
# without checksums is another warning: they are taken in the background, and the run before may have been over first.
run() {
    local words=$1 told
    shift
    "${launcher[@]}" 3 "$program" "$@" >log 2>&1 || fail "$*: exit status $?"
    told=$(grep -E "^SCR v[0-9.]+ (ERROR|WARNING)" log | grep -v "is not verified: the last run ended" || true)
    [[ $(wc -l <<<"$told") -eq 1 && $told == *"$words"* ]] || fail "$*: not one line: $words"
    echo "$told"
}

run "MPI_Finalize was called before SCR_Finalize: dataset 1 (ck.1) is only in the cache" forgotten ck.1
grep -q "restart from nothing" log || fail "a restart out of nothing"
[[ ! -e ck.1 ]] || fail "ck.1 was flushed, so this shows nothing"
run "dataset 2 (ck.2) is only in the cache" late ck.2
grep -q "restart from ck.1" log || fail "the next run does not restart from ck.1"
"$command" postrun --prefix "$PWD" >log 2>&1 || fail "scr postrun: exit status $?"
[[ $(cat ck.2/rank.0 ck.2/rank.1 ck.2/rank.2) == ck.2ck.2ck.2 ]] || fail "scr postrun has not saved ck.2"
echo "scr postrun saves it"

export SCR_CACHE_BYPASS=1
run "nothing is lost" forgotten ck.3
grep -q "restart from ck.2" log || fail "the next run does not restart from ck.2"
[[ -e ck.3/rank.0 ]] || fail "there is no ck.3"

# SCR_Init after MPI_Finalize is a mistake of its own.
"${launcher[@]}" 3 "$program" after >log 2>&1 || fail "after: exit status $?"
told=$(grep -E "^SCR v[0-9.]+ (ERROR|WARNING)" log || true)
[[ $(wc -l <<<"$told") -eq 2 ]] || fail "after: not two lines"
[[ $told == *"SCR_Have_restart is not allowed after MPI_Finalize; call SCR between MPI_Init"*"SCR_Init: MPI is finalised"* ]] ||
    fail "after: other words"
echo "$told"
