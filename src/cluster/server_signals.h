// SIGTERM and SIGINT stop servers.
#ifndef BD_CLUSTER_SERVER_SIGNALS_H
#define BD_CLUSTER_SERVER_SIGNALS_H

#include <braid/server.h>

// Takes back braid_server_stop_on_signals; no effect without it.
void bd_server_signals_off(braid_server *server);

#endif
