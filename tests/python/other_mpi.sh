#!/usr/bin/env bash
# Usage: other_mpi.sh PYTHON LAUNCHER...
# A module whose libscr is of another MPI than mpi4py, or than mpiexec, says so in one line: otherwise each
# process would be a job of its own. Run through tests/in_empty_directory.sh.
set -euo pipefail

python=$1
shift
checked=0

# expect WORDS LAUNCHER...: the program fails, and says so.
expect() {
    local words=$1
    shift
    if timeout 60 "$@" "$python" program.py >log 2>&1 || [[ $? -ge 124 ]]; then
        echo "FAILED: no error, or no end"
        cat log
        exit 1
    elif ! grep -Eq "$words" log; then
        echo "FAILED: not said: $words"
        cat log
        exit 1
    fi
    checked=$((checked + 1))
}

# With an mpi4py of another MPI each process is alone.
if "$python" -c "from mpi4py import MPI" 2>/dev/null &&
    "$@" "$python" -c "from mpi4py import MPI; exit(MPI.COMM_WORLD.size != 1)" >/dev/null 2>&1; then
    echo "from mpi4py import MPI; import scr; scr.init()" >program.py
    expect "Error: SCR_Init failed .*mpi4py runs with another MPI .* than .* was built with. Install an mpi4py" "$@"
fi

case $1 in
*.mpich) other=mpiexec.openmpi ;;
*.openmpi) other=mpiexec.mpich ;;
*) other= ;;
esac
if command -v "$other" >/dev/null; then
    echo "import scr; scr.init()" >program.py
    expect "2 processes were launched \(.*\), and each is alone in its MPI_COMM_WORLD.*\(SCR-101\)" "$other" -n 2
fi
if [[ $checked -eq 0 ]]; then
    echo "SKIPPED: there is no other MPI here, neither as mpiexec nor in mpi4py"
    exit 77
fi
