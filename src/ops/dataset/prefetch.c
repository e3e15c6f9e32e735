// PrefetchDataset: computes elements of its input in advance.
//
// The input has a chain of its own, which fills the buffer and stops when it is full, or at the end. A pull
// that finds the buffer empty waits, and the next answer of the input serves it directly. With buffer_size -1
// the buffer has one place first and doubles each time it was full and then found empty, as in TensorFlow.
#include "ops/dataset/prefetch.h"

#include "base/alloc.h"
#include "base/array.h"
#include "ops/dataset/stats.h"
#include <string.h>

typedef struct prefetch_dataset {
    bd_dataset base;
    int64_t buffer_size; // -1: found out
    char *node;          // for statistics; owned; NULL: none are recorded
} prefetch_dataset;

// An element or an error that was got ready.
typedef struct ready_answer {
    braid_status st;
    braid_tensor *tensors; // owned; NULL of an error
} ready_answer;

typedef struct prefetch_iterator {
    bd_iterator base;
    bd_chain *below;
    bd_mutex mu;
    BD_ARRAY(ready_answer) buffer; // guarded by mu, as all below; [first, len) is not given yet
    size_t first;
    int64_t limit;
    bool was_full, is_fetching, is_over, is_waiting;
    int64_t given;
    bd_any_ready *any_ready; // a reference; NULL; not guarded
} prefetch_iterator;

struct bd_any_ready {
    atomic_int refs;
    bd_mutex mu;
    bool is_waiting; // guarded by mu
    // Not owned. It is there while it waits: whoever pulled it waits for its answer.
    bd_iterator *owner;
    bd_turn (*wake)(bd_iterator *owner);
};

// Found out by itself, the buffer gets no larger: elements may be large.
#define LIMIT_MAX 512

static prefetch_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, prefetch_iterator, base);
}

static braid_code prefetch_open(bd_iterator *it, braid_status *st)
{
    prefetch_iterator *p = iterator_of(it);
    int64_t size = BD_CONTAINER_OF(it->dataset, prefetch_dataset, base)->buffer_size;
    bd_mutex_init(&p->mu);
    p->limit = size < 0 ? 1 : size;
    p->below = bd_chain_below(it->chain);
    return bd_iterator_open(it->dataset->inputs[0], p->below, it, 0, &it->input, st);
}

static size_t held_locked(const prefetch_iterator *p)
{
    return p->buffer.len - p->first;
}

// Returns whether to pull the input now; the caller then pulls it, with a reference for the input's chain.
static bool starts_fetch_locked(bd_iterator *it)
{
    prefetch_iterator *p = iterator_of(it);
    if (p->is_fetching || p->is_over || (!p->is_waiting && (int64_t)held_locked(p) >= p->limit)) return false;
    p->is_fetching = true;
    bd_iterator_ref(it);
    return true;
}

// Records the number of ready elements when an element is pulled.
static void note_stats_locked(bd_iterator *it)
{
    const char *node = BD_CONTAINER_OF(it->dataset, prefetch_dataset, base)->node;
    const prefetch_iterator *p = iterator_of(it);
    if (!bd_stats_are_gathered(it) || !node) return;
    const double held = (double)held_locked(p), limit = (double)p->limit;
    if (held > 0) bd_stats_add_of(it, node, "buffer_utilization", held / limit, p->given);
    bd_stats_set_of(it, node, "buffer_size", held, p->given);
    bd_stats_set_of(it, node, "buffer_capacity", limit, p->given);
}

static void take_ready_locked(bd_iterator *it, bd_turn *turn)
{
    prefetch_iterator *p = iterator_of(it);
    ready_answer *a = &p->buffer.items[p->first++];
    if (a->tensors) {
        memcpy(it->answer.tensors, a->tensors, (size_t)it->dataset->count * sizeof(braid_tensor));
        bd_free(a->tensors);
        *turn = bd_give(it);
    } else {
        *turn = bd_give_error(it, &a->st);
    }
    if (p->first < p->buffer.len) return;
    p->first = p->buffer.len = 0;
}

static bd_turn prefetch_next(bd_iterator *it)
{
    prefetch_iterator *p = iterator_of(it);
    bd_turn turn = BD_WAIT;
    bd_mutex_lock(&p->mu);
    note_stats_locked(it);
    if (held_locked(p) > 0) {
        p->given++;
        take_ready_locked(it, &turn);
    } else if (p->is_over) {
        turn = bd_give_end(it);
    } else {
        bool grows = BD_CONTAINER_OF(it->dataset, prefetch_dataset, base)->buffer_size < 0 && p->was_full;
        if (grows && p->limit < LIMIT_MAX) p->limit *= 2;
        p->was_full = false;
        p->is_waiting = true;
    }
    bool fetches = starts_fetch_locked(it);
    bd_mutex_unlock(&p->mu);
    return fetches ? bd_turn_spawn_beside(p->below, bd_pull(it, it->input), turn) : turn;
}

static void put_ready_locked(bd_iterator *it, bd_iterator *from)
{
    prefetch_iterator *p = iterator_of(it);
    ready_answer a = {0};
    if (from->answer.kind == BD_ANSWER_ELEMENT) {
        a.tensors = bd_calloc((size_t)it->dataset->count, sizeof *a.tensors);
        bd_answer_take(from, a.tensors);
    } else {
        bd_status_move(&a.st, &from->answer.st);
    }
    if (p->first > 0 && p->buffer.len == p->buffer.cap) { // the places in front are free
        memmove(p->buffer.items, p->buffer.items + p->first, held_locked(p) * sizeof a);
        p->buffer.len -= p->first;
        p->first = 0;
    }
    bd_array_push(&p->buffer, a);
    if ((int64_t)held_locked(p) >= p->limit) p->was_full = true;
}

// ---- Waiting for any ----

bd_any_ready *bd_any_ready_new(bd_iterator *owner, bd_turn (*wake)(bd_iterator *owner))
{
    bd_any_ready *a = bd_calloc(1, sizeof *a);
    atomic_init(&a->refs, 1);
    bd_mutex_init(&a->mu);
    a->owner = owner;
    a->wake = wake;
    return a;
}

void bd_any_ready_unref(bd_any_ready *a)
{
    if (!a || atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) > 1) return;
    bd_mutex_fini(&a->mu);
    bd_free(a);
}

void bd_prefetch_set_any_ready(bd_iterator *it, bd_any_ready *a)
{
    atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
    iterator_of(it)->any_ready = a;
}

// An iterator that gets an element ready does so before it looks whether the owner waits, and the owner asks
// is_ready only after it has said that it waits: one of them sees the other.
bool bd_any_ready_wait(bd_any_ready *a, bool (*is_ready)(bd_iterator *owner))
{
    bd_mutex_lock(&a->mu);
    bool waits = a->is_waiting = !is_ready(a->owner);
    bd_mutex_unlock(&a->mu);
    return waits;
}

// The turn of the owner if it waits.
static bd_turn wake_owner(bd_any_ready *a)
{
    if (!a) return BD_WAIT;
    bd_mutex_lock(&a->mu);
    bool wakes = a->is_waiting;
    a->is_waiting = false;
    bd_mutex_unlock(&a->mu);
    return wakes ? a->wake(a->owner) : BD_WAIT;
}

// ---- Answers of the input ----

// The chain of the input has answered. A waiting pull, or the owner that waits for any iterator, continues on
// this thread, and the chain on another one.
static bd_turn prefetch_received(bd_iterator *it, bd_iterator *from)
{
    prefetch_iterator *p = iterator_of(it);
    bd_turn turn = BD_WAIT;
    bd_mutex_lock(&p->mu);
    bool serves = p->is_waiting;
    p->is_waiting = p->is_fetching = false;
    p->is_over = from->answer.kind == BD_ANSWER_END;
    p->given += serves;
    if (serves)
        turn = bd_pass(it, from);
    else if (!p->is_over)
        put_ready_locked(it, from);
    bool stopped = bd_cancellation_is_cancelled(p->below->token),
         fetches = !stopped && starts_fetch_locked(it);
    bd_mutex_unlock(&p->mu);
    bd_turn pull = fetches ? bd_pull(it, from) : BD_WAIT;
    if (!serves) turn = wake_owner(p->any_ready);
    bool continues = serves || turn.kind != BD_TURN_WAIT;
    if (continues && fetches) bd_turn_spawn(p->below, pull);
    if (!continues) turn = pull;
    bd_iterator_unref(it); // may free the iterator, unless a pull runs or waits
    return turn;
}

static void prefetch_stop(bd_iterator *it)
{
    if (iterator_of(it)->below) bd_chain_stop(iterator_of(it)->below);
}

static void prefetch_close(bd_iterator *it)
{
    prefetch_iterator *p = iterator_of(it);
    for (size_t i = p->first; i < p->buffer.len; i++) {
        ready_answer *a = &p->buffer.items[i];
        if (a->tensors) bd_tensors_fini(a->tensors, it->dataset->count);
        bd_free(a->tensors);
        bd_status_fini(&a->st);
    }
    bd_array_free(&p->buffer);
    bd_any_ready_unref(p->any_ready);
    bd_mutex_fini(&p->mu);
    bd_chain_unref(p->below);
}

static void prefetch_destroy(bd_dataset *d)
{
    bd_free(BD_CONTAINER_OF(d, prefetch_dataset, base)->node);
}

static const bd_dataset_kind prefetch_kind = {
    .name = "Prefetch",
    .destroy = prefetch_destroy,
    .dataset_size = sizeof(prefetch_dataset),
    .iterator_size = sizeof(prefetch_iterator),
    .cardinality = bd_cardinality_of_input,
    .open = prefetch_open,
    .next = prefetch_next,
    .received = prefetch_received,
    .stop = prefetch_stop,
    .close = prefetch_close,
};

braid_code bd_prefetch_dataset_new(bd_dataset *input, int64_t size, bd_dataset **out, braid_status *st)
{
    braid_code code = bd_dataset_new(&prefetch_kind, BD_COMPONENTS(input), &input, 1, out, st);
    if (!code) BD_CONTAINER_OF(*out, prefetch_dataset, base)->buffer_size = size;
    return code;
}

void bd_prefetch_begin(bd_iterator *it)
{
    prefetch_iterator *p = iterator_of(it);
    bd_mutex_lock(&p->mu);
    bool fetches = starts_fetch_locked(it);
    bd_mutex_unlock(&p->mu);
    if (fetches) bd_turn_spawn(p->below, bd_pull(it, it->input));
}

bool bd_prefetch_is_ready(bd_iterator *it)
{
    prefetch_iterator *p = iterator_of(it);
    bd_mutex_lock(&p->mu);
    bool is_ready = held_locked(p) > 0 || p->is_over;
    bd_mutex_unlock(&p->mu);
    return is_ready;
}

static void prefetch_run(bd_op_ctx *c)
{
    int64_t size;
    if (!bd_input_scalar_int(c, 1, "buffer_size", &size)) return;
    if (size < -1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning");
        return;
    }
    bd_dataset *d = bd_dataset_over_input(c, &prefetch_kind);
    if (!d) return;
    BD_CONTAINER_OF(d, prefetch_dataset, base)->buffer_size = size;
    BD_CONTAINER_OF(d, prefetch_dataset, base)->node = bd_strdup(c->node->name);
    bd_output_dataset(c, d);
}

BD_OP(PrefetchDataset) = {
    .signature = "(input_dataset: variant, buffer_size: int64) -> (handle: variant)",
    .attrs = "slack_period:int=0; legacy_autotune:bool=true; " BD_DATASET_ATTRS
             "; +buffer_size_min:int=0; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = prefetch_run}),
    .doc =
        "Gets up to `buffer_size` elements ready while others are used; -1: as many as turn out to be of use.",
};
