#!/usr/bin/env bash
# Usage: indexed.sh all|some PROGRAM OTHER LAUNCHER...
# Fields by index: what one program writes, in one language, another reads, each on several numbers of ranks, or on some of
# these. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"; tail -n 20 log' ERR

which=$1 programs=("$2" "$3")
shift 3
ranks_of_writers=(3 1) ranks_of_readers=(3 1 2 5)
[[ $which == all ]] || ranks_of_writers=(3) ranks_of_readers=(2)

# A program writes for itself once.
writers=(0 1)
[[ ${programs[0]} != "${programs[1]}" ]] || writers=(0)
for writer in "${writers[@]}"; do
    for ranks in "${ranks_of_writers[@]}"; do
        "$@" "$ranks" "${programs[writer]}" write >log 2>&1
        for readers in "${ranks_of_readers[@]}"; do
            "$@" "$readers" "${programs[1 - writer]}" read >log 2>&1
        done
        # The next run writes a dataset of the same name.
        rm -rf nodes .scr
    done
    "$@" 3 "${programs[writer]}" write_bags >log 2>&1
    for readers in "${ranks_of_readers[@]}"; do
        "$@" "$readers" "${programs[1 - writer]}" read_bags >log 2>&1
    done
    rm -rf bags .scr
done
