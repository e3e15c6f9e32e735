// ImageProjectiveTransformV2 and V3: images seen through projective transforms, as tf.image has them since
// TensorFlow 2.
//
// Pixel (x, y) of an output is taken from place ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) of the
// image, k = c0 x + c1 y + 1.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_steps.h"
#include "ops/image/image.h"

#include <math.h>
#include <string.h>

#define TRANSFORM_LEN 8 // a0 a1 a2 b0 b1 b2 c0 c1

// The content outside of the image.
typedef enum beside {
    BESIDE_CONSTANT,
    BESIDE_REFLECT, // d c b a | a b c d | d c b a
    BESIDE_WRAP,    // a b c d | a b c d | a b c d
    BESIDE_NEAREST  // a a a a | a b c d | d d d d
} beside;

typedef struct transform_state {
    bool is_bilinear;
    beside beside;
} transform_state;

static braid_code transform_create(const braid_op *node, void *state, braid_status *st)
{
    static const char *const modes[] = {[BESIDE_CONSTANT] = "CONSTANT",
                                        [BESIDE_REFLECT] = "REFLECT",
                                        [BESIDE_WRAP] = "WRAP",
                                        [BESIDE_NEAREST] = "NEAREST"};
    transform_state *s = state;
    const char *how = bd_node_attr_string(node, "interpolation"),
               *mode = bd_node_attr_string(node, "fill_mode");
    s->is_bilinear = strcmp(how, "BILINEAR") == 0;
    if (!s->is_bilinear && strcmp(how, "NEAREST") != 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Invalid interpolation %s. Supported types: NEAREST, BILINEAR", how);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(mode, modes[i]) != 0) continue;
        s->beside = (beside)i;
        return BRAID_OK;
    }
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "Invalid mode %s. Supported types: CONSTANT, REFLECT, WRAP, NEAREST", mode);
}

// ---- Places ----

// Maps a place along a dimension of `len` pixels into the image, as the mode says.
static float place_within(beside mode, float at, int64_t len)
{
    float n = (float)len, last = (float)(len - 1);
    if (mode == BESIDE_CONSTANT || isnan(at)) return at;
    if (mode == BESIDE_REFLECT && len > 1 && at < 0) {
        if (at < 2 * n) at += 2 * n * truncf(-at / (2 * n));
        at = at < -n ? at + 2 * n : -at - 1;
    } else if (mode == BESIDE_REFLECT && len > 1 && at > last) {
        at -= 2 * n * truncf(at / (2 * n));
        if (at >= n) at = 2 * n - at - 1;
    } else if (mode == BESIDE_WRAP && len > 1 && at < 0) {
        at += n * (truncf(-at / last) + 1);
    } else if (mode == BESIDE_WRAP && len > 1 && at > last) {
        at -= n * truncf(at / last);
    }
    return fmaxf(0, fminf(at, last));
}

typedef struct source {
    const braid_tensor *images;
    int64_t image; // number
    float fill;
} source;

// The index of a pixel's first channel; -1 outside of the image.
static int64_t pixel_at(const source *s, float y, float x)
{
    const int64_t *dims = s->images->shape.dims;
    if (!(y >= 0 && x >= 0 && y < (float)dims[1] && x < (float)dims[2])) return -1;
    return ((s->image * dims[1] + (int64_t)y) * dims[2] + (int64_t)x) * dims[3];
}

// ---- Pixels ----

// Converts a float to an integer, without undefined behaviour.
static int64_t whole(float value)
{
    if (isnan(value)) return 0;
    return value >= 0x1p63f ? INT64_MAX : value <= -0x1p63f ? INT64_MIN : (int64_t)value;
}

#define TRANSFORM(NAME, T, OF)                                                                               \
    static float read_##NAME(const source *s, float y, float x, int64_t channel)                             \
    {                                                                                                        \
        int64_t at = pixel_at(s, y, x);                                                                      \
        return at < 0 ? (float)(T)OF(s->fill) : (float)((const T *)s->images->data)[at + channel];           \
    }                                                                                                        \
    static void nearest_##NAME(const source *s, float y, float x, void *out, int64_t channels)               \
    {                                                                                                        \
        int64_t at = pixel_at(s, roundf(y), roundf(x));                                                      \
        for (int64_t i = 0; i < channels; i++)                                                               \
            ((T *)out)[i] = at < 0 ? (T)OF(s->fill) : ((const T *)s->images->data)[at + i];                  \
    }                                                                                                        \
    static void bilinear_##NAME(const source *s, float y, float x, void *out, int64_t channels)              \
    {                                                                                                        \
        float top = floorf(y), left = floorf(x), down = y - top, right = x - left;                           \
        for (int64_t i = 0; i < channels; i++) {                                                             \
            float above =                                                                                    \
                (left + 1 - x) * read_##NAME(s, top, left, i) + right * read_##NAME(s, top, left + 1, i);    \
            float below = (left + 1 - x) * read_##NAME(s, top + 1, left, i) +                                \
                          right * read_##NAME(s, top + 1, left + 1, i);                                      \
            ((T *)out)[i] = (T)OF((top + 1 - y) * above + down * below);                                     \
        }                                                                                                    \
    }
TRANSFORM(f32, float, )
TRANSFORM(f64, double, )
TRANSFORM(i32, int32_t, whole)
TRANSFORM(i64, int64_t, whole)

typedef void (*pixel_fn)(const source *s, float y, float x, void *out, int64_t channels);

static pixel_fn pixel_fn_of(braid_dtype dtype, bool is_bilinear)
{
    switch (dtype) {
    case BRAID_FLOAT: return is_bilinear ? bilinear_f32 : nearest_f32;
    case BRAID_DOUBLE: return is_bilinear ? bilinear_f64 : nearest_f64;
    case BRAID_INT32: return is_bilinear ? bilinear_i32 : nearest_i32;
    default: return is_bilinear ? bilinear_i64 : nearest_i64;
    }
}

// ---- The kernel ----

static bool check_inputs(bd_op_ctx *c)
{
    const braid_shape *x = &bd_input(c, 0)->shape, *t = &bd_input(c, 1)->shape,
                      *size = &bd_input(c, 2)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (x->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input images must have rank 4, but have shape %s",
                   bd_shape_str(x, text));
    } else if (t->rank != 2 || (t->dims[0] != x->dims[0] && t->dims[0] != 1) || t->dims[1] != TRANSFORM_LEN) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input transform should be num_images x 8 or 1 x 8, but is %s",
                   bd_shape_str(t, text));
    } else if (size->rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "output shape must be 1-dimensional: %s",
                   bd_shape_str(size, text));
    } else if (size->dims[0] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "output shape must have two elements: %s",
                   bd_shape_str(size, text));
    } else if (c->input_count > 3 && bd_input(c, 3)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "fill_value must be a scalar: %s",
                   bd_shape_str(&bd_input(c, 3)->shape, text));
    } else if (bd_tensor_i32(bd_input(c, 2))[0] <= 0 || bd_tensor_i32(bd_input(c, 2))[1] <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "output dimensions must be positive");
    }
    return !bd_op_failed(c);
}

static void transform_pixel(const source *s, const transform_state *how, const float *t, int64_t y, int64_t x,
                            pixel_fn fn, void *out)
{
    const int64_t *dims = s->images->shape.dims;
    float column = (float)x, row = (float)y, scale = t[6] * column + t[7] * row + 1;
    if (scale == 0) { // infinitely far away
        fn(s, -2, -2, out, dims[3]);
        return;
    }
    float from_x = (t[0] * column + t[1] * row + t[2]) / scale,
          from_y = (t[3] * column + t[4] * row + t[5]) / scale;
    fn(s, place_within(how->beside, from_y, dims[1]), place_within(how->beside, from_x, dims[2]), out,
       dims[3]);
}

static void transform_run(bd_op_ctx *c)
{
    const transform_state *how = c->state;
    const braid_tensor *x = bd_input(c, 0), *transforms = bd_input(c, 1);
    if (!check_inputs(c)) return;
    braid_shape shape = x->shape;
    shape.dims[1] = bd_tensor_i32(bd_input(c, 2))[0];
    shape.dims[2] = bd_tensor_i32(bd_input(c, 2))[1];
    braid_tensor *y = bd_image_output(c, x->dtype, &shape);
    if (!y || bd_tensor_count(y) == 0) return;
    source s = {.images = x, .fill = c->input_count > 3 ? *bd_tensor_f32(bd_input(c, 3)) : 0};
    pixel_fn fn = pixel_fn_of(x->dtype, how->is_bilinear);
    size_t pixel = (size_t)shape.dims[3] * braid_dtype_size(x->dtype);
    char *out = y->data;
    for (; s.image < shape.dims[0]; s.image++) {
        const float *t =
            bd_tensor_f32(transforms) + (transforms->shape.dims[0] == 1 ? 0 : s.image * TRANSFORM_LEN);
        for (int64_t i = 0; i < shape.dims[1] && !bd_interrupted(); i++) {
            for (int64_t j = 0; j < shape.dims[2]; j++, out += pixel)
                transform_pixel(&s, how, t, i, j, fn, out);
        }
    }
}

static braid_code transform_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 2, st);
    if (!code && c->input_count > 3) code = bd_shape_ctx_rank(c, 3, 0, st);
    return code ? code : bd_image_sized_shape(c, 2, st);
}

// ---- The gradient: the gradient that arrives, transformed back ----

static braid_out reshape(braid_graph *g, braid_out x, const int32_t *dims, int rank)
{
    return bd_b2(g, "Reshape", NULL, x, bd_b_const_i32_vector(g, "shape", dims, rank));
}

// The inverse transforms. As a matrix, a transform has a ninth number, which is 1.
static braid_out inverse_of(braid_graph *g, braid_out transforms)
{
    const int32_t widths[4] = {0, 0, 0, 1}, square[3] = {-1, 3, 3}, flat[2] = {-1, TRANSFORM_LEN + 1};
    braid_out paddings = reshape(g, bd_b_const_i32_vector(g, "paddings", widths, 4), (int32_t[]){2, 2}, 2);
    braid_out nine = bd_b3(g, "PadV2", NULL, transforms, paddings, bd_b_const_f(g, "one", BRAID_FLOAT, 1));
    braid_out inverse = bd_b1(g, "MatrixInverse", NULL, reshape(g, nine, square, 3));
    nine = reshape(g, inverse, flat, 2);
    bd_grad_index ninth = {.count = 2,
                           .begin = {0, TRANSFORM_LEN},
                           .end = {0, TRANSFORM_LEN + 1},
                           .begin_mask = 1,
                           .end_mask = 1},
                  others = {.count = 2, .end = {0, TRANSFORM_LEN}, .begin_mask = 3, .end_mask = 1};
    nine = bd_b2(g, "RealDiv", "truediv", nine, bd_grad_slice(g, nine, &ninth));
    return bd_grad_slice(g, nine, &others);
}

static void transform_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out inverse = inverse_of(g, c->op->inputs[1]), shape = bd_b_shape(g, "Shape", c->op->inputs[0]);
    braid_op_desc *d = braid_op_begin(g, c->op->op_type, NULL);
    braid_op_input(d, c->output_grads[0]);
    braid_op_input(d, inverse);
    braid_op_input(d, bd_grad_slice(g, shape, &(bd_grad_index){.count = 1, .begin = {1}, .end = {3}}));
    if (c->op->input_count > 3) braid_op_input(d, bd_b_const_f(g, "fill_value", BRAID_FLOAT, 0));
    braid_op_attr_string(d, "interpolation", bd_node_attr_string(c->op, "interpolation"));
    braid_op_attr_string(d, "fill_mode", bd_node_attr_string(c->op, "fill_mode"));
    c->input_grads[0] = braid_op_end_out(d);
}

// ---- Definitions ----

#define TRANSFORM_ATTRS                                                                                      \
    "dtype:type{double,float,half,int32,int64,uint8}; interpolation:string; fill_mode:string='CONSTANT'"
#define TRANSFORM_KERNELS                                                                                    \
    BD_KERNELS({.types = "dtype=float|double|int32|int64",                                                   \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,                                             \
                .state_size = sizeof(transform_state),                                                       \
                .create = transform_create,                                                                  \
                .run = transform_run})

BD_OP(ImageProjectiveTransformV2) = {
    .signature = "(images: dtype, transforms: float, output_shape: int32) -> (transformed_images: dtype)",
    .attrs = TRANSFORM_ATTRS,
    .shape = transform_shape,
    .gradient = transform_gradient,
    .kernels = TRANSFORM_KERNELS,
    .doc = "Takes each pixel from the place that a projective transform gives; 0 outside of the image.",
};

BD_OP(ImageProjectiveTransformV3) = {
    .signature = "(images: dtype, transforms: float, output_shape: int32, fill_value: float) -> "
                 "(transformed_images: dtype)",
    .attrs = TRANSFORM_ATTRS,
    .shape = transform_shape,
    .gradient = transform_gradient,
    .kernels = TRANSFORM_KERNELS,
    .doc = "ImageProjectiveTransformV2 that is told the value beside the image.",
};
