// Tests of the shared-memory transport between tasks with certificates: the conformance suite over TLS; who
// is let in; what the server knows of its callers; and what ends a link.
// labels: concurrent
// timeout: 180
#include "base/alloc.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "braid/cluster.pb-c.h"
#include "cluster/transport/host_identity.h"
#include "cluster/transport/shm_internal.h"
#include "cluster/transport/testing/certificates.h"
#include "cluster/transport/testing/conformance.h"
#include "cluster/transport/testing/shm_peer.h"
#include "proto/pack.h"
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define PATIENCE_MS 30000
#define NOBODY 65534

// ---- A server, and callers ----

// So that the transport itself must refuse those that are no tasks.
static braid_role needed(const char *method)
{
    (void)method;
    return BRAID_ROLE_CLIENT;
}

static bd_transport *grpc_with(const char *dir, const bd_transport_limits *limits)
{
    BD_STATUS(st);
    braid_role role;
    bd_transport *t = bd_grpc_transport_new(st);
    assert_non_null(t);
    assert_int_equal(bd_grpc_transport_use_tls(t, dir, &role, st), BRAID_OK);
    bd_grpc_transport_admit(t, NULL, needed);
    if (limits) bd_grpc_transport_limit(t, limits);
    return t;
}

static bd_transport *shared_with(const char *dir)
{
    return bd_shm_transport_new(grpc_with(dir, NULL), NULL);
}

static bd_transport *make(braid_status *st)
{
    (void)st;
    return shared_with(bd_test_certificates_dir("ours/task"));
}

typedef struct server {
    bd_transport *transport;
    bd_listener *listener;
    char *address;
    bd_mutex mu;
    bd_caller caller; // the last; guarded by mu
    char *peer;       // its connection; guarded by mu
    bd_incoming *held;
    bd_event is_held, is_lost; // a call that is not answered
} server;

static void reply(bd_incoming *call)
{
    BD_STATUS(ok);
    bd_message empty;
    bd_message_init(&empty);
    bd_incoming_reply(call, &empty, ok);
}

static void lost(void *arg, bool cancelled)
{
    server *s = arg;
    if (!cancelled) return;
    reply(s->held);
    bd_event_set(&s->is_lost);
}

static void serve(void *arg, bd_incoming *call)
{
    server *s = arg;
    bd_mutex_lock(&s->mu);
    call->transport->caller(call, &s->caller);
    bd_free(s->peer);
    s->peer = call->transport->peer(call);
    bd_mutex_unlock(&s->mu);
    if (strcmp(call->method, "/test/hold") != 0) {
        reply(call);
        return;
    }
    s->held = call;
    call->transport->on_end(call, lost, s);
    bd_event_set(&s->is_held);
}

// Takes over the transport.
static void start(server *s, bd_transport *t)
{
    BD_STATUS(st);
    *s = (server){.transport = t};
    bd_mutex_init(&s->mu);
    bd_event_init(&s->is_held);
    bd_event_init(&s->is_lost);
    assert_int_equal(t->listen(t, "127.0.0.1:0", serve, s, &s->listener, &s->address, st), BRAID_OK);
}

static void stop(server *s)
{
    s->transport->listener_stop(s->listener, bd_deadline_after_ms(PATIENCE_MS));
    s->transport->listener_free(s->listener);
    s->transport->free(s->transport);
    bd_event_fini(&s->is_held);
    bd_event_fini(&s->is_lost);
    bd_mutex_fini(&s->mu);
    bd_free(s->address);
    bd_free(s->peer);
}

typedef struct pending {
    bd_event done;
    braid_code code;
    bd_call *handle;
} pending;

static void store(void *arg, bd_message *response, const braid_status *st)
{
    (void)response;
    pending *c = arg;
    c->code = st->code;
    bd_event_set(&c->done);
}

static void begin(pending *c, bd_transport *t, bd_channel *channel, const char *method)
{
    const bd_call_options options = {.method = method, .deadline_ns = bd_deadline_after_ms(PATIENCE_MS)};
    bd_message empty;
    bd_message_init(&empty);
    bd_event_init(&c->done);
    c->handle = t->call(channel, &options, &empty, store, c);
}

static braid_code finish(pending *c, bd_transport *t)
{
    bd_event_wait(&c->done);
    bd_event_fini(&c->done);
    t->call_release(c->handle);
    return c->code;
}

static braid_code call(bd_transport *t, bd_channel *channel, const char *method)
{
    pending c;
    begin(&c, t, channel, method);
    return finish(&c, t);
}

typedef struct caller {
    bd_transport *transport;
    bd_channel *channel;
} caller;

static caller connect_with(const char *dir, const server *s)
{
    bd_transport *t = shared_with(dir);
    return (caller){t, t->connect(t, s->address)};
}

// Calls until there is a link.
static void make_link(const caller *c)
{
    assert_int_equal(call(c->transport, c->channel, "/test/echo"), BRAID_OK);
    assert_true(bd_shm_channel_await_up(c->channel, bd_deadline_after_ms(PATIENCE_MS)));
}

static void leave(caller *c)
{
    c->transport->channel_close(c->channel);
    c->transport->free(c->transport);
}

// ---- Callers ----

static void tasks_with_certificates_call_through_shared_memory_under_their_names(void **state)
{
    (void)state;
    server s;
    start(&s, shared_with(bd_test_certificates_dir("ours/task")));
    caller c = connect_with(bd_test_certificates_dir("ours/task"), &s);
    make_link(&c);
    assert_int_equal(call(c.transport, c.channel, "/test/echo"), BRAID_OK);
    assert_string_equal(s.caller.name, "certificate 'task'");
    assert_int_equal(s.caller.role, BRAID_ROLE_TASK);
    assert_memory_equal(s.peer, "memory:", strlen("memory:"));
    assert_int_equal(bd_shm_transport_links(s.transport), 1);
    leave(&c);
    stop(&s);
}

static void calls_over_a_link_count_together_with_those_over_tls(void **state)
{
    (void)state;
    // The call that holds the link is one of them.
    const bd_transport_limits limits = {.connections = 10, .calls = 2, .message_bytes = 1 << 20};
    server s;
    start(&s, bd_shm_transport_new(grpc_with(bd_test_certificates_dir("ours/task"), &limits), &limits));
    caller c = connect_with(bd_test_certificates_dir("ours/task"), &s);
    bd_transport *tls = grpc_with(bd_test_certificates_dir("ours/task"), NULL);
    bd_channel *channel = tls->connect(tls, s.address);
    make_link(&c);
    pending held;
    begin(&held, c.transport, c.channel, "/test/hold");
    bd_event_wait(&s.is_held);
    assert_int_equal(call(tls, channel, "/test/echo"), BRAID_RESOURCE_EXHAUSTED);
    assert_int_equal(call(c.transport, c.channel, "/test/echo"), BRAID_RESOURCE_EXHAUSTED);
    c.transport->call_cancel(held.handle);
    assert_int_equal(finish(&held, c.transport), BRAID_CANCELLED);
    tls->channel_close(channel);
    tls->free(tls);
    leave(&c);
    stop(&s);
}

static void the_certificate_of_a_client_opens_no_link(void **state)
{
    (void)state;
    server s;
    start(&s, shared_with(bd_test_certificates_dir("ours/task")));
    bd_transport *t = grpc_with(bd_test_certificates_dir("ours/client"), NULL);
    bd_channel *c = t->connect(t, s.address);
    assert_int_equal(call(t, c, "/test/echo"), BRAID_OK);
    assert_int_equal(bd_test_ask_for_link(t, c, bd_host_identity(), getpid()).code, BRAID_PERMISSION_DENIED);
    t->channel_close(c);
    t->free(t);
    stop(&s);
}

static void a_process_without_a_certificate_of_the_authority_learns_no_socket(void **state)
{
    (void)state;
    server s;
    start(&s, shared_with(bd_test_certificates_dir("ours/task")));
    const char *const dirs[] = {"", bd_test_certificates_dir("foreign/task")};
    for (size_t i = 0; i < 2; i++) {
        bd_transport *t = grpc_with(dirs[i], NULL);
        bd_channel *c = t->connect(t, s.address);
        assert_int_equal(bd_test_ask_for_link(t, c, bd_host_identity(), getpid()).code, BRAID_UNAVAILABLE);
        t->channel_close(c);
        t->free(t);
    }
    stop(&s);
}

// ---- Processes that have learned the socket and the token ----

// Exits with 0 when the socket answers to the token, which come as two lines.
static int show_token_as(uid_t user)
{
    char name[BD_SHM_NAME_BYTES + 2], token[2 * BD_SHM_TOKEN_BYTES + 2];
    uint8_t bytes[BD_SHM_TOKEN_BYTES];
    if (!fgets(name, sizeof name, stdin) || !fgets(token, sizeof token, stdin)) return 2;
    for (size_t i = 0; i < BD_SHM_TOKEN_BYTES; i++) {
        const char digits[] = {token[2 * i], token[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    if (user != geteuid() && setresuid(user, user, user) != 0) return 2;
    return bd_test_shm_show_token(name, bytes) ? 0 : 1;
}

typedef struct other_process {
    pid_t pid;
    FILE *to;
} other_process;

static other_process other_process_of(uid_t user)
{
    int ends[2];
    char text[16];
    posix_spawn_file_actions_t actions;
    other_process p;
    char *argv[] = {"shm_tls_test", text, NULL};
    snprintf(text, sizeof text, "%lld", (long long)user);
    assert_int_equal(pipe(ends), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    assert_int_equal(posix_spawn(&p.pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    p.to = fdopen(ends[1], "w");
    return p;
}

// Returns whether the server let the process in.
static bool show(other_process *p, const bd_test_offer *offer)
{
    int status;
    fprintf(p->to, "%s\n", offer->socket);
    for (size_t i = 0; i < BD_SHM_TOKEN_BYTES; i++)
        fprintf(p->to, "%02x", offer->secrets.token[i]);
    fputs("\n", p->to);
    fclose(p->to);
    assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
    return WEXITSTATUS(status) == 0;
}

static void a_token_is_of_use_to_the_process_that_was_given_it_alone(void **state)
{
    (void)state;
    server s;
    start(&s, shared_with(bd_test_certificates_dir("ours/task")));
    bd_transport *t = grpc_with(bd_test_certificates_dir("ours/task"), NULL);
    bd_channel *c = t->connect(t, s.address);
    other_process thief = other_process_of(geteuid()), holder = other_process_of(geteuid());
    const bd_test_offer offer = bd_test_ask_for_link(t, c, bd_host_identity(), holder.pid);
    assert_int_equal(offer.code, BRAID_OK);
    assert_false(show(&thief, &offer));
    assert_true(show(&holder, &offer));
    t->channel_close(c);
    t->free(t);
    stop(&s);
}

static void a_process_of_another_user_gets_nothing_for_a_token(void **state)
{
    (void)state;
    if (geteuid() != 0) skip(); // only root can start one
    server s;
    start(&s, shared_with(bd_test_certificates_dir("ours/task")));
    bd_transport *t = grpc_with(bd_test_certificates_dir("ours/task"), NULL);
    bd_channel *c = t->connect(t, s.address);
    other_process other = other_process_of(NOBODY);
    const bd_test_offer offer = bd_test_ask_for_link(t, c, bd_host_identity(), other.pid);
    assert_int_equal(offer.code, BRAID_OK);
    assert_false(show(&other, &offer));
    t->channel_close(c);
    t->free(t);
    stop(&s);
}

// ---- Sockets that are not the server's ----

// A server that offers links at a socket of the test.
typedef struct impostor {
    bd_test_offer offer;
    int listens;
} impostor;

static void offer_link(void *arg, bd_incoming *call)
{
    const impostor *i = arg;
    Braid__OpenSharedMemoryResponse response = BRAID__OPEN_SHARED_MEMORY_RESPONSE__INIT;
    BD_STATUS(ok);
    if (strcmp(call->method, BD_SHM_OPEN_METHOD) != 0) {
        reply(call);
        return;
    }
    bd_message message;
    bd_message_init(&message);
    response.socket = (char *)i->offer.socket;
    response.token = (ProtobufCBinaryData){BD_SHM_TOKEN_BYTES, (uint8_t *)i->offer.secrets.token};
    response.answer = (ProtobufCBinaryData){BD_SHM_TOKEN_BYTES, (uint8_t *)i->offer.secrets.answer};
    response.pid = (uint32_t)i->offer.secrets.process;
    bd_proto_pack_message(&response.base, &message);
    bd_incoming_reply(call, &message, ok);
}

// A channel meets an impostor whose socket is said to be that of `process`; then(): what happens at the
// socket. Calls go on over TLS.
static void meet(pid_t process, void (*then)(int socket, const bd_test_offer *offer))
{
    BD_STATUS(st);
    impostor i = {.offer = {.secrets.process = process}};
    bd_listener *l;
    char *address;
    bd_transport *t = grpc_with(bd_test_certificates_dir("ours/task"), NULL);
    snprintf(i.offer.socket, sizeof i.offer.socket, "%016llx%016llx", (unsigned long long)bd_random_u64(),
             (unsigned long long)bd_random_u64());
    bd_random_bytes(i.offer.secrets.token, BD_SHM_TOKEN_BYTES);
    bd_random_bytes(i.offer.secrets.answer, BD_SHM_TOKEN_BYTES);
    i.listens = bd_test_shm_listen(i.offer.socket);
    assert_int_equal(t->listen(t, "127.0.0.1:0", offer_link, &i, &l, &address, st), BRAID_OK);
    caller c = connect_with(bd_test_certificates_dir("ours/task"), &(server){.address = address});
    assert_int_equal(call(c.transport, c.channel, "/test/echo"), BRAID_OK);
    const int socket = accept4(i.listens, NULL, NULL, SOCK_CLOEXEC);
    then(socket, &i.offer);
    assert_int_equal(bd_shm_transport_links(c.transport), 0);
    assert_int_equal(call(c.transport, c.channel, "/test/echo"), BRAID_OK);
    leave(&c);
    close(socket);
    close(i.listens);
    t->listener_stop(l, bd_deadline_after_ms(PATIENCE_MS));
    t->listener_free(l);
    t->free(t);
    bd_free(address);
}

static void it_hangs_up(int socket, const bd_test_offer *offer)
{
    (void)offer;
    uint8_t secret[BD_SHM_TOKEN_BYTES];
    assert_int_equal(bd_test_shm_hear(socket, secret), 0);
}

static void a_client_says_nothing_at_a_socket_of_another_process(void **state)
{
    (void)state;
    meet(getpid() + 1, it_hangs_up);
}

static void it_takes_no_other_answer(int socket, const bd_test_offer *offer)
{
    const size_t bytes[] = {sizeof(bd_shm_segment), sizeof(bd_shm_bell)};
    uint8_t secret[BD_SHM_TOKEN_BYTES];
    assert_true(bd_test_shm_hear(socket, secret) > 0);
    assert_memory_equal(secret, offer->secrets.token, sizeof secret);
    bd_test_shm_say(socket, secret, bytes, 2);
    assert_int_equal(bd_test_shm_hear(socket, secret), 0);
}

static void a_client_takes_no_memory_from_a_process_that_does_not_know_the_answer(void **state)
{
    (void)state;
    meet(getpid(), it_takes_no_other_answer);
}

// ---- What ends a link ----

static void a_link_that_its_client_does_not_hold_is_cut_off(void **state)
{
    (void)state;
    server s;
    start(&s, shared_with(bd_test_certificates_dir("ours/task")));
    bd_transport *t = grpc_with(bd_test_certificates_dir("ours/task"), NULL);
    bd_channel *c = t->connect(t, s.address);
    const bd_test_offer offer = bd_test_ask_for_link(t, c, bd_host_identity(), getpid());
    const int socket = bd_test_shm_connect(offer.socket);
    uint8_t answer[BD_SHM_TOKEN_BYTES];
    bd_test_shm_say(socket, offer.secrets.token, &(size_t){sizeof(bd_shm_bell)}, 1);
    assert_true(bd_test_shm_hear(socket, answer) > 0);
    assert_memory_equal(answer, offer.secrets.answer, sizeof answer);
    assert_int_equal(bd_test_shm_hear(socket, answer), 0);
    close(socket);
    t->channel_close(c);
    t->free(t);
    stop(&s);
}

// An authority with two tasks. The directories NAME-alone/server and NAME-alone/client have their
// certificates, and hear of no revocation.
static void make_authority(const char *name)
{
    BD_STATUS(st);
    static const char *const files[] = {"key.pem", "cert.pem", "ca.pem"}, *const tasks[] = {"server",
                                                                                            "client"};
    char alone[64], from[128], to[128];
    snprintf(alone, sizeof alone, "%s-alone", name);
    mkdir(bd_test_certificates_dir(alone), 0700);
    assert_int_equal(braid_keys_new(bd_test_certificates_dir(name), st), BRAID_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(braid_keys_add(bd_test_certificates_dir(name), tasks[i], BRAID_ROLE_TASK, 30, st),
                         BRAID_OK);
        snprintf(from, sizeof from, "%s/%s", name, tasks[i]);
        snprintf(to, sizeof to, "%s/%s", alone, tasks[i]);
        mkdir(bd_test_certificates_dir(to), 0700);
        for (size_t f = 0; f < 3; f++)
            bd_test_certificates_copy(from, to, files[f]);
    }
}

static void a_link_ends_when_the_certificate_of_its_client_is_revoked(void **state)
{
    (void)state;
    BD_STATUS(st);
    server s;
    make_authority("clients");
    start(&s, shared_with(bd_test_certificates_dir("clients/server")));
    caller c = connect_with(bd_test_certificates_dir("clients-alone/client"), &s);
    make_link(&c);
    pending held;
    begin(&held, c.transport, c.channel, "/test/hold");
    bd_event_wait(&s.is_held);
    assert_int_equal(braid_keys_revoke(bd_test_certificates_dir("clients"), "client", st), BRAID_OK);
    assert_int_equal(finish(&held, c.transport), BRAID_UNAVAILABLE);
    assert_true(bd_event_wait_until(&s.is_lost, bd_deadline_after_ms(PATIENCE_MS)));
    assert_int_equal(bd_shm_transport_links(s.transport), 0);
    const braid_code code = call(c.transport, c.channel, "/test/echo");
    assert_true(code == BRAID_UNAUTHENTICATED || code == BRAID_UNAVAILABLE); // by call, or by handshake
    leave(&c);
    stop(&s);
}

static void a_link_ends_when_the_certificate_of_its_server_is_revoked(void **state)
{
    (void)state;
    BD_STATUS(st);
    server s;
    make_authority("servers");
    start(&s, shared_with(bd_test_certificates_dir("servers-alone/server")));
    caller c = connect_with(bd_test_certificates_dir("servers/client"), &s);
    make_link(&c);
    pending held;
    begin(&held, c.transport, c.channel, "/test/hold");
    bd_event_wait(&s.is_held);
    assert_int_equal(braid_keys_revoke(bd_test_certificates_dir("servers"), "server", st), BRAID_OK);
    assert_int_equal(finish(&held, c.transport), BRAID_UNAVAILABLE);
    assert_int_equal(bd_shm_transport_links(c.transport), 0);
    assert_int_equal(call(c.transport, c.channel, "/test/echo"), BRAID_UNAVAILABLE);
    assert_true(bd_event_wait_until(&s.is_lost, bd_deadline_after_ms(PATIENCE_MS)));
    leave(&c);
    stop(&s);
}

int main(int argc, char **argv)
{
    if (argc > 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc == 2) return show_token_as((uid_t)atoi(argv[1]));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_with_certificates_call_through_shared_memory_under_their_names),
        cmocka_unit_test(calls_over_a_link_count_together_with_those_over_tls),
        cmocka_unit_test(the_certificate_of_a_client_opens_no_link),
        cmocka_unit_test(a_process_without_a_certificate_of_the_authority_learns_no_socket),
        cmocka_unit_test(a_token_is_of_use_to_the_process_that_was_given_it_alone),
        cmocka_unit_test(a_process_of_another_user_gets_nothing_for_a_token),
        cmocka_unit_test(a_client_says_nothing_at_a_socket_of_another_process),
        cmocka_unit_test(a_client_takes_no_memory_from_a_process_that_does_not_know_the_answer),
        cmocka_unit_test(a_link_that_its_client_does_not_hold_is_cut_off),
        cmocka_unit_test(a_link_ends_when_the_certificate_of_its_client_is_revoked),
        cmocka_unit_test(a_link_ends_when_the_certificate_of_its_server_is_revoked),
    };
    if (bd_test_certificates_make(NULL)) return 1;
    const int failed =
        cmocka_run_group_tests_name("shared memory, certificates", tests, NULL, NULL) +
        bd_transport_conformance(&(bd_conformance){"shared memory over TLS", make, bd_shm_channel_await_up});
    return failed + bd_test_certificates_remove(NULL);
}
