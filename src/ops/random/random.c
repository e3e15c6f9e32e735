// Random numbers from TensorFlow's Philox streams: the same seeds give the same values on any number of
// threads.
//
// Each call takes 256 steps of the node's stream for each output, used or not.
#include "ops/common/element.h"
#include "ops/random/random_source.h"

// For 16-bit types, normal numbers are computed in float and rounded; uniform numbers use other bits than
// float.

// Allocates output 0, with the shape in input 0. NULL: the kernel has failed.
static braid_tensor *random_output(bd_op_ctx *c)
{
    braid_shape shape;
    if (!bd_input_shape(c, 0, "shape", &shape)) return NULL;
    return bd_output(c, 0, c->node->output_types[0], &shape);
}

// Fills output 0 from the node's stream.
static void fill_output(bd_op_ctx *c, braid_tensor *y, const bd_random_kind *kind, bd_random_fill fill)
{
    fill.start = bd_random_source_take(c->state, (uint64_t)bd_tensor_count(y) * BD_RANDOM_STEPS_PER_OUTPUT);
    bd_random_fill_output(c, y, kind, fill);
}

static void random_floats(bd_op_ctx *c, const bd_random_kinds *kinds)
{
    braid_tensor *y = random_output(c);
    if (y) fill_output(c, y, bd_random_kind_of(kinds, y->dtype), (bd_random_fill){0});
}

static void uniform_run(bd_op_ctx *c)
{
    random_floats(c, &bd_random_uniform);
}

static void normal_run(bd_op_ctx *c)
{
    random_floats(c, &bd_random_normal);
}

static void truncated_run(bd_op_ctx *c)
{
    random_floats(c, &bd_random_truncated);
}

#define RANDOM_KERNEL(TYPES, FLAGS, RUN)                                                                     \
    BD_KERNELS({.types = (TYPES),                                                                            \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE | (FLAGS),                            \
                .state_size = sizeof(bd_random_source),                                                      \
                .create = bd_random_source_create,                                                           \
                .destroy = bd_random_source_destroy,                                                         \
                .run = (RUN)})

#define RANDOM_FLOATS(TYPES, FLAGS, RUN, DOC)                                                                \
    {                                                                                                        \
        .signature = "(shape: T) -> (output: dtype)",                                                        \
        .attrs = "seed:int=0; seed2:int=0; dtype:type{bfloat16,double,float,half}; T:type{int32,int64}",     \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_from_input0,                \
        .kernels = RANDOM_KERNEL(TYPES, FLAGS, RUN), .doc = (DOC)                                            \
    }

BD_OP(RandomUniform) =
    RANDOM_FLOATS("dtype=float|double|half|bfloat16", 0, uniform_run,
                  "Numbers uniform in [0, 1). If both seeds are 0 the numbers differ in each session.");
BD_OP(RandomStandardNormal) = RANDOM_FLOATS("dtype=float|double", BD_KERNEL_WIDENS, normal_run,
                                            "Normal numbers of mean 0 and deviation 1.");
BD_OP(TruncatedNormal) = RANDOM_FLOATS(
    "dtype=float|double", BD_KERNEL_WIDENS, truncated_run,
    "Normal numbers of mean 0 and deviation 1; numbers of absolute value 2 and more are drawn again.");

static braid_code random_int_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 0, st);
    if (!code) code = bd_shape_ctx_rank(c, 2, 0, st);
    return code ? code : bd_shape_fn_from_input0(c, st);
}

static void random_int_run(bd_op_ctx *c)
{
    bd_random_fill fill = {0};
    braid_tensor *y = bd_random_check_bounds(c, 1) ? random_output(c) : NULL;
    // As in TensorFlow, invalid bounds are not an error if the output is empty.
    if (!y || bd_tensor_count(y) == 0 || !bd_random_bounds(c, 1, &fill)) return;
    fill_output(c, y, y->dtype == BRAID_INT32 ? &bd_random_int_i32 : &bd_random_int_i64, fill);
}

BD_OP(RandomUniformInt) = {
    .signature = "(shape: T, minval: Tout, maxval: Tout) -> (output: Tout)",
    .attrs = "seed:int=0; seed2:int=0; Tout:type{int32,int64}; T:type{int32,int64}",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = random_int_shape,
    .kernels = RANDOM_KERNEL("Tout=int32|int64", 0, random_int_run),
    .doc = "Integers uniform in [minval, maxval), with the slight bias of a modulus.",
};
