// QuantizedResizeBilinear: resizes images of quantized numbers. Weights are integers with 7 bits for
// quint8 and 30 bits for qint32, as in TensorFlow, so that results are the same; images of float are
// resized in float.
#include "base/interrupt.h"
#include "ops/common/quantized.h"
#include "ops/image/image.h"
#include "ops/image/image_resize.h"

#include <string.h>

static braid_code resize_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    bd_resize_attrs *s = state;
    s->align_corners = bd_node_attr_bool(node, "align_corners");
    s->half_pixel_centers = bd_node_attr_bool(node, "half_pixel_centers");
    return BRAID_OK;
}

// Between two numbers, times 2^bits.
static int64_t between(int64_t a, int64_t b, int64_t weight, int bits)
{
    return a * ((int64_t)1 << bits) + (b - a) * weight;
}

// Between four numbers. Divisions truncate.
static int64_t pixel(const int64_t corners[4], int64_t right, int64_t down, int bits)
{
    const int64_t one = (int64_t)1 << bits;
    int64_t top = between(corners[0], corners[1], right, bits);
    int64_t bottom = between(corners[2], corners[3], right, bits);
    return (top + (bottom - top) / one * down + one / 2) / one;
}

// As in TensorFlow the numbers are read as floats, of which those of qint32 are not exact.
static int64_t number_at(const braid_tensor *x, int64_t i)
{
    return (int64_t)(float)bd_quant_get(x, i);
}

// Row `row` of the output, counted through all images.
static void resize_row(const bd_resize *r, const braid_tensor *x, const braid_tensor *y, int64_t row,
                       int bits)
{
    const int64_t channels = r->channels, width = r->axis[1].out, in_row = r->axis[1].in * channels;
    const float one = (float)((int64_t)1 << bits);
    const bd_resize_tap *v = &r->taps[0][row % r->axis[0].out];
    const int64_t image = row / r->axis[0].out * r->axis[0].in;
    const int64_t above = (image + v->index[0]) * in_row, below = (image + v->index[1]) * in_row;
    for (int64_t i = 0; i < width; i++) {
        const bd_resize_tap *h = &r->taps[1][i];
        const int64_t left = h->index[0] * channels, right = h->index[1] * channels;
        for (int64_t k = 0; k < channels; k++) {
            const int64_t corners[4] = {number_at(x, above + left + k), number_at(x, above + right + k),
                                        number_at(x, below + left + k), number_at(x, below + right + k)};
            int64_t value =
                pixel(corners, (int64_t)(h->weight[1] * one), (int64_t)(v->weight[1] * one), bits);
            bd_quant_set(y, (row * width + i) * channels + k,
                         (int32_t)(value < INT32_MAX ? value : INT32_MAX));
        }
    }
}

static void resize(const bd_resize *r, const braid_tensor *x, const braid_tensor *y)
{
    const int64_t rows = x->shape.dims[0] * r->axis[0].out;
    for (int64_t row = 0; row < rows && !bd_interrupted(); row++) {
        if (x->dtype == BRAID_FLOAT)
            bd_resize_bilinear_rows(r, x->data, y->data, row, row + 1);
        else
            resize_row(r, x, y, row, x->dtype == BRAID_QUINT8 ? 7 : 30);
    }
}

static void resize_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    bd_quant_range range;
    int64_t size[2];
    if (!bd_quant_input_range(c, 2, &range) || !bd_quant_output_range(c, 1, range)) return;
    if (!bd_image_size_input(c, 1, size) || !bd_image_check(c, "input", x)) return;
    braid_shape shape = x->shape;
    memcpy(&shape.dims[1], size, sizeof size);
    const braid_tensor *y = bd_image_output(c, x->dtype, &shape);
    bd_resize r;
    if (!y || bd_tensor_count(y) == 0) return;
    if (size[0] == x->shape.dims[1] && size[1] == x->shape.dims[2]) {
        memcpy(y->data, x->data, bd_tensor_bytes(y));
    } else if (bd_resize_begin(c, BD_RESIZE_BILINEAR, x->shape.dims[3], &x->shape.dims[1], size, &r)) {
        resize(&r, x, y);
        bd_resize_end(&r);
    }
}

static braid_code resize_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_image_sized_shape(c, 1, st);
    return code ? code : bd_quant_shape_ranges(c, 2, 4, st);
}

BD_OP(QuantizedResizeBilinear) = {
    .signature = "(images: T, size: int32, min: float, max: float) -> (resized_images: T, out_min: float, "
                 "out_max: float)",
    .attrs = "T:type{float,qint32,quint8}; align_corners:bool=false; half_pixel_centers:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = resize_shape,
    .kernels = BD_KERNELS({.types = "T=quint8|qint32|float",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(bd_resize_attrs),
                           .create = resize_create,
                           .run = resize_run}),
    .doc =
        "Resizes images of quantized numbers to size [height, width]; pixels are linear between those of the "
        "input.",
};
