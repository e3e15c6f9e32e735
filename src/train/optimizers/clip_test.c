// Gradient clipping: the nodes, and their values.
#include "base/testing/test.h"

#include "train/testing/graph_text.h"
#include "train/testing/problem.h"
#include <braid/clip.h>
#include <math.h>

static braid_out vector(braid_graph *g, float a, float b)
{
    const float values[] = {a, b};
    braid_tensor *t = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(2), values, NULL);
    braid_out out = braid_const(g, "v", t);
    braid_tensor_free(t);
    return out;
}

// ---- Nodes ----

static void clip_by_norm_builds_the_nodes_of_tensorflow(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = vector(g, 3, 4);
    braid_clip_by_norm(g, x, 2);
    braid_clip_by_average_norm(g, x, 2);
    expect_nodes(g, "clip_by_norm",
                 "clip_by_norm/mul = Mul v:0 v:0\n"
                 "clip_by_norm/Const = Const\n"
                 "clip_by_norm/Sum = Sum clip_by_norm/mul:0 clip_by_norm/Const:0\n"
                 "clip_by_norm/Rsqrt = Rsqrt clip_by_norm/Sum:0\n"
                 "clip_by_norm/mul_1/y = Const\n"
                 "clip_by_norm/mul_1 = Mul v:0 clip_by_norm/mul_1/y:0\n"
                 "clip_by_norm/Const_1 = Const\n"
                 "clip_by_norm/truediv/y = Const\n"
                 "clip_by_norm/truediv = RealDiv clip_by_norm/Const_1:0 clip_by_norm/truediv/y:0\n"
                 "clip_by_norm/Minimum = Minimum clip_by_norm/Rsqrt:0 clip_by_norm/truediv:0\n"
                 "clip_by_norm/mul_2 = Mul clip_by_norm/mul_1:0 clip_by_norm/Minimum:0\n"
                 "clip_by_norm = Identity clip_by_norm/mul_2:0\n");
    expect_nodes(
        g, "clip_by_average_norm",
        "clip_by_average_norm/Size = Const\n"
        "clip_by_average_norm/Cast = Cast clip_by_average_norm/Size:0\n"
        "clip_by_average_norm/mul = Mul v:0 v:0\n"
        "clip_by_average_norm/Rank = Const\n"
        "clip_by_average_norm/range/start = Const\n"
        "clip_by_average_norm/range/delta = Const\n"
        "clip_by_average_norm/range = Range clip_by_average_norm/range/start:0 "
        "clip_by_average_norm/Rank:0 clip_by_average_norm/range/delta:0\n"
        "clip_by_average_norm/Sum = Sum clip_by_average_norm/mul:0 clip_by_average_norm/range:0\n"
        "clip_by_average_norm/Rsqrt = Rsqrt clip_by_average_norm/Sum:0\n"
        "clip_by_average_norm/mul_1/y = Const\n"
        "clip_by_average_norm/mul_1 = Mul v:0 clip_by_average_norm/mul_1/y:0\n"
        "clip_by_average_norm/mul_2 = Mul clip_by_average_norm/Rsqrt:0 clip_by_average_norm/Cast:0\n"
        "clip_by_average_norm/Const = Const\n"
        "clip_by_average_norm/truediv/y = Const\n"
        "clip_by_average_norm/truediv = RealDiv clip_by_average_norm/Const:0 "
        "clip_by_average_norm/truediv/y:0\n"
        "clip_by_average_norm/Minimum = Minimum clip_by_average_norm/mul_2:0 "
        "clip_by_average_norm/truediv:0\n"
        "clip_by_average_norm/mul_3 = Mul clip_by_average_norm/mul_1:0 clip_by_average_norm/Minimum:0\n"
        "clip_by_average_norm = Identity clip_by_average_norm/mul_3:0\n");
    braid_graph_free(g);
}

static void clip_by_global_norm_builds_the_nodes_of_tensorflow(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out xs[3] = {vector(g, 3, 4), BRAID_NONE, vector(g, 1, 2)};
    braid_clip_by_global_norm(g, xs, 3, 2, BRAID_NONE, xs);
    expect_nodes(g, "global_norm",
                 "global_norm/L2Loss = L2Loss v:0 =v\n"
                 "global_norm/L2Loss_1 = L2Loss v_1:0 =v_1\n"
                 "global_norm/stack = Pack global_norm/L2Loss:0 global_norm/L2Loss_1:0\n"
                 "global_norm/Const = Const\n"
                 "global_norm/Sum = Sum global_norm/stack:0 global_norm/Const:0\n"
                 "global_norm/Const_1 = Const\n"
                 "global_norm/mul = Mul global_norm/Sum:0 global_norm/Const_1:0\n"
                 "global_norm/global_norm = Sqrt global_norm/mul:0\n");
    expect_nodes(
        g, "clip_by_global_norm",
        "clip_by_global_norm/truediv/x = Const\n"
        "clip_by_global_norm/truediv = RealDiv clip_by_global_norm/truediv/x:0 global_norm/global_norm:0\n"
        "clip_by_global_norm/Const = Const\n"
        "clip_by_global_norm/truediv_1/y = Const\n"
        "clip_by_global_norm/truediv_1 = RealDiv clip_by_global_norm/Const:0 "
        "clip_by_global_norm/truediv_1/y:0\n"
        "clip_by_global_norm/Minimum = Minimum clip_by_global_norm/truediv:0 "
        "clip_by_global_norm/truediv_1:0\n"
        "clip_by_global_norm/mul/x = Const\n"
        "clip_by_global_norm/mul = Mul clip_by_global_norm/mul/x:0 clip_by_global_norm/Minimum:0\n"
        "clip_by_global_norm/mul_1 = Mul v:0 clip_by_global_norm/mul:0 =v\n"
        "clip_by_global_norm/clip_by_global_norm/_0 = Identity clip_by_global_norm/mul_1:0 =v\n"
        "clip_by_global_norm/mul_2 = Mul v_1:0 clip_by_global_norm/mul:0 =v_1\n"
        "clip_by_global_norm/clip_by_global_norm/_2 = Identity clip_by_global_norm/mul_2:0 =v_1\n");
    assert_null(xs[1].op);
    braid_graph_free(g);
}

// ---- Values ----

static void expect_vector(braid_session *s, braid_out x, double a, double b)
{
    BD_STATUS(st);
    braid_tensor *t;
    braid_fetch fetch = {x, &t};
    braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
    assert_ok(st);
    const float *values = braid_tensor_data(t);
    assert_float_equal(values[0], (float)a, 1e-6f);
    assert_float_equal(values[1], (float)b, 1e-6f);
    braid_tensor_free(t);
}

static void clipped_values_have_the_norm(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out x = vector(g, 3, 4), zero = vector(g, 0, 0); // of norm 5 and 0
    braid_out larger = braid_clip_by_norm(g, x, 2), smaller = braid_clip_by_norm(g, x, 10);
    braid_out none = braid_clip_by_norm(g, zero, 2);
    braid_out average = braid_clip_by_average_norm(g, x, 0.5); // 5 / 2, so by a fifth
    braid_out together[2] = {x, vector(g, 0, 12)};             // 13
    braid_clip_by_global_norm(g, together, 2, 6.5, BRAID_NONE, together);
    braid_out given[1] = {x};
    braid_out norm = braid_clip_by_global_norm(g, given, 1, 3, braid_const_float(g, NULL, 4), given);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    expect_vector(s, larger, 1.2, 1.6);
    expect_vector(s, smaller, 3, 4);
    expect_vector(s, none, 0, 0);
    expect_vector(s, average, 0.6, 0.8);
    expect_vector(s, together[0], 1.5, 2);
    expect_vector(s, together[1], 0, 6);
    expect_vector(s, given[0], 2.25, 3);
    assert_float_equal(problem_value(s, norm), 4, 0);
    braid_session_close(s, st);
    braid_graph_free(g);
}

// Gradients of w and b at the start: -2.5 and -3, together of norm sqrt(15.25).
static void gradients_are_clipped_before_they_are_applied(void **state)
{
    (void)state;
    problem p = problem_make();
    braid_optimizer *opt = braid_gradient_descent(p.graph, 1);
    braid_grad_and_var pairs[2];
    int count;
    const braid_grad_and_var *computed = braid_compute_gradients(opt, p.loss, NULL, 0, &count);
    assert_int_equal(count, 2);
    memcpy(pairs, computed, sizeof pairs);
    braid_clip_gradients(p.graph, pairs, 2, 1);
    braid_op *train = braid_apply_gradients(opt, pairs, 2, p.step);
    braid_session *s = problem_start(&p);
    float w, b;
    problem_step(s, &p, train, 1, &w, &b);
    assert_float_equal(w, (float)(0.5 + 2.5 / sqrt(15.25)), 1e-6f);
    assert_float_equal(b, (float)(-2 + 3 / sqrt(15.25)), 1e-6f);
    problem_finish(s, &p);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_clip_by_norm(g, vector(g, 1, 2), 0);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "clip_by_norm: the norm to clip to must be positive, not 0");
    braid_graph_free(g);

    g = braid_graph_new();
    const braid_out none[2] = {BRAID_NONE};
    braid_global_norm(g, none, 2);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "no value");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clip_by_norm_builds_the_nodes_of_tensorflow),
        cmocka_unit_test(clip_by_global_norm_builds_the_nodes_of_tensorflow),
        cmocka_unit_test(clipped_values_have_the_norm),
        cmocka_unit_test(gradients_are_clipped_before_they_are_applied),
        cmocka_unit_test(wrong_inputs_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
