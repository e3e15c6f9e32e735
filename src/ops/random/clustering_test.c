// Tests of NearestNeighbors, KmeansPlusPlusInitialization and KMC2ChainInitialization.
//
// Nearest neighbours are numpy's; random choices follow a Philox 4x32-10 stream computed in Python.
#include "base/random.h"
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define POINTS "float[4,2] 100 0 101 2 99 2 1 1"
#define CENTERS "float[5,2] 100 0 99 1 50 50 0 0 1 1"

static void nearest_neighbors_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"NearestNeighbors", NULL, POINTS ";" CENTERS "; int64[] 1",
         "int64[4,1] 0 0 1 4; float[4,1] 0 5 1 0"},
        {"NearestNeighbors", NULL, POINTS ";" CENTERS "; int64[] 3",
         "int64[4,3] 0 1 2 0 1 2 1 0 2 4 3 2; float[4,3] 0 2 5000 5 5 4905 1 5 4705 0 2 4802"},
        // k is limited to the number of centers.
        {"NearestNeighbors", NULL, "float[1,1] 3; float[2,1] 1 4; int64[] 9",
         "int64[1,2] 1 0; float[1,2] 1 4"},
        {"NearestNeighbors", NULL, "float[1,1] 3; float[2,1] 1 4; int64[] 0", "int64[1,0]; float[1,0]"},
        {"NearestNeighbors", NULL, "float[1,2] 3; float[0,2]; int64[] 1", "int64[1,0]; float[1,0]"},
        {"NearestNeighbors", NULL, "float[2,0]; float[3,0]; int64[] 2", "int64[2,2] 0 1 0 1; float[2,2] 0"},
        {"NearestNeighbors", NULL, "float[0,2]; float[3,2] 1; int64[] 2",
         "InvalidArgument: Expected points.rows() > 0."},
        {"NearestNeighbors", NULL, "float[1,2] 1; float[1,3] 1; int64[] 2",
         "InvalidArgument: Expected point_dimensions == center_dimensions: 2 vs 3."},
        {"NearestNeighbors", NULL, "float[1,2] 1; float[1,2] 1; int64[] -1",
         "InvalidArgument: Expected k >= 0, got -1."},
        {"NearestNeighbors", NULL, "float[] 1; float[1,2] 1; int64[] 2",
         "InvalidArgument: Input points should be a matrix."},
        {"NearestNeighbors", NULL, "float[1,2] 1; float[] 1; int64[] 2",
         "InvalidArgument: Input centers should be a matrix."},
        {"NearestNeighbors", NULL, "float[1,2] 1; float[1,2] 1; int64[0]",
         "InvalidArgument: Input k should be a scalar."},
    };
    OP_TEST_VALUES(cases);
}

static float squared_distance(const float *a, const float *b)
{
    return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
}

// More points and centers than the kernel processes in one block. Distances are exact; no center that was
// left out is nearer.
static void many_neighbors_match_a_plain_search(void **state)
{
    (void)state;
    BD_STATUS(st);
    enum {
        POINT_COUNT = 130,
        CENTER_COUNT = 2500,
        K = 70
    };
    static const char *const texts[] = {"float[130,2] 0", "float[2500,2] 0", "int64[] 70"};
    bd_rng rng = bd_rng_init(1);
    braid_graph *g = braid_graph_new();
    braid_out in[3];
    op_binding bind[3] = {0};
    for (int i = 0; i < 3; i++) {
        in[i] =
            (braid_out){op_test_node(g, "Placeholder", i < 2 ? "dtype=float" : "dtype=int64", NULL, 0), 0};
        bind[i].op = in[i].op;
        braid_tensor *t = &bind[i].value.tensor;
        op_test_tensor(t, texts[i]);
        for (int64_t j = 0; i < 2 && j < bd_tensor_count(t); j++)
            bd_tensor_f32(t)[j] = (float)bd_rng_below(&rng, 1000);
    }
    braid_op *op = op_test_node(g, "NearestNeighbors", NULL, in, 3);
    const braid_out outs[] = {{op, 0}, {op, 1}};
    braid_tensor got[2];
    op_test_eval(bind, 3, outs, 2, got, st);
    assert_ok(st);
    for (int p = 0; p < POINT_COUNT; p++) {
        const float *point = bd_tensor_f32(&bind[0].value.tensor) + 2 * p;
        const float *centers = bd_tensor_f32(&bind[1].value.tensor),
                    *distances = bd_tensor_f32(&got[1]) + p * K;
        const int64_t *indices = bd_tensor_i64(&got[0]) + p * K;
        int nearer = 0;
        for (int i = 0; i < CENTER_COUNT; i++)
            nearer += squared_distance(point, centers + 2 * i) < distances[K - 1];
        assert_in_range(nearer, 1, K - 1); // the remaining ones are as near as the last
        for (int i = 0; i < K; i++) {
            assert_true(distances[i] == squared_distance(point, centers + 2 * indices[i]));
            if (i > 0 && distances[i] == distances[i - 1]) assert_true(indices[i] > indices[i - 1]);
            if (i > 0) assert_true(distances[i] >= distances[i - 1]);
        }
    }
    for (int i = 0; i < 2; i++)
        bd_tensor_fini(&got[i]);
    for (int i = 0; i < 3; i++)
        bd_value_fini(&bind[i].value);
    braid_graph_free(g);
}

#define SEVEN "float[7,2] 0 0 10 0 0 7 3 4 -5 2 6 -8 1 1"

static void k_means_plus_plus(void **state)
{
    (void)state;
    static const char op[] = "KmeansPlusPlusInitialization";
    static const op_case cases[] = {
        {op, NULL, SEVEN "; int64[] 4; int64[] 1; int64[] 0", "float[4,2] 1 1 6 -8 10 0 0 7"},
        {op, NULL, SEVEN "; int64[] 4; int64[] 2; int64[] 0", "float[4,2] 3 4 10 0 -5 2 6 -8"},
        {op, NULL, SEVEN "; int64[] 4; int64[] 3; int64[] 2", "float[4,2] 0 0 6 -8 10 0 3 4"},
        {op, NULL, SEVEN "; int64[] 4; int64[] 4; int64[] -1", "float[4,2] 1 1 6 -8 10 0 0 7"},
        {op, NULL, SEVEN "; int64[] 4; int64[] 5; int64[] -1", "float[4,2] 0 0 6 -8 10 0 3 4"},
        // Equal points: all distances are 0, so none of them can be drawn by distance.
        {op, NULL, "float[3,2] 1; int64[] 3; int64[] 1; int64[] 0", "float[3,2] 1"},
        {op, NULL, "float[4,1] 0.1; int64[] 3; int64[] 1; int64[] 3", "float[3,1] 0.1"},
        {op, NULL, "float[3,1] nan; int64[] 2; int64[] 1; int64[] 1", "float[2,1] nan"},
        {op, NULL, "float[3,0]; int64[] 2; int64[] 1; int64[] 0", "float[2,0]"},
        {op, NULL, "float[0,2]; int64[] 2; int64[] 1; int64[] 0",
         "InvalidArgument: Expected points.rows() > 0."},
        {op, NULL, "float[2,2] 1; int64[] 0; int64[] 1; int64[] 0",
         "InvalidArgument: Expected num_to_sample > 0."},
        {op, NULL, "float[2,2] 1; int64[] 3; int64[] 1; int64[] 0",
         "InvalidArgument: Expected num_to_sample <= points.rows(). 3 vs 2."},
        {op, NULL, "float[] 1; int64[] 3; int64[] 1; int64[] 0",
         "InvalidArgument: Input points should be a matrix."},
        {op, NULL, "float[2,2] 1; int64[0]; int64[] 1; int64[] 0",
         "InvalidArgument: Input num_to_sample should be a scalar."},
        {op, NULL, "float[2,2] 1; int64[] 1; int64[0]; int64[] 0",
         "InvalidArgument: Input seed should be a scalar."},
        {op, NULL, "float[2,2] 1; int64[] 1; int64[] 1; int64[0]",
         "InvalidArgument: Input num_retries_per_sample should be a scalar."},
    };
    OP_TEST_VALUES(cases);
}

static void the_chain_follows_its_definition(void **state)
{
    (void)state;
    static const char op[] = "KMC2ChainInitialization";
    static const op_case cases[] = {
        {op, NULL, "float[7] 1 5 2 0 3 4 1.5; int64[] 1", "int64[] 5"},
        {op, NULL, "float[7] 1 5 2 0 3 4 1.5; int64[] 2", "int64[] 6"},
        {op, NULL, "float[7] 1 5 2 0 3 4 1.5; int64[] -3", "int64[] 5"},
        {op, NULL, "float[9] 0; int64[] 1", "int64[] 0"},
        {op, NULL, "float[0]; int64[] 1", "InvalidArgument: Expected distances_tensor.size() > 0."},
        {op, NULL, "float[] 1; int64[] 1", "InvalidArgument: Input distances should be a vector."},
        {op, NULL, "float[1] 1; int64[0]", "InvalidArgument: Input seed should be a scalar."},
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_neighbors_follow_the_definition),
        cmocka_unit_test(many_neighbors_match_a_plain_search),
        cmocka_unit_test(k_means_plus_plus),
        cmocka_unit_test(the_chain_follows_its_definition),
    };
    return BD_RUN_TESTS(tests);
}
