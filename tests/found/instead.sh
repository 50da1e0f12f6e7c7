#!/usr/bin/env bash
# Usage: instead.sh LIBSCR.SO LAUNCHER... RANKS PROGRAM
# Runs a program with another libscr.so than the one that it was linked with.
set -euo pipefail

library=$1 program=${!#}
shift
loaded=$(LD_PRELOAD=$library ldd "$program" | grep "libscr\.so")
if [[ $loaded != *"$library "* || $(wc -l <<<"$loaded") -ne 1 ]]; then
    echo "FAILED: $program is not run with $library alone: $loaded"
    exit 1
fi
needed=$(readelf -d "$library" | grep NEEDED)
if [[ $needed =~ libmpi || $needed =~ libopen- ]]; then
    echo "FAILED: $library needs an MPI: $needed"
    exit 1
fi
exec "${@:1:$#-1}" env LD_PRELOAD="$library" "$program"
