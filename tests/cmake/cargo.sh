#!/usr/bin/env bash
# Usage: cargo.sh SOURCE CMAKE MPICC CARGO
# How CMake calls cargo: in the source directory, with the job server of make, the profile of the build
# type and the flags of the C compiler; and what it says of a machine that lacks something. A program
# that writes down how it is called stands for cargo. Run through tests/in_empty_directory.sh.
set -euo pipefail

source=$1 cmake=$2 mpicc=$3 cargo=$4

fail() {
    echo "FAILED: $1"
    [[ ! -f log ]] || tail -n 40 log
    exit 1
}

configure() { # BUILD OPTION...
    "$cmake" -S "$source" -B "$1" -DMPI_C_COMPILER="$mpicc" -DSCR_ENABLE_TESTS=OFF \
        -DSCR_ENABLE_EXAMPLES=OFF -DSCR_ENABLE_FORTRAN=OFF -DSCR_USE_CORROSION=OFF "${@:2}" >log 2>&1
}

# told WORDS: the last configuration printed them; CMake breaks lines.
told() {
    tr -s ' \n' '  ' <log | grep -qF "$1" || fail "it is not told: $1"
    echo "told: $1"
}

refused() { # WORDS BUILD OPTION...
    ! configure "${@:2}" || fail "$2 is configured"
    told "$1"
}

cat >recorder <<END
#!/bin/sh
[ "\$1" != --version ] || exec "$cargo" --version
for descriptor in /proc/self/fd/*; do
    case \$(readlink "\$descriptor") in pipe:*) pipes="\$pipes \${descriptor##*/}" ;; esac
done
printf '%s\n' "\$PWD" "\$*" "MAKEFLAGS=\$MAKEFLAGS" "CFLAGS=\$CFLAGS" "MPICC=\$MPICC" "pipes:\$pipes" >"$PWD/called"
exit 3
END
chmod +x recorder

called() { # BUILD TYPE OPTION...
    configure "$1" -DSCR_CARGO_EXECUTABLE="$PWD/recorder" -DCMAKE_BUILD_TYPE="$2" "${@:3}" || fail "$1"
    ! "$cmake" --build "$1" -j3 --target scr_rust >log 2>&1 || fail "cargo's error is not seen"
    [[ $(head -n 1 called) == "$source" ]] || fail "cargo runs in $(head -n 1 called)"
    grep -qxF "MPICC=$mpicc" called || fail "another MPI: $(cat called)"
}

for pair in Debug:dev Release:release RelWithDebInfo:relwithdebinfo MinSizeRel:minsizerel; do
    called "${pair%:*}" "${pair%:*}" -DCMAKE_C_FLAGS="-fsanitize=address -DSOME"
    grep -q -- "^rustc --locked --profile ${pair#*:} " called || fail "$pair: $(cat called)"
    grep -q "^CFLAGS=-fsanitize=address -DSOME" called || fail "$pair: $(cat called)"
done
if grep -q "Makefiles" Debug/CMakeCache.txt; then
    jobs=$(sed -n 's/^MAKEFLAGS=.*--jobserver-[a-z]*=\([^ ]*\).*/\1/p' called)
    [[ -n $jobs ]] || fail "cargo gets no job server: $(cat called)"
    # A pair of descriptors, or the path of a pipe in newer ones.
    [[ $jobs == fifo:* ]] || grep -q "^pipes:.* ${jobs%,*} " <(sed 's/$/ /' called) ||
        fail "the job server is closed: $(cat called)"
    echo "make's job server: $jobs"
fi

# A relative CARGO_TARGET_DIR is one of the directory in which cargo runs, also for what copies its products.
CARGO_TARGET_DIR=target/of_a_test called relative Debug
grep -qF -- " --target-dir $source/target/of_a_test/" called || fail "relative: $(cat called)"
! grep -rqE '[^/]target/of_a_test' relative/CMakeFiles/*.dir/build.make relative/cmake_install.cmake 2>/dev/null ||
    fail "a rule has the relative path"
[[ ! -e $source/target/of_a_test ]] || fail "something was built"

# One MPI is expected, and another is there.
refusals=0
for family in MPICH OPENMPI; do
    if ! configure "expected_$family" -DSCR_EXPECTED_MPI=$family -DSCR_CARGO_EXECUTABLE="$PWD/recorder"; then
        told "is not of $family, as SCR_EXPECTED_MPI asks: its mpi.h is of another MPI."
        refusals=$((refusals + 1))
    fi
done
[[ $refusals == 1 ]] || fail "$refusals of MPICH and Open MPI are refused"
refused "SCR_EXPECTED_MPI is LAM, but must be" expected_lam -DSCR_EXPECTED_MPI=LAM

# Old names of options still count, and either name can be given later.
configure names -DENABLE_FORTRAN=ON -DSCR_CARGO_EXECUTABLE="$PWD/recorder" || fail "ENABLE_FORTRAN"
grep -q '^SCR_ENABLE_FORTRAN:[A-Z]*=ON' names/CMakeCache.txt || fail "ENABLE_FORTRAN=ON does not count"
configure names || fail "the new name"
grep -q '^SCR_ENABLE_FORTRAN:[A-Z]*=OFF' names/CMakeCache.txt || fail "the new name does not count"
! grep -q '^ENABLE_' names/CMakeCache.txt || fail "the old name stays"

mkdir old
printf '#!/bin/sh\necho "cargo 1.60.0 (abc 2022-01-01)"\n' >old/cargo
chmod +x old/cargo
refused "old/cargo is version 1.60.0. SCR needs Rust 1." old_cargo -DSCR_CARGO_EXECUTABLE="$PWD/old/cargo"
refused "cargo.none does not work" no_cargo -DSCR_CARGO_EXECUTABLE="$PWD/cargo.none"

# A machine without a Fortran compiler: the default is a build for C, and to ask for Fortran is an error.
mkdir bin
for name in cc c++ as ld make sh bash env uname sed grep expr dirname basename cat; do
    ln -s "$(command -v $name)" "bin/$name"
done
without_fortran() { # BUILD OPTION...
    PATH=$PWD/bin configure "$@" -DSCR_CARGO_EXECUTABLE="$PWD/recorder"
}
without_fortran c_only -DSCR_ENABLE_FORTRAN=AUTO || fail "no build for C alone"
told "SCR: the Fortran interface is left out, as no Fortran compiler was found. Install one (Debian: apt-get install gfortran), or name it with -DCMAKE_Fortran_COMPILER="
"$cmake" --build c_only --target help >targets
! grep scrf targets || fail "there are targets of Fortran"
! without_fortran no_fortran -DSCR_ENABLE_FORTRAN=ON || fail "Fortran without a compiler"
told "No Fortran compiler was found. Install one (Debian: apt-get install gfortran), or name it with -DCMAKE_Fortran_COMPILER=..., or leave Fortran out with -DSCR_ENABLE_FORTRAN=OFF."
