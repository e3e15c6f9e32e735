// DrawBoundingBoxes and DrawBoundingBoxesV2: the outlines of boxes, drawn over images.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

#include <string.h>

static braid_code draw_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    if (c->inputs[0].rank >= 0 && c->inputs[0].rank < 3)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 3 but is rank %d", c->inputs[0].rank);
    return BRAID_OK;
}

// Red, green, blue and alpha of the boxes' colors, in turn.
static const float default_colors[][4] = {
    {1, 1, 0, 1},       {0, 0, 1, 1},    {1, 0, 0, 1},    {0, 1, 0, 1}, {0.5f, 0, 0.5f, 1},
    {0.5f, 0.5f, 0, 1}, {0.5f, 0, 0, 1}, {0, 0, 0.5f, 1}, {0, 1, 1, 1}, {1, 0, 1, 1},
};

typedef struct palette {
    const float *colors;
    int64_t count;
    bool is_white; // gray images without colors of their own
} palette;

static bool check_images(bd_op_ctx *c)
{
    const braid_shape *images = &bd_input(c, 0)->shape, *boxes = &bd_input(c, 1)->shape;
    if (images->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The rank of the images should be 4, is %d", images->rank);
    } else if (boxes->rank != 3) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The rank of the boxes tensor should be 3, is %d", boxes->rank);
    } else if (images->dims[0] != boxes->dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The batch sizes should be the same, are %lld and %lld",
                   (long long)images->dims[0], (long long)boxes->dims[0]);
    } else if (boxes->dims[2] != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "boxes must have 4 coordinates, have %lld",
                   (long long)boxes->dims[2]);
    } else if (images->dims[3] != 1 && images->dims[3] != 3 && images->dims[3] != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), is %lld",
                   (long long)images->dims[3]);
    }
    return !bd_op_failed(c);
}

static bool choose_palette(bd_op_ctx *c, int64_t depth, palette *p)
{
    *p = (palette){.colors = default_colors[0],
                   .count = sizeof default_colors / sizeof default_colors[0],
                   .is_white = depth == 1};
    if (c->input_count < 3) return true;
    const braid_tensor *t = bd_input(c, 2);
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank != 2 || t->shape.dims[1] != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "colors must be a 2-D matrix, n x 4 (RGBA), but have shape %s",
                   bd_shape_str(&t->shape, text));
        return false;
    }
    if (bd_tensor_count(t) > 0) *p = (palette){bd_tensor_f32(t), t->shape.dims[0], false};
    return true;
}

// The pixel that a coordinate in [0, 1] falls on, toward zero; places far outside stay outside.
static int64_t pixel_at(float coordinate, int64_t size)
{
    float at = coordinate * (float)(size - 1);
    return at > -0x1p40f && at < 0x1p40f ? (int64_t)at : at > 0 ? (int64_t)1 << 40 : -((int64_t)1 << 40);
}

// An image [height, width, depth] and the color that is drawn in.
typedef struct canvas {
    float *pixels;
    int64_t height, width, depth;
    const float *color;
    bool is_white;
} canvas;

static void put(const canvas *c, int64_t row, int64_t column)
{
    if (row < 0 || row >= c->height || column < 0 || column >= c->width) return;
    float *pixel = c->pixels + (row * c->width + column) * c->depth;
    for (int64_t k = 0; k < c->depth; k++)
        pixel[k] = c->is_white ? 1 : c->color[k];
}

static int64_t clamped(int64_t i, int64_t size)
{
    return i < 0 ? 0 : i >= size ? size - 1 : i;
}

// A box upside down, or all outside, is not drawn.
static void draw(const canvas *c, const float box[4])
{
    int64_t top = pixel_at(box[0], c->height), left = pixel_at(box[1], c->width),
            bottom = pixel_at(box[2], c->height), right = pixel_at(box[3], c->width);
    if (top > bottom || left > right || top >= c->height || bottom < 0 || left >= c->width || right < 0)
        return;
    for (int64_t i = clamped(left, c->width); i <= clamped(right, c->width); i++) {
        put(c, top, i);
        put(c, bottom, i);
    }
    for (int64_t i = clamped(top, c->height); i <= clamped(bottom, c->height); i++) {
        put(c, i, left);
        put(c, i, right);
    }
}

static void draw_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *boxes = bd_input(c, 1);
    palette p;
    if (!check_images(c) || !choose_palette(c, x->shape.dims[3], &p)) return;
    braid_tensor *y = bd_output_forward(c, 0, 0, BRAID_FLOAT, &x->shape);
    if (!y || bd_tensor_count(y) == 0) return;
    if (y->data != x->data) memcpy(y->data, x->data, bd_tensor_bytes(x));
    int64_t image = bd_shape_count_range(&x->shape, 1, 4), count = boxes->shape.dims[1];
    for (int64_t b = 0; b < x->shape.dims[0] && !bd_interrupted(); b++) {
        canvas drawn = {.pixels = bd_tensor_f32(y) + b * image,
                        .height = x->shape.dims[1],
                        .width = x->shape.dims[2],
                        .depth = x->shape.dims[3],
                        .is_white = p.is_white};
        for (int64_t i = 0; i < count && !bd_interrupted(); i++) {
            drawn.color = p.colors + i % p.count * 4;
            draw(&drawn, bd_tensor_f32(boxes) + (b * count + i) * 4);
        }
    }
}

#define DRAW_KERNELS                                                                                         \
    BD_KERNELS({.types = "T=float", .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS, .run = draw_run})

BD_OP(DrawBoundingBoxes) = {
    .signature = "(images: T, boxes: float) -> (output: T)",
    .attrs = "T:type{float,half}=float",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = draw_shape,
    .kernels = DRAW_KERNELS,
    .doc = "Draws the outlines of boxes [y1, x1, y2, x2] over images, in ten colors one after the other.",
};

BD_OP(DrawBoundingBoxesV2) = {
    .signature = "(images: T, boxes: float, colors: float) -> (output: T)",
    .attrs = "T:type{float,half}=float",
    .shape = draw_shape,
    .kernels = DRAW_KERNELS,
    .doc = "DrawBoundingBoxes in the colors given, rows of red, green, blue and alpha.",
};
