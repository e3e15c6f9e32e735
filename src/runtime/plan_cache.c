// The cache from run signature to compiled entry.
//
// Two tables: `exact`, from the names in the caller's order straight to entry and order, which is all that a
// repeated run needs; and `sorted`, from the sorted names, which different orders share.
//
// Invariants, all under mu:
//  1. An entry of `sorted` is compiling (entry NULL, one thread compiles it, `users` counts that thread and
//     the waiting ones), or ready. An entry whose compilation failed is removed before the waiting threads
//     are woken, so the next caller tries again; so do the waiting threads, if the compilation was given up
//     because the compiling thread's token was cancelled.
//  2. Records of `exact` point to entries of `sorted` that are ready; both are evicted together.
//  3. `sorted` holds at most `capacity` ready entries: the oldest one that was not used since the last
//     eviction is evicted (second chance; Corbato, "A paging experiment with the Multics system", 1969).
#include "runtime/plan_cache.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "runtime/debug_nodes.h"
#include <stdlib.h>
#include <string.h>

// Orders of the same names that are remembered, on average.
#define ORDERS_PER_ENTRY 4

typedef struct cached {
    char *key;         // of the sorted names; owned
    void *entry;       // one reference; NULL while compiling
    bool was_used;     // since it was passed over when another went
    int users;         // threads that compile it or wait for it
    bool is_over;      // compiled or failed
    bool was_given_up; // failed because the compiling thread was cancelled
    braid_status error;
} cached;

// How one caller's order maps to that of the entry.
typedef struct record {
    cached *to;
    int *order; // [feeds + fetches]
} record;

struct bd_plan_cache {
    const bd_plan_cache_ops *ops;
    void *arg;
    int capacity;
    bd_mutex mu;
    bd_cond compiled;
    bd_map exact;  // guarded by mu; -> record
    bd_map sorted; // guarded by mu; -> cached, oldest first
};

bd_plan_cache *bd_plan_cache_new(const bd_plan_cache_ops *ops, void *arg, int capacity)
{
    BD_ASSERT(capacity >= 1);
    bd_plan_cache *c = bd_calloc(1, sizeof *c);
    c->ops = ops;
    c->arg = arg;
    c->capacity = capacity;
    bd_mutex_init(&c->mu);
    bd_cond_init(&c->compiled);
    return c;
}

// ---- Keys ----

static size_t names_len(const char *const *names, int count)
{
    size_t len = 0;
    for (int i = 0; i < count; i++)
        len += strlen(names[i]) + 2;
    return len;
}

static char *put_names(char *to, char kind, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        size_t len = strlen(names[i]);
        *to++ = kind;
        memcpy(to, names[i], len);
        to += len;
        *to++ = '\n'; // no name contains it
    }
    return to;
}

// A key: stored in the struct when it is short, so that a repeated run allocates nothing.
typedef struct signature_key {
    char *text; // zero-terminated
    size_t len;
    char inline_text[1024];
} signature_key;

static void make_key(signature_key *key, const bd_run_signature *s)
{
    size_t len = 1 + names_len(s->feeds, s->feed_count) + names_len(s->fetches, s->fetch_count) +
                 names_len(s->targets, s->target_count) + names_len(s->connect_from, s->connection_count) +
                 names_len(s->connect_to, s->connection_count);
    bd_strbuf watches = {0};
    if (s->debug) bd_debug_describe(s->debug, &watches);
    const char *debug = bd_strbuf_str(&watches);
    if (s->debug) len += names_len(&debug, 1);
    key->text = len < sizeof key->inline_text ? key->inline_text : bd_malloc(len + 1);
    key->len = len;
    char *to = key->text;
    *to++ = s->is_partial ? 'p' : 'w';
    to = put_names(to, '<', s->feeds, s->feed_count);
    to = put_names(to, '>', s->fetches, s->fetch_count);
    to = put_names(to, '!', s->targets, s->target_count);
    to = put_names(to, '(', s->connect_from, s->connection_count);
    to = put_names(to, ')', s->connect_to, s->connection_count);
    if (s->debug) to = put_names(to, '?', &debug, 1);
    *to = 0;
    bd_strbuf_fini(&watches);
}

static void free_key(signature_key *key)
{
    if (key->text != key->inline_text) bd_free(key->text);
}

// ---- Sorting ----

// "x" and "x:0" are the same output.
static char *canonical(const char *name)
{
    const char *colon = strrchr(name, ':');
    int64_t index;
    bool has_index = colon && bd_parse_int64(colon + 1, &index);
    return has_index ? bd_strdup(name) : bd_asprintf("%s:0", name);
}

typedef struct named {
    char *name; // owned
    int index;  // of the caller's
} named;

static int compare_named(const void *a, const void *b)
{
    const named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : x->index - y->index;
}

// Sorts names to new strings in `to`, and stores for each of the caller's names its position. Equal names
// become one if `unique`.
static int sort_names(const char *const *names, int count, bool is_output, bool unique, const char **to,
                      int *order)
{
    named *all = bd_calloc((size_t)count + 1, sizeof *all);
    for (int i = 0; i < count; i++) {
        all[i].name = is_output ? canonical(names[i]) : bd_strdup(names[i]);
        all[i].index = i;
    }
    qsort(all, (size_t)count, sizeof *all, compare_named);
    int used = 0;
    for (int i = 0; i < count; i++) {
        bool is_again = unique && used > 0 && strcmp(to[used - 1], all[i].name) == 0;
        if (is_again)
            bd_free(all[i].name);
        else
            to[used++] = all[i].name;
        if (order) order[all[i].index] = used - 1;
    }
    bd_free(all);
    return used;
}

typedef struct sorted_signature {
    bd_run_signature s;
    const char **names; // strings owned
} sorted_signature;

static sorted_signature sort_signature(const bd_run_signature *s, int *order)
{
    sorted_signature out = {.s = {.is_partial = s->is_partial,
                                  .connect_from = s->connect_from,
                                  .connect_to = s->connect_to,
                                  .connection_count = s->connection_count,
                                  .debug = s->debug}};
    size_t total = (size_t)s->feed_count + (size_t)s->fetch_count + (size_t)s->target_count;
    out.names = bd_calloc(total + 1, sizeof *out.names);
    const char **feeds = out.names;
    out.s.feeds = feeds;
    // The same feed twice is an error, which the compilation finds.
    out.s.feed_count = sort_names(s->feeds, s->feed_count, true, false, feeds, order);
    const char **fetches = feeds + out.s.feed_count;
    out.s.fetches = fetches;
    out.s.fetch_count = sort_names(s->fetches, s->fetch_count, true, true, fetches, order + s->feed_count);
    const char **targets = fetches + out.s.fetch_count;
    out.s.targets = targets;
    out.s.target_count = sort_names(s->targets, s->target_count, false, true, targets, NULL);
    return out;
}

static void free_sorted(sorted_signature *s)
{
    int total = s->s.feed_count + s->s.fetch_count + s->s.target_count;
    for (int i = 0; i < total; i++)
        bd_free((char *)s->names[i]);
    bd_free(s->names);
}

// ---- Entries ----

static void free_cached(bd_plan_cache *c, cached *e)
{
    if (e->entry) c->ops->unref(e->entry);
    bd_status_fini(&e->error);
    bd_free(e->key);
    bd_free(e);
}

// Drops the records of `e`, or all of them (NULL).
static void forget_records_locked(bd_plan_cache *c, const cached *e)
{
    size_t pos = 0;
    const char *key;
    void *value;
    while (bd_map_next(&c->exact, &pos, &key, &value)) {
        record *r = value;
        if (e && r->to != e) continue;
        bd_map_remove(&c->exact, key);
        bd_free(r->order);
        bd_free(r);
    }
}

// Evicts ready entries until there is room; the caller frees them without mu.
typedef BD_ARRAY(cached *) cached_list;
static void make_room_locked(bd_plan_cache *c, int keep, cached_list *out)
{
    size_t pos = 0;
    void *value;
    int ready = 0;
    while (bd_map_next(&c->sorted, &pos, NULL, &value))
        ready += ((cached *)value)->entry != NULL;
    for (int round = 0; round < 2; round++) {
        pos = 0;
        while (ready > keep && bd_map_next(&c->sorted, &pos, NULL, &value)) {
            cached *e = value;
            const bool stays = e->was_used && round == 0;
            e->was_used = false;
            if (stays || !e->entry || e->users > 0) continue;
            forget_records_locked(c, e);
            bd_map_remove(&c->sorted, e->key);
            bd_array_push(out, e);
            ready--;
        }
    }
}

static void free_list(bd_plan_cache *c, cached_list *list)
{
    for (size_t i = 0; i < list->len; i++)
        free_cached(c, list->items[i]);
    bd_array_free(list);
}

// Compiles without mu, then wakes the waiting threads.
static void compile_locked(bd_plan_cache *c, cached *e, const bd_run_signature *s, bd_cancellation *token)
{
    bd_mutex_unlock(&c->mu);
    void *entry = NULL;
    BD_STATUS(st);
    braid_code code = c->ops->compile(c->arg, s, token, &entry, st);
    bd_mutex_lock(&c->mu);
    if (code) {
        bd_status_move(&e->error, st);
        bd_map_remove(&c->sorted, e->key);
        e->was_given_up = token && bd_cancellation_is_cancelled(token);
    }
    e->entry = entry;
    e->is_over = true;
    bd_cond_broadcast(&c->compiled);
}

typedef struct waiter {
    bd_plan_cache *c;
    bd_cancel_hook hook;
} waiter;

static void wake_waiter(bd_cancel_hook *hook, const braid_status *why)
{
    (void)why;
    bd_plan_cache *c = BD_CONTAINER_OF(hook, waiter, hook)->c;
    bd_mutex_lock(&c->mu);
    bd_cond_broadcast(&c->compiled);
    bd_mutex_unlock(&c->mu);
}

// Waits until the other thread's compilation is over, or the token (NULL: none) is cancelled.
static void wait_locked(bd_plan_cache *c, const cached *e, bd_cancellation *token)
{
    waiter w = {.c = c, .hook.fn = wake_waiter};
    bd_mutex_unlock(&c->mu);
    const bool is_hooked = token && bd_cancellation_add(token, &w.hook);
    bd_mutex_lock(&c->mu);
    while (!e->is_over && !(token && bd_cancellation_is_cancelled(token)))
        bd_cond_wait(&c->compiled, &c->mu);
    if (!is_hooked) return;
    bd_mutex_unlock(&c->mu);
    bd_cancellation_remove(token, &w.hook);
    bd_mutex_lock(&c->mu);
}

// Returns the ready entry, or NULL with an error. Entries without users are added to `out`.
static cached *find_or_compile_locked(bd_plan_cache *c, const char *key, const bd_run_signature *s,
                                      bd_cancellation *token, cached_list *out, braid_status *st)
{
    for (;;) {
        cached *e = bd_map_get(&c->sorted, key);
        const bool is_mine = e == NULL;
        if (is_mine) {
            e = bd_calloc(1, sizeof *e);
            e->key = bd_strdup(key);
            bd_map_put(&c->sorted, key, e);
        }
        e->users++;
        if (is_mine)
            compile_locked(c, e, s, token);
        else if (!e->is_over)
            wait_locked(c, e, token);
        e->users--;
        e->was_used = true;
        if (e->entry) return e;
        if (is_mine || (e->is_over && !e->was_given_up)) bd_status_copy(st, &e->error);
        if (e->is_over && e->users == 0) bd_array_push(out, e);
        if (st->code || (token && bd_cancellation_status(token, st))) return NULL;
    }
}

// ---- Looking up ----

typedef struct request {
    const bd_run_signature *signature;
    const char *exact_key;
    bd_cancellation *cancellation; // may be NULL
    cached_list *evicted;          // receives the entries to free without mu
} request;

static void remember_locked(bd_plan_cache *c, const char *key, cached *e, const int *order, int count)
{
    if (bd_map_get(&c->exact, key)) return;
    if (bd_map_count(&c->exact) >= (size_t)c->capacity * ORDERS_PER_ENTRY) forget_records_locked(c, NULL);
    record *r = bd_calloc(1, sizeof *r);
    r->to = e;
    r->order = bd_calloc((size_t)count + 1, sizeof *r->order);
    for (int i = 0; i < count; i++)
        r->order[i] = order[i];
    bd_map_put(&c->exact, key, r);
}

// The slow path: looks up the sorted names.
static braid_code get_sorted_locked(bd_plan_cache *c, const request *q, void **entry, int *order,
                                    braid_status *st)
{
    const bd_run_signature *s = q->signature;
    sorted_signature sorted = sort_signature(s, order);
    signature_key key;
    make_key(&key, &sorted.s);
    cached *e = find_or_compile_locked(c, key.text, &sorted.s, q->cancellation, q->evicted, st);
    if (e) {
        *entry = c->ops->ref(e->entry);
        // Another thread may have taken it out of the table meanwhile.
        if (bd_map_get(&c->sorted, e->key) == e)
            remember_locked(c, q->exact_key, e, order, s->feed_count + s->fetch_count);
        make_room_locked(c, c->capacity, q->evicted);
    }
    free_key(&key);
    free_sorted(&sorted);
    return st->code;
}

// The fast path: the same names in the same order as before.
static bool get_exact_locked(bd_plan_cache *c, const signature_key *key, const bd_run_signature *s,
                             void **entry, int *order)
{
    const record *r = bd_map_get_n(&c->exact, key->text, key->len);
    if (!r) return false;
    *entry = c->ops->ref(r->to->entry);
    r->to->was_used = true;
    for (int i = 0; i < s->feed_count + s->fetch_count; i++)
        order[i] = r->order[i];
    return true;
}

bool bd_plan_cache_try_get(bd_plan_cache *c, const bd_run_signature *s, void **entry, int *order)
{
    signature_key key;
    make_key(&key, s);
    bd_mutex_lock(&c->mu);
    bool found = get_exact_locked(c, &key, s, entry, order);
    bd_mutex_unlock(&c->mu);
    free_key(&key);
    return found;
}

braid_code bd_plan_cache_get(bd_plan_cache *c, const bd_run_signature *s, bd_cancellation *cancellation,
                             void **entry, int *order, braid_status *st)
{
    *entry = NULL;
    signature_key key;
    make_key(&key, s);
    cached_list out = {0};
    braid_code code = BRAID_OK;
    const request q = {.signature = s, .exact_key = key.text, .cancellation = cancellation, .evicted = &out};
    bd_mutex_lock(&c->mu);
    if (!get_exact_locked(c, &key, s, entry, order)) code = get_sorted_locked(c, &q, entry, order, st);
    bd_mutex_unlock(&c->mu);
    free_list(c, &out);
    free_key(&key);
    return code;
}

void bd_plan_cache_clear(bd_plan_cache *c)
{
    cached_list out = {0};
    bd_mutex_lock(&c->mu);
    make_room_locked(c, 0, &out);
    bd_mutex_unlock(&c->mu);
    free_list(c, &out);
}

void bd_plan_cache_free(bd_plan_cache *c)
{
    if (!c) return;
    bd_plan_cache_clear(c);
    BD_ASSERT(bd_map_count(&c->sorted) == 0); // it has no users any more
    bd_map_fini(&c->sorted);
    bd_map_fini(&c->exact);
    bd_cond_fini(&c->compiled);
    bd_mutex_fini(&c->mu);
    bd_free(c);
}
