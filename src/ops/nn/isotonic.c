// IsotonicRegression: for each row, the non-increasing numbers with the least squared distance, by pooling
// adjacent violators (J. B. Kruskal, "Nonmetric multidimensional scaling: a numerical method", 1964).
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"

// Consecutive elements that share a value, their mean; the pool ends where the next one begins.
typedef struct pool_of {
    double sum, mean;
    int64_t begin, count;
} pool_of;

static double number_at(const braid_tensor *x, int64_t i)
{
    switch (x->dtype) {
    case BRAID_FLOAT: return (double)bd_tensor_f32(x)[i];
    case BRAID_DOUBLE: return bd_tensor_f64(x)[i];
    default: return (double)bd_tensor_index(x, i);
    }
}

// Pools the `n` elements from `at` on; returns the number of pools.
static int64_t pool_row(const braid_tensor *x, int64_t at, int64_t n, pool_of *pools)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        double value = number_at(x, at + i);
        pools[count++] = (pool_of){.sum = value, .mean = value, .begin = i, .count = 1};
        for (; count > 1 && pools[count - 1].mean > pools[count - 2].mean; count--) {
            pool_of *into = &pools[count - 2];
            into->sum += pools[count - 1].sum;
            into->count += pools[count - 1].count;
            into->mean = into->sum / (double)into->count;
        }
    }
    return count;
}

static void put_pool(const pool_of *p, int32_t number, int64_t at, const braid_tensor *y,
                     const braid_tensor *segments)
{
    for (int64_t i = at + p->begin; i < at + p->begin + p->count && !bd_interrupted_at(i); i++) {
        if (y->dtype == BRAID_FLOAT) {
            bd_tensor_f32(y)[i] = (float)p->mean;
        } else {
            bd_tensor_f64(y)[i] = p->mean;
        }
        bd_tensor_i32(segments)[i] = number;
    }
}

static void isotonic_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t n = x->shape.rank > 0 ? x->shape.dims[x->shape.rank - 1] : 1;
    if (n > INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tensor too large");
        return;
    }
    const braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &x->shape),
                       *segments = y ? bd_output(c, 1, BRAID_INT32, &x->shape) : NULL;
    if (!segments || bd_tensor_count(x) == 0) return;
    pool_of *pools = bd_try_malloc((size_t)n * sizeof *pools);
    if (!pools) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when pooling rows of %lld", (long long)n);
    for (int64_t at = 0; pools && at < bd_tensor_count(x) && !bd_interrupted(); at += n) {
        int64_t count = pool_row(x, at, n, pools);
        for (int64_t p = 0; p < count && !bd_interrupted_at(p); p++)
            put_pool(&pools[p], (int32_t)p, at, y, segments);
    }
    bd_free(pools);
}

static braid_code isotonic_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = c->outputs[1] = c->inputs[0];
    return BRAID_OK;
}

// Each element gets the mean gradient of its pool. Pools have unique numbers over all rows: row * row length
// + pool of the row.
static void isotonic_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out grad = c->output_grads[0], segments = braid_output(c->op, 1);
    braid_out size = bd_grad_size(g, segments), flat_grad = bd_grad_flatten(g, grad);
    braid_out length =
        bd_grad_slice(g, bd_b_shape(g, "Shape", segments),
                      &(bd_grad_index){.count = 1, .begin = {-1}, .end_mask = 1, .shrink_axis_mask = 1});
    braid_out places = bd_grad_range(g, size, 1);
    braid_out first = bd_b2(g, "Mul", "mul", bd_b2(g, "FloorDiv", "floordiv", places, length), length);
    braid_out ids = bd_b2(g, "AddV2", "add", bd_grad_flatten(g, segments), first);
    braid_out sums = bd_b3(g, "UnsortedSegmentSum", NULL, flat_grad, ids, size);
    braid_out counts =
        bd_b3(g, "UnsortedSegmentSum", NULL, bd_b1(g, "OnesLike", "ones_like", flat_grad), ids, size);
    braid_out means = bd_b2(g, "RealDiv", "truediv", bd_b2(g, "Gather", NULL, sums, ids),
                            bd_b2(g, "Gather", NULL, counts, ids));
    c->input_grads[0] = bd_grad_reshape_like(g, means, grad);
}

BD_OP(IsotonicRegression) = {
    .signature = "(input: T) -> (output: output_dtype, segments: int32)",
    .attrs = "T:type{realnumber}; output_dtype:type{bfloat16,double,float,half}=float",
    .shape = isotonic_shape,
    .gradient = isotonic_gradient,
    .kernels = BD_KERNELS({.types = "T=float|double|int32|int64; output_dtype=float|double",
                           .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,
                           .run = isotonic_run}),
    .doc =
        "For each row the non-increasing numbers with the least squared distance to it, and the pool index of each element.",
};
