// The ops of TensorArrays that write or read many elements at once: stacked, or joined along their first dimension.
#include "base/alloc.h"
#include "ops/element.h"
#include "ops/tensor_array_ops.h"

#include <string.h>

// ---- Many elements, stacked ----

// Elements that have been read, to be put together.
typedef struct parts {
    braid_tensor *items;
    int64_t count;
} parts;

static void parts_fini(parts *p)
{
    for (int64_t i = 0; i < p->count; i++)
        bd_tensor_fini(&p->items[i]);
    bd_free(p->items);
}

// Reads the elements that `indices` name (NULL: the first `count`).
static bool read_parts(bd_op_ctx *c, bd_tensor_array *a, const braid_tensor *indices, int64_t count, parts *p)
{
    BD_STATUS(st);
    *p = (parts){bd_calloc((size_t)count + 1, sizeof(braid_tensor)), 0};
    for (; p->count < count; p->count++) {
        int64_t at = indices ? bd_tensor_index(indices, p->count) : p->count;
        if (!bd_tensor_array_read(a, at, &p->items[p->count], st)) continue;
        bd_tensor_array_fail(c, st);
        return false;
    }
    return true;
}

static bool fail_parts(bd_op_ctx *c, const char *what, const braid_shape *first, int64_t i,
                       const braid_shape *other)
{
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "TensorArray has inconsistent %s. Index 0 has shape: %s but index %lld has shape: %s", what,
               bd_shape_str(first, x), (long long)i, bd_shape_str(other, y));
    return false;
}

static bool stacked_shape(bd_op_ctx *c, bd_tensor_array *a, const parts *p, braid_shape *out)
{
    braid_shape one = p->count > 0 ? p->items[0].shape : bd_tensor_array_element_shape(a);
    char text[BD_SHAPE_STR_MAX];
    for (int64_t i = 1; i < p->count; i++) {
        if (!bd_shape_equal(&p->items[i].shape, &one))
            return fail_parts(c, "shapes", &one, i, &p->items[i].shape);
    }
    if (!bd_shape_is_known(&one) || one.rank == BRAID_RANK_MAX) {
        bd_op_fail(
            c, BRAID_UNIMPLEMENTED,
            "TensorArray has size zero, but element shape %s is not fully defined. Currently only static "
            "shapes are supported when packing zero-size TensorArrays.",
            bd_shape_str(&one, text));
        return false;
    }
    *out = (braid_shape){.rank = one.rank + 1, .dims = {p->count}};
    memcpy(out->dims + 1, one.dims, (size_t)one.rank * sizeof *one.dims);
    return true;
}

// Puts elements one after the other into output 0.
static void output_parts(bd_op_ctx *c, const parts *p, const braid_shape *shape)
{
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], shape);
    int64_t at = 0;
    for (int64_t i = 0; y && i < p->count; i++) {
        int64_t n = bd_tensor_count(&p->items[i]);
        if (n > 0) bd_elements_copy(y, at, &p->items[i], 0, n);
        at += n;
    }
}

static bool check_vector(bd_op_ctx *c, int i, const char *what)
{
    char text[BD_SHAPE_STR_MAX];
    const braid_shape *s = &bd_input(c, i)->shape;
    if (s->rank == 1) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected %s to be a vector, but received shape: %s", what,
               bd_shape_str(s, text));
    return false;
}

static void gather_run(bd_op_ctx *c)
{
    const braid_tensor *indices = bd_input(c, 1);
    if (!check_vector(c, 1, "indices")) return;
    bd_tensor_array *a = bd_tensor_array_input(c);
    if (!a) return;
    parts p;
    braid_shape shape;
    if (bd_tensor_array_check_dtype(c, a)) {
        if (read_parts(c, a, indices, bd_tensor_count(indices), &p) && stacked_shape(c, a, &p, &shape))
            output_parts(c, &p, &shape);
        parts_fini(&p);
    }
    bd_tensor_array_unref(a);
}

static void scatter_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    const braid_tensor *indices = bd_input(c, 1), *value = bd_input(c, 2);
    if (!check_vector(c, 1, "indices")) return;
    int64_t count = bd_tensor_count(indices);
    if (value->shape.rank == 0 || value->shape.dims[0] != count) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected len(indices) == values.shape[0], but saw: %lld vs. values of shape %s",
                   (long long)count, bd_shape_str(&value->shape, text));
        return;
    }
    bd_tensor_array *a = bd_tensor_array_input(c);
    if (!a) return;
    braid_shape one = {.rank = value->shape.rank - 1};
    memcpy(one.dims, value->shape.dims + 1, (size_t)one.rank * sizeof *one.dims);
    int64_t len = bd_shape_count(&one);
    for (int64_t i = 0; i < count && !bd_op_failed(c); i++) {
        braid_tensor view;
        bd_tensor_view(&view, value, i * len, &one);
        if (bd_tensor_array_write(a, bd_tensor_index(indices, i), &view, st)) bd_tensor_array_fail(c, st);
        bd_tensor_fini(&view);
    }
    if (!bd_op_failed(c)) bd_output_set(c, 0, bd_input(c, 3));
    bd_tensor_array_unref(a);
}

// ---- Many elements, joined along dimension 0 ----

static bool joined_shape(bd_op_ctx *c, const parts *p, braid_shape *out)
{
    *out = p->items[0].shape;
    for (int64_t i = 0; i < p->count; i++) {
        braid_shape one = p->items[i].shape;
        if (one.rank == 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "TensorArray: concat saw a scalar shape at index %lld but requires at least vectors.",
                       (long long)i);
            return false;
        }
        int64_t rows = one.dims[0];
        one.dims[0] = out->dims[0];
        if (!bd_shape_equal(&one, out))
            return fail_parts(c, "shapes except the first dimension", &p->items[0].shape, i,
                              &p->items[i].shape);
        if (i > 0) out->dims[0] += rows;
    }
    return true;
}

static void output_joined(bd_op_ctx *c, const parts *p)
{
    braid_shape shape, vector = bd_shape1(p->count);
    if (p->count == 0) {
        shape = bd_node_attr_shape(c->node, "element_shape_except0");
        if (!bd_shape_is_known(&shape) || shape.rank == BRAID_RANK_MAX) {
            bd_op_fail(c, BRAID_UNIMPLEMENTED,
                       "TensorArray has size zero, but element_shape_except0 is not fully defined.");
            return;
        }
        memmove(shape.dims + 1, shape.dims, (size_t)shape.rank++ * sizeof *shape.dims);
        shape.dims[0] = 0;
    } else if (!joined_shape(c, p, &shape)) {
        return;
    }
    output_parts(c, p, &shape);
    braid_tensor *lengths = bd_output(c, 1, BRAID_INT64, &vector);
    for (int64_t i = 0; lengths && i < p->count; i++)
        bd_tensor_i64(lengths)[i] = p->items[i].shape.dims[0];
}

static void concat_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    int64_t size;
    bd_tensor_array *a = bd_tensor_array_input(c);
    if (!a) return;
    if (bd_tensor_array_size(a, &size, st)) {
        bd_tensor_array_fail(c, st);
    } else if (bd_tensor_array_check_dtype(c, a)) {
        parts p;
        if (read_parts(c, a, NULL, size, &p)) output_joined(c, &p);
        parts_fini(&p);
    }
    bd_tensor_array_unref(a);
}

static bool check_lengths(bd_op_ctx *c, const braid_tensor *value, const braid_tensor *lengths)
{
    if (!check_vector(c, 2, "lengths")) return false;
    if (value->shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected value to be at least a vector, but received a scalar");
        return false;
    }
    int64_t sum = 0;
    for (int64_t i = 0; i < bd_tensor_count(lengths); i++) {
        int64_t n = bd_tensor_i64(lengths)[i];
        if (n < 0 || n > value->shape.dims[0] - sum) {
            sum = -1;
            break;
        }
        sum += n;
    }
    if (sum == value->shape.dims[0]) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Expected sum of lengths to be equal to values.shape[0], but it is not %lld",
               (long long)value->shape.dims[0]);
    return false;
}

static void split_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    const braid_tensor *value = bd_input(c, 1), *lengths = bd_input(c, 2);
    if (!check_lengths(c, value, lengths)) return;
    bd_tensor_array *a = bd_tensor_array_input(c);
    if (!a) return;
    int64_t row = bd_shape_count_range(&value->shape, 1, value->shape.rank), at = 0;
    for (int64_t i = 0; i < bd_tensor_count(lengths) && !bd_op_failed(c); i++) {
        braid_shape one = value->shape;
        braid_tensor view;
        one.dims[0] = bd_tensor_i64(lengths)[i];
        bd_tensor_view(&view, value, at * row, &one);
        at += one.dims[0];
        if (bd_tensor_array_write(a, i, &view, st)) bd_tensor_array_fail(c, st);
        bd_tensor_fini(&view);
    }
    if (!bd_op_failed(c)) bd_output_set(c, 0, bd_input(c, 3));
    bd_tensor_array_unref(a);
}

// ---- Shapes ----

static braid_code gather_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape one = bd_node_attr_shape(c->node, "element_shape");
    braid_code code = bd_tensor_array_check_shapes(c, "2", st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code || one.rank < 0 || one.rank == BRAID_RANK_MAX) return code;
    braid_shape *out = &c->outputs[0];
    *out = (braid_shape){.rank = one.rank + 1, .dims = {c->inputs[1].rank == 1 ? c->inputs[1].dims[0] : -1}};
    memcpy(out->dims + 1, one.dims, (size_t)one.rank * sizeof *one.dims);
    return BRAID_OK;
}

static braid_code scatter_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    braid_code code = bd_tensor_array_check_shapes(c, "3", st);
    return code ? code : bd_shape_ctx_rank(c, 1, 1, st);
}

static braid_code concat_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[1] = bd_shape1(-1);
    return bd_tensor_array_check_shapes(c, "1", st);
}

static braid_code split_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    braid_code code = bd_tensor_array_check_shapes(c, "3", st);
    return code ? code : bd_shape_ctx_rank(c, 2, 1, st);
}

// ---- Definitions ----

BD_OP(TensorArrayGatherV3) = {
    .signature = "(handle: resource, indices: int32, flow_in: float) -> (value: dtype)",
    .attrs = "dtype:type; element_shape:shape=?",
    .flags = BD_OP_STATEFUL,
    .shape = gather_shape,
    .gradient = bd_tensor_array_gather_gradient,
    .kernels = BD_KERNELS({.run = gather_run}),
    .doc = "Reads elements of an array of tensors and stacks them.",
};

BD_OP(TensorArrayScatterV3) = {
    .signature = "(handle: resource, indices: int32, value: T, flow_in: float) -> (flow_out: float)",
    .attrs = "T:type",
    .flags = BD_OP_STATEFUL,
    .shape = scatter_shape,
    .gradient = bd_tensor_array_scatter_gradient,
    .kernels = BD_KERNELS({.run = scatter_run}),
    .doc = "Writes the slices of a tensor along its first dimension to elements of an array of tensors.",
};

BD_OP(TensorArrayConcatV3) = {
    .signature = "(handle: resource, flow_in: float) -> (value: dtype, lengths: int64)",
    .attrs = "dtype:type; element_shape_except0:shape=?",
    .flags = BD_OP_STATEFUL,
    .shape = concat_shape,
    .gradient = bd_tensor_array_concat_gradient,
    .kernels = BD_KERNELS({.run = concat_run}),
    .doc = "Reads all elements of an array of tensors and joins them along their first dimension.",
};

BD_OP(TensorArraySplitV3) = {
    .signature = "(handle: resource, value: T, lengths: int64, flow_in: float) -> (flow_out: float)",
    .attrs = "T:type",
    .flags = BD_OP_STATEFUL,
    .shape = split_shape,
    .gradient = bd_tensor_array_split_gradient,
    .kernels = BD_KERNELS({.run = split_run}),
    .doc =
        "Cuts a tensor along its first dimension into pieces of the given lengths: the elements of an array of tensors.",
};
