#!/usr/bin/env bash
# Usage: background.sh BIN PROGRAM
# All nodes lose power while checkpoints are flushed in the background. The next run, in a new
# allocation, goes on from the newest one whose completion record had come to the prefix directory.
set -euo pipefail

bin=$1 program=$2
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_FLUSH=1 SCR_FLUSH_ASYNC=1 SCR_FLUSH_ASYNC_BW=0
go_on 900000
mapfile -t application < <(example "$program" delay 10 output field)
begin "${launch[@]}" "${application[@]}"
wait_for '^heat2d: checkpoint heat2d.50$' || fail "it ended before it was struck"
for node in node1 node2 node3 node4 node5; do
    cluster power-off "$node"
done
rm steps
scancel --quiet --user="$(id -un)" || true
finish || true

newest=0
for top in .scr/scr.dataset.*/rank2file; do
    id=${top#.scr/scr.dataset.}
    id=${id%/rank2file}
    ((id <= newest)) || newest=$id
done
((newest >= 3)) || fail "only dataset $newest was flushed while five were written"
for node in node1 node2 node3 node4 node5; do
    cluster power-on "$node"
done
cluster wait-idle

go_on $((newest * 10 + 100))
begin "${launch[@]}" "${application[@]}"
finish || fail "the second run failed"
# A newer one counts, too, if all its parts had come and only the record above them had not.
(($(restarted) >= newest * 10)) || fail "it went on from $(restarted), not $((newest * 10))"
same_result "$program" $((newest * 10 + 100))
echo "went on from $(restarted)"
