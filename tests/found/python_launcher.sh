#!/usr/bin/env bash
# Usage: python_launcher.sh PYTHON
# A program in Python under the launcher of another MPI than that of its mpi4py: scr.init() fails, and says why.
# Run through tests/in_empty_directory.sh.
set -euo pipefail

python=$1
if ! "$python" -c "from mpi4py import MPI" 2>log; then
    echo "SKIPPED: $python has no mpi4py that loads: $(tail -n 1 log)"
    exit 77
fi
cat >program.py <<'END_OF_PROGRAM'
from mpi4py import MPI
import scr
scr.init()
END_OF_PROGRAM
for launcher in mpiexec.mpich mpiexec.openmpi; do
    command -v "$launcher" >/dev/null || continue
    [[ $("$launcher" -n 2 "$python" -c "from mpi4py import MPI; print(MPI.COMM_WORLD.size)" 2>/dev/null) == $'1\n1' ]] ||
        continue
    status=0
    timeout 60 "$launcher" -n 2 "$python" program.py >log 2>&1 || status=$?
    [[ $status -gt 0 && $status -lt 124 ]] || { cat log && echo "FAILED: exit status $status" && exit 1; }
    grep -Eq "2 processes were launched \(.*\), and each is alone in its MPI_COMM_WORLD.*\(SCR-101\)" log ||
        { cat log && echo "FAILED: not said" && exit 1; }
    [[ ! -e .scr ]] || { echo "FAILED: uses the prefix directory" && exit 1; }
    echo "ok: $launcher"
    exit 0
done
echo "SKIPPED: there is no launcher of another MPI than that of mpi4py (mpiexec.mpich, mpiexec.openmpi)"
exit 77
