// Tests of the random ops that TensorFlow 2 added: streams given by key and counter.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include <stdio.h>

// Values were computed from the definitions of TensorFlow's kernels by an independent Python program. The
// stream of key -9 and counter 5, 7 is also used by the test of StatefulUniform, and the gamma stream by that
// of RandomGamma.
#define STREAM "uint64[1] 18446744073709551607; uint64[2] 5 7; int32[] 1"
#define AUTO_STREAM "uint64[1] 18446744073709551607; uint64[3] 5 7 9; int32[] 3"
#define GAMMA_STREAM "uint64[1] 87654321; uint64[2] 0 1234; int32[] 1"

static void streams_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"StatelessRandomGetKeyCounter", NULL, "int64[2] 12 34",
         "uint64[1] 9253899398316315749; uint64[2] 0 9728725001470529864"},
        {"StatelessRandomGetKeyCounterAlg", NULL, "int32[2] -7 5",
         "uint64[1] 5174078390471087579; uint64[2] 0 10952685971482487248; int32[] 1"},
        {"StatelessRandomGetAlg", NULL, "", "int32[] 1"},
        {"StatelessRandomGetKeyCounter", NULL, "int64[3] 1 2 3",
         "InvalidArgument: seed must have shape [2], not [3]"},
        {"RngReadAndSkip", NULL, "var int64[3] 5 7 -9; int32[] 1; uint64[] 6", "int64[3] 5 7 -9",
         "int64[3] 1541 7 -9"},
        {"RngReadAndSkip", NULL, "var int64[4] 5 7 -9 3; int32[] 1; uint64[] 0", "int64[3] 5 7 -9"},
        {"RngReadAndSkip", NULL, "var int64[2] 5 7; int32[] 1; uint64[] 6",
         "InvalidArgument: the size of state must be at least 3; got 2"},
        {"RngReadAndSkip", NULL, "var int64[3] 5 7 -9; int32[] 2; uint64[] 6",
         "InvalidArgument: Unsupported algorithm id: 2"},
        {"StatelessRandomGetKeyCounter", NULL, "int32[] 1",
         "InvalidArgument: seed must have shape [2], not []"},
        {"StatelessRandomGetKeyCounter", NULL, "int32[0]",
         "InvalidArgument: seed must have shape [2], not [0]"},
        {"StatelessRandomGetKeyCounterAlg", NULL, "int64[] 1",
         "InvalidArgument: seed must have shape [2], not []"},
        {"StatelessRandomGetKeyCounterAlg", NULL, "int64[0]",
         "InvalidArgument: seed must have shape [2], not [0]"},
        {"RngReadAndSkip", NULL, "var int64[3] 5 7 -9; int32[] 1; uint64[0]",
         "InvalidArgument: delta must be a scalar"},
        {"RngReadAndSkip", NULL, "var int64[3] 5 7 -9; int32[1] 1; uint64[] 6",
         "InvalidArgument: alg must be a scalar"},
    };
    OP_TEST_VALUES(cases);
}

static void numbers_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"StatelessRandomUniformV2", NULL, "int32[2] 2 3; " STREAM,
         "float[2,3] 0.83640003 0.1577704 0.49588025 0.67780578 0.97938776 0.27804136"},
        {"StatelessRandomUniformV2", "dtype=double", "int64[1] 3; " AUTO_STREAM,
         "double[3] 0.6912008638638452 0.9670421214360851 0.8351021786742683"},
        {"StatelessRandomNormalV2", NULL, "int32[2] 2 3; " STREAM,
         "float[2,3] 0.50015473 0.3273252 -1.0646377 -0.5190264 0.20093659 -0.035773776"},
        {"StatelessTruncatedNormalV2", "dtype=double", "int32[1] 3; " STREAM,
         "double[3] -0.1767054659221235 0.841085490121757 0.2095864529015874"},
        {"StatelessRandomUniformIntV2", NULL, "int32[1] 5; " STREAM "; int32[] -5; int32[] 500",
         "int32[5] 123 477 4 300 57"},
        {"StatelessRandomUniformIntV2", NULL, "int32[1] 0; " STREAM "; int64[] 5; int64[] 5", "int64[0]"},
        {"StatelessRandomUniformFullIntV2", "dtype=uint64", "int32[1] 2; " STREAM,
         "uint64[2] 11751072107472817960 2942753088164821249"},
        {"StatelessRandomUniformFullInt", "dtype=uint32", "int32[1] 5; int64[2] 12 34",
         "uint32[5] 3896846760 1423897521 667517984 2192005864 2853012233"},
        {"StatelessRandomUniformFullInt", NULL, "int32[1] 3; int64[2] 12 34",
         "uint64[3] 6115593289447319976 9414593499187741728 14464527313985700617"},
        {"StatelessShuffle", NULL, "string[6] a b c d e f; " STREAM, "string[6] a d b e c f"},
        {"StatelessShuffle", NULL, "float[0,2]; " STREAM, "float[0,2]"},
        {"StatelessShuffle", NULL, "int32[] 3; " STREAM, "int32[] 3"},
        {"StatelessRandomGammaV3", NULL, "int32[2] 3 4; " GAMMA_STREAM "; double[4] 0.3 1 2.5 100",
         "double[3,4] 0.009152994736937925 0.6805451629970845 1.264885453301348 92.53340601523985 "
         "0.01868046230892345 0.6392438627121286 5.82723107810273 109.5539867947092 "
         "0.001924849037726268 0.1278800299659408 0.9181128375786625 80.83567141947195"},
        {"StatelessRandomGammaV2", NULL, "int32[2] 0 2; int64[2] 1 2; float[2] 1", "float[0,2]"},
        {"StatelessRandomBinomial", "dtype=int32",
         "int64[2] 3 6; int64[2] 12 34; double[6] 10 100 50 0 7 8; double[6] 0.3 0.25 0.7 0.5 1 0.9",
         "int32[3,6] 4 18 32 0 7 8 3 29 37 0 7 7 6 29 29 0 7 7"},
        {"StatelessRandomBinomial", "dtype=half", "int32[1] 3; int64[2] 12 34; half[] 0x4900; half[] 0x34cd",
         "half[3] 0x4400 0x4200 0x4600"},
        {"StatelessRandomBinomial", NULL, "int32[3] 2 0 2; int64[2] 12 34; double[] 1; double[2] 1",
         "int64[2,0,2]"},
        {"StatelessRandomBinomial", "dtype=double",
         "int32[1] 4; int64[2] 1 2; double[4] nan inf 5 -3; double[4] 0.5 0.5 nan 0.5",
         "double[4] nan nan nan 0"},
        {"StatelessRandomBinomial", NULL, "int32[1] 1; int64[2] 1 2; double[] nan; double[] 0.5",
         "InvalidArgument: counts or probs are not numbers, or too large for samples of int64"},
        {"StatelessRandomBinomial", "dtype=int32", "int32[1] 1; int64[2] 1 2; double[] 1e10; double[] 0.5",
         "InvalidArgument: too large for samples of int32"},
        {"StatelessRandomBinomial", NULL, "int32[1] 2; int64[2] 1 2; double[2] 1; double[3] 0.5",
         "InvalidArgument: counts and probs must have compatible batch dimensions: [2] vs. [3]"},
        {"StatelessRandomBinomial", NULL, "int32[2] 2 3; int64[2] 1 2; double[2] 1; double[] 0.5",
         "InvalidArgument: Shape passed in must end with broadcasted shape: [2,3] does not end with [2]"},
        {"StatelessRandomPoisson", "dtype=int32", "int64[2] 3 2; int64[2] 12 34; double[2] 0.5 3.25",
         "int32[3,2] 0 1 0 4 0 2"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"StatelessRandomUniformV2", NULL, "int32[1] 2; uint64[1] 1; uint64[2] 0; int32[] 2",
         "InvalidArgument: Unsupported algorithm id: 2"},
        {"StatelessRandomUniformV2", NULL, "int32[1] 2; uint64[2] 1; uint64[2] 0; int32[] 1",
         "InvalidArgument: key must have shape [1], not [2]"},
        {"StatelessRandomUniformV2", NULL, "int32[1] 2; uint64[1] 1; uint64[1] 0; int32[] 1",
         "InvalidArgument: counter must be a vector with length at least 2; got shape: [1]"},
        {"StatelessRandomUniformV2", NULL, "int32[1] 2; uint64[1] 1; uint64[2] 0; int32[1] 1",
         "InvalidArgument: input 3 (0-based) must have shape [], not [1]"},
        {"StatelessRandomUniformIntV2", NULL, "int32[1] 2; " STREAM "; int32[] 5; int32[] 5",
         "InvalidArgument: Need minval < maxval, got 5 >= 5"},
        {"StatelessRandomGammaV2", NULL, "int32[] 3; int64[2] 1 2; float[] 1",
         "InvalidArgument: shape must be a vector"},
        {"StatelessRandomGammaV2", NULL, "int32[1] 3; int64[] 1; float[] 1",
         "InvalidArgument: seed must have shape [2], not []"},
        {"StatelessRandomGammaV3", NULL, "int32[2] 2 0; " GAMMA_STREAM "; float[0]", "float[2,0]"},
        {"StatelessRandomGammaV3", NULL, "int32[1] 1; " GAMMA_STREAM "; double[] 0.3",
         "double[1] 0.009152994736937925"},
        {"StatelessRandomPoisson", "dtype=int64", "int32[2] 2 0; int32[2] 1 2; float[0]", "int64[2,0]"},
        {"StatelessRandomPoisson", "dtype=int64", "int32[1] 2; int32[2] 1 2; float[] 0", "int64[2] 0"},
        {"StatelessShuffle", NULL, "float[2] 1; uint64[1] 1; uint64[2] 0; int32[] 2",
         "InvalidArgument: Unsupported algorithm id: 2"},
        {"StatelessRandomGammaV3", NULL, "int32[2] 3 4; " GAMMA_STREAM "; float[3] 1",
         "InvalidArgument: Shape passed in must end with broadcasted shape"},
        {"StatelessRandomPoisson", "dtype=float", "int32[1] 3; int32[2] 1 2; float[1,3] 1",
         "InvalidArgument: Shape passed in must end with broadcasted shape"},
    };
    OP_TEST_VALUES(cases);
}

// The shape function is that of all ops that draw numbers of a type by key and counter.
static void drawn_shapes_are_inferred(void **state)
{
    (void)state;
    static const char *const ops[] = {"StatelessRandomUniformV2", "StatelessRandomNormalV2",
                                      "StatelessTruncatedNormalV2", "StatelessRandomUniformFullIntV2"};
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        const char *op = ops[i], *type = strstr(op, "Int") ? "uint64" : "float";
        char nothing[32];
        snprintf(nothing, sizeof nothing, "%s[0,2]", type);
        const op_case cases[] = {
            {op, NULL, "int32[2] 0 2; " STREAM, nothing},
            {op, NULL, "int32[] 2; " STREAM, "InvalidArgument: shape must be a vector"},
            {op, NULL, "int64[1] -2; " STREAM, "InvalidArgument: must be >= 0"},
            {op, NULL, "int32[1] 2; uint64[] 1; uint64[2] 0; int32[] 1",
             "InvalidArgument: key must have shape [1], not []"},
            {op, NULL, "int32[1] 2; uint64[1] 1; uint64[] 0; int32[] 1",
             "InvalidArgument: counter must be a vector with length at least 2; got shape: []"},
            {op, NULL, "int32[1] 2; uint64[1] 1; uint64[2] 0; int32[] 2",
             "InvalidArgument: Unsupported algorithm id: 2"},
        };
        OP_TEST_VALUES(cases);
    }
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"StatelessRandomUniformV2", NULL, "int32[2] 2 3; uint64[1]; uint64[2]; int32[]", "[2,3]"},
        {"StatelessRandomUniformV2", NULL, "int32[2]; uint64[?]; uint64?; int32?", "[?,?]"},
        {"StatelessRandomUniformV2", NULL, "int32[2]; uint64[2]; uint64[2]; int32[]",
         "InvalidArgument: Dimension must be 1 but is 2"},
        {"StatelessRandomNormalV2", NULL, "int32[2]; uint64[1]; uint64[2]; int32[1]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"StatelessRandomUniformIntV2", NULL,
         "int32[2] 2 3; uint64[1]; uint64[2]; int32[]; int32[1]; int32[]",
         "InvalidArgument: minval must be a scalar; got a tensor of shape [1]"},
        {"StatelessRandomGetKeyCounterAlg", NULL, "int64[2]", "[1]; [2]; []"},
        {"StatelessShuffle", NULL, "[?,3]; uint64[1]; uint64[2]; int32[]", "[?,3]"},
        {"RngReadAndSkip", NULL, "var int64[3]; int32[]; uint64[]", "[3]"},
        {"StatelessRandomPoisson", "dtype=float", "int32[2] 3 4; int64[2]; float[4]", "[3,4]"},
        {"StatelessRandomBinomial", NULL, "int32[2] 3 4; int64[2]; double[4]; double[]", "[3,4]"},
        {"StatelessRandomBinomial", NULL, "int32[2] 3 4; int64[3]; double[4]; double[]",
         "InvalidArgument: must be 2 but is 3"},
        {"StatelessRandomGammaV2", NULL, "int32[2] 3 4; int64[3]; float[4]",
         "InvalidArgument: Dimension must be 2 but is 3"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_follow_the_definition), cmocka_unit_test(numbers_follow_the_definition),
        cmocka_unit_test(wrong_inputs_are_errors), cmocka_unit_test(drawn_shapes_are_inferred),
        cmocka_unit_test(shapes_are_inferred)};
    return BD_RUN_TESTS(tests);
}
