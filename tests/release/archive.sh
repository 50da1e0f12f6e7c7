#!/usr/bin/env bash
# Usage: archive.sh SOURCES
# Makes the source archive of a release twice, the second time from a clone, with another umask and time zone: both are
# the same. All crates for all features and tests are in it. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"' ERR

sources=$1
if [[ $(git -C "$sources" rev-parse --show-toplevel 2>/dev/null) != "$sources" ]]; then
    echo "SKIPPED: the sources are no git repository, and archives are made from one"
    exit 77
fi
if ! (cd "$sources" && cargo fetch --locked) >fetch.log 2>&1; then
    tail -n 5 fetch.log
    echo "SKIPPED: Cargo cannot get all crates: $(tail -n 1 fetch.log)"
    exit 77
fi

mkdir first second
"$sources/scripts/release" --source "$PWD/first"
git clone --quiet "$sources" clone
(umask 077 && TZ=Asia/Tokyo LANG=de_DE.UTF-8 clone/scripts/release --source "$PWD/second")
archive=$(basename first/*.tar.gz)
cmp "first/$archive" "second/$archive"

# One directory of the name of the archive, with nothing of git and of builds.
name=${archive%.tar.gz}
tar -xf "first/$archive"
[[ $(tar -tf "first/$archive" | cut -d / -f 1 | sort -u) == "$name" ]]
for file in .git target; do
    [[ ! -e $name/$file ]] || { echo "FAILED: $file is in the archive" && exit 1; }
done
for file in Cargo.lock LICENSE-MIT scripts/test tests/fixtures .cargo/config.toml; do
    [[ -e $name/$file ]] || { echo "FAILED: $file is not in the archive" && exit 1; }
done

# The packages for crates.io have what dependents need, and no stray file.
packaged() { # PACKAGE FILE...
    local package=$1
    shift
    (cd clone && cargo package --list --locked -p "$package" 2>/dev/null) | cut -d / -f 1 | sort -u >packaged
    printf '%s\n' .cargo_vcs_info.json Cargo.lock Cargo.toml Cargo.toml.orig "$@" | sort -u | diff - packaged
    (cd clone && cargo package --list --locked -p "$package" 2>&1) | grep "^warning" |
        grep -v "ignoring test" >warnings || true
    [[ ! -s warnings ]] || { cat warnings && exit 1; }
}
modules() { # FOLDER
    find "clone/$1" -mindepth 1 -maxdepth 1 ! -name Cargo.toml -printf '%f\n'
}
packaged scr-rs CHANGELOG.md LICENSE-APACHE LICENSE-MIT README.md benches build.rs examples fortran include library
mapfile -t files < <(modules src)
packaged scr-engine "${files[@]}"
mapfile -t files < <(modules jobs)
packaged scr-jobs "${files[@]}"
mapfile -t files < <(modules commands)
packaged scr-commands "${files[@]}"

# Cargo, without what it has got from the network before, finds every crate, and in it every file.
mkdir cargo-home
cd "$name"
CARGO_HOME=$PWD/../cargo-home cargo tree --offline --locked --workspace --all-features --edges all \
    --prefix none --format '{p}' >../tree
for crate in serde clap bindgen cmake criterion tempfile; do
    grep -q "^$crate v" ../tree || { echo "FAILED: $crate is not in the archive" && exit 1; }
done
find vendor -name .cargo-checksum.json | while read -r list; do
    crate=$(dirname "$list")
    grep -o '"[^"]*":"[0-9a-f]\{64\}"' "$list" |
        sed -nE '/^"package"/!s/^"(.*)":"(.*)"$/\2  \1/p' >../sums
    [[ ! -s ../sums ]] || (cd "$crate" && sha256sum --check --quiet ../../../sums)
done

# A changed file shows.
echo >>"$(find vendor -path '*serde-*/src/lib.rs')"
if CARGO_HOME=$PWD/../cargo-home cargo check --offline --locked --quiet --no-default-features --lib \
    --target-dir ../target 2>../changed; then
    echo "FAILED: Cargo took a crate with a changed file"
    exit 1
fi
grep -q "checksum" ../changed
