// Aggregators of datasets' statistics. None are gathered: an aggregator is a name, and its summary is empty.
#include "base/alloc.h"
#include "ops/dataset.h"
#include "ops/handle.h"

static void destroy_aggregator(bd_resource *r)
{
    bd_free(r);
}

static const bd_resource_type aggregator_type = {.name = "tensorflow::data::StatsAggregatorResource",
                                                 .destroy = destroy_aggregator};

static braid_code create_aggregator(void *arg, bd_resource **out, braid_status *st)
{
    (void)arg, (void)st;
    *out = bd_calloc(1, sizeof **out);
    bd_resource_init(*out, &aggregator_type);
    return BRAID_OK;
}

static braid_code handle_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    bd_handle_source_init(state, node, &aggregator_type);
    return BRAID_OK;
}

static void handle_destroy(void *state)
{
    bd_handle_source_fini(state);
}

static void handle_run(bd_op_ctx *c)
{
    bd_resource_unref(bd_handle_source_output(c, c->state, create_aggregator, NULL));
}

#define HANDLE_OP                                                                                            \
    {                                                                                                        \
        .signature = "() -> (handle: resource)", .attrs = "container:string=''; shared_name:string=''",      \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                     \
        .kernels = BD_KERNELS({.state_size = sizeof(bd_handle_source),                                       \
                               .create = handle_create,                                                      \
                               .destroy = handle_destroy,                                                    \
                               .run = handle_run}),                                                          \
        .doc = "An aggregator of datasets' statistics, for SetStatsAggregatorDataset."                       \
    }

BD_OP(StatsAggregatorHandle) = HANDLE_OP;
BD_OP(StatsAggregatorHandleV2) = HANDLE_OP;
BD_OP(ExperimentalStatsAggregatorHandle) = HANDLE_OP;

static void summary_run(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &aggregator_type);
    if (r) bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    bd_resource_unref(r);
}

#define NOT_GATHERED "Statistics of datasets are not gathered."

#define SUMMARY_OP                                                                                           \
    {                                                                                                        \
        .signature = "(iterator: resource) -> (summary: string)",                                            \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                     \
        .kernels = BD_KERNELS({.run = summary_run}), .deviation = NOT_GATHERED,                              \
        .doc = "The summary of an aggregator, which is empty."                                               \
    }

BD_OP(StatsAggregatorSummary) = SUMMARY_OP;
BD_OP(ExperimentalStatsAggregatorSummary) = SUMMARY_OP;

static void set_writer_run(bd_op_ctx *c)
{
    bd_resource *aggregator = bd_input_resource(c, 0, &aggregator_type);
    bd_resource_unref(aggregator);
}

BD_OP(StatsAggregatorSetSummaryWriter) = {
    .signature = "(stats_aggregator: resource, summary: resource) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = set_writer_run}),
    .deviation = NOT_GATHERED,
    .doc = "Where the summaries of an aggregator are to be written; there are none.",
};

static void set_aggregator_run(bd_op_ctx *c)
{
    bd_resource *aggregator = bd_input_resource(c, 1, &aggregator_type);
    bool ok = aggregator && bd_input_scalar(c, 2, "tag", BRAID_STRING) &&
              bd_input_scalar(c, 3, "counter_prefix", BRAID_STRING);
    bd_dataset *d = ok ? bd_input_dataset(c, 0) : NULL;
    if (d) bd_output_dataset(c, bd_dataset_ref(d));
    bd_resource_unref(aggregator);
}

#define SET_AGGREGATOR_OP                                                                                    \
    {                                                                                                        \
        .signature = "(input_dataset: variant, stats_aggregator: resource, tag: string, "                    \
                     "counter_prefix: string) -> (handle: variant)",                                         \
        .attrs = BD_DATASET_ATTRS, .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,                       \
        .shape = bd_shape_fn_scalar, .kernels = BD_KERNELS({.run = set_aggregator_run}),                     \
        .deviation = NOT_GATHERED, .doc = "The same dataset."                                                \
    }

BD_OP(SetStatsAggregatorDataset) = SET_AGGREGATOR_OP;
BD_OP(ExperimentalSetStatsAggregatorDataset) = SET_AGGREGATOR_OP;
