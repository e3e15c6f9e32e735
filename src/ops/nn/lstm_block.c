// LSTMBlockCell, one step of a long short-term memory, and BlockLSTM, all steps of a batch of sequences, with
// their gradients.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "kernels/gemm.h"
#include "kernels/loops.h"
#include "op/kernel.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"
#include "ops/nn/lstm_cell.h"

#include <string.h>

// Reads the attrs; the other fields are set in each run.
static braid_code lstm_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    const bd_attr *bias = bd_node_attr(node, "forget_bias"), *clip = bd_node_attr(node, "cell_clip");
    *(bd_lstm *)state = (bd_lstm){.forget_bias = bias ? bias->f : 0,
                                  .clip = clip ? clip->f : 0,
                                  .has_peephole = bd_node_attr_bool(node, "use_peephole"),
                                  .forgets_first = strstr(node->op_type, "V2") != NULL};
    return BRAID_OK;
}

// ---- Inputs ----

// The positions of a cell's inputs; ops over all steps have the number of steps before them.
enum {
    X,
    CS_PREV,
    H_PREV,
    W,
    WCI,
    WCF,
    WCO,
    B,
    FORWARD, // in a gradient op: the outputs of the forward op
};
static const char *const names[] = {"x",  "cs_prev", "h_prev", "w",  "wci", "wcf", "wco",     "b",     "i",
                                    "cs", "f",       "o",      "ci", "co",  "h",   "cs_grad", "h_grad"};

static bool check_rank(bd_op_ctx *c, int first, int i, int rank)
{
    if (bd_input(c, first + i)->shape.rank == rank) return true;
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be %dD, but has shape %s", names[i], rank,
               bd_shape_str(&bd_input(c, first + i)->shape, text));
    return false;
}

// Checks that dimension `d` of input `i` is `want`; the error calls it `what`.
static bool check_dim(bd_op_ctx *c, int first, int i, int d, int64_t want, const char *what)
{
    int64_t got = bd_input(c, first + i)->shape.dims[d];
    if (got == want) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s.%s(%d) != %s: %lld vs. %lld", names[i],
               i == CS_PREV || i == H_PREV ? "dims" : "dim_size", d, what, (long long)got, (long long)want);
    return false;
}

// Reads sizes and weights. False: the kernel has failed.
static bool read_lstm(bd_op_ctx *c, int first, int x_rank, bd_lstm *m)
{
    *m = *(const bd_lstm *)c->state;
    static const int ranks[FORWARD] = {0, 2, 2, 2, 1, 1, 1, 1};
    for (int i = 0; i < FORWARD; i++) {
        if (!check_rank(c, first, i, i == X ? x_rank : ranks[i])) return false;
    }
    const int64_t *x = bd_input(c, first + X)->shape.dims;
    m->batch = x[x_rank - 2];
    m->input = x[x_rank - 1];
    m->cell = bd_input(c, first + CS_PREV)->shape.dims[1];
    int64_t rows, columns;
    if (__builtin_add_overflow(m->input, m->cell, &rows) || __builtin_mul_overflow(m->cell, 4, &columns)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "sizes of input and cell, %lld and %lld, are too large",
                   (long long)m->input, (long long)m->cell);
        return false;
    }
    if (!check_dim(c, first, CS_PREV, 0, m->batch, "batch_size") ||
        !check_dim(c, first, H_PREV, 0, m->batch, "batch_size") ||
        !check_dim(c, first, H_PREV, 1, m->cell, "cell_size") ||
        !check_dim(c, first, W, 0, rows, "input_size + cell_size") ||
        !check_dim(c, first, W, 1, columns, "cell_size * 4") ||
        !check_dim(c, first, WCI, 0, m->cell, "cell_size") ||
        !check_dim(c, first, WCF, 0, m->cell, "cell_size") ||
        !check_dim(c, first, WCO, 0, m->cell, "cell_size") ||
        !check_dim(c, first, B, 0, columns, "cell_size * 4"))
        return false;
    m->w = bd_tensor_f32(bd_input(c, first + W));
    m->wci = bd_tensor_f32(bd_input(c, first + WCI));
    m->wcf = bd_tensor_f32(bd_input(c, first + WCF));
    m->wco = bd_tensor_f32(bd_input(c, first + WCO));
    m->b = bd_tensor_f32(bd_input(c, first + B));
    return true;
}

// Checks the shapes of the forward op's outputs and of the incoming gradients. A cell's gradient op has no
// input `h`.
static bool check_forward(bd_op_ctx *c, int first, const braid_shape *want)
{
    bool has_h = want->rank == 3;
    for (int i = FORWARD; i < (int)(sizeof names / sizeof names[0]) - !has_h; i++) {
        const char *name = names[i < FORWARD + 6 || has_h ? i : i + 1];
        const braid_shape *got = &bd_input(c, first + i)->shape;
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        if (bd_shape_equal(got, want)) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must have shape %s, but has %s", name,
                   bd_shape_str(want, a), bd_shape_str(got, b));
        return false;
    }
    return true;
}

// Reads the number of steps to compute.
static bool read_steps(bd_op_ctx *c, int64_t *steps)
{
    const braid_tensor *t = bd_input(c, 0);
    int64_t limit = bd_input(c, 1)->shape.dims[0];
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "seq_len_max must be a scalar, but has shape %s",
                   bd_shape_str(&t->shape, text));
        return false;
    }
    *steps = *bd_tensor_i64(t);
    if (*steps >= 0 && *steps <= limit) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "seq_len_max is %lld, but x has %lld steps", (long long)*steps,
               (long long)limit);
    return false;
}

// Step `t` of the seven tensors that hold all steps.
static bd_lstm_step step_at(const bd_lstm *m, const braid_tensor *const tensors[7], int64_t t)
{
    int64_t at = t * m->batch * m->cell;
    float *data[7];
    for (int i = 0; i < 7; i++)
        data[i] = bd_tensor_f32(tensors[i]) + at;
    return (bd_lstm_step){data[0], data[1], data[2], data[3], data[4], data[5], data[6]};
}

static float *scratch_of(bd_op_ctx *c, int64_t count)
{
    float *scratch = bd_try_calloc((size_t)count, sizeof *scratch);
    if (!scratch)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating %lld elements for %s", (long long)count,
                   c->node->op_type);
    return scratch;
}

// Allocates output `i` as zeros. NULL: the kernel has failed.
static braid_tensor *zeros(bd_op_ctx *c, int i, const braid_shape *shape)
{
    braid_tensor *t = bd_output(c, i, BRAID_FLOAT, shape);
    if (t && bd_tensor_count(t)) memset(t->data, 0, bd_tensor_bytes(t));
    return t;
}

// ---- Forwards ----

// Computes `steps` steps of the sequences; the outputs of later steps are zeros.
static void run_steps(bd_op_ctx *c, int first, const bd_lstm *m, const braid_shape *shape, int64_t steps)
{
    const braid_tensor *out[7];
    const float *x = bd_tensor_f32(bd_input(c, first + X)),
                *cs_prev = bd_tensor_f32(bd_input(c, first + CS_PREV)),
                *h_prev = bd_tensor_f32(bd_input(c, first + H_PREV));
    for (int i = 0; i < 7; i++) {
        out[i] = zeros(c, i, shape);
        if (!out[i]) return;
    }
    if (m->batch == 0 || m->cell == 0 || steps == 0) return;
    float *scratch = scratch_of(c, bd_lstm_scratch(m));
    for (int64_t t = 0; scratch && t < steps && !bd_interrupted(); t++) {
        bd_lstm_step step = step_at(m, out, t);
        bd_lstm_run(m, x + t * m->batch * m->input, cs_prev, h_prev, &step, scratch);
        cs_prev = step.cs;
        h_prev = step.h;
    }
    bd_free(scratch);
}

static void cell_run(bd_op_ctx *c)
{
    bd_lstm m;
    if (!read_lstm(c, 0, 2, &m)) return;
    braid_shape shape = bd_shape2(m.batch, m.cell);
    run_steps(c, 0, &m, &shape, 1);
}

static void block_run(bd_op_ctx *c)
{
    bd_lstm m;
    int64_t steps;
    if (!read_lstm(c, 1, 3, &m) || !read_steps(c, &steps)) return;
    braid_shape shape = bd_input(c, 1)->shape;
    shape.dims[2] = m.cell;
    run_steps(c, 1, &m, &shape, steps);
}

// ---- Backwards ----

static void cell_grad_run(bd_op_ctx *c)
{
    bd_lstm m;
    if (!read_lstm(c, 0, 2, &m)) return;
    braid_shape shape = bd_shape2(m.batch, m.cell), gates = bd_shape2(m.batch, 4 * m.cell);
    braid_shape vector = bd_shape1(m.cell);
    if (!check_forward(c, 0, &shape)) return;
    const braid_tensor *forward[7];
    for (int i = 0; i < 7; i++) // h is not an input of the gradient op, and not used
        forward[i] = bd_input(c, FORWARD + (i < 6 ? i : 5));
    braid_tensor *cs_prev_grad = zeros(c, 0, &shape), *dgates = cs_prev_grad ? zeros(c, 1, &gates) : NULL;
    bd_lstm_sums sums;
    float **const parts[] = {&sums.wci, &sums.wcf, &sums.wco};
    for (int i = 0; i < 3; i++) {
        braid_tensor *t = dgates ? zeros(c, 2 + i, &vector) : NULL;
        if (!t) return;
        *parts[i] = bd_tensor_f32(t);
    }
    if (m.batch == 0 || m.cell == 0) return;
    bd_lstm_step step = step_at(&m, forward, 0);
    bd_lstm_back(&m, bd_tensor_f32(bd_input(c, CS_PREV)), &step, bd_tensor_f32(bd_input(c, FORWARD + 6)),
                 bd_tensor_f32(bd_input(c, FORWARD + 7)), bd_tensor_f32(dgates), bd_tensor_f32(cs_prev_grad),
                 &sums);
}

// Scratch memory of one backward step, and the accumulated gradients.
typedef struct back {
    float *dgates, *xh, *dxh, *cs_grad, *h_grad; // of one step
    float *dw;                                   // the contribution of one step to w
    float *x, *cs_prev, *h_prev, *w, *b;         // output gradients
    bd_lstm_sums sums;
} back;

static void add(const float *x, float *sum, int64_t n)
{
    bd_binary_loop(BD_ADD, BD_F32)(sum, x, sum, n, BD_SINGLE_NONE);
}

// One backward step. `x`, `cs_prev`, `h_prev` and `step` are the inputs and outputs of the forward step;
// `x_grad` receives the gradient of its x.
static void back_step(const bd_lstm *m, const float *x, const float *cs_prev, const float *h_prev,
                      const bd_lstm_step *step, back *k, float *x_grad)
{
    int64_t width = m->input + m->cell, gates = 4 * m->cell;
    bd_lstm_back(m, cs_prev, step, k->cs_grad, k->h_grad, k->dgates, k->cs_prev, &k->sums);
    bd_gemm_shape to_xh = {.m = m->batch, .n = width, .k = gates, .transpose_b = true};
    bd_gemm(BD_F32, &to_xh, k->dgates, m->w, k->dxh);
    for (int64_t r = 0; r < m->batch && !bd_interrupted(); r++) {
        if (m->input) memcpy(x_grad + r * m->input, k->dxh + r * width, sizeof *x_grad * (size_t)m->input);
        memcpy(k->h_prev + r * m->cell, k->dxh + r * width + m->input, sizeof *x_grad * (size_t)m->cell);
        add(k->dgates + r * gates, k->b, gates);
    }
    bd_lstm_join(m, x, h_prev, k->xh);
    bd_gemm_shape to_w = {.m = width, .n = gates, .k = m->batch, .transpose_a = true};
    bd_gemm(BD_F32, &to_w, k->xh, k->dgates, k->dw);
    add(k->dw, k->w, width * gates);
}

// Computes the steps from last to first. Inputs are those of BlockLSTMGrad.
static void back_steps(bd_op_ctx *c, const bd_lstm *m, int64_t steps, back *k)
{
    const braid_tensor *forward[7];
    for (int i = 0; i < 7; i++)
        forward[i] = bd_input(c, 1 + FORWARD + i);
    const float *x = bd_tensor_f32(bd_input(c, 1 + X)), *cs_first = bd_tensor_f32(bd_input(c, 1 + CS_PREV)),
                *h_first = bd_tensor_f32(bd_input(c, 1 + H_PREV)),
                *cs_grads = bd_tensor_f32(bd_input(c, 1 + FORWARD + 7)),
                *h_grads = bd_tensor_f32(bd_input(c, 1 + FORWARD + 8));
    int64_t n = m->batch * m->cell;
    bd_binary_fn sum = bd_binary_loop(BD_ADD, BD_F32);
    for (int64_t t = steps - 1; t >= 0 && !bd_interrupted(); t--) {
        bd_lstm_step step = step_at(m, forward, t), before = step_at(m, forward, t ? t - 1 : 0);
        sum(k->cs_prev, cs_grads + t * n, k->cs_grad, n, BD_SINGLE_NONE);
        sum(k->h_prev, h_grads + t * n, k->h_grad, n, BD_SINGLE_NONE);
        int64_t at = t * m->batch * m->input;
        back_step(m, x + at, t ? before.cs : cs_first, t ? before.h : h_first, &step, k, k->x + at);
    }
}

static void block_grad_run(bd_op_ctx *c)
{
    bd_lstm m;
    int64_t steps;
    if (!read_lstm(c, 1, 3, &m) || !read_steps(c, &steps)) return;
    braid_shape shape = bd_input(c, 1)->shape;
    shape.dims[2] = m.cell;
    if (!check_forward(c, 1, &shape)) return;
    back k;
    float **const out[] = {&k.x, &k.cs_prev, &k.h_prev, &k.w, &k.sums.wci, &k.sums.wcf, &k.sums.wco, &k.b};
    for (int i = 0; i < FORWARD; i++) {
        braid_tensor *t = zeros(c, i, &bd_input(c, 1 + i)->shape);
        if (!t) return;
        *out[i] = bd_tensor_f32(t);
    }
    if (m.batch == 0 || m.cell == 0 || steps == 0) return;
    int64_t width = m.input + m.cell, n = m.batch * m.cell;
    float *scratch = scratch_of(c, 6 * n + 2 * m.batch * width + 4 * m.cell * width);
    if (!scratch) return;
    k.dgates = scratch;
    k.cs_grad = k.dgates + 4 * n;
    k.h_grad = k.cs_grad + n;
    k.xh = k.h_grad + n;
    k.dxh = k.xh + m.batch * width;
    k.dw = k.dxh + m.batch * width;
    back_steps(c, &m, steps, &k);
    bd_free(scratch);
}

// ---- Shapes ----

static int64_t dim(const bd_shape_ctx *c, int i, int d)
{
    return c->inputs[i].rank < 0 ? -1 : c->inputs[i].dims[d];
}

static braid_code cell_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, X, 2, st);
    if (!code) code = bd_shape_ctx_rank(c, CS_PREV, 2, st);
    for (int i = 0; i < 7; i++)
        c->outputs[i] = bd_shape2(dim(c, X, 0), dim(c, CS_PREV, 1));
    return code;
}

static braid_code cell_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, X, 2, st);
    if (!code) code = bd_shape_ctx_rank(c, CS_PREV, 2, st);
    if (code) return code;
    int64_t batch = dim(c, X, 0), cell = dim(c, CS_PREV, 1), gates = -1;
    if (cell >= 0 && __builtin_mul_overflow(cell, 4, &gates))
        return bd_shape_ctx_fail(c, st, "The size of a cell, %lld, is too large", (long long)cell);
    c->outputs[0] = bd_shape2(batch, cell);
    c->outputs[1] = bd_shape2(batch, gates);
    for (int i = 2; i < 5; i++)
        c->outputs[i] = bd_shape1(cell);
    return BRAID_OK;
}

static braid_code block_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1 + X, 3, st);
    if (!code) code = bd_shape_ctx_rank(c, 1 + B, 1, st);
    if (code) return code;
    int64_t gates = dim(c, 1 + B, 0);
    if (gates >= 0 && gates % 4)
        return bd_shape_ctx_fail(c, st, "Dimension size must be evenly divisible by 4 but is %lld",
                                 (long long)gates);
    for (int i = 0; i < 7; i++)
        c->outputs[i] = (braid_shape){
            .rank = 3, .dims = {dim(c, 1 + X, 0), dim(c, 1 + X, 1), gates < 0 ? -1 : gates / 4}};
    return BRAID_OK;
}

static braid_code block_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    static const int ranks[FORWARD] = {3, 2, 2, 2, 1, 1, 1, 1};
    for (int i = 0; i < FORWARD; i++) {
        braid_code code = bd_shape_ctx_rank(c, 1 + i, ranks[i], st);
        if (code) return code;
        c->outputs[i] = c->inputs[1 + i];
    }
    return BRAID_OK;
}

// ---- Gradients ----

// As in TensorFlow, gradients flow through outputs cs and h only.
static void block_gradient(bd_grad_ctx *c)
{
    enum {
        OUT_CS = 1,
        OUT_H = 6
    };
    const braid_op *op = c->op;
    braid_op_desc *d = braid_op_begin(
        c->graph, strcmp(op->op_type, "BlockLSTMV2") == 0 ? "BlockLSTMGradV2" : "BlockLSTMGrad", NULL);
    braid_out grads[2] = {c->output_grads[OUT_CS], c->output_grads[OUT_H]};
    if (!grads[0].op) grads[0] = bd_grad_zeros_like(c->graph, braid_output(c->op, OUT_CS));
    if (!grads[1].op) grads[1] = bd_grad_zeros_like(c->graph, braid_output(c->op, OUT_H));
    for (int i = 0; i < op->input_count; i++)
        braid_op_input(d, op->inputs[i]);
    for (int i = 0; i < op->output_count; i++)
        braid_op_input(d, braid_output(c->op, i));
    for (int i = 0; i < 2; i++)
        braid_op_input(d, grads[i]);
    braid_op_attr_bool(d, "use_peephole", bd_node_attr_bool(op, "use_peephole"));
    braid_op *gradient = braid_op_end_out(d).op;
    for (int i = 0; gradient && i < FORWARD; i++)
        c->input_grads[1 + i] = braid_output(gradient, i);
}

// [columns of x, columns of h]
static braid_out column_counts(braid_graph *g, braid_out x, braid_out h)
{
    static const bd_grad_index columns = {.count = 1, .begin = {1}, .end = {2}};
    const braid_out counts[] = {bd_grad_slice(g, bd_b_shape(g, NULL, x), &columns),
                                bd_grad_slice(g, bd_b_shape(g, NULL, h), &columns)};
    return bd_grad_concat(g, counts, 2, 0);
}

static braid_out product(braid_graph *g, braid_out a, braid_out b, const char *transposed)
{
    braid_op_desc *d = braid_op_begin(g, "MatMul", NULL);
    braid_op_input(d, a);
    braid_op_input(d, b);
    braid_op_attr_bool(d, transposed, true);
    return braid_op_end_out(d);
}

// The gradients of x, h, w and b from the gradient of the gates' sums, [x, h] w + b.
static void gates_gradient(bd_grad_ctx *c, braid_out gates)
{
    braid_graph *g = c->graph;
    const braid_out *in = c->op->inputs;
    braid_op_desc *d = braid_op_begin(g, "SplitV", NULL);
    braid_op_input(d, product(g, gates, in[W], "transpose_b"));
    braid_op_input(d, column_counts(g, in[X], in[H_PREV]));
    braid_op_input(d, bd_b_const_i32(g, "split_dim", 1));
    braid_op_attr_int(d, "num_split", 2);
    braid_op *split = braid_op_end(d);
    c->input_grads[X] = braid_output(split, 0);
    c->input_grads[H_PREV] = braid_output(split, 1);
    const braid_out xh = bd_grad_concat(g, (braid_out[]){in[X], in[H_PREV]}, 2, 1);
    c->input_grads[W] = product(g, xh, gates, "transpose_a");
    c->input_grads[B] = bd_b1(g, "BiasAddGrad", NULL, gates);
}

// As for BlockLSTM, gradients flow through outputs cs and h only.
static void cell_gradient(bd_grad_ctx *c)
{
    enum {
        CS = 1,
        H = 6,
        GATES = 1,
        PEEPHOLE
    };
    braid_op_desc *d = braid_op_begin(c->graph, "LSTMBlockCellGrad", NULL);
    for (int i = 0; i < FORWARD; i++)
        braid_op_input(d, c->op->inputs[i]);
    for (int i = 0; i < H; i++)
        braid_op_input(d, braid_output(c->op, i));
    braid_op_input(d, c->output_grads[CS]);
    braid_op_input(d, c->output_grads[H]);
    braid_op_attr_bool(d, "use_peephole", bd_node_attr_bool(c->op, "use_peephole"));
    braid_op *gradient = braid_op_end(d);
    gates_gradient(c, braid_output(gradient, GATES));
    c->input_grads[CS_PREV] = braid_output(gradient, 0);
    for (int i = 0; i < 3; i++)
        c->input_grads[WCI + i] = braid_output(gradient, PEEPHOLE + i);
}

// ---- Ops ----

#define CELL_INPUTS "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
#define STEP_OUTPUTS "i: T, cs: T, f: T, o: T, ci: T, co: T, h: T"
#define GRAD_OUTPUTS                                                                                         \
    "(x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T)"
#define LSTM_KERNELS(RUN)                                                                                    \
    BD_KERNELS({.types = "T=float",                                                                          \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS | BD_KERNEL_ROUNDS_ATTRS,                    \
                .state_size = sizeof(bd_lstm),                                                               \
                .create = lstm_create,                                                                       \
                .run = (RUN)})

BD_OP(LSTMBlockCell) = {
    .signature = "(" CELL_INPUTS ") -> (" STEP_OUTPUTS ")",
    .attrs = "forget_bias:float=1; cell_clip:float=3; use_peephole:bool=false; T:type{float,half}",
    .shape = cell_shape,
    .gradient = cell_gradient,
    .kernels = LSTM_KERNELS(cell_run),
    .doc = "One step of a long short-term memory for a batch: its gates, its state and its output.",
};

BD_OP(LSTMBlockCellGrad) = {
    .signature = "(" CELL_INPUTS
                 ", i: T, cs: T, f: T, o: T, ci: T, co: T, cs_grad: T, h_grad: T) -> (cs_prev_grad: "
                 "T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T)",
    .attrs = "use_peephole:bool; T:type{float,half}",
    .shape = cell_grad_shape,
    .kernels = LSTM_KERNELS(cell_grad_run),
    .doc =
        "The gradients of LSTMBlockCell for the previous state, the gates before their activations and the peephole weights.",
};

BD_OP(BlockLSTM) = {
    .signature = "(seq_len_max: int64, " CELL_INPUTS ") -> (" STEP_OUTPUTS ")",
    .attrs = "forget_bias:float=1; cell_clip:float=3; use_peephole:bool=false; T:type{float,half}",
    .shape = block_shape,
    .gradient = block_gradient,
    .kernels = LSTM_KERNELS(block_run),
    .doc =
        "LSTMBlockCell for the first seq_len_max steps of sequences [time, batch, input]; later outputs are zeros.",
};

BD_OP(BlockLSTMV2) = {
    .signature = "(seq_len_max: int64, " CELL_INPUTS ") -> (" STEP_OUTPUTS ")",
    .attrs = "cell_clip:float=0; use_peephole:bool=false; T:type{float,half}",
    .shape = block_shape,
    .gradient = block_gradient,
    .kernels = LSTM_KERNELS(block_run),
    .doc = "BlockLSTM with the forget gate's weights before the cell's, and without attr forget_bias.",
};

BD_OP(BlockLSTMGrad) = {
    .signature = "(seq_len_max: int64, " CELL_INPUTS ", " STEP_OUTPUTS
                 ", cs_grad: T, h_grad: T) -> " GRAD_OUTPUTS,
    .attrs = "use_peephole:bool; T:type{float,half}",
    .shape = block_grad_shape,
    .kernels = LSTM_KERNELS(block_grad_run),
    .doc = "The gradient of BlockLSTM.",
};

BD_OP(BlockLSTMGradV2) = {
    .signature = "(seq_len_max: int64, " CELL_INPUTS ", " STEP_OUTPUTS
                 ", cs_grad: T, h_grad: T) -> " GRAD_OUTPUTS,
    .attrs = "use_peephole:bool; T:type{float,half}",
    .shape = block_grad_shape,
    .kernels = LSTM_KERNELS(block_grad_run),
    .doc = "The gradient of BlockLSTMV2.",
};
