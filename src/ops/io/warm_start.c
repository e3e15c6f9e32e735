// Warm start of models that were trained with other vocabularies: GenerateVocabRemapping maps new entries to
// old ones, and LoadAndRemapMatrix reads a matrix of a checkpoint in the new order.
#include "base/alloc.h"
#include "base/map.h"
#include "graph/shape_fn.h"
#include "io/checkpoint.h"
#include "io/lines.h"
#include "op/io_pool.h"
#include "ops/common/file_arg.h"

#include <string.h>

// ---- GenerateVocabRemapping ----

typedef struct vocab_task {
    bd_op_ctx *c;
    bd_map ids; // line of the old vocabulary -> its number, and one
} vocab_task;

// Calls fn with each of the first `max` lines of a file (negative: all lines) until it fails. Returns the
// number of lines.
static int64_t for_lines(vocab_task *t, const char *path, int64_t max,
                         void (*fn)(vocab_task *t, const char *line, size_t len, int64_t number))
{
    BD_STATUS(st);
    bd_lines *lines;
    const char *line;
    size_t len;
    int64_t number = 0;
    if (!bd_lines_open(bd_op_fs(t->c), path, BD_COMPRESSION_NONE, &lines, st)) {
        for (; (max < 0 || number < max) && !bd_op_failed(t->c) && !bd_op_cancelled(t->c) &&
               !bd_lines_next(lines, &line, &len, st);
             number++)
            fn(t, line, len, number);
        bd_lines_close(lines);
    }
    if (st->code && st->code != BRAID_OUT_OF_RANGE) bd_op_fail_status(t->c, st);
    return number;
}

static void add_old(vocab_task *t, const char *line, size_t len, int64_t number)
{
    if (bd_map_put_n(&t->ids, line, len, (void *)(uintptr_t)(number + 1)))
        bd_op_fail(t->c, BRAID_INVALID_ARGUMENT,
                   "Duplicate entry in the old vocabulary: line %lld, '%.*s', is there before",
                   (long long)number, (int)bd_min((int64_t)len, 256), line);
}

static void look_up_new(vocab_task *t, const char *line, size_t len, int64_t number)
{
    const int64_t at = number - bd_node_attr_int(t->c->node, "new_vocab_offset");
    if (at < 0 || at >= bd_node_attr_int(t->c->node, "num_new_vocab")) return;
    const uintptr_t id = (uintptr_t)bd_map_get_n(&t->ids, line, len);
    bd_tensor_i64(&t->c->outputs[0].tensor)[at] = (int64_t)id - 1;
    bd_tensor_i32(&t->c->outputs[1].tensor)[0] += id > 0;
}

static void remap_files(vocab_task *t, const char *new_file, const char *old_file)
{
    bd_op_ctx *c = t->c;
    const int64_t old_size = bd_node_attr_int(c->node, "old_vocab_size"),
                  offset = bd_node_attr_int(c->node, "new_vocab_offset"),
                  count = bd_node_attr_int(c->node, "num_new_vocab");
    const int64_t old_lines = for_lines(t, old_file, old_size, add_old);
    if (!bd_op_failed(c) && old_lines < old_size)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid vocab_size in %s: expected %lld but got %lld",
                   old_file, (long long)old_size, (long long)old_lines);
    if (bd_op_failed(c)) return;
    const int64_t new_lines = for_lines(t, new_file, -1, look_up_new);
    if (!bd_op_failed(c) && (offset > new_lines || count > new_lines - offset))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "lookup table size must be larger than last new vocab entry's line: %s has %lld lines",
                   new_file, (long long)new_lines);
}

static bool check_names(bd_op_ctx *c)
{
    for (int i = 0; i < 2; i++) {
        const braid_tensor *t = bd_input(c, i);
        if (t->shape.rank != 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s should be a single string, but got %s",
                       c->node->def->inputs[i].name, bd_shape_str(&t->shape, (char[BD_SHAPE_STR_MAX]){0}));
        else if (bd_tensor_str(t)->len == 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s vocab filename cannot be empty.",
                       i == 0 ? "new" : "old");
    }
    return !bd_op_failed(c);
}

static void vocab_blocking(bd_op_ctx *c)
{
    if (!check_names(c)) return;
    BD_STATUS(st);
    int64_t elements;
    braid_shape shape = bd_shape1(bd_node_attr_int(c->node, "num_new_vocab"));
    if (bd_shape_checked_count(&shape, &elements, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *remapping = bd_output(c, 0, BRAID_INT64, &shape);
    braid_tensor *present = remapping ? bd_output(c, 1, BRAID_INT32, &BD_SCALAR) : NULL;
    if (!present) return;
    memset(remapping->data, 0, bd_tensor_bytes(remapping));
    bd_tensor_i32(present)[0] = 0;
    vocab_task t = {.c = c};
    char *new_file = bd_input_text(c, 0, 0), *old_file = new_file ? bd_input_text(c, 1, 0) : NULL;
    if (old_file) remap_files(&t, new_file, old_file);
    bd_map_fini(&t.ids);
    bd_free(new_file);
    bd_free(old_file);
}

static void vocab_start(bd_op_ctx *c)
{
    bd_op_run_io(c, vocab_blocking);
}

static braid_code vocab_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 0, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 0, st);
    c->outputs[0] = bd_shape1(bd_node_attr_int(c->node, "num_new_vocab"));
    c->outputs[1] = BD_SCALAR;
    return code;
}

BD_OP(GenerateVocabRemapping) = {
    .signature = "(new_vocab_file: string, old_vocab_file: string) -> (remapping: int64, num_present: int32)",
    .attrs = "new_vocab_offset:int>=0; num_new_vocab:int>=0; old_vocab_size:int>=-1=-1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = vocab_shape,
    .kernels = BD_KERNELS({.start = vocab_start}),
    .doc =
        "The line of each entry of a new vocabulary in an old one, -1 where it is not in there, and how many are.",
};

// ---- LoadAndRemapMatrix ----

enum {
    CKPT_PATH,
    OLD_TENSOR_NAME,
    ROW_REMAPPING,
    COL_REMAPPING,
    INITIALIZING_VALUES
};

typedef struct matrix_task {
    bd_op_ctx *c;
    int64_t rows, cols, rows_max; // from the attrs
    int64_t old_cols;
    const int64_t *old_row, *old_col; // of each row and column; old_col is NULL: they are the same
    bd_imap new_row;                  // of an old one, and one
    bd_checkpoint checkpoint;
    const char *name;
    braid_tensor *out;
} matrix_task;

// Computes for each old index the new index + 1. Returns false when an old index occurs twice.
static bool invert(bd_op_ctx *c, const int64_t *old, int64_t count, bd_imap *to_new)
{
    for (int64_t i = 0; i < count; i++) {
        if (old[i] < 0) continue;
        const uintptr_t before = (uintptr_t)bd_imap_put(to_new, (uint64_t)old[i], (void *)(uintptr_t)(i + 1));
        if (before == 0) continue;
        bd_op_fail(c, BRAID_UNIMPLEMENTED,
                   "Old ID %lld is mapped to both new ID %lld and %lld, which is not supported.",
                   (long long)old[i], (long long)before - 1, (long long)i);
        return false;
    }
    return true;
}

static bool read_mappings(matrix_task *t)
{
    bd_op_ctx *c = t->c;
    const braid_tensor *rows = bd_input(c, ROW_REMAPPING), *cols = bd_input(c, COL_REMAPPING);
    bd_imap new_col = {0};
    if (rows->shape.rank != 1 || cols->shape.rank != 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "row_remapping and col_remapping must be vectors");
    else if (rows->shape.dims[0] != t->rows)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Size of row_remapping is %lld instead of being equal to num_rows=%lld",
                   (long long)rows->shape.dims[0], (long long)t->rows);
    else if (invert(c, bd_tensor_i64(rows), t->rows, &t->new_row) && cols->shape.dims[0] > 0) {
        if (cols->shape.dims[0] != t->cols)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Provided col_remapping, but its size is %lld instead of being equal to num_cols=%lld",
                       (long long)cols->shape.dims[0], (long long)t->cols);
        else
            invert(c, bd_tensor_i64(cols), t->cols, &new_col);
    }
    bd_imap_fini(&new_col);
    t->old_row = bd_tensor_i64(rows);
    t->old_col = cols->shape.dims[0] > 0 ? bd_tensor_i64(cols) : NULL;
    return !bd_op_failed(c);
}

// Whether old ids, inputs of the kernel, are below `limit`.
static bool check_ids(bd_op_ctx *c, int input, const int64_t *old, int64_t count, int64_t limit)
{
    for (int64_t i = 0; i < count; i++) {
        if (old[i] < limit) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s[%lld] is %lld, but the old tensor has only %lld of them",
                   c->node->def->inputs[input].name, (long long)i, (long long)old[i], (long long)limit);
        return false;
    }
    return true;
}

static bool find_matrix(matrix_task *t)
{
    BD_STATUS(st);
    bd_op_ctx *c = t->c;
    braid_dtype dtype;
    braid_shape shape;
    char text[BD_SHAPE_STR_MAX];
    if (bd_checkpoint_find(&t->checkpoint, t->name, &dtype, &shape, st)) {
        bd_op_fail_status(c, st);
        return false;
    }
    if (dtype != BRAID_FLOAT)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tensor %s has invalid type %s instead of expected type float",
                   t->name, braid_dtype_name(dtype));
    else if (shape.rank != 2)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Tensor %s has shape %s of invalid rank %d instead of expected shape of rank 2.", t->name,
                   bd_shape_str(&shape, text), shape.rank);
    else if (!t->old_col && shape.dims[1] != t->cols)
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Tensor %s has shape %s, where the size of its 2nd dimension is %lld instead of being equal to "
            "num_cols=%lld",
            t->name, bd_shape_str(&shape, text), (long long)shape.dims[1], (long long)t->cols);
    else if (check_ids(c, ROW_REMAPPING, t->old_row, t->rows, shape.dims[0]) && t->old_col)
        check_ids(c, COL_REMAPPING, t->old_col, t->cols, shape.dims[1]);
    t->old_cols = shape.rank == 2 ? shape.dims[1] : 0;
    return !bd_op_failed(c);
}

// Copies the wanted ones of old rows [first, first + count), which are in `part`.
static void take_rows(const matrix_task *t, const braid_tensor *part, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const uintptr_t new_row = (uintptr_t)bd_imap_get(&t->new_row, (uint64_t)(first + i));
        if (new_row == 0) continue;
        const float *from = bd_tensor_f32(part) + i * t->old_cols;
        float *to = bd_tensor_f32(t->out) + (int64_t)(new_row - 1) * t->cols;
        for (int64_t k = 0; k < t->cols; k++) {
            const int64_t old = t->old_col ? t->old_col[k] : k;
            if (old >= 0) to[k] = from[old];
        }
    }
}

static bool load_rows(const matrix_task *t)
{
    BD_STATUS(st);
    int64_t first = INT64_MAX, last = -1;
    for (int64_t i = 0; i < t->rows; i++) {
        if (t->old_row[i] < 0) continue;
        first = bd_min(first, t->old_row[i]);
        last = bd_max(last, t->old_row[i]);
    }
    while (first <= last && !bd_op_cancelled(t->c)) {
        braid_tensor part = {0};
        const int64_t left = last - first + 1, count = t->rows_max > 0 ? bd_min(t->rows_max, left) : left;
        bd_tensor_slice slice = bd_tensor_slice_all(2);
        slice.start[0] = first;
        slice.length[0] = count;
        if (bd_checkpoint_read((bd_checkpoint *)&t->checkpoint, t->name, &slice, &part, st)) {
            bd_op_fail_status(t->c, st);
            return false;
        }
        take_rows(t, &part, first, count);
        bd_tensor_fini(&part);
        first += count;
    }
    return !bd_op_failed(t->c);
}

// Fills the cells that were not loaded with the initializing values, in order.
static void initialize_rest(const matrix_task *t)
{
    const braid_tensor *values = bd_input(t->c, INITIALIZING_VALUES);
    const int64_t count = bd_tensor_count(values);
    int64_t used = 0;
    for (int64_t i = 0; i < t->rows; i++) {
        for (int64_t k = 0; k < t->cols; k++) {
            if (t->old_row[i] >= 0 && (!t->old_col || t->old_col[k] >= 0)) continue;
            if (used == count) {
                bd_op_fail(t->c, BRAID_INVALID_ARGUMENT,
                           "initializing_values contained %lld elements, but more missing values remain.",
                           (long long)count);
                return;
            }
            bd_tensor_f32(t->out)[i * t->cols + k] = bd_tensor_f32(values)[used++];
        }
    }
    if (used < count)
        bd_op_fail(
            t->c, BRAID_INVALID_ARGUMENT,
            "initializing_values contained %lld elements, but only %lld elements were used to fill in missing "
            "values.",
            (long long)count, (long long)used);
}

static void load_matrix(matrix_task *t, const char *path)
{
    BD_STATUS(st);
    int64_t count;
    const braid_shape shape = bd_shape2(t->rows, t->cols);
    if (bd_checkpoint_open(bd_op_fs(t->c), path, &t->checkpoint, st) ||
        bd_shape_checked_count(&shape, &count, st)) {
        bd_op_fail_status(t->c, st);
        return;
    }
    if (!find_matrix(t)) return;
    t->out = bd_output(t->c, 0, BRAID_FLOAT, &shape);
    if (t->out && load_rows(t)) initialize_rest(t);
}

static void matrix_blocking(bd_op_ctx *c)
{
    matrix_task t = {.c = c,
                     .rows = bd_node_attr_int(c->node, "num_rows"),
                     .cols = bd_node_attr_int(c->node, "num_cols"),
                     .rows_max = bd_node_attr_int(c->node, "max_rows_in_memory")};
    for (int i = CKPT_PATH; i <= OLD_TENSOR_NAME; i++) {
        if (bd_tensor_count(bd_input(c, i)) == 1) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a single string, but got shape %s",
                   c->node->def->inputs[i].name,
                   bd_shape_str(&bd_input(c, i)->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return;
    }
    char *path = bd_input_text(c, CKPT_PATH, 0), *name = path ? bd_input_text(c, OLD_TENSOR_NAME, 0) : NULL;
    t.name = name;
    if (name && read_mappings(&t)) load_matrix(&t, path);
    bd_checkpoint_close(&t.checkpoint);
    bd_imap_fini(&t.new_row);
    bd_free(path);
    bd_free(name);
}

static void matrix_start(bd_op_ctx *c)
{
    bd_op_run_io(c, matrix_blocking);
}

static braid_code matrix_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = bd_shape2(bd_node_attr_int(c->node, "num_rows"), bd_node_attr_int(c->node, "num_cols"));
    return bd_shape_ctx_rank(c, OLD_TENSOR_NAME, 0, st);
}

BD_OP(LoadAndRemapMatrix) = {
    .signature = "(ckpt_path: string, old_tensor_name: string, row_remapping: int64, col_remapping: int64, "
                 "initializing_values: float) -> (output_matrix: float)",
    .attrs = "num_rows:int>=0; num_cols:int>=1; max_rows_in_memory:int=-1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = matrix_shape,
    .kernels = BD_KERNELS({.start = matrix_start}),
    .doc =
        "A matrix of a checkpoint with its rows and columns in another order; those of -1 take the initializing values.",
};
