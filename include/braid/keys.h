// Certificates of a cluster: the authority that signs them, and the directories that tasks and clients use
// (--tls-dir, BRAID_TLS_DIR).
//
// The directory of an authority holds its certificate ca.pem, its key ca.key, which signs and stays on one
// host, and for each name a directory with ca.pem, cert.pem and key.pem, which is copied to where it is used.
// crl.pem, where it is, names the certificates that the authority has revoked, `issued` those that it has
// signed. Keys are of the curve P-256. What was written survives a power cut; an error leaves what was there.
#ifndef BRAID_KEYS_H
#define BRAID_KEYS_H

#include <braid/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What the holder of a certificate may call: a client MasterService; a task WorkerService and what tasks
/// call of each other; a viewer health, the list of methods and what a task is doing (braid/monitoring.h). A
/// task may also do what a client may, and a client what a viewer may. Servers are tasks.
typedef enum braid_role {
    BRAID_ROLE_NONE = 0,
    BRAID_ROLE_VIEWER = 1,
    BRAID_ROLE_CLIENT = 2,
    BRAID_ROLE_TASK = 3
} braid_role;

/// Returns "task", "client", "viewer" or "none". Static.
BRAID_API const char *braid_role_name(braid_role role);
/// The role of a name; NONE for another text.
BRAID_API braid_role braid_role_from_name(const char *name);

typedef struct braid_certificate {
    const char *name;              ///< borrowed for the call
    braid_role role;               ///< NONE: of the authority
    int64_t not_before, not_after; ///< seconds since 1970, UTC
    bool is_revoked;               ///< by the crl.pem of the directory that is listed
} braid_certificate;

/// Makes an authority in `dir`, which is made too, with its parents. Valid for ten years. AlreadyExists when
/// the directory holds something.
BRAID_API braid_code braid_keys_new(const char *dir, braid_status *status);

/// Makes dir/name with a certificate that the authority in `dir` signs, valid for `days` from now on. A
/// certificate that is there is renewed: it keeps its key, unless it is revoked, and, with NONE, its role.
/// InvalidArgument for a name that is no plain name of a file, days that are not from 1 to 3650, or NONE for
/// a new certificate; NotFound without an authority.
BRAID_API braid_code braid_keys_add(const char *dir, const char *name, braid_role role, int days,
                                    braid_status *status);

/// Revokes all certificates that the authority in `dir` has signed for a name, the present one and those that
/// it has replaced: dir/crl.pem names them, besides what it named before, and is copied to the directory of
/// each name. Servers and clients refuse them where that file is in their directory, which they read again
/// within ten seconds. A certificate that is added later is not revoked. NotFound for a name without
/// certificate, or without an authority.
BRAID_API braid_code braid_keys_revoke(const char *dir, const char *name, braid_status *status);

/// Calls fn for the authority's certificate and each that stands in `dir`, ordered by name; or, when `dir` is
/// that of a name, for its authority and its own. Stops at the first file that cannot be read.
BRAID_API braid_code braid_keys_list(const char *dir,
                                     void (*fn)(void *arg, const braid_certificate *certificate), void *arg,
                                     braid_status *status);

#ifdef __cplusplus
}
#endif
#endif
