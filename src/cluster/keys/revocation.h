// Certificates that an authority has revoked: X.509 revocation lists, crl.pem in the directory of an
// authority and in those of its certificates.
//
// A list has the serial numbers of all that were ever revoked, and is signed by the authority. The times in
// it are not looked at: a list that nobody renews stays in force.
#ifndef BD_CLUSTER_REVOCATION_H
#define BD_CLUSTER_REVOCATION_H

#include "base/status.h"
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdbool.h>

#define BD_CRL_FILE "crl.pem"
#define BD_CRL_BYTES_MAX (16 << 20)

// NULL and an error that names `path` when the data is no list, or not one that `ca` has signed.
X509_CRL *bd_crl_parse(const char *path, const char *data, size_t len, X509 *ca, braid_status *st);
// The list in a directory. NULL without an error when it has none.
X509_CRL *bd_crl_read(const char *dir, X509 *ca, braid_status *st);
// Whether it revokes a certificate. `list` may be NULL: of none.
bool bd_crl_has(X509_CRL *list, X509 *certificate);

// A list that revokes what `before` does (NULL: nothing), to be added to and signed. NULL and an error.
X509_CRL *bd_crl_begin(X509_CRL *before, X509 *ca, braid_status *st);
// A number that is there is not added again.
braid_code bd_crl_add(X509_CRL *list, const ASN1_INTEGER *serial, braid_status *st);
braid_code bd_crl_sign(X509_CRL *list, X509 *ca, EVP_PKEY *ca_key, braid_status *st);
// Replaces the file atomically.
braid_code bd_crl_write(const char *dir, X509_CRL *list, braid_status *st);

#endif
