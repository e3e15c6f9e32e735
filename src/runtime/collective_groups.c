// Groups of collectives, as their leader stores them.
//
// A group is made by its first member and is complete when all its devices have joined; it is then kept, and
// a member that joins again (the next step, another instance, a restart with another incarnation) finds it at
// once. An instance of a group is made by its first member, too; a broadcast is complete when its source has
// joined.
//
// A waiting member is on the table's list of waiters, with a hook on its token. It is taken off the list
// under mu by the member that completes its group, or by its hook, so it is ended once.
//
// When the table is full, the group that was joined least recently and has no waiters is evicted with its
// instances.
#include "runtime/collective_groups.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "base/thread.h"
#include "graph/device_name.h"
#include <stdlib.h>
#include <string.h>

// Limits for one process; a program has a few groups, and an instance for each gradient.
#define GROUPS_MAX 4096
#define INSTANCES_MAX 262144
#define GROUP_SIZE_MAX 16384
#define MEMBERS_MAX 262144 // of all groups
#define TEXT_LEN_MAX 1024  // of a name

typedef struct member {
    char *device; // owned
    uint64_t incarnation;
} member;

typedef struct instance {
    int type, dtype;
    char *source; // the device; owned; NULL: not known
} instance;

typedef struct group {
    int32_t key;
    int size;
    char *device_type;        // owned
    BD_ARRAY(member) members; // by name, once they are all there
    bd_imap instances;        // by instance key
    uint64_t joined;          // when last, by the table's count of joins
} group;

typedef struct waiter {
    bd_collective_groups *table;
    const group *group;
    const instance *instance;      // the instance whose source it waits for; NULL: it waits for the group
    bd_collective_join join;       // for the instance, after the group is complete; its strings are owned
    bd_cancellation *cancellation; // a reference
    bd_cancel_hook hook;
    bd_collective_fn fn;
    void *arg;
    bool is_listed; // guarded by mu
    struct waiter *prev, *next;
} waiter;

struct bd_collective_groups {
    bd_mutex mu;
    bd_imap groups;     // by key; guarded by mu
    int member_count;   // guarded by mu
    int instance_count; // guarded by mu
    uint64_t joins;     // guarded by mu
    waiter *waiters;    // guarded by mu
};

bd_collective_groups *bd_collective_groups_new(void)
{
    bd_collective_groups *g = bd_calloc(1, sizeof *g);
    bd_mutex_init(&g->mu);
    return g;
}

static void group_free(group *g)
{
    size_t pos = 0;
    void *found;
    while (bd_imap_next(&g->instances, &pos, NULL, &found)) {
        bd_free(((instance *)found)->source);
        bd_free(found);
    }
    bd_imap_fini(&g->instances);
    for (size_t i = 0; i < g->members.len; i++)
        bd_free(g->members.items[i].device);
    bd_array_free(&g->members);
    bd_free(g->device_type);
    bd_free(g);
}

void bd_collective_groups_free(bd_collective_groups *g)
{
    if (!g) return;
    BD_ASSERT(!g->waiters);
    size_t pos = 0;
    void *found;
    while (bd_imap_next(&g->groups, &pos, NULL, &found))
        group_free(found);
    bd_imap_fini(&g->groups);
    bd_mutex_fini(&g->mu);
    bd_free(g);
}

// ---- Answers ----

// A copy of a group, to be used outside of the lock.
typedef struct snapshot {
    bd_arena arena;
    bd_collective_group group;
} snapshot;

static void take_snapshot_locked(const group *g, const instance *i, snapshot *out)
{
    *out = (snapshot){0};
    const char **devices = BD_ARENA_ARRAY(&out->arena, const char *, g->members.len);
    uint64_t *incarnations = BD_ARENA_ARRAY(&out->arena, uint64_t, g->members.len);
    out->group = (bd_collective_group){
        .size = (int)g->members.len, .devices = devices, .incarnations = incarnations, .source = -1};
    for (size_t m = 0; m < g->members.len; m++) {
        devices[m] = bd_arena_strdup(&out->arena, g->members.items[m].device);
        incarnations[m] = g->members.items[m].incarnation;
        if (i && i->source && strcmp(i->source, devices[m]) == 0) out->group.source = (int)m;
    }
}

static void answer(snapshot *s, bd_collective_fn fn, void *arg)
{
    BD_STATUS(ok);
    fn(arg, &s->group, ok);
    bd_arena_fini(&s->arena);
}

// ---- The group ----

static braid_code check_join(const bd_collective_join *j, braid_status *st)
{
    bd_device_name name;
    if (j->group_size <= 0 || j->group_size > GROUP_SIZE_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Collective Op %s: group_size must be a positive integer but got %d", j->name,
                       j->group_size);
    if (strlen(j->device) > TEXT_LEN_MAX || strlen(j->device_type) > TEXT_LEN_MAX ||
        strlen(j->name) > TEXT_LEN_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "A collective op's name, device or type is longer than %d",
                       TEXT_LEN_MAX);
    return bd_device_name_parse(j->device, &name, st);
}

// Task 2 comes before task 10.
static int compare_members(const void *a, const void *b)
{
    return strverscmp(((const member *)a)->device, ((const member *)b)->device);
}

static bool is_waited_for_locked(const bd_collective_groups *t, const group *g)
{
    for (const waiter *w = t->waiters; w; w = w->next)
        if (w->group == g) return true;
    return false;
}

// Evicts the least recently joined group, but not `keep`. Returns false when no group can be evicted.
static bool forget_oldest_locked(bd_collective_groups *t, const group *keep)
{
    group *oldest = NULL;
    size_t pos = 0;
    void *found;
    while (bd_imap_next(&t->groups, &pos, NULL, &found)) {
        group *g = found;
        if (g == keep || (oldest && g->joined >= oldest->joined) || is_waited_for_locked(t, g)) continue;
        oldest = g;
    }
    if (!oldest) return false;
    t->member_count -= (int)oldest->members.len;
    t->instance_count -= (int)bd_imap_count(&oldest->instances);
    bd_imap_remove(&t->groups, (uint32_t)oldest->key);
    group_free(oldest);
    return true;
}

static group *find_group_locked(bd_collective_groups *t, const bd_collective_join *j, braid_status *st)
{
    group *g = bd_imap_get(&t->groups, (uint32_t)j->group_key);
    if (!g && bd_imap_count(&t->groups) >= GROUPS_MAX && !forget_oldest_locked(t, NULL)) {
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "Collective Op %s: there are %d groups already", j->name,
                GROUPS_MAX);
        return NULL;
    }
    if (!g) {
        g = bd_calloc(1, sizeof *g);
        g->key = j->group_key;
        g->size = j->group_size;
        g->device_type = bd_strdup(j->device_type);
        bd_imap_put(&t->groups, (uint32_t)j->group_key, g);
    }
    g->joined = ++t->joins;
    if (strcmp(g->device_type, j->device_type) != 0)
        bd_fail(
            st, BRAID_INTERNAL,
            "Collective Op %s is assigned to device %s with type %s and group_key %d but that group has type %s",
            j->name, j->device, j->device_type, j->group_key, g->device_type);
    else if (g->size != j->group_size)
        bd_fail(st, BRAID_INTERNAL,
                "Collective Op %s has group_size %d and group_key %d but that group has size %d", j->name,
                j->group_size, j->group_key, g->size);
    return st->code ? NULL : g;
}

static group *join_group_locked(bd_collective_groups *t, const bd_collective_join *j, braid_status *st)
{
    group *g = find_group_locked(t, j, st);
    for (size_t i = 0; g && i < g->members.len; i++) {
        if (strcmp(g->members.items[i].device, j->device) != 0) continue;
        if (j->incarnation) g->members.items[i].incarnation = j->incarnation;
        return g;
    }
    if (!g) return NULL;
    if ((int)g->members.len == g->size) {
        bd_fail(
            st, BRAID_INTERNAL,
            "Collective Op %s is assigned to device %s and group_key %d but that group doesn't contain that "
            "device.",
            j->name, j->device, j->group_key);
        return NULL;
    }
    while (t->member_count >= MEMBERS_MAX && forget_oldest_locked(t, g)) {}
    if (t->member_count >= MEMBERS_MAX) {
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "Collective Op %s: groups have %d members already", j->name,
                MEMBERS_MAX);
        return NULL;
    }
    t->member_count++;
    const member m = {bd_strdup(j->device), j->incarnation};
    bd_array_push(&g->members, m);
    if ((int)g->members.len == g->size)
        qsort(g->members.items, g->members.len, sizeof *g->members.items, compare_members);
    return g;
}

// ---- Instances ----

static instance *find_instance_locked(bd_collective_groups *t, group *g, const bd_collective_join *j,
                                      braid_status *st)
{
    instance *i = bd_imap_get(&g->instances, (uint32_t)j->instance_key);
    while (!i && t->instance_count >= INSTANCES_MAX && forget_oldest_locked(t, g)) {}
    if (!i && t->instance_count >= INSTANCES_MAX) {
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "Collective Op %s: there are %d instances already", j->name,
                INSTANCES_MAX);
        return NULL;
    }
    if (!i) {
        i = bd_calloc(1, sizeof *i);
        *i = (instance){.type = j->type, .dtype = j->dtype};
        bd_imap_put(&g->instances, (uint32_t)j->instance_key, i);
        t->instance_count++;
    }
    if (i->type == j->type && i->dtype == j->dtype) return i;
    bd_fail(
        st, BRAID_INTERNAL,
        "Collective instance %d expected type %d and data_type %d but got type %d and data_type %d for node %s "
        "on device %s",
        j->instance_key, i->type, i->dtype, j->type, j->dtype, j->name, j->device);
    return NULL;
}

static instance *join_instance_locked(bd_collective_groups *t, group *g, const bd_collective_join *j,
                                      braid_status *st)
{
    instance *i = find_instance_locked(t, g, j, st);
    if (!i || j->type != BD_COLLECTIVE_BROADCAST || !j->is_source) return i;
    if (!i->source) i->source = bd_strdup(j->device);
    if (strcmp(i->source, j->device) == 0) return i;
    bd_fail(st, BRAID_INTERNAL, "Instance %d has source %s but device %s is a source, too (node %s)",
            j->instance_key, i->source, j->device, j->name);
    return NULL;
}

static bool has_instance(const instance *i)
{
    return i->type != BD_COLLECTIVE_BROADCAST || i->source;
}

// ---- Waiting ----

static void list_locked(waiter *w)
{
    bd_collective_groups *t = w->table;
    w->prev = NULL;
    w->next = t->waiters;
    if (t->waiters) t->waiters->prev = w;
    t->waiters = w;
    w->is_listed = true;
}

static void unlist_locked(waiter *w)
{
    *(w->prev ? &w->prev->next : &w->table->waiters) = w->next;
    if (w->next) w->next->prev = w->prev;
    w->is_listed = false;
}

static void waiter_free(waiter *w)
{
    bd_cancellation_unref(w->cancellation);
    bd_free((char *)w->join.name);
    bd_free((char *)w->join.device);
    bd_free((char *)w->join.device_type);
    bd_free(w);
}

static void waiter_fail(waiter *w, const braid_status *why)
{
    w->fn(w->arg, NULL, why);
    waiter_free(w);
}

static void waiter_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    waiter *w = BD_CONTAINER_OF(hook, waiter, hook);
    bd_collective_groups *t = w->table;
    bd_mutex_lock(&t->mu);
    const bool is_mine = w->is_listed;
    if (is_mine) unlist_locked(w);
    bd_mutex_unlock(&t->mu);
    if (is_mine) waiter_fail(w, why);
}

// Takes a waiter off the list whose group or instance is complete. Returns NULL when there is none.
static waiter *take_ready_locked(bd_collective_groups *t)
{
    for (waiter *w = t->waiters; w; w = w->next) {
        if (w->instance ? !w->instance->source : (int)w->group->members.len < w->group->size) continue;
        unlist_locked(w);
        return w;
    }
    return NULL;
}

static waiter *waiter_new(bd_collective_groups *t, const bd_collective_join *j, bd_cancellation *cancellation,
                          bd_collective_fn fn, void *arg)
{
    waiter *w = bd_calloc(1, sizeof *w);
    w->table = t;
    w->join = *j;
    w->join.name = bd_strdup(j->name);
    w->join.device = bd_strdup(j->device);
    w->join.device_type = bd_strdup(j->device_type);
    w->cancellation = bd_cancellation_ref(cancellation);
    w->hook.fn = waiter_cancelled;
    w->fn = fn;
    w->arg = arg;
    return w;
}

// ---- Joining ----

// Returns whether the group or instance is complete: then *out is it. Otherwise *group and *inst tell what to
// wait for.
static bool join_locked(bd_collective_groups *t, const bd_collective_join *j, snapshot *out,
                        const group **waits, const instance **inst, braid_status *st)
{
    *inst = NULL;
    group *g = join_group_locked(t, j, st);
    *waits = g;
    if (!g || (int)g->members.len < g->size) return false;
    const instance *i = j->type < 0 ? NULL : join_instance_locked(t, g, j, st);
    if (st->code) return false;
    if (i && !has_instance(i)) {
        *inst = i;
        return false;
    }
    take_snapshot_locked(g, i, out);
    return true;
}

// Joins, and answers or waits. False when it has failed.
static bool join(bd_collective_groups *t, const bd_collective_join *j, bd_cancellation *cancellation,
                 bd_collective_fn fn, void *arg)
{
    BD_STATUS(st);
    snapshot whole;
    bool is_whole = false, waits = false;
    if (check_join(j, st)) {
        fn(arg, NULL, st);
        return false;
    }
    waiter *w = waiter_new(t, j, cancellation, fn, arg);
    bd_cancellation_add(cancellation, &w->hook); // a token that is cancelled already is seen below
    bd_mutex_lock(&t->mu);
    is_whole = join_locked(t, j, &whole, &w->group, &w->instance, st);
    waits = !is_whole && !st->code && !bd_cancellation_status(cancellation, st);
    if (waits) list_locked(w);
    bd_mutex_unlock(&t->mu);
    if (waits) return true;
    bd_cancellation_remove(cancellation, &w->hook);
    waiter_free(w);
    if (is_whole)
        answer(&whole, fn, arg);
    else
        fn(arg, NULL, st);
    return is_whole;
}

// Lets the waiters of completed groups join again: they may have to wait for an instance next.
static void wake(bd_collective_groups *t)
{
    for (;;) {
        bd_mutex_lock(&t->mu);
        waiter *w = take_ready_locked(t);
        bd_mutex_unlock(&t->mu);
        if (!w) return;
        bd_cancellation_remove(w->cancellation, &w->hook); // waits for a hook that has found it off the list
        join(t, &w->join, w->cancellation, w->fn, w->arg);
        waiter_free(w);
    }
}

void bd_collective_groups_join(bd_collective_groups *t, const bd_collective_join *j,
                               bd_cancellation *cancellation, bd_collective_fn fn, void *arg)
{
    if (join(t, j, cancellation, fn, arg)) wake(t);
}
