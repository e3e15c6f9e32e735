// A description as JSON.
#include "cluster/monitoring/description.h"
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

// A name that is not UTF-8 is not JSON.
static json_t *text(const char *s)
{
    json_t *j = json_string(s);
    return j ? j : json_string("(not UTF-8)");
}

// As text: JSON's readers may keep 53 bits of a number only.
static json_t *number_as_text(uint64_t n)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%" PRIx64, n);
    return json_string(digits);
}

static json_t *count(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *tasks_of(const braid_task_description *d)
{
    json_t *list = json_array();
    for (int i = 0; i < d->task_count; i++) {
        const braid_known_task *t = &d->tasks[i];
        json_array_append_new(list, json_pack("{s:o, s:i, s:o, s:s}", "job", text(t->job), "index", t->index,
                                              "address", text(t->address), "state",
                                              braid_task_state_name(t->state)));
    }
    return list;
}

static json_t *sessions_of(const braid_task_description *d)
{
    json_t *list = json_array();
    for (int i = 0; i < d->session_count; i++) {
        const braid_described_session *s = &d->sessions[i];
        json_array_append_new(list, json_pack("{s:o, s:o, s:I, s:o, s:o, s:i}", "handle", text(s->handle),
                                              "owner", text(s->owner), "age_ms", (json_int_t)s->age_ms,
                                              "steps_ended", count(s->steps_ended), "steps_failed",
                                              count(s->steps_failed), "steps_running", s->steps_running));
    }
    return list;
}

static json_t *steps_of(const braid_running_step *steps, int step_count)
{
    json_t *list = json_array();
    for (int i = 0; i < step_count; i++) {
        const braid_running_step *s = &steps[i];
        json_array_append_new(list, json_pack("{s:o, s:o, s:I, s:o}", "id", number_as_text((uint64_t)s->id),
                                              "session", text(s->session), "age_ms", (json_int_t)s->age_ms,
                                              "waits_for", text(s->waits_for)));
    }
    return list;
}

static json_t *classes_of(const braid_task_description *d)
{
    json_t *list = json_array();
    for (int i = 0; i < d->step_class_count; i++) {
        const braid_step_class *c = &d->step_classes[i];
        json_array_append_new(
            list, json_pack("{s:o, s:o}", "up_to_seconds",
                            isfinite(c->up_to_seconds) ? json_real(c->up_to_seconds) : json_null(), "count",
                            count(c->count)));
    }
    return list;
}

static json_t *real(double x)
{
    return json_real(isfinite(x) ? x : 0);
}

static json_t *json_of(const braid_task_description *d)
{
    const struct {
        const char *key;
        json_t *value;
    } members[] = {
        {"job", text(d->job)},
        {"index", json_integer(d->index)},
        {"address", text(d->address)},
        {"version", text(d->version)},
        {"incarnation", number_as_text(d->incarnation)},
        {"pid", json_integer(d->pid)},
        {"is_serving", json_boolean(d->is_serving)},
        {"uptime_ms", json_integer(d->uptime_ms)},
        {"resident_bytes", json_integer(d->resident_bytes)},
        {"tensor_bytes", json_integer(d->tensor_bytes)},
        {"variable_count", json_integer(d->variable_count)},
        {"variable_bytes", json_integer(d->variable_bytes)},
        {"processor_seconds", real(d->processor_seconds)},
        {"steps_ended", count(d->steps_ended)},
        {"steps_failed", count(d->steps_failed)},
        {"step_seconds", real(d->step_seconds)},
        {"step_classes", classes_of(d)},
        {"executions_ended", count(d->executions_ended)},
        {"executions_failed", count(d->executions_failed)},
        {"sent_bytes", count(d->sent_bytes)},
        {"received_bytes", count(d->received_bytes)},
        {"memory_bytes", count(d->memory_bytes)},
        {"mpi_bytes", count(d->mpi_bytes)},
        {"shared_memory_links", json_integer(d->shared_memory_links)},
        {"calls", count(d->calls)},
        {"calls_made", json_integer(d->calls_made)},
        {"sessions_open", json_integer(d->sessions_open)},
        {"steps_running", json_integer(d->steps_running)},
        {"executions_running", json_integer(d->executions_running)},
        {"tasks", tasks_of(d)},
        {"sessions", sessions_of(d)},
        {"steps", steps_of(d->steps, d->step_count)},
        {"executions", steps_of(d->executions, d->execution_count)},
    };
    json_t *object = json_object();
    for (size_t i = 0; i < BD_COUNTOF(members); i++)
        json_object_set_new(object, members[i].key, members[i].value);
    return object;
}

char *braid_task_description_json(const braid_task_description *d)
{
    json_t *object = json_of(d);
    char *line = json_dumps(object, JSON_COMPACT); // the caller's, by free(): as jansson has it
    json_decref(object);
    return line;
}

static int append(const char *data, size_t len, void *out)
{
    bd_strbuf_append_n(out, data, len);
    return 0;
}

void bd_description_append_json(const braid_task_description *d, bd_strbuf *out)
{
    json_t *object = json_of(d);
    json_dump_callback(object, append, out, JSON_COMPACT);
    json_decref(object);
}
