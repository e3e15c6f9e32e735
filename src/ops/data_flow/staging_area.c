// Staging areas: Stage, MapStage and similar ops pass values from one step to another.
//
// An area keeps complete and incomplete entries, both sorted by key. Stage numbers its entries itself, so
// that the one with the least key is the oldest. Stage operations wait in one list, in order. Unstage and
// peek operations wait in another list, where each one whose key is there is served, because they may want
// different keys.
#include "ops/data_flow/staging_area.h"

#include "base/alloc.h"
#include "base/array.h"
#include "ops/common/element.h"
#include "ops/common/wait_queue.h"

#include <string.h>

// ---- The area ----

typedef struct entry {
    int64_t key;
    braid_tensor *tensors; // [count of the area's types]; "no tensor": not there (yet, or any more)
} entry;

typedef BD_ARRAY(entry) entry_list;

typedef struct area_options {
    const char *name;
    int64_t capacity, memory_limit; // 0: no limit; entries, and bytes of all tensors
    const braid_dtype *types;       // [count]
    int count;
} area_options;

struct bd_staging_area {
    bd_resource base;
    bd_wait_queue wait_queue;
    area_options options;            // strings and arrays are owned
    bd_waitlist puts, takes;         // guarded by wait_queue.mu, as all below
    entry_list complete, incomplete; // sorted by key
    int64_t bytes, next_key;
};

// The place of a key, or where it belongs.
static size_t place_of(const entry_list *list, int64_t key)
{
    size_t from = 0, to = list->len;
    BD_ASSERT(list->items || to == 0);
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (list->items[middle].key < key)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static entry *find(const entry_list *list, int64_t key)
{
    const size_t at = place_of(list, key);
    return at < list->len && list->items && list->items[at].key == key ? &list->items[at] : NULL;
}

static entry *insert(entry_list *list, entry e)
{
    const size_t at = place_of(list, e.key);
    bd_array_reserve(list, list->len + 1);
    memmove(&list->items[at + 1], &list->items[at], (list->len - at) * sizeof e);
    list->items[at] = e;
    list->len++;
    return &list->items[at];
}

static entry take_out(entry_list *list, entry *e)
{
    const entry taken = *e;
    const size_t at = (size_t)(e - list->items);
    memmove(e, e + 1, (list->len - at - 1) * sizeof *e);
    list->len--;
    return taken;
}

static void entry_fini(const bd_staging_area *a, entry *e)
{
    for (int i = 0; i < a->options.count; i++)
        bd_tensor_fini(&e->tensors[i]);
    bd_free(e->tensors);
}

static void clear(const bd_staging_area *a, entry_list *list)
{
    for (size_t i = 0; i < list->len; i++)
        entry_fini(a, &list->items[i]);
    list->len = 0;
}

static int tensors_in(const bd_staging_area *a, const entry *e)
{
    int count = 0;
    for (int i = 0; i < a->options.count; i++)
        count += bd_tensor_is_set(&e->tensors[i]);
    return count;
}

static int64_t bytes_in(const bd_staging_area *a, const entry *e)
{
    int64_t bytes = 0;
    for (int i = 0; i < a->options.count; i++) {
        if (bd_tensor_is_set(&e->tensors[i])) bytes += (int64_t)bd_tensor_bytes(&e->tensors[i]);
    }
    return bytes;
}

// ---- Waiters ----

typedef struct staging_waiter {
    bd_waiter base;
    bd_staging_plan plan;
    BD_ARRAY(braid_tensor) tuple;
} staging_waiter;

static staging_waiter *waiter_of(bd_waiter *w)
{
    return BD_CONTAINER_OF(w, staging_waiter, base);
}

static int index_at(const staging_waiter *w, int i)
{
    return w->plan.index ? w->plan.index[i] : i;
}

// ---- Putting ----

static bool is_full_locked(const bd_staging_area *a, const staging_waiter *w)
{
    const area_options *o = &a->options;
    const bool completes = w->plan.index_count == o->count;
    return (completes && o->capacity > 0 && (int64_t)a->complete.len >= o->capacity) ||
           (o->memory_limit > 0 && a->bytes + w->plan.bytes > o->memory_limit);
}

// False: the execution has failed.
static bool fill_locked(const bd_staging_area *a, const entry *e, const staging_waiter *w)
{
    for (int i = 0; i < w->plan.index_count; i++) {
        braid_tensor *t = &e->tensors[index_at(w, i)];
        if (!bd_tensor_is_set(t)) continue;
        bd_op_fail(w->base.c, BRAID_INVALID_ARGUMENT,
                   "The tensor for index '%d' for key '%lld' was already initialized '%d'.", index_at(w, i),
                   (long long)e->key, a->options.count);
        return false;
    }
    for (int i = 0; i < w->plan.index_count; i++) {
        if (bd_tensor_keep(&e->tensors[index_at(w, i)], bd_input(w->base.c, w->plan.first + i))) continue;
        while (i-- > 0)
            bd_tensor_fini(&e->tensors[index_at(w, i)]);
        bd_op_fail(w->base.c, BRAID_RESOURCE_EXHAUSTED, "OOM when staging a tensor");
        return false;
    }
    return true;
}

static entry new_entry(const bd_staging_area *a, int64_t key)
{
    return (entry){.key = key, .tensors = bd_calloc((size_t)a->options.count, sizeof(braid_tensor))};
}

// An existing entry of the key is kept.
static void complete_locked(bd_staging_area *a, entry *done)
{
    if (!find(&a->complete, done->key)) {
        insert(&a->complete, *done);
        return;
    }
    a->bytes -= bytes_in(a, done);
    entry_fini(a, done);
}

// Adds all tensors of a key at once. An incomplete entry of the key is not used.
static void put_whole_locked(bd_staging_area *a, staging_waiter *w, int64_t key)
{
    entry e = new_entry(a, key);
    if (fill_locked(a, &e, w)) {
        a->bytes += w->plan.bytes;
        complete_locked(a, &e);
    } else {
        entry_fini(a, &e);
    }
}

static void put_locked(bd_staging_area *a, staging_waiter *w)
{
    const int64_t key = w->plan.has_key ? w->plan.key : a->next_key++;
    if (w->plan.index_count == a->options.count) {
        put_whole_locked(a, w, key);
        return;
    }
    entry *e = find(&a->incomplete, key);
    if (!e) e = insert(&a->incomplete, new_entry(a, key));
    const bool was_empty = tensors_in(a, e) == 0;
    const bool ok = fill_locked(a, e, w);
    if (ok) a->bytes += w->plan.bytes;
    if ((!ok && was_empty) || tensors_in(a, e) == a->options.count) {
        entry done = take_out(&a->incomplete, e);
        if (ok)
            complete_locked(a, &done);
        else
            entry_fini(a, &done);
    }
}

// ---- Taking ----

static entry *wanted_locked(const bd_staging_area *a, const staging_waiter *w)
{
    switch (w->plan.action) {
    case BD_STAGING_TAKE_ANY: return a->complete.len > 0 ? &a->complete.items[0] : NULL;
    case BD_STAGING_PEEK_AT:
        return (int64_t)a->complete.len > w->plan.key ? &a->complete.items[w->plan.key] : NULL;
    default: return find(&a->complete, w->plan.key);
    }
}

static void take_locked(bd_staging_area *a, staging_waiter *w, entry *e)
{
    w->plan.key = e->key;
    for (int i = 0; i < w->plan.index_count; i++) {
        if (bd_tensor_is_set(&e->tensors[index_at(w, i)])) continue;
        bd_op_fail(w->base.c, BRAID_INVALID_ARGUMENT,
                   "Tensor at index '%d' for key '%lld' has already been removed.", index_at(w, i),
                   (long long)e->key);
        return;
    }
    const bool keeps = w->plan.action == BD_STAGING_PEEK || w->plan.action == BD_STAGING_PEEK_AT;
    for (int i = 0; i < w->plan.index_count; i++) {
        braid_tensor *from = &e->tensors[index_at(w, i)], out;
        bd_tensor_ref(&out, from);
        bd_array_push(&w->tuple, out);
        if (keeps) continue;
        a->bytes -= (int64_t)bd_tensor_bytes(from);
        bd_tensor_fini(from);
    }
    if (keeps || tensors_in(a, e) > 0) return;
    entry empty = take_out(&a->complete, e);
    entry_fini(a, &empty);
}

// ---- Serving ----

static bool serve_takes_locked(bd_staging_area *a)
{
    for (bd_waiter *base = a->takes.first; base; base = base->next) {
        entry *e = wanted_locked(a, waiter_of(base));
        if (!e) continue;
        take_locked(a, waiter_of(base), e);
        bd_waiter_end_locked(base);
        return true; // the line has changed
    }
    return false;
}

// Serves in order, except that parts of keys and whole entries do not wait for each other: the capacity
// limits only whole entries, and an unstage may wait for a key that a part will complete.
static bool serve_puts_locked(bd_staging_area *a)
{
    bool is_held_up[2] = {false, false}; // parts, whole ones
    for (bd_waiter *base = a->puts.first; base; base = base->next) {
        staging_waiter *w = waiter_of(base);
        const bool is_whole = w->plan.index_count == a->options.count;
        if (is_held_up[is_whole]) continue;
        is_held_up[is_whole] = is_full_locked(a, w);
        if (is_held_up[is_whole]) continue;
        put_locked(a, w);
        bd_waiter_end_locked(base);
        return true; // the line has changed
    }
    return false;
}

static void serve_locked(bd_wait_queue *wait_queue)
{
    bd_staging_area *a = BD_CONTAINER_OF(wait_queue, bd_staging_area, wait_queue);
    while (serve_puts_locked(a) || serve_takes_locked(a)) {}
}

static void finish(bd_waiter *base)
{
    staging_waiter *w = waiter_of(base);
    bd_op_ctx *c = base->c;
    const bool ok = !bd_op_failed(c) && w->plan.action != BD_STAGING_PUT;
    for (size_t i = 0; i < w->tuple.len; i++) {
        if (ok) bd_output_set(c, w->plan.first + (int)i, &w->tuple.items[i]);
        bd_tensor_fini(&w->tuple.items[i]);
    }
    w->tuple.len = 0;
    bd_free(w->plan.index);
    w->plan.index = NULL;
    const braid_tensor *key = ok && w->plan.first == 1 ? bd_output(c, 0, BRAID_INT64, &BD_SCALAR) : NULL;
    if (key) bd_tensor_i64(key)[0] = w->plan.key;
}

static void destroy_waiter(bd_waiter *w)
{
    bd_array_free(&waiter_of(w)->tuple);
}

static const bd_wait_kind wait_kind = {.waiter_size = sizeof(staging_waiter),
                                       .serve_locked = serve_locked,
                                       .finish = finish,
                                       .destroy = destroy_waiter};

// ---- The resource ----

static void destroy(bd_resource *r)
{
    bd_staging_area *a = BD_CONTAINER_OF(r, bd_staging_area, base);
    clear(a, &a->complete);
    clear(a, &a->incomplete);
    bd_array_free(&a->complete);
    bd_array_free(&a->incomplete);
    bd_wait_queue_fini(&a->wait_queue);
    bd_free((char *)a->options.name);
    bd_free((void *)a->options.types);
    bd_free(a);
}

static void abandon(bd_resource *r)
{
    bd_staging_area *a = BD_CONTAINER_OF(r, bd_staging_area, base);
    bd_resource_ref(r);
    bd_wait_queue_lock(&a->wait_queue);
    bd_waitlist_cancel_locked(&a->wait_queue, &a->puts);
    bd_waitlist_cancel_locked(&a->wait_queue, &a->takes);
    bd_wait_queue_unlock(&a->wait_queue);
    bd_resource_unref(r);
}

static const bd_resource_type area_type = {.name = "StagingArea", .destroy = destroy, .abandon = abandon};

static braid_code create_area(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    const area_options *o = arg;
    bd_staging_area *a = bd_calloc(1, sizeof *a);
    bd_resource_init(&a->base, &area_type);
    bd_wait_queue_init(&a->wait_queue, &wait_kind, &a->base);
    a->options = *o;
    a->options.name = bd_strdup(o->name);
    a->options.types = bd_memdup(o->types, (size_t)o->count * sizeof *o->types);
    a->puts.what = "Stage";
    a->takes.what = "Unstage";
    *out = &a->base;
    return BRAID_OK;
}

bd_staging_area *bd_staging_area_of(bd_op_ctx *c)
{
    const braid_op *n = c->node;
    const char *container = bd_node_attr_string(n, "container"),
               *shared = bd_node_attr_string(n, "shared_name");
    const bd_attr *types = bd_node_attr(n, "dtypes");
    area_options o = {.name = shared[0] ? shared : n->name,
                      .capacity = bd_node_attr_int(n, "capacity"),
                      .memory_limit = bd_node_attr_int(n, "memory_limit"),
                      .types = types->list.type,
                      .count = types->list.count};
    bd_resource *r;
    BD_STATUS(st);
    if (bd_resources_lookup_or_create(c->step->resources,
                                      &(bd_resource_spec){container, o.name, &area_type, create_area, &o}, &r,
                                      st)) {
        bd_op_fail_status(c, st);
        return NULL;
    }
    return BD_CONTAINER_OF(r, bd_staging_area, base);
}

void bd_staging_area_unref(bd_staging_area *a)
{
    bd_resource_unref(&a->base);
}

const char *bd_staging_area_name(const bd_staging_area *a)
{
    return a->options.name;
}

const braid_dtype *bd_staging_area_types(const bd_staging_area *a, int *count)
{
    *count = a->options.count;
    return a->options.types;
}

int64_t bd_staging_area_memory_limit(const bd_staging_area *a)
{
    return a->options.memory_limit;
}

void bd_staging_wait(bd_staging_area *a, bd_op_ctx *c, const bd_staging_plan *plan)
{
    staging_waiter *w = waiter_of(bd_waiter_new(&a->wait_queue, c));
    w->plan = *plan;
    bd_wait(&w->base, plan->action == BD_STAGING_PUT ? &a->puts : &a->takes);
}

int64_t bd_staging_area_count(bd_staging_area *a, bool of_incomplete)
{
    bd_wait_queue_lock(&a->wait_queue);
    const size_t count = of_incomplete ? a->incomplete.len : a->complete.len;
    bd_wait_queue_unlock(&a->wait_queue);
    return (int64_t)count;
}

void bd_staging_area_clear(bd_staging_area *a)
{
    bd_wait_queue_lock(&a->wait_queue);
    clear(a, &a->complete);
    clear(a, &a->incomplete);
    a->bytes = 0;
    bd_wait_queue_unlock(&a->wait_queue); // serves waiting stages
}
