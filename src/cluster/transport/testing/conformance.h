// One suite of tests for every transport: the contract of transport.h.
#ifndef BD_CLUSTER_TRANSPORT_CONFORMANCE_H
#define BD_CLUSTER_TRANSPORT_CONFORMANCE_H

#include "cluster/transport/transport.h"

typedef struct bd_conformance {
    const char *name;
    bd_transport *(*make)(braid_status *st); // one for each test
    // Waits until a channel whose server has answered is in the state to be tested; false: it is not by then.
    // NULL: it is at once.
    bool (*await_ready)(bd_channel *c, int64_t deadline_ns);
} bd_conformance;

// Runs the suite; returns the number of failed tests.
int bd_transport_conformance(const bd_conformance *tested);

#endif
