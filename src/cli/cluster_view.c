// Which tasks a cluster has, and what they say of themselves.
#include "cluster_view.h"
#include "base/strbuf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void forget(braid_task_description **d)
{
    braid_task_description_free(*d);
    *d = NULL;
}

static void add(bd_cluster_view *v, const braid_known_task *t, const char *address, size_t len, int replica)
{
    v->tasks = bd_realloc(v->tasks, (size_t)(v->count + 1) * sizeof *v->tasks);
    v->tasks[v->count++] = (bd_viewed_task){
        .name = replica ? bd_asprintf("%s/%d.%d", t->job, t->index, replica)
                        : bd_asprintf("%s/%d", t->job, t->index),
        .job = bd_strdup(t->job),
        .index = t->index,
        .address = bd_strndup(address, len),
        .status = braid_status_new(),
    };
}

static void add_task(bd_cluster_view *v, const braid_known_task *t)
{
    const char *rest = t->address, *address;
    size_t len;
    for (int replica = 0; bd_split_next(&rest, '|', &address, &len); replica++)
        add(v, t, address, len, replica);
}

// The task that was asked, in the list that it gave: at the address that has led to it.
static void set_first(bd_cluster_view *v, braid_task_description *d, const char *address)
{
    bd_viewed_task *found = NULL;
    for (int i = 0; i < v->count; i++) {
        bd_viewed_task *t = &v->tasks[i];
        if (t->index != d->index || strcmp(t->job, d->job) != 0) continue;
        if (!found || strcmp(t->address, d->address) == 0) found = t;
    }
    if (!found) {
        braid_task_description_free(d);
        return;
    }
    bd_free(found->address);
    found->address = bd_strdup(address);
    found->now = d;
}

// Asks those for which there is nothing in `now`.
static void ask_missing(bd_cluster_view *v, braid_monitor *m)
{
    const size_t count = (size_t)v->count;
    const char **addresses = bd_calloc(count, sizeof *addresses);
    braid_task_description **descriptions = bd_calloc(count, sizeof *descriptions);
    braid_status **statuses = bd_calloc(count, sizeof *statuses);
    int asked = 0;
    for (int i = 0; i < v->count; i++) {
        if (v->tasks[i].now) continue;
        addresses[asked] = v->tasks[i].address;
        statuses[asked++] = v->tasks[i].status;
    }
    braid_monitor_describe(m, addresses, asked, descriptions, statuses);
    for (int i = 0, at = 0; i < v->count; i++)
        if (!v->tasks[i].now) v->tasks[i].now = descriptions[at++];
    bd_free(addresses);
    bd_free(descriptions);
    bd_free(statuses);
}

braid_code bd_cluster_view_open(bd_cluster_view *v, braid_monitor *m, const char *address,
                                braid_status *status)
{
    *v = (bd_cluster_view){0};
    braid_task_description *first = NULL;
    braid_monitor_describe(m, &address, 1, &first, &status);
    if (!first) return braid_status_code(status);
    for (int i = 0; i < first->task_count; i++)
        add_task(v, &first->tasks[i]);
    set_first(v, first, address);
    ask_missing(v, m);
    return BRAID_OK;
}

void bd_cluster_view_refresh(bd_cluster_view *v, braid_monitor *m)
{
    for (int i = 0; i < v->count; i++) {
        bd_viewed_task *t = &v->tasks[i];
        forget(&t->before);
        t->before = t->now;
        t->now = NULL;
    }
    ask_missing(v, m);
}

void bd_cluster_view_fini(bd_cluster_view *v)
{
    for (int i = 0; i < v->count; i++) {
        bd_viewed_task *t = &v->tasks[i];
        forget(&t->now);
        forget(&t->before);
        braid_status_free(t->status);
        bd_free(t->name);
        bd_free(t->job);
        bd_free(t->address);
    }
    bd_free(v->tasks);
    *v = (bd_cluster_view){0};
}

int bd_cluster_view_answers(const bd_cluster_view *v)
{
    int answers = 0;
    for (int i = 0; i < v->count; i++)
        answers += v->tasks[i].now != NULL;
    return answers;
}

// ---- JSON ----

static void append_string(bd_strbuf *out, const char *text)
{
    bd_strbuf_append_char(out, '"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            bd_strbuf_appendf(out, "\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7f)
            bd_strbuf_appendf(out, "\\u%04x", *c < 0x80 ? *c : '?');
        else
            bd_strbuf_append_char(out, (char)*c);
    }
    bd_strbuf_append_char(out, '"');
}

static void append_task(bd_strbuf *out, const bd_viewed_task *t)
{
    bd_strbuf_append(out, "{\"name\":");
    append_string(out, t->name);
    bd_strbuf_append(out, ",\"address\":");
    append_string(out, t->address);
    if (t->now) {
        char *json = braid_task_description_json(t->now);
        bd_strbuf_appendf(out, ",\"description\":%s}", json);
        free(json); // the caller's, by free(): we are the caller
        return;
    }
    bd_strbuf_append(out, ",\"error\":");
    append_string(out, braid_status_message(t->status));
    bd_strbuf_append_char(out, '}');
}

char *bd_cluster_view_json(const bd_cluster_view *v)
{
    bd_strbuf out = {0};
    bd_strbuf_append(&out, "{\"tasks\":[");
    for (int i = 0; i < v->count; i++) {
        if (i) bd_strbuf_append_char(&out, ',');
        append_task(&out, &v->tasks[i]);
    }
    bd_strbuf_append(&out, "]}\n");
    return bd_strbuf_take(&out);
}
