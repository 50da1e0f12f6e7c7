#!/usr/bin/env bash
# Usage: fields_numpy.sh PYTHON LAUNCHER...
# Checkpoints of fields with numpy, on 3 ranks and on others, and their files. Run through
# tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"; tail -n 20 log' ERR

python=$1 program=$(dirname "${BASH_SOURCE[0]}")/fields_numpy.py
shift

"$@" 3 "$python" "$program" write >log 2>&1
"$python" "$program" check all/rank_?.fields >log 2>&1
for ranks in 3 1 2 4 7; do
    "$@" "$ranks" "$python" "$program" restore >log 2>&1
done
