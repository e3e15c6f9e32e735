// Moving averages: the nodes, and how the averages go.
#include "base/testing/test.h"

#include "train/testing/graph_text.h"
#include "train/testing/problem.h"
#include <braid/moving_average.h>
#include <braid/ops.h>
#include <braid/optimizers.h>

#define EMA "ExponentialMovingAverage"

static void an_average_of_a_variable_builds_the_nodes_of_tensorflow(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_variable w = braid_variable_new(g, "w", braid_const_float(g, "first", 1), true);
    braid_out steps = braid_placeholder(g, "steps", BRAID_INT64, BRAID_SCALAR);
    braid_moving_average *averages =
        braid_moving_average_new(g, &(braid_moving_average_options){.decay = 0.9f, .num_updates = steps});
    assert_string_equal(braid_moving_average_name(averages, w.ref), "w/" EMA);
    braid_op *update = braid_moving_average_apply(averages, NULL, 0);
    assert_string_equal(braid_op_name(update), EMA);
    assert_string_equal(braid_op_name(braid_moving_average_of(averages, w.ref).ref.op), "w/" EMA);
    expect_nodes(g, "Identity", "Identity = Identity w:0 ^w/Assign =w\n");
    expect_nodes(g, "w/" EMA,
                 "w/" EMA " = VariableV2 =w\n"
                 "w/" EMA "/Assign = Assign w/" EMA ":0 Identity:0 =w\n"
                 "w/" EMA "/read = Identity w/" EMA ":0 =w\n");
    expect_nodes(g, EMA,
                 EMA "/decay = Const\n" EMA "/num_updates = Cast steps:0\n" EMA "/add/x = Const\n" EMA
                     "/add = Add " EMA "/add/x:0 " EMA "/num_updates:0\n" EMA "/add_1/x = Const\n" EMA
                     "/add_1 = Add " EMA "/add_1/x:0 " EMA "/num_updates:0\n" EMA "/truediv = RealDiv " EMA
                     "/add:0 " EMA "/add_1:0\n" EMA "/Minimum = Minimum " EMA "/decay:0 " EMA
                     "/truediv:0\n" EMA "/AssignMovingAvg/sub/x = Const =w\n" EMA
                     "/AssignMovingAvg/sub = Sub " EMA "/AssignMovingAvg/sub/x:0 " EMA "/Minimum:0 =w\n" EMA
                     "/AssignMovingAvg/sub_1 = Sub w/" EMA "/read:0 w/read:0 =w\n" EMA
                     "/AssignMovingAvg/mul = Mul " EMA "/AssignMovingAvg/sub_1:0 " EMA
                     "/AssignMovingAvg/sub:0 =w\n" EMA "/AssignMovingAvg = AssignSub w/" EMA ":0 " EMA
                     "/AssignMovingAvg/mul:0 =w\n" EMA " = NoOp ^" EMA "/AssignMovingAvg\n");
    int count;
    assert_ptr_equal(braid_collection(g, BRAID_MOVING_AVERAGE_VARIABLES, &count)[0].op, w.ref.op);
    assert_int_equal(count, 1);
    braid_collection(g, BRAID_TRAINABLE_VARIABLES, &count);
    assert_int_equal(count, 1);
    braid_graph_free(g);
}

// The variables of the correction are placed with the average.
static void an_unbiased_average_builds_the_nodes_of_tensorflow(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2));
    braid_moving_average *averages = braid_moving_average_new(
        g, &(braid_moving_average_options){.decay = 0.9f, .zero_debias = true, .name = "avg"});
    braid_moving_average_apply(averages, &x, 1);
    expect_nodes(
        g, "x/avg",
        "x/avg/Initializer/zeros = Const =x/avg\n"
        "x/avg = VariableV2 =x/avg\n"
        "x/avg/Assign = Assign x/avg:0 x/avg/Initializer/zeros:0 =x/avg\n"
        "x/avg/read = Identity x/avg:0 =x/avg\n"
        "x/avg/biased = VariableV2 =x/avg\n"
        "x/avg/biased/Assign = Assign x/avg/biased:0 avg/AssignMovingAvg/x/avg/zeros:0 =x/avg\n"
        "x/avg/biased/read = Identity x/avg/biased:0 =x/avg\n"
        "x/avg/local_step/Initializer/zeros = Const =x/avg\n"
        "x/avg/local_step = VariableV2 =x/avg\n"
        "x/avg/local_step/Assign = Assign x/avg/local_step:0 x/avg/local_step/Initializer/zeros:0 =x/avg\n"
        "x/avg/local_step/read = Identity x/avg/local_step:0 =x/avg\n");
#define IN "avg/AssignMovingAvg/x/avg/"
    expect_nodes(g, IN,
                 IN "zeros = Const =x/avg\n" IN "sub = Sub x/avg/biased/read:0 x:0 =x/avg\n" IN
                    "mul = Mul " IN "sub:0 avg/AssignMovingAvg/sub:0 =x/avg\n" IN
                    "x/avg = AssignSub x/avg/biased:0 " IN "mul:0 =x/avg\n" IN
                    "AssignAdd/value = Const =x/avg\n" IN "AssignAdd = AssignAdd x/avg/local_step:0 " IN
                    "AssignAdd/value:0 =x/avg\n" IN "read = Identity x/avg/biased:0 ^" IN "x/avg ^" IN
                    "AssignAdd =x/avg\n" IN "sub_1/x = Const ^" IN "x/avg ^" IN "AssignAdd =x/avg\n" IN
                    "sub_1 = Sub " IN "sub_1/x:0 avg/AssignMovingAvg/sub:0 =x/avg\n" IN
                    "read_1 = Identity x/avg/local_step:0 ^" IN "x/avg ^" IN "AssignAdd =x/avg\n" IN
                    "Pow = Pow " IN "sub_1:0 " IN "read_1:0 =x/avg\n" IN "sub_2/x = Const ^" IN "x/avg ^" IN
                    "AssignAdd =x/avg\n" IN "sub_2 = Sub " IN "sub_2/x:0 " IN "Pow:0 =x/avg\n" IN
                    "truediv = RealDiv " IN "read:0 " IN "sub_2:0 =x/avg\n" IN "sub_3 = Sub x/avg/read:0 " IN
                    "truediv:0 =x/avg\n");
#undef IN
    braid_graph_free(g);
}

static void run(braid_session *s, braid_op *target, const braid_feed *feeds, int count)
{
    BD_STATUS(st);
    braid_session_run(
        s, &(braid_run_args){.feeds = feeds, .feed_count = count, .targets = &target, .target_count = 1}, st);
    assert_ok(st);
}

// The averages of a variable that counts up by one, and of a value that is fed: once plain, once without
// bias.
static void check_values(braid_variable (*variable)(braid_graph *, const char *, braid_out, bool))
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_variable w = variable(g, "w", braid_const_float(g, NULL, 5), true);
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SCALAR);
    braid_out one = braid_const_float(g, NULL, 1);
    const braid_out inputs[] = {w.ref, one};
    bool resource = braid_out_dtype(w.ref) == BRAID_RESOURCE;
    braid_op *count_up = braid_op_add(g, resource ? "AssignAddVariableOp" : "AssignAdd", NULL, inputs, 2);

    braid_moving_average *plain =
        braid_moving_average_new(g, &(braid_moving_average_options){.decay = 0.75f});
    braid_moving_average *unbiased = braid_moving_average_new(
        g, &(braid_moving_average_options){.decay = 0.75f, .zero_debias = true, .name = "unbiased"});
    const braid_out both[] = {w.ref, x};
    braid_op *updates[] = {braid_moving_average_apply(plain, both, 2),
                           braid_moving_average_apply(unbiased, &x, 1)};
    braid_op *update = braid_group(g, "update", updates, 2), *init = braid_global_variables_initializer(g);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    run(s, init, NULL, 0);
    double of_w = 5, of_x = 0, scale = 1;
    for (int i = 1; i <= 6; i++) {
        braid_tensor *fed = braid_tensor_float((float)(i * i));
        run(s, count_up, NULL, 0);
        run(s, update, &(braid_feed){x, fed}, 1);
        braid_tensor_free(fed);
        of_w = 0.75 * of_w + 0.25 * (5 + i);
        of_x = 0.75 * of_x + 0.25 * i * i;
        scale *= 0.75;
        assert_float_equal(problem_value(s, braid_moving_average_of(plain, w.ref).read), (float)of_w, 1e-5f);
        assert_float_equal(problem_value(s, braid_moving_average_of(plain, x).read), (float)of_x, 1e-5f);
        assert_float_equal(problem_value(s, braid_moving_average_of(unbiased, x).read),
                           (float)(of_x / (1 - scale)), 1e-5f);
    }
    braid_session_close(s, st);
    braid_graph_free(g);
}

static void averages_follow_the_definition(void **state)
{
    (void)state;
    check_values(braid_variable_new);
    check_values(braid_variable_resource);
}

// One step of gradient descent halves the distance of w to 3, from 0.5; its average is to see that.
static void check_after_training(problem p)
{
    braid_op *train = braid_minimize(braid_gradient_descent(p.graph, 0.5f), p.loss, BRAID_NONE);
    braid_moving_average *averages =
        braid_moving_average_new(p.graph, &(braid_moving_average_options){.decay = 0.5f});
    braid_push_control(p.graph, &train, 1);
    braid_op *both = braid_moving_average_apply(averages, NULL, 0);
    braid_pop_control(p.graph);
    braid_session *s = problem_start(&p);
    float w, b;
    problem_step(s, &p, both, 1, &w, &b);
    assert_float_equal(w, 1.75f, 1e-6f);
    assert_float_equal(problem_value(s, braid_moving_average_of(averages, p.w.ref).read), 1.125f, 1e-6f);
    problem_finish(s, &p);
}

static void an_update_after_training_takes_the_new_values(void **state)
{
    (void)state;
    check_after_training(problem_make());
    check_after_training(problem_make_resource());
}

static void the_decay_grows_with_the_number_of_updates(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SCALAR);
    braid_out updates = braid_placeholder(g, "updates", BRAID_FLOAT, BRAID_SCALAR);
    braid_moving_average *averages =
        braid_moving_average_new(g, &(braid_moving_average_options){.decay = 0.5f, .num_updates = updates});
    braid_op *update = braid_moving_average_apply(averages, &x, 1);
    braid_op *init = braid_global_variables_initializer(g);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    run(s, init, NULL, 0);
    double want = 0;
    static const float numbers[] = {0, 2, 1000}; // decays 0.1, 0.25 and 0.5
    static const double decays[] = {0.1, 0.25, 0.5};
    for (int i = 0; i < 3; i++) {
        braid_tensor *eight = braid_tensor_float(8), *number = braid_tensor_float(numbers[i]);
        run(s, update, (const braid_feed[]){{x, eight}, {updates, number}}, 2);
        braid_tensor_free(eight);
        braid_tensor_free(number);
        want = decays[i] * want + (1 - decays[i]) * 8;
        assert_float_equal(problem_value(s, braid_moving_average_of(averages, x).read), (float)want, 1e-5f);
    }
    braid_session_close(s, st);
    braid_graph_free(g);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const char *const says[] = {"'x': there is one already", "'n': it is int32", "'u': its shape"};
    for (int i = 0; i < 3; i++) {
        braid_graph *g = braid_graph_new();
        braid_moving_average *averages =
            braid_moving_average_new(g, &(braid_moving_average_options){.decay = 0.5f});
        braid_out x = i == 0   ? braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SCALAR)
                      : i == 1 ? braid_placeholder(g, "n", BRAID_INT32, BRAID_SCALAR)
                               : braid_placeholder(g, "u", BRAID_FLOAT, BRAID_SHAPE(-1));
        const braid_out twice[] = {x, x};
        assert_null(braid_moving_average_apply(averages, twice, 2));
        assert_int_equal(braid_graph_status(g, st), i == 0 ? BRAID_ALREADY_EXISTS : BRAID_INVALID_ARGUMENT);
        if (!strstr(braid_status_message(st), says[i])) fail_msg("%s", braid_status_message(st));
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_average_of_a_variable_builds_the_nodes_of_tensorflow),
        cmocka_unit_test(an_unbiased_average_builds_the_nodes_of_tensorflow),
        cmocka_unit_test(averages_follow_the_definition),
        cmocka_unit_test(an_update_after_training_takes_the_new_values),
        cmocka_unit_test(the_decay_grows_with_the_number_of_updates),
        cmocka_unit_test(wrong_inputs_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
