// Tests of the nodes that gradients of array ops consist of: their names and order are those of TensorFlow
// 1.3's Python.
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

typedef struct names_case {
    const char *op, *attrs;
    const char *inputs[4]; // types and shapes; the first is differentiated; "= ..." is a constant
    int count, by;         // the input that is differentiated
    const char *want;      // the nodes of the op's gradient, "name op" each
} names_case;

static braid_out make_input(braid_graph *g, const char *text)
{
    bool is_constant = text[0] == '=';
    braid_op_desc *d = braid_op_begin(g, is_constant ? "Const" : "Placeholder", is_constant ? "c" : "x");
    if (is_constant) {
        braid_tensor value;
        op_test_tensor(&value, text + 2);
        braid_op_attr_type(d, "dtype", value.dtype);
        braid_op_attr_tensor(d, "value", &value);
        bd_tensor_fini(&value);
    } else {
        braid_shape shape;
        assert_true(bd_shape_parse(text, &shape));
        braid_op_attr_type(d, "dtype", BRAID_FLOAT);
        braid_op_attr_shape(d, "shape", shape);
    }
    return braid_op_end_out(d);
}

static void check(const names_case *c)
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out in[4], grad;
    for (int i = 0; i < c->count; i++)
        in[i] = make_input(g, c->inputs[i]);
    braid_out y = {op_test_node(g, c->op, c->attrs, in, c->count), 0};
    braid_gradients(g, &y, 1, &in[c->by], 1, NULL, &grad);
    braid_graph_status(g, st);
    assert_ok(st);
    assert_non_null(grad.op);
    bd_strbuf got = {0}, prefix = {0};
    bd_strbuf_appendf(&prefix, "gradients/%s_grad/", c->op);
    for (int i = 0; i < braid_graph_num_ops(g); i++) {
        braid_op *op = braid_graph_op(g, i);
        if (!bd_str_starts_with(op->name, bd_strbuf_str(&prefix))) continue;
        if (strstr(op->name, "/tuple/")) continue; // of the walk, not of the op
        bd_strbuf_appendf(&got, "%s%s %s", got.len ? ", " : "", op->name + prefix.len, op->op_type);
    }
    assert_string_equal(bd_strbuf_str(&got), c->want);
    bd_strbuf_fini(&got);
    bd_strbuf_fini(&prefix);
    braid_graph_free(g);
}

static void gradient_nodes_have_the_names_of_tensorflow(void **state)
{
    (void)state;
    static const names_case cases[] = {
        {"Reshape", NULL, {"[2,3]", "= int32[1] -1"}, 2, 0, "Shape Const, Reshape Reshape"},
        {"Reshape", NULL, {"[?,3]", "= int32[1] -1"}, 2, 0, "Shape Shape, Reshape Reshape"},
        {"Squeeze", NULL, {"[2,1]"}, 1, 0, "Shape Const, Reshape Reshape"},
        {"Transpose",
         NULL,
         {"[2,3]", "= int32[2] 1 0"},
         2,
         0,
         "InvertPermutation InvertPermutation, transpose Transpose"},
        {"ConcatV2",
         NULL,
         {"[2,3]", "[4,3]", "= int32[] 0"},
         3,
         1,
         "Rank Const, mod FloorMod, Shape Const, Shape_1 Const, ConcatOffset ConcatOffset, Slice Slice, Slice_1 Slice"},
        {"ConcatV2",
         NULL,
         {"[2,3]", "[?,3]", "= int32[] 0"},
         3,
         1,
         "Rank Const, mod FloorMod, Shape Const, Shape_1 Shape, ShapeN ShapeN, ConcatOffset ConcatOffset, Slice Slice, "
         "Slice_1 Slice"},
        {"Pack", NULL, {"[2]", "[2]"}, 2, 0, "unstack Unpack"},
        {"Slice",
         NULL,
         {"[2,3]", "= int32[2] 0 1", "= int32[2] 2 2"},
         3,
         0,
         "Rank Const, Shape Const, stack/1 Const, stack Pack, Reshape Reshape, Shape_1 Const, sub Sub, sub_1 Sub, "
         "Reshape_1 Reshape, concat/axis Const, concat ConcatV2, Pad Pad"},
        {"StridedSlice",
         NULL,
         {"[?,3]", "= int32[1] 0", "= int32[1] 1", "= int32[1] 1"},
         4,
         0,
         "Shape Shape, StridedSliceGrad StridedSliceGrad"},
        {"Pad",
         NULL,
         {"[2]", "= int32[1,2] 1 1"},
         2,
         0,
         "Rank Const, stack/1 Const, stack Pack, Slice/begin Const, Slice Slice, Reshape/shape Const, Reshape Reshape, "
         "Shape Const, Slice_1 Slice"},
        {"Tile",
         NULL,
         {"[2,3]", "= int32[2] 1 2"},
         2,
         0,
         "Shape Const, stack Pack, transpose/perm Const, transpose Transpose, "
         "Reshape/shape Const, Reshape Reshape, Size Const, range/start Const, range/delta Const, "
         "range Range, Reshape_1 Reshape, Sum Sum"},
        // Rows: their conversion to a tensor is not the op's.
        {"Gather",
         NULL,
         {"[4,3]", "= int32[2] 0 2"},
         2,
         0,
         "Shape Const, Cast Cast, Size Const, ExpandDims/dim Const, ExpandDims ExpandDims, "
         "strided_slice/stack Const, strided_slice/stack_1 Const, strided_slice/stack_2 Const, "
         "strided_slice StridedSlice, concat/axis Const, concat ConcatV2, Reshape Reshape, "
         "Reshape_1 Reshape"},
        {"Fill", NULL, {"= int32[2] 2 3", "[]"}, 2, 1, "Const Const, Sum Sum"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++)
        check(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradient_nodes_have_the_names_of_tensorflow)};
    return BD_RUN_TESTS(tests);
}
