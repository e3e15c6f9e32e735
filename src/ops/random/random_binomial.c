// StatefulRandomBinomial and StatelessRandomBinomial: the numbers of successes in `counts` trials of
// probability `probs`, for several parameters.
#include "kernels/random_variates.h"
#include "ops/common/element.h"
#include "ops/math/broadcast_to.h"
#include "ops/random/random_source.h"
#include "ops/random/random_stateless.h"

#include <math.h>

typedef struct binomial {
    braid_tensor counts, chances; // broadcast to one shape, that of the parameters
    braid_tensor *out;
    int64_t parameter_count, sample_count; // samples for each parameter
    bool is_leading;                       // the parameters lie along the first dimension, not the last ones
    bd_philox stream;
    atomic_bool failed; // a sample does not fit the output's type
} binomial;

static double parameter_at(const braid_tensor *t, int64_t i)
{
    return t->dtype == BRAID_FLOAT ? (double)bd_tensor_f32(t)[i] : bd_tensor_f64(t)[i];
}

static bool put_sample(braid_tensor *t, int64_t i, double value)
{
    bool is_short = t->dtype == BRAID_INT32;
    switch (t->dtype) {
    case BRAID_FLOAT: bd_tensor_f32(t)[i] = (float)value; return true;
    case BRAID_DOUBLE: bd_tensor_f64(t)[i] = value; return true;
    default: break;
    }
    if (!(fabs(value) <= (is_short ? INT32_MAX : 0x1.fffffffffffffp62))) return false;
    if (is_short)
        bd_tensor_i32(t)[i] = (int32_t)value;
    else
        bd_tensor_i64(t)[i] = (int64_t)value;
    return true;
}

static void draw_some(void *arg, int64_t from, int64_t to)
{
    binomial *s = arg;
    for (int64_t i = from; i < to; i++) {
        int64_t parameter = i / s->sample_count, sample = i % s->sample_count;
        int64_t at = s->is_leading ? i : sample * s->parameter_count + parameter;
        double value = bd_random_binomial(s->stream, i, parameter_at(&s->counts, parameter),
                                          parameter_at(&s->chances, parameter));
        if (!put_sample(s->out, at, value)) atomic_store(&s->failed, true);
    }
}

// Finds the output dimensions that belong to the parameters: the last ones, or else, as in TensorFlow 1, the
// first where this is possible. False: the kernel has failed.
static bool place_parameters(bd_op_ctx *c, binomial *s, const braid_shape *shape, const braid_shape *each,
                             bool may_lead)
{
    int more = shape->rank - each->rank;
    bool ends = more >= 0;
    for (int d = 0; ends && d < each->rank; d++)
        ends = shape->dims[more + d] == each->dims[d];
    bool leads = may_lead && shape->rank > 0 && each->rank == 1 &&
                 (each->dims[0] == 1 || each->dims[0] == shape->dims[0]);
    s->is_leading = !ends && leads;
    s->parameter_count = bd_shape_count(each);
    s->sample_count = s->parameter_count > 0 ? bd_shape_count(shape) / s->parameter_count : 0;
    if (ends || leads) return true;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Shape passed in must end with broadcasted shape: %s does not end with %s",
               bd_shape_str(shape, a), bd_shape_str(each, b));
    return false;
}

// Broadcasts inputs `i` and i + 1 to one shape and allocates output 0. False: the kernel has failed.
static bool begin(bd_op_ctx *c, binomial *s, int shape_input, int i)
{
    const braid_tensor *counts = bd_input(c, i), *chances = bd_input(c, i + 1);
    braid_shape shape, each;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (!bd_input_shape(c, shape_input, "shape", &shape)) return false;
    if (!bd_shape_broadcast(&counts->shape, &chances->shape, &each)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "counts and probs must have compatible batch dimensions: %s vs. %s",
                   bd_shape_str(&counts->shape, a), bd_shape_str(&chances->shape, b));
        return false;
    }
    if (!place_parameters(c, s, &shape, &each, shape_input > 0)) return false;
    s->out = bd_output(c, 0, c->node->output_types[0], &shape);
    if (!s->out) return false;
    if (bd_broadcast_copy(counts, &each, &s->counts) && bd_broadcast_copy(chances, &each, &s->chances))
        return true;
    bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when repeating counts and probs to %s",
               bd_shape_str(&each, a));
    return false;
}

// Minimum samples for each thread.
#define SAMPLES_PER_THREAD 128

static void draw_all(bd_op_ctx *c, binomial *s)
{
    bd_parallel_for(c, bd_tensor_count(s->out), SAMPLES_PER_THREAD, draw_some, s);
    if (atomic_load(&s->failed))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "counts or probs are not numbers, or too large for samples of %s",
                   braid_dtype_name(s->out->dtype));
}

static void end(binomial *s)
{
    bd_tensor_fini(&s->counts);
    bd_tensor_fini(&s->chances);
}

static void stateful_run(bd_op_ctx *c)
{
    binomial s = {0};
    // TensorFlow takes this number of outputs from the stream.
    if (begin(c, &s, 2, 3) &&
        bd_random_variable_stream(c, s.parameter_count * (2 * 100) * (s.sample_count + 3) / 4, &s.stream))
        draw_all(c, &s);
    end(&s);
}

static void stateless_run(bd_op_ctx *c)
{
    binomial s = {0};
    if (bd_random_stateless_stream(c, 1, &s.stream) && begin(c, &s, 0, 2)) draw_all(c, &s);
    end(&s);
}

static braid_code stateful_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_from_input(c, 2, st);
}

static braid_code stateless_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_random_seed(c, 1, st);
    return code ? code : bd_shape_ctx_from_input(c, 0, st);
}

#define BINOMIAL_TYPES                                                                                       \
    "T:type{double,float,half,int32,int64}=double; dtype:type{double,float,half,int32,int64}=int64"
#define BINOMIAL_KERNEL(RUN)                                                                                 \
    BD_KERNELS({.types = "T=float|double; dtype=float|double|int32|int64",                                   \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE | BD_KERNEL_WIDENS,                   \
                .run = (RUN)})

BD_OP(StatefulRandomBinomial) = {
    .signature = "(resource: resource, algorithm: int64, shape: S, counts: T, probs: T) -> (output: dtype)",
    .attrs = "S:type{int32,int64}; " BINOMIAL_TYPES,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = stateful_shape,
    .kernels = BINOMIAL_KERNEL(stateful_run),
    .doc =
        "The number of successes in `counts` trials of probability `probs`, from the generator state in a variable.",
    .deviation = "The numbers are those of TensorFlow 2; in 1.15 they depend on the number of threads.",
};

BD_OP(StatelessRandomBinomial) = {
    .signature = "(shape: S, seed: Tseed, counts: T, probs: T) -> (output: dtype)",
    .attrs = "S:type{int32,int64}; Tseed:type{int32,int64}=int64; " BINOMIAL_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = stateless_shape,
    .kernels = BINOMIAL_KERNEL(stateless_run),
    .doc =
        "The number of successes in `counts` trials of probability `probs`, depending only on seed and shape.",
};
