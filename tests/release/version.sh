#!/usr/bin/env bash
# Usage: version.sh SOURCES SCR
# Cargo.toml has the version, and all that name one name the same: the command, the header's library,
# the module for Python, the recipe for Spack, the change log and the manual pages.
set -euo pipefail

sources=$1 scr=$2
version=$(sed -nE '0,/^version = "([^"]+)"$/s//\1/p' "$sources/Cargo.toml")
[[ $version == [0-9]*.[0-9]*.[0-9]* ]] || { echo "FAILED: Cargo.toml has no version" && exit 1; }
failed=0

# names WHAT TEXT: the text has this version.
names() {
    grep -qF "$version" <<<"$2" || { echo "FAILED: $1 is not of $version: $2" && failed=1; }
}
# has_none FILE PATTERN: the file has no version of its own.
has_none() {
    ! grep -nE "$2" "$sources/$1" || { echo "FAILED: $1 has a version of its own" && failed=1; }
}

names "scr --version" "$("$scr" --version)"
names CHANGELOG.md "$(grep -m 1 '^## \[' "$sources/CHANGELOG.md")"
names README.md "$(grep '^Release ' "$sources/README.md")"
names "the manual page" "$("$scr" manual | grep -m 1 '^\.TH')"
names "the recipe for Spack" \
    "$(grep -E '^ *version\("[0-9]' "$sources/spack/spack_repo/scr_rs/packages/scr_rs/package.py")"
has_none python/pyproject.toml '^version'
has_none fpm.toml '^version'
has_none CMakeLists.txt "$version"
exit "$failed"
