// PeriodicResample and the op of its gradient: moves elements from one dimension to others, as sub-pixel
// convolutions do (Shi et al., arXiv 1609.05158).
//
// `shape` has a size for each dimension but one, q, which adapts. With g[d] = ceil(shape[d] / input[d]), the
// output at s has the input's element at h, where h[d] = s[d] / g[d] for the others, and
// h[q] = s[q] + shape[q] * sum over d of G[d] * (s[d] mod g[d]), where G[d] is the product of g before d.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"

#include <stdatomic.h>
#include <string.h>

// ---- Shapes ----

// The dimension that adapts: the last one without a size; 0 where all have one.
static int adjustable_dimension(const braid_shape *desired)
{
    int q = 0;
    for (int d = 0; d < desired->rank; d++)
        q = desired->dims[d] < 1 ? d : q;
    return q;
}

// The output's shape; its dimension `q` has as many elements as fit. Nothing overflows: a product beyond that
// is a size of 0.
static braid_shape output_shape(const braid_shape *input, const braid_shape *desired, int q)
{
    braid_shape out = *desired;
    int64_t left = bd_shape_count_range(input, 0, input->rank);
    for (int d = 0; d < desired->rank; d++)
        left = d == q ? left : left / bd_max(desired->dims[d], (int64_t)1);
    out.dims[q] = left;
    return out;
}

static braid_code resample_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *input = &c->inputs[0];
    const braid_shape desired = bd_node_attr_shape(c->node, "shape");
    if (desired.rank < 0) return bd_shape_ctx_fail(c, st, "shape must have a known rank");
    c->outputs[0] = desired;
    for (int d = 0; d < desired.rank; d++)
        c->outputs[0].dims[d] = desired.dims[d] < 1 ? -1 : desired.dims[d];
    if (input->rank < 0) return BRAID_OK;
    int64_t count;
    BD_STATUS(unknown);
    if (input->rank != desired.rank)
        c->outputs[0].rank = -1; // the kernel refuses it
    else if (input->rank > 0 && !bd_shape_checked_count(input, &count, unknown))
        c->outputs[0] = output_shape(input, &desired, adjustable_dimension(&desired));
    return BRAID_OK;
}

static braid_code grad_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape original = bd_node_attr_shape(c->node, "original_shape");
    if (!bd_shape_is_known(&original)) return bd_shape_ctx_fail(c, st, "original_shape must be fully known");
    c->outputs[0] = original;
    return BRAID_OK;
}

// ---- Kernels ----

typedef struct resampling {
    int rank, q;
    braid_shape output;
    int64_t strides[BRAID_RANK_MAX]; // of the input
    int64_t ceilings[BRAID_RANK_MAX], products[BRAID_RANK_MAX];
    const braid_tensor *from, *to;
    bool is_gradient;    // `from` has the output's shape, `to` the input's
    int64_t limit;       // elements of the input
    atomic_bool is_over; // an element lies beyond the input
} resampling;

// Checks the sizes and fills `r` but for its tensors. False: the kernel has failed.
static bool prepare(bd_op_ctx *c, const braid_shape *input, const braid_shape *desired, int source_rank,
                    resampling *r)
{
    int adjustable = 0;
    if (source_rank != desired->rank || input->rank != desired->rank) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "periodic_resample expects the rank of the input tensor, %d, to be the same as the length of "
            "the desired shape, %d.",
            source_rank, desired->rank);
        return false;
    }
    for (int d = 0; d < input->rank; d++) {
        adjustable += desired->dims[d] < 1;
        if (desired->dims[d] < 1 || desired->dims[d] >= input->dims[d]) continue;
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "periodic_resample expects the size of non-adjustable dimensions be at least as large as "
            "size of input tensor. Dimension %d input tensor has size %lld, desired shape has size %lld.",
            d, (long long)input->dims[d], (long long)desired->dims[d]);
        return false;
    }
    if (adjustable != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "periodic_resample expects %s one index to be marked as adjustable.",
                   adjustable == 0 ? "at least" : "only");
        return false;
    }
    r->rank = input->rank;
    r->q = adjustable_dimension(desired);
    r->limit = bd_shape_count(input);
    r->output = output_shape(input, desired, r->q);
    if (r->output.dims[r->q] < 1) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "periodic_resample found that the adjustable dimension, %d, isn't greater than zero, %lld.", r->q,
            (long long)r->output.dims[r->q]);
        return false;
    }
    bd_row_strides(input, r->strides);
    int64_t product = 1;
    for (int d = 0; d < r->rank; d++) {
        r->ceilings[d] = (r->output.dims[d] - 1) / input->dims[d] + 1;
        r->products[d] = product;
        product *= r->ceilings[d];
    }
    return true;
}

// The place in the input of element `at` of the output.
static int64_t place_of(const resampling *r, int64_t at)
{
    int64_t place = 0, moved = 0, index[BRAID_RANK_MAX];
    for (int d = r->rank - 1; d >= 0; d--) {
        index[d] = at % r->output.dims[d];
        at /= r->output.dims[d];
        if (d == r->q) continue;
        place += index[d] / r->ceilings[d] * r->strides[d];
        moved += index[d] % r->ceilings[d] * r->products[d];
    }
    return place + (moved * r->output.dims[r->q] + index[r->q]) * r->strides[r->q];
}

// Elements [from, to) of the output. Where the last dimension adapts, rows of it are rows of the input, too.
static void resample_elements(void *arg, int64_t from, int64_t to)
{
    resampling *r = arg;
    const size_t size = braid_dtype_size(r->to->dtype);
    const int64_t row = r->q == r->rank - 1 ? r->output.dims[r->q] : 1;
    int64_t count;
    for (int64_t i = from, n = 0; i < to && !bd_interrupted_at(n); i += count, n++) {
        const int64_t place = place_of(r, i);
        count = bd_min(row - i % row, to - i);
        if (place + count <= r->limit)
            memcpy((char *)r->to->data + (size_t)i * size, (const char *)r->from->data + (size_t)place * size,
                   size * (size_t)count);
        else
            r->is_over = true;
    }
}

// Adds elements of the output's gradient to those that they came from.
#define ADD_ELEMENTS(NAME, TYPE)                                                                             \
    static void add_##NAME(resampling *r)                                                                    \
    {                                                                                                        \
        const TYPE *from = r->from->data;                                                                    \
        TYPE *to = r->to->data;                                                                              \
        const int64_t count = bd_tensor_count(r->from);                                                      \
        for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++) {                                       \
            const int64_t place = place_of(r, i);                                                            \
            if (place < r->limit)                                                                            \
                to[place] += from[i];                                                                        \
            else                                                                                             \
                r->is_over = true;                                                                           \
        }                                                                                                    \
    }
ADD_ELEMENTS(float, float)
ADD_ELEMENTS(double, double)
ADD_ELEMENTS(int32, uint32_t) // sums wrap around
ADD_ELEMENTS(int64, uint64_t)

static void check_places(bd_op_ctx *c, const resampling *r)
{
    char input[BD_SHAPE_STR_MAX], output[BD_SHAPE_STR_MAX];
    if (!r->is_over) return;
    const braid_shape *shape = r->is_gradient ? &r->to->shape : &r->from->shape;
    bd_op_fail(
        c, BRAID_INVALID_ARGUMENT,
        "periodic_resample from shape %s to %s takes elements beyond the input's end: use multiples of the "
        "input's sizes",
        bd_shape_str(shape, input), bd_shape_str(&r->output, output));
}

static void resample_run(bd_op_ctx *c)
{
    const braid_shape desired = bd_node_attr_shape(c->node, "shape");
    resampling r = {.from = bd_input(c, 0)};
    const braid_shape *input = &r.from->shape;
    if (!prepare(c, input, &desired, input->rank, &r)) return;
    r.to = bd_output(c, 0, r.from->dtype, &r.output);
    if (!r.to) return;
    bd_parallel_for(c, bd_tensor_count(r.to), 4096, resample_elements, &r);
    check_places(c, &r);
}

static void grad_run(bd_op_ctx *c)
{
    const braid_shape original = bd_node_attr_shape(c->node, "original_shape"),
                      desired = bd_node_attr_shape(c->node, "desired_shape");
    resampling r = {.from = bd_input(c, 0), .is_gradient = true};
    int64_t count;
    BD_STATUS(st);
    if (bd_shape_checked_count(&original, &count, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    if (!prepare(c, &original, &desired, r.from->shape.rank, &r)) return;
    if (!bd_shape_equal(&r.from->shape, &r.output)) {
        char given[BD_SHAPE_STR_MAX], wanted[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "grad must have the shape %s, not %s",
                   bd_shape_str(&r.output, wanted), bd_shape_str(&r.from->shape, given));
        return;
    }
    r.to = bd_output(c, 0, r.from->dtype, &original);
    if (!r.to) return;
    memset(r.to->data, 0, (size_t)count * braid_dtype_size(r.to->dtype));
    switch (r.to->dtype) {
    case BRAID_FLOAT: add_float(&r); break;
    case BRAID_DOUBLE: add_double(&r); break;
    case BRAID_INT32: add_int32(&r); break;
    default: add_int64(&r); break;
    }
    check_places(c, &r);
}

static void resample_gradient(bd_grad_ctx *c)
{
    const braid_shape input = braid_out_shape(c->op->inputs[0]), desired = bd_node_attr_shape(c->op, "shape");
    braid_op_desc *d = braid_op_begin(c->graph, "PeriodicResampleOpGrad", NULL);
    braid_op_input(d, c->output_grads[0]);
    braid_op_attr_shape(d, "original_shape", input);
    braid_op_attr_shape(d, "desired_shape", desired);
    c->input_grads[0] = braid_op_end_out(d);
}

BD_OP(PeriodicResample) = {
    .signature = "(values: T) -> (output: T)",
    .attrs = "T:type{number}; shape:shape",
    .shape = resample_shape,
    .gradient = resample_gradient,
    .kernels = BD_KERNELS({.types = "T=float|double|int32|int64", .run = resample_run}),
    .deviation =
        "Sizes by which an element would lie beyond the input's end are refused; TensorFlow reads there.",
    .doc = "Moves elements from the dimension without a size in `shape` to the others, as sub-pixel "
           "convolutions do; other sizes do not shrink.",
};

BD_OP(PeriodicResampleOpGrad) = {
    .signature = "(grad: T) -> (grad_values: T)",
    .attrs = "T:type{number}; original_shape:shape; desired_shape:shape",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = grad_shape,
    .kernels = BD_KERNELS({.types = "T=float|double|int32|int64", .run = grad_run}),
    .doc = "The gradient of PeriodicResample: each element at the place that it came from, and zeros.",
    .deviation =
        "Gradients of an element that the output has several times are added up; TensorFlow takes one of "
        "them.",
};
