#!/usr/bin/env bash
# Usage: run.sh BIN PROGRAM SCHEME NODES LOST...
# scr_run launches a program on so many nodes. The LOST ones lose power in mid-run: without a
# human hand it is launched again on others, goes on from the caches, and ends with the result of
# a run which nothing happened to.
set -euo pipefail

bin=$1 program=$2 scheme=$3 count=$4
shift 4
lost=("$@")
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/records.sh
source "$(dirname "${BASH_SOURCE[0]}")/../records.sh"

export SCR_RUNS=2 SCR_COPY_TYPE=$scheme SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
go_on 900000
mapfile -t application < <(example "$program" delay 10 output field)
begin "$bin/scr_run" srun "-N$count" "-n$count" --mpi=pmi2 "${application[@]}"
wait_for '^heat2d: checkpoint heat2d.50$' || fail "it ended before it was struck"
rm steps
for node in "${lost[@]}"; do cluster power-off "$node"; done
for node in "${lost[@]}"; do cluster report "$node"; done
wait_for '^scr_run: .*: launch 1 ended with exit code' || fail "the launch did not end"
reached=$(completed)
go_on $((reached + 100))
finish || fail "scr_run did not end well"
for node in "${lost[@]}"; do
    grep -q "^scr_run: .*: node $node is not used any more" log || fail "nothing is said of $node"
done
left=$("$bin/scr_glob_hosts" --minus "node[1-5]:$(IFS=,; echo "${lost[*]}")")
again="launch 2 of at most 2 on $left: srun"
grep -qF -e "$again --exclude=" -e "$again '--exclude=" log || fail "it did not run on $left"
# It may have been struck in the middle of the next checkpoint, or just after it.
((reached <= $(restarted) + 10 && $(restarted) <= reached + 10)) ||
    fail "it went on from $(restarted), not $reached"
grep "rebuilt with $scheme" log || fail "nothing is said of a rebuild with $scheme"
same_result "$program" $((reached + 100))

# The event log: each event once, in order. A kill may cost the last lines of the first launch.
"$bin/scr" log --json >all.json || fail "scr log"
[[ $(grep -c '"type"' all.json) -eq $(wc -l <.scr/log) ]] || fail "a line of the log could not be read"
of_records all.json >all
sed '/^RUN_END/,$d' all >first
sed '1,/^RUN_END/d' all >second
for part in first second; do none_twice "$part"; done
outline=$(grep -oE '^(JOB_START|JOB_END|RUN_START|RUN_END|START|END|HALT|NODE_FAIL|RESTART_SUCCESS)' all | paste -sd' ')
failed=$(printf 'NODE_FAIL %.0s' "${lost[@]}")
expected="JOB_START RUN_START START RUN_END ${failed}RUN_START START RESTART_SUCCESS HALT END RUN_END JOB_END"
[[ $outline == "$expected" ]] || fail "the log has: $outline, and not: $expected"
id=$(sed -nE 's/^RESTART_SUCCESS ([0-9]+)$/\1/p' second)
[[ $(grep -cE "^REBUILD_(START|SUCCESS) $id$" second) -eq 2 ]] || fail "no rebuild in the log: $(cat second)"
for node in "${lost[@]}"; do
    grep -q "event=NODE_FAIL.*$node" .scr/log || fail "the log does not name $node"
done
for model in young daly; do
    computed=$(interval_of "$model" <.scr/log)
    [[ $("$bin/scr" ckpt-interval --model "$model") -eq $computed ]] || fail "the interval is not $computed"
done
"$bin/scr" report --json >report.json || fail "scr report"
grep -q "\"restart_id\": $id," report.json || fail "the report has another checkpoint: $(cat report.json)"
recovery=$(of_failure recovery <report.json)
[[ $recovery =~ [1-9] ]] || fail "the report has no rebuild: $(cat report.json)"
hand=$(sed '/event=RUN_END/q' .scr/log | lost_by_hand "$id")
lost_work=$(of_failure lost <report.json)
is_lost_work "$lost_work" "$hand" || fail "the report has '$lost_work' s of lost work, by hand it is '$hand' s"
echo "${lost_work:-unknown} s of work lost, $recovery s to recover"
