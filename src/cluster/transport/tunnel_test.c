// Tunnels, between a client without TLS and a server of OpenSSL that answers with what it gets.
// labels: concurrent
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "cluster/keys/certificate.h"
#include "cluster/transport/testing/certificates.h"
#include "io/file.h"
#include <braid/keys.h>
#include <braid/log.h>
#include <braid/tunnel.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define MANY_BYTES ((size_t)8 << 20)
#define TOO_MANY_BYTES ((size_t)256 << 20) // more than all buffers on the way hold
#define PIECE ((size_t)1 << 20)

// ---- Certificates ----

static void copy_all(const char *from, const char *to)
{
    mkdir(bd_test_certificates_dir(to), 0700);
    bd_test_certificates_copy(from, to, "key.pem");
    bd_test_certificates_copy(from, to, "cert.pem");
    bd_test_certificates_copy(from, to, "ca.pem");
}

// ---- Warnings ----

static bd_mutex log_mu = BD_MUTEX_INIT;
static bd_strbuf warnings;
static int warning_count;

static void note_warning(braid_log_level level, const char *message, void *arg)
{
    (void)arg;
    if (level != BRAID_LOG_WARNING) return;
    bd_mutex_lock(&log_mu);
    bd_strbuf_appendf(&warnings, "%s\n", message);
    warning_count++;
    bd_mutex_unlock(&log_mu);
}

static void expect_one_warning(const char *part)
{
    bd_mutex_lock(&log_mu);
    const char *text = bd_strbuf_str(&warnings);
    if (warning_count != 1 || !strstr(text, part)) fail_msg("%d: '%s' lacks '%s'", warning_count, text, part);
    bd_mutex_unlock(&log_mu);
}

// ---- A server ----

typedef enum behaviour {
    ECHO,  // answers with what it gets
    WAITS, // reads when it is allowed to, and counts
    PLAIN  // speaks no TLS
} behaviour;

typedef struct server {
    behaviour kind;
    int listener, port;
    SSL_CTX *context;
    bd_event may_read;
    size_t counted;
    bd_thread thread;
} server;

static int select_h2(SSL *ssl, const unsigned char **out, unsigned char *len, const unsigned char *in,
                     unsigned in_len, void *arg)
{
    (void)ssl, (void)arg;
    return SSL_select_next_proto((unsigned char **)out, len, (const unsigned char *)"\2h2", 3, in, in_len) ==
                   OPENSSL_NPN_NEGOTIATED
               ? SSL_TLSEXT_ERR_OK
               : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void answer(server *s, SSL *ssl)
{
    static char piece[1 << 16];
    size_t got, put;
    if (s->kind == WAITS) bd_event_wait(&s->may_read);
    while (SSL_read_ex(ssl, piece, sizeof piece, &got) == 1) {
        s->counted += got;
        if (s->kind == ECHO && SSL_write_ex(ssl, piece, got, &put) != 1) return;
    }
    SSL_shutdown(ssl);
}

static void serve_one(server *s, int fd)
{
    SSL *ssl = SSL_new(s->context);
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1) answer(s, ssl);
    SSL_free(ssl);
}

static void serve(void *arg)
{
    server *s = arg;
    int fd;
    while ((fd = accept(s->listener, NULL, NULL)) >= 0) { // ends with the listener
        if (s->kind == PLAIN)
            assert_true(write(fd, "plain", 5) == 5);
        else
            serve_one(s, fd);
        close(fd);
    }
}

// A server with the certificate in `dir`, which trusts the authority of `ca_dir`.
static void start(server *s, behaviour kind, const char *dir, const char *ca_dir)
{
    BD_STATUS(st);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    *s = (server){.kind = kind, .listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(bind(s->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->listener, 16), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&at, &len), 0);
    s->port = ntohs(at.sin_port);
    s->context = SSL_CTX_new(TLS_server_method());
    char *certificate = bd_path_join(dir, "cert.pem"), *key = bd_path_join(dir, "key.pem"),
         *ca = bd_path_join(ca_dir, "ca.pem");
    assert_int_equal(SSL_CTX_use_certificate_file(s->context, certificate, SSL_FILETYPE_PEM), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(s->context, key, SSL_FILETYPE_PEM), 1);
    assert_int_equal(SSL_CTX_load_verify_file(s->context, ca), 1);
    SSL_CTX_set_verify(s->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_alpn_select_cb(s->context, select_h2, NULL);
    bd_free(certificate);
    bd_free(key);
    bd_free(ca);
    bd_event_init(&s->may_read);
    assert_int_equal(bd_thread_start(&s->thread, "server", serve, s, st), BRAID_OK);
}

static void stop(server *s)
{
    shutdown(s->listener, SHUT_RDWR);
    bd_thread_join(&s->thread);
    close(s->listener);
    SSL_CTX_free(s->context);
    bd_event_fini(&s->may_read);
}

// ---- A tunnel and its clients ----

static braid_tunnel *open_to(int port, const char *dir)
{
    BD_STATUS(st);
    char target[32];
    snprintf(target, sizeof target, "127.0.0.1:%d", port);
    bd_strbuf_fini(&warnings);
    warning_count = 0;
    braid_set_log_sink(note_warning, NULL);
    braid_tunnel *t = braid_tunnel_open(NULL, target, dir, NULL, st);
    if (!t) fail_msg("%s", st->message);
    return t;
}

static void close_tunnel(braid_tunnel *t)
{
    braid_tunnel_free(t);
    braid_set_log_sink(NULL, NULL);
    bd_strbuf_fini(&warnings);
}

static int connect_to(const braid_tunnel *t)
{
    const char *colon = strrchr(braid_tunnel_address(t), ':');
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port = htons((uint16_t)strtol(colon + 1, NULL, 10))};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

// Connects, and expects nothing but the end of the connection.
static void expect_end(const braid_tunnel *t)
{
    char byte;
    const int fd = connect_to(t);
    assert_true(read(fd, &byte, 1) <= 0);
    close(fd);
}

static void expect_echo(int fd)
{
    char got[5] = "";
    assert_int_equal(write(fd, "hello", 5), 5);
    assert_int_equal(recv(fd, got, sizeof got, MSG_WAITALL), 5);
    assert_memory_equal(got, "hello", 5);
}

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 2654435761U >> 13);
}

static void write_many(void *arg)
{
    const int fd = *(const int *)arg;
    unsigned char *data = bd_malloc(MANY_BYTES);
    for (size_t i = 0; i < MANY_BYTES; i++)
        data[i] = byte_at(i);
    assert_int_equal(send(fd, data, MANY_BYTES, MSG_NOSIGNAL), MANY_BYTES);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    bd_free(data);
}

// ---- Tests ----

static void megabytes_pass_both_ways_and_each_end_learns_of_the_other(void **state)
{
    (void)state;
    BD_STATUS(st);
    server s;
    start(&s, ECHO, bd_test_certificates_dir("ours/task"), bd_test_certificates_dir("ours"));
    braid_tunnel *t = open_to(s.port, bd_test_certificates_dir("ours/client"));
    int fd = connect_to(t);
    bd_thread writer;
    assert_int_equal(bd_thread_start(&writer, "writer", write_many, &fd, st), BRAID_OK);
    unsigned char *got = bd_malloc(MANY_BYTES + 1);
    assert_int_equal(recv(fd, got, MANY_BYTES + 1, MSG_WAITALL), MANY_BYTES); // and then it ends
    for (size_t i = 0; i < MANY_BYTES; i++)
        if (got[i] != byte_at(i)) fail_msg("byte %zu differs", i);
    bd_thread_join(&writer);
    bd_free(got);
    close(fd);
    close_tunnel(t);
    stop(&s);
}

static void a_server_that_does_not_run_is_told_once(void **state)
{
    (void)state;
    server s;
    start(&s, ECHO, bd_test_certificates_dir("ours/task"), bd_test_certificates_dir("ours"));
    const int port = s.port;
    stop(&s);
    braid_tunnel *t = open_to(port, bd_test_certificates_dir("ours/client"));
    expect_end(t);
    expect_end(t);
    expect_one_warning("Connection refused. Does its server run?");
    close_tunnel(t);
}

static void expect_refusal(behaviour kind, const char *dir, const char *ca_dir, const char *why)
{
    server s;
    start(&s, kind, bd_test_certificates_dir(dir), bd_test_certificates_dir(ca_dir));
    braid_tunnel *t = open_to(s.port, bd_test_certificates_dir("ours/client"));
    expect_end(t);
    expect_one_warning(why);
    close_tunnel(t);
    stop(&s);
}

static void a_server_needs_a_tasks_certificate_of_the_authority(void **state)
{
    (void)state;
    expect_refusal(ECHO, "foreign/task", "ours", "was not signed by the authority of");
    expect_refusal(ECHO, "ours/client", "ours", "has no certificate of the role task");
    expect_refusal(PLAIN, "ours/task", "ours", "speaks no TLS");
}

static void a_server_whose_certificate_is_revoked_is_none(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_keys_new(bd_test_certificates_dir("revoking"), st);
    braid_keys_add(bd_test_certificates_dir("revoking"), "task", BRAID_ROLE_TASK, 30, st);
    braid_keys_add(bd_test_certificates_dir("revoking"), "client", BRAID_ROLE_CLIENT, 30, st);
    server s;
    start(&s, ECHO, bd_test_certificates_dir("revoking/task"), bd_test_certificates_dir("revoking"));
    braid_tunnel *t = open_to(s.port, bd_test_certificates_dir("revoking/client"));
    int fd = connect_to(t);
    expect_echo(fd);
    close(fd);
    braid_keys_revoke(bd_test_certificates_dir("revoking"), "task", st);
    assert_ok(st);
    expect_end(t);
    expect_one_warning("is revoked: it needs a new one");
    close_tunnel(t);
    stop(&s);
}

static void a_connection_ends_when_the_certificate_of_its_server_is_revoked(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_keys_new(bd_test_certificates_dir("ending"), st);
    braid_keys_add(bd_test_certificates_dir("ending"), "task", BRAID_ROLE_TASK, 30, st);
    braid_keys_add(bd_test_certificates_dir("ending"), "other", BRAID_ROLE_TASK, 30, st);
    braid_keys_add(bd_test_certificates_dir("ending"), "client", BRAID_ROLE_CLIENT, 30, st);
    server revoked, other;
    start(&revoked, ECHO, bd_test_certificates_dir("ending/task"), bd_test_certificates_dir("ending"));
    start(&other, ECHO, bd_test_certificates_dir("ending/other"), bd_test_certificates_dir("ending"));
    braid_tunnel *to_other = open_to(other.port, bd_test_certificates_dir("ending/client"));
    braid_tunnel *to_revoked = open_to(revoked.port, bd_test_certificates_dir("ending/client"));
    const int kept = connect_to(to_other), ended = connect_to(to_revoked);
    expect_echo(kept);
    expect_echo(ended);
    braid_keys_revoke(bd_test_certificates_dir("ending"), "task", st);
    assert_ok(st);
    char byte;
    assert_true(read(ended, &byte, 1) <= 0);
    expect_echo(kept);
    expect_one_warning("is revoked: it needs a new one");
    close(kept);
    close(ended);
    braid_tunnel_free(to_revoked);
    close_tunnel(to_other);
    stop(&revoked);
    stop(&other);
}

static void a_server_that_refuses_the_certificate_is_told(void **state)
{
    (void)state;
    expect_refusal(ECHO, "ours/task", "foreign", "refuses the certificate in");
}

static void a_server_that_does_not_read_stops_the_client(void **state)
{
    (void)state;
    server s;
    start(&s, WAITS, bd_test_certificates_dir("ours/task"), bd_test_certificates_dir("ours"));
    braid_tunnel *t = open_to(s.port, bd_test_certificates_dir("ours/client"));
    const int fd = connect_to(t);
    const struct timeval patience = {.tv_usec = 300000}; // without any progress
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience), 0);
    char *piece = bd_calloc(1, PIECE);
    size_t sent = 0;
    ssize_t put;
    while (sent < TOO_MANY_BYTES && (put = send(fd, piece, PIECE, MSG_NOSIGNAL)) > 0)
        sent += (size_t)put;
    bd_free(piece);
    assert_true(sent < TOO_MANY_BYTES);
    bd_event_set(&s.may_read);
    shutdown(fd, SHUT_WR);
    char byte;
    assert_int_equal(read(fd, &byte, 1), 0); // the server has read to the end
    close(fd);
    close_tunnel(t);
    stop(&s);
    assert_int_equal(s.counted, sent);
}

static void a_client_that_does_not_read_stops_the_server(void **state)
{
    (void)state;
    server s;
    start(&s, ECHO, bd_test_certificates_dir("ours/task"), bd_test_certificates_dir("ours"));
    braid_tunnel *t = open_to(s.port, bd_test_certificates_dir("ours/client"));
    const int fd = connect_to(t);
    const struct timeval patience = {.tv_usec = 300000};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience), 0);
    char *piece = bd_calloc(1, PIECE);
    size_t sent = 0, got = 0;
    ssize_t n;
    while (sent < TOO_MANY_BYTES && (n = send(fd, piece, PIECE, MSG_NOSIGNAL)) > 0)
        sent += (size_t)n;
    assert_true(sent < TOO_MANY_BYTES);
    shutdown(fd, SHUT_WR);
    while ((n = read(fd, piece, PIECE)) > 0)
        got += (size_t)n;
    assert_int_equal(got, sent);
    bd_free(piece);
    close(fd);
    close_tunnel(t);
    stop(&s);
}

static void new_files_are_used_for_new_connections(void **state)
{
    (void)state;
    server s;
    start(&s, ECHO, bd_test_certificates_dir("foreign/task"), bd_test_certificates_dir("foreign"));
    copy_all("ours/client", "renewed");
    braid_tunnel *t = open_to(s.port, bd_test_certificates_dir("renewed"));
    expect_end(t);
    expect_one_warning("was not signed by the authority of");
    copy_all("foreign/client", "renewed");
    const int fd = connect_to(t);
    expect_echo(fd);
    close(fd);
    close_tunnel(t);
    stop(&s);
}

static void files_that_cannot_be_used_are_told_at_each_time(void **state)
{
    (void)state;
    BD_STATUS(st);
    server s;
    start(&s, ECHO, bd_test_certificates_dir("ours/task"), bd_test_certificates_dir("ours"));
    assert_null(braid_tunnel_open(NULL, "127.0.0.1:1", bd_test_certificates_dir("none"), NULL, st));
    assert_int_equal(st->code, BRAID_NOT_FOUND);
    copy_all("ours/client", "broken");
    braid_tunnel *t = open_to(s.port, bd_test_certificates_dir("broken"));
    bd_test_certificates_copy("foreign/client", "broken", "key.pem");
    expect_end(t);
    expect_one_warning("broken/key.pem is not the key of");
    close_tunnel(t);
    stop(&s);
}

static void wait_for(void *arg)
{
    braid_tunnel_wait(arg);
}

static void closing_ends_connections_and_waits(void **state)
{
    (void)state;
    BD_STATUS(st);
    server s;
    char byte;
    start(&s, ECHO, bd_test_certificates_dir("ours/task"), bd_test_certificates_dir("ours"));
    braid_tunnel *t = open_to(s.port, bd_test_certificates_dir("ours/client"));
    const int fd = connect_to(t);
    expect_echo(fd);
    bd_thread waiter;
    assert_int_equal(bd_thread_start(&waiter, "waiter", wait_for, t, st), BRAID_OK);
    braid_tunnel_close(t);
    braid_tunnel_close(t);
    bd_thread_join(&waiter);
    assert_true(read(fd, &byte, 1) <= 0);
    close(fd);
    close_tunnel(t);
    stop(&s);
}

static void refuses(const char *listen, const char *target, const char *users, braid_code code,
                    const char *part)
{
    BD_STATUS(st);
    assert_null(braid_tunnel_open(listen, target, bd_test_certificates_dir("ours/client"), users, st));
    assert_int_equal(st->code, code);
    if (!strstr(st->message, part)) fail_msg("'%s' lacks '%s'", st->message, part);
}

static void an_entrance_is_on_loopback_only(void **state)
{
    (void)state;
    refuses("0.0.0.0:0", "127.0.0.1:1", NULL, BRAID_PERMISSION_DENIED, "it is not a loopback address");
    refuses("[::]:0", "127.0.0.1:1", NULL, BRAID_PERMISSION_DENIED, "it is not a loopback address");
    refuses("10.0.0.1:2222", "127.0.0.1:1", NULL, BRAID_PERMISSION_DENIED, "it is not a loopback address");
    refuses("127.0.0.1", "127.0.0.1:1", NULL, BRAID_INVALID_ARGUMENT, "the port is missing");
    refuses(NULL, "grpc://127.0.0.1:1", NULL, BRAID_INVALID_ARGUMENT, "The target of a tunnel");
    refuses(NULL, "unix:/tmp/socket", NULL, BRAID_INVALID_ARGUMENT, "The target of a tunnel");
    refuses(NULL, "127.0.0.1:1", "nobody-knows", BRAID_INVALID_ARGUMENT, "no user 'nobody-knows'");
}

static void an_entrance_may_be_a_socket_in_the_file_system(void **state)
{
    (void)state;
    BD_STATUS(st);
    server s;
    start(&s, ECHO, bd_test_certificates_dir("ours/task"), bd_test_certificates_dir("ours"));
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s", bd_test_certificates_dir("socket"));
    char *listen = bd_asprintf("unix:%s", at.sun_path), *target = bd_asprintf("localhost:%d", s.port);
    braid_tunnel *t = braid_tunnel_open(listen, target, bd_test_certificates_dir("ours/client"), NULL, st);
    assert_non_null(t);
    assert_string_equal(braid_tunnel_address(t), listen);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    expect_echo(fd);
    close(fd);
    braid_tunnel_free(t);
    assert_int_not_equal(access(at.sun_path, F_OK), 0);
    stop(&s);
    bd_free(listen);
    bd_free(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(megabytes_pass_both_ways_and_each_end_learns_of_the_other),
        cmocka_unit_test(a_server_that_does_not_run_is_told_once),
        cmocka_unit_test(a_server_needs_a_tasks_certificate_of_the_authority),
        cmocka_unit_test(a_server_whose_certificate_is_revoked_is_none),
        cmocka_unit_test(a_connection_ends_when_the_certificate_of_its_server_is_revoked),
        cmocka_unit_test(a_server_that_refuses_the_certificate_is_told),
        cmocka_unit_test(a_server_that_does_not_read_stops_the_client),
        cmocka_unit_test(a_client_that_does_not_read_stops_the_server),
        cmocka_unit_test(new_files_are_used_for_new_connections),
        cmocka_unit_test(files_that_cannot_be_used_are_told_at_each_time),
        cmocka_unit_test(closing_ends_connections_and_waits),
        cmocka_unit_test(an_entrance_is_on_loopback_only),
        cmocka_unit_test(an_entrance_may_be_a_socket_in_the_file_system),
    };
    return cmocka_run_group_tests(tests, bd_test_certificates_make, bd_test_certificates_remove);
}
