// GRUBlockCell, one step of a gated recurrent unit (K. Cho and others, 2014), and its gradient:
//     [r, u] = sigmoid([x, h_prev] w_ru + b_ru)
//     c = tanh([x, h_prev r] w_c + b_c)
//     h = u h_prev + (1 - u) c
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "kernels/gemm.h"
#include "kernels/loops.h"
#include "op/kernel.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"

#include <string.h>

enum {
    X,
    H_PREV,
    W_RU,
    W_C,
    B_RU,
    B_C,
    FORWARD // in the gradient op: the cell's outputs r, u, c, then the gradient of h
};
static const char *const names[] = {"x", "h_prev", "w_ru", "w_c", "b_ru", "b_c", "r", "u", "c", "d_h"};

typedef struct gru {
    int64_t batch, input, cell;
    const float *in[10]; // memory of the inputs
} gru;

// Checks that dimension `d` of input `i` is `want`; the error calls it `what`.
static bool check_dim(bd_op_ctx *c, int i, int d, int64_t want, const char *what)
{
    int64_t got = bd_input(c, i)->shape.dims[d];
    if (got == want) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s.%s(%d) != %s: %lld vs. %lld", names[i],
               i >= W_RU && i <= B_C ? "dim_size" : "dims", d, what, (long long)got, (long long)want);
    return false;
}

// Reads sizes and inputs of the cell, or (ten inputs) of its gradient. False: the kernel has failed.
static bool read_gru(bd_op_ctx *c, gru *g)
{
    for (int i = 0; i < c->input_count; i++) {
        int rank = i == B_RU || i == B_C ? 1 : 2;
        g->in[i] = bd_tensor_f32(bd_input(c, i));
        if (bd_input(c, i)->shape.rank == rank) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Rank of %s must be %d, but is %d", names[i], rank,
                   bd_input(c, i)->shape.rank);
        return false;
    }
    g->batch = bd_input(c, X)->shape.dims[0];
    g->input = bd_input(c, X)->shape.dims[1];
    g->cell = bd_input(c, H_PREV)->shape.dims[1];
    int64_t rows, twice;
    if (__builtin_add_overflow(g->input, g->cell, &rows) || __builtin_mul_overflow(g->cell, 2, &twice)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "sizes of input and cell, %lld and %lld, are too large",
                   (long long)g->input, (long long)g->cell);
        return false;
    }
    if (!check_dim(c, H_PREV, 0, g->batch, "batch_size") ||
        !check_dim(c, W_RU, 0, rows, "input_size + cell_size") ||
        !check_dim(c, W_RU, 1, twice, "cell_size * 2") ||
        !check_dim(c, W_C, 0, rows, "input_size + cell_size") ||
        !check_dim(c, W_C, 1, g->cell, "cell_size") || !check_dim(c, B_RU, 0, twice, "cell_size * 2") ||
        !check_dim(c, B_C, 0, g->cell, "cell_size"))
        return false;
    for (int i = FORWARD; i < c->input_count; i++) {
        if (!check_dim(c, i, 0, g->batch, "batch_size") || !check_dim(c, i, 1, g->cell, "cell_size"))
            return false;
    }
    return true;
}

static float *scratch_of(bd_op_ctx *c, int64_t count)
{
    float *scratch = bd_try_calloc((size_t)count, sizeof *scratch);
    if (!scratch)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating %lld elements for %s", (long long)count,
                   c->node->op_type);
    return scratch;
}

// ---- Forwards ----

// Rows [x, h] of the batch, or [x, h * by] if `by` is not NULL.
static void join(const gru *g, const float *by, float *xh)
{
    const float *h = g->in[H_PREV];
    for (int64_t b = 0; b < g->batch && !bd_interrupted(); b++) {
        if (g->input) memcpy(xh, g->in[X] + b * g->input, sizeof *xh * (size_t)g->input);
        xh += g->input;
        for (int64_t j = 0; j < g->cell; j++, xh++)
            *xh = h[b * g->cell + j] * (by ? by[b * g->cell + j] : 1);
    }
}

// out = activation(gate + bias) for row `b` of the batch; `gate` is the product of inputs and weights.
static void activate(const gru *g, bd_unary_op op, const float *gate, const float *bias, float *out)
{
    for (int64_t j = 0; j < g->cell; j++)
        out[j] = gate[j] + bias[j];
    bd_unary_loop(op, BD_F32)(out, out, g->cell);
}

static void run_cell(const gru *g, float *const out[4], float *scratch)
{
    float *r = out[0], *u = out[1], *candidate = out[2], *h = out[3];
    int64_t n = g->cell, width = g->input + n;
    float *xh = scratch, *gates = scratch + g->batch * width;
    join(g, NULL, xh);
    bd_gemm(BD_F32, &(bd_gemm_shape){.m = g->batch, .n = 2 * n, .k = width}, xh, g->in[W_RU], gates);
    for (int64_t b = 0; b < g->batch && !bd_interrupted(); b++) {
        activate(g, BD_SIGMOID, gates + b * 2 * n, g->in[B_RU], r + b * n);
        activate(g, BD_SIGMOID, gates + b * 2 * n + n, g->in[B_RU] + n, u + b * n);
    }
    join(g, r, xh);
    bd_gemm(BD_F32, &(bd_gemm_shape){.m = g->batch, .n = n, .k = width}, xh, g->in[W_C], gates);
    for (int64_t b = 0; b < g->batch && !bd_interrupted(); b++)
        activate(g, BD_TANH, gates + b * n, g->in[B_C], candidate + b * n);
    for (int64_t i = 0; i < g->batch * n && !bd_interrupted_at(i); i++)
        h[i] = u[i] * (g->in[H_PREV][i] - candidate[i]) + candidate[i];
}

static void gru_run(bd_op_ctx *c)
{
    gru g;
    float *out[4];
    if (!read_gru(c, &g)) return;
    braid_shape shape = bd_shape2(g.batch, g.cell);
    for (int i = 0; i < 4; i++) {
        braid_tensor *t = bd_output(c, i, BRAID_FLOAT, &shape);
        if (!t) return;
        out[i] = bd_tensor_f32(t);
    }
    if (g.batch == 0 || g.cell == 0) return;
    float *scratch = scratch_of(c, g.batch * (g.input + g.cell + 2 * g.cell));
    if (scratch) run_cell(&g, out, scratch);
    bd_free(scratch);
}

// ---- Backwards ----

// out: d_x, d_h_prev, and the gradients before the activations, d_c_bar and d_r_bar_u_bar.
static void run_grad(const gru *g, float *const out[4], float *scratch)
{
    const float *h_prev = g->in[H_PREV], *r = g->in[FORWARD], *u = g->in[FORWARD + 1],
                *candidate = g->in[FORWARD + 2], *dh = g->in[FORWARD + 3];
    int64_t n = g->cell, width = g->input + n;
    float *by_c = scratch, *by_ru = scratch + g->batch * width, *d_c = out[2], *d_ru = out[3];
    for (int64_t i = 0; i < g->batch * n && !bd_interrupted_at(i); i++) {
        d_c[i] = dh[i] * (1 - u[i]) * (1 - candidate[i] * candidate[i]);
        d_ru[i / n * 2 * n + n + i % n] = dh[i] * (h_prev[i] - candidate[i]) * u[i] * (1 - u[i]);
    }
    bd_gemm(BD_F32, &(bd_gemm_shape){.m = g->batch, .n = width, .k = n, .transpose_b = true}, d_c, g->in[W_C],
            by_c);
    for (int64_t i = 0; i < g->batch * n && !bd_interrupted_at(i); i++) {
        float d_hr = by_c[i / n * width + g->input + i % n];
        d_ru[i / n * 2 * n + i % n] = d_hr * h_prev[i] * r[i] * (1 - r[i]);
    }
    bd_gemm(BD_F32, &(bd_gemm_shape){.m = g->batch, .n = width, .k = 2 * n, .transpose_b = true}, d_ru,
            g->in[W_RU], by_ru);
    for (int64_t b = 0; b < g->batch && !bd_interrupted(); b++) {
        const float *c_row = by_c + b * width, *ru_row = by_ru + b * width;
        for (int64_t j = 0; j < g->input; j++)
            out[0][b * g->input + j] = ru_row[j] + c_row[j];
        for (int64_t j = 0; j < n; j++) {
            int64_t i = b * n + j;
            out[1][i] = ru_row[g->input + j] + c_row[g->input + j] * r[i] + dh[i] * u[i];
        }
    }
}

static void gru_grad_run(bd_op_ctx *c)
{
    gru g;
    float *out[4];
    if (!read_gru(c, &g)) return;
    braid_shape cells = bd_shape2(g.batch, g.cell), pairs = bd_shape2(g.batch, 2 * g.cell);
    const braid_shape *shapes[4] = {&bd_input(c, X)->shape, &cells, &cells, &pairs};
    for (int i = 0; i < 4; i++) {
        braid_tensor *t = bd_output(c, i, BRAID_FLOAT, shapes[i]);
        if (!t) return;
        out[i] = bd_tensor_f32(t);
        if (bd_tensor_count(t)) memset(t->data, 0, bd_tensor_bytes(t));
    }
    if (g.batch == 0 || g.cell == 0) return;
    float *scratch = scratch_of(c, 2 * g.batch * (g.input + g.cell));
    if (scratch) run_grad(&g, out, scratch);
    bd_free(scratch);
}

// ---- Shapes and ops ----

static int64_t dim(const bd_shape_ctx *c, int i, int d)
{
    return c->inputs[i].rank < 0 ? -1 : c->inputs[i].dims[d];
}

static braid_code gru_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, X, 2, st);
    if (!code) code = bd_shape_ctx_rank(c, H_PREV, 2, st);
    for (int i = 0; i < 4 && !code; i++)
        c->outputs[i] = bd_shape2(dim(c, X, 0), dim(c, H_PREV, 1));
    return code;
}

static braid_code gru_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = gru_shape(c, st);
    if (!code) code = bd_shape_ctx_rank(c, W_RU, 2, st);
    c->outputs[0] = bd_shape2(dim(c, X, 0), dim(c, X, 1));
    c->outputs[3] = bd_shape2(dim(c, X, 0), code ? -1 : dim(c, W_RU, 1));
    return code;
}

// ---- Gradients ----

// The gradients of weights and bias, from the inputs `x` and `h` of the product and the gradient of its
// result.
static void weights_gradient(bd_grad_ctx *c, braid_out x, braid_out h, braid_out grad, int weights, int bias)
{
    braid_op_desc *d = braid_op_begin(c->graph, "MatMul", NULL);
    braid_op_input(d, bd_grad_concat(c->graph, (braid_out[]){x, h}, 2, 1));
    braid_op_input(d, grad);
    braid_op_attr_bool(d, "transpose_a", true);
    c->input_grads[weights] = braid_op_end_out(d);
    c->input_grads[bias] = bd_b1(c->graph, "BiasAddGrad", NULL, grad);
}

// As in TensorFlow, gradients flow through output h only.
static void gru_gradient(bd_grad_ctx *c)
{
    enum {
        R,
        OUT_H = 3,
        INPUTS = 10
    };
    braid_graph *g = c->graph;
    braid_out inputs[INPUTS];
    for (int i = 0; i < FORWARD; i++)
        inputs[i] = c->op->inputs[i];
    for (int i = 0; i < OUT_H; i++)
        inputs[FORWARD + i] = braid_output(c->op, i);
    inputs[FORWARD + OUT_H] = c->output_grads[OUT_H];
    braid_op *gradient = braid_op_add(g, "GRUBlockCellGrad", NULL, inputs, INPUTS);
    c->input_grads[X] = braid_output(gradient, 0);
    c->input_grads[H_PREV] = braid_output(gradient, 1);
    weights_gradient(c, inputs[X], inputs[H_PREV], braid_output(gradient, 3), W_RU, B_RU);
    weights_gradient(c, inputs[X], bd_grad_mul(g, inputs[H_PREV], inputs[FORWARD + R]),
                     braid_output(gradient, 2), W_C, B_C);
}

#define CELL_INPUTS "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"
#define GRU_KERNELS(RUN) BD_KERNELS({.types = "T=float", .flags = BD_KERNEL_EXPENSIVE, .run = (RUN)})

BD_OP(GRUBlockCell) = {
    .signature = "(" CELL_INPUTS ") -> (r: T, u: T, c: T, h: T)",
    .attrs = "T:type{float}",
    .shape = gru_shape,
    .gradient = gru_gradient,
    .kernels = GRU_KERNELS(gru_run),
    .doc =
        "One step of a gated recurrent unit for a batch: its gates, the candidate state and the new state.",
};

BD_OP(GRUBlockCellGrad) = {
    .signature = "(" CELL_INPUTS
                 ", r: T, u: T, c: T, d_h: T) -> (d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T)",
    .attrs = "T:type{float}",
    .shape = gru_grad_shape,
    .kernels = GRU_KERNELS(gru_grad_run),
    .doc =
        "The gradient of GRUBlockCell for its input, the previous state and the inputs of its activations.",
};
