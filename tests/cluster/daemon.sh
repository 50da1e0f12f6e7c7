#!/usr/bin/env bash
# Usage: daemon.sh BIN PROGRAM
# scr_run starts a transfer daemon on each node. The program is killed in mid-flush, and a node without
# a part loses power: the daemons of the others go on and complete the flush, and end with scr_run. Then
# a job script with scr_prerun and scr_poststage.
set -euo pipefail

bin=$1 program=$2
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export SCR_FLUSH=1 SCR_FLUSH_ASYNC=1 SCR_FLUSH_TYPE=DAEMON SCR_DEBUG=1

# The number of the newest dataset on its way to the prefix directory.
on_its_way() {
    local file newest=
    for file in .scr/scr.dataset.*/transfer.*; do
        [[ -e $file && ! -e ${file%/*}/rank2file ]] || continue
        file=${file%/*}
        newest=${file##*.}
    done
    [[ -n $newest ]] && echo "$newest"
}

# none_left NODE...: no process of ours is left there.
none_left() {
    local node
    for node in "$@"; do
        # The pattern does not match itself.
        ! cluster exec "$node" pgrep -af 'scr[a-z_]* transfer' ||
            fail "a daemon is left on $node"
        [[ -z $(cluster exec "$node" find /dev/shm -name 'transfer.*') ]] ||
            fail "files of a daemon are left on $node"
    done
}

complete() { # ID
    "$bin/scr_index" --list | grep -q "^ *$1 YES"
}

mapfile -t application < <(example "$program" delay 10 output field)

echo "--- the program is killed in mid-flush, and a spare node loses power"
# A file of some kilobytes in some seconds.
export SCR_FLUSH_ASYNC_BW=1000
go_on 900000
begin "$bin/scr_run" "${launch[@]}" "${application[@]}"
wait_for '^scr_run: .*: 5 transfer daemons serve node\[1-5\]$' || fail "no daemons"
cluster exec node1 pgrep -f 'scr[a-z_]* transfer' >/dev/null || fail "the pattern is wrong"
wait_for '^heat2d: checkpoint heat2d.10$' || fail "it ended before it was struck"
until id=$(on_its_way); do sleep 0.02; done
cluster power-off node5
cluster report node5
grep -q "dataset $id, .*: copied" .scr/transfer.log && fail "the flush was too fast"
for node in node1 node2 node3 node4; do
    cluster exec "$node" pkill -9 -x "$program" || true
done
finish || true
grep -q '^scr_run: .*: launch 1 ended with exit code [1-9]' log || fail "it was not killed"
complete "$id" || fail "dataset $id was not completed"
grep -q "Saving dataset $id from the caches" log && fail "it took a scavenge"
cat .scr/transfer.log
for part in 0 1 2 3; do
    grep -q "dataset $id, part $part of 4 (.*): copied" .scr/transfer.log ||
        fail "no daemon tells of part $part"
done
none_left node1 node2 node3 node4

echo "--- a job script: scr_prerun, a run that does not wait for its flushes, scr_poststage"
cluster power-on node5
fresh
export SCR_FLUSH_ASYNC_BW=1 SCR_FLUSH_POSTSTAGE=1
go_on 20
# The words are the inner shell's.
# shellcheck disable=SC2016
begin bash -c '"$1/scr_prerun" -v; "${@:2}"; echo "run: $?"; "$1/scr_index" --list
    "$1/scr_poststage" -v; echo "poststage: $?"; "$1/scr_postrun"; echo "postrun: $?"' \
    bash "$bin" "${launch[@]}" "${application[@]}"
finish || fail "the allocation did not end well"
cat log
grep -q '^5 transfer daemons serve node\[1-5\]$' log || fail "no daemons"
grep -q '^run: 0$' log || fail "the run failed"
sed '/^run:/q' log | grep -q "finishes the flush of" || fail "nothing is handed over"
sed -n '/^run:/,/^scr_poststage/p' log | grep -q ' YES ' && fail "SCR_Finalize has waited"
grep "^Dataset 2 (.heat2d.20') is complete in the prefix directory$" log || fail "not completed"
grep -q '^poststage: 0$' log || fail "scr_poststage failed"
grep -q '^postrun: 0$' log || fail "scr_postrun failed"
grep -q '^Saving dataset' log && fail "it took a scavenge"
none_left node1 node2 node3 node4 node5

unset SCR_FLUSH_POSTSTAGE
export SCR_FLUSH_ASYNC_BW=0
mv log log.before
# Nothing of it is in the caches.
fresh_nodes() {
    local node
    for node in node1 node2 node3 node4 node5; do
        cluster exec "$node" find /dev/shm -mindepth 1 -delete
    done
}
fresh_nodes
go_on 120
begin "$bin/scr_run" "${launch[@]}" "${application[@]}"
finish || fail "the next job failed"
[[ $(restarted) == 20 ]] || fail "it went on from $(restarted), not 20"
same_result "$program" 120
none_left node1 node2 node3 node4 node5
