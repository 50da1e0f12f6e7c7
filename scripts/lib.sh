# Shared by the scripts beside it: what a machine needs, and how to get it. Source it.
# shellcheck shell=bash

# The least Rust that Cargo.toml asks for.
rust_minimum() {
    sed -nE 's/^rust-version = "([0-9.]+)"/\1/p' "$1/Cargo.toml"
}

# True if version $1 is at least $2.
version_at_least() {
    [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]
}

# Ends the script with advice unless cargo is there and new enough. $1 is the source tree.
require_rust() {
    local need found
    need=$(rust_minimum "$1")
    PATH=$PATH:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin
    if ! found=$(cargo --version 2>&1); then
        echo "Rust is missing: cargo was not found or does not run." >&2
        echo "Install Rust $need or newer from https://rustup.rs (no root needed), then run this again." >&2
        exit 1
    fi
    found=$(awk '{print $2; exit}' <<<"$found")
    if ! version_at_least "${found%%-*}" "$need"; then
        echo "Rust is too old: cargo is version $found, but $need or newer is needed." >&2
        echo "Run 'rustup update stable', or install Rust from https://rustup.rs, then run this again." >&2
        exit 1
    fi
    echo "Rust: cargo $found"
}

# Ends the script with advice unless cargo can format and lint.
require_rust_components() {
    if cargo fmt --version && cargo clippy --version; then
        return
    fi >/dev/null 2>&1
    if ! rustup component add rustfmt clippy >/dev/null 2>&1; then
        echo "rustfmt or clippy is missing; install them: rustup component add rustfmt clippy" >&2
        exit 1
    fi
    echo "Rust: added rustfmt and clippy"
}

# Ends the script with advice unless directory $1 has $2 GB to itself: a full disk shows up as
# all kinds of failures.
require_space() {
    local free
    free=$(df --output=avail -B 1000000000 "$1" | tail -n 1)
    if ((free < $2)); then
        echo "$1 has ${free// /} GB left, and this needs $2 GB." >&2
        echo "Make room there, or name another directory as the argument." >&2
        exit 1
    fi
}

# Installs those of the given Debian packages that are missing, and names them. Ends the script with
# advice if that is not possible.
require_packages() {
    local package missing=() as_root=()
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "^install ok installed" ||
            missing+=("$package")
    done
    if [[ ${#missing[@]} -eq 0 ]]; then
        echo "Packages: all there"
        return
    fi
    echo "Packages: installing ${missing[*]}"
    [[ $EUID -eq 0 ]] || as_root=(sudo -n)
    if ! command -v apt-get >/dev/null || ! { [[ $EUID -eq 0 ]] || sudo -n true 2>/dev/null; }; then
        echo "Cannot install packages here (no apt-get, or neither root nor sudo)." >&2
        echo "Have these installed, or what corresponds to them, and run this again: ${missing[*]}" >&2
        exit 1
    fi
    local log
    log=$(mktemp)
    if ! { "${as_root[@]}" apt-get update &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" >&2
        echo "Installing packages failed; see above." >&2
        exit 1
    fi
    rm -f "$log"
}

# Installs programs of the Python Package Index below DIRECTORY, where they are not on the PATH yet, and puts them there.
# Tests that want them skip themselves if they cannot be had.
want_python_programs() { # DIRECTORY PROGRAM...
    local directory=$1 program missing=()
    shift
    PATH=$PATH:$directory/bin
    for program in "$@"; do
        command -v "$program" >/dev/null || missing+=("$program")
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0
    echo "Python programs: installing ${missing[*]} in $directory"
    { python3 -m venv "$directory" && "$directory/bin/pip" install --quiet "${missing[@]}"; } >/dev/null 2>&1 ||
        echo "Python programs: ${missing[*]} could not be installed (python3 -m venv, pip)"
}

# The settings that every MPI needs to start more ranks than there are cores, as any user.
mpi_environment() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
    export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
}

# No setting of SCR from outside may change the output of a script.
forget_scr_settings() {
    local name
    for name in $(compgen -e SCR_ || true); do
        unset "$name"
    done
}

# Seconds since the epoch, with fraction; and the difference of two of them.
now() {
    date +%s.%N
}

seconds_since() {
    awk -v start="$1" -v end="$(now)" 'BEGIN { printf "%.1f", end - start }'
}
