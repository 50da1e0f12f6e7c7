#!/usr/bin/env bash
# Usage: without_fint.sh SOURCES MPICC
# The library compiles with an mpi.h that has no MPI_Fint and no conversion between handles of C and of Fortran, as that
# of MPICH 5.1. SOURCES is the directory of all that the library is made of. Run through tests/in_empty_directory.sh.
set -euo pipefail

sources=$1 mpicc=$2
header=$(echo '#include <mpi.h>' | "$mpicc" -M -x c - | grep -oE '[^ ]*/mpi\.h' | head -n 1)
if ! grep -q "define MPICH_VERSION" "$header"; then
    echo "SKIPPED: $header is not of MPICH"
    exit 77
fi
mkdir include
for file in "$(dirname "$header")"/mpi*.h; do
    sed -E '/^#[[:space:]]*if/!{ /MPI_Fint|_(c2f|f2c)\b/d; }' "$file" >"include/$(basename "$file")"
done
compile=("$mpicc" -std=c99 -Wall -Werror -fsyntax-only -Iinclude)

echo '#include <mpi.h>
MPI_Fint number;' >uses.c
if "${compile[@]}" uses.c 2>/dev/null; then
    echo "FAILED: this mpi.h has MPI_Fint"
    exit 1
fi
read -ra files <<<"$(grep -rl --include='*.c' '<mpi.h>' "$sources" | tr '\n' ' ')"
[[ ${#files[@]} -gt 0 ]]
for file in "${files[@]}"; do
    "${compile[@]}" "$file"
    echo "ok: ${file#"$sources/"}"
done
# What else reads mpi.h, or has it read for it: the crate mpi-sys needs MPI_Fint.
if grep -n "^mpi = .*dep:mpi[\",]" "$sources/../Cargo.toml"; then
    echo "FAILED: the feature mpi needs the crate mpi"
    exit 1
fi
