// Ranges of convolutions with a range for each channel.
#include "ops/nn/quantized_channels.h"

#include <math.h>
#include <string.h>

static bool check_ends(bd_op_ctx *c, int i, int64_t channels)
{
    const braid_shape *s = &bd_input(c, i)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (s->rank == 0 || (s->rank == 1 && (s->dims[0] == channels || s->dims[0] == 1))) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "input %d must have an end of a range for each of %lld channels: %s", i, (long long)channels,
               bd_shape_str(s, text));
    return false;
}

bool bd_quant_channels_read(bd_op_ctx *c, int i, int64_t channels, bd_quant_channels *r)
{
    const braid_tensor *min = bd_input(c, i + 2), *max = bd_input(c, i + 3);
    *r = (bd_quant_channels){.input_type = bd_input(c, 0)->dtype,
                             .min = bd_tensor_f32(min),
                             .max = bd_tensor_f32(max),
                             .count = bd_tensor_count(min),
                             .channels = channels,
                             .shape = min->shape};
    if (!bd_quant_input_range(c, i, &r->input) || !check_ends(c, i + 2, channels) ||
        !check_ends(c, i + 3, channels))
        return false;
    if (bd_shape_equal(&min->shape, &max->shape)) return true;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "min_filter and max_filter must have the same shape: %s vs %s",
               bd_shape_str(&min->shape, a), bd_shape_str(&max->shape, b));
    return false;
}

// The place of channel `k` among the filter's ranges.
static int64_t place(const bd_quant_channels *r, int64_t k)
{
    return r->count == 1 ? 0 : k;
}

// How many steps a range has.
static float steps(braid_dtype type)
{
    return type == BRAID_QUINT8 ? 255 : 254;
}

float bd_quant_channels_step(const bd_quant_channels *r, int64_t k)
{
    const int64_t i = place(r, k);
    return (r->input.max - r->input.min) / steps(r->input_type) *
           ((r->max[i] - r->min[i]) / steps(BRAID_QINT8));
}

float bd_quant_channels_bias_scale(const bd_quant_channels *r, int64_t k)
{
    const int64_t i = place(r, k);
    const float highest = r->input_type == BRAID_QUINT8 ? 255 : 127;
    return highest * 127 /
           (fmaxf(fabsf(r->input.max), fabsf(r->input.min)) * fmaxf(fabsf(r->max[i]), fabsf(r->min[i])));
}

bool bd_quant_channels_output(bd_op_ctx *c, const bd_quant_channels *r)
{
    const braid_tensor *min = bd_output(c, 1, BRAID_FLOAT, &r->shape);
    const braid_tensor *max = min ? bd_output(c, 2, BRAID_FLOAT, &r->shape) : NULL;
    for (int64_t i = 0; max && i < r->count; i++) {
        bd_tensor_f32(min)[i] = bd_quant_channels_step(r, i) * -0x1p31F;
        bd_tensor_f32(max)[i] = bd_quant_channels_step(r, i) * 0x1p31F;
    }
    return max != NULL;
}

braid_code bd_quant_channels_shape(bd_shape_ctx *c, int i, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int k = i; k < i + 2 && !code; k++)
        code = bd_shape_ctx_rank(c, k, 0, st);
    for (int k = i + 2; k < i + 4 && !code; k++) {
        if (c->inputs[k].rank > 1) code = bd_shape_ctx_rank(c, k, 1, st);
    }
    c->outputs[1] = c->inputs[i + 2];
    c->outputs[2] = c->inputs[i + 3];
    return code;
}
