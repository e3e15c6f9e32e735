// Compares two clusters: both list their tasks in the same order, so one pass over both finds all
// differences.
#include "cluster/spec/cluster_compare.h"
#include "base/fingerprint.h"
#include <string.h>

// A specification may be long; these differences show what is wrong.
#define NAMED_MAX 4

// ---- Fingerprint ----

uint64_t bd_cluster_fingerprint(const braid_cluster *c)
{
    bd_strbuf text = {0};
    for (size_t j = 0; j < c->jobs.len; j++)
        for (size_t i = 0; i < c->jobs.items[j].tasks.len; i++) {
            const bd_cluster_task *task = &c->jobs.items[j].tasks.items[i];
            bd_strbuf_appendf(&text, "/job:%s/task:%d %s\n", c->jobs.items[j].name, task->index,
                              task->address);
        }
    const uint64_t fingerprint = bd_fingerprint64(bd_strbuf_str(&text), text.len);
    bd_strbuf_fini(&text);
    return fingerprint ? fingerprint : 1;
}

// ---- Addresses ----

// Returns the ":port" of a "host:port" whose host stands for all addresses; NULL: it has another host.
static const char *port_of_any_host(const char *address)
{
    static const char *const hosts[] = {"0.0.0.0:", "[::]:"};
    for (int i = 0; i < 2; i++)
        if (bd_str_starts_with(address, hosts[i])) return address + strlen(hosts[i]) - 1;
    return NULL;
}

static bool is_own_port_of(const char *any, const char *address)
{
    const char *port = port_of_any_host(any);
    return port && !bd_address_unix_path(address) && bd_str_ends_with(address, port);
}

static bd_cluster_difference compare_addresses(const char *a, const char *b)
{
    if (strcmp(a, b) == 0) return BD_CLUSTERS_AGREE;
    const bool is_same = bd_address_is_same(a, b) || is_own_port_of(a, b) || is_own_port_of(b, a);
    return is_same ? BD_CLUSTERS_SPELLING : BD_CLUSTERS_ADDRESS;
}

// ---- Tasks ----

// A task of a cluster, while all are gone through.
typedef struct place {
    const braid_cluster *c;
    size_t job, task; // positions
} place;

static const bd_cluster_job *job_at(const place *p)
{
    return p->job < p->c->jobs.len ? &p->c->jobs.items[p->job] : NULL; // NULL: the end
}

static const bd_cluster_task *task_at(const place *p)
{
    return &job_at(p)->tasks.items[p->task];
}

static void advance(place *p)
{
    if (++p->task < job_at(p)->tasks.len) return;
    p->job++;
    p->task = 0;
}

// Below 0: `a` comes first. The end comes last.
static int order(const place *a, const place *b)
{
    const bd_cluster_job *a_job = job_at(a), *b_job = job_at(b);
    if (!a_job || !b_job) return !a_job - !b_job;
    const int by_name = strcmp(a_job->name, b_job->name);
    if (by_name) return by_name;
    const int a_index = task_at(a)->index, b_index = task_at(b)->index;
    return (a_index > b_index) - (a_index < b_index);
}

typedef struct listing {
    bd_cluster_difference kind; // that is listed
    int count;
    bd_strbuf *text;
} listing;

static bd_cluster_difference missing_in(const braid_cluster *c, const char *job)
{
    return bd_cluster_may_lack(c, job) ? BD_CLUSTERS_AGREE : BD_CLUSTERS_TASKS;
}

static bool is_listed(listing *l, bd_cluster_difference kind)
{
    if (kind != l->kind || ++l->count > NAMED_MAX) return false;
    if (l->count > 1) bd_strbuf_append(l->text, "; ");
    return true;
}

static void list_only_other(listing *l, const braid_cluster *own, const place *other)
{
    const char *job = job_at(other)->name;
    if (is_listed(l, missing_in(own, job)))
        bd_strbuf_appendf(l->text, "it has /job:%s/task:%d at %s, this task has none", job,
                          task_at(other)->index, task_at(other)->address);
}

static void list_only_own(listing *l, const place *own, const braid_cluster *other)
{
    const char *job = job_at(own)->name;
    if (is_listed(l, missing_in(other, job)))
        bd_strbuf_appendf(l->text, "this task has /job:%s/task:%d at %s, it has none", job,
                          task_at(own)->index, task_at(own)->address);
}

static void list_both(listing *l, const place *own, const place *other)
{
    const char *own_address = task_at(own)->address, *address = task_at(other)->address;
    if (is_listed(l, compare_addresses(own_address, address)))
        bd_strbuf_appendf(l->text, "it has /job:%s/task:%d at %s, this task at %s", job_at(own)->name,
                          task_at(own)->index, address, own_address);
}

static int list(const braid_cluster *own_cluster, const braid_cluster *other_cluster,
                bd_cluster_difference kind, bd_strbuf *text)
{
    listing l = {.kind = kind, .text = text};
    place own = {.c = own_cluster}, other = {.c = other_cluster};
    while (job_at(&own) || job_at(&other)) {
        const int first = order(&own, &other);
        if (first < 0)
            list_only_own(&l, &own, other_cluster);
        else if (first > 0)
            list_only_other(&l, own_cluster, &other);
        else
            list_both(&l, &own, &other);
        if (first <= 0) advance(&own);
        if (first >= 0) advance(&other);
    }
    if (l.count > NAMED_MAX) bd_strbuf_appendf(text, "; and %d more", l.count - NAMED_MAX);
    return l.count;
}

bd_cluster_difference bd_cluster_compare(const braid_cluster *own, const braid_cluster *other,
                                         bd_strbuf *text)
{
    for (int kind = BD_CLUSTERS_TASKS; kind > BD_CLUSTERS_AGREE; kind--)
        if (list(own, other, (bd_cluster_difference)kind, text) > 0) return (bd_cluster_difference)kind;
    return BD_CLUSTERS_AGREE;
}
