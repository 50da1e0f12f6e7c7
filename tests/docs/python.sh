#!/usr/bin/env bash
# Usage: python.sh PAGE LAUNCHER... PYTHON
# The programs in docs/python.md run as they stand there, but that scr starts MPI, and go on where they
# were killed. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"; cat ./*.log' ERR

page=$1
shift

awk '/^```python$/ { file = "program" ++count ".py"; next } /^```$/ { file = "" } file { print >file }' "$page"
grep -q "scr.restore" program1.py
grep -q "scr.restarts" program2.py
[[ ! -e program3.py ]]
prefix=$PWD
for program in program?.py; do
    mkdir "$prefix/${program%.py}"
    cd "$prefix/${program%.py}"
    export SCR_PREFIX=$PWD
    sed -e '/import MPI/d' -e 's/MPI.COMM_WORLD.rank/scr.rank()/' "$prefix/$program" >whole.py
    # Half of it, ended where no exception is seen.
    {
        echo "import os"
        sed -E 's/^( *)(step|state\["step"\]) \+= 1$/\1os._exit(9) if \2 == 55 else None\n&/' whole.py
    } >half.py
    [[ $(grep -c "os._exit" half.py) -eq 1 ]]

    if "$@" half.py >first.log 2>&1; then
        echo "FAILED: it does not end half-way"
        exit 1
    fi
    [[ -e ck.50 && ! -e ck.60 ]]
    "$@" whole.py >second.log 2>&1
    grep -q "(ck.50) is ready" second.log
    [[ -e ck.100 ]]
done
