// Tests of the kernels of control flow ops. Frames and deadness are tested with the executor.
#include "base/testing/test.h"
#include "ops/testing/op_run.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Enter", .attrs = "frame_name=loop", .inputs = "float[2] 1 2", .want = "float[2] 1 2"},
        {.op = "RefEnter", .attrs = "frame_name=loop", .inputs = "ref float[2] 1 2", .want = "float[2] 1 2"},
        {.op = "Exit", .inputs = "int32[] 3", .want = "int32[] 3"},
        {.op = "RefExit", .inputs = "ref int32[] 3", .want = "int32[] 3"},
        {.op = "NextIteration", .inputs = "string[1] a", .want = "string[1] a"},
        {.op = "RefNextIteration", .inputs = "ref float[] 3", .want = "float[] 3"},
        {.op = "LoopCond", .inputs = "bool[] true", .want = "bool[] true"},
        {.op = "ControlTrigger", .inputs = "", .want = ""},
        {.op = "Merge", .inputs = "float[] 3", .want = "float[] 3; int32[] 0"},
        {.op = "RefMerge", .inputs = "ref float[] 3", .want = "float[] 3; int32[] 0"},
        {.op = "Switch",
         .inputs = "float[] 3; bool[1] true",
         .want = "InvalidArgument: must be a scalar, but it has shape [1]"},
        {.op = "Abort", .attrs = "error_msg=enough", .inputs = "", .want = "Aborted: enough"},
        {.op = "Assert", .inputs = "bool[] true; int32[] 1", .want = ""},
        {.op = "Assert",
         .inputs = "bool[] false; string[] bad; int32[4] 1 2 3 4; float[2] 0.5 2",
         .want = "InvalidArgument: assertion failed: [bad] [1 2 3...] [0.5 2]"},
        // As TensorFlow's Tensor::SummarizeValue writes them.
        {.op = "Assert",
         .attrs = "summarize=4",
         .inputs = "bool[] false; int32[2,3] 1 2 3 4 5 6; bool[2] true false; float[2] 0.1 16777217",
         .want = "InvalidArgument: assertion failed: [[1 2 3][4...]...] [1 0] [0.1 16777216]"},
        {.op = "Assert",
         .attrs = "summarize=-1",
         .inputs = "bool[] false; int32[2,2,1] 1 2 3 4; float[0]; string[1,2] a b; double[] 2",
         .want = "InvalidArgument: assertion failed: [[[1][2]][[3][4]]] [] [[a b]] [2]"},
        {.op = "Assert",
         .attrs = "summarize=0",
         .inputs = "bool[] false; int32[] 1",
         .want = "InvalidArgument: assertion failed: [...]"},
        {.op = "Assert",
         .inputs = "bool[] false; string[] it's\\x0a\\x01",
         .want = "InvalidArgument: assertion failed: [it\\'s\\n\\001]"},
        {.op = "Assert", .inputs = "bool[1] false; int32[] 1", .want = "InvalidArgument: should be a scalar"},
        {.op = "Print", .attrs = "first_n=0", .inputs = "float[2] 1 2; int32[] 1", .want = "float[2] 1 2"},
        {.op = "Enter", .attrs = "frame_name=loop", .inputs = "float[] 3", .want = "float[] 3"},
        {.op = "Enter", .attrs = "frame_name=loop", .inputs = "string[2] a b", .want = "string[2] a b"},
        {.op = "Enter", .attrs = "frame_name=loop", .inputs = "int32[2,0]", .want = "int32[2,0]"},
        {.op = "Exit", .inputs = "float[] 3", .want = "float[] 3"},
        {.op = "Exit", .inputs = "string[2] a b", .want = "string[2] a b"},
        {.op = "Exit", .inputs = "int32[2,0]", .want = "int32[2,0]"},
        {.op = "NextIteration", .inputs = "float[] 3", .want = "float[] 3"},
        {.op = "NextIteration", .inputs = "string[2] a b", .want = "string[2] a b"},
        {.op = "NextIteration", .inputs = "int32[2,0]", .want = "int32[2,0]"},
        {.op = "RefEnter", .attrs = "frame_name=loop", .inputs = "ref float[] 3", .want = "float[] 3"},
        {.op = "RefEnter", .attrs = "frame_name=loop", .inputs = "ref int32[2] 3 4", .want = "int32[2] 3 4"},
        {.op = "RefEnter",
         .attrs = "frame_name=loop",
         .inputs = "ref int32[2,0] empty",
         .want = "int32[2,0]"},
        {.op = "RefEnter",
         .attrs = "frame_name=loop",
         .inputs = "float[] 3",
         .want = "InvalidArgument: was passed float from Placeholder:0 incompatible with expected float_ref"},
        {.op = "RefExit", .inputs = "ref float[] 3", .want = "float[] 3"},
        {.op = "RefExit", .inputs = "ref int32[2] 3 4", .want = "int32[2] 3 4"},
        {.op = "RefExit", .inputs = "ref int32[2,0] empty", .want = "int32[2,0]"},
        {.op = "RefExit",
         .inputs = "float[] 3",
         .want = "InvalidArgument: was passed float from Placeholder:0 incompatible with expected float_ref"},
        {.op = "RefNextIteration", .inputs = "ref float[] 3", .want = "float[] 3"},
        {.op = "RefNextIteration", .inputs = "ref int32[2] 3 4", .want = "int32[2] 3 4"},
        {.op = "RefNextIteration", .inputs = "ref int32[2,0] empty", .want = "int32[2,0]"},
        {.op = "RefNextIteration",
         .inputs = "float[] 3",
         .want = "InvalidArgument: was passed float from Placeholder:0 incompatible with expected float_ref"},
        {.op = "LoopCond",
         .inputs = "int32[] 1",
         .want = "InvalidArgument: was passed int32 from Placeholder:0 incompatible with expected bool"},
        {.op = "Merge", .inputs = "float[0]", .want = "float[0]; int32[] 0"},
        {.op = "Merge",
         .attrs = "N=0; T=float",
         .inputs = "",
         .want = "InvalidArgument: Value for attr 'N' of 0 must be at least minimum 1"},
        {.op = "RefMerge", .inputs = "ref float[0] empty", .want = "float[0]; int32[] 0"},
        {.op = "RefMerge",
         .inputs = "float[] 1",
         .want = "InvalidArgument: incompatible with expected float_ref"},
        {.op = "Print", .attrs = "first_n=0", .inputs = "int32[]  4; float[0]", .want = "int32[] 4"},
        {.op = "Print", .attrs = "first_n=0; U=[]", .inputs = "string[0,2]", .want = "string[0,2]"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Switch", NULL, "[2,?]; bool[]", "[2,?]; [2,?]"},
        {"Switch", NULL, "[2,?]; bool[1]", "InvalidArgument: must be rank 0 but is rank 1"},
        {"Merge", NULL, "[2,3]; [2,4]", "[2,?]; []"},
        {"Merge", NULL, "[2,3]; [2]", "?; []"},
        {"Merge", NULL, "[2,3]; ?", "?; []"},
        {"Enter", "frame_name=loop; is_constant=true", "[2]", "[2]"},
        {"Enter", "frame_name=loop", "[2]", "?"},
        {"Exit", NULL, "[2]", "[2]"},
        {"LoopCond", NULL, "bool[]", "[]"},
        {"LoopCond", NULL, "bool[0]", "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"RefSwitch", NULL, "ref float[0]; bool[]", "[0]; [0]"},
        {"RefSwitch", NULL, "ref float[2]; bool[1]", "InvalidArgument: must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

// Runs a Switch and looks at which output is set.
static void check_switch(const char *op, const char *data, bool pred)
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_tensor value;
    op_test_tensor(&value, data);
    bool is_ref = strcmp(op, "RefSwitch") == 0;
    braid_out in[2];
    braid_op_desc *d = braid_op_begin(g, is_ref ? "VariableV2" : "Placeholder", NULL);
    braid_op_attr_type(d, "dtype", value.dtype);
    braid_op_attr_shape(d, "shape", value.shape);
    in[0] = braid_op_end_out(d);
    d = braid_op_begin(g, "Placeholder", NULL);
    braid_op_attr_type(d, "dtype", BRAID_BOOL);
    in[1] = braid_op_end_out(d);
    braid_op *node = op_test_node(g, op, NULL, in, 2);
    braid_graph_status(g, st);
    assert_ok(st);
    bd_value inputs[2] = {0}, outputs[2] = {0};
    if (is_ref)
        inputs[0].ref = bd_variable_new(value.dtype, true); // uninitialized, and forwarded nevertheless
    else
        bd_tensor_ref(&inputs[0].tensor, &value);
    op_test_tensor(&inputs[1].tensor, pred ? "bool[] true" : "bool[] false");
    bd_step step;
    op_step_init(&step);
    op_run_node(node, &step, inputs, outputs, st);
    assert_ok(st);
    assert_false(bd_tensor_is_set(&outputs[!pred].tensor) || outputs[!pred].ref);
    if (is_ref)
        assert_ptr_equal(outputs[pred].ref, inputs[0].ref);
    else
        assert_ptr_equal(outputs[pred].tensor.data, value.data);
    for (int i = 0; i < 2; i++) {
        bd_value_fini(&inputs[i]);
        bd_value_fini(&outputs[i]);
    }
    op_step_fini(&step);
    bd_tensor_fini(&value);
    braid_graph_free(g);
}

static void switch_sets_only_the_chosen_output(void **state)
{
    (void)state;
    check_switch("Switch", "float[2] 1 2", true);
    check_switch("Switch", "string[1] a", false);
    check_switch("Switch", "int32[2,0]", true);
    check_switch("Switch", "int32[] 7", false);
    check_switch("RefSwitch", "float[2] 1 2", true);
    check_switch("RefSwitch", "float[2] 1 2", false);
}

static void merge_takes_the_live_input(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out in[3];
    for (int i = 0; i < 3; i++) {
        braid_op_desc *d = braid_op_begin(g, "Placeholder", NULL);
        braid_op_attr_type(d, "dtype", BRAID_FLOAT);
        in[i] = braid_op_end_out(d);
    }
    braid_op *merge = op_test_node(g, "Merge", NULL, in, 3);
    bd_value inputs[3] = {0}, outputs[2] = {0};
    op_test_tensor(&inputs[2].tensor, "float[1] 7");
    bd_step step;
    op_step_init(&step);
    op_run_node(merge, &step, inputs, outputs, st);
    assert_ok(st);
    op_test_expect(&outputs[0].tensor, "float[1] 7", 0, "value");
    op_test_expect(&outputs[1].tensor, "int32[] 2", 0, "value_index");
    bd_value_fini(&inputs[2]);
    bd_value_fini(&outputs[0]);
    bd_value_fini(&outputs[1]);
    op_step_fini(&step);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(switch_sets_only_the_chosen_output),
        cmocka_unit_test(merge_takes_the_live_input),
    };
    return BD_RUN_TESTS(tests);
}
