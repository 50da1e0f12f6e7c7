#!/usr/bin/env bash
# Usage: import.sh SCR PROGRAM LAUNCHER...
# A run with the imported configuration of FTI, and one with that of VELOC, are killed half-way and go on
# from the directories that these name. Run through tests/in_empty_directory.sh.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"; tail -n 20 */global/*.log' ERR
fail() {
    echo "FAILED: $*"
    exit 1
}
# shellcheck source=tests/killed.sh
source "$(dirname "${BASH_SOURCE[0]}")/../killed.sh"

scr=$1 program=$2
shift 2
# What the environment says would count more than the file.
unset SCR_CACHE_BASE

mkdir -p fti/global fti/local veloc/global veloc/local
cat >fti/config <<END
[Basic]
Ckpt_dir = ./local   # in the node
Glbl_dir = ./global
Ckpt_L1 = 1
Ckpt_L2 = 2
Ckpt_L3 = 0
Ckpt_L4 = 4
Group_size = 2
Inline_L4 = 0
keep_l4_ckpt = 1
END
cat >veloc/config <<END
scratch = $PWD/veloc/local
persistent = ./global
mode = async
END

for from in fti veloc; do
    "$scr" import-config "$from/config" >"$from/global/.scrconf"
    cd "$from/global"
    export SCR_PREFIX=$PWD SCR_JOB_ID=$from
    # Killed after the third of four checkpoints, so that only what is in these directories counts.
    killed first.log 'grep -q "checkpoint heat2d.15" first.log' "$program" \
        "$@" "$program" size 64 steps 40 every 5 delay 500 output ""
    [[ -n $(find ../local -name "rank.*") ]]
    "$@" "$program" size 64 steps 40 every 5 output "" >second.log 2>&1
    grep "restarted from heat2d" second.log
    grep -q "finished step 40" second.log
    # The last checkpoint is in the prefix directory.
    [[ -e heat2d.40/rank.0 ]]
    cd ../..
done
