// Tests of random ops whose generator state is an input: a seed, or the content of a variable.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include <stdio.h>

// Values were computed from the definitions of TensorFlow's kernels by an independent Python program.

static void stateless_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "StatelessRandomUniform",
         .inputs = "int32[2] 2 3; int64[2] 12 34",
         .want = "float[2,3] 0.54033375 0.74181187 0.57434464 0.30746174 0.10556138 0.47128153"},
        {.op = "StatelessRandomUniform",
         .attrs = "dtype=double",
         .inputs = "int64[1] 5; int32[2] -7 5",
         .want = "double[5] 0.9011505098241197 0.3027467085437587 0.883518179332657 0.6551933339490403 "
                 "0.4026439108213542"},
        {.op = "StatelessRandomNormal",
         .inputs = "int32[2] 2 3; int64[2] 12 34",
         .want = "float[2,3] -1.1080979 -0.057059087 0.9852196 -0.37201285 0.38057443 -2.0861659"},
        {.op = "StatelessRandomNormal",
         .attrs = "dtype=double",
         .inputs = "int64[1] 5; int32[2] -7 5",
         .want = "double[5] 0.4314238214837286 -0.1484569360004939 -0.411962165686524 -0.279238242227952 "
                 "-1.205963541457506"},
        {.op = "StatelessTruncatedNormal",
         .inputs = "int32[2] 2 3; int64[2] 12 34",
         .want = "float[2,3] -1.1080979 -0.057059087 0.9852196 -0.37201285 -0.014384286 -1.1368351"},
        {.op = "StatelessTruncatedNormal",
         .attrs = "dtype=double",
         .inputs = "int64[1] 5; int32[2] -7 5",
         .want = "double[5] 0.4314238214837286 -0.1484569360004939 -1.789382134479476 0.4904847545127852 "
                 "-0.9403485631097902"},
        {.op = "StatelessRandomUniformInt",
         .inputs = "int32[2] 2 3; int64[2] 12 34; int32[] -5; int32[] 15",
         .want = "int32[2,3] -5 -4 -1 -1 8 -1"},
        {.op = "StatelessRandomUniformInt",
         .inputs = "int32[1] 3; int64[2] 12 34; int64[] -5; int64[] 1000000000000",
         .want = "int64[3] 289416742006 499140668758 313913377977"},
        {.op = "StatelessMultinomial",
         .inputs = "float[3,4] 0.5 -1 2 0 1 1 -inf nan -3 4 inf 1; int32[] 5; int64[2] 1 2",
         .want = "int64[3,5] 2 3 1 2 2 1 1 0 1 1 1 1 1 1 1"},
        {.op = "StatelessMultinomial",
         .attrs = "output_dtype=int32",
         .inputs = "double[3,4] 0.5 -1 2 0 1 1 -inf nan -3 4 inf 1; int32[] 2; int32[2] 3 4",
         .want = "int32[3,2] 3 2 0 1 1 1"},
        {.op = "StatelessRandomUniformInt",
         .inputs = "int32[1] 0; int64[2] 1 2; int32[] 5; int32[] 5",
         .want = "int32[0]"},
        {.op = "StatelessMultinomial", .inputs = "float[0,2]; int32[] 3; int64[2] 1", .want = "int64[0,3]"},
        {.op = "StatelessRandomUniformInt",
         .inputs = "int32[1] 2; int64[2] 1 2; int32[] 5; int32[] 5",
         .want = "InvalidArgument: Need minval < maxval, got 5 >= 5"},
        {.op = "StatelessMultinomial",
         .inputs = "float[2] 1; int32[] 3; int64[2] 1",
         .want = "InvalidArgument: logits should be a matrix, got shape [2]"},
        {.op = "StatelessMultinomial",
         .inputs = "float[] 1; int32[] 3; int64[2] 1",
         .want = "InvalidArgument: logits should be a matrix, got shape []"},
        {.op = "StatelessMultinomial",
         .inputs = "float[1,2] 1; int32[1] 3; int64[2] 1",
         .want = "InvalidArgument: num_samples should be a scalar, got shape [1]"},
        {.op = "StatelessMultinomial",
         .inputs = "float[1,2] 1; int32[] 3; int64[] 1",
         .want = "InvalidArgument: seed must have shape [2], not []"},
        {.op = "StatelessRandomUniformInt",
         .inputs = "int32[1] 2; int64[2] 1 2; int32[1] 5; int32[] 5",
         .want = "InvalidArgument: minval must be 0-D, got shape [1]"},
    };
    OP_TEST_VALUES(cases);
}

// The shape function is that of all ops that draw numbers of a type by a seed.
static void shapes_of_stateless_ops_are_inferred(void **state)
{
    (void)state;
    static const char *const ops[] = {"StatelessRandomUniform", "StatelessRandomNormal",
                                      "StatelessTruncatedNormal", "StatelessRandomUniformFullInt"};
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        const char *op = ops[i], *type = strstr(op, "Int") ? "uint64" : "float";
        char nothing[32];
        snprintf(nothing, sizeof nothing, "%s[2,0]", type);
        const op_case cases[] = {
            {op, NULL, "int32[2] 2 0; int64[2] 1 2", nothing},
            {op, NULL, "int32[] 2; int64[2] 1 2", "InvalidArgument: shape must be a vector"},
            {op, NULL, "int32[1] 2; int64[] 1", "InvalidArgument: seed must have shape [2], not []"},
            {op, NULL, "int32[1] 2; int64[3] 1 2 3", "InvalidArgument: seed must have shape [2], not [3]"},
            {op, NULL, "int32[1] -2; int64[2] 1 2", "InvalidArgument: must be >= 0"},
        };
        OP_TEST_VALUES(cases);
    }
}

static void stateful_floats_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "StatefulUniform",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[2] 2 3",
         .want = "float[2,3] 0.83640003 0.1577704 0.49588025 0.67780578 0.97938776 0.27804136",
         .after = "int64[3] 1541 7 -9"},
        {.op = "StatefulUniform",
         .attrs = "dtype=double",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int32[1] 3",
         .want = "double[3] 0.6912008638638452 0.9670421214360851 0.8351021786742683",
         .after = "int64[3] 773 7 -9"},
        {.op = "StatefulStandardNormalV2",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[2] 2 3",
         .want = "float[2,3] 0.50015473 0.3273252 -1.0646377 -0.5190264 0.20093659 -0.035773776",
         .after = "int64[3] 1541 7 -9"},
        {.op = "StatefulStandardNormalV2",
         .attrs = "dtype=double",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int32[1] 3",
         .want = "double[3] -0.1767054659221235 0.841085490121757 -0.4556677888781669",
         .after = "int64[3] 773 7 -9"},
        {.op = "StatefulTruncatedNormal",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[2] 2 3",
         .want = "float[2,3] 0.50015473 0.3273252 -1.0646377 -0.5190264 -0.083614826 1.4092833",
         .after = "int64[3] 1541 7 -9"},
        {.op = "StatefulTruncatedNormal",
         .attrs = "dtype=double",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int32[1] 3",
         .want = "double[3] -0.1767054659221235 0.841085490121757 0.2095864529015874",
         .after = "int64[3] 773 7 -9"},
        {.op = "StatefulStandardNormal",
         .inputs = "var int64[4] 1 -1 7 -9; int64[1] 5",
         .want = "float[5] 0.44084814 0.83877099 0.71665037 0.7349413 1.4100122",
         .after = "int64[4] 1 1279 8 -9"},
        {.op = "StatefulStandardNormal",
         .inputs = "var int64[4] 1 2 3 4; int64[2] 0 2",
         .want = "float[0,2]",
         .after = "int64[4] 1 2 3 4"},
    };
    OP_TEST_VALUES(cases);
}

static void stateful_binomials_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "StatefulRandomBinomial",
         .attrs = "dtype=float",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int32[1] 4; float[] 20; float[] 0.25",
         .want = "float[4] 8 3 3 5",
         .after = "int64[3] 89605 7 -9"},
        {.op = "StatefulRandomBinomial",
         .attrs = "dtype=int32",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[2] 2 2; double[1] 1000; double[] 0.4",
         .want = "int32[2,2] 406 392 381 391"},
        // the position of the parameters in TensorFlow 1
        {.op = "StatefulRandomBinomial",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[2] 2 3; double[2] 10 100; double[2] 0.3 0.25",
         .want = "int64[2,3] 5 1 3 22 23 24",
         .after = "int64[3] 153605 7 -9"},
        {.op = "StatefulRandomBinomial",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[1] 0; double[0]; double[0]",
         .want = "int64[0]",
         .after = "int64[3] 5 7 -9"},
        {.op = "StatefulRandomBinomial",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[2] 2 3; double[4] 1; double[] 0.3",
         .want = "InvalidArgument: Shape passed in must end with broadcasted shape"},
        {.op = "StatefulRandomBinomial",
         .inputs = "var int64[3] 5 7 -9; int64[] 2; int64[1] 2; double[] 1; double[] 0.3",
         .want = "InvalidArgument: Unsupported algorithm id: 2"},
    };
    OP_TEST_VALUES(cases);
}

static void stateful_integers_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "StatefulUniformInt",
         .inputs = "var int64[4] 5 7 -9 99; int64[] 1; int64[1] 3; int64[] -5; int64[] 500",
         .want = "int64[3] 175 39 438",
         .after = "int64[4] 773 7 -9 99"},
        {.op = "StatefulUniformInt",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[1] 5; int32[] -5; int32[] 500",
         .want = "int32[5] 123 477 4 300 57",
         .after = "int64[3] 1285 7 -9"},
        {.op = "StatefulUniformInt",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[1] 2; uint64[] 5; uint64[] 18446744073709551615",
         .want = "uint64[2] 11751072107472817965 2942753088164821254",
         .after = "int64[3] 517 7 -9"},
        {.op = "StatefulUniformInt",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[1] 2; uint32[] 5; uint32[] 4294967295",
         .want = "uint32[2] 1743458093 2736009687",
         .after = "int64[3] 517 7 -9"},
        {.op = "StatefulUniformFullInt",
         .attrs = "dtype=int32",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[1] 3",
         .want = "int32[3] 1743458088 -1558957614 -1581287167",
         .after = "int64[3] 773 7 -9"},
        {.op = "StatefulUniformFullInt",
         .attrs = "dtype=int64",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[1] 3",
         .want = "int64[3] -6695671966236733656 2942753088164821249 1883514942527462548",
         .after = "int64[3] 773 7 -9"},
        {.op = "StatefulUniformFullInt",
         .attrs = "dtype=uint32",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[1] 3",
         .want = "uint32[3] 1743458088 2736009682 2713680129",
         .after = "int64[3] 773 7 -9"},
        {.op = "StatefulUniformFullInt",
         .attrs = "dtype=uint64",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[1] 3",
         .want = "uint64[3] 11751072107472817960 2942753088164821249 1883514942527462548",
         .after = "int64[3] 773 7 -9"},
    };
    OP_TEST_VALUES(cases);
}

static void skipping_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "RngSkip",
         .inputs = "var int64[3] 5 7 -9; int64[] 1; int64[] 1000",
         .want = "",
         .after = "int64[3] 256005 7 -9"},
        {.op = "RngSkip",
         .inputs = "var int64[3] 1 2 3; int64[] 1; int64[1] 1",
         .want = "InvalidArgument: input 2 (0-based) must have shape [], not [1]"},
        {.op = "RngSkip",
         .inputs = "var int64[3] 1 2 3; int64[0]; int64[] 1",
         .want = "InvalidArgument: input 1 (0-based) must have shape [], not [0]"},
    };
    OP_TEST_VALUES(cases);
}

static void stateful_errors_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "StatefulUniform",
         .inputs = "var int32[3] 1 2 3; int64[] 1; int64[1] 1",
         .want = "InvalidArgument: dtype of RNG state variable must be int64, not int32"},
        {.op = "StatefulUniform",
         .inputs = "var int64[1,3] 1 2 3; int64[] 1; int64[1] 1",
         .want = "InvalidArgument: RNG state must have one and only one dimension, not 2"},
        {.op = "StatefulUniform",
         .inputs = "var int64[2] 1 2; int64[] 1; int64[1] 1",
         .want = "InvalidArgument: the size of state must be at least 3; got 2"},
        {.op = "StatefulUniform",
         .inputs = "var int64[3]; int64[] 1; int64[1] 1",
         .want = "FailedPrecondition: Attempting to use uninitialized value"},
        {.op = "StatefulStandardNormal",
         .inputs = "var int64[4] 1 2 3 4; int64[] 2",
         .want = "InvalidArgument: shape must be a vector"},
        {.op = "StatefulStandardNormal",
         .inputs = "var int64[3] 1 2 3; int64[1] 1",
         .want = "InvalidArgument: the size of state must be at least 4; got 3"},
        {.op = "StatefulStandardNormal",
         .inputs = "var int64[4] 3 1 2 3; int64[1] 1",
         .want = "InvalidArgument: Unsupported algorithm id: 3"},
        {.op = "StatefulUniformInt",
         .inputs = "var int64[3] 1 2 3; int64[] 1; int64[1] 1; uint64[] 9223372036854775808; uint64[] 7",
         .want = "InvalidArgument: Need minval < maxval, got 9223372036854775808 >= 7"},
    };
    OP_TEST_VALUES(cases);
}

static void nondeterministic_integers_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "NonDeterministicInts", .inputs = "int64[2] 2 3", .want = "*"},
        {.op = "NonDeterministicInts", .attrs = "dtype=uint32", .inputs = "int32[1] 0", .want = "uint32[0]"},
        {.op = "NonDeterministicInts", .inputs = "int64[] 2", .want = "InvalidArgument: must be a vector"},
    };
    OP_TEST_VALUES(cases);
}

// The shape function is that of all ops that draw numbers by the generator in a variable.
static void shapes_of_stateful_ops_are_inferred(void **state)
{
    (void)state;
    static const struct {
        const char *op, *type, *bounds;
    } ops[] = {{"StatefulUniform", "float", ""},
               {"StatefulStandardNormalV2", "float", ""},
               {"StatefulTruncatedNormal", "float", ""},
               {"StatefulUniformFullInt", "uint64", ""},
               {"StatefulUniformInt", "int64", "; int64[] 1; int64[] 9"}};
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        static const char *const refused[][2] = {
            {"int64[] 1; int64[] 2", "InvalidArgument: shape must be a vector"},
            {"int64[1] 1; int64[1] 2", "InvalidArgument: input 1 (0-based) must have shape [], not [1]"},
            {"int64[0]; int64[1] 2", "InvalidArgument: input 1 (0-based) must have shape [], not [0]"},
            {"int64[] 2; int64[1] 2", "InvalidArgument: Unsupported algorithm id: 2"},
        };
        char inputs[128], nothing[32];
        snprintf(inputs, sizeof inputs, "var int64[3] 5 7 -9; int64[] 1; int32[2] 2 0%s", ops[i].bounds);
        snprintf(nothing, sizeof nothing, "%s[2,0]", ops[i].type);
        op_test_values(&(op_case){ops[i].op, NULL, inputs, nothing, "int64[3] 5 7 -9"}, 1);
        for (size_t k = 0; k < BD_COUNTOF(refused); k++) {
            snprintf(inputs, sizeof inputs, "var int64[3] 5 7 -9; %s%s", refused[k][0], ops[i].bounds);
            op_test_values(&(op_case){ops[i].op, NULL, inputs, refused[k][1], "int64[3] 5 7 -9"}, 1);
        }
    }
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"StatelessRandomUniform", NULL, "int32[2] 2 3; int64[2]", "[2,3]"},
        {"StatelessRandomNormal", NULL, "int32[2]; int64[?]", "[?,?]"},
        {"StatelessTruncatedNormal", NULL, "int32[2]; int64[3]", "InvalidArgument: must be 2 but is 3"},
        {"StatelessRandomUniformInt", NULL, "int32[1] 4; int64[2]; int32[]; int32[]", "[4]"},
        {"StatelessMultinomial", NULL, "[7,3]; int32[] 4; int64[2]", "[7,4]"},
        {"StatefulUniform", NULL, "var int64[3]; int64[]; int64[2] 2 3", "[2,3]"},
        {"StatefulUniform", NULL, "var int64[3]; int64[1]; int64[2] 2 3", "InvalidArgument: must be rank 0"},
        {"StatefulStandardNormal", NULL, "var int64[3]; int64[2]", "[?,?]"},
        {"StatefulUniformInt", NULL, "var int64[3]; int64[]; int64[1] 5; int64[]; int64[]", "[5]"},
        {"StatefulUniformFullInt", NULL, "var int64[3]; int64[]; int64?", "?"},
        {"StatefulRandomBinomial", NULL, "var int64[3]; int64[]; int64[2] 2 3; double[]; double[2]", "[2,3]"},
        {"StatefulRandomBinomial", NULL, "var int64[3]; int64[]; int64[2]; double[]; double[]", "[?,?]"},
        {"NonDeterministicInts", NULL, "int64[1] 6", "[6]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stateless_follows_its_definition),
        cmocka_unit_test(shapes_of_stateless_ops_are_inferred),
        cmocka_unit_test(stateful_floats_follow_the_definition),
        cmocka_unit_test(stateful_binomials_follow_the_definition),
        cmocka_unit_test(stateful_integers_follow_the_definition),
        cmocka_unit_test(skipping_follows_its_definition),
        cmocka_unit_test(stateful_errors_follow_the_definition),
        cmocka_unit_test(nondeterministic_integers_follow_the_definition),
        cmocka_unit_test(shapes_of_stateful_ops_are_inferred),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
