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
    # What MPI itself leaves undefined is not looked at, only what is read, written and freed. The compiler, too, reads what
    # is not defined: the field of an `Option` before it looks whether there is one (in SCR_Init, the `bypass` of the
    # checkpoint that is offered), and drops what it has read if there is none.
    "$@" "$ranks" valgrind -q --error-exitcode=99 --undef-value-errors=no "$program" >log 2>&1 || {
        cat log
        exit 1
    }
    if grep -E "Invalid (read|write|free)" log; then exit 1; fi
    rm -rf first scr.dataset.*
done
echo "ok: valgrind, 1 and 2 ranks"
