#!/usr/bin/env bash
# Usage: on_node.sh NODES "NAME..." PROGRAM ARGUMENT...
# Started by MPI for each rank: makes rank r a process of the r-th node named, with that node's
# directories below NODES as its cache and control base, and leaves its process id there.
set -euo pipefail

directory=$1
read -ra names <<<"$2"
shift 2
node=${names[${PMI_RANK:-${OMPI_COMM_WORLD_RANK:?no rank in the environment}}]}
mkdir -p "$directory/$node/cache" "$directory/$node/cntl"
export SCR_NODE_NAME=$node
export SCR_CACHE_BASE=$directory/$node/cache SCR_CNTL_BASE=$directory/$node/cntl
echo $$ >"$directory/pid.$node.$$"
exec "$@"
