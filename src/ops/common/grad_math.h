// Short sequences of nodes that gradient functions of mathematical ops share, named as TensorFlow's Python
// names them.
#ifndef BD_OPS_COMMON_GRAD_MATH_H
#define BD_OPS_COMMON_GRAD_MATH_H

#include "graph/grad.h"

// A Python expression of a number and an output, `2.0 * x` or `x - 1`: a constant "x" (or "y") and the op in
// a name scope of the name given ("mul", "sub", "add", "Maximum"). The constant has x's type.
braid_out bd_grad_number_left(braid_graph *g, const char *op, const char *name, double number, braid_out x);
braid_out bd_grad_number_right(braid_graph *g, const char *op, const char *name, braid_out x, double number);

static inline braid_out bd_grad_mul(braid_graph *g, braid_out a, braid_out b)
{
    return bd_b2(g, "Mul", "mul", a, b);
}

// tf.expand_dims(vector, -1) * rows: each row times its number.
braid_out bd_grad_scale_rows(braid_graph *g, braid_out vector, braid_out rows);

// The conjugate of complex numbers; other types unchanged.
braid_out bd_grad_conj(braid_graph *g, braid_out x);

// A Const of a branch or a loop as one where the gradient is; other outputs as they are.
braid_out bd_grad_constant_here(braid_graph *g, braid_out x);

// tf.zeros_like(x), a Const when the shape is fully known.
braid_out bd_grad_zeros_like(braid_graph *g, braid_out x);
braid_out bd_grad_ones_like(braid_graph *g, braid_out x); // tf.ones_like(x)

// op(x, numbers), with the numbers as a Const in the op's own name scope, or as a Const of their own.
braid_out bd_grad_with_ints(braid_graph *g, const char *op, braid_out x, const char *name,
                            const int32_t *values, int count);
braid_out bd_grad_const_shape(braid_graph *g, const char *name, const braid_shape *shape);

// Nodes that are built until the matching end run after `grad` is computed, so that their memory is not
// allocated too early.
void bd_grad_after_begin(braid_graph *g, braid_out grad);
void bd_grad_after_end(braid_graph *g);

// The operands of a broadcasting op, their shapes, and the axes over which each one's gradient is to be
// summed.
typedef struct bd_grad_pair {
    braid_graph *g;
    braid_out x, y, grad;                       // the operands and the gradient that arrives
    braid_out x_shape, y_shape, x_axes, y_axes; // NULL where shapes are static
    bool is_static;                             // both shapes are fully known: these are they, and the axes
    braid_shape x_static, y_static;
    int x_axis_count, y_axis_count;
    int32_t x_static_axes[BRAID_RANK_MAX], y_static_axes[BRAID_RANK_MAX];
} bd_grad_pair;
// Makes nodes of the shapes, of the axes, and of both.
void bd_grad_pair_shapes(bd_grad_ctx *c, bd_grad_pair *p);
void bd_grad_pair_axes(bd_grad_pair *p);
void bd_grad_pair_begin(bd_grad_ctx *c, bd_grad_pair *p);
// The same where a shape is not fully known. Otherwise the axes are constants, and an operand whose shape is
// the gradient's takes it as it is.
void bd_grad_pair_begin_static(bd_grad_ctx *c, bd_grad_pair *p);
// Whether the shapes of both operands and of the gradient are fully known and the same.
bool bd_grad_pair_is_equal(const bd_grad_ctx *c);
void bd_grad_pair_conj(bd_grad_pair *p); // takes the conjugates of complex operands
// Sums over the axes and reshapes where that changes the shape; the gradient of input 0 (or 1) is that.
void bd_grad_pair_x(bd_grad_ctx *c, const bd_grad_pair *p, braid_out grad);
void bd_grad_pair_y(bd_grad_ctx *c, const bd_grad_pair *p, braid_out grad);

#endif
