#!/usr/bin/env bash
# Usage: paced.sh FILE PROGRAM ARGUMENT...
# The example, to do as many steps as the file says, once it is there.
set -euo pipefail

file=$1
shift
until steps=$(cat "$file" 2>/dev/null); do sleep 0.05; done
exec "$@" steps "$steps"
