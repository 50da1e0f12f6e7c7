#!/usr/bin/env bash
# Usage: compilers.sh SOURCE CMAKE MPICC MPIFORT
# MPI compilers are given by path or by bare name, and one of them is enough: all are of the same MPI.
# Run through tests/in_empty_directory.sh.
set -euo pipefail

source=$1 cmake=$2 mpicc=$3 mpifort=$4

fail() {
    echo "FAILED: $1"
    [[ ! -f log ]] || cat log
    exit 1
}

# configured OPTION...: the compilers and the launcher are those of this build.
number=0
configured() {
    number=$((number + 1))
    "$cmake" -S "$source" -B "$PWD/$number" -DSCR_ENABLE_TESTS=OFF "$@" >log 2>&1 || fail "$*"
    local name
    for name in MPI_C_COMPILER MPI_Fortran_COMPILER MPIEXEC_EXECUTABLE; do
        sed -n "s/^$name:[A-Z]*=//p" "$number/CMakeCache.txt" >>"found.$number"
    done
    cmp "found.1" "found.$number" || fail "$*: $(cat "found.$number")"
    echo "$*"
}

configured -DMPI_C_COMPILER="$mpicc" -DMPI_Fortran_COMPILER="$mpifort"
[[ $(head -n 2 found.1) == "$mpicc"$'\n'"$mpifort" ]] || fail "$(cat found.1)"
PATH=$(dirname "$mpicc"):$(dirname "$mpifort"):$PATH
configured -DMPI_C_COMPILER="$(basename "$mpicc")" -DMPI_Fortran_COMPILER="$(basename "$mpifort")"
# Where several MPIs are installed their names tell which is which.
if [[ $mpicc == *mpicc[.-]* ]]; then
    configured -DMPI_C_COMPILER="$(basename "$mpicc")" -DMPI_Fortran_COMPILER="$mpifort"
    configured -DMPI_Fortran_COMPILER="$(basename "$mpifort")"
fi
! "$cmake" -S "$source" -B "$PWD/none" -DMPI_Fortran_COMPILER=mpif90.none >log 2>&1 ||
    fail "a compiler that is not there is accepted"
grep -q "MPI_Fortran_COMPILER: mpif90.none was not found in PATH" log || fail "other words"
