#!/usr/bin/env bash
# Usage: found.sh SOURCE CMAKE LIBRARY COMMAND
# The installation of found_tree.sh: what is in it, and programs in all languages with each MPI that is here. Run
# through tests/in_empty_directory.sh.
set -euo pipefail

source=$1 cmake=$2 library=$3 command=$4

"$source/tests/release/found_tree.sh" "$source" "$cmake" "$library" "$command"
"$source/tests/release/contents.sh" "$source" "$PWD/installed" any "$PWD/installed"
exec "$source/tests/release/tree.sh" "$source" "$PWD/installed" "$cmake"
