// The directory of an authority: making it, adding certificates, revoking and listing them.
//
// The file `issued` has a line "NAME SERIAL" for each certificate, written before the certificate is: a renewed
// certificate leaves the ones before it valid, and revoking a name revokes them all.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "cluster/keys/certificate.h"
#include "cluster/keys/revocation.h"
#include "io/file.h"
#include <errno.h>
#include <openssl/bn.h>
#include <string.h>
#include <sys/stat.h>

#define AUTHORITY_DAYS 3650
#define DAYS_MAX 3650
#define NAME_LEN_MAX 64
#define ISSUED_FILE "issued"
#define ISSUED_BYTES_MAX (64 << 20)

// Makes a directory that only its user can enter, with its parents, or takes one that is empty.
static braid_code make_private_dir(const char *path, braid_status *st)
{
    bd_name_list names = {0};
    if (bd_dir_make(bd_fs_current, path, st) || bd_dir_list(bd_fs_current, path, &names, st)) return st->code;
    if (names.len > 0)
        bd_fail(st, BRAID_ALREADY_EXISTS, "%s is there and is not empty", path);
    else if (chmod(path, 0700) != 0)
        bd_fail(st, bd_code_of_errno(errno), "%s: its mode cannot be set: %s", path, strerror(errno));
    bd_name_list_fini(&names);
    return st->code;
}

static braid_code write_certificate(const char *dir, const char *name, X509 *certificate, braid_status *st)
{
    char *path = bd_path_join(dir, name);
    bd_certificate_write(path, certificate, st);
    bd_free(path);
    return st->code;
}

static braid_code write_key(const char *dir, const char *name, EVP_PKEY *key, braid_status *st)
{
    char *path = bd_path_join(dir, name);
    bd_key_write(path, key, st);
    bd_free(path);
    return st->code;
}

static X509 *read_certificate(const char *dir, const char *name, braid_status *st)
{
    char *path = bd_path_join(dir, name);
    X509 *certificate = bd_certificate_read(path, st);
    bd_free(path);
    return certificate;
}

static EVP_PKEY *read_key(const char *dir, const char *name, braid_status *st)
{
    char *path = bd_path_join(dir, name);
    EVP_PKEY *key = bd_key_read(path, st);
    bd_free(path);
    return key;
}

static bool exists(const char *dir, const char *name)
{
    char *path = bd_path_join(dir, name);
    const bool is = bd_file_exists(bd_fs_current, path);
    bd_free(path);
    return is;
}

// ---- Making ----

braid_code braid_keys_new(const char *dir, braid_status *st)
{
    if (make_private_dir(dir, st)) return st->code;
    EVP_PKEY *key = bd_key_new(st);
    X509 *certificate =
        key ? bd_certificate_sign("authority", BRAID_ROLE_NONE, AUTHORITY_DAYS, key, NULL, NULL, st) : NULL;
    if (certificate && !write_key(dir, "ca.key", key, st)) write_certificate(dir, "ca.pem", certificate, st);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return st->code;
}

static braid_code check_name(const char *name, braid_status *st)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const size_t len = strlen(name);
    if (len == 0 || len > NAME_LEN_MAX || strspn(name, allowed) != len || name[0] == '.' || name[0] == '-')
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "'%s' cannot be the name of a certificate: letters, digits, '_', '-' and '.', at most %d", name,
            NAME_LEN_MAX);
    return BRAID_OK;
}

static braid_code check_days(int days, braid_status *st)
{
    if (days < 1 || days > DAYS_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "A certificate cannot be valid for %d days: 1 to %d are allowed", days, DAYS_MAX);
    return BRAID_OK;
}

// An authority that is open for signing.
typedef struct authority {
    const char *dir;
    X509 *ca;
    EVP_PKEY *key;
    X509_CRL *revoked; // NULL: nothing
} authority;

static braid_code authority_open(authority *a, const char *dir, braid_status *st)
{
    *a = (authority){.dir = dir, .ca = read_certificate(dir, "ca.pem", st)};
    if (a->ca) a->key = read_key(dir, "ca.key", st);
    if (a->key) a->revoked = bd_crl_read(dir, a->ca, st);
    if (st->code == BRAID_NOT_FOUND)
        bd_status_suffix(st, ": %s is not the directory of an authority (braid keys new %s makes one)", dir,
                         dir);
    return st->code;
}

static void authority_close(authority *a)
{
    X509_CRL_free(a->revoked);
    EVP_PKEY_free(a->key);
    X509_free(a->ca);
}

// What the file `issued` has, with room for a line; "" when there is none.
static braid_code read_issued(const authority *a, bd_strbuf *text, braid_status *st)
{
    char *path = bd_path_join(a->dir, ISSUED_FILE), *data;
    size_t len;
    if (!bd_file_read_all(bd_fs_current, path, ISSUED_BYTES_MAX, &data, &len, st)) {
        bd_strbuf_append_n(text, data, len);
        bd_free(data);
    } else if (st->code == BRAID_NOT_FOUND) {
        braid_status_clear(st);
    }
    bd_free(path);
    return st->code;
}

static braid_code note_issued(const authority *a, const char *name, X509 *certificate, braid_status *st)
{
    bd_strbuf text = {0};
    BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), NULL);
    char *digits = number ? BN_bn2hex(number) : NULL;
    if (!digits) bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "A serial number cannot be noted");
    if (digits && !read_issued(a, &text, st)) {
        char *path = bd_path_join(a->dir, ISSUED_FILE);
        bd_strbuf_appendf(&text, "%s %s\n", name, digits);
        bd_file_write_atomic(bd_fs_current, path, text.data, text.len, st);
        bd_free(path);
    }
    OPENSSL_free(digits);
    BN_free(number);
    bd_strbuf_fini(&text);
    return st->code;
}

// What a name has already: its key, if its certificate is not revoked, and its role when none is given. Else
// a new key.
static EVP_PKEY *key_of(const authority *a, const char *holder, const char *name, braid_role *role,
                        bool *is_new, braid_status *st)
{
    braid_certificate before = {0};
    X509 *certificate = exists(holder, "cert.pem") ? read_certificate(holder, "cert.pem", st) : NULL;
    if (certificate) bd_free(bd_certificate_describe(certificate, &before));
    const bool is_revoked = certificate && bd_crl_has(a->revoked, certificate);
    X509_free(certificate);
    if (*role == BRAID_ROLE_NONE) *role = before.role;
    if (!st->code && *role == BRAID_ROLE_NONE)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "A new certificate needs a role: task, client or viewer (%s)",
                name);
    if (st->code) return NULL;
    *is_new = is_revoked || !exists(holder, "key.pem");
    return *is_new ? bd_key_new(st) : read_key(holder, "key.pem", st);
}

static braid_code add(const authority *a, const char *holder, const char *name, braid_role role, int days,
                      braid_status *st)
{
    bool is_new = false;
    EVP_PKEY *key = key_of(a, holder, name, &role, &is_new, st);
    X509 *certificate = key ? bd_certificate_sign(name, role, days, key, a->ca, a->key, st) : NULL;
    // A running server that reads between two of these files finds a pair that fits, unless its certificate
    // was revoked.
    if (certificate && (bd_file_exists(bd_fs_current, holder) || !make_private_dir(holder, st)) &&
        !note_issued(a, name, certificate, st) && (!is_new || !write_key(holder, "key.pem", key, st)) &&
        !write_certificate(holder, "ca.pem", a->ca, st) &&
        (!a->revoked || !bd_crl_write(holder, a->revoked, st)))
        write_certificate(holder, "cert.pem", certificate, st);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return st->code;
}

braid_code braid_keys_add(const char *dir, const char *name, braid_role role, int days, braid_status *st)
{
    authority a = {0};
    if (check_name(name, st) || check_days(days, st)) return st->code;
    if (!authority_open(&a, dir, st)) {
        char *holder = bd_path_join(dir, name);
        add(&a, holder, name, role, days, st);
        bd_free(holder);
    }
    authority_close(&a);
    return st->code;
}

// ---- Revoking ----

// `line` is of the file `issued`. Adds its number to the list when it is of the name.
static braid_code revoke_line(X509_CRL *list, const char *name, const char *line, size_t len, int *count,
                              braid_status *st)
{
    const size_t name_len = strlen(name);
    if (len <= name_len + 1 || memcmp(line, name, name_len) != 0 || line[name_len] != ' ') return BRAID_OK;
    char *digits = bd_strndup(line + name_len + 1, len - name_len - 1);
    BIGNUM *number = NULL;
    ASN1_INTEGER *serial =
        BN_hex2bn(&number, digits) == (int)strlen(digits) ? BN_to_ASN1_INTEGER(number, NULL) : NULL;
    if (serial)
        bd_crl_add(list, serial, st);
    else
        bd_fail(st, BRAID_DATA_LOSS, "The file %s has a line that is none: '%s %s'", ISSUED_FILE, name,
                digits);
    ++*count;
    ASN1_INTEGER_free(serial);
    BN_free(number);
    bd_free(digits);
    return st->code;
}

static braid_code revoke_issued(const authority *a, X509_CRL *list, const char *name, int *count,
                                braid_status *st)
{
    bd_strbuf text = {0};
    read_issued(a, &text, st);
    const char *rest = bd_strbuf_str(&text), *line;
    size_t len;
    while (!st->code && bd_split_next(&rest, '\n', &line, &len))
        revoke_line(list, name, line, len, count, st);
    bd_strbuf_fini(&text);
    return st->code;
}

// The present certificate, which is not in the file `issued` when an earlier version has made it.
static braid_code revoke_present(const authority *a, X509_CRL *list, const char *name, int *count,
                                 braid_status *st)
{
    char *holder = bd_path_join(a->dir, name);
    X509 *certificate = exists(holder, "cert.pem") ? read_certificate(holder, "cert.pem", st) : NULL;
    bd_free(holder);
    if (!certificate) return st->code;
    ++*count;
    bd_crl_add(list, X509_get0_serialNumber(certificate), st);
    X509_free(certificate);
    return st->code;
}

static braid_code copy_to_holders(const char *dir, X509_CRL *list, braid_status *st)
{
    bd_name_list names = {0};
    bd_dir_list(bd_fs_current, dir, &names, st);
    for (size_t i = 0; i < names.len && !st->code; i++) {
        char *holder = bd_path_join(dir, names.items[i]);
        if (exists(holder, "cert.pem")) bd_crl_write(holder, list, st);
        bd_free(holder);
    }
    bd_name_list_fini(&names);
    return st->code;
}

static braid_code revoke(const authority *a, const char *name, braid_status *st)
{
    int count = 0;
    X509_CRL *list = bd_crl_begin(a->revoked, a->ca, st);
    if (list && !revoke_issued(a, list, name, &count, st) && !revoke_present(a, list, name, &count, st)) {
        if (count == 0)
            bd_fail(st, BRAID_NOT_FOUND, "The authority in %s has made no certificate for '%s'", a->dir,
                    name);
        else if (!bd_crl_sign(list, a->ca, a->key, st) && !bd_crl_write(a->dir, list, st))
            copy_to_holders(a->dir, list, st);
    }
    X509_CRL_free(list);
    return st->code;
}

braid_code braid_keys_revoke(const char *dir, const char *name, braid_status *st)
{
    authority a = {0};
    if (check_name(name, st)) return st->code;
    if (!authority_open(&a, dir, st)) revoke(&a, name, st);
    authority_close(&a);
    return st->code;
}

// ---- Listing ----

typedef struct listing {
    void (*fn)(void *arg, const braid_certificate *certificate);
    void *arg;
    X509_CRL *revoked; // NULL: nothing
} listing;

static braid_code list_one(const listing *l, const char *dir, const char *name, braid_status *st)
{
    X509 *certificate = read_certificate(dir, name, st);
    if (!certificate) return st->code;
    braid_certificate description;
    char *text = bd_certificate_describe(certificate, &description);
    description.is_revoked = bd_crl_has(l->revoked, certificate);
    l->fn(l->arg, &description);
    bd_free(text);
    X509_free(certificate);
    return BRAID_OK;
}

static X509_CRL *read_revoked(const char *dir, braid_status *st)
{
    X509 *ca = read_certificate(dir, "ca.pem", st);
    X509_CRL *revoked = ca ? bd_crl_read(dir, ca, st) : NULL;
    X509_free(ca);
    return revoked;
}

static braid_code list_all(const listing *l, const char *dir, braid_status *st)
{
    bd_name_list names = {0};
    if (list_one(l, dir, "ca.pem", st)) return st->code;
    if (exists(dir, "cert.pem")) return list_one(l, dir, "cert.pem", st);
    bd_dir_list(bd_fs_current, dir, &names, st);
    bd_name_list_sort(&names);
    for (size_t i = 0; i < names.len && !st->code; i++) {
        char *holder = bd_path_join(dir, names.items[i]);
        if (exists(holder, "cert.pem")) list_one(l, holder, "cert.pem", st);
        bd_free(holder);
    }
    bd_name_list_fini(&names);
    return st->code;
}

braid_code braid_keys_list(const char *dir, void (*fn)(void *arg, const braid_certificate *certificate),
                           void *arg, braid_status *st)
{
    const listing l = {fn, arg, read_revoked(dir, st)};
    if (!st->code) list_all(&l, dir, st);
    X509_CRL_free(l.revoked);
    return st->code;
}
