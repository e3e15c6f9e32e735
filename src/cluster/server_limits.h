// What those who call a server may use of it.
#ifndef BD_CLUSTER_SERVER_LIMITS_H
#define BD_CLUSTER_SERVER_LIMITS_H

#include "cluster/transport/transport.h"

// What the sessions of one client may use, which has not the role task.
typedef struct bd_client_limits {
    int64_t memory_bytes; // of its tensors and graphs; 0: no limit
    double processors;    // that it keeps busy in the long run; 0: no limit
} bd_client_limits;

typedef struct bd_server_limits {
    bd_transport_limits transport;
    int sessions;         // that one caller has open
    int64_t memory_bytes; // of the tensors of all steps and variables, and of graphs
    bd_client_limits client;
    int64_t step_ms; // the longest step; 0: no limit
} bd_server_limits;

// `list`: braid_server_options.limits. InvalidArgument names the part that is wrong, and the limits there
// are.
braid_code bd_server_limits_parse(const char *list, bd_server_limits *out, braid_status *st);

#endif
