// The cluster that a client or a master names for a session (ClusterSpec propagation): a server has just one.
#ifndef BD_CLUSTER_SPEC_CLUSTER_DEF_H
#define BD_CLUSTER_SPEC_CLUSTER_DEF_H

#include "cluster/spec/cluster_spec.h"
#include "tensorflow/core/protobuf/cluster.pb-c.h"

// Whether the message names a cluster at all. It may be NULL.
bool bd_cluster_def_is_given(const Tensorflow__ClusterDef *def);

// Checks that `def`, the field `field` of a request, names the cluster of the server `task`, each task by the
// same address. InvalidArgument names the first difference.
braid_code bd_cluster_def_check(const Tensorflow__ClusterDef *def, const braid_cluster *cluster,
                                const char *task, const char *field, braid_status *st);

#endif
