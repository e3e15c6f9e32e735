// Optimizers in general: slots, gradients, the order of nodes, and how a step is counted.
#include "base/testing/test.h"

#include "train/testing/graph_text.h"
#include "train/testing/problem.h"
#include <braid/ops.h>
#include <braid/optimizers.h>

static void gradient_descent_builds_the_nodes_of_tensorflow(void **state)
{
    (void)state;
    problem p = problem_make();
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

static void without_a_global_step_the_group_of_updates_is_the_step(void **state)
{
    (void)state;
    problem p = problem_make();
    braid_op *train = braid_minimize(braid_gradient_descent(p.graph, 0.1f), p.loss, BRAID_NONE);
    assert_string_equal(braid_op_name(train), "GradientDescent");
    assert_string_equal(braid_op_type(train), "NoOp");
    braid_graph_free(p.graph);
}

static void slots_of_adam_lie_beside_their_variables(void **state)
{
    (void)state;
    problem p = problem_make();
    braid_optimizer *opt = braid_adam(p.graph, 0.1f);
    braid_minimize(opt, p.loss, p.step);
    // The powers are placed with the variable whose name is first.
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

static void gradient_descent_lowers_the_loss(void **state)
{
    (void)state;
    problem p = problem_make();
    braid_op *train = braid_minimize(braid_gradient_descent(p.graph, 0.1f), p.loss, p.step);
    braid_session *s = problem_start(&p);
    float w = 0.5f, b = -2.0f;
    for (int i = 1; i <= 5; i++) {
        float scale = (float)i, got_w, got_b;
        problem_step(s, &p, train, scale, &got_w, &got_b);
        w -= 0.1f * scale * (w - 3);
        b -= 0.1f * scale * (b - 1);
        assert_float_equal(got_w, w, 1e-6f);
        assert_float_equal(got_b, b, 1e-6f);
        assert_int_equal(problem_global_step(s, &p), i);
    }
    problem_finish(s, &p);
}

static void a_loss_without_variables_is_an_error(void **state)
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

static void variables_may_be_chosen_and_gradients_changed(void **state)
{
    (void)state;
    problem p = problem_make();
    braid_optimizer *opt = braid_gradient_descent(p.graph, 1.0f);
    int count;
    const braid_grad_and_var *pairs = braid_compute_gradients(opt, p.loss, &p.w.ref, 1, &count);
    assert_int_equal(count, 1);
    braid_grad_and_var doubled = {.grad = braid_add(p.graph, pairs[0].grad, pairs[0].grad),
                                  .var = pairs[0].var};
    braid_op *train = braid_apply_gradients(opt, &doubled, 1, BRAID_NONE);
    braid_session *s = problem_start(&p);
    float w, b;
    problem_step(s, &p, train, 1, &w, &b);
    assert_float_equal(w, 0.5f - 2 * (0.5f - 3), 1e-6f);
    assert_float_equal(b, -2.0f, 0);
    problem_finish(s, &p);
}

static void gradients_may_be_placed_with_what_they_differentiate(void **state)
{
    (void)state;
    for (int colocates = 0; colocates < 2; colocates++) {
        braid_graph *g = braid_graph_new();
        braid_push_device(g, "/job:worker/task:1");
        braid_variable w = braid_variable_new(g, "w", braid_const_float(g, NULL, 1), true);
        braid_out y = braid_exp(g, w.read);
        braid_pop_device(g);
        braid_push_device(g, "/job:worker/task:0");
        braid_optimizer *opt = braid_gradient_descent(g, 1);
        braid_optimizer_colocate_gradients(opt, colocates);
        braid_minimize(opt, braid_square(g, y), BRAID_NONE);
        const char *const wants[] = {
            "gradients/Exp_grad/mul = Mul gradients/Square_grad/Mul_1:0 Exp:0 @/job:worker/task:0\n",
            "gradients/Exp_grad/mul = Mul gradients/Square_grad/Mul_1:0 Exp:0 =Exp @/job:worker/task:1\n"};
        expect_nodes(g, "gradients/Exp_grad/mul", wants[colocates]);
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_descent_builds_the_nodes_of_tensorflow),
        cmocka_unit_test(without_a_global_step_the_group_of_updates_is_the_step),
        cmocka_unit_test(slots_of_adam_lie_beside_their_variables),
        cmocka_unit_test(gradient_descent_lowers_the_loss),
        cmocka_unit_test(a_loss_without_variables_is_an_error),
        cmocka_unit_test(variables_may_be_chosen_and_gradients_changed),
        cmocka_unit_test(gradients_may_be_placed_with_what_they_differentiate),
    };
    return BD_RUN_TESTS(tests);
}
