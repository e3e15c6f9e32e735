// deep_mnist builds, node for node, the model, training step and accuracy that TensorFlow 1.3's own program
// built (as it was recorded). The program itself, before cmocka and its short names.
#define main deep_mnist_main
#include "../deep_mnist/deep_mnist.c" // NOLINT(bugprone-suspicious-include)
#undef main

#include "base/testing/test.h"

#include "train/testing/recorded.h"

static void builds_the_graph_of_tensorflow(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *want =
        recorded_graph(BD_TEST_DATA_DIR "/golden/deep_mnist_cnn/worker0/sess0_graph0.pb", NULL);
    braid_cluster *cluster = braid_cluster_from_hosts("localhost:2222", "localhost:2223,localhost:2224", st);
    assert_ok(st);
    braid_graph *got = braid_graph_new();
    braid_device_setter_options options = {.worker_device = "/job:worker/task:0"};
    braid_push_device_setter(got, braid_replica_device_setter(got, cluster, &options));
    mnist_task_flags.learning_rate = 1e-4;
    mnist_model m = build_model(got, 1, 0);
    braid_out accuracy = mnist_accuracy(got, &m);
    braid_graph_status(got, st);
    assert_ok(st);

    int count = recorded_index(want, braid_op_name(accuracy.op)) + 1;
    assert_true(count > 300);
    expect_as_recorded(got, want, 0, count, NULL);
    expect_recorded_order(got, want, 0, count, NULL);
    braid_cluster_free(cluster);
    braid_graph_free(want);
    braid_graph_free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(builds_the_graph_of_tensorflow)};
    return BD_RUN_TESTS(tests);
}
