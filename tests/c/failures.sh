#!/usr/bin/env bash
# Usage: failures.sh PROGRAM LAUNCHER...
# What a user sees of ten failures, from all ranks together: at most three lines, with cause and remedy, of
# a program that looks at no return code. Run through tests/in_empty_directory.sh.
set -euo pipefail

# shellcheck source=tests/own_mounts.sh
source "$(dirname "${BASH_SOURCE[0]}")/../own_mounts.sh"

program=$1
shift
launcher=("$@")
failed=0
# Without notes on redundancy, of which one machine has none, and on checksums.
export SCR_COPY_TYPE=SINGLE SCR_CACHE_SIZE=2 SCR_CRC_ON_FLUSH=1

# Empty directories.
fresh() {
    rm -rf ./.scr ck.* outer log "${SCR_CACHE_BASE:?}"/*
}

# shows WHAT LINES PATTERN RANKS ARGUMENT...: exit status 0, and LINES of SCR, at most, one of which matches.
shows() {
    local what=$1 lines=$2 pattern=$3 ranks=$4 status=0 told
    shift 4
    "${launcher[@]}" "$ranks" "$program" "$@" >log 2>&1 || status=$?
    told=$(grep "SCR" log || true)
    echo "--- $what"
    echo "$told"
    if [[ $status -ne 0 ]] || (($(wc -l <<<"$told") > lines)) || ! grep -Eq "$pattern" <<<"$told"; then
        echo "FAILED: exit status $status, or more than $lines lines, or none like: $pattern"
        failed=1
    fi
}

# quietly ARGUMENT...: a run before the one that is shown.
quietly() {
    "${launcher[@]}" 4 "$program" "$@" >log 2>&1 || { cat log && exit 1; }
    cp log quiet.log
}

fresh
shows "refused start" 3 "ERROR.*SCR_Start_output is not allowed.*call SCR_Complete_output first" 4 refused 1
fresh
shows "name too long" 2 "ERROR.*SCR_Start_output.*the name has 1024 bytes or more; choose a shorter" 4 long_name 0
fresh
quietly run 2
shows "wrong number of ranks" 3 "ERROR.*4 ranks" 3 run 2
fresh
quietly run 1
shows "missing file at restart" 3 "ERROR.*none.at.all is not a file of rank 0 in dataset 1" 4 missing
fresh
quietly run 1
shows "missing file at restart, not on rank 0" 3 \
    "ERROR.*cannot be read: SCR_Route_file: .*none.at.all is not a file of rank 1 .*2 other ranks" 4 missing_on_others
fresh
quietly run 1
rm ck.1/rank.2
shows "missing file in the prefix directory" 3 "ck.1/rank.2" 4 missing
fresh
mkdir -p full
mount -t tmpfs -o size=700k full full
SCR_CACHE_BASE=$PWD/full SCR_CACHE_BYPASS=0 SCR_FLUSH=0 \
    shows "store full" 3 "ERROR.*is not started: STORE=.*free" 4 run 2
umount full
fresh
mkdir -p fixed
mount -t tmpfs -o ro fixed fixed
SCR_PREFIX=$PWD/fixed shows "prefix directory read-only" 3 "ERROR.*$PWD/fixed.*Read-only" 4 run 1
umount fixed
fresh
SCR_ENABLE=0 shows "SCR off" 1 "SCR is off \(SCR_ENABLE=0\)" 4 run 1
fresh
SCR_CACHE_BYPASS=0 shows "SCR_Finalize forgotten" 3 "WARNING.*MPI_Finalize was called before SCR_Finalize: .*call SCR_Finalize" 4 forgotten 1
fresh
shows "after MPI_Finalize" 3 "MPI_Finalize.*call SCR_Finalize first" 4 late 1
fresh
SCR_FLUSH=often shows "bad configuration" 3 "ERROR.*SCR_FLUSH.*often" 4 run 1
exit "$failed"
