#!/usr/bin/env bash
# Usage: postrun.sh BIN PROGRAM [LOST]
# All processes of a run are killed right after a checkpoint, which is in the caches only, and
# the node LOST loses power. scr_postrun saves the checkpoint; a new job goes on from it.
set -euo pipefail

bin=$1 program=$2 lost=${3:-}
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_on 900000
mapfile -t application < <(example "$program" delay 10 output field)
# The words are the inner shell's.
# shellcheck disable=SC2016
begin bash -c '"${@:2}"; echo "run: $?"
    "$1/scr_postrun" -j srun; echo "postrun: $?"; "$1/scr_postrun"; echo "again: $?"
    "$1/scr_scavenge" --id "$("$1/scr_flush_file" --latest)"; echo "scavenge: $?"' \
    bash "$bin" "${launch[@]}" "${application[@]}"
wait_for '^heat2d: checkpoint heat2d.50$' || fail "it ended before it was struck"
[[ -z $lost ]] || cluster power-off "$lost"
for node in node1 node2 node3 node4; do
    [[ $node == "$lost" ]] || cluster exec "$node" pkill -9 -x "$program" || true
done
[[ -z $lost ]] || cluster report "$lost"
wait_for '^run:' || fail "the allocation was lost"
grep -q '^run: 0$' log && fail "the run ended well though it was killed"
finish || fail "the allocation did not end well"
grep -q '^postrun: 0$' log || fail "scr_postrun failed"
grep -q '^again: 0$' log || fail "scr_postrun failed when called again"
grep -q '^scavenge: 0$' log || fail "scr_scavenge failed for what is saved already"
[[ $(grep -c '^Saving dataset' log) -eq 2 ]] || fail "the second scr_postrun saved it again"
[[ -z $lost ]] || grep "^Rebuilt the files of rank" log || fail "nothing is said of a rebuild"
mv log log.before

"$bin/scr_index" --list | tee list
name=$(sed -n 's/^ *[0-9]* YES .* \* \(heat2d\..*\)$/\1/p' list)
reached=${name#heat2d.}
# It may have been killed in the middle of the next checkpoint, or just after it.
((reached >= 50)) || fail "no checkpoint is complete and current"
"$bin/scr_have_restart" | grep -qx "$name" || fail "scr_have_restart does not name $name"

[[ -z $lost ]] || cluster power-on "$lost"
cluster wait-idle
go_on $((reached + 100))
begin "${launch[@]}" "${application[@]}"
finish || fail "the next job failed"
[[ $(restarted) == "$reached" ]] || fail "it went on from $(restarted), not $reached"
same_result "$program" $((reached + 100))
