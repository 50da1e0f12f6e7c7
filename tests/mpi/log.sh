#!/usr/bin/env bash
# Usage: log.sh SCR PROGRAM LAUNCHER...
# The event log of a job that loses a node in mid-run and restarts on a spare one: each event is there
# once, in order, and the best interval follows from it. Run through tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 program=$2
shift 2
launcher=("$@")
# shellcheck source=tests/mpi/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/records.sh
source "$(dirname "${BASH_SOURCE[0]}")/../records.sh"

mkdir prefix
cd prefix
nodes=$(dirname "$PWD")/nodes
export SCR_PREFIX=$PWD SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_FLUSH=0 SCR_COPY_TYPE=XOR
export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0

# It would never end by itself, so that the strike cannot come too late.
begin "n0 n1 n2 n3" "$program" size 64 every 5 steps 900000 delay 2 output none
wait_for '^heat2d: checkpoint heat2d.35$' || fail "it ended before it was struck"
strike n1 && fail "the run ended well though it was killed"
rm -rf "$nodes/n1"
# As scr run records it when the launcher has ended: some time after the last record of the run itself.
sleep 1.1
SCR_JOB_ID=$(sed -n '1s/.* jobid=\([^,]*\),.*/\1/p' .scr/log) "$scr" log-event --type RUN_END --note run=1
sed -n 's/^heat2d: checkpoint \(heat2d\.[0-9]*\)$/\1/p' log >told
before=$(wc -l <.scr/log)
mv log log.before
last=$((5 * $(wc -l <told)))
begin "n0 spare n2 n3" "$program" size 64 every 5 steps $((last + 15)) output none
bury || fail "the second run"
grep -q "rebuilt with XOR" log || fail "nothing was rebuilt"

"$scr" log --json >all.json || fail "scr log"
[[ $(grep -c '"type"' all.json) -eq $(wc -l <.scr/log) ]] || fail "a line could not be read"
of_records all.json >all
head -n "$before" all >first
tail -n "+$((before + 1))" all >second

# One start for each run, and no event of a dataset twice in one run.
[[ $(grep -c '^START$' first) -eq 1 && $(grep -c '^START$' second) -eq 1 ]] || fail "$(cat all)"
for part in first second; do
    none_twice "$part"
done
# All checkpoints that the first run told of, but for the last one, whose lines the kill may have cost.
while read -r name; do
    grep -q "\"type\":\"CHECKPOINT_END\".*\"name\":\"$name\"" all.json || fail "$name has no end"
done < <(head -n -1 told)

# The second run, from the checkpoint that came back.
id=$(sed -nE 's/^RESTART_SUCCESS ([0-9]+)$/\1/p' second)
[[ -n $id ]] || fail "nothing came back"
expected="START
REBUILD_START $id
REBUILD_SUCCESS $id
RESTART_SUCCESS $id
COMPUTE_START
COMPUTE_END
COMPUTE_START
COMPUTE_END
RESTART_START $id
RESTART_END $id
COMPUTE_START"
[[ $(head -n 11 second) == "$expected" ]] || fail "the second run begins with: $(head -n 11 second)"
[[ $(tail -n 2 second) == $'HALT\nEND' ]] || fail "the second run ends with: $(tail -n 2 second)"
grep -E '^(CHECKPOINT|ENCODE)' second | cut -d' ' -f1 | paste -sd' ' |
    grep -qE '^(CHECKPOINT_START ENCODE CHECKPOINT_END CHECKPOINT ?)+$' || fail "$(cat second)"

"$scr" ckpt-interval --stats >stats || fail "scr ckpt-interval"
[[ $(grep -cE '^(Starts: 2|Failures: 1)$' stats) -eq 2 ]] || fail "$(cat stats)"
for model in young daly; do
    computed=$(interval_of "$model" <.scr/log)
    [[ $("$scr" ckpt-interval --model "$model") -eq $computed ]] || fail "$model: not $computed: $(cat stats)"
done

# The report: the work after the checkpoint that came back is lost, and its files were rebuilt.
"$scr" report --json --html report.html >report.json || fail "scr report"
grep -q "\"restart_id\": $id," report.json || fail "the report has another checkpoint: $(cat report.json)"
recovery=$(of_failure recovery <report.json)
[[ $recovery =~ [1-9] ]] || fail "the report has no rebuild: $(cat report.json)"
hand=$(head -n "$before" .scr/log | lost_by_hand "$id")
lost=$(of_failure lost <report.json)
[[ -z $hand || $hand -ge 1 ]] || fail "no work was lost"
is_lost_work "$lost" "$hand" || fail "the report has '$lost' s of lost work, by hand it is '$hand' s"
grep -q "<h2>Failures</h2>" report.html || fail "the page has no failure"
echo "${lost:-unknown} s of work lost, $recovery s to recover"
echo "$(wc -l <.scr/log) records, $(wc -l <told) checkpoints before the node was lost"
