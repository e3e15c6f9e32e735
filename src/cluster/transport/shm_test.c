// Tests of the shared-memory transport: the conformance suite over gRPC, before there is a link and over one;
// processes that are killed in the middle of calls; strangers at the socket. BRAID_KILLS=N: so many processes
// are killed in place of 20. labels: concurrent
#include "base/alloc.h"
#include "base/random.h"
#include "cluster/transport/host_identity.h"
#include "cluster/transport/shm_internal.h"
#include "cluster/transport/testing/conformance.h"
#include "cluster/transport/testing/shm_peer.h"
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern char **environ;

#define PATIENCE_MS 30000
#define KILLS_DEFAULT 20
#define CALLS_AT_ONCE 6
#define BYTES_MAX ((size_t)1 << 20)
#define FDS_MAX 1024

static bd_transport *make(braid_status *st)
{
    bd_transport *base = bd_grpc_transport_new(st);
    return base ? bd_shm_transport_new(base, NULL) : NULL;
}

// ---- The other process: serves, or calls for ever ----

static void echo(void *arg, bd_incoming *call)
{
    (void)arg;
    BD_STATUS(ok);
    bd_message response;
    bd_message_init(&response);
    bd_message_move(&response, &call->request);
    bd_incoming_reply(call, &response, ok);
}

static void stop_serving(bd_transport *t, bd_listener *l)
{
    t->listener_close(l);
    t->listener_stop(l, bd_deadline_after_ms(PATIENCE_MS));
    t->listener_free(l);
    t->free(t);
}

static int serve(bd_transport *t)
{
    BD_STATUS(st);
    bd_listener *l;
    char *bound;
    if (t->listen(t, "127.0.0.1:0", echo, NULL, &l, &bound, st)) return 1;
    printf("%s\n", bound);
    fflush(stdout);
    pause();
    return 0;
}

typedef struct pending {
    bd_event done;
    braid_status st;
    bd_message response;
    bd_call *handle;
    uint8_t *sent;
    size_t bytes;
} pending;

static void call_done(void *arg, bd_message *response, const braid_status *st)
{
    pending *c = arg;
    bd_message_move(&c->response, response);
    bd_status_copy(&c->st, st);
    bd_event_set(&c->done);
}

static void begin_until(pending *c, bd_transport *t, bd_channel *channel, const char *method, size_t bytes,
                        int64_t deadline_ns)
{
    *c = (pending){.bytes = bytes, .sent = bd_malloc(bytes + 1)};
    bd_random_bytes(c->sent, bytes);
    bd_event_init(&c->done);
    bd_message_init(&c->response);
    bd_message request;
    bd_message_init(&request);
    bd_message_add_copy(&request, c->sent, bytes);
    c->handle = t->call(channel, &(bd_call_options){.method = method, .deadline_ns = deadline_ns}, &request,
                        call_done, c);
}

static void begin(pending *c, bd_transport *t, bd_channel *channel, const char *method, size_t bytes)
{
    begin_until(c, t, channel, method, bytes, BD_FOREVER);
}

static void end(pending *c, bd_transport *t)
{
    t->call_release(c->handle);
    bd_event_fini(&c->done);
    bd_message_fini(&c->response);
    bd_status_fini(&c->st);
    bd_free(c->sent);
}

// Waits for the end of a call: it was answered with what was sent, or the server was lost. Returns whether it
// was answered.
static bool finish(pending *c, bd_transport *t)
{
    assert_true(bd_event_wait_until(&c->done, bd_deadline_after_ms(PATIENCE_MS)));
    const bool is_answered = c->st.code == BRAID_OK;
    if (!is_answered) assert_int_equal(c->st.code, BRAID_UNAVAILABLE);
    if (is_answered) {
        uint8_t *got = bd_malloc(c->bytes + 1);
        assert_int_equal(c->response.bytes, c->bytes);
        bd_message_gather(&c->response, got);
        assert_memory_equal(got, c->sent, c->bytes);
        bd_free(got);
    }
    end(c, t);
    return is_answered;
}

static void make_link(bd_transport *t, bd_channel *channel)
{
    pending first;
    begin(&first, t, channel, "/test/echo", 1);
    assert_true(finish(&first, t));
    assert_true(bd_shm_channel_await_up(channel, bd_deadline_after_ms(PATIENCE_MS)));
}

static _Noreturn void call_for_ever(bd_transport *t, const char *address, const char *hold_ms)
{
    bd_channel *channel = t->connect(t, address);
    make_link(t, channel);
    pending held;
    const int ms = atoi(hold_ms);
    begin_until(&held, t, channel, "/test/hold", 1, ms ? bd_deadline_after_ms(ms) : BD_FOREVER);
    for (;;) {
        pending c;
        begin(&c, t, channel, "/test/echo", bd_random_u64() % BYTES_MAX);
        finish(&c, t);
    }
}

// This program with another task. *out: what it prints; NULL: not wanted.
static pid_t start(const char *task, const char *address, const char *hold_ms, FILE **out)
{
    int ends[2];
    posix_spawn_file_actions_t actions;
    char *argv[] = {"shm_test", (char *)task, (char *)address, (char *)hold_ms, NULL};
    pid_t pid;
    assert_int_equal(pipe(ends), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (out)
        *out = fdopen(ends[0], "r");
    else
        close(ends[0]);
    return pid;
}

static void kill_process(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int kills(void)
{
    const char *text = getenv("BRAID_KILLS");
    return text ? atoi(text) : KILLS_DEFAULT;
}

// How many pieces of shared memory this process has mapped.
static int count_mapped(void)
{
    char line[512];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        count += strstr(line, "memfd:braid") != NULL;
    fclose(maps);
    return count;
}

// ---- Kills ----

static void kill_server_in_the_middle(bd_transport *t, bd_rng *rng)
{
    FILE *out;
    char address[64] = "";
    const pid_t pid = start("serve", NULL, NULL, &out);
    assert_non_null(fgets(address, sizeof address, out));
    address[strcspn(address, "\n")] = 0;
    fclose(out);
    bd_channel *channel = t->connect(t, address);
    make_link(t, channel);
    pending calls[CALLS_AT_ONCE];
    for (int i = 0; i < CALLS_AT_ONCE; i++)
        begin(&calls[i], t, channel, "/test/echo", bd_rng_below(rng, BYTES_MAX));
    const uint64_t answered = bd_rng_below(rng, CALLS_AT_ONCE);
    for (uint64_t i = 0; i < answered; i++)
        assert_true(finish(&calls[i], t));
    kill_process(pid);
    for (uint64_t i = answered; i < CALLS_AT_ONCE; i++)
        finish(&calls[i], t);
    pending late;
    begin(&late, t, channel, "/test/echo", 1);
    assert_false(finish(&late, t));
    t->channel_close(channel);
}

static void a_server_that_is_killed_leaves_right_answers_or_none(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_rng rng = bd_rng_init(11);
    bd_transport *t = make(st);
    assert_non_null(t);
    for (int i = 0; i < kills(); i++)
        kill_server_in_the_middle(t, &rng);
    t->free(t);
    assert_int_equal(count_mapped(), 0);
}

typedef struct server {
    bd_event held, lost;
    bd_incoming *call;
    atomic_int echoed;
} server;

static void caller_is_lost(void *arg, bool cancelled)
{
    server *s = arg;
    assert_true(cancelled);
    BD_STATUS(st);
    bd_fail(st, BRAID_CANCELLED, "The caller is gone");
    bd_incoming_reply(s->call, NULL, st);
    bd_event_set(&s->lost);
}

static void echo_or_hold(void *arg, bd_incoming *call)
{
    server *s = arg;
    if (strcmp(call->method, "/test/hold") != 0) {
        atomic_fetch_add(&s->echoed, 1);
        echo(NULL, call);
        return;
    }
    s->call = call;
    call->transport->on_end(call, caller_is_lost, s);
    bd_event_set(&s->held);
}

static void a_client_that_is_killed_is_noticed(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_rng rng = bd_rng_init(13);
    bd_transport *t = make(st);
    bd_listener *l;
    char *address;
    server s = {0};
    assert_int_equal(t->listen(t, "127.0.0.1:0", echo_or_hold, &s, &l, &address, st), BRAID_OK);
    for (int i = 0; i < kills(); i++) {
        bd_event_init(&s.held);
        bd_event_init(&s.lost);
        const pid_t pid = start("call", address, "0", NULL);
        assert_true(bd_event_wait_until(&s.held, bd_deadline_after_ms(PATIENCE_MS)));
        // Some calls later, at any point of one.
        const int until = atomic_load(&s.echoed) + (int)bd_rng_below(&rng, 50);
        while (atomic_load(&s.echoed) < until)
            sched_yield();
        kill_process(pid);
        assert_true(bd_event_wait_until(&s.lost, bd_deadline_after_ms(PATIENCE_MS)));
        bd_event_fini(&s.held);
        bd_event_fini(&s.lost);
    }
    stop_serving(t, l);
    bd_free(address);
    assert_int_equal(count_mapped(), 0);
}

static void the_deadline_of_a_client_that_is_stopped_ends_its_call(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_transport *t = make(st);
    bd_listener *l;
    char *address;
    server s = {0};
    bd_event_init(&s.held);
    bd_event_init(&s.lost);
    assert_int_equal(t->listen(t, "127.0.0.1:0", echo_or_hold, &s, &l, &address, st), BRAID_OK);
    const pid_t pid = start("call", address, "1000", NULL);
    assert_true(bd_event_wait_until(&s.held, bd_deadline_after_ms(PATIENCE_MS)));
    kill(pid, SIGSTOP);
    assert_true(bd_event_wait_until(&s.lost, bd_deadline_after_ms(PATIENCE_MS)));
    kill_process(pid);
    stop_serving(t, l);
    bd_event_fini(&s.held);
    bd_event_fini(&s.lost);
    bd_free(address);
}

// ---- The socket ----

static void a_token_opens_one_link_and_others_open_none(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_transport *base = bd_grpc_transport_new(st), *t = make(st);
    bd_listener *l;
    char *address;
    assert_int_equal(t->listen(t, "127.0.0.1:0", echo, NULL, &l, &address, st), BRAID_OK);
    bd_channel *channel = base->connect(base, address);
    const uint64_t host = bd_host_identity();
    const bd_test_offer elsewhere = bd_test_ask_for_link(base, channel, host + 2, getpid());
    assert_int_equal(elsewhere.code, BRAID_FAILED_PRECONDITION);
    const bd_test_offer here = bd_test_ask_for_link(base, channel, host, getpid());
    assert_int_equal(here.code, BRAID_OK);
    assert_int_equal(here.secrets.process, getpid());
    static const uint8_t no_token[BD_SHM_TOKEN_BYTES];
    assert_false(bd_test_shm_show_token(here.socket, no_token));
    assert_true(bd_test_shm_show_token(here.socket, here.secrets.token));
    assert_false(bd_test_shm_show_token(here.socket, here.secrets.token));
    base->channel_close(channel);
    stop_serving(t, l);
    base->free(base);
    bd_free(address);
}

static int count_local_sockets(void)
{
    int count = 0;
    for (int fd = 0; fd < FDS_MAX; fd++) {
        struct sockaddr_un address;
        socklen_t len = sizeof address;
        count += getsockname(fd, (struct sockaddr *)&address, &len) == 0 && address.sun_family == AF_UNIX;
    }
    return count;
}

typedef struct stranger {
    char name[BD_SHM_NAME_BYTES + 1]; // of a server's socket
    atomic_int connected;
    bd_thread thread;
} stranger;

// Connects again and again until the socket is gone.
static void connect_on(void *arg)
{
    stranger *s = arg;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, s->name, BD_SHM_NAME_BYTES);
    const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + BD_SHM_NAME_BYTES);
    bool is_there = true;
    while (is_there) {
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        is_there = connect(fd, (const struct sockaddr *)&address, len) == 0;
        close(fd);
        atomic_fetch_add(&s->connected, 1);
    }
}

static void end_while_strangers_connect(bd_transport *base)
{
    BD_STATUS(st);
    bd_transport *t = make(st);
    bd_listener *l;
    char *address;
    assert_int_equal(t->listen(t, "127.0.0.1:0", echo, NULL, &l, &address, st), BRAID_OK);
    bd_channel *channel = base->connect(base, address);
    const bd_test_offer offer = bd_test_ask_for_link(base, channel, bd_host_identity(), getpid());
    assert_int_equal(offer.code, BRAID_OK);
    stranger s = {0};
    memcpy(s.name, offer.socket, BD_SHM_NAME_BYTES);
    base->channel_close(channel);
    assert_int_equal(bd_thread_start(&s.thread, "stranger", connect_on, &s, st), BRAID_OK);
    while (atomic_load(&s.connected) < 100)
        sched_yield();
    stop_serving(t, l);
    bd_thread_join(&s.thread);
    bd_free(address);
}

static void a_server_that_ends_hangs_up_on_those_who_connect_meanwhile(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_transport *base = bd_grpc_transport_new(st);
    const int before = count_local_sockets();
    for (int i = 0; i < 10; i++)
        end_while_strangers_connect(base);
    assert_int_equal(count_local_sockets(), before);
    base->free(base);
}

static void the_calls_of_a_caller_are_limited(void **state)
{
    (void)state;
    BD_STATUS(st);
    const bd_transport_limits limits = {.connections = 10, .calls = 1, .message_bytes = 1 << 20};
    bd_transport *t = bd_shm_transport_new(bd_grpc_transport_new(st), &limits);
    bd_listener *l;
    char *address;
    server s = {0};
    bd_event_init(&s.held);
    bd_event_init(&s.lost);
    assert_int_equal(t->listen(t, "127.0.0.1:0", echo_or_hold, &s, &l, &address, st), BRAID_OK);
    bd_channel *channel = t->connect(t, address);
    make_link(t, channel);
    pending first, second;
    begin(&first, t, channel, "/test/hold", 1);
    assert_true(bd_event_wait_until(&s.held, bd_deadline_after_ms(PATIENCE_MS)));
    begin(&second, t, channel, "/test/echo", 1);
    assert_true(bd_event_wait_until(&second.done, bd_deadline_after_ms(PATIENCE_MS)));
    assert_int_equal(second.st.code, BRAID_RESOURCE_EXHAUSTED);
    end(&second, t);
    t->call_cancel(first.handle);
    assert_true(bd_event_wait_until(&first.done, bd_deadline_after_ms(PATIENCE_MS)));
    assert_int_equal(first.st.code, BRAID_CANCELLED);
    assert_true(bd_event_wait_until(&s.lost, bd_deadline_after_ms(PATIENCE_MS)));
    end(&first, t);
    t->channel_close(channel);
    stop_serving(t, l);
    bd_event_fini(&s.held);
    bd_event_fini(&s.lost);
    bd_free(address);
}

int main(int argc, char **argv)
{
    BD_STATUS(st);
    if (argc > 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc == 2) return serve(make(st));
    if (argc == 4) call_for_ever(make(st), argv[2], argv[3]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_is_killed_leaves_right_answers_or_none),
        cmocka_unit_test(a_client_that_is_killed_is_noticed),
        cmocka_unit_test(the_deadline_of_a_client_that_is_stopped_ends_its_call),
        cmocka_unit_test(a_token_opens_one_link_and_others_open_none),
        cmocka_unit_test(a_server_that_ends_hangs_up_on_those_who_connect_meanwhile),
        cmocka_unit_test(the_calls_of_a_caller_are_limited),
    };
    return cmocka_run_group_tests_name("shared memory, peers", tests, NULL, NULL) +
           bd_transport_conformance(&(bd_conformance){"shared memory, first calls", make, NULL}) +
           bd_transport_conformance(&(bd_conformance){"shared memory", make, bd_shm_channel_await_up});
}
