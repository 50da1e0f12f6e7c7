#!/usr/bin/env bash
# Usage: rehearse.sh BIN PROGRAM
# scr rehearse in a job of two nodes: it refuses ranks on another node than its own, and has scr run launch the program again with
# srun on this one.
set -euo pipefail

bin=$1 program=$2
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export SCR_COPY_TYPE=XOR

# rehearse NODE OPTION...: on node1, with the ranks on this node.
rehearse() {
    local node=$1
    shift
    rm -rf stage
    salloc -Q -N2 -w node1,node2 srun -N1 -n1 -w node1 --overlap "$bin/scr" rehearse "$@" --dir stage --ranks 4 --nodes 2 \
        --launcher "srun --mpi=pmi2 -N1 --overlap --overcommit -w $node" --compare field -- \
        "$bin/$program" size 64 steps 200 every 20 delay 10 output field >log 2>&1
}

! rehearse node2 || fail "ranks on another node are taken"
grep -q '4 of 4 ranks run on node2, and scr rehearse on node1' log || fail "it is not said where the ranks are"
echo "ok: ranks on another node are told"

rehearse node1 --kill rank@2 --relaunch || fail "the program has not recovered"
grep -q '^RECOVERED$' log || fail "the program has not recovered"
grep -q '^launch 2 of scr run: node n. killed after .* recovered$' log || fail "scr run has not launched it again"
echo "ok: scr run launches the program again with srun"
