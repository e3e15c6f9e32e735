// Tests of serialized sparse tensors and maps of sparse tensors. Values follow from TensorFlow's
// documentation.
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

// [2,3] with entries in both rows, and [3,2,2] with an empty row 1.
#define MATRIX "int64[3,2] 0 0 0 2 1 1", "float[3] 1 2 3", "int64[2] 2 3"
#define MATRIX_WANT "int64[3,2] 0 0 0 2 1 1; float[3] 1 2 3; int64[2] 2 3"

static braid_op *over(op_live *l, const char *op, const char *attrs, const braid_out *inputs, int count)
{
    BD_STATUS(st);
    braid_op *node = op_test_node(l->graph, op, attrs, inputs, count);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    return node;
}

static braid_op *over_sparse(op_live *l, const char *op, const char *attrs, const char *indices,
                             const char *values, const char *shape)
{
    braid_out inputs[3] = {op_live_unknown(l, indices), op_live_unknown(l, values),
                           op_live_unknown(l, shape)};
    return over(l, op, attrs, inputs, 3);
}

static braid_op *over_node(op_live *l, const char *op, const char *attrs, braid_op *input)
{
    return over(l, op, attrs, &(braid_out){input, 0}, 1);
}

static void sparse_tensors_survive_a_round_trip(void **state)
{
    (void)state;
    static const char *const forms[][2] = {{"out_type=string", "dtype=float"},
                                           {"out_type=variant", "dtype=float; Tserialized=variant"}};
    for (int i = 0; i < 2; i++) {
        op_live *l = op_live_new();
        braid_op *one = over_sparse(l, "SerializeSparse", forms[i][0], MATRIX);
        op_live_run(l, over_node(l, "DeserializeSparse", forms[i][1], one), "", MATRIX_WANT);
        // Row by row, and together again with the row as first dimension.
        braid_op *many = over_sparse(l, "SerializeManySparse", forms[i][0], MATRIX);
        op_live_run(l, over_node(l, "DeserializeSparse", forms[i][1], many), "", MATRIX_WANT);
        braid_out shape = op_live_unknown(l, "int32[3] 2 1 3");
        braid_op *wide = over(l, "Reshape", NULL, (braid_out[]){{many, 0}, shape}, 2);
        op_live_run(l, over_node(l, "DeserializeSparse", forms[i][1], wide), "",
                    "int64[3,3] 0 0 0 0 0 2 1 0 1; float[3] 1 2 3; int64[3] 2 1 3");
        op_live_free(l);
    }
}

static void rows_are_serialized_one_by_one(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_op *many = over_sparse(l, "SerializeManySparse", NULL, "int64[2,3] 0 1 0 2 0 1", "string[2] a b",
                                 "int64[3] 3 2 2");
    op_live_run(l, over_node(l, "DeserializeManySparse", "dtype=string", many), "",
                "int64[2,3] 0 1 0 2 0 1; string[2] a b; int64[3] 3 2 2");
    many = over_sparse(l, "SerializeManySparse", NULL, "int64[0,2]", "float[0]", "int64[2] 2 3");
    op_live_run(l, over_node(l, "DeserializeManySparse", "dtype=float", many), "",
                "int64[0,2]; float[0]; int64[2] 2 3");
    many = over_sparse(l, "SerializeManySparse", NULL, "int64[0,2]", "float[0]", "int64[2] 0 3");
    op_live_run(
        l, over_node(l, "DeserializeManySparse", "dtype=float", many), "",
        "InvalidArgument: Serialized sparse should have at least 1 serialized tensor, but has a zero");
    op_live_free(l);
}

// Tensors of different sizes: the whole has the largest; of different ranks: refused.
static void serialized_tensors_are_joined(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_op *a = over_sparse(l, "SerializeSparse", NULL, "int64[1,2] 1 4", "int32[1] 7", "int64[2] 2 5");
    braid_op *b =
        over_sparse(l, "SerializeSparse", NULL, "int64[2,2] 0 0 2 1", "int32[2] 8 9", "int64[2] 3 2");
    braid_op *both = over(l, "Pack", NULL, (braid_out[]){{a, 0}, {b, 0}}, 2);
    op_live_run(l, over_node(l, "DeserializeManySparse", "dtype=int32", both), "",
                "int64[3,3] 0 1 4 1 0 0 1 2 1; int32[3] 7 8 9; int64[3] 2 3 5");
    op_live_run(
        l, over_node(l, "DeserializeManySparse", "dtype=int64", both), "",
        "InvalidArgument: Requested SparseTensor of type int64 but SparseTensor[0].values.dtype() == int32");
    b = over_sparse(l, "SerializeSparse", NULL, "int64[0,3]", "int32[0]", "int64[3] 3 2 1");
    both = over(l, "Pack", NULL, (braid_out[]){{a, 0}, {b, 0}}, 2);
    op_live_run(
        l, over_node(l, "DeserializeManySparse", "dtype=int32", both), "",
        "InvalidArgument: Inconsistent shape across SparseTensors: rank prior to SparseTensor[1] was: 2 "
        "but rank of SparseTensor[1] is: 3");
    op_live_free(l);
}

static void malformed_tensors_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *indices, *values, *shape, *want;
    } cases[] = {
        {"int64[2] 0 0", "float[1] 1", "int64[1] 1",
         "InvalidArgument: Expected serialized_sparse[0, 0] to represent an index matrix but received shape [2]"},
        {"int32[1,1] 0", "float[1] 1", "int64[1] 1", "InvalidArgument: Expected serialized_sparse[0, 0]"},
        {"int64[1,1] 0", "float[] 1", "int64[1] 1",
         "InvalidArgument: Expected serialized_sparse[0, 1] to represent a values vector but received shape []"},
        {"int64[1,1] 0", "float[2] 1 2", "int64[1] 1",
         "InvalidArgument: Expected row counts of SparseTensor[0].indices and SparseTensor[0].values to match but "
         "they do not: 1 vs. 2"},
        {"int64[1,1] 0", "float[1] 1", "int64[] 1",
         "InvalidArgument: Expected serialized_sparse[0, 1] to be a shape vector but its shape is []"},
        {"int64[1,1] 0", "float[1] 1", "int32[1] 1", "InvalidArgument: to be a shape vector"},
        {"int64[1,1] 0", "float[1] 1", "int64[2] 1 1",
         "InvalidArgument: Expected column counts of SparseTensor[0].indices to match size of SparseTensor[0].shape "
         "but they do not: 1 vs. 2"},
        {"int64[1,1] 0", "float[1] 1", "int64[1] -1",
         "InvalidArgument: Dimension -1 of SparseTensor[0].shape"},
        {"int64[1,13] 0", "float[1] 1", "int64[13] 1", "InvalidArgument: SparseTensor[0] has 13 dimensions"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_live *l = op_live_new();
        const char *texts[3] = {cases[i].indices, cases[i].values, cases[i].shape};
        braid_out parts[3];
        for (int k = 0; k < 3; k++) {
            braid_out t = op_live_unknown(l, texts[k]);
            parts[k] = (braid_out){over(l, "SerializeTensor", NULL, &t, 1), 0};
        }
        op_live_run(l, over_node(l, "DeserializeSparse", "dtype=float", over(l, "Pack", NULL, parts, 3)), "",
                    cases[i].want);
        op_live_free(l);
    }
}

static void refusals_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DeserializeSparse", "dtype=float", "string[] a",
         "InvalidArgument: Serialized sparse should have non-zero rank []"},
        {"DeserializeSparse", "dtype=float", "string[2] a b",
         "InvalidArgument: Serialized sparse should have 3 as the last dimension [2]"},
        {"DeserializeSparse", "dtype=float", "string[3] a b c",
         "InvalidArgument: Could not parse serialized proto: serialized_sparse[0, 0]"},
        {"SerializeManySparse", NULL, "int64[0,1]; float[0]; int64[1] 1",
         "InvalidArgument: Rank of input SparseTensor should be > 1, but saw rank: 1"},
        {"SerializeManySparse", NULL, "int64[2,2] 1 0 0 0; float[2] 0; int64[2] 2 2",
         "InvalidArgument: indices[1] = [0,0] is out of order"},
        {"SerializeSparse", NULL, "int64[1] 0; float[1] 0; int64[1] 2",
         "InvalidArgument: Input indices should be a matrix but received shape [1]"},
        {"SerializeSparse", NULL, "int64[] 0; float[1] 0; int64[1] 2",
         "InvalidArgument: Input indices should be a matrix but received shape []"},
        {"SerializeManySparse", NULL, "int64[1,2] 0; float[] 0; int64[2] 2 2",
         "InvalidArgument: Input values should be a vector but received shape []"},
        {"DeserializeSparse", "dtype=float", "string[0,3]",
         "InvalidArgument: Serialized sparse should have at least 1 serialized tensor, but has a zero dimension [0,3]"},
        {"DeserializeManySparse", "dtype=float", "string[] a",
         "InvalidArgument: Serialized sparse should have non-zero rank []"},
        {"AddSparseToTensorsMap", NULL, "int64[1,2] 0; float[1] 0; int64[] 2",
         "InvalidArgument: Input shape should be a vector but received shape []"},
        {"AddManySparseToTensorsMap", NULL, "int64[] 0; float[1] 0; int64[2] 2 2",
         "InvalidArgument: Input indices should be a matrix but received shape []"},
    };
    OP_TEST_VALUES(cases);
}

// ---- Maps ----

#define SHARED "shared_name=map"

static void a_map_keeps_sparse_tensors(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_op *add = over_sparse(l, "AddSparseToTensorsMap", SHARED, MATRIX);
    braid_op *add_many = over_sparse(l, "AddManySparseToTensorsMap", SHARED, "int64[2,3] 0 1 0 2 0 5",
                                     "float[2] 8 9", "int64[3] 3 2 6");
    braid_op *take = over(l, "TakeManySparseFromTensorsMap", SHARED "; dtype=float",
                          (braid_out[]){op_live_placeholder(l, BRAID_INT64)}, 1);
    op_live_run(l, add, "", "int64[] 0");
    op_live_run(l, add_many, "", "int64[3] 1 2 3");
    op_live_run(l, add, "", "int64[] 4");
    op_live_run(l, take, "int64[3] 3 0 2",
                "int64[4,3] 0 0 5 1 0 0 1 0 2 1 1 1; float[4] 9 1 2 3; int64[3] 3 2 6");
    op_live_run(l, take, "int64[1] 0", "InvalidArgument: Unable to find SparseTensor: 0 in map: map");
    op_live_run(l, take, "int64[2] 1 1", "InvalidArgument: Unable to find SparseTensor: 1 in map: map");
    op_live_run(l, take, "int64[] 4",
                "InvalidArgument: sparse_handles should be a vector but received shape []");
    op_live_run(l, take, "int64[0]", "InvalidArgument: Must have at least 1 serialized SparseTensor");
    op_live_run(l, take, "int64[1] -1", "InvalidArgument: Unable to find SparseTensor: -1 in map: map");
    op_live_free(l); // one is left in the map
}

static void a_map_refuses_mismatched_tensors(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_op *matrix = over_sparse(l, "AddSparseToTensorsMap", SHARED, MATRIX);
    braid_op *cube =
        over_sparse(l, "AddSparseToTensorsMap", SHARED, "int64[0,3]", "float[0]", "int64[3] 1 1 1");
    braid_op *ints = over_sparse(l, "AddSparseToTensorsMap", SHARED, "int64[0,1]", "int32[0]", "int64[1] 1");
    braid_op *take = over(l, "TakeManySparseFromTensorsMap", SHARED "; dtype=float",
                          (braid_out[]){op_live_placeholder(l, BRAID_INT64)}, 1);
    op_live_run(l, matrix, "", "int64[] 0");
    op_live_run(l, cube, "", "int64[] 1");
    op_live_run(l, ints, "", "int64[] 2");
    op_live_run(
        l, take, "int64[2] 0 1",
        "InvalidArgument: Inconsistent rank across SparseTensors: rank prior to SparseTensor[1] was: 3 but "
        "rank of SparseTensor[1] is: 4");
    op_live_run(
        l, take, "int64[1] 2",
        "InvalidArgument: Requested SparseTensor of type float but SparseTensor[0].values.dtype() == int32");
    braid_op *rank1 =
        over_sparse(l, "AddManySparseToTensorsMap", SHARED, "int64[0,1]", "float[0]", "int64[1] 4");
    op_live_run(l, rank1, "", "InvalidArgument: Rank of input SparseTensor should be > 1, but saw rank: 1");
    op_live_free(l);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"SerializeSparse", NULL, "int64[?,2]; [?]; int64[2]", "string[3]"},
        {"SerializeManySparse", "out_type=variant", "int64[?,2]; [?]; int64[2]", "variant[?,3]"},
        {"DeserializeSparse", "dtype=float", "string[4,3]", "[?,?]; [?]; [?]"},
        {"DeserializeSparse", "dtype=float", "string[4]", "InvalidArgument: Dimension must be 3 but is 4"},
        {"DeserializeSparse", "dtype=float", "string[]", "InvalidArgument: Shape must be at least rank 1"},
        {"DeserializeManySparse", "dtype=float", "string[3]", "InvalidArgument: Shape must be rank 2"},
        {"DeserializeManySparse", "dtype=float", "string[4,2]",
         "InvalidArgument: Dimension must be 3 but is 2"},
        {"AddSparseToTensorsMap", NULL, "int64[?,2]; [?]; int64[2]", "[]"},
        {"AddManySparseToTensorsMap", NULL, "int64[?,2]; [?]; int64[2]", "[?]"},
        {"TakeManySparseFromTensorsMap", "dtype=float", "int64[4]", "[?,?]; [?]; [?]"},
        {"TakeManySparseFromTensorsMap", "dtype=float", "int64[]", "InvalidArgument: Shape must be rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_tensors_survive_a_round_trip),
        cmocka_unit_test(rows_are_serialized_one_by_one),
        cmocka_unit_test(serialized_tensors_are_joined),
        cmocka_unit_test(malformed_tensors_are_refused),
        cmocka_unit_test(refusals_follow_the_definition),
        cmocka_unit_test(a_map_keeps_sparse_tensors),
        cmocka_unit_test(a_map_refuses_mismatched_tensors),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
