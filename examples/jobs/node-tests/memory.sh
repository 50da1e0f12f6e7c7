#!/bin/sh
# Test of a node for SCR_NODE_TESTS: enough memory is available, and the kernel has counted no errors of memory.
# MEMORY: available memory that is needed, GiB (default: 4).
need=${MEMORY:-4}
available=$(awk '$1 == "MemAvailable:" { print int($2 / 1048576) }' /proc/meminfo)
if [ "$available" -lt "$need" ]; then
    echo "$available GiB of memory are available, not $need"
    exit 1
fi
for file in /sys/devices/system/edac/mc/mc*/ue_count; do
    [ -r "$file" ] || continue
    if [ "$(cat "$file")" -gt 0 ]; then
        echo "$file: $(cat "$file") errors of memory that could not be corrected"
        exit 1
    fi
done
