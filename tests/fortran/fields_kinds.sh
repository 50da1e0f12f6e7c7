#!/usr/bin/env bash
# Usage: fields_kinds.sh PROGRAM READER PYTHON LAUNCHER...
# Fields of each type, kind and rank that Fortran has written are restored, and read from the documented format by
# the program READER in C, and by numpy, if PYTHON has it. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"' ERR

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$1 reader=$2 python=$3
shift 3

export SCR_PREFIX=$PWD
"$@" "$program" write
"$@" "$program" read
for file in kinds/rank_0.fields kinds/rank_1.fields; do
    "$reader" "$file"
done
if ! "$python" -c "import numpy" 2>/dev/null; then
    echo "SKIPPED: there is no numpy; C has read the files"
    exit 0
fi
"$python" "$here/fields_reader.py" kinds/rank_0.fields kinds/rank_1.fields
