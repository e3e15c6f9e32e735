// Barriers: elements that arrive in components, each under the element's key, and are taken when they are
// complete.
//
// Complete elements wait in a priority queue of the barrier, ordered by the time of their first component;
// taking is a dequeue. The kernel that completes elements enqueues them without a lock, because executions
// that wait for them may end then; `moving` counts these elements meanwhile.
#include "base/alloc.h"
#include "base/array.h"
#include "base/map.h"
#include "base/thread.h"
#include "ops/common/element.h"
#include "ops/common/handle.h"
#include "ops/data_flow/queue.h"

#include <string.h>

// The queue's components that precede the element's: the arrival number of the element, and its key.
#define LEADING 2

typedef struct barrier {
    bd_resource base;
    char *name;
    braid_dtype *types; // of the queue: index, key, components
    braid_shape *shapes;
    int count; // components
    bd_queue *ready;
    bd_mutex mu;
    bd_map
        // by key -> braid_tensor [LEADING + count], "no tensor" for a missing component; guarded by mu
        incomplete;
    int64_t moving;               // guarded by mu
    int64_t next_index;           // the next arrival number; guarded by mu
    bool is_closed, is_cancelled; // guarded by mu
} barrier;

typedef BD_ARRAY(braid_tensor *) element_list;

// ---- The resource ----

static void drop_incomplete_locked(barrier *b)
{
    size_t pos = 0;
    void *value;
    while (bd_map_next(&b->incomplete, &pos, NULL, &value)) {
        braid_tensor *element = value;
        for (int i = 0; i < LEADING + b->count; i++)
            bd_tensor_fini(&element[i]);
        bd_free(element);
    }
    bd_map_clear(&b->incomplete);
}

static void destroy(bd_resource *r)
{
    barrier *b = BD_CONTAINER_OF(r, barrier, base);
    drop_incomplete_locked(b);
    bd_map_fini(&b->incomplete);
    bd_resource_unref(&b->ready->base);
    bd_mutex_fini(&b->mu);
    bd_free(b->types);
    bd_free(b->shapes);
    bd_free(b->name);
    bd_free(b);
}

static void abandon(bd_resource *r)
{
    const barrier *b = BD_CONTAINER_OF(r, barrier, base);
    bd_queue_type.abandon(&b->ready->base);
}

static const bd_resource_type barrier_type = {.name = "Barrier", .destroy = destroy, .abandon = abandon};

// ---- Making one ----

typedef struct source_state {
    bd_handle_source handle;
    const bd_attr *types, *shapes; // of the node
} source_state;

static braid_code source_create(const braid_op *node, void *state, braid_status *st)
{
    source_state *s = state;
    s->types = bd_node_attr(node, "component_types");
    s->shapes = bd_node_attr(node, "shapes");
    if (s->shapes->list.count > 0 && s->shapes->list.count != s->types->list.count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "All of the component shapes must be specified: %d types, %d shapes",
                       s->types->list.count, s->shapes->list.count);
    for (int i = 0; i < s->shapes->list.count; i++) {
        const braid_shape *shape = &s->shapes->list.shape[i];
        int64_t count;
        if (shape->rank < 0) continue;
        if (bd_shape_checked_count(shape, &count, st)) return st->code;
        if (count == 0 || shape->rank == BRAID_RANK_MAX)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Barrier '%s': component %d of shape %s cannot be in a batch", node->name, i,
                           bd_shape_str(shape, (char[BD_SHAPE_STR_MAX]){0}));
    }
    if (bd_node_attr_int(node, "capacity") != -1)
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to enforce a "
            "limited capacity.");
    bd_handle_source_init(&s->handle, node, &barrier_type);
    return BRAID_OK;
}

static void source_destroy(void *state)
{
    bd_handle_source_fini(&((source_state *)state)->handle);
}

// The shape of a component: scalar if none is given, or unknown.
static braid_shape wanted_shape(const bd_attr *shapes, int component)
{
    const bool is_given = component < shapes->list.count && shapes->list.shape[component].rank >= 0;
    return is_given ? shapes->list.shape[component] : BD_SCALAR;
}

static braid_code create_barrier(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    const source_state *s = arg;
    barrier *b = bd_calloc(1, sizeof *b);
    bd_resource_init(&b->base, &barrier_type);
    bd_mutex_init(&b->mu);
    b->name = bd_strdup(s->handle.name);
    b->count = s->types->list.count;
    b->types = bd_calloc((size_t)(LEADING + b->count), sizeof *b->types);
    b->shapes = bd_calloc((size_t)(LEADING + b->count), sizeof *b->shapes); // scalars
    b->types[0] = BRAID_INT64;
    b->types[1] = BRAID_STRING;
    for (int i = 0; i < b->count; i++) {
        b->types[LEADING + i] = s->types->list.type[i];
        b->shapes[LEADING + i] = wanted_shape(s->shapes, i);
    }
    b->ready = bd_queue_new(&(bd_queue_options){.kind = "PriorityQueue",
                                                .name = b->name,
                                                .is_priority = true,
                                                .capacity = BD_QUEUE_UNBOUNDED,
                                                .types = b->types,
                                                .shapes = b->shapes,
                                                .component_count = LEADING + b->count});
    *out = &b->base;
    return BRAID_OK;
}

static bool has_types(const barrier *b, const bd_attr *types)
{
    bool same = b->count == types->list.count;
    for (int i = 0; i < b->count && same; i++)
        same = b->types[LEADING + i] == types->list.type[i];
    return same;
}

static bool has_shapes(const barrier *b, const bd_attr *shapes)
{
    bool same = true;
    for (int i = 0; i < b->count && same; i++) {
        const braid_shape shape = wanted_shape(shapes, i);
        same = bd_shape_equal(&b->shapes[LEADING + i], &shape);
    }
    return same;
}

static void source_run(bd_op_ctx *c)
{
    source_state *s = c->state;
    bd_resource *r = bd_handle_source_output(c, &s->handle, create_barrier, s);
    if (!r) return;
    const barrier *b = BD_CONTAINER_OF(r, barrier, base);
    if (!has_types(b, s->types))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Shared barrier '%s' has component types other than those requested", b->name);
    else if (!has_shapes(b, s->shapes))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Shared barrier '%s' has component shapes other than those requested", b->name);
    bd_resource_unref(r);
}

// ---- Inserting ----

static barrier *barrier_input(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &barrier_type);
    return r ? BD_CONTAINER_OF(r, barrier, base) : NULL;
}

// Returns whether no element can become complete any more. The queue is then closed, without a lock.
static bool is_over_locked(const barrier *b)
{
    return b->is_closed && (b->is_cancelled || (bd_map_count(&b->incomplete) == 0 && b->moving == 0));
}

static bool copy_row(const barrier *b, int component, const braid_tensor *values, int64_t row,
                     braid_tensor *out)
{
    braid_shape shape = {.rank = values->shape.rank - 1};
    memcpy(shape.dims, values->shape.dims + 1, sizeof shape.dims[0] * (size_t)shape.rank);
    if (!bd_tensor_alloc(out, b->types[LEADING + component], &shape)) return false;
    const int64_t count = bd_shape_count(&shape);
    bd_elements_copy(out, 0, values, row * count, count);
    return true;
}

// A new element under the key; NULL when memory is short.
static braid_tensor *begin_element_locked(barrier *b, const bd_string *key)
{
    braid_tensor *element = bd_calloc((size_t)(LEADING + b->count), sizeof *element);
    if (!bd_tensor_alloc(&element[0], BRAID_INT64, &BD_SCALAR) ||
        !bd_tensor_alloc(&element[1], BRAID_STRING, &BD_SCALAR) ||
        !bd_tensor_string_try_set(&element[1], 0, key->data, key->len)) {
        bd_tensor_fini(&element[0]);
        bd_tensor_fini(&element[1]);
        bd_free(element);
        return NULL;
    }
    bd_tensor_i64(&element[0])[0] = INT64_MIN + b->next_index;
    bd_map_put_n(&b->incomplete, key->len ? key->data : "", key->len, element);
    return element;
}

static bool is_complete(const barrier *b, const braid_tensor *element)
{
    for (int i = 0; i < b->count; i++)
        if (!bd_tensor_is_set(&element[LEADING + i])) return false;
    return true;
}

// Adds the elements that it completes to `complete`. *begun: it has begun a new element.
static void insert_one_locked(bd_op_ctx *c, barrier *b, int component, int64_t row, element_list *complete,
                              bool *begun)
{
    const bd_string *key = &bd_tensor_str(bd_input(c, 1))[row];
    const char *text = key->len ? key->data : "";
    const int shown = (int)bd_min((int64_t)key->len, 256);
    braid_tensor *element = bd_map_get_n(&b->incomplete, text, key->len);
    if (!element && b->is_closed) {
        bd_op_fail(
            c, BRAID_CANCELLED,
            "Barrier %s is closed, but attempted to insert a brand new key: %.*s.  Pending enqueues cancelled: %d.  "
            "Insertion index: %lld.  Number of incomplete keys: %zu.",
            b->name, shown, text, b->is_cancelled, (long long)row, bd_map_count(&b->incomplete));
        return;
    }
    if (element && bd_tensor_is_set(&element[LEADING + component])) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Key %.*s already has a value for component %d in barrier %s",
                   shown, text, component, b->name);
        return;
    }
    if (!element) {
        element = begin_element_locked(b, key);
        *begun = true;
    }
    if (!element || !copy_row(b, component, bd_input(c, 2), row, &element[LEADING + component])) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a value into barrier %s", b->name);
        return;
    }
    if (!is_complete(b, element)) return;
    bd_map_remove_n(&b->incomplete, text, key->len);
    bd_array_push(complete, element);
    b->moving++;
}

static bool check_insert(bd_op_ctx *c, const barrier *b, int64_t component)
{
    const braid_tensor *keys = bd_input(c, 1), *values = bd_input(c, 2);
    char want_text[BD_SHAPE_STR_MAX], got_text[BD_SHAPE_STR_MAX];
    if (component < 0 || component >= b->count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The component ID is out of range %lld > num_components (= %d)",
                   (long long)component, b->count);
    } else if (values->dtype != b->types[LEADING + component]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Component %lld of barrier %s is %s, not %s",
                   (long long)component, b->name, braid_dtype_name(b->types[LEADING + component]),
                   braid_dtype_name(values->dtype));
    } else if (bd_tensor_count(keys) > 0 && bd_tensor_count(values) == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Tensors with no elements are not supported %s: received shape %s", b->name,
                   bd_shape_str(&values->shape, got_text));
    } else if (keys->shape.rank != 1 || values->shape.rank < 1 ||
               keys->shape.dims[0] != values->shape.dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "keys must be a vector with one value for each, got shapes %s and %s",
                   bd_shape_str(&keys->shape, got_text), bd_shape_str(&values->shape, want_text));
    } else {
        const braid_shape *one = &b->shapes[LEADING + component];
        braid_shape want = {.rank = one->rank + 1, .dims = {keys->shape.dims[0]}};
        memcpy(want.dims + 1, one->dims, sizeof one->dims[0] * (size_t)one->rank);
        if (!bd_shape_equal(&want, &values->shape))
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Shape mismatch in component %lld of barrier %s. Expected %s, got %s",
                       (long long)component, b->name, bd_shape_str(&want, want_text),
                       bd_shape_str(&values->shape, got_text));
    }
    return !bd_op_failed(c);
}

static void insert_all_locked(bd_op_ctx *c, barrier *b, int component, element_list *complete)
{
    const int64_t count = bd_input(c, 1)->shape.dims[0];
    if (b->is_closed && (b->is_cancelled || (count > 0 && bd_map_count(&b->incomplete) == 0)))
        bd_op_fail(
            c, BRAID_CANCELLED,
            "Barrier %s is closed.  Pending enqueues cancelled: %d.  Number of new insertions: %lld.  Number of "
            "incomplete keys: %zu.",
            b->name, b->is_cancelled, (long long)count, bd_map_count(&b->incomplete));
    bool begun = false;
    for (int64_t i = 0; i < count && !bd_op_failed(c); i++)
        insert_one_locked(c, b, component, i, complete, &begun);
    if (begun) b->next_index++;
}

static void move_to_queue(barrier *b, element_list *complete)
{
    for (size_t i = 0; i < complete->len; i++) {
        bd_queue_put(b->ready, complete->items[i]);
        bd_free(complete->items[i]);
    }
    bd_mutex_lock(&b->mu);
    b->moving -= (int64_t)complete->len;
    const bool is_over = is_over_locked(b);
    bd_mutex_unlock(&b->mu);
    if (is_over) bd_queue_end(b->ready);
    bd_array_free(complete);
}

static void insert_run(bd_op_ctx *c)
{
    barrier *b = barrier_input(c);
    if (!b) return;
    const int64_t component = bd_node_attr_int(c->node, "component_index");
    if (check_insert(c, b, component)) {
        element_list complete = {0};
        bd_mutex_lock(&b->mu);
        insert_all_locked(c, b, (int)component, &complete);
        bd_mutex_unlock(&b->mu);
        move_to_queue(b, &complete);
    }
    bd_resource_unref(&b->base);
}

// ---- Taking, closing, counting ----

static braid_code take_create(const braid_op *node, void *state, braid_status *st)
{
    (void)state;
    if (bd_node_attr_int(node, "timeout_ms") == -1) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Timeout not supported yet.");
}

static bool check_take(bd_op_ctx *c, const barrier *b, int64_t *n)
{
    if (bd_input(c, 1)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_elements must be a scalar.");
        return false;
    }
    *n = *bd_tensor_i32(bd_input(c, 1));
    bool same = c->output_count == LEADING + b->count;
    for (int i = 0; i < c->output_count && same; i++)
        same = c->node->output_types[i] == b->types[i];
    if (!same)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Signature mismatch: the %d components of barrier %s have other types", b->count, b->name);
    else if (*n < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_elements must be >= 0, got %lld", (long long)*n);
    for (int i = 0; i < b->count && !bd_op_failed(c); i++) {
        BD_STATUS(st);
        int64_t count;
        const braid_shape all = bd_shape2(*n, bd_shape_count(&b->shapes[LEADING + i]));
        if (bd_shape_checked_count(&all, &count, st)) bd_op_fail_status(c, st);
    }
    return !bd_op_failed(c);
}

// A take from a closed barrier does not wait for elements that cannot become complete. A small batch takes
// the complete elements; a full batch may wait for incomplete ones. Returns false when the kernel has failed.
static bool limit_take_locked(bd_op_ctx *c, const barrier *b, int64_t *n)
{
    if (!b->is_closed) return true;
    int64_t available = bd_queue_size(b->ready);
    if (bd_node_attr_bool(c->node, "allow_small_batch"))
        *n = bd_min(*n, available);
    else
        available += (int64_t)bd_map_count(&b->incomplete) + b->moving;
    if (available >= bd_max(*n, (int64_t)1)) return true;
    bd_op_fail(c, BRAID_OUT_OF_RANGE,
               "Barrier '%s' is closed and has insufficient elements (requested %lld, total size %lld)",
               b->name, (long long)*n, (long long)available);
    return false;
}

static bool limit_take(bd_op_ctx *c, barrier *b, int64_t *n)
{
    bd_mutex_lock(&b->mu);
    const bool ok = limit_take_locked(c, b, n);
    bd_mutex_unlock(&b->mu);
    return ok;
}

static void take_start(bd_op_ctx *c)
{
    barrier *b = barrier_input(c);
    int64_t n = 0;
    if (b && check_take(c, b, &n) && limit_take(c, b, &n))
        bd_queue_dequeue_many(b->ready, c, n, bd_node_attr_bool(c->node, "allow_small_batch"));
    else
        bd_op_done(c);
    if (b) bd_resource_unref(&b->base);
}

static void close_run(bd_op_ctx *c)
{
    barrier *b = barrier_input(c);
    if (!b) return;
    const bool cancels = bd_node_attr_bool(c->node, "cancel_pending_enqueues");
    bd_mutex_lock(&b->mu);
    if (b->is_closed && (b->is_cancelled || !cancels)) { // a second time only to cancel
        bd_op_fail(c, BRAID_CANCELLED, "Barrier '%s' is already closed.", b->name);
    } else {
        b->is_closed = true;
        b->is_cancelled = cancels;
        if (cancels) drop_incomplete_locked(b);
    }
    const bool is_over = is_over_locked(b);
    bd_mutex_unlock(&b->mu);
    if (is_over) bd_queue_end(b->ready);
    bd_resource_unref(&b->base);
}

static void size_run(bd_op_ctx *c)
{
    barrier *b = barrier_input(c);
    if (!b) return;
    const braid_tensor *y = bd_output(c, 0, BRAID_INT32, &BD_SCALAR);
    const bool of_ready = !strcmp(c->node->op_type, "BarrierReadySize");
    bd_mutex_lock(&b->mu);
    if (y)
        bd_tensor_i32(y)[0] =
            (int32_t)(of_ready ? bd_queue_size(b->ready) : (int64_t)bd_map_count(&b->incomplete));
    bd_mutex_unlock(&b->mu);
    bd_resource_unref(&b->base);
}

// ---- Shapes ----

static braid_code insert_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_handle(c, st);
    return code ? code : bd_shape_ctx_rank(c, 1, 1, st);
}

static braid_code take_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = i < LEADING ? bd_shape1(-1) : BD_SHAPE_UNKNOWN;
    return bd_shape_ctx_handle(c, st);
}

// ---- Ops ----

BD_OP(Barrier) = {
    .signature = "() -> (handle: Ref(string))",
    .attrs = "component_types:list(type)>=1; shapes:list(shape)>=0=[]; capacity:int=-1; container:string=''; "
             "shared_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle,
    .kernels = BD_KERNELS({.state_size = sizeof(source_state),
                           .create = source_create,
                           .destroy = source_destroy,
                           .run = source_run}),
    .doc =
        "A barrier: elements are inserted component by component, by key, and are taken when they are complete.",
};

BD_OP(BarrierInsertMany) = {
    .signature = "(handle: Ref(string), keys: string, values: T) -> ()",
    .attrs = "T:type; component_index:int",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = insert_shape,
    .kernels = BD_KERNELS({.run = insert_run}),
    .doc = "Gives elements of a barrier one of their components.",
};

BD_OP(BarrierTakeMany) = {
    .signature =
        "(handle: Ref(string), num_elements: int32) -> (indices: int64, keys: string, values: component_types...)",
    .attrs =
        "component_types:list(type)>=1; allow_small_batch:bool=false; wait_for_incomplete:bool=false; timeout_ms:int=-1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = take_shape,
    .kernels = BD_KERNELS({.create = take_create, .start = take_start}),
    .doc =
        "Takes complete elements, in the order in which their first components came; waits until there are so many.",
};

BD_OP(BarrierClose) = {
    .signature = "(handle: Ref(string)) -> ()",
    .attrs = "cancel_pending_enqueues:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_ctx_handle,
    .kernels = BD_KERNELS({.run = close_run}),
    .doc =
        "Closes a barrier: no new elements are accepted; incomplete ones may still be completed, unless they are cancelled.",
};

BD_OP(BarrierReadySize) = {
    .signature = "(handle: Ref(string)) -> (size: int32)",
    .attrs = NULL,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle_to_scalar,
    .kernels = BD_KERNELS({.run = size_run}),
    .doc = "How many elements of a barrier are complete.",
};

BD_OP(BarrierIncompleteSize) = {
    .signature = "(handle: Ref(string)) -> (size: int32)",
    .attrs = NULL,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle_to_scalar,
    .kernels = BD_KERNELS({.run = size_run}),
    .doc = "How many elements of a barrier lack components.",
};
