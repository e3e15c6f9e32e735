// The local rendezvous: either side first, dead values, errors, and many threads at once.
// labels: concurrent
#include "base/alloc.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "runtime/local_rendezvous.h"
#include <stdio.h>

typedef struct received {
    int calls;
    bool is_dead;
    float value;
    braid_code code;
    char message[80];
} received;

static void on_received(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *st)
{
    received *r = arg;
    r->calls++;
    r->is_dead = is_dead;
    r->code = st->code;
    strncpy(r->message, braid_status_message(st), sizeof r->message - 1);
    if (!st->code && !is_dead) r->value = bd_tensor_f32(tensor)[0];
}

static braid_code send(bd_rendezvous *r, const char *name, float value, bool is_dead, braid_status *st)
{
    braid_tensor t = {0};
    if (!is_dead) {
        assert_true(bd_tensor_alloc(&t, BRAID_FLOAT, &BD_SCALAR));
        bd_tensor_f32(&t)[0] = value;
    }
    bd_rendezvous_key key = bd_rendezvous_key_of(name);
    braid_code code = r->ops->send(r, &key, &t, is_dead, st);
    bd_tensor_fini(&t);
    return code;
}

static void recv(bd_rendezvous *r, const char *name, received *to)
{
    bd_rendezvous_key key = bd_rendezvous_key_of(name);
    r->ops->recv(r, &key, on_received, to);
}

static void a_tensor_is_passed_in_either_order_of_send_and_receive(void **state)
{
    (void)state;
    bd_rendezvous *r = bd_local_rendezvous_new();
    BD_STATUS(st);
    received a = {0}, b = {0};
    send(r, "a", 1, false, st);
    assert_ok(st);
    recv(r, "a", &a);
    recv(r, "b", &b);
    assert_int_equal(b.calls, 0);
    send(r, "b", 2, false, st);
    assert_ok(st);
    assert_int_equal(a.calls, 1);
    assert_float_equal(a.value, 1, 0);
    assert_int_equal(b.calls, 1);
    assert_float_equal(b.value, 2, 0);
    bd_rendezvous_unref(r);
}

static void a_dead_value_arrives_dead(void **state)
{
    (void)state;
    bd_rendezvous *r = bd_local_rendezvous_new();
    BD_STATUS(st);
    received a = {0}, b = {0};
    send(r, "a", 0, true, st);
    recv(r, "a", &a);
    recv(r, "b", &b);
    send(r, "b", 0, true, st);
    assert_ok(st);
    assert_true(a.is_dead && a.code == BRAID_OK);
    assert_true(b.is_dead && b.code == BRAID_OK);
    bd_rendezvous_unref(r);
}

static void a_key_is_used_once_at_a_time(void **state)
{
    (void)state;
    bd_rendezvous *r = bd_local_rendezvous_new();
    BD_STATUS(st);
    received first = {0}, second = {0};
    send(r, "a", 1, false, st);
    send(r, "a", 2, false, st);
    assert_error(st, BRAID_ABORTED, "Duplicated send: a");
    recv(r, "a", &first);
    assert_float_equal(first.value, 1, 0);
    recv(r, "b", &first);
    recv(r, "b", &second);
    assert_int_equal(second.code, BRAID_ABORTED);
    assert_non_null(strstr(second.message, "Duplicated receive: b"));
    send(r, "b", 3, false, st);
    assert_float_equal(first.value, 3, 0);
    bd_rendezvous_unref(r);
}

static void an_abort_ends_waits_and_refuses_later_ones(void **state)
{
    (void)state;
    bd_rendezvous *r = bd_local_rendezvous_new();
    BD_STATUS(st);
    received waiting = {0}, late = {0};
    recv(r, "a", &waiting);
    send(r, "b", 1, false, st); // dropped
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "step cancelled");
    r->ops->abort(r, why);
    bd_fail(why, BRAID_INTERNAL, "a second reason");
    r->ops->abort(r, why);
    assert_int_equal(waiting.calls, 1);
    assert_int_equal(waiting.code, BRAID_CANCELLED);
    assert_string_equal(waiting.message, "step cancelled");
    recv(r, "b", &late);
    assert_int_equal(late.code, BRAID_CANCELLED);
    send(r, "c", 1, false, st);
    assert_error(st, BRAID_CANCELLED, "step cancelled");
    bd_rendezvous_unref(r);
}

static void the_end_of_a_rendezvous_ends_its_receives(void **state)
{
    (void)state;
    bd_rendezvous *r = bd_local_rendezvous_new();
    received waiting = {0};
    recv(r, "a", &waiting);
    bd_rendezvous_unref(r);
    assert_int_equal(waiting.calls, 1);
    assert_int_equal(waiting.code, BRAID_CANCELLED);
}

static void a_repeated_exchange_asks_for_no_memory(void **state)
{
    (void)state;
    bd_rendezvous *r = bd_local_rendezvous_new();
    BD_STATUS(st);
    received got = {0};
    uint64_t before = 0;
    for (int i = 0; i < 100; i++) {
        if (i == 2) before = bd_alloc_count();
        send(r, i % 2 ? "first key" : "another key", (float)i, false, st);
        recv(r, i % 2 ? "first key" : "another key", &got);
        assert_float_equal(got.value, (float)i, 0);
    }
    assert_int_equal(bd_alloc_count(), before);
    bd_rendezvous_unref(r);
}

// ---- Many threads ----

enum {
    KEYS = 2000,
    THREADS = 4
};
static atomic_int arrived[KEYS];

typedef struct part {
    bd_rendezvous *rendezvous;
    int first;
    bool sends, aborts;
} part;

static void count_arrival(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *st)
{
    (void)is_dead;
    atomic_int *count = arg;
    if (!st->code) BD_ASSERT(bd_tensor_f32(tensor)[0] == (float)(count - arrived));
    atomic_fetch_add(count, 1);
}

static void exchange(void *arg)
{
    part *p = arg;
    for (int i = p->first; i < KEYS; i += THREADS / 2) {
        char name[16];
        snprintf(name, sizeof name, "key %d", i);
        bd_rendezvous_key key = bd_rendezvous_key_of(name);
        BD_STATUS(st);
        if (p->sends)
            send(p->rendezvous, name, (float)i, false, st);
        else
            p->rendezvous->ops->recv(p->rendezvous, &key, count_arrival, &arrived[i]);
        if (p->aborts && i == KEYS / 2) {
            bd_fail(st, BRAID_CANCELLED, "enough");
            p->rendezvous->ops->abort(p->rendezvous, st);
        }
    }
}

static void exchange_on_threads(bool with_abort)
{
    bd_rendezvous *r = bd_local_rendezvous_new();
    bd_thread threads[THREADS];
    part parts[THREADS];
    BD_STATUS(st);
    for (int i = 0; i < KEYS; i++)
        atomic_store(&arrived[i], 0);
    for (int i = 0; i < THREADS; i++) {
        parts[i] = (part){.rendezvous = r, .first = i / 2, .sends = i % 2, .aborts = with_abort && i == 0};
        bd_thread_start(&threads[i], "exchange", exchange, &parts[i], st);
    }
    assert_ok(st);
    for (int i = 0; i < THREADS; i++)
        bd_thread_join(&threads[i]);
    bd_rendezvous_unref(r);
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(atomic_load(&arrived[i]), 1); // each exactly once, abort or not
}

static void each_receive_ends_once_under_concurrent_calls(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        exchange_on_threads(false);
        exchange_on_threads(true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_is_passed_in_either_order_of_send_and_receive),
        cmocka_unit_test(a_dead_value_arrives_dead),
        cmocka_unit_test(a_key_is_used_once_at_a_time),
        cmocka_unit_test(an_abort_ends_waits_and_refuses_later_ones),
        cmocka_unit_test(the_end_of_a_rendezvous_ends_its_receives),
        cmocka_unit_test(a_repeated_exchange_asks_for_no_memory),
        cmocka_unit_test(each_receive_ends_once_under_concurrent_calls),
    };
    return BD_RUN_TESTS(tests);
}
