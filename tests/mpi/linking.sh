#!/usr/bin/env bash
# Usage: linking.sh LIBSCR.SO SCR MPI-LIBRARY...
# The shared library needs MPI, the C library and what comes with the compiler, and nothing
# else; the command does not need MPI.
set -euo pipefail

library=$1 command=$2
shift 2

needed() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort
}

# Of glibc, where the loader and the small libraries are parts of it or not.
usual='^(libc|libm|libdl|libpthread|librt|libgcc_s)\.so(\.[0-9]+)*$|^ld-linux.*\.so\.[0-9]+$'
others=$(needed "$library" | grep -Ev "$usual" || true)
[[ -n $others ]] || { echo "FAILED: libscr does not need MPI"; exit 1; }
for other in $others; do
    [[ $other =~ ^lib(mpi|mpich|open-(rte|pal))[a-z0-9_-]*\.so ]] || {
        echo "FAILED: libscr needs $other"
        exit 1
    }
done
others=$(needed "$command" | grep -Ev "$usual" || true)
[[ -z $others ]] || { echo "FAILED: scr needs $others"; exit 1; }
echo "libscr.so needs: $(needed "$library" | tr '\n' ' ')($(stat -Lc %s "$library") bytes)"
echo "scr needs: $(needed "$command" | tr '\n' ' ')($(stat -Lc %s "$command") bytes)"
