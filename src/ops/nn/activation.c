// Activation functions of neural networks, and softmax.
#include "graph/shape_fn.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"

BD_UNARY(relu, BD_RELU)
BD_UNARY(relu6, BD_RELU6)
BD_UNARY(elu, BD_ELU)
BD_UNARY(tanh, BD_TANH)
BD_UNARY(sigmoid, BD_SIGMOID)
BD_UNARY(softplus, BD_SOFTPLUS)
BD_UNARY(softsign, BD_SOFTSIGN)
BD_BINARY(relu_grad, BD_RELU_GRAD)
BD_BINARY(relu6_grad, BD_RELU6_GRAD)
BD_BINARY(elu_grad, BD_ELU_GRAD)
BD_BINARY(tanh_grad, BD_TANH_GRAD)
BD_BINARY(sigmoid_grad, BD_SIGMOID_GRAD)
BD_BINARY(softplus_grad, BD_SOFTPLUS_GRAD)
BD_BINARY(softsign_grad, BD_SOFTSIGN_GRAD)

// ---- Relu, Relu6 ----

// The inputs are the incoming gradient, then the features (the op's output may replace them, as both have the
// same sign).
static void gradient_of_grad(bd_grad_ctx *c, const char *op)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[1];
    c->input_grads[0] = bd_b2(g, op, NULL, c->output_grads[0], x);
    c->input_grads[1] = bd_b_zeros(g, bd_b_shape(g, "Shape", x), bd_dtype_base(braid_out_dtype(x)));
}

static void relu_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_b2(c->graph, "ReluGrad", NULL, c->output_grads[0], braid_output(c->op, 0));
}

BD_OP(Relu) = {
    .signature = "(features: T) -> (activations: T)",
    .attrs = "T:type{bfloat16,double,float,half,int16,int32,int64,int8,qint8,uint16,uint32,uint64,uint8}",
    .shape = bd_shape_fn_unchanged,
    .gradient = relu_gradient,
    .kernels = BD_UNARY_KERNEL(relu, BD_NUMBERS),
    .doc = "Computes max(x, 0) of each element.",
};

static void relu_grad_gradient(bd_grad_ctx *c)
{
    gradient_of_grad(c, "ReluGrad");
}

BD_OP(ReluGrad) = {
    .signature = "(gradients: T, features: T) -> (backprops: T)",
    .attrs = "T:type{realnumber}",
    .shape = bd_shape_fn_merged,
    .gradient = relu_grad_gradient,
    .kernels = BD_BINARY_KERNEL(relu_grad, BD_NUMBERS),
    .doc = "Passes gradients where features (or activations) are above 0.",
};

static void relu6_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_b2(c->graph, "Relu6Grad", NULL, c->output_grads[0], braid_output(c->op, 0));
}

BD_OP(Relu6) = {
    .signature = "(features: T) -> (activations: T)",
    .attrs = "T:type{realnumber}",
    .shape = bd_shape_fn_unchanged,
    .gradient = relu6_gradient,
    .kernels = BD_UNARY_KERNEL(relu6, BD_NUMBERS),
    .doc = "Computes min(max(x, 0), 6) of each element.",
};

static void relu6_grad_gradient(bd_grad_ctx *c)
{
    gradient_of_grad(c, "Relu6Grad");
}

BD_OP(Relu6Grad) = {
    .signature = "(gradients: T, features: T) -> (backprops: T)",
    .attrs = "T:type{realnumber}",
    .shape = bd_shape_fn_merged,
    .gradient = relu6_grad_gradient,
    .kernels = BD_BINARY_KERNEL(relu6_grad, BD_NUMBERS),
    .doc = "Passes gradients where features (or activations) are between 0 and 6.",
};

// ---- Elu, Softplus, Softsign ----

static void elu_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_b2(c->graph, "EluGrad", NULL, c->output_grads[0], braid_output(c->op, 0));
}

BD_OP(Elu) = {
    .signature = "(features: T) -> (activations: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = elu_gradient,
    .kernels = BD_UNARY_KERNEL(elu, BD_FLOATS),
    .doc = "Computes e^x - 1 of each element below 0, x of the others.",
};

// The gradient of EluGrad for g and the output y: below 0 EluGrad is g (y + 1), so its derivative by y is g.
static void elu_grad_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out grads = c->op->inputs[0], y = c->op->inputs[1], grad = c->output_grads[0];
    c->input_grads[0] = bd_b2(g, "EluGrad", NULL, grad, y);
    braid_out below = bd_grad_number_right(g, "Less", "Less", y, 0);
    braid_out slope = bd_grad_mul(g, grad, grads);
    c->input_grads[1] = bd_b3(g, "Select", NULL, below, slope, bd_grad_zeros_like(g, y));
}

BD_OP(EluGrad) = {
    .signature = "(gradients: T, outputs: T) -> (backprops: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_merged,
    .gradient = elu_grad_gradient,
    .kernels = BD_BINARY_KERNEL(elu_grad, BD_FLOATS),
    .doc = "Computes the gradient of Elu from its outputs.",
};

static void softplus_gradient(bd_grad_ctx *c)
{
    const braid_out slope = bd_b1(c->graph, "Sigmoid", NULL, c->op->inputs[0]);
    c->input_grads[0] = bd_grad_mul(c->graph, c->output_grads[0], slope);
}

BD_OP(Softplus) = {
    .signature = "(features: T) -> (activations: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = softplus_gradient,
    .kernels = BD_UNARY_KERNEL(softplus, BD_FLOATS),
    .doc = "Computes log(1 + e^x) of each element.",
};

// d/dx of g / (1 + e^-x): g / (e^-x + 2 + e^x).
static void softplus_grad_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out dy = c->op->inputs[0], x = c->op->inputs[1], grad = c->output_grads[0];
    bd_grad_after_begin(g, grad);
    c->input_grads[0] = bd_b2(g, "SoftplusGrad", NULL, grad, x);
    braid_out scaled = bd_grad_mul(g, grad, dy);
    braid_out down = bd_b1(g, "Exp", NULL, bd_b1(g, "Neg", NULL, x));
    down = bd_grad_number_right(g, "AddV2", "add", down, 2);
    braid_out sum = bd_b2(g, "AddV2", "add", down, bd_b1(g, "Exp", NULL, x));
    c->input_grads[1] = bd_b2(g, "RealDiv", "truediv", scaled, sum);
    bd_grad_after_end(g);
}

BD_OP(SoftplusGrad) = {
    .signature = "(gradients: T, features: T) -> (backprops: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_merged,
    .gradient = softplus_grad_gradient,
    .kernels = BD_BINARY_KERNEL(softplus_grad, BD_FLOATS),
    .doc = "Computes the gradient of Softplus from its features.",
};

static void softsign_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_b2(c->graph, "SoftsignGrad", NULL, c->output_grads[0], c->op->inputs[0]);
}

BD_OP(Softsign) = {
    .signature = "(features: T) -> (activations: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = softsign_gradient,
    .kernels = BD_UNARY_KERNEL(softsign, BD_FLOATS),
    .doc = "Computes x / (1 + |x|) of each element.",
};

BD_OP(SoftsignGrad) = {
    .signature = "(gradients: T, features: T) -> (backprops: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_merged,
    .kernels = BD_BINARY_KERNEL(softsign_grad, BD_FLOATS),
    .doc = "Computes the gradient of Softsign from its features.",
};

// ---- Tanh, Sigmoid: the gradient is an op of the result y and the gradient that arrives ----

static void gradient_by_result(bd_grad_ctx *c, const char *op)
{
    bd_grad_after_begin(c->graph, c->output_grads[0]);
    braid_out y = bd_grad_conj(c->graph, braid_output(c->op, 0));
    c->input_grads[0] = bd_b2(c->graph, op, NULL, y, c->output_grads[0]);
    bd_grad_after_end(c->graph);
}

static void tanh_gradient(bd_grad_ctx *c)
{
    gradient_by_result(c, "TanhGrad");
}

BD_OP(Tanh) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = tanh_gradient,
    .kernels = BD_UNARY_KERNEL(tanh, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the hyperbolic tangent of each element.",
};

// grad * -2 * b * a, and the gradient of Tanh again
static void tanh_grad_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out grad = c->output_grads[0];
    bd_grad_after_begin(g, grad);
    braid_out a = bd_grad_conj(g, c->op->inputs[0]), b = bd_grad_conj(g, c->op->inputs[1]);
    braid_out scaled = bd_grad_mul(g, bd_grad_number_right(g, "Mul", "mul", grad, -2), b);
    c->input_grads[0] = bd_grad_mul(g, scaled, a);
    c->input_grads[1] = bd_b2(g, "TanhGrad", NULL, a, grad);
    bd_grad_after_end(g);
}

BD_OP(TanhGrad) = {
    .signature = "(y: T, dy: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = tanh_grad_gradient,
    .kernels = BD_BINARY_KERNEL(tanh_grad, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the gradient of y = tanh(x): dy * (1 - y^2).",
};

static void sigmoid_gradient(bd_grad_ctx *c)
{
    gradient_by_result(c, "SigmoidGrad");
}

BD_OP(Sigmoid) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = sigmoid_gradient,
    .kernels = BD_UNARY_KERNEL(sigmoid, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes 1 / (1 + e^-x) of each element.",
};

// gb - 2 * gb * a with gb = grad * b, and the gradient of Sigmoid again
static void sigmoid_grad_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out grad = c->output_grads[0];
    bd_grad_after_begin(g, grad);
    braid_out a = bd_grad_conj(g, c->op->inputs[0]), b = bd_grad_conj(g, c->op->inputs[1]);
    braid_out gb = bd_grad_mul(g, grad, b);
    braid_out curved = bd_grad_mul(g, bd_grad_number_left(g, "Mul", "mul", 2, gb), a);
    c->input_grads[0] = bd_b2(g, "Sub", "sub", gb, curved);
    c->input_grads[1] = bd_b2(g, "SigmoidGrad", NULL, a, grad);
    bd_grad_after_end(g);
}

BD_OP(SigmoidGrad) = {
    .signature = "(y: T, dy: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = sigmoid_grad_gradient,
    .kernels = BD_BINARY_KERNEL(sigmoid_grad, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the gradient of y = sigmoid(x): dy * y * (1 - y).",
};

// ---- Softmax, LogSoftmax ----

static braid_code softmax_shape(bd_shape_ctx *c, braid_status *st)
{
    if (c->inputs[0].rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    c->outputs[0] = c->inputs[0];
    return BRAID_OK;
}

// Rows lie along the last dimension.
static void run_softmax(bd_op_ctx *c, bool is_log)
{
    const braid_tensor *x = bd_input(c, 0);
    int rank = x->shape.rank;
    if (rank < 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "logits must have >= 1 dimension, got []");
        return;
    }
    braid_tensor *y = bd_output_forward(c, 0, 0, x->dtype, &x->shape);
    if (!y) return;
    const bd_softmax_fns *rows = &bd_kernels()->softmax[bd_number_of(x->dtype)];
    int64_t count = bd_shape_count_range(&x->shape, 0, rank - 1);
    (is_log ? rows->log_softmax : rows->softmax)(x->data, y->data, count, x->shape.dims[rank - 1]);
}

static void softmax_run(bd_op_ctx *c)
{
    run_softmax(c, false);
}

static void log_softmax_run(bd_op_ctx *c)
{
    run_softmax(c, true);
}

// tf.reduce_sum(x, -1, keepdims=True)
static braid_out sum_last(braid_graph *g, braid_out x)
{
    const char *scope = braid_push_name_scope(g, "Sum");
    braid_out axes = bd_b_const_i32(g, "reduction_indices", -1);
    braid_op_desc *d = braid_op_begin(g, "Sum", scope);
    braid_op_input(d, x);
    braid_op_input(d, axes);
    braid_op_attr_bool(d, "keep_dims", true);
    braid_out sum = braid_op_end_out(d);
    braid_pop_name_scope(g);
    return sum;
}

// (grad - sum(grad * softmax)) * softmax
static void softmax_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out grad = c->output_grads[0], softmax = braid_output(c->op, 0);
    braid_out sum = sum_last(g, bd_grad_mul(g, grad, softmax));
    c->input_grads[0] = bd_grad_mul(g, bd_b2(g, "Sub", "sub", grad, sum), softmax);
}

BD_OP(Softmax) = {
    .signature = "(logits: T) -> (softmax: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = softmax_shape,
    .gradient = softmax_gradient,
    .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = softmax_run}),
    .doc = "Computes e^x / sum(e^x) along the last dimension.",
};

// grad - sum(grad, keep_dims) * exp(log_softmax)
static void log_softmax_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out grad = c->output_grads[0], log_softmax = braid_output(c->op, 0);
    braid_out softmax = bd_b1(g, "Exp", NULL, log_softmax);
    braid_out sum = sum_last(g, grad);
    c->input_grads[0] = bd_b2(g, "Sub", "sub", grad, bd_grad_mul(g, sum, softmax));
}

BD_OP(LogSoftmax) = {
    .signature = "(logits: T) -> (logsoftmax: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = softmax_shape,
    .gradient = log_softmax_gradient,
    .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = log_softmax_run}),
    .doc = "Computes x - log(sum(e^x)) along the last dimension.",
};
