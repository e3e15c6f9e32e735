// The tests of the transport interface: see conformance.h.
#include "cluster/transport/testing/conformance.h"
#include "base/alloc.h"
#include "base/random.h"
#include "base/thread.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// Long enough for any machine that runs tests; a test that gets there fails.
#define PATIENCE_MS 30000
// A deadline that is meant to pass.
#define SOON_MS 50

// ---- A server that does what the method says ----

// A call that the test answers.
typedef struct held {
    bd_incoming *call;
    bd_event arrived, ended;
    atomic_bool replied, cancelled;
} held;

typedef struct fixture {
    const bd_conformance *tested;
    bd_transport *transport;
    bd_listener *listener;
    bd_channel *channel;
    char *address;
    held held;
} fixture;

static void reply_held(held *h, bd_message *response, braid_code code, const char *text)
{
    if (atomic_exchange(&h->replied, true)) return;
    BD_STATUS(st);
    if (code) bd_fail(st, code, "%s", text);
    bd_incoming_reply(h->call, response, st);
}

static void held_ended(void *arg, bool cancelled)
{
    held *h = arg;
    atomic_store(&h->cancelled, cancelled);
    if (cancelled) reply_held(h, NULL, BRAID_CANCELLED, "nobody waits for it");
    bd_event_set(&h->ended);
}

// The first byte of the request is a code, the rest the message of an error.
static void reply_error(bd_incoming *call)
{
    char *text = bd_calloc(1, call->request.bytes + 1);
    bd_message_gather(&call->request, text);
    BD_STATUS(st);
    bd_fail(st, (braid_code)text[0], "%s", text + 1);
    bd_free(text);
    bd_incoming_reply(call, NULL, st);
}

static void handle(void *arg, bd_incoming *call)
{
    fixture *f = arg;
    if (strcmp(call->method, "/test/hold") == 0) {
        f->held.call = call;
        call->transport->on_end(call, held_ended, &f->held);
        bd_event_set(&f->held.arrived);
    } else if (strcmp(call->method, "/test/fail") == 0) {
        reply_error(call);
    } else {
        BD_STATUS(ok);
        bd_message response;
        bd_message_init(&response);
        bd_message_move(&response, &call->request);
        bd_incoming_reply(call, &response, ok);
    }
}

// Takes a port outside of the range that outgoing connections use, so that it can be taken again later.
static void listen_somewhere(fixture *f)
{
    for (;;) {
        char address[32];
        snprintf(address, sizeof address, "127.0.0.1:%d", 20000 + (int)(bd_random_u64() % 12000));
        BD_STATUS(st);
        if (!f->transport->listen(f->transport, address, handle, f, &f->listener, &f->address, st)) return;
        assert_int_equal(st->code, BRAID_ALREADY_EXISTS);
    }
}

static void listen_again(fixture *f)
{
    BD_STATUS(st);
    char *bound = NULL;
    assert_int_equal(f->transport->listen(f->transport, f->address, handle, f, &f->listener, &bound, st),
                     BRAID_OK);
    bd_free(bound);
}

static void stop_listening(fixture *f, int64_t deadline_ns)
{
    f->transport->listener_close(f->listener);
    f->transport->listener_stop(f->listener, deadline_ns);
    f->transport->listener_free(f->listener);
    f->listener = NULL;
}

// ---- A client that waits ----

typedef struct pending {
    bd_event done;
    braid_status status;
    bd_message response;
    bd_call *call;
    const bd_transport *transport;
} pending;

static void pending_done(void *arg, bd_message *response, const braid_status *st)
{
    pending *p = arg;
    bd_status_copy(&p->status, st);
    bd_message_move(&p->response, response);
    bd_event_set(&p->done);
}

static void begin(pending *p, fixture *f, const bd_call_options *options, bd_message *request)
{
    memset(p, 0, sizeof *p);
    bd_event_init(&p->done);
    bd_message_init(&p->response);
    p->transport = f->transport;
    p->call = f->transport->call(f->channel, options, request, pending_done, p);
}

static void begin_text(pending *p, fixture *f, const bd_call_options *options, const char *text)
{
    bd_message request;
    bd_message_init(&request);
    bd_message_add_copy(&request, text, strlen(text));
    begin(p, f, options, &request);
    assert_int_equal(request.bytes, 0);
}

static void finish(pending *p)
{
    assert_true(bd_event_wait_until(&p->done, bd_deadline_after_ms(PATIENCE_MS)));
    p->transport->call_release(p->call);
    bd_event_fini(&p->done);
}

static void pending_fini(pending *p)
{
    bd_status_fini(&p->status);
    bd_message_fini(&p->response);
}

static void assert_code(const pending *p, braid_code code)
{
    if (p->status.code != code)
        fail_msg("%s (%s) != %s", braid_code_name(p->status.code), braid_status_message(&p->status),
                 braid_code_name(code));
}

static void assert_ended_with(pending *p, braid_code code)
{
    finish(p);
    assert_code(p, code);
    if (code) assert_int_equal(p->response.bytes, 0);
    pending_fini(p);
}

static void assert_answered_with(pending *p, const char *text)
{
    finish(p);
    assert_code(p, BRAID_OK);
    assert_int_equal(p->response.bytes, strlen(text));
    char *got = bd_calloc(1, strlen(text) + 1);
    bd_message_gather(&p->response, got);
    assert_string_equal(got, text);
    bd_free(got);
    pending_fini(p);
}

static void wait_for(bd_event *e)
{
    assert_true(bd_event_wait_until(e, bd_deadline_after_ms(PATIENCE_MS)));
}

static const bd_call_options echo = {.method = "/test/echo", .deadline_ns = BD_FOREVER};
static const bd_call_options echo_when_ready = {
    .method = "/test/echo", .deadline_ns = BD_FOREVER, .wait_for_ready = true};
static const bd_call_options hold = {.method = "/test/hold", .deadline_ns = BD_FOREVER};

// ---- The fixture ----

// The tests call over a channel that is connected: an attempt to connect fails on a host that stands still
// for a while. A channel of gRPC connects a second time after the first answer (grpc_client.c).
static void make_ready(fixture *f)
{
    for (int connection = 0; connection < 2; connection++) {
        pending p;
        begin_text(&p, f, &echo_when_ready, "ready?");
        assert_answered_with(&p, "ready?");
    }
    if (f->tested->await_ready)
        assert_true(f->tested->await_ready(f->channel, bd_deadline_after_ms(PATIENCE_MS)));
}

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    f->tested = *state;
    BD_STATUS(st);
    f->transport = f->tested->make(st);
    assert_non_null(f->transport);
    bd_event_init(&f->held.arrived);
    bd_event_init(&f->held.ended);
    listen_somewhere(f);
    f->channel = f->transport->connect(f->transport, f->address);
    *state = f;
    make_ready(f);
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    if (f->channel) f->transport->channel_close(f->channel);
    if (f->listener) stop_listening(f, bd_now_ns());
    f->transport->free(f->transport);
    bd_event_fini(&f->held.arrived);
    bd_event_fini(&f->held.ended);
    bd_free(f->address);
    *state = (void *)f->tested;
    bd_free(f);
    return 0;
}

// ---- Messages ----

static void a_message_is_echoed(void **state)
{
    pending p;
    begin_text(&p, *state, &echo, "all my variables");
    assert_answered_with(&p, "all my variables");
}

static void an_empty_message_is_a_message(void **state)
{
    pending p;
    begin_text(&p, *state, &echo, "");
    assert_answered_with(&p, "");
}

static void count_release(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void a_large_message_passes_and_its_memory_is_released_once(void **state)
{
    enum {
        SLICES = 4,
        SLICE_BYTES = 16 << 20
    };
    uint8_t *data = bd_malloc(SLICE_BYTES), *got = bd_malloc((size_t)SLICES * SLICE_BYTES);
    for (size_t i = 0; i < SLICE_BYTES; i++)
        data[i] = (uint8_t)(i * 2654435761U >> 13);
    atomic_int released = 0;
    bd_message request;
    bd_message_init(&request);
    bd_message_add_copy(&request, "head", 4);
    for (int i = 0; i < SLICES; i++)
        bd_message_add(&request, (bd_slice){data, SLICE_BYTES, count_release, &released});
    pending p;
    begin(&p, *state, &echo, &request);
    finish(&p);
    assert_int_equal(p.status.code, BRAID_OK);
    assert_int_equal(p.response.bytes, 4 + (size_t)SLICES * SLICE_BYTES);
    uint8_t *all = bd_malloc(p.response.bytes);
    bd_message_gather(&p.response, all);
    assert_memory_equal(all, "head", 4);
    for (int i = 0; i < SLICES; i++)
        assert_memory_equal(all + 4 + (size_t)i * SLICE_BYTES, data, SLICE_BYTES);
    pending_fini(&p);
    tear_down(state); // the holder of the request has released it
    assert_int_equal(atomic_load(&released), SLICES);
    set_up(state);
    bd_free(all);
    bd_free(got);
    bd_free(data);
}

static void many_calls_at_once_get_their_own_answers(void **state)
{
    enum {
        CALLS = 500
    };
    pending *calls = bd_calloc(CALLS, sizeof *calls);
    char text[32];
    for (int i = 0; i < CALLS; i++) {
        snprintf(text, sizeof text, "call %d", i);
        begin_text(&calls[i], *state, &echo, text);
    }
    for (int i = 0; i < CALLS; i++) {
        snprintf(text, sizeof text, "call %d", i);
        assert_answered_with(&calls[i], text);
    }
    bd_free(calls);
}

typedef struct caller {
    fixture *f;
    int answered;
} caller;

// Assertions are the main thread's.
static void call_many(void *arg)
{
    caller *c = arg;
    for (int i = 0; i < 50; i++) {
        pending p;
        begin_text(&p, c->f, &echo, "from a thread");
        finish(&p);
        c->answered += p.status.code == BRAID_OK && p.response.bytes == strlen("from a thread");
        pending_fini(&p);
    }
}

static void many_threads_call_on_one_channel(void **state)
{
    bd_thread threads[4];
    caller callers[4];
    BD_STATUS(st);
    for (size_t i = 0; i < BD_COUNTOF(threads); i++) {
        callers[i] = (caller){*state, 0};
        assert_int_equal(bd_thread_start(&threads[i], "caller", call_many, &callers[i], st), BRAID_OK);
    }
    for (size_t i = 0; i < BD_COUNTOF(threads); i++) {
        bd_thread_join(&threads[i]);
        assert_int_equal(callers[i].answered, 50);
    }
}

// ---- Errors of the server ----

static void check_error(fixture *f, braid_code code, const char *text)
{
    char request[256];
    snprintf(request, sizeof request, "%c%s", (char)code, text);
    pending p;
    begin_text(&p, f, &(bd_call_options){.method = "/test/fail", .deadline_ns = BD_FOREVER}, request);
    finish(&p);
    assert_string_equal(braid_code_name(p.status.code), braid_code_name(code));
    assert_string_equal(p.status.message, text);
    pending_fini(&p);
}

static void every_code_arrives_with_its_message(void **state)
{
    for (int code = BRAID_CANCELLED; code <= BRAID_UNAUTHENTICATED; code++)
        check_error(*state, (braid_code)code, "Graph handle is not found: 17 [[{{node hid/MatMul}}]]");
}

static void a_message_may_hold_any_text(void **state)
{
    check_error(*state, BRAID_NOT_FOUND, "größe 100%\n\"ключ\" \xe2\x86\x92 \xf0\x9f\x8c\x8a");
    check_error(*state, BRAID_NOT_FOUND, "");
}

static void a_very_long_message_keeps_its_beginning(void **state)
{
    fixture *f = *state;
    char *text = bd_calloc(1, 100001);
    memset(text, 'x', 100000);
    text[0] = BRAID_INVALID_ARGUMENT;
    pending p;
    begin_text(&p, f, &(bd_call_options){.method = "/test/fail", .deadline_ns = BD_FOREVER}, text);
    finish(&p);
    assert_int_equal(p.status.code, BRAID_INVALID_ARGUMENT);
    assert_memory_equal(p.status.message, text + 1, 1000);
    pending_fini(&p);
    bd_free(text);
}

// ---- Deadlines and cancelling ----

static void a_deadline_ends_the_call_on_both_sides(void **state)
{
    fixture *f = *state;
    pending p;
    begin_text(&p, f,
               &(bd_call_options){.method = "/test/hold", .deadline_ns = bd_deadline_after_ms(SOON_MS)},
               "wait");
    assert_ended_with(&p, BRAID_DEADLINE_EXCEEDED);
    if (!bd_event_is_set(&f->held.arrived)) return; // so slow a machine that it never arrived
    wait_for(&f->held.ended);
    assert_true(f->held.cancelled);
}

static void a_deadline_that_has_passed_ends_the_call(void **state)
{
    pending p;
    begin_text(&p, *state, &(bd_call_options){.method = "/test/hold", .deadline_ns = bd_now_ns() - 1},
               "late");
    assert_ended_with(&p, BRAID_DEADLINE_EXCEEDED);
}

static void the_server_sees_the_deadline(void **state)
{
    fixture *f = *state;
    const int64_t deadline = bd_deadline_after_ms(PATIENCE_MS);
    pending p;
    begin_text(&p, f, &(bd_call_options){.method = "/test/hold", .deadline_ns = deadline}, "");
    wait_for(&f->held.arrived);
    assert_in_range(bd_deadline_left_ms(f->held.call->deadline_ns), 1, PATIENCE_MS + 1000);
    reply_held(&f->held, NULL, BRAID_ABORTED, "enough");
    assert_ended_with(&p, BRAID_ABORTED);
}

static void a_call_without_a_deadline_arrives_without_one(void **state)
{
    fixture *f = *state;
    pending p;
    begin_text(&p, f, &hold, "");
    wait_for(&f->held.arrived);
    assert_true(f->held.call->deadline_ns == BD_FOREVER);
    reply_held(&f->held, NULL, BRAID_ABORTED, "enough");
    assert_ended_with(&p, BRAID_ABORTED);
}

static void the_server_learns_that_the_client_cancelled(void **state)
{
    fixture *f = *state;
    pending p;
    begin_text(&p, f, &hold, "");
    wait_for(&f->held.arrived);
    f->transport->call_cancel(p.call);
    f->transport->call_cancel(p.call);
    assert_ended_with(&p, BRAID_CANCELLED);
    wait_for(&f->held.ended);
    assert_true(f->held.cancelled);
}

static void cancelling_a_finished_call_has_no_effect(void **state)
{
    fixture *f = *state;
    pending p;
    begin_text(&p, f, &echo, "done");
    wait_for(&p.done);
    f->transport->call_cancel(p.call);
    assert_answered_with(&p, "done");
}

static void a_replied_call_ends_without_cancellation(void **state)
{
    fixture *f = *state;
    pending p;
    begin_text(&p, f, &hold, "");
    wait_for(&f->held.arrived);
    bd_message response;
    bd_message_init(&response);
    bd_message_add_copy(&response, "later", 5);
    reply_held(&f->held, &response, BRAID_OK, NULL);
    assert_answered_with(&p, "later");
    wait_for(&f->held.ended);
    assert_false(f->held.cancelled);
}

static void closing_a_channel_cancels_its_calls(void **state)
{
    fixture *f = *state;
    pending p;
    begin_text(&p, f, &hold, "");
    wait_for(&f->held.arrived);
    f->transport->channel_close(f->channel);
    f->channel = NULL;
    assert_ended_with(&p, BRAID_CANCELLED);
    wait_for(&f->held.ended);
    assert_true(f->held.cancelled);
}

// ---- Peers that are not there ----

static void an_address_without_a_listener_is_unavailable_at_once(void **state)
{
    fixture *f = *state;
    stop_listening(f, BD_FOREVER);
    pending p;
    begin_text(&p, f, &echo, "anybody?");
    assert_ended_with(&p, BRAID_UNAVAILABLE);
}

static void a_call_that_waits_for_a_peer_is_answered_after_its_start(void **state)
{
    fixture *f = *state;
    stop_listening(f, BD_FOREVER);
    pending p;
    begin_text(&p, f, &echo_when_ready, "you?");
    pending refused; // when this has failed, the first attempt to connect has, too
    begin_text(&refused, f, &echo, "");
    assert_ended_with(&refused, BRAID_UNAVAILABLE);
    assert_false(bd_event_is_set(&p.done));
    listen_again(f);
    assert_answered_with(&p, "you?");
}

static void a_call_that_waits_for_a_peer_ends_at_its_deadline(void **state)
{
    fixture *f = *state;
    stop_listening(f, BD_FOREVER);
    pending p;
    begin_text(&p, f,
               &(bd_call_options){.method = "/test/echo",
                                  .deadline_ns = bd_deadline_after_ms(SOON_MS),
                                  .wait_for_ready = true},
               "");
    assert_ended_with(&p, BRAID_DEADLINE_EXCEEDED);
}

static void a_call_that_waits_for_a_peer_can_be_cancelled(void **state)
{
    fixture *f = *state;
    stop_listening(f, BD_FOREVER);
    pending p;
    begin_text(&p, f, &echo_when_ready, "");
    f->transport->call_cancel(p.call);
    assert_ended_with(&p, BRAID_CANCELLED);
}

static void a_channel_finds_the_next_server_at_its_address(void **state)
{
    fixture *f = *state;
    pending p;
    begin_text(&p, f, &echo, "one");
    assert_answered_with(&p, "one");
    stop_listening(f, BD_FOREVER);
    listen_again(f);
    begin_text(&p, f, &echo_when_ready, "two");
    assert_answered_with(&p, "two");
}

// ---- The end of a listener ----

static void stopping_ends_calls_in_progress_after_the_grace(void **state)
{
    fixture *f = *state;
    pending p;
    begin_text(&p, f, &hold, "");
    wait_for(&f->held.arrived);
    stop_listening(f, bd_deadline_after_ms(SOON_MS));
    assert_true(bd_event_is_set(&f->held.ended));
    assert_true(f->held.cancelled);
    assert_ended_with(&p, BRAID_UNAVAILABLE);
}

static void stop_in_background(void *arg)
{
    stop_listening(arg, BD_FOREVER);
}

static void stopping_waits_for_calls_in_progress(void **state)
{
    fixture *f = *state;
    pending p;
    begin_text(&p, f, &hold, "");
    wait_for(&f->held.arrived);
    f->transport->listener_close(f->listener);
    bd_thread thread;
    BD_STATUS(st);
    assert_int_equal(bd_thread_start(&thread, "stopper", stop_in_background, f, st), BRAID_OK);
    bd_message response;
    bd_message_init(&response);
    bd_message_add_copy(&response, "in time", 7);
    reply_held(&f->held, &response, BRAID_OK, NULL);
    assert_answered_with(&p, "in time");
    bd_thread_join(&thread);
}

static void a_closed_listener_takes_no_new_calls(void **state)
{
    fixture *f = *state;
    f->transport->listener_close(f->listener);
    bd_channel *other = f->transport->connect(f->transport, f->address);
    bd_channel *mine = f->channel;
    f->channel = other;
    pending p;
    begin_text(&p, f, &echo, "too late");
    assert_ended_with(&p, BRAID_UNAVAILABLE);
    f->channel = mine;
    f->transport->channel_close(other);
}

// ---- Addresses ----

static void an_address_is_taken_once(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    bd_listener *second;
    char *bound;
    assert_int_equal(f->transport->listen(f->transport, f->address, handle, f, &second, &bound, st),
                     BRAID_ALREADY_EXISTS);
    assert_non_null(strstr(st->message, f->address));
}

static void port_0_picks_a_port(void **state)
{
    fixture *f = *state;
    stop_listening(f, BD_FOREVER);
    f->transport->channel_close(f->channel);
    bd_free(f->address);
    BD_STATUS(st);
    assert_int_equal(
        f->transport->listen(f->transport, "127.0.0.1:0", handle, f, &f->listener, &f->address, st),
        BRAID_OK);
    assert_null(strstr(f->address, ":0"));
    f->channel = f->transport->connect(f->transport, f->address);
    pending p;
    begin_text(&p, f, &echo, "here");
    assert_answered_with(&p, "here");
}

static void a_malformed_address_is_refused(void **state)
{
    fixture *f = *state;
    static const char *const bad[] = {"", "127.0.0.1", "127.0.0.1:", ":2222"};
    for (size_t i = 0; i < BD_COUNTOF(bad); i++) {
        BD_STATUS(st);
        bd_listener *l;
        char *bound;
        assert_int_equal(f->transport->listen(f->transport, bad[i], handle, f, &l, &bound, st),
                         BRAID_INVALID_ARGUMENT);
    }
}

int bd_transport_conformance(const bd_conformance *tested)
{
#define TEST(fn)                                                                                             \
    {                                                                                                        \
#fn, fn, set_up, tear_down, (void *)tested                                                           \
    }
    const struct CMUnitTest tests[] = {
        TEST(a_message_is_echoed),
        TEST(an_empty_message_is_a_message),
        TEST(a_large_message_passes_and_its_memory_is_released_once),
        TEST(many_calls_at_once_get_their_own_answers),
        TEST(many_threads_call_on_one_channel),
        TEST(every_code_arrives_with_its_message),
        TEST(a_message_may_hold_any_text),
        TEST(a_very_long_message_keeps_its_beginning),
        TEST(a_deadline_ends_the_call_on_both_sides),
        TEST(a_deadline_that_has_passed_ends_the_call),
        TEST(the_server_sees_the_deadline),
        TEST(a_call_without_a_deadline_arrives_without_one),
        TEST(the_server_learns_that_the_client_cancelled),
        TEST(cancelling_a_finished_call_has_no_effect),
        TEST(a_replied_call_ends_without_cancellation),
        TEST(closing_a_channel_cancels_its_calls),
        TEST(an_address_without_a_listener_is_unavailable_at_once),
        TEST(a_call_that_waits_for_a_peer_is_answered_after_its_start),
        TEST(a_call_that_waits_for_a_peer_ends_at_its_deadline),
        TEST(a_call_that_waits_for_a_peer_can_be_cancelled),
        TEST(a_channel_finds_the_next_server_at_its_address),
        TEST(stopping_ends_calls_in_progress_after_the_grace),
        TEST(stopping_waits_for_calls_in_progress),
        TEST(a_closed_listener_takes_no_new_calls),
        TEST(an_address_is_taken_once),
        TEST(port_0_picks_a_port),
        TEST(a_malformed_address_is_refused),
    };
    return _cmocka_run_group_tests(tested->name, tests, BD_COUNTOF(tests), NULL, NULL);
}
