#!/usr/bin/env bash
# Usage: requeue.sh BIN PROGRAM
# A node loses power, and the job needs all that it has: scr run saves the newest checkpoint and puts the job into
# Slurm's queue again (--requeue). It gets other nodes, and goes on from there.
set -euo pipefail

bin=$1 program=$2
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

shape=(size 512 every 100)
printf '#!/bin/sh\nexec %s %s %s %s delay 5 output field\n' "$here/paced.sh" "$PWD/steps" \
    "$bin/$program" "${shape[*]}" >heat2d
cat >job.sh <<END
#!/bin/bash
#SBATCH --nodes=4 --ntasks=4 --no-kill --requeue --open-mode=append
export SCR_COPY_TYPE=PARTNER SCR_MIN_NODES=4 SCR_RUNS=3 SCR_PREFIX=$PWD
echo "attempt \${SLURM_RESTART_COUNT:-0}"
exec scr run --requeue srun -N4 -n4 --mpi=pmi2 ./heat2d
END
chmod +x heat2d job.sh
export PATH=$bin:$PATH
go_on 900000
: >log
submitted=$(SBATCH_EXPORT=ALL sbatch --parsable --output="$PWD/log" job.sh) || fail "the job was not taken"
# Until Slurm has neither the job nor its second attempt.
(while squeue -h -o %i -j "$submitted" 2>/dev/null | grep -q .; do sleep 0.5; done) &
run=$!
wait_for '^heat2d: checkpoint heat2d.300$' || fail "it ended before it was struck"
victim=$(squeue -h -o %N -j "$submitted" | xargs scontrol show hostnames | tail -n 1)
rm steps
cluster power-off "$victim"
cluster report "$victim"
wait_for '^scr_run: .*the job goes into the queue again (scontrol)' || fail "it was not put into the queue"
reached=$(completed)
go_on $((reached + 100))
# Slurm waits before it starts such a job, until its credentials have expired (cred_expire in cluster.sh).
wait_for '^attempt 1$' || fail "there is no second attempt"
finish || fail "the job did not end"
grep -q "^heat2d: restarted from heat2d.$(restarted)$" log || fail "it did not restart"
same_result "$program" $((reached + 100))
