// Stateless random ops of TensorFlow 1: the numbers depend only on a seed input.
#include "ops/random/random_stateless.h"

#include "ops/common/element.h"
#include "ops/random/random_source.h"

// The two numbers of the seed are scrambled by Philox itself with this key, so that a change of either gives
// another stream.
#define SCRAMBLE_KEY                                                                                         \
    {                                                                                                        \
        0x3ec8f720, 0x02461e29                                                                               \
    }

bool bd_random_stateless_stream(bd_op_ctx *c, int i, bd_philox *out)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank != 1 || t->shape.dims[0] != 2) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "seed must have shape [2], not %s",
                   bd_shape_str(&t->shape, text));
        return false;
    }
    uint64_t a = (uint64_t)bd_tensor_index(t, 0), b = (uint64_t)bd_tensor_index(t, 1);
    bd_philox scramble = {.key = SCRAMBLE_KEY,
                          .counter = {(uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32)}};
    uint32_t mix[4];
    bd_philox_next4(&scramble, mix);
    *out = (bd_philox){.key = {mix[0], mix[1]}, .counter = {0, 0, mix[2], mix[3]}};
    return true;
}

braid_code bd_shape_ctx_random_seed(bd_shape_ctx *c, int i, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, i, 1, st);
    const braid_shape *s = &c->inputs[i];
    if (code || s->rank < 0 || s->dims[0] < 0 || s->dims[0] == 2) return code;
    return bd_shape_ctx_fail(c, st, "Dimension must be 2 but is %lld", (long long)s->dims[0]);
}

static braid_code stateless_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_random_seed(c, 1, st);
    return code ? code : bd_shape_ctx_from_input(c, 0, st);
}

// Allocates output 0 with the shape in input 0 and starts the stream. NULL: the kernel has failed.
static braid_tensor *stateless_output(bd_op_ctx *c, bd_random_fill *fill)
{
    braid_shape shape;
    if (!bd_input_shape(c, 0, "shape", &shape) || !bd_random_stateless_stream(c, 1, &fill->start))
        return NULL;
    return bd_output(c, 0, c->node->output_types[0], &shape);
}

static void stateless_floats(bd_op_ctx *c, const bd_random_kinds *kinds)
{
    bd_random_fill fill = {0};
    braid_tensor *y = stateless_output(c, &fill);
    if (y) bd_random_fill_output(c, y, bd_random_kind_of(kinds, y->dtype), fill);
}

static void uniform_run(bd_op_ctx *c)
{
    stateless_floats(c, &bd_random_uniform);
}

static void normal_run(bd_op_ctx *c)
{
    stateless_floats(c, &bd_random_normal);
}

static void truncated_run(bd_op_ctx *c)
{
    stateless_floats(c, &bd_random_truncated);
}

#define STATELESS_FLOATS(TYPES, FLAGS, RUN, DOC)                                                             \
    {                                                                                                        \
        .signature = "(shape: T, seed: Tseed) -> (output: dtype)",                                           \
        .attrs = "dtype:type{bfloat16,double,float,half}=float; T:type{int32,int64}=int32; "                 \
                 "Tseed:type{int32,int64}=int64",                                                            \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = stateless_shape,                                         \
        .kernels = BD_KERNELS({.types = (TYPES), .flags = BD_KERNEL_EXPENSIVE | (FLAGS), .run = (RUN)}),     \
        .doc = (DOC)                                                                                         \
    }

BD_OP(StatelessRandomUniform) =
    STATELESS_FLOATS("dtype=float|double|half|bfloat16", 0, uniform_run,
                     "Numbers uniform in [0, 1), depending only on seed and shape.");
BD_OP(StatelessRandomNormal) =
    STATELESS_FLOATS("dtype=float|double", BD_KERNEL_WIDENS, normal_run,
                     "Normal numbers of mean 0 and deviation 1, depending only on seed and shape.");
BD_OP(StatelessTruncatedNormal) =
    STATELESS_FLOATS("dtype=float|double", BD_KERNEL_WIDENS, truncated_run,
                     "Normal numbers of an absolute value below 2, depending only on seed and shape.");

static braid_code stateless_int_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 2, 0, st);
    if (!code) code = bd_shape_ctx_rank(c, 3, 0, st);
    return code ? code : stateless_shape(c, st);
}

static void stateless_int_run(bd_op_ctx *c)
{
    bd_random_fill fill = {0};
    braid_tensor *y = stateless_output(c, &fill);
    // As in TensorFlow, invalid bounds are not an error if the output is empty.
    if (!y || bd_tensor_count(y) == 0 || !bd_random_bounds(c, 2, &fill)) return;
    bd_random_fill_output(c, y, y->dtype == BRAID_INT32 ? &bd_random_int_i32 : &bd_random_int_i64, fill);
}

BD_OP(StatelessRandomUniformInt) = {
    .signature = "(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> (output: dtype)",
    .attrs = "dtype:type{int32,int64}; T:type{int32,int64}; Tseed:type{int32,int64}=int64",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = stateless_int_shape,
    .kernels =
        BD_KERNELS({.types = "dtype=int32|int64", .flags = BD_KERNEL_EXPENSIVE, .run = stateless_int_run}),
    .doc = "Integers uniform in [minval, maxval), depending only on seed and shape.",
};

static void stateless_full_run(bd_op_ctx *c)
{
    bd_random_fill fill = {0};
    braid_tensor *y = stateless_output(c, &fill);
    if (!y) return;
    bool is_short = braid_dtype_size(y->dtype) == sizeof(int32_t);
    bd_random_fill_output(c, y, is_short ? &bd_random_full_32 : &bd_random_full_64, fill);
}

BD_OP(StatelessRandomUniformFullInt) = {
    .signature = "(shape: T, seed: Tseed) -> (output: dtype)",
    .attrs = "dtype:type{int32,int64,uint32,uint64}=uint64; T:type{int32,int64}=int32; "
             "Tseed:type{int32,int64,uint32,uint64}=int64",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = stateless_shape,
    .kernels = BD_KERNELS({.types = "dtype=int32|int64|uint32|uint64; Tseed=int32|int64",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .run = stateless_full_run}),
    .doc = "Integers uniform over all values of the type, depending only on seed and shape.",
};
