// Clusters from JSON and from TF_CONFIG. In JSON a job is a list or a map from index:
//
//     {"ps": ["host:port"], "worker": {"1": "host:port"}}
//
// TF_CONFIG, and TF_CONFIG of dynamic workers:
//
//     {"cluster": {...}, "task": {"type": "worker", "index": 0}, "environment": "cloud"}
//     {"cluster": {"ps": ["host:port|host:port"]}, "task": {"type": "ps", "index": 0, "replica": 1}}
//     {"sparseCluster": {"worker": {"1": ...}, "ps": [...]}, "task": {...}}
//
// A map is a sparse job: other tasks may know more tasks of it.
//
// Of the other members of TF_CONFIG, model_dir, session_master and eval_session_master are kept for training
// programs, and the rest (job, rpc_layer, ...) are ignored. An evaluator is never part of the
// cluster that it evaluates: in TF_CONFIG the job is left out, and for an evaluator itself the cluster is
// empty.
#include "base/log.h"
#include "base/strbuf.h"
#include "cluster/spec/cluster_spec.h"
#include <jansson.h>
#include <string.h>

#define EVALUATOR "evaluator"

static const char *type_name(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",  [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "a boolean",
        [JSON_FALSE] = "a boolean",  [JSON_NULL] = "null",
    };
    return value ? names[json_typeof(value)] : "missing";
}

static braid_code add_task(braid_cluster *c, const char *job, int64_t index, const json_t *address,
                           braid_status *st)
{
    if (!json_is_string(address))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "/job:%s/task:%lld is %s, not \"host:port\"", job,
                       (long long)index, type_name(address));
    return bd_cluster_add(c, job, index, json_string_value(address), st);
}

static braid_code add_task_list(braid_cluster *c, const char *job, const json_t *list, braid_status *st)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const braid_code code = add_task(c, job, (int64_t)i, json_array_get(list, i), st);
        if (code) return code;
    }
    return BRAID_OK;
}

static braid_code add_task_map(braid_cluster *c, const char *job, json_t *map, braid_status *st)
{
    const char *key;
    json_t *address;
    json_object_foreach(map, key, address)
    {
        int64_t index;
        if (!bd_parse_int64(key, &index) || index < 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "job '%s': '%s' is no task index", job, key);
        const braid_code code = add_task(c, job, index, address, st);
        if (code) return code;
    }
    bd_cluster_set_sparse(c, job);
    return BRAID_OK;
}

// The program of a second chief would take itself for the one that initializes the variables.
static braid_code check_one_chief(const braid_cluster *c, const char *job, braid_status *st)
{
    const int count = braid_cluster_num_tasks(c, job);
    if (count <= 1) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "job %s has %d tasks, but a cluster has one chief. List the others as job worker", job,
                   count);
}

static braid_code check_chiefs(const braid_cluster *c, braid_status *st)
{
    if (check_one_chief(c, "chief", st) || check_one_chief(c, "master", st)) return st->code;
    if (braid_cluster_num_tasks(c, "chief") && braid_cluster_num_tasks(c, "master"))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "a cluster has a chief or a master, not both");
    return BRAID_OK;
}

static braid_code add_jobs(braid_cluster *c, json_t *jobs, braid_status *st)
{
    if (!json_is_object(jobs))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "a cluster is an object of jobs, not %s", type_name(jobs));
    const char *job;
    json_t *tasks;
    json_object_foreach(jobs, job, tasks)
    {
        braid_code code;
        if (json_is_array(tasks))
            code = add_task_list(c, job, tasks, st);
        else if (json_is_object(tasks))
            code = add_task_map(c, job, tasks, st);
        else
            code = bd_fail(st, BRAID_INVALID_ARGUMENT, "job '%s' is %s, not a list of addresses", job,
                           type_name(tasks));
        if (code) return code;
    }
    return check_chiefs(c, st);
}

// The text as JSON (json_decref), NULL with an error.
static json_t *parse(const char *text, braid_status *st)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "no valid JSON: %s (line %d, column %d)", error.text, error.line,
                error.column);
    return root;
}

braid_cluster *braid_cluster_from_json(const char *json, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    json_t *root = parse(json, st);
    braid_cluster *c = bd_cluster_new();
    if (!root || add_jobs(c, root, st)) {
        bd_status_prefix(st, "Cluster: ");
        braid_cluster_free(c);
        c = NULL;
    }
    if (c && braid_cluster_num_tasks(c, EVALUATOR))
        bd_warn(
            "Cluster: sessions wait for the tasks of job evaluator as for all others. An evaluator needs no "
            "place in the cluster that it evaluates, because it reads checkpoints: remove the job");
    json_decref(root);
    return c;
}

// ---- TF_CONFIG ----

// The member `key` of the task, from 0 to `max`; 0 when it is missing.
static braid_code read_number(const json_t *task, const char *key, int64_t max, const char *what, int *out,
                              braid_status *st)
{
    const json_t *number = json_object_get(task, key);
    int64_t value = 0;
    if (json_is_integer(number))
        value = json_integer_value(number);
    else if (number && (!json_is_string(number) || !bd_parse_int64(json_string_value(number), &value)))
        value = -1;
    if (value < 0 || value > max) return bd_fail(st, BRAID_INVALID_ARGUMENT, "task: %s is no %s", key, what);
    *out = (int)value;
    return BRAID_OK;
}

static braid_code read_this_task(braid_cluster *c, const json_t *task, braid_status *st)
{
    if (!task) return BRAID_OK;
    if (!json_is_object(task))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "task is %s, not an object with type and index",
                       type_name(task));
    const json_t *type = json_object_get(task, "type");
    if (!type) return BRAID_OK;
    if (!json_is_string(type) || !json_string_value(type)[0])
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "task: type is %s, not the name of a job",
                       type_name(type));
    braid_code code = read_number(task, "index", INT32_MAX, "task index", &c->this_task, st);
    if (!code)
        code = read_number(task, "replica", BD_REPLICAS_MAX - 1, "replica: 0 or 1", &c->this_replica, st);
    if (!code) c->this_job = bd_strdup(json_string_value(type));
    return code;
}

// A process that is one of several tasks of its job.
static braid_code check_index(const braid_cluster *c, const json_t *task, braid_status *st)
{
    const int count = c->this_job ? braid_cluster_num_tasks(c, c->this_job) : 0;
    if (count < 2 || json_object_get(task, "index")) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "task: index is missing, and job %s has %d tasks. It says which of them this process is",
                   c->this_job, count);
}

static braid_code check_this_task(const braid_cluster *c, braid_status *st)
{
    if (!c->this_job || c->jobs.len == 0) return BRAID_OK;
    const char *address = braid_cluster_address(c, c->this_job, c->this_task);
    if (!address)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "this is /job:%s/task:%d, which the cluster does not have",
                       c->this_job, c->this_task);
    if (c->this_replica >= bd_address_replicas(address))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "this is replica %d of /job:%s/task:%d, which has one address, %s", c->this_replica,
                       c->this_job, c->this_task, address);
    return BRAID_OK;
}

static braid_code read_settings(braid_cluster *c, const json_t *root, braid_status *st)
{
    for (size_t i = 0; i < BD_CLUSTER_SETTINGS; i++) {
        const json_t *value = json_object_get(root, bd_cluster_setting_names[i]);
        if (!value || json_is_null(value)) continue;
        if (!json_is_string(value))
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s is %s, not a text", bd_cluster_setting_names[i],
                           type_name(value));
        c->settings[i] = bd_strdup(json_string_value(value));
    }
    return BRAID_OK;
}

static braid_code read_tf_config(braid_cluster *c, json_t *root, braid_status *st)
{
    if (!json_is_object(root))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "it is %s, not an object with cluster and task",
                       type_name(root));
    braid_code code = read_this_task(c, json_object_get(root, "task"), st);
    if (!code) code = read_settings(c, root, st);
    if (code) return code;
    json_t *jobs = json_object_get(root, "cluster");
    c->is_sparse = jobs == NULL;
    if (!jobs) jobs = json_object_get(root, "sparseCluster");
    if (!jobs || (c->this_job && strcmp(c->this_job, EVALUATOR) == 0)) return BRAID_OK;
    if (json_is_object(jobs) && json_object_del(jobs, EVALUATOR) == 0)
        bd_warn("TF_CONFIG: an evaluator is not part of the cluster that it evaluates. The job evaluator of "
                "\"cluster\" is left out; remove it there");
    code = add_jobs(c, jobs, st);
    if (!code) code = check_index(c, json_object_get(root, "task"), st);
    return code ? code : check_this_task(c, st);
}

braid_cluster *braid_cluster_from_tf_config(const char *tf_config, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    json_t *root = parse(tf_config, st);
    braid_cluster *c = bd_cluster_new();
    if (!root || read_tf_config(c, root, st)) {
        bd_status_prefix(st, "TF_CONFIG: ");
        braid_cluster_free(c);
        c = NULL;
    }
    json_decref(root);
    return c;
}
