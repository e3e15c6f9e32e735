// Convolution by its definition, with plain loops.
#include "kernels/conv.h"

#include "base/interrupt.h"
#include <string.h>

// Where things lie, in elements; steps are along depth, height and width.
typedef struct layout {
    int64_t in_image, in_step[3], in_channel;
    int64_t out_image, out_step[3], out_channel;
} layout;

static layout layout_of(const bd_conv_shape *s)
{
    int64_t in_size = bd_volume(s->in), out_size = bd_volume(s->out);
    layout l = {.in_image = in_size * s->in_channels, .out_image = out_size * s->out_channels};
    l.in_step[2] = s->channels_first ? 1 : s->in_channels;
    l.out_step[2] = s->channels_first ? 1 : s->out_channels;
    for (int d = 1; d >= 0; d--) {
        l.in_step[d] = l.in_step[d + 1] * s->in[d + 1];
        l.out_step[d] = l.out_step[d + 1] * s->out[d + 1];
    }
    l.in_channel = s->channels_first ? in_size : 1;
    l.out_channel = s->channels_first ? out_size : 1;
    return l;
}

// The input position under element `k` of the filter at output position `out`; -1 in the padding.
static int64_t input_at(const bd_conv_shape *s, int d, int64_t out, int64_t k)
{
    int64_t at = out * s->stride[d] - s->pad_before[d] + k * s->dilation[d];
    return at >= 0 && at < s->in[d] ? at : -1;
}

static int64_t filter_channels(const bd_conv_shape *s)
{
    return s->in_channels / s->groups * s->out_channels;
}

#define T float
#define NAME(x) x##_f32
#include "kernels/conv_loops.h"

#define T double
#define NAME(x) x##_f64
#include "kernels/conv_loops.h"

void bd_conv_plain(bd_number type, bd_conv_kind kind, const bd_conv_shape *s, const bd_conv_data *d)
{
    size_t size = bd_number_size(type);
    int64_t filter = bd_volume(s->filter) * filter_channels(s);
    int64_t input = s->batch * bd_volume(s->in) * s->in_channels;
    int64_t output = s->batch * bd_volume(s->out) * s->out_channels;
    if (kind == BD_CONV_OUTPUT) {
        memset(d->output, 0, (size_t)output * size);
    } else if (kind == BD_CONV_INPUT_GRAD) {
        memset(d->input, 0, (size_t)input * size);
    } else {
        memset(d->filter, 0, (size_t)filter * size);
    }
    if (input == 0 || filter == 0 || output == 0) return; // other sizes may be as large as they like
    if (type == BD_F32) {
        conv_f32(kind, s, d->input, d->filter, d->output);
    } else {
        conv_f64(kind, s, d->input, d->filter, d->output);
    }
}
