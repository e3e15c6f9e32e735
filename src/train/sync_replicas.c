// Synchronous training: the nodes of TensorFlow's SyncReplicasOptimizer.
#include "train/sync_replicas.h"

#include "base/alloc.h"
#include "base/array.h"
#include "train/build.h"
#include "train/update.h"
#include "train/variable_internal.h"
#include <braid/ops.h>

typedef BD_ARRAY(braid_op *) op_list;

// A gradient's accumulator, while the nodes are built.
typedef struct gathering {
    braid_out accumulator;
    const char *device;
} gathering;

typedef struct building {
    braid_sync_replicas *sync;
    braid_graph *g;
    braid_out step; // the global step, a variable
    BD_ARRAY(gathering) gatherings;
    op_list applied; // gradients, to accumulators
    BD_ARRAY(braid_grad_and_var) means;
} building;

static void release(void *arg)
{
    bd_free(((braid_sync_replicas *)arg)->name);
    bd_free(arg);
}

braid_sync_replicas *braid_sync_replicas_new(braid_optimizer *opt, const braid_sync_replicas_options *options)
{
    braid_sync_replicas *s = bd_calloc(1, sizeof *s);
    s->graph = braid_optimizer_graph(opt);
    s->optimizer = opt;
    s->name = bd_strdup(options->name ? options->name : "sync_replicas");
    s->required = options->replicas_to_aggregate;
    s->total = options->total_num_replicas ? options->total_num_replicas : s->required;
    braid_graph_own(s->graph, s, release);
    if (s->required < 1 || s->total < 1)
        braid_graph_fail(s->graph, BRAID_INVALID_ARGUMENT,
                         "Synchronous training of %d replicas that aggregates %d: both must be positive",
                         s->total, s->required);
    return s;
}

// ---- Steps: of the type of the global step, but int64 for accumulators ----

static braid_dtype step_type(const building *b)
{
    return train_base_dtype(braid_out_dtype(train_typed(b->step)));
}

static braid_out read_step(const building *b)
{
    return braid_variable_find(b->step).read;
}

static braid_out as_int64(building *b, braid_out step)
{
    if (step_type(b) == BRAID_INT64) return step;
    braid_op_desc *d = braid_op_begin(b->g, "Cast", "ToInt64");
    braid_op_input(d, step);
    braid_op_attr_type(d, "DstT", BRAID_INT64);
    return braid_op_end_out(d);
}

static void make_local_step(building *b)
{
    braid_sync_replicas *s = b->sync;
    braid_op *here = braid_no_op(b->g, NULL); // the device of nodes that are not variables
    const int64_t zero = 0;
    braid_tensor *value = braid_tensor_from(step_type(b), BRAID_SCALAR, &zero, NULL);
    braid_push_colocate(b->g, here);
    s->local_step = train_local_variable(b->g, "sync_rep_local_step", value);
    braid_pop_colocate(b->g);
    braid_tensor_free(value);
    s->begin = braid_assign(b->g, s->local_step.ref, read_step(b)).op;
}

// ---- Gradients, to accumulators and back ----

static braid_out make_accumulator(building *b, const char *op, const char *name, const braid_grad_and_var *gv,
                                  braid_shape shape)
{
    char *shared = bd_asprintf("%s:0/grad_accum", braid_op_name(gv->var.op));
    braid_op_desc *d = braid_op_begin(b->g, op, name);
    braid_op_attr_type(d, "dtype", train_base_dtype(braid_out_dtype(gv->grad)));
    braid_op_attr_shape(d, "shape", shape);
    braid_op_attr_string(d, "shared_name", shared);
    bd_free(shared);
    const gathering made = {braid_op_end_out(d), braid_op_requested_device(gv->var.op)};
    bd_array_push(&b->gatherings, made);
    return made.accumulator;
}

static void apply(building *b, const char *op, const braid_out *inputs, int count, bool is_sparse)
{
    braid_push_colocate(b->g, inputs[0].op);
    braid_op_desc *d = braid_op_begin(b->g, op, NULL);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    if (is_sparse) braid_op_attr_bool(d, "has_known_shape", true);
    bd_array_push(&b->applied, braid_op_end(d));
    braid_pop_colocate(b->g);
}

static braid_op *take(building *b, const char *op, braid_out accumulator, braid_dtype dtype)
{
    const char *scope = braid_push_name_scope(b->g, op);
    const braid_out required = braid_const_int32(b->g, "num_required", b->sync->required);
    braid_pop_name_scope(b->g);
    braid_push_colocate(b->g, accumulator.op);
    braid_op_desc *d = braid_op_begin(b->g, op, scope);
    braid_op_input(d, accumulator);
    braid_op_input(d, required);
    braid_op_attr_type(d, "dtype", dtype);
    braid_op *taken = braid_op_end(d);
    braid_pop_colocate(b->g);
    return taken;
}

static void aggregate_whole(building *b, const braid_grad_and_var *gv)
{
    const braid_out a = make_accumulator(b, "ConditionalAccumulator", "conditional_accumulator", gv,
                                         braid_out_shape(train_typed(gv->var)));
    const braid_out inputs[] = {a, as_int64(b, b->sync->local_step.read), gv->grad};
    apply(b, "AccumulatorApplyGradient", inputs, 3, false);
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(gv->grad));
    const braid_grad_and_var mean = {.grad = train_out0(take(b, "AccumulatorTakeGradient", a, dtype)),
                                     .var = gv->var};
    bd_array_push(&b->means, mean);
}

// Indices in ascending order, each once, as accumulators of rows want them. The order is found by sorting
// numbers of rows.
static void sort_rows(building *b, braid_out shape, braid_out *rows, braid_out *indices)
{
    braid_graph *g = b->g;
    *rows = train_add_up_rows(g, *rows, indices);
    *indices = braid_cast(g, *indices, BRAID_INT64);
    const braid_out count = train_first_of(g, train_shape_of(g, *indices));
    const braid_out numbers = train_node3(g, "Range", NULL, braid_const_int32(g, "start", 0), count,
                                          braid_const_int32(g, "delta", 1));
    const braid_out column = train_node2(g, "ExpandDims", NULL, *indices, braid_const_int32(g, "axis", 1));
    const braid_out length =
        train_node2(g, "ExpandDims", NULL, train_first_of(g, shape), braid_const_int32(g, "axis", 0));
    const braid_out inputs[] = {column, numbers, length};
    braid_op *sorted = braid_op_add(g, "SparseReorder", NULL, inputs, 3);
    *indices = braid_reshape(g, train_out0(sorted), BRAID_SHAPE(-1));
    *rows = braid_gather(g, *rows, braid_output(sorted, 1));
}

static void aggregate_rows(building *b, const braid_grad_and_var *gv)
{
    braid_out rows = gv->grad, indices = gv->indices;
    const braid_out shape = braid_cast(b->g, train_shape_of(b->g, train_typed(gv->var)), BRAID_INT64);
    sort_rows(b, shape, &rows, &indices);
    const braid_out a = make_accumulator(b, "SparseConditionalAccumulator", "sparse_conditional_accumulator",
                                         gv, BRAID_SCALAR); // of no shape, as in TensorFlow
    const braid_out inputs[] = {a, as_int64(b, b->sync->local_step.read), indices, rows, shape};
    apply(b, "SparseAccumulatorApplyGradient", inputs, 5, true);
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(gv->grad));
    braid_op *taken = take(b, "SparseAccumulatorTakeGradient", a, dtype);
    const braid_grad_and_var mean = {.grad = braid_output(taken, 1),
                                     .var = gv->var,
                                     .indices = braid_output(taken, 0),
                                     .dense_shape = shape};
    bd_array_push(&b->means, mean);
}

static void aggregate(building *b, const braid_grad_and_var *gv)
{
    if (!gv->grad.op || !gv->var.op) return;
    braid_push_device(b->g, braid_op_requested_device(gv->var.op));
    if (gv->indices.op)
        aggregate_rows(b, gv);
    else
        aggregate_whole(b, gv);
    braid_pop_device(b->g);
}

// ---- Tokens ----

static void make_queue(building *b)
{
    const braid_dtype type = step_type(b);
    const braid_shape shape = BRAID_SCALAR;
    braid_op_desc *d = braid_op_begin(b->g, "FIFOQueueV2", "sync_token_q");
    braid_op_attr_type_list(d, "component_types", &type, 1);
    braid_op_attr_shape_list(d, "shapes", &shape, 1);
    braid_op_attr_string(d, "shared_name", "sync_token_q");
    b->sync->tokens = braid_op_end_out(d);
}

static braid_op *take_token(building *b)
{
    const braid_dtype type = step_type(b);
    braid_push_control(b->g, b->applied.items, (int)b->applied.len);
    braid_op_desc *d = braid_op_begin(b->g, "QueueDequeueV2", "sync_token_q_Dequeue");
    braid_op_input(d, b->sync->tokens);
    braid_op_attr_type_list(d, "component_types", &type, 1);
    const braid_out token = braid_op_end_out(d);
    braid_pop_control(b->g);
    return braid_assign(b->g, b->sync->local_step.ref, token).op;
}

static braid_op *add_tokens(building *b, int count, braid_out step)
{
    const char *scope = braid_push_name_scope(b->g, "Fill");
    const braid_out dims = braid_const_int32s(b->g, "dims", (int32_t[]){count}, 1);
    braid_pop_name_scope(b->g);
    const braid_out values = train_node2(b->g, "Fill", scope, dims, step);
    braid_op_desc *d = braid_op_begin(b->g, "QueueEnqueueManyV2", "sync_token_q_EnqueueMany");
    braid_op_input(d, b->sync->tokens);
    braid_op_input_list(d, &values, 1);
    return braid_op_end(d);
}

static void end_tokens(building *b)
{
    braid_op_desc *d = braid_op_begin(b->g, "QueueCloseV2", "sync_token_q_Close");
    braid_op_input(d, b->sync->tokens);
    braid_op_attr_bool(d, "cancel_pending_enqueues", true);
    b->sync->no_more_tokens = braid_op_end(d);
}

// ---- The whole ----

// Accumulators to the global step.
static void begin_gatherings(building *b)
{
    op_list begun = {0};
    for (size_t i = 0; i < b->gatherings.len; i++) {
        const gathering *at = &b->gatherings.items[i];
        braid_push_device(b->g, at->device);
        const braid_out step = as_int64(b, read_step(b));
        braid_push_colocate(b->g, at->accumulator.op);
        const braid_out inputs[] = {at->accumulator, step};
        bd_array_push(&begun, braid_op_add(b->g, "AccumulatorSetGlobalStep", "SetGlobalStep", inputs, 2));
        braid_pop_colocate(b->g);
        braid_pop_device(b->g);
    }
    bd_array_push(&begun, b->sync->begin);
    b->sync->begin_as_chief = braid_group(b->g, NULL, begun.items, (int)begun.len);
    bd_array_free(&begun);
}

// The chief's part: the step in the tokens is read after the update has incremented it.
static void hand_out_tokens(building *b, braid_op *updated)
{
    braid_sync_replicas *s = b->sync;
    const int ahead =
        s->required - s->total; // gradients that replicas owe before the first update, beyond one each
    braid_push_control(b->g, &updated, 1);
    const braid_out step = train_read(b->g, "sync_token_step", b->step, step_type(b));
    s->update = add_tokens(b, ahead > 0 ? s->required : s->total, step);
    braid_pop_control(b->g);
    if (ahead > 0) s->first_tokens = add_tokens(b, ahead, read_step(b));
    end_tokens(b);
}

static braid_op *build(building *b, const braid_grad_and_var *grads_and_vars, int count)
{
    braid_graph *g = b->g;
    make_local_step(b);
    const char *scope = braid_push_name_scope(g, b->sync->name);
    for (int i = 0; i < count; i++)
        aggregate(b, &grads_and_vars[i]);
    braid_pop_name_scope(g);
    (void)braid_push_name_scope(g, NULL);
    braid_push_device(g, braid_op_requested_device(b->step.op));
    braid_op *updated = braid_apply_gradients(b->sync->optimizer, b->means.items, (int)b->means.len, b->step);
    make_queue(b);
    braid_op *train = take_token(b);
    if (updated) hand_out_tokens(b, updated);
    braid_pop_device(g);
    braid_pop_name_scope(g);
    (void)braid_push_name_scope(g, scope);
    begin_gatherings(b);
    braid_pop_name_scope(g);
    return train;
}

braid_op *braid_sync_replicas_apply(braid_sync_replicas *s, const braid_grad_and_var *grads_and_vars,
                                    int count, braid_out global_step)
{
    braid_graph *g = s->graph;
    if (braid_graph_status(g, NULL)) return NULL;
    if (!global_step.op || s->update) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         s->update ? "The updates of synchronous training are there already"
                                   : "Global step is required to check staleness");
        return NULL;
    }
    building b = {.sync = s, .g = g, .step = global_step};
    braid_op *train = build(&b, grads_and_vars, count);
    bd_array_free(&b.applied);
    bd_array_free(&b.gatherings);
    bd_array_free(&b.means);
    return train;
}

braid_op *braid_sync_replicas_minimize(braid_sync_replicas *s, braid_out loss, braid_out global_step)
{
    int count;
    const braid_grad_and_var *pairs = braid_compute_gradients(s->optimizer, loss, NULL, 0, &count);
    return braid_sync_replicas_apply(s, pairs, count, global_step);
}
