// Two processes of a replicated task, over gRPC: which one serves, what the standby has, and what a commit
// waits for.
#include "base/testing/test.h"
#include "braid/cluster.pb-c.h"
#include "cluster/replication/replication_internal.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/peers.h"
#include "cluster/spec/cluster_spec.h"
#include "proto/pack.h"
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#define GRACE_MS 60000

typedef struct process {
    bd_transport *transport;
    bd_listener *listener;
    char *address;
    bd_timers *timers;
    bd_cancellation *cancellation;
    braid_cluster *cluster;
    bd_peers peers;
    bd_membership *membership;
    bd_resources *resources;
    bd_replication *_Atomic replication;
    bd_event serves, has_ended;
    braid_code end_code;
    bd_event *_Atomic holds_transfers; // a Transfer waits for it; NULL: none does
    atomic_int loses_transfers;        // the number of Transfers that are lost from now on
} process;

static void handle(void *arg, bd_incoming *call)
{
    process *p = arg;
    if (!p->replication) { // not started yet
        BD_STATUS(st);
        bd_fail(st, BRAID_UNAVAILABLE, "not started yet");
        bd_incoming_reply_error(call, st);
    } else if (strcmp(call->method, BD_REPLICATION_SERVICE "Hello") == 0) {
        bd_replication_serve_hello(p->replication, call);
    } else if (strcmp(call->method, BD_REPLICATION_SERVICE "Follow") == 0) {
        bd_replication_serve_follow(p->replication, call);
    } else {
        bd_event *gate = p->holds_transfers;
        if (gate) bd_event_wait(gate);
        if (atomic_fetch_sub(&p->loses_transfers, 1) > 0) {
            BD_STATUS(st);
            bd_fail(st, BRAID_UNAVAILABLE, "the connection is lost");
            bd_incoming_reply_error(call, st);
        } else {
            bd_replication_serve_transfer(p->replication, call);
        }
    }
}

static void serve(void *arg)
{
    bd_event_set(&((process *)arg)->serves);
}

static void ended(void *arg, const braid_status *st)
{
    process *p = arg;
    p->end_code = st->code;
    bd_event_set(&p->has_ended);
}

static void changed(void *arg)
{
    (void)arg;
}

static void init(process *p)
{
    BD_STATUS(st);
    *p = (process){.cancellation = bd_cancellation_new(NULL), .resources = bd_resources_new("ps")};
    bd_event_init(&p->serves);
    bd_event_init(&p->has_ended);
    p->transport = bd_grpc_transport_new(st);
    assert_ok(st);
    bd_timers_new(&p->timers, st);
    assert_ok(st);
    p->cluster = bd_cluster_new();
    bd_cluster_add(p->cluster, "ps", 0, "127.0.0.1:1", st);
    bd_cluster_add(p->cluster, "worker", 0, "127.0.0.1:2", st);
    bd_cluster_add(p->cluster, "worker", 1, "127.0.0.1:3", st);
    assert_ok(st);
    bd_peers_init(&p->peers, p->cluster, "ps", 0, p->transport, p->timers);
    p->membership = bd_membership_new(&(bd_membership_env){.peers = &p->peers,
                                                           .timers = p->timers,
                                                           .cancellation = p->cancellation,
                                                           .gone_timeout_ms = GRACE_MS,
                                                           .start_timeout_ms = GRACE_MS,
                                                           .changed = changed});
    p->transport->listen(p->transport, "127.0.0.1:0", handle, p, &p->listener, &p->address, st);
    assert_ok(st);
}

static void new_replication(process *p, const process *partner, int replica, uint64_t incarnation,
                            int64_t grace_ms)
{
    p->replication = bd_replication_new(&(bd_replication_env){.label = "/job:ps/task:0",
                                                              .replica = replica,
                                                              .partner = partner->address,
                                                              .transport = p->transport,
                                                              .replicated = {p->resources, p->membership},
                                                              .cancellation = p->cancellation,
                                                              .incarnation = incarnation,
                                                              .grace_ms = grace_ms,
                                                              .serve = serve,
                                                              .ended = ended,
                                                              .arg = p});
}

static void start(process *p, const process *partner, int replica, uint64_t incarnation, int64_t grace_ms)
{
    BD_STATUS(st);
    new_replication(p, partner, replica, incarnation, grace_ms);
    bd_replication_start(p->replication, st);
    assert_ok(st);
}

// Its port refuses new connections, and calls that are in progress at the deadline end.
static void stop_listening_until(process *p, int64_t deadline_ns)
{
    if (!p->listener) return;
    p->transport->listener_close(p->listener);
    p->transport->listener_stop(p->listener, deadline_ns);
    p->transport->listener_free(p->listener);
    p->listener = NULL;
}

// As when its process is killed.
static void stop_listening(process *p)
{
    stop_listening_until(p, 0);
}

static void fini(process *p, bool is_done)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "the test ends");
    bd_replication_close(p->replication, is_done, why);
    bd_cancellation_cancel(p->cancellation, why);
    stop_listening_until(p, bd_deadline_after_ms(GRACE_MS)); // answers that were given arrive
    bd_peers_close(&p->peers);
    bd_replication_free(p->replication);
    bd_timers_free(p->timers);
    bd_membership_free(p->membership);
    bd_peers_fini(&p->peers);
    braid_cluster_free(p->cluster);
    p->transport->free(p->transport);
    bd_cancellation_unref(p->cancellation);
    bd_resources_free(p->resources);
    bd_event_fini(&p->serves);
    bd_event_fini(&p->has_ended);
    bd_free(p->address);
}

// ---- Variables ----

static braid_code create(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    *out = &bd_variable_new(BRAID_INT64, *(const bool *)arg)->base;
    return BRAID_OK;
}

static void assign_in(bd_resources *resources, const char *container, const char *name, bool is_reference,
                      int64_t value)
{
    BD_STATUS(st);
    bd_resource *r;
    braid_tensor t;
    assert_true(bd_tensor_alloc(&t, BRAID_INT64, &BD_SCALAR));
    bd_tensor_i64(&t)[0] = value;
    const bd_resource_spec spec = {.container = container,
                                   .name = name,
                                   .type = is_reference ? &bd_ref_variable_type : &bd_variable_type,
                                   .create = create,
                                   .arg = &is_reference};
    bd_resources_lookup_or_create(resources, &spec, &r, st);
    bd_variable_assign(BD_CONTAINER_OF(r, bd_variable, base), &t, st);
    assert_ok(st);
    bd_resource_unref(r);
    bd_tensor_fini(&t);
}

static void assign(process *p, const char *container, const char *name, bool is_reference, int64_t value)
{
    assign_in(p->resources, container, name, is_reference, value);
}

#define NONE (-1)
static int64_t value_in(bd_resources *resources, const char *container, const char *name, bool is_reference)
{
    BD_STATUS(st);
    bd_resource *r;
    braid_tensor t;
    if (bd_resources_lookup(resources, container, name,
                            is_reference ? &bd_ref_variable_type : &bd_variable_type, &r, st))
        return NONE;
    const bool is_set = bd_variable_read(BD_CONTAINER_OF(r, bd_variable, base), &t); // it may be arriving
    const int64_t value = is_set ? bd_tensor_i64(&t)[0] : NONE;
    if (is_set) bd_tensor_fini(&t);
    bd_resource_unref(r);
    return value;
}

static int64_t value_of(process *p, const char *container, const char *name, bool is_reference)
{
    return value_in(p->resources, container, name, is_reference);
}

typedef struct commit {
    bd_event done;
    braid_code code;
} commit;

static void committed(void *arg, const braid_status *st)
{
    commit *c = arg;
    c->code = st->code;
    bd_event_set(&c->done);
}

static void begin_commit(process *p, commit *c)
{
    bd_event_init(&c->done);
    bd_replication_commit(p->replication, committed, c);
}

static braid_code end_commit(commit *c)
{
    bd_event_wait(&c->done);
    bd_event_fini(&c->done);
    return c->code;
}

static braid_code commit_now(process *p)
{
    commit c;
    begin_commit(p, &c);
    return end_commit(&c);
}

// A value that comes after the first copy comes by a transfer that commits wait for.
static void change_until_followed(process *serving, process *standby)
{
    int64_t i = 0, copied = NONE;
    while (copied == NONE || value_of(standby, "ps", "probe", false) == copied) {
        assign(serving, "ps", "probe", false, i++);
        assert_int_equal(commit_now(serving), BRAID_OK);
        if (copied == NONE) copied = value_of(standby, "ps", "probe", false);
    }
}

// The first process serves, the second has its first copy: a commit of the first waits for the second.
static void start_pair(process *a, process *b, int64_t grace_ms)
{
    init(a);
    init(b);
    start(a, b, 0, 100, grace_ms);
    start(b, a, 1, 200, grace_ms);
    bd_event_wait(&a->serves);
    change_until_followed(a, b);
}

static void the_standby_has_what_is_committed(void **state)
{
    (void)state;
    process a, b;
    start_pair(&a, &b, GRACE_MS);
    assert_false(bd_event_is_set(&b.serves));
    for (int64_t i = 0; i < 20; i++) {
        assign(&a, "ps", "reference", true, i);
        assign(&a, "mine", "resource", false, 100 + i);
        assign(&a, BD_STEP_CONTAINER_PREFIX "7", "temporary", true, i);
        assert_int_equal(commit_now(&a), BRAID_OK);
        assert_int_equal(value_of(&b, "ps", "reference", true), i);
        assert_int_equal(value_of(&b, "mine", "resource", false), 100 + i);
    }
    assert_int_equal(value_of(&b, BD_STEP_CONTAINER_PREFIX "7", "temporary", true), NONE);
    bd_resources_clear(a.resources, "mine");
    assert_int_equal(commit_now(&a), BRAID_OK);
    assert_int_equal(value_of(&b, "mine", "resource", false), NONE);
    assert_int_equal(value_of(&b, "ps", "reference", true), 19);
    fini(&a, true);
    bd_event_wait(&b.has_ended);
    assert_int_equal(b.end_code, BRAID_OK); // the work is done
    assert_false(bd_event_is_set(&b.serves));
    fini(&b, true);
}

// After a removal the next transfer is a full one.
static void the_copy_of_a_variable_is_its_owners(void **state)
{
    (void)state;
    process a, b;
    start_pair(&a, &b, GRACE_MS);
    bd_resources *alice = bd_resources_view(a.resources, "alice");
    assign_in(alice, "ps", "x", true, 7);
    bd_resources_unref(alice);
    assert_int_equal(commit_now(&a), BRAID_OK);
    alice = bd_resources_view(b.resources, "alice");
    bd_resources *bob = bd_resources_view(b.resources, "bob");
    assert_int_equal(value_in(alice, "ps", "x", true), 7);
    assert_int_equal(value_in(bob, "ps", "x", true), NONE);
    bd_resources_unref(alice);
    bd_resources_unref(bob);
    fini(&a, true);
    fini(&b, true);
}

static void a_full_transfer_that_is_lost_is_sent_again(void **state)
{
    (void)state;
    process a, b;
    start_pair(&a, &b, GRACE_MS);
    assign(&a, "ps", "x", true, 3);
    assign(&a, "mine", "removed", false, 4);
    assert_int_equal(commit_now(&a), BRAID_OK);
    assert_int_equal(value_of(&b, "mine", "removed", false), 4);
    atomic_store(&b.loses_transfers, 2);
    bd_resources_clear(a.resources, "mine");
    assert_int_equal(commit_now(&a), BRAID_OK);
    assert_true(atomic_load(&b.loses_transfers) < 0);
    assert_int_equal(value_of(&b, "mine", "removed", false), NONE);
    assert_int_equal(value_of(&b, "ps", "x", true), 3);
    fini(&a, true);
    fini(&b, true);
}

// No transfer gets through, although the standby answers and holds its call open.
static void a_commit_that_cannot_be_copied_ends_after_the_grace_time(void **state)
{
    (void)state;
    process a, b;
    start_pair(&a, &b, 500);
    atomic_store(&b.loses_transfers, INT_MAX);
    assign(&a, "ps", "x", true, 3);
    assert_int_equal(commit_now(&a), BRAID_UNAVAILABLE);
    bd_event_wait(&a.has_ended);
    fini(&a, false);
    bd_event_wait(&b.serves);
    fini(&b, true);
}

// Breaks the call of the standby, and waits until it follows again.
static void follow_again(process *serving, process *standby)
{
    BD_STATUS(cut);
    bd_fail(cut, BRAID_UNAVAILABLE, "the connection is cut");
    bd_replication *s = standby->replication, *r = serving->replication;
    bd_mutex_lock(&s->mu);
    const uint64_t call = s->call;
    bd_cancellation *following = bd_cancellation_ref(s->following);
    bd_mutex_unlock(&s->mu);
    bd_cancellation_cancel(following, cut);
    bd_cancellation_unref(following);
    bd_mutex_lock(&r->mu);
    while (!r->follow || r->standby_call == call) // ends: the standby follows as long as the other serves
        bd_cond_wait(&r->changed, &r->mu);
    bd_mutex_unlock(&r->mu);
}

static void a_silence_that_is_over_does_not_count(void **state)
{
    (void)state;
    const int64_t grace_ms = 1000;
    process a, b;
    start_pair(&a, &b, grace_ms);
    follow_again(&a, &b);
    assert_false(bd_event_wait_until(&a.has_ended, bd_deadline_after_ms(grace_ms + 100)));
    atomic_store(&b.loses_transfers, 1);
    assign(&a, "ps", "x", true, 3);
    assert_int_equal(commit_now(&a), BRAID_OK);
    assert_int_equal(value_of(&b, "ps", "x", true), 3);
    fini(&a, true);
    fini(&b, true);
}

static void a_first_copy_that_is_lost_is_sent_again(void **state)
{
    (void)state;
    process a, b;
    init(&a);
    init(&b);
    atomic_store(&b.loses_transfers, 2);
    start(&a, &b, 0, 100, GRACE_MS);
    start(&b, &a, 1, 200, GRACE_MS);
    bd_event_wait(&a.serves);
    assign(&a, "ps", "x", true, 4);
    change_until_followed(&a, &b);
    assert_true(atomic_load(&b.loses_transfers) < 0);
    assert_int_equal(value_of(&b, "ps", "x", true), 4);
    fini(&a, true);
    fini(&b, true);
}

static void a_commit_waits_for_the_standby(void **state)
{
    (void)state;
    process a, b;
    bd_event go;
    bd_event_init(&go);
    start_pair(&a, &b, GRACE_MS);
    b.holds_transfers = &go;
    commit waiting, second;
    assign(&a, "ps", "x", true, 1);
    begin_commit(&a, &waiting);
    assign(&a, "ps", "x", true, 2);
    begin_commit(&a, &second);
    assert_false(bd_event_wait_until(&waiting.done, bd_deadline_after_ms(50)));
    assert_int_equal(value_of(&b, "ps", "x", true), NONE);
    bd_event_set(&go);
    assert_int_equal(end_commit(&waiting), BRAID_OK);
    assert_int_equal(end_commit(&second), BRAID_OK);
    assert_int_equal(value_of(&b, "ps", "x", true), 2);
    fini(&a, true);
    fini(&b, true);
    bd_event_fini(&go);
}

static void the_standby_serves_when_the_other_is_stopped(void **state)
{
    (void)state;
    process a, b;
    start_pair(&a, &b, GRACE_MS);
    assign(&a, "ps", "x", true, 5);
    BD_STATUS(st);
    bd_membership_done(a.membership, &(bd_done_notice){"worker", 1, 7, false}, st);
    bd_variables_count_change();
    assert_int_equal(commit_now(&a), BRAID_OK);
    fini(&a, false);
    bd_event_wait(&b.serves);
    assert_int_equal(value_of(&b, "ps", "x", true), 5);
    bd_done_notice *done;
    assert_int_equal(bd_membership_done_tasks(b.membership, &done), 1); // it does not wait for it again
    assert_string_equal(done[0].job, "worker");
    assert_int_equal(done[0].task, 1);
    bd_free(done);
    assert_int_equal(commit_now(&b), BRAID_OK);
    fini(&b, true);
}

// The port of the first process refuses connections, but its thread goes on, as after a cut that looks like
// its death: it acknowledges nothing any more, and ends.
static void a_process_that_is_replaced_acknowledges_nothing(void **state)
{
    (void)state;
    process a, b;
    start_pair(&a, &b, GRACE_MS);
    stop_listening(&a);
    bd_event_wait(&b.serves);
    assign(&a, "ps", "x", true, 6);
    assert_int_equal(commit_now(&a), BRAID_UNAVAILABLE);
    bd_event_wait(&a.has_ended);
    assert_int_equal(a.end_code, BRAID_UNAVAILABLE);
    assert_int_equal(value_of(&b, "ps", "x", true), NONE);
    fini(&a, false);
    fini(&b, true);
}

static void kill_standby(process *p)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "killed");
    stop_listening(p);
    bd_replication_close(p->replication, false, why);
}

// Starts a process at the address of the standby that was killed.
static void take_place(process *p, const process *killed, const process *serving)
{
    BD_STATUS(st);
    init(p);
    stop_listening(p);
    bd_free(p->address);
    p->transport->listen(p->transport, killed->address, handle, p, &p->listener, &p->address, st);
    assert_ok(st);
    start(p, serving, 1, 300, GRACE_MS);
}

static void without_its_standby_a_process_serves_alone_and_copies_to_the_next(void **state)
{
    (void)state;
    process a, b, c;
    start_pair(&a, &b, GRACE_MS);
    kill_standby(&b);
    assign(&a, "ps", "x", true, 7);
    assert_int_equal(commit_now(&a), BRAID_OK);
    take_place(&c, &b, &a);
    change_until_followed(&a, &c);
    assert_int_equal(value_of(&c, "ps", "x", true), 7);
    assert_false(bd_event_is_set(&c.serves));
    fini(&a, true);
    fini(&b, true);
    fini(&c, true);
}

static void await(void *arg)
{
    bd_replication_await_partner(((process *)arg)->replication);
}

// The work may be over before the second process listens. It would serve, and wait for tasks that have ended.
static void a_partner_that_starts_late_is_told_that_the_work_is_done(void **state)
{
    (void)state;
    BD_STATUS(st);
    process a, b;
    bd_thread ending;
    init(&a);
    init(&b);
    stop_listening(&b);
    start(&a, &b, 0, 100, GRACE_MS);
    bd_event_wait(&a.serves);
    bd_thread_start(&ending, "ending", await, &a, st);
    assert_ok(st);
    char *address = b.address; // that a knows b by
    b.transport->listen(b.transport, address, handle, &b, &b.listener, &b.address, st);
    assert_ok(st);
    start(&b, &a, 1, 200, GRACE_MS);
    bd_thread_join(&ending);
    fini(&a, true);
    bd_free(address);
    bd_event_wait(&b.has_ended);
    assert_int_equal(b.end_code, BRAID_OK);
    assert_false(bd_event_is_set(&b.serves));
    fini(&b, true);
}

static void a_partner_that_is_dead_is_not_waited_for_at_the_end(void **state)
{
    (void)state;
    process a, b;
    start_pair(&a, &b, GRACE_MS);
    kill_standby(&b);
    const int64_t begin_ns = bd_now_ns();
    bd_replication_await_partner(a.replication);
    assert_true(bd_now_ns() - begin_ns < GRACE_MS / 2 * INT64_C(1000000));
    fini(&a, true);
    fini(&b, true);
}

// A process with the standby's address takes the place of its call.
static void a_standby_that_is_displaced_does_not_serve(void **state)
{
    (void)state;
    process a, b;
    BD_STATUS(st);
    start_pair(&a, &b, GRACE_MS);
    Braid__FollowRequest follow = BRAID__FOLLOW_REQUEST__INIT;
    follow.incarnation = 300;
    bd_message request, response;
    bd_message_init(&request);
    bd_proto_pack_message(&follow.base, &request);
    bd_channel *c = b.transport->connect(b.transport, a.address);
    bd_rpc_wait(&(bd_rpc_options){.transport = b.transport,
                                  .channel = c,
                                  .method = BD_REPLICATION_SERVICE "Follow",
                                  .deadline_ns = BD_FOREVER,
                                  .wait_for_ready = true},
                &request, NULL, NULL, &response, st);
    bd_message_fini(&response);
    b.transport->channel_close(c);
    assert_error(st, BRAID_ABORTED, "taken its place"); // by the standby's next call
    change_until_followed(&a, &b);
    assert_false(bd_event_is_set(&b.serves));
    fini(&a, true);
    fini(&b, true);
}

// ---- Transfers that the test sends ----

static uint64_t call_of(process *p)
{
    bd_replication *r = p->replication;
    bd_mutex_lock(&r->mu);
    const uint64_t call = r->call;
    bd_mutex_unlock(&r->mu);
    return call;
}

static void send_piece(process *from, const process *to, const Braid__TransferRequest *piece,
                       braid_status *st)
{
    bd_message request, response;
    bd_message_init(&request);
    bd_proto_pack_message(&piece->base, &request);
    bd_channel *c = from->transport->connect(from->transport, to->address);
    bd_rpc_wait(&(bd_rpc_options){.transport = from->transport,
                                  .channel = c,
                                  .method = BD_REPLICATION_SERVICE "Transfer",
                                  .deadline_ns = BD_FOREVER,
                                  .wait_for_ready = true},
                &request, NULL, NULL, &response, st);
    bd_message_fini(&response);
    from->transport->channel_close(c);
}

// Sends a transfer without a variable, which clears those of the standby if it is applied.
static void send_transfer(process *from, const process *to, uint64_t call, uint64_t number, braid_status *st)
{
    static const uint8_t clears[] = {1 << 3, 1, 2 << 3, 1}; // is_full, is_complete
    Braid__TransferRequest late = BRAID__TRANSFER_REQUEST__INIT;
    late.incarnation = 100;
    late.number = number;
    late.is_last = true;
    late.call = call;
    late.data = (ProtobufCBinaryData){sizeof clears, (uint8_t *)clears};
    send_piece(from, to, &late, st);
}

// A transfer that was sent for an earlier call may arrive when the standby has begun anew.
static void a_transfer_for_an_earlier_call_is_refused(void **state)
{
    (void)state;
    process a, b;
    BD_STATUS(st);
    start_pair(&a, &b, GRACE_MS);
    send_transfer(&a, &b, call_of(&b) - 1, 1000000, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "does not follow");
    assert_true(value_of(&b, "ps", "probe", false) != NONE);
    fini(&a, true);
    fini(&b, true);
}

// The serving process has given it up, and has sent a later one meanwhile.
static void a_transfer_that_is_older_than_the_last_is_refused(void **state)
{
    (void)state;
    process a, b;
    BD_STATUS(st);
    start_pair(&a, &b, GRACE_MS);
    send_transfer(&a, &b, call_of(&b), 1, st);
    assert_error(st, BRAID_ABORTED, "a later one has arrived");
    assert_true(value_of(&b, "ps", "probe", false) != NONE);
    assign(&a, "ps", "x", true, 9);
    assert_int_equal(commit_now(&a), BRAID_OK);
    assert_int_equal(value_of(&b, "ps", "x", true), 9);
    fini(&a, true);
    fini(&b, true);
}

// It may have waited for the connection while the standby was started again.
static void a_transfer_for_the_standby_before_a_restart_is_refused(void **state)
{
    (void)state;
    process a, b, c;
    BD_STATUS(st);
    start_pair(&a, &b, GRACE_MS);
    const uint64_t call = call_of(&b);
    kill_standby(&b);
    take_place(&c, &b, &a);
    change_until_followed(&a, &c);
    send_transfer(&a, &c, call, 1000000, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "does not follow");
    assert_true(value_of(&c, "ps", "probe", false) != NONE);
    fini(&a, true);
    fini(&b, true);
    fini(&c, true);
}

static void a_transfer_in_many_pieces_is_applied(void **state)
{
    (void)state;
    // is_complete, and a task that is done: job "worker", task 1
    static const uint8_t transfer[] = {16, 1, 34, 10, 10, 6, 'w', 'o', 'r', 'k', 'e', 'r', 16, 1};
    process a, b;
    BD_STATUS(st);
    start_pair(&a, &b, GRACE_MS);
    Braid__TransferRequest piece = BRAID__TRANSFER_REQUEST__INIT;
    piece.incarnation = 100;
    piece.number = 1000000;
    piece.call = call_of(&b);
    for (size_t i = 0; i < sizeof transfer; i++) {
        piece.offset = i;
        piece.is_last = i + 1 == sizeof transfer;
        piece.data = (ProtobufCBinaryData){1, (uint8_t *)&transfer[i]};
        send_piece(&a, &b, &piece, st);
        assert_ok(st);
    }
    bd_done_notice *done;
    assert_int_equal(bd_membership_done_tasks(b.membership, &done), 1);
    assert_string_equal(done[0].job, "worker");
    assert_int_equal(done[0].task, 1);
    bd_free(done);
    fini(&a, true);
    fini(&b, true);
}

static void of_two_that_start_together_one_serves(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        process a, b;
        init(&a);
        init(&b);
        start(i % 2 ? &a : &b, i % 2 ? &b : &a, i % 2 ? 0 : 1, 100, GRACE_MS);
        start(i % 2 ? &b : &a, i % 2 ? &a : &b, i % 2 ? 1 : 0, 200, GRACE_MS);
        bd_event_wait(&a.serves);
        assert_false(bd_event_is_set(&b.serves));
        fini(&b, true);
        fini(&a, true);
    }
}

// A standby that has a copy serves when its partner comes back without variables.
static void a_partner_that_has_restarted_does_not_serve(void **state)
{
    (void)state;
    process a, b, c;
    BD_STATUS(st);
    start_pair(&a, &b, GRACE_MS);
    assign(&a, "ps", "x", true, 8);
    assert_int_equal(commit_now(&a), BRAID_OK);
    stop_listening(&a);
    init(&c);
    stop_listening(&c);
    bd_free(c.address);
    c.transport->listen(c.transport, a.address, handle, &c, &c.listener, &c.address, st);
    assert_ok(st);
    start(&c, &b, 0, 300, GRACE_MS);
    bd_event_wait(&b.serves);
    change_until_followed(&b, &c);
    assert_int_equal(value_of(&c, "ps", "x", true), 8);
    assert_false(bd_event_is_set(&c.serves));
    fini(&b, true);
    fini(&c, true);
    fini(&a, true);
}

// A name that cannot be looked up any more does not hide that the partner is dead.
static void the_host_of_the_partner_is_looked_up_once(void **state)
{
    (void)state;
    process a, b;
    init(&a);
    init(&b);
    new_replication(&a, &b, 0, 100, GRACE_MS);
    new_replication(&b, &a, 1, 200, GRACE_MS);
    bd_replication *r = a.replication;
    r->env.partner = "no port: not known yet";
    assert_false(bd_replication_is_partner_dead(r));
    r->env.partner = b.address;
    assert_false(bd_replication_is_partner_dead(r)); // it listens
    r->env.partner = "no port: not known any more";
    assert_false(bd_replication_is_partner_dead(r));
    stop_listening(&b);
    assert_true(bd_replication_is_partner_dead(r));
    fini(&a, true);
    fini(&b, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_standby_has_what_is_committed),
        cmocka_unit_test(the_copy_of_a_variable_is_its_owners),
        cmocka_unit_test(a_full_transfer_that_is_lost_is_sent_again),
        cmocka_unit_test(a_commit_that_cannot_be_copied_ends_after_the_grace_time),
        cmocka_unit_test(a_silence_that_is_over_does_not_count),
        cmocka_unit_test(a_first_copy_that_is_lost_is_sent_again),
        cmocka_unit_test(a_commit_waits_for_the_standby),
        cmocka_unit_test(the_standby_serves_when_the_other_is_stopped),
        cmocka_unit_test(a_process_that_is_replaced_acknowledges_nothing),
        cmocka_unit_test(without_its_standby_a_process_serves_alone_and_copies_to_the_next),
        cmocka_unit_test(a_partner_that_starts_late_is_told_that_the_work_is_done),
        cmocka_unit_test(a_partner_that_is_dead_is_not_waited_for_at_the_end),
        cmocka_unit_test(a_standby_that_is_displaced_does_not_serve),
        cmocka_unit_test(a_transfer_for_an_earlier_call_is_refused),
        cmocka_unit_test(a_transfer_that_is_older_than_the_last_is_refused),
        cmocka_unit_test(a_transfer_for_the_standby_before_a_restart_is_refused),
        cmocka_unit_test(a_transfer_in_many_pieces_is_applied),
        cmocka_unit_test(of_two_that_start_together_one_serves),
        cmocka_unit_test(a_partner_that_has_restarted_does_not_serve),
        cmocka_unit_test(the_host_of_the_partner_is_looked_up_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
