#!/usr/bin/env bash
# Usage: fixtures.sh FIXTURES FIXTURE SCR LAUNCHER...
# A program restarts from prefix directories that SCR v3.1.0 wrote: it is offered what their
# expected.md says, in that order, with the right bytes, read where they are or through the
# cache. Its next checkpoint gets the next id. Run through tests/in_empty_directory.sh.
set -euo pipefail

fixtures=$1 program=$2 scr=$3
shift 3

fail() {
    echo "FAILED: $*"
    cat log
    exit 1
}

# try DIRECTORY BYPASS FILES NEXT NAME...: the names are offered in this order, with so many
# files each; after the first is accepted, the next dataset gets the id NEXT.
try() {
    local directory=$1 bypass=$2 files=$3 next=$4 manifest=$PWD/manifest offered mode name count
    shift 4
    # The datasets are named after their directories, with one exception.
    # shellcheck disable=SC2016 # backquotes of the table
    sed -nE -e '/^\| `\.scr/d' -e 's,^\| `((data/)?([^/]*)/[^`]*)` \| ([0-9]+) \| .*,\3 \4 \1,' \
        -e 's/^ck3 /перезапуск-3.0 /' -e '/^[^|]* [0-9]+ [^ ]*\//p' "$fixtures/$directory/expected.md" \
        >"$manifest"
    for mode in accept reject; do
        rm -rf copy
        cp -r "$fixtures/$directory" copy
        rm -rf "${SCR_CACHE_BASE:?}"/* "${SCR_CNTL_BASE:?}"/*
        (cd copy && SCR_PREFIX=$PWD SCR_CACHE_BYPASS=$bypass \
            "${launcher[@]}" 4 "$program" "$manifest" "$mode") >log 2>&1 || fail "$directory, $mode"
        offered=$(sed -n 's/^offered \(.*\) [0-9]*$/\1/p' log | tr '\n' ' ')
        [[ $mode == reject ]] || [[ $offered == "$1 " ]] || fail "$directory: offered $offered"
        [[ $mode == accept ]] || [[ $offered == "$* " ]] || fail "$directory: offered $offered"
        while read -r _ name count; do
            ((count == files)) || fail "$directory: $count files of $name"
        done < <(grep '^offered ' log)
        [[ $mode == reject ]] || "$scr" index --prefix copy --list | grep -Eq "^ *$next YES .*\* after$" ||
            fail "$directory: $("$scr" index --prefix copy --list)"
    done
    echo "ok: $directory, bypass $bypass: $offered"
}

launcher=("$@")
for bypass in 1 0; do
    try basic "$bypass" 8 4 timestep.3 timestep.2 timestep.1
    try output "$bypass" 7 6 "перезапуск-3.0" "ckpt-2.0+β" "ckpt-1.0+α"
    try failed "$bypass" 8 7 dump_0002 dump_0004 dump_0001
done
