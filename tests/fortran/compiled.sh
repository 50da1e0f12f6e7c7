#!/usr/bin/env bash
# Usage: compiled.sh SOURCE LIBRARY MPIFORT LAUNCHER... -- COMPILER FLAGS CHECK_FLAGS [FLAGS CHECK_FLAGS]...
# Compiles the Fortran sources by COMPILER with FLAGS, and the checks of the module with CHECK_FLAGS,
# links both with the C library, and runs them: under the programs that use mpif.h, since a module of MPI
# fits one compiler. COMPILER flang is the newest that is installed. Of several flags SCR_TEST_SEED draws one pair;
# SCR_TEST_ALL=1 tries all. Run through tests/in_empty_directory.sh.
set -euo pipefail

words=("$@")
source=$1 library=$2 mpifort=$3
shift 3
launch=()
while [[ $1 != -- ]]; do
    launch+=("$1")
    shift
done
compiler=$2
pairs=("${@:3}")
if ((${#pairs[@]} > 2)); then
    echo "SCR_TEST_SEED=${SCR_TEST_SEED:=$(($(date +%s%N) % 32768))}; SCR_TEST_ALL=1 tries all"
    for ((at = 0; at < ${#pairs[@]}; at += 2)); do
        if [[ -n ${SCR_TEST_ALL:-} ]] || ((SCR_TEST_SEED % (${#pairs[@]} / 2) == at / 2)); then
            echo "$compiler ${pairs[at]}; ${pairs[at + 1]}"
            "$BASH" "$0" "${words[@]::${#words[@]}-${#pairs[@]}}" "${pairs[@]:at:2}"
        fi
    done
    exit
fi
read -ra flags <<<"$3"
read -ra check_flags <<<"$4"

link=()
if [[ $compiler == flang ]]; then
    compiler=$(compgen -c | grep -E '^flang(-new)?(-[0-9]+)?$' | sed -E 's/^.*-([0-9]+)$/\1 &/' |
        sort -n | tail -n 1 | sed 's/^.* //') || true
    if [[ -z $compiler ]]; then
        echo "SKIPPED: there is no flang (Debian: flang-19, of 0.8 GB, or newer)"
        exit 77
    fi
    "$compiler" --version | head -n 1
    if [[ $compiler == *-16 ]]; then
        echo "SKIPPED: flang 16 has no polymorphic types, which scr_state is (Debian: flang-19)"
        exit 77
    fi
    # Debian's flang does not look for its own libraries here.
    [[ ! $compiler =~ -([0-9]+)$ ]] || link=("-L/usr/lib/llvm-${BASH_REMATCH[1]}/lib")
fi

read -ra mpi <<<"$("$mpifort" -show | grep -oE ' -[ILl][^ ]*' | tr -d '\n')"
# Open MPI makes this part of mpif.h for the compiler that it was built with. Nothing here uses it.
mkdir -p mpif
for flag in "${mpi[@]}"; do
    [[ ! -f ${flag#-I}/mpif-sizeof.h ]] || cp "${flag#-I}"/mpif*.h mpif
done
[[ ! -f mpif/mpif-sizeof.h ]] || true >mpif/mpif-sizeof.h
"$compiler" "${flags[@]}" -c "$source/fortran/scrf.F90" "$source/fortran/scrf_classic.f90"
"$compiler" "${check_flags[@]}" -c "$source/tests/fortran/check_scrf.f90"

# run ARGUMENTS SOURCE OBJECT...: links and runs it, once with each argument.
run() {
    local argument
    "$compiler" -Impif -I"$source/include" "${@:2}" scrf.o "$library" "${mpi[@]}" "${link[@]}" -pthread -ldl -lm \
        -o program
    rm -rf ./.scr ./from* ./classic* "${SCR_CACHE_BASE:?}"/*
    for argument in $1; do
        "${launch[@]}" ./program "$argument"
    done
}
run all "$source/tests/fortran/with_mpif_h.f90" check_scrf.o
run all "$source/tests/fortran/classic_free.f90" scrf_classic.o
run all "$source/tests/fortran/classic_fixed.f" scrf_classic.o
export SCR_PREFIX=$PWD
run "write read" "$source/tests/fortran/fields.f90"
run "write read" "$source/tests/fortran/fields_kinds.F90"
run "write read" "$source/tests/fortran/indexed.f90"

[[ $2 == flang ]] || exit 0
# A whole program, which uses a module of MPI: a run that goes on from a checkpoint has the same result as one run.
heat() {
    "${launch[@]}" ./program size 64 every 5 steps "$1" output "$2" | tee log
}
"$compiler" -Impif "${mpi[@]}" -c "$source/tests/fortran/mpi_f08.f90"
run "" "$source/examples/heat2d_fields.f90" mpi_f08.o
SCR_ENABLE=0 heat 20 whole
heat 12 part
heat 20 joined
grep -q "restarted from heat2d.10" log
cmp whole joined
