// Datasets that put statistics of their elements to a histogram: LatencyStatsDataset,
// BytesProducedStatsDataset.
#include "base/alloc.h"
#include "base/clock.h"
#include "ops/dataset/stats.h"

typedef struct watch_dataset {
    bd_dataset base;
    char *tag; // owned
} watch_dataset;

typedef struct watch_iterator {
    bd_iterator base;
    int64_t start_ns, given;
} watch_iterator;

static watch_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, watch_dataset, base);
}

static void destroy(bd_dataset *d)
{
    bd_free(dataset_of(d)->tag);
}

static bd_turn watch_next(bd_iterator *it)
{
    if (bd_stats_are_gathered(it)) BD_CONTAINER_OF(it, watch_iterator, base)->start_ns = bd_now_ns();
    return bd_pull(it, it->input);
}

static void put(bd_iterator *it, double value)
{
    bd_stats_add(it, dataset_of(it->dataset)->tag, value, BD_CONTAINER_OF(it, watch_iterator, base)->given);
}

// An error takes its time, too.
static bd_turn latency_received(bd_iterator *it, bd_iterator *from)
{
    watch_iterator *w = BD_CONTAINER_OF(it, watch_iterator, base);
    const int64_t microseconds = (bd_now_ns() - w->start_ns) / 1000;
    if (bd_stats_are_gathered(it) && from->answer.kind != BD_ANSWER_END) put(it, (double)microseconds);
    w->given += from->answer.kind == BD_ANSWER_ELEMENT;
    return bd_pass(it, from);
}

static const bd_dataset_kind latency_kind = {
    .name = "LatencyStats",
    .dataset_size = sizeof(watch_dataset),
    .iterator_size = sizeof(watch_iterator),
    .destroy = destroy,
    .opens_input = true,
    .cardinality = bd_cardinality_of_input,
    .next = watch_next,
    .received = latency_received,
};

static bd_turn bytes_received(bd_iterator *it, bd_iterator *from)
{
    watch_iterator *w = BD_CONTAINER_OF(it, watch_iterator, base);
    if (bd_stats_are_gathered(it) && from->answer.kind == BD_ANSWER_ELEMENT) {
        size_t bytes = 0;
        for (int i = 0; i < it->dataset->count; i++)
            bytes += bd_tensor_bytes(&from->answer.tensors[i]);
        put(it, (double)bytes);
    }
    w->given += from->answer.kind == BD_ANSWER_ELEMENT;
    return bd_pass(it, from);
}

static const bd_dataset_kind bytes_kind = {
    .name = "BytesProducedStats",
    .dataset_size = sizeof(watch_dataset),
    .iterator_size = sizeof(watch_iterator),
    .destroy = destroy,
    .opens_input = true,
    .cardinality = bd_cardinality_of_input,
    .next = watch_next,
    .received = bytes_received,
};

static void make(bd_op_ctx *c, const bd_dataset_kind *kind)
{
    if (!bd_input_scalar(c, 1, "tag", BRAID_STRING)) return;
    bd_dataset *d = bd_dataset_over_input(c, kind);
    if (!d) return;
    const bd_string *tag = bd_tensor_str(bd_input(c, 1));
    dataset_of(d)->tag = bd_strndup(tag->data ? tag->data : "", tag->len);
    bd_output_dataset(c, d);
}

static void latency_run(bd_op_ctx *c)
{
    make(c, &latency_kind);
}

static void bytes_run(bd_op_ctx *c)
{
    make(c, &bytes_kind);
}

#define WATCH_OP(RUN, DEVIATION, DOC)                                                                        \
    {                                                                                                        \
        .signature = "(input_dataset: variant, tag: string) -> (handle: variant)",                           \
        .attrs = BD_DATASET_ATTRS, .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalars,          \
        .kernels = BD_KERNELS({.run = (RUN)}), .deviation = DEVIATION, .doc = (DOC)                          \
    }
#define LATENCY_OP                                                                                           \
    WATCH_OP(latency_run, NULL, "The same elements; the microseconds that each took go to a histogram.")
#define BYTES_OP                                                                                             \
    WATCH_OP(bytes_run, "Strings count by their bytes alone.",                                               \
             "The same elements; the bytes of each go to a histogram.")

BD_OP(LatencyStatsDataset) = LATENCY_OP;
BD_OP(ExperimentalLatencyStatsDataset) = LATENCY_OP;
BD_OP(BytesProducedStatsDataset) = BYTES_OP;
BD_OP(ExperimentalBytesProducedStatsDataset) = BYTES_OP;
