// Tests of the words of array ops' errors, which TensorFlow's own tests and client programs match.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

// Tensors of a wrong rank that earlier versions of Braid accepted as scalars or vectors.
static void wrong_ranks_are_named(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ConcatV2", NULL, "int32[1] 2; int32[1] 3; int32[1] 0",
         "InvalidArgument: axis tensor should be a scalar integer, but got shape [1]"},
        {"Concat", NULL, "int32[1] 0; int32[1] 2; int32[1] 3",
         "InvalidArgument: concat_dim tensor should be a scalar integer, but got shape [1]"},
        {"ConcatV2", NULL, "int32[] 2; int32[1] 3; int32[] 0",
         "InvalidArgument: Expected concatenating dimensions in the range [0, 0), but got 0"},
        {"Pad", NULL, "int32[] 7; int32[1,2] 1 2",
         "InvalidArgument: The first dimension of paddings must be the rank of inputs"},
        {"UnsortedSegmentSum", NULL, "int32[] 7; int32[] 1; int32[1] 4",
         "InvalidArgument: num_segments should be a scalar, not shape [1]"},
        {"Range", NULL, "int32[1] 0; int32[] 3; int32[] 2",
         "InvalidArgument: start must be a scalar, not shape [1]"},
        {"Range", NULL, "int32[] 0; int32[1] 3; int32[] 2", "InvalidArgument: limit must be a scalar"},
        {"Range", NULL, "int32[] 0; int32[] 3; int32[1] 2", "InvalidArgument: delta must be a scalar"},
        {"Slice", NULL, "int32[4] 1; int32[] 2; int32[1] 1",
         "InvalidArgument: Expected begin and size arguments to be 1-D tensors of size 1, but got shapes [] and [1]"},
        {"SparseToDense", NULL, "int32[] 1; int32[] 4; int32[] 7; int32[] 0",
         "InvalidArgument: output_shape should be a vector, got shape []"},
        {"Tile", NULL, "int32[1] 7; int32[] 2",
         "InvalidArgument: Expected multiples to be 1-D, but got shape []"},
    };
    OP_TEST_VALUES(cases);
}

static void bad_indices_are_named(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Gather", NULL, "float[2] 1; int32[1,2] 0 7", "InvalidArgument: indices[0,1] = 7 is not in [0, 2)"},
        {"GatherV2", NULL, "float[2] 1; int32[1] 0; int32[] 3",
         "InvalidArgument: Expected axis in the range [-1, 1), but got 3"},
        {"GatherNd", NULL, "float[3] 1; int32[1,2,1] 0 7",
         "InvalidArgument: indices[0,1] = [7] does not index into param shape [3]"},
        {"GatherNd", NULL, "float[0,3]; int32[1,2] 0 0",
         "InvalidArgument: Requested more than 0 entries, but params is empty."},
        {"GatherNd", NULL, "float[0,3]; int32[0,2]", "float[0]"},
        {"GatherNd", NULL, "float[] 1; int32[1,0]", "InvalidArgument: params must be at least a vector"},
        {"ScatterNd", NULL, "int32[1,2,1] 0 7; float[1,2] 1; int32[1] 3",
         "InvalidArgument: indices[0,1] = [7] does not index into shape [3]"},
        {"ScatterNd", NULL, "int32[2,2,2] 0; float[2,2,2] 1; int32[3] 0 3 2",
         "InvalidArgument: Indices and updates specified for empty output"},
        {"ScatterNd", NULL, "int32[0]; float[0]; int32[1] 0", "float[0]"},
        {"ScatterNdUpdate", NULL, "ref float[] 1; int32[1,1] 0; float[1] 1",
         "InvalidArgument: Output must be at least 1-D"},
        {"ScatterUpdate", NULL, "ref float[2] 1; int32[1,2] 0 2; float[1,2] 1",
         "InvalidArgument: indices[0,1] = 2 is not in [0, 2)"},
        {"DynamicPartition", "num_partitions=7", "float[2] 1; int32[] 17",
         "InvalidArgument: partitions = 17 is not in [0, 7)"},
        {"DynamicPartition", "num_partitions=7", "float[1,2] 1; int32[1,2] 1 17",
         "InvalidArgument: partitions[0,1] = 17 is not in [0, 7)"},
        {"UnsortedSegmentSum", NULL, "float[1,2] 1; int32[1,2] 0 2; int32[] 2",
         "InvalidArgument: segment_ids[0,1] = 2 is out of range [0, 2)"},
        {"SegmentSum", NULL, "float[4] 1; int32[4] -1 -1 0 0",
         "InvalidArgument: Segment id -1 out of range [0, 1), possibly because 'segment_ids' input is not sorted."},
        {"SegmentSum", NULL, "float[4] 1; int32[4] 0 1 2 0",
         "InvalidArgument: Segment id 1 out of range [0, 1), possibly because"},
        {"SegmentSum", NULL, "float[4] 1; int32[4] 0 1 0 1",
         "InvalidArgument: segment ids are not increasing"},
        {"SegmentSum", NULL, "float[4] 1; int32[4] 0 0 0 -2", "InvalidArgument: segment ids must be >= 0"},
        {"SegmentSum", NULL, "float[2] 1; int64[2] 0 9223372036854775807", "InvalidArgument: segment ids"},
        {"SparseSegmentSum", NULL, "float[10] 1; int32[4] 8 3 0 9; int32[4] 0 1 2 0",
         "InvalidArgument: Segment id 1 out of range [0, 1), possibly because 'segment_ids' input is not sorted"},
        {"SparseSegmentMean", NULL, "float[10] 1; int32[4] 8 3 0 9; int32[4] -1 0 1 1",
         "InvalidArgument: Segment id -1 out of range [0, 2), possibly because"},
        {"SparseSegmentSum", NULL, "float[10] 1; int32[2] 8 3; int32[2] 0 -1",
         "InvalidArgument: segment ids must be >= 0"},
        {"SparseSegmentMeanGrad", NULL, "float[3] 1; int32[2] 0 10; int32[2] 0 2; int32[] 10",
         "InvalidArgument: Index 10 out of range [0, 10)"},
        {"SparseSegmentMeanGrad", NULL, "float[3] 1; int32[2] 0 1; int32[2] 0 4; int32[] 10",
         "InvalidArgument: Invalid number of segments"},
        {"SparseSegmentSqrtNGrad", NULL, "float[1] 1; int32[3] 0 1 2; int32[3] 0 1 0; int32[] 10",
         "InvalidArgument: Segment id 1 out of range [0, 1)"},
        {"SparseSegmentSqrtNGrad", NULL, "float[0]; int32[2] 0 1; int32[2] 0 -1; int32[] 10",
         "InvalidArgument: Segment id 0 out of range [0, 0)"},
    };
    OP_TEST_VALUES(cases);
}

static void bad_shapes_are_named(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BroadcastTo", NULL, "float[3] 1; int32[2] 2 4",
         "InvalidArgument: Unable to broadcast tensor of shape [3]"},
        {"ConcatOffset", NULL, "int32[] 0; int32[1,2] 1; int32[1,2] 1",
         "InvalidArgument: should be a vector"},
        {"ConcatOffset", NULL, "int32[] 1; int32[2] 1 2; int32[3] 1 2 3",
         "InvalidArgument: should contain 2 elem"},
        {"ConcatOffset", NULL, "int32[] 1; int32[3] 2 3 5; int32[3] 2 7 10",
         "InvalidArgument: All dimensions except 1 must match. Input 1 has shape [2 7 10] and doesn't match input 0 "
         "with shape [2 3 5]."},
        {"Roll", NULL, "float[2] 1; int32[1,1] 3; int32[] 0",
         "InvalidArgument: shift must be a scalar or a 1-D vector"},
        {"Roll", NULL, "float[2] 1; int32[] 3; int32[1,1] 0",
         "InvalidArgument: axis must be a scalar or a 1-D vector"},
        {"ReverseSequence", "seq_dim=0", "float[2,2] 1; int64[2] 1 1",
         "InvalidArgument: batch_dim == seq_dim"},
        {"SplitV", "num_split=2", "float[2] 1; int32[2] 1 1; int32[2] 0 0",
         "InvalidArgument: must have exactly one element"},
        {"SplitV", "num_split=2", "float[2] 1; int32[2] 4 -2; int32[] 0",
         "InvalidArgument: Split size at index 1 must be >= 0. Got: -2"},
        {"MatrixDiag", NULL, "float[] 1", "InvalidArgument: diagonal must be at least 1-dim"},
        {"MatrixSetDiag", NULL, "float[2,2] 1; float[] 1",
         "InvalidArgument: diagonal must be at least 1-dim"},
        {"MatrixDiagV2", NULL, "float[] 1; int32[] 0; int32[] 3; int32[] 3; float[] 0",
         "InvalidArgument: diagonal must be at least 1-dim"},
        {"MatrixSetDiagV2", NULL, "float[2,2] 1; float[] 1; int32[] 0",
         "InvalidArgument: diagonal must be at least 1-dim"},
        {"TopKV2", NULL, "float[2] 1; int32[] -7", "InvalidArgument: Need k >= 0, got -7"},
        {"TopKV2", NULL, "float[] 1; int32[] 1", "InvalidArgument: input must be >= 1-D"},
        {"UnravelIndex", NULL, "int32[] -1048576; int32[2] 268435456 268435456",
         "InvalidArgument: Input dims product is causing integer overflow"},
        {"UnravelIndex", NULL, "int64[] 5; int64[2] 9223372036854775807 2",
         "InvalidArgument: Input dims product is causing integer overflow"},
        {"ExpandDims", NULL, "float[] 1; int32[2] 0 1",
         "InvalidArgument: must be a tensor with a single value"},
        {"ExpandDims", NULL, "float[] 1; int32[1,1] 0", "float[1] 1"},
        {"MatrixInverse", NULL, "float[2,2] 1", "InvalidArgument: Input is not invertible."},
        {"Cast", "DstT=string", "int64[1] 1", "Unimplemented: Cast int64 to string is not supported"},
    };
    OP_TEST_VALUES(cases);
}

// Errors of shape functions are found when the graph is built, not at run time.
static void wrong_shapes_are_named_at_construction(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Split", "num_split=3", "int32[] 0; [4]", "InvalidArgument: should evenly divide"},
        {"SplitV", "num_split=4", "[10]; int32[3] 2 2 6; int32[] 0",
         "InvalidArgument: Length of size_splits"},
        {"SplitV", "num_split=2", "[2]; int32[2] 3 -1; int32[] 0", "InvalidArgument: can't split axis"},
        {"SplitV", "num_split=2", "[3]; int32[2] 2 -1; int32[] 0", "[2]; [1]"},
        {"SplitV", "num_split=2", "[?]; int32[2] 2 -1; int32[] 0", "[2]; [?]"},
        {"SplitV", "num_split=2", "[3]; int32[2] -1 -2; int32[] 0",
         "InvalidArgument: Split size at index 1 must be >= 0. Got: -2"},
        {"SplitV", "num_split=2", "[3]; int32[2] -1 -1; int32[] 0", "InvalidArgument: only have one -1"},
        {"SplitV", "num_split=1", "[1,10]; int32[1] 4; int32[] 1", "InvalidArgument: can't split axis"},
        {"SplitV", "num_split=2", "[5,2]; int32[2]; int32[] 0", "[?,2]; [?,2]"},
        {"SplitV", "num_split=2", "[5,2]; int32[2]; int32[]", "[?,?]; [?,?]"},
        {"Roll", NULL, "[2,2]; int32[1]; int32[2]",
         "InvalidArgument: Dimension 0 in both shapes must be equal, but are 1 and 2"},
        {"Roll", NULL, "[2,2]; int32[]; int32[2]",
         "InvalidArgument: Shapes must be equal rank, but are 0 and 1"},
        {"Diag", NULL, "[]", "InvalidArgument: must be at least rank 1"},
        {"MatrixDiag", NULL, "[]", "InvalidArgument: must be at least rank 1"},
        {"MatrixSetDiag", NULL, "[1,1]; []", "InvalidArgument: must be at least rank 1"},
        {"MatrixSetDiagV2", NULL, "[1,1]; []; int32[] 0", "InvalidArgument: must be at least rank 1"},
        {"Fill", NULL, "int32[2] 2 -1; []", "InvalidArgument: Fill dimensions must be >= 0"},
        {"ReverseV2", NULL, "[2,3]; int32[1] -30", "InvalidArgument: is out of valid range"},
        {"ReverseV2", NULL, "[2,3]; int32[1] 2", "InvalidArgument: is out of valid range"},
        {"ReverseV2", NULL, "[2,3]; int32[2] 0 -2", "InvalidArgument: axis 0 specified more than once"},
        {"ReverseV2", NULL, "?; int32[2] 0 -2", "?"},
        {"ExpandDims", NULL, "[2]; int32[2] 0 1", "InvalidArgument: must be a tensor with a single value"},
        {"ReverseSequence", "seq_dim=0", "[2,2]; int64[2]", "[2,2]"},
        {"ReverseSequence", "seq_dim=3", "[2,2]; int64[2]", "InvalidArgument: seq_dim must be < input rank"},
        {"ReverseSequence", "seq_dim=0; batch_dim=3", "[2,2]; int64[2]",
         "InvalidArgument: batch_dim must be < input rank"},
    };
    OP_TEST_SHAPES(cases);
}

static void wrong_shapes_of_indices_are_named(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"GatherV2", NULL, "[3]; int32[]; int32[] 1",
         "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
        {"GatherV2", NULL, "[3]; int32[]; int32[] -2",
         "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
        {"GatherV2", NULL, "[3,4]; int32[5]; int32[]", "[?,?]"},
        {"GatherV2", NULL, "[3,4]; int32[5]; int32[1]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"GatherV2", NULL, "[3,4]; int32[5]; int64[] -9223372036854775808", "InvalidArgument: "},
        {"ScatterNd", NULL, "int32[3,2,2]; [2,2,2]; int32[3] 2 2 2",
         "InvalidArgument: The outer 2 dimensions of indices.shape=[3,2,2] must match"},
        {"ScatterNd", NULL, "int32[2,2,1]; [2,2]; int32[3] 2 2 2",
         "InvalidArgument: The inner 2 dimensions of output.shape=[2,2,2] must match"},
        {"ScatterNd", NULL, "int32[2,2,2]; [2,2,2]; int32[3] 0 3 2",
         "InvalidArgument: Indices and updates specified for empty output shape"},
        {"ScatterNd", NULL, "int32[0]; [0]; int32[1] 0", "[0]"},
        {"ScatterNd", NULL, "int32[?,2]; [?]; int32[2] 4 5", "[4,5]"},
        {"ScatterNd", NULL, "int32[]; []; int32[1] 2",
         "InvalidArgument: Shape must be at least rank 1 but is rank 0"},
        {"ScatterNd", NULL, "int32[1]; [1]; int32[1] 1", "InvalidArgument: The inner 0 dimensions"},
        {"ScatterNd", NULL, "int32[2,3]; [2]; int32[2] 4 5", "InvalidArgument: "},
        {"ScatterNdUpdate", NULL, "ref float[2,2,2]; int32[3,2,2]; [2,2,2]",
         "InvalidArgument: The outer 2 dimensions of indices.shape="},
        {"ScatterNdUpdate", NULL, "ref float[2,2,2]; int32[2,2,1]; [2,2]",
         "InvalidArgument: The inner 2 dimensions of input.shape="},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_ranks_are_named),
        cmocka_unit_test(bad_indices_are_named),
        cmocka_unit_test(bad_shapes_are_named),
        cmocka_unit_test(wrong_shapes_are_named_at_construction),
        cmocka_unit_test(wrong_shapes_of_indices_are_named),
    };
    return BD_RUN_TESTS(tests);
}
