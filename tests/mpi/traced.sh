#!/usr/bin/env bash
# Usage: traced.sh RANK "STRACE-OPTION..." PROGRAM ARGUMENT...
# Runs the program, under strace if this is that MPI rank.
set -euo pipefail

rank=$1
read -ra options <<<"$2"
shift 2
if [[ ${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-}} == "$rank" ]]; then
    exec strace -f -qq --seccomp-bpf -s 0 "${options[@]}" "$@"
fi
exec "$@"
