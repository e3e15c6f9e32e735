// ScaleAndTranslate and its gradient: images resized and moved, through one of several filters.
//
// Rows and columns are done one after the other. For each position of the output a span of positions of the
// input is weighed, by the filter at their distance; the gradient sends back along the same spans.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/image/image.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <strings.h>

// ---- Filters, as functions of the distance, which is not negative ----

#define PI 3.14159265359f // as many digits as TensorFlow takes

static float lanczos(float x, float radius)
{
    if (x > radius) return 0;
    if (x <= 1e-3f) return 1;
    return radius * sinf(PI * x) * sinf(PI * x / radius) / (PI * PI * x * x);
}

// With sigma 0.5, a third of the radius.
static float gaussian(float x, float radius)
{
    return x >= radius ? 0 : (float)exp((double)(-x * x) / 0.5);
}

static float box(float x, float radius)
{
    (void)radius;
    return x < 0.5f ? 1 : x == 0.5f ? 0.5f : 0;
}

static float triangle(float x, float radius)
{
    (void)radius;
    return x < 1 ? 1 - x : 0;
}

// R. G. Keys, Cubic convolution interpolation for digital image processing, 1981
static float keys_cubic(float x, float radius)
{
    if (x >= radius) return 0;
    return x >= 1 ? ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f : (1.5f * x - 2.5f) * x * x + 1.0f;
}

// D. P. Mitchell and A. N. Netravali, Reconstruction filters in computer graphics, 1988
static float mitchell_cubic(float x, float radius)
{
    if (x >= radius) return 0;
    if (x >= 1) return ((-7.0f / 18.0f * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
    return (7.0f / 6.0f * x - 2.0f) * x * x + 8.0f / 9.0f;
}

typedef struct filter {
    const char *name;
    float (*weight)(float distance, float radius);
    float radius;
} filter;

static const filter filters[] = {
    {"lanczos1", lanczos, 1},
    {"lanczos3", lanczos, 3},
    {"lanczos5", lanczos, 5},
    {"gaussian", gaussian, 1.5f},
    {"box", box, 1},
    {"triangle", triangle, 1},
    {"keyscubic", keys_cubic, 2},
    {"mitchellcubic", mitchell_cubic, 2},
};

typedef struct scale_state {
    const filter *filter;
    bool antialias;
} scale_state;

static braid_code scale_create(const braid_op *node, void *state, braid_status *st)
{
    scale_state *s = state;
    const char *name = bd_node_attr_string(node, "kernel_type");
    s->antialias = bd_node_attr_bool(node, "antialias");
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        if (strcasecmp(filters[i].name, name) == 0) s->filter = &filters[i];
    }
    if (s->filter) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Unrecognized kernel type: %s", name);
}

// ---- Spans ----

// Position i of `count` reads `width` positions from starts[i] on, as far as they exist, with weights[i width
// ..].
typedef struct spans {
    int64_t count, size, width; // `size` is the number of input positions
    int32_t *starts;
    float *weights;
} spans;

static void free_spans(spans *s)
{
    bd_free(s->starts);
    bd_free(s->weights);
}

// A place as a position of [0, size).
static int64_t position(float place, int64_t size)
{
    if (!(place > 0)) return 0;
    int64_t at = place < 2147483648.0f ? (int64_t)place : size;
    return at < size ? at : size - 1;
}

// Fills the span of position `i`, whose center in the input is `middle`.
static void fill_span(const filter *f, float kernel_scale, float middle, spans *s, int64_t i)
{
    float reach = f->radius * kernel_scale, sum = 0, *weights = s->weights + i * s->width;
    if (!(middle >= 0 && middle <= (float)s->size)) return; // outside: an empty span
    int64_t from = position(ceilf(middle - reach - 0.5f), s->size);
    int64_t to = position(floorf(middle + reach - 0.5f), s->size) + 1;
    if (to > from + s->width) to = from + s->width;
    for (int64_t k = from; k < to; k++) {
        weights[k - from] = f->weight(fabsf(((float)k + 0.5f - middle) * (1.0f / kernel_scale)), f->radius);
        sum += weights[k - from];
    }
    float factor = fabsf(sum) >= 1000.0f * FLT_MIN ? 1.0f / sum : 0;
    for (int64_t k = from; k < to; k++)
        weights[k - from] *= factor;
    s->starts[i] = (int32_t)from;
}

// False: the kernel has failed.
static bool make_spans(bd_op_ctx *c, int64_t count, int64_t size, float scale, float translation, spans *s)
{
    const scale_state *state = c->state;
    float inverse = (float)(1.0 / (double)scale), moved = -inverse * translation;
    float kernel_scale = state->antialias && inverse > 1 ? inverse : 1;
    float wide = 2 * ceilf(state->filter->radius * kernel_scale) + 1;
    *s = (spans){.count = count, .size = size, .width = wide < (float)size ? (int64_t)wide : size};
    s->starts = bd_try_calloc((size_t)count, sizeof *s->starts);
    s->weights = bd_try_calloc((size_t)count, sizeof *s->weights * (size_t)s->width);
    if (!s->starts || !s->weights) {
        free_spans(s);
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when weighing %lld of %lld positions", (long long)count,
                   (long long)size);
        return false;
    }
    for (int64_t i = 0; i < count; i++)
        fill_span(state->filter, kernel_scale, ((float)i + 0.5f) * inverse + moved, s, i);
    return true;
}

static int64_t span_len(const spans *s, int64_t i)
{
    int64_t left = s->size - s->starts[i];
    return s->width < left ? s->width : left;
}

// Computes y [outer, count, inner] from x [outer, size, inner] along the spans, or (`back`) x from y.
static void along_spans(const spans *s, bool back, int64_t outer, int64_t inner, float *x, float *y)
{
    int64_t cleared = outer * inner * (back ? s->size : s->count);
    memset(back ? x : y, 0, (size_t)cleared * sizeof *x);
    for (int64_t o = 0; o < outer; o++, x += s->size * inner) {
        for (int64_t i = 0; i < s->count && !bd_interrupted(); i++, y += inner) {
            float *from = x + s->starts[i] * inner;
            for (int64_t k = 0; k < span_len(s, i); k++, from += inner) {
                float w = s->weights[i * s->width + k];
                for (int64_t j = 0; j < inner; j++) {
                    if (back) {
                        from[j] += w * y[j];
                    } else {
                        y[j] += w * from[j];
                    }
                }
            }
        }
    }
}

// ---- Kernels ----

// Two numbers from input `i`.
static bool read_two(bd_op_ctx *c, int i, const char *what, float out[2])
{
    const braid_tensor *t = bd_input(c, i);
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank != 1 || t->shape.dims[0] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a vector of two elements, but has shape %s", what,
                   bd_shape_str(&t->shape, text));
        return false;
    }
    out[0] = bd_tensor_f32(t)[0];
    out[1] = bd_tensor_f32(t)[1];
    return true;
}

// Makes the spans of rows and columns that resize images of size `in` to size `out`. Returns false when the
// kernel has failed.
static bool read_spans(bd_op_ctx *c, const int64_t in[2], const int64_t out[2], spans s[2])
{
    float scale[2], translation[2];
    if (!read_two(c, 2, "scale", scale) || !read_two(c, 3, "translation", translation)) return false;
    if (!(scale[0] > 0 && scale[1] > 0)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Scale must be greater than zero. It is %g and %g",
                   (double)scale[0], (double)scale[1]);
        return false;
    }
    if (!make_spans(c, out[0], in[0], scale[0], translation[0], &s[0])) return false;
    if (make_spans(c, out[1], in[1], scale[1], translation[1], &s[1])) return true;
    free_spans(&s[0]);
    return false;
}

// Between images x of size s[.].size and y of s[.].count, through rows that are done and columns that are
// not.
static void resample(bd_op_ctx *c, const spans s[2], bool back, const braid_shape *x_shape, float *x,
                     float *y)
{
    int64_t channels = x_shape->dims[3];
    int64_t rows = back ? s[0].size : s[0].count, columns = back ? s[1].count : s[1].size;
    braid_shape shape = {.rank = 3, .dims = {rows, columns, channels}};
    braid_tensor between;
    if (!bd_tensor_alloc(&between, BRAID_FLOAT, &shape)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when resampling %lld rows of %lld columns",
                   (long long)rows, (long long)columns);
        return;
    }
    float *middle = bd_tensor_f32(&between);
    for (int64_t b = 0; b < x_shape->dims[0]; b++) {
        if (back) {
            along_spans(&s[0], true, 1, s[1].count * channels, middle, y);
            along_spans(&s[1], true, s[0].size, channels, x, middle);
        } else {
            along_spans(&s[0], false, 1, s[1].size * channels, x, middle);
            along_spans(&s[1], false, s[0].count, channels, middle, y);
        }
        x += s[0].size * s[1].size * channels;
        y += s[0].count * s[1].count * channels;
    }
    bd_tensor_fini(&between);
}

static void scale_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t size[2];
    spans s[2];
    if (!bd_image_size_input(c, 1, size) || !bd_image_check(c, "input", x)) return;
    braid_shape shape = x->shape;
    shape.dims[1] = size[0];
    shape.dims[2] = size[1];
    braid_tensor floats, *y = bd_image_output(c, BRAID_FLOAT, &shape);
    if (!y || bd_tensor_count(y) == 0 || !read_spans(c, &x->shape.dims[1], size, s)) return;
    if (bd_image_floats(c, x, &floats)) {
        resample(c, s, false, &x->shape, bd_tensor_f32(&floats), bd_tensor_f32(y));
        bd_tensor_fini(&floats);
    }
    free_spans(&s[0]);
    free_spans(&s[1]);
}

static void scale_grad_run(bd_op_ctx *c)
{
    const braid_tensor *dy = bd_input(c, 0), *x = bd_input(c, 1);
    const braid_shape *g = &dy->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    spans s[2];
    if (g->rank != 4 || !bd_image_check(c, "original_image", x) || g->dims[0] != x->shape.dims[0] ||
        g->dims[3] != x->shape.dims[3] || g->dims[1] > INT32_MAX || g->dims[2] > INT32_MAX) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "input_grad must be 4-dimensional, of the batch and channels of original_image, but they are %s "
            "and %s",
            bd_shape_str(g, a), bd_shape_str(&x->shape, b));
        return;
    }
    braid_tensor *dx = bd_image_output(c, BRAID_FLOAT, &x->shape);
    if (!dx || bd_tensor_count(dx) == 0 || bd_tensor_count(dy) == 0) return;
    if (!read_spans(c, &x->shape.dims[1], &g->dims[1], s)) return;
    resample(c, s, true, &x->shape, bd_tensor_f32(dx), bd_tensor_f32(dy));
    free_spans(&s[0]);
    free_spans(&s[1]);
}

// ---- Ops ----

static braid_code scale_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_image_sized_shape(c, 1, st);
}

static braid_code scale_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = c->inputs[1];
    return BRAID_OK;
}

static void scale_gradient(bd_grad_ctx *c)
{
    braid_op_desc *d = braid_op_begin(c->graph, "ScaleAndTranslateGrad", NULL);
    braid_out inputs[] = {c->output_grads[0], c->op->inputs[0], c->op->inputs[2], c->op->inputs[3]};
    for (int i = 0; i < 4; i++)
        braid_op_input(d, inputs[i]);
    braid_op_attr_string(d, "kernel_type", bd_node_attr_string(c->op, "kernel_type"));
    braid_op_attr_bool(d, "antialias", bd_node_attr_bool(c->op, "antialias"));
    c->input_grads[0] = braid_op_end_out(d);
}

BD_OP(ScaleAndTranslate) = {
    .signature = "(images: T, size: int32, scale: float, translation: float) -> (resized_images: float)",
    .attrs =
        "T:type{bfloat16,double,float,half,int16,int32,int64,int8,uint16,uint8}; kernel_type:string='lanczos3'; "
        "antialias:bool=true",
    .shape = scale_shape,
    .gradient = scale_gradient,
    .kernels = BD_KERNELS({.types = "T=" BD_IMAGE_TYPES "|bfloat16",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(scale_state),
                           .create = scale_create,
                           .run = scale_run}),
    .doc = "Scales and translates images through a filter, and cuts them to size.",
};

BD_OP(ScaleAndTranslateGrad) = {
    .signature = "(grads: T, original_image: T, scale: float, translation: float) -> (output: T)",
    .attrs = "T:type{float}; kernel_type:string='lanczos3'; antialias:bool=true",
    .shape = scale_grad_shape,
    .kernels = BD_KERNELS({.types = "T=float",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(scale_state),
                           .create = scale_create,
                           .run = scale_grad_run}),
    .doc = "The gradient of ScaleAndTranslate.",
};
