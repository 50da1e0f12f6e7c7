#!/usr/bin/env bash
# Usage: in_empty_directory.sh DIRECTORY COMMAND...
# Runs a command in a new directory which is also SCR's prefix, cache and control base, so that
# no test sees what another left behind, and none touches the user's jobs.
set -euo pipefail

directory=$1
shift
rm -rf "$directory"
mkdir -p "$directory/prefix" "$directory/cache" "$directory/cntl"
cd "$directory/prefix"

# A setting of the surrounding job must not change what is tested.
for name in $(compgen -e SCR_ || true); do
    [[ $name == SCR_TEST_* ]] || unset "$name"
done
export SCR_PREFIX=$PWD SCR_CACHE_BASE=$directory/cache SCR_CNTL_BASE=$directory/cntl
export SCR_JOB_ID=test
exec "$@" </dev/null
