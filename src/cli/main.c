// The `braid` program: finds the command in the generated table and runs it.
#include "command.h"
#include <braid/version.h>
#include <stdio.h>
#include <string.h>

static void print_help(FILE *out)
{
    fprintf(out, "Usage: braid COMMAND [OPTIONS]\n\n"
                 "Distributed TensorFlow graphs on parameter servers and workers.\n\nCommands:\n");
    for (size_t i = 0; i < bd_command_table_len; i++)
        fprintf(out, "  %-10s %s\n", bd_command_table[i]->name, bd_command_table[i]->summary);
    fprintf(out, "\nSee 'braid COMMAND --help' and 'man braid'. 'braid --version' prints the version.\n"
                 "\nTo see a cluster at work:\n"
                 "  braid run --ps 1 --workers 2 mnist_replica --train_steps=2000\n");
}

static int run_command(char *name, int argc, char **argv)
{
    for (size_t i = 0; i < bd_command_table_len; i++)
        if (!strcmp(bd_command_table[i]->name, name)) return bd_command_table[i]->main(argc, argv);
    fprintf(stderr, "braid: unknown command '%s'. 'braid --help' lists them.\n", name);
    return BD_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return BD_EXIT_USAGE;
    }
    char *name = argv[1];
    if (!strcmp(name, "help") && argc > 2)
        return run_command(argv[2], 2, (char *[]){argv[2], "--help", NULL});
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        print_help(stdout);
        return 0;
    }
    if (!strcmp(name, "--version")) {
        printf("braid %s\n", braid_version());
        return 0;
    }
    return run_command(name, argc - 1, argv + 1);
}
