#!/usr/bin/env bash
# Usage: blocks.sh ROOT
# Each code block in the documentation that names a language is compiled or run against an installation of
# this build, or has a comment before it that says why not:
#
#     <!-- not run: REASON -->
#
# Blocks of a page share a directory. A part of a program or of a project is put into the file
# context/PAGE.LANGUAGE, at the line BLOCK, and a subroutine into context/routine.fortran. Shell blocks of a page run one after the other, with $prefix for the
# installation and the compilers and the launcher of its MPI under their usual names. Run by ctest through
# tests/in_empty_directory.sh, with SCR_TEST_* and MPI_*_COMPILER set; without SCR_TEST_BUILD it only looks
# at the markers.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Blocks as files NUMBER.LANGUAGE, and the list "NUMBER LANGUAGE PAGE LINE MARKER...".
mkdir "$work/blocks"
mapfile -t pages < <(cd "$root" && find README.md CONTRIBUTING.md docs -name '*.md' | sort)
(cd "$root" && awk -v to="$work/blocks" '
    FNR == 1 { open = 0; marker = "-" }
    /^```/ && !open {
        open = 1
        language = substr($0, 4)
        file = sprintf("%s/%03d.%s", to, ++count, language)
        printf "%03d %s %s %d %s\n", count, language == "" ? "none" : language, FILENAME, FNR, marker
        printf "" > file
        next
    }
    /^```/ { open = 0; close(file); marker = "-"; next }
    open { print > file; next }
    /^<!-- not run: .+ -->$/ { marker = $0; next }
    /[^ ]/ { marker = "-" }' "${pages[@]}") >"$work/list"

wrong=0
while read -r _ language page line marker; do
    case $language in
    fortran | c | cpp | python | cmake | make | sh | json | console | text) ;;
    *)
        if [[ $marker == - ]]; then
            echo "$page:$line: a block of language '$language', which no test runs: name one of fortran, c, cpp," \
                "python, cmake, make, sh, json, console, text, or put <!-- not run: REASON --> before it"
            wrong=1
        fi
        ;;
    esac
done <"$work/list"
echo "$(wc -l <"$work/list") blocks"
[[ $wrong -eq 0 && -s $work/list ]] || exit 1
[[ -n ${SCR_TEST_BUILD:-} ]] || exit 0

: "${SCR_TEST_CMAKE:?}" "${SCR_TEST_FORTRAN:?}" "${MPI_C_COMPILER:?}" "${MPI_CXX_COMPILER?}" "${MPI_Fortran_COMPILER?}"
export prefix=$work/installed
"$SCR_TEST_CMAKE" --install "$SCR_TEST_BUILD" --prefix "$prefix" >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name scr.pc)")
export PKG_CONFIG_PATH
libraries=$(cd "$PKG_CONFIG_PATH/.." && pwd)

# The names by which users call the tools.
mkdir "$work/bin"
shim() { # NAME COMMAND...
    printf '#!/bin/sh\nexec %s "$@"\n' "${*:2}" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
shim mpicc "$MPI_C_COMPILER"
[[ -z $MPI_CXX_COMPILER ]] || shim mpicxx "$MPI_CXX_COMPILER"
[[ $SCR_TEST_FORTRAN == 0 ]] || shim mpifort "$MPI_Fortran_COMPILER"
shim mpiexec "$SCR_TEST_LAUNCHER"
export PATH=$work/bin:$prefix/bin:$PATH

# in_context BLOCK CONTEXT: the block in its context, with its lines of #include first.
in_context() {
    grep '^#include' "$1" || true
    awk -v block="$1" '
        $0 == "BLOCK" { while ((getline line < block) > 0) if (line !~ /^#include/) print line; next }
        { print }' "$2"
}

fail() { # BLOCK'S PLACE, LOG
    echo "FAILED: $1"
    cat "$2"
    exit 1
}

declare -A ran skipped
shells=()
while read -r number language page line marker; do
    block=$work/blocks/$number.$language
    place=$page:$line
    if [[ $marker != - ]]; then
        echo "$place: ${marker:5:-4}"
        continue
    fi
    directory=$work/pages/$page
    mkdir -p "$directory"
    name=$(basename "$page" .md)
    context=$here/context/$name.$language
    ! grep -q '^subroutine ' "$block" || context=$here/context/routine.$language
    source=$block
    if [[ -e $context ]] && ! grep -qE '^ *(project\(|int main|program |module )' "$block"; then
        source=$work/blocks/$number-whole.$language
        in_context "$block" "$context" >"$source"
    fi
    log=$work/log
    case $language in
    fortran)
        if [[ $SCR_TEST_FORTRAN == 0 ]]; then
            skipped[Fortran]=1
            continue
        fi
        program=$(sed -n 's/^program //p' "$block")
        cp "$source" "$directory/${program:-part}.f90"
        mpifort -I"$SCR_TEST_BUILD/include" -std=f2018 -Wall -Werror -c -o "$work/object" "$directory/${program:-part}.f90" >"$log" 2>&1 ||
            fail "$place" "$log"
        ;;
    c)
        cp "$source" "$directory/sums.c"
        mpicc -I"$prefix/include" -std=c99 -Wall -Werror -c -o "$work/object" "$directory/sums.c" >"$log" 2>&1 ||
            fail "$place" "$log"
        ;;
    cpp)
        if [[ -z $MPI_CXX_COMPILER ]]; then
            skipped[C++]=1
            continue
        fi
        cp "$source" "$directory/program.cpp"
        mpicxx -I"$prefix/include" -std=c++17 -Wall -Werror -c -o "$work/object" "$directory/program.cpp" >"$log" 2>&1 ||
            fail "$place" "$log"
        ;;
    python | json)
        if ! command -v python3 >/dev/null; then
            skipped[Python]=1
            continue
        fi
        code="import json, sys; text = open(sys.argv[1]).read(); json.loads(text) if sys.argv[2] == 'json' else compile(text, sys.argv[1], 'exec')"
        python3 -c "$code" "$source" "$language" >"$log" 2>&1 || fail "$place" "$log"
        ;;
    cmake)
        if [[ $SCR_TEST_FORTRAN == 0 ]] && grep -q Fortran "$source"; then
            skipped[Fortran]=1
            continue
        fi
        cp "$source" "$directory/CMakeLists.txt"
        rm -rf "$directory/build"
        { "$SCR_TEST_CMAKE" -S "$directory" -B "$directory/build" -DCMAKE_PREFIX_PATH="$prefix" \
            -DMPI_C_COMPILER="$MPI_C_COMPILER" -DMPI_Fortran_COMPILER="$MPI_Fortran_COMPILER" &&
            "$SCR_TEST_CMAKE" --build "$directory/build"; } >"$log" 2>&1 || fail "$place" "$log"
        ;;
    make)
        if [[ $SCR_TEST_FORTRAN == 0 ]] || ! command -v make >/dev/null || ! command -v pkg-config >/dev/null; then
            skipped["Fortran, make and pkg-config"]=1
            continue
        fi
        make -C "$directory" -f "$block" >"$log" 2>&1 || fail "$place" "$log"
        ;;
    sh)
        [[ " ${shells[*]} " == *" $page "* ]] || shells+=("$page")
        { cat "$block" && echo; } >>"$directory/page.sh"
        ;;
    console | text) continue ;; # compared elsewhere: scripts/demo-picture, tests/cli
    esac
    ran[$language]=$((${ran[$language]:-0} + 1))
done <"$work/list"

# The commands of a page, in order, beside its programs; a page without a program has that of the guide.
for page in "${shells[@]}"; do
    directory=$work/pages/$page
    if ! compgen -G "$directory/*.[fc]*" >/dev/null; then
        cp "$work/pages/docs/c-guide.md/sums.c" "$directory"
        (cd "$directory" && mpicc -I"$prefix/include" -o sums sums.c -L"$libraries" -lscr -Wl,-rpath,"$libraries" -pthread -ldl -lm)
    elif grep -q mpifort "$directory/page.sh" && [[ $SCR_TEST_FORTRAN == 0 ]]; then
        skipped[Fortran]=1
        continue
    elif ! command -v pkg-config >/dev/null; then
        skipped[pkg-config]=1
        continue
    fi
    # shellcheck disable=SC2031
    (cd "$directory" && SCR_PREFIX=$directory SCR_JOB_ID=docs-${page//[!a-z]/} bash -euo pipefail page.sh) \
        >"$work/log" 2>&1 || fail "the shell blocks of $page" "$work/log"
    # As the guides say: the second run finds the checkpoint of the first.
    [[ $(grep -c "^going on after step 0$" "$work/log") -eq 1 ]] || fail "$page: the first run" "$work/log"
    if grep -q "mpiexec.*sums" <(sed 1,/mpiexec/d "$directory/page.sh"); then
        grep -q "^going on after step 100$" "$work/log" || fail "$page: the second run" "$work/log"
    fi
done

for language in "${!ran[@]}"; do
    echo "$language: ${ran[$language]}"
done
for what in "${!skipped[@]}"; do
    echo "SKIPPED: blocks that need $what, which is not here"
done
[[ ${ran[c]:-0} -gt 0 && ${ran[sh]:-0} -gt 0 ]]
