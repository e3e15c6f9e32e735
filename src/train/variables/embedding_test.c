// Combined look-ups of lists of ids: their values and gradients by the formulas.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include <braid/ops.h>
#include <braid/variables.h>
#include <math.h>

enum {
    ROWS = 5,
    WIDTH = 2,
    IDS = 4
};

// The lists {3, 1} and {3, 3}.
static const double list_of[IDS] = {0, 0, 1, 1}, ids[IDS] = {3, 1, 3, 3}, weights[IDS] = {1, 2, 0.5, 3};

static double table_value(int row, int column)
{
    return row * 1.5 - column * row + 0.25;
}

typedef struct table {
    braid_graph *g;
    braid_out parts[2];
    int count;
} table;

// A table, whole or with its rows in two parts by id % 2, of reference or resource variables.
static table make_table(bool in_parts, bool resource)
{
    table t = {.g = braid_graph_new(), .count = in_parts ? 2 : 1};
    for (int p = 0; p < t.count; p++) {
        double values[ROWS * WIDTH];
        int rows = 0;
        for (int row = p; row < ROWS; row += t.count, rows++)
            for (int c = 0; c < WIDTH; c++)
                values[rows * WIDTH + c] = table_value(row, c);
        const braid_out first = evaluate_const(t.g, BRAID_FLOAT, BRAID_SHAPE(rows, WIDTH), values);
        t.parts[p] = (resource ? braid_variable_resource : braid_variable_new)(t.g, "t", first, true).ref;
    }
    return t;
}

// What the id at place `k` adds to its list's row, by the table's value.
static double share(int k, braid_combiner combiner, bool weighted)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < IDS; i++) {
        if (list_of[i] != list_of[k]) continue;
        const double w = weighted ? weights[i] : 1;
        sum += w;
        squares += w * w;
    }
    const double by = combiner == BRAID_COMBINER_SUM    ? 1
                      : combiner == BRAID_COMBINER_MEAN ? sum
                                                        : sqrt(squares);
    return (weighted ? weights[k] : 1) / by;
}

static void check(braid_combiner combiner, bool weighted, bool in_parts, bool resource)
{
    const table t = make_table(in_parts, resource);
    double indices[IDS * 2];
    for (int i = 0; i < IDS; i++) {
        indices[2 * i] = list_of[i];
        indices[2 * i + 1] = i % 2;
    }
    const braid_sparse lists = {.indices = evaluate_const(t.g, BRAID_INT64, BRAID_SHAPE(IDS, 2), indices),
                                .values = evaluate_const(t.g, BRAID_INT64, BRAID_SHAPE(IDS), ids)};
    const braid_embedding_sparse_options o = {
        .combiner = combiner,
        .weights = weighted ? evaluate_const(t.g, BRAID_FLOAT, BRAID_SHAPE(IDS), weights) : BRAID_NONE};
    const braid_out out = braid_embedding_lookup_sparse(t.g, t.parts, t.count, lists, &o);
    assert_int_equal(braid_out_shape(out).dims[1], WIDTH);
    // The gradient of the sum of squares by the table.
    const braid_out loss = braid_reduce_sum(t.g, braid_square(t.g, out));
    braid_out xs[2], grads[2];
    for (int p = 0; p < t.count; p++)
        xs[p] = resource ? t.parts[p] : braid_variable_find(t.parts[p]).read;
    braid_gradients(t.g, &loss, 1, xs, t.count, NULL, grads);
    double want[2 * WIDTH] = {0}, want_grad[ROWS * WIDTH] = {0};
    for (int k = 0; k < IDS; k++)
        for (int c = 0; c < WIDTH; c++)
            want[(int)list_of[k] * WIDTH + c] += share(k, combiner, weighted) * table_value((int)ids[k], c);
    for (int k = 0; k < IDS; k++)
        for (int c = 0; c < WIDTH; c++)
            want_grad[(int)ids[k] * WIDTH + c] +=
                2 * want[(int)list_of[k] * WIDTH + c] * share(k, combiner, weighted);
    braid_session *s = evaluate_open(t.g);
    expect_evaluates(s, out, want, 2 * WIDTH);
    for (int p = 0; p < t.count; p++) {
        double of_part[ROWS * WIDTH];
        int rows = 0;
        for (int row = p; row < ROWS; row += t.count, rows++)
            memcpy(of_part + rows * WIDTH, want_grad + row * WIDTH, WIDTH * sizeof *of_part);
        double got[ROWS * WIDTH];
        evaluate(s, grads[p], got, rows * WIDTH);
        for (int i = 0; i < rows * WIDTH; i++)
            assert_float_equal(got[i], of_part[i], 1e-5 * (1 + fabs(of_part[i])));
    }
    evaluate_close(s, t.g);
}

static void lists_of_ids_are_combined(void **state)
{
    (void)state;
    static const braid_combiner combiners[] = {BRAID_COMBINER_MEAN, BRAID_COMBINER_SUM, BRAID_COMBINER_SQRTN};
    for (size_t i = 0; i < BD_COUNTOF(combiners); i++) {
        for (int form = 0; form < 8; form++)
            check(combiners[i], form & 1, form & 2, form & 4);
    }
}

static void ids_without_indices_are_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    const table t = make_table(false, false);
    const braid_sparse lists = {.values = evaluate_const(t.g, BRAID_INT64, BRAID_SHAPE(IDS), ids)};
    assert_null(braid_embedding_lookup_sparse(t.g, t.parts, 1, lists, NULL).op);
    braid_graph_status(t.g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "embedding_lookup_sparse: the ids have no values or no indices");
    braid_graph_free(t.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_ids_are_combined),
        cmocka_unit_test(ids_without_indices_are_an_error),
    };
    return BD_RUN_TESTS(tests);
}
