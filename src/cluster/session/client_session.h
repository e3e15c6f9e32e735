// Sessions on a cluster: the implementations behind braid_session_open.
#ifndef BD_CLUSTER_SESSION_CLIENT_SESSION_H
#define BD_CLUSTER_SESSION_CLIENT_SESSION_H

#include "cluster/master/master.h"
#include "cluster/membership/notifications.h"
#include "cluster/transport/transport.h"
#include "runtime/session.h"

// The parts of a server of this process that its sessions call directly. The server outlives the session.
typedef struct bd_server_session_env {
    bd_master *master;
    bd_notifications *notifications;
    bd_cancellation *cancellation; // of the server
    bd_session_clusters *clusters;
} bd_server_session_env;

// A session on the master of a server in this process, called directly (server_session.c). Waits for the
// tasks.
braid_code bd_server_session_new(const bd_server_session_env *env, const braid_session_options *options,
                                 bd_session **out, braid_status *st);

// A session on the master of another process, over TensorFlow's MasterService (remote_session.c). Waits for
// the server and the tasks. `transport` NULL: the session makes a gRPC transport; else the transport outlives
// the session.
braid_code bd_remote_session_new(const braid_session_options *options, bd_transport *transport,
                                 bd_session **out, braid_status *st);

// braid_session_reset, by the master of a server in this process and by that of another process.
braid_code bd_server_session_reset(const bd_server_session_env *env, const braid_session_options *options,
                                   const char *const *containers, int count, braid_status *st);
braid_code bd_remote_session_reset(const braid_session_options *options, const char *const *containers,
                                   int count, braid_status *st);

// A list of devices with names as one block (bd_free).
bd_device_info *bd_device_infos_copy(const bd_device_info *devices, int count);

#endif
