// TLS 1.2 and 1.3 by OpenSSL towards a server that is to show the certificate of a task.
//
// In TLS 1.3 a server looks at our certificate when the handshake has ended for us: its refusal comes as an
// alert where its first bytes are expected, or as the end of the connection.
#include "cluster/transport/tunnel_tls.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "cluster/keys/certificate.h"
#include "cluster/keys/revocation.h"
#include "io/file.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>

// Reasons of errors from here on are alerts of the other end.
#define ALERTS SSL_AD_REASON_OFFSET

static const unsigned char protocols[] = {2, 'h', '2'}; // of ALPN: gRPC's

struct bd_tunnel_tls {
    SSL_CTX *context;
    SSL *connection;
    X509_CRL *revoked; // when it was made; NULL: nothing
    bd_grpc_revocations *revocations;
    BIO *shown; // the server's certificate in PEM form; NULL: the server has not shown it
    int socket;
    char *dir, *server;
};

// ---- Making ----

static bool take_pair(SSL_CTX *context, const char *dir, braid_status *st)
{
    char *certificate_path = bd_path_join(dir, "cert.pem"), *key_path = bd_path_join(dir, "key.pem");
    X509 *certificate = bd_certificate_read(certificate_path, st);
    EVP_PKEY *key = certificate ? bd_key_read(key_path, st) : NULL;
    if (key && (SSL_CTX_use_certificate(context, certificate) != 1 ||
                SSL_CTX_use_PrivateKey(context, key) != 1 || SSL_CTX_check_private_key(context) != 1))
        bd_fail(st, BRAID_UNAUTHENTICATED, "%s/key.pem is not the key of %s/cert.pem", dir, dir);
    EVP_PKEY_free(key);
    X509_free(certificate);
    bd_free(key_path);
    bd_free(certificate_path);
    return !st->code;
}

static bool take_authority(SSL_CTX *context, const char *dir, X509_CRL **revoked, braid_status *st)
{
    char *path = bd_path_join(dir, "ca.pem");
    X509 *ca = bd_certificate_read(path, st);
    if (ca && X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca) != 1)
        bd_fail(st, BRAID_UNAUTHENTICATED, "%s cannot be trusted", path);
    if (ca && !st->code) *revoked = bd_crl_read(dir, ca, st);
    X509_free(ca);
    bd_free(path);
    return !st->code;
}

static void set_up(SSL_CTX *context)
{
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // Servers of gRPC end a connection without a word of TLS; HTTP/2 knows where its frames end.
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_alpn_protos(context, protocols, sizeof protocols);
}

bd_tunnel_tls *bd_tunnel_tls_new(const char *dir, const char *server, bd_grpc_revocations *revocations,
                                 braid_status *st)
{
    braid_role role;
    if (bd_tls_dir_check(dir, &role, st)) return NULL;
    bd_tunnel_tls *tls = bd_calloc(1, sizeof *tls);
    tls->dir = bd_strdup(dir);
    tls->server = bd_strdup(server);
    tls->revocations = revocations;
    tls->context = SSL_CTX_new(TLS_client_method());
    if (tls->context) set_up(tls->context);
    if (tls->context && take_authority(tls->context, dir, &tls->revoked, st) &&
        take_pair(tls->context, dir, st))
        tls->connection = SSL_new(tls->context);
    if (tls->connection && SSL_set_tlsext_host_name(tls->connection, BD_TASK_DNS_NAME) == 1) return tls;
    if (!st->code) bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OpenSSL cannot make a connection");
    bd_tunnel_tls_free(tls);
    return NULL;
}

void bd_tunnel_tls_free(bd_tunnel_tls *tls)
{
    if (!tls) return;
    SSL_free(tls->connection);
    SSL_CTX_free(tls->context);
    X509_CRL_free(tls->revoked);
    BIO_free(tls->shown);
    bd_free(tls->dir);
    bd_free(tls->server);
    bd_free(tls);
}

void bd_tunnel_tls_use(bd_tunnel_tls *tls, int socket)
{
    tls->socket = socket;
    SSL_set_fd(tls->connection, socket);
}

// ---- Errors ----

static bd_tunnel_io lost(const bd_tunnel_tls *tls, int error, braid_status *st)
{
    bd_fail(st, BRAID_UNAVAILABLE, "The connection to %s is lost: %s", tls->server, strerror(error));
    return BD_TUNNEL_FAILED;
}

static bd_tunnel_io refused(const bd_tunnel_tls *tls, unsigned long error, braid_status *st)
{
    const int reason = ERR_GET_REASON(error);
    const char *text = ERR_reason_error_string(error);
    if (reason >= ALERTS)
        bd_fail(
            st, BRAID_UNAUTHENTICATED,
            "%s refuses the certificate in %s: %s. Both ends need a certificate of one authority (braid keys)",
            tls->server, tls->dir, text ? text : "an alert");
    else if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST)
        bd_fail(st, BRAID_UNAVAILABLE, "%s speaks no TLS: it needs a certificate (braid server --tls-dir)",
                tls->server);
    else
        bd_fail(st, BRAID_UNAVAILABLE, "TLS with %s failed: %s", tls->server, text ? text : "unknown error");
    return BD_TUNNEL_FAILED;
}

// What a call that returned `result` has done. `system_error` is errno after it.
static bd_tunnel_io outcome(const bd_tunnel_tls *tls, int result, int system_error, braid_status *st)
{
    switch (SSL_get_error(tls->connection, result)) {
    case SSL_ERROR_NONE: return BD_TUNNEL_DONE;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return BD_TUNNEL_AGAIN;
    case SSL_ERROR_ZERO_RETURN: return BD_TUNNEL_END;
    case SSL_ERROR_SYSCALL: return lost(tls, system_error ? system_error : ECONNRESET, st);
    default: return refused(tls, ERR_peek_last_error(), st);
    }
}

static void begin_call(void)
{
    ERR_clear_error(); // SSL_get_error looks at what is left there
    errno = 0;
}

// ---- The handshake ----

static bd_tunnel_io not_a_task(const bd_tunnel_tls *tls, braid_status *st)
{
    bd_fail(st, BRAID_UNAUTHENTICATED,
            "%s has no certificate of the role task: only such a one can serve (braid keys --role task add)",
            tls->server);
    return BD_TUNNEL_FAILED;
}

static bd_tunnel_io wrong_certificate(const bd_tunnel_tls *tls, long why, braid_status *st)
{
    if (why == X509_V_ERR_INVALID_PURPOSE) return not_a_task(tls, st);
    if (why == X509_V_ERR_CERT_HAS_EXPIRED)
        bd_fail(
            st, BRAID_UNAUTHENTICATED,
            "The certificate of %s has expired, or the clock of this host is fast: renew it by 'braid keys add'",
            tls->server);
    else
        bd_fail(st, BRAID_UNAUTHENTICATED,
                "The certificate of %s was not signed by the authority of %s/ca.pem, or is not valid: %s",
                tls->server, tls->dir, X509_verify_cert_error_string(why));
    return BD_TUNNEL_FAILED;
}

static braid_code is_revoked(const bd_tunnel_tls *tls, braid_status *st)
{
    return bd_fail(st, BRAID_UNAUTHENTICATED,
                   "The certificate of %s is revoked: it needs a new one (braid keys add)", tls->server);
}

braid_code bd_tunnel_tls_check_revoked(const bd_tunnel_tls *tls, braid_status *st)
{
    char *pem;
    const long len = tls->shown ? BIO_get_mem_data(tls->shown, &pem) : 0;
    if (len > 0 && bd_grpc_revocations_have(tls->revocations, pem, (size_t)len)) return is_revoked(tls, st);
    return BRAID_OK;
}

// Looks at the list that was there when the connection was begun, and at what was revoked since.
static braid_code check_certificate(bd_tunnel_tls *tls, X509 *certificate, braid_status *st)
{
    if (bd_crl_has(tls->revoked, certificate)) return is_revoked(tls, st);
    tls->shown = BIO_new(BIO_s_mem());
    if (!tls->shown || PEM_write_bio_X509(tls->shown, certificate) != 1)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OpenSSL cannot keep the certificate of %s",
                       tls->server);
    return bd_tunnel_tls_check_revoked(tls, st);
}

static bd_tunnel_io check_server(bd_tunnel_tls *tls, braid_status *st)
{
    const unsigned char *protocol;
    unsigned len;
    braid_certificate description = {0};
    X509 *certificate = SSL_get1_peer_certificate(tls->connection);
    if (certificate) bd_free(bd_certificate_describe(certificate, &description));
    if (certificate) check_certificate(tls, certificate, st);
    X509_free(certificate);
    if (st->code) return BD_TUNNEL_FAILED;
    if (description.role != BRAID_ROLE_TASK) return not_a_task(tls, st);
    SSL_get0_alpn_selected(tls->connection, &protocol, &len);
    if (len == 2 && memcmp(protocol, "h2", 2) == 0) return BD_TUNNEL_DONE;
    bd_fail(st, BRAID_UNAVAILABLE, "%s speaks no HTTP/2: it is no server of gRPC", tls->server);
    return BD_TUNNEL_FAILED;
}

bd_tunnel_io bd_tunnel_tls_shake(bd_tunnel_tls *tls, braid_status *st)
{
    begin_call();
    const int result = SSL_connect(tls->connection);
    const int system_error = errno;
    if (result == 1) return check_server(tls, st);
    const long verified = SSL_get_verify_result(tls->connection);
    if (verified != X509_V_OK) return wrong_certificate(tls, verified, st);
    const bd_tunnel_io io = outcome(tls, result, system_error, st);
    if (io != BD_TUNNEL_END) return io;
    bd_fail(st, BRAID_UNAVAILABLE, "%s has ended the connection in the TLS handshake", tls->server);
    return BD_TUNNEL_FAILED;
}

// ---- Bytes ----

bd_tunnel_io bd_tunnel_tls_read(bd_tunnel_tls *tls, void *out, size_t size, size_t *got, braid_status *st)
{
    begin_call();
    const int result = SSL_read_ex(tls->connection, out, size, got);
    return outcome(tls, result, errno, st);
}

bd_tunnel_io bd_tunnel_tls_write(bd_tunnel_tls *tls, const void *data, size_t len, size_t *put,
                                 braid_status *st)
{
    begin_call();
    const int result = SSL_write_ex(tls->connection, data, len, put);
    return outcome(tls, result, errno, st);
}

bd_tunnel_io bd_tunnel_tls_end(bd_tunnel_tls *tls, braid_status *st)
{
    begin_call();
    const int result = SSL_shutdown(tls->connection);
    const int system_error = errno;
    if (result < 0) return outcome(tls, result, system_error, st);
    shutdown(tls->socket, SHUT_WR);
    return BD_TUNNEL_DONE;
}
