// The shared-memory transport: calls between processes of one host and user go through memory that both
// share. It works over another transport, which carries the first calls, and all calls to where there is no
// shared memory.
//
// When a call over the base transport has been answered, the channel asks the server for a link
// (ClusterService.OpenSharedMemory), by a call over the base, so that both know each other: by user, or by
// certificate. The answer has the name of a local socket and two secrets. Over the socket each end shows one
// of them, and the processes exchange the memory; each end asks the kernel for the user and the process of
// the other one. Only tasks get a link: with it they may call everything.
//
// The client holds a call over the base (HoldSharedMemory) as long as the link lasts. When the base ends that
// call, for instance because a certificate was revoked, the link ends, too. What calls over the link have in
// progress counts for a caller with a certificate together with its calls over the base; callers without a
// certificate count together over all links.
//
// From then on calls of the channel go over the link. Two kinds stay on the base: calls that watch the server
// (bd_call_options), which find out that it does not answer any more, and calls that wait for a server. The
// socket tells the end of the other process: calls in progress end with Unavailable, and the channel uses the
// base again.
//
// A process polls its links for a moment after it had something to do, and then sleeps until its bell rings.
#ifndef BD_CLUSTER_SHM_H
#define BD_CLUSTER_SHM_H

#include "cluster/transport/transport.h"

// Takes over `base`, a transport that counts its callers, and returns it when shared memory is turned off.
// The limits are those of the calls that listeners receive over links; NULL: the defaults.
bd_transport *bd_shm_transport_new(bd_transport *base, const bd_transport_limits *limits);

// How many links a transport has now; 0 for one of another kind.
int bd_shm_transport_links(bd_transport *t);

#endif
