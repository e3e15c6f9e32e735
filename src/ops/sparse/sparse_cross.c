// SparseCross, SparseCrossV2, SparseCrossHashed and tf.contrib's SparseFeatureCross and SparseFeatureCrossV2:
// all combinations of the features of several columns, row by row of a batch, as joined strings or as hashes.
#include "base/alloc.h"
#include "base/fingerprint.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "io/little_endian.h"
#include "ops/common/element.h"
#include "ops/common/string_out.h"
#include "ops/sparse/sparse.h"

#include <inttypes.h>
#include <string.h>

// ---- Columns ----

// A column: strings or integers, sparse or dense.
typedef struct column {
    const braid_tensor *values;
    braid_tensor indices; // owned; of a sparse one, [entries, 2]
    bool is_sparse;
    int64_t at;                // of a sparse one: the first entry not gone through
    int64_t passed;            // the last visited row; -1: none
    int64_t from, count, pick; // of the current row: its features, and the index of the current one
} column;

typedef struct crossing {
    column *columns; // owned
    int count, sparse;
    int64_t batch;
    bd_bytes separator;
    uint64_t (*hash)(const struct crossing *x); // of a combination; NULL: it becomes a string
    int64_t buckets;
    uint64_t key;
    bool is_strong;
    uint64_t salt[2]; // of strong hashes
} crossing;

static void crossing_fini(crossing *x)
{
    for (int i = 0; i < x->count && x->columns; i++)
        bd_tensor_fini(&x->columns[i].indices);
    bd_free(x->columns);
}

static bool fail_shape(bd_op_ctx *c, const char *what, const char *form, const braid_tensor *t, int i)
{
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s should be a %s but received shape %s at position %d", what,
               form, bd_shape_str(&t->shape, text), i);
    return false;
}

static bool check_sparse(bd_op_ctx *c, int i, int n)
{
    const braid_tensor *indices = bd_input(c, i), *values = bd_input(c, n + i),
                       *shape = bd_input(c, 2 * n + i);
    if (indices->shape.rank != 2) return fail_shape(c, "Input indices", "matrix", indices, i);
    if (values->shape.rank != 1) return fail_shape(c, "Input values", "vector", values, i);
    if (shape->shape.rank != 1) return fail_shape(c, "Input shapes", "vector", shape, i);
    if (indices->shape.dims[1] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected D2 of index to be 2 got %lld at position %d",
                   (long long)indices->shape.dims[1], i);
    } else if (indices->shape.dims[0] != values->shape.dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected size of values to be %lld got %lld at position %d",
                   (long long)indices->shape.dims[0], (long long)values->shape.dims[0], i);
    } else if (shape->shape.dims[0] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "shape should imply a 2D tensor, but got %lld dimensions at position %d",
                   (long long)shape->shape.dims[0], i);
    }
    return !bd_op_failed(c);
}

static bool check_batch(bd_op_ctx *c, crossing *x, int64_t rows, int i, const char *what)
{
    if (x->batch < 0) x->batch = rows;
    if (rows >= 0 && rows == x->batch) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected batch size %lld got %lld at %s %d", (long long)x->batch,
               (long long)rows, what, i);
    return false;
}

static bool read_columns(bd_op_ctx *c, crossing *x)
{
    int n = x->sparse;
    for (int i = 0; i < x->count; i++) {
        column *col = &x->columns[i];
        *col = (column){.is_sparse = i < n, .passed = -1};
        col->values = bd_input(c, i < n ? n + i : 2 * n + i);
        if (i >= n) {
            if (col->values->shape.rank != 2)
                return fail_shape(c, "Dense inputs", "matrix", col->values, i - n);
            if (!check_batch(c, x, col->values->shape.dims[0], i - n, "dense tensor")) return false;
            continue;
        }
        if (!check_sparse(c, i, n) ||
            !check_batch(c, x, bd_tensor_index(bd_input(c, 2 * n + i), 0), i, "position"))
            return false;
        if (bd_tensor_keep(&col->indices, bd_input(c, i))) continue;
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying the indices of column %d", i);
        return false;
    }
    return true;
}

// ---- Rows ----

static int64_t row_at(const column *col, int64_t entry)
{
    return bd_tensor_i64(&col->indices)[2 * entry];
}

// The next row of a sparse column with features, or -1. The column ends at an index that is out of order.
static int64_t next_row(const crossing *x, const column *col)
{
    if (col->at >= bd_tensor_count(col->values)) return -1;
    int64_t row = row_at(col, col->at);
    return row > col->passed && row < x->batch ? row : -1;
}

static void take_row(column *col, int64_t row)
{
    col->from = col->at;
    while (col->at < bd_tensor_count(col->values) && row_at(col, col->at) == row)
        col->at++;
    col->count = col->at - col->from;
    col->passed = row;
}

// Advances a column to the features of row `row`. Returns false when there are none.
static bool go_to(const crossing *x, column *col, int64_t row)
{
    col->pick = col->count = 0;
    if (!col->is_sparse) {
        col->count = col->values->shape.dims[1];
        col->from = row * col->count;
        return col->count > 0;
    }
    for (int64_t next; (next = next_row(x, col)) >= 0 && next <= row;) {
        take_row(col, next);
        if (next == row) return true;
    }
    return false;
}

// The next row after `row` in which each column has a feature, or -1. Rows that the first column lacks are
// skipped.
static int64_t next_crossed(crossing *x, int64_t row)
{
    for (;;) {
        column *first = &x->columns[0];
        row = first->is_sparse                                         ? next_row(x, first)
              : row + 1 < x->batch && first->values->shape.dims[1] > 0 ? row + 1
                                                                       : -1;
        if (row < 0) return -1;
        bool all = true;
        for (int i = 0; i < x->count; i++)
            all = go_to(x, &x->columns[i], row) && all;
        if (all) return row;
    }
}

static void rewind_columns(crossing *x)
{
    for (int i = 0; i < x->count; i++) {
        x->columns[i].at = 0;
        x->columns[i].passed = -1;
    }
}

// Counts the combinations in all, and at most in a row. Returns false when the kernel has failed.
static bool count_crosses(bd_op_ctx *c, crossing *x, int64_t *total, int64_t *most)
{
    *total = *most = 0;
    for (int64_t row = -1; (row = next_crossed(x, row)) >= 0;) {
        int64_t crosses = 1;
        bool fits = true;
        for (int i = 0; i < x->count; i++)
            fits = !__builtin_mul_overflow(crosses, x->columns[i].count, &crosses) && fits;
        fits = !__builtin_add_overflow(*total, crosses, total) && fits;
        if (!fits || *total > INT64_MAX / 2) {
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "more crosses in row %lld than can be counted",
                       (long long)row);
            return false;
        }
        if (crosses > *most) *most = crosses;
    }
    rewind_columns(x);
    return true;
}

// ---- Crosses ----

// The next combination of a row, the last column fastest; false when all have been.
static bool next_combination(crossing *x)
{
    for (int i = x->count - 1; i >= 0; i--) {
        column *col = &x->columns[i];
        if (++col->pick < col->count) return true;
        col->pick = 0;
    }
    return false;
}

static uint64_t plain_hash(const column *col)
{
    int64_t at = col->from + col->pick;
    if (col->values->dtype != BRAID_STRING) return (uint64_t)bd_tensor_i64(col->values)[at];
    const bd_string *s = &bd_tensor_str(col->values)[at];
    return bd_fingerprint64(s->data ? s->data : "", s->len);
}

static uint64_t hash_from_key(const crossing *x)
{
    uint64_t hash = x->key;
    for (int i = 0; i < x->count; i++)
        hash = bd_fingerprint_cat64(hash, plain_hash(&x->columns[i]));
    return hash;
}

#define FEATURE_CROSS_SEED 0xDECAFCAFFE

// SparseFeatureCross has a function of its own to combine hashes. It shifts signed numbers.
static uint64_t hash_by_shifts(const crossing *x)
{
    uint64_t hash = FEATURE_CROSS_SEED;
    for (int i = 0; i < x->count; i++)
        hash ^=
            plain_hash(&x->columns[i]) + 0x9e3779b97f4a7800u + (hash << 10) + (uint64_t)((int64_t)hash >> 4);
    return hash;
}

// As TensorFlow has it: of a number the low half counts, and of a dense one that is not hashed strongly the
// number is its own hash.
static uint64_t salted_hash(const crossing *x, const column *col)
{
    const int64_t at = col->from + col->pick;
    uint8_t bytes[4];
    bd_string s = {.data = (char *)bytes, .len = sizeof bytes};
    if (col->values->dtype == BRAID_STRING)
        s = bd_tensor_str(col->values)[at];
    else if (!x->is_strong && !col->is_sparse)
        return plain_hash(col);
    else
        bd_put_le32(bytes, (uint32_t)bd_tensor_i64(col->values)[at]);
    const char *data = s.data ? s.data : "";
    return x->is_strong ? bd_siphash(data, s.len, x->salt) : bd_fingerprint64(data, s.len);
}

static uint64_t hash_with_salt(const crossing *x)
{
    uint64_t hash = salted_hash(x, &x->columns[0]);
    for (int i = 1; i < x->count; i++)
        hash = bd_fingerprint_cat64(hash, salted_hash(x, &x->columns[i]));
    return hash;
}

static void append_feature(bd_strbuf *text, const column *col)
{
    int64_t at = col->from + col->pick;
    if (col->values->dtype == BRAID_STRING) {
        const bd_string *s = &bd_tensor_str(col->values)[at];
        if (s->len > 0) bd_strbuf_append_n(text, s->data, s->len);
    } else {
        bd_strbuf_appendf(text, "%" PRId64, bd_tensor_i64(col->values)[at]);
    }
}

static bool put_cross(bd_op_ctx *c, const crossing *x, const braid_tensor *y, int64_t at, bd_strbuf *text)
{
    if (x->hash) {
        const uint64_t limit = x->buckets > 0 ? (uint64_t)x->buckets : (uint64_t)INT64_MAX;
        bd_tensor_i64(y)[at] = (int64_t)(x->hash(x) % limit);
        return true;
    }
    bd_strbuf_clear(text);
    for (int i = 0; i < x->count; i++) {
        if (i > 0) bd_strbuf_append_n(text, x->separator.data, x->separator.len);
        append_feature(text, &x->columns[i]);
    }
    return bd_string_put(c, y, at, bd_strbuf_str(text), text->len);
}

static void output_crosses(bd_op_ctx *c, crossing *x, int64_t total, int64_t most)
{
    __attribute__((cleanup(bd_strbuf_fini))) bd_strbuf text = {0};
    braid_shape shape = bd_shape2(x->batch < 0 ? 0 : x->batch, most);
    int64_t *indices = bd_output_sparse_indices(c, 0, total, 2), at = 0;
    braid_tensor *y = indices ? bd_output_sparse_values(c, 1, c->node->output_types[1], total) : NULL;
    if (!y || !bd_output_sparse_shape(c, 2, &shape)) return;
    for (int64_t row = -1; total > 0 && (row = next_crossed(x, row)) >= 0 && !bd_interrupted();) {
        int64_t number = 0;
        do {
            if (!put_cross(c, x, y, at, &text)) return;
            indices[2 * at] = row;
            indices[2 * at++ + 1] = number++;
        } while (next_combination(x) && !bd_interrupted_at(at));
    }
}

// Crosses the columns of all inputs but the last `others`, with the options of `how`.
static void cross(bd_op_ctx *c, int others, const crossing *how)
{
    const int n = (int)bd_node_attr_int(c->node, "N"), count = c->input_count - others - 2 * n;
    int64_t total = 0, most = 0;
    __attribute__((cleanup(crossing_fini))) crossing x = *how;
    x.columns = bd_calloc((size_t)count + 1, sizeof *x.columns);
    x.count = count;
    x.sparse = n;
    x.batch = -1;
    if (!read_columns(c, &x)) return;
    if (count == 0 || count_crosses(c, &x, &total, &most)) output_crosses(c, &x, total, most);
}

static void cross_run(bd_op_ctx *c)
{
    cross(c, 0,
          &(crossing){.separator = {"_X_", 3},
                      .hash = c->node->output_types[1] == BRAID_INT64 ? hash_from_key : NULL,
                      .buckets = bd_node_attr_int(c->node, "num_buckets"),
                      .key = (uint64_t)bd_node_attr_int(c->node, "hash_key")});
}

static void feature_cross_run(bd_op_ctx *c)
{
    cross(c, 0,
          &(crossing){.separator = {"_X_", 3},
                      .hash = c->node->output_types[1] == BRAID_INT64 ? hash_by_shifts : NULL,
                      .buckets = bd_node_attr_int(c->node, "num_buckets")});
}

static void cross_v2_run(bd_op_ctx *c)
{
    const braid_tensor *separator = bd_input(c, c->input_count - 1);
    if (separator->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input separator should be a scalar. Received: shape %s",
                   bd_shape_str(&separator->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return;
    }
    const bd_string *s = bd_tensor_str(separator);
    cross(c, 1, &(crossing){.separator = {s->data ? s->data : "", s->len}});
}

static void cross_hashed_run(bd_op_ctx *c)
{
    const int first = c->input_count - 3;
    const braid_tensor *strong = bd_input(c, first + 1), *salt = bd_input(c, first + 2);
    crossing how = {.hash = hash_with_salt};
    if (!bd_input_int(c, first, "num_buckets", &how.buckets)) return;
    if (bd_tensor_count(strong) != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "strong_hash must be a scalar");
        return;
    }
    if (bd_tensor_count(salt) != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input \"salt\" must have length 2 but has length %lld",
                   (long long)bd_tensor_count(salt));
        return;
    }
    how.is_strong = bd_tensor_bool(strong)[0];
    for (int i = 0; i < 2; i++)
        how.salt[i] = (uint64_t)bd_tensor_i64(salt)[i];
    cross(c, 3, &how);
}

static braid_code cross_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_shape2(-1, 2);
    c->outputs[1] = bd_shape1(-1);
    c->outputs[2] = bd_shape1(2);
    return BRAID_OK;
}

BD_OP(SparseCross) = {
    .signature = "(indices: N*int64, values: sparse_types..., shapes: N*int64, dense_inputs: dense_types...) "
                 "-> (output_indices: int64, output_values: out_type, output_shape: int64)",
    .attrs = "N:int>=0; hashed_output:bool; num_buckets:int>=0; hash_key:int; "
             "sparse_types:list(type){int64,string}>=0; dense_types:list(type){int64,string}>=0; "
             "out_type:type{int64,string}; internal_type:type{int64,string}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = cross_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = cross_run}),
    .doc =
        "All combinations of one feature of each column, row by row of a batch: joined by \"_X_\", or hashed "
        "into num_buckets (0: any number).",
};

#define FEATURE_COLUMNS                                                                                      \
    "(indices: N*int64, values: sparse_types..., shapes: N*int64, dense: dense_types...) -> "                \
    "(output_indices: int64, output_values: out_type, output_shape: int64)"
#define FEATURE_TYPES                                                                                        \
    "sparse_types:list(type){int64,string}>=0; dense_types:list(type){int64,string}>=0; "                    \
    "out_type:type{int64,string}; internal_type:type{int64,string}"

BD_OP(SparseFeatureCross) = {
    .signature = FEATURE_COLUMNS,
    .attrs = "N:int>=0; hashed_output:bool; num_buckets:int>=0; " FEATURE_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = cross_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = feature_cross_run}),
    .doc = "tf.contrib.layers' form of SparseCross without a key: its hashes are others.",
};

BD_OP(SparseFeatureCrossV2) = {
    .signature = FEATURE_COLUMNS,
    .attrs = "N:int>=0; hashed_output:bool; num_buckets:int>=0; hash_key:int; " FEATURE_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = cross_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = cross_run}),
    .doc = "tf.contrib.layers' form of SparseCross with a key: its hashes are SparseCross'.",
};

#define COLUMNS "(indices: N*int64, values: sparse_types..., shapes: N*int64, dense_inputs: dense_types..., "
#define COLUMN_ATTRS                                                                                         \
    "N:int>=0; sparse_types:list(type){int64,string}>=0; dense_types:list(type){int64,string}>=0"

BD_OP(SparseCrossV2) = {
    .signature = COLUMNS
    "sep: string) -> (output_indices: int64, output_values: string, output_shape: int64)",
    .attrs = COLUMN_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = cross_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = cross_v2_run}),
    .doc = "All combinations of one feature of each column, row by row of a batch, joined by `sep`.",
};

BD_OP(SparseCrossHashed) = {
    .signature = COLUMNS "num_buckets: int64, strong_hash: bool, salt: int64) -> (output_indices: int64, "
                         "output_values: int64, output_shape: int64)",
    .attrs = COLUMN_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = cross_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = cross_hashed_run}),
    .doc =
        "All combinations of one feature of each column, row by row of a batch, hashed into num_buckets (0: any number).",
};
