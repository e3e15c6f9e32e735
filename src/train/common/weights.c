// Weights of values in losses and metrics: TensorFlow's rules for their shapes.
#include "train/common/weights.h"

#include "base/strbuf.h"
#include "train/common/build.h"

static void print_shape(const braid_shape *s, bd_strbuf *out)
{
    if (s->rank < 0) {
        bd_strbuf_append(out, "?");
        return;
    }
    bd_strbuf_append(out, "[");
    for (int i = 0; i < s->rank; i++) {
        if (i) bd_strbuf_append(out, ",");
        if (s->dims[i] < 0)
            bd_strbuf_append(out, "?");
        else
            bd_strbuf_appendf(out, "%lld", (long long)s->dims[i]);
    }
    bd_strbuf_append(out, "]");
}

// Fails with "WHAT: PART_A SHAPE PART_B SHAPE".
static void fail_shapes(braid_graph *g, const char *what, const char *rule, braid_out a, braid_out b)
{
    const braid_shape sa = braid_out_shape(a), sb = braid_out_shape(b);
    bd_strbuf first = {0}, second = {0};
    print_shape(&sa, &first);
    print_shape(&sb, &second);
    braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: %s: '%s' has shape %s, '%s' has shape %s", what, rule,
                     braid_op_name(a.op), bd_strbuf_str(&first), braid_op_name(b.op), bd_strbuf_str(&second));
    bd_strbuf_fini(&first);
    bd_strbuf_fini(&second);
}

bool train_shapes_agree(braid_graph *g, const char *what, braid_out labels, braid_out predictions)
{
    if (!labels.op || !predictions.op) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: the %s are nothing", what,
                         labels.op ? "predictions" : "labels");
        return false;
    }
    const braid_shape a = braid_out_shape(labels), b = braid_out_shape(predictions);
    if (a.rank < 0 || b.rank < 0) return true;
    bool agree = a.rank == b.rank;
    for (int i = 0; agree && i < a.rank; i++)
        agree = a.dims[i] < 0 || b.dims[i] < 0 || a.dims[i] == b.dims[i];
    if (!agree) fail_shapes(g, what, "labels and predictions must have one shape", labels, predictions);
    return agree;
}

braid_out train_check_weights(braid_graph *g, const char *what, braid_out weights, braid_out values)
{
    const braid_shape w = braid_out_shape(weights), v = braid_out_shape(values);
    if (!weights.op || !values.op) return BRAID_NONE;
    if (w.rank == 0) return weights;
    bool fits = w.rank == v.rank && w.rank >= 0, is_known = true;
    for (int i = 0; fits && i < w.rank; i++) {
        if (w.dims[i] == 1) continue;
        fits = w.dims[i] < 0 || v.dims[i] < 0 || w.dims[i] == v.dims[i];
        is_known &= w.dims[i] >= 0 && v.dims[i] >= 0;
    }
    if (!fits) {
        fail_shapes(g, what,
                    "weights must be a scalar, or have the known rank of the values and dimensions that are "
                    "equal or 1",
                    weights, values);
        return BRAID_NONE;
    }
    if (is_known) return weights;
    const char *scope = braid_push_name_scope(g, "assert_broadcastable");
    braid_out shape = train_shape_of(g, values);
    braid_pop_name_scope(g);
    return train_node2(g, "BroadcastTo", scope, weights, shape);
}

braid_out train_broadcast_weights(braid_graph *g, braid_out weights, braid_out values)
{
    const braid_shape w = braid_out_shape(weights), v = braid_out_shape(values);
    if (braid_shape_num_elements(w) >= 0 && braid_shape_equal(w, v)) return weights;
    const char *scope = braid_push_name_scope(g, "broadcast_weights");
    braid_out ones = braid_ones_like(g, values);
    braid_pop_name_scope(g);
    return train_node2(g, "Mul", scope, weights, ones);
}

braid_out train_squeeze_last(braid_graph *g, braid_out x, int rank)
{
    const braid_shape shape = braid_out_shape(x);
    if (rank < 0 || shape.rank != rank + 1 || (shape.dims[rank] != 1 && shape.dims[rank] != -1)) return x;
    return braid_squeeze(g, x, &(int32_t){-1}, 1);
}

braid_out train_sum_named(braid_graph *g, const char *name, braid_out x)
{
    if (!x.op) return BRAID_NONE;
    return train_node2(g, "Sum", name, x, train_all_axes(g, x));
}
