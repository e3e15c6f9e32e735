// Accumulators: sharing, waiting, taking, and the ops that serve dense and sparse ones alike.
#include "ops/data_flow/accumulator.h"

#include "base/alloc.h"
#include "base/half.h"
#include "base/log.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/state/variable.h"

#include <string.h>

typedef struct take_waiter {
    bd_waiter base;
    int64_t required;
    bd_gradient_sum sum; // both once it has ended
    bd_kept_gradients kept;
} take_waiter;

static bd_accumulator *accumulator_of(bd_wait_queue *wait_queue)
{
    return BD_CONTAINER_OF(wait_queue, bd_accumulator, wait_queue);
}

static take_waiter *waiter_of(bd_waiter *w)
{
    return BD_CONTAINER_OF(w, take_waiter, base);
}

// ---- Sums ----

void bd_gradient_sum_fini(bd_gradient_sum *s)
{
    bd_tensor_fini(&s->values);
    bd_tensor_fini(&s->indices);
    bd_tensor_fini(&s->counts);
}

bool bd_accumulator_may_overwrite(const braid_tensor *t)
{
    return t->buffer && !t->buffer->is_variable && t->buffer->size_class != BD_BUFFER_FOREIGN &&
           !t->buffer->release && bd_buffer_is_unique(t->buffer);
}

void bd_accumulator_add(braid_dtype dtype, const void *x, const void *y, void *z, int64_t count)
{
    if (dtype == BRAID_HALF) {
        if (z != x) memcpy(z, x, (size_t)count * sizeof(uint16_t));
        bd_update_function(dtype, BD_UPDATE_ADD)(z, y, count);
    } else {
        bd_binary_loop(BD_ADD, bd_number_of(dtype))(x, y, z, count, BD_SINGLE_NONE);
    }
}

void bd_accumulator_divide(braid_dtype dtype, const void *values, int64_t divisor, void *out, int64_t count)
{
    if (dtype == BRAID_HALF) {
        for (int64_t i = 0; i < count; i++)
            ((uint16_t *)out)[i] =
                bd_half_of_float(bd_float_of_half(((const uint16_t *)values)[i]) / (float)divisor);
        return;
    }
    double f64 = (double)divisor;
    float f32 = (float)divisor;
    int32_t i32 = (int32_t)divisor;
    const void *divisors[] = {[BD_F32] = &f32, [BD_F64] = &f64, [BD_I32] = &i32, [BD_I64] = &divisor};
    bd_number type = bd_number_of(dtype);
    bd_binary_loop(BD_DIV, type)(values, divisors[type], out, count, BD_SINGLE_Y);
}

// ---- Gradients that are kept apart ----

static void kept_fini(bd_kept_gradients *kept)
{
    for (size_t i = 0; i < kept->len; i++) {
        bd_tensor_fini(&kept->items[i].values);
        bd_tensor_fini(&kept->items[i].indices);
    }
    bd_array_free(kept);
}

// Keeps a gradient behind those of its own replica and of those before it.
static bool keep(bd_kept_gradients *kept, int64_t replica, const bd_gradient *g)
{
    bd_kept_gradient k = {.replica = replica};
    if (!bd_tensor_keep(&k.values, g->values)) return false;
    if (g->indices && !bd_tensor_keep(&k.indices, g->indices)) {
        bd_tensor_fini(&k.values);
        return false;
    }
    bd_array_push(kept, k);
    size_t at = kept->len - 1;
    for (; at > 0 && kept->items[at - 1].replica > replica; at--)
        kept->items[at] = kept->items[at - 1];
    kept->items[at] = k;
    return true;
}

// Adds up what is kept, in its order.
static bool add_kept(const bd_accumulator *a, const bd_kept_gradients *kept, bd_gradient_sum *sum)
{
    for (size_t i = 0; i < kept->len; i++) {
        const bd_kept_gradient *k = &kept->items[i];
        const bd_gradient g = {.values = &k->values, .indices = &k->indices};
        if (!a->kind->add(a, sum, &g)) return false;
        sum->count++;
    }
    return true;
}

// ---- Taking ----

static int64_t count_locked(const bd_accumulator *a)
{
    return a->sum.count + (int64_t)a->kept.len;
}

static void serve_locked(bd_wait_queue *wait_queue)
{
    bd_accumulator *a = accumulator_of(wait_queue);
    for (bd_waiter *base; (base = a->takes.first);) {
        take_waiter *w = waiter_of(base);
        if (count_locked(a) < w->required) return;
        w->sum = a->sum;
        w->kept = a->kept;
        a->sum = (bd_gradient_sum){0};
        a->kept = (bd_kept_gradients){0};
        a->step++;
        bd_waiter_end_locked(base);
    }
}

static void finish(bd_waiter *base)
{
    take_waiter *w = waiter_of(base);
    const bd_accumulator *a = accumulator_of(base->wait_queue);
    if (!bd_op_failed(base->c)) {
        if (add_kept(a, &w->kept, &w->sum))
            a->kind->output(a, base->c, &w->sum);
        else
            bd_op_fail(base->c, BRAID_RESOURCE_EXHAUSTED, "OOM when adding up accumulator '%s'", a->name);
    }
    kept_fini(&w->kept);
    bd_gradient_sum_fini(&w->sum);
    w->sum = (bd_gradient_sum){0};
}

static const bd_wait_kind wait_kind = {
    .waiter_size = sizeof(take_waiter), .serve_locked = serve_locked, .finish = finish};

// ---- The resource ----

static void destroy(bd_resource *r)
{
    bd_accumulator *a = BD_CONTAINER_OF(r, bd_accumulator, base);
    bd_gradient_sum_fini(&a->sum);
    kept_fini(&a->kept);
    bd_wait_queue_fini(&a->wait_queue);
    bd_array_free(&a->dropped_of);
    bd_free(a->name);
    bd_free(a);
}

static void abandon(bd_resource *r)
{
    bd_accumulator *a = BD_CONTAINER_OF(r, bd_accumulator, base);
    bd_resource_ref(r);
    bd_wait_queue_lock(&a->wait_queue);
    bd_waitlist_cancel_locked(&a->wait_queue, &a->takes);
    bd_wait_queue_unlock(&a->wait_queue);
    bd_resource_unref(r);
}

static const bd_resource_type accumulator_type = {
    .name = "Accumulator", .destroy = destroy, .abandon = abandon};

// ---- Making one ----

void bd_accumulator_source_init(bd_accumulator_source *s, const bd_accumulator_kind *kind,
                                const braid_op *node)
{
    s->kind = kind;
    s->dtype = bd_node_attr_type(node, "dtype");
    s->shape = bd_node_attr_shape(node, "shape");
    s->is_mean = strcmp(bd_node_attr_string(node, "reduction_type"), "MEAN") == 0;
    bd_handle_source_init(&s->handle, node, &accumulator_type);
}

void bd_accumulator_source_destroy(void *state)
{
    bd_handle_source_fini(&((bd_accumulator_source *)state)->handle);
}

static braid_code create_accumulator(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    const bd_accumulator_source *s = arg;
    bd_accumulator *a = bd_calloc(1, sizeof *a);
    bd_resource_init(&a->base, &accumulator_type);
    bd_wait_queue_init(&a->wait_queue, &wait_kind, &a->base);
    a->kind = s->kind;
    a->name = bd_strdup(s->handle.name);
    a->dtype = s->dtype;
    a->shape = s->shape;
    a->is_mean = s->is_mean;
    a->takes.what = "TakeGrad";
    *out = &a->base;
    return BRAID_OK;
}

void bd_accumulator_source_run(bd_op_ctx *c)
{
    bd_accumulator_source *s = c->state;
    bd_resource *r = bd_handle_source_output(c, &s->handle, create_accumulator, s);
    if (!r) return;
    const bd_accumulator *a = BD_CONTAINER_OF(r, bd_accumulator, base);
    if (a->kind != s->kind) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Shared accumulator '%s' is %s, but a %s one was requested",
                   a->name, a->kind->name, s->kind->name);
    } else if (a->dtype != s->dtype || a->is_mean != s->is_mean || !bd_shape_equal(&a->shape, &s->shape)) {
        char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Shared accumulator '%s' has type %s and shape %s, but type %s and shape %s were requested%s",
            a->name, braid_dtype_name(a->dtype), bd_shape_str(&a->shape, x), braid_dtype_name(s->dtype),
            bd_shape_str(&s->shape, y), a->is_mean == s->is_mean ? "" : ", with another reduction_type");
    }
    bd_resource_unref(r);
}

// ---- Ops on dense and sparse ones ----

// The accumulator in input 0, if it has that kind (NULL: any) and type (BRAID_INVALID: any), with a reference
// for the caller. Returns NULL when the kernel has failed.
static bd_accumulator *accumulator_input(bd_op_ctx *c, const bd_accumulator_kind *kind, braid_dtype dtype)
{
    bd_resource *r = bd_input_resource(c, 0, &accumulator_type);
    if (!r) return NULL;
    bd_accumulator *a = BD_CONTAINER_OF(r, bd_accumulator, base);
    bool is_kind = !kind || kind == a->kind;
    if (is_kind && (dtype == BRAID_INVALID || dtype == a->dtype)) return a;
    if (!is_kind) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s '%s': accumulator '%s' is %s, not %s", c->node->op_type,
                   c->node->name, a->name, a->kind->name, kind->name);
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Signature mismatch: accumulator '%s' has type %s, %s '%s' type %s",
               a->name, braid_dtype_name(a->dtype), c->node->op_type, c->node->name, braid_dtype_name(dtype));
    bd_resource_unref(r);
    return NULL;
}

static bool scalar_input(bd_op_ctx *c, int i, const char *what, int64_t *value)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank == 0) {
        *value = bd_tensor_index(t, 0);
        return true;
    }
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Argument %s must be scalar, but had bad shape %s", what,
               bd_shape_str(&t->shape, text));
    return false;
}

// The replica that an applying node names; replica -1: none.
typedef struct source_replica {
    int64_t replica, share;
} source_replica;

static bool find_replica(bd_op_ctx *c, source_replica *r)
{
    const bd_attr *replica = bd_node_attr(c->node, BD_REPLICA_ATTR),
                  *share = bd_node_attr(c->node, BD_REPLICA_SHARE_ATTR);
    *r = (source_replica){-1, 1};
    if (!replica) return true;
    if (replica->kind == BD_ATTR_INT) r->replica = replica->i;
    if (share) r->share = share->kind == BD_ATTR_INT ? share->i : 0;
    if (r->replica >= 0 && r->share > 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s '%s': %s is to be an integer from 0 on, and %s a positive one",
               c->node->op_type, c->node->name, BD_REPLICA_ATTR, BD_REPLICA_SHARE_ATTR);
    return false;
}

static bool has_given_share_locked(const bd_accumulator *a, const source_replica *r)
{
    int64_t given = 0;
    for (size_t i = 0; i < a->kept.len; i++)
        given += a->kept.items[i].replica == r->replica;
    return r->replica >= 0 && given >= r->share;
}

static braid_code apply_locked(bd_accumulator *a, bd_op_ctx *c, const source_replica *r, braid_status *st)
{
    const braid_shape *held = a->sum.count > 0 ? &a->sum.values.shape
                              : a->kept.len    ? &a->kept.items[0].values.shape
                                               : NULL;
    bd_gradient g;
    const braid_code code = a->kind->read_locked(a, c, held, &g, st);
    if (code) return code;
    const bool is_kept = r->replica >= 0;
    if (!(is_kept ? keep(&a->kept, r->replica, &g) : a->kind->add(a, &a->sum, &g)))
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when adding to accumulator '%s'", a->name);
    if (!is_kept) a->sum.count++;
    return BRAID_OK;
}

// ---- Dropped gradients, by worker ----

enum {
    WORKERS_MAX = 65536 // whose dropped gradients are counted one by one
};

// -1: the node names no worker.
static int64_t worker_of(const bd_op_ctx *c)
{
    const bd_attr *worker = bd_node_attr(c->node, BD_WORKER_ATTR);
    return worker && worker->kind == BD_ATTR_INT ? worker->i : -1;
}

// The counter of a worker; NULL when there is none.
static bd_worker_dropped *dropped_of_locked(const bd_accumulator *a, int64_t worker)
{
    for (size_t i = 0; i < a->dropped_of.len; i++)
        if (a->dropped_of.items[i].worker == worker) return &a->dropped_of.items[i];
    return NULL;
}

static void drop_locked(bd_accumulator *a, int64_t worker)
{
    a->dropped++;
    bd_worker_dropped *of = worker < 0 ? NULL : dropped_of_locked(a, worker);
    if (of)
        of->count++;
    else if (worker >= 0 && a->dropped_of.len < WORKERS_MAX)
        bd_array_push(&a->dropped_of, ((bd_worker_dropped){worker, 1}));
}

void bd_accumulator_apply(bd_op_ctx *c, const bd_accumulator_kind *kind, braid_dtype dtype)
{
    int64_t step;
    source_replica r;
    BD_STATUS(st);
    bd_accumulator *a = accumulator_input(c, kind, dtype);
    if (!a) return;
    if (find_replica(c, &r) && scalar_input(c, 1, "local_step", &step)) {
        bd_wait_queue_lock(&a->wait_queue);
        // A replica whose gradient is ahead has a token from before the steps went back.
        if (step < a->step || (r.replica >= 0 && step > a->step) || has_given_share_locked(a, &r))
            drop_locked(a, worker_of(c));
        else
            apply_locked(a, c, &r, st);
        bd_wait_queue_unlock(&a->wait_queue);
    }
    if (st->code) bd_op_fail_status(c, st);
    bd_resource_unref(&a->base);
}

void bd_accumulator_take(bd_op_ctx *c, const bd_accumulator_kind *kind, braid_dtype dtype)
{
    int64_t required = 0;
    bd_accumulator *a = accumulator_input(c, kind, dtype);
    if (a && scalar_input(c, 1, "num_required", &required) && required <= 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Argument num_required must be positive, but was %lld",
                   (long long)required);
    if (bd_op_failed(c)) {
        bd_op_done(c);
    } else {
        take_waiter *w = waiter_of(bd_waiter_new(&a->wait_queue, c));
        w->required = required;
        bd_wait(&w->base, &a->takes);
    }
    if (a) bd_resource_unref(&a->base);
}

static void set_step_run(bd_op_ctx *c)
{
    int64_t step;
    bd_accumulator *a = accumulator_input(c, NULL, BRAID_INVALID);
    if (!a) return;
    if (scalar_input(c, 1, "new_global_step", &step)) {
        bd_wait_queue_lock(&a->wait_queue);
        int64_t before = a->step;
        bd_kept_gradients kept = a->kept; // all replicas start anew
        a->kept = (bd_kept_gradients){0};
        a->step = step;
        bd_wait_queue_unlock(&a->wait_queue);
        kept_fini(&kept);
        if (step < before)
            bd_warn("accumulator '%s': the global step goes back from %lld to %lld", a->name,
                    (long long)before, (long long)step);
    }
    bd_resource_unref(&a->base);
}

static void count_run(bd_op_ctx *c)
{
    bd_accumulator *a = accumulator_input(c, NULL, BRAID_INVALID);
    if (!a) return;
    bd_wait_queue_lock(&a->wait_queue);
    const bd_attr *dropped = bd_node_attr(c->node, BD_NUM_DROPPED_ATTR);
    const bool counts_dropped = dropped && dropped->kind == BD_ATTR_BOOL && dropped->b;
    const int64_t worker = worker_of(c);
    const bd_worker_dropped *of = worker < 0 ? NULL : dropped_of_locked(a, worker);
    const int64_t of_worker = of ? of->count : 0;
    const int64_t count = !counts_dropped ? count_locked(a) : worker < 0 ? a->dropped : of_worker;
    bd_wait_queue_unlock(&a->wait_queue);
    bd_resource_unref(&a->base);
    braid_tensor *y = bd_output(c, 0, BRAID_INT32, &BD_SCALAR);
    if (y) bd_tensor_i32(y)[0] = (int32_t)count;
}

braid_code bd_shape_ctx_accumulator(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_handle(c, st);
    return code ? code : bd_shape_ctx_rank(c, 1, 0, st);
}

#define SET_STEP(HANDLE)                                                                                     \
    .signature = "(handle: " HANDLE ", new_global_step: int64) -> ()", .shape = bd_shape_ctx_accumulator,    \
    .kernels = BD_KERNELS({.run = set_step_run}),                                                            \
    .doc = "Sets the step of an accumulator: gradients from before are dropped."
#define COUNT(HANDLE)                                                                                        \
    .signature = "(handle: " HANDLE ") -> (num_accumulated: int32)", .shape = bd_shape_fn_handle_to_scalar,  \
    .kernels = BD_KERNELS({.run = count_run}),                                                               \
    .doc = "How many gradients an accumulator holds; with the attr _dropped: how many it has dropped."

BD_OP(AccumulatorSetGlobalStep) = {.flags = BD_OP_NOT_DIFFERENTIABLE, SET_STEP("Ref(string)")};
BD_OP(ResourceAccumulatorSetGlobalStep) = {.flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
                                           SET_STEP("resource")};
BD_OP(AccumulatorNumAccumulated) = {.flags = BD_OP_NOT_DIFFERENTIABLE, COUNT("Ref(string)")};
BD_OP(ResourceAccumulatorNumAccumulated) = {.flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
                                            COUNT("resource")};
