// Aggregators of datasets' statistics: the first version gives a summary of all on request, the second writes
// an event for each value to a summary writer. SetStatsAggregatorDataset gives the iterators below it an
// aggregator.
#include "ops/dataset/stats.h"

#include "base/alloc.h"
#include "base/log.h"
#include "ops/common/handle.h"
#include "ops/io/summary.h"
#include "ops/io/summary_writer.h"

#include <string.h>

typedef struct aggregator {
    bd_resource base;
    bool writes_events;
    bd_mutex mu;
    bd_map histograms;       // name -> bd_histogram, owned; guarded by mu, as all below
    bd_map scalars;          // name -> double, owned
    bd_resource *writer;     // a reference; NULL: not set yet
    bd_event_writer *events; // of the writer
} aggregator;

static aggregator *aggregator_of(bd_resource *r)
{
    return BD_CONTAINER_OF(r, aggregator, base);
}

static void destroy_aggregator(bd_resource *r)
{
    aggregator *a = aggregator_of(r);
    size_t pos = 0;
    void *value;
    while (bd_map_next(&a->histograms, &pos, NULL, &value)) {
        bd_histogram_fini(value);
        bd_free(value);
    }
    pos = 0;
    while (bd_map_next(&a->scalars, &pos, NULL, &value))
        bd_free(value);
    bd_map_fini(&a->histograms);
    bd_map_fini(&a->scalars);
    bd_resource_unref(a->writer);
    bd_mutex_fini(&a->mu);
    bd_free(a);
}

static const bd_resource_type aggregator_type = {.name = "tensorflow::data::StatsAggregatorResource",
                                                 .destroy = destroy_aggregator};

// ---- The values ----

typedef struct set_dataset {
    bd_dataset base;
    aggregator *to; // a reference
    char *tag;      // owned
} set_dataset;

static set_dataset *set_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, set_dataset, base);
}

static char *tagged(const set_dataset *d, const char *node, const char *what)
{
    return bd_asprintf("%s%s%s%s%s", d->tag, *d->tag ? "::" : "", node, *node ? "::" : "", what);
}

static bd_histogram *histogram_locked(aggregator *a, const char *name)
{
    bd_histogram *h = bd_map_get(&a->histograms, name);
    if (h) return h;
    h = bd_calloc(1, sizeof *h);
    bd_histogram_init(h);
    bd_map_put(&a->histograms, name, h);
    return h;
}

static void set_scalar_locked(aggregator *a, const char *name, double value)
{
    double *kept = bd_map_get(&a->scalars, name);
    if (!kept) bd_map_put(&a->scalars, name, kept = bd_calloc(1, sizeof *kept));
    *kept = value;
}

// `h` NULL: the scalar.
static void write_event_locked(aggregator *a, const char *name, const bd_histogram *h, double value,
                               int64_t step)
{
    BD_STATUS(st);
    bd_message m;
    bd_wire_writer out;
    bd_message_init(&m);
    bd_wire_writer_init(&out, &m);
    if (h)
        bd_summary_put_histogram(&out, bd_summary_tag_of(name), h);
    else
        bd_summary_put_scalar(&out, bd_summary_tag_of(name), (float)value);
    bd_wire_writer_finish(&out);
    char *bytes = bd_malloc(m.bytes);
    bd_message_gather(&m, bytes);
    if (bd_event_put_summary(a->events, step, bytes, m.bytes, st))
        bd_log(BD_WARNING, "statistics of datasets: %s", braid_status_message(st));
    bd_free(bytes);
    bd_message_fini(&m);
}

void bd_stats_add_of(const bd_iterator *it, const char *node, const char *what, double value, int64_t step)
{
    const set_dataset *d = set_of(it->stats);
    char *name = tagged(d, node, what);
    bd_mutex_lock(&d->to->mu);
    bd_histogram *h = histogram_locked(d->to, name);
    bd_histogram_add(h, value);
    if (d->to->events) write_event_locked(d->to, name, h, 0, step);
    bd_mutex_unlock(&d->to->mu);
    bd_free(name);
}

void bd_stats_set_of(const bd_iterator *it, const char *node, const char *what, double value, int64_t step)
{
    const set_dataset *d = set_of(it->stats);
    char *name = tagged(d, node, what);
    bd_mutex_lock(&d->to->mu);
    if (!d->to->writes_events) set_scalar_locked(d->to, name, value);
    if (d->to->events) write_event_locked(d->to, name, NULL, value, step);
    bd_mutex_unlock(&d->to->mu);
    bd_free(name);
}

void bd_stats_add(const bd_iterator *it, const char *name, double value, int64_t step)
{
    bd_stats_add_of(it, "", name, value, step);
}

void bd_stats_set(const bd_iterator *it, const char *name, double value, int64_t step)
{
    bd_stats_set_of(it, "", name, value, step);
}

// ---- Handles ----

static braid_code create_aggregator(void *node, bd_resource **out, braid_status *st)
{
    (void)st;
    aggregator *a = bd_calloc(1, sizeof *a);
    bd_resource_init(&a->base, &aggregator_type);
    bd_mutex_init(&a->mu);
    a->writes_events = strcmp(((const braid_op *)node)->op_type, "StatsAggregatorHandleV2") == 0;
    *out = &a->base;
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
    bd_resource_unref(bd_handle_source_output(c, c->state, create_aggregator, (void *)c->node));
}

#define HANDLE_OP(DOC)                                                                                       \
    {                                                                                                        \
        .signature = "() -> (handle: resource)", .attrs = "container:string=''; shared_name:string=''",      \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                     \
        .kernels = BD_KERNELS({.state_size = sizeof(bd_handle_source),                                       \
                               .create = handle_create,                                                      \
                               .destroy = handle_destroy,                                                    \
                               .run = handle_run}),                                                          \
        .doc = (DOC)                                                                                         \
    }

BD_OP(StatsAggregatorHandle) =
    HANDLE_OP("An aggregator of datasets' statistics, which StatsAggregatorSummary reads.");
BD_OP(ExperimentalStatsAggregatorHandle) =
    HANDLE_OP("An aggregator of datasets' statistics, which StatsAggregatorSummary reads.");
BD_OP(StatsAggregatorHandleV2) = HANDLE_OP(
    "An aggregator of datasets' statistics, which writes each to the writer of StatsAggregatorSetSummaryWriter.");

// ---- Summaries ----

static void put_values_locked(const aggregator *a, bd_wire_writer *out)
{
    size_t pos = 0;
    const char *name;
    void *value;
    while (bd_map_next(&a->histograms, &pos, &name, &value))
        bd_summary_put_histogram(out, bd_summary_tag_of(name), value);
    pos = 0;
    while (bd_map_next(&a->scalars, &pos, &name, &value))
        bd_summary_put_scalar(out, bd_summary_tag_of(name), (float)*(double *)value);
}

static void summary_run(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &aggregator_type);
    if (!r) return;
    aggregator *a = aggregator_of(r);
    bd_summary_output o;
    bd_summary_begin(&o);
    bd_mutex_lock(&a->mu);
    if (!a->writes_events) put_values_locked(a, &o.out);
    bd_summary_end(c, &o); // before the names may go
    bd_mutex_unlock(&a->mu);
    bd_resource_unref(r);
}

#define SUMMARY_OP                                                                                           \
    {                                                                                                        \
        .signature = "(iterator: resource) -> (summary: string)",                                            \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                     \
        .kernels = BD_KERNELS({.run = summary_run}),                                                         \
        .deviation = "The times of functions and statistics of parsing are not recorded.",                   \
        .doc = "The Summary of an aggregator's statistics; empty for an aggregator that writes events."      \
    }

BD_OP(StatsAggregatorSummary) = SUMMARY_OP;
BD_OP(ExperimentalStatsAggregatorSummary) = SUMMARY_OP;

static void set_writer_run(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &aggregator_type), *writer = NULL;
    bd_event_writer *events = r ? bd_input_event_writer(c, 1, &writer) : NULL;
    if (events && aggregator_of(r)->writes_events) {
        aggregator *a = aggregator_of(r);
        bd_mutex_lock(&a->mu);
        bd_resource *before = a->writer;
        a->writer = writer;
        a->events = events;
        bd_mutex_unlock(&a->mu);
        writer = before;
    }
    bd_resource_unref(writer);
    bd_resource_unref(r);
}

BD_OP(StatsAggregatorSetSummaryWriter) = {
    .signature = "(stats_aggregator: resource, summary: resource) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = set_writer_run}),
    .doc = "Sets the summary writer of an aggregator of the second version.",
};

// ---- SetStatsAggregatorDataset ----

static bd_turn pull_input(bd_iterator *it)
{
    return bd_pull(it, it->input);
}

static void destroy_set(bd_dataset *d)
{
    if (set_of(d)->to) bd_resource_unref(&set_of(d)->to->base);
    bd_free(set_of(d)->tag);
}

static const bd_dataset_kind set_kind = {
    .name = "SetStatsAggregator",
    .dataset_size = sizeof(set_dataset),
    .iterator_size = sizeof(bd_iterator),
    .destroy = destroy_set,
    .opens_input = true,
    .gathers_stats = true,
    .cardinality = bd_cardinality_of_input,
    .next = pull_input,
    .received = bd_pass,
};

static void set_aggregator_run(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 1, &aggregator_type);
    bool ok = r && bd_input_scalar(c, 2, "tag", BRAID_STRING) &&
              bd_input_scalar(c, 3, "counter_prefix", BRAID_STRING);
    bd_dataset *d = ok ? bd_dataset_over_input(c, &set_kind) : NULL;
    if (d) {
        const bd_string *tag = bd_tensor_str(bd_input(c, 2));
        set_of(d)->tag = bd_strndup(tag->data ? tag->data : "", tag->len);
        set_of(d)->to = aggregator_of(bd_resource_ref(r));
        d->state = c->node->def->name;
        bd_output_dataset(c, d);
    }
    bd_resource_unref(r);
}

#define SET_AGGREGATOR_OP                                                                                    \
    {                                                                                                        \
        .signature = "(input_dataset: variant, stats_aggregator: resource, tag: string, "                    \
                     "counter_prefix: string) -> (handle: variant)",                                         \
        .attrs = BD_DATASET_ATTRS, .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,                       \
        .shape = bd_shape_fn_scalar, .kernels = BD_KERNELS({.run = set_aggregator_run}),                     \
        .deviation = "Braid has no counters, to which counter_prefix would apply.",                          \
        .doc = "The same elements; statistics of the iterators below go to an aggregator, under `tag`."      \
    }

BD_OP(SetStatsAggregatorDataset) = SET_AGGREGATOR_OP;
BD_OP(ExperimentalSetStatsAggregatorDataset) = SET_AGGREGATOR_OP;
