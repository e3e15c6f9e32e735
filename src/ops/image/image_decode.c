// DecodePng, DecodeJpeg, DecodeAndCropJpeg, DecodeGif, DecodeBmp and ExtractJpegShape.
//
// As in TensorFlow, the ops for PNG, JPEG and GIF read all three formats: the content of the file decides.
#include "graph/shape_fn.h"
#include "io/bmp.h"
#include "io/gif.h"
#include "io/jpeg.h"
#include "io/png.h"
#include "ops/common/element.h"
#include "ops/image/image_contents.h"

#include <string.h>

static const char *const format_names[] = {"unknown format", "PNG", "JPEG", "GIF", "BMP"};

typedef struct decode_state {
    int channels, bits;
    bool keeps_frames; // DecodeGif
    bd_jpeg_decoding jpeg;
} decode_state;

// ---- Attributes ----

static braid_code read_jpeg_attrs(const braid_op *node, bd_jpeg_decoding *how, braid_status *st)
{
    const char *method = bd_node_attr_string(node, "dct_method");
    int64_t ratio = bd_node_attr_int(node, "ratio");
    if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "ratio must be 1, 2, 4, or 8, got %lld", (long long)ratio);
    if (method[0] && strcmp(method, "INTEGER_FAST") != 0 && strcmp(method, "INTEGER_ACCURATE") != 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}, got '%s'",
                       method);
    how->ratio = (int)ratio;
    how->accurate_dct = strcmp(method, "INTEGER_ACCURATE") == 0;
    how->fancy_upscaling = bd_node_attr_bool(node, "fancy_upscaling");
    how->recover_truncated = bd_node_attr_bool(node, "try_recover_truncated");
    how->acceptable_fraction = bd_node_attr_float(node, "acceptable_fraction");
    return BRAID_OK;
}

static braid_code decode_create(const braid_op *node, void *state, braid_status *st)
{
    decode_state *s = state;
    *s = (decode_state){
        .channels = 3, .bits = 8, .jpeg = {.ratio = 1, .fancy_upscaling = true, .acceptable_fraction = 1}};
    s->keeps_frames = strcmp(node->op_type, "DecodeGif") == 0;
    if (!s->keeps_frames) {
        int64_t channels = bd_node_attr_int(node, "channels");
        if (channels != 0 && channels != 1 && channels != 3 && channels != 4)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "channels must be 0, 1, 3, or 4, got %lld",
                           (long long)channels);
        s->channels = (int)channels;
    }
    if (bd_node_attr(node, "dtype") && bd_node_attr_type(node, "dtype") == BRAID_UINT16) s->bits = 16;
    return bd_node_attr(node, "dct_method") ? read_jpeg_attrs(node, &s->jpeg, st) : BRAID_OK;
}

// ---- Kernels ----

bool bd_image_contents(bd_op_ctx *c, bd_image_file *file)
{
    const braid_tensor *t = bd_input(c, 0);
    if (t->shape.rank == 0) {
        const bd_string *s = bd_tensor_str(t);
        *file = (bd_image_file){(const uint8_t *)s->data, s->len};
        if (s->len <= INT32_MAX) return true;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "contents are too large for int: %zu", s->len);
        return false;
    }
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "contents must be scalar, got shape %s",
               bd_shape_str(&t->shape, text));
    return false;
}

bd_image_format bd_image_format_of(bd_image_file file)
{
    static const struct {
        const char *start;
        bd_image_format format;
    } starts[] = {{"\x89PNG\r\n\x1a\n", BD_IMAGE_PNG},
                  {"\xff\xd8\xff", BD_IMAGE_JPEG},
                  {"GIF8", BD_IMAGE_GIF},
                  {"BM", BD_IMAGE_BMP}};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        size_t len = strlen(starts[i].start);
        if (file.len >= len && memcmp(file.data, starts[i].start, len) == 0) return starts[i].format;
    }
    return BD_IMAGE_NONE;
}

// Makes output 0 for an image of this form: the sink of the decoders.
static void *output_samples(void *arg, const bd_image_form *form)
{
    bd_op_ctx *c = arg;
    bool keeps_frames = strcmp(c->node->op_type, "DecodeGif") == 0;
    braid_shape shape = {.rank = 3, .dims = {form->height, form->width, form->channels}};
    if (keeps_frames) {
        shape = (braid_shape){.rank = 4, .dims = {form->frames, form->height, form->width, form->channels}};
    } else if (form->frames != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Got %lld frames, but animated gifs can only be decoded by tf.image.decode_gif or "
                   "tf.image.decode_image",
                   (long long)form->frames);
        return NULL;
    }
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &shape);
    return y ? y->data : NULL;
}

static bool check_format(bd_op_ctx *c, bd_image_file file, bd_image_format found)
{
    const decode_state *s = c->state;
    if (found == BD_IMAGE_NONE || found == BD_IMAGE_BMP) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected image (JPEG, PNG, or GIF), got %s",
                   file.len == 0 ? "empty file" : format_names[found]);
    } else if (found != BD_IMAGE_PNG && s->bits == 16) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s does not support uint16 output", format_names[found]);
    } else if (found == BD_IMAGE_JPEG && s->channels == 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "channels must be 0, 1, or 3 for JPEG, got 4");
    } else if (found == BD_IMAGE_GIF && s->channels != 0 && s->channels != 3) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "channels must be 0 or 3 for GIF, got %d", s->channels);
    }
    return !bd_op_failed(c);
}

static void decode_file(bd_op_ctx *c, bd_image_file file, const bd_jpeg_decoding *jpeg)
{
    const decode_state *s = c->state;
    bd_image_sink sink = {output_samples, c};
    bd_image_format found = bd_image_format_of(file);
    BD_STATUS(st);
    if (!check_format(c, file, found)) return;
    braid_code code = found == BD_IMAGE_PNG    ? bd_png_decode(file, s->channels, s->bits, &sink, st)
                      : found == BD_IMAGE_JPEG ? bd_jpeg_decode(file, jpeg, &sink, st)
                                               : bd_gif_decode(file, &sink, st);
    if (code) bd_op_fail_status(c, st); // after the error that the sink reported, if any
}

static void decode_run(bd_op_ctx *c)
{
    const decode_state *s = c->state;
    bd_jpeg_decoding jpeg = s->jpeg;
    bd_image_file file;
    jpeg.channels = s->channels;
    if (bd_image_contents(c, &file)) decode_file(c, file, &jpeg);
}

static void decode_and_crop_run(bd_op_ctx *c)
{
    const decode_state *s = c->state;
    const braid_tensor *window = bd_input(c, 1);
    bd_jpeg_decoding jpeg = s->jpeg;
    bd_image_file file;
    char text[BD_SHAPE_STR_MAX];
    if (window->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "crop_window must be 1-D, got shape %s",
                   bd_shape_str(&window->shape, text));
        return;
    }
    if (window->shape.dims[0] != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "crop_size must have four elements, got shape %s",
                   bd_shape_str(&window->shape, text));
        return;
    }
    jpeg.channels = s->channels;
    jpeg.crop = true;
    jpeg.crop_y = bd_tensor_index(window, 0);
    jpeg.crop_x = bd_tensor_index(window, 1);
    jpeg.crop_height = bd_tensor_index(window, 2);
    jpeg.crop_width = bd_tensor_index(window, 3);
    if (bd_image_contents(c, &file)) decode_file(c, file, &jpeg);
}

static void decode_bmp_run(bd_op_ctx *c)
{
    const decode_state *s = c->state;
    bd_image_sink sink = {output_samples, c};
    bd_image_file file;
    BD_STATUS(st);
    if (bd_image_contents(c, &file) && bd_bmp_decode(file, s->channels, &sink, st)) bd_op_fail_status(c, st);
}

static void extract_shape_run(bd_op_ctx *c)
{
    bd_image_file file;
    bd_image_form form;
    BD_STATUS(st);
    if (!bd_image_contents(c, &file)) return;
    if (bd_jpeg_form(file, &form, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_shape shape = bd_shape1(3);
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &shape);
    int64_t sizes[] = {form.height, form.width, form.channels};
    for (int i = 0; y && i < 3; i++) {
        if (y->dtype == BRAID_INT32) {
            bd_tensor_i32(y)[i] = (int32_t)sizes[i];
        } else {
            bd_tensor_i64(y)[i] = sizes[i];
        }
    }
}

// ---- Shapes ----

static braid_code decode_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 0, st);
    if (code) return code;
    int64_t channels = bd_node_attr_int(c->node, "channels");
    if (channels < 0)
        return bd_shape_ctx_fail(c, st, "channels must be non-negative, got %lld", (long long)channels);
    c->outputs[0] = (braid_shape){.rank = 3, .dims = {-1, -1, channels ? channels : -1}};
    return BRAID_OK;
}

static braid_code decode_and_crop_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = decode_shape(c, st);
    const braid_tensor *window = bd_shape_ctx_constant(c, 1);
    if (code || !window || window->shape.rank != 1 || window->shape.dims[0] != 4) return code;
    for (int d = 0; d < 2; d++) {
        int64_t dim = bd_tensor_index(window, 2 + d);
        if (dim > 0) c->outputs[0].dims[d] = dim; // the kernel reports a conflict
    }
    return BRAID_OK;
}

static braid_code decode_gif_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 0, st);
    c->outputs[0] = (braid_shape){.rank = 4, .dims = {-1, -1, -1, 3}};
    return code;
}

static braid_code extract_shape_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = bd_shape1(3);
    return bd_shape_ctx_rank(c, 0, 0, st);
}

// ---- Ops ----

#define JPEG_ATTRS                                                                                           \
    "channels:int=0; ratio:int=1; fancy_upscaling:bool=true; try_recover_truncated:bool=false; "             \
    "acceptable_fraction:float=1; dct_method:string=''"
#define DECODE_KERNELS(RUN)                                                                                  \
    BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,                                                                \
                .state_size = sizeof(decode_state),                                                          \
                .create = decode_create,                                                                     \
                .run = (RUN)})

BD_OP(DecodePng) = {
    .signature = "(contents: string) -> (image: dtype)",
    .attrs = "channels:int=0; dtype:type{uint16,uint8}=uint8",
    .shape = decode_shape,
    .kernels = DECODE_KERNELS(decode_run),
    .doc = "Decodes a PNG file to an image [height, width, channels]; 0 channels: as many as the file has.",
};

BD_OP(DecodeJpeg) = {
    .signature = "(contents: string) -> (image: uint8)",
    .attrs = JPEG_ATTRS,
    .shape = decode_shape,
    .kernels = DECODE_KERNELS(decode_run),
    .doc = "Decodes a JPEG file to an image [height, width, channels], made `ratio` times smaller.",
    .deviation = "A file of more than 500 scans is refused.",
};

BD_OP(DecodeAndCropJpeg) = {
    .signature = "(contents: string, crop_window: int32) -> (image: uint8)",
    .attrs = JPEG_ATTRS,
    .shape = decode_and_crop_shape,
    .kernels = DECODE_KERNELS(decode_and_crop_run),
    .doc = "Decodes a window [y, x, height, width] of a JPEG file without decoding all of it.",
    .deviation = "A file of more than 500 scans is refused.",
};

BD_OP(DecodeGif) = {
    .signature = "(contents: string) -> (image: uint8)",
    .shape = decode_gif_shape,
    .kernels = DECODE_KERNELS(decode_run),
    .doc = "Decodes a GIF file to its frames, [frames, height, width, 3].",
};

BD_OP(DecodeBmp) = {
    .signature = "(contents: string) -> (image: uint8)",
    .attrs = "channels:int=0",
    .shape = decode_shape,
    .kernels = DECODE_KERNELS(decode_bmp_run),
    .doc = "Decodes a BMP file without compression to an image [height, width, channels].",
};

BD_OP(ExtractJpegShape) = {
    .signature = "(contents: string) -> (image_shape: output_type)",
    .attrs = "output_type:type{int32,int64}=int32",
    .shape = extract_shape_shape,
    .kernels = BD_KERNELS({.types = "output_type=int32|int64", .run = extract_shape_run}),
    .doc = "The shape [height, width, channels] of a JPEG file's image, by its header alone.",
};
