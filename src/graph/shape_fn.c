// Shape functions that many ops share, and their building blocks.
#include "graph/shape_fn.h"

#include "base/check.h"
#include "base/strbuf.h"
#include <string.h>

braid_code bd_shape_ctx_fail(bd_shape_ctx *c, braid_status *st, const char *format, ...)
{
    bd_strbuf text = {0};
    va_list args;
    va_start(args, format);
    bd_strbuf_vappendf(&text, format, args);
    va_end(args);
    bd_strbuf_appendf(&text, " for '%s' (op: '%s') with input shapes: ", c->node->name, c->node->op_type);
    for (int i = 0; i < c->input_count; i++) {
        if (i) bd_strbuf_append(&text, ", ");
        bd_shape_print(&c->inputs[i], &text);
    }
    bd_strbuf_append(&text, ".");
    braid_code code = bd_fail(st, BRAID_INVALID_ARGUMENT, "%s", bd_strbuf_str(&text));
    bd_strbuf_fini(&text);
    return code;
}

braid_code bd_shape_ctx_rank(bd_shape_ctx *c, int i, int rank, braid_status *st)
{
    if (c->inputs[i].rank < 0 || c->inputs[i].rank == rank) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Shape must be rank %d but is rank %d", rank, c->inputs[i].rank);
}

braid_code bd_shape_fn_none(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = BD_SHAPE_UNKNOWN;
    return BRAID_OK;
}

braid_code bd_shape_fn_scalar(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = BD_SCALAR;
    return BRAID_OK;
}

braid_code bd_shape_fn_unchanged(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = c->inputs[0];
    return BRAID_OK;
}

// Reports the dimensions in which the two shapes differ.
static braid_code fail_unequal(bd_shape_ctx *c, const braid_shape *a, const braid_shape *b, braid_status *st)
{
    if (a->rank != b->rank)
        return bd_shape_ctx_fail(c, st, "Shapes must be equal rank, but are %d and %d", a->rank, b->rank);
    int d = 0;
    while (d < a->rank - 1 && (a->dims[d] == b->dims[d] || a->dims[d] < 0 || b->dims[d] < 0))
        d++;
    return bd_shape_ctx_fail(c, st, "Dimension %d in both shapes must be equal, but are %lld and %lld", d,
                             (long long)a->dims[d], (long long)b->dims[d]);
}

braid_code bd_shape_fn_merged(bd_shape_ctx *c, braid_status *st)
{
    braid_shape merged = BD_SHAPE_UNKNOWN;
    for (int i = 0; i < c->input_count; i++) {
        braid_shape so_far = merged;
        if (!bd_shape_merge(&so_far, &c->inputs[i], &merged))
            return fail_unequal(c, &so_far, &c->inputs[i], st);
    }
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = merged;
    return BRAID_OK;
}

braid_code bd_shape_fn_broadcast(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *a = &c->inputs[0], *b = &c->inputs[1];
    if (bd_shape_broadcast(a, b, &c->outputs[0])) return BRAID_OK;
    int common = a->rank < b->rank ? a->rank : b->rank; // of the last dimensions, from the left
    for (int d = common; d >= 1; d--) {
        int64_t x = a->dims[a->rank - d], y = b->dims[b->rank - d];
        if (x != y && x >= 0 && y >= 0 && x != 1 && y != 1)
            return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)x,
                                     (long long)y);
    }
    return bd_shape_ctx_fail(c, st, "Incompatible shapes");
}

static bool keeps_dims(const bd_shape_ctx *c)
{
    const bd_attr *attr = bd_node_attr(c->node, "keep_dims");
    return attr && attr->kind == BD_ATTR_BOOL && attr->b;
}

// The axes are unknown.
static void reduce_unknown(bd_shape_ctx *c)
{
    c->outputs[0] = BD_SHAPE_UNKNOWN;
    if (!keeps_dims(c) || c->inputs[0].rank < 0) return;
    c->outputs[0] = c->inputs[0];
    for (int d = 0; d < c->inputs[0].rank; d++)
        c->outputs[0].dims[d] = -1;
}

braid_code bd_shape_fn_reduction(bd_shape_ctx *c, braid_status *st)
{
    const braid_tensor *axes = bd_shape_ctx_constant(c, 1);
    const braid_shape *in = &c->inputs[0];
    if (c->inputs[1].rank > 1)
        return bd_shape_ctx_fail(c, st, "Shape must be at most rank 1 but is rank %d", c->inputs[1].rank);
    if (!axes || in->rank < 0) {
        reduce_unknown(c);
        return BRAID_OK;
    }
    bool reduced[BRAID_RANK_MAX] = {0};
    for (int64_t i = 0; i < bd_tensor_count(axes); i++) {
        int64_t axis = bd_tensor_index(axes, i);
        if (axis < -in->rank || axis >= in->rank)
            return bd_shape_ctx_fail(c, st, "Invalid reduction dimension %lld for input with %d dimensions",
                                     (long long)axis, in->rank);
        reduced[axis < 0 ? axis + in->rank : axis] = true;
    }
    braid_shape *out = &c->outputs[0];
    *out = BD_SCALAR;
    for (int d = 0; d < in->rank; d++) {
        if (!reduced[d])
            out->dims[out->rank++] = in->dims[d];
        else if (keeps_dims(c))
            out->dims[out->rank++] = 1;
    }
    return BRAID_OK;
}

braid_code bd_shape_fn_from_attr(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_node_attr_shape(c->node, "shape");
    return BRAID_OK;
}

braid_code bd_shape_ctx_from_input(bd_shape_ctx *c, int i, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, i, 1, st);
    if (code) return code;
    if (bd_shape_ctx_constant_shape(c, i, &c->outputs[0])) return BRAID_OK;
    c->outputs[0] = BD_SHAPE_UNKNOWN;
    if (c->inputs[i].rank != 1 || c->inputs[i].dims[0] < 0) return BRAID_OK;
    if (c->inputs[i].dims[0] > BRAID_RANK_MAX)
        return bd_shape_ctx_fail(c, st, "A shape of %lld dimensions is more than %d",
                                 (long long)c->inputs[i].dims[0], BRAID_RANK_MAX);
    c->outputs[0].rank = (int)c->inputs[i].dims[0];
    for (int d = 0; d < c->outputs[0].rank; d++)
        c->outputs[0].dims[d] = -1;
    return BRAID_OK;
}

braid_code bd_shape_fn_from_input0(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_from_input(c, 0, st);
}
