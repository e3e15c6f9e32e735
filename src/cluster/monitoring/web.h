// The description of a task over HTTP: a page for people at /, its data at /status.json, and metrics for
// Prometheus at /metrics.
//
// With a certificate it is HTTPS, and callers show a certificate of the role viewer or more. Without one,
// only processes of the given users of this host are answered. Files of the certificate that have changed are
// read again at the next connection.
#ifndef BD_CLUSTER_MONITORING_WEB_H
#define BD_CLUSTER_MONITORING_WEB_H

#include "cluster/transport/users.h"
#include <braid/monitoring.h>

typedef struct bd_web bd_web;

typedef struct bd_web_options {
    const char *address;   // "host:port"; port 0: a free one
    const char *tls_dir;   // NULL: no TLS
    bool insecure;         // without TLS: any address, and everyone is answered
    const bd_users *users; // without TLS; they outlive it
    // Describes the task; any thread. The result is freed here.
    braid_task_description *(*describe)(void *arg);
    void *arg;
} bd_web_options;

// Listens, and answers from now on. Errors are those of the address and of the certificate; PermissionDenied
// for an address that is not loopback, without a certificate and without `insecure`.
braid_code bd_web_new(const bd_web_options *options, bd_web **out, braid_status *st);
// "https://host:port/", with the port that it has. Owned by it.
const char *bd_web_url(const bd_web *w);
// Waits for an answer that is being made, and closes all connections. NULL is accepted.
void bd_web_free(bd_web *w);

#endif
