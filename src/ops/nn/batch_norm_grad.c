// Gradient functions of batch normalization.
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"
#include "ops/nn/batch_norm.h"

#include <string.h>

// Moves the channels of images or volumes to the end, or (`back`) to dimension 1.
static braid_out transposed(braid_graph *g, braid_out x, int rank, bool back)
{
    int32_t order[5] = {0};
    for (int d = 1; d < rank; d++)
        order[d] = back ? (d == 1 ? rank - 1 : d - 1) : (d == rank - 1 ? 1 : d + 1);
    const char *scope = braid_push_name_scope(g, "transpose");
    braid_out out = bd_b2(g, "Transpose", scope, x, bd_b_const_i32_vector(g, "perm", order, rank));
    braid_pop_name_scope(g);
    return out;
}

// FusedBatchNormGrad in the version of the differentiated op. If data_format is an attr it is set to NHWC.
static braid_op *grad_op(const bd_grad_ctx *c, braid_out grad, braid_out x, braid_out mean,
                         braid_out variance, const char *format)
{
    const braid_op *op = c->op;
    bool is_v3 = op->output_count == 6;
    braid_op_desc *d = braid_op_begin(c->graph,
                                      is_v3                               ? "FusedBatchNormGradV3"
                                      : strstr(op->op_type, "V2") != NULL ? "FusedBatchNormGradV2"
                                                                          : "FusedBatchNormGrad",
                                      NULL);
    braid_out inputs[] = {grad, x, op->inputs[1], mean, variance};
    for (int i = 0; i < 5; i++)
        braid_op_input(d, inputs[i]);
    if (is_v3) braid_op_input(d, braid_output(c->op, 5));
    braid_op_attr_float(d, "epsilon", bd_node_attr_float(op, "epsilon"));
    braid_op_attr_string(d, "data_format", format);
    braid_op_attr_bool(d, "is_training", bd_node_attr_bool(op, "is_training"));
    return braid_op_end_out(d).op;
}

void bd_fused_batch_norm_gradient(bd_grad_ctx *c)
{
    braid_out x = c->op->inputs[0], grad = c->output_grads[0];
    bool is_training = bd_node_attr_bool(c->op, "is_training"), nchw = bd_batch_norm_is_nchw(c->op);
    int rank = bd_batch_norm_rank(c->op);
    braid_op *back;
    if (is_training) {
        back = grad_op(c, grad, x, braid_output(c->op, 3), braid_output(c->op, 4),
                       bd_node_attr_string(c->op, "data_format"));
    } else {
        if (nchw) {
            x = transposed(c->graph, x, rank, false);
            grad = transposed(c->graph, grad, rank, false);
        }
        back = grad_op(c, grad, x, c->op->inputs[3], c->op->inputs[4], rank == 5 ? "NDHWC" : "NHWC");
    }
    if (!back) return; // the graph has an error
    for (int i = 0; i < (is_training ? 5 : 3); i++)
        c->input_grads[i] = braid_output(back, i);
    if (!is_training && nchw) c->input_grads[0] = transposed(c->graph, c->input_grads[0], rank, true);
}

// ---- The gradient of the gradient: the same computed step by step, and that differentiated ----

// The inputs of FusedBatchNormGrad, in shapes that broadcast.
typedef struct parts {
    braid_graph *g;
    braid_out dy, x, scale, mean, variance;
    float epsilon;
    bool is_nchw;
    int rank;
} parts;

// Reduces along all axes but the channels.
static braid_out reduce(const parts *p, const char *op, braid_out x, bool keep)
{
    const int32_t last[] = {0, 1, 2, 3}, second[] = {0, 2, 3, 4};
    braid_out axes = bd_b_const_i32_vector(p->g, NULL, p->is_nchw ? second : last, p->rank - 1);
    braid_op_desc *d = braid_op_begin(p->g, op, NULL);
    braid_op_input(d, x);
    braid_op_input(d, axes);
    braid_op_attr_bool(d, "keep_dims", keep);
    return braid_op_end_out(d);
}

// Reshapes a vector of channels to images of one element for each channel.
static braid_out as_channels(const parts *p, braid_out vector)
{
    if (!p->is_nchw) return vector;
    return bd_b2(p->g, "Reshape", NULL, vector,
                 bd_b_const_i32_vector(p->g, NULL, (int32_t[]){1, -1, 1, 1, 1}, p->rank));
}

static braid_out rsqrt_of(const parts *p, braid_out variance)
{
    return bd_b1(p->g, "Rsqrt", NULL, bd_grad_number_right(p->g, "Add", "add", variance, (double)p->epsilon));
}

// The three gradients in training, where the statistics depend on x.
static void training_steps(const parts *p, braid_out out[3])
{
    braid_graph *g = p->g;
    braid_out mean = reduce(p, "Mean", p->x, p->is_nchw);
    braid_out square = bd_b2(g, "SquaredDifference", NULL, p->x, bd_b1(g, "StopGradient", NULL, mean));
    braid_out variance = reduce(p, "Mean", square, p->is_nchw);
    braid_out dy_offset = bd_b2(g, "Sub", "sub", p->dy, reduce(p, "Mean", p->dy, p->is_nchw));
    braid_out x_offset = bd_b2(g, "Sub", "sub", p->x, mean);
    braid_out product = bd_grad_mul(g, p->dy, x_offset), inverse = rsqrt_of(p, variance);
    braid_out spread = bd_grad_number_right(g, "Add", "add", variance, (double)p->epsilon);
    braid_out slope =
        bd_grad_mul(g, bd_b1(g, "Reciprocal", NULL, spread), reduce(p, "Mean", product, p->is_nchw));
    out[0] = bd_grad_mul(g, bd_grad_mul(g, as_channels(p, p->scale), inverse),
                         bd_b2(g, "Sub", "sub", dy_offset, bd_grad_mul(g, slope, x_offset)));
    out[1] = bd_grad_mul(g, inverse, reduce(p, "Sum", product, p->is_nchw));
    out[2] = reduce(p, "Sum", p->dy, false);
}

static void inference_steps(const parts *p, braid_out out[3])
{
    braid_graph *g = p->g;
    braid_out inverse = rsqrt_of(p, as_channels(p, p->variance));
    braid_out x_offset = bd_b2(g, "Sub", "sub", p->x, as_channels(p, p->mean));
    out[0] = bd_grad_mul(g, bd_grad_mul(g, p->dy, as_channels(p, p->scale)), inverse);
    out[1] = reduce(p, "Sum", bd_grad_mul(g, bd_grad_mul(g, p->dy, x_offset), inverse), p->is_nchw);
    out[2] = reduce(p, "Sum", p->dy, false);
}

void bd_fused_batch_norm_grad_gradient(bd_grad_ctx *c)
{
    const braid_op *op = c->op;
    // Identity copies of the inputs cut dependencies: the gradient of these steps must not follow dy back to
    // x.
    parts p = {.g = c->graph,
               .dy = bd_b1(c->graph, "Identity", NULL, op->inputs[0]),
               .x = bd_b1(c->graph, "Identity", NULL, op->inputs[1]),
               .scale = bd_b1(c->graph, "Identity", NULL, op->inputs[2]),
               .mean = op->inputs[3],
               .variance = op->inputs[4],
               .epsilon = bd_node_attr_float(op, "epsilon"),
               .is_nchw = bd_batch_norm_is_nchw(op),
               .rank = bd_batch_norm_rank(op)};
    braid_out grads[3];
    if (bd_node_attr_bool(op, "is_training")) {
        training_steps(&p, grads);
    } else {
        inference_steps(&p, grads);
    }
    if (p.is_nchw) // reshapes from [1, channels, 1, 1]
        grads[1] =
            bd_b2(p.g, "Reshape", NULL, grads[1], bd_b_const_i32_vector(p.g, NULL, (int32_t[]){-1}, 1));
    braid_out wanted[] = {p.dy, p.x, p.scale};
    braid_gradients(p.g, grads, 3, wanted, 3, c->output_grads, c->input_grads);
}
