// The MPI engine with a plugin that moves messages within the process: messages, what is given up, and the
// beginning and the end.
// labels: concurrent
#include "base/alloc.h"
#include "base/clock.h"
#include "cluster/rpc/mpi_engine.h"
#include "cluster/rpc/testing/fake_mpi.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
    PATIENCE_MS = 30000,
    MOMENT_MS = 50
};

// ---- Messages ----

typedef struct result {
    bd_event has_come;
    bool is_whole;
    int times;
} result;

static void came(void *arg, bool is_whole)
{
    result *r = arg;
    r->is_whole = is_whole;
    r->times++;
    bd_event_set(&r->has_come);
}

static bool is_whole(result *r)
{
    assert_true(bd_event_wait_until(&r->has_come, bd_deadline_after_ms(PATIENCE_MS)));
    assert_int_equal(r->times, 1);
    return r->is_whole;
}

typedef struct fixture {
    bd_mpi *m;
    result sent, received;
    char from[8], to[8];
} fixture;

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    fake_mpi_set_up();
    bd_event_init(&f->sent.has_come);
    bd_event_init(&f->received.has_come);
    strcpy(f->from, "tensor");
    f->m = bd_mpi_new_with(&fake_mpi_plugin);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    fake_mpi_tear_down();
    bd_event_fini(&f->sent.has_come);
    bd_event_fini(&f->received.has_come);
    bd_free(f);
    return 0;
}

static void start(fixture *f)
{
    bd_event_set(&fake_mpi_world.may_start);
    bd_mpi_start(f->m);
    const int64_t deadline_ns = bd_deadline_after_ms(PATIENCE_MS);
    while (bd_mpi_size(f->m) == 0) // ends: the thread starts MPI at once
        assert_true(bd_now_ns() < deadline_ns);
}

static uint64_t receive_message(fixture *f)
{
    const uint64_t id = bd_mpi_next_id(f->m);
    bd_mpi_receive(f->m, id, 0, f->to, sizeof f->to, came, &f->received);
    return id;
}

static uint64_t send_message(fixture *f, int tag)
{
    const uint64_t id = bd_mpi_next_id(f->m);
    bd_mpi_send(f->m, id, 0, tag, f->from, sizeof f->from, came, &f->sent);
    return id;
}

// ---- Tests ----

static void a_message_goes_to_the_receive_with_its_tag(void **state)
{
    fixture *f = *state;
    start(f);
    assert_int_equal(bd_mpi_size(f->m), FAKE_MPI_RANKS);
    assert_int_equal(bd_mpi_rank(f->m), FAKE_MPI_RANK);
    send_message(f, bd_mpi_tag(receive_message(f)));
    assert_true(is_whole(&f->received));
    assert_true(is_whole(&f->sent));
    assert_string_equal(f->to, "tensor");
    bd_mpi_end(f->m);
    assert_true(bd_event_is_set(&fake_mpi_world.is_finalized));
}

static void a_receive_that_is_given_up_ends(void **state)
{
    fixture *f = *state;
    start(f);
    bd_mpi_give_up(f->m, receive_message(f));
    assert_false(is_whole(&f->received));
    bd_mpi_end(f->m);
}

static void giving_up_what_is_over_does_not_touch_the_next_message(void **state)
{
    fixture *f = *state;
    start(f);
    const uint64_t first = receive_message(f);
    send_message(f, bd_mpi_tag(first));
    assert_true(is_whole(&f->received));
    assert_true(is_whole(&f->sent));
    bd_mpi_give_up(f->m, first);
    result again = {0};
    bd_event_init(&again.has_come);
    const uint64_t id = bd_mpi_next_id(f->m), other = bd_mpi_next_id(f->m);
    bd_mpi_receive(f->m, id, 0, f->to, sizeof f->to, came, &again);
    bd_mpi_send(f->m, other, 0, bd_mpi_tag(id), f->from, sizeof f->from, came, &again);
    bd_mpi_end(f->m); // after the messages
    assert_int_equal(again.times, 2);
    assert_true(again.is_whole);
    bd_event_fini(&again.has_come);
}

static void at_the_end_receives_end_and_sends_that_are_not_received_are_dropped(void **state)
{
    fixture *f = *state;
    start(f);
    const uint64_t received = receive_message(f);
    send_message(f, bd_mpi_tag(received) + 1);
    bd_mpi_end(f->m);
    assert_false(is_whole(&f->received));
    assert_int_equal(f->sent.times, 0);
    assert_int_equal(fake_mpi_world.dropped, 1);
    assert_true(bd_event_is_set(&fake_mpi_world.is_finalized));
}

static void a_message_that_mpi_refuses_ends(void **state)
{
    fixture *f = *state;
    start(f);
    fake_mpi_world.refuses = true; // no message is in progress
    send_message(f, 1);
    assert_false(is_whole(&f->sent));
    bd_mpi_end(f->m);
}

static void an_engine_whose_mpi_does_not_start_is_never_ready(void **state)
{
    fixture *f = *state;
    fake_mpi_world.error = "no network";
    bd_event_set(&fake_mpi_world.may_start);
    bd_mpi_start(f->m);
    bd_mpi_end(f->m); // its thread has ended
    assert_false(bd_event_is_set(&fake_mpi_world.is_finalized));
}

static void let_it_start(void *arg)
{
    bd_event *never = arg;
    bd_event_wait_until(never, bd_deadline_after_ms(MOMENT_MS));
    bd_event_set(&fake_mpi_world.may_start);
}

// A short program ends before the other ranks have started MPI.
static void the_end_waits_until_mpi_has_started(void **state)
{
    BD_STATUS(st);
    fixture *f = *state;
    bd_thread thread;
    bd_event never;
    bd_event_init(&never);
    bd_mpi_start(f->m);
    assert_int_equal(bd_mpi_size(f->m), 0);
    assert_int_equal(bd_thread_start(&thread, "late", let_it_start, &never, st), BRAID_OK);
    bd_mpi_end(f->m);
    assert_true(bd_event_is_set(&fake_mpi_world.is_finalized));
    bd_thread_join(&thread);
    bd_event_fini(&never);
}

static void an_engine_that_is_not_started_ends(void **state)
{
    const fixture *f = *state;
    bd_mpi_end(f->m);
    bd_mpi_end(NULL);
    assert_int_equal(bd_mpi_size(NULL), 0);
}

// MPI does not encrypt.
static void tasks_with_certificates_use_no_mpi_unless_it_is_turned_on(void **state)
{
    (void)state;
    assert_null(bd_mpi_new(true));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_message_goes_to_the_receive_with_its_tag),
        TEST(a_receive_that_is_given_up_ends),
        TEST(giving_up_what_is_over_does_not_touch_the_next_message),
        TEST(at_the_end_receives_end_and_sends_that_are_not_received_are_dropped),
        TEST(a_message_that_mpi_refuses_ends),
        TEST(an_engine_whose_mpi_does_not_start_is_never_ready),
        TEST(the_end_waits_until_mpi_has_started),
        TEST(an_engine_that_is_not_started_ends),
        cmocka_unit_test(tasks_with_certificates_use_no_mpi_unless_it_is_turned_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
