#!/usr/bin/env bash
# Usage: pip.sh SOURCE VERSION LIBRARY PYTHON
# pip installs the module without the network, with the version of Cargo.toml and its type hints, and
# leaves the source tree as it was. Run through tests/in_empty_directory.sh.
set -euo pipefail

source=$1 version=$2 library=$3 python=$4

for module in pip setuptools wheel; do
    if ! "$python" -c "import $module" 2>/dev/null; then
        echo "SKIPPED: $python has no $module (Debian: python3-$module)"
        exit 77
    fi
done
# setup.py reads the version beside its directory.
mkdir tree
cp -r "$source/python" "$source/Cargo.toml" tree
find tree -name __pycache__ -exec rm -r {} +
"$python" -m pip install --quiet --no-index --no-build-isolation --no-deps --root-user-action=ignore \
    --disable-pip-version-check --target "$PWD/site" tree/python

cd site
[[ -f scr/py.typed ]] || { echo "FAILED: no py.typed" && exit 1; }
[[ $("$python" -c "import importlib.metadata as m; print(m.version('scr-rs'))") == "$version" ]]
SCR_LIBRARY=$library "$python" -c "import scr; assert scr.get_version() == 'v3.1.0'"
