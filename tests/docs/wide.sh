#!/usr/bin/env bash
# Usage: wide.sh SITE
# Tables of the site that are wider than the window of a small screen (1280 px) scroll by themselves; that of the
# parameters fits. Skipped without Chromium.
set -euo pipefail

site=$1
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [[ -z $browser ]]; then
    echo "SKIPPED: the width of tables, as there is no Chromium"
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$site/_static" "$work"
cat >"$work/measure" <<'END'
<script>addEventListener("load", () => {
    const wide = [...document.querySelectorAll(".table-wrapper")].filter((box) => box.scrollWidth > box.clientWidth + 1);
    document.title = `tables: ${document.querySelectorAll(".table-wrapper").length}, cut: ${wide.length}`;
});</script>
END
cat "$site/parameters.html" "$work/measure" >"$work/page.html"
told=$("$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --window-size=1280,900 \
    --virtual-time-budget=10000 --dump-dom "file://$work/page.html" 2>/dev/null | grep -o '<title>tables[^<]*')
echo "${told#<title>} at 1280 px"
[[ $told =~ ^"<title>tables: "[1-9][0-9]*", cut: 0"$ ]]
