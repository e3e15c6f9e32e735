// RGBToHSV, HSVToRGB, AdjustHue, AdjustSaturation, AdjustContrast and AdjustContrastv2.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "kernels/color.h"
#include "op/kernel.h"
#include "ops/common/grad_math.h"
#include "ops/image/image.h"

#include <string.h>

// The number of pixels that is worth a task of its own.
#define PIXELS_PER_THREAD 2048

typedef struct color_job {
    const void *x;
    void *y;
    float by;
} color_job;

typedef void (*pixels_fn)(void *arg, int64_t from, int64_t to);

static bool check_rank(bd_op_ctx *c, int rank_min)
{
    const braid_shape *s = &bd_input(c, 0)->shape;
    if (s->rank >= rank_min) return true;
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must be at least %d-D, got shape %s", rank_min,
               bd_shape_str(s, text));
    return false;
}

static bool check_channels(bd_op_ctx *c)
{
    const braid_shape *s = &bd_input(c, 0)->shape;
    if (s->dims[s->rank - 1] == 3) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must have 3 channels but instead has %lld channels.",
               (long long)s->dims[s->rank - 1]);
    return false;
}

// The scalar float in input `i`.
static bool scalar_input(bd_op_ctx *c, int i, const char *what, float *value)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank == 0) {
        *value = bd_tensor_f32(t)[0];
        return true;
    }
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be scalar: %s", what, bd_shape_str(&t->shape, text));
    return false;
}

// Fills output 0, like input 0, pixel by pixel.
static void run_pixels(bd_op_ctx *c, color_job job, pixels_fn fn)
{
    const braid_tensor *x = bd_input(c, 0);
    job.x = x->data;
    braid_tensor *y = bd_output_forward(c, 0, 0, x->dtype, &x->shape);
    if (!y || bd_tensor_count(y) == 0) return;
    job.y = y->data;
    bd_parallel_for(c, bd_tensor_count(y) / 3, PIXELS_PER_THREAD, fn, &job);
}

// ---- RGBToHSV, HSVToRGB ----

static braid_code colors_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *s = &c->inputs[0];
    c->outputs[0] = *s;
    if (s->rank < 0) return BRAID_OK;
    if (s->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    int64_t *last = &c->outputs[0].dims[s->rank - 1];
    if (*last >= 0 && *last != 3)
        return bd_shape_ctx_fail(c, st, "Dimension must be 3 but is %lld", (long long)*last);
    *last = 3;
    return BRAID_OK;
}

#define DEFINE_PIXELS(NAME, T, FN)                                                                           \
    static void NAME(void *arg, int64_t from, int64_t to)                                                    \
    {                                                                                                        \
        const color_job *job = arg;                                                                          \
        FN((const T *)job->x, (T *)job->y, from, to);                                                        \
    }
DEFINE_PIXELS(to_hsv_f32, float, bd_rgb_to_hsv_f32)
DEFINE_PIXELS(to_hsv_f64, double, bd_rgb_to_hsv_f64)
DEFINE_PIXELS(to_rgb_f32, float, bd_hsv_to_rgb_f32)
DEFINE_PIXELS(to_rgb_f64, double, bd_hsv_to_rgb_f64)

static void to_hsv_run(bd_op_ctx *c)
{
    bool is_double = bd_input(c, 0)->dtype == BRAID_DOUBLE;
    if (check_rank(c, 1) && check_channels(c))
        run_pixels(c, (color_job){0}, is_double ? to_hsv_f64 : to_hsv_f32);
}

static void to_rgb_run(bd_op_ctx *c)
{
    bool is_double = bd_input(c, 0)->dtype == BRAID_DOUBLE;
    if (check_rank(c, 1) && check_channels(c))
        run_pixels(c, (color_job){0}, is_double ? to_rgb_f64 : to_rgb_f32);
}

#define COLOR_KERNELS(TYPES, RUN)                                                                            \
    BD_KERNELS({.types = (TYPES), .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS, .run = (RUN)})

// ---- The gradient of RGBToHSV ----

static braid_out last_axis(braid_graph *g)
{
    return bd_b_const_i32(g, "axis", -1);
}

// The least or greatest channel of each pixel, [.., 1].
static braid_out extreme(braid_graph *g, const char *op, braid_out x)
{
    braid_op_desc *d = braid_op_begin(g, op, NULL);
    braid_op_input(d, x);
    braid_op_input(d, last_axis(g));
    braid_op_attr_bool(d, "keep_dims", true);
    return braid_op_end_out(d);
}

// 1 at the channel that `op` (ArgMax, ArgMin) selects, else 0: the first of equal channels.
static braid_out mark(braid_graph *g, const char *op, braid_out x)
{
    const braid_dtype type = bd_dtype_base(braid_out_dtype(x));
    const braid_out inputs[] = {bd_b2(g, op, NULL, x, last_axis(g)), bd_b_const_i32(g, "depth", 3),
                                bd_b_const_f(g, "on", type, 1), bd_b_const_f(g, "off", type, 0)};
    return braid_output(braid_op_add(g, "OneHot", NULL, inputs, 4), 0);
}

static braid_out reverse(braid_graph *g, braid_out x)
{
    return bd_b2(g, "ReverseV2", NULL, x, bd_b_const_i32_vector(g, "axis", (int32_t[]){-1}, 1));
}

static braid_out roll(braid_graph *g, braid_out x, int by)
{
    return bd_b3(g, "Roll", NULL, x, bd_b_const_i32(g, "shift", by), last_axis(g));
}

static braid_out sub(braid_graph *g, braid_out a, braid_out b)
{
    return bd_b2(g, "Sub", "sub", a, b);
}

static braid_out divide(braid_graph *g, braid_out a, braid_out b)
{
    return bd_b2(g, "DivNoNan", NULL, a, b);
}

// A pixel while its gradient is built.
typedef struct pixel {
    braid_out x, max, min;            // max and min [.., 1]
    braid_out is_max, is_min;         // [.., 3]
    braid_out hue, saturation, value; // gradients that arrive [.., 1]
} pixel;

static void read_pixel(bd_grad_ctx *c, pixel *p)
{
    braid_graph *g = c->graph;
    p->x = c->op->inputs[0];
    p->max = extreme(g, "Max", p->x);
    p->min = extreme(g, "Min", p->x);
    p->is_max = mark(g, "ArgMax", p->x);
    p->is_min = reverse(g, mark(g, "ArgMin", reverse(g, p->x))); // the last of equal channels
    braid_op_desc *d = braid_op_begin(g, "Split", NULL);
    braid_op_input(d, last_axis(g));
    braid_op_input(d, c->output_grads[0]);
    braid_op_attr_int(d, "num_split", 3);
    braid_op *split = braid_op_end(d);
    p->hue = braid_output(split, 0);
    p->saturation = braid_output(split, 1);
    p->value = braid_output(split, 2);
}

// s = (max - min) / max. A channel of 0 has no gradient, as in TensorFlow.
static braid_out by_saturation(braid_graph *g, const pixel *p)
{
    const braid_out by_max = bd_grad_mul(g, p->is_max, divide(g, p->min, bd_b1(g, "Square", NULL, p->max)));
    const braid_out slope = sub(g, by_max, divide(g, p->is_min, p->max));
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, bd_grad_number_right(g, "Greater", "Greater", p->x, 0));
    braid_op_attr_type(d, "DstT", bd_dtype_base(braid_out_dtype(p->x)));
    return bd_grad_mul(g, p->saturation, bd_grad_mul(g, braid_op_end_out(d), slope));
}

// h = difference / 6 (max - min) + a constant that depends on the maximal channel; the difference is that of
// the two channels after it.
static braid_out by_hue(braid_graph *g, const pixel *p)
{
    const braid_out signs = sub(g, roll(g, p->is_max, 1), roll(g, p->is_max, 2));
    braid_op_desc *d = braid_op_begin(g, "Sum", NULL);
    braid_op_input(d, bd_grad_mul(g, p->x, signs));
    braid_op_input(d, last_axis(g));
    braid_op_attr_bool(d, "keep_dims", true);
    const braid_out difference = braid_op_end_out(d);
    const braid_out chroma = sub(g, p->max, p->min);
    const braid_out by_chroma = bd_grad_mul(g, divide(g, difference, chroma), sub(g, p->is_max, p->is_min));
    const braid_out slope = divide(g, sub(g, signs, by_chroma), chroma);
    return bd_grad_mul(g, p->hue, bd_grad_number_right(g, "Mul", "mul", slope, 1.0 / 6));
}

static void to_hsv_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    pixel p;
    read_pixel(c, &p);
    const braid_out sum = bd_b2(g, "Add", "add", bd_grad_mul(g, p.value, p.is_max), by_saturation(g, &p));
    c->input_grads[0] = bd_b2(g, "Add", "add", sum, by_hue(g, &p));
}

BD_OP(RGBToHSV) = {
    .signature = "(images: T) -> (output: T)",
    .attrs = "T:type{bfloat16,double,float,half}=float",
    .shape = colors_shape,
    .gradient = to_hsv_gradient,
    .kernels = COLOR_KERNELS("T=float|double", to_hsv_run),
    .doc = "Converts pixels [.., red, green, blue] to hue, saturation and value, all in [0, 1].",
};

BD_OP(HSVToRGB) = {
    .signature = "(images: T) -> (output: T)",
    .attrs = "T:type{bfloat16,double,float,half}=float",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = colors_shape,
    .kernels = COLOR_KERNELS("T=float|double", to_rgb_run),
    .doc = "Converts pixels [.., hue, saturation, value] to red, green and blue.",
};

// ---- AdjustHue, AdjustSaturation ----

static braid_code adjust_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *s = &c->inputs[0];
    c->outputs[0] = *s;
    if (s->rank >= 0 && s->rank < 3)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 3 but is rank %d", s->rank);
    braid_code code = BRAID_OK;
    for (int i = 1; i < c->input_count && !code; i++)
        code = bd_shape_ctx_rank(c, i, 0, st);
    return code;
}

static void hue_pixels(void *arg, int64_t from, int64_t to)
{
    const color_job *job = arg;
    bd_adjust_hue(job->x, job->by, job->y, from, to);
}

static void saturation_pixels(void *arg, int64_t from, int64_t to)
{
    const color_job *job = arg;
    bd_adjust_saturation(job->x, job->by, job->y, from, to);
}

static void hue_run(bd_op_ctx *c)
{
    color_job job = {0};
    if (check_rank(c, 3) && scalar_input(c, 1, "delta", &job.by) && check_channels(c))
        run_pixels(c, job, hue_pixels);
}

static void saturation_run(bd_op_ctx *c)
{
    color_job job = {0};
    if (check_rank(c, 3) && scalar_input(c, 1, "scale", &job.by) && check_channels(c))
        run_pixels(c, job, saturation_pixels);
}

BD_OP(AdjustHue) = {
    .signature = "(images: T, delta: float) -> (output: T)",
    .attrs = "T:type{float,half}=float",
    .shape = adjust_shape,
    .kernels = COLOR_KERNELS("T=float", hue_run),
    .doc = "Turns the hue of RGB pixels by delta of a full circle.",
};

BD_OP(AdjustSaturation) = {
    .signature = "(images: T, scale: float) -> (output: T)",
    .attrs = "T:type{float,half}=float",
    .shape = adjust_shape,
    .kernels = COLOR_KERNELS("T=float", saturation_run),
    .doc = "Multiplies the saturation of RGB pixels, which stays in [0, 1].",
};

// ---- AdjustContrast, AdjustContrastv2 ----

// One channel of an image: its distance from its mean is multiplied.
static void scale_channel(const float *x, float *y, int64_t pixels, int64_t channels, float factor)
{
    double sum = 0;
    for (int64_t i = 0; i < pixels && !bd_interrupted_at(i); i++)
        sum += (double)x[i * channels];
    float mean = (float)(sum / (double)pixels);
    for (int64_t i = 0; i < pixels && !bd_interrupted_at(i); i++)
        y[i * channels] = mean + (x[i * channels] - mean) * factor;
}

static void scale_all(const braid_tensor *x, const braid_tensor *y, float factor)
{
    int rank = x->shape.rank;
    int64_t channels = x->shape.dims[rank - 1], pixels = bd_shape_count_range(&x->shape, rank - 3, rank - 1);
    for (int64_t b = 0; b < bd_shape_count_range(&x->shape, 0, rank - 3); b++) {
        for (int64_t k = 0; k < channels; k++) {
            int64_t at = b * pixels * channels + k;
            scale_channel(bd_tensor_f32(x) + at, bd_tensor_f32(y) + at, pixels, channels, factor);
        }
    }
}

static void contrast_v2_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    float factor;
    if (!check_rank(c, 3) || !scalar_input(c, 1, "contrast_factor", &factor)) return;
    braid_tensor *y = bd_output_forward(c, 0, 0, BRAID_FLOAT, &x->shape);
    if (y && bd_tensor_count(y) > 0) scale_all(x, y, factor);
}

BD_OP(AdjustContrastv2) = {
    .signature = "(images: T, contrast_factor: float) -> (output: T)",
    .attrs = "T:type{float,half}=float",
    .shape = adjust_shape,
    .kernels = COLOR_KERNELS("T=float", contrast_v2_run),
    .doc = "Multiplies the distance of each pixel from the mean of its channel in its image.",
};

// The one before: of any numbers, with bounds.
static void contrast_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    float factor, min, max;
    if (!check_rank(c, 3) || !scalar_input(c, 1, "contrast_factor", &factor) ||
        !scalar_input(c, 2, "min_value", &min) || !scalar_input(c, 3, "max_value", &max))
        return;
    braid_tensor *y = bd_output(c, 0, BRAID_FLOAT, &x->shape), floats;
    if (!y || bd_tensor_count(y) == 0 || !bd_image_floats(c, x, &floats)) return;
    scale_all(&floats, y, factor);
    bd_tensor_fini(&floats);
    float *values = bd_tensor_f32(y);
    for (int64_t i = 0; i < bd_tensor_count(y) && !bd_interrupted_at(i); i++) {
        float below = max < values[i] ? max : values[i];
        values[i] = below < min ? min : below;
    }
}

BD_OP(AdjustContrast) = {
    .signature = "(images: T, contrast_factor: float, min_value: float, max_value: float) -> (output: float)",
    .attrs = "T:type{double,float,int16,int32,int64,int8,uint8}",
    .shape = adjust_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = contrast_run}),
    .doc = "AdjustContrastv2 of pixels of any type, whose results stay between min_value and max_value.",
};
