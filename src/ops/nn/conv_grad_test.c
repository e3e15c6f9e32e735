// Tests of the gradients of Conv2D: values by finite differences, and the nodes of the graph.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {.op = "Conv2D",
         .attrs = "strides=[1,1,2,1]; padding=SAME",
         .inputs = "double[1,2,3,2] 1 -2 3 0.5 1 -1 2 0.25 1 1 -3 2; double[2,2,2,1] 1 2 -1 0.5 1 -2 3 1"},
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=VALID; data_format=NCHW",
         .inputs = "double[1,2,3,2] 1 -2 3 0.5 1 -1 2 0.25 1 1 -3 2; double[2,2,2,1] 1 2 -1 0.5 1 -2 3 1"},
        {.op = "Conv2D",
         .attrs =
             "strides=[1,1,1,1]; padding=EXPLICIT; explicit_paddings=[0,0,1,0,0,1,0,0]; dilations=[1,2,1,1]",
         .inputs = "double[1,3,2,1] 1 -2 3 0.5 1 -1; double[2,2,1,2] 1 2 -1 0.5 1 -2 3 1"},
        {.op = "Conv2DBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[4] 1 3 2 1; double[2,2,1,1] 1 2 -1 0.5; double[1,2,1,1] 2 -3"},
        {.op = "Conv2DBackpropFilter",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "double[1,3,2,1] 1 -2 3 0.5 1 -1; int32[4] 2 2 1 1; double[1,2,1,1] 2 -3"},
    };
    OP_TEST_GRADIENTS(cases);
}

// The nodes are those of TensorFlow 1.15.
static void gradients_have_the_nodes_of_tensorflow(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op_desc *d = braid_op_begin(g, "Placeholder", "x");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", (braid_shape){.rank = 4, .dims = {-1, 28, 28, 1}});
    braid_out x = braid_op_end_out(d);
    d = braid_op_begin(g, "VariableV2", "w");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", (braid_shape){.rank = 4, .dims = {5, 5, 1, 32}});
    braid_out w = braid_op_end_out(d), grads[2];
    d = braid_op_begin(g, "Conv2D", NULL);
    braid_op_input(d, x);
    braid_op_input(d, w);
    braid_op_attr_int_list(d, "strides", (int64_t[]){1, 1, 1, 1}, 4);
    braid_op_attr_string(d, "padding", "SAME");
    braid_out y = braid_op_end_out(d);
    braid_gradients(g, &y, 1, (braid_out[]){x, w}, 2, NULL, grads);
    assert_int_equal(braid_graph_status(g, st), BRAID_OK);
    static const char *const nodes[][3] = {
        {"gradients/Conv2D_grad/ShapeN", "ShapeN", "x"},
        {"gradients/Conv2D_grad/Conv2DBackpropInput", "Conv2DBackpropInput", "gradients/Conv2D_grad/ShapeN"},
        {"gradients/Conv2D_grad/Conv2DBackpropFilter", "Conv2DBackpropFilter", "x"},
    };
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        braid_op *n = braid_graph_find(g, nodes[i][0]);
        assert_non_null(n);
        assert_string_equal(n->op_type, nodes[i][1]);
        assert_string_equal(n->inputs[0].op->name, nodes[i][2]);
    }
    assert_string_equal(bd_node_attr_string(braid_graph_find(g, nodes[1][0]), "padding"), "SAME");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(gradients_have_the_nodes_of_tensorflow),
    };
    return BD_RUN_TESTS(tests);
}
