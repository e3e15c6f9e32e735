// Tests of the in-process transport: the conformance suite, each fault, and that a seed replays.
// labels: concurrent
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "cluster/transport/testing/conformance.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// ---- A clock that the test turns ----

typedef struct entry {
    uint64_t id;
    int64_t at_ns;
    void (*fn)(void *arg);
    void *arg;
} entry;

typedef struct wheel {
    int64_t now_ns;
    uint64_t last_id;
    entry entries[4096];
    int count;
} wheel;

static int64_t wheel_now(void *arg)
{
    return ((wheel *)arg)->now_ns;
}

static uint64_t wheel_add(void *arg, int64_t at_ns, void (*fn)(void *), void *fn_arg)
{
    wheel *w = arg;
    assert_true(w->count < (int)BD_COUNTOF(w->entries));
    w->entries[w->count++] = (entry){++w->last_id, at_ns, fn, fn_arg};
    return w->last_id;
}

static bool wheel_cancel(void *arg, uint64_t id)
{
    wheel *w = arg;
    for (int i = 0; i < w->count; i++) {
        if (w->entries[i].id != id) continue;
        w->entries[i] = w->entries[--w->count];
        return true;
    }
    return false;
}

// Runs all events in order of time.
static void wheel_run(wheel *w)
{
    while (w->count > 0) {
        int first = 0;
        for (int i = 1; i < w->count; i++) {
            const entry *a = &w->entries[i], *b = &w->entries[first];
            if (a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->id < b->id)) first = i;
        }
        const entry e = w->entries[first];
        w->entries[first] = w->entries[--w->count];
        if (e.at_ns > w->now_ns) w->now_ns = e.at_ns;
        e.fn(e.arg);
    }
}

// ---- A history of calls under faults, as text ----

typedef struct history {
    wheel wheel;
    bd_strbuf text;
    bd_transport *transport;
} history;

typedef struct numbered {
    history *history;
    int number;
} numbered;

static void log_request(void *arg, bd_incoming *call)
{
    history *h = arg;
    char text[16] = {0};
    bd_message_gather(&call->request, text);
    bd_strbuf_appendf(&h->text, "%lld got %s\n", (long long)h->wheel.now_ns, text);
    BD_STATUS(ok);
    bd_message response;
    bd_message_init(&response);
    bd_message_move(&response, &call->request);
    bd_incoming_reply(call, &response, ok);
}

static void log_response(void *arg, bd_message *response, const braid_status *st)
{
    (void)response;
    const numbered *n = arg;
    bd_strbuf_appendf(&n->history->text, "%lld end %d %s\n", (long long)n->history->wheel.now_ns, n->number,
                      braid_code_name(st->code));
}

#define CALLS 40

static char *run_history(const bd_inprocess_faults *faults, bool with_deadline)
{
    history *h = bd_calloc(1, sizeof *h);
    const bd_inprocess_clock clock = {&h->wheel, wheel_now, wheel_add, wheel_cancel};
    BD_STATUS(st);
    h->transport = bd_inprocess_transport_new(faults, &clock, st);
    bd_listener *l;
    char *bound;
    assert_int_equal(h->transport->listen(h->transport, "a:1", log_request, h, &l, &bound, st), BRAID_OK);
    bd_channel *c = h->transport->connect(h->transport, bound);
    numbered numbers[CALLS];
    for (int i = 0; i < CALLS; i++) {
        numbers[i] = (numbered){h, i};
        bd_message request;
        bd_message_init(&request);
        char text[16];
        bd_message_add_copy(&request, text, (size_t)snprintf(text, sizeof text, "%d", i));
        const bd_call_options options = {.method = "/m", .deadline_ns = with_deadline ? 5000 : BD_FOREVER};
        h->transport->call_release(h->transport->call(c, &options, &request, log_response, &numbers[i]));
    }
    wheel_run(&h->wheel);
    h->transport->channel_close(c);
    h->transport->listener_stop(l, BD_FOREVER);
    h->transport->listener_free(l);
    h->transport->free(h->transport);
    bd_free(bound);
    char *text = bd_strbuf_take(&h->text);
    bd_free(h);
    return text;
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        n++;
    return n;
}

static const bd_inprocess_faults all_faults = {
    .seed = 7, .lose = 0.1, .duplicate = 0.1, .cut = 0.02, .delay_min_ns = 100, .delay_max_ns = 1000};

static void a_seed_replays_its_history(void **state)
{
    (void)state;
    bd_inprocess_faults faults = all_faults;
    char *first = run_history(&faults, true), *second = run_history(&faults, true);
    assert_string_equal(first, second);
    faults.seed = 8;
    char *other = run_history(&faults, true);
    assert_string_not_equal(first, other);
    assert_int_equal(count(first, "end"), CALLS);
    bd_free(first);
    bd_free(second);
    bd_free(other);
}

static void each_call_ends_under_random_failures(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        bd_inprocess_faults faults = all_faults;
        faults.seed = seed;
        char *text = run_history(&faults, seed % 2);
        assert_int_equal(count(text, "end"), CALLS);
        bd_free(text);
    }
}

static void different_delays_reorder(void **state)
{
    (void)state;
    char *text =
        run_history(&(bd_inprocess_faults){.seed = 1, .delay_min_ns = 1, .delay_max_ns = 1000}, false);
    const char *at = text;
    int last = -1, turned = 0, number;
    while ((at = strstr(at, "got "))) {
        at += 4;
        assert_int_equal(sscanf(at, "%d", &number), 1);
        turned += number < last;
        last = number;
    }
    assert_true(turned > 0);
    assert_int_equal(count(text, "OK"), CALLS);
    bd_free(text);
}

static void a_lost_message_ends_by_the_deadline_or_as_unavailable(void **state)
{
    (void)state;
    char *text = run_history(&(bd_inprocess_faults){.lose = 1}, true);
    assert_int_equal(count(text, "DeadlineExceeded"), CALLS);
    bd_free(text);
    text = run_history(&(bd_inprocess_faults){.lose = 1}, false);
    assert_int_equal(count(text, "Unavailable"), CALLS);
    bd_free(text);
}

static void a_duplicate_is_handled_twice_and_answered_once(void **state)
{
    (void)state;
    char *text = run_history(&(bd_inprocess_faults){.duplicate = 1}, false);
    assert_int_equal(count(text, "got"), 2 * CALLS);
    assert_int_equal(count(text, "OK"), CALLS);
    bd_free(text);
}

static void a_cut_ends_all_calls_of_the_connection(void **state)
{
    (void)state;
    char *text = run_history(&(bd_inprocess_faults){.cut = 1}, false);
    assert_int_equal(count(text, "Unavailable"), CALLS);
    bd_free(text);
}

static void an_address_that_is_down_is_unavailable_until_it_is_up(void **state)
{
    (void)state;
    history *h = bd_calloc(1, sizeof *h);
    const bd_inprocess_clock clock = {&h->wheel, wheel_now, wheel_add, wheel_cancel};
    BD_STATUS(st);
    h->transport = bd_inprocess_transport_new(NULL, &clock, st);
    bd_listener *l;
    char *bound;
    assert_int_equal(h->transport->listen(h->transport, "a:1", log_request, h, &l, &bound, st), BRAID_OK);
    bd_inprocess_set_down(h->transport, "a:1", true);
    bd_channel *c = h->transport->connect(h->transport, "a:1");
    numbered numbers[2] = {{h, 0}, {h, 1}};
    for (int i = 0; i < 2; i++) {
        bd_message empty;
        bd_message_init(&empty);
        const bd_call_options options = {.method = "/m", .deadline_ns = BD_FOREVER, .wait_for_ready = i == 1};
        h->transport->call_release(h->transport->call(c, &options, &empty, log_response, &numbers[i]));
    }
    wheel_run(&h->wheel);
    assert_string_equal(bd_strbuf_str(&h->text), "0 end 0 Unavailable\n");
    bd_inprocess_set_down(h->transport, "a:1", false);
    wheel_run(&h->wheel);
    assert_non_null(strstr(bd_strbuf_str(&h->text), "end 1 OK"));
    h->transport->channel_close(c);
    h->transport->listener_stop(l, BD_FOREVER);
    h->transport->listener_free(l);
    h->transport->free(h->transport);
    bd_strbuf_fini(&h->text);
    bd_free(bound);
    bd_free(h);
}

static bd_transport *make(braid_status *st)
{
    return bd_inprocess_transport_new(NULL, NULL, st);
}

static bd_transport *make_slow(braid_status *st)
{
    return bd_inprocess_transport_new(&(bd_inprocess_faults){.seed = 3, .delay_max_ns = 500000}, NULL, st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_replays_its_history),
        cmocka_unit_test(each_call_ends_under_random_failures),
        cmocka_unit_test(different_delays_reorder),
        cmocka_unit_test(a_lost_message_ends_by_the_deadline_or_as_unavailable),
        cmocka_unit_test(a_duplicate_is_handled_twice_and_answered_once),
        cmocka_unit_test(a_cut_ends_all_calls_of_the_connection),
        cmocka_unit_test(an_address_that_is_down_is_unavailable_until_it_is_up),
    };
    return bd_transport_conformance(&(bd_conformance){"in-process", make, NULL}) +
           bd_transport_conformance(&(bd_conformance){"in-process, reordering", make_slow, NULL}) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
