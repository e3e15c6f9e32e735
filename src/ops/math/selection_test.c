// Tests of ops that pick, order and place elements: diagonals, partitions, reversals, TopK, OneHot.
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

static void diagonals_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Diag", NULL, "int32[3] 1 2 3", "int32[3,3] 1 0 0 0 2 0 0 0 3"},
        {"Diag", NULL, "float[1,2] 1 2", "float[1,2,1,2] 1 0 0 2"},
        {"Diag", NULL, "float[2,0]", "float[2,0,2,0]"},
        {"Diag", NULL, "float[] 1", "InvalidArgument: Input must be at least rank 1, got 0"},
        {"DiagPart", NULL, "double[2,2] 1 2 3 4", "double[2] 1 4"},
        {"DiagPart", NULL, "double[1,2,1,2] 1 2 3 4", "double[1,2] 1 4"},
        {"DiagPart", NULL, "double[0,0]", "double[0]"},
        {"DiagPart", NULL, "double[2,3] 1",
         "InvalidArgument: Invalid shape [2,3]: dimensions 0 and 1 do not match."},
        {"DiagPart", NULL, "double[] 1",
         "InvalidArgument: The rank of the tensor should be even and positive, got shape []"},
        {"DiagPart", NULL, "double[1,1,1] 1", "InvalidArgument: even and positive, got shape [1,1,1]"},
        {"MatrixDiag", NULL, "float[2,2] 1 2 3 4", "float[2,2,2] 1 0 0 2 3 0 0 4"},
        {"MatrixDiag", NULL, "bool[2] true true", "bool[2,2] true false false true"},
        {"MatrixDiag", NULL, "float[0,3]", "float[0,3,3]"},
        {"MatrixDiag", NULL, "string[0]", "string[0,0]"},
        {"MatrixDiagPart", NULL, "float[2,2,3] 1 2 3 4 5 6 7 8 9 10 11 12", "float[2,2] 1 5 7 11"},
        {"MatrixDiagPart", NULL, "float[3,2] 1 2 3 4 5 6", "float[2] 1 4"},
        {"MatrixDiagPart", NULL, "float[2,0]", "float[0]"},
        {"MatrixDiagPart", NULL, "float[0,2,3]", "float[0,2]"},
        {"MatrixDiagPart", NULL, "float[3] 1",
         "InvalidArgument: input must be at least 2-dim, received shape: [3]"},
        {"MatrixDiagPart", NULL, "float[] 1",
         "InvalidArgument: input must be at least 2-dim, received shape: []"},
        {"MatrixSetDiag", NULL, "float[0,3]; float[0]", "float[0,3]"},
        {"MatrixSetDiag", NULL, "float[2,3] 1 2 3 4 5 6; float[2] 10 20", "float[2,3] 10 2 3 4 20 6"},
        {"MatrixSetDiag", NULL, "float[2,3] 1 2 3 4 5 6; float[3] 10", "InvalidArgument: diagonal"},
        {"MatrixBandPart", NULL, "float[3,3] 1 2 3 4 5 6 7 8 9; int64[] 1; int64[] 0",
         "float[3,3] 1 0 0 4 5 0 0 8 9"},
        {"MatrixBandPart", NULL, "float[2,3] 1 2 3 4 5 6; int64[] 0; int64[] -1", "float[2,3] 1 2 3 0 5 6"},
        {"MatrixBandPart", NULL, "int32[2,2,2] 1 2 3 4 5 6 7 8; int32[] 0; int32[] 0",
         "int32[2,2,2] 1 0 0 4 5 0 0 8"},
        {"MatrixBandPart", NULL, "float[3000000000,3000000000,0]; int64[] 0; int64[] 0",
         "float[3000000000,3000000000,0]"},
        {"MatrixBandPart", NULL, "float[2,2] 1; int64[] 3; int64[] 0",
         "InvalidArgument: num_lower must be negative or less or equal to number of rows (2) got: 3"},
        {"MatrixBandPart", NULL, "float[2,3] 1; int64[] 2; int64[] 4",
         "InvalidArgument: num_upper must be negative or less or equal to number of columns (3) got: 4"},
        {"MatrixBandPart", NULL, "float[2,2] 1; int64[1] 0; int64[] 0",
         "InvalidArgument: num_lower must be scalar, got shape [1]"},
        {"MatrixBandPart", NULL, "float[2,2] 1; int64[] 0; int64[0]",
         "InvalidArgument: num_upper must be scalar, got shape [0]"},
        {"MatrixBandPart", NULL, "float[] 1; int64[] 0; int64[] 0",
         "InvalidArgument: input must be at least 2-dim, received shape: []"},
    };
    OP_TEST_VALUES(cases);
}

static void elements_are_reversed_along_dimensions(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ReverseV2", NULL, "float[2,3] 1 2 3 4 5 6; int32[1] 1", "float[2,3] 3 2 1 6 5 4"},
        {"ReverseV2", NULL, "string[2,2] a b c d; int64[2] 0 -1", "string[2,2] d c b a"},
        {"ReverseV2", NULL, "float[2] 1 2; int32[0]", "float[2] 1 2"},
        {"ReverseV2", NULL, "float[2] 1 2; int32[1] 1",
         "InvalidArgument: 'axis'[0] = 1 is out of valid range [-1, 0]"},
        {"ReverseV2", NULL, "float[2] 1 2; int32[2] 0 -1",
         "InvalidArgument: axis 0 specified more than once."},
        {"Reverse", NULL, "int64[2,2] 1 2 3 4; bool[2] true false", "int64[2,2] 3 4 1 2"},
        {"ReverseV2", NULL, "float[] 1; int32[0]", "float[] 1"},
        {"ReverseV2", NULL, "uint8[2,0]; int32[1] 0", "uint8[2,0]"},
        {"ReverseV2", NULL, "float[2] 1 2; int32[] 0", "InvalidArgument: 'dims' must be 1-dimension, not 0"},
        {"Reverse", NULL, "complex64[0,2]; bool[2] true", "complex64[0,2]"},
        {"Reverse", NULL, "half[] 0x3c00; bool[0]", "half[] 0x3c00"},
        {"Reverse", NULL, "int64[2] 1; bool[] true", "InvalidArgument: 'dims' must be 1-dimension, not 0"},
        {"Reverse", NULL, "int64[2,2] 1 2 3 4; bool[1] true",
         "InvalidArgument: 'dims' must have the same number of values as 'input' has dimensions. 'input' has 2'dims' has 1 values"},
        {"ReverseSequence", "seq_dim=1", "int32[2,3] 1 2 3 4 5 6; int64[2] 2 3", "int32[2,3] 2 1 3 6 5 4"},
        {"ReverseSequence", "seq_dim=0; batch_dim=1", "int32[3,2] 1 2 3 4 5 6; int32[2] 0 2",
         "int32[3,2] 1 4 3 2 5 6"},
        {"ReverseSequence", "seq_dim=1", "int32[2,3] 1; int64[2] 2 4",
         "InvalidArgument: seq_lens(1) > input.dims(1)"},
        {"ReverseSequence", "seq_dim=1", "int32[2,3] 1; int64[2] 2 -1", "InvalidArgument: seq_lens(1) < 0"},
        {"ReverseSequence", "seq_dim=1", "int32[2,0,3]; int64[2] 0", "int32[2,0,3]"},
        {"ReverseSequence", "seq_dim=1", "int32[2,0]; int64[2] 0 1",
         "InvalidArgument: seq_lens(1) > input.dims(1)"},
        {"ReverseSequence", "seq_dim=1", "double[0,3]; int64[0]", "double[0,3]"},
        {"ReverseSequence", "seq_dim=0", "int32[2,3] 1; int64[2] 2 2",
         "InvalidArgument: batch_dim == seq_dim == 0"},
        {"ReverseSequence", "seq_dim=2", "int32[2,3] 1; int64[2] 2",
         "InvalidArgument: seq_dim must be < input.dims()( 2 vs. 2)"},
        {"ReverseSequence", "seq_dim=0; batch_dim=1", "int32[3] 1; int64[2] 2",
         "InvalidArgument: batch_dim must be < input.dims()( 1 vs. 1)"},
        {"ReverseSequence", "seq_dim=1", "int32[] 1; int64[2] 2",
         "InvalidArgument: seq_dim must be < input.dims()( 1 vs. 0)"},
        {"ReverseSequence", "seq_dim=1", "int32[2,3] 1; int64[1] 2",
         "InvalidArgument: len(seq_lens) != input.dims(0), (1 vs. 2)"},
        {"ReverseSequence", "seq_dim=1", "int32[2,3] 1; int64[] 2",
         "InvalidArgument: seq_lens input must be 1-dim, not 0"},
    };
    OP_TEST_VALUES(cases);
}

static void the_greatest_elements_come_first_and_nan_is_the_greatest(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"TopKV2", NULL, "float[5] 3 1 5 4 1; int32[] 2", "float[2] 5 4; int32[2] 2 3"},
        {"TopKV2", "index_type=int64", "float[5] 3 1 5 4 1; int64[] 2", "float[2] 5 4; int64[2] 2 3"},
        {"TopKV2", "index_type=int16", "int64[3] 3 1 5; int16[] 1", "int64[1] 5; int16[1] 2"},
        {"TopKV2", NULL, "int32[2,3] 1 1 1 7 9 8; int32[] 2", "int32[2,2] 1 1 9 8; int32[2,2] 0 1 1 2"},
        {"TopKV2", NULL, "double[2] 1 2; int32[] 0", "double[0]; int32[0]"},
        {"TopKV2", NULL, "float[4] 3 1 nan 5; int32[] 2", "float[2] nan 5; int32[2] 2 3"},
        {"TopKV2", NULL, "double[4] nan 3 1 5; int32[] 2", "double[2] nan 5; int32[2] 0 3"},
        {"TopKV2", NULL, "int64[70] 5; int32[] 1", "int64[1] 5; int32[1] 0"},
        {"TopKV2", NULL, "float[2] 1 2; int32[] 3",
         "InvalidArgument: input must have at least k columns. Had 2, needed 3"},
        {"TopKV2", NULL, "float[2] 1 2; int32[1] 1", "InvalidArgument: k must be scalar, got shape [1]"},
        {"TopKV2", NULL, "float[2] 1 2; int32[] -7", "InvalidArgument: Need k >= 0, got -7"},
        {"TopKV2", NULL, "float[] 1; int32[] 1", "InvalidArgument: input must be >= 1-D, got shape []"},
        {"TopKV2", NULL, "float[2,0]; int32[] 0", "float[2,0]; int32[2,0]"},
        {"InTopK", "k=2", "float[4,3] 1 2 3 3 2 1 1 1 1 1 2 inf; int32[4] 0 1 2 1",
         "bool[4] false true true false"},
        {"InTopK", "k=1", "float[2,2] 1 2 1 2; int64[2] 2 -1", "bool[2] false false"},
        {"InTopK", "k=1", "float[0,3]; int32[0]", "bool[0]"},
        {"InTopK", "k=1", "float[2,0]; int32[2] 0", "bool[2] false"},
        {"InTopK", "k=1", "float[] 1; int32[1] 0", "InvalidArgument: predictions must be 2-dimensional"},
        {"InTopKV2", NULL, "float[0,3]; int64[0]; int64[] 1", "bool[0]"},
        {"InTopKV2", NULL, "float[1,3] 1; int64[1] 0; int64[1] 1",
         "InvalidArgument: k must be scalar, got shape [1]"},
        {"InTopKV2", NULL, "float[2,3] 1 2 3 3 2 1; int64[2] 0 1; int64[] 3", "bool[2] true true"},
        {"InTopKV2", NULL, "float[2,3] 1; int64[3] 0; int64[] 3",
         "InvalidArgument: First dimension of predictions 2 must match length of targets 3"},
        {"InTopKV2", NULL, "float[3] 1; int64[3] 0; int64[] 3",
         "InvalidArgument: predictions must be 2-dimensional"},
        {"InTopKV2", NULL, "float[1,3] 1; int64[] 0; int64[] 3",
         "InvalidArgument: targets must be 1-dimensional"},
    };
    OP_TEST_VALUES(cases);
}

static void indices_become_one_hot_rows(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // The examples of TensorFlow's documentation of tf.one_hot.
        {"OneHot", NULL, "int64[4] 0 2 -1 1; int32[] 3; float[] 5; float[] 0",
         "float[4,3] 5 0 0 0 0 5 0 0 0 0 5 0"},
        {"OneHot", "axis=0", "int32[2] 0 2; int32[] 3; bool[] true; bool[] false",
         "bool[3,2] true false false false false true"},
        {"OneHot", NULL, "uint8[2,2] 0 2 1 3; int32[] 3; string[] a; string[] ''",
         "string[2,2,3] a '' '' '' '' a '' a '' '' '' ''"},
        {"OneHot", NULL, "int64[] 1; int32[] 2; float[] 1; float[] 0", "float[2] 0 1"},
        {"OneHot", NULL, "int64[0]; int32[] 2; float[] 1; float[] 0", "float[0,2]"},
        {"OneHot", "axis=0", "int64[3] 0; int32[] 0; float[] 1; float[] 0", "float[0,3]"},
        {"OneHot", NULL, "int64[1] 1; int32[1] 2; float[] 1; float[] 0",
         "InvalidArgument: depth must be a scalar, but got: [1]"},
        {"OneHot", NULL, "int64[1] 1; int32[] 2; float[0]; float[] 0",
         "InvalidArgument: on_value must be a scalar, but got: [0]"},
        {"OneHot", NULL, "int64[1] 1; int32[] 2; float[] 1; float[2] 0",
         "InvalidArgument: off_value must be a scalar, but got: [2]"},
        {"OneHot", NULL, "int64[] 1; int32[] -2; float[] 1; float[] 0",
         "InvalidArgument: depth must be non-negative, got: -2"},
        {"OneHot", "axis=2", "int64[1] 1; int32[] 2; float[] 1; float[] 0",
         "InvalidArgument: Expected axis to be -1 or between [0, 2).  But received: 2"},
    };
    OP_TEST_VALUES(cases);
}

// Element i of a row of 500: negative and positive numbers, each several times.
static double large_element(int i)
{
    return (double)(i * 7 % 499 % 90 - 40) * 1000;
}

static void place_large_element(const braid_tensor *t, int i, double x)
{
    switch (t->dtype) {
    case BRAID_FLOAT: bd_tensor_f32(t)[i] = (float)x; break;
    case BRAID_DOUBLE: bd_tensor_f64(t)[i] = x; break;
    case BRAID_INT32: bd_tensor_i32(t)[i] = (int32_t)x; break;
    default: bd_tensor_i64(t)[i] = (int64_t)x;
    }
}

static double value_of(const braid_tensor *t, int i)
{
    switch (t->dtype) {
    case BRAID_FLOAT: return (double)bd_tensor_f32(t)[i];
    case BRAID_DOUBLE: return bd_tensor_f64(t)[i];
    case BRAID_INT32: return bd_tensor_i32(t)[i];
    default: return (double)bd_tensor_i64(t)[i];
    }
}

// The number of elements that come before element i: greater ones, and equal ones before it.
static int rank_of_large(int i, int n)
{
    int before = 0;
    for (int j = 0; j < n; j++)
        before += large_element(j) > large_element(i) || (large_element(j) == large_element(i) && j < i);
    return before;
}

static void check_large_top_k(const char *row, int k, bool sorted)
{
    enum {
        N = 500
    };
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    op_binding bind[2] = {0};
    op_test_tensor(&bind[0].value.tensor, row);
    op_test_tensor(&bind[1].value.tensor, "int32[] 0");
    bd_tensor_i32(&bind[1].value.tensor)[0] = k;
    braid_out in[2];
    for (int i = 0; i < 2; i++) {
        braid_op_desc *d = braid_op_begin(g, "Placeholder", NULL);
        braid_op_attr_type(d, "dtype", bind[i].value.tensor.dtype);
        in[i] = braid_op_end_out(d);
        bind[i].op = in[i].op;
    }
    for (int i = 0; i < N; i++)
        place_large_element(&bind[0].value.tensor, i, large_element(i));
    braid_op *top = op_test_node(g, "TopKV2", sorted ? NULL : "sorted=false", in, 2);
    braid_tensor got[2];
    op_test_eval(bind, 2, (braid_out[]){{top, 0}, {top, 1}}, 2, got, st);
    assert_ok(st);
    bool is_there[N] = {0};
    for (int i = 0; i < k; i++) {
        const int at = bd_tensor_i32(&got[1])[i], rank = rank_of_large(at, N);
        assert_true(sorted ? rank == i : rank < k && !is_there[at]);
        is_there[at] = true;
        assert_true(value_of(&got[0], i) == large_element(at));
    }
    for (int i = 0; i < 2; i++) {
        bd_tensor_fini(&got[i]);
        bd_value_fini(&bind[i].value);
    }
    braid_graph_free(g);
}

static void a_large_top_k_has_the_greatest_elements_of_each_type(void **state)
{
    (void)state;
    static const char *const rows[] = {"float[500] 0", "double[500] 0", "int32[500] 0", "int64[500] 0"};
    static const int ks[] = {65, 100, 499, 500};
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        for (size_t k = 0; k < BD_COUNTOF(ks); k++) {
            check_large_top_k(rows[i], ks[k], true);
            check_large_top_k(rows[i], ks[k], false);
        }
    }
}

static void partition_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DynamicPartition", "num_partitions=2", "float[4] 10 20 30 40; int32[4] 0 1 1 0",
         "float[2] 10 40; float[2] 20 30"},
        {"DynamicPartition", "num_partitions=3", "string[2,2] a b c d; int32[2] 2 2",
         "string[0,2]; string[0,2]; string[2,2] a b c d"},
        {"DynamicPartition", "num_partitions=2", "int64[2,2] 1 2 3 4; int32[2,2] 1 0 0 1",
         "int64[2] 2 3; int64[2] 1 4"},
        {"DynamicPartition", "num_partitions=2", "float[2] 1 2; int32[] 1", "float[0,2]; float[1,2] 1 2"},
        {"DynamicPartition", "num_partitions=2", "float[2] 1 2; int32[2] 1 2",
         "InvalidArgument: partitions[1] = 2 is not in [0, 2)"},
        {"DynamicPartition", "num_partitions=2", "float[2] 1 2; int32[3] 1",
         "InvalidArgument: must start with"},
        {"ParallelDynamicStitch", NULL, "int32[2] 2 0; int32[] 1; float[2,1] 1 2; float[1] 3",
         "float[3,1] 2 3 1"},
        {"ParallelDynamicStitch", NULL, "int32[0]; float[0,2]", "float[0,2]"},
        {"ParallelDynamicStitch", NULL, "int32[2] 1 0; float[1] 2",
         "InvalidArgument: data[0].shape = [1] does not start with indices[0].shape = [2]"},
        {"ParallelDynamicStitch", NULL, "int32[1] 1; int32[1] 0; float[1,2] 2; float[1,3] 2",
         "InvalidArgument: Need data[0].shape[1:] = data[1].shape[1:], got data[0].shape = [1,2], data[1].shape = [1,3]"},
        {"ParallelDynamicStitch", NULL, "int32[2] 1 -1; float[2] 2",
         "InvalidArgument: indices[1] is out of range"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Diag", NULL, "[2,?]", "[2,?,2,?]"},
        {"DiagPart", NULL, "[2,?,?,3]", "[2,3]"},
        {"DiagPart", NULL, "[2,3]", "InvalidArgument: Dimensions must be equal"},
        {"MatrixDiag", NULL, "[?,3]", "[?,3,3]"},
        {"MatrixDiagPart", NULL, "[?,3,2]", "[?,2]"},
        {"MatrixSetDiag", NULL, "[4,3,2]; [4,2]", "[4,3,2]"},
        {"MatrixSetDiag", NULL, "[4,3,2]; [4,3]", "InvalidArgument: "},
        {"MatrixBandPart", NULL, "[4,3,2]; int64[]; int64[]", "[4,3,2]"},
        {"MatrixBandPart", NULL, "[4]; int64[]; int64[]", "InvalidArgument: "},
        {"ReverseV2", NULL, "[4,?]; int32[1]", "[4,?]"},
        {"Reverse", NULL, "[4,?]; bool[]", "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"Reverse", NULL, "?; bool[2]", "[?,?]"},
        {"Reverse", NULL, "[4,?]; bool[3]", "InvalidArgument: Shape must be rank 3 but is rank 2"},
        {"ReverseSequence", "seq_dim=1", "[4,?]; int64[4]", "[4,?]"},
        {"ReverseSequence", "seq_dim=1", "[?,?]; int64[4]", "[4,?]"},
        {"ReverseSequence", "seq_dim=1", "[3,?]; int64[4]",
         "InvalidArgument: Dimensions must be equal, but are 3 and 4"},
        {"ReverseSequence", "seq_dim=2", "[4,?]; int64[4]",
         "InvalidArgument: seq_dim must be < input rank: 2 vs. 2"},
        {"ReverseSequence", "seq_dim=0; batch_dim=2", "[4,?]; int64[4]",
         "InvalidArgument: batch_dim must be < input rank: 2 vs. 2"},
        {"ReverseSequence", "seq_dim=0; batch_dim=-1", "[4,?]; int64[4]",
         "InvalidArgument: batch_dim must be >=0, got -1"},
        {"TopKV2", NULL, "[4,?]; int32[] 3", "[4,3]; [4,3]"},
        {"TopKV2", NULL, "[4,?]; int16[] 3", "[4,3]; [4,3]"},
        {"TopKV2", NULL, "[4,5]; int32[]", "[4,?]; [4,?]"},
        {"TopKV2", NULL, "[4,2]; int32[] 3", "InvalidArgument: "},
        {"InTopK", "k=1", "[?,10]; int32[4]", "[4]"},
        {"OneHot", "axis=1", "int64[4,5]; int32[] 3; []; []", "[4,3,5]"},
        {"OneHot", NULL, "int64[4,5]; int32[]; []; []", "[4,5,?]"},
        {"OneHot", NULL, "int64[4]; int32[1]; []; []", "InvalidArgument: "},
        {"DynamicPartition", "num_partitions=2", "[4,5,6]; int32[4]", "[?,5,6]; [?,5,6]"},
        {"DynamicPartition", "num_partitions=2", "[4,5,6]; int32[3]", "InvalidArgument: "},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Diag", NULL, "double[3] 1 2 3"},
        {"DiagPart", NULL, "double[2,2] 1 2 3 4"},
        {"MatrixDiag", NULL, "double[2,2] 1 2 3 4"},
        {"MatrixDiagPart", NULL, "double[2,2,3] 1 2 3 4 5 6 7 8 9 10 11 12"},
        {"MatrixSetDiag", NULL, "double[2,3] 1 2 3 4 5 6; double[2] 7 8"},
        {"MatrixBandPart", NULL, "double[3,3] 1 2 3 4 5 6 7 8 9; int64[] 1; int64[] 0"},
        {"ReverseV2", NULL, "double[2,3] 1 2 3 4 5 6; int32[1] 1"},
        {"Reverse", NULL, "double[2,3] 1 2 3 4 5 6; bool[2] true false"},
        {"ReverseSequence", "seq_dim=1", "double[2,3] 1 2 3 4 5 6; int64[2] 2 3"},
        {"TopKV2", NULL, "double[2,4] 3 1 5 4 8 9 6 7; int32[] 2"},
        {"DynamicPartition", "num_partitions=2", "double[4,2] 1 2 3 4 5 6 7 8; int32[4] 0 1 1 0"},
        {"ParallelDynamicStitch", NULL, "int32[2] 2 0; int32[1] 1; double[2] 1 2; double[1] 3"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diagonals_follow_the_definition),
        cmocka_unit_test(elements_are_reversed_along_dimensions),
        cmocka_unit_test(the_greatest_elements_come_first_and_nan_is_the_greatest),
        cmocka_unit_test(indices_become_one_hot_rows),
        cmocka_unit_test(a_large_top_k_has_the_greatest_elements_of_each_type),
        cmocka_unit_test(partition_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
