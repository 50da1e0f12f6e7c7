#!/usr/bin/env bash
# Usage: cluster.sh DIR COMMAND...
#
# A real Slurm of several nodes on one machine. Each node has its own host name, process ids and
# /dev/shm, can lose power, and comes back with nothing but its name. A file system that is mounted below
# DIR/shared is seen on all nodes. Needs root, slurm-wlm and munge; nothing outside DIR is written.
#
#   up [N]               starts node1 to nodeN (5); exit 77 if a cluster cannot run here
#   down                 ends all of it, also what an earlier kill -9 of this script left behind
#   power-off NODE       a power cut: every process of the node is killed, its memory is lost;
#                        Slurm notices within half a minute
#   report NODE          tells Slurm that the node is down, as a management network would
#   power-on NODE        the node again, empty
#   exec NODE COMMAND    runs a command on the node, outside Slurm
#   wait-idle [NODE...]  until these nodes (or all) can take a job; exit 1 after a minute
#   run COMMAND          runs a command for which Slurm's commands talk to this cluster
set -euo pipefail

die() {
    echo "cluster.sh: $*" >&2
    exit 1
}

skip() {
    echo "SKIPPED: no cluster can run here: $*"
    exit 77
}

usage() {
    sed -n '2,17s/^# \{0,1\}//p' "$0"
    exit "$1"
}

# become NAME COMMAND...: turns this (sub)shell into the command, recorded under that name.
become() {
    local record=$dir/run/$1
    shift
    echo "$BASHPID" >"$record"
    exec setsid env "SCR_TEST_RECORD=$record" "$@"
}

# The id of a recorded process that is still there. It also bears the mark of its record, so
# that an id which has gone to another process never names that one.
pid_of() { # NAME
    local pid
    read -r pid 2>/dev/null <"$dir/run/$1" || return 1
    grep -qszxF "SCR_TEST_RECORD=$dir/run/$1" "/proc/$pid/environ" && echo "$pid"
}

# finish NAME: kills a recorded process and waits until it is gone.
finish() {
    local pid
    while pid=$(pid_of "$1"); do
        kill -9 "$pid" 2>/dev/null || true
        sleep 0.05
    done
    rm -f "$dir/run/$1"
}

patience() { # SECONDS COMMAND...: until the command succeeds; status 1 if it does not in time
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || return 1
        sleep 0.2
    done
}

in_use() { # PORT
    (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# The first of N + 1 ports in a row that nobody listens to, below those that clients are given.
free_ports() {
    local base port
    for ((base = 20000 + RANDOM % 100 * 100; base < 32000; base += 100)); do
        for ((port = base; port <= base + $1; port++)); do
            in_use "$port" && continue 2
        done
        echo "$base"
        return
    done
    die "no free ports"
}

configure() { # N
    local base n
    base=$(free_ports "$1")
    cat >"$dir/slurm.conf" <<END
ClusterName=scr
SlurmctldHost=localhost
SlurmctldPort=$base
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket,cred_expire=20
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/spool/slurmctld.pid
SlurmdPidFile=$dir/spool/%n.pid
SlurmctldLogFile=$dir/log/slurmctld
SlurmdLogFile=$dir/log/%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
TreeWidth=100
# A dead node is noticed within some seconds, and is taken back when it answers.
SlurmdTimeout=10
ReturnToService=2
KillWait=2
# On a busy machine a killed step may take its time; the node must not be drained for it.
UnkillableStepTimeout=300
InactiveLimit=0
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    for ((n = 1; n <= $1; n++)); do
        echo "NodeName=node$n NodeHostname=node$n NodeAddr=127.0.0.1 Port=$((base + n)) CPUs=4" \
            >>"$dir/slurm.conf"
        echo "127.0.0.1 node$n"
    done >"$dir/hosts"
    echo "127.0.0.1 localhost" >>"$dir/hosts"
}

# What runs first in the name spaces of a node. The host's /dev/shm and names are hidden.
inside() { # NODE
    hostname "$1"
    # What is mounted later below DIR/shared is seen on the nodes, and nothing of theirs outside.
    mount --make-rslave /
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    mount --bind "$dir/hosts" /etc/hosts
    exec slurmd -D -N "$1" -f "$dir/slurm.conf"
}

power_on() { # NODE
    grep -qs "^NodeName=$1 " "$dir/slurm.conf" || die "there is no node $1"
    ! pid_of "$1" >/dev/null || die "$1 is on"
    mkdir -p "$dir/spool/$1"
    (become "$1" unshare --uts --ipc --mount --propagation slave --pid --fork --kill-child=KILL --mount-proc \
        "$self" "$dir" inside "$1") >>"$dir/log/$1.out" 2>&1 </dev/null &
    patience 60 pid_of "$1" || die "$1 did not start"
}

# Its first process dies, and the kernel kills the others of its name space with it.
power_off() { # NODE
    pid_of "$1" >/dev/null || die "$1 is off"
    finish "$1"
    rm -rf "$dir/spool/$1"
}

# Whether the nodes, or all, can take a job.
idle() { # NODE...
    local nodes="$*" states
    states=$(sinfo -h -o %T ${nodes:+-n "${nodes// /,}"}) && [[ $states == idle ]]
}

up() { # N
    [[ $EUID -eq 0 ]] || skip "only root may"
    local program
    for program in slurmctld slurmd munged srun unshare; do
        command -v "$program" >/dev/null || skip "$program is missing"
    done
    unshare --uts --ipc --mount --pid --fork --mount-proc true 2>/dev/null || skip "no name spaces"

    # The longest name of a socket in it must fit into the 107 bytes that there are for it.
    ((${#dir} <= 70)) || die "$dir: the name is too long for sockets, use a shorter one"
    down
    mkdir -p "$dir"/{munge,run,state,spool,log,shared}
    mount --bind "$dir/shared" "$dir/shared"
    mount --make-shared "$dir/shared"
    (umask 077 && head -c 128 /dev/urandom >"$dir/munge/key")
    configure "$1"
    # --force: the directory may lie anywhere, also where others may not go.
    (become munged munged --foreground --force --socket="$dir/munge/socket" \
        --key-file="$dir/munge/key" --pid-file="$dir/munge/pid" --seed-file="$dir/munge/seed" \
        --log-file="$dir/log/munged") >"$dir/log/munged.out" 2>&1 </dev/null &
    patience 30 test -S "$dir/munge/socket" || die "munged did not start, see $dir/log"
    (become slurmctld slurmctld -D -i -f "$dir/slurm.conf") >"$dir/log/slurmctld.out" 2>&1 \
        </dev/null &
    local n
    for ((n = 1; n <= $1; n++)); do
        power_on "node$n"
    done
    patience 120 idle || die "the nodes did not come up, see $dir/log"
}

down() {
    local record
    for record in "$dir"/run/*; do
        [[ ! -e $record ]] || finish "${record##*/}"
    done
    umount -R -l "$dir/shared" 2>/dev/null || true
    rm -rf "$dir"/{munge,run,state,spool,log,slurm.conf,hosts}
    rmdir "$dir/shared" 2>/dev/null || true
    rmdir "$dir" 2>/dev/null || true
}

self=$(realpath "$0")
case ${1:-} in
-h | --help) usage 0 ;;
"" | -*) usage 2 ;;
esac
[[ $# -ge 2 ]] || usage 2
dir=$(realpath -m "$1")
command=$2
shift 2
export SLURM_CONF=$dir/slurm.conf

case $command in
up) up "${1:-5}" ;;
down) down ;;
power-off) power_off "$1" ;;
power-on) power_on "$1" ;;
report) scontrol update NodeName="$1" State=DOWN Reason="lost power" ;;
exec)
    pid=$(pid_of "$1") || die "$1 is off"
    shift
    # The first process of the name spaces is the only child of the recorded one.
    pid=$(<"/proc/$pid/task/$pid/children")
    exec nsenter --target "${pid% }" --uts --ipc --mount --pid -- "$@"
    ;;
wait-idle) patience 120 idle "$@" || die "not idle after two minutes: $(sinfo -N -h -o '%N %T')" ;;
run) exec "$@" ;;
inside) inside "$1" ;;
*) usage 2 ;;
esac
