#!/usr/bin/env bash
# Usage: errors.sh PYTHON LAUNCHER...
# What is wrong outside of the program is told in one line with the remedy, and no process waits for one
# that has ended. SCR_LIBRARY names the library. Run through tests/in_empty_directory.sh.
set -euo pipefail

python=$1
shift

# expect WORDS: the last line has them.
expect() {
    tail -n 1 log | grep -Eq "$1" && return
    echo "FAILED: the last line has not: $1"
    cat log
    exit 1
}

# fails COMMAND...: it must.
fails() {
    if timeout 60 "$@" >log 2>&1; then
        echo "FAILED: no error of $*"
        exit 1
    elif [[ $? -eq 124 ]]; then
        echo "FAILED: no end of $*"
        exit 1
    fi
}

# The module and its constants are there without libscr.
env -u SCR_LIBRARY "$python" -c "import scr; assert scr.FLAG_OUTPUT == 2"
fails env -u SCR_LIBRARY LD_LIBRARY_PATH= "$python" -c "import scr; scr.get_version()"
expect "scr.*Error: .*libscr.so.3 \(by the loader\): .*No such file.*Set SCR_LIBRARY to the path of libscr.so"
fails env SCR_LIBRARY=/nowhere/libscr.so "$python" -c "import scr; scr.init()"
expect "/nowhere/libscr.so \(SCR_LIBRARY\): .*No such file"
[[ $(grep -c "by the loader" log) -eq 0 ]]
fails env SCR_LIBRARY=libc.so.6 "$python" -c "import scr; scr.get_version()"
expect "SCR_Get_version failed .*libc.so.6 has no such function"
# Found by the loader.
ln -s "$SCR_LIBRARY" libscr.so.3
version=$(env -u SCR_LIBRARY LD_LIBRARY_PATH="$PWD" "$python" -c "import scr; print(scr.get_version())")
[[ $version == v3.1.0 ]] || { echo "FAILED: version $version by the loader" && exit 1; }

# An error of one process that nobody catches: the others wait for it in a collective call.
cat >alone.py <<'END'
import scr

scr.init()
if scr.rank() == 1:
    raise ValueError("alone")
scr.have_restart()
END
fails "$@" "$python" alone.py
grep -q "ValueError: alone" log || { cat log && exit 1; }
