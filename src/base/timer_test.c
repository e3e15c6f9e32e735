// Timers: order, cancellation, and their end.
// labels: concurrent
#include "base/random.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "base/timer.h"

static bd_timers *new_timers(void)
{
    BD_STATUS(st);
    bd_timers *t;
    bd_timers_new(&t, st);
    assert_ok(st);
    return t;
}

// The functions that ran, in order; used by the timer thread only, read after `done`.
struct journal {
    int numbers[1000];
    int len, expected;
    bd_event done;
};

struct entry {
    struct journal *journal;
    int number;
    int64_t deadline_ns;
    bd_timer_id id;
};

static void note(void *arg)
{
    struct entry *e = arg;
    struct journal *j = e->journal;
    BD_ASSERT(bd_now_ns() >= e->deadline_ns);
    j->numbers[j->len++] = e->number;
    if (j->len == j->expected) bd_event_set(&j->done);
}

static void set_event(void *arg)
{
    bd_event_set(arg);
}

static void timers_run_in_order_of_deadline(void **state)
{
    (void)state;
    enum {
        N = 1000,
        GRID_NS = 100000
    };
    static struct entry entries[N];
    static struct journal journal;
    journal = (struct journal){.expected = N};
    bd_event_init(&journal.done);
    bd_timers *t = new_timers();
    bd_rng rng = bd_rng_init(4);
    int64_t start = bd_deadline_after_ms(200); // all are added before the first is due
    for (int i = 0; i < N; i++) {
        int64_t deadline = start + (int64_t)bd_rng_below(&rng, 100) * GRID_NS;
        entries[i] = (struct entry){.journal = &journal, .number = i, .deadline_ns = deadline};
        bd_timer_add(t, deadline, note, &entries[i]);
    }
    bool in_time = bd_now_ns() < start;
    bd_event_wait(&journal.done);
    for (int i = 1; i < N && in_time; i++) {
        struct entry *a = &entries[journal.numbers[i - 1]], *b = &entries[journal.numbers[i]];
        bool ordered =
            a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns : a->number < b->number;
        assert_true(ordered);
    }
    bd_timers_free(t);
    bd_event_fini(&journal.done);
}

static void cancelled_timers_do_not_run(void **state)
{
    (void)state;
    enum {
        N = 500
    };
    static struct entry entries[N];
    struct journal journal = {.expected = N / 2};
    bd_event_init(&journal.done);
    bd_timers *t = new_timers();
    bd_rng rng = bd_rng_init(5);
    int64_t start = bd_deadline_after_ms(100);
    for (int i = 0; i < N; i++) {
        int64_t deadline = i % 2 ? BD_FOREVER - 1 - (int64_t)bd_rng_below(&rng, 1000)
                                 : start + (int64_t)bd_rng_below(&rng, 1000000);
        entries[i] = (struct entry){.journal = &journal, .number = i, .deadline_ns = deadline};
        entries[i].id = bd_timer_add(t, deadline, note, &entries[i]);
        assert_int_not_equal(entries[i].id, 0);
    }
    for (int i = 1; i < N; i += 2) {
        assert_true(bd_timer_cancel(t, entries[i].id));
        assert_false(bd_timer_cancel(t, entries[i].id));
    }
    bd_event_wait(&journal.done);
    assert_int_equal(journal.len, N / 2);
    for (int i = 0; i < N / 2; i++)
        assert_int_equal(journal.numbers[i] % 2, 0);
    assert_false(bd_timer_cancel(t, entries[0].id));
    bd_timers_free(t);
    bd_event_fini(&journal.done);
}

static void an_earlier_timer_overtakes(void **state)
{
    (void)state;
    bd_timers *t = new_timers();
    bd_event never, now;
    bd_event_init(&never);
    bd_event_init(&now);
    bd_timer_add(t, BD_FOREVER, set_event, &never);
    bd_timer_add(t, bd_deadline_after_ms(3600000), set_event, &never);
    bd_timer_add(t, 0, set_event, &now);
    bd_event_wait(&now);
    bd_timers_free(t); // pending timers do not run
    assert_false(bd_event_is_set(&never));
    bd_event_fini(&never);
    bd_event_fini(&now);
}

// A running function that other threads try to cancel.
struct slow {
    bd_timers *timers;
    bd_timer_id id;
    bd_event started, go_on;
    bool cancelled_itself;
    atomic_bool over;
};

static void run_slowly(void *arg)
{
    struct slow *s = arg;
    bd_event_set(&s->started);
    bd_event_wait(&s->go_on);
    s->cancelled_itself = bd_timer_cancel_wait(s->timers, s->id); // must not wait for itself
    atomic_store(&s->over, true);
}

static void let_go_on(void *arg)
{
    struct slow *s = arg;
    bd_event_set(&s->go_on);
}

static void cancel_wait_waits_for_a_running_function(void **state)
{
    (void)state;
    BD_STATUS(st);
    struct slow s = {.timers = new_timers(), .cancelled_itself = true};
    bd_event_init(&s.started);
    bd_event_init(&s.go_on);
    s.id = bd_timer_add(s.timers, bd_deadline_after_ms(1), run_slowly, &s);
    bd_event_wait(&s.started);
    assert_false(bd_timer_cancel(s.timers, s.id)); // does not wait
    assert_false(atomic_load(&s.over));
    bd_thread thread;
    bd_thread_start(&thread, "go-on", let_go_on, &s, st);
    assert_ok(st);
    assert_false(bd_timer_cancel_wait(s.timers, s.id));
    assert_true(atomic_load(&s.over));
    assert_false(s.cancelled_itself);
    bd_thread_join(&thread);
    bd_timers_free(s.timers);
    bd_timers_free(NULL);
    bd_event_fini(&s.started);
    bd_event_fini(&s.go_on);
}

struct repeat {
    bd_timers *timers;
    int left;
    bd_event done;
};

static void again(void *arg)
{
    struct repeat *r = arg;
    if (--r->left == 0)
        bd_event_set(&r->done);
    else
        bd_timer_add(r->timers, bd_now_ns(), again, r);
}

static void a_function_may_add_timers(void **state)
{
    (void)state;
    struct repeat r = {.timers = new_timers(), .left = 1000};
    bd_event_init(&r.done);
    bd_timer_add(r.timers, 0, again, &r);
    bd_event_wait(&r.done);
    bd_timers_free(r.timers);
    bd_event_fini(&r.done);
}

static void free_service(void *arg)
{
    struct repeat *r = arg;
    bd_timer_add(r->timers, 0, again, r); // does not run any more
    bd_timers_free(r->timers);
    bd_event_set(&r->done);
}

static void a_function_may_free_the_service(void **state)
{
    (void)state;
    struct repeat r = {.timers = new_timers(), .left = 2};
    bd_event_init(&r.done);
    bd_timer_add(r.timers, 0, free_service, &r);
    bd_event_wait(&r.done);
    assert_int_equal(r.left, 2);
    bd_event_fini(&r.done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_run_in_order_of_deadline),
        cmocka_unit_test(cancelled_timers_do_not_run),
        cmocka_unit_test(an_earlier_timer_overtakes),
        cmocka_unit_test(cancel_wait_waits_for_a_running_function),
        cmocka_unit_test(a_function_may_add_timers),
        cmocka_unit_test(a_function_may_free_the_service),
    };
    return BD_RUN_TESTS(tests);
}
