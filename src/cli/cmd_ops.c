// `braid ops`: the ops that this program has.
#include "command.h"
#include "flags.h"
#include <braid/op_list.h>
#include <stdio.h>
#include <stdlib.h>

static int print_page(const char *name)
{
    braid_status *st = braid_status_new();
    char *page = braid_op_doc(name, st);
    if (page) fputs(page, stdout);
    if (!page)
        fprintf(stderr, "braid ops: %s: %s\n", braid_code_name(braid_status_code(st)),
                braid_status_message(st));
    braid_status_free(st);
    free(page); // the caller's, by free(): we are the caller
    return page ? 0 : 1;
}

static int ops_main(int argc, char **argv)
{
    const bd_flags flags = {
        "braid ops", "[NAME...]",
        "Describes ops: what each one does, its inputs and outputs, its element types, and whether it has a\n"
        "gradient. Without a NAME it describes all ops; '*' in a NAME matches any characters.\n\n"
        "Examples:\n"
        "  braid ops MatMul\n"
        "  braid ops 'Sparse*'",
        NULL, 0};
    int rest;
    switch (bd_flags_parse(&flags, argc, argv, &rest)) {
    case BD_FLAGS_HELP: return 0;
    case BD_FLAGS_ERROR: return BD_EXIT_USAGE;
    case BD_FLAGS_OK: break;
    }
    if (rest == argc) return print_page(NULL);
    int code = 0;
    for (int i = rest; i < argc; i++)
        if (print_page(argv[i])) code = 1;
    return code;
}

BD_COMMAND(ops) = {
    .name = "ops",
    .usage = "[NAME...]",
    .summary = "describe the supported ops",
    .main = ops_main,
};
