// Functions of a library, called in the in-process session: small libraries, values worked out by hand.
// labels: concurrent
// timeout: 120
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "function_text.h"
#include "graph/lower.h"
#include "ops/testing/op_rows.h"
#include "tensor/tensor.h"
#include <braid/braid.h>
#include <stdlib.h>

// reshapes one element to two
#define BROKEN                                                                                               \
    FUNCTION(                                                                                                \
        "B", IN("x") OUT("y"),                                                                               \
        BODY("two", "Const",                                                                                 \
             TYPE("dtype", "DT_INT32") ATTR("value", "tensor { dtype: DT_INT32 tensor_shape { "              \
                                                     "dim { size: 1 } } int_val: 2 } "))                     \
            BODY("broken", "Reshape", INPUT("x") INPUT("two:output:0") T_FLOAT TYPE("Tshape", "DT_INT32"))   \
                RET("y", "broken:output:0"))

// A batch of x alone, and the sum of its results.
#define BATCH_OF_X(MOST)                                                                                     \
    X NODE("axis", "Const", CONST_ATTRS("DT_INT32", "int_val", "0"))                                         \
        NODE("v", "ExpandDims", INPUT("x") INPUT("axis") T_FLOAT TYPE("Tdim", "DT_INT32"))                   \
            NODE("b", "BatchFunction",                                                                       \
                 INPUT("v") TYPES("Tin", F1) TYPES("Tcaptured", "") TYPES("Tout", F1) FUNC("f", "F")         \
                     ATTR("num_batch_threads", "i: 1") ATTR("max_batch_size", "i: " MOST)                    \
                         ATTR("batch_timeout_micros", "i: 1000"))
#define SUM_OF_BATCH NODE("y", "Sum", INPUT("b") INPUT("axis") T_FLOAT TYPE("Tidx", "DT_INT32"))

typedef struct row {
    const char *name;
    const char *library; // the content of `library { }`
    const char *nodes;
    float x;         // fed to x
    float want;      // of fetch "y"
    braid_code code; // of the error
    const char *words;
} row;

static const row rows[] = {
    {"by name", SQUARE_PLUS_ONE, X NODE("y", "F", INPUT("x")), 3, 10, BRAID_OK, NULL},
    {"by name, attrs that say how to call", SQUARE_PLUS_ONE,
     X NODE("y", "F", INPUT("x") ATTR("_noinline", "b: true")), 3, 10, BRAID_OK, NULL},
    {"typed by an attr", TRIPLE, X NODE("y", "G", INPUT("x") T_FLOAT), 5, 15, BRAID_OK, NULL},
    {"PartitionedCall", SQUARE_PLUS_ONE, X NODE("y", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "F")),
     4, 17, BRAID_OK, NULL},
    {"StatefulPartitionedCall", SQUARE_PLUS_ONE,
     X NODE("y", "StatefulPartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "F")), -1, 2, BRAID_OK, NULL},
    {"BatchFunction", SQUARE_PLUS_ONE, BATCH_OF_X("4") SUM_OF_BATCH, 4, 17, BRAID_OK, NULL},
    {"BatchFunction, too many at once", SQUARE_PLUS_ONE, BATCH_OF_X("0") SUM_OF_BATCH, 4, 0,
     BRAID_INVALID_ARGUMENT, "max_batch_size must be positive; was 0"},
    {"attrs of a func attr", TRIPLE,
     X NODE("y", "PartitionedCall",
            INPUT("x") TYPES("Tin", F1) TYPES("Tout", F1)
                ATTR("f", "func { name: 'G' attr { key: 'T' value { type: DT_FLOAT } } } ")),
     2, 6, BRAID_OK, NULL},
    {"If, true", SQUARE_PLUS_ONE TRIPLE,
     X NODE("y", "If",
            INPUT("x") INPUT("x") TYPE("Tcond", "DT_FLOAT") TYPES("Tin", F1) TYPES("Tout", F1)
                FUNC("then_branch", "F")
                    ATTR("else_branch", "func { name: 'G' attr { key: 'T' value { type: DT_FLOAT } } } ")),
     3, 10, BRAID_OK, NULL},
    {"StatelessIf, false", SQUARE_PLUS_ONE TRIPLE,
     X NODE("c", "Const", CONST_ATTRS("DT_STRING", "string_val", "''"))
         NODE("y", "StatelessIf",
              INPUT("c") INPUT("x") TYPE("Tcond", "DT_STRING") TYPES("Tin", F1) TYPES("Tout", F1)
                  FUNC("then_branch", "F")
                      ATTR("else_branch", "func { name: 'G' attr { key: 'T' value { type: DT_FLOAT } } } ")),
     3, 9, BRAID_OK, NULL},
    {"Case beyond the last", SQUARE_PLUS_ONE FACTORIAL,
     X NODE("i", "Const", CONST_ATTRS("DT_INT32", "int_val", "7"))
         NODE("y", "Case",
              INPUT("i") INPUT("x") TYPES("Tin", F1) TYPES("Tout", F1)
                  ATTR("branches", "list { func { name: 'F' } func { name: 'fact' } } ")),
     4, 24, BRAID_OK, NULL},
    {"StatelessCase", SQUARE_PLUS_ONE FACTORIAL,
     X NODE("i", "Const", CONST_ATTRS("DT_INT32", "int_val", "0"))
         NODE("y", "StatelessCase",
              INPUT("i") INPUT("x") TYPES("Tin", F1) TYPES("Tout", F1)
                  ATTR("branches", "list { func { name: 'F' } func { name: 'fact' } } ")),
     4, 17, BRAID_OK, NULL},
    {"While", LOOP,
     X CONST("n", "1000") NODE(
         "y", "While", INPUT("x") INPUT("n") TYPES("T", F1 F1) FUNC("cond", "less") FUNC("body", "more")),
     1.5F, 1000.5F, BRAID_OK, NULL},
    {"StatelessWhile without a turn", LOOP,
     X CONST("n", "1")
         NODE("y", "StatelessWhile",
              INPUT("x") INPUT("n") TYPES("T", F1 F1) FUNC("cond", "less") FUNC("body", "more")),
     2, 2, BRAID_OK, NULL},
    {"For",
     FUNCTION("add_i", IN_T("i", "DT_INT32") IN("s") OUT("y"),
              BODY("c", "Cast", INPUT("i") TYPE("SrcT", "DT_INT32") TYPE("DstT", "DT_FLOAT"))
                  BODY("a", "Add", INPUT("s") INPUT("c:y:0") T_FLOAT) RET("y", "a:z:0")),
     X NODE("from", "Const", CONST_ATTRS("DT_INT32", "int_val", "10"))
         NODE("to", "Const", CONST_ATTRS("DT_INT32", "int_val", "0"))
             NODE("by", "Const", CONST_ATTRS("DT_INT32", "int_val", "-3"))
                 NODE("y", "For",
                      INPUT("from") INPUT("to") INPUT("by") INPUT("x") TYPES("T", F1) FUNC("body", "add_i")),
     100, 122, BRAID_OK, NULL},
    {"For that goes the wrong way", FUNCTION("add_i", IN_T("i", "DT_INT32") IN("s") OUT("y"), RET("y", "s")),
     X NODE("from", "Const", CONST_ATTRS("DT_INT32", "int_val", "10"))
         NODE("y", "For",
              INPUT("from") INPUT("from") INPUT("from") INPUT("x") TYPES("T", F1) FUNC("body", "add_i")),
     7, 7, BRAID_OK, NULL},
    {"recursion", FACTORIAL, X NODE("y", "fact", INPUT("x")), 10, 3628800, BRAID_OK, NULL},
    {"recursion over the limit", FACTORIAL, X NODE("y", "fact", INPUT("x")), 1e6F, 0,
     BRAID_RESOURCE_EXHAUSTED, "1000 deep"},
    {"a loop of frames within a function",
     FUNCTION("W", IN("x") OUT("y"),
              BODY("e", "Enter", INPUT("x") T_FLOAT ATTR("frame_name", "s: 'w'"))
                  BODY("m", "Merge", INPUT("e:output:0") INPUT("n:output:0") T_FLOAT ATTR("N", "i: 2"))
                      BODY("ten", "Const", INPUT("^m") CONST_F("10"))
                          BODY("l", "Less", INPUT("m:output:0") INPUT("ten:output:0") T_FLOAT)
                              BODY("c", "LoopCond", INPUT("l:z:0"))
                                  BODY("s", "Switch", INPUT("m:output:0") INPUT("c:output:0") T_FLOAT) BODY(
                                      "i", "Add", INPUT("s:output_true:0") INPUT("s:output_true:0") T_FLOAT)
                                      BODY("n", "NextIteration", INPUT("i:z:0") T_FLOAT)
                                          BODY("x_", "Exit", INPUT("s:output_false:0") T_FLOAT)
                                              RET("y", "x_:output:0")),
     X NODE("a", "W", INPUT("x")) NODE("y", "W", INPUT("a")), 3, 12, BRAID_OK, NULL},
    {"SymbolicGradient of the nodes", SQUARE_PLUS_ONE,
     X CONST("dy", "0.5") NODE("y", "SymbolicGradient", INPUT("x") INPUT("dy") CALL_ATTRS(F1 F1, F1, "F")), 3,
     3, BRAID_OK, NULL},
    {"SymbolicGradient through a call",
     SQUARE_PLUS_ONE FUNCTION("H", IN("x") OUT("y"),
                              BODY("f", "F", INPUT("x")) BODY("n", "Neg", INPUT("f:y:0") T_FLOAT)
                                  RET("y", "n:y:0")),
     X CONST("dy", "1") NODE("y", "SymbolicGradient", INPUT("x") INPUT("dy") CALL_ATTRS(F1 F1, F1, "H")), 3,
     -6, BRAID_OK, NULL},
    {"SymbolicGradient of the library",
     SQUARE_PLUS_ONE FUNCTION("dF", IN("x") IN("dy") OUT("dx"),
                              BODY("n", "Neg", INPUT("dy") T_FLOAT)
                                  RET("dx", "n:y:0")) "gradient { function_name: 'F' gradient_func: 'dF' } ",
     X CONST("dy", "5") NODE("y", "SymbolicGradient", INPUT("x") INPUT("dy") CALL_ATTRS(F1 F1, F1, "F")), 3,
     -5, BRAID_OK, NULL},
    {"SymbolicGradient of an op", "",
     X CONST("dy", "5") NODE("y", "SymbolicGradient",
                             INPUT("x") INPUT("dy") TYPES("Tin", F1 F1) TYPES("Tout", F1) ATTR(
                                 "f", "func { name: 'Square' attr { key: 'T' value { type: DT_FLOAT } } } ")),
     3, 30, BRAID_OK, NULL},
    {"an argument that is a result, and one that is not used",
     FUNCTION("second", IN("a") IN("b") OUT("y"), RET("y", "b")),
     X CONST("c", "1") NODE("y", "second", INPUT("c") INPUT("x")), 8, 8, BRAID_OK, NULL},
    {"arguments and results as control outputs",
     FUNCTION("C", IN("x") OUT("y"),
              RET("y",
                  "x") "control_ret { key: 'a' value: 'x' } control_ret { key: 'b' value: 'y_RetVal' } "),
     X NODE("y", "StatefulPartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "C")), 5, 5, BRAID_OK, NULL},
    {"an unknown op that nothing needs to run",
     SQUARE_PLUS_ONE FUNCTION("U", IN("x") OUT("y"), BODY("u", "NobodyKnows", INPUT("x")) RET("y", "u:y:0")),
     X NODE("never", "U", INPUT("x")) NODE("y", "F", INPUT("x")), 2, 5, BRAID_OK, NULL},
    {"an unknown op that is run",
     FUNCTION("U", IN("x") OUT("y"), BODY("u", "NobodyKnows", INPUT("x")) RET("y", "u:y:0")),
     X NODE("y", "U", INPUT("x")), 2, 0, BRAID_NOT_FOUND, "Op type not registered 'NobodyKnows'"},
    {"a function that is not there", "", X NODE("y", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "Q")),
     2, 0, BRAID_NOT_FOUND, "Function Q is not defined"},
    {"an input that is not there",
     FUNCTION("B", IN("x") OUT("y"), BODY("n", "Neg", INPUT("z:y:0") T_FLOAT) RET("y", "n:y:0")),
     X NODE("y", "B", INPUT("x")), 2, 0, BRAID_INVALID_ARGUMENT, "input z:y:0 is not found"},
    {"a result that is not there", FUNCTION("B", IN("x") OUT("y"), ""), X NODE("y", "B", INPUT("x")), 2, 0,
     BRAID_INVALID_ARGUMENT, "Return y missing"},
    {"a result of another type", FUNCTION("B", IN("x") OUT_T("y", "DT_INT32"), RET("y", "x")),
     X NODE("b", "B", INPUT("x"))
         NODE("y", "Cast", INPUT("b") TYPE("SrcT", "DT_INT32") TYPE("DstT", "DT_FLOAT")),
     2, 0, BRAID_INVALID_ARGUMENT, "Invalid ret types y : int32 vs. float"},
    {"a body with an argument of its own",
     FUNCTION("B", IN("x") OUT("y"),
              BODY("a", "_Arg", T_FLOAT ATTR("index", "i: 1000000")) RET("y", "a:output:0")),
     X NODE("y", "B", INPUT("x")), 2, 0, BRAID_INVALID_ARGUMENT, "a body has no _Arg of its own"},
    {"a placeholder without a value",
     FUNCTION("B", IN("x") OUT("y"),
              BODY("n", "Neg", INPUT("x") ATTR("T", "placeholder: 'T'")) RET("y", "n:y:0")),
     X NODE("y", "B", INPUT("x")), 2, 0, BRAID_INVALID_ARGUMENT, "Failed to bind all placeholders"},
    {"a node that fails", BROKEN, X NODE("y", "B", INPUT("x")), 1, 0, BRAID_INVALID_ARGUMENT,
     "{{node broken}}"},
    {"whose caller is named, too", BROKEN,
     X NODE("caller", "B", INPUT("x")) NODE("y", "Neg", INPUT("caller") T_FLOAT), 1, 0,
     BRAID_INVALID_ARGUMENT, "[[caller]]"},
    {"what has no truth", SQUARE_PLUS_ONE,
     X NODE("c", "Const", CONST_ATTRS("DT_UINT16", "int_val", "1"))
         NODE("y", "If",
              INPUT("c") INPUT("x") TYPE("Tcond", "DT_UINT16") TYPES("Tin", F1) TYPES("Tout", F1)
                  FUNC("then_branch", "F") FUNC("else_branch", "F")),
     3, 0, BRAID_INVALID_ARGUMENT, "uint16 cannot be converted to a bool"},
    {"a condition that gives two values", LOOP,
     X NODE("y", "While", INPUT("x") INPUT("x") TYPES("T", F1 F1) FUNC("cond", "more") FUNC("body", "more")),
     3, 0, BRAID_INVALID_ARGUMENT, "Expected a single scalar return value"},
    {"a body that gives too few values",
     LOOP SQUARE_PLUS_ONE FUNCTION("short", IN("x") IN("n") OUT("y"), RET("y", "x")),
     X CONST("n", "5") NODE(
         "y", "While", INPUT("x") INPUT("n") TYPES("T", F1 F1) FUNC("cond", "less") FUNC("body", "short")),
     3, 0, BRAID_INVALID_ARGUMENT, "While loop body returned 1 arguments. Expected: 2"},
    {"an executor that nobody has", SQUARE_PLUS_ONE,
     X NODE("y", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "F") ATTR("executor_type", "s: 'Nobody'")),
     3, 0, BRAID_NOT_FOUND, "No executor factory registered for the given executor type: Nobody"},
    {"RemoteCall on another device of the task", SQUARE_PLUS_ONE,
     X NODE("t", "Const", CONST_ATTRS("DT_STRING", "string_val", "'/device:CPU:1'"))
         NODE("y", "RemoteCall", INPUT("t") INPUT("x") CALL_ATTRS(F1, F1, "F")),
     3, 10, BRAID_OK, NULL},
    {"RemoteCall on another task", SQUARE_PLUS_ONE,
     X NODE("t", "Const", CONST_ATTRS("DT_STRING", "string_val", "'/job:ps/task:1'"))
         NODE("y", "RemoteCall", INPUT("t") INPUT("x") CALL_ATTRS(F1, F1, "F")),
     3, 0, BRAID_INVALID_ARGUMENT, "is no device of this task"},
    {"a body on two devices",
     FUNCTION("two", IN("x") OUT("y"),
              BODY("a", "Neg", INPUT("x") T_FLOAT "device: '/device:CPU:1' ")
                  BODY("b", "Square", INPUT("a:y:0") T_FLOAT "device: '/device:CPU:0' ")
                      BODY("c", "Neg", INPUT("b:y:0") T_FLOAT "device: '/device:CPU:1' ") RET("y", "c:y:0")),
     X NODE("a", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "two"))
         NODE("y", "PartitionedCall", INPUT("a") CALL_ATTRS(F1, F1, "two")),
     2, -16, BRAID_OK, NULL},
    {"a body on another task",
     FUNCTION("far", IN("x") OUT("y"),
              BODY("a", "Neg", INPUT("x") T_FLOAT "device: '/job:ps/task:3' ") RET("y", "a:y:0")),
     X NODE("y", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "far")), 2, 0, BRAID_INVALID_ARGUMENT,
     "/job:ps"},
    {"a body on two devices that is called",
     FUNCTION("two", IN("x") OUT("y"),
              ATTR("_noinline", "b: true") BODY("a", "Neg", INPUT("x") T_FLOAT "device: '/device:CPU:1' ")
                  BODY("b", "Square", INPUT("a:y:0") T_FLOAT "device: '/device:CPU:0' ")
                      BODY("c", "Neg", INPUT("b:y:0") T_FLOAT "device: '/device:CPU:1' ") RET("y", "c:y:0")),
     X NODE("a", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "two"))
         NODE("y", "PartitionedCall", INPUT("a") CALL_ATTRS(F1, F1, "two")),
     2, -16, BRAID_OK, NULL},
    {"a body on another task that is called",
     FUNCTION("far", IN("x") OUT("y"),
              ATTR("_noinline", "b: true") BODY("a", "Neg", INPUT("x") T_FLOAT "device: '/job:ps/task:3' ")
                  RET("y", "a:y:0")),
     X NODE("y", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "far")), 2, 0, BRAID_INVALID_ARGUMENT,
     "/job:ps"},
    {"FakeParam", "",
     X NODE("p", "FakeParam",
            TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape { dim { size: -1 } dim { size: 2 } } "))
         NODE("n", "Size", INPUT("p") T_FLOAT)
             NODE("c", "Cast", INPUT("n") TYPE("SrcT", "DT_INT32") TYPE("DstT", "DT_FLOAT"))
                 NODE("y", "Add", INPUT("x") INPUT("c") T_FLOAT),
     7, 7, BRAID_OK, NULL},
    // A turn adds 1 to even numbers and 2 to odd ones: 1, 3, 5, 7.
    {"If in While",
     LOOP FUNCTION("by_one", IN("x") OUT("y"),
                   BODY("one", "Const", CONST_F("1"))
                       BODY("s", "Add", INPUT("x") INPUT("one:output:0") T_FLOAT) RET("y", "s:z:0"))
         FUNCTION("by_two", IN("x") OUT("y"),
                  BODY("two", "Const", CONST_F("2"))
                      BODY("s", "Add", INPUT("x") INPUT("two:output:0") T_FLOAT) RET("y", "s:z:0"))
             FUNCTION("turn", IN("x") IN("n") OUT("y") OUT("m"),
                      BODY("two", "Const", CONST_F("2"))
                          BODY("mod", "FloorMod", INPUT("x") INPUT("two:output:0") T_FLOAT)
                              BODY("one", "Const", CONST_F("1"))
                                  BODY("even", "Less", INPUT("mod:z:0") INPUT("one:output:0") T_FLOAT) BODY(
                                      "i", "If",
                                      INPUT("even:z:0") INPUT("x") TYPE("Tcond", "DT_BOOL") TYPES("Tin", F1)
                                          TYPES("Tout", F1) FUNC("then_branch", "by_one") FUNC(
                                              "else_branch", "by_two")) RET("y", "i:output:0") RET("m", "n")),
     X CONST("n", "6") NODE(
         "y", "While", INPUT("x") INPUT("n") TYPES("T", F1 F1) FUNC("cond", "less") FUNC("body", "turn")),
     1, 7, BRAID_OK, NULL},
    // Twice, so that frames and names of one copy are not those of the other; the branch that is not taken
    // would fail.
    {"a call of a call of a loop, in a branch",
     LOOP BROKEN FUNCTION("loop", IN("x") OUT("y"),
                          BODY("n", "Const", CONST_F("10"))
                              BODY("w", "While",
                                   INPUT("x") INPUT("n:output:0") TYPES("T", F1 F1) FUNC("cond", "less")
                                       FUNC("body", "more")) RET("y", "w:output:0"))
         FUNCTION("twice", IN("x") OUT("y"),
                  BODY("a", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "loop")) BODY(
                      "b", "StatefulPartitionedCall", INPUT("a:output:0") CALL_ATTRS(F1, F1, "loop"))
                      BODY("c", "Add", INPUT("a:output:0") INPUT("b:output:0") T_FLOAT) RET("y", "c:z:0")),
     X NODE("t", "Const", CONST_ATTRS("DT_BOOL", "bool_val", "true"))
         NODE("y", "If",
              INPUT("t") INPUT("x") TYPE("Tcond", "DT_BOOL") TYPES("Tin", F1) TYPES("Tout", F1)
                  FUNC("then_branch", "twice") FUNC("else_branch", "B")),
     2.5F, 21, BRAID_OK, NULL},
    {"a result that is a constant, and a branch that uses nothing", FACTORIAL,
     X NODE("t", "Const", CONST_ATTRS("DT_BOOL", "bool_val", "false"))
         NODE("y", "If",
              INPUT("t") INPUT("x") TYPE("Tcond", "DT_BOOL") TYPES("Tin", F1) TYPES("Tout", F1)
                  FUNC("then_branch", "fact") FUNC("else_branch", "one_of")),
     9, 1, BRAID_OK, NULL},
    {"constants only", SQUARE_PLUS_ONE,
     X NODE("t", "Const", CONST_ATTRS("DT_BOOL", "bool_val", "true")) CONST("two", "2")
         NODE("y", "StatelessIf",
              INPUT("t") INPUT("two") TYPE("Tcond", "DT_BOOL") TYPES("Tin", F1) TYPES("Tout", F1)
                  FUNC("then_branch", "F") FUNC("else_branch", "F")),
     0, 5, BRAID_OK, NULL},
    {"MapDefun", SQUARE_PLUS_ONE,
     X NODE("n", "Const",
            TYPE("dtype", "DT_FLOAT")
                ATTR("value", "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } } "
                              "float_val: 1 float_val: 2 float_val: 3 } "))
         NODE("m", "MapDefun",
              INPUT("n") TYPES("Targuments", F1) TYPES("output_types", F1)
                  TYPES("output_shapes", "shape { } ") FUNC("f", "F"))
             NODE("axis", "Const", CONST_ATTRS("DT_INT32", "int_val", "0"))
                 NODE("s", "Sum", INPUT("m") INPUT("axis") T_FLOAT TYPE("Tidx", "DT_INT32"))
                     NODE("y", "Add", INPUT("s") INPUT("x") T_FLOAT),
     1, 18, BRAID_OK, NULL},
};

// ---- Running them ----

// As Python's cond and while_loop ask for it.
static char *ask_for_lowering(char *text)
{
    static const char *const ops[] = {"If",    "StatelessIf",   "Case", "StatelessCase",
                                      "While", "StatelessWhile"};
    bd_strbuf out = {0};
    for (const char *p = text; *p; p++) {
        bd_strbuf_append_char(&out, *p);
        for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
            char *op = bd_asprintf(" op: '%s' ", ops[i]);
            if (strncmp(p, op, strlen(op)) == 0) {
                bd_strbuf_appendf(&out, "%s%s", op + 1, ATTR("_lower_using_switch_merge", "b: true"));
                p += strlen(op) - 1;
            }
            bd_free(op);
        }
    }
    bd_free(text);
    return bd_strbuf_take(&out);
}

static char *text_of(const row *r, bool lowered)
{
    char *text = bd_asprintf("library { %s } %s versions { producer: 134 }", r->library, r->nodes);
    if (lowered) text = ask_for_lowering(text);
    for (char *p = text; *p; p++)
        if (*p == '\'') *p = '"';
    return text;
}

static void check(const row *r, braid_session *s, const braid_graph *g)
{
    BD_STATUS(st);
    braid_tensor *x = braid_tensor_float(r->x), *y = NULL;
    braid_feed feed = {braid_graph_find_out(g, "x"), x};
    braid_fetch fetch = {braid_graph_find_out(g, "y"), &y};
    braid_run_args args = {.feeds = &feed, .feed_count = 1, .fetches = &fetch, .fetch_count = 1};
    braid_session_run(s, &args, st);
    if (st->code != r->code) fail_msg("%s: %d %s", r->name, st->code, braid_status_message(st));
    if (r->code && !strstr(braid_status_message(st), r->words))
        fail_msg("%s: %s", r->name, braid_status_message(st));
    if (r->code)
        op_row_note_failed(g, braid_status_message(st), NULL);
    else
        op_row_note_ran(braid_graph_find(g, "y"));
    if (!r->code && *(const float *)braid_tensor_data(y) != r->want)
        fail_msg("%s: %g, not %g", r->name, (double)*(const float *)braid_tensor_data(y), (double)r->want);
    braid_tensor_free(x);
    braid_tensor_free(y);
}

static void run_row(const row *r, unsigned disabled_rewrites, bool lowered)
{
    BD_STATUS(st);
    char *text = text_of(r, lowered);
    braid_graph *g = braid_graph_new();
    braid_graph_import_text(g, text, strlen(text), st);
    if (st->code) fail_msg("%s: %s", r->name, braid_status_message(st));
    braid_session_options options = {.cpu_devices = 2, .disabled_rewrites = disabled_rewrites};
    braid_session *s = braid_session_open(g, &options, st);
    assert_int_equal(st->code, BRAID_OK);
    for (int i = 0; i < 3; i++)
        check(r, s, g);
    braid_session_close(s, NULL);
    braid_graph_free(g);
    bd_free(text);
}

static void functions_behave_alike_inlined_and_called(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        run_row(&rows[i], 0, false);
        run_row(&rows[i], ~0U, false);
        run_row(&rows[i], 0, true);
        run_row(&rows[i], ~0U, true);
    }
}

// ---- Text and bytes ----

static void values_survive_a_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        BD_STATUS(st);
        char *text = text_of(&rows[i], true);
        braid_graph *g = braid_graph_new(), *of_text = braid_graph_new(), *of_bytes = braid_graph_new();
        braid_graph_import_text(g, text, strlen(text), st);
        char *first = braid_graph_export_text(g, st);
        braid_graph_import_text(of_text, first, strlen(first), st);
        size_t len;
        void *bytes = braid_graph_export(of_text, &len, st);
        braid_graph_import(of_bytes, bytes, len, st);
        assert_ok(st);
        char *second = braid_graph_export_text(of_bytes, st);
        assert_string_equal(first, second);
        free(first);
        free(second);
        free(bytes);
        braid_graph_free(g);
        braid_graph_free(of_text);
        braid_graph_free(of_bytes);
        bd_free(text);
    }
}

// ---- Lowering ----

static bool has_op(const braid_graph *g, const char *op)
{
    for (int i = 0; i < braid_graph_num_ops(g); i++)
        if (strcmp(braid_op_type(braid_graph_op(g, i)), op) == 0) return true;
    return false;
}

static const row *find_row(const char *name)
{
    for (size_t i = 0; i < BD_COUNTOF(rows); i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    fail_msg("%s", name);
    return NULL;
}

static void conditionals_and_loops_are_lowered(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        bool is_asked_for;
        const char *gone, *there; // ops
    } cases[] = {
        {"If in While", true, "While", "NextIteration"},
        {"If in While", true, "If", "Switch"},
        {"If in While", false, "Switch", "While"},
        {"Case beyond the last", true, "Case", "Switch"},
        {"Case beyond the last", false, "Switch", "Case"},
        {"PartitionedCall", false, "PartitionedCall", "Mul"},
        {"by name", true, "Mul", "F"},
        {"a call of a call of a loop, in a branch", true, "StatefulPartitionedCall", "Exit"},
        {"If, true", true, "Switch", "If"},          // the condition is no bool
        {"what has no truth", true, "Switch", "If"}, // the same
        {"a condition that gives two values", true, "Enter", "While"},
        {"a function that is not there", true, "Identity", "PartitionedCall"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        BD_STATUS(st);
        char *text = text_of(find_row(cases[i].row), cases[i].is_asked_for);
        braid_graph *g = braid_graph_new();
        braid_graph_import_text(g, text, strlen(text), st);
        assert_ok(st);
        bd_graph_lower(g, 0);
        if (has_op(g, cases[i].gone)) fail_msg("%s: %s is there", cases[i].row, cases[i].gone);
        if (!has_op(g, cases[i].there)) fail_msg("%s: %s is not there", cases[i].row, cases[i].there);
        braid_graph_free(g);
        bd_free(text);
    }
}

// A function that calls itself is inlined once; unbounded recursion is not inlined further.
static void inlining_has_a_limit(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_strbuf text = {0};
    bd_strbuf_append(&text, "library { ");
    for (int i = 0; i < 40; i++) {
        bd_strbuf_appendf(&text,
                          FUNCTION("f%d", IN("x") OUT("y"),
                                   BODY("a", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "f%d")) BODY(
                                       "b", "PartitionedCall", INPUT("a:output:0") CALL_ATTRS(F1, F1, "f%d"))
                                       RET("y", "b:output:0")),
                          i, (i + 1) % 40, (i + 1) % 40);
    }
    bd_strbuf_append(&text, "} " X NODE("y", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "f0")));
    for (char *p = text.data; *p; p++)
        if (*p == '\'') *p = '"';
    braid_graph *g = braid_graph_new();
    braid_graph_import_text(g, text.data, text.len, st);
    assert_ok(st);
    bd_graph_lower(g, 0);
    assert_true(braid_graph_num_ops(g) > 50000 && braid_graph_num_ops(g) < 2000000);
    braid_graph_free(g);
    bd_strbuf_fini(&text);
}

// ---- Time limits ----

static void an_endless_loop_can_be_ended(void **state)
{
    (void)state;
    static const row endless = {
        "endless",
        LOOP FUNCTION("stay", IN("x") IN("n") OUT("y") OUT("m"), RET("y", "x") RET("m", "n")),
        X CONST("n", "5") NODE(
            "y", "While", INPUT("x") INPUT("n") TYPES("T", F1 F1) FUNC("cond", "less") FUNC("body", "stay")),
        0,
        0,
        BRAID_DEADLINE_EXCEEDED,
        ""};
    for (int lowered = 0; lowered < 2; lowered++) {
        BD_STATUS(st);
        char *text = text_of(&endless, lowered);
        braid_graph *g = braid_graph_new();
        braid_graph_import_text(g, text, strlen(text), st);
        braid_session *s = braid_session_open(g, NULL, st);
        assert_ok(st);
        braid_tensor *x = braid_tensor_float(1), *y = NULL;
        braid_feed feed = {braid_graph_find_out(g, "x"), x};
        braid_fetch fetch = {braid_graph_find_out(g, "y"), &y};
        braid_run_args args = {
            .feeds = &feed, .feed_count = 1, .fetches = &fetch, .fetch_count = 1, .timeout_ms = 100};
        braid_session_run(s, &args, st);
        assert_int_equal(st->code, BRAID_DEADLINE_EXCEEDED);
        braid_tensor_free(x);
        braid_session_close(s, NULL);
        braid_graph_free(g);
        bd_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_behave_alike_inlined_and_called),
        cmocka_unit_test(values_survive_a_round_trip),
        cmocka_unit_test(conditionals_and_loops_are_lowered),
        cmocka_unit_test(inlining_has_a_limit),
        cmocka_unit_test(an_endless_loop_can_be_ended),
    };
    return BD_RUN_TESTS(tests);
}
