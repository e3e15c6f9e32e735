// QuantizedMaxPool and QuantizedAvgPool: pooling of quantized images, whose range stays. Means are rounded
// down.
#include "ops/common/quantized.h"
#include "ops/nn/pool.h"

static braid_code pool_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    if (!code) code = bd_pool_shape_of(c, &w, st);
    return code ? code : bd_quant_shape_ranges(c, 1, 3, st);
}

static braid_code pool_create(const braid_op *node, void *state, braid_status *st)
{
    braid_code code = bd_window_read(node, state, st);
    return code ? code : bd_window_check_axes(node, state, st);
}

static void pool(bd_op_ctx *c, bd_pooling_kind kind)
{
    const braid_tensor *x = bd_input(c, 0);
    bd_quant_range range;
    bd_pooling_shape shape;
    braid_shape pooled;
    if (!bd_quant_input_range(c, 1, &range) || !bd_pool_sizes(c, c->state, &x->shape, &shape, &pooled))
        return;
    braid_tensor *y = bd_window_output(c, x->dtype, &pooled), in, out;
    if (!y || !bd_quant_output_range(c, 1, range) || bd_tensor_count(y) == 0 || !bd_quant_ints(c, x, 0, &in))
        return;
    if (bd_tensor_alloc(&out, BRAID_INT32, &pooled)) {
        bd_pooling_plain(BD_I32, kind, &shape, &(bd_pooling_data){.x = in.data, .y = out.data});
        for (int64_t i = 0; i < bd_tensor_count(y); i++)
            bd_quant_set(y, i, bd_tensor_i32(&out)[i]);
        bd_tensor_fini(&out);
    } else {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when pooling quantized images");
    }
    bd_tensor_fini(&in);
}

static void max_run(bd_op_ctx *c)
{
    pool(c, BD_POOLING_MAX);
}

static void mean_run(bd_op_ctx *c)
{
    pool(c, BD_POOLING_MEAN);
}

#define POOL_SIGNATURE                                                                                       \
    "(input: T, min_input: float, max_input: float) -> (output: T, min_output: float, max_output: float)"
#define POOL_ATTRS "T:type" BD_QUANT_TYPES "; ksize:list(int); strides:list(int); padding:string{SAME,VALID}"
#define POOL_KERNELS(RUN)                                                                                    \
    BD_KERNELS({.types = "T=quint8|qint8",                                                                   \
                .flags = BD_KERNEL_EXPENSIVE,                                                                \
                .state_size = sizeof(bd_window),                                                             \
                .create = pool_create,                                                                       \
                .run = (RUN)})

BD_OP(QuantizedMaxPool) = {
    .signature = POOL_SIGNATURE,
    .attrs = POOL_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = pool_shape,
    .kernels = POOL_KERNELS(max_run),
    .doc =
        "The greatest element of each window of ksize that slides over quantized images [batch, height, width, "
        "channels].",
};

BD_OP(QuantizedAvgPool) = {
    .signature = POOL_SIGNATURE,
    .attrs = POOL_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = pool_shape,
    .kernels = POOL_KERNELS(mean_run),
    .doc =
        "The mean of each window of ksize that slides over quantized images [batch, height, width, channels]; "
        "padding does not count.",
};
