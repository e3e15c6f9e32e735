// FractionalMaxPool, FractionalAvgPool and their gradients: pooling by a ratio that need not be an integer,
// in cells of random sizes (Graham, Fractional Max-Pooling, 2014).
//
// A sequence holds the start of each cell along an axis, and ends with the size of the axis. Overlapping
// cells include the first row of the next cell.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "kernels/random_convert.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_steps.h"
#include "ops/random/random_source.h"

#include <string.h>

typedef struct fractional_state {
    bd_random_source source; // must be first, see bd_random_source_create
    float ratio[2];          // height, width
    bool is_pseudo_random, overlaps, is_deterministic;
    bd_mutex mu;
    int64_t *kept[2]; // guarded by mu: the sequences of the first run, reused if attr deterministic is set
    int64_t kept_len[2];
} fractional_state;

static braid_code fractional_create(const braid_op *node, void *state, braid_status *st)
{
    fractional_state *s = state;
    const bd_attr *ratio = bd_node_attr(node, "pooling_ratio");
    if (ratio->list.count != 4)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "pooling_ratio field must specify 4 dimensions");
    if (ratio->list.f[0] != 1 || ratio->list.f[3] != 1)
        return bd_fail(st, BRAID_UNIMPLEMENTED,
                       "Fractional pooling is not yet supported on the batch nor channel dimension.");
    for (int d = 0; d < 2; d++) {
        s->ratio[d] = ratio->list.f[1 + d];
        if (!(s->ratio[d] >= 1))
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "pooling_ratio cannot be smaller than 1, got: %g",
                           (double)s->ratio[d]);
    }
    s->is_pseudo_random = bd_node_attr_bool(node, "pseudo_random");
    s->overlaps = bd_node_attr_bool(node, "overlapping");
    s->is_deterministic = bd_node_attr_bool(node, "deterministic");
    bd_mutex_init(&s->mu);
    return bd_random_source_create(node, state, st);
}

static void fractional_destroy(void *state)
{
    fractional_state *s = state;
    for (int d = 0; d < 2; d++)
        bd_free(s->kept[d]);
    bd_mutex_fini(&s->mu);
    bd_random_source_destroy(state);
}

// ---- Shapes ----

static int64_t pooled_size(int64_t size, float ratio)
{
    return (int64_t)floorf((float)size / ratio);
}

static braid_code fractional_shape(bd_shape_ctx *c, braid_status *st)
{
    const bd_attr *ratio = bd_node_attr(c->node, "pooling_ratio");
    braid_code code = bd_shape_ctx_rank(c, 0, 4, st);
    if (code) return code;
    if (ratio->list.count != 4)
        return bd_shape_ctx_fail(c, st, "pooling_ratio field must specify 4 dimensions");
    braid_shape out = {.rank = 4, .dims = {-1, -1, -1, -1}};
    if (c->inputs[0].rank == 4) out = c->inputs[0];
    for (int d = 1; d < 3; d++) {
        if (out.dims[d] >= 0 && ratio->list.f[d] >= 1)
            out.dims[d] = pooled_size(out.dims[d], ratio->list.f[d]);
    }
    c->outputs[0] = out;
    c->outputs[1] = c->outputs[2] = bd_shape1(-1);
    return BRAID_OK;
}

static braid_code max_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    return bd_shape_ctx_rank(c, 0, 4, st);
}

static braid_code mean_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_fn_from_input0(c, st);
}

// ---- Sequences ----

// Cells of size k and k + 1, by a random phase.
static void pseudo_random_cells(bd_random_source *source, int64_t in, int64_t out, int64_t *cells)
{
    int64_t least = in / out;
    double alpha = (double)in / (double)out, k = (double)least;
    // The limits keep the first cell from being too large and the last from being too small.
    double u_max = fmin((k + 2) / alpha - 1, ((double)in + 1 - k) / alpha - (double)(out - 1));
    uint32_t x[4];
    bd_philox stream = bd_random_source_take(source, 1);
    bd_philox_next4(&stream, x);
    double u = bd_uniform_f64(x[0], x[1]) * u_max;
    int64_t last = 1;
    for (int64_t i = 1; i <= out; i++) {
        int64_t next = i == out ? in + 1 : (int64_t)ceil(alpha * ((double)i + u));
        cells[i - 1] = next - last;
        last = next;
    }
}

// Cells of size k and k + 1 in random order.
static void random_cells(bd_random_source *source, int64_t in, int64_t out, int64_t *cells)
{
    bd_philox stream = bd_random_source_take(source, ((uint64_t)out + 3) / 4);
    uint32_t x[4];
    for (int64_t i = 0; i < out; i++)
        cells[i] = in / out + (i < in % out);
    for (int64_t i = 0; i < out - 1; i++) {
        if (i % 4 == 0) bd_philox_next4(&stream, x);
        int64_t other = i + x[i % 4] % (uint32_t)(out - i), size = cells[i];
        cells[i] = cells[other];
        cells[other] = size;
    }
}

// Fills a sequence of out + 1 positions.
static void draw_sequence(fractional_state *s, int64_t in, int64_t out, int64_t *sequence)
{
    if (s->is_pseudo_random) {
        pseudo_random_cells(&s->source, in, out, sequence + 1);
    } else {
        random_cells(&s->source, in, out, sequence + 1);
    }
    sequence[0] = 0;
    for (int64_t i = 1; i <= out; i++)
        sequence[i] += sequence[i - 1];
}

// Draws both sequences, or copies those of the first run.
static bool make_sequences(fractional_state *s, const int64_t in[2], const int64_t out[2],
                           int64_t *sequences[2])
{
    bool ok = true;
    bd_mutex_lock(&s->mu);
    for (int d = 0; d < 2; d++) {
        if (s->kept[d] && s->kept_len[d] == out[d] + 1 && s->kept[d][out[d]] == in[d]) {
            memcpy(sequences[d], s->kept[d], (size_t)s->kept_len[d] * sizeof **sequences);
            continue;
        }
        draw_sequence(s, in[d], out[d], sequences[d]);
        if (!s->is_deterministic || s->kept[d]) continue;
        s->kept_len[d] = out[d] + 1;
        s->kept[d] = bd_try_malloc((size_t)s->kept_len[d] * sizeof **sequences);
        ok = ok && s->kept[d];
        if (s->kept[d]) memcpy(s->kept[d], sequences[d], (size_t)s->kept_len[d] * sizeof **sequences);
    }
    bd_mutex_unlock(&s->mu);
    return ok;
}

// ---- Cells ----

typedef struct cells {
    int64_t batch, depth, in[2], out[2];
    const int64_t *sequences[2];
    bool overlaps;
} cells;

// The rows (d = 0) or columns of cell `i`: [from, to).
static void reach(const cells *p, int d, int64_t i, int64_t *from, int64_t *to)
{
    *from = p->sequences[d][i];
    *to = p->sequences[d][i + 1] + p->overlaps;
    if (*to > p->in[d]) *to = p->in[d];
}

typedef enum pooling {
    POOL_MAX,
    POOL_MEAN,
    POOL_MAX_GRAD,
    POOL_MEAN_GRAD
} pooling;

// `y` is the output, or the incoming gradient; `dx` gets the gradients (for means in double, the type of the
// sums).
#define T float
#define U float
#define NAME(x) x##_f32
#include "ops/nn/fractional_pool_loops.h"

#define T double
#define U double
#define NAME(x) x##_f64
#include "ops/nn/fractional_pool_loops.h"

#define T int32_t
#define U uint32_t
#define NAME(x) x##_i32
#include "ops/nn/fractional_pool_loops.h"

#define T int64_t
#define U uint64_t
#define NAME(x) x##_i64
#include "ops/nn/fractional_pool_loops.h"

static void pool(braid_dtype dtype, const cells *p, pooling kind, const void *x, void *y, void *dx,
                 double *sums)
{
    switch (dtype) {
    case BRAID_FLOAT: pool_f32(p, kind, x, y, dx, sums); break;
    case BRAID_DOUBLE: pool_f64(p, kind, x, y, dx, sums); break;
    case BRAID_INT32: pool_i32(p, kind, x, y, dx, sums); break;
    default: pool_i64(p, kind, x, y, dx, sums); break;
    }
}

// ---- Forward ----

static void forward(bd_op_ctx *c, pooling kind)
{
    fractional_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    if (x->shape.rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "tensor_in must be 4-dimensional, has %d dimensions",
                   x->shape.rank);
        return;
    }
    cells p = {.batch = x->shape.dims[0], .depth = x->shape.dims[3], .overlaps = s->overlaps};
    braid_shape shape = x->shape;
    int64_t *sequences[2];
    for (int d = 0; d < 2; d++) {
        p.in[d] = x->shape.dims[1 + d];
        p.out[d] = shape.dims[1 + d] = pooled_size(p.in[d], s->ratio[d]);
        if (p.out[d] > 0 && p.in[d] <= INT32_MAX) continue;
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Pooling ratio is higher than input dimension size for dimension %d. Input dim size: %lld pooling ratio: %g",
            1 + d, (long long)p.in[d], (double)s->ratio[d]);
        return;
    }
    braid_tensor *y = bd_output(c, 0, x->dtype, &shape);
    for (int d = 0; d < 2; d++) {
        braid_shape len = bd_shape1(p.out[d] + 1);
        braid_tensor *t = y ? bd_output(c, 1 + d, BRAID_INT64, &len) : NULL;
        if (!t) return;
        p.sequences[d] = sequences[d] = bd_tensor_i64(t);
    }
    if (!make_sequences(s, p.in, p.out, sequences)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when keeping the cells of pooling");
        return;
    }
    if (bd_tensor_count(y) > 0) pool(x->dtype, &p, kind, x->data, y->data, NULL, NULL);
}

static void max_run(bd_op_ctx *c)
{
    forward(c, POOL_MAX);
}

static void mean_run(bd_op_ctx *c)
{
    forward(c, POOL_MEAN);
}

// ---- Gradients ----

// Reads the sequence in input `i`. It may come from a client, so it is checked: it must ascend within the
// axis.
static bool sequence_input(bd_op_ctx *c, int i, int d, cells *p)
{
    const braid_tensor *t = bd_input(c, i);
    const int64_t *sequence = bd_tensor_i64(t);
    bool ok = t->shape.rank == 1 && t->shape.dims[0] == p->out[d] + 1;
    for (int64_t k = 0; ok && k <= p->out[d]; k++)
        ok = sequence[k] >= (k ? sequence[k - 1] : 0) && sequence[k] <= p->in[d];
    p->sequences[d] = sequence;
    if (!ok)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "%s must be a vector of %lld places that rise from 0 to %lld at most",
                   d == 0 ? "row_pooling_sequence" : "col_pooling_sequence", (long long)p->out[d] + 1,
                   (long long)p->in[d]);
    return ok;
}

static bool check_places(bd_op_ctx *c, int i, const char *what)
{
    const braid_tensor *t = bd_input(c, i);
    for (int64_t k = 0; k < bd_tensor_count(t); k++) {
        if (bd_tensor_i64(t)[k] >= 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s sequence tensor values must not be negative, got %lld",
                   what, (long long)bd_tensor_i64(t)[k]);
        return false;
    }
    return true;
}

// The cells of a gradient op: `grad` and the sequences from input `first` on, for images of shape `in`.
static bool grad_cells(bd_op_ctx *c, const braid_shape *in, const braid_shape *grad, int first, cells *p)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (!check_places(c, first, "Row") || !check_places(c, first + 1, "Column")) return false;
    if (in->rank != 4 || grad->rank != 4 || in->dims[0] != grad->dims[0] || in->dims[3] != grad->dims[3]) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "orig_input and out_backprop must be 4-dimensional, of the same batch and channels: %s and %s",
            bd_shape_str(in, a), bd_shape_str(grad, b));
        return false;
    }
    *p = (cells){.batch = in->dims[0],
                 .depth = in->dims[3],
                 .in = {in->dims[1], in->dims[2]},
                 .out = {grad->dims[1], grad->dims[2]},
                 .overlaps = bd_node_attr_bool(c->node, "overlapping")};
    return sequence_input(c, first, 0, p) && sequence_input(c, first + 1, 1, p);
}

static void max_grad_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *y = bd_input(c, 1), *grad = bd_input(c, 2);
    cells p;
    if (!bd_shape_equal(&y->shape, &grad->shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "orig_output and out_backprop must have the same shape");
        return;
    }
    if (!grad_cells(c, &x->shape, &grad->shape, 3, &p)) return;
    braid_tensor *dx = bd_output(c, 0, x->dtype, &x->shape);
    if (!dx) return;
    memset(dx->data, 0, bd_tensor_bytes(dx));
    if (bd_tensor_count(grad) > 0) pool(x->dtype, &p, POOL_MAX_GRAD, x->data, grad->data, dx->data, NULL);
}

static void mean_grad_run(bd_op_ctx *c)
{
    const braid_tensor *grad = bd_input(c, 1);
    braid_shape shape;
    cells p;
    if (!bd_input_shape(c, 0, "orig_input_tensor_shape", &shape) ||
        !grad_cells(c, &shape, &grad->shape, 2, &p))
        return;
    braid_tensor *dx = bd_output(c, 0, grad->dtype, &shape);
    if (!dx) return;
    memset(dx->data, 0, bd_tensor_bytes(dx));
    if (bd_tensor_count(grad) == 0 || bd_tensor_count(dx) == 0) return;
    double *sums = bd_try_calloc((size_t)bd_tensor_count(dx), sizeof *sums);
    if (sums) {
        pool(grad->dtype, &p, POOL_MEAN_GRAD, NULL, grad->data, dx->data, sums);
    } else {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when summing gradients");
    }
    bd_free(sums);
}

static braid_out grad_op(bd_grad_ctx *c, const char *op, const braid_out *inputs, int count)
{
    braid_op_desc *d = braid_op_begin(c->graph, op, NULL);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    braid_op_attr_bool(d, "overlapping", bd_node_attr_bool(c->op, "overlapping"));
    return braid_op_end_out(d);
}

static void max_gradient(bd_grad_ctx *c)
{
    braid_out inputs[] = {c->op->inputs[0], braid_output(c->op, 0), c->output_grads[0],
                          braid_output(c->op, 1), braid_output(c->op, 2)};
    c->input_grads[0] = grad_op(c, "FractionalMaxPoolGrad", inputs, 5);
}

static void mean_gradient(bd_grad_ctx *c)
{
    braid_out inputs[] = {bd_grad_shape(c->graph, c->op->inputs[0], BRAID_INT64), c->output_grads[0],
                          braid_output(c->op, 1), braid_output(c->op, 2)};
    c->input_grads[0] = grad_op(c, "FractionalAvgPoolGrad", inputs, 4);
}

// ---- Ops ----

#define POOL_ATTRS                                                                                           \
    "pooling_ratio:list(float)>=4; pseudo_random:bool=false; overlapping:bool=false; "                       \
    "deterministic:bool=false; seed:int=0; seed2:int=0; T:type{double,float,int32,int64}"
#define POOL_KERNELS(RUN)                                                                                    \
    BD_KERNELS({.types = BD_NUMBERS,                                                                         \
                .flags = BD_KERNEL_EXPENSIVE,                                                                \
                .state_size = sizeof(fractional_state),                                                      \
                .create = fractional_create,                                                                 \
                .destroy = fractional_destroy,                                                               \
                .run = (RUN)})

BD_OP(FractionalMaxPool) = {
    .signature = "(value: T) -> (output: T, row_pooling_sequence: int64, col_pooling_sequence: int64)",
    .attrs = POOL_ATTRS,
    .shape = fractional_shape,
    .gradient = max_gradient,
    .kernels = POOL_KERNELS(max_run),
    .doc =
        "Divides images into cells of random sizes, pooling_ratio large on average, and takes the greatest element of each cell.",
};

BD_OP(FractionalAvgPool) = {
    .signature = "(value: T) -> (output: T, row_pooling_sequence: int64, col_pooling_sequence: int64)",
    .attrs = POOL_ATTRS,
    .shape = fractional_shape,
    .gradient = mean_gradient,
    .kernels = POOL_KERNELS(mean_run),
    .doc =
        "Divides images into cells of random sizes, pooling_ratio large on average, and takes the mean of each cell.",
};

BD_OP(FractionalMaxPoolGrad) = {
    .signature =
        "(orig_input: T, orig_output: T, out_backprop: T, row_pooling_sequence: int64, col_pooling_sequence: "
        "int64) -> (output: T)",
    .attrs = "overlapping:bool=false; T:type{double,float,int32,int64}",
    .shape = max_grad_shape,
    .kernels = BD_KERNELS({.types = BD_NUMBERS, .flags = BD_KERNEL_EXPENSIVE, .run = max_grad_run}),
    .doc = "The gradient of FractionalMaxPool.",
};

BD_OP(FractionalAvgPoolGrad) = {
    .signature =
        "(orig_input_tensor_shape: int64, out_backprop: T, row_pooling_sequence: int64, col_pooling_sequence: "
        "int64) -> (output: T)",
    .attrs = "overlapping:bool=false; T:type{double,float,int32,int64}",
    .shape = mean_grad_shape,
    .kernels = BD_KERNELS({.types = BD_NUMBERS, .flags = BD_KERNEL_EXPENSIVE, .run = mean_grad_run}),
    .doc = "The gradient of FractionalAvgPool.",
};
