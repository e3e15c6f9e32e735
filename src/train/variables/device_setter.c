// The replica device setter: variables to the parameter servers, everything else to the worker.
#include <braid/device_setter.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"
#include <stdio.h>
#include <string.h>

#define JOB_MAX 128 // bytes of a job's name with the zero; longer ones are no jobs of a cluster

typedef struct ps_task {
    int index;     // the task's number in the cluster
    char *device;  // the device of variables that are assigned to it
    int64_t bytes; // dealt so far (slots follow their variables without asking)
} ps_task;

struct braid_device_setter {
    braid_graph *graph; // not owned: it owns the setter
    char *worker_device, *ps_device;
    char ps_job[JOB_MAX];
    braid_ps_strategy strategy;
    char **ps_ops;
    int ps_op_count;
    ps_task *tasks;
    int task_count;
    int next; // round robin
};

// ---- Reading device names ----

// Copies the value of `field` ("/job:") of a device name to `out`. Returns false when it is not given.
static bool device_field(const char *device, const char *field, char *out, size_t size)
{
    const char *at = device ? strstr(device, field) : NULL;
    if (!at) return false;
    at += strlen(field);
    size_t len = strcspn(at, "/");
    if (len == 0 || len >= size) return false;
    memcpy(out, at, len);
    out[len] = '\0';
    return true;
}

// ---- Dealing ----

static bool is_ps_op(const braid_device_setter *s, const char *op_type)
{
    for (int i = 0; i < s->ps_op_count; i++) {
        if (strcmp(s->ps_ops[i], op_type) == 0) return true;
    }
    return false;
}

static int64_t bytes_of(braid_dtype dtype, braid_shape shape)
{
    int64_t elements = braid_shape_num_elements(shape);
    return elements > 0 ? elements * (int64_t)braid_dtype_size(train_base_dtype(dtype)) : 0;
}

static ps_task *deal(braid_device_setter *s, int64_t bytes)
{
    ps_task *chosen = &s->tasks[0];
    if (s->strategy == BRAID_PS_ROUND_ROBIN) {
        chosen = &s->tasks[s->next];
        s->next = (s->next + 1) % s->task_count;
    } else {
        for (int i = 1; i < s->task_count; i++) {
            if (s->tasks[i].bytes < chosen->bytes) chosen = &s->tasks[i];
        }
    }
    chosen->bytes += bytes;
    return chosen;
}

static const char *choose(void *arg, const char *op_type, const char *device, braid_dtype dtype,
                          braid_shape shape)
{
    braid_device_setter *s = arg;
    if (!is_ps_op(s, op_type)) return s->worker_device;
    char job[JOB_MAX];
    if (device_field(device, "/job:", job, sizeof job) && strcmp(job, s->ps_job) != 0) return s->ps_device;
    return deal(s, bytes_of(dtype, shape))->device;
}

// ---- Making one ----

static void setter_free(void *arg)
{
    braid_device_setter *s = arg;
    for (int i = 0; i < s->task_count; i++)
        bd_free(s->tasks[i].device);
    for (int i = 0; i < s->ps_op_count; i++)
        bd_free(s->ps_ops[i]);
    bd_free(s->tasks);
    bd_free(s->ps_ops);
    bd_free(s->worker_device);
    bd_free(s->ps_device);
    bd_free(s);
}

static void copy_ps_ops(braid_device_setter *s, const char *const *ops, int count)
{
    static const char *const variables[] = {"Variable", "VariableV2", "VarHandleOp"};
    if (!ops) {
        ops = variables;
        count = (int)BD_COUNTOF(variables);
    }
    s->ps_ops = bd_calloc((size_t)count, sizeof(char *));
    s->ps_op_count = count;
    for (int i = 0; i < count; i++)
        s->ps_ops[i] = bd_strdup(ops[i]);
}

static void copy_tasks(braid_device_setter *s, const braid_cluster *cluster)
{
    s->task_count = cluster ? braid_cluster_num_tasks(cluster, s->ps_job) : 0;
    s->tasks = bd_calloc((size_t)s->task_count, sizeof *s->tasks);
    for (int i = 0; i < s->task_count; i++) {
        s->tasks[i].index = braid_cluster_task_index(cluster, s->ps_job, i);
        s->tasks[i].device = bd_asprintf("%s/task:%d", s->ps_device, s->tasks[i].index);
    }
}

braid_device_setter *braid_replica_device_setter(braid_graph *g, const braid_cluster *cluster,
                                                 const braid_device_setter_options *options)
{
    static const braid_device_setter_options defaults = {0};
    if (!options) options = &defaults;
    braid_device_setter *s = bd_calloc(1, sizeof *s);
    s->graph = g;
    s->strategy = options->strategy;
    s->worker_device = bd_strdup(options->worker_device ? options->worker_device : "/job:worker");
    s->ps_device = bd_strdup(options->ps_device ? options->ps_device : "/job:ps");
    copy_ps_ops(s, options->ps_ops, options->ps_op_count);
    if (device_field(s->ps_device, "/job:", s->ps_job, sizeof s->ps_job))
        copy_tasks(s, cluster);
    else
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Device setter: its ps_device '%s' names no job",
                         s->ps_device);
    braid_graph_own(g, s, setter_free);
    return s;
}

void braid_push_device_setter(braid_graph *g, braid_device_setter *setter)
{
    if (setter && setter->task_count > 0)
        braid_push_device_fn(g, choose, setter);
    else
        braid_push_device(g, ""); // an empty scope, for the matching pop
}

// ---- What each parameter server got ----

// Whether `op` is a variable that asks for the i-th parameter server.
static bool is_variable_on(const braid_device_setter *s, const braid_op *op, int i)
{
    if (!is_ps_op(s, braid_op_type(op))) return false;
    const char *device = braid_op_requested_device(op);
    char job[JOB_MAX], task[16], wanted[16];
    snprintf(wanted, sizeof wanted, "%d", s->tasks[i].index);
    return device_field(device, "/job:", job, sizeof job) && strcmp(job, s->ps_job) == 0 &&
           device_field(device, "/task:", task, sizeof task) && strcmp(task, wanted) == 0;
}

// Counts the variables there, slots included, and returns their bytes.
static int64_t load_of(const braid_device_setter *s, int i, int *variables)
{
    int64_t bytes = 0;
    *variables = 0;
    for (int k = 0, n = braid_graph_num_ops(s->graph); k < n; k++) {
        braid_op *op = braid_graph_op(s->graph, k);
        if (!is_variable_on(s, op, i)) continue;
        const braid_out var = {op, 0}, out = train_typed(var).op ? train_typed(var) : var;
        bytes += bytes_of(braid_out_dtype(out), braid_out_shape(out));
        (*variables)++;
    }
    return bytes;
}

int64_t braid_device_setter_bytes(const braid_device_setter *s, int i)
{
    int variables;
    return i >= 0 && i < s->task_count ? load_of(s, i, &variables) : 0;
}

// A remedy where one parameter server has far more bytes than an even share of them.
static void advise(const braid_device_setter *s, int64_t fullest, int64_t all, bd_strbuf *line)
{
    const double share = (double)all / s->task_count;
    if (s->task_count < 2 || (double)fullest < 1.25 * share) return;
    bd_strbuf_appendf(line, "; the fullest has %.1f times an even share: %spart the largest variables",
                      (double)fullest / share,
                      s->strategy == BRAID_PS_GREEDY ? "" : "place by bytes (BRAID_PS_GREEDY), or ");
}

void braid_device_setter_log(const braid_device_setter *s)
{
    if (s->task_count == 0) return;
    bd_strbuf line = {0};
    int64_t fullest = 0, all = 0;
    for (int i = 0; i < s->task_count; i++) {
        int variables;
        const int64_t bytes = load_of(s, i, &variables);
        bd_strbuf_appendf(&line, "%s/job:%s/task:%d %d variables, %lld bytes", i ? "; " : "", s->ps_job,
                          s->tasks[i].index, variables, (long long)bytes);
        fullest = bytes > fullest ? bytes : fullest;
        all += bytes;
    }
    advise(s, fullest, all, &line);
    bd_info("Variables on the parameter servers: %s", bd_strbuf_str(&line));
    bd_strbuf_fini(&line);
}
