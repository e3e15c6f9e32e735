// Tests of ops that compute with sparse tensors. Values were computed with dense tensors in numpy.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define A "int64[5,2] 0 1 0 3 2 0 2 3 0 1; "
#define A_VALUES " 1 2 3 4 5; int64[2] 3 4; "
#define MATRIX(TYPE) A TYPE "[5]" A_VALUES

static void products_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SparseTensorDenseMatMul", NULL, MATRIX("float") "float[4,2] 1 2 3 4 5 6 7 8",
         "float[3,2] 32 40 0 0 31 38"},
        {"SparseTensorDenseMatMul", "adjoint_a=true", MATRIX("double") "double[3,2] 1 2 3 4 5 6",
         "double[4,2] 15 18 6 12 0 0 22 28"},
        {"SparseTensorDenseMatMul", "adjoint_b=true", MATRIX("int32") "int32[2,4] 1 2 3 4 5 6 7 8",
         "int32[3,2] 20 52 0 0 19 47"},
        {"SparseTensorDenseMatMul", "adjoint_a=true; adjoint_b=true",
         MATRIX("int64") "int64[2,3] 1 2 3 4 5 6", "int64[4,2] 9 18 6 24 0 0 14 32"},
        {"SparseTensorDenseMatMul", NULL,
         "int64[2,2] 0 1 1 0; complex64[2] 1+2j 3-1j; int64[2] 2 2; complex64[2,1] 1j 2",
         "complex64[2,1] 2+4j 1+3j"},
        {"SparseTensorDenseMatMul", "adjoint_a=true; adjoint_b=true",
         "int64[2,2] 0 1 1 0; complex128[2] 1+2j 3-1j; int64[2] 2 2; complex128[1,2] 1j 2",
         "complex128[2,1] 6+2j -2-1j"},
        // 2 (1.5 + 1), 2048 + 1 and 256 + 1: the last two are rounded to even.
        {"SparseTensorDenseMatMul", NULL,
         "int64[2,2] 0 0 0 1; half[2] 0x4000; int64[2] 1 2; half[2,1] 0x3e00 0x3c00", "half[1,1] 0x4500"},
        {"SparseTensorDenseMatMul", NULL,
         "int64[2,2] 0 0 0 1; half[2] 0x3c00; int64[2] 1 2; half[2,1] 0x6800 0x3c00", "half[1,1] 0x6800"},
        {"SparseTensorDenseMatMul", NULL,
         "int64[2,2] 0 0 0 1; bfloat16[2] 0x3f80; int64[2] 1 2; bfloat16[2,1] 0x4380 0x3f80",
         "bfloat16[1,1] 0x4380"},
        {"SparseTensorDenseMatMul", NULL, "int32[1,2] 1 0; float[1] 2; int64[2] 2 1; float[1,3] 1 2 nan",
         "float[2,3] 0 0 0 2 4 nan"},
        {"SparseTensorDenseMatMul", NULL, "int64[0,2]; float[0]; int64[2] 2 3; float[3,2] 1", "float[2,2] 0"},
        {"SparseTensorDenseMatMul", NULL, "int64[0,2]; float[0]; int64[2] 2 0; float[0,2]", "float[2,2] 0"},
        {"SparseTensorDenseMatMul", NULL, "int64[0,2]; float[0]; int64[2] 0 2; float[2,1] 1", "float[0,1]"},
        {"SparseTensorDenseMatMul", NULL, MATRIX("float") "float[4] 1",
         "InvalidArgument: Tensor 'b' is not a matrix"},
        {"SparseTensorDenseMatMul", NULL, MATRIX("float") "float[] 1",
         "InvalidArgument: Tensor 'b' is not a matrix"},
        {"SparseTensorDenseMatMul", NULL, "int64[] 0; float[1] 1; int64[2] 1 1; float[1,1] 1",
         "InvalidArgument: indices should be a matrix but received shape []"},
        {"SparseTensorDenseMatMul", NULL, "int64[1,2] 0; float[] 1; int64[2] 1 1; float[1,1] 1",
         "InvalidArgument: values should be a vector but received shape []"},
        {"SparseTensorDenseMatMul", NULL, "int64[1,2] 0; float[1] 1; int64[] 1; float[1,1] 1",
         "InvalidArgument: shape should be a vector but received shape []"},
        {"SparseTensorDenseMatMul", NULL, "int64[0,3]; float[0]; int64[3] 2 3 1; float[3,2] 1",
         "InvalidArgument: Tensor 'a_shape' must have 2 elements"},
        {"SparseTensorDenseMatMul", NULL, MATRIX("float") "float[3,2] 1",
         "InvalidArgument: Cannot multiply A and B because inner dimension does not match: 4 vs. 3"},
        {"SparseTensorDenseMatMul", NULL, "int64[1,2] 0 4; float[1] 1; int64[2] 3 4; float[4,1] 1",
         "InvalidArgument: k (4) from index[0,1] out of bounds (>=4)"},
        {"SparseTensorDenseMatMul", NULL, "int64[1,2] -1 3; float[1] 1; int64[2] 3 4; float[4,1] 1",
         "InvalidArgument: m (-1) from index[0,0] out of bounds (>=3)"},
        {"SparseTensorDenseMatMul", NULL,
         "int64[0,2]; float[0]; int64[2] 4611686018427387904 4; float[4,4] 1", "InvalidArgument: "},
        {"SparseTensorDenseMatMul", NULL,
         "int64[0,2]; float[0]; int64[2] 2305843009213693952 1; float[1,2] 1", "ResourceExhausted: "},
    };
    OP_TEST_VALUES(cases);
}

#define S "int64[3,2] 0 1 1 0 1 2; "

static void entries_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SparseDenseCwiseAdd", NULL, S "float[3] 1 2 3; int64[2] 2 3; float[2,3] 10 20 30 40 50 60",
         "float[3] 21 42 63"},
        {"SparseDenseCwiseMul", NULL, S "double[3] 1 2 3; int64[2] 2 3; double[3] 10 20 30",
         "double[3] 20 20 90"},
        {"SparseDenseCwiseMul", NULL, S "int64[3] 1 2 3; int64[2] 2 3; int64[2,1] 10 20",
         "int64[3] 10 40 60"},
        {"SparseDenseCwiseAdd", NULL, S "float[3] 1 2 3; int64[2] 2 3; float[] 10", "float[3] 11 12 13"},
        {"SparseDenseCwiseMul", NULL, S "half[3] 0x3c00; int64[2] 2 3; half[] 0x4000", "half[3] 0x4000"},
        {"SparseDenseCwiseMul", NULL, "int64[0,2]; int32[0]; int64[2] 2 3; int32[2,3] 1", "int32[0]"},
        {"SparseDenseCwiseMul", NULL, "int64[0,2]; double[0]; int64[2] 0 3; double[0,3]", "double[0]"},
        {"SparseDenseCwiseMul", NULL, S "float[3] 1; int64[2] 2 3; float[2] 1",
         "InvalidArgument: got incompatible shapes: [2,3] vs. [2]"},
        {"SparseDenseCwiseMul", NULL, S "float[] 1; int64[2] 2 3; float[] 1",
         "InvalidArgument: values should be a vector"},
        {"SparseDenseCwiseMul", NULL, S "float[2] 1; int64[2] 2 3; float[] 1", "InvalidArgument: indices"},
        {"SparseDenseCwiseDiv", NULL, "int64[0,1]; float[0]; int64[1] 3; float[] 0", "float[0]"},
        {"SparseDenseCwiseDiv", NULL, S "float[3] 1 2 3; int64[2] 2 3; float[2,1] 1 0",
         "InvalidArgument: SparseDenseCwiseDiv cannot divide by zero,but input dense tensor contains zero"},
        {"SparseDenseCwiseDiv", NULL, S "double[3] 1 2 3; int64[2] 2 3; double[] -0",
         "InvalidArgument: cannot divide by zero"},
        {"SparseDenseCwiseDiv", NULL, S "int32[3] 7 -7 9; int64[2] 2 3; int32[1,1] 2", "int32[3] 3 -3 4"},
        {"SparseDenseCwiseDiv", NULL, S "half[3] 0x3c00; int64[2] 2 3; half[] 0x8000",
         "InvalidArgument: cannot divide by zero"},
        {"SparseDenseCwiseDiv", NULL, S "uint8[3] 7 8 9; int64[2] 2 3; uint8[] 0",
         "InvalidArgument: cannot divide by zero"},
        // Only elements at the place of an entry count.
        {"SparseDenseCwiseDiv", NULL, "int64[1,1] 1; float[1] 3; int64[1] 2; float[2] 0 2", "float[1] 1.5"},
        {"SparseDenseCwiseAdd", NULL, "int64[0,1]; float[0]; int64[1] 0; float[1] 1", "float[0]"},
        {"SparseDenseCwiseAdd", NULL, S "float[3] 1; int64[2] 2 3; float[2] 1",
         "InvalidArgument: SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible "
         "shapes: [2,3] vs. [2]"},
        {"SparseDenseCwiseAdd", NULL, S "float[3] 1; int64[2] 2 3; float[1,2,3] 1", "InvalidArgument: "},
        {"SparseDenseCwiseAdd", NULL, "int64[1,1] 3; float[1] 1; int64[1] 3; float[1] 1",
         "InvalidArgument: Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape"},
    };
    OP_TEST_VALUES(cases);
}

// x = [[1, ., 1], [., 1, .]], as in TensorFlow's documentation of tf.sparse.reduce_sum, with other values.
#define X(TYPE) "int64[3,2] 0 0 0 2 1 1; " TYPE "[3] 1 2 -4; int64[2] 2 3; "

static void reductions_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SparseReduceSum", NULL, X("float") "int32[2] 0 1", "float[] -1"},
        {"SparseReduceSum", NULL, X("double") "int32[] 0", "double[3] 1 -4 2"},
        {"SparseReduceSum", NULL, X("int32") "int32[1] 1", "int32[2] 3 -4"},
        {"SparseReduceSum", "keep_dims=true", X("int64") "int32[1] -1", "int64[2,1] 3 -4"},
        {"SparseReduceSum", "keep_dims=true", X("int8") "int32[1] 0", "int8[1,3] 1 -4 2"},
        {"SparseReduceSum", NULL, X("float") "int32[0]", "float[2,3] 1 0 2 0 -4 0"},
        // The same axis twice, and entries in no order with the same index.
        {"SparseReduceSum", NULL, "int64[4,2] 1 1 0 0 1 1 1 0; float[4] 1 2 4 8; int64[2] 2 2; int32[2] 1 -1",
         "float[2] 2 13"},
        {"SparseReduceSum", NULL, "int64[2,3] 0 1 0 1 1 1; float[2] 1 2; int64[3] 2 2 2; int32[1] 1",
         "float[2,2] 1 0 0 2"},
        {"SparseReduceSum", NULL, "int64[0,2]; float[0]; int64[2] 2 0; int32[1] 1", "float[2] 0"},
        {"SparseReduceSum", NULL, "int64[2,2] 0 0 0 2; complex128[2] 1+2j 3-1j; int64[2] 2 3; int32[1] 1",
         "complex128[2] 4+1j 0"},
        {"SparseReduceMax", NULL, X("float") "int32[1] 1", "float[2] 2 -4"},
        {"SparseReduceMax", NULL, X("float") "int32[] -1", "float[2] 2 -4"},
        {"SparseReduceMax", NULL, "int64[0,2]; float[0]; int64[2] 2 0; int32[1] 1", "float[2] 0"},
        {"SparseReduceMax", NULL, "int64[0,2]; float[0]; int64[2] 0 3; int32[1] 1", "float[0]"},
        {"SparseReduceMaxSparse", NULL, X("int32") "int32[] 0",
         "int64[3,1] 0 1 2; int32[3] 1 -4 2; int64[1] 3"},
        {"SparseReduceSumSparse", NULL, X("int32") "int32[] 1", "int64[2,1] 0 1; int32[2] 3 -4; int64[1] 2"},
        {"SparseReduceSumSparse", NULL, "int64[0,2]; double[0]; int64[2] 2 0; int32[1] 1",
         "int64[0,1]; double[0]; int64[1] 2"},
        {"SparseReduceSumSparse", NULL, X("float") "int32[1] -3",
         "InvalidArgument: Invalid reduction dimension -3, for input with 2 dimensions."},
        {"SparseReduceSumSparse", NULL, X("float") "int32[1,1] 0",
         "InvalidArgument: Expected reduction_axes to be a scalar or a vector; got shape: [1,1]"},
        {"SparseReduceMax", NULL, X("int64") "int32[1] 0", "int64[3] 1 -4 2"},
        {"SparseReduceMax", "keep_dims=true", X("double") "int32[2] 0 1", "double[1,1] 2"},
        {"SparseReduceSumSparse", NULL, X("float") "int32[1] 1", "int64[2,1] 0 1; float[2] 3 -4; int64[1] 2"},
        {"SparseReduceSumSparse", NULL, X("float") "int32[1] 0",
         "int64[3,1] 0 1 2; float[3] 1 -4 2; int64[1] 3"},
        {"SparseReduceSumSparse", "keep_dims=true", X("float") "int32[1] 0",
         "int64[3,2] 0 0 0 1 0 2; float[3] 1 -4 2; int64[2] 1 3"},
        {"SparseReduceMaxSparse", NULL, X("int32") "int32[2] 0 1", "int64[1,0]; int32[1] 2; int64[0]"},
        {"SparseReduceSumSparse", NULL, "int64[2,2] 0 9 0 -1; float[2] 1 2; int64[2] 2 3; int32[1] 0",
         "int64[2,1] -1 9; float[2] 2 1; int64[1] 3"},
        {"SparseReduceMaxSparse", NULL, "int64[0,1]; int32[0]; int64[1] 4; int32[1] 0",
         "int64[0,0]; int32[0]; int64[0]"},
        {"SparseReduceSum", NULL, X("float") "int32[1] 2",
         "InvalidArgument: Invalid reduction dimension 2, for input with 2 dimensions."},
        {"SparseReduceSum", NULL, X("float") "int32[1] -3",
         "InvalidArgument: Invalid reduction dimension -3"},
        {"SparseReduceMax", NULL, X("float") "int32[1,1] 0",
         "InvalidArgument: Expected reduction_axes to be a scalar or a vector; got shape: [1,1]"},
        {"SparseReduceSum", NULL, "int64[1,2] 0 3; float[1] 1; int64[2] 2 3; int32[1] 0",
         "InvalidArgument: indices[0] = [0,3] is out of bounds"},
        {"SparseReduceSum", NULL, "int64[1,2] 0 -1; float[1] 1; int64[2] 2 3; int32[1] 0",
         "InvalidArgument: indices[0] = [0,-1] is out of bounds"},
        {"SparseReduceSum", NULL, "int64[0,3]; float[0]; int64[3] 4611686018427387904 4 2; int32[1] 2",
         "InvalidArgument: "},
        {"SparseReduceMaxSparse", NULL,
         "int64[1,2] 1 2; int32[1] 1; int64[2] 4294967296 2147483648; int32[1] 0", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void softmax_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SparseSoftmax", NULL,
         "int64[5,3] 0 0 0 0 0 1 0 0 3 1 1 0 1 1 2; double[5] 1 2 3 0.5 -1; int64[3] 2 2 4",
         "double[5] 0.09003057317038046 0.24472847105479764 0.6652409557748218 0.8175744761936437 "
         "0.18242552380635635"},
        // Unsorted entries are output sorted.
        {"SparseSoftmax", NULL, "int64[3,2] 1 1 1 0 0 0; float[3] -1 0.5 7; int64[2] 2 2",
         "float[3] 1 0.81757448 0.18242552"},
        {"SparseSoftmax", NULL, "int64[2,2] 0 0 0 1; float[2] 1000 1000; int64[2] 1 2", "float[2] 0.5 0.5"},
        {"SparseSoftmax", NULL, "int64[0,2]; float[0]; int64[2] 0 0", "float[0]"},
        {"SparseSoftmax", NULL, "int64[0,2]; float[] 1; int64[2] 0 0",
         "InvalidArgument: values should be a vector"},
        {"SparseSoftmax", NULL, "int64[] 0; float[1] 1; int64[2] 1 1",
         "InvalidArgument: indices should be a matrix"},
        {"SparseSoftmax", NULL, "int64[1,1] 0; float[1] 1; int64[1] 1",
         "InvalidArgument: Input should have rank >= 2, but received shape: [1]"},
        {"SparseSoftmax", NULL, "int64[1,2] 1 1; float[1] 2; int64[2] 4294967296 2147483648",
         "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void filled_rows_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // The example of TensorFlow's documentation: [5,6] with rows 1 and 4 empty.
        {"SparseFillEmptyRows", NULL,
         "int64[4,2] 0 1 0 3 2 0 3 1; string[4] a b c d; int64[2] 5 6; string[] z",
         "int64[6,2] 0 1 0 3 1 0 2 0 3 1 4 0; string[6] a b z c d z; bool[5] false true false false true; "
         "int64[4] 0 1 3 4"},
        // Unsorted rows are grouped by row; within a row the order is kept.
        {"SparseFillEmptyRows", NULL, "int64[3,2] 2 5 0 1 2 3; float[3] 1 2 3; int64[2] 3 6; float[] -1",
         "int64[4,2] 0 1 1 0 2 5 2 3; float[4] 2 -1 1 3; bool[3] false true false; int64[3] 2 0 3"},
        {"SparseFillEmptyRows", NULL, "int64[0,1]; int32[0]; int64[1] 2; int32[] 7",
         "int64[2,1] 0 1; int32[2] 7 7; bool[2] true true; int64[0]"},
        {"SparseFillEmptyRows", NULL, "int64[0,2]; int32[0]; int64[2] 0 3; int32[] 7",
         "int64[0,2]; int32[0]; bool[0]; int64[0]"},
        {"SparseFillEmptyRows", NULL, "int64[1,2] 0 0; int32[1] 1; int64[2] 0 3; int32[] 7",
         "InvalidArgument: Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = 1"},
        {"SparseFillEmptyRows", NULL, "int64[1,2] 3 0; int32[1] 1; int64[2] 3 3; int32[] 7",
         "InvalidArgument: indices(0, 0) is invalid: 3 >= 3"},
        {"SparseFillEmptyRows", NULL, "int64[1,2] -1 0; int32[1] 1; int64[2] 3 3; int32[] 7",
         "InvalidArgument: indices(0, 0) is invalid: -1 >= 3"},
        {"SparseFillEmptyRows", NULL, "int64[0,0]; int32[0]; int64[0]; int32[] 7", "InvalidArgument: ense"},
        {"SparseFillEmptyRows", NULL, "int64[0,1]; int32[0]; int64[1] 1; int32[1] 7",
         "InvalidArgument: default_value must be a scalar, saw: [1]"},
        {"SparseFillEmptyRows", NULL, "int64[0,1]; int32[0]; int64[1] 2305843009213693952; int32[] 7",
         "ResourceExhausted: "},
        {"SparseFillEmptyRowsGrad", NULL, "int64[3] 2 0 3; float[5] 1 2 3 4 10",
         "float[3] 3 1 4; float[] 12"},
        {"SparseFillEmptyRowsGrad", NULL, "int64[0]; int64[0]", "int64[0]; int64[] 0"},
        {"SparseFillEmptyRowsGrad", NULL, "int64[1] 2; float[2] 1 2",
         "InvalidArgument: Elements in reverse index must be in [0, 2) but got 2"},
        {"SparseFillEmptyRowsGrad", NULL, "int64[] 2; float[2] 1 2",
         "InvalidArgument: reverse_index_map must be a vector, saw: []"},
        {"SparseFillEmptyRowsGrad", NULL, "int64[1] 0; float[] 1",
         "InvalidArgument: grad_values must be a vector, saw: []"},
    };
    OP_TEST_VALUES(cases);
}

// The rows of the example above.
static void filled_ragged_rows_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"RaggedFillEmptyRows", NULL, "int64[4] 0 0 2 3; string[4] a b c d; int64[] 5; string[] z",
         "int64[6] 0 0 1 2 3 4; string[6] a b z c d z; bool[5] false true false false true; int64[4] 0 1 3 4"},
        {"RaggedFillEmptyRows", NULL, "int64[3] 2 0 2; float[3] 1 2 3; int64[] 3; float[] -1",
         "int64[4] 0 1 2 2; float[4] 2 -1 1 3; bool[3] false true false; int64[3] 2 0 3"},
        {"RaggedFillEmptyRows", NULL, "int64[0]; int32[0]; int64[] 0; int32[] 7",
         "int64[0]; int32[0]; bool[0]; int64[0]"},
        {"RaggedFillEmptyRows", NULL, "int64[1] 3; int32[1] 1; int64[] 3; int32[] 7",
         "InvalidArgument: is invalid: 3 >= 3"},
        {"RaggedFillEmptyRows", NULL, "int64[1] -1; int32[1] 1; int64[] 3; int32[] 7",
         "InvalidArgument: is invalid: -1 >= 3"},
        {"RaggedFillEmptyRows", NULL, "int64[2] 1; int32[1] 1; int64[] 3; int32[] 7",
         "InvalidArgument: 2 value_rowids for 1 values in 3 rows"},
        {"RaggedFillEmptyRows", NULL, "int64[0]; int32[0]; int64[] -3; int32[] 7",
         "InvalidArgument: in -3 rows"},
        {"RaggedFillEmptyRows", NULL, "int64[] 1; int32[1] 1; int64[] 3; int32[] 7",
         "InvalidArgument: value_rowids must be a vector, saw: []"},
        {"RaggedFillEmptyRows", NULL, "int64[1] 1; int32[1] 1; int64[1] 3; int32[] 7",
         "InvalidArgument: nrows must be a scalar, saw: [1]"},
        {"RaggedFillEmptyRows", NULL, "int64[1] 1; int32[1] 1; int64[] 3; int32[1] 7",
         "InvalidArgument: default_value must be a scalar, saw: [1]"},
        {"RaggedFillEmptyRowsGrad", NULL, "int64[3] 2 0 3; float[5] 1 2 3 4 10",
         "float[3] 3 1 4; float[] 12"},
        {"RaggedFillEmptyRowsGrad", NULL, "int64[0]; double[0]", "double[0]; double[] 0"},
        {"RaggedFillEmptyRowsGrad", NULL, "int64[] 2; float[2] 1 2",
         "InvalidArgument: reverse_index_map must be a vector, saw: []"},
        {"RaggedFillEmptyRowsGrad", NULL, "int64[1] 2; float[2] 1 2",
         "InvalidArgument: Elements in reverse index must be in [0, 2) but got 2"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"RaggedFillEmptyRows", NULL, "int64[4]; [?]; int64[] 5; []", "[?]; [?]; [5]; [4]"},
        {"RaggedFillEmptyRows", NULL, "int64[?]; [?]; int64[1]; []",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"RaggedFillEmptyRowsGrad", NULL, "int64[8]; [9]", "[8]; []"},
    };
    OP_TEST_SHAPES(shapes);
    static const op_grad_case gradients[] = {
        {"RaggedFillEmptyRows", NULL, "int64[3] 2 0 2; double[3] 1 2 3; int64[] 4; double[] 7"},
    };
    OP_TEST_GRADIENTS(gradients);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"SparseTensorDenseMatMul", NULL, "int64[?,2]; [?]; int64[2] 3 4; [4,5]", "[3,5]"},
        {"SparseTensorDenseMatMul", "adjoint_a=true; adjoint_b=true", "int64[?,2]; [?]; int64[2] 3 4; [5,3]",
         "[4,5]"},
        {"SparseTensorDenseMatMul", NULL, "int64[?,2]; [?]; int64[2]; [4,5]", "[?,5]"},
        {"SparseTensorDenseMatMul", NULL, "int64[?,2]; [?]; int64[2] 3 4; [5,5]",
         "InvalidArgument: Dimensions must be equal, but are 4 and 5"},
        {"SparseTensorDenseMatMul", NULL, "int64[?,2]; [?]; int64[3] 3 4 5; [5,5]", "InvalidArgument: "},
        {"SparseDenseCwiseAdd", NULL, "int64[7,2]; [?]; int64[2]; [3]", "[7]"},
        {"SparseDenseCwiseAdd", NULL, "int64[7]; [?]; int64[2]; [3]",
         "InvalidArgument: Shape must be rank 2"},
        {"SparseReduceSum", NULL, "int64[?,3]; [?]; int64[3] 2 3 4; int32[1] 1", "[2,4]"},
        {"SparseReduceSum", "keep_dims=true", "int64[?,3]; [?]; int64[3] 2 3 4; int32[] -1", "[2,3,1]"},
        {"SparseReduceMax", NULL, "int64[?,3]; [?]; int64[3] 2 3 4; int32[?]", "?"},
        {"SparseReduceMaxSparse", NULL, "int64[?,3]; [?]; int64[3] 2 3 4; int32[1] 1", "?; ?; ?"},
        {"SparseSoftmax", NULL, "int64[?,3]; [9]; int64[3]", "[9]"},
        {"SparseFillEmptyRows", NULL, "int64[?,2]; [9]; int64[2] 5 6; []", "[?,2]; [?]; [5]; [9]"},
        {"SparseFillEmptyRows", NULL, "int64[8,2]; [9]; int64[2] 5 6; []",
         "InvalidArgument: Dimensions must be equal"},
        {"SparseFillEmptyRows", NULL, "int64[?,?]; [9]; int64[0]; []",
         "InvalidArgument: dense_shape must not be empty"},
        {"SparseFillEmptyRowsGrad", NULL, "int64[8]; [9]", "[8]; []"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"SparseTensorDenseMatMul", NULL, MATRIX("double") "double[4,2] 1 2 3 4 5 6 7 8"},
        {"SparseTensorDenseMatMul", "adjoint_a=true", MATRIX("double") "double[3,2] 1 2 3 4 5 6"},
        {"SparseTensorDenseMatMul", "adjoint_b=true", MATRIX("double") "double[2,4] 1 2 3 4 5 6 7 8"},
        {"SparseTensorDenseMatMul", "adjoint_a=true; adjoint_b=true",
         MATRIX("double") "double[2,3] 1 2 3 4 5 6"},
        {"SparseDenseCwiseMul", NULL, S "double[3] 1 2 3; int64[2] 2 3; double[3] 10 20 30"},
        {"SparseDenseCwiseMul", NULL, S "double[3] 1 2 3; int64[2] 2 3; double[2,1] 10 20"},
        {"SparseDenseCwiseDiv", NULL, S "double[3] 1 2 3; int64[2] 2 3; double[2,3] 1 2 3 4 5 6"},
        {"SparseDenseCwiseDiv", NULL, S "double[3] 1 2 3; int64[2] 2 3; double[1] 4"},
        {"SparseReduceSum", NULL, X("double") "int32[1] 0"},
        {"SparseReduceSum", "keep_dims=true", X("double") "int32[2] 0 -1"},
        {"SparseSoftmax", NULL,
         "int64[5,3] 0 0 0 0 0 1 0 0 3 1 1 0 1 1 2; double[5] 1 2 3 0.5 -1; int64[3] 2 2 4"},
        {"SparseFillEmptyRows", NULL, "int64[3,2] 2 5 0 1 2 3; double[3] 1 2 3; int64[2] 5 6; double[] -1"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_follow_the_definition),
        cmocka_unit_test(entries_follow_the_definition),
        cmocka_unit_test(reductions_follow_the_definition),
        cmocka_unit_test(softmax_follows_its_definition),
        cmocka_unit_test(filled_rows_follow_the_definition),
        cmocka_unit_test(filled_ragged_rows_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
