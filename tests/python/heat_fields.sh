#!/usr/bin/env bash
# Usage: heat_fields.sh nodes|ranks PROGRAM PYTHON LAUNCHER...
# The example with fields in Python goes on when a node is lost, or on another number of ranks, and ends with the same
# result. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"; tail -n 20 ./*.log' ERR

way=$1 program=$2 python=$3
shift 3

if [[ $way == nodes ]]; then
    # As a program that is executed itself, by this Python.
    printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$python" "$program" >heat_fields
    chmod +x heat_fields
    exec bash "$(dirname "${BASH_SOURCE[0]}")/../mpi/nodes.sh" once "$PWD/heat_fields" "$@"
fi

SCR_ENABLE=0 "$@" 2 "$python" "$program" size 64 steps 60 output whole >whole.log 2>&1
export SCR_PREFIX=$PWD SCR_CACHE_BYPASS=0 SCR_FLUSH=1
steps=0
# More ranks than plates, too.
for ranks in 4 3 5 1 13 2; do
    "$@" "$ranks" "$python" "$program" size 64 steps $((steps + 10)) output field >"$ranks.log" 2>&1
    [[ $steps -eq 0 ]] || grep -q "restarted from heat2d.$steps\$" "$ranks.log"
    steps=$((steps + 10))
done
cmp whole field
