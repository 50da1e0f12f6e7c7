#!/usr/bin/env bash
# Usage: rehearse.sh SCR PROGRAM HEAT2D LAUNCHER...
# scr rehearse names what is wrong with a program, and finds nothing in one that is right. SCR_TEST_SEED draws a case of each sort;
# SCR_TEST_ALL=1 tries all. Run through tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 program=$2 heat=$3
shift 3
# Without the option for the number of ranks, which scr rehearse adds.
launcher="${*:1:$#-1}"
export SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_COPY_TYPE=XOR SCR_FLUSH=0

fail() {
    echo "FAILED: $*"
    [[ ! -f log ]] || cat log
    exit 1
}

# rehearse STATUS MISTAKE OPTION...: with the program that has this mistake.
rehearse() {
    local wanted=$1 mistake=$2 status=0
    shift 2
    rm -rf stage
    "$scr" rehearse --launcher "$launcher" --dir stage --ranks 4 --nodes 2 --compare result "$@" -- \
        "$program" "$mistake" >log 2>&1 || status=$?
    [[ $status == "$wanted" ]] || fail "$mistake: exit status $status, not $wanted"
}

# told PATTERN...: what the report says.
told() {
    local pattern
    for pattern; do grep -q -- "$pattern" log || fail "the report does not say: $pattern"; done
}

# draw NUMBER CASE...: tries so many of these cases.
draw() {
    local number=$1 at
    shift
    [[ -z ${SCR_TEST_ALL:-} ]] || number=$#
    local cases=("$@")
    for (( ; number > 0; number--)); do
        at=$((RANDOM % ${#cases[@]}))
        echo "${cases[at]}"
        "${cases[at]}"
        cases=("${cases[@]::at}" "${cases[@]:at+1}")
    done
}

RANDOM=${SCR_TEST_SEED:=$(($(date +%s%N) % 32768))}
echo "SCR_TEST_SEED=$SCR_TEST_SEED; SCR_TEST_ALL=1 tries all"
rehearse 0 right --seed 3
told '^RECOVERED$' 'result: as undisturbed' 'launch [2-6] went on from ck\.' 'launch [2-6] went on from ck\..*rebuilt with XOR' \
    's after SCR_Init' 'is killed while a checkpoint is' ' began again$' ' recovered$' \
    '^launch 1 of scr run: rank . killed after ck\.' '^launch 2 of scr run: node n. killed after ck\..* recovered$' \
    '^launch 3 of scr run went on from ck\..*rebuilt with XOR' '^repair in the running job .* not tried: '
grep -q 'node n. is not used any more' stage/relaunched.nodes/output.run || fail "scr run has not noticed that a node is lost"
echo "ok: a program that is right recovers, also by scr run"

relaunched() {
    SCR_SAME_FAILURES=1 rehearse 1 right --kill rank=1@2 --relaunch
    told '^NOT RECOVERED$' \
        '^launch 1 of scr run: .* not recovered: not launched again: the last 1 launches failed alike' \
        '^- relaunched: scr run has not launched the program again: '
}
session() {
    rehearse 0 session --kill rank=1@2
    told '^RECOVERED$' 'ended with exit code 0.*; 10 checkpoints of 1 session' \
        'launch 2: session sea went on from ck\.' 'launch 1: rank 1 is killed .* s after checkpoint 2'
}
chosen() {
    rehearse 0 right --kill rank=1@2 --kill node=n1@1 --html page.html
    told 'launch 1: rank 1 is killed .* s after checkpoint 2' 'launch 2: node n1 is killed .* s after checkpoint 1' \
        '^launch again by scr run .* not tried: with --kill only by --relaunch$'
    grep -q '</html>' page.html || fail "there is no page"
}
moments() {
    rehearse 0 right --seed 3 --kill rank@start --kill rank@checkpoint=3 --kill rank@restart
    told 'launch 1: rank . is killed .* s after SCR_Init' 'launch 2: rank . is killed in checkpoint 3 of the launch' \
        'launch 3: rank . is killed while a checkpoint is ' 'launch 4 went on from ck\.' '^RECOVERED$'
}
# late STATUS OPTION...: the program stops the command until its last checkpoint is complete, so that it is killed too late.
late() {
    local wanted=$1 status=0
    shift
    rm -rf stage
    # shellcheck disable=SC2016 # expanded by the inner shell
    LATE=$PWD/killer bash -c 'echo $$ >"$LATE" && exec "$@"' late "$scr" rehearse --launcher "$launcher" --dir stage --ranks 4 \
        --nodes 2 --compare result "$@" -- "$program" late >log 2>&1 || status=$?
    [[ $status == "$wanted" ]] || fail "late: exit status $status, not $wanted"
    [[ -e stage/held ]] || fail "the command was not stopped"
}
late 0 --quick
told '^the kill came after the last checkpoint, ' 'was struck after .*, after ck.40; 10 checkpoints$' '^RECOVERED$'
[[ -d stage/struck-late && -d stage/struck ]] || fail "a run is missing"
late 1 --kill rank@2
told '^launch 1: rank . killed after ck.40 .* not proven: killed after the last checkpoint$' '^NOT PROVEN$' \
    '^- no checkpoint was written after a restart'
echo "ok: a kill after the last checkpoint proves nothing"

start() {
    rehearse 1 right --seed 3 --kill rank@start
    told '^NOT PROVEN$' 'launch 2 began from the beginning, as it must: no checkpoint was complete'
}
example() {
    rm -rf stage
    "$scr" rehearse --launcher "$launcher" --dir stage --ranks 4 --nodes 4 --compare field -- \
        "$heat" size 64 steps 200 every 20 delay 10 output field >log 2>&1 || fail "the example"
    told '^RECOVERED$' 'field: as undisturbed'
}
draw 1 relaunched session chosen moments start example
echo "ok: a program is killed as was chosen"

forgets() {
    rehearse 1 forgets --kill rank@2
    told '^NOT RECOVERED$' 'the results are others: result' 'A part of the state is not saved'
}
beside() {
    rehearse 1 beside --kill rank@2
    told 'a checkpoint also writes extra.txt, which SCR does not know'
}
elsewhere() {
    rehearse 1 elsewhere --kill rank@2
    told 'no checkpoint is complete' 'at the path that SCR_Route_file returns'
}
begins() {
    rehearse 1 begins --kill rank@2
    told 'launch 2 began from the beginning, although ck\.[0-9]* was there: the program did not read it' \
        'launch 1 had written [2-9] checkpoints, the last ck\.[0-9]*, in'
}
back() {
    rehearse 1 back --kill rank@2
    told 'launch 2 read ck\.[0-9]*, and then began from the beginning: it has written ck.4 again'
}
hangs() {
    rehearse 1 hangs --kill rank@2 --limit 20
    told 'launch 2 hangs: it made no end within 20 s, and no restart was complete' ' ranks on 2 nodes'
}
draw 1 forgets beside elsewhere begins back hangs
echo "ok: each mistake is named"

flushed() {
    SCR_FLUSH=1 rehearse 0 right --kill rank@2
    told '^[1-9][0-9]* checkpoints after a kill: as undisturbed$' '^RECOVERED$'
}
flushed_forgets() {
    SCR_FLUSH=1 rehearse 1 forgets --kill rank@2+0s
    told '^ck\.12: \*/rank_0.txt: differs from byte [0-9]* on, of [0-9]* undisturbed$' \
        'after the restart ck.12 is the first checkpoint that is another, in \*/rank_0.txt' 'the results are others: result'
}
flushed_fields() {
    SCR_FLUSH=1 rehearse 0 fields --kill rank@2
    told 'checkpoints after a kill: as undisturbed' '^RECOVERED$'
}
flushed_omits() {
    SCR_FLUSH=1 rehearse 1 omits --kill rank@2+0s
    told '^ck\.12: sum: 4 of 4 elements differ, first of rank 0: ' 'ck.12 is the first checkpoint that is another, in sum'
}
# The last ones are only in the caches.
fields() {
    rehearse 0 fields --kill node@2 --json
    told '"compared": 2,' '"verdict": "RECOVERED"' '"moment": "node n[01] killed \(after ck.8\|in ck.12\)"'
}
omits() {
    rehearse 1 omits --kill rank@2
    told 'ck.36 is the first checkpoint that is another, in sum' '  different  *not recovered$'
}
draw 1 flushed flushed_forgets flushed_fields flushed_omits fields omits
echo "ok: checkpoints of both runs are compared"

timer() {
    SCR_FLUSH=1 rehearse 0 timer --kill rank@2
    told '^not compared, since two undisturbed runs differ in it: .*rank_3.txt' 'result: as undisturbed' '^RECOVERED$'
}
random() {
    rehearse 0 random --quick
    told '^RECOVERED within a tolerance$' 'once more undisturbed' 'result: two undisturbed runs differ by at most'
}
too_random() {
    rehearse 1 random --kill rank@2 --tolerance 1e-15
    told '^NOT PROVEN$' 'the program is not reproducible: two undisturbed runs differ in result'
    ! grep -q 'part of the state' log || fail "it blames the restart"
}
noisy() {
    rehearse 0 noisy --kill rank@2
    told '^RECOVERED within a tolerance$' '^sum: two undisturbed runs differ by at most .*; ten times that is taken as the same$'
}
draw 1 timer random too_random noisy
echo "ok: a program that is not reproducible is told from a restart that is wrong"

without() {
    rehearse 1 without --kill rank@1
    told '^NOT PROVEN$' 'nothing of SCR was seen' 'result: as undisturbed' 'nothing shows that launch 2 went on'
}
says() {
    rehearse 0 without --kill rank@1 --says 'own restart from step'
    told '^RECOVERED$'
}
never() {
    rehearse 1 never --kill rank@1 --says 'own restart from step'
    told '^NOT RECOVERED$' 'result: as undisturbed' 'launch 2 began from the beginning: it did not print'
}
draw 1 without says never
echo "ok: a program without SCR is tried with its own restart, and has recovered only if it says so"

# As Open MPI refuses to work for root.
cat >refuses <<'END'
#!/bin/sh
printf -- '----\nno work for root.\n\nSet A.\n----\n' >&2
exit 1
END
chmod +x refuses
rm -rf stage
"$scr" rehearse --launcher "$PWD/refuses" --dir stage --ranks 4 --nodes 2 -- "$program" >log 2>&1 &&
    fail "nothing was launched, and that is taken"
told 'the launcher has not started the program: no work for root. (output in'
! grep -q 'SCR_Init' log || fail "it blames the program"
echo "ok: a launcher that refuses is named with its words"

# A signal ends the ranks, too.
rm -rf stage
# It would never end by itself.
"$scr" rehearse --launcher "$launcher" --dir stage --ranks 2 --nodes 2 -- \
    "$heat" size 64 steps 900000 every 20 delay 10 output none >log 2>&1 &
rehearsal=$!
until [[ -e stage/whole.nodes/pids/1 ]]; do
    kill -0 "$rehearsal" || fail "it ended before the signal"
    sleep 0.1
done
kill -TERM "$rehearsal"
wait "$rehearsal" && fail "exit status 0 after a signal"
told 'SIGTERM was received'
read -r pid _ <stage/whole.nodes/pids/1
! grep -qs heat2d "/proc/$pid/cmdline" || fail "process $pid is left"
echo "ok: a signal ends the ranks, too"

# wrong PATTERN OPTION...: is refused with one line.
wrong() {
    local pattern=$1
    shift
    "$scr" rehearse "$@" >log 2>&1 && fail "$* is taken"
    told "$pattern"
}
wrong 'exists already; remove it' --dir stage -- "$program"
rm -rf stage
wrong 'no program there/is/none' -- there/is/none
wrong 'no program no-launcher' --launcher no-launcher -- "$program"
wrong '8 nodes need a rank each' --ranks 4 --nodes 8 -- "$program"
wrong 'no node n9' --launcher "$launcher" --dir stage --ranks 2 --nodes 2 --kill node=n9@1 -- "$program"
rm -rf stage
wrong 'nothing was killed: the program has no checkpoint of the number' --launcher "$launcher" --dir stage --ranks 2 --nodes 2 \
    --kill rank@checkpoint=99 -- "$program" right
wrong 'the first launch makes no restart' --kill rank@restart -- "$program"
wrong 'is no moment' --kill rank@0 -- "$program"
echo "ok: wrong options are named"
