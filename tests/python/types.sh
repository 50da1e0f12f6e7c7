#!/usr/bin/env bash
# Usage: types.sh DIRECTORY PYTHON
# The type hints are right in the eyes of mypy. Run through tests/in_empty_directory.sh.
set -euo pipefail

directory=$1 python=$2
if ! "$python" -c "import mypy" 2>/dev/null; then
    echo "SKIPPED: $python has no mypy (Debian: mypy)"
    exit 77
fi
"$python" -m mypy --cache-dir="$PWD/cache" --config-file "$directory/pyproject.toml" "$directory"/{scr,scr_rs,elf.py,wheel.py}
