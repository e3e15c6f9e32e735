// Steps of a task: tensors that are asked for, or pushed, before, while and after a step runs.
#include "base/alloc.h"
#include "base/clock.h"
#include "cluster/worker/remote_rendezvous.h"
#include "cluster/worker/remote_worker.h"
#include "cluster/worker/step_table.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SELF "/job:ps/replica:0/task:0/device:CPU:0"
#define OTHER "/job:worker/replica:0/task:0/device:CPU:0"

typedef struct fixture {
    bd_timers *timers;
    bd_transport *network;
    braid_cluster *cluster;
    bd_peers peers;
    bd_step_table *steps;
} fixture;

static int set_up_with(void **state, int64_t early_limit_ns)
{
    BD_STATUS(st);
    fixture *f = bd_calloc(1, sizeof *f);
    assert_int_equal(bd_timers_new(&f->timers, st), BRAID_OK);
    f->network = bd_inprocess_transport_new(NULL, NULL, st);
    f->cluster = braid_cluster_from_hosts("a:1", "b:1", st);
    bd_peers_init(&f->peers, f->cluster, "ps", 0, f->network, f->timers);
    bd_remote_workers_new(&f->peers);
    f->steps = bd_step_table_new(&f->peers, f->timers, early_limit_ns);
    *state = f;
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, BD_STEP_EARLY_NS);
}

static int set_up_impatient(void **state)
{
    return set_up_with(state, 20000000);
}

static int tear_down(void **state)
{
    fixture *f = *state;
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "the test is over");
    bd_step_table_close(f->steps, why);
    bd_peers_close(&f->peers);
    bd_step_table_free(f->steps);
    bd_remote_workers_free(&f->peers);
    bd_peers_fini(&f->peers);
    bd_timers_free(f->timers);
    f->network->free(f->network);
    braid_cluster_free(f->cluster);
    bd_free(f);
    return 0;
}

// ---- What a test does with a step ----

typedef struct received {
    int calls;
    float value; // -1: dead
    braid_status st;
    bd_event *ended; // NULL: the test's own thread ends it
} received;

static void receive(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *st)
{
    received *r = arg;
    r->calls++;
    bd_status_copy(&r->st, st);
    r->value = st->code ? 0 : is_dead ? -1 : *bd_tensor_f32(tensor);
    if (r->ended) bd_event_set(r->ended);
}

static void recv_until(fixture *f, int64_t step, const char *edge, received *r, bd_event *ended)
{
    *r = (received){.ended = ended};
    char *text = bd_rendezvous_key_format(SELF, 1, OTHER, edge, 0, 0);
    const bd_rendezvous_key key = bd_rendezvous_key_of(text);
    bd_step_table_recv(f->steps, step, &key, receive, r);
    bd_free(text);
}

static void recv(fixture *f, int64_t step, const char *edge, received *r)
{
    recv_until(f, step, edge, r, NULL);
}

static void assert_failed(received *r, braid_code code, const char *words)
{
    assert_int_equal(r->calls, 1);
    assert_int_equal(r->st.code, code);
    if (!strstr(r->st.message, words)) fail_msg("'%s' is not in: %s", words, r->st.message);
    bd_status_fini(&r->st);
}

static void assert_received(const received *r, float value)
{
    assert_int_equal(r->calls, 1);
    assert_int_equal(r->st.code, BRAID_OK);
    assert_float_equal(r->value, value, 0);
}

typedef struct run {
    bd_rendezvous *rendezvous;
    bd_cancellation *cancellation;
} run;

static run begin(fixture *f, int64_t step)
{
    BD_STATUS(st);
    run r;
    assert_int_equal(bd_step_table_begin(f->steps, step, f, &f->peers, &r.rendezvous, &r.cancellation, st),
                     BRAID_OK);
    return r;
}

static void end(fixture *f, int64_t step, run *r, bool succeeded)
{
    bd_step_table_end(f->steps, step, succeeded);
    bd_rendezvous_unref(r->rendezvous);
    bd_cancellation_unref(r->cancellation);
}

static void send_value(const run *r, const char *edge, float value, bool is_dead)
{
    BD_STATUS(st);
    char *text = bd_rendezvous_key_format(SELF, 1, OTHER, edge, 0, 0);
    const bd_rendezvous_key key = bd_rendezvous_key_of(text);
    braid_tensor *t = braid_tensor_float(value);
    assert_int_equal(r->rendezvous->ops->send(r->rendezvous, &key, t, is_dead, st), BRAID_OK);
    braid_tensor_free(t);
    bd_free(text);
}

// ---- What other tasks push ----

// The other task's response to RecvTensor.
static void answer_recv(void *arg, bd_incoming *call)
{
    int *asked = arg;
    ++*asked;
    BD_STATUS(ok);
    bd_message response;
    bd_message_init(&response);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &response);
    braid_tensor *t = braid_tensor_float(9);
    bd_recv_tensor_response_put(NULL, 7, t, false, NULL, &writer);
    braid_tensor_free(t);
    bd_wire_writer_finish(&writer);
    bd_incoming_reply(call, &response, ok);
}

static char *pushed_key(const char *edge)
{
    return bd_rendezvous_key_format(OTHER, 1, SELF, edge, 0, 0);
}

static braid_code push_answer(fixture *f, int64_t step, const char *edge, bd_recv_tensor_response *answer,
                              bool *is_refused, braid_status *st)
{
    char *text = pushed_key(edge);
    const bd_rendezvous_key key = bd_rendezvous_key_of(text);
    const bd_peer *from = bd_peers_of_device(&f->peers, OTHER, strlen(OTHER));
    const braid_code code = bd_step_table_push(f->steps, step, from, &key, answer, is_refused, st);
    bd_free(text);
    return code;
}

static braid_code push_tensor(fixture *f, int64_t step, const char *edge, const braid_tensor *t,
                              bool *is_refused, braid_status *st)
{
    bd_recv_tensor_response answer = {0};
    if (t)
        bd_tensor_ref(&answer.tensor, t);
    else
        answer.is_dead = true;
    const braid_code code = push_answer(f, step, edge, &answer, is_refused, st);
    bd_recv_tensor_response_fini(&answer);
    return code;
}

static void push_value(fixture *f, int64_t step, const char *edge, float value)
{
    BD_STATUS(st);
    bool is_refused;
    braid_tensor *t = braid_tensor_float(value);
    assert_int_equal(push_tensor(f, step, edge, t, &is_refused, st), BRAID_OK);
    assert_false(is_refused);
    braid_tensor_free(t);
}

// A step that waits for pushes.
static run begin_pushing(fixture *f, int64_t step)
{
    run r = begin(f, step);
    bd_outbox *o = bd_outbox_new(&(bd_outbox_options){.step_id = step,
                                                      .refused = bd_remote_rendezvous_local(r.rendezvous),
                                                      .cancellation = r.cancellation});
    assert_true(bd_remote_rendezvous_push(r.rendezvous, o));
    assert_false(bd_remote_rendezvous_push(r.rendezvous, o)); // a step has one
    bd_outbox_unref(o);
    return r;
}

static void wait_notification_pushed(const run *r, const char *edge, received *got)
{
    *got = (received){0};
    char *text = pushed_key(edge);
    const bd_rendezvous_key key = bd_rendezvous_key_of(text);
    r->rendezvous->ops->recv(r->rendezvous, &key, receive, got);
    bd_free(text);
}

// Allocates `bytes` without writing to them.
static braid_tensor *large(size_t bytes)
{
    BD_STATUS(st);
    braid_tensor *t = bd_calloc(1, sizeof *t);
    const braid_shape shape = {.rank = 1, .dims = {(int64_t)bytes}};
    assert_int_equal(bd_tensor_init(t, BRAID_UINT8, &shape, st), BRAID_OK);
    return t;
}

static void free_large(braid_tensor *t)
{
    bd_tensor_fini(t);
    bd_free(t);
}

// ---- Tests ----

static void a_tensor_can_be_pushed_before_and_while_its_step_runs(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    bool is_refused;
    received early, dead, late;
    push_value(f, 7, "a:0", 3);
    assert_int_equal(push_tensor(f, 7, "b:0", NULL, &is_refused, st), BRAID_OK);
    run r = begin_pushing(f, 7);
    wait_notification_pushed(&r, "a:0", &early);
    assert_received(&early, 3);
    wait_notification_pushed(&r, "b:0", &dead);
    assert_received(&dead, -1);
    wait_notification_pushed(&r, "c:0", &late);
    assert_int_equal(late.calls, 0);
    push_value(f, 7, "c:0", 4);
    assert_received(&late, 4);
    wait_notification_pushed(&r, "never:0", &late);
    bd_step_table_cleanup(f->steps, 7);
    assert_failed(&late, BRAID_ABORTED, "Step 7 is over");
    end(f, 7, &r, false);
}

static void pushes_to_a_finished_step_are_dropped(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    bool is_refused;
    run r = begin_pushing(f, 7);
    end(f, 7, &r, false);
    push_value(f, 7, "a:0", 3);
    bd_step_table_cleanup(f->steps, 7);
    assert_int_equal(push_tensor(f, 7, "b:0", NULL, &is_refused, st), BRAID_ABORTED);
    assert_true(st->derived); // derived from the cause of the step's end
}

static void a_tensor_that_was_pushed_twice_is_an_error(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    bool is_refused;
    push_value(f, 7, "a:0", 3);
    assert_int_equal(push_tensor(f, 7, "a:0", NULL, &is_refused, st), BRAID_ABORTED);
    assert_non_null(strstr(st->message, "Duplicated send"));
}

// A large tensor waits for its step at its sender.
static void a_refused_tensor_is_asked_for(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    bd_listener *listener;
    char *bound;
    int asked = 0;
    assert_int_equal(f->network->listen(f->network, "b:1", answer_recv, &asked, &listener, &bound, st), 0);
    bd_free(bound);
    bool is_refused;
    bd_recv_tensor_response in_chunks = {.has_chunks = true};
    assert_int_equal(push_answer(f, 7, "a:0", &in_chunks, &is_refused, st), BRAID_OK);
    assert_true(is_refused);
    run r = begin_pushing(f, 7);
    assert_int_equal(asked, 0);
    for (int i = 0; i < f->peers.count; i++) // else the first RecvTensor looks for it
        atomic_store(f->peers.items[i].is_reached, true);
    received got;
    wait_notification_pushed(&r, "a:0", &got);
    bd_rpc_count_wait(&f->peers.calls);
    assert_received(&got, 9);
    assert_int_equal(asked, 1);
    end(f, 7, &r, true);
    f->network->listener_close(listener);
    f->network->listener_stop(listener, 0);
    f->network->listener_free(listener);
}

// A step does not fail because pushes exceed the memory: refused tensors stay at the sender.
static void early_pushes_have_a_limit(void **state)
{
    const size_t limit = (size_t)256 << 20;
    fixture *f = *state;
    BD_STATUS(st);
    bool is_refused;
    braid_tensor *all = large(limit), *small = large(1);
    assert_int_equal(push_tensor(f, 7, "a:0", all, &is_refused, st), BRAID_OK);
    assert_false(is_refused);
    assert_int_equal(push_tensor(f, 8, "b:0", small, &is_refused, st), BRAID_OK);
    assert_true(is_refused);
    // Its sender cannot keep it.
    assert_int_equal(push_tensor(f, 8, "c:0", small, NULL, st), BRAID_OK);
    // A step that has begun does not count.
    run r = begin_pushing(f, 7);
    assert_int_equal(push_tensor(f, 8, "d:0", small, &is_refused, st), BRAID_OK);
    assert_false(is_refused);
    bd_step_table_cleanup(f->steps, 8);
    assert_int_equal(push_tensor(f, 9, "e:0", all, &is_refused, st), BRAID_OK);
    assert_false(is_refused);
    end(f, 7, &r, true);
    free_large(small);
    free_large(all);
}

// Strings take memory even when they are empty.
static void the_handles_of_strings_count(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    bool is_refused;
    braid_tensor strings = {0};
    const braid_shape shape = {.rank = 1, .dims = {((int64_t)256 << 20) / (int64_t)sizeof(bd_string) + 1}};
    assert_int_equal(bd_tensor_init(&strings, BRAID_STRING, &shape, st), BRAID_OK);
    assert_int_equal(push_tensor(f, 7, "a:0", &strings, &is_refused, st), BRAID_OK);
    assert_true(is_refused);
    bd_tensor_fini(&strings);
}

static void tensors_that_are_pushed_early_are_counted(void **state)
{
    enum {
        ALLOWED = 65536
    };
    fixture *f = *state;
    BD_STATUS(st);
    bool is_refused;
    char edge[32];
    for (int i = 0; i < ALLOWED; i++) {
        snprintf(edge, sizeof edge, "t%d:0", i);
        assert_int_equal(push_tensor(f, 7, edge, NULL, &is_refused, st), BRAID_OK);
    }
    assert_int_equal(push_tensor(f, 8, "a:0", NULL, &is_refused, st), BRAID_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(st->message, "Step 8 has not begun on /job:ps/task:0 at a:1"));
    bd_step_table_cleanup(f->steps, 7);
    braid_status_clear(st);
    assert_int_equal(push_tensor(f, 8, "a:0", NULL, &is_refused, st), BRAID_OK);
}

static void a_tensor_can_be_asked_for_before_its_step_begins(void **state)
{
    fixture *f = *state;
    received a, b;
    recv(f, 7, "a:0", &a);
    recv(f, 7, "b:0", &b);
    run r = begin(f, 7);
    assert_int_equal(a.calls, 0);
    send_value(&r, "a:0", 3, false);
    assert_received(&a, 3);
    send_value(&r, "b:0", 0, true);
    assert_received(&b, -1);
    end(f, 7, &r, true);
}

static void a_tensor_can_be_asked_for_after_its_step_has_run(void **state)
{
    fixture *f = *state;
    received a, b;
    run r = begin(f, 7);
    send_value(&r, "a:0", 3, false);
    send_value(&r, "b:0", 4, false);
    end(f, 7, &r, true);
    recv(f, 7, "b:0", &b);
    assert_received(&b, 4);
    recv(f, 7, "a:0", &a);
    assert_received(&a, 3);
    // The step has ended by itself: no entry is left.
    recv(f, 7, "c:0", &a);
    assert_failed(&a, BRAID_ABORTED, "Step 7 is over");
}

static void steps_do_not_see_each_other(void **state)
{
    fixture *f = *state;
    received a;
    recv(f, 8, "a:0", &a);
    run r = begin(f, 7);
    send_value(&r, "a:0", 3, false);
    assert_int_equal(a.calls, 0);
    end(f, 7, &r, false);
    bd_step_table_cleanup(f->steps, 8);
    assert_failed(&a, BRAID_ABORTED, "Step 8 is over");
}

static void a_failed_step_stays_until_it_is_cleaned_up(void **state)
{
    fixture *f = *state;
    received a;
    run r = begin(f, 7);
    send_value(&r, "a:0", 3, false);
    end(f, 7, &r, false);
    recv(f, 7, "a:0", &a);
    assert_received(&a, 3);
    recv(f, 7, "b:0", &a);
    assert_int_equal(a.calls, 0);
    bd_step_table_cleanup(f->steps, 7);
    assert_failed(&a, BRAID_ABORTED, "Step 7 is over");
}

static void the_steps_of_a_session_end_with_it(void **state)
{
    fixture *f = *state;
    received a;
    run done = begin(f, 7), running = begin(f, 8), failed = begin(f, 9);
    send_value(&done, "a:0", 3, false);
    end(f, 7, &done, true);
    end(f, 9, &failed, false);
    int another;
    bd_step_table_forget(f->steps, &another);
    recv(f, 9, "a:0", &a);
    assert_int_equal(a.calls, 0);
    assert_false(bd_cancellation_is_cancelled(running.cancellation));
    bd_step_table_forget(f->steps, f);
    assert_failed(&a, BRAID_ABORTED, "Step 9 is over: its session is gone");
    recv(f, 7, "a:0", &a);
    assert_failed(&a, BRAID_ABORTED, "Step 7 is over");
    assert_true(bd_cancellation_is_cancelled(running.cancellation));
    recv(f, 8, "a:0", &a);
    assert_failed(&a, BRAID_ABORTED, "Step 8 is over");
    end(f, 8, &running, false);
}

static void cleaning_up_cancels_running_steps(void **state)
{
    fixture *f = *state;
    received a;
    run r = begin(f, 7);
    recv(f, 7, "a:0", &a);
    bd_step_table_cleanup(f->steps, 7);
    assert_true(bd_cancellation_is_cancelled(r.cancellation));
    assert_failed(&a, BRAID_ABORTED, "Step 7 is over");
    end(f, 7, &r, false);
    BD_STATUS(st);
    run again;
    bd_step_table_begin(f->steps, 7, f, &f->peers, &again.rendezvous, &again.cancellation, st);
    assert_int_equal(st->code, BRAID_ABORTED);
    assert_true(st->derived);
}

static void a_step_that_was_cleaned_up_before_it_began_does_not_begin(void **state)
{
    fixture *f = *state;
    bd_step_table_cleanup(f->steps, 7);
    BD_STATUS(st);
    run r;
    assert_int_equal(bd_step_table_begin(f->steps, 7, f, &f->peers, &r.rendezvous, &r.cancellation, st),
                     BRAID_ABORTED);
}

static void several_graphs_of_a_step_share_it(void **state)
{
    fixture *f = *state;
    received a;
    run one = begin(f, 7), two = begin(f, 7);
    assert_ptr_equal(one.rendezvous, two.rendezvous);
    end(f, 7, &one, true);
    recv(f, 7, "a:0", &a);
    send_value(&two, "a:0", 5, false);
    assert_received(&a, 5);
    end(f, 7, &two, true);
}

static void early_steps_are_bounded_the_oldest_goes(void **state)
{
    enum {
        MORE_THAN_ALLOWED = 1025
    };
    fixture *f = *state;
    received *early = bd_calloc(MORE_THAN_ALLOWED, sizeof *early);
    for (int i = 0; i < MORE_THAN_ALLOWED; i++)
        recv(f, i, "a:0", &early[i]);
    assert_failed(&early[0], BRAID_RESOURCE_EXHAUSTED, "too many steps wait for their beginning");
    assert_int_equal(early[1].calls, 0);
    // Steps that run do not count.
    run r = begin(f, 5000);
    assert_int_equal(early[1].calls, 0);
    end(f, 5000, &r, true);
    for (int i = 1; i < MORE_THAN_ALLOWED; i++) {
        bd_step_table_cleanup(f->steps, i);
        assert_failed(&early[i], BRAID_ABORTED, "is over");
    }
    bd_free(early);
}

static void abandoned_steps_are_bounded(void **state)
{
    fixture *f = *state;
    received a;
    for (int i = 0; i <= 1024; i++) {
        run r = begin(f, i);
        send_value(&r, "a:0", (float)i, false);
        end(f, i, &r, false);
    }
    recv(f, 0, "a:0", &a);
    assert_failed(&a, BRAID_ABORTED, "Step 0 is over");
    recv(f, 1, "a:0", &a);
    assert_received(&a, 1);
}

static void closing_ends_all_calls_and_refuses_new_ones(void **state)
{
    fixture *f = *state;
    received early, running, late;
    recv(f, 1, "a:0", &early);
    run r = begin(f, 2);
    recv(f, 2, "a:0", &running);
    BD_STATUS(why);
    bd_fail(why, BRAID_ABORTED, "the server stops");
    bd_step_table_close(f->steps, why);
    assert_failed(&early, BRAID_ABORTED, "the server stops");
    assert_failed(&running, BRAID_ABORTED, "the server stops");
    end(f, 2, &r, false);
    recv(f, 3, "a:0", &late);
    assert_failed(&late, BRAID_ABORTED, "the server stops");
}

static void a_step_that_does_not_begin_is_over_after_a_while_unless_a_collective_waits(void **state)
{
    fixture *f = *state;
    bd_event ended;
    bd_event_init(&ended);
    received of_collective, other;
    recv(f, 1, "collective 7:1:0:0", &of_collective);
    recv_until(f, 2, "x", &other, &ended);
    bd_event_wait(&ended);
    assert_failed(&other, BRAID_ABORTED, "Step 2 did not begin on this task within 0.02 s");
    assert_int_equal(of_collective.calls, 0); // though it had come before the other
    run r = begin(f, 1);
    send_value(&r, "collective 7:1:0:0", 5, false);
    assert_received(&of_collective, 5);
    end(f, 1, &r, true);
    bd_event_fini(&ended);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_tensor_can_be_pushed_before_and_while_its_step_runs),
        TEST(pushes_to_a_finished_step_are_dropped),
        TEST(a_tensor_that_was_pushed_twice_is_an_error),
        TEST(a_refused_tensor_is_asked_for),
        TEST(early_pushes_have_a_limit),
        TEST(the_handles_of_strings_count),
        TEST(tensors_that_are_pushed_early_are_counted),
        TEST(a_tensor_can_be_asked_for_before_its_step_begins),
        TEST(a_tensor_can_be_asked_for_after_its_step_has_run),
        TEST(steps_do_not_see_each_other),
        TEST(a_failed_step_stays_until_it_is_cleaned_up),
        TEST(the_steps_of_a_session_end_with_it),
        TEST(cleaning_up_cancels_running_steps),
        TEST(a_step_that_was_cleaned_up_before_it_began_does_not_begin),
        TEST(several_graphs_of_a_step_share_it),
        TEST(early_steps_are_bounded_the_oldest_goes),
        TEST(abandoned_steps_are_bounded),
        cmocka_unit_test_setup_teardown(
            a_step_that_does_not_begin_is_over_after_a_while_unless_a_collective_waits, set_up_impatient,
            tear_down),
        TEST(closing_ends_all_calls_and_refuses_new_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
