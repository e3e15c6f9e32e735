// The ops of TensorArrays that join all elements along their first dimension, or split a tensor into them.
#include "ops/common/element.h"
#include "ops/tensor_array/tensor_array_ops.h"

#include <string.h>

static braid_shape except_first(const braid_shape *s)
{
    braid_shape rest = {.rank = s->rank - 1};
    memcpy(rest.dims, s->dims + 1, (size_t)rest.rank * sizeof *rest.dims);
    return rest;
}

static bool check_joined(bd_op_ctx *c, int64_t i, const braid_shape *shape, const braid_shape *first)
{
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    const braid_shape given = bd_node_attr_shape(c->node, "element_shape_except0");
    if (shape->rank == 0) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Concat saw a scalar shape at index %lld but requires at least vectors.  Did you mean to call "
            "pack?",
            (long long)i);
        return false;
    }
    braid_shape rest = except_first(shape), want = except_first(first), merged;
    if (i == 0 && !bd_shape_merge(&given, &rest, &merged))
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "TensorArray was passed element_shape_except0 %s but index 0 has (excepting dimension 0) shape: "
            "%s which does not match.",
            bd_tensor_array_shape_str(&given, x), bd_shape_str(&rest, y));
    else if (!bd_shape_equal(&rest, &want))
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: %s but index "
            "%lld has (excepting dimension 0) shape: %s",
            bd_shape_str(&want, x), (long long)i, bd_shape_str(&rest, y));
    return !bd_op_failed(c);
}

static void output_joined(bd_op_ctx *c, const bd_array_parts *p)
{
    BD_STATUS(st);
    braid_shape vector = bd_shape1(p->count), shape = p->items[0].shape;
    int64_t all;
    for (int64_t i = 0; i < p->count; i++) {
        if (!check_joined(c, i, &p->items[i].shape, &p->items[0].shape)) return;
        if (i > 0) shape.dims[0] += p->items[i].shape.dims[0];
    }
    if (bd_shape_checked_count(&shape, &all, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    bd_array_parts_output(c, p, &shape);
    braid_tensor *lengths = bd_output(c, 1, BRAID_INT64, &vector);
    for (int64_t i = 0; lengths && i < p->count; i++)
        bd_tensor_i64(lengths)[i] = p->items[i].shape.dims[0];
}

static void join_none(bd_op_ctx *c)
{
    char text[BD_SHAPE_STR_MAX];
    braid_shape rest = bd_node_attr_shape(c->node, "element_shape_except0"), shape, none = bd_shape1(0);
    if (!bd_shape_is_known(&rest)) {
        bd_op_fail(
            c, BRAID_UNIMPLEMENTED,
            "TensorArray has size zero, but element_shape_except0 %s is not fully defined. Currently only "
            "static shapes are supported when concatenating zero-size TensorArrays.",
            bd_tensor_array_shape_str(&rest, text));
    } else if (bd_array_parts_shape(c, 0, &rest, &shape)) {
        bd_output(c, 0, c->node->output_types[0], &shape);
        bd_output(c, 1, BRAID_INT64, &none);
    }
}

static void join(bd_op_ctx *c, bd_tensor_array *a)
{
    BD_STATUS(st);
    int64_t size;
    bd_array_parts p;
    if (bd_tensor_array_whole(a, &size, st)) {
        bd_tensor_array_fail(c, st);
    } else if (size == 0) {
        join_none(c);
    } else {
        if (bd_array_parts_read(c, a, NULL, size, &p)) output_joined(c, &p);
        bd_array_parts_fini(&p);
    }
}

void bd_tensor_array_concat_run(bd_op_ctx *c)
{
    bd_tensor_array *a = bd_tensor_array_input(c);
    if (!a) return;
    if (bd_tensor_array_check_read(c, a)) join(c, a);
    bd_tensor_array_unref(a);
}

// Checks that the lengths are at least 0 and sum up to the rows of `value`.
static bool check_sum(bd_op_ctx *c, const braid_tensor *value, const braid_tensor *lengths)
{
    char text[BD_SHAPE_STR_MAX];
    int64_t sum = 0;
    bool ok = true;
    for (int64_t i = 0; i < bd_tensor_count(lengths) && ok; i++)
        ok = bd_tensor_i64(lengths)[i] >= 0 && !__builtin_add_overflow(sum, bd_tensor_i64(lengths)[i], &sum);
    if (!ok)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected lengths that are not negative and can be added up, in '%s'", c->node->name);
    else if (sum != value->shape.dims[0])
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is %lld and "
                   "value's shape is: %s",
                   (long long)sum, bd_shape_str(&value->shape, text));
    return !bd_op_failed(c);
}

static bool check_split(bd_op_ctx *c, bd_tensor_array *a, const braid_tensor *value,
                        const braid_tensor *lengths)
{
    BD_STATUS(st);
    int64_t size, count = bd_tensor_count(lengths);
    if (!bd_tensor_array_check_vector(c, 2, "lengths")) return false;
    if (value->shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected value to be at least a vector, but received shape: []");
        return false;
    }
    if (!check_sum(c, value, lengths)) return false;
    if (bd_tensor_array_size_for(a, count, &size, st)) {
        bd_tensor_array_fail(c, st);
    } else if (size != count) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "TensorArray's size is not equal to the size of lengths (%lld vs. %lld), and the TensorArray is "
            "not marked as dynamically resizeable",
            (long long)size, (long long)count);
    }
    return !bd_op_failed(c) && bd_tensor_array_check_written(c, a, value->dtype);
}

static void split(bd_op_ctx *c, bd_tensor_array *a, const braid_tensor *value, const braid_tensor *lengths)
{
    BD_STATUS(st);
    int64_t row = bd_shape_count_range(&value->shape, 1, value->shape.rank), at = 0;
    bd_tensor_array_mark(a, bd_tensor_count(lengths));
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
}

void bd_tensor_array_split_run(bd_op_ctx *c)
{
    const braid_tensor *value = bd_input(c, 1), *lengths = bd_input(c, 2);
    bd_tensor_array *a = bd_tensor_array_input(c);
    if (!a) return;
    if (check_split(c, a, value, lengths)) split(c, a, value, lengths);
    bd_tensor_array_unref(a);
}

// ---- Shapes ----

braid_code bd_tensor_array_concat_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[1] = bd_shape1(-1);
    return bd_tensor_array_check_shapes(c, "1", st);
}

braid_code bd_tensor_array_split_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    braid_code code = bd_tensor_array_check_shapes(c, "3", st);
    return code ? code : bd_shape_ctx_rank(c, 2, 1, st);
}

// ---- Definitions ----

BD_OP(TensorArrayConcatV3) = {
    .signature = "(handle: resource, flow_in: float) -> (value: dtype, lengths: int64)",
    .attrs = "dtype:type; element_shape_except0:shape=?",
    .flags = BD_OP_STATEFUL,
    .shape = bd_tensor_array_concat_shape,
    .gradient = bd_tensor_array_concat_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_concat_run}),
    .doc = "Reads all elements of an array of tensors and joins them along their first dimension.",
};

BD_OP(TensorArraySplitV3) = {
    .signature = "(handle: resource, value: T, lengths: int64, flow_in: float) -> (flow_out: float)",
    .attrs = "T:type",
    .flags = BD_OP_STATEFUL,
    .shape = bd_tensor_array_split_shape,
    .gradient = bd_tensor_array_split_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_split_run}),
    .doc =
        "Cuts a tensor along its first dimension into pieces of the given lengths: the elements of an array of tensors.",
};
