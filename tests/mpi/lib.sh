# Runs of an MPI program on emulated nodes, to be struck in mid-run. Source it, in the prefix
# directory; the array `launcher` must hold the MPI launcher up to and with its option for the
# number of ranks.
# shellcheck shell=bash
# shellcheck disable=SC2154 # launcher

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
nodes=$(dirname "$PWD")/nodes
run=

fail() {
    echo "FAILED: $*"
    if [[ -f log ]]; then
        echo "--- the end of the last log:"
        tail -n 40 log
    fi
    exit 1
}

# begin "NODE..." PROGRAM ARGUMENT...: starts it in the background, one rank for each name, with
# its output in ./log.
begin() {
    local names
    read -ra names <<<"$1"
    mkdir -p "$nodes"
    rm -f "$nodes"/pid.* log
    "${launcher[@]}" "${#names[@]}" "$here/on_node.sh" "$nodes" "$@" >log 2>&1 </dev/null &
    run=$!
}

# wait_for PATTERN: until the log has such a line; status 1 if the run is over without one.
wait_for() {
    while ! grep -q "$1" log 2>/dev/null; do
        if ! kill -0 "$run" 2>/dev/null; then
            grep -q "$1" log 2>/dev/null
            return
        fi
        sleep 0.02
    done
}

# Processes of the run: of one node, or of all.
processes() { # [NODE]
    cat "$nodes/pid.${1:+$1.}"* 2>/dev/null
}

# strike [NODE]: kills the processes of a node, or all, and waits until the run is gone.
# Returns the status of the run.
strike() {
    local pids
    mapfile -t pids < <(processes "$@")
    kill -9 "${pids[@]}" 2>/dev/null || fail "there was nothing left to kill"
    bury
}

# A process that is not there, or that only nobody has asked after yet (a zombie), is gone.
gone() {
    ! grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$1/status"
}

# Whether a process of the run is left.
alive() {
    local pid
    for pid in $(processes); do
        gone "$pid" || return 0
    done
    return 1
}

# Waits for the launcher, and sees to it that it leaves no process of the run behind. A launcher that waits for ranks that
# are gone gets a minute. The system may give the number of a rank that is gone to another process.
bury() {
    local pid patience=600 status=0 ended=
    until gone "$run"; do
        if [[ $(processes) != "$ended" ]] && alive; then
            patience=600
        else
            ended=$(processes)
            if ((--patience == 0)); then
                echo "the launcher waited for ranks that were gone" >&2
                kill -9 "$run"
            fi
        fi
        sleep 0.1
    done
    wait "$run" || status=$?
    run=
    for pid in $(processes); do
        patience=100
        until gone "$pid"; do
            if ((--patience == 0)); then
                kill -9 "$pid" 2>/dev/null || true
                patience=100
            fi
            sleep 0.05
        done
    done
    return "$status"
}

# judge: what a run of churn has restarted from must not be older than what was complete before
# it, by $record or because an earlier run could restart from it. Counts; status 1 if not so.
equal=0 newer=0 early=0 complete=0
judge() {
    local from
    from=$(sed -n 's/^churn: restarted from //p' log)
    if grep -q "is not what was written" log; then
        echo "wrong bytes"
        return 1
    elif [[ -z $from ]]; then
        early=$((early + 1)) # killed before it could tell
    elif ((from < complete)); then
        echo "restarted from $from, though $complete was complete"
        return 1
    elif ((from == complete)); then
        equal=$((equal + 1))
    else
        newer=$((newer + 1))
    fi
    complete=$(printf '%s\n' "$complete" "${from:-0}" "$(tail -n 1 "$record")" | sort -n | tail -n 1)
}

judgement() {
    echo "$((equal + newer + early)) starts, $equal found the newest completed dataset, $newer a" \
        "newer one, $early were killed before they told; $complete datasets in all"
}

trap '[[ -z $run ]] || { kill -9 $(processes) 2>/dev/null; kill "$run" 2>/dev/null; }; true' EXIT
