#!/usr/bin/env bash
# Usage: ranks.sh PROGRAM [shared] LAUNCHER...
# A checkpoint of 8 ranks on four nodes is read by 3 and by 12: from the prefix directory, written there
# or flushed, and from the cache after a node was lost. With "shared", of a file that all ranks write
# together in bypass. Where fetched files go to the cache and a node has several ranks, it reads each of the
# nine files once. Run through tests/in_empty_directory.sh.
set -euo pipefail

program=$1
shift
shared=
if [[ $1 == shared ]]; then
    shared=shared
    shift
fi
launcher=("$@")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
nodes=$PWD/nodes

fail() {
    echo "FAILED: $*"
    cat log
    exit 1
}

# on "NODE..." ARGUMENT...: runs the program, one rank for each name.
on() {
    local names
    read -ra names <<<"$1"
    (cd prefix && "${launcher[@]}" "${#names[@]}" "$here/on_node.sh" "$nodes" "$1" "$program" \
        "${@:2}") >log 2>&1
}

# try WAY: with the parameters that are set.
try() {
    local way=$1 lost copied
    for wanted in "3 n0 n1 n2" "12 n0 n0 n0 n1 n1 n1 n2 n2 n2 n3 n3 n3"; do
        rm -rf "$nodes" prefix
        mkdir -p "$nodes" prefix
        on "n0 n0 n1 n1 n2 n2 n3 n3" write ck ${shared:+shared} || fail "$way: write"
        case $way in
        cache)
            [[ ! -e prefix/ck ]] || fail "it was flushed"
            # Three ranks cannot be on four nodes.
            rm -rf "$nodes/n3"
            ;;
        *)
            [[ -s prefix/ck/header ]] || fail "$way: the prefix directory has no checkpoint"
            for lost in "$nodes"/n?; do
                rm -rf "$lost"
            done
            ;;
        esac
        on "${wanted#* }" read ck 8 ${shared:+shared} || fail "$way: ${wanted%% *} ranks"
        grep -q "^ranks: ${wanted%% *} read ck of 8$" log || fail "$way: ${wanted%% *} ranks did not tell"
        case "$way ${wanted%% *}" in
        "flush 12" | "cache 12") copied=1 ;;
        *) copied=0 ;;
        esac
        [[ $(grep -c ": 36 files .* to the cache, each once a node" log) == "$copied" ]] ||
            fail "$way: ${wanted%% *} ranks: copies for nodes"
        [[ -z $(find "$nodes" -name "scr.restart.*") ]] || fail "$way: copies are left"
        # What follows is a checkpoint as any other, and needs no permission.
        on "${wanted#* }" read next "${wanted%% *}" ${shared:+shared} || fail "$way: as many ranks"
    done
    echo "ok: from $way, 8 ranks are 3 and 12"
}

export SCR_PREFIX=$PWD/prefix SCR_COPY_TYPE=XOR SCR_CACHE_SIZE=2 SCR_JOB_ID=ranks SCR_FETCH_BYPASS=0
export SCR_DEBUG=1
export SCR_CACHE_BYPASS=1 SCR_FLUSH=1
try bypass
[[ -z $shared ]] || exit 0
export SCR_CACHE_BYPASS=0
try flush
export SCR_FLUSH=0
try cache
