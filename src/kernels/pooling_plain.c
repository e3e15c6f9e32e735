// Pooling by its definition, with plain loops.
#include "kernels/pooling.h"

#include "base/interrupt.h"
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
    int64_t number = image * s->channels + channel; // of the plane, when channels are first
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
    size_t input = (size_t)(s->batch * s->channels * s->in[0] * s->in[1]) * bd_number_size(type);
    if (kind == BD_POOLING_MAX_GRAD || kind == BD_POOLING_MEAN_GRAD) memset(d->dx, 0, input);
    if (s->batch == 0 || s->channels == 0) return; // the other may be as large as it likes
    switch (type) {
    case BD_F32: pool_f32(kind, s, d); break;
    case BD_F64: pool_f64(kind, s, d); break;
    case BD_I32: pool_i32(kind, s, d); break;
    default: pool_i64(kind, s, d); break;
    }
}
