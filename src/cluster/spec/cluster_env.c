// The cluster of this process by its environment: TF_CONFIG, or what a launcher of parallel programs has set.
#include "cluster/spec/launch.h"
#include <stdlib.h>

// The first that has started this process. mpirun is before Slurm: in a job of Slurm it starts one process a
// host by srun, and its tasks inherit the variables of these.
static bd_launch_reader *const launchers[] = {bd_launch_from_open_mpi, bd_launch_from_slurm,
                                              bd_launch_from_pmix};

// A process that is the only one of its launcher is no cluster: `srun --pty bash` gives a shell.
static braid_cluster *from_launchers(braid_status *st)
{
    bd_launch l = {0};
    bool found = false;
    braid_code code = BRAID_OK;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers && !found; i++)
        code = launchers[i](&l, &found, st);
    braid_cluster *c = NULL;
    if (!code) c = found && l.task_count > 1 ? bd_launch_cluster(&l, st) : bd_cluster_new();
    bd_launch_fini(&l);
    return c;
}

braid_cluster *braid_cluster_from_env(braid_status *status)
{
    BD_STATUS(unwanted);
    const char *tf_config = getenv("TF_CONFIG");
    if (tf_config && tf_config[0]) return braid_cluster_from_tf_config(tf_config, status);
    return from_launchers(status ? status : unwanted);
}
