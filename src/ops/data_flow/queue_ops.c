// Ops on queues. The ops that may wait are asynchronous: see wait_queue.h.
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/handle.h"
#include "ops/data_flow/queue.h"

#include "base/alloc.h"
#include <string.h>

// ---- Making queues ----

typedef struct source_state {
    bd_handle_source handle;
    bd_queue_options options; // name is the handle's; types and shapes are owned
} source_state;

static braid_code check_shape(const braid_op *node, int i, const braid_shape *s, bool pads, braid_status *st)
{
    char text[BD_SHAPE_STR_MAX];
    int64_t count;
    if (pads && s->rank < 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Queue '%s': the shape of component %d must have known rank.", node->name, i);
    if (!pads && !bd_shape_is_known(s))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Queue '%s': the shape of component %d is not fully known: %s", node->name, i,
                       bd_shape_str(s, text));
    if (s->rank == BRAID_RANK_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Queue '%s': component %d has %d dimensions: too many for a batch", node->name, i,
                       s->rank);
    return bd_shape_is_known(s) ? bd_shape_checked_count(s, &count, st) : BRAID_OK;
}

// Reads the types and shapes of the options from the attrs; in a priority queue the priority precedes them.
// Without shapes the options have none.
static braid_code read_components(const braid_op *node, bd_queue_options *o, bool pads, braid_status *st)
{
    const bd_attr *types = bd_node_attr(node, "component_types"), *shapes = bd_node_attr(node, "shapes");
    if (pads && shapes->list.count != types->list.count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Shapes must be provided for all components, but received %d dtypes and %d shapes.",
                       types->list.count, shapes->list.count);
    if (shapes->list.count > 0 && shapes->list.count != types->list.count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Different number of component types.  Types: %d Shapes: %d", types->list.count,
                       shapes->list.count);
    for (int i = 0; i < shapes->list.count; i++)
        if (check_shape(node, i, &shapes->list.shape[i], pads, st)) return st->code;
    const int before = o->is_priority;
    o->component_count = before + types->list.count;
    braid_dtype *copied_types = bd_calloc((size_t)o->component_count, sizeof *copied_types);
    copied_types[0] = BRAID_INT64;
    for (int i = 0; i < types->list.count; i++)
        copied_types[before + i] = types->list.type[i];
    o->types = copied_types;
    if (shapes->list.count == 0 && types->list.count > 0) return BRAID_OK;
    braid_shape *copied_shapes = bd_calloc((size_t)o->component_count, sizeof *copied_shapes); // scalars
    for (int i = 0; i < shapes->list.count; i++)
        copied_shapes[before + i] = shapes->list.shape[i];
    o->shapes = copied_shapes;
    return BRAID_OK;
}

static braid_code create_source(const braid_op *node, source_state *s, const char *kind, braid_status *st)
{
    int64_t capacity = bd_node_attr_int(node, "capacity");
    const bool is_random = !strcmp(kind, "RandomShuffleQueue");
    s->options = (bd_queue_options){.kind = kind,
                                    .is_random = is_random,
                                    .is_priority = !strcmp(kind, "PriorityQueue"),
                                    .capacity = capacity < 0 ? BD_QUEUE_UNBOUNDED : capacity};
    if (is_random) {
        s->options.min_after_dequeue = bd_node_attr_int(node, "min_after_dequeue");
        s->options.seed = bd_node_attr_int(node, "seed");
        s->options.seed2 = bd_node_attr_int(node, "seed2");
    }
    if (s->options.min_after_dequeue < 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "min_after_dequeue %lld must be >= 0",
                       (long long)s->options.min_after_dequeue);
    if (is_random && s->options.min_after_dequeue >= s->options.capacity)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "min_after_dequeue %lld must be < capacity %lld",
                       (long long)s->options.min_after_dequeue, (long long)s->options.capacity);
    braid_code code = read_components(node, &s->options, !strcmp(kind, "PaddingFIFOQueue"), st);
    if (code) return code;
    bd_handle_source_init(&s->handle, node, &bd_queue_type);
    s->options.name = s->handle.name;
    return BRAID_OK;
}

static braid_code fifo_create(const braid_op *node, void *state, braid_status *st)
{
    return create_source(node, state, "FIFOQueue", st);
}

static braid_code padding_create(const braid_op *node, void *state, braid_status *st)
{
    return create_source(node, state, "PaddingFIFOQueue", st);
}

static braid_code priority_create(const braid_op *node, void *state, braid_status *st)
{
    return create_source(node, state, "PriorityQueue", st);
}

static braid_code random_create(const braid_op *node, void *state, braid_status *st)
{
    return create_source(node, state, "RandomShuffleQueue", st);
}

static void source_destroy(void *state)
{
    source_state *s = state;
    bd_handle_source_fini(&s->handle);
    bd_free((void *)s->options.types);
    bd_free((void *)s->options.shapes);
}

static braid_code create_queue(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    *out = &bd_queue_new(arg)->base;
    return BRAID_OK;
}

static void source_run(bd_op_ctx *c)
{
    source_state *s = c->state;
    BD_STATUS(st);
    bd_resource *r = bd_handle_source_output(c, &s->handle, create_queue, &s->options);
    if (!r) return;
    if (bd_queue_check_options(BD_CONTAINER_OF(r, bd_queue, base), &s->options, st)) bd_op_fail_status(c, st);
    bd_resource_unref(r);
}

// ---- Using queues ----

// The queue in input 0; the caller gives the reference back. NULL: the execution has failed and ended.
static bd_queue *queue_input(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &bd_queue_type);
    if (r) return BD_CONTAINER_OF(r, bd_queue, base);
    bd_op_done(c);
    return NULL;
}

static void fail_shape(bd_op_ctx *c, int component, const braid_shape *want, const braid_shape *got)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Shape mismatch in tuple component %d. Expected %s, got %s",
               component, bd_shape_str(want, a), bd_shape_str(got, b));
}

static bool check_component(bd_op_ctx *c, const bd_queue_options *o, int i, bool many)
{
    const braid_tensor *t = bd_input(c, 1 + i), *first = bd_input(c, 1);
    if (t->dtype != o->types[i]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Type mismatch in tuple component %d. Expected %s, got %s", i,
                   braid_dtype_name(o->types[i]), braid_dtype_name(t->dtype));
        return false;
    }
    if (many && t->shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Component %d of a batch of elements must have at least one dimension", i);
        return false;
    }
    if (o->shapes) {
        braid_shape want = o->shapes[i], both;
        if (many) {
            want = (braid_shape){.rank = o->shapes[i].rank + 1, .dims = {first->shape.dims[0]}};
            memcpy(want.dims + 1, o->shapes[i].dims, sizeof want.dims[0] * (size_t)o->shapes[i].rank);
        }
        if (!bd_shape_merge(&want, &t->shape, &both)) fail_shape(c, i, &want, &t->shape);
    } else if (o->is_priority && i == 0 && t->shape.rank != (many ? 1 : 0)) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected the priority element to be a %s, but received shape: %s",
                   many ? "vector" : "scalar", bd_shape_str(&t->shape, text));
    } else if (many && t->shape.dims[0] != first->shape.dims[0]) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "All input tensors must have the same size in the 0th dimension. Component %d has %lld, and should "
            "have %lld",
            i, (long long)t->shape.dims[0], (long long)first->shape.dims[0]);
    }
    return !bd_op_failed(c);
}

// An element must not change when a variable does.
static bool own_component(bd_op_ctx *c, int i)
{
    braid_tensor *t = &c->inputs[1 + i].tensor, copy = {0};
    if (!t->buffer || !t->buffer->is_variable) return true;
    if (!bd_tensor_snapshot(&copy, t)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying the variable that is enqueued");
        return false;
    }
    bd_tensor_fini(t);
    *t = copy;
    return true;
}

static void enqueue(bd_op_ctx *c, bool many)
{
    bd_queue *q = queue_input(c);
    if (!q) return;
    const bd_queue_options *o = &q->options;
    if (c->input_count - 1 != o->component_count)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Wrong number of components in tuple. Expected %d, got %d",
                   o->component_count, c->input_count - 1);
    bool ok = !bd_op_failed(c);
    for (int i = 0; i < o->component_count && ok; i++)
        ok = check_component(c, o, i, many) && own_component(c, i);
    if (ok) {
        bd_queue_enqueue(q, c, 1, many);
    } else {
        bd_op_done(c);
    }
    bd_resource_unref(&q->base);
}

static void enqueue_start(bd_op_ctx *c)
{
    enqueue(c, false);
}

static void enqueue_many_start(bd_op_ctx *c)
{
    enqueue(c, true);
}

static bool check_outputs(bd_op_ctx *c, const bd_queue_options *o)
{
    bool same = c->output_count == o->component_count;
    for (int i = 0; i < c->output_count && same; i++)
        same = c->node->output_types[i] == o->types[i];
    if (!same)
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Signature mismatch: the %d components of %s '%s' have other types than the outputs of %s '%s'",
            o->component_count, o->kind, o->name, c->node->op_type, c->node->name);
    return same;
}

static void dequeue_start(bd_op_ctx *c)
{
    bd_queue *q = queue_input(c);
    if (!q) return;
    if (check_outputs(c, &q->options)) {
        bd_queue_dequeue(q, c);
    } else {
        bd_op_done(c);
    }
    bd_resource_unref(&q->base);
}

static bool check_many(bd_op_ctx *c, const bd_queue_options *o, int64_t *n)
{
    if (!bd_input_int(c, 1, "n", n) || !check_outputs(c, o)) return false;
    if (*n < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s requested %lld < 0 elements", c->node->op_type,
                   (long long)*n);
    if (!o->shapes)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "%s's DequeueMany and DequeueUpTo require the components to have specified shapes.",
                   o->kind);
    for (int i = 0; i < o->component_count && !bd_op_failed(c); i++) {
        BD_STATUS(st);
        int64_t count;
        if (!bd_shape_is_known(&o->shapes[i])) continue; // such a shape is checked when the elements arrive
        braid_shape all = bd_shape2(*n, bd_shape_count(&o->shapes[i]));
        if (bd_shape_checked_count(&all, &count, st)) bd_op_fail_status(c, st);
    }
    return !bd_op_failed(c);
}

static void dequeue_many(bd_op_ctx *c, bool up_to)
{
    bd_queue *q = queue_input(c);
    if (!q) return;
    int64_t n;
    if (check_many(c, &q->options, &n)) {
        bd_queue_dequeue_many(q, c, n, up_to);
    } else {
        bd_op_done(c);
    }
    bd_resource_unref(&q->base);
}

static void dequeue_many_start(bd_op_ctx *c)
{
    dequeue_many(c, false);
}

static void dequeue_up_to_start(bd_op_ctx *c)
{
    dequeue_many(c, true);
}

static void close_start(bd_op_ctx *c)
{
    bd_queue *q = queue_input(c);
    if (!q) return;
    bd_queue_close(q, c, bd_node_attr_bool(c->node, "cancel_pending_enqueues"));
    bd_resource_unref(&q->base);
}

static void size_run(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &bd_queue_type);
    if (!r) return;
    bd_queue *q = BD_CONTAINER_OF(r, bd_queue, base);
    const bd_attr *reset = bd_node_attr(c->node, BD_QUEUE_RESET_ATTR);
    const bool is_reset = reset && reset->kind == BD_ATTR_BOOL && reset->b;
    braid_tensor *y = bd_output(c, 0, BRAID_INT32, &BD_SCALAR);
    if (y) bd_tensor_i32(y)[0] = (int32_t)(is_reset ? bd_queue_reset(q) : bd_queue_size(q));
    bd_resource_unref(r);
}

static void is_closed_run(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &bd_queue_type);
    if (!r) return;
    braid_tensor *y = bd_output(c, 0, BRAID_BOOL, &BD_SCALAR);
    if (y) bd_tensor_bool(y)[0] = bd_queue_is_closed(BD_CONTAINER_OF(r, bd_queue, base));
    bd_resource_unref(r);
}

static braid_code wait_create(const braid_op *node, void *state, braid_status *st)
{
    (void)state;
    if (bd_node_attr_int(node, "timeout_ms") == -1) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Timeout not supported yet.");
}

// ---- Shapes ----

// The shape of component `i`, if the queue's node is known and gives it. The first one of a priority queue is
// the priority.
static braid_shape component_shape(const bd_shape_ctx *c, int i)
{
    const braid_op *source = c->node->input_count > 0 ? c->node->inputs[0].op : NULL;
    const bd_attr *shapes = source ? bd_node_attr(source, "shapes") : NULL;
    const bool is_priority =
        source && strncmp(source->op_type, "PriorityQueue", strlen("PriorityQueue")) == 0;
    const bool fits = shapes && shapes->kind == BD_ATTR_LIST && shapes->item_kind == BD_ATTR_SHAPE &&
                      shapes->list.count == c->output_count - is_priority;
    if (is_priority && i == 0) return BD_SCALAR;
    return fits ? shapes->list.shape[i - is_priority] : BD_SHAPE_UNKNOWN;
}

static braid_code enqueue_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_handle(c, st);
}

static braid_code dequeue_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = component_shape(c, i);
    return bd_shape_ctx_handle(c, st);
}

// `n` rows (-1: unknown) of the components.
static braid_code batch_shape(bd_shape_ctx *c, int64_t n, braid_status *st)
{
    braid_code code = bd_shape_ctx_handle(c, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 0, st);
    for (int i = 0; i < c->output_count && !code; i++) {
        const braid_shape one = component_shape(c, i);
        c->outputs[i] = BD_SHAPE_UNKNOWN;
        if (one.rank < 0 || one.rank >= BRAID_RANK_MAX) continue;
        c->outputs[i] = (braid_shape){.rank = one.rank + 1, .dims = {n}};
        memcpy(c->outputs[i].dims + 1, one.dims, sizeof n * (size_t)one.rank);
    }
    return code;
}

static braid_code dequeue_many_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t n = -1;
    if (bd_shape_ctx_constant_int(c, 1, &n) && n < 0)
        return bd_shape_ctx_fail(c, st, "Cannot dequeue %lld elements", (long long)n);
    return batch_shape(c, n, st);
}

static braid_code dequeue_up_to_shape(bd_shape_ctx *c, braid_status *st)
{
    return batch_shape(c, -1, st);
}

// ---- Ops: the older ones name a queue by a reference to strings, the V2 ones by a resource ----

#define QUEUE_ATTRS                                                                                          \
    "component_types:list(type)>=1; shapes:list(shape)>=0=[]; capacity:int=-1; "                             \
    "container:string=''; shared_name:string=''"
#define PRIORITY_ATTRS                                                                                       \
    "component_types:list(type)>=0=[]; shapes:list(shape)>=0; capacity:int=-1; "                             \
    "container:string=''; shared_name:string=''"
#define RANDOM_ATTRS "min_after_dequeue:int=0; seed:int=0; seed2:int=0; "
#define SOURCE(SIGNATURE, ATTRS, CREATE, DOC)                                                                \
    {                                                                                                        \
        .signature = (SIGNATURE), .attrs = (ATTRS), .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,      \
        .shape = bd_shape_fn_handle,                                                                         \
        .kernels = BD_KERNELS({.state_size = sizeof(source_state),                                           \
                               .create = (CREATE),                                                           \
                               .destroy = source_destroy,                                                    \
                               .run = source_run}),                                                          \
        .doc = (DOC)                                                                                         \
    }
#define FIFO_DOC "A queue whose elements leave first in, first out."
#define PADDING_DOC                                                                                          \
    "A FIFO queue whose elements may differ in size along dimensions of -1: those of a batch are padded with zeros."
#define PRIORITY_DOC "A queue whose elements leave in the order of component 0, the least first."
#define RANDOM_DOC                                                                                           \
    "A queue whose elements leave in random order; while it is open, min_after_dequeue of them stay."

BD_OP(FIFOQueue) = SOURCE("() -> (handle: Ref(string))", QUEUE_ATTRS, fifo_create, FIFO_DOC);
BD_OP(FIFOQueueV2) = SOURCE("() -> (handle: resource)", QUEUE_ATTRS, fifo_create, FIFO_DOC);
BD_OP(PaddingFIFOQueue) = SOURCE("() -> (handle: Ref(string))", QUEUE_ATTRS, padding_create, PADDING_DOC);
BD_OP(PaddingFIFOQueueV2) = SOURCE("() -> (handle: resource)", QUEUE_ATTRS, padding_create, PADDING_DOC);
BD_OP(PriorityQueue) = SOURCE("() -> (handle: Ref(string))", PRIORITY_ATTRS, priority_create, PRIORITY_DOC);
BD_OP(PriorityQueueV2) = SOURCE("() -> (handle: resource)", PRIORITY_ATTRS, priority_create, PRIORITY_DOC);
BD_OP(RandomShuffleQueue) = SOURCE("() -> (handle: Ref(string))", RANDOM_ATTRS QUEUE_ATTRS, random_create,
                                   RANDOM_DOC);
BD_OP(RandomShuffleQueueV2) = SOURCE("() -> (handle: resource)", RANDOM_ATTRS QUEUE_ATTRS, random_create,
                                     RANDOM_DOC);

// As in TensorFlow's registry only the V2 ops are marked: a node that takes a reference is never merged with
// another.
#define USER(SIGNATURE, ATTRS, FLAGS, SHAPE, KERNEL, DOC)                                                    \
    {                                                                                                        \
        .signature = (SIGNATURE), .attrs = (ATTRS), .flags = (FLAGS) | BD_OP_NOT_DIFFERENTIABLE,             \
        .shape = (SHAPE), .kernels = BD_KERNELS(KERNEL), .doc = (DOC)                                        \
    }
#define WAITS(START)                                                                                         \
    {                                                                                                        \
        .create = wait_create, .start = (START)                                                              \
    }
#define ENQUEUE_ATTRS "Tcomponents:list(type)>=1; timeout_ms:int=-1"
#define DEQUEUE_ATTRS "component_types:list(type)>=1; timeout_ms:int=-1"
#define ENQUEUE_DOC "Adds an element, a tuple of tensors, to a queue; waits while it is full."
#define ENQUEUE_MANY_DOC                                                                                     \
    "Adds the slices of its components along dimension 0 to a queue, as one element each."
#define DEQUEUE_DOC "Takes an element out of a queue; waits while there is none."
#define DEQUEUE_MANY_DOC "Takes n elements out of a queue and stacks them; waits until there are so many."
#define DEQUEUE_UP_TO_DOC                                                                                    \
    "As QueueDequeueMany, but gives the rest, one element at least, when the queue is closed."
#define CLOSE_DOC "Closes a queue: no more elements are accepted, and the remaining ones may be taken."
#define SIZE_DOC                                                                                             \
    "How many elements a queue holds; with the attr _reset, the queue is emptied and opened again."
#define IS_CLOSED_DOC "Whether a queue is closed."

BD_OP(QueueEnqueue) = USER("(handle: Ref(string), components: Tcomponents...) -> ()", ENQUEUE_ATTRS, 0,
                           enqueue_shape, WAITS(enqueue_start), ENQUEUE_DOC);
BD_OP(QueueEnqueueV2) = USER("(handle: resource, components: Tcomponents...) -> ()", ENQUEUE_ATTRS,
                             BD_OP_STATEFUL, enqueue_shape, WAITS(enqueue_start), ENQUEUE_DOC);
BD_OP(QueueEnqueueMany) = USER("(handle: Ref(string), components: Tcomponents...) -> ()", ENQUEUE_ATTRS, 0,
                               enqueue_shape, WAITS(enqueue_many_start), ENQUEUE_MANY_DOC);
BD_OP(QueueEnqueueManyV2) = USER("(handle: resource, components: Tcomponents...) -> ()", ENQUEUE_ATTRS,
                                 BD_OP_STATEFUL, enqueue_shape, WAITS(enqueue_many_start), ENQUEUE_MANY_DOC);
BD_OP(QueueDequeue) = USER("(handle: Ref(string)) -> (components: component_types...)", DEQUEUE_ATTRS, 0,
                           dequeue_shape, WAITS(dequeue_start), DEQUEUE_DOC);
BD_OP(QueueDequeueV2) = USER("(handle: resource) -> (components: component_types...)", DEQUEUE_ATTRS,
                             BD_OP_STATEFUL, dequeue_shape, WAITS(dequeue_start), DEQUEUE_DOC);
BD_OP(QueueDequeueMany) = USER("(handle: Ref(string), n: int32) -> (components: component_types...)",
                               DEQUEUE_ATTRS, 0, dequeue_many_shape, WAITS(dequeue_many_start),
                               DEQUEUE_MANY_DOC);
BD_OP(QueueDequeueManyV2) = USER("(handle: resource, n: int32) -> (components: component_types...)",
                                 DEQUEUE_ATTRS, BD_OP_STATEFUL, dequeue_many_shape, WAITS(dequeue_many_start),
                                 DEQUEUE_MANY_DOC);
BD_OP(QueueDequeueUpTo) = USER("(handle: Ref(string), n: int32) -> (components: component_types...)",
                               DEQUEUE_ATTRS, 0, dequeue_up_to_shape, WAITS(dequeue_up_to_start),
                               DEQUEUE_UP_TO_DOC);
BD_OP(QueueDequeueUpToV2) = USER("(handle: resource, n: int32) -> (components: component_types...)",
                                 DEQUEUE_ATTRS, BD_OP_STATEFUL, dequeue_up_to_shape,
                                 WAITS(dequeue_up_to_start), DEQUEUE_UP_TO_DOC);
BD_OP(QueueClose) = USER("(handle: Ref(string)) -> ()", "cancel_pending_enqueues:bool=false", 0,
                         enqueue_shape, {.start = close_start}, CLOSE_DOC);
BD_OP(QueueCloseV2) = USER("(handle: resource) -> ()", "cancel_pending_enqueues:bool=false", BD_OP_STATEFUL,
                           enqueue_shape, {.start = close_start}, CLOSE_DOC);
BD_OP(QueueSize) = USER("(handle: Ref(string)) -> (size: int32)", NULL, 0, bd_shape_fn_handle_to_scalar,
                        {.run = size_run}, SIZE_DOC);
BD_OP(QueueSizeV2) = USER("(handle: resource) -> (size: int32)", NULL, BD_OP_STATEFUL,
                          bd_shape_fn_handle_to_scalar, {.run = size_run}, SIZE_DOC);
BD_OP(QueueIsClosed) = USER("(handle: Ref(string)) -> (is_closed: bool)", NULL, 0,
                            bd_shape_fn_handle_to_scalar, {.run = is_closed_run}, IS_CLOSED_DOC);
BD_OP(QueueIsClosedV2) = USER("(handle: resource) -> (is_closed: bool)", NULL, BD_OP_STATEFUL,
                              bd_shape_fn_handle_to_scalar, {.run = is_closed_run}, IS_CLOSED_DOC);
