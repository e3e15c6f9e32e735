// Iterators whose state is saved and restored, by another iterator and through files: the following elements
// are the same.
// labels: concurrent
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "runtime/testing/data_graph.h"

#define SECOND                                                                                               \
    NODE("it2", "IteratorV2", ATTR("shared_name", "s: ''") ATTR("container", "s: ''") COMPONENTS)            \
    NODE("make2", "MakeIterator", INPUT("d") INPUT("it2"))                                                   \
    NODE("next2", "IteratorGetNext", INPUT("it2") COMPONENTS)                                                \
    NODE("save", "SerializeIterator", INPUT("it"))                                                           \
    NODE("restore", "DeserializeIterator", INPUT("it2") INPUT("save"))
#define ALL(...) __VA_ARGS__ ITERATOR("d") SECOND

typedef struct saved_case {
    const char *name, *nodes;
    int count; // elements and errors
} saved_case;

static const saved_case cases[] = {
    {"a range", ALL(RANGE(5) NODE("d", "TakeDataset", INPUT("range") INPUT("n") COMPONENTS)), 5},
    {"errors among them", ALL(RANGE(5) NODE("d", "MapDataset", INPUT("range") MAP_ATTRS("divide"))), 5},
    {"data sets of data sets",
     ALL(RANGE(4) NODE("f", "FlatMapDataset", INPUT("range") MAP_ATTRS("tens"))
             NODE("d", "PrefetchDataset", INPUT("f") INPUT("one") COMPONENTS)),
     6},
    {"random orders, another each time",
     ALL(RANGE(6) NODE("s", "ShuffleDataset",
                       INPUT("range") INPUT("n") INPUT("zero") INPUT("zero") COMPONENTS)
             NODE("two", "Const", INT("2")) NODE("d", "RepeatDataset", INPUT("s") INPUT("two") COMPONENTS)),
     12},
    {"random numbers",
     ALL(RANGE(6) NODE("r", "RandomDataset", INPUT("zero") INPUT("zero") COMPONENTS)
             NODE("d", "TakeDataset", INPUT("r") INPUT("n") COMPONENTS)),
     6},
    {"calls at the same time",
     ALL(RANGE(20) NODE("c", "Const", INT32("4"))
             NODE("d", "ParallelMapDataset", INPUT("range") INPUT("c") MAP_ATTRS("square"))),
     20},
};

// "7" or "!" for each element, and "end".
static char *take(braid_session *s, braid_graph *g, const char *from, int count)
{
    bd_strbuf all = {0};
    char one[64];
    for (int i = 0; i < count; i++) {
        BD_STATUS(st);
        braid_tensor *t = next(s, g, from, st);
        snprintf(one, sizeof one, "%s", st->code == BRAID_OUT_OF_RANGE ? "end" : "!");
        if (!st->code) print_element(t, one, sizeof one);
        bd_strbuf_appendf(&all, "%s ", one);
        braid_tensor_free(t);
    }
    char *text = bd_strdup(bd_strbuf_str(&all));
    bd_strbuf_fini(&all);
    return text;
}

static void run(braid_session *s, braid_graph *g, const char *target)
{
    BD_STATUS(st);
    run_target(s, g, target, st);
    if (st->code) fail_msg("%s: %s", target, st->message);
    op_row_note_ran(braid_graph_find(g, target));
}

static void a_saved_iterator_continues_at_its_element(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        const saved_case *c = &cases[i];
        braid_graph *g = read_graph(c->name, c->nodes);
        for (int at = 0; at <= c->count + 1; at += 1 + c->count / 7) {
            // A place saved when the end has been given is the end.
            braid_session *s = open_session(g);
            run(s, g, "make");
            bd_free(take(s, g, "next", at));
            run(s, g, "make2");
            bd_free(take(s, g, "next2", 2)); // to be forgotten
            run(s, g, "restore");
            char *rest = take(s, g, "next", c->count + 2 - at), *got = take(s, g, "next2", c->count + 2 - at);
            if (strcmp(rest, got) != 0) fail_msg("%s at %d: '%s', restored '%s'", c->name, at, rest, got);
            bd_free(rest);
            bd_free(got);
            braid_session_close(s, NULL);
        }
        braid_graph_free(g);
    }
}

// A place of a restored iterator, before it has passed over anything, and after.
static void a_restored_iterator_is_saved_again(void **state)
{
    (void)state;
    braid_graph *g =
        read_graph("again", ALL(RANGE(9) NODE("d", "TakeDataset", INPUT("range") INPUT("n") COMPONENTS)
                                    NODE("save2", "SerializeIterator", INPUT("it2"))
                                        NODE("back", "DeserializeIterator", INPUT("it") INPUT("save2"))));
    braid_session *s = open_session(g);
    run(s, g, "make");
    run(s, g, "make2");
    bd_free(take(s, g, "next", 3));
    run(s, g, "restore");
    run(s, g, "back");
    char *a = take(s, g, "next2", 2);
    assert_string_equal(a, "3 4 ");
    run(s, g, "back");
    char *b = take(s, g, "next", 2);
    assert_string_equal(b, "5 6 ");
    run(s, g, "make");
    char *c = take(s, g, "next", 1);
    assert_string_equal(c, "0 ");
    bd_free(a);
    bd_free(b);
    bd_free(c);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void saved_iterators_survive_in_checkpoints(void **state)
{
    (void)state;
    char *dir = bd_temp_dir_new();
    char *nodes = bd_asprintf(
        "%s" NODE("prefix", "Const", CONST_ATTRS("DT_STRING", "string_val: '%s/ckpt'")),
        ALL(RANGE(5) NODE("d", "TakeDataset", INPUT("range") INPUT("n") COMPONENTS) NODE(
            "names", "Const",
            TYPE("dtype", "DT_STRING") ATTR(
                "value", "tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: 'it' } "))
                NODE("slices", "Const",
                     TYPE("dtype", "DT_STRING")
                         ATTR("value",
                              "tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: '' } "))
                    NODE("write", "SaveV2",
                         INPUT("prefix") INPUT("names") INPUT("slices") INPUT("save")
                             LIST("dtypes", "type: DT_VARIANT"))
                        NODE("read", "RestoreV2",
                             INPUT("prefix") INPUT("names") INPUT("slices")
                                 LIST("dtypes", "type: DT_VARIANT")) NODE("load", "DeserializeIterator",
                                                                          INPUT("it2") INPUT("read"))
                            NODE("text", "SerializeTensor", INPUT("save") TYPE("T", "DT_VARIANT"))
                                NODE("parsed", "ParseTensor", INPUT("text") TYPE("out_type", "DT_VARIANT"))
                                    NODE("parse", "DeserializeIterator", INPUT("it2") INPUT("parsed"))
                                        NODE("wrong", "DeserializeIterator", INPUT("it2") INPUT("d"))),
        dir);
    braid_graph *g = read_graph("files", nodes);
    braid_session *s = open_session(g);
    run(s, g, "make");
    run(s, g, "make2");
    bd_free(take(s, g, "next", 2));
    run(s, g, "write");
    run(s, g, "load");
    char *a = take(s, g, "next2", 4);
    assert_string_equal(a, "2 3 4 end ");
    run(s, g, "parse");
    char *b = take(s, g, "next2", 4);
    assert_string_equal(b, "2 3 4 end ");
    BD_STATUS(st);
    run_target(s, g, "wrong", st);
    assert_int_equal(st->code, BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(st->message, "is no state of an iterator"));
    bd_free(a);
    bd_free(b);
    bd_free(nodes);
    braid_session_close(s, NULL);
    braid_graph_free(g);
    bd_temp_dir_free(dir);
}

static void expect_refused(const char *nodes, bool makes, const char *target, const char *words)
{
    BD_STATUS(st);
    braid_graph *g = read_graph(words, nodes);
    braid_session *s = open_session(g);
    if (makes) run(s, g, "make");
    run_target(s, g, target, st);
    if (st->code != BRAID_FAILED_PRECONDITION || !strstr(st->message, words))
        fail_msg("%s: '%s'", words, st->message);
    op_row_note_failed(g, st->message, NULL);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void invalid_states_are_refused(void **state)
{
    (void)state;
    static const char *const plain =
        ALL(RANGE(5) NODE("d", "TakeDataset", INPUT("range") INPUT("n") COMPONENTS));
    expect_refused(plain, false, "save", "Save() failed because the iterator has not been initialized.");
    expect_refused(plain, true, "restore", "Restore() failed because the iterator has not been initialized.");
    expect_refused(ALL(RANGE(5) NODE("d", "MapDataset", INPUT("range") MAP_ATTRS("random"))), true, "save",
                   "RandomUniformInt is stateful.");
    // within the function of a function
    expect_refused(ALL(RANGE(5) NODE("d", "FlatMapDataset", INPUT("range") MAP_ATTRS("randoms"))), true,
                   "save", "RandomUniformInt is stateful.");
    expect_refused(ALL(RANGE(5) NODE("g", "AnonymousRandomSeedGenerator", INPUT("one") INPUT("one"))
                           NODE("d", "ShuffleDatasetV2", INPUT("range") INPUT("n") INPUT("g") COMPONENTS)),
                   true, "save", "ShuffleDatasetV2 is stateful.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_saved_iterator_continues_at_its_element),
        cmocka_unit_test(a_restored_iterator_is_saved_again),
        cmocka_unit_test(saved_iterators_survive_in_checkpoints),
        cmocka_unit_test(invalid_states_are_refused),
    };
    return BD_RUN_TESTS(tests);
}
