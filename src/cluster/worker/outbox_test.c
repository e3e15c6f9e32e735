// Tensors on their way out of a step: how they are gathered, refused, given away and lost.
// labels: concurrent
#include "base/alloc.h"
#include "base/thread.h"
#include "cluster/rpc/recv_tensor_response.h"
#include "cluster/rpc/wire_fields.h"
#include "cluster/worker/outbox.h"
#include "cluster/worker/remote_worker.h"
#include "runtime/local_rendezvous.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SELF "/job:ps/replica:0/task:0/device:CPU:0"
#define OTHER "/job:worker/replica:0/task:0/device:CPU:0"

enum {
    STEP = 7,
    HELD_MAX = 4 << 20,
    READABLE = 300 << 10, // is read from memory where that is possible
    OFFER_PROCESS = 8,    // where an offer has the process
    LARGE = 3 << 20,      // is sent in chunks; two of them exceed HELD_MAX
    PATIENCE_MS = 30000
};

// How a receiver answers.
typedef enum answer {
    TAKES,
    REFUSES_THE_SECOND,
    REFUSES_A_THIRD, // of two
    REFUSES_ONE_TWICE,
    OFFERS, // to read tensors from memory
    FAILS,
    IS_OVER,
    NEVER // ... before its caller has cancelled
} answer;

typedef struct receiver {
    bd_listener *listener;
    answer how;
    int calls;
    char got[200]; // the tensors of each call: edge=value
} receiver;

typedef struct fixture {
    bd_transport *network;
    bd_timers *timers;
    braid_cluster *cluster;
    bd_peers peers;
    receiver receivers[2];
    const bd_peer *to[2];
    bd_chunk_store *held;
    bd_rendezvous *local;
    bd_cancellation *execution;
    bd_outbox *outbox;
    bd_event has_ended;
    braid_status st; // with which the outbox has ended
} fixture;

// ---- The receivers ----

static void note_pushed(receiver *r, bd_wire_reader in)
{
    BD_STATUS(st);
    bd_recv_tensor_response a;
    char key[200] = "";
    assert_int_equal(bd_recv_tensor_response_read(in, &a, st), BRAID_OK);
    assert_true(a.key.left < sizeof key);
    const size_t len = a.key.left;
    bd_wire_get_raw(&a.key, key, len);
    bd_rendezvous_parsed_key parsed;
    assert_int_equal(bd_rendezvous_key_parse(key, len, &parsed, st), BRAID_OK);
    const size_t at = strlen(r->got);
    const int value = a.is_dead ? -1 : a.has_chunks ? -2 : (int)*bd_tensor_f32(&a.tensor);
    snprintf(r->got + at, sizeof r->got - at, "%.*s=%d ", (int)parsed.edge_len, parsed.edge, value);
    bd_recv_tensor_response_fini(&a);
}

static void give_up(void *arg, bool cancelled)
{
    (void)cancelled;
    BD_STATUS(st);
    bd_fail(st, BRAID_CANCELLED, "the caller is gone");
    bd_incoming_reply(arg, NULL, st);
}

// As from another process of this host.
static void put_offer(bd_wire_writer *out)
{
    uint8_t offer[BD_CROSS_MEMORY_OFFER_BYTES];
    bd_cross_memory *m = bd_cross_memory_new();
    assert_int_equal(bd_cross_memory_offer(m, offer), sizeof offer);
    offer[OFFER_PROCESS] ^= 1;
    bd_wire_put_bytes(out, BD_PUSH_OFFER, offer, sizeof offer);
    bd_cross_memory_free(m);
}

static void reply(bd_incoming *call, answer how)
{
    BD_STATUS(st);
    bd_message response;
    bd_message_init(&response);
    bd_wire_writer out;
    bd_wire_writer_init(&out, &response);
    if (how == REFUSES_THE_SECOND || how == REFUSES_ONE_TWICE) bd_wire_put_uint(&out, BD_PUSH_REFUSED, 1);
    if (how == REFUSES_ONE_TWICE) bd_wire_put_uint(&out, BD_PUSH_REFUSED, 1);
    if (how == OFFERS) put_offer(&out);
    if (how == REFUSES_A_THIRD) bd_wire_put_uint(&out, BD_PUSH_REFUSED, 2);
    bd_wire_writer_finish(&out);
    if (how == FAILS) bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "too much");
    if (how == IS_OVER) bd_fail(st, BRAID_ABORTED, "[_Derived_]Step 7 is over");
    bd_incoming_reply(call, &response, st);
    bd_message_fini(&response);
}

static void serve(void *arg, bd_incoming *call)
{
    receiver *r = arg;
    bd_wire_reader in = bd_wire_reader_of(&call->request), tensor;
    uint32_t field;
    bd_wire_type type;
    if (strcmp(call->method, "/tensorflow.WorkerService/GetStatus") == 0) { // before the first push
        reply(call, TAKES);
        return;
    }
    assert_string_equal(call->method, "/braid.ClusterService/PushTensors");
    r->calls++;
    strcat(r->got, "[");
    while (bd_wire_next(&in, &field, &type)) {
        if (field == BD_PUSH_TENSOR && bd_wire_get_sub(&in, &tensor))
            note_pushed(r, tensor);
        else
            bd_wire_skip(&in, type);
    }
    strcat(r->got, "]");
    if (r->how == NEVER)
        call->transport->on_end(call, give_up, call);
    else
        reply(call, r->how);
}

// ---- The outbox ----

static void start_receiver(fixture *f, int i, const char *address, const char *device)
{
    BD_STATUS(st);
    char *bound;
    receiver *r = &f->receivers[i];
    assert_int_equal(f->network->listen(f->network, address, serve, r, &r->listener, &bound, st), BRAID_OK);
    bd_free(bound);
    f->to[i] = bd_peers_of_device(&f->peers, device, strlen(device));
    assert_non_null(f->to[i]);
}

static int set_up(void **state)
{
    BD_STATUS(st);
    fixture *f = bd_calloc(1, sizeof *f);
    assert_int_equal(bd_timers_new(&f->timers, st), BRAID_OK);
    f->network = bd_inprocess_transport_new(NULL, NULL, st);
    f->cluster = braid_cluster_from_hosts("a:1", "b:1,c:1", st);
    bd_peers_init(&f->peers, f->cluster, "ps", 0, f->network, f->timers);
    bd_remote_workers_new(&f->peers);
    start_receiver(f, 0, "b:1", "/job:worker/replica:0/task:0");
    start_receiver(f, 1, "c:1", "/job:worker/replica:0/task:1");
    f->held = bd_chunk_store_new(f->timers, HELD_MAX);
    f->local = bd_local_rendezvous_new();
    f->execution = bd_cancellation_new(NULL);
    f->outbox = bd_outbox_new(&(bd_outbox_options){
        .step_id = STEP, .chunk_store = f->held, .refused = f->local, .cancellation = f->execution});
    bd_event_init(&f->has_ended);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    bd_outbox_unref(f->outbox);
    bd_cancellation_unref(f->execution);
    bd_rendezvous_unref(f->local);
    bd_peers_close(&f->peers);
    for (int i = 0; i < 2; i++) {
        f->network->listener_close(f->receivers[i].listener);
        f->network->listener_stop(f->receivers[i].listener, 0);
        f->network->listener_free(f->receivers[i].listener);
    }
    bd_chunk_store_free(f->held);
    bd_remote_workers_free(&f->peers);
    bd_peers_fini(&f->peers);
    bd_timers_free(f->timers);
    f->network->free(f->network);
    braid_cluster_free(f->cluster);
    bd_event_fini(&f->has_ended);
    bd_status_fini(&f->st);
    bd_free(f);
    return 0;
}

static void put_tensor(fixture *f, int to, const char *edge, const braid_tensor *t, bool is_dead)
{
    char *text = bd_rendezvous_key_format(SELF, 1, OTHER, edge, 0, 0);
    const bd_rendezvous_key key = bd_rendezvous_key_of(text);
    bd_outbox_put(f->outbox, f->to[to], &key, t, is_dead);
    bd_free(text);
}

static void put(fixture *f, int to, const char *edge, float value)
{
    braid_tensor *t = braid_tensor_float(value);
    put_tensor(f, to, edge, t, false);
    braid_tensor_free(t);
}

static void put_bytes(fixture *f, const char *edge, size_t bytes)
{
    BD_STATUS(st);
    braid_tensor t = {0};
    const braid_shape shape = {.rank = 1, .dims = {(int64_t)(bytes / sizeof(float))}};
    assert_int_equal(bd_tensor_init(&t, BRAID_FLOAT, &shape, st), BRAID_OK);
    memset(t.data, 0, bytes);
    put_tensor(f, 0, edge, &t, false);
    bd_tensor_fini(&t);
}

static void ended(void *arg, const braid_status *st)
{
    fixture *f = arg;
    assert_false(bd_event_is_set(&f->has_ended));
    bd_status_copy(&f->st, st);
    bd_event_set(&f->has_ended);
}

static braid_code finish(fixture *f)
{
    bd_outbox_finish(f->outbox, ended, f);
    if (!bd_event_wait_until(&f->has_ended, bd_deadline_after_ms(PATIENCE_MS))) fail_msg("It does not end");
    return f->st.code;
}

static void assert_words(const braid_status *st, const char *words)
{
    if (!strstr(st->message, words)) fail_msg("'%s' is not in: %s", words, st->message);
}

// Receives the tensor if the sender still has it.
static void store(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *st)
{
    if (!st->code && (is_dead || bd_tensor_is_set(tensor))) *(bool *)arg = true;
}

static bool is_kept(fixture *f, const char *edge)
{
    BD_STATUS(why);
    bool kept = false;
    char *text = bd_rendezvous_key_format(SELF, 1, OTHER, edge, 0, 0);
    const bd_rendezvous_key key = bd_rendezvous_key_of(text);
    f->local->ops->recv(f->local, &key, store, &kept);
    bd_free(text);
    bd_fail(why, BRAID_CANCELLED, "not here");
    if (!kept) f->local->ops->abort(f->local, why);
    return kept;
}

// ---- Tests ----

static void tensors_ready_together_share_one_push_to_each_task(void **state)
{
    fixture *f = *state;
    const braid_tensor none = {0};
    put(f, 0, "a:0", 1);
    put(f, 1, "b:0", 2);
    put_tensor(f, 0, "c:0", &none, true);
    put(f, 0, "d:0", 3);
    assert_int_equal(f->receivers[0].calls, 0);
    bd_outbox_flush(f->outbox);
    put(f, 0, "e:0", 4);
    assert_int_equal(finish(f), BRAID_OK);
    assert_string_equal(f->receivers[0].got, "[a:0=1 c:0=-1 d:0=3 ][e:0=4 ]");
    assert_string_equal(f->receivers[1].got, "[b:0=2 ]");
    assert_true(bd_local_rendezvous_is_empty(f->local));
}

static void an_empty_outbox_ends_at_once(void **state)
{
    fixture *f = *state;
    assert_int_equal(finish(f), BRAID_OK);
    assert_int_equal(f->receivers[0].calls, 0);
}

static void many_bytes_are_not_held_back(void **state)
{
    fixture *f = *state;
    put_bytes(f, "a:0", 300 << 10);
    bd_rpc_count_wait(&f->peers.calls);
    assert_int_equal(f->receivers[0].calls, 1);
    assert_int_equal(finish(f), BRAID_OK);
    assert_int_equal(f->receivers[0].calls, 1);
}

static void a_receiver_that_offers_to_read_gets_descriptions(void **state)
{
    fixture *f = *state;
    bd_peers_share_memory(&f->peers, NULL);
    f->receivers[0].how = OFFERS;
    put_bytes(f, "a:0", READABLE);
    bd_rpc_count_wait(&f->peers.calls);
    put_bytes(f, "b:0", READABLE);
    assert_int_equal(finish(f), BRAID_OK);
    assert_string_equal(f->receivers[0].got, "[a:0=0 ][b:0=-2 ]");
}

// A refused tensor is stored before the end is reported: the step must not end while it is pending.
static void refused_tensors_wait_for_a_receive(void **state)
{
    fixture *f = *state;
    f->receivers[0].how = REFUSES_THE_SECOND;
    put(f, 0, "a:0", 1);
    put(f, 0, "b:0", 2);
    put(f, 0, "c:0", 3);
    assert_int_equal(finish(f), BRAID_OK);
    assert_true(is_kept(f, "b:0"));
    assert_true(bd_local_rendezvous_is_empty(f->local));
}

static void a_large_tensor_that_was_refused_is_not_held_twice(void **state)
{
    fixture *f = *state;
    f->receivers[0].how = REFUSES_THE_SECOND;
    put(f, 0, "a:0", 1);
    put_bytes(f, "b:0", LARGE);
    assert_int_equal(finish(f), BRAID_OK);
    assert_string_equal(f->receivers[0].got, "[a:0=1 b:0=-2 ]"); // in parts, which took their place
    assert_true(is_kept(f, "b:0"));
    f->receivers[0].how = TAKES;
    put_bytes(f, "c:0", LARGE);
    bd_outbox_flush(f->outbox);
    bd_rpc_count_wait(&f->peers.calls);
    assert_string_equal(f->receivers[0].got, "[a:0=1 b:0=-2 ][c:0=-2 ]"); // so did these
}

static void a_failure_is_the_executions(void **state)
{
    static const struct {
        answer how;
        braid_code code;
        const char *words;
    } cases[] = {
        {FAILS, BRAID_RESOURCE_EXHAUSTED, "too much"},
        {REFUSES_A_THIRD, BRAID_INTERNAL,
         "/job:worker/task:0 at b:1: the answer of PushTensors: it refuses a tensor that it has not got"},
        {REFUSES_ONE_TWICE, BRAID_INTERNAL, "it refuses a tensor that it has not got"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (i > 0) {
            tear_down(state);
            set_up(state);
        }
        fixture *f = *state;
        f->receivers[0].how = cases[i].how;
        put(f, 0, "a:0", 1);
        put(f, 0, "b:0", 2);
        put(f, 1, "c:0", 3);
        assert_int_equal(finish(f), cases[i].code);
        assert_words(&f->st, cases[i].words);
        assert_true(bd_cancellation_is_cancelled(f->execution));
    }
}

static void an_unreachable_task_is_named(void **state)
{
    fixture *f = *state;
    bd_inprocess_set_down(f->network, "b:1", true);
    put(f, 0, "a:0", 1);
    assert_int_equal(finish(f), BRAID_UNAVAILABLE);
    assert_words(&f->st, "PushTensors: /job:worker/task:0 at b:1 is unavailable");
}

static void the_first_push_to_a_task_waits_for_a_connection(void **state)
{
    fixture *f = *state;
    bd_inprocess_set_down(f->network, "b:1", true);
    put(f, 0, "a:0", 1);
    bd_outbox_flush(f->outbox);
    bd_inprocess_set_down(f->network, "b:1", false);
    assert_int_equal(finish(f), BRAID_OK);
    assert_string_equal(f->receivers[0].got, "[a:0=1 ]");
}

// The receiver reports why its step has ended, or it does not need the tensor.
static void a_step_that_is_over_at_its_receiver_is_no_failure_here(void **state)
{
    fixture *f = *state;
    f->receivers[0].how = IS_OVER;
    put_bytes(f, "a:0", LARGE);
    assert_int_equal(finish(f), BRAID_OK);
    assert_false(bd_cancellation_is_cancelled(f->execution));
    f->receivers[0].how = TAKES;
    put_bytes(f, "b:0", LARGE);
    bd_outbox_flush(f->outbox);
    bd_rpc_count_wait(&f->peers.calls);
    assert_string_equal(f->receivers[0].got, "[a:0=-2 ][b:0=-2 ]"); // the first one left no tensors
}

static void a_cancelled_execution_waits_for_no_answer(void **state)
{
    fixture *f = *state;
    f->receivers[0].how = NEVER;
    put(f, 0, "a:0", 1);
    bd_outbox_finish(f->outbox, ended, f);
    assert_false(bd_event_is_set(&f->has_ended));
    BD_STATUS(why);
    bd_fail(why, BRAID_DEADLINE_EXCEEDED, "the step took too long");
    bd_cancellation_cancel(f->execution, why);
    assert_true(bd_event_wait_until(&f->has_ended, bd_deadline_after_ms(PATIENCE_MS)));
    assert_int_equal(f->st.code, BRAID_DEADLINE_EXCEEDED);
}

static void an_abort_ends_receives_and_calls_in_progress(void **state)
{
    fixture *f = *state;
    f->receivers[0].how = NEVER;
    put(f, 0, "a:0", 1);
    bd_outbox_flush(f->outbox);
    put(f, 1, "b:0", 1);
    BD_STATUS(why);
    bd_fail(why, BRAID_ABORTED, "Step 7 is over");
    why->derived = true;
    bd_outbox_abort(f->outbox, why);
    assert_int_equal(finish(f), BRAID_ABORTED);
    assert_words(&f->st, "Step 7 is over");
    assert_int_equal(f->receivers[1].calls, 0);
}

// The response of RunGraph, with the tensors that are given to the task 0.
static receiver give(fixture *f)
{
    bd_message given;
    bd_message_init(&given);
    bd_wire_writer out;
    bd_wire_writer_init(&out, &given);
    bd_outbox_give(f->outbox, f->to[0], &out);
    bd_wire_writer_finish(&out);
    bd_wire_reader in = bd_wire_reader_of(&given), tensor;
    receiver home = {0};
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(&in, &field, &type)) {
        assert_int_equal(field, BD_RUN_GRAPH_RESPONSE_PUSHED);
        assert_true(bd_wire_get_sub(&in, &tensor));
        note_pushed(&home, tensor);
    }
    bd_message_fini(&given);
    return home;
}

// The tensors that are sent with the response of RunGraph; large tensors are not.
static void pending_tensors_can_be_given_to_their_task(void **state)
{
    fixture *f = *state;
    put(f, 0, "a:0", 1);
    put(f, 1, "b:0", 2);
    put(f, 0, "c:0", 3);
    const receiver home = give(f);
    assert_string_equal(home.got, "a:0=1 c:0=3 ");
    assert_int_equal(finish(f), BRAID_OK);
    assert_int_equal(f->receivers[0].calls, 0);
    assert_string_equal(f->receivers[1].got, "[b:0=2 ]");
}

// The answer of a push may offer to read such tensors.
static void the_first_tensor_that_could_be_read_is_pushed(void **state)
{
    fixture *f = *state;
    bd_peers_share_memory(&f->peers, NULL);
    put_bytes(f, "a:0", READABLE / 3);
    put_bytes(f, "b:0", READABLE / 3);
    put(f, 0, "c:0", 3);
    assert_string_equal(give(f).got, "b:0=0 c:0=3 ");
    assert_int_equal(finish(f), BRAID_OK);
    assert_string_equal(f->receivers[0].got, "[a:0=0 ]");
}

// The response then has their descriptions only.
static void tensors_that_are_read_can_be_given(void **state)
{
    fixture *f = *state;
    bd_peers_share_memory(&f->peers, NULL);
    f->receivers[0].how = OFFERS;
    put_bytes(f, "a:0", READABLE);
    bd_rpc_count_wait(&f->peers.calls);
    put_bytes(f, "b:0", LARGE);
    assert_string_equal(give(f).got, "b:0=-2 ");
    assert_int_equal(finish(f), BRAID_OK);
    assert_string_equal(f->receivers[0].got, "[a:0=0 ]");
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(tensors_ready_together_share_one_push_to_each_task),
        TEST(an_empty_outbox_ends_at_once),
        TEST(many_bytes_are_not_held_back),
        TEST(a_receiver_that_offers_to_read_gets_descriptions),
        TEST(refused_tensors_wait_for_a_receive),
        TEST(a_large_tensor_that_was_refused_is_not_held_twice),
        TEST(a_failure_is_the_executions),
        TEST(an_unreachable_task_is_named),
        TEST(the_first_push_to_a_task_waits_for_a_connection),
        TEST(a_step_that_is_over_at_its_receiver_is_no_failure_here),
        TEST(a_cancelled_execution_waits_for_no_answer),
        TEST(an_abort_ends_receives_and_calls_in_progress),
        TEST(pending_tensors_can_be_given_to_their_task),
        TEST(the_first_tensor_that_could_be_read_is_pushed),
        TEST(tensors_that_are_read_can_be_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
