// Multinomial and StatelessMultinomial: draw classes by their logits.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "kernels/random_convert.h"
#include "ops/common/element.h"
#include "ops/random/random_source.h"
#include "ops/random/random_stateless.h"

#include <float.h>

// ---- Shapes ----

static braid_code multinomial_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 2, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 0, st);
    int64_t samples;
    if (code) return code;
    bool known = bd_shape_ctx_constant_int(c, 1, &samples);
    if (known && samples < 0)
        return bd_shape_ctx_fail(c, st,
                                 "Dimension size, given by scalar input 1, must be non-negative but is %lld",
                                 (long long)samples);
    c->outputs[0] = bd_shape2(c->inputs[0].rank == 2 ? c->inputs[0].dims[0] : -1, known ? samples : -1);
    return BRAID_OK;
}

static braid_code stateless_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_random_seed(c, 2, st);
    return code ? code : multinomial_shape(c, st);
}

// ---- Kernels ----

static double logit(const braid_tensor *t, int64_t i)
{
    return t->dtype == BRAID_DOUBLE ? bd_tensor_f64(t)[i] : (double)bd_tensor_f32(t)[i];
}

// Running sums of e^(logit - maximum) over the classes of a row; logits that are not finite count 0.
static void cumulate(const braid_tensor *logits, int64_t row, int64_t classes, double *sums)
{
    double greatest = logits->dtype == BRAID_DOUBLE ? -DBL_MAX : (double)-FLT_MAX, sum = 0;
    for (int64_t i = 0; i < classes && !bd_interrupted_at(i); i++) {
        double x = logit(logits, row * classes + i);
        if (isfinite(x) && x > greatest) greatest = x;
    }
    for (int64_t i = 0; i < classes && !bd_interrupted_at(i); i++) {
        double x = logit(logits, row * classes + i);
        if (isfinite(x)) sum += exp(x - greatest);
        sums[i] = sum;
    }
}

// The first class whose sum is above `x`; `classes` when no sum is above it.
static int64_t first_above(const double *sums, int64_t classes, double x)
{
    int64_t from = 0, to = classes;
    while (from < to) {
        int64_t middle = from + (to - from) / 2;
        if (sums[middle] > x) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    return from;
}

// A draw takes two words. A step of the stream serves two draws, which may belong to two rows.
typedef struct draws {
    bd_philox stream;
    uint32_t word[4];
    bool has_second;
} draws;

static double next_draw(draws *d)
{
    d->has_second = !d->has_second;
    if (!d->has_second) return bd_uniform_f64(d->word[2], d->word[3]);
    bd_philox_next4(&d->stream, d->word);
    return bd_uniform_f64(d->word[0], d->word[1]);
}

static void draw_rows(const braid_tensor *logits, bd_philox stream, double *sums, braid_tensor *y)
{
    draws d = {.stream = stream};
    int64_t classes = logits->shape.dims[1], samples = y->shape.dims[1];
    for (int64_t row = 0; row < y->shape.dims[0] && !bd_interrupted(); row++) {
        cumulate(logits, row, classes, sums);
        for (int64_t i = 0; i < samples && !bd_interrupted_at(i); i++) {
            int64_t found = first_above(sums, classes, next_draw(&d) * sums[classes - 1]);
            if (y->dtype == BRAID_INT32) {
                bd_tensor_i32(y)[row * samples + i] = (int32_t)found;
            } else {
                bd_tensor_i64(y)[row * samples + i] = found;
            }
        }
    }
}

// Checks the inputs and allocates output 0. NULL: the kernel has failed.
static braid_tensor *multinomial_output(bd_op_ctx *c)
{
    const braid_shape *logits = &bd_input(c, 0)->shape, *count = &bd_input(c, 1)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (logits->rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "logits should be a matrix, got shape %s",
                   bd_shape_str(logits, text));
        return NULL;
    }
    if (count->rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_samples should be a scalar, got shape %s",
                   bd_shape_str(count, text));
        return NULL;
    }
    int64_t samples = bd_tensor_index(bd_input(c, 1), 0), total;
    if (samples < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_samples should be nonnegative, got %lld",
                   (long long)samples);
        return NULL;
    }
    if (logits->dims[1] <= 0 || logits->dims[1] > INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_classes should be positive and fit int32, got %lld",
                   (long long)logits->dims[1]);
        return NULL;
    }
    braid_shape shape = bd_shape2(logits->dims[0], samples);
    BD_STATUS(st);
    if (bd_shape_checked_count(&shape, &total, st)) {
        bd_op_fail_status(c, st);
        return NULL;
    }
    return bd_output(c, 0, c->node->output_types[0], &shape);
}

static void draw_output(bd_op_ctx *c, bd_philox stream, braid_tensor *y)
{
    const braid_tensor *logits = bd_input(c, 0);
    double *sums = bd_try_malloc((size_t)logits->shape.dims[1] * sizeof *sums);
    if (sums) {
        draw_rows(logits, stream, sums, y);
    } else {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when drawing from %lld classes",
                   (long long)logits->shape.dims[1]);
    }
    bd_free(sums);
}

static void multinomial_run(bd_op_ctx *c)
{
    braid_tensor *y = multinomial_output(c);
    if (!y || bd_tensor_count(y) == 0) return;
    // Two words for each draw, in whole steps for each row.
    uint64_t words = ((uint64_t)y->shape.dims[1] + 3) / 4 * 4 * 2;
    draw_output(
        c, bd_random_source_take(c->state, (uint64_t)y->shape.dims[0] * words * BD_RANDOM_STEPS_PER_OUTPUT),
        y);
}

static void stateless_run(bd_op_ctx *c)
{
    bd_philox stream;
    if (!bd_random_stateless_stream(c, 2, &stream)) return;
    braid_tensor *y = multinomial_output(c);
    if (y && bd_tensor_count(y) > 0) draw_output(c, stream, y);
}

BD_OP(Multinomial) = {
    .signature = "(logits: T, num_samples: int32) -> (output: output_dtype)",
    .attrs = "seed:int=0; seed2:int=0; T:type{realnumber}; output_dtype:type{int32,int64}=int64",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = multinomial_shape,
    .kernels = BD_KERNELS({.types = "T=float|double; output_dtype=int32|int64",
                           .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE | BD_KERNEL_WIDENS,
                           .state_size = sizeof(bd_random_source),
                           .create = bd_random_source_create,
                           .destroy = bd_random_source_destroy,
                           .run = multinomial_run}),
    .doc = "Draws num_samples classes for each row of logits, which are unnormalized log probabilities.",
    .deviation = "Rows use the stream one after the other, as on a single thread of TensorFlow.",
};

BD_OP(StatelessMultinomial) = {
    .signature = "(logits: T, num_samples: int32, seed: Tseed) -> (output: output_dtype)",
    .attrs = "T:type{realnumber}; Tseed:type{int32,int64}=int64; output_dtype:type{int32,int64}=int64",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = stateless_shape,
    .kernels = BD_KERNELS({.types = "T=float|double; output_dtype=int32|int64",
                           .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE | BD_KERNEL_WIDENS,
                           .run = stateless_run}),
    .doc = "Multinomial that depends only on the seed and its inputs.",
    .deviation = "Rows use the stream one after the other, as on a single thread of TensorFlow.",
};
