#!/usr/bin/env bash
# Usage: python.sh PAGE LAUNCHER... PYTHON
# The program in docs/python.md runs as it stands there, but that scr starts MPI, and goes on where it
# was killed. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"; cat ./*.log' ERR

page=$1
shift

# shellcheck disable=SC2016 # these are backticks of Markdown
sed -n '/^```python$/,/^```$/{/^```/!p}' "$page" |
    sed -e '/import MPI/d' -e 's/MPI.COMM_WORLD.rank/scr.rank()/' >whole.py
grep -q "scr.restarts" whole.py
# Half of it, ended where no exception is seen.
{
    echo "import os"
    sed -E 's/^( *)step \+= 1$/\1os._exit(9) if step == 55 else None\n&/' whole.py
} >half.py
cmp -s whole.py half.py && exit 1

if "$@" half.py >first.log 2>&1; then
    echo "FAILED: it does not end half-way"
    exit 1
fi
[[ -e ck.50 && ! -e ck.60 ]]
"$@" whole.py >second.log 2>&1
grep -q "(ck.50) is ready" second.log
[[ -e ck.100 ]]
