// Tests of iterators: start and end, wrong use, waiting and cancelling, many threads, handles, optionals.
// labels: concurrent
#include "base/clock.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "op/io_pool.h"
#include "ops/dataset/dataset.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"
#include <stdio.h>
#include <stdlib.h>

#define RANGE(N) "RangeDataset(int64[] 0; int64[] " #N "; int64[] 1) "

static void an_iterator_must_be_initialized(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    pipeline p = pipeline_open(l, RANGE(2), "int64");
    op_live_run(l, p.next, "",
                "FailedPrecondition: GetNext() failed because the iterator has not been initialized");
    op_live_run(l, p.make, "", "");
    pipeline_expect(&p, "int64[] 0");
    op_live_run(l, p.make, "", ""); // from the beginning
    pipeline_expect(&p, "int64[] 0 | int64[] 1 | end");
    pipeline wrong = pipeline_open(l, RANGE(2), "string");
    op_live_run(l, wrong.make, "",
                "InvalidArgument: Data type mismatch at component 0: expected string but got int64.");
    wrong = pipeline_open(l, RANGE(2) "ShardDataset(int64[] -1; int64[] -1)", "int64");
    op_live_run(l, wrong.make, "", "FailedPrecondition: can only be used below an AutoShardDataset");
    wrong = pipeline_open(l, RANGE(2), "int64,int64");
    op_live_run(l, wrong.make, "",
                "InvalidArgument: Number of components does not match: expected 2 types but got 1.");
    op_live_free(l);
}

// A pipeline that is too deep to be opened on the stack.
static void nested_datasets_have_a_depth_limit(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_out d = pipeline_make(l, RANGE(3), "int64");
    braid_out all = op_live_const(l, "int64[] -1");
    static const braid_dtype type = BRAID_INT64;
    for (int i = 1; i <= 1000; i++) {
        braid_op_desc *desc = braid_op_begin(l->graph, "TakeDataset", NULL);
        braid_op_input(desc, d);
        braid_op_input(desc, all);
        braid_op_attr_type_list(desc, "output_types", &type, 1);
        braid_op_attr_shape_list(desc, "output_shapes", &BD_SCALAR, 1);
        if (i == 999) op_live_run(l, d.op, "", "*");
        d = braid_op_end_out(desc);
    }
    op_live_run(l, d.op, "", "InvalidArgument: More than 1000 nested datasets");
    op_live_free(l);
}

// ---- Waiting and cancelling ----

// Repeats the lines of a file and filters all of them out: runs without end on an I/O thread.
static char *lines_path;

static void endless(char out[512], const char *more)
{
    snprintf(out, 512, "TextLineDataset(string[] %s; string[] \"\"; int64[] 0) RepeatDataset(int64[] -1) %s",
             lines_path, more);
}

#define SKIP_ALL "SkipDataset(int64[] 9223372036854775807)"

static void cancelled_step_puts_the_work_off(void **state)
{
    (void)state;
    static const char *const pipelines[] = {SKIP_ALL, (SKIP_ALL " PrefetchDataset(int64[] 1)"),
                                            ("PrefetchDataset(int64[] 1) " SKIP_ALL)};
    for (size_t i = 0; i < BD_COUNTOF(pipelines); i++) {
        char text[512];
        endless(text, pipelines[i]);
        op_live *l = op_live_new();
        bd_io_pool *blocking = l->io_pool = bd_io_pool_new();
        pipeline p = pipeline_open(l, text, "string");
        op_live_run(l, p.make, "", "");
        for (int k = 0; k < 3; k++) { // the iterator continues at its position
            op_execution *e = op_live_start(l, p.next, "");
            assert_false(op_execution_has_ended(e));
            op_execution_cancel(e);
            op_execution_expect(e, "Cancelled: GetNext operation was cancelled");
        }
        op_execution *e = op_live_start(l, p.next, "");
        bd_resources_clear(l->resources, NULL); // Reset
        op_execution_expect(e, "Cancelled: was cancelled");
        bd_io_pool_free(blocking); // ends its threads
        op_live_free(l);
    }
}

// A pause is made before each element; the end of the iterator ends one that is long.
static void a_pausing_dataset_holds_no_compute_thread(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    bd_io_pool *blocking = l->io_pool = bd_io_pool_new();
    pipeline p = pipeline_open(l, RANGE(2) "SleepDataset(int64[] 3000)", "int64");
    op_live_run(l, p.make, "", "");
    const int64_t start = bd_now_ns();
    pipeline_expect(&p, "int64[] 0 | int64[] 1 | end");
    assert_true(bd_now_ns() - start >= 3 * 3000 * 1000); // before the end, too
    pipeline forever =
        pipeline_open(l, RANGE(2) "ExperimentalSleepDataset(int64[] 9223372036854775807)", "int64");
    op_live_run(l, forever.make, "", "");
    op_execution *e = op_live_start(l, forever.next, "");
    assert_false(op_execution_has_ended(e));
    bd_resources_clear(l->resources, NULL);
    op_execution_expect(e, "Cancelled: was cancelled");
    bd_io_pool_free(blocking);
    op_live_free(l);
}

// A cancelled execution takes no element: each number is given once, in order.
static void cancelling_loses_no_element(void **state)
{
    (void)state;
    char text[512];
    endless(text, "BatchDataset(int64[] 50) PrefetchDataset(int64[] 2)");
    op_live *l = op_live_new();
    bd_io_pool *blocking = l->io_pool = bd_io_pool_new();
    char zip[1024];
    snprintf(zip, sizeof zip, RANGE(1000000) "%s ZipDataset()", text);
    pipeline p = pipeline_open(l, zip, "int64,string");
    op_live_run(l, p.make, "", "");
    int64_t want = 0;
    for (int k = 0; k < 300; k++) {
        op_execution *e = op_live_start(l, p.next, "");
        if (k % 3) op_execution_cancel(e);
        op_execution_wait(e);
        if (e->ctx.status.code) {
            assert_int_equal(e->ctx.status.code, BRAID_CANCELLED);
        } else {
            assert_int_equal(bd_tensor_i64(&e->ctx.outputs[0].tensor)[0], want);
            want++;
        }
        op_execution_free(e);
    }
    assert_true(want >= 100);
    bd_resources_clear(l->resources, NULL);
    bd_io_pool_free(blocking);
    op_live_free(l);
}

// ---- Many threads on one iterator ----

#define TAKERS 4
#define NUMBERS 2000

typedef struct taker {
    const pipeline *p;
    bd_thread thread;
    int64_t count, sum, last;
} taker;

static void take_all(void *arg)
{
    taker *t = arg;
    t->last = -1;
    for (;;) {
        op_execution *e = op_live_start(t->p->live, t->p->next, "");
        op_execution_wait(e);
        bool is_over = e->ctx.status.code != BRAID_OK;
        if (!is_over) {
            int64_t value = bd_tensor_i64(&e->ctx.outputs[0].tensor)[0];
            BD_ASSERT(value > t->last); // each sees them in order
            t->last = value;
            t->sum += value;
            t->count++;
        } else {
            BD_ASSERT(e->ctx.status.code == BRAID_OUT_OF_RANGE);
        }
        op_execution_free(e);
        if (is_over) return;
    }
}

static void check_crowd(const char *text, bool has_threads)
{
    BD_STATUS(st);
    op_live *l = op_live_new();
    bd_io_pool *blocking = l->io_pool = has_threads ? bd_io_pool_new() : NULL;
    pipeline p = pipeline_open(l, text, "int64");
    op_live_run(l, p.make, "", "");
    taker takers[TAKERS] = {{0}};
    int64_t count = 0, sum = 0;
    for (int i = 0; i < TAKERS; i++) {
        takers[i].p = &p;
        assert_int_equal(bd_thread_start(&takers[i].thread, "taker", take_all, &takers[i], st), BRAID_OK);
    }
    for (int i = 0; i < TAKERS; i++) {
        bd_thread_join(&takers[i].thread);
        count += takers[i].count;
        sum += takers[i].sum;
    }
    assert_int_equal(count, NUMBERS);
    assert_int_equal(sum, (int64_t)NUMBERS * (NUMBERS - 1) / 2);
    bd_resources_clear(l->resources, NULL);
    bd_io_pool_free(blocking);
    op_live_free(l);
}

static void each_element_is_given_once_to_many_threads(void **state)
{
    (void)state;
    check_crowd(RANGE(2000), false);
    check_crowd(RANGE(2000) "PrefetchDataset(int64[] 3)", true);
    check_crowd(
        RANGE(
            2000) "PrefetchDataset(int64[] -1) BatchDataset(int64[] 7) UnbatchDataset() PrefetchDataset(int64[] 1)",
        true);
}

// Dropped in the middle, with elements ready and more on their way.
static void a_dropped_iterator_ends_its_threads(void **state)
{
    (void)state;
    static const char *const pipelines[] = {
        "PrefetchDataset(int64[] 5)",
        "BatchDataset(int64[] 3) PrefetchDataset(int64[] 2) PrefetchDataset(int64[] 2)",
        "ShuffleDataset(int64[] 9; int64[] 1; int64[] 2) CacheDataset(string[] \"\") PrefetchDataset(int64[] 2)",
        "PrefetchDataset(int64[] 2) WindowDataset(int64[] 3; int64[] 1; int64[] 1; bool[] false)"};
    for (size_t i = 0; i < BD_COUNTOF(pipelines); i++) {
        char text[512];
        endless(text, pipelines[i]);
        op_live *l = op_live_new();
        bd_io_pool *blocking = l->io_pool = bd_io_pool_new();
        pipeline p = pipeline_open(l, text, i == 3 ? "variant" : "string");
        op_live_run(l, p.make, "", "");
        for (int k = 0; k < 3; k++)
            op_live_run(l, p.next, "", "*");
        op_live_run(l, p.make, "", ""); // the first one is dropped here, the second below
        op_live_run(l, p.next, "", "*");
        bd_resources_clear(l->resources, NULL);
        bd_io_pool_free(blocking);
        op_live_free(l);
    }
}

// ---- Optionals and handles ----

static braid_op *node(op_live *l, const char *op, const char *types, const braid_out *inputs, int count)
{
    static const braid_dtype int64 = BRAID_INT64;
    braid_op_desc *d = braid_op_begin(l->graph, op, NULL);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    if (types) braid_op_attr_type_list(d, "output_types", &int64, 1);
    if (types) braid_op_attr_shape_list(d, "output_shapes", &BD_SCALAR, 1);
    return braid_op_end(d);
}

static void optionals_may_be_empty(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    pipeline p = pipeline_open(l, RANGE(2), "int64");
    op_live_run(l, p.make, "", "");
    braid_out optional = {.op = p.next_optional};
    braid_op *value = node(l, "OptionalGetValue", "int64", &optional, 1),
             *has = node(l, "OptionalHasValue", NULL, &optional, 1);
    op_live_run(l, has, "", "bool[] true");
    op_live_run(l, value, "", "int64[] 1");
    op_live_run(l, has, "", "bool[] false");
    op_live_run(l, value, "", "InvalidArgument: The given optional does not have a value.");
    braid_out none = {.op = node(l, "OptionalNone", NULL, NULL, 0)};
    op_live_run(l, node(l, "OptionalHasValue", NULL, &none, 1), "", "bool[] false");
    braid_out constant = op_live_const(l, "int64[2] 4 5"), made;
    braid_op_desc *d = braid_op_begin(l->graph, "OptionalFromValue", NULL);
    braid_op_input_list(d, &constant, 1);
    made = braid_op_end_out(d);
    op_live_run(l, node(l, "OptionalHasValue", NULL, &made, 1), "", "bool[] true");
    op_live_run(
        l, node(l, "OptionalGetValue", "int64", &made, 1), "",
        "InvalidArgument: does not match the expected shape for component 0. Expected: []. Actual: [2].");
    op_live_free(l);
}

static void a_string_handle_names_its_iterator(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    pipeline p = pipeline_open(l, RANGE(2), "int64");
    op_live_run(l, p.make, "", "");
    braid_out iterator = p.next->inputs[0],
              handle = {.op = node(l, "IteratorToStringHandle", NULL, &iterator, 1)},
              same = {.op = node(l, "IteratorFromStringHandleV2", "int64", &handle, 1)};
    op_live_run(l, node(l, "IteratorGetNextSync", "int64", &same, 1), "", "int64[] 0");
    pipeline_expect(&p, "int64[] 1 | end");
    braid_out nonsense = op_live_const(l, "string[] nonsense");
    op_live_run(l, node(l, "IteratorFromStringHandle", "int64", &nonsense, 1), "",
                "InvalidArgument: Could not parse string_handle as a valid ResourceHandle");
    op_live_free(l);
}

static void anonymous_iterators_end_with_their_deleter(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_op *made = node(l, "AnonymousIteratorV2", "int64", NULL, 0);
    braid_out both[] = {{.op = made, .index = 0}, {.op = made, .index = 1}};
    op_live_run(l, node(l, "DeleteIterator", NULL, both, 2), "", "");
    // The deleter has been freed when this runs: it was an output of a node that has ended.
    op_live_run(l, node(l, "IteratorGetNext", "int64", both, 1), "", "Cancelled: the iterator was deleted");
    op_live_free(l);
}

// The same op under several names.
static void both_versions_of_the_ops_agree(void **state)
{
    (void)state;
    static const char *const twins[][2] = {
        {"IteratorV2", "Iterator"},
        {"AnonymousIteratorV2", "AnonymousIterator"},
        {"AnonymousIteratorV2", "AnonymousIteratorV3"},
        {"IteratorGetDevice", "ExperimentalIteratorGetDevice"},
        {"DatasetCardinality", "ExperimentalDatasetCardinality"},
        {"AutoShardDataset", "ExperimentalAutoShardDataset"},
        {"LatencyStatsDataset", "ExperimentalLatencyStatsDataset"},
        {"BytesProducedStatsDataset", "ExperimentalBytesProducedStatsDataset"},
        {"SleepDataset", "ExperimentalSleepDataset"},
        {"IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset"},
        {"MaxIntraOpParallelismDataset", "ExperimentalMaxIntraOpParallelismDataset"},
        {"PrivateThreadPoolDataset", "ExperimentalPrivateThreadPoolDataset"},
        {"NonSerializableDataset", "ExperimentalNonSerializableDataset"},
        {"RandomDataset", "ExperimentalRandomDataset"},
        {"RebatchDataset", "ExperimentalRebatchDataset"},
        {"AssertNextDataset", "ExperimentalAssertNextDataset"},
        {"AssertNextDataset", "AssertPrevDataset"},
        {"StatsAggregatorHandle", "StatsAggregatorHandleV2"},
        {"StatsAggregatorHandle", "ExperimentalStatsAggregatorHandle"},
        {"StatsAggregatorSummary", "ExperimentalStatsAggregatorSummary"},
        {"SetStatsAggregatorDataset", "ExperimentalSetStatsAggregatorDataset"},
    };
    for (size_t i = 0; i < BD_COUNTOF(twins); i++) {
        const bd_op *a = bd_op_lookup(twins[i][0])->op, *b = bd_op_lookup(twins[i][1])->op;
        assert_non_null(a->kernels[0].run);
        assert_ptr_equal(a->kernels[0].run, b->kernels[0].run);
    }
}

// A node over a pipeline that takes one thing more.
static braid_out over(op_live *l, const char *op, braid_out input, const char *text, braid_out resource)
{
    static const braid_dtype type = BRAID_INT64;
    braid_op_desc *d = braid_op_begin(l->graph, op, NULL);
    braid_op_input(d, input);
    braid_op_input(d, pipeline_const(l, text));
    braid_op_input(d, resource);
    braid_op_attr_type_list(d, "output_types", &type, 1);
    braid_op_attr_shape_list(d, "output_shapes", &BD_SCALAR, 1);
    return braid_op_end_out(d);
}

// Runs a node that makes a resource once, and gives its handle as a constant.
static braid_out made_once(op_live *l, braid_op *maker, braid_tensor keep[2])
{
    op_execution *e = op_live_start(l, maker, "");
    op_execution_wait(e);
    assert_int_equal(e->ctx.status.code, BRAID_OK);
    for (int i = 0; i < 2; i++)
        bd_tensor_ref(&keep[i], &e->ctx.outputs[i].tensor);
    op_execution_free(e);
    braid_op_desc *d = braid_op_begin(l->graph, "Const", NULL);
    braid_op_attr_type(d, "dtype", BRAID_RESOURCE);
    braid_op_attr_tensor(d, "value", &keep[0]);
    return braid_op_end_out(d);
}

// Two iterators over ShuffleDatasetV2 draw from one generator: their orders are those of two passes of
// shuffles_follow_the_random_numbers_of_tensorflow.
static void iterators_share_a_seed_generator(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_tensor keep[2];
    braid_out seeds[] = {op_live_const(l, "int64[] 1"), op_live_const(l, "int64[] 2")};
    braid_op *maker = node(l, "AnonymousRandomSeedGenerator", NULL, seeds, 2);
    braid_out generator = made_once(l, maker, keep), input = pipeline_make(l, RANGE(10), "int64"),
              d = over(l, "ShuffleDatasetV2", input, "int64[] 4", generator);
    static const char *const wants[] = {"0 2 1 3 5 8 6 4 7 9", "3 0 2 1 4 5 6 7 9 8"};
    for (int pass = 0; pass < 2; pass++) {
        pipeline p = pipeline_over(l, d, "int64");
        op_live_run(l, p.make, "", "");
        for (const char *at = wants[pass]; *at; at += at[1] ? 2 : 1) {
            char want[32];
            snprintf(want, sizeof want, "int64[] %c", *at);
            op_live_run(l, p.next, "", want);
        }
    }
    op_live_run(
        l, node(l, "DeleteRandomSeedGenerator", NULL, (braid_out[]){generator, {.op = maker, .index = 1}}, 2),
        "", "");
    op_live_run(l, d.op, "", "NotFound: RandomSeedGenerator");
    bd_tensors_fini(keep, 2);
    op_live_free(l);
}

// The seeds of an iterator are the dataset's (11, 22), or the next two words of a generator with these:
// Philox 4x32-10 in plain Python.
static void a_generator_gives_each_iterator_its_numbers(void **state)
{
    (void)state;
    static const struct {
        bool rerandomizes;
        const char *want; // two of the first iterator, two of the second
    } rows[] = {
        {false, "int64[] 3205475699 | int64[] 1786718780 | int64[] 3205475699 | int64[] 1786718780 | end"},
        {true, "int64[] 3411485307 | int64[] 3357615958 | int64[] 2831728558 | int64[] 3718677400 | end"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        op_live *l = op_live_new();
        braid_op_desc *d = braid_op_begin(l->graph, "RandomDatasetV2", NULL);
        braid_op_input(d, op_live_const(l, "int64[] 11"));
        braid_op_input(d, op_live_const(l, "int64[] 22"));
        braid_op_input(d, (braid_out){.op = node(l, "DummySeedGenerator", NULL, NULL, 0)});
        braid_op_attr_bool(d, "rerandomize_each_iteration", rows[i].rerandomizes);
        braid_op_attr_type_list(d, "output_types", (braid_dtype[]){BRAID_INT64}, 1);
        braid_op_attr_shape_list(d, "output_shapes", &BD_SCALAR, 1);
        braid_out in[] = {braid_op_end_out(d), op_live_const(l, "int64[] 2")};
        in[0] = (braid_out){.op = node(l, "TakeDataset", "int64", in, 2)};
        pipeline p = pipeline_over(l, (braid_out){.op = node(l, "RepeatDataset", "int64", in, 2)}, "int64");
        op_live_run(l, p.make, "", "");
        pipeline_expect(&p, rows[i].want);
        op_live_free(l);
    }
}

static void iterators_share_a_memory_cache(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_tensor keep[2];
    braid_op *maker = node(l, "AnonymousMemoryCache", NULL, NULL, 0);
    braid_out cache = made_once(l, maker, keep);
    // Random numbers, which differ each time unless they are cached.
    braid_out input = pipeline_make(l, "RandomDataset(int64[] 0; int64[] 0) TakeDataset(int64[] 2)", "int64"),
              d = over(l, "CacheDatasetV2", input, "string[] \"\"", cache);
    int64_t values[2][2];
    for (int pass = 0; pass < 2; pass++) {
        pipeline p = pipeline_over(l, d, "int64");
        op_live_run(l, p.make, "", "");
        for (int i = 0; i < 2; i++) {
            op_execution *e = op_live_start(l, p.next, "");
            op_execution_wait(e);
            values[pass][i] = bd_tensor_i64(&e->ctx.outputs[0].tensor)[0];
            op_execution_free(e);
        }
        if (pass == 0) {
            pipeline early = pipeline_over(l, d, "int64");
            op_live_run(l, early.make, "",
                        "Internal: Cache should only be read after it has been completed.");
        }
        pipeline_expect(&p, "end");
    }
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    op_live_run(l, node(l, "DeleteMemoryCache", NULL, (braid_out[]){cache, {.op = maker, .index = 1}}, 2), "",
                "");
    bd_tensors_fini(keep, 2);
    op_live_free(l);
}

static int write_lines(void **state)
{
    BD_STATUS(st);
    *state = bd_temp_dir_new();
    lines_path = bd_path_join(*state, "lines");
    return bd_file_write_atomic(bd_fs_current, lines_path, "a\nb\nc\n", 6, st) ? -1 : 0;
}

static int remove_lines(void **state)
{
    bd_free(lines_path);
    bd_temp_dir_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_iterator_must_be_initialized),
        cmocka_unit_test(nested_datasets_have_a_depth_limit),
        cmocka_unit_test(cancelled_step_puts_the_work_off),
        cmocka_unit_test(a_pausing_dataset_holds_no_compute_thread),
        cmocka_unit_test(cancelling_loses_no_element),
        cmocka_unit_test(each_element_is_given_once_to_many_threads),
        cmocka_unit_test(a_dropped_iterator_ends_its_threads),
        cmocka_unit_test(optionals_may_be_empty),
        cmocka_unit_test(a_string_handle_names_its_iterator),
        cmocka_unit_test(anonymous_iterators_end_with_their_deleter),
        cmocka_unit_test(both_versions_of_the_ops_agree),
        cmocka_unit_test(iterators_share_a_seed_generator),
        cmocka_unit_test(a_generator_gives_each_iterator_its_numbers),
        cmocka_unit_test(iterators_share_a_memory_cache),
    };
    return cmocka_run_group_tests(tests, write_lines, remove_lines);
}
