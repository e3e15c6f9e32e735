// Synchronous training: the nodes of TensorFlow's SyncReplicasOptimizer.
#include "train/sessions/sync_replicas.h"

#include "base/alloc.h"
#include "base/array.h"
#include "train/common/build.h"
#include "train/optimizers/update.h"
#include "train/variables/variable_internal.h"
#include <braid/ops.h>

typedef struct building {
    braid_sync_replicas *sync;
    braid_graph *g;
    train_ops applied; // gradients, to accumulators
    train_ops taken;   // from them
    BD_ARRAY(braid_grad_and_var) means;
} building;

static void release(void *arg)
{
    braid_sync_replicas *s = arg;
    bd_array_free(&s->averaged);
    bd_array_free(&s->accumulators);
    bd_array_free(&s->queues);
    bd_free(s->name);
    bd_free(s);
}

static void check_numbers(const braid_sync_replicas *s)
{
    if (s->required < 1 || s->total < 1)
        braid_graph_fail(s->graph, BRAID_INVALID_ARGUMENT,
                         "Synchronous training of %d replicas that aggregates %d: both must be positive",
                         s->total, s->required);
    else if (s->is_deterministic && s->required % s->total)
        braid_graph_fail(s->graph, BRAID_INVALID_ARGUMENT,
                         "Deterministic synchronous training of %d replicas that aggregates %d gradients: "
                         "replicas_to_aggregate must be a multiple of total_num_replicas, without backup "
                         "replicas",
                         s->total, s->required);
    else if ((s->is_deterministic || s->counts_dropped) && (s->replica < 0 || s->replica >= s->total))
        braid_graph_fail(s->graph, BRAID_INVALID_ARGUMENT,
                         "Synchronous training: replica %d is not one of %d, counted from 0", s->replica,
                         s->total);
}

static void keep_averaged(braid_sync_replicas *s, const braid_sync_replicas_options *o)
{
    s->averages = o->variable_averages;
    s->averages_all = !o->variables_to_average;
    if (s->averages_all) return;
    if (!o->variable_averages || o->variables_to_average_count < 0)
        braid_graph_fail(s->graph, BRAID_INVALID_ARGUMENT,
                         "Synchronous training: variables_to_average needs variable_averages, and its count "
                         "(%d) must not be negative",
                         o->variables_to_average_count);
    for (int i = 0; i < o->variables_to_average_count; i++)
        bd_array_push(&s->averaged, o->variables_to_average[i]);
}

braid_sync_replicas *braid_sync_replicas_new(braid_optimizer *opt, const braid_sync_replicas_options *options)
{
    braid_sync_replicas *s = bd_calloc(1, sizeof *s);
    s->graph = braid_optimizer_graph(opt);
    s->optimizer = opt;
    s->name = bd_strdup(options->name ? options->name : "sync_replicas");
    s->required = options->replicas_to_aggregate;
    s->total = options->total_num_replicas ? options->total_num_replicas : s->required;
    s->is_deterministic = options->deterministic;
    s->counts_dropped = options->counts_dropped;
    s->replica = options->replica;
    braid_graph_own(s->graph, s, release);
    check_numbers(s);
    keep_averaged(s, options);
    return s;
}

// The number of gradients of each replica in an update of deterministic mode.
static int share_of(const braid_sync_replicas *s)
{
    return s->required / s->total;
}

// ---- Steps: of the type of the global step, but int64 for accumulators ----

braid_dtype train_sync_step_type(const braid_sync_replicas *s)
{
    return train_base_dtype(braid_out_dtype(train_typed(s->step)));
}

braid_out train_sync_step(const braid_sync_replicas *s)
{
    return braid_variable_find(s->step).read;
}

static braid_out as_int64(building *b, braid_out step)
{
    if (train_sync_step_type(b->sync) == BRAID_INT64) return step;
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
    braid_tensor *value = braid_tensor_from(train_sync_step_type(s), BRAID_SCALAR, &zero, NULL);
    braid_push_colocate(b->g, here);
    s->local_step = train_local_variable(b->g, "sync_rep_local_step", value);
    braid_pop_colocate(b->g);
    braid_tensor_free(value);
    s->begin = braid_assign(b->g, s->local_step.ref, train_sync_step(s)).op;
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
    const train_accumulator made = {braid_op_end_out(d), braid_op_requested_device(gv->var.op)};
    bd_array_push(&b->sync->accumulators, made);
    return made.out;
}

static void apply(building *b, const char *op, const braid_out *inputs, int count, bool is_sparse)
{
    braid_push_colocate(b->g, inputs[0].op);
    braid_op_desc *d = braid_op_begin(b->g, op, NULL);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    if (is_sparse) braid_op_attr_bool(d, "has_known_shape", true);
    if (b->sync->is_deterministic) {
        braid_op_attr_int(d, "_replica", b->sync->replica);
        braid_op_attr_int(d, "_replica_share", share_of(b->sync));
    }
    if (b->sync->counts_dropped) braid_op_attr_int(d, "_worker", b->sync->replica);
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
    bd_array_push(&b->taken, taken);
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

// ---- The mark of an update in progress ----
//
// An update that is cut off, because a task or the network fails, may have changed some variables and not
// others. In deterministic mode a variable beside the global step is true from before the first change to
// after the last one, so that a leader that starts anew knows whether it must restore a checkpoint.

static braid_op *set_in_progress(const building *b, bool is_in_progress)
{
    const uint8_t byte = is_in_progress;
    braid_tensor *value = braid_tensor_from(BRAID_BOOL, BRAID_SCALAR, &byte, NULL);
    braid_push_device(b->g, braid_op_requested_device(b->sync->step.op));
    braid_op *set = braid_assign(b->g, b->sync->in_progress, braid_const(b->g, NULL, value)).op;
    braid_pop_device(b->g);
    braid_tensor_free(value);
    return set;
}

static void make_mark(building *b)
{
    braid_push_device(b->g, braid_op_requested_device(b->sync->step.op));
    braid_op_desc *d = braid_op_begin(b->g, "VariableV2", "update_in_progress");
    braid_op_attr_type(d, "dtype", BRAID_BOOL);
    braid_op_attr_shape(d, "shape", BRAID_SCALAR);
    b->sync->in_progress = braid_op_end_out(d);
    braid_pop_device(b->g);
    b->sync->mark = set_in_progress(b, true);
}

// No update begins before all means are there. Without this, a variable could be updated while a replica
// still reads it for the gradient of another one.
static void begin_update(building *b)
{
    braid_push_control(b->g, b->taken.items, (int)b->taken.len);
    braid_op *marked = set_in_progress(b, true);
    braid_pop_control(b->g);
    for (size_t i = 0; i < b->means.len; i++) {
        braid_grad_and_var *mean = &b->means.items[i];
        braid_push_control(b->g, &marked, 1);
        braid_push_colocate(b->g, mean->grad.op);
        mean->grad = train_node1(b->g, "Identity", "all_taken", mean->grad);
        braid_pop_colocate(b->g);
        braid_pop_control(b->g);
    }
}

static braid_op *end_update(const building *b, braid_op *updated)
{
    braid_push_control(b->g, &updated, 1);
    braid_op *unmarked = set_in_progress(b, false);
    braid_pop_control(b->g);
    return unmarked;
}

// ---- The whole ----

// Accumulators to the global step.
static void begin_accumulators(building *b)
{
    train_ops begun = {0};
    for (size_t i = 0; i < b->sync->accumulators.len; i++) {
        const train_accumulator *at = &b->sync->accumulators.items[i];
        braid_push_device(b->g, at->device);
        const braid_out step = as_int64(b, train_sync_step(b->sync));
        braid_push_colocate(b->g, at->out.op);
        const braid_out inputs[] = {at->out, step};
        bd_array_push(&begun, braid_op_add(b->g, "AccumulatorSetGlobalStep", "SetGlobalStep", inputs, 2));
        braid_pop_colocate(b->g);
        braid_pop_device(b->g);
    }
    bd_array_push(&begun, b->sync->begin);
    if (b->sync->is_deterministic) bd_array_push(&begun, set_in_progress(b, false));
    b->sync->begin_as_chief = braid_group(b->g, NULL, begun.items, (int)begun.len);
    bd_array_free(&begun);
}

static braid_op *update_averages(building *b, braid_op *after)
{
    const braid_sync_replicas *s = b->sync;
    if (!s->averages || (!s->averages_all && !s->averaged.len)) return after;
    braid_push_control(b->g, &after, 1);
    braid_op *averaged = braid_moving_average_apply(s->averages, s->averages_all ? NULL : s->averaged.items,
                                                    (int)s->averaged.len);
    braid_pop_control(b->g);
    return averaged ? averaged : after;
}

// The chief's part: the step in the tokens is read after the update has incremented it. The averages follow
// the tokens, as in TensorFlow, so that replicas do not wait for them. In deterministic mode they come first:
// no replica is done before they are.
static void hand_out_tokens(building *b, braid_op *updated)
{
    braid_sync_replicas *s = b->sync;
    const int count = s->is_deterministic ? share_of(s) : s->required > s->total ? s->required : s->total;
    if (s->is_deterministic) updated = end_update(b, update_averages(b, updated));
    braid_push_control(b->g, &updated, 1);
    const braid_out step = train_read(b->g, "sync_token_step", s->step, train_sync_step_type(s));
    s->update = train_add_tokens(s, count, step);
    braid_pop_control(b->g);
    if (!s->is_deterministic) s->update = update_averages(b, s->update);
    train_build_no_more_tokens(s);
}

static braid_op *build(building *b, const braid_grad_and_var *grads_and_vars, int count)
{
    braid_graph *g = b->g;
    braid_sync_replicas *s = b->sync;
    make_local_step(b);
    const char *scope = braid_push_name_scope(g, s->name);
    for (int i = 0; i < count; i++)
        aggregate(b, &grads_and_vars[i]);
    if (s->is_deterministic) {
        make_mark(b);
        begin_update(b);
    }
    braid_pop_name_scope(g);
    (void)braid_push_name_scope(g, NULL);
    braid_push_device(g, braid_op_requested_device(s->step.op));
    braid_op *updated = braid_apply_gradients(s->optimizer, b->means.items, (int)b->means.len, s->step);
    train_make_token_queues(s);
    braid_op *train = train_take_token(s, b->applied.items, (int)b->applied.len);
    if (updated) hand_out_tokens(b, updated);
    braid_pop_device(g);
    braid_pop_name_scope(g);
    (void)braid_push_name_scope(g, scope);
    begin_accumulators(b);
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
    s->step = global_step;
    building b = {.sync = s, .g = g};
    braid_op *train = build(&b, grads_and_vars, count);
    bd_array_free(&b.applied);
    bd_array_free(&b.taken);
    bd_array_free(&b.means);
    return train;
}

braid_op *braid_sync_replicas_minimize(braid_sync_replicas *s, braid_out loss, braid_out global_step)
{
    int count;
    const braid_grad_and_var *pairs = braid_compute_gradients(s->optimizer, loss, NULL, 0, &count);
    return braid_sync_replicas_apply(s, pairs, count, global_step);
}

// ---- Stale gradients ----

// Of all replicas, or of one (-1: all).
static braid_out num_dropped(braid_graph *g, const train_accumulator *a, int replica)
{
    braid_push_device(g, a->device);
    braid_push_colocate(g, a->out.op);
    braid_op_desc *d = braid_op_begin(g, "AccumulatorNumAccumulated", "num_dropped");
    braid_op_input(d, a->out);
    braid_op_attr_bool(d, "_dropped", true);
    if (replica >= 0) braid_op_attr_int(d, "_worker", replica);
    const braid_out number = braid_op_end_out(d);
    braid_pop_colocate(g);
    braid_pop_device(g);
    return number;
}

// A gradient can be late for one variable and in time for another, so the largest number counts.
static braid_out most_dropped(braid_sync_replicas *s, const char *name, int replica)
{
    braid_graph *g = s->graph;
    if (braid_graph_status(g, NULL)) return BRAID_NONE;
    if (!s->update) {
        braid_graph_fail(g, BRAID_FAILED_PRECONDITION,
                         "Stale gradients are counted once the training step is built");
        return BRAID_NONE;
    }
    (void)braid_push_name_scope(g, NULL);
    const char *scope = braid_push_name_scope(g, name);
    braid_out most = num_dropped(g, &s->accumulators.items[0], replica);
    braid_push_device(g, s->accumulators.items[0].device);
    for (size_t i = 1; i < s->accumulators.len; i++)
        most = braid_maximum(g, most, num_dropped(g, &s->accumulators.items[i], replica));
    most = train_node1(g, "Identity", scope, most);
    braid_pop_device(g);
    braid_pop_name_scope(g);
    braid_pop_name_scope(g);
    return most;
}

braid_out braid_sync_replicas_num_stale(braid_sync_replicas *s)
{
    if (!s->num_stale.op) s->num_stale = most_dropped(s, "num_stale", -1);
    return s->num_stale;
}

braid_out braid_sync_replicas_num_dropped(braid_sync_replicas *s)
{
    if (!s->counts_dropped)
        braid_graph_fail(s->graph, BRAID_FAILED_PRECONDITION,
                         "Dropped gradients of a replica are counted with the option counts_dropped");
    else if (!s->num_dropped.op)
        s->num_dropped = most_dropped(s, "num_dropped", s->replica);
    return s->num_dropped;
}
