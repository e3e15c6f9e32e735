// DecodeLibsvm: lines `LABEL INDEX:VALUE INDEX:VALUE ...`, which LIBSVM reads, as labels and a sparse tensor.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"
#include "ops/common/text_number.h"

#include <ctype.h>
#include <string.h>

static braid_code libsvm_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = c->inputs[0];
    c->outputs[1] = bd_shape2(-1, -1);
    c->outputs[2] = c->outputs[3] = bd_shape1(-1);
    return BRAID_OK;
}

// The rest of a line.
typedef struct line {
    const char *at, *end;
} line;

typedef struct piece {
    const char *data;
    size_t len; // 0: the line ends
} piece;

static piece next_piece(line *l)
{
    while (l->at < l->end && isspace((unsigned char)*l->at))
        l->at++;
    piece p = {.data = l->at};
    while (l->at < l->end && !isspace((unsigned char)*l->at))
        l->at++;
    p.len = (size_t)(l->at - p.data);
    return p;
}

static line line_of(const braid_tensor *x, int64_t i)
{
    const bd_string *s = &bd_tensor_str(x)[i];
    return s->data ? (line){s->data, s->data + s->len} : (line){0};
}

// How many features the lines have; a line without a label has none.
static int64_t count_features(const braid_tensor *x)
{
    int64_t count = 0;
    for (int64_t i = 0; i < bd_tensor_count(x) && !bd_interrupted_at(i); i++) {
        line l = line_of(x, i);
        if (next_piece(&l).len == 0) continue;
        while (next_piece(&l).len > 0)
            count++;
    }
    return count;
}

// Where the features go.
typedef struct features {
    const braid_tensor *indices; // [features, rank + 1]
    const braid_tensor *values;
} features;

static bool put_feature(bd_op_ctx *c, const features *f, int64_t n, const piece *p)
{
    const char *colon = memchr(p->data, ':', p->len);
    const int shown = (int)bd_min((int64_t)p->len, 1024);
    if (!colon) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid feature \"%.*s\"", shown, p->data);
        return false;
    }
    const size_t digits = (size_t)(colon - p->data);
    const int64_t columns = f->indices->shape.dims[1], at = n * columns + columns - 1;
    if (!bd_text_to_number(p->data, digits, f->indices, at) ||
        !bd_text_to_number(colon + 1, p->len - digits - 1, f->values, n)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Feature format incorrect: %.*s", shown, p->data);
        return false;
    }
    const int64_t index = bd_tensor_i64(f->indices)[at];
    if (index < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Feature index should be >= 0, got %lld", (long long)index);
    return index >= 0;
}

// The place of element `i` in `x`, before the index of feature `n`.
static void put_place(const features *f, int64_t n, const braid_shape *x, int64_t i)
{
    int64_t *place = bd_tensor_i64(f->indices) + n * (x->rank + 1);
    for (int d = x->rank - 1; d >= 0; d--) {
        place[d] = i % x->dims[d];
        i /= x->dims[d];
    }
}

// Returns the number of the line's features.
static int64_t read_line(bd_op_ctx *c, const features *f, int64_t n, int64_t i)
{
    const braid_tensor *x = bd_input(c, 0);
    line l = line_of(x, i);
    const piece label = next_piece(&l);
    const bd_string *s = &bd_tensor_str(x)[i];
    if (label.len == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "No label found for input[%lld]: \"%.*s\"", (long long)i,
                   (int)bd_min((int64_t)s->len, 1024), s->data ? s->data : "");
    else if (!bd_text_to_number(label.data, label.len, &c->outputs[0].tensor, i))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Label format incorrect: %.*s",
                   (int)bd_min((int64_t)label.len, 1024), label.data);
    int64_t count = 0;
    for (piece p = next_piece(&l); p.len > 0 && !bd_op_failed(c); p = next_piece(&l)) {
        if (!put_feature(c, f, n + count, &p)) break;
        put_place(f, n + count, &x->shape, i);
        count++;
    }
    return count;
}

static void libsvm_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    const int64_t rank = x->shape.rank, count = count_features(x);
    const braid_shape indices = bd_shape2(count, rank + 1), values = bd_shape1(count),
                      dims = bd_shape1(rank + 1);
    if (bd_op_interrupted(c) || !bd_output(c, 0, c->node->output_types[0], &x->shape)) return;
    const features f = {.indices = bd_output(c, 1, BRAID_INT64, &indices),
                        .values = bd_output(c, 2, c->node->output_types[2], &values)};
    const braid_tensor *shape = bd_output(c, 3, BRAID_INT64, &dims);
    if (!f.indices || !f.values || !shape) return;
    memcpy(bd_tensor_i64(shape), x->shape.dims, sizeof x->shape.dims[0] * (size_t)rank);
    bd_tensor_i64(shape)[rank] = bd_node_attr_int(c->node, "num_features");
    for (int64_t i = 0, n = 0; i < bd_tensor_count(x) && !bd_op_failed(c) && !bd_interrupted_at(i); i++)
        n += read_line(c, &f, n, i);
}

BD_OP(DecodeLibsvm) = {
    .signature = "(input: string) -> (label: label_dtype, feature_indices: int64, feature_values: dtype, "
                 "feature_shape: int64)",
    .attrs = "dtype:type{float,double,int32,int64}=float; label_dtype:type{float,double,int32,int64}=int64; "
             "num_features:int>=1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = libsvm_shape,
    .kernels = BD_KERNELS({.run = libsvm_run}),
    .doc = "Lines `LABEL INDEX:VALUE ...` as labels, and features as a sparse tensor of shape "
           "[input's, num_features].",
};
