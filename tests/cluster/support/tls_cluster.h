// A parameter server and a worker that speak TLS, and callers with certificates of each role.
#ifndef BD_TESTS_TLS_CLUSTER_H
#define BD_TESTS_TLS_CLUSTER_H

#include "cluster/rpc/rpc.h"
#include "test_cluster.h"
#include <braid/keys.h>

typedef struct tls_caller {
    bd_transport *transport;
    bd_channel *channel; // to the worker
} tls_caller;

typedef struct tls_cluster {
    char keys[32]; // the directory of the authority
    test_cluster *cluster;
    tls_caller task, alice, bob, viewer; // alice and bob are clients
} tls_cluster;

// For cmocka: *state is a tls_cluster.
int tls_cluster_set_up(void **state);
int tls_cluster_tear_down(void **state);

// Calls a method. DeadlineExceeded after `patience_ms`. The response is the caller's.
braid_code tls_call(const tls_caller *c, const char *method, const ProtobufCMessage *request,
                    int64_t patience_ms, bd_message *response, braid_status *st);
// The same, without the response.
braid_code tls_call_only(const tls_caller *c, const char *method, const ProtobufCMessage *request,
                         int64_t patience_ms, braid_status *st);

#endif
