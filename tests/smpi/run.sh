#!/usr/bin/env bash
# Usage: run.sh ARCHIVE RANKS RANKS_PER_NODE BYTES [OPTION_OF_SMPI...]
#
# A job on a simulated network: RANKS ranks in one process of SimGrid's SMPI, with the C interface and the transport
# of libscr.a (ARCHIVE), which was built for MPICH. The first run writes two checkpoints with XOR, each rank a file
# of BYTES. The second restarts. Then a node loses its disk, and a third run restarts and compares all files.
#
# Prints the simulated seconds of each call on the slowest rank, and what SCR says. Messages take time, computing
# and files take none; with the option --cfg=smpi/simulate-computation:yes they take what they take here.
#
# The network is a fat tree with full bisection: leaves of 16 nodes, or one leaf if there are fewer. SMPI_LATENCY
# is that of a link (1us), SMPI_BANDWIDTH that of a node (25GBps). SMPI has factors of its own for them: a short message
# takes 0.6 us in a node, 6 us in a leaf and 12 us between leaves.
#
# Run it in an empty directory, in memory if there are many ranks. 4096 ranks need 20 minutes and 3 GB.
set -euo pipefail

archive=$1 ranks=$2 per_node=$3 bytes=$4
options=("${@:5}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for tool in smpicc smpirun; do
    if ! command -v "$tool" >/dev/null; then
        echo "SKIPPED: $tool of SimGrid is not installed (Debian: libsimgrid-dev)"
        exit 77
    fi
done

smpicc -O1 -Wall -Wextra -Werror -c -o mpi.o "$here/mpi.c"
"${MPICC:-mpicc.mpich}" -O1 -Wall -Wextra -Werror -fPIC -I"$here/../../include" -c -o cycle.o "$here/cycle.c"
echo '{ global: main; local: *; };' >symbols
"${CC:-cc}" -shared -o cycle cycle.o mpi.o "$archive" -lsimgrid -lm -Wl,-z,defs -Wl,--gc-sections \
    -Wl,--version-script=symbols

nodes=$(((ranks + per_node - 1) / per_node))
leaf=$((nodes < 16 ? nodes : 16))
leaves=$(((nodes + leaf - 1) / leaf))
cat >platform.xml <<XML
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="machine" prefix="node" suffix="" radical="0-$((leaf * leaves - 1))" speed="${SMPI_SPEED:-1Gf}"
    bw="${SMPI_BANDWIDTH:-25GBps}" lat="${SMPI_LATENCY:-1us}" loopback_bw="50GBps" loopback_lat="200ns"
    topology="FAT_TREE" topo_parameters="2;$leaf,$leaves;1,$leaf;1,1" sharing_policy="SPLITDUPLEX"/>
</platform>
XML
for ((rank = 0; rank < ranks; rank++)); do
    echo "node$((rank / per_node))"
done >hosts

# Each rank has its own data segment, which SMPI maps when the rank goes on. Collectives take the ways that MPICH takes
# for short messages.
run() {
    echo "--- $1"
    smpirun -np "$ranks" -platform ../platform.xml -hostfile ../hosts --cfg=smpi/privatization:mmap \
        --cfg=smpi/simulate-computation:no --cfg=smpi/allreduce:rdb --cfg=smpi/barrier:ompi_bruck \
        --cfg=smpi/bcast:binomial_tree \
        --cfg=contexts/stack-size:512 --cfg=contexts/guard-size:0 --log=root.thres:warning \
        "${options[@]}" ../cycle "$1" "$bytes"
}

mkdir prefix
cd prefix
# %h is the name of the simulated node.
export SCR_NODE_NAME=%h SCR_CACHE_BASE=$PWD/../nodes/%h/cache SCR_CNTL_BASE=$PWD/../nodes/%h/cntl
export SCR_COPY_TYPE=XOR SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_FLUSH=0 SCR_JOB_ID=simulated
run write
run intact
rm -r ../nodes/node2
run lost
