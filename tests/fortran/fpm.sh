#!/usr/bin/env bash
# Usage: fpm.sh SOURCE BUILD MPIFORT PYTHON LAUNCHER...
# The module is a dependency of an fpm project: the program in the README is built by fpm, and runs.
# Without fpm, only fpm.toml is checked, by PYTHON (which may be "false"). Run through tests/in_empty_directory.sh.
set -euo pipefail

source=$1 build=$2 mpifort=$3 python=$4
shift 4

if "$python" -c "import tomllib" 2>/dev/null; then
    "$python" - "$source" <<'END'
import os, sys, tomllib

with open(f"{sys.argv[1]}/fpm.toml", "rb") as file:
    manifest = tomllib.load(file)
assert manifest["name"] == "scr-rs", manifest
for key, file in ("source-dir", "scrf.F90"), ("include-dir", "scrf.h"):
    assert os.path.exists(f"{sys.argv[1]}/{manifest['library'][key]}/{file}"), key
END
fi
if [[ $(fpm --version 2>/dev/null) != *"Fortran package manager"* ]]; then
    echo "SKIPPED: there is no fpm (pip install fpm)"
    exit 77
fi

ln -s "$source" scr
mkdir -p survive/app
cd survive
# shellcheck disable=SC2016 # these are backticks of Markdown
sed -n '/^```fortran$/,/^```$/{/^```/!p}' "$source/README.md" >app/survive.f90
cat >fpm.toml <<'END'
name = "survive"

[dependencies]
scr-rs = { path = "../scr" }

[[executable]]
name = "survive"
main = "survive.f90"
END
# A module of MPI is nothing that fpm builds.
printf '\n[build]\nexternal-modules = ["mpi_f08"]\n' >>fpm.toml
FPM_FC=$mpifort fpm build --link-flag "-L$build/lib -Wl,-rpath,$build/lib" >log 2>&1 || { cat log && exit 1; }
program=$(find build -name survive -type f -perm -u+x)
for start in 0 100; do
    "$@" "$program" >log 2>&1 || { cat log && exit 1; }
    grep -q "starting after step $start" log || { cat log && exit 1; }
done

# A program whose MPI has no interfaces, as the page says.
cd ..
mkdir -p fixed/app
cd fixed
cp "$source/examples/sums.f" app
sed -e 's/survive.f90/sums.f/; s/survive/sums/; /^\[build\]/,$d' ../survive/fpm.toml >fpm.toml
printf '\n[fortran]\nimplicit-external = true\nsource-form = "default"\n' >>fpm.toml
FPM_FC=$mpifort fpm build --link-flag "-L$build/lib -Wl,-rpath,$build/lib" >log 2>&1 || { cat log && exit 1; }
program=$(find build -name sums -type f -perm -u+x)
SCR_PREFIX=$PWD "$@" "$program" >log 2>&1 || { cat log && exit 1; }
grep -q "done until step100" log || { cat log && exit 1; }
