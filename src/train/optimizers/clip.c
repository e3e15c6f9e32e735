// Clipping by norms.
#include <braid/clip.h>

#include "base/alloc.h"
#include "train/common/build.h"

// 1 / clip_norm, as a quotient of constants.
static braid_out reciprocal(braid_graph *g, braid_dtype dtype, double clip_norm)
{
    braid_out one = braid_const_number(g, NULL, dtype, 1);
    return train_op_number(g, "RealDiv", "truediv", one, clip_norm);
}

static bool is_usable(braid_graph *g, const char *what, double clip_norm)
{
    if (clip_norm > 0) return true;
    braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: the norm to clip to must be positive, not %g", what,
                     clip_norm);
    return false;
}

// ---- One value: x * clip_norm * min(1 / norm, 1 / clip_norm) ----

braid_out braid_clip_by_norm(braid_graph *g, braid_out x, double clip_norm)
{
    if (!x.op || !is_usable(g, "clip_by_norm", clip_norm)) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "clip_by_norm");
    braid_out squares = braid_mul(g, x, x);
    braid_out inverse =
        train_node1(g, "Rsqrt", NULL, train_reduce(g, "Sum", squares, train_all_axes(g, x), true));
    braid_out scaled = train_op_number(g, "Mul", "mul", x, clip_norm);
    braid_out limit = reciprocal(g, train_base_dtype(braid_out_dtype(x)), clip_norm);
    braid_out out = braid_identity(g, scope, braid_mul(g, scaled, braid_minimum(g, inverse, limit)));
    braid_pop_name_scope(g);
    return out;
}

braid_out braid_clip_by_average_norm(braid_graph *g, braid_out x, double clip_norm)
{
    if (!x.op || !is_usable(g, "clip_by_average_norm", clip_norm)) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "clip_by_average_norm");
    braid_out elements = braid_cast(g, train_size_of(g, x), BRAID_FLOAT);
    braid_out squares = braid_mul(g, x, x);
    braid_out inverse =
        train_node1(g, "Rsqrt", NULL, train_reduce(g, "Sum", squares, train_rank_range(g, x), false));
    braid_out scaled = train_op_number(g, "Mul", "mul", x, clip_norm);
    braid_out average = braid_mul(g, inverse, elements);
    braid_out limit = reciprocal(g, BRAID_FLOAT, clip_norm);
    braid_out out = braid_identity(g, scope, braid_mul(g, scaled, braid_minimum(g, average, limit)));
    braid_pop_name_scope(g);
    return out;
}

// ---- Several together ----

// L2Loss, half the sum of squares, lies beside each value.
braid_out braid_global_norm(braid_graph *g, const braid_out *xs, int count)
{
    braid_out *halves = bd_calloc((size_t)count, sizeof *halves), norm = BRAID_NONE;
    int n = 0;
    (void)braid_push_name_scope(g, "global_norm");
    for (int i = 0; i < count; i++) {
        if (!xs[i].op) continue;
        braid_push_colocate(g, xs[i].op);
        halves[n++] = train_node1(g, "L2Loss", NULL, xs[i]);
        braid_pop_colocate(g);
    }
    if (n == 0) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "global_norm: there is no value to take the norm of");
    } else {
        braid_op_desc *d = braid_op_begin(g, "Pack", "stack");
        braid_op_input_list(d, halves, n);
        braid_out half = braid_reduce_sum(g, braid_op_end_out(d));
        braid_out two = braid_const_number(g, NULL, train_base_dtype(braid_out_dtype(half)), 2);
        norm = train_node1(g, "Sqrt", "global_norm", braid_mul(g, half, two));
    }
    braid_pop_name_scope(g);
    bd_free(halves);
    return norm;
}

braid_out braid_clip_by_global_norm(braid_graph *g, const braid_out *xs, int count, double clip_norm,
                                    braid_out use_norm, braid_out *outs)
{
    if (!is_usable(g, "clip_by_global_norm", clip_norm)) return BRAID_NONE;
    braid_out norm = use_norm.op ? use_norm : braid_global_norm(g, xs, count);
    if (!norm.op) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "clip_by_global_norm");
    braid_out inverse = train_number_op(g, "RealDiv", "truediv", 1, norm);
    braid_out limit = reciprocal(g, train_base_dtype(braid_out_dtype(norm)), clip_norm);
    braid_out scale = train_number_op(g, "Mul", "mul", clip_norm, braid_minimum(g, inverse, limit));
    for (int i = 0; i < count; i++) {
        outs[i] = xs[i];
        if (!xs[i].op) continue;
        char *name = bd_asprintf("%s_%d", scope, i);
        braid_push_colocate(g, xs[i].op);
        outs[i] = braid_identity(g, name, braid_mul(g, xs[i], scale));
        braid_pop_colocate(g);
        bd_free(name);
    }
    braid_pop_name_scope(g);
    return norm;
}

braid_out braid_clip_gradients(braid_graph *g, braid_grad_and_var *pairs, int count, double clip_norm)
{
    braid_out *grads = bd_calloc((size_t)count, sizeof *grads);
    for (int i = 0; i < count; i++)
        grads[i] = pairs[i].grad;
    braid_out norm = braid_clip_by_global_norm(g, grads, count, clip_norm, BRAID_NONE, grads);
    for (int i = 0; i < count; i++)
        pairs[i].grad = grads[i];
    bd_free(grads);
    return norm;
}
