// LowerBound and UpperBound: insertion points in sorted rows. CompareAndBitpack: comparisons, eight to a
// byte.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

// ---- LowerBound, UpperBound ----

static braid_code bound_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 2, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 2, st);
    c->outputs[0] = c->inputs[1];
    return code;
}

// The number of elements of a sorted row that are below `value` (for the upper bound: not above it).
#define FIND(NAME, T)                                                                                        \
    static int64_t NAME(const void *sorted, int64_t n, const void *values, int64_t at, bool is_upper)        \
    {                                                                                                        \
        const T *row = sorted, value = ((const T *)values)[at];                                              \
        int64_t low = 0, high = n;                                                                           \
        while (low < high) {                                                                                 \
            int64_t middle = low + (high - low) / 2;                                                         \
            bool goes_behind = is_upper ? !(value < row[middle]) : row[middle] < value;                      \
            low = goes_behind ? middle + 1 : low;                                                            \
            high = goes_behind ? high : middle;                                                              \
        }                                                                                                    \
        return low;                                                                                          \
    }
FIND(find_f32, float)
FIND(find_f64, double)
FIND(find_i32, int32_t)
FIND(find_i64, int64_t)

typedef int64_t (*find_fn)(const void *sorted, int64_t n, const void *values, int64_t at, bool is_upper);

static find_fn find_of(braid_dtype dtype)
{
    switch (dtype) {
    case BRAID_FLOAT: return find_f32;
    case BRAID_DOUBLE: return find_f64;
    case BRAID_INT32: return find_i32;
    default: return find_i64;
    }
}

static void run_bound(bd_op_ctx *c, bool is_upper)
{
    const braid_tensor *sorted = bd_input(c, 0), *values = bd_input(c, 1);
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (sorted->shape.rank != 2 || values->shape.rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s argument must be a matrix. Got %s and %s",
                   sorted->shape.rank != 2 ? "sorted input" : "values", bd_shape_str(&sorted->shape, a),
                   bd_shape_str(&values->shape, b));
        return;
    }
    if (sorted->shape.dims[0] != values->shape.dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Leading dim_size of both tensors must match. Got %s and %s",
                   bd_shape_str(&sorted->shape, a), bd_shape_str(&values->shape, b));
        return;
    }
    braid_dtype out = c->node->output_types[0];
    int64_t n = sorted->shape.dims[1], per_row = values->shape.dims[1],
            size = (int64_t)braid_dtype_size(sorted->dtype);
    if (out == BRAID_INT32 && n > INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "trailing dim_size must less than INT_MAX for int32 output type, was %lld", (long long)n);
        return;
    }
    braid_tensor *y = bd_output(c, 0, out, &values->shape);
    find_fn find = find_of(sorted->dtype);
    for (int64_t i = 0; y && i < bd_tensor_count(values) && !bd_interrupted_at(i); i++) {
        int64_t place =
            find((const char *)sorted->data + i / per_row * n * size, n, values->data, i, is_upper);
        if (out == BRAID_INT64) {
            bd_tensor_i64(y)[i] = place;
        } else {
            bd_tensor_i32(y)[i] = (int32_t)place;
        }
    }
}

static void lower_bound_run(bd_op_ctx *c)
{
    run_bound(c, false);
}

static void upper_bound_run(bd_op_ctx *c)
{
    run_bound(c, true);
}

#define BOUND_KERNELS(RUN)                                                                                   \
    BD_KERNELS({.types = "T=float|double|int32|int64", .flags = BD_KERNEL_WIDENS, .run = (RUN)})

BD_OP(LowerBound) = {
    .signature = "(sorted_inputs: T, values: T) -> (output: out_type)",
    .attrs = "T:type; out_type:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bound_shape,
    .kernels = BOUND_KERNELS(lower_bound_run),
    .doc = "For each value the first index at which it can be inserted into its sorted row.",
};

BD_OP(UpperBound) = {
    .signature = "(sorted_inputs: T, values: T) -> (output: out_type)",
    .attrs = "T:type; out_type:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bound_shape,
    .kernels = BOUND_KERNELS(upper_bound_run),
    .doc = "For each value the last index at which it can be inserted into its sorted row.",
};

// ---- CompareAndBitpack ----

static braid_code bitpack_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 0, st);
    if (code || c->inputs[0].rank < 0) return code;
    if (c->inputs[0].rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    c->outputs[0] = c->inputs[0];
    int64_t *last = &c->outputs[0].dims[c->outputs[0].rank - 1];
    if (*last < 0) return BRAID_OK;
    if (*last % 8)
        return bd_shape_ctx_fail(c, st, "Dimension size must be evenly divisible by 8 but is %lld",
                                 (long long)*last);
    *last /= 8;
    return BRAID_OK;
}

// The first element is the highest bit.
#define PACK(NAME, T, IS_SET)                                                                                \
    static void NAME(const void *xs, const void *threshold, uint8_t *y, int64_t bytes)                       \
    {                                                                                                        \
        const T *x = xs, limit = *(const T *)threshold;                                                      \
        (void)limit;                                                                                         \
        for (int64_t i = 0; i < bytes && !bd_interrupted_at(i); i++, x += 8) {                               \
            unsigned byte = 0;                                                                               \
            for (int b = 0; b < 8; b++)                                                                      \
                byte = byte << 1 | (IS_SET);                                                                 \
            y[i] = (uint8_t)byte;                                                                            \
        }                                                                                                    \
    }
PACK(pack_bool, bool, x[b])
PACK(pack_f32, float, x[b] > limit)
PACK(pack_f64, double, x[b] > limit)
PACK(pack_i8, int8_t, x[b] > limit)
PACK(pack_i16, int16_t, x[b] > limit)
PACK(pack_i32, int32_t, x[b] > limit)
PACK(pack_i64, int64_t, x[b] > limit)

typedef void (*pack_fn)(const void *x, const void *threshold, uint8_t *y, int64_t bytes);

static const pack_fn packs[] = {
    [BRAID_BOOL] = pack_bool, [BRAID_FLOAT] = pack_f32, [BRAID_DOUBLE] = pack_f64, [BRAID_INT8] = pack_i8,
    [BRAID_INT16] = pack_i16, [BRAID_INT32] = pack_i32, [BRAID_INT64] = pack_i64,
};

static void bitpack_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *threshold = bd_input(c, 1);
    braid_shape shape = x->shape;
    char text[BD_SHAPE_STR_MAX];
    if (shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input should be at least a vector, but saw a scalar.");
    } else if (threshold->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "threshold should be a scalar, but saw shape: %s",
                   bd_shape_str(&threshold->shape, text));
    } else if (shape.dims[shape.rank - 1] % 8) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Inner dimension of input should be divisible by 8, but saw shape: %s",
                   bd_shape_str(&shape, text));
    } else {
        shape.dims[shape.rank - 1] /= 8;
        braid_tensor *y = bd_output(c, 0, BRAID_UINT8, &shape);
        if (y) packs[x->dtype](x->data, threshold->data, y->data, bd_tensor_count(y));
    }
}

BD_OP(CompareAndBitpack) = {
    .signature = "(input: T, threshold: T) -> (output: uint8)",
    .attrs = "T:type{bool,double,float,half,int16,int32,int64,int8}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bitpack_shape,
    .kernels = BD_KERNELS({.types = "T=bool|float|double|int8|int16|int32|int64",
                           .flags = BD_KERNEL_WIDENS,
                           .run = bitpack_run}),
    .doc =
        "Packs eight comparisons to a byte: whether each element is above the threshold (of bool: whether it is true).",
};
