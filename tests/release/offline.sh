#!/usr/bin/env bash
# Usage: tests/release/offline.sh ARCHIVE DIRECTORY [CMAKE-OPTION...]
# Builds, tests and installs from a release archive as a machine without a network does: in a network name
# space of its own, with a Cargo that has nothing, and a build directory outside of the sources. DIRECTORY
# must not exist. TESTS chooses tests, as `ctest -R` does. Needs root, or name spaces for users.
set -euo pipefail

if [[ ${1-} != --cut ]]; then
    if ! command -v ip >/dev/null; then
        echo "SKIPPED: ip is missing, which starts the loopback interface (iproute2)"
        exit 77
    fi
    archive=$(realpath "$1") directory=$(realpath -m "$2")
    mkdir "$directory"
    tar -xf "$archive" -C "$directory"
    as_root=()
    [[ $EUID -eq 0 ]] || as_root=(--map-root-user)
    if ! unshare "${as_root[@]}" --net true; then
        echo "SKIPPED: the network cannot be cut off here"
        exit 77
    fi
    exec unshare "${as_root[@]}" --net bash "$0" --cut "$directory" "${@:3}"
fi

directory=$2
shift 2
ip link set lo up # MPI's processes talk to each other.
if [[ -n $(ip route) ]]; then
    echo "FAILED: there is a network"
    exit 1
fi
sources=$(echo "$directory"/scr-rs-*)
mkdir "$directory/cargo-home"
export CARGO_HOME=$directory/cargo-home
unset CARGO_TARGET_DIR
step() {
    echo "== $* ($(date +%T))"
    "$@"
}

step cmake -S "$sources" -B "$directory/build" -DCMAKE_INSTALL_PREFIX="$directory/installed" "$@"
step cmake --build "$directory/build"
step ctest --test-dir "$directory/build" --output-on-failure ${TESTS:+-R "$TESTS"}
step cmake --install "$directory/build" >"$directory/install.log"
"$directory/installed/bin/scr" --version
cd "$sources"
# What only tests need is there, too.
step cargo test --locked --no-default-features --features cli --target-dir "$directory/rust" --test parts
# Nothing was built into the sources.
if [[ -n $(find "$sources" -newer "$directory/cargo-home" -type f) ]]; then
    find "$sources" -newer "$directory/cargo-home" -type f | head
    echo "FAILED: the build has changed the sources"
    exit 1
fi
echo "built, tested and installed without a network: $(du -sh "$directory/installed" | cut -f 1)"
