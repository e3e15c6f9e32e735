// Tests of ops that read or update parts of tensors and variables (batched gathers, TensorScatterX,
// StridedSliceAssign), CumulativeLogsumexp, EuclideanNorm, NthElement, and ops that forward their inputs.
// Values are numpy's (take, logaddexp.accumulate, linalg.norm, sort), or follow from the definition.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void gathers_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"GatherV2", "batch_dims=1", "float[2,3] 1 2 3 4 5 6; int32[2,2] 2 0 1 1; int32[] 1",
         "float[2,2] 3 1 5 5"},
        {"GatherV2", "batch_dims=-1", "float[2,3] 1 2 3 4 5 6; int32[2,1] 2 0; int32[] 1", "float[2,1] 3 4"},
        {"GatherV2", "batch_dims=1", "int32[2,2,2] 1 2 3 4 5 6 7 8; int64[2,1] 1 0; int32[] 2",
         "int32[2,2,1] 2 4 5 7"},
        {"GatherV2", "batch_dims=2", "string[1,2,2] a b c d; int32[1,2] 1 0; int32[] 2", "string[1,2] b c"},
        {"GatherV2", "batch_dims=1", "float[2,0]; int32[2,0]; int32[] 1", "float[2,0]"},
        {"GatherV2", "batch_dims=1", "float[2,3] 1; int32[3,1] 0; int32[] 1", "InvalidArgument: "},
        {"GatherV2", "batch_dims=1", "float[2,3] 1; int32[2,1] 0; int32[] 0",
         "InvalidArgument: batch_dims (1) must be less than or equal to"},
        {"GatherV2", "batch_dims=3", "float[2,3] 1; int32[2,1] 0; int32[] 1", "InvalidArgument: batch_dims"},
        {"GatherV2", "batch_dims=-3", "float[2,3] 1; int32[2,1] 0; int32[] 1", "InvalidArgument: batch_dims"},
        {"GatherV2", "batch_dims=1", "float[2,3] 1; int32[2,1] 0 3; int32[] 1",
         "InvalidArgument: indices[1,0] = 3 is not in [0, 3)"},
        {"ResourceGather", "batch_dims=1; dtype=float", "var float[2,3] 1 2 3 4 5 6; int32[2,2] 2 0 1 1",
         "float[2,2] 3 1 5 5"},
        {"ResourceGatherNd", "dtype=float", "var float[2,2] 1 2 3 4; int32[2,2] 0 1 1 0", "float[2] 2 3"},
        {"ResourceGatherNd", "dtype=float", "var float[2,2] 1 2 3 4; int64[1,1] 1", "float[1,2] 3 4"},
        {"ResourceGatherNd", "dtype=float", "var float[2,2] 1 2 3 4; int64[1,1] 2",
         "InvalidArgument: indices[0] = [2]"},
        {"ResourceGatherNd", "dtype=int32", "var float[2] 1 2; int64[1,1] 0", "InvalidArgument: wrong dtype"},
    };
    OP_TEST_VALUES(cases);
}

static void scatters_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"TensorScatterUpdate", NULL, "float[4] 1 2 3 4; int32[2,1] 3 0; float[2] 9 8", "float[4] 8 2 3 9"},
        {"TensorScatterUpdate", NULL, "string[2,2] a b c d; int64[1,1] 1; string[1,2] x y",
         "string[2,2] a b x y"},
        {"TensorScatterUpdate", NULL, "bool[2] true true; int32[1,1] 0; bool[1] false", "bool[2] false true"},
        {"TensorScatterAdd", NULL, "int32[2,2] 1 2 3 4; int32[3,2] 0 0 0 0 1 1; int32[3] 5 6 7",
         "int32[2,2] 12 2 3 11"},
        {"TensorScatterAdd", "bad_indices_policy=IGNORE", "float[3] 1 2 3; int32[2,1] 1 9; float[2] 5 6",
         "float[3] 1 7 3"},
        {"TensorScatterMax", NULL, "float[3] 1 2 3; int32[3,1] 0 2 0; float[3] 5 1 4", "float[3] 5 2 3"},
        {"TensorScatterMin", NULL, "int32[2,2] 1 2 3 4; int64[1,1] 1; int32[1,2] 9 -9",
         "int32[2,2] 1 2 3 -9"},
        {"TensorScatterMin", NULL, "half[0]; int32[0,1]; half[0]", "half[0]"},
        {"TensorScatterMax", NULL, "float[2] 1; int32[1,1] 2; float[1] 1",
         "InvalidArgument: indices[0] = [2] does not index into"},
        {"TensorScatterSub", NULL, "double[3] 1 2 3; int64[2,1] 1 1; double[2] 5 6", "double[3] 1 -9 3"},
        {"TensorScatterSub", NULL, "uint8[1] 1; int64[1,1] 0; uint8[1] 2", "uint8[1] 255"},
        {"TensorScatterAdd", NULL, "float[0]; int32[0,1]; float[0]", "float[0]"},
        {"TensorScatterAdd", NULL, "float[2] 1; int32[1,1] 2; float[1] 1",
         "InvalidArgument: indices[0] = [2] does not index into"},
        {"TensorScatterAdd", NULL, "float[2] 1; int32[1,1] 0; float[2] 1", "InvalidArgument: updates"},
        {"TensorScatterUpdate", NULL, "float[2] 1; int32[1,2] 0; float[1] 1", "InvalidArgument: "},
        {"StridedSliceAssign", NULL, "ref float[4] 1 2 3 4; int32[1] 0; int32[1] 4; int32[1] 2; float[2] 8 9",
         "float[4] 8 2 9 4", "float[4] 8 2 9 4"},
        {"StridedSliceAssign", "shrink_axis_mask=1",
         "ref int32[2,2] 1 2 3 4; int32[1] 1; int32[1] 2; int32[1] 1; int32[2] 8 9", "int32[2,2] 1 2 8 9",
         "int32[2,2] 1 2 8 9"},
        {"StridedSliceAssign", "begin_mask=1; end_mask=1",
         "ref string[2] a b; int64[1] 0; int64[1] 0; int64[1] -1; string[2] x y", "string[2] y x",
         "string[2] y x"},
        {"StridedSliceAssign", NULL, "ref float[4] 1 2 3 4; int32[1] 2; int32[1] 2; int32[1] 1; float[0]",
         "float[4] 1 2 3 4"},
        {"StridedSliceAssign", NULL, "ref float[4] 1; int32[1] 0; int32[1] 4; int32[1] 2; float[] 8",
         "Unimplemented: sliced l-value shape [2] does not match r-value shape []"},
        {"StridedSliceAssign", NULL, "ref float[4]; int32[1] 0; int32[1] 4; int32[1] 2; float[2] 8",
         "FailedPrecondition: uninitialized"},
        {"StridedSliceAssign", NULL, "ref float[4] 1; int32[1] 0; int32[1] 4; int32[1] 0; float[2] 8",
         "InvalidArgument: "},
        {"ResourceStridedSliceAssign", NULL,
         "var float[4] 1 2 3 4; int32[1] 1; int32[1] 3; int32[1] 1; float[2] 8 9", "", "float[4] 1 8 9 4"},
        {"ResourceStridedSliceAssign", NULL,
         "var float[4] 1 2 3 4; int32[1] 1; int32[1] 3; int32[1] 1; int32[2] 8 9",
         "InvalidArgument: wrong dtype"},
        {"TensorStridedSliceUpdate", NULL,
         "float[2,2] 1 2 3 4; int32[2] 0 1; int32[2] 2 2; int32[2] 1 1; float[2,1] 8 9",
         "float[2,2] 1 8 3 9"},
        {"TensorStridedSliceUpdate", NULL, "float[2] 1 2; int32[1] 0; int32[1] 1; int32[1] 1; float[2] 8 9",
         "Unimplemented: does not match r-value shape [2]"},
    };
    OP_TEST_VALUES(cases);
}

// v[1:4] = v[0:3]: the value is a view of the assigned elements.
static void overlap(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    static const char *const feeds[] = {"float[4] 1 2 3 4", "int32[1] 0", "int32[1] 3", "int32[1] 1",
                                        "int32[1] 4"};
    op_binding bind[5] = {0};
    braid_out in[5];
    for (int i = 0; i < 5; i++) {
        braid_op_desc *d = braid_op_begin(g, "Placeholder", NULL);
        braid_op_attr_type(d, "dtype", i ? BRAID_INT32 : BRAID_FLOAT);
        in[i] = braid_op_end_out(d);
        bind[i].op = in[i].op;
        op_test_tensor(&bind[i].value.tensor, feeds[i]);
    }
    braid_out v = {op_test_node(g, "TemporaryVariable", "dtype=float; shape=[4]; var_name=t", NULL, 0), 0};
    braid_out set = {op_test_node(g, "AssignAdd", NULL, (braid_out[]){v, in[0]}, 2), 0};
    braid_out part = {op_test_node(g, "StridedSlice", NULL, (braid_out[]){set, in[1], in[2], in[3]}, 4), 0};
    braid_out put = {
        op_test_node(g, "StridedSliceAssign", NULL, (braid_out[]){set, in[3], in[4], in[3], part}, 5), 0};
    braid_tensor got;
    op_test_eval(bind, 5, &put, 1, &got, st);
    assert_ok(st);
    op_test_expect(&got, "float[4] 1 1 2 3", 0, "StridedSliceAssign");
    bd_tensor_fini(&got);
    for (int i = 0; i < 5; i++)
        bd_value_fini(&bind[i].value);
    braid_graph_free(g);
}

static void along_axes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"CumulativeLogsumexp", NULL, "double[2,3] 1 2 -1 0.5 3 2; int32[] 1",
         "double[2,3] 1.0 2.313261687518223 2.3490122167681866 0.5 3.0788897342925496 3.371539031852683"},
        {"CumulativeLogsumexp", "reverse=true", "double[2,3] 1 2 -1 0.5 3 2; int64[] 0",
         "double[2,3] 1.4740769841801067 3.313261687518223 2.048587351573742 0.5 3.0 2.0"},
        {"CumulativeLogsumexp", "exclusive=true", "float[1,3] 1 2 -1; int32[] -1",
         "float[1,3] -3.40282347e38 1 2.31326169"},
        {"CumulativeLogsumexp", NULL, "float[4] 1000 1000 inf nan; int32[] 0",
         "float[4] 1000 1000.69315 inf nan"},
        {"CumulativeLogsumexp", NULL, "double[0,2]; int32[] 0", "double[0,2]"},
        {"CumulativeLogsumexp", NULL, "double[2] 1; int32[] 1", "InvalidArgument: "},
        {"CumulativeLogsumexp", NULL, "double[2] 1; int32[1] 0", "InvalidArgument: "},
        {"EuclideanNorm", NULL, "double[2,2] 1 2 3 4; int32[1] 0",
         "double[2] 3.1622776601683795 4.47213595499958"},
        {"EuclideanNorm", "keep_dims=true", "float[2,2] 1 2 3 4; int64[2] 1 0", "float[1,1] 5.47722558"},
        {"EuclideanNorm", NULL, "int32[2] 3 -4; int32[] 0", "int32[] 5"},
        {"EuclideanNorm", NULL, "complex64[2,2] 3j 1 4 1+1j; int32[1] 0", "complex64[2] 5 1.73205081"},
        {"EuclideanNorm", "keep_dims=true", "complex128[2] 3-4j 0; int32[1] 0", "complex128[1] 5"},
        {"EuclideanNorm", NULL, "float[2] 3 -4; int32[0]", "float[2] 3 4"},
        {"EuclideanNorm", NULL, "complex64[2,1] 3-4j -1; int32[1] 1", "complex64[2] 5 1"},
        {"EuclideanNorm", NULL, "float[0,2]; int32[1] 0", "float[2] 0"},
        {"EuclideanNorm", NULL, "float[2] 1; int32[1] 1", "InvalidArgument: "},
        {"EuclideanNorm", NULL, "float[2] 3 4; int32[2] 0 0", "float[] 5"},
        {"TopK", "k=2", "float[5] 3 1 5 4 1", "float[2] 5 4; int32[2] 2 3"},
        {"TopK", "k=3", "float[2] 1 2", "InvalidArgument: "},
        {"NthElement", NULL, "float[2,4] 3 1 5 4 8 9 6 7; int32[] 1", "float[2] 3 7"},
        {"NthElement", "reverse=true", "int32[4] 3 1 5 4; int32[] 0", "int32[] 5"},
        {"NthElement", NULL, "int32[4] 3 1 5 4; int32[] 0", "int32[] 1"},
        {"NthElement", NULL, "double[0,2]; int32[] 0", "double[0]"},
        {"NthElement", NULL, "int64[100] 7; int32[] 20", "int64[] 7"},
        {"NthElement", NULL, "float[2] 1; int32[] 2", "InvalidArgument: at least n+1 columns"},
        {"NthElement", NULL, "float[2] 1; int32[] -1", "InvalidArgument: Need n >= 0, got -1"},
        {"NthElement", NULL, "float[] 1; int32[] 0", "InvalidArgument: Input must be >= 1-D, got shape []"},
    };
    OP_TEST_VALUES(cases);
}

static void handing_on_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"GuaranteeConst", NULL, "string[1] a", "string[1] a"},
        {"GuaranteeConst", NULL, "int32[] 4", "int32[] 4"},
        {"GuaranteeConst", NULL, "float[0]", "float[0]"},
        {"GuaranteeConst", NULL, "var float[1] 1",
         "InvalidArgument: Input tensor cannot be a resource variable handle."},
        {"Copy", NULL, "float[2] 1 2", "float[2] 1 2"},
        {"CopyHost", NULL, "int32[0]", "int32[0]"},
        {"Copy", NULL, "string[] a", "string[] a"},
        {"Copy", NULL, "ref float?", "float[0]"},
        {"CopyHost", NULL, "ref float[2] 1 2", "float[2] 1 2"},
        {"CopyHost", NULL, "int32[] 3", "int32[] 3"},
        {"RefSelect", NULL, "int32[] 1; ref float[1] 1; ref float[2] 2 3", "float[2] 2 3"},
        {"RefSelect", NULL, "int32[] 2; ref float[1] 1; ref float[2] 2 3",
         "InvalidArgument: Index must be in the range [0, 2) but got 2"},
        {"RefSelect", NULL, "int32[1] 0; ref float[1] 1", "InvalidArgument: "},
        {"RefSelect", NULL, "int32[0]; ref float[1] 1",
         "InvalidArgument: Index must be a scalar, but it has shape [0]"},
        {"Timestamp", NULL, "", "*"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"GatherV2", "batch_dims=1", "[2,3,4]; int32[2,5]; int32[] 1", "[2,5,4]"},
        {"GatherV2", "batch_dims=1", "[2,3]; int32[3,1]; int32[] 1", "InvalidArgument: "},
        {"GatherV2", "batch_dims=2", "[2,3]; int32[2,1]; int32[] 1", "InvalidArgument: "},
        {"ResourceGatherNd", "dtype=float", "var float[2,3]; int32[5,1]", "[5,3]"},
        {"TensorScatterAdd", NULL, "[2,3]; int32[5,1]; [5,3]", "[2,3]"},
        {"TensorScatterAdd", NULL, "[2,3]; int32[5,1]; [5,4]", "InvalidArgument: "},
        {"StridedSliceAssign", NULL, "ref float[2,3]; int32[1]; int32[1]; int32[1]; [3]", "[2,3]"},
        {"TensorStridedSliceUpdate", NULL, "[2,3]; int32[1]; int32[]; int32[1]; [3]", "InvalidArgument: "},
        {"CumulativeLogsumexp", NULL, "[2,?]; int32[] 1", "[2,?]"},
        {"CumulativeLogsumexp", NULL, "[2,?]; int32[] 2", "[2,?]"},
        {"EuclideanNorm", NULL, "[2,?]; int32[1] 0", "[?]"},
        {"TopK", "k=2", "[4,5]", "[4,2]; [4,2]"},
        {"TopK", "k=2", "[4,1]", "InvalidArgument: "},
        {"NthElement", NULL, "[4,5]; int32[]", "[4]"},
        {"NthElement", NULL, "[4,5]; int32[] 5",
         "InvalidArgument: Input must have last dimension > n = 5 but is 5"},
        {"NthElement", NULL, "[4,5]; int32[1] 1", "InvalidArgument: Input must be scalar but has rank 1"},
        {"NthElement", NULL, "[4,5]; int32[] -1", "InvalidArgument: must be non-negative but is -1"},
        {"RefSelect", NULL, "int32[]; ref float[2]; ref float[2]", "[2]"},
        {"RefSelect", NULL, "int32[]; ref float[2]; ref float[3]", "?"},
        {"Timestamp", NULL, "", "[]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"TensorScatterUpdate", NULL, "double[4] 1 2 3 4; int32[2,1] 3 0; double[2] 9 8"},
        {"TensorScatterMax", NULL, "double[4] 1 2 3 4; int32[3,1] 3 0 0; double[3] 2 8 9"},
        {"TensorScatterMin", NULL, "double[2,2] 1 2 3 4; int64[2,1] 1 1; double[2,2] 2 8 5 3"},
        {"TensorScatterAdd", NULL, "double[4] 1 2 3 4; int32[2,1] 3 3; double[2] 9 8"},
        {"TensorScatterSub", NULL, "double[4] 1 2 3 4; int32[2,1] 3 3; double[2] 9 8"},
        {"CumulativeLogsumexp", NULL, "double[2,3] 1 2 -1 0.5 3 2; int32[] 1"},
        {"CumulativeLogsumexp", "reverse=true", "double[2,3] 1 2 -1 0.5 3 2; int32[] 0"},
        {"EuclideanNorm", NULL, "double[2,2] 1 2 3 4; int32[1] 0"},
        {"EuclideanNorm", "keep_dims=true", "double[2,2] 1 2 3 4; int32[2] 0 1"},
        {"TopK", "k=2", "double[2,4] 3 1 5 4 8 9 6 7"},
        {"NthElement", NULL, "double[2,4] 3 1 5 4 8 9 6 7; int32[] 1"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers_follow_the_definition),
        cmocka_unit_test(scatters_follow_the_definition),
        cmocka_unit_test(along_axes_follow_the_definition),
        cmocka_unit_test(overlap),
        cmocka_unit_test(handing_on_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
