# Completes command lines of NAME in fish. The program itself says what can follow.
function __scr_offer
    set -l words (commandline -opc) (commandline -ct)
    env _SCR_COMPLETE=fish $words[1] (math (count $words) - 1) $words 2>/dev/null
end
complete --command NAME --no-files --keep-order --arguments '(__scr_offer)'
