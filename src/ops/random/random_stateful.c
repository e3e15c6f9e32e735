// Random ops whose generator state is in a resource variable: its counter and key (tf.random.experimental).
#include "ops/common/element.h"
#include "ops/random/random_source.h"
#include "ops/state/variable.h"

// The state in an int64 vector: the lower and upper half of the counter, and the key. For the oldest op an
// algorithm precedes these.
enum {
    ALGORITHM_PHILOX = 1,
    STATE_LEN = 3
};

static bd_philox read_state(const int64_t *state)
{
    uint64_t low = (uint64_t)state[0], high = (uint64_t)state[1], key = (uint64_t)state[2];
    return (bd_philox){
        .key = {(uint32_t)key, (uint32_t)(key >> 32)},
        .counter = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)}};
}

static void write_state(int64_t *state, const bd_philox *p)
{
    state[0] = (int64_t)((uint64_t)p->counter[1] << 32 | p->counter[0]);
    state[1] = (int64_t)((uint64_t)p->counter[3] << 32 | p->counter[2]);
}

// Checks the variable's value; `skip` elements precede the state.
static bool check_state(bd_op_ctx *c, const braid_tensor *t, int skip)
{
    if (t->dtype != BRAID_INT64) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "dtype of RNG state variable must be int64, not %s",
                   braid_dtype_name(t->dtype));
    } else if (t->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "RNG state must have one and only one dimension, not %d",
                   t->shape.rank);
    } else if (t->shape.dims[0] < skip + STATE_LEN) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "For the Philox algorithm, the size of state must be at least %d; got %lld",
                   skip + STATE_LEN, (long long)t->shape.dims[0]);
    }
    return !bd_op_failed(c);
}

static bool check_algorithm(bd_op_ctx *c, int64_t algorithm)
{
    if (algorithm == ALGORITHM_PHILOX) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Unsupported algorithm id: %lld", (long long)algorithm);
    return false;
}

// Reads the algorithm from scalar input 1.
static bool input_algorithm(bd_op_ctx *c)
{
    const braid_tensor *t = bd_input(c, 1);
    if (t->shape.rank == 0) return check_algorithm(c, bd_tensor_index(t, 0));
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input 1 (0-based) must have shape [], not %s",
               bd_shape_str(&t->shape, text));
    return false;
}

static void advance_locked(bd_op_ctx *c, bd_variable *v, uint64_t steps, int skip, bd_philox *start)
{
    BD_STATUS(st);
    if (!bd_tensor_is_set(&v->tensor) || !v->tensor.buffer) {
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   bd_tensor_handle(bd_input(c, 0))->name);
        return;
    }
    if (!check_state(c, &v->tensor, skip)) return;
    if (skip && !check_algorithm(c, bd_tensor_i64(&v->tensor)[0])) return;
    if (bd_variable_make_writable_locked(v, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    int64_t *state = bd_tensor_i64(&v->tensor) + skip;
    *start = read_state(state);
    bd_philox after = *start;
    bd_philox_skip(&after, steps);
    write_state(state, &after);
}

// Takes the steps of `outputs` elements from the stream of the variable in input 0. False: the kernel has
// failed.
static bool take_outputs(bd_op_ctx *c, int64_t outputs, int skip, bd_philox *start)
{
    bd_variable *v = bd_input_variable(c, 0, BRAID_INVALID);
    if (!v) return false;
    bd_mutex_lock(&v->mu);
    advance_locked(c, v, (uint64_t)outputs * BD_RANDOM_STEPS_PER_OUTPUT, skip, start);
    bd_mutex_unlock(&v->mu);
    bd_resource_unref(&v->base);
    return !bd_op_failed(c);
}

bool bd_random_variable_stream(bd_op_ctx *c, int64_t outputs, bd_philox *start)
{
    return input_algorithm(c) && take_outputs(c, outputs, 0, start);
}

// Allocates and fills output 0, with the shape in input `shape_input`.
static void stateful_output(bd_op_ctx *c, int shape_input, int skip, const bd_random_kind *kind,
                            bd_random_fill fill)
{
    braid_shape shape;
    if (!bd_input_shape(c, shape_input, "shape", &shape)) return;
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &shape);
    if (y && take_outputs(c, bd_tensor_count(y), skip, &fill.start)) bd_random_fill_output(c, y, kind, fill);
}

static void stateful_floats(bd_op_ctx *c, const bd_random_kinds *kinds)
{
    if (input_algorithm(c))
        stateful_output(c, 2, 0, bd_random_kind_of(kinds, c->node->output_types[0]), (bd_random_fill){0});
}

// ---- Floating-point numbers ----

static braid_code stateful_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 0, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 0, st);
    return code ? code : bd_shape_ctx_from_input(c, 2, st);
}

static braid_code stateful_v1_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 0, st);
    return code ? code : bd_shape_ctx_from_input(c, 1, st);
}

static void uniform_run(bd_op_ctx *c)
{
    stateful_floats(c, &bd_random_uniform);
}

static void normal_run(bd_op_ctx *c)
{
    stateful_floats(c, &bd_random_normal);
}

static void truncated_run(bd_op_ctx *c)
{
    stateful_floats(c, &bd_random_truncated);
}

static void normal_v1_run(bd_op_ctx *c)
{
    stateful_output(c, 1, 1, bd_random_kind_of(&bd_random_normal, c->node->output_types[0]),
                    (bd_random_fill){0});
}

#define STATEFUL_KERNEL(TYPES, FLAGS, RUN)                                                                   \
    BD_KERNELS({.types = TYPES "; shape_dtype=int32|int64",                                                  \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE | (FLAGS),                            \
                .run = (RUN)})
#define STATEFUL_FLOATS(TYPES, FLAGS, RUN, DOC)                                                              \
    {                                                                                                        \
        .signature = "(resource: resource, algorithm: int64, shape: shape_dtype) -> (output: dtype)",        \
        .attrs = "dtype:type=float; shape_dtype:type=int64",                                                 \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = stateful_shape,                         \
        .kernels = STATEFUL_KERNEL(TYPES, FLAGS, RUN), .doc = (DOC)                                          \
    }

BD_OP(StatefulUniform) =
    STATEFUL_FLOATS("dtype=float|double|half|bfloat16", 0, uniform_run,
                    "Numbers uniform in [0, 1), from the generator state in a variable.");
BD_OP(StatefulStandardNormalV2) =
    STATEFUL_FLOATS("dtype=float|double", BD_KERNEL_WIDENS, normal_run,
                    "Normal numbers of mean 0 and deviation 1, from the generator state in a variable.");
BD_OP(StatefulTruncatedNormal) =
    STATEFUL_FLOATS("dtype=float|double", BD_KERNEL_WIDENS, truncated_run,
                    "Normal numbers of an absolute value below 2, from the generator state in a variable.");

BD_OP(StatefulStandardNormal) = {
    .signature = "(resource: resource, shape: shape_dtype) -> (output: dtype)",
    .attrs = "dtype:type=float; shape_dtype:type=int64",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = stateful_v1_shape,
    .kernels = STATEFUL_KERNEL("dtype=float|double", BD_KERNEL_WIDENS, normal_v1_run),
    .doc = "StatefulStandardNormalV2 whose variable has the algorithm id before the generator's state.",
};

// ---- Integers ----

static braid_code stateful_int_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 3, 0, st);
    if (!code) code = bd_shape_ctx_rank(c, 4, 0, st);
    return code ? code : stateful_shape(c, st);
}

static void stateful_int_run(bd_op_ctx *c)
{
    bd_random_fill fill = {0};
    if (!input_algorithm(c) || !bd_random_bounds(c, 3, &fill)) return;
    bool is_short = braid_dtype_size(c->node->output_types[0]) == sizeof(int32_t);
    stateful_output(c, 2, 0, is_short ? &bd_random_int_i32 : &bd_random_int_i64, fill);
}

static void stateful_full_run(bd_op_ctx *c)
{
    bool is_short = braid_dtype_size(c->node->output_types[0]) == sizeof(int32_t);
    if (input_algorithm(c))
        stateful_output(c, 2, 0, is_short ? &bd_random_full_32 : &bd_random_full_64, (bd_random_fill){0});
}

#define INTEGERS "dtype=int32|int64|uint32|uint64"

BD_OP(StatefulUniformInt) = {
    .signature =
        "(resource: resource, algorithm: int64, shape: shape_dtype, minval: dtype, maxval: dtype) -> "
        "(output: dtype)",
    .attrs = "dtype:type=int64; shape_dtype:type=int64",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = stateful_int_shape,
    .kernels = STATEFUL_KERNEL(INTEGERS, 0, stateful_int_run),
    .doc = "Integers uniform in [minval, maxval), from the generator state in a variable.",
};

BD_OP(StatefulUniformFullInt) = {
    .signature = "(resource: resource, algorithm: int64, shape: shape_dtype) -> (output: dtype)",
    .attrs = "dtype:type=uint64; shape_dtype:type=int64",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = stateful_shape,
    .kernels = STATEFUL_KERNEL(INTEGERS, 0, stateful_full_run),
    .doc = "Integers uniform over all values of the type, from the generator state in a variable.",
};

// ---- RngSkip, NonDeterministicInts ----

static braid_code skip_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = 0; i < 3 && !code; i++)
        code = bd_shape_ctx_rank(c, i, 0, st);
    return code;
}

static void skip_run(bd_op_ctx *c)
{
    const braid_tensor *delta = bd_input(c, 2);
    bd_philox start;
    if (!input_algorithm(c)) return;
    if (delta->shape.rank == 0) {
        take_outputs(c, bd_tensor_index(delta, 0), 0, &start);
        return;
    }
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input 2 (0-based) must have shape [], not %s",
               bd_shape_str(&delta->shape, text));
}

BD_OP(RngSkip) = {
    .signature = "(resource: resource, algorithm: int64, delta: int64) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = skip_shape,
    .kernels = BD_KERNELS({.run = skip_run}),
    .doc = "Advances the generator state in a variable as if delta numbers had been drawn.",
};

static braid_code read_and_skip_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = bd_shape1(STATE_LEN);
    return skip_shape(c, st);
}

static void read_and_skip_run(bd_op_ctx *c)
{
    const braid_tensor *algorithm = bd_input(c, 1), *delta = bd_input(c, 2);
    char text[BD_SHAPE_STR_MAX];
    bd_philox start = {0};
    for (int i = 1; i < 3; i++) {
        if (bd_input(c, i)->shape.rank == 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a scalar, not of shape %s",
                   c->node->def->inputs[i].name, bd_shape_str(&bd_input(c, i)->shape, text));
        return;
    }
    if (!check_algorithm(c, bd_tensor_index(algorithm, 0)) ||
        !take_outputs(c, *(const int64_t *)delta->data, 0, &start))
        return;
    braid_tensor *y = bd_output(c, 0, BRAID_INT64, &c->node->output_shapes[0]);
    if (!y) return;
    write_state(bd_tensor_i64(y), &start);
    bd_tensor_i64(y)[2] = (int64_t)((uint64_t)start.key[1] << 32 | start.key[0]);
}

BD_OP(RngReadAndSkip) = {
    .signature = "(resource: resource, alg: int32, delta: uint64) -> (value: int64)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = read_and_skip_shape,
    .kernels = BD_KERNELS({.run = read_and_skip_run}),
    .doc = "RngSkip that outputs the previous generator state: the counter in two numbers, and the key.",
};

static void entropy_run(bd_op_ctx *c)
{
    braid_shape shape;
    if (!bd_input_shape(c, 0, "shape", &shape)) return;
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &shape);
    if (y) bd_random_bytes(y->data, bd_tensor_bytes(y));
}

BD_OP(NonDeterministicInts) = {
    .signature = "(shape: shape_dtype) -> (output: dtype)",
    .attrs = "dtype:type=int64; shape_dtype:type=int64",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_from_input0,
    .kernels = STATEFUL_KERNEL(INTEGERS, 0, entropy_run),
    .doc = "Random integers from the system's entropy; no seed determines them.",
};
