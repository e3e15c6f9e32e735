// Programs of one client: worker 0 builds a graph for all tasks and runs its steps. The other workers have no
// training loop; their servers compute what the graph has placed on them.
#ifndef CLIENT_H
#define CLIENT_H

#include <braid/braid.h>

// Trains, in worker 0, on its server.
typedef braid_code (*client_train_fn)(const braid_cluster *cluster, braid_server *server);

// The program called `name`, in each task that `braid run` starts: starts the task's server with `options`
// (NULL: the defaults), and calls `train` in worker 0. The other tasks serve until it is done. Returns the
// exit code.
int client_main(const char *name, const braid_server_options *options, client_train_fn train);

#endif
