// `braid checkpoint`: the tensors of a checkpoint, or the values of some.
#include "command.h"
#include "flags.h"
#include <braid/checkpoint_reader.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The default number of elements that are printed: a few screens.
#define ELEMENTS_DEFAULT 1000

static int fail(const braid_status *st)
{
    fprintf(stderr, "braid checkpoint: %s: %s\n", braid_code_name(braid_status_code(st)),
            braid_status_message(st));
    return 1;
}

static void print_entry(const braid_checkpoint_entry *e, int width)
{
    char *shape = braid_shape_text(e->shape);
    printf("%-*s  %-9s  %s\n", width, e->name, braid_dtype_name(e->dtype), shape);
    free(shape); // the caller's, by free(): we are the caller
}

static int list(const braid_checkpoint_reader *r)
{
    int count, width = 0;
    int64_t elements = 0;
    const braid_checkpoint_entry *entries = braid_checkpoint_reader_list(r, &count);
    for (int i = 0; i < count; i++) {
        const int len = (int)strlen(entries[i].name);
        if (len > width) width = len;
    }
    for (int i = 0; i < count; i++) {
        print_entry(&entries[i], width);
        elements += braid_shape_num_elements(entries[i].shape);
    }
    printf("%s: %d tensors, %" PRId64 " elements\n", braid_checkpoint_reader_prefix(r), count, elements);
    return 0;
}

static int show(braid_checkpoint_reader *r, const char *name, int64_t elements_max, braid_status *st)
{
    braid_tensor *t = braid_checkpoint_reader_read(r, name, st);
    if (!t) return fail(st);
    char *text = braid_tensor_text(t, elements_max ? elements_max : -1);
    print_entry(braid_checkpoint_reader_find(r, name), 0);
    puts(text);
    free(text); // the caller's, by free(): we are the caller
    braid_tensor_free(t);
    return 0;
}

static int run(char **names, int count, int64_t elements_max, braid_status *st)
{
    braid_checkpoint_reader *r = braid_checkpoint_reader_open(names[0], st);
    if (!r) return fail(st);
    int code = count == 1 ? list(r) : 0;
    for (int i = 1; i < count && !code; i++)
        code = show(r, names[i], elements_max, st);
    braid_checkpoint_reader_close(r);
    return code;
}

static int checkpoint_main(int argc, char **argv)
{
    int64_t elements_max = ELEMENTS_DEFAULT;
    const bd_flag table[] = {
        {"elements", BD_FLAG_INT, &elements_max, 0, "N",
         "print at most N elements of a tensor (default 1000; 0: all)"},
    };
    const bd_flags flags = {
        "braid checkpoint", "[OPTIONS] PREFIX|DIR [NAME...]",
        "Lists the tensors of a checkpoint with their types and shapes, or prints the values of those that\n"
        "are named. A PREFIX is that of its files: /tmp/model/model.ckpt-100. Of a directory DIR the newest\n"
        "checkpoint is taken, as its file 'checkpoint' says. TensorFlow's checkpoints of both formats are\n"
        "read; a partitioned variable is one tensor.\n\n"
        "Examples:\n"
        "  braid checkpoint /tmp/model\n"
        "  braid checkpoint /tmp/model/model.ckpt-100 global_step layer1/w",
        table, sizeof table / sizeof *table};
    int rest;
    switch (bd_flags_parse(&flags, argc, argv, &rest)) {
    case BD_FLAGS_HELP: return 0;
    case BD_FLAGS_ERROR: return BD_EXIT_USAGE;
    case BD_FLAGS_OK: break;
    }
    if (rest == argc) {
        fprintf(stderr, "braid checkpoint: PREFIX or DIR is missing. See 'braid checkpoint --help'.\n");
        return BD_EXIT_USAGE;
    }
    braid_status *st = braid_status_new();
    const int code = run(argv + rest, argc - rest, elements_max, st);
    braid_status_free(st);
    return code;
}

BD_COMMAND(checkpoint) = {
    .name = "checkpoint",
    .usage = "[OPTIONS] PREFIX|DIR [NAME...]",
    .summary = "list the tensors of a checkpoint, or print some",
    .main = checkpoint_main,
};
