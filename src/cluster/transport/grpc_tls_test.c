// Tests of TLS: a matrix of roles against what a method needs, certificates that do not fit, and renewal. The
// server counts the messages that it gets. labels: concurrent
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "cluster/keys/certificate.h"
#include "cluster/transport/transport.h"
#include "io/file.h"
#include <braid/log.h>
#include <openssl/pem.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define LONG_MS 60000

// ---- Certificates: two authorities, each with one of each role ----

static char top[] = "/tmp/braid-test-XXXXXX";

// "ours/task" below the directory of the tests. Valid until the next call but seven.
static const char *dir_of(const char *holder)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", top, holder);
    return path;
}

static int make_certificates(void **state)
{
    (void)state;
    static const char *const authorities[] = {"ours", "foreign"};
    if (!mkdtemp(top)) return 1;
    for (size_t i = 0; i < 2; i++) {
        BD_STATUS(st);
        const char *dir = dir_of(authorities[i]);
        if (braid_keys_new(dir, st)) return 1;
        for (braid_role r = BRAID_ROLE_VIEWER; r <= BRAID_ROLE_TASK; r++)
            if (braid_keys_add(dir, braid_role_name(r), r, 30, st)) return 1;
    }
    return 0;
}

static int remove_certificates(void **state)
{
    (void)state;
    char *command = bd_asprintf("rm -rf %s", top);
    const int code = system(command); // NOLINT(cert-env33-c): a path of our own
    bd_free(command);
    return code;
}

// ---- A server and a call ----

static braid_role needed(const char *method)
{
    return braid_role_from_name(method + strlen("/test/"));
}

static void count_messages(void *arg, bd_incoming *call)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    BD_STATUS(ok);
    bd_message empty;
    bd_message_init(&empty);
    bd_incoming_reply(call, &empty, ok);
}

typedef struct server {
    bd_transport *transport;
    bd_listener *listener;
    char *address;
    atomic_int messages;
} server;

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
    bd_grpc_transport_admit(s->transport, NULL, needed);
    assert_int_equal(
        s->transport->listen(s->transport, at, count_messages, &s->messages, &s->listener, &s->address, st),
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

// Calls with the certificate in `dir` ("": none). Returns the code, and stores the message of an error
// (bd_free) unless `message` is NULL. Sets `begun`, unless it is NULL, when the call has begun.
static braid_code call_with(const server *s, const char *dir, const char *method, bool waits, bd_event *begun,
                            char **message)
{
    bd_transport *t = transport_with(dir);
    bd_channel *c = t->connect(t, s->address);
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
    t->channel_close(c);
    t->free(t);
    if (message)
        *message = r.message;
    else
        bd_free(r.message);
    return r.code;
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
    start(&s, "127.0.0.1:0", dir_of("ours/task"));
    int admitted = 0;
    for (int role = BRAID_ROLE_VIEWER; role <= BRAID_ROLE_TASK; role++) {
        char holder[32];
        snprintf(holder, sizeof holder, "ours/%s", braid_role_name((braid_role)role));
        for (int of = BRAID_ROLE_VIEWER; of <= BRAID_ROLE_TASK; of++) {
            const bool may = role >= of;
            admitted += may;
            assert_int_equal(call(&s, dir_of(holder), methods[of - 1]),
                             may ? BRAID_OK : BRAID_PERMISSION_DENIED);
            assert_int_equal(atomic_load(&s.messages),
                             admitted); // the server gets no message of a refused call
        }
    }
    char *message;
    assert_int_equal(call_with(&s, dir_of("ours/viewer"), "/test/client", false, NULL, &message),
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
    start(&s, "127.0.0.1:0", dir_of("ours/task"));
    assert_int_equal(call(&s, dir_of("foreign/task"), "/test/viewer"), BRAID_UNAVAILABLE);
    assert_int_equal(call(&s, "", "/test/viewer"), BRAID_UNAVAILABLE); // without TLS
    assert_int_equal(atomic_load(&s.messages), 0);
    assert_int_equal(call(&s, dir_of("ours/viewer"), "/test/viewer"), BRAID_OK); // it serves on
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
        start(&s, "127.0.0.1:0", *servers[i] ? dir_of(servers[i]) : "");
        assert_int_equal(call(&s, dir_of("ours/task"), "/test/viewer"), BRAID_UNAVAILABLE);
        assert_int_equal(atomic_load(&s.messages), 0);
        stop(&s);
    }
}

static void tls_works_over_ipv6_and_a_socket_in_the_file_system_needs_none(void **state)
{
    (void)state;
    server s;
    start(&s, "[::1]:0", dir_of("ours/task"));
    assert_int_equal(call(&s, dir_of("ours/client"), "/test/client"), BRAID_OK);
    stop(&s);
    char *at = bd_asprintf("unix:%s/socket", top);
    start(&s, at, dir_of("ours/task"));
    assert_int_equal(call(&s, dir_of("ours/client"), "/test/task"), BRAID_OK);
    stop(&s);
    bd_free(at);
}

// Makes top/holder, whose certificate ended a day ago.
static void make_expired(const char *holder)
{
    BD_STATUS(st);
    EVP_PKEY *key = bd_key_new(st);
    char *ca_path = bd_path_join(dir_of("ours"), "ca.pem"),
         *ca_key_path = bd_path_join(dir_of("ours"), "ca.key");
    X509 *ca = bd_certificate_read(ca_path, st);
    EVP_PKEY *ca_key = bd_key_read(ca_key_path, st);
    X509 *certificate = bd_certificate_sign("late", BRAID_ROLE_CLIENT, -1, key, ca, ca_key, st);
    assert_non_null(certificate);
    assert_int_equal(mkdir(dir_of(holder), 0700), 0);
    char *paths[] = {bd_path_join(dir_of(holder), "ca.pem"), bd_path_join(dir_of(holder), "cert.pem"),
                     bd_path_join(dir_of(holder), "key.pem")};
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

static void copy(const char *from, const char *to, const char *name)
{
    BD_STATUS(st);
    char *source = bd_path_join(dir_of(from), name), *target = bd_path_join(dir_of(to), name), *data;
    size_t len;
    assert_int_equal(bd_file_read_all(bd_fs_current, source, 1 << 20, &data, &len, st), BRAID_OK);
    assert_int_equal(bd_file_write_atomic(bd_fs_current, target, data, len, st), BRAID_OK);
    assert_int_equal(chmod(target, 0600), 0);
    bd_free(data);
    bd_free(source);
    bd_free(target);
}

static void use(const char *holder, braid_code code, const char *message_part)
{
    BD_STATUS(st);
    bd_transport *t = bd_grpc_transport_new(st);
    braid_role role;
    assert_int_equal(bd_grpc_transport_use_tls(t, dir_of(holder), &role, st), code);
    if (!strstr(st->message, message_part)) fail_msg("'%s' lacks '%s'", st->message, message_part);
    t->free(t);
}

static void a_directory_that_cannot_be_used_says_why(void **state)
{
    (void)state;
    use("none", BRAID_NOT_FOUND, "none/ca.pem");
    make_expired("expired");
    use("expired", BRAID_UNAUTHENTICATED, "expired/cert.pem expired on 20");
    assert_int_equal(mkdir(dir_of("mixed"), 0700), 0);
    copy("ours/task", "mixed", "ca.pem");
    copy("ours/task", "mixed", "cert.pem");
    copy("ours/client", "mixed", "key.pem");
    use("mixed", BRAID_UNAUTHENTICATED, "mixed/key.pem is not the key of");
    copy("foreign/task", "mixed", "ca.pem");
    use("mixed", BRAID_UNAUTHENTICATED, "was not signed by the authority");
    copy("ours/task", "mixed", "ca.pem");
    copy("ours/task", "mixed", "key.pem");
    assert_int_equal(chmod(dir_of("mixed/key.pem"), 0644), 0);
    use("mixed", BRAID_PERMISSION_DENIED, "chmod 600");
    BD_STATUS(st);
    assert_int_equal(bd_file_write_atomic(bd_fs_current, dir_of("mixed/key.pem"), "no key", 6, st), BRAID_OK);
    assert_int_equal(chmod(dir_of("mixed/key.pem"), 0600), 0);
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
    w->code = call_with(w->server, dir_of("foreign/client"), "/test/client", true, &w->begun, NULL);
}

// The call waits for a server of its authority: the same server, once its files are of that authority.
static void a_server_takes_new_files_without_a_restart(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const char *const names[] = {"key.pem", "cert.pem", "ca.pem"};
    assert_int_equal(mkdir(dir_of("renewed"), 0700), 0);
    for (size_t i = 0; i < 3; i++)
        copy("ours/task", "renewed", names[i]);
    server s;
    start(&s, "127.0.0.1:0", dir_of("renewed"));
    waiting_call w = {.server = &s};
    bd_event_init(&w.begun);
    bd_thread thread;
    assert_int_equal(bd_thread_start(&thread, "caller", call_and_wait, &w, st), BRAID_OK);
    bd_event_wait(&w.begun);
    for (size_t i = 0; i < 3; i++)
        copy("foreign/task", "renewed", names[i]);
    bd_thread_join(&thread);
    bd_event_fini(&w.begun);
    assert_int_equal(w.code, BRAID_OK);
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
    };
    return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
