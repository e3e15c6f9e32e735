// ParameterizedTruncatedNormal: normal numbers between bounds, with separate parameters for each batch.
#include "kernels/random_variates.h"
#include "ops/common/element.h"
#include "ops/random/random_source.h"

// Batches that share their parameters are split into pieces of this size, which determines the part of the
// stream that each piece uses.
#define SHARED_BATCH 100
// The steps of the stream reserved for a draw: the maximum number of rejections, two numbers each.
#define STEPS_PER_DRAW 2000

static braid_code truncated_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 1; i < 5; i++) {
        if (c->inputs[i].rank > 1)
            return bd_shape_ctx_fail(c, st, "Shape must be at most rank 1 but is rank %d", c->inputs[i].rank);
    }
    return bd_shape_fn_from_input0(c, st);
}

// Whether every batch takes the same element of input `i`.
static bool is_shared(bd_op_ctx *c, int i)
{
    const braid_shape *s = &bd_input(c, i)->shape;
    return s->rank == 0 || (i <= 2 && s->dims[0] == 1);
}

static bool check_parameters(bd_op_ctx *c, int64_t batches)
{
    static const char *const names[] = {"means", "stddevs", "minvals", "maxvals"};
    char text[BD_SHAPE_STR_MAX];
    for (int i = 1; i < 5; i++) {
        const braid_shape *s = &bd_input(c, i)->shape;
        if (s->rank > 1) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input %s should be a scalar or vector, got shape: %s",
                       names[i - 1], bd_shape_str(s, text));
            return false;
        }
        if (s->rank == 0 || s->dims[0] == 1 || s->dims[0] == batches) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input %s should have length 1 or shape[0], got shape: %s",
                   names[i - 1], bd_shape_str(s, text));
        return false;
    }
    return true;
}

static double parameter(bd_op_ctx *c, int i, int64_t batch)
{
    const braid_tensor *t = bd_input(c, i);
    int64_t at = bd_tensor_count(t) == 1 ? 0 : batch;
    return t->dtype == BRAID_DOUBLE ? bd_tensor_f64(t)[at] : (double)bd_tensor_f32(t)[at];
}

// Fills batch by batch from one stream, as a single thread of TensorFlow does.
static void fill_batches(bd_op_ctx *c, bd_philox stream, int64_t batches, int64_t size, braid_tensor *y)
{
    int64_t count = bd_tensor_count(y);
    for (int64_t b = 0; b < batches && !bd_op_failed(c); b++) {
        bd_truncated_normal d = {parameter(c, 1, b), parameter(c, 2, b), parameter(c, 3, b),
                                 parameter(c, 4, b)};
        int64_t from = b * size, len = count - from < size ? count - from : size;
        bd_truncated_result result =
            y->dtype == BRAID_DOUBLE
                ? bd_random_truncated_normal_f64(&stream, &d, len, bd_tensor_f64(y) + from)
                : bd_random_truncated_normal_f32(&stream, &d, len, bd_tensor_f32(y) + from);
        if (result == BD_TRUNCATED_INVALID)
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "Invalid parameters: stddev %g must be above 0, minval %g below maxval %g, one of both finite",
                d.deviation, d.low, d.high);
        if (result == BD_TRUNCATED_NO_SAMPLE)
            bd_op_fail(c, BRAID_INTERNAL,
                       "TruncatedNormal rejection sampler failed to accept a sample between %g and %g", d.low,
                       d.high);
    }
}

static void truncated_run(bd_op_ctx *c)
{
    braid_shape shape;
    if (!bd_input_shape(c, 0, "Input shape", &shape)) return;
    if (shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Shape tensor must not be empty, got shape [0]");
        return;
    }
    int64_t batches = shape.dims[0], size = bd_shape_count_range(&shape, 1, shape.rank);
    if (!check_parameters(c, batches)) return;
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &shape);
    if (!y || bd_tensor_count(y) == 0) return;
    if (is_shared(c, 1) && is_shared(c, 2) && is_shared(c, 3) && is_shared(c, 4)) {
        batches = (bd_tensor_count(y) + SHARED_BATCH - 1) / SHARED_BATCH;
        size = SHARED_BATCH;
    }
    uint64_t steps = (uint64_t)batches * STEPS_PER_DRAW * ((uint64_t)size + 3) / 4;
    fill_batches(c, bd_random_source_take(c->state, steps), batches, size, y);
}

BD_OP(ParameterizedTruncatedNormal) = {
    .signature = "(shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype) -> (output: dtype)",
    .attrs = "seed:int=0; seed2:int=0; dtype:type{bfloat16,double,float,half}; T:type{int32,int64}",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = truncated_shape,
    .kernels = BD_KERNELS({.types = "dtype=float|double",
                           .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE | BD_KERNEL_WIDENS,
                           .state_size = sizeof(bd_random_source),
                           .create = bd_random_source_create,
                           .destroy = bd_random_source_destroy,
                           .run = truncated_run}),
    .doc =
        "Normal numbers between bounds; each parameter is one for all numbers or one for each index of the first dimension.",
    .deviation = "Batches use the stream one after the other, as on a single thread of TensorFlow.",
};
