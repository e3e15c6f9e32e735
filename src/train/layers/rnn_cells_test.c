// Recurrent cells: their values against a computation in plain C, their variables, wrappers and errors.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
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

static void fetch(braid_session *s, braid_out out, double *values)
{
    braid_tensor *got = evaluate_tensor(s, out);
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
    return braid_basic_rnn_cell(g, UNITS, NULL);
}
static braid_rnn_cell *gru(braid_graph *g)
{
    return braid_gru_cell(g, UNITS, NULL);
}
static braid_rnn_cell *basic_lstm(braid_graph *g)
{
    return braid_basic_lstm_cell(g, UNITS, 1, NULL);
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
    const braid_rnn_state *states = braid_rnn_cell_states(cell, &count);
    braid_out initial[2], outs[3];
    for (int i = 0; i < count; i++)
        initial[i] = braid_full(g, NULL, BRAID_DOUBLE, BRAID_SHAPE(BATCH, states[i].size), first);
    if (first != 0) o.initial_state = initial;
    outs[0] = braid_dynamic_rnn(cell, sequence(g, time_major), &o, outs + 1);
    braid_session *s = evaluate_open(g);
    expect_plain(k, s, g, outs, &o, first);
    evaluate_close(s, g);
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
    braid_session *s = evaluate_open(g);
    double values[VALUES_MAX];
    fetch(s, braid_graph_find_out(g, "model/lstm_cell/kernel"), values);
    assert_float_equal(values[0], 0.5, 0);
    fetch(s, braid_graph_find_out(g, "model/lstm_cell/w_i_diag"), values);
    assert_float_equal(values[0], 0.5, 0);
    fetch(s, braid_graph_find_out(g, "model/lstm_cell/bias"), values);
    assert_float_equal(values[0], 0, 0);
    evaluate_close(s, g);
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
    braid_rnn_cell *cell = braid_gru_cell(g, DEPTH, NULL);
    const braid_out x = braid_full(g, NULL, BRAID_DOUBLE, BRAID_SHAPE(BATCH, DEPTH), 0.7);
    const braid_out without = step_once(g, cell, x), with = step_once(g, braid_residual_wrapper(cell), x);
    braid_session *s = evaluate_open(g);
    double plain[VALUES_MAX], residual[VALUES_MAX];
    fetch(s, without, plain);
    fetch(s, with, residual);
    for (int i = 0; i < BATCH * DEPTH; i++)
        assert_float_equal(residual[i], plain[i] + 0.7, 1e-12);
    evaluate_close(s, g);
}

static void a_dropout_wrapper_drops_or_scales_outputs(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_graph_set_seed(g, 3);
    braid_rnn_cell *cell = braid_basic_rnn_cell(g, 20, NULL);
    const braid_out half = braid_const_number(g, NULL, BRAID_DOUBLE, 0.5);
    const braid_out x = braid_full(g, NULL, BRAID_DOUBLE, BRAID_SHAPE(BATCH, DEPTH), 0.7);
    const braid_out without = step_once(g, cell, x);
    const braid_out with =
        step_once(g, braid_dropout_wrapper(cell, &(braid_dropout_options){.output_keep_prob = half}), x);
    braid_session *s = evaluate_open(g);
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
    evaluate_close(s, g);
}

static void dropout_of_states_leaves_the_memory(void **state)
{
    (void)state;
    enum {
        WIDE = 20
    };
    braid_graph *g = braid_graph_new();
    braid_graph_set_seed(g, 3);
    const braid_out half = braid_const_number(g, NULL, BRAID_DOUBLE, 0.5);
    const braid_out x = braid_full(g, NULL, BRAID_DOUBLE, BRAID_SHAPE(BATCH, DEPTH), 0.7);
    braid_rnn_cell *cell = braid_basic_lstm_cell(g, WIDE, 1, NULL);
    braid_out zero[2], plain[2], dropped[2];
    braid_rnn_cell *wrapped = braid_dropout_wrapper(cell, &(braid_dropout_options){.state_keep_prob = half});
    braid_rnn_cell_build(wrapped, BRAID_DOUBLE, DEPTH);
    braid_rnn_cell_zero_state(cell, braid_const_int32(g, NULL, BATCH), BRAID_DOUBLE, zero);
    braid_rnn_cell_step(cell, x, zero, plain);
    braid_rnn_cell_step(wrapped, x, zero, dropped);
    braid_session *s = evaluate_open(g);
    double want[VALUES_MAX], got[VALUES_MAX];
    fetch(s, plain[0], want);
    fetch(s, dropped[0], got);
    expect_near(got, want, BATCH * WIDE);
    fetch(s, plain[1], want);
    fetch(s, dropped[1], got);
    int kept = 0;
    for (int i = 0; i < BATCH * WIDE; i++) {
        kept += got[i] != 0;
        if (got[i] != 0) assert_float_equal(got[i], 2 * want[i], 1e-12);
    }
    assert_in_range(kept, 1, BATCH * WIDE - 1);
    evaluate_close(s, g);
}

// The equal inputs of all steps and rows are dropped in the same columns.
static void variational_dropout_drops_the_same_columns_in_each_step(void **state)
{
    (void)state;
    enum {
        WIDE = 8
    };
    braid_graph *g = braid_graph_new();
    braid_graph_set_seed(g, 3);
    const braid_dropout_options o = {.output_keep_prob = braid_const_number(g, NULL, BRAID_DOUBLE, 0.5),
                                     .variational = true};
    braid_rnn_cell *cell = braid_dropout_wrapper(braid_gru_cell(g, WIDE, NULL), &o);
    const braid_out out = braid_dynamic_rnn(cell, sequence(g, false), NULL, NULL);
    braid_session *s = evaluate_open(g);
    double got[VALUES_MAX];
    fetch(s, out, got);
    int kept = 0;
    for (int k = 0; k < WIDE; k++) {
        kept += got[k] != 0;
        for (int i = 0; i < BATCH * TIME; i++)
            assert_int_equal(got[i * WIDE + k] != 0, got[k] != 0);
    }
    assert_in_range(kept, 1, WIDE - 1);
    evaluate_close(s, g);
}

static void a_device_wrapper_places_variables_and_steps(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    char device[] = "/device:CPU:1";
    braid_rnn_cell *cell = braid_device_wrapper(gru(g), device);
    device[0] = '\0'; // the cell has a copy
    const braid_out x = braid_zeros(g, BRAID_DOUBLE, BRAID_SHAPE(BATCH, DEPTH)), out = step_once(g, cell, x);
    assert_string_equal(braid_op_requested_device(out.op), "/device:CPU:1");
    assert_string_equal(braid_op_requested_device(braid_graph_find(g, "gru_cell/gates/kernel")),
                        "/device:CPU:1");
    assert_string_equal(braid_op_requested_device(x.op), "");
    braid_graph_free(g);
}

// ---- Options ----

static void cells_take_activation_initializers_and_name(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_rnn_cell_options o = {.name = "shared",
                                      .activation = braid_relu,
                                      .kernel_initializer = braid_constant_initializer(0.5F),
                                      .bias_initializer = braid_constant_initializer(0.25F)};
    braid_rnn_cell *cells[2] = {braid_basic_rnn_cell(g, UNITS, &o), braid_basic_rnn_cell(g, UNITS, &o)};
    braid_push_variable_scope(g, "model", &(braid_variable_scope_options){.reuse = BRAID_AUTO_REUSE});
    const braid_out x = braid_full(g, NULL, BRAID_DOUBLE, BRAID_SHAPE(BATCH, DEPTH), 2);
    const braid_out first = step_once(g, cells[0], x), second = step_once(g, cells[1], x);
    braid_pop_variable_scope(g);
    int variables;
    (void)braid_collection(g, BRAID_TRAINABLE_VARIABLES, &variables);
    assert_int_equal(variables, 2);
    assert_non_null(braid_graph_find(g, "model/shared/kernel"));
    braid_session *s = evaluate_open(g);
    double got[2][VALUES_MAX];
    fetch(s, first, got[0]);
    fetch(s, second, got[1]);
    assert_float_equal(got[0][0], 2 * 0.5 * DEPTH + 0.25, 1e-12);
    expect_near(got[1], got[0], BATCH * UNITS);
    evaluate_close(s, g);
}

// ---- Both directions ----

// Compares the outputs of a backward cell, at [batch][time], and its last states with the plain computation.
static void expect_backward(braid_session *s, braid_graph *g, const double *(*at)(const double *, int, int),
                            braid_out out, braid_out last)
{
    double w[2][VALUES_MAX], got[VALUES_MAX], state[VALUES_MAX];
    fetch(s, braid_graph_find_out(g, "bidirectional_rnn/bw/basic_rnn_cell/kernel"), w[0]);
    fetch(s, braid_graph_find_out(g, "bidirectional_rnn/bw/basic_rnn_cell/bias"), w[1]);
    fetch(s, out, got);
    fetch(s, last, state);
    for (int b = 0; b < BATCH; b++) {
        double h[UNITS] = {0}, x[DEPTH];
        for (int t = lengths[b] - 1; t >= 0; t--) {
            for (int i = 0; i < DEPTH; i++)
                x[i] = input_at(b, t, i);
            plain_basic(w, x, NULL, h);
            expect_near(at(got, b, t), h, UNITS);
        }
        expect_near(&state[b * UNITS], h, UNITS);
    }
}

static const double *row_of_loop(const double *got, int b, int t)
{
    return got + (ptrdiff_t)(b * TIME + t) * UNITS;
}

// The second half of [batch, time, 2 * units].
static const double *row_of_both(const double *got, int b, int t)
{
    return got + (ptrdiff_t)(b * TIME + t) * 2 * UNITS + UNITS;
}

static void a_backward_cell_sees_each_row_from_its_end(void **state)
{
    (void)state;
    for (int unrolled = 0; unrolled < 2; unrolled++) {
        braid_graph *g = braid_graph_new();
        const braid_rnn_options o = {.sequence_length = braid_const_int32s(g, "lengths", lengths, BATCH)};
        braid_rnn_cell *const cells[2] = {basic(g), basic(g)};
        const braid_out x = sequence(g, false);
        braid_out last[2], outs[TIME];
        const braid_bidirectional_states states = {.final = {&last[0], &last[1]}};
        if (unrolled) {
            braid_out parts[TIME];
            braid_op_desc *d = braid_op_begin(g, "Unpack", NULL);
            braid_op_input(d, x);
            braid_op_attr_int(d, "num", TIME);
            braid_op_attr_int(d, "axis", 1);
            braid_op *op = braid_op_end(d);
            for (int t = 0; t < TIME; t++)
                parts[t] = braid_output(op, t);
            braid_static_bidirectional_rnn(cells, parts, TIME, &o, &states, outs);
            d = braid_op_begin(g, "Pack", NULL);
            braid_op_input_list(d, outs, TIME);
            braid_op_attr_int(d, "axis", 1);
            outs[1] = braid_op_end_out(d);
        } else {
            braid_bidirectional_dynamic_rnn(cells, x, &o, &states, outs);
        }
        braid_out grad;
        const braid_out loss = braid_reduce_sum(g, outs[1]);
        braid_gradients(g, &loss, 1, &x, 1, NULL, &grad);
        braid_session *s = evaluate_open(g);
        expect_backward(s, g, unrolled ? row_of_both : row_of_loop, outs[1], last[1]);
        double slopes[VALUES_MAX];
        fetch(s, grad, slopes);
        assert_true(slopes[0] != 0);
        for (int i = 2 * DEPTH; i < TIME * DEPTH; i++) // after the end of the second row
            assert_float_equal(slopes[TIME * DEPTH + i], 0, 0);
        evaluate_close(s, g);
    }
}

// ---- Errors ----

static void wrong_sizes_fail_the_graph(void **state)
{
    (void)state;
    static const char *const messages[] = {"residual_wrapper: the input has 3 columns and the output 2",
                                           "gru_cell: the input 'wide' is not double [batch, 3]",
                                           "gru_cell: the state 'wide' is not double [batch, 2]",
                                           "gru_cell: a step needs the variables",
                                           "rnn: sequence_length 'scalar' is not a vector"};
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
        case 5:
            braid_dynamic_rnn(cell, sequence(g, false), &(braid_rnn_options){.initial_state = &wide}, NULL);
            break;
        case 6:
            braid_bidirectional_dynamic_rnn((braid_rnn_cell *const[]){cell, NULL}, x, NULL, NULL,
                                            (braid_out[2]){{NULL, 0}});
            break;
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
        cmocka_unit_test(dropout_of_states_leaves_the_memory),
        cmocka_unit_test(variational_dropout_drops_the_same_columns_in_each_step),
        cmocka_unit_test(a_device_wrapper_places_variables_and_steps),
        cmocka_unit_test(cells_take_activation_initializers_and_name),
        cmocka_unit_test(a_backward_cell_sees_each_row_from_its_end),
        cmocka_unit_test(wrong_sizes_fail_the_graph),
    };
    return BD_RUN_TESTS(tests);
}
