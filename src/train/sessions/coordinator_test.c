// Coordinators and loops: who stops whom, which error counts, who is waited for.
// labels: concurrent
#include "base/testing/test.h"

#include "base/thread.h"
#include <braid/coordinator.h>

static braid_code run_until_stop(braid_coordinator *c, void *arg, braid_status *st)
{
    (void)arg, (void)st;
    braid_coordinator_wait_for_stop(c, -1);
    return BRAID_OK;
}

static braid_code end_with_error(braid_coordinator *c, void *arg, braid_status *st)
{
    (void)c;
    return bd_fail(st, *(braid_code *)arg, "the disk is gone");
}

static void the_error_of_a_thread_stops_the_others_and_comes_out_of_join(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_coordinator *c = braid_coordinator_new();
    braid_code code = BRAID_DATA_LOSS;
    assert_int_equal(braid_coordinator_start(c, "patient", run_until_stop, NULL, st), BRAID_OK);
    assert_int_equal(braid_coordinator_start(c, "failing", end_with_error, &code, st), BRAID_OK);
    braid_coordinator_join(c, 0, st);
    assert_error(st, BRAID_DATA_LOSS, "the disk is gone");
    assert_true(braid_coordinator_should_stop(c));

    braid_coordinator_clear_stop(c);
    assert_false(braid_coordinator_should_stop(c));
    assert_int_equal(braid_coordinator_status(c, NULL), BRAID_OK);
    braid_status_clear(st);
    assert_int_equal(braid_coordinator_start(c, "second", run_until_stop, NULL, st), BRAID_OK);
    braid_coordinator_request_stop(c, NULL);
    assert_int_equal(braid_coordinator_join(c, 0, st), BRAID_OK);
    braid_coordinator_free(c);
}

static void the_end_of_input_and_of_a_session_are_clean_stops(void **state)
{
    (void)state;
    const braid_code codes[] = {BRAID_OUT_OF_RANGE, BRAID_CANCELLED};
    for (size_t i = 0; i < BD_COUNTOF(codes); i++) {
        BD_STATUS(st);
        braid_coordinator *c = braid_coordinator_new();
        braid_code code = codes[i];
        assert_int_equal(braid_coordinator_start(c, "reader", end_with_error, &code, st), BRAID_OK);
        assert_true(braid_coordinator_wait_for_stop(c, -1));
        assert_int_equal(braid_coordinator_join(c, 0, st), BRAID_OK);
        braid_coordinator_free(c);
    }
}

static void the_first_request_decides(void **state)
{
    (void)state;
    BD_STATUS(st);
    BD_STATUS(first);
    BD_STATUS(second);
    bd_fail(first, BRAID_INTERNAL, "the cause");
    bd_fail(second, BRAID_UNAVAILABLE, "a consequence");
    braid_coordinator *c = braid_coordinator_new();
    braid_coordinator_request_stop(c, first);
    braid_coordinator_request_stop(c, second);
    braid_coordinator_join(c, 0, st);
    assert_error(st, BRAID_INTERNAL, "the cause");
    assert_int_equal(braid_coordinator_join(c, 0, NULL), BRAID_INTERNAL);
    braid_coordinator_clear_stop(c);
    braid_status_clear(st);
    braid_coordinator_request_stop(c, NULL);
    braid_coordinator_request_stop(c, second);
    assert_int_equal(braid_coordinator_join(c, 0, st), BRAID_OK);
    braid_coordinator_free(c);
}

static braid_code run_until_event(braid_coordinator *c, void *arg, braid_status *st)
{
    (void)c, (void)st;
    bd_event_wait(arg);
    return BRAID_OK;
}

static void join_names_the_threads_that_do_not_end(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_event end;
    bd_event_init(&end);
    braid_coordinator *c = braid_coordinator_new();
    assert_int_equal(braid_coordinator_start(c, "stubborn", run_until_event, &end, st), BRAID_OK);
    assert_int_equal(braid_coordinator_start(c, "obedient", run_until_stop, NULL, st), BRAID_OK);
    braid_coordinator_request_stop(c, NULL);
    braid_coordinator_join(c, 1, st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "stubborn");
    braid_status_clear(st);
    bd_event_set(&end);
    assert_int_equal(braid_coordinator_join(c, 0, st), BRAID_OK);
    braid_coordinator_free(c);
    bd_event_fini(&end);
}

static void a_thread_of_the_program_is_waited_for_and_reports_its_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    BD_STATUS(why);
    braid_coordinator *c = braid_coordinator_new();
    braid_coordinated_thread *mine = braid_coordinator_register_thread(c, "mine");
    braid_coordinator_request_stop(c, NULL);
    braid_coordinator_join(c, 1, st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "mine");
    braid_coordinator_clear_stop(c);
    braid_status_clear(st);
    bd_fail(why, BRAID_NOT_FOUND, "no such file");
    braid_coordinated_thread_end(mine, why);
    braid_coordinator_join(c, 0, st);
    assert_error(st, BRAID_NOT_FOUND, "no such file");
    braid_coordinator_free(c);
}

static void a_coordinator_may_be_freed_before_its_threads(void **state)
{
    (void)state;
    braid_coordinator *c = braid_coordinator_new();
    braid_coordinated_thread *mine = braid_coordinator_register_thread(c, "mine");
    braid_coordinator_free(c);
    braid_coordinated_thread_end(mine, NULL); // ASan watches
}

// ---- Loops ----

typedef struct beats {
    int count, wanted;
    int64_t first_ns, last_ns;
} beats;

static braid_code beat(braid_coordinator *c, void *arg, braid_status *st)
{
    beats *b = arg;
    if (b->count++ == 0) b->first_ns = bd_now_ns();
    b->last_ns = bd_now_ns();
    if (b->count == b->wanted) braid_coordinator_request_stop(c, NULL);
    return st->code;
}

static void a_loop_calls_at_once_and_then_by_the_clock(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_coordinator *c = braid_coordinator_new();
    beats b = {.wanted = 4};
    const int64_t before_ns = bd_now_ns();
    assert_int_equal(braid_looper_start(c, &(braid_looper){.fn = beat, .arg = &b, .every_seconds = 0.02}, st),
                     BRAID_OK);
    assert_int_equal(braid_coordinator_join(c, 0, st), BRAID_OK);
    assert_int_equal(b.count, 4);
    assert_true(b.last_ns - before_ns >= 60000000);
    braid_coordinator_free(c);
}

static void a_request_ends_the_wait_of_a_loop(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_coordinator *c = braid_coordinator_new();
    beats b = {.wanted = 1}; // the request comes with the first call, an hour before the second
    assert_int_equal(braid_looper_start(c, &(braid_looper){.fn = beat, .arg = &b, .every_seconds = 3600}, st),
                     BRAID_OK);
    assert_int_equal(braid_coordinator_join(c, 0, st), BRAID_OK);
    assert_int_equal(b.count, 1);
    braid_coordinator_free(c);
}

static void a_loop_ends_with_the_error_of_its_function(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_coordinator *c = braid_coordinator_new();
    braid_code code = BRAID_PERMISSION_DENIED;
    assert_int_equal(braid_looper_start(c, &(braid_looper){.fn = end_with_error, .arg = &code}, st),
                     BRAID_OK);
    braid_coordinator_join(c, 0, st);
    assert_error(st, BRAID_PERMISSION_DENIED, "the disk is gone");
    braid_status_clear(st);
    braid_looper_start(c, &(braid_looper){.fn = beat, .every_seconds = -1}, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "every -1 seconds");
    braid_coordinator_free(c);
}

static void count_free(void *arg)
{
    ++*(int *)arg;
}

static braid_code do_nothing(braid_coordinator *c, void *arg, braid_status *st)
{
    (void)c, (void)arg;
    return st->code;
}

static void the_argument_of_a_loop_is_freed_when_it_ends_or_does_not_start(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_coordinator *c = braid_coordinator_new();
    int ended = 0, refused = 0;
    braid_looper_start(c, &(braid_looper){.fn = do_nothing, .arg = &ended, .free = count_free}, st);
    assert_ok(st);
    braid_looper_start(c, &(braid_looper){.arg = &refused, .free = count_free}, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "needs a function");
    assert_int_equal(refused, 1);
    braid_status_clear(st);
    braid_coordinator_request_stop(c, NULL);
    assert_int_equal(braid_coordinator_join(c, 0, st), BRAID_OK);
    assert_int_equal(ended, 1);
    braid_coordinator_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_error_of_a_thread_stops_the_others_and_comes_out_of_join),
        cmocka_unit_test(the_end_of_input_and_of_a_session_are_clean_stops),
        cmocka_unit_test(the_first_request_decides),
        cmocka_unit_test(join_names_the_threads_that_do_not_end),
        cmocka_unit_test(a_thread_of_the_program_is_waited_for_and_reports_its_error),
        cmocka_unit_test(a_coordinator_may_be_freed_before_its_threads),
        cmocka_unit_test(a_loop_calls_at_once_and_then_by_the_clock),
        cmocka_unit_test(a_request_ends_the_wait_of_a_loop),
        cmocka_unit_test(a_loop_ends_with_the_error_of_its_function),
        cmocka_unit_test(the_argument_of_a_loop_is_freed_when_it_ends_or_does_not_start),
    };
    return BD_RUN_TESTS(tests);
}
