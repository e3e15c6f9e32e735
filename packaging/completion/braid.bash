# Completion of the braid program for bash. Commands and options are those that the program's own help tells.

# _braid_options PROGRAM COMMAND: "--name" or "--name=" (a value follows), a line each.
_braid_options() {
    "$1" "$2" --help 2>/dev/null | sed -nE 's/^  (--[a-z-]+) [A-Z][^ ]* .*/\1=/p; t; s/^  (--[a-z-]+) .*/\1/p'
}

_braid() {
    local program=$1 word=$2 i options
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        options=$("$program" --help 2>/dev/null | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$options --help --version" -- "$word")
        return
    fi
    options=$(_braid_options "$program" "${COMP_WORDS[1]}")
    for ((i = 2; i < COMP_CWORD; i++)); do # up to what is neither an option nor its value
        case ${COMP_WORDS[i]} in
        -*) case $'\n'$options$'\n' in *$'\n'"${COMP_WORDS[i]}="$'\n'*) ((++i)) ;; esac ;;
        *) break ;;
        esac
    done
    if ((i > COMP_CWORD)); then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    elif ((i == COMP_CWORD)) && [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${options//=/}" -- "$word")
    elif ((i == COMP_CWORD)) && [[ ${COMP_WORDS[1]} == run ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$word" | sort -u; compgen -f -- "$word")
    elif ((i < COMP_CWORD)) && [[ ${COMP_WORDS[1]} == run ]] && declare -F _command_offset >/dev/null; then
        _command_offset "$i"
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -F _braid braid
