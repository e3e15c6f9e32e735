// The HTTP server of a task: libmicrohttpd, on connections that an acceptor has accepted, which knows whose
// they are.
//
// A page of another site may make a browser call this server, by a name that leads here (DNS rebinding):
// without TLS a request must name an address, localhost, or the host of the server's own address.
#include "cluster/monitoring/web.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "cluster/keys/certificate.h"
#include "cluster/keys/revocation.h"
#include "cluster/monitoring/description.h"
#include "cluster/monitoring/page.h"
#include "cluster/spec/cluster_spec.h"
#include "cluster/transport/grpc_accept.h"
#include "io/file.h"
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONNECTIONS_MAX 32
#define IDLE_TIMEOUT_S 30
#define CONNECTION_MEMORY (16 << 10) // of a request's line and headers
#define FILE_MAX (1 << 20)           // of a certificate

// The contents of a directory of a certificate; NULL: no TLS.
typedef struct certificate_files {
    char *ca, *certificate, *key;
} certificate_files;

struct bd_web {
    bd_web_options options; // pointers to what it has copied or outlives it
    char *url, *host;
    bd_acceptor *acceptor;
    struct MHD_Daemon *daemon;
    atomic_int connections;
    char *policy;  // of the page's content
    char *tls_dir; // NULL: no TLS
    certificate_files files;
    uint64_t version; // of the files; of the acceptor's thread
};

// ---- Who may call ----

static const union MHD_ConnectionInfo *info(struct MHD_Connection *c, enum MHD_ConnectionInfoType type)
{
    return MHD_get_connection_info(c, type);
}

// Also when it cannot be found out.
static bool is_revoked(const bd_web *w, X509 *certificate)
{
    BD_STATUS(st);
    char *ca_path = bd_path_join(w->tls_dir, "ca.pem");
    X509 *ca = bd_certificate_read(ca_path, st);
    X509_CRL *list = ca ? bd_crl_read(w->tls_dir, ca, st) : NULL;
    const bool is_revoked = st->code || bd_crl_has(list, certificate);
    X509_CRL_free(list);
    X509_free(ca);
    bd_free(ca_path);
    return is_revoked;
}

static braid_role role_of_peer(const bd_web *w, struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *session = info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned count = 0, problems = 0;
    if (!session || gnutls_certificate_verify_peers2(session->tls_session, &problems) != 0 || problems)
        return BRAID_ROLE_NONE;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session->tls_session, &count);
    if (!chain || count == 0) return BRAID_ROLE_NONE;
    const unsigned char *data = chain[0].data;
    X509 *certificate = d2i_X509(NULL, &data, (long)chain[0].size);
    if (!certificate) return BRAID_ROLE_NONE;
    braid_certificate described;
    bd_free(bd_certificate_describe(certificate, &described));
    if (is_revoked(w, certificate)) described.role = BRAID_ROLE_NONE;
    X509_free(certificate);
    return described.role;
}

static braid_code admit(const bd_web *w, struct MHD_Connection *c, braid_status *st)
{
    if (!w->tls_dir || role_of_peer(w, c) >= BRAID_ROLE_VIEWER) return BRAID_OK;
    return bd_fail(
        st, BRAID_PERMISSION_DENIED,
        "A certificate of the role viewer is needed, which the cluster's authority has signed, and has not "
        "revoked");
}

// The host of a header "host:port", "[::1]:port" or "host".
static bool is_host_ours(const bd_web *w, const char *header)
{
    char host[BD_HOST_LEN_MAX + 1];
    struct in6_addr v6;
    struct in_addr v4;
    if (!header) return false;
    const bool in_brackets = header[0] == '[';
    if (in_brackets) header++;
    const size_t len = strcspn(header, in_brackets ? "]" : ":");
    if (len > BD_HOST_LEN_MAX) return false;
    memcpy(host, header, len);
    host[len] = 0;
    return strcasecmp(host, "localhost") == 0 || strcasecmp(host, w->host) == 0 ||
           inet_pton(AF_INET, host, &v4) == 1 || (in_brackets && inet_pton(AF_INET6, host, &v6) == 1);
}

// ---- Answers ----

static enum MHD_Result answer(const bd_web *w, struct MHD_Connection *c, unsigned code, const char *type,
                              const char *data, size_t len)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(len, (void *)data, MHD_RESPMEM_MUST_COPY);
    if (!response) return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Content-Security-Policy", w->policy);
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    const enum MHD_Result result = MHD_queue_response(c, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(const bd_web *w, struct MHD_Connection *c, unsigned code, const char *why)
{
    char *text = bd_asprintf("%s\n", why);
    const enum MHD_Result result = answer(w, c, code, "text/plain; charset=utf-8", text, strlen(text));
    bd_free(text);
    return result;
}

static enum MHD_Result answer_described(const bd_web *w, struct MHD_Connection *c, const char *type,
                                        void (*append)(const braid_task_description *d, bd_strbuf *out))
{
    bd_strbuf out = {0};
    braid_task_description *d = w->options.describe(w->options.arg);
    append(d, &out);
    braid_task_description_free(d);
    const enum MHD_Result result = answer(w, c, MHD_HTTP_OK, type, out.data, out.len);
    bd_strbuf_fini(&out);
    return result;
}

static enum MHD_Result answer_path(const bd_web *w, struct MHD_Connection *c, const char *path)
{
    if (strcmp(path, "/") == 0)
        return answer(w, c, MHD_HTTP_OK, "text/html; charset=utf-8", (const char *)bd_monitoring_page,
                      bd_monitoring_page_len);
    if (strcmp(path, "/status.json") == 0)
        return answer_described(w, c, "application/json", bd_description_append_json);
    if (strcmp(path, "/metrics") == 0)
        return answer_described(w, c, "text/plain; version=0.0.4; charset=utf-8",
                                bd_description_append_metrics);
    return refuse(w, c, MHD_HTTP_NOT_FOUND, "There are /, /status.json and /metrics");
}

static bool reads(const char *method)
{
    return strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
}

static enum MHD_Result decide(const bd_web *w, struct MHD_Connection *c, const char *path, const char *method)
{
    BD_STATUS(st);
    const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    if (admit(w, c, st)) return refuse(w, c, MHD_HTTP_FORBIDDEN, st->message);
    if (!w->tls_dir && !is_host_ours(w, host))
        return refuse(
            w, c, MHD_HTTP_MISDIRECTED_REQUEST,
            "The request names another host: use an address, localhost, or the name that the server has");
    if (!reads(method)) return refuse(w, c, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD are served");
    return answer_path(w, c, path);
}

// The first call for a request comes before its end: an answer to it ends the connection, too. A request with
// a body ends it without an answer.
static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *path, const char *method,
                              const char *version, const char *data, size_t *data_len, void **state)
{
    (void)version, (void)data;
    const bool is_first = !*state;
    *state = c;
    if (is_first && reads(method)) return MHD_YES;
    return *data_len ? MHD_NO : decide(arg, c, path, method);
}

// ---- The server ----

static void connection_changed(void *arg, struct MHD_Connection *c, void **state,
                               enum MHD_ConnectionNotificationCode what)
{
    (void)c, (void)state;
    bd_web *w = arg;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) atomic_fetch_sub(&w->connections, 1);
}

static void log_problem(void *arg, const char *format, va_list args)
{
    (void)arg;
    char *line = bd_vasprintf(format, args);
    bd_debug("Monitoring: %s", line);
    bd_free(line);
}

static braid_code read_file(const char *dir, const char *name, char **out, braid_status *st)
{
    char *path = bd_path_join(dir, name), *data = NULL;
    size_t len = 0;
    if (!bd_file_read_all(bd_fs_current, path, FILE_MAX, &data, &len, st)) *out = bd_strndup(data, len);
    bd_free(data);
    bd_free(path);
    return st->code;
}

static braid_code read_certificate(const char *dir, certificate_files *out, braid_status *st)
{
    braid_role role;
    if (bd_tls_dir_check(dir, &role, st) || read_file(dir, "ca.pem", &out->ca, st) ||
        read_file(dir, "cert.pem", &out->certificate, st) || read_file(dir, "key.pem", &out->key, st))
        return st->code;
    return BRAID_OK;
}

static void files_fini(certificate_files *f)
{
    bd_free(f->ca);
    bd_free(f->certificate);
    bd_free(f->key);
}

// Signals stay with the program's own threads.
static struct MHD_Daemon *start_daemon(bd_web *w, const certificate_files *files)
{
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_TRUST, 0, files->ca},
        {MHD_OPTION_HTTPS_MEM_CERT, 0, files->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, files->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL},
    };
    const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    const unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
                           MHD_USE_ITC | MHD_USE_ERROR_LOG | (files->key ? MHD_USE_TLS : 0u);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, handle, w, MHD_OPTION_EXTERNAL_LOGGER, log_problem, NULL,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(2 * CONNECTIONS_MAX), MHD_OPTION_NOTIFY_CONNECTION,
        connection_changed, w, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_ARRAY,
        files->key ? tls : none, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

// Another number when files of the directory were written or replaced.
static uint64_t files_version(const char *dir)
{
    static const char *const names[] = {"ca.pem", "cert.pem", "key.pem"};
    struct {
        int64_t seconds, nanoseconds;
        uint64_t file;
    } seen[BD_COUNTOF(names)] = {0};
    for (size_t i = 0; i < BD_COUNTOF(names); i++) {
        struct stat s;
        char *path = bd_path_join(dir, names[i]);
        if (stat(path, &s) == 0) {
            seen[i].seconds = s.st_mtim.tv_sec;
            seen[i].nanoseconds = s.st_mtim.tv_nsec;
            seen[i].file = s.st_ino;
        }
        bd_free(path);
    }
    return bd_hash_bytes(seen, sizeof seen);
}

// Takes the files of the certificate, which are other ones: connections that are there end.
static void renew_certificate(bd_web *w)
{
    BD_STATUS(st);
    certificate_files files = {0};
    struct MHD_Daemon *daemon = read_certificate(w->tls_dir, &files, st) ? NULL : start_daemon(w, &files);
    if (!daemon) {
        bd_warn("Monitoring keeps the certificate that it has, but %s",
                st->code ? st->message : "the new one cannot be used");
    } else {
        MHD_stop_daemon(w->daemon);
        w->daemon = daemon;
        const certificate_files before = w->files;
        w->files = files;
        files = before;
        bd_info("Monitoring has taken the certificate in %s", w->tls_dir);
    }
    files_fini(&files);
}

// libmicrohttpd would let connections over its limit wait.
static void accepted(void *arg, int fd)
{
    bd_web *w = arg;
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    if (w->tls_dir) {
        const uint64_t version = files_version(w->tls_dir);
        if (version != w->version) renew_certificate(w);
        w->version = version;
    }
    if (atomic_load(&w->connections) >= CONNECTIONS_MAX ||
        getpeername(fd, (struct sockaddr *)&peer, &len) != 0) {
        shutdown(fd, SHUT_RDWR); // the acceptor has another descriptor of it
        close(fd);
        return;
    }
    atomic_fetch_add(&w->connections, 1);
    if (MHD_add_connection(w->daemon, fd, (const struct sockaddr *)&peer, len) !=
        MHD_YES) // it closes the socket
        atomic_fetch_sub(&w->connections, 1);
}

// Port 0 is no port of host:port elsewhere.
static braid_code parse_address(const char *address, char host[BD_HOST_LEN_MAX + 1], int *port,
                                braid_status *st)
{
    const bool is_free = bd_str_ends_with(address, ":0");
    char *text = bd_asprintf("%s%s", address, is_free ? "1" : "");
    bd_host_port_parse(text, host, port, st);
    bd_free(text);
    if (is_free) *port = 0;
    return st->code;
}

static braid_code refuse_address(const char *address, braid_status *st)
{
    return bd_fail(
        st, BRAID_PERMISSION_DENIED,
        "%s would show anyone with access to the network what the task is doing: give it a certificate (braid keys, "
        "--tls-dir, options.tls_dir), or say that it may be insecure (--insecure, options.insecure)",
        address);
}

static braid_code listen_at(bd_web *w, const char *address, braid_status *st)
{
    char host[BD_HOST_LEN_MAX + 1];
    int port;
    if (parse_address(address, host, &port, st)) return st->code;
    w->host = bd_strdup(host);
    const bool is_open = w->tls_dir || w->options.insecure; // to connections of any user
    if (!is_open && !bd_host_is_loopback(host)) return refuse_address(address, st);
    if (bd_acceptor_new(host, &port, is_open ? NULL : w->options.users, &w->acceptor, st)) return st->code;
    w->url = bd_asprintf(strchr(host, ':') ? "%s://[%s]:%d/" : "%s://%s:%d/", w->tls_dir ? "https" : "http",
                         host, port);
    w->daemon = start_daemon(w, &w->files);
    if (!w->daemon)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "The server for monitoring at %s cannot start", address);
    return bd_acceptor_start(w->acceptor, accepted, w, st);
}

braid_code bd_web_new(const bd_web_options *options, bd_web **out, braid_status *st)
{
    bd_web *w = bd_calloc(1, sizeof *w);
    w->options = *options;
    w->options.address = w->options.tls_dir = NULL; // not used later
    w->policy = bd_monitoring_page_policy();
    if (options->tls_dir) {
        w->tls_dir = bd_strdup(options->tls_dir);
        w->version = files_version(w->tls_dir);
    }
    if ((w->tls_dir && read_certificate(w->tls_dir, &w->files, st)) || listen_at(w, options->address, st)) {
        bd_web_free(w);
        return st->code;
    }
    *out = w;
    return BRAID_OK;
}

const char *bd_web_url(const bd_web *w)
{
    return w->url;
}

void bd_web_free(bd_web *w)
{
    if (!w) return;
    if (w->acceptor) bd_acceptor_close(w->acceptor);
    if (w->daemon) MHD_stop_daemon(w->daemon);
    bd_acceptor_free(w->acceptor);
    bd_free(w->policy);
    bd_free(w->tls_dir);
    files_fini(&w->files);
    bd_free(w->host);
    bd_free(w->url);
    bd_free(w);
}
