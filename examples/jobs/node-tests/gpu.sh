#!/bin/sh
# Test of a node for SCR_NODE_TESTS: all GPUs answer, and none has errors of memory that cannot be corrected.
# GPUS: how many there must be (default: at least one).
gpus=${GPUS:-}
if command -v nvidia-smi >/dev/null; then
    found=$(nvidia-smi --query-gpu=ecc.errors.uncorrected.volatile.total --format=csv,noheader) || {
        echo "nvidia-smi fails: $found"
        exit 1
    }
elif command -v rocm-smi >/dev/null; then
    found=$(rocm-smi --showserial --csv) || {
        echo "rocm-smi fails: $found"
        exit 1
    }
    found=$(echo "$found" | sed -n 's/^card.*/0/p')
else
    echo "there is no nvidia-smi and no rocm-smi"
    exit 1
fi
count=$(echo "$found" | grep -c .)
if [ "$count" -lt "${gpus:-1}" ]; then
    echo "$count GPUs answer, not ${gpus:-1}"
    exit 1
fi
if echo "$found" | grep -q '^ *[1-9]'; then
    echo "a GPU has errors of memory: $(echo "$found" | tr '\n' ' ')"
    exit 1
fi
