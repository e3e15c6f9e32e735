// BatchFunction: a function of batches, whose calls are joined.
#include "base/account.h"
#include "base/alloc.h"
#include "ops/common/element.h"
#include "ops/control_flow/function_ops.h"
#include "ops/data_flow/batch_queue.h"

// ---- A run: one call for the batch ----

static void call_done(void *arg, braid_tensor *rets, int count, const braid_status *st)
{
    bd_batch *b = arg;
    if (st->code) {
        bd_status_copy(&b->status, st);
    } else {
        b->results = bd_calloc((size_t)count, sizeof *b->results);
        b->result_count = count;
        for (int i = 0; i < count; i++)
            bd_tensor_move(&b->results[i], &rets[i]);
    }
    bd_batch_done(b);
}

static void run(bd_batch *b)
{
    const int count = b->input_count + b->captured_count;
    braid_tensor *args = bd_calloc((size_t)count, sizeof *args);
    bd_function_runtime *functions = bd_function_runtime_ref(b->functions);
    bd_account *account = bd_account_ref(b->account); // `b` may be gone when the call returns
    const bd_account_turn turn = bd_account_enter(account);
    for (int i = 0; i < b->input_count && !b->status.code; i++)
        bd_batch_join(b, i, &args[i], &b->status);
    for (int i = 0; i < b->captured_count; i++)
        bd_tensor_ref(&args[b->input_count + i], &b->captured[i]);
    if (b->status.code) {
        bd_batch_done(b);
    } else {
        const bd_invocation call = {
            .args = args, .arg_count = count, .cancellation = b->cancellation, .done = call_done, .arg = b};
        bd_function_call(functions, b->callee, &call);
    }
    bd_account_leave(turn);
    for (int i = 0; i < count; i++)
        bd_tensor_fini(&args[i]);
    bd_free(args);
    bd_account_unref(account);
    bd_function_runtime_unref(functions);
}

// The rows of the results that are those of the execution.
static void give(bd_op_ctx *c, const bd_batch_task *task)
{
    const bd_batch *b = task->batch;
    const int64_t size = b->size > 0 ? bd_batch_padded_size(b) : 0;
    if (b->result_count != c->output_count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "BatchFunction has %d outputs, but its function gives %d",
                   c->output_count, b->result_count);
        return;
    }
    for (int i = 0; i < b->result_count && !bd_op_failed(c); i++) {
        const braid_tensor *y = &b->results[i];
        if (y->dtype != c->node->output_types[i])
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "BatchFunction gives %s at output %d, but its function gives %s",
                       braid_dtype_name(c->node->output_types[i]), i, braid_dtype_name(y->dtype));
        else if (y->shape.rank == 0)
            bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Batched output tensor has 0 dimensions");
        else if (y->shape.dims[0] != size)
            bd_op_fail(c, BRAID_FAILED_PRECONDITION,
                       "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension "
                       "sizes of the input tensors");
        else
            bd_output_piece(c, i, y, 0, task->offset, task->size);
    }
}

static const bd_batch_kind function_kind = {.what = "BatchFunction", .run = run, .give = give};

// ---- The op ----

typedef struct function_state {
    bd_func_ref f;
    bd_batch_options options;
    int count; // of the inputs that are batched
} function_state;

static void function_destroy(void *state)
{
    bd_func_ref_fini(&((function_state *)state)->f);
}

static braid_code function_create(const braid_op *node, void *state, braid_status *st)
{
    function_state *s = state;
    s->count = bd_node_attr(node, "Tin")->list.count;
    const braid_code code = bd_batch_options_read(node, &function_kind, &s->options, st);
    return code ? code : bd_func_ref_read(node, "f", -1, &s->f, st);
}

static void function_start(bd_op_ctx *c)
{
    const function_state *s = c->state;
    const bd_callee *callee;
    BD_STATUS(st);
    if (bd_function_find(c->step->functions, &s->f, BD_CALLEE_PLACED, &callee, st))
        bd_op_fail_status(c, st);
    else if (callee->arg_count != c->input_count)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expects %d arguments, but %d is provided", callee->arg_count,
                   c->input_count);
    if (bd_op_failed(c))
        bd_op_done(c);
    else
        bd_batch_wait(c, &s->options, s->count, callee);
}

BD_OP(BatchFunction) = {
    .signature = "(in_tensors: Tin..., captured_tensors: Tcaptured...) -> (out_tensors: Tout...)",
    .attrs = "f:func; num_batch_threads:int; max_batch_size:int; batch_timeout_micros:int; "
             "max_enqueued_batches:int=10; allowed_batch_sizes:list(int)=[]; container:string=''; "
             "shared_name:string=''; batching_queue:string=''; Tin:list(type)>=1; Tcaptured:list(type)>=0; "
             "Tout:list(type)>=1",
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_CALLS,
                           .state_size = sizeof(function_state),
                           .create = function_create,
                           .destroy = function_destroy,
                           .start = function_start}),
    .doc = "Calls a function of tensors that are batches along their first dimension: steps that run at the "
           "same time are put together in one call.",
    .deviation = "The call is a step of its own: it is in no trace, and goes on until no step waits for it.",
};
