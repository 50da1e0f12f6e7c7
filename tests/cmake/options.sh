#!/usr/bin/env bash
# Usage: options.sh SOURCE SCR CMAKE
# What ScrOptions.cmake says about the options of SCR v3.1.0 is true: what it calls a parameter is one, and
# nothing else is; each is told once, and is no error. Run through tests/in_empty_directory.sh.
set -euo pipefail

source=$1 command=$2 cmake=$3

fail() {
    echo "FAILED: $1"
    exit 1
}

cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.18)
project(options LANGUAGES NONE)
include(GNUInstallDirs)
include("$source/cmake/ScrOptions.cmake")
END
options=$(sed -n '/^_scr_ignored(/,/)$/p' "$source/cmake/ScrOptions.cmake" |
    sed 's/"[^"]*"//' | grep -oE '\b[A-Z][A-Z0-9_]+\b')
[[ $(wc -l <<<"$options") -gt 20 ]] || fail "the options were not found"
given=()
for option in $options; do
    given+=("-D$option=1")
done
"$cmake" -S . -B build -Wno-dev "${given[@]}" >log 2>&1 || fail "$(cat log)"
"$command" params >parameters
for option in $options; do
    told=$(grep -c "SCR: $option has no effect: " log || true)
    [[ $told -eq 1 ]] || fail "$option is told $told times"
    if grep -q "$option has no effect: it is a parameter" log; then
        grep -q "^$option = " parameters || fail "$option is no parameter"
    else
        ! grep -q "^$option = " parameters || fail "$option is a parameter"
    fi
done
echo "$(wc -w <<<"$options") options of SCR v3.1.0"
