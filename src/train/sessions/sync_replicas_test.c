// Synchronous training in one process: one replica that computes several gradients for an update.
// labels: concurrent
#include "base/testing/test.h"

#include "train/sessions/sync_replicas.h"
#include "train/testing/problem.h"
#include <braid/braid.h>
#include <math.h>
#include <string.h>

enum {
    ROWS = 5,
    WIDTH = 2,
    IDS = 4,
    BATCHES = 4
};

// A table that starts at zero, of which the rows that `ids` name are to become `wanted`.
typedef struct table {
    braid_graph *g;
    braid_out ids, wanted, step, loss;
    braid_variable v;
} table;

static table make_table(bool is_resource)
{
    table t = {.g = braid_graph_new()};
    const braid_out zeros = braid_zeros(t.g, BRAID_FLOAT, BRAID_SHAPE(ROWS, WIDTH));
    t.v = is_resource ? braid_variable_resource(t.g, "table", zeros, true)
                      : braid_variable_new(t.g, "table", zeros, true);
    t.step = braid_global_step(t.g);
    t.ids = braid_placeholder(t.g, "ids", BRAID_INT32, BRAID_SHAPE(IDS));
    t.wanted = braid_placeholder(t.g, "wanted", BRAID_FLOAT, BRAID_SHAPE(IDS, WIDTH));
    const braid_out rows = braid_embedding_lookup(t.g, t.v.ref, t.ids);
    t.loss = braid_reduce_sum(t.g, braid_square(t.g, braid_sub(t.g, rows, t.wanted)));
    return t;
}

// Two batches to an update, of the same rows each.
static const int32_t ids_of[BATCHES][IDS] = {{3, 1, 3, 0}, {0, 3, 1, 1}, {4, 2, 2, 4}, {2, 4, 4, 2}};

static void train(table *t, braid_sync_replicas *sync, braid_op *step, float result[ROWS * WIDTH])
{
    BD_STATUS(st);
    braid_monitored_session *s = braid_monitored_session_open(
        t->g, &(braid_session_config){.is_chief = true,
                                      .hooks = BRAID_HOOKS(braid_sync_replicas_hook(sync, true, 1))});
    for (int i = 0; i < BATCHES; i++) {
        float wanted[IDS * WIDTH];
        for (int k = 0; k < IDS * WIDTH; k++)
            wanted[k] = (float)(i + k);
        braid_tensor *ids = braid_tensor_from(BRAID_INT32, BRAID_SHAPE(IDS), ids_of[i], NULL);
        braid_tensor *values = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(IDS, WIDTH), wanted, NULL);
        braid_run(s, BRAID_FEED({t->ids, ids}, {t->wanted, values}), NULL, step);
        braid_tensor_free(ids);
        braid_tensor_free(values);
    }
    braid_tensor *value = NULL;
    braid_evaluate(s, NULL, BRAID_FETCH({t->v.read, &value}));
    braid_monitored_session_status(s, st);
    assert_ok(st);
    memcpy(result, braid_tensor_data(value), ROWS * WIDTH * sizeof *result);
    braid_tensor_free(value);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(t->g);
}

static bool has_op(const braid_graph *g, const char *op)
{
    for (int i = 0; i < braid_graph_num_ops(g); i++)
        if (strcmp(braid_op_type(braid_graph_op(g, i)), op) == 0) return true;
    return false;
}

static void train_by(bool is_resource, bool by_rows, bool by_adam, float result[ROWS * WIDTH])
{
    BD_STATUS(st);
    table t = make_table(is_resource);
    braid_optimizer *opt = by_adam ? braid_adam(t.g, 0.1f) : braid_adagrad(t.g, 0.1f);
    braid_sync_replicas *sync = braid_sync_replicas_new(
        opt, &(braid_sync_replicas_options){.replicas_to_aggregate = 2, .total_num_replicas = 1});
    int count;
    braid_grad_and_var pair = *braid_compute_gradients(opt, t.loss, NULL, 0, &count);
    assert_non_null(pair.indices.op);
    if (!by_rows) {
        const braid_gradient rows = {pair.grad, pair.indices, pair.dense_shape};
        pair = (braid_grad_and_var){.grad = braid_gradient_to_dense(t.g, &rows), .var = pair.var};
    }
    braid_op *step = braid_sync_replicas_apply(sync, &pair, 1, t.step);
    braid_graph_status(t.g, st);
    assert_ok(st);
    assert_int_equal(has_op(t.g, "SparseConditionalAccumulator"), by_rows);
    assert_int_equal(has_op(t.g, "ConditionalAccumulator"), !by_rows);
    train(&t, sync, step, result);
}

static void rows_are_aggregated_as_the_whole(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        float rows[ROWS * WIDTH], whole[ROWS * WIDTH];
        train_by(i & 1, true, i & 2, rows);
        train_by(i & 1, false, i & 2, whole);
        for (int k = 0; k < ROWS * WIDTH; k++)
            assert_float_equal(rows[k], whole[k], 1e-6f);
        assert_true(rows[0] != 0 && rows[ROWS * WIDTH - 1] != 0);
    }
}

// ---- Steps ----

// Three gradients for each update: scale (w - 3), whose mean is that of the scales.
static void updates_are_means(void **state)
{
    (void)state;
    BD_STATUS(st);
    problem p = problem_make();
    braid_optimizer *opt = braid_gradient_descent(p.graph, 0.5f);
    braid_sync_replicas *sync = braid_sync_replicas_new(
        opt, &(braid_sync_replicas_options){.replicas_to_aggregate = 3, .total_num_replicas = 1});
    braid_op *step = braid_sync_replicas_minimize(sync, p.loss, p.step);
    braid_monitored_session *s = braid_monitored_session_open(
        p.graph, &(braid_session_config){.is_chief = true,
                                         .hooks = BRAID_HOOKS(braid_sync_replicas_hook(sync, true, 2))});
    float w = 0.5f;
    for (int i = 0; i < 6; i++) {
        braid_tensor *scale = braid_tensor_float((float)(i + 1) / 8), *got = NULL;
        braid_run(s, BRAID_FEED({p.scale, scale}), NULL, step);
        braid_evaluate(s, NULL, BRAID_FETCH({p.w.read, &got}));
        braid_monitored_session_status(s, st);
        assert_ok(st);
        if (i % 3 == 2) w -= 0.5f * (float)i / 8 * (w - 3);
        assert_float_equal(*(const float *)braid_tensor_data(got), w, 1e-6f);
        braid_tensor_free(got);
        braid_tensor_free(scale);
    }
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(p.graph);
}

// ---- Averages and stale gradients ----

static float fetch_float(braid_monitored_session *s, braid_out out)
{
    braid_tensor *t = NULL;
    BD_STATUS(st);
    braid_evaluate(s, NULL, BRAID_FETCH({out, &t}));
    braid_monitored_session_status(s, st);
    assert_ok(st);
    const float value = *(const float *)braid_tensor_data(t);
    braid_tensor_free(t);
    return value;
}

// In deterministic mode a step ends after the averages of its update. One replica gives two gradients to an
// update; average = 0.75 average + 0.25 w.
static void averages_follow_updates(void **state)
{
    (void)state;
    problem p = problem_make();
    braid_optimizer *opt = braid_gradient_descent(p.graph, 0.5f);
    braid_moving_average *averages =
        braid_moving_average_new(p.graph, &(braid_moving_average_options){.decay = 0.75f});
    braid_sync_replicas *sync =
        braid_sync_replicas_new(opt, &(braid_sync_replicas_options){.replicas_to_aggregate = 2,
                                                                    .total_num_replicas = 1,
                                                                    .deterministic = true,
                                                                    .variable_averages = averages,
                                                                    .variables_to_average = &p.w.ref,
                                                                    .variables_to_average_count = 1});
    braid_op *step = braid_sync_replicas_minimize(sync, p.loss, p.step);
    braid_monitored_session *s = braid_monitored_session_open(
        p.graph, &(braid_session_config){.is_chief = true,
                                         .hooks = BRAID_HOOKS(braid_sync_replicas_hook(sync, true, -1))});
    const braid_out average_of_w = braid_moving_average_of(averages, p.w.ref).read;
    float w = 0.5f, average = w;
    for (int i = 0; i < 6; i++) {
        braid_tensor *scale = braid_tensor_float(0.5f);
        braid_run(s, BRAID_FEED({p.scale, scale}), NULL, step);
        braid_tensor_free(scale);
        if (i % 2 == 0) continue;
        w -= 0.25f * (w - 3);
        average -= 0.25f * (average - w);
        assert_float_equal(fetch_float(s, p.w.read), w, 1e-6f);
        assert_float_equal(fetch_float(s, average_of_w), average, 1e-6f);
    }
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(p.graph);
}

// A replica is put back to a step that is over, with a token that lets it go on from there.
static braid_op *put_back(braid_graph *g, const braid_sync_replicas *sync)
{
    const braid_out zero = braid_cast(g, braid_const_int32(g, NULL, 0), BRAID_INT64);
    braid_op_desc *d = braid_op_begin(g, "QueueEnqueueV2", NULL);
    braid_op_input(d, sync->queues.items[0]);
    braid_op_input_list(d, &zero, 1);
    braid_op *both[] = {braid_op_end(d), braid_assign(g, sync->local_step.ref, zero).op};
    return braid_group(g, "put_back", both, 2);
}

static void stale_gradients_are_counted(void **state)
{
    (void)state;
    problem p = problem_make();
    braid_sync_replicas *sync = braid_sync_replicas_new(
        braid_gradient_descent(p.graph, 0.5f), &(braid_sync_replicas_options){.replicas_to_aggregate = 1});
    braid_op *step = braid_sync_replicas_minimize(sync, p.loss, p.step), *back = put_back(p.graph, sync);
    const braid_out num_stale = braid_sync_replicas_num_stale(sync);
    braid_monitored_session *s = braid_monitored_session_open(
        p.graph, &(braid_session_config){.is_chief = true,
                                         .hooks = BRAID_HOOKS(braid_sync_replicas_hook(sync, true, 0))});
    braid_tensor *scale = braid_tensor_float(0.5f), *number = NULL;
    assert_int_equal(braid_run(s, BRAID_FEED({p.scale, scale}), NULL, step), BRAID_OK);
    assert_int_equal(braid_run(s, NULL, NULL, back), BRAID_OK);
    assert_int_equal(braid_run(s, BRAID_FEED({p.scale, scale}), NULL, step), BRAID_OK);
    assert_float_equal(fetch_float(s, p.w.read), 0.5f + 0.25f * 2.5f, 1e-6f); // of one update
    assert_int_equal(braid_evaluate(s, NULL, BRAID_FETCH({num_stale, &number})), BRAID_OK);
    assert_int_equal(*(const int32_t *)braid_tensor_data(number), 1);
    braid_tensor_free(number);
    braid_tensor_free(scale);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(p.graph);
}

// ---- What goes wrong ----

static braid_op *checked(braid_optimizer *opt, braid_out grad, braid_out var)
{
    braid_op_desc *d = braid_op_begin(braid_optimizer_graph(opt), "CheckNumerics", NULL);
    braid_op_input(d, grad);
    braid_op_attr_string(d, "message", "the gradient is no number");
    return braid_assign(braid_optimizer_graph(opt), var, braid_op_end_out(d)).op;
}

static void an_update_that_fails_ends_training(void **state)
{
    (void)state;
    static const braid_optimizer_type type = {.name = "Checked", .apply = checked};
    problem p = problem_make();
    braid_sync_replicas *sync =
        braid_sync_replicas_new(braid_optimizer_new(p.graph, &type, "", 1),
                                &(braid_sync_replicas_options){.replicas_to_aggregate = 1});
    braid_op *step = braid_sync_replicas_minimize(sync, p.loss, p.step);
    braid_monitored_session *s = braid_monitored_session_open(
        p.graph, &(braid_session_config){.is_chief = true,
                                         .hooks = BRAID_HOOKS(braid_sync_replicas_hook(sync, true, 0))});
    braid_tensor *scale = braid_tensor_float(NAN);
    assert_int_equal(braid_run(s, BRAID_FEED({p.scale, scale}), NULL, step), BRAID_INVALID_ARGUMENT);
    assert_true(braid_should_stop(s));
    assert_int_equal(braid_monitored_session_close(s), BRAID_INVALID_ARGUMENT);
    braid_tensor_free(scale);
    braid_graph_free(p.graph);
}

static void expect_mistake(problem *p, braid_code code, const char *words)
{
    BD_STATUS(st);
    braid_graph_status(p->graph, st);
    assert_error(st, code, words);
    braid_graph_free(p->graph);
}

static void open_and_close(problem *p, braid_sync_replicas *sync, int num_tokens)
{
    braid_monitored_session_close(braid_monitored_session_open(
        p->graph,
        &(braid_session_config){.hooks = BRAID_HOOKS(braid_sync_replicas_hook(sync, false, num_tokens))}));
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const braid_sync_replicas_options two = {.replicas_to_aggregate = 2};
    problem p = problem_make();
    braid_sync_replicas *sync = braid_sync_replicas_new(braid_adam(p.graph, 0.1f), &two);
    assert_null(braid_sync_replicas_minimize(sync, p.loss, BRAID_NONE));
    expect_mistake(&p, BRAID_INVALID_ARGUMENT, "Global step is required to check staleness");

    p = problem_make();
    sync = braid_sync_replicas_new(braid_adam(p.graph, 0.1f), &two);
    assert_non_null(braid_sync_replicas_minimize(sync, p.loss, p.step));
    assert_null(braid_sync_replicas_minimize(sync, p.loss, p.step));
    expect_mistake(&p, BRAID_INVALID_ARGUMENT, "are there already");

    p = problem_make();
    sync = braid_sync_replicas_new(braid_adam(p.graph, 0.1f), &two);
    braid_sync_replicas_num_stale(sync);
    expect_mistake(&p, BRAID_FAILED_PRECONDITION, "once the training step is built");

    p = problem_make();
    sync = braid_sync_replicas_new(braid_adam(p.graph, 0.1f), &two);
    open_and_close(&p, sync, -1);
    expect_mistake(&p, BRAID_FAILED_PRECONDITION, "has no updates");
}

static void wrong_numbers_are_errors(void **state)
{
    (void)state;
    static const braid_out no_variable;
    static const struct {
        braid_sync_replicas_options options;
        int num_tokens;
        const char *words;
    } cases[] = {
        {{.replicas_to_aggregate = 0}, -1, "both must be positive"},
        {{.replicas_to_aggregate = 3, .total_num_replicas = 1}, 1, "1 (given) vs 2 (needed)"},
        {{.replicas_to_aggregate = 1}, -2, "-2 (given)"},
        {{.replicas_to_aggregate = 2, .total_num_replicas = 3, .deterministic = true},
         -1,
         "multiple of total_num_replicas, without backup"},
        {{.replicas_to_aggregate = 3, .total_num_replicas = 2, .deterministic = true}, -1, "multiple of"},
        {{.replicas_to_aggregate = 2, .deterministic = true, .replica = 2}, -1, "replica 2 is not one of 2"},
        {{.replicas_to_aggregate = 2, .deterministic = true, .replica = -1}, -1, "replica -1"},
        {{.replicas_to_aggregate = 2, .deterministic = true}, 2, "begins with 0 tokens, not 2"},
        {{.replicas_to_aggregate = 2, .variables_to_average = &no_variable}, -1, "needs variable_averages"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        problem p = problem_make();
        braid_sync_replicas *sync = braid_sync_replicas_new(braid_adam(p.graph, 0.1f), &cases[i].options);
        braid_sync_replicas_minimize(sync, p.loss, p.step);
        open_and_close(&p, sync, cases[i].num_tokens);
        expect_mistake(&p, BRAID_INVALID_ARGUMENT, cases[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_aggregated_as_the_whole),
        cmocka_unit_test(updates_are_means),
        cmocka_unit_test(averages_follow_updates),
        cmocka_unit_test(stale_gradients_are_counted),
        cmocka_unit_test(an_update_that_fails_ends_training),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(wrong_numbers_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
