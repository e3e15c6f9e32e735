// Rewrites: each pattern fires where it should and nowhere else, and errors name the original nodes. Updates:
// rewrite_updates_test.c.
#include "runtime/testing/rewrite_patterns.h"
#include <math.h>

// ---- Constants ----

static braid_out sum_of_constants(braid_graph *g)
{
    return tg2(g, "Add", NULL, tg_float(g, NULL, 1), tg1(g, "Neg", NULL, tg_float(g, NULL, 2)));
}

static braid_out sum_with_x(braid_graph *g)
{
    return tg2(g, "Add", NULL, x_of(g), sum_of_constants(g));
}

static braid_out shape_of_fill(braid_graph *g)
{
    braid_out shape = tg1(g, "Identity", NULL, int_vector(g, 3, 4));
    return tg1(g, "Shape", NULL, tg1(g, "Neg", NULL, tg2(g, "Fill", NULL, shape, x_of(g))));
}

static braid_out shape_of_x(braid_graph *g)
{
    braid_op_desc *d = braid_op_begin(g, "Placeholder", "x"); // a feed may have another shape
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(2, 3));
    return tg1(g, "Shape", NULL, braid_op_end_out(d));
}

static braid_out many_elements(braid_graph *g)
{
    return tg2(g, "Fill", NULL, int_vector(g, 4000, 1000), tg_float(g, NULL, 1));
}

static braid_out division_by_zero(braid_graph *g)
{
    return tg2(g, "FloorDiv", NULL, tg_int(g, NULL, 1), tg_int(g, NULL, 0));
}

static braid_out random_numbers(braid_graph *g)
{
    braid_op_desc *d = braid_op_begin(g, "RandomUniform", NULL);
    braid_op_input(d, int_vector(g, 2, 2));
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    return braid_op_end_out(d);
}

static braid_out halves(braid_graph *g) // several outputs
{
    braid_op_desc *d = braid_op_begin(g, "Split", NULL);
    braid_op_input(d, tg_int(g, NULL, 0));
    braid_op_input(d, vector(g, NULL, 4));
    braid_op_attr_int(d, "num_split", 2);
    braid_op *split = braid_op_end(d);
    return tg2(g, "Add", NULL, x_of(g), tg2(g, "Sub", NULL, (braid_out){split, 1}, (braid_out){split, 0}));
}

// ---- Common subexpressions ----

static braid_out twins(braid_graph *g)
{
    braid_out x = x_of(g), a = vector(g, NULL, 4), b = vector(g, NULL, 4);
    braid_out left = tg1(g, "Exp", NULL, tg2(g, "Mul", NULL, x, a));
    braid_out right = tg1(g, "Exp", NULL, tg2(g, "Mul", NULL, b, x));
    return tg2(g, "Add", NULL, left, right);
}

static braid_out unlike_twins(braid_graph *g)
{
    braid_out x = x_of(g), a = vector(g, NULL, 4);
    braid_out left = tg2(g, "Sub", NULL, x, a), right = tg2(g, "Sub", NULL, a, x);
    return tg2(g, "Add", NULL, left, right);
}

static braid_out two_reads(braid_graph *g)
{
    braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    return tg2(g, "Add", NULL, tg1(g, "Identity", NULL, v), tg1(g, "Identity", NULL, v));
}

static braid_out two_random(braid_graph *g)
{
    return tg2(g, "Add", NULL, random_numbers(g), random_numbers(g));
}

// ---- Dependencies ----

static braid_out identities(braid_graph *g)
{
    return tg1(g, "Identity", NULL, tg1(g, "StopGradient", NULL, tg1(g, "Neg", NULL, x_of(g))));
}

static braid_out tuple(braid_graph *g) // as tf.gradients makes it, the first member unused
{
    braid_out x = x_of(g), unused = tg2(g, "MatMul", NULL, x, x), used = tg1(g, "Neg", NULL, x);
    braid_op *both = tg_after(g, "NoOp", NULL, 2, (braid_op *[]){unused.op, used.op});
    return tg1(g, "Exp", NULL, tg_identity_after(g, NULL, used, both));
}

static braid_out side_effect(braid_graph *g)
{
    braid_out x = x_of(g), v = tg_variable(g, "v", BRAID_FLOAT), assign = tg2(g, "Assign", NULL, v, x);
    braid_op *after = tg_after(g, "NoOp", NULL, 1, &assign.op);
    return tg1(g, "Exp", NULL, tg_identity_after(g, NULL, x, after));
}

static braid_out read_after_assign(braid_graph *g)
{
    braid_out v = tg_variable(g, "v", BRAID_FLOAT), assign = tg2(g, "Assign", NULL, v, x_of(g));
    return tg_identity_after(g, NULL, v, assign.op);
}

// ---- Products with bias and activation ----

static braid_out matrix(braid_graph *g)
{
    return tg2(g, "Fill", NULL, int_vector(g, 4, 4), tg_float(g, NULL, 0.5f));
}

static braid_out dense_relu(braid_graph *g)
{
    braid_out product = tg2(g, "MatMul", "product", x_of(g), matrix(g));
    return tg1(g, "Relu", "relu", tg2(g, "BiasAdd", "bias", product, vector(g, NULL, 4)));
}

static braid_out dense_add(braid_graph *g) // as `tf.matmul(x, w) + b`
{
    return tg2(g, "Add", NULL, vector(g, NULL, 4), tg2(g, "MatMul", NULL, x_of(g), matrix(g)));
}

static braid_out dense_add_of_a_row(braid_graph *g) // [1, 4]: no bias
{
    braid_out row = tg2(g, "Reshape", NULL, vector(g, NULL, 4), int_vector(g, 1, 4));
    return tg2(g, "Add", NULL, row, tg2(g, "MatMul", NULL, x_of(g), matrix(g)));
}

static braid_out product_used_twice(braid_graph *g)
{
    braid_out product = tg2(g, "MatMul", NULL, x_of(g), matrix(g));
    return tg2(g, "Sub", NULL, product, tg2(g, "BiasAdd", NULL, product, vector(g, NULL, 4)));
}

static braid_out product_waited_for(braid_graph *g)
{
    braid_out product = tg2(g, "MatMul", NULL, x_of(g), matrix(g));
    braid_out bias = tg2(g, "BiasAdd", NULL, product, vector(g, NULL, 4));
    braid_op *after = tg_after(g, "NoOp", NULL, 1, &product.op);
    return tg_identity_after(g, NULL, bias, after);
}

static braid_out conv(braid_graph *g, const char *activation, const char *format)
{
    braid_tensor *w = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(3, 3, 2, 5), NULL);
    for (int i = 0; i < 90; i++)
        bd_tensor_f32(w)[i] = (float)(i % 7 - 3) / 8;
    braid_op_desc *d = braid_op_begin(g, "Conv2D", NULL);
    braid_op_input(d, x_of(g));
    braid_op_input(d, tg_const(g, NULL, w));
    braid_op_attr_int_list(d, "strides", (const int64_t[]){1, 1, 1, 1}, 4);
    braid_op_attr_string(d, "padding", "SAME");
    braid_op_attr_string(d, "data_format", format);
    braid_out product = braid_op_end_out(d);
    d = braid_op_begin(g, "BiasAdd", NULL);
    braid_op_input(d, product);
    braid_op_input(d, vector(g, NULL, 5));
    braid_op_attr_string(d, "data_format", format);
    braid_out sum = braid_op_end_out(d);
    return activation ? tg1(g, activation, NULL, sum) : sum;
}

static braid_out conv_relu(braid_graph *g)
{
    return conv(g, "Relu", "NHWC");
}

// As the gradient of an addition asks for it.
static braid_out conv_shape_asked_for(braid_graph *g)
{
    braid_out relu = conv_relu(g), product = relu.op->inputs[0].op->inputs[0];
    return tg2(g, "Reshape", NULL, relu, tg1(g, "Shape", NULL, product));
}

static braid_out conv_channels_first(braid_graph *g)
{
    return conv(g, "Relu", "NCHW");
}

// ---- The gradients of pooling and of the Relu before it ----

static braid_out pool_grad(braid_graph *g, braid_out pooled, const char *format)
{
    static const int64_t nhwc[] = {1, 2, 2, 1}, nchw[] = {1, 1, 2, 2};
    const int64_t *window = strcmp(format, "NHWC") == 0 ? nhwc : nchw;
    braid_out y = {0};
    for (int i = 0; i < 2; i++) {
        braid_op_desc *d = braid_op_begin(g, i ? "MaxPoolGrad" : "MaxPool", i ? "spread" : "pool");
        braid_op_input(d, pooled);
        if (i) {
            braid_op_input(d, y);
            braid_op_input(d, tg1(g, "Square", NULL, y));
        }
        braid_op_attr_int_list(d, "ksize", window, 4);
        braid_op_attr_int_list(d, "strides", window, 4);
        braid_op_attr_string(d, "padding", "VALID");
        braid_op_attr_string(d, "data_format", format);
        y = braid_op_end_out(d);
    }
    return y;
}

static braid_out pool_relu_grad(braid_graph *g)
{
    braid_out relu = tg1(g, "Relu", NULL, x_of(g));
    return tg2(g, "ReluGrad", "slope", pool_grad(g, relu, "NHWC"), relu);
}

static braid_out pool_relu_grad_channels_first(braid_graph *g)
{
    braid_out relu = tg1(g, "Relu", NULL, x_of(g));
    return tg2(g, "ReluGrad", NULL, pool_grad(g, relu, "NCHW"), relu);
}

static braid_out pool_relu_grad_of_features(braid_graph *g) // of what is not pooled
{
    braid_out x = x_of(g), relu = tg1(g, "Relu", NULL, x);
    return tg2(g, "ReluGrad", NULL, pool_grad(g, relu, "NHWC"), x);
}

static braid_out pool_grad_as_features(braid_graph *g)
{
    braid_out relu = tg1(g, "Relu", NULL, x_of(g));
    return tg2(g, "ReluGrad", NULL, relu, pool_grad(g, relu, "NHWC"));
}

static braid_out pool_grad_used_twice(braid_graph *g)
{
    braid_out relu = tg1(g, "Relu", NULL, x_of(g)), grad = pool_grad(g, relu, "NHWC");
    return tg2(g, "Sub", NULL, grad, tg2(g, "ReluGrad", NULL, grad, relu));
}

// ---- Element-wise nodes ----

static braid_out chain(braid_graph *g)
{
    braid_out x = x_of(g), scaled = tg2(g, "Mul", "scaled", x, tg_float(g, NULL, 2));
    return tg1(g, "Exp", NULL, tg2(g, "Add", "sum", scaled, vector(g, NULL, 4)));
}

static braid_out diamond(braid_graph *g)
{
    braid_out square = tg1(g, "Square", NULL, x_of(g)), root = tg1(g, "Sqrt", NULL, square);
    return tg2(g, "Sub", NULL, tg1(g, "Neg", NULL, square), root);
}

static braid_out chain_used_on_the_way(braid_graph *g)
{
    braid_out negative = tg1(g, "Neg", NULL, x_of(g)), exp = tg1(g, "Exp", NULL, negative);
    return tg2(g, "MatMul", NULL, negative, tg1(g, "Tanh", NULL, exp));
}

static braid_out chain_waited_for(braid_graph *g)
{
    braid_out negative = tg1(g, "Neg", NULL, x_of(g)), exp = tg1(g, "Exp", NULL, negative);
    return tg_identity_after(g, NULL, exp, tg_after(g, "NoOp", NULL, 1, &negative.op));
}

static braid_out comparison(braid_graph *g)
{
    braid_out less = tg2(g, "Less", NULL, x_of(g), tg_float(g, NULL, 2));
    return tg1(g, "LogicalNot", NULL, less);
}

static braid_out sum_with_a_row(braid_graph *g) // known to broadcast: no pass over one shape
{
    braid_out row = tg2(g, "Add", NULL, matrix(g), vector(g, NULL, 4));
    return tg1(g, "Exp", NULL, row);
}

static braid_out old_value(braid_graph *g) // of a variable, used after it has been assigned to
{
    braid_out v = tg_variable(g, "v", BRAID_FLOAT), old = tg1(g, "Neg", NULL, tg1(g, "Identity", NULL, v));
    braid_op_desc *d = braid_op_begin(g, "Exp", NULL);
    braid_op_input(d, old);
    braid_op_control(d, tg2(g, "Assign", NULL, v, x_of(g)).op);
    return braid_op_end_out(d);
}

static braid_out old_and_new_value(braid_graph *g)
{
    braid_out v = tg_variable(g, "v", BRAID_FLOAT), old = tg1(g, "Neg", NULL, tg1(g, "Identity", NULL, v));
    return tg2(g, "Sub", NULL, old, tg1(g, "Exp", NULL, tg2(g, "Assign", NULL, v, x_of(g))));
}

static braid_out product_before_update_of_bias(braid_graph *g)
{
    braid_out v = tg_variable(g, "v", BRAID_FLOAT), row = vector(g, NULL, 4);
    braid_out product = tg2(g, "MatMul", NULL, x_of(g), tg2(g, "Fill", NULL, int_vector(g, 4, 4), v));
    braid_op *change = tg2(g, "Assign", NULL, v, tg_float(g, NULL, 1)).op;
    return tg2(g, "BiasAdd", NULL, product, tg_identity_after(g, NULL, row, change));
}

static const pattern patterns[] = {
    {"a chain", BRAID_REWRITE_ELEMENTWISE, chain, "Const Const _FusedElementwise"},
    {"a diamond", BRAID_REWRITE_ELEMENTWISE, diamond, "_FusedElementwise"},
    {"a value used on the way", BRAID_REWRITE_ELEMENTWISE, chain_used_on_the_way,
     "MatMul Neg _FusedElementwise"},
    {"a node that something waits for", BRAID_REWRITE_ELEMENTWISE, chain_waited_for, "Exp Identity Neg NoOp"},
    {"the old value of a variable", BRAID_REWRITE_ELEMENTWISE, old_value,
     "Assign Exp Identity Neg VariableV2"},
    {"the old value of a variable beside the new one", BRAID_REWRITE_ELEMENTWISE, old_and_new_value,
     "Assign Exp Identity Neg Sub VariableV2"},
    {"a product before an update", BRAID_REWRITE_REMAPPING, product_before_update_of_bias,
     "Assign BiasAdd Const Const Const Fill Identity MatMul VariableV2"},
    {"a comparison", BRAID_REWRITE_ELEMENTWISE, comparison, "Const Less LogicalNot"},
    {"a broadcast", BRAID_REWRITE_ELEMENTWISE, sum_with_a_row, "Add Const Const Const Exp Fill"},
    {"a dense layer", BRAID_REWRITE_REMAPPING, dense_relu, "Const Const Const Fill _FusedMatMul"},
    {"a sum with a vector", BRAID_REWRITE_REMAPPING | BRAID_REWRITE_CONSTANT_FOLDING, dense_add,
     "Const Const _FusedMatMul"},
    {"a sum with a row", BRAID_REWRITE_REMAPPING | BRAID_REWRITE_CONSTANT_FOLDING, dense_add_of_a_row,
     "Add Const Const MatMul"},
    {"a product used twice", BRAID_REWRITE_REMAPPING, product_used_twice,
     "BiasAdd Const Const Const Fill MatMul Sub"},
    {"a product that something waits for", BRAID_REWRITE_REMAPPING, product_waited_for,
     "BiasAdd Const Const Const Fill Identity MatMul NoOp"},
    {"a convolution", BRAID_REWRITE_REMAPPING, conv_relu, "Const Const _FusedConv2D"},
    {"a convolution whose shape is asked for", BRAID_REWRITE_REMAPPING, conv_shape_asked_for,
     "Const Const Reshape _Conv2DShape _FusedConv2D"},
    {"a convolution with channels first", BRAID_REWRITE_REMAPPING, conv_channels_first,
     "BiasAdd Const Const Conv2D Relu"},
    {"gradients of pooling and Relu", BRAID_REWRITE_REMAPPING, pool_relu_grad,
     "MaxPool Relu Square _MaxPoolReluGrad"},
    {"gradients of pooling and Relu with channels first", BRAID_REWRITE_REMAPPING,
     pool_relu_grad_channels_first, "MaxPool MaxPoolGrad Relu ReluGrad Square"},
    {"gradients of pooling and of another Relu", BRAID_REWRITE_REMAPPING, pool_relu_grad_of_features,
     "MaxPool MaxPoolGrad Relu ReluGrad Square"},
    {"a gradient of pooling as features", BRAID_REWRITE_REMAPPING, pool_grad_as_features,
     "MaxPool MaxPoolGrad Relu ReluGrad Square"},
    {"a gradient of pooling used twice", BRAID_REWRITE_REMAPPING, pool_grad_used_twice,
     "MaxPool MaxPoolGrad Relu ReluGrad Square Sub"},
    {"constants", BRAID_REWRITE_CONSTANT_FOLDING, sum_of_constants, "Const"},
    {"constants before a feed", BRAID_REWRITE_CONSTANT_FOLDING, sum_with_x, "Add Const"},
    {"a shape the graph settles", BRAID_REWRITE_CONSTANT_FOLDING, shape_of_fill, "Const"},
    {"a shape a feed settles", BRAID_REWRITE_CONSTANT_FOLDING, shape_of_x, "Shape"},
    {"more than 10 MB", BRAID_REWRITE_CONSTANT_FOLDING, many_elements, "Const Const Fill"},
    {"a kernel that fails", BRAID_REWRITE_CONSTANT_FOLDING, division_by_zero, "Const Const FloorDiv"},
    {"a stateful op", BRAID_REWRITE_CONSTANT_FOLDING, random_numbers, "Const RandomUniform"},
    {"several outputs", BRAID_REWRITE_CONSTANT_FOLDING, halves, "Add Const"},
    {"twins", BRAID_REWRITE_COMMON_SUBEXPRESSIONS, twins, "Add Const Exp Mul"},
    {"unlike twins", BRAID_REWRITE_COMMON_SUBEXPRESSIONS, unlike_twins, "Add Const Sub Sub"},
    {"two reads of a variable", BRAID_REWRITE_ALL, two_reads, "Add Identity Identity VariableV2"},
    {"two random tensors", BRAID_REWRITE_COMMON_SUBEXPRESSIONS, two_random,
     "Add Const RandomUniform RandomUniform"},
    {"identities", BRAID_REWRITE_DEPENDENCIES, identities, "Neg"},
    {"an unused gradient", BRAID_REWRITE_DEPENDENCIES, tuple, "Exp Neg"},
    {"an assignment", BRAID_REWRITE_DEPENDENCIES, side_effect, "Assign Exp VariableV2"},
    {"a read after an assignment", BRAID_REWRITE_ALL, read_after_assign, "Assign Identity VariableV2"},
};

static void patterns_fire_where_they_should(void **state)
{
    (void)state;
    check_patterns(patterns, BD_COUNTOF(patterns));
}

// ---- Results and errors ----

static void convolutions_give_the_same_up_to_rounding(void **state)
{
    (void)state;
    static const char *const activations[] = {NULL, "Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "Neg"};
    braid_tensor *x = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(3, 11, 9, 2), NULL);
    for (int64_t i = 0; i < bd_tensor_count(x); i++)
        bd_tensor_f32(x)[i] = (float)(i * 31 % 23) / 4 - 3;
    bd_tensor_f32(x)[5] = NAN; // a loss that went wrong must show
    for (size_t i = 0; i <= BD_COUNTOF(activations); i++) {
        braid_graph *g = braid_graph_new();
        braid_out y = i < BD_COUNTOF(activations) ? conv(g, activations[i], "NHWC") : conv_shape_asked_for(g);
        BD_STATUS(st);
        braid_tensor *plain = fetch_one(g, BRAID_REWRITE_ALL, y, x, st);
        assert_ok(st);
        braid_tensor *fused = fetch_one(g, 0, y, x, st);
        assert_ok(st);
        assert_true(bd_shape_equal(&plain->shape, &fused->shape));
        for (int64_t k = 0; k < bd_tensor_count(plain); k++) {
            assert_int_equal(isnan(bd_tensor_f32(plain)[k]), isnan(bd_tensor_f32(fused)[k]));
            if (!isnan(bd_tensor_f32(plain)[k]))
                assert_float_equal(bd_tensor_f32(plain)[k], bd_tensor_f32(fused)[k], 1e-5);
        }
        braid_tensor_free(plain);
        braid_tensor_free(fused);
        braid_graph_free(g);
    }
    braid_tensor_free(x);
}

static void gradients_of_pooling_and_relu_give_the_same(void **state)
{
    (void)state;
    for (int64_t side = 2; side < 12; side++) { // also odd ones, whose last row has no window
        braid_tensor *x = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(2, side + 1, side, 2 * side), NULL);
        for (int64_t i = 0; i < bd_tensor_count(x); i++)
            bd_tensor_f32(x)[i] = (float)(i * 31 % 23) / 4 - 4;
        braid_graph *g = braid_graph_new();
        braid_out y = pool_relu_grad(g);
        BD_STATUS(st);
        braid_tensor *plain = fetch_one(g, BRAID_REWRITE_ALL, y, x, st);
        assert_ok(st);
        braid_tensor *fused = fetch_one(g, 0, y, x, st);
        assert_ok(st);
        assert_true(bd_shape_equal(&plain->shape, &fused->shape));
        assert_memory_equal(fused->data, plain->data, bd_tensor_bytes(plain));
        braid_tensor_free(fused);
        braid_tensor_free(plain);
        braid_tensor_free(x);
        braid_graph_free(g);
    }
}

// The message of a run with this feed, rewritten or not.
static void assert_same_error(braid_out (*build)(braid_graph *g), braid_shape x_shape, const char *text)
{
    braid_tensor *x = braid_tensor_new(BRAID_FLOAT, x_shape, NULL);
    memset(x->data, 0, bd_tensor_bytes(x));
    braid_graph *g = braid_graph_new();
    braid_out y = build(g);
    BD_STATUS(plain);
    BD_STATUS(rewritten_st);
    fetch_one(g, BRAID_REWRITE_ALL, y, x, plain);
    fetch_one(g, 0, y, x, rewritten_st);
    assert_string_equal(braid_status_message(rewritten_st), braid_status_message(plain));
    assert_error(rewritten_st, BRAID_INVALID_ARGUMENT, text);
    braid_tensor_free(x);
    braid_graph_free(g);
}

static braid_out wrong_bias(braid_graph *g) // of a shape that only a run settles
{
    braid_out x = x_of(g), square = tg2(g, "MatMul", "product", x, x);
    return tg1(g, "Relu", "relu", tg2(g, "BiasAdd", "bias", square, vector(g, NULL, 4)));
}

static braid_out wrong_slope(braid_graph *g) // gradients do not broadcast
{
    return tg1(g, "Neg", NULL, tg2(g, "ReluGrad", "slope", tg_float(g, NULL, 1), x_of(g)));
}

static void errors_name_the_node_that_was_built(void **state)
{
    (void)state;
    assert_same_error(dense_relu, BRAID_SHAPE(2, 3), "(MatMul on");
    assert_same_error(dense_relu, BRAID_SHAPE(2), "{{node product}}");
    assert_same_error(wrong_bias, BRAID_SHAPE(3, 3), "(BiasAdd on");
    assert_same_error(chain, BRAID_SHAPE(3, 5), "{{node sum}}");
    assert_same_error(wrong_slope, BRAID_SHAPE(3, 5), "g and a must be the same size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_fire_where_they_should),
        cmocka_unit_test(convolutions_give_the_same_up_to_rounding),
        cmocka_unit_test(gradients_of_pooling_and_relu_give_the_same),
        cmocka_unit_test(errors_name_the_node_that_was_built),
    };
    return BD_RUN_TESTS(tests);
}
