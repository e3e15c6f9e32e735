// ImageSummary: images of a batch as PNG.
#include "base/alloc.h"
#include "base/half.h"
#include "graph/shape_fn.h"
#include "io/png.h"
#include "ops/io/summary.h"

#include <math.h>
#include <string.h>

// Samples up to this size are taken for noise around zero.
#define ZERO_THRESHOLD 1e-6F

#define PIXELS_MAX ((int64_t)1 << 29)

typedef struct image_state {
    int64_t max_images;
    const braid_tensor *bad_color; // of the node
} image_state;

static braid_code image_create(const braid_op *node, void *state, braid_status *st)
{
    image_state *s = state;
    s->max_images = bd_node_attr_int(node, "max_images");
    s->bad_color = bd_node_attr_tensor(node, "bad_color");
    if (s->max_images > INT32_MAX) return bd_fail(st, BRAID_INVALID_ARGUMENT, "max_images must be < 2^31");
    if (s->bad_color->dtype != BRAID_UINT8)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "bad_color must be uint8, got %s",
                       braid_dtype_name(s->bad_color->dtype));
    if (s->bad_color->shape.rank != 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "bad_color must be a vector, got shape %s",
                       bd_shape_str(&s->bad_color->shape, (char[BD_SHAPE_STR_MAX]){0}));
    return BRAID_OK;
}

// ---- Samples of any range as bytes ----

// An image of floating-point samples in [pixel_count, depth].
typedef struct samples {
    const braid_tensor *t;
    int64_t first, pixel_count;
    int depth;
} samples;

static double sample(const samples *s, int64_t pixel, int i)
{
    double value = 0;
    bd_real_element(s->t, s->first + pixel * s->depth + i, &value);
    return value;
}

static bool is_finite_pixel(const samples *s, int64_t pixel)
{
    for (int i = 0; i < s->depth; i++)
        if (!isfinite(sample(s, pixel, i))) return false;
    return true;
}

static void find_range(const samples *s, float *min, float *max)
{
    *min = INFINITY;
    *max = -INFINITY;
    for (int64_t p = 0; p < s->pixel_count; p++) {
        for (int i = 0; is_finite_pixel(s, p) && i < s->depth; i++) {
            float value = (float)sample(s, p, i);
            *min = fminf(*min, value);
            *max = fmaxf(*max, value);
        }
    }
}

// Without negative samples the largest becomes 255; else zero becomes 128 and the largest by magnitude is 127
// away from it.
static void scale_to_bytes(const samples *s, const uint8_t *bad_color, uint8_t *out)
{
    float min, max, scale, offset = 0;
    find_range(s, &min, &max);
    if (min < 0) {
        float most = fmaxf(fabsf(min), fabsf(max));
        scale = most < ZERO_THRESHOLD ? 0 : 127.0F / most;
        offset = 128;
    } else {
        scale = max < ZERO_THRESHOLD ? 0 : 255.0F / max;
    }
    bool is_double = s->t->dtype == BRAID_DOUBLE; // each type in its own precision
    for (int64_t p = 0; p < s->pixel_count; p++, out += s->depth) {
        if (!is_finite_pixel(s, p)) {
            memcpy(out, bad_color, (size_t)s->depth);
            continue;
        }
        for (int i = 0; i < s->depth; i++) {
            double x = sample(s, p, i);
            double y = is_double ? x * (double)scale + (double)offset : (double)((float)x * scale + offset);
            out[i] = (uint8_t)fmin(y, UINT8_MAX);
        }
    }
}

// ---- The op ----

static bool check_input(const bd_summary_images *in)
{
    bd_op_ctx *c = in->c;
    const braid_shape *s = &bd_input(c, in->tag + 1)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (bd_input(c, in->tag)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tags must be a scalar");
    } else if (s->rank != 4 || (s->dims[3] != 1 && s->dims[3] != 3 && s->dims[3] != 4)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tensor must be 4-D with last dim 1, 3, or 4, not %s",
                   bd_shape_str(s, text));
    } else if (s->dims[0] > INT32_MAX || s->dims[1] > INT32_MAX || s->dims[2] > INT32_MAX ||
               s->dims[1] * s->dims[2] >= PIXELS_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tensor too large for summary %s", bd_shape_str(s, text));
    } else if (s->dims[1] * s->dims[2] == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input tensor must have non-zero dims. Found: %s",
                   bd_shape_str(s, text));
    } else if (bd_input(c, in->tag + 1)->dtype != BRAID_UINT8 && in->bad_color->shape.dims[0] < s->dims[3]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "expected depth <= bad_color.size, got depth = %lld, bad_color.size = %lld",
                   (long long)s->dims[3], (long long)in->bad_color->shape.dims[0]);
    }
    return !bd_op_failed(c);
}

// Where image `i` has its bytes: in the input, or scaled in `scratch`.
static const uint8_t *pixels_of(const bd_summary_images *in, int64_t i, uint8_t *scratch)
{
    const braid_tensor *t = bd_input(in->c, in->tag + 1);
    int64_t size = bd_shape_count_range(&t->shape, 1, 4);
    if (t->dtype == BRAID_UINT8) return (const uint8_t *)t->data + i * size;
    samples s = {.t = t, .first = i * size, .depth = (int)t->shape.dims[3]};
    s.pixel_count = size / s.depth;
    scale_to_bytes(&s, in->bad_color->data, scratch);
    return scratch;
}

static void put_image(const bd_summary_images *in, int64_t i, uint8_t *scratch, bd_wire_writer *out)
{
    BD_STATUS(st);
    const braid_shape *s = &bd_input(in->c, in->tag + 1)->shape;
    bd_summary_image image = {(int32_t)s->dims[1], (int32_t)s->dims[2], (int32_t)s->dims[3], NULL, 0};
    uint8_t *png;
    bd_png_image pixels = {.samples = pixels_of(in, i, scratch),
                           .height = image.height,
                           .width = image.width,
                           .depth = image.depth,
                           .bits = 8,
                           .compression = -1};
    if (bd_png_encode(&pixels, &png, &image.png_len, st)) {
        bd_op_fail_status(in->c, st);
        return;
    }
    bd_summary_tag base = bd_input_tag(in->c, in->tag, 0);
    bd_strbuf tag = {0};
    bd_strbuf_append_n(&tag, base.len ? base.text : "", base.len);
    bd_strbuf_append(&tag, "/image"); // so that images are never shown without a group
    if (in->max_images > 1) bd_strbuf_appendf(&tag, "/%lld", (long long)i);
    image.png = png;
    bd_summary_put_image(out, (bd_summary_tag){bd_strbuf_str(&tag), tag.len}, &image);
    bd_strbuf_fini(&tag);
    bd_free(png);
}

void bd_summary_put_images(const bd_summary_images *in, bd_wire_writer *out)
{
    if (!check_input(in)) return;
    const braid_tensor *t = bd_input(in->c, in->tag + 1);
    int64_t count = bd_min(t->shape.dims[0], in->max_images);
    uint8_t *scratch = bd_try_malloc((size_t)bd_shape_count_range(&t->shape, 1, 4));
    if (!scratch) {
        bd_op_fail(in->c, BRAID_RESOURCE_EXHAUSTED, "no memory for an image");
        return;
    }
    for (int64_t i = 0; i < count && !bd_op_failed(in->c); i++)
        put_image(in, i, scratch, out);
    bd_free(scratch);
}

static void image_run(bd_op_ctx *c)
{
    const image_state *state = c->state;
    bd_summary_images in = {.c = c, .max_images = state->max_images, .bad_color = state->bad_color};
    bd_summary_output o;
    bd_summary_begin(&o);
    bd_summary_put_images(&in, &o.out);
    bd_summary_end(c, &o);
}

BD_OP(ImageSummary) = {
    .signature = "(tag: string, tensor: T) -> (summary: string)",
    .attrs =
        "max_images:int>=1=3; T:type{double,float,half,uint8}=float; bad_color:tensor=dtype: DT_UINT8 tensor_shape { "
        "dim { size: 4 } } int_val: 255 int_val: 0 int_val: 0 int_val: 255",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(image_state),
                           .create = image_create,
                           .run = image_run}),
    .doc =
        "A summary of the first images of a batch, as PNG. Samples that are not bytes are scaled to what there is; a pixel "
        "that is not finite gets bad_color.",
};
