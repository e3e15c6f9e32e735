// The op _FusedConv2D: convolution with bias and activation.
#include "ops/nn/conv.h"
#include "ops/nn/epilogue.h"

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

// oneDNN adds the bias; the last bit may differ from separate ops. The activation is applied afterwards,
// because oneDNN's Relu turns NaN into 0.
static bool run_together(bd_op_ctx *c, const bd_conv_shape *plain, const bd_conv_data *data)
{
    fused_state *s = c->state;
    bd_conv_shape shape = *plain;
    shape.has_bias = true;
    bool does_all = s->conv.type == BD_F32 && !s->epilogue.activation;
    return does_all && bd_conv_primitive(c, &s->conv, BD_CONV_OUTPUT, &shape, data);
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
    const bd_conv_data data = {bd_input(c, 0)->data, bd_input(c, 1)->data, y->data, bias ? bias->data : NULL};
    if (!bias || !run_together(c, &shape, &data)) run_apart(c, &shape, &data);
}

static braid_code fuse(bd_rewriter *r, braid_status *st)
{
    static const char *const activations[] = {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", NULL};
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
