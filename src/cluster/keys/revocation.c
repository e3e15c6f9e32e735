// Revocation lists by OpenSSL.
#include "cluster/keys/revocation.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "io/file.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <time.h>

// Clocks of hosts differ: a new list was valid a little ago.
#define SKEW_S 300

static const char *reason(void)
{
    const unsigned long error = ERR_peek_last_error();
    const char *text = error ? ERR_reason_error_string(error) : NULL;
    return text ? text : "unknown error";
}

// ---- Reading ----

X509_CRL *bd_crl_parse(const char *path, const char *data, size_t len, X509 *ca, braid_status *st)
{
    ERR_clear_error();
    BIO *in = BIO_new_mem_buf(data, (int)len);
    X509_CRL *list = in ? PEM_read_bio_X509_CRL(in, NULL, NULL, NULL) : NULL;
    BIO_free(in);
    if (!list) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "%s holds no revocation list in PEM form: %s", path, reason());
        return NULL;
    }
    EVP_PKEY *ca_key = X509_get0_pubkey(ca);
    if (ca_key && X509_CRL_verify(list, ca_key) == 1) return list;
    bd_fail(st, BRAID_UNAUTHENTICATED,
            "%s was not signed by the authority of the ca.pem beside it: copy the %s of that authority", path,
            BD_CRL_FILE);
    X509_CRL_free(list);
    return NULL;
}

X509_CRL *bd_crl_read(const char *dir, X509 *ca, braid_status *st)
{
    char *path = bd_path_join(dir, BD_CRL_FILE), *data;
    size_t len;
    X509_CRL *list = NULL;
    if (!bd_file_read_all(bd_fs_current, path, BD_CRL_BYTES_MAX, &data, &len, st)) {
        list = bd_crl_parse(path, data, len, ca, st);
        bd_free(data);
    } else if (st->code == BRAID_NOT_FOUND) {
        braid_status_clear(st);
    }
    bd_free(path);
    return list;
}

bool bd_crl_has(X509_CRL *list, X509 *certificate)
{
    X509_REVOKED *found;
    return list && X509_CRL_get0_by_cert(list, &found, certificate) == 1;
}

// ---- Making ----

static braid_code failed(braid_status *st)
{
    return bd_fail(st, BRAID_INTERNAL, "A revocation list cannot be made: %s", reason());
}

X509_CRL *bd_crl_begin(X509_CRL *before, X509 *ca, braid_status *st)
{
    X509_CRL *list = before ? X509_CRL_dup(before) : X509_CRL_new();
    ASN1_TIME *now = X509_time_adj_ex(NULL, 0, -SKEW_S, NULL);
    ERR_clear_error();
    if (!list || !now || !X509_CRL_set_version(list, X509_CRL_VERSION_2) ||
        !X509_CRL_set_issuer_name(list, X509_get_subject_name(ca)) || !X509_CRL_set1_lastUpdate(list, now) ||
        !X509_CRL_set1_nextUpdate(list, X509_get0_notAfter(ca))) {
        failed(st);
        X509_CRL_free(list);
        list = NULL;
    }
    ASN1_TIME_free(now);
    return list;
}

braid_code bd_crl_add(X509_CRL *list, const ASN1_INTEGER *serial, braid_status *st)
{
    X509_REVOKED *entry;
    if (X509_CRL_get0_by_serial(list, &entry, serial) == 1) return BRAID_OK;
    entry = X509_REVOKED_new();
    ASN1_TIME *now = X509_time_adj_ex(NULL, 0, 0, NULL);
    ERR_clear_error();
    const bool is_made = entry && now && X509_REVOKED_set_serialNumber(entry, (ASN1_INTEGER *)serial) &&
                         X509_REVOKED_set_revocationDate(entry, now);
    ASN1_TIME_free(now);
    if (is_made && X509_CRL_add0_revoked(list, entry)) return BRAID_OK;
    X509_REVOKED_free(entry);
    return failed(st);
}

// Lists only grow: the number of entries numbers them.
static bool set_number(X509_CRL *list)
{
    ASN1_INTEGER *number = ASN1_INTEGER_new();
    const bool is_set = number &&
                        ASN1_INTEGER_set_int64(number, sk_X509_REVOKED_num(X509_CRL_get_REVOKED(list))) &&
                        X509_CRL_add1_ext_i2d(list, NID_crl_number, number, 0, X509V3_ADD_REPLACE) == 1;
    ASN1_INTEGER_free(number);
    return is_set;
}

static bool set_authority(X509_CRL *list, X509 *ca)
{
    X509V3_CTX context;
    if (X509_CRL_get_ext_by_NID(list, NID_authority_key_identifier, -1) >= 0) return true;
    X509V3_set_ctx(&context, ca, NULL, NULL, list, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, NID_authority_key_identifier, "keyid");
    const bool is_added = extension && X509_CRL_add_ext(list, extension, -1);
    X509_EXTENSION_free(extension);
    return is_added;
}

braid_code bd_crl_sign(X509_CRL *list, X509 *ca, EVP_PKEY *ca_key, braid_status *st)
{
    ERR_clear_error();
    if (set_authority(list, ca) && set_number(list) && X509_CRL_sort(list) &&
        X509_CRL_sign(list, ca_key, EVP_sha256()))
        return BRAID_OK;
    return failed(st);
}

braid_code bd_crl_write(const char *dir, X509_CRL *list, braid_status *st)
{
    char *path = bd_path_join(dir, BD_CRL_FILE), *data = NULL;
    BIO *out = BIO_new(BIO_s_mem());
    const long len = out && PEM_write_bio_X509_CRL(out, list) ? BIO_get_mem_data(out, &data) : 0;
    if (len > 0)
        bd_file_write_atomic(bd_fs_current, path, data, (size_t)len, st);
    else
        bd_fail(st, BRAID_INTERNAL, "%s cannot be written: %s", path, reason());
    BIO_free(out);
    bd_free(path);
    return st->code;
}
