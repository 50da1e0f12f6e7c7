#!/usr/bin/env bash
# Usage: ford.sh SOURCE
# The API documentation is made from the sources, without a warning, and has each public name with a
# description. Run through tests/in_empty_directory.sh.
set -euo pipefail

source=$1
if ! command -v ford >/dev/null; then
    echo "SKIPPED: there is no ford (pip install ford)"
    exit 77
fi
ford --output_dir "$PWD/pages" "$source/fortran/ford.md" >log 2>&1 || { cat log && exit 1; }
if grep -i "warning" log; then
    exit 1
fi
names=$(sed -nE 's/^    public :: (.*)/\1/p' "$source/fortran/scrf.F90" | tr ',' '\n' | tr -d ' ')
[[ $(wc -w <<<"$names") -gt 20 ]]
for name in $names; do
    page=$(find pages -path "*/interface/$name.html" -o -path "*/proc/$name.html")
    [[ -n $page ]] || { echo "FAILED: no page of $name" && exit 1; }
done
grep -q "is there a checkpoint to read" pages/interface/scr_have_restart.html
grep -q "a loop over the checkpoints" pages/interface/scr_next_restart.html
grep -q "this process's part of an array of all processes" pages/type/scr_state.html
