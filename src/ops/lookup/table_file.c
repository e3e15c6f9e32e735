// Tables out of the lines of a text file: vocabularies.
#include "base/alloc.h"
#include "io/lines.h"
#include "op/io_pool.h"
#include "ops/common/element.h"
#include "ops/common/file_arg.h"
#include "ops/common/handle.h"
#include "ops/common/text_number.h"
#include "ops/lookup/table.h"
#include <string.h>

// Special columns.
enum {
    WHOLE_LINE = -2,
    LINE_NUMBER = -1
};

typedef struct file_state {
    int64_t key_index, value_index, vocab_size, offset;
    char delimiter;
} file_state;

static braid_code file_create(const braid_op *node, void *state, braid_status *st)
{
    file_state *s = state;
    const char *delimiter = bd_node_attr_string(node, "delimiter");
    *s = (file_state){.key_index = bd_node_attr_int(node, "key_index"),
                      .value_index = bd_node_attr_int(node, "value_index"),
                      .vocab_size = bd_node_attr_int(node, "vocab_size"),
                      .offset = bd_node_attr_int(node, "offset"),
                      .delimiter = delimiter[0]};
    if (strlen(delimiter) == 1) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "delimiter should be only 1 char");
}

// Which type a column is read as must be one that it can give.
static braid_code check_column(bool is_key, int64_t index, braid_dtype dtype, braid_status *st)
{
    if (index == LINE_NUMBER && dtype != BRAID_INT64)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "%s index for line number requires table %s dtype of int64, got %s",
                       is_key ? "Key" : "Value", is_key ? "key" : "value", braid_dtype_name(dtype));
    if (index == WHOLE_LINE && dtype != BRAID_STRING && dtype != BRAID_INT32 && dtype != BRAID_INT64)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "%s index for whole line requires string or integer table %s dtype, got %s",
                       is_key ? "Key" : "Value", is_key ? "key" : "value", braid_dtype_name(dtype));
    return BRAID_OK;
}

// Rows read so far.
typedef struct columns {
    braid_tensor keys, values;
    int64_t count, capacity;
} columns;

static braid_code grow_column(braid_tensor *column, braid_dtype dtype, int64_t count, int64_t capacity,
                              braid_status *st)
{
    braid_tensor larger;
    const braid_shape shape = bd_shape1(capacity);
    if (bd_tensor_init(&larger, dtype, &shape, st)) return st->code;
    if (count > 0) bd_elements_copy(&larger, 0, column, 0, count);
    bd_tensor_fini(column);
    *column = larger;
    return BRAID_OK;
}

static braid_code reserve(columns *rows, const bd_table *t, braid_status *st)
{
    if (rows->count < rows->capacity) return BRAID_OK;
    rows->capacity = rows->capacity ? 2 * rows->capacity : 64;
    braid_code code = grow_column(&rows->keys, t->options.key_dtype, rows->count, rows->capacity, st);
    if (!code) code = grow_column(&rows->values, t->options.value_dtype, rows->count, rows->capacity, st);
    return code;
}

typedef struct text_line {
    const char *path;
    const char *text;
    size_t len;
    int64_t number; // from 0 on
} text_line;

static braid_code set_element(const braid_tensor *column, int64_t row, const char *text, size_t len,
                              const text_line *line, braid_status *st)
{
    if (column->dtype == BRAID_STRING) {
        if (bd_tensor_string_try_set(column, row, text, len)) return BRAID_OK;
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when reading line %lld of '%s'",
                       (long long)line->number + 1, line->path);
    }
    if (bd_text_to_number(text, len, column, row)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Field %.*s in line %lld of '%s' is not a valid %s.",
                   (int)bd_min((int64_t)len, 256), text, (long long)line->number + 1, line->path,
                   braid_dtype_name(column->dtype));
}

// Finds column `index` of the line. *columns is the number of columns up to it, or all.
static bool find_column(const text_line *line, char delimiter, int64_t index, const char **text, size_t *len,
                        int64_t *count)
{
    const char *at = line->text, *end = line->text + line->len;
    for (*count = 1;; ++*count) {
        const char *next = memchr(at, delimiter, (size_t)(end - at));
        if (*count - 1 == index) {
            *text = at;
            *len = (size_t)((next ? next : end) - at);
            return true;
        }
        if (!next) return false;
        at = next + 1;
    }
}

static braid_code read_column(const file_state *s, const text_line *line, int64_t index,
                              const braid_tensor *column, int64_t row, braid_status *st)
{
    const char *text = line->text;
    size_t len = line->len;
    int64_t count;
    if (index == LINE_NUMBER) {
        bd_tensor_i64(column)[row] = (int64_t)((uint64_t)line->number + (uint64_t)s->offset);
        return BRAID_OK;
    }
    if (index != WHOLE_LINE && !find_column(line, s->delimiter, index, &text, &len, &count))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Invalid number of columns in %s line %lld (%.*s) : expected at least %lld got %lld",
                       line->path, (long long)line->number, (int)bd_min((int64_t)line->len, 256), line->text,
                       (long long)bd_max(s->key_index, s->value_index) + 1, (long long)count);
    braid_code code = set_element(column, row, text, len, line, st);
    // As in TensorFlow, the offset counts for line numbers and for numbers of this type alone.
    if (!code && column->dtype == BRAID_INT32)
        bd_tensor_i32(column)[row] =
            (int32_t)((uint32_t)bd_tensor_i32(column)[row] + (uint32_t)(uint64_t)s->offset);
    return code;
}

static braid_code read_line(const file_state *s, const text_line *line, const bd_table *t, columns *rows,
                            braid_status *st)
{
    if (reserve(rows, t, st) || read_column(s, line, s->key_index, &rows->keys, rows->count, st) ||
        read_column(s, line, s->value_index, &rows->values, rows->count, st))
        return st->code;
    rows->count++;
    return BRAID_OK;
}

static braid_code read_lines(bd_op_ctx *c, const char *path, const bd_table *t, columns *rows,
                             braid_status *st)
{
    const file_state *s = c->state;
    bd_lines *lines;
    if (bd_lines_open(bd_op_fs(c), path, BD_COMPRESSION_NONE, &lines, st)) return st->code;
    text_line line = {.path = path};
    while ((s->vocab_size < 0 || line.number < s->vocab_size) && !bd_op_cancelled(c) &&
           !bd_lines_next(lines, &line.text, &line.len, st) && !read_line(s, &line, t, rows, st))
        line.number++;
    bd_lines_close(lines);
    if (st->code == BRAID_OUT_OF_RANGE) braid_status_clear(st); // the end of the file
    if (!st->code && !bd_op_failed(c) && line.number < s->vocab_size)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Invalid vocab_size in %s: expected %lld but got %lld", path,
                (long long)s->vocab_size, (long long)line.number);
    return st->code;
}

static void initialize(bd_op_ctx *c, const char *path, bd_table *t)
{
    const file_state *s = c->state;
    columns rows = {0};
    BD_STATUS(st);
    if (!check_column(true, s->key_index, t->options.key_dtype, st) &&
        !check_column(false, s->value_index, t->options.value_dtype, st) &&
        !read_lines(c, path, t, &rows, st) && !bd_op_failed(c) &&
        bd_table_initialize(t, &rows.keys, &rows.values, rows.count, st) == BRAID_FAILED_PRECONDITION &&
        bd_table_is_initialized(t))
        braid_status_clear(st); // as in TensorFlow an initialized table is not changed
    if (st->code) bd_op_fail_status(c, st);
    bd_tensor_fini(&rows.keys);
    bd_tensor_fini(&rows.values);
}

static void file_run(bd_op_ctx *c)
{
    if (bd_input(c, 1)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "filename should be a single string, but got %s",
                   bd_shape_str(&bd_input(c, 1)->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return;
    }
    bd_resource *r = bd_input_resource(c, 0, &bd_table_type);
    char *path = r ? bd_input_text(c, 1, 0) : NULL;
    if (path) initialize(c, path, BD_CONTAINER_OF(r, bd_table, base));
    bd_free(path);
    bd_resource_unref(r);
}

static void file_start(bd_op_ctx *c)
{
    bd_op_run_io(c, file_run);
}

static braid_code file_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_handle(c, st);
    return code ? code : bd_shape_ctx_rank(c, 1, 0, st);
}

#define FILE_ATTRS                                                                                           \
    "key_index:int>=-2; value_index:int>=-2; vocab_size:int>=-1=-1; delimiter:string='\\t'; +offset:int=0"
#define FILE_KERNEL BD_KERNELS({.state_size = sizeof(file_state), .create = file_create, .start = file_start})
#define FILE_DOC                                                                                             \
    "Fills a table that is filled once from the lines of a file: keys and values are columns, the line's number or the whole line."
BD_OP(InitializeTableFromTextFile) = {
    .signature = "(table_handle: Ref(string), filename: string) -> ()",
    .attrs = FILE_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = file_shape,
    .kernels = FILE_KERNEL,
    .doc = FILE_DOC,
};
BD_OP(InitializeTableFromTextFileV2) = {
    .signature = "(table_handle: resource, filename: string) -> ()",
    .attrs = FILE_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = file_shape,
    .kernels = FILE_KERNEL,
    .doc = FILE_DOC,
};
