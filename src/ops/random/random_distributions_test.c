// Tests of RandomShuffle and of draws from distributions with parameters: TensorFlow's values for the same
// seeds.
#include "base/testing/test.h"
#include "graph/grad.h"
#include "ops/testing/op_test.h"
#include "ops/testing/random_source.h"

#include <math.h>

// Values were computed from the definitions of TensorFlow's kernels by an independent Python program.
static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_random_case cases[] = {
        {"RandomShuffle",
         "seed=87654321; seed2=1234",
         {"int32[7] 10 11 12 13 14 15 16"},
         1,
         {"int32[7] 14 10 15 13 11 12 16", "int32[7] 11 13 14 12 16 15 10"}},
        {"RandomShuffle",
         "seed=87654321; seed2=1234",
         {"int64[5,2] 0 1 2 3 4 5 6 7 8 9"},
         1,
         {"int64[5,2] 8 9 4 5 6 7 2 3 0 1"}},
        {"Multinomial",
         "seed=87654321; seed2=1234",
         {"float[3,4] 0.5 -1 2 0 1 1 -inf nan -3 4 inf 1", "int32[] 5"},
         2,
         {"int64[3,5] 2 2 2 2 2 1 0 1 0 0 1 1 3 1 1", "int64[3,5] 2 0 2 2 2 1 0 0 0 0 1 1 1 1 1"}},
        {"Multinomial",
         "seed=87654321; seed2=1234; output_dtype=int32",
         {"double[3,4] 0.5 -1 2 0 1 1 -inf nan -3 4 inf 1", "int32[] 6"},
         2,
         {"int32[3,6] 2 2 2 2 2 2 0 1 0 0 0 1 3 1 1 1 1 1"}},
        {"RandomGamma",
         "seed=87654321; seed2=1234",
         {"int32[1] 3", "double[4] 0.3 1 2.5 100"},
         2,
         {"double[3,4] 0.009152994736937925 0.6805451629970845 1.264885453301348 92.53340601523985 "
          "0.01868046230892345 0.6392438627121286 5.82723107810273 109.5539867947092 "
          "0.001924849037726268 0.1278800299659408 0.9181128375786625 80.83567141947195",
          "double[3,4] 0.2653977503006621 2.024832393226895 4.63500943418619 98.10246957481586 "
          "0.03339739764133996 5.08280512306269 5.555812022733823 99.09788458563156 "
          "9.82144844924501e-08 0.301115020109938 2.072587800712203 92.38112782424648"}},
        {"RandomGamma",
         "seed=87654321; seed2=1234",
         {"int64[0]", "float[4] 0.3 1 2.5 100"},
         2,
         {"float[4] 0.0091529963 0.51363144 2.4215965 87.03676"}},
        {"RandomPoisson",
         "seed=87654321; seed2=1234",
         {"int32[1] 4", "float[4] 0.5 3.25 10 250"},
         2,
         {"float[4,4] 0 2 10 265 0 4 8 231 0 5 15 272 0 2 10 270"}},
        {"RandomPoissonV2",
         "seed=87654321; seed2=1234",
         {"int32[2] 2 1", "double[4] 0.5 3.25 10 250"},
         2,
         {"int64[2,1,4] 0 2 10 247 0 4 6 277", "int64[2,1,4] 0 4 13 272 0 2 18 270"}},
        {"RandomPoissonV2",
         "seed=87654321; seed2=1234; dtype=double",
         {"int64[1] 3", "int32[2] 7 40"},
         2,
         {"double[3,2] 8 40 6 39 4 45"}},
        {"ParameterizedTruncatedNormal",
         "seed=87654321; seed2=1234",
         {"int32[2] 4 3", "float[4] 0 1 5 -2", "float[4] 1 2 0.5 1", "float[4] -1 -inf 5.1 3",
          "float[4] 2.5 3 5.2 inf"},
         5,
         {"float[4,3] 0.51340485 -0.25581399 0.65199131 0.25486404 0.59327394 -1.4940367 5.1541553 "
          "5.1075253 5.1074491 3.2325678 3.0804596 3.3631725"}},
        {"ParameterizedTruncatedNormal",
         "seed=87654321; seed2=1234",
         {"int32[1] 5", "float[] 1", "float[] 2", "float[] 0", "float[] inf"},
         5,
         {"float[5] 2.0268097 0.48837203 2.3039827 3.7847276 1.745136",
          "float[5] 2.1605215 0.63982403 1.7885467 1.1474961 4.349072"}},
        {"ParameterizedTruncatedNormal",
         "seed=87654321; seed2=1234",
         {"int32[2] 4 3", "double[4] 0 1 5 -2", "double[4] 1 2 0.5 1", "double[4] -1 -inf 5.1 3",
          "double[4] 2.5 3 5.2 inf"},
         5,
         {"double[4,3] 0.1992184227755242 -0.6638882732840937 1.520002107199174 2.682552720451988 "
          "1.55083129312467 -1.722480631420698 5.121365917770381 5.167528409539751 "
          "5.121768028852154 3.014490929176056 3.137796857876691 3.029167271331036"}},
        {"ParameterizedTruncatedNormal",
         "seed=87654321; seed2=1234",
         {"int32[1] 5", "double[] 1", "double[] 2", "double[] 0", "double[] inf"},
         5,
         {"double[5] 1.398436845551049 4.040004214398348 0.6746254972729476 0.4491687068753298 "
          "3.722480631420698",
          "double[5] 2.252902573108984 1.304382381995502 1.955581304665756 1.603381923086383 "
          "3.927052509049051"}},
        {"RandomShuffle", "seed=87654321; seed2=1234", {"string[3] a b c"}, 1, {"string[3] b c a"}},
        {"RandomCrop",
         "seed=87654321; seed2=1234",
         {"int32[3,4,1] 0 1 2 3 10 11 12 13 20 21 22 23", "int64[2] 1 2"},
         2,
         {"int32[1,2,1] 1 2", "int32[1,2,1] 20 21"}},
        // A dimension that is not cropped takes no random number.
        {"RandomCrop",
         "seed=87654321; seed2=1234",
         {"uint8[3,1,2] 0 1 2 3 4 5", "int64[2] 1 1"},
         2,
         {"uint8[1,1,2] 2 3", "uint8[1,1,2] 0 1"}},
    };
    op_random_check(cases, BD_COUNTOF(cases));
}

static void errors_and_empty_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "RandomShuffle", .inputs = "float[] 3", .want = "float[] 3"},
        {.op = "RandomCrop", .inputs = "float[1,2,1] 3 4; int64[2] 1 2", .want = "float[1,2,1] 3 4"},
        {.op = "RandomCrop", .inputs = "float[1,2,1] 3 4; int64[2] 0 2", .want = "float[0,2,1]"},
        {.op = "RandomCrop",
         .inputs = "float[1,2,1] 3 4; int64[2] 1 3",
         .want = "FailedPrecondition: width must be >= target_width: width = 2, target_width = 3"},
        {.op = "RandomCrop",
         .inputs = "float[1,2,1] 3 4; int64[2] 2 1",
         .want = "FailedPrecondition: height must be >= target_height: height = 1, target_height = 2"},
        {.op = "RandomCrop",
         .inputs = "float[1,2,1] 3 4; int64[2] 1 -1",
         .want = "InvalidArgument: Dimension -1 must be >= 0"},
        {.op = "RandomCrop",
         .inputs = "float[1,2] 3 4; int64[2] 1 1",
         .want = "InvalidArgument: input must be 3-dimensional[1,2]"},
        {.op = "RandomCrop",
         .inputs = "float[1,2,1] 3 4; int64[1] 1",
         .want = "InvalidArgument: shape_t must have two elements[1]"},
        {.op = "RandomShuffle", .inputs = "int32[0,4]", .want = "int32[0,4]"},
        {.op = "RandomShuffle", .inputs = "int32[4,0]", .want = "int32[4,0]"},
        {.op = "RandomShuffle", .inputs = "int32[1,2] 7 8", .want = "int32[1,2] 7 8"},
        {.op = "RandomCrop",
         .inputs = "float[] 1; int64[2] 1 1",
         .want = "InvalidArgument: input must be 3-dimensional[]"},
        {.op = "RandomCrop",
         .inputs = "float[1,2,1] 3 4; int64[] 1",
         .want = "InvalidArgument: shape_t must be 1-dimensional[]"},
        {.op = "RandomPoisson", .inputs = "int32[1] 2; float[] 0", .want = "float[2] 0"},
        {.op = "RandomPoisson", .inputs = "int32[1] 2; half[0]", .want = "half[2,0]"},
        {.op = "RandomPoisson",
         .inputs = "int32[] 2; float[1] 1",
         .want = "InvalidArgument: shape must be a vector"},
        {.op = "RandomPoissonV2", .inputs = "int64[2] 2 0; int32[] 4", .want = "int64[2,0]"},
        {.op = "Multinomial", .inputs = "float[0,2]; int32[] 3", .want = "int64[0,3]"},
        {.op = "Multinomial", .inputs = "float[2,2] 1; int32[] 0", .want = "int64[2,0]"},
        // No class has a probability: the result is the number of classes.
        {.op = "Multinomial", .inputs = "float[1,3] -inf; int32[] 2", .want = "int64[1,2] 3"},
        {.op = "Multinomial",
         .inputs = "float[3] 1; int32[] 2",
         .want = "InvalidArgument: logits should be a matrix, got shape [3]"},
        {.op = "Multinomial",
         .inputs = "float[1,3] 1; int32[1] 2",
         .want = "InvalidArgument: num_samples should be a scalar, got shape [1]"},
        {.op = "Multinomial",
         .inputs = "float[1,3] 1; int32[] -2",
         .want = "InvalidArgument: num_samples should be nonnegative, got -2"},
        {.op = "Multinomial",
         .inputs = "float[1,0]; int32[] 2",
         .want = "InvalidArgument: num_classes should be positive"},
        {.op = "RandomGamma", .inputs = "int32[1] 0; float[2] 1", .want = "float[0,2]"},
        {.op = "RandomGamma", .inputs = "int32[1] 2; float[0]", .want = "float[2,0]"},
        {.op = "RandomGamma",
         .inputs = "int32[1] 2; double[3] nan -1 0",
         .want = "double[2,3] nan nan 0 nan nan 0"},
        {.op = "RandomGamma",
         .inputs = "int32[] 2; float[] 1",
         .want = "InvalidArgument: shape must be a vector"},
        {.op = "RandomGamma",
         .inputs = "int32[5] 1; float[1,1,1,1,1,1,1,1] 1",
         .want = "InvalidArgument: samples would have 13 dimensions"},
        {.op = "RandomPoisson", .inputs = "int32[1] 1; float[3] 0 -3 inf", .want = "float[1,3] 0 0 nan"},
        {.op = "RandomPoissonV2", .inputs = "int32[1] 1; float[] nan", .want = "InvalidArgument: not finite"},
        {.op = "RandomPoissonV2",
         .attrs = "dtype=int32",
         .inputs = "int32[1] 1; double[] 1e12",
         .want = "InvalidArgument: too large for samples of int32"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[1] 0; float[] 0; float[] 1; float[] 0; float[] 1",
         .want = "float[0]"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[0]; float[] 0; float[] 1; float[] 0; float[] 1",
         .want = "InvalidArgument: Shape tensor must not be empty"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[1] 2; float[] 0; float[] -1; float[] 0; float[] 1",
         .want = "InvalidArgument: Invalid parameters"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[1] 2; float[] 0; float[] 1; float[] 1; float[] 1",
         .want = "InvalidArgument: Invalid parameters"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[1] 2; float[] 0; float[] 1; float[] -inf; float[] inf",
         .want = "InvalidArgument: Invalid parameters"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[1] 2; float[3] 0; float[] 1; float[] 0; float[] 1",
         .want = "InvalidArgument: Input means should have length 1 or shape[0], got shape: [3]"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[1] 2; float[] 0; float[1,1] 1; float[] 0; float[] 1",
         .want = "InvalidArgument: Input stddevs should be a scalar or vector, got shape: [1,1]"},
    };
    OP_TEST_VALUES(cases);
}

// The derivative of the inverse distribution function by alpha, by differences of scipy's gammaincinv.
static void gamma_grad_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "RandomGammaGrad",
         .inputs = "double[11] 0.3 0.3 0.5 1 2.5 2.5 2.5 20 20 100 100; double[11] 0.01 0.5 3 1 0.1 2.5 9 15 "
                   "22 90 120",
         .want = "double[11] 0.149206954 1.99208484 2.91294242 1.17356303 0.140549793 1.06867302 1.8917118 "
                 "0.870247803 1.05719059 0.94982595 1.09575251",
         .tolerance = 1e-07},
        {.op = "RandomGammaGrad",
         .inputs = "float[2,1] 1 2.5; float[1,2] 1 2.5",
         .want = "float[2,2] 1.173563 1.7970322 0.65079386 1.068673"},
        {.op = "RandomGammaGrad",
         .inputs = "double[3] 1 -1 nan; double[3] 0 1 1",
         .want = "double[3] 0 nan nan"},
        {.op = "RandomGammaGrad", .inputs = "double[0]; double[0]", .want = "double[0]"},
        {.op = "RandomGammaGrad",
         .inputs = "double[] 1; double[] 1",
         .want = "double[] 1.17356303",
         .tolerance = 1e-07},
        {.op = "RandomGammaGrad",
         .inputs = "double[2] 1; double[3] 1",
         .want = "InvalidArgument: Incompatible shapes: [2] vs. [3]"},
    };
    OP_TEST_VALUES(cases);
}

// The gradient of alpha is the sum over its samples.
static void the_gradient_of_gamma_sums_random_gamma_grad(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_tensor alphas, got[2];
    op_test_tensor(&alphas, "double[2] 0.7 3");
    braid_out in[] = {bd_b_const_i32_vector(g, NULL, (int32_t[]){2}, 1), bd_b_const(g, NULL, &alphas)};
    braid_out sample = braid_output(op_test_node(g, "RandomGamma", "seed=3", in, 2), 0), grad;
    braid_gradients(g, &sample, 1, &in[1], 1, NULL, &grad);
    braid_out partial = bd_b2(g, "RandomGammaGrad", NULL, in[1], sample);
    op_test_eval(NULL, 0, (braid_out[]){grad, partial}, 2, got, st);
    assert_ok(st);
    for (int i = 0; i < 2; i++) {
        double want = bd_tensor_f64(&got[1])[i] + bd_tensor_f64(&got[1])[2 + i];
        assert_true(fabs(bd_tensor_f64(&got[0])[i] - want) < 1e-12);
    }
    bd_tensor_fini(&got[0]);
    bd_tensor_fini(&got[1]);
    bd_tensor_fini(&alphas);
    braid_graph_free(g);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"RandomShuffle", NULL, "[?,3]", "[?,3]"},
        {"RandomCrop", NULL, "[?,3,4]; int64[2] 5 2", "[5,2,4]"},
        {"RandomCrop", NULL, "?; int64[2]", "[?,?,?]"},
        {"RandomCrop", NULL, "[2,3]; int64[2]", "InvalidArgument: must be rank 3 but is rank 2"},
        {"RandomCrop", NULL, "[1,2,3]; int64[3]", "InvalidArgument: Dimension must be 2 but is 3"},
        {"Multinomial", NULL, "[7,3]; int32[] 4", "[7,4]"},
        {"Multinomial", NULL, "?; int32[]", "[?,?]"},
        {"Multinomial", NULL, "[3]; int32[]", "InvalidArgument: must be rank 2 but is rank 1"},
        {"Multinomial", NULL, "[3,3]; int32[] -1", "InvalidArgument: must be non-negative but is -1"},
        {"RandomGamma", NULL, "int32[1] 4; [2,?]", "[4,2,?]"},
        {"RandomGamma", NULL, "int32[1]; [2]", "[?,2]"},
        {"RandomPoisson", NULL, "int32?; [2]", "?"},
        {"RandomPoissonV2", NULL, "int32[1] 4; ?", "?"},
        {"RandomGammaGrad", NULL, "[2,1]; [1,3]", "[2,3]"},
        {"ParameterizedTruncatedNormal", NULL, "int32[2] 4 5; []; [4]; []; [?]", "[4,5]"},
        {"ParameterizedTruncatedNormal", NULL, "int32[1]; [2,2]; []; []; []",
         "InvalidArgument: must be at most rank 1 but is rank 2"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_tensorflow),
        cmocka_unit_test(errors_and_empty_follow_the_definition),
        cmocka_unit_test(gamma_grad_follows_its_definition),
        cmocka_unit_test(the_gradient_of_gamma_sums_random_gamma_grad),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
