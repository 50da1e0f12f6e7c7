# Looks at the records of an event log. Source it; `fail` must be there.
# shellcheck shell=bash

# of_records JSON: type and dataset of each record that `scr log --json` has written there.
of_records() {
    sed -nE 's/.*"type":"([A-Z_]*)".*/\1 &/p' "$1" | sed -E 's/ .*"dataset":([0-9]+).*/ \1/; s/ [^0-9].*//'
}

# none_twice FILE: no event of a dataset is there twice, of what of_records has written for one run.
none_twice() {
    local twice
    twice=$(grep -E ' [0-9]+$' "$1" | sort | uniq -d)
    [[ -z $twice ]] || fail "twice in one run: $twice"
}

# interval_of young|daly <LOG: the best interval, computed by other means than those of `scr ckpt-interval`.
# Only for a log whose checkpoints are not flushed.
interval_of() {
    awk -v model="$1" '
        function seconds() { return match($0, /secs=[0-9.]+/) ? substr($0, RSTART + 5, RLENGTH - 5) : 0 }
        / event=START/ { if (running) failures++; running = 1 }
        / event=(END|HALT)/ { running = 0 }
        / event=CHECKPOINT_END/ { count++; checkpoints += seconds() }
        / event=(COMPUTE_END|RESTART_SUCCESS|RESTART_FAIL)/ || / xfer=FETCH/ { others += seconds() }
        END {
            failures += running
            if (failures < 1) failures = 1
            cost = checkpoints / count
            between = (checkpoints + others) / failures
            first = sqrt(2 * cost * between)
            if (model == "young") best = first
            else if (cost >= 2 * between) best = between
            else best = first * (1 + sqrt(cost / (2 * between)) / 3 + cost / (18 * between)) - cost
            best = int(best)
            print best < 1 ? 1 : best
        }'
}

# of_failure KEY <JSON: its value for the first failure that `scr report --json` has; nothing if it is not known.
of_failure() {
    sed -n '/^  "failures": \[/,/^  \]/p' | sed -nE "s/^ *\"$1\": ([0-9.]+),?$/\1/p" | sed -n 1p
}

# lost_by_hand ID <LOG: seconds from the end of this checkpoint to the end of the run, which is the last one
# of the log. A run that is killed as a checkpoint becomes complete may not write its end: then from its
# beginning. Nothing if the log has neither.
lost_by_hand() {
    local log end checkpoint event
    log=$(cat)
    end=$(grep event=RUN_END <<<"$log" | tail -n 1 | cut -d: -f1-3)
    for event in CHECKPOINT_END CHECKPOINT_START; do
        checkpoint=$(grep "event=$event.* dset=$1," <<<"$log" | tail -n 1 | cut -d: -f1-3) || true
        [[ -z $checkpoint ]] || break
    done
    [[ -z $checkpoint ]] || echo $(($(date -d "$end" +%s) - $(date -d "$checkpoint" +%s)))
}

# about SECONDS HAND: they are the same within the resolution of the log, a second.
about() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a >= 0 && a > b - 1 && a < b + 1) }'
}

# is_lost_work SECONDS HAND: what the report says is what is counted by hand. Both are empty if the kill took
# all records of that checkpoint: then nobody can tell.
is_lost_work() {
    if [[ -z $2 ]]; then
        [[ -z $1 ]]
    else
        [[ $2 -ge 0 ]] && about "$1" "$2"
    fi
}
