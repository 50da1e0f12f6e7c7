#!/usr/bin/env bash
# Usage: readme.sh README BUILD FORTRAN_COMPILER LAUNCHER...
# The Fortran program in the README compiles as it stands there, and goes on where it stopped: from
# the prefix directory, and from cache alone. Run through tests/in_empty_directory.sh.
set -euo pipefail

readme=$1 build=$2 compiler=$3
shift 3

# shellcheck disable=SC2016 # these are backticks of Markdown
sed -n '/^```fortran$/,/^```$/{/^```/!p}' "$readme" >survive.f90
grep -q "^program survive" survive.f90
"$compiler" -I"$build/include" -o survive survive.f90 -L"$build/lib" -lscrf -lscr \
    -Wl,-rpath,"$build/lib" -pthread -ldl -lm
program=$PWD/survive

for bypass in 1 0; do
    mkdir "bypass$bypass"
    cd "bypass$bypass"
    export SCR_PREFIX=$PWD SCR_CACHE_BYPASS=$bypass SCR_FLUSH=0 SCR_JOB_ID=readme$bypass
    "$@" "$program" | tee first.log
    grep -q "starting after step 0" first.log
    grep -q "stopping after step 100" first.log
    "$@" "$program" | tee second.log
    grep -q "starting after step 100" second.log
    cd ..
done
[[ -e bypass1/ck.100 && ! -e bypass0/ck.100 ]]
