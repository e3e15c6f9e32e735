// ConditionalAccumulator: sums fresh dense gradients until a node takes their mean.
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/data_flow/accumulator.h"

static braid_code read_locked(const bd_accumulator *a, bd_op_ctx *c, const braid_shape *held, bd_gradient *g,
                              braid_status *st)
{
    *g = (bd_gradient){.values = bd_input(c, 2)};
    const braid_shape *got = &g->values->shape;
    const braid_shape *want = held && !bd_shape_equal(held, got) ? held : &a->shape;
    braid_shape merged;
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    if (bd_shape_merge(want, got, &merged)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Shape mismatch: expected %s, got %s", bd_shape_str(want, x),
                   bd_shape_str(got, y));
}

// The first gradient is held, not copied; the second is added to it in memory of the accumulator's own.
static bool add(const bd_accumulator *a, bd_gradient_sum *sum, const bd_gradient *g)
{
    braid_tensor to = {0};
    if (sum->count == 0) {
        if (!bd_tensor_keep(&to, g->values)) return false;
    } else {
        if (bd_accumulator_may_overwrite(&sum->values))
            bd_tensor_ref(&to, &sum->values);
        else if (!bd_tensor_alloc(&to, a->dtype, &g->values->shape))
            return false;
        bd_accumulator_add(a->dtype, sum->values.data, g->values->data, to.data, bd_tensor_count(&to));
    }
    bd_tensor_fini(&sum->values);
    sum->values = to;
    return true;
}

// Outputs sum / count, in the memory of the sum if it is not shared.
static void output(const bd_accumulator *a, bd_op_ctx *c, bd_gradient_sum *sum)
{
    braid_tensor *values = &sum->values;
    bool divides = a->is_mean && sum->count > 1;
    if (!divides || bd_accumulator_may_overwrite(values)) {
        bd_output_set(c, 0, values);
    } else if (!bd_output(c, 0, values->dtype, &values->shape)) {
        return;
    }
    if (divides)
        bd_accumulator_divide(values->dtype, values->data, sum->count, c->outputs[0].tensor.data,
                              bd_tensor_count(values));
}

static const bd_accumulator_kind dense = {
    .name = "dense", .read_locked = read_locked, .add = add, .output = output};

static braid_code source_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    bd_accumulator_source_init(state, &dense, node);
    return BRAID_OK;
}

static void apply_run(bd_op_ctx *c)
{
    bd_accumulator_apply(c, &dense, bd_input(c, 2)->dtype);
}

static void take_start(bd_op_ctx *c)
{
    bd_accumulator_take(c, &dense, c->node->output_types[0]);
}

// The output's shape is the one that the accumulator's node gives, if it gives one.
static braid_code take_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_op *source = c->node->inputs[0].op;
    const bd_attr *shape = source ? bd_node_attr(source, "shape") : NULL;
    c->outputs[0] = shape && shape->kind == BD_ATTR_SHAPE ? shape->shape : BD_SHAPE_UNKNOWN;
    return bd_shape_ctx_accumulator(c, st);
}

#define SOURCE(HANDLE)                                                                                       \
    {                                                                                                        \
        .signature = "() -> (handle: " HANDLE ")", .attrs = BD_ACCUMULATOR_ATTRS,                            \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_handle_of_2,                \
        .kernels = BD_ACCUMULATOR_SOURCE_KERNELS(source_create),                                             \
        .doc = "Sums gradients until their mean is taken; gradients of a step that is over are dropped.",    \
    }
#define APPLY(HANDLE)                                                                                        \
    .signature = "(handle: " HANDLE ", local_step: int64, gradient: dtype) -> ()",                           \
    .attrs = "dtype:type{number}", .shape = bd_shape_ctx_accumulator,                                        \
    .kernels = BD_KERNELS({.types = BD_ACCUMULATOR_TYPES, .flags = BD_KERNEL_EXPENSIVE, .run = apply_run}),  \
    .doc = "Adds a gradient to an accumulator, unless local_step is before the accumulator's step."
#define TAKE(HANDLE)                                                                                         \
    .signature = "(handle: " HANDLE ", num_required: int32) -> (average: dtype)",                            \
    .attrs = "dtype:type{number}", .shape = take_shape,                                                      \
    .kernels = BD_KERNELS({.types = BD_ACCUMULATOR_TYPES, .start = take_start}),                             \
    .doc =                                                                                                   \
        "Waits for num_required gradients, takes the mean of all there are, and ends the accumulator's step."

BD_OP(ConditionalAccumulator) = SOURCE("Ref(string)");
BD_OP(ResourceConditionalAccumulator) = SOURCE("resource");
BD_OP(AccumulatorApplyGradient) = {.flags = BD_OP_NOT_DIFFERENTIABLE, APPLY("Ref(string)")};
BD_OP(ResourceAccumulatorApplyGradient) = {.flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
                                           APPLY("resource")};
BD_OP(AccumulatorTakeGradient) = {.flags = BD_OP_NOT_DIFFERENTIABLE, TAKE("Ref(string)")};
BD_OP(ResourceAccumulatorTakeGradient) = {.flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
                                          TAKE("resource")};
