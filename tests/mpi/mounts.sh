#!/usr/bin/env bash
# Usage: mounts.sh CHURN SCR LAUNCHER...
# What only mounts show: ranks of a node that each have a /dev/shm of their own, and a prefix directory that is
# mounted at another path. Also one that is made again. Run through tests/in_empty_directory.sh.
set -euo pipefail

# shellcheck source=tests/own_mounts.sh
source "$(dirname "${BASH_SOURCE[0]}")/../own_mounts.sh"

program=$1 scr=$2
shift 2
launcher=("$@")
# shellcheck source=tests/mpi/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
top=$PWD
record=$top/record
# Nothing may name the job but the prefix directory, and nothing stays in the node's /dev/shm.
for name in SCR_JOB_ID FLUX_JOB_ID FLUX_URI SLURM_JOB_ID SLURM_JOBID LSB_JOBID PBS_JOBID PMIX_NAMESPACE; do
    unset "$name"
done
mount -t tmpfs none /dev/shm
# No MPI can use /dev/shm between ranks that do not share it.
export MPIR_CVAR_NOLOCAL=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self
export SCR_CACHE_BYPASS=0 SCR_FLUSH=0 SCR_COPY_TYPE=SINGLE

# Two ranks of this machine, each with an own /dev/shm.
cat >apart.sh <<'END'
#!/bin/sh
exec unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec "$0" "$@"' "$@"
END
chmod +x apart.sh

# ranks [COMMAND...]: a run of two ranks, which COMMAND starts; its output is in ./log.
ranks() {
    rm -f log
    : >"$record"
    "${launcher[@]}" 2 "$@" "$program" "$record" count 2 >log 2>&1 </dev/null
}

unset SCR_CACHE_BASE SCR_CNTL_BASE
ranks || fail "two ranks that share /dev/shm"
rm -rf .scr /dev/shm/*
ranks ./apart.sh && fail "two ranks with different directories began"
[[ $(grep -c "SCR-119" log) -eq 1 ]] || fail "not one line has SCR-119"
grep -q "ERROR.* /dev/shm.* is not the same directory for all ranks of node .*SCR-119" log ||
    fail "it does not say what is wrong"
grep -q "set SCR_CACHE_BASE and SCR_CNTL_BASE to a directory that they share" log || fail "it names no remedy"
echo "ok: each rank has its own /dev/shm"

# The remedies.
(
    export SCR_CACHE_BASE=$top/shared SCR_CNTL_BASE=$top/shared
    ranks ./apart.sh || fail "a directory that they share"
) || exit 1
grep -q "SCR-119" log && fail "SCR-119 though they share it"
rm -rf .scr
cat >node.sh <<'END'
#!/bin/sh
export SCR_NODE_NAME=n${PMI_RANK:-$OMPI_COMM_WORLD_RANK}
exec "$@"
END
chmod +x node.sh
ranks ./node.sh ./apart.sh || fail "each rank is a node"
grep -q "SCR-119" log && fail "SCR-119 though each rank is a node"
rm -rf .scr
echo "ok: the remedies"

# in_prefix PATH ARGUMENT...: a run on two emulated nodes, with this prefix directory.
in_prefix() {
    export SCR_PREFIX=$1
    shift
    (cd "$SCR_PREFIX" && exec "${launcher[@]}" 2 "$here/on_node.sh" "$nodes" "n0 n1" "$program" "$record" "$@") >log \
        2>&1 </dev/null || fail "a run in $SCR_PREFIX"
}

# of_node COMMAND...: a command of scr on the first node, without a name of the job.
of_node() {
    SCR_CACHE_BASE=$nodes/n0/cache SCR_CNTL_BASE=$nodes/n0/cntl "$scr" "$@"
}

# The jobs of the first node, by its cache.
jobs() {
    (cd "$nodes/n0/cache/$(id -un)" && printf '%s\n' scr.* | sed 's/^scr\.//')
}

mkdir -p run other "$nodes"
: >"$record"
in_prefix "$top/run" count 3
job=$(jobs)
[[ $(wc -l <<<"$job") -eq 1 && $job != "*" ]] || fail "the jobs are $job"
[[ $(of_node env --jobid) == "$job" ]] || fail "scr env names another job than $job: $(of_node env --jobid)"
mount --bind run other
[[ $(of_node env --jobid --prefix other) == "$job" ]] || fail "scr env names another job at the other path"
of_node clean --dry-run --prefix other | grep -q "^Would remove .*/scr.$job" ||
    fail "scr clean does not find it at the other path"
in_prefix "$top/other" count 1
grep -q "^churn: restarted from 3$" log || fail "the run at the other path did not go on"
grep -E "SCR-(201|215|252)" log && fail "the run at the other path did not know its cache"
[[ $(jobs) == "$job" ]] || fail "the run at the other path has made another job: $(jobs)"
[[ $(of_node env --jobid --prefix run) == "$job" ]] || fail "scr env names another job at the first path"
in_prefix "$top/run" count 0
grep -q "^churn: restarted from 4$" log || fail "the run at the first path did not go on"
grep -E "SCR-(201|215|252)" log && fail "the run at the first path did not know its cache"
umount other
echo "ok: a prefix directory that is mounted at another path"

# It is made again: the old cache is told, and is not used.
rm -rf run
mkdir run
in_prefix "$top/run" count 1
grep -q "^churn: restarted from 0$" log || fail "the new directory went on from the cache of the old one"
remedy=$(sed -n 's/.*\(scr clean --job [^ ;]*\).*SCR-252.*/\1/p' log | sort -u)
[[ $remedy == "scr clean --job $job" ]] || fail "the remedy is: $remedy"
new=$(of_node env --jobid)
[[ $new != "$job" && $(jobs | sort) == $(printf '%s\n' "$job" "$new" | sort) ]] || fail "the jobs are $(jobs)"
of_node clean --job "$job" >cleaned || fail "scr clean: $(cat cleaned)"
[[ $(jobs) == "$new" ]] || fail "after scr clean the jobs are $(jobs)"
in_prefix "$top/run" count 0
grep -q "^churn: restarted from 1$" log || fail "scr clean has removed the cache of the new directory"
echo "ok: a prefix directory that was made again"
