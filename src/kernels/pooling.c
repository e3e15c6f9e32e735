// Pooling by oneDNN.
//
// The gradient of the greatest element wants to know where it was. TensorFlow's op is not told, so the
// forward pass runs once more, into scratch memory, and writes that down. In the scratch memory lie: where
// the greatest elements were, their values, what oneDNN wants besides. Where the channels are last, our own
// loop is faster, which does both in one pass (pooling_simd.c).
#include "kernels/pooling.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "kernels/dnnl.h"
#include "kernels/simd.h"

typedef struct bd_pooling {
    bd_primitive base;
    bd_pooling_kind kind;
    bd_pooling_shape shape;
    int64_t images; // of a call, a divisor of the batch
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t forward_desc, backward_desc;
    dnnl_primitive_t forward, backward; // NULL where the kind does not need it
    bd_dnnl_lanes lanes;                // input: x or dx
    // Of the gradient of the greatest element, on one thread.
    dnnl_memory_t workspace, again_output;           // the latter of the forward pass that runs for it
    size_t workspace_size, again_size, scratch_size; // bytes, multiples of 64
} bd_pooling;

// ---- Preparing ----

typedef struct images {
    dnnl_memory_desc_t input, output;
    dnnl_dims_t window, stride, pad_before, pad_after;
    dnnl_alg_kind_t algorithm;
} images;

static bool is_grad(bd_pooling_kind kind)
{
    return kind == BD_POOLING_MAX_GRAD || kind == BD_POOLING_MEAN_GRAD;
}

static bool describe(const bd_pooling *p, images *i)
{
    const bd_pooling_shape *s = &p->shape;
    // oneDNN's kernels for images, of depth 1, are faster.
    const int from = s->in[0] == 1 && s->out[0] == 1 && s->window[0] == 1;
    static const dnnl_format_tag_t first[] = {dnnl_ncdhw, dnnl_nchw}, last[] = {dnnl_ndhwc, dnnl_nhwc};
    dnnl_format_tag_t tag = (s->channels_first ? first : last)[from];
    dnnl_dims_t in = {p->images, s->channels}, out = {p->images, s->channels};
    for (int d = from; d < 3; d++) {
        i->window[d - from] = s->window[d];
        i->stride[d - from] = s->stride[d];
        i->pad_before[d - from] = s->pad_before[d];
        i->pad_after[d - from] = s->pad_after[d];
        in[2 + d - from] = s->in[d];
        out[2 + d - from] = s->out[d];
    }
    i->algorithm = p->kind == BD_POOLING_MAX || p->kind == BD_POOLING_MAX_GRAD
                       ? dnnl_pooling_max
                       : dnnl_pooling_avg_exclude_padding;
    return dnnl_memory_desc_init_by_tag(&i->input, 5 - from, in, dnnl_f32, tag) == dnnl_success &&
           dnnl_memory_desc_init_by_tag(&i->output, 5 - from, out, dnnl_f32, tag) == dnnl_success;
}

static bool make_descs(bd_pooling *p, const images *i)
{
    dnnl_pooling_desc_t d;
    dnnl_prop_kind_t prop = is_grad(p->kind) ? dnnl_forward_training : dnnl_forward_inference;
    if (dnnl_pooling_forward_desc_init(&d, prop, i->algorithm, &i->input, &i->output, i->stride, i->window,
                                       i->pad_before, i->pad_after) != dnnl_success ||
        dnnl_primitive_desc_create(&p->forward_desc, &d, p->attr, bd_dnnl_engine(), NULL) != dnnl_success)
        return false;
    return !is_grad(p->kind) ||
           (dnnl_pooling_backward_desc_init(&d, i->algorithm, &i->input, &i->output, i->stride, i->window,
                                            i->pad_before, i->pad_after) == dnnl_success &&
            dnnl_primitive_desc_create(&p->backward_desc, &d, p->attr, bd_dnnl_engine(), p->forward_desc) ==
                dnnl_success);
}

static bool make_memory(dnnl_memory_t *m, const dnnl_memory_desc_t *md)
{
    return dnnl_memory_create(m, md, bd_dnnl_engine(), DNNL_MEMORY_NONE) == dnnl_success;
}

static size_t rounded_size(const dnnl_memory_desc_t *md)
{
    return (dnnl_memory_desc_get_size(md) + 63) / 64 * 64;
}

// Scratch memory serves one primitive at a time.
static const dnnl_memory_desc_t *larger_scratch(const bd_pooling *p)
{
    const dnnl_memory_desc_t *a = dnnl_primitive_desc_query_md(p->forward_desc, dnnl_query_scratchpad_md, 0);
    if (!p->backward_desc) return a;
    const dnnl_memory_desc_t *b = dnnl_primitive_desc_query_md(p->backward_desc, dnnl_query_scratchpad_md, 0);
    return dnnl_memory_desc_get_size(a) > dnnl_memory_desc_get_size(b) ? a : b;
}

static bool prepare(bd_pooling *p)
{
    images i;
    if (!bd_dnnl_engine() || !describe(p, &i) || dnnl_primitive_attr_create(&p->attr) != dnnl_success ||
        dnnl_primitive_attr_set_scratchpad_mode(p->attr, dnnl_scratchpad_mode_user) != dnnl_success ||
        !make_descs(p, &i))
        return false;
    const dnnl_memory_desc_t *scratch = larger_scratch(p);
    p->scratch_size = rounded_size(scratch);
    p->lanes = (bd_dnnl_lanes){
        .max = p->shape.batch / p->images, .input = i.input, .output = i.output, .scratch = *scratch};
    if (!bd_dnnl_lanes_grow(&p->lanes, 1) ||
        (p->kind != BD_POOLING_MEAN_GRAD &&
         dnnl_primitive_create(&p->forward, p->forward_desc) != dnnl_success) ||
        (is_grad(p->kind) && dnnl_primitive_create(&p->backward, p->backward_desc) != dnnl_success))
        return false;
    if (p->kind != BD_POOLING_MAX_GRAD) return true;
    const dnnl_memory_desc_t *workspace =
        dnnl_primitive_desc_query_md(p->forward_desc, dnnl_query_workspace_md, 0);
    p->workspace_size = rounded_size(workspace);
    p->again_size = rounded_size(&i.output);
    return make_memory(&p->workspace, workspace) && make_memory(&p->again_output, &i.output);
}

static void pooling_free(bd_primitive *base)
{
    bd_pooling *p = BD_CONTAINER_OF(base, bd_pooling, base);
    dnnl_memory_t memories[] = {p->workspace, p->again_output};
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++)
        if (memories[i]) dnnl_memory_destroy(memories[i]);
    if (p->forward) dnnl_primitive_destroy(p->forward);
    if (p->backward) dnnl_primitive_destroy(p->backward);
    if (p->forward_desc) dnnl_primitive_desc_destroy(p->forward_desc);
    if (p->backward_desc) dnnl_primitive_desc_destroy(p->backward_desc);
    bd_dnnl_lanes_fini(&p->lanes);
    if (p->attr) dnnl_primitive_attr_destroy(p->attr);
    bd_free(p);
}

static bool has_elements(const bd_pooling_shape *s)
{
    return s->batch > 0 && s->channels > 0 && !bd_volume_is_empty(s->in) && !bd_volume_is_empty(s->out);
}

// An element is worth some multiplications: it is loaded.
#define ELEMENT_MULTIPLICATIONS 8

static int64_t images_of_call(const bd_pooling_shape *s)
{
    const double all = ELEMENT_MULTIPLICATIONS * bd_volume_estimate(s->out) * (double)s->channels *
                       bd_volume_estimate(s->window);
    return bd_dnnl_images_of_call(
        s->batch, all < BD_DNNL_CALL_MULTIPLICATIONS ? (int64_t)all : BD_DNNL_CALL_MULTIPLICATIONS);
}

// ---- Running ----

static bool point_at(dnnl_memory_t m, void *data)
{
    return !m || dnnl_memory_set_data_handle(m, data) == dnnl_success;
}

static bool run_forward(const bd_pooling *p, const bd_dnnl_lane *l, dnnl_memory_t output)
{
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, l->input},
                              {DNNL_ARG_DST, output},
                              {DNNL_ARG_SCRATCHPAD, l->scratch},
                              {DNNL_ARG_WORKSPACE, p->workspace}};
    return bd_dnnl_execute(p->forward, l->stream, p->workspace ? 4 : 3, args);
}

static bool run_backward(const bd_pooling *p, const bd_dnnl_lane *l)
{
    dnnl_exec_arg_t args[] = {{DNNL_ARG_DIFF_SRC, l->input},
                              {DNNL_ARG_DIFF_DST, l->output},
                              {DNNL_ARG_SCRATCHPAD, l->scratch},
                              {DNNL_ARG_WORKSPACE, p->workspace}};
    return bd_dnnl_execute(p->backward, l->stream, p->workspace ? 4 : 3, args);
}

typedef struct call {
    const bd_pooling *pooling;
    const bd_pooling_data *data;
} call;

static bool run_call(void *arg, const bd_dnnl_lane *l, int64_t i)
{
    const call *a = arg;
    const bd_pooling *p = a->pooling;
    const bd_pooling_shape *s = &p->shape;
    const int64_t planes = i * p->images * s->channels, in = planes * bd_volume(s->in),
                  out = planes * bd_volume(s->out); // before its images
    float *x = a->data->x, *dx = a->data->dx, *y = a->data->y, *dy = a->data->dy;
    if (!is_grad(p->kind))
        return point_at(l->input, x + in) && point_at(l->output, y + out) && run_forward(p, l, l->output);
    if (p->kind == BD_POOLING_MAX_GRAD && !(point_at(l->input, x + in) && run_forward(p, l, p->again_output)))
        return false;
    return point_at(l->input, dx + in) && point_at(l->output, dy + out) && run_backward(p, l);
}

static bool pooling_run(bd_primitive *base, const void *pooling_data, void *scratch, const bd_team *team)
{
    bd_pooling *p = BD_CONTAINER_OF(base, bd_pooling, base);
    call a = {p, pooling_data};
    char *at = scratch;
    bd_dnnl_one_thread();
    return point_at(p->workspace, at) && point_at(p->again_output, at + p->workspace_size) &&
           bd_dnnl_share(&(bd_dnnl_job){.lanes = &p->lanes,
                                        .calls = p->shape.batch / p->images,
                                        .threads = bd_primitive_threads(base, team),
                                        .fn = run_call,
                                        .arg = &a,
                                        .scratch = at + p->workspace_size + p->again_size,
                                        .scratch_size = p->scratch_size},
                         team);
}

// ---- Our own loops ----

bool bd_pooling_has_loop(bd_number type, bd_pooling_kind kind, const bd_pooling_shape *s)
{
    return (kind == BD_POOLING_MAX_GRAD || kind == BD_POOLING_MAX_RELU_GRAD) &&
           (type == BD_F32 || type == BD_F64) && !s->channels_first &&
           bd_volume_estimate(s->window) <= BD_MAX_GRAD_WINDOW;
}

void bd_pooling_loop(bd_number type, bd_pooling_kind kind, const bd_pooling_shape *s,
                     const bd_pooling_data *d, int64_t from, int64_t to)
{
    bd_kernels()->max_grad[type](s, d->x, d->dy, d->dx, kind == BD_POOLING_MAX_RELU_GRAD, from, to);
}

// ---- The cache ----

bd_primitive *bd_pooling_take(bd_primitive_cache *cache, bd_pooling_kind kind, const bd_pooling_shape *shape)
{
    bd_primitive *found = bd_primitive_take(cache, shape, sizeof *shape);
    if (found) return found;
    if (!has_elements(shape) || kind == BD_POOLING_MAX_PICK || kind == BD_POOLING_MAX_GRAD_ALL ||
        kind == BD_POOLING_MAX_RELU_GRAD)
        return NULL;
    bd_pooling *p = bd_calloc(1, sizeof *p);
    p->kind = kind;
    p->shape = *shape;
    p->images = images_of_call(shape);
    p->base = (bd_primitive){
        .free = pooling_free, .shape = &p->shape, .shape_size = sizeof p->shape, .run = pooling_run};
    bd_dnnl_one_thread();
    if (!prepare(p)) {
        pooling_free(&p->base);
        return NULL;
    }
    p->base.threads_max = kind == BD_POOLING_MAX_GRAD ? 1 : shape->batch / p->images;
    p->base.scratch_size = p->workspace_size + p->again_size;
    p->base.thread_scratch_size = p->scratch_size;
    return &p->base;
}
