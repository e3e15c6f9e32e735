// A plugin of the MPI engine for tests: its world is this process, whatever rank a message names.
#ifndef BD_CLUSTER_RPC_TESTING_FAKE_MPI_H
#define BD_CLUSTER_RPC_TESTING_FAKE_MPI_H

#include "base/thread.h"
#include "cluster/rpc/mpi_plugin.h"

#define FAKE_MPI_RANK 1
#define FAKE_MPI_RANKS 2

// Set while no engine runs, but for the events.
typedef struct fake_mpi {
    const char *error; // of init; NULL: none
    bool refuses;      // messages
    bd_event may_start, is_finalized;
    int dropped;
} fake_mpi;

extern fake_mpi fake_mpi_world;
extern const bd_mpi_plugin fake_mpi_plugin;

// The world as before its start, without messages.
void fake_mpi_set_up(void);
void fake_mpi_tear_down(void);

#endif
