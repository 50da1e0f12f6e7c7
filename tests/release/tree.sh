#!/usr/bin/env bash
# Usage: tree.sh SOURCE PREFIX CMAKE
# An installation for every MPI, moved, under each MPI that is here as Debian installs it (mpicc.mpich, mpicc.openmpi): the Fortran
# program of the README, killed and started again, by CMake, by make and by the compiler alone, and the example in C and C++.
# Run through tests/in_empty_directory.sh.
set -euo pipefail

source=$1 prefix=$2 cmake=$3
work=$PWD
# shellcheck source=scripts/lib.sh
source "$source/scripts/lib.sh"
mpi_environment
forget_scr_settings
fail() {
    echo "FAILED: $1"
    [[ ! -f $work/log ]] || tail -n 20 "$work/log"
    exit 1
}

cp -a "$prefix" moved
tried=0
for mpi in mpich openmpi; do
    if ! command -v "mpiexec.$mpi" "mpicc.$mpi" "mpicxx.$mpi" "mpifort.$mpi" >/dev/null; then
        echo "$mpi: not installed"
        continue
    fi
    tried=$((tried + 1))
    mkdir "$work/$mpi" "$work/$mpi/readme"
    cd "$work/$mpi/readme"
    bash "$source/tests/install/readme.sh" "$source" "$work/moved" "$cmake" "$(command -v "mpifort.$mpi")" \
        "mpiexec.$mpi" -n 2 || fail "$mpi: the program of the README"
    for language in C CXX; do
        [[ $language == C ]] && compiler=mpicc || compiler=mpicxx
        "$cmake" -S "$source/tests/install/$language" -B "$work/$mpi/$language" -DCMAKE_PREFIX_PATH="$work/moved" \
            -DMPI_C_COMPILER="$(command -v "mpicc.$mpi")" -D"MPI_${language}_COMPILER=$(command -v "$compiler.$mpi")" \
            -DSCR_EXAMPLES="$work/moved/share/scr/examples" >"$work/log" 2>&1 || fail "$mpi: CMake, $language"
        "$cmake" --build "$work/$mpi/$language" >"$work/log" 2>&1 || fail "$mpi: $language does not compile"
        for program in heat2d heat2d-static; do
            mkdir "$work/$mpi/$language-$program"
            cd "$work/$mpi/$language-$program"
            for steps in 20 30; do
                SCR_PREFIX=$PWD SCR_JOB_ID=$$ "mpiexec.$mpi" -n 2 "$work/$mpi/$language/$program" size 32 steps $steps \
                    output "" >"$work/log" 2>&1 || fail "$mpi: $language: $program"
            done
            grep -q "restarted from heat2d.20" "$work/log" || fail "$mpi: $language: $program did not restart"
        done
    done
    echo "$mpi: Fortran, C and C++"
done
if [[ $tried -eq 0 ]]; then
    echo "SKIPPED: neither MPICH nor Open MPI is here with the names that Debian gives them"
    exit 77
fi
