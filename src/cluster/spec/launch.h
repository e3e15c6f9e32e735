// Clusters of processes that a launcher of parallel programs starts, all alike: each process knows its rank,
// the number of all, and where they run. The first BRAID_PS ranks (default 1) are parameter servers, the
// others workers. A task listens on port BRAID_PORT (default 2222) plus its number on its host. Tasks that
// are all on one host listen on 127.0.0.1.
#ifndef BD_CLUSTER_SPEC_LAUNCH_H
#define BD_CLUSTER_SPEC_LAUNCH_H

#include "base/host_list.h"
#include "cluster/spec/cluster_spec.h"

typedef struct bd_launch {
    char *source;       // owned; for messages: "Slurm step 12.0"
    bd_host_list hosts; // owned; more tasks than `task_count` are room that is not used
    int task_count, rank;
    bool is_mpi_world; // the processes are the ranks of a world of MPI
    bool is_cyclic;    // ranks are dealt to the hosts in turn; otherwise a host is filled before the next one
    int host;          // the index of this process's host, as the launcher says it; -1: it does not
    int rank_on_host;  // of this process, as the launcher says it; -1: it does not
} bd_launch;

void bd_launch_fini(bd_launch *l);

// Makes the cluster of a launch, and logs what was found. NULL with InvalidArgument if BRAID_PS or BRAID_PORT
// is unusable, or if the launcher has put this process elsewhere than its hosts and ranks tell.
braid_cluster *bd_launch_cluster(const bd_launch *l, braid_status *st);

// What launchers say in the environment. *found is whether one has started this process; if it has started
// no other (task_count 1), the rest is not read. InvalidArgument names the variable that is malformed or
// missing. The caller calls bd_launch_fini in any case.
typedef braid_code bd_launch_reader(bd_launch *l, bool *found, braid_status *st);
bd_launch_reader bd_launch_from_slurm;    // a step of Slurm: srun
bd_launch_reader bd_launch_from_open_mpi; // mpirun of Open MPI
bd_launch_reader bd_launch_from_pmix;     // another launcher that speaks PMIx, with BRAID_HOSTS

// Reads a whole number from the variable; when it is unset, `missing`, or InvalidArgument if that is below 0.
braid_code bd_launch_number(const char *variable, int missing, int min, int max, int *out, braid_status *st);

#endif
