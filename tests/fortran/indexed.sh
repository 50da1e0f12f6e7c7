#!/usr/bin/env bash
# Usage: indexed.sh PROGRAM LAUNCHER...
# Fields by index from Fortran: each list that is wrong is told with its reason, on one rank; what three ranks have
# written is restored on any number of ranks, with other lists. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"' ERR

program=$1
shift

export SCR_PREFIX=$PWD
"$@" 3 "$program" write >log 2>&1 || { cat log && exit 1; }
while read -r reason; do
    [[ $(grep -c "$reason" log) -eq 1 ]] || { cat log && echo "FAILED: not told once: $reason" && exit 1; }
done <<'END'
index list "outside": number 2 of this rank's list is the index 4; the whole has the indices 1 to 3
index list "both": ranks 0 and 1 both list the index 1; .*leave ghost elements out, or say copies="equal" if all copies are equal
index list "hole": no rank lists the index 54 of the whole of 54 elements, which begins with 1
field "longer": its last dimension has 3 places, and "ones" has 1 elements on this rank
index list "nowhere": no index list or bag has this name; list it before its fields, with s%index or s%bag
field "scalar": a scalar has no elements by index; use s%same if all ranks have it
field "two ways": it goes by an index list, or has whole and at, but not both
index list "negative": its whole cannot have -1 elements
index list "twice": rank 0 lists the index 0 twice
index list "from zero": number 1 of this rank's list is the index 3; the whole has the indices 0 to 2
field "some": is listed twice
field "old": an old rank's part can only be read
rank 2 .* as number 2 this rank lists "one rank's"
field "option": "same" is no option; "equal" is
field "heat": ranks 0 and 2 both have the element of index 1 of "halo", and their copies differ; with copies="equal"
field "nodes": the program lists 29 indices of \[54\], and the checkpoint has 29 indices of \[53\]
field "t": .* by index "others", and the checkpoint has .* of \[53\] by index "nodes"
field "t": the program lists float64\[29\], of each rank's own, and the checkpoint has .* by index "nodes"
the index list "nodes" has other indices when the state is read than when it was compared
END
for ranks in 3 4 1 2 6; do
    "$@" "$ranks" "$program" read >log 2>&1 || { cat log && exit 1; }
    grep -q 'field "t": a field by index is read by its indices, .*leave s%from_rank out' log
    grep -q 'rank 0 .*index list "nodes": number 2 of this rank.s list is the index 54; the whole has the indices 1 to 53' log
done
rm -rf .scr t7
"$@" 3 "$program" bags >log 2>&1 || { cat log && exit 1; }
for ranks in 3 1 2 5; do
    "$@" "$ranks" "$program" bags >log 2>&1 || { cat log && exit 1; }
    [[ $ranks -ne 3 ]] || continue
    grep -q 'bag "owned": the owner of element 0 of rank 0 .* is said to be rank '"$ranks" log
    grep -q 'field "owned": an owner needs the name of a key' log
done
