// Pooling by plain loops, as its definition says.
#include "kernels/pooling.h"

#include <string.h>

// One channel of one image and of its output: where elements lie, and how far apart.
typedef struct plane {
    int64_t x, y; // first elements
    int64_t x_step[2], y_step[2];
} plane;

static plane plane_at(const bd_pooling_shape *s, int64_t image, int64_t channel)
{
    int64_t in = s->in[0] * s->in[1], out = s->out[0] * s->out[1];
    int64_t step = s->channels_first ? 1 : s->channels;
    int64_t number = image * s->channels + channel; // of the plane, when channels come first
    return (plane){.x = s->channels_first ? number * in : image * in * s->channels + channel,
                   .y = s->channels_first ? number * out : image * out * s->channels + channel,
                   .x_step = {step * s->in[1], step},
                   .y_step = {step * s->out[1], step}};
}

// The rows (d = 0) or columns (d = 1) of the image under the window of output position `at`.
static void reach(const bd_pooling_shape *s, int d, int64_t at, int64_t *from, int64_t *to)
{
    *from = at * s->stride[d] - s->pad_before[d];
    *to = *from + s->window[d];
    if (*from < 0) *from = 0;
    if (*to > s->in[d]) *to = s->in[d];
}

// Sums are computed in U: without sign for integers, so that they wrap around.
#define POOLING(T, U)                                                                                        \
    static void window_##T(bd_pooling_kind kind, const bd_pooling_shape *s, const plane *p, int64_t h,       \
                           int64_t w, const bd_pooling_data *d)                                              \
    {                                                                                                        \
        int64_t row, row_to, from, to, y = p->y + h * p->y_step[0] + w * p->y_step[1], found = -1;           \
        const T *xs = d->x;                                                                                  \
        T *dxs = d->dx, sum = 0;                                                                             \
        reach(s, 0, h, &row, &row_to);                                                                       \
        reach(s, 1, w, &from, &to);                                                                          \
        T count = (T)((row_to - row) * (to - from));                                                         \
        for (; row < row_to; row++) {                                                                        \
            for (int64_t column = from; column < to; column++) {                                             \
                int64_t x = p->x + row * p->x_step[0] + column * p->x_step[1];                               \
                if (kind == BD_POOLING_MEAN) {                                                               \
                    sum = (T)((U)sum + (U)xs[x]);                                                            \
                } else if (kind == BD_POOLING_MEAN_GRAD) {                                                   \
                    dxs[x] += ((T *)d->dy)[y] / count;                                                       \
                } else if (found < 0 || xs[found] < xs[x]) {                                                 \
                    found = x;                                                                               \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        if (kind == BD_POOLING_MEAN) ((T *)d->y)[y] = sum / count;                                           \
        if (kind == BD_POOLING_MAX) ((T *)d->y)[y] = xs[found];                                              \
        if (kind == BD_POOLING_MAX_GRAD) dxs[found] = (T)((U)dxs[found] + (U)((T *)d->dy)[y]);               \
        if (kind == BD_POOLING_MAX_PICK) ((T *)d->dy)[y] = dxs[found];                                       \
    }                                                                                                        \
    static void pool_##T(bd_pooling_kind kind, const bd_pooling_shape *s, const bd_pooling_data *d)          \
    {                                                                                                        \
        for (int64_t image = 0; image < s->batch; image++) {                                                 \
            for (int64_t channel = 0; channel < s->channels; channel++) {                                    \
                plane p = plane_at(s, image, channel);                                                       \
                for (int64_t h = 0; h < s->out[0]; h++) {                                                    \
                    for (int64_t w = 0; w < s->out[1]; w++)                                                  \
                        window_##T(kind, s, &p, h, w, d);                                                    \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

POOLING(float, float)
POOLING(double, double)
POOLING(int32_t, uint32_t)
POOLING(int64_t, uint64_t)

void bd_pooling_plain(bd_number type, bd_pooling_kind kind, const bd_pooling_shape *s,
                      const bd_pooling_data *d)
{
    size_t input = (size_t)(s->batch * s->channels * s->in[0] * s->in[1]) * bd_number_size(type);
    if (kind == BD_POOLING_MAX_GRAD || kind == BD_POOLING_MEAN_GRAD) memset(d->dx, 0, input);
    if (s->batch == 0 || s->channels == 0) return; // the other may be as large as it likes
    switch (type) {
    case BD_F32: pool_float(kind, s, d); break;
    case BD_F64: pool_double(kind, s, d); break;
    case BD_I32: pool_int32_t(kind, s, d); break;
    default: pool_int64_t(kind, s, d); break;
    }
}
