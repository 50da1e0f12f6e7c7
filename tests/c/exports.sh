#!/usr/bin/env bash
# Usage: exports.sh LIBSCR.SO HEADER...
# The shared library exports what the headers declare and what libscrf needs, no more and no less.
set -euo pipefail

exported=$(nm -D --defined-only "$1" | awk '{print $3}' | sort)
declared=$({
    sed -nE 's/^(const )?[A-Za-z_]+ \*?(SCR_[A-Za-z_]+)\(.*/\2/p' "${@:2}"
    printf '%s\n' scr_fortran_fail scr_fortran_report scr_fortran_stop scr_fortran_words scr_fortran_free \
        scr_fortran_session_create scr_fortran_session_repair scr_is_off
} | sort)
diff <(echo "$declared") <(echo "$exported")
echo "$(wc -l <<<"$exported") functions"
