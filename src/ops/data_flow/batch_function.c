// BatchFunction: a function of batches, whose calls may be joined. In Braid each call is a batch of its own.
#include "ops/control_flow/function_ops.h"

typedef struct batch_state {
    bd_func_ref f;
    int64_t size_max;
} batch_state;

static void batch_destroy(void *state)
{
    bd_func_ref_fini(&((batch_state *)state)->f);
}

static braid_code batch_create(const braid_op *node, void *state, braid_status *st)
{
    batch_state *s = state;
    const bd_attr *sizes = bd_node_attr(node, "allowed_batch_sizes");
    s->size_max = bd_node_attr_int(node, "max_batch_size");
    for (int i = 0; i < sizes->list.count; i++) {
        if (i > 0 && sizes->list.i[i] <= sizes->list.i[i - 1])
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "allowed_batch_sizes entries must be monotonically increasing");
        if (i == sizes->list.count - 1 && sizes->list.i[i] != s->size_max)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "final entry in allowed_batch_sizes must equal max_batch_size");
    }
    return bd_func_ref_read(node, "f", -1, &s->f, st);
}

// Checks that the batched inputs (not the captured ones) have one size, and that it is allowed.
static bool check_sizes(bd_op_ctx *c, const batch_state *s)
{
    const int count = bd_node_attr(c->node, "Tin")->list.count;
    for (int i = 0; i < count && !bd_op_failed(c); i++) {
        const braid_shape *shape = &bd_input(c, i)->shape;
        if (shape->rank == 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Batching input tensors must have at least one dimension");
        else if (shape->dims[0] != bd_input(c, 0)->shape.dims[0])
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "Batching input tensors supplied in a given op invocation must have equal 0th-dimension size");
        else if (shape->dims[0] > s->size_max)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Task size %lld is larger than maximum batch size %lld",
                       (long long)shape->dims[0], (long long)s->size_max);
    }
    return !bd_op_failed(c);
}

static void batch_start(bd_op_ctx *c)
{
    const batch_state *s = c->state;
    if (check_sizes(c, s))
        bd_function_call_with_inputs(c, &s->f, BD_CALLEE_PLACED, 0);
    else
        bd_op_done(c);
}

BD_OP(BatchFunction) = {
    .signature = "(in_tensors: Tin..., captured_tensors: Tcaptured...) -> (out_tensors: Tout...)",
    .attrs = "f:func; num_batch_threads:int; max_batch_size:int; batch_timeout_micros:int; "
             "max_enqueued_batches:int=10; allowed_batch_sizes:list(int)=[]; container:string=''; "
             "shared_name:string=''; batching_queue:string=''; Tin:list(type)>=1; Tcaptured:list(type)>=0; "
             "Tout:list(type)>=1",
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_CALLS,
                           .state_size = sizeof(batch_state),
                           .create = batch_create,
                           .destroy = batch_destroy,
                           .start = batch_start}),
    .doc = "Calls a function of tensors that are batches along their first dimension.",
    .deviation =
        "Each call is a batch of its own: none waits for others to be put together with, and none is padded.",
};
