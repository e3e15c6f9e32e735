// Recurrent networks: loops against unrolled steps, with their gradients; variables; errors.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include <braid/rnn.h>
#include <braid/session.h>
#include <braid/variables.h>
#include <math.h>

enum {
    BATCH = 3,
    TIME = 4,
    DEPTH = 2,
    UNITS = 3
};

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

static braid_rnn_cell *full_lstm(braid_graph *g)
{
    braid_lstm_options o = braid_lstm_defaults();
    o.use_peepholes = true;
    o.cell_clip = 0.5f;
    o.num_proj = 2;
    o.proj_clip = 0.3f;
    return braid_lstm_cell(g, UNITS, &o);
}

static braid_rnn_cell *layers(braid_graph *g)
{
    braid_rnn_cell *cells[2] = {braid_basic_lstm_cell(g, DEPTH, 1, NULL), braid_gru_cell(g, DEPTH, NULL)};
    cells[1] = braid_residual_wrapper(cells[1]);
    return braid_multi_rnn_cell(g, cells, 2);
}

static braid_rnn_cell *(*const all_cells[])(braid_graph *g) = {basic, gru, basic_lstm, full_lstm, layers};

// Fails unless the fetched pairs are equal to rounding; the inputs are those of [BATCH, TIME, DEPTH].
static void expect_equal(braid_session *s, braid_out x, const braid_out *a, const braid_out *b, int count)
{
    BD_STATUS(st);
    double values[BATCH * TIME * DEPTH];
    for (size_t i = 0; i < BD_COUNTOF(values); i++)
        values[i] = sin(3.0 * (double)i + 1);
    braid_tensor *fed = braid_tensor_from(BRAID_DOUBLE, BRAID_SHAPE(BATCH, TIME, DEPTH), values, NULL);
    for (int i = 0; i < count; i++) {
        braid_tensor *got[2] = {NULL, NULL};
        const braid_feed feed = {x, fed};
        const braid_fetch fetches[2] = {{a[i], &got[0]}, {b[i], &got[1]}};
        braid_session_run(
            s, &(braid_run_args){.feeds = &feed, .feed_count = 1, .fetches = fetches, .fetch_count = 2}, st);
        assert_ok(st);
        assert_true(braid_shape_equal(braid_tensor_shape(got[0]), braid_tensor_shape(got[1])));
        const double *left = braid_tensor_data(got[0]), *right = braid_tensor_data(got[1]);
        double size = 0;
        for (int64_t k = 0; k < braid_tensor_num_elements(got[0]); k++) {
            assert_float_equal(left[k], right[k], 1e-12);
            size += fabs(left[k]);
        }
        assert_true(size > 0);
        braid_tensor_free(got[0]);
        braid_tensor_free(got[1]);
    }
    braid_tensor_free(fed);
}

// The slices x[:, t].
static void unstack_time(braid_graph *g, braid_out x, braid_out *parts)
{
    braid_op_desc *d = braid_op_begin(g, "Unpack", NULL);
    braid_op_input(d, x);
    braid_op_attr_int(d, "num", TIME);
    braid_op_attr_int(d, "axis", 1);
    braid_op *op = braid_op_end(d);
    for (int i = 0; i < TIME; i++)
        parts[i] = braid_output(op, i);
}

static braid_out stack_time(braid_graph *g, const braid_out *parts)
{
    braid_op_desc *d = braid_op_begin(g, "Pack", NULL);
    braid_op_input_list(d, parts, TIME);
    braid_op_attr_int(d, "axis", 1);
    return braid_op_end_out(d);
}

enum {
    COMPARED_MAX = 32
};

// Outputs, states and gradients of a loss of both, by the inputs and by each variable.
static int everything(braid_graph *g, braid_out x, braid_out outputs, const braid_out *states, int count,
                      braid_out *all)
{
    int vars;
    const braid_out *trainable = braid_collection(g, BRAID_TRAINABLE_VARIABLES, &vars);
    braid_out xs[COMPARED_MAX] = {x}, loss = braid_reduce_sum(g, braid_square(g, outputs));
    for (int i = 0; i < vars; i++)
        xs[i + 1] = braid_variable_find(trainable[i]).read;
    all[0] = outputs;
    for (int i = 0; i < count; i++) {
        all[i + 1] = states[i];
        loss = braid_add(g, loss, braid_reduce_sum(g, braid_square(g, states[i])));
    }
    braid_gradients(g, &loss, 1, xs, vars + 1, NULL, all + count + 1);
    return count + vars + 2;
}

static void check_cell(braid_rnn_cell *(*make)(braid_graph *g), bool with_lengths, int64_t known_batch)
{
    braid_graph *g = braid_graph_new();
    braid_graph_set_seed(g, 7);
    braid_rnn_cell *cell = make(g);
    braid_out x = braid_placeholder(g, "x", BRAID_DOUBLE, BRAID_SHAPE(known_batch, -1, DEPTH));
    const int32_t ends[BATCH] = {2, 0, 3};
    braid_rnn_options o = {.sequence_length = BRAID_NONE};
    if (with_lengths) o.sequence_length = braid_const_int32s(g, NULL, ends, BATCH);
    braid_out states[2][BRAID_RNN_STATES_MAX], outputs[TIME], inputs[TIME], all[2][COMPARED_MAX];
    int count;
    (void)braid_rnn_cell_states(cell, &count);
    braid_out looped = braid_dynamic_rnn(cell, x, &o, states[0]);
    unstack_time(g, braid_reshape(g, x, BRAID_SHAPE(-1, TIME, DEPTH)), inputs);
    braid_static_rnn(cell, inputs, TIME, &o, outputs, states[1]);
    braid_shape shape = braid_out_shape(looped);
    assert_true(braid_shape_equal(shape, BRAID_SHAPE(known_batch, -1, braid_rnn_cell_output_size(cell))));
    const int compared = everything(g, x, looped, states[0], count, all[0]);
    assert_int_equal(everything(g, x, stack_time(g, outputs), states[1], count, all[1]), compared);
    braid_session *s = evaluate_open(g);
    expect_equal(s, x, all[0], all[1], compared);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void a_loop_computes_what_the_unrolled_steps_compute(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(all_cells); i++) {
        check_cell(all_cells[i], false, -1);
        check_cell(all_cells[i], true, -1);
        check_cell(all_cells[i], true, BATCH);
    }
}

static void variables_are_named_as_in_tensorflow(void **state)
{
    (void)state;
    static const char *const names[] = {"rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel",
                                        "rnn/multi_rnn_cell/cell_0/basic_lstm_cell/bias",
                                        "rnn/multi_rnn_cell/cell_1/gru_cell/gates/kernel",
                                        "rnn/multi_rnn_cell/cell_1/gru_cell/gates/bias",
                                        "rnn/multi_rnn_cell/cell_1/gru_cell/candidate/kernel",
                                        "rnn/multi_rnn_cell/cell_1/gru_cell/candidate/bias"};
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, -1, DEPTH));
    braid_dynamic_rnn(layers(g), x, NULL, NULL);
    int count;
    const braid_out *vars = braid_collection(g, BRAID_TRAINABLE_VARIABLES, &count);
    assert_int_equal(count, BD_COUNTOF(names));
    for (int i = 0; i < count; i++)
        assert_string_equal(braid_op_name(vars[i].op), names[i]);
    braid_graph_free(g);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, TIME, -1));
    assert_null(braid_dynamic_rnn(basic(g), x, NULL, NULL).op);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT,
                 "rnn: the input 'x' must have 3 dimensions, the last of which is known");
    braid_graph_free(g);
    g = braid_graph_new();
    assert_null(braid_gru_cell(g, 0, NULL));
    assert_null(braid_dynamic_rnn(braid_residual_wrapper(NULL), BRAID_NONE, NULL, NULL).op);
    assert_int_equal(braid_graph_status(g, NULL), BRAID_INVALID_ARGUMENT);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_computes_what_the_unrolled_steps_compute),
        cmocka_unit_test(variables_are_named_as_in_tensorflow),
        cmocka_unit_test(wrong_inputs_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
