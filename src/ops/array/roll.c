// Roll: shifts elements along dimensions; elements shifted out at one end return at the other.
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"

static braid_code roll_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    if (c->inputs[0].rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    for (int i = 1; i < 3; i++) {
        if (c->inputs[i].rank > 1)
            return bd_shape_ctx_fail(c, st, "Shape must be at most rank 1 but is rank %d", c->inputs[i].rank);
    }
    braid_shape merged;
    if (bd_shape_merge(&c->inputs[1], &c->inputs[2], &merged)) return BRAID_OK;
    if (c->inputs[1].rank != c->inputs[2].rank)
        return bd_shape_ctx_fail(c, st, "Shapes must be equal rank, but are %d and %d", c->inputs[1].rank,
                                 c->inputs[2].rank);
    return bd_shape_ctx_fail(c, st, "Dimension 0 in both shapes must be equal, but are %lld and %lld",
                             (long long)c->inputs[1].dims[0], (long long)c->inputs[2].dims[0]);
}

// The shift of each dimension, in [0, its size). False: the kernel has failed.
static bool read_shifts(bd_op_ctx *c, int64_t shifts[BRAID_RANK_MAX])
{
    const braid_tensor *x = bd_input(c, 0), *shift = bd_input(c, 1), *axis = bd_input(c, 2);
    char s[BD_SHAPE_STR_MAX], t[BD_SHAPE_STR_MAX];
    int rank = x->shape.rank;
    if (rank < 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must be 1-D or higher");
    } else if (shift->shape.rank > 1 || axis->shape.rank > 1) {
        bool is_shift = shift->shape.rank > 1;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a scalar or a 1-D vector. Found: %s",
                   is_shift ? "shift" : "axis", bd_shape_str(is_shift ? &shift->shape : &axis->shape, s));
    } else if (!bd_shape_equal(&shift->shape, &axis->shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "shift and axis must have the same size. Found: %s and %s",
                   bd_shape_str(&shift->shape, s), bd_shape_str(&axis->shape, t));
    }
    for (int64_t i = 0; !bd_op_failed(c) && i < bd_tensor_count(axis); i++) {
        int64_t d = bd_tensor_index(axis, i);
        if (d < -rank || d >= rank) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "axis %lld is out of range", (long long)d);
            break;
        }
        if (d < 0) d += rank;
        int64_t size = x->shape.dims[d] > 0 ? x->shape.dims[d] : 1;
        int64_t by = bd_tensor_index(shift, i) % size;
        shifts[d] = (shifts[d] + (by < 0 ? by + size : by)) % size;
    }
    return !bd_op_failed(c);
}

// Shifts one dimension by `by`: copies two blocks; the last `by` elements become the first.
static void roll_along(const braid_tensor *x, int d, int64_t by, const braid_tensor *y)
{
    int64_t size = x->shape.dims[d], outer = bd_shape_count_range(&x->shape, 0, d),
            inner = bd_shape_count_range(&x->shape, d + 1, x->shape.rank), row = size * inner;
    bd_strided block = {.rank = 2, .to_strides = {row, 1}, .from_strides = {row, 1}};
    block.dims[0] = outer;
    block.dims[1] = (size - by) * inner;
    bd_elements_copy_block(y, by * inner, x, 0, &block);
    block.dims[1] = by * inner;
    bd_elements_copy_block(y, 0, x, (size - by) * inner, &block);
}

static void roll_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t shifts[BRAID_RANK_MAX] = {0};
    if (!read_shifts(c, shifts)) return;
    braid_tensor now;
    bd_tensor_ref(&now, x);
    for (int d = 0; d < x->shape.rank && bd_tensor_count(x) > 0; d++) {
        if (shifts[d] == 0) continue;
        braid_tensor next;
        if (!bd_tensor_alloc(&next, x->dtype, &x->shape)) {
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when rolling a tensor");
            break;
        }
        roll_along(&now, d, shifts[d], &next);
        bd_tensor_fini(&now);
        bd_tensor_move(&now, &next);
    }
    if (!bd_op_failed(c)) bd_output_set(c, 0, &now);
    bd_tensor_fini(&now);
}

static void roll_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out back = bd_b1(g, "Neg", NULL, c->op->inputs[1]);
    c->input_grads[0] = bd_b3(g, "Roll", NULL, c->output_grads[0], back, c->op->inputs[2]);
}

BD_OP(Roll) = {
    .signature = "(input: T, shift: Tshift, axis: Taxis) -> (output: T)",
    .attrs = "T:type; Tshift:type{int32,int64}; Taxis:type{int32,int64}",
    .shape = roll_shape,
    .gradient = roll_gradient,
    .kernels = BD_KERNELS({.run = roll_run}),
    .doc = "Shifts elements along axes, wrapping around; several shifts of one axis add up.",
};
