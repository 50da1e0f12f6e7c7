#!/usr/bin/env bash
# Usage: links.sh ROOT
# Each relative link in the documentation leads to a file that is there.
set -euo pipefail

cd "$1"
broken=0 checked=0
while IFS= read -r -d '' page; do
    while IFS= read -r link; do
        checked=$((checked + 1))
        target=$(dirname "$page")/${link%%#*}
        if [[ ! -e $target ]]; then
            echo "$page: there is no $link"
            broken=1
        fi
    done < <(grep -oE '\]\([^)]+\)' "$page" | sed -E 's/^\]\((.*)\)$/\1/' | grep -vE '^(https?:|#)' || true)
done < <(find README.md CONTRIBUTING.md CHANGELOG.md docs -name '*.md' -print0)
[[ $checked -gt 0 && $broken -eq 0 ]]
