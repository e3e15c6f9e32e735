// The directory of an authority: making it, adding certificates, listing them.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "cluster/keys/certificate.h"
#include "io/file.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define AUTHORITY_DAYS 3650
#define DAYS_MAX 3650
#define NAME_LEN_MAX 64

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

static braid_code check_name(const char *name, int days, braid_status *st)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const size_t len = strlen(name);
    if (len == 0 || len > NAME_LEN_MAX || strspn(name, allowed) != len || name[0] == '.' || name[0] == '-')
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "'%s' cannot be the name of a certificate: letters, digits, '_', '-' and '.', at most %d", name,
            NAME_LEN_MAX);
    if (days < 1 || days > DAYS_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "A certificate cannot be valid for %d days: 1 to %d are allowed", days, DAYS_MAX);
    return BRAID_OK;
}

// What a name has already: its key, and its role when none is given. A new key for a new name.
static EVP_PKEY *key_of(const char *holder, const char *name, braid_role *role, braid_status *st)
{
    braid_certificate before = {0};
    X509 *certificate = exists(holder, "cert.pem") ? read_certificate(holder, "cert.pem", st) : NULL;
    if (certificate) bd_free(bd_certificate_describe(certificate, &before));
    X509_free(certificate);
    if (*role == BRAID_ROLE_NONE) *role = before.role;
    if (!st->code && *role == BRAID_ROLE_NONE)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "A new certificate needs a role: task, client or viewer (%s)",
                name);
    if (st->code) return NULL;
    return exists(holder, "key.pem") ? read_key(holder, "key.pem", st) : bd_key_new(st);
}

static braid_code add(const char *holder, const char *name, braid_role role, int days, X509 *ca,
                      EVP_PKEY *ca_key, braid_status *st)
{
    EVP_PKEY *key = key_of(holder, name, &role, st);
    X509 *certificate = key ? bd_certificate_sign(name, role, days, key, ca, ca_key, st) : NULL;
    // A running server that reads between two of these files finds a pair that fits.
    if (certificate && (bd_file_exists(bd_fs_current, holder) || !make_private_dir(holder, st)) &&
        (exists(holder, "key.pem") || !write_key(holder, "key.pem", key, st)) &&
        !write_certificate(holder, "ca.pem", ca, st))
        write_certificate(holder, "cert.pem", certificate, st);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return st->code;
}

braid_code braid_keys_add(const char *dir, const char *name, braid_role role, int days, braid_status *st)
{
    if (check_name(name, days, st)) return st->code;
    X509 *ca = read_certificate(dir, "ca.pem", st);
    EVP_PKEY *ca_key = ca ? read_key(dir, "ca.key", st) : NULL;
    if (ca_key) {
        char *holder = bd_path_join(dir, name);
        add(holder, name, role, days, ca, ca_key, st);
        bd_free(holder);
    } else if (st->code == BRAID_NOT_FOUND) {
        bd_status_suffix(st, ": %s is not the directory of an authority (braid keys new %s makes one)", dir,
                         dir);
    }
    EVP_PKEY_free(ca_key);
    X509_free(ca);
    return st->code;
}

// ---- Listing ----

typedef struct listing {
    void (*fn)(void *arg, const braid_certificate *certificate);
    void *arg;
} listing;

static braid_code list_one(const listing *l, const char *dir, const char *name, braid_status *st)
{
    X509 *certificate = read_certificate(dir, name, st);
    if (!certificate) return st->code;
    braid_certificate description;
    char *text = bd_certificate_describe(certificate, &description);
    l->fn(l->arg, &description);
    bd_free(text);
    X509_free(certificate);
    return BRAID_OK;
}

braid_code braid_keys_list(const char *dir, void (*fn)(void *arg, const braid_certificate *certificate),
                           void *arg, braid_status *st)
{
    const listing l = {fn, arg};
    bd_name_list names = {0};
    if (list_one(&l, dir, "ca.pem", st)) return st->code;
    if (exists(dir, "cert.pem")) return list_one(&l, dir, "cert.pem", st);
    bd_dir_list(bd_fs_current, dir, &names, st);
    bd_name_list_sort(&names);
    for (size_t i = 0; i < names.len && !st->code; i++) {
        char *holder = bd_path_join(dir, names.items[i]);
        if (exists(holder, "cert.pem")) list_one(&l, holder, "cert.pem", st);
        bd_free(holder);
    }
    bd_name_list_fini(&names);
    return st->code;
}
