// LeakyRelu and Selu: activation functions with a slope below 0.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/pairwise.h"

#include <math.h>

// ---- LeakyRelu ----

// z[i] = y[i] where x[i] > 0, else alpha * y[i]; z may be the memory of x or y.
#define LEAKY(NAME, T)                                                                                       \
    static void NAME(const T *x, const T *y, T alpha, T *z, int64_t n)                                       \
    {                                                                                                        \
        for (int64_t i = 0, end; (end = bd_block_end(i, n)) > i;) {                                          \
            BD_VECTORIZE                                                                                     \
            for (; i < end; i++)                                                                             \
                z[i] = x[i] > 0 ? y[i] : alpha * y[i];                                                       \
        }                                                                                                    \
    }
LEAKY(leaky_f32, float)
LEAKY(leaky_f64, double)

// Input `y_input` where input `x_input` is above 0, else input `y_input` times attr `alpha`.
static void run_leaky(bd_op_ctx *c, int x_input, int y_input)
{
    const braid_tensor *x = bd_input(c, x_input), *y = bd_input(c, y_input);
    float alpha = bd_node_attr_float(c->node, "alpha");
    braid_tensor *z = bd_output_forward(c, 0, y_input, x->dtype, &x->shape);
    if (!z) return;
    int64_t n = bd_tensor_count(x);
    if (x->dtype == BRAID_FLOAT) {
        leaky_f32(x->data, y->data, alpha, z->data, n);
    } else {
        leaky_f64(x->data, y->data, (double)alpha, z->data, n);
    }
}

static void leaky_run(bd_op_ctx *c)
{
    run_leaky(c, 0, 0);
}

static void leaky_grad_run(bd_op_ctx *c)
{
    if (bd_check_same_size(c)) run_leaky(c, 1, 0);
}

static braid_out leaky_grad(bd_grad_ctx *c, braid_out features)
{
    braid_op_desc *d = braid_op_begin(c->graph, "LeakyReluGrad", NULL);
    braid_op_input(d, c->output_grads[0]);
    braid_op_input(d, features);
    braid_op_attr_float(d, "alpha", bd_node_attr_float(c->op, "alpha"));
    return braid_op_end_out(d);
}

static void leaky_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = leaky_grad(c, c->op->inputs[0]);
}

static void leaky_grad_gradient(bd_grad_ctx *c)
{
    braid_out x = c->op->inputs[1];
    c->input_grads[0] = leaky_grad(c, x);
    c->input_grads[1] =
        bd_b_zeros(c->graph, bd_b_shape(c->graph, "Shape", x), bd_dtype_base(braid_out_dtype(x)));
}

BD_OP(LeakyRelu) = {
    .signature = "(features: T) -> (activations: T)",
    .attrs = "alpha:float=0.2; T:type{bfloat16,double,float,half}=float",
    .shape = bd_shape_fn_unchanged,
    .gradient = leaky_gradient,
    .kernels = BD_KERNELS(
        {.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS | BD_KERNEL_ROUNDS_ATTRS, .run = leaky_run}),
    .doc = "Computes x for each element above 0, alpha * x for the others.",
};

BD_OP(LeakyReluGrad) = {
    .signature = "(gradients: T, features: T) -> (backprops: T)",
    .attrs = "alpha:float=0.2; T:type{bfloat16,double,float,half}=float",
    .shape = bd_shape_fn_merged,
    .gradient = leaky_grad_gradient,
    .kernels = BD_KERNELS(
        {.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS | BD_KERNEL_ROUNDS_ATTRS, .run = leaky_grad_run}),
    .doc = "Passes gradients where features are above 0, and alpha times the gradients elsewhere.",
};

// ---- Selu (Klambauer and others, Self-Normalizing Neural Networks, 2017: the constants are theirs) ----

#define SCALE 1.0507009873554804934193349852946
#define SCALE_ALPHA 1.7580993408473768599402175208123 // scale * alpha

BD_SINGLE_LOOP(selu_f32, float, float, x < 0 ? (float)SCALE_ALPHA * expm1f(x) : (float)SCALE * x)
BD_SINGLE_LOOP(selu_f64, double, double, x < 0 ? SCALE_ALPHA * expm1(x) : SCALE * x)
// x is the incoming gradient, y the output of Selu.
BD_FLOAT_PAIR(selu_grad, y < 0 ? x * (y + SCALE_ALPHA) : x * SCALE)

static void selu_run(bd_op_ctx *c)
{
    static const bd_single_table table = {[BRAID_FLOAT] = selu_f32, [BRAID_DOUBLE] = selu_f64};
    bd_singly_run(c, table, bd_input(c, 0)->dtype);
}

static void check_and_run_selu_grad(bd_op_ctx *c)
{
    if (bd_check_same_size(c)) selu_grad_run(c);
}

static void selu_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_b2(c->graph, "SeluGrad", NULL, c->output_grads[0], braid_output(c->op, 0));
}

// The gradient of SeluGrad for g and the output y: below 0 SeluGrad is g (y + scale alpha), so its derivative
// by y is g.
static void selu_grad_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out grads = c->op->inputs[0], y = c->op->inputs[1], grad = c->output_grads[0];
    c->input_grads[0] = bd_b2(g, "SeluGrad", NULL, grad, y);
    braid_out below = bd_grad_number_right(g, "Less", "Less", y, 0);
    c->input_grads[1] =
        bd_b3(g, "Select", NULL, below, bd_grad_mul(g, grads, grad), bd_b1(g, "ZerosLike", "zeros_like", y));
}

BD_OP(Selu) = {
    .signature = "(features: T) -> (activations: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = selu_gradient,
    .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = selu_run}),
    .doc = "Computes scale * alpha * (e^x - 1) of each element below 0, scale * x of the others.",
};

BD_OP(SeluGrad) = {
    .signature = "(gradients: T, outputs: T) -> (backprops: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_merged,
    .gradient = selu_grad_gradient,
    .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = check_and_run_selu_grad}),
    .doc = "Computes the gradient of Selu from its outputs.",
};
