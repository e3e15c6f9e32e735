// Shared by the pooling ops.
#include "ops/nn/pool.h"

#include <string.h>

braid_code bd_pool_shape_of(bd_shape_ctx *c, const bd_window *w, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, bd_window_rank(w), st);
    if (code) return code;
    braid_shape out = c->inputs[0].rank < 0 ? bd_window_unknown_shape(w) : c->inputs[0];
    for (int d = 0; d < w->spatial && !code; d++) {
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
    if (in->rank != bd_window_rank(w)) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "tensor_in must be %d-dimensional: %s", bd_window_rank(w),
                   bd_shape_str(in, text));
        return false;
    }
    *out = (bd_pooling_shape){.batch = in->dims[0],
                              .channels = in->dims[bd_window_channel_axis(w)],
                              .in = {1},
                              .out = {1},
                              .window = {1},
                              .stride = {1},
                              .channels_first = w->channels_first};
    *pooled = *in;
    for (int d = 0; d < w->spatial; d++) {
        bd_window_fit fit;
        const int axis = bd_window_axis(w, d), k = bd_window_triple(w, d);
        out->in[k] = in->dims[axis];
        out->window[k] = w->size[d];
        out->stride[k] = w->stride[d];
        if (bd_window_fit_dimension(w, d, out->in[k], w->size[d], &fit, st)) {
            bd_op_fail_status(c, st);
            return false;
        }
        if (!reaches(w, d, out->in[k], &fit)) {
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "explicit_paddings must be less than the window: each window of %lld must reach into a "
                "dimension of %lld, padded by %lld and %lld",
                (long long)w->size[d], (long long)out->in[k], (long long)fit.before, (long long)fit.after);
            return false;
        }
        out->out[k] = pooled->dims[axis] = fit.out;
        out->pad_before[k] = fit.before;
        out->pad_after[k] = fit.after;
    }
    return true;
}

bool bd_pool_check_shape(bd_op_ctx *c, int i, const char *kind, const char *name, const braid_shape *want)
{
    const braid_shape *got = &bd_input(c, i)->shape;
    if (bd_shape_equal(got, want)) return true;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (got->rank != want->rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be %d-dimensional: %s", kind, want->rank,
                   bd_shape_str(got, a));
    } else {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected %s shape to be %s, but got %s", name,
                   bd_shape_str(want, a), bd_shape_str(got, b));
    }
    return false;
}

#define ELEMENTS_PER_THREAD (INT64_C(512) << 10)

static bool is_empty(const bd_pooling_shape *s, const int64_t size[3])
{
    return s->batch == 0 || s->channels == 0 || bd_volume_is_empty(size);
}

typedef struct loop {
    bd_number type;
    bd_pooling_kind kind;
    const bd_pooling_shape *shape;
    const bd_pooling_data *data;
} loop;

static void run_images(void *arg, int64_t from, int64_t to)
{
    const loop *l = arg;
    bd_pooling_loop(l->type, l->kind, l->shape, l->data, from, to);
}

// Images that are worth a thread.
static int64_t grain_of(const bd_pooling_shape *s)
{
    const double elements = bd_volume_estimate(s->in) * (double)s->channels;
    return elements < ELEMENTS_PER_THREAD ? (int64_t)(ELEMENTS_PER_THREAD / (elements + 1)) + 1 : 1;
}

void bd_pool_run(bd_op_ctx *c, bd_pooling_kind kind, const bd_pooling_shape *shape,
                 const bd_pooling_data *data)
{
    bd_pool_state *s = c->state;
    // In an empty tensor the other sizes may be too large to walk over. Without windows the gradients are
    // zeros.
    if (is_empty(shape, shape->in) || (!data->dx && is_empty(shape, shape->out))) return;
    if (bd_pooling_has_loop(s->type, kind, shape))
        bd_parallel_for(c, shape->batch, grain_of(shape), run_images, &(loop){s->type, kind, shape, data});
    else if (s->type != BD_F32 ||
             !bd_run_primitive(c, &s->cache, bd_pooling_take(&s->cache, kind, shape), data))
        bd_pooling_plain(s->type, kind, shape, data);
}

bool bd_pool_is_3d(const braid_op *node)
{
    return strstr(node->op_type, "3D") != NULL;
}

braid_out bd_pool_like(const bd_grad_ctx *c, const char *op, const braid_out *inputs, int count)
{
    braid_op_desc *d = braid_op_begin(c->graph, op, NULL);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    bd_window_copy_attrs(d, c->op);
    return braid_op_end_out(d);
}

void bd_pool_second_gradient(bd_grad_ctx *c, const char *op)
{
    braid_out inputs[] = {c->op->inputs[0], c->op->inputs[1], c->output_grads[0]};
    c->input_grads[0] = bd_grad_zeros_like(c->graph, inputs[0]);
    c->input_grads[1] = bd_grad_zeros_like(c->graph, inputs[1]);
    c->input_grads[2] = bd_pool_like(c, op, inputs, 3);
}
