# What the scripts beside it share. Source it.
# shellcheck shell=bash

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Builds the programs against the libscr of directory $2, or of pkg-config's scr.pc. $1: plain or
# yield, how MPI waits.
prepare() {
    [ -z "$2" ] || export PKG_CONFIG_PATH="$2/lib/pkgconfig:$2/lib64/pkgconfig"
    local mpicc=${MPICC:-mpicc.mpich}
    work=$(mktemp -d)
    export BENCH_CACHE=${BENCH_CACHE:-/dev/shm/scr-bench.$$}
    trap 'rm -rf "$work" "$BENCH_CACHE"' EXIT
    mkdir -p "$BENCH_CACHE" "$work/prefix"
    # shellcheck disable=SC2046 # the flags are words
    "$mpicc" -O2 -o "$work/scr_bench" "$here/scr_bench.c" $(pkg-config --cflags --libs scr) \
        "-Wl,-rpath,$(pkg-config --variable=libdir scr)"
    "$mpicc" -O2 -o "$work/limits" "$here/limits.c"
    preload=()
    if [ "$1" = yield ]; then
        "$mpicc" -O2 -shared -fPIC -o "$work/yield.so" "$here/yield_shim.c" -ldl
        preload=(env "LD_PRELOAD=$work/yield.so")
    fi
}

# The value of NAME in lines of NAME=VALUE[...] words.
value() { sed -n "s/.*[ ]$1=\([0-9.]*\).*/\1/p" "$2" | head -n 1; }

launch() { # ranks program argument...
    "${preload[@]}" "${MPIEXEC:-mpiexec.hydra}" -n "$@"
}

# Empty caches and an empty prefix directory.
begin_anew() {
    rm -rf "$work/prefix" "${BENCH_CACHE:?}"/n*
    mkdir "$work/prefix"
}

# Runs scr_bench; its words go to $work/bench, its complaints to $work/errors.
bench() { # ranks scheme argument...
    local ranks=$1 scheme=$2
    shift 2
    (cd "$work/prefix" && SCR_CACHE_BYPASS=0 SCR_FLUSH=0 SCR_COPY_TYPE=$scheme SCR_JOB_ID=bench \
        launch "$ranks" "$here/as_node" "$work/scr_bench" "$@" >"$work/bench" 2>"$work/errors")
}

# Bytes of redundancy for each byte of data on RANKS nodes, as the programs here ask for it.
parity() { # scheme ranks
    awk -v scheme="$1" -v n="$2" 'BEGIN {
        k = n > 2 ? 2 : 1
        of["SINGLE"] = 0; of["PARTNER"] = 1; of["XOR"] = 1 / (n - 1); of["RS"] = k / (n - k)
        print of[scheme] }'
}
