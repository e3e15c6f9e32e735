// Loss functions: softmax cross entropy (dense and sparse labels), and L2Loss.
#include "base/interrupt.h"
#include "base/strbuf.h"
#include "graph/shape_fn.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"
#include "ops/math/broadcast_to.h"

#include <string.h>

// ---- SoftmaxCrossEntropyWithLogits ----

// The operands are two matrices of one shape (an unknown shape is compatible), or broadcast to a matrix.
static braid_code cross_entropy_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape any = bd_shape2(-1, -1), features, matrix;
    if (!bd_shape_merge(&c->inputs[0], &any, &features) ||
        !bd_shape_merge(&features, &c->inputs[1], &matrix)) {
        braid_code code = bd_shape_fn_broadcast(c, st);
        if (code) return code;
        matrix = c->outputs[0];
    }
    if (matrix.rank < 0)
        return bd_shape_ctx_fail(c, st, "Shape must be broadcasted with rank 2, but is rank is unknown.");
    if (matrix.rank != 2)
        return bd_shape_ctx_fail(c, st, "Shape must be broadcasted with rank 2, but is rank %d", matrix.rank);
    c->outputs[0] = bd_shape1(matrix.dims[0]);
    c->outputs[1] = matrix;
    return BRAID_OK;
}

// Logits and labels are matrices of that shape.
static void cross_entropy(bd_op_ctx *c, const braid_tensor *x, const braid_tensor *labels,
                          const braid_shape *shape)
{
    braid_shape rows = bd_shape1(shape->dims[0]);
    braid_tensor *loss = bd_output(c, 0, x->dtype, &rows);
    braid_tensor *backprop = loss ? bd_output_forward(c, 1, 0, x->dtype, shape) : NULL;
    if (!backprop) return;
    bd_kernels()->softmax[bd_number_of(x->dtype)].cross_entropy(
        x->data, labels->data, loss->data, backprop->data, shape->dims[0], shape->dims[1]);
}

static void cross_entropy_run(bd_op_ctx *c)
{
    const braid_tensor *given[2] = {bd_input(c, 0), bd_input(c, 1)};
    braid_shape shape;
    braid_tensor whole[2];
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (!bd_shape_broadcast(&given[0]->shape, &given[1]->shape, &shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "logits and labels must be broadcastable: logits_size=%s labels_size=%s",
                   bd_shape_str(&given[0]->shape, a), bd_shape_str(&given[1]->shape, b));
        return;
    }
    if (shape.rank != 2) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional, but they "
            "make %s",
            bd_shape_str(&shape, a));
        return;
    }
    if (bd_shape_equal(&given[0]->shape, &given[1]->shape)) {
        cross_entropy(c, given[0], given[1], &shape);
        return;
    }
    bool ok = bd_broadcast_copy(given[0], &shape, &whole[0]);
    if (ok && !bd_broadcast_copy(given[1], &shape, &whole[1])) {
        bd_tensor_fini(&whole[0]);
        ok = false;
    }
    if (!ok) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when broadcasting to %s", bd_shape_str(&shape, a));
        return;
    }
    cross_entropy(c, &whole[0], &whole[1], &shape);
    for (int i = 0; i < 2; i++)
        bd_tensor_fini(&whole[i]);
}

static braid_out expand_dims(braid_graph *g, braid_out x, int32_t dim)
{
    const char *scope = braid_push_name_scope(g, "ExpandDims");
    braid_out out = bd_b2(g, "ExpandDims", scope, x, bd_b_const_i32(g, "dim", dim));
    braid_pop_name_scope(g);
    return out;
}

// The gradient through the second output, the backprop: needed for second derivatives only.
static braid_out second_derivative(braid_graph *g, braid_out logits, braid_out grad)
{
    braid_out softmax = bd_b1(g, "Softmax", NULL, logits);
    braid_out row = expand_dims(g, grad, 1), column = expand_dims(g, softmax, 2);
    braid_out inner = bd_b2(g, "BatchMatMulV2", "MatMul", row, column);
    braid_op_desc *d = braid_op_begin(g, "Squeeze", NULL);
    braid_op_input(d, inner);
    braid_op_attr_int_list(d, "squeeze_dims", (int64_t[]){1}, 1);
    return bd_grad_mul(g, bd_b2(g, "Sub", "sub", grad, braid_op_end_out(d)), softmax);
}

static bool is_zero(braid_out grad)
{
    return !grad.op || strcmp(grad.op->op_type, "ZerosLike") == 0 || strcmp(grad.op->op_type, "Zeros") == 0;
}

static void cross_entropy_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out grad = {0};
    if (c->output_grads[0].op) grad = bd_grad_scale_rows(g, c->output_grads[0], braid_output(c->op, 1));
    if (!is_zero(c->output_grads[1])) {
        braid_out second = second_derivative(g, c->op->inputs[0], c->output_grads[1]);
        grad = grad.op ? bd_b2(g, "AddV2", "add", grad, second) : second;
    }
    c->input_grads[0] = grad;
    if (c->output_grads[0].op) {
        braid_out log_softmax = bd_b1(g, "LogSoftmax", NULL, c->op->inputs[0]);
        c->input_grads[1] = bd_grad_scale_rows(g, c->output_grads[0], bd_b1(g, "Neg", NULL, log_softmax));
    }
}

BD_OP(SoftmaxCrossEntropyWithLogits) = {
    .signature = "(features: T, labels: T) -> (loss: T, backprop: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = cross_entropy_shape,
    .gradient = cross_entropy_gradient,
    .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = cross_entropy_run}),
    .doc = "Computes -sum(labels * log(softmax(features))) for each row, and its gradient by the features.",
};

// ---- SparseSoftmaxCrossEntropyWithLogits ----

static braid_code sparse_cross_entropy_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 2, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code) return code;
    braid_shape logits = c->inputs[0].rank < 0 ? bd_shape2(-1, -1) : c->inputs[0];
    int64_t batch = c->inputs[1].rank < 0 ? -1 : c->inputs[1].dims[0];
    if (logits.dims[0] >= 0 && batch >= 0 && logits.dims[0] != batch)
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                 (long long)logits.dims[0], (long long)batch);
    if (logits.dims[0] < 0) logits.dims[0] = batch;
    c->outputs[0] = bd_shape1(logits.dims[0]);
    c->outputs[1] = logits;
    return BRAID_OK;
}

// The maximum number of labels in an error message.
#define LABELS_SHOWN_MAX 1000

static void fail_label(bd_op_ctx *c, const braid_tensor *labels, int64_t label, int64_t classes)
{
    bd_strbuf text = {0};
    int64_t n = bd_tensor_count(labels);
    for (int64_t i = 0; i < n && i < LABELS_SHOWN_MAX; i++)
        bd_strbuf_appendf(&text, "%s%lld", i ? " " : "", (long long)bd_tensor_index(labels, i));
    if (n > LABELS_SHOWN_MAX) bd_strbuf_append(&text, "...");
    bd_op_fail(
        c, BRAID_INVALID_ARGUMENT,
        "Received a label value of %lld which is outside the valid range of [0, %lld).  Label values: %s",
        (long long)label, (long long)classes, bd_strbuf_str(&text));
    bd_strbuf_fini(&text);
}

// Reads the labels as int64 and checks that they are in [0, classes). False: the kernel has failed.
static bool read_labels(bd_op_ctx *c, const braid_tensor *labels, int64_t classes, braid_tensor *out)
{
    if (!bd_tensor_alloc(out, BRAID_INT64, &labels->shape)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when reading labels");
        return false;
    }
    int64_t n = bd_tensor_count(labels), least = 0, most = -1;
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        int64_t label = bd_tensor_index(labels, i);
        bd_tensor_i64(out)[i] = label;
        if (label < least) least = label;
        if (label > most) most = label;
    }
    if (least >= 0 && most < classes) return true;
    fail_label(c, labels, least < 0 ? least : most, classes);
    bd_tensor_fini(out);
    return false;
}

static bool check_sparse(bd_op_ctx *c, const braid_shape *logits, const braid_shape *labels)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (logits->rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "logits must be 2-D, but got shape %s",
                   bd_shape_str(logits, a));
    } else if (labels->rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "labels must be 1-D, but got shape %s",
                   bd_shape_str(labels, b));
    } else if (logits->dims[0] != labels->dims[0]) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "logits and labels must have the same first dimension, got logits shape %s and labels shape %s",
            bd_shape_str(logits, a), bd_shape_str(labels, b));
    } else if (logits->dims[1] == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Must have at least one class, but got logits shape %s",
                   bd_shape_str(logits, a));
    }
    return !bd_op_failed(c);
}

static void sparse_cross_entropy_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *given = bd_input(c, 1);
    braid_tensor labels;
    if (!check_sparse(c, &x->shape, &given->shape)) return;
    if (!read_labels(c, given, x->shape.dims[1], &labels)) return;
    braid_shape rows = bd_shape1(x->shape.dims[0]);
    braid_tensor *loss = bd_output(c, 0, x->dtype, &rows);
    braid_tensor *backprop = loss ? bd_output_forward(c, 1, 0, x->dtype, &x->shape) : NULL;
    if (backprop)
        bd_kernels()->softmax[bd_number_of(x->dtype)].sparse_cross_entropy(
            x->data, bd_tensor_i64(&labels), loss->data, backprop->data, x->shape.dims[0], x->shape.dims[1]);
    bd_tensor_fini(&labels);
}

static void sparse_cross_entropy_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    if (!c->output_grads[0].op) return;
    braid_op_desc *d = braid_op_begin(g, "PreventGradient", NULL);
    braid_op_input(d, braid_output(c->op, 1));
    braid_op_attr_string(
        d, "message",
        "Currently there is no way to take the second derivative of "
        "sparse_softmax_cross_entropy_with_logits due to the fused implementation's interaction with "
        "tf.gradients()");
    c->input_grads[0] = bd_grad_scale_rows(g, c->output_grads[0], braid_op_end_out(d));
}

BD_OP(SparseSoftmaxCrossEntropyWithLogits) = {
    .signature = "(features: T, labels: Tlabels) -> (loss: T, backprop: T)",
    .attrs = "T:type{bfloat16,double,float,half}; Tlabels:type{int32,int64}=int64",
    .shape = sparse_cross_entropy_shape,
    .gradient = sparse_cross_entropy_gradient,
    .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = sparse_cross_entropy_run}),
    .doc = "Computes -log(softmax(features)) at each row's label, and its gradient by the features.",
};

// ---- L2Loss ----

static void l2_loss_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, x->dtype, &BD_SCALAR);
    if (!y) return;
    bd_kernels()->reduce[BD_REDUCE_SUM_SQUARES][bd_number_of(x->dtype)](x->data, y->data, 1,
                                                                        bd_tensor_count(x), 1);
    if (x->dtype == BRAID_FLOAT) {
        *bd_tensor_f32(y) /= 2;
    } else {
        *bd_tensor_f64(y) /= 2;
    }
}

static void l2_loss_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_grad_mul(c->graph, c->op->inputs[0], c->output_grads[0]);
}

BD_OP(L2Loss) = {
    .signature = "(t: T) -> (output: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_scalar,
    .gradient = l2_loss_gradient,
    .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = l2_loss_run}),
    .doc = "Computes half the sum of the squares of all elements.",
};
