#!/usr/bin/env bash
# Usage: indexed_churn.sh SECONDS INDEXED_CHURN LAUNCHER...
# Random jobs whose fields go by index lists and bags, for so many seconds: each has some runs, on one to five ranks, of
# which most are killed at a random moment. Between them nodes are lost, and files in the cache and in the prefix directory
# are damaged, removed, or replaced by those of another checkpoint; some caches are too small. A restart gives exactly what
# a complete checkpoint has: the newest one, unless something was damaged. SCR_TEST_SEED is the number of the first job,
# and repeats its choices, as far as the machine plays along; SCR_TEST_JOBS says how many there are, whatever time it
# takes. Run through tests/in_empty_directory.sh.
set -euo pipefail

# shellcheck source=tests/own_mounts.sh
source "$(dirname "${BASH_SOURCE[0]}")/../own_mounts.sh"

seconds=$1 program=$2 small=0 what=none
shift 2
launcher=("$@")
# shellcheck source=tests/mpi/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
record=$(dirname "$PWD")/record
most=${SCR_TEST_JOBS:-0} first=${SCR_TEST_SEED:-$(($(date +%s%N) / 1000000 % 1000000000))}
settings=(SCR_COPY_TYPE SCR_CACHE_SIZE SCR_CACHE_BYPASS SCR_FLUSH SCR_FLUSH_ASYNC SCR_USE_CONTAINERS SCR_PREFIX_SIZE
    SCR_CACHE_MAPPED SCR_CRC_ON_FLUSH SCR_FETCH_BYPASS SCR_SET_SIZE)
export "${settings[@]}"

# Numbers in the generator's order: the choices of a job do not depend on how long anything takes.
pick() { # WORD...
    local words=("$@")
    picked=${words[RANDOM % $#]}
}

choose() { # NAME WORD...
    pick "${@:2}"
    printf -v "$1" %s "$picked"
}

# The nodes of the ranks of a run: so many ranks, on one to so many nodes.
place() {
    local rank on
    pick 1 2 3 3 4 4 5
    ranks=$picked
    on=$((RANDOM % ranks + 1))
    placed=
    for ((rank = 0; rank < ranks; rank++)); do placed+="n$((rank * on / ranks)) "; done
}

# draw JOB: what is the same in all runs of a job.
draw() {
    RANDOM=$1
    choose SCR_COPY_TYPE SINGLE PARTNER XOR XOR RS
    choose SCR_CACHE_SIZE 1 2 2 2 3
    choose SCR_CACHE_BYPASS 0 0 0 1
    choose SCR_FLUSH 0 1 2
    choose SCR_FLUSH_ASYNC 0 0 1
    choose SCR_USE_CONTAINERS 0 1
    choose SCR_PREFIX_SIZE 0 0 2
    choose SCR_CACHE_MAPPED 0 1 1
    choose SCR_CRC_ON_FLUSH 0 1 1
    choose SCR_FETCH_BYPASS 0 1
    choose SCR_SET_SIZE 2 8
    choose small 0 0 0 1
    place
}

# finish: waits for the end of the run.
finish() {
    local patience=900
    until gone "$run"; do
        if ((--patience == 0)); then
            mapfile -t pids < <(processes)
            for pid in "${pids[@]}"; do
                timeout 20 gdb -p "$pid" -batch -nx -ex "thread apply all backtrace 20" 2>&1 | grep -E '^(#|Thread)' || true
            done
            bad "it hangs"
        fi
        sleep 0.1
    done
    bury
}

bad() {
    local name
    echo "SCR_TEST_SEED=$job: run $each on $placed: $*"
    for name in "${settings[@]}"; do echo "  $name=${!name}"; done
    echo "  small=$small lost=$lost damaged=$damaged complete=$complete${before:+ before: $before}"
    fail "$*"
}

# The names of files below a directory that a restart may read, in an order that does not depend on the machine.
files() {
    find "$@" -type f ! -name 'pid.*' ! -name '*.lock' 2>/dev/null | LC_ALL=C sort
}

# Changes one file in the cache or in the prefix directory.
damage() {
    local all=() file other size at
    pick cache cache prefix
    case $picked in
    cache) mapfile -t all < <(files "$nodes"/*/cache "$nodes"/*/cntl) ;;
    *) mapfile -t all < <(files mesh.* .scr) ;;
    esac
    ((${#all[@]} > 0)) || return 0
    file=${all[RANDOM % ${#all[@]}]}
    size=$(stat -c %s "$file")
    at=$(((RANDOM * 32768 + RANDOM) % (size + 1)))
    pick flip flip flip cut cut gone other other longer
    case $picked in
    flip)
        ((at < size)) || at=0
        printf '%b' "\\x$(printf '%02x' $((RANDOM % 256)))" | dd of="$file" bs=1 seek=$at conv=notrunc status=none || true
        ;;
    cut) truncate -s $at "$file" ;;
    gone) rm "$file" ;;
    other)
        # What has the same name elsewhere, or is of another rank; a part of it if the cache is full.
        mapfile -t all < <(printf '%s\n' "${all[@]}" | grep -F "${file##*.}" || true)
        other=${all[RANDOM % ${#all[@]}]}
        [[ $other == "$file" ]] || cp "$other" "$file" 2>/dev/null || true
        ;;
    longer) printf 'more' >>"$file" || true ;;
    esac
    damaged=1
    before+="$picked ${file#"$(dirname "$PWD")"/} at $at of $size; "
}

# A file system that is too small for some checkpoints, in the place of a node's cache.
narrow() {
    mkdir -p "$nodes/n0/cache"
    mount -t tmpfs -o size=$((RANDOM % 6 + 1))m narrow "$nodes/n0/cache"
}

# Whether what is complete must be found: the node that is lost is the only one that is missing, and can be rebuilt.
must_be_found() {
    local node there=" $placed" missing=0
    ((damaged == 0)) || return 1
    # What was in a full cache of one checkpoint may go before the next one is complete.
    ((SCR_CACHE_SIZE > 1 || SCR_CACHE_BYPASS == 1)) || return 1
    ((SCR_CACHE_BYPASS == 0)) || return 0
    # So may what stood in the way of one that did not fit.
    ((small == 0)) || return 1
    for node in $(tr ' ' '\n' <<<"$had" | sort -u); do
        [[ $there == *" $node "* && $lost != *"$node "* ]] || missing=$((missing + 1))
    done
    case $missing in
    0) return 0 ;;
    1) [[ $SCR_COPY_TYPE != SINGLE && $(tr ' ' '\n' <<<"$had" | sort -u | wc -w) -gt 1 ]] ;;
    *) return 1 ;;
    esac
}

exact=0 older=0 nothing=0 refused=0 told=0
# Looks at what a run said.
judge_run() { # KILLED
    local from
    if grep -Eq "is not what was written|panicked|Segmentation|SIG(SEGV|BUS)|signal (7|11)[^0-9]|EXIT CODE: (7|11|139)" log; then
        bad "wrong values, or the library has ended the program"
    fi
    # UCX aborts a process that copies from the memory of one that was just killed.
    if grep -Eq "SIGABRT|signal 6[^0-9]|EXIT CODE: (6|134)" log && ! { (($1 == 1)) && grep -q "process_vm_.*No such process" log; }; then
        bad "the library has ended the program"
    fi
    from=$(sed -n 's/^churn: restarted from \([0-9]*\).*/\1/p' log)
    if [[ -z $from ]]; then
        if grep -q "^churn: could not" log; then
            grep -q "^SCR v.* \(ERROR\|ABORT\)" log || bad "no message says why"
            refused=$((refused + 1))
            must_be_found && bad "it could not restore what was complete"
            # The next run begins from nothing.
            return 1
        fi
        (($1 == 1)) || bad "it ended before it told from what it restarted"
        told=$((told + 1))
        # It may have been about to rebuild what was lost.
        [[ -z $lost && $had == "$placed" ]] || damaged=1
        had+=$placed
        return 0
    fi
    if must_be_found; then
        ((from >= complete)) || bad "it restarted from $from"
        exact=$((exact + 1))
    elif ((from == 0)); then
        nothing=$((nothing + 1))
    else
        older=$((older + 1))
    fi
    if ((from > 0)); then
        grep -qx "$from" attempted || bad "it restarted from $from, which was never written"
    fi
    complete=$from had=$placed lost=
    return 0
}

jobs=0 runs=0 began=$(date +%s)
tell() {
    echo "SCR_TEST_SEED=$first: $jobs jobs, $runs runs: $exact found what was complete, $older another one after damage," \
        "$nothing none, $refused said why they could not, $told were killed before they told"
}

for ((job = first; most ? jobs < most : $(date +%s) - began < seconds; job++)); do
    draw "$job"
    mountpoint -q "$nodes/n0/cache" && umount "$nodes/n0/cache"
    rm -rf "$nodes" ./.scr mesh.* attempted "$record"
    : >"$record"
    : >attempted
    complete=0 next=1 had='' before='' damaged=0 lost=''
    ((small == 0)) || narrow
    for ((each = 1; each <= 5; each++)); do
        choose killed 1 1 0
        count=$((killed ? 1000000 : 3))
        ((each < 5)) || killed=0 count=2
        begin "$placed" "$program" "$job" "$each" "$next" "$count" "$record"
        moment=$((RANDOM % 900))
        victim=$RANDOM
        if ((killed)); then
            patience=4500
            if ((moment % 3)); then
                until grep -Esq "^churn: (restarted from|could not)" log || gone "$run" || ((--patience == 0)); do sleep 0.02; done
            else
                until [[ $(processes | wc -l) -eq $ranks ]] || gone "$run" || ((--patience == 0)); do sleep 0.02; done
            fi
            sleep "0.$(printf '%03d' $moment)"
            mapfile -t pids < <(processes)
            kill -9 "${pids[victim % ranks]}" 2>/dev/null || true
        fi
        status=0
        finish || status=$?
        runs=$((runs + 1))
        sed -n 's/^churn: begins //p' log >>attempted
        ((status == 0 || killed)) || grep -q "^churn: could not start" log || bad "it ended with status $status"
        if judge_run "$killed"; then
            if [[ -s $record ]]; then
                complete=$(tail -n 1 "$record") had=$placed damaged=0 lost='' before=
            fi
            : >"$record"
        else
            # A program that could not restore writes nothing.
            [[ ! -s $record ]] || bad "it wrote a checkpoint though it could not restore"
            break
        fi
        next=$(($(printf '0\n' | sort -n attempted - | tail -n 1) + 1))
        choose what none none node file file files
        case $what in
        node)
            pick n0 n1 n2
            if ! mountpoint -q "$nodes/$picked/cache"; then
                rm -rf "${nodes:?}/$picked"
                lost+="$picked "
            fi
            ;;
        file) damage ;;
        files) damage && damage && damage ;;
        esac
        pick same same other
        [[ $picked == same ]] || place
    done
    jobs=$((jobs + 1))
    ((jobs % 20)) || tell
done
mountpoint -q "$nodes/n0/cache" && umount "$nodes/n0/cache"
tell
