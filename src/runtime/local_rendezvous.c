// The rendezvous within a process.
//
// An entry of the table is either a tensor that waits for its receiver or receivers that wait for their
// tensor, never both; an empty entry is removed at once. Keys are compared in full; the hash is the key's.
// Entries come from a free list, so that a run in the steady state allocates nothing.
//
// Invariants:
//  1. Once `aborted` is not OK it never changes, and the table is and stays empty.
//  2. Receivers are called with mu released, by the thread that took their entry out of the table.
//  3. A key may be sent once: a second tensor for a key that waits is an error; a sent key is forgotten when
//     it is received.
#include "runtime/local_rendezvous.h"

#include "base/alloc.h"
#include "base/slab.h"
#include "base/thread.h"
#include <string.h>

typedef struct entry {
    struct entry *next; // in the bucket, or on a list
    uint64_t hash;
    char *key; // owned; its memory stays with the entry
    size_t len, cap;
    braid_tensor tensor; // waits for its receiver when fn is NULL
    bool is_dead;
    bd_recv_fn fn; // waits for its tensor
    void *arg;
} entry;

typedef struct local_rendezvous {
    bd_rendezvous base;
    bd_mutex mu;
    entry **buckets; // guarded by mu [bucket_count], a power of two
    size_t bucket_count, count;
    entry *free_entries;  // guarded by mu
    braid_status aborted; // guarded by mu
} local_rendezvous;

enum {
    FIRST_BUCKETS = 64
};

static local_rendezvous *local_of(bd_rendezvous *r)
{
    return BD_CONTAINER_OF(r, local_rendezvous, base);
}

// ---- The table ----

static entry **find_locked(local_rendezvous *l, const bd_rendezvous_key *key)
{
    entry **link = &l->buckets[key->hash & (l->bucket_count - 1)];
    while (*link) {
        const entry *e = *link;
        if (e->hash == key->hash && e->len == key->len && memcmp(e->key, key->text, key->len) == 0) break;
        link = &(*link)->next;
    }
    return link;
}

static void grow_locked(local_rendezvous *l)
{
    size_t bucket_count = l->bucket_count * 2;
    entry **buckets = bd_slab_alloc(bucket_count * sizeof(entry *));
    for (size_t i = 0; i < l->bucket_count; i++) {
        while (l->buckets[i]) {
            entry *e = l->buckets[i];
            l->buckets[i] = e->next;
            e->next = buckets[e->hash & (bucket_count - 1)];
            buckets[e->hash & (bucket_count - 1)] = e;
        }
    }
    bd_slab_free(l->buckets);
    l->buckets = buckets;
    l->bucket_count = bucket_count;
}

static entry *add_locked(local_rendezvous *l, const bd_rendezvous_key *key)
{
    if (l->count >= l->bucket_count) grow_locked(l);
    entry *e = l->free_entries;
    if (e)
        l->free_entries = e->next;
    else
        e = bd_slab_alloc(sizeof *e);
    if (key->len + 1 > e->cap) {
        bd_slab_free(e->key);
        e->key = bd_slab_alloc_raw(key->len + 1);
        e->cap = key->len + 1;
    }
    memcpy(e->key, key->text, key->len);
    e->key[key->len] = 0;
    e->len = key->len;
    e->hash = key->hash;
    e->fn = NULL;
    entry **bucket = &l->buckets[key->hash & (l->bucket_count - 1)];
    e->next = *bucket;
    *bucket = e;
    l->count++;
    return e;
}

static entry *take_out_locked(local_rendezvous *l, entry **link)
{
    entry *e = *link;
    *link = e->next;
    e->next = NULL;
    l->count--;
    return e;
}

static void recycle_locked(local_rendezvous *l, entry *e)
{
    e->next = l->free_entries;
    l->free_entries = e;
}

// ---- Send and receive ----

static void deliver(bd_recv_fn fn, void *arg, const braid_tensor *tensor, bool is_dead)
{
    BD_STATUS(ok);
    braid_tensor copy;
    bd_tensor_ref(&copy, tensor);
    fn(arg, &copy, is_dead, ok);
    bd_tensor_fini(&copy);
}

static braid_code local_send(bd_rendezvous *r, const bd_rendezvous_key *key, const braid_tensor *tensor,
                             bool is_dead, braid_status *st)
{
    local_rendezvous *l = local_of(r);
    braid_code code = BRAID_OK;
    bd_recv_fn fn = NULL;
    void *arg = NULL;
    bd_mutex_lock(&l->mu);
    entry **link = find_locked(l, key);
    if (l->aborted.code) {
        code = bd_status_copy(st, &l->aborted);
    } else if (!*link) {
        entry *e = add_locked(l, key);
        bd_tensor_ref(&e->tensor, tensor);
        e->is_dead = is_dead;
    } else if ((*link)->fn) {
        entry *receiver = take_out_locked(l, link);
        fn = receiver->fn;
        arg = receiver->arg;
        recycle_locked(l, receiver);
    } else {
        code = bd_fail(st, BRAID_ABORTED, "Duplicated send: %s", key->text);
    }
    bd_mutex_unlock(&l->mu);
    if (fn) deliver(fn, arg, tensor, is_dead);
    return code;
}

static void local_recv(bd_rendezvous *r, const bd_rendezvous_key *key, bd_recv_fn fn, void *arg)
{
    local_rendezvous *l = local_of(r);
    BD_STATUS(st);
    braid_tensor tensor = {0};
    bool is_dead = false, is_here = true;
    bd_mutex_lock(&l->mu);
    entry **link = find_locked(l, key);
    if (l->aborted.code) {
        bd_status_copy(st, &l->aborted);
    } else if (*link && !(*link)->fn) {
        entry *e = take_out_locked(l, link);
        bd_tensor_move(&tensor, &e->tensor);
        is_dead = e->is_dead;
        recycle_locked(l, e);
    } else if (*link) {
        bd_fail(st, BRAID_ABORTED, "Duplicated receive: %s", key->text);
    } else {
        entry *e = add_locked(l, key);
        e->fn = fn;
        e->arg = arg;
        is_here = false;
    }
    bd_mutex_unlock(&l->mu);
    if (is_here) fn(arg, &tensor, is_dead, st);
    bd_tensor_fini(&tensor);
}

// ---- Abort and the end ----

static entry *take_all_locked(local_rendezvous *l)
{
    entry *all = NULL;
    for (size_t i = 0; i < l->bucket_count; i++) {
        while (l->buckets[i]) {
            entry *e = take_out_locked(l, &l->buckets[i]);
            e->next = all;
            all = e;
        }
    }
    return all;
}

static void free_entries(entry *e)
{
    while (e) {
        entry *next = e->next;
        bd_tensor_fini(&e->tensor);
        bd_slab_free(e->key);
        bd_slab_free(e);
        e = next;
    }
}

// Ends the receivers among entries that are out of the table, and frees the entries.
static void fail_entries(entry *all, const braid_status *why)
{
    for (entry *e = all; e; e = e->next) {
        braid_tensor none = {0};
        if (e->fn) e->fn(e->arg, &none, false, why);
    }
    free_entries(all);
}

static void local_abort(bd_rendezvous *r, const braid_status *why)
{
    BD_ASSERT(why->code != BRAID_OK);
    local_rendezvous *l = local_of(r);
    bd_mutex_lock(&l->mu);
    entry *all = NULL;
    if (!l->aborted.code) {
        bd_status_copy(&l->aborted, why);
        all = take_all_locked(l);
    }
    bd_mutex_unlock(&l->mu);
    fail_entries(all, why);
}

static void local_destroy(bd_rendezvous *r)
{
    local_rendezvous *l = local_of(r);
    entry *all = take_all_locked(l);
    BD_STATUS(gone);
    if (all) bd_fail(gone, BRAID_CANCELLED, "the rendezvous is gone");
    fail_entries(all, gone);
    free_entries(l->free_entries);
    bd_slab_free(l->buckets);
    bd_status_fini(&l->aborted);
    bd_mutex_fini(&l->mu);
    bd_slab_free(l);
}

bool bd_local_rendezvous_is_empty(bd_rendezvous *r)
{
    local_rendezvous *l = local_of(r);
    bd_mutex_lock(&l->mu);
    bool is_empty = l->count == 0;
    bd_mutex_unlock(&l->mu);
    return is_empty;
}

bd_rendezvous *bd_local_rendezvous_new(void)
{
    static const bd_rendezvous_ops ops = {
        .send = local_send, .recv = local_recv, .abort = local_abort, .destroy = local_destroy};
    local_rendezvous *l = bd_slab_alloc(sizeof *l);
    l->base.ops = &ops;
    atomic_init(&l->base.refs, 1);
    bd_mutex_init(&l->mu);
    l->bucket_count = FIRST_BUCKETS;
    l->buckets = bd_slab_alloc(l->bucket_count * sizeof(entry *));
    return &l->base;
}
