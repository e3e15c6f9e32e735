// Tests of gradients through calls, conditionals and loops whose bodies are functions, against finite
// differences.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "function_text.h"
#include "tensor/tensor.h"
#include <braid/braid.h>
#include <math.h>

typedef struct row {
    const char *name;
    const char *library, *nodes; // of float, which become double: y of x
    double xs[3];                // where differences are taken
} row;

#define IF_ATTRS(THEN, ELSE)                                                                                 \
    TYPES("Tin", F1) TYPES("Tout", F1) FUNC("then_branch", THEN) FUNC("else_branch", ELSE)
#define BRANCH_OF(OP, INDEX)                                                                                 \
    X NODE("i", "Const", CONST_ATTRS("DT_INT32", "int_val", INDEX))                                          \
        NODE("y", OP,                                                                                        \
             INPUT("i") INPUT("x") TYPES("Tin", F1) TYPES("Tout", F1)                                        \
                 ATTR("branches", "list { func { name: 'F' } func { name: 'cube' } func { name: 'no' } } "))
#define TWO_LOOP_ATTRS(COND, LOOP) TYPES("T", F1 F1) FUNC("cond", COND) FUNC("body", LOOP)
// cube(x) = x * x * x
#define CUBE                                                                                                 \
    FUNCTION("cube", IN("x") OUT("y"),                                                                       \
             BODY("a", "Mul", INPUT("x") INPUT("x") T_FLOAT)                                                 \
                 BODY("b", "Mul", INPUT("a:z:0") INPUT("x") T_FLOAT) RET("y", "b:z:0"))
// no(x) = 7
#define NO FUNCTION("no", IN("x") OUT("y"), BODY("c", "Const", CONST_F("7")) RET("y", "c:output:0"))
// sign(x) = x > 0 ? F(x) : cube(x)
#define SIGN                                                                                                 \
    SQUARE_PLUS_ONE CUBE FUNCTION(                                                                           \
        "sign", IN("x") OUT("y"),                                                                            \
        BODY("zero", "Const", CONST_F("0")) BODY("p", "Greater", INPUT("x") INPUT("zero:output:0") T_FLOAT)  \
            BODY("i", "If", INPUT("p:z:0") INPUT("x") TYPE("Tcond", "DT_BOOL") IF_ATTRS("F", "cube"))        \
                RET("y", "i:output:0"))
// below(v, w) = v < 50; grow(v, w) = v * v * w + 1, w
#define GROW                                                                                                 \
    FUNCTION("below", IN("v") IN("w") OUT_T("z", "DT_BOOL"),                                                 \
             BODY("c", "Const", CONST_F("50")) BODY("l", "Less", INPUT("v") INPUT("c:output:0") T_FLOAT)     \
                 RET("z", "l:z:0"))                                                                          \
    FUNCTION("grow", IN("v") IN("w") OUT("a") OUT("b"),                                                      \
             BODY("s", "Mul", INPUT("v") INPUT("v") T_FLOAT)                                                 \
                 BODY("m", "Mul", INPUT("s:z:0") INPUT("w") T_FLOAT) BODY("one", "Const", CONST_F("1"))      \
                     BODY("t", "Add", INPUT("m:z:0") INPUT("one:output:0") T_FLOAT)                          \
                         BODY("w_", "Identity", INPUT("w") T_FLOAT) RET("a", "t:z:0")                        \
                             RET("b", "w_:output:0"))
// change(v, w) = sign(w) + v, w * v
#define CHANGE                                                                                               \
    SIGN GROW FUNCTION("change", IN("v") IN("w") OUT("a") OUT("b"),                                          \
                       BODY("f", "PartitionedCall", INPUT("w") CALL_ATTRS(F1, F1, "sign"))                   \
                           BODY("s", "Add", INPUT("f:output:0") INPUT("v") T_FLOAT)                          \
                               BODY("m", "Mul", INPUT("w") INPUT("v") T_FLOAT) RET("a", "s:z:0")             \
                                   RET("b", "m:z:0"))
// loop(x) = the first value of a loop of LOOP from x, x
#define CALLED_LOOP(LOOP)                                                                                    \
    FUNCTION("loop", IN("x") OUT("y"),                                                                       \
             BODY("w", "While", INPUT("x") INPUT("x") TWO_LOOP_ATTRS("below", LOOP)) RET("y", "w:output:0"))
// rise(n) = n < 2 ? 1 : n * rise(n - 1), by calls
#define RISE                                                                                                 \
    FUNCTION("one_of", IN("n") OUT("y"), BODY("one", "Const", CONST_F("1")) RET("y", "one:output:0"))        \
    FUNCTION("times", IN("n") OUT("y"),                                                                      \
             BODY("one", "Const", CONST_F("1")) BODY("d", "Sub", INPUT("n") INPUT("one:output:0") T_FLOAT)   \
                 BODY("r", "PartitionedCall", INPUT("d:z:0") CALL_ATTRS(F1, F1, "rise"))                     \
                     BODY("m", "Mul", INPUT("n") INPUT("r:output:0") T_FLOAT) RET("y", "m:z:0"))             \
    FUNCTION(                                                                                                \
        "rise", IN("n") OUT("y"),                                                                            \
        BODY("two", "Const", CONST_F("2")) BODY("l", "Less", INPUT("n") INPUT("two:output:0") T_FLOAT)       \
            BODY("i", "If", INPUT("l:z:0") INPUT("n") TYPE("Tcond", "DT_BOOL") IF_ATTRS("one_of", "times"))  \
                RET("y", "i:output:0"))

static const row rows[] = {
    {"PartitionedCall",
     SQUARE_PLUS_ONE,
     X NODE("y", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "F")),
     {3}},
    {"StatefulPartitionedCall",
     SQUARE_PLUS_ONE,
     X NODE("y", "StatefulPartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "F")),
     {-2}},
    {"a call that may not be inlined",
     SQUARE_PLUS_ONE,
     X NODE("y", "PartitionedCall",
            INPUT("x") CALL_ATTRS(F1, F1, "F") ATTR("executor_type", "s: 'SINGLE_THREADED_EXECUTOR'")),
     {3}},
    {"a call of what calls itself",
     RISE,
     X NODE("y", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "rise")),
     {1.5, 4.5, 6.25}},
    {"If", SIGN, X NODE("y", "sign", INPUT("x")), {3, -2}},
    {"If, of a number",
     SIGN,
     X NODE("y", "If", INPUT("x") INPUT("x") TYPE("Tcond", "DT_FLOAT") IF_ATTRS("F", "cube")),
     {3, -2}},
    {"StatelessIf, of which one branch uses nothing",
     SIGN NO,
     X CONST("zero", "0") NODE("p", "Greater", INPUT("x") INPUT("zero") T_FLOAT)
         NODE("y", "StatelessIf", INPUT("p") INPUT("x") TYPE("Tcond", "DT_BOOL") IF_ATTRS("cube", "no")),
     {3, -2}},
    {"If of a call of If",
     SIGN,
     X CONST("one", "1") NODE("p", "Greater", INPUT("x") INPUT("one") T_FLOAT)
         NODE("y", "If", INPUT("p") INPUT("x") TYPE("Tcond", "DT_BOOL") IF_ATTRS("F", "sign")),
     {3, 0.5, -2}},
    {"Case, the first", SQUARE_PLUS_ONE CUBE NO, BRANCH_OF("Case", "0"), {3}},
    {"Case, the second", SQUARE_PLUS_ONE CUBE NO, BRANCH_OF("Case", "1"), {3}},
    {"Case, the last", SQUARE_PLUS_ONE CUBE NO, BRANCH_OF("Case", "2"), {3}},
    {"Case, below the first", SQUARE_PLUS_ONE NO CUBE, BRANCH_OF("Case", "-1"), {3}},
    {"StatelessCase", SQUARE_PLUS_ONE CUBE NO, BRANCH_OF("StatelessCase", "1"), {3}},
    {"While, and a constant of the loop",
     GROW,
     X NODE("w", "While", INPUT("x") INPUT("x") TWO_LOOP_ATTRS("below", "grow"))
         NODE("y", "Mul", INPUT("w") INPUT("w:1") T_FLOAT),
     {1.5, 0.75, 60}},
    {"StatelessWhile, of which the constant is used alone",
     GROW,
     X NODE("w", "StatelessWhile", INPUT("x") INPUT("x") TWO_LOOP_ATTRS("below", "grow"))
         NODE("y", "Mul", INPUT("w:1") INPUT("w:1") T_FLOAT),
     {1.5}},
    {"While, the condition of which is a number",
     GROW FUNCTION("below_", IN("v") IN("w") OUT("z"),
                   BODY("b", "below", INPUT("v") INPUT("w"))
                       BODY("c", "Cast", INPUT("b:z:0") TYPE("SrcT", "DT_BOOL") TYPE("DstT", "DT_FLOAT"))
                           RET("z", "c:y:0")),
     X NODE("w", "While", INPUT("x") INPUT("x") TWO_LOOP_ATTRS("below_", "grow"))
         NODE("y", "Identity", INPUT("w") T_FLOAT),
     {1.5}},
    {"While of a call of If",
     CHANGE,
     X NODE("w", "While", INPUT("x") INPUT("x") TWO_LOOP_ATTRS("below", "change"))
         NODE("y", "Add", INPUT("w") INPUT("w:1") T_FLOAT),
     {1.5, 2}},
    {"a call of a loop, in a branch of a function by name",
     CHANGE CALLED_LOOP("change") FUNCTION(
         "all", IN("x") OUT("y"),
         BODY("p", "Const", CONST_ATTRS("DT_BOOL", "bool_val", "true"))
             BODY("i", "If", INPUT("p:output:0") INPUT("x") TYPE("Tcond", "DT_BOOL") IF_ATTRS("loop", "F"))
                 RET("y", "i:output:0")),
     X NODE("y", "all", INPUT("x")),
     {1.5, 2}},
    {"loops after each other, of one function",
     GROW CALLED_LOOP("grow"),
     X NODE("a", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "loop")) CONST("s", "0.001")
         NODE("b", "Mul", INPUT("a") INPUT("s") T_FLOAT)
             NODE("y", "PartitionedCall", INPUT("b") CALL_ATTRS(F1, F1, "loop")),
     {1.5}},
};

// ---- Graphs of text ----

static void replace(char *text, const char *from, const char *to)
{
    assert_int_equal(strlen(from), strlen(to));
    for (char *at = text; (at = strstr(at, from));)
        memcpy(at, to, strlen(to));
}

// The text with double in the place of float.
static braid_graph *graph_of(const char *library, const char *nodes)
{
    BD_STATUS(st);
    bd_strbuf text = {0};
    char *all = bd_asprintf("library { %s } %s versions { producer: 134 }", library, nodes);
    replace(all, "'", "\"");
    for (const char *p = all; *p; p++) {
        const bool type = strncmp(p, "DT_FLOAT", 8) == 0, value = strncmp(p, "float_val", 9) == 0;
        bd_strbuf_append(&text, type ? "DT_DOUBLE" : value ? "double_val" : (char[]){*p, 0});
        p += type ? 7 : value ? 8 : 0;
    }
    braid_graph *g = braid_graph_new();
    braid_graph_import_text(g, bd_strbuf_str(&text), text.len, st);
    assert_ok(st);
    bd_strbuf_fini(&text);
    bd_free(all);
    return g;
}

static double run(braid_session *s, const braid_graph *g, braid_out fetch, double x)
{
    BD_STATUS(st);
    braid_tensor *tx = braid_tensor_from(BRAID_DOUBLE, BRAID_SCALAR, &x, NULL), *got = NULL;
    const braid_feed feed = {braid_graph_find_out(g, "x"), tx};
    const braid_fetch wanted = {fetch, &got};
    braid_session_run(
        s,
        &(braid_run_args){
            .feeds = &feed, .feed_count = 1, .fetches = &wanted, .fetch_count = 1, .timeout_ms = 10000},
        st);
    assert_ok(st);
    const double value = *(const double *)braid_tensor_data(got);
    braid_tensor_free(got);
    braid_tensor_free(tx);
    return value;
}

static braid_out gradient_of(braid_graph *g, braid_out y)
{
    BD_STATUS(st);
    braid_out x = braid_graph_find_out(g, "x"), dx;
    braid_gradients(g, &y, 1, &x, 1, NULL, &dx);
    braid_graph_status(g, st);
    assert_ok(st);
    return dx;
}

static braid_out gradient_of_y(braid_graph *g)
{
    return gradient_of(g, braid_graph_find_out(g, "y"));
}

static void check_differences(const row *r, braid_session *s, const braid_graph *g, braid_out y, braid_out dx)
{
    const double d = 1e-5;
    for (int i = 0; i < 3 && r->xs[i] != 0; i++) {
        const double x = r->xs[i];
        const double want = (run(s, g, y, x + d) - run(s, g, y, x - d)) / (2 * d);
        const double got = dx.op ? run(s, g, dx, x) : 0;
        if (!(fabs(got - want) <= 1e-6 * (1 + fabs(want))))
            fail_msg("%s at %g: %.9g, not %.9g", r->name, x, got, want);
    }
}

static void check(const row *r, braid_session *s, const braid_graph *g, braid_out dx)
{
    check_differences(r, s, g, braid_graph_find_out(g, "y"), dx);
}

static void gradients_of_functions_match_finite_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        BD_STATUS(st);
        braid_graph *g = graph_of(rows[i].library, rows[i].nodes);
        const braid_out dx = gradient_of_y(g);
        braid_session *s = braid_session_open(g, NULL, st);
        assert_ok(st);
        check(&rows[i], s, g, dx);
        braid_session_close(s, st);
        braid_graph_free(g);
    }
}

// The session has the original nodes and the lowered ones.
static void nodes_that_have_run_may_get_gradients(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        BD_STATUS(st);
        braid_graph *g = graph_of(rows[i].library, rows[i].nodes);
        braid_session *s = braid_session_open(g, NULL, st);
        assert_ok(st);
        run(s, g, braid_graph_find_out(g, "y"), rows[i].xs[0]);
        check(&rows[i], s, g, gradient_of_y(g));
        braid_session_close(s, st);
        braid_graph_free(g);
    }
}

static const row *find_row(const char *name)
{
    const row *r = rows;
    while (r < rows + BD_COUNTOF(rows) && strcmp(r->name, name) != 0)
        r++;
    assert_true(r < rows + BD_COUNTOF(rows));
    return r;
}

static void gradients_of_gradients_match_finite_differences(void **state)
{
    (void)state;
    static const char *const names[] = {"PartitionedCall", "If, of a number", "If of a call of If",
                                        "StatelessIf, of which one branch uses nothing", "Case, the second"};
    for (size_t i = 0; i < BD_COUNTOF(names); i++) {
        BD_STATUS(st);
        const row *r = find_row(names[i]);
        braid_graph *g = graph_of(r->library, r->nodes);
        const braid_out dx = gradient_of_y(g), ddx = gradient_of(g, dx);
        braid_session *s = braid_session_open(g, NULL, st);
        assert_ok(st);
        check_differences(r, s, g, dx, ddx);
        braid_session_close(s, st);
        braid_graph_free(g);
    }
}

// ---- What differences cannot say ----

// y = x * random: the gradient is the random number of y, so the op must not run a second time.
static void effects_happen_once(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = graph_of(
        FUNCTION("chance", IN("x") OUT("y"),
                 BODY("s", "Const",
                      TYPE("dtype", "DT_INT32") ATTR("value", "tensor { dtype: DT_INT32 tensor_shape { dim { "
                                                              "size: 0 } } } "))
                     BODY("r", "RandomUniform",
                          INPUT("s:output:0") TYPE("dtype", "DT_FLOAT") TYPE("T", "DT_INT32"))
                         BODY("m", "Mul", INPUT("r:output:0") INPUT("x") T_FLOAT) RET("y", "m:z:0")),
        X NODE("y", "StatefulPartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "chance")));
    const braid_out dx = gradient_of_y(g);
    braid_session *s = braid_session_open(g, NULL, st);
    const double two = 2;
    braid_tensor *x = braid_tensor_from(BRAID_DOUBLE, BRAID_SCALAR, &two, NULL), *got[2];
    const braid_feed feed = {braid_graph_find_out(g, "x"), x};
    const braid_fetch wanted[] = {{braid_graph_find_out(g, "y"), &got[0]}, {dx, &got[1]}};
    braid_session_run(
        s, &(braid_run_args){.feeds = &feed, .feed_count = 1, .fetches = wanted, .fetch_count = 2}, st);
    assert_ok(st);
    assert_true(*(const double *)got[0]->data == 2 * *(const double *)got[1]->data);
    for (int i = 0; i < 2; i++)
        braid_tensor_free(got[i]);
    braid_tensor_free(x);
    braid_session_close(s, st);
    braid_graph_free(g);
}

// The library's gradient is the one that counts: -dy for F.
static void a_gradient_function_of_the_library_is_used(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = graph_of(
        SQUARE_PLUS_ONE FUNCTION("dF", IN("x") IN("dy") OUT("dx"),
                                 BODY("n", "Neg", INPUT("dy") T_FLOAT) RET(
                                     "dx", "n:y:0")) "gradient { function_name: 'F' gradient_func: 'dF' } ",
        X NODE("y", "PartitionedCall", INPUT("x") CALL_ATTRS(F1, F1, "F")));
    const braid_out dx = gradient_of_y(g);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_true(run(s, g, dx, 3) == -1);
    braid_session_close(s, st);
    braid_graph_free(g);
}

#define RESOURCE "type: DT_RESOURCE "
// times(v, h) = v * the variable; leave(v, h) = v; some(v, h) = v < 5 ? times(v, h) : leave(v, h)
#define BY_VARIABLE                                                                                          \
    FUNCTION("times", IN("v") IN_T("h", "DT_RESOURCE") OUT("y"),                                             \
             BODY("w", "ReadVariableOp", INPUT("h") TYPE("dtype", "DT_FLOAT"))                               \
                 BODY("m", "Mul", INPUT("v") INPUT("w:value:0") T_FLOAT) RET("y", "m:z:0"))                  \
    FUNCTION("leave", IN("v") IN_T("h", "DT_RESOURCE") OUT("y"), RET("y", "v"))                              \
    FUNCTION("some", IN("v") IN_T("h", "DT_RESOURCE") OUT("y"),                                              \
             BODY("c", "Const", CONST_F("5")) BODY("l", "Less", INPUT("v") INPUT("c:output:0") T_FLOAT)      \
                 BODY("i", "If",                                                                             \
                      INPUT("l:z:0") INPUT("v") INPUT("h") TYPE("Tcond", "DT_BOOL")                          \
                          TYPES("Tin", F1 RESOURCE) TYPES("Tout", F1) FUNC("then_branch", "times")           \
                              FUNC("else_branch", "leave")) RET("y", "i:output:0"))
// x, assigned to variable h
#define VARIABLE                                                                                             \
    X CONST("zero", "0") NODE("h", "VarHandleOp", TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape { }"))      \
        NODE("set", "AssignVariableOp", INPUT("h") INPUT("x") TYPE("dtype", "DT_FLOAT"))

static void check_variable(const char *library, const char *nodes, double x, double y, double dw)
{
    BD_STATUS(st);
    braid_graph *g = graph_of(library, nodes);
    braid_out of = braid_graph_find_out(g, "y"), h = braid_graph_find_out(g, "h"), grad;
    braid_gradients(g, &of, 1, &h, 1, NULL, &grad);
    braid_graph_status(g, st);
    assert_ok(st);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_true(run(s, g, of, x) == y);
    assert_true(run(s, g, grad, x) == dw);
    braid_session_close(s, st);
    braid_graph_free(g);
}

// A variable's handle goes into a loop, which uses it in each of three iterations, or in those where v < 5.
static void gradients_reach_a_variable_in_a_loop(void **state)
{
    (void)state;
    static const struct {
        const char *by;
        double x, y, dw;
    } cases[] = {{"times", 2, 16, 3 * 2 * 4}, {"some", 2, 8, 2 * 2 * 2}, {"some", 7, 7, 0}};
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        char *library = bd_asprintf(
            BY_VARIABLE FUNCTION("more", IN("i") IN("v") IN_T("h", "DT_RESOURCE") OUT_T("z", "DT_BOOL"),
                                 BODY("c", "Const", CONST_F("3")) BODY(
                                     "l", "Less", INPUT("i") INPUT("c:output:0") T_FLOAT) RET("z", "l:z:0"))
                FUNCTION("step",
                         IN("i") IN("v") IN_T("h", "DT_RESOURCE") OUT("j") OUT("u") OUT_T("k", "DT_RESOURCE"),
                         BODY("one", "Const", CONST_F("1"))
                             BODY("a", "Add", INPUT("i") INPUT("one:output:0") T_FLOAT)
                                 BODY("f", "PartitionedCall",
                                      INPUT("v") INPUT("h") CALL_ATTRS(F1 RESOURCE, F1, "%s"))
                                     RET("j", "a:z:0") RET("u", "f:output:0") RET("k", "h")),
            cases[i].by);
        check_variable(library,
                       VARIABLE NODE("loop", "While",
                                     INPUT("zero") INPUT("x") INPUT("h") INPUT("^set")
                                         TYPES("T", F1 F1 RESOURCE) FUNC("cond", "more") FUNC("body", "step"))
                           NODE("y", "Identity", INPUT("loop:1") T_FLOAT),
                       cases[i].x, cases[i].y, cases[i].dw);
        bd_free(library);
    }
}

// A variable's handle goes into branches, of which one or both use it: y = x > 0 ? x * w : x, or x * w in
// both.
static void gradients_reach_a_variable_in_branches(void **state)
{
    (void)state;
    static const struct {
        const char *branch;
        double x, y, dw;
    } cases[] = {{"leave", 2, 4, 2}, {"leave", -2, -2, 0}, {"times", 2, 4, 2}, {"times", -2, 4, -2}};
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        char *nodes =
            bd_asprintf(VARIABLE NODE("p", "Greater", INPUT("x") INPUT("zero") T_FLOAT)
                            NODE("y", "If",
                                 INPUT("p") INPUT("x") INPUT("h") INPUT("^set") TYPE("Tcond", "DT_BOOL")
                                     TYPES("Tin", F1 RESOURCE) TYPES("Tout", F1) FUNC("then_branch", "times")
                                         FUNC("else_branch", "%s")),
                        cases[i].branch);
        check_variable(BY_VARIABLE, nodes, cases[i].x, cases[i].y, cases[i].dw);
        bd_free(nodes);
    }
}

// A gather in a called function has a sparse gradient, as without the call.
static void gradients_of_a_gather_in_a_function_are_sparse(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g =
        graph_of(FUNCTION("look_up", IN_T("h", "DT_RESOURCE") IN_T("i", "DT_INT32") OUT("y"),
                          BODY("r", "ResourceGather",
                               INPUT("h") INPUT("i") TYPE("dtype", "DT_FLOAT") TYPE("Tindices", "DT_INT32"))
                              RET("y", "r:output:0")),
                 NODE("h", "VarHandleOp",
                      TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape { dim { size: 3 } dim { size: 2 } }"))
                     NODE("i", "Const",
                          TYPE("dtype", "DT_INT32")
                              ATTR("value", "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } "
                                            "int_val: 2 int_val: 0 } "))
                         NODE("y", "PartitionedCall",
                              INPUT("h") INPUT("i") CALL_ATTRS(RESOURCE "type: DT_INT32 ", F1, "look_up")));
    braid_out y = braid_graph_find_out(g, "y"), h = braid_graph_find_out(g, "h");
    braid_gradient grad;
    braid_gradients_sparse(g, &y, 1, &h, 1, NULL, &grad);
    braid_graph_status(g, st);
    assert_ok(st);
    assert_non_null(grad.values.op);
    assert_non_null(grad.indices.op);
    braid_graph_free(g);
}

static void ops_that_cannot_be_lowered_stay(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g =
        graph_of(SQUARE_PLUS_ONE,
                 X NODE("y", "If", INPUT("x") INPUT("x") TYPE("Tcond", "DT_FLOAT") IF_ATTRS("F", "nowhere")));
    braid_out y = braid_graph_find_out(g, "y"), x = braid_graph_find_out(g, "x"), dx;
    braid_gradients(g, &y, 1, &x, 1, NULL, &dx);
    assert_int_equal(braid_graph_status(g, st), BRAID_NOT_FOUND);
    assert_error(
        st, BRAID_NOT_FOUND,
        "No gradient defined for operation 'y' (op type: If): its functions, which are not there, call "
        "themselves or do not fit, cannot take its place");
    braid_graph_free(g);
}

#define BELOW_50                                                                                             \
    FUNCTION("below", IN("v") IN("w") OUT_T("z", "DT_BOOL"),                                                 \
             BODY("c", "Const", CONST_F("50")) BODY("l", "Less", INPUT("v") INPUT("c:output:0") T_FLOAT)     \
                 RET("z", "l:z:0"))
#define PASS_BY(OP)                                                                                          \
    BELOW_50 FUNCTION("hold", IN("v") IN("w") OUT("a") OUT("b"),                                             \
                      BODY("one", "Const", CONST_F("1"))                                                     \
                          BODY("t", "Add", INPUT("v") INPUT("one:output:0") T_FLOAT)                         \
                              BODY("w_", OP, INPUT("w") T_FLOAT) RET("a", "t:z:0") RET("b", "w_:output:0"))

// y = w * w, where the loop's body returns its variable w through an op that keeps the value.
static void ops_that_change_gradients_are_kept_in_loops(void **state)
{
    (void)state;
    static const struct {
        const char *library, *error;
        double dx;
    } cases[] = {
        {PASS_BY("Identity"), NULL, 3},
        {PASS_BY("Snapshot"), NULL, 3},
        {PASS_BY("StopGradient"), NULL, 0},
        {PASS_BY("PreventGradient"), "explicitly disabled", 0},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        BD_STATUS(st);
        braid_graph *g = graph_of(cases[i].library,
                                  X NODE("w", "While", INPUT("x") INPUT("x") TWO_LOOP_ATTRS("below", "hold"))
                                      NODE("y", "Mul", INPUT("w:1") INPUT("w:1") T_FLOAT));
        braid_out x = braid_graph_find_out(g, "x"), y = braid_graph_find_out(g, "y"), dx = {0};
        braid_gradients(g, &y, 1, &x, 1, NULL, &dx);
        if (cases[i].error) {
            assert_int_not_equal(braid_graph_status(g, st), BRAID_OK);
            assert_non_null(strstr(st->message, cases[i].error));
        } else {
            braid_session *s = braid_session_open(g, NULL, st);
            assert_ok(st);
            assert_true((dx.op ? run(s, g, dx, 1.5) : 0) == cases[i].dx);
            braid_session_close(s, st);
        }
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_functions_match_finite_differences),
        cmocka_unit_test(nodes_that_have_run_may_get_gradients),
        cmocka_unit_test(gradients_of_gradients_match_finite_differences),
        cmocka_unit_test(effects_happen_once),
        cmocka_unit_test(a_gradient_function_of_the_library_is_used),
        cmocka_unit_test(gradients_reach_a_variable_in_a_loop),
        cmocka_unit_test(gradients_reach_a_variable_in_branches),
        cmocka_unit_test(gradients_of_a_gather_in_a_function_are_sparse),
        cmocka_unit_test(ops_that_cannot_be_lowered_stay),
        cmocka_unit_test(ops_that_change_gradients_are_kept_in_loops),
    };
    return BD_RUN_TESTS(tests);
}
