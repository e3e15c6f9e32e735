# Completion of the braid program for fish. Commands and options are read from the program's help.

function __braid_commands
    braid --help 2>/dev/null | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) +(.*)/\1\t\2/p'
end

function __braid_options
    set -l words (commandline -opc)
    braid $words[2] --help 2>/dev/null | sed -nE 's/^  (--[a-z-]+)( [A-Z][^ ]*)? +(.*)/\1\t\3/p'
end

complete -c braid -n __fish_use_subcommand -f -a '(__braid_commands)'
complete -c braid -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f -a '(__braid_options)'
complete -c braid -n '__fish_seen_subcommand_from run' -a '(__fish_complete_subcommand --fcs-skip=2)'
