#!/usr/bin/env bash
# Usage: nodes.sh full|sample|schemes|once|fields|NODES[:RANKS] PROGRAM LAUNCHER...
# The example on emulated nodes, killed in mid-run: it goes on from its newest checkpoint when
# nothing is lost, when ranks are placed elsewhere, and when any one node is lost; and from an
# earlier flush, not silently, when more is lost than redundancy can bear. The result is always
# that of a run which nothing happened to. Run through tests/in_empty_directory.sh.
set -euo pipefail

which=$1 program=$2 name=heat2d
if [[ $program == */mesh_diffusion* ]]; then name=mesh; fi
shift 2
launcher=("$@")
# shellcheck source=tests/mpi/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# With room for two, a kill in the middle of a checkpoint leaves the one before.
export SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2
field=(size 64 every 5)
runs=0

# First node of each rank: $1 nodes with $2 ranks each, blockwise.
placed() {
    local node rank names=()
    for ((node = 0; node < $1; node++)); do
        for ((rank = 0; rank < $2; rank++)); do names+=("n$node"); done
    done
    echo "${names[*]}"
}

# The same ranks, each on the node of its successor; or dealt out one by one.
turned() {
    local names
    read -ra names <<<"$1"
    echo "${names[*]:$2} ${names[*]:0:$2}"
}
dealt() {
    local rank names=()
    for ((rank = 0; rank < $1 * $2; rank++)); do names+=("n$((rank % $1))"); done
    echo "${names[*]}"
}

# The newest checkpoint that the last run has completed.
completed() {
    sed -n "s/^$name: checkpoint $name\.\([0-9]*\)\$/\1/p" "$1" | tail -n 1
}

# What a run without SCR has after $1 steps.
reference() {
    local file
    file=$(dirname "$PWD")/whole.$1
    if [[ ! -f $file ]]; then
        SCR_ENABLE=0 "${launcher[@]}" 1 "$program" "${field[@]}" steps "$1" output "$file" \
            >log 2>&1 </dev/null || fail "the run without SCR"
    fi
    echo "$file"
}

# struck "NODE..." [NODE]: a run from nothing that is killed after some checkpoints.
struck() {
    rm -rf "$nodes" ./.scr "$name".*
    # It would never end by itself, so that the strike cannot come too late.
    begin "$1" "$program" "${field[@]}" steps 900000 delay 2 output none
    wait_for "^$name: checkpoint $name.35\$" || fail "it ended before it was struck"
    strike ${2:+"$2"} && fail "the run ended well though it was killed"
    mv log log.before
}

# again "NODE..." LEAST MOST: starts the run again, which goes on from a checkpoint in between.
again() {
    local from whole last=$(($2 + 100))
    begin "$1" "$program" "${field[@]}" steps "$last" output field
    bury || fail "the run that was started again did not end well"
    from=$(sed -n "s/^$name: restarted from $name\.//p" log)
    [[ -n $from ]] || fail "it started from the beginning"
    ((from >= $2 && from <= $3)) || fail "it went on from step $from, not $2 to $3"
    grep -q "finished step $last" log || fail "it did not reach step $last"
    cp log log.after
    whole=$(reference "$last")
    cmp field "$whole" || fail "the result differs"
    runs=$((runs + 1))
}

# kept "NODE..." "LOST..." "NODE...": on the first nodes the run is struck, those in LOST (or "-")
# are lost, on the last it goes on from the cache.
kept() {
    local newest node lost=${2/-/}
    SCR_FLUSH=0 struck "$1" "${lost%% *}"
    for node in $lost; do rm -rf "${nodes:?}/$node"; done
    newest=$(completed log.before)
    SCR_FLUSH=0 again "$3" "$newest" $((newest + 5))
    # With nothing lost there may be a rebuild too: of a checkpoint newer than the last that
    # was told complete, if the strike came before one rank had written its record of it.
    # Another number of ranks rebuilds it on the way to the prefix directory.
    if [[ $2 != - && $(wc -w <<<"$1") == $(wc -w <<<"$3") ]]; then
        grep -q "rebuilt with ${SCR_COPY_TYPE:-XOR}" log.after || fail "nothing was rebuilt"
    fi
    echo "ok: struck on $1, lost $2, went on on $3 from the cache at ${newest}"
}

# beyond "NODE..." "LOST..." ["NODE..."]: more is lost than can be rebuilt, a flush is left. It
# says so.
beyond() {
    local node earlier newest
    export SCR_FLUSH=3
    struck "$1"
    for node in $2; do rm -rf "${nodes:?}/$node"; done
    newest=$(completed log.before)
    # Each third one was flushed before the program said that it is complete, and perhaps one more.
    earlier=$((newest / 15 * 15))
    again "${3:-$1}" "$earlier" $((earlier + 15))
    unset SCR_FLUSH
    if grep -q "restarted from $name.$newest\$" log.after; then
        # The kill came right after a flush: nothing was lost by it.
        echo "ok: struck on $1, lost $2, the newest was flushed"
        return
    fi
    grep -Eq "(WARNING|ERROR).*$name\.[0-9]+" log.after || fail "nothing is said about the loss"
    echo "ok: struck on $1, lost ${2:-their node}, went on on ${3:-them} from the flush at $earlier"
}

# All that a layout of $1 nodes with $2 ranks each must bear.
layout() {
    local names lost
    names=$(placed "$1" "$2")
    kept "$names" - "$names"
    if (($1 == 1)); then
        beyond "$names" n0
        beyond "$names" "" spare
        return
    fi
    kept "$names" - "$(turned "$names" "$2")"
    if (($2 > 1)); then
        kept "$names" - "$(turned "$names" 1)"
        kept "$names" - "$(dealt "$1" "$2")"
    fi
    for ((lost = 0; lost < $1; lost++)); do
        kept "$names" "n$lost" "${names//n$lost/spare}"
    done
    # Lost and moved at once.
    kept "$names" n1 "$(turned "${names//n1/spare}" "$2")"
    beyond "$names" "n0 n$(($1 - 1))"
}

case $which in
sample)
    kept "n0 n0 n1 n1 n2 n2 n3 n3" n2 "n1 n1 n0 n0 spare spare n3 n3"
    kept "n0 n1" n0 "spare n1"
    beyond "n0 n1 n2 n3" "n1 n2"
    beyond "n0" n0
    ;;
full) for each in 1:1 2:1 4:1 5:1 8:1 4:2; do layout "${each%:*}" "${each#*:}"; done ;;
schemes)
    export SCR_COPY_TYPE SCR_SET_FAILURES=2
    echo "SCR_TEST_SEED=${SCR_TEST_SEED:=$(($(date +%s%N) % 2))}; SCR_TEST_ALL=1 tries all"
    for SCR_COPY_TYPE in RS PARTNER; do
        # One scheme with one rank on each node, the other with two.
        if [[ -n ${SCR_TEST_ALL:-} ]] || ((SCR_TEST_SEED % 2 == 0)); then
            kept "n0 n1 n2 n3" "n1 n2" "n0 s1 s2 n3"
        fi
        if [[ -n ${SCR_TEST_ALL:-} ]] || ((SCR_TEST_SEED % 2 == 1)); then
            kept "n0 n0 n1 n1 n2 n2 n3 n3" "n0 n3" "n1 n1 s0 s0 s3 s3 n2 n2"
        fi
        SCR_TEST_SEED=$((SCR_TEST_SEED + 1))
    done
    ;;
once) kept "n0 n1 n2 n3" n1 "n0 spare n2 n3" ;;
fields)
    kept "n0 n1 n2 n3" n1 "n0 spare n2 n3"
    # Without the lost node, and with more ranks.
    kept "n0 n1 n2 n3" n1 "n0 n2 n3"
    kept "n0 n0 n1 n1 n2 n2" n2 "n0 n0 n0 n0 n1 n1 n1"
    ;;
*) layout "${which%:*}" "${which#*:}" ;;
esac
echo "$runs restarts, all with the right result"
