// Datasets that apply a function, built in C, to each element.
#include "train/input/dataset_internal.h"

#include <braid/function.h>
#include <braid/ops.h>

// What the builders of bodies get.
typedef struct caller {
    const char *op_type;
    braid_predicate_fn predicate;
    braid_dataset_fn make;
    void *arg;
    braid_dataset made; // within the body
} caller;

// A function of an element of `from`; its name is NULL when the graph has failed.
static braid_function function_of(braid_graph *g, braid_dataset from, const char *op_type,
                                  const braid_function_spec *of)
{
    braid_function_spec spec = *of;
    spec.arg_dtypes = from.dtypes;
    spec.arg_shapes = from.shapes;
    spec.arg_count = from.count;
    if (!from.variant.op) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: its dataset is nothing", op_type);
    return from.variant.op ? braid_function_build(g, &spec) : (braid_function){0};
}

static void check_function(braid_graph *g, const char *op_type, bool is_given)
{
    if (!is_given) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: its function is NULL", op_type);
}

// Begins a dataset that calls `f`; NULL when the graph has failed.
static braid_op_desc *begin_calls(braid_graph *g, const char *op_type, braid_dataset from, const char *attr,
                                  const braid_function *f)
{
    braid_op_desc *d = f->name ? train_dataset_begin(g, op_type, &from, 1) : NULL;
    if (!d) return NULL;
    braid_op_input(d, from.variant);
    braid_op_input_list(d, f->captured, f->captured_count);
    braid_op_attr_func(d, attr, f->name);
    return d;
}

braid_dataset braid_dataset_map(braid_graph *g, braid_dataset from, braid_map_fn map, void *arg,
                                int result_count, int parallel_calls)
{
    const char *op_type = parallel_calls ? "ParallelMapDataset" : "MapDataset";
    check_function(g, op_type, map);
    if (parallel_calls < -1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: %d parallel calls", op_type, parallel_calls);
    const braid_function_spec spec = {
        .name = "Dataset_map", .result_count = result_count, .build = map, .arg = arg};
    const braid_function f = function_of(g, from, op_type, &spec);
    braid_op_desc *d = begin_calls(g, op_type, from, "f", &f);
    if (!d) return (braid_dataset){0};
    if (parallel_calls) braid_op_input(d, braid_const_int32(g, "num_parallel_calls", parallel_calls));
    return train_dataset_end_typed(g, d, NULL, f.result_dtypes, f.result_shapes, f.result_count);
}

static void build_predicate(void *arg, braid_graph *body, const braid_out *element, braid_out *results)
{
    const caller *c = arg;
    const braid_out stays = c->predicate(c->arg, body, element);
    if (stays.op && (braid_out_dtype(stays) != BRAID_BOOL || braid_out_shape(stays).rank > 0))
        braid_graph_fail(body, BRAID_INVALID_ARGUMENT,
                         "The predicate '%s' is of type %s and rank %d instead of a bool scalar",
                         braid_op_name(stays.op), braid_dtype_name(braid_out_dtype(stays)),
                         braid_out_shape(stays).rank);
    results[0] = stays;
}

braid_dataset braid_dataset_filter(braid_graph *g, braid_dataset from, braid_predicate_fn predicate,
                                   void *arg)
{
    check_function(g, "FilterDataset", predicate);
    caller c = {.predicate = predicate, .arg = arg};
    const braid_function_spec spec = {
        .name = "Dataset_filter", .result_count = 1, .build = build_predicate, .arg = &c};
    const braid_function f = function_of(g, from, "FilterDataset", &spec);
    braid_op_desc *d = begin_calls(g, "FilterDataset", from, "predicate", &f);
    return d ? train_dataset_end_typed(g, d, NULL, from.dtypes, from.shapes, from.count) : (braid_dataset){0};
}

static void build_dataset(void *arg, braid_graph *body, const braid_out *element, braid_out *results)
{
    caller *c = arg;
    c->made = c->make(c->arg, body, element);
    const braid_out variant = c->made.variant;
    if (!variant.op || braid_out_dtype(variant) != BRAID_VARIANT)
        braid_graph_fail(body, BRAID_INVALID_ARGUMENT, "The function of %s returns %s%s instead of a dataset",
                         c->op_type, variant.op ? "a tensor of " : "nothing",
                         variant.op ? braid_dtype_name(braid_out_dtype(variant)) : "");
    results[0] = variant;
}

// The function of an element that makes a dataset, which it describes in `c->made`.
static braid_function maker_of(braid_graph *g, braid_dataset from, const char *name, caller *c)
{
    check_function(g, c->op_type, c->make);
    const braid_function_spec spec = {.name = name, .result_count = 1, .build = build_dataset, .arg = c};
    return function_of(g, from, c->op_type, &spec);
}

braid_dataset braid_dataset_flat_map(braid_graph *g, braid_dataset from, braid_dataset_fn make, void *arg)
{
    caller c = {.op_type = "FlatMapDataset", .make = make, .arg = arg};
    const braid_function f = maker_of(g, from, "Dataset_flat_map", &c);
    braid_op_desc *d = begin_calls(g, c.op_type, from, "f", &f);
    return d ? train_dataset_end_typed(g, d, NULL, c.made.dtypes, c.made.shapes, c.made.count)
             : (braid_dataset){0};
}

braid_dataset braid_dataset_interleave(braid_graph *g, braid_dataset from, const braid_interleave_options *o,
                                       braid_dataset_fn make, void *arg)
{
    const bool is_parallel = o && o->parallel_calls != 0;
    caller c = {.op_type = is_parallel ? "ParallelInterleaveDatasetV2" : "InterleaveDataset",
                .make = make,
                .arg = arg};
    if (!o || o->cycle_length < 1 || o->block_length < 0 || o->parallel_calls < -1) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "%s: a cycle of %lld datasets in blocks of %lld, %lld parallel calls", c.op_type,
                         o ? (long long)o->cycle_length : 0, o ? (long long)o->block_length : 0,
                         o ? (long long)o->parallel_calls : 0);
        return (braid_dataset){0};
    }
    const braid_function f = maker_of(g, from, "Dataset_interleave", &c);
    braid_op_desc *d = begin_calls(g, c.op_type, from, "f", &f);
    if (!d) return (braid_dataset){0};
    braid_op_input(d, braid_const_int64(g, "cycle_length", o->cycle_length));
    braid_op_input(d, braid_const_int64(g, "block_length", o->block_length ? o->block_length : 1));
    if (is_parallel) braid_op_input(d, braid_const_int64(g, "num_parallel_calls", o->parallel_calls));
    if (is_parallel) braid_op_attr_bool(d, "sloppy", o->sloppy);
    return train_dataset_end_typed(g, d, NULL, c.made.dtypes, c.made.shapes, c.made.count);
}
