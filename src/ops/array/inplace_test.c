// Tests of the inplace ops, DeepCopy, Empty and ParallelConcat. Expected values follow from the definition.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void rows_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"InplaceUpdate", NULL, "float[3,2] 1 2 3 4 5 6; int32[2] 2 0; float[2,2] 7 8 9 10",
         "float[3,2] 9 10 3 4 7 8"},
        {"InplaceUpdate", NULL, "string[2] a b; int32[1] -1; string[1] c", "string[2] a c"},
        {"InplaceUpdate", NULL, "bool[2] true true; int32[2] 1 1; bool[2] true false", "bool[2] true false"},
        {"InplaceAdd", NULL, "int32[2] 1 2; int32[3] 0 0 1; int32[3] 5 6 7", "int32[2] 12 9"},
        {"InplaceAdd", NULL, "half[1] 0x3c00; int32[1] 0; half[1] 0x3c00", "half[1] 0x4000"},
        {"InplaceSub", NULL, "double[2,1] 1 2; int32[1] 3; double[1,1] 5", "double[2,1] 1 -3"},
        {"InplaceSub", NULL, "int64[2] 1 2; int32[1] -2147483648; int64[1] 5", "int64[2] -4 2"},
    };
    OP_TEST_VALUES(cases);
}

// The shape function is the same for all three.
static void wrong_shapes_of_rows_are_refused(void **state)
{
    (void)state;
    static const char *const ops[] = {"InplaceUpdate", "InplaceAdd", "InplaceSub"};
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        const op_case cases[] = {
            {ops[i], NULL, "float[0,2]; int32[0]; float[0,2]", "float[0,2]"},
            {ops[i], NULL, "float[0,2]; int32[1] 0; float[1,2] 1", "float[0,2]"},
            {ops[i], NULL, "float[2,0]; int32[1] 5; float[1,0]", "float[2,0]"},
            {ops[i], NULL, "float[2] 1 2; int32[0]; float[0]", "float[2] 1 2"},
            {ops[i], NULL, "float[2] 1; int32[] 0; float[1] 1", "InvalidArgument: i must be a vector. []"},
            {ops[i], NULL, "float[] 1; int32[1] 0; float[] 1",
             "InvalidArgument: x and v shape doesn't match"},
            {ops[i], NULL, "float[2] 1; int32[1] 0; float[1,1] 1",
             "InvalidArgument: x and v shape doesn't match (ranks differ): [2] vs. [1,1]"},
            {ops[i], NULL, "float[2,2] 1; int32[1] 0; float[1,1] 1",
             "InvalidArgument: x and v shape doesn't match at index 1 : [2,2] vs. [1,1]"},
            {ops[i], NULL, "float[2] 1; int32[1] 0; float[2] 1",
             "InvalidArgument: i and x shape doesn't match at index 0: [1] vs. [2]"},
        };
        OP_TEST_VALUES(cases);
    }
}

static void fresh_tensors_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DeepCopy", NULL, "string[2] a b", "string[2] a b"},
        {"DeepCopy", NULL, "float[0,2]", "float[0,2]"},
        {"DeepCopy", NULL, "int64[] 7", "int64[] 7"},
        {"Empty", "dtype=float", "int32[2] 1 2", "float[1,2] 0 0"},
        {"Empty", "dtype=string; init=true", "int32[1] 2", "string[2] '' ''"},
        {"Empty", "dtype=bool", "int32[0]", "bool[] false"},
        {"Empty", "dtype=int64", "int32[2] 0 3", "int64[0,3]"},
        {"Empty", "dtype=int64", "int32[] 3", "InvalidArgument: shape must be a vector"},
        {"Empty", "dtype=int64", "int32[1,1] 3", "InvalidArgument: shape must be a vector"},
        {"Empty", "dtype=int64", "int32[1] -1", "InvalidArgument: "},
        {"Empty", "dtype=int64", "int32[3] 2147483647 2147483647 2147483647", "InvalidArgument: "},
        {"ParallelConcat", "shape=[2,2]", "float[1,2] 1 2; float[1,2] 3 4", "float[2,2] 1 2 3 4"},
        {"ParallelConcat", "shape=[1]", "string[1] a", "string[1] a"},
        {"ParallelConcat", "shape=[2,0]", "float[1,0]; float[1,0]", "float[2,0]"},
        {"ParallelConcat", "shape=[1]", "float[] 1", "InvalidArgument: values[0] of shape [] is no row of"},
        {"ParallelConcat", "shape=[2,2]", "float[1,2] 1 2; float[2,2] 3", "InvalidArgument: values[1]"},
        {"ParallelConcat", "shape=[3,2]", "float[1,2] 1 2; float[1,2] 3",
         "InvalidArgument: one for each value"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"InplaceUpdate", NULL, "[2,?]; int32[1]; [1,3]", "[2,?]"},
        {"Empty", "dtype=float", "int32[2] 3 4", "[3,4]"},
        {"Empty", "dtype=float", "int32[]", "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"ParallelConcat", "shape=[2,2]", "[1,2]; [1,2]", "[2,2]"},
        {"ParallelConcat", "shape=[2,2]", "[1,2]; [?,?]", "[2,2]"},
        {"ParallelConcat", "shape=[2,2]", "[1,2]; [2,2]",
         "InvalidArgument: Size of first dimension must be 1."},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_follow_the_definition),
        cmocka_unit_test(wrong_shapes_of_rows_are_refused),
        cmocka_unit_test(fresh_tensors_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
