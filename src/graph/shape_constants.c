// Constant values of inputs, for shape functions.
#include "graph/shape_fn.h"

#include "base/alloc.h"
#include "graph/partial_tensor_eval.h"
#include "graph/subgraph_eval.h"

#define DEPTH_MAX 32 // nodes behind one another

// The tensor of a Const, also through identities.
static const braid_tensor *const_tensor(braid_out from)
{
    for (int depth = 0; depth < DEPTH_MAX && from.op; depth++) {
        const braid_op *n = from.op;
        const bd_attr *attr = bd_node_attr(n, "value");
        if (bd_node_role(n) == BD_ROLE_CONST)
            return attr && attr->kind == BD_ATTR_TENSOR ? attr->tensor : NULL;
        if (!bd_node_has_flag(n, BD_OP_IDENTITY) || n->input_count == 0) return NULL;
        from = n->inputs[0];
    }
    return NULL;
}

// A tensor that lives as long as the graph; NULL when memory is short.
static braid_tensor *made_of(const bd_partial_tensor *p, braid_dtype type)
{
    braid_shape shape = p->rank ? bd_shape1(p->count) : BD_SCALAR;
    braid_tensor *made = braid_tensor_new(type, shape, NULL);
    for (int i = 0; made && i < p->count; i++) {
        if (type == BRAID_INT64)
            bd_tensor_i64(made)[i] = p->v[i];
        else
            bd_tensor_i32(made)[i] = (int32_t)p->v[i];
    }
    return made;
}

static braid_tensor *made_by_kernels(braid_out from)
{
    braid_tensor t = {0};
    if (!bd_subgraph_eval(from, &t)) return NULL;
    braid_tensor *made = bd_calloc(1, sizeof *made);
    bd_tensor_move(made, &t);
    return made;
}

const braid_tensor *bd_shape_ctx_constant(bd_shape_ctx *c, int input)
{
    braid_out from = c->node->inputs[input];
    if (!from.op) return NULL;
    const braid_tensor *t = const_tensor(from);
    if (t) return t;
    bd_partial_tensor p;
    bool is_partial = bd_partial_tensor_eval(from, &p);
    for (int i = 0; is_partial && i < p.count; i++) {
        if (!p.known[i]) return NULL;
    }
    braid_tensor *made =
        is_partial ? made_of(&p, bd_dtype_base(braid_out_dtype(from))) : made_by_kernels(from);
    if (made) bd_array_push(&c->node->graph->tensors, made);
    return made;
}

bool bd_shape_ctx_constant_shape(bd_shape_ctx *c, int input, braid_shape *out)
{
    braid_out from = c->node->inputs[input];
    bd_partial_tensor p;
    if (!from.op || !bd_partial_tensor_eval(from, &p) || p.rank != 1 || p.count > BRAID_RANK_MAX)
        return false;
    *out = (braid_shape){.rank = p.count};
    for (int i = 0; i < p.count; i++)
        out->dims[i] = p.known[i] && p.v[i] >= 0 ? p.v[i] : -1;
    return true;
}
