// Short sequences of nodes that gradient functions of mathematical ops share.
#include "ops/common/grad_math.h"

#include "graph/builder.h"
#include "graph/region.h"
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

// Whether a Const runs only where a branch is taken.
static bool is_of_branch(const braid_op *n)
{
    for (int i = 0; i < n->control_count; i++) {
        const braid_op *pivot = n->controls[i];
        if (pivot->input_count == 1 && bd_node_role(pivot->inputs[0].op) == BD_ROLE_SWITCH) return true;
    }
    return false;
}

braid_out bd_grad_constant_here(braid_graph *g, braid_out x)
{
    const bd_region *r = bd_graph_builder(g)->region;
    if (!x.op || bd_node_role(x.op) != BD_ROLE_CONST || !(r ? !bd_region_has(r, x.op) : is_of_branch(x.op)))
        return x;
    return bd_b_const(g, NULL, bd_node_attr_tensor(x.op, "value"));
}

braid_out bd_grad_zeros_like(braid_graph *g, braid_out x)
{
    const braid_shape shape = braid_out_shape(x);
    return bd_shape_is_known(&shape) ? bd_b_const_zeros(g, "zeros_like", braid_out_dtype(x), &shape)
                                     : bd_b1(g, "ZerosLike", "zeros_like", x);
}

braid_out bd_grad_ones_like(braid_graph *g, braid_out x)
{
    const char *scope = braid_push_name_scope(g, "ones_like");
    const braid_out shape = bd_b_shape(g, "Shape", x);
    const braid_out one = bd_b_const_f(g, "Const", bd_dtype_base(braid_out_dtype(x)), 1);
    const braid_out out = bd_b2(g, "Fill", scope, shape, one);
    braid_pop_name_scope(g);
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

braid_out bd_grad_with_ints(braid_graph *g, const char *op, braid_out x, const char *name,
                            const int32_t *values, int count)
{
    const char *scope = braid_push_name_scope(g, op);
    const braid_out out = bd_b2(g, op, scope, x, bd_b_const_i32_vector(g, name, values, count));
    braid_pop_name_scope(g);
    return out;
}

braid_out bd_grad_const_shape(braid_graph *g, const char *name, const braid_shape *shape)
{
    int32_t dims[BRAID_RANK_MAX] = {0};
    for (int d = 0; d < shape->rank; d++)
        dims[d] = (int32_t)shape->dims[d];
    return bd_b_const_i32_vector(g, name, dims, shape->rank);
}

static bd_grad_pair pair_of(const bd_grad_ctx *c)
{
    return (bd_grad_pair){
        .g = c->graph, .x = c->op->inputs[0], .y = c->op->inputs[1], .grad = c->output_grads[0]};
}

void bd_grad_pair_axes(bd_grad_pair *p)
{
    p->x_axes = bd_b2(p->g, "BroadcastGradientArgs", NULL, p->x_shape, p->y_shape);
    p->y_axes = braid_output(p->x_axes.op, 1);
}

void bd_grad_pair_shapes(bd_grad_ctx *c, bd_grad_pair *p)
{
    *p = pair_of(c);
    p->x_shape = bd_b_shape(p->g, "Shape", p->x);
    p->y_shape = bd_b_shape(p->g, "Shape", p->y);
}

void bd_grad_pair_begin(bd_grad_ctx *c, bd_grad_pair *p)
{
    bd_grad_pair_shapes(c, p);
    bd_grad_pair_axes(p);
}

bool bd_grad_pair_is_equal(const bd_grad_ctx *c)
{
    const braid_shape x = braid_out_shape(c->op->inputs[0]), y = braid_out_shape(c->op->inputs[1]);
    const braid_shape grad = braid_out_shape(c->output_grads[0]);
    return bd_shape_is_known(&x) && bd_shape_equal(&x, &y) && bd_shape_equal(&x, &grad);
}

// The first op of two shapes in a graph adds the nodes that find the axes, as TensorFlow does; nothing reads
// them.
static void note_axes(bd_grad_pair *p)
{
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    const char *key = bd_arena_asprintf(&p->g->arena, "BroadcastGradientArgs %s %s",
                                        bd_shape_str(&p->x_static, x), bd_shape_str(&p->y_static, y));
    if (!bd_builder_is_first(p->g, key)) return;
    const char *scope = braid_push_name_scope(p->g, "BroadcastGradientArgs");
    const braid_out shapes[2] = {bd_grad_const_shape(p->g, "s0", &p->x_static),
                                 bd_grad_const_shape(p->g, "s1", &p->y_static)};
    bd_b2(p->g, "BroadcastGradientArgs", scope, shapes[0], shapes[1]);
    braid_pop_name_scope(p->g);
}

void bd_grad_pair_begin_static(bd_grad_ctx *c, bd_grad_pair *p)
{
    *p = pair_of(c);
    p->x_static = braid_out_shape(p->x);
    p->y_static = braid_out_shape(p->y);
    p->is_static = bd_shape_is_known(&p->x_static) && bd_shape_is_known(&p->y_static);
    if (!p->is_static) {
        p->x_shape = bd_b1(p->g, "Shape", NULL, p->x);
        p->y_shape = bd_b1(p->g, "Shape", NULL, p->y);
        bd_grad_pair_axes(p);
        return;
    }
    note_axes(p);
    p->x_axis_count = bd_shape_broadcast_axes(&p->x_static, &p->y_static, p->x_static_axes);
    p->y_axis_count = bd_shape_broadcast_axes(&p->y_static, &p->x_static, p->y_static_axes);
}

void bd_grad_pair_conj(bd_grad_pair *p)
{
    p->x = bd_grad_conj(p->g, p->x);
    p->y = bd_grad_conj(p->g, p->y);
}

// The gradient of an operand: `grad` summed over the axes and reshaped.
static braid_out reduced(const bd_grad_pair *p, braid_out grad, bool is_y)
{
    braid_graph *g = p->g;
    if (!p->is_static) {
        const braid_out sum = bd_b2(g, "Sum", NULL, grad, is_y ? p->y_axes : p->x_axes);
        return bd_b2(g, "Reshape", NULL, sum, is_y ? p->y_shape : p->x_shape);
    }
    const braid_shape *shape = is_y ? &p->y_static : &p->x_static;
    const braid_out sum =
        bd_grad_with_ints(g, "Sum", grad, "reduction_indices", is_y ? p->y_static_axes : p->x_static_axes,
                          is_y ? p->y_axis_count : p->x_axis_count);
    const char *scope = braid_push_name_scope(g, "Reshape");
    const braid_out out = bd_b2(g, "Reshape", scope, sum, bd_grad_const_shape(g, "shape", shape));
    braid_pop_name_scope(g);
    return out;
}

static bool needs_reduction(const bd_grad_pair *p, const braid_shape *own)
{
    const braid_shape grad = braid_out_shape(p->grad);
    return !p->is_static || !bd_shape_equal(own, &grad);
}

void bd_grad_pair_x(bd_grad_ctx *c, const bd_grad_pair *p, braid_out grad)
{
    c->input_grads[0] = needs_reduction(p, &p->x_static) ? reduced(p, grad, false) : grad;
}

void bd_grad_pair_y(bd_grad_ctx *c, const bd_grad_pair *p, braid_out grad)
{
    c->input_grads[1] = needs_reduction(p, &p->y_static) ? reduced(p, grad, true) : grad;
}
