// The pool: all tasks run once, in order on one thread; its end waits for them; no memory in the steady
// state.
// labels: concurrent
#include "base/alloc.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "base/thread_pool.h"

static bd_thread_pool *new_pool(int threads)
{
    BD_STATUS(st);
    bd_thread_pool *pool;
    bd_thread_pool_new("test", threads, &pool, st);
    assert_ok(st);
    assert_int_equal(bd_thread_pool_threads(pool), threads);
    return pool;
}

// Counts down from `left` and sets the event at 0.
struct countdown {
    atomic_int left;
    bd_event done;
};

static void count_down(void *arg)
{
    struct countdown *c = arg;
    if (atomic_fetch_sub(&c->left, 1) == 1) bd_event_set(&c->done);
}

static void every_task_runs_once(void **state)
{
    (void)state;
    enum {
        TASKS = 20000
    };
    bd_thread_pool *pool = new_pool(3);
    struct countdown c = {.left = TASKS};
    bd_event_init(&c.done);
    for (int i = 0; i < TASKS; i++)
        assert_true(bd_thread_pool_submit(pool, count_down, &c));
    bd_event_wait(&c.done);
    bd_thread_pool_free(pool);
    assert_int_equal(c.left, 0);
    bd_event_fini(&c.done);
}

struct order {
    int values[100];
    int len;
};

struct numbered {
    struct order *order;
    int number;
};

static void note_number(void *arg)
{
    struct numbered *n = arg;
    n->order->values[n->order->len++] = n->number;
}

static void one_thread_keeps_the_order(void **state)
{
    (void)state;
    struct order order = {0};
    struct numbered tasks[100];
    bd_thread_pool *pool = new_pool(1);
    for (int i = 0; i < 100; i++) {
        tasks[i] = (struct numbered){.order = &order, .number = i};
        bd_thread_pool_submit(pool, note_number, &tasks[i]);
    }
    bd_thread_pool_stop(pool);
    assert_int_equal(order.len, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(order.values[i], i);
    bd_thread_pool_free(pool);
}

// Two tasks that meet: each waits until the other has started, so two threads must run them. The last one
// sets the event.
struct meeting {
    bd_event here[2];
    struct countdown left;
};

static void meet(struct meeting *m, int me)
{
    bd_event_set(&m->here[me]);
    bool met = bd_event_wait_until(&m->here[1 - me], bd_deadline_after_ms(30000));
    BD_ASSERT(met);
    count_down(&m->left);
}

static void meet_first(void *arg)
{
    meet(arg, 0);
}

static void meet_second(void *arg)
{
    meet(arg, 1);
}

static void no_task_waits_while_a_thread_sleeps(void **state)
{
    (void)state;
    bd_thread_pool *pool = new_pool(2);
    for (int i = 0; i < 300; i++) {
        struct meeting m = {.left.left = 2};
        bd_event *events[] = {&m.here[0], &m.here[1], &m.left.done};
        for (size_t k = 0; k < BD_COUNTOF(events); k++)
            bd_event_init(events[k]);
        bd_thread_pool_submit(pool, meet_first, &m);
        bd_thread_pool_submit(pool, meet_second, &m);
        bd_event_wait(&m.left.done);
        for (size_t k = 0; k < BD_COUNTOF(events); k++)
            bd_event_fini(events[k]);
    }
    bd_thread_pool_free(pool);
}

struct chain {
    bd_thread_pool *pool;
    int left;
    bool refused;
    bd_event closed;
};

static void submit_next(void *arg)
{
    struct chain *c = arg;
    if (c->left-- > 0)
        bd_thread_pool_submit(c->pool, submit_next, c);
    else
        bd_event_set(&c->closed);
}

static void tasks_may_submit_tasks_without_new_memory(void **state)
{
    (void)state;
    struct chain c = {.pool = new_pool(2), .left = 10};
    bd_event_init(&c.closed);
    bd_thread_pool_submit(c.pool, submit_next, &c);
    bd_event_wait(&c.closed);
    bd_event_fini(&c.closed);
    bd_event_init(&c.closed);
    uint64_t before = bd_alloc_count();
    c.left = 5000;
    bd_thread_pool_submit(c.pool, submit_next, &c);
    bd_event_wait(&c.closed);
    assert_int_equal(bd_alloc_count(), before);
    bd_thread_pool_free(c.pool);
    bd_event_fini(&c.closed);
}

static void submit_after_close(void *arg)
{
    struct chain *c = arg;
    bd_event_wait(&c->closed);
    c->refused = !bd_thread_pool_submit(c->pool, submit_next, c);
}

static void a_closed_pool_refuses_but_finishes(void **state)
{
    (void)state;
    struct chain c = {.pool = new_pool(1)};
    struct countdown queued = {.left = 1};
    bd_event_init(&c.closed);
    bd_event_init(&queued.done);
    bd_thread_pool_submit(c.pool, submit_after_close, &c);
    bd_thread_pool_submit(c.pool, count_down, &queued); // behind a task that waits for the close
    bd_thread_pool_close(c.pool);
    bd_thread_pool_close(c.pool);
    bd_event_set(&c.closed);
    bd_thread_pool_stop(c.pool);
    assert_true(c.refused);
    assert_true(bd_event_is_set(&queued.done));
    assert_false(bd_thread_pool_submit(c.pool, count_down, &queued));
    bd_thread_pool_stop(c.pool);
    bd_thread_pool_free(c.pool);
    bd_thread_pool_free(NULL);
    bd_event_fini(&queued.done);
    bd_event_fini(&c.closed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(one_thread_keeps_the_order),
        cmocka_unit_test(no_task_waits_while_a_thread_sleeps),
        cmocka_unit_test(tasks_may_submit_tasks_without_new_memory),
        cmocka_unit_test(a_closed_pool_refuses_but_finishes),
    };
    return BD_RUN_TESTS(tests);
}
