// Optimizers build the nodes that TensorFlow 1.3 built in recorded programs: the nodes up to the gradients
// are the recorded ones, the nodes after them Braid's.
#include "base/testing/test.h"

#include "train/testing/recorded.h"
#include <braid/optimizers.h>

// The first step of the program: Adagrad on two variables of the worker.
static void adagrad_builds_the_recorded_nodes(void **state)
{
    (void)state;
    BD_STATUS(st);
    const char path[] = BD_TEST_DATA_DIR "/golden/downpour/worker0/sess0_graph0.pb";
    const char first[] = "Variable/Adagrad/Initializer/Const";
    braid_graph *want = recorded_graph(path, NULL), *got = recorded_graph(path, first);
    const braid_grad_and_var pairs[] = {
        {.grad = braid_graph_find_out(got, "gradients/add_grad/tuple/control_dependency"),
         .var = braid_graph_find_out(got, "Variable")},
        {.grad = braid_graph_find_out(got, "gradients/add_grad/tuple/control_dependency_1"),
         .var = braid_graph_find_out(got, "Variable_1")}};
    braid_push_device(got, "/job:worker/replica:0/task:0");
    braid_op *train =
        braid_apply_gradients(braid_adagrad(got, 1e-4f), pairs, 2, braid_graph_find_out(got, "local_step"));
    braid_graph_status(got, st);
    assert_ok(st);
    int from = recorded_index(want, first), to = recorded_index(want, braid_op_name(train)) + 1;
    assert_int_equal(braid_graph_num_ops(got), to);
    expect_as_recorded(got, want, from, to, NULL);
    expect_recorded_order(got, want, from, to, NULL);
    braid_graph_free(want);
    braid_graph_free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(adagrad_builds_the_recorded_nodes)};
    return BD_RUN_TESTS(tests);
}
