#compdef NAME
# Completes command lines of NAME in zsh. The program itself says what can follow.
_scr_offer_NAME() {
    local line
    local -a line_words values shown places place_shown
    line_words=("${(@)words[1,CURRENT]}")
    for line in "${(@f)$(_SCR_COMPLETE=zsh ${~words[1]} $((CURRENT - 1)) "${(@)line_words}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        # A directory is the beginning of a path: no blank follows.
        if [[ ${line%%$'\t'*} == */ ]]; then
            places+=("${line%%$'\t'*}")
            place_shown+=("${line/$'\t'/  -- }")
        else
            values+=("${line%%$'\t'*}")
            shown+=("${line/$'\t'/  -- }")
        fi
    done
    (( $#values )) && compadd -l -d shown -- "${(@)values}"
    (( $#places )) && compadd -S '' -d place_shown -- "${(@)places}"
    return 0
}
# Called as an autoloaded function it completes at once; sourced, it enters itself.
if [[ $funcstack[1] == _NAME ]]; then
    _scr_offer_NAME "$@"
else
    (( $+functions[compdef] )) && compdef _scr_offer_NAME NAME
fi
