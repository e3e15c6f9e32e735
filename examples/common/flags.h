// Command-line flags as TensorFlow's programs take them: --name=value or --name value, --name and --noname
// for switches.
#ifndef FLAGS_H
#define FLAGS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum flag_kind {
    FLAG_INT,
    FLAG_FLOAT,
    FLAG_BOOL,
    FLAG_STRING
} flag_kind;

typedef struct flag {
    const char *name;
    flag_kind kind;
    void *value; // int64_t, double, bool or const char *, holding the default; a string stays argv's
    const char *help;
    bool given; // set when the command line has it
} flag;

typedef enum flags_result {
    FLAGS_OK,
    FLAGS_HELP,
    FLAGS_ERROR
} flags_result;

// Reads the command line into `flags`. FLAGS_HELP: --help was given and answered on stdout. FLAGS_ERROR: the
// mistake and the correct form are reported on stderr.
flags_result flags_parse(int argc, char **argv, const char *about, flag *flags, int count);

#endif
