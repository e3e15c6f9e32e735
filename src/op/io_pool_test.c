// Work that blocks: it holds no thread of its caller's, waits its turn, and can be cancelled while it does.
// labels: concurrent
#include "base/testing/test.h"
#include "base/thread.h"
#include "op/io_pool.h"
#include <stdlib.h>

#define TIMEOUT_NS (10 * INT64_C(1000000000))

typedef struct execution {
    bd_op_ctx ctx;
    bd_step step;
    bd_event began, may_end, ended;
    bool has_run;
} execution;

static braid_op node = {.name = "save", .op_type = "SaveV2"};

static void set_ended(bd_op_ctx *c)
{
    bd_event_set(&BD_CONTAINER_OF(c, execution, ctx)->ended);
}

static void open_execution(execution *e, bd_io_pool *b)
{
    *e = (execution){0};
    e->step = (bd_step){.io_pool = b, .cancellation = bd_cancellation_new(NULL)};
    e->ctx = (bd_op_ctx){.node = &node, .step = &e->step, .done = set_ended};
    bd_event_init(&e->began);
    bd_event_init(&e->may_end);
    bd_event_init(&e->ended);
}

static void close_execution(execution *e)
{
    assert_true(bd_event_wait_until(&e->ended, bd_now_ns() + TIMEOUT_NS));
    bd_cancellation_unref(e->step.cancellation);
    bd_status_fini(&e->ctx.status);
    bd_event_fini(&e->began);
    bd_event_fini(&e->may_end);
    bd_event_fini(&e->ended);
}

static void cancel(execution *e)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_ABORTED, "another part of the step failed");
    bd_cancellation_cancel(e->step.cancellation, why);
}

// A slow disk.
static void block(bd_op_ctx *c)
{
    execution *e = BD_CONTAINER_OF(c, execution, ctx);
    e->has_run = true;
    bd_event_set(&e->began);
    if (!bd_event_wait_until(&e->may_end, bd_now_ns() + TIMEOUT_NS)) abort();
    bd_op_cancelled(c);
}

static void the_caller_goes_on_while_the_work_blocks(void **state)
{
    (void)state;
    bd_io_pool *b = bd_io_pool_new();
    execution e;
    open_execution(&e, b);
    bd_op_run_io(&e.ctx, block);
    assert_true(bd_event_wait_until(&e.began, bd_now_ns() + TIMEOUT_NS));
    assert_false(bd_event_is_set(&e.ended));
    bd_event_set(&e.may_end);
    close_execution(&e);
    bd_io_pool_free(b);
}

enum {
    MANY = 20 // more than the pool has threads
};

static void a_waiting_call_ends_when_it_is_cancelled(void **state)
{
    (void)state;
    bd_io_pool *b = bd_io_pool_new();
    execution slow[MANY], late;
    for (int i = 0; i < MANY; i++) {
        open_execution(&slow[i], b);
        bd_op_run_io(&slow[i].ctx, block);
    }
    open_execution(&late, b);
    bd_op_run_io(&late.ctx, block);
    assert_false(bd_event_is_set(&late.ended));
    cancel(&late);
    assert_true(bd_event_is_set(&late.ended)); // though every thread is held
    assert_error(&late.ctx.status, BRAID_CANCELLED, "SaveV2 was cancelled");
    assert_false(late.has_run);
    close_execution(&late); // its step is over while its record is still queued
    for (int i = 0; i < MANY; i++)
        bd_event_set(&slow[i].may_end);
    for (int i = 0; i < MANY; i++) {
        close_execution(&slow[i]);
        assert_true(slow[i].has_run);
    }
    bd_io_pool_free(b);
}

static void running_calls_finish_and_see_the_cancellation(void **state)
{
    (void)state;
    bd_io_pool *b = bd_io_pool_new();
    execution e;
    open_execution(&e, b);
    bd_op_run_io(&e.ctx, block);
    assert_true(bd_event_wait_until(&e.began, bd_now_ns() + TIMEOUT_NS));
    cancel(&e);
    assert_false(bd_event_is_set(&e.ended));
    bd_event_set(&e.may_end);
    assert_true(bd_event_wait_until(&e.ended, bd_now_ns() + TIMEOUT_NS));
    assert_error(&e.ctx.status, BRAID_CANCELLED, "SaveV2 was cancelled");
    close_execution(&e);
    bd_io_pool_free(b);
}

static void a_cancelled_step_starts_no_node(void **state)
{
    (void)state;
    bd_io_pool *b = bd_io_pool_new();
    for (int i = 0; i < 2; i++) {
        execution e;
        open_execution(&e, i ? b : NULL);
        cancel(&e);
        bd_op_run_io(&e.ctx, block);
        assert_true(bd_event_is_set(&e.ended));
        assert_error(&e.ctx.status, BRAID_CANCELLED, "SaveV2 was cancelled");
        assert_false(e.has_run);
        close_execution(&e);
    }
    bd_io_pool_free(b);
}

static void without_threads_it_runs_here(void **state)
{
    (void)state;
    execution e;
    open_execution(&e, NULL);
    bd_event_set(&e.may_end);
    bd_op_run_io(&e.ctx, block);
    assert_true(bd_event_is_set(&e.ended));
    assert_int_equal(e.ctx.status.code, BRAID_OK);
    close_execution(&e);
}

// Cancelling and starting race: each execution ends once in either case.
static void cancelling_races_with_its_turn(void **state)
{
    (void)state;
    enum {
        ROUNDS = 300
    };
    bd_io_pool *b = bd_io_pool_new();
    for (int i = 0; i < ROUNDS; i++) {
        execution e;
        open_execution(&e, b);
        bd_event_set(&e.may_end);
        bd_op_run_io(&e.ctx, block);
        cancel(&e);
        assert_true(bd_event_wait_until(&e.ended, bd_now_ns() + TIMEOUT_NS));
        assert_true(e.ctx.status.code == BRAID_CANCELLED || e.has_run);
        close_execution(&e);
    }
    bd_io_pool_free(b);
}

static void count_call(void *arg, int64_t i)
{
    atomic_fetch_add(&((atomic_int *)arg)[i], 1);
}

static void share_calls(bd_op_ctx *c)
{
    const bd_io_team team = bd_io_team_of(c);
    assert_true(team.base.threads >= 1);
    atomic_int counts[MANY] = {0};
    const int64_t count = bd_min(team.base.threads, MANY);
    team.base.share(&team.base, count, count_call, counts);
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(counts[i], 1);
}

static void share_and_end(bd_op_ctx *c)
{
    share_calls(c);
    bd_event_set(&BD_CONTAINER_OF(c, execution, ctx)->began);
}

// Also while each thread of the pool has such a function, so that none helps another.
static void a_team_ends_its_loops_though_all_threads_are_busy(void **state)
{
    (void)state;
    bd_io_pool *b = bd_io_pool_new();
    execution all[MANY];
    for (int i = 0; i < MANY; i++) {
        open_execution(&all[i], b);
        bd_op_run_io(&all[i].ctx, share_and_end);
    }
    for (int i = 0; i < MANY; i++) {
        assert_true(bd_event_wait_until(&all[i].began, bd_now_ns() + TIMEOUT_NS));
        close_execution(&all[i]);
    }
    bd_io_pool_free(b);
    execution alone; // in a step without a pool
    open_execution(&alone, NULL);
    bd_op_run_io(&alone.ctx, share_and_end);
    close_execution(&alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_caller_goes_on_while_the_work_blocks),
        cmocka_unit_test(a_waiting_call_ends_when_it_is_cancelled),
        cmocka_unit_test(running_calls_finish_and_see_the_cancellation),
        cmocka_unit_test(a_cancelled_step_starts_no_node),
        cmocka_unit_test(without_threads_it_runs_here),
        cmocka_unit_test(cancelling_races_with_its_turn),
        cmocka_unit_test(a_team_ends_its_loops_though_all_threads_are_busy),
    };
    return BD_RUN_TESTS(tests);
}
