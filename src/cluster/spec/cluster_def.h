// The cluster that a client or a master names for a session (ClusterSpec propagation), as a message.
#ifndef BD_CLUSTER_SPEC_CLUSTER_DEF_H
#define BD_CLUSTER_SPEC_CLUSTER_DEF_H

#include "cluster/spec/cluster_spec.h"
#include "tensorflow/core/protobuf/cluster.pb-c.h"

// The most tasks that the cluster of a session may have: each gets a channel.
#define BD_SESSION_TASKS_MAX 4096

// Whether the message names a cluster at all. It may be NULL.
bool bd_cluster_def_is_given(const Tensorflow__ClusterDef *def);

// Reads `def`, the field `field` of a request; braid_cluster_free frees it. NULL with InvalidArgument for the
// errors of bd_cluster_add, no task, or more than BD_SESSION_TASKS_MAX tasks.
braid_cluster *bd_cluster_def_read(const Tensorflow__ClusterDef *def, const char *field, braid_status *st);

// A message of the cluster, which has to outlive it; bd_cluster_def_free frees it.
Tensorflow__ClusterDef *bd_cluster_def_new(const braid_cluster *cluster);
void bd_cluster_def_free(Tensorflow__ClusterDef *def); // NULL is accepted

#endif
