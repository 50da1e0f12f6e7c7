#!/usr/bin/env bash
# Usage: found_tree.sh SOURCE CMAKE LIBRARY COMMAND
# Makes the directory installed: an installation for every MPI, as scripts/binary-release makes it, of what a build has
# compiled. LIBRARY is the Rust library that finds its MPI, COMMAND is scr.
set -euo pipefail

source=$1 cmake=$2 library=$3 command=$4

# In the place of cargo, so that nothing is compiled again.
real=$(command -v cargo || echo "${CARGO_HOME:-$HOME/.cargo}/bin/cargo")
cat >cargo <<'END_OF_CARGO'
#!/usr/bin/env bash
set -euo pipefail
case $1 in
--version) exec "$REAL" --version ;;
rustc) ;;
*) exit 1 ;;
esac
while [[ $1 != --target-dir ]]; do shift; done
mkdir -p "$2/debug"
case " $* " in
*" --lib "*" any-mpi "*) cp "$LIBRARY" "$2/debug/libscr.a" ;;
*" --bin scr "*) cp "$COMMAND" "$2/debug/scr" ;;
*) exit 1 ;;
esac
END_OF_CARGO
chmod +x cargo
export REAL=$real LIBRARY=$library COMMAND=$command
unset CARGO_TARGET_DIR
if ! { "$cmake" -S "$source" -B build -DCMAKE_BUILD_TYPE=Debug -DSCR_MPI=found -DSCR_ENABLE_FORTRAN=SOURCE \
    -DSCR_ENABLE_TESTS=OFF -DSCR_ENABLE_EXAMPLES=OFF -DSCR_USE_CORROSION=OFF -DSCR_CARGO_EXECUTABLE="$PWD/cargo" \
    -DCMAKE_INSTALL_PREFIX=/opt/scr -DCMAKE_INSTALL_LIBDIR=lib &&
    "$cmake" --build build && "$cmake" --install build --prefix "$PWD/installed"; } >log 2>&1; then
    tail -n 30 log
    echo "FAILED: it is not built"
    exit 1
fi
rm -rf log build cargo
