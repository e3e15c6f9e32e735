// The cluster that a client or a master names for a session (ClusterSpec propagation): a server has just one.
#ifndef BD_CLUSTER_SPEC_CLUSTER_DEF_H
#define BD_CLUSTER_SPEC_CLUSTER_DEF_H

#include "cluster/rpc/peers.h"
#include "tensorflow/core/protobuf/cluster.pb-c.h"

// Whether the message names a cluster at all. It may be NULL.
bool bd_cluster_def_is_given(const Tensorflow__ClusterDef *def);

// Whether it names the server's own cluster, each task by the same address. InvalidArgument, saying where `field` (of which message) and
// the cluster of the server differ, when not.
braid_code bd_cluster_def_check(const Tensorflow__ClusterDef *def, const bd_peers *peers, const char *field,
                                braid_status *st);

#endif
