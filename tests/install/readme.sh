#!/usr/bin/env bash
# Usage: readme.sh SOURCE BUILD|PREFIX CMAKE MPIFORT LAUNCHER...
# The Fortran program of the README, built from an installation in an empty directory: by the README's
# lines of CMake, by its makefile, by the MPI compiler alone, and with the module compiled by flang, if that
# is installed. Each is killed, and goes on. BUILD is installed; PREFIX is an installation, of which a copy is used.
# Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"; tail -n 20 ./*.log' ERR

source=$1 build=$2 cmake=$3 mpifort=$4
shift 4
launch=("$@")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fail() {
    echo "FAILED: $*"
    exit 1
}
# shellcheck source=tests/killed.sh
source "$here/../killed.sh"

root=$PWD/scr
if [[ -f $build/CMakeCache.txt ]]; then
    "$cmake" --install "$build" --prefix "$root" >install.log
else
    cp -a "$build" "$root"
fi
pkgconfig=$(dirname "$(find "$root" -name scrf.pc)")
export PKG_CONFIG_PATH=$pkgconfig
libdir=$(cd "$pkgconfig/.." && pwd)

block() { # LANGUAGE: the first such block of the README
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$source/README.md" | sed '1d;/^```$/,$d'
}
mkdir whole endless
block fortran >whole/survive.f90
grep -q '^program survive' whole/survive.f90 || fail "the README has no program"
sed 's/LAST_STEP = 100$/LAST_STEP = 2000000000/' whole/survive.f90 >endless/survive.f90
! cmp -s whole/survive.f90 endless/survive.f90 || fail "the program has no last step"

# goes_on WAY: endless/survive is killed, and whole/survive goes on where it was.
goes_on() {
    local program=$PWD step
    mkdir "$1"
    cd "$1"
    export SCR_PREFIX=$PWD SCR_JOB_ID=$1 SCR_PREFIX_SIZE=3
    # A dataset follows when the one before is complete.
    killed first.log 'compgen -G "ck.[0-9][0-9][0-9]" >found' "$program/endless/survive" \
        "${launch[@]}" "$program/endless/survive"
    "${launch[@]}" "$program/whole/survive" >second.log 2>&1 || fail "$1: $(cat second.log)"
    step=$(sed -n 's/^starting after step //p' second.log)
    [[ $step -ge 90 ]] || fail "$1: it went on after step $step: $(cat second.log)"
    grep -q "^stopping after step $((step < 100 ? 100 : step))$" second.log || fail "$1: $(cat second.log)"
    cd ..
    echo "$1: killed, and on after step $step"
}

{
    echo "cmake_minimum_required(VERSION 3.18)"
    echo "project(user LANGUAGES Fortran)"
    echo "add_executable(program whole/survive.f90)"
    block cmake
    echo "add_executable(endless endless/survive.f90)"
    block cmake | sed -n 's/target_link_libraries(program /target_link_libraries(endless /p'
    for program in program:whole endless:endless; do
        echo "set_target_properties(${program%:*} PROPERTIES OUTPUT_NAME survive RUNTIME_OUTPUT_DIRECTORY" \
            "\${CMAKE_SOURCE_DIR}/${program#*:})"
    done
} >CMakeLists.txt
"$cmake" -S . -B built -DCMAKE_PREFIX_PATH="$root" -DMPI_Fortran_COMPILER="$mpifort" >cmake.log 2>&1 ||
    fail "$(tail -n 20 cmake.log)"
"$cmake" --build built >>cmake.log 2>&1 || fail "$(tail -n 20 cmake.log)"
goes_on CMake

if [[ $PWD != *" "* ]] && command -v make >/dev/null && command -v pkg-config >/dev/null; then
    block make >makefile
    for program in whole endless; do
        rm "$program/survive"
        make -s -C "$program" -f ../makefile FC="$mpifort" SCRF_DIRECTORY=../made SCRF_FLAGS="-O0 -fPIC"
    done
    goes_on make
fi

# Where there is no libscrf, the module is compiled with the program. Debian's compiler for MPICH would optimise it, which
# takes four times as long.
module=(-I"$root/include" -lscrf)
if [[ ! -f $libdir/libscrf.a ]]; then
    mkdir compiled
    (cd compiled && "$mpifort" -O0 -c "$root/share/scr/fortran"/scrf*.[fF]90)
    module=(-Icompiled compiled/scrf.o)
fi
read -ra static <<<"$(PKG_CONFIG_PATH=$pkgconfig pkg-config --static --libs-only-l scr 2>/dev/null || true)"
libraries=(-lscr "${static[@]:1}" "-Wl,-rpath,$libdir")
for program in whole endless; do
    "$mpifort" "$program/survive.f90" -o "$program/survive" "${module[@]}" -L"$libdir" "${libraries[@]}"
done
goes_on mpifort

# A module of MPI fits one compiler, so this one takes MPI from mpif.h, where calls return their status.
flang=$(compgen -c | grep -E '^flang(-new)?(-[0-9]+)?$' | sed -E 's/^.*-([0-9]+)$/\1 &/' | sort -n |
    tail -n 1 | sed 's/^.* //') || true
if [[ -n $flang ]]; then
    read -ra mpi <<<"$("$mpifort" -show | grep -oE ' -[ILl][^ ]*' | tr -d '\n')"
    mkdir modules mpif
    # Open MPI makes this part of mpif.h for the compiler that it was built with. Nothing here uses it.
    for flag in "${mpi[@]}"; do
        [[ ! -f ${flag#-I}/mpif-sizeof.h ]] || cp "${flag#-I}"/mpif*.h mpif
    done
    [[ ! -f mpif/mpif-sizeof.h ]] || true >mpif/mpif-sizeof.h
    [[ ! $flang =~ -([0-9]+)$ ]] || mpi+=("-L/usr/lib/llvm-${BASH_REMATCH[1]}/lib")
    (cd modules && "$flang" -c "$root/share/scr/fortran/scrf.F90")
    for program in whole endless; do
        sed -E '/use mpi_f08/d; s/^( *)implicit none/&\n\1include "mpif.h"\n\1integer :: status/
            s/(MPI_Init|MPI_Finalize)\(\)/\1(status)/; s/(MPI_Comm_rank\(.*)\)$/\1, status)/' \
            "$program/survive.f90" >"$program/with_mpif_h.f90"
        "$flang" -Impif -Imodules "$program/with_mpif_h.f90" modules/scrf.o -o "$program/survive" -L"$libdir" \
            "${libraries[@]}" "${mpi[@]}"
    done
    goes_on flang
else
    echo "flang: not installed"
fi
