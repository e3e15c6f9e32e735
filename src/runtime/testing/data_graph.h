// For tests of datasets that call functions: graphs as text over a small library, in the in-process session,
// and their elements.
#ifndef BD_RUNTIME_TESTING_DATA_GRAPH_H
#define BD_RUNTIME_TESTING_DATA_GRAPH_H

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "ops/testing/op_rows.h"
#include "tensor/tensor.h"
#include <braid/braid.h>
#include <stdio.h>

// Rows leave out the last member.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

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
#define NO_INTS                                                                                              \
    TYPE("dtype", "DT_INT64")                                                                                \
    ATTR("value", "tensor { dtype: DT_INT64 tensor_shape { dim { size: 0 } } } ")
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
    /* x % 2 */                                                                                              \
    FUNCTION("mod2", IN("x", I) OUT("y", I),                                                                 \
             BODY("two", "Const", INT("2")) BODY("m", "FloorMod", INPUT("x") INPUT("two:output:0") T_INT)    \
                 RET("y", "m:z:0"))                                                                          \
    /* x % 3 */                                                                                              \
    FUNCTION("mod3", IN("x", I) OUT("y", I),                                                                 \
             BODY("three", "Const", INT("3"))                                                                \
                 BODY("m", "FloorMod", INPUT("x") INPUT("three:output:0") T_INT) RET("y", "m:z:0"))          \
    /* a number in [0, x], and five of them */                                                               \
    FUNCTION("random", IN("x", I) OUT("y", I) "is_stateful: true ",                                          \
             BODY("shape", "Const",                                                                          \
                  TYPE("dtype", I)                                                                           \
                      ATTR("value", "tensor { dtype: " I " tensor_shape { dim { size: 0 } } } "))            \
                 BODY("one", "Const", INT("1")) BODY("a", "Add", INPUT("x") INPUT("one:output:0") T_INT)     \
                     BODY("r", "RandomUniformInt",                                                           \
                          INPUT("shape:output:0") INPUT("x") INPUT("a:z:0") TYPE("T", I) TYPE("Tout", I))    \
                         RET("y", "r:output:0"))                                                             \
    FUNCTION("randoms", IN("x", I) OUT("y", V),                                                              \
             BODY("z", "Const", INT("0")) BODY("n", "Const", INT("5")) BODY("o", "Const", INT("1"))          \
                 BODY("r", "RangeDataset",                                                                   \
                      INPUT("z:output:0") INPUT("n:output:0") INPUT("o:output:0") COMPONENTS)                \
                     BODY("m", "MapDataset", INPUT("r:handle:0") MAP_ATTRS("random"))                        \
                         RET("y", "m:handle:0"))                                                             \
    /* i + x, which a For passes on */                                                                       \
    FUNCTION("add_turn", IN("i", "DT_INT32") IN("x", I) OUT("y", I),                                         \
             BODY("c", "Cast", INPUT("i") TYPE("SrcT", "DT_INT32") TYPE("DstT", I))                          \
                 BODY("a", "Add", INPUT("x") INPUT("c:y:0") T_INT) RET("y", "a:z:0"))                        \
    /* a data set from its second element on; the captured value is not used */                              \
    FUNCTION("skip", IN("d", V) IN("c", I) OUT("y", V),                                                      \
             BODY("o", "Const", INT("1"))                                                                    \
                 BODY("s", "SkipDataset", INPUT("d") INPUT("o:output:0") COMPONENTS) RET("y", "s:handle:0")) \
    /* the data set of x alone */                                                                            \
    FUNCTION("one", IN("x", I) OUT("y", V),                                                                  \
             BODY("t", "TensorDataset",                                                                      \
                  INPUT("x") LIST("Toutput_types", "type: DT_INT64") LIST("output_shapes", "shape { }"))     \
                 RET("y", "t:handle:0"))                                                                     \
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
    const char *
        // elements, as tensors print without their type; "!words" an error; "end"; "?words": an error of the
        // iterator
        want;
    // "c cycle_length; b block_length": constants, and the arguments that take them, which must be scalars.
    // NULL: no constants.
    const char *scalars;
} row;

static inline braid_graph *import_graph(const char *nodes, braid_status *st)
{
    char *text = bd_asprintf("%s library { " LIBRARY " } versions { producer: 134 }", nodes);
    for (char *c = text; *c; c++)
        if (*c == '\'') *c = '"';
    braid_graph *g = braid_graph_new();
    braid_graph_import_text(g, text, strlen(text), st);
    bd_free(text);
    return g;
}

static inline braid_graph *read_graph(const char *name, const char *nodes)
{
    BD_STATUS(st);
    braid_graph *g = import_graph(nodes, st);
    if (st->code) fail_msg("%s: %s", name, braid_status_message(st));
    return g;
}

static inline braid_session *open_session(braid_graph *g)
{
    BD_STATUS(st);
    braid_session_options options = {.cpu_devices = 2};
    braid_session *s = braid_session_open(g, &options, st);
    assert_int_equal(st->code, BRAID_OK);
    return s;
}

static inline void run_target(braid_session *s, braid_graph *g, const char *target, braid_status *st)
{
    braid_op *op = braid_graph_find(g, target);
    assert_non_null(op);
    braid_session_run(s, &(braid_run_args){.targets = &op, .target_count = 1}, st);
}

static inline braid_tensor *next(braid_session *s, braid_graph *g, const char *from, braid_status *st)
{
    braid_tensor *t = NULL;
    braid_fetch fetch = {braid_graph_find_out(g, from), &t};
    braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
    return t;
}

// "3", "[1 2]": as the row writes it.
static inline void print_element(const braid_tensor *t, char *out, size_t size)
{
    bd_strbuf text = {0};
    bd_tensor_print(t, 100, &text);
    const char *values = strrchr(bd_strbuf_str(&text), '[') + 1;
    size_t len = strcspn(values, "]");
    bool is_scalar = braid_tensor_shape(t).rank == 0;
    snprintf(out, size, is_scalar ? "%.*s" : "[%.*s]", (int)len, values);
    bd_strbuf_fini(&text);
}

// The next word of the expected text; a bracketed text is one word.
static inline const char *word_of(const char *want, char *out)
{
    want += strspn(want, " ");
    size_t len = *want == '[' ? strcspn(want, "]") + 1 : strcspn(want, " ");
    memcpy(out, want, len);
    out[len] = '\0';
    return want + len;
}

static inline void check_elements(const row *r, braid_session *s, braid_graph *g, const char *from)
{
    char want[1024], got[1024];
    for (const char *at = word_of(r->want, want); *want; at = word_of(at, want)) {
        BD_STATUS(st);
        braid_tensor *t = next(s, g, from, st);
        const char *words = strcmp(want, "end") == 0 ? "End of sequence" : *want == '!' ? want + 1 : NULL;
        if (words && (!st->code || !strstr(st->message, words)))
            fail_msg("%s: wanted '%s', got '%s'", r->name, want, st->code ? st->message : "an element");
        if (!words && st->code) fail_msg("%s: wanted %s, got '%s'", r->name, want, st->message);
        // An error of an element belongs to the dataset, which the message need not name.
        if (*want == '!') op_row_note_failed(g, st->message, "d");
        if (!words) print_element(t, got, sizeof got);
        if (!words && strcmp(want, "*") != 0 && strcmp(want, got) != 0)
            fail_msg("%s: wanted %s, got %s", r->name, want, got);
        braid_tensor_free(t);
    }
    op_row_note_ran(braid_graph_find(g, from));
}

// ---- Rows that something is wrong with ----

// Returns `text` with [from, from + len) replaced.
static inline char *replaced(const char *text, const char *from, size_t len, const char *by)
{
    return bd_asprintf("%.*s%s%s", (int)(from - text), text, by, from + len);
}

// The node that "make" runs, or the graph before it, is refused.
static inline void expect_refused_row(const row *r, const char *nodes, const char *words,
                                      const op_row *inputs)
{
    BD_STATUS(st);
    braid_graph *g = import_graph(nodes, st);
    if (st->code) {
        if (!strstr(st->message, "Shape must be rank 0 but is rank 1"))
            fail_msg("%s without '%s': '%s'", r->name, words, st->message);
        char op[64];
        assert_int_equal(sscanf(strstr(nodes, "node { name: 'd' "), "node { name: 'd' op: '%63[^']", op), 1);
        op_row_note_error(inputs, op);
        braid_graph_free(g);
        return;
    }
    braid_session *s = open_session(g);
    run_target(s, g, "make", st);
    if (!st->code || !strstr(st->message, words)) fail_msg("%s: '%s', not '%s'", r->name, st->message, words);
    op_row_note_failed(g, st->message, "d");
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

// With each function of the last data set missing, one after the other.
static inline void run_without_functions(const row *r)
{
    const char *at = strstr(r->nodes, "node { name: 'd' "), *end = at ? strstr(at + 1, "node { ") : NULL;
    for (at = at ? strstr(at, "func { name: '") : NULL; at && (!end || at < end);
         at = strstr(at + 1, "func { name: '")) {
        const char *name = strchr(at, '\'') + 1;
        char *nodes = replaced(r->nodes, name, strcspn(name, "'"), "nowhere");
        expect_refused_row(r, nodes, "nowhere is not defined", NULL);
        bd_free(nodes);
    }
}

// With a vector, and with no elements, for each scalar.
static inline void run_without_scalars(const row *r)
{
    const char *rest = r->scalars, *piece;
    size_t len;
    while (rest && bd_split_next(&rest, ';', &piece, &len)) {
        char one[96], node[64], words[96];
        snprintf(one, sizeof one, "%.*s", (int)len, piece);
        const char *name = one + strspn(one, " "), *argument = strchr(name, ' ') + 1;
        snprintf(node, sizeof node, "node { name: '%.*s' op: 'Const' ", (int)(argument - 1 - name), name);
        snprintf(words, sizeof words, "%s must be a scalar", argument);
        const char *at = strstr(r->nodes, node), *shape = at ? strstr(at, "tensor_shape { }") : NULL;
        if (!shape) fail_msg("%s has no scalar '%s'", r->name, name);
        for (int i = 0; i < 2; i++) {
            static const op_row inputs[] = {{"-e"}, {"-n"}};
            char *nodes =
                replaced(r->nodes, shape, strlen("tensor_shape { }"),
                         i ? "tensor_shape { dim { size: 2 } }" : "tensor_shape { dim { size: 0 } }");
            expect_refused_row(r, nodes, words, &inputs[i]);
            bd_free(nodes);
        }
    }
}

// Runs each row twice, with the iterator initialized again. Then runs it with wrong inputs.
static inline void run_rows(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const row *r = &rows[i];
        braid_graph *g = read_graph(r->name, r->nodes);
        braid_session *s = open_session(g);
        for (int k = 0; k < 2; k++) {
            BD_STATUS(st);
            run_target(s, g, "make", st);
            if (*r->want == '?') {
                if (!st->code || !strstr(st->message, r->want + 1))
                    fail_msg("%s: '%s'", r->name, st->message);
                op_row_note_failed(g, st->message, NULL);
                continue;
            }
            if (st->code) fail_msg("%s: %s", r->name, st->message);
            op_row_note_ran(braid_graph_find(g, "make"));
            check_elements(r, s, g, "next");
        }
        braid_session_close(s, NULL);
        braid_graph_free(g);
        if (*r->want != '?') run_without_functions(r);
        run_without_scalars(r);
    }
}

#endif
