// EncodePng, EncodeJpeg and EncodeJpegVariableQuality.
#include "base/alloc.h"
#include "graph/shape_fn.h"
#include "io/jpeg.h"
#include "io/png.h"
#include "ops/common/element.h"

#include <string.h>

static braid_code encode_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    return bd_shape_ctx_rank(c, 0, 3, st);
}

static bool check_rank(bd_op_ctx *c)
{
    const braid_shape *s = &bd_input(c, 0)->shape;
    if (s->rank == 3) return true;
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "image must be 3-dimensional, but has shape %s",
               bd_shape_str(s, text));
    return false;
}

// Makes output 0 a scalar of these bytes, which are freed.
static void output_bytes(bd_op_ctx *c, uint8_t *data, size_t len)
{
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    if (y) bd_tensor_string_try_set(y, 0, (const char *)data, len);
    bd_free(data);
}

// ---- EncodePng ----

static braid_code png_create(const braid_op *node, void *state, braid_status *st)
{
    int64_t compression = bd_node_attr_int(node, "compression");
    *(int *)state = (int)compression;
    if (compression >= -1 && compression <= 9) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "compression should be in [-1,9], got %lld",
                   (long long)compression);
}

static void png_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    BD_STATUS(st);
    uint8_t *data;
    size_t len;
    if (!check_rank(c)) return;
    int64_t channels = x->shape.dims[2];
    if (channels < 1 || channels > 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "image must have 1, 2, 3, or 4 channels, got %lld",
                   (long long)channels);
        return;
    }
    bd_png_image image = {.samples = x->data,
                          .height = x->shape.dims[0],
                          .width = x->shape.dims[1],
                          .depth = (int)channels,
                          .bits = x->dtype == BRAID_UINT16 ? 16 : 8,
                          .compression = *(const int *)c->state};
    if (bd_png_encode(&image, &data, &len, st)) {
        bd_op_fail_status(c, st);
    } else {
        output_bytes(c, data, len);
    }
}

BD_OP(EncodePng) = {
    .signature = "(image: T) -> (contents: string)",
    .attrs = "compression:int=-1; T:type{uint16,uint8}=uint8",
    .shape = encode_shape,
    .kernels = BD_KERNELS({.types = "T=uint8|uint16",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(int),
                           .create = png_create,
                           .run = png_run}),
    .doc = "Encodes an image [height, width, channels] as a PNG file.",
};

// ---- EncodeJpeg, EncodeJpegVariableQuality ----

typedef struct jpeg_state {
    int channels; // 0: as the image has
    bd_jpeg_encoding how;
} jpeg_state;

static braid_code check_quality(int64_t quality, braid_status *st)
{
    if (quality >= 0 && quality <= 100) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "quality must be in [0,100], got %lld", (long long)quality);
}

static braid_code jpeg_create(const braid_op *node, void *state, braid_status *st)
{
    jpeg_state *s = state;
    const char *format = bd_node_attr_string(node, "format");
    const bd_attr *metadata = bd_node_attr(node, "xmp_metadata");
    int64_t quality = bd_node_attr_int(node, "quality");
    s->channels = strcmp(format, "grayscale") == 0 ? 1 : strcmp(format, "rgb") == 0 ? 3 : 0;
    s->how = (bd_jpeg_encoding){.quality = (int)quality,
                                .progressive = bd_node_attr_bool(node, "progressive"),
                                .optimize_size = bd_node_attr_bool(node, "optimize_size"),
                                .chroma_downsampling = bd_node_attr_bool(node, "chroma_downsampling"),
                                .density_in_cm = strcmp(bd_node_attr_string(node, "density_unit"), "cm") == 0,
                                .x_density = (int)bd_node_attr_int(node, "x_density"),
                                .y_density = (int)bd_node_attr_int(node, "y_density"),
                                .xmp_metadata = metadata->s.data,
                                .xmp_len = metadata->s.len};
    return check_quality(quality, st);
}

static void encode_jpeg(bd_op_ctx *c, int channels, bd_jpeg_encoding how)
{
    const braid_tensor *x = bd_input(c, 0);
    BD_STATUS(st);
    uint8_t *data;
    size_t len;
    char text[BD_SHAPE_STR_MAX];
    int64_t depth = x->shape.dims[2];
    if (channels == 0 && depth != 1 && depth != 3) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "image must have 1 or 3 channels, got %s",
                   bd_shape_str(&x->shape, text));
        return;
    }
    if (channels != 0 && channels != depth) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "format %s expects %d channels, got %s",
                   channels == 1 ? "grayscale" : "rgb", channels, bd_shape_str(&x->shape, text));
        return;
    }
    how.channels = (int)depth;
    if (bd_jpeg_encode(x->data, x->shape.dims[0], x->shape.dims[1], &how, &data, &len, st)) {
        bd_op_fail_status(c, st);
    } else {
        output_bytes(c, data, len);
    }
}

static void jpeg_run(bd_op_ctx *c)
{
    const jpeg_state *s = c->state;
    if (check_rank(c)) encode_jpeg(c, s->channels, s->how);
}

BD_OP(EncodeJpeg) = {
    .signature = "(image: uint8) -> (contents: string)",
    .attrs =
        "format:string{,grayscale,rgb}=''; quality:int=95; progressive:bool=false; optimize_size:bool=false; "
        "chroma_downsampling:bool=true; density_unit:string{in,cm}='in'; x_density:int=300; "
        "y_density:int=300; xmp_metadata:string=''",
    .shape = encode_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(jpeg_state),
                           .create = jpeg_create,
                           .run = jpeg_run}),
    .doc = "Encodes an image [height, width, channels] as a JPEG file.",
};

static braid_code variable_quality_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = encode_shape(c, st);
    return code ? code : bd_shape_ctx_rank(c, 1, 0, st);
}

static void variable_quality_run(bd_op_ctx *c)
{
    const braid_tensor *quality = bd_input(c, 1);
    BD_STATUS(st);
    if (!check_rank(c)) return;
    if (quality->shape.rank != 0) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "quality must be scalar, got shape %s",
                   bd_shape_str(&quality->shape, text));
    } else if (check_quality(bd_tensor_index(quality, 0), st)) {
        bd_op_fail_status(c, st);
    } else {
        encode_jpeg(c, 0,
                    (bd_jpeg_encoding){.quality = (int)bd_tensor_index(quality, 0),
                                       .chroma_downsampling = true,
                                       .x_density = 300,
                                       .y_density = 300});
    }
}

BD_OP(EncodeJpegVariableQuality) = {
    .signature = "(images: uint8, quality: int32) -> (contents: string)",
    .shape = variable_quality_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = variable_quality_run}),
    .doc = "Encodes an image [height, width, channels] as a JPEG file of the quality given.",
};
