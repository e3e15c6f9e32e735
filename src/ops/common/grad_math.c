// Short sequences of nodes that gradient functions of mathematical ops share.
#include "ops/common/grad_math.h"

#include <string.h>

static braid_out number_op(braid_graph *g, const char *op, const char *name, braid_out x, double number,
                           bool is_left)
{
    const char *scope = braid_push_name_scope(g, name);
    braid_out constant = bd_b_const_f(g, is_left ? "x" : "y", bd_dtype_base(braid_out_dtype(x)), number);
    braid_out out = is_left ? bd_b2(g, op, scope, constant, x) : bd_b2(g, op, scope, x, constant);
    braid_pop_name_scope(g);
    return out;
}

braid_out bd_grad_number_left(braid_graph *g, const char *op, const char *name, double number, braid_out x)
{
    return number_op(g, op, name, x, number, true);
}

braid_out bd_grad_number_right(braid_graph *g, const char *op, const char *name, braid_out x, double number)
{
    return number_op(g, op, name, x, number, false);
}

braid_out bd_grad_scale_rows(braid_graph *g, braid_out vector, braid_out rows)
{
    const char *scope = braid_push_name_scope(g, "ExpandDims");
    braid_out column = bd_b2(g, "ExpandDims", scope, vector, bd_b_const_i32(g, "dim", -1));
    braid_pop_name_scope(g);
    return bd_grad_mul(g, column, rows);
}

braid_out bd_grad_conj(braid_graph *g, braid_out x)
{
    return bd_dtype_is_complex(bd_dtype_base(braid_out_dtype(x))) ? bd_b1(g, "Conj", NULL, x) : x;
}

braid_out bd_grad_zeros(braid_graph *g, braid_out shape, braid_dtype dtype)
{
    const char *scope = braid_push_name_scope(g, "zeros");
    braid_out zero = bd_b_const_f(g, "Const", dtype, 0);
    braid_out out = bd_b2(g, "Fill", scope, shape, zero);
    braid_pop_name_scope(g);
    return out;
}

braid_out bd_grad_zeros_like(braid_graph *g, braid_out x)
{
    braid_shape shape = braid_out_shape(x);
    if (!bd_shape_is_known(&shape)) return bd_b1(g, "ZerosLike", "zeros_like", x);
    braid_tensor zeros;
    BD_STATUS(st);
    if (bd_tensor_init(&zeros, bd_dtype_base(braid_out_dtype(x)), &shape, st)) {
        braid_graph_fail(g, st->code, "%s", braid_status_message(st));
        return (braid_out){0};
    }
    memset(zeros.data, 0, bd_tensor_bytes(&zeros));
    braid_out out = bd_b_const(g, "zeros_like", &zeros);
    bd_tensor_fini(&zeros);
    return out;
}

void bd_grad_after_begin(braid_graph *g, braid_out grad)
{
    braid_push_control(g, &grad.op, 1);
}

void bd_grad_after_end(braid_graph *g)
{
    braid_pop_control(g);
}

void bd_grad_pair_begin(bd_grad_ctx *c, bd_grad_pair *p)
{
    braid_graph *g = c->graph;
    *p = (bd_grad_pair){.g = g, .x = c->op->inputs[0], .y = c->op->inputs[1], .grad = c->output_grads[0]};
    p->x_shape = bd_b_shape(g, "Shape", p->x);
    p->y_shape = bd_b_shape(g, "Shape", p->y);
    p->x_axes = bd_b2(g, "BroadcastGradientArgs", NULL, p->x_shape, p->y_shape);
    p->y_axes = braid_output(p->x_axes.op, 1);
}

void bd_grad_pair_conj(bd_grad_pair *p)
{
    p->x = bd_grad_conj(p->g, p->x);
    p->y = bd_grad_conj(p->g, p->y);
}

void bd_grad_pair_x(bd_grad_ctx *c, const bd_grad_pair *p, braid_out grad)
{
    braid_out sum = bd_b2(p->g, "Sum", NULL, grad, p->x_axes);
    c->input_grads[0] = bd_b2(p->g, "Reshape", NULL, sum, p->x_shape);
}

void bd_grad_pair_y(bd_grad_ctx *c, const bd_grad_pair *p, braid_out grad)
{
    braid_out sum = bd_b2(p->g, "Sum", NULL, grad, p->y_axes);
    c->input_grads[1] = bd_b2(p->g, "Reshape", NULL, sum, p->y_shape);
}
