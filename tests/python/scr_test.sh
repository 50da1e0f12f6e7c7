#!/usr/bin/env bash
# Usage: scr_test.sh alone|mpi4py DIRECTORY LAUNCHER... PYTHON
# Programs for SCR's own module run with ours: MPI started by us, or by mpi4py before. The latter is
# skipped where mpi4py is missing, or of another MPI. Run through tests/in_empty_directory.sh.
set -euo pipefail

directory=$2
with=()
[[ $1 == alone ]] || with=("$1")
shift 2
python=${*: -1}

if [[ ${#with[@]} -gt 0 ]]; then
    if ! "$python" -c "from mpi4py import MPI" 2>log; then
        echo "SKIPPED: $python has no mpi4py that loads: $(tail -n 1 log)"
        exit 77
    fi
    # Under the mpiexec of another MPI each process is alone.
    if [[ $("$@" -c "from mpi4py import MPI; print(MPI.COMM_WORLD.size)" 2>/dev/null) != $'2\n2' ]]; then
        echo "SKIPPED: mpi4py of $python is of another MPI," \
            "$("$python" -c "from mpi4py import MPI; print(MPI.get_vendor()[0])")"
        exit 77
    fi
    for program in calls sessions; do
        "$@" "$directory/$program.py" "${with[@]}"
        rm -rf ./* .scr "${SCR_CACHE_BASE:?}"/*
    done
fi
for run in 0 1 2 3 4 5; do
    "$@" "$directory/scr_test.py" "$run" "${with[@]}"
done
