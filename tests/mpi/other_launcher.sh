#!/usr/bin/env bash
# Usage: other_launcher.sh SCR|- LOOK STOPS|- PROGRAM... -- LAUNCHER...
# Programs under the launcher of another MPI, where each process is alone: SCR_Init fails on all of them, one says why, and
# nothing is written. LOOK (other_mpi.c) ends with what SCR_Init has returned, STOPS (other_mpi.f90) is ended by it, and each
# PROGRAM goes on without SCR. What is a job of one process on purpose starts. The commands of SCR say so, too. Run
# through tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 look=$2 stops=$3
shift 3
programs=()
while [[ $1 != -- ]]; do
    programs+=("$1")
    shift
done
shift
launcher=("$@")

fail() {
    echo "FAILED: $1"
    [[ ! -f log ]] || cat log
    exit 1
}

kind=$1
case $("$1" --version 2>/dev/null) in
*HYDRA* | *Intel*) kind=mpiexec.mpich ;;
*"Open MPI"* | *OpenRTE* | *prterun*) kind=mpiexec.openmpi ;;
esac
case $kind in
*.mpich) other=mpiexec.openmpi variable=OMPI_COMM_WORLD_SIZE family=MPICH theirs="Open MPI" ;;
*.openmpi) other=mpiexec.mpich variable=PMI_SIZE family="Open MPI" theirs=Hydra ;;
*) other= ;;
esac
if [[ -z $other ]] || ! command -v "$other" >/dev/null; then
    echo "SKIPPED: there is no mpiexec of another MPI (mpiexec.mpich, mpiexec.openmpi)"
    exit 77
fi
message="ERROR: rank 0 on node .*: SCR_Init: 3 processes were launched \($variable\), and each is alone in its MPI_COMM_WORLD: the program runs with (Intel|$family).*SCR_SERIAL=1 \(SCR-101\)"

# run STATUS COMMAND...: ends with STATUS, 0 or 1 for any other; the output is in log.
run() {
    local expected=$1 status=0
    shift
    timeout 120 "$@" >log 2>&1 || status=$?
    [[ $status -lt 124 && $((status > 0)) -eq $expected ]] || fail "$*: exit status $status"
}

# refused STATUS PROGRAM...: one of the processes says why. The launcher may end that one before it speaks, since others have
# ended with an error: then the program is started again.
refused() {
    local status=$1 messages
    shift
    for _ in {1..10}; do
        run "$status" "$other" -n 3 "$@"
        messages=$(grep -Ec "$message" log) || true
        [[ $status -eq 1 && $messages -eq 0 ]] || break
    done
    [[ $messages -eq 1 ]] || fail "$*: $messages messages, not one"
    [[ ! -e .scr ]] || fail "$*: uses the prefix directory"
    echo "ok: $(basename "$1")"
}

# starts COMMAND...: LOOK in it starts SCR.
starts() {
    run 0 "$@"
    ! grep -q "SCR-101" log || fail "$*: refused"
    rm -rf .scr
}

# Newer MPIs refuse such a launcher themselves, in MPI_Init.
if ! SCR_ENABLE=0 timeout 120 "$other" -n 3 "$look" ignore >log 2>&1 && grep -q "PMI" log; then
    echo "SKIPPED: this MPI does not start under $other: $(grep "PMI" log | head -n 1)"
    exit 77
fi
refused 1 "$look" look
[[ $stops == - ]] || refused 1 "$stops"
for program in "${programs[@]}"; do
    refused 0 "$program" size 32 steps 8
done
# A shell script of the user in between.
printf '#!/bin/sh\n"$@"\nexit $?\n' >script
chmod +x script
refused 1 ./script "$look" look

"${launcher[@]}" 3 "$look" look >log 2>&1 || fail "the launcher of this MPI"
rm -rf .scr
starts "$look" look
starts "$other" -n 1 "$look" look
SLURM_NTASKS=3 SLURM_PROCID=0 SLURM_JOB_ID=1 starts "$look" look
# A job for each process on purpose, and one that a program which was launched starts itself.
# shellcheck disable=SC2016 # expanded by that shell
own='SCR_PREFIX=$PWD/${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; export SCR_PREFIX; mkdir -p "$SCR_PREFIX"; exec "$@"'
SCR_SERIAL=1 starts "$other" -n 2 sh -c "$own" sh "$look" look
starts "$other" -n 2 sh -c "$own" sh awk 'BEGIN { exit system(ARGV[1] " look") }' "$look"
echo "ok: jobs of one process"

[[ $scr != - ]] || exit 0
# Commands say so before the launch. They know the MPI of their library, unless it is for any, and what a program names.
mkdir path
ln -s "$(command -v "$other")" path/mpiexec
said() { # WORDS COMMAND...
    local words=$1
    shift
    timeout 120 env PATH="$PWD/path:$PATH" SCR_PREFIX="$PWD" "$@" >log 2>&1 || true
    grep -Eq "mpiexec is a launcher of $theirs [0-9.]+[0-9a-z.]*, but $words.*\(SCR-101\)" log || fail "$*: not this: $words"
}
if SCR_PREFIX=$PWD "$scr" doctor | grep -q "^  MPI of SCR *that of the program"; then
    ! SCR_PREFIX=$PWD "$scr" doctor | grep -q "SCR-101" || fail "scr doctor: a launcher is foreign to any MPI"
else
    said "this SCR was built with $family" "$scr" run mpiexec -n 3 true
    said "this SCR was built with $family" "$scr" doctor
fi
if readelf -d "$look" | grep -q 'NEEDED.*\[libmpi_abi'; then
    echo "ok: scr run and scr doctor; this program is for each MPI with the standard's ABI"
    exit 0
fi
said "$look is linked with $family \(libmpi" "$scr" run mpiexec -n 3 "$look" ignore
said "$look is linked with $family \(libmpi" "$scr" doctor --program "$look"
SCR_PREFIX=$PWD "$scr" run "${launcher[@]}" 3 "$look" ignore >log 2>&1 || true
! grep -q "SCR-101" log || fail "scr run: the launcher of this MPI is foreign"
echo "ok: scr run and scr doctor"
