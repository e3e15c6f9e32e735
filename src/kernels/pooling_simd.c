// The gradient of the greatest element of windows, by vectors of channels.
#include "base/interrupt.h"
#include "base/prefetch.h"
#include "kernels/pooling.h"
#include "kernels/simd.h"
#include "kernels/simd_loop.h"
#include <string.h>

#if defined(__AVX512F__)
#define VECTOR 64
#elif defined(__AVX__)
#define VECTOR 32
#else
#define VECTOR 16 // bytes of a register
#endif

// The elements that a window reaches: the first one, from the beginning of the volume, and all of them from
// the first one.
typedef struct reached {
    int64_t from;
    int64_t at[BD_MAX_GRAD_WINDOW];
    int64_t size[3]; // of which `at` was made
    int count;
} reached;

static void list_elements(const bd_pooling_shape *s, const int64_t size[3], reached *r)
{
    r->count = 0;
    for (int d = 0; d < 3; d++)
        r->size[d] = size[d];
    for (int64_t depth = 0; depth < size[0]; depth++)
        for (int64_t row = 0; row < size[1]; row++)
            for (int64_t column = 0; column < size[2]; column++)
                r->at[r->count++] = ((depth * s->in[1] + row) * s->in[2] + column) * s->channels;
}

// The window of output position `at`. The list in `r` stays as it is while windows are equally large.
static inline void reach(const bd_pooling_shape *s, const int64_t at[3], reached *r)
{
    int64_t from[3], size[3];
    for (int d = 0; d < 3; d++) {
        int64_t begin = at[d] * s->stride[d] - s->pad_before[d], end = begin + s->window[d];
        from[d] = begin > 0 ? begin : 0;
        size[d] = (end < s->in[d] ? end : s->in[d]) - from[d];
    }
    r->from = ((from[0] * s->in[1] + from[1]) * s->in[2] + from[2]) * s->channels;
    if (size[0] != r->size[0] || size[1] != r->size[1] || size[2] != r->size[2]) list_elements(s, size, r);
}

// Fetches the channels of the elements that a window reaches: rows of a window are far apart, and the
// processor does not see them coming.
static inline void fetch(const char *first, const reached *r, int64_t element_size, int64_t bytes)
{
    for (int k = 0; k < r->count; k++)
        bd_prefetch_row(first + r->at[k] * element_size, (size_t)bytes);
}

#define T float
#define I int32_t
#define NAME(x) x##_f32
#include "kernels/pooling_grad_loops.h"

#define T double
#define I int64_t
#define NAME(x) x##_f64
#include "kernels/pooling_grad_loops.h"

const bd_max_grad_fn BD_SIMD_NAME(bd_max_grad_table)[BD_F64 + 1] = {max_grad_f32, max_grad_f64};
