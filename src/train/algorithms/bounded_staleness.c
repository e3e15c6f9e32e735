// SSP, stale synchronous parallel (Ho et al., More Effective Distributed ML via a Stale Synchronous Parallel
// Parameter Server, NIPS 2013): a worker that has finished c periods (its clock) may read a value only if it
// contains the updates of all workers up to clock c - s. s = 0 is synchronous; without a limit it would be
// asynchronous:
//
//     each step:      g = grad f(x, batch);  x := x - eta g;  s_i := s_i + g
//     every T steps:  c := c - eta s_i;  s_i := 0;  clock_i := clock_i + 1
//                     if the pull of x does not contain all updates up to clock_i - s:
//                         wait until min_j clock_j >= clock_i - s;  x := c
//
// x is the cache of the paper's client: all variables are read at once, so all rows have the clock of the
// last pull, and a worker sees its own updates at once (read-my-writes). It pulls only when the cache is
// too old, so a larger s moves fewer bytes. The clocks lie beside the global step; a worker that waits is
// woken by a notification of another one's clock. The wait ends when other workers are done; it ends with
// an error when they are gone for good. Needs servers of Braid when there are several workers.
#include "train/algorithms/local_global.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "train/common/build.h"
#include "train/sessions/monitored_session.h"
#include "train/variables/variable_internal.h"
#include <braid/ops.h>

#define TICK "braid/clock" // the key of notifications

typedef struct bounded_staleness {
    braid_variable clocks; // int64 [num_workers]
    braid_out after_tick;  // their values with an exchange
    int64_t cache;         // the clock of the last pull
    bool is_lifted;        // other workers are done: the bound has no meaning any more
} bounded_staleness;

static void make_clocks(const braid_algorithm *a, bounded_staleness *b)
{
    braid_graph *g = a->graph;
    int64_t *zeros = bd_calloc((size_t)a->o.num_workers, sizeof *zeros);
    braid_tensor *value = braid_tensor_from(BRAID_INT64, BRAID_SHAPE(a->o.num_workers), zeros, NULL);
    braid_push_colocate(g, a->step.op);
    b->clocks = braid_variable_of(g, "clocks", value, false);
    braid_pop_colocate(g);
    braid_tensor_free(value);
    bd_free(zeros);
}

static braid_op *tick(const braid_algorithm *a, const bounded_staleness *b, braid_op *after)
{
    braid_graph *g = a->graph;
    if (!b->clocks.ref.op || !after) return NULL;
    braid_push_control(g, &after, 1);
    braid_push_colocate(g, b->clocks.ref.op);
    const int64_t one_value = 1;
    braid_tensor *one = braid_tensor_from(BRAID_INT64, BRAID_SCALAR, &one_value, NULL);
    braid_op_desc *d = braid_op_begin(g, "ScatterAdd", "tick");
    braid_op_input(d, b->clocks.ref);
    braid_op_input(d, braid_const_int32(g, "worker", a->o.worker));
    braid_op_input(d, braid_const(g, "one", one));
    braid_op_attr_bool(d, "use_locking", true);
    braid_op *node = braid_op_end(d);
    braid_tensor_free(one);
    braid_pop_colocate(g);
    braid_pop_control(g);
    return node;
}

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    bounded_staleness *b = bd_calloc(1, sizeof *b);
    a->state = b;
    make_clocks(a, b);
    train_build_accruing_step(a, pairs, count);
    braid_op *pushed = train_push_accrued(a, train_sgd(a), BRAID_NONE, false);
    braid_op *ticked = tick(a, b, pushed);
    if (!ticked) return;
    braid_push_control(a->graph, &ticked, 1);
    braid_push_colocate(a->graph, b->clocks.ref.op);
    b->after_tick = braid_identity(a->graph, "clocks_after", b->clocks.ref);
    braid_pop_colocate(a->graph);
    braid_pop_control(a->graph);
    train_build_exchange(a, pushed, false, &ticked, 1);
}

// ---- Running ----

// The clock of this worker, and that of the slowest. Frees the tensor.
static void take_clocks(const braid_algorithm *a, braid_tensor *value, int64_t *own, int64_t *least)
{
    const int64_t *clocks = braid_tensor_data(value);
    *own = *least = clocks[a->o.worker];
    for (int i = 0; i < a->o.num_workers; i++)
        *least = bd_min(*least, clocks[i]);
    braid_tensor_free(value);
}

static braid_code read_clocks(const braid_algorithm *a, braid_session *s, int64_t *own, int64_t *least,
                              braid_status *st)
{
    braid_tensor *value = NULL;
    braid_fetch fetch = {((const bounded_staleness *)a->state)->clocks.read, &value};
    if (braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st)) return st->code;
    take_clocks(a, value, own, least);
    return BRAID_OK;
}

// Waits for another worker's tick after the generation *seen.
static braid_code wait_for_tick(braid_algorithm *a, braid_session *s, int64_t *seen, braid_status *st)
{
    const braid_notification_wait wait = {.key = TICK, .seen = *seen, .min_tasks = a->o.num_workers};
    const braid_code code = braid_session_wait_notification(s, &wait, seen, st);
    if (code == BRAID_FAILED_PRECONDITION) {
        bd_info("Bounded staleness: other workers are done, so this one waits no more: %s",
                braid_status_message(st));
        braid_status_clear(st);
        ((bounded_staleness *)a->state)->is_lifted = true;
    } else if (code == BRAID_UNAVAILABLE) {
        bd_status_prefix(st, "Bounded staleness: the clock of a worker stands still: ");
    }
    return st->code;
}

// Waits until all updates up to the clock own - s are in the centre. The generation is read before the
// clocks, so that no tick in between is missed.
static braid_code wait_for_clock(braid_algorithm *a, braid_session *s, int64_t *own, int64_t *least,
                                 braid_status *st)
{
    const bounded_staleness *b = a->state;
    int64_t generation = 0;
    const braid_notification_wait now = {.key = TICK, .seen = -1};
    if (braid_session_wait_notification(s, &now, &generation, st)) return st->code;
    while (!read_clocks(a, s, own, least, st) && *least < *own - a->o.staleness && !b->is_lifted)
        if (wait_for_tick(a, s, &generation, st)) break;
    return st->code;
}

static braid_code pull(braid_algorithm *a, braid_session *s, int64_t clock, braid_status *st)
{
    ((bounded_staleness *)a->state)->cache = clock;
    return train_run_pull(a, s, st);
}

static braid_code exchange(braid_algorithm *a, braid_monitored_session *session, braid_status *st)
{
    bounded_staleness *b = a->state;
    braid_session *s = braid_monitored_session_raw(session);
    braid_tensor *clocks = NULL;
    int64_t own, least;
    if (train_run_exchange(a, session, b->after_tick, &clocks, st)) return st->code;
    take_clocks(a, clocks, &own, &least);
    if (a->o.num_workers > 1 && braid_session_notify(s, TICK, st)) return st->code;
    if (b->cache >= own - a->o.staleness) return BRAID_OK;
    if (least < own - a->o.staleness && wait_for_clock(a, s, &own, &least, st)) return st->code;
    return pull(a, s, least, st);
}

// A new session has pulled the copies when it was opened: what they contain is not known.
static braid_code begin(braid_algorithm *a, braid_status *st)
{
    (void)st;
    ((bounded_staleness *)a->state)->cache = INT64_MIN / 2;
    return BRAID_OK;
}

BD_ALGORITHM(bounded_staleness) = {
    .info = {.name = "bounded_staleness",
             .about = "No worker is more than s periods ahead of the slowest (SSP)",
             .has_copies = true},
    .defaults = {.learning_rate = 0.1f, .period = 1, .staleness = 3},
    .compresses = true,
    .build = build,
    .begin = begin,
    .exchange = exchange,
};
