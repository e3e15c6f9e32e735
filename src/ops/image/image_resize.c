// ResizeBilinear, ResizeBicubic, ResizeArea and ResizeNearestNeighbor.
#include "ops/image/image_resize.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"
#include "ops/image/image.h"

#include <math.h>
#include <string.h>

// ---- Preparing ----

braid_code bd_resize_create(const braid_op *node, void *state, braid_status *st)
{
    bd_resize_attrs *s = state;
    s->align_corners = bd_node_attr_bool(node, "align_corners");
    s->half_pixel_centers =
        bd_node_attr(node, "half_pixel_centers") && bd_node_attr_bool(node, "half_pixel_centers");
    if (!s->align_corners || !s->half_pixel_centers) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "If half_pixel_centers is True, align_corners must be False.");
}

bool bd_resize_begin(bd_op_ctx *c, bd_resize_method method, int64_t channels, const int64_t in[2],
                     const int64_t out[2], bd_resize *r)
{
    const bd_resize_attrs *s = c->state;
    *r = (bd_resize){.channels = channels};
    for (int d = 0; d < 2; d++) {
        r->axis[d] = bd_resize_axis_of(in[d], out[d], s->align_corners, s->half_pixel_centers);
        bd_resize_tap *taps = bd_try_calloc((size_t)out[d], sizeof *taps);
        r->taps[d] = taps;
        if (!taps) {
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when resizing images to %lld x %lld",
                       (long long)out[0], (long long)out[1]);
            bd_resize_end(r);
            return false;
        }
        bd_resize_taps(method, &r->axis[d], taps);
    }
    return true;
}

void bd_resize_end(bd_resize *r)
{
    bd_free((void *)r->taps[0]);
    bd_free((void *)r->taps[1]);
}

// ---- To float images ----

typedef void (*rows_fn)(const bd_resize *r, const float *x, float *y, int64_t from, int64_t to);

typedef struct rows_job {
    const bd_resize *resize;
    const float *x;
    float *y;
    rows_fn fn;
} rows_job;

static void run_rows(void *arg, int64_t from, int64_t to)
{
    const rows_job *job = arg;
    job->fn(job->resize, job->x, job->y, from, to);
}

// The number of output samples that is worth a task of its own.
#define SAMPLES_PER_THREAD 8192

// Checks the inputs and allocates output 0, of type `dtype`. NULL: the kernel has failed.
static braid_tensor *resized_output(bd_op_ctx *c, braid_dtype dtype, int64_t size[2])
{
    const braid_tensor *x = bd_input(c, 0);
    if (x->shape.rank != 4) bd_image_check(c, "input", x);
    if (bd_op_failed(c) || !bd_image_size_input(c, 1, size) || !bd_image_check(c, "input", x)) return NULL;
    braid_shape shape = x->shape;
    shape.dims[1] = size[0];
    shape.dims[2] = size[1];
    return bd_image_output(c, dtype, &shape);
}

static void resize_floats(bd_op_ctx *c, bd_resize_method method, rows_fn fn)
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t size[2];
    braid_tensor *y = resized_output(c, BRAID_FLOAT, size), floats = {0};
    bd_resize r;
    if (!y || bd_tensor_count(y) == 0 || !bd_image_floats(c, x, &floats)) return;
    if (method == BD_RESIZE_BILINEAR && size[0] == x->shape.dims[1] && size[1] == x->shape.dims[2]) {
        bd_output_set(c, 0, &floats);
    } else if (bd_resize_begin(c, method, x->shape.dims[3], &x->shape.dims[1], size, &r)) {
        rows_job job = {.resize = &r, .x = bd_tensor_f32(&floats), .y = bd_tensor_f32(y), .fn = fn};
        int64_t rows = x->shape.dims[0] * size[0], row_len = size[1] * x->shape.dims[3];
        bd_parallel_for(c, rows, SAMPLES_PER_THREAD / row_len + 1, run_rows, &job);
        bd_resize_end(&r);
    }
    bd_tensor_fini(&floats);
}

static void bilinear_run(bd_op_ctx *c)
{
    resize_floats(c, BD_RESIZE_BILINEAR, bd_resize_bilinear_rows);
}

static void bicubic_run(bd_op_ctx *c)
{
    resize_floats(c, BD_RESIZE_BICUBIC, bd_resize_bicubic_rows);
}

static void area_run(bd_op_ctx *c)
{
    resize_floats(c, BD_RESIZE_NEAREST, bd_resize_area_rows); // it has no use for taps
}

static braid_code resize_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_image_sized_shape(c, 1, st);
}

// ---- Gradient functions ----

static void copy_attrs(const bd_grad_ctx *c, braid_op_desc *d)
{
    braid_op_attr_bool(d, "align_corners", bd_node_attr_bool(c->op, "align_corners"));
    braid_op_attr_bool(d, "half_pixel_centers", bd_node_attr_bool(c->op, "half_pixel_centers"));
}

static braid_out grad_like(bd_grad_ctx *c, const char *op, braid_out second)
{
    braid_op_desc *d = braid_op_begin(c->graph, op, NULL);
    braid_op_input(d, c->output_grads[0]);
    braid_op_input(d, second);
    copy_attrs(c, d);
    return braid_op_end_out(d);
}

static void bilinear_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = grad_like(c, "ResizeBilinearGrad", c->op->inputs[0]);
}

static void bicubic_gradient(bd_grad_ctx *c)
{
    braid_dtype type = bd_dtype_base(braid_out_dtype(c->op->inputs[0]));
    if (type == BRAID_FLOAT || type == BRAID_DOUBLE)
        c->input_grads[0] = grad_like(c, "ResizeBicubicGrad", c->op->inputs[0]);
}

static void nearest_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out image = c->op->inputs[0], size;
    braid_shape s = braid_out_shape(image);
    if (s.rank == 4 && s.dims[1] >= 0 && s.dims[2] >= 0) {
        size = bd_b_const_i32_vector(g, NULL, (int32_t[]){(int32_t)s.dims[1], (int32_t)s.dims[2]}, 2);
    } else {
        size = bd_grad_slice(g, bd_b_shape(g, "Shape", image),
                             &(bd_grad_index){.count = 1, .begin = {1}, .end = {3}});
    }
    c->input_grads[0] = grad_like(c, "ResizeNearestNeighborGrad", size);
}

// ---- Ops ----

#define ALL_TYPES "T:type{double,float,half,int16,int32,int64,int8,uint16,uint8}; "
#define RESIZE_ATTRS "align_corners:bool=false; half_pixel_centers:bool=false"
#define RESIZE_KERNELS(TYPES, RUN)                                                                           \
    BD_KERNELS({.types = "T=" TYPES,                                                                         \
                .flags = BD_KERNEL_EXPENSIVE,                                                                \
                .state_size = sizeof(bd_resize_attrs),                                                       \
                .create = bd_resize_create,                                                                  \
                .run = (RUN)})

BD_OP(ResizeBilinear) = {
    .signature = "(images: T, size: int32) -> (resized_images: float)",
    .attrs = "T:type{bfloat16,double,float,half,int16,int32,int64,int8,uint16,uint8}; " RESIZE_ATTRS,
    .shape = resize_shape,
    .gradient = bilinear_gradient,
    .kernels = RESIZE_KERNELS(BD_IMAGE_TYPES "|bfloat16", bilinear_run),
    .doc = "Resizes images to size [height, width]; pixels are linear between those of the input.",
};

BD_OP(ResizeBicubic) = {
    .signature = "(images: T, size: int32) -> (resized_images: float)",
    .attrs = ALL_TYPES RESIZE_ATTRS,
    .shape = resize_shape,
    .gradient = bicubic_gradient,
    .kernels = RESIZE_KERNELS(BD_IMAGE_TYPES, bicubic_run),
    .doc = "Resizes images to size [height, width] by cubic convolution.",
};

BD_OP(ResizeArea) = {
    .signature = "(images: T, size: int32) -> (resized_images: float)",
    .attrs = ALL_TYPES "align_corners:bool=false",
    .shape = resize_shape,
    .kernels = RESIZE_KERNELS(BD_IMAGE_TYPES, area_run),
    .doc = "Resizes images to size [height, width]; a pixel is the mean of the input area that it covers.",
};

// ---- ResizeNearestNeighbor ----

static void nearest_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t size[2];
    braid_tensor *y = resized_output(c, x->dtype, size);
    bd_resize r;
    if (!y || bd_tensor_count(y) == 0 ||
        !bd_resize_begin(c, BD_RESIZE_NEAREST, x->shape.dims[3], &x->shape.dims[1], size, &r))
        return;
    size_t pixel = (size_t)r.channels * braid_dtype_size(x->dtype);
    char *out = y->data;
    for (int64_t row = 0; row < x->shape.dims[0] * size[0] && !bd_interrupted(); row++) {
        int64_t from = row / size[0] * x->shape.dims[1] + r.taps[0][row % size[0]].index[0];
        const char *pixels = (const char *)x->data + (size_t)(from * x->shape.dims[2]) * pixel;
        for (int64_t i = 0; i < size[1]; i++, out += pixel)
            memcpy(out, pixels + (size_t)r.taps[1][i].index[0] * pixel, pixel);
    }
    bd_resize_end(&r);
}

BD_OP(ResizeNearestNeighbor) = {
    .signature = "(images: T, size: int32) -> (resized_images: T)",
    .attrs = ALL_TYPES RESIZE_ATTRS,
    .shape = resize_shape,
    .gradient = nearest_gradient,
    .kernels = RESIZE_KERNELS(BD_IMAGE_TYPES, nearest_run),
    .doc = "Resizes images to size [height, width]; a pixel is the nearest one of the input.",
};
