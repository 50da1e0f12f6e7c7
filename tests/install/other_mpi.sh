#!/usr/bin/env bash
# Usage: other_mpi.sh SOURCE BUILD CMAKE MPICC MPIFORT|"" SHARED
# The library of one MPI under programs of another: CMake warns; SCR_Init says so, once, and fails; nothing
# ends by a signal. The other MPI is Debian's MPICH or Open MPI. Run through tests/in_empty_directory.sh.
set -euo pipefail

source=$1 build=$2 cmake=$3 mpicc=$4 mpifort=$5 shared=$6

fail() {
    echo "FAILED: $1"
    [[ ! -f log ]] || cat log
    exit 1
}

skip() {
    echo "SKIPPED: $1"
    exit 77
}

case $("$mpicc" -show 2>&1) in
*openmpi*) suffix=mpich mine="Open MPI" theirs="MPICH" ;;
*mpich*) suffix=openmpi mine="MPICH" theirs="Open MPI" ;;
*) skip "$mpicc is of neither MPICH nor Open MPI" ;;
esac
for program in mpicc mpiexec; do
    command -v "$program.$suffix" >/dev/null || skip "there is no $program.$suffix, of another MPI"
done
message="ERROR: SCR_Init: the program runs with $theirs [v0-9.]*, but this SCR was built with $mine [v0-9.]*: compile and run the program with that MPI \(.*mpi.*\), or link an SCR"

# run STATUS PROGRAM ARGUMENT...: one message, and STATUS (0, or 1 for anything from 1 to 127). The launcher may end the
# process that speaks before it does, since others have ended with an error: then the program is started again.
run() {
    local expected=$1 status
    shift
    for _ in {1..10}; do
        status=0
        timeout 60 "mpiexec.$suffix" -n 3 "$@" >log 2>&1 || status=$?
        if [[ $status -eq 0 || $status -ge 124 ]] || grep -Eq "$message" log; then
            break
        fi
    done
    [[ $status -lt 124 ]] || fail "$*: exit status $status"
    [[ $((status > 0)) -eq $expected ]] || fail "$*: exit status $status"
    [[ $(grep -Ec "$message" log) -eq 1 ]] || fail "$*: not one message"
    [[ $(grep -Ec "^SCR" log) -le $((expected + 1)) ]] || fail "$*: more than the message"
    ! grep -Eiq "signal|segmentation|backtrace" log || fail "$*: ended by a signal"
    ! grep -q "line after" log || fail "$*: goes on"
}

common=(-I"$build/include" -I"$source/include" -L"$build/lib" "-Wl,-rpath,$build/lib")
libraries=(-pthread -ldl -lm)
if [[ $shared == ON ]]; then
    "mpicc.$suffix" "${common[@]}" "$source/tests/c/other_mpi.c" -lscr "${libraries[@]}" -o c
    run 1 ./c look
    run 0 ./c ignore
    echo "C: $(grep -Eo "the program runs.*" log)"
fi
# The archive links only if both MPIs are linked, as CMake and pkg-config do with their own.
read -ra both <<<"$("mpicc.$suffix" -show | grep -oE ' -[Ll][^ ]*' | tr -d '\n') $("$mpicc" -show |
    grep -oE ' -[Ll][^ ]*' | tr -d '\n')"
"mpicc.$suffix" "${common[@]}" "$source/tests/c/other_mpi.c" "$build/lib/libscr.a" "${both[@]}" \
    "${libraries[@]}" -o static
run 1 ./static look
run 0 ./static ignore
echo "C, static: the same"
if [[ -n $mpifort && $shared == ON ]]; then
    command -v "mpif90.$suffix" >/dev/null || skip "there is no mpif90.$suffix"
    "mpif90.$suffix" "${common[@]}" "$source/tests/fortran/other_mpi.f90" -lscrf -lscr \
        "${libraries[@]}" -o fortran
    run 1 ./fortran
    echo "Fortran: the same"
fi

"$cmake" --install "$build" --prefix "$PWD/installed" >/dev/null
languages="C CXX"
[[ -z $mpifort ]] || languages+=" Fortran"
for language in $languages; do
    case $language in
    C) compiler=mpicc ;;
    CXX) compiler=mpicxx ;;
    Fortran) compiler=mpif90 ;;
    esac
    compiler=$(command -v "$compiler.$suffix") || continue
    "$cmake" -S "$source/tests/install/$language" -B "$language" -DCMAKE_PREFIX_PATH="$PWD/installed" \
        -D"MPI_${language}_COMPILER=$compiler" -DSCR_EXAMPLES="$PWD/installed/share/scr/examples" >log 2>&1 ||
        fail "CMake does not configure a project in $language"
    tr -s ' \n' '  ' <log | grep -q "SCR was built with another MPI ($mpicc) than the one found here ($compiler)" ||
        fail "CMake does not warn a project in $language"
    echo "CMake warns a project in $language"
done
