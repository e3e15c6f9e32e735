// ConditionalAccumulator: sums gradients that are fresh enough until somebody takes their mean.
//
// A gradient computed at a step before the accumulator's is dropped. A take waits until so many gradients have arrived, then
// takes them all, and the accumulator goes one step on: what other replicas computed meanwhile is stale.
#include "base/alloc.h"
#include "base/log.h"
#include "graph/grad.h"
#include "ops/element.h"
#include "ops/elementwise.h"
#include "ops/handle.h"
#include "ops/waiting.h"

#include <string.h>

typedef struct accumulator {
    bd_resource base;
    bd_wait_room room;
    char *name; // owned
    braid_dtype dtype;
    braid_shape shape;  // of gradients, perhaps partly known
    bool is_mean;       // else the sum is taken
    bd_wait_line takes; // guarded by room.mu, as all below
    braid_tensor sum;   // of `count` gradients; "no tensor" when there is none
    int64_t count, step;
} accumulator;

typedef struct take_waiter {
    bd_waiter base;
    int64_t required;
    braid_tensor sum; // once it has ended
    int64_t count;
} take_waiter;

static accumulator *accumulator_of(bd_wait_room *room)
{
    return BD_CONTAINER_OF(room, accumulator, room);
}

static take_waiter *waiter_of(bd_waiter *w)
{
    return BD_CONTAINER_OF(w, take_waiter, base);
}

// ---- Summing ----

static bool may_overwrite(const braid_tensor *t)
{
    return t->buffer && !t->buffer->is_variable && t->buffer->size_class != BD_BUFFER_FOREIGN &&
           !t->buffer->release && bd_buffer_is_unique(t->buffer);
}

// The first gradient is held, not copied; the second is added to it in memory of the accumulator's own.
static braid_code add_locked(accumulator *a, const braid_tensor *gradient, braid_status *st)
{
    braid_tensor sum = {0};
    bool ok = true;
    if (a->count == 0) {
        ok = bd_tensor_keep(&sum, gradient);
    } else {
        if (may_overwrite(&a->sum)) {
            bd_tensor_ref(&sum, &a->sum);
        } else {
            ok = bd_tensor_alloc(&sum, a->dtype, &gradient->shape);
        }
        if (ok)
            bd_kernels()->binary[BD_ADD][bd_number_of(a->dtype)](a->sum.data, gradient->data, sum.data,
                                                                 bd_tensor_count(&sum), BD_SINGLE_NONE);
    }
    if (!ok) return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when adding to accumulator '%s'", a->name);
    bd_tensor_fini(&a->sum);
    a->sum = sum;
    a->count++;
    return BRAID_OK;
}

static braid_code check_shape_locked(const accumulator *a, const braid_shape *got, braid_status *st)
{
    const braid_shape *want = a->count > 0 && !bd_shape_equal(&a->sum.shape, got) ? &a->sum.shape : &a->shape;
    braid_shape merged;
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    if (bd_shape_merge(want, got, &merged)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Shape mismatch: expected %s, got %s", bd_shape_str(want, x),
                   bd_shape_str(got, y));
}

// ---- Taking ----

static void serve_locked(bd_wait_room *room)
{
    accumulator *a = accumulator_of(room);
    for (bd_waiter *base; (base = a->takes.first);) {
        take_waiter *w = waiter_of(base);
        if (a->count < w->required) return;
        bd_tensor_move(&w->sum, &a->sum);
        w->count = a->count;
        a->count = 0;
        a->step++;
        bd_waiter_end_locked(base);
    }
}

// sum / count, over the sum where nobody else holds it.
static void output_mean(bd_op_ctx *c, braid_tensor *sum, int64_t count)
{
    double f64 = (double)count;
    float f32 = (float)count;
    int32_t i32 = (int32_t)count;
    const void *divisors[] = {[BD_F32] = &f32, [BD_F64] = &f64, [BD_I32] = &i32, [BD_I64] = &count};
    bd_number type = bd_number_of(sum->dtype);
    if (may_overwrite(sum)) {
        bd_output_set(c, 0, sum);
    } else if (!bd_output(c, 0, sum->dtype, &sum->shape)) {
        return;
    }
    bd_kernels()->binary[BD_DIV][type](sum->data, divisors[type], c->outputs[0].tensor.data,
                                       bd_tensor_count(sum), BD_SINGLE_Y);
}

static void finish(bd_waiter *base)
{
    take_waiter *w = waiter_of(base);
    if (!bd_op_failed(base->c)) {
        if (accumulator_of(base->room)->is_mean && w->count > 1) {
            output_mean(base->c, &w->sum, w->count);
        } else {
            bd_output_set(base->c, 0, &w->sum);
        }
    }
    bd_tensor_fini(&w->sum);
}

static const bd_wait_kind wait_kind = {
    .waiter_size = sizeof(take_waiter), .serve_locked = serve_locked, .finish = finish};

// ---- The resource ----

static void destroy(bd_resource *r)
{
    accumulator *a = BD_CONTAINER_OF(r, accumulator, base);
    bd_tensor_fini(&a->sum);
    bd_wait_room_fini(&a->room);
    bd_free(a->name);
    bd_free(a);
}

static void abandon(bd_resource *r)
{
    accumulator *a = BD_CONTAINER_OF(r, accumulator, base);
    bd_resource_ref(r);
    bd_wait_room_lock(&a->room);
    bd_wait_line_cancel_locked(&a->room, &a->takes);
    bd_wait_room_unlock(&a->room);
    bd_resource_unref(r);
}

static const bd_resource_type accumulator_type = {
    .name = "Accumulator", .destroy = destroy, .abandon = abandon};

// ---- ConditionalAccumulator ----

typedef struct source_state {
    bd_handle_source handle;
    braid_dtype dtype;
    braid_shape shape;
    bool is_mean;
} source_state;

static braid_code source_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    source_state *s = state;
    s->dtype = bd_node_attr_type(node, "dtype");
    s->shape = bd_node_attr_shape(node, "shape");
    s->is_mean = strcmp(bd_node_attr_string(node, "reduction_type"), "MEAN") == 0;
    bd_handle_source_init(&s->handle, node, &accumulator_type);
    return BRAID_OK;
}

static void source_destroy(void *state)
{
    bd_handle_source_fini(&((source_state *)state)->handle);
}

static braid_code create_accumulator(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    const source_state *s = arg;
    accumulator *a = bd_calloc(1, sizeof *a);
    bd_resource_init(&a->base, &accumulator_type);
    bd_wait_room_init(&a->room, &wait_kind, &a->base);
    a->name = bd_strdup(s->handle.name);
    a->dtype = s->dtype;
    a->shape = s->shape;
    a->is_mean = s->is_mean;
    a->takes.what = "TakeGrad";
    *out = &a->base;
    return BRAID_OK;
}

static void source_run(bd_op_ctx *c)
{
    source_state *s = c->state;
    bd_resource *r = bd_handle_source_output(c, &s->handle, create_accumulator, s);
    if (!r) return;
    const accumulator *a = BD_CONTAINER_OF(r, accumulator, base);
    if (a->dtype != s->dtype || a->is_mean != s->is_mean || !bd_shape_equal(&a->shape, &s->shape)) {
        char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Shared accumulator '%s' has type %s and shape %s, but type %s and shape %s were requested%s",
            a->name, braid_dtype_name(a->dtype), bd_shape_str(&a->shape, x), braid_dtype_name(s->dtype),
            bd_shape_str(&s->shape, y), a->is_mean == s->is_mean ? "" : ", with another reduction_type");
    }
    bd_resource_unref(r);
}

#define TYPES "dtype=float|double|int32|int64"

BD_OP(ConditionalAccumulator) = {
    .signature = "() -> (handle: Ref(string))",
    .attrs = "dtype:type{number}; shape:shape; container:string=''; shared_name:string=''; "
             "reduction_type:string{MEAN,SUM}='MEAN'",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle,
    .kernels = BD_KERNELS({.types = TYPES,
                           .state_size = sizeof(source_state),
                           .create = source_create,
                           .destroy = source_destroy,
                           .run = source_run}),
    .doc = "Sums gradients until their mean is taken; gradients of a step that is over are dropped.",
};

// ---- Ops on it ----

// The accumulator in input 0, if it has that type (BRAID_INVALID: any). The caller gives the reference back. NULL: the
// kernel has failed.
static accumulator *accumulator_input(bd_op_ctx *c, braid_dtype dtype)
{
    bd_resource *r = bd_input_resource(c, 0, &accumulator_type);
    if (!r) return NULL;
    accumulator *a = BD_CONTAINER_OF(r, accumulator, base);
    if (dtype == BRAID_INVALID || dtype == a->dtype) return a;
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

static void apply_run(bd_op_ctx *c)
{
    const braid_tensor *gradient = bd_input(c, 2);
    int64_t step;
    BD_STATUS(st);
    accumulator *a = accumulator_input(c, gradient->dtype);
    if (!a) return;
    if (scalar_input(c, 1, "local_step", &step)) {
        bd_wait_room_lock(&a->room);
        if (step >= a->step && !check_shape_locked(a, &gradient->shape, st)) add_locked(a, gradient, st);
        bd_wait_room_unlock(&a->room);
    }
    if (st->code) bd_op_fail_status(c, st);
    bd_resource_unref(&a->base);
}

static void take_start(bd_op_ctx *c)
{
    int64_t required = 0;
    accumulator *a = accumulator_input(c, c->node->output_types[0]);
    if (a && scalar_input(c, 1, "num_required", &required) && required <= 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Argument num_required must be positive, but was %lld",
                   (long long)required);
    if (bd_op_failed(c)) {
        bd_op_done(c);
    } else {
        take_waiter *w = waiter_of(bd_waiter_new(&a->room, c));
        w->required = required;
        bd_wait(&w->base, &a->takes);
    }
    if (a) bd_resource_unref(&a->base);
}

static void set_step_run(bd_op_ctx *c)
{
    int64_t step;
    accumulator *a = accumulator_input(c, BRAID_INVALID);
    if (!a) return;
    if (scalar_input(c, 1, "new_global_step", &step)) {
        bd_wait_room_lock(&a->room);
        int64_t before = a->step;
        a->step = step;
        bd_wait_room_unlock(&a->room);
        if (step < before)
            bd_warn("accumulator '%s': the global step goes back from %lld to %lld", a->name,
                    (long long)before, (long long)step);
    }
    bd_resource_unref(&a->base);
}

static void count_run(bd_op_ctx *c)
{
    accumulator *a = accumulator_input(c, BRAID_INVALID);
    if (!a) return;
    bd_wait_room_lock(&a->room);
    int64_t count = a->count;
    bd_wait_room_unlock(&a->room);
    bd_resource_unref(&a->base);
    braid_tensor *y = bd_output(c, 0, BRAID_INT32, &BD_SCALAR);
    if (y) bd_tensor_i32(y)[0] = (int32_t)count;
}

// A handle and a scalar; the output's shape is the accumulator's, where its node says one.
static braid_code handle_and_scalar(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_handle(c, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 0, st);
    const braid_op *source = c->node->inputs[0].op;
    const bd_attr *shape = source ? bd_node_attr(source, "shape") : NULL;
    if (c->output_count)
        c->outputs[0] = shape && shape->kind == BD_ATTR_SHAPE ? shape->shape : BD_SHAPE_UNKNOWN;
    return code;
}

BD_OP(AccumulatorApplyGradient) = {
    .signature = "(handle: Ref(string), local_step: int64, gradient: dtype) -> ()",
    .attrs = "dtype:type{number}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = handle_and_scalar,
    .kernels = BD_KERNELS({.types = TYPES, .flags = BD_KERNEL_EXPENSIVE, .run = apply_run}),
    .doc = "Adds a gradient to an accumulator, unless local_step is before the accumulator's step.",
};

BD_OP(AccumulatorTakeGradient) = {
    .signature = "(handle: Ref(string), num_required: int32) -> (average: dtype)",
    .attrs = "dtype:type{number}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = handle_and_scalar,
    .kernels = BD_KERNELS({.types = TYPES, .start = take_start}),
    .doc =
        "Waits for num_required gradients, takes the mean of all there are, and ends the accumulator's step.",
};

BD_OP(AccumulatorSetGlobalStep) = {
    .signature = "(handle: Ref(string), new_global_step: int64) -> ()",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = handle_and_scalar,
    .kernels = BD_KERNELS({.run = set_step_run}),
    .doc = "Sets the step of an accumulator: gradients from before are dropped.",
};

BD_OP(AccumulatorNumAccumulated) = {
    .signature = "(handle: Ref(string)) -> (num_accumulated: int32)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle_to_scalar,
    .kernels = BD_KERNELS({.run = count_run}),
    .doc = "How many gradients an accumulator holds.",
};
