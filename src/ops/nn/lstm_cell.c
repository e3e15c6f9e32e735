// The equations of a long short-term memory, of S. Hochreiter and J. Schmidhuber (1997), with forget gates
// and peepholes:
//     i  = sigmoid(gate_i + wci cs_prev)
//     f  = sigmoid(gate_f + forget_bias + wcf cs_prev)
//     ci = tanh(gate_c)
//     cs = i ci + f cs_prev, clipped
//     o  = sigmoid(gate_o + wco cs)
//     co = tanh(cs)
//     h  = o co
// where the gates are [x, h_prev] w + b.
#include "ops/nn/lstm_cell.h"

#include "base/interrupt.h"
#include "kernels/gemm.h"
#include "kernels/loops.h"

#include <string.h>

// The four gates of one row, [4 * cell].
typedef struct gates {
    int64_t i, c, f, o;
} gates;

static gates gates_of(const bd_lstm *m)
{
    return (gates){.c = m->forgets_first ? 2 * m->cell : m->cell,
                   .f = m->forgets_first ? m->cell : 2 * m->cell,
                   .o = 3 * m->cell};
}

int64_t bd_lstm_scratch(const bd_lstm *m)
{
    return m->batch * (m->input + m->cell + 4 * m->cell);
}

void bd_lstm_join(const bd_lstm *m, const float *x, const float *h, float *xh)
{
    for (int64_t r = 0; r < m->batch && !bd_interrupted(); r++) {
        if (m->input) memcpy(xh, x + r * m->input, sizeof *xh * (size_t)m->input);
        memcpy(xh + m->input, h + r * m->cell, sizeof *xh * (size_t)m->cell);
        xh += m->input + m->cell;
    }
}

// out = gate + bias + weight * state (the last term is optional)
static void open_gate(const bd_lstm *m, const float *gate, const float *bias, const float *weight,
                      const float *cs, float *out)
{
    for (int64_t j = 0; j < m->cell; j++)
        out[j] = gate[j] + bias[j] + (m->has_peephole && weight ? cs[j] * weight[j] : 0);
}

static void run_row(const bd_lstm *m, const float *row, const float *cs_prev, const bd_lstm_step *s)
{
    bd_unary_fn sigmoid = bd_unary_loop(BD_SIGMOID, BD_F32), squash = bd_unary_loop(BD_TANH, BD_F32);
    gates g = gates_of(m);
    int64_t n = m->cell;
    open_gate(m, row + g.i, m->b + g.i, m->wci, cs_prev, s->i);
    open_gate(m, row + g.c, m->b + g.c, NULL, NULL, s->ci);
    open_gate(m, row + g.f, m->b + g.f, m->wcf, cs_prev, s->f);
    for (int64_t j = 0; j < n; j++)
        s->f[j] += m->forget_bias;
    sigmoid(s->i, s->i, n);
    squash(s->ci, s->ci, n);
    sigmoid(s->f, s->f, n);
    for (int64_t j = 0; j < n; j++) {
        float cs = s->i[j] * s->ci[j] + s->f[j] * cs_prev[j];
        if (m->clip > 0) {
            cs = cs > m->clip ? m->clip : cs;
            cs = cs < -m->clip ? -m->clip : cs;
        }
        s->cs[j] = cs;
    }
    squash(s->cs, s->co, n);
    open_gate(m, row + g.o, m->b + g.o, m->wco, s->cs, s->o);
    sigmoid(s->o, s->o, n);
    for (int64_t j = 0; j < n; j++)
        s->h[j] = s->o[j] * s->co[j];
}

// Row `r` of the batch in the tensors of a step.
static bd_lstm_step row_of(const bd_lstm *m, const bd_lstm_step *s, int64_t r)
{
    int64_t at = r * m->cell;
    return (bd_lstm_step){s->i + at, s->cs + at, s->f + at, s->o + at, s->ci + at, s->co + at, s->h + at};
}

void bd_lstm_run(const bd_lstm *m, const float *x, const float *cs_prev, const float *h_prev,
                 const bd_lstm_step *out, float *scratch)
{
    float *xh = scratch, *all = scratch + m->batch * (m->input + m->cell);
    bd_gemm_shape shape = {.m = m->batch, .n = 4 * m->cell, .k = m->input + m->cell};
    bd_lstm_join(m, x, h_prev, xh);
    bd_gemm(BD_F32, &shape, xh, m->w, all);
    for (int64_t r = 0; r < m->batch && !bd_interrupted(); r++) {
        bd_lstm_step row = row_of(m, out, r);
        run_row(m, all + r * 4 * m->cell, cs_prev + r * m->cell, &row);
    }
}

static void back_row(const bd_lstm *m, const float *cs_prev, const bd_lstm_step *s, const float *cs_grad,
                     const float *h_grad, float *row, float *cs_prev_grad, const bd_lstm_sums *sums)
{
    gates g = gates_of(m);
    for (int64_t j = 0; j < m->cell; j++) {
        float i = s->i[j], f = s->f[j], o = s->o[j], ci = s->ci[j], co = s->co[j];
        float d_o = o * (1 - o) * h_grad[j] * co;
        float d_cs = (1 - co * co) * h_grad[j] * o + cs_grad[j] + (m->has_peephole ? d_o * m->wco[j] : 0);
        float d_f = f * (1 - f) * d_cs * cs_prev[j], d_i = i * (1 - i) * d_cs * ci;
        row[g.i + j] = d_i;
        row[g.c + j] = (1 - ci * ci) * d_cs * i;
        row[g.f + j] = d_f;
        row[g.o + j] = d_o;
        cs_prev_grad[j] = d_cs * f;
        if (!m->has_peephole) continue;
        cs_prev_grad[j] += d_i * m->wci[j] + d_f * m->wcf[j];
        sums->wci[j] += d_i * cs_prev[j];
        sums->wcf[j] += d_f * cs_prev[j];
        sums->wco[j] += d_o * s->cs[j];
    }
}

void bd_lstm_back(const bd_lstm *m, const float *cs_prev, const bd_lstm_step *step, const float *cs_grad,
                  const float *h_grad, float *dgates, float *cs_prev_grad, const bd_lstm_sums *sums)
{
    for (int64_t r = 0; r < m->batch && !bd_interrupted(); r++) {
        int64_t at = r * m->cell;
        bd_lstm_step row = row_of(m, step, r);
        back_row(m, cs_prev + at, &row, cs_grad + at, h_grad + at, dgates + 4 * at, cs_prev_grad + at, sums);
    }
}
