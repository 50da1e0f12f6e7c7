#!/usr/bin/env bash
# Installs the build, moves the installation to another place, and uses it from there. Run by
# ctest in an empty directory, with SCR_TEST_* and MPI_*_COMPILER set.
set -euo pipefail
: "${MPI_C_COMPILER:?}" "${MPI_CXX_COMPILER?}" "${MPI_Fortran_COMPILER?}"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cmake=$SCR_TEST_CMAKE
read -ra launch <<<"$SCR_TEST_LAUNCH"
work=$(cd .. && pwd)
# A prefix that is named twice would let an absolute path pass.
"$cmake" --install "$SCR_TEST_BUILD" --prefix "$work/staged" >/dev/null
mv "$work/staged" "$work/installed"
root=$work/installed
pkgconfig=$(dirname "$(find "$root" -name scr.pc)")
export PKG_CONFIG_PATH=$pkgconfig SCR_EXAMPLES=$root/share/scr/examples

run() { # PROGRAM [INTERPRETER]: it must finish, wherever it finds its libraries
    mkdir "$1.run"
    (cd "$1.run" && SCR_PREFIX=$PWD SCR_CACHE_BASE=$work/cache SCR_CNTL_BASE=$work/cntl \
        SCR_JOB_ID=$$ "${launch[@]}" ${2:+"$2"} "$1" size 32 steps 12 >log)
    grep -q "checkpoint heat2d.10$" "$1.run/log"
    grep -q "finished step 12" "$1.run/log"
}

languages=(C)
[[ -n $MPI_CXX_COMPILER ]] && languages+=(CXX)
[[ $SCR_TEST_FORTRAN == 1 ]] && languages+=(Fortran)
for language in "${languages[@]}"; do
    compiler=MPI_${language}_COMPILER
    "$cmake" -S "$here/$language" -B "$work/$language" -DCMAKE_PREFIX_PATH="$root" \
        -DMPI_C_COMPILER="$MPI_C_COMPILER" -D"$compiler=${!compiler}" \
        -DSCR_EXAMPLES="$SCR_EXAMPLES" >"$work/$language.log" 2>&1
    if grep "another MPI" "$work/$language.log"; then exit 1; fi
    "$cmake" --build "$work/$language" >/dev/null
    run "$work/$language/heat2d"
    run "$work/$language/heat2d-static"
    echo "$language by CMake: shared and static"

    # make knows no file names with blanks.
    if [[ $SCR_TEST_SHARED == ON && $work != *" "* ]] && command -v make >/dev/null &&
        command -v pkg-config >/dev/null; then
        mkdir "$work/$language-make"
        make -s -C "$work/$language-make" -f "$here/$language/Makefile"
        run "$work/$language-make/heat2d"
        echo "$language by make and pkg-config"
    fi
done

if [[ -n $SCR_TEST_PYTHON && $SCR_TEST_SHARED == ON ]]; then
    export PYTHONPATH=$root/share/scr/python PYTHONDONTWRITEBYTECODE=1
    [[ $("$SCR_TEST_PYTHON" -c "import scr; print(scr.get_version())") == v3.1.0 ]]
    if "$SCR_TEST_PYTHON" -c "import numpy" 2>/dev/null; then
        cp "$SCR_EXAMPLES/heat_numpy.py" "$work"
        run "$work/heat_numpy.py" "$SCR_TEST_PYTHON"
        echo "Python"
    fi
fi

[[ -f $root/share/man/man3/SCR_Init.3 ]] || { echo "no manual page of SCR_Init"; exit 1; }
if command -v pkg-config >/dev/null; then
    [[ $(pkg-config --variable=mpicc scr) == "$MPI_C_COMPILER" ]] || { echo "no mpicc in scr.pc"; exit 1; }
fi
for name in scr scr_index scr_print scr_print_hash_file kvtree_print; do
    [[ -x $root/bin/$name ]] || { echo "no command $name"; exit 1; }
    # Commands are for login nodes too, where there may be no MPI.
    if ldd "$root/bin/$name" | grep -q libmpi; then echo "$name needs MPI"; exit 1; fi
done
if grep -rl "$work/staged" "$root/share/scr" "$pkgconfig"; then
    echo "these files name the place where SCR was first installed"
    exit 1
fi
