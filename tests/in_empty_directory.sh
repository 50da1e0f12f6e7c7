#!/usr/bin/env bash
# Usage: in_empty_directory.sh DIRECTORY COMMAND...
# Runs a command in a new directory which is also SCR's prefix, cache and control base, so that
# no test sees what another left behind, and none touches the user's jobs. One that hangs tells
# where before CTest's limit ends it without a word.
set -euo pipefail

directory=$1
shift
if [[ -v SCR_TEST_LONG && -v SCR_TEST_UNTIL && $(date +%s) -ge $SCR_TEST_UNTIL ]]; then
    echo "SKIPPED: a long test, for which \`scripts/test --minutes\` had no time left"
    exit 77
fi
rm -rf "$directory"
mkdir -p "$directory/prefix" "$directory/cache" "$directory/cntl"
cd "$directory/prefix"

# A setting of the surrounding job must not change what is tested.
for name in $(compgen -e SCR_ || true); do
    [[ $name == SCR_TEST_* ]] || unset "$name"
done
export SCR_PREFIX=$PWD SCR_CACHE_BASE=$directory/cache SCR_CNTL_BASE=$directory/cntl
export SCR_JOB_ID=test

# tell: what the processes of the test wait for.
tell() {
    local file cwd pid
    echo "HANGS: no end after nine minutes."
    for file in "$directory/prefix/log" "${SCR_TEST_CLUSTER:-/nonexistent}"/log/*; do
        [[ ! -f $file ]] || { echo "--- the end of $file:" && tail -n 40 "$file"; }
    done
    [[ ! -v SCR_TEST_CLUSTER ]] ||
        SLURM_CONF=$SCR_TEST_CLUSTER/slurm.conf timeout 10 scontrol show step || true
    echo "--- all processes:"
    ps --ppid 2 -p 2 --deselect -o pid,ppid,stat,wchan:20,etime,args --forest |
        cut -c 1-200
    command -v gdb >/dev/null || return 0
    for cwd in /proc/[0-9]*/cwd; do
        pid=${cwd#/proc/} pid=${pid%/cwd}
        [[ $(readlink "$cwd") == "$directory"* && $(<"/proc/$pid/comm") != @(bash|sleep|tail|timeout) ]] ||
            continue
        echo "--- stacks of $pid, $(<"/proc/$pid/comm"):"
        timeout 10 gdb -p "$pid" -batch -nx -ex "thread apply all backtrace 24" 2>&1 |
            grep -E '^(#|Thread)' || true
    done
}

# It ends with the test, which $$ will be, and is not one of its children.
watch() {
    local ended=0
    timeout 540 tail --pid=$$ -s 0.05 -f /dev/null || ended=$?
    [[ $ended -ne 124 ]] || tell
}
# All cases of a script, of which one run tries a sample, may take longer.
[[ -n ${SCR_TEST_ALL:-} ]] || (watch </dev/null 2>&1 &)
exec "$@" </dev/null
