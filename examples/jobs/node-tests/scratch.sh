#!/bin/sh
# Test of a node for SCR_NODE_TESTS: a file of 64 MiB can be written to the scratch space, and is read back as it was.
# SCRATCH: the directory (default: /tmp).
file=$(mktemp "${SCRATCH:-/tmp}/scr-node-test.XXXXXX") || {
    echo "no file can be made in ${SCRATCH:-/tmp}"
    exit 1
}
trap 'rm -f "$file"' EXIT
written=$(head -c 67108864 /dev/urandom | tee "$file" | cksum) || exit 1
sync "$file" || exit 1
if [ "$(cksum <"$file")" != "$written" ]; then
    echo "$file: what was written is not read back"
    exit 1
fi
