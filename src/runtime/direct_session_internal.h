// Declarations shared by the files of the in-process session.
#ifndef BD_RUNTIME_DIRECT_SESSION_INTERNAL_H
#define BD_RUNTIME_DIRECT_SESSION_INTERNAL_H

#include "base/random.h"
#include "base/thread.h"
#include "base/thread_pool.h"
#include "base/timer.h"
#include "runtime/collective_groups.h"
#include "runtime/executable.h"
#include "runtime/local_notifications.h"
#include "runtime/local_rendezvous.h"
#include "runtime/plan_cache.h"
#include "runtime/session.h"

typedef struct bd_direct_session {
    bd_session base;
    bool allow_soft_placement, log_device_placement, place_pruned_graph;
    int64_t operation_timeout_ms;
    unsigned disabled_rewrites; // BRAID_REWRITE_...
    bd_thread_pool *pool;       // runs nodes
    bd_thread_pool *intra;      // within nodes; NULL: one thread
    bd_device **devices;
    bd_device_info *infos; // [device_count]
    int device_count;
    bd_kernel_store *kernels;
    bd_plan_cache *plans, *partial_plans;
    bd_cancellation *cancellation;
    bd_local_notifications notified;
    bd_collectives collectives; // of its devices
    bd_collective_groups *groups;

    bd_mutex graph_mu;
    braid_graph graph;           // guarded by graph_mu; grows only
    BD_ARRAY(braid_op *) copies; // guarded by graph_mu: by the client's node id

    bd_mutex mu;
    bd_rng rng;                                // guarded by mu; step ids
    bd_timers *timers;                         // guarded by mu; made when first needed
    bd_imap callables;                         // guarded by mu: by their numbers (direct_callable.c)
    bd_map partial_runs;                       // guarded by mu: by their names (direct_partial.c)
    int64_t callables_made, partial_runs_made; // guarded by mu
} bd_direct_session;

static inline bd_direct_session *bd_direct_of(bd_session *s)
{
    return BD_CONTAINER_OF(s, bd_direct_session, base);
}

// A time limit after which a token is cancelled.
typedef struct bd_direct_limit {
    bd_timers *timers;
    bd_timer_id timer;
    bd_cancellation *cancellation;
    int64_t ms;
} bd_direct_limit;

// Cancels `c` with DeadlineExceeded after `ms`, or after the session's own limit if that is shorter (0: no
// limit).
braid_code bd_direct_limit_start(bd_direct_session *s, bd_direct_limit *l, bd_cancellation *c, int64_t ms,
                                 braid_status *st);
void bd_direct_limit_end(bd_direct_limit *l);

int64_t bd_direct_draw_step_id(bd_direct_session *s);

// The part of the session's graph that a run needs (bd_client_graph_build), whose nodes are where they ask to
// be.
braid_code bd_direct_prune(bd_direct_session *s, const bd_run_signature *signature, bd_feed_style style,
                           const bd_device_info *client, bd_client_graph *out, braid_status *st);
// The name of a step's container, "__per_step_ID__", is written within `buf`.
enum {
    BD_DIRECT_CONTAINER_MAX = 40
};
const char *bd_direct_container(char buf[BD_DIRECT_CONTAINER_MAX], int64_t id);

// Runs the executable that was compiled for run->signature. Its feed i is feed order[i] of the signature; the
// entries of fetches follow.
braid_code bd_direct_run_compiled(bd_direct_session *s, bd_executable *entry, const int *order,
                                  const bd_session_run *run, braid_status *st);

// ---- Callables (direct_callable.c) ----

braid_code bd_direct_make_callable(bd_session *base, const bd_run_signature *signature,
                                   const bd_callable_options *options, int64_t *handle, braid_status *st);
braid_code bd_direct_run_callable(bd_session *base, int64_t handle, const bd_session_run *run,
                                  braid_status *st);
void bd_direct_release_callable(bd_session *base, int64_t handle);
void bd_direct_drop_callables(bd_direct_session *s); // all

// ---- Partial runs (direct_partial.c) ----

extern const bd_plan_cache_ops bd_direct_partial_plan_ops;
braid_code bd_direct_setup_partial_run(bd_session *base, const bd_run_signature *signature, char **handle,
                                       braid_status *st);
braid_code bd_direct_run_partial(bd_session *base, const char *handle, const bd_session_run *run,
                                 braid_status *st);
void bd_direct_end_partial_run(bd_session *base, const char *handle);
void bd_direct_end_partial_runs(bd_direct_session *s); // all

#endif
