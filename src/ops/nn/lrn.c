// LRN and LRNGrad: local response normalization along the channels of images.
#include "kernels/lrn.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

static braid_code lrn_create(const braid_op *node, void *state, braid_status *st)
{
    int64_t radius = bd_node_attr_int(node, "depth_radius");
    *(bd_lrn *)state = (bd_lrn){.radius = radius,
                                .bias = bd_node_attr_float(node, "bias"),
                                .alpha = bd_node_attr_float(node, "alpha"),
                                .beta = bd_node_attr_float(node, "beta")};
    if (radius >= 0 && radius <= INT32_MAX) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "depth_radius = %lld must be in [0, max int32]",
                   (long long)radius);
}

// All inputs and the output are images of one shape.
static braid_code lrn_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape all = {.rank = 4, .dims = {-1, -1, -1, -1}};
    for (int i = 0; i < c->input_count; i++) {
        braid_shape before = all;
        braid_code code = bd_shape_ctx_rank(c, i, 4, st);
        if (code) return code;
        if (!bd_shape_merge(&before, &c->inputs[i], &all))
            return bd_shape_ctx_fail(c, st, "Shapes of images differ");
    }
    c->outputs[0] = all;
    return BRAID_OK;
}

typedef struct lrn_job {
    bd_lrn lrn;
    const float *dy, *x, *y;
    float *out;
} lrn_job;

static void forward_rows(void *arg, int64_t from, int64_t to)
{
    const lrn_job *job = arg;
    bd_lrn_rows(&job->lrn, job->x, job->out, from, to);
}

static void grad_rows(void *arg, int64_t from, int64_t to)
{
    const lrn_job *job = arg;
    bd_lrn_grad_rows(&job->lrn, job->dy, job->x, job->y, job->out, from, to);
}

// Minimum elements for each thread: each element costs a power.
#define ELEMENTS_PER_THREAD 1024

// Fills output 0, which has the shape of all inputs.
static void run_rows(bd_op_ctx *c, lrn_job *job, void (*fn)(void *arg, int64_t from, int64_t to))
{
    const braid_shape *shape = &bd_input(c, 0)->shape;
    job->lrn = *(const bd_lrn *)c->state;
    job->lrn.depth = shape->dims[3];
    braid_tensor *out = bd_output(c, 0, BRAID_FLOAT, shape);
    if (!out || bd_tensor_count(out) == 0) return;
    job->out = bd_tensor_f32(out);
    bd_parallel_for(c, bd_shape_count_range(shape, 0, 3), ELEMENTS_PER_THREAD / job->lrn.depth + 1, fn, job);
}

static bool check_rank(bd_op_ctx *c, int i, const char *what)
{
    const braid_shape *s = &bd_input(c, i)->shape;
    if (s->rank == 4) return true;
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 4-dimensional, but has shape %s", what,
               bd_shape_str(s, text));
    return false;
}

static void lrn_run(bd_op_ctx *c)
{
    lrn_job job = {.x = bd_tensor_f32(bd_input(c, 0))};
    if (check_rank(c, 0, "in")) run_rows(c, &job, forward_rows);
}

static void lrn_grad_run(bd_op_ctx *c)
{
    lrn_job job = {.dy = bd_tensor_f32(bd_input(c, 0)),
                   .x = bd_tensor_f32(bd_input(c, 1)),
                   .y = bd_tensor_f32(bd_input(c, 2))};
    if (!check_rank(c, 0, "inputs")) return;
    for (int i = 1; i < 3; i++) {
        if (bd_shape_equal(&bd_input(c, i)->shape, &bd_input(c, 0)->shape)) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "input_grads, input_image, and out_image should have the same shape");
        return;
    }
    run_rows(c, &job, grad_rows);
}

static void lrn_gradient(bd_grad_ctx *c)
{
    braid_op_desc *d = braid_op_begin(c->graph, "LRNGrad", NULL);
    braid_op_input(d, c->output_grads[0]);
    braid_op_input(d, c->op->inputs[0]);
    braid_op_input(d, braid_output(c->op, 0));
    braid_op_attr_int(d, "depth_radius", bd_node_attr_int(c->op, "depth_radius"));
    braid_op_attr_float(d, "bias", bd_node_attr_float(c->op, "bias"));
    braid_op_attr_float(d, "alpha", bd_node_attr_float(c->op, "alpha"));
    braid_op_attr_float(d, "beta", bd_node_attr_float(c->op, "beta"));
    c->input_grads[0] = braid_op_end_out(d);
}

#define LRN_ATTRS                                                                                            \
    "depth_radius:int=5; bias:float=1; alpha:float=1; beta:float=0.5; T:type{bfloat16,float,half}=float"
#define LRN_KERNELS(RUN)                                                                                     \
    BD_KERNELS({.types = "T=float",                                                                          \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,                                             \
                .state_size = sizeof(bd_lrn),                                                                \
                .create = lrn_create,                                                                        \
                .run = (RUN)})

BD_OP(LRN) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = LRN_ATTRS,
    .shape = lrn_shape,
    .gradient = lrn_gradient,
    .kernels = LRN_KERNELS(lrn_run),
    .doc =
        "Divides each element by (bias + alpha s)^beta, where s is the sum of squares of the channels up to "
        "depth_radius away.",
};

BD_OP(LRNGrad) = {
    .signature = "(input_grads: T, input_image: T, output_image: T) -> (output: T)",
    .attrs = LRN_ATTRS,
    .shape = lrn_shape,
    .kernels = LRN_KERNELS(lrn_grad_run),
    .doc = "The gradient of LRN.",
};
