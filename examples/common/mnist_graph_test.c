// mnist_replica builds, node for node, the graph that TensorFlow 1.3's own program built (as recorded),
// without the nodes for checkpoints. The program itself comes before cmocka and its short names.
#define main mnist_replica_main
#include "../mnist_replica/mnist_replica.c" // NOLINT(bugprone-suspicious-include)
#undef main

#include "base/testing/test.h"

#include "train/sessions/sync_replicas.h"
#include "train/testing/recorded.h"

#define RECORDED(name) BD_TEST_DATA_DIR "/golden/" name "/worker0/sess0_graph0.pb"

// Nodes that Braid does not build yet.
static const char savers[] = "save/";

// The graph of a worker, with the nodes of the monitored session and of the hook of synchronous training.
static braid_graph *built_graph(const char *ps_hosts)
{
    BD_STATUS(st);
    braid_cluster *cluster = braid_cluster_from_hosts(ps_hosts, "localhost:2223,localhost:2224", st);
    assert_ok(st);
    braid_graph *g = braid_graph_new();
    braid_device_setter_options options = {.worker_device = "/job:worker/task:0/cpu:0",
                                           .ps_device = "/job:ps/cpu:0"};
    braid_push_device_setter(g, braid_replica_device_setter(g, cluster, &options));
    mnist_task_flags.learning_rate = 0.01;
    const mnist_model m = build_model(g, 2, 0);
    if (m.sync) train_build_first_tokens(m.sync, -1);
    braid_scaffold_finalize(&(braid_scaffold){0}, g);
    braid_graph_status(g, st);
    assert_ok(st);
    braid_cluster_free(cluster);
    return g;
}

static void builds_the_graph_of_tensorflow(void **state)
{
    (void)state;
    braid_graph *want = recorded_graph(RECORDED("mnist_replica-async-1ps"), NULL);
    braid_graph *got = built_graph("localhost:2222");
    int count = braid_graph_num_ops(want);
    assert_true(count > 200);
    expect_as_recorded(got, want, 0, count, savers);
    expect_recorded_order(got, want, 0, count, savers);
    braid_graph_free(want);
    braid_graph_free(got);
}

// With two parameter servers variables alternate, and slots are placed with their variables: as recorded for
// the synchronous program, whose variables are the same.
static void variables_alternate_between_two_parameter_servers(void **state)
{
    (void)state;
    braid_graph *want = recorded_graph(RECORDED("mnist_replica-sync-2ps"), NULL);
    braid_graph *got = built_graph("localhost:2222,localhost:2220");
    int count;
    const braid_out *variables = braid_collection(got, BRAID_GLOBAL_VARIABLES, &count);
    assert_int_equal(count, 15);
    for (int i = 0; i < count; i++) {
        braid_op *w = braid_graph_find(want, braid_op_name(variables[i].op));
        assert_non_null(w);
        assert_string_equal(braid_op_requested_device(variables[i].op), braid_op_requested_device(w));
    }
    const char *const inits[] = {"init/NoOp", "init/NoOp_1", "init"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            recorded_differences(braid_graph_find(got, inits[i]), braid_graph_find(want, inits[i])), 0);
    }
    braid_graph_free(want);
    braid_graph_free(got);
}

// The nodes of synchronous training. One differs from TensorFlow's: the step in the tokens, which is read
// there without waiting for the update.
static void synchronous_replicas_have_the_nodes_of_tensorflow(void **state)
{
    (void)state;
    static const char *const begin[] = {"mnist_sync_replicas/", "sync_", "Assign", "Adam/", "Fill_1"};
    braid_graph *want = recorded_graph(RECORDED("mnist_replica-sync-2ps"), NULL);
    flags.sync_replicas = true;
    braid_graph *got = built_graph("localhost:2222,localhost:2220");
    flags.sync_replicas = false;
    int compared = 0;
    for (int i = 0; i < braid_graph_num_ops(want); i++) {
        const braid_op *w = braid_graph_op(want, i);
        const char *name = braid_op_name(w);
        bool counts = false;
        for (size_t k = 0; k < BD_COUNTOF(begin); k++)
            counts = counts || strncmp(name, begin[k], strlen(begin[k])) == 0;
        if (!counts) continue;
        const braid_op *g = braid_graph_find(got, name);
        if (!g) fail_msg("%s is not there", name);
        assert_int_equal(recorded_differences(g, w), 0);
        compared++;
    }
    assert_int_equal(compared, 60);
    braid_graph_free(want);
    braid_graph_free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_the_graph_of_tensorflow),
        cmocka_unit_test(variables_alternate_between_two_parameter_servers),
        cmocka_unit_test(synchronous_replicas_have_the_nodes_of_tensorflow),
    };
    return BD_RUN_TESTS(tests);
}
