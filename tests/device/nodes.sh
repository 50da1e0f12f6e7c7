#!/usr/bin/env bash
# Usage: nodes.sh DRIVER PROGRAM LAUNCHER...
# As tests/mpi/nodes.sh, for a program whose state is on a device. DRIVER is a directory with a libcuda.so.1 and the
# program's kernel in C, or "-" for a driver that is there. Run through tests/in_empty_directory.sh.
set -euo pipefail

driver=$1
shift
if [[ $driver != - ]]; then
    export LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} LD_PRELOAD=$driver/libheat_kernel.so
fi
exec "$(dirname "${BASH_SOURCE[0]}")/../mpi/nodes.sh" fields "$@"
