#!/usr/bin/env bash
# Usage: calls.sh STRIDE CHURN LAUNCHER...
# kill -9 of a rank at a system call that changes the file system: every STRIDE-th of those that
# a start, a checkpoint with its flush, and the end make. The next start finds the newest
# completed dataset or a newer one, whole. Run through tests/in_empty_directory.sh.
set -euo pipefail

stride=$1 program=$2
shift 2
launcher=("$@")
# shellcheck source=tests/mpi/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

calls=openat,mkdir,mkdirat,write,pwrite64,writev,rename,renameat,renameat2,unlink,unlinkat,rmdir
calls+=,fsync,fdatasync,ftruncate,fchmod,chmod,fchmodat,utimensat,copy_file_range,link,linkat
if ! strace -o /dev/null -e trace=none true 2>/dev/null; then
    echo "SKIPPED: strace is missing or may not trace here"
    exit 77
fi
top=$(cd .. && pwd)
record=$top/record
: >"$record"

# go "NODE..." RANK STRACE-OPTION...: one run in which a rank is traced.
go() {
    local placement=$1 rank=$2
    shift 2
    begin "$placement" "$here/traced.sh" "$rank" "$*" "$program" "$record" count 1 bytes 3000
}

# points: of the last trace, "call n" for each nth such call of the main thread that changes
# something below the test's directory.
points() {
    awk -v top="$top" '
        NR == 1 { main = $1 }
        $1 == main && match($2, /^[a-z0-9_]+\(/) {
            call = substr($2, 1, RLENGTH - 1)
            n = ++count[call]
            if (index($0, top) == 0 || (call == "openat" && $0 !~ /O_CREAT|O_TRUNC/)) next
            print call, n
        }' "$top/trace"
}

started=$(date +%s) kills=0 missed=0
export SCR_CACHE_SIZE=2 SCR_FLUSH=1
for way in "0 1" "0 2" "1 2"; do
    read -r bypass ranks <<<"$way"
    export SCR_CACHE_BYPASS=$bypass
    placement=n0
    ((ranks == 1)) || placement="n0 n1"
    rm -rf "$nodes" ./.scr churn.*
    : >"$record"
    complete=0
    for ((rank = 0; rank < ranks; rank++)); do
        # The first run makes what the second has to delete or to restart from.
        for _ in 1 2 3; do
            go "$placement" "$rank" -y -o "$top/trace" -e "trace=$calls"
            bury || fail "a run that is only traced"
            judge || fail "a run that is only traced"
        done
        points >"$top/points"
        [[ $(wc -l <"$top/points") -gt 10 ]] || fail "too few calls were seen"
        while read -r call n; do
            go "$placement" "$rank" -o /dev/null -e "trace=$call" \
                -e "inject=$call:signal=SIGKILL:when=$n"
            if bury; then missed=$((missed + 1)); else kills=$((kills + 1)); fi
            judge || fail "bypass $bypass, rank $rank of $ranks was killed at $call number $n"
        done < <(awk -v stride="$stride" 'NR % stride == 1 % stride' "$top/points")
        echo "bypass $bypass, rank $rank of $ranks: $(wc -l <"$top/points") calls"
    done
    begin "$placement" "$program" "$record" count 1 bytes 3000
    bury || fail "the last start failed"
    judge || fail "the last start"
done
((kills > missed)) || fail "$missed of $((kills + missed)) runs ended before the call"
echo "$kills kills in $(($(date +%s) - started)) s: $(judgement)"
