// A description in Prometheus' text format.
#include "cluster/monitoring/description.h"
#include <inttypes.h>
#include <math.h>

typedef struct metric {
    const char *name, *type, *help;
    double value;
} metric;

static void head(bd_strbuf *out, const char *name, const char *type, const char *help)
{
    bd_strbuf_appendf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

// Whole numbers in full, so that a counter of bytes grows by each.
static void append_number(bd_strbuf *out, double value)
{
    if (value == floor(value) && fabs(value) < 1e15)
        bd_strbuf_appendf(out, "%.0f", value);
    else
        bd_strbuf_appendf(out, "%.9g", value);
}

static void append_metric(bd_strbuf *out, const metric *m)
{
    head(out, m->name, m->type, m->help);
    bd_strbuf_appendf(out, "%s ", m->name);
    append_number(out, m->value);
    bd_strbuf_append_char(out, '\n');
}

static void append_label(bd_strbuf *out, const char *value)
{
    for (; *value; value++) {
        if (*value == '\\' || *value == '"') bd_strbuf_append_char(out, '\\');
        if (*value == '\n')
            bd_strbuf_append(out, "\\n");
        else
            bd_strbuf_append_char(out, *value);
    }
}

// A gauge that is 1 carries what are no numbers as labels.
static void append_info(bd_strbuf *out, const braid_task_description *d)
{
    head(out, "braid_task_info", "gauge", "The task; the value is 1.");
    bd_strbuf_append(out, "braid_task_info{job=\"");
    append_label(out, d->job);
    bd_strbuf_appendf(out, "\",task=\"%d\",address=\"", d->index);
    append_label(out, d->address);
    bd_strbuf_append(out, "\",version=\"");
    append_label(out, d->version);
    bd_strbuf_append(out, "\"} 1\n");
}

// How many tasks of the cluster are in each state.
static void append_states(bd_strbuf *out, const braid_task_description *d)
{
    head(out, "braid_cluster_tasks", "gauge", "Tasks of the cluster by what this task knows of them.");
    for (int state = BRAID_TASK_UNKNOWN; state <= BRAID_TASK_DONE; state++) {
        int count = 0;
        for (int i = 0; i < d->task_count; i++)
            count += d->tasks[i].state == (braid_task_state)state;
        bd_strbuf_appendf(out, "braid_cluster_tasks{state=\"%s\"} %d\n",
                          braid_task_state_name((braid_task_state)state), count);
    }
}

static void append_histogram(bd_strbuf *out, const braid_task_description *d)
{
    uint64_t up_to = 0;
    head(out, "braid_step_duration_seconds", "histogram", "Durations of the steps of this task's master.");
    for (int i = 0; i < d->step_class_count; i++) {
        up_to += d->step_classes[i].count;
        const double bound = d->step_classes[i].up_to_seconds;
        bd_strbuf_append(out, "braid_step_duration_seconds_bucket{le=\"");
        if (isfinite(bound))
            bd_strbuf_appendf(out, "%g", bound);
        else
            bd_strbuf_append(out, "+Inf");
        bd_strbuf_appendf(out, "\"} %" PRIu64 "\n", up_to);
    }
    bd_strbuf_appendf(out, "braid_step_duration_seconds_sum %.9g\n", d->step_seconds);
    bd_strbuf_appendf(out, "braid_step_duration_seconds_count %" PRIu64 "\n", up_to);
}

static double oldest_seconds(const braid_running_step *steps, int count)
{
    int64_t oldest_ms = 0;
    for (int i = 0; i < count; i++)
        if (steps[i].age_ms > oldest_ms) oldest_ms = steps[i].age_ms;
    return (double)oldest_ms / 1e3;
}

void bd_description_append_metrics(const braid_task_description *d, bd_strbuf *out)
{
    const metric metrics[] = {
        {"braid_uptime_seconds", "gauge", "Time since the server of this task started.",
         (double)d->uptime_ms / 1e3},
        {"braid_serving", "gauge", "1 when the task serves, 0 for a standby.", d->is_serving},
        {"braid_steps_total", "counter", "Steps of this task's master that have ended.",
         (double)d->steps_ended},
        {"braid_steps_failed_total", "counter", "Of these, those that have failed.", (double)d->steps_failed},
        {"braid_steps_running", "gauge", "Steps of this task's master in progress.", d->steps_running},
        {"braid_step_oldest_seconds", "gauge", "Age of the oldest of these.",
         oldest_seconds(d->steps, d->step_count)},
        {"braid_executions_total", "counter", "Parts of steps that this task has run.",
         (double)d->executions_ended},
        {"braid_executions_failed_total", "counter", "Of these, those that have failed.",
         (double)d->executions_failed},
        {"braid_executions_running", "gauge", "Parts of steps that this task runs now.",
         d->executions_running},
        {"braid_execution_oldest_seconds", "gauge", "Age of the oldest of these.",
         oldest_seconds(d->executions, d->execution_count)},
        {"braid_sessions_open", "gauge", "Sessions of this task's master.", d->sessions_open},
        {"braid_variables", "gauge", "Variables of this task.", (double)d->variable_count},
        {"braid_variable_bytes", "gauge", "Bytes of the variables.", (double)d->variable_bytes},
        {"braid_tensor_bytes", "gauge", "Bytes of all tensors of the process.", (double)d->tensor_bytes},
        {"braid_tensor_sent_bytes_total", "counter", "Bytes of tensors sent to other tasks.",
         (double)d->sent_bytes},
        {"braid_tensor_received_bytes_total", "counter", "Bytes of tensors received from other tasks.",
         (double)d->received_bytes},
        {"braid_tensor_memory_bytes_total", "counter",
         "Bytes of the tensors received that were read from the memory of a task on the same host.",
         (double)d->memory_bytes},
        {"braid_tensor_mpi_bytes_total", "counter", "Bytes of the tensors received that MPI has brought.",
         (double)d->mpi_bytes},
        {"braid_shared_memory_links", "gauge",
         "Links through shared memory, to and from processes of this host, over which calls go.",
         d->shared_memory_links},
        {"braid_calls_total", "counter", "Calls that this task has received.", (double)d->calls},
        {"braid_calls_in_progress", "gauge", "Calls to other tasks in progress.", d->calls_made},
        {"process_cpu_seconds_total", "counter", "Processor time of the process.", d->processor_seconds},
        {"process_resident_memory_bytes", "gauge", "Resident memory of the process.",
         (double)d->resident_bytes},
    };
    append_info(out, d);
    for (size_t i = 0; i < BD_COUNTOF(metrics); i++)
        append_metric(out, &metrics[i]);
    append_histogram(out, d);
    append_states(out, d);
}
