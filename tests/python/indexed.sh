#!/usr/bin/env bash
# Usage: indexed.sh PYTHON PROGRAM LAUNCHER...
# Fields by index, from Python to another program and back. Run through tests/in_empty_directory.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) python=$1 program=$2
shift 2
printf '#!/usr/bin/env bash\nexec %q %q "$@"\n' "$python" "$here/indexed.py" >../indexed_py
chmod +x ../indexed_py
exec "$BASH" "$here/../c/indexed.sh" all "$program" "$PWD/../indexed_py" "$@"
