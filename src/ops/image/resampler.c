// Resampler: pixels of images at given places between them, by bilinear interpolation (M. Jaderberg,
// K. Simonyan, A. Zisserman, K. Kavukcuoglu, "Spatial transformer networks", 2015, equations 5 to 7). Around
// the images there are zeros.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"
#include "ops/common/elementwise.h"

#include <math.h>
#include <string.h>

typedef struct resampling {
    const void *data, *warp, *grad;    // [batch, height, width, channels], [batch, samples, 2], as `out`
    void *out, *grad_data, *grad_warp; // out: [batch, samples, channels]
    int64_t batch, height, width, channels, samples;
} resampling;

// The element of a pixel's first channel; -1: it is outside.
static int64_t pixel(const resampling *r, int64_t b, int64_t x, int64_t y)
{
    if (x < 0 || y < 0 || x >= r->width || y >= r->height) return -1;
    return ((b * r->height + y) * r->width + x) * r->channels;
}

#define T float
#define NAME(x) x##_f32
#include "ops/image/resampler_loops.h"

#define T double
#define NAME(x) x##_f64
#include "ops/image/resampler_loops.h"

// The shape of the result.
static braid_shape result_shape(const braid_shape *data, const braid_shape *warp)
{
    braid_shape out = *warp;
    out.dims[out.rank - 1] = data->dims[3];
    return out;
}

static bool read_inputs(bd_op_ctx *c, resampling *r)
{
    const braid_tensor *data = bd_input(c, 0), *warp = bd_input(c, 1);
    const braid_shape *d = &data->shape, *w = &warp->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (d->rank != 4)
        bd_op_fail(
            c, BRAID_UNIMPLEMENTED,
            "Only bilinear interpolation is currently supported. The input data shape must be [batch_size, "
            "data_height, data_width, data_channels], but is: %s",
            bd_shape_str(d, a));
    else if (w->rank < 2)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "warp should be at least a matrix, got shape %s",
                   bd_shape_str(w, a));
    else if (w->dims[w->rank - 1] != 2)
        bd_op_fail(
            c, BRAID_UNIMPLEMENTED,
            "Only bilinear interpolation is supported, warping coordinates must be 2D; warp shape last "
            "entry should be 2, but shape vector is: %s",
            bd_shape_str(w, a));
    else if (d->dims[0] != w->dims[0])
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Batch size of data and warp tensor must be the same, but input shapes are: %s, %s",
                   bd_shape_str(d, a), bd_shape_str(w, b));
    if (bd_op_failed(c)) return false;
    *r = (resampling){.data = data->data,
                      .warp = warp->data,
                      .batch = d->dims[0],
                      .height = d->dims[1],
                      .width = d->dims[2],
                      .channels = d->dims[3],
                      .samples = bd_shape_count_range(w, 1, w->rank - 1)};
    return true;
}

// Elements that are worth a thread.
#define ELEMENTS_PER_THREAD 4096

static void resample_some(void *arg, int64_t from, int64_t to)
{
    resample_f32(arg, from, to);
}

static void resample_some_doubles(void *arg, int64_t from, int64_t to)
{
    resample_f64(arg, from, to);
}

static void resampler_run(bd_op_ctx *c)
{
    resampling r;
    if (!read_inputs(c, &r)) return;
    const braid_dtype dtype = bd_input(c, 0)->dtype;
    const braid_shape shape = result_shape(&bd_input(c, 0)->shape, &bd_input(c, 1)->shape);
    const braid_tensor *y = bd_output(c, 0, dtype, &shape);
    if (!y || bd_tensor_count(y) == 0) return;
    r.out = y->data;
    bd_parallel_for(c, r.batch * r.samples, ELEMENTS_PER_THREAD / r.channels + 1,
                    dtype == BRAID_FLOAT ? resample_some : resample_some_doubles, &r);
}

static void grad_some(void *arg, int64_t from, int64_t to)
{
    resample_grad_f32(arg, from, to);
}

static void grad_some_doubles(void *arg, int64_t from, int64_t to)
{
    resample_grad_f64(arg, from, to);
}

static void resampler_grad_run(bd_op_ctx *c)
{
    resampling r;
    if (!read_inputs(c, &r)) return;
    const braid_tensor *data = bd_input(c, 0), *warp = bd_input(c, 1), *grad = bd_input(c, 2);
    const braid_shape shape = result_shape(&data->shape, &warp->shape);
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (!bd_shape_equal(&grad->shape, &shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "grad_output shape is not consistent with data and warp shapes; it "
                   "should be %s but is %s",
                   bd_shape_str(&shape, a), bd_shape_str(&grad->shape, b));
        return;
    }
    const braid_tensor *by_data = bd_output(c, 0, data->dtype, &data->shape),
                       *by_warp = by_data ? bd_output(c, 1, data->dtype, &warp->shape) : NULL;
    if (!by_warp) return;
    r.grad = grad->data;
    r.grad_data = by_data->data;
    r.grad_warp = by_warp->data;
    if (bd_tensor_count(by_data) > 0)
        memset(by_data->data, 0, (size_t)bd_tensor_count(by_data) * braid_dtype_size(data->dtype));
    bd_parallel_for(c, r.batch, 1, data->dtype == BRAID_FLOAT ? grad_some : grad_some_doubles, &r);
}

static braid_code resampler_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *data = &c->inputs[0], *warp = &c->inputs[1];
    braid_code code = bd_shape_ctx_rank(c, 0, 4, st);
    if (code || warp->rank < 0) return code;
    if (warp->rank < 2)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %d", warp->rank);
    c->outputs[0] = *warp;
    c->outputs[0].dims[warp->rank - 1] = data->rank == 4 ? data->dims[3] : -1;
    return BRAID_OK;
}

static braid_code resampler_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = c->inputs[0];
    c->outputs[1] = c->inputs[1];
    return BRAID_OK;
}

static void resampler_gradient(bd_grad_ctx *c)
{
    if (!c->output_grads[0].op) return;
    braid_op_desc *d = braid_op_begin(c->graph, "ResamplerGrad", NULL);
    braid_op_input(d, c->op->inputs[0]);
    braid_op_input(d, c->op->inputs[1]);
    braid_op_input(d, c->output_grads[0]);
    braid_op *grad = braid_op_end(d);
    c->input_grads[0] = braid_output(grad, 0);
    c->input_grads[1] = braid_output(grad, 1);
}

#define TYPES "T:type{half,bfloat16,float,double}"

BD_OP(Resampler) = {
    .signature = "(data: T, warp: T) -> (output: T)",
    .attrs = TYPES,
    .shape = resampler_shape,
    .gradient = resampler_gradient,
    .kernels = BD_KERNELS(
        {.types = BD_FLOATS, .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS, .run = resampler_run}),
    .doc = "Takes images [batch, height, width, channels] at the places (x, y) of `warp` [batch, .., 2], by "
           "bilinear interpolation; around the images there are zeros.",
};

BD_OP(ResamplerGrad) = {
    .signature = "(data: T, warp: T, grad_output: T) -> (grad_data: T, grad_warp: T)",
    .attrs = TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = resampler_grad_shape,
    .kernels = BD_KERNELS(
        {.types = BD_FLOATS, .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS, .run = resampler_grad_run}),
    .doc = "Computes the gradients of Resampler by the images and by the places.",
};
