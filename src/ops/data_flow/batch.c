// Batch: puts the tensors of steps that run at the same time together. One of the steps gets the batch, the
// others get tensors without rows. Unbatch, in unbatch.c, gives each step its rows back.
#include "base/alloc.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "ops/data_flow/batch_queue.h"

static void run(bd_batch *b)
{
    b->results = bd_calloc((size_t)b->input_count, sizeof *b->results);
    b->result_count = b->input_count;
    for (int i = 0; i < b->input_count && !b->status.code; i++)
        bd_batch_join(b, i, &b->results[i], &b->status);
    bd_batch_done(b);
}

static void give(bd_op_ctx *c, const bd_batch_task *task)
{
    const bd_batch *b = task->batch;
    const braid_shape rows = bd_shape2(task->is_last ? b->entry_count : 0, 3);
    for (int i = 0; i < b->result_count; i++) {
        if (task->is_last) {
            bd_output_set(c, i, &b->results[i]);
            continue;
        }
        braid_shape none = b->results[i].shape;
        none.dims[0] = 0;
        if (!bd_output(c, i, b->results[i].dtype, &none)) return;
    }
    const braid_tensor *index = bd_output(c, b->result_count, BRAID_INT64, &rows),
                       *id = index ? bd_output(c, b->result_count + 1, BRAID_INT64, &BD_SCALAR) : NULL;
    if (!id) return;
    bd_tensor_i64(id)[0] = task->key;
    int64_t at = 0;
    for (int64_t k = 0; k < rows.dims[0]; k++) {
        int64_t *row = bd_tensor_i64(index) + 3 * k;
        row[0] = b->entries[k].key;
        row[1] = at;
        row[2] = at += b->entries[k].size;
    }
}

static const bd_batch_kind batch_kind = {.what = "Batch", .is_unlimited = true, .run = run, .give = give};

static braid_code batch_create(const braid_op *node, void *state, braid_status *st)
{
    return bd_batch_options_read(node, &batch_kind, state, st);
}

static void batch_start(bd_op_ctx *c)
{
    bd_batch_wait(c, c->state, c->input_count, NULL);
}

static braid_code batch_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->input_count; i++) {
        c->outputs[i] = c->inputs[i];
        if (c->inputs[i].rank == 0)
            return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
        if (c->inputs[i].rank > 0) c->outputs[i].dims[0] = -1;
    }
    c->outputs[c->input_count] = bd_shape2(-1, 3);
    c->outputs[c->input_count + 1] = BD_SCALAR;
    return BRAID_OK;
}

// The gradients of the batch, given back to the steps from which its rows came.
static void batch_gradient(bd_grad_ctx *c)
{
    const int count = c->op->input_count;
    for (int i = 0; i < count; i++) {
        if (!c->output_grads[i].op) continue;
        char *name = bd_asprintf("batch_gradient_%s_%d", c->op->name, i);
        braid_op_desc *d = braid_op_begin(c->graph, "Unbatch", NULL);
        braid_op_input(d, c->output_grads[i]);
        braid_op_input(d, braid_output(c->op, count));
        braid_op_input(d, braid_output(c->op, count + 1));
        braid_op_attr_int(d, "timeout_micros", bd_node_attr_int(c->op, "grad_timeout_micros"));
        braid_op_attr_string(d, "shared_name", name);
        c->input_grads[i] = braid_op_end_out(d);
        bd_free(name);
    }
}

BD_OP(Batch) = {
    .signature = "(in_tensors: T...) -> (batched_tensors: T..., batch_index: int64, id: int64)",
    .attrs = "num_batch_threads:int; max_batch_size:int; max_enqueued_batches:int=10; "
             "batch_timeout_micros:int; allowed_batch_sizes:list(int)=[]; grad_timeout_micros:int; "
             "container:string=''; shared_name:string=''; batching_queue:string=''; T:list(type)>=1",
    .shape = batch_shape,
    .gradient = batch_gradient,
    .kernels =
        BD_KERNELS({.state_size = sizeof(bd_batch_options), .create = batch_create, .start = batch_start}),
    .doc = "Puts tensors of steps that run at the same time together along their first dimension. One step "
           "gets the batch and an index of it, rows (id, begin, end); the others get tensors without rows.",
};
