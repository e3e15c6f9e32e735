// Concat, ConcatV2, QuantizedConcat and ConcatOffset: join tensors along an axis; ConcatOffset serves their
// gradient.
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"
#include "ops/common/quantized.h"

#include <float.h>
#include <math.h>
#include <string.h>

// ---- Concat, ConcatV2 ----

// The difference between Concat and ConcatV2: the index of the axis input.
typedef struct concat_inputs {
    int first, count, axis;
} concat_inputs;

static concat_inputs concat_v2_inputs(int input_count)
{
    return (concat_inputs){.first = 0, .count = input_count - 1, .axis = input_count - 1};
}

static concat_inputs concat_v1_inputs(int input_count)
{
    return (concat_inputs){.first = 1, .count = input_count - 1, .axis = 0};
}

// `out` has the sizes of the parts before `part`. Both have 0 along the axis.
static braid_code fail_sizes(bd_shape_ctx *c, const braid_shape *out, const braid_shape *part, int64_t axis,
                             braid_status *st)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bd_shape_str(out, a);
    bd_shape_str(part, b);
    for (int d = 0; out->rank == part->rank && d < out->rank; d++) {
        if (out->dims[d] < 0 || part->dims[d] < 0 || out->dims[d] == part->dims[d]) continue;
        return bd_shape_ctx_fail(
            c, st,
            "Dimension %d in both shapes must be equal, but are %lld and %lld. Shapes are "
            "%s and %s with 0 for axis %lld.",
            d, (long long)out->dims[d], (long long)part->dims[d], a, b, (long long)axis);
    }
    return bd_shape_ctx_fail(c, st, "Shapes must be equal rank, but are %d and %d", out->rank, part->rank);
}

static braid_code concat_known_axis(bd_shape_ctx *c, concat_inputs in, int rank, int64_t axis,
                                    braid_status *st)
{
    braid_code code = bd_shape_ctx_axis(c, rank, &axis, st);
    if (code) return code;
    braid_shape out = c->inputs[in.first];
    if (out.rank < 0) { // another input may have a known rank
        out.rank = rank;
        for (int d = 0; d < rank; d++)
            out.dims[d] = -1;
    }
    int64_t sum = 0;
    for (int i = 0; i < in.count; i++) {
        braid_shape part = c->inputs[in.first + i];
        int64_t size = part.rank < 0 ? -1 : part.dims[axis];
        if (sum < 0 || size < 0 || __builtin_add_overflow(sum, size, &sum)) sum = -1; // the kernel tells
        if (part.rank < 0) continue;
        part.dims[axis] = out.dims[axis] = 0;
        if (!bd_shape_merge(&out, &part, &out)) {
            return fail_sizes(c, &out, &part, axis, st);
        }
    }
    out.dims[axis] = sum;
    c->outputs[0] = out;
    return BRAID_OK;
}

static braid_code concat_shape(bd_shape_ctx *c, concat_inputs in, braid_status *st)
{
    int rank = -1;
    for (int i = 0; i < in.count; i++) {
        int r = c->inputs[in.first + i].rank;
        if (r < 0) continue;
        if (rank >= 0 && r != rank)
            return bd_shape_ctx_fail(c, st, "Shape must be rank %d but is rank %d", rank, r);
        rank = r;
    }
    if (rank < 0) return BRAID_OK;
    if (rank == 0) return bd_shape_ctx_fail(c, st, "Can't concatenate scalars (use tf.stack instead)");
    int64_t axis;
    if (bd_shape_ctx_constant_int(c, in.axis, &axis)) return concat_known_axis(c, in, rank, axis, st);
    c->outputs[0].rank = rank;
    for (int d = 0; d < rank; d++)
        c->outputs[0].dims[d] = -1;
    return BRAID_OK;
}

static braid_code concat_v2_shape(bd_shape_ctx *c, braid_status *st)
{
    return concat_shape(c, concat_v2_inputs(c->input_count), st);
}

static braid_code concat_v1_shape(bd_shape_ctx *c, braid_status *st)
{
    return concat_shape(c, concat_v1_inputs(c->input_count), st);
}

// The shape of the result; false: the kernel has failed.
static bool concat_whole(bd_op_ctx *c, concat_inputs in, int64_t axis, braid_shape *whole)
{
    *whole = bd_input(c, in.first)->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    for (int i = 1; i < in.count; i++) {
        const braid_shape *s = &bd_input(c, in.first + i)->shape;
        const braid_shape *first = &bd_input(c, in.first)->shape;
        if (s->rank != whole->rank) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "ConcatOp : Ranks of all input tensors should match: shape[0] = %s vs. shape[%d] = %s",
                       bd_shape_str(first, a), i, bd_shape_str(s, b));
            return false;
        }
        for (int d = 0; d < whole->rank; d++) {
            if (d == axis || s->dims[d] == whole->dims[d]) continue;
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "ConcatOp : Dimensions of inputs should match: shape[0] = %s vs. shape[%d] = %s",
                       bd_shape_str(first, a), i, bd_shape_str(s, b));
            return false;
        }
        if (__builtin_add_overflow(whole->dims[axis], s->dims[axis], &whole->dims[axis])) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "ConcatOp : The sizes along dimension %lld have no sum in 64 bits", (long long)axis);
            return false;
        }
    }
    return true;
}

// Makes output 0 for the joined tensors. NULL: the kernel has failed.
static braid_tensor *concat_output(bd_op_ctx *c, concat_inputs in, int *axis_out)
{
    const braid_tensor *t = bd_input(c, in.axis);
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s tensor should be a scalar integer, but got shape %s",
                   in.axis == 0 ? "concat_dim" : "axis", bd_shape_str(&t->shape, text));
        return NULL;
    }
    int64_t axis = bd_tensor_index(t, 0);
    int rank = bd_input(c, in.first)->shape.rank;
    if (axis < -rank || axis >= rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "ConcatOp : Expected concatenating dimensions in the range [%d, %d), but got %lld", -rank,
                   rank, (long long)axis);
        return NULL;
    }
    if (axis < 0) axis += rank;
    *axis_out = (int)axis;
    braid_shape whole;
    return concat_whole(c, in, axis, &whole) ? bd_output(c, 0, bd_input(c, in.first)->dtype, &whole) : NULL;
}

static void concat_run(bd_op_ctx *c, concat_inputs in)
{
    int axis;
    braid_tensor *y = concat_output(c, in, &axis);
    if (!y) return;
    int64_t at = 0;
    for (int i = 0; i < in.count; i++) {
        const braid_tensor *part = bd_input(c, in.first + i);
        bd_elements_join(y, axis, at, part, part->shape.dims[axis]);
        at += part->shape.dims[axis];
    }
}

static void concat_v2_run(bd_op_ctx *c)
{
    concat_run(c, concat_v2_inputs(c->input_count));
}

static void concat_v1_run(bd_op_ctx *c)
{
    concat_run(c, concat_v1_inputs(c->input_count));
}

// The shapes of the inputs: constants when all are known, else one ShapeN.
static void part_shapes(braid_graph *g, const braid_out *parts, int count, braid_out *sizes)
{
    for (int i = 0; i < count; i++) {
        sizes[i] = bd_b_shape(g, "Shape", parts[i]);
        if (!sizes[i].op) return;
        if (strcmp(braid_op_type(sizes[i].op), "Const") == 0) continue;
        braid_op_desc *d = braid_op_begin(g, "ShapeN", "ShapeN");
        braid_op_input_list(d, parts, count);
        braid_op *shape_n = braid_op_end(d);
        for (int k = 0; k < count; k++)
            sizes[k] = (braid_out){.op = shape_n, .index = k};
        return;
    }
}

// Up to this number of inputs the gradient has one Slice for each.
#define CONCAT_SLICES_MAX 16

// The sizes along the axis, squeeze(slice(stack(shapes, 1), [axis, 0], [1, -1])), and one SplitV by these
// sizes.
static void concat_gradient_split(bd_grad_ctx *c, braid_out axis, const braid_out *sizes, int count,
                                  braid_out *grads)
{
    braid_graph *g = c->graph;
    braid_op_desc *d = braid_op_begin(g, "Pack", "stack");
    braid_op_input_list(d, sizes, count);
    braid_op_attr_int(d, "axis", 1);
    braid_out table = braid_op_end_out(d);
    const char *scope = braid_push_name_scope(g, "Slice");
    braid_out begin = bd_grad_stack_with(g, "begin", axis, 0);
    braid_out size = bd_b_const_i32_vector(g, "size", (int32_t[]){1, -1}, 2);
    braid_out row = bd_b3(g, "Slice", scope, table, begin, size);
    braid_pop_name_scope(g);
    braid_out lengths = bd_b1(g, "Squeeze", "Squeeze", row);
    d = braid_op_begin(g, "SplitV", "split");
    braid_op_input(d, c->output_grads[0]);
    braid_op_input(d, lengths);
    braid_op_input(d, axis);
    braid_op_attr_int(d, "num_split", count);
    braid_op *split = braid_op_end(d);
    for (int i = 0; i < count; i++)
        grads[i] = (braid_out){.op = split, .index = i};
}

static void concat_gradient(bd_grad_ctx *c, concat_inputs in)
{
    braid_graph *g = c->graph;
    braid_out grad = c->output_grads[0], *grads = c->input_grads + in.first;
    if (in.count == 1) {
        grads[0] = grad;
        return;
    }
    braid_out parts[in.count], sizes[in.count];
    for (int i = 0; i < in.count; i++)
        parts[i] = braid_op_get_input(c->op, in.first + i);
    braid_out axis = bd_grad_constant_here(g, braid_op_get_input(c->op, in.axis));
    axis = bd_b2(g, "FloorMod", "mod", axis, bd_grad_rank(g, parts[0]));
    part_shapes(g, parts, in.count, sizes);
    if (braid_graph_status(g, NULL)) return;
    if (in.count > CONCAT_SLICES_MAX) {
        concat_gradient_split(c, axis, sizes, in.count, grads);
        return;
    }
    braid_op_desc *d = braid_op_begin(g, "ConcatOffset", "ConcatOffset");
    braid_op_input(d, axis);
    braid_op_input_list(d, sizes, in.count);
    braid_op *offset = braid_op_end(d);
    for (int i = 0; i < in.count; i++)
        grads[i] = bd_b3(g, "Slice", "Slice", grad, (braid_out){.op = offset, .index = i}, sizes[i]);
}

static void concat_v2_gradient(bd_grad_ctx *c)
{
    concat_gradient(c, concat_v2_inputs(braid_op_num_inputs(c->op)));
}

static void concat_v1_gradient(bd_grad_ctx *c)
{
    concat_gradient(c, concat_v1_inputs(braid_op_num_inputs(c->op)));
}

BD_OP(ConcatV2) = {
    .signature = "(values: N*T, axis: Tidx) -> (output: T)",
    .attrs = "N:int>=2; T:type; Tidx:type{int32,int64}=int32",
    .shape = concat_v2_shape,
    .gradient = concat_v2_gradient,
    .kernels = BD_KERNELS({.run = concat_v2_run}),
    .doc = "Joins tensors along an axis; their other dimensions must be equal.",
};

BD_OP(Concat) = {
    .signature = "(concat_dim: int32, values: N*T) -> (output: T)",
    .attrs = "N:int>=2; T:type",
    .shape = concat_v1_shape,
    .gradient = concat_v1_gradient,
    .kernels = BD_KERNELS({.run = concat_v1_run}),
    .doc = "ConcatV2 with the axis first.",
};

// ---- QuantizedConcat ----

// Inputs: the axis, `count` tensors, as many minima, as many maxima.
static concat_inputs quantized_inputs(int input_count)
{
    return (concat_inputs){.first = 1, .count = (input_count - 1) / 3, .axis = 0};
}

static braid_code quantized_concat_shape(bd_shape_ctx *c, braid_status *st)
{
    concat_inputs in = quantized_inputs(c->input_count);
    braid_code code = concat_shape(c, in, st);
    return code ? code : bd_quant_shape_ranges(c, in.first + in.count, c->input_count, st);
}

// The range of part `i`. False: the kernel has failed.
static bool part_range(bd_op_ctx *c, concat_inputs in, int i, bd_quant_range *range)
{
    const braid_tensor *low = bd_input(c, in.first + in.count + i),
                       *high = bd_input(c, in.first + 2 * in.count + i);
    if (bd_tensor_count(low) != 1 || bd_tensor_count(high) != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "the ends of the range of value %d must be scalars", i);
        return false;
    }
    *range = (bd_quant_range){bd_tensor_f32(low)[0], bd_tensor_f32(high)[0]};
    return true;
}

// The range that holds those of all parts; of a signed type symmetric.
static bool whole_range(bd_op_ctx *c, concat_inputs in, bd_quant_range *whole)
{
    int64_t lowest, highest;
    bd_quant_limits(bd_input(c, in.first)->dtype, &lowest, &highest);
    *whole = (bd_quant_range){FLT_MAX, -FLT_MAX};
    for (int i = 0; i < in.count; i++) {
        bd_quant_range part;
        if (!part_range(c, in, i, &part)) return false;
        whole->min = fminf(whole->min, part.min);
        whole->max = fmaxf(whole->max, part.max);
    }
    if (lowest == 0) return true;
    float end = fmaxf(fabsf(whole->min), fabsf(whole->max));
    *whole = (bd_quant_range){-end, end};
    return true;
}

static void quantized_concat_run(bd_op_ctx *c)
{
    concat_inputs in = quantized_inputs(c->input_count);
    bd_quant_range whole, range;
    int axis;
    braid_tensor *y = whole_range(c, in, &whole) ? concat_output(c, in, &axis) : NULL, converted;
    if (!y || !bd_quant_output_range(c, 1, whole)) return;
    int64_t at = 0;
    for (int i = 0; i < in.count && part_range(c, in, i, &range); i++) {
        const braid_tensor *part = bd_input(c, in.first + i);
        int64_t size = part->shape.dims[axis];
        if (range.min == whole.min && range.max == whole.max) {
            bd_elements_join(y, axis, at, part, size);
        } else if (bd_tensor_alloc(&converted, part->dtype, &part->shape)) {
            bd_requantize(part, range, &converted, whole);
            bd_elements_join(y, axis, at, &converted, size);
            bd_tensor_fini(&converted);
        } else {
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when converting value %d of QuantizedConcat", i);
            return;
        }
        at += size;
    }
}

BD_OP(QuantizedConcat) = {
    .signature = "(concat_dim: int32, values: N*T, input_mins: N*float, input_maxes: N*float) -> (output: T, "
                 "output_min: float, output_max: float)",
    .attrs = "N:int>=2; T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = quantized_concat_shape,
    .kernels = BD_KERNELS({.types = "T=quint8|qint8|qint32", .run = quantized_concat_run}),
    .doc = "Joins tensors of quantized numbers along an axis, in a range that holds all of their ranges.",
};

// ---- ConcatOffset ----

static braid_code concat_offset_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    for (int i = 1; i < c->input_count; i++)
        c->outputs[i - 1] = c->inputs[i];
    return BRAID_OK;
}

static void append_sizes(bd_strbuf *text, const braid_tensor *sizes)
{
    for (int64_t d = 0; d < bd_tensor_count(sizes); d++)
        bd_strbuf_appendf(text, "%s%lld", d ? " " : "[", (long long)bd_tensor_index(sizes, d));
    bd_strbuf_append(text, "]");
}

static void fail_mismatch(bd_op_ctx *c, int64_t axis, int i)
{
    bd_strbuf sizes = {0}, first = {0};
    append_sizes(&sizes, bd_input(c, i));
    append_sizes(&first, bd_input(c, 1));
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "All dimensions except %lld must match. Input %d has shape %s and doesn't match input 0 with "
               "shape %s.",
               (long long)axis, i - 1, bd_strbuf_str(&sizes), bd_strbuf_str(&first));
    bd_strbuf_fini(&sizes);
    bd_strbuf_fini(&first);
}

static void concat_offset_run(bd_op_ctx *c)
{
    int64_t axis;
    char text[BD_SHAPE_STR_MAX];
    if (bd_input(c, 0)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Concat dim tensor should be a scalar integer, but got shape %s",
                   bd_shape_str(&bd_input(c, 0)->shape, text));
        return;
    }
    if (!bd_input_int(c, 0, "concat_dim", &axis)) return;
    const braid_tensor *first = bd_input(c, 1);
    for (int i = 1; i < c->input_count; i++) {
        if (bd_input(c, i)->shape.rank == 1) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input %d should be a vector, but got shape %s", i,
                   bd_shape_str(&bd_input(c, i)->shape, text));
        return;
    }
    int64_t rank = first->shape.dims[0];
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Concat dim is out of range: %lld vs. %lld", (long long)axis,
                   (long long)rank);
        return;
    }
    int64_t offset = 0;
    for (int i = 1; i < c->input_count; i++) {
        const braid_tensor *s = bd_input(c, i);
        if (!bd_shape_equal(&s->shape, &first->shape)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input %d should contain %lld elements, but got %lld",
                       i - 1, (long long)rank, (long long)s->shape.dims[0]);
            return;
        }
        for (int64_t d = 0; d < rank; d++) {
            if (d == axis || bd_tensor_index(s, d) == bd_tensor_index(first, d)) continue;
            fail_mismatch(c, axis, i);
            return;
        }
        braid_tensor *y = bd_output(c, i - 1, first->dtype, &first->shape);
        if (!y) return;
        memset(y->data, 0, bd_tensor_bytes(y));
        if (y->dtype == BRAID_INT64) {
            bd_tensor_i64(y)[axis] = offset;
        } else {
            bd_tensor_i32(y)[axis] = (int32_t)offset;
        }
        offset = (int64_t)((uint64_t)offset + (uint64_t)bd_tensor_index(s, axis));
    }
}

BD_OP(ConcatOffset) = {
    .signature = "(concat_dim: int32, shape: N*shape_type) -> (offset: N*shape_type)",
    .attrs = "N:int>=2; +shape_type:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = concat_offset_shape,
    .kernels = BD_KERNELS({.run = concat_offset_run}),
    .doc = "The offsets of tensors of these shapes within their concatenation.",
};
