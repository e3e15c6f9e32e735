// Data sets that call functions, in the in-process session: small libraries, elements worked out by hand.
// labels: concurrent
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "tensor/tensor.h"
#include <braid/braid.h>
#include <stdio.h>

// ---- Graphs as text ----

#define FUNCTION(NAME, SIGNATURE, NODES)                                                                     \
    "function { signature { name: '" NAME "' " SIGNATURE " } " NODES " } "
#define IN(NAME, TYPE_) "input_arg { name: '" NAME "' type: " TYPE_ " } "
#define OUT(NAME, TYPE_) "output_arg { name: '" NAME "' type: " TYPE_ " } "
#define RET(NAME, VALUE) "ret { key: '" NAME "' value: '" VALUE "' } "
#define ATTR(NAME, VALUE) "attr { key: '" NAME "' value { " VALUE " } } "
#define TYPE(NAME, VALUE) ATTR(NAME, "type: " VALUE)
#define FUNC(NAME, F) ATTR(NAME, "func { name: '" F "' } ")
#define INPUT(NAME) "input: '" NAME "' "
#define BODY(NAME, OP, REST) "node_def { name: '" NAME "' op: '" OP "' " REST " } "
#define NODE(NAME, OP, REST) "node { name: '" NAME "' op: '" OP "' " REST " } "
#define CONST_ATTRS(TYPE_, VALUE)                                                                            \
    TYPE("dtype", TYPE_) ATTR("value", "tensor { dtype: " TYPE_ " tensor_shape { } " VALUE " } ")
#define INT(VALUE) CONST_ATTRS("DT_INT64", "int64_val: " VALUE)
#define INT32(VALUE) CONST_ATTRS("DT_INT32", "int_val: " VALUE)
#define BOOL(VALUE) CONST_ATTRS("DT_BOOL", "bool_val: " VALUE)
#define T_INT TYPE("T", "DT_INT64")
#define I "DT_INT64"
#define V "DT_VARIANT"
#define LIST(NAME, ITEMS) ATTR(NAME, "list { " ITEMS " } ")
#define COMPONENTS                                                                                           \
    LIST("output_types", "type: DT_INT64") LIST("output_shapes", "shape { unknown_rank: true }")
#define NO_ARGS LIST("Targuments", "")
#define MAP_ATTRS(F) FUNC("f", F) NO_ARGS COMPONENTS

#define RANGE(N)                                                                                             \
    NODE("zero", "Const", INT("0"))                                                                          \
    NODE("n", "Const", INT(#N))                                                                              \
    NODE("one", "Const", INT("1"))                                                                           \
    NODE("range", "RangeDataset", INPUT("zero") INPUT("n") INPUT("one") COMPONENTS)
#define BATCH(FROM, SIZE)                                                                                    \
    NODE("size", "Const", INT(#SIZE)) NODE("d", "BatchDataset", INPUT(FROM) INPUT("size") COMPONENTS)
#define ITERATOR(DATASET)                                                                                    \
    NODE("it", "IteratorV2", ATTR("shared_name", "s: ''") ATTR("container", "s: ''") COMPONENTS)             \
    NODE("make", "MakeIterator", INPUT(DATASET) INPUT("it"))                                                 \
    NODE("next", "IteratorGetNext", INPUT("it") COMPONENTS)

#define LIBRARY                                                                                              \
    /* x * x */                                                                                              \
    FUNCTION("square", IN("x", I) OUT("y", I),                                                               \
             BODY("m", "Mul", INPUT("x") INPUT("x") T_INT) RET("y", "m:z:0"))                                \
    /* x + c */                                                                                              \
    FUNCTION("plus", IN("x", I) IN("c", I) OUT("y", I),                                                      \
             BODY("a", "Add", INPUT("x") INPUT("c") T_INT) RET("y", "a:z:0"))                                \
    /* 12 / (x - 2), which fails for 2 */                                                                    \
    FUNCTION("divide", IN("x", I) OUT("y", I),                                                               \
             BODY("two", "Const", INT("2")) BODY("twelve", "Const", INT("12"))                               \
                 BODY("s", "Sub", INPUT("x") INPUT("two:output:0") T_INT)                                    \
                     BODY("d", "Div", INPUT("twelve:output:0") INPUT("s:z:0") T_INT) RET("y", "d:z:0"))      \
    /* x % 2 == 0 */                                                                                         \
    FUNCTION("even", IN("x", I) OUT("y", "DT_BOOL"),                                                         \
             BODY("two", "Const", INT("2")) BODY("zero", "Const", INT("0"))                                  \
                 BODY("m", "FloorMod", INPUT("x") INPUT("two:output:0") T_INT)                               \
                     BODY("e", "Equal", INPUT("m:z:0") INPUT("zero:output:0") T_INT) RET("y", "e:z:0"))      \
    FUNCTION("below3", IN("x", I) OUT("y", "DT_BOOL"),                                                       \
             BODY("three", "Const", INT("3")) BODY("l", "Less", INPUT("x") INPUT("three:output:0") T_INT)    \
                 RET("y", "l:z:0"))                                                                          \
    FUNCTION("never", IN("x", I) OUT("y", "DT_BOOL"),                                                        \
             BODY("f", "Const", BOOL("false")) RET("y", "f:output:0"))                                       \
    /* range(10 * x, 10 * x + x) */                                                                          \
    FUNCTION("tens", IN("x", I) OUT("y", V),                                                                 \
             BODY("ten", "Const", INT("10")) BODY("one", "Const", INT("1"))                                  \
                 BODY("m", "Mul", INPUT("x") INPUT("ten:output:0") T_INT)                                    \
                     BODY("a", "Add", INPUT("m:z:0") INPUT("x") T_INT)                                       \
                         BODY("r", "RangeDataset",                                                           \
                              INPUT("m:z:0") INPUT("a:z:0") INPUT("one:output:0") COMPONENTS)                \
                             RET("y", "r:handle:0"))                                                         \
    /* x % 3 */                                                                                              \
    FUNCTION("mod3", IN("x", I) OUT("y", I),                                                                 \
             BODY("three", "Const", INT("3"))                                                                \
                 BODY("m", "FloorMod", INPUT("x") INPUT("three:output:0") T_INT) RET("y", "m:z:0"))          \
    FUNCTION("two", IN("k", I) OUT("y", I), BODY("c", "Const", INT("2")) RET("y", "c:output:0"))             \
    FUNCTION("batch9", IN("k", I) IN("w", V) OUT("y", V),                                                    \
             BODY("c", "Const", INT("9"))                                                                    \
                 BODY("b", "BatchDataset", INPUT("w") INPUT("c:output:0") COMPONENTS)                        \
                     RET("y", "b:handle:0"))                                                                 \
    /* the running sum, twice */                                                                             \
    FUNCTION("sum", IN("s", I) IN("x", I) OUT("t", I) OUT("y", I),                                           \
             BODY("a", "Add", INPUT("s") INPUT("x") T_INT) RET("t", "a:z:0") RET("y", "a:z:0"))              \
    FUNCTION("add", IN("s", I) IN("x", I) OUT("t", I),                                                       \
             BODY("a", "Add", INPUT("s") INPUT("x") T_INT) RET("t", "a:z:0"))                                \
    FUNCTION("same", IN("s", I) OUT("t", I), RET("t", "s"))                                                  \
    FUNCTION("five", OUT("t", I), BODY("c", "Const", INT("5")) RET("t", "c:output:0"))                       \
    /* what another iterator gives, and the state */                                                         \
    FUNCTION("more", IN("s", I) IN("it", "DT_RESOURCE") OUT("y", I) "is_stateful: true ",                    \
             BODY("n", "IteratorGetNext", INPUT("it") COMPONENTS)                                            \
                 BODY("a", "Add", INPUT("s") INPUT("n:components:0") T_INT) RET("y", "a:z:0"))               \
    FUNCTION("factory", OUT("d", V) "is_stateful: true ",                                                    \
             BODY("z", "Const", INT("0")) BODY("n", "Const", INT("3")) BODY("o", "Const", INT("1"))          \
                 BODY("r", "RangeDataset",                                                                   \
                      INPUT("z:output:0") INPUT("n:output:0") INPUT("o:output:0") COMPONENTS)                \
                     BODY("m", "MapDataset", INPUT("r:handle:0") MAP_ATTRS("square"))                        \
                         RET("d", "m:handle:0"))

typedef struct row {
    const char *name, *nodes;
    const char *want; // elements, as tensors print without their type; "!words" an error; "end"
} row;

static const row rows[] = {
    {"MapDataset", RANGE(3) NODE("d", "MapDataset", INPUT("range") MAP_ATTRS("square")) ITERATOR("d"),
     "0 1 4 end"},
    {"with a captured value",
     RANGE(3) NODE("c", "Const", INT("5"))
         NODE("d", "MapDataset",
              INPUT("range") INPUT("c") FUNC("f", "plus") LIST("Targuments", "type: DT_INT64") COMPONENTS)
             ITERATOR("d"),
     "5 6 7 end"},
    {"an error goes on", RANGE(5) NODE("d", "MapDataset", INPUT("range") MAP_ATTRS("divide")) ITERATOR("d"),
     "-6 -12 !zero 12 6 end"},
    {"ParallelMapDataset",
     RANGE(6) NODE("p", "Const", INT32("3"))
         NODE("d", "ParallelMapDataset", INPUT("range") INPUT("p") MAP_ATTRS("square")) ITERATOR("d"),
     "0 1 4 9 16 25 end"},
    {"ParallelMapDataset, an error",
     RANGE(5) NODE("p", "Const", INT32("-1"))
         NODE("d", "ParallelMapDataset", INPUT("range") INPUT("p") MAP_ATTRS("divide")) ITERATOR("d"),
     "-6 -12 !zero 12 6 end"},
    {"MapAndBatchDataset",
     RANGE(5) NODE("b", "Const", INT("2")) NODE("p", "Const", INT("2")) NODE("r", "Const", BOOL("false"))
         NODE("d", "MapAndBatchDataset", INPUT("range") INPUT("b") INPUT("p") INPUT("r") MAP_ATTRS("square"))
             ITERATOR("d"),
     "[0 1] [4 9] [16] end"},
    {"ExperimentalMapAndBatchDataset, dropping",
     RANGE(5) NODE("b", "Const", INT("2")) NODE("p", "Const", INT("2")) NODE("r", "Const", BOOL("true"))
         NODE("d", "ExperimentalMapAndBatchDataset",
              INPUT("range") INPUT("b") INPUT("p") INPUT("r") MAP_ATTRS("square")) ITERATOR("d"),
     "[0 1] [4 9] end"},
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
     "10 20 21 30 31 40 32 41 42 43 end"},
    {"ParallelInterleaveDatasetV2",
     RANGE(4) NODE("c", "Const", INT("2")) NODE("b", "Const", INT("2")) NODE("p", "Const", INT("2"))
         NODE("d", "ParallelInterleaveDatasetV2",
              INPUT("range") INPUT("c") INPUT("b") INPUT("p") MAP_ATTRS("tens")) ITERATOR("d"),
     "10 20 21 30 31 32 end"},
    {"ParallelInterleaveDataset",
     RANGE(4) NODE("c", "Const", INT("9")) NODE("b", "Const", INT("1")) NODE("s", "Const", BOOL("false"))
         NODE("d", "ParallelInterleaveDataset",
              INPUT("range") INPUT("c") INPUT("b") INPUT("s") INPUT("b") INPUT("b") MAP_ATTRS("tens"))
             ITERATOR("d"),
     "10 20 30 21 31 32 end"},
    {"ScanDataset",
     RANGE(5) NODE("s", "Const", INT("100"))
         NODE("d", "ScanDataset", INPUT("range") INPUT("s") LIST("Tstate", "type: DT_INT64") MAP_ATTRS("sum"))
             ITERATOR("d"),
     "100 101 103 106 110 end"},
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
    {"ExperimentalParallelInterleaveDataset",
     RANGE(3) NODE("c", "Const", INT("2")) NODE("b", "Const", INT("1")) NODE("s", "Const", BOOL("true"))
         NODE("d", "ExperimentalParallelInterleaveDataset",
              INPUT("range") INPUT("c") INPUT("b") INPUT("s") INPUT("b") INPUT("b") MAP_ATTRS("tens"))
             ITERATOR("d"),
     "10 20 21 end"},
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

static braid_graph *read_graph(const char *name, const char *nodes)
{
    BD_STATUS(st);
    char *text = bd_asprintf("%s library { " LIBRARY " } versions { producer: 134 }", nodes);
    for (char *c = text; *c; c++)
        if (*c == '\'') *c = '"';
    braid_graph *g = braid_graph_new();
    braid_graph_import_text(g, text, strlen(text), st);
    if (st->code) fail_msg("%s: %s", name, braid_status_message(st));
    bd_free(text);
    return g;
}

static braid_session *open_session(braid_graph *g)
{
    BD_STATUS(st);
    braid_session_options options = {.cpu_devices = 2};
    braid_session *s = braid_session_open(g, &options, st);
    assert_int_equal(st->code, BRAID_OK);
    return s;
}

static void run_target(braid_session *s, braid_graph *g, const char *target, braid_status *st)
{
    braid_op *op = braid_graph_find(g, target);
    assert_non_null(op);
    braid_session_run(s, &(braid_run_args){.targets = &op, .target_count = 1}, st);
}

static braid_tensor *next(braid_session *s, braid_graph *g, const char *from, braid_status *st)
{
    braid_tensor *t = NULL;
    braid_fetch fetch = {braid_graph_find_out(g, from), &t};
    braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
    return t;
}

// "3", "[1 2]": as the row writes it.
static void print_element(const braid_tensor *t, char *out, size_t size)
{
    bd_strbuf text = {0};
    bd_tensor_print(t, 100, &text);
    const char *values = strrchr(bd_strbuf_str(&text), '[') + 1;
    size_t len = strcspn(values, "]");
    bool is_scalar = braid_tensor_shape(t).rank == 0;
    snprintf(out, size, is_scalar ? "%.*s" : "[%.*s]", (int)len, values);
    bd_strbuf_fini(&text);
}

// The next word of what is wanted, with brackets as one.
static const char *word_of(const char *want, char *out)
{
    want += strspn(want, " ");
    size_t len = *want == '[' ? strcspn(want, "]") + 1 : strcspn(want, " ");
    memcpy(out, want, len);
    out[len] = '\0';
    return want + len;
}

static void check_elements(const row *r, braid_session *s, braid_graph *g, const char *from)
{
    char want[1024], got[1024];
    for (const char *at = word_of(r->want, want); *want; at = word_of(at, want)) {
        BD_STATUS(st);
        braid_tensor *t = next(s, g, from, st);
        const char *words = strcmp(want, "end") == 0 ? "End of sequence" : *want == '!' ? want + 1 : NULL;
        if (words && (!st->code || !strstr(st->message, words)))
            fail_msg("%s: wanted '%s', got '%s'", r->name, want, st->code ? st->message : "an element");
        if (!words && st->code) fail_msg("%s: wanted %s, got '%s'", r->name, want, st->message);
        if (!words) print_element(t, got, sizeof got);
        if (!words && strcmp(want, "*") != 0 && strcmp(want, got) != 0)
            fail_msg("%s: wanted %s, got %s", r->name, want, got);
        braid_tensor_free(t);
    }
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        const row *r = &rows[i];
        braid_graph *g = read_graph(r->name, r->nodes);
        braid_session *s = open_session(g);
        for (int k = 0; k < 2; k++) {
            BD_STATUS(st);
            run_target(s, g, "make", st);
            if (*r->want == '?') {
                if (!st->code || !strstr(st->message, r->want + 1))
                    fail_msg("%s: '%s'", r->name, st->message);
                continue;
            }
            if (st->code) fail_msg("%s: %s", r->name, st->message);
            check_elements(r, s, g, "next");
        }
        braid_session_close(s, NULL);
        braid_graph_free(g);
    }
}

// ---- What needs no MakeIterator ----

static void test_one_shot(void **state)
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
}

static void test_reduce(void **state)
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
                              "!(initial_state=1,"};
    const row *both[] = {&ok, &wrong};
    for (size_t i = 0; i < 2; i++) {
        braid_graph *g = read_graph(both[i]->name, both[i]->nodes);
        braid_session *s = open_session(g);
        check_elements(both[i], s, g, "sum");
        braid_session_close(s, NULL);
        braid_graph_free(g);
    }
}

// ---- Waiting and cancelling ----

// A filter that lets nothing through goes on for ever: a step over it ends by its timeout, and the session's end ends the rest.
static void test_endless_filter(void **state)
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
static void test_dropped(void **state)
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
        cmocka_unit_test(test_rows),           cmocka_unit_test(test_one_shot), cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_endless_filter), cmocka_unit_test(test_dropped),
    };
    return BD_RUN_TESTS(tests);
}
