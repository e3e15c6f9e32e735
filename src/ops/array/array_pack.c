// Pack and Unpack: join tensors along a new axis, and split a tensor along an axis that is removed.
#include "graph/grad.h"
#include "ops/common/element.h"

// ---- Pack ----

static void insert_dim(braid_shape *s, int64_t axis, int64_t size)
{
    for (int d = s->rank; d > axis; d--)
        s->dims[d] = s->dims[d - 1];
    s->dims[axis] = size;
    s->rank++;
}

static void remove_dim(braid_shape *s, int64_t axis)
{
    for (int d = (int)axis; d + 1 < s->rank; d++)
        s->dims[d] = s->dims[d + 1];
    s->rank--;
}

static braid_code pack_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape out = c->inputs[0];
    for (int i = 1; i < c->input_count; i++) {
        if (bd_shape_merge(&out, &c->inputs[i], &out)) continue;
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        return bd_shape_ctx_fail(c, st, "Shapes must be equal, but are %s and %s", bd_shape_str(&out, a),
                                 bd_shape_str(&c->inputs[i], b));
    }
    if (out.rank < 0) return BRAID_OK;
    if (out.rank == BRAID_RANK_MAX)
        return bd_shape_ctx_fail(c, st, "Pack: more than %d dimensions", BRAID_RANK_MAX);
    int64_t axis = bd_node_attr_int(c->node, "axis");
    braid_code code = bd_shape_ctx_axis(c, out.rank + 1, &axis, st);
    if (code) return code;
    insert_dim(&out, axis, c->input_count);
    c->outputs[0] = out;
    return BRAID_OK;
}

static void pack_run(bd_op_ctx *c)
{
    const braid_tensor *first = bd_input(c, 0);
    for (int i = 1; i < c->input_count; i++) {
        if (bd_shape_equal(&bd_input(c, i)->shape, &first->shape)) continue;
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Shapes of all inputs must match: values[0].shape = %s != values[%d].shape = %s",
                   bd_shape_str(&first->shape, a), i, bd_shape_str(&bd_input(c, i)->shape, b));
        return;
    }
    braid_shape whole = first->shape;
    int64_t axis = bd_node_attr_int(c->node, "axis");
    if (axis < -(whole.rank + 1) || axis > whole.rank || whole.rank == BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "axis = %lld not in [%d, %d)", (long long)axis,
                   -(whole.rank + 1), whole.rank + 1);
        return;
    }
    if (axis < 0) axis += whole.rank + 1;
    insert_dim(&whole, axis, c->input_count);
    braid_tensor *y = bd_output(c, 0, first->dtype, &whole);
    if (!y) return;
    for (int i = 0; i < c->input_count; i++)
        bd_elements_join(y, (int)axis, i, bd_input(c, i), 1);
}

static void pack_gradient(bd_grad_ctx *c)
{
    int64_t count = bd_node_attr_int(c->op, "N");
    braid_op_desc *d = braid_op_begin(c->graph, "Unpack", "unstack");
    braid_op_input(d, c->output_grads[0]);
    braid_op_attr_int(d, "num", count);
    braid_op_attr_int(d, "axis", bd_node_attr_int(c->op, "axis"));
    braid_op *unpack = braid_op_end(d);
    for (int i = 0; i < count; i++)
        c->input_grads[i] = (braid_out){.op = unpack, .index = i};
}

BD_OP(Pack) = {
    .signature = "(values: N*T) -> (output: T)",
    .attrs = "N:int>=1; T:type; axis:int=0",
    .shape = pack_shape,
    .gradient = pack_gradient,
    .kernels = BD_KERNELS({.run = pack_run}),
    .doc = "Stacks N tensors of one shape along a new axis.",
};

// ---- Unpack ----

static braid_code unpack_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape part = c->inputs[0];
    if (part.rank < 0) return BRAID_OK;
    int64_t axis = bd_node_attr_int(c->node, "axis"), num = bd_node_attr_int(c->node, "num");
    braid_code code = bd_shape_ctx_axis(c, part.rank, &axis, st);
    if (code) return code;
    if (part.dims[axis] >= 0 && part.dims[axis] != num) {
        return bd_shape_ctx_fail(c, st, "Dimension must be %lld but is %lld", (long long)num,
                                 (long long)part.dims[axis]);
    }
    remove_dim(&part, axis);
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = part;
    return BRAID_OK;
}

static void unpack_run(bd_op_ctx *c)
{
    const braid_tensor *value = bd_input(c, 0);
    int rank = value->shape.rank;
    int64_t axis = bd_node_attr_int(c->node, "axis");
    if (axis < -rank || axis >= rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "axis = %lld not in [%d, %d)", (long long)axis, -rank, rank);
        return;
    }
    if (axis < 0) axis += rank;
    if (value->shape.dims[axis] != c->output_count) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input shape axis %lld must equal %d, got shape %s",
                   (long long)axis, c->output_count, bd_shape_str(&value->shape, text));
        return;
    }
    braid_shape part = value->shape;
    remove_dim(&part, axis);
    for (int i = 0; i < c->output_count; i++) {
        if (!bd_output_piece(c, i, value, (int)axis, i, 1)) return;
        c->outputs[i].tensor.shape = part;
    }
}

static void unpack_gradient(bd_grad_ctx *c)
{
    braid_op_desc *d = braid_op_begin(c->graph, "Pack", "stack");
    braid_op_input_list(d, c->output_grads, braid_op_num_outputs(c->op));
    braid_op_attr_int(d, "axis", bd_node_attr_int(c->op, "axis"));
    c->input_grads[0] = braid_op_end_out(d);
}

BD_OP(Unpack) = {
    .signature = "(value: T) -> (output: num*T)",
    .attrs = "num:int>=0; T:type; axis:int=0",
    .shape = unpack_shape,
    .gradient = unpack_gradient,
    .kernels = BD_KERNELS({.run = unpack_run}),
    .doc = "Splits a tensor along an axis, which is removed from the outputs.",
};
