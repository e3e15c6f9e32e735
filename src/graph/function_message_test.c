// Functions as messages: made of graphs, added to libraries, called by nodes, given back.
#include <braid/function.h>

#include "graph/testing/test_ops.h"
#include "proto/pack.h"
#include "proto/text_format.h"
#include "tensorflow/core/framework/function.pb-c.h"
#include <stdlib.h>

static char *text_of(const void *data, size_t len)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const ProtobufCMessage *m = bd_proto_unpack(&tensorflow__function_def__descriptor, data, len, arena, st);
    assert_ok(st);
    return bd_text_format_print(m);
}

static braid_out ph(braid_graph *g, const char *name)
{
    return test_placeholder(g, name, BRAID_FLOAT, BRAID_SCALAR);
}

// y = -(X * b), which waits for X.
static braid_graph *sample(braid_out inputs[2], braid_out *y)
{
    braid_graph *g = braid_graph_new();
    inputs[0] = ph(g, "in/X");
    inputs[1] = ph(g, "b");
    braid_op_desc *d = braid_op_begin(g, "Neg", "b/neg");
    braid_op_input(d, bd_b2(g, "Mul", "in_x", inputs[0], inputs[1]));
    braid_op_control(d, inputs[0].op);
    *y = braid_op_end_out(d);
    assert_graph_ok(g);
    return g;
}

#define FLOAT_ARG(WHICH, NAME) "  " WHICH "_arg {\n    name: \"" NAME "\"\n    type: DT_FLOAT\n  }\n"
#define T_FLOAT "  attr {\n    key: \"T\"\n    value {\n      type: DT_FLOAT\n    }\n  }\n"

static void a_graph_becomes_a_function(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_out inputs[2], y;
    braid_graph *g = sample(inputs, &y);
    const braid_function_body body = {.name = "f",
                                      .description = "says what",
                                      .inputs = inputs,
                                      .input_count = 2,
                                      .outputs = &y,
                                      .output_count = 1};
    size_t len;
    void *data = braid_graph_to_function(g, &body, &len, st);
    assert_ok(st);
    char *text = text_of(data, len);
    // Names are made of lower-case letters, digits and '_', and unique: in_x is an argument.
    assert_string_equal(
        text, "signature {\n  name: \"f\"\n" FLOAT_ARG("input", "in_x") FLOAT_ARG("input", "b")
                  FLOAT_ARG("output", "b_neg") "  description: \"says what\"\n}\n"
                                               "node_def {\n  name: \"in_x_0\"\n  op: \"Mul\"\n"
                                               "  input: \"in_x\"\n  input: \"b\"\n" T_FLOAT "}\n"
                                               "node_def {\n  name: \"b/neg\"\n  op: \"Neg\"\n"
                                               "  input: \"in_x_0:z:0\"\n  input: \"^in_x\"\n" T_FLOAT "}\n"
                                               "ret {\n  key: \"b_neg\"\n  value: \"b/neg:y:0\"\n}\n");
    bd_free(text);
    free(data);
    braid_graph_free(g);
}

static void results_may_be_named_and_nodes_chosen(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_out inputs[2], y;
    braid_graph *g = sample(inputs, &y);
    const braid_out product = braid_op_get_input(y.op, 0), outputs[] = {product, inputs[0]};
    const braid_function_body body = {.name = "f",
                                      .inputs = inputs,
                                      .input_count = 2,
                                      .outputs = outputs,
                                      .output_count = 2,
                                      .output_names = (const char *const[]){"p", "in_x"},
                                      .ops = &product.op,
                                      .op_count = 1};
    size_t len;
    void *data = braid_graph_to_function(g, &body, &len, st);
    assert_ok(st);
    char *text = text_of(data, len);
    assert_non_null(strstr(text, "ret {\n  key: \"p\"\n  value: \"in_x_1:z:0\"\n}\n"));
    assert_non_null(strstr(text, "ret {\n  key: \"in_x\"\n  value: \"in_x_0\"\n}\n"));
    assert_null(strstr(text, "Neg"));
    bd_free(text);
    free(data);
    braid_graph_free(g);
}

static void a_body_must_be_whole(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_out inputs[2], y, v;
    braid_graph *g = sample(inputs, &y);
    v = test_variable(g, "v", BRAID_FLOAT, BRAID_SCALAR);
    braid_op_desc *d = braid_op_begin(g, "Split", "split");
    braid_op_input(d, inputs[1]);
    braid_op_attr_int(d, "num_split", 2);
    braid_op *split = braid_op_end(d);
    const braid_out twice[] = {inputs[0], inputs[0]}, part = braid_output(split, 1);
    const braid_out wrong = {.op = y.op, .index = 1};
    const char *const bad[] = {"1 2"}, *const same[] = {"r", "r"};
    const struct {
        braid_function_body body;
        const char *words;
    } rows[] = {
        {{.name = "a b"}, "'a b' is not a valid name of a function"},
        {{.name = "f", .outputs = &wrong, .output_count = 1}, "Function 'f': output 0 is no output"},
        {{.name = "f", .inputs = twice, .input_count = 2}, "'in/X:0' appears twice in the input list"},
        {{.name = "f", .inputs = &v, .input_count = 1}, "input 0, 'v:0', is a reference"},
        {{.name = "f", .inputs = &part, .input_count = 1}, "only 1 of the 2 outputs of 'split' are inputs"},
        {{.name = "f", .outputs = &y, .output_count = 1, .ops = &y.op, .op_count = 1},
         "Input 0, 'in_x:0', of node 'b/neg' is not available"},
        {{.name = "f", .inputs = inputs, .input_count = 1, .ops = &inputs[0].op, .op_count = 1},
         "node 'in/X' is an input"},
        {{.name = "f", .outputs = &y, .output_count = 1, .ops = &v.op, .op_count = 1},
         "output 0, 'b/neg:0', is not in the body"},
        {{.name = "f", .outputs = &y, .output_count = 1, .output_names = bad}, "output 0 has no valid name"},
        {{.name = "f", .outputs = inputs, .output_count = 2, .output_names = same},
         "two outputs are called 'r'"},
        {{.name = "f", .output_count = -1}, "0 outputs"},
    };
    size_t len;
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        assert_null(braid_graph_to_function(g, &rows[i].body, &len, st));
        assert_error(st, BRAID_INVALID_ARGUMENT, rows[i].words);
    }
    assert_null(braid_graph_to_function(g, NULL, &len, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "not a valid name");
    braid_graph_free(g);
}

static void a_function_moves_between_graphs_and_is_called(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_out inputs[2], y;
    braid_graph *body = sample(inputs, &y), *g = braid_graph_new();
    size_t len, given_len;
    void *data = braid_graph_to_function(
        body,
        &(braid_function_body){
            .name = "f", .inputs = inputs, .input_count = 2, .outputs = &y, .output_count = 1},
        &len, st);
    braid_graph_free(body);
    assert_int_equal(braid_graph_add_function(g, data, len, NULL, st), BRAID_OK);
    assert_int_equal(braid_graph_add_function(g, data, len, "df", st), BRAID_OK); // again, with a gradient
    const char *names[2] = {NULL};
    assert_int_equal(braid_graph_functions(g, names, 2), 1);
    assert_string_equal(names[0], "f");
    assert_string_equal(braid_function_gradient(g, "f"), "df");
    assert_null(braid_function_gradient(g, "df"));
    void *given = braid_function_def(g, "f", &given_len, st);
    assert_int_equal(given_len, len);
    assert_memory_equal(given, data, len);
    const braid_out x = ph(g, "x");
    const braid_out call = bd_b2(g, "f", "call", x, x);
    assert_graph_ok(g);
    assert_int_equal(braid_out_dtype(call), BRAID_FLOAT);
    assert_null(bd_b1(g, "f", "wrong", x).op);
    braid_graph_take_error(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Node 'wrong' (op: 'f'): takes 2 inputs, but got 1");
    free(given);
    free(data);
    braid_graph_free(g);
}

static void a_library_refuses_what_contradicts_it(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_out inputs[2], y;
    braid_graph *g = sample(inputs, &y);
    size_t len, other_len;
    const braid_function_body body = {
        .name = "f", .inputs = inputs, .input_count = 2, .outputs = &y, .output_count = 1};
    braid_function_body other = body, op = body;
    other.outputs = inputs;
    op.name = "Neg";
    void *data = braid_graph_to_function(g, &body, &len, st);
    void *same_name = braid_graph_to_function(g, &other, &other_len, st);
    braid_graph_add_function(g, data, len, "df", st);
    assert_ok(st);
    braid_graph_add_function(g, same_name, other_len, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "a different function with the same name");
    braid_graph_add_function(g, data, len, "dg", st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "already has gradient function 'df'");
    braid_graph_add_function(g, data, len, "", st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "The gradient function of 'f' has no name");
    braid_graph_add_function(g, data, len - 1, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Malformed GraphDef");
    braid_graph_add_function(g, NULL, 0, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "There is no FunctionDef");
    free(same_name);
    same_name = braid_graph_to_function(g, &op, &other_len, st);
    braid_graph_add_function(g, same_name, other_len, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "an op with the same name already exists");
    assert_int_equal(braid_graph_functions(g, NULL, 0), 1);
    assert_null(braid_function_def(g, "g", &len, st));
    assert_error(st, BRAID_NOT_FOUND, "The graph has no function 'g'");
    free(same_name);
    free(data);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_becomes_a_function),
        cmocka_unit_test(results_may_be_named_and_nodes_chosen),
        cmocka_unit_test(a_body_must_be_whole),
        cmocka_unit_test(a_function_moves_between_graphs_and_is_called),
        cmocka_unit_test(a_library_refuses_what_contradicts_it),
    };
    return BD_RUN_TESTS(tests);
}
