#!/usr/bin/env bash
# An ensemble whose members go on from their own checkpoints: after a run that ended half-way, with the results of one
# that did not. Usage: ensemble.sh PROGRAM LAUNCH...
set -euo pipefail

program=$1
shift
launch=("$@")

fail() {
    echo "$1" >&2
    cat -- *.log >&2
    exit 1
}

mkdir once twice
(cd once && SCR_PREFIX=$PWD "${launch[@]}" "$program" steps 40 >../once.log 2>&1) || fail "a run failed"
(cd twice && SCR_PREFIX=$PWD "${launch[@]}" "$program" steps 17 >../first.log 2>&1) || fail "the first run failed"
(cd twice && SCR_PREFIX=$PWD "${launch[@]}" "$program" steps 40 >../second.log 2>&1) || fail "the second run failed"

# Member m has a checkpoint each 5 (m + 1) steps: member 3 has none yet.
for told in "member-0 goes on from step 15" "member-1 goes on from step 10" "member-2 goes on from step 15" \
    "member-3 begins at step 0"; do
    grep -qx "$told" second.log || fail "not told: $told"
done
results() { grep "has finished" "$1" | sort; }
[[ $(results once.log) == "$(results second.log)" ]] || fail "the results differ"
[[ $(results once.log | wc -l) == 4 ]] || fail "there are not four members"
[[ -f twice/member-2/.scr/index.scr && -f twice/.scr/sessions/member-2 ]] || fail "a session has no prefix directory"
