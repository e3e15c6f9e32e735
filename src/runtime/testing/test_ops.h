// Ops for tests of the runtime beside real ones: they wait, fail, count and meet, so they are stateful: no
// rewrite touches them. Include it in one file of the test.
//
//     TestWait() -> (y: float)            async; ends when test_wait_end says so, or with Cancelled
//     TestAsync(x: T) -> (y: T)           async; ends before its start returns
//     TestFail(x: T) -> (y: T)            InvalidArgument "told to fail"
//     TestLack() -> (y: float)            sets no output
//     TestCount(x: T) -> (y: T)           counts its executions under its node's name: test_count
//     TestNumber() -> (n: int32)          stateful: 1, 2, 3, ... for each bound kernel
//     TestMeet(x: T) -> (y: T)            expensive; waits until as many as test_meet_expect run at once
//     TestTaken(x: T) -> (y: T)           waits until the value test_taken_key of the step has been received
#ifndef BD_RUNTIME_TESTING_TEST_OPS_H
#define BD_RUNTIME_TESTING_TEST_OPS_H

#include "base/alloc.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

#define TEST_DEADLINE_MS 60000 // longer than anything takes under a sanitizer

// ---- TestWait ----

typedef struct test_waiter {
    bd_op_ctx *ctx;
    bd_cancel_hook hook;
    bool is_hooked;
    struct test_waiter *next;
} test_waiter;

static struct {
    bd_mutex mu;
    bd_cond changed;
    test_waiter *waiting;  // guarded by mu
    bd_map counts;         // guarded by mu: executions by node name
    int met, meeting_size; // guarded by mu
} test_world = {.mu = BD_MUTEX_INIT, .changed = BD_COND_INIT};

// Removes the waiter. Returns false when another thread has removed it.
static bool test_take_waiter(test_waiter *w)
{
    bd_mutex_lock(&test_world.mu);
    test_waiter **link = &test_world.waiting;
    while (*link && *link != w)
        link = &(*link)->next;
    bool is_mine = *link != NULL;
    if (is_mine) *link = w->next;
    bd_mutex_unlock(&test_world.mu);
    return is_mine;
}

static void test_wait_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    (void)why;
    test_waiter *w = BD_CONTAINER_OF(hook, test_waiter, hook);
    if (!test_take_waiter(w)) return;
    bd_op_ctx *c = w->ctx;
    bd_free(w);
    bd_op_fail(c, BRAID_CANCELLED, "the wait was cancelled");
    bd_op_done(c);
}

static void test_wait_start(bd_op_ctx *c)
{
    test_waiter *w = bd_calloc(1, sizeof *w);
    w->ctx = c;
    w->hook.fn = test_wait_cancelled;
    bd_mutex_lock(&test_world.mu);
    w->next = test_world.waiting;
    test_world.waiting = w;
    // Under the lock, so that no end is handled before the hook is added.
    w->is_hooked = c->step->cancellation && bd_cancellation_add(c->step->cancellation, &w->hook);
    bool is_cancelled = c->step->cancellation && !w->is_hooked;
    bd_cond_broadcast(&test_world.changed);
    bd_mutex_unlock(&test_world.mu);
    if (is_cancelled) test_wait_cancelled(&w->hook, NULL);
}

// Blocks until `n` nodes wait.
static inline void test_wait_for_waiters(int n)
{
    int64_t deadline = bd_deadline_after_ms(TEST_DEADLINE_MS);
    bd_mutex_lock(&test_world.mu);
    for (;;) {
        int count = 0;
        for (test_waiter *w = test_world.waiting; w; w = w->next)
            count++;
        if (count >= n) break;
        if (bd_cond_wait_until(&test_world.changed, &test_world.mu, deadline)) break;
    }
    bd_mutex_unlock(&test_world.mu);
}

// Ends one waiting node with this value. Returns false when no node waits.
static inline bool test_wait_end(float value)
{
    bd_mutex_lock(&test_world.mu);
    test_waiter *w = test_world.waiting;
    if (w) test_world.waiting = w->next;
    bd_mutex_unlock(&test_world.mu);
    if (!w) return false;
    bd_op_ctx *c = w->ctx;
    if (w->is_hooked) bd_cancellation_remove(c->step->cancellation, &w->hook);
    bd_free(w);
    braid_tensor *y = bd_output(c, 0, BRAID_FLOAT, &BD_SCALAR);
    if (y) bd_tensor_f32(y)[0] = value;
    bd_op_done(c);
    return true;
}

// ---- The others ----

static void test_async_start(bd_op_ctx *c)
{
    bd_output_set(c, 0, bd_input(c, 0));
    bd_op_done(c);
}

static void test_fail_run(bd_op_ctx *c)
{
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "told to fail");
}

static void test_lack_run(bd_op_ctx *c)
{
    (void)c;
}

static void test_count_run(bd_op_ctx *c)
{
    bd_mutex_lock(&test_world.mu);
    uintptr_t count = (uintptr_t)bd_map_get(&test_world.counts, c->node->name);
    bd_map_put(&test_world.counts, c->node->name, (void *)(count + 1));
    bd_mutex_unlock(&test_world.mu);
    bd_output_set(c, 0, bd_input(c, 0));
}

// How often the TestCount node of this name has run; starts again from 0.
static inline int test_count(const char *name)
{
    bd_mutex_lock(&test_world.mu);
    int count = (int)(uintptr_t)bd_map_remove(&test_world.counts, name);
    bd_mutex_unlock(&test_world.mu);
    return count;
}

static void test_number_run(bd_op_ctx *c)
{
    atomic_int *number = c->state;
    braid_tensor *n = bd_output(c, 0, BRAID_INT32, &BD_SCALAR);
    if (n) bd_tensor_i32(n)[0] = atomic_fetch_add(number, 1) + 1;
}

static inline void test_meet_expect(int size)
{
    bd_mutex_lock(&test_world.mu);
    test_world.met = 0;
    test_world.meeting_size = size;
    bd_cond_broadcast(&test_world.changed);
    bd_mutex_unlock(&test_world.mu);
}

// Blocks until `n` nodes have come.
static inline void test_meet_await(int n)
{
    const int64_t deadline = bd_deadline_after_ms(TEST_DEADLINE_MS);
    bd_mutex_lock(&test_world.mu);
    while (test_world.met < n)
        if (bd_cond_wait_until(&test_world.changed, &test_world.mu, deadline)) break;
    bd_mutex_unlock(&test_world.mu);
}

static void test_meet_run(bd_op_ctx *c)
{
    int64_t deadline = bd_deadline_after_ms(TEST_DEADLINE_MS);
    bd_mutex_lock(&test_world.mu);
    test_world.met++;
    bd_cond_broadcast(&test_world.changed);
    bool is_late = false;
    while (test_world.met < test_world.meeting_size && !is_late)
        is_late = bd_cond_wait_until(&test_world.changed, &test_world.mu, deadline);
    bd_mutex_unlock(&test_world.mu);
    if (is_late) bd_op_fail(c, BRAID_DEADLINE_EXCEEDED, "the others did not come");
    bd_output_set(c, 0, bd_input(c, 0));
}

// A key of the step's rendezvous.
static const char *test_taken_key;

// A value can be sent again once it has been received.
static void test_taken_run(bd_op_ctx *c)
{
    bd_rendezvous *r = c->step->rendezvous;
    const bd_rendezvous_key key = bd_rendezvous_key_of(test_taken_key);
    const int64_t deadline = bd_deadline_after_ms(TEST_DEADLINE_MS);
    bool is_taken = false;
    while (!is_taken && bd_now_ns() < deadline) {
        BD_STATUS(st);
        is_taken = r->ops->send(r, &key, bd_input(c, 0), false, st) == BRAID_OK;
    }
    if (!is_taken) bd_op_fail(c, BRAID_DEADLINE_EXCEEDED, "nobody took it");
    bd_output_set(c, 0, bd_input(c, 0));
}

// ---- The table: these ops, and the real ones that tests use ----

// clang-format does not converge on this list.
// clang-format off
#define TEST_REAL_OPS(X) \
    X(Add) X(Assign) X(AssignAdd) X(Const) X(ControlTrigger) X(Enter) X(Exit) X(Identity) \
    X(IsVariableInitialized) X(Less) X(LoopCond) X(MatMul) X(Merge) X(Mul) X(Neg) X(NextIteration) X(NoOp) \
    X(Placeholder) X(RefIdentity) X(RefSwitch) X(Shape) X(Switch)
// clang-format on

#define TEST_DECLARE(NAME) extern const bd_op bd_op_##NAME;
TEST_REAL_OPS(TEST_DECLARE)
TEST_DECLARE(VariableV2)
TEST_DECLARE(_Arg)
TEST_DECLARE(_Recv)
TEST_DECLARE(_Retval)
TEST_DECLARE(_Send)

#define TEST_REAL(NAME) {#NAME, &bd_op_##NAME},
#define TEST_OP(NAME, ...)                                                                                   \
    {                                                                                                        \
#NAME, &(const bd_op)                                                                                \
        {                                                                                                    \
            .name = #NAME, .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, __VA_ARGS__                   \
        }                                                                                                    \
    }
#define TEST_UNARY .signature = "(x: T) -> (y: T)", .attrs = "T:type", .shape = bd_shape_fn_unchanged

// Sorted by name, as bytes.
const bd_op_entry bd_op_table[] = {
    TEST_REAL_OPS(TEST_REAL)
        TEST_OP(TestAsync, TEST_UNARY, .kernels = BD_KERNELS({.start = test_async_start})),
    TEST_OP(TestCount, TEST_UNARY, .kernels = BD_KERNELS({.run = test_count_run})),
    TEST_OP(TestFail, TEST_UNARY, .kernels = BD_KERNELS({.run = test_fail_run})),
    TEST_OP(TestLack, .signature = "() -> (y: float)", .kernels = BD_KERNELS({.run = test_lack_run})),
    TEST_OP(TestMeet, TEST_UNARY,
            .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = test_meet_run})),
    {"TestNumber",
     &(const bd_op){.name = "TestNumber",
                    .signature = "() -> (n: int32)",
                    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
                    .shape = bd_shape_fn_scalar,
                    .kernels = BD_KERNELS({.state_size = sizeof(atomic_int), .run = test_number_run})}},
    TEST_OP(TestTaken, TEST_UNARY, .kernels = BD_KERNELS({.run = test_taken_run})),
    TEST_OP(TestWait, .signature = "() -> (y: float)", .shape = bd_shape_fn_scalar,
            .kernels = BD_KERNELS({.start = test_wait_start})),
    TEST_REAL(VariableV2) TEST_REAL(_Arg) TEST_REAL(_Recv) TEST_REAL(_Retval) TEST_REAL(_Send)};
const size_t bd_op_table_len = BD_COUNTOF(bd_op_table);

#endif
