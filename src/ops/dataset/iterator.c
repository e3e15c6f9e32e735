// Iterators as resources.
//
// A run is one pass over a dataset: a chain of iterators, and the waitlist of the executions that want its
// elements. States of a run:
//
//   IDLE     no execution waits
//   RUNNING  an execution waits; the chain has a turn or waits for an event
//   READY    the chain has answered; the answer goes to the first waiter, and the run is IDLE again
//   PARKED   all waiters were cancelled; the chain keeps its next turn until another execution waits
//
// An answer without a waiter is kept too. So a cancelled step loses no element, and no iterator runs without
// a waiter.
//
// References: one of the resource, one of each waiter, and one of the chain while it is RUNNING.
#include "ops/dataset/iterator.h"

#include "base/alloc.h"
#include "ops/dataset/iterator_place.h"
#include "ops/dataset/optional.h"
#include <string.h>

typedef enum run_state {
    IDLE,
    RUNNING,
    READY,
    PARKED
} run_state;

typedef struct data_run {
    bd_resource base; // only its count is used: it is in no container
    bd_wait_queue wait_queue;
    bd_waitlist waitlist; // guarded by wait_queue.mu, as all below but `wanted`
    run_state state;
    bd_turn parked;
    atomic_int wanted; // the number of executions that wait, or have just ended
    bd_chain *chain;
    bd_iterator *top;
    bd_dataset *dataset;    // a reference; without the datasets that are transparent
    bd_iterator_place from; // the start of the run
    int64_t given;          // elements and errors since the start
    bool has_ended;
} data_run;

typedef struct next_waiter {
    bd_waiter base;
    bool as_optional, has_answer;
    bd_answer answer; // tensors are owned and of answer_count
    int answer_count;
} next_waiter;

static data_run *run_of(bd_wait_queue *wait_queue)
{
    return BD_CONTAINER_OF(wait_queue, data_run, wait_queue);
}

static next_waiter *waiter_of(bd_waiter *w)
{
    return BD_CONTAINER_OF(w, next_waiter, base);
}

// ---- Waiting executions ----

// The answer of the chain goes to the first waiter.
static void serve_locked(bd_wait_queue *wait_queue)
{
    data_run *r = run_of(wait_queue);
    if (r->state != READY || !r->waitlist.first) return;
    next_waiter *w = waiter_of(r->waitlist.first);
    int count = r->top->dataset->count;
    w->has_answer = true;
    w->answer.kind = r->top->answer.kind;
    if (w->answer.kind == BD_ANSWER_END)
        r->has_ended = true;
    else
        r->given++;
    w->answer_count = count;
    w->answer.tensors = bd_calloc((size_t)count, sizeof *w->answer.tensors);
    if (w->answer.kind == BD_ANSWER_ELEMENT) bd_answer_take(r->top, w->answer.tensors);
    if (w->answer.kind == BD_ANSWER_ERROR) bd_status_move(&w->answer.st, &r->top->answer.st);
    r->state = IDLE;
    bd_waiter_end_locked(&w->base);
}

static void output_answer(next_waiter *w)
{
    bd_op_ctx *c = w->base.c;
    if (!w->as_optional || w->answer.kind == BD_ANSWER_ERROR) {
        bd_output_answer(c, &w->answer, w->answer_count);
    } else if (w->answer.kind == BD_ANSWER_END) {
        bd_output_optional(c, 0, NULL, 0);
    } else if (bd_check_optional(c, w->answer.tensors, w->answer_count)) {
        bd_output_optional(c, 0, w->answer.tensors, w->answer_count);
    }
}

static void finish(bd_waiter *base)
{
    next_waiter *w = waiter_of(base);
    atomic_fetch_sub_explicit(&run_of(base->wait_queue)->wanted, 1, memory_order_relaxed);
    if (!w->has_answer) return; // cancelled
    output_answer(w);
    bd_tensors_fini(w->answer.tensors, w->answer_count);
    bd_free(w->answer.tensors);
    bd_status_fini(&w->answer.st);
    w->has_answer = false;
    w->answer = (bd_answer){0};
}

static const bd_wait_kind wait_kind = {
    .waiter_size = sizeof(next_waiter),
    .serve_locked = serve_locked,
    .finish = finish,
};

// ---- The chain ----

// Lets the chain run when someone waits: on this thread, or on another one.
static void go_on(data_run *r, bool on_this_thread)
{
    bd_turn turn = BD_WAIT;
    bd_wait_queue_lock(&r->wait_queue);
    if (r->waitlist.first && (r->state == IDLE || r->state == PARKED)) {
        turn = r->state == PARKED ? r->parked : bd_pull(NULL, r->top);
        r->state = RUNNING;
        bd_resource_ref(&r->base);
    }
    bd_wait_queue_unlock(&r->wait_queue);
    if (turn.kind == BD_TURN_WAIT) return;
    if (on_this_thread)
        bd_turn_run(turn);
    else
        bd_turn_spawn(r->chain, turn);
}

static bd_turn answered(bd_chain *chain, bd_iterator *it)
{
    (void)it;
    data_run *r = chain->arg;
    bd_wait_queue_lock(&r->wait_queue);
    r->state = READY;
    bd_wait_queue_unlock(&r->wait_queue);
    go_on(r, false);
    bd_resource_unref(&r->base);
    return BD_WAIT;
}

static bool parks(bd_chain *chain, bd_turn turn)
{
    data_run *r = chain->arg;
    if (atomic_load_explicit(&r->wanted, memory_order_relaxed) > 0) return false;
    bd_wait_queue_lock(&r->wait_queue);
    bool is_parked = !r->waitlist.first;
    if (is_parked) {
        r->state = PARKED;
        r->parked = turn;
    }
    bd_wait_queue_unlock(&r->wait_queue);
    if (is_parked) bd_resource_unref(&r->base);
    return is_parked;
}

// ---- Runs ----

static void destroy_run(bd_resource *base)
{
    data_run *r = BD_CONTAINER_OF(base, data_run, base);
    bd_chain_stop(r->chain);
    bd_iterator_close(r->top);
    bd_chain_unref(r->chain);
    bd_dataset_unref(r->dataset);
    bd_wait_queue_fini(&r->wait_queue);
    bd_free(r);
}

static const bd_resource_type run_type = {.name = "IteratorRun", .destroy = destroy_run};

static braid_code run_new(bd_dataset *d, const bd_iterator_place *from, const bd_step *step, data_run **out,
                          braid_status *st)
{
    bd_dataset *rest;
    data_run *r = bd_calloc(1, sizeof *r);
    bd_resource_init(&r->base, &run_type);
    bd_wait_queue_init(&r->wait_queue, &wait_kind, &r->base);
    r->waitlist.what = "GetNext";
    r->chain = bd_chain_new(step, NULL);
    r->chain->answered = answered;
    r->chain->parks = parks;
    r->chain->arg = r;
    r->dataset = bd_dataset_ref(d);
    r->from = (bd_iterator_place){.given = from->given, .has_ended = from->has_ended};
    for (int64_t i = 0; i < from->seed_count; i++)
        bd_chain_restore_seeds(r->chain, from->seeds[i].path, from->seeds[i].seeds);
    braid_code code = bd_dataset_rest(d, from, &rest, st);
    if (!code) code = bd_iterator_open(rest, r->chain, NULL, 0, &r->top, st);
    bd_dataset_unref(rest);
    if (code) bd_resource_unref(&r->base);
    *out = code ? NULL : r;
    return code;
}

static void run_get_next(data_run *r, bd_op_ctx *c, bool as_optional)
{
    next_waiter *w = waiter_of(bd_waiter_new(&r->wait_queue, c));
    w->as_optional = as_optional;
    atomic_fetch_add_explicit(&r->wanted, 1, memory_order_relaxed);
    bd_wait(&w->base, &r->waitlist);
    go_on(r, true);
}

// The resource drops the run. Without a waiter the run stops.
static void run_retire(data_run *r)
{
    if (!r) return;
    bd_wait_queue_lock(&r->wait_queue);
    bool is_wanted = r->waitlist.first;
    bd_wait_queue_unlock(&r->wait_queue);
    if (!is_wanted) bd_chain_stop(r->chain);
    bd_resource_unref(&r->base);
}

static void run_abandon(data_run *r)
{
    if (!r) return;
    bd_chain_stop(r->chain);
    bd_wait_queue_lock(&r->wait_queue);
    bd_waitlist_cancel_locked(&r->wait_queue, &r->waitlist);
    bd_wait_queue_unlock(&r->wait_queue);
    bd_resource_unref(&r->base);
}

// ---- The resource ----

struct bd_iterator_resource {
    bd_resource base;
    bd_promised_components components;
    bd_mutex mu;
    data_run *run;     // guarded by mu; a reference; NULL before the first dataset
    bool is_abandoned; // guarded by mu: its container was cleared
};

static bd_iterator_resource *resource_of(bd_resource *r)
{
    return BD_CONTAINER_OF(r, bd_iterator_resource, base);
}

static data_run *swap_run(bd_iterator_resource *r, data_run *run, bool abandons)
{
    bd_mutex_lock(&r->mu);
    data_run *old = r->is_abandoned ? run : r->run;
    if (!r->is_abandoned) r->run = run;
    r->is_abandoned |= abandons;
    bd_mutex_unlock(&r->mu);
    return old;
}

static void destroy(bd_resource *base)
{
    bd_iterator_resource *r = resource_of(base);
    run_retire(r->run);
    bd_mutex_fini(&r->mu);
    bd_promised_components_fini(&r->components);
    bd_free(r);
}

static void abandon(bd_resource *base)
{
    run_abandon(swap_run(resource_of(base), NULL, true));
}

const bd_resource_type bd_iterator_resource_type = {
    .name = "tensorflow::data::IteratorResource", .destroy = destroy, .abandon = abandon};

braid_code bd_iterator_resource_create(void *arg, bd_resource **out, braid_status *st)
{
    bd_promised_components components;
    if (bd_promised_components_read(&components, arg, st)) return st->code;
    bd_iterator_resource *r = bd_calloc(1, sizeof *r);
    bd_resource_init(&r->base, &bd_iterator_resource_type);
    bd_mutex_init(&r->mu);
    r->components = components;
    *out = &r->base;
    return BRAID_OK;
}

braid_code bd_iterator_resource_check(bd_resource *base, const braid_op *node, braid_status *st)
{
    return bd_promised_components_check(&resource_of(base)->components, node, st);
}

static braid_code begin(bd_iterator_resource *r, bd_dataset *d, const bd_iterator_place *from,
                        const bd_step *step, braid_status *st)
{
    data_run *run;
    braid_code code = run_new(d, from, step, &run, st);
    if (!code) run_retire(swap_run(r, run, false));
    return code;
}

braid_code bd_iterator_resource_set(bd_resource *base, bd_dataset *d, const bd_step *step, braid_status *st)
{
    bd_iterator_resource *r = resource_of(base);
    bd_iterator_place beginning = {0};
    const bd_promised_components *p = &r->components;
    braid_code code = bd_check_components(BD_COMPONENTS(p), BD_COMPONENTS(d), st);
    return code ? code : begin(r, d, &beginning, step, st);
}

// Returns a reference to the run, or NULL when there is none and the kernel has failed.
static data_run *run_to(bd_iterator_resource *r, bd_op_ctx *c, const char *name, const char *what)
{
    bd_mutex_lock(&r->mu);
    data_run *run = r->run;
    if (run) bd_resource_ref(&run->base);
    bd_mutex_unlock(&r->mu);
    if (!run)
        bd_op_fail(c, BRAID_FAILED_PRECONDITION,
                   "%s() failed because the iterator has not been initialized. Ensure that you have run the "
                   "initializer operation for this iterator before %s it.",
                   name, what);
    return run;
}

// ---- Saving the position ----

static bool save_run(data_run *run, bd_op_ctx *c)
{
    bd_pipeline *p = run->chain->pipeline;
    bd_iterator_place place = {0};
    bd_wait_queue_lock(&run->wait_queue);
    place.given = run->from.given + run->given;
    place.has_ended = run->from.has_ended || run->has_ended;
    bd_wait_queue_unlock(&run->wait_queue);
    bd_mutex_lock(&p->mu);
    bool fits = !p->has_other_seeds;
    size_t pos = 0;
    void *seeds;
    uint64_t path;
    place.seeds = bd_calloc(bd_imap_count(&p->seeds), sizeof *place.seeds);
    while (bd_imap_next(&p->seeds, &pos, &path, &seeds)) {
        bd_path_seeds *at = &place.seeds[place.seed_count++];
        at->path = path;
        memcpy(at->seeds, seeds, sizeof at->seeds);
    }
    bd_mutex_unlock(&p->mu);
    if (fits)
        bd_output_iterator_place(c, &place);
    else
        bd_op_fail(
            c, BRAID_FAILED_PRECONDITION,
            "The iterator cannot be saved: more than %d of its datasets draw random seeds; give them seeds",
            BD_PIPELINE_SEEDS_MAX);
    bd_free(place.seeds);
    return !bd_op_failed(c);
}

bool bd_iterator_resource_save(bd_resource *base, bd_op_ctx *c)
{
    data_run *run = run_to(resource_of(base), c, "Save", "saving");
    if (!run) return false;
    if (run->dataset->state)
        bd_op_fail(
            c, BRAID_FAILED_PRECONDITION,
            "The iterator cannot be saved, since its elements depend on external state: %s is stateful.",
            run->dataset->state);
    else
        save_run(run, c);
    bd_resource_unref(&run->base);
    return !bd_op_failed(c);
}

bool bd_iterator_resource_restore(bd_resource *base, bd_op_ctx *c, int i)
{
    BD_STATUS(st);
    bd_iterator_place from;
    bd_iterator_resource *r = resource_of(base);
    data_run *run = run_to(r, c, "Restore", "restoring");
    if (!run) return false;
    if (bd_input_iterator_place(c, i, &from)) {
        if (begin(r, run->dataset, &from, c->step, st)) bd_op_fail_status(c, st);
        bd_free(from.seeds);
    }
    bd_resource_unref(&run->base);
    return !bd_op_failed(c);
}

void bd_iterator_resource_get_next(bd_resource *base, bd_op_ctx *c, bool as_optional)
{
    bd_iterator_resource *r = resource_of(base);
    bd_mutex_lock(&r->mu);
    data_run *run = r->run;
    if (run) bd_resource_ref(&run->base);
    bool is_abandoned = r->is_abandoned;
    bd_mutex_unlock(&r->mu);
    if (run) {
        run_get_next(run, c, as_optional);
        bd_resource_unref(&run->base);
        return;
    }
    if (is_abandoned)
        bd_op_fail(c, BRAID_CANCELLED, "GetNext operation was cancelled: the iterator was deleted");
    else
        bd_op_fail(
            c, BRAID_FAILED_PRECONDITION,
            "GetNext() failed because the iterator has not been initialized. Ensure that you have run the "
            "initializer operation for this iterator before getting the next element.");
    bd_op_done(c);
}
