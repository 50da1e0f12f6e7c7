#!/usr/bin/env bash
# Usage: site.sh ROOT DIRECTORY
# The documentation site is made without a warning, in DIRECTORY/site, and is the same each time. A link
# to an anchor that does not exist, a page that index.md does not list, and a picture from the network
# are each an error. Skipped without Sphinx.
set -euo pipefail
trap 'echo "FAILED: line $LINENO"' ERR

root=$1
mkdir -p "$2"
work=$(cd "$2" && pwd)
status=0
"$root/scripts/docs" "$work/site" || status=$?
[[ $status -eq 0 ]] || exit "$status"
first=$(find "$work/site" -name '*.html' | wc -l)
[[ $first -gt 30 && -s $work/site/index.html && -s $work/site/searchindex.js ]]

# The search shows the section with most of the words.
grep -q 'src="_static/found.js' "$work/site/search.html"
if command -v node >/dev/null; then
    node "$root/tests/docs/found.js" "$root/docs"
else
    echo "SKIPPED: the script of the search page, as there is no node"
fi

# A code leads to its entry. The search of Sphinx before 5.3 has no index of such words.
codes=$(grep -oE '^SCR-[0-9]{3}' "$root/docs/faq.md" | sort -u)
if grep -q 'indexentries' "$work/site/searchindex.js"; then
    for code in $codes; do
        grep -qi "\"$code\": *\[\[" "$work/site/searchindex.js" || { echo "the search does not find $code"; exit 1; }
    done
else
    echo "SKIPPED: the search for codes, as this Sphinx has no index for it"
fi
"$root/tests/docs/wide.sh" "$work/site"

# A copy of the tree in another place gives the same site, file for file.
rm -rf "$work/copy" "$work/second"
mkdir "$work/copy"
cp -r "$root"/{docs,scripts,examples,README.md,CONTRIBUTING.md,CHANGELOG.md,Cargo.toml} "$work/copy"
"$work/copy/scripts/docs" "$work/second"
diff -r "$work/site" "$work/second"

# refused WORDS...: the site of the copy is not made, and the reasons have these words.
refused() {
    local log words
    if log=$("$work/copy/scripts/docs" "$work/second" 2>&1); then
        echo "made, but it should say: $*"
        return 1
    fi
    for words in "$@"; do
        grep -qF "$words" <<<"$log" || { echo "$log"; return 1; }
    done
}
echo "See [no such heading](first-use.md#no-such-heading)." >>"$work/copy/docs/glossary.md"
echo "# Alone" >"$work/copy/docs/alone.md"
refused "first-use.md#no-such-heading" "alone.md"
rm "$work/copy/docs/alone.md"
cp "$root/docs/glossary.md" "$work/copy/docs"
echo "![badge](https://badges.example.org/badge.svg)" >>"$work/copy/docs/glossary.md"
refused "badges.example.org"

# It does not delete what it has not made.
mkdir -p "$work/other/keep"
if "$root/scripts/docs" "$work/other"; then
    echo "a directory with other files was taken"
    exit 1
fi
[[ -d $work/other/keep ]]
rm -rf "$work/copy" "$work/second" "$work/other"
