#!/usr/bin/env bash
# Usage: install.sh SOURCES CMAKE MPICC
# Installs these sources by the Spack in SPACK_ROOT, with this machine's MPI, CMake and Rust, and runs the
# tests of the recipe. Spack's own settings and caches are left alone. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"' ERR

sources=$1 cmake=$2 mpicc=$3
if [[ -z ${SPACK_ROOT-} ]]; then
    echo "SKIPPED: there is no Spack here (SPACK_ROOT is not set)"
    exit 77
fi
if ! command -v git >/dev/null; then
    echo "SKIPPED: git is missing"
    exit 77
fi
spack=$SPACK_ROOT/bin/spack
export SPACK_DISABLE_LOCAL_CONFIG=1 SPACK_USER_CACHE_PATH=$PWD/cache
version=$("$spack" --version)
repository=$sources/spack
[[ ${version%%.*} -eq 0 ]] || repository=$sources/spack/spack_repo/scr_rs

# Spack builds in the directory of the sources.
mkdir sources environment
if ! git -C "$sources" archive --format=tar HEAD 2>/dev/null | tar -x -C sources; then
    cp -r "$sources"/. sources
fi

# external PACKAGE SPEC PREFIX
external() {
    printf '    %s:\n      buildable: false\n      externals:\n' "$1"
    printf '      - spec: "%s"\n        prefix: %s\n' "$2" "$3"
}
prefix_of() {
    dirname "$(dirname "$(realpath "$(command -v "$1")")")"
}
number() {
    grep -oE '[0-9]+\.[0-9]+(\.[0-9]+)?' | head -n 1
}

if "$mpicc" -show | grep -q -- -lmpich; then
    mpi=mpich mpi_version=$("$(dirname "$mpicc")"/mpichversion | number)
else
    mpi=openmpi mpi_version=$("$(dirname "$mpicc")"/ompi_info --version | number)
fi
rust=$(rustc --print sysroot)
{
    printf 'spack:\n  specs: ["scr-rs@=main"]\n  view: false\n  concretizer:\n    reuse: false\n'
    printf '  config:\n    install_tree:\n      root: %s\n' "$PWD/installed"
    printf '  develop:\n    scr-rs:\n      spec: "scr-rs@=main"\n      path: %s\n' "$PWD/sources"
    printf '  packages:\n'
    external "$mpi" "$mpi@$mpi_version" "$(dirname "$(dirname "$mpicc")")"
    external cmake "cmake@$("$cmake" --version | number)" "$(prefix_of "$cmake")"
    external rust "rust@$(rustc --version | number)" "$rust"
    printf '    mpi:\n      require: [%s]\n' "$mpi"
} >environment/spack.yaml
cat environment/spack.yaml

in_spack() {
    echo "== spack $*"
    "$spack" -e "$PWD/environment" "$@"
}
in_spack repo add "$repository"
in_spack compiler find
in_spack concretize
in_spack install --fail-fast
in_spack test run --alias scr scr-rs
in_spack test results --logs scr
# Spack ends with an error if a test fails; none may have been left out, either.
in_spack test results scr | tee results
grep -qi "passed" results
