// Libraries of functions: equal definitions, reachability, keys of instances, bodies.
#include "graph/function.h"

#include "base/wire.h"
#include "graph/attr_wire.h"
#include "graph/function_internal.h"
#include "graph/testing/test_ops.h"

#include <stdio.h>
#include <stdlib.h>

// A function of float x that gives float y: the body is nodes and ret as text.
#define FUNCTION(NAME, BODY)                                                                                 \
    "function { signature { name: '" NAME "' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' " \
    "type: DT_FLOAT } } " BODY " } "
#define T "attr { key: 'T' value { type: DT_FLOAT } } "
#define NEG                                                                                                  \
    FUNCTION("neg", "node_def { name: 'n' op: 'Neg' input: 'x' " T "} ret { key: 'y' value: 'n:y:0' } ")
#define CALLS_NEG                                                                                            \
    FUNCTION("calls", "node_def { name: 'c' op: 'neg' input: 'x' } ret { key: 'y' value: 'c:y:0' } ")
#define ATTRS(A, B) "attr { key: '" A "' value { i: 1 } } attr { key: '" B "' value { i: 1 } } "
#define HANDLE(A, NAME)                                                                                      \
    "attr { key: '" A                                                                                        \
    "' value { tensor { dtype: DT_RESOURCE tensor_shape { } resource_handle_val { name: '" NAME "' } } } } "
#define VARIANT(A, VALUE)                                                                                    \
    "attr { key: '" A "' value { tensor { dtype: DT_VARIANT tensor_shape { } " VALUE " } } } "
// Lists of at most 5 scalars: of one int32, of one list, of one place that is not set.
#define LIST(METADATA, ELEMENT)                                                                              \
    "variant_val { type_name: 'tensorflow::TensorList' metadata: '" METADATA "' " ELEMENT " } "
#define LIST_OF_INT(VALUE)                                                                                   \
    LIST("\\000\\003\\005", "tensors { dtype: DT_INT32 tensor_shape { } int_val: " VALUE " } ")
#define LIST_OF_LIST(INNER)                                                                                  \
    LIST("\\000\\025\\005", "tensors { dtype: DT_VARIANT tensor_shape { } " INNER " } ")
#define LIST_OF_NOTHING LIST("\\001\\000\\003\\005", "")
#define IDENTITY_WITH(ATTRS_) FUNCTION("same", ATTRS_ "ret { key: 'y' value: 'x' } ")

static void import(braid_graph *g, const char *text, braid_status *st)
{
    char *quoted = strdup(text);
    for (char *p = quoted; *p; p++)
        if (*p == '\'') *p = '"';
    braid_graph_import_text(g, quoted, strlen(quoted), st);
    free(quoted);
}

static void equal_definitions_may_repeat(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second, *words; // words NULL: fine
    } rows[] = {
        {NEG, NEG, NULL},
        {NEG, FUNCTION("neg", "ret { key: 'y' value: 'x' } "), "a different function with the same name"},
        {IDENTITY_WITH(ATTRS("a", "b")), IDENTITY_WITH(ATTRS("b", "a")), NULL},
        {IDENTITY_WITH(ATTRS("a", "b")), IDENTITY_WITH(ATTRS("a", "c")), "a different function"},
        {IDENTITY_WITH(HANDLE("h", "x") ATTRS("a", "b")), IDENTITY_WITH(ATTRS("a", "b") HANDLE("h", "x")),
         NULL},
        {IDENTITY_WITH(HANDLE("h", "x") ATTRS("a", "b")), IDENTITY_WITH(ATTRS("a", "b") HANDLE("h", "y")),
         "a different function"},
        // Variants too: one without a value, lists.
        {IDENTITY_WITH(VARIANT("v", "") ATTRS("a", "b")), IDENTITY_WITH(ATTRS("a", "b") VARIANT("v", "")),
         NULL},
        {IDENTITY_WITH(VARIANT("v", LIST_OF_LIST(LIST_OF_INT("7"))) ATTRS("a", "b")),
         IDENTITY_WITH(ATTRS("a", "b") VARIANT("v", LIST_OF_LIST(LIST_OF_INT("7")))), NULL},
        {IDENTITY_WITH(VARIANT("v", LIST_OF_LIST(LIST_OF_INT("7"))) ATTRS("a", "b")),
         IDENTITY_WITH(ATTRS("a", "b") VARIANT("v", LIST_OF_LIST(LIST_OF_INT("8")))), "a different function"},
        {IDENTITY_WITH(VARIANT("v", LIST_OF_NOTHING) ATTRS("a", "b")),
         IDENTITY_WITH(ATTRS("a", "b") VARIANT("v", LIST_OF_NOTHING)), NULL},
        {IDENTITY_WITH(VARIANT("v", LIST_OF_NOTHING) ATTRS("a", "b")),
         IDENTITY_WITH(ATTRS("a", "b") VARIANT("v", LIST_OF_INT("7"))), "a different function"},
        {IDENTITY_WITH(VARIANT("v", LIST_OF_NOTHING) ATTRS("a", "b")),
         IDENTITY_WITH(ATTRS("a", "b") VARIANT("v", "")), "a different function"},
        {FUNCTION(
             "two",
             "node_def { name: 'a' op: 'NoOp' } node_def { name: 'b' op: 'NoOp' } ret { key: 'y' value: 'x' } "),
         FUNCTION(
             "two",
             "node_def { name: 'b' op: 'NoOp' } node_def { name: 'a' op: 'NoOp' } ret { key: 'y' value: 'x' } "),
         NULL},
        {"", FUNCTION("Neg", ""), "an op with the same name already exists"},
        {NEG "gradient { function_name: 'neg' gradient_func: 'g' } ",
         "gradient { function_name: 'neg' gradient_func: 'g' } ", NULL},
        {NEG "gradient { function_name: 'neg' gradient_func: 'g' } ",
         "gradient { function_name: 'neg' gradient_func: 'h' } ",
         "because it already has gradient function 'g'"},
        {"", "function { signature { input_arg { name: 'x' type: DT_FLOAT } } } ",
         "the missing name of function"},
        {"", "function { signature { name: 'f' input_arg { name: 'x' } } } ", "an argument without a type"},
        {"", "function { signature { name: 'f' input_arg { name: 'x' type_attr: 'T' } } } ",
         "an argument whose attr"},
        {"", "function { signature { name: 'f' attr { name: 'T' type: 'colour' } } } ",
         "an attr of function 'f'"},
        {"", "function { signature { name: 'f' } node_def { name: 'n' } } ",
         "a node without a name or an op"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        char *first = bd_asprintf("library { %s }", rows[i].first),
             *second = bd_asprintf("library { %s }", rows[i].second);
        import(g, first, st);
        assert_ok(st);
        const bd_library *before = g->library;
        import(g, second, st);
        if (rows[i].words) {
            assert_error(st, BRAID_INVALID_ARGUMENT, rows[i].words);
            assert_ptr_equal(g->library, before);
        } else {
            assert_ok(st);
        }
        braid_graph_free(g);
        bd_free(first);
        bd_free(second);
    }
}

static void a_failed_import_adds_no_function(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    import(g, "library { " NEG " } node { name: 'x' op: 'neg' input: 'nowhere' }", st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Unknown input node 'nowhere'");
    assert_null(g->library);
    braid_graph_free(g);
}

static void only_reachable_functions_are_copied(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    import(
        g,
        "library { " NEG CALLS_NEG FUNCTION("unused", "") FUNCTION("gradient", "") FUNCTION(
            "in_attr",
            "") "gradient { function_name: 'neg' gradient_func: 'gradient' } } "
                "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } "
                "node { name: 'y' op: 'calls' input: 'x' attr { key: '_f' value { list { func { name: 'in_attr' } } } } } ",
        st);
    assert_ok(st);
    bd_library *l = bd_library_reachable(g->library, g);
    assert_int_equal(bd_map_count(&l->functions), 4);
    assert_null(bd_library_find(l, "unused"));
    assert_string_equal(bd_library_gradient(l, "neg"), "gradient");
    bd_library_unref(l);
    braid_graph *none = braid_graph_new();
    assert_null(bd_library_reachable(g->library, none));
    braid_graph_free(none);
    braid_graph_free(g);
}

// A chain of gradients of gradients, far longer than a stack is deep.
static void long_chains_of_gradients_do_not_overflow_the_stack(void **state)
{
    (void)state;
    enum {
        LENGTH = 200000
    };
    BD_STATUS(st);
    bd_message m;
    bd_wire_writer w;
    bd_message_init(&m);
    bd_wire_writer_init(&w, &m);
    for (int i = 0; i < LENGTH; i++) {
        char from[16], to[16];
        const int a = snprintf(from, sizeof from, "f%d", i), b = snprintf(to, sizeof to, "f%d", i + 1);
        bd_wire_put_tag(&w, 2, BD_WIRE_BYTES);
        bd_wire_put_varint(&w, bd_wire_bytes_size((size_t)a) + bd_wire_bytes_size((size_t)b));
        bd_wire_put_bytes(&w, 1, from, (size_t)a);
        bd_wire_put_bytes(&w, 2, to, (size_t)b);
    }
    bd_wire_writer_finish(&w);
    bd_bytes bytes = {.data = malloc(m.bytes), .len = m.bytes};
    bd_message_gather(&m, (char *)bytes.data);
    braid_graph *g = braid_graph_new();
    bd_library_extend(NULL, &bytes, 1, &g->library, st);
    assert_ok(st);
    import(g, "node { name: 'x' op: 'f0' }", st);
    assert_ok(st);
    bd_library *l = bd_library_reachable(g->library, g);
    assert_int_equal(bd_map_count(&l->gradients), LENGTH);
    bd_library_unref(l);
    free((char *)bytes.data);
    bd_message_fini(&m);
    braid_graph_free(g);
}

static void the_key_of_an_instance_has_its_attrs(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_arena arena = {0};
    bd_attr_tensors tensors = {0};
    bd_named_attr a = {.name = "a", .value = {.kind = BD_ATTR_INT, .i = 1}},
                  b = {.name = "b", .value = {.kind = BD_ATTR_TYPE, .type = BRAID_FLOAT}};
    const bd_named_attr ab[] = {a, b}, ba[] = {b, a};
    const bd_func x = {.name = "f", .attrs = ab, .attr_count = 2},
                  y = {.name = "f", .attrs = ba, .attr_count = 2};
    const bd_bytes p = bd_func_bytes(&x, &arena), q = bd_func_bytes(&y, &arena);
    bd_func back;
    assert_int_equal(bd_func_parse(&q, &arena, &tensors, &back, st), BRAID_OK);
    const bd_bytes again = bd_func_bytes(&back, &arena);
    assert_int_equal(again.len, p.len);
    assert_memory_equal(again.data, p.data, p.len); // sorted when it is read
    const bd_bytes cut = {.data = p.data, .len = p.len - 1};
    assert_int_equal(bd_func_parse(&cut, &arena, &tensors, &back, st), BRAID_INVALID_ARGUMENT);
    bd_array_free(&tensors);
    bd_arena_fini(&arena);
}

static void a_body_has_args_and_retvals(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    import(g,
           "library { " FUNCTION(
               "f", "node_def { name: 'n' op: 'Neg' input: 'x' " T "} "
                    "node_def { name: 'unused' op: 'Neg' input: 'n:y:0' " T "} "
                    "node_def { name: 'kept' op: 'NoOp' input: '^n' } "
                    "ret { key: 'y' value: 'n:y:0' } control_ret { key: 'k' value: 'kept' } ") "}",
           st);
    assert_ok(st);
    bd_function_body body;
    bd_function_instantiate(g->library, &(bd_func){.name = "f"}, &body, st);
    if (st->code) fail_msg("%s", braid_status_message(st));
    assert_int_equal(body.arg_count, 1);
    assert_int_equal(body.ret_types[0], BRAID_FLOAT);
    assert_non_null(braid_graph_find(body.graph, "kept"));
    assert_null(braid_graph_find(body.graph, "unused"));
    assert_string_equal(braid_graph_find(body.graph, "y_RetVal")->inputs[0].op->name, "n");
    bd_function_body_fini(&body);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_definitions_may_repeat),
        cmocka_unit_test(a_failed_import_adds_no_function),
        cmocka_unit_test(only_reachable_functions_are_copied),
        cmocka_unit_test(long_chains_of_gradients_do_not_overflow_the_stack),
        cmocka_unit_test(the_key_of_an_instance_has_its_attrs),
        cmocka_unit_test(a_body_has_args_and_retvals),
    };
    return BD_RUN_TESTS(tests);
}
