// The cluster of a session, as a message.
#include "cluster/spec/cluster_def.h"
#include "base/alloc.h"

bool bd_cluster_def_is_given(const Tensorflow__ClusterDef *def)
{
    return def && def->n_job > 0;
}

// ---- Reading ----

static braid_code add_task(braid_cluster *c, const Tensorflow__JobDef *job,
                           const Tensorflow__JobDef__TasksEntry *task, const char *field, braid_status *st)
{
    if (bd_cluster_task_count(c) >= BD_SESSION_TASKS_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s has more than %d tasks", field, BD_SESSION_TASKS_MAX);
    if (bd_cluster_add(c, job->name, task->key, task->value, st)) bd_status_prefix(st, "%s: ", field);
    return st->code;
}

braid_cluster *bd_cluster_def_read(const Tensorflow__ClusterDef *def, const char *field, braid_status *st)
{
    braid_cluster *c = bd_cluster_new();
    braid_code code = BRAID_OK;
    for (size_t j = 0; !code && j < def->n_job; j++)
        for (size_t t = 0; !code && t < def->job[j]->n_tasks; t++)
            code = add_task(c, def->job[j], def->job[j]->tasks[t], field, st);
    if (!code && bd_cluster_task_count(c) == 0)
        code = bd_fail(st, BRAID_INVALID_ARGUMENT, "%s has no task", field);
    if (!code) return c;
    braid_cluster_free(c);
    return NULL;
}

// ---- Writing ----

static Tensorflow__JobDef *job_new(const bd_cluster_job *job)
{
    Tensorflow__JobDef *to = bd_malloc(sizeof *to);
    *to = (Tensorflow__JobDef)TENSORFLOW__JOB_DEF__INIT;
    to->name = job->name;
    to->n_tasks = job->tasks.len;
    to->tasks = bd_calloc(job->tasks.len, sizeof *to->tasks);
    for (size_t i = 0; i < job->tasks.len; i++) {
        Tensorflow__JobDef__TasksEntry *task = bd_malloc(sizeof *task);
        *task = (Tensorflow__JobDef__TasksEntry)TENSORFLOW__JOB_DEF__TASKS_ENTRY__INIT;
        task->key = job->tasks.items[i].index;
        task->value = job->tasks.items[i].address;
        to->tasks[i] = task;
    }
    return to;
}

static void job_free(Tensorflow__JobDef *job)
{
    for (size_t i = 0; i < job->n_tasks; i++)
        bd_free(job->tasks[i]);
    bd_free(job->tasks);
    bd_free(job);
}

Tensorflow__ClusterDef *bd_cluster_def_new(const braid_cluster *cluster)
{
    Tensorflow__ClusterDef *def = bd_malloc(sizeof *def);
    *def = (Tensorflow__ClusterDef)TENSORFLOW__CLUSTER_DEF__INIT;
    def->n_job = cluster->jobs.len;
    def->job = bd_calloc(cluster->jobs.len, sizeof *def->job);
    for (size_t j = 0; j < cluster->jobs.len; j++)
        def->job[j] = job_new(&cluster->jobs.items[j]);
    return def;
}

void bd_cluster_def_free(Tensorflow__ClusterDef *def)
{
    if (!def) return;
    for (size_t j = 0; j < def->n_job; j++)
        job_free(def->job[j]);
    bd_free(def->job);
    bd_free(def);
}
