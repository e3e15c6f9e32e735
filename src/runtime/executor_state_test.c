// The executor: variables by reference, and the state of kernels.
// labels: concurrent
#include "runtime/plan.h"
#include "runtime/testing/test_graph.h"
#include "runtime/testing/test_ops.h"

// ---- Variables by reference ----

static void an_error_of_an_uninitialized_variable_names_it(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "weights", BRAID_FLOAT);
    braid_out passed = tg1(g, "RefIdentity", "passed", v);
    braid_out read = tg1(g, "Identity", "read", passed);
    braid_out added = tg2(g, "AssignAdd", "add", v, tg_float(g, NULL, 1));
    braid_out is_set = tg1(g, "IsVariableInitialized", NULL, v);
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    braid_tensor *value;
    tg_try(s, read, NULL, &value, st);
    assert_error(st, BRAID_FAILED_PRECONDITION,
                 "Attempting to use uninitialized value weights (Identity on ");
    tg_try(s, added, NULL, &value, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value weights");
    tg_try(s, v, NULL, &value, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value weights");
    tg_assert_fetch(s, is_set, NULL, 0);
    tg_close(s, g);
}

static void a_reference_is_read_when_its_consumer_runs(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    braid_out init = tg2(g, "Assign", "init", v, tg_float(g, NULL, 1));
    braid_out add = tg2(g, "AssignAdd", "add", v, tg_float(g, NULL, 2));
    braid_out after = tg_identity_after(g, "after", v, add.op);
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    tg_run(s, init.op, st);
    assert_ok(st);
    for (int i = 1; i < 5; i++)
        tg_assert_fetch(s, after, NULL, 1 + 2 * i);
    tg_assert_fetch(s, add, NULL, 11); // fetching a reference reads it
    tg_assert_fetch(s, v, NULL, 11);
    tg_assert_fetch(s, init, NULL, 1);
    tg_close(s, g);
}

// The fetch of a step counter is a later consumer than the increment, as in TensorFlow: training hooks count
// on it.
static void a_counter_fetched_beside_its_increment_is_read_after_it(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "counter", BRAID_FLOAT);
    braid_out init = tg2(g, "Assign", "init", v, tg_float(g, NULL, 0));
    braid_out add = tg2(g, "AssignAdd", "add", v, tg_float(g, NULL, 1));
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    tg_run(s, init.op, st);
    assert_ok(st);
    for (int i = 1; i < 20; i++) {
        braid_tensor *value = NULL;
        const braid_fetch fetch = {v, &value};
        const braid_run_args args = {
            .fetches = &fetch, .fetch_count = 1, .targets = &add.op, .target_count = 1};
        braid_session_run(s, &args, st);
        assert_ok(st);
        assert_float_equal(*(float *)braid_tensor_data(value), i, 0);
        braid_tensor_free(value);
    }
    tg_close(s, g);
}

static void a_fetched_value_of_a_variable_does_not_change(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    braid_out init = tg2(g, "Assign", "init", v, tg_float(g, NULL, 1));
    braid_out add = tg2(g, "AssignAdd", "add", v, tg_float(g, NULL, 2));
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    braid_tensor *first;
    tg_try(s, init, NULL, &first, st);
    assert_ok(st);
    tg_run(s, add.op, st);
    assert_ok(st);
    assert_float_equal(*(float *)braid_tensor_data(first), 1, 0);
    braid_tensor_free(first);
    tg_close(s, g);
}

static void a_reference_that_is_fed_cannot_be_assigned(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    braid_out init = tg2(g, "Assign", "init", v, tg_float(g, NULL, 1)), read = tg1(g, "Identity", "read", v);
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    braid_tensor *value;
    braid_feed feed = {v, braid_tensor_float(5)};
    tg_assert_fetch(s, read, &feed, 5);
    tg_try(s, init, &feed, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Input 0 of node init was passed float from");
    braid_tensor_free((braid_tensor *)feed.value);
    tg_close(s, g);
}

// ---- State ----

static void the_kernel_of_a_stateful_node_is_one_for_all_plans_of_a_session(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out n = braid_output(tg_after(g, "TestNumber", "n", 0, NULL), 0);
    braid_out m = braid_output(tg_after(g, "TestNumber", "m", 0, NULL), 0);
    braid_out copy = tg1(g, "Identity", NULL, n);
    braid_session *s = tg_session(g, NULL);
    tg_assert_fetch(s, n, NULL, 1);
    tg_assert_fetch(s, copy, NULL, 2);
    tg_assert_fetch(s, n, NULL, 3);
    tg_assert_fetch(s, m, NULL, 1);
    BD_STATUS(st);
    braid_session_close(s, st);
    s = tg_session(g, NULL);
    tg_assert_fetch(s, n, NULL, 1); // another session, another kernel
    tg_close(s, g);
}

static void the_state_of_a_node_outlives_the_plan_it_was_made_for(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_device *device = bd_device_new("/job:localhost/replica:0/task:0", "CPU", 0, NULL);
    bd_kernel_store *store = bd_kernel_store_new();
    for (int i = 0; i < 2; i++) {
        braid_graph g;
        bd_graph_init(&g);
        braid_out v = tg_variable(&g, "v", BRAID_FLOAT); // its state holds on to names of the node
        tg2(&g, "Assign", "init", v, tg_float(&g, NULL, 1));
        bd_plan *plan;
        bd_plan_compile(&g, device, store, &plan, st);
        assert_ok(st);
        bd_step step = {.id = 1, .resources = device->resources, .container = "step"};
        bd_plan_run_wait(plan, &step, st);
        assert_ok(st);
        bd_plan_unref(plan);
        bd_graph_fini(&g);
    }
    bd_kernel_store_free(store);
    bd_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_of_an_uninitialized_variable_names_it),
        cmocka_unit_test(a_reference_is_read_when_its_consumer_runs),
        cmocka_unit_test(a_counter_fetched_beside_its_increment_is_read_after_it),
        cmocka_unit_test(a_fetched_value_of_a_variable_does_not_change),
        cmocka_unit_test(a_reference_that_is_fed_cannot_be_assigned),
        cmocka_unit_test(the_kernel_of_a_stateful_node_is_one_for_all_plans_of_a_session),
        cmocka_unit_test(the_state_of_a_node_outlives_the_plan_it_was_made_for),
    };
    return TG_RUN_TESTS_WITH_AND_WITHOUT_REWRITES(tests);
}
