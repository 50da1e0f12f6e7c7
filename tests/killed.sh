# Kills programs in mid-run. Source it; `fail` must be there.
# shellcheck shell=bash

# killed LOG CONDITION PROGRAM COMMAND...: runs COMMAND with its output in LOG, and kills one process of
# PROGRAM, which is an executable or a script in Python, when the words of CONDITION succeed. That process
# gets no notice. COMMAND runs in the current directory, and must not end well.
killed() {
    local log=$1 condition=$2 program=$3 directory job pid
    shift 3
    "$@" >"$log" 2>&1 &
    job=$!
    until eval "$condition"; do
        kill -0 "$job" 2>/dev/null || fail "it ended before it was killed: $(tail -n 20 "$log")"
        sleep 0.05
    done
    # By one command, so that the program does not get far meanwhile.
    for pid in $(pgrep -f -- "$program"); do
        directory=/proc/$pid
        if [[ $(readlink "$directory/cwd") == "$PWD" ]] &&
            { [[ $(readlink "$directory/exe") == "$program" ]] || tr '\0' ' ' <"$directory/cmdline" |
                grep -q "^[^ ]*python[^ ]* $program"; }; then
            kill -9 "$pid"
            break
        fi
    done 2>/dev/null
    ! wait "$job" || fail "nothing was killed: $(tail -n 20 "$log")"
}
