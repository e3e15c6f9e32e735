// Convolutions by oneDNN, in the layout of their users: only the filter is brought into an order that oneDNN
// likes.
//
// A prepared convolution holds oneDNN's primitives and memory objects; a run points them at the tensors. In
// the scratch memory the filter in oneDNN's order comes first, then what the primitives want. Threads share
// the images of a batch (bd_dnnl_share); the gradient of a filter, a sum over them, has one call.
//
// The gradient of an input whose windows move by single positions is a convolution of the output's gradient
// with the mirrored filter, whose channels are swapped. oneDNN's convolutions are faster than its gradients
// (libdnnl 2.6.3).
//
// oneDNN pads the channels of its result to a whole vector register. The gradient of an input of one or three
// channels, an image, is therefore made from a matrix product: the gradient that each element of the filter
// sends to each output position, which is then added up where it belongs.
#include "kernels/conv.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "kernels/dnnl.h"
#include "kernels/gemm.h"
#include "kernels/loops.h"
#include <string.h>

enum {
    INPUT,
    FILTER,
    OUTPUT,
    BIAS, // with has_bias only
    TENSORS
};

typedef struct bd_conv {
    bd_primitive base;
    bd_conv_kind kind;
    bd_conv_shape shape;
    bool is_mirrored; // an input's gradient as a convolution
    bd_conv_shape
        inner;      // what oneDNN computes: of BD_CONV_OUTPUT if it is mirrored, else the same as `shape`
    int64_t images; // of a call, a divisor of the batch: of a filter's gradient all
    dnnl_primitive_attr_t attr;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t conv, reorder; // reorder is NULL when oneDNN prefers the filter's order
    dnnl_memory_t filter, bias;     // as the convolution wants them
    dnnl_memory_t user_filter;      // in the user's order, when there is a reorder
    dnnl_memory_t reorder_scratch;
    bd_dnnl_lanes lanes; // of the convolution's calls
    // Bytes of the filter in oneDNN's order, of the mirrored one, of the reorder and of each thread;
    // multiples of 64.
    size_t filter_size, mirrored_size, reorder_size, scratch_size;
    bool by_product; // without oneDNN's convolution: the members between are not used
} bd_conv;

#define PRODUCT_CHANNELS_MAX 4 // a quarter of an AVX-512 register

// ---- Preparing ----

// The first of the dimensions that oneDNN is told of: 1 for images, whose kernels are faster, 0 for volumes.
static int first_dimension(const bd_conv_shape *s)
{
    return s->in[0] == 1 && s->out[0] == 1 && s->filter[0] == 1 && s->pad_before[0] == 0;
}

// Describes a tensor of dimensions a, b and the spatial ones; before them `groups` in a filter of groups.
static bool describe(const bd_conv_shape *s, dnnl_memory_desc_t *md, int64_t a, int64_t b,
                     const int64_t size[3], int64_t groups, dnnl_format_tag_t tag)
{
    dnnl_dims_t dims;
    int n = 0;
    if (groups > 1) dims[n++] = groups;
    dims[n++] = a;
    dims[n++] = b;
    for (int d = first_dimension(s); d < 3; d++)
        dims[n++] = size[d];
    return dnnl_memory_desc_init_by_tag(md, n, dims, dnnl_f32, tag) == dnnl_success;
}

static bool describe_filter(const bd_conv_shape *s, dnnl_memory_desc_t *md, dnnl_format_tag_t tag)
{
    return describe(s, md, s->out_channels / s->groups, s->in_channels / s->groups, s->filter, s->groups,
                    tag);
}

// The descriptions of the user's tensors; the filter's order is left open in `filter`.
typedef struct tensors {
    dnnl_memory_desc_t input, filter, user_filter, output, bias;
    dnnl_dims_t stride, dilation, pad_before, pad_after;
} tensors;

// The user's filter [height, width, in, out] as the one that has `in` for its output's channels.
static bool describe_swapped_filter(const bd_conv_shape *s, dnnl_memory_desc_t *md)
{
    const int from = first_dimension(s);
    dnnl_dims_t dims = {s->out_channels, s->in_channels}, strides = {s->in_channels, 1};
    int64_t stride = s->in_channels * s->out_channels;
    for (int d = 2; d >= from; d--) {
        dims[2 + d - from] = s->filter[d];
        strides[2 + d - from] = stride;
        stride *= s->filter[d];
    }
    return dnnl_memory_desc_init_by_strides(md, 5 - from, dims, dnnl_f32, strides) == dnnl_success;
}

static bool describe_all(const bd_conv *c, tensors *t)
{
    const bd_conv_shape *s = &c->inner;
    const int64_t images = c->images;
    // By whether it is an image.
    static const dnnl_format_tag_t first[] = {dnnl_ncdhw, dnnl_nchw}, last[] = {dnnl_ndhwc, dnnl_nhwc},
                                   filter[] = {dnnl_dhwio, dnnl_hwio}, groups[] = {dnnl_dhwigo, dnnl_hwigo};
    const int from = first_dimension(s);
    dnnl_format_tag_t tag = (s->channels_first ? first : last)[from];
    for (int d = from; d < 3; d++) {
        t->stride[d - from] = s->stride[d];
        t->dilation[d - from] = s->dilation[d] - 1;
        t->pad_before[d - from] = s->pad_before[d];
        t->pad_after[d - from] = s->pad_after[d];
    }
    return describe(s, &t->input, images, s->in_channels, s->in, 1, tag) &&
           describe(s, &t->output, images, s->out_channels, s->out, 1, tag) &&
           describe_filter(s, &t->filter, dnnl_format_tag_any) &&
           (c->is_mirrored ? describe_swapped_filter(s, &t->user_filter)
                           : describe_filter(s, &t->user_filter, (s->groups > 1 ? groups : filter)[from])) &&
           dnnl_memory_desc_init_by_tag(&t->bias, 1, (dnnl_dims_t){s->out_channels}, dnnl_f32, dnnl_x) ==
               dnnl_success;
}

static bool make_forward_desc(bd_conv *c, const tensors *t, dnnl_prop_kind_t prop, dnnl_primitive_desc_t *out)
{
    dnnl_convolution_desc_t d;
    return dnnl_dilated_convolution_forward_desc_init(
               &d, prop, dnnl_convolution_direct, &t->input, &t->filter, c->shape.has_bias ? &t->bias : NULL,
               &t->output, t->stride, t->dilation, t->pad_before, t->pad_after) == dnnl_success &&
           dnnl_primitive_desc_create(out, &d, c->attr, bd_dnnl_engine(), NULL) == dnnl_success;
}

static bool make_backward_desc(bd_conv *c, const tensors *t)
{
    dnnl_convolution_desc_t d;
    dnnl_primitive_desc_t forward;
    if (!make_forward_desc(c, t, dnnl_forward_training, &forward)) return false;
    dnnl_status_t status =
        c->kind == BD_CONV_INPUT_GRAD
            ? dnnl_dilated_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, &t->input,
                                                               &t->filter, &t->output, t->stride, t->dilation,
                                                               t->pad_before, t->pad_after)
            : dnnl_dilated_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, &t->input,
                                                                  &t->filter, NULL, &t->output, t->stride,
                                                                  t->dilation, t->pad_before, t->pad_after);
    bool ok = status == dnnl_success &&
              dnnl_primitive_desc_create(&c->desc, &d, c->attr, bd_dnnl_engine(), forward) == dnnl_success;
    dnnl_primitive_desc_destroy(forward);
    return ok;
}

static bool make_memory(dnnl_memory_t *m, const dnnl_memory_desc_t *md)
{
    return dnnl_memory_create(m, md, bd_dnnl_engine(), DNNL_MEMORY_NONE) == dnnl_success;
}

static size_t whole_lines(size_t size)
{
    return (size + 63) / 64 * 64;
}

// Between the user's filter and oneDNN's, in the direction that the kind asks for.
static bool make_reorder(bd_conv *c, const dnnl_memory_desc_t *user, const dnnl_memory_desc_t *inner)
{
    bool outwards = c->kind == BD_CONV_FILTER_GRAD;
    dnnl_primitive_desc_t desc;
    if (dnnl_reorder_primitive_desc_create(&desc, outwards ? inner : user, bd_dnnl_engine(),
                                           outwards ? user : inner, bd_dnnl_engine(),
                                           c->attr) != dnnl_success)
        return false;
    const dnnl_memory_desc_t *scratch = dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    bool ok = dnnl_primitive_create(&c->reorder, desc) == dnnl_success &&
              make_memory(&c->reorder_scratch, scratch) && make_memory(&c->user_filter, user);
    c->filter_size = whole_lines(dnnl_memory_desc_get_size(inner));
    c->reorder_size = whole_lines(dnnl_memory_desc_get_size(scratch));
    dnnl_primitive_desc_destroy(desc);
    return ok;
}

// Where a filter of one element strides, oneDNN copies the positions that it meets into its scratch memory,
// for a filter's gradient in whole registers each, also when it has asked for fewer channels' worth.
static size_t scratch_beyond(const bd_conv_shape *s)
{
    enum {
        REGISTER_SIZE = 64
    };
    bool is_strided_point = bd_volume(s->filter) == 1 && bd_volume(s->stride) > 1;
    return is_strided_point ? (size_t)bd_volume(s->out) * REGISTER_SIZE : 0;
}

static bool make_conv(bd_conv *c, const tensors *t)
{
    if (dnnl_primitive_create(&c->conv, c->desc) != dnnl_success) return false;
    const dnnl_memory_desc_t *filter = dnnl_primitive_desc_query_md(
        c->desc, c->kind == BD_CONV_FILTER_GRAD ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
    const dnnl_memory_desc_t *scratch = dnnl_primitive_desc_query_md(c->desc, dnnl_query_scratchpad_md, 0);
    if (!dnnl_memory_desc_equal(filter, &t->user_filter) && !make_reorder(c, &t->user_filter, filter))
        return false;
    c->scratch_size = whole_lines(dnnl_memory_desc_get_size(scratch) + scratch_beyond(&c->inner));
    if (c->is_mirrored && bd_volume(c->inner.filter) > 1)
        c->mirrored_size = whole_lines(dnnl_memory_desc_get_size(&t->user_filter));
    c->lanes = (bd_dnnl_lanes){
        .max = c->shape.batch / c->images, .input = t->input, .output = t->output, .scratch = *scratch};
    return bd_dnnl_lanes_grow(&c->lanes, 1) && make_memory(&c->filter, filter) &&
           (!c->shape.has_bias || make_memory(&c->bias, &t->bias));
}

static bool has_elements(const bd_conv_shape *s)
{
    return s->batch > 0 && s->in_channels > 0 && s->out_channels > 0 && !bd_volume_is_empty(s->in) &&
           !bd_volume_is_empty(s->out) && !bd_volume_is_empty(s->filter);
}

static void prepare_product(bd_conv *c)
{
    const bd_conv_shape *s = &c->shape;
    c->by_product = true;
    c->scratch_size = sizeof(float) * (size_t)(bd_volume(s->filter) * s->in_channels * bd_volume(s->out));
}

// The convolution that computes the gradient of an input. False when there is none.
static bool mirror(const bd_conv_shape *s, bd_conv_shape *m)
{
    if (bd_volume(s->stride) != 1 || s->groups != 1) return false;
    *m = *s;
    m->in_channels = s->out_channels;
    m->out_channels = s->in_channels;
    for (int d = 0; d < 3; d++) {
        int64_t reach = (s->filter[d] - 1) * s->dilation[d];
        m->in[d] = s->out[d];
        m->out[d] = s->in[d];
        m->pad_before[d] = reach - s->pad_before[d];
        m->pad_after[d] = s->in[d] + reach - s->out[d] - m->pad_before[d];
        if (m->pad_before[d] < 0 || m->pad_after[d] < 0) return false;
    }
    return true;
}

static void conv_free(bd_primitive *p)
{
    bd_conv *c = BD_CONTAINER_OF(p, bd_conv, base);
    dnnl_memory_t memories[] = {c->filter, c->bias, c->user_filter, c->reorder_scratch};
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++)
        if (memories[i]) dnnl_memory_destroy(memories[i]);
    bd_dnnl_lanes_fini(&c->lanes);
    if (c->reorder) dnnl_primitive_destroy(c->reorder);
    if (c->conv) dnnl_primitive_destroy(c->conv);
    if (c->desc) dnnl_primitive_desc_destroy(c->desc);
    if (c->stream) dnnl_stream_destroy(c->stream);
    if (c->attr) dnnl_primitive_attr_destroy(c->attr);
    bd_free(c);
}

static bool prepare_dnnl(bd_conv *c)
{
    tensors t;
    c->is_mirrored = c->kind == BD_CONV_INPUT_GRAD && mirror(&c->shape, &c->inner);
    if (!c->is_mirrored) c->inner = c->shape;
    return bd_dnnl_engine() && describe_all(c, &t) && dnnl_primitive_attr_create(&c->attr) == dnnl_success &&
           dnnl_primitive_attr_set_scratchpad_mode(c->attr, dnnl_scratchpad_mode_user) == dnnl_success &&
           dnnl_stream_create(&c->stream, bd_dnnl_engine(), dnnl_stream_default_flags) == dnnl_success &&
           (c->kind == BD_CONV_OUTPUT || c->is_mirrored
                ? make_forward_desc(c, &t, dnnl_forward_inference, &c->desc)
                : make_backward_desc(c, &t)) &&
           make_conv(c, &t);
}

static int64_t images_of_call(const bd_conv *c)
{
    const bd_conv_shape *s = &c->shape;
    if (c->kind == BD_CONV_FILTER_GRAD) return s->batch;
    const int64_t channels = s->in_channels / s->groups; // of a filter
    const double positions = bd_volume_estimate(s->out) * (double)s->out_channels,
                 all = positions * bd_volume_estimate(s->filter) * (double)channels;
    return bd_dnnl_images_of_call(
        s->batch, all < BD_DNNL_CALL_MULTIPLICATIONS ? (int64_t)all : BD_DNNL_CALL_MULTIPLICATIONS);
}

// ---- Running ----

static bool run_reorder(bd_conv *c)
{
    if (!c->reorder) return true;
    bool outwards = c->kind == BD_CONV_FILTER_GRAD;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, outwards ? c->filter : c->user_filter},
                              {DNNL_ARG_TO, outwards ? c->user_filter : c->filter},
                              {DNNL_ARG_SCRATCHPAD, c->reorder_scratch}};
    return bd_dnnl_execute(c->reorder, c->stream, 3, args);
}

static bool run_conv(const bd_conv *c, const bd_dnnl_lane *lane)
{
    static const int names[][TENSORS] = {
        [BD_CONV_OUTPUT] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS},
        [BD_CONV_INPUT_GRAD] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
        [BD_CONV_FILTER_GRAD] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST},
    };
    const dnnl_memory_t memory[TENSORS] = {lane->input, c->filter, lane->output, c->bias};
    dnnl_exec_arg_t args[TENSORS + 1];
    int count = c->shape.has_bias ? TENSORS : BIAS;
    const int *own = names[c->is_mirrored ? BD_CONV_OUTPUT : c->kind];
    for (int i = 0; i < count; i++)
        args[i] = (dnnl_exec_arg_t){own[i], memory[i]};
    args[count] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, lane->scratch};
    return bd_dnnl_execute(c->conv, lane->stream, count + 1, args);
}

static bool point_at(dnnl_memory_t m, void *data)
{
    return dnnl_memory_set_data_handle(m, data) == dnnl_success;
}

// The output positions along dimension `d` for which element `k` of the filter lies on the input: [from, to).
static void positions(const bd_conv_shape *s, int d, int64_t k, int64_t *from, int64_t *to)
{
    int64_t before = s->pad_before[d] - k * s->dilation[d], after = s->in[d] + before;
    *from = before > 0 ? (before + s->stride[d] - 1) / s->stride[d] : 0;
    *to = after > 0 ? (after + s->stride[d] - 1) / s->stride[d] : 0;
    if (*to > s->out[d]) *to = s->out[d];
}

// Adds n elements, one a position, to elements of the input that are `step` apart.
static void add_row(const float *row, float *input, int64_t step, int64_t n)
{
    if (step == 1) {
        bd_kernels()->binary[BD_ADD][BD_F32](input, row, input, n, BD_SINGLE_NONE);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        input[i * step] += row[i];
}

// The input's position for output position `at`, along dimension `d`, under element `k` of the filter.
static int64_t input_at(const bd_conv_shape *s, int d, int64_t at, int64_t k)
{
    return at * s->stride[d] - s->pad_before[d] + k * s->dilation[d];
}

// Adds the contribution of element `k` of the filter to each position of an image, `parts` [channels,
// positions]. The image is one of a volume's, at its output's depth `depth`.
static void add_parts(const bd_conv_shape *s, const int64_t k[3], int64_t depth, const float *parts,
                      float *volume)
{
    int64_t h, h_to, w, w_to, row = s->in[2] * s->in_channels, all = bd_volume(s->out);
    positions(s, 1, k[1], &h, &h_to);
    positions(s, 2, k[2], &w, &w_to);
    if (w >= w_to) return;
    float *image = volume + input_at(s, 0, depth, k[0]) * s->in[1] * row;
    for (; h < h_to; h++) {
        float *to = image + input_at(s, 1, h, k[1]) * row + input_at(s, 2, w, k[2]) * s->in_channels;
        const float *from = parts + (depth * s->out[1] + h) * s->out[2] + w;
        for (int64_t c = 0; c < s->in_channels; c++)
            add_row(from + c * all, to + c, s->stride[2] * s->in_channels, w_to - w);
    }
}

static void run_product(const bd_conv_shape *s, const bd_conv_data *data, float *parts)
{
    int64_t positions_len = bd_volume(s->out), image_len = bd_volume(s->in) * s->in_channels;
    bd_gemm_shape g = {.m = bd_volume(s->filter) * s->in_channels,
                       .k = s->out_channels,
                       .n = positions_len,
                       .transpose_b = true};
    float *image = data->input, *output = data->output;
    memset(image, 0, sizeof *image * (size_t)(s->batch * image_len));
    for (int64_t n = 0; n < s->batch && !bd_interrupted();
         n++, image += image_len, output += positions_len * s->out_channels) {
        bd_gemm(BD_F32, &g, data->filter, output, parts);
        const float *part = parts;
        for (int64_t i = 0; i < bd_volume(s->filter); i++, part += s->in_channels * positions_len) {
            int64_t k[3] = {i / (s->filter[1] * s->filter[2]), i / s->filter[2] % s->filter[1],
                            i % s->filter[2]};
            int64_t depth, to;
            for (positions(s, 0, k[0], &depth, &to); depth < to; depth++)
                add_parts(s, k, depth, part, image);
        }
    }
}

// Whether the activation may follow each call: its loops compute the last elements of a part, which fill no
// vector, by other instructions than the same elements of the whole.
static bool acts_by_part(const bd_conv *c)
{
    enum {
        TOGETHER = 64
    };
    const bd_conv_shape *s = &c->inner;
    return c->images * bd_volume(s->out) * s->out_channels % TOGETHER == 0 || c->images == s->batch;
}

typedef struct call {
    const bd_conv *conv;
    const bd_conv_data *data;
} call;

static bool run_call(void *arg, const bd_dnnl_lane *lane, int64_t i)
{
    const call *a = arg;
    const bd_conv_shape *s = &a->conv->inner;
    const int64_t images = a->conv->images, in = images * bd_volume(s->in) * s->in_channels,
                  out = images * bd_volume(s->out) * s->out_channels;
    float *output = (float *)a->data->output + i * out;
    if (!point_at(lane->input, (float *)a->data->input + i * in) || !point_at(lane->output, output) ||
        !run_conv(a->conv, lane))
        return false;
    if (a->data->activation && acts_by_part(a->conv)) a->data->activation(output, output, out);
    return true;
}

// Call by call; the filter is in oneDNN's order.
static bool run_images(bd_conv *c, const bd_conv_data *data, void *scratch, const bd_team *team)
{
    call a = {c, data};
    const bool ok = bd_dnnl_share(&(bd_dnnl_job){.lanes = &c->lanes,
                                                 .calls = c->inner.batch / c->images,
                                                 .threads = bd_primitive_threads(&c->base, team),
                                                 .fn = run_call,
                                                 .arg = &a,
                                                 .scratch = scratch,
                                                 .scratch_size = c->scratch_size},
                                  team);
    if (ok && data->activation && !acts_by_part(c))
        bd_unary_blocks(data->activation, data->output, sizeof(float), data->output, sizeof(float),
                        c->inner.batch * bd_volume(c->inner.out) * c->inner.out_channels);
    return ok;
}

// Copies the filter with its positions in reverse.
static void mirror_filter(const bd_conv_shape *s, const float *filter, float *out)
{
    int64_t count = bd_volume(s->filter), slice = s->in_channels * s->out_channels;
    for (int64_t i = 0; i < count; i++)
        memcpy(out + (count - 1 - i) * slice, filter + i * slice, (size_t)slice * sizeof *out);
}

static bool conv_run(bd_primitive *p, const void *conv_data, void *scratch, const bd_team *team)
{
    bd_conv *c = BD_CONTAINER_OF(p, bd_conv, base);
    const bd_conv_data *data = conv_data;
    bd_dnnl_one_thread();
    if (c->by_product) {
        run_product(&c->shape, data, scratch);
        return true;
    }
    bd_conv_data given = *data;
    if (c->is_mirrored)
        given = (bd_conv_data){.input = data->output, .filter = data->filter, .output = data->input};
    if (c->mirrored_size > 0) {
        given.filter = (char *)scratch + c->filter_size;
        mirror_filter(&c->shape, data->filter, given.filter);
    }
    char *rest = (char *)scratch + c->filter_size + c->mirrored_size, *of_calls = rest + c->reorder_size;
    bool ok = point_at(c->filter, c->reorder ? scratch : given.filter);
    if (c->shape.has_bias) ok = ok && point_at(c->bias, given.bias);
    if (c->reorder) ok = ok && point_at(c->user_filter, given.filter) && point_at(c->reorder_scratch, rest);
    if (c->kind == BD_CONV_FILTER_GRAD) return ok && run_images(c, &given, of_calls, team) && run_reorder(c);
    return ok && run_reorder(c) && run_images(c, &given, of_calls, team);
}

// ---- The cache ----

bd_primitive *bd_conv_take(bd_primitive_cache *cache, bd_conv_kind kind, const bd_conv_shape *shape)
{
    bd_primitive *p = bd_primitive_take(cache, shape, sizeof *shape);
    if (p) return p;
    if (!has_elements(shape)) return NULL;
    bd_conv *c = bd_calloc(1, sizeof *c);
    c->kind = kind;
    c->shape = *shape;
    c->images = images_of_call(c);
    c->base =
        (bd_primitive){.free = conv_free, .shape = &c->shape, .shape_size = sizeof c->shape, .run = conv_run};
    bd_dnnl_one_thread();
    bool is_image =
        shape->in_channels <= PRODUCT_CHANNELS_MAX && !shape->channels_first && shape->groups == 1;
    if (kind == BD_CONV_INPUT_GRAD && is_image) {
        prepare_product(c);
    } else if (!prepare_dnnl(c)) {
        conv_free(&c->base);
        return NULL;
    }
    c->base.threads_max = c->by_product ? 1 : shape->batch / c->images;
    c->base.scratch_size = c->filter_size + c->mirrored_size + c->reorder_size;
    c->base.thread_scratch_size = c->scratch_size;
    return &c->base;
}
