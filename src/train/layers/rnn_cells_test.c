// Recurrent cells: their values against a computation in plain C, their variables, wrappers and errors.
#include "base/testing/test.h"

#include <braid/rnn.h>
#include <braid/session.h>
#include <braid/variable_scope.h>
#include <math.h>
#include <string.h>

enum {
    BATCH = 2,
    TIME = 4,
    DEPTH = 3,
    UNITS = 2,
    VALUES_MAX = 64
};

static const int32_t lengths[BATCH] = {4, 2};

// ---- Graphs and their values ----

static double input_at(int batch, int time, int k)
{
    return sin(1 + batch * 31 + time * 7 + k * 3);
}

// [batch, time, depth], or [time, batch, depth]
static braid_out sequence(braid_graph *g, bool time_major)
{
    double x[BATCH * TIME * DEPTH];
    for (int i = 0; i < BATCH * TIME * DEPTH; i++) {
        const int outer = i / (DEPTH * (time_major ? BATCH : TIME)),
                  inner = i / DEPTH % (time_major ? BATCH : TIME);
        x[i] = time_major ? input_at(inner, outer, i % DEPTH) : input_at(outer, inner, i % DEPTH);
    }
    const braid_shape shape = time_major ? BRAID_SHAPE(TIME, BATCH, DEPTH) : BRAID_SHAPE(BATCH, TIME, DEPTH);
    braid_tensor *t = braid_tensor_from(BRAID_DOUBLE, shape, x, NULL);
    const braid_out out = braid_const(g, "input", t);
    braid_tensor_free(t);
    return out;
}

static braid_session *start(braid_graph *g)
{
    BD_STATUS(st);
    braid_op *init = braid_global_variables_initializer(g);
    braid_graph_status(g, st);
    assert_ok(st);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    braid_session_run(s, &(braid_run_args){.targets = &init, .target_count = 1}, st);
    assert_ok(st);
    return s;
}

static void finish(braid_session *s, braid_graph *g)
{
    BD_STATUS(st);
    braid_session_close(s, st);
    assert_ok(st);
    braid_graph_free(g);
}

static void fetch(braid_session *s, braid_out out, double *values)
{
    BD_STATUS(st);
    braid_tensor *got = NULL;
    const braid_fetch fetch = {out, &got};
    braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
    assert_ok(st);
    assert_in_range(braid_tensor_num_elements(got), 1, VALUES_MAX);
    memcpy(values, braid_tensor_data(got), braid_tensor_bytes(got));
    braid_tensor_free(got);
}

static void expect_near(const double *got, const double *want, int count)
{
    for (int i = 0; i < count; i++)
        assert_float_equal(got[i], want[i], 1e-12);
}

// ---- The cells in plain C: one example, one step ----

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

// bias[column] + sum of (x, h) times a column of the kernel
static double sum_of(const double *kernel, const double *bias, int columns, int column, const double *x,
                     const double *h, int h_size)
{
    double sum = bias[column];
    for (int k = 0; k < DEPTH; k++)
        sum += x[k] * kernel[k * columns + column];
    for (int k = 0; k < h_size; k++)
        sum += h[k] * kernel[(DEPTH + k) * columns + column];
    return sum;
}

// `w` are the values of the cell's variables in the order of its names; `c` and `h` the state.
typedef void (*plain_step)(double (*w)[VALUES_MAX], const double *x, double *c, double *h);

static void plain_basic(double (*w)[VALUES_MAX], const double *x, double *c, double *h)
{
    (void)c;
    double next[UNITS];
    for (int i = 0; i < UNITS; i++)
        next[i] = tanh(sum_of(w[0], w[1], UNITS, i, x, h, UNITS));
    memcpy(h, next, sizeof next);
}

static void plain_gru(double (*w)[VALUES_MAX], const double *x, double *c, double *h)
{
    (void)c;
    double reset[UNITS], next[UNITS];
    for (int i = 0; i < UNITS; i++)
        reset[i] = h[i] * sigmoid(sum_of(w[0], w[1], 2 * UNITS, i, x, h, UNITS));
    for (int i = 0; i < UNITS; i++) {
        const double u = sigmoid(sum_of(w[0], w[1], 2 * UNITS, UNITS + i, x, h, UNITS));
        next[i] = u * h[i] + (1 - u) * tanh(sum_of(w[2], w[3], UNITS, i, x, reset, UNITS));
    }
    memcpy(h, next, sizeof next);
}

static void plain_lstm(double (*w)[VALUES_MAX], const double *x, double *c, double *h)
{
    double next[UNITS];
    for (int i = 0; i < UNITS; i++) {
        double s[4];
        for (int k = 0; k < 4; k++)
            s[k] = sum_of(w[0], w[1], 4 * UNITS, k * UNITS + i, x, h, UNITS);
        c[i] = c[i] * sigmoid(s[2] + 1) + sigmoid(s[0]) * tanh(s[1]);
        next[i] = tanh(c[i]) * sigmoid(s[3]);
    }
    memcpy(h, next, sizeof next);
}

// With peepholes, forget bias 0.5, the memory within 0.3, and a projection to 1 within 0.2.
static void plain_full_lstm(double (*w)[VALUES_MAX], const double *x, double *c, double *h)
{
    double out = 0;
    for (int i = 0; i < UNITS; i++) {
        double s[4];
        for (int k = 0; k < 4; k++)
            s[k] = sum_of(w[0], w[1], 4 * UNITS, k * UNITS + i, x, h, 1);
        const double forget = sigmoid(s[2] + 0.5 + w[2][i] * c[i]), take = sigmoid(s[0] + w[3][i] * c[i]);
        c[i] = fmin(0.3F, fmax(-0.3F, forget * c[i] + take * tanh(s[1])));
        out += sigmoid(s[3] + w[4][i] * c[i]) * tanh(c[i]) * w[5][i];
    }
    h[0] = fmin(0.2F, fmax(-0.2F, out));
}

// ---- Values ----

static braid_rnn_cell *basic(braid_graph *g)
{
    return braid_basic_rnn_cell(g, UNITS);
}
static braid_rnn_cell *gru(braid_graph *g)
{
    return braid_gru_cell(g, UNITS);
}
static braid_rnn_cell *basic_lstm(braid_graph *g)
{
    return braid_basic_lstm_cell(g, UNITS, 1);
}
static braid_rnn_cell *lstm(braid_graph *g)
{
    return braid_lstm_cell(g, UNITS, NULL);
}
static braid_rnn_cell *full_lstm(braid_graph *g)
{
    return braid_lstm_cell(
        g, UNITS,
        &(braid_lstm_options){
            .use_peepholes = true, .cell_clip = 0.3F, .num_proj = 1, .proj_clip = 0.2F, .forget_bias = 0.5F});
}

typedef struct cell_case {
    braid_rnn_cell *(*make)(braid_graph *g);
    plain_step plain;
    int output_size, state_count, variables;
    const char *names[6];
} cell_case;

static const cell_case cases[] = {
    {basic, plain_basic, UNITS, 1, 2, {"rnn/basic_rnn_cell/kernel", "rnn/basic_rnn_cell/bias"}},
    {gru,
     plain_gru,
     UNITS,
     1,
     4,
     {"rnn/gru_cell/gates/kernel", "rnn/gru_cell/gates/bias", "rnn/gru_cell/candidate/kernel",
      "rnn/gru_cell/candidate/bias"}},
    {basic_lstm, plain_lstm, UNITS, 2, 2, {"rnn/basic_lstm_cell/kernel", "rnn/basic_lstm_cell/bias"}},
    {lstm, plain_lstm, UNITS, 2, 2, {"rnn/lstm_cell/kernel", "rnn/lstm_cell/bias"}},
    {full_lstm,
     plain_full_lstm,
     1,
     2,
     6,
     {"rnn/lstm_cell/kernel", "rnn/lstm_cell/bias", "rnn/lstm_cell/w_f_diag", "rnn/lstm_cell/w_i_diag",
      "rnn/lstm_cell/w_o_diag", "rnn/lstm_cell/projection/kernel"}},
};

// Compares outputs and final states with the plain computation from states of `first`.
static void expect_plain(const cell_case *k, braid_session *s, braid_graph *g, const braid_out *outs,
                         const braid_rnn_options *o, double first)
{
    double w[6][VALUES_MAX], got[3][VALUES_MAX];
    for (int i = 0; i < k->variables; i++)
        fetch(s, braid_graph_find_out(g, k->names[i]), w[i]);
    for (int i = 0; i <= k->state_count; i++)
        fetch(s, outs[i], got[i]);
    const int size = k->output_size;
    for (int b = 0; b < BATCH; b++) {
        double c[UNITS] = {first, first}, h[UNITS] = {first, first};
        for (int t = 0; t < TIME; t++) {
            double x[DEPTH], none[UNITS] = {0};
            for (int i = 0; i < DEPTH; i++)
                x[i] = input_at(b, t, i);
            const bool runs = !o->sequence_length.op || t < lengths[b];
            if (runs) k->plain(w, x, c, h);
            const int at = o->time_major ? t * BATCH + b : b * TIME + t;
            expect_near(&got[0][at * size], runs ? h : none, size);
        }
        if (k->state_count == 2) expect_near(&got[1][b * UNITS], c, UNITS);
        expect_near(&got[k->state_count][b * size], h, size);
    }
}

static void check_values(const cell_case *k, bool with_lengths, bool time_major, double first)
{
    braid_graph *g = braid_graph_new();
    braid_graph_set_seed(g, 7);
    braid_rnn_cell *cell = k->make(g);
    braid_rnn_options o = {.time_major = time_major};
    if (with_lengths) o.sequence_length = braid_const_int32s(g, "lengths", lengths, BATCH);
    int count;
    const int64_t *sizes = braid_rnn_cell_state_sizes(cell, &count);
    braid_out initial[2], outs[3];
    for (int i = 0; i < count; i++)
        initial[i] = braid_full(g, NULL, BRAID_DOUBLE, BRAID_SHAPE(BATCH, sizes[i]), first);
    if (first != 0) o.initial_state = initial;
    outs[0] = braid_dynamic_rnn(cell, sequence(g, time_major), &o, outs + 1);
    braid_session *s = start(g);
    expect_plain(k, s, g, outs, &o, first);
    finish(s, g);
}

static void cells_compute_their_equations(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        check_values(&cases[i], false, false, 0);
        check_values(&cases[i], true, false, 0.1);
        check_values(&cases[i], true, true, 0);
    }
}

// ---- Variables ----

static void cells_of_one_kind_have_variables_of_their_own(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_rnn_cell_build(gru(g), BRAID_DOUBLE, DEPTH);
    braid_rnn_cell_build(gru(g), BRAID_DOUBLE, DEPTH);
    assert_int_equal(braid_graph_status(g, st), BRAID_OK);
    assert_non_null(braid_graph_find(g, "gru_cell_1/gates/kernel"));
    braid_graph_free(g);
}

static void kernels_begin_as_the_variable_scope_says(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_push_variable_scope(
        g, "model", &(braid_variable_scope_options){.initializer = braid_constant_initializer(0.5F)});
    braid_rnn_cell_build(full_lstm(g), BRAID_DOUBLE, DEPTH);
    braid_pop_variable_scope(g);
    braid_session *s = start(g);
    double values[VALUES_MAX];
    fetch(s, braid_graph_find_out(g, "model/lstm_cell/kernel"), values);
    assert_float_equal(values[0], 0.5, 0);
    fetch(s, braid_graph_find_out(g, "model/lstm_cell/w_i_diag"), values);
    assert_float_equal(values[0], 0.5, 0);
    fetch(s, braid_graph_find_out(g, "model/lstm_cell/bias"), values);
    assert_float_equal(values[0], 0, 0);
    finish(s, g);
}

// ---- Wrappers ----

// One step of a cell on zeros of state; returns the output.
static braid_out step_once(braid_graph *g, braid_rnn_cell *cell, braid_out input)
{
    braid_out zero[BRAID_RNN_STATES_MAX], next[BRAID_RNN_STATES_MAX];
    braid_rnn_cell_build(cell, BRAID_DOUBLE, DEPTH);
    braid_rnn_cell_zero_state(cell, braid_const_int32(g, NULL, BATCH), BRAID_DOUBLE, zero);
    return braid_rnn_cell_step(cell, input, zero, next);
}

static void a_residual_wrapper_adds_the_input(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_rnn_cell *cell = braid_gru_cell(g, DEPTH);
    const braid_out x = braid_full(g, NULL, BRAID_DOUBLE, BRAID_SHAPE(BATCH, DEPTH), 0.7);
    const braid_out without = step_once(g, cell, x), with = step_once(g, braid_residual_wrapper(cell), x);
    braid_session *s = start(g);
    double plain[VALUES_MAX], residual[VALUES_MAX];
    fetch(s, without, plain);
    fetch(s, with, residual);
    for (int i = 0; i < BATCH * DEPTH; i++)
        assert_float_equal(residual[i], plain[i] + 0.7, 1e-12);
    finish(s, g);
}

static void a_dropout_wrapper_drops_or_scales_outputs(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_graph_set_seed(g, 3);
    braid_rnn_cell *cell = braid_basic_rnn_cell(g, 20);
    const braid_out half = braid_const_number(g, NULL, BRAID_DOUBLE, 0.5);
    const braid_out x = braid_full(g, NULL, BRAID_DOUBLE, BRAID_SHAPE(BATCH, DEPTH), 0.7);
    const braid_out without = step_once(g, cell, x);
    const braid_out with = step_once(g, braid_dropout_wrapper(cell, BRAID_NONE, half), x);
    braid_session *s = start(g);
    double plain[VALUES_MAX], dropped[VALUES_MAX];
    fetch(s, without, plain);
    fetch(s, with, dropped);
    int kept = 0;
    for (int i = 0; i < BATCH * 20; i++) {
        if (dropped[i] == 0) continue;
        kept++;
        assert_float_equal(dropped[i], 2 * plain[i], 1e-12);
    }
    assert_in_range(kept, 1, BATCH * 20 - 1);
    finish(s, g);
}

// ---- Errors ----

static void wrong_sizes_fail_the_graph(void **state)
{
    (void)state;
    static const char *const messages[] = {
        "residual_wrapper: the input has 3 columns and the output 2",
        "gru_cell: the input 'wide' is not [batch, 3]", "gru_cell: the state 'wide' is not [batch, 2]",
        "gru_cell: a step needs the variables", "rnn: sequence_length 'scalar' is not a vector"};
    for (size_t i = 0; i < BD_COUNTOF(messages); i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        braid_rnn_cell *cell = gru(g);
        const braid_out x = braid_placeholder(g, "x", BRAID_DOUBLE, BRAID_SHAPE(-1, DEPTH));
        const braid_out wide = braid_placeholder(g, "wide", BRAID_DOUBLE, BRAID_SHAPE(-1, 9));
        const braid_out scalar = braid_const_int32(g, "scalar", 1);
        const braid_rnn_options o = {.sequence_length = scalar};
        braid_out next, zero = braid_placeholder(g, "zero", BRAID_DOUBLE, BRAID_SHAPE(-1, UNITS));
        if (i != 3) braid_rnn_cell_build(i == 0 ? braid_residual_wrapper(cell) : cell, BRAID_DOUBLE, DEPTH);
        switch (i) {
        case 1: braid_rnn_cell_step(cell, wide, &zero, &next); break;
        case 2: braid_rnn_cell_step(cell, x, &wide, &next); break;
        case 3: braid_rnn_cell_step(cell, x, &zero, &next); break;
        case 4: braid_dynamic_rnn(cell, sequence(g, false), &o, NULL); break;
        default: break;
        }
        braid_graph_status(g, st);
        assert_non_null(strstr(braid_status_message(st), messages[i]));
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_compute_their_equations),
        cmocka_unit_test(cells_of_one_kind_have_variables_of_their_own),
        cmocka_unit_test(kernels_begin_as_the_variable_scope_says),
        cmocka_unit_test(a_residual_wrapper_adds_the_input),
        cmocka_unit_test(a_dropout_wrapper_drops_or_scales_outputs),
        cmocka_unit_test(wrong_sizes_fail_the_graph),
    };
    return BD_RUN_TESTS(tests);
}
