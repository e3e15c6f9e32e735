// Constant values of inputs, for shape functions and front ends.
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

// A value that is no Const's, as a new tensor; NULL when it is not known.
static braid_tensor *made_from(braid_out from)
{
    bd_partial_tensor p;
    const bool is_partial = bd_partial_tensor_eval(from, &p);
    for (int i = 0; is_partial && i < p.count; i++) {
        if (!p.known[i]) return NULL;
    }
    return is_partial ? made_of(&p, bd_dtype_base(braid_out_dtype(from))) : made_by_kernels(from);
}

const braid_tensor *bd_shape_ctx_constant(bd_shape_ctx *c, int input)
{
    braid_out from = c->node->inputs[input];
    if (!from.op) return NULL;
    const braid_tensor *t = const_tensor(from);
    if (t) return t;
    braid_tensor *made = made_from(from);
    if (made) bd_array_push(&c->node->graph->tensors, made);
    return made;
}

bool bd_shape_ctx_constant_shape(bd_shape_ctx *c, int input, braid_shape *out)
{
    return braid_out_constant_shape(c->node->inputs[input], out);
}

// ---- For front ends ----

static bool is_output(braid_out out)
{
    return out.op && out.index >= 0 && out.index < out.op->output_count;
}

braid_tensor *braid_out_constant(braid_out out)
{
    if (!is_output(out)) return NULL;
    const braid_tensor *t = const_tensor(out);
    return t ? braid_tensor_copy(t) : made_from(out);
}

bool braid_out_constant_shape(braid_out from, braid_shape *out)
{
    bd_partial_tensor p;
    if (!is_output(from) || !bd_partial_tensor_eval(from, &p) || p.rank != 1 || p.count > BRAID_RANK_MAX)
        return false;
    *out = (braid_shape){.rank = p.count};
    for (int i = 0; i < p.count; i++)
        out->dims[i] = p.known[i] && p.v[i] >= 0 ? p.v[i] : -1;
    return true;
}
