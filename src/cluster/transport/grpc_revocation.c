// A thread reads the list again, so that no call waits for a disk. Verdicts are kept by the text of the
// certificate, which is the same object for all calls of a connection, and equal for all of a holder.
#include "cluster/transport/grpc_revocation.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "cluster/keys/certificate.h"
#include "cluster/keys/revocation.h"
#include "io/file.h"
#include <grpc/support/string_util.h>
#include <openssl/pem.h>
#include <string.h>

#define READ_AGAIN_MS 5000
#define VERDICTS_MAX 1024
#define WARNING_NS INT64_C(10000000000) // between two of refused connections

struct bd_grpc_revocations {
    char *dir;
    atomic_int refs; // of the owner, and of each verifier
    bd_thread thread;
    // Of the thread.
    char *content; // of the file that was taken; NULL: there was none
    size_t content_len;
    char *warned; // the last warning; NULL: the file is good

    atomic_bool has_list;
    bd_mutex mu;
    bd_cond changed;
    // The rest is guarded by mu.
    bool is_stopped;
    X509_CRL *list;  // NULL: nothing is revoked
    bd_map verdicts; // from certificates in PEM form to one of these
    int64_t warned_ns;
    void (*changed_fn)(void *arg);
    void *changed_arg;
};
static char valid, revoked; // verdicts

static void unref(bd_grpc_revocations *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    X509_CRL_free(r->list);
    bd_map_fini(&r->verdicts);
    bd_cond_fini(&r->changed);
    bd_mutex_fini(&r->mu);
    bd_free(r->content);
    bd_free(r->warned);
    bd_free(r->dir);
    bd_free(r);
}

// ---- Reading ----

static X509_CRL *parse(const bd_grpc_revocations *r, const char *path, const char *data, size_t len,
                       braid_status *st)
{
    char *ca_path = bd_path_join(r->dir, "ca.pem");
    X509 *ca = bd_certificate_read(ca_path, st);
    X509_CRL *list = ca ? bd_crl_parse(path, data, len, ca, st) : NULL;
    X509_free(ca);
    bd_free(ca_path);
    return list;
}

static void take(bd_grpc_revocations *r, X509_CRL *list, char *data, size_t len)
{
    bd_mutex_lock(&r->mu);
    X509_CRL *before = r->list;
    r->list = list;
    bd_map_clear(&r->verdicts);
    void (*fn)(void *) = r->changed_fn;
    void *arg = r->changed_arg;
    bd_mutex_unlock(&r->mu);
    atomic_store(&r->has_list, true);
    X509_CRL_free(before);
    bd_free(r->content);
    r->content = data;
    r->content_len = len;
    if (fn) fn(arg);
    const int count = sk_X509_REVOKED_num(X509_CRL_get_REVOKED(list));
    bd_info("%s/%s revokes %d certificate%s", r->dir, BD_CRL_FILE, count > 0 ? count : 0,
            count == 1 ? "" : "s");
}

static bool is_taken(const bd_grpc_revocations *r, const char *data, size_t len)
{
    return r->content && r->content_len == len && memcmp(r->content, data, len) == 0;
}

// Takes the file when it is another one.
static braid_code read_file(bd_grpc_revocations *r, braid_status *st)
{
    char *path = bd_path_join(r->dir, BD_CRL_FILE), *data = NULL;
    size_t len;
    X509_CRL *list = NULL;
    if (!bd_file_read_all(bd_fs_current, path, BD_CRL_BYTES_MAX, &data, &len, st)) {
        list = is_taken(r, data, len) ? NULL : parse(r, path, data, len, st);
    } else if (st->code == BRAID_NOT_FOUND && !r->content) {
        braid_status_clear(st); // nothing was ever revoked
    }
    if (list)
        take(r, list, data, len);
    else
        bd_free(data);
    bd_free(path);
    return st->code;
}

// What was said is not said again.
static void warn(bd_grpc_revocations *r, const braid_status *st)
{
    if (r->warned && st->code && strcmp(r->warned, st->message) == 0) return;
    bd_free(r->warned);
    r->warned = st->code ? bd_strdup(st->message) : NULL;
    if (st->code) bd_warn("What was revoked before stays so, but %s", st->message);
}

static void read_again(void *arg)
{
    bd_grpc_revocations *r = arg;
    bd_mutex_lock(&r->mu);
    while (!r->is_stopped) {
        const int64_t until_ns = bd_deadline_after_ms(READ_AGAIN_MS);
        while (!r->is_stopped && !bd_cond_wait_until(&r->changed, &r->mu, until_ns)) {}
        if (r->is_stopped) break;
        bd_mutex_unlock(&r->mu);
        BD_STATUS(st);
        read_file(r, st);
        warn(r, st);
        bd_mutex_lock(&r->mu);
    }
    bd_mutex_unlock(&r->mu);
}

bd_grpc_revocations *bd_grpc_revocations_new(const char *dir, braid_status *st)
{
    bd_grpc_revocations *r = bd_calloc(1, sizeof *r);
    r->dir = bd_strdup(dir);
    atomic_init(&r->refs, 1);
    bd_mutex_init(&r->mu);
    bd_cond_init(&r->changed);
    if (!read_file(r, st) && !bd_thread_start(&r->thread, "bd-revoked", read_again, r, st)) return r;
    unref(r);
    return NULL;
}

void bd_grpc_revocations_on_change(bd_grpc_revocations *r, void (*fn)(void *arg), void *arg)
{
    bd_mutex_lock(&r->mu);
    r->changed_fn = fn;
    r->changed_arg = arg;
    bd_mutex_unlock(&r->mu);
}

void bd_grpc_revocations_free(bd_grpc_revocations *r)
{
    if (!r) return;
    bd_mutex_lock(&r->mu);
    r->is_stopped = true;
    bd_cond_broadcast(&r->changed);
    bd_mutex_unlock(&r->mu);
    bd_thread_join(&r->thread);
    unref(r);
}

// ---- Asking ----

// One that cannot be read is not trusted.
static bool judge_locked(bd_grpc_revocations *r, const char *pem, size_t len)
{
    BIO *in = BIO_new_mem_buf(pem, (int)len);
    X509 *certificate = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;
    const bool is_revoked = !certificate || bd_crl_has(r->list, certificate);
    X509_free(certificate);
    BIO_free(in);
    return is_revoked;
}

bool bd_grpc_revocations_have(bd_grpc_revocations *r, const char *pem, size_t len)
{
    if (!atomic_load(&r->has_list)) return false;
    bd_mutex_lock(&r->mu);
    void *verdict = bd_map_get_n(&r->verdicts, pem, len);
    if (!verdict) {
        if (bd_map_count(&r->verdicts) >= VERDICTS_MAX) bd_map_clear(&r->verdicts);
        verdict = judge_locked(r, pem, len) ? &revoked : &valid;
        bd_map_put_n(&r->verdicts, pem, len, verdict);
    }
    bd_mutex_unlock(&r->mu);
    return verdict == &revoked;
}

// ---- What servers have shown ----

// A channel has two connections at most at a time.
#define SHOWN_MAX 4

struct bd_grpc_shown {
    atomic_int refs;
    bd_mutex mu;
    char *pems[SHOWN_MAX]; // the newest first; NULL: no more; guarded by mu
};

bd_grpc_shown *bd_grpc_shown_new(void)
{
    bd_grpc_shown *s = bd_calloc(1, sizeof *s);
    atomic_init(&s->refs, 1);
    bd_mutex_init(&s->mu);
    return s;
}

void bd_grpc_shown_unref(bd_grpc_shown *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
    for (int i = 0; i < SHOWN_MAX; i++)
        bd_free(s->pems[i]);
    bd_mutex_fini(&s->mu);
    bd_free(s);
}

static void remove_locked(bd_grpc_shown *s, const char *pem)
{
    for (int i = 0; i < SHOWN_MAX && s->pems[i]; i++) {
        if (strcmp(s->pems[i], pem) != 0) continue;
        bd_free(s->pems[i]);
        memmove(s->pems + i, s->pems + i + 1, (size_t)(SHOWN_MAX - i - 1) * sizeof *s->pems);
        s->pems[SHOWN_MAX - 1] = NULL;
        return;
    }
}

static void note(bd_grpc_shown *s, const char *pem)
{
    bd_mutex_lock(&s->mu);
    remove_locked(s, pem);
    bd_free(s->pems[SHOWN_MAX - 1]);
    memmove(s->pems + 1, s->pems, (SHOWN_MAX - 1) * sizeof *s->pems);
    s->pems[0] = bd_strdup(pem);
    bd_mutex_unlock(&s->mu);
}

static void forget(bd_grpc_shown *s, const char *pem)
{
    bd_mutex_lock(&s->mu);
    remove_locked(s, pem);
    bd_mutex_unlock(&s->mu);
}

bool bd_grpc_shown_is_revoked(bd_grpc_shown *s, bd_grpc_revocations *r)
{
    bool is_revoked = false;
    bd_mutex_lock(&s->mu);
    for (int i = 0; i < SHOWN_MAX && s->pems[i] && !is_revoked; i++)
        is_revoked = bd_grpc_revocations_have(r, s->pems[i], strlen(s->pems[i]));
    bd_mutex_unlock(&s->mu);
    return is_revoked;
}

// ---- Handshakes ----

typedef struct verifier {
    grpc_tls_certificate_verifier_external base;
    bd_grpc_revocations *revocations;
    bd_grpc_shown *servers; // a reference; NULL: peers are callers
} verifier;

typedef grpc_tls_custom_verification_check_request peer_request;

static bool is_task(const peer_request *peer)
{
    for (size_t i = 0; i < peer->peer_info.san_names.dns_names_size; i++) {
        const char *name = peer->peer_info.san_names.dns_names[i];
        if (bd_role_from_dns_name(name, strlen(name)) == BRAID_ROLE_TASK) return true;
    }
    return false;
}

static void warn_of_revoked(bd_grpc_revocations *r, const char *name)
{
    const int64_t now_ns = bd_now_ns();
    bd_mutex_lock(&r->mu);
    const bool is_due = !r->warned_ns || now_ns - r->warned_ns >= WARNING_NS;
    if (is_due) r->warned_ns = now_ns;
    bd_mutex_unlock(&r->mu);
    if (is_due) bd_warn("A TLS handshake failed: the certificate '%s' of the other end is revoked", name);
}

static int refuse(grpc_status_code *status, char **details, const char *why)
{
    *status = GRPC_STATUS_UNAUTHENTICATED;
    *details = gpr_strdup(why);
    return 1; // done
}

static int verify(void *arg, peer_request *peer, grpc_tls_on_custom_verification_check_done_cb callback,
                  void *callback_arg, grpc_status_code *status, char **details)
{
    (void)callback, (void)callback_arg;
    const verifier *v = arg;
    const char *pem = peer->peer_info.peer_cert;
    *status = GRPC_STATUS_OK;
    if (v->servers && !is_task(peer))
        return refuse(status, details, "the server has no certificate of the role task (braid keys)");
    if (v->servers && pem) note(v->servers, pem); // before it is judged: what is revoked from now on ends it
    if (pem && !bd_grpc_revocations_have(v->revocations, pem, strlen(pem))) return 1;
    if (v->servers && pem) forget(v->servers, pem);
    warn_of_revoked(v->revocations, peer->peer_info.common_name ? peer->peer_info.common_name : "");
    return refuse(status, details, "the certificate of the other end is revoked (braid keys)");
}

static void cancel(void *arg, peer_request *peer)
{
    (void)arg, (void)peer; // verify is done when it returns
}

static void destruct(void *arg)
{
    verifier *v = arg;
    unref(v->revocations);
    bd_grpc_shown_unref(v->servers);
    bd_free(v);
}

grpc_tls_certificate_verifier *bd_grpc_revocations_verifier(bd_grpc_revocations *r, bd_grpc_shown *servers)
{
    verifier *v = bd_calloc(1, sizeof *v);
    v->base = (grpc_tls_certificate_verifier_external){
        .user_data = v, .verify = verify, .cancel = cancel, .destruct = destruct};
    v->revocations = r;
    v->servers = servers;
    if (servers) atomic_fetch_add_explicit(&servers->refs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return grpc_tls_certificate_verifier_external_create(&v->base);
}
