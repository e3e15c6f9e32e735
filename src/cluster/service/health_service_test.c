// Tests of health watches: what each is sent when the state changes, while a message is on its way, when its
// client goes and when the server stops.
#include "base/alloc.h"
#include "cluster/rpc/rpc.h"
#include "cluster/service/services.h"
#include "grpc/health/v1/health.pb-c.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// ---- A client that watches, and the network between ----

typedef struct client {
    bd_incoming call;
    // What it has got: 'S' for SERVING, 'N' for NOT_SERVING, '?' for SERVICE_UNKNOWN, and '.' for the end.
    char got[16];
    void (*sent)(void *arg); // NULL: no message is on its way
    void *sent_arg;
    bd_call_end_fn end_fn;
    void *end_arg;
} client;

static void got(client *c, char what)
{
    const size_t len = strlen(c->got);
    assert_true(len + 1 < sizeof c->got);
    c->got[len] = what;
}

static void send(bd_incoming *call, bd_message *message, void (*sent)(void *arg), void *arg)
{
    client *c = BD_CONTAINER_OF(call, client, call);
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Grpc__Health__V1__HealthCheckResponse *response =
        bd_proto_unpack_message(&grpc__health__v1__health_check_response__descriptor, message, arena, st);
    assert_non_null(response);
    bd_message_fini(message);
    assert_null(c->sent); // one at a time
    got(c, " SN?"[response->status]);
    c->sent = sent;
    c->sent_arg = arg;
}

static void end(client *c, bool cancelled)
{
    const bd_call_end_fn fn = c->end_fn;
    c->end_fn = NULL;
    if (fn) fn(c->end_arg, cancelled);
}

static void reply(bd_incoming *call, bd_message *response, const braid_status *st)
{
    (void)response, (void)st;
    client *c = BD_CONTAINER_OF(call, client, call);
    got(c, '.');
    end(c, false);
}

static void on_end(bd_incoming *call, bd_call_end_fn fn, void *arg)
{
    client *c = BD_CONTAINER_OF(call, client, call);
    c->end_fn = fn;
    c->end_arg = arg;
}

static const bd_transport network = {.name = "test", .send = send, .reply = reply, .on_end = on_end};

// The message on its way arrives, and those that follow at once.
static void deliver(client *c)
{
    while (c->sent) {
        void (*sent)(void *arg) = c->sent;
        c->sent = NULL;
        sent(c->sent_arg);
    }
}

// ---- The server ----

typedef struct fixture {
    bd_service_env env;
    client clients[3];
} fixture;

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    f->env.cancellation = bd_cancellation_new(NULL);
    f->env.health = bd_health_new(false);
    *state = f;
    return 0;
}

static void stop_server(fixture *f)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "stopping");
    bd_cancellation_cancel(f->env.cancellation, why);
}

static int tear_down(void **state)
{
    fixture *f = *state;
    stop_server(f);
    for (int i = 0; i < 3; i++)
        deliver(&f->clients[i]);
    bd_cancellation_unref(f->env.cancellation);
    bd_health_free(f->env.health);
    bd_free(f);
    return 0;
}

static client *watch(fixture *f, int number, const char *service)
{
    client *c = &f->clients[number];
    c->call.transport = &network;
    Grpc__Health__V1__HealthCheckRequest request = GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
    request.service = (char *)service;
    bd_message_init(&c->call.request);
    bd_proto_pack_message(&request.base, &c->call.request);
    for (const bd_method *m = bd_health_methods; m->name; m++)
        if (strcmp(m->name, "Watch") == 0) m->handle(&f->env, &c->call);
    bd_message_fini(&c->call.request);
    return c;
}

// ---- Tests ----

static void each_watch_is_told_each_change(void **state)
{
    fixture *f = *state;
    client *whole = watch(f, 0, ""), *master = watch(f, 1, "tensorflow.MasterService");
    client *unknown = watch(f, 2, "no.such.Service");
    static const bool changes[] = {true, false, false, true};
    for (size_t i = 0; i < 4; i++) {
        for (int c = 0; c < 3; c++)
            deliver(&f->clients[c]);
        bd_health_set_serving(f->env.health, changes[i]);
    }
    assert_string_equal(whole->got, "NSNS");
    assert_string_equal(master->got, "NSNS");
    assert_string_equal(unknown->got, "?");
}

static void a_change_waits_for_the_message_before_it(void **state)
{
    fixture *f = *state;
    client *one = watch(f, 0, ""), *other = watch(f, 1, "");
    bd_health_set_serving(f->env.health, true);
    assert_string_equal(one->got, "N");
    deliver(one);
    assert_string_equal(one->got, "NS");
    bd_health_set_serving(f->env.health, false);
    deliver(one);
    deliver(other); // the change and the change back came while its first message was on its way
    assert_string_equal(one->got, "NSN");
    assert_string_equal(other->got, "N");
}

static void a_client_that_goes_ends_its_watch_alone(void **state)
{
    fixture *f = *state;
    client *first = watch(f, 0, ""), *gone = watch(f, 1, ""), *busy = watch(f, 2, "");
    deliver(first);
    deliver(gone);
    end(gone, true);
    end(busy, true); // while its first message is on its way
    deliver(gone);
    deliver(busy);
    assert_string_equal(gone->got, "NN.");
    assert_string_equal(busy->got, "NN.");
    bd_health_set_serving(f->env.health, true);
    assert_string_equal(first->got, "NS");
    assert_string_equal(gone->got, "NN.");
}

static void a_server_that_stops_ends_all_watches(void **state)
{
    fixture *f = *state;
    bd_health_set_serving(f->env.health, true);
    client *idle = watch(f, 0, ""), *busy = watch(f, 1, ""), *late = &f->clients[2];
    deliver(idle);
    stop_server(f);
    bd_health_set_serving(f->env.health, false);
    watch(f, 2, "");
    for (int i = 0; i < 3; i++)
        deliver(&f->clients[i]);
    assert_string_equal(idle->got, "SN.");
    assert_string_equal(busy->got, "SN.");
    assert_string_equal(late->got, "NN.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_watch_is_told_each_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_change_waits_for_the_message_before_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_client_that_goes_ends_its_watch_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_server_that_stops_ends_all_watches, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
