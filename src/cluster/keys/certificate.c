// X.509 certificates by OpenSSL. An error of OpenSSL becomes a status that names the file.
#include "cluster/keys/certificate.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/strbuf.h"
#include "cluster/keys/revocation.h"
#include "io/file.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FILE_MAX (1 << 20)
#define SERIAL_BYTES 16
#define ROLE_SUFFIX ".braid"
// Clocks of hosts differ: a new certificate was valid a little ago.
#define SKEW_S 300

// ---- Roles ----

static const char *const role_names[] = {
    [BRAID_ROLE_NONE] = "none",
    [BRAID_ROLE_VIEWER] = "viewer",
    [BRAID_ROLE_CLIENT] = "client",
    [BRAID_ROLE_TASK] = "task",
};

const char *braid_role_name(braid_role role)
{
    return (unsigned)role < BD_COUNTOF(role_names) ? role_names[role] : role_names[BRAID_ROLE_NONE];
}

static braid_role role_from(const char *name, size_t len)
{
    for (int i = BRAID_ROLE_VIEWER; i < (int)BD_COUNTOF(role_names); i++)
        if (strlen(role_names[i]) == len && memcmp(role_names[i], name, len) == 0) return (braid_role)i;
    return BRAID_ROLE_NONE;
}

braid_role braid_role_from_name(const char *name)
{
    return name ? role_from(name, strlen(name)) : BRAID_ROLE_NONE;
}

braid_role bd_role_from_dns_name(const char *name, size_t len)
{
    const size_t suffix = strlen(ROLE_SUFFIX);
    if (len <= suffix || memcmp(name + len - suffix, ROLE_SUFFIX, suffix) != 0) return BRAID_ROLE_NONE;
    return role_from(name, len - suffix);
}

// ---- Reading ----

// The reason that OpenSSL gives for its last failure.
static const char *reason(void)
{
    const unsigned long error = ERR_peek_last_error();
    const char *text = error ? ERR_reason_error_string(error) : NULL;
    return text ? text : "unknown error";
}

// Calls `read` on the content of a file. NULL and an error.
static void *read_pem(const char *path, const char *what, void *(*read)(BIO *in), braid_status *st)
{
    char *data;
    size_t len;
    if (bd_file_read_all(bd_fs_current, path, FILE_MAX, &data, &len, st)) return NULL;
    BIO *in = BIO_new_mem_buf(data, (int)len);
    ERR_clear_error();
    void *object = in ? read(in) : NULL;
    if (!object) bd_fail(st, BRAID_INVALID_ARGUMENT, "%s holds no %s in PEM form: %s", path, what, reason());
    BIO_free(in);
    OPENSSL_cleanse(data, len);
    bd_free(data);
    return object;
}

static void *read_certificate(BIO *in)
{
    return PEM_read_bio_X509(in, NULL, NULL, NULL);
}

static int no_password(char *buffer, int size, int is_writing, void *arg)
{
    (void)buffer, (void)size, (void)is_writing, (void)arg;
    return -1;
}

static void *read_key(BIO *in)
{
    return PEM_read_bio_PrivateKey(in, NULL, no_password, NULL);
}

X509 *bd_certificate_read(const char *path, braid_status *st)
{
    return read_pem(path, "certificate", read_certificate, st);
}

EVP_PKEY *bd_key_read(const char *path, braid_status *st)
{
    return read_pem(path, "private key without a password", read_key, st);
}

static int64_t seconds_of(const ASN1_TIME *at)
{
    struct tm utc;
    return ASN1_TIME_to_tm(at, &utc) ? (int64_t)timegm(&utc) : 0;
}

static braid_role role_of(X509 *certificate)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    braid_role role = BRAID_ROLE_NONE;
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type != GEN_DNS) continue;
        const braid_role found = bd_role_from_dns_name((const char *)ASN1_STRING_get0_data(name->d.dNSName),
                                                       (size_t)ASN1_STRING_length(name->d.dNSName));
        if (found > role) role = found;
    }
    GENERAL_NAMES_free(names);
    return role;
}

char *bd_certificate_describe(X509 *certificate, braid_certificate *out)
{
    char name[256] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
    char *copy = bd_strdup(name);
    *out = (braid_certificate){.name = copy,
                               .role = role_of(certificate),
                               .not_before = seconds_of(X509_get0_notBefore(certificate)),
                               .not_after = seconds_of(X509_get0_notAfter(certificate))};
    return copy;
}

// ---- Making ----

EVP_PKEY *bd_key_new(braid_status *st)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    if (!key) bd_fail(st, BRAID_INTERNAL, "A key cannot be made: %s", reason());
    return key;
}

static bool set_serial(X509 *certificate)
{
    unsigned char bytes[SERIAL_BYTES];
    if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
    bytes[0] &= 0x7f; // positive
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    const bool is_set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
    BN_free(number);
    return is_set;
}

static bool set_times(X509 *certificate, int days)
{
    return X509_gmtime_adj(X509_getm_notBefore(certificate), -SKEW_S) &&
           X509_time_adj_ex(X509_getm_notAfter(certificate), days, 0, NULL);
}

static bool set_name(X509_NAME *subject, const char *name)
{
    return X509_NAME_add_entry_by_NID(subject, NID_organizationName, MBSTRING_UTF8,
                                      (const unsigned char *)"Braid", -1, -1, 0) &&
           X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, (const unsigned char *)name, -1,
                                      -1, 0);
}

static bool extend(X509 *certificate, X509V3_CTX *context, int id, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, context, id, value);
    const bool is_added = extension && X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return is_added;
}

static bool extend_authority(X509 *certificate, X509V3_CTX *context)
{
    return extend(certificate, context, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           extend(certificate, context, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           extend(certificate, context, NID_subject_key_identifier, "hash");
}

static bool extend_holder(X509 *certificate, X509V3_CTX *context, braid_role role)
{
    char names[64];
    snprintf(names, sizeof names, "DNS:%s%s", braid_role_name(role), ROLE_SUFFIX);
    return extend(certificate, context, NID_basic_constraints, "critical,CA:FALSE") &&
           extend(certificate, context, NID_key_usage, "critical,digitalSignature") &&
           extend(certificate, context, NID_ext_key_usage,
                  role == BRAID_ROLE_TASK ? "serverAuth,clientAuth" : "clientAuth") &&
           extend(certificate, context, NID_subject_key_identifier, "hash") &&
           extend(certificate, context, NID_authority_key_identifier, "keyid") &&
           extend(certificate, context, NID_subject_alt_name, names);
}

X509 *bd_certificate_sign(const char *name, braid_role role, int days, EVP_PKEY *key, X509 *issuer,
                          EVP_PKEY *issuer_key, braid_status *st)
{
    X509 *certificate = X509_new();
    X509V3_CTX context;
    ERR_clear_error();
    bool is_made = certificate && X509_set_version(certificate, X509_VERSION_3) && set_serial(certificate) &&
                   set_times(certificate, days) && set_name(X509_get_subject_name(certificate), name) &&
                   X509_set_issuer_name(certificate, X509_get_subject_name(issuer ? issuer : certificate)) &&
                   X509_set_pubkey(certificate, key);
    if (is_made) {
        X509V3_set_ctx(&context, issuer ? issuer : certificate, certificate, NULL, NULL, 0);
        is_made =
            (issuer ? extend_holder(certificate, &context, role) : extend_authority(certificate, &context)) &&
            X509_sign(certificate, issuer ? issuer_key : key, EVP_sha256());
    }
    if (is_made) return certificate;
    bd_fail(st, BRAID_INTERNAL, "A certificate for %s cannot be made: %s", name, reason());
    X509_free(certificate);
    return NULL;
}

// ---- Writing ----

// Writes what `out` holds, and frees it.
static braid_code write_pem(const char *path, BIO *out, bool is_complete, braid_status *st)
{
    char *data = NULL;
    const long len = out && is_complete ? BIO_get_mem_data(out, &data) : 0;
    if (len > 0)
        bd_file_write_atomic(bd_fs_current, path, data, (size_t)len, st);
    else
        bd_fail(st, BRAID_INTERNAL, "%s cannot be written: %s", path, reason());
    BIO_free(out);
    return st->code;
}

braid_code bd_certificate_write(const char *path, X509 *certificate, braid_status *st)
{
    BIO *out = BIO_new(BIO_s_mem());
    return write_pem(path, out, out && PEM_write_bio_X509(out, certificate), st);
}

braid_code bd_key_write(const char *path, EVP_PKEY *key, braid_status *st)
{
    BIO *out = BIO_new(BIO_s_secmem());
    if (write_pem(path, out, out && PEM_write_bio_PKCS8PrivateKey(out, key, NULL, NULL, 0, NULL, NULL), st))
        return st->code;
    if (chmod(path, 0600) != 0)
        return bd_fail(st, bd_code_of_errno(errno), "%s: its mode cannot be set: %s", path, strerror(errno));
    return BRAID_OK;
}

// ---- Checking ----

static void append_time(bd_strbuf *text, int64_t seconds)
{
    const time_t at = (time_t)seconds;
    struct tm utc;
    char date[64];
    gmtime_r(&at, &utc);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", &utc);
    bd_strbuf_append(text, date);
}

static braid_code check_time(const char *path, X509 *certificate, braid_status *st)
{
    const bool is_over = X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0;
    if (!is_over && X509_cmp_current_time(X509_get0_notBefore(certificate)) <= 0) return BRAID_OK;
    bd_strbuf date = {0};
    append_time(&date,
                seconds_of(is_over ? X509_get0_notAfter(certificate) : X509_get0_notBefore(certificate)));
    bd_fail(st, BRAID_UNAUTHENTICATED, "%s %s %s: %s", path, is_over ? "expired on" : "is not valid before",
            date.data, is_over ? "renew it by 'braid keys add'" : "the clock of this host is slow");
    bd_strbuf_fini(&date);
    return st->code;
}

static braid_code check_private(const char *path, braid_status *st)
{
    struct stat file;
    if (stat(path, &file) != 0) return bd_fail(st, bd_code_of_errno(errno), "%s: %s", path, strerror(errno));
    if ((file.st_mode & 077) == 0) return BRAID_OK;
    return bd_fail(st, BRAID_PERMISSION_DENIED,
                   "Other users may read %s: whoever has the key is taken for its holder (chmod 600 %s)",
                   path, path);
}

static braid_code check_pair(const char *dir, X509 *ca, X509 *certificate, EVP_PKEY *key, braid_status *st)
{
    EVP_PKEY *ca_key = X509_get0_pubkey(ca);
    if (!ca_key || X509_verify(certificate, ca_key) != 1)
        return bd_fail(st, BRAID_UNAUTHENTICATED, "%s/cert.pem was not signed by the authority of %s/ca.pem",
                       dir, dir);
    if (EVP_PKEY_eq(key, X509_get0_pubkey(certificate)) != 1)
        return bd_fail(st, BRAID_UNAUTHENTICATED, "%s/key.pem is not the key of %s/cert.pem", dir, dir);
    if (role_of(certificate) == BRAID_ROLE_NONE)
        return bd_fail(st, BRAID_UNAUTHENTICATED, "%s/cert.pem gives no role: make one by 'braid keys add'",
                       dir);
    return BRAID_OK;
}

static braid_code check_revoked(const char *dir, X509 *ca, X509 *certificate, braid_status *st)
{
    X509_CRL *list = bd_crl_read(dir, ca, st);
    if (bd_crl_has(list, certificate))
        bd_fail(st, BRAID_UNAUTHENTICATED, "%s/cert.pem is revoked: 'braid keys add' makes a new one", dir);
    X509_CRL_free(list);
    return st->code;
}

braid_code bd_tls_dir_check(const char *dir, braid_role *role, braid_status *st)
{
    char *ca_path = bd_path_join(dir, "ca.pem"), *certificate_path = bd_path_join(dir, "cert.pem");
    char *key_path = bd_path_join(dir, "key.pem");
    X509 *ca = bd_certificate_read(ca_path, st);
    X509 *certificate = ca ? bd_certificate_read(certificate_path, st) : NULL;
    EVP_PKEY *key = certificate && !check_private(key_path, st) ? bd_key_read(key_path, st) : NULL;
    if (key && !check_pair(dir, ca, certificate, key, st) && !check_time(ca_path, ca, st) &&
        !check_time(certificate_path, certificate, st) && !check_revoked(dir, ca, certificate, st))
        *role = role_of(certificate);
    EVP_PKEY_free(key);
    X509_free(certificate);
    X509_free(ca);
    bd_free(ca_path);
    bd_free(certificate_path);
    bd_free(key_path);
    return st->code;
}
