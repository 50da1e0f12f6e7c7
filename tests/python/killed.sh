#!/usr/bin/env bash
# Usage: killed.sh PROGRAM LAUNCHER... PYTHON
# The example in Python is killed while it runs, goes on from its newest checkpoint, and ends with the same
# result. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"; tail -n 20 ./*.log' ERR
fail() {
    echo "FAILED: $*"
    exit 1
}
# shellcheck source=tests/killed.sh
source "$(dirname "${BASH_SOURCE[0]}")/../killed.sh"

program=$1
shift

SCR_ENABLE=0 "$@" "$program" size 64 steps 60 output whole >whole.log 2>&1

export SCR_PREFIX=$PWD SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_FLUSH=2
killed first.log 'grep -q "checkpoint heat2d.20" first.log' "$program" \
    "$@" "$program" size 64 steps 60 delay 300 output field
[[ ! -e field ]]

"$@" "$program" size 64 steps 60 output field >second.log 2>&1
grep -q "restarted from heat2d" second.log
grep "restarted" second.log
cmp whole field
