// Rows of tensors and of variables.
#include <braid/ops.h>

#include "train/build.h"
#include "train/variable_internal.h"

// GatherV2 along the first axis, called `name` (NULL: after its op).
static braid_out gather(braid_graph *g, const char *name, braid_out params, braid_out indices)
{
    const char *scope = braid_push_name_scope(g, name ? name : "GatherV2");
    braid_out axis = braid_const_int32(g, "axis", 0);
    braid_out rows = train_node3(g, "GatherV2", scope, params, indices, axis);
    braid_pop_name_scope(g);
    return rows;
}

braid_out braid_gather(braid_graph *g, braid_out params, braid_out indices)
{
    return gather(g, NULL, params, indices);
}

static braid_out gather_resource(braid_graph *g, braid_variable v, const char *name, braid_out ids)
{
    braid_op_desc *d = braid_op_begin(g, "ResourceGather", name);
    braid_op_input(d, v.ref);
    braid_op_input(d, ids);
    braid_op_attr_type(d, "dtype", train_base_dtype(braid_out_dtype(v.read)));
    return braid_op_end_out(d);
}

braid_out braid_embedding_lookup(braid_graph *g, braid_out variable, braid_out ids)
{
    if (!variable.op || !ids.op) return BRAID_NONE;
    const braid_variable v = braid_variable_find(variable);
    if (!v.read.op) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "embedding_lookup: '%s' is no variable",
                         braid_op_name(variable.op));
        return BRAID_NONE;
    }
    const char *scope = braid_push_name_scope(g, "embedding_lookup");
    braid_push_colocate(g, variable.op);
    braid_out rows;
    if (train_kind_of(variable) == TRAIN_RESOURCE)
        rows = braid_identity(g, NULL, gather_resource(g, v, scope, ids));
    else
        rows = gather(g, scope, v.read, ids);
    braid_pop_colocate(g);
    rows = braid_identity(g, NULL, rows); // not bound to the variable's place
    braid_pop_name_scope(g);
    return rows;
}
