// Tests of biases, activation functions, softmax and losses. Values follow from the definitions, computed in
// double.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void bias_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BiasAdd", NULL, "float[2,3] 1 2 3 4 5 6; float[3] 10 20 30", "float[2,3] 11 22 33 14 25 36"},
        {"BiasAdd", NULL, "int32[1,2,2] 1 2 3 4; int32[2] 10 20", "int32[1,2,2] 11 22 13 24"},
        {"BiasAdd", "data_format=NCHW", "double[1,2,1,2] 1 2 3 4; double[2] 10 20",
         "double[1,2,1,2] 11 12 23 24"},
        {"BiasAdd", "data_format=NCHW", "float[1,2,3] 1 2 3 4 5 6; float[2] 10 20",
         "float[1,2,3] 11 12 13 24 25 26"},
        {"BiasAdd", "data_format=NCHW", "int32[1,2,1,1,2] 1 2 3 4; int32[2] 10 20",
         "int32[1,2,1,1,2] 11 12 23 24"},
        {"BiasAdd", "data_format=NCHW", "float[0,4,3]; float[4] 1", "float[0,4,3]"},
        {"BiasAdd", "data_format=NCHW", "float[1,2,3] 1; float[3] 1",
         "InvalidArgument: Must provide as many biases as the channel dimension of the input tensor"},
        {"BiasAddV1", NULL, "float[2,2] 1 2 3 4; float[2] 1 -1", "float[2,2] 2 1 4 3"},
        {"BiasAddV1", NULL, "float[2,0]; float[0]", "float[2,0]"},
        {"BiasAddV1", NULL, "float[] 1; float[1] 1", "InvalidArgument: Input tensor must be at least 2D: []"},
        {"BiasAddV1", NULL, "float[2,1] 1; float[] 1", "InvalidArgument: Biases must be 1D: []"},
        {"BiasAdd", NULL, "float[0,3]; float[3] 1 2 3", "float[0,3]"},
        {"BiasAdd", NULL, "float[2,3] 1; float[2] 1",
         "InvalidArgument: Must provide as many biases as the last dimension of the input tensor: [2] vs. [2,3]"},
        {"BiasAdd", NULL, "float[2,3] 1; float[1,3] 1", "InvalidArgument: Biases must be 1D: [1,3]"},
        {"BiasAdd", NULL, "float[3] 1; float[3] 1", "InvalidArgument: Input tensor must be at least 2D: [3]"},
        {"BiasAdd", NULL, "float[] 1; float[1] 1", "InvalidArgument: Input tensor must be at least 2D: []"},
        {"BiasAdd", NULL, "float[2,1] 1; float[] 1", "InvalidArgument: Biases must be 1D: []"},
        {"BiasAddGrad", NULL, "float[2,3] 1 2 3 4 5 6", "float[3] 5 7 9"},
        {"BiasAddGrad", NULL, "double[2,1,2] 1 2 3 4", "double[2] 4 6"},
        {"BiasAddGrad", "data_format=NCHW", "float[2,2,1,2] 1 2 3 4 5 6 7 8", "float[2] 14 22"},
        {"BiasAddGrad", "data_format=NCHW", "float[1,2,3] 1 2 3 4 5 6", "float[2] 6 15"},
        {"BiasAddGrad", "data_format=NCHW", "float[2,2,1,1,2] 1 2 3 4 5 6 7 8", "float[2] 14 22"},
        {"BiasAddGrad", NULL, "float[0,3]", "float[3] 0"},
        {"BiasAddGrad", NULL, "float[] 1", "InvalidArgument: Input tensor must be at least 2D: []"},
        {"BiasAddGrad", NULL, "float[100,10] 0.5", "float[10] 50"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"BiasAdd", NULL, "[?,?];[3]", "[?,3]"},
        {"BiasAdd", "data_format=NCHW", "[?,?,4,5];[3]", "[?,3,4,5]"},
        {"BiasAdd", NULL, "[2,4];[3]", "InvalidArgument: Dimensions must be equal, but are 4 and 3"},
        {"BiasAdd", NULL, "[4];[4]", "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
        {"BiasAddGrad", NULL, "[?,3]", "[3]"},
        {"BiasAddGrad", NULL, "?", "[?]"},
        {"BiasAdd", "data_format=NCHW", "[?,?,5];[3]", "[?,3,5]"},
        {"BiasAddGrad", "data_format=NCHW", "[2,3,4,5,6]", "[3]"},
    };
    OP_TEST_SHAPES(shapes);
    static const op_grad_case gradients[] = {
        {"BiasAdd", NULL, "double[2,3] 1 2 3 4 5 6; double[3] 10 20 30"},
        {"BiasAdd", "data_format=NCHW", "double[1,2,1,2] 1 2 3 4; double[2] 10 20"},
        {"BiasAddV1", NULL, "double[2,3] 1 2 3 4 5 6; double[3] 10 20 30"},
        {"BiasAddGrad", NULL, "double[2,3] 1 2 3 4 5 6"},
        {"BiasAddGrad", "data_format=NCHW", "double[2,2,1,2] 1 2 3 4 5 6 7 8"},
        {"BiasAddGrad", "data_format=NCHW", "double[1,2,2,1,2] 1 2 3 4 5 6 7 8"},
    };
    OP_TEST_GRADIENTS(gradients);
}

static void activations_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Relu", NULL, "float[4] -1 0 2 nan", "float[4] 0 0 2 nan"},
        {"Relu", NULL, "int32[2] -3 3", "int32[2] 0 3"},
        {"ReluGrad", NULL, "float[3] 5 6 7; float[3] -1 0 2", "float[3] 0 0 7"},
        {"Relu6", NULL, "float[4] -1 3 6 9", "float[4] 0 3 6 6"},
        {"Relu6Grad", NULL, "float[4] 1 2 3 4; float[4] -1 3 6 9", "float[4] 0 2 0 0"},
        {"Elu", NULL, "float[3] -1 0 2", "float[3] -0.6321205588 0 2"},
        {"EluGrad", NULL, "float[2] 2 2; float[2] -0.5 3", "float[2] 1 2"},
        {"Tanh", NULL, "float[7] 0 0.5 -0.5 2 -20 inf nan",
         "float[7] 0 0.4621171573 -0.4621171573 0.9640275801 -1 1 nan"},
        {"Tanh", NULL, "double[2] 0.25 -3", "double[2] 0.24491866240370913 -0.9950547536867305"},
        {"TanhGrad", NULL, "float[2] 0.5 -1; float[2] 2 3", "float[2] 1.5 0"},
        {"Sigmoid", NULL, "float[6] 0 1 -1 100 -100 nan", "float[6] 0.5 0.7310585786 0.2689414214 1 0 nan"},
        {"SigmoidGrad", NULL, "float[2] 0.5 0.25; float[2] 2 4", "float[2] 0.5 0.75"},
        {"Softplus", NULL, "float[4] 0 1 -100 100", "float[4] 0.6931471806 1.313261688 3.7835e-44 100"},
        {"SoftplusGrad", NULL, "float[2] 2 2; float[2] 0 -1", "float[2] 1 0.5378828427"},
        {"Softsign", NULL, "float[3] 0 1 -3", "float[3] 0 0.5 -0.75"},
        {"SoftsignGrad", NULL, "float[2] 4 4; float[2] 1 -3", "float[2] 1 0.25"},
    };
    OP_TEST_VALUES(cases);
    static const op_grad_case gradients[] = {
        {"Relu", NULL, "double[3] -1 0.5 2"},
        {"ReluGrad", NULL, "double[3] 5 6 7; double[3] -1 0.5 2"},
        {"Relu6", NULL, "double[4] -1 3 5 9"},
        {"Relu6Grad", NULL, "double[2] 5 6; double[2] -1 0.5"},
        {"EluGrad", NULL, "double[2] 5 6; double[2] -0.3 0.5"},
        {"SoftplusGrad", NULL, "double[3] 5 6 7; double[3] -1 0 0.5"},
        {"Elu", NULL, "double[3] -1 0.5 2"},
        {"Tanh", NULL, "double[3] -1 0.5 2"},
        {"TanhGrad", NULL, "double[2] 0.5 -0.25; double[2] 2 3"},
        {"Sigmoid", NULL, "double[3] -1 0.5 2"},
        {"SigmoidGrad", NULL, "double[2] 0.5 0.25; double[2] 2 3"},
        {"Softplus", NULL, "double[3] -1 0.5 2"},
        {"Softsign", NULL, "double[3] -1 0.5 2"},
    };
    OP_TEST_GRADIENTS(gradients);
}

static void softmax_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Softmax", NULL, "float[2,3] 1 2 3 0 0 0",
         "float[2,3] 0.09003057317 0.2447284711 0.6652409558 0.3333333333 "
         "0.3333333333 0.3333333333"},
        {"Softmax", NULL, "float[1,2] 1000 1001", "float[1,2] 0.2689414214 0.7310585786"},
        {"Softmax", NULL, "double[2] -1 1", "double[2] 0.11920292202211755 0.8807970779778823"},
        {"Softmax", NULL, "float[2,1,2] 0 0 5 5", "float[2,1,2] 0.5"},
        {"Softmax", NULL, "float[0,3]", "float[0,3]"},
        {"Softmax", NULL, "float[3,0]", "float[3,0]"},
        {"Softmax", NULL, "float[1,200] 7", "float[1,200] 0.005"},
        {"Softmax", NULL, "float[] 1", "InvalidArgument: logits must have >= 1 dimension"},
        {"LogSoftmax", NULL, "float[1,3] 1 2 3", "float[1,3] -2.407605964 -1.407605964 -0.4076059644"},
        {"LogSoftmax", NULL, "double[1,2] 0 -800", "double[1,2] 0 -800"},
        {"LogSoftmax", NULL, "float[0,3]", "float[0,3]"},
        {"LogSoftmax", NULL, "double[3,0]", "double[3,0]"},
        {"LogSoftmax", NULL, "float[] 1", "InvalidArgument: logits must have >= 1 dimension, got []"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"Softmax", NULL, "[?,10]", "[?,10]"},
        {"Softmax", NULL, "[]", "InvalidArgument: Shape must be at least rank 1 but is rank 0"},
    };
    OP_TEST_SHAPES(shapes);
    static const op_grad_case gradients[] = {
        {"Softmax", NULL, "double[2,3] 1 2 3 0 -1 0.5"},
        {"LogSoftmax", NULL, "double[2,3] 1 2 3 0 -1 0.5"},
        {"Softmax", NULL, "double[2,2,2] 1 2 3 0 -1 0.5 2 -2"},
        {"LogSoftmax", NULL, "double[2,2,2] 1 2 3 0 -1 0.5 2 -2"},
        {"Softmax", NULL, "double[3] 1 2 0"},
        {"LogSoftmax", NULL, "double[3] 1 2 0"},
    };
    OP_TEST_GRADIENTS(gradients);
}

static void losses_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SoftmaxCrossEntropyWithLogits", NULL, "float[2,3] 1 2 3 0 0 0; float[2,3] 0 0 1 0.5 0.5 0",
         "float[2] 0.4076059644 1.098612289; float[2,3] 0.09003057317 0.2447284711 -0.3347590442 -0.1666666667 "
         "-0.1666666667 0.3333333333"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "double[1,2] 1000 0; double[1,2] 0 1",
         "double[1] 1000; double[1,2] 1 -1"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "float[0,3]; float[0,3]", "float[0]; float[0,3]"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "float[2,0]; float[2,0]", "float[2] 0; float[2,0]"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "float[600,10] 1; float[600,10] 0.1",
         "float[600] 2.302585093; *"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "float[2,3] 1; float[2,4] 1",
         "InvalidArgument: logits and labels must be broadcastable: logits_size=[2,3] labels_size=[2,4]"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "float[3] 1; float[3] 1",
         "InvalidArgument: logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "float[1,3] 1 2 3; float[2,3] 0 0 1 0.5 0.5 0",
         "float[2] 0.4076059644 1.907605964; float[2,3] 0.09003057317 0.2447284711 -0.3347590442 -0.4099694268 "
         "-0.2552715289 0.6652409558"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "double[2,2] 0 0 0 0; double[2,1] 0 2",
         "double[2] 0 2.772588722239781; double[2,2] 0.5 0.5 -1.5 -1.5"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "float[2,2] 0; float[2] 0 1",
         "float[2] 0.6931471806; float[2,2] 0.5 -0.5 0.5 -0.5"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "float[] 0; float[2,2] 1 0 0 1",
         "float[2] 0.6931471806; float[2,2] -0.5 0.5 0.5 -0.5"},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, "float[1,1] 7; int32[] 0",
         "InvalidArgument: labels must be 1-D, but got shape []"},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, "float[1] 7; int32[1] 0",
         "InvalidArgument: logits must be 2-D, but got shape [1]"},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, "float[2,3] 1 2 3 0 0 0; int64[2] 2 0",
         "float[2] 0.4076059644 1.098612289; float[2,3] 0.09003057317 0.2447284711 -0.3347590442 -0.6666666667 "
         "0.3333333333 0.3333333333"},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, "double[1,2] 0 0; int32[1] 1",
         "double[1] 0.6931471805599453; double[1,2] 0.5 -0.5"},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, "float[0,3]; int64[0]", "float[0]; float[0,3]"},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, "float[3,10] 1; int32[3] 10 3 12",
         "InvalidArgument: Received a label value of 12 which is outside the valid range of [0, 10).  Label values: 10 3 12"},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, "float[2,10] 1; int64[2] 12 -1",
         "InvalidArgument: Received a label value of -1 which is outside the valid range of [0, 10).  Label values: 12 -1"},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, "float[2,3] 1; int64[3] 0",
         "InvalidArgument: logits and labels must have the same first dimension, got logits shape [2,3] and labels shape "
         "[3]"},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, "float[2,0]; int64[2] 0",
         "InvalidArgument: Must have at least one class"},
        {"L2Loss", NULL, "float[2,2] 1 2 3 4", "float[] 15"},
        {"L2Loss", NULL, "double[0]", "double[] 0"},
        {"L2Loss", NULL, "half[] 0x4400", "half[] 0x4800"},
        {"L2Loss", NULL, "int32[1] 1",
         "InvalidArgument: Value for attr 'T' of int32 is not in the list of allowed values: "},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"SoftmaxCrossEntropyWithLogits", NULL, "[?,10];[5,?]", "[5];[5,10]"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "[1,10];[5,?]", "[5];[5,10]"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "[2,3];[3]", "[2];[2,3]"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "?;?", "[?];[?,?]"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "[2,10];[2,11]",
         "InvalidArgument: Dimensions must be equal, but are 10 and 11"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "[2,3,4];[2,3,4]",
         "InvalidArgument: Shape must be broadcasted with rank 2, but is rank 3"},
        {"SoftmaxCrossEntropyWithLogits", NULL, "[3];?",
         "InvalidArgument: Shape must be broadcasted with rank 2, but is rank is unknown"},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, "[?,10];int64[5]", "[5];[5,10]"},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, "[4,10];int64[5]",
         "InvalidArgument: Dimensions must be equal, but are 4 and 5"},
        {"L2Loss", NULL, "[?,10]", "[]"},
    };
    OP_TEST_SHAPES(shapes);
    static const op_grad_case gradients[] = {
        {"SoftmaxCrossEntropyWithLogits", NULL, "double[2,3] 1 2 3 0 -1 0.5; double[2,3] 0 0 1 0.5 0.5 0"},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, "double[2,3] 1 2 3 0 -1 0.5; int32[2] 2 0"},
        {"L2Loss", NULL, "double[2,2] 1 -2 3 4"},
    };
    OP_TEST_GRADIENTS(gradients);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bias_follow_the_definition),
        cmocka_unit_test(activations_follow_the_definition),
        cmocka_unit_test(softmax_follows_its_definition),
        cmocka_unit_test(losses_follow_the_definition),
    };
    return BD_RUN_TESTS(tests);
}
