// The cluster of a session, compared with that of the server.
#include "cluster/spec/cluster_def.h"
#include <string.h>

bool bd_cluster_def_is_given(const Tensorflow__ClusterDef *def)
{
    return def && def->n_job > 0;
}

static const char *address_in(const Tensorflow__ClusterDef *def, const char *job, int index)
{
    for (size_t j = 0; j < def->n_job; j++)
        for (size_t t = 0; t < def->job[j]->n_tasks && !strcmp(def->job[j]->name, job); t++)
            if (def->job[j]->tasks[t]->key == index) return def->job[j]->tasks[t]->value;
    return NULL;
}

#define REMEDY "Start the servers with the cluster that sessions are to have"

static braid_code check_task(const Tensorflow__ClusterDef *def, const char *job, const bd_cluster_task *has,
                             const char *task, const char *field, braid_status *st)
{
    const char *address = address_in(def, job, has->index);
    if (address && strcmp(address, has->address) == 0) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "%s has %s for /job:%s/task:%d, the cluster of server %s has %s. " REMEDY, field,
                   address ? address : "nothing", job, has->index, task, has->address);
}

braid_code bd_cluster_def_check(const Tensorflow__ClusterDef *def, const braid_cluster *cluster,
                                const char *task, const char *field, braid_status *st)
{
    for (size_t j = 0; j < cluster->jobs.len; j++) {
        const bd_cluster_job *job = &cluster->jobs.items[j];
        for (size_t i = 0; i < job->tasks.len; i++)
            if (check_task(def, job->name, &job->tasks.items[i], task, field, st)) return st->code;
    }
    for (size_t j = 0; j < def->n_job; j++)
        for (size_t t = 0; t < def->job[j]->n_tasks; t++)
            if (!braid_cluster_address(cluster, def->job[j]->name, def->job[j]->tasks[t]->key))
                return bd_fail(st, BRAID_INVALID_ARGUMENT,
                               "%s has /job:%s/task:%d, which the cluster of server %s has not. " REMEDY,
                               field, def->job[j]->name, def->job[j]->tasks[t]->key, task);
    return BRAID_OK;
}
