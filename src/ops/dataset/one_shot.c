// OneShotIterator: an iterator that makes its dataset by a function when it is first used.
//
// The first execution calls the function. Executions that arrive meanwhile wait in a list, and all end with
// the first. A failed initialization fails all executions, unless the first was cancelled with its step.
#include "base/alloc.h"
#include "ops/common/handle.h"
#include "ops/dataset/function.h"
#include "ops/dataset/iterator.h"

typedef struct waiting_op {
    struct waiting_op *next;
    bd_op_ctx *c;
} waiting_op;

typedef struct one_shot_state {
    bd_func_ref f;
    bd_handle_source handle;
    bd_mutex mu;
    bool has_begun, has_ended; // guarded by mu, as all below
    braid_status st;           // of the beginning
    waiting_op *waiting;
} one_shot_state;

static braid_code one_shot_create(const braid_op *node, void *state, braid_status *st)
{
    one_shot_state *s = state;
    if (*bd_node_attr_string(node, "shared_name"))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "OneShotIteratorOp does not currently support the 'shared_name' attr.");
    braid_code code = bd_func_ref_read(node, "dataset_factory", -1, &s->f, st);
    if (code) return code;
    bd_handle_source_init(&s->handle, node, &bd_iterator_resource_type);
    bd_mutex_init(&s->mu);
    return BRAID_OK;
}

static void one_shot_destroy(void *state)
{
    one_shot_state *s = state;
    bd_handle_source_fini(&s->handle);
    bd_func_ref_fini(&s->f);
    bd_status_fini(&s->st);
    bd_mutex_fini(&s->mu);
}

// Ends an execution, when the beginning has ended in this way.
static void output(bd_op_ctx *c, const braid_status *st)
{
    one_shot_state *s = c->state;
    if (st->code)
        bd_op_fail_status(c, st);
    else
        bd_resource_unref(
            bd_handle_source_output(c, &s->handle, bd_iterator_resource_create, (void *)c->node));
    bd_op_done(c);
}

static void begin(bd_op_ctx *c, const braid_tensor *rets, int ret_count, braid_status *st)
{
    one_shot_state *s = c->state;
    bd_dataset *d;
    bd_resource *r = NULL;
    if (ret_count != 1 || rets[0].dtype != BRAID_VARIANT || rets[0].shape.rank != 0) {
        bd_fail(st, BRAID_INVALID_ARGUMENT,
                "The `dataset_factory` function must return a single scalar of dtype DT_VARIANT.");
    } else if (!bd_result_dataset(rets, ret_count, &d, st)) {
        r = bd_handle_source_output(c, &s->handle, bd_iterator_resource_create, (void *)c->node);
        if (r)
            bd_iterator_resource_set(r, d, c->step, st);
        else
            bd_status_copy(st, &c->status);
    }
    bd_resource_unref(r);
}

static void made(void *arg, braid_tensor *rets, int ret_count, const braid_status *from)
{
    bd_op_ctx *c = arg;
    one_shot_state *s = c->state;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code) begin(c, rets, ret_count, st);
    bd_mutex_lock(&s->mu);
    s->has_ended = st->code != BRAID_CANCELLED; // the next one may try again
    s->has_begun = s->has_ended;
    bd_status_copy(&s->st, st);
    waiting_op *waiting = s->waiting;
    s->waiting = NULL;
    bd_mutex_unlock(&s->mu);
    for (waiting_op *next; waiting; waiting = next) {
        next = waiting->next;
        output(waiting->c, st);
        bd_free(waiting);
    }
    output(c, st);
}

static void one_shot_start(bd_op_ctx *c)
{
    one_shot_state *s = c->state;
    bd_mutex_lock(&s->mu);
    bool begins = !s->has_begun, waits = s->has_begun && !s->has_ended;
    s->has_begun = true;
    if (waits) {
        waiting_op *w = bd_malloc(sizeof *w);
        *w = (waiting_op){.next = s->waiting, .c = c};
        s->waiting = w;
    }
    bd_mutex_unlock(&s->mu);
    if (begins)
        bd_step_call(c->step, &s->f, BD_CALLEE_PLACED, NULL, 0, made, c);
    else if (!waits)
        output(c, &s->st);
}

BD_OP(OneShotIterator) = {
    .signature = "() -> (handle: resource)",
    .attrs = "dataset_factory:func; " BD_DATASET_ATTRS "; container:string=''; shared_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(one_shot_state),
                           .create = one_shot_create,
                           .destroy = one_shot_destroy,
                           .start = one_shot_start}),
    .doc = "An iterator over the dataset that a function makes, from its beginning, once.",
};
