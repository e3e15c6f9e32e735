// The op _FusedMatMul: matrix product with bias and activation.
#include "ops/linalg/matmul.h"
#include "ops/nn/epilogue.h"

typedef struct fused_state {
    bd_matmul_state product;
    bd_epilogue epilogue;
} fused_state;

static braid_code fused_create(const braid_op *node, void *state, braid_status *st)
{
    fused_state *s = state;
    braid_code code = bd_epilogue_bind(node, &s->epilogue, st);
    if (!code) bd_matmul_bind(node, &s->product);
    return code;
}

static void fused_destroy(void *state)
{
    fused_state *s = state;
    bd_matmul_unbind(&s->product);
}

static void fused_run(bd_op_ctx *c)
{
    fused_state *s = c->state;
    braid_tensor *y = bd_matmul_compute(c, &s->product);
    if (!y) {
        bd_op_fail_part(c, 0);
        return;
    }
    const braid_tensor *bias = bd_epilogue_bias(c, y->shape.dims[1]);
    if (bias)
        bd_epilogue_run(&s->epilogue, y->data, bias->data, y->shape.dims[0], y->shape.dims[1]);
    else
        bd_epilogue_apart(c, &s->epilogue);
}

static braid_code fuse(bd_rewriter *r, braid_status *st)
{
    static const char *const activations[] = {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", NULL};
    return bd_epilogue_fuse(r, &(bd_epilogue_fusion){"MatMul", "_FusedMatMul", activations}, st);
}

BD_OP(_FusedMatMul) = {
    .signature = "(a: T, b: T, args: num_args*T) -> (product: T)",
    .attrs = BD_MATMUL_ATTRS "T:type{double,float}; " BD_EPILOGUE_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_matmul_shape,
    .kernels = BD_KERNELS({.types = BD_FLOATS,
                           .flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(fused_state),
                           .create = fused_create,
                           .destroy = fused_destroy,
                           .run = fused_run}),
    .fusion = &(const bd_fusion){.rewrite = BRAID_REWRITE_REMAPPING, .run = fuse},
    .doc = "Multiplies matrices, adds a bias and applies an activation; made by rewrites.",
};
