#!/usr/bin/env bash
# Usage: explain_refused.sh SCR PROGRAM LAUNCHER...
# Where scr rehearse may not look at ranks, or cannot reach them, it says so, and what is still possible. Run through
# tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 program=$2
shift 2
# Without the option for the number of ranks, which scr rehearse adds.
launcher="${*:1:$#-1}"
export SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_COPY_TYPE=XOR SCR_FLUSH=0
# Shared memory of an MPI may need what is forbidden here. MPICH's own may not, and its TCP may wait forever in MPI_Finalize.
export UCX_TLS=sysv,self OMPI_MCA_btl=tcp,self

fail() {
    echo "FAILED: $*"
    [[ ! -f log ]] || cat log
    exit 1
}

# rehearse STATUS LAUNCHER WORD...: with these options and this program.
rehearse() {
    local wanted=$1 launcher=$2 status=0
    shift 2
    rm -rf stage
    "${as[@]}" "$scr" rehearse --launcher "$launcher" --dir stage --ranks 2 --nodes 2 "$@" >log 2>&1 || status=$?
    [[ $status == "$wanted" ]] || fail "$*: exit status $status, not $wanted"
}

# told PATTERN...: what the report says.
told() {
    local pattern
    for pattern; do grep -q -- "$pattern" log || fail "it does not say: $pattern"; done
}

# A program that its user may not read is protected by the system. Root may all, unless it gives that away.
install -m 111 "$program" unreadable
as=(env)
if [[ -r unreadable ]]; then
    as=(setpriv --bounding-set=-all --inh-caps=-all)
fi
if ! "${as[@]}" true 2>/dev/null || "${as[@]}" test -r unreadable; then
    echo "SKIPPED: no look at memory is forbidden here: this user may read all files"
else
    rehearse 1 "$launcher" --list -- "$PWD/unreadable" local
    told 'the memory of rank 0 (process [0-9]*) cannot be looked at: .*Permission denied' \
        'Without --list, scr rehearse kills the program, restarts it and compares its checkpoints'
    rehearse 1 "$launcher" --explain --compare result --kill rank@2 -- "$PWD/unreadable" local
    told '^launch 1: rank . is killed' '^NOT RECOVERED$' 'The verdict does not depend on it$' \
        '^no explanation: the memory of rank 0 (process [0-9]*) cannot be looked at: .*Permission denied'
    echo "ok: what cannot be looked at is killed, restarted and compared all the same"
fi

as=(env)
# Ranks elsewhere have no memory in common. These launches end before MPI_Finalize.
export UCX_TLS=tcp,self
contained=(unshare --pid --fork --mount-proc --kill-child)
if ! "${contained[@]}" true 2>/dev/null; then
    echo "SKIPPED: ranks elsewhere: this user may make no process ids of its own"
    exit 0
fi
rehearse 1 "$launcher" --list -- "${contained[@]}" "$program" local
told 'the memory of rank 0 cannot be looked at: it runs in a container with process ids of its own' 'Without --list'

# launcher NAME TEST: a launcher that starts ranks elsewhere, if the test is true for them.
launcher() {
    cat >"$1.rank" <<END2
#!/bin/sh
rank=\${PMI_RANK:-\$OMPI_COMM_WORLD_RANK}
$2 && exec unshare --uts ${contained[*]:1} sh -c 'hostname node9; exec "\$@"' sh "\$@"
exec "\$@"
END2
    cat >"$1" <<END2
#!/bin/sh
option=\$1 ranks=\$2
shift 2
exec $launcher "\$option" "\$ranks" "$PWD/$1.rank" "\$@"
END2
    chmod +x "$1" "$1.rank"
}
launcher all true
# The test is for the script.
# shellcheck disable=SC2016
launcher second '[ "$rank" = 1 ]'

# left: no process of the last stage is there.
left() {
    # A process that ends meanwhile is an error of grep.
    grep -lsz "^SCR_PREFIX=$PWD/stage/" /proc/[0-9]*/environ >left || true
    [[ ! -s left ]] || fail "processes are left: $(tr '\n' ' ' <left)"
}

rehearse 1 ./all --list -- "$program" local
told '2 of 2 ranks run on node9, and scr rehearse on ' 'have the launcher start all ranks on this machine'
left
rehearse 1 ./all -- "$program" local
told '2 of 2 ranks run on node9, and scr rehearse on '
left
rehearse 1 ./second -- "$program" local
told '1 of 2 ranks runs on node9, .*; --list shows the variables of the ranks that are here$'
left
echo "ok: ranks on other machines are not killed"

rehearse 0 ./second --list -- "$program" local
told '^variables on 1 rank after ck.4, and what changes until ck.8$' '1 of 2 ranks runs on node9, where no memory can be looked at$' \
    '^scratch .* not in the list, changes$'
left
echo "ok: those that are here are looked at"
