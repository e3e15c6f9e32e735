// Assignments to variables, and nodes without an effect.
#include "base/alloc.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"

#include <braid/ops.h>

// OPVariableOp, and a read after it.
static braid_out assign_resource(braid_graph *g, const char *op_type, braid_out handle, braid_out value)
{
    char *op = bd_asprintf("%sVariableOp", op_type);
    braid_op *assigned = train_node2(g, op, NULL, handle, value).op;
    bd_free(op);
    if (!assigned) return BRAID_NONE;
    braid_push_control(g, &assigned, 1);
    const braid_out read = train_read(g, NULL, handle, train_base_dtype(braid_out_dtype(value)));
    braid_pop_control(g);
    return read;
}

// A node that writes to a variable lies beside it.
static braid_out assign_node(braid_graph *g, const char *op_type, braid_out ref, braid_out value)
{
    if (!ref.op || !value.op) return BRAID_NONE;
    braid_push_colocate(g, ref.op);
    const braid_out out = train_kind_of(ref) == TRAIN_RESOURCE ? assign_resource(g, op_type, ref, value)
                                                               : train_node2(g, op_type, NULL, ref, value);
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
