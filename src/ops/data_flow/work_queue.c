// Work queues: the shares of an input, handed out to the members of a training, each share to one at a time.
//
// A variable counts how many times each share was finished; it is saved and restored as any other. The lowest
// count is the current epoch: its shares that nobody holds are handed out. An execution that takes a share
// waits while others hold the rest of the epoch, because a share of a member that is lost becomes free again.
//
// A member is an execution of Join, which never ends by itself. It is cancelled with its session or with the
// connection to its process. All shares that the member holds then become free. Join and Take of a member run
// side by side, so a Take that comes first waits for its member.
#include "base/alloc.h"
#include "base/random.h"
#include "graph/shape_fn.h"
#include "ops/common/wait_queue.h"

typedef struct work_queue {
    bd_resource base;
    bd_wait_queue wait_queue;
    bd_waitlist members, takers;
    int64_t *holders; // [count] the member that holds a share; 0: free; guarded by the wait queue's mu
    int64_t count;    // 0 before the first share is taken; guarded by the wait queue's mu
} work_queue;

typedef struct worker {
    bd_waiter base;
    int64_t member;
    bool takes;
    int64_t share; // that it was given
} worker;

static work_queue *queue_of(const bd_wait_queue *wait_queue)
{
    return BD_CONTAINER_OF(wait_queue, work_queue, wait_queue);
}

static worker *worker_of(bd_waiter *w)
{
    return BD_CONTAINER_OF(w, worker, base);
}

// ---- Choosing a share ----

// Checks that the variable in input 0, whose lock is held, has counts, and stores how many. False: the kernel
// has failed.
static bool check_counts_locked(bd_op_ctx *c, const bd_variable *v, int64_t *count)
{
    if (!bd_tensor_is_set(&v->tensor))
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   c->node->inputs[0].op->name);
    else if (v->tensor.shape.rank != 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The counts of a work queue are a vector, not of shape %s",
                   bd_shape_str(&v->tensor.shape, (char[BD_SHAPE_STR_MAX]){0}));
    if (bd_op_failed(c)) return false;
    *count = v->tensor.shape.dims[0];
    return true;
}

// The place of a share in the order of an epoch: the lowest is first.
static uint64_t place_of(const braid_op *node, int64_t epoch, int64_t share)
{
    if (!bd_node_attr_bool(node, "shuffle")) return 0;
    bd_philox p = bd_philox_init((uint64_t)bd_node_attr_int(node, "seed"), (uint64_t)epoch);
    bd_philox_skip(&p, (uint64_t)share);
    uint32_t words[4];
    bd_philox_next4(&p, words);
    return (uint64_t)words[0] << 32 | words[1];
}

static int64_t epoch_of(const int64_t *counts, int64_t count)
{
    int64_t epoch = count > 0 ? counts[0] : 0;
    for (int64_t i = 1; i < count; i++)
        epoch = bd_min(epoch, counts[i]);
    return epoch;
}

// The first free share of an epoch; -1: there is none.
static int64_t first_free_locked(const work_queue *q, const braid_op *node, const int64_t *counts,
                                 int64_t epoch)
{
    int64_t best = -1;
    uint64_t best_place = 0;
    for (int64_t i = 0; i < q->count; i++) {
        if (q->holders[i] || counts[i] != epoch) continue;
        const uint64_t place = place_of(node, epoch, i);
        if (best >= 0 && place >= best_place) continue;
        best = i;
        best_place = place;
    }
    return best;
}

// Shares that exist no more are held by nobody.
static void resize_locked(work_queue *q, int64_t count)
{
    if (q->count == count) return;
    bd_free(q->holders);
    q->holders = bd_calloc((size_t)count + 1, sizeof *q->holders);
    q->count = count;
}

// Gives the taker a share, or an error. Returns false when it has to wait.
static bool give_locked(work_queue *q, worker *w)
{
    bd_op_ctx *c = w->base.c;
    bd_variable *v = bd_input_ref(c, 0);
    int64_t count;
    bool has_ended = true;
    bd_mutex_lock(&v->mu);
    if (check_counts_locked(c, v, &count)) {
        const int64_t *counts = bd_tensor_i64(&v->tensor);
        resize_locked(q, count);
        const int64_t epoch = epoch_of(counts, count), epochs = bd_node_attr_int(c->node, "num_epochs");
        if (count == 0 || (epochs > 0 && epoch >= epochs)) {
            bd_op_fail(c, BRAID_OUT_OF_RANGE, "All %lld shares are finished, %lld times", (long long)count,
                       (long long)epoch);
        } else {
            w->share = first_free_locked(q, c->node, counts, epoch);
            has_ended = w->share >= 0;
            if (has_ended) q->holders[w->share] = w->member;
        }
    }
    bd_mutex_unlock(&v->mu);
    return has_ended;
}

// ---- Waiting ----

static bool has_joined_locked(const work_queue *q, int64_t member)
{
    for (bd_waiter *m = q->members.first; m; m = m->next)
        if (worker_of(m)->member == member) return true;
    return false;
}

static void serve_locked(bd_wait_queue *wait_queue)
{
    work_queue *q = queue_of(wait_queue);
    for (bd_waiter *w = q->takers.first, *next; w; w = next) {
        next = w->next;
        if (has_joined_locked(q, worker_of(w)->member) && give_locked(q, worker_of(w)))
            bd_waiter_end_locked(w);
    }
}

// A member has left: its shares are free.
static void give_back_locked(bd_wait_queue *wait_queue, bd_waiter *w)
{
    work_queue *q = queue_of(wait_queue);
    if (w->line != &q->members) return;
    for (int64_t i = 0; i < q->count; i++)
        if (q->holders[i] == worker_of(w)->member) q->holders[i] = 0;
}

static void finish(bd_waiter *w)
{
    if (bd_op_failed(w->c) || !worker_of(w)->takes) return;
    braid_tensor *share = bd_output(w->c, 0, BRAID_INT64, &BD_SCALAR);
    if (share) *bd_tensor_i64(share) = worker_of(w)->share;
}

static const bd_wait_kind wait_kind = {
    .waiter_size = sizeof(worker),
    .serve_locked = serve_locked,
    .give_back_locked = give_back_locked,
    .finish = finish,
};

// ---- The resource ----

static void destroy(bd_resource *r)
{
    work_queue *q = BD_CONTAINER_OF(r, work_queue, base);
    bd_wait_queue_fini(&q->wait_queue);
    bd_free(q->holders);
    bd_free(q);
}

static void abandon(bd_resource *r)
{
    work_queue *q = BD_CONTAINER_OF(r, work_queue, base);
    bd_resource_ref(r);
    bd_wait_queue_lock(&q->wait_queue);
    bd_waitlist_cancel_locked(&q->wait_queue, &q->takers);
    bd_waitlist_cancel_locked(&q->wait_queue, &q->members);
    bd_wait_queue_unlock(&q->wait_queue);
    bd_resource_unref(r);
}

static const bd_resource_type work_queue_type = {.name = "WorkQueue", .destroy = destroy, .abandon = abandon};

static braid_code create(void *arg, bd_resource **out, braid_status *st)
{
    (void)arg, (void)st;
    work_queue *q = bd_calloc(1, sizeof *q);
    bd_resource_init(&q->base, &work_queue_type);
    bd_wait_queue_init(&q->wait_queue, &wait_kind, &q->base);
    q->members.what = "Membership of a work queue";
    q->takers.what = "Taking a share";
    *out = &q->base;
    return BRAID_OK;
}

// ---- The ops ----

// The queue of the node; the caller gets a reference. NULL: the kernel has failed.
static work_queue *queue_of_node(bd_op_ctx *c)
{
    const bd_resource_spec spec = {.container = bd_node_attr_string(c->node, "container"),
                                   .name = bd_node_attr_string(c->node, "shared_name"),
                                   .type = &work_queue_type,
                                   .create = create};
    BD_STATUS(st);
    bd_resource *r;
    for (int i = 1; i < c->input_count; i++)
        if (bd_input(c, i)->shape.rank != 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Members and shares of a work queue are scalars");
    if (!bd_op_failed(c) && *bd_tensor_i64(bd_input(c, 1)) == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "No member of a work queue is called 0");
    if (bd_op_failed(c)) return NULL;
    if (!bd_resources_lookup_or_create(c->step->resources, &spec, &r, st))
        return BD_CONTAINER_OF(r, work_queue, base);
    bd_op_fail_status(c, st);
    return NULL;
}

static void wait_start(bd_op_ctx *c, bool takes)
{
    work_queue *q = queue_of_node(c);
    if (!q) {
        bd_op_done(c);
        return;
    }
    bd_waiter *w = bd_waiter_new(&q->wait_queue, c);
    worker_of(w)->member = *bd_tensor_i64(bd_input(c, 1));
    worker_of(w)->takes = takes;
    bd_wait(w, takes ? &q->takers : &q->members);
    bd_resource_unref(&q->base);
}

static void join_start(bd_op_ctx *c)
{
    wait_start(c, false);
}

static void take_start(bd_op_ctx *c)
{
    wait_start(c, true);
}

static void finish_locked(bd_op_ctx *c, work_queue *q)
{
    const int64_t member = *bd_tensor_i64(bd_input(c, 1)), share = *bd_tensor_i64(bd_input(c, 2));
    if (share < 0 || share >= q->count || q->holders[share] != member) {
        bd_op_fail(c, BRAID_ABORTED,
                   "Share %lld is not this worker's any more: its connection was lost, and the share is free "
                   "for others",
                   (long long)share);
        return;
    }
    int64_t count;
    BD_STATUS(st);
    bd_variable *v = bd_input_ref(c, 0);
    bd_mutex_lock(&v->mu);
    if (check_counts_locked(c, v, &count) && share < count) {
        if (bd_variable_make_writable_locked(v, st))
            bd_op_fail_status(c, st);
        else
            bd_tensor_i64(&v->tensor)[share]++;
    }
    bd_mutex_unlock(&v->mu);
    if (!bd_op_failed(c)) q->holders[share] = 0;
}

static void finish_run(bd_op_ctx *c)
{
    work_queue *q = queue_of_node(c);
    if (!q) return;
    bd_wait_queue_lock(&q->wait_queue);
    finish_locked(c, q);
    bd_wait_queue_unlock(&q->wait_queue);
    bd_resource_unref(&q->base);
}

static braid_code no_outputs(bd_shape_ctx *c, braid_status *st)
{
    (void)c, (void)st;
    return BRAID_OK;
}

#define NAME_ATTRS "container:string=''; shared_name:string=''"

BD_OP(_WorkQueueJoin) = {
    .signature = "(finished: Ref(int64), member: int64) -> ()",
    .attrs = NAME_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = no_outputs,
    .kernels = BD_KERNELS({.start = join_start}),
    .doc = "Is a member of a work queue until it is cancelled; the shares that the member holds are then "
           "free.",
};

BD_OP(_WorkQueueTake) = {
    .signature = "(finished: Ref(int64), member: int64) -> (share: int64)",
    .attrs = NAME_ATTRS "; num_epochs:int=0; shuffle:bool=false; seed:int=0",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.start = take_start}),
    .doc = "Takes a share that nobody holds and that is not finished in this epoch; waits for one while "
           "others hold the rest. OutOfRange after the last epoch.",
};

BD_OP(_WorkQueueFinish) = {
    .signature = "(finished: Ref(int64), member: int64, share: int64) -> ()",
    .attrs = NAME_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = no_outputs,
    .kernels = BD_KERNELS({.run = finish_run}),
    .doc = "Counts a share of the member as finished in this epoch. Aborted when the member does not hold "
           "it.",
};
