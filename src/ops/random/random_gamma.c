// RandomGamma, RandomGammaGrad, RandomPoisson, their versions and stateless forms: samples for each of
// several parameters.
#include "base/interrupt.h"
#include "kernels/gamma_grad.h"
#include "kernels/random_variates.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"
#include "ops/random/random_source.h"
#include "ops/random/random_stateless.h"

#include <float.h>
#include <math.h>

// ---- Samples: the shape in input 0 for each of the parameters in input 1 ----

typedef double (*variate_fn)(bd_philox stream, double parameter, double highest);

typedef struct samples {
    variate_fn draw;
    const braid_tensor *parameters;
    braid_tensor *out;
    int64_t parameter_count, sample_count; // samples for each parameter
    double highest;                        // the greatest value of the output's type
    bd_philox stream;
    atomic_bool failed; // a sample does not fit the output's type
} samples;

static double parameter_at(const braid_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case BRAID_FLOAT: return (double)bd_tensor_f32(t)[i];
    case BRAID_DOUBLE: return bd_tensor_f64(t)[i];
    default: return (double)bd_tensor_index(t, i);
    }
}

static void put_sample(braid_tensor *t, int64_t i, double value)
{
    switch (t->dtype) {
    case BRAID_FLOAT: bd_tensor_f32(t)[i] = (float)value; break;
    case BRAID_DOUBLE: bd_tensor_f64(t)[i] = value; break;
    case BRAID_INT32: bd_tensor_i32(t)[i] = (int32_t)value; break;
    default: bd_tensor_i64(t)[i] = (int64_t)value; break;
    }
}

// Outputs are numbered parameter by parameter; each owns a part of the stream.
static void draw_some(void *arg, int64_t from, int64_t to)
{
    samples *s = arg;
    for (int64_t i = from; i < to; i++) {
        int64_t parameter = i / s->sample_count, sample = i % s->sample_count;
        bd_philox stream = s->stream;
        bd_philox_skip(&stream, (uint64_t)i * BD_RANDOM_STEPS_PER_OUTPUT);
        double value = s->draw(stream, parameter_at(s->parameters, parameter), s->highest);
        if (isnan(value) && s->out->dtype != BRAID_FLOAT && s->out->dtype != BRAID_DOUBLE) {
            atomic_store(&s->failed, true);
            value = 0;
        }
        put_sample(s->out, sample * s->parameter_count + parameter, value);
    }
}

// The greatest double that the type can hold.
static double highest_of(braid_dtype dtype)
{
    switch (dtype) {
    case BRAID_FLOAT: return (double)FLT_MAX;
    case BRAID_DOUBLE: return DBL_MAX;
    case BRAID_INT32: return INT32_MAX;
    default: return 0x1.fffffffffffffp62; // int64: the greatest double below 2^63
    }
}

// Minimum samples for each thread.
#define SAMPLES_PER_THREAD 128

// Draws all samples of `s` into an output that is allocated.
static void draw_all(bd_op_ctx *c, samples *s, int64_t total)
{
    s->highest = highest_of(s->out->dtype);
    bd_parallel_for(c, total, SAMPLES_PER_THREAD, draw_some, s);
    if (atomic_load(&s->failed))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "a parameter is not finite, or too large for samples of %s",
                   braid_dtype_name(s->out->dtype));
}

static void samples_output(bd_op_ctx *c, variate_fn draw)
{
    const braid_tensor *parameters = bd_input(c, 1);
    braid_shape shape;
    BD_STATUS(st);
    int64_t total;
    if (!bd_input_shape(c, 0, "shape", &shape)) return;
    samples s = {.draw = draw,
                 .parameters = parameters,
                 .parameter_count = bd_tensor_count(parameters),
                 .sample_count = bd_shape_count(&shape)};
    if (shape.rank + parameters->shape.rank > BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "samples would have %d dimensions, at most %d are possible",
                   shape.rank + parameters->shape.rank, BRAID_RANK_MAX);
        return;
    }
    for (int d = 0; d < parameters->shape.rank; d++)
        shape.dims[shape.rank++] = parameters->shape.dims[d];
    if (bd_shape_checked_count(&shape, &total, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    s.out = bd_output(c, 0, c->node->output_types[0], &shape);
    if (!s.out || total == 0) return;
    s.stream = bd_random_source_take(c->state, (uint64_t)total * BD_RANDOM_STEPS_PER_OUTPUT);
    draw_all(c, &s, total);
}

static double draw_gamma(bd_philox stream, double alpha, double highest)
{
    (void)highest;
    return bd_random_gamma(stream, alpha);
}

static void gamma_run(bd_op_ctx *c)
{
    samples_output(c, draw_gamma);
}

static void poisson_run(bd_op_ctx *c)
{
    samples_output(c, bd_random_poisson);
}

#define SAMPLES_KERNEL(TYPES, RUN)                                                                           \
    BD_KERNELS({.types = (TYPES),                                                                            \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS | BD_KERNEL_INTERRUPTIBLE,                   \
                .state_size = sizeof(bd_random_source),                                                      \
                .create = bd_random_source_create,                                                           \
                .destroy = bd_random_source_destroy,                                                         \
                .run = (RUN)})

// random_grad._RandomGammaGrad: reshapes alpha to have as many leading dimensions of 1 as the samples have.
static void gamma_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out alpha = c->op->inputs[1], grad = c->output_grads[0];
    bd_grad_after_begin(g, grad);
    braid_out shape = bd_b_shape(g, "Shape", c->op->inputs[0]);
    braid_out count = bd_grad_slice(
        g, shape, &(bd_grad_index){.count = 1, .begin = {0}, .end = {1}, .shrink_axis_mask = 1});
    braid_out length = bd_grad_slice(g, shape, &(bd_grad_index){.count = 1, .begin = {0}, .end = {1}});
    braid_out ones = bd_b2(g, "Fill", "ones", length, bd_b_const_i32(g, NULL, 1));
    braid_out broad = bd_grad_concat(g, (braid_out[]){ones, bd_b_shape(g, "Shape", alpha)}, 2, 0);
    braid_out partial =
        bd_b2(g, "RandomGammaGrad", NULL, bd_b2(g, "Reshape", NULL, alpha, broad), braid_output(c->op, 0));
    c->input_grads[1] = bd_b2(g, "Sum", NULL, bd_grad_mul(g, grad, partial), bd_grad_range(g, count, 1));
    bd_grad_after_end(g);
}

BD_OP(RandomGamma) = {
    .signature = "(shape: S, alpha: T) -> (output: T)",
    .attrs = "seed:int=0; seed2:int=0; S:type{int32,int64}; T:type{double,float,half}",
    .flags = BD_OP_STATEFUL,
    .shape = bd_random_shape_fn_samples,
    .gradient = gamma_gradient,
    .kernels = SAMPLES_KERNEL("T=float|double", gamma_run),
    .doc =
        "Numbers from gamma distributions with parameter alpha and scale 1: `shape` numbers for each alpha.",
    .deviation = "A negative alpha gives NaN; TensorFlow would not terminate.",
};

BD_OP(RandomPoisson) = {
    .signature = "(shape: S, rate: dtype) -> (output: dtype)",
    .attrs = "seed:int=0; seed2:int=0; S:type{int32,int64}; dtype:type{double,float,half}",
    .flags = BD_OP_STATEFUL,
    .shape = bd_random_shape_fn_samples,
    .kernels = SAMPLES_KERNEL("dtype=float|double", poisson_run),
    .doc = "Numbers from Poisson distributions: `shape` numbers for each rate.",
    .deviation = "A rate for which TensorFlow would not terminate gives NaN, or an error for integer types.",
};

BD_OP(RandomPoissonV2) = {
    .signature = "(shape: S, rate: R) -> (output: dtype)",
    .attrs = "seed:int=0; seed2:int=0; S:type{int32,int64}; R:type{double,float,half,int32,int64}=double; "
             "dtype:type{double,float,half,int32,int64}=int64",
    .flags = BD_OP_STATEFUL,
    .shape = bd_random_shape_fn_samples,
    .kernels = SAMPLES_KERNEL("R=float|double|int32|int64; dtype=float|double|int32|int64", poisson_run),
    .doc = "Numbers from Poisson distributions: `shape` numbers for each rate, with a separate output type.",
    .deviation = "A rate for which TensorFlow would not terminate gives NaN, or an error for integer types.",
};

// ---- Stateless: the shape in input 0 ends with that of the parameters, which are the last input ----

static void stateless_output(bd_op_ctx *c, variate_fn draw, bd_philox stream)
{
    const braid_tensor *parameters = bd_input(c, c->input_count - 1);
    const braid_shape *each = &parameters->shape;
    braid_shape shape;
    if (!bd_input_shape(c, 0, "shape", &shape)) return;
    int more = shape.rank - each->rank;
    bool ends = more >= 0;
    for (int d = 0; ends && d < each->rank; d++)
        ends = shape.dims[more + d] == each->dims[d];
    if (!ends) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Shape passed in must end with broadcasted shape: %s does not end with %s",
                   bd_shape_str(&shape, a), bd_shape_str(each, b));
        return;
    }
    samples s = {.draw = draw,
                 .parameters = parameters,
                 .out = bd_output(c, 0, c->node->output_types[0], &shape),
                 .parameter_count = bd_tensor_count(parameters),
                 .sample_count = bd_shape_count_range(&shape, 0, more),
                 .stream = stream};
    int64_t total = s.out ? bd_tensor_count(s.out) : 0;
    if (total > 0) draw_all(c, &s, total);
}

static void seeded_gamma_run(bd_op_ctx *c)
{
    bd_philox stream;
    if (bd_random_stateless_stream(c, 1, &stream)) stateless_output(c, draw_gamma, stream);
}

static void keyed_gamma_run(bd_op_ctx *c)
{
    bd_philox stream;
    if (bd_random_keyed_stream(c, 1, &stream)) stateless_output(c, draw_gamma, stream);
}

static void seeded_poisson_run(bd_op_ctx *c)
{
    bd_philox stream;
    if (bd_random_stateless_stream(c, 1, &stream)) stateless_output(c, bd_random_poisson, stream);
}

static braid_code seeded_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_random_seed(c, 1, st);
    return code ? code : bd_shape_ctx_from_input(c, 0, st);
}

static braid_code keyed_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_random_key(c, 1, st);
    return code ? code : bd_shape_ctx_from_input(c, 0, st);
}

#define STATELESS_KERNEL(TYPES, RUN)                                                                         \
    BD_KERNELS({.types = (TYPES), .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS, .run = (RUN)})

BD_OP(StatelessRandomGammaV2) = {
    .signature = "(shape: T, seed: Tseed, alpha: dtype) -> (output: dtype)",
    .attrs = "dtype:type{double,float,half}; T:type{int32,int64}=int32; Tseed:type{int32,int64}=int64",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = seeded_shape,
    .kernels = STATELESS_KERNEL("dtype=float|double", seeded_gamma_run),
    .doc = "Numbers from gamma distributions of scale 1, depending only on seed and shape.",
    .deviation = "A negative alpha gives NaN; TensorFlow would not terminate.",
};

BD_OP(StatelessRandomGammaV3) = {
    .signature =
        "(shape: shape_dtype, key: uint64, counter: uint64, alg: int32, alpha: dtype) -> (output: dtype)",
    .attrs = "dtype:type{double,float,half}; shape_dtype:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = keyed_shape,
    .kernels = STATELESS_KERNEL("dtype=float|double", keyed_gamma_run),
    .doc = "Numbers from gamma distributions of scale 1, from the stream given by key and counter.",
    .deviation = "A negative alpha gives NaN; TensorFlow would not terminate.",
};

BD_OP(StatelessRandomPoisson) = {
    .signature = "(shape: T, seed: Tseed, lam: Rtype) -> (output: dtype)",
    .attrs = "Rtype:type{double,float,half,int32,int64}; dtype:type{double,float,half,int32,int64}; "
             "T:type{int32,int64}; Tseed:type{int32,int64}=int64",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = seeded_shape,
    .kernels = STATELESS_KERNEL("Rtype=float|double|int32|int64; dtype=float|double|int32|int64",
                                seeded_poisson_run),
    .doc = "Numbers from Poisson distributions, depending only on seed and shape.",
    .deviation = "A rate for which TensorFlow would not terminate gives NaN, or an error for integer types.",
};

// ---- RandomGammaGrad ----

#define DEFINE_GAMMA_GRAD(NAME, T)                                                                           \
    static void NAME(const void *x, const void *y, void *z, int64_t n, bd_single single)                     \
    {                                                                                                        \
        const T *alphas = x, *values = y;                                                                    \
        for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {                                           \
            double alpha = (double)alphas[single == BD_SINGLE_X ? 0 : i];                                    \
            ((T *)z)[i] = (T)bd_gamma_sample_grad(alpha, (double)values[single == BD_SINGLE_Y ? 0 : i]);     \
        }                                                                                                    \
    }
DEFINE_GAMMA_GRAD(gamma_grad_f32, float)
DEFINE_GAMMA_GRAD(gamma_grad_f64, double)

static braid_code gamma_grad_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    // The state of a broadcasting product, with another function.
    *(bd_binary_state *)state = (bd_binary_state){
        .fn = bd_node_attr_type(node, "T") == BRAID_FLOAT ? gamma_grad_f32 : gamma_grad_f64, .op = BD_MUL};
    return BRAID_OK;
}

BD_OP(RandomGammaGrad) = {
    .signature = "(alpha: T, sample: T) -> (output: T)",
    .attrs = "T:type{double,float}",
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_KERNELS({.types = BD_FLOATS,
                           .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,
                           .state_size = sizeof(bd_binary_state),
                           .create = gamma_grad_create,
                           .run = bd_binary_run}),
    .doc = "The derivatives of samples of gamma distributions by alpha.",
};
