#!/usr/bin/env bash
# Usage: memory.sh PROGRAM LAUNCHER...
# Valgrind finds no access to memory that is not the program's. Run through
# tests/in_empty_directory.sh.
set -euo pipefail

program=$1
shift
if ! command -v valgrind >/dev/null; then
    echo "SKIPPED: valgrind is missing"
    exit 77
fi
for ranks in 1 2; do
    rm -rf ./.scr ./*.supp
    # What MPI itself leaves undefined is not looked at, only what is read, written and freed.
    "$@" "$ranks" valgrind -q --error-exitcode=99 --undef-value-errors=no "$program" >log 2>&1 || {
        cat log
        exit 1
    }
    if grep -E "Invalid (read|write|free)" log; then exit 1; fi
    rm -rf first scr.dataset.*
done
echo "ok: valgrind, 1 and 2 ranks"
