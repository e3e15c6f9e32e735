// Stateless random ops of TensorFlow 2: streams given by key and counter, and the conversion of a seed to key
// and counter.
#include "ops/random/random_stateless.h"

#include "ops/common/element.h"
#include "ops/random/random_source.h"

// TensorFlow's numbers for generator algorithms.
enum {
    ALGORITHM_PHILOX = 1,
    ALGORITHM_AUTO = 3
};

// ---- Key, counter and algorithm ----

static bool check_algorithm(bd_op_ctx *c, int i)
{
    const braid_tensor *t = bd_input(c, i);
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input %d (0-based) must have shape [], not %s", i,
                   bd_shape_str(&t->shape, text));
        return false;
    }
    int32_t algorithm = *bd_tensor_i32(t);
    if (algorithm == ALGORITHM_PHILOX || algorithm == ALGORITHM_AUTO) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Unsupported algorithm id: %d: this is %s; use 1 (Philox)",
               algorithm, algorithm == 2 ? "ThreeFry" : "no algorithm");
    return false;
}

bool bd_random_keyed_stream(bd_op_ctx *c, int i, bd_philox *out)
{
    const braid_tensor *key = bd_input(c, i), *counter = bd_input(c, i + 1);
    char text[BD_SHAPE_STR_MAX];
    if (!check_algorithm(c, i + 2)) return false;
    if (key->shape.rank != 1 || key->shape.dims[0] != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "key must have shape [1], not %s",
                   bd_shape_str(&key->shape, text));
    } else if (counter->shape.rank != 1 || counter->shape.dims[0] < 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "counter must be a vector with length at least 2; got shape: %s",
                   bd_shape_str(&counter->shape, text));
    }
    if (bd_op_failed(c)) return false;
    const uint64_t k = *(const uint64_t *)key->data, *n = counter->data;
    *out = (bd_philox){
        .key = {(uint32_t)k, (uint32_t)(k >> 32)},
        .counter = {(uint32_t)n[0], (uint32_t)(n[0] >> 32), (uint32_t)n[1], (uint32_t)(n[1] >> 32)}};
    return true;
}

braid_code bd_shape_ctx_random_key(bd_shape_ctx *c, int i, braid_status *st)
{
    const braid_shape *key = &c->inputs[i];
    braid_code code = bd_shape_ctx_rank(c, i, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, i + 1, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, i + 2, 0, st);
    if (code || key->rank < 0 || key->dims[0] < 0 || key->dims[0] == 1) return code;
    return bd_shape_ctx_fail(c, st, "Dimension must be 1 but is %lld", (long long)key->dims[0]);
}

static braid_code seed_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = bd_shape1(1);
    c->outputs[1] = bd_shape1(2);
    if (c->output_count > 2) c->outputs[2] = BD_SCALAR;
    return bd_shape_ctx_random_seed(c, 0, st);
}

static void put_algorithm(bd_op_ctx *c, int output)
{
    braid_tensor *y = bd_output(c, output, BRAID_INT32, &BD_SCALAR);
    if (y) *bd_tensor_i32(y) = ALGORITHM_PHILOX;
}

static void seed_run(bd_op_ctx *c)
{
    bd_philox stream;
    if (!bd_random_stateless_stream(c, 0, &stream)) return;
    braid_tensor *key = bd_output(c, 0, BRAID_UINT64, &c->node->output_shapes[0]),
                 *counter = bd_output(c, 1, BRAID_UINT64, &c->node->output_shapes[1]);
    if (!key || !counter) return;
    *(uint64_t *)key->data = stream.key[0] | (uint64_t)stream.key[1] << 32;
    for (int i = 0; i < 2; i++)
        ((uint64_t *)counter->data)[i] = stream.counter[2 * i] | (uint64_t)stream.counter[2 * i + 1] << 32;
    if (c->output_count > 2) put_algorithm(c, 2);
}

BD_OP(StatelessRandomGetKeyCounter) = {
    .signature = "(seed: Tseed) -> (key: uint64, counter: uint64)",
    .attrs = "Tseed:type{int32,int64}=int64",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = seed_shape,
    .kernels = BD_KERNELS({.run = seed_run}),
    .doc = "The Philox stream of a seed of two numbers: its key and its counter.",
};

BD_OP(StatelessRandomGetKeyCounterAlg) = {
    .signature = "(seed: Tseed) -> (key: uint64, counter: uint64, alg: int32)",
    .attrs = "Tseed:type{int32,int64}=int64",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = seed_shape,
    .kernels = BD_KERNELS({.run = seed_run}),
    .doc = "StatelessRandomGetKeyCounter and StatelessRandomGetAlg in one.",
};

static void algorithm_run(bd_op_ctx *c)
{
    put_algorithm(c, 0);
}

BD_OP(StatelessRandomGetAlg) = {
    .signature = "() -> (alg: int32)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = algorithm_run}),
    .doc = "The id of the generator algorithm that the CPU uses: 1, Philox.",
};

// ---- Numbers ----

static braid_code keyed_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_random_key(c, 1, st);
    return code ? code : bd_shape_ctx_from_input(c, 0, st);
}

static braid_tensor *keyed_output(bd_op_ctx *c, bd_random_fill *fill)
{
    braid_shape shape;
    if (!bd_random_keyed_stream(c, 1, &fill->start) || !bd_input_shape(c, 0, "shape", &shape)) return NULL;
    return bd_output(c, 0, c->node->output_types[0], &shape);
}

static void keyed_floats(bd_op_ctx *c, const bd_random_kinds *kinds)
{
    bd_random_fill fill = {0};
    braid_tensor *y = keyed_output(c, &fill);
    if (y) bd_random_fill_output(c, y, bd_random_kind_of(kinds, y->dtype), fill);
}

static void uniform_run(bd_op_ctx *c)
{
    keyed_floats(c, &bd_random_uniform);
}

static void normal_run(bd_op_ctx *c)
{
    keyed_floats(c, &bd_random_normal);
}

static void truncated_run(bd_op_ctx *c)
{
    keyed_floats(c, &bd_random_truncated);
}

#define KEYED "shape: Tshape, key: uint64, counter: uint64, alg: int32"
#define KEYED_FLOATS(TYPES, FLAGS, RUN, DOC)                                                                 \
    {                                                                                                        \
        .signature = "(" KEYED ") -> (output: dtype)",                                                       \
        .attrs = "dtype:type{bfloat16,double,float,half}=float; Tshape:type{int32,int64}=int32",             \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = keyed_shape,                                             \
        .kernels = BD_KERNELS({.types = (TYPES), .flags = BD_KERNEL_EXPENSIVE | (FLAGS), .run = (RUN)}),     \
        .doc = (DOC)                                                                                         \
    }

BD_OP(StatelessRandomUniformV2) =
    KEYED_FLOATS("dtype=float|double|half|bfloat16", 0, uniform_run,
                 "Numbers uniform in [0, 1), from the stream given by key and counter.");
BD_OP(StatelessRandomNormalV2) =
    KEYED_FLOATS("dtype=float|double", BD_KERNEL_WIDENS, normal_run,
                 "Normal numbers of mean 0 and deviation 1, from the stream given by key and counter.");
BD_OP(StatelessTruncatedNormalV2) =
    KEYED_FLOATS("dtype=float|double", BD_KERNEL_WIDENS, truncated_run,
                 "Normal numbers of an absolute value below 2, from the stream given by key and counter.");

static braid_code keyed_int_shape(bd_shape_ctx *c, braid_status *st)
{
    static const char *const names[] = {"minval", "maxval"};
    for (int i = 0; i < 2; i++) {
        char text[BD_SHAPE_STR_MAX];
        if (c->inputs[4 + i].rank > 0)
            return bd_shape_ctx_fail(c, st, "%s must be a scalar; got a tensor of shape %s", names[i],
                                     bd_shape_str(&c->inputs[4 + i], text));
    }
    return keyed_shape(c, st);
}

static bool is_short(const braid_tensor *y)
{
    return braid_dtype_size(y->dtype) == sizeof(int32_t);
}

static void keyed_int_run(bd_op_ctx *c)
{
    bd_random_fill fill = {0};
    braid_tensor *y = keyed_output(c, &fill);
    if (!y || bd_tensor_count(y) == 0 || !bd_random_bounds(c, 4, &fill)) return;
    bd_random_fill_output(c, y, is_short(y) ? &bd_random_int_i32 : &bd_random_int_i64, fill);
}

static void keyed_full_run(bd_op_ctx *c)
{
    bd_random_fill fill = {0};
    braid_tensor *y = keyed_output(c, &fill);
    if (y) bd_random_fill_output(c, y, is_short(y) ? &bd_random_full_32 : &bd_random_full_64, fill);
}

#define INTEGERS "dtype:type{int32,int64,uint32,uint64}"
#define INTEGER_KERNELS(RUN)                                                                                 \
    BD_KERNELS({.types = "dtype=int32|int64|uint32|uint64", .flags = BD_KERNEL_EXPENSIVE, .run = (RUN)})

BD_OP(StatelessRandomUniformIntV2) = {
    .signature = "(" KEYED ", minval: dtype, maxval: dtype) -> (output: dtype)",
    .attrs = INTEGERS "; Tshape:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = keyed_int_shape,
    .kernels = INTEGER_KERNELS(keyed_int_run),
    .doc = "Integers uniform in [minval, maxval), from the stream given by key and counter.",
};

BD_OP(StatelessRandomUniformFullIntV2) = {
    .signature = "(" KEYED ") -> (output: dtype)",
    .attrs = INTEGERS "=uint64; Tshape:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = keyed_shape,
    .kernels = INTEGER_KERNELS(keyed_full_run),
    .doc = "Integers uniform over all values of the type, from the stream given by key and counter.",
};
