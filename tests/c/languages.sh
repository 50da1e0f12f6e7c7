#!/usr/bin/env bash
# Usage: languages.sh SOURCE
# Each call of scr.h is called by the module scr, and each but those that C++ does without by scr.hpp or
# scr_fields.hpp. Each call of scr_session.h is a method of a session in Fortran and Python.
set -euo pipefail

cd "$1"
calls=$(sed -nE 's/^(const )?[a-z]+ \*?(SCR_[A-Za-z_]+)\(.*/\2/p' include/scr.h)
[[ $(wc -w <<<"$calls") -gt 20 ]]
for call in $calls; do
    case $call in
    # Of C alone; and the older interface, of which start_output and complete_output do the same.
    SCR_Configf | SCR_Start_checkpoint | SCR_Complete_checkpoint) continue ;;
    esac
    grep -q "\"$call\"" python/scr/*.py || { echo "FAILED: $call is not in python/scr" && exit 1; }
    grep -q "$call(" include/*.hpp || grep -q "\"$call\", $call)" include/scr.hpp ||
        { echo "FAILED: $call is not in scr.hpp" && exit 1; }
done

calls=$(sed -nE 's/^(static inline )?(const )?[A-Za-z_]+ \*?SCR_Session_([a-z_]+)\(.*/\3/p' include/scr_session.h)
[[ $(wc -w <<<"$calls") -gt 24 ]]
for call in $calls; do
    # The method does this itself.
    [[ $call != enter ]] || continue
    grep -q "!> scr_session%$call(" fortran/scrf.F90 || { echo "FAILED: $call is not in scr_session of scrf" && exit 1; }
    case $call in
    # The constructor; and the older interface.
    create | start_checkpoint | complete_checkpoint) continue ;;
    esac
    grep -q "    def $call(self" python/scr/_session.py || { echo "FAILED: $call is not in scr.Session" && exit 1; }
done
