#!/usr/bin/env bash
# Usage: with_numpy.sh PYTHON COMMAND...
# Runs the command, or skips it where Python has no numpy.
set -euo pipefail

python=$1
shift
if ! "$python" -c "import numpy" 2>/dev/null; then
    echo "SKIPPED: $python has no numpy (Debian: python3-numpy)"
    exit 77
fi
exec "$@"
