#!/usr/bin/env bash
# Usage: modes.sh MODES CHURN LAUNCHER...
# Where SCR is switched off, used too early or too late, or finds neither user, home directory,
# job nor scheduler in the environment. Run through tests/in_empty_directory.sh.
set -euo pipefail

modes=$1 churn=$2
shift 2
fail() {
    echo "FAILED: $*"
    cat log
    exit 1
}

export MY_NAME=mine BASE=/l
for ranks in 1 3; do
    "$@" "$ranks" "$modes" early >log 2>&1 || fail "calls too early or too late, $ranks ranks"
    "$@" "$ranks" "$modes" config >log 2>&1 || fail "SCR_Config, $ranks ranks"
    rm -rf ./.scr scr.dataset.* "${SCR_CACHE_BASE:?}"/* "${SCR_CNTL_BASE:?}"/*

    SCR_ENABLE=0 SCR_DEBUG=0 "$@" "$ranks" "$modes" disabled >log 2>&1 || fail "SCR_ENABLE=0, $ranks ranks"
    rm log
    # The directory of the file that the program routes in an output phase, as if SCR were enabled.
    rmdir some || fail "SCR_ENABLE=0 made no directory"
    [[ -z $(find . "$SCR_CACHE_BASE" "$SCR_CNTL_BASE" -mindepth 1) ]] ||
        fail "SCR_ENABLE=0 left something"
done
echo "ok: too early, too late, switched off, SCR_Config"

# Only what the launcher itself needs is left of the environment.
keep=()
for name in $(compgen -e OMPI_ || true) $(compgen -e PRTE_ || true); do
    keep+=("$name=${!name}")
done
for bypass in 1 0; do
    for way in first second; do
        env -i PATH="$PATH" "${keep[@]}" SCR_CACHE_BASE="$SCR_CACHE_BASE" \
            SCR_CNTL_BASE="$SCR_CNTL_BASE" SCR_CACHE_BYPASS=$bypass SCR_FLUSH=0 \
            "$@" 2 "$churn" "$PWD/record" count 2 >log 2>&1 || fail "a bare environment, $way run"
    done
    grep -q "^churn: restarted from 2$" log || fail "the second run did not find the first"
    rm -rf ./.scr churn.* record
done
[[ -n $(find "$SCR_CACHE_BASE" -path '*/scr.prefix-*' -type d) ]] ||
    fail "the job id does not come from the prefix directory"
echo "ok: a bare environment"
