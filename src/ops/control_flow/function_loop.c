// Functional loops: While and For call a body until a condition ends them.
//
// An iteration calls the condition and then the body, with the results of the previous one. A call may end
// before it returns, or later on another thread. `phase` tells which, so that iterations follow each other in
// the loop of `run_turns` and the stack does not grow.
#include "ops/control_flow/function_ops.h"

#include "base/slab.h"
#include <string.h>

typedef struct loop_state {
    bd_func_ref cond, body; // For has no cond
} loop_state;

enum {
    CALLING = 0, // the call has not returned
    WAITING,     // the call has returned and has not ended yet
    ENDED,
};

// One execution of a loop.
typedef struct loop {
    bd_op_ctx *c;
    const loop_state *s;
    bool is_for, asks; // the next call is that of the condition
    bool is_over;      // no further turn: the values are the outputs, or `status` is the error
    int64_t i, limit, delta;
    atomic_int phase;
    braid_status status;
    int count;
    braid_tensor args[]; // [0] is i of a For, a scalar made anew each turn; then the loop's values [count]
} loop;

static void run_turns(loop *l);

static void finish(loop *l)
{
    bd_op_ctx *c = l->c;
    bd_function_outputs(c, l->args + 1, l->count, &l->status);
    for (int i = 0; i <= l->count; i++)
        bd_tensor_fini(&l->args[i]);
    bd_status_fini(&l->status);
    bd_slab_free(l);
    bd_op_done(c);
}

// ---- What a call gave ----

static braid_code take_truth(loop *l, const braid_tensor *rets, int count)
{
    bool truth = false;
    if (count != 1)
        return bd_fail(&l->status, BRAID_INVALID_ARGUMENT,
                       "Expected a single scalar return value from WhileOp cond, which is %s and gives %d",
                       l->s->cond.name, count);
    if (bd_truth(&rets[0], &truth, &l->status)) return l->status.code;
    l->is_over = !truth;
    return BRAID_OK;
}

static braid_code take_values(loop *l, braid_tensor *rets, int count)
{
    if (count != l->count)
        return bd_fail(&l->status, BRAID_INVALID_ARGUMENT,
                       "%s loop body returned %d arguments. Expected: %d; the body is %s",
                       l->is_for ? "For" : "While", count, l->count, l->s->body.name);
    for (int i = 0; i < count; i++) {
        bd_tensor_fini(&l->args[1 + i]);
        bd_tensor_move(&l->args[1 + i], &rets[i]);
    }
    l->i += l->delta;
    return BRAID_OK;
}

static void called(void *arg, braid_tensor *rets, int ret_count, const braid_status *st)
{
    loop *l = arg;
    if (st->code)
        bd_status_copy(&l->status, st);
    else if (l->asks)
        take_truth(l, rets, ret_count);
    else
        take_values(l, rets, ret_count);
    l->asks = !l->asks && !l->is_for;
    l->is_over |= l->status.code != BRAID_OK;
    if (atomic_exchange_explicit(&l->phase, ENDED, memory_order_acq_rel) == WAITING) run_turns(l);
}

// ---- Turns ----

static bool for_is_over(const loop *l)
{
    return l->is_for && (l->delta > 0 ? l->i >= l->limit : l->i <= l->limit);
}

static bool set_index(loop *l)
{
    const braid_shape scalar = BD_SCALAR;
    bd_tensor_fini(&l->args[0]);
    if (bd_tensor_init(&l->args[0], BRAID_INT32, &scalar, &l->status)) return false;
    *(int32_t *)l->args[0].data = (int32_t)l->i;
    return true;
}

static void run_turns(loop *l)
{
    for (;;) {
        if (l->is_over || for_is_over(l) || (l->is_for && !set_index(l))) {
            finish(l);
            return;
        }
        const bd_func_ref *f = l->asks ? &l->s->cond : &l->s->body;
        const int first = l->is_for ? 0 : 1;
        atomic_store_explicit(&l->phase, CALLING, memory_order_relaxed);
        bd_step_call(l->c->step, f, BD_CALLEE_LOCAL, l->args + first, l->count + 1 - first, called, l);
        int calling = CALLING;
        if (atomic_compare_exchange_strong_explicit(&l->phase, &calling, WAITING, memory_order_acq_rel,
                                                    memory_order_acquire))
            return; // `l` may be gone
    }
}

// The values are the inputs from `first` on.
static loop *new_loop(bd_op_ctx *c, int first)
{
    const int count = c->input_count - first;
    loop *l = bd_slab_alloc(sizeof *l + ((size_t)count + 1) * sizeof l->args[0]);
    l->c = c;
    l->s = c->state;
    l->count = count;
    for (int i = 0; i < count; i++)
        bd_tensor_ref(&l->args[1 + i], bd_input(c, first + i));
    return l;
}

static void loop_destroy(void *state)
{
    loop_state *s = state;
    bd_func_ref_fini(&s->cond);
    bd_func_ref_fini(&s->body);
}

#define LOOP_KERNELS(CREATE, START)                                                                          \
    BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_CALLS,                                              \
                .state_size = sizeof(loop_state),                                                            \
                .create = CREATE,                                                                            \
                .destroy = loop_destroy,                                                                     \
                .start = START})

// ---- While ----

static braid_code while_create(const braid_op *node, void *state, braid_status *st)
{
    loop_state *s = state;
    braid_code code = bd_func_ref_read(node, "cond", -1, &s->cond, st);
    if (!code) code = bd_func_ref_read(node, "body", -1, &s->body, st);
    if (code) loop_destroy(s);
    return code;
}

static void while_start(bd_op_ctx *c)
{
    loop *l = new_loop(c, 0);
    l->asks = true;
    run_turns(l);
}

// Without output_shapes the values keep the shapes of the inputs.
static braid_code while_shape(bd_shape_ctx *c, braid_status *st)
{
    bool given;
    braid_code code = bd_shapes_from_output_shapes(c, &given, st);
    for (int i = 0; !code && !given && i < c->output_count; i++)
        c->outputs[i] = c->inputs[i];
    return code;
}

#define WHILE_ATTRS                                                                                          \
    "T:list(type)>=0; cond:func; body:func; output_shapes:list(shape)=[]; parallel_iterations:int=10"

BD_OP(While) = {
    .signature = "(input: T...) -> (output: T...)",
    .attrs = WHILE_ATTRS,
    .flags = BD_OP_STATEFUL,
    .shape = while_shape,
    .kernels = LOOP_KERNELS(while_create, while_start),
    .doc =
        "Calls body repeatedly, first with the inputs and then with its last results, as long as cond of these is true.",
};

BD_OP(StatelessWhile) = {
    .signature = "(input: T...) -> (output: T...)",
    .attrs = WHILE_ATTRS,
    .shape = while_shape,
    .kernels = LOOP_KERNELS(while_create, while_start),
    .doc = "A While whose functions have no side effects.",
};

// ---- For ----

static braid_code for_create(const braid_op *node, void *state, braid_status *st)
{
    return bd_func_ref_read(node, "body", -1, &((loop_state *)state)->body, st);
}

static bool read_bound(bd_op_ctx *c, int input, const char *what, int64_t *out)
{
    const braid_tensor *t = bd_input(c, input);
    if (t->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "For '%s': %s must be a scalar", c->node->name, what);
        return false;
    }
    *out = *(const int32_t *)t->data;
    return true;
}

static void for_start(bd_op_ctx *c)
{
    int64_t start = 0, limit = 0, delta = 0;
    bool ok = read_bound(c, 0, "start", &start) && read_bound(c, 1, "limit", &limit) &&
              read_bound(c, 2, "delta", &delta);
    if (ok &&
        !((delta > 0 && start <= limit) || (delta < 0 && start >= limit) || (delta == 0 && start == limit))) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid start/limit/delta: %lld %lld %lld", (long long)start,
                   (long long)limit, (long long)delta);
        ok = false;
    }
    if (!ok) {
        bd_op_done(c);
        return;
    }
    loop *l = new_loop(c, 3);
    l->is_for = true;
    l->i = start;
    l->limit = limit;
    l->delta = delta;
    run_turns(l);
}

BD_OP(For) = {
    .signature = "(start: int32, limit: int32, delta: int32, input: T...) -> (output: T...)",
    .attrs = "T:list(type)>=0; body:func",
    .shape = bd_shape_fn_none,
    .kernels = LOOP_KERNELS(for_create, for_start),
    .doc =
        "Calls body(i, values...) for i from start to limit by delta; the values are its last results, at first the inputs.",
};
