// Mutexes, conditions, events, once, and the replaceable platform.
// labels: concurrent
#include "base/random.h"
#include "base/testing/test.h"
#include "base/thread.h"

enum {
    THREADS = 4
};

static void run_threads(bd_thread_fn fn, void *arg)
{
    bd_thread threads[THREADS];
    BD_STATUS(st);
    for (int i = 0; i < THREADS; i++) {
        bd_thread_start(&threads[i], "a-name-longer-than-fifteen-bytes", fn, arg, st);
        assert_ok(st);
    }
    for (int i = 0; i < THREADS; i++)
        bd_thread_join(&threads[i]);
}

struct counter {
    bd_mutex mu;
    int value; // guarded by mu
};

static void count_to_1000(void *arg)
{
    struct counter *c = arg;
    for (int i = 0; i < 1000; i++) {
        bd_mutex_lock(&c->mu);
        c->value++;
        bd_mutex_unlock(&c->mu);
    }
}

static void a_mutex_excludes(void **state)
{
    (void)state;
    struct counter c = {.mu = BD_MUTEX_INIT};
    run_threads(count_to_1000, &c);
    assert_int_equal(c.value, THREADS * 1000);
    assert_true(bd_mutex_trylock(&c.mu));
    assert_false(bd_mutex_trylock(&c.mu));
    bd_mutex_unlock(&c.mu);
    bd_mutex_fini(&c.mu);
}

struct turns {
    bd_mutex mu;
    bd_cond changed;
    int next, taken; // guarded by mu
};

// Threads take a number, and go on in the order of numbers.
static void take_turns(void *arg)
{
    struct turns *t = arg;
    bd_mutex_lock(&t->mu);
    int mine = t->taken++;
    for (int round = 0; round < 100; round++) {
        while (t->next % THREADS != mine)
            bd_cond_wait(&t->changed, &t->mu);
        t->next++;
        bd_cond_broadcast(&t->changed);
    }
    bd_mutex_unlock(&t->mu);
}

static void conditions_wake_waiters(void **state)
{
    (void)state;
    struct turns t = {.mu = BD_MUTEX_INIT, .changed = BD_COND_INIT};
    run_threads(take_turns, &t);
    assert_int_equal(t.next, THREADS * 100);
    bd_cond_fini(&t.changed);
    bd_mutex_fini(&t.mu);
}

static void a_wait_ends_at_its_deadline(void **state)
{
    (void)state;
    bd_mutex mu;
    bd_cond cond;
    bd_mutex_init(&mu);
    bd_cond_init(&cond);
    bd_mutex_lock(&mu);
    int64_t deadline = bd_deadline_after_ms(20);
    while (!bd_cond_wait_until(&cond, &mu, deadline)) {}
    assert_true(bd_now_ns() >= deadline);
    assert_true(bd_cond_wait_until(&cond, &mu, -5));
    bd_mutex_unlock(&mu);
    bd_cond_fini(&cond);
    bd_mutex_fini(&mu);
}

struct handover {
    bd_event event;
    int value; // written before the event
};

static void set_value(void *arg)
{
    struct handover *h = arg;
    h->value = 7;
    bd_event_set(&h->event);
}

static void an_event_publishes_and_may_end_at_once(void **state)
{
    (void)state;
    BD_STATUS(st);
    for (int i = 0; i < 200; i++) {
        struct handover h = {0};
        bd_event_init(&h.event);
        assert_false(bd_event_is_set(&h.event));
        bd_thread thread;
        bd_thread_start(&thread, "setter", set_value, &h, st);
        assert_ok(st);
        bd_event_wait(&h.event);
        assert_int_equal(h.value, 7);
        assert_true(bd_event_is_set(&h.event));
        bd_event_fini(&h.event); // maybe before the setter has returned
        memset(&h, 0xff, sizeof h);
        bd_thread_join(&thread);
    }
}

static void a_wait_for_an_event_ends_at_its_deadline(void **state)
{
    (void)state;
    bd_event e;
    bd_event_init(&e);
    assert_false(bd_event_wait_until(&e, bd_deadline_after_ms(10)));
    bd_event_set(&e);
    bd_event_set(&e);
    assert_true(bd_event_wait_until(&e, 0));
    bd_event_fini(&e);
}

static bd_once once = BD_ONCE_INIT;

static void increment(void *arg)
{
    ++*(int *)arg;
}

static void use_once(void *arg)
{
    bd_once_run(&once, increment, arg);
    BD_ASSERT(*(int *)arg == 1);
}

static void once_runs_once_for_all(void **state)
{
    (void)state;
    int runs = 0;
    run_threads(use_once, &runs);
    assert_int_equal(runs, 1);
}

static void deadlines_saturate(void **state)
{
    (void)state;
    assert_true(bd_deadline_after_ms(INT64_MAX) == BD_FOREVER);
    assert_true(bd_deadline_after_ms(-5) <= bd_now_ns());
    assert_true(bd_deadline_left_ms(BD_FOREVER) == INT64_MAX);
    assert_true(bd_deadline_left_ms(0) == 0);
    assert_in_range(bd_deadline_left_ms(bd_deadline_after_ms(3600000)), 3000000, 3600000);
    assert_true(bd_wall_micros() > INT64_C(1500000000000000)); // after July 2017
    assert_true(bd_cpu_count() >= 1);
}

// ---- Another platform ----

static int64_t frozen_now(void)
{
    return 42;
}

static void ones(void *out, size_t len)
{
    memset(out, 1, len);
}

static int locks;

static void counting_lock(bd_mutex *m)
{
    locks++;
    bd_platform_posix.mutex_lock(m);
}

static void everything_goes_through_the_platform(void **state)
{
    (void)state;
    bd_platform other = bd_platform_posix;
    other.now_ns = frozen_now;
    other.random_bytes = ones;
    other.mutex_lock = counting_lock;
    bd_platform_set(&other);
    struct counter c = {.mu = BD_MUTEX_INIT};
    count_to_1000(&c);
    int64_t now = bd_now_ns();
    uint64_t drawn = bd_random_u64();
    bd_platform_set(&bd_platform_posix);
    assert_int_equal(locks, 1000);
    assert_int_equal(now, 42);
    assert_true(drawn == UINT64_C(0x0101010101010101));
    bd_mutex_fini(&c.mu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mutex_excludes),
        cmocka_unit_test(conditions_wake_waiters),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(an_event_publishes_and_may_end_at_once),
        cmocka_unit_test(a_wait_for_an_event_ends_at_its_deadline),
        cmocka_unit_test(once_runs_once_for_all),
        cmocka_unit_test(deadlines_saturate),
        cmocka_unit_test(everything_goes_through_the_platform),
    };
    return BD_RUN_TESTS(tests);
}
