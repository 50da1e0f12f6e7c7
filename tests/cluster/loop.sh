#!/usr/bin/env bash
# Usage: loop.sh BIN PROGRAM
# What scr_run does with other commands for a restart, with signals, with a second scr_run, with
# a program that fails, and with a node that is dead though the scheduler does not know yet.
set -euo pipefail

bin=$1 program=$2
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export SCR_RUNS=3
go_on 900000
mapfile -t application < <(example "$program" delay 10 output field)

echo "--- another command for a restart; a second scr_run; SIGTERM"
begin "$bin/scr_run" "${launch[@]}" -rc "${application[*]}" \
    -rs "env CKPT=SCR_CKPT_NAME ${application[*]}"
wait_for '^heat2d: checkpoint heat2d.20$' || fail "it did not run"
if SLURM_JOB_ID=1 SLURM_JOB_NODELIST=node1 "$bin/scr_run" srun true >second 2>&1; then
    fail "a second scr_run is not refused"
fi
[[ $(wc -l <second) -eq 1 ]] || fail "more than a line: $(cat second)"
grep 'scr run is at work in .* already (process ' second || fail "not clear: $(cat second)"
cluster exec node1 pkill -9 -x "$program"
wait_for '^scr_run: .*: launch 2 .* env CKPT=heat2d\.[0-9]* ' || fail "no other command"
grep -q '^scr_run: .*: launch 1 ended with exit code [1-9]' log || fail "another exit code"
wait_for '^heat2d: restarted from' || fail "it did not restart"
loop=$(sed -n 's/^process \([0-9]*\) on .*/\1/p' .scr/run.lock)
kill -TERM "$loop"
if finish; then fail "exit code 0 after SIGTERM"; fi
grep '^scr_run: .*: SIGTERM is passed on to srun' log || fail "SIGTERM is not passed on"
grep '^scr_run: .*: no other launch: SIGTERM was received' log || fail "another reason"
"$bin/scr_index" --list | grep ' YES .* \* heat2d\.' || fail "the checkpoint was not saved"

echo "--- the exit code of a program that fails; no launch is left"
# Of several tasks the slower ones would be ended by the first that fails, with a code of their own.
begin "$bin/scr_run" srun -N1 -n1 sh -c 'exit 7'
status=0
finish || status=$?
[[ $status -eq 7 ]] || fail "exit code $status, not that of the program"
grep '^scr_run: .*: no other launch: 3 launches were allowed' log || fail "another reason"

echo "--- a spare node is dead, and only the tests find out"
fresh
go_on 900000
begin "$bin/scr_run" "${launch[@]}" "${application[@]}"
wait_for '^heat2d: checkpoint heat2d.20$' || fail "it did not run"
rm steps
cluster power-off node5
cluster exec node1 pkill -9 -x "$program"
wait_for '^scr_run: .*: launch 2 .* srun --exclude=node5 ' || fail "no launch without node5"
go_on $(($(completed) + 100))
finish || fail "scr_run did not end well"
grep '^scr_run: .*: node node5 is not used any more: ' log
same_result "$program" "$(cat steps)"

echo "--- a node is lost after the step has begun to end: Slurm keeps its processors for taken"
fresh
go_on 900000
begin "$bin/scr_run" "${launch[@]}" "${application[@]}"
wait_for '^heat2d: checkpoint heat2d.20$' || fail "it did not run"
rm steps
cluster power-off node2
# It may have ended already, because it has lost a peer.
cluster exec node1 pkill -9 -x "$program" || true
wait_for '^srun: error: node1: task 0: ' || fail "srun does not notice"
cluster report node2
wait_for '^scr_run: .*: launch 2 .* srun --exclude=node2 ' || fail "no launch without node2"
go_on $(($(completed) + 100))
finish || fail "scr_run did not end well"
same_result "$program" "$(cat steps)"
