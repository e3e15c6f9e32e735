// Tests of the nodes that gradients of mathematical ops build: names, types and edges are those of TensorFlow
// 1.15's Python.
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include <stdio.h>

typedef struct nodes_case {
    const char *op, *attrs;
    const char *inputs[3]; // "NAME DTYPE[SHAPE]": a placeholder; "NAME DTYPE[SHAPE] = VALUES": a constant
    // "NODE = OP(INPUTS)" of the gradient, without the op's scope; `grad` is the incoming gradient
    const char *want;
} nodes_case;

static braid_out make_input(braid_graph *g, const char *text)
{
    char name[16], type[32], shape_text[32] = "";
    const char *values = strstr(text, " = ");
    assert_true(sscanf(text, "%15s %31[a-z0-9]%31[^ =]", name, type, shape_text) >= 2);
    braid_dtype dtype = bd_dtype_parse(type, strlen(type));
    braid_op_desc *d = braid_op_begin(g, values ? "Const" : "Placeholder", name);
    braid_op_attr_type(d, "dtype", dtype);
    if (values) {
        char tensor_text[96];
        snprintf(tensor_text, sizeof tensor_text, "%s%s %s", type, shape_text, values + 3);
        braid_tensor value;
        op_test_tensor(&value, tensor_text);
        braid_op_attr_tensor(d, "value", &value);
        bd_tensor_fini(&value);
    } else {
        braid_shape shape = BD_SHAPE_UNKNOWN;
        assert_true(shape_text[0] == 0 || bd_shape_parse(shape_text, &shape));
        braid_op_attr_shape(d, "shape", shape);
    }
    return braid_op_end_out(d);
}

static void print_node(const braid_op *op, const char *scope, bd_strbuf *out)
{
    size_t scope_len = strlen(scope);
    bd_strbuf_appendf(out, "%s%s = %s(", out->len ? "; " : "", op->name + scope_len, op->op_type);
    for (int i = 0; i < op->input_count; i++) {
        const char *name = op->inputs[i].op->name;
        bd_strbuf_appendf(out, "%s%s", i ? ", " : "",
                          bd_str_starts_with(name, scope) ? name + scope_len : name);
        if (op->inputs[i].index) bd_strbuf_appendf(out, ":%d", op->inputs[i].index);
    }
    for (int i = 0; i < op->control_count; i++)
        bd_strbuf_appendf(out, "%s^%s", op->input_count || i ? ", " : "", op->controls[i]->name);
    bd_strbuf_append(out, ")");
}

static void check(const nodes_case *c)
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out in[3], grads[3];
    int count = 0;
    for (; count < 3 && c->inputs[count]; count++)
        in[count] = make_input(g, c->inputs[count]);
    braid_op *node = op_test_node(g, c->op, c->attrs, in, count);
    braid_graph_status(g, st);
    assert_ok(st);
    braid_op_desc *d = braid_op_begin(g, "Placeholder", "grad");
    braid_op_attr_type(d, "dtype", node->output_types[0]);
    braid_op_attr_shape(d, "shape", node->output_shapes[0]);
    braid_out y = {node, 0}, grad = braid_op_end_out(d);
    braid_gradients(g, &y, 1, in, count, &grad, grads);
    braid_graph_status(g, st);
    assert_ok(st);
    bd_strbuf got = {0}, scope = {0};
    bd_strbuf_appendf(&scope, "gradients/%s_grad/", node->name);
    for (int i = 0; i < braid_graph_num_ops(g); i++) {
        braid_op *op = braid_graph_op(g, i);
        bool is_of_op = bd_str_starts_with(op->name, bd_strbuf_str(&scope)) && !strstr(op->name, "/tuple/");
        if (is_of_op) print_node(op, bd_strbuf_str(&scope), &got);
    }
    assert_string_equal(bd_strbuf_str(&got), c->want);
    bd_strbuf_fini(&got);
    bd_strbuf_fini(&scope);
    braid_graph_free(g);
}

#define X "x float[?,3]"
#define Y "y float[?,3]"
#define PAIR                                                                                                 \
    "Shape = Shape(x); Shape_1 = Shape(y); BroadcastGradientArgs = BroadcastGradientArgs(Shape, Shape_1); "

static const nodes_case unary_cases[] = {
    {"Neg", NULL, {X}, "Neg = Neg(grad)"},
    {"Abs", NULL, {X}, "Sign = Sign(x); mul = Mul(grad, Sign)"},
    {"Sign", NULL, {X}, "Shape = Shape(x); zeros/Const = Const(); zeros = Fill(Shape, zeros/Const)"},
    {"Square", NULL, {X}, "Const = Const(^grad); Mul = Mul(x, Const); Mul_1 = Mul(grad, Mul)"},
    {"Sqrt", NULL, {X}, "SqrtGrad = SqrtGrad(Sqrt, grad)"},
    {"Rsqrt", NULL, {X}, "RsqrtGrad = RsqrtGrad(Rsqrt, grad)"},
    {"Reciprocal", NULL, {X}, "ReciprocalGrad = ReciprocalGrad(Reciprocal, grad)"},
    {"Exp", NULL, {X}, "mul = Mul(grad, Exp)"},
    {"Log", NULL, {X}, "Reciprocal = Reciprocal(x, ^grad); mul = Mul(grad, Reciprocal)"},
    {"Log1p",
     NULL,
     {X},
     "add/x = Const(^grad); add = AddV2(add/x, x); Reciprocal = Reciprocal(add); "
     "mul = Mul(grad, Reciprocal)"},
    {"Tanh", NULL, {X}, "TanhGrad = TanhGrad(Tanh, grad)"},
    {"TanhGrad",
     NULL,
     {X, Y},
     "mul/y = Const(^grad); mul = Mul(grad, mul/y); mul_1 = Mul(mul, y); mul_2 = Mul(mul_1, x); "
     "TanhGrad = TanhGrad(x, grad)"},
    {"Sigmoid", NULL, {X}, "SigmoidGrad = SigmoidGrad(Sigmoid, grad)"},
    {"SigmoidGrad",
     NULL,
     {X, Y},
     "mul = Mul(grad, y); mul_1/x = Const(^grad); mul_1 = Mul(mul_1/x, mul); mul_2 = Mul(mul_1, x); "
     "sub = Sub(mul, mul_2); SigmoidGrad = SigmoidGrad(x, grad)"},
    {"Relu", NULL, {X}, "ReluGrad = ReluGrad(grad, Relu)"},
    {"Relu6", NULL, {X}, "Relu6Grad = Relu6Grad(grad, Relu6)"},
    {"Elu", NULL, {X}, "EluGrad = EluGrad(grad, Elu)"},
    {"Cast", "DstT=double", {X}, "Cast = Cast(grad)"},
    {"L2Loss", NULL, {X}, "mul = Mul(x, grad)"},
    {"LogSoftmax",
     NULL,
     {X},
     "Exp = Exp(LogSoftmax); Sum/reduction_indices = Const(); Sum = Sum(grad, Sum/reduction_indices); "
     "mul = Mul(Sum, Exp); sub = Sub(grad, mul)"},
};

static const nodes_case binary_cases[] = {
    {"FakeQuantWithMinMaxArgs",
     "num_bits=4",
     {X},
     "FakeQuantWithMinMaxArgsGradient = FakeQuantWithMinMaxArgsGradient(grad, x)"},
    {"FakeQuantWithMinMaxVars",
     NULL,
     {X, "a float[]", "b float[]"},
     "FakeQuantWithMinMaxVarsGradient = FakeQuantWithMinMaxVarsGradient(grad, x, a, b)"},
    {"FakeQuantWithMinMaxVarsPerChannel",
     NULL,
     {X, "a float[3]", "b float[3]"},
     "FakeQuantWithMinMaxVarsPerChannelGradient = FakeQuantWithMinMaxVarsPerChannelGradient(grad, x, a, b)"},
    {"QuantizeAndDequantizeV2", NULL, {X, "a float[]", "b float[]"}, ""},
    {"QuantizeAndDequantizeV4",
     "axis=1",
     {X, "a float[3]", "b float[3]"},
     "QuantizeAndDequantizeV4Grad = QuantizeAndDequantizeV4Grad(grad, x, a, b)"},
    {"Sub",
     NULL,
     {X, Y},
     "Shape = Shape(x); Shape_1 = Shape(y); "
     "BroadcastGradientArgs = BroadcastGradientArgs(Shape, Shape_1); Sum = Sum(grad, "
     "BroadcastGradientArgs); Reshape = Reshape(Sum, Shape); Neg = Neg(grad); "
     "Sum_1 = Sum(Neg, BroadcastGradientArgs:1); Reshape_1 = Reshape(Sum_1, Shape_1)"},
    {"Div",
     NULL,
     {X, Y},
     "Shape = Shape(x); Shape_1 = Shape(y); "
     "BroadcastGradientArgs = BroadcastGradientArgs(Shape, Shape_1); truediv = RealDiv(grad, "
     "y); Sum = Sum(truediv, BroadcastGradientArgs); Reshape = Reshape(Sum, Shape); "
     "Neg = Neg(x); truediv_1 = RealDiv(Neg, y); truediv_2 = RealDiv(truediv_1, y); "
     "mul = Mul(grad, truediv_2); Sum_1 = Sum(mul, BroadcastGradientArgs:1); "
     "Reshape_1 = Reshape(Sum_1, Shape_1)"},
    {"FloorMod",
     NULL,
     {X, Y},
     PAIR "FloorDiv = FloorDiv(x, y); Sum = Sum(grad, BroadcastGradientArgs); Reshape = Reshape(Sum, Shape); "
          "Neg = Neg(FloorDiv); mul = Mul(grad, Neg); Sum_1 = Sum(mul, BroadcastGradientArgs:1); "
          "Reshape_1 = Reshape(Sum_1, Shape_1)"},
    {"Pow",
     NULL,
     {X, Y},
     PAIR
     "mul = Mul(grad, y); sub/y = Const(); sub = Sub(y, sub/y); Pow = Pow(x, sub); mul_1 = Mul(mul, Pow); "
     "Sum = Sum(mul_1, BroadcastGradientArgs); Reshape = Reshape(Sum, Shape); Greater/y = Const(); "
     "Greater = Greater(x, Greater/y); ones_like/Shape = Shape(x); ones_like/Const = Const(); "
     "ones_like = Fill(ones_like/Shape, ones_like/Const); Select = Select(Greater, x, ones_like); "
     "Log = Log(Select); zeros_like = ZerosLike(x); Select_1 = Select(Greater, Log, zeros_like); "
     "mul_2 = Mul(grad, Pow); mul_3 = Mul(mul_2, Select_1); "
     "Sum_1 = Sum(mul_3, BroadcastGradientArgs:1); Reshape_1 = Reshape(Sum_1, Shape_1)"},
    {"SquaredDifference",
     NULL,
     {X, Y},
     "scalar = Const(^grad); Mul = Mul(scalar, grad); sub = Sub(x, y, ^grad); "
     "mul_1 = Mul(Mul, sub); Shape = Shape(x); Shape_1 = Shape(y); "
     "BroadcastGradientArgs = BroadcastGradientArgs(Shape, Shape_1); Sum = Sum(mul_1, "
     "BroadcastGradientArgs); Reshape = Reshape(Sum, Shape); Sum_1 = Sum(mul_1, "
     "BroadcastGradientArgs:1); Reshape_1 = Reshape(Sum_1, Shape_1); Neg = Neg(Reshape_1)"},
    {"Select",
     NULL,
     {"c bool[?,3]", X, Y},
     "zeros_like = ZerosLike(x); Select = Select(c, grad, zeros_like); Select_1 = Select(c, zeros_like, grad)"},
    {"MatMul",
     "transpose_b=true",
     {"x float[?,3]", "y float[4,3]"},
     "MatMul = MatMul(grad, y); MatMul_1 = MatMul(grad, x)"},
    {"MatMul",
     "transpose_a=true",
     {"x float[3,?]", "y float[3,4]"},
     "MatMul = MatMul(y, grad); MatMul_1 = MatMul(x, grad)"},
    {"BiasAddV1",
     NULL,
     {X, "y float[3]"},
     "Rank = Const(); sub/y = Const(); sub = Sub(Rank, sub/y); range/start = Const(); range/delta = Const(); "
     "range = Range(range/start, sub, range/delta); Sum = Sum(grad, range)"},
    {"SparseSoftmaxCrossEntropyWithLogits",
     NULL,
     {X, "y int64[?]"},
     "PreventGradient = PreventGradient(SparseSoftmaxCrossEntropyWithLogits:1); ExpandDims/dim = Const(); "
     "ExpandDims = ExpandDims(grad, ExpandDims/dim); mul = Mul(ExpandDims, PreventGradient)"},
};

#define KEPT_SHAPE                                                                                                   \
    "Size = Const(); add = AddV2(axes, Size); mod = FloorMod(add, Size); Shape_1 = Const(); range/start = Const(); " \
    "range/delta = Const(); range = Range(range/start, Size, range/delta); Fill/value = Const(); "                   \
    "Fill = Fill(Shape_1, Fill/value); DynamicStitch = DynamicStitch(range, mod, Shape, Fill); "

static const nodes_case reduction_cases[] = {
    {"Sum",
     NULL,
     {"x float[2,3]", "axes int32[2] = 0 1"},
     "Reshape/shape = Const(); Reshape = Reshape(grad, Reshape/shape); Const = Const(); "
     "Tile = Tile(Reshape, Const)"},
    {"Sum",
     NULL,
     {X, "axes int32[1] = 0"},
     "Shape = Shape(x); " KEPT_SHAPE "Maximum/y = Const(); Maximum = Maximum(DynamicStitch, Maximum/y); "
     "floordiv = FloorDiv(Shape, Maximum); Reshape = Reshape(grad, DynamicStitch); Tile = Tile(Reshape, floordiv)"},
    {"Max",
     NULL,
     {X, "axes int32[1] = 0"},
     "Shape = Shape(x); " KEPT_SHAPE
     "Reshape = Reshape(Max, DynamicStitch); Reshape_1 = Reshape(grad, DynamicStitch); "
     "Equal = Equal(Reshape, x); Cast = Cast(Equal); Sum = Sum(Cast, axes); Reshape_2 = Reshape(Sum, DynamicStitch); "
     "truediv = RealDiv(Cast, Reshape_2); mul = Mul(truediv, Reshape_1)"},
};

static void check_all(const nodes_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&cases[i]);
}

static void gradients_have_the_nodes_of_tensorflow(void **state)
{
    (void)state;
    check_all(unary_cases, BD_COUNTOF(unary_cases));
    check_all(binary_cases, BD_COUNTOF(binary_cases));
    check_all(reduction_cases, BD_COUNTOF(reduction_cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_have_the_nodes_of_tensorflow)};
    return BD_RUN_TESTS(tests);
}
