// Tests of ops that rearrange and merge sparse tensors. Values were computed with dense tensors in numpy.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void reorder_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SparseReorder", NULL, "int64[4,2] 1 2 0 3 1 0 0 1; string[4] a b c d; int64[2] 2 4",
         "int64[4,2] 0 1 0 3 1 0 1 2; string[4] d b c a"},
        {"SparseReorder", NULL, "int64[2,1] 0 5; float[2] 1 2; int64[1] 6", "int64[2,1] 0 5; float[2] 1 2"},
        // Of equal indices the first stays first; indices out of bounds are only moved.
        {"SparseReorder", NULL, "int64[3,2] 9 9 0 -1 9 9; int32[3] 1 2 3; int64[2] 2 2",
         "int64[3,2] 0 -1 9 9 9 9; int32[3] 2 1 3"},
        {"SparseReorder", NULL, "int64[0,2]; float[0]; int64[2] 2 2", "int64[0,2]; float[0]"},
        {"SparseReorder", NULL, "int64[2,0]; float[2] 1 2; int64[0]", "int64[2,0]; float[2] 1 2"},
        {"SparseReorder", NULL, "int64[4] 0; float[4] 0; int64[1] 3",
         "InvalidArgument: Input indices should be a matrix but received shape [4]"},
        {"SparseReorder", NULL, "int64[2,2] 0; float[] 0; int64[2] 3 3",
         "InvalidArgument: Input values should be a vector but received shape []"},
        {"SparseReorder", NULL, "int64[2,2] 0; float[2] 0; int64[1,2] 3 3",
         "InvalidArgument: Input shape should be a vector but received shape [1,2]"},
        {"SparseReorder", NULL, "int64[2,2] 0; float[3] 0; int64[2] 3 3",
         "InvalidArgument: Number of values must match first dimension of indices. Got 3 values and 2"},
        {"SparseReorder", NULL, "int64[2,2] 0; float[2] 0; int64[3] 3 3 3",
         "InvalidArgument: Number of dimensions must match second dimension of indices"},
        {"SparseReorder", NULL, "int64[1,2] 0; float[1] 0; int64[2] 3 -1",
         "InvalidArgument: Dimension -1 of a sparse tensor's shape must be >= 0"},
        {"SparseReorder", NULL, "int64[1,13] 0; float[1] 0; int64[13] 1",
         "InvalidArgument: a sparse tensor of 13 dimensions; at most 12"},
    };
    OP_TEST_VALUES(cases);
}

static void reshape_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // The example of TensorFlow's documentation: [2,3,6] to [9,4].
        {"SparseReshape", NULL, "int64[5,3] 0 0 0 0 0 1 0 1 0 1 0 0 1 2 3; int64[3] 2 3 6; int64[2] 9 -1",
         "int64[5,2] 0 0 0 1 1 2 4 2 8 1; int64[2] 9 4"},
        {"SparseReshape", NULL, "int64[2,2] 0 1 1 0; int64[2] 2 2; int64[2] 2 2",
         "int64[2,2] 0 1 1 0; int64[2] 2 2"},
        {"SparseReshape", NULL, "int64[1,1] 0; int64[1] 1; int64[0]", "int64[1,0]; int64[0]"},
        {"SparseReshape", NULL, "int64[0,2]; int64[2] 0 3; int64[3] 1 0 7", "int64[0,3]; int64[3] 1 0 7"},
        {"SparseReshape", NULL, "int64[0,2]; int64[2] 2 3; int64[2] -1 -1",
         "InvalidArgument: only one output dimension may be -1, not both 0 and 1"},
        {"SparseReshape", NULL, "int64[0,2]; int64[2] 2 3; int64[2] -2 3",
         "InvalidArgument: size 0 must be non-negative, not -2"},
        {"SparseReshape", NULL, "int64[0,2]; int64[2] 0 3; int64[2] 0 -1",
         "InvalidArgument: reshape cannot infer the missing input size for an empty tensor"},
        {"SparseReshape", NULL, "int64[0,2]; int64[2] 2 3; int64[2] 4 -1",
         "InvalidArgument: Input to reshape is a SparseTensor with 6 dense values, but the requested shape "
         "requires a multiple of 4"},
        {"SparseReshape", NULL, "int64[0,2]; int64[2] 2 3; int64[2] 4 2",
         "InvalidArgument: Input to reshape is a tensor with 6 dense values, but the requested shape has 8. input_shape=[2,3] output_shape=[4,2]"},
        {"SparseReshape", NULL, "int64[0,2]; int64[2] 2 3; int64[] 6",
         "InvalidArgument: Target shape should be"},
        // Indices out of bounds are computed without an error.
        {"SparseReshape", NULL, "int64[1,2] 0 7; int64[2] 2 3; int64[2] 3 2", "int64[1,2] 3 1; int64[2] 3 2"},
        {"SparseReshape", NULL, "int64[1,2] 0 -1; int64[2] 2 3; int64[1] 6", "int64[1,1] -1; int64[1] 6"},
        {"SparseReshape", NULL, "int64[1,2] 0 0; int64[2] 0 3; int64[1] 0",
         "InvalidArgument: Input tensor has 1 non zero elements but input shape ([0,3]) or output shape ([0]) is empty"},
        {"SparseReshape", NULL, "int64[0,2]; int64[2] 4611686018427387904 4; int64[1] -1",
         "InvalidArgument: "},
        {"SparseReshape", NULL, "int64[0,1]; int64[1] 4; int64[3] 4611686018427387904 4 -1",
         "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void concat_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // The example of TensorFlow's documentation: [2,3] and [2,4] along dimension 1.
        {"SparseConcat", "concat_dim=1; N=2",
         "int64[3,2] 0 2 1 0 1 1; int64[2,2] 0 1 0 2; string[3] a b c; string[2] d e; int64[2] 2 3; int64[2] "
         "2 4",
         "int64[5,2] 0 2 0 4 0 5 1 0 1 1; string[5] a d e b c; int64[2] 2 7"},
        {"SparseConcat", "concat_dim=-2; N=2",
         "int64[2,2] 0 1 1 0; int64[1,2] 0 2; float[2] 1 2; float[1] 3; int64[2] 2 3; int64[2] 4 3",
         "int64[3,2] 0 1 1 0 2 2; float[3] 1 2 3; int64[2] 6 3"},
        // Unsorted entries are output sorted.
        {"SparseConcat", "concat_dim=0; N=2",
         "int64[2,1] 1 0; int64[1,1] 0; int32[2] 1 2; int32[1] 3; int64[1] 2; int64[1] 1",
         "int64[3,1] 0 1 2; int32[3] 2 1 3; int64[1] 3"},
        {"SparseConcat", "concat_dim=0; N=2",
         "int64[0,1]; int64[0,1]; float[0]; float[0]; int64[1] 2; int64[1] 0",
         "int64[0,1]; float[0]; int64[1] 2"},
        {"SparseConcat", "concat_dim=2; N=2",
         "int64[0,2]; int64[0,2]; float[0]; float[0]; int64[2] 2 2; int64[2] 2 2",
         "InvalidArgument: Concat dimension must be in range [-2, 2), got 2"},
        {"SparseConcat", "concat_dim=0; N=2",
         "int64[0,0]; int64[0,0]; float[0]; float[0]; int64[0]; int64[0]",
         "InvalidArgument: Concat dimension must be in range [0, 0), got 0"},
        {"SparseConcat", "concat_dim=0; N=2",
         "int64[0,2]; int64[0,1]; float[0]; float[0]; int64[2] 2 2; int64[1] 2", "InvalidArgument: "},
        {"SparseConcat", "concat_dim=0; N=2",
         "int64[0,2]; int64[0,2]; float[0]; float[0]; int64[2] 2 2; int64[2] 2 3",
         "InvalidArgument: Input shapes must match: expected 2 for dimension 1 but got 3 at position 1"},
        {"SparseConcat", "concat_dim=0; N=2",
         "int64[0,1]; int64[0,1]; float[0]; float[0]; int64[1] 9223372036854775807; int64[1] 1",
         "InvalidArgument: the sizes of dimension 0 add up"},
        {"SparseConcat", "concat_dim=0; N=2",
         "int64[1,1] 9; int64[1,1] 0; float[1] 1; float[1] 2; int64[1] 2; int64[1] 1",
         "int64[2,1] 2 9; float[2] 2 1; int64[1] 3"},
        {"SparseConcat", "concat_dim=0; N=2",
         "int64[1,1] 0; int64[] 0; float[1] 1; float[0]; int64[1] 2; int64[1] 1",
         "InvalidArgument: Input indices should be a matrix but received shape []"},
        {"SparseConcat", "concat_dim=0; N=2",
         "int64[1,1] 0; int64[1,1] 0; float[] 1; float[1] 1; int64[1] 2; int64[1] 1",
         "InvalidArgument: Input values should be a vector but received shape []"},
        {"SparseConcat", "concat_dim=0; N=2",
         "int64[1,1] 0; int64[1,1] 0; float[1] 1; float[1] 1; int64[1] 2; int64[] 1",
         "InvalidArgument: Input shape"},
        {"SparseConcat", "concat_dim=0; N=2",
         "int64[1,1] 0; int64[3] 0; float[1] 1; float[0]; int64[1] 2; int64[1] 1", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void split_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // The example of TensorFlow's documentation: [2,7] in two along dimension 1.
        {"SparseSplit", "num_split=2",
         "int64[] 1; int64[5,2] 0 2 0 4 0 5 1 0 1 1; string[5] a d e b c; int64[2] 2 7",
         "int64[3,2] 0 2 1 0 1 1; int64[2,2] 0 0 0 1; string[3] a b c; string[2] d e; int64[2] 2 4; int64[2] "
         "2 3"},
        // Seven rows in three: 3, 2 and 2.
        {"SparseSplit", "num_split=3", "int64[] 0; int64[4,1] 2 3 5 6; float[4] 1 2 3 4; int64[1] 7",
         "int64[1,1] 2; int64[1,1] 0; int64[2,1] 0 1; float[1] 1; float[1] 2; float[2] 3 4; int64[1] 3; "
         "int64[1] 2; int64[1] 2"},
        {"SparseSplit", "num_split=2", "int64[] 0; int64[0,1]; float[0]; int64[1] 2",
         "int64[0,1]; int64[0,1]; float[0]; float[0]; int64[1] 1; int64[1] 1"},
        {"SparseSplit", "num_split=2", "int64[] 1; int64[0,1]; float[0]; int64[1] 2",
         "InvalidArgument: Input split_dim should be between 0 and rank (1), got 1"},
        {"SparseSplit", "num_split=2", "int64[] -1; int64[0,1]; float[0]; int64[1] 2",
         "InvalidArgument: Input split_dim should be between 0 and rank (1), got -1"},
        {"SparseSplit", "num_split=2", "int64[1] 0; int64[0,1]; float[0]; int64[1] 2",
         "InvalidArgument: Input axis should be a scalar but received shape [1]"},
        {"SparseSplit", "num_split=2", "int64[] 0; int64[] 0; float[0]; int64[1] 2",
         "InvalidArgument: Input indices should be a matrix but received shape []"},
        {"SparseSplit", "num_split=2", "int64[] 0; int64[0,1]; float[] 0; int64[1] 2",
         "InvalidArgument: Input values should be a vector but received shape []"},
        {"SparseSplit", "num_split=3", "int64[] 0; int64[0,1]; float[0]; int64[1] 2",
         "InvalidArgument: Input num_split should be between 1 and the splitting dimension size (2), got 3"},
        {"SparseSplit", "num_split=1", "int64[] 0; int64[1,1] 2; float[1] 0; int64[1] 2",
         "InvalidArgument: indices[0,0] = 2 is out of bounds: need 0 <= index < 2"},
        {"SparseSplit", "num_split=1", "int64[] 0; int64[1,1] -1; float[1] 0; int64[1] 2",
         "InvalidArgument: indices[0,0] = -1 is out of bounds"},
    };
    OP_TEST_VALUES(cases);
}

static void slice_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // The example of TensorFlow's documentation: [2,7], its left and right parts.
        {"SparseSlice", NULL,
         "int64[5,2] 0 2 0 4 0 5 1 0 1 1; string[5] a d e b c; int64[2] 2 7; int64[2] 0 0; int64[2] 2 4",
         "int64[3,2] 0 2 1 0 1 1; string[3] a b c; int64[2] 2 4"},
        {"SparseSlice", NULL,
         "int64[5,2] 0 2 0 4 0 5 1 0 1 1; string[5] a d e b c; int64[2] 2 7; int64[2] 0 4; int64[2] 2 4",
         "int64[2,2] 0 0 0 1; string[2] d e; int64[2] 2 3"},
        {"SparseSlice", NULL, "int64[2,1] 0 1; int32[2] 1 2; int64[1] 2; int64[1] 2; int64[1] 1",
         "int64[0,1]; int32[0]; int64[1] 0"},
        {"SparseSlice", NULL,
         "int64[2,1] 0 1; int32[2] 1 2; int64[1] 2; int64[1] 1; int64[1] 9223372036854775807",
         "int64[1,1] 0; int32[1] 2; int64[1] 1"},
        {"SparseSlice", NULL, "int64[0,0]; int32[0]; int64[0]; int64[0]; int64[0]",
         "int64[0,0]; int32[0]; int64[0]"},
        {"SparseSlice", NULL, "int64[0,1]; int32[0]; int64[1] 2; int64[2] 2 0; int64[1] 1",
         "InvalidArgument: Expected start to be a vector of length 1 but got"},
        {"SparseSlice", NULL, "int64[0,1]; int32[0]; int64[1] 2; int64[1] 2; int64[] 1",
         "InvalidArgument: Expected size to be a vector of length 1 but got"},
        {"SparseSlice", NULL, "int64[0,1]; int32[0]; int64[1] 2; int64[1] 2; int64[1] -1",
         "InvalidArgument: size[0] = -1 must be >= 0"},
        {"SparseSlice", NULL,
         "int64[1,2] 0; int32[1] 0; int64[2] 1 1; int64[2] 4611686018427387904 -1; int64[2] 4611686018427387904",
         "InvalidArgument: start[0] = 4611686018427387904 is behind the end, of size 1"},
        {"SparseSliceGrad", NULL,
         "float[2] 10 20; int64[4,2] 0 2 0 4 0 5 1 0; int64[2] 0 4; int64[2,2] 0 0 0 1",
         "float[4] 0 10 20 0"},
        {"SparseSliceGrad", NULL, "double[0]; int64[0,2]; int64[2] 0 4; int64[0,2]", "double[0]"},
        {"SparseSliceGrad", NULL, "float[1] 10; int64[2,1] 0 2; int64[1] 1; int64[1,1] 0",
         "Internal: Elements of backprop_val_grad aren't all propagated"},
        {"SparseSliceGrad", NULL, "float[] 10; int64[2,1] 0 2; int64[1] 1; int64[1,1] 0",
         "InvalidArgument: Input backprop_val_grad should be a vector"},
        {"SparseSliceGrad", NULL, "float[1] 10; int64[2,1] 0 2; int64[1] 1; int64[1,2] 0",
         "InvalidArgument: The input and output should have the same ndims: got: 1 and 2"},
        {"SparseSliceGrad", NULL, "float[1] 10; int64[0,1]; int64[1] 1; int64[1,1] 0",
         "InvalidArgument: # rows of output_indices should be not greater"},
        {"SparseSliceGrad", NULL, "float[2] 10; int64[2,1] 0 2; int64[1] 1; int64[1,1] 0",
         "InvalidArgument: # elements of backprop_val_grad and rows of output_indices should match"},
        {"SparseSliceGrad", NULL, "float[1] 10; int64[2,1] 0 2; int64[2] 1 1; int64[1,1] 0",
         "InvalidArgument: The input_start should be a vector of 1 elements"},
    };
    OP_TEST_VALUES(cases);
}

#define A "int64[3,2] 0 0 0 2 1 1; "
#define B "int64[3,2] 0 1 0 2 1 1; "
#define SHAPE "int64[2] 2 3; "

static void add_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SparseAdd", NULL, A "float[3] 1 2 3; " SHAPE B "float[3] 10 -2 0.5; " SHAPE "float[] 0",
         "int64[4,2] 0 0 0 1 0 2 1 1; float[4] 1 10 0 3.5; int64[2] 2 3"},
        // Only sums of two are measured against the threshold.
        {"SparseAdd", NULL, A "float[3] 1 2 3; " SHAPE B "float[3] 1 -2.5 2; " SHAPE "float[] 4",
         "int64[3,2] 0 0 0 1 1 1; float[3] 1 1 5; int64[2] 2 3"},
        {"SparseAdd", NULL, A "int64[3] 1 -2 3; " SHAPE B "int64[3] 1 -2 -3; " SHAPE "int64[] 1",
         "int64[3,2] 0 0 0 1 0 2; int64[3] 1 1 -4; int64[2] 2 3"},
        {"SparseAdd", NULL, A "int8[3] 1 -64 3; " SHAPE B "int8[3] 1 -64 -3; " SHAPE "int8[] 127",
         "int64[3,2] 0 0 0 1 0 2; int8[3] 1 1 -128; int64[2] 2 3"},
        {"SparseAdd", NULL, A "double[3] 1 nan 3; " SHAPE B "double[3] 1 1 1; " SHAPE "double[] 0",
         "int64[3,2] 0 0 0 1 1 1; double[3] 1 1 4; int64[2] 2 3"},
        {"SparseAdd", NULL,
         "int64[0,1]; double[0]; int64[1] 4; int64[0,1]; double[0]; int64[1] 4; double[] 0",
         "int64[0,1]; double[0]; int64[1] 4"},
        {"SparseAdd", NULL, A "float[3] 1 2 3; " SHAPE "int64[0,1]; float[0]; int64[1] 2; float[] 0",
         "InvalidArgument: Operands do not have the same ranks; got shapes: [2,3] and [2]"},
        {"SparseAdd", NULL, A "float[3] 1 2 3; " SHAPE "int64[0,2]; float[0]; int64[2] 2 4; float[] 0",
         "InvalidArgument: Operands' shapes do not match: got 3 and 4 for dimension 1"},
        {"SparseAdd", NULL, A "float[3] 1 2 3; " SHAPE B "float[3] 1; " SHAPE "float[1] 0",
         "InvalidArgument: The magnitude threshold must be a scalar: got shape [1]"},
        {"SparseAdd", NULL, A "float[3] 1 2 3; " SHAPE B "float[3] 1; " SHAPE "double[] 0",
         "InvalidArgument: The magnitude threshold of float values must be float, not double"},
        {"SparseAddGrad", NULL, "float[3] 1 2 3; " A B "int64[3,2] 0 0 0 1 1 1",
         "float[3] 1 0 3; float[3] 2 0 3"},
        {"SparseAddGrad", NULL, "float[0]; int64[0,1]; int64[2,1] 0 1; int64[0,1]", "float[0]; float[2] 0"},
        {"SparseAddGrad", NULL, "float[] 1; " A B "int64[3,2] 0 0 0 1 1 1",
         "InvalidArgument: Input backprop_val_grad should be a vector"},
        {"SparseAddGrad", NULL, "float[3] 1; " A B "int64[3,1] 0 1 2",
         "InvalidArgument: The densified operands should have the same ndims"},
        {"SparseAddGrad", NULL, "float[2] 1; " A B "int64[3,2] 0 0 0 1 1 1",
         "InvalidArgument: # elements of backprop_val_grad and rows of sum_indices should match"},
    };
    OP_TEST_VALUES(cases);
}

static void extremes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SparseSparseMaximum", NULL, A "float[3] -1 2 3; " SHAPE B "float[3] 4 -2 5; int64[2] 2 3",
         "int64[4,2] 0 0 0 1 0 2 1 1; float[4] 0 4 2 5"},
        {"SparseSparseMinimum", NULL, A "float[3] -1 2 3; " SHAPE B "float[3] 4 -2 5; int64[2] 2 3",
         "int64[4,2] 0 0 0 1 0 2 1 1; float[4] -1 0 -2 3"},
        {"SparseSparseMaximum", NULL, A "uint8[3] 1 2 3; " SHAPE B "uint8[3] 4 1 5; int64[2] 2 3",
         "int64[4,2] 0 0 0 1 0 2 1 1; uint8[4] 1 4 2 5"},
        {"SparseSparseMinimum", NULL, A "complex64[3] 1 2 3; " SHAPE B "complex64[3] 4 1 5; int64[2] 2 3",
         "NotFound: No OpKernel was registered to support Op 'SparseSparseMinimum'"},
        {"SparseSparseMaximum", NULL, "int64[0,1]; double[0]; int64[1] 0; int64[0,1]; double[0]; int64[1] 0",
         "int64[0,1]; double[0]"},
        {"SparseSparseMaximum", NULL,
         "int64[0,1]; int64[0]; int64[1] 4; int64[1,1] 0; int64[1] -7; int64[2] 4 4", "InvalidArgument: "},
        {"SparseSparseMaximum", NULL, "int64[0,1]; int64[0]; int64[1] 4; int64[0,2]; int64[0]; int64[2] 4 4",
         "InvalidArgument: Operands do not have the same ranks; got shapes: [4] and [4,4]"},
        {"SparseSparseMaximum", NULL,
         "int64[1,1] 0; int64[] 1; int64[1] 4; int64[1,1] 0; int64[1] -7; int64[1] 4",
         "InvalidArgument: values should be a vector"},
        {"SparseSparseMinimum", NULL,
         "int64[0,1]; int64[0]; int64[1] 4; int64[1,1] 0; int64[1] -7; int64[1] 4",
         "int64[1,1] 0; int64[1] -7"},
        {"SparseSparseMinimum", NULL,
         "int64[0,1]; int64[0]; int64[1] 4; int64[1,1] 0; int64[1] -7; int64[1] 5",
         "InvalidArgument: Operands' shapes do not match: got 4 and 5 for dimension 0"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"SparseReorder", NULL, "int64[?,2]; [5]; int64[2]", "[?,2]; [5]"},
        {"SparseReorder", NULL, "int64[2]; [5]; int64[2]",
         "InvalidArgument: Shape must be rank 2 but is rank 1"},
        {"SparseReshape", NULL, "int64[4,2]; int64[2]; int64[3]", "[4,3]; [3]"},
        {"SparseReshape", NULL, "int64[5,?]; int64?; int64?", "[5,?]; [?]"},
        {"SparseReshape", NULL, "int64[4,2]; int64[2]; int64[]", "InvalidArgument: Shape must be rank 1"},
        {"SparseConcat", "concat_dim=0; N=2", "int64[4,2]; int64[?,2]; [4]; [3]; int64[2]; int64[2]",
         "[7,2]; [7]; [2]"},
        {"SparseConcat", "concat_dim=0; N=2", "int64?; int64[3,2]; ?; [3]; int64?; int64[2]",
         "[?,2]; [?]; [2]"},
        {"SparseConcat", "concat_dim=0; N=2", "int64[4,2]; int64[3,3]; [4]; [3]; int64[2]; int64[2]",
         "InvalidArgument: Dimensions must be equal"},
        {"SparseSplit", "num_split=2", "int64[]; int64[4,2]; [4]; int64[2]",
         "[?,2]; [?,2]; [?]; [?]; [2]; [2]"},
        {"SparseSlice", NULL, "int64[4,2]; [4]; int64[2]; int64[2]; int64[2]", "[?,2]; [?]; [2]"},
        {"SparseSliceGrad", NULL, "[3]; int64[4,2]; int64[2]; int64[3,2]", "[4]"},
        {"SparseAdd", NULL, "int64[4,2]; [4]; int64[2]; int64[4,2]; [4]; int64[2]; []", "[?,2]; [?]; [2]"},
        {"SparseAddGrad", NULL, "[?]; int64[4,2]; int64[5,2]; int64?", "[4]; [5]"},
        {"SparseAddGrad", NULL, "[?]; int64[4]; int64[5,2]; int64?", "InvalidArgument: Shape must be rank 2"},
        {"SparseSparseMaximum", NULL, "int64[4,2]; [4]; int64[2]; int64[4,2]; [4]; int64[2]", "[?,?]; [?]"},
        {"SparseSparseMinimum", NULL, "int64[4,2]; []; int64[2]; int64[4,2]; [4]; int64[2]",
         "InvalidArgument: Shape must be rank 1 but is rank 0"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"SparseReorder", NULL, "int64[4,2] 1 2 0 3 1 0 0 1; double[4] 1 2 3 4; int64[2] 2 4"},
        {"SparseSlice", NULL,
         "int64[5,2] 0 2 0 4 0 5 1 0 1 1; double[5] 1 2 3 4 5; int64[2] 2 7; int64[2] 0 1; int64[2] 2 4"},
        {"SparseAdd", NULL, A "double[3] 1 2 3; " SHAPE B "double[3] 10 -2.5 0.5; " SHAPE "double[] 0.1",
         "6"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reorder_follows_its_definition),
        cmocka_unit_test(reshape_follows_its_definition),
        cmocka_unit_test(concat_follows_its_definition),
        cmocka_unit_test(split_follows_its_definition),
        cmocka_unit_test(slice_follows_its_definition),
        cmocka_unit_test(add_follows_its_definition),
        cmocka_unit_test(extremes_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
