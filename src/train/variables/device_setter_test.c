// Tests of the replica device setter: the device of each node.
#include "base/testing/test.h"

#include <braid/device_setter.h>
#include <braid/log.h>
#include <braid/ops.h>
#include <braid/optimizers.h>
#include <braid/variable_scope.h>
#include <braid/variables.h>
#include <stdio.h>

static braid_cluster *two_ps(void)
{
    BD_STATUS(st);
    braid_cluster *c = braid_cluster_from_hosts("localhost:2220,localhost:2221", "localhost:2222", st);
    assert_ok(st);
    return c;
}

static braid_variable variable(braid_graph *g, const char *name, int64_t floats)
{
    return braid_variable_new(g, name, braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(floats)), true);
}

static const char *device_of(const braid_graph *g, const char *node)
{
    braid_op *op = braid_graph_find(g, node);
    assert_non_null(op);
    return braid_op_requested_device(op);
}

typedef struct placement {
    const char *node, *device;
} placement;

static void expect_devices(const braid_graph *g, const placement *table)
{
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_ok(st);
    for (; table->node; table++) {
        if (strcmp(device_of(g, table->node), table->device) != 0)
            fail_msg("%s is on '%s' and not on '%s'", table->node, device_of(g, table->node), table->device);
    }
}

// A graph with four variables of different sizes, the setter pushed.
static braid_graph *graph_with(const braid_device_setter_options *options, braid_device_setter **setter)
{
    braid_cluster *c = two_ps();
    braid_graph *g = braid_graph_new();
    *setter = braid_replica_device_setter(g, c, options);
    braid_cluster_free(c); // the setter has copied the cluster
    braid_push_device_setter(g, *setter);
    variable(g, "a", 100);
    variable(g, "b", 10);
    variable(g, "c", 10);
    variable(g, "d", 10);
    return g;
}

static void variables_are_dealt_in_turn(void **state)
{
    (void)state;
    braid_device_setter *setter;
    braid_graph *g = graph_with(NULL, &setter);
    expect_devices(g, (placement[]){{"a", "/job:ps/task:0"},
                                    {"b", "/job:ps/task:1"},
                                    {"c", "/job:ps/task:0"},
                                    {"d", "/job:ps/task:1"},
                                    {"a/Assign", "/job:ps/task:0"},
                                    {"a/read", "/job:ps/task:0"},
                                    {"zeros", "/job:worker"},
                                    {NULL, NULL}});
    assert_int_equal(braid_device_setter_bytes(setter, 0), 110 * 4);
    assert_int_equal(braid_device_setter_bytes(setter, 1), 20 * 4);
    braid_graph_free(g);
}

static void greedy_placement_chooses_the_task_with_the_fewest_bytes(void **state)
{
    (void)state;
    braid_device_setter *setter;
    braid_graph *g = graph_with(&(braid_device_setter_options){.strategy = BRAID_PS_GREEDY}, &setter);
    expect_devices(g, (placement[]){{"a", "/job:ps/task:0"},
                                    {"b", "/job:ps/task:1"},
                                    {"c", "/job:ps/task:1"},
                                    {"d", "/job:ps/task:1"},
                                    {NULL, NULL}});
    assert_int_equal(braid_device_setter_bytes(setter, 0), 400);
    assert_int_equal(braid_device_setter_bytes(setter, 1), 120);
    braid_graph_free(g);
}

static void greedy_placement_counts_resource_variables(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_cluster *c = braid_cluster_from_hosts("a:1,b:1", "c:1", st);
    braid_graph *g = braid_graph_new();
    braid_device_setter *setter =
        braid_replica_device_setter(g, c, &(braid_device_setter_options){.strategy = BRAID_PS_GREEDY});
    braid_push_device_setter(g, setter);
    braid_variable_resource(g, "large", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(1000)), true);
    for (int i = 0; i < 3; i++)
        braid_variable_resource(g, "small", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(10)), true);
    assert_int_equal(braid_device_setter_bytes(setter, 0), 4000);
    assert_int_equal(braid_device_setter_bytes(setter, 1), 120);
    braid_graph_free(g);
    braid_cluster_free(c);
}

// Parts of 34, 33 and 33 floats.
static void greedy_placement_deals_parts_by_bytes_and_slots_follow_them(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_cluster *c = two_ps();
    braid_graph *g = braid_graph_new();
    braid_device_setter *setter =
        braid_replica_device_setter(g, c, &(braid_device_setter_options){.strategy = BRAID_PS_GREEDY});
    braid_push_device_setter(g, setter);
    variable(g, "small", 5);
    const braid_partitioner cut = braid_fixed_size_partitioner(3, 0);
    const braid_variable table = braid_variable_get_with(
        g, "table", &(braid_variable_options){.shape = BRAID_SHAPE(100), .partitioner = cut});
    braid_minimize(braid_adagrad(g, 0.1f), braid_reduce_sum(g, braid_square(g, table.read)), BRAID_NONE);
    braid_graph_status(g, st);
    assert_ok(st);
    expect_devices(g, (placement[]){{"small", "/job:ps/task:0"},
                                    {"table/part_0", "/job:ps/task:1"},
                                    {"table/part_1", "/job:ps/task:0"},
                                    {"table/part_2", "/job:ps/task:1"},
                                    {"table/part_1/Adagrad", "/job:ps/task:0"},
                                    {"table/part_2/Adagrad", "/job:ps/task:1"},
                                    {NULL, NULL}});
    assert_int_equal(braid_device_setter_bytes(setter, 0), (5 + 2 * 33) * 4);
    assert_int_equal(braid_device_setter_bytes(setter, 1), (2 * 34 + 2 * 33) * 4);
    braid_graph_free(g);
    braid_cluster_free(c);
}

static void inner_scopes_win(void **state)
{
    (void)state;
    braid_device_setter *setter;
    braid_graph *g = graph_with(&(braid_device_setter_options){.worker_device = "/job:worker/task:3/cpu:0",
                                                               .ps_device = "/job:ps/cpu:0"},
                                &setter);
    braid_push_device(g, "/job:worker/task:1");
    variable(g, "local", 5);
    braid_pop_device(g);
    braid_push_device(g, "/gpu:2");
    braid_no_op(g, "on_gpu");
    braid_pop_device(g);
    variable(g, "e", 5); // the local one did not take a turn
    braid_pop_device(g);
    braid_no_op(g, "outside");
    expect_devices(g, (placement[]){{"zeros", "/job:worker/task:3/device:CPU:0"},
                                    {"a", "/job:ps/task:0/device:CPU:0"},
                                    {"local", "/job:worker/task:1/device:CPU:0"},
                                    {"on_gpu", "/job:worker/task:3/device:GPU:2"},
                                    {"e", "/job:ps/task:0/device:CPU:0"},
                                    {"outside", ""},
                                    {NULL, NULL}});
    braid_graph_free(g);
}

static void slots_follow_their_variables(void **state)
{
    (void)state;
    braid_device_setter *setter;
    braid_graph *g = graph_with(NULL, &setter);
    braid_out loss = BRAID_NONE;
    const char *const names[] = {"a/read", "b/read", "c/read", "d/read"};
    for (int i = 0; i < 4; i++) {
        braid_out part = braid_reduce_sum(g, braid_square(g, braid_graph_find_out(g, names[i])));
        loss = loss.op ? braid_add(g, loss, part) : part;
    }
    braid_minimize(braid_adam(g, 0.1f), loss, BRAID_NONE);
    expect_devices(g, (placement[]){{"a/Adam", "/job:ps/task:0"},
                                    {"a/Adam_1", "/job:ps/task:0"},
                                    {"b/Adam", "/job:ps/task:1"},
                                    {"Adam/update_b/ApplyAdam", "/job:ps/task:1"},
                                    {"beta1_power", "/job:ps/task:0"},
                                    {"Adam/learning_rate", "/job:worker"},
                                    {NULL, NULL}});
    // Three of each size, and the two powers beside the first variable.
    assert_int_equal(braid_device_setter_bytes(setter, 0), 3 * 110 * 4 + 2 * 4);
    assert_int_equal(braid_device_setter_bytes(setter, 1), 3 * 20 * 4);
    braid_graph_free(g);
}

static void without_parameter_servers_the_setter_places_no_variable(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_cluster *c = braid_cluster_from_hosts("", "localhost:2222", st);
    assert_ok(st);
    braid_graph *g = braid_graph_new();
    braid_push_device_setter(g, braid_replica_device_setter(g, c, NULL));
    variable(g, "a", 3);
    expect_devices(g, (placement[]){{"a", ""}, {"zeros", ""}, {NULL, NULL}});
    braid_pop_device(g);
    braid_cluster_free(c);
    braid_graph_free(g);
}

static void a_ps_device_without_job_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_cluster *c = two_ps();
    braid_graph *g = braid_graph_new();
    braid_replica_device_setter(g, c, &(braid_device_setter_options){.ps_device = "/cpu:0"});
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "'/cpu:0' names no job");
    braid_cluster_free(c);
    braid_graph_free(g);
}

static void keep_line(braid_log_level level, const char *message, void *arg)
{
    (void)level;
    snprintf(arg, 256, "%s", message);
}

static void the_log_lists_the_variables_of_each_task_and_the_remedy_of_an_uneven_share(void **state)
{
    (void)state;
    char line[256] = "";
    braid_device_setter *setter;
    braid_graph *g = graph_with(NULL, &setter);
    braid_set_log_sink(keep_line, line);
    braid_device_setter_log(setter);
    braid_set_log_sink(NULL, NULL);
    assert_string_equal(line, "Variables on the parameter servers: /job:ps/task:0 2 variables, 440 bytes; "
                              "/job:ps/task:1 2 variables, 80 bytes; the fullest has 1.7 times an even "
                              "share: place by bytes (BRAID_PS_GREEDY), or part the largest variables");
    variable(g, "e", 10);
    variable(g, "f", 90);
    braid_set_log_sink(keep_line, line);
    braid_device_setter_log(setter); // 450 and 440 bytes, if `e` and `f` take turns
    braid_set_log_sink(NULL, NULL);
    assert_null(strstr(line, "even share"));
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_dealt_in_turn),
        cmocka_unit_test(greedy_placement_chooses_the_task_with_the_fewest_bytes),
        cmocka_unit_test(greedy_placement_counts_resource_variables),
        cmocka_unit_test(greedy_placement_deals_parts_by_bytes_and_slots_follow_them),
        cmocka_unit_test(inner_scopes_win),
        cmocka_unit_test(slots_follow_their_variables),
        cmocka_unit_test(without_parameter_servers_the_setter_places_no_variable),
        cmocka_unit_test(a_ps_device_without_job_is_an_error),
        cmocka_unit_test(the_log_lists_the_variables_of_each_task_and_the_remedy_of_an_uneven_share),
    };
    return BD_RUN_TESTS(tests);
}
