// ExtractGlimpse and ExtractGlimpseV2: a window of one size from each image of a batch. Places outside of the
// image are noise, or 0.
#include "base/interrupt.h"
#include "base/random.h"
#include "graph/shape_fn.h"
#include "ops/image/image.h"

#include <math.h>
#include <string.h>

typedef enum noise {
    NOISE_ZERO,
    NOISE_UNIFORM,
    NOISE_GAUSSIAN
} noise;

typedef struct glimpse_state {
    bool is_centered, is_normalized;
    bool is_v2; // offsets differ from the first version's unless they are centered and normalized
    noise noise;
} glimpse_state;

static braid_code glimpse_create(const braid_op *node, void *state, braid_status *st)
{
    glimpse_state *s = state;
    const char *name = bd_node_attr_string(node, "noise");
    bool uniform = bd_node_attr_bool(node, "uniform_noise");
    s->is_centered = bd_node_attr_bool(node, "centered");
    s->is_normalized = bd_node_attr_bool(node, "normalized");
    s->is_v2 = strcmp(node->op_type, "ExtractGlimpseV2") == 0;
    if (uniform && name[0] && strcmp(name, "uniform") != 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "The uniform_noise and noise should not be specified at the same time");
    if (strcmp(name, "uniform") == 0 || (!name[0] && uniform)) {
        s->noise = NOISE_UNIFORM;
    } else if (strcmp(name, "gaussian") == 0 || !name[0]) {
        s->noise = NOISE_GAUSSIAN;
    } else if (strcmp(name, "zero") == 0) {
        s->noise = NOISE_ZERO;
    } else {
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "The noise should be uniform, gaussian, or zero, but got: %s", name);
    }
    return BRAID_OK;
}

static braid_code glimpse_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 2, 2, st);
    if (!code) code = bd_image_sized_shape(c, 1, st);
    const braid_shape *offsets = &c->inputs[2];
    if (code || offsets->rank < 0) return code;
    if (offsets->dims[1] >= 0 && offsets->dims[1] != 2)
        return bd_shape_ctx_fail(c, st, "Dimension must be 2 but is %lld", (long long)offsets->dims[1]);
    int64_t *batch = &c->outputs[0].dims[0];
    if (*batch >= 0 && offsets->dims[0] >= 0 && *batch != offsets->dims[0])
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)*batch,
                                 (long long)offsets->dims[0]);
    if (*batch < 0) *batch = offsets->dims[0];
    return BRAID_OK;
}

// The start of a window in the image along an axis, and the number of its pixels inside.
typedef struct overlap {
    int64_t from, len; // in the image
    int64_t at;        // in the window
} overlap;

static overlap overlap_of(const glimpse_state *s, float offset, int64_t image, int64_t window)
{
    bool is_plain = !s->is_v2 || s->is_normalized; // from the image's middle in halves of its size
    if (s->is_normalized) offset *= (float)image;
    if (s->is_centered) offset = (is_plain ? offset / 2.0f : offset) + (float)image / 2.0f;
    // In the second version only these offsets give the window's center; others give its start.
    if (!s->is_v2 || (s->is_centered && s->is_normalized)) offset -= (float)window / 2.0f;
    // A window far outside of the image is empty, and so is one at NaN.
    if (!(offset > -0x1p40f && offset < 0x1p40f)) return (overlap){0};
    int64_t from = (int64_t)offset, to = from + window;
    overlap o = {.from = from < 0 ? 0 : from, .at = from < 0 ? -from : 0};
    o.len = (to < image ? to : image) - o.from;
    if (o.len < 0) o.len = 0;
    return o;
}

// Noise of the same range (or mean and deviation) as the image.
static void fill_noise(noise kind, const float *image, int64_t image_len, float *out, int64_t len,
                       bd_rng *rng)
{
    float least = INFINITY, greatest = -INFINITY;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < image_len; i++) {
        least = fminf(least, image[i]);
        greatest = fmaxf(greatest, image[i]);
        sum += (double)image[i];
        squares += (double)image[i] * (double)image[i];
    }
    double mean = sum / (double)image_len,
           deviation = sqrt(fmax(squares / (double)image_len - mean * mean, 0));
    for (int64_t i = 0; i < len; i++) {
        double u = bd_rng_double(rng);
        if (kind == NOISE_UNIFORM) {
            out[i] = least + (float)u * (greatest - least);
        } else {
            out[i] = (float)(mean + deviation * sqrt(-2 * log(1 - u)) * cos(2 * M_PI * bd_rng_double(rng)));
        }
    }
}

static bool check_inputs(bd_op_ctx *c)
{
    const braid_shape *x = &bd_input(c, 0)->shape, *size = &bd_input(c, 1)->shape,
                      *offsets = &bd_input(c, 2)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (x->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "input must be 4-dimensional (batch_size, height, width, depth), but has shape %s",
                   bd_shape_str(x, text));
    } else if (size->rank != 1 || size->dims[0] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "input must be a vector of size 2 (height, width), but has shape %s",
                   bd_shape_str(size, text));
    } else if (offsets->rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must be a matrix, but has shape %s",
                   bd_shape_str(offsets, text));
    } else if (offsets->dims[0] != x->dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "first dimension should be batch, but has shape %s",
                   bd_shape_str(offsets, text));
    } else if (offsets->dims[1] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "second dimension should be of size 2 (y,x), but has shape %s",
                   bd_shape_str(offsets, text));
    }
    return !bd_op_failed(c);
}

// One image and its window, both of `depth` samples a pixel.
static void copy_window(const braid_shape *in, const braid_shape *out, const float *image, const overlap o[2],
                        float *window)
{
    int64_t depth = in->dims[3];
    for (int64_t i = 0; i < o[0].len && o[1].len > 0 && !bd_interrupted_at(i); i++) {
        const float *from = image + ((o[0].from + i) * in->dims[2] + o[1].from) * depth;
        float *to = window + ((o[0].at + i) * out->dims[2] + o[1].at) * depth;
        memcpy(to, from, (size_t)(o[1].len * depth) * sizeof *to);
    }
}

static void glimpse_run(bd_op_ctx *c)
{
    const glimpse_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    int64_t size[2];
    if (!check_inputs(c) || !bd_image_size_input(c, 1, size)) return;
    braid_shape shape = x->shape;
    shape.dims[1] = size[0];
    shape.dims[2] = size[1];
    braid_tensor *y = bd_image_output(c, BRAID_FLOAT, &shape);
    if (!y || bd_tensor_count(y) == 0) return;
    bd_rng rng = bd_rng_init(bd_random_u64());
    int64_t in_len = bd_shape_count_range(&x->shape, 1, 4), out_len = bd_shape_count_range(&shape, 1, 4);
    for (int64_t b = 0; b < shape.dims[0] && !bd_interrupted(); b++) {
        const float *image = bd_tensor_f32(x) + b * in_len, *offset = bd_tensor_f32(bd_input(c, 2)) + 2 * b;
        float *window = bd_tensor_f32(y) + b * out_len;
        overlap o[2];
        for (int d = 0; d < 2; d++)
            o[d] = overlap_of(s, offset[d], x->shape.dims[1 + d], size[d]);
        bool is_whole = o[0].len == size[0] && o[1].len == size[1];
        if (!is_whole && s->noise != NOISE_ZERO && in_len > 0)
            fill_noise(s->noise, image, in_len, window, out_len, &rng);
        copy_window(&x->shape, &shape, image, o, window);
    }
}

#define GLIMPSE_ATTRS                                                                                        \
    "centered:bool=true; normalized:bool=true; uniform_noise:bool=true; noise:string='uniform'"
#define GLIMPSE_KERNELS                                                                                      \
    BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,                                                                \
                .state_size = sizeof(glimpse_state),                                                         \
                .create = glimpse_create,                                                                    \
                .run = glimpse_run})

BD_OP(ExtractGlimpse) = {
    .signature = "(input: float, size: int32, offsets: float) -> (glimpse: float)",
    .attrs = GLIMPSE_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = glimpse_shape,
    .kernels = GLIMPSE_KERNELS,
    .doc = "A window of `size` around the offset [y, x] of each image, with noise outside of the image.",
};

BD_OP(ExtractGlimpseV2) = {
    .signature = "(input: float, size: int32, offsets: float) -> (glimpse: float)",
    .attrs = GLIMPSE_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = glimpse_shape,
    .kernels = GLIMPSE_KERNELS,
    .doc =
        "ExtractGlimpse whose offsets, unless they are centered and normalized, are the start of the window.",
};
