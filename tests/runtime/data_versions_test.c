// Later versions of data sets, in the in-process session: equal and differing behaviour.
// labels: concurrent
#include "io/file.h"
#include "io/record.h"
#include "io/testing/temp_dir.h"
#include "proto/pack.h"
#include "runtime/testing/data_graph.h"
#include "tensorflow/core/framework/summary.pb-c.h"

#define TENS(OP, INPUTS)                                                                                     \
    NODE("d", OP, INPUT("range") INPUTS MAP_ATTRS("tens"))                                                   \
    ITERATOR("d")
#define LENGTHS(CYCLE, BLOCK) NODE("c", "Const", INT(CYCLE)) NODE("b", "Const", INT(BLOCK))
#define SHUFFLED "3 4 1 2 7 0 5 8 9 6 end" // of test_shuffling in data_pipeline_test.c, with these seeds
#define SEEDS                                                                                                \
    NODE("four", "Const", INT("4"))                                                                          \
    NODE("seed", "Const", INT("1")) NODE("seed2", "Const", INT("2"))

static const row rows[] = {
    {"ParallelMapDatasetV2",
     RANGE(6) NODE("p", "Const", INT("3"))
         NODE("d", "ParallelMapDatasetV2",
              INPUT("range") INPUT("p") MAP_ATTRS("square") ATTR("deterministic", "s: 'true'")) ITERATOR("d"),
     "0 1 4 9 16 25 end", "p num_parallel_calls"},
    {"ParallelFilterDataset",
     RANGE(6) NODE("p", "Const", INT("-1"))
         NODE("d", "ParallelFilterDataset",
              INPUT("range") INPUT("p") FUNC("predicate", "even") NO_ARGS COMPONENTS) ITERATOR("d"),
     "0 2 4 end", "p num_parallel_calls"},
    {"ParallelFilterDataset, not a truth",
     RANGE(1) NODE("p", "Const", INT("2"))
         NODE("d", "ParallelFilterDataset",
              INPUT("range") INPUT("p") FUNC("predicate", "square") NO_ARGS COMPONENTS) ITERATOR("d"),
     "!scalar"},
    {"ParallelFilterDataset without calls",
     RANGE(6) NODE("p", "Const", INT("0"))
         NODE("d", "ParallelFilterDataset",
              INPUT("range") INPUT("p") FUNC("predicate", "even") NO_ARGS COMPONENTS) ITERATOR("d"),
     "?num_parallel_calls must be greater than zero."},
    {"ParallelBatchDataset",
     RANGE(5) NODE("p", "Const", INT("2")) NODE("r", "Const", BOOL("true"))
         NODE("d", "ParallelBatchDataset", INPUT("range") INPUT("p") INPUT("p") INPUT("r") COMPONENTS)
             ITERATOR("d"),
     "[0 1] [2 3] end"},
    // The same order as InterleaveDataset's, though all slots are read at the same time.
    {"ParallelInterleaveDatasetV3",
     RANGE(5) LENGTHS("2", "1") NODE("p", "Const", INT("2"))
         TENS("ParallelInterleaveDatasetV3", INPUT("c") INPUT("b") INPUT("p")),
     "10 20 21 30 31 40 32 41 42 43 end", "c cycle_length; b block_length; p num_parallel_calls"},
    {"ParallelInterleaveDatasetV4",
     RANGE(5) LENGTHS("2", "2") NODE("p", "Const", INT("-1"))
         TENS("ParallelInterleaveDatasetV4", INPUT("c") INPUT("b") INPUT("one") INPUT("one") INPUT("p")),
     "10 20 21 30 31 32 40 41 42 43 end", "c cycle_length; b block_length; p num_parallel_calls"},
    {"LegacyParallelInterleaveDatasetV2",
     RANGE(4) LENGTHS("9", "1") NODE("p", "Const", INT("1"))
         TENS("LegacyParallelInterleaveDatasetV2", INPUT("c") INPUT("b") INPUT("p") INPUT("p")),
     "10 20 30 21 31 32 end", "c cycle_length; b block_length; p buffer_output_elements"},
    {"more calls than slots",
     RANGE(4) LENGTHS("2", "1") NODE("p", "Const", INT("3"))
         TENS("ParallelInterleaveDatasetV2", INPUT("c") INPUT("b") INPUT("p")),
     "?num_parallel_calls must less than or equal to cycle_length."},
    {"a cycle of nothing", RANGE(4) LENGTHS("0", "1") TENS("InterleaveDataset", INPUT("c") INPUT("b")),
     "?cycle_length must be greater than zero."},
    // 12 / (x - 2) is -6, -12, an error, 12, 6 for 0 to 4; "tens" makes an empty dataset of a negative
    // number.
    {"an error keeps its turn in a parallel form",
     RANGE(5) LENGTHS("9", "1") NODE("p", "Const", INT("2"))
         NODE("m", "MapDataset", INPUT("range") MAP_ATTRS("divide"))
             NODE("d", "ParallelInterleaveDatasetV2",
                  INPUT("m") INPUT("c") INPUT("b") INPUT("p") MAP_ATTRS("one")) ITERATOR("d"),
     "-6 -12 !zero 12 6 end"},
    {"an error in a block",
     RANGE(5) LENGTHS("2", "3") NODE("p", "Const", INT("1"))
         NODE("m", "MapDataset", INPUT("range") MAP_ATTRS("divide"))
             NODE("d", "ParallelInterleaveDatasetV2",
                  INPUT("m") INPUT("c") INPUT("b") INPUT("p") MAP_ATTRS("one")) ITERATOR("d"),
     "-6 -12 !zero 12 6 end"},
    {"ShuffleDatasetV3 with seeds of its own",
     RANGE(10) SEEDS NODE("g", "DummySeedGenerator", "")
         NODE("d", "ShuffleDatasetV3",
              INPUT("range") INPUT("four") INPUT("seed") INPUT("seed2") INPUT("g")
                  ATTR("reshuffle_each_iteration", "b: false") COMPONENTS) ITERATOR("d"),
     SHUFFLED},
    {"ShuffleDatasetV3, the same seeds each time",
     RANGE(10) SEEDS NODE("no", "Const", BOOL("false"))
         NODE("g", "AnonymousSeedGenerator", INPUT("seed") INPUT("seed2") INPUT("no"))
             NODE("d", "ShuffleDatasetV3",
                  INPUT("range") INPUT("four") INPUT("zero") INPUT("zero") INPUT("g") COMPONENTS)
                 ITERATOR("d") NODE("delete", "DeleteSeedGenerator", INPUT("g") INPUT("g:1")),
     SHUFFLED},
    {"ShuffleAndRepeatDatasetV2",
     RANGE(3) SEEDS NODE("s", "Const", INT("3")) NODE("g", "DummySeedGenerator", "")
         NODE("d", "ShuffleAndRepeatDatasetV2",
              INPUT("range") INPUT("four") INPUT("s") INPUT("four") INPUT("s") INPUT("g")
                  ATTR("reshuffle_each_iteration", "b: false") COMPONENTS) ITERATOR("d"),
     "0 1 2 2 0 1 1 2 0 end"},
    {"ThreadPoolDataset",
     RANGE(2) NODE("t", "ThreadPoolHandle", ATTR("num_threads", "i: 2") ATTR("display_name", "s: 'p'"))
         NODE("e", "ThreadPoolDataset", INPUT("range") INPUT("t") COMPONENTS)
             NODE("d", "ExperimentalThreadPoolDataset", INPUT("e") INPUT("t") COMPONENTS) ITERATOR("d"),
     "0 1 end"},
    {"a pool without threads",
     RANGE(2)
         NODE("t", "ExperimentalThreadPoolHandle", ATTR("num_threads", "i: 0") ATTR("display_name", "s: 'p'"))
             NODE("d", "ThreadPoolDataset", INPUT("range") INPUT("t") COMPONENTS) ITERATOR("d"),
     "?`num_threads` must be greater than zero."},
    {"ChooseFastestDataset",
     RANGE(2) NODE("c", "ChooseFastestDataset",
                   INPUT("range") INPUT("range") ATTR("N", "i: 2") ATTR("num_experiments", "i: 1") COMPONENTS)
         NODE("e", "ExperimentalChooseFastestDataset",
              INPUT("c") INPUT("range") ATTR("N", "i: 2") ATTR("num_experiments", "i: 1") COMPONENTS)
             NODE("w", "WrapDatasetVariant", INPUT("e")) NODE("d", "UnwrapDatasetVariant", INPUT("w"))
                 ITERATOR("d"),
     "0 1 end"},
    {"ChooseFastestBranchDataset",
     RANGE(3) NODE("rn", "Const", INT("1")) NODE("rd", "Const", INT("1"))
         NODE("d", "ChooseFastestBranchDataset",
              INPUT("range") INPUT("rn") INPUT("rd") INPUT("n") LIST("Targuments", "type: DT_INT64")
                  ATTR("num_elements_per_branch", "i: 1")
                      LIST("branches", "func { name: 'skip' } func { name: 'skip' }")
                          LIST("other_arguments_lengths", "i: 1 i: 0") COMPONENTS) ITERATOR("d"),
     "1 2 end", "rn ratio_numerator; rd ratio_denominator"},
    {"CacheDatasetV2 with a cache of its own",
     RANGE(3) NODE("name", "Const", CONST_ATTRS("DT_STRING", "string_val: ''"))
         NODE("g", "DummyMemoryCache", "")
             NODE("k", "CacheDatasetV2", INPUT("range") INPUT("name") INPUT("g") COMPONENTS)
                 NODE("two", "Const", INT("2")) NODE("d", "RepeatDataset", INPUT("k") INPUT("two") COMPONENTS)
                     ITERATOR("d"),
     "0 1 2 0 1 2 end"},
};

static void each_version_of_the_ops_behaves_alike(void **state)
{
    (void)state;
    run_rows(rows, BD_COUNTOF(rows));
}

// Written and read again; and elements that cannot be written.
static void datasets_are_written_as_tfrecords(void **state)
{
    (void)state;
    char *dir = bd_temp_dir_new();
    static const char *const ops[] = {"DatasetToTFRecord", "ExperimentalDatasetToTFRecord"};
    for (int i = 0; i < 2; i++) {
        char *nodes = bd_asprintf(
            "%s" NODE("path", "Const", CONST_ATTRS("DT_STRING", "string_val: '%s/f'"))
                NODE("write", "%s", INPUT("words") INPUT("path") INPUT("gzip"))
                    NODE("wrong", "%s", INPUT("range") INPUT("path") INPUT("gzip")),
            RANGE(1) NODE("gzip", "Const", CONST_ATTRS("DT_STRING", "string_val: 'GZIP'"))
                NODE("both", "Const",
                     TYPE("dtype", "DT_STRING")
                         ATTR("value",
                              "tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: 'ab' "
                              "string_val: 'c' } "))
                    NODE("words", "TensorSliceDataset",
                         INPUT("both") LIST("Toutput_types", "type: DT_STRING")
                             LIST("output_shapes", "shape { }")),
            dir, ops[i], ops[i]);
        braid_graph *g = read_graph(ops[i], nodes);
        braid_session *s = open_session(g);
        BD_STATUS(st);
        run_target(s, g, "write", st);
        if (st->code) fail_msg("%s: %s", ops[i], st->message);
        char *path = bd_asprintf("%s/f", dir);
        bd_record_reader *r;
        const uint8_t *data;
        size_t len;
        assert_int_equal(bd_record_reader_open(bd_fs_current, path, BD_COMPRESSION_GZIP, &r, st), BRAID_OK);
        assert_int_equal(bd_record_read(r, &data, &len, st), BRAID_OK);
        assert_int_equal(len, 2);
        assert_memory_equal(data, "ab", 2);
        assert_int_equal(bd_record_read(r, &data, &len, st), BRAID_OK);
        assert_int_equal(bd_record_read(r, &data, &len, st), BRAID_OUT_OF_RANGE);
        bd_record_reader_close(r);
        BD_STATUS(wrong);
        op_row_note_ran(braid_graph_find(g, "write"));
        run_target(s, g, "wrong", wrong);
        op_row_note_failed(g, wrong->message, NULL);
        assert_int_equal(wrong->code, BRAID_INVALID_ARGUMENT);
        assert_non_null(strstr(wrong->message, "currently only supports DT_STRING"));
        bd_free(path);
        bd_free(nodes);
        braid_session_close(s, NULL);
        braid_graph_free(g);
    }
    bd_temp_dir_free(dir);
}

static void elements_other_than_strings_are_not_written(void **state)
{
    (void)state;
    static const char *const ops[] = {"DatasetToTFRecord", "ExperimentalDatasetToTFRecord"};
    for (int i = 0; i < 2; i++) {
        char *nodes =
            bd_asprintf("%s" NODE("d", "%s", INPUT("range") INPUT("path") INPUT("none"))
                            NODE("make", "NoOp", INPUT("^d")),
                        RANGE(1) NODE("path", "Const", CONST_ATTRS("DT_STRING", "string_val: '/nowhere/f'"))
                            NODE("none", "Const", CONST_ATTRS("DT_STRING", "string_val: ''")),
                        ops[i]);
        const row r = {ops[i], nodes, .scalars = "path filename; none compression_type"};
        run_without_scalars(&r);
        bd_free(nodes);
    }
}

// A filter tells how many elements it has let through, and how many not: of 0 1 2 3 4 three and two.
static void filters_report_statistics(void **state)
{
    (void)state;
    braid_graph *g = read_graph(
        "statistics",
        RANGE(5) NODE("tag", "Const", CONST_ATTRS("DT_STRING", "string_val: 't'"))
            NODE("a", "StatsAggregatorHandle", "")
                NODE("f", "FilterDataset", INPUT("range") FUNC("predicate", "even") NO_ARGS COMPONENTS)
                    NODE("d", "SetStatsAggregatorDataset",
                         INPUT("f") INPUT("a") INPUT("tag") INPUT("tag") COMPONENTS) ITERATOR("d")
                        NODE("summary", "StatsAggregatorSummary", INPUT("a")));
    braid_session *s = open_session(g);
    BD_STATUS(st);
    run_target(s, g, "make", st);
    assert_int_equal(st->code, BRAID_OK);
    static const row r = {"FilterDataset's statistics", NULL, "0 2 4 end"};
    check_elements(&r, s, g, "next");
    braid_tensor *t = next(s, g, "summary", st);
    assert_int_equal(st->code, BRAID_OK);
    const bd_string *bytes = bd_tensor_str(t);
    bd_proto_arena arena = {0};
    const Tensorflow__Summary *all =
        bd_proto_unpack(&tensorflow__summary__descriptor, bytes->data, bytes->len, &arena, st);
    assert_int_equal(all->n_value, 2);
    assert_string_equal(all->value[0]->tag, "t::f::filtered_elements");
    assert_true(all->value[0]->simple_value == 3);
    assert_string_equal(all->value[1]->tag, "t::f::dropped_elements");
    assert_true(all->value[1]->simple_value == 2);
    bd_proto_arena_fini(&arena);
    braid_tensor_free(t);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

// The options of all below, one message after the other.
static void get_options_returns_the_options(void **state)
{
    (void)state;
    static const row r = {
        "GetOptions",
        RANGE(1) NODE("a", "OptionsDataset", INPUT("range") ATTR("serialized_options", "s: 'ab'") COMPONENTS)
            NODE("t", "TakeDataset", INPUT("a") INPUT("one") COMPONENTS)
                NODE("b", "OptionsDataset", INPUT("t") ATTR("serialized_options", "s: 'c'") COMPONENTS)
                    NODE("next", "GetOptions", INPUT("b")),
        "\"abc\""};
    braid_graph *g = read_graph(r.name, r.nodes);
    braid_session *s = open_session(g);
    check_elements(&r, s, g, "next");
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_of_the_ops_behaves_alike),
        cmocka_unit_test(datasets_are_written_as_tfrecords),
        cmocka_unit_test(elements_other_than_strings_are_not_written),
        cmocka_unit_test(filters_report_statistics),
        cmocka_unit_test(get_options_returns_the_options),
    };
    return BD_RUN_TESTS(tests);
}
