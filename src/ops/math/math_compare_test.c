// Tests of comparisons, logic and Select.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define LENIENT "incompatible_shape_error=false"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Equal", NULL, "float[4] 1 2 nan -0; float[4] 1 3 nan 0", "bool[4] true false false true"},
        {"Equal", NULL, "int64[2] 1 2; int64[] 2", "bool[2] false true"},
        {"Equal", NULL, "float[2] 1 2; float[3] 1", "InvalidArgument: Incompatible shapes: [2] vs. [3]"},
        {"Equal", LENIENT, "float[2] 1 2; float[3] 1", "bool[] false"},
        {"Equal", LENIENT, "uint8[2] 1 2; uint8[3] 1", "bool[] false"},
        {"Equal", LENIENT, "float[2] 1 2; float[2] 1 3", "bool[2] true false"},
        {"Equal", LENIENT, "string[2] a b; string[3] a", "bool[] false"},
        {"NotEqual", LENIENT, "int32[2,2] 1; int32[3] 1", "bool[] true"},
        {"NotEqual", LENIENT, "string[2] a b; string[3] a", "bool[] true"},
        {"NotEqual", LENIENT, "string[2] a b; string[] a", "bool[2] false true"},
        {"Equal", NULL, "bool[2] true false; bool[2] true true", "bool[2] true false"},
        {"Equal", NULL, "string[3] a bc ''; string[3] a bd ''", "bool[3] true false true"},
        {"Equal", NULL, "string[2] a bc; string[] bc", "bool[2] false true"},
        {"NotEqual", NULL, "string[] a; string[2] a b", "bool[2] false true"},
        {"Equal", NULL, "string[2,1] a b; string[3] a b c", "bool[2,3] true false false false true false"},
        {"Equal", NULL, "string[0]; string[1] a", "bool[0]"},
        {"NotEqual", NULL, "float[2] 1 nan; float[2] 1 nan", "bool[2] false true"},
        {"Less", NULL, "float[4] 1 2 3 nan; float[] 2", "bool[4] true false false false"},
        {"LessEqual", NULL, "int32[3] 1 2 3; int32[] 2", "bool[3] true true false"},
        {"Greater", NULL, "double[3] 1 2 3; double[] 2", "bool[3] false false true"},
        {"GreaterEqual", NULL, "float[] 2; float[2,2] 1 2 3 nan", "bool[2,2] true true false false"},
        {"Less", NULL, "float[2,1] 1 2; float[1,2] 1 2", "bool[2,2] false true false false"},
        {"LogicalAnd", NULL, "bool[4] true true false false; bool[4] true false true false",
         "bool[4] true false false false"},
        {"LogicalOr", NULL, "bool[4] true true false false; bool[4] true false true false",
         "bool[4] true true true false"},
        {"LogicalAnd", NULL, "bool[2,1] true false; bool[2] true false", "bool[2,2] true false false false"},
        {"Select", NULL, "bool[3] true false true; float[3] 1 2 3; float[3] 10 20 30", "float[3] 1 20 3"},
        {"Select", NULL, "bool[] false; int32[2] 1 2; int32[2] 3 4", "int32[2] 3 4"},
        {"Select", NULL, "bool[2] true false; int64[2,2] 1 2 3 4; int64[2,2] 5 6 7 8", "int64[2,2] 1 2 7 8"},
        {"Select", NULL, "bool[2,2] true false false true; double[2,2] 1 2 3 4; double[2,2] 5 6 7 8",
         "double[2,2] 1 6 7 4"},
        {"Select", NULL, "bool[2] true false; string[2] a b; string[2] c d", "string[2] a d"},
        {"Select", NULL, "bool[2] true false; bool[2] true true; bool[2] false false", "bool[2] true false"},
        {"Select", NULL, "bool[0]; float[0,2]; float[0,2]", "float[0,2]"},
        {"Equal", NULL, "string[2] a b; string[3] a b c",
         "InvalidArgument: Incompatible shapes: [2] vs. [3]"},
        {"Less", NULL, "float[2] 1 2; float[3] 1 2 3", "InvalidArgument: Incompatible shapes: [2] vs. [3]"},
        {"Select", NULL, "bool[2] true false; float[2] 1 2; float[3] 1 2 3",
         "InvalidArgument: must have the same size and shape.  Input 0: [2] != input 2: [3]"},
        {"Select", NULL, "bool[2] true false; float[3] 1 2 3; float[3] 1 2 3",
         "InvalidArgument: of type Select must have the same size and shape.  Input 0: [2] != input 1: [3]"},
        {"Select", NULL, "bool[] true; float[2] 1 2; float[3] 1 2 3",
         "InvalidArgument: 'then' and 'else' must have the same size.  but received: [2] vs. [3]"},
        {"Select", NULL, "bool[1] true; float[] 1; float[] 2",
         "InvalidArgument: 'then' must be at least a vector, but saw shape: []"},
        {"Select", NULL, "bool[3] true false true; float[2,2] 1; float[2,2] 2",
         "InvalidArgument: Number of batches of 'then' must match size of 'cond', but saw: 2 vs. 3"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Less", NULL, "[2,1];[3]", "[2,3]"},
        {"Select", NULL, "bool[2,3];[2,?];[?,3]", "[2,3]"},
        {"Select", NULL, "bool[2];[?,3];[?,3]", "[2,3]"},
        {"Select", NULL, "bool[];[?,3];[2,?]", "[2,3]"},
        {"Select", NULL, "bool?;[?,3];?", "[?,3]"},
        {"Select", NULL, "bool[3];[2,3];[2,3]", "InvalidArgument: Dimensions must be equal, but are 3 and 2"},
        {"Select", NULL, "bool[2];[2];[3]", "InvalidArgument: 'then' and 'else' must have the same size"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Select", NULL, "bool[3] true false true; double[3] 1 2 3; double[3] 10 20 30"},
        {"Select", NULL, "bool[2] true false; double[2,2] 1 2 3 4; double[2,2] 5 6 7 8"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
