// The op _MaxPoolReluGrad: the gradients of MaxPool and of the Relu before it in one pass over memory.
#include "graph/rewrite.h"
#include "ops/nn/pool.h"

#include <string.h>

static void fused_run(bd_op_ctx *c)
{
    bd_max_pool_grad(c, BD_POOLING_MAX_RELU_GRAD, 0);
    if (bd_op_failed(c)) bd_op_fail_part(c, 0);
}

// ---- Fusing ----

static bool is_output(braid_out a, braid_out b)
{
    return a.op == b.op && a.index == b.index;
}

static bool is_float(const braid_op *n)
{
    return n->output_types[0] == BRAID_FLOAT || n->output_types[0] == BRAID_DOUBLE;
}

// The ReluGrad after `n`, a MaxPoolGrad, whose features are what is pooled; else NULL.
static braid_op *relu_grad_of(bd_rewriter *r, const braid_op *n)
{
    if (bd_rewriter_is_removed(r, n) || strcmp(n->op_type, "MaxPoolGrad") != 0 || !bd_rewriter_is_pure(n) ||
        !is_float(n) || strcmp(bd_node_attr_string(n, "data_format"), "NHWC") != 0)
        return NULL;
    braid_op *next = bd_rewriter_only_consumer(r, n);
    return next && strcmp(next->op_type, "ReluGrad") == 0 && bd_rewriter_is_pure(next) &&
                   next->control_count == 0 && next->inputs[0].op == n &&
                   is_output(next->inputs[1], n->inputs[0])
               ? next
               : NULL;
}

static bd_bytes bytes_of(const char *text)
{
    return (bd_bytes){.data = text, .len = strlen(text)};
}

static braid_code replace(bd_rewriter *r, braid_op *pool_grad, braid_op *relu_grad, braid_status *st)
{
    bd_bytes names[] = {bytes_of(pool_grad->name), bytes_of(pool_grad->op_type), bytes_of(relu_grad->name),
                        bytes_of(relu_grad->op_type)};
    BD_ARRAY(bd_named_attr) attrs = {0};
    bd_array_push(&attrs, ((bd_named_attr){.name = BD_FUSED_NODES_ATTR,
                                           .value = {.kind = BD_ATTR_LIST,
                                                     .item_kind = BD_ATTR_STRING,
                                                     .list = {.count = 4, .s = names}}}));
    for (int i = 0; i < pool_grad->attr_count; i++) {
        if (bd_op_def_attr(bd_op_lookup("_MaxPoolReluGrad"), pool_grad->attrs[i].name))
            bd_array_push(&attrs, pool_grad->attrs[i]);
    }
    const bd_node_spec spec = {.op_type = "_MaxPoolReluGrad",
                               .inputs = pool_grad->inputs,
                               .input_count = 3,
                               .controls = pool_grad->controls,
                               .control_count = pool_grad->control_count,
                               .attrs = attrs.items,
                               .attr_count = (int)attrs.len};
    braid_code code = bd_rewriter_become(r, relu_grad, &spec, st);
    if (!code) bd_rewriter_remove(r, pool_grad);
    bd_array_free(&attrs);
    return code;
}

static braid_code fuse(bd_rewriter *r, braid_status *st)
{
    const bd_op_list *order = bd_rewriter_order(r);
    braid_code code = BRAID_OK;
    for (size_t i = 0; !code && i < order->len; i++) {
        braid_op *relu_grad = relu_grad_of(r, order->items[i]);
        if (relu_grad) code = replace(r, order->items[i], relu_grad, st);
    }
    return code;
}

BD_OP(_MaxPoolReluGrad) = {
    .signature = "(orig_input: T, orig_output: T, grad: T) -> (output: T)",
    .attrs = BD_POOL_WINDOW_ATTRS "padding:string{SAME,VALID,EXPLICIT}; explicit_paddings:list(int)=[]; "
                                  "data_format:string{NHWC,NCHW}='NHWC'; T:type{double,float}=float",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_max_pool_grad_shape,
    .kernels = BD_KERNELS({.types = BD_FLOATS,
                           .flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(bd_pool_state),
                           .create = bd_pool_create,
                           .destroy = bd_pool_destroy,
                           .run = fused_run}),
    .fusion = &(const bd_fusion){.rewrite = BRAID_REWRITE_REMAPPING, .run = fuse},
    .doc =
        "The gradients of MaxPool and of the Relu before it: MaxPoolGrad where orig_input is above 0; made by rewrites.",
};
