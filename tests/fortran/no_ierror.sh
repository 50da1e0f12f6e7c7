#!/usr/bin/env bash
# Usage: no_ierror.sh stops|ends WORDS NOT_WORDS COMMAND...
# The command stops with an exit status other than 0, or ends with 0; its output, lines joined by
# blanks, matches the regular expression WORDS and does not match NOT_WORDS. One that stops tells the
# reason once, in all, and prints no backtrace.
set -uo pipefail

how=$1 words=$2 not_words=$3
shift 3

fail() {
    echo "FAILED: $1"
    exit 1
}

output=$("$@" 2>&1 </dev/null)
status=$?
echo "$output"
echo "exit status $status"
case $how in
stops) [[ $status -ne 0 ]] || fail "the exit status is 0" ;;
ends) [[ $status -eq 0 ]] || fail "the exit status is not 0" ;;
*) fail "stops or ends, not $how" ;;
esac
output=${output//$'\n'/ }
[[ $output =~ $words ]] || fail "there is no match for: $words"
[[ ! $output =~ $not_words ]] || fail "there is a match for: $not_words"
[[ $how == stops ]] || exit 0
[[ ! $output =~ ERROR\ STOP|[Bb]acktrace|Error\ termination ]] || fail "there is a backtrace"
[[ $(grep -o "SCR stops the program" <<<"$output" | wc -l) -eq 1 ]] || fail "not one end"
[[ $(grep -o "SCR v[0-9.]* [A-Z]*: " <<<"$output" | wc -l) -le 2 ]] || fail "more than two lines"
