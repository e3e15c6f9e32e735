// Shared by the pooling ops.
#include "ops/nn/pool.h"

braid_code bd_pool_shape_of(bd_shape_ctx *c, const bd_window *w, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 4, st);
    if (code) return code;
    const braid_shape *in = &c->inputs[0];
    braid_shape out = {.rank = 4, .dims = {-1, -1, -1, -1}};
    if (in->rank == 4) out = *in;
    for (int d = 0; d < 2 && !code; d++) {
        int64_t *dim = &out.dims[bd_window_axis(w, d)];
        code = w->size[d] ? bd_shape_ctx_window(c, w, d, *dim, w->size[d], dim, st) : BRAID_OK;
        if (!w->size[d]) *dim = -1;
    }
    if (!code) c->outputs[0] = out;
    return code;
}

braid_code bd_pool_bind(const braid_op *node, bd_pool_state *s, braid_status *st)
{
    braid_code code = bd_window_read(node, &s->window, st);
    if (code) return code;
    s->type = bd_number_of(bd_node_attr_type(node, "T"));
    bd_primitive_cache_init(&s->cache);
    return BRAID_OK;
}

braid_code bd_pool_create(const braid_op *node, void *state, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(node, &w, st);
    if (!code) code = bd_window_check_axes(node, &w, st);
    return code ? code : bd_pool_bind(node, state, st);
}

void bd_pool_destroy(void *state)
{
    bd_primitive_cache_fini(&((bd_pool_state *)state)->cache);
}

// Returns whether every window overlaps the image; explicit padding may be too large for that.
static bool reaches(const bd_window *w, int d, int64_t in, const bd_window_fit *fit)
{
    if (w->padding != BD_PADDING_EXPLICIT || fit->out == 0) return true;
    return in > 0 && fit->before < w->size[d] && fit->after < w->size[d];
}

bool bd_pool_sizes(bd_op_ctx *c, const bd_window *w, const braid_shape *in, bd_pooling_shape *out,
                   braid_shape *pooled)
{
    BD_STATUS(st);
    if (in->rank != 4) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "tensor_in must be 4-dimensional: %s", bd_shape_str(in, text));
        return false;
    }
    *out = (bd_pooling_shape){.batch = in->dims[0],
                              .channels = in->dims[bd_window_channel_axis(w)],
                              .channels_first = w->channels_first};
    *pooled = *in;
    for (int d = 0; d < 2; d++) {
        bd_window_fit fit;
        int axis = bd_window_axis(w, d);
        out->in[d] = in->dims[axis];
        out->window[d] = w->size[d];
        out->stride[d] = w->stride[d];
        if (bd_window_fit_dimension(w, d, out->in[d], w->size[d], &fit, st)) {
            bd_op_fail_status(c, st);
            return false;
        }
        if (!reaches(w, d, out->in[d], &fit)) {
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "explicit_paddings must be less than the window: each window of %lld must reach into a "
                "dimension of %lld, padded by %lld and %lld",
                (long long)w->size[d], (long long)out->in[d], (long long)fit.before, (long long)fit.after);
            return false;
        }
        out->out[d] = pooled->dims[axis] = fit.out;
        out->pad_before[d] = fit.before;
        out->pad_after[d] = fit.after;
    }
    return true;
}

bool bd_pool_check_shape(bd_op_ctx *c, int i, const char *kind, const char *name, const braid_shape *want)
{
    const braid_shape *got = &bd_input(c, i)->shape;
    if (bd_shape_equal(got, want)) return true;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (got->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 4-dimensional: %s", kind, bd_shape_str(got, a));
    } else {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected %s shape to be %s, but got %s", name,
                   bd_shape_str(want, a), bd_shape_str(got, b));
    }
    return false;
}

static bool is_empty(const bd_pooling_shape *s, const int64_t size[2])
{
    return s->batch == 0 || s->channels == 0 || size[0] == 0 || size[1] == 0;
}

void bd_pool_run(bd_op_ctx *c, bd_pooling_kind kind, const bd_pooling_shape *shape,
                 const bd_pooling_data *data)
{
    bd_pool_state *s = c->state;
    // In an empty tensor the other sizes may be too large to walk over. Without windows the gradients are
    // zeros.
    if (is_empty(shape, shape->in) || (!data->dx && is_empty(shape, shape->out))) return;
    if (s->type != BD_F32 || !bd_run_primitive(c, &s->cache, bd_pooling_take(&s->cache, kind, shape), data))
        bd_pooling_plain(s->type, kind, shape, data);
}

braid_out bd_pool_like(const bd_grad_ctx *c, const char *op, const braid_out *inputs, int count)
{
    braid_op_desc *d = braid_op_begin(c->graph, op, NULL);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    bd_window_copy_attrs(d, c->op);
    return braid_op_end_out(d);
}
