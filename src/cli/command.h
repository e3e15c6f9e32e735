// The commands of the `braid` program: one file cmd_NAME.c each, found through a generated table.
#ifndef BD_CLI_COMMAND_H
#define BD_CLI_COMMAND_H

#include <stddef.h>

typedef struct bd_command {
    const char *name;
    const char *usage;   // usage after "braid NAME": "[OPTIONS] PROGRAM [ARGS...]"
    const char *summary; // one line for the list of commands
    // Runs it; argv[0] is the command's name. Returns the exit code.
    int (*main)(int argc, char **argv);
} bd_command;

#define BD_COMMAND(NAME) const bd_command bd_command_##NAME

// The generated table, sorted by name: build/generated/command_table.c.
extern const bd_command *const bd_command_table[];
extern const size_t bd_command_table_len;

// Exit codes: a mistake in the command line, and a run that took too long (as timeout(1) has it).
#define BD_EXIT_USAGE 2
#define BD_EXIT_TIMEOUT 124

#endif
