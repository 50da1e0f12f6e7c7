#!/usr/bin/env bash
# Usage: answers.sh LIBSCR.SO MPI DIRECTORY INCLUDE ARCHIVE EARLY LOADS LAUNCHER...
# What SCR_Init says in a process without an MPI that can be used. MPI is the library of a real one, DIRECTORY has those
# that are made of mpi.c. EARLY (early.c) and LOADS (loads.c) call SCR. Run through tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 mpi=$2 directory=$3 include=$4 archive=$5 early=$6 loads=$7
shift 7
launcher=("$@")

fail() {
    echo "FAILED: $1"
    [[ ! -f log ]] || cat log
    exit 1
}

# refused TITLE WORDS COMMAND...: SCR_Init has failed, with these words.
refused() {
    local title=$1 words=$2 status=0
    shift 2
    timeout 120 "$@" >log 2>&1 || status=$?
    [[ $status -eq 1 ]] || fail "$title: exit status $status"
    grep -Eq "ERROR: .*SCR_Init: .*$words" log || fail "$title: not these words: $words"
    echo "ok: $title"
}

refused "no MPI" "this process has loaded no MPI: .*\(SCR-120\)" "$loads" "$scr"
refused "an old MPI" "$directory/libmpi_old.so is MPI 2.2, but SCR needs MPI 3.0 or newer \(SCR-120\)" \
    "$loads" "$directory/libmpi_old.so" "$scr"
refused "an unknown MPI" "Strange MPI 7.1 \($directory/libmpi_unknown.so\) is of no family of MPIs that SCR knows" \
    "$loads" "$directory/libmpi_unknown.so" "$scr"
refused "a function is missing" "MPICH 4.9 \($directory/libmpi_poor.so\) has no MPI_[A-Za-z_]+, which SCR needs" \
    "$loads" "$directory/libmpi_poor.so" "$scr"
refused "two MPIs" "this process has loaded two MPIs, .*/libmpi[^ ]* and $directory/libmpi_poor.so: " \
    "$loads" "$mpi" "$directory/libmpi_poor.so" "$scr"

# A program that is linked statically cannot be seen into.
cat >static.c <<'END'
#include <scr.h>
int main(void) { return SCR_Init(); }
END
if cc -static -I"$include" static.c "$archive" -lm -lpthread -ldl -o static >log 2>&1; then
    refused "a static program" "the program is linked statically, .*SCR_MPI=linked" ./static
else
    echo "a static program: not tested, since none can be linked here: $(tail -1 log)"
fi

# Before MPI_Init it fails, and afterwards it does not.
"${launcher[@]}" 2 "$early" >log 2>&1 || fail "before MPI_Init"
[[ $(grep -c "SCR_Init: MPI is not initialised; call MPI_Init first" log) -eq 1 ]] || fail "before MPI_Init: not one message"
rm -rf .scr
echo "ok: before MPI_Init"

"${launcher[@]}" 2 "$loads" "$mpi" "$scr" >log 2>&1 || fail "plugins"
[[ -d .scr ]] || fail "plugins: the prefix directory is not used"
echo "ok: MPI and SCR as plugins"
