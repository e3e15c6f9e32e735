// Adam by rows: lazily, rows without a gradient stay as they are, and so do their moments.
#include "base/testing/test.h"
#include "train/testing/evaluate.h"
#include <braid/braid.h>

enum {
    ROWS = 4,
    STEPS = 3
};

typedef struct table {
    braid_graph *g;
    braid_session *session;
    braid_variable rows;
    braid_op *even, *second; // steps by rows 0 and 2, and by row 1
} table;

static braid_op *step_by(const table *t, braid_optimizer *o, const int32_t *ids, int count)
{
    const braid_out rows =
        braid_embedding_lookup(t->g, t->rows.ref, braid_const_int32s(t->g, NULL, ids, count));
    return braid_minimize(o, braid_reduce_sum(t->g, braid_square(t->g, rows)), braid_global_step(t->g));
}

static table table_new(bool is_resource, bool is_lazy)
{
    table t = {.g = braid_graph_new()};
    const double start[ROWS] = {1, 2, 3, 4};
    const braid_out first = evaluate_const(t.g, BRAID_FLOAT, BRAID_SHAPE(ROWS, 1), start);
    t.rows = is_resource ? braid_variable_resource(t.g, "rows", first, true)
                         : braid_variable_new(t.g, "rows", first, true);
    braid_adam_options options = braid_adam_defaults();
    options.learning_rate = 0.1f;
    options.lazy = is_lazy;
    braid_optimizer *o = braid_adam_with(t.g, &options);
    t.even = step_by(&t, o, (int32_t[]){0, 2}, 2);
    t.second = step_by(&t, o, (int32_t[]){1}, 1);
    t.session = evaluate_open(t.g);
    for (int i = 0; i < STEPS; i++)
        evaluate_run(t.session, t.even);
    return t;
}

// With a gradient in each step, laziness makes no difference to a row.
static void rows_that_are_always_updated_take_the_steps_of_adam(void **state)
{
    (void)state;
    for (int is_resource = 0; is_resource < 2; is_resource++) {
        table lazy = table_new(is_resource, true), whole = table_new(is_resource, false);
        double want[ROWS];
        evaluate(whole.session, whole.rows.read, want, ROWS);
        assert_true(want[0] < 0.8 && want[2] < 2.8);
        expect_evaluates(lazy.session, lazy.rows.read, want, ROWS);
        evaluate_close(lazy.session, lazy.g);
        evaluate_close(whole.session, whole.g);
    }
}

static void rows_without_a_gradient_stay_only_if_updates_are_lazy(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool is_lazy = i % 2;
        table t = table_new(i / 2, is_lazy);
        double before[ROWS], after[ROWS];
        evaluate(t.session, t.rows.read, before, ROWS);
        evaluate_run(t.session, t.second);
        evaluate(t.session, t.rows.read, after, ROWS);
        assert_true(after[1] < before[1] - 0.05);
        assert_int_equal(after[0] == before[0], is_lazy); // else by the moments of earlier steps
        assert_true(after[3] == before[3]);
        evaluate_close(t.session, t.g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_always_updated_take_the_steps_of_adam),
        cmocka_unit_test(rows_without_a_gradient_stay_only_if_updates_are_lazy),
    };
    return BD_RUN_TESTS(tests);
}
