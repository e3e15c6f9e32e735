// Assignments to variables, and nodes without an effect.
#include "train/build.h"

#include <braid/ops.h>

// A node that writes to a variable lies beside it.
static braid_out assign_node(braid_graph *g, const char *op_type, braid_out ref, braid_out value)
{
    if (!ref.op || !value.op) return BRAID_NONE;
    braid_push_colocate(g, ref.op);
    braid_out out = train_node2(g, op_type, NULL, ref, value);
    braid_pop_colocate(g);
    return out;
}

braid_out braid_assign(braid_graph *g, braid_out ref, braid_out value)
{
    return assign_node(g, "Assign", ref, value);
}

braid_out braid_assign_add(braid_graph *g, braid_out ref, braid_out value)
{
    return assign_node(g, "AssignAdd", ref, value);
}

braid_op *braid_no_op(braid_graph *g, const char *name)
{
    return braid_op_end(braid_op_begin(g, "NoOp", name));
}
