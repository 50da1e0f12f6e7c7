#!/usr/bin/env bash
# Usage: explain_static.sh SCR PROGRAM LAUNCHER...
# The variables of a program without debug information, into which SCR is linked, are those of the program alone. Run through
# tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 program=$2
shift 2
# Without the option for the number of ranks, which scr rehearse adds.
launcher="${*:1:$#-1}"
export SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_COPY_TYPE=XOR SCR_FLUSH=0

fail() {
    echo "FAILED: $*"
    cat log
    exit 1
}

"$scr" rehearse --list --launcher "$launcher" --dir stage --ranks 2 --nodes 2 -- "$program" local >log 2>&1 ||
    fail "exit status $?"
for pattern in 'it has no debug information' '^scratch .* 100 .* not in the list, changes$' '^field .* in field "field", changes$'; do
    grep -q -- "$pattern" log || fail "there is no line $pattern"
done
! grep -Eq '^_(R|ZN)|STOPS|SESSIONS' log || fail "variables of SCR are among them"
echo "ok: a program into which SCR is linked"
