// One suite of tests for every transport: the contract of transport.h.
#ifndef BD_CLUSTER_TRANSPORT_CONFORMANCE_H
#define BD_CLUSTER_TRANSPORT_CONFORMANCE_H

#include "cluster/transport/transport.h"

// Runs the suite on transports that `make` makes, one a test; returns the number of failed tests.
int bd_transport_conformance(const char *name, bd_transport *(*make)(braid_status *st));

#endif
