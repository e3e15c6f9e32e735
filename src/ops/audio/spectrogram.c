// AudioSpectrogram: the strength of each frequency in a sound over time.
#include "base/alloc.h"
#include "base/complex.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "kernels/fft.h"
#include "op/kernel.h"

#include <math.h>

typedef struct spectrogram {
    int64_t window, stride; // samples
    int64_t length;         // of the transform: the window, padded with zeros to a power of two
    bool is_squared;
} spectrogram;

// False when the window or the stride is invalid.
static bool read_attrs(const braid_op *node, spectrogram *s)
{
    *s = (spectrogram){.window = bd_node_attr_int(node, "window_size"),
                       .stride = bd_node_attr_int(node, "stride"),
                       .length = 1,
                       .is_squared = bd_node_attr_bool(node, "magnitude_squared")};
    if (s->window < 2 || s->window > INT32_MAX || s->stride < 1) return false;
    while (s->length < s->window)
        s->length *= 2;
    return true;
}

static int64_t window_count(const spectrogram *s, int64_t samples)
{
    return samples < s->window ? 0 : 1 + (samples - s->window) / s->stride;
}

static braid_code spectrogram_shape(bd_shape_ctx *c, braid_status *st)
{
    spectrogram s;
    braid_code code = bd_shape_ctx_rank(c, 0, 2, st);
    c->outputs[0] = (braid_shape){.rank = 3, .dims = {-1, -1, -1}};
    if (code || !read_attrs(c->node, &s)) return code;
    const braid_shape *x = &c->inputs[0];
    if (x->rank == 2) c->outputs[0].dims[0] = x->dims[1];
    if (x->rank == 2 && x->dims[0] >= 0) c->outputs[0].dims[1] = window_count(&s, x->dims[0]);
    c->outputs[0].dims[2] = s.length / 2 + 1;
    return BRAID_OK;
}

// Tables and scratch memory for one window.
typedef struct workspace {
    double *weights;            // [window], the periodic Hann window
    double _Complex *roots, *x; // [length / 2], [length]
} workspace;

static void workspace_end(workspace *w)
{
    bd_free(w->weights);
    bd_free(w->roots);
    bd_free(w->x);
}

static bool workspace_begin(bd_op_ctx *c, const spectrogram *s, workspace *w)
{
    *w = (workspace){.weights = bd_try_calloc((size_t)s->window, sizeof *w->weights),
                     .roots = bd_try_calloc((size_t)s->length / 2, sizeof *w->roots),
                     .x = bd_try_calloc((size_t)s->length, sizeof *w->x)};
    if (!w->weights || !w->roots || !w->x) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when transforming windows of %lld samples",
                   (long long)s->window);
        workspace_end(w);
        return false;
    }
    for (int64_t i = 0; i < s->window; i++)
        w->weights[i] = 0.5 - 0.5 * cos(2 * M_PI * (double)i / (double)s->window);
    bd_fft_roots(s->length, w->roots);
    return true;
}

// Transforms one window of a channel, whose samples are `step` apart.
static void transform_window(const spectrogram *s, const workspace *w, const float *samples, int64_t step,
                             float *out)
{
    for (int64_t i = 0; i < s->length; i++)
        w->x[i] = i < s->window ? (double)samples[i * step] * w->weights[i] : 0;
    bd_fft(s->length, w->roots, w->x);
    for (int64_t i = 0; i <= s->length / 2; i++) {
        double re = creal(w->x[i]), im = cimag(w->x[i]);
        float power = (float)(re * re + im * im);
        out[i] = s->is_squared ? power : sqrtf(power);
    }
}

static void spectrogram_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    spectrogram s;
    workspace w;
    char text[BD_SHAPE_STR_MAX];
    if (x->shape.rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must be 2-dimensional%s", bd_shape_str(&x->shape, text));
        return;
    }
    if (!read_attrs(c->node, &s)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Spectrogram initialization failed for window size %lld and stride %lld",
                   (long long)s.window, (long long)s.stride);
        return;
    }
    int64_t samples = x->shape.dims[0], channels = x->shape.dims[1], windows = window_count(&s, samples),
            total;
    braid_shape shape = {.rank = 3, .dims = {channels, windows, s.length / 2 + 1}};
    BD_STATUS(st);
    if (bd_shape_checked_count(&shape, &total, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, BRAID_FLOAT, &shape);
    if (!y || total == 0 || !workspace_begin(c, &s, &w)) return;
    float *out = bd_tensor_f32(y);
    for (int64_t k = 0; k < channels; k++) {
        for (int64_t i = 0; i < windows && !bd_interrupted(); i++, out += s.length / 2 + 1)
            transform_window(&s, &w, bd_tensor_f32(x) + i * s.stride * channels + k, channels, out);
    }
    workspace_end(&w);
}

BD_OP(AudioSpectrogram) = {
    .signature = "(input: float) -> (spectrogram: float)",
    .attrs = "window_size:int; stride:int; magnitude_squared:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = spectrogram_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = spectrogram_run}),
    .doc =
        "The magnitudes [channels, windows, frequencies] of the frequencies in windows of samples [samples, channels].",
};
