// Tests of datasets' statistics: histograms and scalars of an aggregator, and the events it writes.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/file.h"
#include "io/record.h"
#include "io/testing/temp_dir.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"
#include "proto/pack.h"
#include "tensorflow/core/util/event.pb-c.h"

#include <stdio.h>

#define RANGE(N) "RangeDataset(int64[] 0; int64[] " #N "; int64[] 1) "

static braid_op *node(op_live *l, const char *op, const char *attrs, const braid_out *inputs, int count)
{
    return op_test_node(l->graph, op, attrs, inputs, count);
}

// An iterator over a pipeline with an aggregator that op `maker` makes.
typedef struct watched {
    op_live *live;
    braid_out aggregator;
    pipeline p;
} watched;

static watched watch(const char *set_op, const char *maker, const char *text, const char *tag)
{
    watched w = {.live = op_live_new()};
    op_live *l = w.live;
    w.aggregator = (braid_out){.op = node(l, maker, NULL, NULL, 0)};
    braid_out in[] = {pipeline_make(l, text, "int64"), w.aggregator, pipeline_const(l, tag),
                      pipeline_const(l, "string[] \"\"")};
    w.p = pipeline_over(
        l, (braid_out){.op = node(l, set_op, "output_types=[int64]; output_shapes=[?]", in, 4)}, "int64");
    op_live_run(l, w.p.make, "", "");
    return w;
}

// ---- What is asked for ----

typedef struct summary {
    Tensorflow__Summary *message;
    bd_proto_arena arena;
} summary;

static summary read_summary(const watched *w, const char *op)
{
    BD_STATUS(st);
    summary s = {0};
    op_execution *e = op_live_start(w->live, node(w->live, op, NULL, &w->aggregator, 1), "");
    op_execution_wait(e);
    assert_int_equal(e->ctx.status.code, BRAID_OK);
    const bd_string *bytes = bd_tensor_str(&e->ctx.outputs[0].tensor);
    s.message = bd_proto_unpack(&tensorflow__summary__descriptor, bytes->data ? bytes->data : "", bytes->len,
                                &s.arena, st);
    assert_ok(st);
    op_execution_free(e);
    return s;
}

static const Tensorflow__Summary__Value *value_of(const summary *s, const char *tag)
{
    for (size_t i = 0; i < s->message->n_value; i++)
        if (strcmp(s->message->value[i]->tag, tag) == 0) return s->message->value[i];
    fail_msg("no value '%s'", tag);
    return NULL;
}

static void expect_histogram(const summary *s, const char *tag, double num, double sum)
{
    const Tensorflow__HistogramProto *h = value_of(s, tag)->histo;
    assert_non_null(h);
    assert_true(h->num == num);
    if (sum >= 0) assert_true(h->sum == sum);
    assert_true(h->min >= 0 && h->max >= h->min);
}

#define THREE "int64[] 0 | int64[] 1 | int64[] 2 | end"

// 8 bytes a number; both versions of the ops' names.
static void statistics_become_histograms(void **state)
{
    (void)state;
    static const struct {
        const char *text, *set, *maker, *summary;
    } rows[] = {
        {RANGE(3) "BytesProducedStatsDataset(string[] bytes) LatencyStatsDataset(string[] latency)",
         "SetStatsAggregatorDataset", "StatsAggregatorHandle", "StatsAggregatorSummary"},
        {RANGE(3) "ExperimentalBytesProducedStatsDataset(string[] bytes) "
                  "ExperimentalLatencyStatsDataset(string[] latency)",
         "ExperimentalSetStatsAggregatorDataset", "ExperimentalStatsAggregatorHandle",
         "ExperimentalStatsAggregatorSummary"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        watched w = watch(rows[i].set, rows[i].maker, rows[i].text, "string[] t");
        summary s = read_summary(&w, rows[i].summary);
        assert_int_equal(s.message->n_value, 0);
        bd_proto_arena_fini(&s.arena);
        pipeline_expect(&w.p, THREE);
        s = read_summary(&w, rows[i].summary);
        assert_int_equal(s.message->n_value, 2);
        expect_histogram(&s, "t::bytes", 3, 24);
        expect_histogram(&s, "t::latency", 3, -1);
        bd_proto_arena_fini(&s.arena);
        op_live_free(w.live);
    }
}

// An error counts in the latency and has no bytes; without a tag the names have no prefix.
static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    watched w =
        watch("SetStatsAggregatorDataset", "StatsAggregatorHandle",
              RANGE(3) "BatchDataset(int64[] 2) BatchDataset(int64[] 2) "
                       "BytesProducedStatsDataset(string[] bytes) LatencyStatsDataset(string[] latency)",
              "string[] \"\"");
    op_live_run(w.live, w.p.next, "", "InvalidArgument: Cannot batch");
    summary s = read_summary(&w, "StatsAggregatorSummary");
    assert_int_equal(s.message->n_value, 1);
    expect_histogram(&s, "latency", 1, -1);
    bd_proto_arena_fini(&s.arena);
    op_live_free(w.live);
}

// First without an aggregator, then with two: the innermost one gets all statistics.
static void statistics_go_to_the_innermost_aggregator(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    pipeline p = pipeline_open(l, RANGE(3) "BytesProducedStatsDataset(string[] bytes)", "int64");
    op_live_run(l, p.make, "", "");
    pipeline_expect(&p, THREE);
    op_live_free(l);
    watched w = watch("SetStatsAggregatorDataset", "StatsAggregatorHandle",
                      RANGE(1) "LatencyStatsDataset(string[] latency)", "string[] inner");
    braid_out other = {.op = node(w.live, "StatsAggregatorHandle", NULL, NULL, 0)},
              in[] = {w.p.make->inputs[0], other, op_live_const(w.live, "string[] outer"),
                      op_live_const(w.live, "string[] p")};
    pipeline both = pipeline_over(w.live,
                                  (braid_out){.op = node(w.live, "SetStatsAggregatorDataset",
                                                         "output_types=[int64]; output_shapes=[?]", in, 4)},
                                  "int64");
    op_live_run(w.live, both.make, "", "");
    pipeline_expect(&both, "int64[] 0 | end");
    summary s = read_summary(&w, "StatsAggregatorSummary");
    expect_histogram(&s, "inner::latency", 1, -1);
    bd_proto_arena_fini(&s.arena);
    w.aggregator = other;
    s = read_summary(&w, "StatsAggregatorSummary");
    assert_int_equal(s.message->n_value, 0);
    bd_proto_arena_fini(&s.arena);
    op_live_free(w.live);
}

// Without threads elements are not prefetched: each one is waited for.
static void prefetch_reports_its_buffer(void **state)
{
    (void)state;
    watched w = watch("SetStatsAggregatorDataset", "StatsAggregatorHandle",
                      RANGE(3) "PrefetchDataset(int64[] 2)", "string[] t");
    pipeline_expect(&w.p, THREE);
    summary s = read_summary(&w, "StatsAggregatorSummary");
    assert_true(value_of(&s, "t::PrefetchDataset::buffer_capacity")->simple_value == 2);
    assert_true(value_of(&s, "t::PrefetchDataset::buffer_size")->simple_value <= 2);
    bd_proto_arena_fini(&s.arena);
    op_live_free(w.live);
}

// ---- What is written ----

static void expect_events(const char *dir, int count)
{
    BD_STATUS(st);
    bd_name_list names = {0};
    bd_record_reader *records;
    const uint8_t *data;
    size_t len;
    bd_proto_arena arena = {0};
    assert_int_equal(bd_dir_list(bd_fs_current, dir, &names, st), BRAID_OK);
    assert_int_equal(names.len, 1);
    char *path = bd_path_join(dir, names.items[0]);
    bd_record_reader_open(bd_fs_current, path, BD_COMPRESSION_NONE, &records, st);
    assert_ok(st);
    int seen = 0;
    for (; bd_record_read(records, &data, &len, st) == BRAID_OK; seen++) {
        const Tensorflow__Event *e = bd_proto_unpack(&tensorflow__event__descriptor, data, len, &arena, st);
        if (seen == 0) continue; // the version
        assert_int_equal(e->step, seen - 1);
        assert_int_equal(e->summary->n_value, 1);
        assert_string_equal(e->summary->value[0]->tag, "t::bytes");
        assert_true(e->summary->value[0]->histo->num == seen); // all of them so far
    }
    assert_int_equal(seen, count + 1);
    bd_record_reader_close(records);
    bd_proto_arena_fini(&arena);
    bd_name_list_fini(&names);
    bd_free(path);
}

static void statistics_are_written_as_events(void **state)
{
    (void)state;
    char *dir = bd_temp_dir_new();
    watched w = watch("SetStatsAggregatorDataset", "StatsAggregatorHandleV2",
                      RANGE(3) "BytesProducedStatsDataset(string[] bytes)", "string[] t");
    char *logdir = bd_asprintf("string[] %s", dir);
    braid_out writer = {.op = node(w.live, "SummaryWriter", "shared_name=w", NULL, 0)},
              create[] = {writer, op_live_const(w.live, logdir), op_live_const(w.live, "int32[] 0"),
                          op_live_const(w.live, "int32[] 0"), op_live_const(w.live, "string[] .v2")},
              set[] = {w.aggregator, writer};
    braid_op *set_writer = node(w.live, "StatsAggregatorSetSummaryWriter", NULL, set, 2);
    op_live_run(w.live, set_writer, "", "NotFound: Resource localhost/w/SummaryWriter does not exist");
    op_live_run(w.live, node(w.live, "CreateSummaryFileWriter", NULL, create, 5), "", "");
    op_live_run(w.live, set_writer, "", "");
    op_live_run(w.live, set_writer, "", ""); // the same once more
    pipeline_expect(&w.p, THREE);
    expect_events(dir, 3);
    summary s = read_summary(&w, "StatsAggregatorSummary");
    assert_int_equal(s.message->n_value, 0);
    bd_proto_arena_fini(&s.arena);
    op_live_free(w.live);
    bd_free(logdir);
    bd_temp_dir_free(dir);
}

// A name that another kind of resource has.
static void aggregators_are_shared_by_name(void **state)
{
    (void)state;
    static const char *const ops[] = {"StatsAggregatorHandle", "StatsAggregatorHandleV2",
                                      "ExperimentalStatsAggregatorHandle"};
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        op_live *l = op_live_new();
        op_live_run(l, node(l, "FIFOQueueV2", "component_types=[float]; shared_name=x", NULL, 0), "", "*");
        op_live_run(l, node(l, ops[i], "shared_name=x", NULL, 0), "", "*"); // beside a queue of that name
        op_live_free(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_become_histograms),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(statistics_go_to_the_innermost_aggregator),
        cmocka_unit_test(prefetch_reports_its_buffer),
        cmocka_unit_test(aggregators_are_shared_by_name),
        cmocka_unit_test(statistics_are_written_as_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
