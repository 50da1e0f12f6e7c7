#!/usr/bin/env bash
# Usage: fields.sh PROGRAM LAUNCHER...
# Checkpoints of fields from Fortran: each list that is wrong is told with its reason, on one rank; what three ranks
# have written is restored on any number of ranks. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"' ERR

program=$1
shift

export SCR_PREFIX=$PWD
"$@" 3 "$program" write >log 2>&1 || { cat log && exit 1; }
while read -r reason; do
    [[ $(grep -c "$reason" log) -eq 1 ]] || { cat log && echo "FAILED: not told once: $reason" && exit 1; }
done <<'END'
the type of the state has no procedure list of its own
SCR_Start_output: the name has 1024 bytes or more
field "outside" is listed outside of the routine that lists the state
field "step": is listed twice
the part of \[3\] elements from index \[5\] on is not inside the whole \[6\]; indices begin with 1
the name "nnn*..." has 1024 bytes
rank 2 .* as number 2 this rank lists "only here"
field "two": whole and at must have as many numbers as the array has dimensions
field "word": "kep" is no option; "keep" is
field "hole": no rank has the element \[10\] of the whole \[10\] (indices begin with 1)
a call of SCR that takes no SCR_State is not allowed
rank 2 .* the mesh is not ready
a field has an empty name
field "alone": whole and at come together
field "old": an old rank's part can only be read
the list "open/" was begun and not ended
has a control character
field "before": at counts from 1
field "word": "all" is no option; "same" is
field "grid": the program lists float32\[3\] of \[4\], and the checkpoint has float64\[4, 4\] of \[4, 12\]
field "narrow": the program lists float64\[3\], and the checkpoint has float32\[3\]
field "another" (float64\[3\]) is not in the checkpoint
END
for ranks in 3 4 1 2 6; do
    "$@" "$ranks" "$program" read >log 2>&1 || { cat log && exit 1; }
done
