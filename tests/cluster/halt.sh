#!/usr/bin/env bash
# Usage: halt.sh BIN PROGRAM
# Every condition of scr_halt, given to a job that runs, ends it at its next checkpoint or when
# it asks; and each can be taken back.
set -euo pipefail

bin=$1 program=$2
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export SCR_RUNS=3
go_on 900000
mapfile -t application < <(example "$program" delay 10 output none)

halted() { # STEPS OPTION...: ended by the options, before so many more steps
    local steps=$1 at
    shift
    # An hour, so that there is an end of the allocation to look at.
    SALLOC_TIMELIMIT=60 begin "$bin/scr_run" "${launch[@]}" "${application[@]}"
    wait_for '^heat2d: checkpoint' || fail "no checkpoint before scr_halt $*"
    "$bin/scr_halt" "$@"
    at=$(completed)
    finish || fail "scr_run did not end well after scr_halt $*"
    grep -q '^heat2d: stopping early, as SCR asks$' log || fail "scr_halt $* did not stop it"
    grep -q '^scr_run: .*: no other launch: ' log || fail "no reason is given"
    ((steps == 0 || $(completed) - at <= steps)) || fail "it went on for too long"
    "$bin/scr_halt" --remove >/dev/null
}

at() { date -d "$1" +%Y-%m-%dT%H:%M:%S; }
halted 20 --checkpoints 2
# How soon a running job looks is its own affair, so the others have no number of steps.
halted 0 --immediate
halted 0 --after "$(at '1 hour ago')"
halted 0 --before "$(at '10 minutes')" --seconds 900
halted 0 --seconds 7200

# Conditions that are taken back do not stop it.
begin "$bin/scr_run" "${launch[@]}" "${application[@]}"
wait_for '^heat2d: checkpoint' || fail "no checkpoint before conditions are taken back"
"$bin/scr_halt" --checkpoints 100000 --after "$(at '1 day')" --before "$(at '2 days')" --seconds 5
counted() {
    "$bin/scr_halt" --list | sed -n 's/^ *CheckpointsLeft: *//p'
}
until (($(counted) < 100000)); do
    kill -0 "$run" || fail "it stopped too early"
    sleep 0.05
done
"$bin/scr_halt" --unset-checkpoints --unset-after --unset-before --unset-seconds >list
grep -qx '  None' list || fail "conditions are left: $(cat list)"
from=$(completed)
until (($(completed) > from + 20)); do
    kill -0 "$run" || fail "it stopped although no condition holds"
    sleep 0.05
done
"$bin/scr_halt" >/dev/null
finish || fail "scr_run did not end well"

# One that is given before the launch forbids it, until it is taken back.
"$bin/scr_halt" >/dev/null
begin "$bin/scr_run" "${launch[@]}" "${application[@]}"
if finish; then fail "exit code 0 though nothing was launched"; fi
grep '^scr_run: .*: the program is not launched: a halt condition holds: JOB_HALTED' log ||
    fail "it is not said why nothing is launched"
"$bin/scr_halt" --unset-reason >/dev/null
from=$("$bin/scr_have_restart")
go_on $((${from#heat2d.} + 20))
begin "$bin/scr_run" "${launch[@]}" "${application[@]}"
finish || fail "the last run"
grep -q '^heat2d: finished step' log || fail "the last run did not come to its end"
