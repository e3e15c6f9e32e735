// Pooling: the greatest or the mean element of windows that slide over images or volumes, and the gradients.
// Float by oneDNN, all number types by plain loops.
#ifndef BD_KERNELS_POOLING_H
#define BD_KERNELS_POOLING_H

#include "kernels/number.h"
#include "kernels/primitive_cache.h"
#include "kernels/volume.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum bd_pooling_kind {
    BD_POOLING_MAX, // y from x
    // dx from x and dy: the gradient of a window goes to its first maximum, row by row
    BD_POOLING_MAX_GRAD,
    // the same where the maximum is greater than 0: with the gradient of the Relu that made x
    BD_POOLING_MAX_RELU_GRAD,
    // dx from x, y and dy: the gradient of a window goes to all of its maxima; by plain loops only
    BD_POOLING_MAX_GRAD_ALL,
    BD_POOLING_MAX_PICK, // dy from x and dx: from where that element was; by plain loops only
    BD_POOLING_MEAN,     // y from x: of the elements of the window that lie on the image
    BD_POOLING_MEAN_GRAD // dx from dy
} bd_pooling_kind;

// Triples are depth, height, width. An image is a volume of depth 1 without padding, with a window of depth
// 1 and a stride of 1. Every window reaches into the volume. All are 64 bits wide, so that shapes can be
// compared as memory.
typedef struct bd_pooling_shape {
    int64_t batch, channels;
    int64_t in[3], out[3], window[3], stride[3], pad_before[3], pad_after[3];
    int64_t channels_first; // 1: volumes are [batch, channels, depth, height, width], 0: channels are last
} bd_pooling_shape;

// Whether each element of a volume lies under exactly one window.
static inline bool bd_pooling_is_tiled(const bd_pooling_shape *s)
{
    for (int d = 0; d < 3; d++)
        if (s->stride[d] != s->window[d] || s->out[d] * s->stride[d] - s->pad_before[d] < s->in[d])
            return false;
    return true;
}

// The images that the kind uses; they do not overlap.
typedef struct bd_pooling_data {
    void *x, *dx; // inputs
    void *y, *dy; // outputs
} bd_pooling_data;

// Pooling of float images prepared for one kind and shape, which runs over bd_pooling_data: as for
// convolutions, see conv.h.
bd_primitive *bd_pooling_take(bd_primitive_cache *cache, bd_pooling_kind kind, const bd_pooling_shape *shape);

// The gradient of the greatest element over images `from` to `to` - 1 of float or double, channels last,
// which several threads may share. False when there is no loop for the shape or the kind. dx may be x if the
// windows are tiles.
bool bd_pooling_has_loop(bd_number type, bd_pooling_kind kind, const bd_pooling_shape *shape);
void bd_pooling_loop(bd_number type, bd_pooling_kind kind, const bd_pooling_shape *shape,
                     const bd_pooling_data *data, int64_t from, int64_t to);

// Any shape and kind; of integers only the greatest, not the mean.
void bd_pooling_plain(bd_number type, bd_pooling_kind kind, const bd_pooling_shape *shape,
                      const bd_pooling_data *data);

#endif
