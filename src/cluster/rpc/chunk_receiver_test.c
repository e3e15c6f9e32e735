// Receiving tensors in chunks: peers that answer correctly, wrongly or not at all, and malformed
// descriptions.
// labels: concurrent
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "braid/cluster.pb-c.h"
#include "cluster/rpc/tensor_chunks.h"
#include "cluster/rpc/testing/fake_mpi.h"
#include "cluster/rpc/testing/memory_sender.h"
#include "proto/pack.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
    CHUNK_BYTES = 64,
    CHUNKS = 12,
    FLOATS = (CHUNKS - 1) * CHUNK_BYTES / 4 + 3,
    BYTES = FLOATS * 4,
    NEAR = 2,       // chunks that are asked for at a time
    FIRST_RANK = 1, // as the description has it
    LONG_MS = 200,  // much longer than an answer takes
    PATIENCE_MS = 30000
};

// How the peer answers.
typedef enum answer {
    WELL,
    TOO_SHORT,
    TOO_LONG,
    WITH_ABORTED,
    NEVER, // ... before its caller has cancelled
    LATE   // by answer_late; all chunks
} answer;

typedef struct fixture {
    bd_transport *transport;
    bd_listener *listener;
    bd_rpc_count calls;
    bd_peer peer;
    bd_traffic traffic;
    float values[FLOATS];
    uint64_t bad_chunk;
    answer how;         // the bad chunk is answered
    bd_event has_asked; // for the bad chunk
    bd_mutex mu;
    bd_incoming *waiting[CHUNKS]; // calls that LATE has not answered yet, by chunk; guarded by mu
    int waiting_count;            // guarded by mu
    bd_cond changed;              // waiting_count has
    atomic_int window;            // of the peer
    memory_sender sender;         // where the tensor is in another process
    atomic_int released;          // calls of ReleaseTensor
    bd_cancellation *cancellation;
    bd_event has_come;
    int results;
    braid_tensor tensor;
    braid_status st;
} fixture;

// ---- The peer ----

static void give_up(void *arg, bool cancelled)
{
    (void)cancelled;
    BD_STATUS(st);
    bd_fail(st, BRAID_CANCELLED, "the caller is gone");
    bd_incoming_reply(arg, NULL, st);
}

static void reply_chunk(const fixture *f, bd_incoming *call, uint64_t chunk, size_t len)
{
    static const uint8_t more[1];
    bd_message response;
    bd_message_init(&response);
    const size_t from = chunk * CHUNK_BYTES, left = BYTES - from,
                 real = left < CHUNK_BYTES ? left : CHUNK_BYTES;
    bd_message_add_copy(&response, (const uint8_t *)f->values + from, len < real ? len : real);
    if (len > real) bd_message_add_copy(&response, more, 1);
    BD_STATUS(ok);
    bd_incoming_reply(call, &response, ok);
}

static size_t chunk_len(uint64_t chunk)
{
    return chunk == CHUNKS - 1 ? BYTES % CHUNK_BYTES : CHUNK_BYTES;
}

static void keep(fixture *f, bd_incoming *call, uint64_t chunk)
{
    bd_mutex_lock(&f->mu);
    f->waiting[chunk] = call;
    f->waiting_count++;
    bd_cond_broadcast(&f->changed);
    bd_mutex_unlock(&f->mu);
}

// Whether `count` calls, or more, wait for an answer within this time.
static bool wait_for_calls(fixture *f, int count, int64_t timeout_ms)
{
    const int64_t deadline_ns = bd_deadline_after_ms(timeout_ms);
    bd_mutex_lock(&f->mu);
    while (f->waiting_count < count && !bd_cond_wait_until(&f->changed, &f->mu, deadline_ns)) {}
    const bool are_there = f->waiting_count >= count;
    bd_mutex_unlock(&f->mu);
    return are_there;
}

static void answer_late(fixture *f, uint64_t chunk)
{
    bd_mutex_lock(&f->mu);
    bd_incoming *call = f->waiting[chunk];
    f->waiting[chunk] = NULL;
    f->waiting_count--;
    bd_mutex_unlock(&f->mu);
    reply_chunk(f, call, chunk, chunk_len(chunk));
}

static void sent(void *call, bool is_whole)
{
    BD_STATUS(st);
    assert_true(is_whole);
    bd_incoming_reply_status(call, st);
}

// The peer is another rank of the receiver's world, with the same engine.
static void serve_by_mpi(fixture *f, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__SendByMpiRequest *request =
        bd_proto_unpack_message(&braid__send_by_mpi_request__descriptor, &call->request, arena, st);
    assert_non_null(request);
    assert_int_equal(request->id, 7);
    assert_int_equal(request->rank, FAKE_MPI_RANK);
    bd_event_set(&f->has_asked);
    if (f->how == WITH_ABORTED) {
        bd_fail(st, BRAID_ABORTED, "SendByMpi: the tensor is not held any more");
        bd_incoming_reply(call, NULL, st);
    } else if (f->how == NEVER) {
        call->transport->on_end(call, give_up, call);
    } else {
        bd_mpi_send(f->peer.mpi, bd_mpi_next_id(f->peer.mpi), request->rank, request->tag, f->values, BYTES,
                    sent, call);
    }
}

static void serve(void *arg, bd_incoming *call)
{
    fixture *f = arg;
    BD_STATUS(st);
    if (strstr(call->method, "/SendByMpi")) {
        serve_by_mpi(f, call);
        return;
    }
    if (strstr(call->method, "/ReleaseTensor")) {
        atomic_fetch_add(&f->released, 1);
        bd_message empty;
        bd_message_init(&empty);
        bd_incoming_reply(call, &empty, st);
        return;
    }
    BD_PROTO_ARENA(arena);
    const Braid__RecvChunkRequest *request =
        bd_proto_unpack_message(&braid__recv_chunk_request__descriptor, &call->request, arena, st);
    assert_non_null(request);
    assert_int_equal(request->id, 7);
    const uint64_t chunk = request->chunk;
    const answer how = chunk == f->bad_chunk || f->how == LATE ? f->how : WELL;
    const size_t len = chunk_len(chunk);
    if (chunk == f->bad_chunk) bd_event_set(&f->has_asked);
    if (how == WITH_ABORTED) {
        bd_fail(st, BRAID_ABORTED, "RecvChunk: the tensor is not held any more");
        bd_incoming_reply(call, NULL, st);
    } else if (how == NEVER) {
        call->transport->on_end(call, give_up, call);
    } else if (how == LATE) {
        keep(f, call, chunk);
    } else {
        reply_chunk(f, call, chunk, how == TOO_SHORT ? len - 1 : how == TOO_LONG ? len + 1 : len);
    }
}

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    BD_STATUS(st);
    f->transport = bd_inprocess_transport_new(NULL, NULL, st);
    char *bound;
    assert_int_equal(f->transport->listen(f->transport, "127.0.0.1:1234", serve, f, &f->listener, &bound, st),
                     BRAID_OK);
    bd_free(bound);
    bd_rpc_count_init(&f->calls);
    f->peer = (bd_peer){.job = "ps",
                        .address = "127.0.0.1:1234",
                        .label = (char *)"/job:ps/task:0 at 127.0.0.1:1234",
                        .transport = f->transport,
                        .traffic = &f->traffic,
                        .calls = &f->calls,
                        .window = &f->window};
    f->peer.channel = f->transport->connect(f->transport, f->peer.address);
    for (int i = 0; i < FLOATS; i++)
        f->values[i] = (float)i;
    f->cancellation = bd_cancellation_new(NULL);
    bd_mutex_init(&f->mu);
    bd_cond_init(&f->changed);
    bd_event_init(&f->has_asked);
    bd_event_init(&f->has_come);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    f->transport->channel_close(f->peer.channel);
    bd_rpc_count_wait(&f->calls);
    bd_rpc_count_fini(&f->calls);
    f->transport->listener_stop(f->listener, 0);
    f->transport->listener_free(f->listener);
    f->transport->free(f->transport);
    bd_cancellation_unref(f->cancellation);
    bd_mutex_fini(&f->mu);
    bd_cond_fini(&f->changed);
    bd_event_fini(&f->has_asked);
    bd_event_fini(&f->has_come);
    bd_tensor_fini(&f->tensor);
    bd_status_fini(&f->st);
    bd_free(f);
    return 0;
}

// ---- The receiver ----

static void came(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *st)
{
    fixture *f = arg;
    f->results++;
    assert_false(is_dead);
    bd_status_copy(&f->st, st);
    if (!st->code) bd_tensor_move(&f->tensor, tensor);
    bd_event_set(&f->has_come);
}

static void fetch(fixture *f, const Braid__TensorChunks *description, size_t first_len)
{
    bd_message head, first;
    bd_message_init(&head);
    bd_message_init(&first);
    bd_proto_pack_message(&description->base, &head);
    if (first_len) bd_message_add_copy(&first, f->values, first_len);
    bd_wire_reader in = bd_wire_reader_of(&head), in_first = bd_wire_reader_of(&first);
    bd_fetch_chunks(&f->peer, &in, &in_first, f->cancellation, came, f);
    bd_message_fini(&head);
    bd_message_fini(&first);
}

static void fetch_described(fixture *f, uint32_t mpi_rank, Braid__TensorMemory *memory, size_t first_len)
{
    Braid__TensorChunks description = BRAID__TENSOR_CHUNKS__INIT;
    int64_t dim[] = {FLOATS};
    description.id = 7;
    description.dtype = BRAID_FLOAT;
    description.dim = dim;
    description.n_dim = 1;
    description.chunk_bytes = CHUNK_BYTES;
    description.mpi_rank = mpi_rank;
    description.memory = memory;
    fetch(f, &description, first_len);
}

static void fetch_well(fixture *f)
{
    fetch_described(f, 0, NULL, CHUNK_BYTES);
}

// Another tensor may be fetched.
static void fetch_again(fixture *f)
{
    f->results = 0;
    bd_tensor_fini(&f->tensor);
    f->tensor = (braid_tensor){0};
    bd_event_fini(&f->has_come);
    bd_event_init(&f->has_come);
}

static void wait_for_it(fixture *f)
{
    assert_true(bd_event_wait_until(&f->has_come, bd_deadline_after_ms(PATIENCE_MS)));
    assert_int_equal(f->results, 1);
}

static void expect_error(fixture *f, braid_code code, const char *words)
{
    wait_for_it(f);
    if (f->st.code != code || !strstr(f->st.message, words))
        fail_msg("code %d: %s", (int)f->st.code, f->st.message ? f->st.message : "");
    assert_false(bd_tensor_is_set(&f->tensor));
}

static void chunks_make_the_tensor(void **state)
{
    fixture *f = *state;
    fetch_well(f);
    wait_for_it(f);
    assert_int_equal(f->st.code, BRAID_OK);
    assert_int_equal(bd_tensor_bytes(&f->tensor), BYTES);
    assert_memory_equal(f->tensor.data, f->values, BYTES);
}

static void wait_for_call(fixture *f, uint64_t chunk)
{
    const int64_t deadline_ns = bd_deadline_after_ms(PATIENCE_MS);
    bd_mutex_lock(&f->mu);
    while (!f->waiting[chunk] && !bd_cond_wait_until(&f->changed, &f->mu, deadline_ns)) {}
    assert_non_null(f->waiting[chunk]);
    bd_mutex_unlock(&f->mu);
}

// Answers the calls for chunks from `chunk` to the last one, as they come.
static void answer_rest(fixture *f, uint64_t chunk)
{
    for (; chunk < CHUNKS; chunk++) {
        wait_for_call(f, chunk);
        answer_late(f, chunk);
    }
    wait_for_it(f);
    assert_int_equal(f->st.code, BRAID_OK);
    assert_memory_equal(f->tensor.data, f->values, BYTES);
}

// Answers chunk 1 so many milliseconds after the call, and then chunk 2. Returns false if this took so long
// that the second answer does not count as equally quick: the machine is busy.
static bool answer_two(fixture *f, int64_t ms)
{
    f->how = LATE;
    fetch_well(f);
    assert_true(wait_for_calls(f, NEAR, PATIENCE_MS));
    assert_false(wait_for_calls(f, NEAR + 1, ms));
    const int64_t deadline_ns = bd_deadline_after_ms(ms / 2);
    answer_late(f, 1);
    assert_true(wait_for_calls(f, 3, PATIENCE_MS)); // for chunks 2, 3, 4
    answer_late(f, 2);
    assert_true(wait_for_calls(f, 3, PATIENCE_MS)); // the answer has come
    return bd_now_ns() < deadline_ns;
}

// All answers take as long as the first, which is the quickest so far.
static void a_peer_far_away_is_asked_for_more_at_a_time(void **state)
{
    fixture *f = *state;
    for (int64_t ms = LONG_MS; !answer_two(f, ms); ms *= 2) {
        answer_rest(f, 3);
        fetch_again(f);
    }
    assert_true(wait_for_calls(f, 4, PATIENCE_MS));
    answer_rest(f, 3);
}

static void chunks_that_wait_for_each_other_do_not_become_more(void **state)
{
    fixture *f = *state;
    const int64_t begin_ns = bd_now_ns();
    f->how = LATE;
    fetch_well(f);
    assert_true(wait_for_calls(f, NEAR, PATIENCE_MS));
    answer_late(f, 1);
    const int64_t took_ms = (bd_now_ns() - begin_ns) / 1000000; // at most
    assert_true(wait_for_calls(f, 3, PATIENCE_MS));
    assert_false(wait_for_calls(f, 4, took_ms + LONG_MS));
    answer_late(f, 2); // it took much longer than chunk 1
    assert_true(wait_for_calls(f, 3, PATIENCE_MS));
    assert_false(wait_for_calls(f, 4, LONG_MS));
    answer_rest(f, 3);
}

static void the_next_tensor_begins_with_most_of_the_window(void **state)
{
    fixture *f = *state;
    atomic_store(&f->window, 8);
    f->how = LATE;
    fetch_well(f);
    assert_true(wait_for_calls(f, 6, PATIENCE_MS));
    assert_false(wait_for_calls(f, 7, LONG_MS));
    answer_rest(f, 1);
    assert_true(atomic_load(&f->window) >= 6);
}

static void an_error_of_a_malformed_chunk_names_the_peer(void **state)
{
    static const struct {
        answer how;
        braid_code code;
        const char *words;
    } cases[] = {
        {TOO_SHORT, BRAID_INTERNAL,
         "/job:ps/task:0 at 127.0.0.1:1234: RecvChunk: 63 bytes came instead of 64"},
        {TOO_LONG, BRAID_INTERNAL,
         "/job:ps/task:0 at 127.0.0.1:1234: RecvChunk: 65 bytes came instead of 64"},
        {WITH_ABORTED, BRAID_ABORTED, "RecvChunk: the tensor is not held any more"},
    };
    fixture *f = *state;
    f->bad_chunk = 3;
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        f->how = cases[i].how;
        fetch_well(f);
        expect_error(f, cases[i].code, cases[i].words);
        fetch_again(f);
    }
}

static void a_peer_that_is_lost_meanwhile_is_named(void **state)
{
    fixture *f = *state;
    f->bad_chunk = 2;
    f->how = NEVER;
    fetch_well(f);
    assert_true(bd_event_wait_until(&f->has_asked, bd_deadline_after_ms(PATIENCE_MS)));
    bd_inprocess_set_down(f->transport, f->peer.address, true);
    expect_error(f, BRAID_UNAVAILABLE, "RecvChunk: /job:ps/task:0 at 127.0.0.1:1234 is unavailable: ");
}

static void cancelling_ends_it(void **state)
{
    fixture *f = *state;
    f->bad_chunk = 2;
    f->how = NEVER;
    fetch_well(f);
    assert_true(bd_event_wait_until(&f->has_asked, bd_deadline_after_ms(PATIENCE_MS)));
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "the step is over");
    bd_cancellation_cancel(f->cancellation, why);
    expect_error(f, BRAID_CANCELLED, "the step is over");
}

// ---- From the memory of another process ----

static void fetch_from_memory(fixture *f)
{
    fetch_described(f, 0, &f->sender.memory, 0);
}

// The process is made before the transport's threads.
static int set_up_with_memory(void **state)
{
    float values[FLOATS];
    memory_sender sender;
    bd_cross_memory *m = bd_cross_memory_new();
    for (int i = 0; i < FLOATS; i++)
        values[i] = (float)i;
    memory_sender_start(&sender, m, values, BYTES, 7);
    set_up(state);
    fixture *f = *state;
    f->sender = sender;
    f->peer.memory = m;
    return 0;
}

static int tear_down_with_memory(void **state)
{
    fixture *f = *state;
    memory_sender sender = f->sender;
    bd_cross_memory *m = f->peer.memory;
    tear_down(state);
    memory_sender_end(&sender);
    bd_cross_memory_free(m);
    return 0;
}

static void the_tensor_is_read_and_released(void **state)
{
    fixture *f = *state;
    fetch_from_memory(f);
    wait_for_it(f);
    assert_int_equal(f->st.code, BRAID_OK);
    assert_memory_equal(f->tensor.data, f->values, BYTES);
    assert_int_equal(f->traffic.memory_bytes, BYTES);
    bd_rpc_count_wait(&f->calls);
    assert_int_equal(f->released, 1);
}

static void a_tensor_that_is_let_go_meanwhile_comes_in_chunks(void **state)
{
    fixture *f = *state;
    memory_sender_let_go(&f->sender);
    fetch_from_memory(f);
    wait_for_it(f);
    assert_int_equal(f->st.code, BRAID_OK);
    assert_memory_equal(f->tensor.data, f->values, BYTES);
    assert_int_equal(f->traffic.memory_bytes, 0);
}

static void cancelling_ends_the_reading_and_releases_the_tensor(void **state)
{
    fixture *f = *state;
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "the step is over");
    bd_cancellation_cancel(f->cancellation, why);
    fetch_from_memory(f);
    expect_error(f, BRAID_CANCELLED, "the step is over");
    assert_int_equal(f->traffic.memory_bytes, 0);
    bd_rpc_count_wait(&f->calls);
    assert_int_equal(f->released, 1);
}

// ---- By MPI ----

static void fetch_by_mpi(fixture *f)
{
    fake_mpi_set_up();
    f->peer.mpi = bd_mpi_new_with(&fake_mpi_plugin);
    bd_event_set(&fake_mpi_world.may_start);
    bd_mpi_start(f->peer.mpi);
    const int64_t deadline_ns = bd_deadline_after_ms(PATIENCE_MS);
    while (bd_mpi_size(f->peer.mpi) == 0) // ends: the thread starts MPI at once
        assert_true(bd_now_ns() < deadline_ns);
    fetch_described(f, FIRST_RANK, NULL, 0);
}

static void end_mpi(fixture *f)
{
    bd_rpc_count_wait(&f->calls);
    bd_mpi_end(f->peer.mpi);
    f->peer.mpi = NULL;
    fake_mpi_tear_down();
}

static void a_rank_of_mpi_brings_the_tensor_as_a_message(void **state)
{
    fixture *f = *state;
    fetch_by_mpi(f);
    wait_for_it(f);
    assert_int_equal(f->st.code, BRAID_OK);
    assert_memory_equal(f->tensor.data, f->values, BYTES);
    end_mpi(f);
    assert_int_equal(atomic_load(&f->traffic.mpi_bytes), BYTES);
}

static void a_rank_that_does_not_hold_the_tensor_ends_the_receive(void **state)
{
    fixture *f = *state;
    f->how = WITH_ABORTED;
    fetch_by_mpi(f);
    expect_error(f, BRAID_ABORTED, "SendByMpi: the tensor is not held any more");
    end_mpi(f);
}

static void cancelling_ends_a_receive_by_mpi(void **state)
{
    fixture *f = *state;
    f->how = NEVER;
    fetch_by_mpi(f);
    assert_true(bd_event_wait_until(&f->has_asked, bd_deadline_after_ms(PATIENCE_MS)));
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "the step is over");
    bd_cancellation_cancel(f->cancellation, why);
    expect_error(f, BRAID_CANCELLED, "the step is over");
    end_mpi(f);
}

static void chunks_come_from_a_rank_where_this_task_has_no_mpi(void **state)
{
    fixture *f = *state;
    fetch_described(f, FIRST_RANK, NULL, 0);
    wait_for_it(f);
    assert_int_equal(f->st.code, BRAID_OK);
    assert_memory_equal(f->tensor.data, f->values, BYTES);
}

static void malformed_descriptions_are_refused(void **state)
{
    static const struct {
        int32_t dtype;
        int64_t dims[3];
        size_t rank;
        uint64_t chunk_bytes;
        size_t first_len;
        bool has_memory;
    } cases[] = {
        {BRAID_FLOAT, {FLOATS}, 1, 0, 0, false},                    // no chunks
        {BRAID_FLOAT, {FLOATS}, 1, BYTES, BYTES, false},            // one
        {BRAID_FLOAT, {FLOATS}, 1, UINT64_MAX, CHUNK_BYTES, false}, // no tensor has this length
        {BRAID_FLOAT, {FLOATS}, 1, CHUNK_BYTES, CHUNK_BYTES - 1, false},
        {BRAID_FLOAT, {FLOATS}, 1, CHUNK_BYTES, 0, false},
        {BRAID_FLOAT, {-1}, 1, CHUNK_BYTES, CHUNK_BYTES, false},
        {BRAID_FLOAT, {INT64_MAX}, 1, CHUNK_BYTES, CHUNK_BYTES, false},
        {BRAID_FLOAT, {INT64_MAX / 4, 3, 5}, 3, CHUNK_BYTES, CHUNK_BYTES, false},
        {BRAID_FLOAT, {INT64_C(1) << 50}, 1, CHUNK_BYTES, CHUNK_BYTES, false}, // more than any memory
        {BRAID_FLOAT, {0}, 1, CHUNK_BYTES, CHUNK_BYTES, false},
        {BRAID_FLOAT, {0}, 1, CHUNK_BYTES, 0, true},
        {BRAID_STRING, {FLOATS}, 1, CHUNK_BYTES, CHUNK_BYTES, false},
        {BRAID_FLOAT + 100, {FLOATS}, 1, CHUNK_BYTES, CHUNK_BYTES, false}, // a reference
        {-1, {FLOATS}, 1, CHUNK_BYTES, CHUNK_BYTES, false},
        {9999, {FLOATS}, 1, CHUNK_BYTES, CHUNK_BYTES, false},
    };
    fixture *f = *state;
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        Braid__TensorChunks description = BRAID__TENSOR_CHUNKS__INIT;
        description.dtype = cases[i].dtype;
        description.dim = (int64_t *)cases[i].dims;
        description.n_dim = cases[i].rank;
        description.chunk_bytes = cases[i].chunk_bytes;
        Braid__TensorMemory memory = BRAID__TENSOR_MEMORY__INIT;
        description.memory = cases[i].has_memory ? &memory : NULL;
        fetch(f, &description, cases[i].first_len);
        wait_for_it(f);
        if (!f->st.code) fail_msg("case %zu is taken", i);
        assert_non_null(strstr(f->st.message, f->peer.label));
        f->results = 0;
        bd_event_fini(&f->has_come);
        bd_event_init(&f->has_come);
    }
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
#define TEST_WITH_MEMORY(fn) cmocka_unit_test_setup_teardown(fn, set_up_with_memory, tear_down_with_memory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(chunks_make_the_tensor),
        TEST(a_peer_far_away_is_asked_for_more_at_a_time),
        TEST(chunks_that_wait_for_each_other_do_not_become_more),
        TEST(the_next_tensor_begins_with_most_of_the_window),
        TEST(an_error_of_a_malformed_chunk_names_the_peer),
        TEST(a_peer_that_is_lost_meanwhile_is_named),
        TEST(cancelling_ends_it),
        TEST_WITH_MEMORY(the_tensor_is_read_and_released),
        TEST_WITH_MEMORY(a_tensor_that_is_let_go_meanwhile_comes_in_chunks),
        TEST_WITH_MEMORY(cancelling_ends_the_reading_and_releases_the_tensor),
        TEST(a_rank_of_mpi_brings_the_tensor_as_a_message),
        TEST(a_rank_that_does_not_hold_the_tensor_ends_the_receive),
        TEST(cancelling_ends_a_receive_by_mpi),
        TEST(chunks_come_from_a_rank_where_this_task_has_no_mpi),
        TEST(malformed_descriptions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
