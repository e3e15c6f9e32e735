// Tests of ops that count, search and rearrange elements: bins, bounds, packed bits, LinSpace, dimension
// maps, Cross, Roll, UnravelIndex and the inplace ops. Values are numpy's (bincount, histogram, searchsorted,
// packbits, linspace, cross, roll, unravel_index).
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void bins_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Bincount", NULL, "int32[5] 1 0 1 3 9; int32[] 4; float[0]", "float[4] 1 2 0 1"},
        {"Bincount", NULL, "int32[2,2] 1 0 1 2; int32[] 3; double[2,2] 0.5 1 2 4", "double[3] 1 2.5 4"},
        {"Bincount", NULL, "int32[0]; int32[] 2; int64[0]", "int64[2] 0 0"},
        {"Bincount", NULL, "int32[1] 0; int32[] 0; int32[0]", "int32[0]"},
        {"Bincount", NULL, "int32[2] 1 -1; int32[] 2; float[0]",
         "InvalidArgument: Input arr must be non-negative!"},
        {"Bincount", NULL, "int32[1] 1; int32[] -2; float[0]",
         "InvalidArgument: size (-2) must be non-negative"},
        {"Bincount", NULL, "int32[2] 1; int32[] 2; float[1] 1", "InvalidArgument: same size"},
        {"Bincount", NULL, "int32[2] 1; int32[1] 2; float[0]", "InvalidArgument: rank 0"},
        {"HistogramFixedWidth", NULL, "float[6] -1 0 1.5 2 5 15; float[2] 0 5; int32[] 5",
         "int32[5] 2 1 1 0 2"},
        {"HistogramFixedWidth", "dtype=int64", "int32[4] -3 0 7 9; int32[2] 0 10; int32[] 2", "int64[2] 2 2"},
        {"HistogramFixedWidth", NULL, "double[2] inf -inf; double[2] 0 5; int32[] 5", "int32[5] 1 0 0 0 1"},
        {"HistogramFixedWidth", NULL, "double[0]; double[2] 0 5; int32[] 2", "int32[2] 0 0"},
        {"HistogramFixedWidth", NULL, "double[] 3; double[2] 0 5; int32[] 5", "int32[5] 0 0 0 1 0"},
        {"HistogramFixedWidth", NULL, "double[1] 3; double[] 5; int32[] 5",
         "InvalidArgument: value_range should be a vector."},
        {"HistogramFixedWidth", NULL, "double[1] 3; double[2] 0 5; int32[1] 5",
         "InvalidArgument: nbins should be a scalar."},
        {"HistogramFixedWidth", NULL, "double[1] 3; double[2] 0 5; int32[0]",
         "InvalidArgument: nbins should be a scalar."},
        {"HistogramFixedWidth", NULL, "double[1] nan; double[2] 0 5; int32[] 5", "InvalidArgument: NaN"},
        {"HistogramFixedWidth", NULL, "double[1] 1; double[2] 5 5; int32[] 5",
         "InvalidArgument: value_range should satisfy value_range[0] < value_range[1], but got '[5, 5]'"},
        {"HistogramFixedWidth", NULL, "double[1] 1; double[2] 0 5; int32[] 0",
         "InvalidArgument: nbins should be a positive number"},
        {"HistogramFixedWidth", NULL, "double[1] 1; double[3] 0 5 6; int32[] 1",
         "InvalidArgument: 2 elements"},
        {"Bucketize", "boundaries=[0,10,100]", "float[3,2] -5 10000 150 10 5 100", "int32[3,2] 0 3 3 2 1 3"},
        {"Bucketize", "boundaries=[]", "int32[2] -5 5", "int32[2] 0 0"},
        {"Bucketize", "boundaries=[0,10]", "double[] 10", "int32[] 2"},
        {"Bucketize", "boundaries=[0,10]", "float[0,2]", "int32[0,2]"},
        {"Bucketize", "boundaries=[0,10]", "float[3] nan inf -inf", "int32[3] 2 2 0"},
        {"Bucketize", "boundaries=[1]", "int64[2] 0 9223372036854775807", "int32[2] 0 1"},
        {"Bucketize", "boundaries=[2,1]", "double[1] 1", "InvalidArgument: Expected sorted boundaries"},
    };
    OP_TEST_VALUES(cases);
}

static void bounds_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // The example of TensorFlow's documentation.
        {"LowerBound", NULL, "int32[2,5] 0 3 9 9 10 1 2 3 4 5; int32[2,3] 2 4 9 0 2 6",
         "int32[2,3] 1 2 2 0 1 5"},
        {"UpperBound", NULL, "int32[2,5] 0 3 9 9 10 1 2 3 4 5; int32[2,3] 2 4 9 0 2 6",
         "int32[2,3] 1 2 4 0 2 5"},
        {"LowerBound", "out_type=int64", "double[1,2] 0.5 0.5; double[1,2] 0.5 0.75", "int64[1,2] 0 2"},
        {"UpperBound", NULL, "uint8[1,2] 1 200; uint8[1,1] 200", "int32[1,1] 2"},
        {"UpperBound", NULL, "float[1,0]; float[1,1] 3", "int32[1,1] 0"},
        {"LowerBound", NULL, "float[1,2] 1 2; float[1,0]", "int32[1,0]"},
        {"LowerBound", NULL, "float[1,2] 1; float[2,2] 1",
         "InvalidArgument: Leading dim_size of both tensors must match"},
        {"LowerBound", NULL, "float[] 1; float[1,1] 1",
         "InvalidArgument: sorted input argument must be a matrix"},
        {"UpperBound", NULL, "float[2] 1; float[1,1] 1",
         "InvalidArgument: sorted input argument must be a matrix"},
        {"UpperBound", NULL, "float[1,1] 1; float[] 1", "InvalidArgument: must be a matrix"},
        {"CompareAndBitpack", NULL, "float[1,16] 1 0 0 0 0 0 0 1 0 0 0 0 2 2 2 0; float[] 0.5",
         "uint8[1,2] 129 14"},
        {"CompareAndBitpack", NULL, "bool[8] true true false false false false false true; bool[] true",
         "uint8[1] 193"},
        {"CompareAndBitpack", NULL, "int8[8] -1 1 0 5 3 3 3 3; int8[] 2", "uint8[1] 31"},
        {"CompareAndBitpack", NULL, "half[16] 0x3c00 0 0 0 0 0 0 0 0 0x3c00 0 0 0 0 0 0; half[] 0",
         "uint8[2] 128 64"},
        {"CompareAndBitpack", NULL, "int64[0,8]; int64[] 2", "uint8[0,1]"},
        {"CompareAndBitpack", NULL, "float[7] 1; float[] 1", "InvalidArgument: divisible by 8"},
        {"CompareAndBitpack", NULL, "float[] 1; float[] 1", "InvalidArgument: at least a vector"},
        {"CompareAndBitpack", NULL, "float[8] 1; float[1] 1",
         "InvalidArgument: threshold should be a scalar"},
        {.op = "LowerBound",
         .inputs = "half[1,3] 0x3c00 0x4000 0x4400; half[1,2] 0x4000 0x4200",
         .want = "int32[1,2] 1 2"},
        {.op = "UpperBound",
         .attrs = "out_type=int64",
         .inputs = "bfloat16[1,3] 0x3f80 0x4000 0x4080; bfloat16[1,2] 0x4000 0x4040",
         .want = "int64[1,2] 2 2"},
    };
    OP_TEST_VALUES(cases);
}

static void layouts_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"LinSpace", NULL, "float[] 10; float[] 12; int32[] 3", "float[3] 10 11 12"},
        {"LinSpace", NULL, "double[] 1; double[] -1; int64[] 5", "double[5] 1 0.5 0 -0.5 -1"},
        {"LinSpace", NULL, "float[] 3; float[] 9; int32[] 1", "float[1] 3"},
        {"LinSpace", NULL, "float[] 3; float[] 9; int32[] 0", "InvalidArgument: Requires num > 0: 0"},
        {"LinSpace", NULL, "float[1] 3; float[] 9; int32[] 2",
         "InvalidArgument: start must be a scalar, not shape [1]"},
        {"LinSpace", NULL, "float[] 3; float[] 9; int64[] 4611686018427387904", "ResourceExhausted: "},
        {"LinSpace", NULL, "float[] 3; float[0]; int32[] 2",
         "InvalidArgument: stop must be a scalar, not shape [0]"},
        {"LinSpace", NULL, "float[] 3; float[] 9; int32[1] 2",
         "InvalidArgument: num must be a scalar, not shape [1]"},
        {"DataFormatDimMap", NULL, "int32[] -2", "int32[] 3"},
        {"DataFormatDimMap", NULL, "int64[0,2]", "int64[0,2]"},
        {"DataFormatDimMap", NULL, "int32[6] 0 1 2 3 -1 -4", "int32[6] 0 2 3 1 1 0"},
        {"DataFormatDimMap", "src_format=NHWC; dst_format=HWNC", "int64[4] 0 1 2 3", "int64[4] 2 0 1 3"},
        {"DataFormatDimMap", "src_format=NHW", "int32[1] 0",
         "InvalidArgument: Source format must be of length 4"},
        {"DataFormatDimMap", "dst_format=NCH", "int32[1] 0",
         "InvalidArgument: Destination format must be of length 4 or 5, received dst_format = NCH"},
        {"DataFormatDimMap", "dst_format=NCHX", "int32[1] 0", "InvalidArgument: permutation"},
        {"DataFormatDimMap", "src_format=NHHC", "int32[1] 0", "InvalidArgument: permutation"},
        {"DataFormatDimMap", "src_format=NDHWC; dst_format=NCDHW", "int32[7] 0 1 2 3 4 -1 -5",
         "int32[7] 0 2 3 4 1 1 0"},
        {"DataFormatVecPermute", "src_format=NDHWC; dst_format=NCDHW", "int32[5] 5 6 7 8 9",
         "int32[5] 5 9 6 7 8"},
        {"DataFormatVecPermute", NULL, "int32[4] 7 4 9 3", "int32[4] 7 3 4 9"},
        {"DataFormatVecPermute", "src_format=NCHW; dst_format=NHWC", "int64[4,2] 7 4 9 3 4 5 5 1",
         "int64[4,2] 7 4 4 5 5 1 9 3"},
        {"DataFormatVecPermute", NULL, "int32[3] 7 4 9",
         "InvalidArgument: 1D input must be of size 4 or 5, but got shape [3]"},
        {"DataFormatVecPermute", NULL, "int32[0]",
         "InvalidArgument: 1D input must be of size 4 or 5, but got shape [0]"},
        {"DataFormatVecPermute", NULL, "int32[5] 7 4 9 3 2", "InvalidArgument: but got shape [5]"},
        {"DataFormatVecPermute", NULL, "int32[4,3] 7",
         "InvalidArgument: Second dimension of 2D input must be of size 2, but got shape [4,3]"},
        {"DataFormatVecPermute", NULL, "int32[3,2] 7",
         "InvalidArgument: First dimension of 2D input must be of size 4, but got shape [3,2]"},
        {"DataFormatVecPermute", NULL, "int32[] 7",
         "InvalidArgument: input must be a vector or 2D tensor, but got shape []"},
        {"Cross", NULL, "float[2,3] 1 2 3 4 5 6; float[2,3] 1 0 0 0 1 0", "float[2,3] 0 3 -2 -6 0 4"},
        {"Cross", NULL, "int32[3] 1 2 3; int32[3] -2 5 1", "int32[3] -13 -7 9"},
        {"Cross", NULL, "uint8[3] 1 2 3; uint8[3] 1 1 1", "uint8[3] 255 2 255"},
        {"Cross", NULL, "double[0,3]; double[0,3]", "double[0,3]"},
        {"Cross", NULL, "double[2] 1; double[2] 1",
         "FailedPrecondition: Cross-products are only defined for 3-element vectors."},
        {"Cross", NULL, "double[] 1; double[] 1", "InvalidArgument: Input must be at least 1D[]"},
        {"Cross", NULL, "double[3] 1; double[1,3] 1",
         "InvalidArgument: Both inputs must be of same shape: [3] vs. [1,3]"},
        {"Roll", NULL, "int32[5] 0 1 2 3 4; int32[] 2; int32[] 0", "int32[5] 3 4 0 1 2"},
        {"Roll", NULL, "float[2,3] 1 2 3 4 5 6; int64[2] 1 -1; int32[2] 0 1", "float[2,3] 5 6 4 2 3 1"},
        {"Roll", NULL, "string[3] a b c; int32[2] 5 -1; int64[2] -1 0", "string[3] c a b"},
        {"Roll", NULL, "float[0,2]; int32[] 3; int32[] 0", "float[0,2]"},
        {"Roll", NULL, "float[] 1; int32[] 3; int32[] 0", "InvalidArgument: 1-D or higher"},
        {"Roll", NULL, "float[2] 1; int32[] 3; int32[] 1", "InvalidArgument: axis 1 is out of range"},
        {"Roll", NULL, "float[2] 1; int32[2] 3 1; int32[] 0", "InvalidArgument: same size"},
        {"Roll", NULL, "float[2] 1; int32[1,1] 3; int32[1,1] 0", "InvalidArgument: scalar or a 1-D vector"},
        {"Roll", NULL, "float[3] 1 2 3; int64[] -9223372036854775808; int32[] 0", "float[3] 3 1 2"},
        {"UnravelIndex", NULL, "int32[3] 22 41 37; int32[2] 7 6", "int32[2,3] 3 6 6 4 5 1"},
        {"UnravelIndex", NULL, "int64[] 1621; int64[4] 6 7 8 9", "int64[4] 3 1 4 1"},
        {"UnravelIndex", NULL, "int32[0]; int32[2] 7 6", "int32[2,0]"},
        {"UnravelIndex", NULL, "int32[1] 42; int32[2] 7 6",
         "InvalidArgument: index is out of bound as with dims"},
        {"UnravelIndex", NULL, "int32[1] -1; int32[2] 7 6", "InvalidArgument: index is out of bound"},
        {"UnravelIndex", NULL, "int32[1] 0; int32[2] 0 6", "InvalidArgument: dim of zero"},
        {"UnravelIndex", NULL, "int32[1,1] 0; int32[2] 7 6", "InvalidArgument: scalar or vector"},
        {"UnravelIndex", NULL, "int64[1] 0; int64[2] 4611686018427387904 6",
         "InvalidArgument: integer overflow"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Bincount", NULL, "int32[?]; int32[] 4; ?", "[4]"},
        {"Bincount", NULL, "int32[?]; int32[]; ?", "[?]"},
        {"Bincount", NULL, "int32[?]; int32[] -4; ?", "InvalidArgument: "},
        {"HistogramFixedWidth", NULL, "[5]; [2]; int32[] 4", "[4]"},
        {"HistogramFixedWidth", NULL, "[5]; [3]; int32[] 4", "InvalidArgument: "},
        {"HistogramFixedWidth", NULL, "[5]; [2]; int32[] 0", "InvalidArgument: Requires nbins > 0: 0"},
        {"Bucketize", "boundaries=[1]", "[5,?]", "[5,?]"},
        {"LowerBound", NULL, "[2,5]; [2,?]", "[2,?]"},
        {"LowerBound", NULL, "[2]; [2,?]", "InvalidArgument: rank"},
        {"CompareAndBitpack", NULL, "[?,16]; []", "[?,2]"},
        {"CompareAndBitpack", NULL, "[?,15]; []", "InvalidArgument: divisible by 8"},
        {"LinSpace", NULL, "[]; []; int32[] 7", "[7]"},
        {"LinSpace", NULL, "[]; []; int32[] 0", "InvalidArgument: Requires num > 0: 0"},
        {"DataFormatDimMap", NULL, "int32[?]", "[?]"},
        {"Cross", NULL, "[?,3]; [2,?]", "[2,3]"},
        {"Cross", NULL, "[?,4]; [2,?]", "InvalidArgument: 3"},
        {"Roll", NULL, "[2,?]; int32[]; int32[]", "[2,?]"},
        {"Roll", NULL, "[2,?]; int32[1,1]; int32[]", "InvalidArgument: rank"},
        {"UnravelIndex", NULL, "int32[]; int32[3]", "[3]"},
        {"UnravelIndex", NULL, "int32[5]; int32[3]", "[3,5]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Cross", NULL, "double[2,3] 1 2 3 4 5 6; double[2,3] 1 0 -4 0 1 7"},
        {"Roll", NULL, "double[2,3] 1 2 3 4 5 6; int64[2] 1 -1; int32[2] 0 1"},
    };
    OP_TEST_GRADIENTS(cases);
}

// Counts by hand.
static void counted_rows_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DenseBincount", NULL, "int32[5] 1 3 1 9 0; int32[] 4; int32[0]", "int32[4] 1 2 0 1"},
        {"DenseBincount", NULL, "int64[2,3] 1 1 0 2 2 2; int64[] 3; float[2,3] 1 2 3 4 5 6",
         "float[2,3] 3 3 0 0 0 15"},
        {"DenseBincount", "binary_output=true", "int32[2,3] 1 1 0 2 2 2; int32[] 3; double[0]",
         "double[2,3] 1 1 0 0 0 1"},
        {"DenseBincount", NULL, "int32[0,3]; int32[] 2; int64[0]", "int64[0,2]"},
        {"DenseBincount", NULL, "int32[2,0]; int32[] 2; int64[0]", "int64[2,2] 0"},
        {"DenseBincount", NULL, "int32[] 1; int32[] 2; int32[0]", "int32[2] 0 1"},
        {"DenseBincount", NULL, "int32[2] 1 -1; int32[] 2; int32[0]",
         "InvalidArgument: Input arr must be non-negative! arr[1] = -1"},
        {"DenseBincount", NULL, "int32[2] 1 1; int32[] -2; int32[0]",
         "InvalidArgument: size (-2) must be non-negative"},
        {"DenseBincount", NULL, "int32[2] 1 1; int32[] 2; int32[3] 1",
         "InvalidArgument: `weights` must be the same shape as `arr` or a length-0 `Tensor`"},
        {"DenseBincount", NULL, "int32[1,1,1] 1; int32[] 2; int32[0]",
         "InvalidArgument: Shape must be at most rank 2 but is rank 3"},
        {"SparseBincount", NULL, "int64[3,2] 0 0 1 0 1 5; int32[3] 1 0 0; int64[2] 2 6; int32[] 2; int32[0]",
         "int32[2,2] 0 1 2 0"},
        {"SparseBincount", NULL, "int64[2,1] 0 3; int64[2] 1 1; int64[1] 4; int64[] 3; float[2] 0.5 2",
         "float[3] 0 2.5 0"},
        {"SparseBincount", NULL, "int64[1,2] 2 0; int32[1] 1; int64[2] 2 6; int32[] 2; int32[0]",
         "InvalidArgument: Index out of bound. `batch` (2) must be less than the dimension size (2)."},
        {"SparseBincount", NULL, "int64[1,2] 1 0; int32[1] 7; int64[2] 2 6; int32[] 2; int32[0]",
         "InvalidArgument: Index out of bound. `bin` (7) must be less than the dimension size (2)."},
        {"SparseBincount", NULL, "int64[1,1] 0; int32[1] 7; int64[1] 6; int32[] 2; int32[0]", "int32[2] 0"},
        {"SparseBincount", NULL, "int64[1,1] 2; int32[1] 1; int64[2] 2 6; int32[] 2; int32[0]",
         "InvalidArgument: Input indices must be a matrix"},
        {"SparseBincount", NULL, "int64[1,1] 0; int32[1] 1; int64[1] 6; int32[1] 2; int32[0]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"RaggedBincount", NULL, "int64[2] 0 1; int32[1] 1; int32[1] 2; int32[0]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"RaggedBincount", NULL, "int64[] 0; int32[0]; int32[] 2; int32[0]",
         "InvalidArgument: Splits must be a non-empty vector"},
        {"SparseBincount", NULL,
         "int64[0,2]; int32[0]; int64[2] 9223372036854775807 6; int32[] 2147483647; int32[0]",
         "InvalidArgument: "},
        {"RaggedBincount", NULL, "int64[4] 0 2 2 3; int32[3] 1 1 0; int32[] 2; int32[0]",
         "int32[3,2] 0 2 0 0 1 0"},
        {"RaggedBincount", "binary_output=true", "int64[2] 0 2; int64[2] 1 1; int64[] 2; float[0]",
         "float[1,2] 0 1"},
        {"RaggedBincount", NULL, "int64[1] 0; int32[0]; int32[] 2; int32[0]", "int32[0,2]"},
        {"RaggedBincount", NULL, "int64[2] 1 3; int32[3] 1 1 0; int32[] 2; int32[0]",
         "InvalidArgument: Splits must start with 0, not with 1"},
        {"RaggedBincount", NULL, "int64[2] 0 2; int32[3] 1 1 0; int32[] 2; int32[0]",
         "InvalidArgument: Splits must end with the number of values, got 2 instead of 3"},
        {"RaggedBincount", NULL, "int64[4] 0 3 1 3; int32[3] 1 1 0; int32[] 2; int32[0]",
         "InvalidArgument: Splits must not decrease"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"DenseBincount", NULL, "int32[?,3]; int32[] 4; [0]", "[?,4]"},
        {"DenseBincount", NULL, "int32[3]; int32[]; [0]", "[?]"},
        {"DenseBincount", NULL, "int32[3]; int32[1]; [0]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"SparseBincount", NULL, "int64[?,2]; int32[?]; int64[2] 5 6; int32[] 4; [0]", "[5,4]"},
        {"RaggedBincount", NULL, "int64[4]; int32[?]; int32[] 4; [0]", "[3,4]"},
    };
    OP_TEST_SHAPES(shapes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted_rows_follow_the_definition),
        cmocka_unit_test(bins_follow_the_definition),
        cmocka_unit_test(bounds_follow_the_definition),
        cmocka_unit_test(layouts_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
