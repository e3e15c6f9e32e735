// The queues behind the queue ops.
#include "ops/data_flow/queue.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/strbuf.h"
#include "ops/common/element.h"
#include <string.h>

typedef enum queue_action {
    ENQUEUE,
    ENQUEUE_MANY,
    CLOSE,
    DEQUEUE,
    DEQUEUE_MANY,
    DEQUEUE_UP_TO
} queue_action;

typedef struct queue_waiter {
    bd_waiter base;
    queue_action action;
    int first_input;              // of an enqueue
    int64_t wanted, done;         // elements
    BD_ARRAY(braid_tensor) taken; // of a dequeue: `done` tuples
} queue_waiter;

typedef enum attempt_result {
    NO_PROGRESS, // it waits on
    PROGRESS,    // it still waits, but the queue has changed
    COMPLETE
} attempt_result;

static bd_queue *queue_of(bd_wait_queue *wait_queue)
{
    return BD_CONTAINER_OF(wait_queue, bd_queue, wait_queue);
}

static queue_waiter *waiter_of(bd_waiter *w)
{
    return BD_CONTAINER_OF(w, queue_waiter, base);
}

// ---- The ring of elements ----

static braid_tensor *element_locked(bd_queue *q, int64_t i)
{
    BD_ASSERT(q->capacity > 0);
    return &q->elements[(q->first + i) % q->capacity * q->options.component_count];
}

static void grow_locked(bd_queue *q)
{
    int64_t capacity = q->capacity ? q->capacity * 2 : 4;
    size_t n = (size_t)q->options.component_count;
    braid_tensor *elements = bd_calloc((size_t)capacity * n, sizeof *elements);
    for (int64_t i = 0; i < q->count; i++)
        memcpy(&elements[(size_t)i * n], element_locked(q, i), n * sizeof *elements);
    bd_free(q->elements);
    q->elements = elements;
    q->capacity = capacity;
    q->first = 0;
    if (q->options.is_priority) q->turns = bd_realloc(q->turns, (size_t)capacity * sizeof *q->turns);
}

// A place behind the last element, or before the first.
static braid_tensor *push_back_locked(bd_queue *q)
{
    if (q->count == q->capacity) grow_locked(q);
    return element_locked(q, q->count++);
}

static braid_tensor *push_front_locked(bd_queue *q)
{
    if (q->count == q->capacity) grow_locked(q);
    q->first = (q->first + q->capacity - 1) % q->capacity;
    q->count++;
    return element_locked(q, 0);
}

static uint32_t random_locked(bd_queue *q)
{
    if (q->random_count == 0) {
        bd_philox_next4(&q->generator, q->randoms);
        q->random_count = 4;
    }
    return q->randoms[4 - q->random_count--];
}

// Moves an element to `out`: the first, or a random one, whose place the last one takes.
static void pop_locked(bd_queue *q, braid_tensor *out)
{
    size_t size = (size_t)q->options.component_count * sizeof *out;
    if (q->options.is_priority) {
        bd_queue_heap_pop_locked(q, out);
        return;
    }
    if (q->options.is_random) {
        braid_tensor *chosen = element_locked(q, random_locked(q) % q->count);
        memcpy(out, chosen, size);
        memcpy(chosen, element_locked(q, q->count - 1), size);
    } else {
        memcpy(out, element_locked(q, 0), size);
        q->first = (q->first + 1) % q->capacity;
    }
    q->count--;
}

// ---- Attempts to enqueue ----

// Copies element `i` of a batch to memory of its own: a view would keep the whole batch alive.
static bool copy_slice(braid_tensor *to, const braid_tensor *batch, int64_t i)
{
    braid_shape shape = {.rank = batch->shape.rank - 1};
    memcpy(shape.dims, batch->shape.dims + 1, sizeof shape.dims[0] * (size_t)shape.rank);
    if (!bd_tensor_alloc(to, batch->dtype, &shape)) return false;
    int64_t count = bd_shape_count(&shape);
    bd_elements_copy(to, 0, batch, i * count, count);
    return true;
}

// False: out of memory, the execution has failed.
static bool push_locked(bd_queue *q, queue_waiter *w)
{
    braid_tensor *element = push_back_locked(q);
    int made = 0;
    for (; made < q->options.component_count; made++) {
        const braid_tensor *component = bd_input(w->base.c, w->first_input + made);
        if (w->action == ENQUEUE) {
            bd_tensor_ref(&element[made], component);
        } else if (!copy_slice(&element[made], component, w->done)) {
            break;
        }
    }
    if (made == q->options.component_count) {
        if (q->options.is_priority) bd_queue_heap_push_locked(q, q->back_turn++);
        w->done++;
        return true;
    }
    q->count--;
    while (made > 0)
        bd_tensor_fini(&element[--made]);
    bd_op_fail(w->base.c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying an element into %s '%s'",
               q->options.kind, q->options.name);
    return false;
}

static attempt_result try_enqueue_locked(bd_queue *q, queue_waiter *w)
{
    if (w->action == CLOSE) {
        if (q->is_closed)
            bd_op_fail(w->base.c, BRAID_CANCELLED, "Queue '%s' is already closed.", q->options.name);
        q->is_closed = true;
        return COMPLETE;
    }
    if (q->is_closed) {
        bd_op_fail(w->base.c, BRAID_CANCELLED, "%s '%s' is closed.", q->options.kind, q->options.name);
        return COMPLETE;
    }
    int64_t before = w->done;
    while (w->done < w->wanted && q->count < q->options.capacity) {
        if (!push_locked(q, w)) return COMPLETE;
    }
    return w->done == w->wanted ? COMPLETE : w->done > before ? PROGRESS : NO_PROGRESS;
}

// ---- Attempts to dequeue ----

// Puts the elements that a waiter has taken back to the front, in their order.
static void give_back_locked(bd_wait_queue *wait_queue, bd_waiter *base)
{
    bd_queue *q = queue_of(wait_queue);
    queue_waiter *w = waiter_of(base);
    size_t n = (size_t)q->options.component_count;
    for (size_t at = w->taken.len; at > 0; at -= n) {
        const braid_tensor *element = &w->taken.items[at - n];
        memcpy(q->options.is_priority ? push_back_locked(q) : push_front_locked(q), element,
               n * sizeof *element);
        if (q->options.is_priority) bd_queue_heap_push_locked(q, --q->front_turn);
    }
    w->taken.len = 0;
    if (w->action >= DEQUEUE) w->done = 0;
}

static attempt_result fail_short_locked(bd_queue *q, queue_waiter *w)
{
    bd_op_fail(w->base.c, BRAID_OUT_OF_RANGE,
               "%s '%s' is closed and has insufficient elements (requested %lld, current size %lld)",
               q->options.kind, q->options.name, (long long)w->wanted, (long long)q->count);
    return COMPLETE;
}

static attempt_result try_dequeue_locked(bd_queue *q, queue_waiter *w)
{
    if (q->is_closed && q->count < w->wanted - w->done) {
        give_back_locked(&q->wait_queue, &w->base);
        if (w->action != DEQUEUE_UP_TO || q->count == 0) return fail_short_locked(q, w);
        w->wanted = q->count;
    }
    // Sorted parts of a batch are not sorted as a whole. So the batch is taken at once, if the queue can ever
    // hold so many elements.
    if (q->options.is_priority && q->count < w->wanted && w->wanted <= q->options.capacity)
        return NO_PROGRESS;
    int64_t available = q->is_closed ? q->count : q->count - q->options.min_after_dequeue, before = w->done;
    for (; available > 0 && w->done < w->wanted; available--) {
        size_t n = (size_t)q->options.component_count;
        bd_array_reserve(&w->taken, w->taken.len + n);
        pop_locked(q, &w->taken.items[w->taken.len]);
        w->taken.len += n;
        w->done++;
    }
    return w->done == w->wanted ? COMPLETE : w->done > before ? PROGRESS : NO_PROGRESS;
}

// ---- Lines ----

static bool serve_line_locked(bd_queue *q, bd_waitlist *line,
                              attempt_result (*attempt)(bd_queue *q, queue_waiter *w))
{
    bool progress = false;
    for (bd_waiter *w; (w = line->first);) {
        attempt_result result = attempt(q, waiter_of(w));
        if (result != NO_PROGRESS) progress = true;
        if (result != COMPLETE) break;
        bd_waiter_end_locked(w);
    }
    return progress;
}

static void serve_locked(bd_wait_queue *wait_queue)
{
    bd_queue *q = queue_of(wait_queue);
    bool progress;
    do {
        progress = serve_line_locked(q, &q->enqueues, try_enqueue_locked);
        progress = serve_line_locked(q, &q->dequeues, try_dequeue_locked) || progress;
        progress = serve_line_locked(q, &q->empty_dequeues, try_dequeue_locked) || progress;
    } while (progress);
}

// ---- The end of an execution ----

static const braid_tensor *taken_component(const queue_waiter *w, const bd_queue *q, int64_t k, int i)
{
    return &w->taken.items[k * q->options.component_count + i];
}

// A shape that holds component `i` of each element taken: unknown dimensions are those of the largest, or 0
// without elements.
static braid_shape largest_shape(const queue_waiter *w, const bd_queue *q, int i)
{
    braid_shape shape = q->options.shapes[i];
    for (int d = 0; d < shape.rank; d++) {
        if (shape.dims[d] >= 0) continue;
        shape.dims[d] = 0;
        for (int64_t k = 0; k < w->done; k++)
            shape.dims[d] = bd_max(shape.dims[d], taken_component(w, q, k, i)->shape.dims[d]);
    }
    return shape;
}

// Memory for a batch, zero where elements are padded. Elements that are large in different directions may
// make it huge.
static braid_tensor *new_batch(const queue_waiter *w, const bd_queue *q, int i, const braid_shape *one)
{
    braid_shape shape = {.rank = one->rank + 1, .dims = {w->done}};
    memcpy(shape.dims + 1, one->dims, sizeof one->dims[0] * (size_t)one->rank);
    BD_STATUS(st);
    int64_t count;
    if (bd_shape_checked_count(&shape, &count, st)) {
        bd_op_fail_status(w->base.c, st);
        return NULL;
    }
    braid_tensor *out = bd_output(w->base.c, i, q->options.types[i], &shape);
    const bool is_padded = !bd_shape_is_known(&q->options.shapes[i]);
    if (out && is_padded && braid_dtype_size(out->dtype)) memset(out->data, 0, bd_tensor_bytes(out));
    return out;
}

// Output `i` is component `i` of all elements taken, stacked.
static bool output_batch(const queue_waiter *w, const bd_queue *q, int i)
{
    const braid_shape one = largest_shape(w, q, i);
    const braid_tensor *out = new_batch(w, q, i, &one);
    if (!out) return false;
    const int64_t count = bd_shape_count(&one);
    for (int64_t k = 0; k < w->done; k++) {
        const braid_tensor *element = taken_component(w, q, k, i);
        if (bd_tensor_count(element) == 0) continue;
        bd_strided block = bd_strided_of(&element->shape);
        bd_row_strides(&one, block.to_strides);
        bd_elements_copy_block(out, k * count, element, 0, &block);
    }
    return true;
}

static void finish(bd_waiter *base)
{
    queue_waiter *w = waiter_of(base);
    const bd_queue *q = queue_of(base->wait_queue);
    bool ok = w->action >= DEQUEUE && !bd_op_failed(base->c);
    for (int i = 0; i < q->options.component_count && ok; i++) {
        if (w->action == DEQUEUE) {
            bd_output_set(base->c, i, &w->taken.items[i]);
        } else {
            ok = output_batch(w, q, i);
        }
    }
    for (size_t i = 0; i < w->taken.len; i++)
        bd_tensor_fini(&w->taken.items[i]);
    w->taken.len = 0;
}

static void destroy_waiter(bd_waiter *w)
{
    bd_array_free(&waiter_of(w)->taken);
}

static const bd_wait_kind wait_kind = {
    .waiter_size = sizeof(queue_waiter),
    .serve_locked = serve_locked,
    .give_back_locked = give_back_locked,
    .finish = finish,
    .destroy = destroy_waiter,
};

// ---- The resource ----

static void remove_all_locked(bd_queue *q)
{
    for (int64_t i = 0; i < q->count; i++) {
        for (int k = 0; k < q->options.component_count; k++)
            bd_tensor_fini(&element_locked(q, i)[k]);
    }
    q->count = 0;
}

static void destroy(bd_resource *r)
{
    bd_queue *q = BD_CONTAINER_OF(r, bd_queue, base);
    remove_all_locked(q);
    bd_free(q->elements);
    bd_free(q->turns);
    bd_wait_queue_fini(&q->wait_queue);
    bd_free((char *)q->options.name);
    bd_free((void *)q->options.types);
    bd_free((void *)q->options.shapes);
    bd_free(q);
}

// The container is cleared: no element can arrive any more, so the waiters end.
static void abandon(bd_resource *r)
{
    bd_queue *q = BD_CONTAINER_OF(r, bd_queue, base);
    bd_resource_ref(r);
    bd_wait_queue_lock(&q->wait_queue);
    q->is_closed = true;
    bd_waitlist_cancel_locked(&q->wait_queue, &q->enqueues);
    bd_waitlist_cancel_locked(&q->wait_queue, &q->dequeues);
    bd_wait_queue_unlock(&q->wait_queue);
    bd_resource_unref(r);
}

const bd_resource_type bd_queue_type = {.name = "Queue", .destroy = destroy, .abandon = abandon};

bd_queue *bd_queue_new(const bd_queue_options *options)
{
    bd_queue *q = bd_calloc(1, sizeof *q);
    size_t n = (size_t)options->component_count;
    bd_resource_init(&q->base, &bd_queue_type);
    bd_wait_queue_init(&q->wait_queue, &wait_kind, &q->base);
    q->options = *options;
    q->options.name = bd_strdup(options->name);
    q->options.types = bd_memdup(options->types, n * sizeof *options->types);
    q->options.shapes = options->shapes ? bd_memdup(options->shapes, n * sizeof *options->shapes) : NULL;
    q->enqueues.what = "Enqueue";
    q->dequeues.what = q->empty_dequeues.what = "Dequeue";
    if (options->seed == 0 && options->seed2 == 0) {
        q->generator = bd_philox_init(bd_random_u64(), bd_random_u64());
    } else {
        q->generator = bd_philox_init((uint64_t)options->seed, (uint64_t)options->seed2);
    }
    return q;
}

static queue_waiter *new_waiter(bd_queue *q, bd_op_ctx *c, queue_action action, int64_t wanted)
{
    queue_waiter *w = waiter_of(bd_waiter_new(&q->wait_queue, c));
    w->action = action;
    w->wanted = wanted;
    w->done = 0;
    return w;
}

void bd_queue_enqueue(bd_queue *q, bd_op_ctx *c, int first_input, bool many)
{
    int64_t wanted = many ? bd_input(c, first_input)->shape.dims[0] : 1;
    if (wanted == 0) {
        bd_op_done(c);
        return;
    }
    queue_waiter *w = new_waiter(q, c, many ? ENQUEUE_MANY : ENQUEUE, wanted);
    w->first_input = first_input;
    bd_wait(&w->base, &q->enqueues);
}

void bd_queue_dequeue(bd_queue *q, bd_op_ctx *c)
{
    bd_wait(&new_waiter(q, c, DEQUEUE, 1)->base, &q->dequeues);
}

void bd_queue_dequeue_many(bd_queue *q, bd_op_ctx *c, int64_t n, bool up_to)
{
    queue_waiter *w = new_waiter(q, c, up_to ? DEQUEUE_UP_TO : DEQUEUE_MANY, n);
    bd_wait(&w->base, n > 0 ? &q->dequeues : &q->empty_dequeues);
}

void bd_queue_close(bd_queue *q, bd_op_ctx *c, bool cancel_pending)
{
    if (!cancel_pending) {
        bd_wait(&new_waiter(q, c, CLOSE, 1)->base, &q->enqueues);
        return;
    }
    bd_wait_queue_lock(&q->wait_queue);
    q->is_closed = true;
    bd_waitlist_cancel_locked(&q->wait_queue, &q->enqueues);
    bd_wait_queue_unlock(&q->wait_queue);
    bd_op_done(c);
}

void bd_queue_put(bd_queue *q, braid_tensor *components)
{
    bd_wait_queue_lock(&q->wait_queue);
    memcpy(push_back_locked(q), components, (size_t)q->options.component_count * sizeof *components);
    if (q->options.is_priority) bd_queue_heap_push_locked(q, q->back_turn++);
    bd_wait_queue_unlock(&q->wait_queue);
}

void bd_queue_end(bd_queue *q)
{
    bd_wait_queue_lock(&q->wait_queue);
    q->is_closed = true;
    bd_wait_queue_unlock(&q->wait_queue);
}

int64_t bd_queue_size(bd_queue *q)
{
    bd_wait_queue_lock(&q->wait_queue);
    int64_t size = q->count;
    bd_wait_queue_unlock(&q->wait_queue);
    return size;
}

int64_t bd_queue_reset(bd_queue *q)
{
    bd_wait_queue_lock(&q->wait_queue);
    const int64_t size = q->count;
    remove_all_locked(q);
    q->is_closed = false;
    bd_wait_queue_unlock(&q->wait_queue);
    return size;
}

bool bd_queue_is_closed(bd_queue *q)
{
    bd_wait_queue_lock(&q->wait_queue);
    bool is_closed = q->is_closed;
    bd_wait_queue_unlock(&q->wait_queue);
    return is_closed;
}

// ---- Options ----

static bool same_types(const bd_queue_options *a, const bd_queue_options *b)
{
    return a->component_count == b->component_count &&
           memcmp(a->types, b->types, sizeof *a->types * (size_t)a->component_count) == 0;
}

// Shapes with unknown dimensions, those of a padding queue, need not be equal.
static bool same_shapes(const bd_queue_options *a, const bd_queue_options *b)
{
    if (!a->shapes || !b->shapes) return !a->shapes && !b->shapes;
    for (int i = 0; i < a->component_count; i++) {
        braid_shape both;
        if (!bd_shape_merge(&a->shapes[i], &b->shapes[i], &both)) return false;
    }
    return true;
}

static void put_types(bd_strbuf *to, const bd_queue_options *o)
{
    for (int i = 0; i < o->component_count; i++)
        bd_strbuf_appendf(to, "%s%s", i ? ", " : "", braid_dtype_name(o->types[i]));
}

static void put_shapes(bd_strbuf *to, const bd_queue_options *o)
{
    char shape[BD_SHAPE_STR_MAX];
    bd_strbuf_append_char(to, '[');
    for (int i = 0; o->shapes && i < o->component_count; i++)
        bd_strbuf_appendf(to, "%s%s", i ? ", " : "", bd_shape_str(&o->shapes[i], shape));
    bd_strbuf_append_char(to, ']');
}

static braid_code fail_components(const char *what, void (*put)(bd_strbuf *to, const bd_queue_options *o),
                                  const bd_queue_options *has, const bd_queue_options *wanted,
                                  braid_status *st)
{
    bd_strbuf text = {0};
    put(&text, has);
    bd_strbuf_appendf(&text, " but requested component %s were ", what);
    put(&text, wanted);
    bd_fail(st, BRAID_INVALID_ARGUMENT, "Shared queue '%s' has component %s %s", has->name, what,
            bd_strbuf_str(&text));
    bd_strbuf_fini(&text);
    return st->code;
}

braid_code bd_queue_check_options(const bd_queue *q, const bd_queue_options *wanted, braid_status *st)
{
    const bd_queue_options *o = &q->options;
    if (strcmp(o->kind, wanted->kind) != 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Shared queue '%s' has type '%s', not '%s'", o->name,
                       o->kind, wanted->kind);
    if (o->capacity != wanted->capacity)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Shared queue '%s' has capacity %lld but requested capacity was %lld", o->name,
                       (long long)o->capacity, (long long)wanted->capacity);
    if (o->min_after_dequeue != wanted->min_after_dequeue)
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Shared queue '%s' has min_after_dequeue %lld but requested min_after_dequeue was %lld.", o->name,
            (long long)o->min_after_dequeue, (long long)wanted->min_after_dequeue);
    bool any_seed = wanted->seed == 0 && wanted->seed2 == 0;
    if (!any_seed && (o->seed != wanted->seed || o->seed2 != wanted->seed2))
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Shared queue '%s' has random seeds (%lld, %lld) but requested seeds are (%lld, %lld).", o->name,
            (long long)o->seed, (long long)o->seed2, (long long)wanted->seed, (long long)wanted->seed2);
    if (!same_types(o, wanted)) return fail_components("types", put_types, o, wanted, st);
    if (!same_shapes(o, wanted)) return fail_components("shapes", put_shapes, o, wanted, st);
    return BRAID_OK;
}
