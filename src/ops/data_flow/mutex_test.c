// Tests of mutexes: one holder at a time, in the order of their requests.
// labels: concurrent
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

typedef struct mutex_nodes {
    op_live *live;
    braid_op *lock;
} mutex_nodes;

static mutex_nodes new_mutex(const char *attrs)
{
    BD_STATUS(st);
    mutex_nodes n = {.live = op_live_new()};
    const braid_out handle = {op_test_node(n.live->graph, "MutexV2", attrs, NULL, 0), 0};
    n.lock = op_test_node(n.live->graph, "MutexLock", NULL, &handle, 1);
    if (braid_graph_status(n.live->graph, st)) fail_msg("%s", braid_status_message(st));
    return n;
}

static op_execution *ask(const mutex_nodes *n)
{
    return op_live_start(n->live, n->lock, "");
}

static void one_holds_it_at_a_time(void **state)
{
    (void)state;
    mutex_nodes n = new_mutex("shared_name=m");
    op_execution *first = ask(&n), *second = ask(&n), *third = ask(&n);
    op_execution_wait(first);
    assert_ok(&first->ctx.status);
    assert_false(op_execution_has_ended(second));
    op_execution_free(first); // and with it the lock
    op_execution_wait(second);
    assert_false(op_execution_has_ended(third));
    op_execution_free(second);
    op_execution_wait(third);
    assert_ok(&third->ctx.status);
    op_execution_free(third);
    op_live_free(n.live);
}

static void waits_may_be_cancelled(void **state)
{
    (void)state;
    mutex_nodes n = new_mutex("shared_name=m");
    op_execution *first = ask(&n), *second = ask(&n), *third = ask(&n);
    op_execution_wait(first);
    op_execution_cancel(second);
    op_execution_expect(second, "Cancelled: Lock acquisition operation was cancelled");
    op_execution_free(first);
    op_execution_wait(third);
    op_execution_free(third);
    op_live_free(n.live);
}

static void clearing_its_container_ends_waits(void **state)
{
    (void)state;
    mutex_nodes n = new_mutex("shared_name=m; container=there");
    op_execution *first = ask(&n), *second = ask(&n);
    op_execution_wait(first);
    bd_resources_clear(n.live->resources, "there");
    op_execution_expect(second, "Cancelled: Lock acquisition operation was cancelled");
    op_execution *other = ask(&n); // a new mutex of that name
    op_execution_wait(other);
    op_execution_free(first);
    op_execution_free(other);
    op_live_free(n.live);
}

static void a_lock_is_consumed(void **state)
{
    (void)state;
    mutex_nodes n = new_mutex("shared_name=m");
    const braid_out held = {n.lock, 0};
    braid_op *consume = op_test_node(n.live->graph, "ConsumeMutexLock", NULL, &held, 1);
    for (int i = 0; i < 2; i++) // and free again afterwards
        op_live_run(n.live, consume, "", "");
    op_live_free(n.live);
    static const op_case cases[] = {
        {"ConsumeMutexLock", NULL, "variant[]",
         "InvalidArgument: Expected input to contain a SharedLockReleaser object, but saw variant: 'an empty variant'"},
        {"ConsumeMutexLock", NULL, "variant[1]",
         "InvalidArgument: Expected input to be a scalar, saw shape: [1]"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {{"MutexV2", NULL, "", "[]"},
                                           {"ConsumeMutexLock", NULL, "variant[]", ""}};
    OP_TEST_SHAPES(shapes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_holds_it_at_a_time),
        cmocka_unit_test(waits_may_be_cancelled),
        cmocka_unit_test(clearing_its_container_ends_waits),
        cmocka_unit_test(a_lock_is_consumed),
    };
    return BD_RUN_TESTS(tests);
}
