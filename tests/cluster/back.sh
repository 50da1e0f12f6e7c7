#!/usr/bin/env bash
# Usage: back.sh BIN PROGRAM
# A node that was down once is not used again, also when it is back; and when more nodes are lost
# than a run can do without, scr_run says so and saves what it can.
set -euo pipefail

bin=$1 program=$2
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export SCR_RUNS=-1
go_on 900000
mapfile -t application < <(example "$program" delay 10 output field)
begin "$bin/scr_run" srun -N3 -n3 --mpi=pmi2 "${application[@]}"
wait_for '^heat2d: checkpoint heat2d.20$' || fail "it ended before it was struck"
strike() { # NODE LAUNCH
    cluster power-off "$1"
    cluster report "$1"
    wait_for "^scr_run: .*: launch $2 ended" || fail "launch $2 did not end"
}
strike node2 1
cluster power-on node2
cluster wait-idle node2
wait_for '^scr_run: .*: launch 2 on node\[1,3-5\]: srun --exclude=node2 ' || fail "no launch 2"
wait_for '^heat2d: restarted from' || fail "launch 2 did not restart"
strike node3 2
wait_for "^scr_run: .*: launch 3 on node\[1,4-5\]: srun '--exclude=node\[2-3\]' " ||
    fail "no launch 3 without the node that is back"
until [[ $(grep -c '^heat2d: restarted from' log) -eq 2 ]]; do
    kill -0 "$run" || fail "launch 3 did not restart"
    sleep 0.1
done
strike node4 3
if finish; then fail "exit code 0 though the program did not end well"; fi
grep '^scr_run: .*: no other launch: nodes_remaining=2 < nodes_needed=3' log ||
    fail "the reason is not said"
"$bin/scr_index" --list | tee list
grep -q ' YES .* \* heat2d\.' list || fail "the last checkpoint was not saved"
