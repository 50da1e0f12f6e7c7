#!/usr/bin/env bash
# Usage: given.sh SCR GIVEN LAUNCHER...
# Closed descriptors and a limit on the size of files: nothing of SCR takes the places of standard input and output, and a
# file that is too large is an error as any other. Run through tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 program=$2
shift 2
# shellcheck disable=SC2034 # used by lib.sh
launcher=("$@")
# shellcheck source=tests/mpi/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for bypass in 0 1; do
    for async in 0 1; do
        rm -rf .scr ck.* "$nodes"
        SCR_CACHE_BYPASS=$bypass SCR_FLUSH=2 SCR_FLUSH_ASYNC=$async SCR_LOG_ENABLE=1 begin "n0 n1" "$program" closed
        bury || fail "closed descriptors, SCR_CACHE_BYPASS=$bypass SCR_FLUSH_ASYNC=$async"
        grep -q "^ok: closed$" log || fail "it did not come to its end"
    done
done
"$scr" halt --checkpoints 7 0<&- 1>&- 2>&-
"$scr" halt --list | grep -q 7 || fail "scr halt without descriptors"
echo "ok: descriptors"

rm -rf .scr ck.* "$nodes"
SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_FLUSH=0 begin "n0 n1" "$program" limit
bury || fail "the program was ended"
grep -q "^ok: limit$" log || fail "it did not come to its end"
grep -q "ERROR.*files may have 1048576 bytes here (ulimit -f)" log || fail "the limit is not named"
status=0
(
    ulimit -f 0
    exec "$scr" halt --checkpoints 9 >/dev/null 2>&1
) || status=$?
[[ $status -eq 1 ]] || fail "scr halt beyond the limit: exit status $status"
echo "ok: limit"
