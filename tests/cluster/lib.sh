# Jobs on the test cluster, to be struck in mid-run. Source it, in the prefix directory; $bin must
# hold the directory of our programs.
# shellcheck shell=bash
# shellcheck disable=SC2154 # bin
# shellcheck disable=SC2034 # used by those who source it

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
launch=(srun -N4 -n4 --mpi=pmi2)
shape=(size 64 every 10)
run=

fail() {
    echo "FAILED: $*"
    if [[ -f log ]]; then
        echo "--- the end of the last log:"
        tail -n 60 log
    fi
    exit 1
}

cluster() {
    "$here/cluster.sh" "${SCR_TEST_CLUSTER:?}" "$@"
}

# begin COMMAND...: runs it in an allocation of all five nodes, in the background, with its
# output in ./log.
begin() {
    : >log
    # In a session of its own: what is left of it when a test ends can be killed as one.
    setsid salloc -Q --no-kill -N5 "$@" >log 2>&1 </dev/null &
    run=$!
}

# The example on each rank. It does as many steps as ./steps says, and waits for that file if it
# is not there: so a run can be struck, and the next one be told how far to go.
# example PROGRAM ARGUMENT...
example() {
    printf '%s\n' "$here/paced.sh" "$PWD/steps" "$bin/$1" "${shape[@]}" "${@:2}"
}

# wait_for PATTERN: until the log has such a line; status 1 if the run is over without one.
wait_for() {
    while ! grep -q -- "$1" log; do
        if ! kill -0 "$run" 2>/dev/null; then
            grep -q -- "$1" log
            return
        fi
        sleep 0.05
    done
}

# The step of the newest checkpoint that the log tells of.
completed() {
    sed -n 's/^heat2d: checkpoint heat2d\.\([0-9]*\)$/\1/p' log | tail -n 1
}

# go_on STEPS: lets the example do so many.
go_on() {
    echo "$1" >steps.new
    mv steps.new steps
}

# The step from which the log's last run went on.
restarted() {
    sed -n 's/^heat2d: restarted from heat2d\.//p' log | tail -n 1
}

# Waits for the end of the run; returns its status.
finish() {
    local status=0
    wait "$run" || status=$?
    run=
    return "$status"
}

# same_result PROGRAM STEPS: the field is that of a run which nothing happened to.
same_result() {
    grep -q "finished step $2," log || fail "step $2 was not reached"
    mkdir -p ../whole
    [[ -f ../whole/$1.$2 ]] ||
        env -u SLURM_EXPORT_ENV SCR_ENABLE=0 "$bin/$1" "${shape[@]}" steps "$2" \
            output "../whole/$1.$2" >../whole/log 2>&1 || fail "the run without SCR"
    cmp field "../whole/$1.$2" || fail "the result is another one"
}

# A cluster with all nodes up and nothing running, and a prefix directory with nothing in it. If the
# nodes do not become idle after an earlier test, this prints their states and starts the cluster again.
fresh() {
    rm -rf ./.scr ./* .scrconf
    env "SLURM_CONF=$SCR_TEST_CLUSTER/slurm.conf" scancel --quiet --user="$(id -un)" || true
    if ! all_idle; then
        cluster run sinfo -N -h -o '%N %T %E' || true
        cluster run squeue -h -o '%i %T %N %r' || true
        cluster up 5
        all_idle || fail "the cluster does not come up"
    fi
}

all_idle() {
    local node
    for node in node1 node2 node3 node4 node5; do
        cluster exec "$node" true 2>/dev/null || cluster power-on "$node" || return
        # What jobs before have left in the node's memory.
        cluster exec "$node" find /dev/shm -mindepth 1 -delete || return
    done
    cluster wait-idle
}

clean_up() {
    if [[ -n $run ]]; then
        kill -9 -- "-$run" 2>/dev/null || true
        scancel --quiet --user="$(id -un)" || true
    fi
}

if [[ ! -f ${SCR_TEST_CLUSTER:-}/slurm.conf ]]; then
    echo "SKIPPED: there is no cluster; cluster.sh says why"
    exit 77
fi
trap clean_up EXIT
trap 'echo "FAILED: ${BASH_SOURCE[0]##*/}, line $LINENO: $BASH_COMMAND"' ERR

# Directories are each node's own /dev/shm, the job is Slurm's.
unset SCR_CACHE_BASE SCR_CNTL_BASE SCR_JOB_ID
export SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_FLUSH=0
export SLURM_CONF=$SCR_TEST_CLUSTER/slurm.conf
# The nodes share a kernel, which UCX takes for one machine: only TCP really works between them.
export UCX_TLS=tcp,self
# For the programs alone, not for the commands.
export SLURM_EXPORT_ENV=ALL${SCR_TEST_PRELOAD:+,LD_PRELOAD=$SCR_TEST_PRELOAD}
fresh
