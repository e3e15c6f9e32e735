// DisableCopyOnRead: a hint of TensorFlow 2's savers.
#include "ops/state/variable.h"

static void disable_run(bd_op_ctx *c)
{
    bd_variable *v = bd_input_variable_to_read(c, 0, BRAID_INVALID);
    if (v) bd_resource_unref(&v->base);
}

static braid_code disable_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)c;
    (void)st;
    return BRAID_OK;
}

BD_OP(DisableCopyOnRead) = {
    .signature = "(resource: resource) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = disable_shape,
    .kernels = BD_KERNELS({.run = disable_run}),
    .doc = "Declares that reading a variable needs no copy; Braid makes none, so it has no effect.",
};
