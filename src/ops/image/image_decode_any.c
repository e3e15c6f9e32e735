// DecodeImage: an image of any format, as the type that is wanted.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "io/bmp.h"
#include "io/gif.h"
#include "io/jpeg.h"
#include "io/png.h"
#include "ops/image/image_contents.h"

#include <string.h>

typedef struct any_state {
    int channels;
    bool keeps_frames;
} any_state;

static braid_code any_create(const braid_op *node, void *state, braid_status *st)
{
    int64_t channels = bd_node_attr_int(node, "channels");
    *(any_state *)state =
        (any_state){.channels = (int)channels, .keeps_frames = bd_node_attr_bool(node, "expand_animations")};
    if (channels == 0 || channels == 1 || channels == 3 || channels == 4) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "`channels` must be 0, 1, 3 or 4 but got %lld",
                   (long long)channels);
}

// A decoded image: samples of 8 or 16 bits, [frames, height, width, channels].
typedef struct decoded {
    bd_op_ctx *c;
    int bits;
    bd_image_form form;
    braid_tensor samples;
} decoded;

static void *take_samples(void *arg, const bd_image_form *form)
{
    decoded *d = arg;
    braid_shape shape = {.rank = 4, .dims = {form->frames, form->height, form->width, form->channels}};
    BD_STATUS(st);
    d->form = *form;
    if (!bd_tensor_init(&d->samples, d->bits == 16 ? BRAID_UINT16 : BRAID_UINT8, &shape, st))
        return d->samples.data;
    bd_op_fail_status(d->c, st);
    return NULL;
}

static bool check_channels(bd_op_ctx *c, bd_image_format format)
{
    int channels = ((const any_state *)c->state)->channels;
    if (format == BD_IMAGE_JPEG && channels == 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "JPEG does not support 4 channels");
    } else if (format == BD_IMAGE_GIF && channels != 0 && channels != 3) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "channels must be 0 or 3 for GIF, got %d", channels);
    } else if (format == BD_IMAGE_BMP && channels == 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`channels` must be 0, 3 or 4 for BMP, but got 1");
    } else if (format == BD_IMAGE_NONE) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Unknown image file format. One of JPEG, PNG, GIF, BMP required.");
    }
    return !bd_op_failed(c);
}

static bool check_not_empty(bd_op_ctx *c, bd_image_file file)
{
    if (file.len == 0) bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input is empty.");
    return file.len > 0;
}

static bool decode(bd_op_ctx *c, bd_image_file file, decoded *d)
{
    const any_state *s = c->state;
    bd_image_format format = bd_image_format_of(file);
    bd_jpeg_decoding jpeg = {
        .channels = s->channels, .ratio = 1, .fancy_upscaling = true, .acceptable_fraction = 1};
    bd_image_sink sink = {take_samples, d};
    BD_STATUS(st);
    if (!check_channels(c, format)) return false;
    d->bits = format == BD_IMAGE_PNG && c->node->output_types[0] != BRAID_UINT8 ? 16 : 8;
    braid_code code = format == BD_IMAGE_PNG    ? bd_png_decode(file, s->channels, d->bits, &sink, st)
                      : format == BD_IMAGE_JPEG ? bd_jpeg_decode(file, &jpeg, &sink, st)
                      : format == BD_IMAGE_GIF  ? bd_gif_decode(file, &sink, st)
                                                : bd_bmp_decode(file, s->channels, &sink, st);
    if (code) bd_op_fail_status(c, st); // after the error that the sink reported, if any
    d->form.frames = format == BD_IMAGE_GIF && s->keeps_frames ? d->form.frames : 1;
    d->samples.shape.rank = format == BD_IMAGE_GIF && s->keeps_frames ? 4 : 3;
    return !bd_op_failed(c);
}

// Samples of 8 bits are multiplied by 256, or divided by 255; those of 16 bits are divided by 65535.
static void convert(const decoded *d, const braid_tensor *y)
{
    int64_t n = bd_tensor_count(y);
    const uint8_t *narrow = d->samples.data;
    const uint16_t *wide = d->samples.data;
    size_t size = braid_dtype_size(y->dtype);
    if (y->dtype == d->samples.dtype) {
        if (n > 0) memcpy(y->data, d->samples.data, (size_t)n * size);
        return;
    }
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        if (y->dtype == BRAID_UINT16) {
            ((uint16_t *)y->data)[i] = (uint16_t)(narrow[i] << 8);
        } else {
            bd_tensor_f32(y)[i] =
                d->bits == 16 ? (float)wide[i] * (1.0f / 65535.0f) : (float)narrow[i] * (1.0f / 255.0f);
        }
    }
}

static void any_run(bd_op_ctx *c)
{
    bd_image_file file;
    decoded d = {.c = c};
    if (bd_image_contents(c, &file) && check_not_empty(c, file) && decode(c, file, &d)) {
        const bd_image_form *f = &d.form;
        braid_shape shape = {.rank = 3, .dims = {f->height, f->width, f->channels}};
        if (d.samples.shape.rank == 4)
            shape = (braid_shape){.rank = 4, .dims = {f->frames, f->height, f->width, f->channels}};
        braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &shape);
        if (y) convert(&d, y);
    }
    bd_tensor_fini(&d.samples);
}

// Animations have one more dimension, which only the file tells.
static braid_code any_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 0, st);
    int64_t channels = bd_node_attr_int(c->node, "channels");
    if (code) return code;
    if (channels < 0)
        return bd_shape_ctx_fail(c, st, "channels must be non-negative, got %lld", (long long)channels);
    if (!bd_node_attr_bool(c->node, "expand_animations"))
        c->outputs[0] = (braid_shape){.rank = 3, .dims = {-1, -1, channels ? channels : -1}};
    return BRAID_OK;
}

BD_OP(DecodeImage) = {
    .signature = "(contents: string) -> (image: dtype)",
    .attrs = "channels:int=0; dtype:type{float,uint16,uint8}=uint8; expand_animations:bool=true",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = any_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(any_state),
                           .create = any_create,
                           .run = any_run}),
    .doc =
        "Decodes a JPEG, PNG, GIF or BMP file; of a GIF all frames, or with expand_animations=false the first.",
};
