// Resizing: nearest, bilinear and bicubic by taps, areas by sums.
#include "kernels/resize.h"

#include "base/interrupt.h"

#include <float.h>
#include <math.h>

// ---- Where pixels come from ----

bd_resize_axis bd_resize_axis_of(int64_t in, int64_t out, bool align_corners, bool half_pixel_centers)
{
    return (bd_resize_axis){.in = in,
                            .out = out,
                            .scale = align_corners && out > 1 ? (float)(in - 1) / (float)(out - 1)
                                                              : (float)in / (float)out,
                            .align_corners = align_corners,
                            .half_pixel_centers = half_pixel_centers};
}

// A pixel of the input, also for a place beside it.
static int64_t bounded(const bd_resize_axis *a, int64_t i)
{
    return i < 0 ? 0 : i >= a->in ? a->in - 1 : i;
}

// Where in the input output pixel `i` lies, as if pixels had no extent.
static float place(const bd_resize_axis *a, int64_t i)
{
    return a->half_pixel_centers ? ((float)i + 0.5f) * a->scale - 0.5f : (float)i * a->scale;
}

static bd_resize_tap nearest_tap(const bd_resize_axis *a, int64_t i)
{
    float at = a->half_pixel_centers ? ((float)i + 0.5f) * a->scale : (float)i * a->scale;
    return (bd_resize_tap){.index = {bounded(a, (int64_t)(a->align_corners ? roundf(at) : floorf(at)))},
                           .weight = {1}};
}

static bd_resize_tap bilinear_tap(const bd_resize_axis *a, int64_t i)
{
    float at = place(a, i), lower = floorf(at), part = at - lower;
    return (bd_resize_tap){.index = {bounded(a, (int64_t)lower), bounded(a, (int64_t)ceilf(at))},
                           .weight = {1.0f - part, part}};
}

// Weights are taken at this many places between two pixels.
#define CUBIC_STEPS 1024

// The cubic convolution kernel (Keys 1981) at a distance of `step` steps from the pixel, and of one pixel
// more.
static void cubic_weights(double a, int64_t step, float *near, float *far)
{
    float x = (float)((double)step / CUBIC_STEPS);
    *near = (float)(((a + 2) * (double)x - (a + 3)) * (double)x * (double)x + 1);
    x += 1.0f;
    *far = (float)(((a * (double)x - 5 * a) * (double)x + 8 * a) * (double)x - 4 * a);
}

// Pixels outside of the image have weight 0, and the others' weights are scaled up.
static void renormalize(bd_resize_tap *t, int64_t first)
{
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        if (t->index[k] != first + k) t->weight[k] = 0;
        sum += t->weight[k];
    }
    if (fabsf(sum) < 1000.0f * FLT_MIN) return;
    for (int k = 0; k < 4; k++)
        t->weight[k] *= 1.0f / sum;
}

// With centers of pixels at their half the kernel is Keys' own; without, that of older versions, which
// repeats the border.
static bd_resize_tap bicubic_tap(const bd_resize_axis *a, int64_t i)
{
    float at = place(a, i);
    int64_t first = (int64_t)floorf(at) - 1;
    int64_t step = lrintf((at - floorf(at)) * CUBIC_STEPS);
    double parameter = a->half_pixel_centers ? -0.5 : -0.75;
    bd_resize_tap t;
    cubic_weights(parameter, step, &t.weight[1], &t.weight[0]);
    cubic_weights(parameter, CUBIC_STEPS - step, &t.weight[2], &t.weight[3]);
    for (int k = 0; k < 4; k++)
        t.index[k] = bounded(a, first + k);
    if (a->half_pixel_centers) renormalize(&t, first);
    return t;
}

void bd_resize_taps(bd_resize_method method, const bd_resize_axis *axis, bd_resize_tap *taps)
{
    for (int64_t i = 0; i < axis->out; i++)
        taps[i] = method == BD_RESIZE_NEAREST    ? nearest_tap(axis, i)
                  : method == BD_RESIZE_BILINEAR ? bilinear_tap(axis, i)
                                                 : bicubic_tap(axis, i);
}

// ---- Rows ----

// Row `i` of the image that output row `row` belongs to.
static const float *input_row(const bd_resize *r, const float *x, int64_t row, int64_t i)
{
    return x + (row / r->axis[0].out * r->axis[0].in + i) * r->axis[1].in * r->channels;
}

static float *output_row(const bd_resize *r, float *y, int64_t row)
{
    return y + row * r->axis[1].out * r->channels;
}

void bd_resize_bilinear_rows(const bd_resize *r, const float *x, float *y, int64_t from, int64_t to)
{
    for (int64_t row = from; row < to; row++) {
        const bd_resize_tap *v = &r->taps[0][row % r->axis[0].out];
        const float *above = input_row(r, x, row, v->index[0]), *below = input_row(r, x, row, v->index[1]);
        float *restrict out = output_row(r, y, row);
        for (int64_t i = 0; i < r->axis[1].out; i++) {
            const bd_resize_tap *h = &r->taps[1][i];
            int64_t left = h->index[0] * r->channels, right = h->index[1] * r->channels;
            for (int64_t c = 0; c < r->channels; c++) {
                float top = above[left + c] + (above[right + c] - above[left + c]) * h->weight[1];
                float bottom = below[left + c] + (below[right + c] - below[left + c]) * h->weight[1];
                *out++ = top + (bottom - top) * v->weight[1];
            }
        }
    }
}

// A sum over four rows at one place.
static float down(const float *const rows[4], const float weight[4], int64_t at)
{
    return rows[0][at] * weight[0] + rows[1][at] * weight[1] + rows[2][at] * weight[2] +
           rows[3][at] * weight[3];
}

void bd_resize_bicubic_rows(const bd_resize *r, const float *x, float *y, int64_t from, int64_t to)
{
    for (int64_t row = from; row < to; row++) {
        const bd_resize_tap *v = &r->taps[0][row % r->axis[0].out];
        const float *rows[4];
        float *restrict out = output_row(r, y, row);
        for (int k = 0; k < 4; k++)
            rows[k] = input_row(r, x, row, v->index[k]);
        for (int64_t i = 0; i < r->axis[1].out; i++) {
            const bd_resize_tap *h = &r->taps[1][i];
            for (int64_t c = 0; c < r->channels; c++) {
                float sum = 0;
                for (int k = 0; k < 4; k++)
                    sum += down(rows, v->weight, h->index[k] * r->channels + c) * h->weight[k];
                *out++ = sum;
            }
        }
    }
}

// ---- Areas ----

// The part of pixel `i` between `low` and `high`.
static float covered(int64_t i, float low, float high, float scale)
{
    float at = (float)i, next = (float)(i + 1);
    if (at < low) return next > high ? scale : next - low;
    return next > high ? high - at : 1.0f;
}

static void area_pixel(const bd_resize *r, const float *x, int64_t row, int64_t column, float *out)
{
    const bd_resize_axis *v = &r->axis[0], *h = &r->axis[1];
    float scale = 1.0f / (v->scale * h->scale);
    int64_t line = row % v->out;
    float top = (float)line * v->scale, bottom = (float)(line + 1) * v->scale;
    float left = (float)column * h->scale, right = (float)(column + 1) * h->scale;
    for (int64_t c = 0; c < r->channels; c++)
        out[c] = 0;
    for (int64_t i = (int64_t)floorf(top); i < (int64_t)ceilf(bottom); i++) {
        const float *pixels = input_row(r, x, row, bounded(v, i));
        float down_part = covered(i, top, bottom, v->scale) * scale;
        for (int64_t j = (int64_t)floorf(left); j < (int64_t)ceilf(right); j++) {
            float part = covered(j, left, right, h->scale);
            const float *pixel = pixels + bounded(h, j) * r->channels;
            for (int64_t c = 0; c < r->channels; c++)
                out[c] += pixel[c] * down_part * part;
        }
    }
}

void bd_resize_area_rows(const bd_resize *r, const float *x, float *y, int64_t from, int64_t to)
{
    for (int64_t row = from; row < to; row++) {
        for (int64_t i = 0; i < r->axis[1].out; i++)
            area_pixel(r, x, row, i, output_row(r, y, row) + i * r->channels);
    }
}

// ---- Gradients ----

#define RESIZE_GRAD(NAME, T)                                                                                 \
    void NAME(const bd_resize *r, int count, const float *dy, T *dx)                                         \
    {                                                                                                        \
        for (int64_t row = 0; row < r->axis[0].out; row++) {                                                 \
            for (int64_t column = 0; column < r->axis[1].out && !bd_interrupted();                           \
                 column++, dy += r->channels) {                                                              \
                const bd_resize_tap *v = &r->taps[0][row], *h = &r->taps[1][column];                         \
                for (int i = 0; i < count; i++) {                                                            \
                    for (int j = 0; j < count; j++) {                                                        \
                        T *out = dx + (v->index[i] * r->axis[1].in + h->index[j]) * r->channels;             \
                        for (int64_t c = 0; c < r->channels; c++)                                            \
                            out[c] += (T)(dy[c] * v->weight[i] * h->weight[j]);                              \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

RESIZE_GRAD(bd_resize_grad_f32, float)
RESIZE_GRAD(bd_resize_grad_f64, double)
