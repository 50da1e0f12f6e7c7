#!/usr/bin/env bash
# Usage: readme.sh README BUILD FORTRAN_COMPILER LAUNCHER...
# The Fortran program in the README compiles as it stands there, and goes on where it stopped: from
# the prefix directory, and from cache alone. Where no dataset can be started it writes over nothing. Run
# through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"' ERR

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

# Without SCR the same program runs and writes nothing, and SCR says once that it is off.
mkdir off
cd off
SCR_PREFIX=$PWD SCR_ENABLE=0 "$@" "$program" >log 2>&1 || { cat log && exit 1; }
grep -q "stopping after step 100" log
[[ $(echo * .scr*) == "log .scr*" ]]
[[ $(grep -c "SCR" log) -eq 1 ]]
grep -q "SCR is off (SCR_ENABLE=0)" log
cd ..

# In a job of its own there is nothing to restart from, and no number left for a dataset.
cd bypass1
export SCR_PREFIX=$PWD SCR_CACHE_BYPASS=1 SCR_FETCH=0 SCR_JOB_ID=refused SCR_USER_NAME=reader
(umask 077 && mkdir -p "$SCR_CACHE_BASE/reader/scr.refused/scr.run.0000000000000001/scr.quarantine.2147483647")
for file in ck.*/rank_*; do
    echo good >"$file"
done
"$@" "$program" >log 2>&1 || { cat log && exit 1; }
grep -q "starting after step 0" log
grep -q "stopping after step 100" log
[[ $(grep -c "ERROR.*highest number" log) -eq 1 ]]
[[ $(grep -c "ERROR.*has failed again, for the same reason" log) -eq 9 ]]
[[ $(grep -c "ERROR" log) -eq 10 ]]
[[ $(cat ck.*/rank_* | sort -u) == good ]]
