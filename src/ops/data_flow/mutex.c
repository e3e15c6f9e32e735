// Locks that a step holds from one node to others: MutexV2, MutexLock, ConsumeMutexLock, the parts of
// critical sections.
//
// The holder of the mutex is a variant. The mutex is unlocked when the last reference to the variant is
// dropped, also when the step fails.
#include "base/alloc.h"
#include "base/check.h"
#include "graph/shape_fn.h"
#include "ops/common/handle.h"
#include "ops/common/variant.h"
#include "ops/common/wait_queue.h"

typedef struct mutex {
    bd_resource base;
    bd_wait_queue wait_queue;
    bd_waitlist line; // guarded by the room's mu
    bool is_held;     // guarded by the room's mu
} mutex;

typedef struct held {
    bd_variant base;
    mutex *mutex; // a reference
} held;

static mutex *mutex_of(const bd_wait_queue *wait_queue)
{
    return BD_CONTAINER_OF(wait_queue, mutex, wait_queue);
}

static void release(bd_variant *v)
{
    held *h = BD_CONTAINER_OF(v, held, base);
    mutex *m = h->mutex;
    bd_free(h);
    bd_wait_queue_lock(&m->wait_queue);
    m->is_held = false;
    bd_wait_queue_unlock(&m->wait_queue);
    bd_resource_unref(&m->base);
}

static const bd_variant_type held_type = {.name = "SharedLockReleaser", .destroy = release};

// ---- The resource ----

static void serve_locked(bd_wait_queue *wait_queue)
{
    mutex *m = mutex_of(wait_queue);
    if (m->is_held || !m->line.first) return;
    m->is_held = true;
    bd_waiter_end_locked(m->line.first);
}

static void finish(bd_waiter *w)
{
    if (bd_op_failed(w->c)) return; // cancelled while it waited
    held *h = bd_calloc(1, sizeof *h);
    bd_variant_init(&h->base, &held_type);
    h->mutex = mutex_of(w->wait_queue);
    bd_resource_ref(&h->mutex->base);
    bd_output_variant(w->c, 0, &h->base);
}

static const bd_wait_kind wait_kind = {
    .waiter_size = sizeof(bd_waiter),
    .serve_locked = serve_locked,
    .finish = finish,
};

static void destroy(bd_resource *r)
{
    mutex *m = BD_CONTAINER_OF(r, mutex, base);
    bd_wait_queue_fini(&m->wait_queue);
    bd_free(m);
}

static void abandon(bd_resource *r)
{
    mutex *m = BD_CONTAINER_OF(r, mutex, base);
    bd_resource_ref(r);
    bd_wait_queue_lock(&m->wait_queue);
    bd_waitlist_cancel_locked(&m->wait_queue, &m->line);
    bd_wait_queue_unlock(&m->wait_queue);
    bd_resource_unref(r);
}

static const bd_resource_type mutex_type = {.name = "Mutex", .destroy = destroy, .abandon = abandon};

static braid_code create_mutex(void *arg, bd_resource **out, braid_status *st)
{
    (void)arg;
    (void)st;
    mutex *m = bd_calloc(1, sizeof *m);
    bd_resource_init(&m->base, &mutex_type);
    bd_wait_queue_init(&m->wait_queue, &wait_kind, &m->base);
    m->line.what = "Lock acquisition";
    *out = &m->base;
    return BRAID_OK;
}

// ---- The ops ----

// Only names the resource: the first to lock it makes it.
static void handle_run(bd_op_ctx *c)
{
    bd_output_handle(c, bd_node_attr_string(c->node, "container"),
                     bd_node_attr_string(c->node, "shared_name"), &mutex_type);
}

static void lock_start(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_resource *r;
    const braid_tensor *t = bd_input(c, 0);
    const bd_resource_handle *h = bd_tensor_count(t) == 1 ? bd_tensor_handle(t) : NULL;
    if (!h || !h->name) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "MutexLock '%s': input 0 is no handle of a mutex",
                   c->node->name);
        bd_op_done(c);
    } else if (!bd_handle_check_kind(c, h, &mutex_type)) {
        bd_op_done(c);
    } else if (bd_resources_lookup_or_create(
                   c->step->resources,
                   &(bd_resource_spec){h->container, h->name, &mutex_type, create_mutex, NULL}, &r, st)) {
        bd_op_fail_status(c, st);
        bd_op_done(c);
    } else {
        mutex *m = BD_CONTAINER_OF(r, mutex, base);
        bd_wait(bd_waiter_new(&m->wait_queue, c), &m->line);
        bd_resource_unref(r);
    }
}

static void consume_run(bd_op_ctx *c)
{
    const braid_tensor *t = bd_input(c, 0);
    if (t->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected input to be a scalar, saw shape: %s",
                   bd_shape_str(&t->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return;
    }
    const bd_variant *v = bd_tensor_variant(t)[0];
    if (!v || v->type != &held_type)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected input to contain a SharedLockReleaser object, but saw variant: '%s'",
                   bd_variant_type_name(v));
}

static braid_code consume_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)c;
    (void)st;
    return BRAID_OK;
}

BD_OP(MutexV2) = {
    .signature = "() -> (resource: resource)",
    .attrs = "container:string=''; shared_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = handle_run}),
    .doc = "A handle to a mutex.",
};

BD_OP(MutexLock) = {
    .signature = "(mutex: resource) -> (mutex_lock: variant)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.start = lock_start}),
    .doc = "Waits for a mutex and locks it until the last reference to the output is dropped.",
};

BD_OP(ConsumeMutexLock) = {
    .signature = "(mutex_lock: variant) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = consume_shape,
    .kernels = BD_KERNELS({.run = consume_run}),
    .doc = "Releases a lock; nodes that must run before need control edges to this node.",
};
