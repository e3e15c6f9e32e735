// Tests of work for threads that wait. labels: concurrent
#include "base/progress.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

// What is polled sets the event that the thread waits for.
typedef struct work {
    bd_progress base;
    bd_event *event;
    int after; // so many polls; 0: never
    pthread_t waiter;
    atomic_int polls, strange, begun, ended, done;
} work;

static void begin(void *arg)
{
    atomic_fetch_add(&((work *)arg)->begun, 1);
}

static bool poll(void *arg)
{
    work *w = arg;
    if (!pthread_equal(pthread_self(), w->waiter)) atomic_fetch_add(&w->strange, 1);
    const bool is_time = atomic_fetch_add(&w->polls, 1) + 1 == w->after;
    if (is_time) bd_event_set(w->event);
    return is_time;
}

static void end(void *arg, bool is_done)
{
    work *w = arg;
    atomic_fetch_add(&w->ended, 1);
    if (is_done) atomic_fetch_add(&w->done, 1);
}

static void add(work *w, bd_event *event, int after)
{
    *w = (work){
        .base = {begin, poll, end, w, NULL, 0}, .event = event, .after = after, .waiter = pthread_self()};
    bd_event_init(event);
    bd_progress_add(&w->base);
}

// Each first wait looks whether the event is set, so it takes some waits of another thread's doing until a
// thread polls longer than once: waits that end at the first poll.
static void have_short_waits(void)
{
    for (int i = 0; i < 16; i++) {
        work w;
        bd_event e;
        add(&w, &e, 1);
        // Not polled yet: the wait ends by its deadline, at once.
        (void)bd_event_wait_polling(&e, bd_now_ns());
        bd_progress_remove(&w.base);
        bd_event_fini(&e);
    }
}

static void a_thread_that_waits_does_the_work(void **state)
{
    (void)state;
    have_short_waits();
    work w;
    bd_event e;
    add(&w, &e, 3);
    // No other thread sets it. This one polls for a while only, and may lose its processor meanwhile.
    while (!bd_event_wait_polling(&e, bd_now_ns())) {}
    assert_int_equal(w.polls, 3);
    assert_int_equal(w.strange, 0);
    assert_int_equal(w.begun, w.ended);
    assert_int_equal(w.done, 1);
    bd_progress_remove(&w.base);
    bd_event_fini(&e);
}

static void a_wait_that_takes_long_sleeps_and_says_so(void **state)
{
    (void)state;
    have_short_waits();
    work w;
    bd_event e;
    add(&w, &e, 0);
    assert_false(bd_event_wait_polling(&e, bd_now_ns() + 20 * BD_POLL_NS));
    assert_int_equal(w.ended, 1);
    assert_int_equal(w.done, 0);
    bd_progress_remove(&w.base);
    bd_event_fini(&e);
}

static void long_waits_are_not_polled(void **state)
{
    (void)state;
    work w;
    bd_event e;
    add(&w, &e, 0);
    for (int i = 0; i < 24; i++)
        (void)bd_event_wait_polling(&e, bd_now_ns() + 2 * BD_POLL_NS);
    const int polls = atomic_load(&w.polls);
    for (int i = 0; i < 8; i++)
        (void)bd_event_wait_polling(&e, bd_now_ns() + 2 * BD_POLL_NS);
    assert_int_equal(w.polls, polls);
    assert_int_equal(w.begun, w.ended); // each wait begins and ends all the same: what is left to others
    bd_progress_remove(&w.base);
    bd_event_fini(&e);
}

typedef struct loop {
    bd_event *event;
    atomic_bool is_over;
} loop;

static void wait_in_a_loop(void *arg)
{
    loop *l = arg;
    while (!atomic_load(&l->is_over))
        (void)bd_event_wait_polling(l->event, bd_now_ns());
}

static void what_was_removed_is_not_polled_any_more(void **state)
{
    (void)state;
    bd_event never;
    bd_event_init(&never);
    loop l = {.event = &never};
    bd_thread thread;
    BD_STATUS(st);
    assert_int_equal(bd_thread_start(&thread, "waiter", wait_in_a_loop, &l, st), BRAID_OK);
    for (int i = 0; i < 1000; i++) {
        work w;
        bd_event e;
        add(&w, &e, 0);
        while (atomic_load(&w.ended) == 0 && i % 10 == 0)
            sched_yield();
        bd_progress_remove(&w.base);
        assert_int_equal(w.begun, w.ended);
        bd_event_fini(&e);
    }
    atomic_store(&l.is_over, true);
    bd_thread_join(&thread);
    bd_event_fini(&never);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_waits_does_the_work),
        cmocka_unit_test(a_wait_that_takes_long_sleeps_and_says_so),
        cmocka_unit_test(long_waits_are_not_polled),
        cmocka_unit_test(what_was_removed_is_not_polled_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
