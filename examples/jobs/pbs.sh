#!/bin/bash
#PBS -l select=5:ncpus=1:mpiprocs=1
#PBS -l walltime=01:00:00
#
# A job of PBS with mpiexec on four nodes, with a fifth in reserve. Submit it in the directory that
# is to hold the checkpoints: qsub pbs.sh

cd "$PBS_O_WORKDIR" || exit 1
export SCR_PREFIX=$PBS_O_WORKDIR
export SCR_CACHE_BYPASS=0     # checkpoints go to the nodes' memory, every tenth to SCR_PREFIX
export SCR_RUNS=3             # three launches at most
export SCR_HALT_SECONDS=600   # stop ten minutes before the end
export SCR_WATCH=calls        # end a launch that hangs, and show what its ranks do
export SCR_WATCH_AFTER=30m    # ... for 30 minutes; take several times the longest step of a run
export SCR_LOG_ENABLE=1       # nodes that fail often are left out; scr report shows what failures cost
# export SCR_REQUEUE=1          # into the queue again, if the time was not enough
# Tests of nodes of the site, see node-tests:
# export SCR_NODE_TESTS=ping,echo,dir_capacity,/site/scr/gpu.sh

scr_run mpiexec -n 4 ./heat2d size 512 steps 2000 every 100
