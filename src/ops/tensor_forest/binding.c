// Binding of kernels to their nodes.
#include "ops/tensor_forest/binding.h"

#include "ops/boosted_trees/inputs.h"

braid_code bd_rf_bind(const braid_op *node, void *state, braid_status *st)
{
    bd_rf_binding *b = state;
    return bd_rf_params_read(&b->params, node, st);
}

braid_code bd_rf_bind_data(const braid_op *node, void *state, braid_status *st)
{
    bd_rf_binding *b = state;
    const bd_attr *seed = bd_node_attr(node, "random_seed");
    b->seed = seed ? seed->i : 0;
    if (b->seed < INT32_MIN || b->seed > INT32_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Attr random_seed has value %lld out of range for an int32", (long long)b->seed);
    if (bd_rf_params_read(&b->params, node, st)) return st->code;
    return bd_rf_spec_read(&b->spec, node, st);
}

void bd_rf_unbind(void *state)
{
    bd_rf_binding *b = state;
    bd_rf_spec_free(&b->spec);
}

bool bd_rf_read_config(bd_op_ctx *c, const char *what, const bd_string **config)
{
    const braid_tensor *t = bd_input(c, 1);
    *config = bd_tensor_str(t);
    if (t->shape.rank == 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a scalar.", what);
    return false;
}

braid_code bd_rf_no_outputs_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)c;
    (void)st;
    return BRAID_OK;
}

braid_code bd_rf_vector_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_shape1(-1);
    return BRAID_OK;
}
