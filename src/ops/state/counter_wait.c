// Waiting until a counter, an integer variable, has reached a value: _WaitForCount, _ResourceWaitForCount.
//
// The first execution that waits gives the variable a watch with a wait queue. From then on each kernel that
// changes the variable serves the queue after the change. An execution enters the queue before it looks at
// the value, and a kernel looks for the watch after the change, both under the variable's lock: so either the
// execution sees the new value or the kernel sees the watch.
#include "base/alloc.h"
#include "graph/shape_fn.h"
#include "ops/common/wait_queue.h"
#include "ops/state/variable.h"

typedef struct counter_watch {
    bd_variable_watch base;
    bd_variable *variable; // that owns this
    bd_wait_queue wait_queue;
    bd_waitlist waiters;
} counter_watch;

typedef struct count_waiter {
    bd_waiter base;
    int64_t at_least;
} count_waiter;

static counter_watch *watch_of(bd_wait_queue *wait_queue)
{
    return BD_CONTAINER_OF(wait_queue, counter_watch, wait_queue);
}

// ---- The value ----

// Kernels may write the value meanwhile.
BD_HOGWILD static int64_t element(const braid_tensor *t)
{
    return t->dtype == BRAID_INT64 ? *(volatile const int64_t *)t->data : *(volatile const int32_t *)t->data;
}

// Returns false when the variable has no value now, or is not a scalar any more.
static bool read_count(bd_variable *v, int64_t *count)
{
    braid_tensor value = {0};
    if (!bd_variable_read(v, &value)) return false;
    const bool counts = value.shape.rank == 0;
    if (counts) *count = element(&value);
    bd_tensor_fini(&value);
    return counts;
}

// ---- Waiting ----

static void serve_locked(bd_wait_queue *wait_queue)
{
    counter_watch *w = watch_of(wait_queue);
    int64_t count;
    if (!w->waiters.first || !read_count(w->variable, &count)) return;
    for (bd_waiter *waiter = w->waiters.first, *next; waiter; waiter = next) {
        next = waiter->next;
        if (count >= BD_CONTAINER_OF(waiter, count_waiter, base)->at_least) bd_waiter_end_locked(waiter);
    }
}

static void finish(bd_waiter *w)
{
    (void)w; // no outputs
}

static const bd_wait_kind wait_kind = {
    .waiter_size = sizeof(count_waiter), .serve_locked = serve_locked, .finish = finish};

// ---- The watch ----

static void changed(bd_variable_watch *watch)
{
    counter_watch *w = BD_CONTAINER_OF(watch, counter_watch, base);
    bd_wait_queue_lock(&w->wait_queue);
    bd_wait_queue_unlock(&w->wait_queue); // serves
}

static void abandoned(bd_variable_watch *watch)
{
    counter_watch *w = BD_CONTAINER_OF(watch, counter_watch, base);
    bd_wait_queue_lock(&w->wait_queue);
    bd_waitlist_cancel_locked(&w->wait_queue, &w->waiters);
    bd_wait_queue_unlock(&w->wait_queue);
}

static void destroy(bd_variable_watch *watch)
{
    counter_watch *w = BD_CONTAINER_OF(watch, counter_watch, base);
    bd_wait_queue_fini(&w->wait_queue);
    bd_free(w);
}

static counter_watch *watch_new(bd_variable *v)
{
    counter_watch *w = bd_calloc(1, sizeof *w);
    w->base = (bd_variable_watch){.changed = changed, .abandoned = abandoned, .destroy = destroy};
    w->variable = v;
    w->waiters.what = "Waiting for a count";
    bd_wait_queue_init(&w->wait_queue, &wait_kind, &v->base);
    return w;
}

static counter_watch *find_watch(bd_variable *v)
{
    bd_mutex_lock(&v->mu);
    if (!v->watch) v->watch = &watch_new(v)->base;
    bd_variable_watch *watch = v->watch;
    bd_mutex_unlock(&v->mu);
    return BD_CONTAINER_OF(watch, counter_watch, base);
}

// ---- The ops ----

static bool is_counter(bd_op_ctx *c, bd_variable *v)
{
    bd_mutex_lock(&v->mu);
    const bool is_set = bd_tensor_is_set(&v->tensor);
    const braid_shape shape = v->tensor.shape;
    bd_mutex_unlock(&v->mu);
    if (!is_set)
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   c->node->inputs[0].op->name);
    else if (shape.rank != 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "A counter is a scalar, not of shape %s",
                   bd_shape_str(&shape, (char[BD_SHAPE_STR_MAX]){0}));
    return !bd_op_failed(c);
}

static void wait_for_count(bd_op_ctx *c, bd_variable *v)
{
    if (!is_counter(c, v)) {
        bd_op_done(c);
        return;
    }
    counter_watch *w = find_watch(v);
    bd_waiter *waiter = bd_waiter_new(&w->wait_queue, c);
    BD_CONTAINER_OF(waiter, count_waiter, base)->at_least = bd_node_attr_int(c->node, "at_least");
    bd_wait(waiter, &w->waiters);
}

static void wait_start(bd_op_ctx *c)
{
    wait_for_count(c, bd_input_ref(c, 0));
}

static void resource_wait_start(bd_op_ctx *c)
{
    bd_variable *v = bd_input_variable_to_read(c, 0, bd_node_attr_type(c->node, "T"));
    if (!v) {
        bd_op_done(c);
        return;
    }
    wait_for_count(c, v);
    bd_resource_unref(&v->base);
}

static braid_code wait_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape shape = bd_shape_ctx_variable(c, 0);
    if (shape.rank > 0) return bd_shape_ctx_fail(c, st, "Shape must be rank 0 but is rank %d", shape.rank);
    return BRAID_OK;
}

#define WAIT_ATTRS "at_least:int; T:type{int32,int64}"

BD_OP(_WaitForCount) = {
    .signature = "(ref: Ref(T)) -> ()",
    .attrs = WAIT_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = wait_shape,
    .kernels = BD_KERNELS({.start = wait_start}),
    .doc = "Ends when a counter is at_least or more, at once or when another execution has counted it up.",
};

BD_OP(_ResourceWaitForCount) = {
    .signature = "(resource: resource) -> ()",
    .attrs = WAIT_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = wait_shape,
    .kernels = BD_KERNELS({.start = resource_wait_start}),
    .doc = "_WaitForCount of a resource variable.",
};
