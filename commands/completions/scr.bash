# Completes command lines of NAME in bash (4 or newer). The program itself says what can follow.
_scr_offer() {
    local program=${COMP_WORDS[0]/#\~\//$HOME/} word value at=0 rest=$COMP_LINE
    local -a words=() offered=()
    # bash takes "--drop=a:b" for five words. What stands without blanks between belongs together.
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if [[ ${#words[@]} -gt 0 && $rest != [[:space:]]* &&
            ( $word == [=:]* || ${words[-1]} == *[=:] ) ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        rest=${rest#"${rest%%[![:space:]]*}"}
        rest=${rest#"$word"}
    done
    local current=${words[-1]}
    # The part of this word that bash takes for earlier words, and keeps.
    local kept=
    if [[ $current == *[=:]* && $current != [\"\']* ]]; then
        kept=${current%"${current##*[=:]}"}
    fi
    mapfile -t offered < <(_SCR_COMPLETE=bash "$program" $((${#words[@]} - 1)) "${words[@]}" 2>/dev/null)
    COMPREPLY=()
    for value in "${offered[@]}"; do
        # In open quotes the value stands as it is, else special characters are quoted.
        [[ $current == [\"\']* ]] || printf -v value %q "$value"
        COMPREPLY+=("${value#"$kept"}")
    done
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _scr_offer NAME
