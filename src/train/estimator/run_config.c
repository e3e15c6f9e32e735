// Run configurations: the task of this process by TF_CONFIG, and the defaults of what a program does not say.
#include "base/alloc.h"
#include "base/array.h"
#include "base/log.h"
#include "base/run_dir_variable.h"
#include "base/status.h"
#include "base/strbuf.h"
#include <braid/monitored_session.h>
#include <braid/run_config.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHECKPOINT_SECONDS_DEFAULT 600
#define NEVER_SECONDS 1e9 // that is decades
#define SUMMARY_STEPS_DEFAULT 100
#define KEEP_HOURS_DEFAULT 10000
#define FILTERS_MAX 3

typedef struct owned_config {
    braid_run_config config; // first: it is what the program has
    braid_cluster *cluster;
    char *model_dir, *target, *evaluation_master, *task_filter;
    const char *filters[FILTERS_MAX];
} owned_config;

static bool is_job(const char *job, const char *name)
{
    return job && strcmp(job, name) == 0;
}

static braid_cluster *read_cluster(const braid_run_config_options *o, braid_status *st)
{
    return o->tf_config && o->tf_config[0] ? braid_cluster_from_tf_config(o->tf_config, st)
                                           : braid_cluster_from_env(st);
}

// ---- The task ----

static braid_code take_task_without_cluster(braid_run_config *c, braid_status *st)
{
    const char *job = braid_cluster_this_job(c->cluster);
    c->task_id = job ? braid_cluster_this_task(c->cluster) : 0;
    c->task_type = job ? job : "worker";
    if (is_job(job, "evaluator")) {
        c->global_id_in_cluster = -1;
        return BRAID_OK;
    }
    if (job && (!is_job(job, "worker") || c->task_id))
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "TF_CONFIG: the task is /job:%s/task:%d, and there is no cluster. Add \"cluster\" with "
            "the addresses of all tasks, or make it worker 0 to train alone",
            job, c->task_id);
    c->is_chief = true;
    c->num_worker_replicas = 1;
    return BRAID_OK;
}

static int trainers_before(const braid_cluster *c, const char *job)
{
    static const char *const order[] = {"chief", "master", "worker", "ps"};
    int count = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order && strcmp(order[i], job) != 0; i++)
        count += braid_cluster_num_tasks(c, order[i]);
    return count;
}

static braid_code check_job(const char *job, braid_status *st)
{
    static const char *const jobs[] = {"chief", "master", "worker", "ps"};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        if (strcmp(jobs[i], job) == 0) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "TF_CONFIG: task: type is '%s'. A task of an estimator is a chief, master, worker, ps or "
                   "evaluator",
                   job);
}

static int position_of(const braid_cluster *c, const char *job, int index)
{
    for (int i = 0; i < braid_cluster_num_tasks(c, job); i++)
        if (braid_cluster_task_index(c, job, i) == index) return i;
    return 0;
}

static braid_code take_task_of_cluster(braid_run_config *c, braid_status *st)
{
    const char *job = braid_cluster_this_job(c->cluster);
    if (!job)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "TF_CONFIG: there is a cluster, and \"task\" with type and index is missing. It says "
                       "which task of the cluster this process is");
    if (check_job(job, st)) return st->code;
    c->task_type = job;
    c->task_id = braid_cluster_this_task(c->cluster);
    c->is_chief = braid_is_chief(c->cluster, job, c->task_id);
    c->is_distributed = true;
    c->num_ps_replicas = braid_cluster_num_tasks(c->cluster, "ps");
    c->num_worker_replicas = trainers_before(c->cluster, "ps");
    if (!c->num_worker_replicas)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "TF_CONFIG: the cluster has no chief, master or worker, and so no task that trains");
    c->global_id_in_cluster = trainers_before(c->cluster, job) + position_of(c->cluster, job, c->task_id);
    return BRAID_OK;
}

// A cluster of one task, which needs no server, is no cluster: as in TensorFlow.
static bool is_alone(const braid_cluster *c)
{
    return braid_cluster_num_jobs(c) == 1 && braid_cluster_num_tasks(c, braid_cluster_job(c, 0)) == 1 &&
           !is_job(braid_cluster_job(c, 0), "ps");
}

static braid_code take_task(braid_run_config *c, braid_status *st)
{
    if (!braid_cluster_num_jobs(c->cluster)) return take_task_without_cluster(c, st);
    const braid_code code = take_task_of_cluster(c, st);
    c->is_distributed = c->is_distributed && !is_alone(c->cluster);
    return code;
}

// ---- The sessions ----

// Each task talks to the parameter servers and to itself, so that workers may come and go.
static void filter_devices(owned_config *o)
{
    braid_run_config *c = &o->config;
    braid_session_options *s = &c->options.session;
    if (s->device_filter_count || !c->is_distributed || !c->num_ps_replicas) return;
    o->task_filter = bd_asprintf("/job:%s/task:%d", c->task_type, c->task_id);
    o->filters[0] = "/job:ps";
    o->filters[1] = o->task_filter;
    s->device_filters = o->filters;
    s->device_filter_count = 2;
}

static void take_masters(owned_config *o)
{
    braid_run_config *c = &o->config;
    const char *master = braid_cluster_setting(o->cluster, "session_master");
    const char *evaluation = braid_cluster_setting(o->cluster, "eval_session_master");
    const char *given = c->options.session.target;
    if (!c->is_distributed && !given) given = master;
    c->options.session.target = o->target = given ? bd_strdup(given) : NULL;
    c->evaluation_master = o->evaluation_master = bd_strdup(evaluation ? evaluation : "");
}

// ---- The rest ----

static braid_code take_model_dir(owned_config *o, braid_status *st)
{
    const char *wish = o->config.options.model_dir, *given = braid_cluster_setting(o->cluster, "model_dir");
    if (wish && given && strcmp(wish, given) != 0)
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "The model directory is '%s' by the program and '%s' by TF_CONFIG: give one of them, or "
            "the same twice",
            wish, given);
    if (!wish) wish = given;
    if (wish) {
        o->model_dir = bd_strdup(wish);
    } else if (o->config.is_distributed || is_job(o->config.task_type, "evaluator")) {
        const char *of_run = getenv(BD_RUN_DIR_VARIABLE);
        if (!of_run || !of_run[0])
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "A model of several tasks needs a model directory, which all of them see: "
                           "options.model_dir, or \"model_dir\" in TF_CONFIG");
        o->model_dir = bd_asprintf("%s/model", of_run);
    } else {
        const char *tmp = getenv("TMPDIR");
        o->model_dir = bd_asprintf("%s/braid_model_XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
        if (!mkdtemp(o->model_dir))
            return bd_fail(st, BRAID_UNAVAILABLE,
                           "Cannot make the temporary model directory '%s': %s. Give options.model_dir, or "
                           "\"model_dir\" in TF_CONFIG",
                           o->model_dir, strerror(errno));
    }
    if (!wish && o->config.is_chief) bd_warn("The model is kept in the temporary directory %s", o->model_dir);
    o->config.model_dir = o->config.options.model_dir = o->model_dir;
    return BRAID_OK;
}

static braid_code fill_defaults(braid_run_config_options *o, braid_status *st)
{
    if (o->save_checkpoints_steps > 0 && o->save_checkpoints_seconds > 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Checkpoints are saved every %lld steps or every %g seconds: give one of them",
                       (long long)o->save_checkpoints_steps, o->save_checkpoints_seconds);
    if (o->save_checkpoints_steps <= 0 && o->save_checkpoints_seconds == 0)
        o->save_checkpoints_seconds = CHECKPOINT_SECONDS_DEFAULT;
    if (o->save_checkpoints_steps <= 0 && o->save_checkpoints_seconds < 0)
        o->save_checkpoints_seconds = NEVER_SECONDS;
    if (!o->save_summary_steps) o->save_summary_steps = SUMMARY_STEPS_DEFAULT;
    if (!o->log_step_count_steps) o->log_step_count_steps = SUMMARY_STEPS_DEFAULT;
    if (o->keep.keep_every_n_hours == 0) o->keep.keep_every_n_hours = KEEP_HOURS_DEFAULT;
    return BRAID_OK;
}

static braid_code fill(owned_config *o, const braid_run_config_options *options, braid_status *st)
{
    braid_run_config *c = &o->config;
    if (options) c->options = *options;
    c->cluster = o->cluster = read_cluster(&c->options, st);
    c->options.tf_config = NULL; // was borrowed
    if (!o->cluster) return st->code;
    if (fill_defaults(&c->options, st) || take_task(c, st) || take_model_dir(o, st)) return st->code;
    take_masters(o);
    filter_devices(o);
    return BRAID_OK;
}

braid_run_config *braid_run_config_new(const braid_run_config_options *options, braid_status *status)
{
    BD_STATUS(unwanted);
    owned_config *o = bd_calloc(1, sizeof *o);
    if (!fill(o, options, status ? status : unwanted)) return &o->config;
    braid_run_config_free(&o->config);
    return NULL;
}

void braid_run_config_free(braid_run_config *config)
{
    if (!config) return;
    owned_config *o = (owned_config *)config;
    braid_cluster_free(o->cluster);
    bd_free(o->model_dir);
    bd_free(o->target);
    bd_free(o->evaluation_master);
    bd_free(o->task_filter);
    bd_free(o);
}
