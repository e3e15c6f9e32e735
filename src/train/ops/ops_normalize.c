// Normalization: means and variances, and values that are normalized by them.
#include "train/common/build.h"

#include <braid/ops.h>

static braid_out mean_over(braid_graph *g, const char *name, braid_out x, const int32_t *axes, int count)
{
    const char *scope = braid_push_name_scope(g, name);
    const braid_out indices = braid_const_int32s(g, "reduction_indices", axes, count);
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, "Mean", scope);
    braid_op_input(d, x);
    braid_op_input(d, indices);
    braid_op_attr_bool(d, "keep_dims", true);
    return braid_op_end_out(d);
}

void braid_moments(braid_graph *g, braid_out x, const int32_t *axes, int count, bool keep_dims,
                   braid_out *mean, braid_out *variance)
{
    *mean = *variance = BRAID_NONE;
    if (!train_check_dims(g, "moments", x, axes, count)) return;
    (void)braid_push_name_scope(g, "moments");
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(x));
    const braid_out y = dtype == BRAID_HALF ? braid_cast(g, x, BRAID_FLOAT) : x;
    *mean = mean_over(g, "mean", y, axes, count);
    const braid_out center = train_node1(g, "StopGradient", NULL, *mean);
    const braid_out squares = train_node2(g, "SquaredDifference", NULL, y, center);
    *variance = mean_over(g, "variance", squares, axes, count);
    if (!keep_dims && count) {
        *mean = braid_squeeze(g, *mean, axes, count);
        *variance = braid_squeeze(g, *variance, axes, count);
    }
    if (dtype == BRAID_HALF) {
        *mean = braid_cast(g, *mean, BRAID_HALF);
        *variance = braid_cast(g, *variance, BRAID_HALF);
    }
    braid_pop_name_scope(g);
}

// x f + (offset - mean f) with f = scale / sqrt(variance + epsilon).
braid_out braid_batch_normalization(braid_graph *g, braid_out x, braid_out mean, braid_out variance,
                                    braid_out offset, braid_out scale, double epsilon)
{
    if (!x.op || !mean.op || !variance.op) return BRAID_NONE;
    (void)braid_push_name_scope(g, "batchnorm");
    braid_out factor = train_node1(g, "Rsqrt", NULL, train_op_number(g, "Add", "add", variance, epsilon));
    if (scale.op) factor = braid_mul(g, factor, scale);
    const braid_out scaled = braid_mul(g, x, factor);
    const braid_out shift = braid_mul(g, mean, factor);
    const braid_out out =
        offset.op ? braid_add(g, scaled, braid_sub(g, offset, shift)) : braid_sub(g, scaled, shift);
    braid_pop_name_scope(g);
    return out;
}

braid_out braid_l2_normalize(braid_graph *g, braid_out x, const int32_t *axes, int count, double epsilon)
{
    if (!train_check_dims(g, "l2_normalize", x, axes, count)) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "l2_normalize");
    const braid_out squares = braid_reduce(g, "Sum", braid_square(g, x), axes, count, true);
    const braid_out inverse = braid_rsqrt(g, train_op_number(g, "Maximum", "Maximum", squares, epsilon));
    const braid_out out = train_node2(g, "Mul", scope, x, inverse);
    braid_pop_name_scope(g);
    return out;
}

braid_out braid_local_response_normalization(braid_graph *g, braid_out x, int depth_radius, double bias,
                                             double alpha, double beta)
{
    braid_op_desc *d = braid_op_begin(g, "LRN", NULL);
    braid_op_input(d, x);
    braid_op_attr_int(d, "depth_radius", depth_radius);
    braid_op_attr_float(d, "bias", (float)bias);
    braid_op_attr_float(d, "alpha", (float)alpha);
    braid_op_attr_float(d, "beta", (float)beta);
    return braid_op_end_out(d);
}
