#!/usr/bin/env bash
# Usage: ground.sh CHURN LAUNCHER...
# Directories that will not do: a full cache, a prefix directory that cannot be written, a cache
# base that is a symbolic link or somebody else's. Calls return an error, one message says why,
# the program goes on, and what was there before stays. Run through tests/in_empty_directory.sh.
set -euo pipefail

# shellcheck source=tests/own_mounts.sh
source "$(dirname "${BASH_SOURCE[0]}")/../own_mounts.sh"

program=$1
shift
launcher=("$@")
# shellcheck source=tests/mpi/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
record=$PWD/../record

# said PATTERN: exactly one line of SCR's errors has it.
said() {
    local count
    count=$(grep -E "^SCR v[0-9.]+ (ERROR|ABORT)" log | grep -Ec "$1" || true)
    [[ $count -eq 1 ]] || fail "$count messages like $1"
}

fresh() {
    rm -rf ./.scr churn.* "$nodes"/*/cache/* "$nodes"/*/cntl/*
    : >"$record"
    complete=0
}

export SCR_CACHE_BYPASS=0 SCR_FLUSH=0 SCR_CACHE_SIZE=2
mkdir -p "$nodes/n0/cache" "$nodes/n1/cache"

# Full: datasets grow until one does not fit; those before it stay, also for the next start.
mount -t tmpfs -o size=8m full "$nodes/n1/cache"
fresh
begin "n0 n1" "$program" "$record" count 12 bytes 200000 grow
bury || fail "the program did not go on when the cache was full"
lost=$(grep -c "^churn: could not" log || true)
((lost > 0 && lost < 12)) || fail "$lost of 12 datasets did not fit"
[[ $(grep -Ec "^SCR v[0-9.]+ ERROR" log) -eq $lost ]] || fail "not one message for each"
grep -Ei "ERROR.*(No space left|valid=0|is not started: STORE=)" log >/dev/null || fail "no message says why"
complete=$(tail -n 1 "$record")
begin "n0 n1" "$program" "$record" count 0 bytes 200000 grow
bury || fail "the next start"
judge || fail "the dataset before the disk was full is lost"
umount "$nodes/n1/cache" # and the directory below it is empty
echo "ok: full cache, $lost datasets did not fit, $complete stayed"

# Full in the prefix directory: the flush fails, the cache has it.
mkdir small
mount -t tmpfs -o size=1m small small
fresh
mkdir -p small/run
(
    cd small/run
    export SCR_PREFIX=$PWD SCR_FLUSH=6
    begin "n0 n1" "$program" "$record" count 6 bytes 400000
    bury || fail "the program did not go on when the prefix directory was full"
    grep -q "^churn: could not complete 6" log || fail "the flush of dataset 6 did not fail"
    grep -q "^churn: ended badly" log || fail "the flush at the end did not fail"
    [[ $(grep -c "^SCR .*ERROR.*churn.6.*No space left" log) -eq 2 ]] || fail "not one message each"
    # Only the record of the program does not know that the cache has it.
    echo 6 >>"$record"
    complete=6
    SCR_FLUSH=0 begin "n0 n1" "$program" "$record" count 0 bytes 400000
    bury || fail "the next start"
    judge || fail "what could not be flushed is lost"
    grep -q "^churn: restarted from 6$" log || fail "what could not be flushed is lost"
)
umount small
echo "ok: full prefix directory"

# Read-only prefix directory: SCR cannot start, which it says, and the program decides.
fresh
mkdir -p fixed
mount -t tmpfs -o ro fixed fixed
(
    cd fixed
    cp /dev/null ../log
    SCR_PREFIX=$PWD "${launcher[@]}" 2 "$here/on_node.sh" "$nodes" "n0 n1" "$program" "$record" \
        count 1 >../log 2>&1 </dev/null && exit 1
    exit 0
) || fail "SCR started without a place to write"
said "Read-only file system"
umount fixed
echo "ok: read-only prefix directory"

# What is below the cache base must be a directory of ours, not what others have put there. (The
# base itself is the user's choice, and may be a symbolic link.)
fresh
mkdir -p elsewhere
ln -s "$PWD/elsewhere" "$nodes/n1/cache/$(id -un)"
begin "n0 n1" "$program" "$record" count 1
bury && fail "a symbolic link in the cache was followed"
said "symbolic link"
rm "$nodes/n1/cache/$(id -un)"
[[ -z $(find elsewhere -type f) ]] || fail "something was written through a symbolic link"
mkdir "$nodes/n1/cache/$(id -un)"
if chown 12345 "$nodes/n1/cache/$(id -un)" 2>/dev/null; then
    begin "n0 n1" "$program" "$record" count 1
    bury && fail "somebody else's directory was used"
    said "belongs to user 12345"
fi
echo "ok: directories that are not ours"
