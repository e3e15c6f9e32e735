// Optimizers: the nodes they build, and what these compute, against the same steps by hand.
#include "base/testing/test.h"

#include "train/testing/graph_text.h"
#include <braid/ops.h>
#include <braid/optimizers.h>
#include <braid/session.h>
#include <braid/variables.h>
#include <math.h>

// The loss (w - 3)^2 / 2 + (b - 1)^2 / 2 times `scale`: gradients scale (w - 3) and scale (b - 1).
typedef struct problem {
    braid_graph *graph;
    braid_variable w, b;
    braid_out scale, loss, step;
} problem;

static braid_out half_square_distance(braid_graph *g, braid_out x, float to)
{
    braid_out square = braid_square(g, braid_sub(g, x, braid_const_float(g, NULL, to)));
    return braid_mul(g, square, braid_const_float(g, NULL, 0.5f));
}

static problem make_problem(void)
{
    problem p = {.graph = braid_graph_new()};
    braid_graph *g = p.graph;
    p.w = braid_variable_new(g, "w", braid_const_float(g, NULL, 0.5f), true);
    p.b = braid_variable_new(g, "b", braid_const_float(g, NULL, -2.0f), true);
    p.scale = braid_placeholder(g, "scale", BRAID_FLOAT, BRAID_SCALAR);
    braid_out of_w = half_square_distance(g, p.w.read, 3);
    braid_out of_b = half_square_distance(g, p.b.read, 1);
    p.loss = braid_mul(g, p.scale, braid_add(g, of_w, of_b));
    p.step = braid_global_step(g);
    return p;
}

// Feeds `scale`, runs `train` and returns the variables after it.
static void run_step(braid_session *s, const problem *p, braid_op *train, float scale, float *w, float *b)
{
    BD_STATUS(st);
    braid_tensor *fed = braid_tensor_float(scale), *values[2];
    braid_feed feed = {p->scale, fed};
    braid_session_run(
        s, &(braid_run_args){.feeds = &feed, .feed_count = 1, .targets = &train, .target_count = 1}, st);
    assert_ok(st);
    braid_fetch fetches[] = {{p->w.ref, &values[0]}, {p->b.ref, &values[1]}};
    braid_session_run(s, &(braid_run_args){.fetches = fetches, .fetch_count = 2}, st);
    assert_ok(st);
    *w = *(float *)braid_tensor_data(values[0]);
    *b = *(float *)braid_tensor_data(values[1]);
    braid_tensor_free(values[0]);
    braid_tensor_free(values[1]);
    braid_tensor_free(fed);
}

static braid_session *start(const problem *p)
{
    BD_STATUS(st);
    braid_op *init = braid_global_variables_initializer(p->graph);
    braid_session *s = braid_session_open(p->graph, NULL, st);
    assert_ok(st);
    braid_session_run(s, &(braid_run_args){.targets = &init, .target_count = 1}, st);
    assert_ok(st);
    return s;
}

static void finish(braid_session *s, problem *p)
{
    BD_STATUS(st);
    braid_session_close(s, st);
    assert_ok(st);
    braid_graph_free(p->graph);
}

static int64_t global_step(braid_session *s, const problem *p)
{
    BD_STATUS(st);
    braid_tensor *value;
    braid_session_run(s, &(braid_run_args){.fetches = &(braid_fetch){p->step, &value}, .fetch_count = 1}, st);
    assert_ok(st);
    int64_t step = *(int64_t *)braid_tensor_data(value);
    braid_tensor_free(value);
    return step;
}

static void test_gradient_descent_nodes(void **state)
{
    (void)state;
    problem p = make_problem();
    braid_minimize(braid_gradient_descent(p.graph, 0.1f), p.loss, p.step);
    expect_nodes(p.graph, "GradientDescent",
                 "GradientDescent/learning_rate = Const\n"
                 "GradientDescent/update_w/ApplyGradientDescent = ApplyGradientDescent w:0 "
                 "GradientDescent/learning_rate:0 gradients/sub_grad/tuple/control_dependency:0 =w\n"
                 "GradientDescent/update_b/ApplyGradientDescent = ApplyGradientDescent b:0 "
                 "GradientDescent/learning_rate:0 gradients/sub_1_grad/tuple/control_dependency:0 =b\n"
                 "GradientDescent/update = NoOp ^GradientDescent/update_w/ApplyGradientDescent "
                 "^GradientDescent/update_b/ApplyGradientDescent\n"
                 "GradientDescent/value = Const ^GradientDescent/update =global_step\n"
                 "GradientDescent = AssignAdd global_step:0 GradientDescent/value:0 =global_step\n");
    braid_graph_free(p.graph);
}

static void test_without_a_global_step_the_group_of_updates_is_the_step(void **state)
{
    (void)state;
    problem p = make_problem();
    braid_op *train = braid_minimize(braid_gradient_descent(p.graph, 0.1f), p.loss, BRAID_NONE);
    assert_string_equal(braid_op_name(train), "GradientDescent");
    assert_string_equal(braid_op_type(train), "NoOp");
    braid_graph_free(p.graph);
}

static void test_adam_slots(void **state)
{
    (void)state;
    problem p = make_problem();
    braid_optimizer *opt = braid_adam(p.graph, 0.1f);
    braid_minimize(opt, p.loss, p.step);
    // The powers lie beside the variable whose name comes first.
    expect_nodes(p.graph, "beta1_power",
                 "beta1_power/initial_value = Const =b\n"
                 "beta1_power = VariableV2 =b\n"
                 "beta1_power/Assign = Assign beta1_power:0 beta1_power/initial_value:0 =b\n"
                 "beta1_power/read = Identity beta1_power:0 =b\n");
    expect_nodes(p.graph, "w/Adam",
                 "w/Adam/Initializer/zeros = Const =w\n"
                 "w/Adam = VariableV2 =w\n"
                 "w/Adam/Assign = Assign w/Adam:0 w/Adam/Initializer/zeros:0 =w\n"
                 "w/Adam/read = Identity w/Adam:0 =w\n"
                 "w/Adam_1/Initializer/zeros = Const =w\n"
                 "w/Adam_1 = VariableV2 =w\n"
                 "w/Adam_1/Assign = Assign w/Adam_1:0 w/Adam_1/Initializer/zeros:0 =w\n"
                 "w/Adam_1/read = Identity w/Adam_1:0 =w\n");
    assert_string_equal(braid_op_name(braid_optimizer_slot(opt, p.w.ref, "v").op), "w/Adam_1");
    assert_null(braid_optimizer_slot(opt, p.step, "v").op);
    int count;
    braid_collection(p.graph, BRAID_TRAINABLE_VARIABLES, &count);
    assert_int_equal(count, 2); // slots and powers are not trained
    braid_graph_free(p.graph);
}

static void test_gradient_descent_steps(void **state)
{
    (void)state;
    problem p = make_problem();
    braid_op *train = braid_minimize(braid_gradient_descent(p.graph, 0.1f), p.loss, p.step);
    braid_session *s = start(&p);
    float w = 0.5f, b = -2.0f;
    for (int i = 1; i <= 5; i++) {
        float scale = (float)i, got_w, got_b;
        run_step(s, &p, train, scale, &got_w, &got_b);
        w -= 0.1f * scale * (w - 3);
        b -= 0.1f * scale * (b - 1);
        assert_float_equal(got_w, w, 1e-6f);
        assert_float_equal(got_b, b, 1e-6f);
        assert_int_equal(global_step(s, &p), i);
    }
    finish(s, &p);
}

// One variable under Adam as the paper's Algorithm 1 writes it, but with epsilon where TensorFlow has it.
typedef struct by_hand {
    double x, m, v, target;
} by_hand;

static void adam_by_hand(by_hand *h, double scale, int t)
{
    const double rate = 0.1, beta1 = 0.8, beta2 = 0.95, epsilon = 1e-8;
    double gradient = scale * (h->x - h->target);
    h->m = beta1 * h->m + (1 - beta1) * gradient;
    h->v = beta2 * h->v + (1 - beta2) * gradient * gradient;
    double rate_t = rate * sqrt(1 - pow(beta2, t)) / (1 - pow(beta1, t));
    h->x -= rate_t * h->m / (sqrt(h->v) + epsilon);
}

static void test_adam_steps(void **state)
{
    (void)state;
    problem p = make_problem();
    braid_adam_options options = braid_adam_defaults();
    options.learning_rate = 0.1f;
    options.beta1 = 0.8f;
    options.beta2 = 0.95f;
    braid_op *train = braid_minimize(braid_adam_with(p.graph, &options), p.loss, p.step);
    braid_session *s = start(&p);
    by_hand w = {.x = 0.5, .target = 3}, b = {.x = -2, .target = 1};
    for (int t = 1; t <= 20; t++) {
        double scale = t % 3 - 0.5; // also against the gradient
        float got_w, got_b;
        run_step(s, &p, train, (float)scale, &got_w, &got_b);
        adam_by_hand(&w, scale, t);
        adam_by_hand(&b, scale, t);
        assert_float_equal(got_w, (float)w.x, 1e-5f);
        assert_float_equal(got_b, (float)b.x, 1e-5f);
    }
    assert_int_equal(global_step(s, &p), 20);
    finish(s, &p);
}

static void test_a_loss_without_variables_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out loss = braid_square(g, braid_const_float(g, NULL, 1));
    assert_null(braid_minimize(braid_adam(g, 0.1f), loss, BRAID_NONE));
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "No variables to optimize");
    braid_graph_free(g);

    g = braid_graph_new();
    braid_variable_new(g, "w", braid_const_float(g, NULL, 1), true);
    loss = braid_square(g, braid_const_float(g, NULL, 1));
    assert_null(braid_minimize(braid_adam(g, 0.1f), loss, BRAID_NONE));
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "No gradients provided for any variable");
    braid_graph_free(g);
}

static void test_chosen_variables_and_changed_gradients(void **state)
{
    (void)state;
    problem p = make_problem();
    braid_optimizer *opt = braid_gradient_descent(p.graph, 1.0f);
    int count;
    const braid_grad_and_var *pairs = braid_compute_gradients(opt, p.loss, &p.w.ref, 1, &count);
    assert_int_equal(count, 1);
    braid_grad_and_var doubled = {braid_add(p.graph, pairs[0].grad, pairs[0].grad), pairs[0].var};
    braid_op *train = braid_apply_gradients(opt, &doubled, 1, BRAID_NONE);
    braid_session *s = start(&p);
    float w, b;
    run_step(s, &p, train, 1, &w, &b);
    assert_float_equal(w, 0.5f - 2 * (0.5f - 3), 1e-6f);
    assert_float_equal(b, -2.0f, 0);
    finish(s, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_descent_nodes),
        cmocka_unit_test(test_without_a_global_step_the_group_of_updates_is_the_step),
        cmocka_unit_test(test_adam_slots),
        cmocka_unit_test(test_gradient_descent_steps),
        cmocka_unit_test(test_adam_steps),
        cmocka_unit_test(test_a_loss_without_variables_is_an_error),
        cmocka_unit_test(test_chosen_variables_and_changed_gradients),
    };
    return BD_RUN_TESTS(tests);
}
