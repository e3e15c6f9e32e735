// Runs element-wise ops over tensors: same shapes and scalars in one loop, other shapes by broadcasting.
#include "ops/common/elementwise.h"

#include "base/check.h"
#include "base/interrupt.h"
#include "kernels/broadcast.h"

bd_number bd_number_of(braid_dtype dtype)
{
    switch (bd_dtype_base(dtype)) {
    case BRAID_FLOAT: return BD_F32;
    case BRAID_DOUBLE: return BD_F64;
    case BRAID_INT32: return BD_I32;
    case BRAID_INT64: return BD_I64;
    case BRAID_BOOL: return BD_B8;
    case BRAID_COMPLEX64: return BD_C64;
    case BRAID_COMPLEX128: return BD_C128;
    default: BD_UNREACHABLE();
    }
}

// The type that the loops of a node are for.
static bd_number number_of_node(const braid_op *node)
{
    return bd_number_of(bd_node_attr(node, "T") ? bd_node_attr_type(node, "T") : BRAID_BOOL);
}

// ---- One argument ----

void bd_unary_bind(const braid_op *node, bd_unary_op op, bd_unary_state *state)
{
    state->fn = bd_unary_loop(op, number_of_node(node));
    state->gives_bool = bd_unary_gives_bool(op);
    BD_ASSERT(state->fn);
}

void bd_unary_run(bd_op_ctx *c)
{
    const bd_unary_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output_forward(c, 0, 0, s->gives_bool ? BRAID_BOOL : x->dtype, &x->shape);
    if (y)
        bd_unary_blocks(s->fn, x->data, braid_dtype_size(x->dtype), y->data, braid_dtype_size(y->dtype),
                        bd_tensor_count(x));
}

// ---- Two arguments ----

void bd_binary_bind(const braid_op *node, bd_binary_op op, bd_binary_state *state)
{
    state->fn = bd_binary_loop(op, number_of_node(node));
    state->op = op;
    BD_ASSERT(state->fn);
}

braid_tensor *bd_output_over_either(bd_op_ctx *c, braid_dtype dtype, const braid_shape *shape)
{
    const braid_tensor *x = bd_input(c, 0);
    bool over_x = x->buffer && bd_buffer_is_unique(x->buffer) && bd_tensor_count(x) == bd_shape_count(shape);
    return bd_output_forward(c, 0, over_x ? 0 : 1, dtype, shape);
}

static bool any_below(const braid_tensor *t, int64_t limit)
{
    int64_t n = bd_tensor_count(t);
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        if (bd_tensor_index(t, i) < limit) return true;
    }
    return false;
}

static bool any_zero(const braid_tensor *t)
{
    int64_t n = bd_tensor_count(t);
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        if (bd_tensor_index(t, i) == 0) return true;
    }
    return false;
}

// Checks for operands that have no integer result, such as a division by 0.
static bool check_integers(bd_op_ctx *c, bd_binary_op op, const braid_tensor *y)
{
    if (y->dtype != BRAID_INT32 && y->dtype != BRAID_INT64) return true;
    bool divides = op == BD_DIV || op == BD_FLOOR_DIV || op == BD_MOD || op == BD_FLOOR_MOD;
    if (divides && any_zero(y)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Integer division by zero");
    } else if (op == BD_POW && any_below(y, 0)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Integers to negative integer powers are not allowed");
    }
    return !bd_op_failed(c);
}

bool bd_check_same_size(bd_op_ctx *c)
{
    if (bd_shape_equal(&bd_input(c, 0)->shape, &bd_input(c, 1)->shape)) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "g and a must be the same size");
    return false;
}

// Gradient ops do not broadcast. As in TensorFlow, ops on the function's value accept any shapes with the
// same number of elements.
static bool check_gradient(bd_op_ctx *c, bd_binary_op op)
{
    if (op > BD_RECIPROCAL_GRAD) return bd_check_same_size(c);
    int64_t x = bd_tensor_count(bd_input(c, 0)), y = bd_tensor_count(bd_input(c, 1));
    if (x != y)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "The two arguments to a cwise op must have same number of elements, got %lld and %lld",
                   (long long)x, (long long)y);
    return x == y;
}

static bool is_single(const braid_tensor *t, const braid_shape *of)
{
    return t->shape.rank <= of->rank && bd_tensor_count(t) == 1;
}

void bd_binary_run(bd_op_ctx *c)
{
    const bd_binary_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0), *y = bd_input(c, 1);
    braid_shape shape = x->shape;
    bool is_gradient = bd_binary_is_gradient(s->op);
    if (is_gradient && !check_gradient(c, s->op)) return;
    bool same = is_gradient || bd_shape_equal(&x->shape, &y->shape);
    if (!same && !bd_shape_broadcast(&x->shape, &y->shape, &shape)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s", bd_shape_str(&x->shape, a),
                   bd_shape_str(&y->shape, b));
        return;
    }
    int64_t count;
    BD_STATUS(st);
    if (bd_shape_checked_count(&shape, &count, st)) { // each may be large beside a 0 of the other
        bd_op_fail_status(c, st);
        return;
    }
    if (count > 0 && !check_integers(c, s->op, y)) return;
    braid_tensor *z = bd_output_over_either(c, bd_binary_gives_bool(s->op) ? BRAID_BOOL : x->dtype, &shape);
    if (!z) return;
    int64_t n = bd_tensor_count(z);
    size_t x_size = braid_dtype_size(x->dtype), z_size = braid_dtype_size(z->dtype);
    if (same || is_single(y, &x->shape)) {
        bd_binary_blocks(s->fn, x->data, y->data, x_size, z->data, z_size, n,
                         same ? BD_SINGLE_NONE : BD_SINGLE_Y);
    } else if (is_single(x, &y->shape)) {
        bd_binary_blocks(s->fn, x->data, y->data, x_size, z->data, z_size, n, BD_SINGLE_X);
    } else {
        bd_broadcast b;
        bool fits = bd_broadcast_init(&b, x->shape.dims, x->shape.rank, y->shape.dims, y->shape.rank);
        BD_ASSERT(fits);
        bd_broadcast_run(&b, s->fn, x->data, y->data, x_size, z->data, z_size);
    }
}
