#!/usr/bin/env bash
# Usage: build_tree.sh SOURCE BUILD CMAKE MPICC FORTRAN SHARED LAUNCHER...
# A project finds SCR in its build directory; components that it needs are there, or the reason is told.
# Run through tests/in_empty_directory.sh.
set -euo pipefail

source=$1 build=$2 cmake=$3 mpicc=$4 fortran=$5 shared=$6
shift 6

fail() {
    echo "FAILED: $1"
    [[ ! -f log ]] || tail -n 40 log
    exit 1
}

configure() { # NAME COMPONENT...
    mkdir -p "$1"
    cat >"$1/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(consumer LANGUAGES C)
find_package(SCR 3.1 REQUIRED COMPONENTS ${@:2})
add_executable(heat2d $source/examples/heat2d.c)
find_package(MPI REQUIRED COMPONENTS C)
target_link_libraries(heat2d PRIVATE scr::scr-static MPI::MPI_C m)
END
    "$cmake" -S "$1" -B "$1/build" -DSCR_DIR="$build" -DMPI_C_COMPILER="$mpicc" >log 2>&1
}

# told TEXT: the message in one line, as CMake breaks it into several.
told() {
    tr -s ' \n' '  ' <log | grep -qF "$1" || fail "it is not told: $1"
}

configure good C CXX Static || fail "SCR is not found in $build"
"$cmake" --build good/build >log 2>&1 || fail "the consumer is not built"
"$@" 2 good/build/heat2d size 16 steps 4 >log 2>&1 || fail "the consumer does not run"
grep -q "finished step 4" log || fail "the consumer does not finish"
if [[ $fortran == ON ]]; then
    configure fortran C Fortran || fail "there is no component Fortran"
else
    ! configure fortran C Fortran || fail "there is a component Fortran"
    told "has no Fortran: it was built without the Fortran interface; build it again with"
fi
if [[ $shared == ON ]]; then
    configure shared Shared || fail "there is no component Shared"
else
    ! configure shared Shared || fail "there is a component Shared"
    told "has no Shared: it was built with BUILD_SHARED_LIBS=OFF"
fi
! configure wrong C Cobol || fail "there is a component Cobol"
told "has no Cobol: there is no such component; C, CXX, Fortran, Static and Shared are known"
echo "components C, CXX, Static; Fortran: $fortran; Shared: $shared"
