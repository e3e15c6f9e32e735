// X.509 certificates of a cluster, by OpenSSL: reading, checking and signing them.
//
// A certificate says its role by a DNS name in subjectAltName: "task.braid". A client of gRPC expects that name
// of every server, so that only the holder of a task's certificate can serve.
#ifndef BD_CLUSTER_CERTIFICATE_H
#define BD_CLUSTER_CERTIFICATE_H

#include "base/status.h"
#include <braid/keys.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#define BD_TASK_DNS_NAME "task.braid"

// The role that a DNS name says; NONE: no role's.
braid_role bd_role_from_dns_name(const char *name, size_t len);

// NULL and an error that names the file.
X509 *bd_certificate_read(const char *path, braid_status *st);
EVP_PKEY *bd_key_read(const char *path, braid_status *st);
// The name in its subject (bd_free), its role, and from when to when it is valid.
char *bd_certificate_describe(X509 *certificate, braid_certificate *out);

// With an issuer NULL the certificate of an authority, which signs itself with `key`; else one of `role` for
// the holder of `key`. NULL and an error.
X509 *bd_certificate_sign(const char *name, braid_role role, int days, EVP_PKEY *key, X509 *issuer,
                          EVP_PKEY *issuer_key, braid_status *st);
EVP_PKEY *bd_key_new(braid_status *st);

// Replaces the file atomically.
braid_code bd_certificate_write(const char *path, X509 *certificate, braid_status *st);
// With mode 0600. For a directory that only its user can enter.
braid_code bd_key_write(const char *path, EVP_PKEY *key, braid_status *st);

// Whether `dir` can be used for TLS: it holds ca.pem, cert.pem and key.pem, which only its user can read, the
// key is the certificate's, which the authority signed and which is valid now; a crl.pem is the authority's,
// and does not revoke it. Stores the role.
braid_code bd_tls_dir_check(const char *dir, braid_role *role, braid_status *st);

#endif
