// The gradients of ResizeBilinear, ResizeBicubic and ResizeNearestNeighbor.
#include "base/interrupt.h"
#include "ops/image/image.h"
#include "ops/image/image_resize.h"

// ---- Of float images: the output has the shape and type of the image that was resized ----

static braid_code like_original(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = c->inputs[1];
    return BRAID_OK;
}

static bool check_grads(bd_op_ctx *c)
{
    const braid_shape *dy = &bd_input(c, 0)->shape, *x = &bd_input(c, 1)->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bd_shape_str(dy, a);
    bd_shape_str(x, b);
    if (dy->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input_grad must be 4-dimensional, but has shape %s", a);
    } else if (x->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "original_image must be 4-dimensional, but has shape %s", b);
    } else if (dy->dims[0] != x->dims[0] || dy->dims[3] != x->dims[3]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "input_grad %s and original_image %s must have the same batch and channels", a, b);
    } else if (x->dims[1] >= INT32_MAX || x->dims[2] >= INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "original sizes must be between 0 and max int32: %s", b);
    }
    return !bd_op_failed(c);
}

static void resize_grad(bd_op_ctx *c, bd_resize_method method, int count)
{
    const braid_tensor *dy = bd_input(c, 0), *x = bd_input(c, 1);
    bd_resize r;
    if (!check_grads(c)) return;
    braid_tensor *dx = bd_image_output(c, x->dtype, &x->shape);
    if (!dx || bd_tensor_count(dx) == 0 || bd_tensor_count(dy) == 0) return;
    if (!bd_resize_begin(c, method, x->shape.dims[3], &x->shape.dims[1], &dy->shape.dims[1], &r)) return;
    int64_t in_len = bd_shape_count_range(&x->shape, 1, 4), out_len = bd_shape_count_range(&dy->shape, 1, 4);
    for (int64_t i = 0; i < x->shape.dims[0]; i++) {
        const float *from = bd_tensor_f32(dy) + i * out_len;
        if (x->dtype == BRAID_DOUBLE) {
            bd_resize_grad_f64(&r, count, from, bd_tensor_f64(dx) + i * in_len);
        } else {
            bd_resize_grad_f32(&r, count, from, bd_tensor_f32(dx) + i * in_len);
        }
    }
    bd_resize_end(&r);
}

static void bilinear_grad_run(bd_op_ctx *c)
{
    resize_grad(c, BD_RESIZE_BILINEAR, 2);
}

static void bicubic_grad_run(bd_op_ctx *c)
{
    resize_grad(c, BD_RESIZE_BICUBIC, 4);
}

#define RESIZE_ATTRS "align_corners:bool=false; half_pixel_centers:bool=false"
#define GRAD_KERNELS(TYPES, FLAGS, RUN)                                                                      \
    BD_KERNELS({.types = "T=" TYPES,                                                                         \
                .flags = BD_KERNEL_EXPENSIVE | (FLAGS),                                                      \
                .state_size = sizeof(bd_resize_attrs),                                                       \
                .create = bd_resize_create,                                                                  \
                .run = (RUN)})

BD_OP(ResizeBilinearGrad) = {
    .signature = "(grads: float, original_image: T) -> (output: T)",
    .attrs = "T:type{bfloat16,double,float,half}; " RESIZE_ATTRS,
    .shape = like_original,
    .kernels = GRAD_KERNELS("float|double", BD_KERNEL_WIDENS, bilinear_grad_run),
    .doc = "The gradient of ResizeBilinear.",
};

BD_OP(ResizeBicubicGrad) = {
    .signature = "(grads: float, original_image: T) -> (output: T)",
    .attrs = "T:type{double,float}; " RESIZE_ATTRS,
    .shape = like_original,
    .kernels = GRAD_KERNELS("float|double", 0, bicubic_grad_run),
    .doc = "The gradient of ResizeBicubic.",
};

// ---- Of nearest pixels: of any type ----

static braid_code nearest_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_image_sized_shape(c, 1, st);
}

#define DEFINE_ADD(NAME, T, U)                                                                               \
    static void NAME(void *to, const void *from, int64_t n)                                                  \
    {                                                                                                        \
        for (int64_t i = 0; i < n; i++)                                                                      \
            ((T *)to)[i] = (T)((U)((T *)to)[i] + (U)((const T *)from)[i]);                                   \
    }
DEFINE_ADD(add_f32, float, float)
DEFINE_ADD(add_f64, double, double)
DEFINE_ADD(add_i32, int32_t, uint32_t) // wraps around

static void nearest_grad_run(bd_op_ctx *c)
{
    const braid_tensor *dy = bd_input(c, 0);
    int64_t size[2];
    bd_resize r;
    if (dy->shape.rank != 4) bd_image_check(c, "input", dy);
    if (bd_op_failed(c) || !bd_image_size_input(c, 1, size)) return;
    braid_shape shape = dy->shape;
    shape.dims[1] = size[0];
    shape.dims[2] = size[1];
    braid_tensor *dx = bd_image_output(c, dy->dtype, &shape);
    if (!dx || bd_tensor_count(dx) == 0 || bd_tensor_count(dy) == 0) return;
    if (!bd_resize_begin(c, BD_RESIZE_NEAREST, shape.dims[3], size, &dy->shape.dims[1], &r)) return;
    void (*add)(void *to, const void *from, int64_t n) = dy->dtype == BRAID_FLOAT    ? add_f32
                                                         : dy->dtype == BRAID_DOUBLE ? add_f64
                                                                                     : add_i32;
    size_t pixel = (size_t)r.channels * braid_dtype_size(dy->dtype);
    const char *from = dy->data;
    for (int64_t row = 0; row < dy->shape.dims[0] * dy->shape.dims[1] && !bd_interrupted(); row++) {
        int64_t to = row / dy->shape.dims[1] * size[0] + r.taps[0][row % dy->shape.dims[1]].index[0];
        char *pixels = (char *)dx->data + (size_t)(to * size[1]) * pixel;
        for (int64_t i = 0; i < dy->shape.dims[2]; i++, from += pixel)
            add(pixels + (size_t)r.taps[1][i].index[0] * pixel, from, r.channels);
    }
    bd_resize_end(&r);
}

BD_OP(ResizeNearestNeighborGrad) = {
    .signature = "(grads: T, size: int32) -> (output: T)",
    .attrs = "T:type{double,float,half,int32,int8,uint8}; " RESIZE_ATTRS,
    .shape = nearest_grad_shape,
    .kernels = GRAD_KERNELS("float|double|int32", BD_KERNEL_WIDENS, nearest_grad_run),
    .doc = "The gradient of ResizeNearestNeighbor, whose images had this size.",
};
