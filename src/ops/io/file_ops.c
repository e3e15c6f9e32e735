// Whole files: ReadFile, WriteFile, MatchingFiles.
#include "base/alloc.h"
#include "base/array.h"
#include "graph/shape_fn.h"
#include "io/glob.h"
#include "op/io_pool.h"
#include "ops/common/file_arg.h"

#include <stdint.h>
#include <string.h>

static bool check_scalar(bd_op_ctx *c, int input, const char *what)
{
    const braid_shape *s = &bd_input(c, input)->shape;
    if (s->rank == 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s tensor must be scalar, but had shape: %s", what,
               bd_shape_str(s, (char[BD_SHAPE_STR_MAX]){0}));
    return false;
}

// ---- ReadFile ----

// Makes string element `i` of `t` memory from bd_malloc.
static void take_string(const braid_tensor *t, int64_t i, char *data, size_t len)
{
    if (len == 0) bd_free(data); // an empty string owns no memory
    bd_tensor_str(t)[i] = (bd_string){len ? data : NULL, len};
}

static void read_file(bd_op_ctx *c)
{
    BD_STATUS(st);
    char *path = check_scalar(c, 0, "Input filename") ? bd_input_text(c, 0, 0) : NULL, *data;
    size_t len;
    if (!path) return;
    if (bd_file_read_all(bd_op_fs(c), path, PTRDIFF_MAX - 1, &data, &len, st)) {
        bd_op_fail_status(c, st);
    } else {
        braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
        if (y)
            take_string(y, 0, data, len);
        else
            bd_free(data);
    }
    bd_free(path);
}

static void read_start(bd_op_ctx *c)
{
    bd_op_run_io(c, read_file);
}

static braid_code scalars_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = 0; i < c->input_count && !code; i++)
        code = bd_shape_ctx_rank(c, i, 0, st);
    return code ? code : bd_shape_fn_scalar(c, st);
}

BD_OP(ReadFile) = {
    .signature = "(filename: string) -> (contents: string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.start = read_start}),
    .doc = "The content of a file.",
};

// ---- WriteFile ----

static void write_file(bd_op_ctx *c)
{
    BD_STATUS(st);
    if (!check_scalar(c, 0, "Input filename") || !check_scalar(c, 1, "Contents")) return;
    char *path = bd_input_text(c, 0, 0);
    if (!path) return;
    char *dir = bd_path_dir(path);
    const bd_string *content = bd_tensor_str(bd_input(c, 1));
    if (bd_dir_make(bd_op_fs(c), dir, st) ||
        bd_file_write_atomic(bd_op_fs(c), path, content->len ? content->data : "", content->len, st))
        bd_op_fail_status(c, st);
    bd_free(dir);
    bd_free(path);
}

static void write_start(bd_op_ctx *c)
{
    bd_op_run_io(c, write_file);
}

BD_OP(WriteFile) = {
    .signature = "(filename: string, contents: string) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.start = write_start}),
    .doc = "Gives a file a new content, all at once; its directory is made when it is not there.",
};

// ---- MatchingFiles ----

static bool find_all(bd_op_ctx *c, bd_name_list *found)
{
    BD_STATUS(st);
    for (int64_t i = 0; i < bd_tensor_count(bd_input(c, 0)) && !bd_op_cancelled(c); i++) {
        bd_name_list list;
        char *pattern = bd_input_text(c, 0, i);
        if (!pattern) break;
        if (bd_glob(bd_op_fs(c), pattern, &list, st)) bd_op_fail_status(c, st);
        bd_free(pattern);
        for (size_t k = 0; k < list.len; k++)
            bd_array_push(found, list.items[k]);
        list.len = 0; // the names have moved
        bd_name_list_fini(&list);
        if (bd_op_failed(c)) break;
    }
    return !bd_op_failed(c);
}

static void match_files(bd_op_ctx *c)
{
    const braid_shape *s = &bd_input(c, 0)->shape;
    if (s->rank > 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input patterns tensor must be scalar or vector, but had shape: %s",
                   bd_shape_str(s, (char[BD_SHAPE_STR_MAX]){0}));
        return;
    }
    bd_name_list found = {0};
    braid_shape shape;
    if (find_all(c, &found)) {
        bd_name_list_sort(&found);
        shape = bd_shape1((int64_t)found.len);
        braid_tensor *y = bd_output(c, 0, BRAID_STRING, &shape);
        for (size_t i = 0; y && i < found.len; i++)
            bd_tensor_string_set(y, (int64_t)i, found.items[i], strlen(found.items[i]));
    }
    bd_name_list_fini(&found);
}

static void match_start(bd_op_ctx *c)
{
    bd_op_run_io(c, match_files);
}

static braid_code match_shape(bd_shape_ctx *c, braid_status *st)
{
    if (c->inputs[0].rank > 1)
        return bd_shape_ctx_fail(c, st, "Shape must be at most rank 1 but is rank %d", c->inputs[0].rank);
    c->outputs[0] = bd_shape1(-1);
    return BRAID_OK;
}

BD_OP(MatchingFiles) = {
    .signature = "(pattern: string) -> (filenames: string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = match_shape,
    .kernels = BD_KERNELS({.start = match_start}),
    .doc =
        "The files whose paths match a pattern, or one of several, sorted. NotFound when the directory before a pattern's "
        "first special character is not there.",
};
