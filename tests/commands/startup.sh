#!/usr/bin/env bash
# Usage: startup.sh SCR
# Each name is the one program. It is at work after a few dozen system calls, nearly all of them
# the loader's and the run-time library's, and starts no other program unless there is a
# scheduler to be asked. Run through tests/in_empty_directory.sh.
set -euo pipefail

scr=$1
fail() {
    echo "FAILED: $*"
    exit 1
}

for name in $("$scr" --list-commands); do
    [[ $(realpath "$(dirname "$scr")/$name") == "$(realpath "$scr")" ]] ||
        fail "$name is not the program $scr"
done
echo "ok: all classic names are one program"

if ! strace -o trace true 2>/dev/null; then
    echo "SKIPPED: there is no strace here, or it may not trace"
    exit 77
fi
for name in $(compgen -e SLURM_) $(compgen -e FLUX_) $(compgen -e LSB_) $(compgen -e PBS_) \
    $(compgen -e PMIX_); do
    unset "$name"
done

# calls LIMIT ARGUMENT...: at most so many system calls, and no other program.
calls() {
    local limit=$1 count programs status=0
    shift
    strace -f -qq -s 0 -o trace "$scr" "$@" >/dev/null 2>&1 || status=$?
    ((status == 0)) || fail "scr $* ended with exit status $status"
    # What the environment has preloaded is not ours.
    count=$(wc -l <trace)
    programs=$(grep -c 'execve(' trace || true)
    ((count <= limit)) || fail "scr $* made $count system calls, more than $limit"
    ((programs == 1)) || fail "scr $* started another program"
    echo "ok: $count system calls: scr $*"
}

# This one has no other work than to print a number.
calls 90 glob-hosts --count "atlas[3,5-7,9-11]"
calls 110 --help
calls 110 index --help
mkdir .scr
# It reads the configuration files, which may name the prefix directory.
calls 190 halt --list
calls 130 params
calls 190 env --jobid
calls 190 list-dir cache
