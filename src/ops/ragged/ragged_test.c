// Tests of ops on ragged tensors. Values are those of TensorFlow's documentation and of Python's lists.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void ranges_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // The example of TensorFlow's documentation.
        {"RaggedRange", NULL, "int32[3] 2 5 8; int32[3] 3 5 12; int32[] 1",
         "int64[4] 0 1 1 5; int32[5] 2 8 9 10 11"},
        {"RaggedRange", "Tsplits=int32", "int64[] 0; int64[4] 3 -3 7 0; int64[4] 1 -2 3 5",
         "int32[5] 0 3 5 8 8; int64[8] 0 1 2 0 -2 0 3 6"},
        {"RaggedRange", NULL, "float[2] 0 1; float[2] 1 -1; float[2] 0.3 -1",
         "int64[3] 0 4 6; float[6] 0 0.3 0.6 0.9 1 0"},
        {"RaggedRange", NULL, "double[] 3; double[] 3; double[] 1", "int64[2] 0 0; double[0]"},
        {"RaggedRange", NULL, "int32[0]; int32[0]; int32[0]", "int64[1] 0; int32[0]"},
        {"RaggedRange", NULL, "int32[] -2147483648; int32[] 2147483647; int32[] 2147483647",
         "int64[2] 0 3; int32[3] -2147483648 -1 2147483646"},
        {"RaggedRange", NULL, "int32[] 0; int32[2] 1 2; int32[2] 1 0",
         "InvalidArgument: Requires delta != 0"},
        {"RaggedRange", NULL, "int32[2] 0; int32[3] 1; int32[] 1",
         "InvalidArgument: must have the same shape"},
        {"RaggedRange", NULL, "int32[2,1] 0; int32[] 1; int32[] 1", "InvalidArgument: "},
        {"RaggedRange", NULL, "float[] 0; float[] inf; float[] 1",
         "InvalidArgument: Requires ((limit - start) / delta)"},
        {"RaggedRange", NULL, "double[] 0; double[] nan; double[] 1",
         "InvalidArgument: Requires ((limit - start) / delta)"},
        {"RaggedRange", NULL, "int64[] -9223372036854775808; int64[] 9223372036854775807; int64[] 1",
         "InvalidArgument: Requires ((limit - start) / delta)"},
        {"RaggedRange", NULL, "int64[] 0; int64[] 2305843009213693952; int64[] 1", "ResourceExhausted: "},
        {"RaggedRange", "Tsplits=int32", "int64[] 0; int64[] 2147483648; int64[] 1",
         "InvalidArgument: 2147483648 values are more than splits of int32 can tell"},
    };
    OP_TEST_VALUES(cases);
}

static void to_sparse_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // [[a, b], [], [c, d, e]]
        {"RaggedTensorToSparse", "RAGGED_RANK=1", "int64[4] 0 2 2 5; string[5] a b c d e",
         "int64[5,2] 0 0 0 1 2 0 2 1 2 2; string[5] a b c d e; int64[2] 3 3"},
        // [[[1, 2], []], [], [[3], [4, 5]]]
        {"RaggedTensorToSparse", "RAGGED_RANK=2", "int32[4] 0 2 2 4; int32[5] 0 2 2 3 5; float[5] 1 2 3 4 5",
         "int64[5,3] 0 0 0 0 0 1 2 0 0 2 1 0 2 1 1; float[5] 1 2 3 4 5; int64[3] 3 2 2"},
        {"RaggedTensorToSparse", "RAGGED_RANK=1", "int64[3] 0 1 2; int32[2,1,2] 1 2 3 4",
         "int64[4,4] 0 0 0 0 0 0 0 1 1 0 0 0 1 0 0 1; int32[4] 1 2 3 4; int64[4] 2 1 1 2"},
        {"RaggedTensorToSparse", "RAGGED_RANK=1", "int64[1] 0; float[0]",
         "int64[0,2]; float[0]; int64[2] 0 0"},
        {"RaggedTensorToSparse", "RAGGED_RANK=1", "int64[0]; float[0]",
         "InvalidArgument: ragged splits may not be empty."},
        {"RaggedTensorToSparse", "RAGGED_RANK=1", "int64[2] 1 2; float[2] 1",
         "InvalidArgument: First value of ragged splits must be 0."},
        {"RaggedTensorToSparse", "RAGGED_RANK=1", "int64[3] 0 2 1; float[1] 1",
         "InvalidArgument: Ragged splits should be non decreasing, but we got 2 followed by 1"},
        {"RaggedTensorToSparse", "RAGGED_RANK=1", "int64[2] 0 1; float[2] 1",
         "InvalidArgument: Final value of ragged splits must match the length"},
        {"RaggedTensorToSparse", "RAGGED_RANK=1", "int64[2] 0 3; float[2] 1",
         "InvalidArgument: Final value of ragged splits must match the length"},
        {"RaggedTensorToSparse", "RAGGED_RANK=2", "int64[2] 0 2; int64[2] 0 2; float[2] 1",
         "InvalidArgument: Final value of ragged splits must match the length"},
        {"RaggedTensorToSparse", "RAGGED_RANK=1", "int64[2] 0 -1; float[0]", "InvalidArgument: "},
        {"RaggedTensorToSparse", "RAGGED_RANK=1", "int64[2] 0 1; float[] 1", "InvalidArgument: "},
        {"RaggedTensorToSparse", "RAGGED_RANK=1", "int64[2] 0 1; float[1,1,1,1,1,1,1,1,1,1,1,1] 1",
         "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

#define ROWS "int64[4] 0 2 2 5; string[5] a b c d e; "

static void gather_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"RaggedGather", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=1", ROWS "int32[3] 2 0 2",
         "int64[4] 0 3 5 8; string[8] c d e a b c d e"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=2", ROWS "int64[2,2] 0 1 2 1",
         "int64[3] 0 2 4; int64[5] 0 2 2 5 5; string[5] a b c d e"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=0", ROWS "int32[] 2", "string[3] c d e"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=2; OUTPUT_RAGGED_RANK=2",
         "int32[4] 0 2 2 4; int32[5] 0 2 2 3 5; float[5,1] 1 2 3 4 5; int32[2] 2 0",
         "int32[3] 0 2 4; int32[5] 0 1 3 5 5; float[5,1] 3 4 5 1 2"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=2; OUTPUT_RAGGED_RANK=1",
         "int32[4] 0 2 2 4; int32[5] 0 2 2 3 5; float[5] 1 2 3 4 5; int32[] 2",
         "int32[3] 0 1 3; float[3] 3 4 5"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=1", ROWS "int32[0]",
         "int64[1] 0; string[0]"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=1", "int64[2] 0 0; float[0,2]; int32[1] 0",
         "int64[2] 0 0; float[0,2]"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=1", ROWS "int32[2] 0 3",
         "InvalidArgument: indices[1] = 3 is not in [0, 3)"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=1", ROWS "int32[1] -1",
         "InvalidArgument: indices[0] = -1 is not in [0, 3)"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=3", ROWS "int32[1] 1",
         "InvalidArgument: "},
        {"RaggedGather", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=1", "int64[2] 0 1; float[] 1; int32[1] 0",
         "InvalidArgument: "},
        {"RaggedGather", "PARAMS_RAGGED_RANK=2; OUTPUT_RAGGED_RANK=2",
         "int64[2] 0 3; int64[3] 0 1 1; float[1] 1; int32[1] 0",
         "InvalidArgument: Ragged splits must not point past values"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=1",
         "int64[2] -1 1; float[1] 1; int32[1] 0", "InvalidArgument: Ragged splits must be non-negative"},
    };
    OP_TEST_VALUES(cases);
}

#define SPLITS "num_row_partition_tensors=1; row_partition_types=[ROW_SPLITS]"
#define ROWIDS "num_row_partition_tensors=2; row_partition_types=[FIRST_DIM_SIZE,VALUE_ROWIDS]"

static void to_tensor_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // [[1, 2], [], [3, 4, 5]]
        {"RaggedTensorToTensor", SPLITS, "int64[] -1; int32[5] 1 2 3 4 5; int32[] 0; int64[4] 0 2 2 5",
         "int32[3,3] 1 2 0 0 0 0 3 4 5"},
        {"RaggedTensorToTensor", ROWIDS,
         "int32[] -1; float[5] 1 2 3 4 5; float[] -1; int64[] 3; int64[5] 0 0 2 2 2",
         "float[3,3] 1 2 -1 -1 -1 -1 3 4 5"},
        // Cut off, and filled up.
        {"RaggedTensorToTensor", SPLITS, "int64[2] -1 2; int32[5] 1 2 3 4 5; int32[] 0; int64[4] 0 2 2 5",
         "int32[3,2] 1 2 0 0 3 4"},
        {"RaggedTensorToTensor", ROWIDS,
         "int32[2] 2 4; float[5] 1 2 3 4 5; float[] -1; int64[1] 3; int64[5] 0 0 2 2 2",
         "float[2,4] 1 2 -1 -1 -1 -1 -1 -1"},
        {"RaggedTensorToTensor", SPLITS, "int64[2] 4 1; string[3] a b c; string[] z; int32[4] 0 2 2 3",
         "string[4,1] a z c z"},
        // [[[1, 2], []], [], [[3], [4, 5]]]
        {"RaggedTensorToTensor", "num_row_partition_tensors=2; row_partition_types=[ROW_SPLITS,ROW_SPLITS]",
         "int64[] -1; int64[5] 1 2 3 4 5; int64[] 0; int64[4] 0 2 2 4; int64[5] 0 2 2 3 5",
         "int64[3,2,2] 1 2 0 0 0 0 0 0 3 0 4 5"},
        {"RaggedTensorToTensor",
         "num_row_partition_tensors=3; row_partition_types=[FIRST_DIM_SIZE,ROW_SPLITS,VALUE_ROWIDS]",
         "int64[3] -1 1 -1; int64[5] 1 2 3 4 5; int64[] 0; int64[] 3; int64[4] 0 2 2 4; int64[5] 0 0 2 3 3",
         "int64[3,1,2] 1 2 0 0 3 0"},
        // Values of two numbers each, and a default that is broadcast.
        {"RaggedTensorToTensor", SPLITS, "int64[] -1; float[3,2] 1 2 3 4 5 6; float[2] 8 9; int64[3] 0 1 3",
         "float[2,2,2] 1 2 8 9 3 4 5 6"},
        {"RaggedTensorToTensor", SPLITS, "int64[] -1; float[3,2] 1 2 3 4 5 6; float[1] 8; int64[3] 0 1 3",
         "float[2,2,2] 1 2 8 8 3 4 5 6"},
        {"RaggedTensorToTensor", SPLITS, "int64[] -1; float[0]; float[] 8; int64[3] 0 0 0", "float[2,0]"},
        {"RaggedTensorToTensor", SPLITS, "int64[] -1; float[0]; float[] 8; int64[1] 0", "float[0,0]"},
        {"RaggedTensorToTensor", SPLITS, "int64[3] -1 2 2; int32[5] 1; int32[] 0; int64[4] 0 2 2 5",
         "InvalidArgument: are incompatible: rt_input.rank = 2 but shape.rank = 3"},
        {"RaggedTensorToTensor", SPLITS, "int64[2] -1 -2; int32[5] 1; int32[] 0; int64[4] 0 2 2 5",
         "InvalidArgument: Invalid dimension size: -2"},
        {"RaggedTensorToTensor", SPLITS, "int64[3] -1 2 3; float[3,2] 1; float[] 8; int64[3] 0 1 3",
         "InvalidArgument: rt_input.shape[2] = 2 but shape[2] = 3"},
        {"RaggedTensorToTensor", SPLITS, "int64[] -1; float[3,2] 1; float[3] 8; int64[3] 0 1 3",
         "InvalidArgument: default_value.shape=[3] and a value's shape [2] are incompatible"},
        {"RaggedTensorToTensor", SPLITS, "int64[] -1; float[2] 1; float[] 8; int64[3] 0 1 3",
         "InvalidArgument: the row partitions name more values than there are: 3 of 2"},
        {"RaggedTensorToTensor", SPLITS, "int64[] -1; float[2] 1; float[] 8; int64[0]",
         "InvalidArgument: Invalid first partition input. Tensor requires at least one element"},
        {"RaggedTensorToTensor", SPLITS, "int64[] -1; float[2] 1; float[] 8; int64[3] 0 2 1",
         "InvalidArgument: Ragged splits must be sorted"},
        {"RaggedTensorToTensor", ROWIDS, "int32[] -1; float[2] 1; float[] -1; int64[] 3; int64[2] 0 3",
         "InvalidArgument: a value_rowid which is not less than the number of rows: 3 of 3"},
        {"RaggedTensorToTensor", ROWIDS, "int32[] -1; float[2] 1; float[] -1; int64[] -3; int64[2] 0 1",
         "InvalidArgument: the first dimension has -3 rows"},
        {"RaggedTensorToTensor", "num_row_partition_tensors=1; row_partition_types=[VALUE_ROWIDS]",
         "int32[] -1; float[2] 1; float[] -1; int64[2] 0 1",
         "InvalidArgument: Cannot handle partition type VALUE_ROWIDS"},
        {"RaggedTensorToTensor", "num_row_partition_tensors=1; row_partition_types=[ROW_LENGTHS]",
         "int32[] -1; float[2] 1; float[] -1; int64[2] 0 1",
         "InvalidArgument: Cannot handle partition type ROW_LENGTHS"},
        {"RaggedTensorToTensor", "num_row_partition_tensors=1; row_partition_types=[]",
         "int32[] -1; float[2] 1; float[] -1; int64[2] 0 1", "InvalidArgument: 0 row_partition_types for 1"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"RaggedRange", NULL, "int32[3]; int32[]; int32?", "int64[4]; int32[?]"},
        {"RaggedRange", NULL, "int32[]; int32[]; int32[]", "int64[2]; int32[?]"},
        {"RaggedRange", NULL, "int32[]; int32[]; int32?", "int64[?]; int32[?]"},
        {"RaggedRange", NULL, "int32[3]; int32[4]; int32[]", "InvalidArgument: must have the same shape"},
        {"RaggedTensorToSparse", "RAGGED_RANK=2", "int64[?]; int64[?]; [4,3]", "[12,4]; [12]; [4]"},
        {"RaggedTensorToSparse", "RAGGED_RANK=1", "int64[1,1]; [4,3]",
         "InvalidArgument: Shape must be rank 1"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=2", "int64[4]; [5,7]; int32[2,2]",
         "[?]; [?]; [?,7]"},
        {"RaggedTensorToTensor", SPLITS, "int64[3] -1 4 -1; [5,7]; []; int64[?]", "[?,4,7]"},
        {"RaggedTensorToTensor", ROWIDS, "int64[]; [5]; []; int64[]; int64[?]", "[?,?]"},
        {"RaggedTensorToTensor", SPLITS, "int64[]; []; []; int64[?]",
         "InvalidArgument: Shape must be at least rank 1"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=2", "int64[4]; [5,7]; int32[2]",
         "InvalidArgument: Shape must be rank 2 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"RaggedTensorToSparse", "RAGGED_RANK=1", "int64[3] 0 1 2; double[2,1,2] 1 2 3 4"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=1",
         "int64[4] 0 2 2 5; double[5] 1 2 3 4 5; int32[3] 2 0 2"},
        {"RaggedGather", "PARAMS_RAGGED_RANK=2; OUTPUT_RAGGED_RANK=2",
         "int32[4] 0 2 2 4; int32[5] 0 2 2 3 5; double[5,2] 1 2 3 4 5 6 7 8 9 10; int32[2] 2 2"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_follow_the_definition),  cmocka_unit_test(to_sparse_follows_its_definition),
        cmocka_unit_test(gather_follows_its_definition), cmocka_unit_test(to_tensor_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),           cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
