#!/usr/bin/env bash
# Usage: corrosion.sh SOURCE CMAKE MPICC CARGO_DIR [build LAUNCHER...]
# The rules of SCR_USE_CORROSION, with a Corrosion from CORROSION_SOURCE: given as source, installed, fetched,
# too old, and not there. With "build" a build by it, in which the library is compiled once. Run through
# tests/in_empty_directory.sh.
set -euo pipefail

source=$1 cmake=$2 mpicc=$3 cargo_dir=$4
shift 4

fail() {
    echo "FAILED: $1"
    [[ ! -f log ]] || tail -n 40 log
    exit 1
}

corrosion=${CORROSION_SOURCE:-none}
unset CORROSION_SOURCE
configure() { # BUILD OPTION...
    "$cmake" -S "$source" -B "$1" -DMPI_C_COMPILER="$mpicc" -DSCR_ENABLE_TESTS=OFF \
        -DSCR_ENABLE_EXAMPLES=OFF -DSCR_ENABLE_FORTRAN=OFF -DSCR_CARGO_TARGET_DIR="$cargo_dir" \
        -DCMAKE_FIND_USE_SYSTEM_PACKAGE_REGISTRY=OFF "${@:2}" >log 2>&1
}

told() {
    tr -s ' \n' '  ' <log | grep -qF "$1" || fail "it is not told: $1"
    echo "told: $1"
}

used() { # BUILD OPTION...
    configure "$@" || fail "$*"
    told "SCR: the crate is imported by Corrosion 0."
}

unused() { # BUILD OPTION...
    configure "$@" || fail "$*"
    ! grep -q "imported by Corrosion" log || fail "$*: Corrosion is used"
}

refused() { # WORDS BUILD OPTION...
    ! configure "${@:2}" || fail "$2 is configured"
    told "$1"
    told "Install Corrosion 0.5 or newer and add its prefix to CMAKE_PREFIX_PATH"
}

# These need none.
refused "SCR_USE_CORROSION=ON: Corrosion is not installed, and file:///none.tar.gz cannot be fetched:" \
    unreachable -DSCR_USE_CORROSION=ON -DSCR_CORROSION_URL=file:///none.tar.gz \
    -DCMAKE_DISABLE_FIND_PACKAGE_Corrosion=ON
refused "$PWD is no source of Corrosion" no_source -DCORROSION_SOURCE="$PWD"
mkdir -p old/cmake old/installed/lib/cmake/Corrosion
touch old/cmake/Corrosion.cmake
printf 'project(Corrosion\n    VERSION 0.4.10\n)\n' >old/CMakeLists.txt
refused "Corrosion in $PWD/old is version 0.4.10, and 0.5 is needed" old_source \
    -DCORROSION_SOURCE="$PWD/old" -DSCR_USE_CORROSION=ON
unused old_source_auto -DCORROSION_SOURCE="$PWD/old"
told "CMake runs cargo itself, as Corrosion in $PWD/old is version 0.4.10"
here=old/installed/lib/cmake/Corrosion
echo 'message(FATAL_ERROR "an old Corrosion is loaded")' >$here/CorrosionConfig.cmake
cat >$here/CorrosionConfigVersion.cmake <<'END'
set(PACKAGE_VERSION 0.4.10)
set(PACKAGE_VERSION_COMPATIBLE FALSE)
END
refused "the installed Corrosion is version 0.4.10" old_installed -DSCR_USE_CORROSION=ON \
    -DCMAKE_PREFIX_PATH="$PWD/old/installed"
unused old_installed_auto -DCMAKE_PREFIX_PATH="$PWD/old/installed"

if [[ ! -f $corrosion/cmake/Corrosion.cmake ]]; then
    echo "SKIPPED: there is no Corrosion; CORROSION_SOURCE may name its source"
    exit 77
fi
used given -DCORROSION_SOURCE="$corrosion"
CORROSION_SOURCE=$corrosion used environment
CORROSION_SOURCE=$corrosion unused off -DSCR_USE_CORROSION=OFF
"$cmake" -S "$corrosion" -B corrosion -DCORROSION_BUILD_TESTS=OFF -DCORROSION_INSTALL_ONLY=ON \
    -DCMAKE_INSTALL_PREFIX="$PWD/corrosion/installed" >log 2>&1 || fail "Corrosion is not configured"
"$cmake" --install corrosion >log 2>&1 || fail "Corrosion is not installed"
used installed -DCMAKE_PREFIX_PATH="$PWD/corrosion/installed"
unused installed_off -DCMAKE_PREFIX_PATH="$PWD/corrosion/installed" -DSCR_USE_CORROSION=OFF
tar -czf corrosion.tar.gz -C "$(dirname "$corrosion")" "$(basename "$corrosion")"
used fetched -DSCR_USE_CORROSION=ON -DSCR_CORROSION_URL="file://$PWD/corrosion.tar.gz" \
    -DCMAKE_DISABLE_FIND_PACKAGE_Corrosion=ON

[[ ${1:-} == build ]] || exit 0
shift
used built -DCORROSION_SOURCE="$corrosion" -DCMAKE_BUILD_TYPE=Debug -DSCR_ENABLE_TESTS=ON
"$cmake" --build built -j2 --target scr_shared scr_command test_c_api test_c_api_static \
    cargo-build_transport-check >log 2>&1 || fail "it is not built"
# The library and the command are of one package, with other features.
for each in scr-engine:1 scr-rs:2; do
    times=$(grep -c "Compiling ${each%:*} " log)
    [[ $times -eq ${each#*:} ]] || fail "${each%:*} is compiled $times times, not ${each#*:}"
done
for program in transport-check test_c_api test_c_api_static; do
    "$@" 2 "built/bin/$program" >log 2>&1 || fail "$program fails"
done
echo "built by Corrosion: the engine is compiled once, and the library passes"
