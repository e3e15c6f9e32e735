// Ops that call functions, on tensors of any shape, in the in-process session: values worked out by hand.
// labels: concurrent
#include "ops/testing/op_test.h"
#include "runtime/testing/data_graph.h"

enum {
    FEEDS_MAX = 4
};

// Feeds are called a, b, c, d; they are placeholders that know their shapes, or do not.
typedef struct value_case {
    const char *op, *attrs; // of node "y", which takes the feeds in order
    const char *feeds;      // as op_test.h writes tensors
    const char *want;       // the first output, or the error: "InvalidArgument: words"
} value_case;

#define T1 "type: DT_INT64"
#define F1 "type: DT_FLOAT"
#define CALL(IN_, OUT_, F) LIST("Tin", IN_) LIST("Tout", OUT_) FUNC("f", F)
#define BRANCHES(COND)                                                                                       \
    TYPE("Tcond", COND)                                                                                      \
    LIST("Tin", T1) LIST("Tout", T1) FUNC("then_branch", "square") FUNC("else_branch", "same")
#define BRANCH_LIST                                                                                          \
    LIST("Tin", T1) LIST("Tout", T1) LIST("branches", "func { name: 'square' } func { name: 'same' }")
#define LOOP(COND, BODY_) LIST("T", T1) FUNC("cond", COND) FUNC("body", BODY_)
#define TURNS LIST("T", T1) FUNC("body", "add_turn")
#define GRADIENT                                                                                             \
    LIST("Tin", F1 " " F1)                                                                                   \
    LIST("Tout", F1) ATTR("f", "func { name: 'Square' attr { key: 'T' value { type: DT_FLOAT } } } ")
#define SLICES(SHAPE, F)                                                                                     \
    LIST("Targuments", T1) LIST("output_types", T1) LIST("output_shapes", SHAPE) FUNC("f", F)
#define BATCHES(F)                                                                                           \
    LIST("Tin", T1)                                                                                          \
    LIST("Tcaptured", "")                                                                                    \
    LIST("Tout", T1)                                                                                         \
    FUNC("f", F)                                                                                             \
    ATTR("num_batch_threads", "i: 1") ATTR("max_batch_size", "i: 3") ATTR("batch_timeout_micros", "i: 0")

#define BOTH(A, B, ...)                                                                                      \
    {A, __VA_ARGS__},                                                                                        \
    {                                                                                                        \
        B, __VA_ARGS__                                                                                       \
    }
#define CALLS(...) BOTH("PartitionedCall", "StatefulPartitionedCall", __VA_ARGS__)
#define IFS(...) BOTH("If", "StatelessIf", __VA_ARGS__)
#define CASES(...) BOTH("Case", "StatelessCase", __VA_ARGS__)
#define WHILES(...) BOTH("While", "StatelessWhile", __VA_ARGS__)

static const value_case cases[] = {
    CALLS(CALL(T1, T1, "square"), "int64[] 3", "int64[] 9"),
    CALLS(CALL(T1, T1, "square"), "int64[2] 3 -4", "int64[2] 9 16"),
    CALLS(CALL(T1, T1, "square"), "int64[0,2]", "int64[0,2]"),
    CALLS(CALL(T1, T1, "nowhere"), "int64[] 3", "NotFound: nowhere is not defined"),
    {"RemoteCall", CALL(T1, T1, "square"), "string[] /device:CPU:1; int64[2] 3 -4", "int64[2] 9 16"},
    {"RemoteCall", CALL(T1, T1, "square"), "string[] /device:CPU:0; int64[0]", "int64[0]"},
    {"RemoteCall", CALL(T1, T1, "square"), "string[0]; int64[] 3",
     "InvalidArgument: target must be a scalar"},
    {"RemoteCall", CALL(T1, T1, "square"), "string[2] /device:CPU:1 /device:CPU:0; int64[] 3",
     "InvalidArgument: target must be a scalar"},
    {"RemoteCall", CALL(T1, T1, "nowhere"), "string[] /device:CPU:1; int64[] 3",
     "NotFound: nowhere is not defined"},
    // a condition that is no scalar is true where it has elements
    IFS(BRANCHES("DT_BOOL"), "bool[] true; int64[2] 3 4", "int64[2] 9 16"),
    IFS(BRANCHES("DT_BOOL"), "bool[] false; int64[] 3", "int64[] 3"),
    IFS(BRANCHES("DT_BOOL"), "bool[0]; int64[] 3", "int64[] 3"),
    IFS(BRANCHES("DT_BOOL"), "bool[2] false false; int64[] 3", "int64[] 9"),
    IFS(BRANCHES("DT_STRING"), "string[0,1]; int64[0]", "int64[0]"),
    IFS(BRANCHES("DT_DOUBLE"), "double[] 0.5; int64[0]", "int64[0]"),
    IFS(BRANCHES("DT_HALF"), "half[] 0x3c00; int64[] 1",
        "InvalidArgument: half cannot be converted to a bool"),
    CASES(BRANCH_LIST, "int32[] 0; int64[2] 3 4", "int64[2] 9 16"),
    CASES(BRANCH_LIST, "int32[] -1; int64[] 3", "int64[] 3"),
    CASES(BRANCH_LIST, "int32[] 0; int64[0]", "int64[0]"),
    CASES(BRANCH_LIST, "int32[0]; int64[] 3", "InvalidArgument: branch_index must be scalar"),
    CASES(BRANCH_LIST, "int32[1] 0; int64[] 3", "InvalidArgument: branch_index must be scalar"),
    // a condition of several values, or of an empty tensor
    WHILES(LOOP("below3", "two"), "int64[] 3", "int64[] 3"),
    WHILES(LOOP("below3", "five"), "int64[0]", "int64[0]"),
    WHILES(LOOP("below3", "nowhere"), "int64[] 0", "NotFound: nowhere is not defined"),
    WHILES(LOOP("below3", "square"), "int64[] 2", "int64[] 4"),
    {"For", TURNS, "int32[] 1; int32[] 4; int32[] 1; int64[2] 10 20", "int64[2] 16 26"},
    {"For", TURNS, "int32[] 1; int32[] 4; int32[] 2; int64[0]", "int64[0]"},
    {"For", TURNS, "int32[] 4; int32[] 1; int32[] -2; int64[] 0", "int64[] 6"},
    {"For", TURNS, "int32[] 1; int32[] 4; int32[] 0; int64[] 0",
     "InvalidArgument: Invalid start/limit/delta: 1 4 0"},
    {"For", TURNS, "int32[] 4; int32[] 1; int32[] 1; int64[] 0",
     "InvalidArgument: Invalid start/limit/delta: 4 1 1"},
    {"For", TURNS, "int32[0]; int32[] 1; int32[] 1; int64[] 0", "InvalidArgument: start must be a scalar"},
    {"For", TURNS, "int32[] 1; int32[2] 1 2; int32[] 1; int64[] 0",
     "InvalidArgument: limit must be a scalar"},
    {"For", TURNS, "int32[] 1; int32[] 1; int32[1] 1; int64[] 0", "InvalidArgument: delta must be a scalar"},
    // 2 x dy
    {"SymbolicGradient", GRADIENT, "float[] 3; float[] 0.5", "float[] 3"},
    {"SymbolicGradient", GRADIENT, "float[2] 3 4; float[2] 1 10", "float[2] 6 80"},
    {"SymbolicGradient", GRADIENT, "float[0,3]; float[0,3]", "float[0,3]"},
    {"SymbolicGradient", GRADIENT, "float[2] 3 4; float[3] 1 10 1", "InvalidArgument: Incompatible shapes"},
    {"MapDefun", SLICES("shape { }", "square"), "int64[3] 1 2 3", "int64[3] 1 4 9"},
    {"MapDefun", SLICES("shape { dim { size: 2 } }", "square"), "int64[2,2] 1 2 3 4", "int64[2,2] 1 4 9 16"},
    {"MapDefun", SLICES("shape { dim { size: 2 } }", "square"), "int64[0,2]", "int64[0,2]"},
    {"MapDefun", SLICES("shape { dim { size: 0 } }", "square"), "int64[2,0]", "int64[2,0]"},
    {"MapDefun", SLICES("shape { dim { size: 5 } }", "square"), "int64[2,2] 1 2 3 4",
     "InvalidArgument: output 0 of call 0 is int64 of shape [2]"},
    {"MapDefun", SLICES("shape { }", "even"), "int64[2] 1 2", "InvalidArgument: output 0 of call 0 is bool"},
    {"MapDefun", SLICES("shape { }", "square"), "int64[] 1",
     "InvalidArgument: must have rank at least 1. Input 0 has"},
    {"MapDefun", SLICES("shape { }", "nowhere"), "int64[1] 1", "NotFound: nowhere is not defined"},
    {"BatchFunction", BATCHES("square"), "int64[2] 3 4", "int64[2] 9 16"},
    {"BatchFunction", BATCHES("square"), "int64[2,0]", "int64[2,0]"},
    {"BatchFunction", BATCHES("square"), "int64[4] 1 2 3 4",
     "InvalidArgument: Task size 4 is larger than maximum batch size 3"},
    {"BatchFunction", BATCHES("square"), "int64[] 3",
     "InvalidArgument: Batching input tensors must have at least one dimension"},
    {"BatchFunction", BATCHES("nowhere"), "int64[1] 3", "NotFound: nowhere is not defined"},
    {"FakeParam", TYPE("dtype", "DT_INT64") ATTR("shape", "shape { dim { size: -1 } dim { size: 2 } } "), "",
     "int64[0,2]"},
    {"FakeParam", TYPE("dtype", "DT_INT64") ATTR("shape", "shape { dim { size: 0 } } "), "", "int64[0]"},
    {"FakeParam", TYPE("dtype", "DT_INT64") ATTR("shape", "shape { } "), "", "int64[] 0"},
    {"DeviceIndex", LIST("device_names", "s: 'GPU' s: 'CPU'"), "", "int32[] 1"},
    {"DeviceIndex", LIST("device_names", "s: 'GPU'"), "", "int32[] 1"},
};

// ---- One case ----

typedef struct feeds {
    int count;
    braid_tensor tensors[FEEDS_MAX];
} feeds;

static void read_feeds(const char *text, feeds *f)
{
    const char *rest = text, *piece;
    size_t len;
    f->count = 0;
    while (*text && bd_split_next(&rest, ';', &piece, &len)) {
        char *one = bd_asprintf("%.*s", (int)len, piece);
        op_test_tensor(&f->tensors[f->count++], one + strspn(one, " "));
        bd_free(one);
    }
}

static char *graph_text(const value_case *c, const feeds *f, bool with_shapes)
{
    bd_strbuf text = {0};
    for (int i = 0; i < f->count; i++) {
        const braid_tensor *t = &f->tensors[i];
        bd_strbuf_appendf(&text,
                          "node { name: '%c' op: 'Placeholder' attr { key: 'dtype' value { type: %d } } ",
                          'a' + i, (int)t->dtype);
        bd_strbuf_append(&text, with_shapes ? "attr { key: 'shape' value { shape { " : "");
        for (int d = 0; d < t->shape.rank && with_shapes; d++)
            bd_strbuf_appendf(&text, "dim { size: %lld } ", (long long)t->shape.dims[d]);
        bd_strbuf_append(&text, with_shapes ? "} } } } " : "} ");
    }
    bd_strbuf_appendf(&text, "node { name: 'y' op: '%s' ", c->op);
    for (int i = 0; i < f->count; i++)
        bd_strbuf_appendf(&text, "input: '%c' ", 'a' + i);
    bd_strbuf_appendf(&text, "%s } ", c->attrs);
    return bd_strbuf_take(&text);
}

static void expect_error(const value_case *c, const braid_status *st)
{
    const char *colon = strchr(c->want, ':');
    const size_t len = colon ? (size_t)(colon - c->want) : 0;
    if (!colon || strncmp(braid_code_name(st->code), c->want, len) != 0 || !strstr(st->message, colon + 2))
        fail_msg("%s(%s): %s: %s", c->op, c->feeds, braid_code_name(st->code), st->message);
}

static void check(const value_case *c, const feeds *f, bool with_shapes, unsigned disabled_rewrites)
{
    BD_STATUS(st);
    char *text = graph_text(c, f, with_shapes);
    braid_graph *g = import_graph(text, st);
    if (st->code) {
        bd_value values[FEEDS_MAX] = {0};
        for (int i = 0; i < f->count; i++)
            values[i].tensor = f->tensors[i]; // borrowed
        const op_row inputs = op_row_of_values(values, f->count);
        expect_error(c, st);
        op_row_note_error(&inputs, c->op);
    } else {
        braid_session_options options = {.cpu_devices = 2, .disabled_rewrites = disabled_rewrites};
        braid_session *s = braid_session_open(g, &options, st);
        braid_feed fed[FEEDS_MAX];
        braid_tensor *y = NULL;
        for (int i = 0; i < f->count; i++)
            fed[i] = (braid_feed){braid_graph_find_out(g, (char[]){(char)('a' + i), 0}),
                                  (braid_tensor *)&f->tensors[i]};
        braid_fetch fetch = {braid_graph_find_out(g, "y"), &y};
        braid_run_args args = {.feeds = fed, .feed_count = f->count, .fetches = &fetch, .fetch_count = 1};
        braid_session_run(s, &args, st);
        if (st->code) {
            expect_error(c, st);
            op_row_note_failed(g, st->message, "y");
        } else {
            op_test_expect(y, c->want, 0, c->op);
            op_row_note_ran(braid_graph_find(g, "y"));
        }
        braid_tensor_free(y);
        braid_session_close(s, NULL);
    }
    braid_graph_free(g);
    bd_free(text);
}

static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        feeds f;
        print_message("%s(%s)\n", cases[i].op, cases[i].feeds);
        read_feeds(cases[i].feeds, &f);
        for (int k = 0; k < 4; k++)
            check(&cases[i], &f, k & 1, k & 2 ? ~0U : 0);
        for (int k = 0; k < f.count; k++)
            bd_tensor_fini(&f.tensors[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_tensorflow),
    };
    return BD_RUN_TESTS(tests);
}
