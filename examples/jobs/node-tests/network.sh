#!/bin/sh
# Test of a node for SCR_NODE_TESTS: each port of the fast network is up (InfiniBand, Omni-Path, Slingshot).
# PORTS: how many there must be (default: at least one).
up=0
for state in /sys/class/infiniband/*/ports/*/state /sys/class/cxi/*/device/port/link_state; do
    [ -r "$state" ] || continue
    case $(cat "$state") in
    *ACTIVE* | *up*) up=$((up + 1)) ;;
    *)
        echo "$state: $(cat "$state")"
        exit 1
        ;;
    esac
done
if [ "$up" -lt "${PORTS:-1}" ]; then
    echo "$up ports of the network are up, not ${PORTS:-1}"
    exit 1
fi
