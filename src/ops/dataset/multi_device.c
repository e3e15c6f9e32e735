// Iterators whose elements are sharded over several devices.
//
// A run is one pass over a dataset: element i belongs to shard i modulo their number, whichever shard asks
// first. The chain of its iterators starts with the first request. It works ahead until the shard whose turn
// it is holds its maximum of elements. It answers into that shard, which then serves its waiters.
//
// References: one of the resource, one of each waiter, and one of the chain while it runs.
#include "ops/dataset/multi_device.h"

#include "base/alloc.h"
#include <string.h>

typedef struct ready_answer {
    struct ready_answer *next;
    bd_answer answer; // tensors are owned
} ready_answer;

typedef struct device_shard {
    bd_waitlist line;
    ready_answer *first, **end;
    int64_t held; // answers at hand
} device_shard;

typedef struct shared_run {
    bd_resource base; // only its count is used: it is in no container
    bd_wait_queue wait_queue;
    int shard_count;
    device_shard *
        // [shard_count], owned; guarded by wait_queue.mu, like the fields below except `chain`, `top` and
        // constants
        shards;
    int turn; // the shard of the next answer
    bool is_running, has_ended;
    int64_t max_buffer_size, incarnation; // these two never change
    bd_chain *chain;
    bd_iterator *top;
} shared_run;

typedef struct shard_waiter {
    bd_waiter base;
    bool has_answer;
    bd_answer answer;
} shard_waiter;

static shared_run *run_of(bd_wait_queue *wait_queue)
{
    return BD_CONTAINER_OF(wait_queue, shared_run, wait_queue);
}

static shard_waiter *waiter_of(bd_waiter *w)
{
    return BD_CONTAINER_OF(w, shard_waiter, base);
}

static void drop_answer(bd_answer *a, int count)
{
    if (a->tensors) bd_tensors_fini(a->tensors, count);
    bd_free(a->tensors);
    bd_status_fini(&a->st);
    *a = (bd_answer){0};
}

// ---- Those that wait ----

static void take_ready_locked(device_shard *s, bd_answer *out)
{
    ready_answer *a = s->first;
    *out = a->answer;
    s->first = a->next;
    if (!s->first) s->end = &s->first;
    s->held--;
    bd_free(a);
}

// Takes an answer for the first waiter of a shard. Returns false when there is no answer yet.
static bool take_answer_locked(const shared_run *r, device_shard *s, bd_answer *out)
{
    *out = (bd_answer){.kind = BD_ANSWER_END};
    if (s->first) {
        take_ready_locked(s, out);
    } else if (!r->has_ended && bd_cancellation_is_cancelled(r->chain->token)) {
        out->kind = BD_ANSWER_ERROR;
        bd_fail(&out->st, BRAID_CANCELLED, "Cancelled Multidevice iterator: it was deleted, or begun anew");
    } else if (!r->has_ended) {
        return false;
    }
    return true;
}

static void serve_locked(bd_wait_queue *wait_queue)
{
    shared_run *r = run_of(wait_queue);
    for (int i = 0; i < r->shard_count; i++) {
        device_shard *s = &r->shards[i];
        bd_answer answer;
        while (s->line.first && take_answer_locked(r, s, &answer)) {
            shard_waiter *w = waiter_of(s->line.first);
            w->has_answer = true;
            w->answer = answer;
            bd_waiter_end_locked(&w->base);
        }
    }
}

static void finish(bd_waiter *base)
{
    shard_waiter *w = waiter_of(base);
    int count = run_of(base->wait_queue)->top->dataset->count;
    if (!w->has_answer) return; // cancelled
    bd_output_answer(base->c, &w->answer, count);
    drop_answer(&w->answer, count);
    w->has_answer = false;
}

static const bd_wait_kind wait_kind = {
    .waiter_size = sizeof(shard_waiter),
    .serve_locked = serve_locked,
    .finish = finish,
};

// ---- The chain ----

static void put_ready_locked(shared_run *r, bd_iterator *it)
{
    device_shard *s = &r->shards[r->turn];
    ready_answer *a = bd_calloc(1, sizeof *a);
    a->answer.kind = it->answer.kind;
    if (it->answer.kind == BD_ANSWER_ELEMENT) {
        a->answer.tensors = bd_calloc((size_t)it->dataset->count, sizeof *a->answer.tensors);
        bd_answer_take(it, a->answer.tensors);
    } else {
        bd_status_move(&a->answer.st, &it->answer.st);
    }
    *s->end = a;
    s->end = &a->next;
    s->held++;
    r->turn = (r->turn + 1) % r->shard_count;
}

// Whether another element is to be had now.
static bool is_wanted_locked(const shared_run *r)
{
    const device_shard *s = &r->shards[r->turn];
    if (r->has_ended || bd_cancellation_is_cancelled(r->chain->token)) return false;
    return s->held < r->max_buffer_size || (s->line.first && !s->first);
}

static bd_turn answered(bd_chain *chain, bd_iterator *it)
{
    shared_run *r = chain->arg;
    bd_wait_queue_lock(&r->wait_queue);
    if (it->answer.kind == BD_ANSWER_END)
        r->has_ended = true;
    else
        put_ready_locked(r, it);
    bd_wait_queue_unlock(&r->wait_queue); // waiters take the held answers before the chain continues
    bd_wait_queue_lock(&r->wait_queue);
    bool goes_on = is_wanted_locked(r);
    r->is_running = goes_on;
    bd_wait_queue_unlock(&r->wait_queue);
    if (goes_on) return bd_pull(NULL, it);
    bd_resource_unref(&r->base); // may free the run
    return BD_WAIT;
}

static void go_on(shared_run *r)
{
    bd_wait_queue_lock(&r->wait_queue);
    bool starts = !r->is_running && is_wanted_locked(r);
    if (starts) {
        r->is_running = true;
        bd_resource_ref(&r->base);
    }
    bd_wait_queue_unlock(&r->wait_queue);
    if (starts) bd_turn_spawn(r->chain, bd_pull(NULL, r->top));
}

// ---- Runs ----

static void destroy_run(bd_resource *base)
{
    shared_run *r = BD_CONTAINER_OF(base, shared_run, base);
    for (int i = 0; i < r->shard_count; i++) {
        while (r->shards[i].first) {
            bd_answer answer;
            take_ready_locked(&r->shards[i], &answer);
            drop_answer(&answer, r->top->dataset->count);
        }
    }
    bd_chain_stop(r->chain);
    bd_iterator_close(r->top);
    bd_chain_unref(r->chain);
    bd_wait_queue_fini(&r->wait_queue);
    bd_free(r->shards);
    bd_free(r);
}

static const bd_resource_type run_type = {.name = "MultiDeviceIteratorRun", .destroy = destroy_run};

static braid_code run_new(bd_dataset *d, int shard_count, const bd_step *step, shared_run **out,
                          braid_status *st)
{
    shared_run *r = bd_calloc(1, sizeof *r);
    bd_resource_init(&r->base, &run_type);
    bd_wait_queue_init(&r->wait_queue, &wait_kind, &r->base);
    r->shard_count = shard_count;
    r->shards = bd_calloc((size_t)shard_count, sizeof *r->shards);
    for (int i = 0; i < shard_count; i++) {
        r->shards[i].line.what = "GetNextFromShard";
        r->shards[i].end = &r->shards[i].first;
    }
    r->chain = bd_chain_new(step, NULL);
    r->chain->answered = answered;
    r->chain->arg = r;
    braid_code code = bd_iterator_open(d, r->chain, NULL, 0, &r->top, st);
    if (code) bd_resource_unref(&r->base);
    *out = code ? NULL : r;
    return code;
}

static void run_abandon(shared_run *r)
{
    if (!r) return;
    bd_chain_stop(r->chain);
    bd_wait_queue_lock(&r->wait_queue);
    bd_wait_queue_unlock(&r->wait_queue); // serves the waiters with an error
    bd_resource_unref(&r->base);
}

// ---- The resource ----

typedef struct multi_device {
    bd_resource base;
    bd_promised_components components;
    int shard_count;
    bd_mutex mu;
    int64_t incarnation; // guarded by mu, as all below: of the last run
    shared_run *run;     // a reference; NULL before the first dataset
    bool is_abandoned;   // its container was cleared
} multi_device;

static multi_device *resource_of(bd_resource *r)
{
    return BD_CONTAINER_OF(r, multi_device, base);
}

static void destroy(bd_resource *base)
{
    multi_device *m = resource_of(base);
    run_abandon(m->run);
    bd_mutex_fini(&m->mu);
    bd_promised_components_fini(&m->components);
    bd_free(m);
}

static void abandon(bd_resource *base)
{
    multi_device *m = resource_of(base);
    bd_mutex_lock(&m->mu);
    shared_run *run = m->run;
    m->run = NULL;
    m->is_abandoned = true;
    bd_mutex_unlock(&m->mu);
    run_abandon(run);
}

const bd_resource_type bd_multi_device_type = {
    .name = "tensorflow::data::MultiDeviceIterator", .destroy = destroy, .abandon = abandon};

braid_code bd_multi_device_create(void *node, bd_resource **out, braid_status *st)
{
    bd_promised_components components;
    if (bd_promised_components_read(&components, node, st)) return st->code;
    multi_device *m = bd_calloc(1, sizeof *m);
    bd_resource_init(&m->base, &bd_multi_device_type);
    bd_mutex_init(&m->mu);
    m->components = components;
    m->shard_count = bd_node_attr(node, "devices")->list.count;
    *out = &m->base;
    return BRAID_OK;
}

braid_code bd_multi_device_check(bd_resource *r, const braid_op *node, braid_status *st)
{
    return bd_promised_components_check(&resource_of(r)->components, node, st);
}

braid_code bd_multi_device_set(bd_resource *base, bd_dataset *d, int64_t max_buffer_size, const bd_step *step,
                               int64_t *incarnation, braid_status *st)
{
    multi_device *m = resource_of(base);
    const bd_promised_components *p = &m->components;
    shared_run *run, *old;
    if (bd_check_components(BD_COMPONENTS(p), BD_COMPONENTS(d), st) ||
        run_new(d, m->shard_count, step, &run, st))
        return st->code;
    run->max_buffer_size = max_buffer_size;
    bd_mutex_lock(&m->mu);
    run->incarnation = *incarnation = ++m->incarnation;
    old = m->is_abandoned ? run : m->run;
    if (!m->is_abandoned) m->run = run;
    bd_mutex_unlock(&m->mu);
    run_abandon(old);
    return BRAID_OK;
}

// Checks that the run is the requested one and has the shard.
static bool check_shard(bd_op_ctx *c, const shared_run *r, int shard, int64_t incarnation)
{
    if (r->incarnation != incarnation)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid incarnation id. Provided: %lld; Expected: %lld",
                   (long long)incarnation, (long long)r->incarnation);
    else if (shard < 0 || shard >= r->shard_count)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "shard_num is %d, but the iterator is for %d devices", shard,
                   r->shard_count);
    return !bd_op_failed(c);
}

void bd_multi_device_get_next(bd_resource *base, bd_op_ctx *c, int number, int64_t incarnation)
{
    multi_device *m = resource_of(base);
    bd_mutex_lock(&m->mu);
    shared_run *r = m->run;
    if (r) bd_resource_ref(&r->base);
    bool is_abandoned = m->is_abandoned;
    bd_mutex_unlock(&m->mu);
    if (r && check_shard(c, r, number, incarnation)) {
        bd_wait(bd_waiter_new(&r->wait_queue, c), &r->shards[number].line);
        go_on(r);
        bd_resource_unref(&r->base);
        return;
    }
    if (r)
        bd_resource_unref(&r->base);
    else if (is_abandoned)
        bd_op_fail(c, BRAID_CANCELLED, "Cancelled Multidevice iterator: it was deleted");
    else
        bd_op_fail(c, BRAID_FAILED_PRECONDITION,
                   "The multi-device iterator has not been initialized: run MultiDeviceIteratorInit first");
    bd_op_done(c);
}
