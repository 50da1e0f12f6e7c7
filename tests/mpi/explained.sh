#!/usr/bin/env bash
# Usage: explained.sh SCR CODES LAUNCHER...
# Codes of different style lack one part of their state each. scr rehearse --explain must name it first or second, in 28 of 30 cases,
# and a code that lacks nothing must recover. SCR_TEST_SEED draws one omission of each of three codes and one code that lacks
# nothing; SCR_TEST_ALL=1 tries all, SCR_TEST_ONLY="sea queue:head" some. Run through tests/in_empty_directory.sh.
set -euo pipefail

scr=$1 codes=$2
shift 2
# Without the option for the number of ranks, which scr rehearse adds.
launcher="${*:1:$#-1}"
export SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_COPY_TYPE=XOR SCR_FLUSH=0
places=(first second third)

# What each code can lack, and how the name of the variable begins that the report must have. `unseen:` before it is a variable in a
# library: the report must say that it cannot be seen.
table='
sea rate_before flow::rate_before
sea rate_long_before flow::rate_long_before
sea order flow::order
sea before temperature::before
sea modes temperature::modes
sea seed weather::seed
sea gust weather::gust
sea sluice_open weather::sluice_open
sea sponge weather::sponge
sea mean diagnostics::mean
boxes salt /ocean/ salt
boxes pco2 /ocean/ pco2
boxes dust // dust
boxes hist /delay/ hist
boxes ihead /delay/ ihead
boxes regime /mode/ regime
boxes ice /cryos/ north
boxes last rain::last
boxes icall rain::icall
boxes frozen rain::frozen
boxes iseed rain::iseed
herd grass world::pastures(:)%grass
herd visits world::pastures(:)%visits
herd energy world::herd%next%energy
herd age world::herd%next%age
herd water world::root%left%water
herd phase world::year%current%phase
herd number world::year%current%number
herd rain_of_years world::year%rain_of_years
herd memory world::custom%memory
herd trend world::trend
herd position world::position
herd lottery unseen: random_number
queue slots ring.slots
queue head ring.head
queue rows rows[]
queue table table[].value
queue random random_state
queue mode mode
queue weights weights
queue takings takings
queue late was_late
queue price shop.price
queue sale shop.has_sale
queue so_far average::so_far
city income main::city.income
city warmth main::city.houses.warmth
city guests main::city.houses.guests
city streets main::city.streets[]
city prices main::city.prices[].second
city queue main::city.queue
city debts main::city.debts
city random main::city.random
city patience main::city.policy.patience
city rides city::Tram::rides
city seats main::city.places
city births instance::only.births
city fog fog
city tide main::city.tide
city lights main::city.lights
city mood main::city.mood
city news main::city.news
'

fail() {
    echo "FAILED: $*"
    [[ ! -f log ]] || cat log
    exit 1
}

# rehearse CODE OMISSION STATUS: the report is in log.
rehearse() {
    local status=0
    rm -rf stage
    "$scr" rehearse --explain --quick --launcher "$launcher" --dir stage --ranks 2 --nodes 2 --compare result -- \
        "$codes/$1" "$2" >log 2>&1 || status=$?
    cp log "../$1.$2"
    [[ $status == "$3" ]] || fail "$1 $2: exit status $status, not $3"
}

# named: the variables that the report names, in its order.
named() {
    sed -n '/^explanation:/,$ s/^  \(.*\) ([^ ()]*:[0-9]*), .*/\1/p' log
    sed -n 's/^  differ, too, without effect: //p' log | sed 's/, /\n/g'
}

# place_of NAME: first, second, third, 4, ... or `not named`.
place_of() {
    local number=0 name
    while read -r name; do
        if [[ $name == "$1" ]]; then
            echo "${places[number]-$((number + 1))}"
            return
        fi
        number=$((number + 1))
    done < <(named)
    echo "not named"
}

proof() {
    if grep -q '^  proven: with' log; then
        echo proven
    elif grep -q '^  proven in part: with' log; then
        echo "in part"
    else
        echo -
    fi
}

row() { printf '%-6s %-17s %-14s %-10s %s\n' "$@"; }

# try CODE OMISSION NAME: adds a row, and counts.
try() {
    local place name=${3#unseen: }
    rehearse "$1" "$2" 1
    grep -q '^NOT RECOVERED$' log || fail "$1 $2: not found"
    tried=$((tried + 1))
    if [[ $3 != "$name" ]]; then
        place="not seen"
        ! grep -q '^  proven' log || fail "$1 $2: what cannot be seen is proven"
        grep -q "the state of $name, which is in a library" log || fail "$1 $2: $name is not told"
        told=$((told + 1))
    else
        place=$(place_of "$name")
        case $place in
        first | second) found=$((found + 1)) ;;
        *)
            echo "$1 $2: $name: $place in:"
            cat log
            ;;
        esac
    fi
    [[ $(proof) != proven ]] || proven=$((proven + 1))
    row "$1" "$2" "NOT RECOVERED" "$place" "$(proof)"
}

# complete CODE: recovers, and no variable is named.
complete() {
    rehearse "$1" complete 0
    grep -q '^RECOVERED$' log || fail "$1: complete, and not recovered"
    ! grep -q '^explanation' log || fail "$1: complete, and something is explained"
    row "$1" - RECOVERED - -
}

# rows CODE: what it can lack.
rows() { sed -n "s/^$1 //p" <<<"$table"; }

is_wanted() { [[ -z ${SCR_TEST_ONLY:-} || " $SCR_TEST_ONLY " == *" $1 "* || " $SCR_TEST_ONLY " == *" $1:$2 "* ]]; }

# Programs of the languages for which there is a compiler.
all=()
for code in sea boxes herd queue city; do
    [[ ! -x $codes/$code ]] || all+=("$code")
done
((${#all[@]} > 0)) || fail "there are no programs in $codes"
tried=0 found=0 told=0 proven=0
row CODE OMISSION VERDICT NAMED PROOF
if [[ -n ${SCR_TEST_ALL:-}${SCR_TEST_ONLY:-} ]]; then
    for code in "${all[@]}"; do
        ! is_wanted "$code" complete || complete "$code"
        while read -r omission name; do
            ! is_wanted "$code" "$omission" || try "$code" "$omission" "$name"
        done < <(rows "$code")
    done
else
    RANDOM=${SCR_TEST_SEED:=$(($(date +%s%N) % 32768))}
    echo "SCR_TEST_SEED=$SCR_TEST_SEED; SCR_TEST_ALL=1 tries all"
    for number in 1 2 3; do
        # There may be C only.
        ((${#all[@]} > 0)) || break
        at=$((RANDOM % ${#all[@]})) code=${all[at]}
        all=("${all[@]::at}" "${all[@]:at+1}")
        [[ $number -gt 1 ]] || complete "$code"
        mapfile -t omissions < <(rows "$code")
        read -r omission name <<<"${omissions[RANDOM % ${#omissions[@]}]}"
        try "$code" "$omission" "$name"
    done
fi
echo "$tried omissions: $found named first or second, $told said to be in a library, $proven proven"
((found * 30 >= (tried - told) * 28)) || fail "too few are named"
