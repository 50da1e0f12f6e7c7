#!/usr/bin/env bash
# Usage: guest.sh SOURCE CMAKE MPICC CARGO_DIR BUILD_TYPE PREFIX LAUNCHER...
# SCR as a part of another project, by add_subdirectory and by FetchContent: that project's cache,
# variables and installation stay as they are, and its programs link SCR, as do those of a project that
# takes SCR from the build directory. Run through tests/in_empty_directory.sh.
set -euo pipefail

source=$1 cmake=$2 mpicc=$3 cargo_dir=$4 type=$5 prefix=$6
shift 6

fail() {
    echo "FAILED: $1"
    [[ ! -f log ]] || tail -n 40 log
    exit 1
}

cat >program.c <<'END'
#include <mpi.h>
#include <scr.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int code = SCR_Init() != SCR_SUCCESS || SCR_Finalize() != SCR_SUCCESS;
    MPI_Finalize();
    return code;
}
END

# project DIRECTORY LINE...: a project in C, which adds SCR by these lines. It writes down its variables
# before and after them.
project() {
    mkdir "$1"
    cp program.c "$1"
    {
        echo "cmake_minimum_required(VERSION 3.18)"
        echo "project(parent LANGUAGES C)"
        # shellcheck disable=SC2016 # variables of CMake
        echo 'set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/programs)'
        cat <<'END'
function(write_variables name)
    get_cmake_property(names VARIABLES)
    set(text "")
    foreach(variable IN LISTS names)
        if(variable MATCHES "^(CMAKE_|BUILD_|ENABLE_|MPI)" AND
            NOT variable MATCHES "^CMAKE_(CURRENT_FUNCTION|FILES_DIRECTORY|MATCH)")
            string(APPEND text "${variable}=${${variable}}\n")
        endif()
    endforeach()
    file(WRITE ${CMAKE_BINARY_DIR}/${name} "${text}")
endfunction()
write_variables(before)
END
        printf '%s\n' "${@:2}"
        echo 'write_variables(after)'
        echo 'add_executable(program program.c)'
        echo 'install(TARGETS program)'
        echo 'if(TARGET scr::scr)'
        # FindMPI of Open MPI changes its own cache entries when it runs twice.
        echo '    if(NOT TARGET MPI::MPI_C)'
        echo '        find_package(MPI REQUIRED COMPONENTS C)'
        echo '    endif()'
        echo '    target_link_libraries(program PRIVATE scr::scr MPI::MPI_C)'
        echo '    add_executable(static program.c)'
        echo '    target_link_libraries(static PRIVATE scr::scr-static MPI::MPI_C)'
        echo 'endif()'
    } >"$1/CMakeLists.txt"
}

# Sorted entries of a cache, without the directories of the project and CMake's count of directories.
entries() {
    grep -E '^[A-Za-z_][^:]*:[A-Z]+=' "$1/build/CMakeCache.txt" | sed "s|$PWD/$1|HERE|g" |
        grep -v '^CMAKE_NUMBER_OF_MAKEFILES:' | sort
}

configure() { # DIRECTORY OPTION...
    "$cmake" -S "$1" -B "$1/build" -DCMAKE_BUILD_TYPE="$type" -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DMPI_C_COMPILER="$mpicc" "${@:2}" >log 2>&1 || fail "$1 is not configured"
}

scr=(-DSCR_CARGO_TARGET_DIR="$cargo_dir")
# The same project without SCR has the entries of FindMPI that it makes itself.
project alone 'find_package(MPI REQUIRED COMPONENTS C)'
configure alone
project nested "add_subdirectory($source scr)"
project fetched 'include(FetchContent)' "FetchContent_Declare(scr SOURCE_DIR $source)" \
    'FetchContent_MakeAvailable(scr)'
project later 'find_package(MPI REQUIRED COMPONENTS C)' "add_subdirectory($source scr)"
for name in nested fetched later; do
    configure "$name" "${scr[@]}"
    for step in first again; do
        foreign=$(comm -13 <(entries alone) <(entries "$name") |
            grep -Ev '^(SCR_|scr_|FETCHCONTENT_)' || true)
        [[ -z $foreign ]] || fail "$name, $step: foreign or changed entries of the cache: $foreign"
        missing=$(comm -23 <(entries alone) <(entries "$name") || true)
        [[ -z $missing ]] || fail "$name, $step: entries that are gone: $missing"
        configure "$name"
    done
    # FetchContent and FindMPI set some in the project itself.
    changed=$(diff "$name/build/before" "$name/build/after" | grep '^[<>]' |
        grep -Ev '^> (MPI|FETCHCONTENT)' || true)
    [[ $name == later || -z $changed ]] || fail "$name: variables of the project changed: $changed"
    "$cmake" --build "$name/build" --target help >targets
    ! grep -E '^\.\.\. (uninstall|test_|heat2d)' targets || fail "$name has targets of SCR's tests"
    echo "$name: $(entries "$name" | grep -Ec '^(SCR_|scr_)') entries of SCR, no other"
done

"$cmake" --build nested/build -j2 >log 2>&1 || fail "a project with SCR in it is not built"
for program in program static; do
    "$@" 2 "nested/build/programs/$program" >log 2>&1 || fail "$program does not run"
done
"$cmake" --install nested/build --prefix "$PWD/installed" >log 2>&1 || fail "it is not installed"
installed=$(cd installed && find . -type f)
[[ $installed == ./bin/program ]] || fail "what is installed: $installed"
echo "nested: built, run, installed"
