// Runs element-wise functions with loops of the op itself.
#include "ops/common/pairwise.h"

#include "base/check.h"
#include "kernels/broadcast.h"
#include "kernels/loops.h"

void bd_pairwise_run_of(bd_op_ctx *c, bd_binary_fn fn, int x_input, int y_input, braid_dtype out)
{
    const braid_tensor *x = bd_input(c, x_input), *y = bd_input(c, y_input);
    braid_shape shape;
    bd_broadcast b;
    if (!bd_shape_broadcast(&x->shape, &y->shape, &shape)) {
        char s[BD_SHAPE_STR_MAX], t[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s", bd_shape_str(&x->shape, s),
                   bd_shape_str(&y->shape, t));
        return;
    }
    // Over an operand only where that has the shape of the result: a row that is read again must stay.
    int over = bd_shape_equal(&x->shape, &shape) && x->buffer && bd_buffer_is_unique(x->buffer) ? x_input
               : bd_shape_equal(&y->shape, &shape)                                              ? y_input
                                                                                                : -1;
    braid_tensor *z = over < 0 ? bd_output(c, 0, out, &shape) : bd_output_forward(c, 0, over, out, &shape);
    if (!z) return;
    bool fits = bd_broadcast_init(&b, x->shape.dims, x->shape.rank, y->shape.dims, y->shape.rank);
    BD_ASSERT(fits && fn);
    bd_broadcast_run(&b, fn, x->data, y->data, braid_dtype_size(x->dtype), z->data, braid_dtype_size(out));
}

void bd_pairwise_run(bd_op_ctx *c, const bd_pair_table table, braid_dtype out)
{
    bd_pairwise_run_of(c, table[bd_input(c, 0)->dtype], 0, 1, out);
}

void bd_singly_run(bd_op_ctx *c, const bd_single_table table, braid_dtype out)
{
    const braid_tensor *x = bd_input(c, 0);
    bd_unary_fn fn = table[x->dtype];
    BD_ASSERT(fn);
    braid_tensor *y = bd_output_forward(c, 0, 0, out, &x->shape);
    if (y)
        bd_unary_blocks(fn, x->data, braid_dtype_size(x->dtype), y->data, braid_dtype_size(out),
                        bd_tensor_count(x));
}
