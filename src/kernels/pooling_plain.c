// Pooling by its definition, with plain loops.
#include "kernels/pooling.h"

#include "base/interrupt.h"
#include <string.h>

// One channel of one volume and of its output: where elements lie, and how far apart.
typedef struct plane {
    int64_t x, y;                 // first elements
    int64_t x_step[3], y_step[3]; // along depth, height and width
} plane;

static plane plane_at(const bd_pooling_shape *s, int64_t image, int64_t channel)
{
    int64_t in = bd_volume(s->in), out = bd_volume(s->out);
    int64_t step = s->channels_first ? 1 : s->channels;
    int64_t number = image * s->channels + channel; // of the plane, when channels are first
    return (plane){.x = s->channels_first ? number * in : image * in * s->channels + channel,
                   .y = s->channels_first ? number * out : image * out * s->channels + channel,
                   .x_step = {step * s->in[1] * s->in[2], step * s->in[2], step},
                   .y_step = {step * s->out[1] * s->out[2], step * s->out[2], step}};
}

// What lies under the window of output position `at` along dimension `d` of the volume.
static void reach_along(const bd_pooling_shape *s, int d, int64_t at, int64_t *from, int64_t *to)
{
    *from = at * s->stride[d] - s->pad_before[d];
    *to = *from + s->window[d];
    if (*from < 0) *from = 0;
    if (*to > s->in[d]) *to = s->in[d];
}

// The part of the volume under a window, and the window's place in the output: from depth, height, width.
typedef struct box {
    int64_t from[3], to[3], y;
} box;

static box reach(const bd_pooling_shape *s, const plane *p, const int64_t at[3])
{
    box b = {.y = p->y};
    for (int d = 0; d < 3; d++) {
        reach_along(s, d, at[d], &b.from[d], &b.to[d]);
        b.y += at[d] * p->y_step[d];
    }
    return b;
}

#define T float
#define U float
#define NAME(x) x##_f32
#include "kernels/pooling_loops.h"

#define T double
#define U double
#define NAME(x) x##_f64
#include "kernels/pooling_loops.h"

#define T int32_t
#define U uint32_t
#define NAME(x) x##_i32
#include "kernels/pooling_loops.h"

#define T int64_t
#define U uint64_t
#define NAME(x) x##_i64
#include "kernels/pooling_loops.h"

void bd_pooling_plain(bd_number type, bd_pooling_kind kind, const bd_pooling_shape *s,
                      const bd_pooling_data *d)
{
    size_t input = (size_t)(s->batch * s->channels * bd_volume(s->in)) * bd_number_size(type);
    if (kind == BD_POOLING_MAX_GRAD || kind == BD_POOLING_MAX_RELU_GRAD || kind == BD_POOLING_MAX_GRAD_ALL ||
        kind == BD_POOLING_MEAN_GRAD)
        memset(d->dx, 0, input);
    if (s->batch == 0 || s->channels == 0) return; // the other may be as large as it likes
    switch (type) {
    case BD_F32: pool_f32(kind, s, d); break;
    case BD_F64: pool_f64(kind, s, d); break;
    case BD_I32: pool_i32(kind, s, d); break;
    default: pool_i64(kind, s, d); break;
    }
}
