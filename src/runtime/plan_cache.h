// A bounded cache from run signatures to compiled entries of a session.
//
// The key is the sorted feeds, fetches and targets and whether the run is partial. Two threads that miss
// together compile once; a failure is not cached; a full cache evicts the oldest entry that was not used
// recently (second chance). An entry is compiled for a normalized signature: names are sorted, outputs in
// full form ("x:0"), each fetch and target is unique; a duplicate feed stays, since it is an error.
#ifndef BD_RUNTIME_PLAN_CACHE_H
#define BD_RUNTIME_PLAN_CACHE_H

#include "op/cancellation.h"
#include "runtime/client_graph.h"

typedef struct bd_plan_cache bd_plan_cache;

// The capacity of a session's cache. A training program has a few signatures, a test suite some hundreds.
#define BD_SESSION_PLANS_MAX 1024

typedef struct bd_plan_cache_ops {
    // Compiles the entry (no lock held); called once for threads that miss together. The token (NULL: none)
    // is the one of the calling thread: when it is cancelled, the result is not needed.
    braid_code (*compile)(void *arg, const bd_run_signature *signature, bd_cancellation *cancellation,
                          void **entry, braid_status *st);
    void *(*ref)(void *entry);
    void (*unref)(void *entry); // drops a reference; the last one, which may be the cache's, frees the entry
} bd_plan_cache_ops;

bd_plan_cache *bd_plan_cache_new(const bd_plan_cache_ops *ops, void *arg, int capacity);
void bd_plan_cache_free(bd_plan_cache *c);

// Returns the entry of a signature (one reference for the caller). The entry's feeds and fetches are sorted:
// the caller's feed i is the entry's feed order[i], and its fetch i the entry's fetch order[feed_count + i].
// The caller provides `order` [feed_count + fetch_count]. While another thread compiles the entry, the call
// blocks until that is done or the token (may be NULL) is cancelled, and then fails with the token's status.
// If the other thread's compilation failed because its own token was cancelled, this thread compiles.
braid_code bd_plan_cache_get(bd_plan_cache *c, const bd_run_signature *signature,
                             bd_cancellation *cancellation, void **entry, int *order, braid_status *st);
// Returns true and the entry if the same names were requested before in the same order, else false. Never
// blocks.
bool bd_plan_cache_try_get(bd_plan_cache *c, const bd_run_signature *signature, void **entry, int *order);
void bd_plan_cache_clear(bd_plan_cache *c);

#endif
