// Queues of batches. A batch is open, closed, running, or done.
// 1. An execution enters the open batch. When it does not fit, the batch is closed and a new one is opened.
// 2. The oldest batch runs as soon as it is closed, full, or as old as the timeout, and a thread is free for
//    it: at most `threads` batches run at the same time. Its inputs are taken from the executions, which
//    may be cancelled meanwhile.
// 3. When it is done, the executions that still wait get its results. A batch for which none waits is
//    dropped, or its run is cancelled.
// 4. A timer closes the open batch. It hands the work to a thread of the steps that wait.
#include "ops/data_flow/batch_queue.h"

#include "base/account.h"
#include "base/alloc.h"
#include "base/random.h"
#include "base/timer.h"
#include "ops/common/element.h"
#include "ops/common/wait_queue.h"

#include <string.h>

typedef struct batch {
    bd_batch base;      // first member
    atomic_int refs;    // of the queue (until it is done), and of each waiter
    struct batch *next; // in its list
    bd_waitlist line;   // guarded by the queue's mu, as all below
    int64_t deadline_ns;
    bd_timer_id timer; // 0: none
    bool is_running;
} batch;

typedef struct batch_list {
    batch *first;
    batch **end; // NULL: the list is empty
    int64_t count;
} batch_list;

typedef struct bd_batch_queue {
    bd_resource base;
    bd_wait_queue wait_queue;
    const bd_batch_kind *kind;
    int64_t threads, size_max, enqueued_max, timeout_ns;
    int64_t *sizes; // [size_count], owned
    int size_count;
    bd_timers *timers;    // NULL: there is no timeout
    bd_waitlist arrivals; // guarded by wait_queue.mu, as all below
    batch_list waiting;   // closed ones, and the open one, which is the last
    batch_list ready;     // running, but not yet started
    batch_list running;   // started
} bd_batch_queue;

typedef struct batch_waiter {
    bd_waiter base;
    bd_batch_task task;
    batch *batch;         // a reference; NULL: none yet
    braid_tensor *inputs; // owned: [count + captured_count]; NULL once the batch has them
    int count, captured_count;
    const bd_callee *callee;
    bd_function_runtime *functions; // a reference, or NULL
    bool is_served, cancels_run;
} batch_waiter;

static batch_waiter *waiter_of(bd_waiter *w)
{
    return BD_CONTAINER_OF(w, batch_waiter, base);
}

static bd_batch_queue *queue_of(bd_wait_queue *w)
{
    return BD_CONTAINER_OF(w, bd_batch_queue, wait_queue);
}

// ---- Batches ----

static void free_tensors(braid_tensor *tensors, int count)
{
    for (int i = 0; tensors && i < count; i++)
        bd_tensor_fini(&tensors[i]);
    bd_free(tensors);
}

static void batch_unref(batch *b)
{
    if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
    for (int i = 0; i < b->base.entry_count; i++)
        free_tensors(b->base.entries[i].inputs, b->base.input_count);
    bd_free(b->base.entries);
    free_tensors(b->base.captured, b->base.captured_count);
    free_tensors(b->base.results, b->base.result_count);
    bd_function_runtime_unref(b->base.functions);
    bd_account_unref(b->base.account);
    if (b->base.cancellation) bd_cancellation_unref(b->base.cancellation);
    bd_status_fini(&b->base.status);
    bd_free(b);
}

static void append(batch_list *list, batch *b)
{
    if (!list->first) list->end = &list->first;
    b->next = NULL;
    *list->end = b;
    list->end = &b->next;
    list->count++;
}

static void take_out(batch_list *list, const batch *b)
{
    batch **at = &list->first;
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    if (!b->next) list->end = at;
    list->count--;
}

static batch *last_of(const batch_list *list)
{
    batch *b = list->first;
    while (b && b->next)
        b = b->next;
    return b;
}

static void fire(void *arg);

static batch *open_batch_locked(bd_batch_queue *q)
{
    batch *b = bd_calloc(1, sizeof *b);
    b->base.queue = q;
    b->base.kind = q->kind;
    atomic_init(&b->refs, 1);
    b->line.what = q->kind->what;
    const int64_t now = bd_now_ns();
    b->deadline_ns = q->timeout_ns < BD_FOREVER - now ? now + q->timeout_ns : BD_FOREVER;
    if (q->timers) b->timer = bd_timer_add(q->timers, b->deadline_ns, fire, q);
    append(&q->waiting, b);
    return b;
}

static void stop_timer(const bd_batch_queue *q, batch *b)
{
    if (b->timer) bd_timer_cancel(q->timers, b->timer);
    b->timer = 0;
}

// ---- Entering ----

// Whether the inputs are of the same number and types as those of the batch.
static bool is_alike(const batch *b, const batch_waiter *w)
{
    const batch_waiter *other = waiter_of(b->line.first);
    if (other->count != w->count) return false;
    for (int i = 0; i < w->count; i++)
        if (other->inputs[i].dtype != w->inputs[i].dtype) return false;
    return true;
}

static void enter_locked(bd_batch_queue *q, batch_waiter *w)
{
    batch *b = last_of(&q->waiting);
    if (w->task.size > q->size_max) {
        bd_op_fail(w->base.c, BRAID_INVALID_ARGUMENT, "Task size %lld is larger than maximum batch size %lld",
                   (long long)w->task.size, (long long)q->size_max);
        bd_waiter_end_locked(&w->base);
        return;
    }
    if (b && !is_alike(b, w)) {
        bd_op_fail(w->base.c, BRAID_INVALID_ARGUMENT,
                   "Batching inputs must have equal number of edges, of the same types");
        bd_waiter_end_locked(&w->base);
        return;
    }
    if (b && w->task.size > q->size_max - b->base.size) {
        if (q->waiting.count >= q->enqueued_max) {
            bd_op_fail(w->base.c, BRAID_UNAVAILABLE,
                       "The batch scheduling queue to which this task was submitted is full");
            bd_waiter_end_locked(&w->base);
            return;
        }
        b = NULL;
    }
    if (!b) b = open_batch_locked(q);
    bd_waiter_move_locked(&w->base, &b->line);
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    w->batch = b;
    b->base.size += w->task.size;
}

// ---- Running ----

static bool may_run_locked(const bd_batch_queue *q)
{
    const batch *b = q->waiting.first;
    if (!b || (!q->kind->is_unlimited && q->ready.count + q->running.count >= q->threads)) return false;
    return b->next || b->base.size >= q->size_max || b->deadline_ns <= bd_now_ns();
}

// Takes over what the run needs from the last execution of the batch.
static void take_captured(bd_batch *b, batch_waiter *w)
{
    b->callee = w->callee;
    b->functions = w->functions;
    w->functions = NULL;
    b->account = bd_account_ref(w->base.c->step->account);
    b->captured_count = w->captured_count;
    b->captured = bd_calloc((size_t)w->captured_count, sizeof *b->captured);
    for (int i = 0; i < w->captured_count; i++)
        bd_tensor_move(&b->captured[i], &w->inputs[w->count + i]);
}

static void ready_locked(bd_batch_queue *q, batch *b)
{
    stop_timer(q, b);
    take_out(&q->waiting, b);
    append(&q->ready, b);
    b->is_running = true;
    b->base.cancellation = bd_cancellation_new(NULL);
    bd_resource_ref(&q->base); // until it is done
    int count = 0;
    for (const bd_waiter *w = b->line.first; w; w = w->next)
        count++;
    b->base.entries = bd_calloc((size_t)count, sizeof *b->base.entries);
    b->base.size = 0;
    for (bd_waiter *base = b->line.first; base; base = base->next) {
        batch_waiter *w = waiter_of(base);
        w->task.offset = b->base.size;
        b->base.size += w->task.size;
        if (!base->next) take_captured(&b->base, w);
        for (int i = 0; i < w->captured_count; i++)
            bd_tensor_fini(&w->inputs[w->count + i]);
        b->base.input_count = w->count;
        b->base.entries[b->base.entry_count++] =
            (bd_batch_entry){.key = w->task.key, .size = w->task.size, .inputs = w->inputs};
        w->inputs = NULL;
    }
}

static void serve_locked(bd_wait_queue *wait_queue)
{
    bd_batch_queue *q = queue_of(wait_queue);
    do {
        while (may_run_locked(q))
            ready_locked(q, q->waiting.first);
        if (q->arrivals.first) enter_locked(q, waiter_of(q->arrivals.first));
    } while (q->arrivals.first || may_run_locked(q));
}

static void start_ready(bd_wait_queue *wait_queue)
{
    bd_batch_queue *q = queue_of(wait_queue);
    for (;;) {
        bd_mutex_lock(&wait_queue->mu);
        batch *b = q->ready.first;
        if (b) {
            take_out(&q->ready, b);
            append(&q->running, b);
        }
        bd_mutex_unlock(&wait_queue->mu);
        if (!b) return;
        q->kind->run(&b->base);
    }
}

void bd_batch_done(bd_batch *base)
{
    batch *b = BD_CONTAINER_OF(base, batch, base);
    bd_batch_queue *q = base->queue;
    bd_wait_queue_lock(&q->wait_queue);
    take_out(&q->running, b);
    for (bd_waiter *w; (w = b->line.first);) {
        waiter_of(w)->is_served = true;
        waiter_of(w)->task.is_last = !w->next;
        bd_waiter_end_locked(w);
    }
    bd_wait_queue_unlock(&q->wait_queue);
    batch_unref(b);
    bd_resource_unref(&q->base);
}

// ---- The ends of waiters ----

static void give_back_locked(bd_wait_queue *wait_queue, bd_waiter *base)
{
    bd_batch_queue *q = queue_of(wait_queue);
    batch_waiter *w = waiter_of(base);
    batch *b = w->batch;
    if (!b) return;
    const bool is_last = b->line.first == base && b->line.last == base;
    if (b->is_running) {
        w->cancels_run = is_last;
        return;
    }
    b->base.size -= w->task.size;
    if (!is_last) return;
    stop_timer(q, b);
    take_out(&q->waiting, b);
    batch_unref(b); // the waiter has a reference
}

static void finish(bd_waiter *base)
{
    batch_waiter *w = waiter_of(base);
    bd_op_ctx *c = base->c;
    batch *b = w->batch;
    BD_STATUS(why);
    if (w->cancels_run) {
        (void)bd_fail(why, BRAID_CANCELLED, "no step waits for the batch");
        bd_cancellation_cancel(b->base.cancellation, why);
    }
    if (w->is_served && !bd_op_failed(c)) {
        w->task.batch = &b->base;
        if (b->base.status.code)
            bd_op_fail_status(c, &b->base.status);
        else
            b->base.kind->give(c, &w->task);
    }
    free_tensors(w->inputs, w->count + w->captured_count);
    bd_function_runtime_unref(w->functions);
    if (b) batch_unref(b);
    *w = (batch_waiter){.base = w->base};
}

static const bd_wait_kind wait_kind = {.waiter_size = sizeof(batch_waiter),
                                       .serve_locked = serve_locked,
                                       .give_back_locked = give_back_locked,
                                       .finish = finish,
                                       .unlocked = start_ready};

// ---- The timer ----

static void fire(void *arg)
{
    bd_batch_queue *q = arg;
    bd_wait_queue_lock(&q->wait_queue);
    bd_wait_queue_unlock_timer(&q->wait_queue, q->waiting.first ? q->waiting.first->line.first : NULL);
}

// ---- The resource ----

static void queue_destroy(bd_resource *r)
{
    bd_batch_queue *q = BD_CONTAINER_OF(r, bd_batch_queue, base);
    bd_timers_free(q->timers);
    bd_wait_queue_fini(&q->wait_queue);
    bd_free(q->sizes);
    bd_free(q);
}

static void cancel_list_locked(bd_batch_queue *q, batch_list *list)
{
    for (batch *b = list->first, *next; b; b = next) {
        next = b->next; // a batch without waiters leaves the list
        bd_waitlist_cancel_locked(&q->wait_queue, &b->line);
    }
}

static void queue_abandon(bd_resource *r)
{
    bd_batch_queue *q = BD_CONTAINER_OF(r, bd_batch_queue, base);
    bd_resource_ref(r);
    bd_wait_queue_lock(&q->wait_queue);
    bd_waitlist_cancel_locked(&q->wait_queue, &q->arrivals);
    cancel_list_locked(q, &q->waiting);
    cancel_list_locked(q, &q->ready);
    cancel_list_locked(q, &q->running);
    bd_wait_queue_unlock(&q->wait_queue);
    bd_resource_unref(r);
}

static const bd_resource_type queue_type = {
    .name = "BatchQueue", .destroy = queue_destroy, .abandon = queue_abandon};

static braid_code create_queue(void *arg, bd_resource **out, braid_status *st)
{
    const bd_batch_options *o = arg;
    bd_batch_queue *q = bd_calloc(1, sizeof *q);
    if (o->timeout_micros > 0) {
        const braid_code code = bd_timers_new(&q->timers, st);
        if (code) {
            bd_free(q);
            return code;
        }
    }
    bd_resource_init(&q->base, &queue_type);
    bd_wait_queue_init(&q->wait_queue, &wait_kind, &q->base);
    q->arrivals.what = o->kind->what;
    q->kind = o->kind;
    q->threads = o->threads;
    q->size_max = o->size_max;
    q->enqueued_max = o->enqueued_max;
    q->timeout_ns = o->timeout_micros < BD_FOREVER / 1000 ? o->timeout_micros * 1000 : BD_FOREVER;
    q->size_count = o->size_count;
    q->sizes = bd_memdup(o->sizes, (size_t)o->size_count * sizeof *o->sizes);
    *out = &q->base;
    return BRAID_OK;
}

// ---- Interface ----

static braid_code check_sizes(const bd_batch_options *o, braid_status *st)
{
    for (int i = 1; i < o->size_count; i++)
        if (o->sizes[i] <= o->sizes[i - 1])
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "allowed_batch_sizes entries must be monotonically increasing");
    if (o->size_count > 0 && o->sizes[o->size_count - 1] != o->size_max)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "final entry in allowed_batch_sizes must equal max_batch_size");
    return BRAID_OK;
}

braid_code bd_batch_options_read(const braid_op *node, const bd_batch_kind *kind, bd_batch_options *o,
                                 braid_status *st)
{
    const char *shared = bd_node_attr_string(node, "shared_name");
    const bd_attr *sizes = bd_node_attr(node, "allowed_batch_sizes");
    *o = (bd_batch_options){.kind = kind,
                            .container = bd_node_attr_string(node, "container"),
                            .name = shared[0] ? shared : node->name,
                            .queue = bd_node_attr_string(node, "batching_queue"),
                            .threads = bd_node_attr_int(node, "num_batch_threads"),
                            .size_max = bd_node_attr_int(node, "max_batch_size"),
                            .enqueued_max = bd_node_attr_int(node, "max_enqueued_batches"),
                            .timeout_micros = bd_node_attr_int(node, "batch_timeout_micros"),
                            .sizes = sizes->list.i,
                            .size_count = sizes->list.count};
    if (o->threads < 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "num_batch_threads must be positive; was %lld",
                       (long long)o->threads);
    if (o->size_max < 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "max_batch_size must be positive; was %lld",
                       (long long)o->size_max);
    if (o->timeout_micros < 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "batch_timeout_micros must be non-negative; was %lld",
                       (long long)o->timeout_micros);
    return check_sizes(o, st);
}

// Checks that the inputs have one size along their first dimension.
static bool check_inputs(bd_op_ctx *c, int count)
{
    for (int i = 0; i < count && !bd_op_failed(c); i++) {
        const braid_shape *shape = &bd_input(c, i)->shape;
        if (shape->rank == 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Batching input tensors must have at least one dimension");
        else if (shape->dims[0] != bd_input(c, 0)->shape.dims[0])
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "Batching input tensors supplied in a given op invocation must have equal 0th-dimension size");
    }
    return !bd_op_failed(c);
}

static bd_batch_queue *find_queue(bd_op_ctx *c, const bd_batch_options *o)
{
    char *name = o->queue[0] ? bd_asprintf("%s/%s", o->name, o->queue) : bd_strdup(o->name);
    bd_resource *r;
    BD_STATUS(st);
    const bd_resource_spec spec = {o->container, name, &queue_type, create_queue, (void *)o};
    const braid_code code = bd_resources_lookup_or_create(c->step->resources, &spec, &r, st);
    bd_free(name);
    if (code) {
        bd_op_fail_status(c, st);
        return NULL;
    }
    bd_batch_queue *q = BD_CONTAINER_OF(r, bd_batch_queue, base);
    if (q->kind == o->kind) return q;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "the batch queue '%s' belongs to %s nodes", o->name, q->kind->what);
    bd_resource_unref(r);
    return NULL;
}

void bd_batch_wait(bd_op_ctx *c, const bd_batch_options *o, int count, const bd_callee *callee)
{
    braid_tensor *inputs = bd_calloc((size_t)c->input_count, sizeof *inputs);
    bool has_memory = true;
    for (int i = 0; i < c->input_count; i++)
        has_memory = bd_tensor_keep(&inputs[i], bd_input(c, i)) && has_memory;
    if (!has_memory) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a tensor for a batch");
    bd_batch_queue *q = has_memory && check_inputs(c, count) ? find_queue(c, o) : NULL;
    if (!q) {
        free_tensors(inputs, c->input_count);
        bd_op_done(c);
        return;
    }
    batch_waiter *w = waiter_of(bd_waiter_new(&q->wait_queue, c));
    w->count = count;
    w->captured_count = c->input_count - count;
    w->inputs = inputs;
    w->task = (bd_batch_task){.key = (int64_t)bd_random_u64(), .size = bd_input(c, 0)->shape.dims[0]};
    w->callee = callee;
    if (callee) w->functions = bd_function_runtime_ref(c->step->functions);
    bd_wait(&w->base, &q->arrivals);
    bd_resource_unref(&q->base);
}

int64_t bd_batch_padded_size(const bd_batch *b)
{
    const bd_batch_queue *q = b->queue;
    for (int i = 0; i < q->size_count; i++)
        if (q->sizes[i] >= b->size) return q->sizes[i];
    return b->size;
}

braid_code bd_batch_join(const bd_batch *b, int i, braid_tensor *out, braid_status *st)
{
    const braid_tensor *first = &b->entries[0].inputs[i];
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    braid_shape shape = first->shape;
    shape.dims[0] = b->size > 0 ? bd_batch_padded_size(b) : 0;
    if (b->entry_count == 1 && shape.dims[0] == b->size) {
        bd_tensor_ref(out, first);
        return BRAID_OK;
    }
    const braid_code code = bd_tensor_init(out, first->dtype, &shape, st);
    if (code) return code;
    const braid_tensor *source = NULL; // of the rows that fill it up
    int64_t at = 0;
    for (int k = 0; k < b->entry_count; k++) {
        const braid_tensor *piece = &b->entries[k].inputs[i];
        braid_shape alike = piece->shape;
        alike.dims[0] = shape.dims[0];
        if (!bd_shape_equal(&alike, &shape)) {
            bd_tensor_fini(out);
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Dimensions of inputs of a batch should match but for the first: %s vs. %s",
                           bd_shape_str(&first->shape, x), bd_shape_str(&piece->shape, y));
        }
        bd_elements_join(out, 0, at, piece, piece->shape.dims[0]);
        at += piece->shape.dims[0];
        if (!source && piece->shape.dims[0] > 0) source = piece;
    }
    const int64_t row = bd_shape_count_range(&shape, 1, shape.rank);
    for (; at < shape.dims[0]; at++)
        bd_elements_copy(out, at * row, source, 0, row);
    if (!bd_tensor_is_incomplete(out)) return BRAID_OK;
    bd_tensor_fini(out);
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when copying strings into a batch");
}
