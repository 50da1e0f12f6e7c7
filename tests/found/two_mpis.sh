#!/usr/bin/env bash
# Usage: two_mpis.sh LIBSCR.SO INCLUDE PROGRAM.C LAUNCHER...
# One libscr.so in a job that goes on under the other MPI of the system, and under this one again: restart.sh.
# Run through tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 include=$2 source=$3
shift 3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
this=("$@")

case $1 in
*.mpich) name=mpich other=openmpi ;;
*.openmpi) name=openmpi other=mpich ;;
*) name='' other='' ;;
esac
for mpi in $name $other; do
    if ! command -v "mpicc.$mpi" >/dev/null || ! command -v "mpiexec.$mpi" >/dev/null; then
        other=''
    fi
done
if [[ -z $other ]]; then
    echo "SKIPPED: there are no two MPIs with an mpicc and an mpiexec each (mpicc.mpich, mpicc.openmpi)"
    exit 77
fi
for mpi in "$name" "$other"; do
    "mpicc.$mpi" -I"$include" "$source" "$scr" -Wl,-rpath,"$(dirname "$scr")" -lm -o "program.$mpi"
done
"$here/restart.sh" "$PWD/program.$name" "${this[@]}" -- "$PWD/program.$other" "mpiexec.$other" -n -- \
    "$PWD/program.$name" "${this[@]}"
