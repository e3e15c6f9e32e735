// Unbatch and UnbatchGrad: give the rows of a batch back to the steps that they came from, and put the
// gradients of the rows together.
//
// Unbatch: the step that has the batch brings the rows of all steps, and each step waits for its own. Rows
// that no step fetches are dropped after the timeout, and a wait ends then.
#include "base/alloc.h"
#include "base/map.h"
#include "base/timer.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/wait_queue.h"

#include <string.h>

// Rows that were brought, or gradients, under the key of a step.
typedef struct piece {
    int64_t key, deadline_ns;
    braid_tensor tensor;
    struct piece *next, *prev; // the oldest one is first
} piece;

typedef struct pieces {
    bd_imap by_key;
    piece *first, *last;
} pieces;

static piece *find(const pieces *p, int64_t key)
{
    return bd_imap_get(&p->by_key, (uint64_t)key);
}

// Takes over the tensor.
static void add(pieces *p, int64_t key, braid_tensor *tensor, int64_t deadline_ns)
{
    piece *x = bd_calloc(1, sizeof *x);
    x->key = key;
    x->deadline_ns = deadline_ns;
    bd_tensor_move(&x->tensor, tensor);
    x->prev = p->last;
    *(p->last ? &p->last->next : &p->first) = x;
    p->last = x;
    bd_imap_put(&p->by_key, (uint64_t)key, x);
}

// Moves the tensor out.
static void take(pieces *p, piece *x, braid_tensor *tensor)
{
    bd_tensor_move(tensor, &x->tensor);
    *(x->prev ? &x->prev->next : &p->first) = x->next;
    *(x->next ? &x->next->prev : &p->last) = x->prev;
    bd_imap_remove(&p->by_key, (uint64_t)x->key);
    bd_free(x);
}

static void drop(pieces *p, piece *x)
{
    braid_tensor tensor;
    take(p, x, &tensor);
    bd_tensor_fini(&tensor);
}

static void pieces_fini(pieces *p)
{
    while (p->first)
        drop(p, p->first);
    bd_imap_fini(&p->by_key);
}

// ---- What both resources share ----

typedef struct table {
    bd_resource base;
    bd_wait_queue wait_queue;
    bd_waitlist line; // guarded by wait_queue.mu, as all below
    pieces pieces;
    bd_timers *timers; // NULL: there is no timeout
    int64_t timeout_ns;
    bd_timer_id timer; // 0: none
} table;

static table *table_of(bd_wait_queue *w)
{
    return BD_CONTAINER_OF(w, table, wait_queue);
}

static void table_destroy(bd_resource *r)
{
    table *t = BD_CONTAINER_OF(r, table, base);
    bd_timers_free(t->timers);
    pieces_fini(&t->pieces);
    bd_wait_queue_fini(&t->wait_queue);
    bd_free(t);
}

static void table_abandon(bd_resource *r)
{
    table *t = BD_CONTAINER_OF(r, table, base);
    bd_resource_ref(r);
    bd_wait_queue_lock(&t->wait_queue);
    bd_waitlist_cancel_locked(&t->wait_queue, &t->line);
    bd_wait_queue_unlock(&t->wait_queue);
    bd_resource_unref(r);
}

static const bd_resource_type unbatch_type = {
    .name = "UnbatchResource", .destroy = table_destroy, .abandon = table_abandon};
static const bd_resource_type grad_type = {
    .name = "UnbatchGradResource", .destroy = table_destroy, .abandon = table_abandon};

typedef struct table_options {
    const bd_resource_type *type;
    const bd_wait_kind *kind;
    const char *what, *container, *name; // of the node
    int64_t timeout_micros;              // -1: none
} table_options;

static table_options options_of(const braid_op *node, const bd_resource_type *type, const bd_wait_kind *kind)
{
    const char *shared = bd_node_attr_string(node, "shared_name");
    return (table_options){.type = type,
                           .kind = kind,
                           .what = node->op_type,
                           .container = bd_node_attr_string(node, "container"),
                           .name = shared[0] ? shared : node->name,
                           .timeout_micros = -1};
}

static braid_code create_table(void *arg, bd_resource **out, braid_status *st)
{
    const table_options *o = arg;
    table *t = bd_calloc(1, sizeof *t);
    if (o->timeout_micros >= 0) {
        const braid_code code = bd_timers_new(&t->timers, st);
        if (code) {
            bd_free(t);
            return code;
        }
        t->timeout_ns = o->timeout_micros < BD_FOREVER / 1000 ? o->timeout_micros * 1000 : BD_FOREVER;
    }
    bd_resource_init(&t->base, o->type);
    bd_wait_queue_init(&t->wait_queue, o->kind, &t->base);
    t->line.what = o->what;
    *out = &t->base;
    return BRAID_OK;
}

// The caller gets a reference; NULL: the kernel has failed.
static table *find_table(bd_op_ctx *c, table_options *o)
{
    bd_resource *r;
    BD_STATUS(st);
    const bd_resource_spec spec = {o->container, o->name, o->type, create_table, o};
    if (!bd_resources_lookup_or_create(c->step->resources, &spec, &r, st))
        return BD_CONTAINER_OF(r, table, base);
    bd_op_fail_status(c, st);
    return NULL;
}

static bool read_key(bd_op_ctx *c, int i, int64_t *key)
{
    const braid_tensor *id = bd_input(c, i);
    char text[BD_SHAPE_STR_MAX];
    if (id->shape.rank == 0) {
        *key = bd_tensor_i64(id)[0];
        return true;
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input id should be scalar; Got: shape %s.",
               bd_shape_str(&id->shape, text));
    return false;
}

// Checks that input `i` is a matrix of rows (key, begin, end).
static bool check_index(bd_op_ctx *c, int i)
{
    const braid_shape *s = &bd_input(c, i)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (s->rank == 2 && s->dims[1] == 3) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Wrong shape for index tensor. Expected 1st dimension size to be 3 ; Got: shape %s.",
               bd_shape_str(s, text));
    return false;
}

// ---- Unbatch ----

typedef struct unbatch_waiter {
    bd_waiter base;
    int64_t key, deadline_ns;
    braid_tensor rows; // owned
} unbatch_waiter;

static unbatch_waiter *unbatch_waiter_of(bd_waiter *w)
{
    return BD_CONTAINER_OF(w, unbatch_waiter, base);
}

static int64_t deadline_of(const table *t)
{
    const int64_t now = bd_now_ns();
    return t->timeout_ns < BD_FOREVER - now ? now + t->timeout_ns : BD_FOREVER;
}

static void unbatch_fire(void *arg)
{
    table *t = arg;
    bd_wait_queue_lock(&t->wait_queue);
    t->timer = 0;
    bd_wait_queue_unlock_timer(&t->wait_queue, t->line.first);
}

static void expire_locked(table *t)
{
    const int64_t now = bd_now_ns();
    while (t->pieces.first && t->pieces.first->deadline_ns <= now)
        drop(&t->pieces, t->pieces.first);
    for (bd_waiter *w; (w = t->line.first) && unbatch_waiter_of(w)->deadline_ns <= now;) {
        bd_op_fail(w->c, BRAID_DEADLINE_EXCEEDED, "Batched data did not arrive within timeout window.");
        bd_waiter_end_locked(w);
    }
}

// All deadlines are as far away, so that the oldest entries have the first ones.
static void set_timer_locked(table *t)
{
    int64_t first = t->pieces.first ? t->pieces.first->deadline_ns : BD_FOREVER;
    if (t->line.first) first = bd_min(first, unbatch_waiter_of(t->line.first)->deadline_ns);
    if (!t->timer && first != BD_FOREVER) t->timer = bd_timer_add(t->timers, first, unbatch_fire, t);
}

static void unbatch_serve_locked(bd_wait_queue *wait_queue)
{
    table *t = table_of(wait_queue);
    for (bd_waiter *w = t->line.first, *next; w; w = next) {
        next = w->next;
        piece *x = find(&t->pieces, unbatch_waiter_of(w)->key);
        if (!x) continue;
        take(&t->pieces, x, &unbatch_waiter_of(w)->rows);
        bd_waiter_end_locked(w);
    }
    expire_locked(t);
    set_timer_locked(t);
}

static void unbatch_finish(bd_waiter *base)
{
    unbatch_waiter *w = unbatch_waiter_of(base);
    if (!bd_op_failed(base->c)) bd_output_set(base->c, 0, &w->rows);
    bd_tensor_fini(&w->rows);
}

static const bd_wait_kind unbatch_kind = {
    .waiter_size = sizeof(unbatch_waiter), .serve_locked = unbatch_serve_locked, .finish = unbatch_finish};

// Checks that the sizes of the rows fit the batch.
static bool check_sizes(bd_op_ctx *c, const braid_tensor *batch, const braid_tensor *index)
{
    const int64_t *rows = bd_tensor_i64(index);
    if (batch->shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "the batch to be split must have at least one dimension");
        return false;
    }
    int64_t left = batch->shape.dims[0];
    for (int64_t i = 0; i < index->shape.dims[0]; i++) {
        int64_t size;
        if (__builtin_sub_overflow(rows[3 * i + 2], rows[3 * i + 1], &size) || size < 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "row %lld of the index tensor ends before it begins",
                       (long long)i);
            return false;
        }
        if (size > left) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Sum of split sizes must not exceed dim0-size of input tensor");
            return false;
        }
        left -= size;
    }
    return true;
}

static bool is_waited_for_locked(const table *t, int64_t key)
{
    for (bd_waiter *w = t->line.first; w; w = w->next)
        if (unbatch_waiter_of(w)->key == key) return true;
    return false;
}

// Adds the rows of all steps. False: the execution has failed.
static bool bring_locked(bd_op_ctx *c, table *t, const braid_tensor *batch, const braid_tensor *index)
{
    const int64_t *rows = bd_tensor_i64(index), deadline = deadline_of(t);
    const int64_t row = bd_shape_count_range(&batch->shape, 1, batch->shape.rank);
    int64_t at = 0;
    for (int64_t i = 0; i < index->shape.dims[0]; i++) {
        braid_shape shape = batch->shape;
        braid_tensor view;
        shape.dims[0] = rows[3 * i + 2] - rows[3 * i + 1];
        if (find(&t->pieces, rows[3 * i])) {
            bd_op_fail(c, BRAID_ALREADY_EXISTS, "Multiple tensors returned for same batch key.");
            return false;
        }
        bd_tensor_view(&view, batch, at * row, &shape);
        at += shape.dims[0];
        add(&t->pieces, rows[3 * i], &view, deadline);
    }
    return true;
}

static void unbatch_start(bd_op_ctx *c)
{
    table_options o = options_of(c->node, &unbatch_type, &unbatch_kind);
    const braid_tensor *index = bd_input(c, 1);
    int64_t key = 0;
    braid_tensor batch = {0}, own = {0};
    o.timeout_micros = bd_node_attr_int(c->node, "timeout_micros");
    if (o.timeout_micros < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "timeout_micros must be non-negative; was %lld",
                   (long long)o.timeout_micros);
    } else if (check_index(c, 1) && read_key(c, 2, &key) && check_sizes(c, bd_input(c, 0), index) &&
               !bd_tensor_keep(&batch, bd_input(c, 0))) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a batch");
    }
    table *t = bd_op_failed(c) ? NULL : find_table(c, &o);
    bool waits = false;
    if (t) {
        bd_wait_queue_lock(&t->wait_queue);
        waits = bring_locked(c, t, &batch, index);
        if (waits && is_waited_for_locked(t, key)) {
            bd_op_fail(c, BRAID_ALREADY_EXISTS, "Multiple session runs with the same batch key.");
            waits = false;
        }
        piece *x = waits ? find(&t->pieces, key) : NULL;
        if (x) { // before it can be too old
            take(&t->pieces, x, &own);
            waits = false;
        }
        bd_wait_queue_unlock(&t->wait_queue);
    }
    bd_tensor_fini(&batch);
    if (waits) {
        unbatch_waiter *w = unbatch_waiter_of(bd_waiter_new(&t->wait_queue, c));
        w->key = key;
        w->deadline_ns = deadline_of(t);
        bd_wait(&w->base, &t->line);
    } else {
        if (!bd_op_failed(c)) bd_output_set(c, 0, &own);
        bd_tensor_fini(&own);
        bd_op_done(c);
    }
    if (t) bd_resource_unref(&t->base);
}

// The shape of input `i` with another number of rows.
static braid_code rows_shape(bd_shape_ctx *c, int i, braid_status *st)
{
    c->outputs[0] = c->inputs[i];
    if (c->inputs[i].rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    if (c->inputs[i].rank > 0) c->outputs[0].dims[0] = -1;
    return BRAID_OK;
}

static braid_code unbatch_shape(bd_shape_ctx *c, braid_status *st)
{
    return rows_shape(c, 0, st);
}

static void unbatch_gradient(bd_grad_ctx *c)
{
    if (!c->output_grads[0].op) return;
    char *name = bd_asprintf("unbatch_gradient_%s", c->op->name);
    braid_op_desc *d = braid_op_begin(c->graph, "UnbatchGrad", NULL);
    braid_op_input(d, c->op->inputs[0]);
    braid_op_input(d, c->op->inputs[1]);
    braid_op_input(d, c->output_grads[0]);
    braid_op_input(d, c->op->inputs[2]);
    braid_op_attr_string(d, "shared_name", name);
    c->input_grads[0] = braid_op_end_out(d);
    bd_free(name);
}

BD_OP(Unbatch) = {
    .signature = "(batched_tensor: T, batch_index: int64, id: int64) -> (unbatched_tensor: T)",
    .attrs = "timeout_micros:int; container:string=''; shared_name:string=''; T:type",
    .shape = unbatch_shape,
    .gradient = unbatch_gradient,
    .kernels = BD_KERNELS({.start = unbatch_start}),
    .doc =
        "Gives each step its rows of a batch that Batch has made; the step that has the batch brings them.",
};

// ---- UnbatchGrad ----

typedef struct grad_waiter {
    bd_waiter base;
    int64_t *keys;       // [count], owned
    braid_tensor *grads; // [count], owned, when it is served
    int64_t count;
} grad_waiter;

static grad_waiter *grad_waiter_of(bd_waiter *w)
{
    return BD_CONTAINER_OF(w, grad_waiter, base);
}

static bool has_all_locked(const table *t, const grad_waiter *w)
{
    for (int64_t i = 0; i < w->count; i++)
        if (!find(&t->pieces, w->keys[i])) return false;
    return true;
}

static void grad_serve_locked(bd_wait_queue *wait_queue)
{
    table *t = table_of(wait_queue);
    for (bd_waiter *base = t->line.first, *next; base; base = next) {
        next = base->next;
        grad_waiter *w = grad_waiter_of(base);
        if (!has_all_locked(t, w)) continue;
        for (int64_t i = 0; i < w->count; i++) {
            piece *x = find(&t->pieces, w->keys[i]);
            if (x)
                take(&t->pieces, x, &w->grads[i]);
            else
                bd_op_fail(base->c, BRAID_INVALID_ARGUMENT, "batch_index names the key %lld twice",
                           (long long)w->keys[i]);
        }
        bd_waiter_end_locked(base);
    }
}

// Joins the gradients along their first dimension to output 0.
static void join(bd_op_ctx *c, const braid_tensor *grads, int64_t count)
{
    braid_shape shape = grads[0].shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    for (int64_t i = 1; i < count; i++) {
        braid_shape alike = grads[i].shape;
        if (alike.rank > 0) alike.dims[0] = shape.dims[0];
        if (grads[i].dtype != grads[0].dtype || !bd_shape_equal(&alike, &shape)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Dimensions of gradients of a batch should match but for the first: %s vs. %s",
                       bd_shape_str(&grads[0].shape, a), bd_shape_str(&grads[i].shape, b));
            return;
        }
        if (__builtin_add_overflow(shape.dims[0], grads[i].shape.dims[0], &shape.dims[0])) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "the gradients of a batch have too many rows");
            return;
        }
    }
    const braid_tensor *y = bd_output(c, 0, grads[0].dtype, &shape);
    for (int64_t i = 0, at = 0; y && i < count; at += grads[i++].shape.dims[0])
        bd_elements_join(y, 0, at, &grads[i], grads[i].shape.dims[0]);
}

static void grad_finish(bd_waiter *base)
{
    grad_waiter *w = grad_waiter_of(base);
    if (!bd_op_failed(base->c)) join(base->c, w->grads, w->count);
    for (int64_t i = 0; i < w->count; i++)
        bd_tensor_fini(&w->grads[i]);
    bd_free(w->grads);
    bd_free(w->keys);
    *w = (grad_waiter){.base = w->base};
}

static const bd_wait_kind grad_kind = {
    .waiter_size = sizeof(grad_waiter), .serve_locked = grad_serve_locked, .finish = grad_finish};

// Adds the gradient of this step. False: the execution has failed.
static bool bring_grad(bd_op_ctx *c, table *t, int64_t key, braid_tensor *grad)
{
    bd_wait_queue_lock(&t->wait_queue);
    const bool is_new = !find(&t->pieces, key);
    if (is_new)
        add(&t->pieces, key, grad, BD_FOREVER);
    else
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Two runs with the same batch key.");
    bd_wait_queue_unlock(&t->wait_queue);
    return is_new;
}

static bool check_grad_inputs(bd_op_ctx *c, int64_t *key)
{
    const braid_tensor *index = bd_input(c, 1), *grad = bd_input(c, 2);
    if (!read_key(c, 3, key)) return false;
    if (grad->shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "the gradient must have at least one dimension");
    } else if (bd_tensor_count(bd_input(c, 0)) > 0 && bd_tensor_count(index) == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "batch_index is empty while the tensor isn't.");
    } else if (bd_tensor_count(bd_input(c, 0)) > 0) {
        check_index(c, 1);
    }
    return !bd_op_failed(c);
}

static void wait_for_grads(bd_op_ctx *c, table *t)
{
    const braid_tensor *index = bd_input(c, 1);
    grad_waiter *w = grad_waiter_of(bd_waiter_new(&t->wait_queue, c));
    w->count = index->shape.dims[0];
    w->keys = bd_calloc((size_t)w->count, sizeof *w->keys);
    w->grads = bd_calloc((size_t)w->count, sizeof *w->grads);
    for (int64_t i = 0; i < w->count; i++)
        w->keys[i] = bd_tensor_i64(index)[3 * i];
    bd_wait(&w->base, &t->line);
}

static void grad_start(bd_op_ctx *c)
{
    table_options o = options_of(c->node, &grad_type, &grad_kind);
    int64_t key = 0;
    braid_tensor grad = {0};
    if (check_grad_inputs(c, &key) && !bd_tensor_keep(&grad, bd_input(c, 2)))
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a gradient");
    table *t = bd_op_failed(c) ? NULL : find_table(c, &o);
    const bool has_batch = bd_tensor_count(bd_input(c, 0)) > 0;
    const bool waits = t && bring_grad(c, t, key, &grad) && has_batch;
    bd_tensor_fini(&grad);
    if (waits) {
        wait_for_grads(c, t);
    } else {
        braid_shape none = bd_input(c, 2)->shape;
        if (!bd_op_failed(c)) {
            none.dims[0] = 0;
            bd_output(c, 0, bd_input(c, 2)->dtype, &none);
        }
        bd_op_done(c);
    }
    if (t) bd_resource_unref(&t->base);
}

static braid_code grad_shape(bd_shape_ctx *c, braid_status *st)
{
    return rows_shape(c, 2, st);
}

BD_OP(UnbatchGrad) = {
    .signature = "(original_input: T, batch_index: int64, grad: T, id: int64) -> (batched_grad: T)",
    .attrs = "container:string=''; shared_name:string=''; T:type",
    .shape = grad_shape,
    .kernels = BD_KERNELS({.start = grad_start}),
    .doc =
        "Puts the gradients of the results of Unbatch together, for the step that has the batch; the other "
        "steps get tensors without rows.",
};
