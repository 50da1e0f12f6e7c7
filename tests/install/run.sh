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

fail() {
    echo "FAILED: $1"
    exit 1
}
# shellcheck source=tests/killed.sh
source "$here/../killed.sh"

# run PROGRAM [INTERPRETER]: wherever it finds its libraries, it is killed, goes on, and finishes.
run() {
    local program=("${launch[@]}" ${2:+"$2"} "$1" size 32) name=heat2d delay=(delay 10)
    case $1 in
    */mesh_diffusion*) name=mesh delay=() ;;
    */particles*) name=particles delay=() ;;
    esac
    mkdir "$1.run"
    cd "$1.run"
    export SCR_PREFIX=$PWD SCR_CACHE_BASE=$work/cache SCR_CNTL_BASE=$work/cntl SCR_JOB_ID=$$
    killed first.log "grep -q 'checkpoint $name.10$' first.log" "$1" \
        "${program[@]}" steps 900000 "${delay[@]}" output ""
    local last
    last=$(sed -n "s/^$name: checkpoint $name\.//p" first.log | tail -n 1)
    "${program[@]}" steps $((last + 15)) >log 2>&1 || fail "$1 does not go on: $(tail -n 20 log)"
    grep -q "restarted from $name" log || fail "$1 did not restart: $(cat log)"
    grep -q "finished step $((last + 15))" log || fail "$1 did not finish: $(cat log)"
    cd "$work"
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

# The Makefile beside the examples, from the place where it was installed. Nothing is written there.
if [[ $work != *" "* ]] && command -v make >/dev/null && command -v pkg-config >/dev/null; then
    before=$(ls "$SCR_EXAMPLES")
    mkdir "$work/examples"
    env -u PKG_CONFIG_PATH make -s -C "$work/examples" -f "$SCR_EXAMPLES/Makefile"
    built=(heat2d_c heat2d_device_c heat2d_fields_c)
    [[ -n $MPI_CXX_COMPILER ]] && built=(heat2d_c heat2d_cxx heat2d_device_c heat2d_fields_c heat2d_fields_cxx)
    [[ $SCR_TEST_FORTRAN == 1 ]] && built+=(heat2d_fields_fortran heat2d_fortran mesh_diffusion_fortran)
    [[ -n $MPI_CXX_COMPILER ]] && built+=(particles_cxx)
    for name in "${built[@]}"; do
        # It needs a device; tests/device runs it without one.
        [[ $name != heat2d_device_c ]] || continue
        run "$work/examples/$name"
        rm -r "$work/examples/$name.run"
    done
    [[ $SCR_TEST_FORTRAN == 1 && -e $SCR_EXAMPLES/sums.f ]] && built+=(sums_fixed)
    [[ $(cd "$work/examples" && echo *) == "${built[*]}" ]] || fail "built: $(ls "$work/examples")"
    [[ $(ls "$SCR_EXAMPLES") == "$before" ]] || fail "something was built in $SCR_EXAMPLES"
    cp -r "$SCR_EXAMPLES" "$work/copy"
    if env -u PKG_CONFIG_PATH make -C "$work/copy" >"$work/copy.log" 2>&1; then fail "a copy finds SCR"; fi
    grep -q "there is no SCR in .*: make prefix=/path/to/scr" "$work/copy.log" || fail "$(cat "$work/copy.log")"
    env -u PKG_CONFIG_PATH make -s -C "$work/copy" prefix="$root" heat2d_c
    echo "examples by their Makefile: ${built[*]}"
fi

if [[ -n $SCR_TEST_PYTHON && $SCR_TEST_SHARED == ON ]]; then
    export PYTHONPATH=$root/share/scr/python PYTHONDONTWRITEBYTECODE=1
    [[ $("$SCR_TEST_PYTHON" -c "import scr; print(scr.get_version())") == v3.1.0 ]]
    [[ -s $PYTHONPATH/scr/README.md ]] || fail "no README beside the Python module"
    # pip copies it to another place, where it finds the library of this installation, and changes nothing here.
    have() { "$SCR_TEST_PYTHON" -c "import $1" 2>/dev/null; }
    if have pip && have setuptools && have wheel; then
        before=$(cd "$PYTHONPATH" && find . | sort)
        "$SCR_TEST_PYTHON" -m pip install --quiet --no-index --no-build-isolation --no-deps \
            --root-user-action=ignore --disable-pip-version-check --target "$work/site" "$PYTHONPATH"
        [[ $(cd "$PYTHONPATH" && find . | sort) == "$before" ]] || fail "pip has left files in $PYTHONPATH"
        told=$(cd "$work/site" && PYTHONPATH=$work/site "$SCR_TEST_PYTHON" -c "
import importlib.metadata as metadata, scr, scr._library as library
print(metadata.version('scr-rs'), scr.get_version(), scr.__file__, library.library()._name)")
        [[ $told == "$("$root/bin/scr" --version | grep -oE '^[^ ]+ [0-9.]+' | cut -d ' ' -f 2) v3.1.0 $work/site/"*" $root/"* ]] ||
            fail "pip installed: $told"
        echo "Python: pip install of the installed module"
    else
        echo "SKIPPED: pip install of the installed module, as $SCR_TEST_PYTHON has no pip, setuptools or wheel"
    fi
    for example in heat_numpy heat_fields; do
        cmp "$PYTHONPATH/scr/examples/$example.py" "$SCR_EXAMPLES/$example.py"
        if "$SCR_TEST_PYTHON" -c "import numpy" 2>/dev/null; then
            cp "$PYTHONPATH/scr/examples/$example.py" "$work"
            run "$work/$example.py" "$SCR_TEST_PYTHON"
            echo "Python: $example"
        fi
    done
fi

# The system configuration file goes with the installation, for the commands and for the shared library.
# A path that was chosen when SCR was built stays.
command=$root/bin/scr
conf=$("$command" params | sed -n 's/^system file: \(.*\) (there is none)$/\1/p')
if [[ -n $SCR_TEST_CONFIG_FILE ]]; then
    [[ $conf == "$SCR_TEST_CONFIG_FILE" || -f $SCR_TEST_CONFIG_FILE ]] || fail "the file is $conf"
elif [[ $SCR_TEST_PREFIX != /usr ]]; then
    [[ $conf == "$root"/*/scr.conf ]] || fail "the system file of $command is $conf"
    mkdir -p "$(dirname "$conf")"
    echo "SCR_DEBUG=1" >"$conf"
    "$command" params SCR_DEBUG | grep -qF "set in: $conf:1;" || fail "the command does not read $conf"
    ("$command" doctor || true) | grep -qF "system file  $conf" || fail "doctor does not name $conf"
    if [[ $SCR_TEST_SHARED == ON ]]; then
        mv "$work/C/heat2d.run" "$work/C/heat2d.silent"
        run "$work/C/heat2d"
        told() { grep -c '^SCR v' "$1/log" || true; }
        [[ $(told "$work/C/heat2d.run") -gt $(told "$work/C/heat2d.silent") ]] ||
            fail "libscr does not read $conf"
    fi
    rm "$conf"
    echo "system file: $conf"
fi

# The words of link lines, exactly.
if command -v pkg-config >/dev/null; then
    libdir=$(pkg-config --variable=libdir scr)
    needed="$SCR_TEST_MPI_LIBRARIES -pthread -ldl -lm"
    [[ $SCR_TEST_SHARED == ON ]] && plain="-L$libdir -lscr" || plain="-L$libdir -lscr $needed"
    expect() { # EXPECTED ARGUMENT...
        local words
        read -ra words <<<"$(pkg-config "${@:2}")"
        [[ ${words[*]} == "$1" ]] || fail "pkg-config ${*:2}: ${words[*]}, and not $1"
        echo "pkg-config ${*:2}: ${words[*]}" | sed "s|$libdir|LIBDIR|g"
    }
    expect "$plain" --libs scr
    expect "-L$libdir -lscr $needed" --static --libs scr
    expect "-I$(pkg-config --variable=includedir scr)" --cflags scr
    if [[ $SCR_TEST_FORTRAN == 1 ]]; then
        expect "-L$libdir -lscrf ${plain#* }" --libs scrf
    fi
    # The archive, linked by these words alone and not by the compiler of MPI.
    read -ra words <<<"$(pkg-config --static --libs scr)"
    if [[ $work != *" "* ]]; then
        "$MPI_C_COMPILER" -c "$SCR_EXAMPLES/heat2d.c" -I"$root/include" -o "$work/heat2d.o"
        "$SCR_TEST_CC" "$work/heat2d.o" -o "$work/heat2d-words" "${words[@]/#-lscr/-l:libscr.a}"
        run "$work/heat2d-words"
        # What was compiled for the archive links to the shared library, too, as does what knows no more
        # than the declarations of SCR v3.1.0.
        if [[ $SCR_TEST_SHARED == ON ]]; then
            "$MPI_C_COMPILER" "$work/heat2d.o" -o "$work/heat2d-relinked" -L"$libdir" -lscr -lm \
                -Wl,-rpath,"$libdir"
            run "$work/heat2d-relinked"
            "$MPI_C_COMPILER" -I"$here/v3.1.0" "$SCR_EXAMPLES/heat2d.c" -o "$work/heat2d-v3.1.0" \
                -L"$libdir" -lscr -lm -Wl,-rpath,"$libdir"
            run "$work/heat2d-v3.1.0"
            echo "relinked"
        fi
    fi
fi

for file in share/man/man3/SCR_Init.3 share/man/man1/{scr,scr-index,scr_index}.1 share/doc/scr/{README,CHANGELOG,THIRD-PARTY-NOTICES}.md \
    share/doc/scr/LICENSE-{MIT,APACHE} share/doc/scr/docs/{index,user-guide,parameters,formats/README}.md \
    share/doc/scr/docs/images/{node-loss,demo,architecture}.svg \
    share/scr/scr.conf.sample share/scr/examples/jobs/slurm.sh; do
    [[ -s $root/$file ]] || fail "$file is not installed"
done
if command -v pkg-config >/dev/null; then
    [[ $(pkg-config --variable=mpicc scr) == "$MPI_C_COMPILER" ]] || { echo "no mpicc in scr.pc"; exit 1; }
fi
for name in scr scr_index scr_print scr_print_hash_file kvtree_print; do
    [[ -x $root/bin/$name ]] || { echo "no command $name"; exit 1; }
    # Commands are for login nodes too, where there may be no MPI.
    if ldd "$root/bin/$name" | grep -q libmpi; then echo "$name needs MPI"; exit 1; fi
done
if grep -rl "$work/staged" "$root/share" "$pkgconfig"; then
    echo "these files name the place where SCR was first installed"
    exit 1
fi
