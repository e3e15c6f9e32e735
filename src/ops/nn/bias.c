// BiasAdd, BiasAddV1, BiasAddGrad: add a vector along the feature dimension of a tensor.
#include "graph/shape_fn.h"
#include "kernels/broadcast.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"

#include <string.h>

// The feature dimension is the last one, or dimension 1 with data_format NCHW (BiasAdd and BiasAddGrad).
static bool is_nchw(const braid_op *node)
{
    const bd_attr *format = bd_node_attr(node, "data_format");
    return format && strcmp(bd_node_attr_string(node, "data_format"), "NCHW") == 0;
}

static int feature_dimension(bool nchw, int rank)
{
    return nchw ? 1 : rank - 1;
}

static braid_code bias_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *value = &c->inputs[0], *bias = &c->inputs[1];
    bool nchw = is_nchw(c->node);
    int rank_min = nchw ? 3 : 2;
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code) return code;
    if (value->rank >= 0 && value->rank < rank_min)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank %d but is rank %d", rank_min,
                                 value->rank);
    c->outputs[0] = *value;
    if (value->rank < 0 || bias->rank < 0) return BRAID_OK;
    int64_t *features = &c->outputs[0].dims[feature_dimension(nchw, value->rank)];
    if (*features >= 0 && bias->dims[0] >= 0 && *features != bias->dims[0])
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                 (long long)*features, (long long)bias->dims[0]);
    if (*features < 0) *features = bias->dims[0];
    return BRAID_OK;
}

static braid_code bias_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *in = &c->inputs[0];
    bool nchw = is_nchw(c->node);
    int rank_min = nchw ? 3 : 2;
    if (in->rank >= 0 && in->rank < rank_min)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank %d but is rank %d", rank_min, in->rank);
    c->outputs[0] = bd_shape1(in->rank < 0 ? -1 : in->dims[feature_dimension(nchw, in->rank)]);
    return BRAID_OK;
}

// A tensor as [outer, features, inner].
typedef struct bias_view {
    int64_t outer, features, inner;
} bias_view;

static bool view_of(bd_op_ctx *c, const braid_shape *shape, bias_view *v)
{
    bool nchw = is_nchw(c->node);
    if (shape->rank < (nchw ? 3 : 2)) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input tensor must be at least %dD: %s", nchw ? 3 : 2,
                   bd_shape_str(shape, text));
        return false;
    }
    int d = feature_dimension(nchw, shape->rank);
    v->outer = bd_shape_count_range(shape, 0, d);
    v->features = shape->dims[d];
    v->inner = bd_shape_count_range(shape, d + 1, shape->rank);
    return true;
}

// ---- BiasAdd ----

static void bias_add_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *bias = bd_input(c, 1);
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bias_view v;
    if (!view_of(c, &x->shape, &v)) return;
    if (bias->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Biases must be 1D: %s", bd_shape_str(&bias->shape, a));
        return;
    }
    if (bias->shape.dims[0] != v.features) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Must provide as many biases as the %s dimension of the input tensor: %s vs. %s",
                   v.inner == 1 ? "last" : "channel", bd_shape_str(&bias->shape, a),
                   bd_shape_str(&x->shape, b));
        return;
    }
    braid_tensor *y = bd_output_forward(c, 0, 0, x->dtype, &x->shape);
    if (!y) return;
    bd_binary_fn add = bd_binary_loop(BD_ADD, bd_number_of(x->dtype));
    size_t size = braid_dtype_size(x->dtype);
    bd_broadcast walk;
    bd_broadcast_init(&walk, (int64_t[]){v.outer, v.features, v.inner}, 3, (int64_t[]){v.features, 1}, 2);
    bd_broadcast_run(&walk, add, x->data, bias->data, size, y->data, size);
}

static void bias_add_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = c->output_grads[0];
    braid_op_desc *d = braid_op_begin(c->graph, "BiasAddGrad", NULL);
    braid_op_input(d, c->output_grads[0]);
    braid_op_attr_string(d, "data_format", bd_node_attr_string(c->op, "data_format"));
    c->input_grads[1] = braid_op_end_out(d);
}

BD_OP(BiasAdd) = {
    .signature = "(value: T, bias: T) -> (output: T)",
    .attrs = "T:type{number}; data_format:string{NHWC,NCHW}='NHWC'",
    .shape = bias_shape,
    .gradient = bias_add_gradient,
    .kernels =
        BD_KERNELS({.types = BD_NUMBERS BD_AND_COMPLEX, .flags = BD_KERNEL_WIDENS, .run = bias_add_run}),
    .doc = "Adds a vector along the last dimension of value (NCHW: along dimension 1).",
};

static void bias_add_v1_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out grad = c->output_grads[0];
    braid_out limit = bd_grad_number_right(g, "Sub", "sub", bd_grad_rank(g, grad), 1);
    c->input_grads[0] = grad;
    c->input_grads[1] = bd_b2(g, "Sum", NULL, grad, bd_grad_range(g, limit, 1));
}

BD_OP(BiasAddV1) = {
    .signature = "(value: T, bias: T) -> (output: T)",
    .attrs = "T:type{number}",
    .shape = bias_shape,
    .gradient = bias_add_v1_gradient,
    .kernels =
        BD_KERNELS({.types = BD_NUMBERS BD_AND_COMPLEX, .flags = BD_KERNEL_WIDENS, .run = bias_add_run}),
    .doc = "Adds a vector along the last dimension of value.",
};

// ---- BiasAddGrad ----

// Sums [outer, features, inner] to [features]: first along inner, then over the rows.
static bool sum_features(const braid_tensor *x, const bias_view *v, void *out)
{
    bd_reduce_fn sum = bd_reduce_loop(BD_REDUCE_SUM, bd_number_of(x->dtype));
    if (v->inner == 1) {
        sum(x->data, out, 1, v->outer, v->features);
        return true;
    }
    braid_tensor rows;
    braid_shape shape = bd_shape2(v->outer, v->features);
    if (!bd_tensor_alloc(&rows, x->dtype, &shape)) return false;
    sum(x->data, rows.data, v->outer * v->features, v->inner, 1);
    sum(rows.data, out, 1, v->outer, v->features);
    bd_tensor_fini(&rows);
    return true;
}

static void bias_grad_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    bias_view v;
    if (!view_of(c, &x->shape, &v)) return;
    braid_shape shape = bd_shape1(v.features);
    braid_tensor *out = bd_output(c, 0, x->dtype, &shape);
    if (out && !sum_features(x, &v, out->data))
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when summing gradients");
}

static braid_out ones_like(braid_graph *g, braid_out x)
{
    return bd_b1(g, "OnesLike", "ones_like", x);
}

// Repeats the gradient for every position: tile(reshape(grad, [1, .., features, ..]), [other dimensions, 1
// for features])
static void bias_grad_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    bool nchw = is_nchw(c->op);
    braid_out grad = c->output_grads[0], shape = bd_b_shape(g, "Shape", c->op->inputs[0]);
    braid_out features = bd_b_shape(g, "Shape", grad);
    braid_out before =
        bd_grad_slice(g, shape, &(bd_grad_index){.count = 1, .end = {nchw ? 1 : -1}, .begin_mask = 1});
    braid_out after = before;
    if (nchw) after = bd_grad_slice(g, shape, &(bd_grad_index){.count = 1, .begin = {2}, .end_mask = 1});
    braid_out parts[3] = {ones_like(g, before), features, nchw ? ones_like(g, after) : before};
    braid_out expanded = bd_b2(g, "Reshape", NULL, grad, bd_grad_concat(g, parts, nchw ? 3 : 2, 0));
    braid_out one = bd_b_const_i32_vector(g, "concat_1/values_1", (int32_t[]){1}, 1);
    braid_out multiples = bd_grad_concat(g, (braid_out[]){before, one, after}, nchw ? 3 : 2, 0);
    c->input_grads[0] = bd_b2(g, "Tile", NULL, expanded, multiples);
}

BD_OP(BiasAddGrad) = {
    .signature = "(out_backprop: T) -> (output: T)",
    .attrs = "T:type{number}; data_format:string{NHWC,NCHW}='NHWC'",
    .shape = bias_grad_shape,
    .gradient = bias_grad_gradient,
    .kernels =
        BD_KERNELS({.types = BD_NUMBERS BD_AND_COMPLEX, .flags = BD_KERNEL_WIDENS, .run = bias_grad_run}),
    .doc = "Sums over all dimensions but the features: the gradient of BiasAdd's bias.",
};
