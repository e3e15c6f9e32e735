// The cluster of a session, compared with that of the server.
#include "cluster/spec/cluster_def.h"
#include <string.h>

bool bd_cluster_def_is_given(const Tensorflow__ClusterDef *def)
{
    return def && def->n_job > 0;
}

static const char *address_in(const Tensorflow__ClusterDef *def, const bd_peer *peer)
{
    for (size_t j = 0; j < def->n_job; j++)
        for (size_t t = 0; t < def->job[j]->n_tasks && !strcmp(def->job[j]->name, peer->job); t++)
            if (def->job[j]->tasks[t]->key == peer->index) return def->job[j]->tasks[t]->value;
    return NULL;
}

static bool has_task(const bd_peers *peers, const char *job, int index)
{
    for (int i = 0; i < peers->count; i++)
        if (peers->items[i].index == index && !strcmp(peers->items[i].job, job)) return true;
    return false;
}

#define REMEDY "Start the servers with the cluster that sessions are to have"

braid_code bd_cluster_def_check(const Tensorflow__ClusterDef *def, const bd_peers *peers, const char *field,
                                braid_status *st)
{
    for (int i = 0; i < peers->count; i++) {
        const bd_peer *p = &peers->items[i];
        const char *address = address_in(def, p);
        if (!address || strcmp(address, p->address) != 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "%s has %s for /job:%s/task:%d, the cluster of server %s has %s. " REMEDY, field,
                           address ? address : "nothing", p->job, p->index, peers->self->task, p->address);
    }
    for (size_t j = 0; j < def->n_job; j++)
        for (size_t t = 0; t < def->job[j]->n_tasks; t++)
            if (!has_task(peers, def->job[j]->name, def->job[j]->tasks[t]->key))
                return bd_fail(st, BRAID_INVALID_ARGUMENT,
                               "%s has /job:%s/task:%d, which the cluster of server %s has not. " REMEDY,
                               field, def->job[j]->name, def->job[j]->tasks[t]->key, peers->self->task);
    return BRAID_OK;
}
