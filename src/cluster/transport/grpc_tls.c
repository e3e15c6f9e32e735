// The certificates come from files that gRPC watches; the roles of a caller are DNS names of its certificate,
// which gRPC gives as properties of the call.
#include "cluster/transport/grpc_tls.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "cluster/keys/certificate.h"
#include "io/file.h"
#include <grpc/grpc_security_constants.h>
#include <stdlib.h>
#include <string.h>

#define READ_AGAIN_S 10

struct bd_grpc_tls {
    grpc_tls_certificate_provider *files;
    bd_grpc_revocations *revocations;
    braid_role role;
};

braid_code bd_grpc_tls_new(const char *dir, void (*revoked)(void *arg), void *arg, bd_grpc_tls **out,
                           braid_status *st)
{
    *out = NULL;
    braid_role role = BRAID_ROLE_NONE;
    const char *from = dir ? "" : "BRAID_TLS_DIR: ";
    if (!dir) dir = getenv("BRAID_TLS_DIR");
    if (!dir || !*dir) return BRAID_OK;
    bd_grpc_revocations *revocations =
        bd_tls_dir_check(dir, &role, st) ? NULL : bd_grpc_revocations_new(dir, st);
    if (!revocations) return bd_status_prefix(st, "%s", from);
    bd_grpc_revocations_on_change(revocations, revoked, arg);
    char *ca = bd_path_join(dir, "ca.pem"), *certificate = bd_path_join(dir, "cert.pem");
    char *key = bd_path_join(dir, "key.pem");
    bd_grpc_tls *tls = bd_calloc(1, sizeof *tls);
    tls->role = role;
    tls->revocations = revocations;
    tls->files = grpc_tls_certificate_provider_file_watcher_create(key, certificate, ca, READ_AGAIN_S);
    bd_free(ca);
    bd_free(certificate);
    bd_free(key);
    *out = tls;
    return BRAID_OK;
}

void bd_grpc_tls_free(bd_grpc_tls *tls)
{
    if (!tls) return;
    grpc_tls_certificate_provider_release(tls->files);
    bd_grpc_revocations_free(tls->revocations);
    bd_free(tls);
}

braid_role bd_grpc_tls_role(const bd_grpc_tls *tls)
{
    return tls->role;
}

static grpc_tls_credentials_options *options(const bd_grpc_tls *tls, bd_grpc_shown *servers)
{
    grpc_tls_credentials_options *o = grpc_tls_credentials_options_create();
    grpc_tls_certificate_verifier *verifier = bd_grpc_revocations_verifier(tls->revocations, servers);
    grpc_tls_credentials_options_set_certificate_verifier(o, verifier);
    grpc_tls_certificate_verifier_release(verifier);
    grpc_tls_credentials_options_set_certificate_provider(o, tls->files);
    grpc_tls_credentials_options_watch_root_certs(o);
    grpc_tls_credentials_options_watch_identity_key_cert_pairs(o);
    return o;
}

grpc_channel_credentials *bd_grpc_tls_channel_credentials(const bd_grpc_tls *tls, bd_grpc_shown *shown)
{
    return grpc_tls_credentials_create(options(tls, shown));
}

bool bd_grpc_tls_is_revoked(const bd_grpc_tls *tls, bd_grpc_shown *shown)
{
    return bd_grpc_shown_is_revoked(shown, tls->revocations);
}

grpc_server_credentials *bd_grpc_tls_server_credentials(const bd_grpc_tls *tls)
{
    grpc_tls_credentials_options *o = options(tls, NULL);
    grpc_tls_credentials_options_set_cert_request_type(
        o, GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    return grpc_tls_server_credentials_create(o);
}

// The highest role that a certificate says by its DNS names.
static braid_role role_of(const grpc_auth_context *context)
{
    braid_role role = BRAID_ROLE_NONE;
    grpc_auth_property_iterator at =
        grpc_auth_context_find_properties_by_name(context, GRPC_PEER_DNS_PROPERTY_NAME);
    const grpc_auth_property *name;
    while ((name = grpc_auth_property_iterator_next(&at))) { // ends with the names
        const braid_role found = bd_role_from_dns_name(name->value, name->value_length);
        if (found > role) role = found;
    }
    return role;
}

static void append_name(bd_strbuf *text, const grpc_auth_context *context)
{
    grpc_auth_property_iterator at =
        grpc_auth_context_find_properties_by_name(context, GRPC_X509_CN_PROPERTY_NAME);
    const grpc_auth_property *name = grpc_auth_property_iterator_next(&at);
    if (name) bd_strbuf_append_n(text, name->value, name->value_length);
}

void bd_grpc_tls_caller(grpc_call *call, bd_caller *out)
{
    grpc_auth_context *context = grpc_call_auth_context(call);
    bd_strbuf name = {0};
    append_name(&name, context);
    snprintf(out->name, sizeof out->name, "certificate '%s'", bd_strbuf_str(&name));
    out->role = role_of(context);
    bd_strbuf_fini(&name);
    grpc_auth_context_release(context);
}

static bool is_revoked(const bd_grpc_tls *tls, grpc_call *call)
{
    grpc_auth_context *context = grpc_call_auth_context(call);
    grpc_auth_property_iterator at =
        grpc_auth_context_find_properties_by_name(context, GRPC_X509_PEM_CERT_PROPERTY_NAME);
    const grpc_auth_property *pem = grpc_auth_property_iterator_next(&at);
    const bool is_revoked = !pem || bd_grpc_revocations_have(tls->revocations, pem->value, pem->value_length);
    grpc_auth_context_release(context);
    return is_revoked;
}

braid_code bd_grpc_tls_check_revoked(const bd_grpc_tls *tls, grpc_call *call, bd_connection *c,
                                     braid_status *st)
{
    if (!is_revoked(tls, call)) return BRAID_OK;
    bd_caller caller = {0};
    bd_connection_caller(c, &caller);
    return bd_fail(st, BRAID_UNAUTHENTICATED,
                   "%s of the caller is revoked ('braid keys add' makes a new one)", caller.name);
}

braid_code bd_grpc_tls_admit(const bd_grpc_tls *tls, grpc_call *call, bd_connection *c, const char *method,
                             braid_role needed, braid_status *st)
{
    bd_caller caller = {0};
    bd_connection_caller(c, &caller);
    if (bd_grpc_tls_check_revoked(tls, call, c, st)) return st->code;
    if (caller.role >= needed && caller.role != BRAID_ROLE_NONE) return BRAID_OK;
    return bd_fail(st, BRAID_PERMISSION_DENIED,
                   "%s needs a certificate of the role %s, and %s of the caller has the role %s (braid keys)",
                   method, braid_role_name(needed), caller.name, braid_role_name(caller.role));
}
