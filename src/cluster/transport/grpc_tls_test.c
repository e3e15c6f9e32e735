// Tests of TLS: a matrix of roles against what a method needs, certificates that do not fit, renewal, and
// revocation. The server counts the messages that it gets.
// labels: concurrent
// timeout: 180
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "cluster/keys/certificate.h"
#include "cluster/transport/testing/certificates.h"
#include "cluster/transport/transport.h"
#include "io/file.h"
#include <braid/log.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_MS 60000

// ---- A server and a call ----

static braid_role needed(const char *method)
{
    return braid_role_from_name(method + strlen("/test/"));
}

typedef struct server {
    bd_transport *transport;
    bd_listener *listener;
    char *address;
    atomic_int messages;
    bd_event *held; // set when a call has come that is not answered before its end; NULL: all are answered
} server;

static void reply(void *call, bool cancelled)
{
    (void)cancelled;
    BD_STATUS(ok);
    bd_message empty;
    bd_message_init(&empty);
    bd_incoming_reply(call, &empty, ok);
}

static void count_messages(void *arg, bd_incoming *call)
{
    server *s = arg;
    atomic_fetch_add(&s->messages, 1);
    if (s->held) {
        call->transport->on_end(call, reply, call);
        bd_event_set(s->held);
    } else {
        reply(call, false);
    }
}

static bd_transport *transport_with(const char *dir)
{
    BD_STATUS(st);
    bd_transport *t = bd_grpc_transport_new(st);
    braid_role role;
    assert_int_equal(bd_grpc_transport_use_tls(t, dir, &role, st), BRAID_OK);
    return t;
}

static void start(server *s, const char *at, const char *dir)
{
    BD_STATUS(st);
    s->transport = transport_with(dir);
    atomic_init(&s->messages, 0);
    s->held = NULL;
    bd_grpc_transport_admit(s->transport, NULL, needed);
    assert_int_equal(s->transport->listen(s->transport, at, count_messages, s, &s->listener, &s->address, st),
                     BRAID_OK);
}

static void stop(server *s)
{
    s->transport->listener_stop(s->listener, BD_FOREVER);
    s->transport->listener_free(s->listener);
    s->transport->free(s->transport);
    bd_free(s->address);
}

typedef struct result {
    bd_event done;
    braid_code code;
    char *message;
} result;

static void store(void *arg, bd_message *response, const braid_status *st)
{
    (void)response;
    result *r = arg;
    r->code = st->code;
    r->message = bd_strdup(st->message ? st->message : "");
    bd_event_set(&r->done);
}

// Calls over the channel. Returns the code, and stores the message of an error (bd_free) unless `message` is
// NULL. Sets `begun`, unless it is NULL, when the call has begun.
static braid_code call_over(bd_transport *t, bd_channel *c, const char *method, bool waits, bd_event *begun,
                            char **message)
{
    const bd_call_options options = {
        .method = method, .deadline_ns = bd_deadline_after_ms(LONG_MS), .wait_for_ready = waits};
    result r;
    bd_event_init(&r.done);
    bd_message empty;
    bd_message_init(&empty);
    bd_call *call = t->call(c, &options, &empty, store, &r);
    if (begun) bd_event_set(begun);
    bd_event_wait(&r.done);
    bd_event_fini(&r.done);
    t->call_release(call);
    if (message)
        *message = r.message;
    else
        bd_free(r.message);
    return r.code;
}

// The same with the certificate in `dir` ("": none), over a connection of its own.
static braid_code call_with(const server *s, const char *dir, const char *method, bool waits, bd_event *begun,
                            char **message)
{
    bd_transport *t = transport_with(dir);
    bd_channel *c = t->connect(t, s->address);
    const braid_code code = call_over(t, c, method, waits, begun, message);
    t->channel_close(c);
    t->free(t);
    return code;
}

static braid_code call(const server *s, const char *dir, const char *method)
{
    return call_with(s, dir, method, false, NULL, NULL);
}

// ---- Tests ----

static void a_caller_needs_the_role_of_the_method_or_more(void **state)
{
    (void)state;
    static const char *const methods[] = {"/test/viewer", "/test/client", "/test/task"};
    server s;
    start(&s, "127.0.0.1:0", bd_test_certificates_dir("ours/task"));
    int admitted = 0;
    for (int role = BRAID_ROLE_VIEWER; role <= BRAID_ROLE_TASK; role++) {
        char holder[32];
        snprintf(holder, sizeof holder, "ours/%s", braid_role_name((braid_role)role));
        for (int of = BRAID_ROLE_VIEWER; of <= BRAID_ROLE_TASK; of++) {
            const bool may = role >= of;
            admitted += may;
            assert_int_equal(call(&s, bd_test_certificates_dir(holder), methods[of - 1]),
                             may ? BRAID_OK : BRAID_PERMISSION_DENIED);
            assert_int_equal(atomic_load(&s.messages),
                             admitted); // the server gets no message of a refused call
        }
    }
    char *message;
    assert_int_equal(
        call_with(&s, bd_test_certificates_dir("ours/viewer"), "/test/client", false, NULL, &message),
        BRAID_PERMISSION_DENIED);
    assert_string_equal(message, "/test/client needs a certificate of the role client, and "
                                 "certificate 'viewer' of the caller has the role viewer (braid keys)");
    bd_free(message);
    stop(&s);
}

static void count_handshakes(braid_log_level level, const char *message, void *arg)
{
    if (level == BRAID_LOG_WARNING && strstr(message, "A TLS handshake failed"))
        atomic_fetch_add((atomic_int *)arg, 1);
}

static void a_server_admits_no_caller_without_a_certificate_of_its_authority(void **state)
{
    (void)state;
    server s;
    static atomic_int warnings;
    braid_set_log_sink(count_handshakes, &warnings);
    start(&s, "127.0.0.1:0", bd_test_certificates_dir("ours/task"));
    assert_int_equal(call(&s, bd_test_certificates_dir("foreign/task"), "/test/viewer"), BRAID_UNAVAILABLE);
    assert_int_equal(call(&s, "", "/test/viewer"), BRAID_UNAVAILABLE); // without TLS
    assert_int_equal(atomic_load(&s.messages), 0);
    assert_int_equal(call(&s, bd_test_certificates_dir("ours/viewer"), "/test/viewer"),
                     BRAID_OK); // it serves on
    stop(&s);
    braid_set_log_sink(NULL, NULL);
    assert_int_equal(warnings, 1); // one in ten seconds
}

static void a_client_calls_no_server_without_the_certificate_of_a_task(void **state)
{
    (void)state;
    static const char *const servers[] = {"ours/client", "foreign/task", ""};
    for (size_t i = 0; i < 3; i++) {
        server s;
        start(&s, "127.0.0.1:0", *servers[i] ? bd_test_certificates_dir(servers[i]) : "");
        assert_int_equal(call(&s, bd_test_certificates_dir("ours/task"), "/test/viewer"), BRAID_UNAVAILABLE);
        assert_int_equal(atomic_load(&s.messages), 0);
        stop(&s);
    }
}

static void tls_works_over_ipv6_and_a_socket_in_the_file_system_needs_none(void **state)
{
    (void)state;
    server s;
    start(&s, "[::1]:0", bd_test_certificates_dir("ours/task"));
    assert_int_equal(call(&s, bd_test_certificates_dir("ours/client"), "/test/client"), BRAID_OK);
    stop(&s);
    char *at = bd_asprintf("unix:%s", bd_test_certificates_dir("socket"));
    start(&s, at, bd_test_certificates_dir("ours/task"));
    assert_int_equal(call(&s, bd_test_certificates_dir("ours/client"), "/test/task"), BRAID_OK);
    stop(&s);
    bd_free(at);
}

// Makes the directory of a holder, whose certificate ended a day ago.
static void make_expired(const char *holder)
{
    BD_STATUS(st);
    EVP_PKEY *key = bd_key_new(st);
    char *ca_path = bd_path_join(bd_test_certificates_dir("ours"), "ca.pem"),
         *ca_key_path = bd_path_join(bd_test_certificates_dir("ours"), "ca.key");
    X509 *ca = bd_certificate_read(ca_path, st);
    EVP_PKEY *ca_key = bd_key_read(ca_key_path, st);
    X509 *certificate = bd_certificate_sign("late", BRAID_ROLE_CLIENT, -1, key, ca, ca_key, st);
    assert_non_null(certificate);
    assert_int_equal(mkdir(bd_test_certificates_dir(holder), 0700), 0);
    char *paths[] = {bd_path_join(bd_test_certificates_dir(holder), "ca.pem"),
                     bd_path_join(bd_test_certificates_dir(holder), "cert.pem"),
                     bd_path_join(bd_test_certificates_dir(holder), "key.pem")};
    assert_int_equal(bd_certificate_write(paths[0], ca, st), BRAID_OK);
    assert_int_equal(bd_certificate_write(paths[1], certificate, st), BRAID_OK);
    assert_int_equal(bd_key_write(paths[2], key, st), BRAID_OK);
    for (size_t i = 0; i < 3; i++)
        bd_free(paths[i]);
    bd_free(ca_path);
    bd_free(ca_key_path);
    X509_free(certificate);
    X509_free(ca);
    EVP_PKEY_free(key);
    EVP_PKEY_free(ca_key);
}

static void use(const char *holder, braid_code code, const char *message_part)
{
    BD_STATUS(st);
    bd_transport *t = bd_grpc_transport_new(st);
    braid_role role;
    assert_int_equal(bd_grpc_transport_use_tls(t, bd_test_certificates_dir(holder), &role, st), code);
    if (!strstr(st->message, message_part)) fail_msg("'%s' lacks '%s'", st->message, message_part);
    t->free(t);
}

static void a_directory_that_cannot_be_used_says_why(void **state)
{
    (void)state;
    use("none", BRAID_NOT_FOUND, "none/ca.pem");
    make_expired("expired");
    use("expired", BRAID_UNAUTHENTICATED, "expired/cert.pem expired on 20");
    assert_int_equal(mkdir(bd_test_certificates_dir("mixed"), 0700), 0);
    bd_test_certificates_copy("ours/task", "mixed", "ca.pem");
    bd_test_certificates_copy("ours/task", "mixed", "cert.pem");
    bd_test_certificates_copy("ours/client", "mixed", "key.pem");
    use("mixed", BRAID_UNAUTHENTICATED, "mixed/key.pem is not the key of");
    bd_test_certificates_copy("foreign/task", "mixed", "ca.pem");
    use("mixed", BRAID_UNAUTHENTICATED, "was not signed by the authority");
    bd_test_certificates_copy("ours/task", "mixed", "ca.pem");
    bd_test_certificates_copy("ours/task", "mixed", "key.pem");
    assert_int_equal(chmod(bd_test_certificates_dir("mixed/key.pem"), 0644), 0);
    use("mixed", BRAID_PERMISSION_DENIED, "chmod 600");
    BD_STATUS(st);
    assert_int_equal(
        bd_file_write_atomic(bd_fs_current, bd_test_certificates_dir("mixed/key.pem"), "no key", 6, st),
        BRAID_OK);
    assert_int_equal(chmod(bd_test_certificates_dir("mixed/key.pem"), 0600), 0);
    use("mixed", BRAID_INVALID_ARGUMENT, "key.pem holds no private key");
}

typedef struct waiting_call {
    const server *server;
    bd_event begun;
    braid_code code;
} waiting_call;

static void call_and_wait(void *arg)
{
    waiting_call *w = arg;
    w->code = call_with(w->server, bd_test_certificates_dir("foreign/client"), "/test/client", true,
                        &w->begun, NULL);
}

// The call waits for a server of its authority: the same server, once its files are of that authority.
static void a_server_takes_new_files_without_a_restart(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const char *const names[] = {"key.pem", "cert.pem", "ca.pem"};
    assert_int_equal(mkdir(bd_test_certificates_dir("renewed"), 0700), 0);
    for (size_t i = 0; i < 3; i++)
        bd_test_certificates_copy("ours/task", "renewed", names[i]);
    server s;
    start(&s, "127.0.0.1:0", bd_test_certificates_dir("renewed"));
    waiting_call w = {.server = &s};
    bd_event_init(&w.begun);
    bd_thread thread;
    assert_int_equal(bd_thread_start(&thread, "caller", call_and_wait, &w, st), BRAID_OK);
    bd_event_wait(&w.begun);
    for (size_t i = 0; i < 3; i++)
        bd_test_certificates_copy("foreign/task", "renewed", names[i]);
    bd_thread_join(&thread);
    bd_event_fini(&w.begun);
    assert_int_equal(w.code, BRAID_OK);
    stop(&s);
}

// Whether a handshake of TLS 1.2, where both ends have looked at each other's certificate when it ends,
// succeeds with a certificate; NULL: without one.
static bool shakes_hands(const server *s, const char *holder)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port =
                                       htons((uint16_t)strtol(strrchr(s->address, ':') + 1, NULL, 10))};
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\2h2", 3);
    char *certificate = bd_asprintf("%s/cert.pem", bd_test_certificates_dir(holder ? holder : "")),
         *key = bd_asprintf("%s/key.pem", bd_test_certificates_dir(holder ? holder : ""));
    if (holder) {
        assert_int_equal(SSL_CTX_use_certificate_file(context, certificate, SSL_FILETYPE_PEM), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM), 1);
    }
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    const bool is_shaken = SSL_connect(ssl) == 1;
    SSL_free(ssl);
    close(fd);
    SSL_CTX_free(context);
    bd_free(certificate);
    bd_free(key);
    return is_shaken;
}

static void a_handshake_needs_a_certificate_that_is_valid(void **state)
{
    (void)state;
    server s;
    start(&s, "127.0.0.1:0", bd_test_certificates_dir("ours/task"));
    make_expired("late");
    assert_true(shakes_hands(&s, "ours/viewer"));
    assert_false(shakes_hands(&s, "late"));
    assert_false(shakes_hands(&s, "foreign/task"));
    assert_false(shakes_hands(&s, NULL));
    stop(&s);
}

// ---- Revocation ----

// Something that the log is to say.
typedef struct awaited {
    const char *part;
    bd_event said;
} awaited;

static void note(braid_log_level level, const char *message, void *arg)
{
    (void)level;
    awaited *a = arg;
    if (strstr(message, a->part)) bd_event_set(&a->said);
}

static void expect_log(awaited *a, const char *part)
{
    a->part = part;
    bd_event_init(&a->said);
    braid_set_log_sink(note, a);
}

static void wait_for_log(awaited *a)
{
    assert_true(bd_event_wait_until(&a->said, bd_deadline_after_ms(10000))); // what docs/running.md says
    braid_set_log_sink(NULL, NULL);
}

// An authority with two clients; what is stolen of alice's has no revocation list.
static void make_authority(const char *name)
{
    BD_STATUS(st);
    static const char *const files[] = {"key.pem", "cert.pem", "ca.pem"};
    braid_keys_new(bd_test_certificates_dir(name), st);
    braid_keys_add(bd_test_certificates_dir(name), "task", BRAID_ROLE_TASK, 30, st);
    braid_keys_add(bd_test_certificates_dir(name), "alice", BRAID_ROLE_CLIENT, 30, st);
    braid_keys_add(bd_test_certificates_dir(name), "bob", BRAID_ROLE_CLIENT, 30, st);
    assert_int_equal(st->code, BRAID_OK);
    for (size_t i = 0; i < 3; i++) {
        char *stolen = bd_asprintf("%s-stolen", name), *alice = bd_asprintf("%s/alice", name);
        mkdir(bd_test_certificates_dir(stolen), 0700);
        bd_test_certificates_copy(alice, stolen, files[i]);
        bd_free(stolen);
        bd_free(alice);
    }
}

static void a_revoked_certificate_is_refused_on_new_connections_and_on_those_that_there_are(void **state)
{
    (void)state;
    BD_STATUS(st);
    server s;
    static awaited list; // a line that another thread writes may still reach the sink
    char *message;
    make_authority("revoking");
    start(&s, "127.0.0.1:0", bd_test_certificates_dir("revoking/task"));
    bd_transport *t = transport_with(bd_test_certificates_dir("revoking-stolen"));
    bd_channel *c = t->connect(t, s.address);
    for (int i = 0; i < 2; i++) // the first one learns that the server is of Braid, and others go another way
        assert_int_equal(call_over(t, c, "/test/client", false, NULL, NULL), BRAID_OK);
    expect_log(&list, "revoking/task/crl.pem revokes 1 certificate");
    assert_int_equal(braid_keys_revoke(bd_test_certificates_dir("revoking"), "alice", st), BRAID_OK);
    wait_for_log(&list);
    assert_int_equal(call_over(t, c, "/test/client", false, NULL, &message), BRAID_UNAUTHENTICATED);
    assert_string_equal(message,
                        "certificate 'alice' of the caller is revoked ('braid keys add' makes a new one)");
    bd_free(message);
    t->channel_close(c);
    t->free(t);
    assert_int_equal(atomic_load(&s.messages), 2);
    assert_int_equal(call(&s, bd_test_certificates_dir("revoking-stolen"), "/test/client"),
                     BRAID_UNAVAILABLE);
    assert_int_equal(call(&s, bd_test_certificates_dir("revoking/bob"), "/test/client"), BRAID_OK);
    use("revoking/alice", BRAID_UNAUTHENTICATED, "alice/cert.pem is revoked");
    assert_int_equal(braid_keys_add(bd_test_certificates_dir("revoking"), "alice", BRAID_ROLE_NONE, 30, st),
                     BRAID_OK);
    assert_int_equal(call(&s, bd_test_certificates_dir("revoking/alice"), "/test/client"), BRAID_OK);
    stop(&s);
}

typedef struct client {
    const server *server;
    const char *dir;
    braid_code code;
    char *message;
} client;

static void call_client(void *arg)
{
    client *c = arg;
    c->code = call_with(c->server, c->dir, "/test/client", false, NULL, &c->message);
}

static void a_call_in_progress_ends_when_its_certificate_is_revoked(void **state)
{
    (void)state;
    BD_STATUS(st);
    server s;
    bd_thread thread;
    bd_event held;
    make_authority("held");
    bd_event_init(&held);
    start(&s, "127.0.0.1:0", bd_test_certificates_dir("held/task"));
    s.held = &held;
    client alice = {.server = &s, .dir = bd_test_certificates_dir("held-stolen")};
    assert_int_equal(bd_thread_start(&thread, "alice", call_client, &alice, st), BRAID_OK);
    bd_event_wait(&held);
    assert_int_equal(braid_keys_revoke(bd_test_certificates_dir("held"), "bob", st), BRAID_OK); // not hers
    assert_int_equal(braid_keys_revoke(bd_test_certificates_dir("held"), "alice", st), BRAID_OK);
    bd_thread_join(&thread);
    assert_int_equal(alice.code, BRAID_UNAUTHENTICATED);
    assert_string_equal(alice.message,
                        "certificate 'alice' of the caller is revoked ('braid keys add' makes a new one)");
    bd_free(alice.message);
    stop(&s);
    bd_event_fini(&held);
}

static void a_list_that_cannot_be_used_leaves_the_earlier_one_in_force(void **state)
{
    (void)state;
    BD_STATUS(st);
    server s;
    static awaited said;
    make_authority("broken");
    assert_int_equal(braid_keys_revoke(bd_test_certificates_dir("broken"), "alice", st), BRAID_OK);
    assert_int_equal(braid_keys_revoke(bd_test_certificates_dir("foreign"), "viewer", st), BRAID_OK);
    start(&s, "127.0.0.1:0", bd_test_certificates_dir("broken/task"));
    expect_log(&said, "broken/task/crl.pem was not signed by the authority");
    bd_test_certificates_copy("foreign", "broken/task", "crl.pem");
    wait_for_log(&said);
    assert_int_equal(call(&s, bd_test_certificates_dir("broken-stolen"), "/test/client"), BRAID_UNAVAILABLE);
    use("broken/task", BRAID_UNAUTHENTICATED, "crl.pem was not signed by the authority");
    expect_log(&said, "broken/task/crl.pem holds no revocation list");
    assert_int_equal(bd_file_write_atomic(bd_fs_current, bd_test_certificates_dir("broken/task/crl.pem"),
                                          "no list", 7, st),
                     BRAID_OK);
    wait_for_log(&said);
    assert_int_equal(call(&s, bd_test_certificates_dir("broken-stolen"), "/test/client"), BRAID_UNAVAILABLE);
    use("broken/task", BRAID_INVALID_ARGUMENT, "crl.pem holds no revocation list");
    stop(&s);
}

static void a_client_calls_no_server_whose_certificate_is_revoked(void **state)
{
    (void)state;
    BD_STATUS(st);
    server s;
    make_authority("clients");
    start(&s, "127.0.0.1:0", bd_test_certificates_dir("clients/task"));
    assert_int_equal(call(&s, bd_test_certificates_dir("clients/bob"), "/test/client"), BRAID_OK);
    assert_int_equal(braid_keys_revoke(bd_test_certificates_dir("clients"), "task", st), BRAID_OK);
    assert_int_equal(call(&s, bd_test_certificates_dir("clients/bob"), "/test/client"), BRAID_UNAVAILABLE);
    assert_int_equal(atomic_load(&s.messages), 1);
    stop(&s);
}

// The call waits for its answer, and the server does not know of the revocation.
static void a_call_in_progress_ends_when_the_certificate_of_its_server_is_revoked(void **state)
{
    (void)state;
    BD_STATUS(st);
    server s;
    bd_thread thread;
    bd_event held;
    make_authority("servers");
    bd_event_init(&held);
    start(&s, "127.0.0.1:0", bd_test_certificates_dir("servers/task"));
    s.held = &held;
    client bob = {.server = &s, .dir = bd_test_certificates_dir("servers/bob")};
    assert_int_equal(bd_thread_start(&thread, "bob", call_client, &bob, st), BRAID_OK);
    bd_event_wait(&held);
    assert_int_equal(braid_keys_revoke(bd_test_certificates_dir("servers"), "alice", st), BRAID_OK);
    assert_int_equal(braid_keys_revoke(bd_test_certificates_dir("servers"), "task", st), BRAID_OK);
    bd_thread_join(&thread);
    assert_int_equal(bob.code, BRAID_UNAVAILABLE);
    assert_string_equal(bob.message, "the certificate of the server is revoked (braid keys)");
    bd_free(bob.message);
    stop(&s);
    bd_event_fini(&held);
}

static void a_connection_ends_when_the_certificate_of_its_server_is_revoked(void **state)
{
    (void)state;
    BD_STATUS(st);
    server s;
    static awaited list;
    make_authority("connected");
    start(&s, "127.0.0.1:0", bd_test_certificates_dir("connected/task"));
    bd_transport *t = transport_with(bd_test_certificates_dir("connected/bob"));
    bd_channel *c = t->connect(t, s.address);
    for (int i = 0; i < 2; i++) // over both connections of the channel
        assert_int_equal(call_over(t, c, "/test/client", false, NULL, NULL), BRAID_OK);
    expect_log(&list, "connected/bob/crl.pem revokes 1 certificate"); // said after calls have ended
    assert_int_equal(braid_keys_revoke(bd_test_certificates_dir("connected"), "task", st), BRAID_OK);
    wait_for_log(&list);
    assert_int_equal(call_over(t, c, "/test/client", false, NULL, NULL), BRAID_UNAVAILABLE);
    assert_int_equal(atomic_load(&s.messages), 2);
    assert_int_equal(braid_keys_add(bd_test_certificates_dir("connected"), "task", BRAID_ROLE_NONE, 30, st),
                     BRAID_OK); // which the server takes within ten seconds
    assert_int_equal(call_over(t, c, "/test/client", true, NULL, NULL), BRAID_OK);
    t->channel_close(c);
    t->free(t);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caller_needs_the_role_of_the_method_or_more),
        cmocka_unit_test(a_server_admits_no_caller_without_a_certificate_of_its_authority),
        cmocka_unit_test(a_client_calls_no_server_without_the_certificate_of_a_task),
        cmocka_unit_test(tls_works_over_ipv6_and_a_socket_in_the_file_system_needs_none),
        cmocka_unit_test(a_directory_that_cannot_be_used_says_why),
        cmocka_unit_test(a_server_takes_new_files_without_a_restart),
        cmocka_unit_test(a_handshake_needs_a_certificate_that_is_valid),
        cmocka_unit_test(a_revoked_certificate_is_refused_on_new_connections_and_on_those_that_there_are),
        cmocka_unit_test(a_call_in_progress_ends_when_its_certificate_is_revoked),
        cmocka_unit_test(a_list_that_cannot_be_used_leaves_the_earlier_one_in_force),
        cmocka_unit_test(a_client_calls_no_server_whose_certificate_is_revoked),
        cmocka_unit_test(a_call_in_progress_ends_when_the_certificate_of_its_server_is_revoked),
        cmocka_unit_test(a_connection_ends_when_the_certificate_of_its_server_is_revoked),
    };
    return cmocka_run_group_tests(tests, bd_test_certificates_make, bd_test_certificates_remove);
}
