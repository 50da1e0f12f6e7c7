# Source it at the beginning of a test that mounts file systems: the test runs again in a name space of its
# own for mounts, so that nothing is left behind, however it ends. Skips the test where that is not allowed.
# shellcheck shell=bash

if [[ ${SCR_TEST_INSIDE:-} != 1 ]]; then
    inside=(unshare -m)
    [[ $EUID -eq 0 ]] || inside=(unshare -rm)
    if ! "${inside[@]}" mount -t tmpfs none /mnt 2>/dev/null; then
        echo "SKIPPED: this may not mount a small file system here"
        exit 77
    fi
    SCR_TEST_INSIDE=1 exec "${inside[@]}" bash "$0" "$@"
fi
