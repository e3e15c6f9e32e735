// Constraints of variables: their values, and when optimizers apply them.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include "train/testing/graph_text.h"
#include "train/testing/problem.h"
#include <braid/layers.h>
#include <braid/optimizers.h>
#include <math.h>
#include <stdio.h>

// ---- Values ----

// Columns of norm 5, 0 and 1.
static const double columns[] = {3, 0, 0.6, -4, 0, -0.8};

static void expect_constrained(braid_constraint c, const double *want)
{
    static const braid_dtype dtypes[] = {BRAID_FLOAT, BRAID_DOUBLE};
    for (size_t i = 0; i < BD_COUNTOF(dtypes); i++) {
        braid_graph *g = braid_graph_new();
        const braid_out x = evaluate_const(g, dtypes[i], BRAID_SHAPE(2, 3), columns);
        const braid_out y = c.build(&c, g, x);
        braid_session *s = evaluate_open(g);
        assert_int_equal(braid_out_dtype(y), dtypes[i]);
        expect_evaluates(s, y, want, 6);
        evaluate_close(s, g);
    }
}

static void constraints_have_the_values_of_keras(void **state)
{
    (void)state;
    static const int32_t rows[] = {1}, both[] = {0, 1};
    const double short_row = sqrt(9.36), long_row = sqrt(16.64), whole = sqrt(26);
    expect_constrained(braid_non_negative_constraint(), (double[]){3, 0, 0.6, 0, 0, 0});
    expect_constrained(braid_max_norm_constraint(2, NULL, 0), (double[]){1.2, 0, 0.6, -1.6, 0, -0.8});
    expect_constrained(braid_unit_norm_constraint(NULL, 0), (double[]){0.6, 0, 0.6, -0.8, 0, -0.8});
    expect_constrained(braid_unit_norm_constraint(rows, 1),
                       (double[]){3 / short_row, 0, 0.6 / short_row, -4 / long_row, 0, -0.8 / long_row});
    expect_constrained(braid_max_norm_constraint(1, both, 2),
                       (double[]){3 / whole, 0, 0.6 / whole, -4 / whole, 0, -0.8 / whole});
    expect_constrained(braid_min_max_norm_constraint(2, 4, 1, NULL, 0),
                       (double[]){2.4, 0, 1.2, -3.2, 0, -1.6});
    expect_constrained(braid_min_max_norm_constraint(2, 4, 0.5, NULL, 0),
                       (double[]){2.7, 0, 0.9, -3.6, 0, -1.2});
}

// ---- Updates ----

static void an_optimizer_constrains_what_it_has_updated(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        problem p = kind ? problem_make_resource() : problem_make();
        const braid_constraint not_negative = braid_non_negative_constraint();
        braid_constrain_variable(p.graph, p.w.ref, &not_negative);
        braid_constrain_variable(p.graph, p.b.ref, &not_negative);
        braid_op *train = braid_minimize(braid_gradient_descent(p.graph, 0.1f), p.loss, p.step);
        braid_session *s = problem_start(&p);
        float w, b;
        problem_step(s, &p, train, 1, &w, &b);
        assert_float_equal(w, 0.75, 1e-6);
        assert_float_equal(b, 0, 0); // from -2 to -1.7, and then to 0
        problem_step(s, &p, train, 1, &w, &b);
        assert_float_equal(b, 0.1, 1e-6);
        assert_int_equal(problem_global_step(s, &p), 2);
        problem_finish(s, &p);
    }
}

static void a_constraint_is_built_after_the_update(void **state)
{
    (void)state;
    problem p = problem_make();
    const braid_constraint not_negative = braid_non_negative_constraint();
    braid_constrain_variable(p.graph, p.w.ref, &not_negative);
    braid_constrain_variable(p.graph, p.b.ref, &not_negative);
    braid_constrain_variable(p.graph, p.b.ref, NULL);
    braid_minimize(braid_gradient_descent(p.graph, 0.1f), p.loss, BRAID_NONE);
    expect_nodes(p.graph, "GradientDescent/update_w/Identity",
                 "GradientDescent/update_w/Identity = Identity w:0 "
                 "^GradientDescent/update_w/ApplyGradientDescent =w\n");
    expect_nodes(p.graph, "GradientDescent/update_w/Assign",
                 "GradientDescent/update_w/Assign = Assign w:0 GradientDescent/update_w/mul:0 "
                 "=w\n");
    assert_null(braid_graph_find(p.graph, "GradientDescent/update_b/Assign"));
    braid_graph_free(p.graph);
}

static void rows_of_a_variable_cannot_be_constrained(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_variable table = braid_variable_get_with(
        g, "table",
        &(braid_variable_options){.shape = BRAID_SHAPE(4, 2),
                                  .constraint = braid_unit_norm_constraint((int32_t[]){1}, 1)});
    const braid_out rows = braid_gather(g, table.ref, braid_const_int32s(g, NULL, (int32_t[]){1, 2}, 2));
    braid_minimize(braid_gradient_descent(g, 0.1f), braid_reduce_sum(g, rows), BRAID_NONE);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Cannot use a constraint function on a sparse variable");
    braid_graph_free(g);
}

// ---- Variables that have constraints ----

static void a_scope_constrains_variables_and_their_parts(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    (void)braid_push_variable_scope(
        g, "s",
        &(braid_variable_scope_options){.constraint = braid_max_norm_constraint(1, NULL, 0),
                                        .initializer = braid_constant_initializer(2)});
    const braid_variable w =
        braid_variable_get_with(g, "w",
                                &(braid_variable_options){.shape = BRAID_SHAPE(2, 2),
                                                          .partitioner = braid_fixed_size_partitioner(2, 0)});
    const braid_variable v =
        braid_variable_get_with(g, "v",
                                &(braid_variable_options){.shape = BRAID_SHAPE(2),
                                                          .constraint = braid_unit_norm_constraint(NULL, 0)});
    braid_pop_variable_scope(g);
    const braid_out loss = braid_add(g, braid_reduce_sum(g, w.read), braid_reduce_sum(g, v.read));
    braid_op *train = braid_minimize(braid_gradient_descent(g, 1), loss, BRAID_NONE);
    braid_session *s = evaluate_open(g);
    BD_STATUS(st);
    braid_session_run(s, &(braid_run_args){.targets = &train, .target_count = 1}, st);
    assert_ok(st);
    expect_evaluates(s, w.read, (double[]){1, 1, 1, 1}, 4); // each part has one row: norms of 1
    expect_evaluates(s, v.read, (double[]){M_SQRT1_2, M_SQRT1_2}, 2);
    evaluate_close(s, g);
}

static void layers_constrain_their_variables(void **state)
{
    (void)state;
    static const char *const constrained[] = {"dense/kernel",
                                              "dense/bias",
                                              "conv2d/kernel",
                                              "conv2d/bias",
                                              "separable_conv2d/depthwise_kernel",
                                              "separable_conv2d/pointwise_kernel",
                                              "separable_conv2d/bias",
                                              "batch_normalization/beta",
                                              "batch_normalization/gamma"};
    braid_graph *g = braid_graph_new();
    const braid_constraint c = braid_non_negative_constraint();
    const braid_conv_options conv = {.layer = {.kernel_constraint = c, .bias_constraint = c}};
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 4, 4, 3));
    x = braid_layers_conv2d(g, x, 2, 2, 2, &conv);
    x = braid_layers_separable_conv2d(
        g, x, 2, 2, 2, &(braid_separable_conv_options){.conv = conv, .depthwise_constraint = c});
    x = braid_layers_batch_normalization(
        g, x,
        &(braid_batch_normalization_options){.beta_constraint = c, .gamma_constraint = c, .training = true});
    x = braid_layers_dense(g, braid_layers_flatten(g, NULL, x), 2, &conv.layer);
    braid_minimize(braid_gradient_descent(g, 0.1f), braid_reduce_sum(g, x), BRAID_NONE);
    assert_int_equal(braid_graph_status(g, NULL), BRAID_OK);
    for (size_t i = 0; i < BD_COUNTOF(constrained); i++) {
        char name[100];
        snprintf(name, sizeof name, "GradientDescent/update_%s/Assign", constrained[i]);
        if (!braid_graph_find(g, name)) fail_msg("%s has no constraint", constrained[i]);
    }
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constraints_have_the_values_of_keras),
        cmocka_unit_test(an_optimizer_constrains_what_it_has_updated),
        cmocka_unit_test(a_constraint_is_built_after_the_update),
        cmocka_unit_test(rows_of_a_variable_cannot_be_constrained),
        cmocka_unit_test(a_scope_constrains_variables_and_their_parts),
        cmocka_unit_test(layers_constrain_their_variables),
    };
    return BD_RUN_TESTS(tests);
}
