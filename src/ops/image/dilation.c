// Dilation2D and its gradients: grayscale morphology, where windows take the greatest sum of image and
// filter.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/common/window.h"

#include <float.h>
#include <string.h>

// ---- Shapes ----

static braid_code dilation_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    if (!code) code = bd_shape_ctx_rank(c, 0, 4, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 3, st);
    if (code) return code;
    const braid_shape *in = &c->inputs[0], *filter = &c->inputs[1];
    braid_shape out = {.rank = 4, .dims = {-1, -1, -1, -1}};
    if (in->rank == 4) out = *in;
    for (int d = 0; d < 2 && !code; d++)
        code = bd_shape_ctx_window(c, &w, d, out.dims[1 + d], filter->rank == 3 ? filter->dims[d] : -1,
                                   &out.dims[1 + d], st);
    if (!code && filter->rank == 3 && filter->dims[2] >= 0) {
        if (out.dims[3] >= 0 && out.dims[3] != filter->dims[2])
            return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                     (long long)out.dims[3], (long long)filter->dims[2]);
        out.dims[3] = filter->dims[2];
    }
    c->outputs[0] = out;
    return code;
}

static braid_code like_input(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    return bd_shape_ctx_rank(c, 0, 4, st);
}

static braid_code like_filter(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[1];
    return bd_shape_ctx_rank(c, 1, 3, st);
}

// ---- Windows ----

static braid_code dilation_create(const braid_op *node, void *state, braid_status *st)
{
    braid_code code = bd_window_read(node, state, st);
    return code ? code : bd_window_check_axes(node, state, st);
}

// Images [batch, height, width, depth], a filter [height, width, depth], and its window.
typedef struct dilation {
    int64_t batch, depth, in[2], filter[2], stride[2], rate[2];
    bd_window_fit fit[2];
} dilation;

static bool dilation_of(bd_op_ctx *c, dilation *d, braid_shape *out)
{
    const bd_window *w = c->state;
    const braid_shape *in = &bd_input(c, 0)->shape, *filter = &bd_input(c, 1)->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    BD_STATUS(st);
    if (in->rank != 4 || filter->rank != 3) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "input must be 4-dimensional and filter 3-dimensional: %s and %s", bd_shape_str(in, a),
                   bd_shape_str(filter, b));
        return false;
    }
    if (in->dims[3] != filter->dims[2]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input and filter must have the same depth: %lld vs %lld",
                   (long long)in->dims[3], (long long)filter->dims[2]);
        return false;
    }
    *d = (dilation){.batch = in->dims[0], .depth = in->dims[3]};
    *out = *in;
    for (int k = 0; k < 2; k++) {
        d->in[k] = in->dims[1 + k];
        d->filter[k] = filter->dims[k];
        d->stride[k] = w->stride[k];
        d->rate[k] = w->dilation[k];
        if (bd_window_fit_dimension(w, k, d->in[k], d->filter[k], &d->fit[k], st)) {
            bd_op_fail_status(c, st);
            return false;
        }
        out->dims[1 + k] = d->fit[k].out;
    }
    return true;
}

// Where a window found its greatest sum: an element of the image and one of the filter.
typedef struct found {
    int64_t in, filter;
} found;

#define T float
#define U float
#define LEAST (-FLT_MAX)
#define NAME(x) x##_f32
#include "ops/image/dilation_loops.h"

#define T double
#define U double
#define LEAST (-DBL_MAX)
#define NAME(x) x##_f64
#include "ops/image/dilation_loops.h"

#define T int32_t
#define U uint32_t
#define LEAST INT32_MIN
#define NAME(x) x##_i32
#include "ops/image/dilation_loops.h"

#define T int64_t
#define U uint64_t
#define LEAST INT64_MIN
#define NAME(x) x##_i64
#include "ops/image/dilation_loops.h"

typedef void (*dilate_fn)(const dilation *d, int op, const void *x, const void *filter, const void *grad,
                          void *out);

static dilate_fn dilate_of(braid_dtype dtype)
{
    switch (dtype) {
    case BRAID_FLOAT: return dilate_f32;
    case BRAID_DOUBLE: return dilate_f64;
    case BRAID_INT32: return dilate_i32;
    default: return dilate_i64;
    }
}

// ---- Kernels ----

static void dilation_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *filter = bd_input(c, 1);
    dilation d;
    braid_shape shape;
    if (!dilation_of(c, &d, &shape)) return;
    braid_tensor *y = bd_window_output(c, x->dtype, &shape);
    if (y && bd_tensor_count(y) > 0) dilate_of(x->dtype)(&d, 0, x->data, filter->data, NULL, y->data);
}

// `op`: 1 for the image, 2 for the filter.
static void backprop(bd_op_ctx *c, int op)
{
    const braid_tensor *x = bd_input(c, 0), *filter = bd_input(c, 1), *grad = bd_input(c, 2);
    dilation d;
    braid_shape shape;
    if (!dilation_of(c, &d, &shape)) return;
    if (!bd_shape_equal(&shape, &grad->shape)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "out_backprop has incompatible size: %s instead of %s",
                   bd_shape_str(&grad->shape, a), bd_shape_str(&shape, b));
        return;
    }
    braid_tensor *out = bd_output(c, 0, x->dtype, op == 1 ? &x->shape : &filter->shape);
    if (!out) return;
    memset(out->data, 0, bd_tensor_bytes(out));
    // Without elements of the image or the filter there is no gradient.
    if (bd_tensor_count(x) == 0 || bd_tensor_count(filter) == 0) return;
    dilate_of(x->dtype)(&d, op, x->data, filter->data, grad->data, out->data);
}

static void input_run(bd_op_ctx *c)
{
    backprop(c, 1);
}

static void filter_run(bd_op_ctx *c)
{
    backprop(c, 2);
}

static void dilation_gradient(bd_grad_ctx *c)
{
    static const char *const ops[] = {"Dilation2DBackpropInput", "Dilation2DBackpropFilter"};
    for (int i = 0; i < 2; i++) {
        braid_op_desc *d = braid_op_begin(c->graph, ops[i], NULL);
        braid_op_input(d, c->op->inputs[0]);
        braid_op_input(d, c->op->inputs[1]);
        braid_op_input(d, c->output_grads[0]);
        bd_window_copy_attrs(d, c->op);
        c->input_grads[i] = braid_op_end_out(d);
    }
}

#define DILATION_ATTRS                                                                                       \
    "T:type{realnumber}; strides:list(int)>=4; rates:list(int)>=4; padding:string{SAME,VALID}"
#define DILATION_KERNELS(RUN)                                                                                \
    BD_KERNELS({.types = BD_NUMBERS,                                                                         \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,                                             \
                .state_size = sizeof(bd_window),                                                             \
                .create = dilation_create,                                                                   \
                .run = (RUN)})

BD_OP(Dilation2D) = {
    .signature = "(input: T, filter: T) -> (output: T)",
    .attrs = DILATION_ATTRS,
    .shape = dilation_shape,
    .gradient = dilation_gradient,
    .kernels = DILATION_KERNELS(dilation_run),
    .doc = "The greatest sum of image and filter in each window that slides over images, channel by channel.",
};

BD_OP(Dilation2DBackpropInput) = {
    .signature = "(input: T, filter: T, out_backprop: T) -> (in_backprop: T)",
    .attrs = DILATION_ATTRS,
    .shape = like_input,
    .kernels = DILATION_KERNELS(input_run),
    .doc = "The gradient of Dilation2D for its input.",
};

BD_OP(Dilation2DBackpropFilter) = {
    .signature = "(input: T, filter: T, out_backprop: T) -> (filter_backprop: T)",
    .attrs = DILATION_ATTRS,
    .shape = like_filter,
    .kernels = DILATION_KERNELS(filter_run),
    .doc = "The gradient of Dilation2D for its filter.",
};
