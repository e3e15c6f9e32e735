// Tests of ops on sets. Values are those of Python's sets.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define A "int64[2,3] 1 2 2 5 4 5; "
#define B "int64[2,2] 2 7 5 -1"
#define TWO "int64[4,2] 0 0 0 1 1 0 1 1; int64[4] 2 7 5 -1; int64[2] 2 2"

static void operations_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DenseToDenseSetOperation", "set_operation=a-b", A B,
         "int64[2,2] 0 0 1 0; int64[2] 1 4; int64[2] 2 1"},
        {"DenseToDenseSetOperation", "set_operation=B-A", A B,
         "int64[2,2] 0 0 1 0; int64[2] 7 -1; int64[2] 2 1"},
        {"DenseToDenseSetOperation", "set_operation=intersection", A B,
         "int64[2,2] 0 0 1 0; int64[2] 2 5; int64[2] 2 1"},
        {"DenseToDenseSetOperation", "set_operation=union", A B,
         "int64[6,2] 0 0 0 1 0 2 1 0 1 1 1 2; int64[6] 1 2 7 -1 4 5; int64[2] 2 3"},
        {"DenseToDenseSetOperation", "set_operation=intersection", "string[1,3] b a ab; string[1,4] ab c b b",
         "int64[2,2] 0 0 0 1; string[2] ab b; int64[2] 1 2"},
        {"DenseToDenseSetOperation", "set_operation=union", "uint8[2,1,1] 200 3; uint8[2,1,1] 100 3",
         "int64[3,3] 0 0 0 0 0 1 1 0 0; uint8[3] 100 200 3; int64[3] 2 1 2"},
        {"DenseToDenseSetOperation", "set_operation=intersection", "int32[2,1] 1 2; int32[2,1] 3 4",
         "int64[0,2]; int32[0]; int64[2] 2 0"},
        {"DenseToDenseSetOperation", "set_operation=union", "int16[2,0]; int16[2,1] 3 4",
         "int64[2,2] 0 0 1 0; int16[2] 3 4; int64[2] 2 1"},
        // As many sets as can be named, all of them empty.
        {"DenseToDenseSetOperation", "set_operation=union",
         "int8[1152921504606846976,0]; int8[1152921504606846976,0]",
         "int64[0,2]; int8[0]; int64[2] 1152921504606846976 0"},
        {"DenseToSparseSetOperation", "set_operation=union", A TWO,
         "int64[6,2] 0 0 0 1 0 2 1 0 1 1 1 2; int64[6] 1 2 7 -1 4 5; int64[2] 2 3"},
        {"DenseToSparseSetOperation", "set_operation=a-b",
         "int32[3,1] 1 2 3; int64[1,2] 1 4; int32[1] 2; int64[2] 3 9",
         "int64[2,2] 0 0 2 0; int32[2] 1 3; int64[2] 3 1"},
        {"DenseToSparseSetOperation", "set_operation=b-a",
         "int32[1000000000,0]; int64[1,2] 7 4; int32[1] 2; int64[2] 1000000000 9",
         "int64[1,2] 7 0; int32[1] 2; int64[2] 1000000000 1"},
        {"SparseToSparseSetOperation", "set_operation=a-b", TWO "; int64[1,2] 1 0; int64[1] 5; int64[2] 2 1",
         "int64[3,2] 0 0 0 1 1 0; int64[3] 2 7 -1; int64[2] 2 2"},
        {"SparseToSparseSetOperation", "set_operation=intersection",
         "int64[2,3] 0 1 0 1 0 2; string[2] a b; int64[3] 2 2 3; int64[2,3] 0 0 1 1 0 0; string[2] a b; int64[3] 2 2 2",
         "int64[1,3] 1 0 0; string[1] b; int64[3] 2 2 1"},
        {"SparseToSparseSetOperation", "set_operation=union",
         "int64[0,2]; int64[0]; int64[2] 4 3; int64[0,2]; int64[0]; int64[2] 4 2",
         "int64[0,2]; int64[0]; int64[2] 4 0"},
        {"SetSize", NULL, "int64[5,2] 0 0 0 1 2 0 2 1 2 2; int64[5] 7 7 1 2 1; int64[2] 3 3",
         "int32[3] 1 0 2"},
        {"SetSize", NULL, "int64[2,3] 0 1 0 1 1 1; string[2] a b; int64[3] 2 2 2", "int32[2,2] 0 1 0 1"},
        {"SetSize", NULL, "int64[0,2]; int8[0]; int64[2] 0 3", "int32[0]"},
        {"SetSize", "validate_indices=false", "int64[2,2] 1 1 1 0; uint16[2] 1 2; int64[2] 2 2",
         "int32[2] 0 2"},
    };
    OP_TEST_VALUES(cases);
}

static void refusals_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DenseToDenseSetOperation", "set_operation=xor", A B, "InvalidArgument: Invalid set_operation xor"},
        {"DenseToDenseSetOperation", "set_operation=union", "int32[2] 1 2; int32[2] 1 2",
         "InvalidArgument: rank"},
        {"DenseToDenseSetOperation", "set_operation=union", "int32[2,1] 1 2; int32[1,1] 1",
         "InvalidArgument: "},
        {"DenseToDenseSetOperation", "set_operation=union", "int32[] 1; int32[2,1] 1",
         "InvalidArgument: rank"},
        {"DenseToSparseSetOperation", "set_operation=union", "int64[] 1; " TWO,
         "InvalidArgument: rank 0 < 2"},
        {"DenseToSparseSetOperation", "set_operation=union",
         "int64[2,1] 1; int64[1,2] 0; int64[] 1; int64[2] 2 2", "InvalidArgument: values should be a vector"},
        {"SparseToSparseSetOperation", "set_operation=union", TWO "; int64[] 0; int64[1] 5; int64[2] 2 1",
         "InvalidArgument: indices should be a matrix"},
        {"SparseToSparseSetOperation", "set_operation=union", TWO "; int64[1,2] 0; int64[1] 5; int64[2] 3 1",
         "InvalidArgument: Mismatched shapes [2] vs [3]"},
        {"SetSize", NULL, "int64[1,2] 0; int32[1] 1; int64[] 4", "InvalidArgument: shape should be a vector"},
        {"DenseToSparseSetOperation", "set_operation=union", "int64[3,1] 1; " TWO,
         "InvalidArgument: Mismatched shapes [3] vs [2]"},
        {"DenseToSparseSetOperation", "set_operation=union",
         "int64[2,1] 1; int64[2,2] 1 0 0 0; int64[2] 1; int64[2] 2 2",
         "InvalidArgument: indices[1] = [0,0] is out of order"},
        {"DenseToSparseSetOperation", "set_operation=union",
         "int64[2,1] 1; int64[2,2] 1 0 1 0; int64[2] 1; int64[2] 2 2",
         "InvalidArgument: indices[1] = [1,0] is repeated"},
        {"DenseToSparseSetOperation", "set_operation=union; validate_indices=false",
         "int64[2,1] 1; int64[1,2] 0 2; int64[1] 1; int64[2] 2 2",
         "InvalidArgument: indices[0] = [0,2] is out of bounds: need 0 <= index < [2,2]"},
        {"SetSize", NULL, "int64[0,1]; int32[0]; int64[1] 4", "InvalidArgument: Shape [4] has rank 1 < 2"},
        {"SetSize", NULL, "int64[0,2]; int32[0]; int64[2] 4611686018427387904 4", "InvalidArgument: "},
        {"SetSize", NULL, "int64[0,2]; int32[0]; int64[2] 4611686018427387904 1", "ResourceExhausted: "},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"DenseToDenseSetOperation", "set_operation=union", "int32[2,3,4]; int32[2,?,5]", "[?,3]; [?]; [3]"},
        {"DenseToDenseSetOperation", "set_operation=union", "int32?; int32[2,5]", "[?,2]; [?]; [2]"},
        {"DenseToDenseSetOperation", "set_operation=union", "int32?; int32?", "[?,?]; [?]; [?]"},
        {"DenseToDenseSetOperation", "set_operation=union", "int32[2,3,4]; int32[3,3,4]",
         "InvalidArgument: "},
        {"DenseToDenseSetOperation", "set_operation=union", "int32[2]; int32[2]",
         "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
        {"DenseToSparseSetOperation", "set_operation=union", "int32[2,3]; int64[?,2]; int32[?]; int64[2]",
         "[?,2]; [?]; [2]"},
        {"DenseToSparseSetOperation", "set_operation=union", "int32[2,3]; int64[?,3]; int32[?]; int64[3]",
         "InvalidArgument: Ranks must be equal"},
        {"SparseToSparseSetOperation", "set_operation=union",
         "int64[?,3]; int32[?]; int64?; int64?; int32[?]; int64?", "[?,3]; [?]; [3]"},
        {"SparseToSparseSetOperation", "set_operation=union",
         "int64[?,3]; int32[?]; int64[2]; int64?; int32[?]; int64?",
         "InvalidArgument: Dimensions must be equal"},
        {"SetSize", NULL, "int64[?,3]; int32[?]; int64[3]", "?"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_follow_the_definition),
        cmocka_unit_test(refusals_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
