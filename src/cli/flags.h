// Command-line options from a table: parsing them and printing their help.
#ifndef BD_CLI_FLAGS_H
#define BD_CLI_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum bd_flag_kind {
    BD_FLAG_BOOL,    // --insecure           -> bool
    BD_FLAG_INT,     // --ps 2, --ps=2       -> int64_t, at least `minimum`
    BD_FLAG_SECONDS, // --timeout 1.5        -> int64_t milliseconds, more than 0
    // --watch, --watch 5     -> int64_t milliseconds, more than 0; without a number those of `minimum`
    BD_FLAG_OPTIONAL_SECONDS,
    BD_FLAG_STRING // --job worker         -> const char *, into argv
} bd_flag_kind;

typedef struct bd_flag {
    const char *name; // without the dashes
    bd_flag_kind kind;
    void *value; // set when the option is given
    int64_t minimum;
    const char *argument; // its name in the help: "N"; NULL for a bool
    const char *help;
} bd_flag;

typedef struct bd_flags {
    const char *command; // "braid run"
    const char *usage;   // usage after the program's name
    const char *about;   // a paragraph or two for --help
    const bd_flag *flags;
    int count;
} bd_flags;

typedef enum bd_flags_result {
    BD_FLAGS_OK,
    BD_FLAGS_HELP,
    BD_FLAGS_ERROR
} bd_flags_result;

// Reads options from argv[1] on, up to the first argument that is not an option or "--"; its index is stored
// to *rest. --help (or -h) prints the help to stdout; a mistake is reported on stderr with the remedy.
bd_flags_result bd_flags_parse(const bd_flags *flags, int argc, char **argv, int *rest);

#endif
