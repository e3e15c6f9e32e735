// The op _FusedConv2D: convolution with bias and activation.
#include "ops/nn/conv.h"
#include "ops/nn/epilogue.h"

#include <string.h>

typedef struct fused_state {
    bd_conv_state conv;
    bd_epilogue epilogue;
} fused_state;

static braid_code fused_create(const braid_op *node, void *state, braid_status *st)
{
    fused_state *s = state;
    braid_code code = bd_epilogue_bind(node, &s->epilogue, st);
    return code ? code : bd_conv_bind(node, &s->conv, st);
}

static void fused_destroy(void *state)
{
    bd_conv_unbind(&((fused_state *)state)->conv);
}

// oneDNN adds the bias; the last bit may differ from separate ops. The activation is our own, because the
// Relu of oneDNN turns NaN into 0.
static bool run_together(bd_op_ctx *c, const bd_conv_shape *plain, const bd_conv_data *data)
{
    fused_state *s = c->state;
    bd_conv_shape shape = *plain;
    shape.has_bias = true;
    bd_conv_data all = *data;
    all.activation = s->epilogue.activation;
    return s->conv.type == BD_F32 && bd_conv_primitive(c, &s->conv, BD_CONV_OUTPUT, &shape, &all);
}

static void run_apart(bd_op_ctx *c, const bd_conv_shape *shape, const bd_conv_data *data)
{
    fused_state *s = c->state;
    bool is_float = s->conv.type == BD_F32;
    if (!is_float || !bd_conv_primitive(c, &s->conv, BD_CONV_OUTPUT, shape, data))
        bd_conv_plain(s->conv.type, BD_CONV_OUTPUT, shape, data);
    if (bd_op_failed(c)) return;
    if (data->bias)
        bd_epilogue_run(&s->epilogue, data->output, data->bias, shape->batch * bd_volume(shape->out),
                        shape->out_channels);
    else
        bd_epilogue_apart(c, &s->epilogue);
}

static void fused_run(bd_op_ctx *c)
{
    fused_state *s = c->state;
    bd_conv_shape shape;
    braid_shape output;
    braid_tensor *y = NULL;
    if (bd_conv_sizes(c, &s->conv, &shape, &output)) y = bd_window_output(c, bd_input(c, 0)->dtype, &output);
    if (!y) {
        bd_op_fail_part(c, 0);
        return;
    }
    const braid_tensor *bias = bd_epilogue_bias(c, shape.out_channels);
    const bd_conv_data data = {.input = bd_input(c, 0)->data,
                               .filter = bd_input(c, 1)->data,
                               .output = y->data,
                               .bias = bias ? bias->data : NULL};
    if (!bias || !run_together(c, &shape, &data)) run_apart(c, &shape, &data);
}

// ---- The shape of a convolution ----

// The gradient of an addition asks for the shape of the convolution, which then has two consumers. Its
// shape follows from its inputs, so that the convolution can be fused.

static braid_code conv_shape_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_shape1(4);
    return BRAID_OK;
}

static braid_code conv_shape_create(const braid_op *node, void *state, braid_status *st)
{
    return bd_conv_bind(node, state, st);
}

static void conv_shape_destroy(void *state)
{
    bd_conv_unbind(state);
}

static void conv_shape_run(bd_op_ctx *c)
{
    bd_conv_shape shape;
    braid_shape output, vector = bd_shape1(4);
    braid_tensor *y = NULL;
    if (bd_conv_sizes(c, c->state, &shape, &output)) y = bd_output(c, 0, c->node->output_types[0], &vector);
    if (!y) {
        bd_op_fail_part(c, 0);
        return;
    }
    for (int d = 0; d < 4; d++) {
        if (y->dtype == BRAID_INT64) {
            bd_tensor_i64(y)[d] = output.dims[d];
        } else if (output.dims[d] <= INT32_MAX) {
            bd_tensor_i32(y)[d] = (int32_t)output.dims[d];
        } else {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Shape output type is 32-bit  but dim %d is %lld", d,
                       (long long)output.dims[d]);
            bd_op_fail_part(c, 1);
            return;
        }
    }
}

BD_OP(_Conv2DShape) = {
    .signature = "(input: T, filter: T) -> (output: out_type)",
    .attrs = "T:type{double,float}; out_type:type{int32,int64}=int32; " BD_CONV_WINDOW_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = conv_shape_shape,
    .kernels = BD_KERNELS({.types = BD_FLOATS,
                           .state_size = sizeof(bd_conv_state),
                           .create = conv_shape_create,
                           .destroy = conv_shape_destroy,
                           .run = conv_shape_run}),
    .doc = "The shape of a convolution, without it; made by rewrites.",
};

static bool takes_shape(const bd_consumer *c)
{
    return c->input == 0 && strcmp(c->node->op_type, "Shape") == 0;
}

static bool adds(const bd_consumer *c)
{
    static const char *const ops[] = {"Add", "AddV2", "BiasAdd", "BiasAddV1"};
    bool found = false;
    for (size_t i = 0; i < BD_COUNTOF(ops) && c->input >= 0; i++)
        found = found || strcmp(c->node->op_type, ops[i]) == 0;
    return found;
}

// A Shape of `conv`, if that has but one other consumer, an addition; else NULL.
static braid_op *shape_of(bd_rewriter *r, const braid_op *conv)
{
    int count, additions = 0;
    braid_op *found = NULL;
    if (bd_rewriter_has_many_consumers(r, conv)) return NULL;
    const bd_consumer *consumers = bd_rewriter_consumers(r, conv, &count);
    for (int i = 0; i < count; i++) {
        if (takes_shape(&consumers[i]))
            found = consumers[i].node;
        else if (adds(&consumers[i]))
            additions++;
        else
            return NULL;
    }
    return additions == 1 ? found : NULL;
}

static bd_bytes bytes_of(const char *text)
{
    return (bd_bytes){.data = text, .len = strlen(text)};
}

// Makes `shape`, a Shape of `conv`, follow from the inputs of `conv`.
static braid_code take_from_inputs(bd_rewriter *r, braid_op *shape, const braid_op *conv, braid_status *st)
{
    bd_bytes names[] = {bytes_of(conv->name), bytes_of(conv->op_type), bytes_of(shape->name),
                        bytes_of(shape->op_type)};
    BD_ARRAY(bd_named_attr) attrs = {0};
    bd_array_push(&attrs, ((bd_named_attr){.name = BD_FUSED_NODES_ATTR,
                                           .value = {.kind = BD_ATTR_LIST,
                                                     .item_kind = BD_ATTR_STRING,
                                                     .list = {.count = 4, .s = names}}}));
    bd_array_push(&attrs, ((bd_named_attr){.name = "out_type",
                                           .value = {.kind = BD_ATTR_TYPE, .type = shape->output_types[0]}}));
    for (int i = 0; i < conv->attr_count; i++) {
        if (bd_op_def_attr(bd_op_lookup("_Conv2DShape"), conv->attrs[i].name))
            bd_array_push(&attrs, conv->attrs[i]);
    }
    bd_op_list controls = {0};
    for (int i = 0; i < shape->control_count; i++)
        bd_array_push(&controls, shape->controls[i]);
    const braid_out inputs[] = {conv->inputs[0], conv->inputs[1]};
    const bd_node_spec spec = {.op_type = "_Conv2DShape",
                               .inputs = inputs,
                               .input_count = 2,
                               .controls = controls.items,
                               .control_count = (int)controls.len,
                               .attrs = attrs.items,
                               .attr_count = (int)attrs.len};
    braid_code code = bd_rewriter_become(r, shape, &spec, st);
    bd_array_free(&attrs);
    bd_array_free(&controls);
    return code;
}

static bool may_lose_shape(const bd_rewriter *r, const braid_op *n)
{
    return !bd_rewriter_is_removed(r, n) && strcmp(n->op_type, "Conv2D") == 0 && bd_rewriter_is_pure(n) &&
           n->control_count == 0 && (n->output_types[0] == BRAID_FLOAT || n->output_types[0] == BRAID_DOUBLE);
}

static braid_code fuse(bd_rewriter *r, braid_status *st)
{
    static const char *const activations[] = {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", NULL};
    const bd_op_list *order = bd_rewriter_order(r);
    for (size_t i = 0; i < order->len; i++) {
        if (!may_lose_shape(r, order->items[i])) continue;
        for (braid_op *shape; (shape = shape_of(r, order->items[i]));) {
            braid_code code = take_from_inputs(r, shape, order->items[i], st);
            if (code) return code;
        }
    }
    return bd_epilogue_fuse(r, &(bd_epilogue_fusion){"Conv2D", "_FusedConv2D", activations}, st);
}

BD_OP(_FusedConv2D) = {
    .signature = "(input: T, filter: T, args: num_args*T) -> (output: T)",
    .attrs = "T:type{double,float}; " BD_CONV_WINDOW_ATTRS "; " BD_EPILOGUE_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_conv_shape_fn,
    .kernels = BD_KERNELS({.types = BD_FLOATS,
                           .flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(fused_state),
                           .create = fused_create,
                           .destroy = fused_destroy,
                           .run = fused_run}),
    .fusion = &(const bd_fusion){.rewrite = BRAID_REWRITE_REMAPPING, .run = fuse},
    .doc = "Convolves images with a filter, adds a bias and applies an activation; made by rewrites.",
};
