// MaxPoolWithArgmax, which also outputs the index of each greatest element, and its gradients, which use
// these indices.
//
// An index counts the elements of one image: (row * width + column) * channels + channel; with
// include_batch_in_index it counts the elements of the whole batch.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/nn/pool.h"

#include <string.h>

typedef struct argmax_state {
    bd_window window;
    bool includes_batch;
} argmax_state;

static braid_code argmax_create(const braid_op *node, void *state, braid_status *st)
{
    argmax_state *s = state;
    braid_code code = bd_window_read(node, &s->window, st);
    s->includes_batch = bd_node_attr_bool(node, "include_batch_in_index");
    return code ? code : bd_window_check_axes(node, &s->window, st);
}

// ---- Shapes ----

static braid_code pooled_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    if (!code) code = bd_shape_ctx_rank(c, 0, 4, st);
    if (code) return code;
    braid_shape out = {.rank = 4, .dims = {-1, -1, -1, -1}};
    if (c->inputs[0].rank == 4) out = c->inputs[0];
    for (int d = 0; d < 2 && !code; d++)
        code = bd_shape_ctx_window(c, &w, d, out.dims[1 + d], w.size[d], &out.dims[1 + d], st);
    c->outputs[0] = out;
    if (c->output_count > 1) c->outputs[1] = out;
    return code;
}

static braid_code like_input(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    if (c->inputs[0].rank < 0) c->outputs[0] = (braid_shape){.rank = 4, .dims = {-1, -1, -1, -1}};
    return bd_shape_ctx_rank(c, 0, 4, st);
}

// ---- MaxPoolWithArgmax ----

// A batch of images and the positions of the windows.
typedef struct pooling {
    int64_t batch, channels, in[2];
    int64_t stride[2], size[2];
    bd_window_fit fit[2];
    bool includes_batch;
} pooling;

static bool pooling_of(bd_op_ctx *c, pooling *p, braid_shape *pooled)
{
    const argmax_state *s = c->state;
    const braid_shape *in = &bd_input(c, 0)->shape;
    BD_STATUS(st);
    if (in->rank != 4) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "tensor_in must be 4-dimensional: %s", bd_shape_str(in, text));
        return false;
    }
    *p = (pooling){.batch = in->dims[0], .channels = in->dims[3], .includes_batch = s->includes_batch};
    *pooled = *in;
    for (int d = 0; d < 2; d++) {
        p->in[d] = in->dims[1 + d];
        p->stride[d] = s->window.stride[d];
        p->size[d] = s->window.size[d];
        if (bd_window_fit_dimension(&s->window, d, p->in[d], p->size[d], &p->fit[d], st)) {
            bd_op_fail_status(c, st);
            return false;
        }
        pooled->dims[1 + d] = p->fit[d].out;
    }
    return true;
}

// The rows (d = 0) or columns of the image under the window at position `at`.
static void reach(const pooling *p, int d, int64_t at, int64_t *from, int64_t *to)
{
    *from = at * p->stride[d] - p->fit[d].before;
    *to = *from + p->size[d];
    if (*from < 0) *from = 0;
    if (*to > p->in[d]) *to = p->in[d];
}

// The index within the batch of the greatest element of a window; of equal elements the first.
#define DEFINE_GREATEST(NAME, T)                                                                             \
    static int64_t NAME(const pooling *p, const void *x, int64_t first, int64_t h, int64_t w)                \
    {                                                                                                        \
        const T *xs = x;                                                                                     \
        int64_t row, row_to, from, to, found = -1;                                                           \
        reach(p, 0, h, &row, &row_to);                                                                       \
        reach(p, 1, w, &from, &to);                                                                          \
        for (; row < row_to; row++) {                                                                        \
            for (int64_t column = from; column < to; column++) {                                             \
                int64_t i = first + (row * p->in[1] + column) * p->channels;                                 \
                if (found < 0 || xs[found] < xs[i]) found = i;                                               \
            }                                                                                                \
        }                                                                                                    \
        return found;                                                                                        \
    }
DEFINE_GREATEST(greatest_f32, float)
DEFINE_GREATEST(greatest_f64, double)
DEFINE_GREATEST(greatest_i32, int32_t)
DEFINE_GREATEST(greatest_i64, int64_t)

typedef int64_t (*greatest_fn)(const pooling *p, const void *x, int64_t first, int64_t h, int64_t w);

static greatest_fn greatest_of(braid_dtype dtype)
{
    switch (dtype) {
    case BRAID_FLOAT: return greatest_f32;
    case BRAID_DOUBLE: return greatest_f64;
    case BRAID_INT32: return greatest_i32;
    default: return greatest_i64;
    }
}

static void put_place(braid_tensor *t, int64_t i, int64_t place)
{
    if (t->dtype == BRAID_INT32) {
        bd_tensor_i32(t)[i] = (int32_t)place;
    } else {
        bd_tensor_i64(t)[i] = place;
    }
}

static void argmax_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    pooling p;
    braid_shape pooled;
    if (!pooling_of(c, &p, &pooled)) return;
    braid_tensor *y = bd_window_output(c, x->dtype, &pooled);
    braid_tensor *places = y ? bd_output(c, 1, c->node->output_types[1], &pooled) : NULL;
    if (!places || bd_tensor_count(y) == 0) return;
    greatest_fn greatest = greatest_of(x->dtype);
    int64_t image = p.in[0] * p.in[1] * p.channels, i = 0;
    for (int64_t b = 0; b < p.batch; b++) {
        for (int64_t h = 0; h < pooled.dims[1]; h++) {
            for (int64_t w = 0; w < pooled.dims[2] && !bd_interrupted(); w++) {
                for (int64_t channel = 0; channel < p.channels; channel++, i++) {
                    int64_t found = greatest(&p, x->data, b * image + channel, h, w);
                    bd_elements_copy(y, i, x, found, 1);
                    put_place(places, i, p.includes_batch ? found : found - b * image);
                }
            }
        }
    }
}

// ---- Gradients ----

// Element `i` of input argmax as an index into the batch; -1: it is out of range, and the kernel has failed.
static int64_t place_at(bd_op_ctx *c, int64_t i, int64_t per_image, int64_t image)
{
    const argmax_state *s = c->state;
    const braid_tensor *places = bd_input(c, 2);
    int64_t limit = bd_tensor_count(bd_input(c, 0)), place = bd_tensor_index(places, i);
    if (!s->includes_batch && place >= 0 && place < limit) place += i / per_image * image;
    if (place >= 0 && place < limit) return place;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Invalid input argmax index: %lld at %lld, for %lld elements of the input",
               (long long)bd_tensor_index(places, i), (long long)i, (long long)limit);
    return -1;
}

// Input 0 are the images. The indices have the shape of the pooled images; the gradient has the shape of the
// pooled images (`per_window`) or of the images.
static bool check_grad(bd_op_ctx *c, bool per_window, int64_t *per_image, int64_t *image)
{
    const braid_shape *x = &bd_input(c, 0)->shape;
    pooling p;
    braid_shape pooled;
    if (!pooling_of(c, &p, &pooled) || !bd_pool_check_shape(c, 1, "grad", "grad", per_window ? &pooled : x) ||
        !bd_pool_check_shape(c, 2, "argmax", "argmax", &pooled))
        return false;
    *per_image = bd_shape_count_range(&pooled, 1, 4);
    *image = bd_shape_count_range(x, 1, 4);
    return true;
}

#define DEFINE_ADD_AT(NAME, T, U)                                                                            \
    static void NAME(void *sum, int64_t at, const void *x, int64_t i)                                        \
    {                                                                                                        \
        ((T *)sum)[at] = (T)((U)((T *)sum)[at] + (U)((const T *)x)[i]);                                      \
    }
DEFINE_ADD_AT(add_f32, float, float)
DEFINE_ADD_AT(add_f64, double, double)
DEFINE_ADD_AT(add_i32, int32_t, uint32_t) // integers wrap around
DEFINE_ADD_AT(add_i64, int64_t, uint64_t)

static void grad_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *grad = bd_input(c, 1), *places = bd_input(c, 2);
    int64_t per_image, image;
    if (!check_grad(c, true, &per_image, &image)) return;
    braid_tensor *dx = bd_output(c, 0, x->dtype, &x->shape);
    if (!dx) return;
    memset(dx->data, 0, bd_tensor_bytes(dx));
    void (*add)(void *, int64_t, const void *, int64_t) = x->dtype == BRAID_FLOAT    ? add_f32
                                                          : x->dtype == BRAID_DOUBLE ? add_f64
                                                          : x->dtype == BRAID_INT32  ? add_i32
                                                                                     : add_i64;
    for (int64_t i = 0; i < bd_tensor_count(places) && !bd_interrupted_at(i); i++) {
        int64_t place = place_at(c, i, per_image, image);
        if (place < 0) return;
        add(dx->data, place, grad->data, i);
    }
}

static void grad_grad_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *grad = bd_input(c, 1), *places = bd_input(c, 2);
    int64_t per_image, image;
    if (!check_grad(c, false, &per_image, &image)) return;
    braid_tensor *dy = bd_output(c, 0, x->dtype, &places->shape);
    for (int64_t i = 0; dy && i < bd_tensor_count(places) && !bd_interrupted_at(i); i++) {
        int64_t place = place_at(c, i, per_image, image);
        if (place < 0) return;
        bd_elements_copy(dy, i, grad, place, 1);
    }
}

static void argmax_gradient(bd_grad_ctx *c)
{
    braid_op_desc *d = braid_op_begin(c->graph, "MaxPoolGradWithArgmax", NULL);
    braid_op_input(d, c->op->inputs[0]);
    braid_op_input(d, c->output_grads[0]);
    braid_op_input(d, braid_output(c->op, 1));
    bd_window_copy_attrs(d, c->op);
    c->input_grads[0] = braid_op_end_out(d);
}

// ---- Ops ----

#define WINDOW_ATTRS                                                                                         \
    "ksize:list(int)>=4; strides:list(int)>=4; padding:string{SAME,VALID}; "                                 \
    "include_batch_in_index:bool=false; T:type{realnumber}; "
#define ARGMAX_KERNELS(RUN)                                                                                  \
    BD_KERNELS({.types = BD_NUMBERS "; Targmax=int32|int64",                                                 \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,                                             \
                .state_size = sizeof(argmax_state),                                                          \
                .create = argmax_create,                                                                     \
                .run = (RUN)})

BD_OP(MaxPoolWithArgmax) = {
    .signature = "(input: T) -> (output: T, argmax: Targmax)",
    .attrs = WINDOW_ATTRS "Targmax:type{int32,int64}=int64",
    .shape = pooled_shape,
    .gradient = argmax_gradient,
    .kernels = ARGMAX_KERNELS(argmax_run),
    .doc = "MaxPool, and the index of each greatest element in the flattened image (or batch).",
};

BD_OP(MaxPoolGradWithArgmax) = {
    .signature = "(input: T, grad: T, argmax: Targmax) -> (output: T)",
    .attrs = WINDOW_ATTRS "Targmax:type{int32,int64}",
    .shape = like_input,
    .kernels = ARGMAX_KERNELS(grad_run),
    .doc = "The gradient of MaxPoolWithArgmax.",
};

BD_OP(MaxPoolGradGradWithArgmax) = {
    .signature = "(input: T, grad: T, argmax: Targmax) -> (output: T)",
    .attrs = WINDOW_ATTRS "Targmax:type{int32,int64}",
    .shape = pooled_shape,
    .kernels = ARGMAX_KERNELS(grad_grad_run),
    .doc = "The gradient of MaxPoolGradWithArgmax for its gradient.",
};
