// Updates by gradients of rows: each optimizer against itself with the whole gradient, for references and
// resources.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include "train/testing/problem.h"
#include <braid/ops.h>
#include <braid/optimizers.h>
#include <string.h>

enum {
    ROWS = 5,
    WIDTH = 2,
    STEPS = 3
};

// The table starts at zero; ids are rows 3 (twice), 1 and 0, whose elements become 1, 2, ...
typedef struct table {
    braid_graph *g;
    braid_variable v;
    braid_out loss;
} table;

static table make_table(bool is_resource)
{
    table t = {.g = braid_graph_new()};
    braid_out zeros = braid_zeros(t.g, BRAID_FLOAT, BRAID_SHAPE(ROWS, WIDTH));
    t.v = is_resource ? braid_variable_resource(t.g, "table", zeros, true)
                      : braid_variable_new(t.g, "table", zeros, true);
    braid_out rows =
        braid_embedding_lookup(t.g, t.v.ref, braid_const_int32s(t.g, "ids", (int32_t[]){3, 1, 3, 0}, 4));
    const float wanted[] = {1, 2, 3, 4, 5, 6, 7, 8};
    braid_tensor *target = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(4, WIDTH), wanted, NULL);
    t.loss = braid_reduce_sum(t.g, braid_square(t.g, braid_sub(t.g, rows, braid_const(t.g, NULL, target))));
    braid_tensor_free(target);
    return t;
}

static braid_op *train_op(const table *t, braid_optimizer *opt, bool by_rows)
{
    int count;
    const braid_grad_and_var *computed = braid_compute_gradients(opt, t->loss, NULL, 0, &count);
    assert_int_equal(count, 1);
    assert_non_null(computed[0].indices.op);
    braid_grad_and_var pair = computed[0];
    if (!by_rows) {
        const braid_gradient rows = {pair.grad, pair.indices, pair.dense_shape};
        pair = (braid_grad_and_var){.grad = braid_gradient_to_dense(t->g, &rows), .var = pair.var};
    }
    return braid_apply_gradients(opt, &pair, 1, BRAID_NONE);
}

static void train(const table *t, braid_op *step, float result[ROWS * WIDTH])
{
    braid_session *s = evaluate_open(t->g);
    for (int i = 0; i < STEPS; i++)
        evaluate_run(s, step);
    braid_tensor *value = evaluate_tensor(s, t->v.read);
    memcpy(result, braid_tensor_data(value), ROWS * WIDTH * sizeof *result);
    braid_tensor_free(value);
    braid_session_close(s, NULL);
}

static int count_ops(const braid_graph *g, const char *op_type)
{
    int count = 0;
    for (int i = 0; i < braid_graph_num_ops(g); i++)
        count += strcmp(braid_op_type(braid_graph_op(g, i)), op_type) == 0;
    return count;
}

// ---- The optimizers ----

static braid_optimizer *descent(braid_graph *g)
{
    return braid_gradient_descent(g, 0.1f);
}

static braid_optimizer *adam(braid_graph *g)
{
    return braid_adam(g, 0.1f);
}

static braid_optimizer *momentum(braid_graph *g)
{
    return braid_momentum(g, 0.05f, 0.7f);
}

static braid_optimizer *nesterov(braid_graph *g)
{
    return braid_momentum_with(g, &(braid_momentum_options){0.05f, 0.7f, .use_nesterov = true});
}

static braid_optimizer *adagrad(braid_graph *g)
{
    return braid_adagrad(g, 0.1f);
}

static braid_optimizer *rmsprop(braid_graph *g)
{
    return braid_rmsprop(g, 0.1f);
}

static braid_optimizer *centered_rmsprop(braid_graph *g)
{
    braid_rmsprop_options options = braid_rmsprop_defaults();
    options.learning_rate = 0.1f;
    options.centered = true;
    options.epsilon = 0.01f;
    return braid_rmsprop_with(g, &options);
}

static braid_optimizer *ftrl(braid_graph *g)
{
    return braid_ftrl(g, 0.1f);
}

typedef struct kind {
    braid_optimizer *(*make)(braid_graph *g);
    const char *update, *resource_update; // the op that rows are given to
} kind;

static const kind kinds[] = {
    {descent, "ScatterSub", "ResourceScatterAdd"},
    {adam, "ScatterAdd", "ResourceScatterAdd"},
    {momentum, "SparseApplyMomentum", "ResourceSparseApplyMomentum"},
    {nesterov, "SparseApplyMomentum", "ResourceSparseApplyMomentum"},
    {adagrad, "SparseApplyAdagrad", "ResourceSparseApplyAdagrad"},
    {rmsprop, "SparseApplyRMSProp", "ResourceSparseApplyRMSProp"},
    {centered_rmsprop, "SparseApplyCenteredRMSProp", "ResourceSparseApplyCenteredRMSProp"},
    {ftrl, "SparseApplyFtrl", "ResourceSparseApplyFtrl"},
};

static void rows_update_as_the_whole_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (int is_resource = 0; is_resource < 2; is_resource++) {
            float results[2][ROWS * WIDTH];
            for (int by_rows = 0; by_rows < 2; by_rows++) {
                table t = make_table(is_resource);
                braid_op *step = train_op(&t, kinds[i].make(t.g), by_rows);
                const char *update = is_resource ? kinds[i].resource_update : kinds[i].update;
                assert_int_equal(count_ops(t.g, update) > 0, by_rows);
                train(&t, step, results[by_rows]);
                braid_graph_free(t.g);
            }
            for (int k = 0; k < ROWS * WIDTH; k++)
                assert_float_equal(results[0][k], results[1][k], 1e-5);
            assert_true(results[1][3 * WIDTH] != 0 && results[1][1 * WIDTH] != 0 && results[1][0] != 0);
            assert_true(results[1][2 * WIDTH] == 0 && results[1][4 * WIDTH] == 0);
        }
    }
}

// Row 3 is named twice: one step of 0.1 by the sum of 2 (0 - 1) and 2 (0 - 5).
static void rows_of_one_index_are_added_up(void **state)
{
    (void)state;
    table t = make_table(false);
    braid_op *step = train_op(&t, descent(t.g), true);
    braid_session *s = evaluate_open(t.g);
    evaluate_run(s, step);
    expect_evaluates(s, t.v.read, (double[ROWS * WIDTH]){1.4, 1.6, 0.6, 0.8, 0, 0, 1.2, 1.6, 0, 0},
                     ROWS * WIDTH);
    evaluate_close(s, t.g);
}

// An optimizer without a sparse form gets the dense gradient.
static braid_op *assign_gradient(braid_optimizer *opt, braid_out grad, braid_out var)
{
    return braid_assign(braid_optimizer_graph(opt), var, grad).op;
}

static void an_optimizer_may_not_know_rows(void **state)
{
    (void)state;
    static const braid_optimizer_type type = {.name = "Plain", .apply = assign_gradient};
    table t = make_table(false);
    braid_op *step = train_op(&t, braid_optimizer_new(t.g, &type, NULL, 0), true);
    float result[ROWS * WIDTH];
    train(&t, step, result);
    assert_true(result[2 * WIDTH] == 0 && result[3 * WIDTH] != 0);
    braid_graph_free(t.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_update_as_the_whole_does),
        cmocka_unit_test(rows_of_one_index_are_added_up),
        cmocka_unit_test(an_optimizer_may_not_know_rows),
    };
    return BD_RUN_TESTS(tests);
}
