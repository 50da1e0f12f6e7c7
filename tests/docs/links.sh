#!/usr/bin/env bash
# Usage: links.sh ROOT
# Each relative link and picture in the documentation leads to a file that is there, and each anchor to
# a heading of it. Anchors are made of headings as GitHub makes them.
set -euo pipefail

cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t pages < <(find README.md CONTRIBUTING.md CHANGELOG.md docs tests/{simulate,scaling,mutants} -name '*.md' | sort)

# PAGE#ANCHOR for each heading. A heading that comes again gets a number.
awk '
    FNR == 1 { fenced = 0; delete seen }
    /^```/ { fenced = !fenced }
    !fenced && /^#+ / {
        text = tolower($0)
        sub(/^#+ +/, "", text)
        gsub(/\]\([^)]*\)/, "", text)
        gsub(/[^a-z0-9 _-]/, "", text)
        gsub(/ /, "-", text)
        print FILENAME "#" text (seen[text] ? "-" seen[text] : "")
        seen[text]++
    }' "${pages[@]}" >"$work/anchors"

broken=0 links=0 anchors=0
for page in "${pages[@]}"; do
    while IFS= read -r link; do
        links=$((links + 1))
        file=${link%%#*}
        target=$page
        [[ -z $file ]] || target=$(dirname "$page")/$file
        if [[ ! -e $target ]]; then
            echo "$page: there is no $link"
            broken=1
        elif [[ $link == *#* ]]; then
            anchors=$((anchors + 1))
            target=$(realpath --relative-to=. "$target")
            if ! grep -qxF "$target#${link#*#}" "$work/anchors"; then
                echo "$page: no heading for $link"
                broken=1
            fi
        fi
    done < <(awk '/^```/ { fenced = !fenced } !fenced' "$page" | grep -oE '\]\([^)]+\)' |
        sed -E 's/^\]\((.*)\)$/\1/' | grep -vE '^https?:' || true)
done
echo "$links links, $anchors of them with an anchor, $(wc -l <"$work/anchors") headings"
[[ $links -gt 100 && $anchors -gt 20 && $broken -eq 0 ]]
