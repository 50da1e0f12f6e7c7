#!/usr/bin/env bash
# Usage: restart.sh BIN PROGRAM
# A node loses power in mid-run, and a plain srun on the others goes on from the caches. If MPI ends
# the run before Slurm notices the loss, Slurm keeps its processors for taken: hence SLURM_OVERLAP.
set -euo pipefail

bin=$1 program=$2
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_on 900000
mapfile -t application < <(example "$program" delay 10 output field)
# The words are the inner shell's.
# shellcheck disable=SC2016
begin bash -c '"${@:2}"; echo "first run: $?"
    until [[ -e again ]]; do sleep 0.05; done
    SLURM_OVERLAP=1 "$2" --exclude="$1" "${@:3}"; echo "second run: $?"' \
    bash node2 "${launch[@]}" "${application[@]}"
wait_for '^heat2d: checkpoint heat2d.50$' || fail "it ended before it was struck"
rm steps
cluster power-off node2
wait_for '^first run:' || fail "the job was lost with the node"
grep -q '^first run: 0$' log && fail "the run ended well though a node was lost"
reached=$(completed)
go_on $((reached + 100))
touch again
wait_for '^second run: 0$' || fail "the second run failed"
finish || fail "the allocation did not end well"
# It may have been struck in the middle of the next checkpoint, or just after it.
((reached <= $(restarted) + 10 && $(restarted) <= reached + 10)) ||
    fail "it went on from $(restarted), not $reached"
grep -i rebuil log || fail "nothing is said of a rebuild"
same_result "$program" $((reached + 100))
