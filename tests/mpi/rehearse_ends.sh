#!/usr/bin/env bash
# Usage: rehearse_ends.sh SCR PROGRAM LAUNCHER...
# scr rehearse leaves no process behind: neither if it fails, nor a transfer daemon of a node that is lost. Run through
# tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 program=$2
shift 2
# Without the option for the number of ranks, which scr rehearse adds.
launcher="${*:1:$#-1}"
export SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_COPY_TYPE=XOR SCR_FLUSH=0

fail() {
    echo "FAILED: $*"
    [[ ! -f log ]] || cat log
    exit 1
}

# rehearse STATUS PROGRAM: in the end no process is there.
rehearse() {
    local status=0
    rm -rf stage
    "$scr" rehearse --launcher "$launcher" --dir stage --ranks 4 --nodes 2 --compare result --kill rank@2 --relaunch -- \
        "$2" right >log 2>&1 || status=$?
    # A process that ends meanwhile is an error of grep.
    grep -lsz "^SCR_PREFIX=$PWD/stage/" /proc/[0-9]*/environ >left || true
    [[ ! -s left ]] || fail "processes are left: $(tr '\n' ' ' <left)"
    [[ $status == "$1" ]] || fail "exit status $status, not $1"
}

# The event log becomes a directory while a launch is followed.
cat >spoils <<END
#!/bin/sh
case \$PWD in
*/\$SPOILED)
    if mkdir ../spoiled 2>/dev/null; then
        (
            until [ -e .scr/log ]; do sleep 0.01; done
            # The program may make it again meanwhile.
            until mkdir .scr/log; do rm -f .scr/log; done 2>/dev/null
        ) &
    fi
    ;;
esac
exec "$program" "\$@"
END
chmod +x spoils
for launch in struck relaunched; do
    SPOILED=$launch rehearse 1 "$PWD/spoils"
    grep -q "$launch/.scr/log: is not a regular file" log || fail "it does not say that the event log cannot be read"
    echo "ok: $launch: a launch ends with the rehearsal that cannot read its event log"
done

# The daemons are stopped, so that they do not see that their node is lost. Then each rank looks for them. One process goes on
# when the program has ended.
cat >looks <<END
#!/usr/bin/env bash
# daemons SIGNAL NODE...: those that are there get the signal.
daemons() {
    signal=\$1
    shift
    for node; do
        for process in /proc/[0-9]*; do
            if tr '\\0' '\\n' <"\$process/environ" | grep -qx "SCR_JOB_ID=\$SCR_JOB_ID" &&
                tr '\\0' '\\n' <"\$process/environ" | grep -qx "SCR_NODE_NAME=\$node" &&
                tr '\\0' ' ' <"\$process/cmdline" | grep -q ' transfer '; then
                kill -s "\$signal" "\${process#/proc/}"
                echo "\$node \${process#/proc/}"
            fi
        done 2>/dev/null
    done
}
case \$PWD in
*/relaunched)
    lost=\$(cd ../relaunched.nodes/lost && echo *)
    if [ "\$lost" != '*' ]; then
        : >../looked
        daemons CONT "\$lost" >>../orphans
        daemons CONT n0 n1 spare0 >/dev/null
    elif mkdir ../first 2>/dev/null; then
        daemons STOP n0 n1 >../stopped
        # The launcher waits for files that are open.
        (
            for file in /proc/\$BASHPID/fd/*; do eval "exec \${file##*/}>&-"; done
            exec setsid sleep 300
        ) &
    fi
    ;;
esac
exec "$program" "\$@"
END
chmod +x looks
SCR_FLUSH=1 SCR_FLUSH_ASYNC=1 SCR_FLUSH_TYPE=DAEMON SCR_FLUSH_DAEMON_TIMEOUT=2 rehearse 0 "$PWD/looks"
[[ -e stage/looked ]] || fail "no node was lost"
[[ $(wc -l <stage/stopped) == 2 ]] || fail "the daemons of both nodes were not found"
[[ ! -s stage/orphans ]] || fail "processes of a lost node live: $(cat stage/orphans)"
echo "ok: the transfer daemon of a lost node is killed, and what a program has left"
