#!/usr/bin/env bash
# Usage: rehearse.sh SCR PROGRAM HEAT2D LAUNCHER...
# scr rehearse --repair: a program that repairs its session goes on in the same launch, and one that does not ends with its
# rank. Run through tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 program=$2 heat=$3
shift 3
export SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_COPY_TYPE=XOR SCR_FLUSH=0

# rehearse STATUS PROGRAM OPTION...
rehearse() {
    local wanted=$1 which=$2 status=0 launcher
    shift 2
    launcher=$*
    rm -rf stage
    "$scr" rehearse --launcher "$launcher" --dir stage --ranks 4 --nodes 2 --compare field --kill rank@2 "${options[@]}" -- \
        "$which" size 64 steps 120 every 20 delay 10 output field >log 2>&1 || status=$?
    [[ $status == "$wanted" ]] || { echo "FAILED: exit status $status, not $wanted" && cat log && exit 1; }
}

# told PATTERN...: what the report says.
told() {
    local pattern
    for pattern; do grep -q -- "$pattern" log || { echo "FAILED: it does not say: $pattern" && cat log && exit 1; }; done
}

options=(--repair)
rehearse 0 "$program" "$@"
told '^repair: rank . killed after heat2d\.[0-9]*  *heat2d\.[0-9]* .* recovered$' \
    '^the launch after the kill: session heat2d went on from heat2d\.' '^RECOVERED$'
echo "ok: a program that repairs its session goes on"

rehearse 1 "$heat" "$@"
told '^repair: rank . killed after .* not recovered: the launch ended with the rank$' \
    '^- repaired: the launch ended with the rank that was killed' '^NOT RECOVERED$'
echo "ok: a program that ends with its rank is told"

options=()
rehearse 0 "$heat" "$@"
told '^repair in the running job .* not tried: the program does not call SCR_Session_repair (docs/sessions.md)$'
rehearse 0 "$program" "$@"
told '^repair in the running job .* not tried: --repair tries it$'
echo "ok: why it was not tried is told"
