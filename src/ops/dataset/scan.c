// Functions that carry a state from element to element: ScanDataset, and ReduceDataset, which gives the last
// one.
#include "base/alloc.h"
#include "ops/common/element.h"
#include "ops/dataset/function.h"
#include "ops/dataset/map.h"

// ---- States ----

// Takes the first `count` of `rets` for the state, which must keep its types.
static braid_code take_state(braid_tensor *state, int count, braid_tensor *rets, int ret_count,
                             const char *function, braid_status *st)
{
    if (ret_count < count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s must give a state of %d components, but gives %d",
                       function, count, ret_count);
    for (int i = 0; i < count; i++) {
        if (rets[i].dtype != state[i].dtype)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "%s gives component %d of the state as %s, but it is %s", function, i,
                           braid_dtype_name(rets[i].dtype), braid_dtype_name(state[i].dtype));
    }
    for (int i = 0; i < count; i++) {
        bd_tensor_fini(&state[i]);
        bd_tensor_move(&state[i], &rets[i]);
    }
    return BRAID_OK;
}

static bool keep_inputs(bd_op_ctx *c, braid_tensor *to, int first, int count)
{
    for (int i = 0; i < count; i++) {
        if (bd_tensor_keep(&to[i], bd_input(c, first + i))) continue;
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying the initial state");
        return false;
    }
    return true;
}

// Calls the function with the state and an element that `from` has answered.
static bd_turn call_with_state(bd_iterator *it, const bd_captured *f, const braid_tensor *state, int count,
                               bd_iterator *from, bd_results_fn then, void *arg)
{
    int all = count + from->dataset->count;
    braid_tensor *args = bd_calloc((size_t)all, sizeof *args);
    bd_tensors_ref(args, state, count);
    bd_answer_take(from, args + count);
    bd_turn turn = bd_iterator_call(it, f, args, all, then, arg);
    bd_free(args);
    return turn;
}

// ---- ScanDataset ----

typedef struct scan_dataset {
    bd_dataset base;
    bd_captured f;
    braid_tensor *initial; // [state_count], owned
    int state_count;
    bool preserve_cardinality;
} scan_dataset;

typedef struct scan_iterator {
    bd_iterator base;
    braid_tensor *state; // [state_count], owned
} scan_iterator;

static scan_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, scan_dataset, base);
}

static scan_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, scan_iterator, base);
}

static void destroy(bd_dataset *base)
{
    scan_dataset *d = dataset_of(base);
    bd_captured_fini(&d->f);
    if (d->initial) bd_tensors_fini(d->initial, d->state_count);
    bd_free(d->initial);
}

static braid_code scan_open(bd_iterator *it, braid_status *st)
{
    (void)st;
    const scan_dataset *d = dataset_of(it->dataset);
    iterator_of(it)->state = bd_calloc((size_t)d->state_count, sizeof(braid_tensor));
    bd_tensors_ref(iterator_of(it)->state, d->initial, d->state_count);
    return BRAID_OK;
}

static void scan_close(bd_iterator *it)
{
    scan_iterator *s = iterator_of(it);
    if (s->state) bd_tensors_fini(s->state, dataset_of(it->dataset)->state_count);
    bd_free(s->state);
}

static bd_turn scan_next(bd_iterator *it)
{
    return bd_pull(it, it->input);
}

static bd_turn scanned(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    const scan_dataset *d = dataset_of(it->dataset);
    int count = d->state_count;
    if (st->code) return bd_give_map_error(it, d->preserve_cardinality, st);
    if (take_state(iterator_of(it)->state, count, rets, ret_count, "`scan_func`", st))
        return bd_give_error(it, st);
    return bd_give_results(it, rets + count, ret_count - count, st);
}

static bd_turn scan_received(bd_iterator *it, bd_iterator *from)
{
    const scan_dataset *d = dataset_of(it->dataset);
    if (from->answer.kind != BD_ANSWER_ELEMENT) return bd_pass(it, from);
    return call_with_state(it, &d->f, iterator_of(it)->state, d->state_count, from, scanned, NULL);
}

static const bd_dataset_kind scan_kind = {
    .name = "Scan",
    .dataset_size = sizeof(scan_dataset),
    .iterator_size = sizeof(scan_iterator),
    .destroy = destroy,
    .opens_input = true,
    .cardinality = bd_cardinality_of_input,
    .open = scan_open,
    .next = scan_next,
    .received = scan_received,
    .close = scan_close,
};

static void scan_run(bd_op_ctx *c)
{
    bd_captured f;
    int count = bd_node_attr(c->node, "Tstate")->list.count;
    if (!bd_captured_init(&f, c, c->state, 1 + count, c->input_count - 1 - count)) return;
    bd_dataset *d = bd_dataset_of_attrs(c, &scan_kind, true);
    if (!d) {
        bd_captured_fini(&f);
        return;
    }
    scan_dataset *s = dataset_of(d);
    s->f = f;
    s->preserve_cardinality = bd_node_attr_bool(c->node, "preserve_cardinality");
    s->state_count = count;
    s->initial = bd_calloc((size_t)count, sizeof *s->initial);
    if (keep_inputs(c, s->initial, 1, count))
        bd_output_dataset(c, d);
    else
        bd_dataset_unref(d);
}

BD_DEFINE_FUNC_STATE(f, "f")

#define SCAN_OP                                                                                                        \
    {                                                                                                                  \
        .signature =                                                                                                   \
            "(input_dataset: variant, initial_state: Tstate..., other_arguments: Targuments...) -> (handle: variant)", \
        .attrs = "f:func; Tstate:list(type)>=1; Targuments:list(type)>=0; " BD_DATASET_ATTRS                           \
                 "; preserve_cardinality:bool=false; +use_default_device:bool=true; " BD_DATASET_METADATA,             \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                                                \
        .kernels = BD_FUNC_KERNEL(f, scan_run),                                                                        \
        .doc = "Elements that a function makes of a state and each element, together with the next state."             \
    }

BD_OP(ScanDataset) = SCAN_OP;
BD_OP(ExperimentalScanDataset) = SCAN_OP;

// ---- ReduceDataset ----

// One execution. The topmost iterator reads the input; this struct acts as the iterator that pulls it.
typedef struct reduce_run {
    bd_op_ctx *c;
    bd_chain *chain;
    bd_iterator *top;
    bd_captured f;
    braid_tensor *state; // [state_count], owned
    int state_count;
} reduce_run;

static void reduce_end(reduce_run *r)
{
    bd_op_ctx *c = r->c;
    bd_iterator_close(r->top);
    bd_chain_unref(r->chain);
    bd_captured_fini(&r->f);
    bd_tensors_fini(r->state, r->state_count);
    bd_free(r->state);
    bd_free(r);
    bd_op_done(c);
}

static void reduce_output(reduce_run *r)
{
    bd_op_ctx *c = r->c;
    const bd_attr *shapes = bd_node_attr(c->node, "output_shapes");
    if (r->state_count != c->output_count || shapes->list.count != c->output_count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "The number of result elements does not match the size of output types: %d vs. %d",
                   r->state_count, c->output_count);
        return;
    }
    for (int i = 0; i < r->state_count; i++) {
        braid_shape merged;
        char want[BD_SHAPE_STR_MAX], got[BD_SHAPE_STR_MAX];
        if (r->state[i].dtype != c->node->output_types[i])
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "The result does not match the expected type for component %d. Expected: %s. Actual: %s.", i,
                braid_dtype_name(c->node->output_types[i]), braid_dtype_name(r->state[i].dtype));
        else if (!bd_shape_merge(&shapes->list.shape[i], &r->state[i].shape, &merged))
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "The result does not match the expected shape for component %d. Expected: %s. Actual: %s.", i,
                bd_shape_str(&shapes->list.shape[i], want), bd_shape_str(&r->state[i].shape, got));
        else
            bd_output_set(c, i, &r->state[i]);
    }
}

static bd_turn reduced(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    reduce_run *r = arg;
    if (!st->code && ret_count != r->state_count)
        bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "The number of components of the initial state and the reduce function output does not match. "
            "(initial_state=%d, output=%d).",
            r->state_count, ret_count);
    if (!st->code) take_state(r->state, r->state_count, rets, ret_count, "`reduce_func`", st);
    if (!st->code) return bd_pull(NULL, it);
    bd_op_fail_status(r->c, st);
    reduce_end(r);
    return BD_WAIT;
}

static bd_turn reduce_answered(bd_chain *chain, bd_iterator *it)
{
    reduce_run *r = chain->arg;
    if (it->answer.kind == BD_ANSWER_ELEMENT)
        return call_with_state(it, &r->f, r->state, r->state_count, it, reduced, r);
    if (it->answer.kind == BD_ANSWER_ERROR)
        bd_op_fail_status(r->c, &it->answer.st);
    else
        reduce_output(r);
    reduce_end(r);
    return BD_WAIT;
}

static void reduce_start(bd_op_ctx *c)
{
    BD_STATUS(st);
    int count = bd_node_attr(c->node, "Tstate")->list.count;
    bd_dataset *d = bd_input_dataset(c, 0);
    reduce_run *r = bd_calloc(1, sizeof *r);
    r->c = c;
    r->state = bd_calloc((size_t)count, sizeof *r->state);
    r->state_count = count;
    bool ok = d && bd_captured_init(&r->f, c, c->state, 1 + count, c->input_count - 1 - count) &&
              keep_inputs(c, r->state, 1, count);
    if (ok) {
        r->chain = bd_chain_new(c->step, c->step->cancellation);
        r->chain->answered = reduce_answered;
        r->chain->arg = r;
        if (bd_iterator_open(d, r->chain, NULL, 0, &r->top, st)) bd_op_fail_status(c, st);
    }
    if (bd_op_failed(c))
        reduce_end(r);
    else
        bd_turn_run(bd_pull(NULL, r->top));
}

BD_OP(ReduceDataset) = {
    .signature =
        "(input_dataset: variant, initial_state: Tstate..., other_arguments: Targuments...) -> (components: output_types...)",
    .attrs = "f:func; Tstate:list(type)>=1; Targuments:list(type)>=0; " BD_DATASET_ATTRS
             "; use_inter_op_parallelism:bool=true; " BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_output_shapes,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(bd_func_ref),
                           .create = f_create,
                           .destroy = bd_func_state_destroy,
                           .start = reduce_start}),
    .doc = "The final state after a function has been applied to the state and each element of a dataset.",
};
