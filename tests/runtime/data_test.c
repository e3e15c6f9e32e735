// Data sets that call functions, in the in-process session: small libraries, elements worked out by hand.
// labels: concurrent
#include "base/thread.h"
#include "runtime/testing/data_graph.h"

static const row rows[] = {
    {"MapDataset", RANGE(3) NODE("d", "MapDataset", INPUT("range") MAP_ATTRS("square")) ITERATOR("d"),
     "0 1 4 end"},
    {"with a captured value",
     RANGE(3) NODE("c", "Const", INT("5"))
         NODE("d", "MapDataset",
              INPUT("range") INPUT("c") FUNC("f", "plus") LIST("Targuments", "type: DT_INT64") COMPONENTS)
             ITERATOR("d"),
     "5 6 7 end"},
    {"with a captured value without elements",
     RANGE(2) NODE("c", "Const", NO_INTS)
         NODE("d", "MapDataset",
              INPUT("range") INPUT("c") FUNC("f", "plus") LIST("Targuments", "type: DT_INT64") COMPONENTS)
             ITERATOR("d"),
     "[] [] end"},
    {"ExperimentalMapDataset",
     RANGE(3) NODE("d", "ExperimentalMapDataset", INPUT("range") MAP_ATTRS("square")) ITERATOR("d"),
     "0 1 4 end"},
    {"a function that gives another type",
     RANGE(1) NODE("d", "MapDataset", INPUT("range") MAP_ATTRS("even")) ITERATOR("d"), "!bool end"},
    {"a function that gives too much",
     RANGE(1) NODE("c", "Const", INT("0"))
         NODE("d", "ParallelMapDataset", INPUT("range") INPUT("c32") MAP_ATTRS("square"))
             NODE("c32", "Const", INT32("1"))
                 NODE("e", "MapDataset",
                      INPUT("d") INPUT("c") FUNC("f", "sum") LIST("Targuments", "type: DT_INT64") COMPONENTS)
                     ITERATOR("e"),
     "!components, end"},
    {"an error goes on", RANGE(5) NODE("d", "MapDataset", INPUT("range") MAP_ATTRS("divide")) ITERATOR("d"),
     "-6 -12 !zero 12 6 end"},
    {"ParallelMapDataset",
     RANGE(6) NODE("p", "Const", INT32("3"))
         NODE("d", "ParallelMapDataset", INPUT("range") INPUT("p") MAP_ATTRS("square")) ITERATOR("d"),
     "0 1 4 9 16 25 end", "p num_parallel_calls"},
    {"ParallelMapDataset, an error",
     RANGE(5) NODE("p", "Const", INT32("-1"))
         NODE("d", "ParallelMapDataset", INPUT("range") INPUT("p") MAP_ATTRS("divide")) ITERATOR("d"),
     "-6 -12 !zero 12 6 end"},
    {"MapAndBatchDataset",
     RANGE(5) NODE("b", "Const", INT("2")) NODE("p", "Const", INT("2")) NODE("r", "Const", BOOL("false"))
         NODE("d", "MapAndBatchDataset", INPUT("range") INPUT("b") INPUT("p") INPUT("r") MAP_ATTRS("square"))
             ITERATOR("d"),
     "[0 1] [4 9] [16] end", "b batch_size; p num_parallel_calls; r drop_remainder"},
    {"ExperimentalMapAndBatchDataset, dropping",
     RANGE(5) NODE("b", "Const", INT("2")) NODE("p", "Const", INT("2")) NODE("r", "Const", BOOL("true"))
         NODE("d", "ExperimentalMapAndBatchDataset",
              INPUT("range") INPUT("b") INPUT("p") INPUT("r") MAP_ATTRS("square")) ITERATOR("d"),
     "[0 1] [4 9] end", "b batch_size; p num_parallel_calls; r drop_remainder"},
    {"FilterDataset",
     RANGE(6) NODE("d", "FilterDataset", INPUT("range") FUNC("predicate", "even") NO_ARGS COMPONENTS)
         ITERATOR("d"),
     "0 2 4 end"},
    {"FilterDataset, not a truth",
     RANGE(1) NODE("d", "FilterDataset", INPUT("range") FUNC("predicate", "square") NO_ARGS COMPONENTS)
         ITERATOR("d"),
     "!scalar"},
    {"TakeWhileDataset",
     RANGE(9) NODE("d", "TakeWhileDataset", INPUT("range") FUNC("predicate", "below3") NO_ARGS COMPONENTS)
         ITERATOR("d"),
     "0 1 2 end"},
    {"ExperimentalTakeWhileDataset",
     RANGE(9) NODE("d", "ExperimentalTakeWhileDataset",
                   INPUT("range") FUNC("predicate", "even") NO_ARGS COMPONENTS) ITERATOR("d"),
     "0 end"},
    {"FlatMapDataset", RANGE(4) NODE("d", "FlatMapDataset", INPUT("range") MAP_ATTRS("tens")) ITERATOR("d"),
     "10 20 21 30 31 32 end"},
    {"FlatMapDataset, no data set",
     RANGE(1) NODE("d", "FlatMapDataset", INPUT("range") MAP_ATTRS("square")) ITERATOR("d"), "!DT_VARIANT"},
    // slots 0 and 1: 0 is empty, then 1, 2, 3, 4 replace what is over
    {"InterleaveDataset",
     RANGE(5) NODE("c", "Const", INT("2")) NODE("b", "Const", INT("1"))
         NODE("d", "InterleaveDataset", INPUT("range") INPUT("c") INPUT("b") MAP_ATTRS("tens")) ITERATOR("d"),
     "10 20 21 30 31 40 32 41 42 43 end", "c cycle_length; b block_length"},
    {"InterleaveDataset, no data set",
     RANGE(1) NODE("d", "InterleaveDataset", INPUT("range") INPUT("one") INPUT("one") MAP_ATTRS("square"))
         ITERATOR("d"),
     "!DT_VARIANT"},
    {"ParallelInterleaveDatasetV2, no data set",
     RANGE(1) NODE("d", "ParallelInterleaveDatasetV2",
                   INPUT("range") INPUT("one") INPUT("one") INPUT("one") MAP_ATTRS("even")) ITERATOR("d"),
     "!DT_VARIANT"},
    {"TakeWhileDataset, not a truth",
     RANGE(1) NODE("d", "TakeWhileDataset", INPUT("range") FUNC("predicate", "square") NO_ARGS COMPONENTS)
         ITERATOR("d"),
     "!scalar"},
    {"GroupByWindowDataset, a size that is no number",
     RANGE(1) NODE("d", "GroupByWindowDataset",
                   INPUT("range") FUNC("key_func", "mod3") FUNC("reduce_func", "batch9")
                       FUNC("window_size_func", "even") LIST("Tkey_func_other_arguments", "")
                           LIST("Treduce_func_other_arguments", "")
                               LIST("Twindow_size_func_other_arguments", "") COMPONENTS) ITERATOR("d"),
     "!`window_size_func`"},
    {"GroupByWindowDataset, a key that is no number",
     RANGE(1) NODE("d", "GroupByWindowDataset",
                   INPUT("range") FUNC("key_func", "even") FUNC("reduce_func", "batch9")
                       FUNC("window_size_func", "two") LIST("Tkey_func_other_arguments", "")
                           LIST("Treduce_func_other_arguments", "")
                               LIST("Twindow_size_func_other_arguments", "") COMPONENTS) ITERATOR("d"),
     "!`key_func`"},
    {"ParallelInterleaveDatasetV2",
     RANGE(4) NODE("c", "Const", INT("2")) NODE("b", "Const", INT("2")) NODE("p", "Const", INT("2"))
         NODE("d", "ParallelInterleaveDatasetV2",
              INPUT("range") INPUT("c") INPUT("b") INPUT("p") MAP_ATTRS("tens")) ITERATOR("d"),
     "10 20 21 30 31 32 end", "c cycle_length; b block_length; p num_parallel_calls"},
    {"ParallelInterleaveDataset",
     RANGE(4) NODE("c", "Const", INT("9")) NODE("b", "Const", INT("1")) NODE("s", "Const", BOOL("false"))
         NODE("d", "ParallelInterleaveDataset",
              INPUT("range") INPUT("c") INPUT("b") INPUT("s") INPUT("one") INPUT("one") MAP_ATTRS("tens"))
             ITERATOR("d"),
     "10 20 30 21 31 32 end", "c cycle_length; b block_length; s sloppy"},
    {"ScanDataset",
     RANGE(5) NODE("s", "Const", INT("100"))
         NODE("d", "ScanDataset", INPUT("range") INPUT("s") LIST("Tstate", "type: DT_INT64") MAP_ATTRS("sum"))
             ITERATOR("d"),
     "100 101 103 106 110 end"},
    {"ScanDataset, a state without elements",
     RANGE(2) NODE("s", "Const", NO_INTS)
         NODE("d", "ScanDataset", INPUT("range") INPUT("s") LIST("Tstate", "type: DT_INT64") MAP_ATTRS("sum"))
             ITERATOR("d"),
     "[] [] end"},
    // keys 0: 0 3 6, 1: 1 4, 2: 2 5; two at a time
    {"GroupByWindowDataset",
     RANGE(7) NODE("d", "GroupByWindowDataset",
                   INPUT("range") FUNC("key_func", "mod3") FUNC("reduce_func", "batch9")
                       FUNC("window_size_func", "two") LIST("Tkey_func_other_arguments", "")
                           LIST("Treduce_func_other_arguments", "")
                               LIST("Twindow_size_func_other_arguments", "") COMPONENTS) ITERATOR("d"),
     "[0 3] [1 4] [2 5] [6] end"},
    {"GroupByReducerDataset",
     RANGE(7)
         NODE("d", "GroupByReducerDataset",
              INPUT("range") FUNC("key_func", "mod3") FUNC("init_func", "same") FUNC("reduce_func", "add")
                  FUNC("finalize_func", "square") LIST("Tkey_func_other_arguments", "")
                      LIST("Tinit_func_other_arguments", "") LIST("Treduce_func_other_arguments", "")
                          LIST("Tfinalize_func_other_arguments", "") COMPONENTS) ITERATOR("d"),
     "81 36 81 end"}, // (0 + 0+3+6)^2, (1 + 1+4)^2, (2 + 2+5)^2
    {"GeneratorDataset",
     RANGE(2) NODE("it0", "IteratorV2", ATTR("shared_name", "s: ''") ATTR("container", "s: ''") COMPONENTS)
         NODE("make0", "MakeIterator", INPUT("range") INPUT("it0"))
             NODE("d", "GeneratorDataset",
                  INPUT("it0") INPUT("^make0") FUNC("init_func", "five") FUNC("next_func", "more")
                      FUNC("finalize_func", "same") LIST("Tinit_func_args", "")
                          LIST("Tnext_func_args", "type: DT_RESOURCE") LIST("Tfinalize_func_args", "")
                              COMPONENTS) ITERATOR("d"),
     "5 6 end end"},
    {"FilterByLastComponentDataset",
     RANGE(6) NODE("e", "ExperimentalMapDataset",
                   INPUT("range") FUNC("f", "even") NO_ARGS LIST("output_types", "type: DT_BOOL")
                       LIST("output_shapes", "shape { }"))
         NODE("z", "ZipDataset", INPUT("range") INPUT("e") ATTR("N", "i: 2") COMPONENTS)
             NODE("d", "FilterByLastComponentDataset", INPUT("z") COMPONENTS) ITERATOR("d"),
     "0 2 4 end"},
    {"ExperimentalScanDataset",
     RANGE(3) NODE("s", "Const", INT("1"))
         NODE("d", "ExperimentalScanDataset",
              INPUT("range") INPUT("s") LIST("Tstate", "type: DT_INT64") MAP_ATTRS("sum")) ITERATOR("d"),
     "1 2 4 end"},
    {"ExperimentalScanDataset, a state without elements",
     RANGE(2) NODE("s", "Const", NO_INTS)
         NODE("d", "ExperimentalScanDataset",
              INPUT("range") INPUT("s") LIST("Tstate", "type: DT_INT64") MAP_ATTRS("sum")) ITERATOR("d"),
     "[] [] end"},
    {"ScanDataset, no state given back",
     RANGE(1) NODE("s", "Const", INT("1"))
         NODE("d", "ScanDataset", INPUT("range") INPUT("s") LIST("Tstate", "type: DT_INT64") MAP_ATTRS("add"))
             ITERATOR("d"),
     "!components, end"},
    {"ExperimentalParallelInterleaveDataset",
     RANGE(3) NODE("c", "Const", INT("2")) NODE("b", "Const", INT("1")) NODE("s", "Const", BOOL("false"))
         NODE("d", "ExperimentalParallelInterleaveDataset",
              INPUT("range") INPUT("c") INPUT("b") INPUT("s") INPUT("one") INPUT("one") MAP_ATTRS("tens"))
             ITERATOR("d"),
     "10 20 21 end", "c cycle_length; b block_length; s sloppy"},
    {"ExperimentalGroupByWindowDataset, a window of no size",
     RANGE(2) NODE("d", "ExperimentalGroupByWindowDataset",
                   INPUT("range") FUNC("key_func", "mod3") FUNC("reduce_func", "batch9")
                       FUNC("window_size_func", "same") LIST("Tkey_func_other_arguments", "")
                           LIST("Treduce_func_other_arguments", "")
                               LIST("Twindow_size_func_other_arguments", "") COMPONENTS) ITERATOR("d"),
     "!greater [1] end"},
    {"ExperimentalGroupByReducerDataset, a key that is no number",
     RANGE(1)
         NODE("d", "ExperimentalGroupByReducerDataset",
              INPUT("range") FUNC("key_func", "even") FUNC("init_func", "same") FUNC("reduce_func", "add")
                  FUNC("finalize_func", "square") LIST("Tkey_func_other_arguments", "")
                      LIST("Tinit_func_other_arguments", "") LIST("Treduce_func_other_arguments", "")
                          LIST("Tfinalize_func_other_arguments", "") COMPONENTS) ITERATOR("d"),
     "!`key_func` end"},
    // 0 1 2 0 1 2 0 1 of 0 1 2 3, of squares 0 1 4 and of 10 20 21 without the ends
    {"DirectedInterleaveDataset",
     RANGE(4) NODE("eight", "Const", INT("8"))
         NODE("r8", "RangeDataset", INPUT("zero") INPUT("eight") INPUT("one") COMPONENTS)
             NODE("sel", "MapDataset", INPUT("r8") MAP_ATTRS("mod3"))
                 NODE("sq", "MapDataset", INPUT("range") MAP_ATTRS("square"))
                     NODE("t", "FlatMapDataset", INPUT("range") MAP_ATTRS("tens"))
                         NODE("d", "DirectedInterleaveDataset",
                              INPUT("sel") INPUT("range") INPUT("sq") INPUT("t") ATTR("N", "i: 3") COMPONENTS)
                             ITERATOR("d"),
     "0 0 10 1 1 20 2 4 end"},
    // 1 is over when it is asked for the second time
    {"DirectedInterleaveDataset that stops on an empty one",
     RANGE(4) NODE("c", "TakeDataset", INPUT("range") INPUT("one") COMPONENTS)
         NODE("sel", "MapDataset", INPUT("range") MAP_ATTRS("mod2"))
             NODE("d", "DirectedInterleaveDataset",
                  INPUT("sel") INPUT("range") INPUT("c") ATTR("N", "i: 2")
                      ATTR("stop_on_empty_dataset", "b: true") COMPONENTS) ITERATOR("d"),
     "0 0 1 end"},
    {"ExperimentalDirectedInterleaveDataset, out of range and over",
     RANGE(3) NODE("c", "TakeDataset", INPUT("range") INPUT("one") COMPONENTS)
         NODE("d", "ExperimentalDirectedInterleaveDataset",
              INPUT("range") INPUT("c") INPUT("c") ATTR("N", "i: 2") COMPONENTS) ITERATOR("d"),
     "0 0 !range end"},
    {"stages behind each other",
     RANGE(100) NODE("p", "Const", INT32("4"))
         NODE("m", "ParallelMapDataset", INPUT("range") INPUT("p") MAP_ATTRS("square"))
             NODE("f", "FilterDataset", INPUT("m") FUNC("predicate", "even") NO_ARGS COMPONENTS) NODE(
                 "pre", "PrefetchDataset", INPUT("f") INPUT("one") COMPONENTS) BATCH("pre", 25) ITERATOR("d"),
     "[0 4 16 36 64 100 144 196 256 324 400 484 576 676 784 900 1024 1156 1296 1444 1600 1764 1936 2116 2304] * end"},
    {"a function that is not there",
     RANGE(1) NODE("d", "MapDataset", INPUT("range") MAP_ATTRS("nowhere")) ITERATOR("d"), "?not defined"},
};

static void pipelines_give_their_elements(void **state)
{
    (void)state;
    run_rows(rows, BD_COUNTOF(rows));
}

// ---- What needs no MakeIterator ----

static void one_shot_iterators_give_their_elements(void **state)
{
    (void)state;
    static const row r = {"OneShotIterator",
                          NODE("it", "OneShotIterator", FUNC("dataset_factory", "factory") COMPONENTS)
                              NODE("next", "IteratorGetNext", INPUT("it") COMPONENTS),
                          "0 1 4 end end"};
    braid_graph *g = read_graph(r.name, r.nodes);
    braid_session *s = open_session(g);
    check_elements(&r, s, g, "next");
    braid_session_close(s, NULL);
    braid_graph_free(g);
    static const row missing = {"OneShotIterator without its function",
                                NODE("it", "OneShotIterator", FUNC("dataset_factory", "nowhere") COMPONENTS)
                                    NODE("make", "IteratorGetNext", INPUT("it") COMPONENTS)};
    expect_refused_row(&missing, missing.nodes, "nowhere is not defined", NULL);
}

static void reduce_dataset_folds_elements(void **state)
{
    (void)state;
    static const row ok = {"ReduceDataset",
                           RANGE(20000) NODE("s", "Const", INT("7")) NODE(
                               "sum", "ReduceDataset",
                               INPUT("range") INPUT("s") LIST("Tstate", "type: DT_INT64") MAP_ATTRS("add")),
                           "199990007"},
                     wrong = {"ReduceDataset of two results",
                              RANGE(3) NODE("s", "Const", INT("7"))
                                  NODE("sum", "ReduceDataset",
                                       INPUT("range") INPUT("s") LIST("Tstate", "type: DT_INT64")
                                           MAP_ATTRS("sum")),
                              "!(initial_state=1,"},
                     none = {"ReduceDataset, a state without elements",
                             RANGE(3) NODE("s", "Const", NO_INTS) NODE(
                                 "sum", "ReduceDataset",
                                 INPUT("range") INPUT("s") LIST("Tstate", "type: DT_INT64") MAP_ATTRS("add")),
                             "[]"};
    const row *all[] = {&ok, &wrong, &none};
    for (size_t i = 0; i < BD_COUNTOF(all); i++) {
        braid_graph *g = read_graph(all[i]->name, all[i]->nodes);
        braid_session *s = open_session(g);
        check_elements(all[i], s, g, "sum");
        braid_session_close(s, NULL);
        braid_graph_free(g);
    }
}

// 2000 datasets, of which "tens" gives i elements of dataset i % 4: as many of each, in any order.
static void parallel_stages_lose_no_element_in_any_order(void **state)
{
    (void)state;
#define ANY_ORDER                                                                                            \
    RANGE(4)                                                                                                 \
    NODE("times", "Const", INT("500"))                                                                       \
    NODE("rep", "RepeatDataset", INPUT("range") INPUT("times") COMPONENTS)                                   \
    NODE("c", "Const", INT("5"))                                                                             \
    NODE("b", "Const", INT("2"))                                                                             \
    NODE("d", "ParallelInterleaveDatasetV2",                                                                 \
         INPUT("rep") INPUT("c") INPUT("b") INPUT("c") MAP_ATTRS("tens") ATTR("sloppy", "b: true"))          \
    NODE("p", "Const", INT32("4"))                                                                           \
    NODE("pm", "ParallelMapDataset", INPUT("d") INPUT("p") MAP_ATTRS("square") ATTR("sloppy", "b: true"))    \
    NODE("names", "Const",                                                                                   \
         ATTR("dtype", "type: DT_STRING")                                                                    \
             ATTR("value",                                                                                   \
                  "tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: 'make_sloppy' }")) \
    NODE("o", "OptimizeDataset", INPUT("pm") INPUT("names") COMPONENTS) NODE("s", "Const", INT("0"))
    static const row any_order = {"ReduceDataset in any order",
                                  ANY_ORDER NODE("sum", "ReduceDataset",
                                                 INPUT("o") INPUT("s") LIST("Tstate", "type: DT_INT64")
                                                     MAP_ATTRS("add")),
                                  "1913000"}; // 500 * (10^2 + 20^2 + 21^2 + 30^2 + 31^2 + 32^2)
    braid_graph *g = read_graph(any_order.name, any_order.nodes);
    braid_session *s = open_session(g);
    for (int i = 0; i < 5; i++)
        check_elements(&any_order, s, g, "sum");
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

// ---- Waiting and cancelling ----

// A filter that drops all elements runs without end: a step over it ends by its timeout, and the session's
// end ends the rest.
static void an_endless_filter_can_be_cancelled(void **state)
{
    (void)state;
    static const char *const stages[] = {"f", "p", "pm"};
    for (size_t i = 0; i < BD_COUNTOF(stages); i++) {
        char *nodes = bd_asprintf(
            "%s" NODE("make", "MakeIterator", INPUT("%s") INPUT("it")),
            RANGE(5) NODE("all", "Const", INT("-1"))
                NODE("rep", "RepeatDataset", INPUT("range") INPUT("all") COMPONENTS)
                    NODE("f", "FilterDataset", INPUT("rep") FUNC("predicate", "never") NO_ARGS COMPONENTS)
                        NODE("p", "PrefetchDataset", INPUT("f") INPUT("one") COMPONENTS)
                            NODE("c", "Const", INT32("2"))
                                NODE("pm", "ParallelMapDataset", INPUT("f") INPUT("c") MAP_ATTRS("square"))
                                    NODE("it", "IteratorV2",
                                         ATTR("shared_name", "s: ''") ATTR("container", "s: ''") COMPONENTS)
                                        NODE("next", "IteratorGetNext", INPUT("it") COMPONENTS),
            stages[i]);
        braid_graph *g = read_graph(stages[i], nodes);
        braid_session *s = open_session(g);
        BD_STATUS(st);
        run_target(s, g, "make", st);
        assert_int_equal(st->code, BRAID_OK);
        for (int k = 0; k < 2; k++) {
            BD_STATUS(late);
            braid_tensor *t = NULL;
            braid_fetch fetch = {braid_graph_find_out(g, "next"), &t};
            braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1, .timeout_ms = 50},
                              late);
            assert_int_equal(late->code, BRAID_DEADLINE_EXCEEDED);
        }
        braid_session_close(s, NULL);
        braid_graph_free(g);
        bd_free(nodes);
    }
}

// Sessions dropped with stages in the middle of their work.
static void a_dropped_iterator_ends_its_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        braid_graph *g = read_graph(
            "dropped",
            RANGE(100000) NODE("c", "Const", INT32("3")) NODE("pm", "ParallelMapDataset",
                                                              INPUT("range") INPUT("c") MAP_ATTRS("square"))
                NODE("three", "Const", INT("3"))
                    NODE("fm", "InterleaveDataset", INPUT("pm") INPUT("three") INPUT("one") MAP_ATTRS("tens"))
                        NODE("p", "PrefetchDataset", INPUT("fm") INPUT("three") COMPONENTS) ITERATOR("p"));
        braid_session *s = open_session(g);
        BD_STATUS(st);
        run_target(s, g, "make", st);
        for (int k = 0; k < i % 4; k++) {
            braid_tensor *t = next(s, g, "next", st);
            assert_int_equal(st->code, BRAID_OK);
            braid_tensor_free(t);
        }
        braid_session_close(s, NULL);
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelines_give_their_elements),
        cmocka_unit_test(one_shot_iterators_give_their_elements),
        cmocka_unit_test(reduce_dataset_folds_elements),
        cmocka_unit_test(parallel_stages_lose_no_element_in_any_order),
        cmocka_unit_test(an_endless_filter_can_be_cancelled),
        cmocka_unit_test(a_dropped_iterator_ends_its_threads),
    };
    return BD_RUN_TESTS(tests);
}
