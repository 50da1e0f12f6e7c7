#!/usr/bin/env bash
# Usage: signals.sh SIGNALS LAUNCHER...
# A signal to one process makes all ranks stop, whether the program has a handler of its own or
# not; by default SCR touches none. Run through tests/in_empty_directory.sh.
set -euo pipefail

program=$1
shift
# shellcheck disable=SC2034 # used by lib.sh
launcher=("$@")
# shellcheck source=tests/mpi/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

begin "n0 n1 n2" "$program" off
bury || fail "SCR does something about signals that nobody asked for"
echo "ok: none by default"

# strikes MODE SIGNAL NODE: the signal to the process of one node, or to the launcher, ends the run
# in order.
strikes() {
    local target rank='[0-2]'
    begin "n0 n1 n2" "$program" "$1"
    wait_for "^signals: ready" || fail "$1: the program did not start"
    if [[ $3 == launcher ]]; then
        target=$run
    else
        target=$(processes "$3") rank=${3#n}
    fi
    kill -s "$2" "$target" || fail "$1: there was nothing to signal"
    bury || fail "SIG$2 to $3, $1"
    grep -q "^signals: stopped" log || fail "SIG$2 to $3, $1: it did not stop"
    grep -q "the job should stop: SIG$2 came to rank $rank (SCR-401)$" log || fail "$1: it does not say why"
}

export SCR_HALT_SIGNALS="USR1 usr2,TERM"
for node in n0 n2; do
    strikes own USR1 "$node"
    strikes own USR2 "$node"
    strikes term TERM "$node"
    strikes term USR1 "$node"
    echo "ok: to the process on $node"
done
strikes term USR1 launcher
echo "ok: to the launcher, which passes it on"
