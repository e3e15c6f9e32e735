// Datasets that apply a function to each element, one at a time: MapDataset, FilterDataset, TakeWhileDataset.
#include "ops/dataset/map.h"

#include "base/alloc.h"
#include "ops/dataset/stats.h"

typedef struct map_dataset {
    bd_dataset base;
    bd_captured f;
    bool preserve_cardinality;
    char *node; // for statistics; owned
} map_dataset;

static map_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, map_dataset, base);
}

static void destroy(bd_dataset *d)
{
    bd_captured_fini(&dataset_of(d)->f);
    bd_free(dataset_of(d)->node);
}

static bd_turn pull_input(bd_iterator *it)
{
    return bd_pull(it, it->input);
}

// ---- MapDataset ----

bd_turn bd_give_map_error(bd_iterator *it, bool preserve_cardinality, braid_status *st)
{
    if (st->code != BRAID_OUT_OF_RANGE) return bd_give_error(it, st);
    if (!preserve_cardinality) return bd_give_end(it);
    return bd_give_failure(it, BRAID_INVALID_ARGUMENT, "Function invocation produced OutOfRangeError: %s",
                           st->message);
}

static bd_turn mapped(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    if (st->code) return bd_give_map_error(it, dataset_of(it->dataset)->preserve_cardinality, st);
    return bd_give_results(it, rets, ret_count, st);
}

static bd_turn map_received(bd_iterator *it, bd_iterator *from)
{
    if (from->answer.kind != BD_ANSWER_ELEMENT) return bd_pass(it, from);
    return bd_iterator_call(it, &dataset_of(it->dataset)->f, from->answer.tensors, from->dataset->count,
                            mapped, NULL);
}

static const bd_dataset_kind map_kind = {
    .name = "Map",
    .dataset_size = sizeof(map_dataset),
    .iterator_size = sizeof(bd_iterator),
    .destroy = destroy,
    .opens_input = true,
    .cardinality = bd_cardinality_of_input,
    .next = pull_input,
    .received = map_received,
};

// A dataset over input 0, with the function of the kernel and `captured` inputs from 1 on.
static bd_dataset *new_map(bd_op_ctx *c, const bd_dataset_kind *kind, int captured, bool has_components)
{
    bd_captured f;
    if (!bd_captured_init(&f, c, c->state, 1, captured)) return NULL;
    bd_dataset *d = has_components ? bd_dataset_of_attrs(c, kind, true) : bd_dataset_over_input(c, kind);
    if (!d) {
        bd_captured_fini(&f);
        return NULL;
    }
    dataset_of(d)->f = f;
    dataset_of(d)->node = bd_strdup(c->node->name);
    return d;
}

static void map_run(bd_op_ctx *c)
{
    bd_dataset *d = new_map(c, &map_kind, c->input_count - 1, true);
    if (!d) return;
    dataset_of(d)->preserve_cardinality = bd_node_attr_bool(c->node, "preserve_cardinality");
    bd_output_dataset(c, d);
}

BD_DEFINE_FUNC_STATE(f, "f")

#define MAP_OP                                                                                               \
    {                                                                                                        \
        .signature = "(input_dataset: variant, other_arguments: Targuments...) -> (handle: variant)",        \
        .attrs = "f:func; Targuments:list(type)>=0; " BD_DATASET_ATTRS                                       \
                 "; use_inter_op_parallelism:bool=true; preserve_cardinality:bool=false; "                   \
                 "+force_synchronous:bool=false; " BD_DATASET_METADATA,                                      \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                                      \
        .kernels = BD_FUNC_KERNEL(f, map_run), .doc = "Applies a function to each element of a dataset."     \
    }

BD_OP(MapDataset) = MAP_OP;
BD_OP(ExperimentalMapDataset) = MAP_OP;

// ---- FilterDataset, TakeWhileDataset ----

// The element waits in the answer while the function is asked.
static bd_turn ask(bd_iterator *it, bd_iterator *from, bd_results_fn then)
{
    if (from->answer.kind != BD_ANSWER_ELEMENT) return bd_pass(it, from);
    int count = it->dataset->count;
    braid_tensor *args = bd_calloc((size_t)count, sizeof *args);
    bd_answer_take(from, it->answer.tensors);
    bd_tensors_ref(args, it->answer.tensors, count);
    bd_turn turn = bd_iterator_call(it, &dataset_of(it->dataset)->f, args, count, then, NULL);
    bd_free(args); // all were taken
    return turn;
}

typedef struct filter_iterator {
    bd_iterator base;
    int64_t given, dropped;
} filter_iterator;

static void count_filtered(bd_iterator *it, bool keeps)
{
    filter_iterator *f = BD_CONTAINER_OF(it, filter_iterator, base);
    int64_t *count = keeps ? &f->given : &f->dropped, step = f->given;
    ++*count;
    if (bd_stats_are_gathered(it))
        bd_stats_set_of(it, dataset_of(it->dataset)->node, keeps ? "filtered_elements" : "dropped_elements",
                        (double)*count, step);
}

static bd_turn filtered(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    bool keeps = false;
    if (!st->code)
        bd_result_bool(rets, ret_count, "Filter predicate `predicate` must return a scalar bool.", &keeps,
                       st);
    if (st->code) return bd_give_error(it, st);
    count_filtered(it, keeps);
    if (keeps) return bd_give(it);
    bd_answer_drop(it);
    return bd_pull(it, it->input);
}

static bd_turn filter_received(bd_iterator *it, bd_iterator *from)
{
    return ask(it, from, filtered);
}

static const bd_dataset_kind filter_kind = {
    .name = "Filter",
    .dataset_size = sizeof(map_dataset),
    .iterator_size = sizeof(filter_iterator),
    .destroy = destroy,
    .opens_input = true,
    .next = pull_input,
    .received = filter_received,
};

static bd_turn taken(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    bool goes_on = false;
    if (!st->code)
        bd_result_bool(rets, ret_count, "TakeWhile predicate `predicate` must return a scalar bool.",
                       &goes_on, st);
    if (st->code) return bd_give_error(it, st);
    if (goes_on) return bd_give(it);
    bd_answer_drop(it);
    return bd_give_end(it);
}

static bd_turn take_while_received(bd_iterator *it, bd_iterator *from)
{
    return ask(it, from, taken);
}

static const bd_dataset_kind take_while_kind = {
    .name = "TakeWhile",
    .dataset_size = sizeof(map_dataset),
    .iterator_size = sizeof(bd_iterator),
    .destroy = destroy,
    .opens_input = true,
    .next = pull_input,
    .received = take_while_received,
};

static void filter_run(bd_op_ctx *c)
{
    bd_dataset *d = new_map(c, &filter_kind, c->input_count - 1, false);
    if (d) bd_output_dataset(c, d);
}

static void take_while_run(bd_op_ctx *c)
{
    bd_dataset *d = new_map(c, &take_while_kind, c->input_count - 1, false);
    if (d) bd_output_dataset(c, d);
}

BD_DEFINE_FUNC_STATE(predicate, "predicate")

#define PREDICATE_OP(RUN, DOC)                                                                               \
    {                                                                                                        \
        .signature = "(input_dataset: variant, other_arguments: Targuments...) -> (handle: variant)",        \
        .attrs = "predicate:func; Targuments:list(type)>=0; " BD_DATASET_ATTRS "; " BD_DATASET_METADATA,     \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                                      \
        .kernels = BD_FUNC_KERNEL(predicate, RUN), .doc = (DOC)                                              \
    }

BD_OP(FilterDataset) = PREDICATE_OP(filter_run,
                                    "The elements of a dataset for which a function returns true.");
static void parallel_filter_run(bd_op_ctx *c)
{
    int64_t calls;
    int last = c->input_count - 1;
    if (!bd_input_scalar_int(c, last, "num_parallel_calls", &calls)) return;
    if (calls <= 0 && calls != -1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_parallel_calls must be greater than zero.");
        return;
    }
    bd_dataset *d = new_map(c, &filter_kind, last - 1, false);
    if (d) bd_output_dataset(c, d);
}

BD_OP(ParallelFilterDataset) = {
    .signature =
        "(input_dataset: variant, other_arguments: Targuments..., num_parallel_calls: int64) -> (handle: variant)",
    .attrs = "predicate:func; deterministic:string='default'; Targuments:list(type)>=0; " BD_DATASET_ATTRS
             "; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_FUNC_KERNEL(predicate, parallel_filter_run),
    .deviation = "One element at a time.",
    .doc = "FilterDataset.",
};

BD_OP(TakeWhileDataset) = PREDICATE_OP(
    take_while_run, "The elements of a dataset up to the first one for which a function returns false.");
BD_OP(ExperimentalTakeWhileDataset) = PREDICATE_OP(
    take_while_run, "The elements of a dataset up to the first one for which a function returns false.");

// ---- FilterByLastComponentDataset ----

static bd_turn last_received(bd_iterator *it, bd_iterator *from)
{
    BD_STATUS(st);
    bool keeps = false;
    int last = it->dataset->count;
    if (from->answer.kind != BD_ANSWER_ELEMENT) return bd_pass(it, from);
    if (bd_result_bool(&from->answer.tensors[last], 1, "Filter condition must be a scalar bool.", &keeps,
                       st) ||
        !keeps) {
        bd_answer_drop(from);
        return st->code ? bd_give_error(it, st) : bd_pull(it, from);
    }
    bd_tensor_fini(&from->answer.tensors[last]);
    for (int i = 0; i < last; i++)
        bd_tensor_move(&it->answer.tensors[i], &from->answer.tensors[i]);
    return bd_give(it);
}

static const bd_dataset_kind last_kind = {
    .name = "FilterByLastComponent",
    .dataset_size = sizeof(bd_dataset),
    .iterator_size = sizeof(bd_iterator),
    .opens_input = true,
    .next = pull_input,
    .received = last_received,
};

static void last_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_dataset *input = bd_input_dataset(c, 0), *d;
    if (!input) return;
    if (input->count < 2)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "FilterByLastComponentDataset '%s' needs components besides the condition", c->node->name);
    else if (bd_dataset_new(&last_kind, (bd_components){input->count - 1, input->types, input->shapes},
                            &input, 1, &d, st))
        bd_op_fail_status(c, st);
    else
        bd_output_dataset(c, d);
}

BD_OP(FilterByLastComponentDataset) = {
    .signature = "(input_dataset: variant) -> (output: variant)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = last_run}),
    .doc = "The elements of a dataset whose last component is true, without it.",
};
